//! A spring between two points.

use geometry::{Mat3, Vec3};

use crate::{Block, Element, Viscous};

/// A straight spring.
///
/// E = ½ k (‖x₁ − x₀‖ − l)², k in N/m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// k, in N/m.
    pub stiffness: f64,
    /// l, in metres.
    pub rest_length: f64,
}

impl Spring {
    /// Length and direction; a collapsed spring has no direction and pushes nowhere.
    fn along(x: &[Vec3; 2]) -> (f64, Vec3) {
        let d = x[1] - x[0];
        (d.length(), d.normalize_or_zero())
    }

    fn hessian_with(&self, x: &[Vec3; 2], tension_over_length: f64) -> Block<2> {
        let (_, n) = Self::along(x);
        let nn = Mat3::from_cols(n * n.x, n * n.y, n * n.z);
        let k = nn * self.stiffness + (Mat3::IDENTITY - nn) * tension_over_length;
        Block([[k, -k], [-k, k]])
    }

    fn tension_over_length(&self, x: &[Vec3; 2]) -> f64 {
        let (length, _) = Self::along(x);
        if length > 0.0 { self.stiffness * (length - self.rest_length) / length } else { 0.0 }
    }
}

impl Element<2> for Spring {
    fn value(&self, x: &[Vec3; 2]) -> f64 {
        let (length, _) = Self::along(x);
        0.5 * self.stiffness * (length - self.rest_length).powi(2)
    }

    fn gradient(&self, x: &[Vec3; 2]) -> [Vec3; 2] {
        let (length, n) = Self::along(x);
        let pull = self.stiffness * (length - self.rest_length) * n;
        [-pull, pull]
    }

    fn hessian(&self, x: &[Vec3; 2]) -> Block<2> {
        self.hessian_with(x, self.tension_over_length(x))
    }

    fn projected_hessian(&self, x: &[Vec3; 2]) -> Block<2> {
        // only a compressed spring is unstable sideways
        self.hessian_with(x, self.tension_over_length(x).max(0.0))
    }
}

/// The strain is the length.
impl Viscous<2> for Spring {
    fn with_viscosity(&self, eta: f64, history: &[(f64, [Vec3; 2])]) -> Self {
        let past_length: f64 = history.iter().map(|(weight, x)| weight * Self::along(x).0).sum();
        Self {
            stiffness: (1.0 + eta) * self.stiffness,
            rest_length: (self.rest_length + eta * past_length) / (1.0 + eta),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check_element, check_viscosity};

    #[test]
    fn is_an_element() {
        let spring = Spring { stiffness: 30.0, rest_length: 5.0_f64.sqrt() };
        let rest = [Vec3::ZERO, Vec3::new(1.0, 0.0, 2.0)];
        check_element(&spring, &rest);
        check_viscosity(&spring, &rest);
    }

    #[test]
    fn a_collapsed_spring_stays_finite() {
        let spring = Spring { stiffness: 1.0, rest_length: 1.0 };
        assert_eq!(spring.gradient(&[Vec3::ONE; 2]), [Vec3::ZERO; 2]);
        assert!(spring.hessian(&[Vec3::ONE; 2]).max_abs().is_finite());
    }
}
