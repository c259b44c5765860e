//! The morph layer through the whole pipeline: sculpts shown, what follows untouched, resumed bakes, every dial alive, mistakes named.

#![allow(clippy::print_stdout)] // numbers worth reading

mod common;

use std::path::Path;

use common::reader;
use shot::{Bake, BakeOptions, Context};

fn bake_in(folder: &Path, text: &str, frames: &str) -> Result<Bake, shot::Error> {
    let frames = Some(frames.parse().unwrap());
    let options = BakeOptions { out: Some(folder.into()), frames, ..BakeOptions::default() };
    reader().parse("shot", text, "".as_ref())?.bake(&options, &Context::SILENT)
}

const TARGETS: &str = "
[[layer.targets]]
name = \"slack\"
young = 6e3

[[layer.targets]]
name = \"flexed\"
shape = \"bulged\"
turns = { elbow = [0.0, 0.0, 120.0], upper = [0.0, 0.0, 20.0] }
young = 2e4
regions = [{ at = { group = \"muscle\" }, young = 4e4 }]
";

fn shot(layer: &str, targets: &str) -> String {
    format!(
        "[input]\nsample = \"arm\"\n[[layer]]\nkind = \"morph\"\ntets = 600\n{layer}\n{targets}\n[output]\nfiles = []\nreport = false\n"
    )
}

fn farthest(a: &clip::Frame, b: &clip::Frame) -> f32 {
    let pairs = a.points[0].iter().zip(&b.points[0]);
    pairs.map(|(a, b)| glam::Vec3::from(*a).distance(glam::Vec3::from(*b))).fold(0.0, f32::max)
}

#[test]
fn the_muscle_swells_what_follows_stays_and_a_resumed_bake_is_the_same() {
    let text = shot("modes = 12\nfollow = { joint = \"hand\" }", TARGETS);
    let folder = tempfile::tempdir().unwrap();
    let bake = bake_in(folder.path(), &text, "0-16").unwrap();
    let input = reader().parse("shot", &text, "".as_ref()).unwrap().open_input().unwrap();
    let (a, b) = (input.frame(16).unwrap(), bake.clip.frame(16).unwrap());
    let skin = input.meshes[0].skin.as_ref().unwrap();
    let joints = &input.skeleton.as_ref().unwrap().joints;
    let of_hand = |row: &Vec<(u32, f32)>| {
        let own = |&&(bind, _): &&(u32, f32)| joints[skin.binds[bind as usize].0].name == "hand";
        row.iter().filter(own).map(|(_, weight)| weight).sum::<f32>() == 1.0
    };
    let hand: Vec<usize> = (0..a.points[0].len()).filter(|&k| of_hand(&skin.influences[k])).collect();
    assert!(hand.len() > 20);
    hand.iter().for_each(|&k| assert_eq!(a.points[0][k], b.points[0][k]));
    let moved = farthest(&a, &b);
    println!("{moved} m from the animation; {:?}", bake.layers[0].notes);
    // the sculpt is 46 mm high
    assert!(moved > 0.03 && moved < 0.09, "{moved}");
    assert_eq!(a.pose, b.pose);
    let other = tempfile::tempdir().unwrap();
    bake_in(other.path(), &text, "0-9").unwrap();
    let resumed = bake_in(other.path(), &text, "0-16").unwrap();
    assert_eq!(resumed.clip.frame(16).unwrap(), b);
}

#[test]
fn every_dial_changes_the_result() {
    let bake = |layer: &str, targets: &str| {
        let folder = tempfile::tempdir().unwrap();
        let bake = bake_in(folder.path(), &shot(layer, targets), "0-10").unwrap();
        bake.clip.frame(10).unwrap()
    };
    let plain = bake("modes = 12", TARGETS);
    for (layer, targets) in [
        ("modes = 6", TARGETS.to_owned()),
        ("modes = 12\nforces = \"stvk\"", TARGETS.to_owned()),
        ("modes = 12\ngravity = [0.0, -9.81, 0.0]", TARGETS.to_owned()),
        ("modes = 12\nsmoothing = 0.3", TARGETS.to_owned()),
        ("modes = 12\ninterpolation = \"gaussian\"", TARGETS.to_owned()),
        ("modes = 12\nsteps_per_second = 480.0", TARGETS.to_owned()),
        ("modes = 12", TARGETS.replace("young = 6e3", "young = 6e3\ndensity = 2000.0")),
        ("modes = 12", TARGETS.replace("young = 6e3", "young = 6e3\ndamping = 0.6")),
        ("modes = 12", TARGETS.replace("young = 6e3", "young = 6e3\ncreep = 20.0\nyield_strain = 1e-4")),
        ("modes = 12", TARGETS.replace("young = 6e3", "material = \"muscle\"")),
        ("modes = 12", TARGETS.replace("young = 4e4", "young = 4e5")),
        ("modes = 12\nmaterial = \"rubber\"", TARGETS.replace("young = 6e3", "")),
        ("modes = 0", TARGETS.to_owned()),
        ("modes = 0\nforces = \"warped\"", TARGETS.to_owned()),
    ] {
        let other = bake(layer, &targets);
        let far = farthest(&plain, &other);
        println!("{layer:?}: {far}");
        assert!(far > 1e-6 && far < 0.2, "{layer} {targets}: {far}");
    }
}

#[test]
fn mistakes_are_named() {
    let mistakes = |layer: &str, targets: &str| {
        let shot = reader().parse("shot", &shot(layer, targets), "".as_ref()).unwrap();
        shot.check().iter().map(|mistake| mistake.message().to_owned()).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(mistakes("modes = 12", TARGETS), "");
    assert!(mistakes("", "").contains("no targets"));
    assert!(mistakes("", &TARGETS.replace("\"bulged\"", "\"bulgd\"")).contains("bulgd"));
    assert!(mistakes("", &TARGETS.replace("elbow =", "elbw =")).contains("elbw"));
    assert!(
        mistakes("", &TARGETS.replace("\"flexed\"", "\"slack\"")).contains("two targets are called `slack`")
    );
    assert!(mistakes("", &TARGETS.replace("\"muscle\"", "\"mussel\"")).contains("mussel"));
    assert!(mistakes("", &TARGETS.replace("young = 6e3", "frame = 9999")).contains("no frame 9999"));
    assert!(mistakes("material = \"flesh\"", TARGETS).contains("flesh"));
    assert!(mistakes("forces = \"warped\"", TARGETS).contains("polynomial"));
    assert!(mistakes("channels = [\"smile\"]", TARGETS).contains("smile"));
    // two at one pose are found when the layer is prepared
    let folder = tempfile::tempdir().unwrap();
    let same = TARGETS.replace("turns = { elbow = [0.0, 0.0, 120.0], upper = [0.0, 0.0, 20.0] }", "");
    let Err(error) = bake_in(folder.path(), &shot("", &same), "0-1") else {
        panic!("one pose was taken twice")
    };
    assert!(error.to_string().contains("one pose"), "{error}");
}
