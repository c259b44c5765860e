//! Films: frames a second, drawn and encoded, by the rasteriser and by rays; and how soon a bake shows its first frame.

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use clip::{Clip, Frame};
use followthrough::render::{Drawing, Film, Look, Stage, View};
use serde_json::json;
use shot::{BakeOptions, Context, Event};

use crate::options::{BoxedError, without_options};
use crate::scratch::Scratch;

/// Pixels of the film.
const SIZE: [u32; 2] = [640, 480];
/// Frames drawn by the rasteriser, and by rays.
const FRAMES: usize = 96;
const BEAUTY_FRAMES: usize = 4;

/// The flag of the first demo, a few frames of it.
const SHOT: &str = r#"
[input]
sample = "flag"
frames = "0-5"

[[layer]]
kind = "cloth"
follow = { group = "hoist" }

[output]
files = ["flag.webp"]
"#;

/// Runs the benchmark.
pub(crate) fn run(options: &[String]) -> ExitCode {
    without_options(options, measure)
}

fn measure() -> Result<(), BoxedError> {
    let clip = samples::quadruped();
    // made beforehand: what is timed is drawing, not walking
    let frames: Vec<Frame> =
        (0..FRAMES).map(|i| clip.frame(i % clip.frame_count())).collect::<Result<_, _>>()?;
    let clip = clip.with_frames(Arc::new(clip::MemoryFrames::new(frames)));
    let triangles: usize =
        clip.meshes.iter().flat_map(|mesh| mesh.faces.iter()).map(|face| face.len() - 2).sum();
    let threads = rayon::current_num_threads();
    println!("{triangles} triangles, {} x {} pixels, {threads} threads, encoding included", SIZE[0], SIZE[1]);
    println!("{:<28} {:>8} {:>9} {:>12} {:>8}", "", "frames", "seconds", "frames/s", "MB");
    let drawn = film(&clip, Drawing::Raster, FRAMES)?;
    let beauty = film(&clip, Drawing::Beauty, BEAUTY_FRAMES)?;

    let folder = Scratch::new()?;
    let shot = followthrough::reader().parse("flag", SHOT, folder.path())?;
    let times = Mutex::new([None; 2]);
    let listener = |event: Event<'_>| {
        let at = match event {
            Event::Frame { frame: 0, .. } => 0,
            Event::FirstPicture { .. } => 1,
            _ => return,
        };
        if let Ok(mut times) = times.lock() {
            times[at] = Some(Instant::now());
        }
    };
    let context = Context { progress: &listener, cancel: Context::SILENT.cancel };
    let out = Some(folder.path().join("out"));
    film::bake(&shot, &BakeOptions { out, ..BakeOptions::default() }, &context)?;
    let [Some(baked), Some(seen)] = times.into_inner().unwrap_or_default() else {
        return Err("the bake made no first picture".into());
    };
    let first = 1e3 * seen.duration_since(baked).as_secs_f64();
    println!("\nfirst picture of a bake: {first:.0} ms after its first frame, while the next ones are baked");
    let result = json!({
        "bench": "film", "frames_per_second": drawn, "first_frame_ms": first, "beauty_frames_per_second": beauty,
    });
    println!("{result}");
    Ok(())
}

/// Frames a second of a film.
fn film(clip: &Clip, drawing: Drawing, count: usize) -> Result<f64, BoxedError> {
    let look = Look { drawing, ..Look::default() };
    let stage = Stage::new(&[("", clip)], View::ThreeQuarter, look, SIZE)?;
    // tables and textures are made with the first picture
    stage.picture(0)?;
    let start = Instant::now();
    let mut film = Film::new(24.0)?;
    film.record(0..count, stage.at_once(), |frame| stage.picture(frame), |_| Ok(true))?;
    let bytes = film.finish()?.len();
    let seconds = start.elapsed().as_secs_f64();
    let rate = count as f64 / seconds;
    println!(
        "{:<28} {count:>8} {seconds:>9.2} {rate:>12.1} {:>8.2}",
        format!("{drawing:?}"),
        bytes as f64 / 1e6
    );
    Ok(rate)
}
