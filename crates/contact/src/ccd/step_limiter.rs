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
        let mut ends = self.ends();
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
            // a pair of nothing but prescribed motions waits for the rounds that hold those back as well
            for pair in hits.iter().map(|&(k, _)| &open[k].0) {
                let is_waiting =
                    pair.points.iter().flat_map(|&p| self.dofs(p as usize)).all(|d| self.is_prescribed(d));
                if is_waiting && round < RELATIVE_ROUNDS {
                    pair.points.iter().for_each(|&p| changed[p as usize] = true);
                }
            }
            if grown {
                open = self.open(list, &lengths);
                changed.clear();
            }
        }
        vec![Vec3::ZERO; self.displacements.len()]
    }

    /// Displacements that are the same fraction of the wanted ones for all: where pairs are too many to tell points apart.
    pub(crate) fn limited_together(mut self, list: &[Candidate]) -> Vec<Vec3> {
        let ends = self.ends();
        let lengths: Vec<f64> = self.start.iter().zip(&ends).map(|(s, e)| s.distance(*e)).collect();
        let time = |(pair, margin, keep): &(Pair, f64, f64)| {
            let (start, end) = (pair.gather(self.start), pair.gather(&ends));
            time_of_impact_keeping(pair.kind, &start, &end, *margin, *keep).time
        };
        let time = self.open(list, &lengths).par_iter().map(time).reduce(|| 1.0, f64::min);
        if time < 1.0 {
            self.displacements.iter_mut().for_each(|d| *d *= TOI_SAFETY * time);
        }
        self.displacements
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

    /// Where contact points end.
    pub(crate) fn ends(&self) -> Vec<Vec3> {
        (0..self.start.len()).map(|i| self.end(i)).collect()
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

    const CANDIDATE: Candidate = Candidate {
        pair: Pair { kind: PairKind::VertexTriangle, points: [0, 2, 3, 4], primitives: [0, 0] },
        min_distance: 1e-3,
        dhat: 3e-3,
    };

    /// The scene of `limited` with a floor of its own.
    fn with_limiter<T>(floor: f64, known: &[bool], of: impl FnOnce(&StepLimiter) -> T) -> T {
        let triangle = [Vec3::new(-1.0, 0.0, -1.0), Vec3::new(1.0, 0.0, -1.0), Vec3::new(0.0, 0.0, 1.0)];
        let start: Vec<Vec3> = [0.1 * Vec3::Y, 9.0 * Vec3::X].into_iter().chain(triangle).collect();
        let attachment = Attachment::embedded([vec![(0, 1.0)], vec![(1, 0.25), (2, 0.75)]]);
        of(&StepLimiter {
            start: &start,
            attachment: &attachment,
            displacements: [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|x| x * Vec3::X).to_vec(),
            known,
            body_points: 3,
            floor,
        })
    }

    /// o + max(min(0.4 d̂, 0.2 g), min(floor, 0.5 d̂)), and 0.9 of the distance, or nearly all of it where less than half of the
    /// thickness is left.
    #[test]
    fn what_is_kept_in_closed_form() {
        let margin = |floor: f64, distance: f64| with_limiter(floor, &[], |s| s.margin(&CANDIDATE, distance));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} is not {b}");
        near(margin(0.0, 0.1), 1e-3 + 0.4 * 3e-3); // from afar
        near(margin(0.0, 3e-3), 1e-3 + 0.2 * 2e-3); // from near
        near(margin(1e-3, 3e-3), 1e-3 + 1e-3); // files hold no less
        near(margin(1.0, 3e-3), 1e-3 + 0.5 * 3e-3); // but half of the reach is left
        near(margin(1e-6, 0.5e-3), 1e-3 + 1e-6); // within the thickness
        let keep = |distance: f64| with_limiter(1e-5, &[], |s| s.keep(&CANDIDATE, distance));
        assert_eq!([keep(0.52e-3), keep(0.50e-3), keep(0.2e-3)], [0.9, 0.9999, 0.9999]);
    }

    #[test]
    fn degrees_of_freedom_are_those_of_the_body_and_then_of_the_obstacles() {
        with_limiter(0.0, &[false, true, false], |step| {
            let dofs = |point| step.dofs(point).collect::<Vec<_>>();
            assert_eq!([dofs(0), dofs(1), dofs(2), dofs(4)], [vec![0], vec![1, 2], vec![3], vec![5]]);
            assert_eq!(step.end(0), Vec3::new(1.0, 0.1, 0.0));
            assert_eq!(step.end(1), Vec3::new(9.0 + 0.25 * 2.0 + 0.75 * 4.0, 0.0, 0.0));
            assert_eq!(step.end(3), Vec3::new(1.0 + 16.0, 0.0, -1.0));
            let prescribed = [0, 1, 2, 3, 4].map(|dof| step.is_prescribed(dof));
            assert_eq!(prescribed, [false, true, false, true, true]);
            // the obstacle's motion; without anything prescribed the mean of all
            let ends: Vec<Vec3> = (0..5).map(|i| step.end(i)).collect();
            let mean = step.common_motion(&CANDIDATE.pair, &ends);
            assert!(mean.distance((8.0 + 16.0 + 32.0) / 3.0 * Vec3::X) < 1e-14, "{mean}");
            let own = Pair { kind: PairKind::EdgeEdge, points: [0, 1, 0, 1], primitives: [0, 0] };
            let mean = step.common_motion(&own, &ends);
            assert!(mean.distance(0.5 * (1.0 + 3.5) * Vec3::X) < 1e-14, "{mean}");
        });
    }

    /// Beyond the sum of both displacements nothing has to be looked at; up to it everything.
    #[test]
    fn a_pair_is_open_as_far_as_its_points_reach() {
        let margin = 1e-3 + 0.4 * 3e-3;
        let is_open = |lengths: [f64; 5]| {
            let open = with_limiter(0.0, &[], |step| step.open(&[CANDIDATE], &lengths));
            open.first().is_some_and(|(pair, kept, keep)| {
                assert_eq!((*pair, *keep), (CANDIDATE.pair, 0.9));
                assert!((*kept - margin).abs() < 1e-15);
                true
            })
        };
        let needed = 0.1 - margin;
        assert!(is_open([needed + 1e-9, 0.0, 0.0, 0.0, 0.0]));
        assert!(!is_open([needed - 1e-9, 5.0, 0.0, 0.0, 0.0]));
        assert!(is_open([0.5 * needed, 0.0, 0.1 * needed, 0.0, 0.5 * needed + 1e-9]));
        assert!(!is_open([0.5 * needed, 0.0, 0.4 * needed, 0.4 * needed, 0.5 * needed - 1e-9]));
        assert!(!is_open([0.0; 5]));
    }

    /// Falling on what rests: all but a thousandth and the last fiftieth of the way to the margin is taken.
    #[test]
    fn a_landing_takes_what_there_is() {
        for (height, kept) in [(0.1, 2.2e-3), (2e-3, 1.2e-3), (5e-3, 1.8e-3)] {
            let displacements = limited(height, -Vec3::Y, Vec3::ZERO);
            let left = height + displacements[0].y;
            assert!(left >= kept, "{height}: {left}");
            assert!(left < 1.02 * kept + 1.1e-3 * (height - kept), "{height}: {left}");
            // sideways it is held back as much: the same share of its step
            let slanted = limited(height, -Vec3::Y + 0.1 * Vec3::X, Vec3::ZERO)[0];
            assert!((slanted.x / 0.1 + slanted.y).abs() < 1e-12, "{slanted}");
        }
    }

    /// A point at rest is taken along by what rises under it, into the way of something that it would never have met: that one is looked at
    /// as well, and what rises waits.
    #[test]
    fn what_is_taken_along_does_not_pass_what_it_then_meets() {
        let triangle = [Vec3::new(-1.0, 0.0, -1.0), Vec3::new(1.0, 0.0, -1.0), Vec3::new(0.0, 0.0, 1.0)];
        let ceiling = triangle.map(|p| p + 0.5 * Vec3::Y);
        let start: Vec<Vec3> = [2e-3 * Vec3::Y].into_iter().chain(triangle).chain(ceiling).collect();
        let pair = |t: u32| Pair {
            kind: PairKind::VertexTriangle,
            points: [0, 3 * t + 1, 3 * t + 2, 3 * t + 3],
            primitives: [0, t],
        };
        let list = [0, 1].map(|t| Candidate { pair: pair(t), ..CANDIDATE });
        let step = StepLimiter {
            start: &start,
            attachment: &Attachment::identity(1),
            displacements: [Vec3::ZERO].into_iter().chain([Vec3::Y; 3]).chain([Vec3::ZERO; 3]).collect(),
            known: &[],
            body_points: 1,
            floor: 1e-6,
        };
        let displacements = step.limited(&list, false);
        let point = 2e-3 + displacements[0].y;
        assert!(point <= 0.5 - 1e-3, "it passed the ceiling: {point}");
        for d in &displacements[1..4] {
            assert!(d.y < point - 1e-3, "what rises passed the point: {d} {point}");
        }
        assert_eq!(displacements[4..], [Vec3::ZERO; 3]);
    }

    /// Points above, below and between triangles that all move anyhow: whatever is left of their steps, each pair keeps what it must all the
    /// way, to the exact paths' rounding; what was to be shorter only is; and what meets nothing goes all the way.
    #[test]
    fn no_pair_of_a_crowd_comes_nearer_than_it_may() {
        let mut random = geometry::Random::new(18);
        let (mut cut, mut whole) = (0, 0);
        for round in 0..40 {
            let count = 8;
            let mut start: Vec<Vec3> = Vec::new();
            for _ in 0..count {
                let at = 0.3 * random.vec3();
                start.extend((0..4).map(|_| at + 0.1 * random.vec3()));
            }
            let wanted: Vec<Vec3> = start.iter().map(|_| 0.1 * random.vec3()).collect();
            let mut list = Vec::new();
            for a in 0..count {
                for b in 0..count {
                    let [p, q] = [a, b].map(|k| 4 * k as u32);
                    let vertex = (PairKind::VertexTriangle, [p, q + 1, q + 2, q + 3]);
                    let edges = (PairKind::EdgeEdge, [p + 1, p + 2, q + 1, q + 2]);
                    for (kind, points) in [vertex, edges] {
                        if kind == PairKind::VertexTriangle || a < b {
                            let pair = Pair { kind, points, primitives: [a as u32, b as u32] };
                            list.push(Candidate { pair, min_distance: 2e-3, dhat: 3e-3 });
                        }
                    }
                }
            }
            // the last eight points are an obstacle's
            let (only_shorter, carried) = (round % 2 == 1, start.len() - 8);
            let attachment = Attachment::identity(carried);
            let known: Vec<bool> = (0..carried).map(|i| i % 5 == 0).collect();
            let limiter = |displacements: Vec<Vec3>| StepLimiter {
                start: &start,
                attachment: &attachment,
                displacements,
                known: &known,
                body_points: carried,
                floor: 1e-6,
            };
            let taken = limiter(wanted.clone()).limited(&list, only_shorter);
            let judge = limiter(taken.clone());
            for candidate in &list {
                let (x, d) = (candidate.pair.gather(&start), candidate.pair.gather(&taken));
                let kind = candidate.pair.kind;
                let initial = closest(kind, &x).distance;
                let margin = judge.margin(candidate, initial);
                let kept = margin.min(judge.keep(candidate, initial) * initial * 0.99);
                for step in 1..=16 {
                    let t = f64::from(step) / 16.0;
                    let here: [Vec3; 4] = std::array::from_fn(|i| x[i] + t * d[i]);
                    let distance = closest(kind, &here).distance;
                    assert!(distance >= kept - 1e-12, "{round} {kind:?} at {t}: {distance} < {kept}");
                }
            }
            for (taken, wanted) in taken.iter().zip(&wanted) {
                cut += usize::from(taken != wanted);
                whole += usize::from(taken == wanted);
                if only_shorter {
                    let share = taken.dot(*wanted) / wanted.length_squared();
                    assert!((0.0..=1.0).contains(&share), "{share}");
                    assert!(taken.distance(share * *wanted) < 1e-14);
                }
            }
        }
        assert!(cut > 50 && whole > 50, "{cut} were held back, {whole} were not");
    }
}
