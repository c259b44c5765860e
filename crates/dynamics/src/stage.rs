//! One implicit stage, solved by Newton's method with line search: the only place where non-linear equations are solved.
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
//! Φ(x) = ‖x − p − s w‖²_M/(2s²) + E(x) + (s/2)·vᵀDv − (work of forces without potential),
//! ```
//!
//! so Newton steps with positive definite matrices go downhill in Φ, and a line search makes them safe.

use geometry::Vec3;
use linear::{Matrix, Solver};

use crate::{Body, Error, Moment};

/// What a stage solves for.
pub(crate) struct Stage<'a> {
    /// p: where x would be with v = 0.
    pub(crate) base: &'a [Vec3],
    /// w: what v would be without force.
    pub(crate) drift: &'a [Vec3],
    /// s, in seconds.
    pub(crate) implicit: f64,
    /// When, and where the guide is then.
    pub(crate) moment: Moment<'a>,
    /// What the averages must be.
    pub(crate) averages: &'a [Vec3],
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newton {
    /// Iterations at most.
    pub(crate) iterations: usize,
    /// Stop when points move less than this, root mean square, in metres.
    pub(crate) tolerance: f64,
    /// One step without line search is all that is wanted: linearly implicit methods.
    pub(crate) linear: bool,
}

/// How a stage went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Solved {
    pub(crate) iterations: usize,
    pub(crate) factorizations: usize,
    pub(crate) linear_iterations: usize,
    /// Root mean square motion of the last iteration, in metres.
    pub(crate) residual: f64,
    pub(crate) converged: bool,
}

/// Scratch of the stages: may be dropped at any moment.
pub(crate) struct Workspace {
    pub(crate) solver: Solver,
    system: Matrix,
    pub(crate) damping: Matrix,
    velocity: Vec<Vec3>,
    force: Vec<Vec3>,
    outer: Vec<Vec3>,
    damped: Vec<Vec3>,
    delta: Vec<Vec3>,
    trial: Vec<Vec3>,
    multipliers: Vec<Vec3>,
    row_residual: Vec<Vec3>,
}

impl Workspace {
    pub(crate) fn new(body: &Body, settings: linear::Settings) -> Result<Self, Error> {
        let zeros = vec![Vec3::ZERO; body.point_count()];
        let rows = vec![Vec3::ZERO; body.averages().len()];
        Ok(Self {
            solver: Solver::new(body.pattern(), body.known(), body.averages(), settings)?,
            system: Matrix::new(body.pattern().clone()),
            damping: Matrix::new(body.pattern().clone()),
            velocity: zeros.clone(),
            force: zeros.clone(),
            outer: zeros.clone(),
            damped: zeros.clone(),
            delta: zeros.clone(),
            trial: zeros,
            multipliers: rows.clone(),
            row_residual: rows,
        })
    }

    /// Solves the stage from the guess in `x`. `x` holds the best iterate also when it did not converge.
    pub(crate) fn solve(
        &mut self,
        body: &Body,
        stage: &Stage,
        newton: Newton,
        x: &mut [Vec3],
    ) -> Result<Solved, Error> {
        let mut solved = Solved::default();
        let count = x.len();
        let free = body.known().iter().filter(|known| !**known).count().max(1);
        while solved.iterations < newton.iterations {
            self.residual(body, stage, x);
            self.assemble(body, stage, x);

            // Known points go to their places within this step and pull their neighbours along.
            for i in 0..count {
                self.delta[i] =
                    if body.known()[i] { stage.moment.guide_positions[i] - x[i] } else { Vec3::ZERO };
            }
            let reached = body.averages().multiply(x);
            for (row, (want, have)) in self.row_residual.iter_mut().zip(stage.averages.iter().zip(reached)) {
                *row = *want - have;
            }
            let exact_already =
                self.delta.iter().chain(&self.row_residual).all(|d| d.length_squared() < 1e-30);
            // Far from the answer the direction matters more than its digits.
            let tolerance = if newton.linear { 1e-10 } else { 1e-4 };
            let solution = self.solver.solve(
                &self.system,
                &self.force,
                body.averages(),
                &self.row_residual,
                &mut self.delta,
                &mut self.multipliers,
                tolerance,
            )?;
            solved.factorizations += usize::from(solution.factorized);
            solved.linear_iterations += solution.iterations;

            // The first step may be needed to reach the constraints at all, so only later ones are shortened.
            let searching = !newton.linear && exact_already;
            let length = if searching { self.line_search(body, stage, x) } else { 1.0 };
            for i in 0..count {
                x[i] += length * self.delta[i];
                if body.known()[i] {
                    x[i] = stage.moment.guide_positions[i];
                }
            }
            solved.iterations += 1;
            let moved: f64 =
                (0..count).filter(|&i| !body.known()[i]).map(|i| self.delta[i].length_squared()).sum();
            solved.residual = (moved / free as f64).sqrt();
            if !solved.residual.is_finite() {
                break;
            }
            if newton.linear || solved.residual < newton.tolerance {
                solved.converged = true;
                break;
            }
        }
        Ok(solved)
    }

    /// Solves (M/s² + …) y = M/s² · y in place with the last system: damps the stiff part of an error estimate.
    pub(crate) fn smooth(&mut self, body: &Body, implicit: f64, y: &mut [Vec3]) -> Result<(), Error> {
        let weight = 1.0 / (implicit * implicit);
        for (f, (m, y)) in self.force.iter_mut().zip(body.masses().iter().zip(y.iter())) {
            *f = weight * m * *y;
        }
        for (i, y) in y.iter_mut().enumerate() {
            if body.known()[i] {
                *y = Vec3::ZERO;
            }
        }
        self.row_residual.fill(Vec3::ZERO);
        self.solver.solve(
            &self.system,
            &self.force,
            body.averages(),
            &self.row_residual,
            y,
            &mut self.multipliers,
            1e-2,
        )?;
        Ok(())
    }

    /// force ← −dΦ/dx, the right-hand side of Newton's step.
    fn residual(&mut self, body: &Body, stage: &Stage, x: &[Vec3]) {
        let s = stage.implicit;
        for (v, (x, p)) in self.velocity.iter_mut().zip(x.iter().zip(stage.base)) {
            *v = (*x - *p) / s;
        }
        body.force(&stage.moment, x, &self.velocity, &mut self.force);
        if body.is_damped() {
            self.damping.multiply(&self.velocity, &mut self.damped);
        }
        for i in 0..x.len() {
            self.force[i] -= body.masses()[i] / s * (self.velocity[i] - stage.drift[i]) + self.damped[i];
        }
    }

    /// system ← M/s² + D/s + K + outer damping/s.
    fn assemble(&mut self, body: &Body, stage: &Stage, x: &[Vec3]) {
        let s = stage.implicit;
        if body.is_damped() {
            for (a, d) in self.system.values_mut().iter_mut().zip(self.damping.values()) {
                *a = *d * (1.0 / s);
            }
        } else {
            self.system.set_zero();
        }
        body.add_stiffness(&stage.moment, x, &mut self.system);
        if body.has_outer_forces() {
            body.add_outer_damping(&stage.moment, x, &self.velocity, 1.0 / s, &mut self.system);
        }
        body.add_mass(1.0 / (s * s), &mut self.system);
    }

    /// The largest of 1, ½, ¼ … along `delta` that goes downhill in Φ as it should (Armijo).
    fn line_search(&mut self, body: &Body, stage: &Stage, x: &[Vec3]) -> f64 {
        // Forces without potential are held as they are at x; their damping is in the matrix, which only shortens steps.
        self.outer.fill(Vec3::ZERO);
        body.add_outer_force(&stage.moment, x, &self.velocity, &mut self.outer);
        let start = self.merit(body, stage, x, x);
        let slope: f64 = -self.force.iter().zip(&self.delta).map(|(f, d)| f.dot(*d)).sum::<f64>();
        let mut length = 1.0;
        // 2⁻¹² of a Newton step is no progress; the caller then shortens the time step instead.
        for _ in 0..12 {
            let mut trial = std::mem::take(&mut self.trial);
            for i in 0..x.len() {
                trial[i] = x[i] + length * self.delta[i];
            }
            let value = self.merit(body, stage, x, &trial);
            self.trial = trial;
            // Round-off in large sums must not reject the last tiny step.
            if value <= start + 1e-4 * length * slope.min(0.0) + 1e-12 * start.abs() {
                break;
            }
            length *= 0.5;
        }
        length
    }

    /// Φ at `y`, with outer forces as they were at `x`.
    fn merit(&mut self, body: &Body, stage: &Stage, x: &[Vec3], y: &[Vec3]) -> f64 {
        let s = stage.implicit;
        let mut value = body.potential_energy(&stage.moment, y);
        for i in 0..y.len() {
            let v = (y[i] - stage.base[i]) / s;
            value += 0.5 * body.masses()[i] * (v - stage.drift[i]).length_squared()
                - self.outer[i].dot(y[i] - x[i]);
            self.velocity[i] = v;
        }
        if body.is_damped() {
            self.damping.multiply(&self.velocity, &mut self.damped);
            value += 0.5 * s * self.velocity.iter().zip(&self.damped).map(|(v, d)| v.dot(*d)).sum::<f64>();
        }
        for (row, (want, have)) in stage.averages.iter().zip(body.averages().multiply(y)).enumerate() {
            let compliance = body.averages().compliance()[row];
            if compliance > 0.0 {
                value += (*want - have).length_squared() / (2.0 * compliance);
            }
        }
        value
    }
}
