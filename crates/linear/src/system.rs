//! The system of the moment: a matrix, constraint rows, and which points are unknown.
//!
//! Vectors have one entry per point (zero or given at known points) and, behind them, one per row.

use geometry::Vec3;
use rayon::prelude::*;

use crate::{Matrix, Rows};

/// Points that one task multiplies.
const POINTS_PER_TASK: usize = 256;

/// K = [A Cᵀ; C −E] over the unknown points and the rows.
#[derive(Clone, Copy)]
pub(crate) struct System<'a> {
    pub(crate) matrix: &'a Matrix,
    pub(crate) rows: &'a Rows,
    pub(crate) known: &'a [bool],
}

impl System<'_> {
    /// How many points.
    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    /// y = (K x) at unknown points and zero at known ones; at rows C x − E λ. Known points' values act on the others.
    pub(crate) fn multiply(&self, x: &[Vec3], y: &mut [Vec3]) {
        let count = self.count();
        let (points, multipliers) = y.split_at_mut(count);
        points.par_chunks_mut(POINTS_PER_TASK).enumerate().for_each(|(chunk, y)| {
            for (k, y) in y.iter_mut().enumerate() {
                let i = chunk * POINTS_PER_TASK + k;
                *y = if self.known[i] { Vec3::ZERO } else { self.matrix.row_times(i, &x[..count]) };
            }
        });
        self.add_transposed(&x[count..], 1.0, points);
        for (r, y) in multipliers.iter_mut().enumerate() {
            *y = self.rows.row_times(r, &x[..count]) - self.rows.compliance()[r] * x[count + r];
        }
    }

    /// y += sign · Cᵀ λ at unknown points.
    pub(crate) fn add_transposed(&self, multipliers: &[Vec3], sign: f64, y: &mut [Vec3]) {
        for (r, &multiplier) in multipliers.iter().enumerate() {
            for (point, weight) in self.rows.row(r) {
                if !self.known[point as usize] {
                    y[point as usize] += sign * weight * multiplier;
                }
            }
        }
    }

    /// ‖Cᵀλ‖ over the unknown points. `y` is scratch.
    pub(crate) fn transposed_size(&self, multipliers: &[Vec3], y: &mut [Vec3]) -> f64 {
        if multipliers.is_empty() {
            return 0.0;
        }
        y.fill(Vec3::ZERO);
        self.add_transposed(multipliers, 1.0, y);
        norm(&y[..self.count()])
    }

    /// r = b − K x, zero at known points. `right` has one entry per point and row.
    pub(crate) fn residual(&self, right: &[Vec3], x: &[Vec3], r: &mut [Vec3]) {
        self.multiply(x, r);
        for (i, r) in r.iter_mut().enumerate() {
            *r = if self.known.get(i) == Some(&true) { Vec3::ZERO } else { right[i] - *r };
        }
    }

    /// Whether every row's residual is round-off: below a few units in the last place of what it sums.
    pub(crate) fn rows_hold(&self, right: &[Vec3], x: &[Vec3], r: &[Vec3]) -> bool {
        let count = self.count();
        (0..self.rows.len()).all(|k| {
            let summed: f64 = self.rows.row(k).map(|(i, w)| (w * x[i as usize]).abs().max_element()).sum();
            let multiplier = self.rows.compliance()[k] * x[count + k].abs().max_element();
            let size = summed + multiplier + right[count + k].abs().max_element();
            r[count + k].abs().max_element() <= 1e-14 * size
        })
    }
}

/// Σ a·b, in order: the same bits on any number of threads.
pub(crate) fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    // three running sums, one per coordinate, keep the adders busy
    let mut sum = Vec3::ZERO;
    for (a, b) in a.iter().zip(b) {
        sum += *a * *b;
    }
    sum.x + sum.y + sum.z
}

/// Euclidean norm.
pub(crate) fn norm(a: &[Vec3]) -> f64 {
    dot(a, a).sqrt()
}
