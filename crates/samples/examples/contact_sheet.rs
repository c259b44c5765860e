//! Writes a contact sheet of a sample: `cargo run -p followthrough-samples --example contact_sheet -- NAME OUT.png [COUNT] [VIEW]`.
//!
//! This is how samples are judged while they are made. VIEW is `front`, `side`, `top` or `three-quarter` (the default).
#![allow(clippy::print_stdout, clippy::print_stderr)]

use render::{Look, Stage, View};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, out, options @ ..] = &arguments[..] else {
        eprintln!("contact_sheet NAME OUT.png [COUNT] [VIEW]; the samples are:");
        samples::all().iter().for_each(|sample| eprintln!("  {:10} {}", sample.name, sample.summary));
        return ExitCode::FAILURE;
    };
    let Some(sample) = samples::by_name(name) else {
        eprintln!("no sample is called `{name}`; run without arguments for the list");
        return ExitCode::FAILURE;
    };
    let count = options.first().and_then(|count| count.parse().ok()).unwrap_or(12);
    let view = match options.get(1).map(String::as_str) {
        Some("front") => View::Front,
        Some("side") => View::Side,
        Some("top") => View::Top,
        _ => View::ThreeQuarter,
    };
    let clip = (sample.make)();
    let sheet = Stage::new(&[("", &clip)], view, Look::default(), [320, 320])
        .and_then(|stage| stage.contact_sheet(count, 4))
        .and_then(|picture| picture.save_png(out));
    match sheet {
        Ok(()) => {
            println!("{out}: {} frames of {name}", count);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
