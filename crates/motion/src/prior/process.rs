//! A sparse Gaussian process: functions of some inputs, learnt from samples, with how sure they are.
//!
//! Kernel (paper, appendix): k(y, y′) = exp(−½ Σ_d (y_d − y′_d)²/ℓ_d²), lengths ℓ shared by all outputs; output k has its own signal
//! σ_f² and noise σ_n². Of n samples m are *inducing*: with K_m between them, K_mn to all samples, ρ = σ_f²/σ_n² and
//! A = K_m + ρ K_mn K_nm, the bound on the log likelihood that is maximised is (Titsias 2009)
//!
//! ```text
//! F = −½ [ (zᵀz − ρ bᵀA⁻¹b)/σ_n² + n log 2πσ_n² + log|A| − log|K_m| + ρ (n − tr K_m⁻¹K_mn K_nm) ],   b = K_mn z
//! ```
//!
//! With T = K_m^-½ V and λ, V the eigenpairs of K_m^-½ K_mn K_nm K_m^-½, every output's A⁻¹ is T (1 + ρλ)⁻¹ Tᵀ: one decomposition
//! serves all. Inducing samples are chosen by pivoted Cholesky: the one that the others explain least, again and again.

use faer::{Mat, MatRef};
use linear::{product, symmetric_eigen, transposed_product};

use super::minimise::minimise;
use crate::error::Error;

/// Added to the diagonal of K_m.
const JITTER: f64 = 1e-6;
/// The least noise, of an output of deviation 1.
const LEAST_NOISE: f64 = 1e-3;
/// Features that explain less than this of the signal are left out of the variance.
const NEGLIGIBLE: f64 = 1e-3;

/// What is learnt, and how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effort {
    /// Inducing samples.
    pub(crate) inducing: usize,
    /// Samples, spread evenly, that lengths and noises are found with; all are learnt from.
    pub(crate) tuning: usize,
    /// Inducing samples meanwhile.
    pub(crate) tuning_inducing: usize,
    /// Iterations for each of two rounds.
    pub(crate) iterations: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { inducing: 300, tuning: 1500, tuning_inducing: 120, iterations: 40 }
    }
}

/// A learnt process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Process {
    /// ℓ.
    pub(crate) lengths: Vec<f64>,
    /// Inducing inputs over ℓ, by rows.
    pub(crate) centers: Vec<f64>,
    /// σ_f², one for each output.
    pub(crate) signal: Vec<f64>,
    /// σ_n².
    pub(crate) noise: Vec<f64>,
    /// ρ A⁻¹ K_mn z, a row for each output.
    pub(crate) weights: Vec<f64>,
    /// T's columns that matter, by rows of inducing inputs.
    pub(crate) features: Vec<f64>,
    /// ρλ/(1 + ρλ) of each feature, a row for each output.
    pub(crate) known: Vec<f64>,
}

/// What a process says of one input.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Prediction {
    pub(crate) mean: Vec<f64>,
    pub(crate) variance: Vec<f64>,
    /// ∂mean/∂y, a row for each output.
    pub(crate) mean_slope: Vec<f64>,
    /// ∂variance/∂y, likewise.
    pub(crate) variance_slope: Vec<f64>,
}

/// Inputs by rows, and outputs by rows of deviation about 1.
#[derive(Clone, Copy)]
pub(crate) struct Samples<'a> {
    pub(crate) inputs: &'a [Vec<f64>],
    pub(crate) outputs: &'a [Vec<f64>],
}

/// Lengths, signals, noises.
#[derive(Clone, Debug)]
struct Tuning {
    lengths: Vec<f64>,
    signal: Vec<f64>,
    noise: Vec<f64>,
}

impl Tuning {
    /// Logarithms, one after the other.
    fn logs(&self) -> Vec<f64> {
        self.lengths.iter().chain(&self.signal).chain(&self.noise).map(|x| x.ln()).collect()
    }

    fn from_logs(logs: &[f64], inputs: usize, outputs: usize) -> Self {
        let list = |from: usize, count: usize| logs[from..from + count].iter().map(|x| x.exp()).collect();
        Self {
            lengths: list(0, inputs),
            signal: list(inputs, outputs),
            noise: list(inputs + outputs, outputs),
        }
    }
}

/// What one decomposition gives.
struct Decomposed {
    /// K_nm.
    kernel: Mat<f64>,
    /// K_m, without jitter.
    inner: Mat<f64>,
    /// T.
    features: Mat<f64>,
    /// λ.
    values: Vec<f64>,
    /// K_mn z, a column for each output.
    outputs: Mat<f64>,
}

/// Inputs over lengths.
fn over(inputs: &[Vec<f64>], lengths: &[f64]) -> Mat<f64> {
    Mat::from_fn(inputs.len(), lengths.len(), |i, d| inputs[i][d] / lengths[d])
}

/// exp(−½ ‖a − b‖²) between rows.
fn kernel(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let squares = |m: MatRef<'_, f64>| {
        (0..m.nrows()).map(|i| (0..m.ncols()).map(|d| m[(i, d)].powi(2)).sum()).collect::<Vec<f64>>()
    };
    let (left, right) = (squares(a), squares(b));
    let mut k = product(a, b.transpose());
    for j in 0..k.ncols() {
        for i in 0..k.nrows() {
            k[(i, j)] = (k[(i, j)] - 0.5 * (left[i] + right[j])).min(0.0).exp();
        }
    }
    k
}

/// Those of which the others say least: pivoted Cholesky of K, so many steps.
fn inducing(x: MatRef<'_, f64>, count: usize) -> Vec<usize> {
    let n = x.nrows();
    let mut left = vec![1.0; n];
    let mut chosen = Vec::with_capacity(count.min(n));
    let mut columns: Vec<Vec<f64>> = Vec::new();
    while chosen.len() < count.min(n) {
        let pivot = (0..n).fold(0, |best, i| if left[i] > left[best] { i } else { best });
        if left[pivot] < JITTER {
            break;
        }
        let root = left[pivot].sqrt();
        let mut column: Vec<f64> = (0..n)
            .map(|i| {
                let square: f64 = (0..x.ncols()).map(|d| (x[(i, d)] - x[(pivot, d)]).powi(2)).sum();
                (-0.5 * square).exp()
            })
            .collect();
        for earlier in &columns {
            let share = earlier[pivot];
            column.iter_mut().zip(earlier).for_each(|(c, e)| *c -= share * e);
        }
        for (i, c) in column.iter_mut().enumerate() {
            *c /= root;
            left[i] -= *c * *c;
        }
        left[pivot] = f64::NEG_INFINITY;
        columns.push(column);
        chosen.push(pivot);
    }
    chosen.sort_unstable();
    chosen
}

fn decompose(
    x: MatRef<'_, f64>,
    centers: MatRef<'_, f64>,
    outputs: MatRef<'_, f64>,
) -> Result<Decomposed, Error> {
    let (kernel, inner) = (kernel(x, centers), kernel(centers, centers));
    let m = centers.nrows();
    let jittered = Mat::from_fn(m, m, |i, j| inner[(i, j)] + if i == j { JITTER } else { 0.0 });
    let (values, vectors) = symmetric_eigen(jittered.as_ref())?;
    let root = Mat::from_fn(m, m, |i, k| vectors[(i, k)] / values[k].max(0.5 * JITTER).powf(0.25));
    let root = product(root.as_ref(), root.transpose());
    let gram = transposed_product(kernel.as_ref(), kernel.as_ref());
    let half = product(root.as_ref(), gram.as_ref());
    let whole = product(half.as_ref(), root.as_ref());
    let (values, vectors) = symmetric_eigen(whole.as_ref())?;
    Ok(Decomposed {
        features: product(root.as_ref(), vectors.as_ref()),
        values: values.iter().map(|v| v.max(0.0)).collect(),
        outputs: transposed_product(kernel.as_ref(), outputs),
        kernel,
        inner,
    })
}

/// −F of all outputs, and its slopes by the logarithms of the tuning.
fn bound(
    tuning: &Tuning,
    inputs: &[Vec<f64>],
    outputs: MatRef<'_, f64>,
    chosen: &[usize],
) -> Result<(f64, Vec<f64>), Error> {
    let (n, d, q) = (inputs.len(), tuning.lengths.len(), outputs.ncols());
    let x = over(inputs, &tuning.lengths);
    let centers = Mat::from_fn(chosen.len(), d, |j, k| x[(chosen[j], k)]);
    let parts = decompose(x.as_ref(), centers.as_ref(), outputs)?;
    let (m, values) = (chosen.len(), &parts.values);
    let trace: f64 = values.iter().sum();
    let beta = transposed_product(parts.features.as_ref(), parts.outputs.as_ref());
    let (mut value, mut slopes) = (0.0, vec![0.0; d + 2 * q]);
    // diagonals of Σ ρ (A⁻¹ − K_m⁻¹) and Σ (A⁻¹ − K_m⁻¹ + ρ K_m⁻¹ΦK_m⁻¹) in T; and the w of every output
    let (mut outer, mut inner) = (vec![0.0; m], vec![0.0; m]);
    let mut w = Mat::<f64>::zeros(m, q);
    for k in 0..q {
        let (f, s) = (tuning.signal[k], tuning.noise[k]);
        let rho = f / s;
        let square: f64 = (0..n).map(|i| outputs[(i, k)].powi(2)).sum();
        let (mut g, mut g2, mut logs, mut shares) = (0.0, 0.0, 0.0, 0.0);
        for i in 0..m {
            let one = 1.0 + rho * values[i];
            g += beta[(i, k)].powi(2) / one;
            g2 += (beta[(i, k)] / one).powi(2);
            logs += one.ln();
            shares += values[i] / one;
            outer[i] -= rho * rho * values[i] / one;
            inner[i] += (rho * values[i]).powi(2) / one;
            w[(i, k)] = beta[(i, k)] / one;
        }
        let count = n as f64;
        let log_noise = (std::f64::consts::TAU * s).ln();
        value += 0.5 * ((square - rho * g) / s + count * log_noise + logs + rho * (count - trace));
        let by_rho = 0.5 * (-g2 / s + shares + count - trace);
        let by_noise = 0.5 * (count - (square - rho * g) / s);
        slopes[d + k] = rho * by_rho;
        slopes[d + q + k] = by_noise - rho * by_rho;
    }
    let w = product(parts.features.as_ref(), w.as_ref());
    let diagonal = |list: &[f64]| {
        let scaled = Mat::from_fn(m, m, |i, k| parts.features[(i, k)] * list[k]);
        product(scaled.as_ref(), parts.features.transpose())
    };
    // −∂F/∂K_nm: −Σ (ρ/σ²) (z − ρ K_nm w) wᵀ + K_nm S
    let fitted = product(parts.kernel.as_ref(), w.as_ref());
    let ratio = |k: usize| tuning.signal[k] / tuning.noise[k];
    let left = Mat::from_fn(n, q, |i, k| {
        -ratio(k) / tuning.noise[k] * (outputs[(i, k)] - ratio(k) * fitted[(i, k)])
    });
    let mut by_kernel = product(parts.kernel.as_ref(), diagonal(&outer).as_ref());
    by_kernel += product(left.as_ref(), w.transpose());
    // −∂F/∂K_m
    let mut by_inner = diagonal(&inner);
    by_inner *= faer::Scale(0.5);
    let weighted = Mat::from_fn(m, q, |i, k| 0.5 * ratio(k) / tuning.noise[k] * w[(i, k)]);
    by_inner += product(weighted.as_ref(), w.transpose());
    for (slope, a, k) in [(by_kernel, &x, &parts.kernel), (by_inner, &centers, &parts.inner)] {
        by_lengths(&slope, k, a, &centers, &mut slopes[..d]);
    }
    Ok((value, slopes))
}

/// Adds Σ G ∘ ∂K/∂log ℓ_d, ∂K_ij/∂log ℓ_d = K_ij (a_id − b_jd)² with inputs over lengths.
fn by_lengths(slope: &Mat<f64>, kernel: &Mat<f64>, a: &Mat<f64>, b: &Mat<f64>, out: &mut [f64]) {
    let h = Mat::from_fn(kernel.nrows(), kernel.ncols(), |i, j| slope[(i, j)] * kernel[(i, j)]);
    let across = product(h.as_ref(), b.as_ref());
    let rows: Vec<f64> = (0..h.nrows()).map(|i| (0..h.ncols()).map(|j| h[(i, j)]).sum()).collect();
    let columns: Vec<f64> = (0..h.ncols()).map(|j| (0..h.nrows()).map(|i| h[(i, j)]).sum()).collect();
    for (d, out) in out.iter_mut().enumerate() {
        let own: f64 = (0..h.nrows()).map(|i| a[(i, d)] * (rows[i] * a[(i, d)] - 2.0 * across[(i, d)])).sum();
        let other: f64 = (0..h.ncols()).map(|j| columns[j] * b[(j, d)].powi(2)).sum();
        *out += own + other;
    }
}

impl Process {
    /// Learns from samples.
    pub(crate) fn learn(samples: Samples<'_>, effort: &Effort) -> Result<Self, Error> {
        let tuning = tuned(samples, effort)?;
        Self::with(samples, &tuning, effort.inducing)
    }

    /// With lengths and noises that are given.
    fn with(samples: Samples<'_>, tuning: &Tuning, count: usize) -> Result<Self, Error> {
        let x = over(samples.inputs, &tuning.lengths);
        let chosen = inducing(x.as_ref(), count);
        let (d, q) = (tuning.lengths.len(), tuning.signal.len());
        let centers = Mat::from_fn(chosen.len(), d, |j, k| x[(chosen[j], k)]);
        let outputs = Mat::from_fn(samples.outputs.len(), q, |i, k| samples.outputs[i][k]);
        let parts = decompose(x.as_ref(), centers.as_ref(), outputs.as_ref())?;
        let m = chosen.len();
        let beta = transposed_product(parts.features.as_ref(), parts.outputs.as_ref());
        let ratio = |k: usize| tuning.signal[k] / tuning.noise[k];
        let inner = Mat::from_fn(m, q, |i, k| ratio(k) * beta[(i, k)] / (1.0 + ratio(k) * parts.values[i]));
        let weights = product(parts.features.as_ref(), inner.as_ref());
        let share = |k: usize, i: usize| ratio(k) * parts.values[i] / (1.0 + ratio(k) * parts.values[i]);
        let kept: Vec<usize> = (0..m).filter(|&i| (0..q).any(|k| share(k, i) > NEGLIGIBLE)).collect();
        Ok(Self {
            lengths: tuning.lengths.clone(),
            centers: (0..m).flat_map(|j| (0..d).map(move |k| (j, k))).map(|at| centers[at]).collect(),
            signal: tuning.signal.clone(),
            noise: tuning.noise.clone(),
            weights: (0..q).flat_map(|k| (0..m).map(move |i| (i, k))).map(|at| weights[at]).collect(),
            features: (0..m)
                .flat_map(|j| kept.iter().map(move |&i| (j, i)))
                .map(|at| parts.features[at])
                .collect(),
            known: (0..q).flat_map(|k| kept.iter().map(move |&i| (k, i))).map(|(k, i)| share(k, i)).collect(),
        })
    }

    /// Inputs and outputs.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.lengths.len(), self.signal.len())
    }

    /// Inducing inputs.
    pub(crate) fn center_count(&self) -> usize {
        self.centers.len() / self.lengths.len().max(1)
    }

    /// Mean and variance of every output at an input; with slopes where they are asked for.
    pub(crate) fn predict(&self, y: &[f64], slopes: bool) -> Prediction {
        let ((d, q), m) = (self.sizes(), self.center_count());
        let r = self.features.len() / m.max(1);
        let x: Vec<f64> = y.iter().zip(&self.lengths).map(|(y, l)| y / l).collect();
        let k: Vec<f64> = self
            .centers
            .chunks_exact(d)
            .map(|c| (-0.5 * c.iter().zip(&x).map(|(c, x)| (c - x).powi(2)).sum::<f64>()).exp())
            .collect();
        let mut phi = vec![0.0; r];
        for (k, row) in k.iter().zip(self.features.chunks_exact(r.max(1))) {
            phi.iter_mut().zip(row).for_each(|(p, t)| *p += k * t);
        }
        let mut out = Prediction::default();
        for output in 0..q {
            let weights = &self.weights[output * m..(output + 1) * m];
            let known = &self.known[output * r..(output + 1) * r];
            let explained: f64 = phi.iter().zip(known).map(|(p, share)| share * p * p).sum();
            out.mean.push(weights.iter().zip(&k).map(|(w, k)| w * k).sum());
            out.variance.push(self.signal[output] * (1.0 - explained).max(0.0) + self.noise[output]);
            if !slopes {
                continue;
            }
            let by_mean = |j: usize| weights[j];
            let turned: Vec<f64> = phi.iter().zip(known).map(|(p, share)| share * p).collect();
            let by_variance = |j: usize| {
                let row = &self.features[j * r..(j + 1) * r];
                -2.0 * self.signal[output] * row.iter().zip(&turned).map(|(t, p)| t * p).sum::<f64>()
            };
            self.slope(&x, &k, by_mean, &mut out.mean_slope);
            match explained < 1.0 {
                true => self.slope(&x, &k, by_variance, &mut out.variance_slope),
                false => out.variance_slope.extend(std::iter::repeat_n(0.0, d)),
            }
        }
        out
    }

    /// ∂/∂y of Σ g_j k_j, where ∂k_j/∂y = k_j (c_j − x)/ℓ.
    fn slope(&self, x: &[f64], k: &[f64], g: impl Fn(usize) -> f64, out: &mut Vec<f64>) {
        let d = x.len();
        let (mut sum, mut total) = (vec![0.0; d], 0.0);
        for (j, center) in self.centers.chunks_exact(d).enumerate() {
            let share = g(j) * k[j];
            total += share;
            sum.iter_mut().zip(center).for_each(|(s, c)| *s += share * c);
        }
        out.extend((0..d).map(|i| (sum[i] - total * x[i]) / self.lengths[i]));
    }
}

/// Lengths and noises by the largest likelihood, in two rounds: inducing samples depend on lengths.
fn tuned(samples: Samples<'_>, effort: &Effort) -> Result<Tuning, Error> {
    let n = samples.inputs.len();
    let (d, q) = (samples.inputs[0].len(), samples.outputs[0].len());
    let count = n.min(effort.tuning).max(1);
    let taken: Vec<usize> = (0..count).map(|k| k * n / count).collect();
    let inputs: Vec<Vec<f64>> = taken.iter().map(|&i| samples.inputs[i].clone()).collect();
    let outputs = Mat::from_fn(count, q, |i, k| samples.outputs[taken[i]][k]);
    let spread: f64 = (0..d)
        .map(|k| {
            let mean = inputs.iter().map(|y| y[k]).sum::<f64>() / count as f64;
            inputs.iter().map(|y| (y[k] - mean).powi(2)).sum::<f64>() / count as f64
        })
        .sum();
    let mut tuning =
        Tuning { lengths: vec![spread.sqrt().max(1e-9); d], signal: vec![1.0; q], noise: vec![0.1; q] };
    let start = tuning.logs();
    for _ in 0..2 {
        let chosen = inducing(over(&inputs, &tuning.lengths).as_ref(), effort.tuning_inducing);
        let mut logs = tuning.logs();
        minimise(&mut logs, effort.iterations, |logs| {
            let tuning = Tuning::from_logs(logs, d, q);
            let (mut value, mut slopes) = bound(&tuning, &inputs, outputs.as_ref(), &chosen)?;
            // what the samples say nothing about stays where it was; noises have a floor
            for (k, slope) in slopes.iter_mut().enumerate() {
                let off = logs[k] - start[k];
                value += 0.05 * off * off;
                *slope += 0.1 * off;
                let below = (LEAST_NOISE.ln() - logs[k]).max(0.0);
                if k >= d + q && below > 0.0 {
                    value += 1e3 * below * below;
                    *slope -= 2e3 * below;
                }
            }
            Ok((value, slopes))
        })?;
        tuning = Tuning::from_logs(&logs, d, q);
        tuning.noise.iter_mut().for_each(|noise| *noise = noise.max(LEAST_NOISE));
    }
    Ok(tuning)
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
