//! Contact points, and the candidate pairs that are right for where they go.

use geometry::Vec3;

use super::BarrierContact;
use crate::broad_phase::StepScale;
use crate::{Error, Intersections, Pair};

impl BarrierContact {
    /// All contact points, for a place of the body and of the obstacles.
    pub(super) fn contact_points(&self, x: &[Vec3], obstacles: &[Vec3]) -> Vec<Vec3> {
        let carried = (0..self.attachment.len()).map(|i| self.attachment.place(i, x));
        carried.chain(obstacles.iter().copied()).collect()
    }

    /// All contact points after a step of the body and of the obstacles.
    pub(super) fn contact_points_after(
        &self,
        here: &[Vec3],
        delta: &[Vec3],
        displacements: &[Vec3],
    ) -> Vec<Vec3> {
        let (carried, obstacles) = here.split_at(self.attachment.len());
        let carried = carried.iter().enumerate().map(|(i, x)| *x + self.attachment.place(i, delta));
        carried.chain(obstacles.iter().zip(displacements).map(|(x, d)| *x + *d)).collect()
    }

    /// Finds crossings while there are, or may be, any.
    pub(super) fn find_intersections(&mut self, x: &[Vec3]) -> Result<(), Error> {
        if self.state.may_intersect {
            self.intersections = Intersections::find(&self.mesh, x)?;
            self.state.may_intersect = !self.intersections.is_empty();
            self.candidates.clear();
            self.report.crossings = self.report.crossings.max(self.intersections.crossings.len());
            self.report.inside = self.report.inside.max(self.intersections.inside.len());
        }
        Ok(())
    }

    /// Makes the list anew unless it is right for this way.
    pub(super) fn ensure_candidates(&mut self, start: &[Vec3], end: &[Vec3]) -> Result<(), Error> {
        if self.has_candidates(start, end) {
            return Ok(());
        }
        self.rebuild_candidates(start, end, StepScale::Uniform, self.candidate_slack(start, end))
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

    pub(super) fn rebuild_candidates(
        &mut self,
        start: &[Vec3],
        end: &[Vec3],
        scale: StepScale,
        slack: f64,
    ) -> Result<(), Error> {
        let (intersections, mesh) = (&self.intersections, &self.mesh);
        let is_exempt = |pair: &Pair| intersections.is_exempt(mesh, pair);
        self.candidates.rebuild(mesh, start, end, self.dhat, slack, scale, is_exempt)
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
