//! Writing and reading back gives what there was, for every format.

mod common;

use std::sync::Arc;

use clip::{
    BvhChannel, BvhLayout, Clip, Faces, Frame, Frames, Image, Joint, Material, MemoryFrames, Mesh,
    MorphTarget, Part, ReadOptions, Skeleton, Skin, Transform, WriteOptions, read, write,
};
use common::{joint_distance, kitchen_sink, relative_distance};
use glam::{Quat, Vec3};
use proptest::prelude::*;

/// A number that a file can hold: neither endless nor too small to matter.
fn coordinate() -> impl Strategy<Value = f32> {
    prop_oneof![Just(0.0_f32), -10.0_f32..10.0, -1e-4_f32..1e-4, -1e4_f32..1e4]
}

fn point() -> impl Strategy<Value = [f32; 3]> {
    [coordinate(), coordinate(), coordinate()]
}

prop_compose! {
    /// A mesh of polygons with up to five sides, with or without texture coordinates, of one or two materials.
    fn mesh()(points in prop::collection::vec(point(), 5..20), with_uvs in any::<bool>(), two_parts in any::<bool>())
        (faces in prop::collection::vec(
            prop::collection::btree_set(0..points.len() as u32, 3..6).prop_map(|set| set.into_iter().collect::<Vec<_>>()),
            2..12,
        ), points in Just(points), with_uvs in Just(with_uvs), two_parts in Just(two_parts)) -> Mesh {
        let mut faces = faces;
        let count = points.len();
        // OBJ has no place for the texture coordinates of vertices that no face uses
        faces.push((0..count as u32).collect());
        let mut packed = Faces::default();
        faces.iter().for_each(|face| packed.push(face));
        let mut mesh = Mesh::from_faces("mesh", points, packed);
        if with_uvs {
            mesh.uvs = (0..count).map(|i| [i as f32 / 32.0, 1.0 - i as f32 / 64.0]).collect();
        }
        mesh.parts = vec![Part { faces: 0..faces.len(), vertices: 0..count, material: Some(0) }];
        if two_parts {
            mesh.parts[0].faces.end = 1;
            mesh.parts.push(Part { faces: 1..faces.len(), vertices: 0..count, material: Some(1) });
        }
        mesh
    }
}

prop_compose! {
    fn clip()(mesh in mesh(), frames in 1_usize..6)
        (offsets in prop::collection::vec(point(), frames), mesh in Just(mesh)) -> Clip {
        let frames = offsets.iter().enumerate().map(|(i, offset)| {
            let moved = |(j, p): (usize, &[f32; 3])| {
                // some points stay, as pinned ones do
                if j % 3 == 0 { *p } else { std::array::from_fn(|k| p[k] + offset[k] * (i + j) as f32) }
            };
            Frame { points: vec![mesh.rest_points.iter().enumerate().map(moved).collect()], pose: Vec::new() }
        });
        let frames = Arc::new(MemoryFrames::new(frames.collect()));
        let mut clip = Clip::new("clip", 24.0, vec![mesh], None, frames);
        clip.materials = vec![Material::plain("red", [1.0, 0.0, 0.0, 1.0]), Material::plain("glass", [0.0, 0.5, 1.0, 0.5])];
        clip
    }
}

/// Where joints turn, in any order of axes.
fn channels(root: bool) -> impl Strategy<Value = Vec<BvhChannel>> {
    let orders = prop::sample::select(vec![[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]);
    orders.prop_map(move |order| {
        let positions = (0..3).map(BvhChannel::Position).filter(|_| root);
        positions.chain(order.map(BvhChannel::Rotation)).collect()
    })
}

prop_compose! {
    fn motion()(joints in 1_usize..6, frames in 1_usize..5)
        (parents in prop::collection::vec(any::<prop::sample::Index>(), joints),
         offsets in prop::collection::vec(point(), joints),
         channels in prop::collection::vec(channels(false), joints),
         root in channels(true),
         turns in prop::collection::vec((-4.0_f32..4.0, -4.0_f32..4.0, -4.0_f32..4.0), joints * frames)) -> Clip {
        let joints = offsets.len();
        let rest = |i: usize| Transform { translation: Vec3::from(offsets[i]), ..Transform::IDENTITY };
        let joint = |i: usize| Joint {
            name: format!("joint {i}"),
            parent: (i > 0).then(|| parents[i].index(i)),
            rest: rest(i),
        };
        let skeleton = Skeleton { joints: (0..joints).map(joint).collect() };
        let mut layout = BvhLayout { channels, end_sites: Vec::new() };
        layout.channels[0] = root;
        let pose = |frame: &[(f32, f32, f32)]| {
            let turned = |(i, &(x, y, z)): (usize, &(f32, f32, f32))| {
                Transform { rotation: Quat::from_euler(glam::EulerRot::XYZ, x, y, z), ..rest(i) }
            };
            Frame { points: Vec::new(), pose: frame.iter().enumerate().map(turned).collect() }
        };
        let frames = MemoryFrames::new(turns.chunks(joints).map(pose).collect());
        let mut clip = Clip::new("motion", 30.0, Vec::new(), Some(skeleton), Arc::new(frames));
        clip.bvh = Some(layout);
        clip
    }
}

fn with_rewritten<T>(clip: &Clip, name: &str, look: impl FnOnce(Clip) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    write(&path, clip, &WriteOptions::default()).unwrap();
    look(read(&path, &ReadOptions::default()).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn caches_and_sequences_come_back_to_the_bit(clip in clip()) {
        for name in ["a.pc2", "a.mdd", "a.####.obj"] {
            with_rewritten(&clip, name, |back| {
                assert_eq!(back.frame_count(), clip.frame_count());
                for frame in 0..clip.frame_count() {
                    assert_eq!(back.frame(frame).unwrap().points, clip.frame(frame).unwrap().points, "{name}");
                }
                let (a, b) = (&clip.meshes[0], &back.meshes[0]);
                assert_eq!((&a.faces, &a.uvs, &a.parts), (&b.faces, &b.uvs, &b.parts), "{name}");
                if !name.contains('#') {
                    assert_eq!(a.rest_points, b.rest_points);
                }
                let looks = |clip: &Clip| clip.materials.iter().map(|m| (m.name.clone(), m.base_color)).collect::<Vec<_>>();
                assert_eq!(looks(&clip), looks(&back));
            });
        }
    }

    #[test]
    fn usd_comes_back_to_the_bit(clip in clip()) {
        for name in ["a.usdc", "a.usd", "a.usda", "a.usdz"] {
            with_rewritten(&clip, name, |back| {
                assert_eq!((back.frame_count(), back.frame_rate_hz), (clip.frame_count(), clip.frame_rate_hz));
                for frame in 0..clip.frame_count() {
                    assert_eq!(back.frame(frame).unwrap().points, clip.frame(frame).unwrap().points, "{name}");
                }
                let (a, b) = (&clip.meshes[0], &back.meshes[0]);
                assert_eq!((&a.faces, &a.uvs, &a.parts), (&b.faces, &b.uvs, &b.parts), "{name}");
                assert_eq!((&a.name, &clip.name), (&b.name, &back.name));
                if clip.frame_count() > 1 {
                    assert_eq!(a.rest_points, b.rest_points, "{name}");
                }
                let looks = |clip: &Clip| clip.materials.iter().map(|m| (m.name.clone(), m.base_color)).collect::<Vec<_>>();
                assert_eq!(looks(&clip), looks(&back));
            });
        }
    }

    #[test]
    fn alembic_comes_back_to_the_bit(clip in clip()) {
        with_rewritten(&clip, "a.abc", |back| {
            assert_eq!((back.frame_count(), back.frame_rate_hz), (clip.frame_count(), 24.0));
            for frame in 0..clip.frame_count() {
                assert_eq!(back.frame(frame).unwrap().points, clip.frame(frame).unwrap().points);
            }
            let (a, b) = (&clip.meshes[0], &back.meshes[0]);
            assert_eq!((&a.faces, &a.uvs, &a.name), (&b.faces, &b.uvs, &b.name));
            if clip.frame_count() > 1 {
                assert_eq!(a.rest_points, b.rest_points, "kept as Pref");
            }
        });
    }

    #[test]
    fn a_glb_comes_back_to_float_precision(clip in clip()) {
        with_rewritten(&clip, "a.glb", |back| {
            assert!(relative_distance(&clip, &back) <= 2.0 * f64::from(f32::EPSILON));
            let (a, b) = (&clip.meshes[0], &back.meshes[0]);
            assert_eq!(a.faces.triangles().collect::<Vec<_>>(), b.faces.triangles().collect::<Vec<_>>());
            assert_eq!(a.uvs, b.uvs);
            assert_eq!(a.parts.len(), b.parts.len());
            if clip.frame_count() > 1 {
                assert_eq!(a.per_vertex(&a.rest_points), b.per_vertex(&b.rest_points), "the rest shape survives");
            }
        });
    }

    #[test]
    fn a_bvh_comes_back_in_place_with_its_channels(clip in motion()) {
        with_rewritten(&clip, "a.bvh", |back| {
            // joints come back as the file lists them, depth first
            let order: Vec<usize> = back.skeleton.as_ref().unwrap().joints.iter()
                .map(|joint| clip.skeleton.as_ref().unwrap().joint_index(&joint.name).unwrap())
                .collect();
            let expected: Vec<_> = order.iter().map(|&i| clip.bvh.as_ref().unwrap().channels[i].clone()).collect();
            assert_eq!(expected, back.bvh.as_ref().unwrap().channels);
            let mut sorted = clip.clone();
            let skeleton = clip.skeleton.as_ref().unwrap();
            let joints = order.iter().map(|&i| {
                let mut joint = skeleton.joints[i].clone();
                joint.parent = joint.parent.map(|parent| order.iter().position(|&o| o == parent).unwrap());
                joint
            });
            sorted.skeleton = Some(Skeleton { joints: joints.collect() });
            let frames = (0..clip.frame_count()).map(|frame| {
                let pose = clip.frame(frame).unwrap().pose;
                Frame { points: Vec::new(), pose: order.iter().map(|&i| pose[i]).collect() }
            });
            let sorted = sorted.with_frames(Arc::new(MemoryFrames::new(frames.collect())));
            assert!(joint_distance(&sorted, &back) < 1e-5);
        });
    }
}

#[test]
fn quantised_sparse_skinned_morphed_stripped_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.glb");
    std::fs::write(&path, kitchen_sink()).unwrap();
    let clip = read(&path, &ReadOptions { frame_rate_hz: Some(4.0), ..ReadOptions::default() }).unwrap();
    assert_eq!(clip.frame_count(), 5);
    assert_eq!(
        clip.meshes[0].point_triangles(),
        [[0, 1, 2], [1, 3, 2]],
        "a strip turns every other triangle"
    );
    // a quarter on: the morph has lifted the last vertex by 2/4, the cubic 3/16 - 2/64 has raised the upper two
    let quarter = clip.frame(1).unwrap();
    let rise = 0.15625;
    assert_eq!(
        quarter.points[0],
        [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0 + rise, 0.0], [1.0, 1.0 + rise, 0.5]]
    );
    let end = clip.frame(4).unwrap();
    assert_eq!(end.points[0], [[5.0, 0.0, 0.0], [6.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 2.0, 2.0]]);
    assert_eq!(end.pose[0].translation, Vec3::new(5.0, 0.0, 0.0));
    assert_eq!(clip.meshes[0].group("high").unwrap().weights, [0.0, 0.0, 1.0, 1.0]);
    // the target itself is there too, with its weight in every frame
    let target = clip.meshes[0].morph_target("raised").unwrap();
    assert_eq!(target.offsets, [[0.0; 3], [0.0; 3], [0.0; 3], [0.0, 0.0, 2.0]]);
    assert_eq!(target.weight, 0.0);
    assert_eq!(clip.morph_weights(1).unwrap(), [[0.25]]);
    assert!(clip.morph_weights(5).is_err());
    // in a document of ours targets are frames, not shapes
    let mut anew = clip.clone();
    anew.gltf = None;
    with_rewritten(&anew, "baked.glb", |back| assert!(back.meshes[0].morph_targets.is_empty()));
    with_rewritten(&clip, "patched.glb", |back| assert_eq!(back.meshes, clip.meshes));
}

#[test]
fn groups_colours_images_and_hard_edges_survive_a_glb() {
    let mut mesh = Mesh::new(
        "box corner",
        vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        &[[0, 1, 2], [4, 5, 3]],
    );
    // points 0 and 1 have two vertices each: a hard edge
    mesh.vertex_points = vec![0, 1, 2, 3, 0, 1];
    mesh.smoothing = vec![0, 1, 2, 3, 4, 5];
    mesh.uvs = vec![[0.0, 0.5]; 6];
    mesh.parts[0] = Part { faces: 0..2, vertices: 0..6, material: Some(0) };
    mesh.set_group("hoist", vec![0.25, 0.0, 1.0, 0.5]);
    for channel in ["color.r", "color.g", "color.b", "color.a"] {
        mesh.set_group(channel, vec![0.5, 1.0, 0.0, 0.25]);
    }
    let mut clip = Clip::still(mesh, 30.0, 12);
    clip.images.push(Image {
        name: "weave".into(),
        mime_type: "image/png".into(),
        bytes: b"\x89PNG\r\n\x1a\n not really".to_vec(),
    });
    clip.materials.push(Material { base_color_image: Some(0), ..Material::plain("cloth", [1.0; 4]) });
    with_rewritten(&clip, "a.glb", |back| {
        assert_eq!((back.frame_count(), back.frame_rate_hz), (12, 30.0), "a still keeps its length");
        let (a, b) = (&clip.meshes[0], &back.meshes[0]);
        assert_eq!(a.smoothing, b.smoothing);
        assert_eq!(a.vertex_points, b.vertex_points);
        for group in &a.groups {
            assert_eq!(Some(group), b.group(&group.name), "{}", group.name);
        }
        assert_eq!(back.images, clip.images);
        assert_eq!(back.materials[0].base_color_image, Some(0));
        assert!(back.skeleton.is_none());
    });
}

/// Frames in which the first of two morph targets comes and goes.
struct Weighted(MemoryFrames);

impl Frames for Weighted {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        self.0.read(index)
    }

    fn morph_weights(&self, index: usize) -> clip::Result<Vec<Vec<f32>>> {
        Ok(vec![vec![0.1 * index as f32, 1.0]])
    }
}

/// A mesh with everything that can be on one, split at a hard edge, under a skeleton of two joints.
fn decorated() -> Clip {
    let mut mesh = Mesh::new(
        "box corner 1",
        vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        &[[0, 1, 2], [4, 5, 3]],
    );
    mesh.vertex_points = vec![0, 1, 2, 3, 0, 1];
    mesh.smoothing = vec![0, 1, 2, 3, 4, 5];
    mesh.uvs = (0..6).map(|i| [i as f32 / 8.0, 0.5]).collect();
    mesh.parts = vec![
        Part { faces: 0..1, vertices: 0..6, material: Some(0) },
        Part { faces: 1..2, vertices: 0..6, material: None },
    ];
    mesh.set_group("hoist é", vec![0.25, 0.0, 1.0, 0.5]);
    for channel in ["color.r", "color.g", "color.b", "color.a"] {
        mesh.set_group(channel, vec![0.5, 1.0, 0.0, 0.25]);
    }
    let joint = |name: &str, parent, y| Joint {
        name: name.into(),
        parent,
        rest: Transform { translation: Vec3::new(0.0, y, 0.0), ..Transform::IDENTITY },
    };
    let skeleton = Skeleton { joints: vec![joint("hip:1", None, 1.0), joint("knee", Some(0), -0.5)] };
    let bind = |y: f32| glam::Mat4::from_translation(Vec3::new(0.125, y, 0.0));
    mesh.skin = Some(Skin {
        binds: vec![(1, bind(-0.5)), (0, bind(-1.0))],
        influences: vec![vec![(0, 1.0)], vec![(0, 0.25), (1, 0.75)], vec![], vec![(1, 1.0)]],
    });
    let frames = (0..4).map(|i| {
        let turn = Transform { rotation: Quat::from_rotation_z(0.3 * i as f32), ..skeleton.joints[1].rest };
        let moved = |p: &[f32; 3]| [p[0], p[1] + 0.1 * i as f32, p[2]];
        Frame {
            points: vec![mesh.rest_points.iter().map(moved).collect()],
            pose: vec![Transform { scale: Vec3::splat(1.5), ..skeleton.joints[0].rest }, turn],
        }
    });
    let frames = MemoryFrames::new(frames.collect());
    mesh.morph_targets = vec![
        MorphTarget { name: "left smile".into(), offsets: vec![[0.0, 0.25, -0.5]; 4], weight: 0.75 },
        MorphTarget { name: "nothing".into(), offsets: vec![[0.0; 3]; 4], weight: 0.0 },
    ];
    let frames = Arc::new(Weighted(frames));
    let mut clip = Clip::new("a clip", 25.0, vec![mesh], Some(skeleton), frames);
    clip.images.push(Image {
        name: "weave".into(),
        mime_type: "image/png".into(),
        bytes: b"\x89PNG\r\n\x1a\n not really".to_vec(),
    });
    let cloth = Material { base_color_image: Some(0), ..Material::plain("cloth 1", [1.0, 0.5, 0.25, 1.0]) };
    clip.materials.push(cloth);
    clip
}

#[test]
fn a_rig_with_groups_colours_pictures_and_hard_edges_goes_through_usd() {
    let clip = decorated();
    for name in ["a.usdc", "a.usda", "a.usdz"] {
        with_rewritten(&clip, name, |back| {
            let (a, b) = (&clip.meshes[0], &back.meshes[0]);
            assert_eq!(
                (&a.name, &a.vertex_points, &a.faces),
                (&b.name, &b.vertex_points, &b.faces),
                "{name}"
            );
            assert_eq!((&a.uvs, &a.smoothing, &a.parts), (&b.uvs, &b.smoothing, &b.parts), "{name}");
            assert_eq!(a.skin, b.skin, "{name}");
            assert_eq!(a.morph_targets, b.morph_targets, "{name}");
            for group in &a.groups {
                assert_eq!(Some(group), b.group(&group.name), "{name}: {}", group.name);
            }
            assert_eq!(b.group("knee").unwrap().weights, [1.0, 0.25, 0.0, 0.0], "the skin gives groups");
            assert_eq!(back.skeleton, clip.skeleton, "{name}");
            for frame in 0..clip.frame_count() {
                assert_eq!(back.frame(frame).unwrap(), clip.frame(frame).unwrap(), "{name}");
                assert_eq!(back.morph_weights(frame).unwrap(), clip.morph_weights(frame).unwrap(), "{name}");
            }
            assert_eq!(back.images[0].bytes, clip.images[0].bytes, "{name}");
            let (ours, theirs) = (&clip.materials[0], &back.materials[0]);
            assert_eq!(
                (ours.base_color_image, ours.base_color),
                (theirs.base_color_image, theirs.base_color)
            );
            assert_eq!((&ours.name, ours.double_sided), (&theirs.name, theirs.double_sided));
        });
    }
}

#[test]
fn groups_and_seams_go_through_alembic_in_any_unit_from_any_frame() {
    let clip = decorated();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.abc");
    let options = WriteOptions {
        start_frame: Some(1001),
        unit_in_metres: Some(0.01),
        velocities: true,
        ..WriteOptions::default()
    };
    write(&path, &clip, &options).unwrap();
    let unit = ReadOptions { unit_in_metres: Some(0.01), ..ReadOptions::default() };
    let back = read(&path, &unit).unwrap();
    assert_eq!(back.frame_rate_hz, 25.0);
    assert!(relative_distance(&clip, &back) < 2.0 * f64::from(f32::EPSILON));
    let (a, b) = (&clip.meshes[0], &back.meshes[0]);
    assert_eq!((&a.name, &a.vertex_points, &a.faces, &a.uvs), (&b.name, &b.vertex_points, &b.faces, &b.uvs));
    for group in &a.groups {
        assert_eq!(Some(group), b.group(&group.name), "{}", group.name);
    }
    let twice = read(&path, &ReadOptions { frame_rate_hz: Some(50.0), ..unit }).unwrap();
    assert_eq!(twice.frame_count(), 7, "half way between frames is linear");
    let y = |frame: usize| twice.frame(frame).unwrap().points[0][2][1];
    assert!((y(1) - 0.5 * (y(0) + y(2))).abs() < 1e-6);
}

#[test]
fn frames_that_repeat_are_stored_once() {
    let mesh = Mesh::new("flag", vec![[0.0; 3]; 1000], &[[0, 1, 2]]);
    // 0 0 0 1 1 2 2 2: still, moving, still
    let frames =
        [0, 0, 0, 1, 1, 2, 2, 2].map(|i| Frame { points: vec![vec![[i as f32; 3]; 1000]], pose: Vec::new() });
    let clip = Clip::new("c", 24.0, vec![mesh], None, Arc::new(MemoryFrames::new(frames.to_vec())));
    for (name, stored) in [("a.abc", 4), ("a.usdc", 4)] {
        let folder = tempfile::tempdir().unwrap();
        let written = write(folder.path().join(name), &clip, &WriteOptions::default()).unwrap();
        // three shapes, and the one at rest
        assert!((written.bytes as usize) < stored * 12_000 + 6000, "{name}: {}", written.bytes);
        let back = read(folder.path().join(name), &ReadOptions::default()).unwrap();
        for frame in 0..8 {
            assert_eq!(back.frame(frame).unwrap(), clip.frame(frame).unwrap(), "{name}: frame {frame}");
        }
    }
}

#[test]
fn usd_in_centimetres_from_frame_1001_comes_back_in_metres() {
    let clip = decorated();
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.usdc", "a.usda"] {
        let path = folder.path().join(name);
        let options = WriteOptions {
            start_frame: Some(1001),
            unit_in_metres: Some(0.01),
            velocities: true,
            ..WriteOptions::default()
        };
        write(&path, &clip, &options).unwrap();
        let back = read(&path, &ReadOptions::default()).unwrap();
        assert!(relative_distance(&clip, &back) < 2.0 * f64::from(f32::EPSILON), "{name}");
        assert!(joint_distance(&clip, &back) < 1e-6, "{name}");
        let offset = back.meshes[0].morph_targets[0].offsets[3];
        assert!((offset[1] - 0.25).abs() < 1e-6 && (offset[2] + 0.5).abs() < 1e-6, "{name}: {offset:?}");
        let twice = ReadOptions { frame_rate_hz: Some(50.0), ..ReadOptions::default() };
        let back = read(&path, &twice).unwrap();
        assert_eq!(back.frame_count(), 7, "half way between frames is linear");
        let y = |frame: usize| back.frame(frame).unwrap().points[0][2][1];
        assert!((y(1) - 0.5 * (y(0) + y(2))).abs() < 1e-6);
    }
}

/// Raises the second mesh of a clip by a metre.
struct Raised(Clip);

impl Frames for Raised {
    fn count(&self) -> usize {
        self.0.frame_count()
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        let mut frame = self.0.frame(index)?;
        frame.points[1].iter_mut().for_each(|point| point[1] += 1.0);
        Ok(frame)
    }

    fn below(&self) -> Option<Arc<dyn Frames>> {
        Some(self.0.frames().clone())
    }
}

#[test]
fn overrides_have_only_what_moved_at_the_inputs_own_paths() {
    let mesh = |name: &str, more: &str| {
        format!(
            "def Mesh \"{name}\" {{\nint[] faceVertexCounts = [3]\nint[] faceVertexIndices = [0, 1, 2]\n\
             point3f[] points = [(0, 0, 0), (100, 0, 0), (0, 100, 50)]\n{more}\n}}\n"
        )
    };
    let text = format!(
        "#usda 1.0\n(\nmetersPerUnit = 0.01\nupAxis = \"Z\"\nstartTimeCode = 101\nendTimeCode = 102\n)\n\
         def Xform \"set\" {{\ndouble3 xformOp:translate = (0, 0, 50)\n\
         uniform token[] xformOpOrder = [\"xformOp:translate\"]\n{}{}\n}}\n",
        mesh("still", ""),
        mesh(
            "cloth",
            "point3f[] points.timeSamples = { 101: [(0,0,0),(100,0,0),(0,100,0)], 102: [(0,0,25),(100,0,0),(0,100,0)] }"
        ),
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shot.usda");
    std::fs::write(&path, text).unwrap();
    let clip = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(clip.frame(0).unwrap().points[1][2], [0.0, 0.5, -1.0], "centimetres, Z up, half a metre high");
    let raised = clip.with_frames(Arc::new(Raised(clip.clone())));

    let over = folder.path().join("cloth.over.usda");
    write(&over, &raised, &WriteOptions::default()).unwrap();
    let words = std::fs::read_to_string(&over).unwrap();
    assert!(
        words.contains("over \"set\"") && words.contains("over \"cloth\"") && !words.contains("still"),
        "{words}"
    );
    assert!(
        words.contains("102: [(0, 0, 125), (100, 0, 100), (0, 100, 100)]"),
        "in the mesh's own space: {words}"
    );
    assert!(
        words.contains("metersPerUnit = 0.01") && words.contains("upAxis = \"Z\"") && !words.contains("def ")
    );
    write(folder.path().join("cloth.over.usdc"), &raised, &WriteOptions::default()).unwrap();

    let words = write(&over, &decorated(), &WriteOptions::default()).unwrap_err().to_string();
    assert!(words.contains("name the file without `.over`"), "{words}");
}

#[test]
fn a_long_clip_is_split_and_joined_again() {
    let mesh = Mesh::new("flag", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]]);
    let frames = (0..450).map(|i| {
        let mut points = mesh.rest_points.clone();
        points[1][2] = (i as f32 * 0.1).sin();
        Frame { points: vec![points], pose: Vec::new() }
    });
    let clip =
        Clip::new("long", 25.0, vec![mesh.clone()], None, Arc::new(MemoryFrames::new(frames.collect())));
    with_rewritten(&clip, "a.glb", |back| {
        assert_eq!((back.meshes.len(), back.frame_count(), back.frame_rate_hz), (1, 450, 25.0));
        assert_eq!(back.meshes[0].name, "flag");
        assert!(back.skeleton.is_none(), "showing and hiding is no skeleton");
        assert!(relative_distance(&clip, &back) <= 2.0 * f64::from(f32::EPSILON));
    });
}

#[test]
fn a_start_frame_moves_keys_and_not_frames() {
    let mesh = Mesh::new("flag", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]]);
    let frames = (0..3).map(|i| Frame {
        points: vec![vec![[i as f32; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]],
        pose: Vec::new(),
    });
    let clip = Clip::new("short", 24.0, vec![mesh], None, Arc::new(MemoryFrames::new(frames.collect())));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.glb");
    write(&path, &clip, &WriteOptions { start_frame: Some(1), ..WriteOptions::default() }).unwrap();
    let back = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(relative_distance(&clip, &back), 0.0);
    let animation = &clip::describe(&path, &ReadOptions::default()).unwrap().animations[0];
    assert!((animation.seconds - 3.0 / 24.0).abs() < 1e-6, "frames 1, 2, 3");
}

#[test]
fn what_cannot_be_written_is_said_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mesh = Mesh::new("m", vec![[0.0; 3]; 3], &[[0, 1, 2]]);
    let mut frame = Frame { points: vec![mesh.rest_points.clone()], pose: Vec::new() };
    let good = frame.clone();
    frame.points[0][1][2] = f32::INFINITY;
    let clip = Clip::new(
        "c",
        24.0,
        vec![mesh.clone()],
        None,
        Arc::new(MemoryFrames::new(vec![good.clone(), frame])),
    );
    for name in ["a.glb", "a.pc2", "a.mdd", "a.usdc", "a.usda", "a.usdz", "a.abc"] {
        let words = write(folder.path().join(name), &clip, &WriteOptions::default()).unwrap_err().to_string();
        assert_eq!(words, "mesh `m`, frame 1, point 1: a coordinate is not a finite number");
    }
    let short = Frame { points: vec![vec![[0.0; 3]; 2]], pose: Vec::new() };
    let clip = clip.with_frames(Arc::new(MemoryFrames::new(vec![good, short])));
    let words = write(folder.path().join("a.glb"), &clip, &WriteOptions::default()).unwrap_err().to_string();
    assert!(words.contains("frame 1: mesh `m` has 2 points, but 3"), "{words}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no half-written file stays");

    let still = Clip::still(mesh, 24.0, 1);
    let words = write(folder.path().join("no/such/folder/a.glb"), &still, &WriteOptions::default())
        .unwrap_err()
        .to_string();
    assert!(words.contains("a.glb: No such file or directory"), "{words}");
    assert!(
        write(folder.path().join("a.bvh"), &still, &WriteOptions::default())
            .unwrap_err()
            .to_string()
            .contains("no skeleton")
    );
    assert!(
        write(folder.path().join("a.fbx"), &still, &WriteOptions::default())
            .unwrap_err()
            .to_string()
            .contains(".glb")
    );
}
