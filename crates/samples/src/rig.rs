//! Skeletons built joint by joint, poses with limbs that reach, and skins that follow.
//!
//! Every joint's axes are the world's at rest, so that a rotation in a pose reads as a turn about x (nod), y (shake)
//! or z (tilt) whatever the joint. Characters face +z; their left is +x.

use clip::{Clip, Frame, Joint, MemoryFrames, Mesh, Skeleton, Skin, Transform};
use geometry::Vec3;
use glam::{DQuat, Mat4};
use std::sync::Arc;

use crate::shapes::Shape;
use crate::surface::{Body, diffuse};

/// A skeleton with its joints' places at rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rig {
    pub(crate) skeleton: Skeleton,
    /// Where each joint is at rest, in the world.
    pub(crate) places: Vec<Vec3>,
}

impl Rig {
    /// Adds a joint and gives its index.
    pub(crate) fn joint(&mut self, name: &str, parent: Option<usize>, place: Vec3) -> usize {
        let from = parent.map_or(Vec3::ZERO, |parent| self.places[parent]);
        let rest = Transform { translation: (place - from).as_vec3(), ..Transform::IDENTITY };
        self.skeleton.joints.push(Joint { name: name.into(), parent, rest });
        self.places.push(place);
        self.places.len() - 1
    }

    /// Adds a chain `name_1`, `name_2`… and gives its indices.
    pub(crate) fn chain(&mut self, name: &str, parent: usize, places: &[Vec3]) -> Vec<usize> {
        let mut chain: Vec<usize> = Vec::with_capacity(places.len());
        for (i, &place) in places.iter().enumerate() {
            let above = chain.last().copied().unwrap_or(parent);
            chain.push(self.joint(&format!("{name}_{}", i + 1), Some(above), place));
        }
        chain
    }

    fn binds(&self) -> Vec<(usize, Mat4)> {
        let bind = |(joint, place): (usize, &Vec3)| (joint, Mat4::from_translation(-place.as_vec3()));
        self.places.iter().enumerate().map(bind).collect()
    }

    /// A skin that follows one joint.
    pub(crate) fn rigid_skin(&self, joints: impl IntoIterator<Item = usize>) -> Skin {
        Skin { binds: self.binds(), influences: joints.into_iter().map(|j| vec![(j as u32, 1.0)]).collect() }
    }

    /// Weights per point and joint: each point belongs to the joint of its nearest piece, then memberships spread along
    /// the surface, so that parts that hang close to one another do not drag each other. `held` points stay rigid.
    pub(crate) fn weights(
        &self,
        shape: &Shape,
        body: &Body,
        held: impl Fn(Vec3) -> bool,
        iterations: usize,
    ) -> Vec<Vec<f64>> {
        let mut weights: Vec<Vec<f64>> = shape
            .points
            .iter()
            .map(|&p| {
                let mut row = vec![0.0; self.places.len()];
                row[body.nearest_joint(p)] = 1.0;
                row
            })
            .collect();
        diffuse(shape, &mut weights, |v| held(shape.points[v]), iterations);
        weights
    }

    /// A skin from weights; influences too small to see are left out.
    pub(crate) fn skin(&self, weights: &[Vec<f64>]) -> Skin {
        const NEGLIGIBLE: f64 = 2e-3;
        let influences = weights.iter().map(|row| {
            let kept = || row.iter().enumerate().filter(|(_, w)| **w > NEGLIGIBLE);
            let sum: f64 = kept().map(|(_, w)| w).sum();
            kept().map(|(joint, w)| (joint as u32, (w / sum) as f32)).collect()
        });
        Skin { binds: self.binds(), influences: influences.collect() }
    }

    /// The clip of skinned meshes in these poses. Meshes without a skin stand still.
    pub(crate) fn clip(&self, name: &str, frame_rate_hz: f64, meshes: Vec<Mesh>, poses: &[Pose]) -> Clip {
        let frames = poses.iter().map(|pose| {
            let pose = pose.transforms(self);
            let world_from_joints = self.skeleton.world_from_joints(&pose);
            let deform = |mesh: &Mesh| match &mesh.skin {
                Some(skin) => skin.deform(&mesh.rest_points, &world_from_joints),
                None => mesh.rest_points.clone(),
            };
            Frame { points: meshes.iter().map(deform).collect(), pose }
        });
        let frames = Arc::new(MemoryFrames::new(frames.collect()));
        Clip::new(name, frame_rate_hz, meshes, Some(self.skeleton.clone()), frames)
    }
}

/// A pose being made: turns and shifts of joints against rest, in double precision.
#[derive(Clone, Debug)]
pub(crate) struct Pose {
    turns: Vec<DQuat>,
    shifts: Vec<Vec3>,
}

impl Pose {
    pub(crate) fn new(rig: &Rig) -> Self {
        let count = rig.places.len();
        Self { turns: vec![DQuat::IDENTITY; count], shifts: vec![Vec3::ZERO; count] }
    }

    /// Turns a joint about its own x, then y, then z (nod, shake, tilt), on top of what it has; radians.
    pub(crate) fn turn(&mut self, joint: usize, nod: f64, shake: f64, tilt: f64) {
        let turn = DQuat::from_rotation_z(tilt) * DQuat::from_rotation_y(shake) * DQuat::from_rotation_x(nod);
        self.turns[joint] *= turn;
    }

    /// Turns a joint on top of what it has.
    pub(crate) fn rotate(&mut self, joint: usize, turn: DQuat) {
        self.turns[joint] *= turn;
    }

    /// Moves a joint against its parent.
    pub(crate) fn shift(&mut self, joint: usize, by: Vec3) {
        self.shifts[joint] += by;
    }

    /// Puts a joint at a place in the world, whatever its parent does, turned as `turn` says.
    pub(crate) fn place(&mut self, rig: &Rig, joint: usize, target: Vec3, turn: DQuat) {
        let parent = rig.skeleton.joints[joint].parent;
        let (from, parent_turn) = parent.map_or((Vec3::ZERO, DQuat::IDENTITY), |p| self.world(rig, p));
        let offset = rig.places[joint] - parent.map_or(Vec3::ZERO, |p| rig.places[p]);
        self.shifts[joint] = parent_turn.inverse() * (target - from) - offset;
        self.turns[joint] = parent_turn.inverse() * turn;
    }

    fn transforms(&self, rig: &Rig) -> Vec<Transform> {
        let transform = |(i, joint): (usize, &Joint)| Transform {
            translation: joint.rest.translation + self.shifts[i].as_vec3(),
            rotation: self.turns[i].as_quat(),
            scale: glam::Vec3::ONE,
        };
        rig.skeleton.joints.iter().enumerate().map(transform).collect()
    }

    /// Place and turn of a joint in the world.
    pub(crate) fn world(&self, rig: &Rig, joint: usize) -> (Vec3, DQuat) {
        let parent = rig.skeleton.joints[joint].parent;
        let (place, turn) = parent.map_or((Vec3::ZERO, DQuat::IDENTITY), |parent| self.world(rig, parent));
        let offset = rig.places[joint] - parent.map_or(Vec3::ZERO, |parent| rig.places[parent]);
        (place + turn * (offset + self.shifts[joint]), turn * self.turns[joint])
    }

    /// Bends a limb of two bones so that its end comes to `target`, its middle joint towards `knee`, and turns the
    /// end joint to `end_turn` in the world. A target out of reach is approached as far as the bones allow.
    ///
    /// `hinge` is the axis at rest about which the middle joint bends.
    pub(crate) fn reach(
        &mut self,
        rig: &Rig,
        [upper, lower, end]: [usize; 3],
        target: Vec3,
        hinge: Vec3,
        knee: Vec3,
        end_turn: DQuat,
    ) {
        let (rest_upper, rest_lower) =
            (rig.places[lower] - rig.places[upper], rig.places[end] - rig.places[lower]);
        let (l1, l2) = (rest_upper.length(), rest_lower.length());
        let (from, _) = self.world(rig, upper);
        let reach = target - from;
        let d = reach.length().clamp((l1 - l2).abs() + 1e-6, (l1 + l2) * (1.0 - 1e-6));
        let ahead = reach.normalize_or(Vec3::NEG_Y);
        let aside = (knee - knee.dot(ahead) * ahead).normalize_or(ahead.any_orthonormal_vector());
        // law of cosines: how far along the way to the target the knee is, and how far out
        let along = (l1 * l1 + d * d - l2 * l2) / (2.0 * d);
        let out = (l1 * l1 - along * along).max(0.0).sqrt();
        let (to_knee, to_end) = (along * ahead + out * aside, (d - along) * ahead - out * aside);
        let parent_turn = |pose: &Self, joint: usize| {
            rig.skeleton.joints[joint].parent.map_or(DQuat::IDENTITY, |parent| pose.world(rig, parent).1)
        };
        let axis = ahead.cross(aside);
        let rest_axis = {
            let bend = rest_upper.cross(rest_lower);
            if bend.dot(hinge) < 0.0 { -hinge } else { hinge }
        };
        // the knee bends about `axis`, from the upper bone's direction to the lower one's: to_knee × to_end = −d·out·axis
        let upper_turn = frame(to_knee, -axis) * frame(rest_upper, rest_axis).inverse();
        let lower_turn = frame(to_end, -axis) * frame(rest_lower, rest_axis).inverse();
        self.turns[upper] = parent_turn(self, upper).inverse() * upper_turn;
        self.turns[lower] = upper_turn.inverse() * lower_turn;
        self.turns[end] = lower_turn.inverse() * end_turn;
    }
}

/// The turn that takes y to `along` and x as near as possible to `across`.
fn frame(along: Vec3, across: Vec3) -> DQuat {
    let y = along.normalize_or(Vec3::Y);
    let x = (across - across.dot(y) * y).normalize_or(y.any_orthonormal_vector());
    DQuat::from_mat3(&geometry::Mat3::from_cols(x, y, x.cross(y)))
}

/// The summed weight of some joints at every point: a vertex group.
pub(crate) fn group_of(weights: &[Vec<f64>], joints: &[usize]) -> Vec<f32> {
    weights.iter().map(|row| joints.iter().map(|&j| row[j]).sum::<f64>().clamp(0.0, 1.0) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limb_reaches_its_target_with_its_knee_ahead() {
        let mut rig = Rig::default();
        let root = rig.joint("root", None, Vec3::Y);
        let upper = rig.joint("upper", Some(root), Vec3::new(0.0, 1.0, 0.1));
        let lower = rig.joint("lower", Some(upper), Vec3::new(0.0, 0.6, 0.15));
        let end = rig.joint("end", Some(lower), Vec3::new(0.0, 0.2, 0.1));
        for (x, z) in [(0.0, 0.1), (0.05, 0.3), (-0.1, -0.15)] {
            let mut pose = Pose::new(&rig);
            pose.turn(root, 0.1, -0.2, 0.05);
            let target = Vec3::new(x, 0.28, z);
            let end_turn = DQuat::from_rotation_x(0.3);
            pose.reach(&rig, [upper, lower, end], target, Vec3::X, Vec3::Z, end_turn);
            let (place, turn) = pose.world(&rig, end);
            assert!(place.distance(target) < 1e-9);
            assert!(turn.angle_between(end_turn) < 1e-6);
            let (hip, knee) = (pose.world(&rig, upper).0, pose.world(&rig, lower).0);
            assert!((knee - 0.5 * (hip + place)).z > 0.0, "the knee points ahead");
            // a smooth limb does not twist: the hinge stays roughly sideways
            assert!((pose.world(&rig, lower).1 * Vec3::X).x > 0.9);
        }
    }

    #[test]
    fn a_target_out_of_reach_gives_a_straight_limb() {
        let mut rig = Rig::default();
        let joints = rig.chain_from_origin();
        let mut pose = Pose::new(&rig);
        pose.reach(&rig, joints, Vec3::new(0.0, -9.0, 0.0), Vec3::X, Vec3::Z, DQuat::IDENTITY);
        let (place, _) = pose.world(&rig, joints[2]);
        assert!(place.distance(Vec3::new(0.0, -2.0_f64.sqrt() * 2.0, 0.0)) < 1e-2);
    }

    impl Rig {
        fn chain_from_origin(&mut self) -> [usize; 3] {
            let a = self.joint("a", None, Vec3::ZERO);
            let b = self.joint("b", Some(a), Vec3::new(0.0, -1.0, 1.0));
            let c = self.joint("c", Some(b), Vec3::new(0.0, -2.0, 0.0));
            [a, b, c]
        }
    }
}
