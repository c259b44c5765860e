//! A mixture of experts: where frames are too many for one process, heaps of states each have one of their own, and a gate between them
//! (Jacobs, Jordan, Nowlan and Hinton 1991; the paper's outlook).
//!
//! ```text
//! w_e = softmax(−½ ‖(y − c_e)/s‖²),   μ = Σ w_e μ_e,   σ² = Σ w_e (σ_e² + μ_e²) − μ²
//! ```
//!
//! Heaps by k-means, s the deviation of samples about their own heap's middle. One expert is the process itself.

use rayon::prelude::*;

use super::mixture::heaps;
use super::process::{Effort, Prediction, Process, Samples};
use crate::error::Error;

/// What an expert's share must be for it to be asked.
const HEARD: f64 = 1e-6;

/// Processes and the gate between them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Experts {
    pub(crate) experts: Vec<Process>,
    /// c_e, one row for each expert.
    pub(crate) centers: Vec<f64>,
    /// s.
    pub(crate) spread: Vec<f64>,
    /// Each one's share of the samples.
    pub(crate) shares: Vec<f64>,
    /// σ_f² of every output, the mean over experts.
    pub(crate) signal: Vec<f64>,
    /// σ_n², likewise.
    pub(crate) noise: Vec<f64>,
}

impl Experts {
    /// As many as it takes for none to have more than so many samples.
    pub(crate) fn learn(samples: Samples<'_>, effort: &Effort, most: usize) -> Result<Self, Error> {
        let Samples { inputs, outputs } = samples;
        let count = inputs.len().div_ceil(most.max(1));
        let (owners, centers, spread) = heaps(inputs, count);
        let learnt = (0..centers.len()).into_par_iter().map(|expert| {
            let own: Vec<usize> = (0..inputs.len()).filter(|&k| owners[k] == expert).collect();
            // k-means does not make heaps alike
            let own = own.iter().step_by(own.len().div_ceil(most.max(1)).max(1));
            let (x, z): (Vec<Vec<f64>>, Vec<Vec<f64>>) =
                own.map(|&k| (inputs[k].clone(), outputs[k].clone())).unzip();
            Process::learn(Samples { inputs: &x, outputs: &z }, effort)
        });
        let experts = learnt.collect::<Result<Vec<_>, _>>()?;
        let share =
            |expert| owners.iter().filter(|&&owner| owner == expert).count() as f64 / owners.len() as f64;
        let shares = (0..experts.len()).map(share).collect();
        Ok(Self::new(experts, centers.concat(), spread, shares))
    }

    pub(crate) fn new(experts: Vec<Process>, centers: Vec<f64>, spread: Vec<f64>, shares: Vec<f64>) -> Self {
        let mean = |of: fn(&Process) -> &Vec<f64>| {
            let mut sum = vec![0.0; of(&experts[0]).len()];
            for (expert, share) in experts.iter().zip(&shares) {
                sum.iter_mut().zip(of(expert)).for_each(|(sum, x)| *sum += share * x);
            }
            sum
        };
        let (signal, noise) = (mean(|process| &process.signal), mean(|process| &process.noise));
        Self { signal, noise, experts, centers, spread, shares }
    }

    /// Inputs and outputs.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        self.experts[0].sizes()
    }

    /// Inducing inputs of all.
    pub(crate) fn center_count(&self) -> usize {
        self.experts.iter().map(Process::center_count).sum()
    }

    /// w of every expert.
    fn gate(&self, y: &[f64]) -> Vec<f64> {
        let log = |center: &[f64]| {
            let off = y.iter().zip(center).zip(&self.spread);
            -0.5 * off.map(|((y, c), s)| ((y - c) / s).powi(2)).sum::<f64>()
        };
        let logs: Vec<f64> = self.centers.chunks_exact(y.len()).map(log).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logs.iter().map(|log| (log - most).exp()).sum();
        logs.iter().map(|log| (log - most).exp() / total).collect()
    }

    /// Mean and variance of every output at an input; with slopes where they are asked for.
    pub(crate) fn predict(&self, y: &[f64], slopes: bool) -> Prediction {
        if let [only] = self.experts.as_slice() {
            return only.predict(y, slopes);
        }
        let (d, q) = self.sizes();
        let gate = self.gate(y);
        let told: Vec<(usize, Prediction)> = (0..self.experts.len())
            .filter(|&e| gate[e] > HEARD)
            .map(|e| (e, self.experts[e].predict(y, slopes)))
            .collect();
        let sum =
            |of: &dyn Fn(&Prediction) -> f64| told.iter().map(|(e, one)| gate[*e] * of(one)).sum::<f64>();
        let mut out = Prediction::default();
        for k in 0..q {
            let mean = sum(&|one| one.mean[k]);
            out.mean.push(mean);
            // about the mean, which keeps it positive
            out.variance.push(sum(&|one| one.variance[k] + (one.mean[k] - mean).powi(2)));
        }
        if !slopes {
            return out;
        }
        // ∂ ln w_e/∂y_i, less its mean over experts
        let pull = |e: usize, i: usize| (self.centers[e * d + i] - y[i]) / self.spread[i].powi(2);
        let means: Vec<f64> =
            (0..d).map(|i| told.iter().map(|(e, _)| gate[*e] * pull(*e, i)).sum()).collect();
        for k in 0..q {
            let mean = out.mean[k];
            for i in 0..d {
                let (mut by_mean, mut by_variance) = (0.0, 0.0);
                for (e, one) in &told {
                    let (turn, off) = (pull(*e, i) - means[i], one.mean[k] - mean);
                    let slope = one.mean_slope[k * d + i];
                    by_mean += gate[*e] * (slope + turn * one.mean[k]);
                    // Σ w (μ_e − μ) = 0, so the mean's own slope drops out
                    let spread = one.variance[k] + off * off;
                    by_variance +=
                        gate[*e] * (one.variance_slope[k * d + i] + 2.0 * off * slope + turn * spread);
                }
                out.mean_slope.push(by_mean);
                out.variance_slope.push(by_variance);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use geometry::Random;

    use super::*;

    /// Two heaps of inputs with a law each.
    fn samples() -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let mut random = Random::new(5);
        let one = |k: usize| {
            let side = if k.is_multiple_of(2) { 1.5 } else { -1.5 };
            let (x, y) = (side + random.signed(1.0), random.signed(1.0));
            let z = if side > 0.0 { (3.0 * x).sin() } else { 0.8 * y * x };
            (vec![x, y], vec![z + random.signed(0.02), x * y + random.signed(0.02)])
        };
        (0..600).map(one).unzip()
    }

    #[test]
    fn experts_foretell_as_one_process_does_and_their_slopes_agree_with_differences() {
        let (inputs, outputs) = samples();
        let effort = Effort { inducing: 60, tuning: 300, tuning_inducing: 40, iterations: 20 };
        let all = Samples { inputs: &inputs[..400], outputs: &outputs[..400] };
        let one = Experts::learn(all, &effort, 1000).unwrap();
        let three = Experts::learn(all, &effort, 140).unwrap();
        assert_eq!((one.experts.len(), three.experts.len()), (1, 3));
        let error = |experts: &Experts| {
            let off = |k: usize| {
                let told = experts.predict(&inputs[k], false).mean;
                told.iter().zip(&outputs[k]).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
            };
            ((400..600).map(off).sum::<f64>() / 400.0).sqrt()
        };
        let (whole, split) = (error(&one), error(&three));
        assert!(whole < 0.1 && split < 1.5 * whole + 0.02, "{whole} {split}");
        // between the heaps, where both are heard
        let y = [0.1, 0.3];
        let told = three.predict(&y, true);
        let h = 1e-5;
        for i in 0..2 {
            let [plus, minus] = [h, -h].map(|h| {
                let mut there = y;
                there[i] += h;
                three.predict(&there, false)
            });
            for k in 0..2 {
                for (slope, plus, minus) in [
                    (told.mean_slope[k * 2 + i], plus.mean[k], minus.mean[k]),
                    (told.variance_slope[k * 2 + i], plus.variance[k], minus.variance[k]),
                ] {
                    let difference = (plus - minus) / (2.0 * h);
                    assert!((difference - slope).abs() < 1e-4 * slope.abs().max(1.0), "{difference} {slope}");
                }
            }
        }
    }
}
