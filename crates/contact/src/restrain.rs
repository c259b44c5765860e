//! How much of a step each point may take.
//!
//! One fraction for all would be simple, but a single corner that lands would stop the whole cloth: a Newton iteration for
//! every landing. Instead only the points of pairs that would meet are held back, by as much as that pair needs; whatever
//! else their shorter step brings into the way is looked at again, until all pairs are certified. Steps near the
//! solution are not shortened at all, so that what the solver promises (averages above all) holds at the end.

use geometry::Vec3;
use rayon::prelude::*;

use crate::ccd::{KEEP, travel_keeping};
use crate::distance::closest;
use crate::watch::Watched;
use crate::{Attachment, Pair};

/// The share of a gap that one step may not use up, and the share of ĝ at which a pair that comes from afar is stopped: the
/// push must be felt, and answered, before detection has the last word.
const KEPT: f64 = 0.2;
const ARRIVAL: f64 = 0.4;
/// The share of its distance that a pair keeps in one step when it is pressed as near as it may come.
const LAST: f64 = 0.9999;
/// Rounds after which points that still meet something stay where they are.
const ROUNDS: usize = 8;
const MOST_ROUNDS: usize = 60;

/// A step of everything: of the body, whose points decide over the contact points they carry, and of the obstacles' points,
/// which decide for themselves.
pub(crate) struct Step<'a> {
    /// Where contact points are.
    pub(crate) start: &'a [Vec3],
    pub(crate) attachment: &'a Attachment,
    /// The step of the body's points.
    pub(crate) delta: &'a [Vec3],
    /// The way that the obstacles' points have before them.
    pub(crate) way: &'a [Vec3],
    /// The smallest gap that files can hold, in metres.
    pub(crate) floor: f64,
}

impl Step<'_> {
    /// The largest fractions found with which no pair of the list comes nearer than it may.
    pub(crate) fn fractions(&self, list: &[Watched]) -> Vec<f64> {
        let deciders = self.delta.len() + self.way.len();
        let mut fractions = vec![1.0; deciders];
        let mut ends: Vec<Vec3> = (0..self.start.len()).map(|i| self.end(i, &fractions)).collect();
        // pairs that may matter: everything else is too far away for its speed, whatever fractions are
        let speed: Vec<f64> = self.start.iter().zip(&ends).map(|(s, e)| s.distance(*e)).collect();
        let near = |watched: &Watched| {
            let pair = &watched.pair;
            let way = |points: &[u32]| points.iter().map(|&p| speed[p as usize]).fold(0.0, f64::max);
            let (first, second) = pair.points.split_at(pair.kind.split());
            let most = way(first) + way(second);
            if most == 0.0 {
                return None;
            }
            let distance = closest(pair.kind, &pair.gather(self.start)).distance;
            let margin = self.margin(watched, distance);
            // a fraction per point can also turn things; the sum of the ways bounds that as well
            (distance - most <= margin).then_some((*pair, margin, self.keep(watched, distance)))
        };
        let open: Vec<(Pair, f64, f64)> = list.par_iter().filter_map(near).collect();
        let mut changed: Vec<bool> = Vec::new();
        for round in 0..MOST_ROUNDS {
            let hits: Vec<(usize, f64)> = open
                .par_iter()
                .enumerate()
                .filter(|(_, (pair, ..))| {
                    changed.is_empty() || pair.points.iter().any(|&p| changed[p as usize])
                })
                .filter_map(|(k, (pair, margin, keep))| {
                    let (start, end) = (pair.gather(self.start), pair.gather(&ends));
                    let impact = travel_keeping(pair.kind, &start, &end, *margin, *keep);
                    (impact.time < 1.0).then_some((k, impact.time))
                })
                .collect();
            if hits.is_empty() {
                return fractions;
            }
            let before = fractions.clone();
            for &(k, time) in &hits {
                for &p in &open[k].0.points {
                    for decider in self.deciders(p as usize) {
                        let allowed = if round < ROUNDS { before[decider] * time } else { 0.0 };
                        fractions[decider] = fractions[decider].min(allowed);
                    }
                }
            }
            // pairs whose points cannot be held back further, because they touch, are not looked at again
            changed = vec![false; self.start.len()];
            for i in 0..self.start.len() {
                if self.deciders(i).any(|d| fractions[d] != before[d]) {
                    ends[i] = self.end(i, &fractions);
                    changed[i] = true;
                }
            }
        }
        vec![0.0; deciders]
    }

    /// Who decides over a contact point: points of the body by their numbers, then those of the obstacles.
    fn deciders(&self, point: usize) -> impl Iterator<Item = usize> + '_ {
        let carried = point < self.attachment.len();
        let parts = if carried { self.attachment.parts(point) } else { &[] };
        let own = (!carried).then(|| self.delta.len() + point - self.attachment.len());
        parts.iter().map(|part| part.0 as usize).chain(own)
    }

    /// Where a contact point ends.
    fn end(&self, point: usize, fractions: &[f64]) -> Vec3 {
        let Some(obstacle) = point.checked_sub(self.attachment.len()) else {
            let part = |&(p, weight): &(u32, f64)| weight * fractions[p as usize] * self.delta[p as usize];
            return self.start[point] + self.attachment.parts(point).iter().map(part).sum::<Vec3>();
        };
        self.start[point] + fractions[self.delta.len() + obstacle] * self.way[obstacle]
    }

    /// What has come through half of its thickness, or to the last that files can hold, comes no nearer: many small shares
    /// would be used up in the end.
    fn keep(&self, watched: &Watched, distance: f64) -> f64 {
        if distance < 0.5 * watched.offset + self.floor { LAST } else { KEEP }
    }

    fn margin(&self, watched: &Watched, distance: f64) -> f64 {
        let gap = distance - watched.offset;
        let kept = (ARRIVAL * watched.reach).min(KEPT * gap);
        watched.offset + kept.max(self.floor.min(0.5 * watched.reach))
    }
}
