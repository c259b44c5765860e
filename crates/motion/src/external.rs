//! Forces from outside other than the ground's: pushes that are given, elastic bands that depend on where the figure is.

use geometry::{Mat3, Vec3};

use crate::body::Body;
use crate::error::Error;
use crate::recursion::Data;
use crate::spatial::outer;

/// A force from outside on a joint's centre, over some frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Push {
    /// The joint.
    pub joint: usize,
    /// In N, one for each frame of the motion; zero where there is none.
    pub forces: Vec<Vec3>,
}

/// An elastic band between a joint's centre and a place: pulls with k (d − ℓ) where it is longer than at rest, and hangs slack
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// The joint.
    pub joint: usize,
    /// Where its other end is held, in the world, in m.
    pub to: Vec3,
    /// k, in N/m.
    pub stiffness: f64,
    /// ℓ, in m.
    pub rest: f64,
}

impl Spring {
    /// Its pull on a joint at x, and ∂f/∂x.
    ///
    /// f = −k (d − ℓ) e, ∂f/∂x = −k (e eᵀ + (1 − ℓ/d)(1 − e eᵀ)), with d e = x − to.
    pub fn force(&self, x: Vec3) -> (Vec3, Mat3) {
        let way = x - self.to;
        let length = way.length();
        if length <= self.rest || length < 1e-9 {
            return (Vec3::ZERO, Mat3::ZERO);
        }
        let along = way / length;
        let share = 1.0 - self.rest / length;
        let slope = outer(along, along) * (1.0 - share) + Mat3::from_diagonal(Vec3::splat(share));
        (along * (-self.stiffness * (length - self.rest)), slope * -self.stiffness)
    }
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct External {
    /// Forces that are given.
    pub pushes: Vec<Push>,
    /// Bands.
    pub springs: Vec<Spring>,
}

impl External {
    /// Whether they are numbers and name joints that are there.
    pub fn check(&self, body: &Body) -> Result<(), Error> {
        let joints = body.joints().len();
        for joint in self.pushes.iter().map(|push| push.joint).chain(self.springs.iter().map(|s| s.joint)) {
            if joint >= joints {
                return Err(Error::Sizes { what: "joints", expected: joints, found: joint });
            }
        }
        for push in &self.pushes {
            if let Some(frame) = push.forces.iter().position(|force| !force.is_finite()) {
                return Err(Error::NotFinite { what: "a push", frame });
            }
        }
        let expected = "it must be a number, not negative";
        for spring in &self.springs {
            for (what, value) in
                [("stiffness of a spring", spring.stiffness), ("rest length of a spring", spring.rest)]
            {
                if !(value >= 0.0 && value.is_finite()) {
                    return Err(Error::Value { what, value, expected });
                }
            }
        }
        Ok(())
    }

    /// Those that act at a frame: joint, place in the world, force in N and ∂force/∂place. After [`Data::kinematics`].
    pub fn at<'a>(
        &'a self,
        body: &'a Body,
        frame: usize,
        data: &'a Data,
    ) -> impl Iterator<Item = (usize, Vec3, Vec3, Mat3)> + 'a {
        let pushes = self.pushes.iter().map(move |push| {
            let force = push.forces.get(frame).copied().unwrap_or(Vec3::ZERO);
            (push.joint, data.point(body, push.joint, Vec3::ZERO), force, Mat3::ZERO)
        });
        let springs = self.springs.iter().map(move |spring| {
            let x = data.point(body, spring.joint, Vec3::ZERO);
            let (force, slope) = spring.force(x);
            (spring.joint, x, force, slope)
        });
        pushes.chain(springs).filter(|(.., force, _)| *force != Vec3::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_pulls_back_and_its_slope_agrees_with_differences() {
        let spring = Spring { joint: 0, to: Vec3::new(0.2, 1.0, -1.0), stiffness: 150.0, rest: 0.4 };
        let x = Vec3::new(0.5, 1.3, 0.7);
        let (force, slope) = spring.force(x);
        let length = x.distance(spring.to);
        assert!((force.length() - 150.0 * (length - 0.4)).abs() < 1e-9 && force.dot(x - spring.to) < 0.0);
        let h = 1e-6;
        for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
            let difference = (spring.force(x + axis * h).0 - spring.force(x - axis * h).0) / (2.0 * h);
            assert!((difference - slope * axis).length() < 1e-6);
        }
        assert_eq!(spring.force(spring.to + Vec3::X * 0.3).0, Vec3::ZERO);
    }
}
