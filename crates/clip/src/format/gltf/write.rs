//! A clip as a GLB: baked meshes, skeleton as animated nodes, materials and pictures.
//!
//! Baked meshes need no skin; the skeleton is written as nodes of its own, so that joints and their motion survive. A
//! clip with more than [`MOST_TARGETS`] distinct frames is split over several nodes that share vertices and faces and
//! are shown one after another by scale, glTF's own way to hide: WebGL passes one weight per target in a uniform
//! vector, of which some devices have 256, and the weights of one mesh cost frames². Our reader joins them again.

use std::ops::Range;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::bake::MeshBake;
use super::look_write::Looks;
use super::patch;
use super::scene::{FRAMES_FROM, SEGMENTS};
use super::sink::Sink;
use super::write_columns::{primitives, vertex_runs};
use crate::format::mtl::check_materials;
use crate::format::{SkinDelivery, WriteOptions, Written};
use crate::{Clip, Error, Frame, Mesh, Result};

/// Morph targets of one mesh: what the smallest vertex uniform space of WebGL 2 holds beside the other uniforms.
pub(super) const MOST_TARGETS: usize = 200;

/// Writes the whole clip: into the document that it came from, or into one of its own.
pub(in crate::format) fn write(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    check_materials(path, clip)?;
    match &clip.gltf {
        Some(source) => patch::write(path, clip, options, source),
        None if options.skin != SkinDelivery::Points => patch::write_rigged(path, clip, options),
        None => write_new(path, clip, options),
    }
}

/// Writes a document of its own.
pub(super) fn write_new(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    let unsupported = |problem: String| Error::Unsupported { path: path.to_path_buf(), problem };
    if clip.frame_count() == 0 {
        return Err(unsupported("the clip has no frames".into()));
    }
    if clip.meshes.is_empty() && clip.skeleton.is_none() {
        return Err(unsupported("the clip has neither a mesh nor a skeleton".into()));
    }
    if let Some(mesh) = clip.meshes.iter().find(|mesh| mesh.faces.triangles().next().is_none()) {
        return Err(unsupported(format!("mesh `{}` has no faces, which glTF cannot hold", mesh.name)));
    }
    let mut sink = Sink::create(path, json_bound(clip))?;
    let mut document = Document::default();
    let looks = Looks::write(clip, &mut sink)?;

    // a still keeps its shape as the mesh itself; a motion keeps the rest shape there
    let first = clip.checked_frame(0)?;
    let still = clip.frame_count() == 1;
    let mut bakes = Vec::with_capacity(clip.meshes.len());
    for (mesh, points) in clip.meshes.iter().zip(&first.points) {
        let base = if still || !finite(&mesh.rest_points) { points } else { &mesh.rest_points };
        bakes.push(MeshBake::new(mesh, base, vertex_runs(mesh), options.normals, Vec::new(), &mut sink)?);
    }
    let mut poses = Vec::new();
    let mut take = |frame: Frame, bakes: &mut [MeshBake], sink: &mut Sink| {
        if clip.skeleton.is_some() {
            poses.push(frame.pose);
        }
        bakes.iter_mut().zip(frame.points).try_for_each(|(bake, points)| bake.push(points, sink))
    };
    take(first, &mut bakes, &mut sink)?;
    for index in 1..clip.frame_count() {
        take(clip.checked_frame(index)?, &mut bakes, &mut sink)?;
    }

    let times = Times { first: options.start_frame.unwrap_or(0), frame_rate_hz: clip.frame_rate_hz };
    let nothing_moves = bakes.iter().all(|bake| bake.frames.iter().all(|frame| *frame == bake.frames[0]))
        && poses.windows(2).all(|pair| pair[0] == pair[1]);
    for (number, (mesh, bake)) in clip.meshes.iter().zip(&mut bakes).enumerate() {
        // a motion in which nothing moves still has a length
        let keep_length = !still && nothing_moves && number == 0;
        if keep_length && bake.targets.is_empty() {
            bake.push_still_target(&mut sink);
        }
        let primitives = primitives(mesh, bake, &looks, &mut sink)?;
        let hung = Hung { node: None, mesh: json!({ "name": mesh.name }), primitives: &primitives };
        document.add_mesh(mesh, &hung, bake, &times, keep_length, &mut sink)?;
    }
    let keep_length = !still && nothing_moves && clip.meshes.is_empty();
    document.add_skeleton(clip, &poses, &times, keep_length, &mut sink)?;

    let bytes = sink.finish(document.finish(clip, looks, &times))?;
    Ok(Written { files: vec![path.to_path_buf()], frames: clip.frame_count(), bytes, ..Written::default() })
}

/// When the frames are.
pub(super) struct Times {
    pub(super) first: u32,
    pub(super) frame_rate_hz: f64,
}

/// Where a baked mesh hangs and what its JSON says beside its targets.
pub(super) struct Hung<'a> {
    /// The node that gets it; one of its own among the roots when `None`.
    pub(super) node: Option<usize>,
    /// Its JSON without primitives and weights.
    pub(super) mesh: Value,
    pub(super) primitives: &'a [(Vertices, Value)],
}

/// Which vertices a primitive has.
#[derive(Clone, Copy)]
pub(super) enum Vertices {
    /// A run of the bake.
    Run(usize),
    /// Some that nothing moves; the accessor has as many zeros.
    Still(usize),
}

impl Times {
    /// What an animation's `extras` say, so that our reader finds the same frames again.
    pub(super) fn note(&self, clip: &Clip) -> Value {
        json!({ "frame_rate_hz": clip.frame_rate_hz, "first_frame": self.first, "frame_count": clip.frame_count() })
    }

    pub(super) fn of(&self, frame: usize) -> [f32; 1] {
        [((f64::from(self.first) + frame as f64) / self.frame_rate_hz) as f32]
    }
}

/// The parts of the JSON that grow as the clip is written.
#[derive(Default)]
pub(super) struct Document {
    pub(super) nodes: Vec<Value>,
    pub(super) roots: Vec<usize>,
    pub(super) meshes: Vec<Value>,
    /// Meshes that nobody shows any more: their places are taken first.
    pub(super) free_meshes: Vec<usize>,
    pub(super) skins: Vec<Value>,
    pub(super) channels: Vec<Value>,
    pub(super) samplers: Vec<Value>,
}

impl Document {
    /// Adds a baked mesh: one node, or several that are shown in turn.
    pub(super) fn add_mesh(
        &mut self,
        mesh: &Mesh,
        hung: &Hung<'_>,
        bake: &MeshBake,
        times: &Times,
        keep_length: bool,
        sink: &mut Sink,
    ) -> Result<()> {
        let segments = segments(&bake.frames);
        if segments.len() == 1 {
            let targets = 0..bake.targets.len();
            let number = self.push_mesh(hung, bake, targets.clone(), bake.frames[0]);
            let node = hung.node.unwrap_or_else(|| self.push_root(json!({ "name": mesh.name })));
            self.nodes[node]["mesh"] = json!(number);
            return self.add_weights(node, &bake.frames, 0, targets, times, keep_length, sink);
        }
        let mut children = Vec::new();
        for (number, segment) in segments.iter().enumerate() {
            let frames = &bake.frames[segment.clone()];
            let used = || frames.iter().flatten();
            let targets = used().min().map_or(0..0, |&low| low..used().max().map_or(low, |&high| high + 1));
            let name = format!("{} frames {}-{}", mesh.name, segment.start, segment.end - 1);
            let mut node =
                json!({ "name": name, "mesh": self.push_mesh(hung, bake, targets.clone(), frames[0]) });
            if number > 0 {
                node["scale"] = json!([0.0, 0.0, 0.0]);
            }
            let node = self.push_node(node);
            children.push(node);
            self.add_weights(node, frames, segment.start, targets, times, false, sink)?;
            // the last frame of a segment is the first of the next, which then takes over
            let last = number + 1 == segments.len();
            let end = if last { None } else { Some(segment.end - 1) };
            self.add_visibility(node, segment.start, end, times, sink)?;
        }
        let parent = json!({ "name": mesh.name, "children": children, "extras": { SEGMENTS: true } });
        match hung.node {
            Some(node) => {
                let parent = self.push_node(parent);
                self.add_child(node, parent);
            }
            None => drop(self.push_root(parent)),
        }
        Ok(())
    }

    fn push_mesh(
        &mut self,
        hung: &Hung<'_>,
        bake: &MeshBake,
        targets: Range<usize>,
        shown: Option<usize>,
    ) -> usize {
        let with_targets = |(vertices, primitive): &(Vertices, Value)| {
            let mut primitive = primitive.clone();
            if !targets.is_empty() {
                primitive["targets"] = match *vertices {
                    Vertices::Run(run) => bake.targets_json(run, targets.clone()),
                    Vertices::Still(zeros) => json!(vec![json!({ "POSITION": zeros }); targets.len()]),
                };
            }
            primitive
        };
        let mut value = hung.mesh.clone();
        value["primitives"] = hung.primitives.iter().map(with_targets).collect();
        if !targets.is_empty() {
            let weights: Vec<u8> = targets.map(|target| u8::from(Some(target) == shown)).collect();
            value["weights"] = json!(weights);
            if !value["extras"].is_object() {
                value["extras"] = json!({});
            }
            value["extras"][FRAMES_FROM] = json!(0);
        }
        self.place_mesh(value)
    }

    /// Puts a mesh into the list.
    pub(super) fn place_mesh(&mut self, mesh: Value) -> usize {
        match self.free_meshes.pop() {
            Some(place) => {
                self.meshes[place] = mesh;
                place
            }
            None => {
                self.meshes.push(mesh);
                self.meshes.len() - 1
            }
        }
    }

    /// The weight track: at each key one target is fully there, or none.
    fn add_weights(
        &mut self,
        node: usize,
        frames: &[Option<usize>],
        first: usize,
        targets: Range<usize>,
        times: &Times,
        keep_length: bool,
        sink: &mut Sink,
    ) -> Result<()> {
        let still = frames.iter().all(|frame| *frame == frames[0]);
        if targets.is_empty() || still && !keep_length {
            return Ok(());
        }
        // a key between two equal ones says nothing
        let silent = |i: usize| {
            i > 0 && i + 1 < frames.len() && frames[i - 1] == frames[i] && frames[i] == frames[i + 1]
        };
        let keys: Vec<usize> = (0..frames.len()).filter(|&i| !silent(i)).collect();
        let mut weights = vec![[0.0]; keys.len() * targets.len()];
        for (row, &key) in keys.iter().enumerate() {
            if let Some(target) = frames[key] {
                weights[row * targets.len() + target - targets.start] = [1.0];
            }
        }
        let input: Vec<[f32; 1]> = keys.iter().map(|&key| times.of(first + key)).collect();
        let input = sink.keys(&input)?;
        let output = sink.switches(&weights)?;
        self.push_channel(node, "weights", input, output, "LINEAR");
        Ok(())
    }

    /// Shows a node from one frame until another by its scale.
    fn add_visibility(
        &mut self,
        node: usize,
        from: usize,
        until: Option<usize>,
        times: &Times,
        sink: &mut Sink,
    ) -> Result<()> {
        let mut keys = Vec::new();
        if from > 0 {
            keys.push((0, 0.0));
        }
        keys.push((from, 1.0));
        keys.extend(until.map(|until| (until, 0.0)));
        let input = sink.keys(&keys.iter().map(|&(frame, _)| times.of(frame)).collect::<Vec<_>>())?;
        let output = sink.keys(&keys.iter().map(|&(_, scale)| [scale; 3]).collect::<Vec<[f32; 3]>>())?;
        self.push_channel(node, "scale", input, output, "STEP");
        Ok(())
    }

    pub(super) fn push_node(&mut self, node: Value) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// A node that stands on no other.
    pub(super) fn push_root(&mut self, node: Value) -> usize {
        let node = self.push_node(node);
        self.roots.push(node);
        node
    }

    /// Hangs a node on another.
    pub(super) fn add_child(&mut self, parent: usize, child: usize) {
        match self.nodes[parent].get_mut("children").and_then(Value::as_array_mut) {
            Some(children) => children.push(json!(child)),
            None => self.nodes[parent]["children"] = json!([child]),
        }
    }

    pub(super) fn push_channel(
        &mut self,
        node: usize,
        path: &str,
        input: usize,
        output: usize,
        interpolation: &str,
    ) {
        self.channels
            .push(json!({ "sampler": self.samplers.len(), "target": { "node": node, "path": path } }));
        self.samplers.push(json!({ "input": input, "output": output, "interpolation": interpolation }));
    }

    pub(super) fn finish(self, clip: &Clip, looks: Looks, times: &Times) -> Value {
        let mut document = Map::new();
        document.insert(
            "asset".into(),
            json!({ "version": "2.0", "generator": concat!("followthrough ", env!("CARGO_PKG_VERSION")) }),
        );
        document.insert("scene".into(), json!(0));
        document.insert("scenes".into(), json!([{ "nodes": self.roots }]));
        document.insert("nodes".into(), Value::Array(self.nodes));
        let mut list = |name: &str, items: Vec<Value>| {
            if !items.is_empty() {
                document.insert(name.into(), Value::Array(items));
            }
        };
        list("meshes", self.meshes);
        list("skins", self.skins);
        if !self.channels.is_empty() {
            let extras = times.note(clip);
            list(
                "animations",
                vec![
                    json!({ "name": clip.name, "channels": self.channels, "samplers": self.samplers, "extras": extras }),
                ],
            );
        }
        looks.finish(&mut list);
        Value::Object(document)
    }
}

/// Cuts the frames so that no run shows more than [`MOST_TARGETS`] targets; neighbours share their border frame.
fn segments(frames: &[Option<usize>]) -> Vec<Range<usize>> {
    let mut segments = Vec::new();
    let mut start = 0;
    let mut lowest: Option<usize> = None;
    for (frame, target) in frames.iter().enumerate() {
        let Some(target) = *target else { continue };
        let low = *lowest.get_or_insert(target);
        if target - low >= MOST_TARGETS {
            segments.push(start..frame);
            start = frame - 1;
            lowest = Some(frames[start].unwrap_or(target));
        }
    }
    segments.push(start..frames.len());
    segments
}

/// A length that the JSON surely does not exceed: each element at its longest, with numbers of 25 digits.
pub(super) fn json_bound(clip: &Clip) -> u64 {
    let frames = clip.frame_count() as u64;
    let joints = clip.skeleton.as_ref().map_or(0, |skeleton| skeleton.joints.len()) as u64;
    let names = |text: &str| 6 * text.len() as u64;
    let meshes: u64 = clip
        .meshes
        .iter()
        .map(|mesh| {
            let groups: u64 = mesh.groups.iter().map(|group| 400 + names(&group.name)).sum();
            let runs = vertex_runs(mesh).len() as u64;
            let parts = mesh.parts.len() as u64;
            let segments = 2 + frames / (MOST_TARGETS as u64 - 1);
            runs * (frames * 2200 + groups + 4000)
                + parts * (600 + frames * 80)
                + segments * (2000 + names(&mesh.name) + parts * (1000 + groups))
        })
        .sum();
    let looks: u64 = clip
        .materials
        .iter()
        .map(|material| {
            2000 + names(&material.name)
                + material.gltf.as_ref().map_or(0, |gltf| 2 * gltf.to_string().len() as u64)
        })
        .sum();
    let skeleton = clip
        .skeleton
        .iter()
        .flat_map(|skeleton| &skeleton.joints)
        .map(|joint| names(&joint.name))
        .sum::<u64>();
    let images: u64 =
        clip.images.iter().map(|image| 500 + names(&image.name) + names(&image.mime_type)).sum();
    10_000 + names(&clip.name) + meshes + looks + images + skeleton + joints * 3000
}

pub(super) fn finite(points: &[[f32; 3]]) -> bool {
    points.iter().flatten().all(|c| c.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_clips_are_cut_with_a_shared_border() {
        let frames: Vec<Option<usize>> = (0..500).map(Some).collect();
        let cuts = segments(&frames);
        assert_eq!(cuts, [0..200, 199..399, 398..500]);
        let still: Vec<Option<usize>> = vec![Some(0); 5000];
        assert_eq!(segments(&still), vec![0..5000; 1], "frames that repeat cost nothing");
        assert_eq!(segments(&[None, Some(0), None]), vec![0..3; 1]);
    }
}
