//! A document with all that must survive.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::GlbBuilder;
use crate::document::{Document, resolved};

/// A document with all that must survive: shared meshes, two scenes, a skin, quantised and sparse accessors, lines, tangents, a camera, a light,
/// a picture, two animations, one of which moves what we do not know, variants, extras, and data that only an extension refers to.
pub(crate) fn everything() -> Vec<u8> {
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
pub(crate) fn spread(folder: &Path) -> PathBuf {
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

pub(crate) fn base64(bytes: &[u8]) -> String {
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
pub(crate) fn unpercented(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap().replace("half%20of%20it.bin", "half of it.bin");
    let plain = path.with_file_name("plain.gltf");
    std::fs::write(&plain, text).unwrap();
    resolved(&plain)
}
