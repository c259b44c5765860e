//! Cloths that are led by hand: what a preview, a limit and an outline are shown with.

use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames, Mesh};
use geometry::Vec3;

use crate::motion::{self, Key, Track};
use crate::paint;
use crate::shapes::{self, Shape};

/// A cloth that two hands swing, three times side by side: `coarse`, `alone`, which is fine, and `final`, coarse again. All have one rest shape, so
/// that `alone` can be what tracks `final`. Group `hands`: the two corners that are held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preview {
    /// Quads across the coarse cloth; a quarter more of them down.
    pub coarse: usize,
    /// Quads across the fine cloth.
    pub fine: usize,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Preview {
    fn default() -> Self {
        Self { coarse: 8, fine: 36, frame_rate_hz: 24.0 }
    }
}

/// The cloth as the demo swings it.
pub fn preview() -> Clip {
    Preview::default().clip()
}

/// Metres.
const WIDTH: f64 = 1.0;
const HEIGHT: f64 = 1.25;
const TOP: f64 = 1.7;
/// From one cloth to the next; halves of metres, so that all three are the same to the bit.
const APART: f64 = 1.5;
/// Places are rounded to this before they are moved apart, which is what single precision has left there.
const GRAIN: f64 = 1.0 / 1_048_576.0;
/// How far the cloth bellies: a plane would buckle as round-off has it, and `coarse` unlike `final`.
const BELLY: f64 = 0.03;
const SWING_SECONDS: f64 = 2.75;
/// Calm enough for the two to stay alike.
const PACE: f64 = 1.5;

impl Preview {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let (coarse, fine) = (sheet(self.coarse.max(2)), sheet(self.fine.max(2)));
        let cast = [("coarse", &coarse, -APART), ("alone", &fine, 0.0), ("final", &coarse, APART)];
        let meshes: Vec<Mesh> = cast.iter().map(|(name, shape, _)| held(name, shape)).collect();
        let frame = |time: f64| Frame {
            points: cast.iter().map(|(_, shape, x)| swung(shape, *x, time)).collect(),
            pose: Vec::new(),
        };
        let frames = motion::times(SWING_SECONDS, self.frame_rate_hz).map(frame).collect();
        let frames = Arc::new(MemoryFrames::new(frames));
        let mut clip = Clip::new("preview", self.frame_rate_hz, meshes, None, frames);
        clip.images = vec![stripes()];
        clip.materials = vec![paint::textured("stripes", 0)];
        clip
    }
}

/// Upright, its lower edge to the left first.
fn sheet(columns: usize) -> Shape {
    let corner = Vec3::new(-0.5 * WIDTH, TOP - HEIGHT, 0.0);
    let flat =
        shapes::triangle_grid(columns, columns + columns / 4, corner, WIDTH * Vec3::X, HEIGHT * Vec3::Y);
    flat.map(|p| {
        let (across, down) = (p.x / WIDTH, (TOP - p.y) / HEIGHT);
        let belly = (std::f64::consts::PI * across).cos() * (0.4 + 0.6 * down)
            + 0.3 * down * (2.2 * across + 3.0 * down).sin();
        Vec3::new(p.x, p.y, BELLY * belly)
    })
}

fn held(name: &str, shape: &Shape) -> Mesh {
    let mut mesh = shape.mesh(name, Some(0));
    let is_held = |p: &Vec3| p.y > TOP - 1e-6 && p.x.abs() > 0.5 * WIDTH - 1e-6;
    mesh.set_group("hands", shape.points.iter().map(|p| if is_held(p) { 1.0 } else { 0.0 }).collect());
    mesh
}

/// The hands come together, swing the cloth to the front and to the back, turn it, and stop.
fn swung(shape: &Shape, x: f64, time: f64) -> Vec<[f32; 3]> {
    let ease = Key::ease;
    let apart = Track::new(&[ease(0.0, 1.0), ease(0.5, 0.7), ease(1.6, 0.55), ease(2.3, 0.8)]);
    let forth =
        Track::new(&[ease(0.3, 0.0), ease(0.8, 0.35), ease(1.25, -0.35), ease(1.7, 0.3), ease(2.2, 0.0)]);
    let up = Track::new(&[ease(0.3, 0.0), ease(0.8, -0.1), ease(1.25, 0.2), ease(1.7, -0.1), ease(2.2, 0.0)]);
    let turn = Track::new(&[ease(0.5, 0.0), ease(1.25, 0.9), ease(1.8, -0.7), ease(2.3, 0.0)]);
    let time = time / PACE;
    let (sin, cos) = turn.at(time).sin_cos();
    let place = |p: &Vec3| {
        let across = apart.at(time) * p.x;
        let there =
            Vec3::new(cos * across + sin * p.z, p.y + up.at(time), forth.at(time) - sin * across + cos * p.z);
        let rounded = there.to_array().map(|c| (c / GRAIN).round() * GRAIN);
        (x * Vec3::X + Vec3::from(rounded)).as_vec3().to_array()
    };
    shape.points.iter().map(place).collect()
}

fn stripes() -> clip::Image {
    paint::picture("stripes", 256, 320, |u, v| {
        let band = |x: f64, count: f64| (x * count).fract() < 0.5;
        match (band(u, 8.0), band(v, 10.0)) {
            (true, true) => 0x2f6f8f,
            (false, false) => 0xf4efe2,
            _ => 0x8fb3bf,
        }
    })
}

/// A guide that is drawn out to one and a half times its length and let back, twice side by side: meshes `free` and `limited`, 24 points each.
pub fn drawn() -> Clip {
    const RATE: f64 = 24.0;
    let size = Vec3::new(0.6, 1.0, 0.0);
    let corner = Vec3::new(-0.5 * size.x, 0.4, 0.0);
    let shape = shapes::triangle_grid(3, 5, corner, size.x * Vec3::X, size.y * Vec3::Y);
    let meshes = ["free", "limited"].map(|name| shape.mesh(name, Some(0))).to_vec();
    let ease = Key::ease;
    let long = Track::new(&[ease(0.4, 1.0), ease(0.9, 1.5), ease(1.3, 1.5), ease(1.8, 1.0)]);
    let bow = Track::new(&[
        ease(0.0, 0.0),
        ease(0.4, 0.12),
        ease(0.9, 0.0),
        ease(1.3, 0.0),
        ease(1.7, 0.14),
        ease(2.1, 0.0),
    ]);
    let middle = corner.y + 0.5 * size.y;
    let place = |p: &Vec3, x: f64, time: f64| {
        let s = (p.y - middle) / size.y;
        let round = bow.at(time) * (1.0 - 4.0 * s * s);
        Vec3::new(x + p.x, middle + long.at(time) * (p.y - middle), round).as_vec3().to_array()
    };
    let frame = |time: f64| Frame {
        points: [-0.5, 0.5].map(|x| shape.points.iter().map(|p| place(p, x, time)).collect()).to_vec(),
        pose: Vec::new(),
    };
    let frames = Arc::new(MemoryFrames::new(motion::times(2.5, RATE).map(frame).collect()));
    let mut clip = Clip::new("drawn", RATE, meshes, None, frames);
    clip.images = vec![stripes()];
    clip.materials = vec![paint::textured("stripes", 0)];
    clip
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    #[test]
    fn the_fine_cloth_lies_on_the_coarse_one_at_rest_and_beside_it_in_every_frame() {
        let clip = preview();
        assert_sound(&clip);
        let [coarse, alone, last] = [0, 1, 2].map(|mesh| clip.meshes[mesh].rest());
        assert_eq!(coarse, last);
        let corners = |points: &[Vec3]| (points[0], points[points.len() - 1]);
        assert_eq!(corners(&coarse), corners(&alone));
        let frame = clip.frame(40).unwrap();
        for (a, b) in frame.points[0].iter().zip(&frame.points[2]) {
            assert!((b[0] - a[0] - 3.0).abs() < 1e-6 && a[1..] == b[1..], "{a:?} {b:?}");
        }
        let held = |mesh: usize| clip.meshes[mesh].groups[0].weights.iter().sum::<f32>();
        assert_eq!([held(0), held(1), held(2)], [2.0; 3]);
    }

    #[test]
    fn the_drawn_guide_is_half_as_long_again() {
        let clip = drawn();
        assert_sound(&clip);
        let length = |index: usize| {
            let points = &clip.frame(index).unwrap().points[0];
            points[points.len() - 1][1] - points[0][1]
        };
        assert!(
            (length(0) - 1.0).abs() < 1e-6
                && (length(26) - 1.5).abs() < 1e-6
                && (length(60) - 1.0).abs() < 1e-6
        );
    }
}
