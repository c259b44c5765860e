//! Caches: how fast USD and Alembic are written against PC2, how fast a frame is read against copying its bytes, and how
//! much memory that takes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clip::{Clip, Frames, MemoryFrames, Mesh, ReadOptions, WriteOptions};
use serde_json::json;

use crate::options::{BoxedError, without_options};
use crate::pipeline::peak_memory;
use crate::scratch::Scratch;
use crate::waves::Waves;

/// Points per side of the waving sheet: 10,000 points.
const SIDE: usize = 100;
/// Frames of every file.
const FRAMES: usize = 1000;

/// Runs the benchmark.
pub(crate) fn run(options: &[String]) -> ExitCode {
    without_options(options, measure)
}

fn measure() -> Result<(), BoxedError> {
    let folder = Scratch::new()?;
    let path = |ending: &str| folder.path().join("waves").with_extension(ending);
    let streamed = waves()?;
    // memory first, while nothing else has been held
    let before = peak_memory();
    for ending in ["usdc", "abc"] {
        clip::write(path(ending), &streamed, &WriteOptions::default())?;
        let clip = clip::read(path(ending), &ReadOptions::default())?;
        (0..FRAMES).step_by(10).try_for_each(|frame| clip.frame(frame).map(drop))?;
    }
    let peak = peak_memory() - before;

    // what is timed is writing, not waving
    let frames = (0..FRAMES).map(|i| streamed.frame(i)).collect::<Result<_, _>>()?;
    let held = streamed.with_frames(Arc::new(MemoryFrames::new(frames)));
    let endings = ["pc2", "usdc", "abc"];
    let mut written = [f64::INFINITY; 3];
    for _ in 0..5 {
        // in turn, so that what else the machine does falls on all alike
        for (ending, fastest) in endings.iter().zip(&mut written) {
            let start = Instant::now();
            clip::write(path(ending), &held, &WriteOptions::default())?;
            *fastest = fastest.min(start.elapsed().as_secs_f64());
        }
    }
    clip::write(path("usda"), &held, &WriteOptions::default())?;
    drop(held);
    let mut read = [f64::INFINITY; 3];
    for _ in 0..5 {
        read[0] = read[0].min(copy_frames(&path("pc2"))?);
        for (ending, fastest) in endings.iter().zip(&mut read).skip(1) {
            let clip = clip::read(path(ending), &ReadOptions::default())?;
            let start = Instant::now();
            (0..FRAMES).try_for_each(|frame| clip.frame(frame).map(drop))?;
            *fastest = fastest.min(start.elapsed().as_secs_f64());
        }
    }
    let megabytes = |ending: &str| std::fs::metadata(path(ending)).map(|data| data.len() as f64 / 1e6);
    println!(
        "{} points, {FRAMES} frames; reading is against copying the bytes of each frame from a file",
        SIDE * SIDE
    );
    println!("{:<6} {:>8} {:>9} {:>9} {:>12} {:>9}", "", "MB", "write, s", "of pc2", "read, ms", "of copy");
    for (i, ending) in endings.iter().enumerate() {
        println!(
            "{ending:<6} {:>8.1} {:>9.3} {:>8.2}x {:>12.4} {:>8.2}x",
            megabytes(ending)?,
            written[i],
            written[i] / written[0],
            1e3 * read[i] / FRAMES as f64,
            read[i] / read[0]
        );
    }
    println!("peak memory beyond the start, streamed: {peak:.0} MB");
    let result = json!({
        "bench": "formats",
        "write_ratio": { "usdc": written[1] / written[0], "abc": written[2] / written[0] },
        "read_ratio": { "usdc": read[1] / read[0], "abc": read[2] / read[0] },
        "mb": { "usdc": megabytes("usdc")?, "usda": megabytes("usda")?, "abc": megabytes("abc")?, "pc2": megabytes("pc2")? },
        "peak_mb": peak,
    });
    println!("{result}");
    Ok(())
}

fn waves() -> clip::Result<Clip> {
    let source = Waves { side: SIDE, count: FRAMES };
    let rest = source.read(0)?.points.swap_remove(0);
    let side = SIDE as u32;
    let mut faces = clip::Faces::default();
    source.cells().for_each(|a| faces.push(&[a, a + side, a + side + 1, a + 1]));
    Ok(Clip::new("waves", 24.0, vec![Mesh::from_faces("sheet", rest, faces)], None, Arc::new(source)))
}

/// Seconds to copy the bytes of every frame from a file into fresh memory.
fn copy_frames(path: &Path) -> Result<f64, BoxedError> {
    let mut file = File::open(path)?;
    let start = Instant::now();
    let length = SIDE * SIDE * 12;
    for frame in 0..FRAMES {
        let mut bytes = vec![0_u8; length];
        file.seek(SeekFrom::Start((32 + frame * length) as u64))?;
        file.read_exact(&mut bytes)?;
        std::hint::black_box(&bytes);
    }
    Ok(start.elapsed().as_secs_f64())
}
