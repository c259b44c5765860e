//! What a shot may say about flesh besides its skin: limits, lattices, painted regions and parts, rays; and the same flesh in a game.

#![allow(clippy::print_stdout)] // figures for the curious: --nocapture

use std::path::Path;
use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames};
use geometry::Vec3;
use glam::Quat;
use shot::{Bake, BakeOptions, Context, Reader, Shot};

fn elbow() -> Clip {
    samples::Elbow { points: [12, 30], ..samples::Elbow::default() }.clip()
}

/// The same twice in one clip, a copy two metres beside it first.
fn two_elbows() -> Clip {
    let mut clip = elbow();
    let frames: Vec<Frame> = (0..clip.frame_count()).map(|index| clip.frame(index).unwrap()).collect();
    let aside = |points: &[[f32; 3]]| points.iter().map(|p| [p[0], p[1], p[2] + 2.0]).collect::<Vec<_>>();
    let mut copy = clip.meshes[0].clone();
    copy.name = "copy".into();
    copy.rest_points = aside(&copy.rest_points);
    clip.meshes.insert(0, copy);
    let doubled = frames.into_iter().map(|mut frame| {
        frame.points.insert(0, aside(&frame.points[0]));
        frame
    });
    let frames = Arc::new(MemoryFrames::new(doubled.collect()));
    clip.with_frames(frames)
}

fn registry() -> shot::Registry {
    let registry = layers::registry().with_sample("small_elbow", elbow);
    registry.with_sample("two_elbows", two_elbows).with_sample("tail", samples::tail)
}

fn open(folder: &Path, sample: &str, layer: &str) -> Shot {
    let text = format!(
        "[input]\nsample = \"{sample}\"\n[[layer]]\nkind = \"skeleton\"\n{layer}\n[output]\nfiles = []\nreport = false\n"
    );
    Reader::new(registry()).parse("shot", &text, folder).unwrap_or_else(|error| panic!("{layer}: {error:?}"))
}

fn bake(folder: &Path, sample: &str, layer: &str, frames: &str) -> Bake {
    let out = folder.join("out");
    let options =
        BakeOptions { out: Some(out), frames: Some(frames.parse().unwrap()), ..BakeOptions::default() };
    let baked = open(folder, sample, layer).bake(&options, &Context::SILENT);
    baked.unwrap_or_else(|error| panic!("{layer}: {error:?}"))
}

fn mistakes(sample: &str, layer: &str) -> String {
    let shot = open("".as_ref(), sample, layer);
    shot.check().iter().map(|mistake| mistake.message().to_owned()).collect::<Vec<_>>().join("\n")
}

fn note(bake: &Bake, name: &str) -> String {
    let found = bake.layers[0].notes.iter().find(|(key, _)| key == name);
    found.map(|(_, text)| text.clone()).unwrap_or_default()
}

#[test]
fn a_tail_swings_within_its_limit_and_so_do_its_joints() {
    let turned = |limits: &str, method: &str| {
        let layer = format!(
            "cells = 100\nmethod = \"{method}\"\nmaterial = \"muscle\"\nyoung = 1.5e5\npre_roll = 0.0\n\
             steps_per_second = 96.0\nfree = [\"tail_*\"]\n{limits}"
        );
        let folder = tempfile::tempdir().unwrap();
        let bake = bake(folder.path(), "tail", &layer, "0-20");
        let input = open(folder.path(), "tail", &layer).open_input().unwrap();
        let skeleton = input.skeleton.as_ref().unwrap();
        let index = |name: &str| skeleton.joints.iter().position(|joint| joint.name == name).unwrap();
        let (hips, last) = (index("hips"), index("tail_6"));
        // how the last joint is turned, seen from the hips, off how it is at rest
        let seen = |pose: &[clip::Transform]| -> Quat {
            let world = skeleton.world_from_joints(pose);
            let [above, own] = [hips, last].map(|joint| Quat::from_mat4(&world[joint]));
            above.inverse() * own
        };
        let rest = seen(&skeleton.rest_pose());
        let degrees = |frame: Frame| {
            let axis = Vec3::Z.as_vec3();
            (seen(&frame.pose) * axis).angle_between(rest * axis).to_degrees()
        };
        (0..=20).map(|k| degrees(bake.clip.frame(k).unwrap())).fold(0.0, f32::max)
    };
    for method in ["blended", "corotated"] {
        let free = turned("", method);
        let limited = turned("limits = [{ joints = [\"tail_*\"], degrees = 20.0 }]", method);
        println!(
            "{method}: the last joint turns by {limited:.1} degrees within 20, {free:.1} without a limit"
        );
        // joints are fitted to flesh, which bends a little beyond its middle
        assert!(free > 35.0 && limited < 26.0, "{method}: {limited} {free}");
    }
}

#[test]
fn flesh_lives_in_a_lattice_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    // made as `followthrough lattice` makes it, and read again: the same bones, the same flesh
    let input = open(folder.path(), "small_elbow", "cells = 90").open_input().unwrap();
    let target = shot::Target { clip: input, mesh: 0, files: clip::Files::default() };
    let settings = layers::Skeleton { cells: 90, ..layers::Skeleton::default() };
    let flesh = layers::Anatomy::new(&settings, &target).unwrap().flesh;
    for name in ["own.veg", "own.toml"] {
        clip::write_lattice(folder.path().join(name), flesh.lattice()).unwrap();
    }
    let dials = "pre_roll = 0.0\nsteps_per_second = 96.0\n";
    let made = bake(folder.path(), "small_elbow", &format!("cells = 90\n{dials}"), "0-8");
    let read = bake(folder.path(), "small_elbow", &format!("lattice = \"own.veg\"\n{dials}"), "0-8");
    for name in ["lattice", "bones", "functions"] {
        assert_eq!(note(&made, name), note(&read, name), "{name}");
    }
    assert_eq!(made.clip.frame(8).unwrap(), read.clip.frame(8).unwrap());
    let read = bake(folder.path(), "small_elbow", &format!("lattice = \"own.toml\"\n{dials}"), "0-8");
    assert_eq!(made.clip.frame(8).unwrap(), read.clip.frame(8).unwrap());
    let missing = open(folder.path(), "small_elbow", "lattice = \"none.veg\"").check();
    assert!(missing.iter().any(|mistake| mistake.message().contains("none.veg")), "{missing:?}");
}

#[test]
fn painted_parts_and_regions_and_rays_reach_the_flesh() {
    let folder = tempfile::tempdir().unwrap();
    let dials = "cells = 90\npre_roll = 0.0\nsteps_per_second = 96.0\n";
    let upper = "{ box = { min = [-9.0, -9.0, -9.0], max = [0.0, 9.0, 9.0] } }";
    let kilograms =
        |bake: &Bake| -> f64 { note(bake, "mass").split_whitespace().next().unwrap().parse().unwrap() };
    let plain = bake(folder.path(), "small_elbow", dials, "0-8");
    let woody = format!("{dials}parts = [{{ at = {upper}, material = \"wood\" }}]");
    let woody = bake(folder.path(), "small_elbow", &woody, "0-8");
    println!("{} kg, half of it wood: {} kg", kilograms(&plain), kilograms(&woody));
    assert!((kilograms(&woody) - kilograms(&plain)).abs() > 0.05 * kilograms(&plain));

    let painted = format!("{dials}regions = [{{ joint = \"upper\", at = \"all\" }}]");
    let rays =
        format!("{dials}rays = [{{ joint = \"lower\", from = [0.1, -3.0, 0.0], to = [0.1, 0.0, 0.0] }}]");
    for layer in [painted, rays] {
        let other = bake(folder.path(), "small_elbow", &layer, "0-8");
        let (a, b) = (plain.clip.frame(8).unwrap(), other.clip.frame(8).unwrap());
        let far =
            a.points[0].iter().zip(&b.points[0]).map(|(p, q)| glam::Vec3::from(*p).distance((*q).into()));
        let far = far.fold(0.0, f32::max);
        println!("{layer}: {far:.4} m from what it is without");
        assert!(far > 1e-3 && far < 0.5, "{layer}: {far}");
    }
}

#[test]
fn mistakes_in_dials_are_named() {
    let said = |layer: &str| mistakes("small_elbow", layer);
    assert!(said("limits = [{ joints = [\"lower\"], degrees = 20.0 }]").contains("does not swing"));
    assert!(said("free = [\"lower\"]\nlimits = [{ joints = [\"lower\"], degrees = 20.0 }]").is_empty());
    assert!(said("free = [\"lower\"]\nlimits = [{ joints = [\"hand\"], degrees = 20.0 }]").contains("hand"));
    assert!(said("parts = [{ material = \"wood\" }]").contains("one of the two"));
    assert!(said("parts = [{ at = { group = \"beak\" }, material = \"wood\" }]").contains("beak"));
    assert!(said("regions = [{ joint = \"hand\", at = \"all\" }]").contains("hand"));
    assert!(
        said("rays = [{ joint = \"hand\", from = [0.0, 9.0, 0.0], to = [0.0, 0.0, 0.0] }]").contains("hand")
    );
    // a ray that misses shows when flesh is made
    let folder = tempfile::tempdir().unwrap();
    let layer = "rays = [{ joint = \"lower\", from = [9.0, 9.0, 0.0], to = [9.0, 0.0, 0.0] }]";
    let options = BakeOptions { out: Some(folder.path().join("out")), ..BakeOptions::default() };
    let missed = open(folder.path(), "small_elbow", layer).bake(&options, &Context::SILENT);
    assert!(format!("{:?}", missed.err()).contains("passes by the mesh"));
}

/// Two meshes on one skeleton, of which the second is the one that is pinned: pins count its points, not those of the first.
#[test]
fn pins_hold_points_of_the_mesh_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let name = elbow().meshes[0].name.clone();
    let layer = format!(
        "mesh = \"{name}\"\ncells = 120\npre_roll = 0.0\nsteps_per_second = 96.0\n\
         pins = [{{ near = [-0.5, 0.5, 0.0], to = [-0.5, 0.55, 0.0], seconds = 0.1 }}]"
    );
    let bake = bake(folder.path(), "two_elbows", &layer, "0-6");
    let input = open(folder.path(), "two_elbows", &layer).open_input().unwrap();
    let index = input.mesh_index(&name).unwrap();
    assert_eq!(index, 1);
    let apart = |p: &[f32; 3]| glam::Vec3::from(*p).distance(glam::Vec3::new(-0.5, 0.5, 0.0));
    let rest = &input.meshes[1].rest_points;
    let point = (0..rest.len()).min_by(|&a, &b| apart(&rest[a]).total_cmp(&apart(&rest[b]))).unwrap();
    let held = glam::Vec3::from(bake.clip.frame(6).unwrap().points[1][point]);
    let far = held.distance(glam::Vec3::new(-0.5, 0.55, 0.0));
    println!("point {point} is {far:.5} m from where it is pinned");
    assert!(far < 1e-3, "{held}");
}

/// A game that steps the packed flesh sees what a bake with its steps sees.
#[test]
fn a_player_shows_what_is_baked() {
    let folder = tempfile::tempdir().unwrap();
    let layer = "cells = 90\npre_roll = 0.0\nsteps_per_second = 96.0\nfree = [\"lower\"]\n\
                 limits = [{ joints = [\"lower\"], degrees = 30.0 }]";
    let bake = bake(folder.path(), "small_elbow", layer, "0-24");
    let shot = open(folder.path(), "small_elbow", layer);
    let bytes = shot.pack().unwrap().unwrap();
    let input = shot.open_input().unwrap();
    let skeleton = input.skeleton.as_ref().unwrap();
    let mut player = character::Player::read(&bytes).unwrap();
    let mut points = vec![[0.0; 3]; player.kit().point_count()];
    let mut worst = 0.0_f32;
    for index in 0..=24 {
        let pose = skeleton.world_from_joints(&input.frame(index).unwrap().pose);
        player.step(&pose, 1.0 / input.frame_rate_hz).unwrap();
        player.surface(&mut points);
        let baked = &bake.clip.frame(index).unwrap().points[0];
        let far = points.iter().zip(baked).map(|(a, b)| glam::Vec3::from(*a).distance((*b).into()));
        worst = far.fold(worst, f32::max);
    }
    println!("{worst:.1e} m apart, of 2 m");
    assert!(worst < 2e-4, "{worst}");
}

/// Figure 2 in the report, what joints keep beside both skinnings, functions that come and go, and how long a step takes.
#[test]
fn the_report_shows_what_flesh_is_made_of() {
    let folder = tempfile::tempdir().unwrap();
    let layer = "cells = 60\nlevels = 1\npre_roll = 0.0\nsteps_per_second = 48.0\nadaptation = {}";
    let text = format!(
        "[input]\nsample = \"small_elbow\"\n[[layer]]\nkind = \"skeleton\"\n{layer}\n[output]\nfiles = []\n"
    );
    let reader = Reader::new(registry().with_film::<film::FilmLook>());
    let shot = reader.parse("shot", &text, folder.path()).unwrap();
    let frames = Some("0-3".parse().unwrap());
    let options = BakeOptions { out: Some(folder.path().into()), frames, ..BakeOptions::default() };
    let bake = film::bake(&shot, &options, &Context::SILENT).unwrap();
    let page = std::fs::read_to_string(bake.report.unwrap()).unwrap();
    for what in ["made of", "regions", "lattice and bones", "volume at lower", "dual quaternions"] {
        assert!(page.contains(what), "{what}");
    }
    for plot in ["functions", "time per step"] {
        assert!(page.contains(&format!(">{plot}")), "{plot}");
    }
}
