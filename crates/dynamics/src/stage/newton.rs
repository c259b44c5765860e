//! Newton's method on one stage, with or without constraints: the only such loop. [`Newton::run`] is the list of its steps; what differs
//! between smooth motion and contact is data ([`NewtonSettings`]) and the list of constraints, which may be empty.

use geometry::Vec3;
use linear::ConstraintRows;

use super::settings::{Guess, NewtonSettings, SearchFrom};
use super::{Stage, Workspace, YieldingRows};
use crate::body::StagedBody;
use crate::{Body, Error, StageConstraint, StageStart, StepBound, middle};

/// A correction must shrink at least by this factor over the step before; worse ones are not taken, as they may
/// lead away: a factor knows the stiff directions only where it was made.
const CORRECTION_SHRINKS: f64 = 0.3;
/// Share of Newton's tolerance that corrections may leave. They converge linearly, so that, unlike after a Newton step, the
/// estimate of what is missing is what is missing, and the next step would start with it.
const CORRECTED_SHARE: f64 = 0.2;
/// Share of Newton's tolerance by which averages may be off after a step that contact shortened; a whole one brings them to their places.
const AVERAGES_SHARE: f64 = 0.05;
/// So many iterations before the last of a stage averages that are not met are looked at, and in all after it: those that come no nearer are given up.
const CONFLICTS_FROM: usize = 2;
/// Newton steps of a stage that may lead through the whole scene.
const MAX_THROWN: usize = 2;
/// Iterations from which it is asked whether steps contract.
const CONTRACTS_FROM: usize = 4;

/// How a stage went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewtonReport {
    pub(crate) iterations: usize,
    pub(crate) factorizations: usize,
    pub(crate) linear_iterations: usize,
    /// How far points moved in the last iteration, in metres.
    pub(crate) residual: f64,
    pub(crate) converged: bool,
    /// Stages that were left before they had converged, where a step has several.
    pub(crate) unconverged: usize,
    /// How far obstacles and known points are behind their animation, in metres.
    pub(crate) lag: f64,
    /// How far limits are exceeded at the end, as a share of them.
    pub(crate) excess: f64,
}

/// One solve.
pub(super) struct Newton<'a, 'c> {
    pub(super) work: &'a mut Workspace,
    pub(super) body: &'a Body,
    pub(super) staged: StagedBody<'a>,
    pub(super) stage: &'a Stage<'a>,
    pub(super) settings: NewtonSettings,
    /// The averages as they are at that moment: weights and compliance.
    pub(super) rows: &'a mut YieldingRows,
    /// In the order in which they shorten a step: what moves along with it, as contact's obstacles do, comes last.
    pub(super) constraints: &'a mut [&'c mut dyn StageConstraint],
    /// The iterate: first the prediction, at the end the answer.
    pub(super) x: &'a mut [Vec3],
    /// The iterate before, which Newton's matrix looks back to.
    pub(super) previous: Vec<Vec3>,
    /// Where it began.
    pub(super) guess: Vec<Vec3>,
    pub(super) progress: Progress,
    /// After a step that was shortened: averages are near enough to their places.
    pub(super) are_rows_met: bool,
}

/// What is known of the iterations so far.
pub(super) struct Progress {
    report: NewtonReport,
    /// Iterations since Newton's method began at its guess,
    spent: usize,
    /// and those since a constraint last changed itself.
    round: usize,
    /// The size of the step before the last, and of the one before that, in metres.
    before: f64,
    earlier: f64,
    /// How the last step was shortened.
    bound: StepBound,
    /// Steps go downhill in Φ, and constraints are frozen.
    line_search: bool,
    /// What obstacles lacked when they were frozen, in metres.
    frozen_lag: f64,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            report: NewtonReport::default(),
            spent: 0,
            round: 0,
            before: 0.0,
            earlier: f64::INFINITY,
            bound: StepBound::default(),
            line_search: false,
            frozen_lag: 0.0,
        }
    }

    /// Whether the step just taken was the last; `are_rows_met`: averages are where they belong, or near enough.
    fn is_converged(&self, settings: &NewtonSettings, are_rows_met: bool) -> bool {
        let convergence = &settings.convergence;
        let (residual, (least, most)) = (self.report.residual, convergence.ratio_range);
        let measured = self.round > convergence.measured_after;
        let ratio =
            if measured { (residual / self.before).clamp(least, most) } else { convergence.assumed_ratio };
        let missing = residual * ratio / (1.0 - ratio);
        let may_be_short = are_rows_met && self.round > convergence.shortened_after;
        let is_whole = self.bound.shortened == 0 || may_be_short;
        let arrived = self.bound.lag <= settings.tolerance || self.round >= convergence.lag_after;
        missing < settings.tolerance && is_whole && arrived
    }

    /// Whether full steps lead nowhere.
    fn stalls(&self, settings: &NewtonSettings) -> bool {
        let residual = self.report.residual;
        let grows = self.round > 1 && residual > settings.globalization.max_growth * self.before;
        let contracts =
            self.round < CONTRACTS_FROM || residual < settings.globalization.contraction * self.earlier;
        !self.line_search && (grows || !contracts)
    }
}

impl Newton<'_, '_> {
    /// Solves the stage. `x` holds the last iterate also when it did not converge.
    pub(super) fn run(mut self) -> Result<NewtonReport, Error> {
        self.begin()?;
        loop {
            self.work.check_cancelled()?;
            self.linearise()?;
            self.solve_step()?;
            self.take_step()?;
            let is_settled = !self.has_conflicts() && self.is_converged()?;
            if is_settled && self.do_rows_hold() && self.are_constraints_satisfied()? {
                self.progress.report.converged = true;
                break;
            }
            // further iterations would cost as much and lead as far astray; a shorter time step may help
            if self.progress.bound.is_thrown && self.progress.report.iterations > MAX_THROWN {
                break;
            }
            if !self.globalize(is_settled)? {
                // beyond a limit, but at rest there: the excess says the rest
                let is_beyond = self.rows.is_exceeded() || self.excess() > 0.0;
                self.progress.report.converged = is_settled && is_beyond;
                break;
            }
        }
        Ok(self.end())
    }

    /// x ← where iterations begin. Forces without potential are linearised where the stage is predicted to end.
    ///
    /// Beginning at the start, all that there is, obstacles included, first goes along with the animation as a whole: no distance changes,
    /// and whoever moves along sees the same. Then obstacles, and known points with them, go as far as is free: a linear model of their push
    /// would drag cloth along behind what withdraws.
    fn begin(&mut self) -> Result<(), Error> {
        self.rows.begin_stage();
        let (body, stage) = (self.body, self.stage);
        let guide = stage.sample.guide_positions;
        let carried = stage.elapsed * middle(stage.sample.guide_velocities);
        if self.settings.guess == Guess::Start {
            for (i, x) in self.x.iter_mut().enumerate().filter(|(i, _)| body.known()[*i]) {
                *x = guide[i];
            }
        }
        self.work.external.linearise(body, stage, self.x);
        if let (Guess::Prediction, Some(other)) = (self.settings.guess, stage.other_guess) {
            self.choose_guess(other, carried);
        }
        let start: Vec<Vec3> = match self.settings.guess {
            Guess::Start => stage.start.iter().map(|x| *x + carried).collect(),
            Guess::Prediction => stage.start.to_vec(),
        };
        let stage_start = StageStart {
            start: &start,
            carried: if self.settings.guess == Guess::Start { carried } else { Vec3::ZERO },
            guess: self.x,
            masses: body.masses(),
            known: body.known(),
            seconds: stage.implicit_dt,
            time: stage.sample.time,
        };
        self.constraints.iter_mut().try_for_each(|constraint| constraint.begin_stage(&stage_start))?;
        if self.settings.guess == Guess::Start {
            self.x.copy_from_slice(&start);
            self.aim_known_points();
            self.progress.bound = self.apply_step(false)?;
        }
        self.guess.copy_from_slice(self.x);
        Ok(())
    }

    /// x ← of two predictions the one with the lower Φ; where averages hold the body, the start carried along with the animation, if that has a lower one.
    /// Cloth that is crumpled by its averages is strained by any straight way ahead, and Newton's method would first have to undo that.
    fn choose_guess(&mut self, other: &[Vec3], carried: Vec3) {
        let (body, stage) = (self.body, self.stage);
        let guide = stage.sample.guide_positions;
        let still: Vec<Vec3> = (0..self.x.len())
            .map(|i| if body.known()[i] { guide[i] } else { stage.start[i] + carried })
            .collect();
        let guesses = [other, &still];
        let count = if self.rows.now().is_empty() { 1 } else { 2 };
        let mut merit = |x: &[Vec3]| self.work.merit(body, &self.staged, self.rows.now(), stage, x);
        let mut lowest = merit(self.x);
        let mut chosen = None;
        for guess in guesses.into_iter().take(count) {
            let value = merit(guess);
            if value < lowest {
                (lowest, chosen) = (value, Some(guess));
            }
        }
        let Some(guess) = chosen else { return };
        self.x.copy_from_slice(guess);
        self.work.external.linearise(body, stage, self.x);
        if std::ptr::eq(guess, &*still) {
            // what one short step from there leaves out would be missing motion, in every stage to the same side
            let convergence = &mut self.settings.convergence;
            convergence.assumed_ratio = convergence.ratio_range.1;
        }
    }

    /// force and system ← those of the body at x; constraints find what is active there.
    fn linearise(&mut self) -> Result<(), Error> {
        let Self { work, body, staged, stage, x, .. } = self;
        for constraint in self.constraints.iter_mut() {
            constraint.update(x)?;
        }
        work.residual(body, staged, stage, x);
        if self.progress.line_search {
            self.previous.copy_from_slice(x);
        }
        work.assemble(body, staged, stage, x, &self.previous);
        Ok(())
    }

    /// delta ← Newton's step, with the constraints' part in force and system.
    fn solve_step(&mut self) -> Result<(), Error> {
        self.aim_known_points();
        let Self { work, body, stage, x, previous, rows, constraints, settings, .. } = self;
        work.update_constraint_residual(rows.now(), stage, x);
        let Workspace { extended, solver, system, force, delta, multipliers, constraint_residual, .. } =
            &mut **work;
        let (matrix, solver) = extended.select(body, constraints, system, solver)?;
        constraints.iter_mut().for_each(|constraint| constraint.assemble(x, previous, force, matrix));
        let solution = solver.solve(
            matrix,
            force,
            rows.now(),
            constraint_residual,
            delta,
            multipliers,
            settings.linear_tolerance,
        )?;
        self.progress.report.factorizations += usize::from(solution.factorized);
        self.progress.report.linear_iterations += solution.iterations;
        Ok(())
    }

    /// Known points go to their places within this step and pull their neighbours along.
    fn aim_known_points(&mut self) {
        let guide = self.stage.sample.guide_positions;
        for (i, delta) in self.work.delta.iter_mut().enumerate() {
            *delta = if self.body.known()[i] { guide[i] - self.x[i] } else { Vec3::ZERO };
        }
    }

    /// x ← x + delta, as far as constraints and line search let it go.
    fn take_step(&mut self) -> Result<(), Error> {
        self.progress.before = self.progress.report.residual;
        self.progress.report.residual = self.work.size_of_step(self.body);
        self.previous.copy_from_slice(self.x);
        // The first step may be needed to bring known points to their places at all, so only later ones are shortened.
        let guide = self.stage.sample.guide_positions;
        let in_place = || (0..self.x.len()).all(|i| !self.body.known()[i] || self.x[i] == guide[i]);
        let search = self.progress.line_search && in_place();
        self.progress.bound = self.apply_step(search)?;
        self.progress.report.iterations += 1;
        self.progress.spent += 1;
        self.progress.round += 1;
        Ok(())
    }

    /// Takes as much of delta as constraints allow, and of that, if asked, what goes downhill.
    fn apply_step(&mut self, search: bool) -> Result<StepBound, Error> {
        let wanted = if self.constraints.is_empty() { Vec::new() } else { self.work.delta.clone() };
        let mut bound = StepBound::default();
        for constraint in self.constraints.iter_mut() {
            bound = bound.and(constraint.limit_step(self.x, &mut self.work.delta)?);
        }
        let length = if search { self.line_search() } else { 1.0 };
        bound.shortened += usize::from(length < 1.0);
        let guide = self.stage.sample.guide_positions;
        for (i, x) in self.x.iter_mut().enumerate() {
            let delta = self.work.delta[i];
            let is_whole = wanted.get(i).is_none_or(|wanted| *wanted == delta);
            if self.body.known()[i] && is_whole {
                // to the bit where nothing is in the way
                *x = guide[i];
            } else {
                *x += length * delta;
            }
            if self.body.known()[i] {
                bound.lag = bound.lag.max(x.distance(guide[i]));
            }
        }
        Ok(bound)
    }

    /// The largest of 1, ½, ¼ … along delta that goes downhill as it should (Armijo): in Φ with the constraints' potentials. To reach
    /// its averages the body may have to go uphill in Φ; with their pull λ, which came with the step, it goes downhill in
    /// Φ + λᵀ(C x − c): the slope there is −δᵀKδ.
    fn line_search(&mut self) -> f64 {
        let pull = |rows: &ConstraintRows, multipliers: &[Vec3], y: &[Vec3]| -> f64 {
            let hard = |r: &usize| rows.compliance()[*r] == 0.0;
            let values = rows.multiply(y);
            (0..values.len()).filter(hard).map(|r| multipliers[r].dot(values[r])).sum()
        };
        let value = |newton: &mut Self, y: &[Vec3]| {
            let of_constraints: f64 = newton.constraints.iter().map(|constraint| constraint.value(y)).sum();
            let rows = newton.rows.now();
            let merit = newton.work.merit(newton.body, &newton.staged, rows, newton.stage, y);
            merit + of_constraints + pull(rows, &newton.work.multipliers, y)
        };
        let mut trial = std::mem::take(&mut self.work.trial);
        trial.copy_from_slice(self.x);
        let start = value(self, &trial);
        let slope: f64 = -self.work.force.iter().zip(&self.work.delta).map(|(f, d)| f.dot(*d)).sum::<f64>();
        let slope = slope + pull(self.rows.now(), &self.work.multipliers, &self.work.delta);
        let mut length = 1.0;
        for _ in 0..self.settings.globalization.halvings {
            for (trial, (x, delta)) in trial.iter_mut().zip(self.x.iter().zip(&self.work.delta)) {
                *trial = *x + length * *delta;
            }
            // Round-off in large sums must not reject the last tiny step.
            if value(self, &trial) <= start + 1e-4 * length * slope.min(0.0) + 1e-12 * start.abs() {
                break;
            }
            length *= 0.5;
        }
        self.work.trial = trial;
        length
    }

    /// Whether nothing is missing any more, after the step or after corrections with its factor.
    fn is_converged(&mut self) -> Result<bool, Error> {
        if !self.progress.report.residual.is_finite() {
            return Ok(false);
        }
        if self.progress.is_converged(&self.settings, self.are_rows_met) {
            return Ok(true);
        }
        if self.progress.line_search || self.settings.corrections == 0 {
            return Ok(false);
        }
        for constraint in self.constraints.iter_mut() {
            constraint.update(self.x)?;
        }
        // a factor knows nothing of constraints that come
        let is_constrained = self.constraints.iter().any(|constraint| constraint.is_active());
        if is_constrained { Ok(false) } else { self.correct() }
    }

    /// Goes on from a Newton step with the factor that it left: most of what is missing is of second order in that step,
    /// and a triangular solve finds it at a fraction of a factorisation's price. True when nothing is missing any more.
    fn correct(&mut self) -> Result<bool, Error> {
        let Self { work, body, staged, stage, settings, rows, progress: Progress { report, .. }, .. } = self;
        for _ in 0..settings.corrections {
            work.residual(body, staged, stage, self.x);
            work.delta.copy_from_slice(&work.force);
            work.update_constraint_residual(rows.now(), stage, self.x);
            work.multipliers.copy_from_slice(&work.constraint_residual);
            if !work.solver.correct(rows.now(), &mut work.delta, &mut work.multipliers)? {
                return Ok(false);
            }
            report.linear_iterations += 1;
            let ratio = work.size_of_step(body) / report.residual;
            if ratio.is_nan() || ratio > CORRECTION_SHRINKS {
                work.solver.reject_factor();
                return Ok(false);
            }
            self.previous.copy_from_slice(self.x);
            for (x, delta) in self.x.iter_mut().zip(&work.delta) {
                *x += *delta;
            }
            report.residual *= ratio;
            if report.residual * ratio / (1.0 - ratio) < CORRECTED_SHARE * settings.tolerance {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// After a step that was shortened: whether averages that contact keeps from their places are to give way from now on. Convergence then begins anew.
    fn has_conflicts(&mut self) -> bool {
        self.are_rows_met = true;
        if self.rows.now().is_empty() {
            return false;
        }
        if self.progress.bound.shortened == 0 {
            self.rows.are_met();
            return false;
        }
        let tolerance = AVERAGES_SHARE * self.settings.tolerance;
        self.work.update_constraint_residual(self.rows.now(), self.stage, self.x);
        let (lacking, compliance) = (&self.work.constraint_residual, self.rows.now().compliance());
        let hard = lacking.iter().zip(compliance).filter(|(_, compliance)| **compliance == 0.0);
        self.are_rows_met = hard.map(|(gap, _)| gap.length()).fold(0.0, f64::max) <= tolerance;
        let (multipliers, seconds) = (&self.work.multipliers, self.stage.implicit_dt);
        // what contact lets go of a little later is none: most stages meet their averages within their iterations
        let is_last = self.progress.spent + CONFLICTS_FROM >= self.settings.iterations;
        if !is_last
            || self.settings.guess != Guess::Start
            || !self.rows.find_conflicts(lacking, multipliers, seconds, tolerance)
        {
            return false;
        }
        (self.progress.round, self.progress.earlier) = (0, f64::INFINITY);
        true
    }

    /// Whether no average pulls harder than it may. Where one does it gives way, and convergence begins anew.
    fn do_rows_hold(&mut self) -> bool {
        let holds = !self.rows.give_way(&self.work.multipliers, self.stage.implicit_dt);
        if !holds {
            (self.progress.round, self.progress.earlier) = (0, f64::INFINITY);
        }
        holds
    }

    /// All constraints are asked, as each may change itself; with one that does, convergence begins anew.
    fn are_constraints_satisfied(&mut self) -> Result<bool, Error> {
        let mut satisfied = true;
        for constraint in self.constraints.iter_mut() {
            satisfied &= constraint.is_satisfied(self.x)?;
        }
        if !satisfied {
            (self.progress.round, self.progress.earlier) = (0, f64::INFINITY);
        }
        Ok(satisfied)
    }

    /// Whether there is another iteration. Where full steps lead nowhere, the next ones have a line search.
    fn globalize(&mut self, is_settled: bool) -> Result<bool, Error> {
        let stalls = self.progress.stalls(&self.settings);
        let is_over = !self.progress.report.residual.is_finite() || !self.may_go_on(is_settled)?;
        self.progress.earlier = if self.progress.round > 0 { self.progress.before } else { f64::INFINITY };
        match self.settings.globalization.search_from {
            SearchFrom::Guess if !self.progress.line_search && !is_settled && (stalls || is_over) => {
                self.x.copy_from_slice(&self.guess);
                self.previous.copy_from_slice(self.stage.start);
                let report = NewtonReport { residual: 0.0, ..self.progress.report };
                self.progress = Progress { report, line_search: true, ..Progress::new() };
                Ok(true)
            }
            SearchFrom::Here if stalls => {
                self.progress.line_search = true;
                // half a step of the cloth beside a whole one of what pushes it would not be certified
                self.progress.frozen_lag = self.progress.bound.lag;
                self.constraints.iter_mut().for_each(|constraint| constraint.freeze());
                Ok(!is_over)
            }
            _ => Ok(!is_over),
        }
    }

    /// Whether iterations are left. While a limit is exceeded there are some more, before which it is told that these are the last.
    fn may_go_on(&mut self, is_settled: bool) -> Result<bool, Error> {
        let NewtonSettings { iterations, extra_iterations, globalization, .. } = self.settings;
        let spent = self.progress.spent;
        let begins_anew = globalization.search_from == SearchFrom::Guess && !self.progress.line_search;
        let is_within = !self.rows.is_exceeded() && self.excess() == 0.0;
        if spent < iterations || (begins_anew && !is_settled) || is_within {
            return Ok(spent < iterations);
        }
        if spent == iterations && !is_settled {
            self.are_constraints_satisfied()?;
        }
        Ok(spent < iterations + extra_iterations)
    }

    fn excess(&self) -> f64 {
        self.constraints.iter().map(|constraint| constraint.excess(self.x)).fold(0.0, f64::max)
    }

    fn end(self) -> NewtonReport {
        let excess = self.excess();
        for constraint in self.constraints.iter_mut() {
            constraint.end_stage(self.x);
        }
        NewtonReport {
            lag: self.progress.bound.lag.max(self.progress.frozen_lag),
            excess,
            ..self.progress.report
        }
    }
}

#[cfg(test)]
mod tests;
