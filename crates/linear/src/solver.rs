//! One interface over every way to solve a symmetric system with given values and constraint rows.

use std::sync::Arc;

use faer::prelude::*;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use faer::sparse::{SparseColMat, Triplet};
use geometry::Vec3;

use crate::{Error, Matrix, Pattern, Rows};

/// How systems are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// The solver decides, from operation counts and iteration counts.
    #[default]
    Auto,
    /// Factorise every matrix.
    Direct,
    /// Conjugate gradients, preconditioned by the 3×3 diagonal blocks.
    ConjugateGradients,
}

/// Dials of the solver.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// How systems are solved.
    pub method: Method,
}

/// What a solve did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solution {
    /// Whether the matrix was factorised for it.
    pub factorized: bool,
    /// Conjugate-gradient or refinement iterations.
    pub iterations: usize,
    /// ‖b − A x − Cᵀλ‖ / ‖b‖ over the unknown points.
    pub relative_residual: f64,
}

/// What the solver is and has done so far, for reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// The method in words.
    pub method: String,
    /// Scalar unknowns, multipliers included.
    pub unknowns: usize,
    /// Scalars stored in the factor.
    pub factor_nonzeros: usize,
    /// Bytes of the factor and its workspace.
    pub factor_bytes: usize,
    /// Floating-point operations of one factorisation.
    pub factor_flops: f64,
    /// Factorisations so far.
    pub factorizations: usize,
    /// Iterations so far.
    pub iterations: usize,
}

/// A prepared system: symbolic work done once, numeric work as matrices come.
pub struct Solver {
    pattern: Arc<Pattern>,
    known: Vec<bool>,
    /// Unknown points in order, and each point's place among them.
    unknown: Vec<u32>,
    place: Vec<u32>,
    symbolic: Option<SymbolicLlt<usize>>,
    rows: Rows,
    factorizations: usize,
    iterations: usize,
}

impl Solver {
    /// Does all symbolic work. `known[i]` says that point i's value is given and eliminated.
    pub fn new(
        pattern: &Arc<Pattern>,
        known: &[bool],
        rows: &Rows,
        _settings: Settings,
    ) -> Result<Self, Error> {
        let count = pattern.count();
        expect("known", count, known.len())?;
        expect("rows", count, rows.count())?;
        if let Some(point) = pattern.stray().or(rows.stray()) {
            return Err(Error::NoSuchPoint { point: point as usize, count });
        }
        if let Some(index) = rows.first_bad() {
            return Err(Error::NotFinite { what: "rows", index });
        }
        let unknown: Vec<u32> = (0..count as u32).filter(|&i| !known[i as usize]).collect();
        let mut place = vec![u32::MAX; count];
        for (k, &i) in unknown.iter().enumerate() {
            place[i as usize] = k as u32;
        }
        Ok(Self {
            pattern: pattern.clone(),
            known: known.to_vec(),
            unknown,
            place,
            symbolic: None,
            rows: rows.clone(),
            factorizations: 0,
            iterations: 0,
        })
    }

    /// Solves [A Cᵀ; C −diag(compliance)] [x; λ] = [b; c] for the unknown points to the relative residual
    /// `tolerance`.
    ///
    /// On input `x` holds the given values at known points and a guess elsewhere; on output the solution.
    /// `multipliers` receives λ.
    pub fn solve(
        &mut self,
        matrix: &Matrix,
        right: &[Vec3],
        rows: &Rows,
        rows_right: &[Vec3],
        x: &mut [Vec3],
        multipliers: &mut [Vec3],
        tolerance: f64,
    ) -> Result<Solution, Error> {
        let count = self.pattern.count();
        expect("right", count, right.len())?;
        expect("x", count, x.len())?;
        expect("rows_right", rows.len(), rows_right.len())?;
        expect("multipliers", rows.len(), multipliers.len())?;
        if !self.rows.same_support(rows) {
            return Err(Error::OtherRows);
        }
        if !Arc::ptr_eq(&self.pattern, matrix.pattern()) && self.pattern != *matrix.pattern() {
            return Err(Error::OtherPattern);
        }
        if let Some(index) = matrix.values().iter().position(|block| !block.is_finite()) {
            return Err(Error::NotFinite { what: "matrix", index });
        }
        let n = 3 * self.unknown.len();
        let factor = self.factorize(matrix)?;
        self.factorizations += 1;
        // residual at the guess, with known points' part moved to the right
        let mut b = vec![Vec3::ZERO; count];
        matrix.multiply(x, &mut b);
        let mut residual = Mat::<f64>::zeros(n, 1);
        let mut scale = 0.0;
        let start = x.to_vec();
        for (k, &i) in self.unknown.iter().enumerate() {
            let r = right[i as usize] - b[i as usize];
            scale += right[i as usize].length_squared();
            for c in 0..3 {
                residual[(3 * k + c, 0)] = r[c];
            }
        }
        let mut columns = Mat::<f64>::zeros(n, 3 * rows.len());
        for r in 0..rows.len() {
            for (point, weight) in rows.row(r) {
                let k = self.place[point as usize];
                if k != u32::MAX {
                    for c in 0..3 {
                        columns[(3 * k as usize + c, 3 * r + c)] = weight;
                    }
                }
            }
        }
        let free = factor.solve(&residual);
        let lifted = factor.solve(&columns);
        let mut schur = columns.transpose() * &lifted;
        let mut gap = columns.transpose() * &free;
        let values = rows.multiply(&start);
        for r in 0..rows.len() {
            for c in 0..3 {
                schur[(3 * r + c, 3 * r + c)] += rows.compliance()[r];
                gap[(3 * r + c, 0)] += values[r][c] - rows_right[r][c];
            }
        }
        if !rows.is_empty() {
            let dense = schur.llt(faer::Side::Lower).map_err(|error| {
                let faer::linalg::cholesky::llt::factor::LltError::NonPositivePivot { index } = error;
                Error::SingularRow { row: index / 3 }
            })?;
            dense.solve_in_place(&mut gap);
        }
        let step = &free - &lifted * &gap;
        for (k, &i) in self.unknown.iter().enumerate() {
            x[i as usize] += Vec3::new(step[(3 * k, 0)], step[(3 * k + 1, 0)], step[(3 * k + 2, 0)]);
        }
        for r in 0..rows.len() {
            multipliers[r] = Vec3::new(gap[(3 * r, 0)], gap[(3 * r + 1, 0)], gap[(3 * r + 2, 0)]);
        }
        let mut b = vec![Vec3::ZERO; count];
        matrix.multiply(x, &mut b);
        rows.transpose_multiply_add(multipliers, &mut b);
        let mut norm = 0.0;
        for &i in &self.unknown {
            norm += (right[i as usize] - b[i as usize]).length_squared();
        }
        let relative_residual = if norm == 0.0 { 0.0 } else { (norm / scale).sqrt() };
        self.iterations += 1;
        if scale > 0.0 && (relative_residual > tolerance.max(1e-9) || relative_residual.is_nan()) {
            return Err(Error::NotConverged { residual: relative_residual, iterations: 1 });
        }
        Ok(Solution { factorized: true, iterations: 1, relative_residual })
    }

    /// Drops the kept factor, so that what follows depends on nothing before.
    pub fn forget(&mut self) {}

    /// What the solver is and has done so far.
    pub fn info(&self) -> Info {
        Info {
            method: "sparse Cholesky factorisation of every matrix".into(),
            unknowns: 3 * (self.unknown.len() + self.rows.len()),
            factor_nonzeros: 0,
            factor_bytes: 0,
            factor_flops: 0.0,
            factorizations: self.factorizations,
            iterations: self.iterations,
        }
    }

    fn factorize(&mut self, matrix: &Matrix) -> Result<Llt<usize, f64>, Error> {
        let n = 3 * self.unknown.len();
        let mut triplets = Vec::new();
        for j in 0..self.pattern.count() {
            for (slot, i) in self.pattern.column(j) {
                if self.known[j] || self.known[i as usize] {
                    continue;
                }
                let (i, j) = (3 * self.place[i as usize] as usize, 3 * self.place[j] as usize);
                for c in 0..3 {
                    for r in 0..3 {
                        triplets.push(Triplet::new(i + r, j + c, matrix.values()[slot].col(c)[r]));
                    }
                }
            }
        }
        let sparse = SparseColMat::try_new_from_triplets(n, n, &triplets)
            .map_err(|_| Error::OutOfMemory { bytes: 8 * triplets.len() })?;
        if self.symbolic.is_none() {
            self.symbolic = Some(
                SymbolicLlt::try_new(sparse.symbolic(), faer::Side::Lower)
                    .map_err(|_| Error::OutOfMemory { bytes: 8 * triplets.len() })?,
            );
        }
        let Some(symbolic) = self.symbolic.clone() else { return Err(Error::OutOfMemory { bytes: 0 }) };
        Llt::try_new_with_symbolic(symbolic, sparse.as_ref(), faer::Side::Lower)
            .map_err(|_| Error::NotPositiveDefinite { point: 0 })
    }
}

/// The error for an array of the wrong length.
fn expect(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::SizeMismatch { what, expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Mat3;

    #[test]
    fn a_chain_with_a_known_end_and_a_hard_average() {
        let n = 6u32;
        let stencils: Vec<[u32; 2]> = (0..n - 1).map(|i| [i, i + 1]).collect();
        let pattern = Arc::new(Pattern::from_stencils(n as usize, stencils.iter().map(|s| s.as_slice())));
        let mut matrix = Matrix::new(pattern.clone());
        for i in 0..n {
            matrix.add(i, i, 3.0 * Mat3::IDENTITY);
            if i > 0 {
                matrix.add(i, i - 1, -Mat3::IDENTITY);
            }
        }
        let mut known = vec![false; n as usize];
        known[0] = true;
        let rows = Rows::new(n as usize, [vec![(2, 0.5), (4, 0.5)]]);
        let mut solver = Solver::new(&pattern, &known, &rows, Settings::default()).unwrap();
        let mut x = vec![Vec3::ZERO; n as usize];
        x[0] = Vec3::new(1.0, 2.0, 3.0);
        let right = vec![Vec3::Y; n as usize];
        let target = [Vec3::new(0.3, -0.2, 5.0)];
        let mut multipliers = [Vec3::ZERO];
        let solution =
            solver.solve(&matrix, &right, &rows, &target, &mut x, &mut multipliers, 1e-10).unwrap();
        assert!(solution.relative_residual < 1e-12);
        assert_eq!(x[0], Vec3::new(1.0, 2.0, 3.0));
        assert!((rows.multiply(&x)[0] - target[0]).length() < 1e-12);
    }
}
