//! A cow: belly, udder and dewlap without a bone, ears that hang, horns that do not.

use clip::Clip;
use geometry::{Mat3, Vec3};
use glam::DQuat;

use crate::creature::{Creature, bead};
use crate::motion::{self, Key, Track};
use crate::paint::{self, Rgb, step};
use crate::rig::Pose;
use crate::surface::Solid;

/// A cow that hops once, lands heavily and tosses its head; or its head alone, which turns far to either side. Meshes `body` (one closed
/// surface) and `details` (eyes and nostrils).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cow {
    /// Edge length of the body's quads in metres.
    pub cell: f64,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// Only neck and head.
    pub head_only: bool,
}

impl Default for Cow {
    fn default() -> Self {
        Self { cell: 0.027, frame_rate_hz: 24.0, head_only: false }
    }
}

/// The cow as it comes.
pub fn cow() -> Clip {
    Cow::default().clip()
}

/// Its head alone.
pub fn cow_head() -> Clip {
    Cow { cell: 0.02, head_only: true, ..Cow::default() }.clip()
}

struct Character {
    creature: Creature,
    hips: usize,
    spine: usize,
    neck: usize,
    head: usize,
    muzzle: usize,
    ears: [usize; 2],
    horns: [usize; 2],
    tail: Vec<usize>,
    legs: Vec<[usize; 3]>,
}

impl Cow {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let mut character = Character::new();
        if self.head_only {
            let [a, b] = character.ears;
            let [c, d] = character.horns;
            let kept = [character.neck, character.head, character.muzzle, a, b, c, d];
            character.creature.body.pieces.retain(|piece| kept.contains(&piece.joint));
            character.creature.body.floor = None;
        }
        let body = character.creature.mesh(self.cell.clamp(0.012, 0.06), 0.05, paint_place);
        let details = character.details();
        let pose = if self.head_only { Character::turn } else { Character::hop };
        let poses: Vec<Pose> =
            motion::times(3.0, self.frame_rate_hz).map(|time| pose(&character, time)).collect();
        let name = if self.head_only { "cow_head" } else { "cow" };
        let mut clip = character.creature.rig.clip(name, self.frame_rate_hz, vec![body, details], &poses);
        clip.images = vec![paint::picture("hide", 128, 128, colour)];
        clip.materials = vec![
            paint::textured("hide", 0),
            paint::plain("eye", 0x241f26),
            paint::plain("glint", 0xffffff),
            paint::plain("nostril", 0x8c5a5a),
        ];
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
        let hips = rig.joint("hips", Some(root), at(0.0, 0.76, -0.40));
        let spine = rig.joint("spine", Some(hips), at(0.0, 0.78, -0.08));
        let chest = rig.joint("chest", Some(spine), at(0.0, 0.78, 0.24));
        let neck = rig.joint("neck", Some(chest), at(0.0, 0.86, 0.44));
        let head = rig.joint("head", Some(neck), at(0.0, 1.06, 0.65));
        let muzzle = rig.joint("muzzle", Some(head), at(0.0, 0.99, 0.86));
        let sides = [(1.0, "left"), (-1.0, "right")];
        let ears = sides
            .map(|(side, name)| rig.joint(&format!("ear_{name}"), Some(head), at(0.11 * side, 1.13, 0.66)));
        let horns = sides
            .map(|(side, name)| rig.joint(&format!("horn_{name}"), Some(head), at(0.06 * side, 1.20, 0.68)));
        let tail_places = [
            at(0.0, 0.86, -0.66),
            at(0.0, 0.77, -0.745),
            at(0.0, 0.64, -0.775),
            at(0.0, 0.50, -0.785),
            at(0.0, 0.40, -0.785),
        ];
        let tail = rig.chain("tail", hips, &tail_places[..4]);
        let mut legs = Vec::new();
        for (side, name) in sides {
            for (parent, part, z) in [(hips, "hind", -0.46), (chest, "fore", 0.28)] {
                let places =
                    [at(0.145 * side, 0.60, z), at(0.15 * side, 0.34, z + 0.04), at(0.15 * side, 0.09, z)];
                let mut joint = |bone: &str, parent: usize, place: Vec3| {
                    rig.joint(&format!("{part}_{name}_{bone}"), Some(parent), place)
                };
                let upper = joint("upper", parent, places[0]);
                let lower = joint("lower", upper, places[1]);
                legs.push([upper, lower, joint("foot", lower, places[2])]);
            }
        }

        creature.add(hips, 0.0, Solid::ball(at(0.0, 0.72, -0.42), at(0.24, 0.25, 0.26)));
        creature.add(spine, 0.16, Solid::ball(at(0.0, 0.665, -0.08), at(0.275, 0.275, 0.38)));
        creature.add(chest, 0.16, Solid::ball(at(0.0, 0.72, 0.26), at(0.23, 0.26, 0.24)));
        creature.add(neck, 0.14, Solid::limb(at(0.0, 0.82, 0.40), at(0.0, 1.03, 0.62), [0.165, 0.125]));
        creature.add(neck, 0.08, Solid::limb(at(0.0, 0.68, 0.50), at(0.0, 0.84, 0.64), [0.07, 0.045]));
        creature.add(head, 0.10, Solid::limb(at(0.0, 1.09, 0.69), at(0.0, 0.985, 0.92), [0.13, 0.095]));
        creature.add(muzzle, 0.06, Solid::ball(at(0.0, 0.96, 0.955), at(0.112, 0.085, 0.08)));
        creature.add(hips, 0.08, Solid::ball(at(0.0, 0.42, -0.19), at(0.105, 0.10, 0.115)));
        for ((&ear, &horn), (side, _)) in ears.iter().zip(&horns).zip(sides) {
            // broad and a little turned down and forward
            let axes = Mat3::from_rotation_z(-0.30 * side) * Mat3::from_rotation_x(-0.5);
            creature.add_leaf(ear, [0.165, 0.085], axes, at(0.145 * side, 0.0, 0.0));
            let places =
                [at(0.06 * side, 1.19, 0.68), at(0.13 * side, 1.27, 0.67), at(0.155 * side, 1.38, 0.69)];
            creature.add(horn, 0.03, Solid::limb(places[0], places[1], [0.042, 0.037]));
            creature.add(horn, 0.004, Solid::limb(places[1], places[2], [0.037, 0.029]));
        }
        creature.add_chain(&tail, 0.04, &tail_places, &[0.042, 0.036, 0.033, 0.031, 0.031]);
        creature.add(
            tail[3],
            0.02,
            Solid::limb(at(0.0, 0.43, -0.785), at(0.0, 0.36, -0.785), [0.036, 0.045]),
        );
        for leg in &legs {
            let [upper, lower, foot] = leg.map(|joint| creature.rig.places[joint]);
            creature.add(leg[0], 0.10, Solid::limb(upper - 0.03 * Vec3::Y, lower, [0.115, 0.072]));
            creature.add(leg[1], 0.04, Solid::limb(lower, foot, [0.070, 0.062]));
            creature.add(leg[2], 0.03, Solid::ball(foot + at(0.0, -0.035, 0.012), at(0.078, 0.075, 0.088)));
        }
        Self { creature, hips, spine, neck, head, muzzle, ears, horns, tail, legs }
    }

    /// A hop from four legs, a heavy landing, and a toss of the head.
    fn hop(&self, time: f64) -> Pose {
        let rig = &self.creature.rig;
        let mut pose = Pose::new(rig);
        let body = Track::new(&[
            Key::ease(0.10, 0.0),
            Key::ease(0.40, -0.11),
            Key::slope(0.56, 0.0, 1.5),
            Key::ease(0.72, 0.17),
            Key::slope(0.88, 0.0, -1.7),
            Key::ease(1.02, -0.14),
            Key::ease(1.34, 0.01),
            Key::ease(1.60, 0.0),
        ]);
        let feet =
            Track::new(&[Key::slope(0.56, 0.0, 1.2), Key::ease(0.72, 0.15), Key::slope(0.88, 0.0, -1.4)]);
        let toss = Track::new(&[
            Key::ease(1.50, 0.0),
            Key::ease(1.72, 0.65),
            Key::ease(1.98, -0.65),
            Key::ease(2.22, 0.45),
            Key::ease(2.42, 0.0),
        ]);
        let feet_up = if time < 0.56 { 0.0 } else { feet.at(time) };
        let up = body.at(time);
        pose.shift(self.hips, Vec3::new(0.0, up, 0.0));
        pose.turn(self.hips, -0.25 * (up - feet_up), 0.0, 0.0);
        pose.turn(self.spine, 0.35 * (up - feet_up), 0.0, 0.0);
        pose.turn(self.neck, 0.9 * up, 0.4 * toss.at(time), 0.0);
        pose.turn(self.head, -0.9 * up, 0.6 * toss.at(time), 0.35 * toss.at(time - 0.04));
        for (i, &joint) in self.tail.iter().enumerate() {
            let late = 0.07 * (i + 1) as f64;
            pose.turn(joint, 0.6 * body.at(time - late), 0.0, 0.25 * toss.at(time - late));
        }
        for &leg in &self.legs {
            let target = rig.places[leg[2]] + feet_up * Vec3::Y;
            let turn = DQuat::from_rotation_x(2.5 * feet_up);
            pose.reach(rig, leg, target, Vec3::X, Vec3::Z, turn);
        }
        pose
    }

    /// The head turned by 90° to its left, held, and to its right.
    fn turn(&self, time: f64) -> Pose {
        let mut pose = Pose::new(&self.creature.rig);
        let turn = Track::new(&[
            Key::ease(0.15, 0.0),
            Key::ease(0.45, 90.0_f64.to_radians()),
            Key::ease(1.25, 90.0_f64.to_radians()),
            Key::ease(1.60, -60.0_f64.to_radians()),
            Key::ease(2.20, -60.0_f64.to_radians()),
            Key::ease(2.55, 0.0),
        ]);
        pose.turn(self.head, 0.0, turn.at(time), 0.0);
        pose
    }

    fn details(&self) -> clip::Mesh {
        let mut shapes = Vec::new();
        for side in [-1.0, 1.0] {
            let eye = Vec3::new(0.108 * side, 1.085, 0.765);
            shapes.push((bead(eye, Vec3::new(0.026, 0.034, 0.03)), 1, self.head));
            shapes.push((
                bead(eye + Vec3::new(0.016 * side, 0.012, 0.016), Vec3::splat(0.010)),
                2,
                self.head,
            ));
            let nostril = Vec3::new(0.05 * side, 0.975, 1.026);
            shapes.push((bead(nostril, Vec3::new(0.018, 0.013, 0.012)), 3, self.muzzle));
        }
        self.creature.details(&shapes)
    }
}

/// u: 0 white, 1 brown patches; v: 0 as u says, 0.5 rosy (muzzle, udder), 1 dark (hooves).
fn paint_place(p: Vec3, _: Vec3) -> [f64; 2] {
    let patches = (5.1 * p.x + 1.3 + 2.0 * (2.3 * p.z).sin()).sin()
        + (6.3 * p.y - 0.8 + 1.5 * (3.1 * p.x).cos()).cos()
        + (5.7 * p.z + 0.4 + (4.0 * p.y).sin()).sin();
    let blaze = step(0.045, 0.075, p.x.abs()).max(step(0.62, 0.58, p.z));
    let muzzle = step(0.13, 0.10, p.distance(Vec3::new(0.0, 0.955, 0.985)));
    let udder = step(0.17, 0.13, p.distance(Vec3::new(0.0, 0.39, -0.19)));
    let hoof = step(0.085, 0.055, p.y);
    let horn = step(1.235, 1.26, p.y) * step(0.9, 0.8, p.z);
    let v = (0.5 * muzzle.max(udder)).max(hoof).max(0.25 * horn);
    [(0.5 + 0.45 * patches) * blaze, v]
}

fn colour(u: f64, v: f64) -> Rgb {
    let hide = paint::mix(0xf7f1e6, 0x7a4a2e, step(0.44, 0.56, u));
    let rosy = paint::mix(hide, 0xe3d3b0, step(0.10, 0.20, v));
    let rosy = paint::mix(rosy, 0xecaea2, step(0.30, 0.40, v));
    paint::mix(rosy, 0x3d332f, step(0.62, 0.80, v))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_character;

    #[test]
    fn is_sound_and_its_body_is_one_closed_surface() {
        assert_character(&cow(), 1, 0.9);
        // a skin turned by 90° loses volume in the neck: that is what it is for
        assert_character(&cow_head(), 1, 0.8);
    }

    #[test]
    fn feet_stand_until_it_hops() {
        let clip = Cow { cell: 0.045, ..Cow::default() }.clip();
        let (first, crouched) = (clip.frame(0).unwrap(), clip.frame(9).unwrap());
        let rest = clip.meshes[0].rest();
        for (i, p) in rest.iter().enumerate().filter(|(_, p)| p.y < 0.03) {
            let [a, b] = [&first, &crouched].map(|frame| glam::Vec3::from(frame.points[0][i]));
            assert!(a.distance(b) < 0.005, "{p} slides by {}", a.distance(b));
        }
    }
}
