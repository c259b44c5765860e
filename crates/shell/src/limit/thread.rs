//! Pieces of thread that keep their lengths, longer and shorter: what makes a cloth of quads inextensible.
//!
//! With Green strain g = (‖d‖²/l² − 1)/2 of a piece d, l its rest length, stretch and compression are limited alike, to e:
//!
//! ```text
//! E = ½ k l [max(0, g − e₀ + λ/k)² + max(0, −g − e₀ + λ′/k)²],   e₀ = e/2,  g between those of 1 − e and 1 + e.
//! ```
//!
//! Between the two, over half of what is permitted, a thread feels nothing, so that a row that is taut between two held points has a length at which
//! it can hang. The constraint is that of the head of `limit.rs`, with k and multipliers as there.
//!
//! inextensible 2007 §6 leaves this as "an elegant and exciting prospect": threads and contact in one solve.

use dynamics::{Block, Element, Limit, StageConstraint, StageStart};
use geometry::{Mat3, Vec3};

use super::constraint::{Channels, LimitConstraint, LimitedElement, StageLimits};
use super::{HEAVIER, STIFFER};
use crate::Threads;

/// The share of a limit from which it is felt.
const FELT_FROM: f64 = 0.5;
/// Below this limit k grows as the limit shrinks. The load stays as it is, so that with a constant k every digit would take more renewals of the
/// multipliers than a stage has: 0.016 % were left where 0.01 % was asked for.
const TIGHT: f64 = 1e-3;

/// One piece of thread at its limits.
#[derive(Clone, Copy, Debug)]
pub struct LimitedThread {
    /// l, in m.
    rest_length: f64,
    /// How much longer or shorter it may be, as a fraction.
    max_strain: f64,
    /// The tension per strain of the fabric around it, in N.
    own_stiffness: f64,
    /// Stretch, compression, nothing.
    channels: Channels,
}

/// The Green strains of being longer and of being shorter by a fraction, both positive.
fn green_of(fraction: f64) -> [f64; 3] {
    [fraction * (1.0 + 0.5 * fraction), fraction * (1.0 - 0.5 * fraction), f64::INFINITY]
}

impl LimitedThread {
    fn new(rest_length: f64, max_strain: f64, own_stiffness: f64) -> Self {
        let channels =
            Channels { threshold: green_of(FELT_FROM * max_strain), stiffness: [0.0; 3], shift: [0.0; 3] };
        Self { rest_length, max_strain, own_stiffness, channels }
    }

    fn green(&self, d: Vec3) -> f64 {
        0.5 * (d.length_squared() / (self.rest_length * self.rest_length) - 1.0)
    }

    /// Tension over length times l, in J, at this Green strain.
    fn stress(&self, green: f64) -> f64 {
        let [longer, shorter, _] = self.channels.beyond([green, -green, 0.0]);
        self.channels.stiffness[0] * longer - self.channels.stiffness[1] * shorter
    }

    /// k l (d dᵀ/l⁴) + σ I/l², with some stress in place of σ.
    fn hessian_with(&self, d: Vec3, stress: f64) -> Block<2> {
        let green = self.green(d);
        let [longer, shorter, _] = self.channels.beyond([green, -green, 0.0]);
        let active = |c: usize, beyond: f64| if beyond > 0.0 { self.channels.stiffness[c] } else { 0.0 };
        let stiffness = active(0, longer) + active(1, shorter);
        let inverse = self.rest_length.powi(-2);
        let outer = Mat3::from_cols(d * d.x, d * d.y, d * d.z) * (stiffness * inverse * inverse);
        let k = outer + Mat3::IDENTITY * (stress * inverse);
        Block([[k, -k], [-k, k]])
    }
}

impl Element<2> for LimitedThread {
    fn value(&self, x: &[Vec3; 2]) -> f64 {
        self.channels.value(self.strains(x))
    }

    fn gradient(&self, x: &[Vec3; 2]) -> [Vec3; 2] {
        let d = x[1] - x[0];
        let pull = self.stress(self.green(d)) * self.rest_length.powi(-2) * d;
        [-pull, pull]
    }

    fn hessian(&self, x: &[Vec3; 2]) -> Block<2> {
        let d = x[1] - x[0];
        self.hessian_with(d, self.stress(self.green(d)))
    }

    fn projected_hessian(&self, x: &[Vec3; 2]) -> Block<2> {
        self.newton_hessian(x, x)
    }

    fn newton_hessian(&self, x: &[Vec3; 2], previous: &[Vec3; 2]) -> Block<2> {
        // the tension that the step predicted, not that of the length which a straight step along a curve adds
        let (d, before) = (x[1] - x[0], previous[1] - previous[0]);
        let predicted = self.green(before) + before.dot(d - before) / (self.rest_length * self.rest_length);
        self.hessian_with(d, self.stress(predicted).max(0.0))
    }
}

impl LimitedElement<2> for LimitedThread {
    const ACTS_AT_ONCE: bool = true;
    const IS_KEPT_BEYOND: bool = true;

    fn channels(&self) -> &Channels {
        &self.channels
    }

    fn channels_mut(&mut self) -> &mut Channels {
        &mut self.channels
    }

    fn strains(&self, x: &[Vec3; 2]) -> [f64; 3] {
        let green = self.green(x[1] - x[0]);
        [green, -green, 0.0]
    }

    fn stage_limits(&self, ends: &[u32; 2], stage: &StageStart) -> StageLimits {
        let l = self.rest_length;
        let mass = ends.iter().map(|&point| stage.masses[point as usize]).sum::<f64>() / 2.0;
        let inertia = HEAVIER * mass / (stage.seconds * stage.seconds) * l * l;
        let k = (TIGHT / self.max_strain).max(1.0) * (STIFFER * self.own_stiffness * l + inertia);
        StageLimits {
            threshold: green_of(FELT_FROM * self.max_strain),
            limit: green_of(self.max_strain),
            stiffness: [k, k, 0.0],
            is_given: ends.iter().all(|&point| stage.known[point as usize]),
        }
    }
}

/// The threads of a cloth with their limits, for [`BodyBuilder::limit`](dynamics::BodyBuilder::limit). The body's own energies must couple the
/// ends of every piece, as the membranes of a cloth do.
#[derive(Clone, Debug)]
pub struct ThreadLimits {
    elements: Vec<([u32; 2], LimitedThread)>,
}

impl ThreadLimits {
    /// No piece may be longer or shorter than at rest by more than `max_strain`, a fraction. `stiffness` is that of the fabric, in N/m of width.
    pub fn new(threads: &Threads, max_strain: f64, stiffness: f64) -> Self {
        let width = threads.lengths().iter().sum::<f64>() / threads.len().max(1) as f64;
        let pieces = threads.edges().iter().zip(threads.lengths());
        let element = |(ends, length): (&[u32; 2], &f64)| {
            (*ends, LimitedThread::new(*length, max_strain, width * stiffness))
        };
        Self { elements: pieces.map(element).collect() }
    }
}

impl Limit for ThreadLimits {
    fn shift(&mut self, first: u32) {
        self.elements.iter_mut().flat_map(|(ends, _)| ends).for_each(|point| *point += first);
    }

    fn constraint(&self) -> Box<dyn StageConstraint> {
        Box::new(LimitConstraint::new(self.elements.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dynamics::check_derivatives;

    #[test]
    fn derivatives_hold_for_what_is_longer_and_for_what_is_shorter() {
        let turn = dynamics::random_rotation(5);
        let ends =
            |length: f64| [Vec3::new(0.2, 0.1, -0.3), Vec3::new(0.2, 0.1, -0.3) + turn * (length * Vec3::X)];
        for shift in [[0.0; 3], [0.003, 0.002, 0.0]] {
            let mut thread = LimitedThread::new(0.4, 0.01, 100.0);
            thread.channels.stiffness = [40.0, 30.0, 0.0];
            thread.channels.shift = shift;
            for length in [0.3, 0.39, 0.41, 0.6] {
                check_derivatives(&thread, &ends(length));
                assert!(thread.is_felt(&ends(length)), "{length}");
                assert!(thread.projected_hessian(&ends(length)).min_eigenvalue() > -1e-6);
            }
        }
        let mut thread = LimitedThread::new(0.4, 0.01, 100.0);
        thread.channels.stiffness = [40.0, 30.0, 0.0];
        for (length, is_felt) in [(0.4019, false), (0.4021, true), (0.3981, false), (0.3979, true)] {
            assert_eq!(thread.is_felt(&ends(length)), is_felt, "{length}");
        }
    }
}
