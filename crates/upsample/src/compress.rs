//! D as a product of two thin matrices: what matters is what it does to shapes that occur.
//!
//! With Σ = P Pᵀ/3F, the covariance of coarse shapes, D ≈ A B minimises ‖W^½ (D − A B) Σ^½‖: the largest singular directions of
//! W^½ D Σ^½. B = wᵀ Σ^-½ makes what goes through it, q = B p, of unit variance in every direction: ‖q‖ says how far from the
//! shapes that were learnt a shape is.

use faer::Mat;
use linear::{product, symmetric_eigen, transposed_product};

use crate::{Error, Harmonics, Moments, Regression};

/// D ≈ A B, in harmonics: A = Φ Â.
#[derive(Clone, Debug)]
pub struct LowRank {
    /// Â, functions × rank.
    pub rows: Mat<f64>,
    /// B, rank × coarse points. Its rows sum to zero.
    pub columns: Mat<f64>,
}

/// Directions that hardly occur count as if they did by this part of the mean.
const FLOOR: f64 = 1e-4;

/// The best of rank `most` or below; the first r columns of A and rows of B are the best of rank r.
pub fn compress(
    detail: &Mat<f64>,
    moments: &Moments,
    regression: &Regression,
    most: usize,
) -> Result<LowRank, Error> {
    let coarse = detail.ncols();
    let per_frame = 1.0 / (3.0 * moments.frames.max(1) as f64);
    let floor = FLOOR * regression.mean_value() * per_frame;
    // the lowest direction is the middle of all points, of which D knows nothing
    let kept: Vec<usize> = (1..coarse).collect();
    let deviation: Vec<f64> =
        kept.iter().map(|&j| (regression.values[j] * per_frame + floor).sqrt()).collect();
    let v = Mat::from_fn(coarse, kept.len(), |i, j| regression.vectors[(i, kept[j])]);
    let mut x = product(detail.as_ref(), v.as_ref());
    for (j, sigma) in deviation.iter().enumerate() {
        (0..x.nrows()).for_each(|n| x[(n, j)] *= sigma);
    }
    let gram = transposed_product(x.as_ref(), x.as_ref());
    let (_, w) = symmetric_eigen(gram.as_ref())?;
    let rank = most.min(kept.len());
    let w = Mat::from_fn(kept.len(), rank, |i, k| w[(i, kept.len() - 1 - k)]);
    let rows = product(x.as_ref(), w.as_ref());
    let scaled = Mat::from_fn(kept.len(), rank, |j, k| w[(j, k)] / deviation[j]);
    let mut columns = product(scaled.transpose(), v.transpose());
    crate::regression::centre_rows(&mut columns);
    Ok(LowRank { rows, columns })
}

impl LowRank {
    /// How many columns A has.
    pub fn rank(&self) -> usize {
        self.rows.ncols()
    }

    /// Fewer of them.
    #[must_use]
    pub fn truncated(&self, rank: usize) -> Self {
        let rank = rank.min(self.rank());
        Self {
            rows: self.rows.as_ref().subcols(0, rank).to_owned(),
            columns: self.columns.as_ref().subrows(0, rank).to_owned(),
        }
    }

    /// Â B.
    pub fn product(&self) -> Mat<f64> {
        product(self.rows.as_ref(), self.columns.as_ref())
    }

    /// For the run time: A over points and B, row after row.
    pub fn factor(&self, harmonics: &Harmonics, format: live::Format) -> live::Factor {
        let rows = harmonics.synthesise(&self.rows);
        let flat = |m: &Mat<f64>| -> Vec<f32> {
            (0..m.nrows()).flat_map(|i| (0..m.ncols()).map(move |j| m[(i, j)] as f32)).collect()
        };
        live::Factor { rank: self.rank(), rows: flat(&rows), columns: Some(flat(&self.columns)), format }
    }
}
