//! What came in as glTF goes out as the same document: everything that nobody changed compares equal, with accessors read to their values.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{
    Clip, Frame, Frames, Mesh, Placement, ReadOptions, SkinDelivery, WriteOptions, Written, read, write,
};
use common::{GlbBuilder, assets, files, relative_distance};
use serde_json::{Value, json};

/// A glTF file read by the letter: nothing here is shared with the library.
struct Document {
    json: Value,
    buffers: Vec<Vec<u8>>,
}

impl Document {
    fn open(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap();
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let (json, binary): (Value, Option<Vec<u8>>) = if bytes.starts_with(b"glTF") {
            assert_eq!(word(8), bytes.len(), "{}", path.display());
            let end = 20 + word(12);
            let binary = (bytes.len() > end).then(|| bytes[end + 8..end + 8 + word(end)].to_vec());
            (serde_json::from_slice(&bytes[20..end]).unwrap(), binary)
        } else {
            (serde_json::from_slice(&bytes).unwrap(), None)
        };
        let buffer = |buffer: &Value| match buffer["uri"].as_str() {
            Some(uri) => content(path, uri),
            None => binary.clone().unwrap(),
        };
        let buffers = list(&json, "buffers").iter().map(buffer).collect();
        Self { json, buffers }
    }

    fn view(&self, index: &Value) -> &[u8] {
        let view = &self.json["bufferViews"][index.as_u64().unwrap() as usize];
        let start = view["byteOffset"].as_u64().unwrap_or(0) as usize;
        let buffer = &self.buffers[view["buffer"].as_u64().unwrap() as usize];
        &buffer[start..start + view["byteLength"].as_u64().unwrap() as usize]
    }

    /// An accessor with its elements as bytes instead of where they lie; sparse ones filled in.
    fn accessor(&self, index: &Value) -> Value {
        let mut accessor = self.json["accessors"][index.as_u64().unwrap() as usize].clone();
        let size = |code: &Value| match code.as_u64().unwrap() {
            5120 | 5121 => 1,
            5122 | 5123 => 2,
            _ => 4,
        };
        let width = match accessor["type"].as_str().unwrap() {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        let element = width * size(&accessor["componentType"]);
        let count = accessor["count"].as_u64().unwrap() as usize;
        let mut values = vec![vec![0_u8; element]; count];
        if accessor["bufferView"].is_u64() {
            let bytes =
                &self.view(&accessor["bufferView"])[accessor["byteOffset"].as_u64().unwrap_or(0) as usize..];
            let view = &self.json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
            let stride = view["byteStride"].as_u64().map_or(element, |stride| stride as usize);
            for (i, value) in values.iter_mut().enumerate() {
                value.copy_from_slice(&bytes[i * stride..i * stride + element]);
            }
        }
        if let Some(sparse) = accessor.get("sparse").cloned() {
            let (indices, places) = (&sparse["indices"], size(&sparse["indices"]["componentType"]));
            let at = |place: &Value| place["byteOffset"].as_u64().unwrap_or(0) as usize;
            let numbers = &self.view(&indices["bufferView"])[at(indices)..];
            let stored = &self.view(&sparse["values"]["bufferView"])[at(&sparse["values"])..];
            for i in 0..sparse["count"].as_u64().unwrap() as usize {
                let mut number = [0; 4];
                number[..places].copy_from_slice(&numbers[i * places..(i + 1) * places]);
                values[u32::from_le_bytes(number) as usize]
                    .copy_from_slice(&stored[i * element..(i + 1) * element]);
            }
        }
        let map = accessor.as_object_mut().unwrap();
        ["bufferView", "byteOffset", "sparse"].iter().for_each(|key| drop(map.remove(*key)));
        accessor["values"] = json!(values.concat());
        accessor
    }

    /// The document with every reference to data replaced by the data.
    fn resolved(&self, path: &Path) -> Value {
        let mut json = self.json.clone();
        let map = json.as_object_mut().unwrap();
        ["accessors", "bufferViews", "buffers"].iter().for_each(|key| drop(map.remove(*key)));
        for mesh in list_mut(&mut json, "meshes") {
            for primitive in list_mut(mesh, "primitives") {
                let targets = list(primitive, "targets").len();
                let resolve = |attributes: &mut Value| {
                    attributes.as_object_mut().unwrap().values_mut().for_each(|a| *a = self.accessor(a));
                };
                resolve(&mut primitive["attributes"]);
                (0..targets).for_each(|target| resolve(&mut primitive["targets"][target]));
                if primitive["indices"].is_u64() {
                    primitive["indices"] = self.accessor(&primitive["indices"]);
                }
            }
        }
        for skin in list_mut(&mut json, "skins") {
            if skin["inverseBindMatrices"].is_u64() {
                skin["inverseBindMatrices"] = self.accessor(&skin["inverseBindMatrices"]);
            }
        }
        for animation in list_mut(&mut json, "animations") {
            let samplers = animation["samplers"].take();
            animation.as_object_mut().unwrap().remove("samplers");
            for channel in list_mut(animation, "channels") {
                let mut sampler = samplers[channel["sampler"].as_u64().unwrap() as usize].clone();
                for key in ["input", "output"] {
                    sampler[key] = self.accessor(&sampler[key]);
                }
                channel["sampler"] = sampler;
            }
        }
        for image in list_mut(&mut json, "images") {
            let bytes = match image["uri"].as_str() {
                Some(uri) => content(path, uri),
                None => self.view(&image["bufferView"]).to_vec(),
            };
            let map = image.as_object_mut().unwrap();
            ["uri", "bufferView", "mimeType"].iter().for_each(|key| drop(map.remove(*key)));
            image["bytes"] = json!(bytes);
        }
        json
    }
}

fn resolved(path: &Path) -> Value {
    Document::open(path).resolved(path)
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn list_mut<'a>(value: &'a mut Value, name: &str) -> &'a mut [Value] {
    value.get_mut(name).and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

fn content(path: &Path, uri: &str) -> Vec<u8> {
    let Some(data) = uri.strip_prefix("data:") else {
        return std::fs::read(path.with_file_name(uri)).unwrap();
    };
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for c in data.split_once(',').unwrap().1.bytes().filter(|c| *c != b'=') {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        (bits, held) = (bits << 6 | u32::from(value), held + 6);
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

/// Where two values first differ.
fn difference(place: &str, a: &Value, b: &Value) -> Option<String> {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let keys: std::collections::BTreeSet<&String> = x.keys().chain(y.keys()).collect();
            let of =
                |key: &&String| difference(&format!("{place}.{key}"), &a[key.as_str()], &b[key.as_str()]);
            keys.iter().find_map(of)
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() && x.len() < 1000 => {
            (0..x.len()).find_map(|i| difference(&format!("{place}[{i}]"), &x[i], &y[i]))
        }
        _ if a == b => None,
        (Value::Array(x), Value::Array(y)) => Some(format!("{place}: lists of {} and {}", x.len(), y.len())),
        _ => Some(format!("{place}: {a} and {b}")),
    }
}

fn assert_same(what: &str, a: &Value, b: &Value) {
    if let Some(words) = difference("", a, b) {
        panic!("{what}{words}");
    }
}

/// Frames in which some meshes are bent away from where they were.
struct Bent {
    frames: Arc<dyn Frames>,
    meshes: Vec<usize>,
    by: f32,
}

impl Frames for Bent {
    fn count(&self) -> usize {
        self.frames.count()
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        let mut frame = self.frames.read(index)?;
        for &mesh in &self.meshes {
            for (i, point) in frame.points[mesh].iter_mut().enumerate() {
                let phase = 0.7 * index as f32 + 0.1 * i as f32;
                *point = [point[0] + self.by * phase.sin(), point[1] + self.by * phase.cos(), point[2]];
            }
        }
        Ok(frame)
    }

    fn below(&self) -> Option<Arc<dyn Frames>> {
        Some(self.frames.clone())
    }
}

fn bent(clip: &Clip, meshes: &[usize]) -> Clip {
    let by = 0.05 * size(clip);
    clip.with_frames(Arc::new(Bent { frames: clip.frames().clone(), meshes: meshes.to_vec(), by }))
}

fn size(clip: &Clip) -> f32 {
    clip.frame(0).unwrap().points.concat().as_flattened().iter().fold(1e-3, |size: f32, x| size.max(x.abs()))
}

/// Writes a clip; gives back the file, which lasts as long as the folder.
fn written(clip: &Clip, options: &WriteOptions) -> (tempfile::TempDir, PathBuf, Written) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.glb");
    let written = write(&path, clip, options).unwrap();
    assert_eq!(written.bytes, std::fs::metadata(&path).unwrap().len());
    (folder, path, written)
}

/// Everything but some nodes' meshes, what moves them by weights, nodes from `count` on, and our notes.
fn without(mut document: Value, nodes: &[usize], count: usize) -> Value {
    if let Some(nodes) = document["nodes"].as_array_mut() {
        nodes.truncate(count);
        for children in nodes.iter_mut().filter_map(|node| node.get_mut("children")) {
            children.as_array_mut().unwrap().retain(|child| (child.as_u64().unwrap() as usize) < count);
        }
        for node in nodes.iter_mut().filter(|node| node.get("children") == Some(&json!([]))) {
            node.as_object_mut().unwrap().remove("children");
        }
    }
    let meshes: Vec<usize> =
        list(&document, "nodes").iter().map(|n| n["mesh"].as_u64().unwrap_or(u64::MAX) as usize).collect();
    let all = list(&document, "meshes").to_vec();
    let shown = |node: usize| !nodes.contains(&node);
    for (index, node) in list_mut(&mut document, "nodes").iter_mut().enumerate() {
        let map = node.as_object_mut().unwrap();
        if !shown(index) {
            ["mesh", "skin", "weights"].iter().for_each(|key| drop(map.remove(*key)));
        } else if let Some(mesh) = all.get(meshes[index]) {
            // whatever number it has: this is the mesh
            map.insert("mesh".into(), mesh.clone());
        }
    }
    let map = document.as_object_mut().unwrap();
    map.remove("meshes");
    for animation in list_mut(&mut document, "animations") {
        if let Some(extras) = animation["extras"].as_object_mut() {
            ["frame_rate_hz", "first_frame", "frame_count"].iter().for_each(|key| drop(extras.remove(*key)));
        }
        if animation["extras"] == json!({}) {
            animation["extras"] = Value::Null;
        }
        let channels = animation["channels"].as_array_mut().unwrap();
        channels.retain(|channel| {
            let Some(node) = channel["target"]["node"].as_u64().map(|node| node as usize) else {
                return true;
            };
            node < count && (shown(node) || channel["target"]["path"] != "weights")
        });
    }
    document
}

/// The nodes that show the meshes of a clip, by name; of all meshes when names do not tell.
fn nodes_of(document: &Value, clip: &Clip, meshes: &[usize]) -> Vec<usize> {
    let named = |node: &Value, mesh: usize| {
        let of_mesh = node["mesh"].as_u64().map(|m| &document["meshes"][m as usize]["name"]);
        let name = clip.meshes[mesh].name.as_str();
        of_mesh.is_some()
            && (node["name"] == name
                || node["name"].is_null() && of_mesh.is_some_and(|n| n == name || n.is_null()))
    };
    let nodes = list(document, "nodes");
    let is_one = |node: &usize| meshes.iter().any(|&mesh| named(&nodes[*node], mesh));
    (0..nodes.len()).filter(is_one).collect()
}

fn assert_comes_back(path: &Path, options: &ReadOptions) {
    let name = path.file_name().unwrap().to_string_lossy();
    let clip = read(path, options).unwrap();
    let (_folder, out, report) = written(&clip, &WriteOptions::default());
    assert_eq!(report.warnings, [""; 0], "{name}");
    assert_same(&name, &resolved(path), &resolved(&out));
    let back = read(&out, options).unwrap();
    assert_eq!(back.meshes, clip.meshes, "{name}");
    assert_eq!(back.frame(back.frame_count() - 1).unwrap(), clip.frame(clip.frame_count() - 1).unwrap());

    for mesh in 0..clip.meshes.len().min(3) {
        let changed = bent(&clip, &[mesh]);
        let (_folder, out, _) = written(&changed, &WriteOptions::default());
        let (before, after) = (resolved(path), resolved(&out));
        let nodes = nodes_of(&before, &clip, &[mesh]);
        assert_eq!(nodes.len(), 1, "{name}: {}", clip.meshes[mesh].name);
        let count = list(&before, "nodes").len();
        let [before, after] = [before, after].map(|document| without(document, &nodes, count));
        assert_same(&format!("{name} mesh {mesh}"), &before, &after);
        let back = read(&out, options).unwrap();
        assert_eq!(back.frame_rate_hz, clip.frame_rate_hz);
        let distance = relative_distance(&changed, &back);
        assert!(distance < 1e-6, "{name} mesh {mesh}: {distance:e}");
        assert_ne!(relative_distance(&clip, &back), 0.0);
    }
}

#[test]
fn every_asset_comes_back_with_all_that_nobody_changed() {
    let Some(folder) = assets("gltf") else { return };
    for path in files(&folder, &["gltf", "glb"]) {
        assert_comes_back(&path, &ReadOptions::default());
    }
}

/// A document with all that must survive: shared meshes, two scenes, a skin, quantised and sparse accessors, lines, tangents, a camera, a light,
/// a picture, two animations, one of which moves what we do not know, variants, extras, and data that only an extension refers to.
fn everything() -> Vec<u8> {
    let mut glb = GlbBuilder::default();
    let square = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0_f32];
    let positions = glb.floats("VEC3", 3, &square);
    let normals = glb.floats("VEC3", 3, &[0.0, 0.0, 1.0].repeat(4));
    let tangents = glb.floats("VEC4", 4, &[1.0, 0.0, 0.0, -1.0].repeat(4));
    let uvs = glb.floats("VEC2", 2, &[0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    let other = glb.floats("VEC3", 3, &square.map(|x| x - 3.0));
    for accessor in [positions, other] {
        glb.set(accessor, "min", json!(if accessor == other { [-3.0; 3] } else { [0.0; 3] }));
        glb.set(accessor, "max", json!(if accessor == other { [-2.0, -2.0, -3.0] } else { [1.0, 1.0, 0.0] }));
    }
    let corners: Vec<u8> = [0_u16, 1, 2, 0, 2, 3].iter().flat_map(|i| i.to_le_bytes()).collect();
    let view = glb.view(&corners);
    let indices =
        glb.accessor(json!({ "bufferView": view, "componentType": 5123, "count": 6, "type": "SCALAR" }));
    // quantised: 16-bit positions that a node scales, interleaved with bytes that nobody reads
    let short: Vec<u8> = square
        .iter()
        .map(|x| (x * 32767.0) as i16)
        .collect::<Vec<_>>()
        .chunks(3)
        .flat_map(|p| p.iter().chain([&7_i16]).flat_map(|c| c.to_le_bytes()).collect::<Vec<_>>())
        .collect();
    let view = glb.view(&short);
    glb.set_view(view, "byteStride", json!(8));
    let quantised = glb.accessor(json!({
        "bufferView": view, "componentType": 5122, "normalized": true, "count": 4, "type": "VEC3",
        "min": [0, 0, 0], "max": [32767, 32767, 0],
    }));
    // a sparse target over nothing
    let at = glb.view(&[2, 0, 3, 0]);
    let values = glb
        .view(&[0.0, 0.0, 0.5, 0.0, 0.0, 0.25_f32].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
    let target = glb.accessor(json!({
        "componentType": 5126, "count": 4, "type": "VEC3", "min": [0.0, 0.0, 0.0], "max": [0.0, 0.0, 0.5],
        "sparse": { "count": 2, "indices": { "bufferView": at, "componentType": 5123 }, "values": { "bufferView": values } },
    }));
    let view = glb.view(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
    let joints =
        glb.accessor(json!({ "bufferView": view, "componentType": 5121, "count": 4, "type": "VEC4" }));
    let weights = glb.floats("VEC4", 4, &[1.0, 0.0, 0.0, 0.0].repeat(4));
    let unit = glam::Mat4::IDENTITY.to_cols_array();
    let binds = glb.floats("MAT4", 16, &[unit, unit].concat());
    let times = glb.floats("SCALAR", 1, &[0.0, 0.5, 1.0]);
    glb.set(times, "min", json!([0.0]));
    glb.set(times, "max", json!([1.0]));
    let moves = glb.floats("VEC3", 3, &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0]);
    let fades = glb.floats("SCALAR", 1, &[0.0, 1.0, 0.25]);
    let secret = glb.floats("SCALAR", 1, &[42.0, 43.0]);
    let picture = glb.view(b"\x89PNG\r\n\x1a\nno more than its beginning");
    let surface = |extra: Value| {
        let mut primitive = json!({
            "attributes": { "POSITION": positions, "NORMAL": normals, "TANGENT": tangents, "TEXCOORD_0": uvs },
            "indices": indices, "material": 0,
            "extensions": { "KHR_materials_variants": { "mappings": [{ "material": 1, "variants": [0] }] } },
        });
        for (key, value) in extra.as_object().unwrap() {
            primitive["attributes"][key] = value.clone();
        }
        primitive
    };
    let mut morphed = surface(json!({}));
    morphed["targets"] = json!([{ "POSITION": target }]);
    glb.finish(json!({
        "extras": { "shot": 12 },
        "extensionsUsed": ["KHR_lights_punctual", "KHR_mesh_quantization", "KHR_materials_variants", "EXT_of_nobody"],
        "extensionsRequired": ["KHR_mesh_quantization"],
        "extensions": {
            "KHR_lights_punctual": { "lights": [{ "type": "point", "intensity": 0.1 }] },
            "KHR_materials_variants": { "variants": [{ "name": "wet" }] },
            "EXT_of_nobody": { "numbers": secret },
        },
        "scene": 0,
        "scenes": [{ "name": "first", "nodes": [0, 5, 7, 8] }, { "name": "second", "nodes": [4, 0] }],
        "nodes": [
            { "name": "root", "children": [1, 2, 3], "translation": [0.0, 0.5, 0.0], "extras": { "locked": true } },
            { "name": "a", "mesh": 0, "rotation": [0.0, 0.0, 0.6, 0.8] },
            { "name": "b", "mesh": 0, "scale": [-1.0, 2.0, 1.0], "weights": [0.5] },
            { "name": "eye", "camera": 0, "extensions": { "KHR_lights_punctual": { "light": 0 } } },
            { "name": "elsewhere", "mesh": 1 },
            { "name": "hip", "children": [6] },
            { "name": "knee", "matrix": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0.25,0,1] },
            { "name": "skinned", "mesh": 2, "skin": 0, "translation": [9.0, 9.0, 9.0] },
            { "name": "small", "mesh": 3, "scale": [0.5, 0.5, 0.5] },
        ],
        "cameras": [{ "type": "perspective", "perspective": { "yfov": 0.6, "znear": 0.01 } }],
        "meshes": [
            { "name": "shared", "primitives": [morphed], "weights": [0.25], "extras": { "targetNames": ["lift"], "id": 7 } },
            { "primitives": [{ "attributes": { "POSITION": other }, "indices": indices }] },
            { "name": "leg", "primitives": [surface(json!({ "JOINTS_0": joints, "WEIGHTS_0": weights }))] },
            { "name": "mixed", "primitives": [
                { "attributes": { "POSITION": positions }, "mode": 1 },
                { "attributes": { "POSITION": quantised }, "indices": indices, "material": 1 },
            ] },
        ],
        "skins": [{ "name": "rig", "joints": [5, 6], "inverseBindMatrices": binds, "skeleton": 5 }],
        "materials": [
            { "name": "dry", "normalTexture": { "index": 0 }, "extras": { "id": 1.5e-7 } },
            { "name": "wet", "pbrMetallicRoughness": { "baseColorFactor": [0.1, 0.2, 0.30000000000000004, 1.0] } },
        ],
        "textures": [{ "source": 0, "sampler": 0 }],
        "samplers": [{ "wrapS": 33071 }],
        "images": [{ "name": "bumps", "bufferView": picture, "mimeType": "image/png" }],
        "animations": [
            { "name": "walk", "channels": [
                { "sampler": 0, "target": { "node": 5, "path": "translation" } },
                { "sampler": 1, "target": { "node": 1, "path": "weights" } },
                { "sampler": 1, "target": { "path": "pointer", "extensions": { "EXT_of_nobody": { "pointer": "/x" } } } },
            ], "samplers": [{ "input": times, "output": moves }, { "input": times, "output": fades, "interpolation": "STEP" }] },
            { "name": "run", "extras": { "speed": 2 }, "channels": [
                { "sampler": 0, "target": { "node": 5, "path": "scale" } },
                { "sampler": 1, "target": { "node": 2, "path": "weights" } },
            ], "samplers": [{ "input": times, "output": moves }, { "input": times, "output": fades }] },
        ],
    }))
}

/// The same over two buffers, one beside the file and one in the JSON, which also has the picture.
fn spread(folder: &Path) -> PathBuf {
    let glb = folder.join("everything.glb");
    std::fs::write(&glb, everything()).unwrap();
    let Document { mut json, buffers } = Document::open(&glb);
    std::fs::write(folder.join("half of it.bin"), &buffers[0]).unwrap();
    let length = buffers[0].len();
    let data = format!("data:application/octet-stream;base64,{}", base64(&buffers[0]));
    json["buffers"] =
        json!([{ "uri": "half%20of%20it.bin", "byteLength": length }, { "uri": data, "byteLength": length }]);
    for (index, view) in json["bufferViews"].as_array_mut().unwrap().iter_mut().enumerate() {
        view["buffer"] = json!(index % 2);
    }
    std::fs::write(folder.join("bumps.png"), b"\x89PNG\r\n\x1a\nanother beginning").unwrap();
    json["images"][0] = json!({ "name": "bumps", "uri": "bumps.png" });
    let path = folder.join("everything.gltf");
    std::fs::write(&path, json.to_string()).unwrap();
    path
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word =
            three.iter().fold(0_u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        for i in 0..=three.len() {
            text.push(LETTERS[(word >> (18 - 6 * i) & 63) as usize].into());
        }
    }
    text
}

/// The same document with files named as the test has them.
fn unpercented(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap().replace("half%20of%20it.bin", "half of it.bin");
    let plain = path.with_file_name("plain.gltf");
    std::fs::write(&plain, text).unwrap();
    resolved(&plain)
}

#[test]
fn a_document_with_everything_comes_back_whole_and_with_any_mesh_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("everything.glb");
    std::fs::write(&path, everything()).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    let names: Vec<&str> = clip.meshes.iter().map(|mesh| mesh.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "skinned", "small"]);
    assert_comes_back(&path, &ReadOptions::default());
    assert_comes_back(&path, &ReadOptions { clip: Some("run".into()), ..ReadOptions::default() });
    // in a unit of its own it stays in that unit
    assert_comes_back(&path, &ReadOptions { unit_in_metres: Some(0.01), ..ReadOptions::default() });
    // all but one, and all
    for meshes in [&[0, 2, 3][..], &[0, 1, 2, 3]] {
        let changed = bent(&clip, meshes);
        let (_folder, out, report) = written(&changed, &WriteOptions::default());
        let (before, after) = (resolved(&path), resolved(&out));
        let nodes = nodes_of(&before, &clip, meshes);
        let count = list(&before, "nodes").len();
        assert_same("", &without(before, &nodes, count), &without(after, &nodes, count));
        let distance = relative_distance(&changed, &read(&out, &ReadOptions::default()).unwrap());
        assert!(distance < 1e-6, "{distance:e}");
        let lost = report.warnings.iter().any(|words| words.contains("other animations of the file"));
        assert_eq!(lost, meshes.contains(&1), "`run` moves the shape key of `b`: {:?}", report.warnings);
    }
}

#[test]
fn buffers_beside_the_file_and_in_its_json_become_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = spread(folder.path());
    let clip = read(&path, &ReadOptions::default()).unwrap();
    for meshes in [&[][..], &[2]] {
        let (_folder, out, _) = written(&bent(&clip, meshes), &WriteOptions::default());
        let (before, after) = (unpercented(&path), resolved(&out));
        let nodes = nodes_of(&before, &clip, meshes);
        let count = list(&before, "nodes").len();
        assert_same("", &without(before, &nodes, count), &without(after, &nodes, count));
        let document = Document::open(&out);
        assert_eq!(list(&document.json, "buffers").len(), 1);
        assert!(document.json["buffers"][0]["uri"].is_null() && document.json["images"][0]["uri"].is_null());
    }
}

#[test]
fn what_is_replaced_leaves_no_bytes_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("everything.glb");
    std::fs::write(&path, everything()).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    let used = |document: &Document| -> usize {
        let views = list(&document.json, "bufferViews").iter();
        views.map(|view| (view["byteLength"].as_u64().unwrap() as usize).next_multiple_of(4)).sum()
    };
    for meshes in [&[][..], &[0], &[0, 1, 2, 3]] {
        let (_folder, out, _) = written(&bent(&clip, meshes), &WriteOptions::default());
        let document = Document::open(&out);
        assert!(
            document.buffers[0].len() <= used(&document),
            "{} of {}",
            document.buffers[0].len(),
            used(&document)
        );
        // nothing refers to what is not there, and every place is used
        let accessors = list(&document.json, "accessors").len();
        let text = document.json["meshes"].to_string()
            + &document.json["animations"].to_string()
            + &document.json["skins"].to_string();
        let unused: Vec<usize> = (0..accessors)
            .filter(|i| {
                ![":", ",", "["]
                    .iter()
                    .any(|c| text.contains(&format!("{c}{i},")) || text.contains(&format!("{c}{i}}}")))
            })
            .collect();
        // but for the one that only an extension knows
        assert!(unused.len() <= 1, "{unused:?}");
    }
}

#[test]
fn meshes_can_be_taken_out_and_put_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("everything.glb");
    std::fs::write(&path, everything()).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    let before = resolved(&path);
    let count = list(&before, "nodes").len();

    // without `skinned` and `a`: their nodes stay, the mesh that `b` shares too
    struct Without(Arc<dyn Frames>);
    impl Frames for Without {
        fn count(&self) -> usize {
            self.0.count()
        }
        fn read(&self, index: usize) -> clip::Result<Frame> {
            let mut frame = self.0.read(index)?;
            frame.points.remove(2);
            frame.points.remove(0);
            Ok(frame)
        }
    }
    let mut fewer = clip.with_frames(Arc::new(Without(clip.frames().clone())));
    fewer.meshes.remove(2);
    fewer.meshes.remove(0);
    let (_folder, out, _) = written(&fewer, &WriteOptions::default());
    let nodes = nodes_of(&before, &clip, &[0, 2]);
    assert_same("", &without(before.clone(), &nodes, count), &without(resolved(&out), &nodes, count));
    let back = read(&out, &ReadOptions::default()).unwrap();
    assert_eq!(back.meshes.iter().map(|mesh| mesh.name.as_str()).collect::<Vec<_>>(), ["b", "small"]);
    assert_eq!(list(&resolved(&out), "meshes").len(), 3, "what nobody shows is gone");

    // a flag, with a material and a picture of its own, hung on a joint
    let mut flag = common::seeds::flag();
    let material = flag.materials.len();
    flag.materials.push(clip::Material::plain("red", [1.0, 0.0, 0.0, 1.0]));
    flag.materials[material].base_color_image = Some(flag.images.len());
    let bytes = b"\x89PNG\r\n\x1a\nred".to_vec();
    flag.images.push(clip::Image { name: "red".into(), mime_type: "image/png".into(), bytes });
    flag.meshes[0].parts[0].material = Some(material);
    flag.frame_rate_hz = clip.frame_rate_hz;
    let more = clip.with_added(&flag, &Placement { parent: Some(1), ..Placement::default() });
    let (_folder, out, _) = written(&more, &WriteOptions::default());
    let after = resolved(&out);
    let mut rest = without(after.clone(), &[], count);
    for (key, length) in [("materials", 2), ("images", 1), ("textures", 1)] {
        rest[key].as_array_mut().unwrap().truncate(length);
    }
    rest["scenes"][0]["nodes"]
        .as_array_mut()
        .unwrap()
        .retain(|node| (node.as_u64().unwrap() as usize) < count);
    assert_same("", &without(before.clone(), &[], count), &rest);
    let back = read(&out, &ReadOptions::default()).unwrap();
    assert!(relative_distance(&more, &back) < 1e-6);
    let red = &back.materials[back.meshes.last().unwrap().parts[0].material.unwrap()];
    assert_eq!(
        (red.name.as_str(), &back.images[red.base_color_image.unwrap()].bytes),
        ("red", &flag.images.last().unwrap().bytes)
    );
}

#[test]
fn other_vertices_other_groups_and_other_materials() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("everything.glb");
    std::fs::write(&path, everything()).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    let before = resolved(&path);
    let count = list(&before, "nodes").len();

    // a group that was painted meanwhile comes along, on a mesh that is otherwise what it was
    let mut painted = clip.clone();
    painted.meshes[2].set_group("pins", vec![0.0, 0.25, 0.5, 1.0]);
    let (_folder, out, _) = written(&painted, &WriteOptions::default());
    let back = read(&out, &ReadOptions::default()).unwrap();
    assert_eq!(back.meshes[2].group("pins").unwrap().weights, [0.0, 0.25, 0.5, 1.0]);
    let mut after = resolved(&out);
    after["meshes"][2]["primitives"][0]["attributes"].as_object_mut().unwrap().remove("_pins").unwrap();
    assert_same("", &before, &after);

    // a mesh with other faces is written anew on its node
    struct Corner(Arc<dyn Frames>);
    impl Frames for Corner {
        fn count(&self) -> usize {
            self.0.count()
        }
        fn read(&self, index: usize) -> clip::Result<Frame> {
            let mut frame = self.0.read(index)?;
            frame.points[0].truncate(3);
            Ok(frame)
        }
    }
    let mut corner = clip.with_frames(Arc::new(Corner(clip.frames().clone())));
    let rest = clip.meshes[0].rest_points[..3].to_vec();
    corner.meshes[0] = Mesh::new("a", rest, &[[0, 1, 2]]);
    let (_folder, out, _) = written(&corner, &WriteOptions::default());
    let nodes = nodes_of(&before, &clip, &[0]);
    assert_same("", &without(before.clone(), &nodes, count), &without(resolved(&out), &nodes, count));
    assert!(relative_distance(&corner, &read(&out, &ReadOptions::default()).unwrap()) < 1e-6);

    // with other materials it is another document, and that is said
    let mut red = clip.clone();
    red.materials[0] = clip::Material::plain("red", [1.0, 0.0, 0.0, 1.0]);
    let (_folder, out, report) = written(&red, &WriteOptions::default());
    assert!(
        report.warnings[0].contains("the materials are no more those of the glTF file"),
        "{:?}",
        report.warnings
    );
    assert!(relative_distance(&red, &read(&out, &ReadOptions::default()).unwrap()) < 1e-6);
}

#[test]
fn another_time_writes_the_tracks_anew_and_keeps_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("everything.glb");
    std::fs::write(&path, everything()).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    let before = resolved(&path);
    struct Later(Arc<dyn Frames>, usize);
    impl Frames for Later {
        fn count(&self) -> usize {
            self.0.count() - self.1
        }
        fn read(&self, index: usize) -> clip::Result<Frame> {
            self.0.read(index + self.1)
        }
        fn morph_weights(&self, index: usize) -> clip::Result<Vec<Vec<f32>>> {
            self.0.morph_weights(index + self.1)
        }
    }
    let mut later = clip.with_frames(Arc::new(Later(clip.frames().clone(), 5)));
    later.gltf = later.gltf.map(|source| source.skipping(5));
    let start = WriteOptions { start_frame: Some(100), ..WriteOptions::default() };
    for (clip, options) in [(&later, WriteOptions::default()), (&clip, start)] {
        for meshes in [&[][..], &[2]] {
            let changed = bent(clip, meshes);
            let (_folder, out, report) = written(&changed, &options);
            assert!(report.warnings[0].contains("written anew"), "{:?}", report.warnings);
            let after = resolved(&out);
            assert_eq!(before["animations"][1], after["animations"][1], "the other animation");
            assert_eq!(
                before["animations"][0]["channels"][2], after["animations"][0]["channels"][0],
                "the pointer"
            );
            if meshes.is_empty() {
                assert_eq!([&before["meshes"], &before["nodes"]], [&after["meshes"], &after["nodes"]]);
            }
            let back = read(&out, &ReadOptions::default()).unwrap();
            assert!(relative_distance(&changed, &back) < 1e-6);
            assert_eq!(back.frame(7).unwrap().pose, changed.frame(7).unwrap().pose);
        }
    }
}

#[test]
fn joints_that_were_moved_get_tracks_and_skins_follow_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("everything.glb");
    std::fs::write(&path, everything()).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    struct Bowed(Clip);
    impl Frames for Bowed {
        fn count(&self) -> usize {
            self.0.frame_count()
        }
        fn read(&self, index: usize) -> clip::Result<Frame> {
            let mut frame = self.0.frame(index)?;
            let skeleton = self.0.skeleton.as_ref().unwrap();
            let knee = skeleton.joint_index("knee").unwrap();
            frame.pose[knee].rotation = glam::Quat::from_rotation_x(0.05 * index as f32);
            let (mesh, worlds) = (&self.0.meshes[2], skeleton.world_from_joints(&frame.pose));
            frame.points[2] = mesh.skin.as_ref().unwrap().deform(&mesh.rest_points, &worlds);
            Ok(frame)
        }
    }
    let bowed = clip.with_frames(Arc::new(Bowed(clip.clone())));
    let (_folder, out, report) = written(&bowed, &WriteOptions::default());
    assert_eq!(report.warnings, [""; 0]);
    let (before, after) = (resolved(&path), resolved(&out));
    assert_eq!(
        [&before["meshes"], &before["skins"]],
        [&after["meshes"], &after["skins"]],
        "nothing is baked"
    );
    let channels = list(&after["animations"][0], "channels");
    assert_eq!(channels[..3], *list(&before["animations"][0], "channels"));
    assert_eq!(channels[3]["target"], json!({ "node": 6, "path": "rotation" }));
    assert!(relative_distance(&bowed, &read(&out, &ReadOptions::default()).unwrap()) < 1e-6);
}

fn corrective() -> WriteOptions {
    WriteOptions { skin: SkinDelivery::Corrective, ..WriteOptions::default() }
}

/// Everything but targets, weights and names that corrections added.
fn without_corrections(mut document: Value, before: &Value) -> Value {
    for (mesh, old) in list_mut(&mut document, "meshes").iter_mut().zip(list(before, "meshes")) {
        for (primitive, old) in list_mut(mesh, "primitives").iter_mut().zip(list(old, "primitives")) {
            let own = list(old, "targets").len();
            if let Some(targets) = primitive.get_mut("targets").and_then(Value::as_array_mut) {
                targets.truncate(own);
            }
            primitive.as_object_mut().unwrap().retain(|key, value| key != "targets" || *value != json!([]));
        }
        for key in ["weights", "extras"] {
            mesh[key] = old[key].clone();
        }
    }
    for (animation, old) in list_mut(&mut document, "animations").iter_mut().zip(list(before, "animations")) {
        animation["extras"] = old["extras"].clone();
    }
    document
}

#[test]
fn corrections_leave_the_rig_as_it_is_and_bring_points_to_their_places() {
    let Some(folder) = assets("gltf") else { return };
    for name in
        ["CesiumMan.glb", "RiggedSimple.glb", "RiggedFigure.glb", "SimpleSkin.gltf", "RobotExpressive.glb"]
    {
        let path = folder.join(name);
        let clip = read(&path, &ReadOptions::default()).unwrap();
        let mesh = clip.meshes.iter().position(|mesh| mesh.skin.is_some()).unwrap();
        let changed = bent(&clip, &[mesh]);
        let (_folder, out, report) = written(&changed, &corrective());
        let back = read(&out, &ReadOptions::default()).unwrap();
        let distance = relative_distance(&changed, &back);
        assert!(distance < 1e-5, "{name}: {distance:e} {:?}", report.warnings);
        let (before, after) = (resolved(&path), resolved(&out));
        let nodes = list(&before, "nodes").len();
        let node = nodes_of(&before, &clip, &[mesh]);
        assert_eq!(list(&after, "nodes").len(), nodes, "{name}: no node came or went");
        assert_eq!(before["skins"], after["skins"], "{name}");
        // the mesh, less what was added, and everything else
        let weightless = |mut document: Value| {
            for animation in list_mut(&mut document, "animations") {
                animation["channels"].as_array_mut().unwrap().retain(|channel| {
                    channel["target"]["path"] != "weights"
                        || !node.iter().any(|n| channel["target"]["node"] == *n)
                });
            }
            document
        };
        assert_same(name, &weightless(before.clone()), &weightless(without_corrections(after, &before)));
        assert_eq!(back.meshes[mesh].skin, clip.meshes[mesh].skin, "{name}");
        assert_eq!(back.meshes[mesh].morph_targets.len(), clip.meshes[mesh].morph_targets.len(), "{name}");
    }
}

#[test]
fn corrections_keep_shape_keys_other_animations_and_shared_meshes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("everything.glb");
    std::fs::write(&path, everything()).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    for meshes in [&[0][..], &[1], &[2], &[3], &[0, 1, 2, 3]] {
        let changed = bent(&clip, meshes);
        let (_folder, out, report) = written(&changed, &corrective());
        assert_eq!(report.warnings, [""; 0]);
        let back = read(&out, &ReadOptions::default()).unwrap();
        let distance = relative_distance(&changed, &back);
        assert!(distance < 1e-6, "{meshes:?}: {distance:e}");
        assert_eq!(back.morph_weights(7).unwrap(), clip.morph_weights(7).unwrap(), "shape keys go on moving");
        // the other animation plays as it did, without any physics
        let run = ReadOptions { clip: Some("run".into()), ..ReadOptions::default() };
        let (before, after) = (read(&path, &run).unwrap(), read(&out, &run).unwrap());
        assert_eq!(relative_distance(&before, &after), 0.0, "{meshes:?}");
    }
    // a still is what was made of it
    let one = clip.with_frames(Arc::new(clip::MemoryFrames::new(vec![bent(&clip, &[2]).frame(3).unwrap()])));
    let (_folder, out, _) = written(&one, &corrective());
    let still = read(&out, &ReadOptions::default()).unwrap();
    assert!(relative_distance(&one, &still) < 1e-6);
}

#[test]
fn normals_of_corrections_turn_as_the_surface_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("everything.glb");
    std::fs::write(&path, everything()).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    // the square in x and y, turned by a quarter about x at the hip: its normal z goes to −y, its tangent x stays
    struct Turned(Arc<dyn Frames>);
    impl Frames for Turned {
        fn count(&self) -> usize {
            self.0.count()
        }
        fn read(&self, index: usize) -> clip::Result<Frame> {
            let mut frame = self.0.read(index)?;
            let middle = frame.points[2][0];
            for p in &mut frame.points[2] {
                let [y, z] = [p[1] - middle[1], p[2] - middle[2]];
                *p = [p[0], middle[1] - z, middle[2] + y];
            }
            Ok(frame)
        }
    }
    let turned = clip.with_frames(Arc::new(Turned(clip.frames().clone())));
    let (_folder, out, _) = written(&turned, &corrective());
    let document = Document::open(&out);
    let target = &document.json["meshes"][2]["primitives"][0]["targets"][0];
    let floats = |accessor: &Value| -> Vec<f32> {
        let values = document.accessor(accessor)["values"].as_array().unwrap().clone();
        let bytes: Vec<u8> = values.iter().map(|byte| byte.as_u64().unwrap() as u8).collect();
        bytes.chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect()
    };
    for moved in floats(&target["NORMAL"]).chunks(3) {
        assert!(
            (glam::Vec3::from_slice(moved) - glam::Vec3::new(0.0, -1.0, -1.0)).length() < 1e-5,
            "{moved:?}"
        );
    }
    for moved in floats(&target["TANGENT"]).chunks(3) {
        assert!(glam::Vec3::from_slice(moved).length() < 1e-5, "{moved:?}");
    }
}

#[test]
fn where_joints_flatten_a_point_it_is_said_and_the_rest_is_exact() {
    // a bar whose middle hangs on two joints, one of which turns by half a turn about the bar: the candy wrapper
    let mut glb = GlbBuilder::default();
    let bar = [0.0, 0.1, 0.0, 0.5, 0.1, 0.0, 1.0, 0.1, 0.0, 0.5, -0.1, 0.0_f32];
    let positions = glb.floats("VEC3", 3, &bar);
    let view = glb.view(&[0, 1, 0, 0].repeat(4));
    let joints =
        glb.accessor(json!({ "bufferView": view, "componentType": 5121, "count": 4, "type": "VEC4" }));
    let half = [0.5, 0.5, 0.0, 0.0];
    let weights = glb.floats("VEC4", 4, &[[1.0, 0.0, 0.0, 0.0], half, [0.0, 1.0, 0.0, 0.0], half].concat());
    let times = glb.floats("SCALAR", 1, &[0.0, 0.5]);
    let turns = glb.floats("VEC4", 4, &[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    let bytes = glb.finish(json!({
        "scenes": [{ "nodes": [0, 1, 2] }],
        "nodes": [{ "name": "left" }, { "name": "right" }, { "name": "bar", "mesh": 0, "skin": 0 }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": positions, "JOINTS_0": joints, "WEIGHTS_0": weights }, "mode": 5 }] }],
        "skins": [{ "joints": [0, 1] }],
        "animations": [{
            "channels": [{ "sampler": 0, "target": { "node": 1, "path": "rotation" } }],
            "samplers": [{ "input": times, "output": turns }],
        }],
    }));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bar.glb");
    std::fs::write(&path, bytes).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    let changed = bent(&clip, &[0]);
    let (_folder, out, report) = written(&changed, &corrective());
    let words = &report.warnings[0];
    assert!(
        words.contains("flatten up to 2 of its points in 1 frames") && words.contains("miss by up to"),
        "{words}"
    );
    let back = read(&out, &ReadOptions::default()).unwrap();
    let last = clip.frame_count() - 1;
    for index in 0..=last {
        let (a, b) = (changed.frame(index).unwrap(), back.frame(index).unwrap());
        for (point, (a, b)) in a.points[0].iter().zip(&b.points[0]).enumerate() {
            let distance = glam::Vec3::from(*a).distance(glam::Vec3::from(*b));
            let is_flat = index == last && point % 2 == 1;
            assert!(distance < if is_flat { 0.1 } else { 1e-5 }, "frame {index}, point {point}: {distance}");
        }
    }
}
