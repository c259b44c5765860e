//! What is handed back: bytes and errors of the three ways in which a rig is delivered, and what is left of a loop to be closed.

use std::process::ExitCode;
use std::time::Instant;

use clip::{Clip, JointsDelivery, ReadOptions, SkinDelivery, WriteOptions};
use serde_json::{Map, json};
use shot::{Bake, BakeOptions, Context};

use crate::options::{BoxedError, without_options};
use crate::scratch::Scratch;

/// What is baked: the demos, as they come.
const CORRECTIVE: &str = include_str!("../../crates/cli/demos/corrective.toml");
const DRESS: &str = include_str!("../../crates/cli/demos/dress.toml");
/// Frames of the dress that are timed.
const TIMED: usize = 12;
const LOOP: &str = include_str!("../../crates/cli/demos/loop.toml");

/// Runs the benchmark.
pub(crate) fn run(options: &[String]) -> ExitCode {
    without_options(options, measure)
}

fn measure() -> Result<(), BoxedError> {
    let folder = Scratch::new()?;
    let baked = baked("corrective", CORRECTIVE, &folder)?.clip;
    let points: usize = baked.meshes.iter().map(clip::Mesh::point_count).sum();
    println!("{points} points, {} frames", baked.frame_count());
    println!("{:<12} {:>10} {:>10} {:>12}", "", "MB", "of points", "error, mm");
    let ways = [
        ("points", SkinDelivery::Points),
        ("corrective", SkinDelivery::Corrective),
        ("joints", SkinDelivery::Joints(JointsDelivery::default())),
    ];
    let (mut bytes, mut errors) = (Map::new(), Map::new());
    let mut most = f64::NAN;
    for (name, skin) in ways {
        let path = folder.path().join(name).with_extension("glb");
        let written = clip::write(&path, &baked, &WriteOptions { skin, ..WriteOptions::default() })?;
        let error = apart_mm(&baked, &clip::read(&path, &ReadOptions::default())?)?;
        let megabytes = written.bytes as f64 / 1e6;
        most = if most.is_nan() { megabytes } else { most };
        println!("{name:<12} {megabytes:>10.3} {:>9.3}x {error:>12.4}", megabytes / most);
        written.warnings.iter().for_each(|words| println!("    {words}"));
        bytes.insert(name.into(), json!(written.bytes));
        errors.insert(name.into(), json!(error));
    }
    let looped = self::baked("loop", LOOP, &folder)?.looped;
    let gap = looped.map(|report| report.gap_m() / report.size_m);
    println!("\nloop: {:.3} % of its size was left to be closed", 100.0 * gap.unwrap_or(f64::NAN));
    let dress = dress_ms_per_frame(&folder)?;
    let result = json!({
        "bench": "delivery", "bytes": bytes, "error_mm": errors, "loop_gap": gap, "dress_ms_per_frame": dress,
    });
    println!("{result}");
    Ok(())
}

/// Milliseconds for a frame of `demo dress` in its walk: its start, and what is prepared for it, are baked before.
fn dress_ms_per_frame(folder: &Scratch) -> Result<f64, BoxedError> {
    let shot = followthrough::reader().parse("dress", DRESS, folder.path())?;
    let bake = |last: usize| -> Result<(Bake, f64), BoxedError> {
        let frames = Some(format!("0-{last}").parse()?);
        let options =
            BakeOptions { out: Some(folder.path().join("dress")), frames, ..BakeOptions::default() };
        let begin = Instant::now();
        Ok((shot.bake(&options, &Context::SILENT)?, begin.elapsed().as_secs_f64()))
    };
    bake(0)?;
    // takes up the checkpoint of frame 0, as going on does, and prepares everything anew
    let prepared = bake(1)?.1;
    let (baked, seconds) = bake(1 + TIMED)?;
    let points: usize = baked.clip.meshes.iter().map(clip::Mesh::point_count).sum();
    let each = 1e3 * (seconds - prepared).max(0.0) / (TIMED - 1) as f64;
    println!("dress: {each:.0} ms a frame, {points} points in the scene");
    Ok(each)
}

/// A shot of ours, baked and not delivered.
fn baked(name: &str, text: &str, folder: &Scratch) -> Result<Bake, BoxedError> {
    let shot = followthrough::reader().parse(name, text, folder.path())?;
    let options = BakeOptions { out: Some(folder.path().join(name)), ..BakeOptions::default() };
    Ok(shot.bake(&options, &Context::SILENT)?)
}

/// How far a point of one clip is from the same point of the other at most, in millimetres.
fn apart_mm(a: &Clip, b: &Clip) -> Result<f64, BoxedError> {
    if a.frame_count() != b.frame_count() || a.meshes.len() != b.meshes.len() {
        return Err("what was read again has other frames or meshes than what was written".into());
    }
    let mut worst = 0.0_f64;
    for index in 0..a.frame_count() {
        let (x, y) = (a.frame(index)?, b.frame(index)?);
        for mesh in 0..a.meshes.len() {
            // vertices, not points: those that always move together are one point when they are read again
            let (x, y) =
                (a.meshes[mesh].per_vertex(&x.points[mesh]), b.meshes[mesh].per_vertex(&y.points[mesh]));
            for (x, y) in x.iter().zip(&y) {
                let squared: f64 = (0..3).map(|i| f64::from(x[i] - y[i]).powi(2)).sum();
                worst = worst.max(squared.sqrt());
            }
        }
    }
    Ok(1e3 * worst)
}
