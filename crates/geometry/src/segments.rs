//! Line segments made edges of a tet mesh: how bones come into a lattice.
//!
//! A segment is walked from tet to tet. Where it leaves one through a face, a point is put there: a corner of the face is
//! moved onto the segment if it is near and free, or an edge or the face itself is split, whichever leaves the best tets.
//! From the point before there is then an edge to the new one, and the walk goes on from it. Splitting always works, so a
//! segment that stays inside of the mesh always becomes a chain of edges, however coarse the tets.

use std::collections::BTreeSet;

use crate::{Error, TET_EDGES, TET_FACES, TetMesh, Vec3, tet_volume, tet_weights};

/// A tet mesh with segments along its edges.
#[derive(Clone, Debug)]
pub struct Threaded {
    /// The mesh.
    pub mesh: TetMesh,
    /// For every segment its points in the mesh, from end to end; empty where the segment leaves the mesh.
    pub chains: Vec<Vec<u32>>,
}

/// Points put on one segment at most: far more than any sensible mesh needs.
const MOST_POINTS: usize = 4000;
/// What a split's worst tet counts against that of moving a point: moved points add no tets.
const SPLIT_DISCOUNT: f64 = 0.5;
/// Tets worse than this are not made if there is any other way. A regular tet has quality 1.
const POOR: f64 = 0.02;
/// Volumes that differ by no more than this part are the same.
const SAME_VOLUME: f64 = 1e-9;
/// Flatter tets are never made: a segment that would need one stays away.
const LEAST_QUALITY: f64 = 1e-6;
/// Rounds of smoothing after all segments are in.
const SMOOTHING_ROUNDS: usize = 4;

/// Makes every segment a chain of edges. The mesh's boundary does not move.
pub fn with_segments(mesh: &TetMesh, segments: &[[Vec3; 2]]) -> Result<Threaded, Error> {
    if let Some(point) = segments.iter().flatten().position(|p| !p.is_finite()) {
        return Err(Error::NotFinite { point });
    }
    let mut weaver = Weaver::new(mesh);
    let mut chains = Vec::with_capacity(segments.len());
    for &[from, to] in segments {
        let ends = [weaver.place(from), weaver.place(to)];
        let [Some(a), Some(b)] = ends else {
            chains.push(Vec::new());
            continue;
        };
        chains.push(if a == b { vec![a] } else { weaver.thread(a, b).unwrap_or_default() });
    }
    weaver.smooth();
    let tets: Vec<[u32; 4]> = weaver.tets.iter().copied().flatten().collect();
    let (mesh, kept) = TetMesh::new(weaver.points, tets)?.without_loose_points();
    let mut number = vec![u32::MAX; kept.last().map_or(0, |&last| last as usize + 1)];
    kept.iter().enumerate().for_each(|(new, &old)| number[old as usize] = new as u32);
    chains.iter_mut().flatten().for_each(|v| *v = number[*v as usize]);
    Ok(Threaded { mesh, chains })
}

/// A tet mesh that can be changed.
struct Weaver {
    points: Vec<Vec3>,
    /// Tets that were split are gone.
    tets: Vec<Option<[u32; 4]>>,
    /// Tets around each point; some may be gone.
    around: Vec<Vec<u32>>,
    /// Points on segments, which may not move.
    pinned: Vec<bool>,
    boundary: Vec<bool>,
    /// Edges along segments, which may not be split: the smaller point first.
    taken: BTreeSet<[u32; 2]>,
}

/// What makes room for a new point.
#[derive(Clone, Copy)]
enum Change {
    Move(u32),
    /// The simplex that all split tets share: an edge, a face or a tet.
    Split([u32; 4], usize),
}

impl Weaver {
    fn new(mesh: &TetMesh) -> Self {
        let count = mesh.points().len();
        let mut around = vec![Vec::new(); count];
        for (t, tet) in mesh.tets().iter().enumerate() {
            tet.iter().for_each(|&v| around[v as usize].push(t as u32));
        }
        let mut boundary = vec![false; count];
        mesh.boundary_faces().iter().flatten().for_each(|&v| boundary[v as usize] = true);
        Self {
            points: mesh.points().to_vec(),
            tets: mesh.tets().iter().copied().map(Some).collect(),
            around,
            pinned: vec![false; count],
            boundary,
            taken: BTreeSet::new(),
        }
    }

    fn tets_around(&self, point: u32) -> impl Iterator<Item = (u32, [u32; 4])> + '_ {
        self.around[point as usize].iter().filter_map(|&t| Some((t, self.tets[t as usize]?)))
    }

    fn corners(&self, tet: [u32; 4]) -> [Vec3; 4] {
        tet.map(|v| self.points[v as usize])
    }

    /// A pinned point at this place; none where it is outside.
    fn place(&mut self, at: Vec3) -> Option<u32> {
        let mut best: Option<(f64, [u32; 4], [f64; 4])> = None;
        for tet in self.tets.iter().flatten() {
            let Some(weights) = tet_weights(at, self.corners(*tet)) else { continue };
            let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
            if best.is_none_or(|(found, ..)| least > found) {
                best = Some((least, *tet, weights));
            }
        }
        let (least, tet, _) = best?;
        // a place on the boundary, but for round-off
        if least < -1e-9 {
            return None;
        }
        self.insert(at, &tet)
    }

    /// A pinned point at `at`, which lies in the simplex of these points (a face or a tet): one that is there, or is moved
    /// there, or a new one. All points of the simplex are then connected to it or are it.
    fn insert(&mut self, at: Vec3, simplex: &[u32]) -> Option<u32> {
        let size = simplex
            .iter()
            .map(|&v| self.points[v as usize].distance(self.points[simplex[0] as usize]))
            .fold(0.0, f64::max);
        let there = |v: &&u32| self.points[**v as usize].distance(at) <= 1e-7 * size;
        if let Some(&v) = simplex.iter().find(there) {
            self.pinned[v as usize] = true;
            return Some(v);
        }
        let mut best: Option<(f64, Change)> = None;
        let mut consider = |quality: f64, change: Change| {
            if quality > LEAST_QUALITY && best.is_none_or(|(found, _)| quality > found) {
                best = Some((quality, change));
            }
        };
        for &v in simplex.iter().filter(|&&v| !self.pinned[v as usize]) {
            let quality = self.quality_after(Change::Move(v), at);
            consider(if quality < POOR { SPLIT_DISCOUNT * quality } else { quality }, Change::Move(v));
        }
        for (k, &a) in simplex.iter().enumerate() {
            for &b in simplex[..k].iter().filter(|&&b| !self.taken.contains(&[a.min(b), a.max(b)])) {
                let edge = Change::Split([a, b, 0, 0], 2);
                consider(SPLIT_DISCOUNT * self.quality_after(edge, at), edge);
            }
        }
        let faces: Vec<[u32; 3]> = match *simplex {
            [a, b, c] => vec![[a, b, c]],
            [a, b, c, d] => TET_FACES.iter().map(|face| face.map(|i| [a, b, c, d][i])).collect(),
            _ => Vec::new(),
        };
        for [a, b, c] in faces {
            let face = Change::Split([a, b, c, 0], 3);
            consider(SPLIT_DISCOUNT * self.quality_after(face, at), face);
        }
        if let &[a, b, c, d] = simplex {
            let tet = Change::Split([a, b, c, d], 4);
            consider(SPLIT_DISCOUNT * self.quality_after(tet, at), tet);
        }
        let (_, change) = best?;
        Some(self.apply(change, at))
    }

    /// Tets that hold the whole simplex.
    fn star(&self, simplex: &[u32]) -> Vec<(u32, [u32; 4])> {
        self.tets_around(simplex[0]).filter(|(_, tet)| simplex.iter().all(|v| tet.contains(v))).collect()
    }

    /// The worst tet that a change makes; 0 or less where one is flat or inside out, or where the boundary would move.
    fn quality_after(&self, change: Change, at: Vec3) -> f64 {
        let (mut worst, mut before, mut after) = (f64::INFINITY, 0.0, 0.0);
        let mut replace = |tet: [u32; 4], v: u32| {
            let corners = tet.map(|w| if w == v { at } else { self.points[w as usize] });
            worst = worst.min(quality(corners));
            after += tet_volume(corners);
        };
        match change {
            Change::Move(v) => {
                for (_, tet) in self.tets_around(v) {
                    before += tet_volume(self.corners(tet));
                    replace(tet, v);
                }
            }
            Change::Split(simplex, len) => {
                for (_, tet) in self.star(&simplex[..len]) {
                    before += tet_volume(self.corners(tet));
                    simplex[..len].iter().for_each(|&v| replace(tet, v));
                }
            }
        }
        let same = (after - before).abs() <= SAME_VOLUME * before;
        if same && worst.is_finite() { worst } else { 0.0 }
    }

    fn apply(&mut self, change: Change, at: Vec3) -> u32 {
        let point = match change {
            Change::Move(v) => {
                self.points[v as usize] = at;
                v
            }
            Change::Split(simplex, len) => {
                let new = self.points.len() as u32;
                self.points.push(at);
                self.around.push(Vec::new());
                self.pinned.push(true);
                // also of a point inside: smoothing leaves pinned ones alone anyway
                self.boundary.push(false);
                for (t, tet) in self.star(&simplex[..len]) {
                    self.tets[t as usize] = None;
                    for &v in &simplex[..len] {
                        let part = tet.map(|w| if w == v { new } else { w });
                        part.iter().for_each(|&w| self.around[w as usize].push(self.tets.len() as u32));
                        self.tets.push(Some(part));
                    }
                }
                new
            }
        };
        self.pinned[point as usize] = true;
        point
    }

    /// Edges from a to b along the straight line between them.
    fn thread(&mut self, a: u32, b: u32) -> Option<Vec<u32>> {
        let mut chain = vec![a];
        let mut here = a;
        while chain.len() < MOST_POINTS {
            if self.tets_around(here).any(|(_, tet)| tet.contains(&b)) {
                self.taken.insert([here.min(b), here.max(b)]);
                chain.push(b);
                return Some(chain);
            }
            let (at, face) = self.exit(here, self.points[b as usize])?;
            let next = self.insert(at, &face)?;
            self.taken.insert([here.min(next), here.max(next)]);
            here = next;
            chain.push(here);
        }
        None
    }

    /// Where the line from a point to `goal` leaves the tets around the point, and through which face.
    fn exit(&self, from: u32, goal: Vec3) -> Option<(Vec3, [u32; 3])> {
        let origin = self.points[from as usize];
        let direction = goal - origin;
        let mut best: Option<(f64, Vec3, [u32; 3])> = None;
        for (_, tet) in self.tets_around(from) {
            let corner = tet.iter().position(|&v| v == from)?;
            let face = TET_FACES[corner].map(|i| tet[i]);
            let [p, q, r] = face.map(|v| self.points[v as usize] - origin);
            // direction = s (u p + v q + w r), u + v + w = 1
            let volume = p.cross(q).dot(r);
            let [u, v, w] = [
                direction.cross(q).dot(r) / volume,
                p.cross(direction).dot(r) / volume,
                p.cross(q).dot(direction) / volume,
            ];
            let sum = u + v + w;
            // before the goal, which is in none of these tets
            if sum <= 0.0 || !sum.is_finite() {
                continue;
            }
            let least = u.min(v).min(w) / sum;
            if best.is_none_or(|(found, ..)| least > found) {
                best = Some((least, origin + direction / sum, face));
            }
        }
        let (least, at, face) = best?;
        let ahead = (at - origin).dot(direction) < direction.length_squared();
        (least > -1e-6 && ahead).then_some((at, face))
    }

    /// Moves free points inside to the mean of their neighbours where that improves the worst tet around them.
    fn smooth(&mut self) {
        for _ in 0..SMOOTHING_ROUNDS {
            for v in 0..self.points.len() as u32 {
                if self.pinned[v as usize] || self.boundary[v as usize] {
                    continue;
                }
                let mut near: Vec<u32> = self.tets_around(v).flat_map(|(_, tet)| tet).collect();
                near.sort_unstable();
                near.dedup();
                near.retain(|&w| w != v);
                if near.is_empty() {
                    continue;
                }
                let mean = near.iter().map(|&w| self.points[w as usize]).sum::<Vec3>() / near.len() as f64;
                let here = self.points[v as usize];
                let goal = here.lerp(mean, 0.5);
                if self.quality_after(Change::Move(v), goal) > self.quality_after(Change::Move(v), here) {
                    self.points[v as usize] = goal;
                }
            }
        }
    }
}

/// 1 for a regular tet, 0 for a flat one, less when inside out: 6√2 volume over the cube of the longest edge.
fn quality(corners: [Vec3; 4]) -> f64 {
    let longest = TET_EDGES.iter().map(|&[i, j]| corners[i].distance_squared(corners[j])).fold(0.0, f64::max);
    6.0 * std::f64::consts::SQRT_2 * tet_volume(corners) / longest.powf(1.5).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;
    use crate::TetQuality;

    fn check(mesh: &TetMesh, segments: &[[Vec3; 2]]) -> Threaded {
        let threaded = with_segments(mesh, segments).unwrap();
        let quality = TetQuality::of(&threaded.mesh);
        assert_eq!((quality.inverted, quality.overfull_faces), (0, 0));
        let before: f64 = mesh.volumes().iter().sum();
        assert!((quality.volume / before - 1.0).abs() < 1e-7, "{}", quality.volume);
        let edges = threaded.mesh.edges();
        for (chain, [a, b]) in threaded.chains.iter().zip(segments) {
            assert!(chain.len() >= 2);
            let at = |v: u32| threaded.mesh.points()[v as usize];
            assert!(at(chain[0]).distance(*a) < 1e-6 && at(chain[chain.len() - 1]).distance(*b) < 1e-6);
            for pair in chain.windows(2) {
                let edge = [pair[0].min(pair[1]), pair[0].max(pair[1])];
                assert!(edges.binary_search(&edge).is_ok());
            }
            let along = (*b - *a).normalize();
            let lengths: Vec<f64> = chain.iter().map(|&v| (at(v) - *a).dot(along)).collect();
            assert!(lengths.windows(2).all(|pair| pair[0] < pair[1]), "{lengths:?}");
            assert!(chain.iter().all(|&v| (at(v) - *a).cross(along).length() < 1e-6));
        }
        threaded
    }

    #[test]
    fn random_segments_become_edges() {
        let mesh = TetMesh::box_grid([4, 3, 5], Vec3::new(2.0, 1.5, 2.5)).unwrap();
        let mut random = Random::new(2);
        for count in [1, 3, 8] {
            let mut inside = || Vec3::new(1.0, 0.75, 1.25) * (Vec3::ONE + 0.9 * random.vec3());
            let segments: Vec<[Vec3; 2]> = (0..count).map(|_| [inside(), inside()]).collect();
            check(&mesh, &segments);
        }
    }

    /// Along edges and through points of the mesh, and across the middle of its faces, the line leaves a tet through the rim of a face.
    #[test]
    fn a_segment_may_run_along_edges_and_through_points() {
        let mesh = TetMesh::box_grid([4, 4, 4], Vec3::ONE).unwrap();
        let along = |from: [f64; 3], to: [f64; 3]| [Vec3::from(from), Vec3::from(to)];
        for segment in [
            along([0.5, 0.05, 0.5], [0.5, 0.95, 0.5]),
            along([0.05, 0.25, 0.75], [0.9, 0.25, 0.75]),
            along([0.1, 0.1, 0.1], [0.9, 0.9, 0.9]),
            along([0.1, 0.9, 0.5], [0.9, 0.1, 0.5]),
            along([0.5, 0.1, 0.3], [0.5, 0.9, 0.6]),
            along([0.0, 0.0, 0.0], [1.0, 1.0, 1.0]),
        ] {
            check(&mesh, &[segment]);
        }
    }

    #[test]
    fn a_skeleton_shares_its_joints_and_may_lie_on_edges() {
        let mesh = TetMesh::box_grid([4, 4, 4], Vec3::ONE).unwrap();
        let joints = [
            Vec3::new(0.5, 0.1, 0.5),
            Vec3::new(0.5, 0.5, 0.5),
            Vec3::new(0.9, 0.8, 0.45),
            Vec3::new(0.1, 0.75, 0.5),
        ];
        let threaded =
            check(&mesh, &[[joints[0], joints[1]], [joints[1], joints[2]], [joints[1], joints[3]]]);
        assert_eq!(threaded.chains[0].last(), threaded.chains[1].first());
        assert_eq!(threaded.chains[0].last(), threaded.chains[2].first());
        // one that leaves the mesh, and one point
        let out = with_segments(&mesh, &[[joints[0], Vec3::splat(3.0)], [joints[1], joints[1]]]).unwrap();
        assert!(out.chains[0].is_empty());
        assert_eq!(out.chains[1].len(), 1);
    }
}
