//! The 1-norm penalty that *upsample* §3.2 tried and left: sparse shape functions that are not smooth. For comparison.

use faer::Mat;
use linear::product;

use crate::regression::centre_rows;
use crate::{Moments, Regression};

/// Rounds of splitting: far beyond what a picture shows.
const ROUNDS: usize = 300;

/// D̂ with min ½‖d̂ P − r̂‖² + γ‖d̂‖₁ for each row, d̂ 1 = 0: alternating directions (Boyd 2011 §6.4), ρ the mean of P Pᵀ's
/// values.
pub fn one_norm(moments: &Moments, regression: &Regression, gammas: &[f64]) -> Mat<f64> {
    let (rows, columns) = (moments.rp.nrows(), moments.rp.ncols());
    let rho = regression.mean_value();
    let v = &regression.vectors;
    let (mut z, mut u) = (Mat::<f64>::zeros(rows, columns), Mat::<f64>::zeros(rows, columns));
    for _ in 0..ROUNDS {
        let right = Mat::from_fn(rows, columns, |n, j| moments.rp[(n, j)] + rho * (z[(n, j)] - u[(n, j)]));
        let mut x = product(right.as_ref(), v.as_ref());
        for (j, s) in regression.values.iter().enumerate() {
            (0..rows).for_each(|n| x[(n, j)] /= s + rho);
        }
        let mut x = product(x.as_ref(), v.transpose());
        centre_rows(&mut x);
        for j in 0..columns {
            for n in 0..rows {
                let moved = x[(n, j)] + u[(n, j)];
                let kept = (moved.abs() - gammas[n] / rho).max(0.0);
                z[(n, j)] = kept * moved.signum();
                u[(n, j)] = moved - z[(n, j)];
            }
        }
    }
    centre_rows(&mut z);
    z
}
