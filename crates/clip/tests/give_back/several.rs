//! Several clips of one document, each changed in its own way, in one file.

use std::path::Path;

use clip::{Clip, JointsDelivery, ReadOptions, SkinDelivery, WriteOptions, describe, read, write_clips};

use crate::common::{assets, relative_distance};
use crate::{bent, each_frame, opened};

fn clip_of(path: &Path, name: &str) -> Clip {
    read(path, &ReadOptions { clip: Some(name.into()), ..ReadOptions::default() }).unwrap()
}

/// Bends some meshes in every clip, more in each than in the one before; gives back how far the worst is from that when it is read again, of its size.
fn come_back(path: &Path, names: &[&str], meshes: &[usize], skin: SkinDelivery) -> f64 {
    let clips: Vec<Clip> = (0..names.len())
        .map(|k| {
            let changed = bent(&clip_of(path, names[k]), meshes);
            let (by, meshes) = (0.02 * k as f32, meshes.to_vec());
            each_frame(&changed, move |_, frame| {
                meshes.iter().for_each(|&mesh| frame.points[mesh].iter_mut().for_each(|p| p[2] += by));
            })
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("all.glb");
    let report = write_clips(&out, &clips, &WriteOptions { skin, ..WriteOptions::default() }).unwrap();
    assert_eq!(report.bytes, std::fs::metadata(&out).unwrap().len());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    let listed = |path: &Path| -> Vec<String> {
        let animations = describe(path, &ReadOptions::default()).unwrap().animations;
        animations.into_iter().map(|animation| animation.name).collect()
    };
    assert_eq!(listed(&out), listed(path), "the document's own clips, in their order");
    let mut worst = 0.0_f64;
    for (name, clip) in names.iter().zip(&clips) {
        let back = clip_of(&out, name);
        assert_eq!(
            (back.frame_count(), back.frame_rate_hz),
            (clip.frame_count(), clip.frame_rate_hz),
            "{name}"
        );
        for mesh in &back.meshes {
            let sculpted = clip.meshes.iter().find(|own| own.name == mesh.name).unwrap().morph_targets.len();
            assert!(mesh.morph_targets.len() <= sculpted, "frames are no sculptures: {name} {}", mesh.name);
        }
        worst = worst.max(relative_distance(clip, &back));
    }
    worst
}

#[test]
fn every_clip_plays_its_own_shapes() {
    let (_source, path, _) = opened();
    for skin in [SkinDelivery::Points, SkinDelivery::Corrective] {
        // `run` flattens the joint of the skinned mesh, under which nothing can be corrected
        let skinned = if skin == SkinDelivery::Points { 2 } else { 3 };
        let worst = come_back(&path, &["walk", "run"], &[0, skinned], skin);
        assert!(worst < 1e-5, "{skin:?}: {worst:e}");
        // the order is the user's
        let worst = come_back(&path, &["run", "walk"], &[0, 3], skin);
        assert!(worst < 1e-5, "{skin:?}: {worst:e}");
    }
}

#[test]
fn clips_of_a_character_come_back_together() {
    let Some(folder) = assets("gltf") else { return };
    let path = folder.join("RobotExpressive.glb");
    let clip = clip_of(&path, "Wave");
    let mesh = clip.meshes.iter().position(|mesh| mesh.skin.is_some()).unwrap();
    for skin in [SkinDelivery::Points, SkinDelivery::Corrective] {
        let worst = come_back(&path, &["Wave", "Jump", "Yes"], &[mesh], skin);
        assert!(worst < 1e-5, "{skin:?}: {worst:e}");
    }
}

#[test]
fn what_cannot_go_together_is_refused() {
    let (_source, path, _) = opened();
    let clips = ["walk", "run"].map(|name| clip_of(&path, name));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("all.glb");
    let refused = |clips: &[Clip], skin: SkinDelivery| {
        let result = write_clips(&out, clips, &WriteOptions { skin, ..WriteOptions::default() });
        result.unwrap_err().to_string()
    };
    let joints = SkinDelivery::Joints(JointsDelivery::default());
    assert!(refused(&clips, joints).contains("one clip at a time"));
    let mut stranger = clips.to_vec();
    stranger[1].gltf = None;
    assert!(refused(&stranger, SkinDelivery::Points).contains("one glTF file"));
    assert!(refused(&[], SkinDelivery::Points).contains("no clip"));
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is left");
}
