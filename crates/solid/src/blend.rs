//! The implicit blending force: springs towards the fitted animation, with weights that may change over time.

mod kinematic;
mod known;
mod spread;

use std::sync::Arc;

use dynamics::{Energy, Force, GuideSample, follow_stiffness};
use geometry::{Mat3, Vec3};
use linear::{Matrix, Pattern};

pub use kinematic::KinematicBlend;
pub(crate) use known::{check_keys, known_points};
pub use spread::{Spread, from_surface, spread};

/// Weights in [0, 1] at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightKey {
    /// Seconds since the first frame.
    pub time: f64,
    /// One for each point or vertex.
    pub weights: Vec<f64>,
}

/// The weight of an index at a time, smooth between keys, constant before the first and after the last.
pub(crate) fn weight_at(keys: &[WeightKey], index: usize, time: f64) -> f64 {
    let after = keys.partition_point(|key| key.time <= time);
    let Some(next) = keys.get(after) else { return keys.last().map_or(0.0, |key| key.weights[index]) };
    let Some(before) = after.checked_sub(1).map(|b| &keys[b]) else { return next.weights[index] };
    let s = (time - before.time) / (next.time - before.time);
    let s = s * s * (3.0 - 2.0 * s);
    before.weights[index] + s * (next.weights[index] - before.weights[index])
}

/// f = W(ū − u) with W from weights by [`follow_stiffness`]. enrich eq. 11, integrated implicitly and hence stable for any weight.
///
/// Differs: the map from [0, 1] to [0, ∞) is m(2πf)² w/(1−w), so that the dial is a frequency and keeps its meaning on every
/// mesh; the force comes with damping, so that following does not ring.
#[derive(Clone)]
pub(crate) struct Blend {
    points: Arc<[(u32, f64)]>,
    keys: Arc<[WeightKey]>,
    frequency_hz: f64,
    slots: Vec<usize>,
    /// The first of the points that have weights.
    first: u32,
}

/// The damping that belongs to [`Blend`].
#[derive(Clone)]
pub(crate) struct BlendDamping {
    blend: Blend,
    ratio: f64,
}

/// Weights above are as good as nailed; the stiffness stays finite.
const LARGEST_WEIGHT: f64 = 0.9999;

impl Blend {
    /// `masses` in kg; points with a weight at any time and no fixed place take part.
    pub(crate) fn new(masses: &[f64], known: &[bool], keys: Vec<WeightKey>, frequency_hz: f64) -> Self {
        let weighs = |p: &usize| !known[*p] && keys.iter().any(|key| key.weights[*p] > 0.0);
        let points = (0..masses.len()).filter(weighs).map(|p| (p as u32, masses[p])).collect();
        Self { points, keys: keys.into(), frequency_hz, slots: Vec::new(), first: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    pub(crate) fn damping(&self, ratio: f64) -> BlendDamping {
        BlendDamping { blend: self.clone(), ratio }
    }

    fn stiffness(&self, time: f64) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.points.iter().map(move |&(p, mass)| {
            let weight = weight_at(&self.keys, (p - self.first) as usize, time).clamp(0.0, LARGEST_WEIGHT);
            (p as usize, follow_stiffness(mass, weight, self.frequency_hz))
        })
    }

    fn bind_slots(&mut self, pattern: &Pattern) {
        let diagonal = |&(p, _): &(u32, f64)| pattern.slot(p, p).expect("every diagonal is in the pattern");
        self.slots = self.points.iter().map(diagonal).collect();
    }

    fn shift_points(&mut self, first: u32) {
        self.points = self.points.iter().map(|&(p, mass)| (p + first, mass)).collect();
        self.first += first;
    }

    fn visit(&self, visit: &mut dyn FnMut(&[u32])) {
        self.points.iter().for_each(|&(p, _)| visit(&[p]));
    }
}

impl BlendDamping {
    fn coefficients(&self, time: f64) -> impl Iterator<Item = (usize, f64)> + '_ {
        let masses = self.blend.points.iter().map(|&(_, mass)| mass);
        self.blend.stiffness(time).zip(masses).map(|((p, k), mass)| (p, 2.0 * self.ratio * (k * mass).sqrt()))
    }
}

impl Energy for Blend {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.visit(visit);
    }

    fn shift(&mut self, first: u32) {
        self.shift_points(first);
    }

    fn bind(&mut self, pattern: &Pattern) {
        self.bind_slots(pattern);
    }

    fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        let of = |(p, k): (usize, f64)| 0.5 * k * x[p].distance_squared(sample.guide_positions[p]);
        self.stiffness(sample.time).map(of).sum()
    }

    fn add_gradient(&self, sample: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]) {
        for (p, k) in self.stiffness(sample.time) {
            gradient[p] += k * (x[p] - sample.guide_positions[p]);
        }
    }

    fn add_hessian(&self, sample: &GuideSample, _: &[Vec3], _: &[Vec3], matrix: &mut Matrix) {
        for ((_, k), &slot) in self.stiffness(sample.time).zip(&self.slots) {
            matrix.values_mut()[slot] += Mat3::IDENTITY * k;
        }
    }
}

impl Force for BlendDamping {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.blend.visit(visit);
    }

    fn shift(&mut self, first: u32) {
        self.blend.shift_points(first);
    }

    fn bind(&mut self, pattern: &Pattern) {
        self.blend.bind_slots(pattern);
    }

    fn add_force(&self, sample: &GuideSample, _: &[Vec3], v: &[Vec3], force: &mut [Vec3]) {
        for (p, c) in self.coefficients(sample.time) {
            force[p] += c * (sample.guide_velocities[p] - v[p]);
        }
    }

    fn add_damping(&self, sample: &GuideSample, _: &[Vec3], _: &[Vec3], scale: f64, matrix: &mut Matrix) {
        for ((_, c), &slot) in self.coefficients(sample.time).zip(&self.blend.slots) {
            matrix.values_mut()[slot] += Mat3::IDENTITY * (scale * c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_go_smoothly_from_key_to_key() {
        let key = |time, weight| WeightKey { time, weights: vec![weight] };
        let keys = [key(1.0, 1.0), key(2.0, 0.0)];
        let at = |time| weight_at(&keys, 0, time);
        assert_eq!((at(0.0), at(1.0), at(1.5), at(2.0), at(9.0)), (1.0, 1.0, 0.5, 0.0, 0.0));
        assert!(at(1.01) > 0.999, "no jerk at a key");
        // 3s² − 2s³ at s = ¼, whatever the time between the keys
        let slow = [key(1.0, 0.0), key(5.0, 1.0)];
        assert_eq!(weight_at(&slow, 0, 2.0), 0.15625);
    }
}
