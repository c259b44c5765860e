//! Linear constraints as sparse rows of weights that act on x, y and z alike.

mod refinement;

use geometry::Vec3;

pub(crate) use refinement::RowRefinement;

/// Sparse rows C of weights over the points: row r of C x is Σ w x, a weighted sum of positions.
///
/// A row is *hard* when its compliance is zero: C x = c holds exactly, by a multiplier λ. Otherwise it yields under
/// load: C x − compliance · λ = c.
#[derive(Clone, Debug)]
pub struct ConstraintRows {
    count: usize,
    starts: Vec<usize>,
    points: Vec<u32>,
    weights: Vec<f64>,
    compliance: Vec<f64>,
    first_out_of_range: Option<u32>,
}

impl ConstraintRows {
    /// No rows over `count` points.
    pub fn none(count: usize) -> Self {
        Self::new(count, [])
    }

    /// Hard rows over `count` points, each a list of (point, weight). Weights of a point named twice are summed.
    ///
    /// A point beyond `count` is left out here, and reported by [`crate::Solver::new`].
    pub fn new(count: usize, rows: impl IntoIterator<Item = Vec<(u32, f64)>>) -> Self {
        let mut first_out_of_range = None;
        let (mut starts, mut points, mut weights) = (vec![0], Vec::new(), Vec::<f64>::new());
        for mut row in rows {
            row.sort_by_key(|entry| entry.0);
            let start = points.len();
            for (point, weight) in row {
                if point as usize >= count {
                    first_out_of_range = first_out_of_range.or(Some(point));
                } else if points.len() > start && points.last() == Some(&point) {
                    weights[points.len() - 1] += weight;
                } else {
                    points.push(point);
                    weights.push(weight);
                }
            }
            starts.push(points.len());
        }
        let compliance = vec![0.0; starts.len() - 1];
        Self { count, starts, points, weights, compliance, first_out_of_range }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.compliance.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.compliance.is_empty()
    }

    /// How many points the rows act on.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The (point, weight) pairs of row `r`, points ascending.
    pub fn row(&self, r: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.starts[r]..self.starts[r + 1];
        self.points[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }

    /// See [`ConstraintRows::weights`]. May be changed between solves without new symbolic work; must be finite.
    pub fn weights_mut(&mut self) -> &mut [f64] {
        &mut self.weights
    }

    /// All weights, row by row.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Compliance of each row: 0 is hard. May be changed between solves without new symbolic work.
    pub fn compliance(&self) -> &[f64] {
        &self.compliance
    }

    /// See [`ConstraintRows::compliance`]. Values must be finite and not negative.
    pub fn compliance_mut(&mut self) -> &mut [f64] {
        &mut self.compliance
    }

    /// C x, with one entry of x per point.
    pub fn multiply(&self, x: &[Vec3]) -> Vec<Vec3> {
        (0..self.len()).map(|r| self.row_times(r, x)).collect()
    }

    /// y += Cᵀ λ.
    pub fn transpose_multiply_add(&self, multipliers: &[Vec3], y: &mut [Vec3]) {
        for (r, &multiplier) in multipliers.iter().enumerate().take(self.len()) {
            for (point, weight) in self.row(r) {
                y[point as usize] += weight * multiplier;
            }
        }
    }

    /// Which rows say something that the others do not, as seen by the points that are not `known`: a maximal set of independent ones.
    ///
    /// By a rank-revealing factorisation: C Cᵀ of rows of unit length, Cholesky with pivoting; a row is left out when what the
    /// chosen ones do not say already is shorter than `tolerance` of it. Hard rows that depend on each other make the
    /// saddle-point matrix singular.
    pub fn independent(&self, known: &[bool], tolerance: f64) -> Vec<bool> {
        let rows: Vec<Vec<(u32, f64)>> = (0..self.len())
            .map(|r| {
                let row: Vec<(u32, f64)> = self.row(r).filter(|(p, _)| !known[*p as usize]).collect();
                let length = row.iter().map(|(_, w)| w * w).sum::<f64>().sqrt();
                row.into_iter().map(|(p, w)| (p, if length > 0.0 { w / length } else { 0.0 })).collect()
            })
            .collect();
        let mut chosen = vec![false; rows.len()];
        // L of C Cᵀ = L Lᵀ, a column for each chosen row; what is left of each row's squared length stands in `left`
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut left: Vec<f64> = rows.iter().map(|row| row.iter().map(|(_, w)| w * w).sum()).collect();
        // the first of equal ones, so that order alone decides
        let longest = |left: &[f64], chosen: &[bool]| {
            let open = (0..left.len()).filter(|&r| !chosen[r]);
            open.fold(None, |best: Option<usize>, r| match best {
                Some(b) if left[b] >= left[r] => Some(b),
                _ => Some(r),
            })
        };
        while let Some(pivot) = longest(&left, &chosen).filter(|&r| left[r] > tolerance * tolerance) {
            chosen[pivot] = true;
            let root = left[pivot].sqrt();
            let column: Vec<f64> = (0..rows.len())
                .map(|r| {
                    let known_part: f64 = columns.iter().map(|column| column[r] * column[pivot]).sum();
                    (sparse_dot(&rows[r], &rows[pivot]) - known_part) / root
                })
                .collect();
            left.iter_mut().zip(&column).for_each(|(left, entry)| *left -= entry * entry);
            columns.push(column);
        }
        chosen
    }

    /// Row r of C x.
    pub(crate) fn row_times(&self, r: usize, x: &[Vec3]) -> Vec3 {
        self.row(r).map(|(point, weight)| weight * x[point as usize]).sum()
    }

    /// Whether the supports are the same, whatever the weights.
    pub(crate) fn same_support(&self, other: &Self) -> bool {
        self.count == other.count && self.starts == other.starts && self.points == other.points
    }

    pub(crate) fn first_out_of_range(&self) -> Option<u32> {
        self.first_out_of_range
    }

    /// The first row with a weight or compliance that is not a finite number, or with a negative compliance.
    pub(crate) fn first_not_finite(&self) -> Option<usize> {
        (0..self.len()).find(|&r| {
            !(self.compliance[r].is_finite() && self.compliance[r] >= 0.0)
                || self.row(r).any(|(_, weight)| !weight.is_finite())
        })
    }
}

/// Σ a b over the points of both; points ascend.
fn sparse_dot(a: &[(u32, f64)], b: &[(u32, f64)]) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() && j < b.len() {
        match a[i].0.cmp(&b[j].0) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += a[i].1 * b[j].1;
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_others_imply_are_found() {
        // the third is the sum of the first two, the fifth says something about a known point alone, the sixth is the fourth doubled
        let rows = ConstraintRows::new(
            5,
            [
                vec![(0, 1.0), (1, 1.0)],
                vec![(1, 1.0), (2, 3.0)],
                vec![(0, 1.0), (1, 2.0), (2, 3.0)],
                vec![(3, 0.5)],
                vec![(4, 1.0)],
                vec![(3, 1.0), (4, 7.0)],
            ],
        );
        let known = [false, false, false, false, true];
        let chosen = rows.independent(&known, 1e-6);
        assert_eq!(chosen.iter().filter(|c| **c).count(), 3, "{chosen:?}");
        assert_eq!(chosen[..3].iter().filter(|c| **c).count(), 2);
        assert_eq!(chosen[3..], [true, false, false]);
        // seen by all points, the sum is superfluous and one of the last three
        assert_eq!(rows.independent(&[false; 5], 1e-6).iter().filter(|c| **c).count(), 4);
        // nearly the same is the same, to a tolerance
        let near = ConstraintRows::new(2, [vec![(0, 1.0)], vec![(0, 1.0), (1, 1e-4)]]);
        assert_eq!(near.independent(&[false; 2], 1e-3), [true, false]);
        assert_eq!(near.independent(&[false; 2], 1e-5), [true, true]);
    }

    #[test]
    fn rows_sum_repeated_points_and_transpose() {
        let rows = ConstraintRows::new(3, [vec![(2, 0.25), (0, 0.5), (2, 0.25)], vec![(1, 2.0)]]);
        assert_eq!(rows.row(0).collect::<Vec<_>>(), [(0, 0.5), (2, 0.5)]);
        let x = [Vec3::X, Vec3::Y, Vec3::Z];
        assert_eq!(rows.multiply(&x), [0.5 * Vec3::X + 0.5 * Vec3::Z, 2.0 * Vec3::Y]);
        let mut y = [Vec3::ZERO; 3];
        rows.transpose_multiply_add(&[Vec3::X, Vec3::Y], &mut y);
        assert_eq!(y, [0.5 * Vec3::X, 2.0 * Vec3::Y, 0.5 * Vec3::X]);
        assert!(ConstraintRows::none(3).is_empty());
    }
}
