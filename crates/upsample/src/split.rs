//! A stretch of the motion that is left out, and what was learnt from the rest: made so that one more try costs one product.
//!
//! With P Pᵀ = V s Vᵀ of the rest, D̂V = (ΦᵀWRPᵀ V)(s + γ²)⁻¹, and the squared error on the stretch that was left out, P' and R', is
//! ‖W^½R'‖² + Σₙ cₙ(Q cₙ − 2yₙ), cₙ the rows of D̂V, Q = VᵀP'P'ᵀV, yₙ those of Y = ΦᵀWR'P'ᵀV. Q and Y are made once; rows that are
//! known beforehand are one number.

use faer::{Mat, MatRef};
use linear::{product, transposed_product};

use crate::compress::LowRank;
use crate::{Error, Moments, Regression};

/// What is left out, and what is learnt from the rest.
pub(crate) struct Split<'a> {
    /// Of the rest.
    pub(crate) regression: Regression,
    /// All but the stretch.
    pub(crate) rest: Moments,
    left_out: &'a Moments,
    /// ΦᵀWRPᵀV of the rest, without the rows that are known.
    turned: Mat<f64>,
    /// Q
    inner: Mat<f64>,
    /// Y, without the rows that are known.
    cross: Mat<f64>,
    /// The error with the known rows and no other.
    known: f64,
}

impl<'a> Split<'a> {
    /// Of the sums over all frames, and over the stretch. `fixed` are the first rows of D̂ where they are known; a single stretch cannot be
    /// left out: it is judged by itself.
    pub(crate) fn new(
        all: &Moments,
        left_out: &'a Moments,
        alone: bool,
        fixed: Option<&Mat<f64>>,
    ) -> Result<Self, Error> {
        let mut rest = all.clone();
        if !alone {
            rest.add(left_out, -1.0);
        }
        let regression = Regression::new(&rest)?;
        let v = regression.vectors.as_ref();
        let first = fixed.map_or(0, Mat::nrows);
        let free = |rp: &'_ Mat<f64>| {
            let rows = rp.as_ref().subrows(first, rp.nrows() - first);
            product(rows, v)
        };
        let image = product(left_out.pp.as_ref(), v);
        let known = fixed.map_or(0.0, |fixed| {
            let image = product(fixed.as_ref(), left_out.pp.as_ref());
            quadratic(fixed.as_ref(), image.as_ref(), left_out.rp.as_ref().subrows(0, first))
        });
        Ok(Self {
            turned: free(&rest.rp),
            inner: transposed_product(v, image.as_ref()),
            cross: free(&left_out.rp),
            known: left_out.rr + known,
            regression,
            rest,
            left_out,
        })
    }

    /// ‖W^½ (Φ D̂ P − R)‖² over what was left out, D̂ learnt from the rest with these γ.
    pub(crate) fn squared_error(&self, gammas: &[f64]) -> f64 {
        let mut rows = self.turned.clone();
        let first = gammas.len() - rows.nrows();
        self.regression.shrink(&mut rows, &gammas[first..]);
        let image = product(rows.as_ref(), self.inner.as_ref());
        (self.known + quadratic(rows.as_ref(), image.as_ref(), self.cross.as_ref())).max(0.0)
    }

    /// The same for D̂ = Â B with its first r columns and rows, for each r: with G = ÂᵀÂ, H = B P'P'ᵀBᵀ and K = ÂᵀΦᵀWR'P'ᵀBᵀ it is
    /// ‖W^½R'‖² + Σ GₐᵦHₐᵦ − 2 Σ Kₐₐ over a, b ≤ r.
    pub(crate) fn rank_errors(&self, whole: &LowRank, ranks: &[usize]) -> Vec<f64> {
        let Moments { pp, rp, rr, .. } = self.left_out;
        let (rows, columns) = (whole.rows.as_ref(), whole.columns.as_ref());
        let g = transposed_product(rows, rows);
        let h = product(product(columns, pp.as_ref()).as_ref(), columns.transpose());
        let k = product(transposed_product(rows, rp.as_ref()).as_ref(), columns.transpose());
        let error = |rank: &usize| {
            let r = (*rank).min(whole.rank());
            let pairs = (0..r).flat_map(|b| (0..r).map(move |a| (a, b)));
            let both: f64 = pairs.map(|at| g[at] * h[at]).sum();
            (rr + both - 2.0 * (0..r).map(|a| k[(a, a)]).sum::<f64>()).max(0.0)
        };
        ranks.iter().map(error).collect()
    }
}

/// Σ over rows of x·(image − 2 cross).
fn quadratic(x: MatRef<'_, f64>, image: MatRef<'_, f64>, cross: MatRef<'_, f64>) -> f64 {
    let row =
        |j: usize| (0..x.nrows()).map(|n| x[(n, j)] * (image[(n, j)] - 2.0 * cross[(n, j)])).sum::<f64>();
    (0..x.ncols()).map(row).sum()
}
