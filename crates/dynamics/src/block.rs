//! Small dense symmetric matrices: the second derivatives of one element.

use std::ops::{AddAssign, Mul};

use geometry::{Mat3, Vec3};

/// N×N blocks of 3×3; block (i, j) is d²E/dxᵢdxⱼ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block<const N: usize>(pub [[Mat3; N]; N]);

impl<const N: usize> Block<N> {
    /// All zeros.
    pub const ZERO: Self = Self([[Mat3::ZERO; N]; N]);

    /// Adds `scale` · g gᵀ.
    pub fn add_outer(&mut self, g: &[Vec3; N], scale: f64) {
        for i in 0..N {
            let gi = scale * g[i];
            for j in 0..N {
                self.0[i][j] += outer(gi, g[j]);
            }
        }
    }

    /// Product with a vector of N points.
    pub fn multiply(&self, x: &[Vec3; N]) -> [Vec3; N] {
        std::array::from_fn(|i| (0..N).map(|j| self.0[i][j] * x[j]).sum())
    }

    /// Entry (3i+a, 3j+b) of the matrix written out.
    pub fn entry(&self, row: usize, column: usize) -> f64 {
        self.0[row / 3][column / 3].col(column % 3)[row % 3]
    }

    /// The largest absolute entry.
    pub fn max_abs(&self) -> f64 {
        self.0.iter().flatten().flat_map(|m| m.to_cols_array()).fold(0.0, |max, v| max.max(v.abs()))
    }

    /// The nearest positive semidefinite matrix in the Frobenius norm: negative eigenvalues set to zero.
    #[must_use]
    pub fn projected(&self) -> Self {
        let (values, vectors) = self.eigen();
        if values.iter().all(|&value| value >= 0.0) {
            return *self;
        }
        let mut result = Self::ZERO;
        for (value, vector) in values.iter().zip(&vectors) {
            if *value > 0.0 {
                result.add_outer(vector, *value);
            }
        }
        result
    }

    /// The smallest eigenvalue.
    pub fn min_eigenvalue(&self) -> f64 {
        self.eigen().0.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Eigenvalues and unit eigenvectors by cyclic Jacobi rotations: short, exact to round-off, and quick enough at
    /// 12 unknowns; elements on hot paths override `projected_hessian` with closed forms.
    fn eigen(&self) -> (Vec<f64>, Vec<[Vec3; N]>) {
        let n = 3 * N;
        let mut a: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| self.entry(i, j)).collect()).collect();
        let mut v: Vec<Vec<f64>> =
            (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        let scale: f64 = a.iter().flatten().map(|x| x * x).sum();
        // Quadratic convergence: a handful of sweeps reaches round-off; 30 is never met.
        for _ in 0..30 {
            let off: f64 =
                (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
            if off <= 1e-30 * scale {
                break;
            }
            for p in 0..n {
                for q in p + 1..n {
                    rotate(&mut a, &mut v, p, q);
                }
            }
        }
        let values = (0..n).map(|i| a[i][i]).collect();
        let vectors = (0..n)
            .map(|k| std::array::from_fn(|i| Vec3::new(v[3 * i][k], v[3 * i + 1][k], v[3 * i + 2][k])))
            .collect();
        (values, vectors)
    }
}

/// One Jacobi rotation that zeroes a[p][q].
fn rotate(a: &mut [Vec<f64>], v: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for k in 0..a.len() {
        (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
    }
    for k in 0..a.len() {
        (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
    }
    for row in v {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
}

/// a bᵀ.
fn outer(a: Vec3, b: Vec3) -> Mat3 {
    Mat3::from_cols(a * b.x, a * b.y, a * b.z)
}

impl<const N: usize> AddAssign for Block<N> {
    fn add_assign(&mut self, other: Self) {
        for i in 0..N {
            for j in 0..N {
                self.0[i][j] += other.0[i][j];
            }
        }
    }
}

impl<const N: usize> Mul<f64> for Block<N> {
    type Output = Self;

    fn mul(self, scale: f64) -> Self {
        Self(self.0.map(|row| row.map(|m| m * scale)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projection_keeps_the_positive_part_and_drops_the_negative() {
        let up = [Vec3::new(1.0, 2.0, 0.5), Vec3::new(0.0, -1.0, 3.0)];
        let down = [Vec3::new(2.0, 0.0, 0.0), Vec3::new(4.0, 1.0, -1.0 / 3.0)];
        let dot: f64 = (0..2).map(|i| up[i].dot(down[i])).sum();
        assert!(dot.abs() < 1e-12, "the two directions are orthogonal");
        let mut block = Block::<2>::ZERO;
        block.add_outer(&up, 3.0);
        let positive = block;
        block.add_outer(&down, -2.0);
        let mut difference = block.projected();
        difference += positive * -1.0;
        assert!(difference.max_abs() < 1e-12);
        assert!(block.min_eigenvalue() < -1.0);
        assert!(block.projected().min_eigenvalue() > -1e-12);
    }

    #[test]
    fn entries_agree_with_products() {
        let mut block = Block::<2>::ZERO;
        block.add_outer(&[Vec3::X, Vec3::new(1.0, 2.0, 3.0)], 1.0);
        let y = block.multiply(&[Vec3::ZERO, Vec3::Z]);
        assert_eq!(y[0], Vec3::new(block.entry(0, 5), block.entry(1, 5), block.entry(2, 5)));
        assert_eq!(y[1].z, 9.0);
    }

    /// A v = λ v, with vectors of length 1 that are at right angles to each other.
    #[test]
    fn eigenvectors_are_those_of_the_matrix() {
        let mut random = geometry::Random::new(7);
        let mut block = Block::<3>::ZERO;
        for _ in 0..9 {
            let scale = random.vec3().x;
            block.add_outer(&std::array::from_fn(|_| random.vec3()), scale);
        }
        let (values, vectors) = block.eigen();
        let dot = |a: &[Vec3; 3], b: &[Vec3; 3]| (0..3).map(|i| a[i].dot(b[i])).sum::<f64>();
        for (k, (value, v)) in values.iter().zip(&vectors).enumerate() {
            let product = block.multiply(v);
            assert!((0..3).all(|i| product[i].distance(*value * v[i]) < 1e-12), "{value}");
            for (l, w) in vectors.iter().enumerate() {
                assert!((dot(v, w) - f64::from(u8::from(k == l))).abs() < 1e-12, "{k} {l}");
            }
        }
    }
}
