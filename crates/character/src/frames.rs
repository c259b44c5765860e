//! Where bones are: the frames that flesh is measured in, at any instant between two poses.

use geometry::{Mat3, Vec3};
use glam::{DAffine3, DQuat, Mat4};

use crate::Error;

/// How a joint has moved its surroundings from rest: T = (R S, t).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    /// T: where a place at rest is now.
    pub(crate) world_from_rest: DAffine3,
    /// R: the rotation nearest to T's matrix.
    pub(crate) rotation: Mat3,
    /// R again.
    pub(crate) turn: DQuat,
}

impl Frame {
    pub(crate) const REST: Self =
        Self { world_from_rest: DAffine3::IDENTITY, rotation: Mat3::IDENTITY, turn: DQuat::IDENTITY };
    /// How many numbers it is in a checkpoint.
    pub(crate) const NUMBERS: usize = 25;

    /// For a checkpoint.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> {
        let place = self.world_from_rest;
        let matrices = place.matrix3.to_cols_array().into_iter().chain(self.rotation.to_cols_array());
        matrices.chain(place.translation.to_array()).chain(self.turn.to_array())
    }

    /// The reverse of [`Frame::numbers`].
    pub(crate) fn from_numbers(mut next: impl FnMut() -> f64) -> Self {
        let matrix3 = Mat3::from_cols_array(&std::array::from_fn(|_| next()));
        let rotation = Mat3::from_cols_array(&std::array::from_fn(|_| next()));
        let translation = Vec3::from_array(std::array::from_fn(|_| next()));
        let turn = DQuat::from_array(std::array::from_fn(|_| next()));
        Self { world_from_rest: DAffine3 { matrix3, translation }, rotation, turn }
    }
}

/// A pose, taken apart so that it can be mixed with another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pose {
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    rotation: DQuat,
    /// S = Rᵀ T's matrix: stretch, scale, mirroring.
    stretch: Mat3,
    /// Where the joint is, and where it is at rest.
    head: Vec3,
    rest_head: Vec3,
}

impl Pose {
    /// All joints where they are at rest.
    pub(crate) fn rest(joint_from_rest: &[DAffine3]) -> Self {
        let part = |from_rest: &DAffine3| {
            let head = from_rest.inverse().translation;
            Part { rotation: DQuat::IDENTITY, stretch: Mat3::IDENTITY, head, rest_head: head }
        };
        Self { parts: joint_from_rest.iter().map(part).collect() }
    }

    /// Overwrites this pose with that of joints which are at `world_from_joints`.
    pub(crate) fn set(
        &mut self,
        joint_from_rest: &[DAffine3],
        world_from_joints: &[Mat4],
    ) -> Result<(), Error> {
        let (found, expected) = (world_from_joints.len(), joint_from_rest.len());
        if found != expected {
            return Err(Error::CountMismatch { what: "joints in the pose", found, expected });
        }
        if let Some(index) = world_from_joints.iter().position(|matrix| !matrix.is_finite()) {
            return Err(Error::NotFinite { what: "the pose of joint", index });
        }
        for ((part, from_rest), world) in self.parts.iter_mut().zip(joint_from_rest).zip(world_from_joints) {
            let world = DAffine3::from_mat4(world.as_dmat4());
            let moved = world * *from_rest;
            let rotation = geometry::nearest_rotation(&moved.matrix3);
            let rotation = if rotation.is_finite() { rotation } else { Mat3::IDENTITY };
            part.rotation = DQuat::from_mat3(&rotation).normalize();
            part.stretch = Mat3::from_quat(part.rotation).transpose() * moved.matrix3;
            part.head = world.translation;
        }
        Ok(())
    }

    /// Makes this pose the same as another, without allocating.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.parts.copy_from_slice(&other.parts);
    }

    /// Everything that can change, for a checkpoint.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        self.parts.iter().flat_map(|part| {
            let turn = part.rotation.to_array().into_iter();
            turn.chain(part.stretch.to_cols_array()).chain(part.head.to_array())
        })
    }

    /// The reverse of [`Pose::numbers`].
    pub(crate) fn set_numbers(&mut self, mut next: impl FnMut() -> f64) {
        for part in &mut self.parts {
            part.rotation = DQuat::from_array(std::array::from_fn(|_| next()));
            part.stretch = Mat3::from_cols_array(&std::array::from_fn(|_| next()));
            part.head = Vec3::from_array(std::array::from_fn(|_| next()));
        }
    }

    /// Frames at the instant `s` between two poses, 0 at the first and 1 at the second: joints move along straight lines, and turn
    /// about themselves evenly.
    pub(crate) fn between(a: &Self, b: &Self, s: f64, frames: &mut [Frame]) {
        for (k, frame) in frames.iter_mut().enumerate() {
            let (a, b) = (&a.parts[k], &b.parts[k]);
            let turn = if s >= 1.0 { b.rotation } else { a.rotation.slerp(b.rotation, s) };
            let rotation = Mat3::from_quat(turn);
            let stretch = if s >= 1.0 { b.stretch } else { a.stretch * (1.0 - s) + b.stretch * s };
            let head = if s >= 1.0 { b.head } else { a.head.lerp(b.head, s) };
            let matrix3 = rotation * stretch;
            let translation = head - matrix3 * b.rest_head;
            *frame = Frame { world_from_rest: DAffine3 { matrix3, translation }, rotation, turn };
        }
    }
}
