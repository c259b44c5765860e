//! Parts that touch or nearly touch where tets are made, and are far apart elsewhere: tets that join them would tear the surface.
//!
//! Points of the surface that share a corner of their tets move together. Where the way along the surface from one to the other is long, and they are
//! much further apart in another frame, the tets between them join what is apart: legs under a skirt, a hand on a hip. Skin that is only drawn out has a
//! short way. On a captured dancer pairs of the first kind come to be 4 to 7 edges apart, and of 20,000 of the second one in a hundred more than 2.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use geometry::{Filled, Topology, Vec3};

use shot::Target;

/// What comes to be this many times as far apart as an edge, and as where the tets were made, …
const APART: f64 = 2.0;
/// … and is further along the surface than so many times that, was never one piece.
const AROUND: f64 = 3.0;
/// So many joints of this kind are a web; fewer are a point or two that slipped.
const WEB: usize = 3;
/// So many poses are tried at most.
const TRIES: usize = 3;
/// Every so many frames one is looked at, later ones more rarely.
const STRIDE: usize = 4;

/// The surface in one frame.
pub(super) struct Pose {
    pub(super) frame: usize,
    pub(super) points: Vec<Vec3>,
}

/// Frames of the animation as it came, spread over its length: every fourth, and more rarely the later they are. Whether there are more is asked
/// of each by itself, so that an animation that goes on longer than before keeps its beginning.
pub(super) fn poses(input: &Target) -> Vec<Pose> {
    let mut frames = input.clip.frames().clone();
    // what is simulated below is not there yet, and differs by little from what it was made from
    while let Some(below) = frames.below() {
        frames = below;
    }
    let mut poses = Vec::new();
    let mut index = 0;
    while frames.has(index) {
        let points = frames.read(index).ok().and_then(|frame| frame.points.into_iter().nth(input.mesh));
        let points: Vec<Vec3> = points
            .into_iter()
            .flatten()
            .map(|p| Vec3::from(p.map(f64::from)))
            .filter(|p| p.is_finite())
            .collect();
        if points.len() == input.mesh().point_count() {
            poses.push(Pose { frame: index, points });
        }
        index += STRIDE.max(index / 8);
    }
    poses
}

/// Where tets join what is apart.
pub(super) struct Webs {
    /// How many corners of tets have such points around them.
    pub(super) count: usize,
    /// How many of these are apart in each pose.
    by_pose: Vec<usize>,
    /// The frame in which something is furthest apart, a point of the surface there, and how many times as far.
    pub(super) worst: Option<(usize, usize, f64)>,
}

impl Webs {
    /// Whether the surface would tear.
    pub(super) fn tear(&self) -> bool {
        self.count >= WEB
    }

    /// The poses in which most of it is apart, the best first.
    fn candidates(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.by_pose.len()).filter(|&pose| self.by_pose[pose] > 0).collect();
        order.sort_by_key(|&pose| (Reverse(self.by_pose[pose]), pose));
        // neighbours in time are much alike
        let mut chosen: Vec<usize> = Vec::new();
        for pose in order {
            if chosen.len() < TRIES && chosen.iter().all(|&other| other.abs_diff(pose) > 2) {
                chosen.push(pose);
            }
        }
        chosen
    }
}

/// The webs of tets that were made where the surface, of these triangles, is in `made`.
pub(super) fn webs(filled: &Filled, made: &[Vec3], triangles: &[[u32; 3]], poses: &[Pose]) -> Webs {
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); filled.mesh.points().len()];
    for (vertex, corners) in filled.embedding.corners().iter().enumerate() {
        corners.iter().for_each(|&corner| around[corner as usize].push(vertex as u32));
    }
    around.retain(|vertices| vertices.len() > 1);
    let mut ways =
        Ways { made, neighbours: Topology::new(made.len(), triangles).neighbours(), known: BTreeMap::new() };
    let mut is_torn = vec![false; around.len()];
    let (mut by_pose, mut worst) = (Vec::with_capacity(poses.len()), None);
    for pose in poses {
        let mut torn = 0;
        for (web, vertices) in around.iter().enumerate() {
            let [a, b] = furthest(vertices, &pose.points);
            let near = made[a as usize].distance(made[b as usize]).max(filled.edge);
            let times = pose.points[a as usize].distance(pose.points[b as usize]) / near;
            if times <= APART || ways.is_short(a, b, AROUND * near) {
                continue;
            }
            torn += 1;
            is_torn[web] = true;
            if worst.is_none_or(|(_, _, most)| times > most) {
                worst = Some((pose.frame, a as usize, times));
            }
        }
        by_pose.push(torn);
    }
    Webs { count: is_torn.iter().filter(|torn| **torn).count(), by_pose, worst }
}

/// Two points that are about as far apart as any: the one that is furthest from the first, and the one that is furthest from that.
fn furthest(vertices: &[u32], points: &[Vec3]) -> [u32; 2] {
    let from = |start: u32| {
        let far = |v: u32| points[v as usize].distance_squared(points[start as usize]);
        vertices.iter().copied().fold(start, |most, v| if far(v) > far(most) { v } else { most })
    };
    let one = from(vertices[0]);
    [one, from(one)]
}

/// How far it is along the edges of the surface.
struct Ways<'a> {
    made: &'a [Vec3],
    neighbours: Vec<Vec<u32>>,
    known: BTreeMap<[u32; 2], bool>,
}

impl Ways<'_> {
    /// Whether a way from one point to another is no longer than this: Dijkstra's, which looks no further.
    fn is_short(&mut self, a: u32, b: u32, longest: f64) -> bool {
        let pair = [a.min(b), a.max(b)];
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        let mut lengths = BTreeMap::from([(a, 0.0)]);
        // lengths are never negative, so that their bits are in their order
        let mut front = BinaryHeap::from([Reverse((0_u64, a))]);
        let mut is_short = false;
        while let Some(Reverse((bits, at))) = front.pop() {
            if at == b {
                is_short = true;
                break;
            }
            let length = f64::from_bits(bits);
            if lengths.get(&at).is_some_and(|shorter| *shorter < length) {
                continue;
            }
            for &next in &self.neighbours[at as usize] {
                let way = length + self.made[at as usize].distance(self.made[next as usize]);
                if way <= longest && lengths.get(&next).is_none_or(|known| way < *known) {
                    lengths.insert(next, way);
                    front.push(Reverse((way.to_bits(), next)));
                }
            }
        }
        self.known.insert(pair, is_short);
        is_short
    }
}

/// A pose in which tets tear least, and those tets: better by half than where they were made at rest, or nothing.
pub(super) fn best(
    webs_at_rest: &Webs,
    rest: &[Vec3],
    triangles: &[[u32; 3]],
    poses: &[Pose],
    fill: impl Fn(&[Vec3]) -> Option<Filled>,
) -> Option<(usize, Filled, Webs)> {
    let everywhere = || {
        let rest = Pose { frame: 0, points: rest.to_vec() };
        poses
            .iter()
            .map(|pose| Pose { frame: pose.frame, points: pose.points.clone() })
            .chain([rest])
            .collect()
    };
    let all: Vec<Pose> = everywhere();
    let mut best: Option<(usize, Filled, Webs)> = None;
    for candidate in webs_at_rest.candidates() {
        let pose = &poses[candidate];
        let Some(filled) = fill(&pose.points) else { continue };
        let webs = webs(&filled, &pose.points, triangles, &all);
        let is_better = best.as_ref().is_none_or(|(_, _, known)| webs.count < known.count);
        if 2 * webs.count < webs_at_rest.count && is_better {
            let tears = webs.tear();
            best = Some((pose.frame, filled, webs));
            if !tears {
                break;
            }
        }
    }
    best
}
