//! Guides that jump: how they have turned.

use dynamics::middle;
use geometry::{Mat3, Vec3};

/// The rotation that turns one pose nearest to another: polar part of the covariance, by Newton's iteration.
pub(crate) fn rotation(from: &[Vec3], to: &[Vec3]) -> Mat3 {
    let (a, b) = (middle(from), middle(to));
    let mut covariance = Mat3::ZERO;
    for (p, q) in from.iter().zip(to) {
        let (p, q) = (*p - a, *q - b);
        covariance += Mat3::from_cols(q * p.x, q * p.y, q * p.z);
    }
    let mut turn = covariance;
    for _ in 0..40 {
        let determinant = turn.determinant();
        // a flat, folded or shrunken pose has no rotation to speak of
        if determinant.abs() < 1e-12 * covariance.determinant().abs().max(f64::MIN_POSITIVE) {
            return Mat3::IDENTITY;
        }
        turn = 0.5 * (turn + turn.inverse().transpose());
    }
    let right = turn.is_finite() && (turn.determinant() - 1.0).abs() < 1e-6;
    if right { turn } else { Mat3::IDENTITY }
}
