//! What is drawn over a motion: paths of points of the body, in space or as a film shows them, and points that are dragged.
//!
//! Of a place that was drawn over a picture only what is across the line of sight counts: rows d·(x − X) along two directions across it,
//! which are linear in x, whatever the camera's lens.

use geometry::Vec3;

use crate::body::Body;
use crate::error::Error;

/// How a place was drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Sight {
    /// In space.
    #[default]
    Space,
    /// Over a picture, seen from here, in m: any place on the ray.
    From(Vec3),
    /// Over a picture, seen in this direction from very far.
    Along(Vec3),
}

impl Sight {
    /// Directions in which a point may not be off a place, of length 1.
    pub fn directions(&self, place: Vec3) -> impl Iterator<Item = Vec3> + use<> {
        let ray = match *self {
            Self::Space => None,
            Self::From(eye) => Some(place - eye),
            Self::Along(ray) => Some(ray),
        };
        let across = match ray {
            None => [Some(Vec3::X), Some(Vec3::Y), Some(Vec3::Z)],
            Some(ray) => {
                let (a, b) = ray.normalize_or(Vec3::Z).any_orthonormal_pair();
                [Some(a), Some(b), None]
            }
        };
        across.into_iter().flatten()
    }

    /// How far a point is off a place, as it is seen.
    pub fn off(&self, place: Vec3, x: Vec3) -> f64 {
        self.directions(place).map(|d| d.dot(x - place).powi(2)).sum::<f64>().sqrt()
    }
}

/// A path that a point of the body goes along.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// Whose point.
    pub joint: usize,
    /// In the joint's frame, in m.
    pub point: Vec3,
    /// How it was drawn.
    pub sight: Sight,
    /// What counts as one unit of distance from it, in m.
    pub unit: f64,
    /// By frame, in m; where there is none, the point is free.
    pub places: Vec<Option<Vec3>>,
}

impl Trajectory {
    /// Where it wants its point at a frame.
    pub(crate) fn place(&self, frame: usize) -> Option<Vec3> {
        self.places.get(frame).copied().flatten()
    }

    pub(crate) fn check(&self, body: &Body) -> Result<(), Error> {
        let joints = body.joints().len();
        if self.joint >= joints {
            return Err(Error::Sizes { what: "joints", expected: joints, found: self.joint });
        }
        let expected = "it must be positive";
        if !(self.unit > 0.0 && self.unit.is_finite()) {
            return Err(Error::Value { what: "the unit of a trajectory", value: self.unit, expected });
        }
        let bad = |place: &Option<Vec3>| place.is_some_and(|place| !place.is_finite());
        match self.places.iter().position(bad) {
            Some(frame) => Err(Error::NotFinite { what: "a trajectory", frame }),
            None => Ok(()),
        }
    }
}

/// A point that is dragged somewhere at a frame: what the rest of the body does there is found, and the pose is a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drag {
    /// When.
    pub frame: usize,
    /// Whose point.
    pub joint: usize,
    /// In the joint's frame, in m.
    pub point: Vec3,
    /// Where to, in m.
    pub to: Vec3,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_film_shows_counts() {
        let (eye, place) = (Vec3::new(0.3, 1.4, 5.0), Vec3::new(0.1, 1.0, 0.0));
        let sight = Sight::From(eye);
        // anywhere on the ray it is where it should be
        for depth in [0.2, 0.9, 1.7] {
            assert!(sight.off(place, eye + (place - eye) * depth) < 1e-12);
        }
        assert!((sight.off(place, place + Vec3::X * 0.1) - 0.1).abs() < 1e-3);
        assert_eq!(Sight::Space.off(place, place + Vec3::Z * 0.25), 0.25);
        assert!(Sight::Along(Vec3::Z).off(place, place + Vec3::new(0.0, 0.03, 7.0)) - 0.03 < 1e-12);
        assert_eq!((Sight::Space.directions(place).count(), sight.directions(place).count()), (3, 2));
    }
}
