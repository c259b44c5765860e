//! From the points of one mesh to those of another: each as a weighted mean of a few.

use rayon::prelude::*;

use crate::tree::Tree;
use crate::{Bounds, Vec3, closest_on_triangle};

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

    /// Each fine point stands on the closest point of the coarse surface; with it, how far each was away, in metres.
    /// `None` without triangles.
    pub fn by_closest_point(
        coarse: &[Vec3],
        triangles: &[[u32; 3]],
        fine: &[Vec3],
    ) -> Option<(Self, Vec<f64>)> {
        let corners = |t: u32| triangles[t as usize].map(|v| coarse[v as usize]);
        let boxes: Vec<Bounds> = (0..triangles.len() as u32).map(|t| Bounds::of(corners(t))).collect();
        let tree = Tree::new(&boxes);
        let place = |p: Vec3, t: u32| {
            let weights = closest_on_triangle(p, corners(t));
            let at: Vec3 = corners(t).iter().zip(weights).map(|(&c, w)| w * c).sum();
            (weights, at.distance_squared(p))
        };
        let found: Option<Vec<_>> = fine
            .par_iter()
            .map(|&p| {
                let (t, _) = tree.nearest(p, f64::INFINITY, |t| place(p, t).1)?;
                let (weights, squared) = place(p, t);
                let row: Vec<(u32, f64)> = triangles[t as usize].into_iter().zip(weights).collect();
                Some((row, squared.sqrt()))
            })
            .collect();
        let (rows, distances): (Vec<_>, Vec<f64>) = found?.into_iter().unzip();
        Some((Self::new(coarse.len(), rows), distances))
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

    #[test]
    fn closest_points_give_back_places_on_the_surface() {
        let coarse = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X + Vec3::Y];
        let fine = [Vec3::new(0.3, 0.2, 0.0), Vec3::new(0.9, 0.8, 0.5), Vec3::new(2.0, 0.5, 0.0)];
        let (map, distances) =
            Prolongation::by_closest_point(&coarse, &[[0, 1, 2], [2, 1, 3]], &fine).unwrap();
        let placed = map.vectors(&coarse);
        assert!(placed[0].distance(fine[0]) < 1e-15 && distances[0] < 1e-15);
        assert!(placed[1].distance(fine[1].with_z(0.0)) < 1e-15 && (distances[1] - 0.5).abs() < 1e-15);
        assert!(placed[2].distance(Vec3::new(1.0, 0.5, 0.0)) < 1e-15 && distances[2] == 1.0);
        assert!(Prolongation::by_closest_point(&coarse, &[], &fine).is_none());
    }
}
