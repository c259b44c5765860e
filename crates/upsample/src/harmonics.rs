//! Harmonics of the fine mesh: what columns of an operator are written in.

use faer::Mat;
use geometry::{Mat3, Vec3, laplacian, vertex_areas};
use linear::{lowest_eigenpairs, transposed_product};

use crate::Error;

/// In which sense functions are orthonormal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Φᵀ M Φ = I with L φ = λ M φ: the first is exactly constant. Errors count by area.
    Area,
    /// QᵀQ = I with Q = M^½ Φ, the eigenvectors of M^-½ L M^-½: the paper's. Errors count by point.
    Symmetrised,
}

/// The lowest eigenfunctions of the Laplacian of a mesh at rest.
#[derive(Clone, Debug)]
pub struct Harmonics {
    /// λ, 1/m², ascending.
    pub values: Vec<f64>,
    /// A function in each column: points × functions.
    pub functions: Mat<f64>,
    /// W, so that ΦᵀWΦ = I: areas of points, or ones.
    pub weights: Vec<f64>,
    /// Of the whole mesh, m².
    pub area: f64,
    /// What W is.
    pub basis: Basis,
}

impl Harmonics {
    /// The `count` lowest, with cotangents and areas.
    pub fn new(rest: &[Vec3], triangles: &[[u32; 3]], count: usize) -> Result<Self, Error> {
        Self::with_conductance(rest, triangles, count, |_| Mat3::IDENTITY)
    }

    /// The lowest of ∫ ∇φᵀ K ∇φ = λ ∫ φ² with K of each triangle as given: where K is large, functions vary little (the paper's wish of
    /// spatially varying and anisotropic harmonics).
    pub fn with_conductance(
        rest: &[Vec3],
        triangles: &[[u32; 3]],
        count: usize,
        conductance: impl Fn(usize) -> Mat3,
    ) -> Result<Self, Error> {
        let areas = vertex_areas(rest, triangles);
        if let Some(point) = areas.iter().position(|area| area.is_nan() || *area <= 0.0) {
            return Err(Error::LoosePoint { which: "fine", point });
        }
        if count > rest.len() {
            return Err(Error::TooManyHarmonics { count, points: rest.len() });
        }
        let entries = laplacian(rest, triangles, conductance);
        let found = lowest_eigenpairs(&entries, &areas, count)?;
        let area = areas.iter().sum();
        Ok(Self { values: found.values, functions: found.vectors, weights: areas, area, basis: Basis::Area })
    }

    /// The same functions as the paper has them: Q = M^½ Φ.
    #[must_use]
    pub fn symmetrised(&self) -> Self {
        if self.basis == Basis::Symmetrised {
            return self.clone();
        }
        let (n, k) = (self.functions.nrows(), self.functions.ncols());
        Self {
            values: self.values.clone(),
            functions: Mat::from_fn(n, k, |i, j| self.weights[i].sqrt() * self.functions[(i, j)]),
            weights: vec![1.0; n],
            area: self.area,
            basis: Basis::Symmetrised,
        }
    }

    /// How many functions.
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// ΦᵀW x: a column of coefficients for each column of values.
    pub fn analyse(&self, x: &Mat<f64>) -> Mat<f64> {
        let weighted = Mat::from_fn(x.nrows(), x.ncols(), |i, j| self.weights[i] * x[(i, j)]);
        transposed_product(self.functions.as_ref(), weighted.as_ref())
    }

    /// Φ c.
    pub fn synthesise(&self, coefficients: &Mat<f64>) -> Mat<f64> {
        linear::product(self.functions.as_ref(), coefficients.as_ref())
    }
}
