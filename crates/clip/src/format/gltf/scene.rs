//! From a document to a clip: which meshes are shown, which nodes are joints, how many frames there are.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use glam::{DMat3, DMat4, Mat4};

use super::accessor::Accessor;
use super::container::Container;
use super::document::Document;
use super::frames::{GltfFrames, Instance, Piece, SkinBinds};
use super::graph::{Graph, Motion, animation_name, choose_animation};
use super::look::{Pictures, read_materials};
use super::shape::Shape;
use super::track::Property;
use crate::format::moments::transform_points;
use crate::format::{DEFAULT_FRAME_RATE_HZ, ReadOptions, UniqueNames, name_of};
use crate::{Clip, Joint, Mesh, MorphTarget, Result, Skeleton, Skin};

/// The key in a node's `extras` by which we know that its children are one mesh, split over time.
pub(super) const SEGMENTS: &str = "followthrough_segments";

/// The key in a mesh's `extras` by which we know that its morph targets, from this number on, are frames.
pub(super) const FRAMES_FROM: &str = "followthrough_frames_from";

/// Frame rates that animations are usually made at.
const USUAL_RATES: [f64; 10] = [24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 90.0, 100.0, 120.0, 240.0];

/// More frames than anyone means: eleven hours at 24 per second.
const MOST_FRAMES: f64 = 1e6;

/// A document as a clip, and what plays it.
pub(super) struct Opened {
    pub(super) clip: Clip,
    pub(super) frames: Arc<GltfFrames>,
    /// Which of the document's animations it is.
    pub(super) animation: Option<usize>,
}

/// Makes a clip of a document.
pub(super) fn open(container: &Container, options: &ReadOptions) -> Result<Opened> {
    let document = &container.document;
    let scale = options.unit_in_metres.unwrap_or(1.0);
    let graph = Graph::new(container, scale)?;
    let animation = choose_animation(&container.path, document, options.clip.as_deref())?;
    let motion = animation.map_or(Ok(Motion::default()), |index| Motion::new(container, index))?;
    let skins = read_skins(container)?;
    let instances = read_instances(container, &graph, &skins)?;
    let timing = Timing::new(container, animation, &motion, options)?;

    let joint_nodes = joint_nodes(&graph, &motion, &skins, &instances);
    let skeleton = skeleton(container, &graph, &joint_nodes);
    let worlds = graph.worlds(&graph.rest_pose());
    let mut meshes: Vec<Mesh> = instances
        .iter()
        .map(|instance| rest_mesh(instance, &skins, &worlds, &joint_nodes, &skeleton, &graph))
        .collect();
    for (mesh, instance) in meshes.iter_mut().zip(&instances) {
        mesh.morph_targets = morph_targets(container, instance, &skins, &worlds, &joint_nodes)?;
    }

    let name = animation.map_or_else(|| name_of(&container.path), |index| animation_name(document, index));
    let skeleton = (!skeleton.joints.is_empty()).then_some(skeleton);
    let pictures = Pictures::read(container)?;
    let materials = read_materials(container, &pictures)?;
    let frames = Arc::new(GltfFrames {
        graph,
        motion,
        skins,
        instances,
        joint_nodes,
        count: timing.count,
        frame_rate_hz: timing.frame_rate_hz,
        first_frame: timing.first_frame,
        scale,
    });
    let mut clip = Clip::new(name, timing.frame_rate_hz, meshes, skeleton, frames.clone());
    clip.materials = materials;
    clip.images = pictures.images;
    clip.warnings = pictures.warnings;
    Ok(Opened { clip, frames, animation })
}

/// When the frames are.
struct Timing {
    frame_rate_hz: f64,
    first_frame: f64,
    count: usize,
}

impl Timing {
    /// What a file of ours says.
    fn noted(container: &Container, animation: usize) -> Option<Self> {
        let extras = container.document.animations[animation].extras.as_ref()?;
        let note = |name: &str| extras.get(name)?.as_f64().filter(|value| value.is_finite() && *value >= 0.0);
        let [frame_rate_hz, first, count] =
            [note("frame_rate_hz")?, note("first_frame")?, note("frame_count")?];
        let sound = frame_rate_hz > 0.0 && (1.0..=MOST_FRAMES).contains(&count);
        sound.then_some(Self { frame_rate_hz, first_frame: first.floor(), count: count as usize })
    }

    /// From what is asked for, then from what a file of ours says, then from the keys.
    fn new(
        container: &Container,
        animation: Option<usize>,
        motion: &Motion,
        options: &ReadOptions,
    ) -> Result<Self> {
        let Some(index) = animation else {
            let frame_rate_hz = options.frame_rate_hz.unwrap_or(DEFAULT_FRAME_RATE_HZ);
            return Ok(Self { frame_rate_hz, first_frame: 0.0, count: 1 });
        };
        if let Some(noted) = Self::noted(container, index)
            && options.frame_rate_hz.is_none_or(|asked| asked == noted.frame_rate_hz)
        {
            return Ok(noted);
        }
        let frame_rate_hz = options.frame_rate_hz.unwrap_or_else(|| rate_of_keys(motion));
        let last = (motion.end() * frame_rate_hz + 1e-3).floor();
        if last >= MOST_FRAMES {
            let problem = format!("{last} frames; ask for a lower frame rate");
            return Err(container.malformed(format!("animations[{index}]"), problem));
        }
        Ok(Self { frame_rate_hz, first_frame: 0.0, count: last as usize + 1 })
    }
}

/// The slowest usual rate that meets all keys.
fn rate_of_keys(motion: &Motion) -> f64 {
    let meets = |rate: &&f64| {
        let mut times = motion.channels.iter().flat_map(|channel| channel.track.times());
        // keys are floats of seconds, often rounded to a few decimals
        times.all(|time| (time * **rate - (time * **rate).round()).abs() < 0.01)
    };
    USUAL_RATES.iter().find(meets).copied().unwrap_or(DEFAULT_FRAME_RATE_HZ)
}

fn read_skins(container: &Container) -> Result<Vec<SkinBinds>> {
    let read = |(index, skin): (usize, &super::document::Skin)| {
        for &joint in &skin.joints {
            container.item(&container.document.nodes, joint, "nodes")?;
        }
        let matrices = match skin.inverse_bind_matrices {
            Some(accessor) => Accessor::<16>::read(container, accessor)?,
            None => vec![Mat4::IDENTITY.to_cols_array(); skin.joints.len()],
        };
        if matrices.len() < skin.joints.len() {
            let problem = format!("{} joints, but {} bind matrices", skin.joints.len(), matrices.len());
            return Err(container.malformed(format!("skins[{index}]"), problem));
        }
        if !matrices.iter().flatten().all(|value| value.is_finite()) {
            return Err(container.malformed(format!("skins[{index}]"), "a bind matrix is not finite"));
        }
        let joint_from_bind =
            matrices.iter().map(|m| Mat4::from_cols_array(m).as_dmat4()).take(skin.joints.len()).collect();
        Ok(SkinBinds { joints: skin.joints.clone(), joint_from_bind })
    };
    container.document.skins.iter().enumerate().map(read).collect()
}

/// The meshes that the scene shows.
fn read_instances(container: &Container, graph: &Graph, skins: &[SkinBinds]) -> Result<Vec<Instance>> {
    let document = &container.document;
    let is_split = |node: usize| {
        let marked =
            document.nodes[node].extras.as_ref().is_some_and(|extras| extras.get(SEGMENTS).is_some());
        marked && segments_agree(container, &document.nodes[node].children)
    };
    let mut shapes: BTreeMap<(Vec<usize>, usize), Option<Arc<Shape>>> = BTreeMap::new();
    let mut instances: Vec<Instance> = Vec::new();
    let mut names = UniqueNames::default();
    for &node in &graph.order {
        if !graph.in_scene[node] || graph.parent(node).is_some_and(is_split) {
            continue;
        }
        let pieces = if is_split(node) { document.nodes[node].children.clone() } else { vec![node] };
        let meshes: Vec<usize> = pieces.iter().filter_map(|&piece| document.nodes[piece].mesh).collect();
        if meshes.len() != pieces.len() {
            continue;
        }
        let skin = document.nodes[pieces[0]].skin;
        let joint_count = match skin {
            Some(skin) => container.item(skins, skin, "skins")?.joints.len(),
            None => 0,
        };
        let key = (meshes, joint_count);
        if !shapes.contains_key(&key) {
            let shape = Shape::read(container, &key.0, joint_count)?.map(Arc::new);
            shapes.insert(key.clone(), shape);
        }
        let Some(Some(shape)) = shapes.get(&key) else { continue };
        // a mesh that names a skin but hangs on no joint stands on its node
        let skin = skin.filter(|_| !shape.influences.is_empty());
        let mesh_name = document.meshes[key.0[0]].name.clone();
        let name = document.nodes[node]
            .name
            .clone()
            .or(mesh_name)
            .unwrap_or_else(|| format!("mesh {}", instances.len()));
        let weights = |(&piece, &mesh): (&usize, &usize)| {
            let mesh = &document.meshes[mesh];
            let count = mesh.primitives.first().map_or(0, |primitive| primitive.targets.len());
            let mut weights = document.nodes[piece].weights.clone().unwrap_or_else(|| mesh.weights.clone());
            weights.resize(count, 0.0);
            Piece { node: piece, weights }
        };
        instances.push(Instance {
            name: names.take(&name),
            shape: Arc::clone(shape),
            skin,
            pieces: pieces.iter().zip(&key.0).map(weights).collect(),
            sculpted: sculpted_targets(document, key.0[0]).min(shape.target_count),
        });
    }
    Ok(instances)
}

/// How many morph targets of a mesh a hand made: all, unless we wrote frames behind them.
fn sculpted_targets(document: &Document, mesh: usize) -> usize {
    let extra = |key: &str| document.meshes[mesh].extras.as_ref().and_then(|extras| extras.get(key));
    match extra(FRAMES_FROM).and_then(serde_json::Value::as_u64) {
        Some(from) => from as usize,
        // before there was a mark, a file of ours had nothing but frames
        None if document.asset.generator.starts_with("followthrough") && extra("targetNames").is_none() => 0,
        None => usize::MAX,
    }
}

/// Whether these nodes show the same vertices and faces, so that they can be one mesh again.
fn segments_agree(container: &Container, nodes: &[usize]) -> bool {
    let document = &container.document;
    let primitives = |&node: &usize| {
        let mesh = document.meshes.get(document.nodes[node].mesh?)?;
        document.nodes[node].skin.is_none().then(|| {
            mesh.primitives.iter().map(|p| (&p.attributes, p.indices, p.mode, p.material)).collect::<Vec<_>>()
        })
    };
    let Some(first) = nodes.first().and_then(primitives) else { return false };
    nodes.iter().all(|node| primitives(node).as_ref() == Some(&first))
}

/// The nodes that form the skeleton: joints of skins and nodes that the animation moves, with their ancestors.
fn joint_nodes(graph: &Graph, motion: &Motion, skins: &[SkinBinds], instances: &[Instance]) -> Vec<usize> {
    // the pieces of a split mesh only come and go
    let pieces: HashSet<usize> = instances
        .iter()
        .filter(|i| i.pieces.len() > 1)
        .flat_map(|i| &i.pieces)
        .map(|piece| piece.node)
        .collect();
    let moved = motion
        .channels
        .iter()
        .filter(|channel| channel.property != Property::Weights && !pieces.contains(&channel.node));
    let mut chosen = vec![false; graph.in_scene.len()];
    for start in
        skins.iter().flat_map(|skin| skin.joints.iter().copied()).chain(moved.map(|channel| channel.node))
    {
        let mut node = Some(start);
        while let Some(index) = node.filter(|&index| !chosen[index]) {
            chosen[index] = true;
            node = graph.parent(index);
        }
    }
    graph.order.iter().copied().filter(|&node| chosen[node]).collect()
}

fn skeleton(container: &Container, graph: &Graph, joint_nodes: &[usize]) -> Skeleton {
    let mut names = UniqueNames::default();
    let joint_of: HashMap<usize, usize> =
        joint_nodes.iter().enumerate().map(|(joint, &node)| (node, joint)).collect();
    let joint = |&node: &usize| {
        let name = container.document.nodes[node].name.clone().unwrap_or_else(|| format!("node {node}"));
        Joint {
            name: names.take(&name),
            parent: graph.parent(node).and_then(|parent| joint_of.get(&parent).copied()),
            rest: graph.rest(node),
        }
    };
    Skeleton { joints: joint_nodes.iter().map(joint).collect() }
}

/// A mesh of the clip: rest points in the world, its skin and the groups of its skin.
fn rest_mesh(
    instance: &Instance,
    skins: &[SkinBinds],
    worlds: &[DMat4],
    joint_nodes: &[usize],
    skeleton: &Skeleton,
    graph: &Graph,
) -> Mesh {
    let mut mesh = instance.shape.mesh.clone();
    mesh.name = instance.name.clone();
    let world_from_rest = world_from_rest(instance, skins, worlds, joint_nodes);
    transform_points(&mut mesh.rest_points, &world_from_rest);
    let Some(skin) = instance.skin.map(|skin| &skins[skin]) else {
        let above = std::iter::successors(instance.pieces.first().map(|piece| piece.node), |&node| {
            graph.parent(node)
        });
        mesh.parent = above.filter_map(|node| joint_nodes.iter().position(|&other| other == node)).next();
        return mesh;
    };
    let depth = |node: usize| joint_nodes.iter().position(|&other| other == node).unwrap_or(usize::MAX);
    let bind_from_world = world_from_rest.inverse();
    let binds = skin.joints.iter().zip(&skin.joint_from_bind);
    let binds: Vec<(usize, Mat4)> = binds
        .map(|(&node, &joint_from_bind)| (depth(node), (joint_from_bind * bind_from_world).as_mat4()))
        .collect();
    let skin = Skin { binds, influences: instance.shape.influences.clone() };
    for group in skin.groups(skeleton) {
        if mesh.group(&group.name).is_none() {
            mesh.groups.push(group);
        }
    }
    mesh.skin = Some(skin);
    mesh
}

/// What brings a mesh at rest from its own space into the world.
fn world_from_rest(
    instance: &Instance,
    skins: &[SkinBinds],
    worlds: &[DMat4],
    joint_nodes: &[usize],
) -> DMat4 {
    let Some(skin) = instance.skin.map(|skin| &skins[skin]) else {
        // of a split mesh, the first piece is the one that rests in full size
        return worlds[instance.pieces[0].node];
    };
    // The bind shape has its own place and unit. What brings it into the world undeformed is what brings the joint
    // nearest to the root there; when the file rests in its bind pose, all joints agree on it.
    let depth = |node: usize| joint_nodes.iter().position(|&other| other == node).unwrap_or(usize::MAX);
    let root = (0..skin.joints.len()).min_by_key(|&joint| depth(skin.joints[joint])).unwrap_or(0);
    let world_from_bind =
        skin.joints.get(root).map_or(DMat4::IDENTITY, |&node| worlds[node] * skin.joint_from_bind[root]);
    let usable = world_from_bind.determinant().abs() > 1e-12 && world_from_bind.is_finite();
    if usable { world_from_bind } else { DMat4::IDENTITY }
}

impl GltfFrames {
    /// What brings a mesh at rest from its own space into the world.
    pub(super) fn world_from_rest(&self, instance: usize) -> DMat4 {
        let worlds = self.graph.worlds(&self.graph.rest_pose());
        world_from_rest(&self.instances[instance], &self.skins, &worlds, &self.joint_nodes)
    }
}

/// The names that exporters write into a mesh's extras; nothing where there are none.
fn target_names<'a>(container: &'a Container, instance: &Instance) -> Option<Vec<Option<&'a str>>> {
    let mesh = container.document.nodes[instance.pieces[0].node].mesh?;
    let extras = container.document.meshes.get(mesh)?.extras.as_ref()?;
    Some(extras.get("targetNames")?.as_array()?.iter().map(|name| name.as_str()).collect())
}

/// The sculpted shapes of a mesh, as offsets between rest points. Normals and targets that move nothing else are no shapes of their own,
/// but keep their places, so that weights fit.
fn morph_targets(
    container: &Container,
    instance: &Instance,
    skins: &[SkinBinds],
    worlds: &[DMat4],
    joint_nodes: &[usize],
) -> Result<Vec<MorphTarget>> {
    let names = target_names(container, instance).unwrap_or_default();
    let weights: Vec<f32> = instance.pieces.iter().flat_map(|piece| piece.weights.iter().copied()).collect();
    let turned = DMat3::from_mat4(world_from_rest(instance, skins, worlds, joint_nodes));
    let mut unique = UniqueNames::default();
    let of = |target: usize| {
        let name = names.get(target).copied().flatten().filter(|name| !name.is_empty());
        let name = unique.take(&name.map_or_else(|| format!("target {target}"), str::to_owned));
        let mut offsets = instance.shape.offsets(target)?;
        for offset in &mut offsets {
            *offset = (turned * glam::Vec3::from(*offset).as_dvec3()).as_vec3().to_array();
        }
        Ok(MorphTarget { name, offsets, weight: weights.get(target).copied().unwrap_or(0.0) })
    };
    (0..instance.sculpted).map(of).collect()
}
