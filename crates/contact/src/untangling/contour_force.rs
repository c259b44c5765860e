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
