//! Obstacles and the proxies that chase them.

use std::ops::Range;

use dynamics::{Guide, Span};
use geometry::{Bounds, Vec3};

use super::{BarrierContact, ContactReport};
use crate::Error;
use crate::broad_phase::CandidateCache;

/// An obstacle whose proxy is this many times its own size behind is lost: what stands in for it is no picture of it any more.
const LOST: f64 = 4.0;
/// What obstacles may go in a step, as a share of their size, or in edges of the simulated surface where that is more: further,
/// and cloth cannot be seen to flee.
const MAX_OBSTACLE_STEP: (f64, f64) = (0.25, 1.0);

impl BarrierContact {
    /// Where the obstacles go next: a span over all their points, in order. Call it at the start of every frame. Obstacles of which
    /// `cuts` is true were cut to where their span begins; what is not told of is not.
    pub fn follow(&mut self, span: Span, cuts: &[bool]) -> Result<(), Error> {
        for (what, points) in
            [("obstacle points", &span.positions[0]), ("obstacle points", &span.positions[1])]
        {
            if points.len() != self.state.obstacle_positions.len() {
                return Err(Error::Sizes {
                    what,
                    expected: self.state.obstacle_positions.len(),
                    got: points.len(),
                });
            }
        }
        self.report = ContactReport::default();
        self.drift = Vec3::ZERO;
        // nothing that an earlier frame left may change this one, but for what a checkpoint keeps
        self.candidates = CandidateCache::default();
        for (k, (number, range)) in self.obstacle_ranges().into_iter().enumerate() {
            let [from, to] = [0, 1].map(|end: usize| &span.positions[end][range.clone()]);
            if let Some(point) = to.iter().position(|p| !p.is_finite()) {
                return Err(Error::NotFinite { surface: self.mesh.surfaces()[number].name.clone(), point });
            }
            let size = Bounds::of(from.iter().copied()).diagonal().max(self.mesh.median_edge());
            let behind =
                from.iter().zip(&self.state.obstacle_positions[range.clone()]).map(|(a, b)| a.distance(*b));
            let is_lost = behind.fold(0.0, f64::max) > LOST * size;
            if cuts.get(k) == Some(&true) || is_lost {
                self.state.obstacle_positions[range].copy_from_slice(from);
                self.state.may_intersect = true;
                self.report.teleported = true;
            }
        }
        self.committed = self.state.clone();
        self.span = Some(span);
        Ok(())
    }

    /// How fast the simulated surfaces move along as a whole in the frame that [`BarrierContact::follow`] began, in m/s: what obstacles
    /// do beside that decides how short steps must be.
    pub fn drift_along(&mut self, velocity: Vec3) {
        self.drift = velocity;
    }

    /// Puts the obstacles somewhere, at once: before the first step. What crosses then is drawn apart.
    pub fn place_obstacles(&mut self, positions: &[Vec3]) -> Result<(), Error> {
        if positions.len() != self.state.obstacle_positions.len() {
            let (expected, got) = (self.state.obstacle_positions.len(), positions.len());
            return Err(Error::Sizes { what: "obstacle points", expected, got });
        }
        self.state.obstacle_positions.copy_from_slice(positions);
        self.state.may_intersect = true;
        self.committed = self.state.clone();
        Ok(())
    }

    /// Numbers of the obstacles among the surfaces, and their points among those of all obstacles.
    pub(super) fn obstacle_ranges(&self) -> Vec<(usize, Range<usize>)> {
        let carried = self.attachment.len();
        let obstacles = self.mesh.surfaces().iter().enumerate().filter(|(_, s)| s.is_obstacle);
        obstacles
            .map(|(number, _)| {
                let range = self.mesh.points_of(number);
                (number, range.start - carried..range.end - carried)
            })
            .collect()
    }

    /// targets ← where the animation has the obstacles at `time`.
    pub(super) fn sample_targets(&mut self, time: f64) {
        let mut velocities = vec![Vec3::ZERO; self.targets.len()];
        match &self.span {
            Some(span) => span.sample(time, &mut self.targets, &mut velocities),
            None => self.targets.copy_from_slice(&self.state.obstacle_positions),
        }
    }

    /// How far an obstacle, given by its points, may go in a step, in metres.
    pub(super) fn max_obstacle_step(&self, span: &Span, range: Range<usize>) -> f64 {
        let size = Bounds::of(span.positions[0][range].iter().copied()).diagonal();
        (MAX_OBSTACLE_STEP.0 * size).max(MAX_OBSTACLE_STEP.1 * self.mesh.median_edge()).max(f64::MIN_POSITIVE)
    }

    /// What was held back does not catch up in one leap. `drift` is how far everything moves along.
    pub(super) fn limit_obstacle_steps(&mut self, drift: Vec3) {
        let Some(span) = &self.span else { return };
        for (_, range) in self.obstacle_ranges() {
            let max_obstacle_step = self.max_obstacle_step(span, range.clone());
            for (target, place) in
                self.targets[range.clone()].iter_mut().zip(&self.state.obstacle_positions[range])
            {
                let way = *target - *place - drift;
                if self.obstacle_share < 1.0 || way.length_squared() > max_obstacle_step * max_obstacle_step {
                    *target = *place + drift + self.obstacle_share * way.clamp_length_max(max_obstacle_step);
                }
            }
        }
    }

    /// What obstacles still have to go.
    pub(super) fn obstacle_displacements(&self) -> Vec<Vec3> {
        self.targets
            .iter()
            .zip(&self.state.obstacle_positions)
            .map(|(target, place)| *target - *place)
            .collect()
    }
}
