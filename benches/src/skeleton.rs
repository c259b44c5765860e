//! Flesh around bones: steps a second on lattices of the paper's sizes, one thread, the skin included; what an elbow keeps.
//!
//! The lattices are the automatic ones of the demo cow and kangaroo, about as large as the 177 and 214 points of *skeleton* 2002, whose
//! authors built theirs by hand and reported about 100 steps a second on a machine of 2002.

mod elbow;

use std::process::ExitCode;
use std::time::Instant;

use clip::Clip;
use followthrough::character::{Error, Flesh, Kit, Method, Nonlinear, Player};
use followthrough::layers::{Anatomy, Skeleton};
use glam::Mat4;
use serde_json::{Value, json};
use shot::Target;
use solid::Law;

use crate::allocations;

const RATE: f64 = 240.0;
/// Edge length of the quads of a cow of 5,700 points, in metres.
const SKIN_OF_5000: f64 = 0.0365;

pub(crate) fn run(options: &[String]) -> ExitCode {
    let quick = options.iter().any(|option| option == "--quick");
    if options.iter().any(|option| option == "--peers") {
        println!("peers: fast_cody and rapier3d are not built here");
    }
    match measure(if quick { 600 } else { 6_000 }, quick) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn measure(steps: usize, quick: bool) -> Result<Value, String> {
    println!("lattice               points  skin    steps/s   p99.9/median  ready in");
    let mut rates = serde_json::Map::new();
    let (mut late, mut ratio, mut allocations) = (0.0_f64, 0.0_f64, 0);
    // skins of some 5,000 points
    let cow = samples::Cow { cell: SKIN_OF_5000, ..samples::Cow::default() }.clip();
    for (name, clip, points) in [("177", cow, 177), ("214", samples::kangaroo(), 214)] {
        let prepared = sized(&clip, points)?;
        let linear = prepared.times(Method::GlobalLinear, steps).map_err(words)?;
        let blended = prepared.times(Method::BlendedLinear, steps).map_err(words)?;
        let jointed = prepared.with_joints(true).times(Method::BlendedLinear, steps).map_err(words)?;
        let ways = [("blended", &blended), ("blended, joints", &jointed), ("global linear", &linear)];
        for (method, times) in ways {
            prepared.tell(&format!("{} {method}", clip.name), times);
        }
        rates.insert(name.into(), json!(blended.median.recip()));
        rates.insert(format!("{name}_joints"), json!(jointed.median.recip()));
        late = late.max(blended.late / blended.median);
        allocations += linear.allocations + blended.allocations + jointed.allocations;
        ratio = ratio.max(blended.median / linear.median);
        if points == 214 {
            let frames = if quick { 12 } else { 60 };
            let median = prepared.nonlinear(frames).map_err(words)?;
            println!("{:20} {:7.0} steps/s", format!("{} nonlinear", clip.name), median.recip());
            rates.insert("nonlinear_214".into(), json!(median.recip()));
        }
    }
    if !quick {
        let clip = samples::cow();
        let prepared = sized(&clip, 5_000)?;
        let blended = prepared.times(Method::BlendedLinear, steps / 20).map_err(words)?;
        prepared.tell("cow blended", &blended);
        rates.insert("5000".into(), json!(blended.median.recip()));
    }
    println!("blended over global linear: {ratio:.2}");
    let fine = if quick { 0.02 } else { 0.0111 };
    let setups = [("5k", SKIN_OF_5000), ("50k", fine)].map(|(name, cell)| {
        let clip = samples::Cow { cell, ..samples::Cow::default() }.clip();
        ready(&clip, 800).map(|prepared| (name, prepared.flesh_points, prepared.setup))
    });
    let mut setup = serde_json::Map::new();
    for done in setups {
        let (name, points, seconds) = done?;
        println!("lattice, regions, factors for {points} points of skin: {seconds:.2} s");
        setup.insert(name.into(), json!(seconds));
    }
    let elbow = elbow::table().map_err(words)?;
    Ok(json!({
        "bench": "skeleton",
        "steps_per_second": rates,
        "p999_over_median": late,
        "blended_over_linear": ratio,
        "setup_seconds": setup,
        "fish": null,
        "allocations": allocations,
        "elbow_volume": elbow,
    }))
}

fn words(error: Error) -> String {
    error.to_string()
}

/// A character ready to be played.
#[derive(Clone)]
struct Prepared<'a> {
    clip: &'a Clip,
    flesh: Flesh,
    flesh_points: usize,
    setup: f64,
}

struct Times {
    median: f64,
    late: f64,
    /// While it was stepped.
    allocations: usize,
}

fn ready(clip: &Clip, cells: usize) -> Result<Prepared<'_>, String> {
    let mesh = clip.mesh_index("body").unwrap_or(0);
    let target = Target { clip: clip.clone(), mesh, files: clip::Files::default() };
    let begun = Instant::now();
    let anatomy = Anatomy::new(&Skeleton { cells, ..Skeleton::default() }, &target);
    let Anatomy { flesh, skin, .. } = anatomy.map_err(|error| error.to_string())?;
    Kit::new(&flesh, Method::BlendedLinear, 1.0 / RATE).and_then(Player::new).map_err(words)?;
    let setup = begun.elapsed().as_secs_f64();
    Ok(Prepared { clip, flesh, flesh_points: skin.points.len(), setup })
}

/// With as many lattice points as can be had, near to `points`.
fn sized(clip: &Clip, points: usize) -> Result<Prepared<'_>, String> {
    let mut cells = 2.6 * points as f64;
    let mut best = ready(clip, cells as usize)?;
    for _ in 0..4 {
        let found = best.flesh.report().points as f64;
        if (found / points as f64 - 1.0).abs() < 0.03 {
            break;
        }
        cells *= (points as f64 / found).clamp(0.5, 2.0);
        let next = ready(clip, cells as usize)?;
        let miss = |prepared: &Prepared| (prepared.flesh.report().points as f64 - points as f64).abs();
        if miss(&next) < miss(&best) {
            best = next;
        }
    }
    Ok(best)
}

impl Prepared<'_> {
    fn with_joints(&self, joints: bool) -> Self {
        Self { flesh: self.flesh.clone().with_joints(joints), ..self.clone() }
    }

    fn tell(&self, name: &str, times: &Times) {
        println!(
            "{name:20} {:7} {:5} {:10.0} {:12.2} {:12.2} s",
            self.flesh.report().points,
            self.flesh_points,
            times.median.recip(),
            times.late / times.median,
            self.setup
        );
    }

    /// Poses of the clip, one after the other, `count` of them for every second of [`RATE`].
    fn poses(&self, count: usize) -> Vec<Vec<Mat4>> {
        let Some(skeleton) = &self.clip.skeleton else { return Vec::new() };
        let frames = self.clip.frame_count();
        let per_frame = (RATE / self.clip.frame_rate_hz).round().max(1.0) as usize;
        let frame =
            |k: usize| self.clip.frame(k % frames).map(|frame| skeleton.world_from_joints(&frame.pose));
        let mut poses = Vec::with_capacity(count);
        for k in 0..count {
            let (Ok(a), Ok(b)) = (frame(k / per_frame), frame(k / per_frame + 1)) else { break };
            let s = (k % per_frame) as f32 / per_frame as f32;
            poses.push(a.iter().zip(&b).map(|(a, b)| *a * (1.0 - s) + *b * s).collect());
        }
        poses
    }

    /// Steps of the player with the skin included.
    fn times(&self, method: Method, steps: usize) -> Result<Times, Error> {
        let mut player = Player::new(Kit::new(&self.flesh, method, 1.0 / RATE)?)?;
        let mut surface = vec![[0.0; 3]; player.kit().point_count()];
        let mut times = Vec::with_capacity(steps.max(2));
        let poses = self.poses(steps.max(2));
        let before = allocations::count();
        for pose in &poses {
            let begun = Instant::now();
            player.step(pose, 1.0 / RATE)?;
            player.surface(&mut surface);
            times.push(begun.elapsed().as_secs_f64());
        }
        let allocations = allocations::count() - before;
        times.sort_by(f64::total_cmp);
        Ok(Times { median: times[times.len() / 2], late: times[times.len() * 999 / 1000], allocations })
    }

    /// The median of one backward-Euler step of the engine, in seconds.
    fn nonlinear(&self, steps: usize) -> Result<f64, Error> {
        let mut engine = Nonlinear::new(&self.flesh, Law::NeoHookean, Some(1))?;
        let mut times = Vec::new();
        for pose in &self.poses(steps) {
            let begun = Instant::now();
            engine.step(pose, 1.0 / RATE)?;
            times.push(begun.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }
}
