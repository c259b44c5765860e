//! Many of the lowest solutions of K φ = λ M φ, K sparse and M diagonal: block Lanczos about a shift.
//!
//! With A = M^½ (K + σM)⁻¹ M^½, whose largest eigenvalues 1/(λ + σ) belong to the lowest λ, a block of vectors is multiplied again and
//! again and made orthogonal to all before it, twice, so that nothing is found a second time. Small matrices, and
//! those of which most solutions are asked for, are decomposed whole. Grimes, Lewis and Simon 1994. Differs: one shift,
//! below the spectrum; for a tenth of all functions or less, several cost more in factors than they save in products.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::reborrow::*;
use faer::sparse::linalg::cholesky::{
    LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMat, Triplet};
use faer::{Conj, Mat, MatRef, Par, Side};
use rayon::prelude::*;

use crate::Error;
use crate::product::{product, transposed_product};

/// Solutions of K φ = λ M φ, the lowest first.
#[derive(Clone, Debug)]
pub struct Eigenpairs {
    /// λ, ascending.
    pub values: Vec<f64>,
    /// φ, a column each; Φᵀ M Φ is the identity.
    pub vectors: Mat<f64>,
}

/// Unknowns below which a matrix is decomposed whole.
const SMALL: usize = 900;
/// Vectors that are multiplied at once.
const BLOCK: usize = 12;
/// Vectors of a block that one thread solves for.
const SOLVED_AT_ONCE: usize = 6;
/// Vectors at most: so many for each that is wanted, and so many blocks more, for what few of them need to settle.
const VECTORS: (usize, usize) = (3, 40);
/// ‖A y − θ y‖ ≤ this · θ; values are then right to the square of it.
const TOLERANCE: f64 = 1e-9;

/// The `count` lowest solutions. `entries` are (row, column, value) of K's lower triangle, summed where they repeat;
/// K is at least positive semidefinite, masses are positive.
pub fn lowest_eigenpairs(
    entries: &[(u32, u32, f64)],
    masses: &[f64],
    count: usize,
) -> Result<Eigenpairs, Error> {
    let n = masses.len();
    if count > n {
        return Err(Error::SizeMismatch { what: "the list of eigenpairs", expected: n, found: count });
    }
    if let Some(&(i, j, _)) = entries.iter().find(|(i, j, _)| *i as usize >= n || *j as usize >= n) {
        return Err(Error::NoSuchPoint { point: i.max(j) as usize, count: n });
    }
    if let Some(index) = entries.iter().position(|entry| !entry.2.is_finite()) {
        return Err(Error::NotFinite { what: "matrix", index });
    }
    if let Some(index) = masses.iter().position(|mass| !(mass.is_finite() && *mass > 0.0)) {
        return Err(Error::NotFinite { what: "masses", index });
    }
    if count == 0 {
        return Ok(Eigenpairs { values: Vec::new(), vectors: Mat::zeros(n, 0) });
    }
    let roots: Vec<f64> = masses.iter().map(|mass| mass.sqrt()).collect();
    if n <= SMALL || most_vectors(count) + BLOCK > n {
        return whole(entries, &roots, count);
    }
    lanczos(entries, masses, &roots, count)
}

fn most_vectors(count: usize) -> usize {
    VECTORS.0 * count + VECTORS.1 * BLOCK
}

/// Values, ascending, and orthonormal vectors of a symmetric matrix.
pub fn symmetric_eigen(matrix: MatRef<'_, f64>) -> Result<(Vec<f64>, Mat<f64>), Error> {
    let n = matrix.nrows();
    let mut vectors = Mat::<f64>::zeros(n, n);
    let mut values = faer::Col::<f64>::zeros(n);
    let need = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(need);
    let (s, u) = (values.as_diagonal_mut(), Some(vectors.as_mut()));
    self_adjoint_evd(matrix, s, u, Par::Seq, MemStack::new(&mut memory), Default::default())
        .map_err(|_| Error::NotConverged { residual: f64::NAN, iterations: n })?;
    Ok(((0..n).map(|i| values[i]).collect(), vectors))
}

/// By decomposing M^-½ K M^-½.
fn whole(entries: &[(u32, u32, f64)], roots: &[f64], count: usize) -> Result<Eigenpairs, Error> {
    let n = roots.len();
    let mut dense = Mat::<f64>::zeros(n, n);
    for &(i, j, value) in entries {
        let (i, j) = (i as usize, j as usize);
        let scaled = value / (roots[i] * roots[j]);
        dense[(i, j)] += scaled;
        if i != j {
            dense[(j, i)] += scaled;
        }
    }
    let (mut values, full) = symmetric_eigen(dense.as_ref())?;
    values.truncate(count);
    let vectors = Mat::from_fn(n, count, |i, k| full[(i, k)] / roots[i]);
    Ok(Eigenpairs { values, vectors })
}

/// (K + σM)⁻¹, prepared.
struct Inverse {
    symbolic: SymbolicCholesky<usize>,
    values: Vec<f64>,
}

impl Inverse {
    fn new(entries: &[(u32, u32, f64)], masses: &[f64], shift: f64) -> Result<Self, Error> {
        let n = masses.len();
        let lower = entries.iter().map(|&(i, j, value)| {
            let (row, col) = (i.max(j) as usize, i.min(j) as usize);
            Triplet { row, col, val: value }
        });
        let diagonal =
            masses.iter().enumerate().map(|(i, mass)| Triplet { row: i, col: i, val: shift * mass });
        let all: Vec<Triplet<usize, usize, f64>> = lower.chain(diagonal).collect();
        let matrix = SparseColMat::<usize, f64>::try_new_from_triplets(n, n, &all)
            .map_err(|_| Error::OutOfMemory { bytes: 24 * all.len() })?;
        let ordering = SymmetricOrdering::Amd;
        let symbolic =
            factorize_symbolic_cholesky(matrix.symbolic(), Side::Lower, ordering, Default::default())
                .map_err(|_| Error::OutOfMemory { bytes: 24 * all.len() })?;
        let mut values = vec![0.0; symbolic.len_val()];
        let need = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Default::default());
        symbolic
            .factorize_numeric_llt(
                &mut values,
                matrix.as_ref(),
                Side::Lower,
                LltRegularization::default(),
                Par::Seq,
                MemStack::new(&mut MemBuffer::new(need)),
                Default::default(),
            )
            .map_err(|_| Error::NotPositiveDefinite { point: 0 })?;
        Ok(Self { symbolic, values })
    }

    fn solve(&self, right: &mut Mat<f64>) {
        let parts: Vec<_> = right.par_col_chunks_mut(SOLVED_AT_ONCE).collect();
        parts.into_par_iter().for_each(|part| {
            let need = self.symbolic.solve_in_place_scratch::<f64>(part.ncols(), Par::Seq);
            let mut memory = MemBuffer::new(need);
            LltRef::new(&self.symbolic, &self.values).solve_in_place_with_conj(
                Conj::No,
                part,
                Par::Seq,
                MemStack::new(&mut memory),
            );
        });
    }
}

fn lanczos(
    entries: &[(u32, u32, f64)],
    masses: &[f64],
    roots: &[f64],
    count: usize,
) -> Result<Eigenpairs, Error> {
    let n = roots.len();
    // well below the first oscillation: λ₁ of a drum is about 10 over its area, and Σ M is that
    let shift = 1.0 / masses.iter().sum::<f64>();
    let inverse = Inverse::new(entries, masses, shift)?;
    let most = most_vectors(count);
    let mut basis = Mat::<f64>::zeros(n, most + BLOCK);
    let mut projected = Mat::<f64>::zeros(most + BLOCK, most + BLOCK);
    start(basis.as_mut().subcols_mut(0, BLOCK));
    orthonormal(&mut basis, 0);
    let mut done = 0;
    let mut next_look = 3 * count / 2 + 16 * BLOCK;
    loop {
        // A times the newest block, then what is new in it
        let mut block = Mat::from_fn(n, BLOCK, |i, k| roots[i] * basis[(i, done + k)]);
        inverse.solve(&mut block);
        for k in 0..BLOCK {
            (0..n).for_each(|i| block[(i, k)] *= roots[i]);
        }
        let known = done + BLOCK;
        for _ in 0..2 {
            let all = basis.as_ref().subcols(0, known);
            let coefficients = transposed_product(all, block.as_ref());
            block -= product(all, coefficients.as_ref());
            for k in 0..BLOCK {
                for i in 0..known {
                    projected[(i, done + k)] += coefficients[(i, k)];
                }
            }
        }
        basis.as_mut().subcols_mut(known, BLOCK).copy_from(&block);
        let beyond = orthonormal(&mut basis, known);
        done = known;
        if done >= next_look || done + BLOCK > most {
            if let Some(found) = ritz(&projected, done, &beyond, &basis, roots, shift, count)? {
                return Ok(found);
            }
            if done + BLOCK > most {
                return Err(Error::NotConverged { residual: TOLERANCE, iterations: done / BLOCK });
            }
            next_look = done + count / 4 + 4 * BLOCK;
        }
    }
}

/// The eigenpairs of what is known so far, once as many as are wanted are right.
fn ritz(
    projected: &Mat<f64>,
    done: usize,
    beyond: &[f64],
    basis: &Mat<f64>,
    roots: &[f64],
    shift: f64,
    count: usize,
) -> Result<Option<Eigenpairs>, Error> {
    // the upper triangle is there in full, of the lower one only what lies within blocks
    let small = Mat::from_fn(done, done, |i, j| match i / BLOCK == j / BLOCK {
        true => 0.5 * (projected[(i, j)] + projected[(j, i)]),
        false => projected[(i.min(j), i.max(j))],
    });
    let (values, vectors) = symmetric_eigen(small.as_ref())?;
    // largest last; the residual of a pair is what the newest block adds to it
    let first = done - count;
    let residual = |k: usize| -> f64 {
        let parts = (0..BLOCK).map(|r| -> f64 {
            (0..BLOCK).map(|c| beyond[r * BLOCK + c] * vectors[(done - BLOCK + c, k)]).sum()
        });
        parts.map(|x| x * x).sum::<f64>().sqrt()
    };
    if (first..done).any(|k| residual(k) > TOLERANCE * values[k]) {
        return Ok(None);
    }
    let chosen = Mat::from_fn(done, count, |i, k| vectors[(i, done - 1 - k)]);
    let mut full = product(basis.as_ref().subcols(0, done), chosen.as_ref());
    for k in 0..count {
        roots.iter().enumerate().for_each(|(i, root)| full[(i, k)] /= root);
    }
    let values = (0..count).map(|k| 1.0 / values[done - 1 - k] - shift).collect();
    Ok(Some(Eigenpairs { values, vectors: full }))
}

/// Fills a block with numbers that look random, always the same.
fn start(mut block: faer::MatMut<'_, f64>) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for k in 0..block.ncols() {
        for i in 0..block.nrows() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            block[(i, k)] = (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
        }
    }
}

/// Makes the block of columns from `first` on orthonormal (Gram and Schmidt, twice), and gives R with before = after · R, row
/// after row. A column that was a sum of others becomes zero.
fn orthonormal(basis: &mut Mat<f64>, first: usize) -> Vec<f64> {
    let mut r = vec![0.0; BLOCK * BLOCK];
    let mut largest = 0.0_f64;
    for k in 0..BLOCK {
        for _ in 0..2 {
            for j in 0..k {
                let (a, b) = two_columns(basis, first + j, first + k);
                let dot: f64 = a.iter().zip(b.iter()).map(|(a, b)| a * b).sum();
                b.iter_mut().zip(a).for_each(|(b, a)| *b -= dot * a);
                r[j * BLOCK + k] += dot;
            }
        }
        let column = basis.col_as_slice_mut(first + k);
        let norm = column.iter().map(|x| x * x).sum::<f64>().sqrt();
        largest = largest.max(norm);
        let scale = if norm > 1e-14 * largest { 1.0 / norm } else { 0.0 };
        column.iter_mut().for_each(|x| *x *= scale);
        r[k * BLOCK + k] = norm;
    }
    r
}

/// Two columns, the first to be read and the second to be changed; `a` lies before `b`.
fn two_columns(basis: &mut Mat<f64>, a: usize, b: usize) -> (&[f64], &mut [f64]) {
    let (left, right) = basis.as_mut().split_at_col_mut(b);
    let a = left.into_const().col(a).try_as_col_major().map(|c| c.as_slice()).unwrap_or(&[]);
    let b = right.col_mut(0).try_as_col_major_mut().map(|c| c.as_slice_mut()).unwrap_or(&mut []);
    (a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// A chain of n + 1 equal masses and springs with free ends: λ_k = 4 sin²(πk/(2(n + 1))).
    fn chain(n: usize) -> (Vec<(u32, u32, f64)>, Vec<f64>) {
        let springs = (0..n as u32 - 1).flat_map(|i| [(i, i, 1.0), (i + 1, i + 1, 1.0), (i + 1, i, -1.0)]);
        (springs.collect(), vec![1.0; n])
    }

    fn check(entries: &[(u32, u32, f64)], masses: &[f64], found: &Eigenpairs) {
        let n = masses.len();
        let count = found.values.len();
        let weighted = Mat::from_fn(n, count, |i, k| masses[i] * found.vectors[(i, k)]);
        let gram = transposed_product(found.vectors.as_ref(), weighted.as_ref());
        let mut image = Mat::<f64>::zeros(n, count);
        for &(i, j, value) in entries {
            let (i, j) = (i as usize, j as usize);
            for k in 0..count {
                image[(i, k)] += value * found.vectors[(j, k)];
                if i != j {
                    image[(j, k)] += value * found.vectors[(i, k)];
                }
            }
        }
        for k in 0..count {
            for l in 0..count {
                let expected = f64::from(u8::from(k == l));
                assert!((gram[(k, l)] - expected).abs() < 1e-10, "{k} {l}: {}", gram[(k, l)]);
            }
            let residual = (0..n).map(|i| (image[(i, k)] - found.values[k] * weighted[(i, k)]).powi(2));
            let scale = found.values[count - 1] * masses[0].sqrt();
            assert!(residual.sum::<f64>().sqrt() < 1e-6 * scale, "pair {k}");
        }
    }

    #[test]
    fn chains_sound_as_chains_do() {
        for (n, count) in [(60, 60), (1500, 120)] {
            let (entries, masses) = chain(n);
            let found = lowest_eigenpairs(&entries, &masses, count).unwrap();
            check(&entries, &masses, &found);
            for (k, value) in found.values.iter().enumerate() {
                let exact = 4.0 * (PI * k as f64 / (2.0 * n as f64)).sin().powi(2);
                assert!((value - exact).abs() < 1e-9 * (1.0 + exact), "{k}: {value} {exact}");
            }
        }
    }

    #[test]
    fn repeated_tones_are_found_as_often_as_they_are() {
        // eight chains that do not touch: every tone eight times
        let (one, _) = chain(200);
        let entries: Vec<_> = (0..8_u32)
            .flat_map(|c| one.iter().map(move |(i, j, v)| (i + 200 * c, j + 200 * c, *v)))
            .collect();
        let masses = vec![0.5; 1600];
        let found = lowest_eigenpairs(&entries, &masses, 100).unwrap();
        check(&entries, &masses, &found);
        for (k, value) in found.values.iter().enumerate() {
            let exact = 8.0 * (PI * (k / 8) as f64 / 400.0).sin().powi(2);
            assert!((value - exact).abs() < 1e-9 * (1.0 + exact), "{k}: {value} {exact}");
        }
    }

    #[test]
    fn bad_matrices_get_a_sentence() {
        let (entries, masses) = chain(5);
        assert!(lowest_eigenpairs(&entries, &masses, 6).is_err());
        assert!(lowest_eigenpairs(&entries, &masses[1..], 1).is_err());
        assert!(lowest_eigenpairs(&entries, &[1.0, 1.0, 0.0, 1.0, 1.0], 1).is_err());
        assert_eq!(lowest_eigenpairs(&[], &[], 0).unwrap().values.len(), 0);
    }
}
