//! Masses: a number for every point, or a symmetric matrix of numbers where points share what they carry.
//!
//! Kinetic energy is ½ vᵀ M v, and M acts on x, y and z alike. Lumped, M is diagonal; through a [`Basis`](crate::Basis) it becomes BᵀMB,
//! which is not.

use geometry::{Mat3, Vec3};
use linear::Matrix;

/// M: masses of points or coefficients, in kilograms.
#[derive(Clone, Debug, PartialEq)]
pub struct Mass {
    /// Row sums of the level that sums to one, or the lumped masses themselves: what gravity acts on.
    weights: Vec<f64>,
    full: Option<Full>,
}

impl From<Vec<f64>> for Mass {
    fn from(masses: Vec<f64>) -> Self {
        Self::lumped(masses)
    }
}

/// Whole rows, columns ascending.
#[derive(Clone, Debug, PartialEq)]
struct Full {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    diagonal: Vec<f64>,
}

/// Conjugate gradients on M stop here: relative to the right-hand side.
const SOLVED: f64 = 1e-13;

impl Mass {
    /// One mass for each point.
    pub fn lumped(masses: Vec<f64>) -> Self {
        Self { weights: masses, full: None }
    }

    /// A symmetric matrix over `weights.len()` coefficients. `weights` is what gravity acts on: ∫ρφₐ for functions φₐ. Entries (i, j)
    /// are summed; only one triangle with the diagonal is given.
    ///
    /// # Panics
    /// Where an entry lies outside.
    pub fn full(weights: Vec<f64>, entries: impl IntoIterator<Item = (u32, u32, f64)>) -> Self {
        let mut all: Vec<(u64, f64)> = Vec::new();
        for (i, j, value) in entries {
            assert!((i.max(j) as usize) < weights.len(), "entry ({i}, {j})");
            all.push((u64::from(i) << 32 | u64::from(j), value));
            if i != j {
                all.push((u64::from(j) << 32 | u64::from(i), value));
            }
        }
        // stable: equal entries are summed in the order they came
        all.sort_by_key(|entry| entry.0);
        let mut starts = vec![0; weights.len() + 1];
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for run in all.chunk_by(|a, b| a.0 == b.0) {
            starts[(run[0].0 >> 32) as usize + 1] += 1;
            columns.push(run[0].0 as u32);
            values.push(run.iter().map(|entry| entry.1).sum());
        }
        for i in 0..weights.len() {
            starts[i + 1] += starts[i];
        }
        let mut diagonal = vec![0.0; weights.len()];
        for i in 0..weights.len() {
            let row = starts[i]..starts[i + 1];
            let own = columns[row.clone()].binary_search(&(i as u32));
            diagonal[i] = own.map_or(0.0, |k| values[row.start + k]);
        }
        Self { weights, full: Some(Full { starts, columns, values, diagonal }) }
    }

    /// These masses and, after them, those of another body; nothing is shared between the two.
    #[must_use]
    pub fn beside(self, other: &Self) -> Self {
        let first = self.len();
        let weights = self.weights.iter().chain(&other.weights).copied().collect();
        if self.is_lumped() && other.is_lumped() {
            return Self::lumped(weights);
        }
        let entries = |mass: &Self, first: usize| -> Vec<(u32, u32, f64)> {
            let row = |i: usize| mass.row(i).map(move |(j, value)| (i as u32, j, value));
            let lower = (0..mass.len()).flat_map(row).filter(|(i, j, _)| j <= i);
            lower.map(|(i, j, value)| (i + first as u32, j + first as u32, value)).collect()
        };
        Self::full(weights, entries(&self, 0).into_iter().chain(entries(other, first)))
    }

    /// How many points or coefficients.
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// What gravity acts on, in kilograms: the masses themselves where they are lumped.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Whether M is diagonal by construction.
    pub fn is_lumped(&self) -> bool {
        self.full.is_none()
    }

    /// M's diagonal, in kilograms: what moves with a point when nothing else does.
    pub fn diagonal(&self) -> &[f64] {
        self.full.as_ref().map_or(&self.weights, |full| &full.diagonal)
    }

    /// Row i of M: pairs of a column and a value, columns ascending.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let (columns, values): (&[u32], &[f64]) = match &self.full {
            None => (&[], &[]),
            Some(full) => {
                let range = full.starts[i]..full.starts[i + 1];
                (&full.columns[range.clone()], &full.values[range])
            }
        };
        let alone = self.full.is_none().then_some((i as u32, self.weights[i]));
        alone.into_iter().chain(columns.iter().copied().zip(values.iter().copied()))
    }

    /// Row i of M v.
    pub fn row_times(&self, i: usize, v: impl Fn(usize) -> Vec3) -> Vec3 {
        match &self.full {
            None => self.weights[i] * v(i),
            Some(full) => {
                let range = full.starts[i]..full.starts[i + 1];
                let entries = full.columns[range.clone()].iter().zip(&full.values[range]);
                entries.map(|(&j, &value)| value * v(j as usize)).sum()
            }
        }
    }

    /// ½ vᵀ M v, in joules for velocities.
    pub fn energy(&self, v: impl Fn(usize) -> Vec3) -> f64 {
        match &self.full {
            None => (0..self.len()).map(|i| 0.5 * self.weights[i] * v(i).length_squared()).sum(),
            Some(_) => (0..self.len()).map(|i| 0.5 * v(i).dot(self.row_times(i, &v))).sum(),
        }
    }

    /// M⁻¹ f over the unknown points; zero at known ones.
    pub(crate) fn solve(&self, force: &[Vec3], known: &[bool]) -> Vec<Vec3> {
        let of = |i: usize, v: Vec3| if known[i] { Vec3::ZERO } else { v };
        if self.full.is_none() {
            return (0..force.len()).map(|i| of(i, force[i] / self.weights[i])).collect();
        }
        // conjugate gradients with the diagonal: mass matrices are so well conditioned that a few dozen iterations reach round-off
        let dot = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
        let mut residual: Vec<Vec3> = (0..force.len()).map(|i| of(i, force[i])).collect();
        let scaled = |residual: &[Vec3]| -> Vec<Vec3> {
            residual
                .iter()
                .zip(self.diagonal())
                .map(|(r, m)| if *m > 0.0 { *r / *m } else { Vec3::ZERO })
                .collect()
        };
        let mut x = vec![Vec3::ZERO; force.len()];
        let mut direction = scaled(&residual);
        let mut size = dot(&residual, &direction);
        let goal = SOLVED * SOLVED * size;
        for _ in 0..10 * force.len().max(10) {
            if size <= goal {
                break;
            }
            let product: Vec<Vec3> =
                (0..force.len()).map(|i| of(i, self.row_times(i, |j| direction[j]))).collect();
            let length = size / dot(&direction, &product);
            for i in 0..x.len() {
                x[i] += length * direction[i];
                residual[i] -= length * product[i];
            }
            let next = scaled(&residual);
            let after = dot(&residual, &next);
            let keep = after / size;
            direction.iter_mut().zip(next).for_each(|(d, z)| *d = z + keep * *d);
            size = after;
        }
        x
    }

    /// Visits the points that M couples.
    pub fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        if self.full.is_some() {
            for i in 0..self.len() as u32 {
                self.row(i as usize).filter(|(j, _)| *j < i).for_each(|(j, _)| visit(&[j, i]));
            }
        }
    }

    /// Adds `scale` · M.
    pub fn add_to(&self, scale: f64, matrix: &mut Matrix) {
        for i in 0..self.len() {
            for (j, value) in self.row(i).filter(|(j, _)| *j as usize <= i) {
                matrix.add(i as u32, j, Mat3::from_diagonal(Vec3::splat(scale * value)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagonal_matrix_is_the_lumped_one() {
        let lumped = Mass::lumped(vec![1.0, 2.5]);
        let full = Mass::full(vec![1.0, 2.5], [(0, 0, 0.5), (1, 1, 2.5), (0, 0, 0.5)]);
        let v = [Vec3::new(1.0, -2.0, 0.5), Vec3::Y];
        assert_eq!(lumped.energy(|i| v[i]), full.energy(|i| v[i]));
        for i in 0..2 {
            assert_eq!(lumped.row_times(i, |j| v[j]), full.row_times(i, |j| v[j]));
        }
        assert_eq!(lumped.diagonal(), full.diagonal());
        assert_eq!(lumped.solve(&v, &[false, true]), full.solve(&v, &[false, true]));
    }

    #[test]
    fn two_bodies_side_by_side_keep_their_masses() {
        let full = Mass::full(vec![1.0, 2.0], [(0, 0, 0.6), (1, 1, 1.6), (1, 0, 0.4)]);
        let both = Mass::lumped(vec![3.0]).beside(&full);
        let v = [Vec3::X, Vec3::Y, Vec3::Z];
        assert_eq!(both.weights(), [3.0, 1.0, 2.0]);
        assert_eq!(both.row_times(0, |i| v[i]), 3.0 * Vec3::X);
        assert_eq!(both.row_times(2, |i| v[i]), 0.4 * Vec3::Y + 1.6 * Vec3::Z);
        assert!(Mass::lumped(vec![1.0]).beside(&Mass::lumped(vec![2.0])).is_lumped());
    }

    #[test]
    fn couplings_count_from_both_sides() {
        // a rod of mass 6 with a linear velocity field: ½ (2 v₀² + 2 v₀v₁ + 2 v₁²)
        let rod = Mass::full(vec![3.0, 3.0], [(0, 0, 2.0), (1, 0, 1.0), (1, 1, 2.0)]);
        assert_eq!(rod.energy(|_| Vec3::X), 3.0);
        assert_eq!(rod.energy(|i| if i == 0 { Vec3::X } else { -Vec3::X }), 1.0);
        let accelerations = rod.solve(&[3.0 * Vec3::X, 3.0 * Vec3::X], &[false; 2]);
        assert!(accelerations.iter().all(|a| a.distance(Vec3::X) < 1e-12));
        assert_eq!(rod.row(0).collect::<Vec<_>>(), [(0, 2.0), (1, 1.0)]);
        let mut coupled = Vec::new();
        rod.stencils(&mut |stencil| coupled.push(stencil.to_vec()));
        assert_eq!(coupled, [[0, 1]]);
    }
}
