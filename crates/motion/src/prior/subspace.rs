//! Principal components: vectors of many numbers that move together, by few.
//!
//! ```text
//! y = Bᵀ S (x − x̄)         S scales, BᵀB = 1, the largest share of Σ ‖S (x − x̄)‖² first
//! ```
//!
//! What is left over, r = (1 − B Bᵀ) S (x − x̄), is thought of as noise of one deviation σ (Tipping and Bishop 1999), which is its
//! weight where vectors are drawn to the subspace. Differs from the paper: there the weight is 10 whatever the data (its α₁, α₂).

use faer::MatRef;
use linear::{add_gram, symmetric_eigen};

use crate::error::Error;

/// The least deviation of what is left over, as a share of all: no data are without noise.
const LEAST_NOISE: f64 = 0.01;

/// A subspace that holds most of what some vectors do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Subspace {
    /// x̄.
    pub(crate) mean: Vec<f64>,
    /// S, one for each entry.
    pub(crate) scale: Vec<f64>,
    /// Bᵀ, by rows.
    pub(crate) basis: Vec<f64>,
    /// Deviations of y.
    pub(crate) spread: Vec<f64>,
    /// σ of each entry of r.
    pub(crate) noise: f64,
}

impl Subspace {
    /// The fewest components that hold this share of the energy of some vectors.
    pub(crate) fn fit(samples: &[Vec<f64>], scale: Vec<f64>, energy: f64) -> Result<Self, Error> {
        let (count, n) = (samples.len().max(1) as f64, scale.len());
        let mut mean = vec![0.0; n];
        for sample in samples {
            mean.iter_mut().zip(sample).for_each(|(m, x)| *m += x / count);
        }
        let mut gram = vec![0.0; n * n];
        for chunk in samples.chunks(256) {
            let rows: Vec<f64> = chunk
                .iter()
                .flat_map(|sample| (0..n).map(|k| scale[k] * (sample[k] - mean[k]) / count.sqrt()))
                .collect();
            add_gram(&rows, n, &mut gram);
        }
        // symmetric_eigen reads the lower triangle, which by columns is what there is
        let (values, vectors) = symmetric_eigen(MatRef::from_column_major_slice(&gram, n, n))?;
        let total: f64 = values.iter().map(|v| v.max(0.0)).sum();
        let (mut held, mut kept) = (0.0, 0);
        while kept < n && held < energy * total {
            held += values[n - 1 - kept].max(0.0);
            kept += 1;
        }
        let basis = (0..kept).flat_map(|k| {
            let column = n - 1 - k;
            // of both signs the one whose largest entry is positive
            let largest = (0..n).fold(0.0_f64, |most, i| {
                if vectors[(i, column)].abs() > most.abs() + 1e-9 { vectors[(i, column)] } else { most }
            });
            let sign = if largest < 0.0 { -1.0 } else { 1.0 };
            let vectors = &vectors;
            (0..n).map(move |i| sign * vectors[(i, column)])
        });
        let noise = ((total - held).max(0.0) / (n - kept).max(1) as f64).sqrt();
        let noise = noise.max(LEAST_NOISE * (total / n.max(1) as f64).sqrt()).max(1e-9);
        Ok(Self {
            basis: basis.collect(),
            spread: (0..kept).map(|k| values[n - 1 - k].max(0.0).sqrt().max(1e-9)).collect(),
            mean,
            scale,
            noise,
        })
    }

    /// Components.
    pub(crate) fn dimension(&self) -> usize {
        self.spread.len()
    }

    /// Numbers of a vector.
    pub(crate) fn size(&self) -> usize {
        self.mean.len()
    }

    /// Row k of Bᵀ.
    pub(crate) fn component(&self, k: usize) -> &[f64] {
        &self.basis[k * self.size()..(k + 1) * self.size()]
    }

    /// S (x − x̄).
    pub(crate) fn scaled(&self, x: &[f64]) -> Vec<f64> {
        (0..self.size()).map(|k| self.scale[k] * (x[k] - self.mean[k])).collect()
    }

    /// y.
    pub(crate) fn coordinates(&self, x: &[f64]) -> Vec<f64> {
        let scaled = self.scaled(x);
        (0..self.dimension()).map(|k| dot(self.component(k), &scaled)).collect()
    }

    /// The vector of the subspace with these coordinates.
    pub(crate) fn vector(&self, y: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.size()];
        for (k, y) in y.iter().enumerate() {
            x.iter_mut().zip(self.component(k)).for_each(|(x, b)| *x += y * b);
        }
        (0..self.size()).map(|k| self.mean[k] + x[k] / self.scale[k]).collect()
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    #[test]
    fn a_plane_in_five_dimensions_is_found() {
        let mut random = Random(3);
        let (a, b) = (random.vector(5), random.vector(5));
        let samples: Vec<Vec<f64>> = (0..200)
            .map(|_| {
                let (s, t) = (3.0 * random.next(), random.next());
                (0..5).map(|k| 1.0 + s * a[k] + t * b[k] + 1e-3 * random.next()).collect()
            })
            .collect();
        let scale = vec![1.0, 2.0, 0.5, 1.0, 1.0];
        let subspace = Subspace::fit(&samples, scale, 0.999).unwrap();
        assert_eq!(subspace.dimension(), 2);
        for sample in &samples {
            let y = subspace.coordinates(sample);
            let back = subspace.vector(&y);
            assert!(sample.iter().zip(&back).all(|(a, b)| (a - b).abs() < 6e-3));
            // coordinates of what is in the subspace are kept
            let again = subspace.coordinates(&back);
            assert!(y.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-9));
        }
        for k in 0..2 {
            let deviation: f64 = samples.iter().map(|x| subspace.coordinates(x)[k].powi(2)).sum::<f64>()
                / samples.len() as f64;
            assert!((deviation.sqrt() - subspace.spread[k]).abs() < 1e-9);
        }
    }
}
