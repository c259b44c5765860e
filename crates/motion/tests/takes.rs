//! Captured takes, repaired: what must be true of the result, measured anew.

#![allow(clippy::print_stderr)] // what is skipped is said aloud

use std::path::PathBuf;

use geometry::{Quat, Vec3};
use motion::{Body, Bone, Build, Data, Moment, Repair, Repaired, Take};

/// A file of the test assets; says so aloud where they are not there.
fn asset(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("FOLLOWTHROUGH_ASSETS").map(PathBuf::from);
    let folder =
        folder.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/assets"));
    let path = folder.join(name);
    if !path.is_file() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// A captured clip in metres, every `stride`-th frame from `from` on.
fn take(name: &str, from: usize, count: usize, stride: usize) -> Option<Take> {
    let options = clip::ReadOptions { unit_in_metres: Some(0.056444), ..Default::default() };
    let clip = clip::read(asset(&format!("mocap/cmu_bvh/{name}.bvh"))?, &options).unwrap();
    let skeleton = clip.skeleton.as_ref().unwrap();
    let tips = &clip.bvh.as_ref().unwrap().end_sites;
    let wide = |v: glam::Vec3| Vec3::new(v.x.into(), v.y.into(), v.z.into());
    let bones = skeleton.joints.iter().enumerate().map(|(index, joint)| Bone {
        name: joint.name.clone(),
        parent: joint.parent,
        offset: wide(joint.rest.translation),
        tip: tips.iter().find(|tip| tip.0 == index).map(|tip| wide(tip.1)),
    });
    let (mut roots, mut rotations) = (Vec::new(), Vec::new());
    for index in (from..clip.frame_count()).step_by(stride).take(count) {
        let pose = clip.frame(index).unwrap().pose;
        roots.push(wide(pose[0].translation));
        let turn =
            |q: glam::Quat| Quat::from_xyzw(q.x.into(), q.y.into(), q.z.into(), q.w.into()).normalize();
        rotations.push(pose.iter().map(|transform| turn(transform.rotation)).collect());
    }
    Some(Take { bones: bones.collect(), frame_rate_hz: clip.frame_rate_hz / stride as f64, roots, rotations })
}

/// Places of all joints at every frame.
fn places(take: &Take, body: &Body) -> Vec<Vec<Vec3>> {
    let mut data = Data::new(body);
    let frame = |q: &Vec<f64>| {
        data.kinematics(body, q);
        (0..take.bones.len()).map(|joint| data.point(body, joint, Vec3::ZERO)).collect()
    };
    take.coordinates(body).iter().map(frame).collect()
}

fn mean_distance(a: &[Vec<Vec3>], b: &[Vec<Vec3>]) -> f64 {
    let distances: Vec<f64> =
        a.iter().zip(b).flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| a.distance(*b))).collect();
    distances.iter().sum::<f64>() / distances.len() as f64
}

/// What holds for every repaired frame.
fn hold(repaired: &Repaired) {
    let report = &repaired.report;
    assert!(repaired.solution.converged, "{} iterations, {report:?}", repaired.solution.iterations);
    assert!(report.root_residual < 1e-6, "{report:?}");
    assert!(report.slip < 1e-3 && report.penetration < 1e-3, "{report:?}");
    assert_eq!(report.cone_violations, 0);
}

#[test]
fn a_walk_is_repaired() {
    let Some(take) = take("16_15", 21, 100, 2) else { return };
    let repaired = Repair::default().run(&take).unwrap();
    hold(&repaired);
    let report = &repaired.report;
    assert!(report.follow_mean < 0.005 && report.follow_max < 0.035, "{report:?}");
    // two humps and a valley: a walk's vertical force is above and below the weight in every step
    let weight = repaired.body.mass() * 9.81;
    let up: Vec<f64> =
        repaired.solution.forces.iter().map(|f| f.iter().map(|f| f.1.y).sum::<f64>() / weight).collect();
    let (least, most) = up.iter().fold((f64::MAX, 0.0_f64), |(a, b), &f| (a.min(f), b.max(f)));
    assert!((0.5..0.95).contains(&least) && (1.05..1.5).contains(&most), "{least} {most}");
    // ∫ (f + m g) dt = m Δv, by the trapezoidal rule
    let momentum = |frame: usize| {
        let (body, mut moment) = (&repaired.body, Moment::new(&repaired.body));
        repaired.solution.spline.frame(body, frame, &mut moment);
        let mut data = Data::new(body);
        data.inverse_dynamics(
            body,
            &moment.q,
            &moment.v,
            &moment.a,
            Vec3::ZERO,
            &mut vec![0.0; body.dof_count()],
        );
        data.momentum().1.linear
    };
    let total =
        |frame: usize| repaired.solution.forces[frame].iter().map(|f| f.1).sum::<Vec3>() - Vec3::Y * weight;
    let inner: Vec3 = (1..99).map(total).sum();
    let impulse = (inner + (total(0) + total(99)) * 0.5) / take.frame_rate_hz;
    let change = momentum(99) - momentum(0);
    assert!((impulse - change).length() < 0.01 * weight / 9.81, "{impulse} {change}");
}

#[test]
fn a_spoilt_walk_comes_back() {
    let Some(good) = take("16_15", 21, 100, 2) else { return };
    let mut spoilt = good.clone();
    let mut state = 1_u64;
    let mut noise = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    for (frame, rotations) in spoilt.rotations.iter_mut().enumerate() {
        for rotation in rotations.iter_mut().skip(1) {
            *rotation *= Quat::from_scaled_axis(Vec3::new(noise(), noise(), noise()) * 2f64.to_radians());
        }
        // to and fro by 3 cm in all
        spoilt.roots[frame] += Vec3::X * 0.015 * (4.0 * frame as f64 / good.frame_rate_hz).sin();
    }
    let repaired = Repair::default().run(&spoilt).unwrap();
    hold(&repaired);
    let body = good.body(&Build::default()).unwrap();
    let truth = places(&good, &body);
    let body = spoilt.body(&Build::default()).unwrap();
    let (before, after) = (
        mean_distance(&places(&spoilt, &body), &truth),
        mean_distance(&places(&repaired.take, &body), &truth),
    );
    assert!(after < 0.02 && after < before, "{before} {after}");
}

#[test]
fn a_jump_flies_as_a_stone() {
    let Some(take) = take("16_01", 30, 110, 2) else { return };
    let repaired = Repair::default().run(&take).unwrap();
    hold(&repaired);
    let flight = repaired.solution.forces.iter().filter(|forces| forces.is_empty()).count();
    assert!(flight > 5, "{flight} frames in flight");
    assert_eq!(repaired.report.unborne, None);
}

/// A walk that floats for a second half a metre up: nothing bears it there, and how many newtons are missing is said. A walk that stands, and a
/// jump, lack nothing.
#[test]
fn a_walk_in_the_air_is_told_what_it_lacks() {
    let Some(good) = take("16_15", 21, 110, 2) else { return };
    let mut floating = good.clone();
    let smooth = |t: f64| t.clamp(0.0, 1.0).powi(2) * (3.0 - 2.0 * t.clamp(0.0, 1.0));
    for (frame, root) in floating.roots.iter_mut().enumerate() {
        let up = smooth((frame as f64 - 20.0) / 15.0) * smooth((95.0 - frame as f64) / 15.0);
        root.y += 0.5 * up;
    }
    let repaired = Repair::default().run(&floating).unwrap();
    let weight = repaired.body.mass() * 9.81;
    let (frames, missing) = repaired.report.unborne.clone().unwrap();
    eprintln!("{frames:?}: {:.2} weights are missing", missing / weight);
    assert!(frames.start > 15 && frames.end < 100 && frames.contains(&57), "{frames:?}");
    assert!((0.4..1.1).contains(&(missing / weight)), "{missing} of {weight}");
    assert_eq!(Repair::default().run(&good).unwrap().report.unborne, None);
}

#[test]
fn threads_do_not_matter() {
    let Some(take) = take("16_15", 21, 30, 2) else { return };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Repair::default().run(&take).unwrap().solution.spline)
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn bad_takes_get_a_sentence() {
    let Some(take) = take("16_15", 21, 30, 2) else { return };
    let broken = |change: &dyn Fn(&mut Take, &mut Repair)| {
        let (mut take, mut repair) = (take.clone(), Repair::default());
        change(&mut take, &mut repair);
        repair.run(&take).unwrap_err().to_string()
    };
    assert!(broken(&|take, _| take.roots[7].x = f64::NAN).contains("frame 7"));
    assert!(
        broken(&|take, _| (take.roots.truncate(3), take.rotations.truncate(3)).1)
            .contains("3 frames are too few")
    );
    assert!(broken(&|_, repair| repair.build.mass = Some(-1.0)).contains("mass is -1"));
    assert!(broken(&|_, repair| repair.friction = 0.0).contains("friction is 0"));
    let nameless = broken(&|take, _| take.bones.iter_mut().for_each(|bone| bone.name = "bone".into()));
    assert!(nameless.contains("no feet"), "{nameless}");
}
