//! The skeleton layer through the whole pipeline: the four-line shot on every skinned file, what follows is untouched, resumed bakes.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

mod common;

use std::path::{Path, PathBuf};

use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames};
use common::reader;
use geometry::Random;
use glam::DAffine3;
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

/// The shot of four lines, on whole clips: flesh stays about its bones, no cell is turned inside out, bones are where joints have them,
/// and what follows is the input to the bit.
#[test]
fn every_skinned_file_with_a_volume_bakes() {
    let Some(folder) = assets("gltf") else { return };
    let names = [
        "CesiumMan.glb",
        "RiggedFigure.glb",
        "RiggedSimple.glb",
        "Knight.glb",
        "RobotExpressive.glb",
        "manny_med_mod.gltf",
        "SimpleSkin.gltf",
    ];
    let mut baked = 0;
    for name in names.into_iter().filter(|name| folder.join(name).is_file()) {
        let text = |layer: &str| shot(&format!("file = '{}'", folder.join(name).display()), layer);
        let input = reader().parse("shot", &text(""), "".as_ref()).unwrap().open_input().unwrap();
        let last = input.frame_count().min(40) - 1;
        let out = tempfile::tempdir().unwrap();
        let bake = bake_in(out.path(), &text(""), &format!("0-{last}"))
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let size = geometry::Bounds::of(
            input.frame(0).unwrap().points.iter().flatten().map(|p| geometry::Vec3::from(p.map(f64::from))),
        )
        .diagonal();
        let far = figure(&bake, "from the skin/farthest").into_iter().fold(0.0, f64::max) / size;
        let inverted = figure(&bake, "lattice/tets inside out");
        let all: f64 = inverted.iter().sum();
        println!("{name}: farthest {far:.3} of size; inside out {all} in all of {} frames", inverted.len());
        assert!(far < 0.2, "{name}: {far}");
        assert_eq!(all, 0.0, "{name}: {inverted:?}");
        bones_are_where_joints_have_them(name, &input, last);
        what_follows_is_exact(name, &input, text);
        baked += 1;
    }
    assert!(baked > 0);
}

/// What bones hold is on the bones, in the player that the layer bakes with.
fn bones_are_where_joints_have_them(name: &str, input: &Clip, last: usize) {
    let mesh = input.meshes.iter().position(|mesh| mesh.skin.is_some()).unwrap();
    let target = shot::Target { clip: input.clone(), mesh, files: clip::Files::default() };
    let flesh = layers::Anatomy::new(&layers::Skeleton::default(), &target).unwrap().flesh;
    let kit = character::Kit::new(&flesh, character::Method::BlendedLinear, 1.0 / 240.0).unwrap();
    let joint_from_rest: Vec<DAffine3> = {
        let joints = layers::Anatomy::new(&layers::Skeleton::default(), &target).unwrap().joints;
        joints.iter().map(|joint| joint.rest_from_joint.inverse()).collect()
    };
    let mut player = character::Player::new(kit).unwrap();
    let skeleton = input.skeleton.as_ref().unwrap();
    let (bones, chains) = flesh.bones();
    let size = geometry::Bounds::of(flesh.lattice().points().iter().copied()).diagonal();
    let mut worst = 0.0_f64;
    for index in 0..=last.min(8) {
        let pose = skeleton.world_from_joints(&input.frame(index).unwrap().pose);
        player.step(&pose, 1.0 / input.frame_rate_hz).unwrap();
        let moved = |end: &character::End| {
            let world = DAffine3::from_mat4(pose[end.joint].as_dmat4()) * joint_from_rest[end.joint];
            world.transform_point3(end.rest)
        };
        // a point that several bones share is on all of them
        for (bone, chain) in bones.iter().zip(chains) {
            let [a, b] = [&bone.ends[0], &bone.ends[1]].map(moved);
            for &v in chain {
                let x = player.shown()[v as usize];
                let along = ((x - a).dot(b - a) / (b - a).length_squared().max(1e-300)).clamp(0.0, 1.0);
                worst = worst.max(x.distance(a.lerp(b, along)) / size);
            }
        }
    }
    println!("{name}: {} bones, {worst:.1e} of the size off", bones.len());
    assert!(worst < 1e-6, "{name}: {worst}");
}

/// Points that one joint moves alone, told to follow it.
fn what_follows_is_exact(name: &str, input: &Clip, text: impl Fn(&str) -> String) {
    let mesh = input.meshes.iter().position(|mesh| mesh.skin.is_some()).unwrap();
    let skin = input.meshes[mesh].skin.as_ref().unwrap();
    let Some(row) = skin.influences.iter().find(|row| row.len() == 1 && row[0].1 == 1.0) else { return };
    let joint = skin.binds[row[0].0 as usize].0;
    let layer = format!("follow = {{ joint = '{}' }}", input.skeleton.as_ref().unwrap().joints[joint].name);
    let out = tempfile::tempdir().unwrap();
    let last = input.frame_count().min(3) - 1;
    let bake = bake_in(out.path(), &text(&layer), &format!("0-{last}")).unwrap();
    let (a, b) = (input.frame(last).unwrap(), bake.clip.frame(last).unwrap());
    let mut exact = 0;
    for (k, row) in skin.influences.iter().enumerate() {
        if row.len() == 1 && row[0].1 == 1.0 && skin.binds[row[0].0 as usize].0 == joint {
            assert_eq!(a.points[mesh][k], b.points[mesh][k], "{name}: {k}");
            exact += 1;
        }
    }
    println!("{name}: {exact} points to the bit");
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

/// An elbow of few points that bends to 120°.
fn small_elbow() -> Clip {
    samples::Elbow { points: [12, 30], ..samples::Elbow::default() }.clip()
}

/// The same, which stands still.
fn still_elbow() -> Clip {
    samples::Elbow { points: [12, 30], bend: 0.0, ..samples::Elbow::default() }.clip()
}

fn bake_elbow(folder: &Path, layer: &str, frames: &str) -> Bake {
    bake_sample(folder, "small_elbow", layer, frames)
}

fn bake_sample(folder: &Path, sample: &str, layer: &str, frames: &str) -> Bake {
    let registry =
        layers::registry().with_sample("small_elbow", small_elbow).with_sample("still_elbow", still_elbow);
    let registry = registry.with_sample("pressed_elbow", pressed_elbow);
    let text = shot(&format!("sample = \"{sample}\""), layer);
    let shot = Reader::new(registry).parse("shot", &text, "".as_ref()).unwrap();
    let frames = Some(frames.parse().unwrap());
    let options = BakeOptions { out: Some(folder.into()), frames, ..BakeOptions::default() };
    shot.bake(&options, &Context::SILENT).unwrap_or_else(|error| panic!("{layer}: {error:?}"))
}

/// A figure of the first layer, frame by frame.
fn figure(bake: &Bake, name: &str) -> Vec<f64> {
    bake.layers[0].figures.iter().map(|figures| figures.get(name).unwrap_or(f64::NAN)).collect()
}

#[test]
fn a_dragged_point_comes_to_its_place_and_functions_come_and_go() {
    // a point on top of the upper half, drawn out by 8 cm, held, let go
    let layer = "cells = 60\nlevels = 1\npre_roll = 0.0\nsteps_per_second = 96.0\nyoung = 2e4\ndamping = 0.8\n\
        pins = [{ near = [-0.5, 0.5, 0.0], to = [-0.5, 0.58, 0.0], frames = [0, 12], seconds = 0.25 }]\n\
        [layer.adaptation]\nrefine = [0.2]\ncoarsen = [0.08]\njoints = false\n";
    let folder = tempfile::tempdir().unwrap();
    let bake = bake_sample(folder.path(), "still_elbow", layer, "0-34");
    let (active, all) = (figure(&bake, "functions/active"), figure(&bake, "functions/all"));
    println!("active functions {active:?} of {}", all[0]);
    let most = active.iter().copied().fold(0.0, f64::max);
    assert!(active[0] < most && most < 0.9 * all[0], "{active:?}");
    assert!(active[34] < 0.7 * most);
    let miss = figure(&bake, "pins/farthest from their place");
    assert!((7..=12).all(|frame| miss[frame] < 1e-4), "{miss:?}");
    assert!(miss[13].is_nan());

    // stopped while the point is dragged, and resumed
    let other = tempfile::tempdir().unwrap();
    bake_sample(other.path(), "still_elbow", layer, "0-4");
    let resumed = bake_sample(other.path(), "still_elbow", layer, "0-16");
    assert_eq!(resumed.clip.frame(16).unwrap(), bake.clip.frame(16).unwrap());
}

#[test]
fn a_pinned_point_goes_along_with_a_joint() {
    let layer = "cells = 60\npre_roll = 0.0\nsteps_per_second = 96.0\nmethod = \"corotated\"\n\
        pins = [{ point = 180, joint = \"lower\" }]\n";
    let folder = tempfile::tempdir().unwrap();
    let bake = bake_elbow(folder.path(), layer, "0-16");
    let miss = figure(&bake, "pins/farthest from their place");
    println!("off by {miss:?} m");
    assert!(miss.iter().skip(1).all(|miss| *miss < 5e-3), "{miss:?}");
}

#[test]
fn corotated_flesh_keeps_the_volume_that_its_skin_loses() {
    let folder = tempfile::tempdir().unwrap();
    let layer = "cells = 200\npre_roll = 0.0\nmethod = \"corotated\"\ndamping = 0.5\n";
    let bake = bake_elbow(folder.path(), layer, "0-36");
    let (flesh, skin) = (figure(&bake, "volume/flesh")[36], figure(&bake, "volume/skin")[36]);
    println!("bent by 120°: {flesh:.2} % of the volume, its skin {skin:.2} %");
    assert!((flesh - 100.0).abs() < 0.5 * (skin - 100.0).abs(), "{flesh} {skin}");
}

/// Bent by 120° the crease of an elbow crosses itself, and a ball that it brushes past is gone through.
#[test]
fn with_contact_flesh_crosses_neither_itself_nor_a_ball() {
    let layer = "cells = 60\npre_roll = 0.0\nmethod = \"nonlinear\"\ndamping = 0.5\n\
        [layer.contact]\nthickness = 1e-3\n\
        obstacles = [{ shape = \"sphere\", radius = 0.15, centre = [0.55, 0.7, 0.3] }]\n";
    let folder = tempfile::tempdir().unwrap();
    let bake = bake_elbow(folder.path(), layer, "0-30");
    for name in ["intersections/itself", "intersections/obstacles"] {
        let crossings = figure(&bake, name);
        assert!(crossings.iter().all(|count| *count == 0.0), "{name}: {crossings:?}");
    }
    let pairs = figure(&bake, "contact/pairs");
    println!("pairs {pairs:?}; {:?}", bake.layers[0].fallbacks);
    assert!(pairs.iter().any(|count| *count > 0.0));
    assert!(bake.layers[0].fallbacks.is_empty());

    let other = tempfile::tempdir().unwrap();
    bake_elbow(other.path(), layer, "0-14");
    let resumed = bake_elbow(other.path(), layer, "0-17");
    assert_eq!(resumed.clip.frame(17).unwrap(), bake.clip.frame(17).unwrap());
}

/// The straight elbow, and a ball that is pressed 5 cm into its upper half and taken away again.
fn pressed_elbow() -> Clip {
    let mut clip = samples::Elbow { points: [20, 50], bend: 0.0, ..samples::Elbow::default() }.clip();
    let ball = samples::shapes::icosphere(0.07, 2);
    let at = |y: f32| {
        let place = move |p: &geometry::Vec3| [p.x as f32 - 0.5, p.y as f32 + y, p.z as f32];
        ball.points.iter().map(place).collect::<Vec<_>>()
    };
    let height = |index: usize| match index {
        0..=10 => 0.58 - 0.006 * index as f32,
        11..=14 => 0.52,
        _ => 0.52 + 0.015 * (index - 14) as f32,
    };
    clip.meshes.push(clip::Mesh::new("ball", at(height(0)), &ball.triangles()));
    let frames: Vec<Frame> = (0..32)
        .map(|index| {
            let mut frame = clip.frame(0).unwrap();
            frame.points.truncate(1);
            frame.points.push(at(height(index)));
            frame
        })
        .collect();
    clip.with_frames(Arc::new(MemoryFrames::new(frames)))
}

/// A ball dents flesh less than the first threshold of strain, and yet its contact brings the functions that the dent needs.
#[test]
fn contact_switches_on_the_functions_that_it_needs() {
    let bake = |adaptation: &str| {
        let layer = format!(
            "mesh = \"body\"\ncells = 60\nlevels = 1\npre_roll = 0.0\nmethod = \"nonlinear\"\ndamping = 0.5\nyoung = 2e4\n\
             contact = {{ thickness = 1e-3, obstacles = [{{ mesh = \"ball\" }}] }}\n{adaptation}"
        );
        let folder = tempfile::tempdir().unwrap();
        let bake = bake_sample(folder.path(), "pressed_elbow", &layer, "0-31");
        let points = bake.clip.frame(13).unwrap().points[0].clone();
        let crossings = figure(&bake, "intersections/obstacles");
        assert!(crossings.iter().all(|count| *count == 0.0), "{crossings:?}");
        (points, figure(&bake, "functions/active"))
    };
    let dials = |contact: bool| {
        format!("adaptation = {{ refine = [0.3], coarsen = [0.15], joints = false, contact = {contact} }}")
    };
    let (exact, _) = bake("");
    let [(with, active), (without, coarse)] = [dials(true), dials(false)].map(|dials| bake(&dials));
    let far = |points: &[[f32; 3]]| {
        let squares = points.iter().zip(&exact);
        squares.map(|(a, b)| glam::Vec3::from(*a).distance_squared((*b).into())).sum::<f32>().sqrt()
    };
    let [near, far] = [far(&with), far(&without)];
    println!("off by {near:.4} with contact's functions, {far:.4} without; active {active:?}");
    assert!(near < 0.7 * far, "{near} {far}");
    let most_of = |counts: &[f64]| counts.iter().copied().fold(0.0, f64::max);
    assert!(most_of(&coarse) < most_of(&active), "{coarse:?}");
    // on once, off once
    let most = active.iter().position(|count| *count == active.iter().copied().fold(0.0, f64::max)).unwrap();
    assert!(active[..=most].is_sorted() && active[most..].iter().rev().is_sorted(), "{active:?}");
    assert!(active[0] < active[13] && active[31] == active[0], "{active:?}");
}

#[test]
fn what_does_not_go_together_is_told() {
    let mistakes = |layer: &str| {
        let shot = reader().parse("shot", &shot("sample = \"quadruped\"", layer), "".as_ref()).unwrap();
        shot.check().iter().map(|mistake| mistake.message().to_owned()).collect::<Vec<_>>().join("\n")
    };
    assert!(mistakes("contact = { thickness = 1e-3 }").contains("only nonlinear"));
    assert!(mistakes("method = \"corotated\"\nlevels = 1").contains("no finer levels"));
    assert!(mistakes("method = \"nonlinear\"\nlevels = 1\nadaptation = {}").is_empty());
    assert!(mistakes("adaptation = { refine = [] }").contains("one strain"));
    assert!(
        mistakes("method = \"nonlinear\"\npins = [{ point = 0, to = [0.0, 0.0, 0.0] }]").contains("pinned")
    );
    assert!(mistakes("pins = [{ to = [0.0, 0.0, 0.0] }]").contains("one of the two"));
    assert!(mistakes("pins = [{ point = 0 }]").contains("one of the three"));
    assert!(mistakes("pins = [{ point = 0, joint = \"hoof\" }]").contains("hoof"));
    assert!(mistakes("pins = [{ point = 9999999, joint = \"spine\" }]").contains("there is none"));
    assert!(
        mistakes("pins = [{ point = 0, to = [0.0, 0.0, 0.0], frames = [5, 2] }]")
            .contains("before it begins")
    );
    let nine = format!("pins = [{}]", ["{ point = 0, to = [0.0, 0.0, 0.0] }"; 9].join(", "));
    assert!(mistakes(&nine).contains("9 points are pinned"));
}

/// Figure 4: a cow turns and tosses its head; ears of rubber swing, horns of wood do not.
#[test]
fn ears_swing_ten_times_as_far_as_horns() {
    let text = shot(
        "sample = \"cow_head\"",
        "mesh = \"body\"\nmaterial = \"muscle\"\ncells = 500\npre_roll = 0.2\nfree = [\"ear_*\"]\n\
         parts = [{ joints = [\"ear_*\"], material = \"rubber\", young = 6e4 }, { joints = [\"horn_*\"], material = \"wood\" }]",
    );
    let folder = tempfile::tempdir().unwrap();
    let bake = bake_in(folder.path(), &text, "0-24").unwrap();
    let input = reader().parse("shot", &text, "".as_ref()).unwrap().open_input().unwrap();
    let skeleton = input.skeleton.as_ref().unwrap();
    let skin = input.meshes[0].skin.as_ref().unwrap();
    // points that one of these joints moves alone
    let of = |name: &str| -> Vec<usize> {
        let named = |slot: &u32| skeleton.joints[skin.binds[*slot as usize].0].name.starts_with(name);
        let weight =
            |row: &Vec<(u32, f32)>| row.iter().filter(|(j, _)| named(j)).map(|(_, w)| w).sum::<f32>();
        (0..skin.influences.len()).filter(|&p| weight(&skin.influences[p]) > 0.95).collect()
    };
    // how far they swing beyond where the skin has them: RMS about the mean of all frames, seen from the head
    let swing = |points: &[usize]| {
        let head = skeleton.joints.iter().position(|joint| joint.name == "head").unwrap();
        let offsets: Vec<Vec<glam::Vec3>> = (0..=24)
            .map(|index| {
                let (a, b) = (input.frame(index).unwrap(), bake.clip.frame(index).unwrap());
                let turn = glam::Mat3::from_mat4(skeleton.world_from_joints(&a.pose)[head]).transpose();
                let own =
                    |&p: &usize| turn * (glam::Vec3::from(b.points[0][p]) - glam::Vec3::from(a.points[0][p]));
                points.iter().map(own).collect()
            })
            .collect();
        let mean: Vec<glam::Vec3> = (0..points.len())
            .map(|k| offsets.iter().map(|frame| frame[k]).sum::<glam::Vec3>() / offsets.len() as f32)
            .collect();
        let squares =
            offsets.iter().flat_map(|frame| frame.iter().zip(&mean).map(|(o, m)| o.distance_squared(*m)));
        (squares.sum::<f32>() / (points.len() * offsets.len()) as f32).sqrt()
    };
    let (ears, horns) = (swing(&of("ear_")), swing(&of("horn_")));
    println!("ears swing by {ears:.4} m, horns by {horns:.5} m");
    assert!(ears > 10.0 * horns && ears > 0.005, "{ears} {horns}");
}
