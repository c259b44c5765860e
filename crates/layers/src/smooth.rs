//! `smooth`: a zero-phase low-pass over time, against the jitter of motion capture and of cheap simulations.
//!
//! Every point's path is averaged with a Gaussian window, centred, so that nothing lags behind. At the clip's ends the
//! path is continued by point reflection, q(−t) = 2 q(0) − q(t): the first and last frames stay where they are, and
//! straight motion at constant speed passes through unchanged. Of a skeleton without a mesh the joints are smoothed: places as points are, rotations by
//! their logarithms about the one at hand, so that steady turning passes unchanged as well.

use std::collections::VecDeque;

use clip::{Frame, Mesh, Transform};
use glam::DQuat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use shot::{Diagnostic, FrameResult, Layer, LayerError, Settings, Simulation, Target};

/// Smooths motion over time, without lag: jitter goes, slow movement stays. Of a file with meshes the points of one, of a skeleton alone its joints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Smooth {
    /// The standard deviation of the averaging window, in seconds. Vibrations faster than about 0.19/window hertz lose half
    /// their amplitude and more.
    #[serde(default = "default_window")]
    #[schemars(extend("minimum" = 1e-4, "maximum" = 10.0, "x-usual" = [0.005, 1.0]))]
    pub window: f64,
    /// A vertex group: where its weight is 1 the motion is smoothed, where it is 0 it stays as it is. Without it, all is smoothed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

fn default_window() -> f64 {
    0.04
}

impl Settings for Smooth {
    const KIND: &'static str = "smooth";
    const SUMMARY: &'static str = "smooths the motion of points or joints over time, without lag";
    const VERSION: u32 = 1;
}

impl Layer for Smooth {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let Some(mesh) = input.clip.meshes.get(input.mesh) else {
            let message = "a skeleton has no vertex groups: all of its joints are smoothed";
            let said = self.group.iter().map(|_| Diagnostic::new("group", message).with_help("remove it"));
            return said.collect();
        };
        let unknown = self.group.iter().filter(|name| mesh.group(name).is_none());
        let known = || mesh.groups.iter().map(|group| group.name.as_str());
        unknown.map(|name| Diagnostic::unknown("group", "vertex group", name, known())).collect()
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        self.group.as_ref().is_none_or(|name| mesh.group(name).is_some())
    }

    fn takes_skeletons(&self) -> bool {
        true
    }

    fn look_ahead(&self, input: &Target) -> usize {
        self.weights(input.clip.frame_rate_hz).len() - 1
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        let mesh = input.clip.meshes.get(input.mesh);
        let amounts = self.group.as_ref().and_then(|name| mesh?.group(name));
        Ok(Box::new(Smoothing {
            weights: self.weights(input.clip.frame_rate_hz),
            amounts: amounts.map(|group| group.weights.clone()),
            input: input.clone(),
            window: VecDeque::new(),
        }))
    }
}

impl Smooth {
    /// Half of the normalised Gaussian, from its middle outwards, cut off at three standard deviations.
    fn weights(&self, frame_rate_hz: f64) -> Vec<f64> {
        let frames = self.window * frame_rate_hz;
        let reach = (3.0 * frames).ceil() as usize;
        let mut weights: Vec<f64> = (0..=reach).map(|k| (-0.5 * (k as f64 / frames).powi(2)).exp()).collect();
        let sum = weights[0] + 2.0 * weights[1..].iter().sum::<f64>();
        weights.iter_mut().for_each(|weight| *weight /= sum);
        weights
    }
}

/// Has no state worth keeping: the window of frames is only there so that no frame is read twice.
struct Smoothing {
    input: Target,
    weights: Vec<f64>,
    amounts: Option<Vec<f32>>,
    /// Frames around the current one, with their numbers: the mesh's points, or joints where there is no mesh.
    window: VecDeque<(usize, Moving)>,
}

/// What is smoothed of a frame.
#[derive(Clone)]
enum Moving {
    Points(Vec<[f32; 3]>),
    Joints(Vec<Transform>),
}

impl Simulation for Smoothing {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let reach = self.weights.len() - 1;
        let from = index.saturating_sub(reach);
        // where the clip ends before the window does, this is its last frame
        let to =
            (index..=index + reach).rev().find(|frame| self.input.clip.has_frame(*frame)).unwrap_or(index);
        while self.window.front().is_some_and(|(frame, _)| *frame < from) {
            self.window.pop_front();
        }
        let next = self.window.back().map_or(from, |(frame, _)| frame + 1);
        for frame in next..=to {
            let Frame { mut points, pose } = self.input.clip.frame(frame)?;
            let moving = match points.is_empty() {
                true => Moving::Joints(pose),
                false => Moving::Points(points.swap_remove(self.input.mesh)),
            };
            self.window.push_back((frame, moving));
        }
        let coefficients = self.coefficients(index, from, to);
        match &self.window[index - from].1 {
            Moving::Points(here) => {
                let points = self.smoothed_points(here, &coefficients);
                Ok(self.input.with_points(index, points)?.into())
            }
            Moving::Joints(here) => {
                let pose = self.smoothed_joints(here, &coefficients);
                Ok(Frame { pose, ..Frame::default() }.into())
            }
        }
    }

    fn checkpoint(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _checkpoint: &[u8]) -> Result<(), LayerError> {
        self.window.clear();
        Ok(())
    }

    fn notes(&self) -> Vec<(String, String)> {
        vec![("window".into(), format!("{} frames to either side", self.weights.len() - 1))]
    }
}

impl Smoothing {
    fn smoothed_points(&self, here: &[[f32; 3]], coefficients: &[f64]) -> Vec<[f32; 3]> {
        let mut result = here.to_vec();
        for (p, out) in result.iter_mut().enumerate() {
            let amount = self.amounts.as_ref().map_or(1.0, |amounts| f64::from(amounts[p]));
            if amount == 0.0 {
                continue;
            }
            for axis in 0..3 {
                let q = f64::from(here[p][axis]);
                // the coefficients' sum is 1: differences keep the precision of points far from the origin
                let change = |(coefficient, (_, moving)): (&f64, &(usize, Moving))| match moving {
                    Moving::Points(points) => coefficient * (f64::from(points[p][axis]) - q),
                    Moving::Joints(_) => 0.0,
                };
                let change: f64 = coefficients.iter().zip(&self.window).map(change).sum();
                out[axis] = (q + amount * change) as f32;
            }
        }
        result
    }

    fn smoothed_joints(&self, here: &[Transform], coefficients: &[f64]) -> Vec<Transform> {
        let smoothed = |(joint, own): (usize, &Transform)| {
            let (place, turn, scale) =
                (own.translation.as_dvec3(), own.rotation.as_dquat().normalize(), own.scale.as_dvec3());
            let mut change = [glam::DVec3::ZERO; 3];
            for (coefficient, (_, moving)) in coefficients.iter().zip(&self.window) {
                let Moving::Joints(joints) = moving else { continue };
                let other = &joints[joint];
                // the shorter way round
                let apart = turn.inverse() * other.rotation.as_dquat().normalize();
                let apart = if apart.w < 0.0 { -apart } else { apart };
                change[0] += *coefficient * (other.translation.as_dvec3() - place);
                change[1] += *coefficient * apart.to_scaled_axis();
                change[2] += *coefficient * (other.scale.as_dvec3() - scale);
            }
            Transform {
                translation: (place + change[0]).as_vec3(),
                rotation: (turn * DQuat::from_scaled_axis(change[1])).normalize().as_quat(),
                scale: (scale + change[2]).as_vec3(),
            }
        };
        here.iter().enumerate().map(smoothed).collect()
    }

    /// What each frame of the window `from..=to` weighs in the mean at `index`, the reflections at the ends included.
    fn coefficients(&self, index: usize, from: usize, to: usize) -> Vec<f64> {
        let mut coefficients = vec![0.0; to - from + 1];
        let reach = self.weights.len() as i64 - 1;
        let last = to as i64;
        for k in -reach..=reach {
            let mut weight = self.weights[k.unsigned_abs() as usize];
            let mut frame = index as i64 + k;
            // a window longer than the clip is reflected to and fro; with a single frame there is nothing else
            while last > 0 && !(0..=last).contains(&frame) {
                let end = if frame < 0 { 0 } else { last };
                coefficients[end as usize - from] += 2.0 * weight;
                weight = -weight;
                frame = 2 * end - frame;
            }
            coefficients[frame.clamp(0, last) as usize - from] += weight;
        }
        coefficients
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clip::{Clip, Frame, MemoryFrames};

    use super::*;

    fn path(count: usize, x: impl Fn(f64) -> f64) -> Target {
        let mesh = Mesh::new("dot", vec![[0.0; 3]; 2], &[]);
        let frames = (0..count).map(|i| Frame {
            points: vec![vec![[x(i as f64 / 24.0) as f32, 0.0, 0.0]; 2]],
            pose: Vec::new(),
        });
        let frames = Arc::new(MemoryFrames::new(frames.collect()));
        Target {
            clip: Clip::new("dot", 24.0, vec![mesh], None, frames),
            mesh: 0,
            files: clip::Files::default(),
        }
    }

    fn smoothed(target: &Target, settings: &Smooth) -> Vec<f64> {
        let mut simulation = settings.prepare(target).unwrap();
        let frames = 0..target.clip.frame_count();
        frames.map(|i| f64::from(simulation.frame(i).unwrap().frame.points[0][0][0])).collect()
    }

    #[test]
    fn steady_motion_passes_unchanged_to_the_very_ends() {
        for count in [1, 2, 3, 50] {
            let target = path(count, |t| 3.0 + 2.0 * t);
            for (i, x) in smoothed(&target, &Smooth { window: 0.1, group: None }).iter().enumerate() {
                assert!((x - (3.0 + 2.0 * i as f64 / 24.0)).abs() < 1e-6, "{count} frames, frame {i}: {x}");
            }
        }
    }

    #[test]
    fn a_vibration_shrinks_by_the_windows_transfer_function() {
        // a Gaussian of deviation s takes a vibration of ω to exp(−ω²s²/2) of its amplitude; sampling and the cut at
        // three deviations change that by less than 1 %
        let (omega, s) = (2.0 * std::f64::consts::PI * 3.0, 0.06);
        let target = path(96, |t| (omega * t).cos());
        let x = smoothed(&target, &Smooth { window: s, group: None });
        let exact = (-0.5 * (omega * s).powi(2)).exp();
        assert!((x[48] / (omega * 2.0).cos() - exact).abs() < 0.01, "{} {exact}", x[48]);
    }

    #[test]
    fn weight_zero_keeps_points_to_the_bit() {
        let mut target = path(20, |t| (40.0 * t).sin());
        target.clip.meshes[0].set_group("wobbly", vec![1.0, 0.0]);
        let mut simulation = Smooth { window: 0.1, group: Some("wobbly".into()) }.prepare(&target).unwrap();
        let frame = simulation.frame(0).unwrap().frame;
        assert_eq!(frame, target.clip.frame(0).unwrap());
        let frame = simulation.frame(1).unwrap().frame;
        assert_eq!(frame.points[0][1], target.clip.frame(1).unwrap().points[0][1]);
        assert_ne!(frame.points[0][0], target.clip.frame(1).unwrap().points[0][0]);
    }

    /// Turning steadily about one axis, faster than half a turn a window, with jitter of two degrees about another.
    #[test]
    fn joints_lose_their_jitter_and_keep_their_turning() {
        let jitter = |i: usize| 2.0_f64.to_radians() * (1.7 * i as f64).sin();
        let turn = |i: usize| DQuat::from_rotation_y(0.2 * i as f64);
        let pose = |i: usize| Transform {
            rotation: (turn(i) * DQuat::from_rotation_x(jitter(i))).as_quat(),
            translation: glam::Vec3::new(0.1 * i as f32, 1.0, 0.0),
            ..Transform::IDENTITY
        };
        let frames = (0..60).map(|i| Frame { points: Vec::new(), pose: vec![pose(i)] }).collect();
        let joint = clip::Joint { name: "root".into(), parent: None, rest: Transform::IDENTITY };
        let skeleton = clip::Skeleton { joints: vec![joint] };
        let clip = Clip::new("take", 30.0, Vec::new(), Some(skeleton), Arc::new(MemoryFrames::new(frames)));
        let target = Target { clip, mesh: 0, files: clip::Files::default() };
        let mut simulation = Smooth { window: 0.1, group: None }.prepare(&target).unwrap();
        for i in 0..60 {
            let joint = simulation.frame(i).unwrap().frame.pose[0];
            let off = joint.rotation.as_dquat().angle_between(turn(i)).to_degrees();
            // at the ends there is less to average over
            let bound = if (9..51).contains(&i) { 0.1 } else { 2.1 };
            assert!(off < bound, "frame {i}: {off} degrees");
            assert!((joint.translation.x - 0.1 * i as f32).abs() < 1e-5);
        }
    }

    #[test]
    fn unknown_groups_are_remarked() {
        let mut target = path(2, |t| t);
        target.clip.meshes[0].set_group("hoist", vec![1.0, 0.0]);
        let diagnostics = Smooth { window: 0.1, group: Some("hoits".into()) }.check(&target);
        assert_eq!(diagnostics[0].message(), "there is no vertex group `hoits`");
        assert_eq!(diagnostics[0].remedy(), Some("did you mean `hoist`?"));
    }
}
