//! Pose space: what a pose is as a few numbers, and how far it is from another.
//!
//! Every joint that has a parent gives six numbers, the first two columns of its rotation against the parent, relative to rest (morph
//! §3.3); roots give none, so that a character that turns as a whole keeps its pose. Other channels, a morph weight, a speed, whether
//! something is touched, stand behind them. Distances are Euclidean. Principal components of the targets' poses are kept: what
//! no target tells apart does not count. Differs: the paper's six numbers are not said; two columns are smooth and have no seams.

use faer::Mat;
use geometry::Mat3;
use linear::{Error as LinearError, symmetric_eigen};

use crate::bytes::{Reader, Writer};

/// The numbers of a pose, before and after they are reduced.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseSpace {
    /// Joints with a parent, and the parent.
    joints: Vec<(usize, usize)>,
    channels: usize,
    mean: Vec<f64>,
    /// Principal directions, one after the other.
    axes: Vec<f64>,
}

/// Components with less than this part of the largest variance are round-off.
const NEGLIGIBLE: f64 = 1e-12;

impl PoseSpace {
    /// All numbers of the skeleton with these parents, nothing reduced, and `channels` more.
    pub fn new(parents: &[Option<usize>], channels: usize) -> Self {
        let joints: Vec<(usize, usize)> =
            parents.iter().enumerate().filter_map(|(joint, parent)| Some((joint, (*parent)?))).collect();
        let count = 6 * joints.len() + channels;
        Self { joints, channels, mean: vec![0.0; count], axes: Vec::new() }
    }

    /// How many numbers a pose has before it is reduced.
    pub fn raw_len(&self) -> usize {
        self.mean.len()
    }

    /// How many of them are no joint's.
    pub fn channel_count(&self) -> usize {
        self.channels
    }

    /// How many it has after.
    pub fn len(&self) -> usize {
        self.axes.len().checked_div(self.mean.len()).unwrap_or(0)
    }

    /// True where all targets are in one pose.
    pub fn is_empty(&self) -> bool {
        self.axes.is_empty()
    }

    /// All numbers of a pose: joints turned by `rotations` from rest, and further channels; those that are missing are 0.
    pub fn raw(&self, rotations: impl Fn(usize) -> Mat3, channels: &[f64], raw: &mut [f64]) {
        for (&(joint, parent), six) in self.joints.iter().zip(raw.chunks_exact_mut(6)) {
            let turn = rotations(parent).transpose() * rotations(joint);
            six[..3].copy_from_slice(&turn.x_axis.to_array());
            six[3..].copy_from_slice(&turn.y_axis.to_array());
        }
        let first = 6 * self.joints.len();
        for k in 0..self.channels {
            raw[first + k] = channels.get(k).copied().filter(|x| x.is_finite()).unwrap_or(0.0);
        }
    }

    /// Keeps the principal components of these poses.
    pub fn reduce(&mut self, poses: &[Vec<f64>]) -> Result<(), LinearError> {
        self.reduce_heeding(poses, |_| true)
    }

    /// Those of the numbers of some joints, and of all channels: what other joints do does not count.
    pub fn reduce_heeding(
        &mut self,
        poses: &[Vec<f64>],
        heeds: impl Fn(usize) -> bool,
    ) -> Result<(), LinearError> {
        let (count, length) = (poses.len(), self.mean.len());
        self.axes.clear();
        for (k, mean) in self.mean.iter_mut().enumerate() {
            *mean = poses.iter().map(|pose| pose[k]).sum::<f64>() / count.max(1) as f64;
        }
        let joints = &self.joints;
        let counts: Vec<bool> =
            (0..length).map(|k| joints.get(k / 6).is_none_or(|own| heeds(own.0))).collect();
        let from_mean = |i: usize, k: usize| if counts[k] { poses[i][k] - self.mean[k] } else { 0.0 };
        let gram = Mat::from_fn(count, count, |i, j| {
            (0..length).map(|k| from_mean(i, k) * from_mean(j, k)).sum::<f64>()
        });
        let (values, vectors) = symmetric_eigen(gram.as_ref())?;
        let largest = values.last().copied().unwrap_or(0.0);
        for i in (0..count).rev().filter(|&i| values[i] > NEGLIGIBLE * largest && values[i] > 1e-18) {
            let scale = 1.0 / values[i].sqrt();
            self.axes.extend((0..length).map(|k| {
                scale * (0..count).map(|pose| vectors[(pose, i)] * from_mean(pose, k)).sum::<f64>()
            }));
        }
        Ok(())
    }

    /// Which of `count` joints are not in the same way in all of these poses.
    pub(crate) fn moved(&self, count: usize, poses: &[Vec<f64>]) -> Vec<bool> {
        let mut moved = vec![false; count];
        for (k, &(joint, _)) in self.joints.iter().enumerate() {
            let differs = |pose: &Vec<f64>| {
                let first = &poses[0][6 * k..6 * k + 6];
                pose[6 * k..6 * k + 6].iter().zip(first).any(|(a, b)| (a - b).abs() > 1e-6)
            };
            moved[joint] = poses.iter().any(differs);
        }
        moved
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        out.list(&self.joints, |out, &(joint, parent)| {
            out.count(joint);
            out.count(parent);
        });
        out.count(self.channels);
        out.numbers(self.mean.iter().copied());
        out.count(self.len());
        out.numbers(self.axes.iter().copied());
    }

    /// The reverse, for a skeleton of so many joints.
    pub(crate) fn read(input: &mut Reader, joints: usize) -> Option<Self> {
        let joints = input.list(|input| Some((input.below(joints)?, input.below(joints)?)))?;
        let channels = input.count()?;
        let count = joints.len().checked_mul(6)?.checked_add(channels)?;
        let mean = input.many(count)?;
        let components = input.count()?;
        let axes = input.many(components.checked_mul(count)?)?;
        // without numbers there is nothing to tell poses apart by
        (count > 0 || components == 0).then_some(Self { joints, channels, mean, axes })
    }

    /// s: the components of a pose.
    pub fn components(&self, raw: &[f64], s: &mut [f64]) {
        for (axis, s) in self.axes.chunks_exact(self.mean.len().max(1)).zip(s) {
            *s = axis.iter().zip(raw).zip(&self.mean).map(|((a, x), mean)| a * (x - mean)).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pose(space: &PoseSpace, angles: [f64; 3], channel: f64) -> Vec<f64> {
        let mut world = Mat3::IDENTITY;
        let turns: Vec<Mat3> = angles
            .iter()
            .map(|angle| {
                world *= Mat3::from_rotation_z(*angle);
                world
            })
            .collect();
        let mut raw = vec![0.0; space.raw_len()];
        space.raw(|joint| turns[joint], &[channel], &mut raw);
        raw
    }

    #[test]
    fn components_keep_distances_between_targets_and_roots_do_not_count() {
        let mut space = PoseSpace::new(&[None, Some(0), Some(1)], 1);
        assert_eq!(space.raw_len(), 13);
        let targets = [
            pose(&space, [0.0; 3], 0.0),
            pose(&space, [0.4, 1.0, 0.0], 0.0),
            pose(&space, [0.0, 0.3, 0.5], 2.0),
        ];
        space.reduce(&targets).unwrap();
        assert_eq!(space.len(), 2);
        let components = |raw: &[f64]| {
            let mut s = vec![0.0; space.len()];
            space.components(raw, &mut s);
            s
        };
        let distance =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let s = distance(&components(&targets[i]), &components(&targets[j]));
            assert!((s - distance(&targets[i], &targets[j])).abs() < 1e-12);
        }
        // turned as a whole
        let turned = pose(&space, [2.0, 1.0, 0.0], 0.0);
        assert!(distance(&components(&turned), &components(&targets[1])) < 1e-12);
        // two columns of a turn by 1 rad about z: ‖·‖ = 2√2 sin ½
        let expected = 8.0_f64.sqrt() * 0.5_f64.sin();
        assert!((distance(&targets[0], &targets[1]) - expected).abs() < 1e-12);
        // one pose: nothing to tell apart
        space.reduce(&targets[..1]).unwrap();
        assert!(space.is_empty());
    }
}
