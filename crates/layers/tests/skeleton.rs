//! The skeleton layer through the whole pipeline: the four-line shot on every skinned file, what follows is untouched, resumed bakes.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

mod common;

use std::path::{Path, PathBuf};

use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames};
use common::reader;
use geometry::Random;
use shot::{Bake, BakeOptions, Context, Reader};

fn bake_in(folder: &Path, text: &str, frames: &str) -> Result<Bake, shot::Error> {
    let frames = Some(frames.parse().unwrap());
    let options = BakeOptions { out: Some(folder.into()), frames, ..BakeOptions::default() };
    reader().parse("shot", text, "".as_ref())?.bake(&options, &Context::SILENT)
}

fn shot(input: &str, layer: &str) -> String {
    format!(
        "[input]\n{input}\n[[layer]]\nkind = \"skeleton\"\n{layer}\n[output]\nfiles = []\nreport = false\n"
    )
}

fn assets(folder: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let root = std::env::var_os("FOLLOWTHROUGH_ASSETS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = root.join(folder).canonicalize().ok().filter(|path| path.is_dir());
    if path.is_none() {
        println!("skipped: {folder} is not there");
    }
    path
}

#[test]
fn what_follows_is_the_input_to_the_bit_and_the_rest_lives() {
    let text = shot("sample = \"quadruped\"", "cells = 300\nfollow = { group = \"feet\" }\npre_roll = 0.2");
    let folder = tempfile::tempdir().unwrap();
    let bake = bake_in(folder.path(), &text, "0-6").unwrap();
    let input = reader().parse("shot", &text, "".as_ref()).unwrap().open_input().unwrap();
    let mesh = &input.meshes[0];
    let feet = &mesh.group("feet").unwrap().weights;
    let (a, b) = (input.frame(6).unwrap(), bake.clip.frame(6).unwrap());
    let mut moved = 0.0_f32;
    for (k, weight) in feet.iter().enumerate() {
        if *weight == 1.0 {
            assert_eq!(a.points[0][k], b.points[0][k]);
        }
        moved = moved.max(glam::Vec3::from(a.points[0][k]).distance(glam::Vec3::from(b.points[0][k])));
    }
    println!("farthest from its skin: {moved} m; {:?}", bake.layers[0].notes);
    assert!(moved > 1e-3 && moved < 0.3, "{moved}");
    // the skeleton is the animation's own
    assert_eq!(a.pose, b.pose);

    // stopped and resumed
    let other = tempfile::tempdir().unwrap();
    bake_in(other.path(), &text, "0-3").unwrap();
    let resumed = bake_in(other.path(), &text, "0-6").unwrap();
    assert_eq!(resumed.clip.frame(6).unwrap(), b);
}

#[test]
fn every_skinned_file_with_a_volume_bakes() {
    let Some(folder) = assets("gltf") else { return };
    let mut baked = 0;
    let names = [
        "CesiumMan.glb",
        "RiggedFigure.glb",
        "RiggedSimple.glb",
        "Knight.glb",
        "RobotExpressive.glb",
        "SimpleSkin.gltf",
    ];
    for name in names.into_iter().filter(|name| folder.join(name).is_file()) {
        let text = shot(&format!("file = '{}'", folder.join(name).display()), "cells = 250\npre_roll = 0.2");
        let out = tempfile::tempdir().unwrap();
        let bake = bake_in(out.path(), &text, "0-4").unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let (first, last) = (bake.clip.frame(0).unwrap(), bake.clip.frame(4).unwrap());
        let input =
            reader().parse("shot", &text, "".as_ref()).unwrap().open_input().unwrap().frame(4).unwrap();
        let points = || last.points.iter().flatten().zip(input.points.iter().flatten());
        assert!(points().all(|(p, _)| p.iter().all(|x| x.is_finite())));
        let bounds = geometry::Bounds::of(
            first.points.iter().flatten().map(|p| geometry::Vec3::from(p.map(f64::from))),
        );
        let far =
            points().map(|(p, q)| glam::Vec3::from(*p).distance(glam::Vec3::from(*q))).fold(0.0, f32::max);
        println!(
            "{name}: farthest {:.3} of size; {:?} {:?}",
            f64::from(far) / bounds.diagonal(),
            bake.layers[0].notes,
            bake.layers[0].warnings
        );
        assert!(f64::from(far) < 0.4 * bounds.diagonal(), "{name}: {far}");
        baked += 1;
    }
    assert!(baked > 0);
}

/// A quadruped whose joints all jump by up to two radians from frame to frame.
fn jumping() -> Clip {
    let sample = samples::all().iter().find(|sample| sample.name == "quadruped").unwrap();
    let clip = (sample.make)();
    let mut random = Random::new(11);
    let frames: Vec<Frame> = (0..16)
        .map(|_| {
            let mut pose = clip.skeleton.as_ref().unwrap().rest_pose();
            for joint in &mut pose {
                joint.rotation *= glam::Quat::from_scaled_axis(2.0 * random.vec3().as_vec3());
            }
            let skeleton = clip.skeleton.as_ref().unwrap();
            let deformed = |mesh: &clip::Mesh| {
                let skin = mesh.skin.as_ref().unwrap();
                skin.deform(&mesh.rest_points, &skeleton.world_from_joints(&pose))
            };
            Frame { points: clip.meshes.iter().map(deformed).collect(), pose: pose.clone() }
        })
        .collect();
    clip.with_frames(Arc::new(MemoryFrames::new(frames)))
}

/// In quick turns what pushes flesh outwards beats a constant matrix, and blended flesh once grew to thousands of kilometres.
#[test]
fn poses_that_jump_by_two_radians_leave_flesh_near_its_bones() {
    let registry = layers::registry().with_sample("jumping", jumping);
    for method in ["blended", "linear"] {
        let text = shot(
            "sample = \"jumping\"",
            &format!("cells = 150\npre_roll = 0.0\nmethod = \"{method}\"\nsteps_per_second = 120.0"),
        );
        let folder = tempfile::tempdir().unwrap();
        let shot = Reader::new(registry.clone()).parse("shot", &text, "".as_ref()).unwrap();
        let options = BakeOptions { out: Some(folder.path().into()), ..BakeOptions::default() };
        let bake = shot.bake(&options, &Context::SILENT).unwrap();
        let rest = bake.clip.meshes[0].rest_points.iter().map(|p| geometry::Vec3::from(p.map(f64::from)));
        let size = geometry::Bounds::of(rest).diagonal();
        let (input, mut farthest) = (shot.open_input().unwrap(), 0.0_f64);
        for index in 0..16 {
            let (a, b) = (input.frame(index).unwrap(), bake.clip.frame(index).unwrap());
            let pairs = a.points[0].iter().zip(&b.points[0]);
            let apart = |(a, b): (&[f32; 3], &[f32; 3])| glam::Vec3::from(*a).distance(glam::Vec3::from(*b));
            farthest = farthest.max(f64::from(pairs.map(apart).fold(0.0, f32::max)) / size);
        }
        println!("{method}: {farthest:.2} of its size from its skin; {:?}", bake.layers[0].fallbacks);
        assert!(farthest < 3.0, "{method}: {farthest}");
    }
}

#[test]
fn mistakes_are_named() {
    let mistakes = |layer: &str| {
        let shot = reader().parse("shot", &shot("sample = \"quadruped\"", layer), "".as_ref()).unwrap();
        shot.check().iter().map(|mistake| mistake.message().to_owned()).collect::<Vec<_>>().join("\n")
    };
    assert!(mistakes("material = \"flesh\"").contains("flesh"));
    assert!(mistakes("parts = [{ joints = [\"hoof_*\"], material = \"wood\" }]").contains("hoof_*"));
    assert!(mistakes("parts = [{ joints = [\"ear*\", \"tail_*\"], material = \"rubber\" }]").is_empty());
}

#[test]
fn free_joints_swing_with_the_flesh_and_come_out_turned() {
    let bake = |free: &str| {
        let folder = tempfile::tempdir().unwrap();
        let text = shot(
            "sample = \"tail\"",
            &format!("cells = 100\nmethod = \"nonlinear\"\nmaterial = \"muscle\"\npre_roll = 0.0\n{free}"),
        );
        let bake = bake_in(folder.path(), &text, "0-14").unwrap();
        let input = reader().parse("shot", &text, "".as_ref()).unwrap().open_input().unwrap();
        (input.frame(14).unwrap(), bake.clip.frame(14).unwrap(), input)
    };
    let (animated, held, clip) = bake("");
    assert_eq!(animated.pose, held.pose);
    let (_, swung, _) = bake("free = [\"tail_*\"]");
    let far = |frame: &Frame| {
        let pairs = frame.points[0].iter().zip(&animated.points[0]);
        pairs.map(|(p, q)| glam::Vec3::from(*p).distance(glam::Vec3::from(*q))).fold(0.0, f32::max)
    };
    println!("farthest from the animation: {} m held, {} m free", far(&held), far(&swung));
    assert!(far(&swung) > 2.0 * far(&held) && far(&swung) > 0.05);
    // the last joint is where the flesh around it is
    let skeleton = clip.skeleton.as_ref().unwrap();
    let joint = skeleton.joints.iter().position(|joint| joint.name == "tail_6").unwrap();
    assert_eq!(swung.pose[0], animated.pose[0]);
    assert_ne!(swung.pose[joint].rotation, animated.pose[joint].rotation);
    let skin = clip.meshes[0].skin.as_ref().unwrap();
    let by_joints = skin.deform(&clip.meshes[0].rest_points, &skeleton.world_from_joints(&swung.pose));
    let apart = |points: &[[f32; 3]]| {
        let tip = (0..points.len()).filter(|&p| clip.meshes[0].rest_points[p][2] < -1.2);
        tip.map(|p| glam::Vec3::from(points[p]).distance(glam::Vec3::from(swung.points[0][p])))
            .fold(0.0, f32::max)
    };
    println!(
        "tip from the flesh: {} m by its joints, {} m as animated",
        apart(&by_joints),
        apart(&animated.points[0])
    );
    assert!(apart(&by_joints) < 0.4 * apart(&animated.points[0]));
}
