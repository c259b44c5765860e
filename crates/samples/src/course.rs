//! A person who runs, slows to a walk, stops and jumps ahead: footsteps planned in time, hips that fly where nothing stands.

use clip::Clip;
use geometry::Vec3;
use glam::DQuat;
use std::f64::consts::PI;

use crate::motion::{self, Key, Track};
use crate::paint;
use crate::person::{ARMS_CLEAR, Person};
use crate::rig::Pose;

/// A run of four steps, a walk of three, a stop and a jump with both feet, along +z; one mesh, `body`, skinned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// Speed of the run in m/s.
    pub speed: f64,
    /// Seconds in the air at the jump.
    pub flight: f64,
}

impl Default for Course {
    fn default() -> Self {
        Self { speed: 2.3, flight: 0.38 }
    }
}

/// Of gravity, in m/s²: what flies falls with it.
const GRAVITY: f64 = 9.81;
/// Seconds from one step of the run to the next, and those of them on the ground.
const RUN: [f64; 2] = [0.34, 0.22];
/// When the last running step lands, in seconds: the one that brakes.
const BRAKE: f64 = 3.0 * RUN[0];
/// When the jump leaves the ground, in seconds.
const TAKE_OFF: f64 = 3.67;
/// How far the heel has turned up when the toes leave the ground, rad.
const PUSH_OFF: f64 = 0.6;

/// A footstep.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// When the foot lies on the ground, in seconds.
    from: f64,
    to: f64,
    /// Where, along z in m.
    place: f64,
    /// How high it was carried there, in m.
    lift: f64,
}

/// Everything that changes over time.
struct Plan {
    /// Left, right.
    steps: [Vec<Step>; 2],
    /// Hips from where they rest, along y and z.
    hips: [Track; 2],
    /// How far the trunk is bent ahead, rad.
    bend: Track,
    /// 1 with the left leg ahead, −1 with the right one.
    swing: Track,
    /// How far arms swing against the legs, are bent, and are raised together, rad.
    arms: [Track; 3],
}

impl Course {
    /// Seconds from the first frame to the last.
    fn seconds(&self) -> f64 {
        TAKE_OFF + self.flight + 1.0
    }

    /// Where the hips are along z, in m: when the last running step lands and when it is over, after one and after two steps of the walk,
    /// at the stop, and where the jump leaves the ground and comes down.
    fn marks(&self) -> [f64; 7] {
        let brake = self.speed * BRAKE;
        let walk = brake + 0.17 * (self.speed + 1.2);
        let stop = walk + 1.22;
        [brake, walk, walk + 0.54, walk + 0.98, stop, stop + 0.12, stop + 0.12 + 0.9 * self.flight]
    }

    /// Hips from where they rest, along y and z. In flight they rise with g·T/2 and come down with it: between two such keys a cubic is
    /// the parabola of free fall.
    fn hips(&self) -> [Track; 2] {
        let (land, [period, ground]) = (TAKE_OFF + self.flight, RUN);
        let (hop, jump) = (0.5 * GRAVITY * (period - ground), 0.5 * GRAVITY * self.flight);
        let mut up = Vec::new();
        for start in [0.0, period, 2.0 * period] {
            up.push(Key::slope(start, -0.055, -hop));
            up.push(Key::slope(start + ground, -0.055, hop));
        }
        up.push(Key::slope(BRAKE, -0.055, -hop));
        let walk = [(1.2, -0.1), (1.36, -0.075), (1.6, -0.05), (1.85, -0.065), (2.1, -0.05), (2.35, -0.06)];
        up.extend(walk.map(|(time, value)| Key::ease(time, value)));
        up.extend([
            Key::ease(2.95, -0.03),
            Key::ease(3.4, -0.23),
            Key::slope(TAKE_OFF, -0.02, jump),
            Key::slope(land, -0.02, -jump),
            Key::ease(land + 0.28, -0.02 - 0.13 * jump),
            Key::ease(land + 0.85, -0.03),
        ]);
        let [a, b, c, d, stop, leave, touch] = self.marks();
        let ahead = [
            Key::slope(0.0, 0.0, self.speed),
            Key::slope(BRAKE, a, self.speed),
            Key::slope(1.36, b, 1.2),
            Key::slope(1.85, c, 1.0),
            Key::slope(2.35, d, 0.75),
            Key::ease(2.95, stop),
            Key::ease(3.4, stop - 0.04),
            Key::slope(TAKE_OFF, leave, 0.9),
            Key::slope(land, touch, 0.9),
            Key::ease(land + 0.42, touch + 0.19),
        ];
        [Track::new(&up), Track::new(&ahead)]
    }

    /// Footsteps, left and right: in the run the hips are above a foot halfway through its step.
    fn steps(&self) -> [Vec<Step>; 2] {
        let [a, b, c, d, _, _, touch] = self.marks();
        let step = |from: f64, to: f64, place: f64, lift: f64| Step { from, to, place, lift };
        let run = |count: f64| {
            let from = count * RUN[0];
            step(from, from + RUN[1], self.speed * (from + 0.5 * RUN[1]), 0.2)
        };
        let jump = 0.5 * GRAVITY * self.flight * self.flight / PI;
        let after = step(TAKE_OFF + self.flight, f64::INFINITY, touch + 0.15, jump);
        let last = |from: f64| step(from, TAKE_OFF, d + 0.2, 0.07);
        let left = vec![run(0.0), run(2.0), step(1.3, 1.9, b + 0.175, 0.12), last(2.3), after];
        let brake = step(BRAKE, 1.36, a + 0.26, 0.2);
        let right = vec![run(-1.0), run(1.0), brake, step(1.8, 2.4, c + 0.2, 0.07), last(2.8), after];
        [left, right]
    }

    fn plan(&self) -> Plan {
        let (land, period) = (TAKE_OFF + self.flight, RUN[0]);
        let eased = |keys: &[(f64, f64)]| {
            Track::new(&keys.iter().map(|&(time, value)| Key::ease(time, value)).collect::<Vec<_>>())
        };
        let bend = [(0.9, 0.22), (1.5, 0.05), (2.95, 0.03), (3.4, 0.6), (TAKE_OFF, 0.08), (land, 0.12)];
        let bend = [&bend[..], &[(land + 0.3, 0.6), (land + 0.85, 0.04)]].concat();
        let run = [(0.0, 1.0), (period, -1.0), (2.0 * period, 1.0), (BRAKE, -1.0)];
        let swing = [&run[..], &[(1.33, 1.0), (1.82, -1.0), (2.32, 1.0), (2.85, 0.0)]].concat();
        let bent = [(0.9, 1.3), (1.6, 0.35), (3.0, 0.25), (3.4, 0.4), (TAKE_OFF, 0.6), (land + 0.4, 0.3)];
        let raised = [(2.95, 0.05), (3.38, 0.8), (TAKE_OFF + 0.05, -1.5), (land, -1.1)];
        let raised = [&raised[..], &[(land + 0.45, -0.1), (land + 0.85, 0.05)]].concat();
        Plan {
            steps: self.steps(),
            hips: self.hips(),
            bend: eased(&bend),
            swing: eased(&swing),
            arms: [eased(&[(0.9, 0.7), (1.6, 0.35), (2.6, 0.2)]), eased(&bent), eased(&raised)],
        }
    }

    /// So many frames a second of it.
    pub fn clip(&self, frame_rate_hz: f64) -> Clip {
        let (person, plan) = (Person::with_arms_out(ARMS_CLEAR), self.plan());
        let times = motion::times(self.seconds(), frame_rate_hz);
        let poses: Vec<Pose> = times.map(|time| plan.pose(&person, time)).collect();
        let mut clip = person.rig.clip("course", frame_rate_hz, vec![person.mesh(0.04)], &poses);
        clip.materials = vec![paint::plain("suit", 0x6f8fb0)];
        clip
    }
}

impl Plan {
    /// The pose at a time in seconds.
    fn pose(&self, person: &Person, time: f64) -> Pose {
        let mut pose = Pose::new(&person.rig);
        let [up, ahead] = self.hips.each_ref().map(|track| track.at(time));
        let (bend, swing) = (self.bend.at(time), self.swing.at(time));
        let [reach, bent, raised] = self.arms.each_ref().map(|track| track.at(time));
        let twist = 0.2 * reach * swing;
        pose.shift(person.hips, Vec3::new(0.0, up, ahead));
        pose.turn(person.hips, 0.3 * bend, -twist, 0.0);
        pose.turn(person.spine[0], 0.35 * bend, 0.75 * twist, 0.0);
        pose.turn(person.spine[1], 0.35 * bend, 1.25 * twist, 0.0);
        pose.turn(person.head, -0.7 * bend, -0.75 * twist, 0.0);
        for (arm, side) in [1.0, -1.0].into_iter().enumerate() {
            let forward = -side * swing;
            let upper = [raised - reach * forward - 0.6 * bend, 0.0, 0.1 * side];
            let lower = [-bent - 0.3 * reach * forward, 0.0, 0.0];
            person.turn_arm(&mut pose, arm, [upper, lower, [-0.1, 0.0, 0.0]]);
        }
        for (leg, steps) in person.legs.iter().zip(&self.steps) {
            step(person, &mut pose, leg, steps, time);
        }
        pose
    }
}

/// One leg: the foot lands, lies flat, rolls over its toes and swings to its next place.
fn step(person: &Person, pose: &mut Pose, leg: &[usize; 4], steps: &[Step], time: f64) {
    let rig = &person.rig;
    let (ankle, toes) = (rig.places[leg[2]], rig.places[leg[3]]);
    let smooth = |x: f64| x * x * (3.0 - 2.0 * x);
    let standing = |step: &Step, time: f64| {
        let roll = (0.45 * (step.to - step.from)).min(0.24);
        let share = if roll.is_finite() { ((time - step.to + roll) / roll).clamp(0.0, 1.0) } else { 0.0 };
        let pitch = if step.to.is_finite() { PUSH_OFF * smooth(share) } else { 0.0 };
        (toes + DQuat::from_rotation_x(pitch) * (ankle - toes) + Vec3::Z * step.place, pitch)
    };
    let now = steps.partition_point(|step| step.from <= time).saturating_sub(1);
    let (target, pitch, bent) = match steps.get(now + 1) {
        Some(next) if time > steps[now].to => {
            let s = ((time - steps[now].to) / (next.from - steps[now].to)).clamp(0.0, 1.0);
            let (from, pitch) = standing(&steps[now], steps[now].to);
            let to = ankle + Vec3::Z * next.place;
            let lift = Vec3::Y * (next.lift * (PI * s).sin());
            (from.lerp(to, smooth(s)) + lift, pitch * (1.0 - smooth((1.6 * s).min(1.0))), 0.4)
        }
        _ => {
            let (target, pitch) = standing(&steps[now], time);
            (target, pitch, 1.0)
        }
    };
    let turn = DQuat::from_rotation_x(pitch);
    pose.reach(rig, [leg[0], leg[1], leg[2]], target, Vec3::X, Vec3::Z, turn);
    pose.turn(leg[3], -bent * pitch, 0.0, 0.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hips fall freely where no foot is on the ground, and legs are long enough everywhere.
    #[test]
    fn hips_fall_freely_in_flight_and_feet_reach_their_places() {
        for course in
            [Course::default(), Course { speed: 2.0, flight: 0.3 }, Course { speed: 2.5, flight: 0.44 }]
        {
            let (plan, person) = (course.plan(), Person::new());
            let h = 1e-3;
            for time in motion::times(course.seconds() - 0.01, 200.0).skip(2) {
                let on = |steps: &[Step], t: f64| steps.iter().any(|step| step.from <= t && t <= step.to);
                let flying = |t: f64| plan.steps.iter().all(|steps| !on(steps, t));
                let [y0, y1, y2] = [time - h, time, time + h].map(|t| plan.hips[0].at(t));
                if flying(time - 2.0 * h) && flying(time + 2.0 * h) {
                    assert!(((y2 - 2.0 * y1 + y0) / (h * h) + GRAVITY).abs() < 1e-3, "at {time} s");
                }
                let pose = plan.pose(&person, time);
                for (leg, steps) in person.legs.iter().zip(&plan.steps) {
                    let Some(step) = steps.iter().find(|step| step.from <= time && time <= step.to) else {
                        continue;
                    };
                    let toes = pose.world(&person.rig, leg[3]).0;
                    let place = person.rig.places[leg[3]] + Vec3::Z * step.place;
                    assert!(toes.distance(place) < 2e-3, "{course:?}, {time} s: {toes} for {place}");
                }
            }
        }
    }

    /// How arms are held at rest changes no pose.
    #[test]
    fn arms_are_where_they_were_however_they_rest() {
        let plan = Course::default().plan();
        let [hanging, clear] = [Person::new(), Person::with_arms_out(ARMS_CLEAR)];
        for time in [0.1, 1.5, 3.4, 3.8] {
            let [a, b] = [&hanging, &clear].map(|person| plan.pose(person, time));
            for (arm, other) in hanging.arms.iter().zip(&clear.arms) {
                for (&joint, &same) in arm.iter().zip(other) {
                    let (here, there) = (a.world(&hanging.rig, joint).0, b.world(&clear.rig, same).0);
                    assert!(here.distance(there) < 1e-12, "{time} s: {here} {there}");
                }
            }
        }
    }
}
