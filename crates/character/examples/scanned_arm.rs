//! What the elbow of a scanned arm keeps of its volume, by skinning and by flesh. Takes the folder of `arm.obj`, `arm.tgf` and
//! `arm-weights.dmat` (libigl's tutorial data) and a number of cells.
//!
//! The stretch is the flesh whose cells belong to both bones; all ways are measured on its lattice.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;

use character::{Flesh, Joint, Kit, Method, Nonlinear, Player, Settings, Skin};
use geometry::Vec3;
use glam::{DAffine3, DMat3, Mat4};
use solid::{Law, Material};

const RATE: f64 = 30.0;
/// The joint that bends.
const ELBOW: usize = 2;

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The skin, and the places of the joints with the tip of the last.
fn read(folder: &Path) -> Result<(Skin, Vec<Vec3>), Box<dyn Error>> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for line in read("arm.obj")?.lines() {
        let values = numbers(line);
        match (line.split_whitespace().next(), &values[..]) {
            (Some("v"), &[x, y, z, ..]) => points.push(Vec3::new(x, y, z)),
            (Some("f"), &[a, b, c, ..]) => triangles.push([a, b, c].map(|v| v as u32 - 1)),
            _ => {}
        }
    }
    let tgf = read("arm.tgf")?;
    let vertices = tgf.lines().take_while(|line| !line.starts_with('#')).map(numbers);
    let places = vertices.filter(|row| row.len() > 3).map(|row| Vec3::new(row[1], row[2], row[3])).collect();
    let weights = numbers(&read("arm-weights.dmat")?);
    let (bones, weights) = (weights[0] as usize, &weights[2..]);
    let row =
        |p: usize| (0..bones).map(|bone| (bone as u32, weights[bone * points.len() + p].max(0.0))).collect();
    let influences = (0..points.len()).map(row).collect();
    Ok((Skin { points, triangles, influences }, places))
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let folder = words.first().ok_or("name the folder that arm.obj is in")?;
    let cells = words.get(1).map_or(Ok(800), |word| word.parse())?;
    let (skin, places) = read(folder.as_ref())?;
    let joint = |(k, place): (usize, &Vec3)| Joint {
        parent: k.checked_sub(1),
        rest_from_joint: DAffine3::from_translation(*place),
    };
    let joints: Vec<Joint> = places[..places.len() - 1].iter().enumerate().map(joint).collect();
    let (above, elbow, below) = (places[ELBOW - 1], places[ELBOW], places[ELBOW + 1]);
    let axis = (below - elbow).cross(above - elbow).normalize();
    let pose = |bend: f64, twist: f64| -> Vec<Mat4> {
        let along = (below - elbow).normalize();
        let turn = DMat3::from_axis_angle(axis, bend) * DMat3::from_axis_angle(along, twist);
        let moved = DAffine3::from_translation(elbow)
            * DAffine3::from_mat3(turn)
            * DAffine3::from_translation(-elbow);
        let place = |(k, joint): (usize, &Joint)| {
            let moved = if k < ELBOW { DAffine3::IDENTITY } else { moved };
            Mat4::from((moved * joint.rest_from_joint).as_affine3())
        };
        joints.iter().enumerate().map(place).collect()
    };
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
