//! Loops of run cycles that others animated: what is simulated on them ends as it began, in place and in velocity.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

use std::path::PathBuf;

use glam::Vec3;
use shot::{Bake, BakeOptions, Context, Reader};

/// A gap that may be left before it is closed, as a part of the body's size.
const GAP: f64 = 0.01;

fn asset(path: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let root = std::env::var_os("FOLLOWTHROUGH_ASSETS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = root.join(path).canonicalize().ok();
    if path.is_none() {
        println!("skipped: an asset is not there");
    }
    path
}

/// A loop of the file's animation with this layer on it.
fn looped(input: &str, layer: &str) -> Bake {
    let folder = tempfile::tempdir().unwrap();
    let text =
        format!("[input]\n{input}\nloop = true\n[[layer]]\n{layer}\n[output]\nfiles = []\nreport = false\n");
    let shot = Reader::new(layers::registry()).parse("loop", &text, folder.path()).unwrap();
    let options = BakeOptions { out: Some(folder.path().join("out")), ..BakeOptions::default() };
    let bake = shot.bake(&options, &Context::SILENT).unwrap();
    std::mem::forget(folder); // frames are read from disk
    bake
}

/// One round ends where the next begins before anything is closed.
fn assert_is_settled(bake: &Bake) {
    let report = bake.looped.as_ref().unwrap();
    assert!(report.is_settled() && report.gap_m() <= GAP * report.size_m, "{report:?}");
}

/// It ends where it began; what comes over the seam is no faster change of velocity than within; and it is not the input.
fn assert_is_loop(bake: &Bake, mesh: usize) {
    let report = bake.looped.as_ref().unwrap();
    let last = bake.clip.frame_count() - 1;
    let points: Vec<Vec<Vec3>> = (0..=last)
        .map(|i| bake.clip.frame(i).unwrap().points[mesh].iter().map(|p| Vec3::from(*p)).collect())
        .collect();
    assert_eq!(points[0], points[last]);
    // largest change of velocity from frame to frame, of any point
    let change = |before: usize, here: usize, after: usize| {
        let ways = points[before].iter().zip(&points[here]).zip(&points[after]);
        ways.map(|((a, b), c)| (*a - 2.0 * *b + *c).length()).fold(0.0, f32::max)
    };
    let within = (1..last).map(|i| change(i - 1, i, i + 1)).fold(0.0, f32::max);
    let seam = change(last - 1, 0, 1);
    let apart = |i: usize| {
        let animated = bake.input.frame(i).unwrap();
        animated.points[mesh]
            .iter()
            .zip(&points[i])
            .map(|(a, b)| Vec3::from(*a).distance(*b))
            .fold(0.0, f32::max)
    };
    let swung = (0..last).map(apart).fold(0.0, f32::max);
    println!(
        "gap {:.4} % of the size; velocity changes by {seam:.4} m a frame at the seam, by {within:.4} within; swings by {swung:.4} m",
        100.0 * report.gap_m() / report.size_m
    );
    assert!(seam <= 1.2 * within, "{seam} at the seam, {within} within");
    assert!(f64::from(swung) > 0.005 * report.size_m, "{swung}");
}

/// A horse of morph targets in centimetres: flesh on all of it.
#[test]
fn a_galloping_horse_is_a_loop() {
    let Some(path) = asset("gltf/Horse.glb") else { return };
    let bake = looped(&format!("file = {path:?}\nunit = 0.01"), "kind = \"enrich\"\ntets = 400");
    assert_is_settled(&bake);
    assert_is_loop(&bake, 0);
}

/// The cape of a knight who runs on the spot. Loose cloth flutters and finds no period (rounds end 15 to 30 cm apart, of 3.9 m): what is left is closed
/// by the blend, as smoothly as the cape moves anyway.
#[test]
fn a_running_cape_is_a_loop() {
    let Some(path) = asset("gltf/Knight.glb") else { return };
    let layer = "kind = \"cloth\"\nmesh = \"Knight_Cape\"\nfollow = { height = { from = 1.0, to = 1.15 } }";
    let bake = looped(&format!("file = {path:?}\nclip = \"Running_A\""), layer);
    let mesh = bake.clip.mesh_index("Knight_Cape").unwrap();
    assert_is_loop(&bake, mesh);
}
