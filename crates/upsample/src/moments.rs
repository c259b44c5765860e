//! Pairs of frames, and all that regression needs to know of them: a few small matrices that add up.

use std::ops::Range;

use faer::Mat;
use geometry::{Prolongation, Vec3};
use linear::product;

use crate::{Error, Harmonics};

/// Frames of the coarse simulation and of the fine one that tracks it. In single precision, as files have them.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// Coarse points of each frame.
    pub coarse: Vec<Vec<[f32; 3]>>,
    /// Fine points of each frame.
    pub fine: Vec<Vec<[f32; 3]>>,
}

impl Pairs {
    /// One more pair.
    pub fn push(&mut self, coarse: &[Vec3], fine: Vec<Vec3>) {
        self.coarse.push(coarse.iter().map(|p| p.as_vec3().to_array()).collect());
        self.fine.push(fine.iter().map(|p| p.as_vec3().to_array()).collect());
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.coarse.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.coarse.is_empty()
    }

    /// Every frame has the points it must, and they are numbers.
    pub fn check(&self, coarse: usize, fine: usize) -> Result<(), Error> {
        if self.is_empty() || self.fine.len() != self.coarse.len() {
            return Err(Error::NoFrames);
        }
        for (which, frames, expected) in [("coarse", &self.coarse, coarse), ("fine", &self.fine, fine)] {
            for (frame, points) in frames.iter().enumerate() {
                if points.len() != expected {
                    return Err(Error::PointCount { which, frame, found: points.len(), expected });
                }
                let bad = points.iter().position(|p| !p.iter().all(|x| x.is_finite()));
                if let Some(point) = bad {
                    return Err(Error::NotFinite { which, frame, point });
                }
            }
        }
        let first = &self.coarse[0];
        if self.len() > 1 && self.coarse.iter().all(|points| points == first) {
            return Err(Error::NeverMoves { frames: self.len() });
        }
        Ok(())
    }
}

/// What D is added to. Its rows sum to one.
#[derive(Clone, Copy, Debug)]
pub enum Base<'a> {
    /// The middle of all coarse points: D is then the paper's U but for that, and its penalty the paper's.
    Mean,
    /// A smooth subdivision.
    Subdivision(&'a Prolongation),
}

impl Base<'_> {
    /// Fine points.
    pub fn apply(&self, coarse: &[Vec3], fine_count: usize) -> Vec<Vec3> {
        match self {
            Self::Mean => {
                let mean = coarse.iter().sum::<Vec3>() / coarse.len().max(1) as f64;
                vec![mean; fine_count]
            }
            Self::Subdivision(subdivision) => subdivision.vectors(coarse),
        }
    }
}

/// Sums over frames, of the coarse points P about their middle and of what the base leaves, R = P_f − S P_c.
///
/// Both are unchanged when a frame is turned or moved, and those of two stretches add up: what is left out is subtracted.
#[derive(Clone, Debug)]
pub struct Moments {
    /// Frames.
    pub frames: usize,
    /// P Pᵀ, coarse × coarse.
    pub pp: Mat<f64>,
    /// ΦᵀW R Pᵀ, functions × coarse.
    pub rp: Mat<f64>,
    /// ‖W^½ R‖².
    pub rr: f64,
}

/// Frames that are multiplied at once.
const BATCH: usize = 32;

impl Moments {
    /// Of some frames.
    pub fn gather(pairs: &Pairs, base: Base<'_>, harmonics: &Harmonics, frames: Range<usize>) -> Self {
        let coarse = pairs.coarse.first().map_or(0, Vec::len);
        let fine = harmonics.functions.nrows();
        let mut pp = Mat::<f64>::zeros(coarse, coarse);
        let mut by_point = Mat::<f64>::zeros(fine, coarse);
        let mut rr = 0.0;
        let count = frames.len();
        for start in frames.clone().step_by(BATCH) {
            let batch: Vec<usize> = (start..(start + BATCH).min(frames.end)).collect();
            let mut p = Mat::<f64>::zeros(coarse, 3 * batch.len());
            let mut r = Mat::<f64>::zeros(fine, 3 * batch.len());
            for (k, &frame) in batch.iter().enumerate() {
                let points: Vec<Vec3> = pairs.coarse[frame].iter().map(|p| point(*p)).collect();
                let mean = points.iter().sum::<Vec3>() / coarse as f64;
                let smooth = base.apply(&points, fine);
                for axis in 0..3 {
                    (0..coarse).for_each(|i| p[(i, 3 * k + axis)] = (points[i] - mean)[axis]);
                    for i in 0..fine {
                        let rest = f64::from(pairs.fine[frame][i][axis]) - smooth[i][axis];
                        r[(i, 3 * k + axis)] = rest;
                        rr += harmonics.weights[i] * rest * rest;
                    }
                }
            }
            pp += product(p.as_ref(), p.transpose());
            by_point += product(r.as_ref(), p.transpose());
        }
        Self { frames: count, pp, rp: harmonics.analyse(&by_point), rr }
    }

    /// Of none.
    pub fn none_like(other: &Self) -> Self {
        Self {
            frames: 0,
            pp: Mat::zeros(other.pp.nrows(), other.pp.ncols()),
            rp: Mat::zeros(other.rp.nrows(), other.rp.ncols()),
            rr: 0.0,
        }
    }

    /// Adds (sign 1) or takes away (−1) a stretch.
    pub fn add(&mut self, other: &Self, sign: f64) {
        self.frames = if sign > 0.0 { self.frames + other.frames } else { self.frames - other.frames };
        self.rr += sign * other.rr;
        for (to, from) in [(&mut self.pp, &other.pp), (&mut self.rp, &other.rp)] {
            for j in 0..to.ncols() {
                (0..to.nrows()).for_each(|i| to[(i, j)] += sign * from[(i, j)]);
            }
        }
    }

    /// ‖W^½ (Φ D̂ P − R)‖² over these frames.
    pub fn squared_error(&self, detail: &Mat<f64>) -> f64 {
        let image = product(detail.as_ref(), self.pp.as_ref());
        let (rows, columns) = (detail.nrows(), detail.ncols());
        let mut sum = self.rr;
        for j in 0..columns {
            sum += (0..rows).map(|n| detail[(n, j)] * (image[(n, j)] - 2.0 * self.rp[(n, j)])).sum::<f64>();
        }
        sum.max(0.0)
    }
}

/// In double precision.
pub(crate) fn point(p: [f32; 3]) -> Vec3 {
    Vec3::from_array(p.map(f64::from))
}
