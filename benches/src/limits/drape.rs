//! One disc of cotton over a smaller one, cut into triangles in several ways: it must hang alike.

use std::f64::consts::TAU;

use dynamics::{Body, Elements, Settings, State, StaticGuide, Stepper};
use geometry::Vec3;
use shell::{Bending, ClothBuilder, Material, Stretching};

/// Radii of the cloth and of the disc that holds it, in metres, as in Cusick's drape test enlarged.
const RADIUS: f64 = 0.3;
const HELD: f64 = 0.18;
/// What hangs over.
pub(super) const OVERHANG: f64 = RADIUS - HELD;
/// Times the damping of cotton: it is to come to rest.
const CALM: f64 = 8.0;

/// How a disc hangs.
pub(super) struct Drape {
    pub(super) name: &'static str,
    pub(super) points: usize,
    /// How far the lowest point is below the disc, in metres.
    pub(super) lowest: f64,
    /// Cusick's drape coefficient: the share of the ring that hangs over which its shadow still covers, seen from above.
    pub(super) coefficient: f64,
    /// Waves along the rim.
    pub(super) folds: usize,
    /// How fast the fastest point still is, in m/s.
    pub(super) fastest: f64,
}

/// Elements that cloth may be made of.
pub(super) type Elastic = (Bending, Stretching);

/// The same cloth on grids of two sizes, a grid that is turned, and one whose diagonals all run one way. Both sizes have a ring of points at the rim of
/// what holds it: as much hangs over.
pub(super) fn all(frames: usize, elastic: Elastic) -> Result<Vec<Drape>, Box<dyn std::error::Error>> {
    let eighth = TAU / 8.0;
    Ok(vec![
        drape("alternating", (20, 0.0, true), elastic, frames)?,
        drape("turned by 45°", (20, eighth, true), elastic, frames)?,
        drape("one way", (20, 0.0, false), elastic, frames)?,
        drape("finer", (30, 0.0, true), elastic, frames)?,
    ])
}

fn drape(
    name: &'static str,
    (cells, turn, alternates): (usize, f64, bool),
    (bending, stretching): Elastic,
    frames: usize,
) -> Result<Drape, Box<dyn std::error::Error>> {
    let (points, triangles) = disc(cells, turn, alternates);
    let preset = Material::preset("cotton")?;
    let material = Material { damping: CALM * preset.damping, ..preset };
    let builder = ClothBuilder::new(&points, &triangles, &material).warp(Vec3::X).bending(bending);
    let cloth = builder.stretching(stretching).build()?;
    let known: Vec<bool> = points.iter().map(|p| p.x.hypot(p.z) <= HELD + 1e-9).collect();
    let (friction, limits) = (material.damping_time(), cloth.strain_limits());
    let body = Body::builder(cloth.masses.clone())
        .energy(Elements::new(cloth.own_membranes()).damped(friction))
        .energy(Elements::new(cloth.cells).damped(friction))
        .energy(Elements::new(cloth.hinges).damped(friction))
        .energy(Elements::new(cloth.plates).damped(friction))
        .known(known)
        .limit(limits)
        .gravity(-9.81 * Vec3::Y)
        .build()?;
    let mut stepper = Stepper::new(&body, &points, Settings::default())?;
    let (mut state, guide) = (State::at_rest(points.clone()), StaticGuide::new(points.clone()));
    for _ in 0..frames {
        stepper.advance(&body, &mut state, &guide, 1.0 / 24.0, &mut [])?;
    }
    let lowest = -state.positions.iter().map(|p| p.y).fold(0.0, f64::min);
    let fastest = state.velocities.iter().map(|v| v.length()).fold(0.0, f64::max);
    let rim = rim(&points, &state.positions);
    Ok(Drape {
        name,
        points: points.len(),
        lowest,
        coefficient: coefficient(&rim),
        folds: folds(&rim),
        fastest,
    })
}

/// A square grid drawn onto a disc (Shirley & Chiu 1997), turned, with a grain of unevenness: nothing in the world is symmetric.
fn disc(cells: usize, turn: f64, alternates: bool) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let side = cells + 1;
    let place = |k: usize| {
        let [a, b] = [k % side, k / side].map(|i| 2.0 * i as f64 / cells as f64 - 1.0);
        let (r, angle) = match (a.abs() > b.abs(), a == 0.0 && b == 0.0) {
            (_, true) => (0.0, 0.0),
            (true, _) => (a, TAU / 8.0 * b / a),
            (false, _) => (b, TAU / 4.0 - TAU / 8.0 * a / b),
        };
        let (sin, cos) = (angle + turn).sin_cos();
        let (x, z) = (RADIUS * r * cos, RADIUS * r * sin);
        Vec3::new(x, 1e-4 * (5.0 * z.atan2(x)).sin() * r.abs(), z)
    };
    let mut triangles = Vec::new();
    for (i, j) in (0..cells).flat_map(|j| (0..cells).map(move |i| (i, j))) {
        let at = |i: usize, j: usize| (j * side + i) as u32;
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        let one = !alternates || (i + j) % 2 == 0;
        triangles.extend(if one { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
    }
    ((0..side * side).map(place).collect(), triangles)
}

/// The rim in its order at rest, seen from above.
fn rim(rest: &[Vec3], x: &[Vec3]) -> Vec<[f64; 2]> {
    let mut rim: Vec<(f64, [f64; 2])> = rest
        .iter()
        .zip(x)
        .filter(|(p, _)| p.x.hypot(p.z) > RADIUS - 1e-6)
        .map(|(p, x)| (p.z.atan2(p.x), [x.x, x.z]))
        .collect();
    rim.sort_by(|a, b| a.0.total_cmp(&b.0));
    rim.into_iter().map(|(_, place)| place).collect()
}

fn coefficient(rim: &[[f64; 2]]) -> f64 {
    let next = rim.iter().cycle().skip(1);
    let shadow = 0.5 * rim.iter().zip(next).map(|(a, b)| a[0] * b[1] - a[1] * b[0]).sum::<f64>();
    let disc = |radius: f64| 0.5 * TAU * radius * radius;
    (shadow.abs() - disc(HELD)) / (disc(RADIUS) - disc(HELD))
}

/// How often the rim goes out and in again: half the number of times that it passes its mean radius.
fn folds(rim: &[[f64; 2]]) -> usize {
    let radius = |[x, z]: &[f64; 2]| x.hypot(*z);
    let mean = rim.iter().map(radius).sum::<f64>() / rim.len().max(1) as f64;
    let is_out: Vec<bool> = rim.iter().map(|place| radius(place) > mean).collect();
    let passes = (0..is_out.len()).filter(|&i| is_out[i] != is_out[(i + 1) % is_out.len()]).count();
    passes / 2
}
