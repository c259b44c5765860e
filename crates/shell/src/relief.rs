//! Rest shapes that differ from the mesh: folds, ribs and crinkles, and the way from one to the next.

use geometry::{Vec3, vertex_normals};

/// A pattern pressed into the rest shape, along its normals.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Relief {
    /// What it looks like.
    pub pattern: Pattern,
    /// From ridge to ridge, in metres; of crinkles, their size.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 1e-5, "maximum" = 1e4, "x-usual" = [1e-3, 10.0])))]
    pub wavelength: f64,
    /// From the bottom of a valley to the top of a ridge, in metres.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 1e3, "x-usual" = [0.0, 1.0])))]
    pub depth: f64,
    /// Across the ridges; crinkles have none.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = -1e6, "maximum" = 1e6)))]
    pub direction: [f64; 3],
    /// Another seed, other crinkles.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0, "maximum" = 4_294_967_295_u32)))]
    pub seed: u32,
}

/// What a relief looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Pattern {
    /// Flat faces between sharp edges, as of an accordion.
    #[default]
    Accordion,
    /// Round ridges, as of corduroy or ribbon.
    Ribs,
    /// Noise, as of a bag that was crumpled before.
    Crinkles,
}

impl Default for Relief {
    fn default() -> Self {
        Self {
            pattern: Pattern::default(),
            wavelength: 0.1,
            depth: 0.02,
            direction: [0.0, 1.0, 0.0],
            seed: 1,
        }
    }
}

impl Relief {
    /// The rest points with this pattern pressed in.
    pub fn pressed(&self, rest: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Vec3> {
        let across = Vec3::from(self.direction).normalize_or(Vec3::Y);
        let normals = vertex_normals(rest, triangles);
        let height = |p: Vec3| {
            let phase = p.dot(across) / self.wavelength;
            0.5 * match self.pattern {
                Pattern::Accordion => 4.0 * (phase - (phase + 0.5).floor()).abs() - 1.0,
                Pattern::Ribs => (std::f64::consts::TAU * phase).cos(),
                Pattern::Crinkles => crinkles(p / self.wavelength, self.seed),
            }
        };
        rest.iter().zip(normals).map(|(&p, normal)| p + self.depth * height(p) * normal).collect()
    }
}

/// Smooth noise about zero, in [−1, 1], with features of size one and half of that.
fn crinkles(p: Vec3, seed: u32) -> f64 {
    (noise(p, seed) + 0.5 * noise(2.0 * p + Vec3::splat(17.3), seed.wrapping_add(1))) / 1.5
}

/// Value noise: random numbers at the points of a lattice, cubic between them.
fn noise(p: Vec3, seed: u32) -> f64 {
    let cell = p.floor();
    let t = p - cell;
    let ease = t * t * (Vec3::splat(3.0) - 2.0 * t);
    let corner = |k: u32| {
        let step = [k & 1, k >> 1 & 1, k >> 2 & 1];
        let at: [i64; 3] = std::array::from_fn(|axis| cell[axis] as i64 + i64::from(step[axis]));
        let weight: f64 =
            (0..3).map(|axis| if step[axis] == 1 { ease[axis] } else { 1.0 - ease[axis] }).product();
        weight * lattice(at, seed)
    };
    (0..8).map(corner).sum()
}

/// A random number in [−1, 1] at a lattice point.
fn lattice(at: [i64; 3], seed: u32) -> f64 {
    let mut h = u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for axis in at {
        h = (h ^ axis as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
        h ^= h >> 33;
    }
    h = h.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (h >> 11) as f64 / 2.0_f64.powi(52) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(n: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let points = (0..=n)
            .flat_map(|i| [0.0, 0.1].map(|x| Vec3::new(x, f64::from(i) / f64::from(n), 0.0)))
            .collect();
        let triangles =
            (0..n).flat_map(|i| [[2 * i, 2 * i + 1, 2 * i + 2], [2 * i + 2, 2 * i + 1, 2 * i + 3]]).collect();
        (points, triangles)
    }

    #[test]
    fn an_accordion_has_its_depth_and_straight_faces() {
        let (points, triangles) = strip(80);
        let relief = Relief { wavelength: 0.2, depth: 0.04, ..Relief::default() };
        let pressed = relief.pressed(&points, &triangles);
        let (low, high) = pressed.iter().fold((0.0_f64, 0.0_f64), |(l, h), p| (l.min(p.z), h.max(p.z)));
        assert!((high - low - 0.04).abs() < 1e-12);
        let slopes = pressed.chunks(2).collect::<Vec<_>>();
        for pair in slopes.windows(2) {
            let slope = (pair[1][0].z - pair[0][0].z) / (pair[1][0].y - pair[0][0].y);
            assert!((slope.abs() - 0.4).abs() < 1e-9, "{slope}");
        }
    }

    #[test]
    fn crinkles_depend_on_their_seed_and_stay_within_their_depth() {
        let (points, triangles) = strip(80);
        let crinkled = |seed| {
            Relief { pattern: Pattern::Crinkles, wavelength: 0.05, depth: 0.02, seed, ..Relief::default() }
                .pressed(&points, &triangles)
        };
        assert_eq!(crinkled(1), crinkled(1));
        assert_ne!(crinkled(1), crinkled(2));
        let most = crinkled(1).iter().map(|p| p.z.abs()).fold(0.0, f64::max);
        assert!(most > 0.003 && most <= 0.01);
    }
}
