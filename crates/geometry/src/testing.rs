//! Shapes for tests.

use crate::Vec3;

/// A unit sphere of `rings` rings with twice as many sectors, normals outwards.
pub(crate) fn sphere(rings: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    use std::f64::consts::{PI, TAU};
    let sectors = 2 * rings;
    let mut points = vec![Vec3::Y];
    for ring in 1..rings {
        for sector in 0..sectors {
            let (polar, turn) =
                (PI * f64::from(ring) / f64::from(rings), TAU * f64::from(sector) / f64::from(sectors));
            points.push(Vec3::new(polar.sin() * turn.cos(), polar.cos(), -polar.sin() * turn.sin()));
        }
    }
    points.push(-Vec3::Y);
    let at = |ring: u32, sector: u32| 1 + (ring - 1) * sectors + sector % sectors;
    let last = points.len() as u32 - 1;
    let mut triangles = Vec::new();
    for s in 0..sectors {
        triangles.push([0, at(1, s), at(1, s + 1)]);
        for r in 1..rings - 1 {
            triangles.push([at(r, s), at(r + 1, s), at(r + 1, s + 1)]);
            triangles.push([at(r, s), at(r + 1, s + 1), at(r, s + 1)]);
        }
        triangles.push([at(rings - 1, s), last, at(rings - 1, s + 1)]);
    }
    (points, triangles)
}
