//! A surface that can be asked how far away it is and on which side one stands, however broken it is.
//!
//! *Distance* is exact: the closest point over all triangles, through a tree of boxes. *Side* is the generalised winding
//! number, the solid angle of all triangles as seen from the point over 4π,
//!
//! ```text
//! w(q) = 1/4π Σ Ω_t(q),
//! ```
//!
//! which is 1 inside a closed surface and 0 outside, and changes smoothly across holes: no hole, overlap or duplicate can
//! turn it over far away (Jacobson 2013). Far clusters of triangles are replaced by the first two terms of their
//! expansion about their centre c (Barill 2018, "fast winding numbers"): with area vectors aᵢ, centres pᵢ and r = c − q,
//!
//! ```text
//! w ≈ 1/4π ( Σ aᵢ · r/r³ + Σ aᵢ⊗(pᵢ−c) : (I/r³ − 3 r⊗r/r⁵) ).
//! ```

use std::cell::Cell;
use std::f64::consts::PI;

use crate::tree::Tree;
use crate::{Bounds, Error, Mat3, Vec3, closest_on_triangle, triangle_area};

/// A cluster is far when it is this many of its radii away: w is then wrong by a twentieth, and the question is only
/// whether it is above a half.
const FAR: f64 = 2.0;

/// A triangle mesh prepared for queries. Any list of triangles will do: open, non-manifold, degenerate, intersecting.
#[derive(Clone, Debug)]
pub struct SurfaceQuery {
    points: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    tree: Tree,
    /// For every node of the tree.
    clusters: Vec<Cluster>,
}

/// The closest point of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosestPoint {
    /// The triangle it lies on.
    pub triangle: u32,
    /// Weights of the triangle's corners.
    pub weights: [f64; 3],
    /// Where it is.
    pub point: Vec3,
    /// How far away.
    pub distance: f64,
}

/// What far points see of the triangles below a node.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    centre: Vec3,
    radius: f64,
    /// Σ aᵢ.
    area: Vec3,
    /// Σ aᵢ ⊗ (pᵢ − c).
    moment: Mat3,
    /// Σ ‖aᵢ‖.
    weight: f64,
}

impl SurfaceQuery {
    /// Prepares distance and winding number.
    pub fn new(points: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, Error> {
        if triangles.is_empty() {
            return Err(Error::Empty { what: "triangles" });
        }
        if let Some(point) = points.iter().position(|p| !p.is_finite()) {
            return Err(Error::NotFinite { point });
        }
        let count = points.len();
        for (index, triangle) in triangles.iter().enumerate() {
            if let Some(&point) = triangle.iter().find(|&&v| v as usize >= count) {
                return Err(Error::NoSuchPoint { element: "triangle", index, point, count });
            }
        }
        let corners = |t: &[u32; 3]| t.map(|v| points[v as usize]);
        let boxes: Vec<Bounds> = triangles.iter().map(|t| Bounds::of(corners(t))).collect();
        let tree = Tree::new(&boxes);
        let clusters = clusters(&tree, |t| corners(&triangles[t as usize]));
        Ok(Self { points, triangles, tree, clusters })
    }

    /// The points.
    pub fn points(&self) -> &[Vec3] {
        &self.points
    }

    /// The triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The box around all triangles.
    pub fn bounds(&self) -> Bounds {
        self.tree.nodes()[0]
    }

    /// Where the corners of a triangle are.
    pub fn corners(&self, triangle: u32) -> [Vec3; 3] {
        self.triangles[triangle as usize].map(|v| self.points[v as usize])
    }

    /// The closest point of the surface; of equally close ones, that on the triangle with the smallest number.
    pub fn closest(&self, q: Vec3) -> ClosestPoint {
        let squared = |t: u32| crate::triangle_distance_squared(q, self.corners(t));
        // a surface has a triangle, and every distance is below infinity unless the query is not finite itself
        let (triangle, squared) = self.tree.nearest(q, f64::INFINITY, squared).unwrap_or((0, f64::INFINITY));
        let corners = self.corners(triangle);
        let weights = closest_on_triangle(q, corners);
        let point = weights[0] * corners[0] + weights[1] * corners[1] + weights[2] * corners[2];
        ClosestPoint { triangle, weights, point, distance: squared.sqrt() }
    }

    /// How often the surface winds around the point: 1 inside a closed surface whose normals point outwards, −1 when they
    /// point inwards, 0 outside, anything between near holes.
    pub fn winding_number(&self, q: Vec3) -> f64 {
        let sum = Cell::new(0.0);
        let descend = |node: usize| {
            let far = &self.clusters[node];
            let r = far.centre - q;
            let squared = r.length_squared();
            if squared <= (FAR * far.radius).powi(2) {
                return true;
            }
            let moment = &far.moment;
            let trace = moment.x_axis.x + moment.y_axis.y + moment.z_axis.z;
            let seen = far.area.dot(r) + trace - 3.0 * r.dot(*moment * r) / squared;
            sum.set(sum.get() + seen / (squared * squared.sqrt()));
            false
        };
        self.tree.visit(descend, |t| sum.set(sum.get() + solid_angle(q, self.corners(t))));
        sum.get() / (4.0 * PI)
    }

    /// Midway through what is inside of the surface on a ray, the first stretch of it; none where the ray misses.
    pub fn midway_inside(&self, from: Vec3, direction: Vec3) -> Option<Vec3> {
        let way = direction.try_normalize()?;
        let hits = (0..self.triangles.len() as u32).filter_map(|t| ray_hit(from, way, self.corners(t)));
        let mut hits: Vec<f64> = hits.filter(|t| *t > 0.0).collect();
        hits.sort_by(f64::total_cmp);
        let at = |pair: &[f64]| from + 0.5 * (pair[0] + pair[1]) * way;
        let is_inside = |pair: &&[f64]| {
            pair[1] - pair[0] > 1e-9 * self.bounds().diagonal() && self.winding_number(at(pair)).abs() > 0.5
        };
        hits.windows(2).find(is_inside).map(at)
    }

    /// The triangles in parts no larger than `size`, or in the smallest parts that the tree knows.
    pub(crate) fn patches(&self, size: f64) -> Vec<Vec<u32>> {
        let mut patches = Vec::new();
        let mut open = vec![0];
        while let Some(node) = open.pop() {
            if self.tree.leaf_of(node).is_none() && self.tree.nodes()[node].diagonal() > size {
                open.extend([2 * node + 1, 2 * node + 2]);
                continue;
            }
            let mut below = vec![node];
            let mut patch = Vec::new();
            while let Some(node) = below.pop() {
                match self.tree.leaf_of(node) {
                    Some(leaf) => patch.extend_from_slice(self.tree.things(leaf)),
                    None => below.extend([2 * node + 1, 2 * node + 2]),
                }
            }
            patches.push(patch);
        }
        patches
    }

    /// Distance with a sign: below zero where the winding number, of either sign, is nearer to one than to zero.
    pub fn signed_distance(&self, q: Vec3) -> f64 {
        let distance = self.closest(q).distance;
        if self.winding_number(q).abs() > 0.5 { -distance } else { distance }
    }
}

/// Solid angle of a triangle as seen from q; positive when its normal points away from q.
///
/// Van Oosterom & Strackee 1983.
fn solid_angle(q: Vec3, corners: [Vec3; 3]) -> f64 {
    let [a, b, c] = corners.map(|p| p - q);
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let triple = a.dot(b.cross(c));
    let below = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    // on the triangle's own plane, or at a corner, nothing is seen
    if triple == 0.0 { 0.0 } else { 2.0 * triple.atan2(below) }
}

fn clusters(tree: &Tree, corners: impl Fn(u32) -> [Vec3; 3]) -> Vec<Cluster> {
    let nodes = tree.nodes();
    let mut clusters = Vec::with_capacity(nodes.len());
    let centre_of = |[a, b, c]: [Vec3; 3]| (a + b + c) / 3.0;
    for node in (0..nodes.len()).rev() {
        let middle = if nodes[node].is_empty() { Vec3::ZERO } else { nodes[node].centre() };
        let mut sum =
            Cluster { centre: middle, radius: 0.0, area: Vec3::ZERO, moment: Mat3::ZERO, weight: 0.0 };
        let children: Vec<Cluster> = match tree.leaf_of(node) {
            Some(leaf) => tree
                .things(leaf)
                .iter()
                .map(|&t| {
                    let [a, b, c] = corners(t);
                    let centre = centre_of([a, b, c]);
                    let area = 0.5 * (b - a).cross(c - a);
                    Cluster { centre, radius: 0.0, area, moment: Mat3::ZERO, weight: triangle_area(a, b, c) }
                })
                .collect(),
            // filled from the back
            None => [2 * node + 1, 2 * node + 2].map(|child| clusters[nodes.len() - 1 - child]).to_vec(),
        };
        sum.weight = children.iter().map(|child| child.weight).sum();
        if sum.weight > 0.0 {
            sum.centre = children.iter().map(|child| child.weight * child.centre).sum::<Vec3>() / sum.weight;
        }
        for child in &children {
            let d = child.centre - sum.centre;
            sum.area += child.area;
            sum.moment +=
                child.moment + Mat3::from_cols(d.x * child.area, d.y * child.area, d.z * child.area);
        }
        if !nodes[node].is_empty() {
            sum.radius = (nodes[node].max - sum.centre).max(sum.centre - nodes[node].min).length();
        }
        clusters.push(sum);
    }
    clusters.reverse();
    clusters
}

/// How far along a ray of unit length a triangle is (Möller and Trumbore).
fn ray_hit(from: Vec3, way: Vec3, [a, b, c]: [Vec3; 3]) -> Option<f64> {
    let (u, v) = (b - a, c - a);
    let p = way.cross(v);
    let det = u.dot(p);
    if det == 0.0 {
        return None;
    }
    let offset = from - a;
    let q = offset.cross(u);
    let (s, t) = (offset.dot(p) / det, way.dot(q) / det);
    (s >= 0.0 && t >= 0.0 && s + t <= 1.0).then_some(v.dot(q) / det)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::testing::sphere;

    #[test]
    fn midway_inside_is_halfway_between_where_a_ray_enters_and_leaves() {
        let (ball, triangles) = sphere(24);
        // two balls in a row: the first counts
        let mut points = ball.clone();
        points.extend(ball.iter().map(|p| 0.5 * *p + Vec3::new(4.0, 0.0, 0.0)));
        let mut both = triangles.clone();
        both.extend(triangles.iter().map(|t| t.map(|v| v + ball.len() as u32)));
        let surface = SurfaceQuery::new(points, both).unwrap();
        let middle = surface.midway_inside(Vec3::new(-3.0, 0.1, 0.2), Vec3::new(2.0, 0.0, 0.0)).unwrap();
        assert!(middle.distance(Vec3::new(0.0, 0.1, 0.2)) < 0.01, "{middle}");
        let other = surface.midway_inside(Vec3::new(9.0, 0.1, 0.0), Vec3::NEG_X).unwrap();
        assert!(other.distance(Vec3::new(4.0, 0.1, 0.0)) < 0.01, "{other}");
        assert_eq!(surface.midway_inside(Vec3::new(-3.0, 2.0, 0.0), Vec3::X), None);
        assert_eq!(surface.midway_inside(Vec3::new(-3.0, 0.0, 0.0), Vec3::ZERO), None);
    }

    #[test]
    fn the_expansion_is_close_to_the_sum_of_solid_angles_and_to_inside() {
        let (points, triangles) = sphere(24);
        let surface = SurfaceQuery::new(points, triangles.clone()).unwrap();
        let mut random = Random::new(8);
        for _ in 0..300 {
            let q = 1.6 * random.vec3();
            let exact = (0..triangles.len() as u32).map(|t| solid_angle(q, surface.corners(t))).sum::<f64>();
            let w = surface.winding_number(q);
            assert!((w - exact / (4.0 * PI)).abs() < 0.08, "{w} {exact}");
            if (q.length() - 1.0).abs() > 0.02 {
                assert_eq!(w > 0.5, q.length() < 1.0);
                let distance = surface.signed_distance(q);
                // the polyhedron lies within 0.01 of the sphere
                assert!((distance - (q.length() - 1.0)).abs() < 0.01, "{distance} {}", q.length());
            }
        }
    }

    /// An open, crooked bowl far away is one cluster, and the expansion is of third order: what it leaves out falls with the fourth power of
    /// the distance, where the bowl's own solid angle falls with the second.
    #[test]
    fn from_afar_the_error_falls_with_the_fourth_power_of_the_distance() {
        let (points, triangles) = sphere(12);
        let bowl: Vec<[u32; 3]> = triangles
            .iter()
            .copied()
            .filter(|t| t.iter().all(|&v| points[v as usize].dot(Vec3::new(0.7, 0.6, 0.3)) < 0.2))
            .collect();
        let crooked = points.iter().map(|p| Vec3::new(1.0, 0.6, 1.4) * *p).collect();
        let surface = SurfaceQuery::new(crooked, bowl.clone()).unwrap();
        let mut random = Random::new(3);
        for _ in 0..100 {
            let direction = random.rotation() * Vec3::X;
            let error = |distance: f64| {
                let q = distance * direction;
                let exact: f64 = (0..bowl.len() as u32).map(|t| solid_angle(q, surface.corners(t))).sum();
                (4.0 * PI * surface.winding_number(q) - exact).abs() * distance.powi(4)
            };
            // without the moments' share, a third of the area, it would be some 2 distance
            assert!(error(10.0) < 8.0 && error(40.0) < 8.0, "{} {}", error(10.0), error(40.0));
        }
    }

    #[test]
    fn holes_duplicates_and_turned_triangles_do_not_move_the_inside_far_away() {
        let (points, triangles) = sphere(24);
        let holed: Vec<[u32; 3]> =
            triangles.iter().copied().enumerate().filter(|(i, _)| i % 10 != 0).map(|t| t.1).collect();
        let doubled: Vec<[u32; 3]> = triangles.iter().chain(&triangles[..100]).copied().collect();
        let inside_out: Vec<[u32; 3]> = triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
        for list in [holed, doubled, inside_out] {
            let surface = SurfaceQuery::new(points.clone(), list).unwrap();
            for direction in [Vec3::X, Vec3::Y, -Vec3::Z, Vec3::ONE.normalize()] {
                assert!(surface.winding_number(0.7 * direction).abs() > 0.7);
                assert!(surface.winding_number(1.3 * direction).abs() < 0.3);
            }
        }
    }

    #[test]
    fn solid_angles_of_a_cube_corner_and_closest_points() {
        // one octant is an eighth of the sphere
        let angle = solid_angle(Vec3::ZERO, [Vec3::X, Vec3::Y, Vec3::Z]);
        assert!((angle - PI / 2.0).abs() < 1e-14);
        let surface = SurfaceQuery::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]]).unwrap();
        let found = surface.closest(Vec3::new(0.25, 0.25, -2.0));
        assert_eq!((found.triangle, found.distance), (0, 2.0));
        assert!(found.point.distance(Vec3::new(0.25, 0.25, 0.0)) < 1e-15);
        assert_eq!(surface.winding_number(Vec3::new(3.0, 3.0, 0.0)), 0.0);
        assert!(SurfaceQuery::new(vec![Vec3::ZERO], vec![]).is_err());
        assert!(SurfaceQuery::new(vec![Vec3::ZERO], vec![[0, 0, 1]]).is_err());
    }

    #[test]
    fn patches_are_small_and_hold_every_triangle_once() {
        let (points, triangles) = sphere(16);
        let count = triangles.len() as u32;
        let surface = SurfaceQuery::new(points, triangles).unwrap();
        for size in [0.1, 0.5, 10.0] {
            let patches = surface.patches(size);
            let mut all: Vec<u32> = patches.iter().flatten().copied().collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>(), "{size}");
            assert_eq!(patches.len() == 1, size > 4.0);
        }
    }

    /// In the middle of a box all its sides are equally near: the triangle with the smallest number is told.
    #[test]
    fn of_equally_near_triangles_the_first_is_told() {
        let n = 6;
        let cell = |axis: usize, far: bool, i: u32, j: u32| -> [Vec3; 4] {
            let at = |i: u32, j: u32| {
                let (u, v) = (f64::from(i) / 3.0 - 1.0, f64::from(j) / 3.0 - 1.0);
                let mut p = [0.0; 3];
                (p[axis], p[(axis + 1) % 3], p[(axis + 2) % 3]) = (if far { 1.0 } else { -1.0 }, u, v);
                Vec3::from_array(p)
            };
            [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]
        };
        let (mut points, mut triangles) = (Vec::new(), Vec::new());
        for (axis, far) in (0..3).flat_map(|axis| [(axis, true), (axis, false)]) {
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let first = points.len() as u32;
                points.extend(cell(axis, far, i, j));
                triangles.extend([[first, first + 1, first + 2], [first, first + 2, first + 3]]);
            }
        }
        for is_reversed in [false, true] {
            if is_reversed {
                triangles.reverse();
            }
            let surface = SurfaceQuery::new(points.clone(), triangles.clone()).unwrap();
            for q in [
                Vec3::ZERO,
                0.5 * Vec3::X,
                Vec3::new(0.5, -0.5, 0.5),
                Vec3::new(0.0, 2.0, 0.0),
                3.0 * Vec3::ONE,
            ] {
                let squared = |t: u32| crate::triangle_distance_squared(q, surface.corners(t));
                let all = 0..triangles.len() as u32;
                let first = all.min_by(|a, b| squared(*a).total_cmp(&squared(*b)).then(a.cmp(b)));
                assert_eq!(Some(surface.closest(q).triangle), first, "{q}");
            }
        }
    }
}
