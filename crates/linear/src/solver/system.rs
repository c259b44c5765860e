//! The system of the moment: a matrix, constraint rows, and which points are unknown.
//!
//! Vectors have one entry per point (zero or given at known points) and, behind them, one per row.

use geometry::Vec3;
use rayon::prelude::*;

use crate::{ConstraintRows, Matrix};

/// Points that one task multiplies.
const POINTS_PER_TASK: usize = 256;

/// Share of the tolerance that rows that yield may be off by.
const YIELDING_SHARE: f64 = 1e-3;

/// K = [A Cᵀ; C −E] over the unknown points and the rows.
#[derive(Clone, Copy)]
pub(crate) struct System<'a> {
    pub(crate) matrix: &'a Matrix,
    pub(crate) rows: &'a ConstraintRows,
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
            *y = self.row_times(r, x);
        }
    }

    /// C x − E λ at a row.
    fn row_times(&self, r: usize, x: &[Vec3]) -> Vec3 {
        let (points, multipliers) = x.split_at(self.count());
        self.rows.row_times(r, points) - self.rows.compliance()[r] * multipliers[r]
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
        if x.iter().all(|x| *x == Vec3::ZERO) {
            // as at the beginning of most solves
            r.fill(Vec3::ZERO);
        } else {
            self.multiply(x, r);
        }
        for (i, r) in r.iter_mut().enumerate() {
            *r = if self.known.get(i) == Some(&true) { Vec3::ZERO } else { right[i] - *r };
        }
    }

    /// The rows' part of [`System::residual`]; the points' part of r is left as it is.
    pub(crate) fn rows_residual(&self, right: &[Vec3], x: &[Vec3], r: &mut [Vec3]) {
        let count = self.count();
        for k in 0..self.rows.len() {
            r[count + k] = right[count + k] - self.row_times(k, x);
        }
    }

    /// Whether every hard row's residual is round-off: below a few units in the last place of what it sums.
    pub(crate) fn hard_rows_satisfied(&self, right: &[Vec3], x: &[Vec3], r: &[Vec3]) -> bool {
        let hard = |&k: &usize| self.rows.compliance()[k] == 0.0;
        (0..self.rows.len()).filter(hard).all(|k| self.row_is_off_by(k, right, x, r) <= 1e-14)
    }

    /// Whether the residual of every row that yields is small beside the `tolerance` of the whole.
    pub(crate) fn compliant_rows_satisfied(
        &self,
        right: &[Vec3],
        x: &[Vec3],
        r: &[Vec3],
        tolerance: f64,
    ) -> bool {
        let yields = |&k: &usize| self.rows.compliance()[k] > 0.0;
        let allowed = (YIELDING_SHARE * tolerance).max(1e-14);
        (0..self.rows.len()).filter(yields).all(|k| self.row_is_off_by(k, right, x, r) <= allowed)
    }

    /// A row's residual over the size of what it sums.
    fn row_is_off_by(&self, k: usize, right: &[Vec3], x: &[Vec3], r: &[Vec3]) -> f64 {
        let count = self.count();
        let off = r[count + k].abs().max_element();
        if off == 0.0 {
            return 0.0;
        }
        let summed: f64 = self.rows.row(k).map(|(i, w)| (w * x[i as usize]).abs().max_element()).sum();
        let multiplier = self.rows.compliance()[k] * x[count + k].abs().max_element();
        off / (summed + multiplier + right[count + k].abs().max_element())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pattern;
    use std::sync::Arc;

    /// Two points, of which the second is known, and two rows, of which the second yields.
    #[test]
    fn rows_are_judged_by_what_they_sum() {
        let matrix = Matrix::new(Arc::new(Pattern::from_stencils(2, [&[0_u32, 1][..]])));
        let mut rows = ConstraintRows::new(2, [vec![(0, 3.0), (1, 5.0)], vec![(0, 4.0)]]);
        rows.compliance_mut()[1] = 0.5;
        let system = System { matrix: &matrix, rows: &rows, known: &[false, true] };
        let mut scratch = [Vec3::ONE; 4];
        // Cᵀλ at the unknown point: 3 X + 4 Y
        assert_eq!(system.transposed_size(&[Vec3::X, Vec3::Y], &mut scratch), 5.0);
        assert_eq!(system.transposed_size(&[], &mut scratch), 0.0);
        let x = [2.0 * Vec3::X, -Vec3::Y, Vec3::ZERO, 8.0 * Vec3::Z];
        let right = [Vec3::ZERO, Vec3::ZERO, 9.0 * Vec3::X, -4.0 * Vec3::Z];
        let r = [Vec3::ONE, Vec3::ONE, 2.0 * Vec3::Y, 8.0 * Vec3::X];
        assert_eq!(system.row_is_off_by(0, &right, &x, &r), 2.0 / (6.0 + 5.0 + 9.0));
        assert_eq!(system.row_is_off_by(1, &right, &x, &r), 8.0 / (8.0 + 4.0 + 4.0));
        assert_eq!(system.row_is_off_by(1, &right, &x, &[Vec3::ZERO; 4]), 0.0);
    }
}
