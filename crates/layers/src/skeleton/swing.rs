//! Joints that swing: they turn as the flesh around them does.

use clip::{Selector, Skeleton, Transform};
use geometry::{Mat3, Vec3, nearest_rotation, rigid_motion};
use glam::DQuat;
use shot::Target;

use super::Anatomy;

/// A joint moves a point, where this much of the point's weight is its own.
const OWN: f64 = 0.3;
/// So few points say nothing about a rotation.
const FEWEST: usize = 4;

/// The free joints of a character, and the points that say how they are turned.
pub(super) struct Swing {
    skeleton: Option<Skeleton>,
    joints: Vec<Swinging>,
}

struct Swinging {
    joint: usize,
    points: Vec<usize>,
    rest: Vec<Vec3>,
    /// How the joint is turned in the space of the skin at rest.
    rest_turn: DQuat,
}

impl Swing {
    pub(super) fn new(anatomy: &Anatomy, input: &Target, free: &[String]) -> Self {
        let is_free = |joint: &usize| {
            anatomy.joints[*joint].parent.is_some()
                && free.iter().any(|pattern| Selector::fits(pattern, &anatomy.names[*joint]))
        };
        let of = |joint: usize| {
            let weight = |row: &Vec<(u32, f64)>| {
                row.iter().filter(|(j, _)| *j as usize == joint).map(|(_, weight)| weight).sum::<f64>()
            };
            let influences = anatomy.skin.influences.iter().enumerate();
            let points: Vec<usize> =
                influences.filter(|(_, row)| weight(row) >= OWN).map(|(point, _)| point).collect();
            let rest = points.iter().map(|&point| anatomy.skin.points[point]).collect();
            let rest_turn = DQuat::from_mat3(&turn_of(anatomy.joints[joint].rest_from_joint.matrix3));
            Swinging { joint, points, rest, rest_turn }
        };
        let joints = (0..anatomy.joints.len()).filter(is_free).map(of);
        let joints = joints.filter(|swinging| swinging.points.len() >= FEWEST).collect();
        Self { skeleton: input.clip.skeleton.clone(), joints }
    }

    /// Turns the free joints of a pose so that they go with the skin, which is at `points`. Their distances from the joints above stay.
    pub(super) fn turn(&self, points: &[Vec3], pose: &mut [Transform]) {
        let Some(skeleton) = &self.skeleton else { return };
        for swinging in &self.joints {
            let now: Vec<Vec3> = swinging.points.iter().map(|&point| points[point]).collect();
            let (rotation, _) = rigid_motion(&swinging.rest, &now);
            let turn = DQuat::from_mat3(&rotation) * swinging.rest_turn;
            // parents come first, and are turned by now
            let world = skeleton.world_from_joints(pose);
            let above = skeleton.joints[swinging.joint].parent.map_or(DQuat::IDENTITY, |parent| {
                let matrix = world[parent].as_dmat4();
                let axes = [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(|axis| axis.truncate());
                DQuat::from_mat3(&turn_of(Mat3::from_cols(axes[0], axes[1], axes[2])))
            });
            pose[swinging.joint].rotation = (above.inverse() * turn).normalize().as_quat();
        }
    }
}

/// The rotation in a matrix.
fn turn_of(matrix: Mat3) -> Mat3 {
    nearest_rotation(&matrix)
}
