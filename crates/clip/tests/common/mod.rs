//! What the tests share: where the assets are, how to compare clips.
#![allow(dead_code, clippy::print_stdout)] // each test file uses its own part; what is skipped is said aloud

pub(crate) mod seeds;

use std::path::{Path, PathBuf};

use clip::{Clip, Transform};

/// The folder of shared assets; `None`, said aloud, when it is not there.
pub(crate) fn assets(folder: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let root = std::env::var_os("FOLLOWTHROUGH_ASSETS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = root.join(folder);
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

/// The files in a folder with one of these extensions, sorted.
pub(crate) fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
            extensions.contains(&extension.as_str())
        })
        .collect();
    files.sort();
    files
}

/// The largest distance between positions of two clips over all frames, relative to the size of the first.
pub(crate) fn relative_distance(a: &Clip, b: &Clip) -> f64 {
    assert_eq!(a.frame_count(), b.frame_count(), "frames");
    assert_eq!(a.meshes.len(), b.meshes.len(), "meshes");
    let mut worst = 0.0_f64;
    let mut size = 1e-9_f64;
    for index in 0..a.frame_count() {
        let (fa, fb) = (a.frame(index).unwrap(), b.frame(index).unwrap());
        for mesh in 0..a.meshes.len() {
            // vertices, not points: welding may find more points equal in a baked file
            let (va, vb) =
                (a.meshes[mesh].per_vertex(&fa.points[mesh]), b.meshes[mesh].per_vertex(&fb.points[mesh]));
            assert_eq!(va.len(), vb.len(), "vertices");
            for (pa, pb) in va.iter().zip(&vb) {
                for i in 0..3 {
                    worst = worst.max(f64::from((pa[i] - pb[i]).abs()));
                    size = size.max(f64::from(pa[i].abs()));
                }
            }
        }
    }
    worst / size
}

/// The largest distance between joints in the world, relative to the reach of the skeleton.
pub(crate) fn joint_distance(a: &Clip, b: &Clip) -> f64 {
    assert_eq!(a.frame_count(), b.frame_count(), "frames");
    let (sa, sb) = (a.skeleton.as_ref().unwrap(), b.skeleton.as_ref().unwrap());
    let names = |s: &clip::Skeleton| s.joints.iter().map(|j| (j.name.clone(), j.parent)).collect::<Vec<_>>();
    assert_eq!(names(sa), names(sb), "joints");
    let mut worst = 0.0_f64;
    let mut size = 1e-9_f64;
    let world = |s: &clip::Skeleton, pose: &[Transform]| -> Vec<glam::Vec3> {
        s.world_from_joints(pose).iter().map(|m| m.transform_point3(glam::Vec3::ZERO)).collect()
    };
    for index in 0..a.frame_count() {
        let (pa, pb) = (world(sa, &a.frame(index).unwrap().pose), world(sb, &b.frame(index).unwrap().pose));
        for (x, y) in pa.iter().zip(&pb) {
            worst = worst.max(f64::from(x.distance(*y)));
            size = size.max(f64::from(x.length()));
        }
    }
    worst / size
}

/// A GLB put together by hand: for what our own writer never writes.
#[derive(Default)]
pub(crate) struct GlbBuilder {
    binary: Vec<u8>,
    views: Vec<serde_json::Value>,
    accessors: Vec<serde_json::Value>,
}

impl GlbBuilder {
    pub(crate) fn view(&mut self, bytes: &[u8]) -> usize {
        self.views.push(serde_json::json!({
            "buffer": 0, "byteOffset": self.binary.len(), "byteLength": bytes.len(),
        }));
        self.binary.extend_from_slice(bytes);
        self.binary.resize(self.binary.len().next_multiple_of(4), 0);
        self.views.len() - 1
    }

    pub(crate) fn floats(&mut self, kind: &str, width: usize, values: &[f32]) -> usize {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let view = self.view(&bytes);
        self.accessor(serde_json::json!({
            "bufferView": view, "componentType": 5126, "count": values.len() / width, "type": kind,
        }))
    }

    pub(crate) fn accessor(&mut self, accessor: serde_json::Value) -> usize {
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    /// Says something more of an accessor.
    pub(crate) fn set(&mut self, accessor: usize, key: &str, value: serde_json::Value) {
        self.accessors[accessor][key] = value;
    }

    /// Says something more of a buffer view.
    pub(crate) fn set_view(&mut self, view: usize, key: &str, value: serde_json::Value) {
        self.views[view][key] = value;
    }

    /// The file, with the rest of the document as given.
    pub(crate) fn finish(self, mut document: serde_json::Value) -> Vec<u8> {
        document["asset"] = serde_json::json!({ "version": "2.0" });
        document["buffers"] = serde_json::json!([{ "byteLength": self.binary.len() }]);
        document["bufferViews"] = self.views.into();
        document["accessors"] = self.accessors.into();
        let mut json = document.to_string().into_bytes();
        json.resize(json.len().next_multiple_of(4), b' ');
        let mut file = b"glTF\x02\0\0\0".to_vec();
        file.extend_from_slice(&(28 + json.len() as u32 + self.binary.len() as u32).to_le_bytes());
        file.extend_from_slice(&(json.len() as u32).to_le_bytes());
        file.extend_from_slice(b"JSON");
        file.extend_from_slice(&json);
        file.extend_from_slice(&(self.binary.len() as u32).to_le_bytes());
        file.extend_from_slice(b"BIN\0");
        file.extend_from_slice(&self.binary);
        file
    }
}

/// Everything at once: a quantised strip with a sparse morph target under a skin of two joints, moved by a cubic, a
/// stepped and a linear track.
pub(crate) fn kitchen_sink() -> Vec<u8> {
    let mut glb = GlbBuilder::default();
    // a unit square in normalised signed bytes, four to an element for alignment: 127 is 1
    let square: Vec<u8> =
        [[0, 0], [127, 0], [0, 127], [127, 127]].iter().flat_map(|&[x, y]| [x, y, 0, 0]).collect();
    let view = glb.view(&square);
    glb.views[view]["byteStride"] = serde_json::json!(4);
    let position = glb.accessor(serde_json::json!({
        "bufferView": view, "componentType": 5120, "normalized": true, "count": 4, "type": "VEC3",
    }));
    let indices = glb.view(&[0, 1, 2, 3]);
    let indices = glb.accessor(serde_json::json!({
        "bufferView": indices, "componentType": 5121, "count": 4, "type": "SCALAR",
    }));
    // the target lifts the last vertex by 2 along z
    let sparse_indices = glb.view(&[3]);
    let sparse_values: Vec<u8> = [0.0_f32, 0.0, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    let sparse_values = glb.view(&sparse_values);
    let target = glb.accessor(serde_json::json!({
        "componentType": 5126, "count": 4, "type": "VEC3",
        "sparse": {
            "count": 1,
            "indices": { "bufferView": sparse_indices, "componentType": 5121 },
            "values": { "bufferView": sparse_values },
        },
    }));
    // the lower two vertices hang on joint 0, the upper two on joint 1, by quantised weights
    let joints: Vec<u8> = [0, 0, 1, 1].iter().flat_map(|&joint| [joint, 0, 0, 0]).collect();
    let joints = glb.view(&joints);
    let joints = glb.accessor(serde_json::json!({
        "bufferView": joints, "componentType": 5121, "count": 4, "type": "VEC4",
    }));
    let weights = glb.view(&[255, 0, 0, 0].repeat(4));
    let weights = glb.accessor(serde_json::json!({
        "bufferView": weights, "componentType": 5121, "normalized": true, "count": 4, "type": "VEC4",
    }));
    let identity = glam::Mat4::IDENTITY.to_cols_array();
    let binds = glb.floats("MAT4", 16, &[identity, identity].concat());
    let times = glb.floats("SCALAR", 1, &[0.0, 1.0]);
    // morph weight 0 to 1, linear
    let morph = glb.floats("SCALAR", 1, &[0.0, 1.0]);
    // joint 1 rises from 0 to 1 along y by a cubic with flat ends, joint 0 jumps to x = 5 at the end
    let rise =
        glb.floats("VEC3", 3, &[[0.0; 3], [0.0; 3], [0.0; 3], [0.0; 3], [0.0, 1.0, 0.0], [0.0; 3]].concat());
    let jump = glb.floats("VEC3", 3, &[0.0, 0.0, 0.0, 5.0, 0.0, 0.0]);
    glb.finish(serde_json::json!({
        "scenes": [{ "nodes": [0, 1, 2] }],
        "nodes": [{ "name": "low" }, { "name": "high" }, { "name": "sheet", "mesh": 0, "skin": 0 }],
        "skins": [{ "joints": [0, 1], "inverseBindMatrices": binds }],
        "meshes": [{ "primitives": [{
            "attributes": { "POSITION": position, "JOINTS_0": joints, "WEIGHTS_0": weights },
            "indices": indices, "mode": 5, "targets": [{ "POSITION": target }],
        }], "extras": { "targetNames": ["raised"] } }],
        "animations": [{
            "name": "all",
            "samplers": [
                { "input": times, "output": morph },
                { "input": times, "output": rise, "interpolation": "CUBICSPLINE" },
                { "input": times, "output": jump, "interpolation": "STEP" },
            ],
            "channels": [
                { "sampler": 0, "target": { "node": 2, "path": "weights" } },
                { "sampler": 1, "target": { "node": 1, "path": "translation" } },
                { "sampler": 2, "target": { "node": 0, "path": "translation" } },
            ],
        }],
    }))
}
