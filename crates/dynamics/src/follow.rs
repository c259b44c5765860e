//! Soft attachment to the guide: points that are drawn towards the animation without being nailed to it.

use std::sync::Arc;

use geometry::{Mat3, Vec3};
use linear::{Matrix, Pattern};

use crate::{Energy, Force, GuideSample};

/// Springs from points to their guide positions.
///
/// E = Σ ½ kᵢ ‖xᵢ − gᵢ(t)‖², kᵢ in N/m; see [`follow_stiffness`]. enrich §6.1, integrated implicitly, hence stable for
/// any k.
#[derive(Clone, Debug)]
pub struct Follow {
    springs: Arc<[(u32, f64)]>,
    slots: Vec<usize>,
}

/// Dampers between points and the guide: f = −cᵢ (vᵢ − ġᵢ(t)), cᵢ in N·s/m.
#[derive(Clone, Debug)]
pub struct FollowDamping {
    dampers: Arc<[(u32, f64)]>,
    slots: Vec<usize>,
}

/// Stiffness for a point of `mass` that follows with `weight` in [0, 1).
///
/// k = m (2πf)² · w/(1−w): at weight ½ a lone point swings about the guide with frequency f; towards 1 it becomes as good
/// as nailed; at 0 it is free. In terms of frequency the dial keeps its meaning when the mesh is refined.
pub fn follow_stiffness(mass: f64, weight: f64, frequency_hz: f64) -> f64 {
    let omega = std::f64::consts::TAU * frequency_hz;
    mass * omega * omega * weight / (1.0 - weight)
}

impl Follow {
    /// Pairs of a point and its stiffness.
    pub fn new(springs: impl IntoIterator<Item = (u32, f64)>) -> Self {
        Self { springs: springs.into_iter().collect(), slots: Vec::new() }
    }
}

impl FollowDamping {
    /// Pairs of a point and its damping coefficient.
    pub fn new(dampers: impl IntoIterator<Item = (u32, f64)>) -> Self {
        Self { dampers: dampers.into_iter().collect(), slots: Vec::new() }
    }
}

fn diagonal_slots(pairs: &[(u32, f64)], pattern: &Pattern) -> Vec<usize> {
    pairs.iter().map(|&(p, _)| pattern.slot(p, p).expect("every diagonal is in the pattern")).collect()
}

fn add_to_diagonal(pairs: &[(u32, f64)], slots: &[usize], scale: f64, matrix: &mut Matrix) {
    for (&(_, k), &slot) in pairs.iter().zip(slots) {
        matrix.values_mut()[slot] += Mat3::from_diagonal(Vec3::splat(scale * k));
    }
}

impl Energy for Follow {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.springs.iter().for_each(|&(p, _)| visit(&[p]));
    }

    fn shift(&mut self, first: u32) {
        self.springs = self.springs.iter().map(|&(p, k)| (p + first, k)).collect();
    }

    fn bind(&mut self, pattern: &Pattern) {
        self.slots = diagonal_slots(&self.springs, pattern);
    }

    fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        let of = |&(p, k): &(u32, f64)| {
            0.5 * k * x[p as usize].distance_squared(sample.guide_positions[p as usize])
        };
        self.springs.iter().map(of).sum()
    }

    fn add_gradient(&self, sample: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]) {
        for &(p, k) in self.springs.iter() {
            gradient[p as usize] += k * (x[p as usize] - sample.guide_positions[p as usize]);
        }
    }

    fn add_hessian(&self, _: &GuideSample, _: &[Vec3], _: &[Vec3], matrix: &mut Matrix) {
        add_to_diagonal(&self.springs, &self.slots, 1.0, matrix);
    }
}

impl Force for FollowDamping {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.dampers.iter().for_each(|&(p, _)| visit(&[p]));
    }

    fn shift(&mut self, first: u32) {
        self.dampers = self.dampers.iter().map(|&(p, k)| (p + first, k)).collect();
    }

    fn bind(&mut self, pattern: &Pattern) {
        self.slots = diagonal_slots(&self.dampers, pattern);
    }

    fn add_force(&self, sample: &GuideSample, _: &[Vec3], v: &[Vec3], force: &mut [Vec3]) {
        for &(p, c) in self.dampers.iter() {
            force[p as usize] += c * (sample.guide_velocities[p as usize] - v[p as usize]);
        }
    }

    fn add_damping(&self, _: &GuideSample, _: &[Vec3], _: &[Vec3], scale: f64, matrix: &mut Matrix) {
        add_to_diagonal(&self.dampers, &self.slots, scale, matrix);
    }
}
