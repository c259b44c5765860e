//! Pairs worth watching: a list from the broad phase that stays right while points move a little.
//!
//! Each list is made for points that all go the same fraction of their way from one place to another, give or take some slack.
//! As long as they do, no pair can come near that is not on it; Newton's later, shorter steps need no new one.

use geometry::Vec3;
use rayon::prelude::*;

use crate::broad::Pace;
use crate::distance::closest;
use crate::{BroadPhase, Error, Pair, Surfaces};

/// A pair with what is kept between its two things.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Watched {
    pub(crate) pair: Pair,
    /// Thickness, in metres.
    pub(crate) offset: f64,
    /// ĝ: the gap beyond it at which the push begins, in metres.
    pub(crate) reach: f64,
}

/// The list, and where it is right.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    broad: BroadPhase,
    pub(crate) list: Vec<Watched>,
    start: Vec<Vec3>,
    motion: Vec<Vec3>,
    /// How far points may be from their ways, in metres.
    room: f64,
}

impl Watch {
    /// Drops the list.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.start.clear();
        self.motion.clear();
    }

    /// Makes the list anew: every pair that may be within its thickness and reach while points move from `start` to `end`.
    pub(crate) fn renew(
        &mut self,
        surfaces: &Surfaces,
        start: &[Vec3],
        end: &[Vec3],
        reach: f64,
        slack: f64,
        pace: Pace,
        is_left_out: impl Fn(&Pair) -> bool + Sync,
    ) -> Result<(), Error> {
        let pairs = self.broad.pairs(surfaces, start, end, reach + slack, pace)?;
        self.motion = start.iter().zip(end).map(|(s, e)| *e - *s).collect();
        self.start = start.to_vec();
        self.room = 0.5 * slack;
        let motion = &self.motion;
        let watched = |pair: &Pair| {
            // the two come nearer by at most the largest difference of their corners' motions, or, each at its own pace, sum
            let d = pair.gather(motion);
            let split = pair.kind.split();
            let corners = (0..split).flat_map(|i| (split..4).map(move |j| (i, j)));
            let nearer = |(i, j): (usize, usize)| match pace {
                Pace::Common => d[i].distance(d[j]),
                Pace::Own => d[i].length() + d[j].length(),
            };
            let most = corners.map(nearer).fold(0.0, f64::max);
            let least = closest(pair.kind, &pair.gather(start)).distance - most - slack;
            if least > surfaces.thickness(pair) + reach || is_left_out(pair) {
                return None;
            }
            let (offset, reach) = surfaces.gap(pair, reach);
            (least <= offset + reach).then_some(Watched { pair: *pair, offset, reach })
        };
        self.list = pairs.par_iter().filter_map(watched).collect();
        // whatever the shape of the tree, and the number of threads
        self.list.par_sort_unstable_by_key(|watched| watched.pair);
        Ok(())
    }

    /// Whether the list is right when points are at `x`: near where they are after some fraction of their ways, the same for all.
    /// Between two such places it then is as well.
    pub(crate) fn holds(&self, x: &[Vec3]) -> bool {
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
