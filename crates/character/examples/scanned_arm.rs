//! What the elbow of a scanned arm keeps of its volume, by skinning and by flesh. Takes the folder of `arm.obj`, `arm.tgf` and
//! `arm-weights.dmat` (libigl's tutorial data) and a number of cells.
//!
//! The stretch is the flesh whose cells belong to both bones; all ways are measured on its lattice.

#![allow(clippy::print_stdout)]

#[path = "../tests/common/arm.rs"]
mod arm;

use std::error::Error;

use arm::{ELBOW, bent, joints, read};
use character::{Flesh, Kit, Method, Nonlinear, Player, Settings};
use geometry::Vec3;
use solid::{Law, Material};

const RATE: f64 = 30.0;
fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let folder = words.first().ok_or("name the folder that arm.obj is in")?;
    let cells = words.get(1).map_or(Ok(800), |word| word.parse())?;
    let (skin, places) = read(folder.as_ref())?;
    let joints = joints(&places);
    let pose = |bend: f64, twist: f64| bent(&joints, &places, bend, twist);
    for (bend, twist) in [(90.0_f64, 0.0_f64), (120.0, 0.0), (0.0, 180.0)] {
        let at = |s: f64| pose(s * bend.to_radians(), s * twist.to_radians());
        for (name, method, poisson) in WAYS {
            let material = Material { poisson, damping: 0.5, ..Settings::default().material };
            let settings =
                Settings { cells, material, joints: name == "blended, joints", ..Settings::default() };
            let flesh = Flesh::new(&joints, skin.clone(), settings)?;
            let [linear, dual] = flesh.skinned(&at(1.0));
            let frames = (0..=60).map(|k| at((f64::from(k) / RATE).min(1.0)));
            let coefficients = match method {
                Some(method) => {
                    let mut player = Player::new(Kit::new(&flesh, method, 1.0 / 120.0)?)?;
                    frames.into_iter().try_for_each(|pose| player.step(&pose, 1.0 / RATE))?;
                    player.shown().to_vec()
                }
                None => {
                    let mut engine = Nonlinear::new(&flesh, Law::NeoHookean, Some(1))?;
                    frames.into_iter().try_for_each(|pose| engine.step(&pose, 1.0 / RATE).map(drop))?;
                    engine.coefficients().to_vec()
                }
            };
            let stretches = flesh.stretches();
            let stretch =
                stretches.iter().find(|stretch| stretch.joint == ELBOW).ok_or("the elbow has no flesh")?;
            let change = |c: &[Vec3]| 100.0 * (stretch.volume(&flesh.points(c)) / stretch.rest - 1.0);
            println!(
                "bent {bend:4.0}°, twisted {twist:4.0}°: {name:16} {:+6.1} %; linear skinning {:+6.1} %, dual quaternions {:+6.1} %",
                change(&coefficients),
                change(&linear),
                change(&dual)
            );
        }
    }
    Ok(())
}

/// How flesh is solved for, and its Poisson's ratio.
const WAYS: [(&str, Option<Method>, f64); 4] = [
    ("blended", Some(Method::BlendedLinear), 0.4),
    ("blended, joints", Some(Method::BlendedLinear), 0.4),
    ("corotated", Some(Method::Corotated), 0.48),
    ("nonlinear", None, 0.495),
];
