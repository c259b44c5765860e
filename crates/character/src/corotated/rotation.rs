//! The rotation that is in a deformation, and what is left of it.

use geometry::{Mat3, nearest_rotation};

pub(super) fn symmetric(matrix: Mat3) -> Mat3 {
    (matrix + matrix.transpose()) * 0.5
}

/// The rotation nearest to a matrix: Newton's iteration for the polar factor, where there is one.
pub(super) fn rotation(f: &Mat3) -> Mat3 {
    let determinant = f.determinant();
    let scale = f.to_cols_array().iter().map(|x| x * x).sum::<f64>().sqrt();
    if determinant.is_nan() || determinant <= 1e-3 * scale.powi(3) {
        let nearest = nearest_rotation(f);
        return if nearest.is_finite() { nearest } else { Mat3::IDENTITY };
    }
    // of size one, so that few iterations are enough
    let mut q = *f * determinant.cbrt().recip();
    for _ in 0..12 {
        let next = (q + q.inverse().transpose()) * 0.5;
        let change = (next - q).to_cols_array().iter().map(|x| x * x).sum::<f64>();
        q = next;
        if change < 1e-12 {
            break;
        }
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Random;

    #[test]
    fn rotations_are_the_nearest_ones() {
        let mut random = Random::new(8);
        for _ in 0..200 {
            let f = Mat3::from_cols(random.vec3(), random.vec3(), random.vec3());
            let (a, b) = (rotation(&f), nearest_rotation(&f));
            assert!((a.determinant() - 1.0).abs() < 1e-6);
            // how near they are is the same, also where two are as near
            let overlap = |r: &Mat3| {
                (r.transpose() * f).x_axis.x + (r.transpose() * f).y_axis.y + (r.transpose() * f).z_axis.z
            };
            assert!((overlap(&a) - overlap(&b)).abs() < 1e-6);
        }
        assert!(rotation(&Mat3::ZERO).is_finite());
    }
}
