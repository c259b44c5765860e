//! Stretching and shearing in the plane of the cloth: constant-strain triangles with warp and weft.

use dynamics::{Block, Element, InternalVariables, Viscous};
use geometry::{Mat3, Vec2, Vec3};

use crate::resizing::Resizable;

/// How much a sheet resists being deformed in its plane, in newtons per metre of width.
///
/// With Green strain E in thread directions (u warp, v weft) the energy per rest area is
///
/// ψ = ½ (k_warp E_uu² + k_weft E_vv² + 2 k_cross E_uu E_vv + k_shear (2E_uv)²)
///
/// so `warp` is the tension per width and strain when the weft cannot narrow, and `shear` the shear force per width and
/// radian. A strip whose sides are free answers with `warp − cross²/weft`. The energy is positive when
/// `warp`, `weft`, `shear` > 0 and `cross`² < `warp` · `weft`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MembraneStiffness {
    /// k_warp, in N/m.
    pub warp: f64,
    /// k_weft, in N/m.
    pub weft: f64,
    /// k_cross, in N/m: how much stretching one thread tightens the other.
    pub cross: f64,
    /// k_shear, in N/m.
    pub shear: f64,
    /// How much of `warp` and `weft` is left when the threads are pushed together, from 0 to 1: cloth buckles in waves far
    /// smaller than any triangle, and a triangle that cannot fold must not be stiffer than the cloth it stands for. The part
    /// that `cross` ties together always stays.
    pub compression: f64,
}

impl MembraneStiffness {
    /// Second Piola–Kirchhoff stress, in N/m, of a Green strain (warp, weft, shear) that is `at_rest` where nothing pulls; `lost` is what
    /// of the threads' stiffness is missing where they are pushed together.
    pub(crate) fn stress(&self, strain: Vec3, at_rest: Vec3, lost: Vec2) -> Stress {
        let Vec3 { x: uu, y: vv, z: gamma } = strain - at_rest;
        let lost = lost * Vec2::new(strain.x, strain.y).min(Vec2::ZERO);
        Stress {
            uu: self.warp * uu + self.cross * vv - lost.x,
            vv: self.weft * vv + self.cross * uu - lost.y,
            uv: self.shear * gamma,
        }
    }

    /// A sheet alike in all directions, from Young's modulus times thickness (N/m) and Poisson's ratio ν:
    /// k_warp = k_weft = Et/(1−ν²), k_cross = ν k_warp, k_shear = Et/(2(1+ν)).
    pub fn isotropic(young_times_thickness: f64, poisson: f64) -> Self {
        let k = young_times_thickness / (1.0 - poisson * poisson);
        Self { warp: k, weft: k, cross: poisson * k, shear: 0.5 * (1.0 - poisson) * k, compression: 1.0 }
    }

    /// All four multiplied by `factor`.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self {
            warp: factor * self.warp,
            weft: factor * self.weft,
            cross: factor * self.cross,
            shear: factor * self.shear,
            compression: self.compression,
        }
    }

    /// What warp and weft lose under compression: (1 − compression)(k_warp − k_cross √(k_warp/k_weft)), and the same for
    /// weft. What remains is convex: a matrix of rank one and positive parts.
    pub(crate) fn lost(&self) -> Vec2 {
        let tied = self.cross * Vec2::new((self.warp / self.weft).sqrt(), (self.weft / self.warp).sqrt());
        (1.0 - self.compression) * (Vec2::new(self.warp, self.weft) - tied).max(Vec2::ZERO)
    }
}

/// A triangle of cloth with constant strain: orthotropic St. Venant–Kirchhoff.
///
/// F = [F_u F_v] = Σᵢ xᵢ bᵢᵀ, bᵢ the rest gradient of the i-th hat function in thread coordinates;
/// E_uu = ½(F_u·F_u − 1), E_vv = ½(F_v·F_v − 1), 2E_uv = F_u·F_v; energy = area · ψ(E) of [`MembraneStiffness`].
///
/// Threads that are pushed together resist with less, see [`MembraneStiffness::compression`]:
/// energy −= area · ½(l_u min(E_uu, 0)² + l_v min(E_vv, 0)²).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Membrane {
    /// Hat-function gradients of the second and third point, in 1/m; the first point's is minus their sum.
    b: [Vec2; 2],
    /// Stiffness times rest area, in J.
    k: MembraneStiffness,
    /// What warp and weft lose under compression, times rest area, in J.
    lost: Vec2,
    /// E_uu, E_vv, 2E_uv without stress; zero but for friction.
    rest_strain: Vec3,
}

/// Deformation gradient and the stress that belongs to it, times rest area.
struct Deformed {
    fu: Vec3,
    fv: Vec3,
    stress: Stress,
}

/// A symmetric 2×2 matrix.
#[derive(Clone, Copy)]
pub(crate) struct Stress {
    pub(crate) uu: f64,
    pub(crate) vv: f64,
    pub(crate) uv: f64,
}

impl Membrane {
    /// A triangle at rest in `points`, with perpendicular unit vectors `[warp, weft]` in its plane (see
    /// [`axes_from_uv`](crate::axes_from_uv), [`axes_from_direction`](crate::axes_from_direction)). `None` where the
    /// triangle is so thin that strain across it means nothing: height below 1e-6 of its longest side.
    pub fn new(points: &[Vec3; 3], axes: [Vec3; 2], stiffness: MembraneStiffness) -> Option<Self> {
        let flat = |edge: Vec3| Vec2::new(edge.dot(axes[0]), edge.dot(axes[1]));
        let (q1, q2) = (flat(points[1] - points[0]), flat(points[2] - points[0]));
        let det = q1.perp_dot(q2);
        let longest = q1.length_squared().max(q2.length_squared()).max(q1.distance_squared(q2));
        if !det.is_finite() || det.abs() <= 1e-6 * longest {
            return None;
        }
        let b = [Vec2::new(q2.y, -q2.x) / det, Vec2::new(-q1.y, q1.x) / det];
        let k = stiffness.scaled(0.5 * det.abs());
        Some(Self { b, k, lost: k.lost(), rest_strain: Vec3::ZERO })
    }

    /// The sides from the first point to the second and to the third at rest, in thread coordinates, in metres.
    pub(crate) fn rest_sides(&self) -> [Vec2; 2] {
        let [b1, b2] = self.b;
        let det = b1.perp_dot(b2);
        [Vec2::new(b2.y, -b2.x) / det, Vec2::new(-b1.y, b1.x) / det]
    }

    /// The stiffness of warp, weft and shear times rest area, in J.
    pub(crate) fn stiffness_times_area(&self) -> [f64; 3] {
        [self.k.warp, self.k.weft, self.k.shear]
    }

    /// Gradients of the hat functions of its three points, in 1/m.
    pub(crate) fn gradients(&self) -> [Vec2; 3] {
        let [b1, b2] = self.b;
        [-(b1 + b2), b1, b2]
    }

    /// Stiffness times rest area, in J.
    pub(crate) fn stiffness(&self) -> MembraneStiffness {
        self.k
    }

    /// The same triangle with `factor` times its stiffness.
    #[must_use]
    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self { k: self.k.scaled(factor), lost: factor * self.lost, ..self }
    }

    /// Area at rest, in m².
    pub fn rest_area(&self) -> f64 {
        0.5 / self.b[0].perp_dot(self.b[1]).abs()
    }

    /// The deformation gradient's columns: where a unit length of warp, and of weft, has gone.
    pub fn threads(&self, x: &[Vec3; 3]) -> [Vec3; 2] {
        let (d1, d2) = (x[1] - x[0], x[2] - x[0]);
        let [b1, b2] = self.b;
        [b1.x * d1 + b2.x * d2, b1.y * d1 + b2.y * d2]
    }

    fn deformed(&self, x: &[Vec3; 3]) -> Deformed {
        let [fu, fv] = self.threads(x);
        Deformed { fu, fv, stress: self.stress(green([fu, fv])) }
    }

    fn stress(&self, strain: Vec3) -> Stress {
        self.k.stress(strain, self.rest_strain, self.lost)
    }

    /// What a stress does at the points: Σ F S bᵢ.
    pub(crate) fn forces(&self, [fu, fv]: [Vec3; 2], stress: Stress) -> [Vec3; 3] {
        let pu = stress.uu * fu + stress.uv * fv;
        let pv = stress.vv * fv + stress.uv * fu;
        let [g1, g2] = self.b.map(|b| b.x * pu + b.y * pv);
        [-(g1 + g2), g1, g2]
    }

    /// C + S⊗I seen from the points. `stress` is the actual one for the exact Hessian, its positive part for the
    /// projected one.
    ///
    /// With p = ∂E_uu/∂xᵢ = bᵢᵤ F_u, q = ∂E_vv/∂xᵢ = bᵢᵥ F_v, r = ∂(2E_uv)/∂xᵢ = bᵢᵤ F_v + bᵢᵥ F_u:
    /// Hᵢⱼ = pᵢ(k_warp pⱼ + k_cross qⱼ)ᵀ + qᵢ(k_weft qⱼ + k_cross pⱼ)ᵀ + rᵢ(k_shear rⱼ)ᵀ + (bᵢᵀ S bⱼ) I.
    /// The rows of the first point follow from translation: they sum to zero.
    fn assemble(&self, [fu, fv]: [Vec3; 2], stress: Stress) -> Block<3> {
        let mut k = self.k;
        k.warp -= if fu.length_squared() < 1.0 { self.lost.x } else { 0.0 };
        k.weft -= if fv.length_squared() < 1.0 { self.lost.y } else { 0.0 };
        self.assemble_with(k, [fu, fv], stress)
    }

    /// The same with another stiffness, times rest area.
    pub(crate) fn assemble_with(
        &self,
        k: MembraneStiffness,
        [fu, fv]: [Vec3; 2],
        stress: Stress,
    ) -> Block<3> {
        let between = couplings(self.b, k, [fu, fv], stress);
        let (h11, h12, h22) = (between(0, 0), between(0, 1), between(1, 1));
        let h21 = h12.transpose();
        let (h10, h20) = (-(h11 + h12), -(h21 + h22));
        let (h01, h02) = (h10.transpose(), h20.transpose());
        Block([[-(h10 + h20), h01, h02], [h10, h11, h12], [h20, h21, h22]])
    }
}

/// Hᵢⱼ of [`Membrane::assemble`] for points whose hat functions have the gradients `b`.
pub(crate) fn couplings<const M: usize>(
    b: [Vec2; M],
    k: MembraneStiffness,
    [fu, fv]: [Vec3; 2],
    stress: Stress,
) -> impl Fn(usize, usize) -> Mat3 {
    let rows = b.map(|b| [b.x * fu, b.y * fv, b.x * fv + b.y * fu]);
    let columns = rows.map(|[p, q, r]| [k.warp * p + k.cross * q, k.weft * q + k.cross * p, k.shear * r]);
    move |i, j| {
        let ([p, q, r], [s, t, w]) = (rows[i], columns[j]);
        let (a, b) = (b[i], b[j]);
        let d = stress.uu * a.x * b.x + stress.vv * a.y * b.y + stress.uv * (a.x * b.y + a.y * b.x);
        Mat3::from_cols(
            p * s.x + q * t.x + r * w.x + Vec3::new(d, 0.0, 0.0),
            p * s.y + q * t.y + r * w.y + Vec3::new(0.0, d, 0.0),
            p * s.z + q * t.z + r * w.z + Vec3::new(0.0, 0.0, d),
        )
    }
}

/// E_uu, E_vv, 2E_uv.
pub(crate) fn green([fu, fv]: [Vec3; 2]) -> Vec3 {
    Vec3::new(0.5 * (fu.length_squared() - 1.0), 0.5 * (fv.length_squared() - 1.0), fu.dot(fv))
}

/// E_uu, E_vv, 2E_uv linearised at `before`.
pub(crate) fn predicted([fu, fv]: [Vec3; 2], [gu, gv]: [Vec3; 2]) -> Vec3 {
    Vec3::new(
        gu.dot(fu) - 0.5 * (gu.length_squared() + 1.0),
        gv.dot(fv) - 0.5 * (gv.length_squared() + 1.0),
        gu.dot(fv) + gv.dot(fu) - gu.dot(gv),
    )
}

impl Stress {
    pub(crate) const ZERO: Self = Self { uu: 0.0, vv: 0.0, uv: 0.0 };

    /// Tension without compression: negative eigenvalues set to zero.
    pub(crate) fn positive_part(self) -> Self {
        let mean = 0.5 * (self.uu + self.vv);
        let half = 0.5 * (self.uu - self.vv);
        let radius = (half * half + self.uv * self.uv).sqrt();
        let (low, high) = (mean - radius, mean + radius);
        if low >= 0.0 {
            self
        } else if high <= 0.0 {
            Self::ZERO
        } else {
            // high · vvᵀ, and vvᵀ = (S − low I)/(high − low); radius > 0 because low < 0 < high
            let scale = high / (high - low);
            Self { uu: scale * (self.uu - low), vv: scale * (self.vv - low), uv: scale * self.uv }
        }
    }
}

impl Element<3> for Membrane {
    fn value(&self, x: &[Vec3; 3]) -> f64 {
        let strain = green(self.threads(x));
        let (k, e) = (&self.k, strain - self.rest_strain);
        let pressed = Vec2::new(strain.x, strain.y).min(Vec2::ZERO);
        let full = k.warp * e.x * e.x + k.weft * e.y * e.y + 2.0 * k.cross * e.x * e.y + k.shear * e.z * e.z;
        0.5 * (full - self.lost.dot(pressed * pressed))
    }

    fn gradient(&self, x: &[Vec3; 3]) -> [Vec3; 3] {
        let Deformed { fu, fv, stress, .. } = self.deformed(x);
        self.forces([fu, fv], stress)
    }

    fn hessian(&self, x: &[Vec3; 3]) -> Block<3> {
        let Deformed { fu, fv, stress, .. } = self.deformed(x);
        self.assemble([fu, fv], stress)
    }

    /// The material part, positive semidefinite as it is, and tension without compression: pulled cloth stiffens
    /// sideways, pushed cloth does not soften. Out of the plane, where buckling happens, this is the exact projection.
    fn projected_hessian(&self, x: &[Vec3; 3]) -> Block<3> {
        let Deformed { fu, fv, stress, .. } = self.deformed(x);
        self.assemble([fu, fv], stress.positive_part())
    }

    /// With the strain linearised at `previous` (F̂): E_uu ≈ F̂_u·F_u − ½F̂_u·F̂_u − ½, and so on.
    fn newton_hessian(&self, x: &[Vec3; 3], previous: &[Vec3; 3]) -> Block<3> {
        let (here, before) = (self.threads(x), self.threads(previous));
        self.assemble(here, self.stress(predicted(here, before)).positive_part())
    }
}

impl Resizable for Membrane {
    fn resized(&self, ratio: f64) -> Self {
        let area = ratio * ratio;
        Self { b: self.b.map(|b| b / ratio), k: self.k.scaled(area), lost: area * self.lost, ..*self }
    }
}

impl Viscous<3> for Membrane {
    fn with_viscosity(&self, eta: f64, past: &[(f64, [Vec3; 3])]) -> Self {
        let past_strain: Vec3 = past.iter().map(|(weight, x)| *weight * green(self.threads(x))).sum();
        Self {
            b: self.b,
            k: self.k.scaled(1.0 + eta),
            lost: self.lost,
            rest_strain: (self.rest_strain + eta * past_strain) / (1.0 + eta),
        }
    }
}

/// Its rest shape: hat-function gradients, in 1/m, and stiffness times rest area, in J.
impl InternalVariables<3> for Membrane {
    const COUNT: usize = 10;

    fn internal(&self, to: &mut [f64]) {
        let ([b1, b2], k, lost) = (self.b, self.k, self.lost);
        to.copy_from_slice(&[b1.x, b1.y, b2.x, b2.y, k.warp, k.weft, k.cross, k.shear, lost.x, lost.y]);
    }

    fn with_internal(&self, internal: &[f64]) -> Self {
        let n = |i: usize| internal[i];
        Self {
            b: [Vec2::new(n(0), n(1)), Vec2::new(n(2), n(3))],
            k: MembraneStiffness { warp: n(4), weft: n(5), cross: n(6), shear: n(7), ..self.k },
            lost: Vec2::new(n(8), n(9)),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axes_from_direction;
    use dynamics::{check_derivatives, check_element};

    const WOVEN: MembraneStiffness =
        MembraneStiffness { warp: 4000.0, weft: 2500.0, cross: 600.0, shear: 80.0, compression: 1.0 };

    /// Well shaped, thin, tiny, large, far from the origin.
    fn shapes() -> [[Vec3; 3]; 4] {
        [
            [Vec3::ZERO, Vec3::new(1.0, 0.1, 0.0), Vec3::new(0.3, 0.9, 0.2)],
            [Vec3::new(0.2, 0.0, 0.1), Vec3::new(1.2, 0.3, 0.0), Vec3::new(0.7, 0.1, 0.2)],
            [Vec3::ZERO, Vec3::new(0.0, 2e-3, 1e-3), Vec3::new(1e-3, -1e-3, 2e-3)],
            [Vec3::new(8.0, 3.0, 0.0), Vec3::new(-5.0, 1.0, 2.0), Vec3::new(1.0, 9.0, -3.0)],
        ]
    }

    fn woven(points: &[Vec3; 3]) -> Membrane {
        let axes = axes_from_direction(points, Vec3::new(0.3, 1.0, -0.2)).unwrap();
        Membrane::new(points, axes, WOVEN).unwrap()
    }

    #[test]
    fn is_an_element() {
        for rest in shapes() {
            check_element(&woven(&rest), &rest);
            let axes = axes_from_direction(&rest, Vec3::X).unwrap();
            let rubber = MembraneStiffness::isotropic(1500.0, 0.49);
            check_element(&Membrane::new(&rest, axes, rubber).unwrap(), &rest);
        }
    }

    #[test]
    fn soft_compression_is_an_element_and_as_soft_as_it_says() {
        let rest = shapes()[0];
        let axes = axes_from_direction(&rest, Vec3::X).unwrap();
        let [full, soft] = [1.0, 0.1].map(|compression| {
            let stiffness = MembraneStiffness { cross: 0.0, compression, ..WOVEN };
            Membrane::new(&rest, axes, stiffness).unwrap()
        });
        check_element(&soft, &rest);
        let [pushed, pulled] = [0.9, 1.1].map(|scale| rest.map(|p| scale * p));
        let shear = full.k.shear;
        assert_eq!(full.value(&pulled), soft.value(&pulled));
        assert!(
            (soft.value(&pushed) / full.value(&pushed) - 0.1).abs() < 1e-12,
            "shear {shear} takes no part"
        );
    }

    #[test]
    fn derivatives_hold_when_compressed_turned_over_and_crushed() {
        let rest = shapes()[0];
        let membrane = woven(&rest);
        check_derivatives(&membrane, &rest.map(|p| 0.5 * p));
        check_derivatives(&membrane, &rest.map(|p| Vec3::new(p.x, -p.y, 0.1 * p.z)));
        check_derivatives(&membrane, &rest.map(|p| Vec3::new(p.x, 0.0, 0.0)));
    }

    #[test]
    fn projection_is_exact_under_tension_and_drops_pressure() {
        let rest = shapes()[0];
        let membrane = woven(&rest);
        let pulled = rest.map(|p| 1.2 * p);
        assert_eq!(membrane.projected_hessian(&pulled), membrane.hessian(&pulled));
        let pushed = rest.map(|p| 0.8 * p);
        assert!(membrane.hessian(&pushed).min_eigenvalue() < -1.0, "it would buckle");
        // what is left of a pushed triangle resists no motion out of its plane
        let normal = (rest[1] - rest[0]).cross(rest[2] - rest[0]);
        let resisted = membrane.projected_hessian(&pushed).multiply(&[normal, -normal, 2.0 * normal]);
        assert!(resisted.iter().all(|r| r.length() < 1e-9 * WOVEN.warp));
    }

    fn same(a: Block<3>, b: Block<3>) -> bool {
        let mut difference = a;
        difference += b * -1.0;
        difference.max_abs() < 1e-9 * b.max_abs()
    }

    #[test]
    fn a_newton_step_along_a_turn_does_not_stiffen_the_cloth() {
        let rest = shapes()[0];
        let membrane = woven(&rest);
        // a turn by 0.3 rad, as far as a linear step goes: stretched to second order, not strained to first
        let turned = rest.map(|p| p + 0.3 * Vec3::new(0.2, 0.9, 0.4).cross(p));
        let unstressed = membrane.assemble(membrane.threads(&turned), Stress::ZERO);
        assert!(same(membrane.newton_hessian(&turned, &rest), unstressed));
        assert!(!same(membrane.projected_hessian(&turned), unstressed));
        // a step that went nowhere predicts the stress that is there
        let pulled = turned.map(|p| p * Vec3::new(1.1, 0.9, 1.2));
        assert!(same(membrane.newton_hessian(&pulled, &pulled), membrane.projected_hessian(&pulled)));
    }

    #[test]
    fn friction_is_a_second_rest_strain() {
        let rest = shapes()[0];
        let membrane = woven(&rest);
        let deformed = |amount: f64| rest.map(|p| p + amount * Vec3::new(p.y, p.x * p.x, (3.0 * p.x).sin()));
        let (a, b) = (deformed(0.1), deformed(-0.2));
        let viscous = membrane.with_viscosity(0.7, &[(1.5, a), (-0.5, b)]);
        check_derivatives(&viscous, &deformed(0.3));
        // ½‖ε − ε₀‖² + ½η‖ε − ε̂‖² up to a constant
        let past = 1.5 * green(membrane.threads(&a)) - 0.5 * green(membrane.threads(&b));
        let moved = Membrane { rest_strain: past, ..membrane };
        let gap = |x: &[Vec3; 3]| membrane.value(x) + 0.7 * moved.value(x) - viscous.value(x);
        assert!((gap(&deformed(0.3)) - gap(&deformed(-0.4))).abs() < 1e-9 * viscous.value(&a));
        // a body that has not deformed since feels nothing, wherever it has turned
        let turn = dynamics::random_rotation(3);
        let quiet = membrane.with_viscosity(0.7, &[(1.0, rest), (0.0, rest)]);
        assert!(quiet.gradient(&rest.map(|p| turn * p)).iter().all(|g| g.length() < 1e-9 * WOVEN.warp));
    }

    /// Total force on the right side of a strip [0, l] × [0, w] whose points stand at `deform` of their rest places.
    fn force_on_the_right(stiffness: MembraneStiffness, deform: impl Fn(Vec3) -> Vec3) -> Vec3 {
        let (length, width) = (0.9, 0.4);
        let at = |i: usize, j: usize| Vec3::new(length * i as f64 / 3.0, width * j as f64 / 2.0, 0.0);
        let mut force = Vec3::ZERO;
        for (i, j) in [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)] {
            for rest in
                [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]
            {
                let membrane = Membrane::new(&rest, [Vec3::X, Vec3::Y], stiffness).unwrap();
                let gradient = membrane.gradient(&rest.map(&deform));
                for (point, g) in rest.iter().zip(gradient) {
                    if point.x > length - 1e-9 {
                        force += g;
                    }
                }
            }
        }
        force / width
    }

    #[test]
    fn a_strip_pulls_with_stiffness_times_strain_times_width() {
        // St. Venant–Kirchhoff: S = k E with E = ε + ½ε², and the force per rest width is (1 + ε) S
        for strain in [1e-6, 0.01, 0.3, -0.2] {
            let force = force_on_the_right(WOVEN, |p| p * Vec3::new(1.0 + strain, 1.0, 1.0));
            let expected = (1.0 + strain) * WOVEN.warp * (strain + 0.5 * strain * strain);
            assert!((force.x - expected).abs() < 1e-9 * WOVEN.warp, "{force} {expected}");
            assert!(force.z.abs() < 1e-9 && force.y.abs() < 1e-9);
        }
        // sides free: E_vv = −(k_cross/k_weft) E_uu leaves no stress across; stiffness k_warp − k_cross²/k_weft
        let strain = 1e-6;
        let narrowed = (1.0 - 2.0 * WOVEN.cross / WOVEN.weft * (strain + 0.5 * strain * strain)).sqrt();
        let force = force_on_the_right(WOVEN, |p| p * Vec3::new(1.0 + strain, narrowed, 1.0));
        let expected = (WOVEN.warp - WOVEN.cross * WOVEN.cross / WOVEN.weft) * strain;
        assert!((force.x / expected - 1.0).abs() < 1e-5, "{force} {expected}");
        // for a sheet of Young's modulus E that is Et itself
        let isotropic = MembraneStiffness::isotropic(1500.0, 0.3);
        assert!((isotropic.warp - isotropic.cross.powi(2) / isotropic.weft - 1500.0).abs() < 1e-9);
    }

    #[test]
    fn pure_shear_costs_shear_stiffness_times_angle() {
        // x += γ y moves the right side by γ y: traction along the side S_uv + …; to first order in γ it is k_shear γ
        let gamma = 1e-6;
        let force = force_on_the_right(WOVEN, |p| Vec3::new(p.x, p.y + gamma * p.x, 0.0));
        assert!((force.y / (WOVEN.shear * gamma) - 1.0).abs() < 1e-5, "{force}");
        // an isotropic sheet sheared in any direction has the same energy: shear is Et/2(1+ν)
        let rest = shapes()[1];
        let isotropic = MembraneStiffness::isotropic(1500.0, 0.3);
        let x = rest.map(|p| Vec3::new(1.2 * p.x + 0.1 * p.y, 0.9 * p.y, p.z + 0.2 * p.x));
        let energies = [Vec3::X, Vec3::Y, Vec3::new(1.0, 2.0, 0.5)].map(|direction| {
            let axes = axes_from_direction(&rest, direction).unwrap();
            Membrane::new(&rest, axes, isotropic).unwrap().value(&x)
        });
        assert!((energies[0] / energies[1] - 1.0).abs() < 1e-12);
        assert!((energies[0] / energies[2] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn warp_and_weft_swap_with_the_axes() {
        let rest = shapes()[0];
        let [warp, weft] = axes_from_direction(&rest, Vec3::Y).unwrap();
        let swapped = MembraneStiffness { warp: WOVEN.weft, weft: WOVEN.warp, ..WOVEN };
        let x = rest.map(|p| Vec3::new(1.2 * p.x, p.y + 0.3 * p.x, -p.z));
        let one = Membrane::new(&rest, [warp, weft], WOVEN).unwrap();
        let other = Membrane::new(&rest, [weft, warp], swapped).unwrap();
        let turned = Membrane::new(&rest, [weft, warp], WOVEN).unwrap();
        assert!((one.value(&x) / other.value(&x) - 1.0).abs() < 1e-12);
        assert!((one.value(&x) / turned.value(&x) - 1.0).abs() > 0.05, "and it matters");
    }

    #[test]
    fn energy_does_not_know_the_order_of_the_points_or_the_sense_of_the_axes() {
        let rest = shapes()[0];
        let x = rest.map(|p| Vec3::new(1.2 * p.x, p.y + 0.3 * p.x, -p.z));
        let axes = axes_from_direction(&rest, Vec3::Y).unwrap();
        let energy = Membrane::new(&rest, axes, WOVEN).unwrap().value(&x);
        for order in [[1, 2, 0], [2, 0, 1], [1, 0, 2], [0, 2, 1]] {
            let permuted = Membrane::new(&order.map(|i| rest[i]), [-axes[0], axes[1]], WOVEN).unwrap();
            assert!((permuted.value(&order.map(|i| x[i])) / energy - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_triangle_without_area_is_refused() {
        let axes = [Vec3::X, Vec3::Y];
        for points in [
            [Vec3::ZERO, Vec3::X, 2.0 * Vec3::X],
            [Vec3::ZERO, Vec3::ZERO, Vec3::X],
            [Vec3::ZERO; 3],
            [Vec3::ZERO, Vec3::X, Vec3::new(0.5, 1e-9, 0.0)],
            [Vec3::ZERO, Vec3::X, Vec3::NAN],
        ] {
            assert_eq!(Membrane::new(&points, axes, WOVEN), None);
        }
        let rest = [Vec3::ZERO, Vec3::X, Vec3::new(0.2, 0.5, 0.0)];
        assert!((Membrane::new(&rest, axes, WOVEN).unwrap().rest_area() - 0.25).abs() < 1e-15);
    }
}
