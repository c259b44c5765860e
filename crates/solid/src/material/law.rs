//! What solids are made of: energy densities of the principal stretches.
//!
//! An isotropic energy depends on the deformation gradient F = U diag(σ) Vᵀ through σ alone. In the frame of U and V its
//! second derivative falls apart into one 3×3 block for the stretches and three 2×2 blocks for the planes between them,
//! with eigenvalues in closed form (Smith, de Goes & Kim 2019): projecting it costs next to nothing.

use geometry::{Mat3, Vec3};

/// How stress grows with strain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Law {
    /// St. Venant–Kirchhoff, safe under inversion: stress in proportion to Green's strain. What the *enrich* paper uses.
    #[default]
    Stvk,
    /// Linear elasticity in a frame that turns with each tet: softer in tension than `stvk`.
    Corotational,
    /// Stable neo-Hookean: keeps volume under any load, as flesh does.
    NeoHookean,
}

/// Lamé's constants of small strain, in Pa, and where StVK goes over into its safe continuation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moduli {
    /// μ.
    pub(crate) shear: f64,
    /// λ.
    pub(crate) lame: f64,
    /// Below this stretch Green's strain of StVK goes on linearly.
    pub(crate) least_stretch: f64,
}

/// Second derivatives in the frame of the principal stretches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curvature {
    /// ∂²ψ/∂σᵢ∂σⱼ.
    pub(crate) stretches: Mat3,
    /// (ψᵢ − ψⱼ)/(σᵢ − σⱼ) for the planes (1,2), (2,0), (0,1).
    pub(crate) difference: [f64; 3],
    /// (ψᵢ + ψⱼ)/(σᵢ + σⱼ) for the same planes.
    pub(crate) sum: [f64; 3],
}

/// The two other axes of a plane.
pub(crate) const PLANES: [(usize, usize); 3] = [(1, 2), (2, 0), (0, 1)];

/// σᵢ + σⱼ is taken to be at least this: at a crease of the energy the quotient has no value, and a step needs one.
const LEAST_SUM: f64 = 1e-6;

impl Law {
    /// ψ(σ), in J/m³; zero at rest.
    pub(crate) fn energy(self, m: &Moduli, s: Vec3) -> f64 {
        match self {
            Self::Stvk => {
                let e = s.to_array().map(|s| m.strain(s).0);
                let trace: f64 = e.iter().sum();
                m.shear * e.iter().map(|e| e * e).sum::<f64>() + 0.5 * m.lame * trace * trace
            }
            Self::Corotational => {
                let e = s - Vec3::ONE;
                let trace = e.element_sum();
                m.shear * e.length_squared() + 0.5 * m.lame * trace * trace
            }
            Self::NeoHookean => {
                let Stable { shear, lame, alpha } = Stable::of(m);
                let (i, j) = (s.length_squared(), s.element_product());
                let volume = |j: f64| 0.5 * lame * (j - alpha) * (j - alpha);
                let shape = 0.5 * shear * (i - 3.0 - ((i + 1.0) / 4.0).ln());
                shape + volume(j) - volume(1.0)
            }
        }
    }

    /// ∂ψ/∂σ, in Pa.
    pub(crate) fn stress(self, m: &Moduli, s: Vec3) -> Vec3 {
        match self {
            Self::Stvk => {
                let e = s.to_array().map(|s| m.strain(s));
                let trace = e[0].0 + e[1].0 + e[2].0;
                Vec3::from_array(e.map(|(e, slope)| slope * (2.0 * m.shear * e + m.lame * trace)))
            }
            Self::Corotational => {
                let e = s - Vec3::ONE;
                2.0 * m.shear * e + m.lame * e.element_sum()
            }
            Self::NeoHookean => {
                let Stable { shear, lame, alpha } = Stable::of(m);
                let (i, j) = (s.length_squared(), s.element_product());
                shear * (1.0 - 1.0 / (i + 1.0)) * s + lame * (j - alpha) * areas(s)
            }
        }
    }

    /// All second derivatives, exact.
    pub(crate) fn curvature(self, m: &Moduli, s: Vec3) -> Curvature {
        let stress = self.stress(m, s);
        let sum = PLANES.map(|(i, j)| (stress[i] + stress[j]) / (s[i] + s[j]).max(LEAST_SUM));
        match self {
            Self::Stvk => {
                let e = s.to_array().map(|s| m.strain(s));
                let trace = e[0].0 + e[1].0 + e[2].0;
                let mut stretches = Mat3::ZERO;
                for i in 0..3 {
                    let (strain, slope) = e[i];
                    for j in 0..3 {
                        stretches.col_mut(i)[j] = m.lame * slope * e[j].1;
                    }
                    let bend = if s[i] > m.least_stretch { 1.0 } else { 0.0 };
                    stretches.col_mut(i)[i] +=
                        2.0 * m.shear * slope * slope + bend * (2.0 * m.shear * strain + m.lame * trace);
                }
                let difference = PLANES.map(|(i, j)| {
                    let ((ei, di), (ej, dj)) = (e[i], e[j]);
                    let free = |k: usize| s[k] > m.least_stretch;
                    match (free(i), free(j)) {
                        // σe(σ) is a cubic: its divided difference has no small denominator
                        (true, true) => {
                            let squares = s[i] * s[i] + s[i] * s[j] + s[j] * s[j];
                            m.lame * trace + m.shear * (squares - 1.0)
                        }
                        (false, false) => 2.0 * m.shear * di * dj,
                        _ => {
                            let gap = s[i] - s[j];
                            let gap = if gap.abs() < 1e-9 { 1e-9_f64.copysign(gap) } else { gap };
                            (m.lame * trace * (di - dj) + 2.0 * m.shear * (di * ei - dj * ej)) / gap
                        }
                    }
                });
                Curvature { stretches, difference, sum }
            }
            Self::Corotational => {
                let ones = Mat3::from_cols(Vec3::ONE, Vec3::ONE, Vec3::ONE);
                let stretches = ones * m.lame + Mat3::IDENTITY * (2.0 * m.shear);
                Curvature { stretches, difference: [2.0 * m.shear; 3], sum }
            }
            Self::NeoHookean => {
                let Stable { shear, lame, alpha } = Stable::of(m);
                let (i, j, area) = (s.length_squared(), s.element_product(), areas(s));
                let (plain, bend) = (shear * (1.0 - 1.0 / (i + 1.0)), 2.0 * shear / ((i + 1.0) * (i + 1.0)));
                let pressure = lame * (j - alpha);
                let mut stretches = Mat3::IDENTITY * plain;
                for a in 0..3 {
                    for b in 0..3 {
                        let volume = lame * area[a] * area[b];
                        let third = if a == b { 0.0 } else { pressure * s[3 - a - b] };
                        stretches.col_mut(a)[b] += bend * s[a] * s[b] + volume + third;
                    }
                }
                let difference = [0, 1, 2].map(|k| plain - pressure * s[k]);
                let sum = [0, 1, 2].map(|k| plain + pressure * s[k]);
                Curvature { stretches, difference, sum }
            }
        }
    }
}

impl Moduli {
    /// Green's strain of one stretch and its slope: (σ² − 1)/2 down to the least stretch, from there on straight, so that the
    /// push of a flattened or inverted tet grows instead of vanishing. Irving et al. 2004, §5. Differs: strain goes on
    /// straight, not stress, which keeps an energy behind it.
    fn strain(&self, s: f64) -> (f64, f64) {
        let least = self.least_stretch;
        if s > least {
            (0.5 * (s * s - 1.0), s)
        } else {
            (0.5 * (least * least - 1.0) + least * (s - least), least)
        }
    }
}

/// The constants of the stable neo-Hookean energy that agree with Lamé's at small strain. Smith et al. 2018, §3.4.
struct Stable {
    shear: f64,
    lame: f64,
    alpha: f64,
}

impl Stable {
    fn of(m: &Moduli) -> Self {
        let (shear, lame) = (4.0 / 3.0 * m.shear, m.lame + 5.0 / 6.0 * m.shear);
        Self { shear, lame, alpha: 1.0 + 0.75 * shear / lame }
    }
}

/// ∂(σ₁σ₂σ₃)/∂σ.
fn areas(s: Vec3) -> Vec3 {
    Vec3::new(s.y * s.z, s.z * s.x, s.x * s.y)
}
