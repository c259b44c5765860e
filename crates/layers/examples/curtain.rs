//! A curtain of silk, baked into a temporary folder: `cargo run --release -p followthrough-layers --example curtain`.
#![allow(clippy::print_stdout)]

use std::path::Path;

use shot::{BakeOptions, Context, Event, Reader};

const SHOT: &str = r#"
[input]
sample = "curtain"
frames = "0-23"

[[layer]]
kind = "cloth"
material = "silk"
follow = { group = "rings" }
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let reader = Reader::new(layers::registry().with_sample("curtain", samples::curtain));
    let shot = reader.parse("curtain.toml", SHOT, Path::new(""))?;
    let folder = tempfile::tempdir()?;
    let options = BakeOptions { out: Some(folder.path().into()), ..BakeOptions::default() };
    let progress = |event: Event<'_>| {
        if let Event::Frame { frame, seconds, .. } = event {
            println!("frame {frame}: {:.0} ms", 1e3 * seconds);
        }
    };
    let bake = shot.bake(&options, &Context { progress: &progress, ..Context::SILENT })?;
    for figure in &bake.layers[0].figures[23].0 {
        println!("{:<28} {:.4} {}", figure.name, figure.value, figure.unit);
    }
    Ok(())
}
