//! A round bar with an elbow: what tests bend.

#![allow(dead_code)] // every test takes what it needs

use character::{Joint, Skin};
use geometry::Vec3;
use glam::{DAffine3, DMat3, Mat4};

/// A closed round bar along x from −1 to 1, radius 0.2, with joints at −0.95 and 0 whose weights change by a smoothstep over 1.5
/// diameters.
pub(crate) struct Bar {
    pub(crate) skin: Skin,
    pub(crate) joints: Vec<Joint>,
}

pub(crate) const RADIUS: f64 = 0.2;
/// Half of 1.5 diameters.
pub(crate) const BLEND: f64 = 0.3;

pub(crate) fn bar(around: u32, along: u32) -> Bar {
    let mut points = Vec::new();
    for i in 0..=along {
        let x = -1.0 + 2.0 * f64::from(i) / f64::from(along);
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
    points.extend([Vec3::new(-1.0, 0.0, 0.0), Vec3::new(1.0, 0.0, 0.0)]);
    for k in 0..around {
        triangles.push([ends, at(0, k + 1), at(0, k)]);
        triangles.push([ends + 1, at(along, k), at(along, k + 1)]);
    }
    let weight = |x: f64| {
        let s = ((x + BLEND) / (2.0 * BLEND)).clamp(0.0, 1.0);
        s * s * (3.0 - 2.0 * s)
    };
    let influences = points.iter().map(|p| vec![(0, 1.0 - weight(p.x)), (1, weight(p.x))]).collect();
    let joint = |parent, x: f64| Joint {
        parent,
        rest_from_joint: DAffine3::from_translation(Vec3::new(x, 0.0, 0.0)),
    };
    Bar {
        skin: Skin { points, triangles, influences },
        joints: vec![joint(None, -0.95), joint(Some(0), 0.0)],
    }
}

/// The bar's joints, the second bent and twisted.
pub(crate) fn bent(angle: f64, twist: f64) -> [Mat4; 2] {
    let turn = DMat3::from_rotation_z(angle) * DMat3::from_rotation_x(twist);
    [Mat4::from_translation(glam::Vec3::new(-0.95, 0.0, 0.0)), DAffine3::from_mat3(turn).as_affine3().into()]
}

pub(crate) fn volume(points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    let of = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| points[v as usize]);
        a.dot(b.cross(c)) / 6.0
    };
    triangles.iter().map(of).sum()
}

/// Linear blend skinning of the bar.
pub(crate) fn skinned(bar: &Bar, pose: &[Mat4]) -> Vec<Vec3> {
    skinned_points(bar, &bar.skin.points, pose)
}

/// The same of other points with its influences: a sculpt.
pub(crate) fn skinned_points(bar: &Bar, points: &[Vec3], pose: &[Mat4]) -> Vec<Vec3> {
    let moves: Vec<DAffine3> = bar
        .joints
        .iter()
        .zip(pose)
        .map(|(joint, world)| DAffine3::from_mat4(world.as_dmat4()) * joint.rest_from_joint.inverse())
        .collect();
    let blend = |(p, row): (&Vec3, &Vec<(u32, f64)>)| {
        row.iter().map(|&(joint, w)| w * moves[joint as usize].transform_point3(*p)).sum()
    };
    points.iter().zip(&bar.skin.influences).map(blend).collect()
}

/// The largest distance of the bar's middle from its two bones, over its radius, on the outer side of the bend and elsewhere; the second
/// bone is bent by `angle`.
pub(crate) fn bulge(bar: &Bar, points: &[Vec3], angle: f64) -> [f64; 2] {
    let ends = [Vec3::new(-0.95, 0.0, 0.0), Vec3::new(angle.cos(), angle.sin(), 0.0)];
    let from = |p: &Vec3, end: Vec3| {
        let along = (p.dot(end) / end.length_squared()).clamp(0.0, 1.0);
        p.distance(along * end)
    };
    let mut largest = [0.0_f64; 2];
    // the caps at both ends are no part of it
    for (rest, p) in bar.skin.points.iter().zip(points).filter(|(rest, _)| rest.x.abs() < 0.6) {
        let distance = ends.iter().map(|end| from(p, *end)).fold(f64::INFINITY, f64::min);
        let side = usize::from(rest.y > -0.5 * RADIUS);
        largest[side] = largest[side].max(distance / RADIUS);
    }
    largest
}
