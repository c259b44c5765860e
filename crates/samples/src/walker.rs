//! A person who strolls, as a hand draws it in a hurry: feet slide, joints tremble, nobody has asked where the weight is.

use clip::{Clip, Mesh};
use geometry::Vec3;
use glam::DQuat;
use std::f64::consts::TAU;

use crate::motion;
use crate::paint;
use crate::rig::{Pose, Rig};
use crate::surface::{Body, Piece, Solid};

/// A stroll ahead, along +z; one mesh, `body`, skinned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walker {
    /// Strides of two steps each.
    pub strides: usize,
    /// Metres that a foot slides ahead while it should stand.
    pub slide: f64,
    /// Radians by which joints tremble.
    pub tremble: f64,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// Edge length of the mesh's quads in metres.
    pub cell: f64,
}

impl Default for Walker {
    fn default() -> Self {
        Self { strides: 2, slide: 0.04, tremble: 0.012, frame_rate_hz: 48.0, cell: 0.03 }
    }
}

/// The rough stroll as it comes.
pub fn walker() -> Clip {
    Walker::default().clip()
}

/// Seconds of a stride.
const STRIDE: f64 = 1.1;
/// Metres of a stride.
const LENGTH: f64 = 0.9;
/// Share of a stride for which a foot stands, and for which it stands flat.
const STANCE: f64 = 0.62;
const FLAT: f64 = 0.42;
/// How far the heel has turned up when the toes leave the ground.
const PUSH_OFF: f64 = 0.6;

struct Character {
    rig: Rig,
    body: Body,
    hips: usize,
    spine: [usize; 2],
    head: usize,
    /// Upper, lower, hand; left first.
    arms: [[usize; 3]; 2],
    /// Upper, lower, foot, toes; left first.
    legs: [[usize; 4]; 2],
}

impl Character {
    fn new() -> Self {
        let mut rig = Rig::default();
        let mut pieces = Vec::new();
        let mut add = |joint: usize, fillet: f64, solid: Solid| pieces.push(Piece { solid, fillet, joint });
        let at = Vec3::new;
        let hips = rig.joint("Hips", None, at(0.0, 0.95, 0.0));
        let spine = rig.joint("Spine", Some(hips), at(0.0, 1.08, 0.0));
        let chest = rig.joint("Chest", Some(spine), at(0.0, 1.25, 0.0));
        let neck = rig.joint("Neck", Some(chest), at(0.0, 1.47, 0.0));
        let head = rig.joint("Head", Some(neck), at(0.0, 1.56, 0.01));
        add(hips, 0.0, Solid::ball(at(0.0, 0.96, -0.005), at(0.165, 0.115, 0.115)));
        add(spine, 0.06, Solid::ball(at(0.0, 1.12, 0.0), at(0.14, 0.14, 0.1)));
        add(chest, 0.08, Solid::ball(at(0.0, 1.33, 0.0), at(0.17, 0.15, 0.115)));
        add(neck, 0.02, Solid::limb(at(0.0, 1.45, 0.0), at(0.0, 1.56, 0.01), [0.055, 0.05]));
        add(head, 0.02, Solid::ball(at(0.0, 1.655, 0.02), at(0.078, 0.105, 0.095)));
        let sides = [("Left", 1.0), ("Right", -1.0)];
        let arms = sides.map(|(name, side)| {
            let places =
                [at(0.185 * side, 1.41, 0.0), at(0.225 * side, 1.13, -0.01), at(0.24 * side, 0.88, 0.02)];
            let upper = rig.joint(&format!("{name}Arm"), Some(chest), places[0]);
            let lower = rig.joint(&format!("{name}ForeArm"), Some(upper), places[1]);
            let hand = rig.joint(&format!("{name}Hand"), Some(lower), places[2]);
            add(upper, 0.03, Solid::limb(places[0], places[1], [0.055, 0.043]));
            add(lower, 0.01, Solid::limb(places[1], places[2], [0.043, 0.033]));
            add(
                hand,
                0.01,
                Solid::limb(places[2], places[2] + at(0.005 * side, -0.13, 0.025), [0.036, 0.027]),
            );
            [upper, lower, hand]
        });
        let legs = sides.map(|(name, side)| {
            let places = [
                at(0.09 * side, 0.92, 0.0),
                at(0.09 * side, 0.505, 0.015),
                at(0.09 * side, 0.085, -0.01),
                at(0.095 * side, 0.028, 0.125),
            ];
            let upper = rig.joint(&format!("{name}UpLeg"), Some(hips), places[0]);
            let lower = rig.joint(&format!("{name}Leg"), Some(upper), places[1]);
            let foot = rig.joint(&format!("{name}Foot"), Some(lower), places[2]);
            let toes = rig.joint(&format!("{name}ToeBase"), Some(foot), places[3]);
            let tip = places[3] + at(0.0, -0.003, 0.07);
            rig.joint(&format!("{name}ToeEnd"), Some(toes), tip);
            add(upper, 0.05, Solid::limb(places[0], places[1], [0.085, 0.06]));
            add(lower, 0.01, Solid::limb(places[1], places[2], [0.06, 0.042]));
            add(foot, 0.02, Solid::limb(places[2] + at(0.0, -0.045, -0.03), places[3], [0.038, 0.032]));
            add(toes, 0.01, Solid::limb(places[3], tip, [0.031, 0.026]));
            [upper, lower, foot, toes]
        });
        let body = Body { pieces, floor: Some(0.0) };
        Self { rig, body, hips, spine: [spine, chest], head, arms, legs }
    }

    /// The pose at a time in seconds.
    fn walk(&self, settings: &Walker, time: f64) -> Pose {
        let (rig, mut pose) = (&self.rig, Pose::new(&self.rig));
        let phase = time / STRIDE;
        let (swing, bob) = ((TAU * phase).cos(), (2.0 * TAU * (phase - 0.06)).cos());
        let sway = 0.022 * (TAU * (phase - 0.06)).sin();
        pose.shift(self.hips, Vec3::new(sway, -0.045 - 0.012 * bob, LENGTH * phase));
        pose.turn(self.hips, 0.03, -0.08 * swing, 0.03 * (TAU * phase).sin());
        pose.turn(self.spine[0], 0.02, 0.06 * swing, -0.02 * (TAU * phase).sin());
        pose.turn(self.spine[1], 0.0, 0.1 * swing, -0.01 * (TAU * phase).sin());
        pose.turn(self.head, -0.04, -0.06 * swing, 0.0);
        for (arm, side) in self.arms.iter().zip([1.0, -1.0]) {
            let forward = -side * swing;
            pose.turn(arm[0], -0.35 * forward + 0.05, 0.0, 0.06 * side);
            pose.turn(arm[1], -0.3 - 0.15 * forward, 0.0, 0.0);
            pose.turn(arm[2], -0.1, 0.0, 0.0);
        }
        for (leg, offset) in self.legs.iter().zip([0.0, 0.5]) {
            self.step(settings, &mut pose, leg, phase + offset, offset);
        }
        // trembling: fast, of no two joints alike
        for joint in 1..rig.places.len() {
            let wave = |k: f64| (TAU * (9.0 + k) * time + 1.7 * k * joint as f64).sin();
            let [x, y, z] = [wave(1.3), wave(3.1), wave(4.7)].map(|w| settings.tremble * w);
            pose.turn(joint, x, y, z);
        }
        pose
    }

    /// One leg: the foot lands, lies flat, rolls over its toes and swings ahead.
    fn step(&self, settings: &Walker, pose: &mut Pose, leg: &[usize; 4], phase: f64, offset: f64) {
        let rig = &self.rig;
        let (count, phase) = (phase.floor(), phase - phase.floor());
        let land = |count: f64| LENGTH * (count - offset + 0.5 * STANCE);
        let (ankle, toes) = (rig.places[leg[2]], rig.places[leg[3]]);
        let smooth = |x: f64| x * x * (3.0 - 2.0 * x);
        // while it stands: where the toes are, and how far the heel is up
        let standing = |phase: f64| {
            let slid = settings.slide * (phase / STANCE - 0.5);
            let pitch = PUSH_OFF * smooth(((phase - FLAT) / (STANCE - FLAT)).clamp(0.0, 1.0));
            let turn = DQuat::from_rotation_x(pitch);
            (toes + turn * (ankle - toes) + Vec3::Z * (land(count) + slid), pitch)
        };
        let (target, pitch) = if phase < STANCE {
            standing(phase)
        } else {
            let s = (phase - STANCE) / (1.0 - STANCE);
            let (from, pitch) = standing(STANCE);
            let to = ankle + Vec3::Z * (land(count + 1.0) - 0.5 * settings.slide);
            let lift = Vec3::Y * (0.07 * (TAU * 0.5 * s).sin());
            (from.lerp(to, smooth(s)) + lift, pitch * (1.0 - smooth((1.6 * s).min(1.0))))
        };
        let upper = [leg[0], leg[1], leg[2]];
        pose.reach(rig, upper, target, Vec3::X, Vec3::Z, DQuat::from_rotation_x(pitch));
        let bent = if phase < STANCE { -pitch } else { -0.4 * pitch };
        pose.turn(leg[3], bent, 0.0, 0.0);
    }

    fn mesh(&self, cell: f64) -> Mesh {
        let cell = cell.clamp(0.015, 0.06);
        let shape = self.body.surface(cell);
        let iterations = (0.5 * (0.06 / cell).powi(2)) as usize + 3;
        let weights = self.rig.weights(&shape, &self.body, |p| p.y < 0.03, iterations);
        let mut mesh = shape.mesh("body", Some(0));
        mesh.skin = Some(self.rig.skin(&weights));
        mesh
    }
}

impl Walker {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let character = Character::new();
        let mesh = character.mesh(self.cell);
        let times = motion::times(self.strides as f64 * STRIDE, self.frame_rate_hz);
        let poses: Vec<Pose> = times.map(|time| character.walk(self, time)).collect();
        let mut clip = character.rig.clip("walker", self.frame_rate_hz, vec![mesh], &poses);
        clip.materials = vec![paint::plain("suit", 0x6f8fb0)];
        clip
    }
}
