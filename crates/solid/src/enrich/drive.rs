//! What the fits of frames say between frames: points and averages that move, or stay.

use std::sync::Arc;

use dynamics::{Guide, Span, StaticGuide};
use geometry::Vec3;

/// Where a motion from `a` to `b` leads: 2b − a.
pub(crate) fn continued(a: &[Vec3], b: &[Vec3]) -> Vec<Vec3> {
    a.iter().zip(b).map(|(a, b)| 2.0 * *b - *a).collect()
}

/// Points and averages that move.
#[derive(Clone, Default)]
pub(crate) struct Drive {
    points: Arc<Span>,
    averages: Arc<Span>,
}

impl Drive {
    /// From one frame, at `start`, to the next: the one before, the two, and the one after.
    pub(crate) fn through(
        start: f64,
        frame_rate_hz: f64,
        points: [Vec<Vec3>; 4],
        averages: [Vec<Vec3>; 4],
    ) -> Self {
        let span = |frames| Arc::new(Span::through(start, frame_rate_hz, frames));
        Self { points: span(points), averages: span(averages) }
    }
}

impl Guide for Drive {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        self.points.sample(time, positions, velocities);
    }

    fn averages(&self, time: f64, values: &mut [Vec3]) {
        let mut velocities = vec![Vec3::ZERO; values.len()];
        self.averages.sample(time, values, &mut velocities);
    }
}

/// Points and averages that stay.
pub(crate) struct StaticDrive {
    pub(crate) points: StaticGuide,
    pub(crate) averages: Vec<Vec3>,
}

impl Guide for StaticDrive {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        self.points.sample(time, positions, velocities);
    }

    fn averages(&self, _: f64, values: &mut [Vec3]) {
        values.copy_from_slice(&self.averages);
    }
}
