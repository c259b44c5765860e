//! A rough preview of a cloth that the wind carries onto a branch: thirty-five points.

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames};
use geometry::Vec3;

use crate::motion::{self, Key, Track};
use crate::paint::{self, step};
use crate::shapes;

/// A kerchief of 5 × 7 points that flies in, is caught by a branch, wraps over it and flutters; mesh `branch` stands still.
///
/// tracks §5.1: the preview is coarse and passes through the branch a little, as previews do. Groups `front`, `back`, `left`,
/// `right`: four overlapping halves, to be painted as test functions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Branch {
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Branch {
    fn default() -> Self {
        Self { frame_rate_hz: 24.0 }
    }
}

/// The preview as it comes.
pub fn branch() -> Clip {
    Branch::default().clip()
}

const SECONDS: f64 = 3.5;
/// Along the wind, and along the branch.
const SIZE: [f64; 2] = [0.84, 0.56];
const RADIUS: f64 = 0.022;
const TOP: Vec3 = Vec3::new(0.0, 1.2, 0.0);

impl Branch {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let corner = Vec3::new(-0.5 * SIZE[0], 0.0, 0.5 * SIZE[1]);
        let flat = shapes::triangle_grid(6, 4, corner, SIZE[0] * Vec3::X, -SIZE[1] * Vec3::Z);
        let mut cloth = flat.mesh("cloth", Some(0));
        let half = |weight: &dyn Fn(Vec3) -> f64| -> Vec<f32> {
            flat.points.iter().map(|p| weight(*p).clamp(0.0, 1.0) as f32).collect()
        };
        cloth.set_group("front", half(&|p| 0.5 + p.x / SIZE[0]));
        cloth.set_group("back", half(&|p| 0.5 - p.x / SIZE[0]));
        cloth.set_group("left", half(&|p| (0.5 + p.z / SIZE[1]) * (0.7 - p.x.abs() / SIZE[0])));
        cloth.set_group("right", half(&|p| (0.5 - p.z / SIZE[1]) * (0.7 - p.x.abs() / SIZE[0])));
        let branch = wood();
        let frames = motion::times(SECONDS, self.frame_rate_hz).map(|time| {
            let points = flat.points.iter().map(|p| place(*p, time).as_vec3().to_array()).collect();
            Frame { points: vec![points, branch.rest_points.clone()], pose: Vec::new() }
        });
        let frames = Arc::new(MemoryFrames::new(frames.collect()));
        let mut clip = Clip::new("branch", self.frame_rate_hz, vec![cloth, branch.clone()], None, frames);
        clip.images = vec![paint::picture("dots", 256, 256, |u, v| {
            let cell = |x: f64| (x * 7.0).fract() - 0.5;
            if cell(u).hypot(cell(v)) < 0.22 { 0xfdf3e3 } else { 0xd0473d }
        })];
        clip.materials = vec![paint::textured("dots", 0), paint::plain("bark", 0x6b4e37)];
        clip
    }
}

/// A bough with a few twigs.
fn wood() -> clip::Mesh {
    let bough: Vec<Vec3> = (0..=14)
        .map(|i| {
            let s = f64::from(i) / 14.0;
            TOP + Vec3::new(0.02 * (3.0 * s).sin(), 0.03 * (4.0 * s).sin(), 1.3 * (s - 0.5))
        })
        .collect();
    let radii: Vec<f64> = (0..=14).map(|i| RADIUS * (1.25 - 0.5 * f64::from(i) / 14.0)).collect();
    let bough = shapes::tube(&bough, &radii, 12);
    let twig = |z: f64, side: f64| {
        let from = TOP + z * Vec3::Z;
        let centres: Vec<Vec3> = (0..=6)
            .map(|i| {
                let s = f64::from(i) / 6.0;
                from + s * Vec3::new(0.22 * side, 0.16 + 0.05 * s, 0.10 * s)
            })
            .collect();
        let radii: Vec<f64> = (0..=6).map(|i| 0.5 * RADIUS * (1.0 - 0.1 * f64::from(i))).collect();
        shapes::tube(&centres, &radii, 8)
    };
    let (one, two) = (twig(0.46, -1.0), twig(-0.48, 1.0));
    shapes::assemble("branch", &[(&bough, Some(1)), (&one, Some(1)), (&two, Some(1))])
}

/// Where a point of the flat cloth is at a time.
fn place(p: Vec3, time: f64) -> Vec3 {
    let ease = Key::ease;
    let caught = step(0.75, 1.45, time);
    // flying: upright, tumbling, with a wave through it
    let way = Track::new(&[Key::slope(0.0, -1.5, 1.3), Key::slope(0.9, -0.1, 1.2), ease(1.4, 0.12)]);
    let height = Track::new(&[ease(0.0, 1.62), ease(0.45, 1.48), ease(0.95, 1.36), ease(1.5, 1.24)]);
    let tumble = Track::new(&[ease(0.0, 1.15), ease(0.5, 0.35), ease(1.0, -0.1)]);
    let (s, c) = tumble.at(time).sin_cos();
    // as deep as cloth of 2 % can have it
    let wave = 0.028 * (TAU * (1.1 * p.x / SIZE[0] - 1.3 * time)).sin()
        + 0.022 * (TAU * (p.z / SIZE[1] + time)).sin();
    let flying = Vec3::new(way.at(time) + c * p.x - s * wave, height.at(time) + s * p.x + c * wave, p.z);
    // hanging: over the branch, the side in the lee blown out
    let flutter = 0.05 * (TAU * (1.2 * time - 1.0 * p.x.abs() / SIZE[0])).sin() * (p.x.abs() / SIZE[0]);
    let over = PI * 0.5 * (p.x / 0.05).clamp(-1.0, 1.0);
    let down = (p.x.abs() - 0.05).max(0.0);
    let lee = if p.x > 0.0 { 0.95 } else { 0.10 } + 0.12 * (TAU * 0.8 * time + 2.0 * p.z).sin();
    let r = RADIUS + 0.015;
    let hanging =
        TOP + Vec3::new(
            r * over.sin() + p.x.signum() * down * lee.sin() * 0.9,
            r * over.cos() - down * lee.cos(),
            p.z,
        ) + Vec3::new(flutter, 0.4 * flutter, 0.0);
    flying.lerp(hanging, caught)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    #[test]
    fn has_the_points_of_the_paper_and_ends_around_the_branch() {
        let clip = branch();
        assert_sound(&clip);
        assert_eq!(clip.meshes[0].point_count(), 35);
        let last = clip.frame(clip.frame_count() - 1).unwrap();
        let (mut left, mut right) = (false, false);
        for p in &last.points[0] {
            assert!(f64::from(p[1]) < TOP.y + 0.1 && p[0].abs() < 0.6);
            left |= p[0] < -0.02 && f64::from(p[1]) < TOP.y - 0.1;
            right |= p[0] > 0.02 && f64::from(p[1]) < TOP.y - 0.1;
        }
        assert!(left && right, "it hangs on both sides");
    }
}
