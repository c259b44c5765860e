//! Closest points of a vertex and a triangle, or of two edges: distance, region, derivatives.
//!
//! Both kinds of pair are one thing here. With four points x and *weights* w(θ),
//!
//! ```text
//! d(x, θ) = Σ wᵢ(θ) xᵢ,    D(x) = min over θ of ‖d‖,
//! ```
//!
//! where w = (1, −β₀, −β₁, −β₂) for a vertex and a triangle and w = (1−s, s, t−1, −t) for two edges. In which *region*
//! the minimum lies decides how many parameters θ are free there: 2 inside the face or both edges, 1 on a side, 0 at a
//! corner. Then for F = ½D², by the envelope theorem and with eⱼ = ∂d/∂θⱼ and w′ⱼ = ∂w/∂θⱼ,
//!
//! ```text
//! ∇F = w ⊗ d,    ∇²F = wwᵀ⊗I − Σⱼₖ fⱼ (G⁻¹)ⱼₖ fₖᵀ,    fⱼ = w⊗eⱼ + w′ⱼ⊗d,    Gⱼₖ = eⱼ·eₖ,
//! ```
//!
//! one formula for all regions.

use dynamics::Block;
use geometry::{Mat3, Vec3};

/// Which two things a stencil of four points holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PairKind {
    /// A vertex, then the three corners of a triangle.
    VertexTriangle,
    /// The two ends of an edge, then those of another.
    EdgeEdge,
}

impl PairKind {
    /// How many of the four points belong to the first thing.
    pub fn split(self) -> usize {
        match self {
            Self::VertexTriangle => 1,
            Self::EdgeEdge => 2,
        }
    }
}

/// The closest points of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest {
    /// w: the difference of the closest points is Σ wᵢ xᵢ, from the second thing to the first. Zero for points that
    /// take no part, so the region is read off the weights.
    pub weights: [f64; 4],
    /// Σ wᵢ xᵢ.
    pub difference: Vec3,
    /// Its length.
    pub distance: f64,
}

impl Closest {
    fn new(weights: [f64; 4], x: &[Vec3; 4]) -> Self {
        // Differences first: far from the origin, weights times positions would lose what small distances are made of.
        let difference = weights[1] * (x[1] - x[0]) + weights[2] * (x[2] - x[0]) + weights[3] * (x[3] - x[0]);
        Self { weights, difference, distance: difference.length() }
    }

    /// The unit vector from the second thing to the first; none where they touch.
    pub fn normal(&self) -> Option<Vec3> {
        (self.distance > 0.0).then(|| self.difference / self.distance)
    }
}

/// Closest points of a pair of the given kind.
pub fn closest(kind: PairKind, x: &[Vec3; 4]) -> Closest {
    match kind {
        PairKind::VertexTriangle => closest_vertex_triangle(x),
        PairKind::EdgeEdge => closest_edge_edge(x),
    }
}

/// sin² of the angle below which two edges, or two sides of a triangle, count as parallel. The interior solution errs by
/// 1e-16/sin² of an edge; below this angle (1e-5) the rim's solution is off by less: by the width of the sliver.
const PARALLEL: f64 = 1e-10;

/// Closest points of the vertex x₀ and the triangle (x₁, x₂, x₃). Triangles without area are segments or points.
pub fn closest_vertex_triangle(x: &[Vec3; 4]) -> Closest {
    let [p, a, b, c] = *x;
    let (u, v, r) = (b - a, c - a, p - a);
    let (uu, uv, vv, ur, vr) = (u.length_squared(), u.dot(v), v.length_squared(), u.dot(r), v.dot(r));
    let determinant = uu * vv - uv * uv;
    if determinant > PARALLEL * uu * vv {
        let beta1 = vv * ur - uv * vr;
        let beta2 = uu * vr - uv * ur;
        if beta1 > 0.0 && beta2 > 0.0 && beta1 + beta2 < determinant {
            let (beta1, beta2) = (beta1 / determinant, beta2 / determinant);
            return Closest::new([1.0, -(1.0 - beta1 - beta2), -beta1, -beta2], x);
        }
    }
    // Not above the face: the nearest point is on a side.
    let ab = on_segment(r, u);
    let ac = on_segment(r, v);
    let bc = on_segment(p - b, c - b);
    let candidates = [[1.0, ab - 1.0, -ab, 0.0], [1.0, ac - 1.0, 0.0, -ac], [1.0, 0.0, bc - 1.0, -bc]];
    nearest(candidates, x)
}

/// Closest points of the edges (x₀, x₁) and (x₂, x₃). Edges without length are points.
pub fn closest_edge_edge(x: &[Vec3; 4]) -> Closest {
    let [a0, a1, b0, b1] = *x;
    let (u, v, r) = (a1 - a0, b1 - b0, a0 - b0);
    let (uu, uv, vv, ur, vr) = (u.length_squared(), u.dot(v), v.length_squared(), u.dot(r), v.dot(r));
    let determinant = uu * vv - uv * uv;
    if determinant > PARALLEL * uu * vv {
        let s = uv * vr - vv * ur;
        let t = uu * vr - uv * ur;
        if s > 0.0 && t > 0.0 && s < determinant && t < determinant {
            let (s, t) = (s / determinant, t / determinant);
            return Closest::new([1.0 - s, s, t - 1.0, -t], x);
        }
    }
    // The minimum of a convex function over a square is on its rim: an end of one edge against the other edge.
    let end = |p: Vec3, origin: Vec3, along: Vec3| on_segment(p - origin, along);
    let (s0, s1) = (end(b0, a0, u), end(b1, a0, u));
    let (t0, t1) = (end(a0, b0, v), end(a1, b0, v));
    let candidates = [
        [1.0, 0.0, t0 - 1.0, -t0],
        [0.0, 1.0, t1 - 1.0, -t1],
        [1.0 - s0, s0, -1.0, 0.0],
        [1.0 - s1, s1, 0.0, -1.0],
    ];
    nearest(candidates, x)
}

/// The parameter in [0, 1] at which a segment from the origin along `u` is nearest to `r`.
fn on_segment(r: Vec3, u: Vec3) -> f64 {
    let uu = u.length_squared();
    if uu > 0.0 { (u.dot(r) / uu).clamp(0.0, 1.0) } else { 0.0 }
}

/// The first of the nearest.
fn nearest<const N: usize>(candidates: [[f64; 4]; N], x: &[Vec3; 4]) -> Closest {
    let spans = [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
    let squared = |w: &[f64; 4]| (w[1] * spans[0] + w[2] * spans[1] + w[3] * spans[2]).length_squared();
    let (mut best, mut least) = (candidates[0], squared(&candidates[0]));
    for candidate in &candidates[1..] {
        let distance = squared(candidate);
        if distance < least {
            (best, least) = (*candidate, distance);
        }
    }
    Closest::new(best, x)
}

/// First and second derivatives of the distance D of a pair, in a form that projects itself.
///
/// With n = d/D, G = Σ eₖeₖᵀ made orthonormal (directions êₖ, weights w′ₖ along them) and tangents τ in which the
/// closest points cannot slide,
///
/// ```text
/// D·∇²D = Σ_τ aτaτᵀ − Σₖ (aₖbₖᵀ + bₖaₖᵀ + bₖbₖᵀ),    aₖ = w⊗êₖ,  aτ = w⊗τ,  bₖ = D w′ₖ⊗n.
/// ```
///
/// A potential ψ(D) that pushes (ψ′ ≤ 0 ≤ ψ″) has the Hessian ψ″ggᵀ + ψ′∇²D. In it the bracket appears with the sign +,
/// a matrix of rank two with a⊥b, hence known eigenvalues ½(b² ± √(b⁴ + 4a²b²)); keeping ψ″ggᵀ and the positive ones is
/// a positive semidefinite bound from above on the whole, without an eigensolver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slopes {
    /// ∇D = w ⊗ n.
    pub(crate) gradient: [Vec3; 4],
    distance: f64,
    weights: [f64; 4],
    normal: Vec3,
    /// êₖ, w′ₖ per unit along it.
    slides: [([f64; 4], Vec3); 2],
    slide_count: usize,
}

impl Slopes {
    /// None where the two things touch: there is no direction.
    pub(crate) fn new(kind: PairKind, x: &[Vec3; 4], closest: &Closest) -> Option<Self> {
        let normal = closest.normal()?;
        let weights = closest.weights;
        let gradient = weights.map(|w| w * normal);
        let (slides, slide_count) = slides(kind, x, &weights);
        Some(Self { gradient, distance: closest.distance, weights, normal, slides, slide_count })
    }

    /// ∇²D.
    pub(crate) fn hessian(&self) -> Block<4> {
        let mut block = Block::ZERO;
        let tangent = Mat3::IDENTITY - outer(self.normal, self.normal);
        for i in 0..4 {
            for j in 0..4 {
                block.0[i][j] = tangent * (self.weights[i] * self.weights[j]);
            }
        }
        for (slide, along) in &self.slides[..self.slide_count] {
            let f: [Vec3; 4] =
                std::array::from_fn(|i| self.weights[i] * *along + slide[i] * self.distance * self.normal);
            block.add_outer(&f, -1.0);
        }
        block * (1.0 / self.distance)
    }

    /// Adds `scale` ≥ 0 times the positive part of −∇²D.
    pub(crate) fn add_positive_part(&self, scale: f64, block: &mut Block<4>) {
        let aa = self.weights.iter().map(|w| w * w).sum::<f64>();
        for (slide, along) in &self.slides[..self.slide_count] {
            let bb = self.distance.powi(2) * slide.iter().map(|w| w * w).sum::<f64>();
            if bb <= 0.0 {
                continue;
            }
            // Eigenvalue λ of [0 αβ; αβ β²] in the basis a/α, b/β; its eigenvector is (αβ, λ).
            let root = (bb * bb + 4.0 * aa * bb).sqrt();
            let lambda = 0.5 * (bb + root);
            let norm_squared = aa * bb + lambda * lambda;
            // a/α·αβ = βa;  b/β·λ
            let (of_a, of_b) = (bb.sqrt(), lambda / bb.sqrt());
            let v: [Vec3; 4] = std::array::from_fn(|i| {
                of_a * self.weights[i] * *along + of_b * slide[i] * self.distance * self.normal
            });
            block.add_outer(&v, scale / self.distance * lambda / norm_squared);
        }
    }
}

/// The free parameters of a region as orthonormal directions eⱼ with their w′ⱼ, and how many there are.
fn slides(kind: PairKind, x: &[Vec3; 4], weights: &[f64; 4]) -> ([([f64; 4], Vec3); 2], usize) {
    let mut found = [([0.0; 4], Vec3::ZERO); 2];
    let mut count = 0;
    let mut add = |slide: [f64; 4], along: Vec3| {
        // Gram–Schmidt on directions and weights alike
        let (mut slide, mut along) = (slide, along);
        if count == 1 {
            let (first_slide, first_along): ([f64; 4], Vec3) = found[0];
            let overlap = along.dot(first_along);
            along -= overlap * first_along;
            slide = std::array::from_fn(|i| slide[i] - overlap * first_slide[i]);
        }
        let length = along.length();
        if length > 0.0 {
            found[count] = (slide.map(|w| w / length), along / length);
            count += 1;
        }
    };
    match kind {
        PairKind::VertexTriangle => {
            // β sums to one: each further corner that takes part can trade weight with the first that does.
            let active: Vec<usize> = (1..4).filter(|&i| weights[i] != 0.0).collect();
            if let Some((&first, rest)) = active.split_first() {
                for &other in rest {
                    let mut slide = [0.0; 4];
                    (slide[first], slide[other]) = (1.0, -1.0);
                    add(slide, x[first] - x[other]);
                }
            }
        }
        PairKind::EdgeEdge => {
            if weights[0] != 0.0 && weights[1] != 0.0 {
                add([-1.0, 1.0, 0.0, 0.0], x[1] - x[0]);
            }
            if weights[2] != 0.0 && weights[3] != 0.0 {
                add([0.0, 0.0, 1.0, -1.0], x[2] - x[3]);
            }
        }
    }
    (found, count)
}

/// a bᵀ.
pub(crate) fn outer(a: Vec3, b: Vec3) -> Mat3 {
    Mat3::from_cols(a * b.x, a * b.y, a * b.z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Random;

    /// The smallest distance over a fine grid of the parameters.
    fn by_search(kind: PairKind, x: &[Vec3; 4]) -> f64 {
        let n = 200;
        let mut best = f64::INFINITY;
        for i in 0..=n {
            for j in 0..=n {
                let (s, t) = (f64::from(i) / f64::from(n), f64::from(j) / f64::from(n));
                let d = match kind {
                    PairKind::VertexTriangle if s + t <= 1.0 + 1e-12 => {
                        x[0] - (x[1] + s * (x[2] - x[1]) + t * (x[3] - x[1]))
                    }
                    PairKind::VertexTriangle => continue,
                    PairKind::EdgeEdge => x[0] + s * (x[1] - x[0]) - x[2] - t * (x[3] - x[2]),
                };
                best = best.min(d.length());
            }
        }
        best
    }

    #[test]
    fn finds_the_smallest_distance_in_every_region() {
        let mut random = Random::new(3);
        let mut regions = std::collections::BTreeSet::new();
        for kind in [PairKind::VertexTriangle, PairKind::EdgeEdge] {
            for _ in 0..400 {
                let x: [Vec3; 4] = std::array::from_fn(|_| random.vec3());
                let found = closest(kind, &x);
                let searched = by_search(kind, &x);
                assert!(
                    found.distance <= searched + 1e-12 && found.distance > searched - 0.02,
                    "{kind:?} {x:?}"
                );
                let again: Vec3 = (0..4).map(|i| found.weights[i] * x[i]).sum();
                assert!(again.distance(found.difference) < 1e-14);
                assert_eq!(found.weights[..kind.split()].iter().sum::<f64>(), 1.0);
                regions.insert((kind, found.weights.map(|w| w != 0.0)));
            }
        }
        assert_eq!(regions.len(), 7 + 9, "{regions:?}");
    }

    #[test]
    fn collapsed_and_parallel_things_have_distances_too() {
        let p = Vec3::new(0.3, 1.0, 0.0);
        let triangle = |a: Vec3, b: Vec3, c: Vec3| closest_vertex_triangle(&[p, a, b, c]).distance;
        assert_eq!(triangle(Vec3::ZERO, Vec3::X, 2.0 * Vec3::X), 1.0);
        assert_eq!(triangle(Vec3::X, Vec3::X, Vec3::X), p.distance(Vec3::X));
        let edges = |u: Vec3, v: Vec3| closest_edge_edge(&[p, p + u, Vec3::ZERO, v]).distance;
        assert_eq!(edges(Vec3::X, Vec3::X), 1.0);
        assert_eq!(edges(Vec3::ZERO, Vec3::X), 1.0);
        assert_eq!(edges(Vec3::ZERO, Vec3::ZERO), p.length());
    }

    /// Around the border between parallel and not, whatever is returned must be near the smallest distance, and its
    /// direction must separate.
    #[test]
    fn nearly_parallel_things_have_good_directions() {
        let mut random = Random::new(4);
        for round in 0..4000 {
            let tilt = 10.0_f64.powi(-(round % 18));
            let (u, apart) = (random.vec3(), random.vec3());
            let r = 0.1 * apart.reject_from(u).normalize_or(Vec3::Y);
            let a = random.vec3();
            let x = [a, a + u, a + r - 0.3 * u, a + r + 0.5 * u + tilt * random.vec3()];
            let nearest = closest_edge_edge(&x);
            let n = nearest.normal().expect("apart");
            let lower = [(0, 2), (0, 3), (1, 2), (1, 3)]
                .map(|(i, j)| n.dot(x[i] - x[j]))
                .into_iter()
                .fold(f64::INFINITY, f64::min);
            assert!(lower > 0.98 * nearest.distance || tilt > 0.05, "{tilt:e}: {lower} {}", nearest.distance);
            assert!((nearest.distance - 0.1).abs() < 2.0 * tilt + 1e-9, "{tilt:e}: {}", nearest.distance);
        }
    }

    #[test]
    fn hessian_is_the_slope_of_the_gradient_and_the_positive_part_bounds_it() {
        let mut random = Random::new(5);
        for kind in [PairKind::VertexTriangle, PairKind::EdgeEdge] {
            for _ in 0..100 {
                let x: [Vec3; 4] = std::array::from_fn(|_| random.vec3());
                let slopes = |x: &[Vec3; 4]| Slopes::new(kind, x, &closest(kind, x)).expect("apart");
                let (here, h) = (slopes(&x), 1e-6);
                let hessian = here.hessian();
                if hessian.max_abs() > 1e3 || here.distance < 0.05 {
                    continue; // differences of step h say nothing there
                }
                for k in 0..12 {
                    let moved = |sign: f64| {
                        let mut y = x;
                        y[k / 3][k % 3] += sign * h;
                        slopes(&y).gradient
                    };
                    let (up, down) = (moved(1.0), moved(-1.0));
                    for i in 0..12 {
                        let difference = (up[i / 3][i % 3] - down[i / 3][i % 3]) / (2.0 * h);
                        let error = (difference - hessian.entry(i, k)).abs();
                        assert!(error < 1e-5 * (1.0 + hessian.max_abs()), "{kind:?} {x:?} {error:e}");
                    }
                }
                let mut positive = Block::ZERO;
                here.add_positive_part(1.0, &mut positive);
                assert!(positive.min_eigenvalue() > -1e-10 * positive.max_abs().max(1e-3));
                positive += hessian; // positive part of −∇²D, minus −∇²D
                assert!(positive.min_eigenvalue() > -1e-9 * positive.max_abs());
            }
        }
    }
}
