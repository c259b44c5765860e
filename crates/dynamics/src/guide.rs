//! Where an animation wants a body to be, at any time.

use std::sync::Arc;

use geometry::Vec3;

/// The motion that known points, averages and soft attachments follow.
pub trait Guide: Send + Sync {
    /// Positions and velocities of every point at `time`.
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]);

    /// What each average must be at `time`. Only asked of bodies that have averages.
    fn averages(&self, _time: f64, _values: &mut [Vec3]) {}

    /// Sets the compliance of the averages as it is at `time`, in m/N: 0 holds them exactly. Only asked of bodies that have
    /// averages. `compliance` holds what an earlier call left, so all that ever changes must be set.
    fn compliance(&self, _time: f64, _compliance: &mut [f64]) {}
}

/// A guide that never moves.
#[derive(Clone, Debug, Default)]
pub struct StaticGuide {
    positions: Vec<Vec3>,
}

impl StaticGuide {
    /// At these places.
    pub fn new(positions: Vec<Vec3>) -> Self {
        Self { positions }
    }
}

impl Guide for StaticGuide {
    fn sample(&self, _: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        positions.copy_from_slice(&self.positions);
        velocities.fill(Vec3::ZERO);
    }
}

/// A guide that is carried along at a constant velocity; at time 0 it is where it would be without.
pub struct Drifting {
    /// What is carried along.
    pub guide: Box<dyn Guide>,
    /// In m/s.
    pub velocity: Vec3,
    /// What the weights of each average add up to: so much of the way it goes along.
    pub average_weights: Vec<f64>,
}

impl Guide for Drifting {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        self.guide.sample(time, positions, velocities);
        positions.iter_mut().for_each(|x| *x += time * self.velocity);
        velocities.iter_mut().for_each(|v| *v += self.velocity);
    }

    fn averages(&self, time: f64, values: &mut [Vec3]) {
        self.guide.averages(time, values);
        let weights = values.iter_mut().zip(&self.average_weights);
        weights.for_each(|(value, weight)| *value += *weight * time * self.velocity);
    }

    fn compliance(&self, time: f64, compliance: &mut [f64]) {
        self.guide.compliance(time, compliance);
    }
}

impl<G: Guide + ?Sized> Guide for Arc<G> {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        (**self).sample(time, positions, velocities);
    }

    fn averages(&self, time: f64, values: &mut [Vec3]) {
        (**self).averages(time, values);
    }

    fn compliance(&self, time: f64, compliance: &mut [f64]) {
        (**self).compliance(time, compliance);
    }
}

/// Any function of time and point that returns a position; velocities by central differences.
pub struct FnGuide<F>(pub F);

impl<F: Fn(f64, usize) -> Vec3 + Send + Sync> Guide for FnGuide<F> {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        // Half a millisecond: well below a substep, well above round-off.
        const DT: f64 = 5e-4;
        for (point, (x, v)) in positions.iter_mut().zip(velocities).enumerate() {
            *x = (self.0)(time, point);
            *v = ((self.0)(time + DT, point) - (self.0)(time - DT, point)) / (2.0 * DT);
        }
    }
}

/// The motion between two frames: cubic, through both of them exactly, with velocities that agree from one span to the
/// next, so that what is held by the guide feels no kick at every frame.
#[derive(Clone, Debug, Default)]
pub struct Span {
    /// Time of the first frame, seconds.
    pub start: f64,
    /// Time from the first frame to the second, seconds.
    pub duration: f64,
    /// Positions at both ends.
    pub positions: [Vec<Vec3>; 2],
    /// Velocities at both ends.
    pub velocities: [Vec<Vec3>; 2],
}

impl Span {
    /// From one frame, at `start`, to the next; `frames` are the one before, the two, and the one after. Velocities are central
    /// differences.
    pub fn through(start: f64, frame_rate_hz: f64, frames: [Vec<Vec3>; 4]) -> Self {
        let [before, here, next, after] = frames;
        let velocity = |a: &[Vec3], b: &[Vec3]| -> Vec<Vec3> {
            a.iter().zip(b).map(|(a, b)| (*b - *a) * (0.5 * frame_rate_hz)).collect()
        };
        let velocities = [velocity(&before, &next), velocity(&here, &after)];
        Self { start, duration: 1.0 / frame_rate_hz, positions: [here, next], velocities }
    }
}

impl Guide for Span {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        // Hermite: x(s) = h00 x0 + h10 T v0 + h01 x1 + h11 T v1, s = (t − t0)/T
        let t = self.duration;
        let s = ((time - self.start) / t).clamp(0.0, 1.0);
        let (s2, s3) = (s * s, s * s * s);
        let value = [2.0 * s3 - 3.0 * s2 + 1.0, (s3 - 2.0 * s2 + s) * t, 3.0 * s2 - 2.0 * s3, (s3 - s2) * t];
        let slope = [6.0 * (s2 - s) / t, 3.0 * s2 - 4.0 * s + 1.0, 6.0 * (s - s2) / t, 3.0 * s2 - 2.0 * s];
        let ([x0, x1], [v0, v1]) = (&self.positions, &self.velocities);
        for i in 0..positions.len() {
            let ends = [x0[i], v0[i], x1[i], v1[i]];
            let blend =
                |weights: [f64; 4]| -> Vec3 { ends.iter().zip(weights).map(|(&end, w)| end * w).sum() };
            // the ends themselves to the bit: where the artist says follow, output equals input
            positions[i] = if s >= 1.0 {
                x1[i]
            } else if s <= 0.0 {
                x0[i]
            } else {
                blend(value)
            };
            velocities[i] = blend(slope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_reproduces_a_cubic_and_hits_its_ends() {
        let x = |t: f64| Vec3::new(t * t * t - t, 2.0 * t * t, 1.0 - t);
        let v = |t: f64| Vec3::new(3.0 * t * t - 1.0, 4.0 * t, -1.0);
        let span = Span {
            start: 0.5,
            duration: 0.25,
            positions: [vec![x(0.5)], vec![x(0.75)]],
            velocities: [vec![v(0.5)], vec![v(0.75)]],
        };
        let (mut position, mut velocity) = ([Vec3::ZERO], [Vec3::ZERO]);
        for time in [0.5, 0.56, 0.7, 0.75] {
            span.sample(time, &mut position, &mut velocity);
            assert!((position[0] - x(time)).length() < 1e-14);
            assert!((velocity[0] - v(time)).length() < 1e-13);
        }
        assert_eq!(position[0], x(0.75));
    }

    #[test]
    fn velocities_are_central_differences_of_the_frames_around() {
        // x = t² − 3t at 0.1 s: v = 2t − 3, which central differences meet exactly
        let x = |t: f64| vec![(t * t - 3.0 * t) * Vec3::Y];
        let span = Span::through(0.2, 10.0, [0.1, 0.2, 0.3, 0.4].map(x));
        assert_eq!((span.start, span.duration), (0.2, 0.1));
        assert_eq!(span.positions, [x(0.2), x(0.3)]);
        for (velocity, expected) in span.velocities.iter().zip([-2.6, -2.4]) {
            assert!(velocity[0].distance(expected * Vec3::Y) < 1e-12, "{velocity:?}");
        }
    }
}
