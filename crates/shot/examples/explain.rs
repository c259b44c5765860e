//! A shot file with mistakes, explained: `cargo run -p followthrough-shot --example explain`.
#![allow(clippy::print_stdout)]

use std::path::Path;

use shot::{Reader, Registry};

const SHOT: &str = r#"
[input]
sampel = "flag"
frames = "9-3"

[output]
files = ["flag.glc"]
report = "yes"
"#;

fn main() {
    let registry = Registry::empty().with_sample("flag", samples::flag);
    match Reader::new(registry).parse("flag.toml", SHOT, Path::new("")) {
        Ok(shot) => println!("{} can be baked", shot.name),
        Err(error) => println!("{:?}", miette::Report::new(error)),
    }
}
