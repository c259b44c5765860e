//! Rides: where bones alone would take the coefficients of flesh, and how they would turn them.
//!
//! A coefficient is x = X + Q e: X where its bones take it, Q their blended rotation, e what is its own. Strain that is linear in e leaves out
//! what stretched flesh gains in stiffness as it turns. Inertia has to leave out its counterpart, the Coriolis and centrifugal forces
//! *on e*, or in quick turns they beat the constant matrix and flesh grows without bound (Kane, Ryan, Banerjee 1987). So a step
//! expects coefficients, if nothing pulled, at
//!
//! ```text
//! p = X + h Ẋ + Q′(e + h ė),     Q′ at the step's end,
//! ```
//!
//! that is, inertia acts in full on where the bones take flesh, and e lives in axes that turn with the bones. In them a region is an
//! oscillator with constant coefficients that is pushed; whatever the poses do, it cannot gain more than the pushes give.

use geometry::{Mat3, Vec3};
use glam::DQuat;

use crate::frames::Frame;
use crate::kit::{Kit, skinned};

/// X and Q of all coefficients.
#[derive(Clone, Debug)]
pub(crate) struct Rides {
    pub(crate) places: Vec<Vec3>,
    turns: Vec<Mat3>,
}

impl Rides {
    /// For so many coefficients.
    pub(crate) fn new(count: usize) -> Self {
        Self { places: vec![Vec3::ZERO; count], turns: vec![Mat3::IDENTITY; count] }
    }

    /// Those while joints are in `frames`.
    pub(crate) fn set(&mut self, kit: &Kit, frames: &[Frame]) {
        // one region is measured in one frame, and flesh turns with that alone
        let common = match &kit.regions[..] {
            [region] if kit.corotated.is_none() => Some(frames[region.joint as usize].rotation),
            _ => None,
        };
        skinned(kit, frames, &mut self.places);
        for (turn, shares) in self.turns.iter_mut().zip(&kit.shares) {
            *turn = common.unwrap_or_else(|| blended(shares, frames));
        }
    }

    /// A vector of a coefficient in the axes of these rides, turned into those of others.
    pub(crate) fn turned(&self, to: &Self, coefficient: usize, vector: Vec3) -> Vec3 {
        to.turns[coefficient] * (self.turns[coefficient].transpose() * vector)
    }
}

/// The rotation between those of several joints, by their weights.
fn blended(shares: &[(u32, f64)], frames: &[Frame]) -> Mat3 {
    let Some(&(first, _)) = shares.first() else { return Mat3::IDENTITY };
    let first = &frames[first as usize];
    if shares.len() == 1 {
        return first.rotation;
    }
    let near = first.turn;
    let mut sum = DQuat::from_array([0.0; 4]);
    for &(joint, weight) in shares {
        let turn = frames[joint as usize].turn;
        sum += turn * (weight * if near.dot(turn) < 0.0 { -1.0 } else { 1.0 });
    }
    // half a turn apart, rotations may cancel
    if sum.length_squared() > 1e-12 { Mat3::from_quat(sum.normalize()) } else { first.rotation }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DAffine3;

    #[test]
    fn rotations_are_blended_between_those_of_the_joints() {
        let frame = |angle: f64| {
            let turn = DQuat::from_rotation_z(angle);
            Frame { world_from_rest: DAffine3::IDENTITY, rotation: Mat3::from_quat(turn), turn }
        };
        let frames = [frame(0.2), frame(1.0), Frame { turn: -frame(1.0).turn, ..frame(1.0) }];
        let angle = |shares: &[(u32, f64)]| {
            let x = blended(shares, &frames).x_axis;
            x.y.atan2(x.x)
        };
        assert!((angle(&[(0, 0.5), (1, 0.5)]) - 0.6).abs() < 1e-12);
        assert!((angle(&[(0, 0.5), (2, 0.5)]) - 0.6).abs() < 1e-12);
        assert!((angle(&[(1, 1.0)]) - 1.0).abs() < 1e-12);
        assert!((angle(&[(0, 0.25), (1, 0.75)]) - 0.8).abs() < 0.01);
        assert_eq!(blended(&[], &frames), Mat3::IDENTITY);
    }
}
