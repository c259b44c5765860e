//! Steps in contact, and how long they may be.

use geometry::Vec3;

use super::{Attempt, Integrator, StageProblem, Stepper};
use crate::stage::NewtonReport;
use crate::{Body, ContactModel, Error, Guide, StageHistory, State};

/// No step is made shorter than this share of a frame because of contact. Only something as fast as a bullet asks for so short
/// ones.
pub(super) const MIN_CONTACT_STEP: f64 = 1.0 / 1024.0;
/// Steps longer than this share of a frame are tried again, shorter, when obstacles could not get to their place.
const LONG_STEP: f64 = 0.4;
/// A stage in contact that ran out of iterations is rejected if its last Newton step was this many times longer than it may be at
/// the end.
const UNCONVERGED: f64 = 20.0;
/// Not so where steps are this short already, unless because an obstacle comes this fast.
const SHORT_STEP: f64 = 0.1;
const FAST_OBSTACLE: f64 = 0.1;
/// Iterations of a stage in contact after which the next step may be longer, and by how much.
const EASY_ITERATIONS: usize = 5;
const STEP_GROWTH: f64 = 1.25;

/// How the stages of one step in contact went.
#[derive(Default)]
struct ContactStages {
    report: NewtonReport,
    /// How far obstacles are behind, in metres.
    lag: f64,
    /// Iterations of the stage that took most.
    most_iterations: usize,
    /// A stage was left far from its solution.
    unconverged: bool,
}

impl Stepper {
    /// A step with a contact model.
    ///
    /// Where nothing is near, the usual one. Otherwise backward Euler, twice over half the step where the usual method has two
    /// stages: the contact force is an impulse, and a method that takes the force at one end of a stage for the force
    /// throughout makes cloth bounce with more than it came with. Backward Euler stops it dead, as cloth does.
    ///
    /// `parts`: into how many substeps the step may be divided where obstacles are too fast for it.
    pub(super) fn step_with_contact(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        contact: &mut dyn ContactModel,
        h: f64,
        parts: f64,
    ) -> Result<Attempt, Error> {
        if let Some(attempt) = self.try_free_step(body, state, guide, contact, h)? {
            return Ok(attempt);
        }
        let substeps = contact.required_substeps(h).min(parts);
        if substeps > 1.2 {
            let report = NewtonReport { converged: true, ..NewtonReport::default() };
            return Ok(Attempt { report, error: 0.0, step_ratio: substeps.recip() });
        }
        let may_reject = parts > 2.0 && (substeps > FAST_OBSTACLE || parts > SHORT_STEP / MIN_CONTACT_STEP);
        let stages = self.solve_contact_stages(body, state, guide, contact, h, may_reject)?;
        let is_long = parts > LONG_STEP / MIN_CONTACT_STEP;
        let step_ratio = if stages.unconverged || (is_long && stages.lag > self.newton().tolerance) {
            0.5
        } else if stages.most_iterations <= EASY_ITERATIONS {
            STEP_GROWTH
        } else {
            1.0
        };
        Ok(Attempt { report: stages.report, error: 0.0, step_ratio })
    }

    /// The usual step, if nothing is met on its way; otherwise the state is as it was.
    fn try_free_step(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        contact: &mut dyn ContactModel,
        h: f64,
    ) -> Result<Option<Attempt>, Error> {
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
        if !contact.is_likely_collision_free(&before.positions, &guess, end)? {
            return Ok(None);
        }
        let attempt = self.step(body, state, guide, h)?;
        let converged = attempt.report.converged;
        if !converged || contact.is_step_collision_free(&before.positions, &state.positions, end)? {
            contact.advance_obstacles(end);
            return Ok(Some(attempt));
        }
        *state = before;
        Ok(None)
    }

    /// Backward Euler with contact, in as many stages as the integrator has. Stops after a stage that did not converge if it
    /// `may_reject` the step.
    fn solve_contact_stages(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        contact: &mut dyn ContactModel,
        h: f64,
        may_reject: bool,
    ) -> Result<ContactStages, Error> {
        let end = state.time + h;
        let count = if self.settings.integrator == Integrator::TrBdf2 { 2 } else { 1 };
        let implicit_dt = h / f64::from(count);
        let mut stages = ContactStages::default();
        stages.report.converged = true;
        for k in 1..=count {
            let time = end - f64::from(count - k) * implicit_dt;
            let report = self.contact_stage(body, state, guide, contact, time, implicit_dt)?;
            stages.report.iterations += report.iterations;
            stages.report.unconverged += usize::from(!report.converged);
            stages.report.excess = stages.report.excess.max(report.excess);
            stages.report.residual = report.residual;
            stages.report.converged &= report.residual.is_finite();
            stages.most_iterations = stages.most_iterations.max(report.iterations);
            if report.residual > UNCONVERGED * self.newton().tolerance && may_reject {
                stages.unconverged = true;
                break;
            }
            stages.lag = stages.lag.max(report.lag);
        }
        Ok(stages)
    }

    /// One stage of backward Euler over `implicit_dt`, which ends at `time`.
    fn contact_stage(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        contact: &mut dyn ContactModel,
        time: f64,
        implicit_dt: f64,
    ) -> Result<NewtonReport, Error> {
        let (base, drift) = (state.positions.clone(), state.velocities.clone());
        let mut x: Vec<Vec3> = base.iter().zip(&drift).map(|(x, v)| *x + implicit_dt * *v).collect();
        let problem = StageProblem {
            time,
            base: &base,
            drift: &drift,
            implicit_dt,
            elapsed: implicit_dt,
            history: StageHistory {
                implicit_dt,
                positions: [(1.0, &base), (0.0, &base)],
                internal: &state.internal,
            },
            start: &base,
            other_guess: None,
            newton: self.newton().constrained(),
        };
        let report = self.solve(body, guide, &problem, &mut [contact], &mut x)?;
        for i in 0..x.len() {
            let on_guide = body.known()[i] && x[i] == self.guide_positions[i];
            state.velocities[i] =
                if on_guide { self.guide_velocities[i] } else { (x[i] - base[i]) / implicit_dt };
        }
        state.accelerations =
            state.velocities.iter().zip(&drift).map(|(v, w)| (*v - *w) / implicit_dt).collect();
        state.positions = x;
        Ok(report)
    }
}

/// Filters move points without contact: they get as far as is free, with the velocity that the filter wanted.
pub(super) fn limit_filters(
    contact: &mut dyn ContactModel,
    found: &[Vec3],
    state: &mut State,
) -> Result<(), Error> {
    let mut delta: Vec<Vec3> = state.positions.iter().zip(found).map(|(x, found)| *x - *found).collect();
    if delta.iter().all(|d| *d == Vec3::ZERO) {
        return Ok(());
    }
    let wanted = delta.clone();
    contact.limit_step(found, &mut delta)?;
    for (i, x) in state.positions.iter_mut().enumerate() {
        if delta[i] != wanted[i] {
            *x = found[i] + delta[i];
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, StageConstraint, StaticGuide, StepBound};
    use linear::Matrix;

    /// Never out of the way: asks for substeps, lags, or pushes to and fro so that no iteration converges.
    #[derive(Clone, Copy, Default)]
    struct Wall {
        substeps: f64,
        lag: f64,
        push: f64,
    }

    impl StageConstraint for Wall {
        fn assemble(&mut self, _: &[Vec3], _: &[Vec3], force: &mut [Vec3], _: &mut Matrix) {
            force[0] += self.push * Vec3::X;
            self.push = -self.push;
        }

        fn limit_step(&mut self, _: &[Vec3], _: &mut [Vec3]) -> Result<StepBound, Error> {
            Ok(StepBound { lag: self.lag, ..StepBound::default() })
        }
    }

    impl ContactModel for Wall {
        fn is_step_collision_free(&mut self, _: &[Vec3], _: &[Vec3], _: f64) -> Result<bool, Error> {
            Ok(false)
        }

        fn required_substeps(&self, _: f64) -> f64 {
            self.substeps
        }

        fn advance_obstacles(&mut self, _: f64) {}
    }

    /// In 1024ths of a frame: long steps whose obstacles lag are halved, stages that do not converge too, unless the step is short already and
    /// nothing comes fast; what goes well lets the next be longer.
    #[test]
    fn steps_in_contact_are_as_long_as_they_go_well() {
        let body = Body::builder(vec![1.0]).build().unwrap();
        let guide = StaticGuide::new(vec![Vec3::ZERO]);
        let fine = Wall::default();
        let (late, restless) = (Wall { lag: 1.0, ..fine }, Wall { push: 1e3, ..fine });
        for (wall, parts, expected) in [
            (fine, 1024.0, 1.25),
            (late, 1024.0, 0.5),
            (late, 300.0, 1.0),
            (restless, 200.0, 0.5),
            (restless, 50.0, 1.0),
            (Wall { substeps: 0.5, ..restless }, 50.0, 0.5),
            (Wall { substeps: 0.5, ..restless }, 1.5, 1.0),
            (Wall { substeps: 1.1, ..fine }, 50.0, 1.25),
            (Wall { substeps: 4.0, ..fine }, 50.0, 0.25),
            (Wall { substeps: 4.0, ..fine }, 2.0, 0.5),
        ] {
            let mut stepper = Stepper::new(&body, &[Vec3::ZERO, Vec3::ONE], Settings::default()).unwrap();
            let mut state = State::at_rest(vec![Vec3::ZERO]);
            let mut contact = wall;
            let attempt = stepper
                .step_with_contact(&body, &mut state, &guide, &mut contact, 1.0 / 24.0, parts)
                .unwrap();
            let what = (wall.substeps, wall.lag, wall.push, parts);
            assert_eq!(attempt.step_ratio, expected, "{what:?}");
            assert_eq!(attempt.report.iterations > 0, wall.substeps < 1.2, "{what:?}");
        }
    }
}
