//! From file to file: how fast GLB is read and written against copying the same bytes, and how much memory a long bake holds.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clip::{Clip, Frame, Frames, Mesh, ReadOptions, WriteOptions};
use serde_json::json;
use shot::{BakeOptions, Context};

use crate::options::{BoxedError, without_options};
use crate::scratch::Scratch;
use crate::waves::Waves;

/// Points per side of the waving sheet: 25,281 points.
const SIDE: usize = 159;
/// Frames of the file that is read and written.
const FRAMES: usize = 250;
/// Frames of the long bake.
const LONG: usize = 1000;

/// Two layers, each of which reads several frames at once.
const SHOT: &str = r#"
[input]
file = "long.glb"

[[layer]]
kind = "smooth"
window = 0.1

[[layer]]
name = "again"
kind = "smooth"
window = 0.1

[output]
files = ["calm.pc2"]
report = false
"#;

/// Runs the benchmark.
pub(crate) fn run(options: &[String]) -> ExitCode {
    without_options(options, measure)
}

fn measure() -> Result<(), BoxedError> {
    let folder = Scratch::new()?;
    let path = folder.path().join("waves.glb");
    let waves = waves(FRAMES)?;
    // Made beforehand: what is timed is writing, not waving.
    let frames: Vec<Frame> = (0..FRAMES).map(|i| waves.frame(i)).collect::<Result<_, _>>()?;
    let held = waves.with_frames(Arc::new(clip::MemoryFrames::new(frames)));

    let best = |work: &mut dyn FnMut() -> Result<(), BoxedError>| {
        let mut fastest = f64::INFINITY;
        for _ in 0..3 {
            let start = Instant::now();
            work()?;
            fastest = fastest.min(start.elapsed().as_secs_f64());
        }
        Ok::<f64, BoxedError>(fastest)
    };
    let write = best(&mut || Ok(clip::write(&path, &held, &WriteOptions::default()).map(|_| ())?))?;
    let megabytes = std::fs::metadata(&path)?.len() as f64 / 1e6;
    let read = best(&mut || {
        let clip = clip::read(&path, &ReadOptions::default())?;
        for index in 0..clip.frame_count() {
            clip.frame(index)?;
        }
        Ok(())
    })?;
    let copy = best(&mut || copy(&path, &folder.path().join("copy.glb")))?;
    drop(held);
    println!("GLB of {megabytes:.0} MB, {} points, {FRAMES} frames, to and from disk", SIDE * SIDE);
    println!("{:<28} {:>9} {:>9} {:>16}", "", "seconds", "MB/s", "of copy's speed");
    for (name, seconds) in [("copy (read, write, flush)", copy), ("write", write), ("read every frame", read)]
    {
        println!("{name:<28} {seconds:>9.2} {:>9.0} {:>15.2}x", megabytes / seconds, copy / seconds);
    }

    let before = peak_memory();
    let source = folder.path().join("long.glb");
    clip::write(&source, &self::waves(LONG)?, &WriteOptions::default())?;
    let shot = followthrough::reader().parse("long", SHOT, folder.path())?;
    let start = Instant::now();
    let bake = film::bake(
        &shot,
        &BakeOptions { out: Some(folder.path().join("out")), ..BakeOptions::default() },
        &Context::SILENT,
    )?;
    let seconds = start.elapsed().as_secs_f64();
    let peak = peak_memory();
    let all = 3.0 * (LONG * SIDE * SIDE * 12) as f64 / 1e6;
    println!(
        "\n{} frames of {} points through two layers: {seconds:.1} s, peak memory {peak:.0} MB ({before:.0} MB before); \
         all frames of input and both layers are {all:.0} MB",
        bake.clip.frame_count(),
        SIDE * SIDE
    );
    let result = json!({
        "bench": "pipeline", "megabytes": megabytes,
        "write_of_copy": copy / write, "read_of_copy": copy / read,
        "bake_peak_mb": peak, "bake_frames_mb": all, "bake_seconds": seconds,
    });
    println!("{result}");
    Ok(())
}

fn waves(count: usize) -> clip::Result<Clip> {
    let source = Waves { side: SIDE, count };
    let rest = source.read(0)?.points.swap_remove(0);
    let side = SIDE as u32;
    let triangles: Vec<[u32; 3]> =
        source.cells().flat_map(|a| [[a, a + side, a + 1], [a + 1, a + side, a + side + 1]]).collect();
    Ok(Clip::still(Mesh::new("waves", rest, &triangles), 24.0, count).with_frames(Arc::new(source)))
}

/// The same bytes through memory and disk, flushed as our writers flush.
fn copy(from: &Path, to: &Path) -> Result<(), BoxedError> {
    let bytes = std::fs::read(from)?;
    std::fs::write(to, bytes)?;
    std::fs::File::open(to)?.sync_all()?;
    Ok(())
}

/// The most memory this process has held, in MB, where the system tells.
pub(crate) fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1e3)
}
