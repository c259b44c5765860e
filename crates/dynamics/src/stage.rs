//! One implicit stage, solved by Newton's method with line search; where something is in the way, see `contact.rs`.
//!
//! Every integrator asks the same question. With v = (x − p)/s, find x so that
//!
//! ```text
//! M (v − w)/s = f(x, v, t)
//! ```
//!
//! where p, w and the implicit time s come from the method. It is the stationary point of
//!
//! ```text
//! Φ(x) = ‖x − p − s w‖²_M/(2s²) + E(x) + friction(x) − (work of linearised external forces),
//! ```
//!
//! so Newton steps with positive definite matrices go downhill in Φ, and a line search makes them safe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use geometry::Vec3;
use linear::{ConstraintRows, Matrix, Solver};

use crate::body::StagedBody;
use crate::contact::ContactSystem;
use crate::{Body, Error, GuideSample, StageHistory};

/// What a stage solves for.
pub(crate) struct Stage<'a> {
    /// p: where x would be with v = 0.
    pub(crate) base: &'a [Vec3],
    /// w: what v would be without force.
    pub(crate) drift: &'a [Vec3],
    /// s, in seconds.
    pub(crate) implicit_dt: f64,
    /// A guess beside the one that Newton is given; it starts from the one with the lower Φ.
    pub(crate) other_guess: Option<&'a [Vec3]>,
    /// What strain rates are measured from.
    pub(crate) history: StageHistory<'a>,
    /// When, and where the guide is then.
    pub(crate) sample: GuideSample<'a>,
    /// The averages as they are at that moment: weights and compliance.
    pub(crate) rows: &'a ConstraintRows,
    /// What the averages must be.
    pub(crate) averages: &'a [Vec3],
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewtonSettings {
    /// Iterations at most.
    pub(crate) iterations: usize,
    /// Stop when points are within this of the answer, in metres.
    pub(crate) tolerance: f64,
    /// One step without line search is all that is wanted: linearly implicit methods.
    pub(crate) linear: bool,
}

/// How a stage went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewtonReport {
    pub(crate) iterations: usize,
    pub(crate) factorizations: usize,
    pub(crate) linear_iterations: usize,
    /// How far points moved in the last iteration, in metres.
    pub(crate) residual: f64,
    pub(crate) converged: bool,
}

/// Bodies of fewer points are not worth a second thread.
const PARALLEL_POINTS: usize = 200;

/// Corrections with a factor after the Newton step it was made for, at most.
const CORRECTIONS: usize = 4;
/// A correction must shrink at least by this factor over the step before; worse ones are not taken, as they may
/// lead away: a factor knows the stiff directions only where it was made.
const CORRECTION_SHRINKS: f64 = 0.3;
/// Share of Newton's tolerance that corrections may leave. They converge linearly, so that, unlike after a Newton step, the
/// estimate of what is missing is what is missing, and the next step would start with it.
const CORRECTED_SHARE: f64 = 0.2;

/// Scratch of the stages: may be dropped at any moment.
pub(crate) struct Workspace {
    pub(crate) solver: Solver,
    pub(crate) contact_system: ContactSystem,
    pub(crate) system: Matrix,
    pub(crate) external: ExternalForces,
    velocity: Vec<Vec3>,
    pub(crate) force: Vec<Vec3>,
    pub(crate) delta: Vec<Vec3>,
    trial: Vec<Vec3>,
    pub(crate) multipliers: Vec<Vec3>,
    pub(crate) constraint_residual: Vec<Vec3>,
    /// Solves end once it is set.
    pub(crate) cancel: Option<Arc<AtomicBool>>,
}

impl Workspace {
    pub(crate) fn new(body: &Body, settings: linear::Settings) -> Result<Self, Error> {
        let zeros = vec![Vec3::ZERO; body.point_count()];
        let rows = vec![Vec3::ZERO; body.averages().len()];
        Ok(Self {
            solver: Solver::new(body.pattern(), body.known(), body.averages(), settings)?,
            contact_system: ContactSystem::default(),
            system: Matrix::new(body.pattern().clone()),
            external: ExternalForces::new(body),
            velocity: zeros.clone(),
            force: zeros.clone(),
            delta: zeros.clone(),
            trial: zeros,
            multipliers: rows.clone(),
            constraint_residual: rows,
            cancel: None,
        })
    }

    /// An error where somebody wants to stop.
    pub(crate) fn check_cancelled(&self) -> Result<(), Error> {
        match &self.cancel {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(Error::Cancelled),
            _ => Ok(()),
        }
    }

    /// Solves the stage from the guess in `x`, which came from the converged `start`. `x` holds the last iterate also when
    /// it did not converge.
    ///
    /// Full steps first: on stiff bodies that turn, a line search would creep along the curved path in tiny steps. Only
    /// when they do not contract is the stage solved again with one.
    pub(crate) fn solve(
        &mut self,
        body: &Body,
        stage: &Stage,
        newton: NewtonSettings,
        start: &[Vec3],
        x: &mut [Vec3],
    ) -> Result<NewtonReport, Error> {
        // Entering the pool once for all loops below: from outside, each would wake and wait for a thread.
        if body.point_count() < PARALLEL_POINTS {
            self.solve_here(body, stage, newton, start, x)
        } else {
            rayon::scope(|_| self.solve_here(body, stage, newton, start, x))
        }
    }

    fn solve_here(
        &mut self,
        body: &Body,
        stage: &Stage,
        newton: NewtonSettings,
        start: &[Vec3],
        x: &mut [Vec3],
    ) -> Result<NewtonReport, Error> {
        let staged = StagedBody::new(body, &stage.history);
        self.external.linearise(body, stage, x);
        if let Some(other) = stage.other_guess
            && self.merit(body, &staged, stage, other) < self.merit(body, &staged, stage, x)
        {
            x.copy_from_slice(other);
            self.external.linearise(body, stage, x);
        }
        let guess = x.to_vec();
        let bold = self.iterate(body, &staged, stage, newton, false, start, x)?;
        if bold.converged {
            return Ok(bold);
        }
        x.copy_from_slice(&guess);
        let careful = self.iterate(body, &staged, stage, newton, true, start, x)?;
        Ok(NewtonReport {
            iterations: bold.iterations + careful.iterations,
            factorizations: bold.factorizations + careful.factorizations,
            linear_iterations: bold.linear_iterations + careful.linear_iterations,
            ..careful
        })
    }

    fn iterate(
        &mut self,
        body: &Body,
        staged: &StagedBody,
        stage: &Stage,
        newton: NewtonSettings,
        careful: bool,
        start: &[Vec3],
        x: &mut [Vec3],
    ) -> Result<NewtonReport, Error> {
        let mut solved = NewtonReport::default();
        let count = x.len();
        let mut previous = start.to_vec();
        let mut earlier = f64::INFINITY;
        while solved.iterations < newton.iterations {
            self.check_cancelled()?;
            self.residual(body, staged, stage, x);
            if careful {
                previous.copy_from_slice(x);
            }
            self.assemble(body, staged, stage, x, &previous);

            // Known points go to their places within this step and pull their neighbours along.
            for i in 0..count {
                self.delta[i] =
                    if body.known()[i] { stage.sample.guide_positions[i] - x[i] } else { Vec3::ZERO };
            }
            self.update_constraint_residual(stage, x);
            let exact_already =
                self.delta.iter().chain(&self.constraint_residual).all(|d| d.length_squared() < 1e-30);
            // Far from the answer the direction matters more than its digits.
            let tolerance = if newton.linear { 5e-8 } else { 5e-4 };
            let solution = self.solver.solve(
                &self.system,
                &self.force,
                stage.rows,
                &self.constraint_residual,
                &mut self.delta,
                &mut self.multipliers,
                tolerance,
            )?;
            solved.factorizations += usize::from(solution.factorized);
            solved.linear_iterations += solution.iterations;

            // The first step may be needed to reach the constraints at all, so only later ones are shortened.
            let length =
                if careful && exact_already { self.line_search(body, staged, stage, x) } else { 1.0 };
            previous.copy_from_slice(x);
            for i in 0..count {
                x[i] += length * self.delta[i];
                if body.known()[i] {
                    x[i] = stage.sample.guide_positions[i];
                }
            }
            solved.iterations += 1;
            let before = solved.residual;
            solved.residual = self.size_of_step(body);
            // Steps shrink by about the same factor each time (a third, before anything is known), so what is still missing
            // is the rest of a geometric series. A shortened step says nothing about it.
            let ratio = if solved.iterations > 1 { (solved.residual / before).clamp(0.1, 0.9) } else { 0.3 };
            let missing = solved.residual * ratio / (1.0 - ratio);
            if newton.linear || (length == 1.0 && missing < newton.tolerance) {
                solved.converged = solved.residual.is_finite();
                break;
            }
            if !careful && self.correct(body, staged, stage, newton, &mut previous, x, &mut solved)? {
                solved.converged = true;
                break;
            }
            // Crumpled cloth converges by fits and starts: what counts is the way over two steps.
            let contracts = solved.iterations < 4 || solved.residual < 0.8 * earlier;
            if !solved.residual.is_finite() || !(careful || contracts) {
                break;
            }
            earlier = before;
        }
        Ok(solved)
    }

    /// Goes on from a Newton step with the factor that it left: most of what is missing is of second order in that step,
    /// and a triangular solve finds it at a fraction of a factorisation's price. True when nothing is missing any more.
    fn correct(
        &mut self,
        body: &Body,
        staged: &StagedBody,
        stage: &Stage,
        newton: NewtonSettings,
        previous: &mut [Vec3],
        x: &mut [Vec3],
        solved: &mut NewtonReport,
    ) -> Result<bool, Error> {
        for _ in 0..CORRECTIONS {
            self.residual(body, staged, stage, x);
            self.delta.copy_from_slice(&self.force);
            self.update_constraint_residual(stage, x);
            self.multipliers.copy_from_slice(&self.constraint_residual);
            if !self.solver.correct(stage.rows, &mut self.delta, &mut self.multipliers)? {
                return Ok(false);
            }
            solved.linear_iterations += 1;
            let ratio = self.size_of_step(body) / solved.residual;
            if ratio.is_nan() || ratio > CORRECTION_SHRINKS {
                self.solver.reject_factor();
                return Ok(false);
            }
            previous.copy_from_slice(x);
            for (x, delta) in x.iter_mut().zip(&self.delta) {
                *x += *delta;
            }
            solved.residual *= ratio;
            if solved.residual * ratio / (1.0 - ratio) < CORRECTED_SHARE * newton.tolerance {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// row_residual ← what averages lack.
    pub(crate) fn update_constraint_residual(&mut self, stage: &Stage, x: &[Vec3]) {
        let reached = stage.rows.multiply(x);
        for (row, (want, have)) in self.constraint_residual.iter_mut().zip(stage.averages.iter().zip(reached))
        {
            *row = *want - have;
        }
    }

    /// How far the step moves the points: the root mean square, or a twentieth of the largest where that is more, so that a
    /// few wild points among thousands are not overlooked.
    pub(crate) fn size_of_step(&self, body: &Body) -> f64 {
        let (mut sum, mut largest, mut count) = (0.0, 0.0_f64, 0_usize);
        for (delta, _) in self.delta.iter().zip(body.known()).filter(|(_, known)| !**known) {
            let squared = delta.length_squared();
            (sum, largest, count) = (sum + squared, largest.max(squared), count + 1);
        }
        (sum / count.max(1) as f64).sqrt().max(0.05 * largest.sqrt())
    }

    /// Solves (M/s² + …) y = M/s² · y in place with the last system: damps the stiff part of an error estimate.
    pub(crate) fn smooth(
        &mut self,
        body: &Body,
        rows: &ConstraintRows,
        implicit_dt: f64,
        y: &mut [Vec3],
    ) -> Result<(), Error> {
        let weight = 1.0 / (implicit_dt * implicit_dt);
        for (i, f) in self.force.iter_mut().enumerate() {
            *f = if body.mass().is_lumped() {
                weight * body.masses()[i] * y[i]
            } else {
                weight * body.mass().row_times(i, |j| y[j])
            };
        }
        // not the stage's own: those are the forces that hold its averages
        let mut multipliers = vec![Vec3::ZERO; rows.len()];
        y.copy_from_slice(&self.force);
        if self.solver.correct(rows, y, &mut multipliers)? {
            return Ok(());
        }
        // no guess: the smooth estimate is far smaller than the raw one
        y.fill(Vec3::ZERO);
        self.constraint_residual.fill(Vec3::ZERO);
        self.solver.solve(
            &self.system,
            &self.force,
            rows,
            &self.constraint_residual,
            y,
            &mut multipliers,
            1e-2,
        )?;
        Ok(())
    }

    /// force ← −dΦ/dx, the right-hand side of Newton's step.
    pub(crate) fn residual(&mut self, body: &Body, staged: &StagedBody, stage: &Stage, x: &[Vec3]) {
        let s = stage.implicit_dt;
        for (v, (x, p)) in self.velocity.iter_mut().zip(x.iter().zip(stage.base)) {
            *v = (*x - *p) / s;
        }
        staged.force(&stage.sample, x, &self.velocity, &mut self.force);
        let change = |i: usize| self.velocity[i] - stage.drift[i];
        for i in 0..x.len() {
            self.force[i] -= if body.mass().is_lumped() {
                body.masses()[i] / s * change(i)
            } else {
                body.mass().row_times(i, change) / s
            };
        }
        self.external.add_force(&self.velocity, &mut self.force);
    }

    /// system ← M/s² + D/s + K + outer damping/s.
    pub(crate) fn assemble(
        &mut self,
        body: &Body,
        staged: &StagedBody,
        stage: &Stage,
        x: &[Vec3],
        previous: &[Vec3],
    ) {
        let s = stage.implicit_dt;
        self.external.overwrite(1.0 / s, &mut self.system);
        staged.add_stiffness(&stage.sample, x, previous, &mut self.system);
        body.add_mass(1.0 / (s * s) + body.mass_damping() / s, &mut self.system);
    }

    /// The largest of 1, ½, ¼ … along `delta` that goes downhill in Φ as it should (Armijo).
    fn line_search(&mut self, body: &Body, staged: &StagedBody, stage: &Stage, x: &[Vec3]) -> f64 {
        let start = self.merit(body, staged, stage, x);
        let slope: f64 = -self.force.iter().zip(&self.delta).map(|(f, d)| f.dot(*d)).sum::<f64>();
        let mut length = 1.0;
        // 2⁻¹² of a Newton step is no progress; the caller then shortens the time step instead.
        for _ in 0..12 {
            let mut trial = std::mem::take(&mut self.trial);
            for i in 0..x.len() {
                trial[i] = x[i] + length * self.delta[i];
            }
            let value = self.merit(body, staged, stage, &trial);
            self.trial = trial;
            // Round-off in large sums must not reject the last tiny step.
            if value <= start + 1e-4 * length * slope.min(0.0) + 1e-12 * start.abs() {
                break;
            }
            length *= 0.5;
        }
        length
    }

    /// Φ at `y`.
    pub(crate) fn merit(&mut self, body: &Body, staged: &StagedBody, stage: &Stage, y: &[Vec3]) -> f64 {
        let s = stage.implicit_dt;
        let mut value = staged.value(&stage.sample, y);
        for i in 0..y.len() {
            let v = (y[i] - stage.base[i]) / s;
            let inertia =
                (v - stage.drift[i]).length_squared() + s * body.mass_damping() * v.length_squared();
            if body.mass().is_lumped() {
                value += 0.5 * body.masses()[i] * inertia;
            }
            self.velocity[i] = v;
        }
        if !body.mass().is_lumped() {
            value += body.mass().energy(|i| self.velocity[i] - stage.drift[i]);
            value += s * body.mass_damping() * body.mass().energy(|i| self.velocity[i]);
        }
        value += self.external.work(s, &self.velocity);
        for (row, (want, have)) in stage.averages.iter().zip(stage.rows.multiply(y)).enumerate() {
            let compliance = stage.rows.compliance()[row];
            if compliance > 0.0 {
                value += (*want - have).length_squared() / (2.0 * compliance);
            }
        }
        value
    }
}

/// Forces without potential over a stage, linearised where the stage is expected to end:
/// f(x, v) ≈ f(x̂, v̂) − B (v − v̂), B = −df/dv.
///
/// The expectation is second-order accurate, and so is the force. Linear in v it has a potential, so that the line search sees
/// all of Φ, and it is evaluated once a stage instead of in every iteration.
pub(crate) struct ExternalForces {
    /// None: no such forces.
    active: bool,
    force: Vec<Vec3>,
    velocity: Vec<Vec3>,
    damping: Matrix,
    relative: Vec<Vec3>,
    product: Vec<Vec3>,
}

impl ExternalForces {
    fn new(body: &Body) -> Self {
        let zeros = vec![Vec3::ZERO; body.point_count()];
        Self {
            active: body.has_external_forces(),
            force: zeros.clone(),
            velocity: zeros.clone(),
            damping: Matrix::new(body.pattern().clone()),
            relative: zeros.clone(),
            product: zeros,
        }
    }

    pub(crate) fn linearise(&mut self, body: &Body, stage: &Stage, guess: &[Vec3]) {
        if !self.active {
            return;
        }
        for (v, (x, p)) in self.velocity.iter_mut().zip(guess.iter().zip(stage.base)) {
            *v = (*x - *p) / stage.implicit_dt;
        }
        self.force.fill(Vec3::ZERO);
        body.add_external_force(&stage.sample, guess, &self.velocity, &mut self.force);
        self.damping.set_zero();
        body.add_external_damping(&stage.sample, guess, &self.velocity, 1.0, &mut self.damping);
    }

    /// product ← B (v − v̂)
    fn resist(&mut self, v: &[Vec3]) {
        for (r, (v, expected)) in self.relative.iter_mut().zip(v.iter().zip(&self.velocity)) {
            *r = *v - *expected;
        }
        self.damping.multiply(&self.relative, &mut self.product);
    }

    fn add_force(&mut self, v: &[Vec3], force: &mut [Vec3]) {
        if self.active {
            self.resist(v);
            for (f, (external, resisted)) in force.iter_mut().zip(self.force.iter().zip(&self.product)) {
                *f += *external - *resisted;
            }
        }
    }

    /// matrix ← scale · B
    fn overwrite(&self, scale: f64, matrix: &mut Matrix) {
        if !self.active {
            return matrix.set_zero();
        }
        for (a, b) in matrix.values_mut().iter_mut().zip(self.damping.values()) {
            *a = *b * scale;
        }
    }

    /// The potential of the linearised force: −s f·v + (s/2)(v − v̂)ᵀB(v − v̂), up to a constant.
    fn work(&mut self, s: f64, v: &[Vec3]) -> f64 {
        if !self.active {
            return 0.0;
        }
        self.resist(v);
        let of = |i: usize| 0.5 * self.relative[i].dot(self.product[i]) - self.force[i].dot(v[i]);
        s * (0..v.len()).map(of).sum::<f64>()
    }
}
