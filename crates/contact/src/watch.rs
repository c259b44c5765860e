//! Pairs worth watching: a list from the broad phase that stays right while points move a little.
//!
//! Each list is made for the boxes in which points moved from one place to another, grown by some slack. As long as points
//! stay within those boxes no pair can come near that is not on it; Newton's later, shorter steps need no new one.

use geometry::Vec3;
use rayon::prelude::*;

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
    boxes: Vec<[Vec3; 2]>,
    pub(crate) renewals: usize,
}

impl Watch {
    /// Drops the list.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.boxes.clear();
    }

    /// Makes sure that the list holds every pair that may be within its thickness and reach while points move from `start` to
    /// `end`. True if it was made anew.
    pub(crate) fn cover(
        &mut self,
        surfaces: &Surfaces,
        start: &[Vec3],
        end: &[Vec3],
        reach: f64,
        slack: f64,
        is_left_out: impl Fn(&Pair) -> bool + Sync,
    ) -> Result<bool, Error> {
        let is_in = |p: Vec3, [low, high]: [Vec3; 2]| p.cmpge(low).all() && p.cmple(high).all();
        let covers = self.boxes.len() == start.len()
            && self.boxes.iter().enumerate().all(|(i, b)| is_in(start[i], *b) && is_in(end[i], *b));
        if covers {
            return Ok(false);
        }
        let pairs = self.broad.candidates(surfaces, start, end, reach + slack)?;
        let watched = |pair: &Pair| {
            let (offset, reach) = surfaces.gap(pair, reach);
            (!is_left_out(pair)).then_some(Watched { pair: *pair, offset, reach })
        };
        self.list = pairs.par_iter().filter_map(watched).collect();
        let half = Vec3::splat(0.5 * slack);
        self.boxes = start.iter().zip(end).map(|(s, e)| [s.min(*e) - half, s.max(*e) + half]).collect();
        self.renewals += 1;
        Ok(true)
    }
}
