//! Axis-aligned boxes.

use crate::Vec3;

/// An axis-aligned box; empty until something is added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The corner with the smallest coordinates.
    pub min: Vec3,
    /// The corner with the largest coordinates.
    pub max: Vec3,
}

impl Bounds {
    /// Contains nothing; `min` is above `max`.
    pub const EMPTY: Self = Self { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY };

    /// The smallest box around the points.
    pub fn of(points: impl IntoIterator<Item = Vec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, Self::including)
    }

    /// This box grown to hold `point`.
    #[must_use]
    pub fn including(self, point: Vec3) -> Self {
        Self { min: self.min.min(point), max: self.max.max(point) }
    }

    /// The smallest box around both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// True when nothing was added.
    pub fn is_empty(&self) -> bool {
        self.min.cmpgt(self.max).any()
    }

    /// Whether the point lies inside or on the surface.
    pub fn contains(&self, point: Vec3) -> bool {
        point.cmpge(self.min).all() && point.cmple(self.max).all()
    }

    /// Squared distance of a point to the box; zero inside.
    pub fn distance_squared(&self, point: Vec3) -> f64 {
        (self.min - point).max(point - self.max).max(Vec3::ZERO).length_squared()
    }

    /// The middle of the box.
    pub fn centre(&self) -> Vec3 {
        0.5 * (self.min + self.max)
    }

    /// Edge lengths; zero for an empty box.
    pub fn size(&self) -> Vec3 {
        if self.is_empty() { Vec3::ZERO } else { self.max - self.min }
    }

    /// Length of the diagonal: "how large is this thing" in one number.
    pub fn diagonal(&self) -> f64 {
        self.size().length()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_around_points() {
        assert!(Bounds::EMPTY.is_empty());
        assert_eq!(Bounds::EMPTY.diagonal(), 0.0);
        let bounds = Bounds::of([Vec3::new(1.0, 2.0, 3.0), Vec3::new(-1.0, 4.0, 3.0)]);
        assert_eq!(bounds.size(), Vec3::new(2.0, 2.0, 0.0));
        assert_eq!(bounds.centre(), Vec3::new(0.0, 3.0, 3.0));
        assert!(bounds.contains(Vec3::new(0.0, 3.0, 3.0)));
        assert!(!bounds.contains(Vec3::ZERO));
        assert_eq!(bounds.distance_squared(Vec3::new(0.0, 3.0, 1.0)), 4.0);
        assert_eq!(bounds.distance_squared(bounds.centre()), 0.0);
    }
}
