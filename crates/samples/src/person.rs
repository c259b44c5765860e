//! A person: skeleton, body, and the gaits that carry it.

use clip::Mesh;
use geometry::Vec3;
use glam::DQuat;
use std::f64::consts::TAU;

use crate::rig::{Pose, Rig};
use crate::surface::{Body, Piece, Solid};

/// How feet come and go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gait {
    /// Metres of a stride of two steps.
    pub(crate) length: f64,
    /// Share of a stride for which a foot stands; below one half both are in the air at times.
    pub(crate) stance: f64,
    /// Share for which it stands flat.
    pub(crate) flat: f64,
    /// How far the heel has turned up when the toes leave the ground, rad.
    pub(crate) push_off: f64,
    /// How high a foot is carried, m.
    pub(crate) lift: f64,
    /// Metres that a foot slides ahead while it should stand.
    pub(crate) slide: f64,
}

/// A stroll.
pub(crate) const WALK: Gait =
    Gait { length: 0.9, stance: 0.62, flat: 0.42, push_off: 0.6, lift: 0.07, slide: 0.0 };
/// A run.
pub(crate) const RUN: Gait =
    Gait { length: 1.9, stance: 0.34, flat: 0.14, push_off: 0.7, lift: 0.22, slide: 0.0 };

/// How far arms are held out at rest where a skin must not grow together between hand and thigh, rad.
pub(crate) const ARMS_CLEAR: f64 = 0.4;

/// Skeleton and body; faces +z, its left is +x.
pub(crate) struct Person {
    pub(crate) rig: Rig,
    pub(crate) body: Body,
    pub(crate) hips: usize,
    pub(crate) spine: [usize; 2],
    pub(crate) head: usize,
    /// Upper, lower, hand; left first.
    pub(crate) arms: [[usize; 3]; 2],
    /// How far arms are held out at rest, rad.
    pub(crate) arms_out: f64,
    /// Upper, lower, foot, toes; left first.
    pub(crate) legs: [[usize; 4]; 2],
}

impl Person {
    /// With arms that hang down at rest.
    pub(crate) fn new() -> Self {
        Self::with_arms_out(0.0)
    }

    /// With arms that are held out at rest by so many radians, so that hands are clear of what is worn around the hips.
    pub(crate) fn with_arms_out(arms_out: f64) -> Self {
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
            let turn = DQuat::from_rotation_z(side * arms_out);
            let shoulder = at(0.185 * side, 1.41, 0.0);
            let down = [Vec3::ZERO, at(0.04 * side, -0.28, -0.01), at(0.055 * side, -0.53, 0.02)];
            let places = down.map(|way| shoulder + turn * way);
            let upper = rig.joint(&format!("{name}Arm"), Some(chest), places[0]);
            let lower = rig.joint(&format!("{name}ForeArm"), Some(upper), places[1]);
            let hand = rig.joint(&format!("{name}Hand"), Some(lower), places[2]);
            add(upper, 0.03, Solid::limb(places[0], places[1], [0.055, 0.043]));
            add(lower, 0.01, Solid::limb(places[1], places[2], [0.043, 0.033]));
            add(
                hand,
                0.01,
                Solid::limb(places[2], places[2] + turn * at(0.005 * side, -0.13, 0.025), [0.036, 0.027]),
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
        Self { rig, body, hips, spine: [spine, chest], head, arms, arms_out, legs }
    }

    /// Turns upper arm, lower arm and hand, left 0 or right 1, by nod, shake and tilt as if the arm hung down at rest.
    pub(crate) fn turn_arm(&self, pose: &mut Pose, arm: usize, turns: [[f64; 3]; 3]) {
        let side = if arm == 0 { 1.0 } else { -1.0 };
        let out = DQuat::from_rotation_z(side * self.arms_out);
        for (k, [nod, shake, tilt]) in turns.into_iter().enumerate() {
            let joint = self.arms[arm][k];
            // what hangs down and what is held out differ by `out`, which the lower joints have from the upper one
            if k > 0 {
                pose.rotate(joint, out);
            }
            pose.turn(joint, nod, shake, tilt);
            pose.rotate(joint, out.inverse());
        }
    }

    /// Both legs at a phase, counted in strides.
    pub(crate) fn stride(&self, gait: &Gait, pose: &mut Pose, phase: f64) {
        for (leg, offset) in self.legs.iter().zip([0.0, 0.5]) {
            self.step(gait, pose, leg, phase + offset, offset);
        }
    }

    /// One leg: the foot lands, lies flat, rolls over its toes and swings ahead.
    fn step(&self, gait: &Gait, pose: &mut Pose, leg: &[usize; 4], phase: f64, offset: f64) {
        let rig = &self.rig;
        let (count, phase) = (phase.floor(), phase - phase.floor());
        let land = |count: f64| gait.length * (count - offset + 0.5 * gait.stance);
        let (ankle, toes) = (rig.places[leg[2]], rig.places[leg[3]]);
        let smooth = |x: f64| x * x * (3.0 - 2.0 * x);
        // while it stands: where the toes are, and how far the heel is up
        let standing = |phase: f64| {
            let slid = gait.slide * (phase / gait.stance - 0.5);
            let pitch =
                gait.push_off * smooth(((phase - gait.flat) / (gait.stance - gait.flat)).clamp(0.0, 1.0));
            let turn = DQuat::from_rotation_x(pitch);
            (toes + turn * (ankle - toes) + Vec3::Z * (land(count) + slid), pitch)
        };
        let (target, pitch) = if phase < gait.stance {
            standing(phase)
        } else {
            let s = (phase - gait.stance) / (1.0 - gait.stance);
            let (from, pitch) = standing(gait.stance);
            let to = ankle + Vec3::Z * (land(count + 1.0) - 0.5 * gait.slide);
            let lift = Vec3::Y * (gait.lift * (TAU * 0.5 * s).sin());
            (from.lerp(to, smooth(s)) + lift, pitch * (1.0 - smooth((1.6 * s).min(1.0))))
        };
        let upper = [leg[0], leg[1], leg[2]];
        pose.reach(rig, upper, target, Vec3::X, Vec3::Z, DQuat::from_rotation_x(pitch));
        let bent = if phase < gait.stance { -pitch } else { -0.4 * pitch };
        pose.turn(leg[3], bent, 0.0, 0.0);
    }

    /// The skinned body, of quads of about `cell` metres.
    pub(crate) fn mesh(&self, cell: f64) -> Mesh {
        let cell = cell.clamp(0.015, 0.06);
        let shape = self.body.surface(cell);
        let iterations = (0.5 * (0.06 / cell).powi(2)) as usize + 3;
        let weights = self.rig.weights(&shape, &self.body, |p| p.y < 0.03, iterations);
        let mut mesh = shape.mesh("body", Some(0));
        mesh.skin = Some(self.rig.skin(&weights));
        mesh
    }
}
