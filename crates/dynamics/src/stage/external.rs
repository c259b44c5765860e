//! Forces without potential over a stage: air, dampers.

use geometry::Vec3;
use linear::Matrix;

use super::Stage;
use crate::Body;

/// Forces without potential over a stage, linearised where the stage is expected to end:
/// f(x, v) ≈ f(x̂, v̂) − B (v − v̂), B = −df/dv.
///
/// The expectation is second-order accurate, and so is the force. Linear in v it has a potential, so that the line search sees
/// all of Φ, and it is evaluated once a stage instead of in every iteration.
pub(super) struct ExternalForces {
    /// None: no such forces.
    active: bool,
    force: Vec<Vec3>,
    velocity: Vec<Vec3>,
    damping: Matrix,
    relative: Vec<Vec3>,
    product: Vec<Vec3>,
}

impl ExternalForces {
    pub(super) fn new(body: &Body) -> Self {
        let zeros = vec![Vec3::ZERO; body.point_count()];
        Self {
            active: body.has_external_forces(),
            force: zeros.clone(),
            velocity: zeros.clone(),
            damping: Matrix::new(body.pattern().clone()),
            relative: zeros.clone(),
            product: zeros,
        }
    }

    pub(super) fn linearise(&mut self, body: &Body, stage: &Stage, guess: &[Vec3]) {
        if !self.active {
            return;
        }
        for (v, (x, p)) in self.velocity.iter_mut().zip(guess.iter().zip(stage.base)) {
            *v = (*x - *p) / stage.implicit_dt;
        }
        self.force.fill(Vec3::ZERO);
        body.add_external_force(&stage.sample, guess, &self.velocity, &mut self.force);
        self.damping.set_zero();
        body.add_external_damping(&stage.sample, guess, &self.velocity, 1.0, &mut self.damping);
    }

    /// product ← B (v − v̂)
    fn resist(&mut self, v: &[Vec3]) {
        for (r, (v, expected)) in self.relative.iter_mut().zip(v.iter().zip(&self.velocity)) {
            *r = *v - *expected;
        }
        self.damping.multiply(&self.relative, &mut self.product);
    }

    pub(super) fn add_force(&mut self, v: &[Vec3], force: &mut [Vec3]) {
        if self.active {
            self.resist(v);
            for (f, (external, resisted)) in force.iter_mut().zip(self.force.iter().zip(&self.product)) {
                *f += *external - *resisted;
            }
        }
    }

    /// matrix ← scale · B
    pub(super) fn overwrite(&self, scale: f64, matrix: &mut Matrix) {
        if !self.active {
            return matrix.set_zero();
        }
        for (a, b) in matrix.values_mut().iter_mut().zip(self.damping.values()) {
            *a = *b * scale;
        }
    }

    /// The potential of the linearised force: −s f·v + (s/2)(v − v̂)ᵀB(v − v̂), up to a constant.
    pub(super) fn work(&mut self, s: f64, v: &[Vec3]) -> f64 {
        if !self.active {
            return 0.0;
        }
        self.resist(v);
        let of = |i: usize| 0.5 * self.relative[i].dot(self.product[i]) - self.force[i].dot(v[i]);
        s * (0..v.len()).map(of).sum::<f64>()
    }
}
