//! Broad phase: which pairs may come near each other during a step.

mod candidates;
mod tree;

use geometry::Vec3;
use glam::Vec3A;
use rayon::prelude::*;

use crate::{CollisionMesh, Error, Pair};
use tree::{Box3, Swept, Tree};

pub(crate) use candidates::{Candidate, CandidateCache};

/// Finds pairs that may touch. Scratch: dropping it and making a new one changes no result.
#[derive(Clone, Debug, Default)]
pub struct BroadPhase {
    vertices: Tree,
    edges: Tree,
    triangles: Tree,
    rebuilds: usize,
}

impl BroadPhase {
    /// Without trees yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Every pair that may be within `dhat` plus its thickness at some time while points move from `start` to `end` on
    /// straight lines: vertices with triangles, then edges with edges, each once, ascending. Pairs of obstacles, of
    /// known points alone, and of things that share a point are left out. Nothing near is ever left out, and there is
    /// no limit on how many.
    ///
    /// Boxes of places are grown by half of reach and thickness on each side: two that do not meet on their way prove that
    /// the pair stays farther apart than that.
    pub fn candidates(
        &mut self,
        mesh: &CollisionMesh,
        start: &[Vec3],
        end: &[Vec3],
        dhat: f64,
    ) -> Result<Vec<Pair>, Error> {
        let mut pairs =
            self.pairs(mesh, start, end, dhat, StepScale::Uniform, usize::MAX)?.unwrap_or_default();
        pairs.par_sort_unstable();
        Ok(pairs)
    }

    /// [`BroadPhase::candidates`] for points that go at the pace given, in no order: most are sorted out before they are sorted. `None`
    /// where there are more than `most`.
    pub(crate) fn pairs(
        &mut self,
        mesh: &CollisionMesh,
        start: &[Vec3],
        end: &[Vec3],
        dhat: f64,
        scale: StepScale,
        most: usize,
    ) -> Result<Option<Vec<Pair>>, Error> {
        for (what, points) in [("starting points", start), ("end points", end)] {
            if points.len() != mesh.point_count() {
                return Err(Error::Sizes { what, expected: mesh.point_count(), got: points.len() });
            }
            if let Some(point) = points.iter().position(|p| !p.is_finite()) {
                let surface = mesh.surface_of(point as u32);
                let point = point - mesh.points_of(surface).start;
                return Err(Error::NotFinite { surface: mesh.surfaces()[surface].name.clone(), point });
            }
        }
        let mut grown = vec![0.0; start.len()];
        for (number, surface) in mesh.surfaces().iter().enumerate() {
            grown[mesh.points_of(number)].fill(0.5 * (dhat.max(0.0) + surface.thickness));
        }
        // Sums of places and motions are rounded to single precision twice more when boxes are compared, axis by axis: by a share of what the
        // two that are compared have there. What is far away widens nobody else's box.
        let by = |i: usize| Vec3::splat(grown[i]);
        let rounding = |i: usize| 8.0 * f64::from(f32::EPSILON) * (start[i].abs() + end[i].abs() + by(i));
        let swept: Vec<Swept> = (0..start.len())
            .into_par_iter()
            .map(|i| swept(start[i], end[i], by(i) + rounding(i), scale))
            .collect();
        let around = |points: &[u32]| points.iter().fold(Swept::EMPTY, |b, &p| b.union(swept[p as usize]));
        let (vertices, edges, triangles) = (mesh.vertices(), mesh.edges(), mesh.triangles());
        let vertex_boxes: Vec<Swept> = vertices.iter().map(|&v| swept[v as usize]).collect();
        let edge_boxes: Vec<Swept> = edges.iter().map(|e| around(e)).collect();
        let triangle_boxes: Vec<Swept> = triangles.iter().map(|t| around(t)).collect();

        let free = |points: &[u32]| points.iter().any(|&p| mesh.is_free(p));
        let built = [
            self.vertices.fit(&vertex_boxes, |v| free(&[vertices[v as usize]])),
            self.edges.fit(&edge_boxes, |e| free(&edges[e as usize])),
            self.triangles.fit(&triangle_boxes, |t| free(&triangles[t as usize])),
        ];
        self.rebuilds += built.iter().filter(|built| **built).count();

        let touch = |v: u32, t: u32| mesh.interact(&[vertices[v as usize]], &triangles[t as usize]);
        let Some(vertex_triangle) = self.vertices.pairs_with(&self.triangles, most, touch) else {
            return Ok(None);
        };
        let cross = |a: u32, b: u32| mesh.interact(&edges[a as usize], &edges[b as usize]);
        let Some(edge_edge) = self.edges.pairs_within(most, cross) else { return Ok(None) };
        let mut pairs = Vec::with_capacity(vertex_triangle.len() + edge_edge.len());
        pairs.extend(vertex_triangle.iter().map(|&[v, t]| mesh.vertex_triangle(vertices[v as usize], t)));
        pairs.extend(edge_edge.iter().map(|&[a, b]| mesh.edge_edge(a, b)));
        Ok(Some(pairs))
    }

    /// How often a tree was built rather than refitted.
    pub fn rebuilds(&self) -> usize {
        self.rebuilds
    }
}

/// How points take their straight steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepScale {
    /// All the same fraction of their step at one time.
    Uniform,
    /// Each a fraction of its own.
    PerPoint,
}

/// A grown box around a place, and one around the motion from there, both of single precision. At its own pace a point may be anywhere
/// on its way.
fn swept(start: Vec3, end: Vec3, by: Vec3, scale: StepScale) -> Swept {
    let around = |low: Vec3, high: Vec3| {
        let [min, max] = [low, high].map(|p| p.as_vec3().to_array());
        // `as` rounds to the nearest, which may be inwards; one step outwards makes up for it and for the subtraction
        Box3 { min: Vec3A::from(min.map(f32::next_down)), max: Vec3A::from(max.map(f32::next_up)) }
    };
    let (low, high, motion) = match scale {
        StepScale::Uniform => (start, start, end - start),
        StepScale::PerPoint => (start.min(end), start.max(end), Vec3::ZERO),
    };
    Swept { place: around(low - by, high + by), motion: around(motion, motion) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::folded_sheet;
    use crate::{CollisionSurface, PairKind, closest};
    use geometry::Random;

    fn stage() -> (CollisionMesh, Vec<Vec3>, Vec<Vec3>) {
        let (points, triangles) = folded_sheet(12, 4, 0.02);
        let cloth = CollisionSurface {
            thickness: 0.01,
            ..CollisionSurface::free("cloth", points.clone(), triangles.clone())
        };
        let body = CollisionSurface::obstacle(
            "body",
            points.iter().map(|p| *p + 0.013 * Vec3::ONE).collect(),
            triangles,
        );
        let mesh = CollisionMesh::new(vec![cloth, body]).unwrap();
        let start: Vec<Vec3> = mesh.surfaces().iter().flat_map(|s| s.rest_positions.clone()).collect();
        let mut random = Random::new(51);
        let end = start.iter().map(|p| *p + 0.03 * random.vec3()).collect();
        (mesh, start, end)
    }

    #[test]
    fn nothing_near_is_left_out_and_nothing_is_named_twice() {
        let (mesh, start, end) = stage();
        let dhat = 0.01;
        let pairs = BroadPhase::new().candidates(&mesh, &start, &end, dhat).unwrap();
        assert!(pairs.is_sorted() && pairs.windows(2).all(|two| two[0] != two[1]));
        let (points, edges) = (mesh.vertices(), mesh.edges());
        let mut near = 0;
        let mut all: Vec<Pair> = Vec::new();
        for &v in points {
            for (t, corners) in mesh.triangles().iter().enumerate() {
                if mesh.interact(&[v], corners) {
                    all.push(mesh.vertex_triangle(v, t as u32));
                }
            }
        }
        for a in 0..edges.len() {
            for b in a + 1..edges.len() {
                if mesh.interact(&edges[a], &edges[b]) {
                    all.push(mesh.edge_edge(a as u32, b as u32));
                }
            }
        }
        for pair in all {
            let (min_distance, _) = if mesh.surface_of(pair.points[0]) == mesh.surface_of(pair.points[3]) {
                (0.01, 0.0)
            } else {
                mesh.gap(&pair, dhat)
            };
            let place = |t: f64| pair.points.map(|p| start[p as usize].lerp(end[p as usize], t));
            let nearest = [0.0, 0.25, 0.5, 0.75, 1.0].map(|t| closest(pair.kind, &place(t)).distance);
            if nearest.into_iter().fold(f64::INFINITY, f64::min) <= min_distance + dhat {
                assert!(pairs.binary_search(&pair).is_ok(), "{pair:?}");
                near += 1;
            }
        }
        assert!(near > 1000, "{near}");
        assert!(pairs.iter().any(|p| p.kind == PairKind::EdgeEdge));
    }

    #[test]
    fn memory_and_threads_change_nothing() {
        let (mesh, start, end) = stage();
        let mut broad = BroadPhase::new();
        broad.candidates(&mesh, &end, &end, 0.1).unwrap();
        let warm = broad.candidates(&mesh, &start, &end, 0.01).unwrap();
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let cold = one.install(|| BroadPhase::new().candidates(&mesh, &start, &end, 0.01)).unwrap();
        assert_eq!(warm, cold);
        assert!(broad.rebuilds() >= 3);
    }

    #[test]
    fn bad_positions_are_named() {
        let (mesh, start, mut end) = stage();
        let short = BroadPhase::new().candidates(&mesh, &start[1..], &end, 0.01);
        assert!(matches!(short, Err(Error::Sizes { what: "starting points", .. })));
        let body = mesh.points_of(1).start;
        end[body + 3].z = f64::NAN;
        let broken = BroadPhase::new().candidates(&mesh, &start, &end, 0.01);
        assert_eq!(broken.unwrap_err(), Error::NotFinite { surface: "body".into(), point: 3 });
    }

    /// A box grows with its own coordinates: what is 700 km away makes nothing meet that did not before.
    #[test]
    fn what_is_far_away_widens_no_other_box() {
        let (points, triangles) = folded_sheet(12, 4, 0.02);
        let count = |away: f64| {
            let cloth = CollisionSurface::free("cloth", points.clone(), triangles.clone());
            let body = points.iter().map(|p| *p + away * Vec3::Y).collect();
            let body = CollisionSurface::obstacle("body", body, triangles.clone());
            let mesh = CollisionMesh::new(vec![cloth, body]).unwrap();
            let start: Vec<Vec3> = mesh.surfaces().iter().flat_map(|s| s.rest_positions.clone()).collect();
            BroadPhase::new().candidates(&mesh, &start, &start, 0.01).unwrap().len()
        };
        let near = count(10.0);
        assert!(near > 1000, "{near}");
        assert_eq!([count(1e3), count(7.34e5)], [near, near]);
    }

    /// Far from the origin single precision has fewer digits: boxes grow with the coordinates of both ends, also where one is small.
    #[test]
    fn what_is_near_far_away_is_found() {
        let leaf = [Vec3::ZERO, Vec3::Z, Vec3::X];
        let other = leaf.map(|p| p + Vec3::new(0.2, 9e-4, 0.2)).to_vec();
        let surfaces = vec![
            CollisionSurface::free("leaf", leaf.to_vec(), vec![[0, 1, 2]]),
            CollisionSurface::free("other", other, vec![[0, 1, 2]]),
        ];
        let mesh = CollisionMesh::new(surfaces).unwrap();
        let here: Vec<Vec3> = mesh.surfaces().iter().flat_map(|s| s.rest_positions.clone()).collect();
        let there: Vec<Vec3> = here.iter().map(|p| *p + 1000.0 * Vec3::ONE).collect();
        let found = |from: &[Vec3], to: &[Vec3]| {
            let pairs = BroadPhase::new().candidates(&mesh, from, to, 1e-3).unwrap();
            pairs.contains(&mesh.vertex_triangle(3, 0))
        };
        assert!(found(&here, &here) && found(&there, &there) && found(&here, &there) && found(&there, &here));
    }
}
