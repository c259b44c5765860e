//! A head of which only the face is animated: what a tracker delivers. The back of the head and the teeth stay where they were.

use std::f64::consts::TAU;
use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames};
use geometry::{Mat3, Vec3};

use crate::motion;
use crate::paint::{self, step};
use crate::shapes::{self, Shape};

/// Seconds.
const DURATION: f64 = 3.0;
const FRAME_RATE_HZ: f64 = 24.0;

/// The head nods, turns and opens its jaw; one mesh `head` with groups `tracked` (the face, the only part that moves) and `teeth`
/// (two rows of separate blocks inside).
pub fn head() -> Clip {
    let skin = shapes::sphere(1.0, 56, 40).map(|p| {
        // an egg with a chin and a nose
        let chin = 0.05 * step(-0.3, -1.0, p.y) * step(0.0, 0.6, p.z);
        let nose = 0.02 * step(0.34, 0.0, Vec3::new(p.x * 1.3, p.y, 0.0).length()) * step(0.3, 0.9, p.z);
        Vec3::new(0.085 * p.x, 0.12 * p.y, 0.10 * p.z + chin + nose)
    });
    // an open mouth: the teeth can be seen
    let lips = |p: Vec3| p.z > 0.0 && p.x.abs() < 0.035 && (-0.056..-0.034).contains(&p.y);
    let skin = skin.without_faces(|corners| corners.iter().all(|p| lips(*p)));
    let mut parts: Vec<(Shape, bool)> = vec![(skin, false)];
    for row in [1.0, -1.0] {
        for tooth in -3_i32..=3 {
            let angle = 0.2 * f64::from(tooth);
            let place = Vec3::new(0.05 * angle.sin(), -0.045 + 0.009 * row, 0.045 + 0.035 * angle.cos());
            let block = shapes::sphere(1.0, 10, 8)
                .map(|p| place + Mat3::from_rotation_y(angle) * (p * Vec3::new(0.0048, 0.0075, 0.004)));
            parts.push((block, true));
        }
    }
    let listed: Vec<_> = parts.iter().map(|(shape, tooth)| (shape, Some(usize::from(*tooth)))).collect();
    let mut mesh = shapes::assemble("head", &listed);
    let teeth: Vec<f32> = parts
        .iter()
        .flat_map(|(shape, tooth)| std::iter::repeat_n(if *tooth { 1.0 } else { 0.0 }, shape.points.len()))
        .collect();
    let rest = mesh.rest();
    let tracked: Vec<f32> = rest
        .iter()
        .zip(&teeth)
        .map(|(p, tooth)| if *tooth == 0.0 && p.z > 0.02 && p.y > -0.115 { 1.0 } else { 0.0 })
        .collect();
    let frames = motion::times(DURATION, FRAME_RATE_HZ).map(|time| {
        let place = |(p, tracked): (&Vec3, &f32)| if *tracked > 0.0 { face(*p, time / DURATION) } else { *p };
        let points = rest.iter().zip(&tracked).map(place).map(|p| p.as_vec3().to_array()).collect();
        Frame { points: vec![points], pose: Vec::new() }
    });
    let frames = Arc::new(MemoryFrames::new(frames.collect()));
    mesh.set_group("tracked", tracked);
    mesh.set_group("teeth", teeth);
    let mut clip = Clip::new("head", FRAME_RATE_HZ, vec![mesh], None, frames);
    clip.materials = vec![paint::plain("skin", 0xe2b59a), paint::plain("tooth", 0xfaf6ea)];
    clip
}

/// Where a point of the face is: jaw and brows, then the neck.
fn face(p: Vec3, phase: f64) -> Vec3 {
    let open = 0.5 - 0.5 * (2.0 * TAU * phase).cos();
    let hinge = Vec3::new(0.0, -0.01, -0.01);
    let jaw = step(-0.03, -0.055, p.y);
    let opened = hinge + Mat3::from_rotation_x(0.42 * open * jaw) * (p - hinge);
    let brow = 0.008 * (TAU * phase).sin() * step(0.02, 0.06, p.y);
    let turn = Mat3::from_rotation_y(0.45 * (TAU * phase).sin())
        * Mat3::from_rotation_x(0.12 * (2.0 * TAU * phase).sin());
    let neck = Vec3::new(0.0, -0.1, -0.02);
    neck + turn * (opened + Vec3::new(0.0, brow, 0.0) - neck)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    #[test]
    fn only_the_face_moves() {
        let clip = head();
        assert_sound(&clip);
        let mesh = &clip.meshes[0];
        let tracked = &mesh.group("tracked").unwrap().weights;
        let moved = clip.frame(20).unwrap().points.swap_remove(0);
        let (mut face, mut rest) = (0, 0);
        for (p, weight) in tracked.iter().enumerate() {
            let still = moved[p] == mesh.rest_points[p];
            face += usize::from(*weight > 0.0 && !still);
            rest += usize::from(*weight == 0.0 && !still);
        }
        assert!(face > 500 && rest == 0, "{face} {rest}");
    }
}
