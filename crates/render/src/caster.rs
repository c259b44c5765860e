//! Rays against triangles, through the `obvhs` crate's bounding volume hierarchy.
//!
//! Building runs on one thread and traversal order depends on the ray alone, so the same triangles and the same ray
//! give the same answer to the bit, whatever the number of threads.

use glam::{Vec3, Vec3A};
use obvhs::aabb::Aabb;
use obvhs::bvh2::Bvh2;
use obvhs::bvh2::reinsertion::ReinsertionOptimizer;
use obvhs::ploc::{PlocBuilder, PlocSearchDistance, SortPrecision};
use obvhs::ray::{Ray, RayHit};

/// Triangles ready for rays.
pub(crate) struct Caster {
    hierarchy: Bvh2,
    /// In the hierarchy's order, so that neighbours in space are neighbours in memory.
    triangles: Vec<Edges>,
    /// Index among the triangles given, for each in the hierarchy's order.
    given: Vec<u32>,
}

/// A triangle as its first corner and the two edges from it.
#[derive(Clone, Copy)]
struct Edges {
    corner: Vec3A,
    e1: Vec3A,
    e2: Vec3A,
}

/// Where a ray meets a triangle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// Index among the triangles given.
    pub(crate) triangle: usize,
    /// Distance in units of the ray's direction.
    pub(crate) distance: f32,
    /// Barycentric weights of the three corners.
    pub(crate) weights: [f32; 3],
}

impl Edges {
    /// Barycentric coordinates of the second and third corner and the distance (Möller and Trumbore 1997).
    ///
    /// Points up to a ten-thousandth of the triangle outside still count, so that no ray slips between two triangles
    /// that share an edge: rounding of a far origin moves small triangles by about that much.
    #[inline(always)]
    fn meet(&self, origin: Vec3A, direction: Vec3A) -> Option<(f32, f32, f32)> {
        const SLACK: f32 = 1e-4;
        let p = direction.cross(self.e2);
        let inverse = 1.0 / self.e1.dot(p);
        let from_corner = origin - self.corner;
        let u = from_corner.dot(p) * inverse;
        let q = from_corner.cross(self.e1);
        let v = direction.dot(q) * inverse;
        // a degenerate triangle gives NaN or infinity, which fail here
        (u >= -SLACK && v >= -SLACK && u + v <= 1.0 + SLACK).then(|| (u, v, self.e2.dot(q) * inverse))
    }

    #[inline(always)]
    fn distance(&self, ray: &Ray) -> f32 {
        match self.meet(ray.origin, ray.direction) {
            Some((_, _, t)) if t >= ray.tmin && t <= ray.tmax => t,
            _ => f32::INFINITY,
        }
    }
}

impl Caster {
    /// Builds the hierarchy. Corners must be finite.
    pub(crate) fn new(corners: &[[Vec3; 3]]) -> Self {
        let boxes: Vec<Aabb> = corners.iter().map(|t| Aabb::from_points(&t.map(Vec3A::from))).collect();
        let indices = (0..corners.len() as u32).collect();
        let mut hierarchy = PlocBuilder::with_capacity(boxes.len()).build(
            PlocSearchDistance::Low,
            &boxes,
            indices,
            SortPrecision::U64,
            2,
        );
        ReinsertionOptimizer::default().run(&mut hierarchy, 0.02, None);
        let given = hierarchy.primitive_indices.clone();
        let edges = |&index: &u32| {
            let [a, b, c] = corners[index as usize].map(Vec3A::from);
            Edges { corner: a, e1: b - a, e2: c - a }
        };
        let triangles = given.iter().map(edges).collect();
        Self { hierarchy, triangles, given }
    }

    /// The first triangle on the ray at `near` or beyond.
    #[inline]
    pub(crate) fn nearest(&self, origin: Vec3, direction: Vec3, near: f32) -> Option<Hit> {
        let ray = Ray::new(origin.into(), direction.into(), near, f32::MAX);
        let mut found = RayHit::none();
        if !self.hierarchy.ray_traverse(ray, &mut found, |ray, index| self.triangles[index].distance(ray)) {
            return None;
        }
        let index = found.primitive_id as usize;
        let (u, v, distance) = self.triangles[index].meet(ray.origin, ray.direction)?;
        let (u, v) = (u.clamp(0.0, 1.0), v.clamp(0.0, 1.0));
        let triangle = self.given[index] as usize;
        Some(Hit { triangle, distance, weights: [(1.0 - u - v).max(0.0), u, v] })
    }

    /// Whether anything lies on the ray up to `far`.
    #[inline]
    pub(crate) fn blocked(&self, origin: Vec3, direction: Vec3, far: f32) -> bool {
        let ray = Ray::new(origin.into(), direction.into(), 0.0, far);
        !self.hierarchy.ray_traverse_miss(ray, |ray, index| self.triangles[index].distance(ray))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(n: usize) -> Vec<[Vec3; 3]> {
        let at = |i: usize, j: usize| Vec3::new(i as f32, 0.0, j as f32);
        let cell =
            |(i, j)| [[at(i, j), at(i, j + 1), at(i + 1, j)], [at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)]];
        (0..n * n).map(|k| (k / n, k % n)).flat_map(cell).collect()
    }

    #[test]
    fn no_ray_slips_between_triangles() {
        let caster = Caster::new(&grid(16));
        for i in 1..64 {
            for j in 1..64 {
                // many of these pass exactly through edges and corners
                let origin = Vec3::new(i as f32 * 0.25, 1.0, j as f32 * 0.25);
                for direction in [Vec3::NEG_Y, Vec3::new(1e-6, -1.0, -1e-6), Vec3::new(0.1, -1.0, 0.1)] {
                    assert!(caster.nearest(origin, direction, 0.0).is_some(), "{origin} {direction}");
                }
            }
        }
    }

    #[test]
    fn finds_the_nearest_and_its_place() {
        let lower = [Vec3::ZERO, Vec3::X, Vec3::Z];
        let upper = lower.map(|p| p + Vec3::Y);
        let caster = Caster::new(&[lower, upper]);
        let hit = caster.nearest(Vec3::new(0.25, 3.0, 0.5), Vec3::NEG_Y, 0.0).expect("hits");
        assert_eq!((hit.triangle, hit.distance, hit.weights), (1, 2.0, [0.25, 0.25, 0.5]));
        let hit = caster.nearest(Vec3::new(0.25, 3.0, 0.5), Vec3::NEG_Y, 2.5).expect("hits");
        assert_eq!(hit.triangle, 0);
        assert!(caster.blocked(Vec3::new(0.1, 0.5, 0.1), Vec3::Y, 1.0));
        assert!(!caster.blocked(Vec3::new(0.1, 0.5, 0.1), Vec3::Y, 0.4), "beyond the reach");
    }

    #[test]
    fn nothing_and_coincident_triangles_are_fine() {
        assert!(Caster::new(&[]).nearest(Vec3::ZERO, Vec3::Y, 0.0).is_none());
        let point = Caster::new(&[[Vec3::ZERO; 3]]);
        assert!(!point.blocked(Vec3::NEG_Y, Vec3::Y, 9.0), "a point has no area");
        let same = Caster::new(&vec![[Vec3::ZERO, Vec3::X, Vec3::Z]; 3000]);
        assert!(same.blocked(Vec3::new(0.2, -1.0, 0.2), Vec3::Y, 9.0));
    }
}
