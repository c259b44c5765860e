//! A mixture of Gaussians: how likely a state is to begin with (paper, eq. 5, pr_init), and poses that people take.
//!
//! p(y) = Σ_m w_m N(y; μ_m, C_m), by expectation and maximisation (Dempster, Laird and Rubin 1977) from means as far from each other as
//! samples are. Every C_m keeps its eigenpairs: r = Λ^-½ Vᵀ (y − μ) is the row that a least-squares problem asks for.

use faer::MatRef;
use geometry::Random;
use linear::{add_gram, symmetric_eigen};

use super::subspace::dot;
use crate::error::Error;

/// Samples, spread evenly, that are learnt from at most.
const MOST: usize = 3000;
/// Samples that a Gaussian needs at least.
const SAMPLES: usize = 40;
const ITERATIONS: usize = 15;
/// The least deviation, in those of all samples together.
const LEAST: f64 = 0.05;

/// One Gaussian.
#[derive(Clone, Debug, PartialEq)]
struct Gaussian {
    weight: f64,
    mean: Vec<f64>,
    /// V, by rows of one eigenvector each.
    axes: Vec<f64>,
    /// √Λ.
    deviations: Vec<f64>,
}

/// Some of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mixture {
    parts: Vec<Gaussian>,
}

impl Gaussian {
    /// r.
    fn whitened(&self, y: &[f64]) -> Vec<f64> {
        let off: Vec<f64> = y.iter().zip(&self.mean).map(|(y, m)| y - m).collect();
        let rows = self.axes.chunks_exact(off.len()).zip(&self.deviations);
        rows.map(|(axis, deviation)| dot(axis, &off) / deviation).collect()
    }

    /// ln w N(y), without (2π)^-d/2.
    fn log_share(&self, y: &[f64]) -> f64 {
        let square: f64 = self.whitened(y).iter().map(|r| r * r).sum();
        self.weight.ln() - 0.5 * square - self.deviations.iter().map(|d| d.ln()).sum::<f64>()
    }

    /// Of samples that belong to it by some shares.
    fn of(samples: &[&[f64]], shares: &[f64], floor: &[f64]) -> Result<Self, Error> {
        let (d, total) = (floor.len(), shares.iter().sum::<f64>().max(1e-9));
        let mut mean = vec![0.0; d];
        for (sample, share) in samples.iter().zip(shares) {
            mean.iter_mut().zip(*sample).for_each(|(m, y)| *m += share / total * y);
        }
        let mut gram = vec![0.0; d * d];
        let row = |(sample, share): (&&[f64], &f64)| {
            let root = (share / total).sqrt();
            sample.iter().zip(&mean).map(|(y, m)| root * (y - m)).collect::<Vec<f64>>()
        };
        let rows: Vec<f64> =
            samples.iter().zip(shares).filter(|(_, share)| **share > 1e-6).flat_map(row).collect();
        add_gram(&rows, d, &mut gram);
        (0..d).for_each(|k| gram[k * d + k] += floor[k] * floor[k]);
        let (values, vectors) = symmetric_eigen(MatRef::from_column_major_slice(&gram, d, d))?;
        let axes = (0..d).flat_map(|k| (0..d).map(move |i| (i, k))).map(|at| vectors[at]).collect();
        let least = floor.iter().copied().fold(f64::INFINITY, f64::min);
        let deviations = values.iter().map(|v| v.max(least * least).sqrt()).collect();
        Ok(Self { weight: total / samples.len() as f64, mean, axes, deviations })
    }
}

impl Mixture {
    /// Of samples, with so many Gaussians at most.
    pub(crate) fn fit(samples: &[Vec<f64>], count: usize) -> Result<Self, Error> {
        let stride = samples.len().div_ceil(MOST).max(1);
        let samples: Vec<&[f64]> = samples.iter().step_by(stride).map(Vec::as_slice).collect();
        let d = samples.first().map_or(0, |sample| sample.len());
        let n = samples.len().max(1) as f64;
        let moment = |k: usize| {
            let mean = samples.iter().map(|y| y[k]).sum::<f64>() / n;
            (samples.iter().map(|y| (y[k] - mean).powi(2)).sum::<f64>() / n).sqrt().max(1e-9)
        };
        let spread: Vec<f64> = (0..d).map(moment).collect();
        let floor: Vec<f64> = spread.iter().map(|s| LEAST * s).collect();
        let count = count.min(samples.len() / SAMPLES).max(1);
        let mut shares = nearest_of(&samples, &far_apart(&samples, &spread, count), &spread);
        let mut parts = Vec::new();
        for _ in 0..ITERATIONS {
            parts = shares
                .iter()
                .filter(|own| own.iter().sum::<f64>() >= 1.0)
                .map(|own| Gaussian::of(&samples, own, &floor))
                .collect::<Result<Vec<_>, _>>()?;
            shares = expected(&parts, &samples);
        }
        Ok(Self { parts })
    }

    /// −2 ln p, without its constant.
    #[cfg(test)]
    pub(crate) fn cost(&self, y: &[f64]) -> f64 {
        let logs: Vec<f64> = self.parts.iter().map(|part| part.log_share(y)).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        -2.0 * (most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln())
    }

    /// r of the Gaussian that a vector belongs to first of all, and its rows ∂r/∂y.
    pub(crate) fn rows(&self, y: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let part = self.nearest(y);
        let rows = part.axes.chunks_exact(y.len()).zip(&part.deviations);
        (part.whitened(y), rows.flat_map(|(axis, s)| axis.iter().map(move |a| a / s)).collect())
    }

    fn nearest(&self, y: &[f64]) -> &Gaussian {
        let log = |part: &Gaussian| part.log_share(y);
        let better = |best: usize, k: usize| match log(&self.parts[k]) > log(&self.parts[best]) {
            true => k,
            false => best,
        };
        &self.parts[(0..self.parts.len()).fold(0, better)]
    }

    /// A vector drawn from it; `breadth` 1 as it is, less nearer to the means.
    pub(crate) fn draw(&self, random: &mut Random, breadth: f64) -> Vec<f64> {
        let mut left = random.unit() * self.parts.iter().map(|part| part.weight).sum::<f64>();
        let chosen = self.parts.iter().find(|part| {
            left -= part.weight;
            left <= 0.0
        });
        let part = chosen.unwrap_or(&self.parts[self.parts.len() - 1]);
        let mut y = part.mean.clone();
        for (axis, deviation) in part.axes.chunks_exact(y.len()).zip(&part.deviations) {
            // the sum of twelve uniform numbers is as good as normal
            let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            y.iter_mut().zip(axis).for_each(|(y, a)| *y += breadth * normal * deviation * a);
        }
        y
    }
}

fn square(a: &[f64], b: &[f64], spread: &[f64]) -> f64 {
    a.iter().zip(b).zip(spread).map(|((a, b), s)| ((a - b) / s).powi(2)).sum()
}

/// The first sample, then again and again the one that is farthest from those that are chosen.
fn far_apart(samples: &[&[f64]], spread: &[f64], count: usize) -> Vec<usize> {
    let mut chosen = vec![0];
    let mut off: Vec<f64> = samples.iter().map(|y| square(y, samples[0], spread)).collect();
    while chosen.len() < count {
        let next = (0..off.len()).fold(0, |best, k| if off[k] > off[best] { k } else { best });
        chosen.push(next);
        off.iter_mut().zip(samples).for_each(|(off, y)| *off = off.min(square(y, samples[next], spread)));
    }
    chosen
}

/// By Gaussian and sample, whose it is: 1 or 0.
fn nearest_of(samples: &[&[f64]], centers: &[usize], spread: &[f64]) -> Vec<Vec<f64>> {
    let mut shares = vec![vec![0.0; samples.len()]; centers.len()];
    for (k, sample) in samples.iter().enumerate() {
        let off = |m: usize| square(sample, samples[centers[m]], spread);
        let nearest = (0..centers.len()).fold(0, |best, m| if off(m) < off(best) { m } else { best });
        shares[nearest][k] = 1.0;
    }
    shares
}

/// By Gaussian and sample, how likely it is whose.
fn expected(parts: &[Gaussian], samples: &[&[f64]]) -> Vec<Vec<f64>> {
    let mut shares: Vec<Vec<f64>> =
        parts.iter().map(|part| samples.iter().map(|y| part.log_share(y)).collect()).collect();
    for k in 0..samples.len() {
        let most = shares.iter().map(|own| own[k]).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = shares.iter().map(|own| (own[k] - most).exp()).sum();
        shares.iter_mut().for_each(|own| own[k] = (own[k] - most).exp() / total);
    }
    shares
}

/// Samples in so many heaps (k-means): whose each is, the middles, and how far samples are from their own middle by entry.
pub(crate) fn heaps(samples: &[Vec<f64>], count: usize) -> (Vec<usize>, Vec<Vec<f64>>, Vec<f64>) {
    let d = samples.first().map_or(0, Vec::len);
    let all: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
    let ones = vec![1.0; d];
    let mut middles: Vec<Vec<f64>> =
        far_apart(&all, &ones, count.max(1)).into_iter().map(|k| samples[k].clone()).collect();
    let mut owners = vec![0; samples.len()];
    for _ in 0..ITERATIONS {
        for (owner, sample) in owners.iter_mut().zip(&all) {
            let off = |m: usize| square(sample, &middles[m], &ones);
            *owner = (0..middles.len()).fold(0, |best, m| if off(m) < off(best) { m } else { best });
        }
        let size = |m: usize| owners.iter().filter(|&&owner| owner == m).count();
        // a heap that is too small to learn from goes to its neighbours
        if middles.len() > 1
            && let Some(small) = (0..middles.len()).find(|&m| size(m) < SAMPLES)
        {
            middles.remove(small);
            continue;
        }
        let mut sums = vec![vec![0.0; d]; middles.len()];
        for (&owner, sample) in owners.iter().zip(&all) {
            sums[owner].iter_mut().zip(*sample).for_each(|(sum, y)| *sum += y);
        }
        middles = (sums.into_iter().enumerate())
            .map(|(m, sum)| sum.iter().map(|s| s / size(m).max(1) as f64).collect())
            .collect();
    }
    let nearest = |sample: &&[f64]| {
        let off = |m: usize| square(sample, &middles[m], &ones);
        (0..middles.len()).fold(0, |best, m| if off(m) < off(best) { m } else { best })
    };
    let owners: Vec<usize> = all.iter().map(nearest).collect();
    let mut spread = vec![0.0; d];
    for (&owner, sample) in owners.iter().zip(&all) {
        let off = sample.iter().zip(&middles[owner]);
        spread.iter_mut().zip(off).for_each(|(s, (y, m))| *s += (y - m).powi(2));
    }
    let spread = spread.iter().map(|s| (s / samples.len().max(1) as f64).sqrt().max(1e-9)).collect();
    (owners, middles, spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two heaps, one of them long in a direction of its own.
    fn heaps() -> Vec<Vec<f64>> {
        let mut random = Random::new(11);
        let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let heap = |k: usize| {
            let (a, b, c) = (normal(), normal(), normal());
            match k % 3 {
                0 => vec![4.0 + 0.2 * a, 0.3 * b, 1.0 + 0.2 * c],
                _ => vec![-2.0 + a + 0.1 * b, 1.0 - a + 0.1 * b, 0.2 * c],
            }
        };
        (0..900).map(heap).collect()
    }

    #[test]
    fn two_heaps_are_found_and_drawn_from() {
        let samples = heaps();
        let mixture = Mixture::fit(&samples, 2).unwrap();
        assert_eq!(mixture.parts.len(), 2);
        let mut weights: Vec<f64> = mixture.parts.iter().map(|part| part.weight).collect();
        weights.sort_by(f64::total_cmp);
        assert!((weights[0] - 1.0 / 3.0).abs() < 0.01, "{weights:?}");
        // what lies along the long heap is likely, what lies as far across it is not
        assert!(mixture.cost(&[-1.0, 0.0, 0.0]) + 20.0 < mixture.cost(&[-1.0, 2.0, 0.0]));
        let mut random = Random::new(3);
        let drawn: Vec<Vec<f64>> = (0..900).map(|_| mixture.draw(&mut random, 1.0)).collect();
        let mean = |list: &[Vec<f64>], k: usize| list.iter().map(|y| y[k]).sum::<f64>() / list.len() as f64;
        assert!((0..3).all(|k| (mean(&drawn, k) - mean(&samples, k)).abs() < 0.25));
        let usual = |list: &[Vec<f64>]| list.iter().map(|y| mixture.cost(y)).sum::<f64>() / list.len() as f64;
        // what is narrower than the least deviation is drawn a little wider
        assert!((usual(&drawn) - usual(&samples)).abs() < 1.0, "{} {}", usual(&drawn), usual(&samples));
        // rows are those of the cost near a heap
        let y = [-1.7, 0.8, 0.1];
        let (r, rows) = mixture.rows(&y);
        let h = 1e-5;
        for k in 0..3 {
            let [plus, minus] = [h, -h].map(|h| {
                let mut there = y;
                there[k] += h;
                mixture.cost(&there)
            });
            let slope: f64 = (0..3).map(|row| 2.0 * r[row] * rows[row * 3 + k]).sum();
            assert!(((plus - minus) / (2.0 * h) - slope).abs() < 1e-3 * slope.abs().max(1.0), "{k}");
        }
    }
}
