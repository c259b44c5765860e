//! Starts that are already crossed: which pairs to leave alone, and which way out.
//!
//! A pair that crosses cannot be kept apart, and freezing it would keep it crossed for ever. So pairs around a crossing
//! are *exempt*: no barrier, no continuous detection; instead a force shortens the curve in which the surfaces cut each
//! other, until it vanishes. Around means: triangles that share a corner with the crossing ones, because the curve
//! wanders over to them as it shrinks. Found anew after each step while anything intersects; where nothing crosses,
//! nothing is exempt, and the guarantee is whole again.
//!
//! Points inside an obstacle whose sides are told apart ([`Sides::Front`]), or inside a solid one that most of their piece is outside of,
//! are led to its surface, and their pairs with it are exempt until they are out. Pinned ones cannot be: see [`Exemptions`].

mod contour_force;
mod exemptions;

use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::TAU;

use geometry::Vec3;
use rayon::prelude::*;

use crate::audit::{AuditedSurface, Crossing, audit};
use crate::distance::{PairKind, closest_vertex_triangle};
use crate::{CollisionMesh, CollisionSurface, Error, Pair, Sides};
use contour_force::contour_force;

pub use contour_force::ContourForce;
pub use exemptions::Exemptions;

/// Holes of a surface that has an inside, as a share of its area: half of it in a bowl, a few hundredths in a body without a head.
const MAX_OPENING: f64 = 0.25;

/// Intersections of surfaces at one time.
#[derive(Clone, Debug, Default)]
pub struct Intersections {
    /// Pairs of crossing triangles, by their numbers in [`CollisionMesh`], the smaller first; ascending.
    pub crossings: Vec<[u32; 2]>,
    /// Free points to be led out of an obstacle, with that obstacle's number; ascending.
    pub inside: Vec<(u32, u32)>,
    /// Triangles around the crossing ones, pair by pair; ascending.
    around: Vec<[u32; 2]>,
}

impl Intersections {
    /// Looks at all surfaces, exactly; but for what is exempt.
    pub fn find(mesh: &CollisionMesh, x: &[Vec3], exemptions: &Exemptions) -> Result<Self, Error> {
        if x.len() != mesh.point_count() {
            return Err(Error::Sizes { what: "points", expected: mesh.point_count(), got: x.len() });
        }
        let mut crossings: Vec<[u32; 2]> = crossings(mesh, x)?
            .iter()
            .filter_map(|c| mesh.number(c.first).zip(mesh.number(c.second)))
            .map(|(a, b)| [a.min(b), a.max(b)])
            .filter(|&[a, b]| interact(mesh, a, b))
            .collect();
        crossings.sort_unstable();
        let inside = inside(mesh, x, &crossings, exemptions);
        crossings.retain(|&[a, b]| !exemptions.excuses(mesh, a, b));
        let mut around = BTreeSet::new();
        for &[a, b] in &crossings {
            let [ring_a, ring_b] = [a, b].map(|t| ring(mesh, t));
            for &s in &ring_a {
                around.extend(ring_b.iter().map(|&t| [s.min(t), s.max(t)]));
            }
        }
        Ok(Self { crossings, inside, around: around.into_iter().collect() })
    }

    /// Nothing crosses and nothing is inside.
    pub fn is_empty(&self) -> bool {
        self.crossings.is_empty() && self.inside.is_empty()
    }

    /// Whether a pair is to be left alone.
    pub fn is_exempt(&self, mesh: &CollisionMesh, pair: &Pair) -> bool {
        if self.is_empty() {
            return false;
        }
        let is_around = |s: &[u32], t: &[u32]| {
            s.iter().any(|&s| t.iter().any(|&t| self.around.binary_search(&[s.min(t), s.max(t)]).is_ok()))
        };
        let [first, second] = pair.primitives;
        let near = match pair.kind {
            PairKind::VertexTriangle => is_around(mesh.around_vertex(first), &[second]),
            PairKind::EdgeEdge => is_around(mesh.around_edge(first), mesh.around_edge(second)),
        };
        near || pair.points.iter().any(|&p| {
            let others = pair.points.iter().map(|&q| mesh.surface_of(q) as u32);
            others.into_iter().any(|obstacle| self.inside.binary_search(&(p, obstacle)).is_ok())
        })
    }

    /// Forces that shorten the curves in which surfaces cut each other: one for each edge through a triangle, with the
    /// five points it acts on. `strength` in newtons; `speed` in m/s, at which the edge moves relative to the triangle
    /// when nothing else acts.
    pub fn contour_forces(
        &self,
        mesh: &CollisionMesh,
        x: &[Vec3],
        strength: f64,
        speed: f64,
    ) -> Vec<([u32; 5], ContourForce)> {
        let mut pierced = BTreeSet::new();
        for &[a, b] in &self.crossings {
            for (through, by) in [(a, b), (b, a)] {
                let [p, q, r] = mesh.triangles()[by as usize];
                for (e0, e1) in [(p, q), (q, r), (r, p)] {
                    pierced.insert(([e0.min(e1), e0.max(e1)], through));
                }
            }
        }
        pierced
            .into_iter()
            .filter_map(|(edge, triangle)| {
                let [a, b, c] = mesh.triangles()[triangle as usize];
                let force = contour_force(mesh, x, edge, triangle)?;
                Some(([edge[0], edge[1], a, b, c], ContourForce { strength, speed, ..force }))
            })
            .collect()
    }

    /// For each point inside an obstacle, where to lead it: the nearest place on its surface, and `margin` metres beyond, so that it
    /// does arrive outside.
    pub fn exits(&self, mesh: &CollisionMesh, x: &[Vec3], margin: f64) -> Vec<(u32, Vec3)> {
        // every point asks every triangle of its obstacle: those whose sphere is further than the best so far need no closer look
        let mut obstacles: Vec<u32> = self.inside.iter().map(|(_, obstacle)| *obstacle).collect();
        obstacles.sort_unstable();
        obstacles.dedup();
        let ball = |t: [u32; 3]| {
            let corners = t.map(|v| x[v as usize]);
            let centre = corners.into_iter().sum::<Vec3>() / 3.0;
            let radius = corners.map(|corner| corner.distance(centre)).into_iter().fold(0.0, f64::max);
            (corners, centre, radius)
        };
        let balls: BTreeMap<u32, Vec<([Vec3; 3], Vec3, f64)>> =
            obstacles.into_iter().map(|o| (o, triangles_of(mesh, o).map(ball).collect())).collect();
        let exit = |&(point, obstacle): &(u32, u32)| {
            let p = x[point as usize];
            let mut best = (f64::INFINITY, p);
            for &([a, b, c], centre, radius) in &balls[&obstacle] {
                // with room for rounding, so that the nearest is the same to the bit
                if p.distance(centre) > (1.0 + 1e-9) * (best.0 + radius) {
                    continue;
                }
                let nearest = closest_vertex_triangle(&[p, a, b, c]);
                if nearest.distance < best.0 {
                    let out = (b - a).cross(c - a).normalize_or_zero();
                    best = (nearest.distance, p - nearest.difference + margin * out);
                }
            }
            (point, best.1)
        };
        self.inside.par_iter().map(exit).collect()
    }
}

/// The exact audit of all surfaces at `x`.
pub(crate) fn crossings(mesh: &CollisionMesh, x: &[Vec3]) -> Result<Vec<Crossing>, Error> {
    let places: Vec<Vec<[f64; 3]>> = (0..mesh.surfaces().len())
        .map(|s| x[mesh.points_of(s)].iter().map(|p| p.to_array()).collect())
        .collect();
    let audited: Vec<AuditedSurface<f64>> = mesh
        .surfaces()
        .iter()
        .zip(&places)
        .map(|(s, points)| AuditedSurface {
            name: &s.name,
            points,
            triangles: &s.triangles,
            is_obstacle: s.is_obstacle,
        })
        .collect();
    audit(&audited)
}

/// Two triangles that may have anything to do with each other: not both known altogether, nor of a surface that may cross itself.
fn interact(mesh: &CollisionMesh, a: u32, b: u32) -> bool {
    let [first, second] = [a, b].map(|t| mesh.triangles()[t as usize]);
    let (of_a, of_b) = (mesh.surface_of(first[0]), mesh.surface_of(second[0]));
    (of_a != of_b || mesh.surfaces()[of_a].self_contact)
        && first.into_iter().chain(second).any(|p| mesh.is_free(p))
}

/// A triangle and all that share a corner with it.
fn ring(mesh: &CollisionMesh, triangle: u32) -> BTreeSet<u32> {
    let corners = mesh.triangles()[triangle as usize];
    let mut ring: BTreeSet<u32> =
        corners.iter().flat_map(|&v| mesh.around_vertex(v).iter().copied()).collect();
    ring.insert(triangle);
    ring
}

fn triangles_of(mesh: &CollisionMesh, surface: u32) -> impl Iterator<Item = [u32; 3]> {
    let range = mesh.points_of(surface as usize);
    mesh.triangles().iter().filter(move |t| range.contains(&(t[0] as usize))).copied()
}

/// Free points to be led out of obstacles: those inside one-sided ones, and inside solid ones that most of their piece is outside of.
/// Points joined by triangles that the obstacle does not cut are on the same side of it, so one of them is asked for all.
fn inside(
    mesh: &CollisionMesh,
    x: &[Vec3],
    crossings: &[[u32; 2]],
    exemptions: &Exemptions,
) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for (number, obstacle) in mesh.surfaces().iter().enumerate().filter(|(_, s)| s.is_obstacle) {
        let is_part = |t: u32| mesh.surface_of(mesh.triangles()[t as usize][0]) == number;
        let cut: BTreeSet<u32> =
            crossings.iter().filter(|c| c.iter().any(|&t| is_part(t))).flatten().copied().collect();
        let leads_out = obstacle.sides == Sides::Front;
        // from both sides alike, what nothing crosses is where it belongs
        if !leads_out && (cut.is_empty() || !is_solid(mesh, x, number)) {
            continue;
        }
        let corners: Vec<[Vec3; 3]> =
            triangles_of(mesh, number as u32).map(|t| t.map(|v| x[v as usize])).collect();
        let bounds = geometry::Bounds::of(corners.iter().flatten().copied());
        let is_cut = |t: u32| cut.contains(&t) || exemptions.has_corner(mesh, t, number as u32);
        let groups = groups(mesh, is_cut);
        let is_inside = |group: &Vec<u32>| is_inside(obstacle, &corners, &bounds, x[group[0] as usize]);
        let inner: Vec<bool> = groups.par_iter().map(is_inside).collect();
        let mostly_outside = if leads_out { Vec::new() } else { mostly_outside(mesh, &groups, &inner) };
        for (group, _) in groups.iter().zip(inner).filter(|(_, inner)| *inner) {
            let is_led = |v: u32| mesh.is_free(v) && (leads_out || mostly_outside[v as usize]);
            found.extend(group.iter().filter(|&&v| is_led(v)).map(|&v| (v, number as u32)));
        }
    }
    found.sort_unstable();
    found
}

/// Whether a point is behind a plane, or where a solid winds around it (holes and overlaps in its surface make the number fractional; a
/// half decides).
fn is_inside(obstacle: &CollisionSurface, corners: &[[Vec3; 3]], bounds: &geometry::Bounds, p: Vec3) -> bool {
    if obstacle.faces_only {
        return corners.iter().all(|[a, b, c]| (*b - *a).cross(*c - *a).dot(p - *a) < 0.0);
    }
    bounds.contains(p) && corners.iter().map(|t| solid_angle(t, p)).sum::<f64>() > 0.5 * 2.0 * TAU
}

/// Whether a surface has an inside: it is closed, or its holes, each counted as a disc of the same circumference, are small beside it. Bodies of
/// characters are open where a head or a hand was put on.
fn is_solid(mesh: &CollisionMesh, x: &[Vec3], surface: usize) -> bool {
    let range = mesh.points_of(surface);
    let is_rim = |e: &u32| mesh.around_edge(*e).len() == 1;
    let own =
        (0..mesh.edges().len() as u32).filter(|&e| range.contains(&(mesh.edges()[e as usize][0] as usize)));
    let rims: Vec<[u32; 2]> = own.filter(is_rim).map(|e| mesh.edges()[e as usize]).collect();
    if rims.is_empty() {
        return true;
    }
    let area = |[a, b, c]: [u32; 3]| {
        let [a, b, c] = [a, b, c].map(|v| x[v as usize]);
        0.5 * (b - a).cross(c - a).length()
    };
    let whole: f64 = triangles_of(mesh, surface as u32).map(area).sum();
    let disc = |length: f64| length * length / (2.0 * TAU);
    circumferences(&rims, x).into_iter().map(disc).sum::<f64>() < MAX_OPENING * whole
}

/// The lengths of what edges join to.
fn circumferences(edges: &[[u32; 2]], x: &[Vec3]) -> Vec<f64> {
    let mut around = BTreeMap::<u32, Vec<u32>>::new();
    for &[a, b] in edges {
        around.entry(a).or_default().push(b);
        around.entry(b).or_default().push(a);
    }
    let (mut seen, mut lengths) = (BTreeSet::new(), Vec::new());
    for &seed in around.keys() {
        let (mut length, mut open) = (0.0, vec![seed]);
        while let Some(v) = open.pop() {
            if !seen.insert(v) {
                continue;
            }
            for &other in &around[&v] {
                // from either end once
                length += 0.5 * x[v as usize].distance(x[other as usize]);
                open.push(other);
            }
        }
        lengths.push(length);
    }
    lengths
}

/// For each point, whether less than half of the piece that it belongs to is inside.
fn mostly_outside(mesh: &CollisionMesh, groups: &[Vec<u32>], inner: &[bool]) -> Vec<bool> {
    let mut is_inner = vec![false; mesh.point_count()];
    for (group, _) in groups.iter().zip(inner).filter(|(_, inner)| **inner) {
        group.iter().for_each(|&v| is_inner[v as usize] = true);
    }
    let mut outside = vec![false; mesh.point_count()];
    for piece in self::groups(mesh, |_| false) {
        let inside = piece.iter().filter(|&&v| is_inner[v as usize]).count();
        piece.iter().for_each(|&v| outside[v as usize] = 2 * inside < piece.len());
    }
    outside
}

/// Points of simulated surfaces, grouped by what joins them when triangles that are cut are taken away.
fn groups(mesh: &CollisionMesh, is_cut: impl Fn(u32) -> bool) -> Vec<Vec<u32>> {
    let mut seen = vec![false; mesh.point_count()];
    let mut groups = Vec::new();
    for &seed in mesh.vertices() {
        if seen[seed as usize] || mesh.surfaces()[mesh.surface_of(seed)].is_obstacle {
            continue;
        }
        seen[seed as usize] = true;
        let mut group = vec![seed];
        let mut next = 0;
        while next < group.len() {
            for t in mesh.around_vertex(group[next]).iter().filter(|t| !is_cut(**t)) {
                for v in mesh.triangles()[*t as usize] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::folded_sheet;
    use crate::{BroadPhase, CollisionSurface, Shape, contacts};
    use dynamics::ForceElement;

    fn places(mesh: &CollisionMesh) -> Vec<Vec3> {
        mesh.surfaces().iter().flat_map(|s| s.rest_positions.clone()).collect()
    }

    /// Two sheets, the corner of one pushed through the other: moved by the contour forces alone, and kept in shape by
    /// projecting edges to their lengths, they come apart.
    #[test]
    fn a_pushed_through_corner_comes_out() {
        let (points, triangles) = folded_sheet(6, 1, 0.0);
        let dipped =
            points.iter().map(|p| Vec3::new(0.3 + 0.5 * p.x, 0.15 - 0.4 * p.x * p.z, 0.3 + 0.5 * p.z));
        let other = CollisionSurface::free("other", dipped.collect(), triangles.clone());
        let mesh =
            CollisionMesh::new(vec![CollisionSurface::free("sheet", points, triangles), other]).unwrap();
        let at_rest = places(&mesh);
        let mut x = at_rest.clone();
        let mut intersections = Intersections::find(&mesh, &x, &Exemptions::default()).unwrap();
        let begin = intersections.crossings.len();
        assert!(begin > 5);
        let mut rounds = 0;
        while !intersections.crossings.is_empty() && rounds < 400 {
            let still = [Vec3::ZERO; 5];
            for (points, contour_force) in intersections.contour_forces(&mesh, &x, 1.0, 1.0) {
                let place = points.map(|p| x[p as usize]);
                for (p, push) in points.into_iter().zip(contour_force.force(0.0, &place, &still)) {
                    x[p as usize] += 0.004 * push;
                }
            }
            for _ in 0..10 {
                for &[e0, e1] in mesh.edges() {
                    let (e0, e1) = (e0 as usize, e1 as usize);
                    let (d, rest) = (x[e1] - x[e0], at_rest[e1].distance(at_rest[e0]));
                    let change = 0.5 * (1.0 - rest / d.length()) * d;
                    x[e0] += change;
                    x[e1] -= change;
                }
            }
            intersections = Intersections::find(&mesh, &x, &Exemptions::default()).unwrap();
            rounds += 1;
        }
        assert!(intersections.is_empty(), "{} of {begin} left", intersections.crossings.len());
    }

    /// A ball with a hole as large as a neck still has an inside, out of which a sheet is led that hangs in it by a corner; a bowl has none.
    #[test]
    fn a_body_with_a_hole_has_an_inside_and_a_bowl_has_none() {
        let led_out = |top: f64| {
            let mut ball = Shape::Sphere { radius: 0.3 }.surface("ball", 0.04).unwrap();
            let places = ball.rest_positions.clone();
            ball.triangles.retain(|t| t.iter().all(|&v| places[v as usize].y < top));
            let (points, triangles) = folded_sheet(24, 1, 0.0);
            let points: Vec<Vec3> = points.iter().map(|p| *p - Vec3::new(0.2, 0.05, 0.5)).collect();
            let sheet = CollisionSurface::free("sheet", points, triangles);
            let ball = CollisionSurface { is_obstacle: true, ..ball };
            let mesh = CollisionMesh::new(vec![sheet, ball]).unwrap();
            let x = self::places(&mesh);
            let found = Intersections::find(&mesh, &x, &Exemptions::default()).unwrap();
            assert!(found.crossings.len() > 20);
            let deep = mesh.points_of(0).filter(|&p| x[p].length() < 0.25);
            let is_led = |p: &usize| found.inside.contains(&(*p as u32, 1));
            (deep.clone().filter(is_led).count(), deep.count())
        };
        for top in [1.0, 0.28] {
            let (led, deep) = led_out(top);
            assert!(deep > 50 && led == deep, "{top}: {led} of {deep}");
        }
        assert_eq!(led_out(0.0).0, 0);
    }

    #[test]
    fn forces_keep_momentum_and_damp() {
        let contour_force = ContourForce {
            weights: [0.3, 0.7, -0.2, -0.3, -0.5],
            direction: Vec3::X,
            strength: 2.0,
            speed: 0.5,
        };
        let (x, v) = ([Vec3::ZERO; 5], [Vec3::Y, Vec3::ZERO, Vec3::X, Vec3::ZERO, Vec3::Z]);
        let force = contour_force.force(0.0, &x, &v);
        assert!(force.into_iter().sum::<Vec3>().length() < 1e-15);
        let still = contour_force.force(0.0, &x, &[Vec3::ZERO; 5]);
        let drag = contour_force.damping(0.0, &x, &v).multiply(&v);
        for i in 0..5 {
            assert!((still[i] - drag[i] - force[i]).length() < 1e-14, "damping is −df/dv");
        }
    }

    #[test]
    fn pairs_around_a_crossing_are_exempt_and_others_are_not() {
        let (points, triangles) = folded_sheet(10, 1, 0.0);
        let blade =
            vec![Vec3::new(0.21, -0.1, 0.23), Vec3::new(0.25, -0.1, 0.22), Vec3::new(0.22, 0.1, 0.24)];
        let blade = CollisionSurface::free("blade", blade, vec![[0, 1, 2]]);
        let mesh =
            CollisionMesh::new(vec![CollisionSurface::free("sheet", points, triangles), blade]).unwrap();
        let x = places(&mesh);
        let intersections = Intersections::find(&mesh, &x, &Exemptions::default()).unwrap();
        let pairs = BroadPhase::new().candidates(&mesh, &x, &x, 0.02).unwrap();
        let mixed = |p: &Pair| mesh.surface_of(p.points[0]) != mesh.surface_of(p.points[3]);
        assert!(pairs.iter().filter(|p| mixed(p)).count() > 5);
        assert!(pairs.iter().all(|p| intersections.is_exempt(&mesh, p) == mixed(p)));
        assert!(contacts(&mesh, &pairs, &x, 0.02).iter().any(|c| mixed(&c.pair)));
    }

    /// Joined points are asked together; the answer is that of asking each.
    #[test]
    fn a_sheet_through_a_ball_is_inside_where_it_is() {
        let ball = Shape::Sphere { radius: 0.4 }.surface("ball", 0.05).unwrap();
        let (points, triangles) = folded_sheet(24, 1, 0.1);
        let sheet = points.iter().map(|p| *p - Vec3::splat(0.5) + 0.5 * Vec3::Y).collect();
        let ball = CollisionSurface { sides: Sides::Front, ..ball };
        let mesh = CollisionMesh::new(vec![CollisionSurface::free("sheet", sheet, triangles), ball]).unwrap();
        let x = places(&mesh);
        let intersections = Intersections::find(&mesh, &x, &Exemptions::default()).unwrap();
        let flat = 0.05_f64.powi(2) / (8.0 * 0.4);
        for (v, p) in x[mesh.points_of(0)].iter().enumerate() {
            if (p.length() - 0.4).abs() > 2.0 * flat {
                assert_eq!(intersections.inside.contains(&(v as u32, 1)), p.length() < 0.4, "{v} {p}");
            }
        }
        assert!(intersections.inside.len() > 100);
    }

    #[test]
    fn points_inside_a_solid_are_led_out() {
        let ball = Shape::Sphere { radius: 1.0 }.surface("ball", 0.2).unwrap();
        let ball = CollisionSurface { sides: Sides::Front, ..ball };
        let leaf = vec![Vec3::new(0.0, 0.7, 0.0), Vec3::new(0.3, 0.6, 0.1), Vec3::new(0.0, 1.6, 0.1)];
        let mesh =
            CollisionMesh::new(vec![CollisionSurface::free("leaf", leaf, vec![[0, 1, 2]]), ball]).unwrap();
        let x = places(&mesh);
        let intersections = Intersections::find(&mesh, &x, &Exemptions::default()).unwrap();
        assert_eq!(intersections.inside, [(0, 1), (1, 1)]);
        assert!(!intersections.crossings.is_empty());
        let exits = intersections.exits(&mesh, &x, 0.0);
        assert_eq!(exits.len(), 2);
        for (point, exit) in exits {
            assert!((exit.length() - 1.0).abs() < 0.01);
            assert!(exit.distance(x[point as usize]) < 0.4);
        }
        let far = mesh.vertex_triangle(0, 50);
        assert!(intersections.is_exempt(&mesh, &far), "all its pairs with the ball");
    }

    /// An octant is an eighth of 4π, its copy from the other side minus that; a closed solid 4π inside and nothing outside.
    #[test]
    fn solid_angles_in_closed_form() {
        let octant = [Vec3::X, Vec3::Y, Vec3::Z];
        assert!((solid_angle(&octant, Vec3::ZERO) - 0.25 * TAU).abs() < 1e-14);
        assert!((solid_angle(&[Vec3::X, Vec3::Z, Vec3::Y], Vec3::ZERO) + 0.25 * TAU).abs() < 1e-14);
        let origin = Vec3::new(3.0, -2.0, 5.0);
        assert!((solid_angle(&octant.map(|p| origin + 0.1 * p), origin) - 0.25 * TAU).abs() < 1e-12);
        let solid = Shape::Capsule { radius: 0.5, half_length: 0.7 }.surface("solid", 0.2).unwrap();
        let around = |p: Vec3| -> f64 {
            solid.triangles.iter().map(|t| solid_angle(&t.map(|v| solid.rest_positions[v as usize]), p)).sum()
        };
        for p in [Vec3::ZERO, Vec3::new(0.3, 0.8, -0.2), Vec3::new(0.0, -1.1, 0.1)] {
            assert!((around(p) - 2.0 * TAU).abs() < 1e-9, "inside at {p}");
        }
        for p in [Vec3::X, 1.3 * Vec3::Y, Vec3::new(0.4, 1.1, 0.3)] {
            assert!(around(p).abs() < 1e-9, "outside at {p}");
        }
    }

    /// What is known altogether crosses what it likes, pinned cloth and obstacles included; and behind a one-sided plane is inside.
    #[test]
    fn only_what_can_move_is_untangled() {
        let none = Exemptions::default();
        let blade = vec![Vec3::new(0.2, -0.3, 0.2), Vec3::new(0.4, -0.3, 0.3), Vec3::new(0.3, 0.4, 0.25)];
        let leaf = vec![Vec3::ZERO, Vec3::Z, Vec3::X];
        for (known, count) in [([true; 3], 0), ([true, true, false], 1)] {
            let pinned = CollisionSurface {
                known: known.to_vec(),
                ..CollisionSurface::free("blade", blade.clone(), vec![[0, 1, 2]])
            };
            let other = CollisionSurface::obstacle("leaf", leaf.clone(), vec![[0, 1, 2]]);
            let mesh = CollisionMesh::new(vec![pinned, other]).unwrap();
            let intersections = Intersections::find(&mesh, &places(&mesh), &none).unwrap();
            assert_eq!((intersections.crossings.len(), intersections.is_empty()), (count, count == 0));
            assert!(matches!(
                Intersections::find(&mesh, &[], &none),
                Err(Error::Sizes { expected: 6, got: 0, .. })
            ));
        }
        let both: Vec<Vec3> = blade.iter().chain(&leaf).copied().collect();
        for self_contact in [false, true] {
            let folds = CollisionSurface {
                self_contact,
                ..CollisionSurface::free("folds", both.clone(), vec![[0, 1, 2], [3, 4, 5]])
            };
            let mesh = CollisionMesh::new(vec![folds]).unwrap();
            let intersections = Intersections::find(&mesh, &places(&mesh), &none).unwrap();
            assert_eq!(
                intersections.crossings.len(),
                usize::from(self_contact),
                "where the artist lets folds cross"
            );
        }
        let ground = crate::plane("ground", Vec3::ZERO, Vec3::Y, 10.0).unwrap();
        let cloth = CollisionSurface::free("blade", blade, vec![[0, 1, 2]]);
        let mesh = CollisionMesh::new(vec![cloth, ground]).unwrap();
        let x = places(&mesh);
        let intersections = Intersections::find(&mesh, &x, &Exemptions::default()).unwrap();
        assert_eq!(intersections.inside, [(0, 1), (1, 1)]);
        let exits = intersections.exits(&mesh, &x, 0.0);
        for ((point, exit), height) in exits.into_iter().zip([-0.3, -0.3]) {
            assert!(exit.distance(x[point as usize] - height * Vec3::Y) < 1e-12, "{exit}");
        }
    }
}
