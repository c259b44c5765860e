//! The elbow of a scanned arm, where the file is there: what skinning loses of it and flesh keeps.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

#[path = "common/arm.rs"]
mod arm;

use std::path::PathBuf;

use arm::{ELBOW, bent, joints, read};
use character::{Flesh, Kit, Method, Player, Settings};
use solid::Material;

#[test]
fn the_elbow_of_a_scanned_arm_keeps_what_skinning_loses() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let root = std::env::var_os("FOLLOWTHROUGH_ASSETS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let folder = root.join("meshes/rigged");
    if !folder.join("arm.obj").is_file() {
        println!("skipped: meshes/rigged/arm.obj is not there");
        return;
    }
    let (skin, places) = read(&folder).unwrap();
    let joints = joints(&places);
    let material = Material { poisson: 0.48, damping: 0.5, ..Settings::default().material };
    let settings = Settings { cells: 500, material, ..Settings::default() };
    let flesh = Flesh::new(&joints, skin, settings).unwrap();
    let kit = Kit::new(&flesh, Method::Corotated, 1.0 / 120.0).unwrap();
    let stretches = flesh.stretches();
    let stretch = stretches.iter().find(|stretch| stretch.joint == ELBOW).unwrap();
    let change = |coefficients: &[_]| stretch.volume(&flesh.points(coefficients)) / stretch.rest - 1.0;
    for (bend, twist) in [(90.0_f64, 0.0_f64), (120.0, 0.0), (0.0, 180.0)] {
        let at = |s: f64| bent(&joints, &places, s * bend.to_radians(), s * twist.to_radians());
        let mut player = Player::new(kit.clone()).unwrap();
        (0..=45).for_each(|k| player.step(&at((f64::from(k) / 30.0).min(1.0)), 1.0 / 30.0).unwrap());
        let [linear, dual] = flesh.skinned(&at(1.0)).map(|points| change(&points));
        let ours = change(player.shown());
        println!(
            "bent {bend}, twisted {twist}: {ours:+.3}; skinning {linear:+.3}, dual quaternions {dual:+.3}"
        );
        assert!(ours.abs() < 0.035 && ours.abs() < 0.2 * linear.abs(), "{bend} {twist}: {ours} {linear}");
    }
}
