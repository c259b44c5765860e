//! Frames of a glTF file, computed when they are asked for: nodes posed, targets blended, skins bent.

use std::sync::Arc;

use glam::{DMat4, Mat4, Vec3};

use super::graph::{Graph, Motion, Pose};
use super::shape::Shape;
use crate::format::moments::transform_points;
use crate::{Error, Frame, Frames, Result, Transform, first_not_finite};

/// A skin: nodes, and `joint_from_bind` of each.
pub(super) struct SkinBinds {
    pub(super) joints: Vec<usize>,
    pub(super) joint_from_bind: Vec<DMat4>,
}

/// A mesh in the scene.
pub(super) struct Instance {
    pub(super) name: String,
    pub(super) shape: Arc<Shape>,
    pub(super) skin: Option<usize>,
    /// The nodes that show it: one, or those over which a long clip was split, of which one is shown at a time.
    pub(super) pieces: Vec<Piece>,
    /// How many of its morph targets a hand made; those behind are frames of ours.
    pub(super) sculpted: usize,
}

/// A node that shows a mesh, with the resting weights of its morph targets.
pub(super) struct Piece {
    pub(super) node: usize,
    pub(super) weights: Vec<f32>,
}

/// The file's moving part.
pub(super) struct GltfFrames {
    pub(super) graph: Graph,
    pub(super) motion: Motion,
    pub(super) skins: Vec<SkinBinds>,
    pub(super) instances: Vec<Instance>,
    /// The node of each joint of the clip's skeleton.
    pub(super) joint_nodes: Vec<usize>,
    pub(super) count: usize,
    pub(super) frame_rate_hz: f64,
    /// The time of the first frame, in frames.
    pub(super) first_frame: f64,
    pub(super) scale: f64,
}

impl Frames for GltfFrames {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize) -> Result<Frame> {
        if index >= self.count {
            return Err(Error::NoSuchFrame { index, count: self.count });
        }
        let pose = self.pose(index);
        let worlds = self.graph.worlds(&pose);
        let points = |instance: usize| self.points(instance, index, &pose, &worlds);
        let points = (0..self.instances.len()).map(points).collect::<Result<_>>()?;
        Ok(Frame { points, pose: self.of_joints(&pose) })
    }

    fn morph_weights(&self, index: usize) -> Result<Vec<Vec<f32>>> {
        if index >= self.count {
            return Err(Error::NoSuchFrame { index, count: self.count });
        }
        let (time, tolerance) = self.time(index);
        let pose = self.graph.pose(&self.motion, time, tolerance, self.scale);
        let sculpted = |instance: &Instance| {
            let mut weights = self.weights(instance, &pose, time, tolerance);
            weights.truncate(instance.sculpted);
            weights
        };
        Ok(self.instances.iter().map(sculpted).collect())
    }
}

impl GltfFrames {
    /// Where all nodes are in a frame.
    pub(super) fn pose(&self, index: usize) -> Pose {
        let (time, tolerance) = self.time(index);
        self.graph.pose(&self.motion, time, tolerance, self.scale)
    }

    /// The part of a pose that the clip's skeleton has.
    pub(super) fn of_joints(&self, pose: &Pose) -> Vec<Transform> {
        self.joint_nodes.iter().map(|&node| pose.locals[node]).collect()
    }

    /// The points of one mesh in a frame, with nodes where `pose` and `worlds` have them.
    pub(super) fn points(
        &self,
        instance: usize,
        index: usize,
        pose: &Pose,
        worlds: &[DMat4],
    ) -> Result<Vec<[f32; 3]>> {
        let instance = &self.instances[instance];
        let morphed = instance.shape.morphed(&self.all_weights(instance, index, pose))?;
        let points = self.place(instance, morphed, pose, worlds);
        match first_not_finite(&points) {
            Some(point) => Err(Error::NotFinite { mesh: instance.name.clone(), frame: index, point }),
            None => Ok(points),
        }
    }

    /// The weights of all morph targets of a mesh in a frame.
    pub(super) fn all_weights(&self, instance: &Instance, index: usize, pose: &Pose) -> Vec<f32> {
        let (time, tolerance) = self.time(index);
        self.weights(instance, pose, time, tolerance)
    }

    /// When a frame is, and how near a key must be to lie on it: keys are floats, and a frame that lies on one must meet it.
    fn time(&self, index: usize) -> (f64, f64) {
        ((self.first_frame + index as f64) / self.frame_rate_hz, 1e-3 / self.frame_rate_hz)
    }

    /// The morph weights at a time; those of pieces that are not shown are zero.
    fn weights(&self, instance: &Instance, pose: &Pose, time: f64, tolerance: f64) -> Vec<f32> {
        let mut weights = Vec::with_capacity(instance.shape.target_count);
        let mut sampled = Vec::new();
        let shown = shown(instance, pose);
        for (number, piece) in instance.pieces.iter().enumerate() {
            let count = piece.weights.len();
            match self.motion.weights_of(piece.node) {
                _ if number != shown => weights.resize(weights.len() + count, 0.0),
                Some(track) if track.width() == count => {
                    track.sample(time, tolerance, &mut sampled);
                    weights.extend_from_slice(&sampled);
                }
                _ => weights.extend_from_slice(&piece.weights),
            }
        }
        weights
    }

    /// Brings points from the mesh's space into the world.
    fn place(
        &self,
        instance: &Instance,
        mut points: Vec<[f32; 3]>,
        pose: &Pose,
        worlds: &[DMat4],
    ) -> Vec<[f32; 3]> {
        if let Some(skin) = instance.skin.map(|skin| &self.skins[skin]) {
            let world_from_bind: Vec<Mat4> = skin
                .joints
                .iter()
                .zip(&skin.joint_from_bind)
                .map(|(&node, joint_from_bind)| (worlds[node] * *joint_from_bind).as_mat4())
                .collect();
            for (point, influences) in points.iter_mut().zip(&instance.shape.influences) {
                let blended = influences
                    .iter()
                    .fold(Mat4::ZERO, |sum, &(joint, weight)| sum + world_from_bind[joint as usize] * weight);
                *point = blended.transform_point3(Vec3::from(*point)).to_array();
            }
            return points;
        }
        let world_from_mesh = worlds[instance.pieces[shown(instance, pose)].node];
        transform_points(&mut points, &world_from_mesh);
        points
    }
}

/// Which piece is shown: the first with a size.
fn shown(instance: &Instance, pose: &Pose) -> usize {
    instance.pieces.iter().position(|piece| pose.locals[piece.node].scale != Vec3::ZERO).unwrap_or(0)
}
