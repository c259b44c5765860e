//! Contact: the hard scenes, which must bake without a single crossing, and what contact costs.

mod scene;
mod scenes;

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use scene::Scene;

/// Cells along a metre of cloth, and frames, of the hard scenes.
const SIZE: usize = 32;
const FRAMES: usize = 48;
/// Frames of the draped sheet, the cells of its sides, and the one that the cost is stated for: 10,201 vertices.
const DRAPED_FRAMES: usize = 16;
const DRAPED: [usize; 3] = [50, 100, 200];
const STATED: usize = 100;

struct Options {
    size: usize,
    frames: usize,
    only: Option<String>,
    films: Option<PathBuf>,
    draped: Vec<usize>,
}

/// Runs the benchmark.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let Some(options) = read(arguments) else {
        eprintln!("known options: --size CELLS, --frames N, --only SCENE, --films FOLDER, --upto CELLS");
        return ExitCode::from(2);
    };
    match measure(&options) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn read(arguments: &[String]) -> Option<Options> {
    let mut options =
        Options { size: SIZE, frames: FRAMES, only: None, films: None, draped: DRAPED.to_vec() };
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { return None };
        match name.as_str() {
            "--size" => options.size = value.parse().ok()?,
            "--frames" => options.frames = value.parse().ok()?,
            "--only" => options.only = Some(value.clone()),
            "--films" => options.films = Some(value.into()),
            "--upto" => {
                let most: usize = value.parse().ok()?;
                options.draped.retain(|&cells| cells <= most);
            }
            _ => return None,
        }
    }
    Some(options)
}

/// Prints the table; gives the number of crossings.
fn measure(options: &Options) -> Result<usize, Box<dyn std::error::Error>> {
    println!(
        "{:<16} {:>6} {:>8} {:>10} {:>9} {:>9} {:>7} {:>6} {:>8} {:>8} {:>10}",
        "scene",
        "points",
        "frames",
        "crossings",
        "ms/frame",
        "plain ms",
        "Newton",
        "steps",
        "contacts",
        "stretch",
        "over limit"
    );
    let mut table = Map::new();
    let mut total = 0;
    let chosen = |scene: &Scene| options.only.as_ref().is_none_or(|only| *only == scene.name);
    for scene in scenes::all(options.size, options.frames)?.iter().filter(|scene| chosen(scene)) {
        let with = scene.run(true)?;
        let plain = scene.run(false)?;
        println!(
            "{:<16} {:>6} {:>8} {:>10} {:>9.1} {:>9.1} {:>7.1} {:>6.1} {:>8} {:>7.1}% {:>9.2}%{}",
            scene.name,
            scene.points.len(),
            with.frames,
            with.intersections,
            with.ms_per_frame,
            plain.ms_per_frame,
            with.iterations as f64 / with.frames as f64,
            with.steps as f64 / with.frames as f64,
            with.contacts,
            100.0 * with.max_stretch,
            100.0 * with.over_limit,
            if with.lag > 0.0 { format!("  waited {:.1} mm", 1e3 * with.lag) } else { String::new() },
        );
        if let (Some(folder), Some(clip)) = (&options.films, &with.clip) {
            std::fs::create_dir_all(folder)?;
            clip::write(folder.join(format!("{}.glb", scene.name)), clip, &clip::WriteOptions::default())?;
        }
        total += with.intersections;
        table.insert(
            scene.name.into(),
            json!({
                "frames": with.frames,
                "intersections": with.intersections,
                "ms_per_frame": with.ms_per_frame,
                "plain_ms_per_frame": plain.ms_per_frame,
                "contacts": with.contacts,
                "max_stretch": with.max_stretch,
                "max_over_limit": with.over_limit,
                "lag": with.lag,
            }),
        );
    }
    let mut result = json!({ "bench": "contact", "scenes": table, "intersections": total });
    if options.only.is_none() {
        total += draped(options, &mut result)?;
        result["intersections"] = total.into();
    }
    println!("{result}");
    Ok(total)
}

/// What contact costs on the draped sheet, at several sizes; gives the number of crossings.
fn draped(options: &Options, result: &mut Value) -> Result<usize, Box<dyn std::error::Error>> {
    println!(
        "\n{:<16} {:>8} {:>10} {:>12} {:>7} {:>12}",
        "draped sheet", "points", "with", "without", "ratio", "µs per n log n"
    );
    let mut growth = Vec::new();
    let mut crossings = 0;
    for &cells in &options.draped {
        let scene = scenes::draped(cells, DRAPED_FRAMES)?;
        let (with, plain) = (scene.run(true)?, scene.run(false)?);
        let n = scene.points.len() as f64;
        let per = 1e3 * with.ms_per_frame / (n * n.log2());
        let ratio = with.ms_per_frame / plain.ms_per_frame;
        println!(
            "{:<16} {:>8} {:>7.0} ms {:>9.0} ms {:>7.2} {:>12.3}",
            format!("{cells} cells"),
            scene.points.len(),
            with.ms_per_frame,
            plain.ms_per_frame,
            ratio,
            per
        );
        crossings += with.intersections;
        growth.push(json!({
            "vertices": scene.points.len(),
            "ms_per_frame": with.ms_per_frame,
            "plain_ms_per_frame": plain.ms_per_frame,
            "newton_per_frame": with.iterations as f64 / with.frames as f64,
            "plain_newton_per_frame": plain.iterations as f64 / plain.frames as f64,
            "overhead": ratio,
            "intersections": with.intersections,
        }));
        if cells == STATED {
            result["overhead_10k"] = ratio.into();
        }
    }
    result["draped"] = growth.into();
    Ok(crossings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_hard_scenes_cross_nothing() {
        // the others take minutes in an unoptimised program
        let quick = ["sphere", "needle", "knife", "rotating_sphere", "stack", "wrung"];
        let all = scenes::all(8, 12).expect("sound scenes");
        for scene in all.iter().filter(|scene| quick.contains(&scene.name)) {
            let outcome = scene.run(true).expect("it goes on");
            assert_eq!(outcome.intersections, 0, "{}", scene.name);
        }
    }

    #[test]
    fn the_same_scene_twice_is_the_same_to_the_bit_on_any_number_of_threads() {
        let frames = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let scene = scenes::sphere(14, 12).expect("sound");
            let clip = pool.install(|| scene.run(true).expect("it goes on")).clip.expect("frames");
            (0..clip.frame_count()).map(|k| clip.frame(k).expect("frame")).collect::<Vec<_>>()
        };
        assert_eq!(frames(1), frames(4));
    }
}
