//! A kangaroo that hops on the spot: a heavy belly and tail, long ears.

use clip::Clip;
use geometry::{Mat3, Vec3};
use glam::DQuat;
use std::f64::consts::{PI, TAU};

use crate::creature::{Creature, bead};
use crate::motion;
use crate::paint::{self, Rgb, step};
use crate::rig::Pose;
use crate::surface::Solid;

/// Hops without moving ahead; the last frame is the first. Meshes `body` (one closed surface) and `details` (eyes and nose).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kangaroo {
    /// Edge length of the body's quads in metres.
    pub cell: f64,
    /// How many hops.
    pub hops: usize,
    /// Seconds from hop to hop.
    pub seconds_per_hop: f64,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Kangaroo {
    fn default() -> Self {
        Self { cell: 0.027, hops: 4, seconds_per_hop: 0.75, frame_rate_hz: 24.0 }
    }
}

/// The kangaroo as it comes.
pub fn kangaroo() -> Clip {
    Kangaroo::default().clip()
}

/// The part of a hop that the feet stand.
const STANCE: f64 = 0.42;
/// How deep it sinks into its knees, and how high it flies, m.
const SINK: f64 = 0.12;
const FLIGHT: f64 = 0.24;

struct Character {
    creature: Creature,
    hips: usize,
    spine: usize,
    chest: usize,
    neck: usize,
    head: usize,
    tail: Vec<usize>,
    arms: [[usize; 2]; 2],
    legs: [[usize; 3]; 2],
}

impl Kangaroo {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let character = Character::new();
        let body = character.creature.mesh(self.cell.clamp(0.012, 0.06), 0.03, paint_place);
        let details = character.details();
        let seconds = self.hops as f64 * self.seconds_per_hop;
        let poses: Vec<Pose> = motion::times(seconds, self.frame_rate_hz)
            .map(|time| character.hop(time / self.seconds_per_hop))
            .collect();
        let mut clip =
            character.creature.rig.clip("kangaroo", self.frame_rate_hz, vec![body, details], &poses);
        clip.images = vec![paint::picture("fur", 128, 128, colour)];
        clip.materials =
            vec![paint::textured("fur", 0), paint::plain("eye", 0x241f26), paint::plain("glint", 0xffffff)];
        clip
    }
}

impl Character {
    fn new() -> Self {
        let mut creature = Creature::default();
        creature.body.floor = Some(0.0);
        let at = Vec3::new;
        let rig = &mut creature.rig;
        let root = rig.joint("root", None, Vec3::ZERO);
        let hips = rig.joint("hips", Some(root), at(0.0, 0.60, -0.10));
        let spine = rig.joint("spine", Some(hips), at(0.0, 0.74, -0.02));
        let chest = rig.joint("chest", Some(spine), at(0.0, 0.92, 0.06));
        let neck = rig.joint("neck", Some(chest), at(0.0, 1.07, 0.12));
        let head = rig.joint("head", Some(neck), at(0.0, 1.20, 0.17));
        let sides = [(1.0, "left"), (-1.0, "right")];
        let ears = sides
            .map(|(side, name)| rig.joint(&format!("ear_{name}"), Some(head), at(0.055 * side, 1.32, 0.14)));
        let tail_places = [
            at(0.0, 0.52, -0.28),
            at(0.0, 0.40, -0.44),
            at(0.0, 0.29, -0.61),
            at(0.0, 0.22, -0.79),
            at(0.0, 0.19, -0.98),
            at(0.0, 0.19, -1.16),
        ];
        let tail = rig.chain("tail", hips, &tail_places[..5]);
        let arm_places = |side: f64| {
            [at(0.12 * side, 0.93, 0.12), at(0.16 * side, 0.80, 0.20), at(0.145 * side, 0.74, 0.34)]
        };
        let arms = sides.map(|(side, name)| {
            let places = arm_places(side);
            let upper = rig.joint(&format!("arm_{name}_upper"), Some(chest), places[0]);
            [upper, rig.joint(&format!("arm_{name}_lower"), Some(upper), places[1])]
        });
        let legs = sides.map(|(side, name)| {
            let mut joint = |bone: &str, parent: usize, place: Vec3| {
                rig.joint(&format!("leg_{name}_{bone}"), Some(parent), place)
            };
            let upper = joint("upper", hips, at(0.15 * side, 0.56, -0.08));
            let lower = joint("lower", upper, at(0.165 * side, 0.36, 0.14));
            [upper, lower, joint("foot", lower, at(0.165 * side, 0.085, -0.06))]
        });

        creature.add(hips, 0.0, Solid::ball(at(0.0, 0.56, -0.12), at(0.20, 0.20, 0.21)));
        creature.add(spine, 0.14, Solid::ball(at(0.0, 0.70, 0.015), at(0.20, 0.22, 0.20)));
        creature.add(chest, 0.12, Solid::ball(at(0.0, 0.92, 0.08), at(0.145, 0.16, 0.13)));
        creature.add(neck, 0.08, Solid::limb(at(0.0, 1.02, 0.11), at(0.0, 1.19, 0.17), [0.09, 0.08]));
        creature.add(head, 0.06, Solid::ball(at(0.0, 1.24, 0.19), at(0.095, 0.10, 0.11)));
        creature.add(head, 0.06, Solid::limb(at(0.0, 1.215, 0.26), at(0.0, 1.185, 0.36), [0.07, 0.045]));
        for (&ear, (side, _)) in ears.iter().zip(sides) {
            // upright leaves, a little apart
            let axes = Mat3::from_rotation_y(0.35 * side) * Mat3::from_rotation_z((0.5 * PI - 0.30) * side);
            creature.add_leaf(ear, [0.135, 0.058], axes, at(0.105 * side, 0.0, 0.0));
        }
        creature.add_chain(&tail, 0.10, &tail_places, &[0.125, 0.105, 0.088, 0.072, 0.058, 0.046]);
        for ((&[upper, lower], leg), (side, _)) in arms.iter().zip(&legs).zip(sides) {
            let [a, b, c] = arm_places(side);
            creature.add(upper, 0.05, Solid::limb(a, b, [0.058, 0.045]));
            creature.add(lower, 0.02, Solid::limb(b, c, [0.044, 0.036]));
            creature.add(lower, 0.02, Solid::ball(c + at(0.0, -0.01, 0.02), at(0.042, 0.036, 0.05)));
            let [hip, knee, foot] = leg.map(|joint| creature.rig.places[joint]);
            creature.add(leg[0], 0.08, Solid::limb(hip, knee, [0.135, 0.088]));
            creature.add(leg[1], 0.04, Solid::limb(knee, foot, [0.080, 0.055]));
            let toes = foot + at(0.0, -0.04, 0.30);
            creature.add(leg[2], 0.03, Solid::limb(foot - 0.03 * Vec3::Y, toes, [0.055, 0.05]));
        }
        Self { creature, hips, spine, chest, neck, head, tail, arms, legs }
    }

    /// The pose after this many hops.
    fn hop(&self, hops: f64) -> Pose {
        let rig = &self.creature.rig;
        let mut pose = Pose::new(rig);
        let phase = |late: f64| (hops - late).rem_euclid(1.0);
        // sinks and pushes off, then flies along a parabola
        let height = |phase: f64| {
            let flown = (phase - STANCE) / (1.0 - STANCE);
            if phase < STANCE {
                -SINK * (PI * phase / STANCE).sin()
            } else {
                4.0 * FLIGHT * flown * (1.0 - flown)
            }
        };
        let now = phase(0.0);
        let flown = ((now - STANCE) / (1.0 - STANCE)).clamp(0.0, 1.0);
        let lift = 0.85 * 4.0 * FLIGHT * flown * (1.0 - flown);
        let wave = |late: f64| (TAU * (hops - late)).sin();
        pose.shift(self.hips, Vec3::new(0.0, height(now), 0.0));
        pose.turn(self.hips, 0.12 * wave(0.05), 0.0, 0.0);
        pose.turn(self.spine, 0.08 * wave(0.10), 0.0, 0.0);
        pose.turn(self.chest, 0.06 * wave(0.16), 0.0, 0.0);
        pose.turn(self.neck, -0.12 * wave(0.14), 0.0, 0.0);
        pose.turn(self.head, -0.12 * wave(0.20), 0.0, 0.0);
        for (i, &joint) in self.tail.iter().enumerate() {
            pose.turn(joint, -0.11 * wave(0.12 + 0.07 * i as f64), 0.0, 0.0);
        }
        for [upper, lower] in self.arms {
            pose.turn(upper, 0.18 * wave(0.22), 0.0, 0.0);
            pose.turn(lower, 0.15 * wave(0.30), 0.0, 0.0);
        }
        for leg in self.legs {
            let trailing = -0.10 * (PI * flown).sin().powi(2);
            let target = rig.places[leg[2]] + Vec3::new(0.0, lift, trailing);
            let turn = DQuat::from_rotation_x(0.55 * (PI * flown).sin().powi(2));
            pose.reach(rig, leg, target, Vec3::X, Vec3::Z, turn);
        }
        pose
    }

    fn details(&self) -> clip::Mesh {
        let mut shapes = Vec::new();
        for side in [-1.0, 1.0] {
            let eye = Vec3::new(0.080 * side, 1.262, 0.245);
            shapes.push((bead(eye, Vec3::new(0.022, 0.028, 0.026)), 1, self.head));
            shapes.push((
                bead(eye + Vec3::new(0.014 * side, 0.010, 0.012), Vec3::splat(0.008)),
                2,
                self.head,
            ));
        }
        shapes.push((bead(Vec3::new(0.0, 1.20, 0.402), Vec3::new(0.026, 0.018, 0.014)), 1, self.head));
        self.creature.details(&shapes)
    }
}

/// u: from fur to the pale front; v: from fur to dark (ends of tail, paws, ears).
fn paint_place(p: Vec3, n: Vec3) -> [f64; 2] {
    let front = step(0.12, 0.07, p.x.abs()) * step(0.45, 0.55, p.y) * step(1.05, 0.98, p.y);
    let dark = step(-0.95, -1.08, p.z).max(step(0.09, 0.05, p.y)).max(step(1.40, 1.46, p.y));
    [front * (0.5 + 0.6 * n.z), dark]
}

fn colour(u: f64, v: f64) -> Rgb {
    let fur = paint::mix(0xc08a5c, 0xf0dcbc, step(0.35, 0.75, u));
    paint::mix(fur, 0x5d4030, 0.85 * step(0.3, 0.9, v))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_character, assert_loops};

    #[test]
    fn is_sound_and_hops_in_a_loop() {
        let clip = kangaroo();
        assert_character(&clip, 1, 0.85);
        assert_loops(&clip);
    }
}
