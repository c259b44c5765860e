//! Benchmarks: each prints a table for people and ends with one line of JSON for machines.
//!
//! `cargo run --release -p benches -- NAME [--peers]`; `--peers` runs other programs on the same problems, side by side.

#![allow(clippy::print_stdout, clippy::print_stderr)] // printing is what a benchmark does

mod allocations;
mod contact;
mod delivery;
mod enrich;
mod film;
mod formats;
mod inextensible;
mod limits;
mod linear;
mod morph;
mod motion;
mod options;
mod peers;
mod pipeline;
mod s1_cloth;
mod s2_solid;
mod scratch;
mod skeleton;
mod smoke;
mod timing;
mod torture;
mod tracks;
mod trained;
mod upsample;
mod waves;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (name, options) = match arguments.split_first() {
        Some((name, options)) => (name.as_str(), options),
        None => ("", &[][..]),
    };
    match name {
        "contact" => contact::run(options),
        "delivery" => delivery::run(options),
        "enrich" => enrich::run(options),
        "film" => film::run(options),
        "formats" => formats::run(options),
        "inextensible" => inextensible::run(options),
        "limits" => limits::run(options),
        "linear" => linear::run(options),
        "morph" => morph::run(options),
        "motion" => motion::run(options),
        "pipeline" => pipeline::run(options),
        "s1-cloth" => s1_cloth::run(options),
        "s2-solid" => s2_solid::run(options),
        "skeleton" => skeleton::run(options),
        "smoke" => smoke::run(options),
        "torture" => torture::run(options),
        "tracks" => tracks::run(options),
        "upsample" => upsample::run(options),
        _ => {
            eprintln!(
                "usage: cargo run --release -p benches -- NAME [--peers], NAME one of: contact, delivery, enrich, film, formats, inextensible, limits, linear, morph, motion, pipeline, s1-cloth, s2-solid, skeleton, smoke, torture, tracks, upsample"
            );
            ExitCode::from(2)
        }
    }
}
