//! A limit on how far points may stray from the guide.

use geometry::Vec3;

use crate::{Body, Filter, GuideSample, State};

/// Keeps every point within a distance of its guide position, whatever the forces; "max distance" in game engines.
///
/// A point outside is put back on the sphere around its guide; the outward part of its velocity relative to the guide is
/// taken away, so that it does not hit the limit again and again.
#[derive(Clone, Debug)]
pub struct MaxDistance {
    /// Metres, per point; infinite where there is no limit.
    max_distance: Vec<f64>,
    first: usize,
}

impl MaxDistance {
    /// One distance per point, in metres.
    pub fn new(max_distance: Vec<f64>) -> Self {
        Self { max_distance, first: 0 }
    }

    /// The same for the points of a body from `first` on.
    #[must_use]
    pub fn from_point(self, first: usize) -> Self {
        Self { first, ..self }
    }
}

impl Filter for MaxDistance {
    fn apply(&mut self, body: &Body, sample: &GuideSample, _: &State, after: &mut State, _: f64) -> bool {
        for (i, &limit) in (self.first..).zip(&self.max_distance) {
            let offset: Vec3 = after.positions[i] - sample.guide_positions[i];
            let distance = offset.length();
            if body.known()[i] || distance <= limit {
                continue;
            }
            let outward = offset / distance;
            after.positions[i] = sample.guide_positions[i] + limit * outward;
            let speed = (after.velocities[i] - sample.guide_velocities[i]).dot(outward);
            after.velocities[i] -= speed.max(0.0) * outward;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, StaticGuide, Stepper};

    #[test]
    fn a_falling_point_stops_at_its_largest_distance() {
        let body = Body::builder(vec![1.0, 1.0]).gravity(-9.81 * Vec3::Y).build().unwrap();
        let mut state = State::at_rest(vec![Vec3::ZERO; 2]);
        let mut stepper = Stepper::new(&body, &[Vec3::ZERO, Vec3::ONE], Settings::default()).unwrap();
        let mut limit = MaxDistance::new(vec![0.5, f64::INFINITY]);
        for _ in 0..24 {
            let guide = StaticGuide::new(vec![Vec3::ZERO; 2]);
            stepper.advance(&body, &mut state, &guide, 1.0 / 24.0, &mut [&mut limit]).unwrap();
        }
        assert!((state.positions[0].y + 0.5).abs() < 1e-12);
        assert!(state.velocities[0].length() < 1e-12);
        assert!((state.positions[1].y + 0.5 * 9.81).abs() < 1e-9, "no limit, free fall");
    }

    /// Refuses steps longer than it likes, counting what it saw.
    struct Cautious {
        longest: f64,
        refused: usize,
    }

    impl Filter for Cautious {
        fn apply(&mut self, _: &Body, _: &GuideSample, _: &State, _: &mut State, seconds: f64) -> bool {
            self.refused += usize::from(seconds > self.longest);
            seconds <= self.longest
        }
    }

    #[test]
    fn a_refused_step_is_taken_again_in_shorter_ones() {
        let body = Body::builder(vec![1.0]).gravity(-9.81 * Vec3::Y).build().unwrap();
        let guide = StaticGuide::new(vec![Vec3::ZERO]);
        let mut stepper = Stepper::new(&body, &[Vec3::ZERO, Vec3::ONE], Settings::default()).unwrap();
        let mut state = State::at_rest(vec![Vec3::ZERO]);
        let mut cautious = Cautious { longest: 0.011, refused: 0 };
        let effort = stepper.advance(&body, &mut state, &guide, 0.1, &mut [&mut cautious]).unwrap();
        assert!(effort.steps >= 10 && effort.rejected == cautious.refused && cautious.refused > 0);
        assert!((state.positions[0].y + 0.5 * 9.81 * 0.01).abs() < 1e-9, "no time is lost");
        cautious.longest = 0.0;
        let refused = stepper.advance(&body, &mut state, &guide, 0.1, &mut [&mut cautious]);
        assert!(matches!(refused, Err(crate::Error::Refused { .. })));
    }

    /// What a point has beyond its guide's own velocity, outwards, is taken away; what it has inwards, sideways, and all that is within, stays.
    #[test]
    fn at_its_limit_a_point_moves_outwards_with_its_guide() {
        let body = Body::builder(vec![1.0; 3]).known(vec![false, false, true]).build().unwrap();
        let guide_velocity = Vec3::new(2.0, 0.0, 1.0);
        let sample =
            GuideSample { time: 0.0, guide_positions: &[Vec3::X; 3], guide_velocities: &[guide_velocity; 3] };
        for (relative, left) in [(Vec3::new(3.0, 1.0, 0.0), Vec3::Y), (-Vec3::X, -Vec3::X)] {
            let before = State::at_rest(vec![3.0 * Vec3::X; 3]);
            let mut after = before.clone();
            after.velocities.fill(guide_velocity + relative);
            let mut limit = MaxDistance::new(vec![0.5, 2.5, 0.5]);
            assert!(limit.apply(&body, &sample, &before, &mut after, 0.1));
            assert_eq!(after.positions, [1.5 * Vec3::X, 3.0 * Vec3::X, 3.0 * Vec3::X]);
            assert!(after.velocities[0].distance(guide_velocity + left) < 1e-12, "{}", after.velocities[0]);
            assert_eq!(after.velocities[1..], [guide_velocity + relative; 2]);
        }
    }
}
