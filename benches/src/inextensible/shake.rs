//! SHAKE: pulls along the threads' directions at the *beginning* of the step.
//!
//! x = x₀ − M⁻¹ ∇C(xⁿ)ᵀ μ with C(x) = 0, found with one matrix ∇C(xⁿ) M⁻¹ ∇C(xⁿ)ᵀ per step (Barth et al. 1994: rebuild it
//! once per step). Exact in momentum, cheap per step; but where a thread turns by a right angle or more within a step no pull
//! along its old direction can shorten it, and the step must be shorter. inextensible §4, figure 2.

use dynamics::{Body, Filter, GuideSample, State};
use geometry::Vec3;

use shell::{ThreadSystem, Threads};

/// Iterations with the one matrix before the step is given up; its convergence is linear.
const MOST_ITERATIONS: usize = 60;

/// SHAKE as a filter.
pub(crate) struct Shake {
    threads: Threads,
    tolerance: f64,
    system: ThreadSystem,
    c: Vec<f64>,
    mu: Vec<f64>,
}

impl Shake {
    /// Symbolic work for the threads of a body. `tolerance` is the permitted strain.
    pub(crate) fn new(body: &Body, threads: &Threads, tolerance: f64) -> Result<Self, dynamics::Error> {
        let threads = threads.free(body.known());
        let system = ThreadSystem::new(&threads, body.masses(), body.known())?;
        Ok(Self { threads, tolerance, system, c: Vec::new(), mu: Vec::new() })
    }
}

impl Filter for Shake {
    fn apply(&mut self, _: &Body, _: &GuideSample, before: &State, after: &mut State, seconds: f64) -> bool {
        self.system.reset();
        if !self.system.factorize(&self.threads, &before.positions) {
            return false;
        }
        let unconstrained = after.positions.clone();
        let x: &mut Vec<Vec3> = &mut after.positions;
        let mut strain = f64::INFINITY;
        for iteration in 0..MOST_ITERATIONS {
            let now = self.threads.strain(x).largest();
            if iteration > 0 && now <= self.tolerance {
                for ((v, x), x0) in after.velocities.iter_mut().zip(x).zip(&unconstrained) {
                    *v += (*x - *x0) / seconds;
                }
                return true;
            }
            // an iteration that runs away does not come back
            if !now.is_finite() || (iteration > 3 && now > 10.0 * strain) {
                return false;
            }
            strain = strain.min(now);
            self.threads.violations(x, &mut self.c);
            if !self.system.solve(&self.c, &mut self.mu) {
                return false;
            }
            self.system.add_correction(&self.threads, &before.positions, &self.mu, -1.0, x);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inextensible::testing::{body, chain, noise};
    use dynamics::{Integrator, Settings, StaticGuide, Stepper, Substeps};

    #[test]
    fn keeps_angular_momentum_to_round_off() {
        // pulls at the positions that the step began with make no torque there, and mv changes by nothing else
        let (rest, threads) = chain(5, 0.5);
        let body = Body::builder(vec![0.01; 6]).build().unwrap();
        let mut state = State::at_rest(rest.clone());
        state.velocities = (0..6).map(|i| rest[i].cross(Vec3::Y) * 4.0 + 0.3 * noise(i)).collect();
        let momentum = |s: &State| -> Vec3 {
            s.positions.iter().zip(&s.velocities).map(|(x, v)| x.cross(0.01 * *v)).sum()
        };
        let before = momentum(&state);
        let mut shake = Shake::new(&body, &threads, 1e-9).unwrap();
        let settings = Settings {
            integrator: Integrator::LinearlyImplicit { delta: 0.0 },
            substeps: Substeps::Fixed(50),
            ..Settings::default()
        };
        let mut stepper = Stepper::new(&body, &rest, settings).unwrap();
        stepper.advance(&body, &mut state, &StaticGuide::new(rest.clone()), 0.25, &mut [&mut shake]).unwrap();
        assert!(threads.strain(&state.positions).largest() < 1e-9);
        assert!((momentum(&state) - before).length() < 1e-10 * before.length());
    }

    #[test]
    fn a_thread_that_turns_too_far_is_refused() {
        let (rest, threads) = chain(1, 1.0);
        let body = body(2, &[0]).build().unwrap();
        let before = State::at_rest(rest.clone());
        let mut after = before.clone();
        // beside the held end, further away than the thread is long: its old direction does not lead back
        after.positions[1] = Vec3::new(0.0, -1.3, 0.0);
        let sample = GuideSample { time: 0.0, guide_positions: &rest, guide_velocities: &[Vec3::ZERO; 2] };
        let mut shake = Shake::new(&body, &threads, 1e-3).unwrap();
        assert!(!shake.apply(&body, &sample, &before, &mut after, 0.1));
        let mut fast = shell::FastProjection::new(&body, &threads, 1e-3, Default::default()).unwrap();
        after.positions[1] = Vec3::new(0.0, -1.3, 0.0);
        assert!(fast.apply(&body, &sample, &before, &mut after, 0.1));
    }
}
