//! The elastic tetrahedron: every law, with internal friction, with derivatives in closed form.

use dynamics::{Block, Element, Viscous};
use geometry::{Mat3, Svd, Vec3, least_eigenvalue, symmetric_eigen3};

use crate::material::{Curvature, Law, Moduli, PLANES};

/// A tetrahedron of constant strain.
///
/// E = V ψ(F), F = Dₛ Dₘ⁻¹ the deformation gradient, ψ a [`Law`], V the volume at rest.
///
/// Internal friction is that of Green's strain E = ½(FᵀF − 1), Kelvin and Voigt's, ½βη V ‖E − Ê‖² in the norm of the small-strain moduli:
/// at rest it is Rayleigh's βK for every law, and it never brakes rigid motion. Of flesh that hardly gives way it would brake more than that:
/// tr E is the change of volume at rest only, and where flesh is bent far it changes in motion that keeps all volumes. There friction is that of
/// a material which gives way ([`Tet::with_friction_poisson`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tet {
    /// Dₘ⁻¹; its rows are the gradients of the linear functions of points 1, 2 and 3.
    inverse: Mat3,
    volume: f64,
    law: Law,
    moduli: Moduli,
    /// β in seconds.
    friction: f64,
    /// λ of friction, in Pa.
    friction_lame: f64,
    /// βη and Ê, within a stage.
    viscosity: f64,
    past: Mat3,
}

impl Tet {
    /// A tet at rest in `rest`, of a material with Young's modulus in Pa and Poisson's ratio. `None` where it has no positive
    /// volume.
    pub fn from_young_poisson(rest: &[Vec3; 4], law: Law, young: f64, poisson: f64) -> Option<Self> {
        let edges = edges(rest);
        let volume = edges.determinant() / 6.0;
        let size = edges
            .x_axis
            .length_squared()
            .max(edges.y_axis.length_squared())
            .max(edges.z_axis.length_squared());
        if volume.is_nan() || volume <= 1e-12 * size.powf(1.5) {
            return None;
        }
        let shear = young / (2.0 * (1.0 + poisson));
        let lame = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
        Some(Self {
            inverse: edges.inverse(),
            volume,
            law,
            moduli: Moduli { shear, lame, least_stretch: Self::LEAST_STRETCH },
            friction: 1.0,
            friction_lame: lame,
            viscosity: 0.0,
            past: Mat3::ZERO,
        })
    }

    /// Below this stretch StVK goes on with a straight strain: where its push is nearly at its largest (1/√3 ≈ 0.58), so that
    /// squeezed flesh never becomes softer.
    pub const LEAST_STRETCH: f64 = 0.5;

    /// The stretch at which StVK goes over into its safe continuation. Other programs take 0.1.
    #[must_use]
    pub fn with_least_stretch(mut self, least_stretch: f64) -> Self {
        self.moduli.least_stretch = least_stretch;
        self
    }

    /// β of this tet where the engine's β ([`dynamics::Elements::damped`]) is 1 second: friction that differs from tet to tet.
    #[must_use]
    pub fn with_friction(mut self, beta: f64) -> Self {
        self.friction = beta;
        self
    }

    /// Friction as of a material of the same shear modulus with this Poisson's ratio.
    #[must_use]
    pub fn with_friction_poisson(mut self, poisson: f64) -> Self {
        self.friction_lame = 2.0 * self.moduli.shear * poisson / (1.0 - 2.0 * poisson);
        self
    }

    /// Volume at rest, in m³.
    pub fn volume(&self) -> f64 {
        self.volume
    }

    /// F.
    pub fn deformation(&self, x: &[Vec3; 4]) -> Mat3 {
        edges(x) * self.inverse
    }

    /// The largest of |σ − 1| over the principal stretches: 0.1 is a strain of ten percent.
    pub fn strain(&self, x: &[Vec3; 4]) -> f64 {
        (Svd::of(&self.deformation(x)).sigma - Vec3::ONE).abs().max_element()
    }

    /// Green's strain where no stretch is below the least one, which is nearly always: then StVK needs no singular values.
    fn plain_green(&self, f: &Mat3) -> Option<Mat3> {
        if self.law != Law::Stvk {
            return None;
        }
        let c = f.transpose() * *f;
        let least = self.moduli.least_stretch;
        let a = c - Mat3::IDENTITY * (least * least);
        // Sylvester: C − least² is positive definite, and F does not mirror
        let minor = a.x_axis.x * a.y_axis.y - a.x_axis.y * a.x_axis.y;
        let plain = a.x_axis.x > 0.0 && minor > 0.0 && a.determinant() > 0.0 && f.determinant() > 0.0;
        plain.then(|| (c - Mat3::IDENTITY) * 0.5)
    }

    /// λ tr(E) + 2μE.
    fn second_stress(&self, e: &Mat3) -> Mat3 {
        self.stress_with(e, self.moduli.lame)
    }

    fn stress_with(&self, e: &Mat3, lame: f64) -> Mat3 {
        let trace = e.x_axis.x + e.y_axis.y + e.z_axis.z;
        *e * (2.0 * self.moduli.shear) + Mat3::IDENTITY * (lame * trace)
    }

    fn quadratic_energy(&self, e: &Mat3, lame: f64) -> f64 {
        let trace = e.x_axis.x + e.y_axis.y + e.z_axis.z;
        let squares = e.x_axis.length_squared() + e.y_axis.length_squared() + e.z_axis.length_squared();
        self.moduli.shear * squares + 0.5 * lame * trace * trace
    }

    /// βη(λ tr + 2μ)(E − Ê), λ that of friction.
    fn viscous_stress(&self, f: &Mat3) -> Mat3 {
        self.stress_with(&(green(f) - self.past), self.friction_lame) * self.viscosity
    }

    /// The Hessian of StVK where no stretch is below the least one: no singular values needed.
    ///
    /// d²E/dxᵢdxⱼ = V [(gᵢ·S gⱼ) 1 + (1 + βη)(λ fᵢfⱼᵀ + μ(fⱼfᵢᵀ + (gᵢ·gⱼ) F Fᵀ))],  gᵢ the rows of Dₘ⁻¹, fᵢ = F gᵢ, S the stress.
    ///
    /// All but the first term is positive semidefinite, and so is that where S is.
    fn plain_hessian(&self, f: &Mat3, stress: &Mat3) -> Block<4> {
        let Moduli { shear, lame, .. } = self.moduli;
        let rows = self.inverse.transpose();
        let g = [rows.x_axis, rows.y_axis, rows.z_axis];
        let stiff = self.volume * (1.0 + self.viscosity);
        // nothing is added where both are the same
        let apart = self.volume * self.viscosity * (self.friction_lame - lame);
        let (shear, lame) = (stiff * shear, stiff * lame + apart);
        let moved = g.map(|g| *f * g);
        let pulled = g.map(|g| *stress * g * self.volume);
        let square = *f * f.transpose() * shear;
        let mut block = Block::ZERO;
        for i in 0..3 {
            for j in 0..=i {
                let (a, b) = (moved[i], moved[j]);
                let (straight, across) = (lame * a, shear * b);
                let mut k = square * g[i].dot(g[j]);
                k.x_axis += straight * b.x + across * a.x;
                k.y_axis += straight * b.y + across * a.y;
                k.z_axis += straight * b.z + across * a.z;
                let along = g[i].dot(pulled[j]);
                k.x_axis.x += along;
                k.y_axis.y += along;
                k.z_axis.z += along;
                block.0[i + 1][j + 1] = k;
            }
        }
        complete(&mut block);
        block
    }

    /// The Hessian, exact or projected.
    fn curved(&self, x: &[Vec3; 4], project: bool) -> Block<4> {
        let f = self.deformation(x);
        let Svd { u, sigma, v } = Svd::of(&f);
        let mut curvature = self.law.curvature(&self.moduli, sigma);
        if project {
            curvature.project();
        }
        // entry (a, b) of F in the frame of U and V: `own` is its own second derivative, `cross` that with (b, a)
        let (mut own, mut cross) = ([[0.0; 3]; 3], [[0.0; 3]; 3]);
        let mut stretches = curvature.stretches;
        for (k, (i, j)) in PLANES.into_iter().enumerate() {
            let (difference, sum) = (curvature.difference[k], curvature.sum[k]);
            (own[i][j], own[j][i]) = (0.5 * (difference + sum), 0.5 * (difference + sum));
            cross[i][j] = 0.5 * (difference - sum);
        }
        if self.viscosity > 0.0 {
            // δE = sym(Σ δF) in the same frame
            let (shear, lame) = (self.moduli.shear, self.friction_lame);
            let eta = self.viscosity;
            for i in 0..3 {
                for j in 0..3 {
                    stretches.col_mut(i)[j] += eta * lame * sigma[i] * sigma[j];
                }
                stretches.col_mut(i)[i] += 2.0 * eta * shear * sigma[i] * sigma[i];
            }
            for (i, j) in PLANES {
                own[i][j] += eta * shear * sigma[i] * sigma[i];
                own[j][i] += eta * shear * sigma[j] * sigma[j];
                cross[i][j] += eta * shear * sigma[i] * sigma[j];
            }
        }
        for (i, j) in PLANES {
            cross[j][i] = cross[i][j];
            own[i][i] = stretches.col(i)[i];
        }
        let rows = self.inverse.transpose();
        let g = [rows.x_axis, rows.y_axis, rows.z_axis];
        let vt = v.transpose();
        let h = g.map(|g| vt * g);
        let (volume, ut) = (self.volume, u.transpose());
        let mut block = Block::ZERO;
        for i in 0..3 {
            for j in 0..=i {
                let (p, q) = (h[i].to_array(), h[j].to_array());
                let mut k = Mat3::ZERO;
                for b in 0..3 {
                    let column = k.col_mut(b);
                    for a in 0..3 {
                        column[a] = if a == b {
                            own[a][0] * p[0] * q[0] + own[a][1] * p[1] * q[1] + own[a][2] * p[2] * q[2]
                        } else {
                            stretches.col(a)[b] * p[a] * q[b] + cross[a][b] * p[b] * q[a]
                        };
                    }
                }
                block.0[i + 1][j + 1] = u * (k * volume) * ut;
            }
        }
        if !project && self.viscosity > 0.0 {
            let stress = self.viscous_stress(&f);
            for i in 0..3 {
                for j in 0..=i {
                    block.0[i + 1][j + 1] += Mat3::IDENTITY * (self.volume * g[i].dot(stress * g[j]));
                }
            }
        }
        complete(&mut block);
        block
    }
}

/// As a share of the shear modulus, how much a stress may be lifted to save the singular values. The matrix is off by no more, and
/// Newton's next step smaller by this factor at least; exact clamping takes three times as long.
const LIFT: f64 = 0.1;

/// Fills in what follows by symmetry, and the first point, on which the opposite of all others acts.
fn complete(block: &mut Block<4>) {
    for i in 1..4 {
        for j in 1..i {
            block.0[j][i] = block.0[i][j].transpose();
        }
    }
    let mut corner = Mat3::ZERO;
    for j in 1..4 {
        let column = -(block.0[1][j] + block.0[2][j] + block.0[3][j]);
        block.0[0][j] = column;
        block.0[j][0] = column.transpose();
        corner -= column;
    }
    block.0[0][0] = corner;
}

impl Curvature {
    /// Sets negative eigenvalues to zero: those of the planes are at hand, those of the stretches seldom negative.
    fn project(&mut self) {
        for value in self.difference.iter_mut().chain(&mut self.sum) {
            *value = value.max(0.0);
        }
        let a = &self.stretches;
        let minor = a.x_axis.x * a.y_axis.y - a.x_axis.y * a.x_axis.y;
        if a.x_axis.x > 0.0 && minor > 0.0 && a.determinant() > 0.0 {
            return;
        }
        let (values, q) = symmetric_eigen3(a);
        self.stretches = q * Mat3::from_diagonal(values.max(Vec3::ZERO)) * q.transpose();
    }
}

impl Element<4> for Tet {
    fn value(&self, x: &[Vec3; 4]) -> f64 {
        let f = self.deformation(x);
        let mut density = match self.plain_green(&f) {
            Some(e) => self.quadratic_energy(&e, self.moduli.lame),
            None => self.law.energy(&self.moduli, Svd::of(&f).sigma),
        };
        if self.viscosity > 0.0 {
            density += self.viscosity * self.quadratic_energy(&(green(&f) - self.past), self.friction_lame);
        }
        self.volume * density
    }

    fn gradient(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        let f = self.deformation(x);
        let mut stress = match self.plain_green(&f) {
            Some(e) => f * self.second_stress(&e),
            None => {
                let svd = Svd::of(&f);
                svd.compose(self.law.stress(&self.moduli, svd.sigma))
            }
        };
        if self.viscosity > 0.0 {
            stress += f * self.viscous_stress(&f);
        }
        // column i is what acts on point i + 1
        let forces = stress * self.inverse.transpose() * self.volume;
        let [a, b, c] = [forces.x_axis, forces.y_axis, forces.z_axis];
        [-(a + b + c), a, b, c]
    }

    fn hessian(&self, x: &[Vec3; 4]) -> Block<4> {
        let f = self.deformation(x);
        match self.plain_green(&f) {
            Some(e) => self.plain_hessian(&f, &(self.second_stress(&e) + self.viscous_stress(&f))),
            None => self.curved(x, false),
        }
    }

    /// Elastic eigenvalues clamped in closed form; of friction the part that is never negative, which is all of it where a
    /// stage begins. Where StVK is pressed together only a little, its stress is lifted instead until nothing of it presses.
    fn projected_hessian(&self, x: &[Vec3; 4]) -> Block<4> {
        let f = self.deformation(x);
        if let Some(e) = self.plain_green(&f) {
            let stress = self.second_stress(&e);
            let least = least_eigenvalue(&stress);
            if least > -LIFT * self.moduli.shear {
                // and by as much as the closed form may be wrong
                let size = stress.x_axis.length() + stress.y_axis.length() + stress.z_axis.length();
                let lift = (1e-7 * size - least).max(0.0);
                return self.plain_hessian(&f, &(stress + Mat3::IDENTITY * lift));
            }
        }
        self.curved(x, true)
    }
}

impl Viscous<4> for Tet {
    fn with_viscosity(&self, eta: f64, past: &[(f64, [Vec3; 4])]) -> Self {
        let mut strain = Mat3::ZERO;
        for (weight, x) in past {
            strain += green(&self.deformation(x)) * *weight;
        }
        Self { viscosity: self.friction * eta, past: strain, ..*self }
    }
}

/// Points 1, 2 and 3 from point 0, as columns.
fn edges(x: &[Vec3; 4]) -> Mat3 {
    Mat3::from_cols(x[1] - x[0], x[2] - x[0], x[3] - x[0])
}

/// ½(FᵀF − 1).
fn green(f: &Mat3) -> Mat3 {
    (f.transpose() * *f - Mat3::IDENTITY) * 0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use dynamics::{check_derivatives, check_element, check_viscosity, random_rotation};

    const REST: [Vec3; 4] = [
        Vec3::new(0.1, 0.0, 0.0),
        Vec3::new(1.0, 0.1, 0.0),
        Vec3::new(0.2, 0.9, 0.1),
        Vec3::new(0.0, 0.2, 1.1),
    ];
    const LAWS: [Law; 3] = [Law::Stvk, Law::Corotational, Law::NeoHookean];

    fn tet(law: Law) -> Tet {
        Tet::from_young_poisson(&REST, law, 3e4, 0.4).unwrap()
    }

    #[test]
    fn every_law_is_an_element() {
        for law in LAWS {
            check_element(&tet(law), &REST);
            check_viscosity(&tet(law), &REST);
            check_viscosity(&tet(law).with_friction_poisson(0.1), &REST);
        }
    }

    /// Squeezed, flattened and turned inside out: where most materials give up.
    #[test]
    fn derivatives_hold_under_inversion() {
        for law in LAWS {
            for (seed, sigma) in [
                Vec3::new(1.2, 0.9, 0.2),
                Vec3::new(1.1, 0.8, -0.3),
                Vec3::new(0.4, 0.3, 0.2),
                Vec3::new(2.0, 0.7, 0.01),
            ]
            .into_iter()
            .enumerate()
            {
                let f = random_rotation(seed as u64 + 1)
                    * Mat3::from_diagonal(sigma)
                    * random_rotation(seed as u64 + 7);
                check_derivatives(&tet(law), &REST.map(|p| f * p));
            }
        }
    }

    /// An inverted tet is pushed back out: stepping against the gradient brings its volume back.
    #[test]
    fn inverted_tets_come_back() {
        for law in LAWS {
            let tet = tet(law);
            let mut x = REST;
            // the last point through the face of the others
            x[3] -= 1.6 * (x[3] - (x[0] + x[1] + x[2]) / 3.0);
            assert!(tet.deformation(&x).determinant() < 0.0);
            for _ in 0..4000 {
                let g = tet.gradient(&x);
                for i in 0..4 {
                    x[i] -= 2e-6 * g[i];
                }
            }
            assert!(
                tet.deformation(&x).determinant() > 0.9,
                "{law:?}: {}",
                tet.deformation(&x).determinant()
            );
        }
    }

    /// Small strain: uniaxial tension with free sides gives Young's modulus and Poisson's ratio.
    #[test]
    fn small_strain_has_the_given_modulus() {
        let (strain, poisson) = (1e-6, 0.4);
        let stretch = Vec3::new(1.0 + strain, 1.0 - poisson * strain, 1.0 - poisson * strain);
        for law in LAWS {
            let tet = tet(law);
            let stress = law.stress(&tet.moduli, stretch);
            assert!((stress.x / strain / 3e4 - 1.0).abs() < 1e-5, "{law:?}");
            assert!(
                (stress.y / strain / 3e4).abs() < 1e-5 && (stress.z / strain / 3e4).abs() < 1e-5,
                "{law:?}"
            );
        }
    }

    #[test]
    fn flat_and_inverted_rest_shapes_are_refused() {
        let mirrored = REST.map(|p| Vec3::new(-p.x, p.y, p.z));
        assert!(Tet::from_young_poisson(&mirrored, Law::Stvk, 1.0, 0.3).is_none());
        let flat = REST.map(|p| Vec3::new(p.x, p.y, 0.0));
        assert!(Tet::from_young_poisson(&flat, Law::Stvk, 1.0, 0.3).is_none());
    }

    #[test]
    fn tets_of_any_size_have_a_volume() {
        for size in [1e-4, 1e-2, 1.0, 1e3] {
            let tet = Tet::from_young_poisson(&REST.map(|p| size * p), Law::Stvk, 1e4, 0.4).expect("a tet");
            let volume = tet.volume() / size.powi(3);
            assert!((volume - edges(&REST).determinant() / 6.0).abs() < 1e-12, "{size}: {volume}");
        }
    }

    /// Green's strain alone is asked where all stretches are above the least one, and nowhere else: against singular values.
    #[test]
    fn the_plain_case_is_told_by_minors() {
        let tet = tet(Law::Stvk);
        let mut random = geometry::Random::new(12);
        let mut count = [0, 0];
        for _ in 0..2000 {
            let sigma = Vec3::splat(0.6) + 0.5 * random.vec3();
            let f = random.rotation() * Mat3::from_diagonal(sigma) * random.rotation();
            let least = sigma.min_element();
            if (least - Tet::LEAST_STRETCH).abs() > 1e-6 {
                let is_plain = least > Tet::LEAST_STRETCH;
                assert_eq!(tet.plain_green(&f).is_some(), is_plain, "{sigma}");
                count[usize::from(is_plain)] += 1;
            }
        }
        assert!(count[0] > 200 && count[1] > 200, "{count:?}");
    }

    /// Pressed together a little, the stress is lifted until nothing presses: H gains V·lift‖∇u‖².
    #[test]
    fn a_little_pressure_is_lifted() {
        let tet = tet(Law::Stvk);
        let x = REST.map(|p| 0.9999 * p);
        let e = 0.5 * (0.9999_f64 * 0.9999 - 1.0);
        let least = (3.0 * tet.moduli.lame + 2.0 * tet.moduli.shear) * e;
        let lift = 3.0 * 1e-7 * least.abs() - least;
        let (exact, projected) = (tet.hessian(&x), tet.projected_hessian(&x));
        let mut random = geometry::Random::new(4);
        for _ in 0..8 {
            let u: [Vec3; 4] = std::array::from_fn(|_| random.vec3());
            let times = |block: &Block<4>| -> f64 {
                let product = block.multiply(&u);
                (0..4).map(|i| u[i].dot(product[i])).sum()
            };
            let slope = tet.deformation(&u);
            let square =
                slope.x_axis.length_squared() + slope.y_axis.length_squared() + slope.z_axis.length_squared();
            let (gained, expected) = (times(&projected) - times(&exact), tet.volume() * lift * square);
            assert!((gained / expected - 1.0).abs() < 1e-4, "{gained} {expected}");
        }
    }

    /// Negative eigenvalues of the stretches become zero, the others stay.
    #[test]
    fn curvature_is_projected_by_its_eigenvalues() {
        let mut random = geometry::Random::new(30);
        for _ in 0..300 {
            let (values, turn) = (random.vec3(), random.rotation());
            let of = |values: Vec3| turn * Mat3::from_diagonal(values) * turn.transpose();
            let mut curvature = Curvature {
                stretches: of(values),
                difference: random.vec3().to_array(),
                sum: random.vec3().to_array(),
            };
            curvature.project();
            assert!(curvature.stretches.abs_diff_eq(of(values.max(Vec3::ZERO)), 1e-9), "{values}");
            assert!(curvature.difference.iter().chain(&curvature.sum).all(|value| *value >= 0.0));
        }
    }
}
