//! A clip written into the glTF document that it came from: what nobody changed stays as it is.
//!
//! Nodes, skins, joints and their tracks, other animations, materials, pictures, cameras, lights, extras and extensions that we do not know are
//! carried over as they stand in the JSON, and the bytes they use with them. A mesh whose points are where the document itself puts them
//! stays; one that moved is baked into morph targets on the node that showed it, in that node's space, so that the scene graph stays too. Only what is
//! replaced loses its data.

use std::collections::BTreeSet;
use std::path::Path;

use glam::DMat4;
use serde_json::{Map, Value, json};

use super::accessor::Accessor;
use super::bake::MeshBake;
use super::container::Container;
use super::frames::GltfFrames;
use super::look_write::Looks;
use super::patch_carry::{accessors_used, add_primitive, carry, items, number, take_list};
use super::patch_plan::{Fate, Plan, host};
use super::patch_source::GltfSource;
use super::patch_tracks::{drop_channels, keep_used_samplers};
use super::scene::{Opened, SEGMENTS};
use super::sink::Sink;
use super::write::{Document, Hung, Times, Vertices, finite, json_bound, write_new};
use super::write_columns::{group_column, primitives, run_of, vertex_runs};
use super::write_rig::rig_of;
use crate::format::moments::transform_points;
use crate::format::{SkinDelivery, WriteOptions, Written};
use crate::{Clip, Mesh, Result};

/// Writes the clip into its document.
pub(super) fn write(
    path: &Path,
    clip: &Clip,
    options: &WriteOptions,
    source: &GltfSource,
) -> Result<Written> {
    if clip.frame_count() == 0 {
        return write_new(path, clip, options);
    }
    let opened = source.open()?;
    let plan = match Plan::new(clip, &opened, source.first_frame(), options.start_frame, false)? {
        Ok(plan) => plan,
        Err(words) => {
            let mut written = write_new(path, clip, options)?;
            written.warnings.push(words);
            return Ok(written);
        }
    };
    let mut patch = Patch {
        clip,
        options,
        container: source.container(),
        opened: &opened,
        first_frame: source.first_frame(),
        plan: &plan,
        warnings: Vec::new(),
    };
    let bytes = patch.write(path)?;
    let files = vec![path.to_path_buf()];
    Ok(Written { files, frames: clip.frame_count(), bytes, warnings: patch.warnings })
}

/// Writes a clip that came from elsewhere into a document of its own rig.
pub(super) fn write_rigged(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    let rig = if clip.frame_count() == 0 { None } else { rig_of(path, clip, options)? };
    let Some((clip, container, opened)) = rig else { return write_new(path, clip, options) };
    let Ok(plan) = Plan::new(&clip, &opened, 0, options.start_frame, true)? else {
        return write_new(path, &clip, options);
    };
    let mut patch = Patch {
        clip: &clip,
        options,
        container: &container,
        opened: &opened,
        first_frame: 0,
        plan: &plan,
        warnings: Vec::new(),
    };
    let bytes = patch.write(path)?;
    let files = vec![path.to_path_buf()];
    Ok(Written { files, frames: clip.frame_count(), bytes, warnings: patch.warnings })
}

/// A clip on its way into a document.
pub(super) struct Patch<'a> {
    pub(super) clip: &'a Clip,
    pub(super) options: &'a WriteOptions,
    pub(super) container: &'a Container,
    pub(super) opened: &'a Opened,
    /// The frame of the document at which the clip begins.
    pub(super) first_frame: usize,
    pub(super) plan: &'a Plan,
    pub(super) warnings: Vec<String>,
}

/// What is kept of a mesh that is baked: its JSON without primitives, and those without what is written anew.
struct Remains {
    mesh: Value,
    primitives: Vec<Value>,
}

impl Patch<'_> {
    fn write(&mut self, path: &Path) -> Result<u64> {
        let mut raw = self.container.whole_document()?;
        let used_before = accessors_used(&raw);
        let remains = self.strip(&mut raw);
        let mut used = accessors_used(&raw);
        remains
            .iter()
            .flatten()
            .flat_map(|remains| &remains.primitives)
            .for_each(|p| add_primitive(p, &mut used));
        let free: BTreeSet<usize> = used_before.difference(&used).copied().collect();

        let mut sink = Sink::create(path, self.json_bound(&raw))?;
        carry(self.container, &mut raw, &free, &mut sink)?;
        let looks = self.add_looks(&mut raw, &mut sink)?;
        let mut document = self.document(&mut raw);
        let times = self.times();
        self.add_groups(&mut document, &mut sink)?;
        self.add_meshes(&mut document, &remains, &looks, &times, &mut sink)?;
        self.add_corrections(&mut raw, &mut document, &times, &mut sink)?;
        self.add_bones(&raw, &mut document, &times, &mut sink)?;
        self.add_tracks(&mut document, &times, &mut sink)?;
        self.finish(&mut raw, document, &times);
        sink.finish(raw)
    }

    fn frames(&self) -> &GltfFrames {
        &self.opened.frames
    }

    /// Which mesh of the document a mesh of the clip was, where it is written anew.
    fn baked(&self, mesh: usize) -> Option<usize> {
        self.plan.fates[mesh].baked().filter(|_| !self.is_corrected(mesh) && !self.is_jointed(mesh))
    }

    fn times(&self) -> Times {
        let frame_rate_hz = self.clip.frame_rate_hz;
        let of_document = if self.plan.is_retimed { 0 } else { self.frames().first_frame as u32 };
        Times { first: self.options.start_frame.unwrap_or(of_document), frame_rate_hz }
    }

    /// A length that the JSON surely does not exceed.
    fn json_bound(&self, raw: &Value) -> u64 {
        let own = raw.to_string().len() as u64;
        // every view is told another place, and pictures move into views
        let moved = 40 * items(raw, "bufferViews").len() + 200 * items(raw, "images").len();
        let added = if self.plan.is_copy() { 0 } else { json_bound(self.clip) };
        let bones = match self.options.skin {
            SkinDelivery::Joints(bound) => 4000 * bound.at_most as u64 * self.clip.meshes.len() as u64,
            _ => 0,
        };
        own + moved as u64 + added + bones + 1000
    }

    /// Takes out of the document what is written anew; returns what is left of meshes that are baked.
    fn strip(&mut self, raw: &mut Value) -> Vec<Option<Remains>> {
        let shown_before = shown_meshes(raw);
        let mut nodes = BTreeSet::new();
        let mut pieces = BTreeSet::new();
        let mut remains = Vec::with_capacity(self.plan.fates.len());
        let plan = self.plan;
        for mesh in 0..plan.fates.len() {
            remains.push(self.baked(mesh).map(|instance| self.remains(raw, instance, plan.fates[mesh])));
        }
        let baked: Vec<usize> = (0..plan.fates.len()).filter_map(|mesh| self.baked(mesh)).collect();
        for instance in baked.into_iter().chain(plan.removed.iter().copied()) {
            let of = &self.frames().instances[instance].pieces;
            nodes.extend(of.iter().map(|piece| piece.node));
            if of.len() > 1 {
                pieces.extend(of.iter().map(|piece| piece.node));
                let parent = &mut raw["nodes"][host(self.frames(), instance)];
                parent["extras"].as_object_mut().map(|extras| extras.remove(SEGMENTS));
            }
        }
        for &node in &nodes {
            if let Some(node) = raw["nodes"][node].as_object_mut() {
                ["mesh", "skin", "weights"].iter().for_each(|key| drop(node.remove(*key)));
            }
        }
        for &piece in &pieces {
            raw["nodes"][piece].as_object_mut().map(|node| node.remove("scale"));
        }
        self.unhang(raw);
        // what nobody shows any more gives its data back
        let shown = shown_meshes(raw);
        for gone in shown_before.difference(&shown) {
            raw["meshes"][*gone] = Value::Null;
        }
        let chosen = self.opened.animation;
        let mut lost = BTreeSet::new();
        for (number, animation) in raw["animations"].as_array_mut().into_iter().flatten().enumerate() {
            let retimed = plan.is_retimed && Some(number) == chosen;
            let is_lost = |node: usize, path: &str| {
                nodes.contains(&node) && path == "weights" || pieces.contains(&node) && path == "scale"
            };
            if drop_channels(animation, &|node, path| retimed && is_ours(path) || is_lost(node, path)) > 0
                && !retimed
                && Some(number) != chosen
            {
                lost.insert(number);
            }
            keep_used_samplers(animation);
        }
        if plan.is_retimed && chosen.is_some() {
            let words = "its frames are not at the times of the glTF file that it came from, so that its tracks were written anew, frame by \
                         frame; the file's other animations are as they were";
            self.warnings.push(words.into());
        }
        if !lost.is_empty() {
            let words = format!(
                "{} other animations of the file moved shape keys of meshes that are baked now; those tracks are gone",
                lost.len()
            );
            self.warnings.push(words);
        }
        remains
    }

    /// What a mesh keeps when it is baked.
    fn remains(&self, raw: &Value, instance: usize, fate: Fate) -> Remains {
        let node = self.frames().instances[instance].pieces[0].node;
        let index = number(&raw["nodes"][node], "mesh").unwrap_or(usize::MAX);
        let mut mesh = raw["meshes"].get(index).cloned().unwrap_or_else(|| json!({}));
        let mut primitives = take_list(&mut mesh, "primitives");
        if let Some(mesh) = mesh.as_object_mut() {
            ["primitives", "weights"].iter().for_each(|key| drop(mesh.remove(*key)));
            mesh.get_mut("extras").and_then(Value::as_object_mut).map(|extras| extras.remove("targetNames"));
        }
        if matches!(fate, Fate::Remade(_)) {
            primitives.clear();
        }
        for primitive in &mut primitives {
            primitive.as_object_mut().map(|primitive| primitive.remove("targets"));
            if is_surface(primitive)
                && let Some(attributes) = primitive["attributes"].as_object_mut()
            {
                attributes.retain(|name, _| !is_written_anew(name));
            }
        }
        Remains { mesh, primitives }
    }

    /// Materials and pictures that the document does not have.
    fn add_looks(&self, raw: &mut Value, sink: &mut Sink) -> Result<Looks> {
        let source = &self.opened.clip;
        let counts = ["images", "samplers", "textures"].map(|name| items(raw, name).len());
        let looks =
            Looks::write_behind(self.clip, source.materials.len(), source.images.len(), counts, sink)?;
        looks.append_to(raw);
        Ok(looks)
    }

    /// The lists of the document that grow.
    fn document(&self, raw: &mut Value) -> Document {
        let scene = number(raw, "scene").unwrap_or(0);
        let roots = items(&raw["scenes"][scene], "nodes").iter().filter_map(Value::as_u64);
        let mut document =
            Document { roots: roots.map(|node| node as usize).collect(), ..Document::default() };
        document.nodes = take_list(raw, "nodes");
        document.meshes = take_list(raw, "meshes");
        document.skins = take_list(raw, "skins");
        document.free_meshes =
            (0..document.meshes.len()).rev().filter(|&mesh| document.meshes[mesh].is_null()).collect();
        if let Some(animation) = self.opened.animation {
            document.channels = take_list(&mut raw["animations"][animation], "channels");
            document.samplers = take_list(&mut raw["animations"][animation], "samplers");
        }
        document
    }

    /// Groups that the document's own meshes did not have.
    fn add_groups(&self, document: &mut Document, sink: &mut Sink) -> Result<()> {
        for (mesh, fate) in self.clip.meshes.iter().zip(&self.plan.fates) {
            let Fate::Kept(instance) = *fate else { continue };
            let new = new_groups(mesh, &self.opened.clip.meshes[instance]);
            for piece in self.frames().instances[instance].pieces.iter().filter(|_| !new.is_empty()) {
                let Some(number) = number(&document.nodes[piece.node], "mesh") else { continue };
                let surfaces = document.meshes[number]["primitives"].as_array_mut().into_iter().flatten();
                for (primitive, part) in surfaces.filter(|p| is_surface(p)).zip(&mesh.parts) {
                    add_group_columns(mesh, &new, &part.vertices, primitive, sink)?;
                }
            }
        }
        Ok(())
    }

    /// Bakes what moved and what is new.
    fn add_meshes(
        &mut self,
        document: &mut Document,
        remains: &[Option<Remains>],
        looks: &Looks,
        times: &Times,
        sink: &mut Sink,
    ) -> Result<()> {
        let (clip, plan) = (self.clip, self.plan);
        let baked: Vec<usize> = (0..clip.meshes.len())
            .filter(|&mesh| plan.fates[mesh] == Fate::Added || self.baked(mesh).is_some())
            .collect();
        if baked.is_empty() {
            return Ok(());
        }
        let mut bakes = Vec::with_capacity(baked.len());
        let is_still = clip.frame_count() == 1;
        let first = clip.checked_frame(0)?;
        let undo = self.undo(0)?;
        for &mesh in &baked {
            let mut base = match is_still || !finite(&clip.meshes[mesh].rest_points) {
                true => first.points[mesh].clone(),
                false => clip.meshes[mesh].rest_points.clone(),
            };
            let local = if is_still { undo[mesh] } else { self.undo_at_rest(mesh) };
            transform_points(&mut base, &local);
            let tangents = self.tangents(mesh, &local)?;
            let runs = vertex_runs(&clip.meshes[mesh]);
            bakes.push(MeshBake::new(&clip.meshes[mesh], &base, runs, self.options.normals, tangents, sink)?);
        }
        for index in 0..clip.frame_count() {
            let (mut frame, undo) = (clip.checked_frame(index)?, self.undo(index)?);
            for (bake, &mesh) in bakes.iter_mut().zip(&baked) {
                let mut points = std::mem::take(&mut frame.points[mesh]);
                transform_points(&mut points, &undo[mesh]);
                bake.push(points, sink)?;
            }
        }
        for (bake, &number) in bakes.iter().zip(&baked) {
            let mesh = &clip.meshes[number];
            let node = plan.fates[number].baked().filter(|&instance| plan.is_regular[instance]);
            let node = node.map(|instance| host(self.frames(), instance));
            let (json, written) = match &remains[number] {
                Some(remains) if matches!(plan.fates[number], Fate::Moved(_)) => {
                    (remains.mesh.clone(), self.moved_primitives(number, remains, bake, sink)?)
                }
                Some(remains) => (remains.mesh.clone(), primitives(mesh, bake, looks, sink)?),
                None => (json!({ "name": mesh.name }), primitives(mesh, bake, looks, sink)?),
            };
            let hung = Hung { node, mesh: json, primitives: &written };
            document.add_mesh(mesh, &hung, bake, times, false, sink)?;
        }
        Ok(())
    }

    /// The primitives of a mesh that only moved: what they were, on new points.
    fn moved_primitives(
        &self,
        number: usize,
        remains: &Remains,
        bake: &MeshBake,
        sink: &mut Sink,
    ) -> Result<Vec<(Vertices, Value)>> {
        let mesh = &self.clip.meshes[number];
        let instance = self.plan.fates[number].baked().unwrap_or(0);
        let new = new_groups(mesh, &self.opened.clip.meshes[instance]);
        let mut parts = mesh.parts.iter();
        let mut written = Vec::with_capacity(remains.primitives.len());
        for primitive in &remains.primitives {
            let mut primitive = primitive.clone();
            let part = if is_surface(&primitive) { parts.next() } else { None };
            let run = part.and_then(|part| bake.runs.iter().position(|run| *run == run_of(mesh, part)));
            let vertices = match run {
                Some(run) => {
                    for (name, accessor) in bake.base_accessors[run].json().as_object().into_iter().flatten()
                    {
                        primitive["attributes"][name] = accessor.clone();
                    }
                    add_group_columns(mesh, &new, &bake.runs[run], &mut primitive, sink)?;
                    Vertices::Run(run)
                }
                // lines and points are not simulated; they need as many targets as their mesh has
                None => {
                    let position = primitive["attributes"]["POSITION"].as_u64().unwrap_or(0) as usize;
                    let count = self.container.document.accessors.get(position).map_or(1, |a| a.count);
                    Vertices::Still(sink.zeros(count))
                }
            };
            written.push((vertices, primitive));
        }
        Ok(written)
    }

    /// What brings points of each mesh of the clip from the world into the space that it is written in, in a frame.
    fn undo(&self, index: usize) -> Result<Vec<DMat4>> {
        let frames = self.frames();
        let at = index.min(frames.count.saturating_sub(1));
        let pose = frames.graph.moved(frames.pose(at), &frames.joint_nodes, &self.plan.poses[index]);
        let worlds = frames.graph.worlds(&pose);
        Ok(self.plan.fates.iter().map(|fate| self.undo_of(*fate, &worlds)).collect())
    }

    /// The same with all nodes at rest.
    fn undo_at_rest(&self, mesh: usize) -> DMat4 {
        let graph = &self.frames().graph;
        let undo = self.undo_of(self.plan.fates[mesh], &graph.worlds(&graph.rest_pose()));
        if undo.is_finite() { undo } else { DMat4::IDENTITY }
    }

    fn undo_of(&self, fate: Fate, worlds: &[DMat4]) -> DMat4 {
        match fate.baked().filter(|&instance| self.plan.is_regular[instance]) {
            Some(instance) => worlds[host(self.frames(), instance)].inverse(),
            // the document has its own unit
            None => DMat4::from_scale(glam::DVec3::splat(1.0 / self.frames().scale)),
        }
    }

    /// The tangents that the document has for each run of a mesh that only moved, in the space that it is written in.
    fn tangents(&self, number: usize, local: &DMat4) -> Result<Vec<Option<Vec<[f32; 4]>>>> {
        let Fate::Moved(instance) = self.plan.fates[number] else { return Ok(Vec::new()) };
        let mesh = &self.clip.meshes[number];
        let runs = vertex_runs(mesh);
        let mut tangents = vec![None; runs.len()];
        let node = self.frames().instances[instance].pieces[0].node;
        let Some(index) = self.container.document.nodes[node].mesh else { return Ok(tangents) };
        let surfaces = self.container.document.meshes[index].primitives.iter();
        let surfaces = surfaces.filter(|primitive| (4..=6).contains(&primitive.mode.unwrap_or(4)));
        for (primitive, part) in surfaces.zip(&mesh.parts) {
            let run = runs.iter().position(|run| *run == run_of(mesh, part));
            let (Some(run), Some(&accessor)) = (run, primitive.attributes.get("TANGENT")) else { continue };
            let mut values = Accessor::<4>::read(self.container, accessor)?;
            if values.len() != runs[run].len() {
                continue;
            }
            let turned = glam::DMat3::from_mat4(*local * self.frames().world_from_rest(instance));
            for value in &mut values {
                let t = glam::Vec3::new(value[0], value[1], value[2]).as_dvec3();
                let t = (turned * t).normalize_or(glam::DVec3::X).as_vec3();
                *value = [t.x, t.y, t.z, if value[3] < 0.0 { -1.0 } else { 1.0 }];
            }
            tangents[run] = Some(values);
        }
        Ok(tangents)
    }

    /// Puts the lists back.
    fn finish(&self, raw: &mut Value, mut document: Document, times: &Times) {
        let gone: BTreeSet<usize> = document.free_meshes.iter().copied().collect();
        for node in document.nodes.iter_mut().filter(|_| !gone.is_empty()) {
            if let Some(mesh) = number(node, "mesh") {
                node["mesh"] = json!(mesh - gone.range(..mesh).count());
            }
        }
        let mut place = 0..;
        document.meshes.retain(|_| place.next().is_some_and(|place| !gone.contains(&place)));
        let scene = number(raw, "scene").unwrap_or(0);
        if raw["scenes"].get(scene).is_some() && !document.roots.is_empty() {
            raw["scenes"][scene]["nodes"] = json!(document.roots);
        }
        let mut animation = match self.opened.animation {
            Some(animation) => raw["animations"][animation].take(),
            None => json!({ "name": self.clip.name }),
        };
        let is_empty = document.channels.is_empty();
        animation["channels"] = Value::Array(document.channels);
        animation["samplers"] = Value::Array(document.samplers);
        if !self.plan.is_copy() && !is_empty {
            if !animation["extras"].is_object() {
                animation["extras"] = json!({});
            }
            for (key, value) in times.note(self.clip).as_object().into_iter().flatten() {
                animation["extras"][key] = value.clone();
            }
        }
        match self.opened.animation {
            Some(number) => raw["animations"][number] = animation,
            None if is_empty => {}
            None => raw["animations"] = json!([animation]),
        }
        let has_channels = |animation: &Value| !items(animation, "channels").is_empty();
        raw["animations"].as_array_mut().into_iter().for_each(|list| list.retain(has_channels));
        raw["nodes"] = Value::Array(document.nodes);
        raw["meshes"] = Value::Array(document.meshes);
        raw["skins"] = Value::Array(document.skins);
        // a list with nothing in it is not allowed
        let is_nothing = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        raw.as_object_mut().into_iter().for_each(|raw| raw.retain(|_, value| !is_nothing(value)));
    }
}

/// The meshes that nodes show.
fn shown_meshes(raw: &Value) -> BTreeSet<usize> {
    items(raw, "nodes").iter().filter_map(|node| number(node, "mesh")).collect()
}

/// Groups of a mesh that are not what they were.
fn new_groups<'a>(mesh: &'a Mesh, source: &Mesh) -> Vec<&'a crate::Group> {
    mesh.groups.iter().filter(|group| source.group(&group.name) != Some(*group)).collect()
}

/// Adds groups to a primitive, as attributes.
fn add_group_columns(
    mesh: &Mesh,
    groups: &[&crate::Group],
    vertices: &std::ops::Range<usize>,
    primitive: &mut Value,
    sink: &mut Sink,
) -> Result<()> {
    let points = &mesh.vertex_points[vertices.clone()];
    let mut columns = Map::new();
    for group in groups {
        if let Some((name, weights)) = group_column(mesh, group, points) {
            columns.insert(name, json!(sink.sparse_column(&weights, false)?));
        }
    }
    for (name, column) in columns {
        primitive["attributes"][name] = column;
    }
    Ok(())
}

pub(super) fn is_surface(primitive: &Value) -> bool {
    (4..=6).contains(&number(primitive, "mode").unwrap_or(4))
}

/// Attributes that a bake gives anew, or that hang a vertex on a skin.
fn is_written_anew(attribute: &str) -> bool {
    matches!(attribute, "POSITION" | "NORMAL" | "TANGENT")
        || attribute.starts_with("JOINTS_")
        || attribute.starts_with("WEIGHTS_")
}

/// Whether we play what a channel moves.
fn is_ours(path: &str) -> bool {
    matches!(path, "translation" | "rotation" | "scale" | "weights")
}
