//! Rigid bones: one that goes with a neighbourhood, and all of them fitted again when weights have changed.
//!
//! Of a frame and a bone j, with all others as they are, q_i = w_i B_j x_i − r_i is what the bone has to give to point i, r_i what the point is off by.
//! The B = (R, T) of least Σ_i ‖w_i (R x_i + T) − q_i‖² is, with means x̄ = Σ w²x/Σ w² and q̄ = Σ w q/Σ w²,
//!
//! R = the rotation nearest to Σ_i w_i (q_i − w_i q̄)(x_i − x̄)ᵀ,  T = q̄ − R x̄.
//!
//! Le and Deng 2012, eq. 8. Differs: points count more or less, as the caller says, and a trace of the rotation that was there is added to the sum, so that a bone whose points lie on a line
//! keeps its turn about it.

use geometry::{Mat3, Vec3, nearest_rotation, rigid_motion};
use glam::DAffine3;

use super::{Decomposition, Motion};

/// Of so many points at least a bone is made.
const FEWEST: usize = 4;

impl Motion {
    /// A bone around one of the points that are furthest off: the one whose neighbours stay together best. Between two bones that are both
    /// missing nothing is rigid, and a bone put there would be neither.
    pub(super) fn most_rigid(&self, errors: &[f64], at_most: usize) -> Vec<DAffine3> {
        let (first, worst) = super::largest(errors);
        let mut far: Vec<usize> = (0..errors.len()).filter(|&point| errors[point] > 0.5 * worst).collect();
        far.sort_by(|&a, &b| errors[b].total_cmp(&errors[a]).then(a.cmp(&b)));
        let apart = far.len().div_ceil(super::TRIED).max(1);
        let tried = far.into_iter().step_by(apart).map(|seed| self.seeded(seed, at_most));
        let best = tried.min_by(|a, b| a.0.total_cmp(&b.0));
        best.unwrap_or_else(|| self.seeded(first, at_most)).1
    }

    /// A bone that goes with the points around one, those left out that go with others; and how far off it is from those, squared and summed.
    pub(super) fn seeded(&self, seed: usize, at_most: usize) -> (f64, Vec<DAffine3>) {
        let count = self.point_count();
        // a dozen, but of a mesh of few points about half: all together they go like none of them
        let least = 12.min(count.div_ceil(2).max(FEWEST)).min(count);
        let size = (count / (8 * at_most.max(1))).clamp(least, count);
        let at = self.before[0][seed];
        let mut near: Vec<usize> = (0..count).collect();
        let distance = |&point: &usize| self.before[0][point].distance_squared(at);
        near.sort_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.cmp(b)));
        near.truncate(size);
        let mut bone = self.carried(&near);
        for _ in 0..2 {
            let mut ranked: Vec<(f64, usize)> =
                near.iter().map(|&point| (self.alone(&bone, point), point)).collect();
            ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            ranked.truncate((2 * near.len()).div_ceil(3).max(FEWEST));
            near = ranked.into_iter().map(|(_, point)| point).collect();
            bone = self.carried(&near);
        }
        (near.iter().map(|&point| self.alone(&bone, point)).sum(), bone)
    }

    /// How far off a point would be that hung on one bone alone, squared and summed over frames.
    pub(super) fn alone(&self, bone: &[DAffine3], point: usize) -> f64 {
        let off = |frame: usize| {
            let reached = bone[frame].transform_point3(self.before(frame, point));
            reached.distance_squared(self.shown(frame, point))
        };
        (0..self.frame_count()).map(off).sum()
    }

    /// The rigid motion that goes best with some points.
    fn carried(&self, points: &[usize]) -> Vec<DAffine3> {
        let of = |frame: usize| {
            let from: Vec<Vec3> = points.iter().map(|&point| self.before(frame, point)).collect();
            let to: Vec<Vec3> = points.iter().map(|&point| self.shown(frame, point)).collect();
            let (rotation, translation) = rigid_motion(&from, &to);
            DAffine3::from_mat3_translation(rotation, translation)
        };
        (0..self.frame_count()).map(of).collect()
    }

    /// Fits every bone that was not given anew, one after the other.
    pub(super) fn fit_bones(&self, found: &mut Decomposition, emphasis: &[f64]) {
        let given = self.given.len();
        let mut hanging: Vec<Vec<(usize, f64)>> = vec![Vec::new(); found.bones.len()];
        for (point, influences) in found.influences.iter().enumerate() {
            influences.iter().for_each(|&(bone, weight)| hanging[bone as usize].push((point, weight)));
        }
        for frame in 0..self.frame_count() {
            let mut off: Vec<Vec3> =
                (0..self.point_count()).map(|point| self.residual(found, frame, point)).collect();
            for bone in given..found.bones.len() {
                let old = found.bones[bone][frame];
                let Some(new) = self.fitted(&old, frame, &hanging[bone], &off, emphasis) else { continue };
                for &(point, weight) in &hanging[bone] {
                    let x = self.before(frame, point);
                    off[point] += weight * (new.transform_point3(x) - old.transform_point3(x));
                }
                found.bones[bone][frame] = new;
            }
        }
    }

    /// A bone in a frame, with all others as they are; `None` when nothing hangs on it.
    fn fitted(
        &self,
        old: &DAffine3,
        frame: usize,
        hanging: &[(usize, f64)],
        off: &[Vec3],
        emphasis: &[f64],
    ) -> Option<DAffine3> {
        let wanted = |point: usize, weight: f64| {
            let x = self.before(frame, point);
            (x, weight * old.transform_point3(x) - off[point])
        };
        let (mut mass, mut x_mean, mut q_mean) = (0.0, Vec3::ZERO, Vec3::ZERO);
        for &(point, weight) in hanging {
            let (x, q) = wanted(point, weight);
            let counts = emphasis[point];
            mass += counts * weight * weight;
            x_mean += counts * weight * weight * x;
            q_mean += counts * weight * q;
        }
        if mass < 1e-9 {
            return None;
        }
        (x_mean, q_mean) = (x_mean / mass, q_mean / mass);
        let (mut sum, mut spread) = (Mat3::ZERO, 0.0);
        for &(point, weight) in hanging {
            let (x, q) = wanted(point, weight);
            let (x, q) = (x - x_mean, emphasis[point] * weight * (q - weight * q_mean));
            sum += Mat3::from_cols(q * x.x, q * x.y, q * x.z);
            spread += emphasis[point] * weight * weight * x.length_squared();
        }
        let rotation = nearest_rotation(&(sum + old.matrix3 * (1e-9 * spread + 1e-30)));
        Some(DAffine3::from_mat3_translation(rotation, q_mean - rotation * x_mean))
    }
}
