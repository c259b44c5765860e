//! A curtain on rings, drawn open and closed again.

use clip::{Clip, Frame, MemoryFrames};
use geometry::Vec3;
use std::f64::consts::TAU;
use std::sync::Arc;

use crate::motion::{self, Key, Track};
use crate::paint::{self, Rgb};
use crate::shapes;

/// A 2 × 2 m cloth of quads that hangs from nine rings; meshes `curtain`, `rings` and `rod`.
///
/// The rest shape is flat. In the frames the cloth stands in pleats of exactly its own length, one between each pair
/// of rings, to the front and to the back by turns; group `rings` marks where it hangs. The last ring is drawn along
/// the rod and the others follow, one after the other, as their cloth gathers or pulls. The last frame is the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curtain {
    /// Quads across; raised to a multiple of the eight pleats.
    pub columns: usize,
    /// Quads down.
    pub rows: usize,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Curtain {
    fn default() -> Self {
        Self { columns: 64, rows: 64, frame_rate_hz: 24.0 }
    }
}

/// The curtain as it comes: seven seconds.
pub fn curtain() -> Clip {
    Curtain::default().clip()
}

const SECONDS: f64 = 7.0;
const SIZE: f64 = 2.0;
const PLEATS: usize = 8;
const TOP: f64 = 2.12;
const RING_RADIUS: f64 = 0.032;
const RING_TUBE: f64 = 0.0055;
const ROD_HEIGHT: f64 = TOP + RING_RADIUS;
/// Distance of the rings over length of the cloth between them: closed and open.
const CLOSED: f64 = 0.86;
const OPEN: f64 = 0.42;

impl Curtain {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let per_pleat = self.columns.div_ceil(PLEATS).max(2);
        let columns = per_pleat * PLEATS;
        let corner = Vec3::new(-0.5 * SIZE, TOP, 0.0);
        let cloth = shapes::grid(columns, self.rows, corner, SIZE * Vec3::X, -SIZE * Vec3::Y).flipped();
        let mut curtain = cloth.mesh("curtain", Some(0));
        let on_ring = |i: usize| i <= columns && i.is_multiple_of(per_pleat);
        let weights = (0..cloth.points.len()).map(|i| if on_ring(i) { 1.0 } else { 0.0 });
        curtain.set_group("rings", weights.collect());
        let heading = (0..cloth.points.len()).map(|i| if i <= columns { 1.0 } else { 0.0 });
        curtain.set_group("heading", heading.collect());

        let ring = shapes::torus(RING_RADIUS, RING_TUBE, 28, 10)
            .map(|p| Vec3::new(p.y, p.x, -p.z) + Vec3::Y * ROD_HEIGHT);
        let at_rest = |k: usize| SIZE * (k as f64 / PLEATS as f64 - 0.5);
        let placed: Vec<_> = (0..=PLEATS).map(|k| ring.clone().moved(Vec3::X * at_rest(k))).collect();
        let parts: Vec<_> = placed.iter().map(|shape| (shape, Some(1))).collect();
        let rings = shapes::assemble("rings", &parts);
        let rod = rod();

        let frames = motion::times(SECONDS, self.frame_rate_hz).map(|time| {
            let t = time / SECONDS;
            let ratios: Vec<f64> = (0..PLEATS).map(|pleat| ratio(pleat, t)).collect();
            let mut profile = vec![(-0.5 * SIZE, 0.0)];
            let mut ring_at = vec![-0.5 * SIZE];
            for (pleat, &ratio) in ratios.iter().enumerate() {
                pleat_profile(ratio, pleat % 2 == 0, per_pleat, &mut profile);
                ring_at.push(profile[profile.len() - 1].0);
            }
            let on_cloth = |(i, p): (usize, &Vec3)| {
                let (x, z) = profile[i % (columns + 1)];
                Vec3::new(x, p.y, z).as_vec3().to_array()
            };
            let on_rod = |(i, p): (usize, &[f32; 3])| {
                let k = i / ring.points.len();
                [p[0] + (ring_at[k] - at_rest(k)) as f32, p[1], p[2]]
            };
            Frame {
                points: vec![
                    cloth.points.iter().enumerate().map(on_cloth).collect(),
                    rings.rest_points.iter().enumerate().map(on_rod).collect(),
                    rod.rest_points.clone(),
                ],
                pose: Vec::new(),
            }
        });
        let frames = Arc::new(MemoryFrames::new(frames.collect()));
        let mut clip =
            Clip::new("curtain", self.frame_rate_hz, vec![curtain, rings.clone(), rod.clone()], None, frames);
        clip.images = vec![paint::picture("curtain", 512, 512, colour)];
        clip.materials = vec![
            paint::textured("curtain", 0),
            paint::plain("brass", 0xd2a24c),
            paint::plain("walnut", 0x5b3a29),
        ];
        clip
    }
}

/// How far a pleat is drawn together at the time t in [0, 1]. The drawn end is the last pleat: it starts first, in
/// both directions, and those nearer the wall take up the motion later.
fn ratio(pleat: usize, t: f64) -> f64 {
    let late = 0.018 * (PLEATS - 1 - pleat) as f64;
    let track = Track::new(&[
        Key::ease(0.04 + late, CLOSED),
        Key::ease(0.30 + late, OPEN),
        Key::ease(0.44 + late, OPEN),
        Key::ease(0.64 + late, CLOSED),
    ]);
    track.at(t)
}

/// Appends one pleat as (x, z) pairs: the curve whose angle is θ(s) = a·sin(2πs), s from 0 to 1, leaves and
/// arrives along the rod, keeps its length, and spans the wanted fraction of it when a is chosen so that the mean of cos θ is
/// that fraction. Both means are taken with the same midpoint rule, so that the polyline, too, spans it.
fn pleat_profile(ratio: f64, forward: bool, pieces: usize, profile: &mut Vec<(f64, f64)>) {
    let middle = |i: usize| (i as f64 + 0.5) / pieces as f64;
    let span = |a: f64| (0..pieces).map(|i| (a * (TAU * middle(i)).sin()).cos()).sum::<f64>() / pieces as f64;
    // the span falls from 1 to below 0 between a = 0 and the first zero of the Bessel function J0
    let (mut low, mut high) = (0.0, 2.4);
    for _ in 0..50 {
        let a = 0.5 * (low + high);
        if span(a) > ratio { low = a } else { high = a }
    }
    let sign = if forward { 1.0 } else { -1.0 };
    let step = SIZE / (PLEATS * pieces) as f64;
    for i in 0..pieces {
        let angle = low * (TAU * middle(i)).sin();
        let (x, z) = profile[profile.len() - 1];
        profile.push((x + step * angle.cos(), z + sign * step * angle.sin()));
    }
}

fn rod() -> clip::Mesh {
    let along_x = |p: Vec3| Vec3::new(p.y - 1.2, -p.x + ROD_HEIGHT, p.z);
    let shaft = shapes::cylinder(0.016, 2.4, 20, 24).map(along_x);
    let knob = shapes::sphere(0.045, 24, 16);
    let [left, right] = [-1.23, 1.23].map(|x| knob.clone().moved(Vec3::new(x, ROD_HEIGHT, 0.0)));
    shapes::assemble("rod", &[(&shaft, Some(2)), (&left, Some(1)), (&right, Some(1))])
}

/// Deep teal with thin upright stripes, and a golden border with a row of diamonds above the hem.
fn colour(u: f64, v: f64) -> Rgb {
    const TEAL: Rgb = 0x2a7f86;
    const DEEP: Rgb = 0x23707a;
    const GOLD: Rgb = 0xe0b050;
    const CREAM: Rgb = 0xf3e9d2;
    let stripe = (u * 32.0).fract();
    let cloth = if (0.42..0.58).contains(&stripe) { DEEP } else { TEAL };
    let border = v - 0.86;
    let diamond = ((u * 24.0).fract() - 0.5).abs() + (border / 0.036).abs();
    if diamond < 0.42 {
        CREAM
    } else if border.abs() < 0.03 {
        GOLD
    } else if (border.abs() - 0.04).abs() < 0.004 || v > 0.965 {
        CREAM
    } else {
        cloth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_closed, assert_loops, assert_sound, assert_strain_below, points_of};

    #[test]
    fn is_sound_loops_and_keeps_its_lengths() {
        let clip = Curtain { columns: 48, rows: 16, ..Curtain::default() }.clip();
        assert_sound(&clip);
        assert_loops(&clip);
        for frame in 0..clip.frame_count() {
            assert_strain_below(&clip.meshes[0], &clip.frame(frame).unwrap().points[0], 1e-4);
        }
        for mesh in &clip.meshes[1..] {
            assert_closed(mesh.point_count(), &mesh.point_triangles());
        }
    }

    #[test]
    fn the_cloth_hangs_on_its_rings_and_is_drawn_open() {
        let clip = Curtain { columns: 48, rows: 4, ..Curtain::default() }.clip();
        let hung: Vec<usize> = (0..clip.meshes[0].point_count())
            .filter(|&i| clip.meshes[0].groups[0].weights[i] == 1.0)
            .collect();
        assert_eq!(hung.len(), PLEATS + 1);
        let ring_points = clip.meshes[1].point_count() / (PLEATS + 1);
        let mut widths = Vec::new();
        for index in 0..clip.frame_count() {
            let frame = clip.frame(index).unwrap();
            let (cloth, rings) = (points_of(&frame.points[0]), points_of(&frame.points[1]));
            for (k, &i) in hung.iter().enumerate() {
                let ring = &rings[k * ring_points..(k + 1) * ring_points];
                let centre = ring.iter().sum::<Vec3>() / ring_points as f64;
                let lowest = centre - Vec3::Y * RING_RADIUS;
                assert!(cloth[i].distance(lowest) < 1e-4, "frame {index}: ring {k} lost its cloth");
            }
            widths.push(cloth[hung[PLEATS]].x - cloth[hung[0]].x);
        }
        let narrowest = widths.iter().copied().fold(f64::MAX, f64::min);
        assert!((narrowest - SIZE * OPEN).abs() < 1e-3 && (widths[0] - SIZE * CLOSED).abs() < 1e-3);
    }
}
