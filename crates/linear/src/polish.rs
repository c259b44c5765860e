//! The last digits of hard rows, without a triangular solve.
//!
//! A factor leaves rows short by round-off times the size of what was eliminated. The least change of the points that
//! makes up for it, δx = Cᵀ (C Cᵀ)⁻¹ (c − C x), costs a product with C and a small dense solve that x, y and z
//! share: C Cᵀ knows nothing of the matrix and is factorised once. What it does to the points' equations is as small as
//! what the rows lacked, and the caller looks at their residual afterwards.

use faer::Mat;
use faer::linalg::triangular_solve;
use faer::{MatMut, Par};
use geometry::Vec3;

use crate::dense;
use crate::system::System;

/// More rows than this are left to the factor: the dense matrix would no longer be small.
const MOST_ROWS: usize = 1200;

/// C Cᵀ over the unknown points, factorised.
#[derive(Default)]
pub(crate) struct Polish {
    /// The weights that it was made from.
    weights: Vec<f64>,
    /// Its Cholesky factor; none when it has no use.
    factor: Option<Mat<f64>>,
    lack: Vec<f64>,
}

impl Polish {
    /// Adds to x, one entry per point and row, what hard rows lack; `residual` holds it behind the points' part. False when
    /// that cannot be done here: rows that yield, that depend on each other, or too many.
    pub(crate) fn apply(&mut self, system: System<'_>, residual: &[Vec3], x: &mut [Vec3]) -> bool {
        let (rows, count) = (system.rows, system.count());
        if rows.len() > MOST_ROWS || rows.compliance().iter().any(|&compliance| compliance > 0.0) {
            return false;
        }
        if self.weights != rows.weights() {
            self.weights = rows.weights().to_vec();
            self.factor = gram(system);
        }
        let Some(factor) = &self.factor else { return false };
        let r = rows.len();
        self.lack.resize(3 * r, 0.0);
        for (k, lack) in residual[count..].iter().enumerate() {
            for (axis, value) in lack.to_array().into_iter().enumerate() {
                self.lack[axis * r + k] = value;
            }
        }
        let mut lack = MatMut::from_column_major_slice_mut(&mut self.lack, r, 3);
        triangular_solve::solve_lower_triangular_in_place(factor.as_ref(), lack.as_mut(), Par::Seq);
        triangular_solve::solve_upper_triangular_in_place(
            factor.as_ref().transpose(),
            lack.as_mut(),
            Par::Seq,
        );
        for k in 0..r {
            let share = Vec3::new(self.lack[k], self.lack[r + k], self.lack[2 * r + k]);
            for (point, weight) in rows.row(k) {
                if !system.known[point as usize] {
                    x[point as usize] += weight * share;
                }
            }
        }
        true
    }
}

/// The factor of C Cᵀ over the unknown points, if it is one.
fn gram(system: System<'_>) -> Option<Mat<f64>> {
    let rows = system.rows;
    let mut at_point: Vec<Vec<(usize, f64)>> = vec![Vec::new(); system.count()];
    for k in 0..rows.len() {
        for (point, weight) in rows.row(k) {
            if !system.known[point as usize] {
                at_point[point as usize].push((k, weight));
            }
        }
    }
    let mut product = Mat::<f64>::zeros(rows.len(), rows.len());
    for entries in &at_point {
        for &(j, b) in entries {
            for &(i, a) in entries.iter().filter(|(i, _)| *i >= j) {
                product[(i, j)] += a * b;
            }
        }
    }
    dense::cholesky(product.as_mut()).ok()?;
    Some(product)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Matrix, Pattern, Rows};

    #[test]
    fn rows_hold_to_the_last_digit_and_known_points_stay() {
        let matrix = Matrix::new(Arc::new(Pattern::from_stencils(4, std::iter::empty::<&[u32]>())));
        let rows = Rows::new(4, [vec![(0, 0.2), (1, 0.3), (2, 0.5)], vec![(2, 0.7), (3, 0.3)]]);
        let known = [true, false, false, false];
        let system = System { matrix: &matrix, rows: &rows, known: &known };
        let mut x: Vec<Vec3> = (0..6).map(|i| Vec3::new(f64::from(i).sin(), 1.0, f64::from(i * i))).collect();
        let before = x.clone();
        let want = [Vec3::new(1.0, 2.0, 3.0), Vec3::new(-1.0, 0.5, 4.0)];
        let mut residual = vec![Vec3::ZERO; 6];
        for (k, want) in want.iter().enumerate() {
            residual[4 + k] = *want - rows.row_times(k, &x[..4]);
        }
        assert!(Polish::default().apply(system, &residual, &mut x));
        assert_eq!(x[0], before[0]);
        for (k, want) in want.iter().enumerate() {
            assert!((*want - rows.row_times(k, &x[..4])).length() < 1e-14);
        }
        let twice = Rows::new(4, [vec![(1, 0.5)], vec![(1, 0.25)]]);
        assert!(!Polish::default().apply(System { rows: &twice, ..system }, &residual, &mut x));
    }
}
