//! Random numbers that are the same on every platform, for every seed.

use crate::{Mat3, Vec3};

/// SplitMix64 (Steele, Lea and Flood 2014).
///
/// ```
/// let (mut a, mut b) = (geometry::Random::new(7), geometry::Random::new(7));
/// assert_eq!(a.unit(), b.unit());
/// assert!((0.0..1.0).contains(&a.unit()));
/// ```
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number from 0 up to and without `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit.max(1) as u64) as usize
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Between −`range` and `range`.
    pub fn signed(&mut self, range: f64) -> f64 {
        range * (2.0 * self.unit() - 1.0)
    }

    /// In the cube from −1 to 1.
    pub fn vec3(&mut self) -> Vec3 {
        Vec3::new(self.signed(1.0), self.signed(1.0), self.signed(1.0))
    }

    /// About any axis, by any angle.
    pub fn rotation(&mut self) -> Mat3 {
        let axis = self.vec3().normalize_or(Vec3::Y);
        Mat3::from_axis_angle(axis, std::f64::consts::TAU * self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_turn_and_do_not_mirror_and_numbers_keep_their_ranges() {
        let mut random = Random::new(3);
        let mut before = Mat3::IDENTITY;
        for _ in 0..50 {
            let turn = random.rotation();
            assert!((turn * turn.transpose()).abs_diff_eq(Mat3::IDENTITY, 1e-12));
            assert!((turn.determinant() - 1.0).abs() < 1e-12 && turn != before);
            before = turn;
            assert!(random.below(7) < 7 && random.signed(2.0).abs() <= 2.0);
        }
        let many: Vec<f64> = (0..4000).map(|_| random.signed(2.0)).collect();
        assert!(many.iter().sum::<f64>().abs() < 4000.0 * 0.1);
        assert!(many.iter().any(|v| *v > 1.9) && many.iter().any(|v| *v < -1.9));
    }
}
