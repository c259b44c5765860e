//! One implicit stage: the problem, and the scratch that Newton's method (`stage/newton.rs`) solves it with.
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

mod extended;
mod external;
mod newton;
mod settings;
mod yielding;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use geometry::Vec3;
use linear::{ConstraintRows, Matrix, Solver};

use crate::body::StagedBody;
use crate::{Body, Error, GuideSample, StageConstraint, StageHistory};

use extended::ExtendedSystem;
use external::ExternalForces;
use newton::{Newton, Progress};

pub(crate) use newton::NewtonReport;
pub(crate) use settings::NewtonSettings;
pub(crate) use yielding::YieldingRows;

/// What a stage solves for.
pub(crate) struct Stage<'a> {
    /// The converged positions that it starts from.
    pub(crate) start: &'a [Vec3],
    /// p: where x would be with v = 0.
    pub(crate) base: &'a [Vec3],
    /// w: what v would be without force.
    pub(crate) drift: &'a [Vec3],
    /// s, in seconds.
    pub(crate) implicit_dt: f64,
    /// How long it is from where it starts to the moment that it is about, in seconds.
    pub(crate) elapsed: f64,
    /// A guess beside the one that Newton is given; it starts from the one with the lower Φ.
    pub(crate) other_guess: Option<&'a [Vec3]>,
    /// What strain rates are measured from.
    pub(crate) history: StageHistory<'a>,
    /// When, and where the guide is then.
    pub(crate) sample: GuideSample<'a>,
    /// What the averages must be.
    pub(crate) averages: &'a [Vec3],
}

/// Bodies of fewer points are not worth a second thread.
const PARALLEL_POINTS: usize = 200;

/// Scratch of the stages: may be dropped at any moment.
pub(crate) struct Workspace {
    pub(crate) solver: Solver,
    pub(crate) extended: ExtendedSystem,
    system: Matrix,
    external: ExternalForces,
    velocity: Vec<Vec3>,
    force: Vec<Vec3>,
    delta: Vec<Vec3>,
    trial: Vec<Vec3>,
    pub(crate) multipliers: Vec<Vec3>,
    constraint_residual: Vec<Vec3>,
    /// Solves end once it is set.
    pub(crate) cancel: Option<Arc<AtomicBool>>,
}

impl Workspace {
    pub(crate) fn new(body: &Body, settings: linear::Settings) -> Result<Self, Error> {
        let zeros = vec![Vec3::ZERO; body.point_count()];
        let rows = vec![Vec3::ZERO; body.averages().len()];
        Ok(Self {
            solver: Solver::new(body.pattern(), body.known(), body.averages(), settings)?,
            extended: ExtendedSystem::default(),
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

    /// Solves the stage from the prediction in `x`, which receives the last iterate also when it did not converge.
    pub(crate) fn solve(
        &mut self,
        body: &Body,
        stage: &Stage,
        settings: NewtonSettings,
        rows: &mut YieldingRows,
        constraints: &mut [&mut dyn StageConstraint],
        x: &mut [Vec3],
    ) -> Result<NewtonReport, Error> {
        let mut solve = || {
            let newton = Newton {
                work: self,
                body,
                staged: StagedBody::new(body, &stage.history),
                stage,
                settings,
                rows,
                constraints,
                previous: stage.start.to_vec(),
                guess: x.to_vec(),
                x,
                progress: Progress::new(),
                are_rows_met: true,
            };
            newton.run()
        };
        // Entering the pool once for all loops of a solve: from outside, each would wake and wait for a thread.
        if body.point_count() < PARALLEL_POINTS { solve() } else { rayon::scope(|_| solve()) }
    }

    /// constraint_residual ← what averages lack.
    fn update_constraint_residual(&mut self, rows: &ConstraintRows, stage: &Stage, x: &[Vec3]) {
        let reached = rows.multiply(x);
        for (row, (want, have)) in self.constraint_residual.iter_mut().zip(stage.averages.iter().zip(reached))
        {
            *row = *want - have;
        }
    }

    /// How far the step moves the points: the root mean square, or a twentieth of the largest where that is more, so that a
    /// few wild points among thousands are not overlooked.
    fn size_of_step(&self, body: &Body) -> f64 {
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
    fn residual(&mut self, body: &Body, staged: &StagedBody, stage: &Stage, x: &[Vec3]) {
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
    fn assemble(&mut self, body: &Body, staged: &StagedBody, stage: &Stage, x: &[Vec3], previous: &[Vec3]) {
        let s = stage.implicit_dt;
        self.external.overwrite(1.0 / s, &mut self.system);
        staged.add_stiffness(&stage.sample, x, previous, &mut self.system);
        body.add_mass(1.0 / (s * s) + body.mass_damping() / s, &mut self.system);
    }

    /// Φ at `y`.
    fn merit(
        &mut self,
        body: &Body,
        staged: &StagedBody,
        rows: &ConstraintRows,
        stage: &Stage,
        y: &[Vec3],
    ) -> f64 {
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
        for (row, (want, have)) in stage.averages.iter().zip(rows.multiply(y)).enumerate() {
            let compliance = rows.compliance()[row];
            if compliance > 0.0 {
                value += (*want - have).length_squared() / (2.0 * compliance);
            }
        }
        value
    }
}
