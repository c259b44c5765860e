//! Contact as an implicit step meets it: the interface of a contact model, and Newton's method with one.
//!
//! The engine knows nothing of surfaces. In every Newton iteration it asks for the contact potential's gradient and Hessian, and
//! after every solve how much of the step each point may take. The crate `contact` answers.

use std::sync::Arc;

use geometry::Vec3;
use linear::{Matrix, Pattern, Solver};

use crate::body::StagedBody;
use crate::stage::{NewtonReport, NewtonSettings, Stage, Workspace};
use crate::{Body, Error};

/// Contact between the surfaces of a body, and with obstacles whose motion is given.
///
/// Whatever is asked of it between [`ContactModel::commit`] and the next [`ContactModel::rewind`] is a trial: a step that is
/// rejected leaves nothing behind.
pub trait ContactModel: Send {
    /// Whether nothing comes within activation distance on the straight way from `start` to `end`, while obstacles move to where
    /// they are at `time`. Such a step needs no contact solve.
    fn is_step_collision_free(&mut self, start: &[Vec3], end: &[Vec3], time: f64) -> Result<bool, Error>;

    /// A cheap estimate of whether a step from `start`, perhaps to `guess`, is worth trying without contact. To be wrong costs
    /// time, no more: the step is checked by [`ContactModel::is_step_collision_free`] afterwards.
    fn is_likely_collision_free(&mut self, start: &[Vec3], guess: &[Vec3], time: f64) -> Result<bool, Error> {
        self.is_step_collision_free(start, guess, time)
    }

    /// Into how many substeps `seconds` should be cut, because of how far obstacles near the body move in that time. At most 1: none
    /// are needed.
    fn required_substeps(&self, seconds: f64) -> f64;

    /// Moves obstacles to where they are at `time`; only after [`ContactModel::is_step_collision_free`] said so.
    fn advance_obstacles(&mut self, time: f64);

    /// Begins an implicit stage.
    fn begin_stage(&mut self, stage: &ContactStage) -> Result<(), Error>;

    /// Finds the active contacts at `x`.
    fn update_contacts(&mut self, x: &[Vec3]) -> Result<(), Error>;

    /// Visits the points that each second derivative of an active contact couples.
    fn stencils(&self, visit: &mut dyn FnMut(&[u32]));

    /// Visits stencils that may become active soon, those of [`ContactModel::stencils`] included: asked when the sparsity has
    /// to change anyway.
    fn candidate_stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.stencils(visit);
    }

    /// The contact potential at `x`, in joules: what [`ContactModel::assemble`] adds is its negative gradient, as long as that is
    /// not asked again.
    fn value(&self, x: &[Vec3]) -> f64;

    /// Adds contact forces at `x` to `force` and their positive semidefinite stiffness to `matrix`. Obstacles that move during this
    /// iteration push already where they will be.
    fn assemble(&mut self, x: &[Vec3], force: &mut [Vec3], matrix: &mut Matrix);

    /// Obstacles stay where they are for the rest of the stage.
    fn freeze_obstacles(&mut self);

    /// Shortens the step `delta` from `x`, point by point, so that nothing intersects on the straight way, and moves obstacles
    /// along.
    fn limit_step(&mut self, x: &[Vec3], delta: &mut [Vec3]) -> Result<StepBound, Error>;

    /// The stage ended at `x`.
    fn end_stage(&mut self, x: &[Vec3]);

    /// All since the last call is final.
    fn commit(&mut self);

    /// Nothing since the last commit has happened.
    fn rewind(&mut self);
}

/// An implicit stage as a contact model sees it.
#[derive(Clone, Copy, Debug)]
pub struct ContactStage<'a> {
    /// Free of intersections.
    pub start: &'a [Vec3],
    /// Where points would go if nothing but inertia acted, known ones where they must.
    pub guess: &'a [Vec3],
    /// In kilograms.
    pub masses: &'a [f64],
    /// Points whose motion is given.
    pub known: &'a [bool],
    /// From start to end, in seconds.
    pub seconds: f64,
    /// When it ends.
    pub time: f64,
}

/// How a step was shortened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepBound {
    /// Points that may not go the whole way.
    pub shortened: usize,
    /// How far obstacles and known points are behind their animation, in metres.
    pub lag: f64,
}

/// Newton iterations of a stage in contact at most. The state is free of intersections after each, so stopping early costs
/// accuracy, not safety.
const MAX_ITERATIONS: usize = 8;
/// Permitted error in contact, in terms of that of smooth motion: steps of first order do not deserve more.
const TOLERANCE_RATIO: f64 = 4.0;
/// A Newton step is halved this often at most to go downhill.
const MAX_HALVINGS: usize = 6;
/// Iterations after which obstacles that are still behind are given up for this stage.
const LAG_ITERATIONS: usize = 4;

/// The linear system with the stencils of contact: the body's pattern and more.
#[derive(Default)]
pub(crate) struct ContactSystem {
    matrix: Option<Matrix>,
    /// None while the body's own pattern is enough.
    solver: Option<Solver>,
    slots: Vec<u32>,
}

impl ContactSystem {
    /// Makes sure that the pattern has the stencils of all active contacts. It is made with the candidates' as well, so that it
    /// lasts.
    fn ensure_pattern(
        &mut self,
        body: &Body,
        solver: &Solver,
        contact: &dyn ContactModel,
    ) -> Result<(), Error> {
        let pattern: &Pattern = self.matrix.as_ref().map_or(body.pattern(), |matrix| matrix.pattern());
        let mut missing = self.matrix.is_none();
        contact.stencils(&mut |stencil| {
            let lacks = |i: u32, j: u32| pattern.slot(i, j).is_none();
            missing |= stencil.iter().any(|&i| stencil.iter().any(|&j| lacks(i, j)));
        });
        if !missing {
            return Ok(());
        }
        let mut stencils: Vec<Vec<u32>> = Vec::new();
        contact.candidate_stencils(&mut |stencil| stencils.push(stencil.to_vec()));
        let wider = body.pattern().with_stencils(stencils.iter().map(Vec::as_slice));
        if wider.block_count() == body.pattern().block_count() {
            *self = Self { matrix: Some(Matrix::new(body.pattern().clone())), ..Self::default() };
            return Ok(());
        }
        let wider = Arc::new(wider);
        self.slots = body.pattern().slots_in(&wider).unwrap_or_default();
        // the order of elimination found for the stencils of a moment ago is a good one
        self.solver = Some(self.solver.as_ref().unwrap_or(solver).extended(&wider)?);
        self.matrix = Some(Matrix::new(wider));
        Ok(())
    }

    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Newton's method in one stage: what it knows of the iterations so far.
struct Progress {
    report: NewtonReport,
    /// The size of the step before the last, and of the one before that.
    before: f64,
    earlier: f64,
    /// Steps go downhill in Φ, and obstacles are frozen.
    line_search: bool,
    /// What obstacles lacked when they were frozen, in metres.
    lag: f64,
}

impl Progress {
    /// Whether the step just taken, bounded as given, was the last.
    fn is_converged(&self, stage: &Stage, bound: &StepBound, tolerance: f64) -> bool {
        let NewtonReport { iterations, residual, .. } = self.report;
        // Contact comes and goes: nothing is known of how steps shrink before the third.
        let ratio = if iterations > 2 { (residual / self.before).clamp(0.3, 0.9) } else { 0.5 };
        let missing = residual * ratio / (1.0 - ratio);
        // Averages hold only after a whole step; otherwise a few points that are held back need no further one.
        let is_whole = bound.shortened == 0 || (stage.rows.is_empty() && iterations > 2);
        let arrived = bound.lag <= tolerance || iterations >= LAG_ITERATIONS;
        missing < tolerance && is_whole && arrived
    }

    /// Cloth that is pinched can be thrown far by a step that follows its linear model: no step that grows is followed by another
    /// without a line search.
    fn needs_line_search(&self) -> bool {
        let NewtonReport { iterations, residual, .. } = self.report;
        let grows = iterations > 1 && residual > self.before;
        !self.line_search && (grows || (iterations >= 4 && residual > 0.8 * self.earlier))
    }
}

impl Workspace {
    /// Solves a stage of backward Euler in contact: from where it starts, `stage.base`; `x` has the guess and receives the result.
    /// Beside how it went: how far obstacles are behind, in metres.
    ///
    /// Every iterate is free of intersections: it is reached from the one before on a straight way that the contact model has
    /// certified. So also one at which iterations ran out is, with velocities from the way made, an admissible place.
    ///
    /// Newton starts from the start, where the body is in equilibrium, and not from the guess: cut short where it meets something, that
    /// is torn, and what is stiff takes many iterations to forget it (on a draped sheet 9.3 a frame instead of 6.0).
    pub(crate) fn solve_with_contact(
        &mut self,
        body: &Body,
        stage: &Stage,
        newton: NewtonSettings,
        contact: &mut dyn ContactModel,
        x: &mut [Vec3],
    ) -> Result<(NewtonReport, f64), Error> {
        let mut bound = self.begin_contact_stage(body, stage, contact, x)?;
        let staged = StagedBody::new(body, &stage.history);
        let guide = stage.sample.guide_positions;
        let mut previous = stage.base.to_vec();
        let report = NewtonReport::default();
        let mut progress =
            Progress { report, before: 0.0, earlier: f64::INFINITY, line_search: false, lag: 0.0 };
        let tolerance = TOLERANCE_RATIO * newton.tolerance;
        while progress.report.iterations < newton.iterations.min(MAX_ITERATIONS) {
            self.check_cancelled()?;
            contact.update_contacts(x)?;
            if progress.line_search {
                previous.copy_from_slice(x);
            }
            let solution = self.solve_contact_step(body, &staged, stage, contact, x, &previous)?;
            progress.report.factorizations += usize::from(solution.factorized);
            progress.report.linear_iterations += solution.iterations;
            progress.before = progress.report.residual;
            progress.report.residual = self.size_of_step(body);
            previous.copy_from_slice(x);
            let is_steady = (0..x.len()).all(|i| !body.known()[i] || x[i] == guide[i]);
            bound = if progress.line_search && is_steady {
                self.apply_step_downhill(body, &staged, stage, contact, x)?
            } else {
                self.apply_step(body, contact, guide, x)?
            };
            progress.report.iterations += 1;
            if !progress.report.residual.is_finite() {
                break;
            }
            if progress.is_converged(stage, &bound, tolerance) {
                progress.report.converged = true;
                break;
            }
            if progress.needs_line_search() {
                progress.line_search = true;
                // half a step of the cloth beside a whole one of what pushes it would not be certified
                progress.lag = bound.lag;
                contact.freeze_obstacles();
            }
            progress.earlier = progress.before;
        }
        contact.end_stage(x);
        Ok((progress.report, bound.lag.max(progress.lag)))
    }

    /// Begins at the stage's start. Obstacles, and known points with them, first go as far as is free: a linear model of their push
    /// would drag cloth along behind what withdraws.
    fn begin_contact_stage(
        &mut self,
        body: &Body,
        stage: &Stage,
        contact: &mut dyn ContactModel,
        x: &mut [Vec3],
    ) -> Result<StepBound, Error> {
        let start = stage.base;
        let guide = stage.sample.guide_positions;
        for (i, x) in x.iter_mut().enumerate().filter(|(i, _)| body.known()[*i]) {
            *x = guide[i];
        }
        self.external.linearise(body, stage, x);
        contact.begin_stage(&ContactStage {
            start,
            guess: x,
            masses: body.masses(),
            known: body.known(),
            seconds: stage.implicit_dt,
            time: stage.sample.time,
        })?;
        x.copy_from_slice(start);
        for (i, delta) in self.delta.iter_mut().enumerate() {
            *delta = if body.known()[i] { guide[i] - start[i] } else { Vec3::ZERO };
        }
        self.apply_step(body, contact, guide, x)
    }

    /// delta ← the Newton step with the contact model's part.
    fn solve_contact_step(
        &mut self,
        body: &Body,
        staged: &StagedBody,
        stage: &Stage,
        contact: &mut dyn ContactModel,
        x: &[Vec3],
        previous: &[Vec3],
    ) -> Result<linear::Solution, Error> {
        let mut system = std::mem::take(&mut self.contact_system);
        system.ensure_pattern(body, &self.solver, contact)?;
        self.residual(body, staged, stage, x);
        self.assemble(body, staged, stage, x, previous);
        let solution = self.solve_contact_system(body, stage, &mut system, contact, x);
        self.contact_system = system;
        solution
    }

    /// Solves the system that `assemble` left, with the contact model's part added, into delta.
    fn solve_contact_system(
        &mut self,
        body: &Body,
        stage: &Stage,
        system: &mut ContactSystem,
        contact: &mut dyn ContactModel,
        x: &[Vec3],
    ) -> Result<linear::Solution, Error> {
        let Some(matrix) = &mut system.matrix else {
            return Err(Error::Sizes { what: "systems", expected: 1, got: 0 });
        };
        if system.solver.is_some() {
            matrix.set_zero();
            for (&slot, value) in system.slots.iter().zip(self.system.values()) {
                matrix.values_mut()[slot as usize] = *value;
            }
        } else {
            matrix.values_mut().copy_from_slice(self.system.values());
        }
        contact.assemble(x, &mut self.force, matrix);
        for i in 0..x.len() {
            self.delta[i] = if body.known()[i] { stage.sample.guide_positions[i] - x[i] } else { Vec3::ZERO };
        }
        self.update_constraint_residual(stage, x);
        let solver = system.solver.as_mut().unwrap_or(&mut self.solver);
        let solution = solver.solve(
            matrix,
            &self.force,
            stage.rows,
            &self.constraint_residual,
            &mut self.delta,
            &mut self.multipliers,
            1e-4,
        )?;
        Ok(solution)
    }

    /// Takes as much of `delta` as is free and goes downhill in Φ, the contact potential included. Known points are where they
    /// should be, and obstacles are frozen.
    fn apply_step_downhill(
        &mut self,
        body: &Body,
        staged: &StagedBody,
        stage: &Stage,
        contact: &mut dyn ContactModel,
        x: &mut [Vec3],
    ) -> Result<StepBound, Error> {
        let bound = contact.limit_step(x, &mut self.delta)?;
        // To reach its averages the body may have to go uphill in Φ. With their pull λ, which came with the step, it goes downhill
        // in Φ + λᵀ(C x − c): the slope there is −δᵀKδ.
        let pull = |multipliers: &[Vec3], y: &[Vec3]| -> f64 {
            let hard = |r: &usize| stage.rows.compliance()[*r] == 0.0;
            let values = stage.rows.multiply(y);
            (0..values.len()).filter(hard).map(|r| multipliers[r].dot(values[r])).sum()
        };
        let start = self.merit(body, staged, stage, x) + contact.value(x) + pull(&self.multipliers, x);
        let slope: f64 = -self.force.iter().zip(&self.delta).map(|(f, d)| f.dot(*d)).sum::<f64>();
        let slope = slope + pull(&self.multipliers, &self.delta);
        let mut length = 1.0;
        let mut trial = x.to_vec();
        for _ in 0..MAX_HALVINGS {
            for i in 0..x.len() {
                trial[i] = x[i] + length * self.delta[i];
            }
            let value = self.merit(body, staged, stage, &trial)
                + contact.value(&trial)
                + pull(&self.multipliers, &trial);
            if value <= start + 1e-4 * length * slope.min(0.0) + 1e-12 * start.abs() {
                break;
            }
            length *= 0.5;
        }
        for i in (0..x.len()).filter(|&i| !body.known()[i]) {
            x[i] += length * self.delta[i];
        }
        Ok(StepBound { shortened: bound.shortened + usize::from(length < 1.0), ..bound })
    }

    /// Takes as much of `delta` as is free.
    fn apply_step(
        &mut self,
        body: &Body,
        contact: &mut dyn ContactModel,
        guide: &[Vec3],
        x: &mut [Vec3],
    ) -> Result<StepBound, Error> {
        let wanted = self.delta.clone();
        let mut bound = contact.limit_step(x, &mut self.delta)?;
        for i in 0..x.len() {
            if body.known()[i] && self.delta[i] == wanted[i] {
                // to the bit where nothing is in the way
                x[i] = guide[i];
            } else {
                x[i] += self.delta[i];
            }
            if body.known()[i] {
                bound.lag = bound.lag.max(x[i].distance(guide[i]));
            }
        }
        Ok(bound)
    }
}
