//! Articulated dynamics at 48 degrees of freedom, against Pinocchio's answers and times; and what whole motions take.

mod synthesis;

use std::process::ExitCode;
use std::time::Instant;

use geometry::{Mat3, Quat, Vec3};
use motion::{Body, Data, Derivatives, Inertia, Joint, JointKind};
use serde_json::{Value, json};

use crate::peers;

const GRAVITY: Vec3 = Vec3::new(0.0, -9.81, 0.0);

/// Runs the benchmark and prints its table and its JSON line.
pub(crate) fn run(options: &[String]) -> ExitCode {
    let body = figure();
    let n = body.dof_count();
    let states: Vec<State> = (0..4).map(|k| State::new(&body, k)).collect();
    let us = times(&body, &states[0]);
    println!("motion: {n} degrees of freedom, {} bodies; microseconds, one thread", body.link_count() - 1);
    println!("{:>12} {:>8} {:>12} {:>8} {:>8}", "", "RNEA", "derivatives", "CRBA", "ABA");
    let row = |who: &str, us: &[f64; 4]| {
        println!("{who:>12} {:>8.2} {:>12.2} {:>8.2} {:>8.2}", us[0], us[1], us[2], us[3]);
    };
    row("ours", &us);
    let mut result = json!({
        "bench": "motion", "rnea_us": us[0], "derivatives_us": us[1], "crba_us": us[2], "aba_us": us[3],
    });
    let mut fine = true;
    if options.iter().any(|option| option == "--peers") {
        match judged(&body, &states) {
            Ok((theirs, error)) => {
                row("Pinocchio", &theirs);
                println!("largest difference from Pinocchio, relative: {error:.1e}");
                fine = error < 1e-9;
                let [rnea, derivatives, crba, aba] = theirs;
                result["pinocchio_us"] =
                    json!({ "rnea": rnea, "derivatives": derivatives, "crba": crba, "aba": aba });
                result["pinocchio_error"] = json!(error);
            }
            Err(reason) => println!("Pinocchio: {reason}"),
        }
    }
    let quick = options.iter().any(|option| option == "--quick");
    if let Err(reason) = synthesis::measure(quick, &mut result) {
        eprintln!("{reason}");
        fine = false;
    }
    println!("{result}");
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Numbers without meaning, the same on every machine.
fn wave(k: usize) -> f64 {
    (1.7 * k as f64 + 0.3).sin()
}

fn direction(k: usize) -> Vec3 {
    Vec3::new(wave(k), wave(k + 11), wave(k + 29))
}

/// A root, 12 balls and 6 hinges in a person's tree, and hands and a head that are welded.
fn figure() -> Body {
    let (ball, hinge) = (true, false);
    let chains: [(usize, &[bool]); 5] = [
        (0, &[ball, ball, ball, ball]),
        (2, &[ball, ball, hinge]),
        (2, &[ball, ball, hinge]),
        (0, &[ball, hinge, ball, hinge]),
        (0, &[ball, hinge, ball, hinge]),
    ];
    let joint = |index: usize, parent: Option<usize>, kind: JointKind| Joint {
        name: format!("joint{index}"),
        parent,
        kind,
        offset: direction(index) * 0.3,
        rest: Quat::from_scaled_axis(direction(index + 3)),
        inertia: Inertia::new(
            2.0 + wave(index),
            direction(index + 7) * 0.1,
            Mat3::from_diagonal(Vec3::new(0.02, 0.05, 0.04) + direction(index + 5) * 0.005),
        ),
    };
    let mut joints = vec![joint(0, None, JointKind::Free)];
    for (root, kinds) in chains {
        let mut parent = root;
        for &is_ball in kinds {
            let index = joints.len();
            let kind =
                if is_ball { JointKind::Ball } else { JointKind::Hinge(direction(index + 13).normalize()) };
            joints.push(joint(index, Some(parent), kind));
            parent = index;
        }
        joints.push(joint(joints.len(), Some(parent), JointKind::Welded));
    }
    Body::new(joints).expect("the figure is sound")
}

struct State {
    q: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
}

impl State {
    fn new(body: &Body, seed: usize) -> Self {
        let list = |first: usize, scale: f64| {
            (0..body.dof_count()).map(|k| scale * wave(k + first)).collect::<Vec<_>>()
        };
        let mut q = body.neutral();
        body.integrate(&body.neutral(), &list(100 * seed, 1.0), &mut q);
        Self { q, v: list(100 * seed + 50, 3.0), a: list(100 * seed + 70, 20.0) }
    }
}

/// Best of thirty hundreds, in microseconds.
fn microseconds(mut act: impl FnMut()) -> f64 {
    let hundred = |act: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..100).for_each(|_| act());
        start.elapsed().as_secs_f64() * 1e4
    };
    (0..30).map(|_| hundred(&mut act)).fold(f64::INFINITY, f64::min)
}

fn times(body: &Body, State { q, v, a }: &State) -> [f64; 4] {
    let n = body.dof_count();
    let (mut data, mut derivatives) = (Data::new(body), Derivatives::new(body));
    let (mut u, mut m, mut out) = (vec![0.0; n], vec![0.0; n * n], vec![0.0; n]);
    let rnea = microseconds(|| data.inverse_dynamics(body, q, v, a, GRAVITY, &mut u));
    let slopes =
        microseconds(|| data.inverse_dynamics_derivatives(body, q, v, a, GRAVITY, &mut u, &mut derivatives));
    let crba = microseconds(|| data.mass_matrix(body, q, &mut m));
    let aba = microseconds(|| data.forward_dynamics(body, q, v, &u, GRAVITY, &mut out));
    [rnea, slopes, crba, aba]
}

/// Pinocchio's times, and the largest difference between its answers and ours, relative to the largest entry of each answer.
fn judged(body: &Body, states: &[State]) -> Result<([f64; 4], f64), String> {
    let joints: Vec<Value> = body.joints().iter().map(described).collect();
    let states_json: Vec<Value> = states.iter().map(|s| json!({ "q": s.q, "v": s.v, "a": s.a })).collect();
    let problem = json!({ "joints": joints, "gravity": GRAVITY.to_array(), "states": states_json });
    let file = peers::folder().join("motion.json");
    std::fs::create_dir_all(peers::folder()).map_err(|error| error.to_string())?;
    std::fs::write(&file, problem.to_string()).map_err(|error| error.to_string())?;
    let printed = peers::measured("pin", "pinocchio", "pinocchio_dynamics.py", [file.display().to_string()])?;
    let theirs = printed.first().ok_or("it printed nothing")?;
    let n = body.dof_count();
    let (mut data, mut derivatives) = (Data::new(body), Derivatives::new(body));
    let (mut u, mut a) = (vec![0.0; n], vec![0.0; n]);
    let mut worst: f64 = 0.0;
    for (state, answer) in states.iter().zip(theirs["answers"].as_array().ok_or("no answers")?) {
        data.inverse_dynamics_derivatives(
            body,
            &state.q,
            &state.v,
            &state.a,
            GRAVITY,
            &mut u,
            &mut derivatives,
        );
        data.forward_dynamics(body, &state.q, &state.v, &u, GRAVITY, &mut a);
        for (name, ours) in [
            ("u", &u),
            ("by_position", &derivatives.by_position),
            ("by_velocity", &derivatives.by_velocity),
            ("by_acceleration", &derivatives.by_acceleration),
            ("aba", &a),
        ] {
            let list: Option<Vec<f64>> =
                answer[name].as_array().map(|list| list.iter().filter_map(Value::as_f64).collect());
            let list =
                list.filter(|list| list.len() == ours.len()).ok_or(format!("{name} has another length"))?;
            let scale = ours.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            worst = ours.iter().zip(&list).fold(worst, |most, (x, y)| most.max((x - y).abs() / scale));
        }
    }
    let us = |name: &str| theirs["us"][name].as_f64().unwrap_or(f64::NAN);
    Ok(([us("rnea"), us("derivatives"), us("crba"), us("aba")], worst))
}

/// A joint as the peer reads it.
fn described(joint: &Joint) -> Value {
    let (kind, axis) = match joint.kind {
        JointKind::Welded => ("welded", Vec3::ZERO),
        JointKind::Hinge(axis) => ("hinge", axis),
        JointKind::Ball => ("ball", Vec3::ZERO),
        JointKind::Free => ("free", Vec3::ZERO),
    };
    json!({
        "name": joint.name,
        "parent": joint.parent,
        "kind": kind,
        "axis": axis.to_array(),
        "offset": joint.offset.to_array(),
        "rest": joint.rest.to_array(),
        "mass": joint.inertia.mass,
        "center": joint.inertia.center().to_array(),
        "moments": joint.inertia.about_center().to_cols_array(),
    })
}
