//! The integrators: what a step asks of its implicit stages, and what it makes of their answers.

use geometry::Vec3;

use super::{Attempt, StageProblem, Stepper, Substeps, root_mean_square};
use crate::body::StagedBody;
use crate::{Body, Error, Guide, StageHistory, State};

/// How a step is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Integrator {
    /// TR-BDF2: second order, strongly stable. A trapezoidal stage over γh, then BDF2 over the whole step, with γ = 2 − √2 so
    /// that both have the same implicit time. Vibrations that the step resolves keep their energy; those it does not are
    /// damped. Bank et al. 1985; Hosea & Shampine 1996.
    ///
    /// The acceleration that the trapezoidal rule needs at the start is the one the step before ended with, not a force
    /// evaluated anew: in a stiff membrane the latter would turn the micrometres that Newton's tolerance leaves into
    /// thousands of g, and cloth would gain energy.
    TrBdf2,
    /// First order, strongly damped: what most tools use. Solved to convergence.
    BackwardEuler,
    /// One Newton step of backward Euler, linearised at x + δhv: what the papers use. δ = 0 is the most stable, 1 the least
    /// damped. enrich §5. Differs: the stiffness term left over is (1−δ)h²K v, so that the linearisation is consistent for
    /// every δ.
    LinearlyImplicit {
        /// δ in [0, 1].
        delta: f64,
    },
}

/// TR-BDF2's γ.
const GAMMA: f64 = 2.0 - std::f64::consts::SQRT_2;

impl Stepper {
    pub(super) fn step_euler(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        h: f64,
        delta: f64,
        linear: bool,
    ) -> Result<Attempt, Error> {
        let base = state.positions.clone();
        let (drift, internal) = (state.velocities.clone(), state.internal.clone());
        let mut x: Vec<Vec3> = base.iter().zip(&drift).map(|(x, v)| *x + delta * h * *v).collect();
        let problem = StageProblem {
            time: state.time + h,
            base: &base,
            drift: &drift,
            implicit_dt: h,
            elapsed: h,
            history: StageHistory {
                implicit_dt: h,
                positions: [(1.0, &base), (0.0, &base)],
                internal: &internal,
            },
            start: &base,
            other_guess: None,
            newton: if linear { self.newton().single_step() } else { self.newton() },
        };
        let solved = self.solve(body, guide, &problem, &mut [], &mut x)?;
        self.finish(body, state, &base, h, x);
        state.accelerations.clear();
        Ok(Attempt { report: solved, error: 0.0, step_ratio: 2.0 })
    }

    /// The trapezoidal rule over γh, then BDF2 over the whole step, with the same implicit time s = γh/2:
    ///
    /// ```text
    /// x₁ = x + s(v + v₁)         v₁ = v + s(a + f₁/M)        at t + γh
    /// x₂ = αx₁ − βx + s v₂       v₂ = αv₁ − βv + s f₂/M      at t + h,   α = 1/(γ(2−γ)),  β = α(1−γ)²
    /// ```
    pub(super) fn step_tr_bdf2(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        h: f64,
    ) -> Result<Attempt, Error> {
        let s = 0.5 * GAMMA * h;
        if state.accelerations.is_empty() {
            state.accelerations = self.acceleration(body, state, guide);
        }
        let State { positions: x0, velocities: v0, accelerations: a0, internal, .. } = state.clone();
        let newton = self.newton();

        let base: Vec<Vec3> = x0.iter().zip(&v0).map(|(x, v)| *x + s * *v).collect();
        let drift: Vec<Vec3> = v0.iter().zip(&a0).map(|(v, a)| *v + s * *a).collect();
        // Newton starts where constant acceleration leads: as near as the step's own accuracy, so that it ends early. In
        // crumpling cloth, acceleration is noise, and constant velocity is the better guess.
        let plain = ahead(&x0, &v0, &|_| Vec3::ZERO, GAMMA * h);
        let mut x1 = ahead(&x0, &v0, &|i| a0[i], GAMMA * h);
        // Friction of the mean strain rate over the stage: a trapezoidal rate would swing about it where friction is stiff.
        let problem = StageProblem {
            time: state.time + GAMMA * h,
            base: &base,
            drift: &drift,
            implicit_dt: s,
            elapsed: GAMMA * h,
            history: StageHistory {
                implicit_dt: GAMMA * h,
                positions: [(1.0, &x0), (0.0, &x0)],
                internal: &internal,
            },
            start: &x0,
            other_guess: Some(&plain),
            newton,
        };
        let first = self.solve(body, guide, &problem, &mut [], &mut x1)?;
        if !first.converged {
            return Ok(Attempt { report: first, error: f64::INFINITY, step_ratio: 2.0 });
        }
        let mut v1: Vec<Vec3> = x1.iter().zip(&base).map(|(x, p)| (*x - *p) / s).collect();
        self.impose_velocities(body, &mut v1);

        let alpha = 1.0 / (GAMMA * (2.0 - GAMMA));
        let beta = alpha * (1.0 - GAMMA) * (1.0 - GAMMA);
        let base: Vec<Vec3> = x1.iter().zip(&x0).map(|(x1, x0)| alpha * *x1 - beta * *x0).collect();
        let drift: Vec<Vec3> = v1.iter().zip(&v0).map(|(v1, v0)| alpha * *v1 - beta * *v0).collect();
        // The mean over the first stage: what the trapezoidal rule has at its end swings where the body is stiff.
        let plain = ahead(&x1, &v1, &|_| Vec3::ZERO, (1.0 - GAMMA) * h);
        let mut x2 = ahead(&x1, &v1, &|i| (v1[i] - v0[i]) / (GAMMA * h), (1.0 - GAMMA) * h);
        let problem = StageProblem {
            time: state.time + h,
            base: &base,
            drift: &drift,
            implicit_dt: s,
            elapsed: (1.0 - GAMMA) * h,
            history: StageHistory {
                implicit_dt: s,
                positions: [(-beta, &x0), (alpha, &x1)],
                internal: &internal,
            },
            start: &x1,
            other_guess: Some(&plain),
            newton,
        };
        let mut solved = self.solve(body, guide, &problem, &mut [], &mut x2)?;
        solved.iterations += first.iterations;
        solved.excess = solved.excess.max(first.excess);
        self.finish(body, state, &base, s, x2);
        if !solved.converged {
            return Ok(Attempt { report: solved, error: f64::INFINITY, step_ratio: 2.0 });
        }
        state.accelerations = state.velocities.iter().zip(&drift).map(|(v, w)| (*v - *w) / s).collect();

        let error = match self.settings.substeps {
            Substeps::Automatic => self.tr_bdf2_error(body, h, [&v0, &v1, &state.velocities])?,
            Substeps::Fixed(_) => 0.0,
        };
        Ok(Attempt { report: solved, error, step_ratio: 2.0 })
    }

    /// Hosea & Shampine's estimate of the local error in x, from velocities at the start, after γh and at the end; its stiff part
    /// smoothed by the system's own matrix. Root mean square, in metres.
    fn tr_bdf2_error(&mut self, body: &Body, h: f64, [v0, v1, v2]: [&[Vec3]; 3]) -> Result<f64, Error> {
        let k = (-3.0 * GAMMA * GAMMA + 4.0 * GAMMA - 2.0) / (12.0 * (2.0 - GAMMA));
        let weights = [1.0 / GAMMA, -1.0 / (GAMMA * (1.0 - GAMMA)), 1.0 / (1.0 - GAMMA)];
        let mut estimate: Vec<Vec3> = (0..v0.len())
            .map(|i| 2.0 * k * h * (weights[0] * v0[i] + weights[1] * v1[i] + weights[2] * v2[i]))
            .collect();
        self.work.smooth(body, self.rows.now(), 0.5 * GAMMA * h, &mut estimate)?;
        Ok(root_mean_square(estimate.into_iter()))
    }

    /// f/M at the state; zero at known points.
    fn acceleration(&mut self, body: &Body, state: &State, guide: &dyn Guide) -> Vec<Vec3> {
        let sample =
            Self::sample_guide(&mut self.guide_positions, &mut self.guide_velocities, guide, state.time);
        let (x, v) = (&state.positions, &state.velocities);
        // no stage, no strain rate: friction starts with the first step
        let staged = StagedBody::new(
            body,
            &StageHistory {
                implicit_dt: f64::INFINITY,
                positions: [(1.0, x), (0.0, x)],
                internal: &state.internal,
            },
        );
        let mut force = vec![Vec3::ZERO; body.point_count()];
        staged.force(&sample, x, v, &mut force);
        body.add_external_force(&sample, x, v, &mut force);
        body.mass().solve(&force, body.known())
    }

    fn impose_velocities(&self, body: &Body, v: &mut [Vec3]) {
        for (i, v) in v.iter_mut().enumerate() {
            if body.known()[i] {
                *v = self.guide_velocities[i];
            }
        }
    }

    fn finish(&mut self, body: &Body, state: &mut State, base: &[Vec3], implicit_dt: f64, x: Vec<Vec3>) {
        for (v, (x, p)) in state.velocities.iter_mut().zip(x.iter().zip(base)) {
            *v = (*x - *p) / implicit_dt;
        }
        self.impose_velocities(body, &mut state.velocities);
        state.positions = x;
    }
}

/// Where constant acceleration leads in t seconds.
fn ahead(x: &[Vec3], v: &[Vec3], a: &dyn Fn(usize) -> Vec3, t: f64) -> Vec<Vec3> {
    (0..x.len()).map(|i| x[i] + t * (v[i] + 0.5 * t * a(i))).collect()
}
