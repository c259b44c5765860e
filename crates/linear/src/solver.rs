//! One interface over every way to solve a symmetric system with given values and constraint rows.

mod policy;
mod system;

use std::sync::Arc;

use geometry::Vec3;

use crate::constraints::RowRefinement;
use crate::factor::{Direct, Precision};
use crate::iterative::{CgWorkspace, Jacobi, StoppingCriterion, Termination, conjugate_gradients};
use crate::{ConstraintRows, Error, Matrix, Pattern};
use policy::{Costs, FactorCost, ReuseBackoff, rows_are_cheap};

pub(crate) use system::{System, dot, norm};

/// No residual can be asked for below this: round-off.
const SMALLEST_TOLERANCE: f64 = 1e-14;
/// Corrections with a fresh factor before the residual is what it is.
const REFINEMENTS: usize = 6;
/// Restarts from the true residual, where the recurrence's has drifted away from it.
const ROUNDS: usize = 6;
/// From this round on rows that do not hold to round-off will not.
const UNLIKELY_ROUND: usize = 4;
/// Iterations after which their success can be foretold: with the diagonal blocks residuals rise before they fall, with a
/// factor of a matrix much like this one they do not.
const PREDICT_AFTER: (usize, usize) = (4, 1);
/// Iterations of [`Method::ConjugateGradients`] before it gives up, at least and per unknown point.
const CG_ITERATIONS: (usize, usize) = (1000, 10);

/// How systems are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The solver decides, from operation counts and iteration counts.
    #[default]
    Auto,
    /// Factorise every matrix.
    Direct,
    /// Conjugate gradients, preconditioned by the 3×3 diagonal blocks (with the rows, where there are any).
    ConjugateGradients,
}

/// Dials of the solver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// How systems are solved.
    pub method: Method,
}

/// What a solve did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solution {
    /// Whether a matrix was factorised for it.
    pub factorized: bool,
    /// Conjugate-gradient iterations and refinements.
    pub iterations: usize,
    /// ‖b − A x − Cᵀλ‖ over the unknown points, relative to the larger of ‖b‖ (known points' part moved to it) and
    /// ‖Cᵀλ‖.
    pub relative_residual: f64,
}

/// What the solver is and has done so far, for reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// The method in words.
    pub method: String,
    /// Scalar unknowns, multipliers included.
    pub unknowns: usize,
    /// Scalars in the lower triangle of the factor.
    pub factor_nonzeros: usize,
    /// Bytes of the factor and its workspace.
    pub factor_bytes: usize,
    /// Floating-point operations of one factorisation.
    pub factor_flops: f64,
    /// Factorisations so far.
    pub factorizations: usize,
    /// Solves so far.
    pub solves: usize,
    /// Iterations so far.
    pub iterations: usize,
}

/// A prepared system: symbolic work done once, numeric work as matrices come.
pub struct Solver {
    pattern: Arc<Pattern>,
    known: Vec<bool>,
    unknown_count: usize,
    rows: ConstraintRows,
    settings: Settings,
    direct: Option<Direct>,
    costs: Option<Costs>,
    jacobi: Jacobi,
    refinement: RowRefinement,
    state: State,
    x: Vec<Vec3>,
    right: Vec<Vec3>,
    scratch: CgWorkspace,
    factorizations: usize,
    solves: usize,
    iterations: usize,
}

/// Everything by which one solve can influence the next.
#[derive(Default)]
struct State {
    /// Weights and compliances of the rows in the kept factor, and what it has cost.
    kept: Option<(Vec<f64>, Vec<f64>, FactorCost)>,
    /// A factor in single precision was tried and was not good enough.
    single_failed: bool,
    /// Block-Jacobi iterations were tried and were not worth it.
    jacobi_failed: bool,
    /// Whether it is worth trying an older factor.
    backoff: ReuseBackoff,
}

impl Solver {
    /// Does all symbolic work: order of elimination, elimination tree, fronts. `known[i]` says that point i's value is
    /// given and eliminated. The factor's storage is allocated by the first factorisation.
    pub fn new(
        pattern: &Arc<Pattern>,
        known: &[bool],
        rows: &ConstraintRows,
        settings: Settings,
    ) -> Result<Self, Error> {
        let count = pattern.count();
        expect("known", count, known.len())?;
        expect("rows", count, rows.count())?;
        if let Some(point) = pattern.first_out_of_range().or(rows.first_out_of_range()) {
            return Err(Error::NoSuchPoint { point: point as usize, count });
        }
        if let Some(index) = rows.first_not_finite() {
            return Err(Error::NotFinite { what: "rows", index });
        }
        let direct =
            (settings.method != Method::ConjugateGradients).then(|| Direct::new(pattern, known, rows, true));
        Ok(Self::with_factor(pattern, known.to_vec(), rows.clone(), settings, direct))
    }

    /// One that has solved nothing yet.
    fn with_factor(
        pattern: &Arc<Pattern>,
        known: Vec<bool>,
        rows: ConstraintRows,
        settings: Settings,
        direct: Option<Direct>,
    ) -> Self {
        let costs = direct.as_ref().map(|direct| Costs::new(pattern, direct.symbolic()));
        let length = pattern.count() + rows.len();
        Self {
            pattern: pattern.clone(),
            unknown_count: known.iter().filter(|&&known| !known).count(),
            known,
            rows,
            settings,
            direct,
            costs,
            jacobi: Jacobi::default(),
            refinement: RowRefinement::default(),
            state: State::default(),
            x: vec![Vec3::ZERO; length],
            right: vec![Vec3::ZERO; length],
            scratch: CgWorkspace::new(length),
            factorizations: 0,
            solves: 0,
            iterations: 0,
        }
    }

    /// A solver for a pattern with more couplings (see [`Pattern::with_stencils`]), over the same points and rows. Milliseconds
    /// where the order of elimination can be kept. Counts go on; the kept factor does not.
    pub fn extended(&self, pattern: &Arc<Pattern>) -> Result<Self, Error> {
        expect("pattern", self.pattern.count(), pattern.count())?;
        if let Some(point) = pattern.first_out_of_range() {
            return Err(Error::NoSuchPoint { point: point as usize, count: pattern.count() });
        }
        let direct = self.direct.as_ref().map(|direct| {
            // contact in two dimensions of surface: flops grow with what is coupled
            let usual =
                direct.symbolic().flops * pattern.block_count() as f64 / self.pattern.block_count() as f64;
            direct.extended(pattern, &self.known, &self.rows, usual)
        });
        let (known, rows, settings) = (self.known.clone(), self.rows.clone(), self.settings.clone());
        Ok(Self {
            factorizations: self.factorizations,
            solves: self.solves,
            iterations: self.iterations,
            ..Self::with_factor(pattern, known, rows, settings, direct)
        })
    }

    /// Solves [A Cᵀ; C −diag(compliance)] [x; λ] = [b; c] for the unknown points to the relative residual
    /// `tolerance`; the rows hold to round-off.
    ///
    /// On input `x` holds the given values at known points and a guess elsewhere; on output the solution.
    /// `multipliers` receives λ. On failure neither is touched.
    ///
    /// The caller hands over the matrix of the moment. Whether it is factorised, or solved by iterations with the factor
    /// of an earlier matrix or with the diagonal blocks, is decided here.
    pub fn solve(
        &mut self,
        matrix: &Matrix,
        right: &[Vec3],
        rows: &ConstraintRows,
        rows_right: &[Vec3],
        x: &mut [Vec3],
        multipliers: &mut [Vec3],
        tolerance: f64,
    ) -> Result<Solution, Error> {
        self.check(matrix, right, rows, rows_right, x, multipliers)?;
        let count = self.pattern.count();
        self.right[..count].copy_from_slice(right);
        self.right[count..].copy_from_slice(rows_right);
        self.x[..count].copy_from_slice(x);
        self.x[count..].fill(Vec3::ZERO);
        let known = std::mem::take(&mut self.known);
        let system = System { matrix, rows, known: &known };
        let result = self.solve_system(system, tolerance.max(SMALLEST_TOLERANCE));
        self.known = known;
        if result.is_err() {
            self.reset();
        }
        let solution = result?;
        x.copy_from_slice(&self.x[..count]);
        multipliers.copy_from_slice(&self.x[count..]);
        self.solves += 1;
        self.iterations += solution.iterations;
        Ok(solution)
    }

    /// Factorises a matrix now, and keeps the factor for the solves that follow. Solving does this by itself where it
    /// pays; calling it is for those who know that many solves with this matrix or ones like it will come.
    ///
    /// Does nothing under [`Method::ConjugateGradients`].
    pub fn factorize(&mut self, matrix: &Matrix, rows: &ConstraintRows) -> Result<(), Error> {
        if !self.rows.same_support(rows) {
            return Err(Error::OtherRows);
        }
        if !Arc::ptr_eq(&self.pattern, matrix.pattern()) && self.pattern != *matrix.pattern() {
            return Err(Error::OtherPattern);
        }
        let Some(direct) = &mut self.direct else { return Ok(()) };
        self.state.kept = None;
        if self.state.single_failed || direct.factorize(matrix, rows, Precision::Single).is_err() {
            self.state.single_failed = true;
            direct.factorize(matrix, rows, Precision::Double)?;
        }
        self.factorizations += 1;
        self.state.kept = Some((rows.weights().to_vec(), rows.compliance().to_vec(), FactorCost::default()));
        Ok(())
    }

    /// One correction with the kept factor, whatever matrix it is of: replaces a right-hand side (of the points in `x`, of the
    /// rows in `multipliers`) by about the solution, zero at known points. Much cheaper than a solve, and no residual is
    /// looked at: for callers who judge by their own. Hard rows hold to round-off. False, and nothing touched, when no factor
    /// is kept.
    pub fn correct(
        &mut self,
        rows: &ConstraintRows,
        x: &mut [Vec3],
        multipliers: &mut [Vec3],
    ) -> Result<bool, Error> {
        let count = self.pattern.count();
        if !self.rows.same_support(rows) {
            return Err(Error::OtherRows);
        }
        expect("x", count, x.len())?;
        expect("multipliers", self.rows.len(), multipliers.len())?;
        let Some(direct) = self.direct.as_mut().filter(|_| self.state.kept.is_some()) else {
            return Ok(false);
        };
        self.x[..count].copy_from_slice(x);
        self.x[count..].copy_from_slice(multipliers);
        direct.solve(&mut self.x);
        x.copy_from_slice(&self.x[..count]);
        if !rows.is_empty() {
            for (r, residual) in multipliers.iter_mut().enumerate() {
                *residual -= rows.row_times(r, x);
            }
            self.refinement.apply(rows, &self.known, multipliers, x);
        }
        multipliers.copy_from_slice(&self.x[count..]);
        Ok(true)
    }

    /// Tells that the factor at hand fits the next matrix badly, as corrections with it showed: it will not be tried there.
    pub fn reject_factor(&mut self) {
        self.state.backoff.record(false);
    }

    /// Drops the kept factor and every decision, so that what follows depends on nothing before: needed for a resumed
    /// run to equal an uninterrupted one bit for bit.
    pub fn reset(&mut self) {
        self.state = State::default();
    }

    /// What the solver is and has done so far.
    pub fn info(&self) -> Info {
        let plan = self.direct.as_ref().map(Direct::symbolic);
        let kind = if self.rows.is_empty() { "LLᵀ" } else { "LDLᵀ of the saddle-point matrix" };
        let single = self.direct.as_ref().is_some_and(|direct| direct.precision() == Precision::Single);
        let digits = if single { " in single precision, corrected in double" } else { "" };
        let method = match self.settings.method {
            Method::Direct => format!("multifrontal {kind}{digits}, every matrix"),
            Method::ConjugateGradients => "conjugate gradients with 3×3 diagonal blocks".into(),
            Method::Auto if self.factorizations == 0 => {
                "conjugate gradients with 3×3 diagonal blocks (automatic)".into()
            }
            Method::Auto => {
                format!("multifrontal {kind}{digits}, kept for conjugate gradients while it pays (automatic)")
            }
        };
        Info {
            method,
            unknowns: 3 * (self.unknown_count + self.rows.len()),
            factor_nonzeros: plan.map_or(0, |plan| plan.nonzeros),
            factor_bytes: self.direct.as_ref().map_or(0, Direct::bytes),
            factor_flops: plan.map_or(0.0, |plan| plan.flops),
            factorizations: self.factorizations,
            solves: self.solves,
            iterations: self.iterations,
        }
    }

    fn check(
        &self,
        matrix: &Matrix,
        right: &[Vec3],
        rows: &ConstraintRows,
        rows_right: &[Vec3],
        x: &[Vec3],
        multipliers: &[Vec3],
    ) -> Result<(), Error> {
        let count = self.pattern.count();
        expect("right", count, right.len())?;
        expect("x", count, x.len())?;
        if !self.rows.same_support(rows) {
            return Err(Error::OtherRows);
        }
        expect("rows_right", rows.len(), rows_right.len())?;
        expect("multipliers", rows.len(), multipliers.len())?;
        if !Arc::ptr_eq(&self.pattern, matrix.pattern()) && self.pattern != *matrix.pattern() {
            return Err(Error::OtherPattern);
        }
        let not_finite = |what, index: Option<usize>| match index {
            Some(index) => Err(Error::NotFinite { what, index }),
            None => Ok(()),
        };
        not_finite("matrix", matrix.values().iter().position(|block| !block.is_finite()))?;
        not_finite("rows", rows.first_not_finite())?;
        not_finite("right", right.iter().position(|v| !v.is_finite()))?;
        not_finite("rows_right", rows_right.iter().position(|v| !v.is_finite()))?;
        not_finite("x", x.iter().position(|v| !v.is_finite()))
    }

    /// Chooses a preconditioner and iterates, from self.x to self.x.
    fn solve_system(&mut self, system: System<'_>, tolerance: f64) -> Result<Solution, Error> {
        let size = self.right_size(system);
        if size == 0.0 {
            // nothing pulls: the guess can only do harm
            self.drop_guess(system);
        }
        let Some(costs) = self.costs else { return self.solve_by_jacobi(system, size, tolerance) };
        let mut iterations = 0;
        if self.settings.method == Method::Auto {
            let rows = system.rows;
            let usable = |kept: &(Vec<f64>, Vec<f64>, FactorCost)| {
                kept.0 == rows.weights() && kept.1 == rows.compliance() && !kept.2.is_worth_replacing(&costs)
            };
            if self.state.kept.as_ref().is_some_and(usable) {
                if self.state.backoff.allows() {
                    let budget = costs.factor_budget();
                    let found = self.iterate(system, size, tolerance, budget, false, &mut iterations)?;
                    self.state.backoff.record(found.is_some());
                    if let Some(solution) = found {
                        if let Some((_, _, cost)) = &mut self.state.kept {
                            cost.add(iterations, &costs);
                        }
                        return Ok(solution);
                    }
                }
            } else if self.state.kept.is_none()
                && !self.state.jacobi_failed
                && self.jacobi_pays(system)
                && self.jacobi_prepared(system).is_ok()
            {
                let budget = costs.jacobi_budget();
                if let Some(solution) =
                    self.iterate(system, size, tolerance, budget, true, &mut iterations)?
                {
                    return Ok(solution);
                }
                self.state.jacobi_failed = true;
            }
        }
        let mut refinements = 0;
        let mut solution = None;
        if !self.state.single_failed {
            self.factorize(system.matrix, system.rows)?;
            solution = self.iterate(system, size, tolerance, REFINEMENTS, false, &mut refinements)?;
            self.state.single_failed = solution.is_none();
        }
        if solution.is_none() {
            self.factorize(system.matrix, system.rows)?;
            // what failed may have left anything
            self.drop_guess(system);
            refinements = 0;
            solution = self.iterate(system, size, tolerance, REFINEMENTS, false, &mut refinements)?;
        }
        iterations += refinements;
        let Some(solution) = solution else { return Err(self.not_converged(system, size, iterations)) };
        if let Some((_, _, cost)) = &mut self.state.kept {
            cost.add(refinements, &costs);
        }
        Ok(Solution { factorized: true, iterations, ..solution })
    }

    /// x ← 0 at unknown points, and no multipliers.
    fn drop_guess(&mut self, system: System<'_>) {
        for (i, x) in self.x.iter_mut().enumerate() {
            if system.known.get(i) != Some(&true) {
                *x = Vec3::ZERO;
            }
        }
    }

    /// [`Method::ConjugateGradients`].
    fn solve_by_jacobi(&mut self, system: System<'_>, size: f64, tolerance: f64) -> Result<Solution, Error> {
        self.jacobi_prepared(system)?;
        let budget = CG_ITERATIONS.0.max(CG_ITERATIONS.1 * self.unknown_count);
        let mut iterations = 0;
        match self.iterate(system, size, tolerance, budget, true, &mut iterations)? {
            Some(solution) => Ok(solution),
            None => Err(self.not_converged(system, size, iterations)),
        }
    }

    /// Iterates until the true residual is below the tolerance and the rows hold. None when that takes more than the
    /// budget (or, unless nothing else is left to try, looks as if it would).
    fn iterate(
        &mut self,
        system: System<'_>,
        size: f64,
        tolerance: f64,
        budget: usize,
        by_jacobi: bool,
        iterations: &mut usize,
    ) -> Result<Option<Solution>, Error> {
        let count = system.count();
        let (jacobi, direct) = (&mut self.jacobi, &mut self.direct);
        let mut precondition = |v: &mut [Vec3]| match (by_jacobi, direct.as_mut()) {
            (false, Some(direct)) => direct.solve(v),
            _ => jacobi.apply(v),
        };
        let mut given_up = false;
        for round in 0..ROUNDS {
            // corrections leave the rows short by the factor's precision
            let polished =
                round > 0 && self.refinement.rows(system, &self.right, &mut self.x, &mut self.scratch.r);
            system.residual(&self.right, &self.x, &mut self.scratch.r);
            let hard_rows_satisfied = system.hard_rows_satisfied(&self.right, &self.x, &self.scratch.r);
            let compliant_rows_satisfied =
                system.compliant_rows_satisfied(&self.right, &self.x, &self.scratch.r, tolerance);
            let mut size = size.max(system.transposed_size(&self.x[count..], &mut self.scratch.z));
            let residual = norm(&self.scratch.r[..count]);
            let relative = if residual == 0.0 { 0.0 } else { residual / size };
            let done = relative <= tolerance && compliant_rows_satisfied;
            // rows that some corrections could not bring closer hold as well as round-off lets them
            if done && (hard_rows_satisfied || polished) || relative <= tolerance && round >= UNLIKELY_ROUND {
                return Ok(Some(Solution {
                    factorized: false,
                    iterations: *iterations,
                    relative_residual: relative,
                }));
            }
            if given_up || *iterations >= budget {
                break;
            }
            if !(hard_rows_satisfied && compliant_rows_satisfied) {
                // to a point where the rows hold; the iteration keeps them
                precondition(&mut self.scratch.r);
                self.x.iter_mut().zip(&self.scratch.r).for_each(|(x, &z)| *x += z);
                *iterations += 1;
                // what they still lack would come back with every later correction
                self.refinement.rows(system, &self.right, &mut self.x, &mut self.scratch.r);
                system.residual(&self.right, &self.x, &mut self.scratch.r);
                size = size.max(system.transposed_size(&self.x[count..], &mut self.scratch.z));
            }
            let stop = StoppingCriterion {
                // a little below, so that the true residual agrees
                target: 0.9 * tolerance * size,
                budget: budget.saturating_sub(*iterations),
                predict_after: (self.settings.method == Method::Auto).then_some(if by_jacobi {
                    PREDICT_AFTER.0
                } else {
                    PREDICT_AFTER.1
                }),
            };
            let (spent, end) =
                conjugate_gradients(system, &mut self.x, &mut self.scratch, stop, &mut precondition);
            *iterations += spent;
            match end {
                Termination::Broken { point } if self.settings.method == Method::ConjugateGradients => {
                    return Err(Error::NotPositiveDefinite { point });
                }
                // with an exact factor a broken iteration has reached round-off: look at the true residual
                Termination::Converged | Termination::Broken { .. } => {}
                Termination::Abandoned => given_up = true,
            }
        }
        Ok(None)
    }

    /// Whether the diagonal blocks with the rows are much cheaper to factorise than the whole.
    fn jacobi_pays(&mut self, system: System<'_>) -> bool {
        let Some(direct) = self.direct.as_ref().filter(|_| !system.rows.is_empty()) else { return true };
        let beside = self.jacobi.with_rows(&self.pattern, system);
        rows_are_cheap(beside.symbolic(), direct.symbolic())
    }

    fn jacobi_prepared(&mut self, system: System<'_>) -> Result<(), Error> {
        self.jacobi.prepare(&self.pattern, system)
    }

    /// ‖b − A x‖ over the unknown points, x zero there: the size that residuals are compared with.
    fn right_size(&mut self, system: System<'_>) -> f64 {
        let count = system.count();
        let given = |(i, x): (usize, &Vec3)| if system.known[i] { *x } else { Vec3::ZERO };
        let CgWorkspace { r, z, .. } = &mut self.scratch;
        z.fill(Vec3::ZERO);
        z.iter_mut().zip(self.x[..count].iter().enumerate().map(given)).for_each(|(z, x)| *z = x);
        system.residual(&self.right, z, r);
        norm(&self.scratch.r[..count])
    }

    fn not_converged(&mut self, system: System<'_>, size: f64, iterations: usize) -> Error {
        let count = system.count();
        system.residual(&self.right, &self.x, &mut self.scratch.r);
        let size = size.max(system.transposed_size(&self.x[count..], &mut self.scratch.z));
        Error::NotConverged { residual: norm(&self.scratch.r[..count]) / size, iterations }
    }
}

/// The error for an array of the wrong length.
fn expect(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::SizeMismatch { what, expected, found }) }
}
