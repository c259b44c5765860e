//! A skin that does not show the cells it rides in.
//!
//! Between the points of a tet displacement is linear, and a skin that is carried so has an edge wherever it goes from one tet to the
//! next: in a crease, where cells are bent most, it is ragged. Half of it is carried by the tet instead, and half by what the tets around
//! each of its corners do in the mean,
//!
//! ```text
//! x(p) = ½ Σ λᵢ xᵢ + ½ Σ λᵢ ( xᵢ + Fᵢ (p − pᵢ) ),    Fᵢ = Σₜ wₜ Fₜ / Σₜ wₜ,
//! ```
//!
//! λ the weights of p in its tet, Fₜ deformation gradients of tets, w the volume of them that is inside of the skin (James 2020, "Phong
//! deformation"). Continuous, exact for linear maps, and nearly so for quadratic ones.

use geometry::{Mat3, Vec3};

use crate::flesh::Flesh;

/// A skin that is carried by its cells and by the means of what is around their corners.
#[derive(Clone, Debug)]
pub struct SmoothSkin {
    corners: Vec<[u32; 4]>,
    weights: Vec<[f64; 4]>,
    /// p.
    points: Vec<Vec3>,
    /// Tets of the finest level, each with the inverse of its edges at rest and its share in the mean.
    tets: Vec<([u32; 4], Mat3, f64)>,
    /// At rest.
    places: Vec<Vec3>,
}

impl SmoothSkin {
    /// The skin of this flesh, whose points are at `points` at rest.
    pub fn new(flesh: &Flesh, points: &[Vec3]) -> Self {
        let mesh = flesh.hierarchy.mesh();
        let embedding = &flesh.embedding;
        let volumes = mesh.volumes();
        let tet = |piece: &crate::flesh::Piece| {
            let index = piece.tet as usize;
            let [a, b, c, d] = mesh.corners(index);
            let inverse = Mat3::from_cols(b - a, c - a, d - a).inverse();
            // slivers that a bone has left behind say nothing
            inverse.is_finite().then_some((mesh.tets()[index], inverse, volumes[index] * piece.part))
        };
        Self {
            corners: embedding.corners().to_vec(),
            weights: embedding.weights().to_vec(),
            points: points.to_vec(),
            tets: flesh.pieces.iter().filter_map(tet).collect(),
            places: mesh.points().to_vec(),
        }
    }

    /// Where its points are while the points of the finest level are at `x`, as [`Flesh::points`] has them.
    pub fn surface(&self, x: &[Vec3]) -> Vec<Vec3> {
        let mut means = vec![(Mat3::ZERO, 0.0); self.places.len()];
        for (corners, inverse, weight) in &self.tets {
            let [a, b, c, d] = corners.map(|p| x[p as usize]);
            let part = Mat3::from_cols(b - a, c - a, d - a) * *inverse * *weight;
            for &p in corners {
                let mean = &mut means[p as usize];
                *mean = (mean.0 + part, mean.1 + *weight);
            }
        }
        let carried = self.corners.iter().zip(&self.weights).zip(&self.points);
        let place = |((corners, weights), p): ((&[u32; 4], &[f64; 4]), &Vec3)| {
            // next to slivers alone nothing is known of the mean
            let share = if corners.iter().all(|&v| means[v as usize].1 > 0.0) { 0.5 } else { 0.0 };
            let parts = corners.iter().zip(weights).map(|(&v, &weight)| {
                let v = v as usize;
                let (sum, total) = means[v];
                weight * (x[v] + share * (sum * (*p - self.places[v]) / total.max(f64::MIN_POSITIVE)))
            });
            parts.sum()
        };
        carried.map(place).collect()
    }
}
