//! Products of large dense matrices: tiles of one size on any number of threads, so the same sums in the same order.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

/// Columns, and rows, of the result that one task makes.
const TILE: usize = 256;
/// Rows that one task sums over in a transposed product.
const STRIP: usize = 2048;

/// A B.
pub fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut c = Mat::<f64>::zeros(a.nrows(), b.ncols());
    c.par_row_chunks_mut(TILE).enumerate().for_each(|(tile, c)| {
        let rows = a.subrows(tile * TILE, c.nrows());
        matmul(c, Accum::Replace, rows, b, 1.0, Par::Seq);
    });
    c
}

/// Aᵀ B, for matrices that are much higher than wide: strips of rows, summed from the top down.
pub fn transposed_product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let strips: Vec<(usize, usize)> =
        (0..a.nrows()).step_by(STRIP).map(|start| (start, STRIP.min(a.nrows() - start))).collect();
    let parts: Vec<Mat<f64>> = strips
        .into_par_iter()
        .map(|(start, count)| {
            let mut c = Mat::<f64>::zeros(a.ncols(), b.ncols());
            let (a, b) = (a.subrows(start, count), b.subrows(start, count));
            matmul(c.as_mut(), Accum::Replace, a.transpose(), b, 1.0, Par::Seq);
            c
        })
        .collect();
    let mut sum = Mat::<f64>::zeros(a.ncols(), b.ncols());
    parts.iter().for_each(|part| sum += part);
    sum
}
