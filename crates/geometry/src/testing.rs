//! Random numbers and shapes for tests: seeded, the same everywhere.

use crate::Vec3;

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// In [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// In the cube from −1 to 1.
    pub(crate) fn vec3(&mut self) -> Vec3 {
        let mut next = || 2.0 * self.unit() - 1.0;
        Vec3::new(next(), next(), next())
    }
}

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
