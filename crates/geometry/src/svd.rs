//! Singular values and rotations of 3×3 matrices, as elements need them: quick, and right for inverted tets.

use crate::{Mat3, Vec3};

/// F = U diag(σ) Vᵀ with *rotations* U and V: σ₁ ≥ σ₂ ≥ |σ₃|, and σ₃ < 0 exactly where F mirrors.
///
/// Irving et al. 2004, §4. An inverted tet is then one whose smallest stretch is negative, and it is pushed back along that
/// direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Svd {
    /// U.
    pub u: Mat3,
    /// σ₁, σ₂, σ₃.
    pub sigma: Vec3,
    /// V.
    pub v: Mat3,
}

impl Svd {
    /// Of any matrix.
    pub fn of(f: &Mat3) -> Self {
        let (_, mut v) = symmetric_eigen3(&(f.transpose() * *f));
        let mut b = *f * v;
        sort_columns(&mut b, &mut v);
        // Gram–Schmidt instead of b/σ: σ₃ may be zero, and U must be a rotation to round-off all the same
        let u1 = b.x_axis.normalize_or(Vec3::X);
        let across = b.y_axis - u1 * u1.dot(b.y_axis);
        let u2 = if across.length_squared() > 1e-28 * b.x_axis.length_squared() {
            across.normalize_or(u1.any_orthonormal_vector())
        } else {
            u1.any_orthonormal_vector()
        };
        let u3 = u1.cross(u2);
        let sigma = Vec3::new(u1.dot(b.x_axis), u2.dot(b.y_axis), u3.dot(b.z_axis));
        Self { u: Mat3::from_cols(u1, u2, u3), sigma, v }
    }

    /// U diag(d) Vᵀ.
    pub fn compose(&self, d: Vec3) -> Mat3 {
        let scaled = Mat3::from_cols(self.u.x_axis * d.x, self.u.y_axis * d.y, self.u.z_axis * d.z);
        scaled * self.v.transpose()
    }

    /// The rotation of the polar decomposition, U Vᵀ.
    pub fn rotation(&self) -> Mat3 {
        self.u * self.v.transpose()
    }
}

/// The rotation nearest to a matrix, also where it mirrors or flattens: R of F = R S.
///
/// ```
/// use geometry::{Mat3, Vec3};
///
/// let turn = Mat3::from_rotation_y(0.7);
/// let stretched = turn * Mat3::from_diagonal(Vec3::new(2.0, 1.0, 0.5));
/// assert!((geometry::nearest_rotation(&stretched) - turn).abs_diff_eq(Mat3::ZERO, 1e-14));
/// ```
pub fn nearest_rotation(f: &Mat3) -> Mat3 {
    Svd::of(f).rotation()
}

/// The rigid motion that brings `from` nearest to `to`: x ↦ R x + t. Horn; Kabsch.
///
/// What lies in a plane, or on a line, has one as well; which of several, rounding decides.
pub fn rigid_motion(from: &[Vec3], to: &[Vec3]) -> (Mat3, Vec3) {
    let count = from.len().max(1) as f64;
    let middle = |points: &[Vec3]| points.iter().sum::<Vec3>() / count;
    let (a, b) = (middle(from), middle(to));
    let mut covariance = Mat3::ZERO;
    for (p, q) in from.iter().zip(to) {
        let (p, q) = (*p - a, *q - b);
        covariance += Mat3::from_cols(q * p.x, q * p.y, q * p.z);
    }
    let rotation = nearest_rotation(&covariance);
    (rotation, b - rotation * a)
}

/// Eigenvalues and a rotation whose columns are the eigenvectors, by cyclic Jacobi rotations; no particular order.
pub fn symmetric_eigen3(s: &Mat3) -> (Vec3, Mat3) {
    let mut a = [s.x_axis.x, s.y_axis.y, s.z_axis.z];
    // off-diagonals: entry k couples the two others
    let mut o = [s.y_axis.z, s.x_axis.z, s.x_axis.y];
    let mut v = [Vec3::X, Vec3::Y, Vec3::Z];
    let scale = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
    // quadratic convergence: three or four sweeps reach round-off
    for _ in 0..8 {
        let off = o[0] * o[0] + o[1] * o[1] + o[2] * o[2];
        if off <= 1e-30 * scale {
            break;
        }
        for (p, q, r) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            let apq = o[r];
            if apq == 0.0 {
                continue;
            }
            // tan θ of the rotation that zeroes a_pq, the smaller root: 2a/(d ± √(d² + 4a²)) with d = a_qq − a_pp
            let d = a[q] - a[p];
            let root = (d * d + 4.0 * apq * apq).sqrt();
            let t = 2.0 * apq / (d + root.copysign(d));
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            a[p] -= t * apq;
            a[q] += t * apq;
            o[r] = 0.0;
            // o[q] couples p and r; o[p] couples q and r
            (o[q], o[p]) = (c * o[q] - s * o[p], s * o[q] + c * o[p]);
            (v[p], v[q]) = (c * v[p] - s * v[q], s * v[p] + c * v[q]);
        }
    }
    (Vec3::from_array(a), Mat3::from_cols(v[0], v[1], v[2]))
}

/// The smallest eigenvalue of a symmetric matrix, in closed form; good to about 1e-8 of the largest where two are equal.
pub fn least_eigenvalue(s: &Mat3) -> f64 {
    let mean = (s.x_axis.x + s.y_axis.y + s.z_axis.z) / 3.0;
    let deviator = *s - Mat3::IDENTITY * mean;
    let [a, b, c] = [deviator.x_axis, deviator.y_axis, deviator.z_axis];
    let radius = ((a.length_squared() + b.length_squared() + c.length_squared()) / 6.0).sqrt();
    if radius <= f64::MIN_POSITIVE {
        return mean;
    }
    // characteristic polynomial of the deviator over its radius: t³ − 3t − 2r = 0, t = 2 cos φ
    let r = 0.5 * (deviator * (1.0 / radius)).determinant();
    let angle = r.clamp(-1.0, 1.0).acos() / 3.0;
    mean + 2.0 * radius * (angle + 2.0 / 3.0 * std::f64::consts::PI).cos()
}

/// Sorts the columns of b by length, longest first, and those of the rotation v alike, keeping v a rotation.
fn sort_columns(b: &mut Mat3, v: &mut Mat3) {
    let exchange = |b: &mut Mat3, v: &mut Mat3, i: usize, j: usize| {
        for m in [b, v] {
            let (p, q) = (m.col(i), m.col(j));
            *m.col_mut(i) = q;
            *m.col_mut(j) = -p;
        }
    };
    for (i, j) in [(0, 1), (1, 2), (0, 1)] {
        if b.col(i).length_squared() < b.col(j).length_squared() {
            exchange(b, v, i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quat;

    fn random_rotation(seed: u64) -> Mat3 {
        let turn = |factor: f64| factor * seed as f64;
        Mat3::from_quat(Quat::from_euler(glam::EulerRot::XYZ, turn(1.1), turn(2.3), turn(0.7)))
    }

    #[test]
    fn the_motion_of_flat_and_full_sets_of_points_is_found() {
        for depth in [0.0, 0.3] {
            let at = |i: usize| Vec3::new((i % 4) as f64, (i / 4 % 3) as f64, depth * (i % 5) as f64);
            let from: Vec<Vec3> = (0..12).map(at).collect();
            let (turn, shift) = (random_rotation(3), Vec3::new(4.0, -1.0, 2.0));
            let to: Vec<Vec3> = from.iter().map(|p| turn * *p + shift).collect();
            let (found, way) = rigid_motion(&from, &to);
            assert!(found.abs_diff_eq(turn, 1e-10), "depth {depth}: {found}");
            assert!(way.distance(shift) < 1e-9, "{way}");
        }
    }

    #[test]
    fn the_least_eigenvalue_is_that_of_jacobi() {
        for (seed, values) in
            [Vec3::new(3.0, -1.0, 0.5), Vec3::new(2.0, 2.0, 2.0), Vec3::new(1.0, -4.0, -4.0), Vec3::ZERO]
                .into_iter()
                .enumerate()
        {
            let q = random_rotation(seed as u64 + 5);
            let s = q * Mat3::from_diagonal(values) * q.transpose();
            let least = symmetric_eigen3(&s).0.min_element();
            assert!((least_eigenvalue(&s) - least).abs() < 1e-7, "{values}: {}", least_eigenvalue(&s));
        }
    }

    #[test]
    fn composes_to_the_matrix_with_rotations_and_a_signed_least_value() {
        let cases = [
            Vec3::new(2.0, 1.0, 0.3),
            Vec3::new(1.0, 1.0, 1.0),
            Vec3::new(1.5, 0.7, -0.4),
            Vec3::new(1.0, 1.0, -1.0),
            Vec3::new(3.0, 1e-7, 1e-9),
            Vec3::new(1.0, 0.0, 0.0),
            Vec3::ZERO,
        ];
        for (seed, sigma) in cases.into_iter().enumerate() {
            let (u, v) = (random_rotation(seed as u64 + 1), random_rotation(seed as u64 + 100));
            let f = u * Mat3::from_diagonal(sigma) * v.transpose();
            let svd = Svd::of(&f);
            // V comes from FᵀF, so values below 1e-8 of the largest are lost in it
            let scale = if sigma.y < 1e-6 { 1e-8 } else { 1e-13 } * sigma.length().max(1.0);
            assert!(svd.compose(svd.sigma).abs_diff_eq(f, scale), "{sigma}: {svd:?}");
            for rotation in [svd.u, svd.v] {
                assert!((rotation * rotation.transpose()).abs_diff_eq(Mat3::IDENTITY, 1e-13));
                assert!((rotation.determinant() - 1.0).abs() < 1e-13);
            }
            assert!(svd.sigma.x >= svd.sigma.y && svd.sigma.y >= svd.sigma.z.abs() - scale, "{}", svd.sigma);
            assert!((svd.sigma - sigma).length() < scale.max(1e-300), "{sigma} {}", svd.sigma);
        }
    }

    #[test]
    fn singular_values_of_any_size_compose_to_the_matrix() {
        let mut random = crate::Random::new(8);
        for scale in [1e-12, 1e-6, 1.0, 1e9] {
            for _ in 0..20 {
                let f = Mat3::from_cols(random.vec3(), random.vec3(), random.vec3()) * scale;
                let svd = Svd::of(&f);
                assert!((svd.compose(svd.sigma) - f).abs_diff_eq(Mat3::ZERO, 1e-12 * scale), "{scale}");
                assert!((svd.u.determinant() - 1.0).abs() < 1e-12 && svd.sigma.x >= svd.sigma.y.abs());
            }
        }
    }

    #[test]
    fn a_motion_far_from_the_origin_is_found() {
        let mut random = crate::Random::new(9);
        let from: Vec<Vec3> = (0..12).map(|_| Vec3::new(40.0, -7.0, 3.0) + random.vec3()).collect();
        let (turn, shift) = (random.rotation(), Vec3::new(-90.0, 20.0, 5.0));
        let to: Vec<Vec3> = from.iter().map(|p| turn * *p + shift).collect();
        let (rotation, found) = rigid_motion(&from, &to);
        assert!((rotation - turn).abs_diff_eq(Mat3::ZERO, 1e-11) && found.distance(shift) < 1e-9);
    }
}
