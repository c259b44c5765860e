//! glTF files read by the letter, and compared: nothing here is shared with the library.

use std::path::Path;

use clip::Clip;
use serde_json::{Value, json};

/// A glTF file read by the letter: nothing here is shared with the library.
pub(crate) struct Document {
    pub(crate) json: Value,
    pub(crate) buffers: Vec<Vec<u8>>,
}

impl Document {
    pub(crate) fn open(path: &Path) -> Self {
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

    pub(crate) fn view(&self, index: &Value) -> &[u8] {
        let view = &self.json["bufferViews"][index.as_u64().unwrap() as usize];
        let start = view["byteOffset"].as_u64().unwrap_or(0) as usize;
        let buffer = &self.buffers[view["buffer"].as_u64().unwrap() as usize];
        &buffer[start..start + view["byteLength"].as_u64().unwrap() as usize]
    }

    /// An accessor with its elements as bytes instead of where they lie; sparse ones filled in.
    pub(crate) fn accessor(&self, index: &Value) -> Value {
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
    pub(crate) fn resolved(&self, path: &Path) -> Value {
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

pub(crate) fn resolved(path: &Path) -> Value {
    Document::open(path).resolved(path)
}

pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn list_mut<'a>(value: &'a mut Value, name: &str) -> &'a mut [Value] {
    value.get_mut(name).and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

pub(crate) fn content(path: &Path, uri: &str) -> Vec<u8> {
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
pub(crate) fn difference(place: &str, a: &Value, b: &Value) -> Option<String> {
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

pub(crate) fn assert_same(what: &str, a: &Value, b: &Value) {
    if let Some(words) = difference("", a, b) {
        panic!("{what}{words}");
    }
}

/// Everything but some nodes' meshes, what moves them by weights, nodes from `count` on, and our notes.
pub(crate) fn without(mut document: Value, nodes: &[usize], count: usize) -> Value {
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
pub(crate) fn nodes_of(document: &Value, clip: &Clip, meshes: &[usize]) -> Vec<usize> {
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
