//! Static solves: where a body comes to rest, from anywhere and from near by.

use geometry::Vec3;

use super::{Effort, StageProblem, Stepper, root_mean_square};
use crate::stage::NewtonSettings;
use crate::{Body, Error, Guide, StageHistory, State};

/// How [`Stepper::relax`] ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relaxed {
    /// What it took.
    pub effort: Effort,
    /// Whether points came to rest. Otherwise they are lower than before, but iterations ran out.
    pub converged: bool,
}

impl<'a> StageProblem<'a> {
    /// Implicit steps from `base` without memory of velocity.
    fn at_rest(
        state: &'a State,
        base: &'a [Vec3],
        zeros: &'a [Vec3],
        implicit_dt: f64,
        newton: NewtonSettings,
    ) -> Self {
        let internal = &state.internal;
        let history = StageHistory { implicit_dt, positions: [(1.0, base), (0.0, base)], internal };
        Self {
            time: state.time,
            base,
            drift: zeros,
            implicit_dt,
            elapsed: implicit_dt,
            history,
            start: base,
            other_guess: None,
            newton,
        }
    }
}

impl Stepper {
    /// Moves the state to a resting place under all forces, velocities zero: pseudo-transient continuation, implicit
    /// steps of growing length without memory of velocity.
    pub fn settle(&mut self, body: &Body, state: &mut State, guide: &dyn Guide) -> Result<Effort, Error> {
        self.work.solver.reset();
        self.effort = Effort::default();
        let zeros = vec![Vec3::ZERO; body.point_count()];
        let newton = NewtonSettings::smooth(200, 1e-9 * self.size);
        // A tenth of a second is a soft start; each round trusts the linearisation ten times more.
        let mut implicit_dt = 0.1;
        for _ in 0..60 {
            let base = state.positions.clone();
            let mut x = base.clone();
            let problem = StageProblem::at_rest(state, &base, &zeros, implicit_dt, newton);
            let solved = self.solve(body, guide, &problem, &mut [], &mut x)?;
            let moved = root_mean_square(x.iter().zip(&base).map(|(x, b)| *x - *b));
            if !solved.converged && !solved.residual.is_finite() {
                implicit_dt *= 0.1;
                continue;
            }
            state.positions = x;
            if moved < 1e-7 * self.size && implicit_dt > 1e3 {
                state.velocities.fill(Vec3::ZERO);
                state.accelerations.clear();
                return Ok(self.effort);
            }
            implicit_dt = (implicit_dt * 4.0).min(1e5);
        }
        let residual = f64::NAN;
        Err(Error::Diverged {
            time: state.time,
            step: implicit_dt,
            iterations: self.effort.iterations,
            residual,
        })
    }

    /// Goes downhill from where the state is to where all forces balance: Newton's method with line search, no inertia.
    ///
    /// For bodies that something holds and that are nearly there, such as a fit that starts from the frame before; it costs
    /// a few linear solves where [`Stepper::settle`], which starts from anywhere, takes dozens. Points within `tolerance`,
    /// in metres, of the answer are good enough. Velocities become zero.
    pub fn relax(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        tolerance: f64,
    ) -> Result<Relaxed, Error> {
        self.work.solver.reset();
        self.effort = Effort::default();
        let newton = NewtonSettings::smooth(self.settings.newton_iterations, tolerance);
        let base = state.positions.clone();
        let zeros = vec![Vec3::ZERO; base.len()];
        // so long that inertia only holds what nothing else does
        let implicit_dt = 1e4;
        let mut x = base.clone();
        let problem = StageProblem::at_rest(state, &base, &zeros, implicit_dt, newton);
        let solved = self.solve(body, guide, &problem, &mut [], &mut x)?;
        if let Some(point) = x.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { time: state.time, point });
        }
        state.positions = x;
        state.velocities.fill(Vec3::ZERO);
        state.accelerations.clear();
        Ok(Relaxed { effort: self.effort, converged: solved.converged })
    }
}
