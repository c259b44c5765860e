//! The barrier that keeps two primitives apart: an energy that rises from nothing at a small gap.

mod assembly;

use dynamics::{Block, Element};
use geometry::{Mat3, Vec3};

use crate::distance::{PairKind, Slopes, closest, outer};

pub(crate) use assembly::{ActiveContact, ContactAssembly, active_contacts};

/// The share of d̂ below which the barrier is a parabola.
const PARABOLA: f64 = 0.02;

/// A logarithmic barrier between a vertex and a triangle, or two edges.
///
/// E = m·ψ,  ψ = κd̂²·b(g/d̂) for g < d̂ and 0 beyond,  b(u) = −(1 − u)² ln u,  g = D − o,
///
/// D the distance, o the thickness kept between the two (`min_distance`), d̂ the gap at which the barrier begins; κ in N/m,
/// with the pair's share of mass or area included. Force and stiffness both start from zero at d̂, so that light touches
/// stay soft and Newton's method meets no step; as the gap closes, the force grows like κd̂/u, so that a stack of ten carries
/// its weight with the same κ as one sheet does. Below a fiftieth of d̂ it goes on as a parabola, defined even
/// where things are nearer than their thickness: continuous detection, not the barrier, is what forbids crossing.
///
/// m = 1, except for two edges that are nearly parallel, whose closest points jump: m = (2 − c/ε)·c/ε for
/// c = ‖u×v‖² < ε, ε a thousandth of the product of squared rest lengths.
///
/// Li 2020 §4 and §7. Differs: in distance rather than its square, the parabola, and κ, which is the caller's. (A cubic
/// barrier, Ando 2024, is softer to start with but bounded: under pressure it leaves the work to continuous detection, which
/// creeps.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Barrier {
    /// What the four points are.
    pub kind: PairKind,
    /// κ, in N/m.
    pub stiffness: f64,
    /// o, in metres.
    pub min_distance: f64,
    /// d̂, in metres; positive.
    pub dhat: f64,
    /// ε, in m⁴; zero for a vertex and a triangle.
    parallel: f64,
}

impl Barrier {
    /// Between a vertex and a triangle.
    pub fn vertex_triangle(stiffness: f64, min_distance: f64, dhat: f64) -> Self {
        Self { kind: PairKind::VertexTriangle, stiffness, min_distance, dhat, parallel: 0.0 }
    }

    /// Between two edges of the given rest lengths.
    pub fn edge_edge(stiffness: f64, min_distance: f64, dhat: f64, rest_lengths: [f64; 2]) -> Self {
        let parallel = 1e-3 * (rest_lengths[0] * rest_lengths[1]).powi(2);
        Self { kind: PairKind::EdgeEdge, stiffness, min_distance, dhat, parallel }
    }

    /// How hard the two are pressed together, in newtons.
    pub fn normal_force(&self, x: &[Vec3; 4]) -> f64 {
        let (_, slope, _) = self.profile(closest(self.kind, x).distance);
        -slope * self.mollifier(x).map_or(1.0, |m| m.value)
    }

    /// ψ, ψ′ and ψ″ at a distance.
    fn profile(&self, distance: f64) -> (f64, f64, f64) {
        let u = (distance - self.min_distance) / self.dhat;
        if u >= 1.0 {
            return (0.0, 0.0, 0.0);
        }
        let v = u.max(PARABOLA);
        let (log, rest, ratio) = (v.ln(), 1.0 - v, (1.0 - v) / v);
        let value = -rest * rest * log;
        let slope = 2.0 * rest * log - rest * ratio;
        let curvature = -2.0 * log + 4.0 * ratio + ratio * ratio;
        let below = u - v;
        let k = self.stiffness;
        (
            k * self.dhat * self.dhat * (value + below * (slope + 0.5 * below * curvature)),
            k * self.dhat * (slope + below * curvature),
            k * curvature,
        )
    }

    /// m and its derivatives; none where it is 1.
    fn mollifier(&self, x: &[Vec3; 4]) -> Option<Mollifier> {
        let (u, v) = (x[1] - x[0], x[3] - x[2]);
        let across = u.cross(v);
        let (c, epsilon) = (across.length_squared(), self.parallel);
        (self.kind == PairKind::EdgeEdge && c < epsilon).then(|| Mollifier {
            value: (2.0 - c / epsilon) * c / epsilon,
            slope: 2.0 * (1.0 - c / epsilon) / epsilon,
            curvature: -2.0 / (epsilon * epsilon),
            u,
            v,
            across,
        })
    }
}

/// m(c) of c = ‖u×v‖².
struct Mollifier {
    value: f64,
    slope: f64,
    curvature: f64,
    u: Vec3,
    v: Vec3,
    across: Vec3,
}

impl Mollifier {
    /// dc/dx: dc = 2 (u×v)·(du×v + u×dv).
    fn gradient_of_c(&self) -> [Vec3; 4] {
        let (by_u, by_v) = (2.0 * self.v.cross(self.across), 2.0 * self.across.cross(self.u));
        [-by_u, by_u, -by_v, by_v]
    }

    /// d²c/dx² from c = u²v² − (u·v)²; `gauss_newton` leaves out what can be negative.
    fn hessian_of_c(&self, gauss_newton: bool) -> Block<4> {
        let (u, v) = (self.u, self.v);
        let [uu, vv, uv] = if gauss_newton {
            // 2 JᵀJ with J = (−[v]×, [u]×): the square of the change of u×v
            let (a, b) = (skew(v), skew(u));
            [a.transpose() * a * 2.0, b.transpose() * b * 2.0, a.transpose() * b * -2.0]
        } else {
            let identity = Mat3::IDENTITY;
            [
                identity * (2.0 * v.length_squared()) - outer(v, v) * 2.0,
                identity * (2.0 * u.length_squared()) - outer(u, u) * 2.0,
                outer(u, v) * 4.0 - outer(v, u) * 2.0 - identity * (2.0 * u.dot(v)),
            ]
        };
        let vu = uv.transpose();
        Block([[uu, -uu, uv, -uv], [-uu, uu, -uv, uv], [vu, -vu, vv, -vv], [-vu, vu, -vv, vv]])
    }
}

/// [a]×.
fn skew(a: Vec3) -> Mat3 {
    Mat3::from_cols(Vec3::new(0.0, a.z, -a.y), Vec3::new(-a.z, 0.0, a.x), Vec3::new(a.y, -a.x, 0.0))
}

impl Element<4> for Barrier {
    fn value(&self, x: &[Vec3; 4]) -> f64 {
        let (value, ..) = self.profile(closest(self.kind, x).distance);
        if value > 0.0 { value * self.mollifier(x).map_or(1.0, |m| m.value) } else { 0.0 }
    }

    fn gradient(&self, x: &[Vec3; 4]) -> [Vec3; 4] {
        let nearest = closest(self.kind, x);
        let (value, slope, _) = self.profile(nearest.distance);
        let (true, Some(normal)) = (value > 0.0, nearest.normal()) else { return [Vec3::ZERO; 4] };
        match self.mollifier(x) {
            None => nearest.weights.map(|w| slope * w * normal),
            Some(m) => {
                let of_c = m.gradient_of_c();
                std::array::from_fn(|i| {
                    m.value * slope * nearest.weights[i] * normal + value * m.slope * of_c[i]
                })
            }
        }
    }

    fn hessian(&self, x: &[Vec3; 4]) -> Block<4> {
        let nearest = closest(self.kind, x);
        let (value, slope, curvature) = self.profile(nearest.distance);
        let mut block = Block::ZERO;
        let Some(slopes) = Slopes::new(self.kind, x, &nearest).filter(|_| value > 0.0) else { return block };
        block.add_outer(&slopes.gradient, curvature);
        block += slopes.hessian() * slope;
        if let Some(m) = self.mollifier(x) {
            let of_c = m.gradient_of_c();
            block = block * m.value;
            block += m.hessian_of_c(false) * (value * m.slope);
            block.add_outer(&of_c, value * m.curvature);
            add_symmetric(&mut block, &of_c, &slopes.gradient, m.slope * slope);
        }
        block
    }

    /// In closed form. Without mollifier it bounds the exact Hessian from above (see `Slopes`). With it, each part is
    /// replaced by its own positive one.
    fn projected_hessian(&self, x: &[Vec3; 4]) -> Block<4> {
        let nearest = closest(self.kind, x);
        let (value, slope, curvature) = self.profile(nearest.distance);
        let mut block = Block::ZERO;
        let Some(slopes) = Slopes::new(self.kind, x, &nearest).filter(|_| value > 0.0) else { return block };
        block.add_outer(&slopes.gradient, curvature);
        slopes.add_positive_part(-slope, &mut block);
        if let Some(m) = self.mollifier(x) {
            let of_c = m.gradient_of_c();
            block = block * m.value;
            block += m.hessian_of_c(true) * (value * m.slope);
            add_positive_symmetric(&mut block, &of_c, &slopes.gradient, m.slope * slope);
        }
        block
    }
}

/// Adds `scale` (abᵀ + baᵀ).
fn add_symmetric(block: &mut Block<4>, a: &[Vec3; 4], b: &[Vec3; 4], scale: f64) {
    for i in 0..4 {
        for j in 0..4 {
            block.0[i][j] += (outer(a[i], b[j]) + outer(b[i], a[j])) * scale;
        }
    }
}

/// Adds the positive part of `scale` (abᵀ + baᵀ), whose eigenvalues are a·b ± |a||b| with eigenvectors a/|a| ± b/|b|.
fn add_positive_symmetric(block: &mut Block<4>, a: &[Vec3; 4], b: &[Vec3; 4], scale: f64) {
    let dot = |p: &[Vec3; 4], q: &[Vec3; 4]| (0..4).map(|i| p[i].dot(q[i])).sum::<f64>();
    let (length_a, length_b) = (dot(a, a).sqrt(), dot(b, b).sqrt());
    if length_a == 0.0 || length_b == 0.0 {
        return;
    }
    let sign = scale.signum();
    let v: [Vec3; 4] = std::array::from_fn(|i| a[i] / length_a + sign * b[i] / length_b);
    let value = scale * dot(a, b) + scale.abs() * length_a * length_b;
    let squared = dot(&v, &v);
    if squared > 0.0 {
        block.add_outer(&v, value / squared);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dynamics::check_derivatives;
    use geometry::Random;

    const DHAT: f64 = 2.0;

    fn barriers() -> [Barrier; 2] {
        [Barrier::vertex_triangle(3.0, 0.1, DHAT), Barrier::edge_edge(3.0, 0.1, DHAT, [1.0, 1.0])]
    }

    /// Whether closest points stay in their region when any point moves a little: across its border second derivatives
    /// jump.
    fn is_inside_region(kind: PairKind, x: &[Vec3; 4]) -> bool {
        let active = |x: &[Vec3; 4]| closest(kind, x).weights.map(|w| w != 0.0);
        let here = active(x);
        (0..24).all(|k| {
            let mut y = *x;
            y[k / 6][k % 3] += if k % 6 < 3 { 2e-3 } else { -2e-3 };
            active(&y) == here
        })
    }

    #[test]
    fn derivatives_hold_in_every_region() {
        let mut random = Random::new(21);
        let mut regions = std::collections::BTreeSet::new();
        for barrier in barriers() {
            for _ in 0..300 {
                let x: [Vec3; 4] = std::array::from_fn(|_| random.vec3());
                let nearest = closest(barrier.kind, &x);
                if nearest.distance < 0.2 || nearest.distance > 1.8 || !is_inside_region(barrier.kind, &x) {
                    continue;
                }
                if barrier.hessian(&x).max_abs() > 50.0 {
                    continue; // nearly parallel without mollifier: differences have no digits
                }
                check_derivatives(&barrier, &x);
                regions.insert((barrier.kind, nearest.weights.map(|w| w != 0.0)));
            }
        }
        assert_eq!(regions.len(), 7 + 9, "{regions:?}");
    }

    #[test]
    fn derivatives_hold_between_nearly_parallel_edges() {
        let barrier = Barrier::edge_edge(3.0, 0.1, DHAT, [6.0, 6.0]); // ε = 1.3: mollified up to 35°
        let mut random = Random::new(22);
        let mut inside = 0;
        for _ in 0..200 {
            let jitter = 0.25;
            let x = [Vec3::ZERO, 2.0 * Vec3::X, Vec3::new(-0.4, 0.8, 0.0), Vec3::new(1.7, 0.9, 0.3)]
                .map(|p| p + jitter * random.vec3());
            if barrier.mollifier(&x).is_none_or(|m| m.value > 0.98)
                || !is_inside_region(PairKind::EdgeEdge, &x)
            {
                continue;
            }
            check_derivatives(&barrier, &x);
            inside += 1;
        }
        assert!(inside > 20, "{inside} states were mollified");
        // exactly parallel: no force at all, and nothing infinite
        let parallel = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X + Vec3::Y];
        assert_eq!(barrier.value(&parallel), 0.0);
        assert!(barrier.projected_hessian(&parallel).max_abs().is_finite());
    }

    #[test]
    fn the_closed_projection_bounds_the_hessian_from_above() {
        let mut random = Random::new(23);
        for barrier in barriers() {
            for _ in 0..100 {
                let x: [Vec3; 4] = std::array::from_fn(|_| random.vec3());
                if barrier.mollifier(&x).is_some() {
                    continue;
                }
                let mut above = barrier.projected_hessian(&x);
                above += barrier.hessian(&x) * -1.0;
                assert!(above.min_eigenvalue() >= -1e-9 * above.max_abs());
            }
        }
    }

    #[test]
    fn it_is_felt_within_reach_only_and_pushes_apart() {
        let barrier = Barrier::vertex_triangle(3.0, 0.1, 0.5);
        let above = |y: f64| [Vec3::new(0.2, y, 0.2), Vec3::ZERO, Vec3::X, Vec3::Z];
        assert_eq!(barrier.gradient(&above(0.6)), [Vec3::ZERO; 4]);
        let gradient = barrier.gradient(&above(0.3));
        assert!(gradient[0].y < 0.0 && gradient[1].y > 0.0);
        let total: Vec3 = gradient.into_iter().sum();
        assert!(total.length() < 1e-15, "action equals reaction");
        // −κd̂ b′(0.4) at g = 0.2
        let force = 3.0 * 0.5 * (0.36 / 0.4 - 2.0 * 0.6 * 0.4_f64.ln());
        assert!((barrier.normal_force(&above(0.3)) - force).abs() < 1e-12);
        assert!(barrier.normal_force(&above(0.101)) > 20.0 * force, "hard where it is close");
        assert!(barrier.normal_force(&above(0.05)) > barrier.normal_force(&above(0.1)), "and closer still");
        // touching: no direction, and nothing infinite
        assert_eq!(barrier.gradient(&above(0.0)), [Vec3::ZERO; 4]);
        assert_eq!(barrier.hessian(&above(0.0)), Block::ZERO);
    }

    /// [a]× b = a × b, and d²c without what can be negative is 2 JᵀJ, J the change of u×v.
    #[test]
    fn the_gauss_newton_part_is_the_square_of_the_change_of_the_cross_product() {
        let mut random = Random::new(24);
        for _ in 0..20 {
            let (a, b) = (random.vec3(), random.vec3());
            assert!((skew(a) * b).distance(a.cross(b)) < 1e-15);
            let x: [Vec3; 4] = std::array::from_fn(|_| random.vec3());
            let across = |x: &[Vec3; 4]| (x[1] - x[0]).cross(x[3] - x[2]);
            let barrier = Barrier::edge_edge(3.0, 0.1, DHAT, [40.0, 40.0]);
            let mollifier = barrier.mollifier(&x).expect("all angles are small for such edges");
            assert!((mollifier.across - across(&x)).length() < 1e-15);
            // u×v is linear in each coordinate: differences are exact
            let slope: [Vec3; 12] = std::array::from_fn(|k| {
                let [mut up, mut down] = [x, x];
                up[k / 3][k % 3] += 0.5;
                down[k / 3][k % 3] -= 0.5;
                across(&up) - across(&down)
            });
            let block = mollifier.hessian_of_c(true);
            for i in 0..12 {
                for j in 0..12 {
                    let expected = 2.0 * slope[i].dot(slope[j]);
                    assert!((block.entry(i, j) - expected).abs() < 1e-12, "{i} {j}");
                }
                let gradient = mollifier.gradient_of_c()[i / 3][i % 3];
                assert!((gradient - 2.0 * across(&x).dot(slope[i])).abs() < 1e-12, "{i}");
            }
        }
    }

    /// scale (abᵀ + baᵀ) has the eigenvalues scale (a·b ± |a||b|): the positive one stays, the other goes.
    #[test]
    fn the_positive_part_of_a_symmetric_product_is_what_eigenvalues_say() {
        let mut random = Random::new(25);
        for round in 0..20 {
            let [a, b]: [[Vec3; 4]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| random.vec3()));
            let scale = if round % 2 == 0 { 0.7 } else { -0.7 };
            let (mut whole, mut positive) = (Block::ZERO, Block::ZERO);
            add_symmetric(&mut whole, &a, &b, scale);
            add_positive_symmetric(&mut positive, &a, &b, scale);
            let expected = whole.projected();
            for i in 0..12 {
                for j in 0..12 {
                    let (p, q) = (a[i / 3][i % 3], b[i / 3][i % 3]);
                    let (r, s) = (a[j / 3][j % 3], b[j / 3][j % 3]);
                    assert!((whole.entry(i, j) - scale * (p * s + q * r)).abs() < 1e-14);
                    assert!((positive.entry(i, j) - expected.entry(i, j)).abs() < 1e-12, "{round}: {i} {j}");
                }
            }
        }
        // without a direction, and opposite ones: nothing, and nothing infinite
        let (mut block, one) = (Block::ZERO, [Vec3::X; 4]);
        add_positive_symmetric(&mut block, &[Vec3::ZERO; 4], &one, 1.0);
        add_positive_symmetric(&mut block, &one, &[Vec3::ZERO; 4], 1.0);
        add_positive_symmetric(&mut block, &one, &one.map(|v| -v), 1.0);
        assert_eq!(block, Block::ZERO);
    }

    /// Mollified: m·(ψ″ggᵀ + ψ′∇²D)⁺ + ψm′·2JᵀJ + (m′ψ′(∇c∇Dᵀ + ∇D∇cᵀ))⁺, each part by itself.
    #[test]
    fn a_mollified_projection_is_the_sum_of_its_positive_parts() {
        let barrier = Barrier::edge_edge(3.0, 0.1, DHAT, [6.0, 6.0]);
        let mut random = Random::new(26);
        for _ in 0..40 {
            let x = [Vec3::ZERO, 2.0 * Vec3::X, Vec3::new(-0.4, 0.8, 0.0), Vec3::new(1.7, 0.9, 0.3)]
                .map(|p| p + 0.03 * random.vec3());
            let m = barrier.mollifier(&x).expect("nearly parallel");
            let plain = Barrier { parallel: 0.0, ..barrier };
            let nearest = closest(PairKind::EdgeEdge, &x);
            let (value, slope, _) = barrier.profile(nearest.distance);
            let (of_c, of_d) =
                (m.gradient_of_c(), nearest.weights.map(|w| w * nearest.difference / nearest.distance));
            let mut mixed = Block::ZERO;
            add_symmetric(&mut mixed, &of_c, &of_d, m.slope * slope);
            let mut expected = plain.projected_hessian(&x) * m.value;
            expected += m.hessian_of_c(true) * (value * m.slope);
            expected += mixed.projected();
            let found = barrier.projected_hessian(&x);
            for k in 0..144 {
                let (i, j) = (k / 12, k % 12);
                let error = (found.entry(i, j) - expected.entry(i, j)).abs();
                assert!(error < 1e-10 * expected.max_abs(), "{i} {j}: {error:e}");
            }
            assert!(found.min_eigenvalue() > -1e-10 * found.max_abs());
            let normal = barrier.normal_force(&x);
            assert!((normal + slope * m.value).abs() < 1e-12 * normal, "{normal}");
        }
    }
}
