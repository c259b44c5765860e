//! Continuous detection: how far may four points travel before a vertex and a triangle, or two edges, come too near?
//!
//! The answer is never late. It is the last time up to which separation is *certified*, and a certificate is a fixed
//! direction n along which every corner of one thing stays beyond every corner of the other:
//!
//! ```text
//! n·(xᵢ(t) − xⱼ(t)) ≥ margin    for all corners i of the first, j of the second,
//! ```
//!
//! linear in t for points that move on straight lines, so that the time up to which one n holds has a closed form. From
//! there on another n is looked for: the direction between the closest points, the normal of the face or of both edges.
//! A poorly computed n only shortens a step; it cannot make a certificate wrong. (Advancing by a computed *distance*
//! could: an inexact closest point overestimates it.) For a pair that meets head-on one or two directions suffice;
//! turning ones take more.
//!
//! **Error bound.** Let M be the largest coordinate of the eight places, in magnitude. Positions at t, their
//! differences and products with n, and t itself, are each rounded a dozen times with relative error 2⁻⁵³ from numbers
//! below 4√3 M; 128·2⁻⁵³·M = 1.4e-14·M covers their sum, and is added to what a certificate must show. So at every time
//! up to the one returned the exact distance between the exact paths is at least the margin. How *early* it may be: it
//! stops once the gap above the margin is down to 2 % of the margin (or of what it was at the start), or after 64
//! directions.

#[cfg(test)]
mod exact;
mod step_limiter;

use geometry::Vec3;
use rayon::prelude::*;

use crate::distance::{PairKind, closest};

pub(crate) use step_limiter::StepLimiter;

/// How far a pair may go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// Certified apart up to this fraction of the step; 1 if nothing happens.
    pub time: f64,
    /// The direction of the last certificate, from the second thing to the first: where they would meet, the normal.
    /// Zero if there was no certificate at all, because they touch from the start.
    pub normal: Vec3,
    /// Directions tried.
    pub probes: u32,
}

/// A pair that starts nearer than the margin may come nearer still, but not below this fraction of where it starts: so
/// it can slide and separate, and nothing is stuck.
pub const MIN_DISTANCE_RATIO: f64 = 0.9;

/// The gap above the margin, relative to the margin or to the gap at the start, at which looking on is not worth it.
const NEAR: f64 = 0.02;
const MOST_PROBES: u32 = 64;
/// 128 · 2⁻⁵³, see above.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// The last time in [0, 1] up to which the pair, moving on straight lines from `start` to `end`, is certainly at least
/// `margin` apart. See the module's notes for the error bound, and [`MIN_DISTANCE_RATIO`] for pairs that begin within the margin.
///
/// ```
/// use contact::{PairKind, time_of_impact};
/// use geometry::Vec3;
///
/// let (a, b, c) = (Vec3::ZERO, Vec3::X, Vec3::Z);
/// let inside = Vec3::new(0.2, 0.0, 0.2);
/// let start = [inside + Vec3::Y, a, b, c];
/// let end = [inside - Vec3::Y, a, b, c];
/// // from height 1 to height 0.1 at a speed of 2
/// let impact = time_of_impact(PairKind::VertexTriangle, &start, &end, 0.1);
/// assert!(impact.time <= 0.45 && impact.time > 0.44);
/// ```
pub fn time_of_impact(kind: PairKind, start: &[Vec3; 4], end: &[Vec3; 4], margin: f64) -> Impact {
    time_of_impact_until(kind, start, end, margin, MIN_DISTANCE_RATIO, 1.0)
}

/// Like [`time_of_impact`], with another share than [`MIN_DISTANCE_RATIO`].
pub(crate) fn time_of_impact_keeping(
    kind: PairKind,
    start: &[Vec3; 4],
    end: &[Vec3; 4],
    margin: f64,
    keep: f64,
) -> Impact {
    time_of_impact_until(kind, start, end, margin, keep, 1.0)
}

/// Like [`time_of_impact`], but content once `limit` is passed: the time is exact (as certificates are) only below it.
fn time_of_impact_until(
    kind: PairKind,
    start: &[Vec3; 4],
    end: &[Vec3; 4],
    margin: f64,
    keep: f64,
    limit: f64,
) -> Impact {
    let magnitude = |points: &[Vec3; 4]| points.iter().fold(Vec3::ZERO, |m, p| m.max(p.abs())).max_element();
    let error = ROUNDING * magnitude(start).max(magnitude(end));
    let path =
        Path { kind, start: start.map(|p| p - start[0]), motion: std::array::from_fn(|i| end[i] - start[i]) };
    let first = path.probe(0.0);
    let mut impact = Impact { time: 0.0, normal: Vec3::ZERO, probes: 1 };
    // What is certainly there at the start. Comparisons with NaN would let it pass, so it is stopped here.
    let initial = first.lower - error;
    if initial <= error || !start.iter().chain(end).all(|p| p.is_finite()) {
        return impact;
    }
    let required = margin.max(0.0).min(keep * initial) + error;
    let initial_gap = first.lower - required;
    let enough = NEAR * initial_gap.min(required);
    let mut here = first;
    loop {
        let Some((advance, normal)) = path.certify(impact.time, &here, required) else { return impact };
        impact.normal = normal;
        let time = impact.time + advance;
        if time >= 1.0 || time > limit {
            impact.time = time.min(1.0);
            return impact;
        }
        if time <= impact.time || impact.probes >= MOST_PROBES {
            return impact;
        }
        impact.time = time;
        here = path.probe(time);
        impact.probes += 1;
        if here.lower - required <= enough {
            return impact;
        }
    }
}

/// The straight paths of a pair, seen from where the first point starts.
struct Path {
    kind: PairKind,
    start: [Vec3; 4],
    motion: [Vec3; 4],
}

/// Places at one time, the direction between the closest points there, and how far apart corners are along it at least.
struct Probe {
    x: [Vec3; 4],
    normal: Vec3,
    lower: f64,
}

impl Path {
    fn probe(&self, time: f64) -> Probe {
        let x = std::array::from_fn(|i| self.start[i] + time * self.motion[i]);
        let normal = closest(self.kind, &x).normal().unwrap_or(Vec3::ZERO);
        let lower = self.corners(|i, j| normal.dot(x[i] - x[j]));
        Probe { x, normal, lower }
    }

    /// The smallest of a quantity over pairs of corners.
    fn corners(&self, of: impl Fn(usize, usize) -> f64) -> f64 {
        match self.kind {
            PairKind::VertexTriangle => of(0, 1).min(of(0, 2)).min(of(0, 3)),
            PairKind::EdgeEdge => of(0, 2).min(of(0, 3)).min(of(1, 2)).min(of(1, 3)),
        }
    }

    /// How much longer a direction keeps the pair apart, and which: the best of those tried.
    fn certify(&self, time: f64, here: &Probe, required: f64) -> Option<(f64, Vec3)> {
        let mut best = None;
        let mut attempt = |normal: Vec3| {
            let advance = self.advance(normal, &here.x, required);
            if advance > best.map_or(-1.0, |(advance, _)| advance) {
                best = Some((advance, normal));
            }
            best.is_some_and(|(advance, _)| time + advance >= 1.0)
        };
        if attempt(here.normal) {
            return best;
        }
        let x = &here.x;
        let across = match self.kind {
            PairKind::VertexTriangle => (x[2] - x[1]).cross(x[3] - x[1]),
            PairKind::EdgeEdge => (x[1] - x[0]).cross(x[3] - x[2]),
        };
        if let Some(across) = across.try_normalize() {
            attempt(if across.dot(here.normal) < 0.0 { -across } else { across });
        }
        best
    }

    /// How long all corners stay `required` apart along a direction; negative if they are not even now.
    fn advance(&self, normal: Vec3, x: &[Vec3; 4], required: f64) -> f64 {
        self.corners(|i, j| {
            let spare = normal.dot(x[i] - x[j]) - required;
            let rate = normal.dot(self.motion[i] - self.motion[j]);
            if spare < 0.0 {
                -1.0
            } else if rate < 0.0 {
                spare / -rate
            } else {
                f64::INFINITY
            }
        })
    }
}

/// The earliest impact over many pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstImpact {
    /// The fraction of the step that is safe for all pairs.
    pub time: f64,
    /// Which pair set it, as a place in the list; none if the whole step is safe.
    pub pair: Option<usize>,
    /// The direction of its last certificate.
    pub normal: Vec3,
}

/// The earliest impact of `count` pairs; `pair(k)` gives the k-th: its kind, where its points are and go, and its
/// margin; or none, to pass it over. The first of equals wins, on any number of threads.
pub fn first_impact(
    count: usize,
    pair: impl Fn(usize) -> Option<(PairKind, [Vec3; 4], [Vec3; 4], f64)> + Sync,
) -> FirstImpact {
    const RUN: usize = 1024;
    let none = FirstImpact { time: 1.0, pair: None, normal: Vec3::ZERO };
    let earlier = |a: FirstImpact, b: FirstImpact| {
        let order = a.time.total_cmp(&b.time).then_with(|| {
            // a pair that stops at 1 exactly is no impact
            a.pair.unwrap_or(usize::MAX).cmp(&b.pair.unwrap_or(usize::MAX))
        });
        if order.is_le() { a } else { b }
    };
    (0..count.div_ceil(RUN))
        .into_par_iter()
        .map(|run| {
            let mut first = none;
            for k in run * RUN..count.min((run + 1) * RUN) {
                let Some((kind, start, end, margin)) = pair(k) else { continue };
                let impact = time_of_impact_until(kind, &start, &end, margin, MIN_DISTANCE_RATIO, first.time);
                if impact.time < first.time {
                    first = FirstImpact { time: impact.time, pair: Some(k), normal: impact.normal };
                }
            }
            first
        })
        .reduce(|| none, earlier)
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Random;

    const KINDS: [PairKind; 2] = [PairKind::VertexTriangle, PairKind::EdgeEdge];

    fn at(start: &[Vec3; 4], end: &[Vec3; 4], t: f64) -> [Vec3; 4] {
        std::array::from_fn(|i| start[i].lerp(end[i], t))
    }

    /// The first time that bisection with the distance's Lipschitz constant cannot certify as more than `margin` apart,
    /// to `resolution`; none if the whole path is.
    fn oracle(
        kind: PairKind,
        start: &[Vec3; 4],
        end: &[Vec3; 4],
        margin: f64,
        resolution: f64,
    ) -> Option<f64> {
        let motion: [Vec3; 4] = std::array::from_fn(|i| end[i] - start[i]);
        let split = kind.split();
        let speed = (0..split)
            .flat_map(|i| (split..4).map(move |j| (i, j)))
            .map(|(i, j)| motion[i].distance(motion[j]))
            .fold(0.0, f64::max);
        let distance = |t: f64| closest(kind, &at(start, end, t)).distance;
        let mut open = vec![(0.0, 1.0)];
        while let Some((from, to)) = open.pop() {
            let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
            if distance(middle) - speed * half > margin {
                continue;
            }
            if half < resolution {
                return Some(from);
            }
            open.push((middle, to));
            open.push((from, middle));
        }
        None
    }

    /// Holds one path to the promises; returns its impact.
    fn check(kind: PairKind, start: &[Vec3; 4], end: &[Vec3; 4], margin: f64) -> Impact {
        let impact = time_of_impact(kind, start, end, margin);
        assert!((0.0..=1.0).contains(&impact.time));
        let initial = closest(kind, start).distance;
        if initial < 1e-12 {
            assert_eq!(impact.time, 0.0, "touching from the start");
            return impact;
        }
        let margin = margin.min(MIN_DISTANCE_RATIO * initial);
        let place = format!("{kind:?} {start:?} {end:?}: {impact:?}");
        // never late
        let reached = at(start, end, impact.time);
        let missed = oracle(kind, start, &reached, margin * (1.0 - 1e-3), 1e-12);
        assert_eq!(missed, None, "late: {place}");
        // hardly early
        let left = closest(kind, &reached).distance - margin;
        let done = impact.time == 1.0 || left < 2.0 * NEAR * (initial - margin).min(margin) + 1e-13;
        assert!(done || impact.probes >= MOST_PROBES, "early, {left:e} left: {place}");
        impact
    }

    #[test]
    fn never_late_and_hardly_early_on_random_paths() {
        let mut random = Random::new(11);
        let (mut hits, mut exhausted) = (0, 0);
        for kind in KINDS {
            for round in 0..1500 {
                let start: [Vec3; 4] = std::array::from_fn(|_| random.vec3());
                let pace = [0.3, 1.0, 4.0][round % 3];
                let end: [Vec3; 4] = start.map(|p| p + pace * random.vec3());
                let margin = [1e-6, 1e-4, 0.01, 0.1][round % 4];
                let Impact { time, probes, .. } = check(kind, &start, &end, margin);
                hits += usize::from(time < 1.0);
                exhausted += usize::from(probes >= MOST_PROBES);
            }
        }
        assert!(hits > 250, "{hits} paths met something");
        assert!(exhausted < 15, "{exhausted} ran out of directions");
    }

    /// Coordinates of a small grid: coplanar, parallel, collapsed and touching things, exact hits on corners.
    #[test]
    fn never_late_on_degenerate_paths() {
        let mut random = Random::new(12);
        let mut grid = || (random.unit() * 4.0).floor() - 2.0;
        let mut point = || Vec3::new(grid(), grid(), grid());
        for kind in KINDS {
            for _ in 0..2500 {
                let start: [Vec3; 4] = std::array::from_fn(|_| point());
                let end: [Vec3; 4] = std::array::from_fn(|_| point());
                check(kind, &start, &end, 1e-3);
            }
        }
    }

    /// Grids are full of parallel edges: together they may go anywhere.
    #[test]
    fn parallel_edges_that_move_together_are_free() {
        let mut random = Random::new(14);
        for _ in 0..2000 {
            let (a, u, r) = (random.vec3(), 0.01 * random.vec3(), 0.01 * random.vec3());
            let start = [a, a + u, a + r, (a + r) + u];
            let (drift, turn) = (random.vec3(), 1e-3 * random.vec3());
            let end = start.map(|p| p + drift + turn.cross(p - a));
            let impact = time_of_impact(PairKind::EdgeEdge, &start, &end, 1e-6);
            assert_eq!(impact.time, 1.0, "{start:?} {end:?}");
        }
    }

    #[test]
    fn thin_and_fast() {
        // A bullet: a kilometre in a step through a millimetre triangle, margin a micrometre.
        let tiny = 1e-3;
        let at = |y: f64| [Vec3::new(0.2 * tiny, y, 0.2 * tiny), Vec3::ZERO, tiny * Vec3::X, tiny * Vec3::Z];
        let impact = time_of_impact(PairKind::VertexTriangle, &at(500.0), &at(-500.0), 1e-6);
        assert!(impact.time < 0.5 && impact.time > 0.48, "{impact:?}");
        // Two crossed needles, ten metres from the origin.
        let far = Vec3::splat(10.0);
        let needles =
            |y: f64| [far - Vec3::X, far + Vec3::X, far - Vec3::Z + y * Vec3::Y, far + Vec3::Z + y * Vec3::Y];
        let impact = time_of_impact(PairKind::EdgeEdge, &needles(1e-4), &needles(-1.0), 1e-6);
        assert!(impact.time < 1e-4 && impact.time > 0.9e-4, "{impact:?}");
    }

    #[test]
    fn parked_pairs_slide_and_separate() {
        let (margin, inside) = (1e-5, Vec3::new(0.2, 1e-5, 0.2));
        let ground = [Vec3::ZERO, Vec3::X, Vec3::Z];
        let go = |step: Vec3| {
            let [a, b, c] = ground;
            time_of_impact(PairKind::VertexTriangle, &[inside, a, b, c], &[inside + step, a, b, c], margin)
                .time
        };
        assert_eq!(go(Vec3::new(0.1, 0.0, 0.1)), 1.0);
        assert_eq!(go(Vec3::Y), 1.0);
        assert!(go(-Vec3::Y) < 1.1e-6);
    }

    #[test]
    fn what_is_not_a_number_does_not_move() {
        let start = [Vec3::Y, Vec3::ZERO, Vec3::X, Vec3::Z];
        let mut end = start;
        end[2].y = f64::NAN;
        assert_eq!(time_of_impact(PairKind::VertexTriangle, &start, &end, 1e-3).time, 0.0);
        end[2].y = f64::INFINITY;
        assert_eq!(time_of_impact(PairKind::EdgeEdge, &start, &end, 1e-3).time, 0.0);
    }

    #[test]
    fn the_first_of_many_is_the_smallest() {
        let mut random = Random::new(13);
        let paths: Vec<(PairKind, [Vec3; 4], [Vec3; 4], f64)> = (0..5000)
            .map(|k| {
                let start: [Vec3; 4] = std::array::from_fn(|_| random.vec3());
                (KINDS[k % 2], start, start.map(|p| p + 0.05 * random.vec3()), 1e-4)
            })
            .collect();
        let first = first_impact(paths.len(), |k| Some(paths[k]));
        let times: Vec<f64> = paths.iter().map(|p| time_of_impact(p.0, &p.1, &p.2, p.3).time).collect();
        let smallest = times.iter().copied().fold(1.0, f64::min);
        assert!(smallest < 1.0);
        assert_eq!(first.time, smallest);
        assert_eq!(first.pair, times.iter().position(|&t| t == smallest));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(pool.install(|| first_impact(paths.len(), |k| Some(paths[k]))), first);
        assert_eq!(
            first_impact(0, |k| Some(paths[k])),
            FirstImpact { time: 1.0, pair: None, normal: Vec3::ZERO }
        );
    }

    /// How long a direction certifies: what is exactly as far apart as it must be is certified for as long as it does not come nearer.
    #[test]
    fn a_direction_certifies_up_to_the_required_distance_and_not_beyond() {
        let start = [Vec3::Y, Vec3::ZERO, Vec3::Z, Vec3::X];
        for (rise, required, expected) in [
            (1.0, 1.0, f64::INFINITY),
            (0.0, 1.0, f64::INFINITY),
            (-1.0, 1.0, 0.0),
            (-4.0, 0.5, 0.125),
            (1.0, 1.0 + 1e-9, -1.0),
        ] {
            let motion = [rise * Vec3::Y, Vec3::ZERO, Vec3::ZERO, Vec3::ZERO];
            let path = Path { kind: PairKind::VertexTriangle, start, motion };
            assert_eq!(path.advance(Vec3::Y, &start, required), expected, "{rise} {required}");
        }
    }
}
