//! Whoever moves along sees the same: a shot that moves at a constant velocity, its air and its obstacles included, gives the moved
//! result. And what is no motion is a cut, at any speed.

use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames};
use geometry::Vec3;
use shot::{FrameResult, Layer, Target};

/// With this rate and this velocity a frame's way, ½ and ¼ m, is an exact number, also in single precision.
const RATE: f64 = 32.0;
const VELOCITY: [f64; 3] = [16.0, 0.0, -8.0];

fn way(frame: usize) -> [f32; 3] {
    VELOCITY.map(|v| (v * frame as f64 / RATE) as f32)
}

/// Coordinates that stay exact when they are moved by [`way`].
fn exact(points: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let round = |x: f32| (x * 65536.0).round() / 65536.0;
    points.iter().map(|p| p.map(round)).collect()
}

fn shifted(points: &[[f32; 3]], by: [f32; 3], sign: f32) -> Vec<[f32; 3]> {
    points.iter().map(|p| [0, 1, 2].map(|k| p[k] + sign * by[k])).collect()
}

/// The first frames of a sample, at rest and moving along.
fn pair(sample: &Clip, frames: usize) -> [Clip; 2] {
    [false, true].map(|moves| {
        let of = |index: usize| {
            let mut frame = sample.frame(index).unwrap();
            let by = if moves { way(index) } else { [0.0; 3] };
            if let Some(skeleton) = &sample.skeleton {
                for (joint, pose) in skeleton.joints.iter().zip(&mut frame.pose) {
                    if joint.parent.is_none() {
                        pose.translation += glam::Vec3::from(by);
                    }
                }
                let joints = skeleton.world_from_joints(&frame.pose);
                for (mesh, points) in sample.meshes.iter().zip(&mut frame.points) {
                    if let Some(skin) = &mesh.skin {
                        *points = skin.deform(&mesh.rest_points, &joints);
                    }
                }
            } else {
                frame.points.iter_mut().for_each(|points| *points = shifted(&exact(points), by, 1.0));
            }
            frame
        };
        let frames: Vec<Frame> = (0..frames).map(of).collect();
        let mut clip = sample.with_frames(Arc::new(MemoryFrames::new(frames)));
        clip.frame_rate_hz = RATE;
        clip
    })
}

fn bake(layer: &dyn Layer, clip: &Clip) -> Vec<FrameResult> {
    let input = Target { clip: clip.clone(), mesh: 0, files: clip::Files::default() };
    assert_eq!(layer.check(&input).len(), 0, "{:?}", layer.check(&input));
    let mut simulation = layer.prepare(&input).unwrap();
    (0..clip.frame_count()).map(|index| simulation.frame(index).unwrap()).collect()
}

fn farthest(a: &[[f32; 3]], b: &[[f32; 3]]) -> f64 {
    let apart = a.iter().zip(b).map(|(a, b)| glam::Vec3::from(*a).distance(glam::Vec3::from(*b)));
    f64::from(apart.fold(0.0, f32::max))
}

/// How far a moving shot comes to be from the moved result, and how far both are from their animation, in metres. `moving` are the
/// settings as someone writes them who sees it pass by.
fn departure<L: Layer + serde::de::DeserializeOwned>(
    sample: &Clip,
    frames: usize,
    still: &str,
    moving: &str,
) -> (f64, f64) {
    let [at_rest, along] = pair(sample, frames);
    let [still, moving] = [still, moving].map(|text| toml::from_str::<L>(text).unwrap());
    let [here, there] = [bake(&still, &at_rest), bake(&moving, &along)];
    let (mut apart, mut moved) = (0.0_f64, 0.0_f64);
    for (index, (a, b)) in here.iter().zip(&there).enumerate() {
        let back = shifted(&b.frame.points[0], way(index), -1.0);
        apart = apart.max(farthest(&a.frame.points[0], &back));
        let own = at_rest.frame(index).unwrap();
        if own.points[0].len() == back.len() {
            moved = moved.max(farthest(&a.frame.points[0], &own.points[0]));
        }
        assert_eq!(b.fallbacks, Vec::<String>::new());
    }
    (apart, moved)
}

/// Coordinates grow to some 8 m, where single precision has steps of 5e-7 m; what is simulated is a little softer than that.
const SINGLE: f64 = 4e-6;

/// Settings in a steady wind of 9 m/s, which holds a flag out so that no fold magnifies the rounding of a solver, as they are written
/// at rest and by someone who sees it pass by.
fn with_wind(text: &str) -> [String; 2] {
    let wind = |velocity: Vec3| {
        let (speed, direction) = (velocity.length(), velocity.to_array());
        format!("wind = {{ speed = {speed:?}, direction = {direction:?}, gust = 0.0 }}\n{text}")
    };
    let own = Vec3::new(9.0, 0.0, 1.0);
    [wind(own), wind(own + Vec3::from(VELOCITY))]
}

/// A square of cloth on a bar that sways; its first row is in the group `hoist`.
fn patch() -> Clip {
    let mut mesh = samples::shapes::cloth_patch(6, 0.5).mesh("patch", None);
    let left = mesh.rest_points.iter().map(|p| p[0]).fold(f32::INFINITY, f32::min);
    let hoist = mesh.rest_points.iter().map(|p| if p[0] < left + 1e-4 { 1.0 } else { 0.0 }).collect();
    mesh.set_group("hoist", hoist);
    let frame = |index: usize| {
        let sway = 0.05 * (0.9 * index as f32).sin();
        Frame { points: vec![shifted(&mesh.rest_points, [0.0, sway, 0.0], 1.0)], pose: Vec::new() }
    };
    let frames = MemoryFrames::new((0..12).map(frame).collect());
    Clip::new("patch", RATE, vec![mesh.clone()], None, Arc::new(frames))
}

#[test]
fn cloth_that_moves_along_hangs_as_at_rest() {
    let [still, moving] = with_wind("follow = { group = \"hoist\" }\nsubsteps = 4\ntolerance = 1e-5\n");
    let (apart, moved) = departure::<layers::Cloth>(&patch(), 6, &still, &moving);
    assert!(apart < SINGLE && moved > 0.01, "{apart} {moved}");
}

/// Steps by accuracy, a pre-roll, and an obstacle that comes along.
#[test]
fn cloth_on_an_obstacle_that_moves_along_lies_as_at_rest() {
    let dials = "follow = { group = \"hoist\" }\npre_roll = 0.1\ntolerance = 1e-4\n";
    let obstacle = "[contact]\nobstacles = [{ shape = \"sphere\", radius = 0.1, centre = [0.1, -0.13, 0.1]";
    let [still, moving] = with_wind(dials);
    let still = format!("{still}{obstacle} }}]\n");
    let moving = format!("{moving}{obstacle}, velocity = {VELOCITY:?} }}]\n");
    let (apart, moved) = departure::<layers::Cloth>(&patch(), 4, &still, &moving);
    assert!(apart < SINGLE && moved > 0.01, "{apart} {moved}");
}

#[test]
fn a_tracked_shell_that_moves_along_wrinkles_as_at_rest() {
    let [still, moving] = with_wind("subdivide = 1\nsubsteps = 3\n");
    let (apart, _) = departure::<layers::Tracks>(&samples::box_guide(), 8, &still, &moving);
    assert!(apart < SINGLE, "{apart}");
}

#[test]
fn threads_that_move_along_hang_as_at_rest() {
    let [still, moving] = with_wind("follow = { group = \"hoist\" }\nsubsteps = 4\n");
    let (apart, moved) = departure::<layers::Inextensible>(&patch(), 4, &still, &moving);
    assert!(apart < SINGLE && moved > 0.01, "{apart} {moved}");
}

/// A ball of 12 cm on a stick that is shaken.
fn shaken_ball() -> Clip {
    let mesh = samples::shapes::icosphere(0.06, 2).mesh("ball", None);
    let frame = |index: usize| {
        let sway = 0.05 * (0.9 * index as f32).sin();
        Frame { points: vec![shifted(&mesh.rest_points, [sway, 0.0, 0.0], 1.0)], pose: Vec::new() }
    };
    let frames = MemoryFrames::new((0..12).map(frame).collect());
    Clip::new("ball", RATE, vec![mesh.clone()], None, Arc::new(frames))
}

/// It was taken for a cut in every frame, and did not swing at all.
#[test]
fn flesh_that_moves_along_swings_as_at_rest() {
    let dials = "material = \"jelly\"\nyoung = 2000.0\ntets = 200\nsubsteps = 3\n\
        follow = { sphere = { centre = [0.0, -0.06, 0.0], radius = 0.04 } }\n";
    for more in ["", "pre_roll = 0.1\ngravity = [0.0, -9.81, 0.0]\n"] {
        let dials = format!("{dials}{more}");
        let (apart, moved) = departure::<layers::Enrich>(&shaken_ball(), 12, &dials, &dials);
        assert!(apart < SINGLE && moved > 0.01, "{apart} {moved}");
    }
}

#[test]
fn flesh_on_bones_that_move_along_swings_as_at_rest() {
    for method in ["blended", "nonlinear"] {
        let dials =
            format!("cells = 200\npre_roll = 0.1\nmethod = \"{method}\"\ngravity = [0.0, -9.81, 0.0]\n");
        let (apart, moved) = departure::<layers::Skeleton>(&samples::quadruped(), 6, &dials, &dials);
        assert!(apart < 4.0 * SINGLE && moved > 1e-3, "{method}: {apart} {moved}");
    }
}

/// At 16 m/s and at rest alike, a jump of half a metre by 12 cm of flesh, or one that was marked, is a cut, and nothing else is.
#[test]
fn a_cut_is_one_at_any_speed() {
    let sample = shaken_ball();
    let dials = "material = \"jelly\"\ntets = 100\n\
        follow = { sphere = { centre = [0.0, -0.06, 0.0], radius = 0.04 } }\n";
    let layer: layers::Enrich = toml::from_str(dials).unwrap();
    for (jump, marked) in [(0.0, None), (0.6, None), (0.1, Some(7))] {
        let parted = |index: usize| {
            let mut frame = sample.frame(index).unwrap();
            let by = if index >= 7 { [jump, 0.0, 0.0] } else { [0.0; 3] };
            frame.points[0] = shifted(&frame.points[0], by, 1.0);
            frame
        };
        let frames = MemoryFrames::new((0..12).map(parted).collect());
        let results = pair(&sample.with_frames(Arc::new(frames)), 12).map(|mut clip| {
            clip.cuts = marked.into_iter().collect();
            bake(&layer, &clip)
        });
        for result in &results {
            let is_cut =
                |frame: &FrameResult| frame.fallbacks.iter().any(|w| w.contains("the animation cuts"));
            let cuts: Vec<usize> = (0..12).filter(|&index| is_cut(&result[index])).collect();
            assert_eq!(cuts, if jump > 0.0 { vec![7] } else { vec![] }, "{jump} m, marked {marked:?}");
        }
        for index in 0..12 {
            let [a, b] = [0, 1].map(|k| &results[k][index].frame.points[0]);
            let apart = farthest(a, &shifted(b, way(index), -1.0));
            assert!(apart < SINGLE, "frame {index} after a jump of {jump} m: {apart} m");
        }
    }
}
