//! How fast GLBs are written and read, against copying the same bytes: `cargo run --release -p followthrough-clip --example speed`.
//!
//! A waving sheet of 25,000 points, with and without normals; times are the best of three.

#![allow(clippy::print_stdout)] // an example talks

use std::sync::Arc;
use std::time::Instant;

use clip::{Clip, Frame, Frames, Mesh, ReadOptions, Result, WriteOptions, read, write};

const SIDE: usize = 158;

/// Frames that are as cheap as frames can be: a copy and an offset.
struct Wave {
    rest: Vec<[f32; 3]>,
    count: usize,
}

impl Frames for Wave {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize) -> Result<Frame> {
        let phase = index as f32 * 0.1;
        let row: Vec<f32> = (0..SIDE).map(|x| 0.1 * (phase + 0.2 * x as f32).sin()).collect();
        let points = self.rest.iter().enumerate().map(|(i, p)| [p[0], p[1], p[2] + row[i % SIDE]]);
        Ok(Frame { points: vec![points.collect()], pose: Vec::new() })
    }
}

fn sheet(frame_count: usize) -> Clip {
    let points: Vec<[f32; 3]> =
        (0..SIDE * SIDE).map(|i| [(i % SIDE) as f32 * 0.01, (i / SIDE) as f32 * 0.01, 0.0]).collect();
    let mut triangles = Vec::new();
    for y in 0..SIDE as u32 - 1 {
        for x in 0..SIDE as u32 - 1 {
            let a = y * SIDE as u32 + x;
            let b = a + SIDE as u32;
            triangles.extend([[a, a + 1, b], [b, a + 1, b + 1]]);
        }
    }
    let wave = Wave { rest: points.clone(), count: frame_count };
    Clip::new("wave", 24.0, vec![Mesh::new("sheet", points, &triangles)], None, Arc::new(wave))
}

fn best(mut act: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        act()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn main() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("clip-speed-{}", std::process::id()));
    let io = |source| clip::Error::Io { path: folder.clone(), source };
    std::fs::create_dir_all(&folder).map_err(io)?;
    let (path, copy) = (folder.join("a.glb"), folder.join("b.glb"));
    println!("frames normals      MB   write s    read s    copy s   write/copy   read/copy");
    for (frames, normals) in [(120, true), (120, false), (1000, false)] {
        let clip = sheet(frames);
        let frames_alone = best(|| (0..frames).try_for_each(|i| clip.frame(i).map(drop)))?;
        let writing =
            best(|| write(&path, &clip, &WriteOptions { normals, ..WriteOptions::default() }).map(drop))?;
        let reading = best(|| {
            let back = read(&path, &ReadOptions::default())?;
            (0..back.frame_count()).try_for_each(|i| back.frame(i).map(drop))
        })?;
        let copying = best(|| {
            let bytes = std::fs::read(&path).map_err(io)?;
            std::fs::write(&copy, &bytes).map_err(io)
        })?;
        let size = std::fs::metadata(&path).map_err(io)?.len() as f64 / 1e6;
        let (w, r) = (copying / (writing - frames_alone), copying / reading);
        println!(
            "{frames:6} {normals:7} {size:7.1} {writing:9.3} {reading:9.3} {copying:9.3} {w:12.2} {r:11.2}"
        );
    }
    std::fs::remove_dir_all(&folder).map_err(io)
}
