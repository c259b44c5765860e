//! The force that shortens the curve in which two surfaces intersect.

use dynamics::{Block, ForceElement};
use geometry::{Mat3, Vec3};

use crate::CollisionMesh;

/// One edge through one triangle, pulled so that the curve of intersection becomes shorter.
///
/// Let E be the edge's direction and N the triangle's normal. In each triangle next to the edge the curve starts at the
/// edge and runs along R, a unit vector in both planes. Moving the edge by D moves the start by D − E (D·N)/(E·N) and
/// changes the curve's length by −R times that: it shrinks fastest for D along
///
/// ```text
/// G = Σ (R − N (E·R)/(E·N)),
/// ```
///
/// over the one or two triangles at the edge. The force is strength · (G − v/speed) on the edge, v its velocity
/// relative to the triangle, and the opposite on the triangle: momentum is kept.
///
/// Volino and Magnenat-Thalmann 2006. Differs: E·N is kept from vanishing, G is at most 1, and the pull is damped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContourForce {
    /// Where on the edge and on the triangle: (1−s, s, −β₀, −β₁, −β₂).
    pub weights: [f64; 5],
    /// G, at most of length one.
    pub direction: Vec3,
    /// In newtons.
    pub strength: f64,
    /// In m/s.
    pub speed: f64,
}

impl ForceElement<5> for ContourForce {
    fn force(&self, _: f64, _: &[Vec3; 5], v: &[Vec3; 5]) -> [Vec3; 5] {
        let relative: Vec3 = (0..5).map(|i| self.weights[i] * v[i]).sum();
        let pull = self.strength * (self.direction - relative / self.speed);
        self.weights.map(|w| w * pull)
    }

    fn damping(&self, _: f64, _: &[Vec3; 5], _: &[Vec3; 5]) -> Block<5> {
        let drag = Mat3::IDENTITY * (self.strength / self.speed);
        let w = &self.weights;
        Block(std::array::from_fn(|i| std::array::from_fn(|j| drag * (w[i] * w[j]))))
    }
}

/// The force on an edge and a triangle, its strength still open; none if they do not cross transversally.
pub(super) fn contour_force(
    mesh: &CollisionMesh,
    x: &[Vec3],
    edge: [u32; 2],
    triangle: u32,
) -> Option<ContourForce> {
    let at = |v: u32| x[v as usize];
    let ([e0, e1], [a, b, c]) = (edge.map(at), mesh.triangles()[triangle as usize].map(at));
    let face = (b - a).cross(c - a);
    let (normal, along) = (face.try_normalize()?, (e1 - e0).try_normalize()?);
    let (h0, h1) = (normal.dot(e0 - a), normal.dot(e1 - a));
    if h0 * h1 >= 0.0 {
        return None;
    }
    let s = h0 / (h0 - h1);
    let p = e0.lerp(e1, s);
    let part = |u: Vec3, v: Vec3| (u - p).cross(v - p).dot(face) / face.length_squared();
    let beta = [part(b, c), part(c, a), part(a, b)];
    if beta.iter().any(|&beta| beta < 0.0) {
        return None;
    }
    // A grazing edge would be sent far along; a twentieth (3°) bounds that.
    let steep = along.dot(normal);
    let steep = steep.signum() * steep.abs().max(0.05);
    let number = mesh.edges().binary_search(&edge).ok()?;
    let mut direction = Vec3::ZERO;
    for &t in mesh.around_edge(number as u32) {
        let corners = mesh.triangles()[t as usize];
        let Some(apex) = corners.into_iter().find(|v| !edge.contains(v)) else { continue };
        let inward = (at(apex) - e0).reject_from_normalized(along);
        let Some(r) = normal.cross(along.cross(inward)).try_normalize() else { continue };
        let r = if r.dot(inward) < 0.0 { -r } else { r };
        direction += r - normal * (along.dot(r) / steep);
    }
    let weights = [1.0 - s, s, -beta[0], -beta[1], -beta[2]];
    Some(ContourForce { weights, direction: direction.clamp_length_max(1.0), strength: 0.0, speed: 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CollisionSurface;
    use geometry::Random;

    /// A floor of one large triangle at y = 0, and sheets of triangles through it.
    fn scene(
        points: &[Vec3],
        triangles: &[[u32; 3]],
        turn: Mat3,
        origin: Vec3,
    ) -> (CollisionMesh, Vec<Vec3>) {
        let floor = [Vec3::new(-3.0, 0.0, -3.0), Vec3::new(-3.0, 0.0, 5.0), Vec3::new(5.0, 0.0, -3.0)];
        let x: Vec<Vec3> = floor.iter().chain(points).map(|p| origin + turn * *p).collect();
        let triangles = [vec![[0, 1, 2]], triangles.iter().map(|t| t.map(|v| v + 3)).collect()].concat();
        (CollisionMesh::new(vec![CollisionSurface::free("all", x.clone(), triangles)]).expect("sound"), x)
    }

    /// A blade in the plane z = 0.2 whose edge leans by its slope dx/dy: the curve starts there and runs along +x, so that G = X − slope·Y, made
    /// a unit vector. Turned over, turned around and turned any way, the same.
    #[test]
    fn the_pull_shortens_the_curve() {
        let mut random = Random::new(81);
        for (slope, s) in [(0.0, 0.25), (1.0, 0.5), (-0.5, 0.75)] {
            for round in 0..8 {
                let (turn, origin) = (random.rotation(), random.vec3());
                let place = |h: f64| Vec3::new(0.1 + slope * h, h, 0.2);
                let mut points = [place(-s), place(1.0 - s), Vec3::new(2.5, -0.4, 0.2)];
                if round % 2 == 1 {
                    points.swap(0, 1);
                }
                let corners = if round % 4 < 2 { [0, 1, 2] } else { [1, 0, 2] };
                let (mesh, x) = scene(&points, &[corners], turn, origin);
                let force = contour_force(&mesh, &x, [3, 4], 0).expect("it goes through");
                let expected = turn * Vec3::new(1.0, -slope, 0.0).normalize();
                assert!(force.direction.distance(expected) < 1e-12, "{slope} {round}: {}", force.direction);
                // both places are one: (1 − s, s) on the edge, β on the floor
                let both: Vec3 =
                    [3, 4, 0, 1, 2].iter().zip(force.weights).map(|(&p, w): (&usize, f64)| w * x[p]).sum();
                assert!(both.length() < 1e-12, "{both}");
                let s = if round % 2 == 1 { 1.0 - s } else { s };
                assert!((force.weights[1] - s).abs() < 1e-12 && (force.weights[0] - (1.0 - s)).abs() < 1e-12);
                assert!((force.weights[2] + force.weights[3] + force.weights[4] + 1.0).abs() < 1e-12);
                assert_eq!((force.strength, force.speed), (0.0, 1.0));
            }
        }
    }

    /// An edge inside a flat sheet moves along it without changing the curve: both sides cancel. Where the sheet is folded they do not.
    #[test]
    fn both_sides_of_an_edge_pull() {
        let edge = [Vec3::new(0.1, -0.5, 0.2), Vec3::new(0.1, 0.5, 0.2)];
        let at = |side: Vec3| {
            let points = [edge[0], edge[1], Vec3::new(2.0, 0.0, 0.2), Vec3::new(0.1, 0.1, 0.2) + side];
            let (mesh, x) = scene(&points, &[[0, 1, 2], [1, 0, 3]], Mat3::IDENTITY, Vec3::ZERO);
            contour_force(&mesh, &x, [3, 4], 0).expect("it goes through").direction
        };
        assert!(at(-Vec3::X).length() < 1e-12, "flat");
        let folded = at(Vec3::Z);
        assert!(folded.distance(Vec3::new(1.0, 0.0, 1.0).normalize()) < 1e-12, "{folded}");
        let sharp = at(Vec3::new(-1.0, 0.0, 0.1));
        let r = Vec3::X + Vec3::new(-1.0, 0.0, 0.1).normalize();
        assert!(sharp.distance(r) < 1e-12 && r.length() < 1.0, "{sharp}: not made longer");
    }

    /// A grazing edge is not sent far along: E·N counts as a twentieth at least.
    #[test]
    fn a_grazing_edge_is_bounded_and_what_does_not_cross_has_no_force() {
        let graze = 0.01;
        let points = [Vec3::new(0.0, -graze, 0.2), Vec3::new(1.0, graze, 0.2), Vec3::new(1.0, -0.5, 0.2)];
        let (mesh, x) = scene(&points, &[[0, 1, 2]], Mat3::IDENTITY, Vec3::ZERO);
        let force = contour_force(&mesh, &x, [3, 4], 0).expect("it goes through");
        let along = Vec3::new(1.0, 2.0 * graze, 0.0).normalize();
        // N = Y: R = ±X, G = R − N (E·R)/0.05
        let expected = Vec3::new(1.0, -along.x / 0.05, 0.0).normalize();
        assert!(force.direction.distance(expected) < 1e-12, "{}", force.direction);
        for points in [
            [Vec3::new(0.0, 0.1, 0.2), Vec3::new(0.1, 0.5, 0.2), Vec3::new(1.0, 0.5, 0.2)],
            [Vec3::new(7.0, -0.5, 0.2), Vec3::new(7.0, 0.5, 0.2), Vec3::new(8.0, 0.5, 0.2)],
            [Vec3::new(0.0, 0.5, -4.0), Vec3::new(0.0, -0.5, -4.0), Vec3::new(8.0, 0.5, 0.2)],
            [Vec3::new(-4.0, 0.5, 0.0), Vec3::new(-4.0, -0.5, 0.0), Vec3::new(8.0, 0.5, 0.2)],
            [Vec3::new(0.0, 0.0, 0.2), Vec3::new(0.0, 0.5, 0.2), Vec3::new(8.0, 0.5, 0.2)],
        ] {
            let (mesh, x) = scene(&points, &[[0, 1, 2]], Mat3::IDENTITY, Vec3::ZERO);
            assert_eq!(contour_force(&mesh, &x, [3, 4], 0), None, "{points:?}");
        }
    }

    /// f = strength·(G − v/speed): at v = speed·G nothing is left.
    #[test]
    fn the_pull_ends_at_its_speed() {
        let force = ContourForce {
            weights: [0.25, 0.75, -0.5, -0.25, -0.25],
            direction: Vec3::new(0.6, 0.0, 0.8),
            strength: 3.0,
            speed: 0.5,
        };
        let x = [Vec3::ZERO; 5];
        let still = force.force(0.0, &x, &x);
        for i in 0..5 {
            assert!(still[i].distance(3.0 * force.weights[i] * force.direction) < 1e-15);
        }
        let v = 0.5 * force.direction;
        let moving = force.force(0.0, &x, &[v, v, Vec3::ZERO, Vec3::ZERO, Vec3::ZERO]);
        assert!(moving.iter().all(|f| f.length() < 1e-15));
        let drag = force.damping(0.0, &x, &x);
        for (i, j) in (0..5).flat_map(|i| (0..5).map(move |j| (i, j))) {
            let expected = Mat3::IDENTITY * (6.0 * force.weights[i] * force.weights[j]);
            assert!((drag.0[i][j] - expected).abs_diff_eq(Mat3::ZERO, 1e-15));
        }
    }

    /// Through the very rim or corner of a triangle is through it: whoever left such edges alone would leave them for good.
    #[test]
    fn an_edge_through_the_rim_is_pulled() {
        for place in [Vec3::new(0.0, 0.0, -3.0), Vec3::new(-3.0, 0.0, 0.0), Vec3::new(1.0, 0.0, 1.0)] {
            let points = [place - 0.5 * Vec3::Y, place + 0.5 * Vec3::Y, place + Vec3::new(1.0, 0.3, 0.5)];
            let (mesh, x) = scene(&points, &[[0, 1, 2]], Mat3::IDENTITY, Vec3::ZERO);
            let force = contour_force(&mesh, &x, [3, 4], 0).expect("it goes through");
            assert!(force.weights[2..].contains(&0.0), "{:?}", force.weights);
        }
    }
}
