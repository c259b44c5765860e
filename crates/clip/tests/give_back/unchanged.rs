//! What nobody changed comes back: of every asset, and of a document with everything.

use std::path::Path;

use clip::{ReadOptions, WriteOptions, read};

use crate::common::{assets, files, relative_distance};
use crate::document::{Document, assert_same, list, nodes_of, resolved, without};
use crate::everything::{spread, unpercented};
use crate::{bent, opened, written};

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

#[test]
fn a_document_with_everything_comes_back_whole_and_with_any_mesh_changed() {
    let (_source, path, clip) = opened();
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
    let (_source, _path, clip) = opened();
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
