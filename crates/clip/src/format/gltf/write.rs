//! A clip as a GLB: baked meshes, skeleton as animated nodes, materials and pictures.
//!
//! Baked meshes need no skin; the skeleton is written as nodes of its own, so that joints and their motion survive. A
//! clip with more than [`MOST_TARGETS`] distinct frames is split over several nodes that share vertices and faces and
//! are shown one after another by scale, glTF's own way to hide: WebGL passes one weight per target in a uniform
//! vector, of which some devices have 256, and the weights of one mesh cost frames². Our reader joins them again.

use std::ops::Range;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::bake::{MeshBake, attributes_json};
use super::look_write::Looks;
use super::scene::SEGMENTS;
use super::sink::{Sink, Use};
use crate::format::mtl::check_materials;
use crate::format::{WriteOptions, Written};
use crate::{Clip, Error, Frame, Mesh, Result};

/// Morph targets of one mesh: what the smallest vertex uniform space of WebGL 2 holds beside the other uniforms.
const MOST_TARGETS: usize = 200;

/// Writes the whole clip.
pub(in crate::format) fn write(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    check_materials(path, clip)?;
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
        bakes.push(MeshBake::new(mesh, base, vertex_runs(mesh), options.normals, &mut sink)?);
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
        document.add_mesh(mesh, bake, &looks, &times, keep_length, &mut sink)?;
    }
    let keep_length = !still && nothing_moves && clip.meshes.is_empty();
    document.add_skeleton(clip, &poses, &times, keep_length, &mut sink)?;

    let bytes = sink.finish(document.finish(clip, looks, &times))?;
    Ok(Written { files: vec![path.to_path_buf()], frames: clip.frame_count(), bytes })
}

/// When the frames are.
pub(super) struct Times {
    first: u32,
    frame_rate_hz: f64,
}

impl Times {
    pub(super) fn of(&self, frame: usize) -> [f32; 1] {
        [((f64::from(self.first) + frame as f64) / self.frame_rate_hz) as f32]
    }
}

/// The parts of the JSON that grow as the clip is written.
#[derive(Default)]
pub(super) struct Document {
    pub(super) nodes: Vec<Value>,
    pub(super) roots: Vec<usize>,
    meshes: Vec<Value>,
    pub(super) skins: Vec<Value>,
    channels: Vec<Value>,
    samplers: Vec<Value>,
}

impl Document {
    fn add_mesh(
        &mut self,
        mesh: &Mesh,
        bake: &MeshBake,
        looks: &Looks,
        times: &Times,
        keep_length: bool,
        sink: &mut Sink,
    ) -> Result<()> {
        let primitives = primitives(mesh, bake, looks, sink)?;
        let segments = segments(&bake.frames);
        if segments.len() == 1 {
            let node = self.push_node(json!({ "name": mesh.name, "mesh": self.meshes.len() }));
            self.roots.push(node);
            let targets = 0..bake.targets.len();
            self.push_mesh(mesh, bake, &primitives, targets.clone(), bake.frames[0]);
            return self.add_weights(node, &bake.frames, 0, targets, times, keep_length, sink);
        }
        let parent = self.push_node(Value::Null);
        self.roots.push(parent);
        let mut children = Vec::new();
        for (number, segment) in segments.iter().enumerate() {
            let frames = &bake.frames[segment.clone()];
            let used = || frames.iter().flatten();
            let targets = used().min().map_or(0..0, |&low| low..used().max().map_or(low, |&high| high + 1));
            let mut node = json!({ "name": format!("{} frames {}-{}", mesh.name, segment.start, segment.end - 1), "mesh": self.meshes.len() });
            if number > 0 {
                node["scale"] = json!([0.0, 0.0, 0.0]);
            }
            let node = self.push_node(node);
            children.push(node);
            self.push_mesh(mesh, bake, &primitives, targets.clone(), frames[0]);
            self.add_weights(node, frames, segment.start, targets, times, false, sink)?;
            // the last frame of a segment is the first of the next, which then takes over
            let last = number + 1 == segments.len();
            let end = if last { None } else { Some(segment.end - 1) };
            self.add_visibility(node, segment.start, end, times, sink)?;
        }
        self.nodes[parent] = json!({ "name": mesh.name, "children": children, "extras": { SEGMENTS: true } });
        Ok(())
    }

    fn push_mesh(
        &mut self,
        mesh: &Mesh,
        bake: &MeshBake,
        primitives: &[(usize, Value)],
        targets: Range<usize>,
        shown: Option<usize>,
    ) {
        let with_targets = |(run, primitive): &(usize, Value)| {
            let mut primitive = primitive.clone();
            if !targets.is_empty() {
                primitive["targets"] = bake.targets_json(*run, targets.clone());
            }
            primitive
        };
        let primitives: Vec<Value> = primitives.iter().map(with_targets).collect();
        let mut value = json!({ "name": mesh.name, "primitives": primitives });
        if !targets.is_empty() {
            let weights: Vec<u8> = targets.map(|target| u8::from(Some(target) == shown)).collect();
            value["weights"] = json!(weights);
        }
        self.meshes.push(value);
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
        let mut weights = vec![0_u8; keys.len() * targets.len()];
        for (row, &key) in keys.iter().enumerate() {
            if let Some(target) = frames[key] {
                weights[row * targets.len() + target - targets.start] = u8::MAX;
            }
        }
        let input: Vec<[f32; 1]> = keys.iter().map(|&key| times.of(first + key)).collect();
        let input = sink.keys(&input)?;
        // weights are all or nothing: a normalised byte says that exactly, at a quarter of a float
        let view = sink.view(&weights, None, Use::Other)?;
        let output = sink.accessor(json!({
            "bufferView": view, "componentType": 5121, "normalized": true, "count": weights.len(), "type": "SCALAR",
        }));
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

    fn finish(self, clip: &Clip, looks: Looks, times: &Times) -> Value {
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
            let extras = json!({
                "frame_rate_hz": clip.frame_rate_hz, "first_frame": times.first, "frame_count": clip.frame_count(),
            });
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

/// The primitives of a mesh without their targets, each with the number of its vertex run.
fn primitives(mesh: &Mesh, bake: &MeshBake, looks: &Looks, sink: &mut Sink) -> Result<Vec<(usize, Value)>> {
    let mut columns: Vec<Option<Map<String, Value>>> = vec![None; bake.runs.len()];
    let mut primitives = Vec::new();
    for part in &mesh.parts {
        let vertices = run_of(mesh, part);
        let run = bake.runs.iter().position(|run| *run == vertices).unwrap_or(0);
        let mut indices = Vec::new();
        for face in part.faces.clone() {
            let corners = mesh.faces.get(face);
            let fan = 1..corners.len().saturating_sub(1);
            indices.extend(
                fan.flat_map(|i| [corners[0], corners[i], corners[i + 1]]).map(|v| v - vertices.start as u32),
            );
        }
        if indices.is_empty() {
            continue;
        }
        let small = vertices.len() < usize::from(u16::MAX);
        let bytes: Vec<u8> = match small {
            true => indices.iter().flat_map(|&index| (index as u16).to_le_bytes()).collect(),
            false => indices.iter().flat_map(|&index| index.to_le_bytes()).collect(),
        };
        let view = sink.view(&bytes, None, Use::Indices)?;
        let accessor = sink.accessor(json!({
            "bufferView": view, "componentType": if small { 5123 } else { 5125 }, "count": indices.len(), "type": "SCALAR",
        }));
        if columns[run].is_none() {
            columns[run] = Some(extra_columns(mesh, vertices.clone(), looks, sink)?);
        }
        let mut attributes = attributes_json(bake.base_accessors[run]);
        for (name, value) in columns[run].iter().flatten() {
            attributes[name] = value.clone();
        }
        let mut primitive = json!({ "attributes": attributes, "indices": accessor });
        if let Some(material) = part.material {
            primitive["material"] = json!(material);
        }
        primitives.push((run, primitive));
    }
    Ok(primitives)
}

/// Texture coordinates, colours and groups.
fn extra_columns(
    mesh: &Mesh,
    vertices: Range<usize>,
    looks: &Looks,
    sink: &mut Sink,
) -> Result<Map<String, Value>> {
    let mut columns = Map::new();
    let uv_sets =
        [&mesh.uvs].into_iter().chain(&mesh.more_uvs).filter(|uvs| uvs.len() == mesh.vertex_count());
    let mut set_count = 0;
    for uvs in uv_sets {
        let uvs: Vec<[f32; 2]> =
            uvs[vertices.clone()].iter().map(|uv| uv.map(|c| if c.is_finite() { c } else { 0.0 })).collect();
        columns.insert(format!("TEXCOORD_{set_count}"), json!(sink.column(&uvs, false)?));
        set_count += 1;
    }
    // a material may ask for coordinates that its mesh does not have: zeros, which take no bytes
    let wanted =
        mesh.parts.iter().filter_map(|part| part.material).map(|material| looks.uv_sets(material)).max();
    for set in set_count..wanted.unwrap_or(0) {
        let zeros = sink.accessor(json!({ "componentType": 5126, "count": vertices.len(), "type": "VEC2" }));
        columns.insert(format!("TEXCOORD_{set}"), json!(zeros));
    }
    let of_group = |name: &str| mesh.group(name).filter(|group| group.weights.len() == mesh.point_count());
    let points = &mesh.vertex_points[vertices];
    if let [Some(r), Some(g), Some(b)] = ["color.r", "color.g", "color.b"].map(of_group) {
        let alpha = of_group("color.a");
        let unit = |weight: f32| if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 0.0 };
        let color = |&point: &u32| {
            let p = point as usize;
            [r.weights[p], g.weights[p], b.weights[p], alpha.map_or(1.0, |a| a.weights[p])].map(unit)
        };
        let colors: Vec<[f32; 4]> = points.iter().map(color).collect();
        columns.insert("COLOR_0".into(), json!(sink.column(&colors, false)?));
    }
    let from_skin = |name: &str| mesh.skin.is_some() && looks.joint_names.contains(name);
    for group in &mesh.groups {
        let fits = group.weights.len() == mesh.point_count() && group.weights.iter().all(|w| w.is_finite());
        if !fits || group.name.is_empty() || group.name.starts_with("color.") || from_skin(&group.name) {
            continue;
        }
        let weights: Vec<[f32; 1]> = points.iter().map(|&point| [group.weights[point as usize]]).collect();
        columns.insert(format!("_{}", group.name), json!(sink.sparse_column(&weights, false)?));
    }
    Ok(columns)
}

/// The vertices that a part's faces use: what it says, or all when its faces reach beyond.
fn run_of(mesh: &Mesh, part: &crate::Part) -> Range<usize> {
    let mut corners = part.faces.clone().flat_map(|face| mesh.faces.get(face));
    let inside = corners.all(|&vertex| part.vertices.contains(&(vertex as usize)));
    if inside && part.vertices.end <= mesh.vertex_count() {
        part.vertices.clone()
    } else {
        0..mesh.vertex_count()
    }
}

/// The distinct runs of vertices, in order of first use.
fn vertex_runs(mesh: &Mesh) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for part in mesh.parts.iter().filter(|part| !part.faces.is_empty()) {
        let run = run_of(mesh, part);
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    runs
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
fn json_bound(clip: &Clip) -> u64 {
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

fn finite(points: &[[f32; 3]]) -> bool {
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
