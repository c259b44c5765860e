//! The `motion` layer on a stroll drawn in a hurry.

use clip::Clip;
use glam::Vec3;
use layers::{Motion, Pushing};
use samples::Walker;
use shot::{Layer, Target};

fn stroll() -> Clip {
    Walker { strides: 1, cell: 0.06, ..Walker::default() }.clip()
}

fn baked(settings: &Motion, clip: &Clip) -> (Vec<clip::Frame>, Vec<(String, String)>) {
    let target = Target { clip: clip.clone(), mesh: 0, files: clip::Files::default() };
    assert!(settings.check(&target).is_empty());
    let mut simulation = settings.prepare(&target).unwrap();
    let frames = (0..clip.frame_count()).map(|index| simulation.frame(index).unwrap().frame).collect();
    (frames, simulation.notes())
}

/// Where a joint is in every frame.
fn track(clip: &Clip, frames: &[clip::Frame], joint: &str) -> Vec<Vec3> {
    let skeleton = clip.skeleton.as_ref().unwrap();
    let index = skeleton.joint_index(joint).unwrap();
    frames.iter().map(|frame| skeleton.world_from_joints(&frame.pose)[index].w_axis.truncate()).collect()
}

/// How far the joint travels in the frames in which it should stand.
fn travel(track: &[Vec3], frames: std::ops::Range<usize>) -> f32 {
    let here = &track[frames];
    here.iter().map(|x| x.distance(here[0])).fold(0.0, f32::max)
}

#[test]
fn a_rough_stroll_stands_on_its_feet() {
    let clip = stroll();
    let (frames, notes) = baked(&Motion::default(), &clip);
    let before: Vec<clip::Frame> = (0..clip.frame_count()).map(|index| clip.frame(index).unwrap()).collect();
    // the left foot lies flat from 0 to 0.42 of 1.1 s
    let flat = 2..20;
    let (drawn, solved) = (track(&clip, &before, "LeftToeBase"), track(&clip, &frames, "LeftToeBase"));
    assert!(travel(&drawn, flat.clone()) > 0.02, "{}", travel(&drawn, flat));
    assert!(travel(&solved, flat.clone()) < 1e-3, "{} {notes:?}", travel(&solved, flat));
    let hips = (track(&clip, &before, "Hips"), track(&clip, &frames, "Hips"));
    let farthest = hips.0.iter().zip(&hips.1).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(farthest < 0.04, "the hips are {farthest} m from where they were drawn");
    // the mesh goes along
    let moved = frames[10].points[0].iter().zip(&before[10].points[0]);
    assert!(moved.into_iter().any(|(a, b)| a != b));
    let again = baked(&Motion::default(), &clip).0;
    assert_eq!(frames, again);
}

#[test]
fn a_push_moves_the_chest_and_not_the_feet() {
    let clip = Walker { strides: 1, cell: 0.06, slide: 0.0, tremble: 0.0, ..Walker::default() }.clip();
    let pushes = vec![Pushing { joint: "Chest".into(), from: 0.2, to: 0.35, force: [120.0, 0.0, 0.0] }];
    let calm = baked(&Motion { follow: 0.1, ..Motion::default() }, &clip).0;
    let pushed = baked(&Motion { follow: 0.1, pushes, ..Motion::default() }, &clip).0;
    let [a, b] = [&calm, &pushed].map(|frames| track(&clip, frames, "Chest"));
    let aside = a.iter().zip(&b).map(|(a, b)| b.x - a.x).fold(f32::MIN, f32::max);
    assert!(aside > 0.005, "the chest gives way by {aside} m");
    assert!(travel(&track(&clip, &pushed, "LeftToeBase"), 2..20) < 1e-3);
}

#[test]
fn mistakes_get_a_remark() {
    let target = Target { clip: stroll(), mesh: 0, files: clip::Files::default() };
    let pushes = vec![Pushing { joint: "Cheast".into(), from: 0.0, to: 1.0, force: [0.0; 3] }];
    let found = Motion { pushes, ..Motion::default() }.check(&target);
    assert!(found[0].path() == "pushes.0.joint" && found[0].message().contains("Cheast"), "{found:?}");
    let bare = Target { clip: samples::sheet(), mesh: 0, files: clip::Files::default() };
    assert!(Motion::default().check(&bare)[0].message().contains("no skeleton"));
}
