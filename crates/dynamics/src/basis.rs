//! Unknowns that are not points: positions as a linear function of coefficients.
//!
//! x = x̄ + B c. Coefficients are triples like points, so that a body, a state and an integrator need not know the difference; an
//! entry of B is a number, the same for x, y and z (functions on a lattice, skinning weights), or a 3×3 matrix (modes of vibration,
//! three of them to a triple).

use geometry::{Mat3, Prolongation, Vec3};

/// An entry of a [`Basis`]: a number or a 3×3 matrix.
pub trait Weight: Copy + Send + Sync + std::ops::AddAssign + 'static {
    /// Nothing.
    const ZERO: Self;
    /// B c.
    fn times(self, c: Vec3) -> Vec3;
    /// Bᵀ g.
    fn transposed_times(self, g: Vec3) -> Vec3;
    /// H B.
    fn after(self, h: Mat3) -> Mat3;
    /// Bᵀ H.
    fn before(self, h: Mat3) -> Mat3;
}

impl Weight for f64 {
    const ZERO: Self = 0.0;

    fn times(self, c: Vec3) -> Vec3 {
        self * c
    }

    fn transposed_times(self, g: Vec3) -> Vec3 {
        self * g
    }

    fn after(self, h: Mat3) -> Mat3 {
        h * self
    }

    fn before(self, h: Mat3) -> Mat3 {
        h * self
    }
}

impl Weight for Mat3 {
    const ZERO: Self = Mat3::ZERO;

    fn times(self, c: Vec3) -> Vec3 {
        self * c
    }

    fn transposed_times(self, g: Vec3) -> Vec3 {
        self.transpose() * g
    }

    fn after(self, h: Mat3) -> Mat3 {
        h * self
    }

    fn before(self, h: Mat3) -> Mat3 {
        self.transpose() * h
    }
}

/// x = x̄ + B c: points as a linear function of coefficients, B sparse.
#[derive(Clone, Debug, PartialEq)]
pub struct Basis<W = f64> {
    offsets: Vec<Vec3>,
    coefficient_count: usize,
    starts: Vec<usize>,
    columns: Vec<u32>,
    weights: Vec<W>,
}

impl<W: Weight> Basis<W> {
    /// For every point x̄, and the row of B: pairs of a coefficient and its weight. Weights of a coefficient named twice are
    /// summed.
    ///
    /// # Panics
    /// Where a row names a coefficient that is not there.
    pub fn new(coefficient_count: usize, rows: impl IntoIterator<Item = (Vec3, Vec<(u32, W)>)>) -> Self {
        let (mut offsets, mut starts) = (Vec::new(), vec![0]);
        let (mut columns, mut weights) = (Vec::new(), Vec::<W>::new());
        for (offset, mut row) in rows {
            row.sort_by_key(|entry| entry.0);
            let start = columns.len();
            for (column, weight) in row {
                assert!((column as usize) < coefficient_count, "coefficient {column} of {coefficient_count}");
                if columns.len() > start && columns.last() == Some(&column) {
                    weights[columns.len() - 1] += weight;
                } else {
                    columns.push(column);
                    weights.push(weight);
                }
            }
            offsets.push(offset);
            starts.push(columns.len());
        }
        Self { offsets, coefficient_count, starts, columns, weights }
    }

    /// How many points.
    pub fn point_count(&self) -> usize {
        self.offsets.len()
    }

    /// How many coefficients, which are triples.
    pub fn coefficient_count(&self) -> usize {
        self.coefficient_count
    }

    /// x̄ of a point.
    pub fn offset(&self, point: usize) -> Vec3 {
        self.offsets[point]
    }

    /// The row of B of a point, coefficients ascending.
    pub fn row(&self, point: usize) -> impl Iterator<Item = (u32, W)> + '_ {
        let range = self.starts[point]..self.starts[point + 1];
        self.columns[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }

    /// x = x̄ + B c.
    pub fn positions(&self, coefficients: &[Vec3], positions: &mut [Vec3]) {
        for (point, x) in positions.iter_mut().enumerate() {
            *x = self.offsets[point] + self.apply(point, coefficients);
        }
    }

    /// B v: how points move when coefficients move so.
    pub fn velocities(&self, coefficients: &[Vec3], velocities: &mut [Vec3]) {
        for (point, v) in velocities.iter_mut().enumerate() {
            *v = self.apply(point, coefficients);
        }
    }

    /// Adds Bᵀ f: what forces on points are as forces on coefficients.
    pub fn add_forces(&self, forces: &[Vec3], on_coefficients: &mut [Vec3]) {
        for (point, &force) in forces.iter().enumerate() {
            for (column, weight) in self.row(point) {
                on_coefficients[column as usize] += weight.transposed_times(force);
            }
        }
    }

    fn apply(&self, point: usize, coefficients: &[Vec3]) -> Vec3 {
        self.row(point).map(|(column, weight)| weight.times(coefficients[column as usize])).sum()
    }
}

impl From<&Prolongation> for Basis {
    /// Points that are weighted sums of others, x̄ = 0.
    fn from(prolongation: &Prolongation) -> Self {
        let rows = (0..prolongation.fine_count()).map(|p| (Vec3::ZERO, prolongation.row(p).collect()));
        Self::new(prolongation.coarse_count(), rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_and_velocities_are_adjoint() {
        let turn = crate::random_rotation(3) * 0.7;
        let rows = [
            (Vec3::X, vec![(0, Mat3::IDENTITY), (1, turn)]),
            (Vec3::ZERO, vec![(1, turn), (1, turn)]),
            (Vec3::Y, vec![]),
        ];
        let basis = Basis::new(2, rows);
        let c = [Vec3::new(0.3, -1.0, 2.0), Vec3::new(1.0, 0.2, 0.1)];
        let f = [Vec3::new(0.1, 0.5, -0.4), Vec3::new(-2.0, 0.3, 0.6), Vec3::ONE];
        let (mut v, mut g) = ([Vec3::ZERO; 3], [Vec3::ZERO; 2]);
        basis.velocities(&c, &mut v);
        basis.add_forces(&f, &mut g);
        let work = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
        assert!((work(&v, &f) - work(&c, &g)).abs() < 1e-14);
        let mut x = [Vec3::ZERO; 3];
        basis.positions(&c, &mut x);
        assert_eq!(x[2], Vec3::Y);
        assert_eq!(x[1], turn * c[1] * 2.0);
        assert_eq!(x[0], Vec3::X + v[0]);
    }
}
