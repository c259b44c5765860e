//! The rotation group: logarithm, and the Jacobians of exponential and logarithm.

use std::f64::consts::{PI, TAU};

use geometry::{Mat3, Quat, Vec3};

use crate::spatial::skew;

/// The rotation vector of a unit quaternion, of length π at most.
pub(crate) fn log(q: Quat) -> Vec3 {
    // of q and −q, the one that turns less
    let q = if q.w < 0.0 { -q } else { q };
    let v = Vec3::new(q.x, q.y, q.z);
    let sine = v.length();
    // 2 atan2(s, w)/s, and its limit 2/w (1 − s²/3w²)
    if sine < 1e-6 { v * (2.0 / q.w) } else { v * (2.0 * sine.atan2(q.w) / sine) }
}

/// The same angle between −π and π.
pub(crate) fn wrapped(angle: f64) -> f64 {
    angle - TAU * ((angle + PI) / TAU).floor()
}

/// Jr(φ): exp(φ + δ) = exp(φ) exp(Jr δ) to first order.
///
/// Jr = 1 − (1 − cos θ)/θ² [φ] + (θ − sin θ)/θ³ [φ]².
pub(crate) fn right_jacobian(phi: Vec3) -> Mat3 {
    let square = phi.length_squared();
    let theta = square.sqrt();
    let (a, b) = if theta < 1e-3 {
        (0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0)
    } else {
        ((1.0 - theta.cos()) / square, (theta - theta.sin()) / (square * theta))
    };
    let k = skew(phi);
    Mat3::IDENTITY - k * a + k * k * b
}

/// Jr(φ)⁻¹: log(exp(φ) exp(δ)) = φ + Jr⁻¹ δ to first order.
///
/// Jr⁻¹ = 1 + ½ [φ] + (1/θ² − (1 + cos θ)/(2 θ sin θ)) [φ]².
pub(crate) fn right_jacobian_inverse(phi: Vec3) -> Mat3 {
    let square = phi.length_squared();
    let theta = square.sqrt();
    let c = if theta < 1e-2 {
        1.0 / 12.0 + square / 720.0
    } else {
        // (1 + cos θ)/sin θ = cot(θ/2), which has no trouble at π
        1.0 / square - 0.5 / (theta * (0.5 * theta).tan())
    };
    let k = skew(phi);
    Mat3::IDENTITY + k * 0.5 + k * k * c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jacobians_agree_with_differences_and_undo_each_other() {
        for length in [0.0, 1e-7, 5e-4, 2e-3, 9e-3, 0.02, 0.7, 2.0, 3.1] {
            let phi = Vec3::new(0.3, -0.5, 0.8).normalize() * length;
            let (jr, inverse) = (right_jacobian(phi), right_jacobian_inverse(phi));
            assert!((jr * inverse).abs_diff_eq(Mat3::IDENTITY, 1e-9), "{length}");
            for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
                let h = 1e-5;
                let turn =
                    |s: f64| Quat::from_scaled_axis(phi).conjugate() * Quat::from_scaled_axis(phi + axis * s);
                let slope = (log(turn(h)) - log(turn(-h))) / (2.0 * h);
                assert!((slope - jr * axis).length() < 1e-9, "{length}: {}", (slope - jr * axis).length());
            }
        }
    }

    #[test]
    fn the_logarithm_undoes_the_exponential() {
        for length in [0.0, 1e-9, 1e-5, 0.1, 1.0, 3.1] {
            let phi = Vec3::new(-0.2, 0.9, 0.4).normalize() * length;
            assert!((log(Quat::from_scaled_axis(phi)) - phi).length() < 1e-12);
            assert!((log(-Quat::from_scaled_axis(phi)) - phi).length() < 1e-12);
        }
        assert!((wrapped(3.5 * PI) + 0.5 * PI).abs() < 1e-12);
    }
}
