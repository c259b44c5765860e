//! FBX, read by `ufbx`: rigs, skins, blend shapes, takes, axes, units. Behind the cargo feature `fbx`, since it compiles C.
//!
//! ufbx evaluates the scene at a time, deformers included; we take the points in the world. Bones, and what they hang on, form
//! the skeleton. Blend shapes stay named targets, an in-between one of its own. Takes are chosen by name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::{DMat3, DMat4, DVec3, DVec4, Quat};
use ufbx::{EvaluateOpts, LoadOpts, SceneRoot};

use super::corners::split;
use super::moments::transform_points;
use super::{DEFAULT_FRAME_RATE_HZ, ReadOptions, UniqueNames, malformed, name_of};
use crate::{
    Animation, Clip, Error, Faces, Files, Frame, Frames, Joint, Material, Mesh, MorphTarget, Part, Result,
    Skeleton, Skin, Transform, first_not_finite,
};

/// More frames than anyone means: eleven hours at 24 per second.
const MOST_FRAMES: f64 = 1e6;
/// Memory that a file may ask for: so many times its length, and something for the smallest.
const MEMORY_PER_BYTE: usize = 64;
const LEAST_MEMORY: usize = 64 << 20;
/// Offsets that the targets of a file may have in all: so many times its length, and something for the smallest.
const OFFSETS_PER_BYTE: usize = 8;
const LEAST_OFFSETS: usize = 1 << 20;

/// Reads a clip.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let (scene, length) = open(path, &options.files)?;
    let unit = scene.settings.original_unit_meters;
    let scale = options.unit_in_metres.filter(|_| unit > 0.0).map_or(1.0, |asked| asked / unit);
    let stack = choose_take(path, &scene, options.clip.as_deref())?;
    let joint_nodes = joint_nodes(&scene);
    let skeleton = skeleton(&scene, &joint_nodes, scale);
    let (materials, material_numbers) = read_materials(&scene);
    let (mut meshes, mut bodies, mut taken) = (Vec::new(), Vec::new(), UniqueNames::default());
    // a target has an offset for every point, a file only for those that move
    let mut room = length.saturating_mul(OFFSETS_PER_BYTE).saturating_add(LEAST_OFFSETS);
    for node in &scene.nodes {
        let Some(shape) = &node.mesh else { continue };
        if shape.num_vertices == 0 || shape.num_faces == 0 || !node.visible {
            continue;
        }
        let mut mesh = read_mesh(path, node, shape, &material_numbers)?;
        let named =
            [&*node.element.name, &*shape.element.name, "mesh"].into_iter().find(|name| !name.is_empty());
        mesh.name = taken.take(named.unwrap_or("mesh"));
        let world_from_mesh = DMat4::from_scale(DVec3::splat(scale)) * matrix(&node.geometry_to_world);
        transform_points(&mut mesh.rest_points, &world_from_mesh);
        mesh.skin = read_skin(shape, &joint_nodes, &world_from_mesh, scale);
        room = room.checked_sub(keyframes(shape).count().saturating_mul(mesh.point_count())).ok_or_else(|| {
            let problem = "its blend shapes move so few of its points that they would take far more memory than the file; leave out those that nobody needs";
            malformed(path, format!("mesh `{}`", mesh.name), problem)
        })?;
        mesh.morph_targets = read_targets(shape, &DMat3::from_mat4(world_from_mesh));
        if let Some(skin) = &mesh.skin {
            mesh.groups = skin.groups(&skeleton);
        }
        bodies.push(Body {
            node: node.element.typed_id as usize,
            name: mesh.name.clone(),
            point_count: mesh.point_count(),
        });
        meshes.push(mesh);
    }
    let timing = Timing::new(path, &scene, stack, options)?;
    let name = stack.map_or_else(|| name_of(path), |stack| take_name(&scene, stack));
    let skeleton = (!skeleton.joints.is_empty()).then_some(skeleton);
    let rate = timing.frame_rate_hz;
    let frames = FbxFrames { path: path.into(), scene, stack, bodies, joint_nodes, timing, scale };
    let mut clip = Clip::new(name, rate, meshes, skeleton, Arc::new(frames));
    clip.materials = materials;
    Ok(clip)
}

/// The takes of a file, to choose from.
pub(super) fn animations(path: &Path, files: &Files) -> Result<Vec<Animation>> {
    let (scene, _) = open(path, files)?;
    let take = |index: usize| Animation {
        name: take_name(&scene, index),
        seconds: scene.anim_stacks[index].time_end - scene.anim_stacks[index].time_begin,
        channels: scene.anim_stacks[index].layers.iter().map(|layer| layer.anim_props.count).sum(),
    };
    Ok((0..scene.anim_stacks.count).map(take).collect())
}

/// The scene, and how many bytes the file has.
fn open(path: &Path, files: &Files) -> Result<(SceneRoot, usize)> {
    let bytes = files.read(path)?;
    let limit = bytes.len().saturating_mul(MEMORY_PER_BYTE).saturating_add(LEAST_MEMORY);
    let mut options = LoadOpts {
        target_axes: ufbx::CoordinateAxes::right_handed_y_up(),
        target_unit_meters: 1.0,
        space_conversion: ufbx::SpaceConversion::ModifyGeometry,
        load_external_files: false,
        ..LoadOpts::default()
    };
    options.temp_allocator.memory_limit = limit;
    options.result_allocator.memory_limit = limit;
    let scene = ufbx::load_memory(&bytes, options).map_err(|error| refused(path, "file", &error))?;
    Ok((scene, bytes.len()))
}

fn refused(path: &Path, place: &str, error: &ufbx::Error) -> Error {
    let words: &str = &error.description;
    malformed(path, place, format!("ufbx says: {words}"))
}

fn take_name(scene: &ufbx::Scene, index: usize) -> String {
    let name: &str = &scene.anim_stacks[index].element.name;
    if name.is_empty() { format!("animation {index}") } else { name.into() }
}

fn choose_take(path: &Path, scene: &ufbx::Scene, wanted: Option<&str>) -> Result<Option<usize>> {
    let count = scene.anim_stacks.count;
    let Some(wanted) = wanted else { return Ok((count > 0).then_some(0)) };
    let found = (0..count).find(|&index| take_name(scene, index) == wanted);
    found.map(Some).ok_or_else(|| {
        let known = (0..count).map(|index| take_name(scene, index));
        Error::no_such_name("animation", wanted, path.display().to_string(), known)
    })
}

/// Bones and what skins hang on, with their ancestors, parents first; the root is the world.
fn joint_nodes(scene: &ufbx::Scene) -> Vec<usize> {
    let clusters = scene.skin_clusters.iter().filter_map(|cluster| cluster.bone_node.as_ref());
    let bones = scene.nodes.iter().filter(|node| node.bone.is_some());
    let mut chosen = BTreeSet::new();
    for start in clusters.chain(bones) {
        let mut node: &ufbx::Node = start;
        while !node.is_root && chosen.insert((node.node_depth, node.element.typed_id as usize)) {
            let Some(parent) = &node.parent else { break };
            node = parent;
        }
    }
    chosen.into_iter().map(|(_, node)| node).collect()
}

fn skeleton(scene: &ufbx::Scene, joint_nodes: &[usize], scale: f64) -> Skeleton {
    let mut taken = UniqueNames::default();
    let pose = pose(scene, joint_nodes, scale);
    let joint = |(&node, rest): (&usize, Transform)| {
        let node = &scene.nodes[node];
        let parent = node.parent.as_ref().map(|parent| parent.element.typed_id as usize);
        let name = if node.element.name.is_empty() { "joint" } else { &node.element.name };
        Joint {
            name: taken.take(name),
            parent: parent.and_then(|parent| joint_nodes.iter().position(|&other| other == parent)),
            rest,
        }
    };
    Skeleton { joints: joint_nodes.iter().zip(pose).map(joint).collect() }
}

/// `parent_from_joint` of every joint as the scene stands.
fn pose(scene: &ufbx::Scene, joint_nodes: &[usize], scale: f64) -> Vec<Transform> {
    let world = matrix(&scene.root_node.node_to_world);
    let local = |&node: &usize| {
        let node = &scene.nodes[node];
        let ufbx::Transform { translation: t, rotation: r, scale: s } = node.local_transform;
        let mut transform = Transform {
            translation: vector(t).as_vec3(),
            rotation: Quat::from_xyzw(r.x as f32, r.y as f32, r.z as f32, r.w as f32),
            scale: vector(s).as_vec3(),
        };
        if node.parent.as_ref().is_some_and(|parent| parent.is_root) && world != DMat4::IDENTITY {
            let (s, r, t) = (world * matrix(&node.node_to_parent)).to_scale_rotation_translation();
            transform = Transform { translation: t.as_vec3(), rotation: r.as_quat(), scale: s.as_vec3() };
        }
        transform.translation *= scale as f32;
        transform
    };
    joint_nodes.iter().map(local).collect()
}

/// Topology, texture coordinates and parts; rest points in the mesh's own space.
fn read_mesh(
    path: &Path,
    node: &ufbx::Node,
    shape: &ufbx::Mesh,
    materials: &BTreeMap<u32, usize>,
) -> Result<Mesh> {
    let place = || format!("mesh `{}`", &*node.element.name);
    let points: Vec<[f32; 3]> = shape.vertices.iter().map(|&v| vector(v).as_vec3().to_array()).collect();
    if let Some(point) = first_not_finite(&points) {
        return Err(malformed(path, place(), format!("point {point} is not finite")));
    }
    let mut faces = Faces::default();
    let mut corner_uvs = Vec::new();
    let mut parts: Vec<Part> = Vec::new();
    for (index, face) in shape.faces.iter().enumerate() {
        let range = face.index_begin as usize..(face.index_begin + face.num_indices) as usize;
        let Some(corners) = shape.vertex_indices.get(range.clone()) else { continue };
        if corners.iter().any(|&point| point as usize >= points.len()) {
            return Err(malformed(
                path,
                place(),
                format!("face {index} refers to a point that is not there"),
            ));
        }
        faces.push(corners);
        if shape.vertex_uv.exists {
            corner_uvs.extend_from_slice(shape.vertex_uv.indices.get(range).unwrap_or_default());
        }
        let slot = shape.face_material.get(index).copied().unwrap_or(0) as usize;
        let bound = node.materials.get(slot).or(shape.materials.get(slot));
        let material = bound.and_then(|material| materials.get(&material.element.typed_id).copied());
        match parts.last_mut().filter(|part| part.material == material) {
            Some(part) => part.faces.end += 1,
            None => parts.push(Part { faces: faces.len() - 1..faces.len(), vertices: 0..0, material }),
        }
    }
    let mut mesh = Mesh::from_faces("", points, faces);
    let values = &shape.vertex_uv.values;
    let fits = corner_uvs.len() == mesh.faces.corners().len()
        && corner_uvs.iter().all(|&uv| (uv as usize) < values.len());
    if fits && !corner_uvs.is_empty() {
        let keys: Vec<(u32, u32)> =
            corner_uvs.iter().copied().zip(mesh.faces.corners().iter().copied()).collect();
        let (vertex_points, corners) = split(&keys, mesh.point_count());
        mesh.uvs = vec![[0.0; 2]; vertex_points.len()];
        for (&vertex, &uv) in corners.iter().zip(&corner_uvs) {
            let uv = values[uv as usize];
            mesh.uvs[vertex as usize] = [uv.x as f32, 1.0 - uv.y as f32];
        }
        let mut split_faces = Faces::default();
        (0..mesh.faces.len()).for_each(|face| split_faces.push(&corners[mesh.faces.corner_range(face)]));
        (mesh.faces, mesh.vertex_points) = (split_faces, vertex_points);
    }
    parts.iter_mut().for_each(|part| part.vertices = 0..mesh.vertex_count());
    if !parts.is_empty() {
        mesh.parts = parts;
    }
    Ok(mesh)
}

fn read_skin(shape: &ufbx::Mesh, joint_nodes: &[usize], world_from_mesh: &DMat4, scale: f64) -> Option<Skin> {
    let deformer = shape.skin_deformers.first()?;
    let mesh_from_rest = world_from_mesh.inverse();
    let mut binds = Vec::new();
    for cluster in &deformer.clusters {
        let node = cluster.bone_node.as_ref()?.element.typed_id as usize;
        let joint = joint_nodes.iter().position(|&other| other == node)?;
        let bone_from_rest =
            DMat4::from_scale(DVec3::splat(scale)) * matrix(&cluster.geometry_to_bone) * mesh_from_rest;
        binds.push((joint, bone_from_rest.as_mat4()));
    }
    let influences = deformer.vertices.iter().take(shape.num_vertices).map(|vertex| {
        let range = vertex.weight_begin as usize..(vertex.weight_begin + vertex.num_weights) as usize;
        let weights = deformer.weights.get(range).unwrap_or_default();
        let inside = weights.iter().filter(|weight| (weight.cluster_index as usize) < binds.len());
        // ufbx takes weights for shares of a whole, as Blender and Maya do
        let sum: f64 = inside.clone().map(|weight| weight.weight).sum();
        let whole = if sum > 0.0 && sum.is_finite() && (sum - 1.0).abs() > 1e-6 { sum } else { 1.0 };
        inside.map(|weight| (weight.cluster_index, (weight.weight / whole) as f32)).collect()
    });
    let mut influences: Vec<Vec<(u32, f32)>> = influences.collect();
    influences.resize(shape.num_vertices, Vec::new());
    Some(Skin { binds, influences })
}

/// The shapes of a mesh, with the channel that each belongs to: a channel has several when there are shapes on the way to its last.
fn keyframes(shape: &ufbx::Mesh) -> impl Iterator<Item = (&ufbx::BlendChannel, &ufbx::BlendKeyframe)> {
    let channels = shape.blend_deformers.iter().flat_map(|deformer| deformer.channels.iter());
    channels.flat_map(|channel| {
        let channel: &ufbx::BlendChannel = channel;
        channel.keyframes.iter().map(move |keyframe| (channel, keyframe))
    })
}

/// A target for every shape. ufbx blends shapes linearly by their effective weights, so an in-between is a target like the others.
fn read_targets(shape: &ufbx::Mesh, rest_from_mesh: &DMat3) -> Vec<MorphTarget> {
    let mut taken = UniqueNames::default();
    let target = |(channel, keyframe): (&ufbx::BlendChannel, &ufbx::BlendKeyframe)| {
        let sculpt = &keyframe.shape;
        let mut offsets = vec![[0.0; 3]; shape.num_vertices];
        for (&point, &offset) in sculpt.offset_vertices.iter().zip(sculpt.position_offsets.iter()) {
            let offset = (*rest_from_mesh * vector(offset)).as_vec3().to_array();
            if let Some(place) =
                offsets.get_mut(point as usize).filter(|_| offset.iter().all(|c| c.is_finite()))
            {
                *place = offset;
            }
        }
        let is_last = channel.keyframes.last().is_some_and(|last| std::ptr::eq(last, keyframe));
        let (of_channel, of_shape): (&str, &str) = (&channel.element.name, &sculpt.element.name);
        let name = match (of_channel, of_shape) {
            ("", "") => String::from("target"),
            ("", name) => name.to_owned(),
            (name, _) if is_last => name.to_owned(),
            (name, between) => format!("{name}:{between}"),
        };
        MorphTarget { name: taken.take(&name), offsets, weight: keyframe.effective_weight as f32 }
    };
    keyframes(shape).map(target).collect()
}

fn read_materials(scene: &ufbx::Scene) -> (Vec<Material>, BTreeMap<u32, usize>) {
    let mut numbers = BTreeMap::new();
    let mut materials = Vec::new();
    for material in &scene.materials {
        let color = material.pbr.base_color.value_vec4;
        let channel = |value: f64| if value.is_finite() { value as f32 } else { 1.0 };
        numbers.insert(material.element.typed_id, materials.len());
        let base_color = [channel(color.x), channel(color.y), channel(color.z), 1.0];
        materials.push(Material::plain(&*material.element.name, base_color));
    }
    (materials, numbers)
}

/// A mesh of the scene.
struct Body {
    node: usize,
    name: String,
    point_count: usize,
}

/// The scene, evaluated when a frame is asked for.
struct FbxFrames {
    path: PathBuf,
    scene: SceneRoot,
    stack: Option<usize>,
    bodies: Vec<Body>,
    joint_nodes: Vec<usize>,
    timing: Timing,
    scale: f64,
}

impl Frames for FbxFrames {
    fn count(&self) -> usize {
        self.timing.count
    }

    fn read(&self, index: usize) -> Result<Frame> {
        let scene = self.evaluated(index, true)?;
        let mut points = Vec::with_capacity(self.bodies.len());
        for body in &self.bodies {
            let node = &scene.nodes[body.node];
            let positions =
                node.mesh.as_ref().map(|mesh| (mesh.skinned_is_local, &*mesh.skinned_position.values));
            let (local, positions) = positions.unwrap_or((true, &[]));
            if positions.len() < body.point_count {
                let what = format!("mesh `{}`", body.name);
                let (found, expected) = (positions.len(), body.point_count);
                return Err(Error::FrameMismatch { frame: index, what, of: "points", found, expected });
            }
            let world = if local { matrix(&node.geometry_to_world) } else { DMat4::IDENTITY };
            let world = DMat4::from_scale(DVec3::splat(self.scale)) * world;
            let place = |&v: &ufbx::Vec3| world.transform_point3(vector(v)).as_vec3().to_array();
            let of_mesh: Vec<[f32; 3]> = positions[..body.point_count].iter().map(place).collect();
            if let Some(point) = first_not_finite(&of_mesh) {
                return Err(Error::NotFinite { mesh: body.name.clone(), frame: index, point });
            }
            points.push(of_mesh);
        }
        Ok(Frame { points, pose: pose(&scene, &self.joint_nodes, self.scale) })
    }

    fn morph_weights(&self, index: usize) -> Result<Vec<Vec<f32>>> {
        let scene = self.evaluated(index, false)?;
        let weight = |(_, keyframe): (&ufbx::BlendChannel, &ufbx::BlendKeyframe)| {
            Some(keyframe.effective_weight as f32).filter(|weight| weight.is_finite()).unwrap_or(0.0)
        };
        let of_body = |body: &Body| {
            let shape = scene.nodes[body.node].mesh.as_ref();
            shape.map_or_else(Vec::new, |shape| keyframes(shape).map(weight).collect())
        };
        Ok(self.bodies.iter().map(of_body).collect())
    }
}

impl FbxFrames {
    /// The scene as it stands in a frame, points moved by their deformers or not.
    fn evaluated(&self, index: usize, deformed: bool) -> Result<SceneRoot> {
        if index >= self.timing.count {
            return Err(Error::NoSuchFrame { index, count: self.timing.count });
        }
        let time = self.timing.first + index as f64 / self.timing.frame_rate_hz;
        let anim = self.stack.map_or(&self.scene.anim, |stack| &self.scene.anim_stacks[stack].anim);
        let options = EvaluateOpts { evaluate_skinning: deformed, ..EvaluateOpts::default() };
        ufbx::evaluate_scene(&self.scene, anim, time, options)
            .map_err(|error| refused(&self.path, &format!("frame {index}"), &error))
    }
}

/// When the frames are: seconds `first`, `first + 1/rate`, …
struct Timing {
    frame_rate_hz: f64,
    first: f64,
    count: usize,
}

impl Timing {
    fn new(path: &Path, scene: &ufbx::Scene, stack: Option<usize>, options: &ReadOptions) -> Result<Self> {
        let own = Some(scene.settings.frames_per_second).filter(|rate| rate.is_finite() && *rate > 0.0);
        let frame_rate_hz = options.frame_rate_hz.or(own).unwrap_or(DEFAULT_FRAME_RATE_HZ);
        let range =
            stack.map(|stack| (scene.anim_stacks[stack].time_begin, scene.anim_stacks[stack].time_end));
        let (first, last) = range.filter(|(first, last)| first <= last).unwrap_or((0.0, 0.0));
        let count = ((last - first) * frame_rate_hz + 1e-3).floor();
        if count >= MOST_FRAMES || count.is_nan() {
            return Err(malformed(path, "take", format!("{count} frames; ask for a lower frame rate")));
        }
        Ok(Self { frame_rate_hz, first, count: count as usize + 1 })
    }
}

fn vector(v: ufbx::Vec3) -> DVec3 {
    DVec3::new(v.x, v.y, v.z)
}

fn matrix(m: &ufbx::Matrix) -> DMat4 {
    DMat4::from_cols(
        DVec4::new(m.m00, m.m10, m.m20, 0.0),
        DVec4::new(m.m01, m.m11, m.m21, 0.0),
        DVec4::new(m.m02, m.m12, m.m22, 0.0),
        DVec4::new(m.m03, m.m13, m.m23, 1.0),
    )
}
