//! The skeleton of a clip as animated nodes. Baked meshes do not hang on it; it is there for who reads the file next.

use serde_json::json;

use super::sink::Sink;
use super::write::{Document, Times};
use crate::{Clip, Error, Result, Transform};

impl Document {
    /// Adds the joints, their motion and the skins that name them bones.
    pub(super) fn add_skeleton(
        &mut self,
        clip: &Clip,
        poses: &[Vec<Transform>],
        times: &Times,
        keep_length: bool,
        sink: &mut Sink,
    ) -> Result<()> {
        let first_node = self.nodes.len();
        self.add_joints(clip, poses, times, keep_length, sink)?;
        self.add_skins(clip, first_node, sink)
    }

    /// Adds the joints and their motion.
    pub(super) fn add_joints(
        &mut self,
        clip: &Clip,
        poses: &[Vec<Transform>],
        times: &Times,
        keep_length: bool,
        sink: &mut Sink,
    ) -> Result<()> {
        let Some(skeleton) = &clip.skeleton else { return Ok(()) };
        let first_node = self.nodes.len();
        let mut children = vec![Vec::new(); skeleton.joints.len()];
        for (index, joint) in skeleton.joints.iter().enumerate() {
            match joint.parent {
                Some(parent) => children[parent].push(first_node + index),
                None => self.roots.push(first_node + index),
            }
        }
        for (joint, children) in skeleton.joints.iter().zip(children) {
            let Transform { translation, rotation, scale } = joint.rest;
            let mut node = json!({
                "name": joint.name,
                "translation": translation.to_array(), "rotation": rotation.to_array(), "scale": scale.to_array(),
            });
            if !children.is_empty() {
                node["children"] = json!(children);
            }
            self.push_node(node);
        }
        let nodes: Vec<usize> = (first_node..self.nodes.len()).collect();
        self.add_joint_tracks(poses, &nodes, &skeleton.rest_pose(), times, keep_length, sink)
    }

    /// Tracks of the joints that leave their rest; `nodes` are theirs.
    pub(super) fn add_joint_tracks(
        &mut self,
        poses: &[Vec<Transform>],
        nodes: &[usize],
        rest: &[Transform],
        times: &Times,
        keep_length: bool,
        sink: &mut Sink,
    ) -> Result<()> {
        let input: Vec<[f32; 1]> = (0..poses.len()).map(|frame| times.of(frame)).collect();
        let mut input_accessor = None;
        for (joint, (rest, &node)) in rest.iter().zip(nodes).enumerate() {
            let track = || poses.iter().map(|pose| pose[joint]);
            let forced = keep_length && joint == 0;
            let mut add = |path: &str, output: &dyn Fn(&mut Sink) -> Result<usize>, sink: &mut Sink| {
                let input = match input_accessor {
                    Some(input) => input,
                    None => *input_accessor.insert(sink.keys(&input)?),
                };
                let output = output(sink)?;
                self.push_channel(node, path, input, output, "LINEAR");
                Ok::<(), Error>(())
            };
            if forced || track().any(|t| t.translation != rest.translation) {
                let values: Vec<[f32; 3]> = track().map(|t| t.translation.to_array()).collect();
                add("translation", &|sink| sink.keys(&values), sink)?;
            }
            if track().any(|t| t.rotation != rest.rotation) {
                let values: Vec<[f32; 4]> = track().map(|t| t.rotation.normalize().to_array()).collect();
                add("rotation", &|sink| sink.keys(&values), sink)?;
            }
            if track().any(|t| t.scale != rest.scale) {
                let values: Vec<[f32; 3]> = track().map(|t| t.scale.to_array()).collect();
                add("scale", &|sink| sink.keys(&values), sink)?;
            }
        }
        Ok(())
    }

    /// One skin per tree of joints, which is how other programs know that these nodes are bones.
    fn add_skins(&mut self, clip: &Clip, first_node: usize, sink: &mut Sink) -> Result<()> {
        let Some(skeleton) = &clip.skeleton else { return Ok(()) };
        let worlds = skeleton.world_from_joints(&skeleton.rest_pose());
        let mut root_of: Vec<usize> = Vec::with_capacity(worlds.len());
        for (index, joint) in skeleton.joints.iter().enumerate() {
            root_of.push(joint.parent.map_or(index, |parent| root_of[parent]));
        }
        for root in (0..worlds.len()).filter(|&joint| root_of[joint] == joint) {
            let joints: Vec<usize> = (0..worlds.len()).filter(|&joint| root_of[joint] == root).collect();
            let bind = |&joint: &usize| (first_node + joint, worlds[joint].inverse());
            let binds: Vec<(usize, glam::Mat4)> = joints.iter().map(bind).collect();
            let skin = self.push_skin(&binds, sink)?;
            self.skins[skin]["skeleton"] = json!(first_node + root);
        }
        Ok(())
    }
}
