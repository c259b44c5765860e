//! Other motions from the same keys: randomise, then optimise (Bardsley, Solonen, Haario and Laine 2014). What the motion is drawn to, the
//! forces that a prior foretells and the first poses, is moved by noise as large as it is unsure; then the motion is solved for as ever.
//! Where rows are linear that is a draw from the posterior; each draw obeys physics, and does not depend on those before it.
//!
//! Noise changes over [`CORRELATION`]: what a process is wrong by at one frame it is wrong by at the next. Differs from a Markov chain:
//! nothing is refused.

/// Seconds over which noise is alike.
const CORRELATION: f64 = 0.3;
/// Waves that a row's noise is the sum of.
const WAVES: usize = 24;

/// Noise of one variation: rows over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Variation {
    pub(crate) seed: u32,
    /// Seconds of a frame.
    pub(crate) step: f64,
    /// The frame of the motion that is counted as 0.
    pub(crate) first: usize,
}

impl Variation {
    /// The noise of a row at a frame: of deviation 1, its covariance a Gaussian of time.
    pub(crate) fn at(&self, row: usize, frame: usize) -> f64 {
        let time = (self.first + frame) as f64 * self.step / CORRELATION;
        let wave = |k: usize| {
            let (rate, _) = normals(self.seed, row, 2 * k);
            let phase = std::f64::consts::TAU * uniform(self.seed, row, 4 * k + 3);
            (rate * time + phase).cos()
        };
        (0..WAVES).map(wave).sum::<f64>() * (2.0 / WAVES as f64).sqrt()
    }
}

/// Two normal numbers of a place in the sequence.
fn normals(seed: u32, row: usize, at: usize) -> (f64, f64) {
    let radius = (-2.0 * uniform(seed, row, 2 * at).max(1e-300).ln()).sqrt();
    let (sine, cosine) = (std::f64::consts::TAU * uniform(seed, row, 2 * at + 1)).sin_cos();
    (radius * cosine, radius * sine)
}

/// SplitMix64 of seed, row and place, in [0, 1).
fn uniform(seed: u32, row: usize, at: usize) -> f64 {
    let mut z = (u64::from(seed) << 40 ^ (row as u64) << 16 ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_deviation_and_the_correlation_that_it_says() {
        let step = 1.0 / 30.0;
        let (mut square, mut product, mut apart) = (0.0, 0.0, 0.0);
        let (lag, rows) = (9, 2000);
        for row in 0..rows {
            let noise = Variation { seed: 3, step, first: 0 };
            let (a, b) = (noise.at(row, 40), noise.at(row, 40 + lag));
            square += a * a / f64::from(rows as u32);
            product += a * b / f64::from(rows as u32);
            apart += a * Variation { seed: 4, step, first: 0 }.at(row, 40) / f64::from(rows as u32);
        }
        let expected = (-0.5 * (lag as f64 * step / CORRELATION).powi(2)).exp();
        assert!(
            (square - 1.0).abs() < 0.1 && (product - expected).abs() < 0.1,
            "{square} {product} {expected}"
        );
        assert!(apart.abs() < 0.1, "{apart}");
    }
}
