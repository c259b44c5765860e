//! Contact points, and the candidate pairs that are right for where they go.

use geometry::Vec3;

use super::BarrierContact;
use super::step::rounding_floor;
use crate::broad_phase::StepScale;
use crate::ccd::StepLimiter;
use crate::{Attachment, Error, Intersections, Pair};

/// A step is shortened as a whole where boxes of more pairs than this meet: for each contact point, and in any case. A flat
/// sheet has some 30 for each.
const PAIRS_PER_POINT: usize = 200;
const FEW_PAIRS: usize = 50_000;
/// How often at most: to a thousandth.
const MOST_HALVINGS: usize = 10;

/// A step as far as it may go.
pub(super) struct Shortened {
    pub(super) displacements: Vec<Vec3>,
    /// It led through so much that it was shortened as a whole.
    pub(super) is_thrown: bool,
}

impl BarrierContact {
    /// All contact points, for a place of the body and of the obstacles.
    pub(super) fn contact_points(&self, x: &[Vec3], obstacles: &[Vec3]) -> Vec<Vec3> {
        let carried = (0..self.attachment.len()).map(|i| self.attachment.place(i, x));
        carried.chain(obstacles.iter().copied()).collect()
    }

    /// Finds crossings while there are, or may be, any.
    pub(super) fn find_intersections(&mut self, x: &[Vec3]) -> Result<(), Error> {
        if self.state.may_intersect {
            self.intersections = Intersections::find(&self.mesh, x, &self.exemptions)?;
            self.state.may_intersect = !self.intersections.is_empty();
            self.candidates.clear();
            self.report.crossings = self.report.crossings.max(self.intersections.crossings.len());
            self.report.inside = self.report.inside.max(self.intersections.inside.len());
        }
        self.report.is_tangled = self.state.may_intersect;
        Ok(())
    }

    /// Makes the list anew unless it is right for this way.
    pub(super) fn ensure_candidates(&mut self, start: &[Vec3], end: &[Vec3]) -> Result<(), Error> {
        self.ensure_few_candidates(start, end, usize::MAX).map(|_| ())
    }

    /// The same; false where more than `most` pairs would have to be looked at.
    pub(super) fn ensure_few_candidates(
        &mut self,
        start: &[Vec3],
        end: &[Vec3],
        most: usize,
    ) -> Result<bool, Error> {
        if self.has_candidates(start, end) {
            return Ok(true);
        }
        self.rebuild_candidates(start, end, StepScale::Uniform, self.candidate_slack(start, end), most)
    }

    /// Whether the list is right for this way.
    pub(super) fn has_candidates(&self, start: &[Vec3], end: &[Vec3]) -> bool {
        self.candidates.is_valid_at(start) && self.candidates.is_valid_at(end)
    }

    /// The slack of a list that may serve for the steps after this one as well.
    pub(super) fn candidate_slack(&self, start: &[Vec3], end: &[Vec3]) -> f64 {
        // what rests needs no room
        let furthest = start.iter().zip(end).map(|(s, e)| s.distance_squared(*e)).fold(0.0, f64::max).sqrt();
        (0.5 * furthest).clamp(0.5 * self.dhat, self.slack.max(0.5 * self.dhat))
    }

    /// Makes the list anew; false, and no list, where more than `most` pairs would have to be looked at.
    pub(super) fn rebuild_candidates(
        &mut self,
        start: &[Vec3],
        end: &[Vec3],
        scale: StepScale,
        slack: f64,
        most: usize,
    ) -> Result<bool, Error> {
        let (intersections, exemptions, mesh) = (&self.intersections, &self.exemptions, &self.mesh);
        let is_exempt = |pair: &Pair| intersections.is_exempt(mesh, pair) || exemptions.is_exempt(mesh, pair);
        self.candidates.rebuild(mesh, start, end, self.dhat, slack, scale, most, is_exempt)
    }

    /// The step `wanted` of all degrees of freedom, the body's `body_points` first, shortened so that no contact point comes nearer to
    /// another than it may: where it can be, point by point.
    ///
    /// The list of pairs is right for points that go the same fraction of their displacement, give or take some slack. Where some are held
    /// back by more, others may meet them that would have moved along: these are looked for on the displacements that are left, each point
    /// with a fraction of its own.
    ///
    /// Both are bounded. Points that are thrown through the whole scene may meet nearly everything on their way, and pairs grow with
    /// the square of their number: such a step is halved until they do not, and where points cannot be told apart that way, all go the
    /// same fraction. To shorten a step is always safe; the solver makes up for it in its next iteration or with a shorter time step.
    pub(super) fn shortened(
        &mut self,
        here: &[Vec3],
        mut wanted: Vec<Vec3>,
        attachment: &Attachment,
        known: &[bool],
        body_points: usize,
    ) -> Result<Shortened, Error> {
        let most = PAIRS_PER_POINT * here.len() + FEW_PAIRS;
        let floor = rounding_floor(here);
        let limiter = |displacements: Vec<Vec3>| StepLimiter {
            start: here,
            attachment,
            displacements,
            known,
            body_points,
            floor,
        };
        let mut halvings = 0;
        loop {
            let there = limiter(wanted.clone()).ends();
            // what touches where it is has to be looked at in any case
            let most = if halvings < MOST_HALVINGS { most } else { usize::MAX };
            if self.ensure_few_candidates(here, &there, most)? {
                break;
            }
            wanted.iter_mut().for_each(|d| *d *= 0.5);
            halvings += 1;
        }
        let limited = limiter(wanted.clone()).limited(&self.candidates.list, false);
        let there = limiter(limited.clone()).ends();
        let is_thrown = halvings > 0;
        if self.candidates.is_valid_at(&there) {
            return Ok(Shortened { displacements: limited, is_thrown });
        }
        let slack = self.candidate_slack(here, &there);
        if self.rebuild_candidates(here, &there, StepScale::PerPoint, slack, most)? {
            let displacements = limiter(limited).limited(&self.candidates.list, true);
            return Ok(Shortened { displacements, is_thrown });
        }
        let there = limiter(wanted.clone()).ends();
        self.ensure_candidates(here, &there)?;
        let displacements = limiter(wanted).limited_together(&self.candidates.list);
        Ok(Shortened { displacements, is_thrown: true })
    }

    /// The body must have every point that the attachment names.
    pub(super) fn check_body(&self, x: &[Vec3]) -> Result<(), Error> {
        if x.len() < self.attachment.body_points() {
            return Err(Error::Sizes {
                what: "points of the body",
                expected: self.attachment.body_points(),
                got: x.len(),
            });
        }
        Ok(())
    }
}
