//! What can touch: simulated surfaces and obstacles, as one list of points, edges and triangles.
//!
//! All surfaces share one numbering of points, in the order given: those of the first surface, then those of the
//! second. Any triangles are accepted: open, flipped, listed twice (one is kept), without area (their edges and points
//! still count).

mod surface;

use std::ops::Range;

use geometry::{Vec3, triangle_area};

use crate::distance::{PairKind, closest};
use crate::{Barrier, Contact, Error};

pub use surface::{CollisionSurface, Sides};

/// Two primitives that may touch: a vertex and a triangle, or two edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// What they are.
    pub kind: PairKind,
    /// A point and a triangle, or two edges, by their numbers in [`CollisionMesh`].
    pub primitives: [u32; 2],
    /// Their points: the stencil of barrier and friction.
    pub points: [u32; 4],
}

impl Pair {
    /// Where its points are.
    pub fn gather(&self, x: &[Vec3]) -> [Vec3; 4] {
        self.points.map(|p| x[p as usize])
    }
}

/// All surfaces of a scene, checked and numbered: what collision detection works on.
#[derive(Clone, Debug)]
pub struct CollisionMesh {
    surfaces: Vec<CollisionSurface>,
    ranges: Vec<Range<usize>>,
    rest: Vec<Vec3>,
    surface_of: Vec<u32>,
    free: Vec<bool>,
    vertices: Vec<u32>,
    edges: Vec<[u32; 2]>,
    triangles: Vec<[u32; 3]>,
    sources: Vec<[u32; 2]>,
    vertex_areas: Vec<f64>,
    edge_areas: Vec<f64>,
    triangle_areas: Vec<f64>,
    around_vertex: Vec<Vec<u32>>,
    around_edge: Vec<Vec<u32>>,
}

impl CollisionMesh {
    /// Checks and numbers the surfaces.
    pub fn new(surfaces: Vec<CollisionSurface>) -> Result<Self, Error> {
        let count: usize = surfaces.iter().map(|s| s.rest_positions.len()).sum();
        if count >= u32::MAX as usize {
            return Err(Error::TooMany { what: "points", count });
        }
        let (mut rest, mut surface_of, mut free, mut ranges) = (vec![], vec![], vec![], vec![]);
        for (number, surface) in surfaces.iter().enumerate() {
            surface.check()?;
            let first = rest.len();
            rest.extend_from_slice(&surface.rest_positions);
            surface_of.resize(rest.len(), number as u32);
            free.extend(surface.known.iter().map(|known| !known && !surface.is_obstacle));
            ranges.push(first..rest.len());
        }
        let Topology { vertices, edges, triangles, sources, around_edge } =
            Topology::new(&surfaces, &distinct_triangles(&surfaces, &ranges));
        let mut around_vertex = vec![Vec::new(); rest.len()];
        for (t, corners) in triangles.iter().enumerate() {
            corners.iter().for_each(|&v| around_vertex[v as usize].push(t as u32));
        }
        let triangle_areas: Vec<f64> = triangles
            .iter()
            .map(|t| t.map(|v| rest[v as usize]))
            .map(|[a, b, c]: [Vec3; 3]| triangle_area(a, b, c))
            .collect();
        let third = |around: &Vec<u32>| around.iter().map(|&t| triangle_areas[t as usize] / 3.0).sum();
        Ok(Self {
            vertex_areas: around_vertex.iter().map(third).collect(),
            edge_areas: around_edge.iter().map(third).collect(),
            surfaces,
            ranges,
            rest,
            surface_of,
            free,
            vertices,
            edges,
            triangles,
            sources,
            triangle_areas,
            around_vertex,
            around_edge,
        })
    }

    /// The surfaces as given.
    pub fn surfaces(&self) -> &[CollisionSurface] {
        &self.surfaces
    }

    /// How many points there are in all.
    pub fn point_count(&self) -> usize {
        self.rest.len()
    }

    /// The points of a surface in the common numbering.
    pub fn points_of(&self, surface: usize) -> Range<usize> {
        self.ranges[surface].clone()
    }

    /// Which surface a point belongs to.
    pub fn surface_of(&self, point: u32) -> usize {
        self.surface_of[point as usize] as usize
    }

    /// Whether a point's motion is computed.
    pub fn is_free(&self, point: u32) -> bool {
        self.free[point as usize]
    }

    /// Points that some triangle uses, ascending.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// Every edge once, its smaller point first, ascending.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }

    /// Every triangle once.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Surface and number under which a triangle was given.
    pub fn source(&self, triangle: u32) -> [u32; 2] {
        self.sources[triangle as usize]
    }

    /// The number of a triangle given as surface and number there; none if it was left out as a copy or without corners.
    pub(crate) fn number(&self, source: (u32, u32)) -> Option<u32> {
        self.sources.binary_search(&[source.0, source.1]).ok().map(|number| number as u32)
    }

    /// The middle edge length at rest of what is simulated: the scale of its mesh. Zero without edges.
    pub fn median_edge(&self) -> f64 {
        let mut lengths: Vec<f64> = self
            .edges
            .iter()
            .filter(|e| !self.surfaces[self.surface_of(e[0])].is_obstacle)
            .map(|&[e0, e1]| self.rest[e0 as usize].distance(self.rest[e1 as usize]))
            .collect();
        let middle = lengths.len() / 2;
        if lengths.is_empty() { 0.0 } else { *lengths.select_nth_unstable_by(middle, f64::total_cmp).1 }
    }

    /// Whether two things, each given by its points, are to be kept apart: something of them is free, they are not
    /// parts of one another, and their surfaces touch at all.
    pub fn interact(&self, a: &[u32], b: &[u32]) -> bool {
        if !a.iter().chain(b).any(|&p| self.free[p as usize]) || a.iter().any(|p| b.contains(p)) {
            return false;
        }
        let (of_a, of_b) = (self.surface_of[a[0] as usize], self.surface_of[b[0] as usize]);
        of_a != of_b || self.surfaces[of_a as usize].self_contact
    }

    /// The pair of a point and a triangle.
    pub fn vertex_triangle(&self, point: u32, triangle: u32) -> Pair {
        let [a, b, c] = self.triangles[triangle as usize];
        Pair { kind: PairKind::VertexTriangle, primitives: [point, triangle], points: [point, a, b, c] }
    }

    /// The pair of two edges.
    pub fn edge_edge(&self, first: u32, second: u32) -> Pair {
        let ([a0, a1], [b0, b1]) = (self.edges[first as usize], self.edges[second as usize]);
        Pair { kind: PairKind::EdgeEdge, primitives: [first, second], points: [a0, a1, b0, b1] }
    }

    /// Half the thickness of one surface and half of the other's.
    pub fn thickness(&self, pair: &Pair) -> f64 {
        let [first, second] = self.surfaces_of(pair);
        0.5 * (self.surfaces[first].thickness + self.surfaces[second].thickness)
    }

    /// Thickness kept between a pair and the gap d̂ beyond it at which its barrier begins, from a wished `dhat`.
    /// Within one surface both shrink so that thickness and gap fill at most half of the pair's distance at rest: a
    /// rest shape feels no force.
    pub fn gap(&self, pair: &Pair, dhat: f64) -> (f64, f64) {
        let [first, second] = self.surfaces_of(pair);
        let min_distance = self.thickness(pair);
        if first != second {
            return (min_distance, dhat);
        }
        let at_rest = closest(pair.kind, &pair.gather(&self.rest)).distance;
        // Where the rest shape itself touches there is no room to speak of; a hundredth keeps the barrier defined.
        let shrink = (0.5 * at_rest / (min_distance + dhat)).clamp(0.01, 1.0);
        (shrink * min_distance, shrink * dhat)
    }

    /// The barrier of a contact; κ in N/m.
    pub fn barrier(&self, contact: &Contact, stiffness: f64) -> Barrier {
        let Contact { pair, min_distance, dhat, .. } = *contact;
        match pair.kind {
            PairKind::VertexTriangle => Barrier::vertex_triangle(stiffness, min_distance, dhat),
            PairKind::EdgeEdge => {
                let [a0, a1, b0, b1] = pair.gather(&self.rest);
                Barrier::edge_edge(stiffness, min_distance, dhat, [a0.distance(a1), b0.distance(b1)])
            }
        }
    }

    /// The area at rest that a pair stands for: that of the smaller of its two things, in m².
    pub fn area(&self, pair: &Pair) -> f64 {
        let [first, second] = pair.primitives.map(|thing| thing as usize);
        match pair.kind {
            PairKind::VertexTriangle => self.vertex_areas[first].min(self.triangle_areas[second]),
            PairKind::EdgeEdge => self.edge_areas[first].min(self.edge_areas[second]),
        }
    }

    /// Coulomb's coefficient of a pair.
    pub fn friction(&self, pair: &Pair) -> f64 {
        let [first, second] = self.surfaces_of(pair);
        (self.surfaces[first].friction * self.surfaces[second].friction).sqrt()
    }

    /// Whether a point is on the far side of a one-sided plane (a surface of faces only), where nothing holds it back.
    ///
    /// Only planes can say so pair by pair: beside a solid, a point is behind the planes of most of its triangles and yet
    /// outside. For solids see [`crate::Intersections`].
    pub fn is_behind(&self, pair: &Pair, x: &[Vec3]) -> bool {
        let plane = &self.surfaces[self.surface_of(pair.points[3])];
        if pair.kind != PairKind::VertexTriangle || !plane.faces_only || plane.sides != Sides::Front {
            return false;
        }
        let [p, a, b, c] = pair.gather(x);
        (b - a).cross(c - a).dot(p - a) < 0.0
    }

    /// Triangles around a point.
    pub(crate) fn around_vertex(&self, point: u32) -> &[u32] {
        &self.around_vertex[point as usize]
    }

    /// Triangles around an edge.
    pub(crate) fn around_edge(&self, edge: u32) -> &[u32] {
        &self.around_edge[edge as usize]
    }

    fn surfaces_of(&self, pair: &Pair) -> [usize; 2] {
        [self.surface_of(pair.points[0]), self.surface_of(pair.points[3])]
    }
}

/// Corners of a triangle in the common numbering, and the surface and number under which it was given.
type Numbered = ([u32; 3], [u32; 2]);

/// Every triangle once, in the order given: of equal ones the first stays.
fn distinct_triangles(surfaces: &[CollisionSurface], ranges: &[Range<usize>]) -> Vec<Numbered> {
    let mut listed: Vec<([u32; 3], [u32; 3], [u32; 2])> = Vec::new();
    for (number, (surface, range)) in surfaces.iter().zip(ranges).enumerate() {
        for (t, corners) in surface.triangles.iter().enumerate() {
            let corners = corners.map(|v| v + range.start as u32);
            let mut sorted = corners;
            sorted.sort_unstable();
            listed.push((sorted, corners, [number as u32, t as u32]));
        }
    }
    listed.sort_by_key(|&(sorted, _, source)| (sorted, source));
    listed.dedup_by_key(|(sorted, ..)| *sorted);
    listed.sort_by_key(|(.., source)| *source);
    listed.into_iter().map(|(_, corners, source)| (corners, source)).collect()
}

/// Primitives, and which triangles are around each edge.
struct Topology {
    vertices: Vec<u32>,
    edges: Vec<[u32; 2]>,
    triangles: Vec<[u32; 3]>,
    sources: Vec<[u32; 2]>,
    around_edge: Vec<Vec<u32>>,
}

impl Topology {
    fn new(surfaces: &[CollisionSurface], listed: &[Numbered]) -> Self {
        let mut sides: Vec<(u32, u32, u32)> = Vec::new();
        let (mut triangles, mut sources) = (Vec::new(), Vec::new());
        let mut vertices: Vec<u32> = Vec::new();
        for (corners, source) in listed {
            let [a, b, c] = *corners;
            let is_whole = a != b && b != c && c != a;
            let number = if is_whole { triangles.len() as u32 } else { u32::MAX };
            if is_whole {
                triangles.push(*corners);
                sources.push(*source);
            }
            if surfaces[source[0] as usize].faces_only {
                continue;
            }
            vertices.extend(corners);
            for (e0, e1) in [(a, b), (b, c), (c, a)] {
                if e0 != e1 {
                    sides.push((e0.min(e1), e0.max(e1), number));
                }
            }
        }
        vertices.sort_unstable();
        vertices.dedup();
        sides.sort_unstable();
        let (mut edges, mut around_edge) = (Vec::new(), Vec::new());
        for run in sides.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
            edges.push([run[0].0, run[0].1]);
            let whole: Vec<u32> = run.iter().map(|side| side.2).filter(|&t| t != u32::MAX).collect();
            around_edge.push(whole);
        }
        Self { vertices, edges, triangles, sources, around_edge }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plane;

    fn quad() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        (vec![Vec3::ZERO, Vec3::X, Vec3::Z, Vec3::X + Vec3::Z], vec![[0, 2, 1], [1, 2, 3]])
    }

    #[test]
    fn copies_and_broken_triangles_are_sorted_out() {
        let (points, mut triangles) = quad();
        triangles.extend([[1, 2, 0], [3, 3, 0], [2, 2, 2]]);
        let surfaces = CollisionMesh::new(vec![CollisionSurface::free("quad", points, triangles)]).unwrap();
        assert_eq!(surfaces.triangles(), [[0, 2, 1], [1, 2, 3]]);
        assert_eq!(surfaces.edges().len(), 6, "five sides and the edge of the collapsed triangle");
        assert_eq!(surfaces.vertices(), [0, 1, 2, 3]);
        assert_eq!(surfaces.median_edge(), 1.0);
    }

    #[test]
    fn what_belongs_together_does_not_interact() {
        let (points, triangles) = quad();
        let cloth = CollisionSurface {
            known: vec![true, false, false, false],
            ..CollisionSurface::free("cloth", points.clone(), triangles.clone())
        };
        let body = CollisionSurface::obstacle("body", points, triangles);
        let surfaces = CollisionMesh::new(vec![cloth, body]).unwrap();
        assert!(!surfaces.interact(&[0], &[0, 1, 2]), "part of it");
        assert!(surfaces.interact(&[3], &[0, 1, 2]));
        assert!(surfaces.interact(&[1], &[4, 5, 6]));
        assert!(!surfaces.interact(&[0], &[4, 5, 6]), "a pinned point and an obstacle");
        assert!(!surfaces.interact(&[7], &[4, 5, 6]), "two parts of an obstacle");
    }

    #[test]
    fn rest_shapes_are_free_of_force() {
        let (points, triangles) = quad();
        let cloth =
            CollisionSurface { thickness: 5.0, ..CollisionSurface::free("cloth", points.clone(), triangles) };
        let surfaces = CollisionMesh::new(vec![cloth]).unwrap();
        let pair = surfaces.vertex_triangle(3, 0);
        let (min_distance, dhat) = surfaces.gap(&pair, 3.0);
        let at_rest = closest(pair.kind, &pair.gather(&points)).distance;
        assert!((min_distance + dhat - 0.5 * at_rest).abs() < 1e-12);
        let nearest = closest(pair.kind, &pair.gather(&points));
        let barrier = surfaces.barrier(&Contact { pair, nearest, min_distance, dhat }, 1.0);
        assert_eq!(barrier.normal_force(&pair.gather(&points)), 0.0);
    }

    #[test]
    fn behind_a_plane() {
        let cloth = CollisionSurface::free("cloth", vec![0.3 * Vec3::Y, Vec3::Y, Vec3::X], vec![[0, 1, 2]]);
        let ground = plane("ground", Vec3::ZERO, Vec3::Y, 10.0).unwrap();
        let surfaces = CollisionMesh::new(vec![cloth, ground]).unwrap();
        assert_eq!(
            (surfaces.edges().len(), surfaces.vertices().len()),
            (3, 3),
            "the plane's rim does not count"
        );
        let mut x: Vec<Vec3> = surfaces.surfaces().iter().flat_map(|s| s.rest_positions.clone()).collect();
        let pair = surfaces.vertex_triangle(0, 1);
        assert!(!surfaces.is_behind(&pair, &x));
        x[0].y = -0.3;
        assert!(surfaces.is_behind(&pair, &x));
    }

    #[test]
    fn bad_input_is_named() {
        let (mut points, triangles) = quad();
        let thin = CollisionSurface {
            thickness: -1.0,
            ..CollisionSurface::free("cape", points.clone(), triangles.clone())
        };
        assert!(CollisionMesh::new(vec![thin]).unwrap_err().to_string().contains("cape: thickness is -1"));
        points[2].x = f64::NAN;
        let broken = CollisionMesh::new(vec![CollisionSurface::free("cape", points.clone(), triangles)]);
        assert_eq!(broken.unwrap_err(), Error::NotFinite { surface: "cape".into(), point: 2 });
        let lost = CollisionMesh::new(vec![CollisionSurface::free("cape", points, vec![[0, 1, 4]])]);
        assert!(matches!(lost, Err(Error::NoSuchPoint { point: 4, count: 4, .. })));
    }

    /// Means of thickness and friction, the smaller of two areas, the middle of the simulated edges.
    #[test]
    fn what_a_pair_has_of_its_two_surfaces() {
        let (points, triangles) = quad();
        let cloth = CollisionSurface {
            thickness: 0.02,
            friction: 0.1,
            ..CollisionSurface::free("cloth", points.clone(), triangles)
        };
        let raised = points.iter().map(|p| Vec3::new(3.0 * p.x, 0.5, 2.0 * p.z)).collect();
        let body = CollisionSurface {
            thickness: 0.06,
            friction: 0.4,
            ..CollisionSurface::obstacle("body", raised, vec![[0, 2, 1]])
        };
        let mesh = CollisionMesh::new(vec![cloth, body]).unwrap();
        let own = mesh.vertex_triangle(3, 0);
        let mixed = mesh.vertex_triangle(1, 2);
        assert_eq!((mixed.primitives, mixed.points), ([1, 2], [1, 4, 6, 5]));
        assert!((mesh.thickness(&mixed) - 0.04).abs() < 1e-16 && (mesh.thickness(&own) - 0.02).abs() < 1e-16);
        assert!((mesh.friction(&mixed) - 0.2).abs() < 1e-16 && (mesh.friction(&own) - 0.1).abs() < 1e-16);
        // two halves of the unit square; points 1 and 2 have a third of both, 0 and 3 of one
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} is not {b}");
        close(mesh.area(&own), 0.5 / 3.0);
        close(mesh.area(&mixed), 1.0 / 3.0);
        close(mesh.area(&mesh.vertex_triangle(5, 0)), 0.5);
        let number = |a: u32, b: u32| mesh.edges().iter().position(|e| *e == [a, b]).unwrap() as u32;
        let edges = mesh.edge_edge(number(1, 2), number(4, 5));
        assert_eq!(edges.points, [1, 2, 4, 5]);
        close(mesh.area(&edges), 1.0 / 3.0);
        close(mesh.area(&mesh.edge_edge(number(0, 1), number(4, 5))), 0.5 / 3.0);
        assert_eq!(mesh.median_edge(), 1.0, "of the cloth alone");
        assert_eq!(
            (mesh.gap(&mixed, 0.01), mesh.surface_of(5), mesh.points_of(1)),
            ((mesh.thickness(&mixed), 0.01), 1, 4..8)
        );
        // rest lengths set where two edges count as parallel
        let nearest = closest(edges.kind, &edges.gather(&mesh.rest));
        let contact = Contact { pair: edges, nearest, min_distance: 0.04, dhat: 0.01 };
        let expected = Barrier::edge_edge(7.0, 0.04, 0.01, [2.0_f64.sqrt(), 3.0]);
        assert_eq!(mesh.barrier(&contact, 7.0), expected);
        assert_eq!([mesh.source(0), mesh.source(2)], [[0, 0], [1, 0]]);
        assert_eq!([mesh.number((0, 1)), mesh.number((1, 0)), mesh.number((1, 1))], [Some(1), Some(2), None]);
        let alone = CollisionMesh::new(Vec::new()).unwrap();
        assert_eq!((alone.median_edge(), alone.point_count()), (0.0, 0));
    }

    /// Wide at rest: as wished. Narrow: half of the distance. Touching at rest: a hundredth, so that there is a barrier at all.
    #[test]
    fn gaps_shrink_with_the_rest_shape() {
        let (points, triangles) = quad();
        let thickness = 0.02;
        let cloth = CollisionSurface { thickness, ..CollisionSurface::free("cloth", points, triangles) };
        let folded =
            [0.0, 0.04].map(|y| [Vec3::new(0.0, y, 5.0), Vec3::new(0.0, y, 6.0), Vec3::new(1.0, y, 5.0)]);
        let mut rest_positions = cloth.rest_positions.clone();
        rest_positions.extend(folded.concat());
        rest_positions.push(Vec3::new(0.2, 0.0, 5.2));
        let known = vec![false; rest_positions.len()];
        let triangles = [cloth.triangles.clone(), vec![[4, 5, 6], [7, 8, 9]]].concat();
        let mesh =
            CollisionMesh::new(vec![CollisionSurface { rest_positions, triangles, known, ..cloth }]).unwrap();
        let gap = |point: u32, triangle: u32| {
            let (min_distance, dhat) = mesh.gap(&mesh.vertex_triangle(point, triangle), 0.01);
            assert!((min_distance / dhat - 2.0).abs() < 1e-12, "both alike");
            min_distance / thickness
        };
        assert!((gap(3, 0) - 1.0).abs() < 1e-12, "0.7 m apart at rest");
        assert!((gap(7, 2) - 0.5 * 0.04 / 0.03).abs() < 1e-12, "4 cm");
        assert!((gap(10, 2) - 0.01).abs() < 1e-12, "none");
    }

    #[test]
    fn only_a_plane_and_only_its_front_tells_sides() {
        let cloth = CollisionSurface::free("cloth", vec![-0.3 * Vec3::Y, Vec3::Y, Vec3::X], vec![[0, 1, 2]]);
        let ground = plane("ground", Vec3::ZERO, Vec3::Y, 10.0).unwrap();
        let is_behind = |ground: CollisionSurface| {
            let mesh = CollisionMesh::new(vec![cloth.clone(), ground]).unwrap();
            mesh.is_behind(&mesh.vertex_triangle(0, 1), &mesh.rest)
        };
        assert!(is_behind(ground.clone()));
        assert!(!is_behind(CollisionSurface { sides: Sides::Both, ..ground.clone() }));
        assert!(!is_behind(CollisionSurface { faces_only: false, ..ground }));
    }
}
