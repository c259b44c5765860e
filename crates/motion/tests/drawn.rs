//! What is drawn over a motion: paths in space and over a film, poses of a film, points that are dragged.

#![allow(clippy::print_stderr)] // what was measured is said aloud

#[allow(dead_code)] // it serves other tests, too
mod common;

use std::sync::{Arc, LazyLock};

use common::take_of;
use geometry::Vec3;
use motion::{Build, Data, Drag, Guide, Learning, Prior, Repair, Repaired, Sight, Take, Trajectory};
use samples::Walker;

static TAKE: LazyLock<Take> = LazyLock::new(|| {
    let settings = Walker { strides: 1, slide: 0.0, tremble: 0.0, cell: 0.06, frame_rate_hz: 30.0 };
    take_of(&settings.clip(), 0, 1)
});

fn joint(name: &str) -> usize {
    TAKE.bones.iter().position(|bone| bone.name == name).unwrap()
}

/// First and last pose are kept; all else is free.
fn free() -> Repair {
    let build = Build { mass: Some(72.0), ..Build::default() };
    Repair { follow: f64::INFINITY, keys: vec![0], build, ..Repair::default() }
}

fn made(repair: &Repair) -> Repaired {
    let result = repair.run(&TAKE).unwrap();
    let report = &result.report;
    assert!(report.root_residual < 1e-6 && report.cone_violations == 0, "{report:?}");
    assert!(report.slip < 1e-3 && report.penetration < 1e-3, "{report:?}");
    result
}

/// Where a joint is at every frame.
fn track(result: &Repaired, joint: usize) -> Vec<Vec3> {
    let mut data = Data::new(&result.body);
    let place = |q: &Vec<f64>| {
        data.kinematics(&result.body, q);
        data.point(&result.body, joint, Vec3::ZERO)
    };
    result.take.coordinates(&result.body).iter().map(place).collect()
}

static PLAIN: LazyLock<Repaired> = LazyLock::new(|| made(&free()));

/// A hand that waves while the figure walks: in space it goes along its path, over a film it is seen to.
#[test]
fn a_hand_goes_along_its_path() {
    let hand = joint("LeftHand");
    let before = track(&PLAIN, hand);
    let frames = 8..22;
    let raised = |frame: usize| before[frame] + Vec3::new(0.06, 0.12, 0.1);
    let places = |depth: f64, eye: Vec3| -> Vec<Option<Vec3>> {
        let place = |frame: usize| frames.contains(&frame).then(|| eye + (raised(frame) - eye) * depth);
        (0..before.len()).map(place).collect()
    };
    let eye = Vec3::new(4.0, 1.2, 0.6);
    let path = |sight: Sight, depth: f64| Trajectory {
        joint: hand,
        point: Vec3::ZERO,
        sight,
        unit: 0.003,
        places: places(depth, eye),
    };
    for (sight, depth) in [(Sight::Space, 1.0), (Sight::From(eye), 0.4)] {
        let trajectories = vec![path(sight, depth)];
        let result = made(&Repair { trajectories, ..free() });
        let after = track(&result, hand);
        let off = |frame: usize| sight.off(raised(frame), after[frame]);
        let worst = frames.clone().map(off).fold(0.0, f64::max);
        eprintln!(
            "{sight:?}: {:.1} mm from the path, {:.1} as reported",
            1e3 * worst,
            1e3 * result.report.trajectory
        );
        assert!(worst < 0.02 && result.report.trajectory < 0.02, "{worst} {}", result.report.trajectory);
        // without it the hand was elsewhere
        assert!(frames.clone().all(|frame| sight.off(raised(frame), before[frame]) > 0.1));
    }
}

/// A pose drawn over a film is kept as the film shows it; its depth is found.
#[test]
fn a_pose_over_a_film_is_kept_as_it_is_seen() {
    let key = 16;
    let eye = Vec3::new(5.0, 1.1, 0.5);
    let sight = Sight::From(eye);
    let result = made(&Repair { keys: vec![key], sight, ..free() });
    eprintln!("{:.2} mm as it is seen", 1e3 * result.report.trajectory);
    assert!(result.report.trajectory < 2e-3, "{}", result.report.trajectory);
    // the same pose in depth is another key, and without either the hands are elsewhere
    let deep = made(&Repair { keys: vec![key], ..free() });
    let [flat, whole, none] = [&result, &deep, &PLAIN].map(|result| track(result, joint("RightHand"))[key]);
    let ray = (whole - eye).normalize();
    assert!(sight.off(whole, flat) < 5e-3, "{flat} {whole}");
    assert!(sight.off(whole, none) > 0.03, "{none} {whole}");
    assert!((flat - whole).dot(ray).abs() < 0.15);
}

/// A hand that is dragged up takes the body along; with a prior the pose is one that people have.
#[test]
fn a_dragged_point_makes_a_key_and_a_prior_the_rest_of_its_pose() {
    let others = [(0.0, 0.0), (0.01, 0.0)].map(|(slide, tremble)| {
        let settings = Walker { strides: 2, slide, tremble, cell: 0.06, frame_rate_hz: 30.0 };
        take_of(&settings.clip(), 0, 1)
    });
    let prior = Arc::new(Prior::learn(&others, &Learning { inducing: 60, ..Learning::default() }).unwrap());
    let (frame, hand, other) = (16, joint("LeftHand"), joint("RightHand"));
    // where the swinging left hand is at its foremost in the walk; the first and the last pose have it elsewhere
    let mut spoilt = TAKE.clone();
    let whole = made(&Repair { follow: 0.02, keys: Vec::new(), ..free() });
    let (to, truth) = (track(&whole, hand)[frame], track(&whole, other)[frame]);
    for name in ["LeftArm", "LeftForeArm", "RightArm", "RightForeArm", "Spine", "Chest"] {
        if let Some(arm) = TAKE.bones.iter().position(|bone| bone.name == name) {
            spoilt.rotations[frame][arm] = spoilt.rotations[0][arm];
        }
    }
    let drags = vec![Drag { frame, joint: hand, point: Vec3::ZERO, to }];
    let mut offs = Vec::new();
    for guide in [None, Some(Guide::new(prior))] {
        let with_prior = guide.is_some();
        let repair = Repair { keys: Vec::new(), drags: drags.clone(), prior: guide, ..free() };
        let result = repair.run(&spoilt).unwrap();
        let report = &result.report;
        assert!(report.root_residual < 1e-6 && report.slip < 1e-3, "{report:?}");
        let key = result.keys.iter().find(|key| key.frame == frame).unwrap();
        let reached = track(&result, hand)[frame].distance(to);
        let off = track(&result, other)[frame].distance(truth);
        eprintln!(
            "prior {with_prior}: hand {:.1} mm off, the other {:.0} mm from the walk's",
            1e3 * reached,
            1e3 * off
        );
        assert!(key.off < 1e-3 && reached < 0.02, "{key:?} {reached}");
        offs.push(off);
    }
    // nobody dragged the other hand: it swings back, as it does in walks
    assert!(offs[1] < 0.6 * offs[0], "{offs:?}");
}
