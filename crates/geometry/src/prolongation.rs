//! From the points of one mesh to those of another: each as a weighted mean of a few.

use crate::Vec3;

/// Weights P that turn values on coarse points into values on fine ones: fineᵢ = Σⱼ Pᵢⱼ coarseⱼ. Rows sum to one, so
/// that a mesh that moves rigidly takes the other along.
#[derive(Clone, Debug, PartialEq)]
pub struct Prolongation {
    coarse_count: usize,
    starts: Vec<usize>,
    points: Vec<u32>,
    weights: Vec<f64>,
}

impl Prolongation {
    /// Every point is itself.
    pub fn identity(count: usize) -> Self {
        Self::new(count, (0..count as u32).map(|point| vec![(point, 1.0)]))
    }

    /// One list of (coarse point, weight) per fine point. A coarse point named twice in a list counts with the sum.
    ///
    /// Points must be below `coarse_count`; weights are taken as they are.
    pub fn new(coarse_count: usize, rows: impl IntoIterator<Item = Vec<(u32, f64)>>) -> Self {
        let (mut starts, mut points, mut weights) = (vec![0], Vec::new(), Vec::<f64>::new());
        for mut row in rows {
            row.sort_by_key(|entry| entry.0);
            let start = points.len();
            for (point, weight) in row {
                if points.len() > start && points.last() == Some(&point) {
                    weights[points.len() - 1] += weight;
                } else {
                    points.push(point);
                    weights.push(weight);
                }
            }
            starts.push(points.len());
        }
        Self { coarse_count, starts, points, weights }
    }

    /// How many points values come from.
    pub fn coarse_count(&self) -> usize {
        self.coarse_count
    }

    /// How many points values go to.
    pub fn fine_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The (coarse point, weight) pairs of a fine point.
    pub fn row(&self, fine: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.starts[fine]..self.starts[fine + 1];
        self.points[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }

    /// Positions, velocities or directions on the fine points.
    pub fn vectors(&self, coarse: &[Vec3]) -> Vec<Vec3> {
        let at = |fine| self.row(fine).map(|(point, weight)| weight * coarse[point as usize]).sum();
        (0..self.fine_count()).map(at).collect()
    }

    /// Weights and other numbers on the fine points.
    pub fn numbers(&self, coarse: &[f64]) -> Vec<f64> {
        let at = |fine| self.row(fine).map(|(point, weight)| weight * coarse[point as usize]).sum();
        (0..self.fine_count()).map(at).collect()
    }

    /// This one, then `next`.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let rows = (0..next.fine_count()).map(|fine| {
            let through =
                |(middle, a): (u32, f64)| self.row(middle as usize).map(move |(coarse, b)| (coarse, a * b));
            next.row(fine).flat_map(through).collect()
        });
        Self::new(self.coarse_count, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_multiply_and_constants_stay() {
        let middle = Prolongation::new(2, [vec![(0, 1.0)], vec![(0, 0.5), (1, 0.5)], vec![(1, 1.0)]]);
        let ends = Prolongation::new(3, [vec![(0, 0.5), (1, 0.5)], vec![(1, 0.25), (2, 0.5), (1, 0.25)]]);
        let both = middle.then(&ends);
        assert_eq!(both.row(0).collect::<Vec<_>>(), [(0, 0.75), (1, 0.25)]);
        assert_eq!(both.numbers(&[3.0, 3.0]), [3.0, 3.0]);
        assert_eq!(both.vectors(&[Vec3::ZERO, Vec3::X]), [0.25 * Vec3::X, 0.75 * Vec3::X]);
        assert_eq!(Prolongation::identity(2).then(&middle), middle);
    }
}
