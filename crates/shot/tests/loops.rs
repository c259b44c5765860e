//! Animations that are repeated, and loops: a period whose end is its beginning, in place and in velocity.

mod common;

use std::f32::consts::TAU;
use std::path::Path;
use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames, Mesh};
use common::{options, registry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::{Context, Error, FrameResult, Layer, LayerError, Reader, Settings, Shot, Simulation, Target};

/// Frames of a period.
const PERIOD: usize = 12;

fn triangle() -> Mesh {
    Mesh::new("t", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]])
}

/// A triangle that sways, and gets on by so much in a period; with the frame that begins the next period, or without.
fn sway(step: f32, frames: usize) -> Clip {
    let mesh = triangle();
    let frame = |i: usize| {
        let t = i as f32 / PERIOD as f32;
        let by = [step * t, 0.3 * (TAU * t).sin(), 0.0];
        let moved = |p: &[f32; 3]| [p[0] + by[0], p[1] + by[1] * (1.0 + p[0]), p[2]];
        Frame { points: vec![mesh.rest_points.iter().map(moved).collect()], pose: Vec::new() }
    };
    let frames = (0..frames).map(frame).collect();
    Clip::new("sway", 24.0, vec![mesh.clone()], None, Arc::new(MemoryFrames::new(frames)))
}

/// A triangle that grows, and is small again when it begins anew.
fn torn() -> Clip {
    let mesh = triangle();
    let grown = |i: usize| mesh.rest_points.iter().map(|p| p.map(|x| x * (1.0 + 0.2 * i as f32))).collect();
    let frames = (0..6).map(|i| Frame { points: vec![grown(i)], pose: Vec::new() }).collect();
    Clip::new("torn", 24.0, vec![mesh.clone()], None, Arc::new(MemoryFrames::new(frames)))
}

fn shot(text: &str) -> Shot {
    let registry = registry()
        .with_sample("sway", || sway(0.0, PERIOD + 1))
        .with_sample("walk", || sway(2.0, PERIOD + 1))
        .with_sample("torn", torn);
    Reader::new(registry).parse("loop.toml", text, Path::new("")).unwrap()
}

fn x(clip: &Clip, frame: usize) -> [f32; 3] {
    clip.frame(frame).unwrap().points[0][1]
}

#[test]
fn an_animation_is_repeated_and_a_walk_gets_on() {
    let clip = shot("input = { sample = 'sway', repeat = 3 }").open_input().unwrap();
    assert_eq!(clip.frame_count(), 3 * PERIOD + 1);
    assert_eq!(x(&clip, 5), x(&clip, 5 + 2 * PERIOD));
    assert!(clip.warnings.is_empty());

    let clip = shot("input = { sample = 'walk', repeat = 3 }").open_input().unwrap();
    for frame in 0..2 * PERIOD {
        let ([a, b, _], [c, d, _]) = (x(&clip, frame), x(&clip, frame + PERIOD));
        assert!((c - a - 2.0).abs() < 1e-5 && (d - b).abs() < 1e-5, "frame {frame}");
    }
    // what does not end where it began jumps, and says so
    let clip = shot("input = { sample = 'torn', repeat = 2 }").open_input().unwrap();
    assert_eq!(clip.frame_count(), PERIOD);
    assert!(clip.warnings[0].contains("jumps"), "{:?}", clip.warnings);
}

const LAG: &str = "layer = [{ kind = 'lag', frequency = 2.0 }]";

#[test]
fn a_loop_ends_where_it_begins_in_place_and_in_velocity() {
    let out = tempfile::tempdir().unwrap();
    let shot = shot(&format!("input = {{ sample = 'sway', loop = true }}\n{LAG}"));
    let bake = shot.bake(&options(out.path()), &Context::SILENT).unwrap();
    assert_eq!(bake.clip.frame_count(), PERIOD + 1);
    assert_eq!(x(&bake.clip, 0), x(&bake.clip, PERIOD));
    let report = bake.looped.as_ref().unwrap();
    assert!(report.is_settled(), "{report:?}");
    assert!(report.gaps_m.windows(2).all(|pair| pair[1] < pair[0]), "{report:?}");
    // acceleration across the seam is like that in the loop
    let second = |a: [f32; 3], b: [f32; 3], c: [f32; 3]| (a[1] - 2.0 * b[1] + c[1]).abs();
    let inside = (1..PERIOD).map(|i| second(x(&bake.clip, i - 1), x(&bake.clip, i), x(&bake.clip, i + 1)));
    let inside = inside.fold(0.0, f32::max);
    let seam = second(x(&bake.clip, PERIOD - 1), x(&bake.clip, PERIOD), x(&bake.clip, 1));
    assert!(seam < 1.2 * inside, "{seam} at the seam, {inside} inside");
    // it lags: it is not the input
    let apart = (0..PERIOD).map(|i| (x(&bake.clip, i)[1] - x(&bake.input, i)[1]).abs()).fold(0.0, f32::max);
    assert!(apart > 0.05, "{apart}");
    assert!(bake.layers[0].notes.iter().any(|(name, text)| name == "loop" && text.contains("periods")));

    // what is there is read again, and nothing baked
    let again = shot.baked(&options(out.path())).unwrap();
    assert_eq!(x(&again.clip, 3), x(&bake.clip, 3));
    assert_eq!(again.looped, bake.looped);
    let part = shot::BakeOptions { frames: Some("2-4".parse().unwrap()), ..options(out.path()) };
    let part = shot.bake(&part, &Context::SILENT).unwrap();
    assert_eq!((part.clip.frame_count(), part.layers[0].baked), (3, 0));
    assert_eq!(x(&part.clip, 0), x(&bake.clip, 2));
}

#[test]
fn a_walk_is_a_loop_on_its_way() {
    let out = tempfile::tempdir().unwrap();
    let bake = shot(&format!("input = {{ sample = 'walk', loop = true }}\n{LAG}"))
        .bake(&options(out.path()), &Context::SILENT)
        .unwrap();
    let (first, last) = (x(&bake.clip, 0), x(&bake.clip, PERIOD));
    assert!((last[0] - first[0] - 2.0).abs() < 1e-5 && (last[1] - first[1]).abs() < 1e-6);
}

#[test]
fn a_loop_that_does_not_settle_says_so_and_is_closed_all_the_same() {
    let out = tempfile::tempdir().unwrap();
    let text =
        "input = { sample = 'sway', loop = true, repeat = 2 }\nlayer = [{ kind = 'lag', frequency = 0.02 }]";
    let bake = shot(text).bake(&options(out.path()), &Context::SILENT).unwrap();
    let report = bake.looped.as_ref().unwrap();
    assert_eq!(report.gaps_m.len(), 1);
    match report.is_settled() {
        true => panic!("{report:?}"),
        false => assert!(bake.layers[0].warnings.iter().any(|(_, text)| text.contains("`repeat`"))),
    }
    assert_eq!(x(&bake.clip, 0), x(&bake.clip, PERIOD));
}

/// Points sway beside their input to a beat that no period of it holds: they never repeat themselves.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Offbeat {}

impl Settings for Offbeat {
    const KIND: &'static str = "offbeat";
    const SUMMARY: &'static str = "points sway to a beat of their own";
    const VERSION: u32 = 1;
}

impl Layer for Offbeat {
    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        Ok(Box::new(Swaying(input.clone())))
    }
}

/// How far aside a frame is.
fn aside(frame: usize) -> f32 {
    0.3 * (0.11 * frame as f32).sin()
}

struct Swaying(Target);

impl Simulation for Swaying {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let mut points = self.0.points(index)?;
        points.iter_mut().for_each(|p| p[2] += aside(index));
        Ok(FrameResult::from(self.0.with_points(index, points)?))
    }

    fn checkpoint(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), LayerError> {
        Ok(())
    }
}

/// Of all neighbouring periods, and of all halves of one, those are mixed that are nearest; before and after it is they themselves.
#[test]
fn a_loop_that_does_not_settle_is_closed_where_it_is_nearest() {
    let out = tempfile::tempdir().unwrap();
    let registry = registry().with::<Offbeat>().with_sample("sway", || sway(0.0, PERIOD + 1));
    let text = "input = { sample = 'sway', loop = true, repeat = 6 }\nlayer = [{ kind = 'offbeat' }]";
    let shot = Reader::new(registry).parse("loop.toml", text, Path::new("")).unwrap();
    let bake = shot.bake(&options(out.path()), &Context::SILENT).unwrap();
    let report = bake.looped.as_ref().unwrap();
    assert!(!report.is_settled(), "{report:?}");
    let apart = |frame: usize| (aside(frame) - aside(frame - PERIOD)).abs();
    let most = |first: usize| (first..=first + PERIOD / 2).map(apart).fold(0.0, f32::max);
    let firsts = (1..=report.gaps_m.len())
        .flat_map(|period| (0..=PERIOD / 2).map(move |first| period * PERIOD + first));
    let nearest = firsts.min_by(|a, b| most(*a).total_cmp(&most(*b))).unwrap();
    assert!((report.mixed_m - f64::from(most(nearest))).abs() < 1e-6, "{report:?}, {}", most(nearest));
    assert!(most(nearest) < 0.5 * report.gaps_m.iter().copied().fold(0.0, f64::max) as f32, "{report:?}");
    let z = |frame: usize| bake.clip.frame(frame).unwrap().points[0][0][2];
    let (start, first) = (nearest - nearest % PERIOD, nearest % PERIOD);
    for frame in 0..=PERIOD {
        let is = match frame {
            _ if frame <= first => aside(start + frame),
            _ if frame >= first + PERIOD / 2 => aside(start + frame - PERIOD),
            _ => continue,
        };
        assert!((z(frame) - is).abs() < 1e-6, "frame {frame}: {} is not {is}", z(frame));
    }
    assert_eq!(z(0), z(PERIOD));
}

#[test]
fn frames_beyond_a_loop_are_refused() {
    let out = tempfile::tempdir().unwrap();
    let shot = shot(&format!("input = {{ sample = 'sway', loop = true }}\n{LAG}"));
    let part = shot::BakeOptions { frames: Some("0-40".parse().unwrap()), ..options(out.path()) };
    assert!(matches!(shot.bake(&part, &Context::SILENT), Err(Error::NoSuchFrames { .. })));
}
