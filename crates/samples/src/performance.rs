//! What a person does: a walk, a run, a dance, jumping jacks, boxing. Curves over time, in seconds and radians.

use geometry::Vec3;
use glam::DQuat;
use std::f64::consts::{PI, TAU};

use crate::motion::{Key, Track};
use crate::person::{Gait, Person, RUN, WALK};
use crate::rig::Pose;

/// A motion of a clothed figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Performance {
    /// Strolls, hurries, looks about.
    Walk,
    /// Runs ahead.
    Run,
    /// Sways on the spot and turns round, once each way.
    Dance,
    /// Jumps apart and together, arms over the head.
    JumpingJacks,
    /// Boxes: guard, jabs, a body that turns with them.
    Boxing,
}

/// How far out arms hang in motions, beyond what the motion says, where they are held out at rest, rad.
const ARMS_OUT: f64 = 0.12;
/// Seconds until a motion that begins at rest has its speed.
const START: f64 = 0.8;

/// Time that begins at rest: its rate grows from 0 to 1 within [`START`].
fn eased(time: f64) -> f64 {
    if time < START { 0.5 * time * time / START } else { time - 0.5 * START }
}

impl Performance {
    /// The pose at a time.
    pub(crate) fn pose(self, person: &Person, time: f64) -> Pose {
        let mut pose = Pose::new(&person.rig);
        // arms that are held out at rest come down, but for a little
        for (arm, side) in person.arms.iter().zip([1.0, -1.0]) {
            pose.turn(arm[0], 0.0, 0.0, -side * (person.arms_out - ARMS_OUT).max(0.0));
        }
        match self {
            Self::Walk => walk(person, &mut pose, time),
            Self::Run => run(person, &mut pose, time),
            Self::Dance => dance(person, &mut pose, time),
            Self::JumpingJacks => jumping_jacks(person, &mut pose, time),
            Self::Boxing => boxing(person, &mut pose, time),
        }
        pose
    }
}

/// Hips, trunk, arms and legs of someone on the way; `pace` is how far it all swings.
fn stride(person: &Person, pose: &mut Pose, gait: &Gait, phase: f64, lean: f64, pace: f64) {
    let (swing, side) = ((TAU * phase).cos(), (TAU * phase).sin());
    let bob = (2.0 * TAU * (phase - 0.06)).cos();
    pose.shift(person.hips, Vec3::new(0.02 * side, -0.045 - 0.014 * pace * bob, gait.length * phase));
    pose.turn(person.hips, 0.4 * lean, -0.08 * pace * swing, 0.03 * side);
    pose.turn(person.spine[0], 0.3 * lean, 0.07 * pace * swing, -0.02 * side);
    pose.turn(person.spine[1], 0.3 * lean, 0.12 * pace * swing, -0.01 * side);
    pose.turn(person.head, -0.8 * lean, -0.08 * pace * swing, 0.0);
    for (arm, side) in person.arms.iter().zip([1.0, -1.0]) {
        let forward = -side * swing;
        pose.turn(arm[0], -0.4 * pace * forward + 0.05, 0.0, 0.08 * side);
        pose.turn(arm[1], -0.35 * pace - 0.15 * forward, 0.0, 0.0);
    }
    person.stride(gait, pose, phase);
}

fn walk(person: &Person, pose: &mut Pose, time: f64) {
    let t = eased(time);
    // 0.6 to 1.2 strides a second
    let phase = 0.9 * t - 0.3 / 0.9 * ((0.9 * t).cos() - 1.0);
    stride(person, pose, &WALK, phase, 0.08 + 0.05 * (0.9 * t).sin(), 1.0 + 0.3 * (0.9 * t).sin());
    let look = 0.32 * (1.15 * t).sin() + 0.12 * (2.6 * t).sin();
    pose.turn(person.spine[0], 0.0, look, 0.06 * (0.8 * t).sin());
    pose.turn(person.spine[1], 0.05 * (1.4 * t).sin(), look, 0.0);
}

fn run(person: &Person, pose: &mut Pose, time: f64) {
    let phase = 1.35 * eased(time);
    stride(person, pose, &RUN, phase, 0.35, 1.7);
    // in the air between steps
    let flight = 0.045 * (2.0 * TAU * (phase + 0.08)).cos() - 0.03;
    pose.shift(person.hips, Vec3::Y * flight);
    person.stride(&RUN, pose, phase);
}

/// Legs to where the feet are wanted; `out` turns toes outwards.
fn stand(person: &Person, pose: &mut Pose, feet: [Vec3; 2], heading: f64, out: f64) {
    for ((leg, at), side) in person.legs.iter().zip(feet).zip([1.0, -1.0]) {
        let turn = DQuat::from_rotation_y(heading + out * side);
        pose.reach(&person.rig, [leg[0], leg[1], leg[2]], at, Vec3::X, turn * Vec3::Z, turn);
    }
}

/// An arm to where the hand is wanted, its elbow low.
fn hold_out(person: &Person, pose: &mut Pose, arm: usize, at: Vec3, heading: f64) {
    let side = if arm == 0 { 1.0 } else { -1.0 };
    let turn = DQuat::from_rotation_y(heading);
    let elbow = turn * Vec3::new(0.5 * side, -1.0, -0.4);
    let hand = turn * DQuat::from_rotation_x(-0.5 * PI);
    pose.reach(&person.rig, person.arms[arm], at, Vec3::X, elbow, hand);
}

fn dance(person: &Person, pose: &mut Pose, time: f64) {
    let t = eased(time);
    let beat = TAU * 0.9 * t;
    // once round to the left, once to the right
    let spins = Track::new(&[
        Key::ease(1.6, 0.0),
        Key::ease(2.7, TAU),
        Key::ease(3.8, TAU),
        Key::ease(4.9, 0.0),
        Key::ease(6.0, 0.0),
        Key::ease(7.1, TAU),
    ]);
    let heading = spins.at(t) + 0.25 * (0.5 * beat).sin();
    let turn = DQuat::from_rotation_y(heading);
    let sway = 0.06 * (0.5 * beat).sin();
    let lift = |side: f64| 0.09 * (side * (0.5 * beat).sin()).max(0.0).powi(2);
    pose.shift(person.hips, turn * Vec3::new(sway, -0.05 + 0.02 * beat.cos(), 0.0));
    pose.turn(person.hips, 0.03, heading + 0.2 * (0.5 * beat).sin(), 0.10 * (0.5 * beat).sin());
    pose.turn(person.spine[0], 0.0, -0.15 * (0.5 * beat).sin(), -0.10 * (0.5 * beat).sin());
    pose.turn(person.spine[1], 0.0, -0.10 * (0.5 * beat).sin(), -0.06 * (0.5 * beat).sin());
    for (arm, side) in person.arms.iter().zip([1.0, -1.0]) {
        pose.turn(arm[0], -0.3, 0.0, side * (1.25 + 0.25 * (0.5 * beat + side).sin()));
        pose.turn(arm[1], 0.0, 0.0, side * (0.5 + 0.2 * beat.sin()));
    }
    let feet = [1.0, -1.0].map(|side| {
        let ankle = person.rig.places[person.legs[if side > 0.0 { 0 } else { 1 }][2]];
        turn * (ankle + Vec3::new(0.03 * side, 0.0, 0.0)) + lift(-side) * Vec3::Y
    });
    stand(person, pose, feet, heading, 0.2);
}

fn jumping_jacks(person: &Person, pose: &mut Pose, time: f64) {
    let phase = 0.95 * eased(time);
    let open = 0.5 - 0.5 * (TAU * phase).cos();
    // off the ground on the way out and on the way in
    let jump = 0.07 * (TAU * phase).sin().powi(2);
    pose.shift(person.hips, Vec3::Y * (jump - 0.035 - 0.045 * open));
    pose.turn(person.hips, 0.05, 0.0, 0.0);
    pose.turn(person.spine[0], 0.04 * (TAU * phase).cos(), 0.0, 0.0);
    for (arm, side) in person.arms.iter().zip([1.0, -1.0]) {
        pose.turn(arm[0], 0.0, 0.0, side * (0.1 + 2.5 * open));
        pose.turn(arm[1], 0.0, 0.0, side * 0.25 * open);
    }
    let feet = [1.0, -1.0].map(|side| {
        let ankle = person.rig.places[person.legs[if side > 0.0 { 0 } else { 1 }][2]];
        ankle + Vec3::new(0.26 * side * open, jump, 0.0)
    });
    stand(person, pose, feet, 0.0, 0.25);
}

fn boxing(person: &Person, pose: &mut Pose, time: f64) {
    let t = eased(time);
    let beat = TAU * 0.75 * t;
    let jab = beat.sin().powi(3);
    let bounce = 0.02 * (3.0 * beat).cos();
    pose.shift(person.hips, Vec3::new(0.05 * (0.5 * beat).sin(), -0.10 + bounce, 0.04 * jab.abs() - 0.01));
    pose.turn(person.hips, 0.05, -0.35 + 0.25 * jab, 0.04 * jab);
    pose.turn(person.spine[0], 0.08, 0.35 * jab, 0.05 * jab);
    pose.turn(person.spine[1], 0.12, 0.30 * jab, 0.0);
    pose.turn(person.head, -0.15, -0.4 * jab, 0.0);
    for (arm, side) in [1.0, -1.0].into_iter().enumerate() {
        // the left hits when the trunk turns right, and the other way about
        let hit = (-side * jab).max(0.0);
        let guard = Vec3::new(0.11 * side, 1.33 + bounce, 0.27);
        let target = Vec3::new(0.03 * side, 1.36, 0.60);
        hold_out(person, pose, arm, guard.lerp(target, hit), 0.0);
    }
    let place = |leg: usize| person.rig.places[person.legs[leg][2]];
    let feet = [place(0) + Vec3::new(0.05, 0.0, 0.18), place(1) + Vec3::new(-0.05, 0.0, -0.17)];
    stand(person, pose, feet, -0.2, 0.25);
}
