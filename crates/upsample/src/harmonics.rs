//! Harmonics of the fine mesh: what columns of an operator are written in.

use faer::Mat;
use geometry::{Mat3, Vec3, laplacian, vertex_areas};
use linear::{lowest_eigenpairs, product, symmetric_eigen, transposed_product};

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
    /// ∫ 1/√det K, m²: the area by which functions below some λ are counted (Weyl); that of the mesh where K is one.
    pub room: f64,
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
        let entries = laplacian(rest, triangles, &conductance);
        let found = lowest_eigenpairs(&entries, &areas, count)?;
        let area = areas.iter().sum();
        let room = (0..triangles.len()).map(|t| room(rest, triangles[t], conductance(t))).sum();
        let (values, functions) = (found.values, found.vectors);
        Ok(Self { values, functions, weights: areas, area, room, basis: Basis::Area })
    }

    /// These, the first `held` of which stay, with others that `painted` would have in the place of the rest: the lowest of its energy among
    /// what is square to those that stay. So what tracking holds is held, and folds are learnt where the paint wants them. Both are of
    /// `rest` and `triangles`; `conductance` is that of `painted`.
    pub fn painted_beyond(
        &self,
        held: usize,
        painted: &Self,
        rest: &[Vec3],
        triangles: &[[u32; 3]],
        conductance: impl Fn(usize) -> Mat3,
    ) -> Result<Self, Error> {
        let held = held.min(self.count());
        let kept = self.functions.as_ref().subcols(0, held);
        // those of the paint without their parts in what stays; the directions that are left of them, made orthonormal
        let shared = self.analyse(&painted.functions);
        let mut beyond = painted.functions.clone();
        beyond -= product(kept, shared.as_ref().subrows(0, held));
        let weighted = Mat::from_fn(beyond.nrows(), beyond.ncols(), |i, j| self.weights[i] * beyond[(i, j)]);
        let (sizes, ways) = symmetric_eigen(transposed_product(beyond.as_ref(), weighted.as_ref()).as_ref())?;
        let lost = held.min(sizes.len());
        let count = sizes.len() - lost;
        let scaled = Mat::from_fn(sizes.len(), count, |i, j| ways[(i, lost + j)] / sizes[lost + j].sqrt());
        let beyond = product(beyond.as_ref(), scaled.as_ref());
        // ordered by the energy of the paint
        let image = symmetric_product(&laplacian(rest, triangles, conductance), &beyond);
        let (values, turn) = symmetric_eigen(transposed_product(beyond.as_ref(), image.as_ref()).as_ref())?;
        let beyond = product(beyond.as_ref(), turn.as_ref());
        let column = |i: usize, k: usize| if k < held { kept[(i, k)] } else { beyond[(i, k - held)] };
        Ok(Self {
            values: self.values[..held].iter().copied().chain(values).collect(),
            functions: Mat::from_fn(beyond.nrows(), held + count, column),
            room: painted.room,
            ..self.clone()
        })
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
            room: self.room,
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
        product(self.functions.as_ref(), coefficients.as_ref())
    }
}

/// A triangle's area over the root of its conductance's determinant, in its plane.
fn room(rest: &[Vec3], triangle: [u32; 3], conductance: Mat3) -> f64 {
    let [a, b, c] = triangle.map(|v| rest[v as usize]);
    let across = (b - a).cross(c - a);
    let Some(u) = (b - a).try_normalize() else { return 0.0 };
    let v = across.normalize_or_zero().cross(u);
    let (ku, kv) = (conductance * u, conductance * v);
    let determinant = u.dot(ku) * v.dot(kv) - u.dot(kv) * v.dot(ku);
    if determinant > 0.0 { 0.5 * across.length() / determinant.sqrt() } else { 0.0 }
}

/// A symmetric matrix, its lower triangle given as entries that are to be summed, times columns.
fn symmetric_product(lower: &[(u32, u32, f64)], x: &Mat<f64>) -> Mat<f64> {
    let mut image = Mat::<f64>::zeros(x.nrows(), x.ncols());
    for k in 0..x.ncols() {
        for &(row, column, value) in lower {
            let (i, j) = (row as usize, column as usize);
            image[(i, k)] += value * x[(j, k)];
            if i != j {
                image[(j, k)] += value * x[(i, k)];
            }
        }
    }
    image
}
