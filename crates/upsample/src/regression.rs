//! The regression itself: every row of D̂ = ΦᵀWD is a ridge regression of its own, and one decomposition serves all.
//!
//! min ‖W^½ (S P_c + D P_c − P_f)‖² + ‖Γ ΦᵀW D‖² with D 1 = 0 becomes, row by row, min ‖d̂ P − r̂‖² + γ²‖d̂‖² with d̂ 1 = 0. With P about
//! its middle the constraint holds by itself, and P Pᵀ = V s Vᵀ gives d̂ = r̂Pᵀ V (s + γ²)⁻¹ Vᵀ.

use faer::Mat;
use linear::{product, symmetric_eigen};

use crate::{Error, Moments};

/// P Pᵀ, decomposed.
#[derive(Clone, Debug)]
pub struct Regression {
    /// s, ascending, never below zero.
    pub values: Vec<f64>,
    /// V
    pub vectors: Mat<f64>,
}

/// Directions that the motion moves by less than this part of the largest, squared, are not learnt from where nothing holds them back.
const UNSEEN: f64 = 1e-12;

impl Regression {
    /// Decomposes.
    pub fn new(moments: &Moments) -> Result<Self, Error> {
        let (values, vectors) = symmetric_eigen(moments.pp.as_ref())?;
        Ok(Self { values: values.into_iter().map(|s| s.max(0.0)).collect(), vectors })
    }

    /// The mean of s over the directions there are: what penalties are measured against, so that their meaning depends neither on units nor
    /// on how many frames there are.
    pub fn mean_value(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len().saturating_sub(1).max(1) as f64
    }

    /// Directions in which the motion moves the coarse cloth.
    pub fn rank(&self) -> usize {
        let largest = self.values.last().copied().unwrap_or(0.0);
        self.values.iter().filter(|s| **s > UNSEEN * largest).count()
    }

    /// D̂, functions × coarse points. `gammas` as they stand in the equation.
    pub fn solve(&self, moments: &Moments, gammas: &[f64]) -> Mat<f64> {
        let mut turned = product(moments.rp.as_ref(), self.vectors.as_ref());
        self.shrink(&mut turned, gammas);
        let mut rows = product(turned.as_ref(), self.vectors.transpose());
        centre_rows(&mut rows);
        rows
    }

    /// Some rows of ΦᵀWRPᵀV become those of D̂V: over s + γ², γ of these rows.
    pub(crate) fn shrink(&self, turned: &mut Mat<f64>, gammas: &[f64]) {
        let largest = self.values.last().copied().unwrap_or(0.0);
        for (j, s) in self.values.iter().enumerate() {
            for (n, gamma) in gammas.iter().enumerate() {
                let denominator = s + gamma * gamma;
                let seen = denominator > UNSEEN * largest && denominator.is_finite();
                turned[(n, j)] = if seen { turned[(n, j)] / denominator } else { 0.0 };
            }
        }
    }
}

/// Rows that sum to zero to round-off do so to the last digit that a sum can have.
pub(crate) fn centre_rows(rows: &mut Mat<f64>) {
    let columns = rows.ncols();
    for n in 0..rows.nrows() {
        let mean = (0..columns).map(|j| rows[(n, j)]).sum::<f64>() / columns.max(1) as f64;
        (0..columns).for_each(|j| rows[(n, j)] -= mean);
    }
}
