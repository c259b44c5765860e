//! Gravity that differs from point to point.

use dynamics::{Energy, GuideSample};
use geometry::Vec3;
use linear::{Matrix, Pattern};

/// E = −Σ m g·x over points with a gravity of their own.
#[derive(Clone, Debug)]
pub(crate) struct PointGravity {
    /// In newtons.
    forces: Vec<(u32, Vec3)>,
}

impl PointGravity {
    pub(crate) fn new(masses: &[f64], known: &[bool], gravity: &[Vec3]) -> Self {
        let acts = |p: &usize| !known[*p] && gravity[*p] != Vec3::ZERO;
        let force = |p: usize| (p as u32, masses[p] * gravity[p]);
        Self { forces: (0..masses.len()).filter(acts).map(force).collect() }
    }
}

impl Energy for PointGravity {
    fn stencils(&self, _: &mut dyn FnMut(&[u32])) {}

    fn shift(&mut self, first: u32) {
        self.forces.iter_mut().for_each(|(p, _)| *p += first);
    }

    fn bind(&mut self, _: &Pattern) {}

    fn value(&self, _: &GuideSample, x: &[Vec3]) -> f64 {
        self.forces.iter().map(|(p, force)| -force.dot(x[*p as usize])).sum()
    }

    fn add_gradient(&self, _: &GuideSample, _: &[Vec3], gradient: &mut [Vec3]) {
        self.forces.iter().for_each(|(p, force)| gradient[*p as usize] -= *force);
    }

    fn add_hessian(&self, _: &GuideSample, _: &[Vec3], _: &[Vec3], _: &mut Matrix) {}
}
