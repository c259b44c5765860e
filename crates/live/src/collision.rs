//! What cloth must not enter: capsules of two radii and half-spaces.

use crate::Point;
use crate::vector::{along, dot, length, lerp, scale, sub};

/// A sphere swept along a segment while its radius changes: bones, thighs, a table's leg. In m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule {
    /// Centres of the two ends; a sphere has both at one place.
    pub ends: [Point; 2],
    /// Radii at the two ends. A capsule of no radius at both ends stops nothing.
    pub radii: [f32; 2],
}

impl Capsule {
    /// How deep a point lies inside the capsule grown by `thickness`, and the way out; `None` outside. With it, where along
    /// the segment the nearest sphere is, 0 to 1.
    ///
    /// Spheres around a(s) = a + s u of radius r(s) = r₀ − s sin φ, sin φ = (r₀ − r₁)/l, have a cone as their hull. The way out from a
    /// point at height t along the axis and distance d from it is normal to that cone, and meets the axis at
    /// s = t − d tan φ. Exact, the ends included.
    #[inline]
    pub(crate) fn depth(&self, p: Point, thickness: f32) -> Option<(f32, Point, f32)> {
        let [a, b] = self.ends;
        let [r0, r1] = self.radii;
        if r0 <= 0.0 && r1 <= 0.0 {
            return None;
        }
        let axis = sub(b, a);
        let squared = dot(axis, axis);
        let change = r0 - r1;
        let s = if squared <= change * change {
            // one end lies inside the other
            if change >= 0.0 { 0.0 } else { 1.0 }
        } else {
            let from = sub(p, a);
            let t = dot(from, axis) / squared;
            let across = along(from, -t, axis);
            let tangent = change / crate::vector::sqrt(squared - change * change);
            (t - length(across) * tangent / crate::vector::sqrt(squared)).clamp(0.0, 1.0)
        };
        let out = sub(p, lerp(a, b, s));
        let radius = r0 - s * change + thickness;
        let distance_squared = dot(out, out);
        if distance_squared >= radius * radius {
            return None;
        }
        let distance = crate::vector::sqrt(distance_squared);
        let way = if distance > 1e-9 { scale(1.0 / distance, out) } else { aside(axis) };
        Some((radius - distance, way, s))
    }

    /// How deep a point lies inside the capsule grown by `thickness`, and the way out; `None` outside.
    pub fn way_out(&self, p: Point, thickness: f32) -> Option<(f32, Point)> {
        self.depth(p, thickness).map(|(depth, way, _)| (depth, way))
    }

    /// At the part `t` of the way to a later placement.
    #[inline]
    pub fn between(&self, later: &Self, t: f32) -> Self {
        let ends = [lerp(self.ends[0], later.ends[0], t), lerp(self.ends[1], later.ends[1], t)];
        let radius = |i: usize| self.radii[i] + t * (later.radii[i] - self.radii[i]);
        Self { ends, radii: [radius(0), radius(1)] }
    }

    /// Lowest and highest corner of a box around it, grown by `thickness`.
    pub(crate) fn bounds(&self, thickness: f32) -> [Point; 2] {
        let [a, b] = self.ends;
        let [r, s] = self.radii.map(|radius| radius + thickness);
        [[0, 1, 2].map(|i| (a[i] - r).min(b[i] - s)), [0, 1, 2].map(|i| (a[i] + r).max(b[i] + s))]
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.ends.as_flattened().iter().chain(&self.radii).all(|x| x.is_finite())
    }
}

/// Some direction across `axis`.
fn aside(axis: Point) -> Point {
    let smallest = if axis[0].abs() <= axis[1].abs() { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let across = crate::vector::cross(axis, smallest);
    let size = length(across);
    if size > 1e-12 { scale(1.0 / size, across) } else { [0.0, 1.0, 0.0] }
}

/// A half-space: points x with n·x < offset are inside and pushed out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// The way out, of length one.
    pub normal: Point,
    /// n·x of the surface, in m.
    pub offset: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance to the swept sphere by search over its spheres.
    fn searched(capsule: &Capsule, p: Point) -> f32 {
        (0..=20_000)
            .map(|i| {
                let s = i as f32 / 20_000.0;
                let radius = capsule.radii[0] + s * (capsule.radii[1] - capsule.radii[0]);
                length(sub(p, lerp(capsule.ends[0], capsule.ends[1], s))) - radius
            })
            .fold(f32::INFINITY, f32::min)
    }

    #[test]
    fn depth_is_that_of_the_nearest_sphere() {
        let capsule = Capsule { ends: [[0.0, 0.0, 0.0], [0.0, 1.0, 0.2]], radii: [0.3, 0.1] };
        let mut inside = 0;
        for i in 0..400 {
            let f = |k: i32| ((i * k) % 97) as f32 / 97.0;
            let p = [f(31) - 0.5, 1.6 * f(57) - 0.3, f(13) - 0.4];
            let expected = searched(&capsule, p);
            match capsule.depth(p, 0.0) {
                Some((depth, way, _)) => {
                    inside += 1;
                    assert!((depth + expected).abs() < 1e-4, "{p:?}: {depth} {expected}");
                    // once pushed out it is on the surface
                    assert!(searched(&capsule, along(p, depth, way)).abs() < 1e-4);
                }
                None => assert!(expected > -1e-5, "{p:?} {expected}"),
            }
        }
        assert!(inside > 30);
    }

    #[test]
    fn spheres_and_ends_inside_ends_are_whole() {
        let sphere = Capsule { ends: [[1.0, 0.0, 0.0]; 2], radii: [0.5, 0.5] };
        let (depth, way, _) = sphere.depth([1.0, 0.2, 0.0], 0.0).unwrap();
        assert!((depth - 0.3).abs() < 1e-6 && way == [0.0, 1.0, 0.0]);
        assert!(
            sphere.depth([1.0, 0.0, 0.0], 0.0).is_some_and(|(_, way, _)| (length(way) - 1.0).abs() < 1e-6)
        );
        let nested = Capsule { ends: [[0.0; 3], [0.1, 0.0, 0.0]], radii: [0.1, 0.9] };
        assert!((nested.depth([-0.5, 0.0, 0.0], 0.0).unwrap().0 - 0.3).abs() < 1e-6);
        let none = Capsule { ends: [[0.0; 3], [1.0, 0.0, 0.0]], radii: [0.0, 0.0] };
        assert_eq!(none.depth([0.5, 0.0, 0.0], 0.01), None);
    }
}
