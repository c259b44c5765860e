//! Friction cones, held by an interior-point method.
//!
//! A contact force f may push and not pull, and its tangential part is at most μ times its normal part:
//! ψ(f) = μ² f_n² − ‖f_t‖² ≥ 0, f_n ≥ 0. The barrier −log ψ is convex, smooth inside, and infinite at the cone.
//!
//! Paper eq. 2 writes f = B e^λ, positive weights of a cone's edges. Differs: e^λ has no slope where a foot lifts (λ → −∞), and a
//! pyramid is not the cone.

use geometry::{Mat3, Vec3};

use crate::spatial::outer;

/// A cone about a normal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cone {
    /// Of length 1.
    pub normal: Vec3,
    /// Coefficient of friction.
    pub friction: f64,
}

impl Cone {
    /// ψ(f): positive inside; −∞ for a force that pulls.
    pub fn slack(&self, force: Vec3) -> f64 {
        let along = force.dot(self.normal);
        if along <= 0.0 {
            return f64::NEG_INFINITY;
        }
        (self.friction * along).powi(2) - (force - self.normal * along).length_squared()
    }

    /// −log ψ, its gradient and its Hessian, inside.
    pub fn barrier(&self, force: Vec3) -> (f64, Vec3, Mat3) {
        // ψ = fᵀ A f, A = (μ² + 1) n nᵀ − 1
        let a = outer(self.normal, self.normal) * (self.friction.powi(2) + 1.0) - Mat3::IDENTITY;
        let slope = a * force * 2.0;
        let slack = self.slack(force);
        let gradient = slope * (-1.0 / slack);
        (-slack.ln(), gradient, a * (-2.0 / slack) + outer(slope, slope) * (1.0 / (slack * slack)))
    }

    /// The largest step along a direction, 1 at most, that leaves a share of the slack.
    pub fn step(&self, force: Vec3, direction: Vec3) -> f64 {
        const SHARE: f64 = 0.01;
        let (slack, mut step) = (self.slack(force), 1.0);
        for _ in 0..60 {
            if self.slack(force + direction * step) >= SHARE * slack {
                return step;
            }
            step *= 0.7;
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_barrier_agrees_with_differences_and_is_convex() {
        let cone = Cone { normal: Vec3::new(0.1, 0.9, -0.2).normalize(), friction: 0.7 };
        let force = cone.normal * 2.0 + Vec3::new(0.5, 0.0, -0.4);
        let (_, gradient, hessian) = cone.barrier(force);
        let h = 1e-5;
        for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
            let (plus, minus) = (cone.barrier(force + axis * h), cone.barrier(force - axis * h));
            assert!(((plus.0 - minus.0) / (2.0 * h) - gradient.dot(axis)).abs() < 1e-8);
            assert!(((plus.1 - minus.1) / (2.0 * h) - hessian * axis).length() < 1e-7);
        }
        assert!(hessian.determinant() > 0.0 && hessian.col(0).x > 0.0);
        assert!(hessian.col(0).x * hessian.col(1).y - hessian.col(1).x * hessian.col(0).y > 0.0);
    }

    #[test]
    fn steps_end_inside() {
        let cone = Cone { normal: Vec3::Y, friction: 0.5 };
        let (force, direction) = (Vec3::new(0.0, 1.0, 0.0), Vec3::new(3.0, -2.0, 0.0));
        let step = cone.step(force, direction);
        assert!(step > 0.0 && cone.slack(force + direction * step) > 0.0);
        assert!(cone.slack(-force) < 0.0);
    }
}
