//! What the paper shows, on a stroll authored in code: each claim with the physics that makes it true taken away beside it.

#![allow(clippy::print_stderr)] // what was measured is said aloud

use std::sync::LazyLock;

use geometry::{Quat, Vec3};
use motion::{
    Bone, Build, Data, Examination, External, Footsteps, Ground, Repair, Repaired, Spring, Take, Terrain,
};
use samples::Walker;

/// A stroll as a take.
fn stroll() -> Take {
    let settings = Walker { strides: 2, slide: 0.0, tremble: 0.0, cell: 0.06, frame_rate_hz: 30.0 };
    let clip = settings.clip();
    let skeleton = clip.skeleton.as_ref().unwrap();
    let wide = |v: glam::Vec3| Vec3::new(v.x.into(), v.y.into(), v.z.into());
    let bones = skeleton.joints.iter().map(|joint| Bone {
        name: joint.name.clone(),
        parent: joint.parent,
        offset: wide(joint.rest.translation),
        tip: None,
    });
    let (mut roots, mut rotations) = (Vec::new(), Vec::new());
    for index in 0..clip.frame_count() {
        let pose = clip.frame(index).unwrap().pose;
        roots.push(wide(pose[0].translation));
        let turn =
            |q: glam::Quat| Quat::from_xyzw(q.x.into(), q.y.into(), q.z.into(), q.w.into()).normalize();
        rotations.push(pose.iter().map(|transform| turn(transform.rotation)).collect());
    }
    Take { bones: bones.collect(), frame_rate_hz: clip.frame_rate_hz, roots, rotations }
}

/// Seconds of one stride of the stroll.
const STRIDE: f64 = 1.1;
static TAKE: LazyLock<Take> = LazyLock::new(stroll);

fn joint(name: &str) -> usize {
    TAKE.bones.iter().position(|bone| bone.name == name).unwrap()
}

/// Three poses are kept, a stride apart; all else is free.
fn free() -> Repair {
    let build = Build { mass: Some(72.0), ..Build::default() };
    let keys = vec![(STRIDE * TAKE.frame_rate_hz).round() as usize];
    Repair { follow: f64::INFINITY, keys, build, ..Repair::default() }
}

/// Runs it and checks what must hold of any motion.
fn made(repair: &Repair) -> Repaired {
    let result = repair.run(&TAKE).unwrap();
    let report = &result.report;
    assert!(result.solution.converged, "{} iterations, {report:?}", result.solution.iterations);
    assert!(report.root_residual < 1e-6 && report.cone_violations == 0, "{report:?}");
    assert!(report.slip < 1e-3 && report.penetration < 1e-3, "{report:?}");
    for key in &result.keys {
        assert!(key.off < 1e-3 && key.turned < 0.1_f64.to_radians(), "{key:?}");
    }
    result
}

/// The same stroll on Earth, nothing worn, nothing in its way.
static PLAIN: LazyLock<Repaired> = LazyLock::new(|| made(&free()));

/// The mean lean ahead of the whole figure in degrees, from between its ankles to its centre of mass.
fn lean(result: &Repaired) -> f64 {
    let body = &result.body;
    let mut data = Data::new(body);
    let coordinates = result.take.coordinates(body);
    let mut sum = 0.0;
    for q in &coordinates {
        data.kinematics(body, q);
        let place = |name: &str| data.point(body, joint(name), Vec3::ZERO);
        let up = data.momentum().0 - (place("LeftFoot") + place("RightFoot")) * 0.5;
        sum += up.z.atan2(up.y).to_degrees();
    }
    sum / coordinates.len() as f64
}

/// The whole take is followed, loosely; it begins and ends as it did.
fn loose() -> Repair {
    Repair { follow: 0.3, keys: vec![0], ..free() }
}

/// The mean force of the ground, by the trapezoidal rule, in N.
fn mean_force(result: &Repaired) -> Vec3 {
    let total = |frame: usize| result.solution.forces[frame].iter().map(|force| force.1).sum::<Vec3>();
    let last = result.solution.forces.len() - 1;
    let inner: Vec3 = (1..last).map(total).sum();
    (inner + (total(0) + total(last)) * 0.5) / last as f64
}

#[test]
fn key_poses_are_kept_and_less_torque_is_needed_than_by_the_take() {
    let followed = Repair { follow: 0.02, keys: Vec::new(), ..free() }.run(&TAKE).unwrap();
    let (ours, its) = (PLAIN.report.torque, followed.report.torque);
    assert!(ours < 0.8 * its, "{ours:.1} N m against {its:.1}");
    // it is another motion, not the take again
    assert!(PLAIN.report.follow_max > 0.05, "{}", PLAIN.report.follow_max);
    let error = Repair { keys: vec![1000], ..free() }.run(&TAKE).unwrap_err().to_string();
    assert!(error.contains("key 1000"), "{error}");
}

#[test]
fn keys_off_the_ground_are_put_onto_it_and_how_far_is_said() {
    let mut take = TAKE.clone();
    let key = free().keys[0];
    take.roots[key].y += 0.03;
    let result = free().run(&take).unwrap();
    let moved = result.keys.iter().find(|found| found.frame == key).unwrap();
    assert!((0.01..0.05).contains(&moved.projected) && moved.off < 1e-3, "{moved:?}");
    assert!(result.keys.iter().filter(|found| found.frame != key).all(|found| found.projected < 2e-3));
}

#[test]
fn moon_bears_the_weight_of_the_moon() {
    let moon = made(&Repair { gravity: Vec3::new(0.0, -1.62, 0.0), ..free() });
    let mean = mean_force(&moon) / moon.body.mass();
    assert!((mean.y - 1.62).abs() < 0.03 * 1.62, "{mean}");
    let earth = mean_force(&PLAIN) / PLAIN.body.mass();
    assert!((earth.y - 9.81).abs() < 0.03 * 9.81, "{earth}");
}

#[test]
fn slippery_ground_is_walked_on_within_its_cone() {
    let asked = Examination::of(&TAKE, &free().build, Vec3::new(0.0, -9.81, 0.0), 0.8).unwrap().friction.0;
    let there_is = 0.5 * asked;
    let ours = made(&Repair { friction: there_is, ..free() });
    assert!(ours.report.friction <= there_is, "{} of {there_is}", ours.report.friction);
    // with plenty it uses more than that, so it was the physics that changed
    assert!(PLAIN.report.friction > 1.5 * there_is, "{} of {there_is}", PLAIN.report.friction);
    let last = TAKE.roots.len() - 1;
    let way = |take: &Take| take.roots[last].distance(take.roots[0]);
    assert!((way(&ours.take) - way(&TAKE)).abs() < 2e-3, "{} {}", way(&ours.take), way(&TAKE));
}

/// Feet come down where they push best.
#[test]
fn resistance_is_leant_into_the_more_the_harder_it_pulls() {
    let held = |stiffness: f64| {
        let spring = Spring { joint: joint("Hips"), to: Vec3::new(0.0, 0.9, -0.25), stiffness, rest: 0.0 };
        let external = External { springs: vec![spring], ..External::default() };
        let result = made(&Repair { external, footsteps: Footsteps::Free, ..loose() });
        let measured = lean(&result);
        eprintln!("{stiffness} N/m: {measured:.2}°, {} iterations", result.solution.iterations);
        measured
    };
    // to 220 N and to 450 N at the end of the way
    let (none, some, more) = (held(0.0), held(110.0), held(220.0));
    assert!(none + 1.0 < some && some + 0.2 < more, "{none:.2}° {some:.2}° {more:.2}°");
}

#[test]
fn a_slope_is_climbed_and_pushes_straight_up() {
    let (sine, cosine) = 10_f64.to_radians().sin_cos();
    let plane = Ground { normal: Vec3::new(0.0, cosine, -sine), ..Ground::level(0.0) };
    let result = made(&Repair { onto: Some(Terrain::Plane(plane)), ..free() });
    let last = TAKE.roots.len() - 1;
    let (from, to) = (result.take.roots[0], result.take.roots[last]);
    let rise = (to.y - from.y) / (to.z - from.z);
    assert!((rise - 10_f64.to_radians().tan()).abs() < 0.01, "{rise}");
    // of a force that is straight up, sin 10° lies along the slope: friction that level ground never asked for
    let mean = mean_force(&result) / (72.0 * 9.81);
    let along = (mean - plane.normal * mean.dot(plane.normal)).dot(Vec3::new(0.0, sine, cosine));
    assert!((along - sine).abs() < 0.05 && (mean.y - 1.0).abs() < 0.05, "{mean} {along}");
}

#[test]
fn feet_that_are_free_come_down_where_and_when_less_is_needed() {
    let given = made(&loose());
    let free = made(&Repair { footsteps: Footsteps::Free, ..loose() });
    let cost = |result: &Repaired| result.solution.objectives.iter().sum::<f64>();
    assert!(cost(&free) < 0.99 * cost(&given), "{} {}", cost(&free), cost(&given));
    // as many steps in the same order, some at other times, some elsewhere, none off the ground
    assert_eq!(free.contacts.len(), given.contacts.len());
    let pairs = || free.contacts.iter().zip(&given.contacts);
    assert!(pairs().all(|(a, b)| (a.sole, a.step) == (b.sole, b.step) && a.anchor.y.abs() < 0.01));
    assert!(
        pairs().any(|(a, b)| a.frames != b.frames)
            && pairs().any(|(a, b)| a.anchor.distance(b.anchor) > 5e-3)
    );
    let farthest = pairs().map(|(a, b)| a.anchor.distance(b.anchor)).fold(0.0, f64::max);
    eprintln!("{:.3} of {:.3}, a step {:.0} mm away", cost(&free), cost(&given), 1e3 * farthest);
}

/// Each is a draw of a Markov chain that did move, and none is the likeliest; hands go elsewhere, feet and keys stay, and accelerations are a person's.
#[test]
fn variations_differ_and_each_obeys_physics() {
    let begun = std::time::Instant::now();
    let runs: Vec<Repaired> = (0..4).map(|variation| made(&Repair { variation, ..free() })).collect();
    eprintln!("four motions in {:.1} s", begun.elapsed().as_secs_f64());
    let hand = |run: &Repaired| -> Vec<Vec3> {
        let mut data = Data::new(&run.body);
        let place = |q: Vec<f64>| {
            data.kinematics(&run.body, &q);
            data.point(&run.body, joint("LeftHand"), Vec3::ZERO)
        };
        run.solution.coordinates(&run.body).into_iter().map(place).collect()
    };
    let rate = TAKE.frame_rate_hz;
    let shaken = |run: &Repaired| -> f64 {
        let places = hand(run);
        let bends = places.windows(3).map(|w| ((w[0] - w[1] * 2.0 + w[2]) * rate * rate).length_squared());
        (bends.sum::<f64>() / places.len() as f64).sqrt()
    };
    for (k, one) in runs.iter().enumerate() {
        eprintln!("variation {k}: {:?}, a hand's acceleration {:.1} m/s²", one.solution.chain, shaken(one));
        assert!(shaken(one) < shaken(&runs[0]) + 15.0, "{}", shaken(one));
        for other in &runs[..k] {
            let farthest =
                hand(one).into_iter().zip(hand(other)).map(|(a, b)| a.distance(b)).fold(0.0, f64::max);
            eprintln!("variation {k}: a hand {:.0} mm from another one's", 1e3 * farthest);
            assert!(farthest > 0.03, "{farthest}");
        }
    }
    assert!(runs[0].solution.chain.is_none());
    for run in &runs[1..] {
        let chain = run.solution.chain.unwrap();
        let share = chain.accepted as f64 / chain.steps as f64;
        assert!((0.1..0.95).contains(&share), "{chain:?}");
        assert!(chain.least <= chain.start && chain.drawn > chain.start, "{chain:?}");
        // back downhill it comes to the likeliest motion again, or to a better one
        assert!(chain.lower > -1e-2, "{chain:?}");
    }
    // the same number is the same motion
    let again = made(&Repair { variation: 2, ..free() });
    assert_eq!(again.solution.spline, runs[2].solution.spline);
}
