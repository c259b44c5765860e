//! Dressing: a garment starts where it was drawn, is led out of what it was drawn into, and comes into the first frame with nothing crossed.

use std::f32::consts::FRAC_PI_3;
use std::sync::Arc;

use clip::{Clip, Faces, Frame, Joint, MemoryFrames, Mesh, Placement, Skeleton, Skin, Transform};
use geometry::Vec3;
use glam::{Mat4, Quat};
use samples::shapes::{Shape, tube};
use shot::{FrameResult, Layer, Target};

const RATE: f64 = 24.0;
const FRAMES: usize = 4;
const AROUND: usize = 16;

/// An arm along x, straight at rest; in all frames its lower half is bent up by 60°.
fn arm() -> Clip {
    let centres: Vec<Vec3> = (0..21).map(|k| Vec3::new(0.05 * f64::from(k), 0.0, 0.0)).collect();
    let mut mesh = tube(&centres, &[0.05; 21], AROUND).mesh("arm", None);
    let at = |x: f32| Transform { translation: glam::Vec3::new(x, 0.0, 0.0), ..Transform::IDENTITY };
    let joint = |name: &str, parent, x| Joint { name: name.into(), parent, rest: at(x) };
    let skeleton = Skeleton { joints: vec![joint("upper", None, 0.0), joint("lower", Some(0), 0.5)] };
    let bend = |p: &[f32; 3]| ((p[0] - 0.4) / 0.2).clamp(0.0, 1.0);
    let skin = Skin {
        binds: vec![(0, Mat4::IDENTITY), (1, Mat4::from_translation(glam::Vec3::new(-0.5, 0.0, 0.0)))],
        influences: mesh.rest_points.iter().map(|p| vec![(0, 1.0 - bend(p)), (1, bend(p))]).collect(),
    };
    let mut pose = skeleton.rest_pose();
    pose[1].rotation = Quat::from_rotation_z(FRAC_PI_3);
    let points = vec![skin.deform(&mesh.rest_points, &skeleton.world_from_joints(&pose))];
    mesh.skin = Some(skin);
    let frames = MemoryFrames::new(vec![Frame { points, pose }; FRAMES]);
    Clip::new("arm", RATE, vec![mesh], Some(skeleton), Arc::new(frames))
}

/// A sleeve along the arm at rest, from x = 0.1 on, of these radii from its cuff on and this far above the middle of the arm; its first two
/// rings are the group `cuff`.
fn sleeve(radii: &[f64], above: &[f64]) -> Clip {
    let place = |i: usize, j: usize| {
        let (sin, cos) = (std::f64::consts::TAU * i as f64 / AROUND as f64).sin_cos();
        Vec3::new(0.1 + 0.03 * j as f64, above[j] + radii[j] * cos, radii[j] * sin)
    };
    let points = (0..radii.len()).flat_map(|j| (0..AROUND).map(move |i| place(i, j))).collect();
    let mut faces = Faces::default();
    for (j, i) in (1..radii.len()).flat_map(|j| (0..AROUND).map(move |i| (j, i))) {
        let at = |i: usize, j: usize| (j * AROUND + i % AROUND) as u32;
        faces.push(&[at(i, j - 1), at(i, j), at(i + 1, j), at(i + 1, j - 1)]);
    }
    let mut mesh: Mesh = Shape::new(points, faces, Vec::new()).mesh("sleeve", None);
    let count = mesh.point_count();
    mesh.set_group("cuff", (0..count).map(|p| if p < 2 * AROUND { 1.0 } else { 0.0 }).collect());
    Clip::still(mesh, RATE, 1)
}

/// The sleeve on the arm: it hangs on the upper joint.
fn dressed(radii: &[f64], above: &[f64]) -> Clip {
    arm().with_added(&sleeve(radii, above), &Placement { parent: Some(0), ..Placement::default() })
}

fn bake(clip: &Clip, more: &str) -> Vec<FrameResult> {
    let text = format!(
        "follow = {{ group = \"cuff\" }}\ngravity = [0.0, 0.0, 0.0]\n{more}\n\
         contact = {{ obstacles = [{{ mesh = \"arm\" }}] }}"
    );
    let settings: layers::Cloth = toml::from_str(&text).unwrap();
    let target = Target { clip: clip.clone(), mesh: 1, files: clip::Files::in_folder(".") };
    assert!(settings.check(&target).is_empty());
    let mut simulation = settings.prepare(&target).unwrap();
    (0..FRAMES).map(|frame| simulation.frame(frame).unwrap()).collect()
}

fn figure(result: &FrameResult, name: &str) -> f64 {
    result.figures.get(name).unwrap_or(0.0)
}

/// Without a start the forearm sticks through the sleeve in the first frame, which is straight there; with one it has taken the sleeve along.
#[test]
fn a_start_brings_a_garment_into_the_first_frame_uncrossed() {
    let clip = dressed(&[0.06; 20], &[0.0; 20]);
    let without = bake(&clip, "");
    assert!(figure(&without[0], "intersections/obstacles") > 20.0);
    let remedies = |frame: &FrameResult| frame.warnings.iter().filter(|w| w.contains("`start = {}`")).count();
    assert_eq!(without.iter().map(remedies).collect::<Vec<_>>(), [1, 0, 0, 0], "{:?}", without[0].warnings);
    let with = bake(&clip, "start = { seconds = 0.8 }");
    let rest = clip.frame(0).unwrap();
    for (index, frame) in with.iter().enumerate() {
        assert_eq!(figure(frame, "intersections/obstacles"), 0.0, "frame {index}");
        assert_eq!(figure(frame, "intersections/itself"), 0.0, "frame {index}");
        // what follows is the input's own numbers
        assert_eq!(frame.frame.points[1][..2 * AROUND], rest.points[1][..2 * AROUND]);
    }
    assert!(!with[0].warnings.iter().any(|warning| warning.contains("began with")), "{:?}", with[0].warnings);
    assert_eq!(remedies(&with[0]), 0);
    // the end of the sleeve went up with the forearm: at rest it ends 17 cm behind the elbow
    let end = with[0].frame.points[1][19 * AROUND..].iter().map(|p| p[1]).sum::<f32>() / AROUND as f32;
    assert!(end > 0.1, "{end}");
}

/// A cuff drawn into the arm and pinned there is exempt, with one sentence; nothing is untangled for it, and the rest meets the arm.
#[test]
fn a_collar_is_exempt_and_told_once() {
    let mut radii = [0.058; 9];
    radii[..2].copy_from_slice(&[0.045, 0.047]);
    let frames = bake(&dressed(&radii, &[0.0; 9]), "start = { seconds = 0.5 }\npre_roll = 0.2");
    let told = &frames[0].warnings;
    let exempt: Vec<&String> =
        told.iter().filter(|warning| warning.contains("follow exactly begin inside")).collect();
    assert!(exempt.len() == 1 && exempt[0].starts_with("32 points of `sleeve`"), "{told:?}");
    for (index, frame) in frames.iter().enumerate() {
        assert_eq!(figure(frame, "intersections/obstacles"), 0.0, "frame {index}");
        assert!(figure(frame, "intersections/followed exactly") > 0.0, "the cuff itself stays inside");
        let nags = |warning: &String| warning.contains("untangling") || warning.contains("cross,");
        assert!(!frame.warnings.iter().any(nags), "frame {index}: {:?}", frame.warnings);
    }
}

/// Another pose to start in, from a file: the same as rest where it is rest, and told where nothing in it fits.
#[test]
fn a_start_takes_its_pose_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let clip = dressed(&[0.06; 12], &[0.0; 12]);
    let still = clip.with_frames(Arc::new(MemoryFrames::new(vec![clip.rest_frame()])));
    clip::write(folder.path().join("rest.glb"), &still, &clip::WriteOptions::default()).unwrap();
    let posed = |file: &str| {
        let text = format!("start = {{ seconds = 0.1, pose = \"{file}\" }}\nfollow = {{ group = \"cuff\" }}");
        let settings: layers::Cloth = toml::from_str(&text).unwrap();
        let target = Target { clip: clip.clone(), mesh: 1, files: clip::Files::in_folder(folder.path()) };
        (settings.check(&target), settings.prepare(&target).and_then(|mut simulation| simulation.frame(0)))
    };
    let (mistakes, first) = posed("rest.glb");
    assert!(mistakes.is_empty(), "{mistakes:?}");
    let text = "start = { seconds = 0.1 }\nfollow = { group = \"cuff\" }";
    let settings: layers::Cloth = toml::from_str(text).unwrap();
    let target = Target { clip: clip.clone(), mesh: 1, files: clip::Files::in_folder(folder.path()) };
    let at_rest = settings.prepare(&target).unwrap().frame(0).unwrap();
    for (a, b) in first.unwrap().frame.points[1].iter().zip(&at_rest.frame.points[1]) {
        assert!(glam::Vec3::from(*a).distance(glam::Vec3::from(*b)) < 1e-4);
    }
    let other = Clip::still(
        Mesh::new("hat", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]]),
        RATE,
        1,
    );
    clip::write(folder.path().join("hat.obj"), &other, &clip::WriteOptions::default()).unwrap();
    let (mistakes, _) = posed("hat.obj");
    assert!(mistakes.len() == 1 && mistakes[0].path() == "start.pose", "{mistakes:?}");
}
