//! Physics as a few more joints and weights.

use std::sync::Arc;

use clip::{
    Clip, Frame, JointsDelivery, MemoryFrames, Mesh, ReadOptions, SkinDelivery, WriteOptions, Written, read,
};
use glam::{Quat, Vec3};

use crate::common::{assets, files, relative_distance};
use crate::document::{Document, assert_same, list, nodes_of, resolved, without};
use crate::{each_frame, opened, size, written};

fn joints(at_most: usize, error_mm: f64) -> WriteOptions {
    let skin = SkinDelivery::Joints(JointsDelivery { at_most, error_mm });
    WriteOptions { skin, ..WriteOptions::default() }
}

/// How far apart two clips are at most, in millimetres.
fn apart_mm(a: &Clip, b: &Clip) -> f64 {
    let largest = |sum: f64, index: usize| {
        let frames = [a, b].map(|clip| clip.frame(index).unwrap());
        let points = |clip: &Clip, frame: &Frame| -> Vec<[f32; 3]> {
            (clip.meshes.iter().zip(&frame.points))
                .flat_map(|(mesh, points)| mesh.per_vertex(points))
                .collect()
        };
        let [a, b] = [points(a, &frames[0]), points(b, &frames[1])];
        assert_eq!(a.len(), b.len());
        a.iter().zip(&b).fold(sum, |sum, (a, b)| sum.max(f64::from(Vec3::from(*a).distance(Vec3::from(*b)))))
    };
    assert_eq!(a.frame_count(), b.frame_count());
    1e3 * (0..a.frame_count()).fold(0.0, largest)
}

/// What swings like flesh: the higher a point of some meshes, the further, and a while behind what is below it.
fn swung(clip: &Clip, meshes: &[usize]) -> Clip {
    let (by, meshes) = (0.04 * size(clip), meshes.to_vec());
    let rest: Vec<Vec<[f32; 3]>> = meshes.iter().map(|&mesh| clip.meshes[mesh].rest_points.clone()).collect();
    each_frame(clip, move |index, frame| {
        for (&mesh, rest) in meshes.iter().zip(&rest) {
            let axis = |points: &mut dyn Iterator<Item = f32>| {
                points.fold([f32::MAX, f32::MIN], |[low, high], y| [low.min(y), high.max(y)])
            };
            let [low, high] = axis(&mut rest.iter().map(|point| point[1]));
            for (point, rest) in frame.points[mesh].iter_mut().zip(rest) {
                let height = (rest[1] - low) / (high - low).max(1e-6);
                let phase = 0.5 * index as f32 - 1.5 * height;
                let far = by * height * height;
                *point = [point[0] + far * phase.sin(), point[1], point[2] + far * (0.7 * phase).cos()];
            }
        }
    })
}

/// Every vertex hangs on at most four joints, whose weights sum to one.
fn assert_four(clip: &Clip) {
    for influences in
        clip.meshes.iter().filter_map(|mesh| mesh.skin.as_ref()).flat_map(|skin| &skin.influences)
    {
        let sum: f32 = influences.iter().map(|(_, weight)| weight).sum();
        assert!(influences.len() <= 4 && (sum - 1.0).abs() < 1e-6, "{influences:?}");
    }
}

/// A clip that *is* a skin of six rigid joints, and nothing in it that says so.
fn tube() -> Clip {
    let (joints, rings, sides) = (6, 72, 12);
    let ring = |i: usize| 1.2 * (i as f32 + 0.5) / rings as f32;
    let place = |i: usize| {
        let turn = std::f32::consts::TAU * (i % sides) as f32 / sides as f32;
        Vec3::new(ring(i / sides), 0.05 * turn.cos(), 0.05 * turn.sin())
    };
    let rest: Vec<[f32; 3]> = (0..rings * sides).map(|i| place(i).to_array()).collect();
    let corner = |ring: usize, side: usize| (ring * sides + side % sides) as u32;
    let quad = |i: usize| {
        let (r, s) = (i / sides, i % sides);
        let [a, b, c, d] = [corner(r, s), corner(r, s + 1), corner(r + 1, s + 1), corner(r + 1, s)];
        [[a, b, c], [a, c, d]]
    };
    let faces: Vec<[u32; 3]> = (0..(rings - 1) * sides).flat_map(quad).collect();
    let moved = |joint: usize, frame: usize, point: Vec3| {
        let phase = 0.35 * frame as f32 + 1.3 * joint as f32;
        let turn =
            Quat::from_rotation_z(0.5 * phase.sin()) * Quat::from_rotation_x(0.4 * (1.7 * phase).cos());
        let at = Vec3::new(0.2 * joint as f32, 0.0, 0.0);
        at + turn * (point - at) + 0.1 * Vec3::new((0.9 * phase).cos(), phase.sin(), (1.1 * phase).sin())
    };
    let frame = |frame: usize| {
        let at = |i: usize| {
            let (point, x) = (place(i), ring(i / sides) / 0.2);
            let (joint, next) = (x as usize, ((x.fract() - 0.6) / 0.4).clamp(0.0, 1.0));
            let next = if joint + 1 < joints { next } else { 0.0 };
            let other = moved((joint + 1).min(joints - 1), frame, point);
            ((1.0 - next) * moved(joint, frame, point) + next * other).to_array()
        };
        Frame { points: vec![(0..rest.len()).map(at).collect()], pose: Vec::new() }
    };
    let frames = Arc::new(MemoryFrames::new((0..20).map(frame).collect()));
    Clip::new("tube", 24.0, vec![Mesh::new("tube", rest.clone(), &faces)], None, frames)
}

fn assert_small(clip: &Clip, jointed: &Written) {
    let (_folder, _, points) = written(clip, &WriteOptions::default());
    let share = jointed.bytes as f64 / points.bytes as f64;
    assert!(share < 0.2, "{} of {} bytes", jointed.bytes, points.bytes);
}

#[test]
fn a_skin_of_six_rigid_joints_is_found_again() {
    let clip = tube();
    let (_folder, out, report) = written(&clip, &joints(6, 0.01));
    assert_eq!(report.warnings, [""; 0]);
    let back = read(&out, &ReadOptions::default()).unwrap();
    let apart = apart_mm(&clip, &back);
    assert!(apart <= 0.01, "{apart} mm");
    assert_eq!(back.meshes[0].skin.as_ref().unwrap().binds.len(), 6);
    assert_four(&back);
    assert_small(&clip, &report);
    // with fewer it cannot be, and that is said
    let (_folder, out, report) = written(&clip, &joints(3, 0.01));
    let apart = apart_mm(&clip, &read(&out, &ReadOptions::default()).unwrap());
    assert!(apart > 1.0);
    let said = format!("3 joints come within {apart:.2} mm, and 0.01 mm were asked for");
    assert!(report.warnings[0].contains(&said), "{said}: {:?}", report.warnings);
}

#[test]
fn a_wider_bound_takes_fewer_joints_and_keys() {
    let clip = tube();
    let mut bytes = Vec::new();
    for error_mm in [1.0, 50.0, 150.0] {
        let (_folder, out, report) = written(&clip, &joints(8, error_mm));
        let apart = apart_mm(&clip, &read(&out, &ReadOptions::default()).unwrap());
        assert!(apart <= error_mm, "{apart} of {error_mm} mm");
        bytes.push(report.bytes);
    }
    assert!(bytes[0] > bytes[1] && bytes[1] > bytes[2], "{bytes:?}");
}

/// The rig stays, and new joints stand on its own: every rig of the assets, and every skinned mesh of it.
#[test]
fn other_peoples_rigs_keep_all_they_had() {
    let Some(folder) = assets("gltf") else { return };
    let mut rigs = 0;
    for path in files(&folder, &["gltf", "glb"]) {
        let name = path.file_name().unwrap().to_string_lossy();
        let clip = read(&path, &ReadOptions::default()).unwrap();
        let skinned: Vec<usize> =
            (0..clip.meshes.len()).filter(|&mesh| clip.meshes[mesh].skin.is_some()).collect();
        if skinned.is_empty() {
            continue;
        }
        rigs += 1;
        let changed = swung(&clip, &skinned);
        let error_mm = 1e3 * ERROR * f64::from(size(&clip));
        let (_folder, out, report) = written(&changed, &joints(24, error_mm));
        let back = read(&out, &ReadOptions::default()).unwrap();
        let apart = apart_mm(&changed, &back);
        let missed = report.warnings.iter().any(|words| words.contains("were asked for"));
        assert!(!missed && apart <= error_mm, "{name}: {apart} of {error_mm} mm {:?}", report.warnings);
        assert!(apart > 0.0, "{name} was decomposed");
        assert_four(&back);
        assert!(skinned.iter().all(|&mesh| back.meshes[mesh].morph_targets.is_empty()), "{name}");
        let (before, after) = (resolved(&path), resolved(&out));
        let (nodes, count) = (nodes_of(&before, &clip, &skinned), list(&before, "nodes").len());
        let skinless = |mut document: serde_json::Value| {
            document.as_object_mut().unwrap().remove("skins");
            document
        };
        let [before, after] = [before, after].map(|document| skinless(without(document, &nodes, count)));
        assert_same(&name, &before, &after);
    }
    assert!(rigs >= 7, "{rigs} rigs");
}

/// How near other people's rigs come to flesh that swings, as a share of their size.
const ERROR: f64 = 6e-3;

/// Shape keys, a unit of its own, a mesh that another node shows too, other animations, a still, lines beside a surface.
#[test]
fn joints_of_a_document_with_everything() {
    let (_source, path, whole) = opened();
    for unit_in_metres in [None, Some(0.01)] {
        let options = ReadOptions { unit_in_metres, ..ReadOptions::default() };
        let clip = read(&path, &options).unwrap();
        for meshes in [&[0][..], &[2], &[0, 2], &[3]] {
            let moved = meshes.to_vec();
            let by = 0.3 * size(&clip);
            let changed = each_frame(&clip, move |index, frame| {
                let turn = Quat::from_rotation_y(0.1 * index as f32);
                let lift = Vec3::new(0.0, by * (index as f32).sin(), 0.0);
                for &mesh in &moved {
                    frame.points[mesh]
                        .iter_mut()
                        .for_each(|p| *p = (turn * Vec3::from(*p) + lift).to_array());
                }
            });
            let (_folder, out, report) = written(&changed, &joints(4, 1e-3 * f64::from(1e3 * size(&clip))));
            let back = read(&out, &options).unwrap();
            assert!(relative_distance(&changed, &back) < 1e-3, "{meshes:?}");
            let told = report.warnings.iter().filter(|words| words.contains("new joints at rest")).count();
            assert_eq!(told, usize::from(meshes != [3]), "{:?}", report.warnings);
            let skins = list(&Document::open(&out).json, "skins").len();
            assert_eq!(skins, 1 + usize::from(meshes.contains(&0)), "{meshes:?}");
        }
    }
    let one = whole.with_frames(Arc::new(MemoryFrames::new(vec![swung(&whole, &[2]).frame(3).unwrap()])));
    let (_folder, out, _) = written(&one, &joints(4, 1e-3));
    assert!(relative_distance(&one, &read(&out, &ReadOptions::default()).unwrap()) < 1e-5);
}
