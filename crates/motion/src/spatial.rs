//! Spatial algebra: motions, forces and inertias of rigid bodies as pairs of vectors.
//!
//! Everything is written in one inertial frame: world axes, moments about one common point. No transform stands
//! between a link and its parent then, and sums over subtrees are plain sums. The common point is the root's place, so
//! that a walk far from the origin loses no digits.
//!
//! Featherstone, *Rigid Body Dynamics Algorithms* (2008), chapter 2. Differs: angular first, as there; no Plücker
//! transforms, as all is in one frame.

use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use geometry::{Mat3, Vec3};

/// [a]ₓ, so that [a]ₓ b = a × b.
pub(crate) fn skew(a: Vec3) -> Mat3 {
    Mat3::from_cols(Vec3::new(0.0, a.z, -a.y), Vec3::new(-a.z, 0.0, a.x), Vec3::new(a.y, -a.x, 0.0))
}

/// a bᵀ.
pub(crate) fn outer(a: Vec3, b: Vec3) -> Mat3 {
    Mat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// A velocity or acceleration of a rigid body: turning, and what the point of it at the common point does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// In rad/s (or rad/s²).
    pub angular: Vec3,
    /// In m/s (or m/s²).
    pub linear: Vec3,
}

/// A force and its moment about the common point; also a momentum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Force {
    /// In N·m (or N·m·s).
    pub angular: Vec3,
    /// In N (or N·s).
    pub linear: Vec3,
}

macro_rules! vector_space {
    ($type:ident) => {
        impl $type {
            /// Nothing.
            pub const ZERO: Self = Self { angular: Vec3::ZERO, linear: Vec3::ZERO };

            /// Of these parts.
            #[inline]
            pub const fn new(angular: Vec3, linear: Vec3) -> Self {
                Self { angular, linear }
            }
        }

        impl Add for $type {
            type Output = Self;
            #[inline]
            fn add(self, other: Self) -> Self {
                Self::new(self.angular + other.angular, self.linear + other.linear)
            }
        }

        impl Sub for $type {
            type Output = Self;
            #[inline]
            fn sub(self, other: Self) -> Self {
                Self::new(self.angular - other.angular, self.linear - other.linear)
            }
        }

        impl AddAssign for $type {
            #[inline]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl SubAssign for $type {
            #[inline]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl Neg for $type {
            type Output = Self;
            #[inline]
            fn neg(self) -> Self {
                Self::new(-self.angular, -self.linear)
            }
        }

        impl Mul<f64> for $type {
            type Output = Self;
            #[inline]
            fn mul(self, factor: f64) -> Self {
                Self::new(self.angular * factor, self.linear * factor)
            }
        }
    };
}

vector_space!(Motion);
vector_space!(Force);

impl Motion {
    /// v × m: how a motion that goes along with v changes.
    #[inline]
    pub fn cross(self, m: Motion) -> Motion {
        Motion::new(
            self.angular.cross(m.angular),
            self.angular.cross(m.linear) + self.linear.cross(m.angular),
        )
    }

    /// v ×* f: how a force that goes along with v changes.
    #[inline]
    pub fn cross_force(self, f: Force) -> Force {
        Force::new(self.angular.cross(f.angular) + self.linear.cross(f.linear), self.angular.cross(f.linear))
    }

    /// Power of a force in this motion.
    #[inline]
    pub fn dot(self, f: Force) -> f64 {
        self.angular.dot(f.angular) + self.linear.dot(f.linear)
    }

    /// What a point at `x` from the common point does.
    #[inline]
    pub fn at(self, x: Vec3) -> Vec3 {
        self.linear + self.angular.cross(x)
    }
}

impl Force {
    /// A force that acts at `x` from the common point.
    #[inline]
    pub fn at(x: Vec3, force: Vec3) -> Force {
        Force::new(x.cross(force), force)
    }
}

/// Mass and its distribution, about the common point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Inertia {
    /// In kg.
    pub mass: f64,
    /// Mass times centre of mass, in kg·m.
    pub first_moment: Vec3,
    /// Moments of inertia about the common point, in kg·m²; symmetric.
    pub rotational: Mat3,
}

impl Inertia {
    /// Nothing.
    pub const ZERO: Self = Self { mass: 0.0, first_moment: Vec3::ZERO, rotational: Mat3::ZERO };

    /// From mass, centre of mass and moments of inertia about that centre.
    pub fn new(mass: f64, center: Vec3, about_center: Mat3) -> Self {
        let shifted =
            (Mat3::from_diagonal(Vec3::splat(center.length_squared())) - outer(center, center)) * mass;
        Self { mass, first_moment: center * mass, rotational: about_center + shifted }
    }

    /// Centre of mass; the common point where nothing weighs anything.
    pub fn center(&self) -> Vec3 {
        if self.mass > 0.0 { self.first_moment / self.mass } else { Vec3::ZERO }
    }

    /// Moments of inertia about the centre of mass.
    pub fn about_center(&self) -> Mat3 {
        let c = self.center();
        self.rotational - (Mat3::from_diagonal(Vec3::splat(c.length_squared())) - outer(c, c)) * self.mass
    }

    /// The same mass in a frame in which its own frame stands turned by `rotation` and moved by `translation`.
    #[inline]
    pub fn moved(&self, rotation: Mat3, translation: Vec3) -> Self {
        // with h = R h₀ and d the translation: Ī = R Ī₀ Rᵀ + (2 h·d + m d·d) 1 − h dᵀ − d hᵀ − m d dᵀ
        let (h, d, m) = (rotation * self.first_moment, translation, self.mass);
        let turned = rotation * self.rotational * rotation.transpose();
        let diagonal = Mat3::from_diagonal(Vec3::splat(2.0 * h.dot(d) + m * d.length_squared()));
        let rotational = turned + diagonal - outer(h, d) - outer(d, h) - outer(d, d) * m;
        Self { mass: m, first_moment: h + d * m, rotational }
    }

    /// I v: momentum of a velocity, or force of an acceleration.
    #[inline]
    pub fn apply(&self, v: Motion) -> Force {
        Force::new(
            self.rotational * v.angular + self.first_moment.cross(v.linear),
            v.linear * self.mass - self.first_moment.cross(v.angular),
        )
    }
}

impl AddAssign for Inertia {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.mass += other.mass;
        self.first_moment += other.first_moment;
        self.rotational += other.rotational;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_an_inertia_keeps_its_moments_about_its_centre() {
        let inertia =
            Inertia::new(3.0, Vec3::new(0.1, -0.2, 0.3), Mat3::from_diagonal(Vec3::new(1.0, 2.0, 2.5)));
        let rotation = Mat3::from_axis_angle(Vec3::new(1.0, 2.0, -1.0).normalize(), 0.8);
        let moved = inertia.moved(rotation, Vec3::new(5.0, -4.0, 2.0));
        let expected = rotation * inertia.about_center() * rotation.transpose();
        let center = rotation * inertia.center() + Vec3::new(5.0, -4.0, 2.0);
        assert!((moved.center() - center).length() < 1e-13);
        assert!(moved.about_center().abs_diff_eq(expected, 1e-12));
    }

    #[test]
    fn power_does_not_depend_on_who_moves_along() {
        // (v × m)·f + m·(v ×* f) = 0
        let v = Motion::new(Vec3::new(0.3, -1.0, 2.0), Vec3::new(1.0, 0.2, -0.7));
        let m = Motion::new(Vec3::new(-0.5, 0.4, 0.1), Vec3::new(0.9, -2.0, 0.6));
        let f = Force::new(Vec3::new(2.0, 0.1, -0.3), Vec3::new(-1.0, 0.5, 0.8));
        assert!((v.cross(m).dot(f) + m.dot(v.cross_force(f))).abs() < 1e-14);
    }
}
