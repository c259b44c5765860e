//! How good a fine cloth is, beside the one that was simulated.

use std::ops::Range;

use faer::{Mat, MatRef};
use geometry::{Prolongation, Vec3, vertex_normals};
use linear::{product, transposed_product};
use rayon::prelude::*;

use crate::moments::point;
use crate::{Base, Harmonics, Pairs};

/// A fine cloth beside the one it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// RMS distance over area and frames, m.
    pub rms: f64,
    /// RMS angle between normals, degrees.
    pub normal_deg: f64,
    /// Energy of the coefficients in the middle band over that of the true cloth's.
    pub band_energy: f64,
}

/// RMS distance of points, weighted by area, over frames.
pub fn rms_distance(found: &[Vec<[f32; 3]>], truth: &[Vec<[f32; 3]>], weights: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (found, truth) in found.iter().zip(truth) {
        for ((a, b), w) in found.iter().zip(truth).zip(weights) {
            sum += w * point(*a).distance_squared(point(*b));
        }
    }
    (sum / (weights.iter().sum::<f64>() * found.len().max(1) as f64)).sqrt()
}

/// RMS angle between normals at points, weighted by area, over frames; degrees.
pub fn normal_error_deg(
    found: &[Vec<[f32; 3]>],
    truth: &[Vec<[f32; 3]>],
    triangles: &[[u32; 3]],
    weights: &[f64],
) -> f64 {
    let normals = |points: &[[f32; 3]]| {
        let points: Vec<Vec3> = points.iter().map(|p| point(*p)).collect();
        vertex_normals(&points, triangles)
    };
    let mut sum = 0.0;
    for (found, truth) in found.iter().zip(truth) {
        for ((a, b), w) in normals(found).iter().zip(normals(truth)).zip(weights) {
            sum += w * a.angle_between(b).to_degrees().powi(2);
        }
    }
    (sum / (weights.iter().sum::<f64>() * found.len().max(1) as f64)).sqrt()
}

/// Energy Σ‖φₙᵀM x‖² of the functions in `band`, over frames, of a cloth over that of the truth.
pub fn band_energy(
    found: &[Vec<[f32; 3]>],
    truth: &[Vec<[f32; 3]>],
    harmonics: &Harmonics,
    band: Range<usize>,
) -> f64 {
    let band = Band::new(harmonics, band);
    let energy = |frames: &[Vec<[f32; 3]>]| -> f64 {
        frames.chunks(BATCH).map(|frames| squares(&band.analyse(harmonics, frames))).sum()
    };
    energy(found) / energy(truth)
}

/// What is compared with the true cloth.
#[derive(Clone, Copy, Debug)]
pub enum Shown<'a> {
    /// Fine points of every frame.
    Frames(&'a [Vec<[f32; 3]>]),
    /// A base alone.
    Base(Base<'a>),
}

/// All three measures of one; `None` compares the base alone.
pub fn compare(
    found: Option<&[Vec<[f32; 3]>]>,
    base: Base<'_>,
    pairs: &Pairs,
    triangles: &[[u32; 3]],
    harmonics: &Harmonics,
    band: Range<usize>,
) -> Comparison {
    let shown = found.map_or(Shown::Base(base), Shown::Frames);
    compare_all(&[shown], pairs, triangles, harmonics, band)[0]
}

/// All three measures of several, the true cloth looked at once: its normals and harmonics are most of the work.
pub fn compare_all(
    shown: &[Shown<'_>],
    pairs: &Pairs,
    triangles: &[[u32; 3]],
    harmonics: &Harmonics,
    band: Range<usize>,
) -> Vec<Comparison> {
    let band = Band::new(harmonics, band);
    // of a base, harmonics are those of its weights times the coarse points
    let seen: Vec<Option<Mat<f64>>> = shown
        .iter()
        .map(|shown| match shown {
            Shown::Base(Base::Subdivision(rows)) => Some(band.analyse_rows(harmonics, rows)),
            _ => None,
        })
        .collect();
    let work = Work { shown, seen: &seen, pairs, triangles, harmonics, band };
    let starts: Vec<usize> = (0..pairs.len()).step_by(BATCH).collect();
    let batches: Vec<Sums> =
        starts.into_par_iter().map(|start| work.batch(start..(start + BATCH).min(pairs.len()))).collect();
    let total = batches.into_iter().fold(Sums::none(shown.len()), Sums::and);
    let scale = harmonics.weights.iter().sum::<f64>() * pairs.len().max(1) as f64;
    let measures = |[squared, angle, energy]: [f64; 3]| Comparison {
        rms: (squared / scale).sqrt(),
        normal_deg: (angle / scale).sqrt(),
        band_energy: energy / total.truth,
    };
    total.shown.iter().copied().map(measures).collect()
}

/// Frames that are looked at at once.
const BATCH: usize = 16;

/// Squared distance, squared angle and energy of each cloth, and the energy of the true one.
struct Sums {
    shown: Vec<[f64; 3]>,
    truth: f64,
}

impl Sums {
    fn none(count: usize) -> Self {
        Self { shown: vec![[0.0; 3]; count], truth: 0.0 }
    }

    fn and(mut self, other: Self) -> Self {
        self.shown.as_flattened_mut().iter_mut().zip(other.shown.as_flattened()).for_each(|(a, b)| *a += b);
        self.truth += other.truth;
        self
    }
}

struct Work<'a> {
    shown: &'a [Shown<'a>],
    seen: &'a [Option<Mat<f64>>],
    pairs: &'a Pairs,
    triangles: &'a [[u32; 3]],
    harmonics: &'a Harmonics,
    band: Band<'a>,
}

impl Work<'_> {
    fn batch(&self, frames: Range<usize>) -> Sums {
        let (pairs, weights) = (self.pairs, &self.harmonics.weights);
        let truth = &pairs.fine[frames.clone()];
        let coarse = &pairs.coarse[frames.clone()];
        let normals: Vec<Vec<Vec3>> = truth.iter().map(|points| self.normals(points)).collect();
        let mut sums = Sums::none(self.shown.len());
        sums.truth = squares(&self.band.analyse(self.harmonics, truth));
        for ((shown, seen), sum) in self.shown.iter().zip(self.seen).zip(&mut sums.shown) {
            let made: Vec<Vec<[f32; 3]>>;
            let found = match shown {
                Shown::Frames(found) => &found[frames.clone()],
                Shown::Base(base) => {
                    made = coarse.iter().map(|p| base_frame(*base, p, weights.len())).collect();
                    &made
                }
            };
            for ((points, truth), normals) in found.iter().zip(truth).zip(&normals) {
                for (((a, b), (n, m)), w) in
                    points.iter().zip(truth).zip(self.normals(points).iter().zip(normals)).zip(weights)
                {
                    sum[0] += w * point(*a).distance_squared(point(*b));
                    sum[1] += w * n.angle_between(*m).to_degrees().powi(2);
                }
            }
            sum[2] = squares(&match seen {
                Some(rows) => product(rows.as_ref(), columns(coarse, &[]).as_ref()),
                None => self.band.analyse(self.harmonics, found),
            });
        }
        sums
    }

    fn normals(&self, points: &[[f32; 3]]) -> Vec<Vec3> {
        let points: Vec<Vec3> = points.iter().map(|p| point(*p)).collect();
        vertex_normals(&points, self.triangles)
    }
}

/// Some of the functions.
struct Band<'a>(MatRef<'a, f64>);

impl<'a> Band<'a> {
    fn new(harmonics: &'a Harmonics, band: Range<usize>) -> Self {
        let end = band.end.min(harmonics.count());
        let start = band.start.min(end);
        Self(harmonics.functions.as_ref().subcols(start, end - start))
    }

    /// ΦᵀW x, three columns for each frame.
    fn analyse(&self, harmonics: &Harmonics, frames: &[Vec<[f32; 3]>]) -> Mat<f64> {
        transposed_product(self.0, columns(frames, &harmonics.weights).as_ref())
    }

    /// ΦᵀW S.
    fn analyse_rows(&self, harmonics: &Harmonics, rows: &Prolongation) -> Mat<f64> {
        let mut seen = Mat::<f64>::zeros(self.0.ncols(), rows.coarse_count());
        for i in 0..rows.fine_count() {
            for (j, weight) in rows.row(i) {
                let weight = weight * harmonics.weights[i];
                (0..self.0.ncols()).for_each(|n| seen[(n, j as usize)] += weight * self.0[(i, n)]);
            }
        }
        seen
    }
}

/// Points of frames, a column for each axis, times weights where there are any.
fn columns(frames: &[Vec<[f32; 3]>], weights: &[f64]) -> Mat<f64> {
    let points = frames.first().map_or(0, Vec::len);
    let weight = |i: usize| weights.get(i).copied().unwrap_or(1.0);
    Mat::from_fn(points, 3 * frames.len(), |i, c| weight(i) * f64::from(frames[c / 3][i][c % 3]))
}

fn squares(x: &Mat<f64>) -> f64 {
    x.squared_norm_l2()
}

/// The base alone.
fn base_frame(base: Base<'_>, coarse: &[[f32; 3]], fine: usize) -> Vec<[f32; 3]> {
    let coarse: Vec<Vec3> = coarse.iter().map(|p| point(*p)).collect();
    base.apply(&coarse, fine).iter().map(|p| p.as_vec3().to_array()).collect()
}
