//! Candidate pairs: a list from the broad phase that stays right while points move a little.
//!
//! Each list is made for points that all go the same fraction of their way from one place to another, give or take some slack.
//! As long as they do, no pair can come near that is not on it; Newton's later, shorter steps need no new one.

use geometry::Vec3;
use rayon::prelude::*;

use crate::broad_phase::StepScale;
use crate::distance::closest;
use crate::{BroadPhase, CollisionMesh, Error, Pair};

/// A candidate pair with what is kept between its two primitives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) pair: Pair,
    /// Thickness, in metres.
    pub(crate) min_distance: f64,
    /// d̂: the gap beyond it at which the barrier begins, in metres.
    pub(crate) dhat: f64,
}

/// The list, and where it is right.
#[derive(Clone, Debug, Default)]
pub(crate) struct CandidateCache {
    broad: BroadPhase,
    pub(crate) list: Vec<Candidate>,
    start: Vec<Vec3>,
    motion: Vec<Vec3>,
    /// How far points may be from their ways, in metres.
    room: f64,
}

impl CandidateCache {
    /// Drops the list.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.start.clear();
        self.motion.clear();
    }

    /// Makes the list anew: every pair that may be within its thickness and reach while points move from `start` to `end`.
    pub(crate) fn rebuild(
        &mut self,
        mesh: &CollisionMesh,
        start: &[Vec3],
        end: &[Vec3],
        dhat: f64,
        slack: f64,
        scale: StepScale,
        is_exempt: impl Fn(&Pair) -> bool + Sync,
    ) -> Result<(), Error> {
        let pairs = self.broad.pairs(mesh, start, end, dhat + slack, scale)?;
        self.motion = start.iter().zip(end).map(|(s, e)| *e - *s).collect();
        self.start = start.to_vec();
        self.room = 0.5 * slack;
        let motion = &self.motion;
        let candidate = |pair: &Pair| {
            // the two come nearer by at most the largest difference of their corners' motions, or, each at its own pace, sum
            let d = pair.gather(motion);
            let split = pair.kind.split();
            let corners = (0..split).flat_map(|i| (split..4).map(move |j| (i, j)));
            let nearer = |(i, j): (usize, usize)| match scale {
                StepScale::Uniform => d[i].distance(d[j]),
                StepScale::PerPoint => d[i].length() + d[j].length(),
            };
            let most = corners.map(nearer).fold(0.0, f64::max);
            let least = closest(pair.kind, &pair.gather(start)).distance - most - slack;
            if least > mesh.thickness(pair) + dhat || is_exempt(pair) {
                return None;
            }
            let (min_distance, dhat) = mesh.gap(pair, dhat);
            (least <= min_distance + dhat).then_some(Candidate { pair: *pair, min_distance, dhat })
        };
        self.list = pairs.par_iter().filter_map(candidate).collect();
        // whatever the shape of the tree, and the number of threads
        self.list.par_sort_unstable_by_key(|candidate| candidate.pair);
        Ok(())
    }

    /// Whether the list is right when points are at `x`: near where they are after some fraction of their ways, the same for all.
    /// Between two such places it then is as well.
    pub(crate) fn is_valid_at(&self, x: &[Vec3]) -> bool {
        if x.len() != self.start.len() {
            return false;
        }
        let ways = || self.start.iter().zip(&self.motion);
        let (along, whole) = ways().zip(x).fold((0.0, 0.0), |(along, whole), ((s, d), x)| {
            (along + (*x - *s).dot(*d), whole + d.length_squared())
        });
        let fraction = if whole > 0.0 { (along / whole).clamp(0.0, 1.0) } else { 0.0 };
        let room = self.room * self.room;
        ways().zip(x).all(|((s, d), x)| (*s + fraction * *d).distance_squared(*x) <= room)
    }
}
