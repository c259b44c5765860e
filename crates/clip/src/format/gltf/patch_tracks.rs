//! The tracks of a document that is patched: those that no more fit are dropped, joints that moved get new ones.

use serde_json::{Value, json};

use super::patch::Patch;
use super::patch_carry::{items, number, take_list};
use super::patch_plan::Fate;
use super::sink::Sink;
use super::write::{Document, Times};
use crate::{Result, Transform};

/// Drops the channels for whose node and path `is_gone`; returns how many.
pub(super) fn drop_channels(animation: &mut Value, is_gone: &dyn Fn(usize, &str) -> bool) -> usize {
    let Some(channels) = animation.get_mut("channels").and_then(Value::as_array_mut) else { return 0 };
    let before = channels.len();
    channels.retain(|channel| {
        let target = &channel["target"];
        let path = target["path"].as_str().unwrap_or_default();
        !number(target, "node").is_some_and(|node| is_gone(node, path))
    });
    before - channels.len()
}

/// Drops the samplers that no channel uses.
pub(super) fn keep_used_samplers(animation: &mut Value) {
    let used: Vec<usize> =
        items(animation, "channels").iter().filter_map(|channel| number(channel, "sampler")).collect();
    let kept: Vec<usize> =
        (0..items(animation, "samplers").len()).filter(|sampler| used.contains(sampler)).collect();
    if kept.len() == items(animation, "samplers").len() {
        return;
    }
    animation["samplers"] = kept.iter().map(|&sampler| animation["samplers"][sampler].clone()).collect();
    for channel in animation["channels"].as_array_mut().into_iter().flatten() {
        let place = number(channel, "sampler").and_then(|sampler| kept.binary_search(&sampler).ok());
        if let Some(place) = place {
            channel["sampler"] = json!(place);
        }
    }
}

impl Patch<'_> {
    /// Tracks of the joints that moved and of those that the document does not have; of all, and of shape keys, when times are others.
    pub(super) fn add_tracks(&self, document: &mut Document, times: &Times, sink: &mut Sink) -> Result<()> {
        let Some(skeleton) = &self.clip.skeleton else {
            return self.add_weight_tracks(document, times, sink);
        };
        let frames = &self.opened.frames;
        let known = frames.joint_nodes.len();
        let mut nodes = frames.joint_nodes.clone();
        let scale = frames.scale as f32;
        for joint in &skeleton.joints[known..] {
            let Transform { translation, rotation, scale } =
                in_unit(joint.rest, if joint.parent.is_none() { scale } else { 1.0 });
            let node = json!({
                "name": joint.name,
                "translation": translation.to_array(), "rotation": rotation.to_array(), "scale": scale.to_array(),
            });
            let node = match joint.parent {
                Some(parent) => {
                    let node = document.push_node(node);
                    document.add_child(nodes[parent], node);
                    node
                }
                None => document.push_root(node),
            };
            nodes.push(node);
        }
        let is_written =
            |joint: &usize| *joint >= known || self.plan.is_retimed || self.plan.moved_joints[*joint];
        let joints: Vec<usize> = (0..nodes.len()).filter(is_written).collect();
        let unit = |joint: usize| if self.is_root(joint) { scale } else { 1.0 };
        let poses: Vec<Vec<Transform>> = (self.plan.poses.iter())
            .map(|pose| joints.iter().map(|&joint| in_unit(pose[joint], unit(joint))).collect())
            .collect();
        let rest: Vec<Transform> =
            joints.iter().map(|&joint| in_unit(skeleton.joints[joint].rest, unit(joint))).collect();
        let nodes: Vec<usize> = joints.iter().map(|&joint| nodes[joint]).collect();
        for (column, &node) in nodes.iter().enumerate() {
            let moves = poses.iter().any(|pose| pose[column] != rest[column]);
            if moves {
                document.drop_channels(&|other, path| other == node && path != "weights");
                as_transform(&mut document.nodes[node], &rest[column]);
            }
        }
        document.add_joint_tracks(&poses, &nodes, &rest, times, false, sink)?;
        self.add_weight_tracks(document, times, sink)
    }

    /// Whether a joint's node stands on no other, so that the unit is in its transform.
    fn is_root(&self, joint: usize) -> bool {
        match self.opened.frames.joint_nodes.get(joint) {
            Some(&node) => self.opened.frames.graph.parent(node).is_none(),
            None => {
                self.clip.skeleton.as_ref().is_some_and(|skeleton| skeleton.joints[joint].parent.is_none())
            }
        }
    }

    /// Shape keys of meshes that are kept, when times are others than the document's.
    fn add_weight_tracks(&self, document: &mut Document, times: &Times, sink: &mut Sink) -> Result<()> {
        if !self.plan.is_retimed {
            return Ok(());
        }
        let input: Vec<[f32; 1]> = (0..self.clip.frame_count()).map(|frame| times.of(frame)).collect();
        for fate in &self.plan.fates {
            let Fate::Kept(instance) = *fate else { continue };
            let instance = &self.opened.frames.instances[instance];
            let [piece] = &instance.pieces[..] else { continue };
            if self.opened.frames.motion.weights_of(piece.node).is_none() {
                continue;
            }
            // what is kept is where the document's own weights put it
            let frames = &self.opened.frames;
            let mut values = Vec::new();
            for index in 0..self.clip.frame_count() {
                let at = (self.first_frame + index).min(frames.count.saturating_sub(1));
                values.extend(frames.all_weights(instance, at, &frames.pose(at)).into_iter().map(|w| [w]));
            }
            if values.len() == input.len() * piece.weights.len() && !values.is_empty() {
                let input = sink.keys(&input)?;
                let output = sink.values(&values)?;
                document.push_channel(piece.node, "weights", input, output, "LINEAR");
            }
        }
        Ok(())
    }
}

/// A transform of the clip as the document has it, in whose unit roots are.
pub(super) fn in_unit(transform: Transform, unit: f32) -> Transform {
    match unit == 1.0 {
        true => transform,
        false => Transform {
            translation: transform.translation / unit,
            scale: transform.scale / unit,
            ..transform
        },
    }
}

impl Document {
    /// Drops channels of the animation that is written for whose node and path `is_gone`.
    pub(super) fn drop_channels(&mut self, is_gone: &dyn Fn(usize, &str) -> bool) {
        let mut animation = json!({
            "channels": std::mem::take(&mut self.channels), "samplers": std::mem::take(&mut self.samplers),
        });
        if drop_channels(&mut animation, is_gone) > 0 {
            keep_used_samplers(&mut animation);
        }
        self.channels = take_list(&mut animation, "channels");
        self.samplers = take_list(&mut animation, "samplers");
    }
}

/// Gives a node that has a matrix the transform instead, since only that can be animated.
fn as_transform(node: &mut Value, rest: &Transform) {
    let had = node.as_object_mut().and_then(|node| node.remove("matrix"));
    if had.is_some() {
        node["translation"] = json!(rest.translation.to_array());
        node["rotation"] = json!(rest.rotation.to_array());
        node["scale"] = json!(rest.scale.to_array());
    }
}
