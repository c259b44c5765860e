//! What a figure stands on.

use geometry::{Mat3, Vec3};

/// A plane: level ground, a slope, a treadmill's belt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ground {
    /// A point of it.
    pub point: Vec3,
    /// Away from what lies below; of length 1.
    pub normal: Vec3,
    /// How fast it moves along itself, in m/s: 0 but for treadmills.
    pub velocity: Vec3,
}

impl Ground {
    /// Level ground at a height, in metres.
    pub fn level(height: f64) -> Self {
        Self { point: Vec3::new(0.0, height, 0.0), normal: Vec3::Y, velocity: Vec3::ZERO }
    }

    /// How far a point is above it, in metres; below it, negative.
    pub fn height(&self, x: Vec3) -> f64 {
        (x - self.point).dot(self.normal)
    }

    /// The nearest point of it.
    pub fn project(&self, x: Vec3) -> Vec3 {
        x - self.normal * self.height(x)
    }

    /// World-from-ground: columns are two tangents and the normal.
    pub fn frame(&self) -> Mat3 {
        let along = if self.normal.x.abs() < 0.9 { Vec3::X } else { Vec3::Z };
        let first = (along - self.normal * along.dot(self.normal)).normalize();
        Mat3::from_cols(first, self.normal.cross(first), self.normal)
    }
}
