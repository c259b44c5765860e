//! A camera that goes along with what moves, so that a runner is as large in the picture as someone who stands.

use clip::{Clip, Frame};
use geometry::{Bounds, Vec3};

use crate::camera::Outline;
use crate::{Camera, Result, View};

/// Standard deviation of the window that the way is smoothed by, in seconds: a hop is seen as a hop, a walk stays in its place.
const SMOOTHING: f64 = 0.4;
/// A mesh of which no point gets further than this share of the clip's size stands still.
const STILL: f64 = 1e-3;

/// One view and lens, and where they are carried to in each frame.
pub(crate) struct Travel {
    /// For what moves, seen from its own middle.
    camera: Camera,
    middles: Vec<Vec3>,
}

impl Travel {
    /// Along the way of what moves in the last of the clips; all of them are seen. None where nothing moves.
    pub(crate) fn along(clips: &[&Clip], view: View, aspect: f64) -> Result<Option<Self>> {
        let Some(leader) = clips.last() else { return Ok(None) };
        let moving = moving_meshes(leader)?;
        let mut middles = Vec::with_capacity(leader.frame_count());
        for frame in 0..leader.frame_count() {
            let points = places(leader, &leader.frame(frame)?, &moving);
            let bounds = Bounds::of(points.into_iter().filter(|p| p.is_finite()));
            if bounds.is_empty() {
                return Ok(None);
            }
            middles.push(bounds.centre());
        }
        let middles = smoothed(&middles, SMOOTHING * leader.frame_rate_hz);
        let mut outline = Outline::default();
        for clip in clips {
            for frame in looked_at(clip) {
                let middle = middles[frame.min(middles.len() - 1)];
                let points = places(clip, &clip.frame(frame)?, &moving);
                outline.add_points(points.into_iter().map(|p| p - middle).collect());
            }
        }
        Ok(Some(Self { camera: outline.camera(view, aspect), middles }))
    }

    /// The camera of a frame; after the last it stays.
    pub(crate) fn camera(&self, frame: usize) -> Camera {
        let middle = self.middles[frame.min(self.middles.len() - 1)];
        Camera { position: self.camera.position + middle, target: self.camera.target + middle, ..self.camera }
    }
}

/// Frames spread evenly over a clip, not more than a camera looks at.
fn looked_at(clip: &Clip) -> Vec<usize> {
    let count = clip.frame_count();
    let some = count.min(Camera::FRAMES_LOOKED_AT);
    (0..some).map(|i| if some < 2 { 0 } else { i * (count - 1) / (some - 1) }).collect()
}

fn moving_meshes(clip: &Clip) -> Result<Vec<bool>> {
    let mut moving = vec![false; clip.meshes.len()];
    let Some(first) = looked_at(clip).first().map(|&frame| clip.frame(frame)).transpose()? else {
        return Ok(moving);
    };
    let all = first.points.iter().flatten().map(|p| Vec3::from(p.map(f64::from)));
    let limit = STILL * Bounds::of(all.filter(|p| p.is_finite())).diagonal();
    for frame in looked_at(clip) {
        let frame = clip.frame(frame)?;
        for ((moves, now), then) in moving.iter_mut().zip(&frame.points).zip(&first.points) {
            let far = |(a, b): (&[f32; 3], &[f32; 3])| {
                (0..3).any(|axis| f64::from((a[axis] - b[axis]).abs()) > limit)
            };
            *moves |= now.iter().zip(then).any(far);
        }
    }
    Ok(moving)
}

/// Points of the meshes that move; of a skeleton without meshes its joints.
fn places(clip: &Clip, frame: &Frame, moving: &[bool]) -> Vec<Vec3> {
    if clip.meshes.is_empty()
        && let Some(skeleton) = &clip.skeleton
    {
        let world_from_joints = skeleton.world_from_joints(&frame.pose);
        return world_from_joints.iter().map(|m| m.w_axis.truncate().as_dvec3()).collect();
    }
    let moves = |mesh: usize| moving.get(mesh).copied().unwrap_or(false);
    let meshes = frame.points.iter().enumerate().filter(|(mesh, _)| moves(*mesh));
    meshes.flat_map(|(_, points)| points.iter().map(|p| Vec3::from(p.map(f64::from)))).collect()
}

/// By a Gaussian window of this many frames; beyond its ends a way goes on as it came, so that what moves evenly is left as it is.
fn smoothed(way: &[Vec3], frames: f64) -> Vec<Vec3> {
    let last = way.len() as isize - 1;
    let at = |i: isize| {
        let inside = i.clamp(0, last);
        let end = way[inside as usize];
        match inside == i {
            true => end,
            false => 2.0 * end - way[(2 * inside - i).clamp(0, last) as usize],
        }
    };
    let reach = (3.0 * frames).ceil() as isize;
    let weight = |k: isize| (-0.5 * (k as f64 / frames.max(1e-9)).powi(2)).exp();
    let whole: f64 = (-reach..=reach).map(weight).sum();
    let mean = |i: isize| (-reach..=reach).map(|k| weight(k) * at(i + k)).sum::<Vec3>() / whole;
    (0..=last).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_evenly_keeps_its_place_and_a_hop_is_seen() {
        let even: Vec<Vec3> = (0..40).map(|i| f64::from(i) * Vec3::new(0.1, 0.0, -0.02)).collect();
        for (a, b) in even.iter().zip(smoothed(&even, 9.6)) {
            assert!(a.distance(b) < 1e-12, "{a} {b}");
        }
        let hop: Vec<Vec3> =
            (0..41).map(|i| Vec3::Y * (1.0 - ((f64::from(i) - 20.0) / 4.0).powi(2)).max(0.0)).collect();
        let seen = smoothed(&hop, 9.6)[20].y;
        assert!((0.05..0.4).contains(&seen), "{seen}");
        assert_eq!(smoothed(&even[..1], 9.6), even[..1]);
    }
}
