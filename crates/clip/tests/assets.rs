//! Other people's files: every one reads, and comes back the same after being written.

#![allow(clippy::print_stdout)] // figures for the curious: --nocapture

mod common;

use clip::{Clip, ReadOptions, WriteOptions, describe, read, write};
use common::{assets, files, joint_distance, relative_distance};

fn rewritten(clip: &Clip, extension: &str) -> Clip {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clip").with_extension(extension);
    write(&path, clip, &WriteOptions::default()).unwrap();
    let back = read(&path, &ReadOptions::default()).unwrap();
    // frames are read from disk when they are asked for
    std::mem::forget(folder);
    back
}

#[test]
fn every_gltf_reads_and_survives_a_round_trip() {
    let Some(folder) = assets("gltf") else { return };
    for path in files(&folder, &["gltf", "glb"]) {
        let clip = read(&path, &ReadOptions::default()).unwrap();
        let points: usize = clip.meshes.iter().map(|mesh| mesh.point_count()).sum();
        let vertices: usize = clip.meshes.iter().map(|mesh| mesh.vertex_count()).sum();
        let joints = clip.skeleton.as_ref().map_or(0, |skeleton| skeleton.joints.len());
        println!(
            "{}: {} meshes, {vertices} vertices on {points} points, {joints} joints, {} frames at {}",
            path.file_name().unwrap().display(),
            clip.meshes.len(),
            clip.frame_count(),
            clip.frame_rate_hz
        );
        let back = rewritten(&clip, "glb");
        assert_eq!(back.frame_rate_hz, clip.frame_rate_hz);
        let distance = relative_distance(&clip, &back);
        assert!(distance <= 2.0 * f64::from(f32::EPSILON), "{}: {distance:e}", path.display());
        for (a, b) in clip.meshes.iter().zip(&back.meshes) {
            assert_eq!(a.name, b.name);
            assert_eq!(a.faces, b.faces);
            assert_eq!(a.uvs, b.uvs);
            assert_eq!(a.parts, b.parts);
        }
        assert_eq!(clip.images, back.images);
        assert_eq!(clip.materials, back.materials);
        if clip.skeleton.is_some() {
            assert!(joint_distance(&clip, &back) < 1e-6);
        }
    }
}

#[test]
fn a_take_lasts_as_long_at_another_rate() {
    let Some(folder) = assets("mocap/cmu_bvh") else { return };
    for path in files(&folder, &["bvh"]) {
        let clip = read(&path, &ReadOptions::default()).unwrap();
        for rate in [24.0, 30.0] {
            let options = ReadOptions { frame_rate_hz: Some(rate), ..ReadOptions::default() };
            let other = read(&path, &options).unwrap();
            assert_eq!(other.frame_rate_hz, rate);
            let (before, after) = (clip.duration(), other.duration());
            assert!(
                after <= before + 1e-6 && after > before - 1.0 / rate,
                "{}: {before} s, {after} s",
                path.display()
            );
        }
    }
}

#[test]
fn every_named_animation_reads() {
    let Some(folder) = assets("gltf") else { return };
    for name in ["RobotExpressive.glb", "Med_MovementBasic.glb"] {
        let path = folder.join(name);
        let animations = describe(&path, &ReadOptions::default()).unwrap().animations;
        assert!(animations.len() > 5);
        for animation in animations {
            let options = ReadOptions {
                clip: Some(animation.name.clone()),
                frame_rate_hz: Some(30.0),
                ..ReadOptions::default()
            };
            let clip = read(&path, &options).unwrap();
            assert_eq!(clip.name, animation.name);
            assert_eq!(clip.frame_count(), (animation.seconds * 30.0 + 1e-3).floor() as usize + 1);
            clip.checked_frame(clip.frame_count() - 1).unwrap();
        }
        let options = ReadOptions { clip: Some("Runing".into()), ..ReadOptions::default() };
        let words = read(&path, &options).err().unwrap().to_string();
        assert!(words.contains("there are `") && words.contains("Running"), "{words}");
    }
}

#[test]
fn a_skinned_mesh_deforms_by_its_skin_as_the_frames_say() {
    let Some(folder) = assets("gltf") else { return };
    for name in ["CesiumMan.glb", "RiggedSimple.glb", "RobotExpressive.glb", "Knight.glb", "SimpleSkin.gltf"]
    {
        let clip = read(folder.join(name), &ReadOptions::default()).unwrap();
        let skeleton = clip.skeleton.as_ref().unwrap();
        let frame = clip.frame(clip.frame_count() / 2).unwrap();
        let worlds = skeleton.world_from_joints(&frame.pose);
        let mut skinned = 0;
        for (mesh, points) in clip.meshes.iter().zip(&frame.points) {
            let Some(skin) = &mesh.skin else { continue };
            skinned += 1;
            let size = points.iter().flatten().fold(0.0_f32, |size, c| size.max(c.abs()));
            for (a, b) in skin.deform(&mesh.rest_points, &worlds).iter().zip(points) {
                let distance = (0..3).map(|i| (a[i] - b[i]).abs()).fold(0.0, f32::max);
                assert!(distance < 1e-4 * size, "{name} {}: {a:?} {b:?}", mesh.name);
            }
            assert!(!mesh.groups.is_empty(), "{name}: the skin gives groups");
        }
        assert!(skinned > 0);
    }
}

#[test]
fn uv_seams_are_welded() {
    let Some(folder) = assets("gltf") else { return };
    let clip = read(folder.join("CesiumMan.glb"), &ReadOptions::default()).unwrap();
    let mesh = &clip.meshes[0];
    assert!(mesh.point_count() < mesh.vertex_count());
    assert_eq!(mesh.vertex_count(), 3273, "what the file lists");
}

#[test]
fn point_caches_read_and_survive() {
    let Some(folder) = assets("sequences") else { return };
    for (name, frames, points) in [
        ("horse-gallop/horse-gallop.pc2", 25, 8431),
        ("samba/samba.pc2", 36, 9971),
        ("pcow/pcow.mdd", 70, 2904),
    ] {
        let clip = read(folder.join(name), &ReadOptions::default()).unwrap();
        assert_eq!((clip.frame_count(), clip.meshes[0].point_count()), (frames, points), "{name}");
        if name.ends_with("mdd") {
            assert_eq!(clip.frame_rate_hz, 30.0);
        }
        for extension in ["pc2", "mdd"] {
            assert_eq!(relative_distance(&clip, &rewritten(&clip, extension)), 0.0, "{name} as {extension}");
        }
        let distance = relative_distance(&clip, &rewritten(&clip, "glb"));
        assert!(distance <= 2.0 * f64::from(f32::EPSILON), "{name} as glb: {distance:e}");
    }
}

#[test]
fn an_obj_sequence_reads_from_any_of_its_files() {
    let Some(folder) = assets("sequences/cylinder/poses-1") else { return };
    let clip = read(folder.join("cylinder-3.obj"), &ReadOptions::default()).unwrap();
    assert_eq!(clip.frame_count(), 4);
    let Some(folder) = assets("cloth/arcsim/meshes/female-objs") else { return };
    // numbered, but the parts of one body: no sequence
    let clip = read(folder.join("body%04d.obj"), &ReadOptions::default()).unwrap();
    let words = clip.checked_frame(15).err().unwrap().to_string();
    assert!(words.contains("frame 15") && words.contains("body0000.obj"), "{words}");
}

#[test]
fn every_bvh_reads_and_comes_back_in_the_same_places() {
    for folder in ["mocap/cmu_bvh", "mocap/bandai_bvh", "meshes/rigged/makehuman"] {
        let Some(folder) = assets(folder) else { return };
        for path in files(&folder, &["bvh"]) {
            let options = ReadOptions { unit_in_metres: Some(0.01), ..ReadOptions::default() };
            let clip = read(&path, &options).unwrap();
            let target = tempfile::tempdir().unwrap();
            let copy = target.path().join("copy.bvh");
            write(&copy, &clip, &WriteOptions { unit_in_metres: Some(0.01), ..WriteOptions::default() })
                .unwrap();
            let back = read(&copy, &options).unwrap();
            let (before, after) = (clip.bvh.as_ref().unwrap(), back.bvh.as_ref().unwrap());
            assert_eq!(before.channels, after.channels, "{}", path.display());
            for (a, b) in before.end_sites.iter().zip(&after.end_sites) {
                assert!(a.0 == b.0 && a.1.distance(b.1) < 1e-6 * (1.0 + a.1.length()));
            }
            assert_eq!(before.end_sites.len(), after.end_sites.len());
            assert!((clip.frame_rate_hz - back.frame_rate_hz).abs() < 1e-3);
            let distance = joint_distance(&clip, &back);
            assert!(distance < 1e-5, "{}: {distance:e}", path.display());
        }
    }
}

#[test]
fn every_acclaim_take_reads_as_a_person_and_goes_to_bvh_in_the_same_places() {
    let Some(folder) = assets("mocap/cmu_asf_amc") else { return };
    for path in files(&folder, &["amc"]) {
        let clip = read(&path, &ReadOptions::default()).unwrap();
        let skeleton = clip.skeleton.as_ref().unwrap();
        let places = |frame: usize| {
            let worlds = skeleton.world_from_joints(&clip.frame(frame).unwrap().pose);
            worlds.iter().map(|world| world.w_axis.truncate()).collect::<Vec<_>>()
        };
        let joint = |name: &str| skeleton.joint_index(name).unwrap();
        // feet come back to one floor, and heads are above it as a person's are
        let frames = (0..clip.frame_count()).step_by(10);
        let all: Vec<_> = frames.map(places).collect();
        let lowest = |name: &str| all.iter().map(|p| p[joint(name)].y).fold(f32::MAX, f32::min);
        let floor = lowest("ltoes").min(lowest("rtoes"));
        assert!((-0.1..0.15).contains(&floor), "{}: {floor}", path.display());
        let tallest = all.iter().map(|p| p[joint("head")].y - floor).fold(0.0, f32::max);
        assert!((1.2..2.3).contains(&tallest), "{}: {tallest}", path.display());
        let copy = rewritten(&clip, "bvh");
        let distance = joint_distance(&clip, &copy);
        assert!(distance < 1e-4, "{}: {distance:e}", path.display());
    }
}

#[test]
fn a_skeleton_goes_from_gltf_to_bvh_and_back_to_gltf() {
    let Some(folder) = assets("gltf") else { return };
    let clip = read(folder.join("Med_MovementBasic.glb"), &ReadOptions::default()).unwrap();
    assert!(clip.meshes.is_empty());
    let as_bvh = rewritten(&clip, "bvh");
    assert!(joint_distance(&clip, &as_bvh) < 1e-4);
    assert!(joint_distance(&clip, &rewritten(&as_bvh, "glb")) < 1e-4);
}

#[test]
fn skinning_and_blending_of_usd_agree_with_usds_own() {
    let Some(folder) = assets("sequences/usd") else { return };
    for (name, tolerance) in [("lbs", 2e-6), ("blendshapes", 2e-6)] {
        let open = |name: String| read(folder.join(name), &ReadOptions::default()).unwrap();
        let (ours, theirs) = (open(format!("{name}.usda")), open(format!("{name}.baked.usda")));
        assert!(ours.frame_count() >= 30);
        let names = |clip: &Clip| clip.meshes.iter().map(|mesh| mesh.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&ours), names(&theirs));
        let distance = relative_distance(&ours, &theirs);
        println!("{name}: {distance:e} of the size over {} frames", ours.frame_count());
        assert!(distance < tolerance, "{name}: {distance:e}");
        let moved = relative_distance(&ours, &ours.with_frames(std::sync::Arc::new(Held(ours.clone()))));
        assert!(moved > 0.01, "{name} does not move");
        if name == "blendshapes" {
            assert!(ours.meshes.iter().any(|mesh| mesh.morph_targets.len() > 1), "shapes stay named targets");
        }
        assert!(rebuilt_distance(&ours) < 1e-6, "{name}: skin and targets say what the frames say");
    }
}

/// How far frames are from what the clip's own targets, weights, skins and poses make of its rest points, relative to its size; for
/// meshes that have any of them.
fn rebuilt_distance(clip: &Clip) -> f64 {
    let (mut worst, mut size) = (0.0_f32, 1e-9_f32);
    for index in 0..clip.frame_count() {
        let (frame, weights) = (clip.frame(index).unwrap(), clip.morph_weights(index).unwrap());
        let worlds = clip.skeleton.as_ref().map(|skeleton| skeleton.world_from_joints(&frame.pose));
        for (mesh, own) in clip.meshes.iter().enumerate() {
            if own.skin.is_none() && own.morph_targets.is_empty() {
                continue;
            }
            let mut points = own.rest_points.clone();
            for (target, &weight) in own.morph_targets.iter().zip(&weights[mesh]) {
                for (point, offset) in points.iter_mut().zip(&target.offsets) {
                    (0..3).for_each(|i| point[i] += weight * offset[i]);
                }
            }
            if let (Some(skin), Some(worlds)) = (&own.skin, &worlds) {
                points = skin.deform(&points, worlds);
            }
            for (a, b) in points.iter().flatten().zip(frame.points[mesh].iter().flatten()) {
                (worst, size) = (worst.max((a - b).abs()), size.max(b.abs()));
            }
        }
    }
    f64::from(worst / size)
}

/// The first frame for ever.
struct Held(Clip);

impl clip::Frames for Held {
    fn count(&self) -> usize {
        self.0.frame_count()
    }

    fn read(&self, _: usize) -> clip::Result<clip::Frame> {
        self.0.frame(0)
    }
}

#[test]
fn every_animation_goes_through_usd_and_alembic_to_the_bit() {
    let mut paths = Vec::new();
    let Some(folder) = assets("gltf") else { return };
    paths.extend(files(&folder, &["gltf", "glb"]));
    let Some(folder) = assets("sequences") else { return };
    paths.extend(
        [
            "horse-gallop/horse-gallop.pc2",
            "samba/samba.pc2",
            "pcow/pcow.mdd",
            "usd/lbs.usda",
            "usd/blendshapes.usda",
            "cylinder/poses-1/cylinder-1.obj",
            "alembic/testusdtimecode.abc",
        ]
        .map(|name| folder.join(name)),
    );
    for path in paths.into_iter().filter(|path| path.is_file()) {
        let Ok(clip) = read(&path, &ReadOptions::default()) else {
            println!("{} is no animation of one topology", path.display());
            continue;
        };
        let back = rewritten(&clip, "usdc");
        assert_eq!((clip.frame_count(), clip.frame_rate_hz), (back.frame_count(), back.frame_rate_hz));
        for frame in 0..clip.frame_count() {
            let (a, b) = (clip.frame(frame).unwrap(), back.frame(frame).unwrap());
            assert!(a.points == b.points, "{}: frame {frame}", path.display());
        }
        for (a, b) in clip.meshes.iter().zip(&back.meshes) {
            assert_eq!((&a.name, &a.skin), (&b.name, &b.skin), "{}", path.display());
            assert_eq!(a.morph_targets, b.morph_targets, "{}", path.display());
        }
        let last = clip.frame_count() - 1;
        assert_eq!(
            clip.morph_weights(last).unwrap(),
            back.morph_weights(last).unwrap(),
            "{}",
            path.display()
        );
        if clip.skeleton.is_some() {
            assert!(joint_distance(&clip, &back) < 1e-3, "{}", path.display());
        }
        if clip.meshes.is_empty() {
            continue;
        }
        let back = rewritten(&clip, "abc");
        assert_eq!((clip.frame_count(), clip.frame_rate_hz), (back.frame_count(), back.frame_rate_hz));
        for frame in 0..clip.frame_count() {
            let (a, b) = (clip.frame(frame).unwrap(), back.frame(frame).unwrap());
            assert!(a.points == b.points, "{}: frame {frame} as abc", path.display());
        }
    }
}

#[test]
fn alembic_of_others_reads_or_is_refused_with_words() {
    let Some(folder) = assets("sequences/alembic") else { return };
    let open = |name: &str| read(folder.join(name), &ReadOptions::default());
    let clip = open("indexedTextureCoordinates.abc").unwrap();
    assert!(clip.meshes[0].point_count() > 0 && !clip.meshes[0].uvs.is_empty());
    assert!(open("cube.abc").err().unwrap().to_string().contains("abcconvert"));
    println!("{}", open("issue253.abc").err().unwrap());
}

#[test]
fn a_shirt_from_a_crate_file_reads() {
    let Some(folder) = assets("cloth/usd") else { return };
    let clip = read(folder.join("unisex_shirt.usd"), &ReadOptions::default()).unwrap();
    assert_eq!((clip.meshes[0].point_count(), clip.meshes[0].faces.len()), (6436, 12736));
}
