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

use crate::broad_phase::Candidate;
use crate::ccd::{MIN_DISTANCE_RATIO, time_of_impact_keeping};
use crate::distance::closest;
use crate::{Attachment, Pair};

/// The share of a gap that one step may not use up, and the share of d̂ at which a pair that comes from afar is stopped: the
/// barrier must act before detection has the last word.
const GAP_RESERVE: f64 = 0.2;
const STOP_GAP_RATIO: f64 = 0.4;
/// The share of its distance that a pair keeps in one step when it is pressed as near as it may come.
const MIN_GAP_RATIO: f64 = 0.9999;
/// Rounds in which relative motion is held back, rounds after which points that still meet something stay where they are, and
/// rounds at most.
const RELATIVE_ROUNDS: usize = 8;
const ROUNDS: usize = 16;
const MAX_ROUNDS: usize = 70;
/// The share that is taken of what a pair may go, so that rounding does not make it meet again.
const TOI_SAFETY: f64 = 0.999;

/// A step of all degrees of freedom: the body's points, which move the contact points attached to them, and the obstacles'
/// points, which move themselves.
pub(crate) struct StepLimiter<'a> {
    /// Where contact points are.
    pub(crate) start: &'a [Vec3],
    pub(crate) attachment: &'a Attachment,
    /// Displacements of the degrees of freedom: the body's points, then the obstacles'.
    pub(crate) displacements: Vec<Vec3>,
    /// The body's points whose motion is given; none where it is not known.
    pub(crate) known: &'a [bool],
    /// How many points the body has.
    pub(crate) body_points: usize,
    /// The smallest gap that files can hold, in metres.
    pub(crate) floor: f64,
}

impl StepLimiter<'_> {
    /// Displacements, not much else than the wanted ones, on which no pair of the list comes nearer than it may. Only shorter ones if
    /// `only_shorter`, so that a list that was right for the wanted ones still is.
    pub(crate) fn limited(mut self, list: &[Candidate], only_shorter: bool) -> Vec<Vec3> {
        let mut ends: Vec<Vec3> = (0..self.start.len()).map(|i| self.end(i)).collect();
        let mut lengths: Vec<f64> = self.start.iter().zip(&ends).map(|(s, e)| s.distance(*e)).collect();
        let mut open = self.open(list, &lengths);
        let mut changed: Vec<bool> = Vec::new();
        let skipped = if only_shorter { RELATIVE_ROUNDS } else { 0 };
        for round in skipped..MAX_ROUNDS {
            let is_due = |pair: &Pair| changed.is_empty() || pair.points.iter().any(|&p| changed[p as usize]);
            let hits: Vec<(usize, f64)> = open
                .par_iter()
                .enumerate()
                .filter(|(_, (pair, ..))| is_due(pair))
                .filter_map(|(k, (pair, margin, keep))| {
                    let (start, end) = (pair.gather(self.start), pair.gather(&ends));
                    let impact = time_of_impact_keeping(pair.kind, &start, &end, *margin, *keep);
                    (impact.time < 1.0).then_some((k, TOI_SAFETY * impact.time))
                })
                .collect();
            if hits.is_empty() {
                return self.displacements;
            }
            // the pair that meets first decides
            let mut first: Vec<(f64, Vec3)> = vec![(1.0, Vec3::ZERO); self.displacements.len()];
            for &(k, time) in &hits {
                let pair = &open[k].0;
                let common =
                    if round < RELATIVE_ROUNDS { self.common_motion(pair, &ends) } else { Vec3::ZERO };
                for dof in pair.points.iter().flat_map(|&p| self.dofs(p as usize)) {
                    let is_held = round >= RELATIVE_ROUNDS || !self.is_prescribed(dof);
                    if is_held && time < first[dof].0 {
                        first[dof] = (if round < ROUNDS { time } else { 0.0 }, common);
                    }
                }
            }
            let mut held = vec![false; self.displacements.len()];
            for (d, (time, common)) in first.into_iter().enumerate().filter(|(_, first)| first.0 < 1.0) {
                let displacement = common + time * (self.displacements[d] - common);
                // pairs whose points cannot be held back further, because they touch, are not looked at again
                held[d] = round < RELATIVE_ROUNDS || displacement != self.displacements[d];
                self.displacements[d] = displacement;
            }
            changed = vec![false; self.start.len()];
            let mut grown = false;
            for i in 0..self.start.len() {
                if self.dofs(i).any(|d| held[d]) {
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
        vec![Vec3::ZERO; self.displacements.len()]
    }

    /// Pairs that may matter, with the distance to keep: all others are too far away for their points' displacements.
    fn open(&self, list: &[Candidate], lengths: &[f64]) -> Vec<(Pair, f64, f64)> {
        let near = |candidate: &Candidate| {
            let pair = &candidate.pair;
            let longest = |points: &[u32]| points.iter().map(|&p| lengths[p as usize]).fold(0.0, f64::max);
            let (first, second) = pair.points.split_at(pair.kind.split());
            let most = longest(first) + longest(second);
            if most == 0.0 {
                return None;
            }
            let distance = closest(pair.kind, &pair.gather(self.start)).distance;
            let margin = self.margin(candidate, distance);
            // a fraction per point can also turn things; the sum of the displacements bounds that as well
            (distance - most <= margin).then_some((*pair, margin, self.keep(candidate, distance)))
        };
        list.par_iter().filter_map(near).collect()
    }

    /// The motion that the points of a pair have in common: that of those which are not free, or of all.
    fn common_motion(&self, pair: &Pair, ends: &[Vec3]) -> Vec3 {
        let mean = |points: &mut dyn Iterator<Item = usize>| {
            let (sum, count) =
                points.fold((Vec3::ZERO, 0), |(sum, count), p| (sum + ends[p] - self.start[p], count + 1));
            (count > 0).then(|| sum / f64::from(count))
        };
        let points = || pair.points.iter().map(|&p| p as usize);
        let given = mean(&mut points().filter(|&p| self.dofs(p).all(|d| self.is_prescribed(d))));
        given.or_else(|| mean(&mut points())).unwrap_or(Vec3::ZERO)
    }

    /// Whether a degree of freedom's motion is prescribed.
    fn is_prescribed(&self, dof: usize) -> bool {
        dof >= self.body_points || self.known.get(dof).is_some_and(|known| *known)
    }

    /// The degrees of freedom that move a contact point: points of the body by their numbers, then those of the obstacles.
    fn dofs(&self, point: usize) -> impl Iterator<Item = usize> + '_ {
        let carried = point < self.attachment.len();
        let parts = if carried { self.attachment.parts(point) } else { &[] };
        let own = (!carried).then(|| self.body_points + point - self.attachment.len());
        parts.iter().map(|part| part.0 as usize).chain(own)
    }

    /// Where a contact point ends.
    fn end(&self, point: usize) -> Vec3 {
        let displacement = match point.checked_sub(self.attachment.len()) {
            Some(obstacle) => self.displacements[self.body_points + obstacle],
            None => self.attachment.place(point, &self.displacements),
        };
        self.start[point] + displacement
    }

    /// What has come through half of its thickness, or to the last that files can hold, comes no nearer: many small shares
    /// would be used up in the end.
    fn keep(&self, candidate: &Candidate, distance: f64) -> f64 {
        if distance < 0.5 * candidate.min_distance + self.floor { MIN_GAP_RATIO } else { MIN_DISTANCE_RATIO }
    }

    fn margin(&self, candidate: &Candidate, distance: f64) -> f64 {
        let gap = distance - candidate.min_distance;
        let committed = (STOP_GAP_RATIO * candidate.dhat).min(GAP_RESERVE * gap);
        candidate.min_distance + committed.max(self.floor.min(0.5 * candidate.dhat))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PairKind;

    /// A point at some height above a triangle, and another beside it; all with the displacements given.
    fn limited(height: f64, point: Vec3, obstacle: Vec3) -> Vec<Vec3> {
        let triangle = [Vec3::new(-1.0, 0.0, -1.0), Vec3::new(1.0, 0.0, -1.0), Vec3::new(0.0, 0.0, 1.0)];
        let start = [Vec3::new(0.0, height, 0.0), Vec3::new(9.0, 0.0, 0.0)];
        let start: Vec<Vec3> = start.into_iter().chain(triangle).collect();
        let pair = Pair { kind: PairKind::VertexTriangle, points: [0, 2, 3, 4], primitives: [0, 0] };
        let step = StepLimiter {
            start: &start,
            attachment: &Attachment::identity(2),
            displacements: vec![point, Vec3::X, obstacle, obstacle, obstacle],
            known: &[],
            body_points: 2,
            floor: 1e-6,
        };
        step.limited(&[Candidate { pair, min_distance: 1e-3, dhat: 3e-3 }], false)
    }

    #[test]
    fn what_is_carried_goes_along() {
        // it lacks a centimetre of the metre that the triangle rises
        let displacements = limited(2e-3, 0.99 * Vec3::Y, Vec3::Y);
        assert_eq!(displacements[2..], [Vec3::Y; 3]);
        assert!(displacements[0].y > 0.998 && displacements[0].y < 1.0, "{}", displacements[0]);
        assert_eq!(displacements[1], Vec3::X);
    }

    #[test]
    fn what_lands_is_stopped_before_what_it_lands_on() {
        let displacements = limited(0.1, -Vec3::Y, Vec3::ZERO);
        assert!(displacements[0].y < -0.09 && displacements[0].y > -0.099, "{}", displacements[0]);
        assert_eq!(displacements[1], Vec3::X);
    }

    #[test]
    fn what_touches_holds_nothing_but_itself() {
        let displacements = limited(0.0, -Vec3::Y, Vec3::Y);
        assert_eq!(displacements[0], Vec3::ZERO);
        assert_eq!(displacements[2..], [Vec3::ZERO; 3]);
        assert_eq!(displacements[1], Vec3::X);
    }
}
