//! The last digits of hard rows, without a triangular solve.
//!
//! A factor leaves rows short by round-off times the size of what was eliminated. The least change of the points that
//! makes up for it, δx = Cᵀ (C Cᵀ)⁻¹ (c − C x), costs a product with C and a small dense solve that x, y and z
//! share: C Cᵀ knows nothing of the matrix and is factorised once. What it does to the points' equations is as small as
//! what the rows lacked, and the caller looks at their residual afterwards.

use faer::{Mat, Side};
use geometry::Vec3;

use crate::ConstraintRows;
use crate::solver::System;

/// More rows than this are left to the factor: the dense matrix would no longer be small.
const MOST_ROWS: usize = 1200;

/// C Cᵀ of the hard rows over the unknown points, factorised.
#[derive(Default)]
pub(crate) struct RowRefinement {
    /// The weights and compliances that it was made from.
    made_from: (Vec<f64>, Vec<f64>),
    /// The hard rows.
    hard: Vec<usize>,
    /// The Cholesky factor; none when it has no use.
    factor: Option<Vec<Column>>,
    shares: Vec<Vec3>,
}

/// A column of a Cholesky factor: its diagonal, and what is not zero below. Rows that have no points in common know
/// nothing of each other, and most have none.
struct Column {
    diagonal: f64,
    below: Vec<(u32, f64)>,
}

impl RowRefinement {
    /// Makes the hard rows of a system hold at x (points, then multipliers). The rows' part of r is scratch. False as
    /// with [`RowRefinement::apply`].
    pub(crate) fn rows(
        &mut self,
        system: System<'_>,
        right: &[Vec3],
        x: &mut [Vec3],
        r: &mut [Vec3],
    ) -> bool {
        let count = system.count();
        system.rows_residual(right, x, r);
        self.apply(system.rows, system.known, &r[count..], &mut x[..count])
    }

    /// Adds to the points x what the hard rows lack, one entry per row. False when that cannot be done here: rows that
    /// depend on each other, or too many.
    pub(crate) fn apply(
        &mut self,
        rows: &ConstraintRows,
        known: &[bool],
        residual: &[Vec3],
        x: &mut [Vec3],
    ) -> bool {
        if rows.is_empty() || rows.len() > MOST_ROWS {
            return false;
        }
        if self.made_from.0 != rows.weights() || self.made_from.1 != rows.compliance() {
            self.made_from = (rows.weights().to_vec(), rows.compliance().to_vec());
            self.hard = (0..rows.len()).filter(|&r| rows.compliance()[r] == 0.0).collect();
            self.factor = gram(rows, &self.hard, known);
        }
        let Some(factor) = &self.factor else { return false };
        let shares = &mut self.shares;
        shares.clear();
        shares.extend(self.hard.iter().map(|&row| residual[row]));
        for (k, column) in factor.iter().enumerate() {
            let share = shares[k] / column.diagonal;
            shares[k] = share;
            column.below.iter().for_each(|&(i, v)| shares[i as usize] -= v * share);
        }
        for (k, column) in factor.iter().enumerate().rev() {
            let others: Vec3 = column.below.iter().map(|&(i, v)| v * shares[i as usize]).sum();
            shares[k] = (shares[k] - others) / column.diagonal;
        }
        for (&row, &share) in self.hard.iter().zip(&*shares) {
            for (point, weight) in rows.row(row) {
                if !known[point as usize] {
                    x[point as usize] += weight * share;
                }
            }
        }
        true
    }
}

/// The factor of C Cᵀ over the unknown points, if it is one.
fn gram(rows: &ConstraintRows, hard: &[usize], known: &[bool]) -> Option<Vec<Column>> {
    let mut at_point: Vec<Vec<(usize, f64)>> = vec![Vec::new(); known.len()];
    for (k, &row) in hard.iter().enumerate() {
        for (point, weight) in rows.row(row) {
            if !known[point as usize] {
                at_point[point as usize].push((k, weight));
            }
        }
    }
    let mut product = Mat::<f64>::zeros(hard.len(), hard.len());
    for entries in &at_point {
        for &(j, b) in entries {
            for &(i, a) in entries.iter().filter(|(i, _)| *i >= j) {
                product[(i, j)] += a * b;
            }
        }
    }
    let factor = product.llt(Side::Lower).ok()?;
    let column = |k: usize| {
        let column = factor.L().col(k);
        let below = (k + 1..hard.len()).map(|i| (i as u32, column[i])).filter(|entry| entry.1 != 0.0);
        Column { diagonal: column[k], below: below.collect() }
    };
    Some((0..hard.len()).map(column).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_rows_hold_to_the_last_digit_and_known_points_stay() {
        let mut rows = ConstraintRows::new(
            4,
            [vec![(0, 0.2), (1, 0.3), (2, 0.5)], vec![(2, 0.7), (3, 0.3)], vec![(3, 1.0)]],
        );
        rows.compliance_mut()[2] = 0.1;
        let known = [true, false, false, false];
        let mut x: Vec<Vec3> = (0..4).map(|i| Vec3::new(f64::from(i).sin(), 1.0, f64::from(i * i))).collect();
        let before = x.clone();
        let want = [Vec3::new(1.0, 2.0, 3.0), Vec3::new(-1.0, 0.5, 4.0)];
        let mut residual = vec![Vec3::ONE; 3];
        for (k, want) in want.iter().enumerate() {
            residual[k] = *want - rows.row_times(k, &x);
        }
        assert!(RowRefinement::default().apply(&rows, &known, &residual, &mut x));
        assert_eq!(x[0], before[0]);
        for (k, want) in want.iter().enumerate() {
            assert!((*want - rows.row_times(k, &x)).length() < 1e-14);
        }
        let twice = ConstraintRows::new(4, [vec![(1, 0.5)], vec![(1, 0.25)]]);
        assert!(!RowRefinement::default().apply(&twice, &known, &residual, &mut x));
    }

    #[test]
    fn other_weights_and_other_compliances_are_taken_up_and_too_many_rows_are_left_alone() {
        let mut refinement = RowRefinement::default();
        let known = [false; 3];
        for (weights, compliance) in [
            ([0.5, 0.5], [0.0, 0.0]),
            ([0.2, 0.8], [0.0, 0.0]),
            ([0.2, 0.8], [0.0, 0.3]),
            ([0.2, 0.8], [0.0; 2]),
        ] {
            let mut rows =
                ConstraintRows::new(3, [vec![(0, weights[0]), (1, weights[1])], vec![(1, 1.0), (2, 2.0)]]);
            rows.compliance_mut().copy_from_slice(&compliance);
            let mut x = vec![Vec3::X, Vec3::Y, Vec3::Z];
            let want = [Vec3::new(1.0, 2.0, 3.0), Vec3::new(-1.0, 0.5, 4.0)];
            let residual: Vec<Vec3> = (0..2).map(|k| want[k] - rows.row_times(k, &x)).collect();
            assert!(refinement.apply(&rows, &known, &residual, &mut x));
            for k in 0..2 {
                let off = (want[k] - rows.row_times(k, &x)).length();
                assert_eq!(off < 1e-14, compliance[k] == 0.0, "{weights:?} {compliance:?} {k}: {off}");
            }
        }
        for (count, expected) in [(MOST_ROWS, true), (MOST_ROWS + 1, false)] {
            let rows = ConstraintRows::new(count, (0..count as u32).map(|i| vec![(i, 1.0)]));
            let zeros = vec![Vec3::ZERO; count];
            let done = RowRefinement::default().apply(&rows, &vec![false; count], &zeros, &mut zeros.clone());
            assert_eq!(done, expected, "{count} rows");
        }
    }
}
