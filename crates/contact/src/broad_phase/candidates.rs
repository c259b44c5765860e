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

    /// Makes the list anew: every pair that may be within its thickness and reach while points move from `start` to `end`. False, and
    /// no list, where boxes of more than `most` meet.
    pub(crate) fn rebuild(
        &mut self,
        mesh: &CollisionMesh,
        start: &[Vec3],
        end: &[Vec3],
        dhat: f64,
        slack: f64,
        scale: StepScale,
        most: usize,
        is_exempt: impl Fn(&Pair) -> bool + Sync,
    ) -> Result<bool, Error> {
        let Some(pairs) = self.broad.pairs(mesh, start, end, dhat + slack, scale, most)? else {
            self.clear();
            return Ok(false);
        };
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
        Ok(true)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::folded_sheet;
    use crate::{CollisionSurface, contacts};
    use geometry::Random;

    const DHAT: f64 = 0.01;
    const SLACK: f64 = 0.006;

    fn never(_: &Pair) -> bool {
        false
    }

    /// Where each point is after a fraction of its way, and this far off it.
    fn at(start: &[Vec3], end: &[Vec3], fraction: f64, off: Vec3) -> Vec<Vec3> {
        start.iter().zip(end).map(|(s, e)| s.lerp(*e, fraction) + off).collect()
    }

    /// A leaf that falls on a resting one of some thickness: a list for the way from height `from` down by `fall`.
    fn leaves(from: f64, fall: [f64; 2], scale: StepScale) -> (CandidateCache, Vec<Vec3>, Vec<Vec3>) {
        let leaf = |y: f64| vec![Vec3::new(0.0, y, 0.0), Vec3::new(0.0, y, 1.0), Vec3::new(1.0, y, 0.0)];
        let thick = |name, points| CollisionSurface {
            thickness: 0.02,
            ..CollisionSurface::free(name, points, vec![[0, 1, 2]])
        };
        let mesh =
            CollisionMesh::new(vec![thick("one", leaf(0.0)), thick("two", leaf(from))]).expect("sound");
        let start: Vec<Vec3> = leaf(0.0).into_iter().chain(leaf(from)).collect();
        let mut end = start.clone();
        for (i, p) in end.iter_mut().enumerate() {
            p.y -= fall[i / 3];
        }
        let mut cache = CandidateCache::default();
        cache.rebuild(&mesh, &start, &end, DHAT, SLACK, scale, usize::MAX, never).expect("finite");
        (cache, start, end)
    }

    /// A pair is listed exactly if its distance, less what its points come nearer, less the slack, is within thickness and d̂.
    #[test]
    fn the_list_reaches_as_far_as_points_may_go() {
        let reach = 0.02 + DHAT + SLACK;
        let is_listed = |from, fall, scale| !leaves(from, fall, scale).0.list.is_empty();
        for (scale, nearer) in [
            (StepScale::Uniform, [[0.0, 0.5], [0.5, 1.0], [-0.3, 0.2]]),
            (StepScale::PerPoint, [[0.0, 0.5], [-0.2, 0.3], [-0.5, 0.0]]),
        ] {
            for fall in nearer {
                assert!(is_listed(reach + 0.5 - 1e-6, fall, scale), "{scale:?} {fall:?}");
                assert!(!is_listed(reach + 0.5 + 1e-6, fall, scale), "{scale:?} {fall:?}");
            }
        }
        // together, however fast; each at its own pace they may meet
        assert!(!is_listed(2.0 * reach, [3.0, 3.0], StepScale::Uniform));
        assert!(is_listed(2.0 * reach, [3.0, 3.0], StepScale::PerPoint));
        let (cache, ..) = leaves(reach, [0.0, 0.1], StepScale::Uniform);
        assert!(cache.list.iter().all(|c| (c.min_distance, c.dhat) == (0.02, DHAT)));
        assert!(cache.list.windows(2).all(|two| two[0].pair < two[1].pair));
    }

    #[test]
    fn a_list_is_right_within_half_its_slack_of_the_way() {
        for fall in [[0.0, 0.5], [0.3, 0.3], [0.0, 0.0]] {
            let (cache, start, end) = leaves(0.6, fall, StepScale::Uniform);
            let moves = fall != [0.0, 0.0];
            for off in [Vec3::ZERO, Vec3::X, Vec3::new(0.0, 0.0, -1.0)] {
                for fraction in [0.0, 0.25, 0.5, 1.0] {
                    let valid = |room: f64| cache.is_valid_at(&at(&start, &end, fraction, room * off));
                    assert!(valid(0.499 * SLACK), "{fall:?} {fraction} {off}");
                    assert_eq!(valid(0.501 * SLACK), off == Vec3::ZERO, "{fall:?} {fraction} {off}");
                }
            }
            // before the start and beyond the end
            for fraction in [-0.1, 1.1] {
                assert_eq!(cache.is_valid_at(&at(&start, &end, fraction, Vec3::ZERO)), !moves, "{fall:?}");
            }
            // one point alone
            for i in 0..start.len() {
                let mut x = at(&start, &end, 0.5, Vec3::ZERO);
                x[i].z += 0.6 * SLACK;
                assert!(!cache.is_valid_at(&x), "{i}");
            }
            assert!(!cache.is_valid_at(&start[1..]), "another scene");
        }
        // half of the points go on while the others stay: no common fraction
        let (cache, start, end) = leaves(0.6, [0.3, 0.3], StepScale::Uniform);
        let torn: Vec<Vec3> = (0..6).map(|i| if i < 3 { start[i] } else { end[i] }).collect();
        assert!(!cache.is_valid_at(&torn));
        let (mut cache, start, _) = leaves(0.6, [0.0, 0.5], StepScale::Uniform);
        cache.clear();
        assert!(cache.list.is_empty() && !cache.is_valid_at(&start), "dropped");
    }

    /// Wherever the list says that it is right, it holds every contact that there is: against all pairs, none left out.
    #[test]
    fn no_contact_is_missing_where_the_list_is_right() {
        let (points, triangles) = folded_sheet(5, 3, 0.03);
        let cloth = CollisionSurface {
            thickness: 0.004,
            ..CollisionSurface::free("cloth", points.clone(), triangles.clone())
        };
        let below: Vec<Vec3> = points.iter().map(|p| Vec3::new(p.z, p.y - 0.1, p.x)).collect();
        let body = CollisionSurface::obstacle("body", below.clone(), triangles);
        let mesh = CollisionMesh::new(vec![cloth, body]).expect("sound");
        let start: Vec<Vec3> = points.iter().chain(&below).copied().collect();
        let everything = BroadPhase::new().candidates(&mesh, &start, &start, 10.0).expect("finite");
        let mut random = Random::new(52);
        let mut seen = 0;
        for round in 0..6 {
            let scale = if round % 2 == 0 { StepScale::Uniform } else { StepScale::PerPoint };
            let end: Vec<Vec3> = start
                .iter()
                .enumerate()
                .map(|(i, p)| {
                    let falls =
                        if i < points.len() { Vec3::new(0.0, -0.6 * p.y - 0.06, 0.0) } else { Vec3::ZERO };
                    *p + falls + 0.01 * random.vec3()
                })
                .collect();
            let mut cache = CandidateCache::default();
            cache.rebuild(&mesh, &start, &end, DHAT, SLACK, scale, usize::MAX, never).expect("finite");
            for _ in 0..2 {
                // at one pace, or each at its own, and off by what there is room for
                let common = random.unit();
                let x: Vec<Vec3> = (0..start.len())
                    .map(|i| {
                        let fraction = if scale == StepScale::Uniform { common } else { random.unit() };
                        start[i].lerp(end[i], fraction) + 0.25 * SLACK * random.vec3()
                    })
                    .collect();
                assert!(scale == StepScale::PerPoint || cache.is_valid_at(&x));
                for contact in contacts(&mesh, &everything, &x, DHAT) {
                    let found = cache.list.binary_search_by_key(&contact.pair, |candidate| candidate.pair);
                    let listed = cache.list[found.unwrap_or_else(|_| panic!("{scale:?}: {contact:?}"))];
                    assert_eq!((listed.min_distance, listed.dhat), (contact.min_distance, contact.dhat));
                    seen += 1;
                }
            }
            assert!(cache.list.len() < everything.len(), "it leaves something out");
        }
        assert!(seen > 200, "{seen}");
        let mut cache = CandidateCache::default();
        let is_exempt = |pair: &Pair| mesh.surface_of(pair.points[3]) == 0;
        cache
            .rebuild(&mesh, &start, &start, DHAT, 0.2, StepScale::Uniform, usize::MAX, is_exempt)
            .expect("finite");
        assert!(!cache.list.is_empty() && cache.list.iter().all(|c| !is_exempt(&c.pair)));
    }
}
