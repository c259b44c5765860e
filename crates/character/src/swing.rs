//! How far flesh swings from its bones: as far as it could without tearing away from them.
//!
//! Strain that is linear does not stiffen: the further flesh is out, the easier it goes. Real flesh stiffens, and so a coefficient at a
//! distance r from its bones at rest, displaced by e from where they would take it, stays within L:
//!
//! ```text
//! ‖e‖ ← ‖e‖ up to k L, beyond it   k L + (1 − k) L tanh( (‖e‖/L − k)/(1 − k) ),
//! L = κ r + κ₀ t + D,
//! ```
//!
//! ‖e‖/r the mean strain on the way from the bone, t how thick flesh is around it, D the mean distance between where each of its bones
//! would take it and where all together do: at a joint that is bent far skinning is off by as much, and flesh has to go there.
//! Beyond the paper, whose flesh goes as far as it is thrown.

use geometry::Vec3;

use crate::flesh::Flesh;

/// κ: nobody has seen flesh stretched further.
const FARTHEST: f64 = 0.7;
/// κ₀: next to bones, too, flesh may shear.
const NEAR: f64 = 0.3;
/// k: below, nothing is changed.
pub(crate) const KNEE: f64 = 0.5;

/// κ r + κ₀ t for every coefficient of level 0, in metres.
pub(crate) fn reach(flesh: &Flesh) -> Vec<f64> {
    if flesh.bones.is_empty() {
        return Vec::new();
    }
    let of = |p: &Vec3| {
        let mut nearest = (f64::INFINITY, 0.0);
        for (bone, &thickness) in flesh.bones.iter().zip(&flesh.thickness) {
            let squared = bone.distance_squared(*p);
            if squared < nearest.0 {
                nearest = (squared, thickness);
            }
        }
        FARTHEST * nearest.0.sqrt() + NEAR * nearest.1
    };
    flesh.lattice.points().iter().map(of).collect()
}

/// What is left of a displacement where it may go as far as `reach`.
pub(crate) fn within(displacement: Vec3, reach: f64) -> Vec3 {
    let length = displacement.length();
    if length <= KNEE * reach {
        return displacement;
    }
    let beyond = (length / reach.max(f64::MIN_POSITIVE) - KNEE) / (1.0 - KNEE);
    displacement * (reach * (KNEE + (1.0 - KNEE) * beyond.tanh()) / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_stays_and_what_is_far_comes_within_reach() {
        assert_eq!(within(Vec3::new(0.0, 0.05, 0.0), 0.2), Vec3::new(0.0, 0.05, 0.0));
        assert!((within(1e3 * Vec3::X, 0.2) - 0.2 * Vec3::X).length() < 1e-12);
        assert_eq!(within(Vec3::X, 0.0), Vec3::ZERO);
        // smooth at the knee, and always further out for what was further out
        let at = |x: f64| within(x * Vec3::X, 1.0).x;
        assert!((at(KNEE + 1e-6) - KNEE - 1e-6).abs() < 1e-11);
        assert!((1..100).all(|k| at(0.02 * f64::from(k)) > at(0.02 * f64::from(k - 1))));
    }
}
