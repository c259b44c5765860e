//! A backflip: a skeleton without a mesh, as captured motion comes.

use clip::Clip;
use geometry::Vec3;
use glam::DQuat;
use std::f64::consts::{PI, TAU};

use crate::motion::{self, Key, Track};
use crate::person::Person;
use crate::rig::Pose;

/// How far arms are held out at rest, rad: clear of what is worn.
const ARMS_OUT: f64 = 0.45;
/// Of gravity, in m/s².
const GRAVITY: f64 = 9.81;
/// When the feet leave the ground, and how long they are away, in seconds.
const TAKE_OFF: f64 = 0.8;
const FLIGHT: f64 = 0.68;
const SECONDS: f64 = 2.5;
/// How far behind it lands, in metres.
const TRAVEL: f64 = -0.42;
/// How far heels are up when toes leave the ground, rad.
const PUSH_OFF: f64 = 0.7;

/// A person who crouches, jumps, turns over backwards, tucked, and lands: a skeleton alone.
pub fn backflip() -> Clip {
    let (person, plan) = (Person::with_arms_out(ARMS_OUT), Plan::new());
    let poses: Vec<Pose> = motion::times(SECONDS, 48.0).map(|time| plan.pose(&person, time)).collect();
    person.rig.clip("backflip", 48.0, Vec::new(), &poses)
}

/// Everything that changes over time.
struct Plan {
    /// Hips from where they rest, along y and z.
    hips: [Track; 2],
    /// How far the whole figure has turned ahead, rad.
    turn: Track,
    /// How far the trunk is bent ahead against the hips, rad.
    bend: Track,
    /// How far arms are raised ahead, and elbows bent, rad.
    arms: [Track; 2],
    /// From a leg that is straight (0) to one that is tucked (1).
    tuck: Track,
    /// How far heels are up, rad.
    heel: Track,
}

fn eased(keys: &[(f64, f64)]) -> Track {
    Track::new(&keys.iter().map(|&(time, value)| Key::ease(time, value)).collect::<Vec<_>>())
}

impl Plan {
    fn new() -> Self {
        let (land, rise) = (TAKE_OFF + FLIGHT, 0.5 * GRAVITY * FLIGHT);
        let up = [
            Key::ease(0.1, -0.02),
            Key::ease(0.5, -0.30),
            Key::slope(TAKE_OFF, 0.02, rise),
            Key::slope(land, 0.02, -rise),
            Key::ease(land + 0.24, -0.34),
            Key::ease(land + 0.85, -0.02),
        ];
        let back = [
            Key::ease(0.1, 0.0),
            Key::ease(0.5, -0.02),
            Key::slope(TAKE_OFF, -0.08, TRAVEL / FLIGHT),
            Key::slope(land, -0.08 + TRAVEL, TRAVEL / FLIGHT),
            Key::ease(land + 0.4, TRAVEL - 0.02),
            Key::ease(land + 0.85, TRAVEL),
        ];
        let turn = [
            Key::ease(0.1, 0.0),
            Key::ease(0.5, 0.25),
            Key::slope(TAKE_OFF, -0.25, -5.2),
            Key::slope(TAKE_OFF + 0.5 * FLIGHT, -PI + 0.1, -11.0),
            Key::slope(land, -TAU + 0.45, -4.5),
            Key::ease(land + 0.24, -TAU + 0.25),
            Key::ease(land + 0.85, -TAU),
        ];
        let bend =
            [(0.1, 0.0), (0.5, 0.5), (TAKE_OFF - 0.03, -0.25), (TAKE_OFF + 0.3, 0.7), (land - 0.05, 0.2)];
        let raised = [(0.1, 0.05), (0.46, -0.9), (TAKE_OFF - 0.05, 2.7), (TAKE_OFF + 0.3, 1.15), (land, 1.3)];
        let bent = [(0.4, 0.15), (TAKE_OFF - 0.05, 0.25), (TAKE_OFF + 0.3, 0.75), (land, 0.3)];
        let tuck = [(TAKE_OFF, 0.0), (TAKE_OFF + 0.27, 1.0), (TAKE_OFF + 0.4, 1.0), (land, 0.12)];
        Self {
            hips: [Track::new(&up), Track::new(&back)],
            turn: Track::new(&turn),
            bend: eased(&[&bend[..], &[(land + 0.24, 0.55), (land + 0.85, 0.0)]].concat()),
            arms: [
                eased(&[&raised[..], &[(land + 0.3, 0.9), (land + 0.9, 0.05)]].concat()),
                eased(&[&bent[..], &[(land + 0.9, 0.15)]].concat()),
            ],
            tuck: eased(&tuck),
            heel: eased(&[(TAKE_OFF - 0.16, 0.0), (TAKE_OFF, PUSH_OFF), (land - 0.1, 0.25), (land, 0.0)]),
        }
    }

    /// The pose at a time in seconds.
    fn pose(&self, person: &Person, time: f64) -> Pose {
        let mut pose = Pose::new(&person.rig);
        let [up, back] = self.hips.each_ref().map(|track| track.at(time));
        let (turn, bend) = (self.turn.at(time), self.bend.at(time));
        let [raised, bent] = self.arms.each_ref().map(|track| track.at(time));
        pose.shift(person.hips, Vec3::new(0.0, up, back));
        pose.turn(person.hips, turn, 0.0, 0.0);
        pose.turn(person.spine[0], 0.5 * bend, 0.0, 0.0);
        pose.turn(person.spine[1], 0.5 * bend, 0.0, 0.0);
        pose.turn(person.head, -0.3 * bend, 0.0, 0.0);
        for (arm, side) in [1.0, -1.0].into_iter().enumerate() {
            let out = 0.12 * side * (1.0 + 0.5 * raised.max(0.0)).min(1.6);
            let upper = [-raised, 0.0, out];
            person.turn_arm(&mut pose, arm, [upper, [-bent, 0.0, 0.0], [-0.1, 0.0, 0.0]]);
        }
        for leg in &person.legs {
            self.leg(person, &mut pose, leg, time);
        }
        pose
    }

    /// A foot on the ground before and after the flight; in it, legs that are drawn in.
    fn leg(&self, person: &Person, pose: &mut Pose, leg: &[usize; 4], time: f64) {
        let rig = &person.rig;
        let (ankle, toes) = (rig.places[leg[2]], rig.places[leg[3]]);
        let (turn, heel, tuck) = (self.turn.at(time), self.heel.at(time), self.tuck.at(time));
        let (hips, whole) = (pose.world(rig, person.hips).0, DQuat::from_rotation_x(turn));
        let standing = |behind: f64, heel: f64| {
            let pitch = DQuat::from_rotation_x(heel);
            (toes + pitch * (ankle - toes) + Vec3::Z * behind, pitch)
        };
        let straight = Vec3::new(ankle.x, -0.84, 0.0);
        let drawn = hips + whole * straight.lerp(Vec3::new(ankle.x, -0.36, 0.26), tuck);
        let flying = (drawn, whole * DQuat::from_rotation_x(0.5));
        let smooth = |x: f64| x * x * (3.0 - 2.0 * x);
        let land = TAKE_OFF + FLIGHT;
        let (ground, share) = match time {
            time if time < TAKE_OFF + 0.5 * FLIGHT => {
                (standing(0.0, heel), smooth(((time - TAKE_OFF) / 0.12).clamp(0.0, 1.0)))
            }
            _ => (standing(TRAVEL, heel), smooth(((land - time) / 0.14).clamp(0.0, 1.0))),
        };
        let target = ground.0.lerp(flying.0, share);
        let foot = ground.1.slerp(flying.1, share);
        let knee = (whole * Vec3::Z).lerp(Vec3::Z, 1.0 - share).normalize_or(Vec3::Z);
        pose.reach(rig, [leg[0], leg[1], leg[2]], target, Vec3::X, knee, foot);
        pose.turn(leg[3], -heel * (1.0 - share), 0.0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It turns over once, flies freely, and its toes stand where they should.
    #[test]
    fn the_hips_fall_freely_and_the_toes_stand() {
        let (plan, person) = (Plan::new(), Person::with_arms_out(ARMS_OUT));
        let h = 1e-3;
        for time in [0.9, 1.0, 1.2, 1.4] {
            let [a, b, c] = [time - h, time, time + h].map(|t| plan.hips[0].at(t));
            assert!(((a - 2.0 * b + c) / (h * h) + GRAVITY).abs() < 1e-3, "at {time} s");
        }
        assert!((plan.turn.at(SECONDS) - plan.turn.at(0.0) + TAU).abs() < 1e-12);
        for (time, behind) in [(0.0, 0.0), (0.5, 0.0), (0.75, 0.0), (1.6, TRAVEL), (2.4, TRAVEL)] {
            let pose = plan.pose(&person, time);
            for leg in &person.legs {
                let place = person.rig.places[leg[3]] + Vec3::Z * behind;
                assert!(pose.world(&person.rig, leg[3]).0.distance(place) < 5e-3, "{time} s");
            }
        }
    }
}
