//! Steps beside what may not be crossed, and how long they may be.

use geometry::Vec3;

use super::{Attempt, Integrator, Stepper};
use crate::stage::{Solved, Stage};
use crate::{Body, Error, Guide, Obstruction, Past, State};

/// No step is made shorter than this share of a frame for the sake of what is in the way. Only something as fast as a bullet asks
/// for so short ones.
pub(super) const SHORTEST_FOR_OTHERS: f64 = 1.0 / 1024.0;
/// Steps longer than this share of a frame are tried again, shorter, when what is in the way could not get to its place.
const LONG: f64 = 0.4;
/// A stage in contact that ran out of iterations is thrown away if its last Newton step was this many times longer than it may be
/// at the end.
const UNFINISHED: f64 = 20.0;
/// Not so where steps are this short already, unless because something comes this fast.
const SHORT: f64 = 0.1;
const FAST: f64 = 0.1;
/// Iterations of a stage in contact after which the next step may be longer, and by how much.
const EASY: usize = 5;
const GROWTH: f64 = 1.25;

impl Stepper {
    /// A step beside something that may not be crossed.
    ///
    /// Where nothing is near, the usual one. Otherwise backward Euler, twice over half the step where the usual method has two
    /// stages: the push of contact is an impulse, and a method that takes the force at one end of a stage for the force
    /// throughout makes cloth bounce with more than it came with. Backward Euler stops it dead, as cloth does.
    ///
    /// `parts`: into how many the step may be divided where what is in the way is too fast for it.
    pub(super) fn step_against(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        obstruction: &mut dyn Obstruction,
        h: f64,
        parts: f64,
    ) -> Result<Attempt, Error> {
        let before = state.clone();
        let end = state.time + h;
        guide.sample(end, &mut self.guide_positions, &mut self.guide_velocities);
        let free = |i: usize| {
            // two halves with the acceleration of the last step go 3/4 h² a
            let a = before.accelerations.get(i).copied().unwrap_or(Vec3::ZERO);
            before.positions[i] + h * (before.velocities[i] + 0.75 * h * a)
        };
        let place = |i: usize| if body.known()[i] { self.guide_positions[i] } else { free(i) };
        let guess: Vec<Vec3> = (0..before.positions.len()).map(place).collect();
        if obstruction.seems_clear(&before.positions, &guess, end)? {
            let attempt = self.step(body, state, guide, h)?;
            let there = attempt.solved.converged;
            if !there || obstruction.is_clear(&before.positions, &state.positions, end)? {
                obstruction.arrive(end);
                return Ok(attempt);
            }
            *state = before;
        }
        let haste = obstruction.haste(h).min(parts);
        if haste > 1.2 {
            let solved = Solved { converged: true, ..Solved::default() };
            return Ok(Attempt { solved, error: 0.0, pace: haste.recip() });
        }
        let stages = if self.settings.integrator == Integrator::TrBdf2 { 2 } else { 1 };
        let implicit = h / f64::from(stages);
        let mut total = Solved { converged: true, ..Solved::default() };
        let mut lag: f64 = 0.0;
        let mut most = 0; // iterations of a stage
        for k in 1..=stages {
            let time = end - f64::from(stages - k) * implicit;
            let (base, drift) = (state.positions.clone(), state.velocities.clone());
            let mut x: Vec<Vec3> = base.iter().zip(&drift).map(|(x, v)| *x + implicit * *v).collect();
            let newton = self.newton();
            let past = Past { implicit, positions: [(1.0, &base), (0.0, &base)] };
            let moment = Self::moment(&mut self.guide_positions, &mut self.guide_velocities, guide, time);
            guide.rows(time, &mut self.rows);
            guide.averages(time, &mut self.averages);
            let (rows, averages) = (&self.rows, &self.averages);
            let stage = Stage {
                base: &base,
                drift: &drift,
                implicit,
                other_guess: None,
                past,
                moment,
                rows,
                averages,
            };
            let work = &mut self.work;
            // entered once: from outside the pool, each loop of a stage would wake and wait for a thread
            let (solved, behind) =
                rayon::scope(|_| work.solve_against(body, &stage, newton, obstruction, &mut x))?;
            self.effort.iterations += solved.iterations;
            self.effort.factorizations += solved.factorizations;
            self.effort.linear_iterations += solved.linear_iterations;
            total.iterations += solved.iterations;
            total.residual = solved.residual;
            total.converged &= solved.residual.is_finite();
            most = most.max(solved.iterations);
            let is_fast = haste > FAST || parts > SHORT / SHORTEST_FOR_OTHERS;
            if solved.residual > UNFINISHED * newton.tolerance && parts > 2.0 && is_fast {
                return Ok(Attempt { solved: total, error: 0.0, pace: 0.5 });
            }
            lag = lag.max(behind);
            for i in 0..x.len() {
                let on_guide = body.known()[i] && x[i] == self.guide_positions[i];
                state.velocities[i] =
                    if on_guide { self.guide_velocities[i] } else { (x[i] - base[i]) / implicit };
            }
            state.accelerations =
                state.velocities.iter().zip(&drift).map(|(v, w)| (*v - *w) / implicit).collect();
            state.positions = x;
        }
        let is_long = parts > LONG / SHORTEST_FOR_OTHERS;
        let pace = if is_long && lag > self.newton().tolerance {
            0.5
        } else if most <= EASY {
            GROWTH
        } else {
            1.0
        };
        Ok(Attempt { solved: total, error: 0.0, pace })
    }
}

/// Filters move points without looking: they get as far as is free, with the velocity that the filter wanted.
pub(super) fn restrain_filters(
    obstruction: &mut dyn Obstruction,
    found: &[Vec3],
    state: &mut State,
) -> Result<(), Error> {
    let mut delta: Vec<Vec3> = state.positions.iter().zip(found).map(|(x, found)| *x - *found).collect();
    if delta.iter().all(|d| *d == Vec3::ZERO) {
        return Ok(());
    }
    let wanted = delta.clone();
    obstruction.restrain(found, &mut delta)?;
    for (i, x) in state.positions.iter_mut().enumerate() {
        if delta[i] != wanted[i] {
            *x = found[i] + delta[i];
        }
    }
    Ok(())
}
