//! Limits of stretch: whether every frame keeps them, what they cost, and whether cloth drapes alike however it is cut into triangles.

mod demos;
mod drape;

use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Map, json};
use shell::{Bending, Stretching};
use shot::{BakeOptions, Context};

use crate::s1_cloth::timed_sheet;
use crate::scratch::Scratch;
use drape::{Drape, Elastic};

/// Frames of each scene.
const FRAMES: usize = 36;
/// Cells along the sheet of S1.
const S1_CELLS: usize = 50;

/// A shot whose frames are to keep their limits: its sample, its layer, and the limits of warp and weft.
struct Scene {
    name: &'static str,
    sample: &'static str,
    layer: &'static str,
    limit: f64,
}

const SCENES: [Scene; 5] = [
    Scene {
        name: "flag",
        sample: "flag",
        layer: "kind = \"cloth\"\nmesh = \"flag\"\nfollow = { group = \"hoist\" }\ncontact = { thickness = 0.003, obstacles = [] }\n\
            wind = { direction = [1.0, 0.0, 0.2], speed = 6.0, gust = 0.3, variation = 0.6, seed = 3 }",
        limit: 0.03,
    },
    Scene {
        name: "sheet",
        sample: "sheet",
        layer: "kind = \"cloth\"\nfollow = { group = \"pins\" }\nsubsteps = 1",
        limit: 0.03,
    },
    Scene {
        name: "curtain",
        sample: "curtain",
        layer: "kind = \"cloth\"\nmesh = \"curtain\"\nmaterial = \"denim\"\nfollow = { group = \"rings\" }\n\
            contact = { thickness = 0.004, obstacles = [] }",
        limit: 0.02,
    },
    Scene {
        name: "swing",
        sample: "preview",
        layer: "kind = \"cloth\"\nmesh = \"alone\"\nmaterial = \"silk\"\nfollow = { group = \"hands\" }\n\
            contact = { thickness = 0.003, obstacles = [] }",
        limit: 0.03,
    },
    Scene {
        name: "drawn",
        sample: "drawn",
        layer: "kind = \"tracks\"\nmesh = \"limited\"\nmaterial = \"cotton\"\nsubdivide = 3\nfabric = { limit = 0.03 }\n\
            contact = { thickness = 0.003, obstacles = [] }",
        limit: 0.03,
    },
];

/// Without limits, for the ratio.
const UNLIMITED: &str = "\nlimit_warp = 10.0\nlimit_weft = 10.0\nlimit_shear = 10.0";

struct Options<'a> {
    frames: usize,
    /// Demos in place of scenes: all, or one.
    demos: Option<&'a str>,
    /// Draped discs alone, of these elements.
    drape: Option<Elastic>,
}

fn read(options: &[String]) -> Option<Options<'_>> {
    let mut read = Options { frames: FRAMES, demos: None, drape: None };
    for pair in options.chunks(2) {
        let [name, value] = pair else { return None };
        match name.as_str() {
            "--frames" => read.frames = value.parse().ok().filter(|frames| *frames > 0)?,
            "--demos" => read.demos = Some(value),
            "--drape" => read.drape = Some(elements(value)?),
            _ => return None,
        }
    }
    Some(read)
}

/// Elements by their name; cells have plates beside them.
fn elements(name: &str) -> Option<Elastic> {
    match name {
        "hinges" => Some((Bending::Hinges, Stretching::Triangles)),
        "plates" => Some((Bending::Plates, Stretching::Triangles)),
        "cells" => Some((Bending::Plates, Stretching::Cells)),
        _ => None,
    }
}

fn measure_demos(frames: usize, only: &str) -> Result<(), Box<dyn std::error::Error>> {
    let demos = demos::all(frames, (only != "all").then_some(only))?;
    println!("{}", json!({ "bench": "limits", "demos": demos, "frames": frames }));
    Ok(())
}

/// Runs the benchmark.
pub(crate) fn run(options: &[String]) -> ExitCode {
    let Some(Options { frames, demos, drape }) = read(options) else {
        eprintln!("known options: --frames N, --demos all or NAME, --drape hinges, plates or cells");
        return ExitCode::from(2);
    };
    let measured = match (drape, demos) {
        (Some(elastic), _) => measure_drapes(2 * frames, elastic).map(|_| ()),
        (None, Some(only)) => measure_demos(frames, only),
        (None, None) => measure(frames),
    };
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// How a scene went.
struct Outcome {
    /// The largest stretch along warp or weft of all frames.
    stretch: f64,
    seconds: f64,
}

/// Drapes the discs, and shows how they hang.
fn measure_drapes(frames: usize, elastic: Elastic) -> Result<Vec<Drape>, Box<dyn std::error::Error>> {
    let drapes = drape::all(frames, elastic)?;
    println!(
        "\n{:<16} {:>8} {:>10} {:>12} {:>6} {:>12}",
        "draped disc", "points", "lowest m", "coefficient", "folds", "fastest m/s"
    );
    for Drape { name, points, lowest, coefficient, folds, fastest } in &drapes {
        println!("{name:<16} {points:>8} {lowest:>10.4} {coefficient:>12.3} {folds:>6} {fastest:>12.1e}");
    }
    Ok(drapes)
}

fn measure(frames: usize) -> Result<(), Box<dyn std::error::Error>> {
    println!("{:<10} {:>9} {:>9} {:>11} {:>9}", "scene", "stretch", "limit", "over limit", "s");
    let (mut over, mut flag_seconds) = (Map::new(), 0.0);
    for scene in &SCENES {
        let Outcome { stretch, seconds } = scene.bake("", frames)?;
        // figures come from single precision
        let excess = (stretch / scene.limit - 1.0).max(0.0);
        println!(
            "{:<10} {:>8.3}% {:>8.3}% {:>10.4}% {:>9.2}",
            scene.name,
            100.0 * stretch,
            100.0 * scene.limit,
            100.0 * excess,
            seconds
        );
        over.insert(scene.name.into(), json!(excess));
        if scene.name == "flag" {
            flag_seconds = seconds;
        }
    }
    let free = SCENES[0].bake(UNLIMITED, frames)?;
    println!(
        "{:<10} {:>8.3}% {:>9} {:>11} {:>9.2}",
        "flag, free",
        100.0 * free.stretch,
        "–",
        "–",
        free.seconds
    );
    let [limited, plain] = [true, false].map(|limits| timed_sheet(S1_CELLS, frames, limits));
    println!("\nS1 at {S1_CELLS} cells: {limited:.1} ms a frame with limits, {plain:.1} without");
    let drapes = measure_drapes(2 * frames, (Bending::Plates, Stretching::Cells))?;
    let spread = |of: &dyn Fn(&Drape) -> f64| {
        let of = drapes.iter().map(of);
        of.clone().fold(f64::NEG_INFINITY, f64::max) - of.fold(f64::INFINITY, f64::min)
    };
    let folds: Map<_, _> = drapes.iter().map(|drape| (drape.name.into(), json!(drape.folds))).collect();
    let result = json!({
        "bench": "limits",
        "max_over_limit": over,
        "flag_ratio": flag_seconds / free.seconds,
        "s1_ratio": limited / plain,
        "drape_lowest_spread": spread(&|drape| drape.lowest) / drape::OVERHANG,
        "drape_coefficient_spread": spread(&|drape| drape.coefficient),
        "folds": folds,
        "frames": frames,
        "threads": rayon::current_num_threads(),
    });
    println!("{result}");
    Ok(())
}

impl Scene {
    /// Bakes the first frames, with these lines added to the layer.
    fn bake(&self, added: &str, frames: usize) -> Result<Outcome, Box<dyn std::error::Error>> {
        let folder = Scratch::new()?;
        let Self { sample, layer, .. } = self;
        let text = format!(
            "[input]\nsample = \"{sample}\"\n\n[[layer]]\n{layer}{added}\n\n[output]\nfiles = []\nreport = false\n"
        );
        let shot = followthrough::parse(&text)?;
        let range = Some(format!("0-{frames}").parse()?);
        let options =
            BakeOptions { out: Some(folder.path().join("out")), frames: range, ..BakeOptions::default() };
        let clock = Instant::now();
        let bake = shot.bake(&options, &Context::SILENT)?;
        let seconds = clock.elapsed().as_secs_f64();
        let strains = bake.layers[0].figures.iter().flat_map(|figures| {
            ["strain/warp", "strain/weft"].into_iter().filter_map(|name| figures.get(name))
        });
        Ok(Outcome { stretch: strains.fold(0.0, f64::max) / 100.0, seconds })
    }
}
