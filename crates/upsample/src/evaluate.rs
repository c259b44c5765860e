//! How good a fine cloth is, beside the one that was simulated.

use faer::Mat;
use geometry::{Vec3, vertex_normals};

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
    band: std::ops::Range<usize>,
) -> f64 {
    let energy = |frames: &[Vec<[f32; 3]>]| -> f64 {
        let mut sum = 0.0;
        for points in frames {
            let x = Mat::from_fn(points.len(), 3, |i, axis| f64::from(points[i][axis]));
            let c = harmonics.analyse(&x);
            for n in band.clone().filter(|n| *n < c.nrows()) {
                sum += (0..3).map(|axis| c[(n, axis)].powi(2)).sum::<f64>();
            }
        }
        sum
    };
    energy(found) / energy(truth)
}

/// The base alone, frame by frame.
pub(crate) fn base_frames(base: Base<'_>, pairs: &Pairs) -> Vec<Vec<[f32; 3]>> {
    let frame = |(coarse, fine): (&Vec<[f32; 3]>, &Vec<[f32; 3]>)| {
        let coarse: Vec<Vec3> = coarse.iter().map(|p| point(*p)).collect();
        base.apply(&coarse, fine.len()).iter().map(|p| p.as_vec3().to_array()).collect()
    };
    pairs.coarse.iter().zip(&pairs.fine).map(frame).collect()
}

/// All three measures of a fine cloth; `None` compares the base alone.
pub fn compare(
    found: Option<&[Vec<[f32; 3]>]>,
    base: Base<'_>,
    pairs: &Pairs,
    triangles: &[[u32; 3]],
    harmonics: &Harmonics,
    band: std::ops::Range<usize>,
) -> Comparison {
    let smooth;
    let found = match found {
        Some(found) => found,
        None => {
            smooth = base_frames(base, pairs);
            &smooth
        }
    };
    Comparison {
        rms: rms_distance(found, &pairs.fine, &harmonics.weights),
        normal_deg: normal_error_deg(found, &pairs.fine, triangles, &harmonics.weights),
        band_energy: band_energy(found, &pairs.fine, harmonics, band),
    }
}
