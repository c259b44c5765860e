//! Garments that other people made: the cape of a game's knight, who walks, runs, dodges and spins; a dress on a hanger.

#![allow(clippy::print_stdout)] // the figures that the book quotes; skips aloud

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{Clip, Frame, Joint, MemoryFrames, ReadOptions, Skeleton, Transform};
use shot::{Context, Registry};
use train::{Options, Report, UpsampleReport};

fn assets(folder: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let root = std::env::var_os("FOLLOWTHROUGH_ASSETS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = root.join(folder).canonicalize().ok().filter(|path| path.is_dir());
    if path.is_none() {
        println!("skipped: {folder} is not there");
    }
    path
}

fn train(name: &str, text: &str, folder: &Path, registry: &Registry) -> (Vec<u8>, UpsampleReport) {
    let work = tempfile::tempdir().unwrap();
    let options = Options { work: work.path().into(), allow_outside: true, ..Options::default() };
    let trained = train::train(name, text, folder, registry, &options, &Context::SILENT)
        .unwrap_or_else(|error| panic!("{error}"));
    let Report::Upsample(report) = trained.report else { panic!("cloth was trained") };
    println!("{}", report.text());
    (trained.operator, report)
}

/// The body that the knight's cape must not enter, as balls on its chest and hips.
const KNIGHT: &str = r#"
kind = "upsample"
coarse = { file = "Knight.glb", mesh = "Knight_Cape" }
subdivide = 2
follow = { height = { from = 1.1, to = 1.16 } }
fabric = { bend = 1e-3, damping = 0.2, area_density = 0.2 }
tests = 20
harmonics = 120
settle = 0.1
learn = [{ file = "Knight.glb", clip = "Walking_A" }]
test = [
    { file = "Knight.glb", clip = "Running_A", frames = "0-8" },
    { file = "Knight.glb", clip = "Dodge_Left", frames = "0-7" },
    { file = "Knight.glb", clip = "2H_Melee_Attack_Spin", frames = "0-8" },
]

[[capsule]]
joint = "chest"
from = [0.0, 0.95, 0.0]
radius = 0.28

[[capsule]]
joint = "hips"
from = [0.0, 0.6, 0.0]
radius = 0.32
"#;

#[test]
fn the_cape_of_a_knight_is_learnt_from_a_walk() {
    let Some(folder) = assets("gltf") else { return };
    let (operator, report) = train("knight.toml", KNIGHT, &folder, &Registry::empty());
    assert_eq!((report.coarse_points, report.fine_points), (56, 725));
    let names: Vec<&str> = report.motions.iter().map(|judged| judged.motion.as_str()).collect();
    assert_eq!(names, ["Walking_A", "Running_A", "Dodge_Left", "2H_Melee_Attack_Spin"]);
    // it hangs on the chest as a whole, by its node
    let operator = live::Operator::read(operator).unwrap();
    assert!(operator.joints().any(|name| name == "chest"), "{:?}", operator.joints().collect::<Vec<_>>());
    for judged in &report.motions {
        let best = judged.ours.rms_mm / judged.ratio;
        assert!(judged.ours.rms_mm.is_finite() && best > 0.0 && judged.frames > 7, "{judged:?}");
        // a run, a leap and a spin lead it farther from rest than a walk does
        assert_eq!(judged.learnt, judged.unknown_frames.is_empty(), "{judged:?}");
        // unseen motions are at least as near as the best that needs no learning, but for what a fade costs
        assert!(judged.ratio < if judged.learnt { 0.95 } else { 1.02 }, "{}", report.text());
    }
    let proposal = report.proposal.as_ref().unwrap_or_else(|| panic!("{}", report.text()));
    assert!(proposal.then_mm < 0.97 * proposal.now_mm, "{proposal:?}");
}

/// The dress of a simulator's examples, 78 points, hung on a joint that sways or turns.
fn dress(pose: impl Fn(f32) -> Transform) -> Clip {
    let path = assets("cloth/arcsim/meshes").unwrap_or_default().join("dress4.obj");
    let mut clip = clip::read(&path, &ReadOptions::default()).unwrap();
    let hanger = Joint { name: "hanger".into(), parent: None, rest: Transform::IDENTITY };
    clip.skeleton = Some(Skeleton { joints: vec![hanger] });
    clip.frame_rate_hz = 30.0;
    clip.meshes[0].parent = Some(0);
    let frame = |k: u16| {
        let pose = pose(f32::from(k) / 30.0);
        let points = clip.meshes[0].rest_points.iter().map(|p| pose.matrix().transform_point3((*p).into()));
        Frame { points: vec![points.map(Into::into).collect()], pose: vec![pose] }
    };
    let frames = (0..45).map(frame).collect();
    clip.with_frames(Arc::new(MemoryFrames::new(frames)))
}

fn sway() -> Clip {
    let across = |t: f32| [0.2 * (4.5 * t).sin(), 0.04 * (9.0 * t).sin(), 0.1 * (3.1 * t).sin()].into();
    dress(|t| Transform { translation: across(t), ..Transform::IDENTITY })
}

fn turn() -> Clip {
    let about = |t: f32| glam::Quat::from_rotation_y(0.7 * (4.0 * t).sin());
    dress(|t| Transform { rotation: about(t), ..Transform::IDENTITY })
}

const DRESS: &str = r#"
kind = "upsample"
coarse = { sample = "sway" }
subdivide = 2
follow = { height = { from = 0.28, to = 0.34 } }
fabric = { bend = 1e-3, damping = 0.2, area_density = 0.2 }
tests = 20
harmonics = 120
settle = 0.2
learn = [{ sample = "sway" }]
test = [{ sample = "turn", frames = "0-19" }]

[[capsule]]
joint = "hanger"
from = [-0.1, 0.25, -0.35]
to = [-0.1, -0.1, -0.35]
radius = 0.08
"#;

#[test]
fn a_dress_that_swayed_is_shown_as_it_turns() {
    let Some(folder) = assets("cloth/arcsim/meshes") else { return };
    let registry = Registry::empty().with_sample("sway", sway).with_sample("turn", turn);
    let (_, report) = train("dress.toml", DRESS, &folder, &registry);
    assert_eq!(report.coarse_points, 78);
    for judged in &report.motions {
        assert!(judged.ours.rms_mm > 0.0 && judged.ratio < 1.0, "{}", report.text());
    }
}
