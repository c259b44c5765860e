//! Meshes, vertices, materials, times and joints that are others than the document's.

use std::sync::Arc;

use clip::{Frame, Frames, Mesh, Placement, ReadOptions, WriteOptions, read};
use serde_json::json;

use crate::common::{self, relative_distance};
use crate::document::{assert_same, list, nodes_of, resolved, without};
use crate::{bent, each_frame, opened, written};

#[test]
fn meshes_can_be_taken_out_and_put_in() {
    let (_source, path, clip) = opened();
    let before = resolved(&path);
    let count = list(&before, "nodes").len();

    // without `skinned` and `a`: their nodes stay, the mesh that `b` shares too
    let mut fewer = each_frame(&clip, |_, frame| {
        frame.points.remove(2);
        frame.points.remove(0);
    });
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
    let (_source, path, clip) = opened();
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
    let mut corner = each_frame(&clip, |_, frame| frame.points[0].truncate(3));
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
    let (_source, path, clip) = opened();
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
    let (_source, path, clip) = opened();
    let (mesh, skeleton) = (clip.meshes[2].clone(), clip.skeleton.clone().unwrap());
    let bowed = each_frame(&clip, move |index, frame| {
        let knee = skeleton.joint_index("knee").unwrap();
        frame.pose[knee].rotation = glam::Quat::from_rotation_x(0.05 * index as f32);
        let worlds = skeleton.world_from_joints(&frame.pose);
        frame.points[2] = mesh.skin.as_ref().unwrap().deform(&mesh.rest_points, &worlds);
    });
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
