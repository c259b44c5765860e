//! The tet walk: embedding in tets that overlap themselves.
//!
//! enrich §8.1. A rest shape whose parts touch is meshed in a separated pose, where nothing is welded, and the tets are
//! fitted back onto the rest shape. There they may overlap, and a vertex may be inside several; the right one is near the
//! tet that held it in the separated pose, by way of neighbours.

use rayon::prelude::*;

use crate::{Embedding, Error, TetMesh, Vec3, tet_weights};

impl Embedding {
    /// The same vertices embedded after tets and vertices have both moved: `self` is the embedding in the separated pose, `mesh`
    /// the tets fitted to `vertices`.
    ///
    /// From the centre of each vertex's old tet towards the vertex, through faces, until a tet holds it; when the way leads
    /// out of the mesh, the last tet is taken, with weights beyond [0, 1]. Tets may be inside out; those that are flat are
    /// not entered.
    pub fn walked(&self, mesh: &TetMesh, vertices: &[Vec3]) -> Result<Self, Error> {
        if vertices.len() != self.len() {
            let (found, expected) = (vertices.len(), self.len());
            return Err(Error::CountMismatch { what: "vertices", found, expected });
        }
        if let Some(point) = vertices.iter().position(|p| !p.is_finite()) {
            return Err(Error::NotFinite { point });
        }
        let count = mesh.tets().len();
        if let Some(vertex) = self.tets().iter().position(|&tet| tet as usize >= count) {
            return Err(Error::NoSuchTet { vertex, tet: self.tets()[vertex], count });
        }
        let neighbours = mesh.neighbours();
        let tets =
            self.tets().par_iter().zip(vertices).map(|(&tet, &p)| walk(mesh, &neighbours, tet, p)).collect();
        Self::from_tets(mesh, vertices, tets)
    }
}

fn walk(mesh: &TetMesh, neighbours: &[[Option<u32>; 4]], start: u32, goal: Vec3) -> u32 {
    let Some(start) = solid_near(mesh, neighbours, start) else { return start };
    let from = mesh.corners(start as usize).iter().sum::<Vec3>() / 4.0;
    let (mut tet, mut before, mut entered) = (start, None, 0.0);
    // a straight way meets a tet once; round-off and overlaps must not make it a circle
    for _ in 0..mesh.tets().len() {
        let corners = mesh.corners(tet as usize);
        let (Some(a), Some(b)) = (tet_weights(from, corners), tet_weights(goal, corners)) else { break };
        if b.iter().all(|&w| w >= 0.0) {
            return tet;
        }
        // weights are linear on the way from + s (goal − from): out through the face whose weight is zero first, after
        // the way came in
        // and not back to where it came from; behind a face at the rim there is nothing, and nothing is where it began
        let is_entry = |i: usize| before.is_some() && neighbours[tet as usize][i] == before;
        let mut exits: Vec<(f64, usize)> = (0..4)
            .filter(|&i| b[i] < 0.0 && !is_entry(i))
            .map(|i| ((a[i] / (a[i] - b[i])).max(entered), i))
            .filter(|(s, _)| s.is_finite())
            .collect();
        exits.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        let Some(&(s, face)) = exits.first() else { return tet };
        let Some(next) = neighbours[tet as usize][face] else { return tet };
        if tet_weights(goal, mesh.corners(next as usize)).is_none() {
            return tet;
        }
        (before, tet, entered) = (Some(tet), next, s);
    }
    tet
}

/// The tet itself, or the first by way of neighbours that is not flat.
fn solid_near(mesh: &TetMesh, neighbours: &[[Option<u32>; 4]], start: u32) -> Option<u32> {
    let solid = |tet: u32| {
        let corners = mesh.corners(tet as usize);
        tet_weights(corners[0], corners).is_some()
    };
    let mut seen = vec![start];
    let mut next = 0;
    while let Some(&tet) = seen.get(next) {
        if solid(tet) {
            return Some(tet);
        }
        for &other in neighbours[tet as usize].iter().flatten() {
            if !seen.contains(&other) {
                seen.push(other);
            }
        }
        next += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// A long bar, and the same bent into a ring that overlaps itself by a fifth of its length.
    fn bar_and_ring() -> (TetMesh, impl Fn(Vec3) -> Vec3) {
        let bar = TetMesh::box_grid([40, 2, 2], Vec3::new(10.0, 0.5, 0.5)).unwrap();
        let bend = |p: Vec3| {
            let turn = 1.2 * std::f64::consts::TAU * p.x / 10.0;
            let radius = 1.2 + p.y;
            Vec3::new(radius * turn.sin(), radius * turn.cos(), p.z)
        };
        (bar, bend)
    }

    #[test]
    fn a_ring_that_overlaps_itself_keeps_its_ends_apart() {
        let (bar, bend) = bar_and_ring();
        let mut random = Random::new(12);
        let vertices: Vec<Vec3> =
            (0..400).map(|_| Vec3::new(5.0, 0.25, 0.25) * (Vec3::ONE + 0.98 * random.vec3())).collect();
        let apart = Embedding::new(&bar, &vertices).unwrap();
        let ring = bar.with_points(bar.points().iter().map(|&p| bend(p)).collect()).unwrap();
        let bent: Vec<Vec3> = vertices.iter().map(|&p| bend(p)).collect();
        let walked = apart.walked(&ring, &bent).unwrap();
        // every vertex is where it should be, and in a tet that was near it in the separated pose
        for (p, q) in bent.iter().zip(walked.apply(ring.points())) {
            assert!(p.distance(q) < 1e-12);
        }
        let middle = |tet: u32| bar.corners(tet as usize).iter().sum::<Vec3>() / 4.0;
        let farthest = |embedding: &Embedding| {
            let distances = vertices.iter().zip(embedding.tets()).map(|(p, &tet)| p.distance(middle(tet)));
            distances.fold(0.0, f64::max)
        };
        assert!(farthest(&walked) < 0.6, "{}", farthest(&walked));
        // which the nearest tet is not: it cannot tell the two ends apart
        assert!(farthest(&Embedding::new(&ring, &bent).unwrap()) > 5.0);
        // the curved sides leave a few outside, but none by much
        assert!(walked.outside(0.2).count() == 0);
    }

    #[test]
    fn walks_across_many_tets_and_stops_at_the_rim() {
        let bar = TetMesh::box_grid([20, 1, 1], Vec3::new(20.0, 1.0, 1.0)).unwrap();
        let start = Embedding::new(&bar, &[Vec3::new(0.5, 0.5, 0.5); 3]).unwrap();
        let goals = [Vec3::new(18.3, 0.4, 0.7), Vec3::new(30.0, 0.5, 0.5), Vec3::new(0.5, 3.0, 0.5)];
        let walked = start.walked(&bar, &goals).unwrap();
        let xs = walked.tets().iter().map(|&tet| bar.corners(tet as usize).iter().sum::<Vec3>().x / 4.0);
        let xs: Vec<f64> = xs.collect();
        assert!((xs[0] - 18.3).abs() < 1.0 && xs[1] > 19.0 && xs[2] < 1.0, "{xs:?}");
        assert_eq!(walked.outside(1e-9).collect::<Vec<_>>(), [1, 2]);
        for (p, q) in goals.iter().zip(walked.apply(bar.points())) {
            assert!(p.distance(q) < 1e-11);
        }
    }

    /// In a convex mesh without overlaps there is one straight way, and a goal outside leaves the last tet on it: the one around the
    /// place where the line goes through the rim.
    #[test]
    fn a_goal_outside_ends_where_the_straight_way_leaves_the_mesh() {
        let size = Vec3::new(2.0, 1.5, 2.5);
        let mesh = TetMesh::box_grid([4, 3, 5], size).unwrap();
        let mut random = Random::new(7);
        let starts: Vec<Vec3> = (0..200).map(|_| 0.5 * size * (Vec3::ONE + 0.9 * random.vec3())).collect();
        let goals: Vec<Vec3> =
            starts.iter().map(|_| 0.5 * size + 8.0 * random.rotation() * Vec3::X).collect();
        let begun = Embedding::new(&mesh, &starts).unwrap();
        let walked = begun.walked(&mesh, &goals).unwrap();
        for (i, goal) in goals.iter().enumerate() {
            let from = mesh.corners(begun.tets()[i] as usize).iter().sum::<Vec3>() / 4.0;
            let way = *goal - from;
            let leaves = |axis: usize| {
                let rim = if way[axis] > 0.0 { size[axis] } else { 0.0 };
                (rim - from[axis]) / way[axis]
            };
            let exit = from + (0..3).map(leaves).fold(f64::INFINITY, f64::min) * way;
            let weights = tet_weights(exit, mesh.corners(walked.tets()[i] as usize)).unwrap();
            assert!(weights.iter().all(|w| *w > -1e-9), "{i}: {weights:?}");
        }
    }

    #[test]
    fn flat_and_inverted_tets_do_no_harm() {
        let bar = TetMesh::box_grid([4, 1, 1], Vec3::new(4.0, 1.0, 1.0)).unwrap();
        let vertices = [Vec3::new(0.2, 0.5, 0.5), Vec3::new(3.7, 0.2, 0.1)];
        let start = Embedding::new(&bar, &vertices).unwrap();
        // the first cell is flat, the last inside out
        let fold = |p: &Vec3| {
            Vec3::new(
                if p.x < 1.0 {
                    1.0
                } else if p.x > 3.0 {
                    2.5
                } else {
                    p.x
                },
                p.y,
                p.z,
            )
        };
        let folded = bar.with_points(bar.points().iter().map(fold).collect()).unwrap();
        let walked = start.walked(&folded, &[Vec3::new(1.0, 0.5, 0.5), Vec3::new(2.6, 0.2, 0.1)]).unwrap();
        assert_eq!(walked.len(), 2);
        let flat = bar.with_points(vec![Vec3::ZERO; bar.points().len()]).unwrap();
        assert!(matches!(start.walked(&flat, &vertices), Err(Error::FlatTet { .. })));
        assert!(start.walked(&bar, &vertices[..1]).is_err());
    }
}
