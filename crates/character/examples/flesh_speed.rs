//! How many steps a second: a bar of 16 bones that all move, twist on, some 5,000 points of skin included; one thread unless said.

#![allow(clippy::print_stdout)]

use std::time::Instant;

use character::{Flesh, Joint, Kit, Method, Player, Settings, Skin};
use geometry::Vec3;
use glam::{DAffine3, DMat3, Mat4};

const JOINTS: usize = 16;
const LENGTH: f64 = 3.2;
const RADIUS: f64 = 0.15;

fn bar(around: u32, along: u32) -> (Vec<Joint>, Skin) {
    let mut points = Vec::new();
    for i in 0..=along {
        let x = LENGTH * f64::from(i) / f64::from(along);
        for k in 0..around {
            let turn = std::f64::consts::TAU * f64::from(k) / f64::from(around);
            points.push(Vec3::new(x, RADIUS * turn.cos(), RADIUS * turn.sin()));
        }
    }
    let at = |i: u32, k: u32| i * around + k % around;
    let mut triangles = Vec::new();
    for i in 0..along {
        for k in 0..around {
            triangles.push([at(i, k), at(i + 1, k + 1), at(i + 1, k)]);
            triangles.push([at(i, k), at(i, k + 1), at(i + 1, k + 1)]);
        }
    }
    let ends = points.len() as u32;
    points.extend([Vec3::ZERO, Vec3::new(LENGTH, 0.0, 0.0)]);
    for k in 0..around {
        triangles.push([ends, at(0, k + 1), at(0, k)]);
        triangles.push([ends + 1, at(along, k), at(along, k + 1)]);
    }
    let bone = LENGTH / JOINTS as f64;
    let row = |p: &Vec3| {
        let place = (p.x / bone - 0.5).clamp(0.0, JOINTS as f64 - 1.0);
        let (low, part) = (place.floor() as u32, place.fract());
        vec![(low, 1.0 - part), ((low + 1).min(JOINTS as u32 - 1), part)]
    };
    let influences = points.iter().map(row).collect();
    let joint = |k: usize| Joint {
        parent: k.checked_sub(1),
        rest_from_joint: DAffine3::from_translation(Vec3::new(0.02 + bone * k as f64, 0.0, 0.0)),
    };
    ((0..JOINTS).map(joint).collect(), Skin { points, triangles, influences })
}

/// A wave that runs along the joints.
fn pose(joints: &[Joint], time: f64) -> Vec<Mat4> {
    let mut world = DAffine3::IDENTITY;
    let mut last = Vec3::ZERO;
    let mut all = Vec::new();
    for (k, joint) in joints.iter().enumerate() {
        let place = joint.rest_from_joint.translation;
        let turn = DMat3::from_rotation_z(0.15 * (6.0 * time - 0.7 * k as f64).sin());
        world = world * DAffine3::from_translation(place - last) * DAffine3::from_mat3(turn);
        last = place;
        all.push(Mat4::from(world.as_affine3()));
    }
    all
}

fn measure(cells: usize, method: Method) -> Result<(), character::Error> {
    let (joints, skin) = bar(48, 104);
    let begun = Instant::now();
    let points = skin.points.len();
    let flesh = Flesh::new(&joints, skin, Settings { cells, ..Settings::default() })?;
    let kit = Kit::new(&flesh, method, 1.0 / 240.0)?;
    let mut player = Player::new(kit)?;
    let setup = begun.elapsed().as_secs_f64();
    let poses: Vec<Vec<Mat4>> = (0..2000).map(|k| pose(&joints, f64::from(k) / 240.0)).collect();
    let mut surface = vec![[0.0; 3]; points];
    let mut times = Vec::with_capacity(poses.len());
    for pose in &poses {
        let begun = Instant::now();
        player.step(pose, 1.0 / 240.0)?;
        player.surface(&mut surface);
        times.push(begun.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let (median, late) = (times[times.len() / 2], times[times.len() * 999 / 1000]);
    let report = flesh.report();
    println!(
        "{method:?}: {} lattice points, {} cells, {} regions, {points} skin points: {:.0} steps/s (median), \
         p99.9 {:.1}x, ready in {setup:.2} s",
        report.points,
        report.cells,
        report.regions,
        1.0 / median,
        late / median
    );
    Ok(())
}

fn main() -> Result<(), character::Error> {
    for cells in [450, 600, 20_000] {
        for method in [Method::BlendedLinear, Method::GlobalLinear] {
            measure(cells, method)?;
        }
    }
    Ok(())
}
