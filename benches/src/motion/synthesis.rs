//! What whole motions take: every demo of the layer `motion` solved for, priors learnt, and walks that were left out of one made again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clip::{Clip, ReadOptions};
use followthrough::layers;
use geometry::Vec3;
use motion::{
    Build, Data, Example, External, Footsteps, Guide, Learning, Manner, Prior, Push, Relief, Repair,
    Repaired, Spring, Take, Terrain,
};
use samples::{Course, Style, Walker};
use serde_json::{Map, Value, json};

use self::walk::{Compared, OTHER, SUBJECT01};

#[allow(dead_code)] // the tests use more of it
#[path = "../../../crates/motion/tests/plates/walk.rs"]
mod walk;

/// Strides of each style that a prior is learnt from: about 7,800 frames of the eleven at 30 a second, as many as the paper's most.
const STRIDES: f64 = 19.0;

/// Measures everything and adds it to the benchmark's line. `quick`: few strides to learn from, nothing captured.
pub(super) fn measure(quick: bool, line: &mut Value) -> Result<(), String> {
    let (sneaky, [frames, smooth, learn]) = learnt(if quick { 1.0 } else { STRIDES })?;
    println!("\n{frames} frames smoothed in {smooth:.2} s, learnt in {learn:.2} s");
    line["learn_s"] = json!(learn);
    line["smooth_s"] = json!(smooth);
    line["learn_frames"] = json!(frames);
    let shown = demos(sneaky)?;
    println!(
        "{:>14} {:>7} {:>8} {:>11} {:>10} {:>9} {:>6}",
        "demo", "frames", "s", "iterations", "residual", "skate, mm", "cones"
    );
    let (mut seconds, mut residual, mut skate, mut cones) = (Map::new(), 0.0_f64, 0.0_f64, 0);
    for demo in shown {
        let begun = Instant::now();
        let result = demo.repair.run(&demo.take).map_err(|error| format!("{}: {error}", demo.name))?;
        let took = begun.elapsed().as_secs_f64();
        let report = &result.report;
        println!(
            "{:>14} {:>7} {took:>8.2} {:>11} {:>10.1e} {:>9.3} {:>6}{}",
            demo.name,
            demo.take.frame_count(),
            result.solution.iterations,
            report.root_residual,
            1e3 * report.slip,
            report.cone_violations,
            if result.solution.converged { "" } else { "  not converged" },
        );
        seconds.insert(demo.name.into(), json!(took));
        residual = residual.max(report.root_residual);
        skate = skate.max(1e3 * report.slip);
        cones += report.cone_violations;
    }
    line["synthesis_s"] = Value::Object(seconds);
    line["root_residual_bw"] = json!(residual);
    line["skate_mm"] = json!(skate);
    line["cone_violations"] = json!(cones);
    line["heldout_cm"] = if quick { Value::Null } else { held_out()? };
    (line["grf_rmse_bw"], line["contact_ms"]) = if quick { (Value::Null, Value::Null) } else { plates() };
    line["long_over_short"] = json!(long_over_short()?);
    Ok(())
}

/// A demo: what goes in and what is asked for.
struct Demo {
    name: &'static str,
    take: Take,
    repair: Repair,
}

fn take(clip: &Clip) -> Result<Take, String> {
    layers::take(clip).map_err(|error| error.to_string())
}

/// A prior of eleven styles; its frames, and the seconds that smoothing and learning took.
fn learnt(strides: f64) -> Result<(Arc<Prior>, [f64; 3]), String> {
    let takes = Style::ALL.iter().map(|(_, style)| take(&style.clip(strides.max(2.0), 0.0, 30.0)));
    prior(&takes.collect::<Result<Vec<Take>, _>>()?, &Learning::default())
}

fn prior(takes: &[Take], learning: &Learning) -> Result<(Arc<Prior>, [f64; 3]), String> {
    let say = |error: motion::Error| error.to_string();
    let begun = Instant::now();
    let build = Prior::build(takes, &learning.build).map_err(say)?;
    let examples: Result<Vec<Example>, _> = takes.iter().map(|take| Example::of(take, &build)).collect();
    let examples = examples.map_err(say)?;
    let smooth = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let prior = Prior::from_examples(takes, &examples, learning).map_err(say)?;
    let frames = examples.iter().map(Example::frame_count).sum::<usize>() as f64;
    Ok((Arc::new(prior), [frames, smooth, begun.elapsed().as_secs_f64()]))
}

/// The demos, with the settings of their shots.
fn demos(styles: Arc<Prior>) -> Result<Vec<Demo>, String> {
    let walker = take(&Walker::default().clip())?;
    let joint = |take: &Take, name: &str| take.bones.iter().position(|bone| bone.name == name).unwrap_or(0);
    let plain = Repair { build: Build { mass: Some(72.0), ..Build::default() }, ..Repair::default() };
    let keys = |seconds: &[f64], rate: f64| seconds.iter().map(|s| (s * rate).round() as usize).collect();
    let free = |seconds: &[f64], rate: f64| Repair {
        follow: f64::INFINITY,
        keys: keys(seconds, rate),
        ..plain.clone()
    };
    let strided = free(&[0.0, 1.1, 2.2], walker.frame_rate_hz);
    let forces = (0..walker.frame_count()).map(|frame| {
        let pushed = (0.5..0.7).contains(&(frame as f64 / walker.frame_rate_hz));
        if pushed { Vec3::new(120.0, 0.0, 0.0) } else { Vec3::ZERO }
    });
    let push = Push { joint: joint(&walker, "Chest"), forces: forces.collect() };
    let band =
        Spring { joint: joint(&walker, "Hips"), to: Vec3::new(0.0, 0.9, -0.25), stiffness: 220.0, rest: 0.0 };
    let pushed = External { pushes: vec![push], ..External::default() };
    let held = External { springs: vec![band], ..External::default() };
    let moon = Vec3::new(0.0, -1.62, 0.0);
    let mut shown = vec![
        ("repair", plain.clone()),
        ("push", Repair { follow: 0.1, external: pushed, ..plain.clone() }),
        ("moon", Repair { gravity: moon, ..strided.clone() }),
        ("slippery", Repair { friction: 0.1, ..strided }),
        (
            "resistance",
            Repair {
                follow: 0.3,
                keys: vec![0],
                footsteps: Footsteps::Free,
                external: held,
                ..plain.clone()
            },
        ),
    ]
    .into_iter()
    .map(|(name, repair)| Demo { name, take: walker.clone(), repair })
    .collect::<Vec<_>>();
    for (name, clip) in [("slope", samples::hill()), ("hurdle", samples::hurdle())] {
        let onto = Some(Terrain::Relief(relief(&clip)?));
        shown.push(Demo { name, take: take(&clip)?, repair: Repair { follow: 0.1, onto, ..plain.clone() } });
    }
    let guide = Some(Guide::new(styles));
    let sneak = take(&Style::SNEAK.clip(2.0, 0.0, 30.0))?;
    let repair = Repair { prior: guide.clone(), build: Build::default(), ..free(&[0.0, 1.5, 3.0], 30.0) };
    shown.push(Demo { name: "sneaky", take: sneak, repair });
    let normal = take(&Style::NORMAL.clip(2.0, 0.0, 30.0))?;
    let mut repair = Repair { prior: guide, ..free(&[0.0, 2.2], 30.0) };
    repair.build.add.push((joint(&normal, "LeftFoot"), 2.5, Vec3::new(0.0, -0.03, 0.06)));
    shown.push(Demo { name: "heavy-shoe", take: normal, repair });
    let others = [Course { speed: 2.1, flight: 0.34 }, Course { speed: 2.45, flight: 0.42 }];
    let others = others.iter().map(|course| take(&course.clip(30.0))).collect::<Result<Vec<_>, _>>()?;
    let (courses, _) = prior(&others, &Learning { inducing: 100, ..Learning::default() })?;
    let repair =
        Repair { prior: Some(Guide::new(courses)), ..free(&[0.5, 1.1, 1.6, 2.1, 2.9, 3.4, 4.3], 30.0) };
    shown.push(Demo { name: "run-walk-jump", take: take(&Course::default().clip(30.0))?, repair });
    Ok(shown)
}

/// The mesh beside a figure, as ground.
fn relief(clip: &Clip) -> Result<Relief, String> {
    let mesh = clip.meshes.last().ok_or("there is no mesh")?;
    let points: Vec<Vec3> = mesh.rest_points.iter().map(|p| Vec3::from_array(p.map(f64::from))).collect();
    let corner = |vertex: u32| mesh.vertex_points[vertex as usize];
    let triangles: Vec<[u32; 3]> = mesh.faces.triangles().map(|t| t.map(corner)).collect();
    Relief::new(&points, &triangles).map_err(|error| error.to_string())
}

/// Captured walks that were left out, from poses 1.5 s apart: mean distance of all joints from what was captured, in cm, with a prior of
/// five other walks, with the least torque, and in the subspace of eigen-poses. Null where the files are not there.
fn held_out() -> Result<Value, String> {
    let folder = std::env::var_os("FOLLOWTHROUGH_ASSETS").map(PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/assets"));
    let captured = |name: &str| -> Result<Take, String> {
        let file = folder.join(format!("mocap/cmu_bvh/{name}.bvh"));
        let options = ReadOptions { unit_in_metres: Some(0.056444), ..ReadOptions::default() };
        let clip = clip::read(file, &options).map_err(|error| error.to_string())?;
        let mut take = take(&clip)?;
        // without the pose of calibration, at 30 frames a second
        take.roots = take.roots.into_iter().step_by(4).collect();
        take.rotations = take.rotations.into_iter().step_by(4).collect();
        take.frame_rate_hz /= 4.0;
        Ok(take)
    };
    if !folder.join("mocap/cmu_bvh/16_21.bvh").is_file() {
        println!("held-out walks: {} holds no captured walks", folder.display());
        return Ok(Value::Null);
    }
    let walks = ["16_11", "16_13", "16_15", "16_17", "16_31"].map(captured);
    let walks = walks.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (prior, _) = prior(&walks, &Learning::default())?;
    let guide = Guide::new(prior);
    let mut sums = [0.0; 3];
    for name in ["16_21", "16_19"] {
        let mut truth = captured(name)?;
        truth.roots = truth.roots.into_iter().skip(3).take(91).collect();
        truth.rotations = truth.rotations.into_iter().skip(3).take(91).collect();
        let keys: Vec<usize> = [0, 45, 90].into_iter().filter(|&key| key < truth.frame_count()).collect();
        let poses = Guide { manner: Manner::Poses, ..guide.clone() };
        for (sum, guide) in sums.iter_mut().zip([Some(guide.clone()), None, Some(poses)]) {
            let repair =
                Repair { follow: f64::INFINITY, keys: keys.clone(), prior: guide, ..Repair::default() };
            *sum += 0.5 * apart(&repair.run(&truth).map_err(|error| error.to_string())?, &truth);
        }
    }
    let [ours, torque, subspace] = sums;
    println!("held-out walks: {ours:.2} cm, least torque {torque:.2}, eigen-poses {subspace:.2}");
    Ok(json!({ "ours": ours, "minimal_torque": torque, "subspace": subspace }))
}

/// How far forces found from markers are from those of plates, the worse of two walks: root mean square in body weights, and ms of the worst
/// strike or lift. Null where the files are not there.
fn plates() -> (Value, Value) {
    let walks: Option<Vec<Compared>> =
        [&SUBJECT01, &OTHER].into_iter().map(|walk| walk.compared().map(|found| found.0)).collect();
    let Some(walks) = walks else { return (Value::Null, Value::Null) };
    let most = |of: &dyn Fn(&Compared) -> f64| walks.iter().map(of).fold(0.0, f64::max);
    let share = |of: &dyn Fn(&Compared) -> f64| json!(most(of) / 100.0);
    let forces = json!({
        "up": share(&|walk| walk.whole.y),
        "forward": share(&|walk| walk.whole.x),
        "side": share(&|walk| walk.whole.z),
        "foot": share(&|walk| walk.foot.length()),
        "raw_up": share(&|walk| walk.raw.y),
        "unfiltered_up": share(&|walk| walk.unfiltered.y),
    });
    println!("plates: {forces}");
    (forces, json!(most(&|walk| walk.late[0].max(walk.late[1]))))
}

/// How many times as long a minute of walking takes as three seconds of it.
fn long_over_short() -> Result<f64, String> {
    let seconds = |strides: usize| -> Result<f64, String> {
        let walker = take(&Walker { strides, slide: 0.02, tremble: 0.003, ..Walker::default() }.clip())?;
        let repair = Repair { build: Build { mass: Some(72.0), ..Build::default() }, ..Repair::default() };
        let begun = Instant::now();
        let result = repair.run(&walker).map_err(|error| error.to_string())?;
        let took = begun.elapsed().as_secs_f64();
        println!(
            "{:.1} s of walking: {took:.2} s, residual {:.1e} body weights",
            walker.frame_count() as f64 / walker.frame_rate_hz,
            result.report.root_residual
        );
        Ok(took)
    };
    Ok(seconds(54)? / seconds(3)?)
}

/// The mean distance of a result's joints from a take's, in cm.
fn apart(result: &Repaired, truth: &Take) -> f64 {
    let body = &result.body;
    let mut data = Data::new(body);
    let mut places = |take: &Take| -> Vec<Vec3> {
        let mut list = Vec::new();
        for q in take.coordinates(body) {
            data.kinematics(body, &q);
            list.extend((0..body.joints().len()).map(|joint| data.point(body, joint, Vec3::ZERO)));
        }
        list
    };
    let (ours, theirs) = (places(&result.take), places(truth));
    100.0 * ours.iter().zip(&theirs).map(|(a, b)| a.distance(*b)).sum::<f64>() / ours.len() as f64
}
