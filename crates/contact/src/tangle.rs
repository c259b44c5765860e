//! Starts that are already crossed: which pairs to leave alone, and which way out.
//!
//! A pair that crosses cannot be kept apart, and freezing it would keep it crossed for ever. So pairs around a crossing
//! are *exempt*: no barrier, no continuous detection; instead a force shortens the curve in which the surfaces cut each
//! other, until it vanishes. Around means: triangles that share a corner with the crossing ones, because the curve
//! wanders over to them as it shrinks. Found anew after each step while anything is tangled; where nothing crosses,
//! nothing is exempt, and the guarantee is whole again.
//!
//! Points inside an obstacle whose sides are told apart ([`Sides::Front`]) are led to its surface, and their pairs with
//! it are exempt until they are out.

use std::collections::BTreeSet;
use std::f64::consts::TAU;

use dynamics::{Block, ForceElement};
use geometry::{Mat3, Vec3};
use rayon::prelude::*;

use crate::audit::{Audited, Crossing, audit};
use crate::distance::{Kind, closest_vertex_triangle};
use crate::{Error, Pair, Sides, Surfaces};

/// What is crossed at one moment.
#[derive(Clone, Debug, Default)]
pub struct Tangle {
    /// Pairs of crossing triangles, by their numbers in [`Surfaces`], the smaller first; ascending.
    pub crossings: Vec<[u32; 2]>,
    /// Free points inside a one-sided obstacle, with that obstacle's number; ascending.
    pub inside: Vec<(u32, u32)>,
    /// Triangles around the crossing ones, pair by pair; ascending.
    around: Vec<[u32; 2]>,
}

impl Tangle {
    /// Looks at all surfaces, exactly.
    pub fn find(surfaces: &Surfaces, x: &[Vec3]) -> Result<Self, Error> {
        if x.len() != surfaces.point_count() {
            return Err(Error::Sizes { what: "points", expected: surfaces.point_count(), got: x.len() });
        }
        let mut crossings: Vec<[u32; 2]> = crossings(surfaces, x)?
            .iter()
            .filter_map(|c| surfaces.number(c.first).zip(surfaces.number(c.second)))
            .map(|(a, b)| [a.min(b), a.max(b)])
            .filter(|&[a, b]| interact(surfaces, a, b))
            .collect();
        crossings.sort_unstable();
        let mut around = BTreeSet::new();
        for &[a, b] in &crossings {
            let [ring_a, ring_b] = [a, b].map(|t| ring(surfaces, t));
            for &s in &ring_a {
                around.extend(ring_b.iter().map(|&t| [s.min(t), s.max(t)]));
            }
        }
        let inside = inside(surfaces, x, &crossings);
        Ok(Self { crossings, inside, around: around.into_iter().collect() })
    }

    /// Nothing crosses and nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.crossings.is_empty() && self.inside.is_empty()
    }

    /// Whether a pair is to be left alone.
    pub fn is_exempt(&self, surfaces: &Surfaces, pair: &Pair) -> bool {
        if self.is_empty() {
            return false;
        }
        let tangled = |s: &[u32], t: &[u32]| {
            s.iter().any(|&s| t.iter().any(|&t| self.around.binary_search(&[s.min(t), s.max(t)]).is_ok()))
        };
        let [first, second] = pair.things;
        let near = match pair.kind {
            Kind::VertexTriangle => tangled(surfaces.around_vertex(first), &[second]),
            Kind::EdgeEdge => tangled(surfaces.around_edge(first), surfaces.around_edge(second)),
        };
        near || pair.points.iter().any(|&p| {
            let others = pair.points.iter().map(|&q| surfaces.surface_of(q) as u32);
            others.into_iter().any(|obstacle| self.inside.binary_search(&(p, obstacle)).is_ok())
        })
    }

    /// Forces that shorten the curves in which surfaces cut each other: one for each edge through a triangle, with the
    /// five points it acts on. `strength` in newtons; `speed` in m/s, at which the edge moves relative to the triangle
    /// when nothing else acts.
    pub fn knots(&self, surfaces: &Surfaces, x: &[Vec3], strength: f64, speed: f64) -> Vec<([u32; 5], Knot)> {
        let mut pierced = BTreeSet::new();
        for &[a, b] in &self.crossings {
            for (through, by) in [(a, b), (b, a)] {
                let [p, q, r] = surfaces.triangles()[by as usize];
                for (e0, e1) in [(p, q), (q, r), (r, p)] {
                    pierced.insert(([e0.min(e1), e0.max(e1)], through));
                }
            }
        }
        pierced
            .into_iter()
            .filter_map(|(edge, triangle)| {
                let [a, b, c] = surfaces.triangles()[triangle as usize];
                let knot = knot(surfaces, x, edge, triangle)?;
                Some(([edge[0], edge[1], a, b, c], Knot { strength, speed, ..knot }))
            })
            .collect()
    }

    /// For each point inside an obstacle, the nearest place on its surface: where to lead it.
    pub fn exits(&self, surfaces: &Surfaces, x: &[Vec3]) -> Vec<(u32, Vec3)> {
        let exit = |&(point, obstacle): &(u32, u32)| {
            let p = x[point as usize];
            let mut best = (f64::INFINITY, p);
            for t in triangles_of(surfaces, obstacle) {
                let [a, b, c] = t.map(|v| x[v as usize]);
                let nearest = closest_vertex_triangle(&[p, a, b, c]);
                if nearest.distance < best.0 {
                    best = (nearest.distance, p - nearest.difference);
                }
            }
            (point, best.1)
        };
        self.inside.par_iter().map(exit).collect()
    }
}

/// The exact audit of all surfaces at `x`.
pub(crate) fn crossings(surfaces: &Surfaces, x: &[Vec3]) -> Result<Vec<Crossing>, Error> {
    let places: Vec<Vec<[f64; 3]>> = (0..surfaces.surfaces().len())
        .map(|s| x[surfaces.points_of(s)].iter().map(|p| p.to_array()).collect())
        .collect();
    let audited: Vec<Audited<f64>> = surfaces
        .surfaces()
        .iter()
        .zip(&places)
        .map(|(s, points)| Audited {
            name: &s.name,
            points,
            triangles: &s.triangles,
            is_obstacle: s.is_obstacle,
        })
        .collect();
    audit(&audited)
}

/// Two triangles that may have anything to do with each other: not both known altogether.
fn interact(surfaces: &Surfaces, a: u32, b: u32) -> bool {
    [a, b].iter().any(|&t| surfaces.triangles()[t as usize].iter().any(|&p| surfaces.is_free(p)))
}

/// A triangle and all that share a corner with it.
fn ring(surfaces: &Surfaces, triangle: u32) -> BTreeSet<u32> {
    let corners = surfaces.triangles()[triangle as usize];
    let mut ring: BTreeSet<u32> =
        corners.iter().flat_map(|&v| surfaces.around_vertex(v).iter().copied()).collect();
    ring.insert(triangle);
    ring
}

fn triangles_of(surfaces: &Surfaces, surface: u32) -> impl Iterator<Item = [u32; 3]> {
    let range = surfaces.points_of(surface as usize);
    surfaces.triangles().iter().filter(move |t| range.contains(&(t[0] as usize))).copied()
}

/// Free points inside one-sided obstacles: behind a plane, or where a solid winds around them (holes and overlaps in its
/// surface make the number fractional; a half decides). Points joined by triangles that the solid does not cut are on the
/// same side of it, so one of them is asked for all.
fn inside(surfaces: &Surfaces, x: &[Vec3], crossings: &[[u32; 2]]) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for (number, obstacle) in surfaces.surfaces().iter().enumerate() {
        if !obstacle.is_obstacle || obstacle.sides != Sides::Front {
            continue;
        }
        let corners: Vec<[Vec3; 3]> =
            triangles_of(surfaces, number as u32).map(|t| t.map(|v| x[v as usize])).collect();
        let bounds = geometry::Bounds::of(corners.iter().flatten().copied());
        let is_inside = |p: Vec3| {
            if obstacle.faces_only {
                return corners.iter().all(|[a, b, c]| (*b - *a).cross(*c - *a).dot(p - *a) < 0.0);
            }
            bounds.contains(p) && corners.iter().map(|t| solid_angle(t, p)).sum::<f64>() > 0.5 * 2.0 * TAU
        };
        let is_part = |t: u32| surfaces.surface_of(surfaces.triangles()[t as usize][0]) == number;
        let cut: BTreeSet<u32> =
            crossings.iter().filter(|c| c.iter().any(|&t| is_part(t))).flatten().copied().collect();
        let groups = groups(surfaces, &cut);
        let inner: Vec<bool> = groups.par_iter().map(|group| is_inside(x[group[0] as usize])).collect();
        for (group, _) in groups.iter().zip(inner).filter(|(_, inner)| *inner) {
            found.extend(group.iter().filter(|&&v| surfaces.is_free(v)).map(|&v| (v, number as u32)));
        }
    }
    found.sort_unstable();
    found
}

/// Points of simulated surfaces, grouped by what joins them when the `cut` triangles are taken away.
fn groups(surfaces: &Surfaces, cut: &BTreeSet<u32>) -> Vec<Vec<u32>> {
    let mut seen = vec![false; surfaces.point_count()];
    let mut groups = Vec::new();
    for &seed in surfaces.vertices() {
        if seen[seed as usize] || surfaces.surfaces()[surfaces.surface_of(seed)].is_obstacle {
            continue;
        }
        seen[seed as usize] = true;
        let mut group = vec![seed];
        let mut next = 0;
        while next < group.len() {
            for t in surfaces.around_vertex(group[next]).iter().filter(|t| !cut.contains(t)) {
                for v in surfaces.triangles()[*t as usize] {
                    if !std::mem::replace(&mut seen[v as usize], true) {
                        group.push(v);
                    }
                }
            }
            next += 1;
        }
        groups.push(group);
    }
    groups
}

/// The solid angle of a triangle seen from p, positive from behind: tan(Ω/2) = a·(b×c) / (abc + (a·b)c + (b·c)a +
/// (c·a)b).
fn solid_angle(t: &[Vec3; 3], p: Vec3) -> f64 {
    let [a, b, c] = t.map(|q| q - p);
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    2.0 * a.dot(b.cross(c)).atan2(la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb)
}

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
pub struct Knot {
    /// Where on the edge and on the triangle: (1−s, s, −β₀, −β₁, −β₂).
    pub weights: [f64; 5],
    /// G, at most of length one.
    pub direction: Vec3,
    /// In newtons.
    pub strength: f64,
    /// In m/s.
    pub speed: f64,
}

impl ForceElement<5> for Knot {
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

/// The knot of an edge and a triangle, its strength still open; none if they do not cross transversally.
fn knot(surfaces: &Surfaces, x: &[Vec3], edge: [u32; 2], triangle: u32) -> Option<Knot> {
    let at = |v: u32| x[v as usize];
    let ([e0, e1], [a, b, c]) = (edge.map(at), surfaces.triangles()[triangle as usize].map(at));
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
    let number = surfaces.edges().binary_search(&edge).ok()?;
    let mut direction = Vec3::ZERO;
    for &t in surfaces.around_edge(number as u32) {
        let corners = surfaces.triangles()[t as usize];
        let Some(apex) = corners.into_iter().find(|v| !edge.contains(v)) else { continue };
        let inward = (at(apex) - e0).reject_from_normalized(along);
        let Some(r) = normal.cross(along.cross(inward)).try_normalize() else { continue };
        let r = if r.dot(inward) < 0.0 { -r } else { r };
        direction += r - normal * (along.dot(r) / steep);
    }
    let weights = [1.0 - s, s, -beta[0], -beta[1], -beta[2]];
    Some(Knot { weights, direction: direction.clamp_length_max(1.0), strength: 0.0, speed: 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::folded_sheet;
    use crate::{BroadPhase, Shape, Surface, contacts};

    fn places(surfaces: &Surfaces) -> Vec<Vec3> {
        surfaces.surfaces().iter().flat_map(|s| s.rest_positions.clone()).collect()
    }

    /// Two sheets, the corner of one pushed through the other: moved by the knots alone, and kept in shape by
    /// projecting edges to their lengths, they come apart.
    #[test]
    fn a_pushed_through_corner_comes_out() {
        let (points, triangles) = folded_sheet(6, 1, 0.0);
        let dipped =
            points.iter().map(|p| Vec3::new(0.3 + 0.5 * p.x, 0.15 - 0.4 * p.x * p.z, 0.3 + 0.5 * p.z));
        let other = Surface::free("other", dipped.collect(), triangles.clone());
        let surfaces = Surfaces::new(vec![Surface::free("sheet", points, triangles), other]).unwrap();
        let at_rest = places(&surfaces);
        let mut x = at_rest.clone();
        let mut tangle = Tangle::find(&surfaces, &x).unwrap();
        let begin = tangle.crossings.len();
        assert!(begin > 5);
        let mut rounds = 0;
        while !tangle.crossings.is_empty() && rounds < 400 {
            let still = [Vec3::ZERO; 5];
            for (points, knot) in tangle.knots(&surfaces, &x, 1.0, 1.0) {
                let place = points.map(|p| x[p as usize]);
                for (p, push) in points.into_iter().zip(knot.force(0.0, &place, &still)) {
                    x[p as usize] += 0.004 * push;
                }
            }
            for _ in 0..10 {
                for &[e0, e1] in surfaces.edges() {
                    let (e0, e1) = (e0 as usize, e1 as usize);
                    let (d, rest) = (x[e1] - x[e0], at_rest[e1].distance(at_rest[e0]));
                    let change = 0.5 * (1.0 - rest / d.length()) * d;
                    x[e0] += change;
                    x[e1] -= change;
                }
            }
            tangle = Tangle::find(&surfaces, &x).unwrap();
            rounds += 1;
        }
        assert!(tangle.is_empty(), "{} of {begin} left", tangle.crossings.len());
    }

    #[test]
    fn forces_keep_momentum_and_damp() {
        let knot =
            Knot { weights: [0.3, 0.7, -0.2, -0.3, -0.5], direction: Vec3::X, strength: 2.0, speed: 0.5 };
        let (x, v) = ([Vec3::ZERO; 5], [Vec3::Y, Vec3::ZERO, Vec3::X, Vec3::ZERO, Vec3::Z]);
        let force = knot.force(0.0, &x, &v);
        assert!(force.into_iter().sum::<Vec3>().length() < 1e-15);
        let still = knot.force(0.0, &x, &[Vec3::ZERO; 5]);
        let drag = knot.damping(0.0, &x, &v).multiply(&v);
        for i in 0..5 {
            assert!((still[i] - drag[i] - force[i]).length() < 1e-14, "damping is −df/dv");
        }
    }

    #[test]
    fn pairs_around_a_crossing_are_exempt_and_others_are_not() {
        let (points, triangles) = folded_sheet(10, 1, 0.0);
        let blade =
            vec![Vec3::new(0.21, -0.1, 0.23), Vec3::new(0.25, -0.1, 0.22), Vec3::new(0.22, 0.1, 0.24)];
        let blade = Surface::free("blade", blade, vec![[0, 1, 2]]);
        let surfaces = Surfaces::new(vec![Surface::free("sheet", points, triangles), blade]).unwrap();
        let x = places(&surfaces);
        let tangle = Tangle::find(&surfaces, &x).unwrap();
        let pairs = BroadPhase::new().candidates(&surfaces, &x, &x, 0.02).unwrap();
        let mixed = |p: &Pair| surfaces.surface_of(p.points[0]) != surfaces.surface_of(p.points[3]);
        assert!(pairs.iter().filter(|p| mixed(p)).count() > 5);
        assert!(pairs.iter().all(|p| tangle.is_exempt(&surfaces, p) == mixed(p)));
        assert!(contacts(&surfaces, &pairs, &x, 0.02).iter().any(|c| mixed(&c.pair)));
    }

    /// Joined points are asked together; the answer is that of asking each.
    #[test]
    fn a_sheet_through_a_ball_is_inside_where_it_is() {
        let ball = Shape::Sphere { radius: 0.4 }.surface("ball", 0.05).unwrap();
        let (points, triangles) = folded_sheet(24, 1, 0.1);
        let sheet = points.iter().map(|p| *p - Vec3::splat(0.5) + 0.5 * Vec3::Y).collect();
        let ball = Surface { sides: Sides::Front, ..ball };
        let surfaces = Surfaces::new(vec![Surface::free("sheet", sheet, triangles), ball]).unwrap();
        let x = places(&surfaces);
        let tangle = Tangle::find(&surfaces, &x).unwrap();
        let flat = 0.05_f64.powi(2) / (8.0 * 0.4);
        for (v, p) in x[surfaces.points_of(0)].iter().enumerate() {
            if (p.length() - 0.4).abs() > 2.0 * flat {
                assert_eq!(tangle.inside.contains(&(v as u32, 1)), p.length() < 0.4, "{v} {p}");
            }
        }
        assert!(tangle.inside.len() > 100);
    }

    #[test]
    fn points_inside_a_solid_are_led_out() {
        let ball = Shape::Sphere { radius: 1.0 }.surface("ball", 0.2).unwrap();
        let ball = Surface { sides: Sides::Front, ..ball };
        let leaf = vec![Vec3::new(0.0, 0.7, 0.0), Vec3::new(0.3, 0.6, 0.1), Vec3::new(0.0, 1.6, 0.1)];
        let surfaces = Surfaces::new(vec![Surface::free("leaf", leaf, vec![[0, 1, 2]]), ball]).unwrap();
        let x = places(&surfaces);
        let tangle = Tangle::find(&surfaces, &x).unwrap();
        assert_eq!(tangle.inside, [(0, 1), (1, 1)]);
        assert!(!tangle.crossings.is_empty());
        let exits = tangle.exits(&surfaces, &x);
        assert_eq!(exits.len(), 2);
        for (point, exit) in exits {
            assert!((exit.length() - 1.0).abs() < 0.01);
            assert!(exit.distance(x[point as usize]) < 0.4);
        }
        let far = surfaces.vertex_triangle(0, 50);
        assert!(tangle.is_exempt(&surfaces, &far), "all its pairs with the ball");
    }
}
