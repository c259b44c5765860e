//! Flesh around bones: steps a second on lattices of the paper's sizes, one thread, the skin included; what an elbow keeps.
//!
//! The lattices are the automatic ones of the demo cow and kangaroo, about as large as the 177 and 214 points of *skeleton* 2002, whose
//! authors built theirs by hand and reported about 100 steps a second on a machine of 2002.

use std::process::ExitCode;
use std::time::Instant;

use clip::Clip;
use followthrough::character::{Error, Flesh, Kit, Method, Nonlinear, Player};
use followthrough::layers::{Anatomy, Skeleton};
use geometry::Vec3;
use glam::{DAffine3, DQuat, Mat4};
use serde_json::{Value, json};
use shot::Target;
use solid::{Law, Material};

const RATE: f64 = 240.0;

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
    let (mut late, mut ratio) = (0.0_f64, 0.0_f64);
    for (name, clip, points) in [("177", samples::cow(), 177), ("214", samples::kangaroo(), 214)] {
        let prepared = sized(&clip, points)?;
        let linear = prepared.times(Method::GlobalLinear, steps).map_err(words)?;
        let blended = prepared.times(Method::BlendedLinear, steps).map_err(words)?;
        for (method, times) in [("blended", &blended), ("global linear", &linear)] {
            prepared.tell(&format!("{} {method}", clip.name), times);
        }
        rates.insert(name.into(), json!(blended.median.recip()));
        late = late.max(blended.late / blended.median);
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
    let fine = if quick { 0.02 } else { 0.0088 };
    let setups = [("5k", 0.027), ("50k", fine)].map(|(name, cell)| {
        let clip = samples::Cow { cell, ..samples::Cow::default() }.clip();
        ready(&clip, 800).map(|prepared| (name, prepared.flesh_points, prepared.setup))
    });
    let mut setup = serde_json::Map::new();
    for done in setups {
        let (name, points, seconds) = done?;
        println!("lattice, regions, factors for {points} points of skin: {seconds:.2} s");
        setup.insert(name.into(), json!(seconds));
    }
    let elbow = elbow().map_err(words)?;
    Ok(json!({
        "bench": "skeleton",
        "steps_per_second": rates,
        "p999_over_median": late,
        "blended_over_linear": ratio,
        "setup_seconds": setup,
        "fish": null,
        "allocations": null,
        "elbow_volume": elbow,
    }))
}

fn words(error: Error) -> String {
    error.to_string()
}

/// A character ready to be played.
struct Prepared<'a> {
    clip: &'a Clip,
    flesh: Flesh,
    flesh_points: usize,
    setup: f64,
}

struct Times {
    median: f64,
    late: f64,
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
        let mut times = Vec::with_capacity(steps);
        for pose in &self.poses(steps.max(2)) {
            let begun = Instant::now();
            player.step(pose, 1.0 / RATE)?;
            player.surface(&mut surface);
            times.push(begun.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        Ok(Times { median: times[times.len() / 2], late: times[times.len() * 999 / 1000] })
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

/// How much of its blended stretch the elbow of the samples has gained or lost at 120°, in parts of it, by linear and by dual-quaternion skinning, and by ours.
fn elbow() -> Result<Value, Error> {
    const STRETCH: f64 = std::f64::consts::PI * 0.2 * 0.2 * 0.6;
    let clip = samples::elbow();
    let mesh = &clip.meshes[0];
    let (Some(skin), Some(skeleton)) = (&mesh.skin, &clip.skeleton) else { return Ok(Value::Null) };
    let triangles = mesh.point_triangles();
    let volume = |points: &[Vec3]| -> f64 {
        let of = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| points[v as usize]);
            a.dot(b.cross(c)) / 6.0
        };
        triangles.iter().map(of).sum()
    };
    let rest = mesh.rest();
    let change = |points: &[Vec3]| (volume(points) - volume(&rest)) / STRETCH;
    // bent as far as it goes, after a rest
    let frame = 39;
    let at = |frame: usize| clip.frame(frame).map(|frame| skeleton.world_from_joints(&frame.pose));
    let Ok(world) = at(frame) else { return Ok(Value::Null) };
    let moves: Vec<DAffine3> = skin
        .binds
        .iter()
        .map(|(joint, bind)| DAffine3::from_mat4((world[*joint] * *bind).as_dmat4()))
        .collect();
    let linear = |(p, row): (&Vec3, &Vec<(u32, f32)>)| -> Vec3 {
        row.iter().map(|&(joint, w)| f64::from(w) * moves[joint as usize].transform_point3(*p)).sum()
    };
    let dual = |(p, row): (&Vec3, &Vec<(u32, f32)>)| dual_quaternions(*p, row, &moves);
    let pairs = || rest.iter().zip(&skin.influences);
    let lbs: Vec<Vec3> = pairs().map(linear).collect();
    let dqs: Vec<Vec3> = pairs().map(dual).collect();

    let target = Target { clip: clip.clone(), mesh: 0, files: clip::Files::default() };
    let settings =
        Skeleton { material: "muscle".into(), damping: Some(0.5), cells: 600, ..Skeleton::default() };
    let Ok(Anatomy { flesh, .. }) = Anatomy::new(&settings, &target) else { return Ok(Value::Null) };
    let mut player = Player::new(Kit::new(&flesh, Method::BlendedLinear, 1.0 / RATE)?)?;
    let mut engine = Nonlinear::new(&flesh, Law::NeoHookean, Some(1))?;
    for k in 0..=frame {
        let Ok(world) = at(k) else { break };
        player.step(&world, 1.0 / clip.frame_rate_hz)?;
        engine.step(&world, 1.0 / clip.frame_rate_hz)?;
    }
    let ours = change(&flesh.surface(player.shown()));
    let nonlinear = change(&flesh.surface(engine.coefficients()));
    let (lbs, dqs) = (change(&lbs), change(&dqs));
    let poisson = Material::preset("muscle").map_or(0.0, |material| material.poisson);
    println!(
        "elbow at 120°, of the blended stretch: linear skinning {lbs:+.3}, dual quaternions {dqs:+.3}, blended {ours:+.3}, nonlinear (Poisson's ratio {poisson}) {nonlinear:+.3}"
    );
    Ok(json!({ "lbs": lbs, "dqs": dqs, "ours": nonlinear, "blended": ours }))
}

/// Where dual-quaternion skinning takes a point: rotations and translations mixed as unit dual quaternions (Kavan 2007).
fn dual_quaternions(p: Vec3, row: &[(u32, f32)], moves: &[DAffine3]) -> Vec3 {
    let zero = DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0);
    let (mut real, mut dual) = (zero, zero);
    for &(joint, weight) in row {
        let place = moves[joint as usize];
        let mut turn = DQuat::from_mat3(&place.matrix3);
        if turn.dot(real) < 0.0 {
            turn = -turn;
        }
        let t = place.translation;
        real += turn * f64::from(weight);
        dual += (DQuat::from_xyzw(t.x, t.y, t.z, 0.0) * turn) * (0.5 * f64::from(weight));
    }
    let length = real.length();
    let (real, dual) = (real * length.recip(), dual * length.recip());
    let shift = (dual * real.conjugate()) * 2.0;
    real * p + Vec3::new(shift.x, shift.y, shift.z)
}
