//! Dry friction of one pair in contact, with memory of where it sticks.

use dynamics::{Block, Element};
use geometry::{Mat3, Vec3};

use crate::Pair;
use crate::distance::outer;

/// Coulomb friction, lagged and capped.
///
/// E = ½k‖u‖² while k‖u‖ ≤ μN, and μN(‖u‖ − μN/2k) beyond;  u = (I − nnᵀ)(Σ wᵢxᵢ − a).
///
/// u is the slip of the two contact points, given by weights w, from the anchor a, sideways to the normal n; N the
/// normal force of the last solve. All of these are frozen during a step, which makes E convex: Hessian kP while it
/// sticks, (μN/‖u‖)(P − ûûᵀ) while it slides, both positive semidefinite and exact.
///
/// A sticking pair keeps weights and anchor from step to step, so that on a slope it rests a fixed μN/k from its anchor
/// and does not creep; a sliding one drags its anchor along ([`Friction::anchor_after`]). Sum of weights: zero, hence
/// total momentum is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Friction {
    /// w: Σ wᵢ xᵢ leads from one contact point to the other ([`crate::Closest::weights`]).
    pub weights: [f64; 4],
    /// n, a unit vector.
    pub normal: Vec3,
    /// a: what Σ wᵢ xᵢ was, sideways, where it stuck.
    pub anchor: Vec3,
    /// μN, in newtons.
    pub limit: f64,
    /// k, in N/m: how stiffly it sticks.
    pub stiffness: f64,
}

/// A pair with friction from the stage before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FrictionContact {
    pub(crate) pair: Pair,
    pub(crate) friction: Friction,
}

/// How much stiffer than the body's own local stiffness a sticking pair is: what a fold gives way before it slips is then a
/// fraction of a millimetre.
pub(crate) const STICK_STIFFNESS_RATIO: f64 = 10.0;

impl Friction {
    /// u.
    pub fn slip(&self, x: &[Vec3; 4]) -> Vec3 {
        let w = &self.weights;
        // differences first, as for distances
        let d = w[1] * (x[1] - x[0]) + w[2] * (x[2] - x[0]) + w[3] * (x[3] - x[0]) - self.anchor;
        d - self.normal * self.normal.dot(d)
    }

    /// Whether the cap is reached.
    pub fn is_sliding(&self, x: &[Vec3; 4]) -> bool {
        self.stiffness * self.slip(x).length() > self.limit
    }

    /// The anchor for the next step: the same while it sticks, dragged along behind the slip while it slides.
    #[must_use]
    pub fn anchor_after(&self, x: &[Vec3; 4]) -> Vec3 {
        let slip = self.slip(x);
        let length = slip.length();
        if self.stiffness * length > self.limit {
            self.anchor + slip * (1.0 - self.limit / (self.stiffness * length))
        } else {
            self.anchor
        }
    }

    fn sideways(&self) -> Mat3 {
        Mat3::IDENTITY - outer(self.normal, self.normal)
    }
}

impl Element<4> for Friction {
    fn value(&self, x: &[Vec3; 4]) -> f64 {
        let slip = self.slip(x).length();
        if self.stiffness * slip > self.limit {
            self.limit * (slip - 0.5 * self.limit / self.stiffness)
        } else {
            0.5 * self.stiffness * slip * slip
        }
    }

    fn gradient(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        let slip = self.slip(x);
        let length = slip.length();
        let pull = if self.stiffness * length > self.limit { self.limit / length } else { self.stiffness };
        self.weights.map(|w| w * pull * slip)
    }

    fn hessian(&self, x: &[Vec3; 4]) -> Block<4> {
        let slip = self.slip(x);
        let length = slip.length();
        let local = if self.stiffness * length > self.limit {
            let along = slip / length;
            (self.sideways() - outer(along, along)) * (self.limit / length)
        } else {
            self.sideways() * self.stiffness
        };
        let w = &self.weights;
        Block(std::array::from_fn(|i| std::array::from_fn(|j| local * (w[i] * w[j]))))
    }

    /// (μN/‖u‖)P also along the slip. The exact Hessian is flat there: Newton's method then jumps between sticking and sliding for
    /// ever, while this one, which bounds E from above, goes downhill with every full step.
    fn projected_hessian(&self, x: &[Vec3; 4]) -> Block<4> {
        let length = self.slip(x).length();
        let pull = if self.stiffness * length > self.limit { self.limit / length } else { self.stiffness };
        let local = self.sideways() * pull;
        let w = &self.weights;
        Block(std::array::from_fn(|i| std::array::from_fn(|j| local * (w[i] * w[j]))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dynamics::check_derivatives;
    use geometry::Random;

    fn friction() -> Friction {
        Friction {
            weights: [1.0, -0.2, -0.3, -0.5],
            normal: Vec3::new(0.6, 0.8, 0.0),
            anchor: Vec3::new(0.1, 0.0, -0.2),
            limit: 2.0,
            stiffness: 4.0,
        }
    }

    #[test]
    fn derivatives_hold_sticking_and_sliding() {
        let mut random = Random::new(31);
        let mut seen = [0, 0];
        for round in 0..60 {
            let size = if round % 2 == 0 { 0.3 } else { 1.5 };
            let x: [Vec3; 4] = std::array::from_fn(|_| size * random.vec3());
            let slip = friction().slip(&x).length();
            if (slip - 0.5).abs() < 1e-2 {
                continue; // the corner between the branches
            }
            check_derivatives(&friction(), &x);
            seen[usize::from(friction().is_sliding(&x))] += 1;
        }
        assert!(seen[0] > 10 && seen[1] > 10, "{seen:?}");
    }

    #[test]
    fn force_is_capped_and_the_anchor_follows() {
        let friction = friction();
        let mut x = [Vec3::ZERO; 4];
        x[0] = friction.anchor + 10.0 * Vec3::Z;
        let force = -friction.gradient(&x)[0];
        assert!((force - -2.0 * Vec3::Z).length() < 1e-12, "μN against the slip, not more");
        let dragged = Friction { anchor: friction.anchor_after(&x), ..friction };
        assert!((dragged.slip(&x).length() - 0.5).abs() < 1e-12, "held at the cap");
        assert!((dragged.gradient(&x)[0] + force).length() < 1e-12, "the force does not jump");
        x[0] = friction.anchor + 0.3 * Vec3::Z + 7.0 * friction.normal;
        assert_eq!(friction.anchor_after(&x), friction.anchor, "sticking, however far apart along n");
    }

    /// Along the slip as stiff as across: μN/‖u‖ of what lies in the plane of contact, so that a Newton step never overshoots.
    #[test]
    fn the_projection_bounds_the_energy_from_above() {
        let friction = friction();
        let mut random = Random::new(32);
        for round in 0..40 {
            let size = if round % 2 == 0 { 0.2 } else { 2.0 };
            let x: [Vec3; 4] = std::array::from_fn(|_| size * random.vec3());
            let block = friction.projected_hessian(&x);
            let pull = friction.stiffness.min(friction.limit / friction.slip(&x).length());
            for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
                let share = pull * friction.weights[i] * friction.weights[j];
                for v in [Vec3::Z, Vec3::new(0.8, -0.6, 0.0)] {
                    assert!((block.0[i][j] * v).distance(share * v) < 1e-13, "in the plane");
                }
                assert!((block.0[i][j] * friction.normal).length() < 1e-13, "across");
            }
            let mut above = block;
            above += friction.hessian(&x) * -1.0;
            assert!(above.min_eigenvalue() > -1e-12);
            // E(x + d) ≤ E(x) + ∇E·d + ½ dᵀHd
            let d: [Vec3; 4] = std::array::from_fn(|_| 0.5 * random.vec3());
            let there = std::array::from_fn(|i| x[i] + d[i]);
            let (gradient, bent) = (friction.gradient(&x), block.multiply(&d));
            let model: f64 = (0..4).map(|i| d[i].dot(gradient[i] + 0.5 * bent[i])).sum();
            assert!(friction.value(&there) <= friction.value(&x) + model + 1e-12, "{round}");
        }
    }
}
