//! Threads inside the implicit step, as stiff as they have to be: inextensibility and contact at the same time.
//!
//! A projection after the step and contact in it cannot both have the last word. Here threads are elements of the body, solved
//! for together with everything else, contact included. They begin without stiffness of their own (the membranes carry what
//! they can); a step that leaves a thread beyond its tolerance is refused and taken again with that thread hardened. So the
//! steps that are kept cross nothing *and* keep all threads within the tolerance. Threads that have long been within it
//! soften again.
//!
//! Beyond inextensible (2007), whose §6 calls this an exciting prospect.

use std::sync::{Arc, PoisonError, RwLock};

use dynamics::{Block, Body, Element, Elements, Energy, Filter, GuideSample, StageHistory, State};
use geometry::{Mat3, Vec3};
use linear::{Matrix, Pattern};

use super::Threads;

/// A refused step's worst threads become at least this many times stiffer.
const HARDEN: f64 = 2.0;
/// Steps shorter than this, in seconds, are not refused: a thread that is still lengthening at its limit needs time to be
/// stopped, and the shorter the step the less of it there is. It is beyond its tolerance by a hair then, and hardened.
const SHORTEST_STEP: f64 = 5e-4;

/// What is left of a thread's own stiffness after a step in which it was well within its tolerance.
const SOFTEN: f64 = 0.8;

/// A piece of thread that resists Green strain.
///
/// E = ½ k l ε²,  ε = (‖x₁ − x₀‖²/l² − 1)/2,  k in N, l the rest length in m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thread {
    /// k: tension per strain, in N.
    pub stiffness: f64,
    /// l, in m.
    pub rest_length: f64,
}

impl Thread {
    fn strain(&self, d: Vec3) -> f64 {
        0.5 * (d.length_squared() / (self.rest_length * self.rest_length) - 1.0)
    }

    /// k/l (ε I + d dᵀ/l²), with some stress in place of ε.
    fn hessian_with(&self, d: Vec3, strain: f64) -> Block<2> {
        let outer = Mat3::from_cols(d * d.x, d * d.y, d * d.z) * self.rest_length.powi(-2);
        let k = (outer + Mat3::IDENTITY * strain) * (self.stiffness / self.rest_length);
        Block([[k, -k], [-k, k]])
    }
}

impl Element<2> for Thread {
    fn value(&self, x: &[Vec3; 2]) -> f64 {
        0.5 * self.stiffness * self.rest_length * self.strain(x[1] - x[0]).powi(2)
    }

    fn gradient(&self, x: &[Vec3; 2]) -> [Vec3; 2] {
        let d = x[1] - x[0];
        let pull = self.stiffness * self.strain(d) / self.rest_length * d;
        [-pull, pull]
    }

    fn hessian(&self, x: &[Vec3; 2]) -> Block<2> {
        let d = x[1] - x[0];
        self.hessian_with(d, self.strain(d))
    }

    fn projected_hessian(&self, x: &[Vec3; 2]) -> Block<2> {
        let d = x[1] - x[0];
        self.hessian_with(d, self.strain(d).max(0.0))
    }

    fn newton_hessian(&self, x: &[Vec3; 2], previous: &[Vec3; 2]) -> Block<2> {
        // the tension that the step predicted, not that of the length which a straight step along a curve adds
        let (d, before) = (x[1] - x[0], previous[1] - previous[0]);
        let predicted = self.strain(before) + before.dot(d - before) / (self.rest_length * self.rest_length);
        self.hessian_with(d, predicted.max(0.0))
    }
}

/// Stiffness of every thread, shared by the energy that uses it and the filter that sets it.
type Shared = Arc<RwLock<Vec<f64>>>;

fn read(shared: &Shared) -> Vec<f64> {
    // numbers stay numbers even if a thread of execution died while it held them
    shared.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Threads that harden: an energy for the body, and a filter for its stepper.
pub struct Hardening {
    threads: Threads,
    tolerance: f64,
    /// What a thread begins to harden from, in N.
    least: f64,
    stiffness: Shared,
    refused: usize,
    /// The body's points begin here.
    first: usize,
}

/// The energy of threads that harden.
pub struct HardeningEnergy {
    elements: Elements<Thread, 2>,
    stiffness: Shared,
}

impl Hardening {
    /// `tolerance` is the permitted strain, `least` the smallest stiffness worth having, in N: a hundredth of what the cloth
    /// around a thread has, say.
    pub fn new(threads: &Threads, tolerance: f64, least: f64) -> Self {
        // the engine keeps elements in the order of their first points; with threads in that order numbers agree
        let threads = threads.by_first_point();
        let stiffness = Arc::new(RwLock::new(vec![0.0; threads.len()]));
        Self { threads, tolerance, least, stiffness, refused: 0, first: 0 }
    }

    /// What goes into the body.
    pub fn energy(&self) -> HardeningEnergy {
        let element =
            |(ends, length): (&[u32; 2], &f64)| (*ends, Thread { stiffness: 0.0, rest_length: *length });
        let elements = self.threads.edges().iter().zip(self.threads.lengths()).map(element);
        HardeningEnergy { elements: Elements::new(elements), stiffness: self.stiffness.clone() }
    }

    /// The threads' points are those of a body from `first` on.
    pub(crate) fn start_at(&mut self, first: usize) {
        self.first = first;
    }

    /// The stiffness of every thread: with the state of the body all that a checkpoint needs.
    pub fn stiffness(&self) -> Vec<f64> {
        read(&self.stiffness)
    }

    /// Takes up what [`Hardening::stiffness`] gave; false if it is not for these threads.
    pub fn restore(&mut self, stiffness: Vec<f64>) -> bool {
        let fits = stiffness.len() == self.threads.len() && stiffness.iter().all(|k| *k >= 0.0);
        if fits {
            *self.stiffness.write().unwrap_or_else(PoisonError::into_inner) = stiffness;
        }
        fits
    }

    /// Steps refused since the last call.
    pub fn take_refused(&mut self) -> usize {
        std::mem::take(&mut self.refused)
    }
}

impl Filter for Hardening {
    fn apply(&mut self, body: &Body, _: &GuideSample, _: &State, after: &mut State, seconds: f64) -> bool {
        let x = &after.positions[self.first..];
        let known = &body.known()[self.first..];
        let mut stiffness = self.stiffness.write().unwrap_or_else(PoisonError::into_inner);
        let strain = |piece: usize| {
            let line = self.threads.line(piece, x).length();
            let held = self.threads.edges()[piece].iter().all(|&p| known[p as usize]);
            if held { 0.0 } else { (line / self.threads.lengths()[piece] - 1.0).abs() / self.tolerance }
        };
        let strains: Vec<f64> = (0..self.threads.len()).map(strain).collect();
        let holds = strains.iter().all(|strain| *strain <= 1.0);
        for (k, strain) in stiffness.iter_mut().zip(&strains) {
            if *strain > 0.4 {
                // in time: a thread that is still lengthening at its limit could only be stopped by a blow
                let harder =
                    if holds { 1.0 + 5.0 * (strain - 0.4) } else { HARDEN.max(2.0 * strain).min(10.0) };
                *k = harder * k.max(self.least);
            } else if holds && *strain < 0.15 {
                *k = if *k > self.least { SOFTEN * *k } else { 0.0 };
            }
        }
        let kept = holds || seconds < SHORTEST_STEP;
        self.refused += usize::from(!kept);
        kept
    }
}

impl HardeningEnergy {
    fn now(&self) -> Elements<Thread, 2> {
        let stiffness = read(&self.stiffness);
        let mut elements = self.elements.clone();
        let mut numbers = stiffness.into_iter();
        elements.for_each_mut(|_, thread| thread.stiffness = numbers.next().unwrap_or(0.0));
        elements
    }
}

impl Energy for HardeningEnergy {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        Energy::stencils(&self.elements, visit);
    }

    fn shift(&mut self, first: u32) {
        Energy::shift(&mut self.elements, first);
    }

    fn bind(&mut self, pattern: &Pattern) {
        Energy::bind(&mut self.elements, pattern);
    }

    fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        self.now().value(sample, x)
    }

    fn add_gradient(&self, sample: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]) {
        self.now().add_gradient(sample, x, gradient);
    }

    fn add_hessian(&self, sample: &GuideSample, x: &[Vec3], previous: &[Vec3], matrix: &mut Matrix) {
        self.now().add_hessian(sample, x, previous, matrix);
    }

    fn with_viscosity(&self, _: &StageHistory) -> Option<Box<dyn Energy>> {
        Some(Box::new(self.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{body, grid_threads};
    use super::*;
    use dynamics::{Settings, StaticGuide, Stepper, check_element};

    #[test]
    fn a_thread_is_an_element() {
        let thread = Thread { stiffness: 40.0, rest_length: 5.0_f64.sqrt() };
        check_element(&thread, &[Vec3::ZERO, Vec3::new(1.0, 0.0, 2.0)]);
    }

    #[test]
    fn steps_that_are_kept_are_within_the_tolerance() {
        let (rest, threads) = grid_threads(8, 8);
        for tolerance in [1e-2, 5e-3] {
            let mut hardening = Hardening::new(&threads, tolerance, 1.0);
            // what the cloth has by itself: too soft for the tolerance
            let soft = Elements::new(threads.springs(20.0)).damped(1e-3);
            let row: Vec<usize> = (0..=8).collect();
            let body = body(rest.len(), &row).energy(soft).energy(hardening.energy()).build().unwrap();
            let mut stepper = Stepper::new(&body, &rest, Settings::default()).unwrap();
            let mut state = State::at_rest(rest.clone());
            let guide = StaticGuide::new(rest.clone());
            for _ in 0..12 {
                stepper.advance(&body, &mut state, &guide, 1.0 / 24.0, &mut [&mut hardening]).unwrap();
                assert!(threads.strain(&state.positions).largest() <= tolerance);
            }
            assert!(hardening.take_refused() > 0, "it began too soft");
            let lowest = state.positions.iter().map(|p| p.y).fold(0.0, f64::min);
            assert!(lowest < -0.3, "{lowest}");
            let kept = hardening.stiffness();
            assert!(hardening.restore(kept) && !hardening.restore(vec![1.0]));
        }
    }
}
