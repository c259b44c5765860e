//! Scattered data in pose space: how much of every target there is at a pose.
//!
//! a(s) = Σⱼ wⱼ φ(‖s − sⱼ‖) + Q with Σⱼ wⱼ = 0 (morph §3.3; Carr 2001) is linear in what it interpolates, so it is solved once for numbers
//! that are 1 at one target and 0 at the others: a(s) = Σᵢ ωᵢ(s) aᵢ, and Σᵢ ωᵢ = 1 by the constant. Whatever depends on the pose, force
//! polynomials, masses, detail, is then a sum with these few weights.

use faer::Mat;
use faer::prelude::*;

use crate::Error;
use crate::bytes::{Reader, Writer};

/// φ.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Kernel {
    /// φ(r) = r: the smoothest interpolation of sparse examples, and it goes on beyond them.
    #[default]
    Biharmonic,
    /// φ(r) = exp(−r²/w²), w in mean distances between targets: falls back to the mean far from all targets. To compare with.
    Gaussian {
        /// w.
        width: f64,
    },
}

/// Interpolation over poses, prepared.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseWeights {
    /// s of every target, one after the other.
    centres: Vec<f64>,
    dimension: usize,
    kernel: Kernel,
    /// Mean distance between targets: the unit of widths and smoothing.
    scale: f64,
    /// For every target its φ's coefficients and then its constant.
    cardinal: Vec<f64>,
}

/// Poses nearer to each other than this part of the mean distance are one pose.
const SAME: f64 = 1e-6;

impl PoseWeights {
    /// For targets at these poses. `smoothing`, in mean distances, trades meeting the targets for smoothness between them; 0 meets
    /// them. Two targets in one place are an error that gives their numbers.
    pub fn new(centres: &[Vec<f64>], kernel: Kernel, smoothing: f64) -> Result<Self, [usize; 2]> {
        let count = centres.len();
        let dimension = centres.first().map_or(0, Vec::len);
        let distance = |i: usize, j: usize| distance(&centres[i], &centres[j]);
        let pairs = || (0..count).flat_map(|i| (0..i).map(move |j| (i, j)));
        let scale = pairs().map(|(i, j)| distance(i, j)).sum::<f64>() / pairs().count().max(1) as f64;
        if let Some((i, j)) = pairs().find(|&(i, j)| distance(i, j) <= SAME * scale) {
            return Err([j, i]);
        }
        let mut this = Self {
            centres: centres.concat(),
            dimension,
            kernel,
            scale,
            cardinal: vec![0.0; count * (count + 1)],
        };
        if count == 1 {
            this.cardinal = vec![0.0, 1.0];
            return Ok(this);
        }
        // φ = r is conditionally negative: smoothing goes the other way
        let lift = match kernel {
            Kernel::Biharmonic => -smoothing * scale,
            Kernel::Gaussian { .. } => smoothing,
        };
        let system = Mat::from_fn(count + 1, count + 1, |i, j| match (i < count, j < count) {
            (true, true) if i == j => this.phi(0.0) + lift,
            (true, true) => this.phi(distance(i, j)),
            (false, false) => 0.0,
            _ => 1.0,
        });
        let right = Mat::from_fn(count + 1, count, |i, j| f64::from(u8::from(i == j)));
        let solved = system.partial_piv_lu().solve(&right);
        for target in 0..count {
            for row in 0..=count {
                this.cardinal[target * (count + 1) + row] = solved[(row, target)];
            }
        }
        Ok(this)
    }

    /// How many targets.
    pub fn len(&self) -> usize {
        self.cardinal
            .len()
            .checked_div(self.centres.len().checked_div(self.dimension).unwrap_or(1) + 1)
            .unwrap_or(0)
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.cardinal.is_empty()
    }

    /// ω at the pose `s`; they sum to one.
    pub fn at(&self, s: &[f64], weights: &mut [f64]) {
        let count = weights.len();
        for (target, weight) in weights.iter_mut().enumerate() {
            *weight = self.cardinal[target * (count + 1) + count];
        }
        if count < 2 {
            return;
        }
        for j in 0..count {
            let phi = self.phi(distance(s, &self.centres[j * self.dimension..][..self.dimension]));
            for (target, weight) in weights.iter_mut().enumerate() {
                *weight += phi * self.cardinal[target * (count + 1) + j];
            }
        }
    }

    pub(crate) fn write(&self, out: &mut Writer) {
        let width = match self.kernel {
            Kernel::Biharmonic => 0.0,
            Kernel::Gaussian { width } => width,
        };
        out.numbers([self.scale, width]);
        out.count(self.len());
        out.numbers(self.centres.iter().chain(&self.cardinal).copied());
    }

    /// The reverse, over a pose space of `dimension`.
    pub(crate) fn read(input: &mut Reader, dimension: usize) -> Option<Self> {
        let [scale, width] = input.numbers()?;
        let kernel = if width > 0.0 { Kernel::Gaussian { width } } else { Kernel::Biharmonic };
        let count = input.count()?;
        let centres = input.many(count.checked_mul(dimension)?)?;
        let cardinal = input.many(count.checked_mul(count + 1)?)?;
        // poses that nothing tells apart are one
        let sound = count > 0 && (dimension > 0 || count == 1) && scale >= 0.0 && width >= 0.0;
        sound.then_some(Self { centres, dimension, kernel, scale, cardinal })
    }

    /// Mean distance between targets.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    fn phi(&self, r: f64) -> f64 {
        match self.kernel {
            Kernel::Biharmonic => r,
            Kernel::Gaussian { width } => (-(r / (width * self.scale)).powi(2)).exp(),
        }
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Keeps K(ω) = Σ ωᵢKᵢ positive definite where ω goes negative, between and beyond targets.
///
/// With Kⱼ ≤ ρⱼᵢ Kᵢ for all pairs, K(ω) ≥ Σ₊ ωᵢ (1 − Σ₋ |ωⱼ| ρⱼᵢ / Σ₊ω) Kᵢ. Negative weights are scaled by the largest τ ≤ 1 that leaves
/// every bracket at [`Limit::LEAST`] at least, and positive ones so that the sum stays one.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    count: usize,
    /// ρⱼᵢ, row j.
    ratios: Vec<f64>,
}

impl Limit {
    /// What is left of the stiffness at least.
    pub const LEAST: f64 = 0.1;

    /// Targets that are equally stiff.
    pub(crate) fn none(count: usize) -> Self {
        Self { count, ratios: vec![1.0; count * count] }
    }

    /// From the ratios ρⱼᵢ, row after row.
    pub fn new(count: usize, ratios: Vec<f64>) -> Result<Self, Error> {
        if ratios.len() != count * count {
            let expected = count * count;
            return Err(Error::CountMismatch { what: "stiffness ratios", found: ratios.len(), expected });
        }
        Ok(Self { count, ratios })
    }

    /// ρⱼᵢ, row after row.
    pub(crate) fn ratios(&self) -> &[f64] {
        &self.ratios
    }

    /// Limits ω and gives τ: 1 where nothing had to be done, NaN turned to the first target.
    pub fn apply(&self, weights: &mut [f64]) -> f64 {
        if weights.iter().any(|w| !w.is_finite()) {
            weights.fill(0.0);
            weights[0] = 1.0;
            return 0.0;
        }
        let negative: f64 = weights.iter().map(|w| (-w).max(0.0)).sum();
        if negative == 0.0 {
            return 1.0;
        }
        let mut worst = 0.0_f64;
        for i in (0..self.count).filter(|&i| weights[i] > 0.0) {
            let taken = (0..self.count).map(|j| (-weights[j]).max(0.0) * self.ratios[j * self.count + i]);
            worst = worst.max(taken.sum());
        }
        // τ worst ≤ keep (1 + τ negative)
        let keep = 1.0 - Self::LEAST;
        let slope = worst - keep * negative;
        let tau = if slope > keep { keep / slope } else { 1.0 };
        let gain = (1.0 + tau * negative) / (1.0 + negative);
        weights.iter_mut().for_each(|w| *w *= if *w < 0.0 { tau } else { gain });
        tau
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(weights: &PoseWeights, s: &[f64], count: usize) -> Vec<f64> {
        let mut out = vec![0.0; count];
        weights.at(s, &mut out);
        out
    }

    /// In one dimension φ(r) = r with a constant is the broken line through the data, level beyond its ends.
    #[test]
    fn on_a_line_it_is_the_broken_line() {
        let centres = [vec![0.0], vec![1.0], vec![3.0]];
        let weights = PoseWeights::new(&centres, Kernel::Biharmonic, 0.0).unwrap();
        assert_eq!(weights.len(), 3);
        for (s, expected) in [
            (0.0, [1.0, 0.0, 0.0]),
            (0.25, [0.75, 0.25, 0.0]),
            (2.0, [0.0, 0.5, 0.5]),
            (3.0, [0.0, 0.0, 1.0]),
        ] {
            let found = at(&weights, &[s], 3);
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{s}: {found:?}");
        }
        // far away the sum of weights, not a weight, is kept
        let far = at(&weights, &[1e6], 3);
        assert!(
            (far.iter().sum::<f64>() - 1.0).abs() < 1e-9 && far.iter().all(|w| w.abs() < 10.0),
            "{far:?}"
        );
    }

    #[test]
    fn targets_are_met_unless_smoothed_and_gaussians_forget() {
        let centres = [vec![0.0, 0.0], vec![1.0, 0.2], vec![0.3, 1.0], vec![-0.5, 0.4]];
        let sharp = PoseWeights::new(&centres, Kernel::Biharmonic, 0.0).unwrap();
        let smooth = PoseWeights::new(&centres, Kernel::Biharmonic, 0.2).unwrap();
        let gaussian = PoseWeights::new(&centres, Kernel::Gaussian { width: 0.7 }, 0.0).unwrap();
        for (i, s) in centres.iter().enumerate() {
            for kernel in [&sharp, &gaussian] {
                let found = at(kernel, s, 4);
                assert!((0..4).all(|j| (found[j] - f64::from(u8::from(i == j))).abs() < 1e-10), "{found:?}");
            }
            let eased = at(&smooth, s, 4);
            assert!(eased[i] < 0.99 && eased[i] > 0.3 && (eased.iter().sum::<f64>() - 1.0).abs() < 1e-10);
        }
        // far from all, Gaussians give one and the same mix whatever the direction
        let (a, b) = (at(&gaussian, &[30.0, 0.0], 4), at(&gaussian, &[0.0, -40.0], 4));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9));
        assert_eq!(
            PoseWeights::new(&[vec![0.0], vec![1.0], vec![0.0]], Kernel::Biharmonic, 0.0),
            Err([0, 2])
        );
        let one = PoseWeights::new(&[vec![]], Kernel::Biharmonic, 0.0).unwrap();
        assert_eq!(at(&one, &[], 1), [1.0]);
    }

    /// Against what it promises: the least eigenvalue of diagonal "stiffnesses" stays positive, and harmless weights are left alone.
    #[test]
    fn stiffness_stays_positive_however_negative_the_weights() {
        let stiffness = [[1.0, 10.0], [8.0, 10.0], [2.0, 0.5]];
        let ratios = (0..9)
            .map(|k| (0..2).map(|d| stiffness[k / 3][d] / stiffness[k % 3][d]).fold(0.0, f64::max))
            .collect();
        let limit = Limit::new(3, ratios).unwrap();
        for weights in [[1.6, -0.6, 0.0], [0.4, -0.9, 1.5], [-2.0, 1.0, 2.0], [1.05, -0.05, 0.0]] {
            let mut w = weights;
            let tau = limit.apply(&mut w);
            assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for d in 0..2 {
                assert!((0..3).map(|i| w[i] * stiffness[i][d]).sum::<f64>() > 0.0, "{weights:?} -> {w:?}");
            }
            assert_eq!(tau == 1.0, w == weights);
        }
        let mut harmless = [1.05, -0.05, 0.0];
        assert_eq!(limit.apply(&mut harmless), 1.0);
        let mut broken = [f64::NAN, 0.0, 1.0];
        limit.apply(&mut broken);
        assert_eq!(broken, [1.0, 0.0, 0.0]);
    }
}
