//! Dense kernels of a front: Cholesky factor, triangular solve, symmetric update; recursive and parallel.
//!
//! Each kernel halves its largest dimension until a tile fits, and runs independent halves by fork and join. Where it
//! halves depends on sizes alone, so the same products are summed in the same order on any number of threads. The
//! tiles are faer's, each on one thread.

use std::mem::MaybeUninit;

use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place};
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::reborrow::*;
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

use crate::scalar::Scalar;

/// Columns of a diagonal tile that is factorised in one piece.
const TILE: usize = 128;
/// Multiply-adds below which a product is not divided: about a tenth of a millisecond of work.
const GRAIN: usize = 1 << 21;

/// Replaces the lower triangle of A by L with A = L Lᵀ. On failure gives the column whose pivot is not positive.
pub(crate) fn cholesky<T: Scalar>(a: MatMut<'_, T>) -> Result<(), usize> {
    let n = a.nrows();
    if n <= TILE {
        // faer asks for one vector as long as the tile, aligned to a cache line
        let mut scratch = [MaybeUninit::uninit(); 8 * TILE + 128];
        let stack = MemStack::new(&mut scratch);
        return match cholesky_in_place(a, Default::default(), Par::Seq, stack, Default::default()) {
            Ok(_) => Ok(()),
            Err(LltError::NonPositivePivot { index }) => Err(index),
        };
    }
    let half = split(n);
    let (mut a11, _, mut a21, mut a22) = a.split_at_mut(half, half);
    cholesky(a11.rb_mut())?;
    solve_right(a11.rb(), a21.rb_mut());
    add_square(a22.rb_mut(), a21.rb(), Accum::Add, -T::ONE);
    cholesky(a22).map_err(|column| half + column)
}

/// B ← B L⁻ᵀ, with L lower triangular.
pub(crate) fn solve_right<T: Scalar>(l: MatRef<'_, T>, b: MatMut<'_, T>) {
    let (m, n) = (b.nrows(), l.nrows());
    if m > TILE && m * n * n / 2 > GRAIN {
        let (upper, lower) = b.split_at_row_mut(split(m));
        rayon::join(|| solve_right(l, upper), || solve_right(l, lower));
    } else {
        solve_lower_triangular_in_place(l, b.transpose_mut(), Par::Seq);
    }
}

/// C ← C + sign · A Aᵀ in the lower triangle, or without the first C if `accumulate` says replace.
pub(crate) fn add_square<T: Scalar>(c: MatMut<'_, T>, a: MatRef<'_, T>, accumulate: Accum, sign: T) {
    let n = c.nrows();
    if n > TILE && n * n * a.ncols() / 2 > GRAIN {
        let half = split(n);
        let (c11, _, c21, c22) = c.split_at_mut(half, half);
        let (a1, a2) = a.split_at_row(half);
        rayon::join(
            || product(c21, a2, a1, accumulate, sign),
            || {
                rayon::join(
                    || add_square(c11, a1, accumulate, sign),
                    || add_square(c22, a2, accumulate, sign),
                )
            },
        );
    } else {
        let whole = BlockStructure::Rectangular;
        let lower = BlockStructure::TriangularLower;
        triangular::matmul(c, lower, accumulate, a, whole, a.transpose(), whole, sign, Par::Seq);
    }
}

/// C ← C + sign · A Bᵀ, or without the first C if `accumulate` says replace.
fn product<T: Scalar>(c: MatMut<'_, T>, a: MatRef<'_, T>, b: MatRef<'_, T>, accumulate: Accum, sign: T) {
    let (m, n) = (c.nrows(), c.ncols());
    if m.max(n) > TILE && m * n * a.ncols() > 2 * GRAIN {
        if m >= n {
            let (upper, lower) = c.split_at_row_mut(split(m));
            let (a1, a2) = a.split_at_row(split(m));
            rayon::join(
                || product(upper, a1, b, accumulate, sign),
                || product(lower, a2, b, accumulate, sign),
            );
        } else {
            let (left, right) = c.split_at_col_mut(split(n));
            let (b1, b2) = b.split_at_row(split(n));
            rayon::join(
                || product(left, a, b1, accumulate, sign),
                || product(right, a, b2, accumulate, sign),
            );
        }
    } else {
        matmul(c, accumulate, a, b.transpose(), sign, Par::Seq);
    }
}

/// Where to halve n: a multiple of 16 where n is large, so that tiles begin on whole vectors.
fn split(n: usize) -> usize {
    if n >= 64 { (n / 2).next_multiple_of(16) } else { n / 2 }
}
