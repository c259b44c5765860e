//! What the fits of frames say between frames: points and averages that move, or stay.

use dynamics::{Guide, Span, StaticGuide};
use geometry::Vec3;

/// Where a motion from `a` to `b` leads: 2b − a.
pub(crate) fn continued(a: &[Vec3], b: &[Vec3]) -> Vec<Vec3> {
    a.iter().zip(b).map(|(a, b)| 2.0 * *b - *a).collect()
}

/// The motion from one frame to the next, with velocities by central differences.
pub(crate) fn span(
    start: f64,
    rate: f64,
    before: &[Vec3],
    here: &[Vec3],
    to: &[Vec3],
    next: &[Vec3],
) -> Span {
    let velocity = |a: &[Vec3], b: &[Vec3]| -> Vec<Vec3> {
        a.iter().zip(b).map(|(a, b)| 0.5 * rate * (*b - *a)).collect()
    };
    let velocities = [velocity(before, to), velocity(here, next)];
    Span { start, duration: 1.0 / rate, positions: [here.to_vec(), to.to_vec()], velocities }
}

/// Points and averages that move.
pub(crate) struct Drive {
    pub(crate) points: Span,
    pub(crate) averages: Span,
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
