//! How much each harmonic is held back: the forms that *upsample* §3.2 compares, behind one interface.

use crate::Harmonics;

/// Γ: the weight γₙ of the n-th harmonic in ‖Γ Û‖².
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Penalty {
    /// Plain least squares (eq. 2).
    None,
    /// γₙ = α (Tikhonov).
    Identity {
        /// α
        alpha: f64,
    },
    /// γₙ = α λₙ (eq. 3 – 4).
    Laplacian {
        /// α, m²
        alpha: f64,
    },
    /// γₙ = α + β λₙ.
    Sum {
        /// α
        alpha: f64,
        /// β, m²
        beta: f64,
    },
    /// Nothing for the first ones, everything for the others.
    CutOff {
        /// How many are free.
        count: usize,
    },
    /// γₙ = a (1 + b (n − 1)/N)^c (eq. 5), N the points of the mesh.
    Profile {
        /// a
        a: f64,
        /// b
        b: f64,
        /// c
        c: f64,
    },
}

impl Penalty {
    /// The profile that begins at γ₁ and would end at γ_N.
    pub fn profile_between(first: f64, last: f64, c: f64) -> Self {
        Self::Profile { a: first, b: (last / first).powf(1.0 / c) - 1.0, c }
    }

    /// The profile for which folds of `detail` m, from crest to crest, are held back 2^c times as much as the whole.
    ///
    /// A wave of length ℓ has λ = (2π/ℓ)², and a surface of area A has about λA/(4π) functions below λ (Weyl).
    pub fn profile_for_detail(a: f64, detail: f64, c: f64, area: f64, points: usize) -> Self {
        let below = std::f64::consts::PI * area / (detail * detail);
        Self::Profile { a, b: points as f64 / below.max(1.0), c }
    }

    /// γ of each function; infinite where nothing may be learnt.
    pub fn gammas(&self, harmonics: &Harmonics) -> Vec<f64> {
        let points = harmonics.functions.nrows() as f64;
        let gamma = |n: usize| match *self {
            Self::None => 0.0,
            Self::Identity { alpha } => alpha,
            Self::Laplacian { alpha } => alpha * harmonics.values[n].max(0.0),
            Self::Sum { alpha, beta } => alpha + beta * harmonics.values[n].max(0.0),
            Self::CutOff { count } if n < count => 0.0,
            Self::CutOff { .. } => f64::INFINITY,
            Self::Profile { a, b, c } => a * (1.0 + b * n as f64 / points).powf(c),
        };
        (0..harmonics.count()).map(gamma).collect()
    }
}
