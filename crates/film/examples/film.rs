//! A film of a sample, without any layer: `cargo run --release -p followthrough-film --example film -- FOLDER`.
#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};

use film::FilmLook;
use shot::{BakeOptions, Context, Reader, Registry};

const SHOT: &str = r#"
[input]
sample = "curtain"

[output]
files = ["curtain.webp", "curtain.png"]
film = { width = 320, height = 240 }
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    let registry = Registry::empty().with_film::<FilmLook>().with_sample("curtain", samples::curtain);
    let shot = Reader::new(registry).parse("curtain.toml", SHOT, Path::new(""))?;
    let options = BakeOptions { out: Some(folder), ..BakeOptions::default() };
    let bake = film::bake(&shot, &options, &Context::SILENT)?;
    for file in bake.files.iter().chain(&bake.report) {
        println!("{}", file.display());
    }
    Ok(())
}
