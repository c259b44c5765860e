//! The coarse cloth against capsules and planes: its points, and its triangles, so that what is thinner than the mesh is wide, an elbow
//! say, does not slip between points.

use crate::Point;
use crate::collision::Capsule;
use crate::simulator::{Frame, Simulator};
use crate::vector::{add, along, cross, dot, length, lerp, scale, sqrt, sub};

/// Bodies nearer than this, in m, and than twice the way that the fastest point goes, are looked at in a frame.
const REACH: f32 = 0.05;
/// Where points lie on a body, triangles between them are chords, and may dip this part of a radius into what the cloth's thickness adds to it;
/// into the body itself they may not.
const DIP: f32 = 0.15;
/// Triangles are taken for this much larger than they are at rest.
const STRETCHED: f32 = 1.2;
/// Nearest points of an axis and a triangle are sought by turns so often.
const TURNS: usize = 4;

/// Where a triangle is inside a capsule.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Touch {
    /// Weights of the triangle's corners.
    corners: [f32; 3],
    /// In m.
    depth: f32,
    /// The way out, of length one.
    way: Point,
    /// Where along the capsule, 0 to 1.
    along: f32,
}

/// Around a triangle's middle, how far its corners are.
pub(crate) fn triangle_reaches(rest: &[Point], triangles: &[[u32; 3]]) -> impl Iterator<Item = f32> {
    triangles.iter().map(|t| {
        let corners = t.map(|v| rest[v as usize]);
        let middle = middle(corners);
        STRETCHED * corners.iter().map(|p| length(sub(*p, middle))).fold(0.0, f32::max)
    })
}

fn middle([a, b, c]: [Point; 3]) -> Point {
    scale(1.0 / 3.0, add(add(a, b), c))
}

impl Simulator {
    /// Pairs of capsules and points, and of capsules and triangles, that may meet within the next `seconds`.
    pub(crate) fn find_candidates(&mut self, seconds: f32) {
        let speed = self.velocities.iter().map(|v| dot(*v, *v)).fold(0.0, f32::max);
        let reach = self.settings.thickness + REACH + 2.0 * sqrt(speed) * seconds;
        self.candidates.clear();
        self.triangle_candidates.clear();
        let (x, w) = (&self.positions, &self.inverse_masses);
        let [last, now] = &self.capsules;
        for (index, (last, now)) in last.iter().zip(now).enumerate() {
            if now.radii == [0.0, 0.0] {
                continue;
            }
            let ([low, high], [low_now, high_now]) = (last.bounds(reach), now.bounds(reach));
            let low = [0, 1, 2].map(|i| low[i].min(low_now[i]));
            let high = [0, 1, 2].map(|i| high[i].max(high_now[i]));
            for (point, p) in x.iter().enumerate() {
                if w[point] > 0.0 && (0..3).all(|i| low[i] <= p[i] && p[i] <= high[i]) {
                    self.candidates.push((index as u32, point as u32));
                }
            }
            let small = small(now.radii[0].min(now.radii[1]), self.settings.thickness);
            for (triangle, corners) in self.triangles.iter().enumerate() {
                if self.triangle_reaches[triangle] <= small {
                    continue;
                }
                let corners = corners.map(|v| v as usize);
                let near = |i: usize| {
                    let [a, b, c] = corners.map(|v| x[v][i]);
                    low[i] <= a.max(b).max(c) && a.min(b).min(c) <= high[i]
                };
                // where skinning holds a corner, it may have put the triangle inside
                if corners.iter().all(|v| w[*v] > 0.0) && (0..3).all(near) {
                    self.triangle_candidates.push((index as u32, triangle as u32));
                }
            }
        }
    }

    /// Moves points and triangles out of capsules and points out of planes, with friction, in the step from the part `from` to the part `to`
    /// of the frame.
    pub(crate) fn collide(&mut self, from: f32, to: f32, frame: &Frame<'_>) {
        let [last, now] = &self.capsules;
        self.moving.clear();
        self.moving.extend(last.iter().zip(now).map(|(last, now)| {
            let (start, end) = (last.between(now, from), last.between(now, to));
            (end, [sub(end.ends[0], start.ends[0]), sub(end.ends[1], start.ends[1])])
        }));
        let (thickness, friction) = (self.settings.thickness, self.settings.friction);
        for &(capsule, point) in &self.candidates {
            let (capsule, moved) = &self.moving[capsule as usize];
            let i = point as usize;
            if let Some((depth, way, s)) = capsule.depth(self.positions[i], thickness) {
                let carried = lerp(moved[0], moved[1], s);
                self.positions[i] = rub(self.positions[i], self.before[i], carried, way, depth, friction);
            }
        }
        self.collide_triangles(thickness, friction);
        for plane in frame.planes {
            let offset = plane.offset - dot(plane.normal, self.origin);
            for i in 0..self.positions.len() {
                let depth = offset + thickness - dot(plane.normal, self.positions[i]);
                if depth > 0.0 && self.inverse_masses[i] > 0.0 {
                    let (x, before) = (self.positions[i], self.before[i]);
                    self.positions[i] = rub(x, before, [0.0; 3], plane.normal, depth, friction);
                }
            }
        }
    }

    /// Δxᵢ = wᵢ bᵢ/(Σ w b²) Δp moves the deepest point p = Σ bᵢ xᵢ of a triangle as `rub` moves a point.
    fn collide_triangles(&mut self, thickness: f32, friction: f32) {
        let w = &self.inverse_masses;
        for &(capsule, triangle) in &self.triangle_candidates {
            let (capsule, moved) = &self.moving[capsule as usize];
            let points = self.triangles[triangle as usize].map(|v| v as usize);
            let corners = points.map(|v| self.positions[v]);
            let reach = self.triangle_reaches[triangle as usize];
            let Some(touch) = touch(capsule, corners, reach, thickness) else { continue };
            let b = touch.corners;
            let blend = |p: [Point; 3]| add(add(scale(b[0], p[0]), scale(b[1], p[1])), scale(b[2], p[2]));
            let (p, before) = (blend(corners), blend(points.map(|v| self.before[v])));
            let carried = lerp(moved[0], moved[1], touch.along);
            let change = sub(rub(p, before, carried, touch.way, touch.depth, friction), p);
            let sum: f32 = (0..3).map(|k| w[points[k]] * b[k] * b[k]).sum();
            for k in 0..3 {
                let part = w[points[k]] * b[k] / sum;
                self.positions[points[k]] = along(self.positions[points[k]], part, change);
            }
        }
    }
}

/// Where a triangle is deepest in a capsule, but for what chords may. Its corners are within `reach` of its middle.
fn touch(capsule: &Capsule, corners: [Point; 3], reach: f32, thickness: f32) -> Option<Touch> {
    let [a, b] = capsule.ends;
    let axis = sub(b, a);
    let squared = dot(axis, axis);
    let nearest =
        |p: Point| if squared > 0.0 { (dot(sub(p, a), axis) / squared).clamp(0.0, 1.0) } else { 0.0 };
    let largest = capsule.radii[0].max(capsule.radii[1]);
    let middle = middle(corners);
    let mut s = nearest(middle);
    let apart = sub(middle, lerp(a, b, s));
    let far = reach + largest + thickness;
    if dot(apart, apart) >= far * far {
        return None;
    }
    if let Some(touch) = pierced(capsule, corners, thickness) {
        return Some(touch);
    }
    let mut weights = [0.0; 3];
    let mut p = middle;
    for _ in 0..TURNS {
        weights = nearest_on_triangle(lerp(a, b, s), corners);
        p = (0..3).fold([0.0; 3], |sum, k| along(sum, weights[k], corners[k]));
        s = nearest(p);
    }
    let (depth, way, s) = capsule.depth(p, thickness)?;
    let depth = depth - dip(lerp_radius(capsule, s), thickness);
    (depth > 0.0).then_some(Touch { corners: weights, depth, way, along: s })
}

/// How deep a triangle may be inside a body of this radius grown by the cloth's thickness.
fn dip(radius: f32, thickness: f32) -> f32 {
    (DIP * radius).min(thickness)
}

/// A triangle whose reach is at most this dips no deeper than it may, once its corners are outside: half a chord c of a circle of radius R
/// that is d away from it at most has c² = d(2R − d).
fn small(radius: f32, thickness: f32) -> f32 {
    let dip = dip(radius, thickness);
    sqrt(dip * (2.0 * (radius + thickness) - dip))
}

fn lerp_radius(capsule: &Capsule, s: f32) -> f32 {
    capsule.radii[0] + s * (capsule.radii[1] - capsule.radii[0])
}

/// A triangle that the capsule's axis goes through moves along its normal, to the side that is nearer, by no more than the cloth's thickness
/// in a step: what has got through is put back, not thrown.
fn pierced(capsule: &Capsule, corners: [Point; 3], thickness: f32) -> Option<Touch> {
    let [a, b] = capsule.ends;
    let n = cross(sub(corners[1], corners[0]), sub(corners[2], corners[0]));
    let heights = [dot(n, sub(a, corners[0])), dot(n, sub(b, corners[0]))];
    if heights[0] * heights[1] >= 0.0 {
        return None;
    }
    let s = heights[0] / (heights[0] - heights[1]);
    let p = lerp(a, b, s);
    let size = length(n);
    let weight = |k: usize| {
        let (q, r) = (corners[(k + 1) % 3], corners[(k + 2) % 3]);
        dot(n, cross(sub(q, p), sub(r, p))) / (size * size)
    };
    let weights = [weight(0), weight(1), weight(2)];
    // not true of numbers that are none, either
    if !weights.iter().all(|w| *w >= 0.0) {
        return None;
    }
    let depth = |side: f32| {
        (0..2).map(|k| side * heights[k] / size + capsule.radii[k]).fold(0.0, f32::max) + thickness
    };
    let side = if depth(1.0) <= depth(-1.0) { 1.0 } else { -1.0 };
    let depth = depth(side).min(thickness.max(1e-3));
    Some(Touch { corners: weights, depth, way: scale(side / size, n), along: s })
}

/// Weights of the corners at the point of a triangle that is nearest to p (Ericson 2005, §5.1.5).
fn nearest_on_triangle(p: Point, [a, b, c]: [Point; 3]) -> [f32; 3] {
    let (ab, ac) = (sub(b, a), sub(c, a));
    let ap = sub(p, a);
    let (d1, d2) = (dot(ab, ap), dot(ac, ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return [1.0, 0.0, 0.0];
    }
    let bp = sub(p, b);
    let (d3, d4) = (dot(ab, bp), dot(ac, bp));
    if d3 >= 0.0 && d4 <= d3 {
        return [0.0, 1.0, 0.0];
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let v = d1 / (d1 - d3);
        return [1.0 - v, v, 0.0];
    }
    let cp = sub(p, c);
    let (d5, d6) = (dot(ab, cp), dot(ac, cp));
    if d6 >= 0.0 && d5 <= d6 {
        return [0.0, 0.0, 1.0];
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let v = d2 / (d2 - d6);
        return [1.0 - v, 0.0, v];
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        let v = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return [0.0, 1.0 - v, v];
    }
    let sum = va + vb + vc;
    if sum > 0.0 { [va / sum, vb / sum, vc / sum] } else { [1.0, 0.0, 0.0] }
}

/// Out by `depth` along `n`; back along the surface by at most μ times that (Coulomb).
fn rub(x: Point, before: Point, carried: Point, n: Point, depth: f32, friction: f32) -> Point {
    let out = along(x, depth, n);
    let slide = sub(sub(out, before), carried);
    let slide = along(slide, -dot(slide, n), n);
    let way = length(slide);
    if way <= 0.0 { out } else { along(out, -(friction * depth / way).min(1.0), slide) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORNERS: [Point; 3] = [[0.0, 0.0, 0.0], [0.3, 0.02, 0.0], [0.05, 0.25, 0.1]];

    fn at(weights: [f32; 3]) -> Point {
        (0..3).fold([0.0; 3], |sum, k| along(sum, weights[k], CORNERS[k]))
    }

    #[test]
    fn the_nearest_point_of_a_triangle_is_found() {
        for i in 0..300_i32 {
            let f = |k: i32| ((i * k) % 89) as f32 / 89.0 - 0.4;
            let p = [f(31), f(57), f(13)];
            let found = length(sub(p, at(nearest_on_triangle(p, CORNERS))));
            let grid = (0..=60).flat_map(|u| (0..=60 - u).map(move |v| (u as f32 / 60.0, v as f32 / 60.0)));
            let searched =
                grid.map(|(u, v)| length(sub(p, at([1.0 - u - v, u, v])))).fold(f32::INFINITY, f32::min);
            assert!(found <= searched + 1e-6 && found > searched - 6e-3, "{p:?}: {found} {searched}");
        }
    }

    #[test]
    fn a_thin_capsule_between_the_corners_is_felt_and_left() {
        let normal = cross(sub(CORNERS[1], CORNERS[0]), sub(CORNERS[2], CORNERS[0]));
        let normal = scale(1.0 / length(normal), normal);
        let middle = middle(CORNERS);
        let tip = |height: f32| {
            let end = along(middle, height, normal);
            Capsule { ends: [along(end, -0.3, normal), end], radii: [0.05, 0.04] }
        };
        // its tip is 1 cm inside, and the cloth 1 cm thick
        let found = touch(&tip(-0.03), CORNERS, 0.4, 0.01).unwrap();
        assert!((found.depth - (0.02 - DIP * 0.04)).abs() < 1e-5, "{found:?}");
        assert!(
            dot(found.way, normal) > 0.999
                && found.along > 0.999
                && length(sub(at(found.corners), middle)) < 1e-4
        );
        assert_eq!(touch(&tip(-0.05), CORNERS, 0.4, 0.01), None);
        assert_eq!(touch(&tip(-0.045), CORNERS, 0.4, 0.01), None);
        // no part of a radius leads into the body itself
        assert!((touch(&tip(-0.03), CORNERS, 0.4, 0.002).unwrap().depth - 0.01).abs() < 1e-5);
        // gone through, it is put back the shorter way, a little in a step
        let through = touch(&tip(0.02), CORNERS, 0.4, 0.01).unwrap();
        assert!(dot(through.way, normal) > 0.999 && through.depth == 0.01);
        let other =
            Capsule { ends: [along(middle, -0.02, normal), along(middle, 0.3, normal)], radii: [0.04; 2] };
        assert!(dot(touch(&other, CORNERS, 0.4, 0.01).unwrap().way, normal) < -0.999);
    }
}
