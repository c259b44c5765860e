//! A flag in the wind from a program of one's own: `cargo run --release -p followthrough --example flag -- FOLDER`.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use followthrough::prelude::*;

const SHOT: &str = r#"
[input]
sample = "flag"
frames = "0-47"

[[layer]]
kind = "cloth"
material = "cotton"
follow = { group = "hoist" }
wind = { speed = 6.0, direction = [1.0, 0.0, 0.3] }

[output]
files = ["flag.glb", "flag.webp"]
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).map_or_else(|| PathBuf::from("flag"), PathBuf::from);
    let shot = followthrough::parse(SHOT)?;
    let options = BakeOptions { out: Some(folder), ..BakeOptions::default() };
    let bake = followthrough::bake(&shot, &options, &Context::SILENT)?;
    for file in bake.files.iter().chain(&bake.report) {
        println!("{}", file.display());
    }
    Ok(())
}
