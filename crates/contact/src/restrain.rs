//! How much of a step each point may take.
//!
//! One fraction for all would be simple, but a single corner that lands would stop the whole cloth: a Newton iteration for
//! every landing. Instead only the points of pairs that would meet are held back, by as much as that pair needs; whatever
//! else their shorter step brings into the way is looked at again, until all pairs are certified. Steps near the
//! solution are not shortened at all, so that what the solver promises (averages above all) holds at the end.
//!
//! What is held back is first the motion of the two relative to each other. Cloth that a ball carries along shares the ball's
//! way, a hundred gaps long; holding back some of its points from all of that would bring them in the way of everything around
//! them, and the whole patch, ball included, to a standstill. Where that does not end, points are held back from their whole step.

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
/// Rounds in which relative motion is held back, rounds after which points that still meet something stay where they are, and
/// rounds at most.
const RELATIVE_ROUNDS: usize = 8;
const ROUNDS: usize = 16;
const MOST_ROUNDS: usize = 70;
/// The share that is taken of what a pair may go, so that rounding does not make it meet again.
const SHY: f64 = 0.999;

/// A step of everything: of the body, whose points decide over the contact points they carry, and of the obstacles' points,
/// which decide for themselves.
pub(crate) struct Step<'a> {
    /// Where contact points are.
    pub(crate) start: &'a [Vec3],
    pub(crate) attachment: &'a Attachment,
    /// The ways of those who decide: the body's points, then the obstacles'.
    pub(crate) ways: Vec<Vec3>,
    /// The body's points whose motion is given; none where it is not known.
    pub(crate) known: &'a [bool],
    /// How many points the body has.
    pub(crate) body_points: usize,
    /// The smallest gap that files can hold, in metres.
    pub(crate) floor: f64,
}

impl Step<'_> {
    /// Ways, not much else than the wanted ones, on which no pair of the list comes nearer than it may. Only shorter ones if
    /// `only_shorter`, so that a list that was right for the wanted ones still is.
    pub(crate) fn restrained(mut self, list: &[Watched], only_shorter: bool) -> Vec<Vec3> {
        let mut ends: Vec<Vec3> = (0..self.start.len()).map(|i| self.end(i)).collect();
        let mut lengths: Vec<f64> = self.start.iter().zip(&ends).map(|(s, e)| s.distance(*e)).collect();
        let mut open = self.open(list, &lengths);
        let mut changed: Vec<bool> = Vec::new();
        let skipped = if only_shorter { RELATIVE_ROUNDS } else { 0 };
        for round in skipped..MOST_ROUNDS {
            let is_due = |pair: &Pair| changed.is_empty() || pair.points.iter().any(|&p| changed[p as usize]);
            let hits: Vec<(usize, f64)> = open
                .par_iter()
                .enumerate()
                .filter(|(_, (pair, ..))| is_due(pair))
                .filter_map(|(k, (pair, margin, keep))| {
                    let (start, end) = (pair.gather(self.start), pair.gather(&ends));
                    let impact = travel_keeping(pair.kind, &start, &end, *margin, *keep);
                    (impact.time < 1.0).then_some((k, SHY * impact.time))
                })
                .collect();
            if hits.is_empty() {
                return self.ways;
            }
            // the pair that meets first decides
            let mut first: Vec<(f64, Vec3)> = vec![(1.0, Vec3::ZERO); self.ways.len()];
            for &(k, time) in &hits {
                let pair = &open[k].0;
                let common = if round < RELATIVE_ROUNDS { self.common(pair, &ends) } else { Vec3::ZERO };
                for decider in pair.points.iter().flat_map(|&p| self.deciders(p as usize)) {
                    let is_held = round >= RELATIVE_ROUNDS || !self.is_given(decider);
                    if is_held && time < first[decider].0 {
                        first[decider] = (if round < ROUNDS { time } else { 0.0 }, common);
                    }
                }
            }
            let mut held = vec![false; self.ways.len()];
            for (d, (time, common)) in first.into_iter().enumerate().filter(|(_, first)| first.0 < 1.0) {
                let way = common + time * (self.ways[d] - common);
                // pairs whose points cannot be held back further, because they touch, are not looked at again
                held[d] = round < RELATIVE_ROUNDS || way != self.ways[d];
                self.ways[d] = way;
            }
            changed = vec![false; self.start.len()];
            let mut grown = false;
            for i in 0..self.start.len() {
                if self.deciders(i).any(|d| held[d]) {
                    ends[i] = self.end(i);
                    changed[i] = true;
                    let length = self.start[i].distance(ends[i]);
                    grown |= length > lengths[i];
                    lengths[i] = lengths[i].max(length);
                }
            }
            if grown {
                open = self.open(list, &lengths);
                changed.clear();
            }
        }
        vec![Vec3::ZERO; self.ways.len()]
    }

    /// Pairs that may matter, with the distance to keep: all others are too far away for their points' ways.
    fn open(&self, list: &[Watched], lengths: &[f64]) -> Vec<(Pair, f64, f64)> {
        let near = |watched: &Watched| {
            let pair = &watched.pair;
            let way = |points: &[u32]| points.iter().map(|&p| lengths[p as usize]).fold(0.0, f64::max);
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
        list.par_iter().filter_map(near).collect()
    }

    /// The motion that the points of a pair have in common: that of those which are not free, or of all.
    fn common(&self, pair: &Pair, ends: &[Vec3]) -> Vec3 {
        let mean = |points: &mut dyn Iterator<Item = usize>| {
            let (sum, count) =
                points.fold((Vec3::ZERO, 0), |(sum, count), p| (sum + ends[p] - self.start[p], count + 1));
            (count > 0).then(|| sum / f64::from(count))
        };
        let points = || pair.points.iter().map(|&p| p as usize);
        let given = mean(&mut points().filter(|&p| self.deciders(p).all(|d| self.is_given(d))));
        given.or_else(|| mean(&mut points())).unwrap_or(Vec3::ZERO)
    }

    /// Whether the motion of who decides is given from outside.
    fn is_given(&self, decider: usize) -> bool {
        decider >= self.body_points || self.known.get(decider).is_some_and(|known| *known)
    }

    /// Who decides over a contact point: points of the body by their numbers, then those of the obstacles.
    fn deciders(&self, point: usize) -> impl Iterator<Item = usize> + '_ {
        let carried = point < self.attachment.len();
        let parts = if carried { self.attachment.parts(point) } else { &[] };
        let own = (!carried).then(|| self.body_points + point - self.attachment.len());
        parts.iter().map(|part| part.0 as usize).chain(own)
    }

    /// Where a contact point ends.
    fn end(&self, point: usize) -> Vec3 {
        let way = match point.checked_sub(self.attachment.len()) {
            Some(obstacle) => self.ways[self.body_points + obstacle],
            None => self.attachment.place(point, &self.ways),
        };
        self.start[point] + way
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    /// A point at some height above a triangle, and another beside it; all with the ways given.
    fn restrained(height: f64, point: Vec3, obstacle: Vec3) -> Vec<Vec3> {
        let triangle = [Vec3::new(-1.0, 0.0, -1.0), Vec3::new(1.0, 0.0, -1.0), Vec3::new(0.0, 0.0, 1.0)];
        let start = [Vec3::new(0.0, height, 0.0), Vec3::new(9.0, 0.0, 0.0)];
        let start: Vec<Vec3> = start.into_iter().chain(triangle).collect();
        let pair = Pair { kind: Kind::VertexTriangle, points: [0, 2, 3, 4], things: [0, 0] };
        let step = Step {
            start: &start,
            attachment: &Attachment::identity(2),
            ways: vec![point, Vec3::X, obstacle, obstacle, obstacle],
            known: &[],
            body_points: 2,
            floor: 1e-6,
        };
        step.restrained(&[Watched { pair, offset: 1e-3, reach: 3e-3 }], false)
    }

    #[test]
    fn what_is_carried_goes_along() {
        // it lacks a centimetre of the metre that the triangle rises
        let ways = restrained(2e-3, 0.99 * Vec3::Y, Vec3::Y);
        assert_eq!(ways[2..], [Vec3::Y; 3]);
        assert!(ways[0].y > 0.998 && ways[0].y < 1.0, "{}", ways[0]);
        assert_eq!(ways[1], Vec3::X);
    }

    #[test]
    fn what_lands_is_stopped_before_what_it_lands_on() {
        let ways = restrained(0.1, -Vec3::Y, Vec3::ZERO);
        assert!(ways[0].y < -0.09 && ways[0].y > -0.099, "{}", ways[0]);
        assert_eq!(ways[1], Vec3::X);
    }

    #[test]
    fn what_touches_holds_nothing_but_itself() {
        let ways = restrained(0.0, -Vec3::Y, Vec3::Y);
        assert_eq!(ways[0], Vec3::ZERO);
        assert_eq!(ways[2..], [Vec3::ZERO; 3]);
        assert_eq!(ways[1], Vec3::X);
    }
}
