//! Physics as corrective shapes under the skin.

use std::sync::Arc;

use clip::{
    Clip, Frame, Joint, MemoryFrames, Mesh, ReadOptions, Skeleton, Skin, SkinDelivery, Transform,
    WriteOptions, read,
};
use glam::{Mat4, Quat, Vec3};
use serde_json::{Value, json};

use crate::common::{GlbBuilder, assets, files, relative_distance};
use crate::document::{Document, assert_same, list, list_mut, nodes_of, resolved};
use crate::{bent, each_frame, opened, written};

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
    let mut rigs = 0;
    for path in files(&folder, &["gltf", "glb"]) {
        let name = &*path.file_name().unwrap().to_string_lossy();
        let clip = read(&path, &ReadOptions::default()).unwrap();
        let skinned: Vec<usize> =
            (0..clip.meshes.len()).filter(|&mesh| clip.meshes[mesh].skin.is_some()).collect();
        if skinned.is_empty() {
            continue;
        }
        rigs += 1;
        let changed = bent(&clip, &skinned);
        let (_folder, out, report) = written(&changed, &corrective());
        let back = read(&out, &ReadOptions::default()).unwrap();
        let distance = relative_distance(&changed, &back);
        assert!(distance < 1e-5, "{name}: {distance:e} {:?}", report.warnings);
        let (before, after) = (resolved(&path), resolved(&out));
        let nodes = list(&before, "nodes").len();
        let node = nodes_of(&before, &clip, &skinned);
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
        for mesh in skinned {
            assert_eq!(back.meshes[mesh].skin, clip.meshes[mesh].skin, "{name}");
            let targets = |clip: &Clip| clip.meshes[mesh].morph_targets.len();
            assert_eq!(targets(&back), targets(&clip), "{name}");
        }
    }
    assert!(rigs >= 7, "{rigs} rigs");
}

#[test]
fn corrections_keep_shape_keys_other_animations_and_shared_meshes() {
    let (_source, path, clip) = opened();
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
    let one = clip.with_frames(Arc::new(MemoryFrames::new(vec![bent(&clip, &[2]).frame(3).unwrap()])));
    let (_folder, out, _) = written(&one, &corrective());
    let still = read(&out, &ReadOptions::default()).unwrap();
    assert!(relative_distance(&one, &still) < 1e-6);
}

#[test]
fn normals_of_corrections_turn_as_the_surface_does() {
    let (_source, _path, clip) = opened();
    // the square in x and y, turned by a quarter about x at the hip: its normal z goes to −y, its tangent x stays
    let turned = each_frame(&clip, |_, frame| {
        let middle = frame.points[2][0];
        for p in &mut frame.points[2] {
            let [y, z] = [p[1] - middle[1], p[2] - middle[2]];
            *p = [p[0], middle[1] - z, middle[2] + y];
        }
    });
    let (_folder, out, _) = written(&turned, &corrective());
    let document = Document::open(&out);
    let target = &document.json["meshes"][2]["primitives"][0]["targets"][0];
    let floats = |accessor: &Value| -> Vec<f32> {
        let values = document.accessor(accessor)["values"].as_array().unwrap().clone();
        let bytes: Vec<u8> = values.iter().map(|byte| byte.as_u64().unwrap() as u8).collect();
        bytes.chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect()
    };
    for moved in floats(&target["NORMAL"]).chunks(3) {
        assert!((Vec3::from_slice(moved) - Vec3::new(0.0, -1.0, -1.0)).length() < 1e-5, "{moved:?}");
    }
    for moved in floats(&target["TANGENT"]).chunks(3) {
        assert!(Vec3::from_slice(moved).length() < 1e-5, "{moved:?}");
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
            let distance = Vec3::from(*a).distance(Vec3::from(*b));
            let is_flat = index == last && point % 2 == 1;
            assert!(distance < if is_flat { 0.1 } else { 1e-5 }, "frame {index}, point {point}: {distance}");
        }
    }
}

/// A strip that hangs on six joints at once, from no file.
fn strip() -> Clip {
    let joint = |i: usize| Joint {
        name: format!("joint {i}"),
        parent: None,
        rest: Transform { translation: Vec3::new(i as f32, 0.0, 0.0), ..Transform::IDENTITY },
    };
    let skeleton = Skeleton { joints: (0..6).map(joint).collect() };
    let rest: Vec<[f32; 3]> = (0..24).map(|i| [0.5 * (i / 2) as f32, (i % 2) as f32, 0.0]).collect();
    let faces: Vec<[u32; 3]> =
        (0..22).map(|i| if i % 2 == 0 { [i, i + 2, i + 1] } else { [i, i + 1, i + 2] }).collect();
    let binds = (0..6).map(|i| (i, Mat4::from_translation(Vec3::new(-(i as f32), 0.0, 0.0)))).collect();
    let near = |x: f32, joint: usize| 1.0 / (0.2 + (x - joint as f32).abs());
    let of = |p: &[f32; 3]| {
        let sum: f32 = (0..6).map(|joint| near(p[0], joint)).sum();
        (0..6).map(|joint| (joint as u32, near(p[0], joint) / sum)).collect()
    };
    let skin = Skin { binds, influences: rest.iter().map(of).collect() };
    let frame = |index: usize| {
        let mut pose = skeleton.rest_pose();
        for (i, at) in pose.iter_mut().enumerate() {
            at.rotation = Quat::from_rotation_x(0.1 * (index + i) as f32);
            at.translation.y = 0.2 * ((index + 2 * i) as f32).sin();
        }
        Frame { points: vec![skin.deform(&rest, &skeleton.world_from_joints(&pose))], pose }
    };
    let frames = Arc::new(MemoryFrames::new((0..8).map(frame).collect()));
    let mut mesh = Mesh::new("strip", rest.clone(), &faces);
    mesh.skin = Some(skin.clone());
    Clip::new("strip", 24.0, vec![mesh], Some(skeleton.clone()), frames)
}

/// Most players look at four joints of a vertex: a rig that came from elsewhere with more gets four, and corrections make up for the rest.
#[test]
fn rigs_from_elsewhere_get_four_joints_a_vertex_and_play_the_same() {
    for clip in [strip(), bent(&strip(), &[0])] {
        let (_folder, out, report) = written(&clip, &corrective());
        assert_eq!(report.warnings, [""; 0]);
        let back = read(&out, &ReadOptions::default()).unwrap();
        let distance = relative_distance(&clip, &back);
        assert!(distance < 1e-5, "{distance:e}");
        let skin = back.meshes[0].skin.as_ref().unwrap();
        assert!(skin.influences.iter().all(|of_point| of_point.len() <= 4));
        assert_eq!(back.skeleton.as_ref().unwrap().joints.len(), 6);
    }
}
