//! Joints, their pose, and how they move skin.

use glam::{Mat4, Quat, Vec3};

use crate::Group;

/// A joint's place relative to its parent: `parent_from_joint`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    /// In metres.
    pub translation: Vec3,
    /// A unit quaternion.
    pub rotation: Quat,
    /// Along the joint's own axes.
    pub scale: Vec3,
}

impl Transform {
    /// Changes nothing.
    pub const IDENTITY: Self = Self { translation: Vec3::ZERO, rotation: Quat::IDENTITY, scale: Vec3::ONE };

    /// As a matrix.
    pub fn matrix(&self) -> Mat4 {
        Mat4::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
    }
}

/// One joint.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// Its name in the file.
    pub name: String,
    /// Index of the parent, always smaller than the joint's own; `None` for a root.
    pub parent: Option<usize>,
    /// `parent_from_joint` at rest.
    pub rest: Transform,
}

/// A forest of joints, parents before children.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skeleton {
    /// The joints; a pose has one transform for each.
    pub joints: Vec<Joint>,
}

impl Skeleton {
    /// The index of the joint with this name.
    pub fn joint_index(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|joint| joint.name == name)
    }

    /// The rest pose.
    pub fn rest_pose(&self) -> Vec<Transform> {
        self.joints.iter().map(|joint| joint.rest).collect()
    }

    /// `world_from_joint` of every joint in a pose.
    pub fn world_from_joints(&self, pose: &[Transform]) -> Vec<Mat4> {
        let mut world_from_joints: Vec<Mat4> = Vec::with_capacity(self.joints.len());
        for (joint, parent_from_joint) in self.joints.iter().zip(pose) {
            let world_from_parent = joint.parent.map_or(Mat4::IDENTITY, |parent| world_from_joints[parent]);
            world_from_joints.push(world_from_parent * parent_from_joint.matrix());
        }
        world_from_joints
    }
}

/// Linear blend skinning: which joints move a point, and by how much.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skin {
    /// `joint_from_rest` of the joints that take part: what a file calls inverse bind matrices.
    pub binds: Vec<(usize, Mat4)>,
    /// For each point, pairs of an index into `binds` and a weight. Any number of them.
    pub influences: Vec<Vec<(u32, f32)>>,
}

impl Skin {
    /// For each joint that moves anything, how much of each point hangs on it: a group under the joint's name.
    pub fn groups(&self, skeleton: &Skeleton) -> Vec<Group> {
        let mut columns = vec![None; self.binds.len()];
        for (point, influences) in self.influences.iter().enumerate() {
            for &(bind, weight) in influences.iter().filter(|&&(_, weight)| weight > 0.0) {
                let column =
                    columns[bind as usize].get_or_insert_with(|| vec![0.0_f32; self.influences.len()]);
                column[point] += weight;
            }
        }
        let group = |(column, &(joint, _)): (Option<Vec<f32>>, &(usize, Mat4))| {
            Some(Group { name: skeleton.joints[joint].name.clone(), weights: column? })
        };
        columns.into_iter().zip(&self.binds).filter_map(group).collect()
    }

    /// Moves rest points by the skeleton's joints.
    pub fn deform(&self, rest_points: &[[f32; 3]], world_from_joints: &[Mat4]) -> Vec<[f32; 3]> {
        let world_from_rest: Vec<Mat4> = self
            .binds
            .iter()
            .map(|&(joint, joint_from_rest)| world_from_joints[joint] * joint_from_rest)
            .collect();
        let blend = |(point, influences): (&[f32; 3], &Vec<(u32, f32)>)| {
            let sum = influences
                .iter()
                .fold(Mat4::ZERO, |sum, &(bind, weight)| sum + world_from_rest[bind as usize] * weight);
            sum.transform_point3(Vec3::from(*point)).to_array()
        };
        rest_points.iter().zip(&self.influences).map(blend).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bent_elbow_moves_the_hand_only() {
        let joint = |name: &str, parent, x| Joint {
            name: name.into(),
            parent,
            rest: Transform { translation: Vec3::new(x, 0.0, 0.0), ..Transform::IDENTITY },
        };
        let skeleton = Skeleton { joints: vec![joint("shoulder", None, 0.0), joint("elbow", Some(0), 1.0)] };
        let bind = |x: f32| Mat4::from_translation(Vec3::new(-x, 0.0, 0.0));
        let skin = Skin {
            binds: vec![(0, bind(0.0)), (1, bind(1.0))],
            influences: vec![vec![(0, 1.0)], vec![(1, 1.0)], vec![(0, 0.5), (1, 0.5)]],
        };
        let rest = [[0.5, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
        let at_rest = skin.deform(&rest, &skeleton.world_from_joints(&skeleton.rest_pose()));
        assert_eq!(at_rest, rest);

        let mut pose = skeleton.rest_pose();
        pose[1].rotation = Quat::from_rotation_z(std::f32::consts::FRAC_PI_2);
        let bent = skin.deform(&rest, &skeleton.world_from_joints(&pose));
        assert_eq!(bent[0], rest[0]);
        assert!(Vec3::from(bent[1]).distance(Vec3::new(1.0, 1.0, 0.0)) < 1e-6);
        assert!(Vec3::from(bent[2]).distance(Vec3::from(rest[2])) < 1e-6, "the elbow's own centre stays");
    }
}
