//! The scene's nodes: who stands on whom, where they rest, how an animation moves them.

use std::path::Path;

use glam::{DMat4, DQuat, DVec3, Mat4, Quat, Vec3};

use super::container::Container;
use super::document;
use super::track::{Property, Track, unit};
use crate::{Animation, Error, Result, Transform};

/// All nodes of a file, as a forest.
pub(super) struct Graph {
    nodes: Vec<Node>,
    /// Every node, parents before children, depth first.
    pub(super) order: Vec<usize>,
    /// Whether a node belongs to the scene that is shown.
    pub(super) in_scene: Vec<bool>,
}

struct Node {
    parent: Option<usize>,
    rest: Transform,
    /// The file's own matrix, where it gives one: it may shear, which `rest` cannot.
    matrix: Option<DMat4>,
}

impl Graph {
    /// Reads the nodes; `scale` brings the file's unit to metres.
    pub(super) fn new(container: &Container, scale: f64) -> Result<Self> {
        let document = &container.document;
        let mut parents = vec![None; document.nodes.len()];
        for (index, node) in document.nodes.iter().enumerate() {
            for &child in &node.children {
                container.item(&document.nodes, child, "nodes")?;
                if let Some(first) = parents[child].replace(index) {
                    let problem =
                        format!("it is a child of nodes {first} and {index}; a node has one parent");
                    return Err(container.malformed(format!("nodes[{child}]"), problem));
                }
            }
        }
        let mut order = Vec::with_capacity(parents.len());
        let mut waiting: Vec<usize> =
            (0..parents.len()).rev().filter(|&node| parents[node].is_none()).collect();
        while let Some(node) = waiting.pop() {
            order.push(node);
            waiting.extend(document.nodes[node].children.iter().rev());
        }
        if order.len() < parents.len() {
            return Err(container.malformed("nodes", "some are their own ancestors: the file is damaged"));
        }
        let mut nodes = Vec::with_capacity(parents.len());
        for (index, (node, &parent)) in document.nodes.iter().zip(&parents).enumerate() {
            let bad = |what: &str| {
                container.malformed(format!("nodes[{index}]"), format!("its {what} is not finite"))
            };
            let root_scale = if parent.is_none() { scale } else { 1.0 };
            let matrix = node
                .matrix
                .map(|m| DMat4::from_scale(DVec3::splat(root_scale)) * Mat4::from_cols_array(&m).as_dmat4());
            let rest = match matrix {
                Some(matrix) => decompose(matrix),
                None => at_root(from_trs(node), root_scale),
            };
            let finite = rest.translation.is_finite() && rest.rotation.is_finite() && rest.scale.is_finite();
            if !finite || matrix.is_some_and(|m| !m.is_finite()) {
                return Err(bad("transform"));
            }
            nodes.push(Node { parent, rest, matrix });
        }
        let in_scene = scene_nodes(container, &order)?;
        Ok(Self { nodes, order, in_scene })
    }

    pub(super) fn parent(&self, node: usize) -> Option<usize> {
        self.nodes[node].parent
    }

    pub(super) fn rest(&self, node: usize) -> Transform {
        self.nodes[node].rest
    }

    /// `world_from_node` of every node, with the transforms that `pose` gives instead of the rest.
    pub(super) fn worlds(&self, pose: &Pose) -> Vec<DMat4> {
        let mut worlds = vec![DMat4::IDENTITY; self.nodes.len()];
        for &index in &self.order {
            let node = &self.nodes[index];
            let parent_from_node = match (node.matrix, pose.moved[index]) {
                (Some(matrix), false) => matrix,
                _ => matrix_of(&pose.locals[index]),
            };
            worlds[index] = match node.parent {
                Some(parent) => worlds[parent] * parent_from_node,
                None => parent_from_node,
            };
        }
        worlds
    }

    /// Where every node is at a time.
    pub(super) fn pose(&self, motion: &Motion, time: f64, tolerance: f64, scale: f64) -> Pose {
        let mut pose = self.rest_pose();
        let mut values = Vec::new();
        for channel in &motion.channels {
            let root_scale = if self.nodes[channel.node].parent.is_none() { scale as f32 } else { 1.0 };
            let local = &mut pose.locals[channel.node];
            match channel.property {
                Property::Rotation => local.rotation = channel.track.rotation(time, tolerance, &mut values),
                Property::Translation => {
                    channel.track.sample(time, tolerance, &mut values);
                    local.translation = root_scale * Vec3::from_slice(&values);
                }
                Property::Scale => {
                    channel.track.sample(time, tolerance, &mut values);
                    local.scale = root_scale * Vec3::from_slice(&values);
                }
                Property::Weights => continue,
            }
            pose.moved[channel.node] = true;
        }
        pose
    }

    /// A pose with some nodes elsewhere.
    pub(super) fn moved(&self, mut pose: Pose, nodes: &[usize], locals: &[Transform]) -> Pose {
        for (&node, &local) in nodes.iter().zip(locals) {
            if pose.locals[node] != local {
                pose.locals[node] = local;
                pose.moved[node] = true;
            }
        }
        pose
    }

    /// The pose that the file rests in.
    pub(super) fn rest_pose(&self) -> Pose {
        Pose {
            locals: self.nodes.iter().map(|node| node.rest).collect(),
            moved: vec![false; self.nodes.len()],
        }
    }
}

/// `parent_from_node` of every node at one time.
pub(super) struct Pose {
    pub(super) locals: Vec<Transform>,
    moved: Vec<bool>,
}

/// The tracks of one animation.
#[derive(Default)]
pub(super) struct Motion {
    pub(super) channels: Vec<Channel>,
}

/// What moves one property of one node.
pub(super) struct Channel {
    pub(super) node: usize,
    pub(super) property: Property,
    pub(super) track: Track,
}

impl Motion {
    /// Reads the tracks of the animation at `index`.
    pub(super) fn new(container: &Container, index: usize) -> Result<Self> {
        let animation = container.item(&container.document.animations, index, "animations")?;
        let mut channels: Vec<Channel> = Vec::new();
        for (number, channel) in animation.channels.iter().enumerate() {
            let property = match channel.target.path.as_str() {
                "translation" => Property::Translation,
                "rotation" => Property::Rotation,
                "scale" => Property::Scale,
                "weights" => Property::Weights,
                // lights, cameras and materials move by extensions that we leave alone
                _ => continue,
            };
            let Some(node) = channel.target.node else { continue };
            container.item(&container.document.nodes, node, "nodes")?;
            let place = format!("animations[{index}].channels[{number}]");
            let sampler = container.item(&animation.samplers, channel.sampler, "samplers")?;
            let track = Track::new(container, sampler, property, &place)?;
            channels.push(Channel { node, property, track });
        }
        Ok(Self { channels })
    }

    pub(super) fn weights_of(&self, node: usize) -> Option<&Track> {
        let of_node = |channel: &&Channel| channel.node == node && channel.property == Property::Weights;
        self.channels.iter().find(of_node).map(|channel| &channel.track)
    }

    /// When the last key is.
    pub(super) fn end(&self) -> f64 {
        self.channels
            .iter()
            .filter_map(|channel| channel.track.times().last())
            .fold(0.0, |end, &time| end.max(time))
    }
}

/// Which animation to read: the one of that name, or the first; `None` when there is none.
pub(super) fn choose_animation(
    path: &Path,
    document: &document::Document,
    name: Option<&str>,
) -> Result<Option<usize>> {
    let names: Vec<String> =
        (0..document.animations.len()).map(|index| animation_name(document, index)).collect();
    let Some(wanted) = name else { return Ok((!names.is_empty()).then_some(0)) };
    match names.iter().position(|name| name == wanted) {
        Some(index) => Ok(Some(index)),
        None => Err(Error::no_such_name("animation", wanted, path.display().to_string(), names)),
    }
}

pub(super) fn animation_name(document: &document::Document, index: usize) -> String {
    document.animations[index].name.clone().unwrap_or_else(|| format!("animation {index}"))
}

/// The animations of a file, to choose from.
pub(super) fn list_animations(container: &Container) -> Result<Vec<Animation>> {
    let describe = |index: usize| {
        let motion = Motion::new(container, index)?;
        let name = animation_name(&container.document, index);
        Ok(Animation { name, seconds: motion.end(), channels: motion.channels.len() })
    };
    (0..container.document.animations.len()).map(describe).collect()
}

/// Marks the nodes of the scene that is shown; all of them in a file without scenes.
fn scene_nodes(container: &Container, order: &[usize]) -> Result<Vec<bool>> {
    let document = &container.document;
    if document.scenes.is_empty() {
        return Ok(vec![true; document.nodes.len()]);
    }
    let scene = container.item(&document.scenes, document.scene.unwrap_or(0), "scenes")?;
    let mut marked = vec![false; document.nodes.len()];
    for &node in &scene.nodes {
        container.item(&document.nodes, node, "nodes")?;
        marked[node] = true;
    }
    for &node in order {
        if marked[node] {
            document.nodes[node].children.iter().for_each(|&child| marked[child] = true);
        }
    }
    Ok(marked)
}

fn from_trs(node: &document::Node) -> Transform {
    Transform {
        translation: node.translation.map_or(Vec3::ZERO, Vec3::from),
        rotation: node.rotation.map_or(Quat::IDENTITY, |q| unit(Quat::from_array(q))),
        scale: node.scale.map_or(Vec3::ONE, Vec3::from),
    }
}

fn at_root(transform: Transform, scale: f64) -> Transform {
    let scale = scale as f32;
    Transform { translation: scale * transform.translation, scale: scale * transform.scale, ..transform }
}

/// The nearest transform without shear.
fn decompose(matrix: DMat4) -> Transform {
    if matrix.determinant() == 0.0 || !matrix.is_finite() {
        return Transform {
            translation: matrix.w_axis.truncate().as_vec3(),
            scale: Vec3::ZERO,
            rotation: Quat::IDENTITY,
        };
    }
    let (scale, rotation, translation) = matrix.to_scale_rotation_translation();
    Transform {
        translation: translation.as_vec3(),
        rotation: unit(rotation.as_quat()),
        scale: scale.as_vec3(),
    }
}

fn matrix_of(transform: &Transform) -> DMat4 {
    let q = transform.rotation;
    // normalised again in double precision: a float quaternion is off by 1e-7, which long chains of joints multiply
    let rotation =
        DQuat::from_xyzw(f64::from(q.x), f64::from(q.y), f64::from(q.z), f64::from(q.w)).normalize();
    DMat4::from_scale_rotation_translation(
        transform.scale.as_dvec3(),
        rotation,
        transform.translation.as_dvec3(),
    )
}
