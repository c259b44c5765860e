//! What a body may not pass through, as an implicit step meets it.
//!
//! The engine knows nothing of surfaces. It asks, in every Newton iteration, for the push of what is near, and after every
//! solve how much of the step each point may take. The crate `contact` answers.

use std::sync::Arc;

use geometry::Vec3;
use linear::{Matrix, Pattern, Solver};

use crate::body::StagedBody;
use crate::stage::{Newton, Solved, Stage, Workspace};
use crate::{Body, Error};

/// Surfaces, the body's own included, that nothing may cross.
///
/// Whatever is asked of it between [`Obstruction::commit`] and the next [`Obstruction::rewind`] is a trial: a step that is
/// thrown away leaves nothing behind.
pub trait Obstruction: Send {
    /// Whether the straight way from `start` to `end`, with what moves by itself on its way to where it is at `time`, comes
    /// near nothing. Then a step needs no further thought.
    fn is_clear(&mut self, start: &[Vec3], end: &[Vec3], time: f64) -> Result<bool, Error>;

    /// A quick look whether a step from `start`, perhaps to `guess`, is worth trying as if nothing were near. To be wrong costs
    /// time, no more: the step's own way is looked at afterwards.
    fn seems_clear(&mut self, start: &[Vec3], guess: &[Vec3], time: f64) -> Result<bool, Error> {
        self.is_clear(start, guess, time)
    }

    /// How many times further what moves by itself, and is in the way, goes in `seconds` than a step can follow. At most 1: no
    /// shorter steps are needed for it.
    fn haste(&self, seconds: f64) -> f64;

    /// What moves by itself goes to where it is at `time`; only after [`Obstruction::is_clear`] said so.
    fn arrive(&mut self, time: f64);

    /// A stage begins.
    fn begin(&mut self, approach: &Approach) -> Result<(), Error>;

    /// Finds what is felt at `x`.
    fn look(&mut self, x: &[Vec3]) -> Result<(), Error>;

    /// Visits the points that each second derivative of what is felt couples.
    fn couplings(&self, visit: &mut dyn FnMut(&[u32]));

    /// Visits couplings that may be needed soon, those of [`Obstruction::couplings`] included: asked when the sparsity has to
    /// change anyway.
    fn coming_couplings(&self, visit: &mut dyn FnMut(&[u32])) {
        self.couplings(visit);
    }

    /// The potential of the push at `x`, in joules: what [`Obstruction::add_to`] adds is its slope, as long as that is not
    /// asked again.
    fn value(&self, x: &[Vec3]) -> f64;

    /// Adds the push at `x` to `force` and its positive semidefinite stiffness to `matrix`. What moves by itself during this
    /// iteration pushes already where it will be.
    fn add_to(&mut self, x: &[Vec3], force: &mut [Vec3], matrix: &mut Matrix);

    /// What moves by itself stays where it is for the rest of the stage.
    fn hold(&mut self);

    /// Shortens the step `delta` from `x`, point by point, so that nothing crosses on the straight way, and takes what moves
    /// by itself along.
    fn restrain(&mut self, x: &[Vec3], delta: &mut [Vec3]) -> Result<Restraint, Error>;

    /// The stage ended at `x`.
    fn end(&mut self, x: &[Vec3]);

    /// All since the last call is final.
    fn commit(&mut self);

    /// Nothing since the last commit has happened.
    fn rewind(&mut self);
}

/// Where a stage comes from and where it would go.
#[derive(Clone, Copy, Debug)]
pub struct Approach<'a> {
    /// Free of crossings.
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
pub struct Restraint {
    /// Points that may not go the whole way.
    pub shortened: usize,
    /// How far what moves by itself is behind its place, in metres.
    pub lag: f64,
}

/// Newton iterations of a stage in contact at most. The state is free of crossings after each, so stopping early costs
/// accuracy, not safety.
const ITERATIONS: usize = 8;
/// Permitted error in contact, in terms of that of smooth motion: steps of first order do not deserve more.
const COARSER: f64 = 4.0;
/// A Newton step is halved this often at most to go downhill.
const HALVINGS: usize = 6;
/// Iterations after which what moves by itself, and is still behind, is given up for this stage.
const PATIENCE: usize = 4;

/// The system with the couplings of contact: the body's pattern and more.
#[derive(Default)]
pub(crate) struct Extension {
    matrix: Option<Matrix>,
    /// None while the body's own pattern is enough.
    solver: Option<Solver>,
    slots: Vec<u32>,
}

impl Extension {
    /// Makes sure that the obstruction's couplings have their places. The pattern is made with what may come soon, so that it
    /// lasts.
    fn cover(&mut self, body: &Body, solver: &Solver, obstruction: &dyn Obstruction) -> Result<(), Error> {
        let pattern: &Pattern = self.matrix.as_ref().map_or(body.pattern(), |matrix| matrix.pattern());
        let mut missing = self.matrix.is_none();
        obstruction.couplings(&mut |stencil| {
            let lacks = |i: u32, j: u32| pattern.slot(i, j).is_none();
            missing |= stencil.iter().any(|&i| stencil.iter().any(|&j| lacks(i, j)));
        });
        if !missing {
            return Ok(());
        }
        let mut stencils: Vec<Vec<u32>> = Vec::new();
        obstruction.coming_couplings(&mut |stencil| stencils.push(stencil.to_vec()));
        let wider = body.pattern().with_stencils(stencils.iter().map(Vec::as_slice));
        if wider.block_count() == body.pattern().block_count() {
            *self = Self { matrix: Some(Matrix::new(body.pattern().clone())), ..Self::default() };
            return Ok(());
        }
        let wider = Arc::new(wider);
        self.slots = body.pattern().slots_in(&wider).unwrap_or_default();
        // the order of elimination found for the couplings of a moment ago is a good one
        self.solver = Some(self.solver.as_ref().unwrap_or(solver).extended(&wider)?);
        self.matrix = Some(Matrix::new(wider));
        Ok(())
    }

    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Workspace {
    /// Solves a stage of backward Euler in contact: from where it starts, `stage.base`; `x` has the guess and receives the result.
    /// Beside how it went: how far what moves by itself is behind, in metres.
    ///
    /// Every iterate is free of crossings: it is reached from the one before on a straight way that the obstruction has looked
    /// at. So also one at which iterations ran out is, with velocities from the way made, an admissible place.
    ///
    /// Newton starts from the start, where the body is in equilibrium, and not from the guess: cut short where it meets something, that
    /// is torn, and what is stiff takes many iterations to forget it (on a draped sheet 9.3 a frame instead of 6.0).
    pub(crate) fn solve_against(
        &mut self,
        body: &Body,
        stage: &Stage,
        newton: Newton,
        obstruction: &mut dyn Obstruction,
        x: &mut [Vec3],
    ) -> Result<(Solved, f64), Error> {
        let start = stage.base;
        let guide = stage.moment.guide_positions;
        for (i, x) in x.iter_mut().enumerate().filter(|(i, _)| body.known()[*i]) {
            *x = guide[i];
        }
        self.outer.linearise(body, stage, x);
        let staged = StagedBody::new(body, &stage.past);
        let approach = Approach {
            start,
            guess: x,
            masses: body.masses(),
            known: body.known(),
            seconds: stage.implicit,
            time: stage.moment.time,
        };
        obstruction.begin(&approach)?;
        x.copy_from_slice(start);
        // What moves by itself, known points too, first goes as far as is free: a linear model of the push would drag cloth along
        // behind what withdraws.
        for (i, delta) in self.delta.iter_mut().enumerate() {
            *delta = if body.known()[i] { guide[i] - start[i] } else { Vec3::ZERO };
        }
        let mut restraint = self.take(body, obstruction, guide, x)?;
        let mut previous = start.to_vec();
        let mut solved = Solved::default();
        let (mut careful, mut earlier, mut lag) = (false, f64::INFINITY, 0.0);
        let iterations = newton.iterations.min(ITERATIONS);
        let tolerance = COARSER * newton.tolerance;
        while solved.iterations < iterations {
            obstruction.look(x)?;
            let mut extension = std::mem::take(&mut self.extension);
            extension.cover(body, &self.solver, obstruction)?;
            self.residual(body, &staged, stage, x);
            if careful {
                previous.copy_from_slice(x);
            }
            self.assemble(body, &staged, stage, x, &previous);
            let solution = self.solve_extended(body, stage, &mut extension, obstruction, x);
            self.extension = extension;
            let solution = solution?;
            solved.factorizations += usize::from(solution.factorized);
            solved.linear_iterations += solution.iterations;
            let before = solved.residual;
            solved.residual = self.size_of_step(body);
            previous.copy_from_slice(x);
            let is_steady = (0..x.len()).all(|i| !body.known()[i] || x[i] == guide[i]);
            restraint = if careful && is_steady {
                self.take_downhill(body, &staged, stage, obstruction, x)?
            } else {
                self.take(body, obstruction, guide, x)?
            };
            solved.iterations += 1;
            if !solved.residual.is_finite() {
                break;
            }
            // Contact comes and goes: nothing is known of how steps shrink before the third.
            let ratio = if solved.iterations > 2 { (solved.residual / before).clamp(0.3, 0.9) } else { 0.5 };
            let missing = solved.residual * ratio / (1.0 - ratio);
            // Averages hold only after a whole step; otherwise a few points that are held back need no further one.
            let is_whole = restraint.shortened == 0 || (stage.rows.is_empty() && solved.iterations > 2);
            let arrived = restraint.lag <= tolerance || solved.iterations >= PATIENCE;
            if missing < tolerance && is_whole && arrived {
                solved.converged = true;
                break;
            }
            // Cloth that is pinched can be thrown far by a step that follows its linear model: no step that grows is followed by
            // another without looking.
            let grows = solved.iterations > 1 && solved.residual > before;
            if !careful && (grows || (solved.iterations >= 4 && solved.residual > 0.8 * earlier)) {
                careful = true;
                // half a step of the cloth beside a whole one of what pushes it would not be certified
                lag = restraint.lag;
                obstruction.hold();
            }
            earlier = before;
        }
        obstruction.end(x);
        Ok((solved, restraint.lag.max(lag)))
    }

    /// delta ← the Newton step with the obstruction's part.
    fn solve_extended(
        &mut self,
        body: &Body,
        stage: &Stage,
        extension: &mut Extension,
        obstruction: &mut dyn Obstruction,
        x: &[Vec3],
    ) -> Result<linear::Solution, Error> {
        let Some(matrix) = &mut extension.matrix else {
            return Err(Error::Sizes { what: "systems", expected: 1, got: 0 });
        };
        if extension.solver.is_some() {
            matrix.set_zero();
            for (&slot, value) in extension.slots.iter().zip(self.system.values()) {
                matrix.values_mut()[slot as usize] = *value;
            }
        } else {
            matrix.values_mut().copy_from_slice(self.system.values());
        }
        obstruction.add_to(x, &mut self.force, matrix);
        for i in 0..x.len() {
            self.delta[i] = if body.known()[i] { stage.moment.guide_positions[i] - x[i] } else { Vec3::ZERO };
        }
        let reached = stage.rows.multiply(x);
        for (row, (want, have)) in self.row_residual.iter_mut().zip(stage.averages.iter().zip(reached)) {
            *row = *want - have;
        }
        let solver = extension.solver.as_mut().unwrap_or(&mut self.solver);
        let solution = solver.solve(
            matrix,
            &self.force,
            stage.rows,
            &self.row_residual,
            &mut self.delta,
            &mut self.multipliers,
            1e-4,
        )?;
        Ok(solution)
    }

    /// Takes as much of `delta` as is free and goes downhill in Φ, the obstruction's potential included. Known points are where they
    /// should be, and what moves by itself is held.
    fn take_downhill(
        &mut self,
        body: &Body,
        staged: &StagedBody,
        stage: &Stage,
        obstruction: &mut dyn Obstruction,
        x: &mut [Vec3],
    ) -> Result<Restraint, Error> {
        let restraint = obstruction.restrain(x, &mut self.delta)?;
        // To reach its averages the body may have to go uphill in Φ. With their pull λ, which came with the step, it goes downhill
        // in Φ + λᵀ(C x − c): the slope there is −δᵀKδ.
        let pull = |pulls: &[Vec3], y: &[Vec3]| -> f64 {
            let hard = |r: &usize| stage.rows.compliance()[*r] == 0.0;
            let values = stage.rows.multiply(y);
            (0..values.len()).filter(hard).map(|r| pulls[r].dot(values[r])).sum()
        };
        let start = self.merit(body, staged, stage, x) + obstruction.value(x) + pull(&self.multipliers, x);
        let slope: f64 = -self.force.iter().zip(&self.delta).map(|(f, d)| f.dot(*d)).sum::<f64>();
        let slope = slope + pull(&self.multipliers, &self.delta);
        let mut length = 1.0;
        let mut trial = x.to_vec();
        for _ in 0..HALVINGS {
            for i in 0..x.len() {
                trial[i] = x[i] + length * self.delta[i];
            }
            let value = self.merit(body, staged, stage, &trial)
                + obstruction.value(&trial)
                + pull(&self.multipliers, &trial);
            if value <= start + 1e-4 * length * slope.min(0.0) + 1e-12 * start.abs() {
                break;
            }
            length *= 0.5;
        }
        for i in (0..x.len()).filter(|&i| !body.known()[i]) {
            x[i] += length * self.delta[i];
        }
        Ok(Restraint { shortened: restraint.shortened + usize::from(length < 1.0), ..restraint })
    }

    /// Takes as much of `delta` as is free.
    fn take(
        &mut self,
        body: &Body,
        obstruction: &mut dyn Obstruction,
        guide: &[Vec3],
        x: &mut [Vec3],
    ) -> Result<Restraint, Error> {
        let wanted = self.delta.clone();
        let mut restraint = obstruction.restrain(x, &mut self.delta)?;
        for i in 0..x.len() {
            if body.known()[i] && self.delta[i] == wanted[i] {
                // to the bit where nothing is in the way
                x[i] = guide[i];
            } else {
                x[i] += self.delta[i];
            }
            if body.known()[i] {
                restraint.lag = restraint.lag.max(x[i].distance(guide[i]));
            }
        }
        Ok(restraint)
    }
}
