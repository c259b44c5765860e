//! The tracks layer in a shot: averages hold, resumed bakes are the same bits, bad input gets a sentence.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames};
use common::reader;
use geometry::{Mat3, Vec3};
use shot::{BakeOptions, Context, Shot};

fn parse(layer: &str) -> Shot {
    let text = format!(
        "[input]\nsample = \"box_guide\"\nframes = \"36-46\"\n\n[[layer]]\nkind = \"tracks\"\n{layer}\n\n[output]\nfiles = []\nreport = false\n"
    );
    reader().parse("tracks.toml", &text, "".as_ref()).unwrap_or_else(|error| panic!("{error:?}"))
}

fn bake(shot: &Shot, folder: &Path, frames: &str) -> shot::Bake {
    let options = BakeOptions {
        out: Some(folder.into()),
        frames: Some(frames.parse().unwrap()),
        ..BakeOptions::default()
    };
    shot.bake(&options, &Context::SILENT).unwrap()
}

/// The first mistake, with its help.
fn mistake(layer: &str) -> String {
    let mistakes = parse(layer).check();
    format!("{:?}", mistakes.first().expect("there is a mistake"))
}

#[test]
fn averages_hold_and_a_resumed_bake_is_the_same_to_the_bit() {
    // foil, so that creases are part of what is resumed; a relief, so that rest shapes are
    let shot = parse(
        "subdivide = 2\nmaterial = \"tin_foil\"\nintegrator = \"linearly_implicit\"\nsubsteps = 2\n\
         relief = [{ keys = [[0.0, 0.0], [0.2, 1.0]], shape = { wavelength = 0.5, depth = 0.02 } }]",
    );
    assert!(shot.check().is_empty());
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let whole = bake(&shot, one.path(), "0-6");
    bake(&shot, two.path(), "0-3");
    let resumed = bake(&shot, two.path(), "0-6");
    for index in 0..7 {
        let frame = whole.clip.frame(index).unwrap();
        assert_eq!(frame, resumed.clip.frame(index).unwrap());
        assert_eq!(frame.points[0].len(), 98, "the result is the finer mesh");
        let figures = &whole.layers[0].figures[index];
        let residual = figures.get("tracking/residual of hard averages").unwrap();
        assert!(residual < 1e-9, "frame {index}: {residual}");
    }
    assert_eq!(whole.clip.meshes[0].point_count(), 98);
    assert!(whole.layers[0].figures[6].get("crease/deepest").is_some_and(|depth| depth > 0.0));
}

#[test]
fn what_cannot_be_tracked_is_said_before_the_bake() {
    let cases = [
        ("material = \"vynil\"", "vinyl"),
        // eight points, more clusters than triangles
        ("tests = { kind = \"clusters\", count = 13 }", "13 clusters of 12 triangles"),
        ("tests = { kind = \"harmonics\", count = 9 }", "only 8 points are free"),
        (
            "subdivide = 1\ntests = { kind = \"painted\", regions = [{ guide = { group = \"top\" } }, { guide = { group = \"top\" } }] }",
            "says nothing new",
        ),
        ("tests = { kind = \"painted\", regions = [{ guide = { group = \"lid\" } }] }", "lid"),
        (
            "tests = { kind = \"painted\", regions = [{ guide = { box = { min = [8, 8, 8], max = [9, 9, 9] } } }] }",
            "is empty",
        ),
        ("subdivide = 1\nloosen = [{ keys = [[1.0, 0.5], [0.5, 1.0]] }]", "ascend"),
        ("subdivide = 1\nthen = { tests = { kind = \"hats\" }, from = 2.0, to = 1.0 }", "before it begins"),
        ("subdivide = 1\ntracked = \"no.obj\"", "either cut"),
    ];
    for (layer, words) in cases {
        let said = mistake(layer);
        assert!(said.contains(words), "{layer}: {said}");
    }
}

/// A sample's first mesh in other frames, written to a file that a shot can name.
fn moved(folder: &Path, mesh: clip::Mesh, rate: f64, frames: Vec<Vec<Vec3>>) -> PathBuf {
    let frame = |points: Vec<Vec3>| Frame {
        points: vec![points.iter().map(|p| p.as_vec3().to_array()).collect()],
        pose: Vec::new(),
    };
    let frames = Arc::new(MemoryFrames::new(frames.into_iter().map(frame).collect()));
    let parts = mesh.parts.iter().map(|part| clip::Part { material: None, ..part.clone() }).collect();
    let mesh = clip::Mesh { skin: None, parts, ..mesh };
    let clip = Clip::new("moved", rate, vec![mesh], None, frames);
    let path = folder.join("moved.glb");
    clip::write(&path, &clip, &clip::WriteOptions::default()).unwrap();
    path
}

fn shot_of(file: &Path, layer: &str) -> Shot {
    let text = format!(
        "[input]\nfile = {file:?}\n\n[[layer]]\nkind = \"tracks\"\n{layer}\n\n[output]\nfiles = []\nreport = false\n"
    );
    reader().parse("moved.toml", &text, "".as_ref()).unwrap_or_else(|error| panic!("{error:?}"))
}

#[test]
fn a_guide_that_jumps_carries_the_shell_along_and_the_report_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let sample = samples::box_guide();
    let rest = sample.meshes[0].rest();
    let at = |frame: usize| {
        let shift = if frame < 3 { Vec3::ZERO } else { Vec3::new(40.0, 0.0, 7.0) };
        rest.iter().map(|p| *p + shift + 0.01 * frame as f64 * Vec3::X).collect()
    };
    let file = moved(folder.path(), sample.meshes[0].clone(), 24.0, (0..6).map(at).collect());
    let bake = bake(&shot_of(&file, "subdivide = 2"), &folder.path().join("out"), "0-5");
    let size = geometry::Bounds::of(rest.iter().copied()).diagonal() as f32;
    for index in 0..6 {
        let guide = at(index);
        let middle = guide.iter().sum::<Vec3>() / guide.len() as f64;
        let frame = bake.clip.frame(index).unwrap();
        let far = |p: &[f32; 3]| (Vec3::from(p.map(f64::from)) - middle).length() as f32;
        assert!(frame.points[0].iter().all(|p| far(p) < size), "frame {index} is where its guide is");
        let figures = &bake.layers[0].figures[index];
        assert!(figures.get("tracking/residual of hard averages").unwrap() < 1e-9);
    }
    let said = format!("{:?}", bake.layers[0].warnings);
    assert!(said.contains("jumps"), "{said}");
}

/// Both sets say where the whole is: together they are too many, but only one of them is hard at a time.
#[test]
fn a_second_set_of_averages_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let sample = samples::box_guide();
    let rest = sample.meshes[0].rest();
    let at = |frame: usize| rest.iter().map(|p| *p + 0.02 * frame as f64 * Vec3::X).collect();
    let file = moved(folder.path(), sample.meshes[0].clone(), 24.0, (0..6).map(at).collect());
    let then = "then = { tests = { kind = \"harmonics\", count = 4 }, from = 0.05, to = 0.15 }";
    for pre_roll in ["", "pre_roll = 0.05\n"] {
        let shot = shot_of(&file, &format!("subdivide = 2\nsubsteps = 2\n{pre_roll}{then}"));
        assert_eq!(shot.check().len(), 0);
        let bake = bake(&shot, &folder.path().join(format!("out{}", pre_roll.len())), "0-5");
        for figures in &bake.layers[0].figures {
            assert!(figures.get("tracking/residual of hard averages").unwrap() < 1e-6);
        }
    }
}

#[test]
fn the_bag_turns_a_captured_backflip() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let root = std::env::var_os("FOLLOWTHROUGH_ASSETS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let Ok(text) = std::fs::read_to_string(root.join("mocap/deepmimic/humanoid3d_backflip.txt")) else {
        println!("skipped: mocap/deepmimic/humanoid3d_backflip.txt is not there");
        return;
    };
    // frames of [seconds, root x y z, root quaternion w x y z, chest quaternion …]
    let motion: serde_json::Value = serde_json::from_str(&text).unwrap();
    let frames: Vec<Vec<f64>> = serde_json::from_value(motion["Frames"].clone()).unwrap();
    let turn = |q: &[f64]| {
        let (w, v) = (q[0], Vec3::new(q[1], q[2], q[3]));
        let by = |p: Vec3| p + 2.0 * v.cross(v.cross(p) + w * p);
        Mat3::from_cols(by(Vec3::X), by(Vec3::Y), by(Vec3::Z))
    };
    let sample = samples::bag();
    let rest = sample.meshes[0].rest();
    // the bag is two thirds of a person high; what is above its waist turns with the chest, too
    let pose = |frame: &Vec<f64>| -> Vec<Vec3> {
        let hips = 0.4 * Vec3::new(frame[1], frame[2], frame[3]);
        let (root, chest) = (turn(&frame[4..8]), turn(&frame[8..12]));
        let waist = 0.3 * Vec3::Y;
        rest.iter()
            .map(|p| {
                let above = ((p.y - 0.25) / 0.2).clamp(0.0, 1.0);
                let local = *p - waist;
                hips + root * local.lerp(chest * local, above)
            })
            .collect()
    };
    let seconds = frames[0][0];
    let folder = tempfile::tempdir().unwrap();
    let poses: Vec<Vec<Vec3>> = frames.iter().map(pose).collect();
    // it is a flip: in some frame the mouth is below the base
    let upside_down = poses.iter().any(|pose| {
        let heights =
            |top: bool| pose.iter().zip(&rest).filter(move |(_, r)| (r.y > 0.3) == top).map(|(p, _)| p.y);
        heights(true).fold(f64::MIN, f64::max) < heights(false).fold(f64::MIN, f64::max)
    });
    assert!(upside_down);
    let last = poses.len() - 1;
    let file = moved(folder.path(), sample.meshes[0].clone(), 1.0 / seconds, poses);
    let layer = "subdivide = 1\nmaterial = \"vinyl\"\nintegrator = \"linearly_implicit\"\nsubsteps = 8";
    let bake = bake(&shot_of(&file, layer), &folder.path().join("out"), &format!("0-{last}"));
    for index in 0..=last {
        let figures = &bake.layers[0].figures[index];
        let residual = figures.get("tracking/residual of hard averages").unwrap();
        assert!(residual < 1e-9, "frame {index}: {residual}");
    }
    assert_eq!(bake.clip.meshes[0].point_count(), 333);
}

#[test]
fn test_functions_can_be_painted_before_the_bake() {
    let shot = parse("subdivide = 2");
    let shot::Parts { clip, values } = shot.parts().unwrap().unwrap();
    assert_eq!((clip.meshes[0].point_count(), values[0].len()), (98, 98));
    // eight functions have eight numbers, and every corner shows mostly its own
    let mut corners = values[0][..8].to_vec();
    corners.sort_by(f32::total_cmp);
    assert!(corners.windows(2).all(|pair| pair[1] - pair[0] > 0.02), "{corners:?}");
}

/// A mesh of another place, of another unit, without faces, and no mesh at all: each is told before the bake, with a remedy or a reason.
#[test]
fn a_tracked_mesh_that_does_not_correspond_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cube = |scale: f64, shift: f64| {
        let corners =
            (0..8).map(|i| [i & 1, i >> 1 & 1, i >> 2 & 1].map(|bit| scale * f64::from(bit) + shift));
        let points: String = corners.map(|[x, y, z]| format!("v {x} {y} {z}\n")).collect();
        points + "f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n"
    };
    let files = [
        ("elsewhere.obj", cube(1.0, 40.0), "same place"),
        ("centimetres.obj", cube(100.0, -50.0), "same place"),
        ("points.obj", "v 0 0 0\nv 1 0 0\n".into(), "faces"),
        ("broken.obj", "this is no mesh\n".into(), "broken.obj"),
    ];
    for (name, text, expected) in files {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let said = mistake(&format!("tracked = {:?}", path.display().to_string()));
        assert!(said.contains(expected), "{name}: {said}");
    }
}
