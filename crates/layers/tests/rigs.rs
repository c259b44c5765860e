//! `motion` on rigs as strangers make them: hips that slide, controls beside the pelvis, props that leave the hand, scale above the joints.

#![allow(clippy::print_stderr)] // what is skipped, and what was measured, is said aloud

use std::sync::Arc;

use clip::{Clip, Frame, Joint, MemoryFrames, Transform};
use glam::Vec3;
use layers::{Belt, Footing, Motion, Physics};
use samples::Walker;
use shot::{Layer, Target};

fn changed(clip: &Clip, change: impl Fn(usize, &mut Vec<Transform>)) -> Clip {
    let frames = (0..clip.frame_count()).map(|index| {
        let mut frame = clip.frame(index).unwrap();
        change(index, &mut frame.pose);
        frame
    });
    clip.with_frames(Arc::new(MemoryFrames::new(frames.collect())))
}

fn stroll() -> Clip {
    Walker { strides: 1, cell: 0.06, slide: 0.0, tremble: 0.0, frame_rate_hz: 30.0 }.clip()
}

fn joint(clip: &Clip, name: &str) -> usize {
    clip.skeleton.as_ref().unwrap().joint_index(name).unwrap()
}

fn target(clip: &Clip) -> Target {
    Target { clip: clip.clone(), mesh: 0, files: clip::Files::default() }
}

/// Frames, notes and the first frame's warnings.
fn baked(settings: &Motion, clip: &Clip) -> (Vec<Frame>, Vec<(String, String)>, Vec<String>) {
    assert!(settings.check(&target(clip)).is_empty());
    let mut simulation = settings.prepare(&target(clip)).unwrap();
    let mut warnings = Vec::new();
    let frames = (0..clip.frame_count()).map(|index| {
        let result = simulation.frame(index).unwrap();
        warnings.extend(result.warnings);
        result.frame
    });
    (frames.collect(), simulation.notes(), warnings)
}

fn note(notes: &[(String, String)], about: &str) -> String {
    notes.iter().find(|(what, _)| what == about).map(|(_, words)| words.clone()).unwrap_or_default()
}

fn track(clip: &Clip, frames: &[Frame], name: &str) -> Vec<Vec3> {
    let skeleton = clip.skeleton.as_ref().unwrap();
    let at = joint(clip, name);
    frames.iter().map(|frame| skeleton.world_from_joints(&frame.pose)[at].w_axis.truncate()).collect()
}

fn all(clip: &Clip) -> Vec<Frame> {
    (0..clip.frame_count()).map(|index| clip.frame(index).unwrap()).collect()
}

fn farthest(a: &[Vec3], b: &[Vec3]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

/// The stroll with a hip that slides along, by so many metres to either side of its place, and a leg that goes to its feet all the same.
fn sliding(by: f32) -> Clip {
    let plain = stroll();
    let (hip, knee) = (joint(&plain, "LeftUpLeg"), joint(&plain, "LeftLeg"));
    changed(&plain, |index, pose| {
        let slide = Vec3::Z * (by * (0.4 * index as f32).sin());
        pose[hip].translation += slide;
        // from the knee on the leg is where it was
        let back = pose[hip].rotation.inverse() * slide;
        pose[knee].translation -= back;
    })
}

#[test]
fn a_hip_that_slides_is_held_and_said() {
    let clip = sliding(0.03);
    let (frames, notes, warnings) = baked(&Motion::default(), &clip);
    let words = note(&notes, "joints held at their mean");
    assert!(words.starts_with("2; ") && words.contains("0.03"), "{notes:?}");
    assert!(warnings.iter().any(|said| said.contains("LeftUpLeg")), "{warnings:?}");
    // a bone now, and the foot that stands does
    let hip = joint(&clip, "LeftUpLeg");
    assert!(frames.iter().all(|frame| frame.pose[hip].translation == frames[0].pose[hip].translation));
    let toes = track(&clip, &frames, "LeftToeBase");
    assert!(farthest(&toes[2..12], &[toes[2]; 10]) < 1e-3);
    let residual: f64 = note(&notes, "root residual").split(' ').next().unwrap().parse().unwrap();
    assert!(residual < 1e-6, "{notes:?}");
    // physics says so too
    let summary = Physics::of(&clip).unwrap().summary();
    let names: Vec<&str> = summary.held.iter().map(|held| held.joint.as_str()).collect();
    assert!(names.len() == 2 && names.contains(&"LeftUpLeg") && names.contains(&"LeftLeg"), "{names:?}");
    assert!((summary.held[0].farthest_mm - 30.0).abs() < 5.0, "{:?}", summary.held);
    assert!(Physics::of(&stroll()).unwrap().summary().held.is_empty());
}

/// Bones below a joint that is held aim at where their ends were: as far as the leg reaches, feet do not see the hip's slide.
#[test]
fn feet_stay_where_a_sliding_hip_had_them() {
    let clip = sliding(0.04);
    let take = layers::take(&clip).unwrap();
    let body = take.body(&motion::Build::default()).unwrap();
    let ankle = take.bones.iter().position(|bone| bone.name == "LeftFoot").unwrap();
    let mut data = motion::Data::new(&body);
    let ours: Vec<Vec3> = (take.coordinates(&body).iter())
        .map(|q| {
            data.kinematics(&body, q);
            data.point(&body, ankle, geometry::Vec3::ZERO).as_vec3()
        })
        .collect();
    let drawn = track(&clip, &all(&clip), "LeftFoot");
    assert!(farthest(&ours, &drawn) < 0.01, "{}", farthest(&ours, &drawn));
}

#[test]
fn a_joint_that_is_no_bone_is_refused_with_a_remedy() {
    let error = Motion::default().prepare(&target(&sliding(0.4))).err().unwrap();
    assert!(error.to_string().contains("`LeftUpLeg` moves against its parent by 0.4"), "{error}");
    assert!(error.remedy().unwrap().contains("control"), "{error:?}");
}

#[test]
fn what_only_hangs_on_a_hand_goes_on_as_it_was() {
    let plain = stroll();
    let hand = joint(&plain, "RightHand");
    let clip = changed(&plain, |index, pose| pose[hand].translation.y -= 0.02 * index as f32);
    let (frames, notes, _) = baked(&Motion::default(), &clip);
    assert!(note(&notes, "joints held at their mean").is_empty(), "{notes:?}");
    assert!(
        (0..frames.len()).all(|k| frames[k].pose[hand].translation == all(&clip)[k].pose[hand].translation)
    );
}

/// A helmet is no skin: it hangs on a joint, and goes where that goes.
#[test]
fn what_hangs_on_a_joint_goes_with_it() {
    let plain = stroll();
    let mut clip = Walker { strides: 1, cell: 0.06, frame_rate_hz: 30.0, ..Walker::default() }.clip();
    assert_eq!(clip.frame_count(), plain.frame_count());
    let head = joint(&clip, "Head");
    clip.meshes[0].skin = None;
    clip.meshes[0].parent = Some(head);
    let (frames, _, _) = baked(&Motion::default(), &clip);
    let skeleton = clip.skeleton.as_ref().unwrap();
    let (mut off, mut moved) = (0.0_f32, 0.0_f32);
    for (before, after) in all(&clip).iter().zip(&frames) {
        let [was, is] = [before, after].map(|frame| skeleton.world_from_joints(&frame.pose)[head]);
        for (a, b) in before.points[0].iter().zip(&after.points[0]) {
            let own = is * was.inverse();
            off = off.max(own.transform_point3(Vec3::from(*a)).distance(Vec3::from(*b)));
            moved = moved.max(Vec3::from(*a).distance(Vec3::from(*b)));
        }
    }
    assert!(off < 1e-5 && moved > 5e-3, "{off} {moved}");
}

/// A joint on the floor that carries pelvis and controls: the pelvis floats, controls are no part of the body.
#[test]
fn controls_beside_a_moving_pelvis_are_left_alone() {
    let plain = stroll();
    let mut clip = plain.clone();
    let skeleton = clip.skeleton.as_mut().unwrap();
    skeleton
        .joints
        .iter_mut()
        .for_each(|joint| joint.parent = Some(joint.parent.map_or(0, |parent| parent + 1)));
    let rest = Transform::IDENTITY;
    skeleton.joints.insert(0, Joint { name: "master".into(), parent: None, rest });
    skeleton.joints.push(Joint { name: "footIK.l".into(), parent: Some(0), rest });
    for mesh in &mut clip.meshes {
        mesh.skin = None;
    }
    let frames = all(&plain).into_iter().enumerate().map(|(index, mut frame)| {
        frame.pose.insert(0, rest);
        frame.pose.push(Transform { translation: Vec3::X * index as f32, ..rest });
        frame
    });
    let clip = clip.with_frames(Arc::new(MemoryFrames::new(frames.collect())));
    let (frames, notes, _) = baked(&Motion::default(), &clip);
    assert!(note(&notes, "joints held at their mean").is_empty(), "{notes:?}");
    let (plain, _, _) = baked(&Motion::default(), &plain);
    assert!((0..frames.len()).all(|k| frames[k].pose[1..=plain[k].pose.len()] == plain[k].pose));
}

/// Joints in centimetres below a node of a hundredth, as many exporters leave them.
#[test]
fn centimetres_below_a_scale_are_metres() {
    let plain = stroll();
    let clip = changed(&plain, |_, pose| {
        for (k, joint) in pose.iter_mut().enumerate() {
            match k {
                0 => joint.scale = Vec3::splat(0.01),
                _ => joint.translation *= 100.0,
            }
        }
    });
    let (frames, notes, _) = baked(&Motion::default(), &clip);
    assert!(note(&notes, "unit").is_empty(), "{notes:?}");
    let (plain, _, _) = baked(&Motion::default(), &plain);
    for name in ["Hips", "LeftToeBase", "RightHand"] {
        let off = farthest(&track(&clip, &frames, name), &track(&clip, &plain, name));
        assert!(off < 1e-3, "{name}: {off}");
    }
}

/// KayKit's mannequin walks on the spot, its hips sliding by up to 5 cm: on a belt it walks as it was drawn.
#[test]
fn kaykits_walks_obey_physics() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/assets/gltf");
    let path = path.join("Med_MovementBasic.glb");
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return;
    }
    let options = clip::ReadOptions {
        clip: Some("Rig_Medium|Walking_A".into()),
        frame_rate_hz: Some(30.0),
        ..Default::default()
    };
    let clip = clip::read(&path, &options).unwrap();
    // where nothing is said of a belt, it is said which
    let (_, _, warnings) = baked(&Motion::default(), &clip);
    let said = warnings.iter().find_map(|said| said.split("belt = [0.00, 0.0, ").nth(1));
    let speed: f64 =
        said.unwrap_or_else(|| panic!("{warnings:?}")).split(']').next().unwrap().parse().unwrap();
    assert!((-2.0..-0.5).contains(&speed), "{speed}");
    let ground = Some(Footing::Belt(Belt { belt: [0.0, 0.0, speed], height: None }));
    let (frames, notes, warnings) = baked(&Motion { ground, ..Motion::default() }, &clip);
    assert!(warnings.iter().any(|said| said.contains("upperleg.l")), "{warnings:?} {notes:?}");
    let residual: f64 = note(&notes, "root residual").split(' ').next().unwrap().parse().unwrap();
    assert!(residual < 1e-6, "{notes:?}");
    let off = farthest(&track(&clip, &frames, "foot.l"), &track(&clip, &all(&clip), "foot.l"));
    eprintln!("{speed} m/s, {notes:?}; a foot is {off} m from where it was");
    // drawn, it floats over the belt: found 79 mm, in its swing
    assert!(off < 0.1, "{off}");
}
