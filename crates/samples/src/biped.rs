//! A round fellow in a nightcap who bounces along: belly, cheeks and cap are made to wobble.

use clip::{Clip, Mesh};
use geometry::{Mat3, Vec3};
use glam::DQuat;
use std::f64::consts::{PI, TAU};

use crate::cape::{self, CAPE};
use crate::motion::{self, Cycle, Key, Track};
use crate::paint::{self, Rgb, step};
use crate::rig::{Pose, Rig, group_of};
use crate::shapes::{self, Shape};
use crate::surface::{Body, Piece, Solid};

/// Two-footed hops with a ballistic flight, feet planted without sliding between them; meshes `body` (one closed
/// surface, cap included, and its pompom) and `details` (eyes and nose, carried by the skeleton).
///
/// Groups of `body`: `belly`, `cheeks`, `cap`, `hands`, `feet`, `head`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Biped {
    /// Edge length of the body's quads in metres; 0.026 gives about 5,000 points.
    pub cell: f64,
    /// Hops; after two of them the motion repeats, one to the left and one to the right.
    pub hops: usize,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// Whether it moves ahead; otherwise it hops in place, and after an even number of hops the last frame is the first.
    pub travels: bool,
    /// Whether it wears a cape: a third mesh, `cape`, stiff as a board in the animation; its group `collar` is what holds it.
    pub cape: bool,
}

impl Default for Biped {
    fn default() -> Self {
        Self { cell: 0.026, hops: 4, frame_rate_hz: 24.0, travels: true, cape: false }
    }
}

/// The biped as it comes: four hops ahead.
pub fn biped() -> Clip {
    Biped::default().clip()
}

/// The biped in a cape: three hops ahead.
pub fn biped_cape() -> Clip {
    Biped { hops: 3, cape: true, ..Biped::default() }.clip()
}

/// Seconds of a hop; it begins as the feet touch the ground.
const HOP: f64 = 1.0;
/// Seconds on the ground.
const CONTACT: f64 = 0.56;
const FLIGHT: f64 = HOP - CONTACT;
/// Metres ahead with every hop.
const STRIDE: f64 = 0.42;
const GRAVITY: f64 = 9.81;
/// The body hangs a little lower than at rest, so that legs are never straight on the ground.
const CROUCH: f64 = 0.02;
/// Radii of the cap along its line.
const CAP_RADII: [f64; 6] = [0.125, 0.102, 0.082, 0.066, 0.053, 0.042];

impl Biped {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let character = Character::new();
        let cell = self.cell.clamp(0.012, 0.06);
        let shape = character.body.surface(cell);
        let iterations = (0.5 * (0.12 / cell).powi(2)) as usize + 4;
        let weights = character.rig.weights(&shape, &character.body, |p| p.y < 0.045, iterations);
        let body = character.dress(&shape, &weights);
        let mut meshes = vec![body, character.details()];
        if self.cape {
            let mut cape = cape::mesh(&character.body, &CAPE, Some(5));
            let count = cape.point_count();
            cape.skin = Some(character.rig.rigid_skin(std::iter::repeat_n(character.chest, count)));
            meshes.push(cape);
        }
        let performance = Performance::new();
        let poses: Vec<Pose> = motion::times(self.hops as f64 * HOP, self.frame_rate_hz)
            .map(|time| character.hop(&performance, time, self.travels))
            .collect();
        let mut clip = character.rig.clip("biped", self.frame_rate_hz, meshes, &poses);
        clip.images = vec![paint::picture("suit", 256, 256, colour)];
        clip.materials = vec![
            paint::textured("suit", 0),
            paint::plain("eye", 0x2a2431),
            paint::plain("glint", 0xffffff),
            paint::plain("nose", 0xe8756a),
            paint::plain("pompom", 0xfff6e6),
            paint::plain("cape", 0x9c2f3f),
        ];
        clip
    }
}

struct Character {
    rig: Rig,
    body: Body,
    hips: usize,
    belly: usize,
    chest: usize,
    head: usize,
    cheeks: [usize; 2],
    cap: Vec<usize>,
    arms: [Vec<usize>; 2],
    legs: [[usize; 3]; 2],
    /// The cap's middle line, from the brim to the pompom.
    cap_line: [Vec3; 6],
}

impl Character {
    fn new() -> Self {
        let mut rig = Rig::default();
        let mut body = Body { pieces: Vec::new(), floor: Some(0.0) };
        let mut add =
            |joint: usize, fillet: f64, solid: Solid| body.pieces.push(Piece { solid, fillet, joint });
        let at = Vec3::new;

        let root = rig.joint("root", None, Vec3::ZERO);
        let hips = rig.joint("hips", Some(root), at(0.0, 0.38, -0.01));
        let belly = rig.joint("belly", Some(hips), at(0.0, 0.47, 0.0));
        let chest = rig.joint("chest", Some(belly), at(0.0, 0.62, 0.0));
        let head = rig.joint("head", Some(chest), at(0.0, 0.76, 0.0));
        add(hips, 0.0, Solid::ball(at(0.0, 0.385, -0.015), at(0.205, 0.15, 0.185)));
        add(belly, 0.12, Solid::ball(at(0.0, 0.475, 0.06), at(0.265, 0.21, 0.26)));
        add(chest, 0.14, Solid::ball(at(0.0, 0.645, 0.0), at(0.165, 0.14, 0.15)));
        add(head, 0.07, Solid::ball(at(0.0, 0.88, 0.015), at(0.205, 0.185, 0.19)));
        let cheeks = [1.0, -1.0].map(|side| {
            let name = if side > 0.0 { "cheek_left" } else { "cheek_right" };
            let place = at(0.115 * side, 0.825, 0.09);
            let cheek = rig.joint(name, Some(head), place);
            add(cheek, 0.05, Solid::ball(place, at(0.092, 0.085, 0.095)));
            cheek
        });

        // the nightcap: a brim around the head, then a limp cone that falls over to the side and back
        let cap_places = [
            at(0.0, 1.005, -0.005),
            at(-0.012, 1.11, -0.03),
            at(-0.055, 1.195, -0.075),
            at(-0.125, 1.235, -0.125),
            at(-0.20, 1.205, -0.165),
            at(-0.25, 1.125, -0.185),
        ];
        let cap = rig.chain("cap", head, &cap_places[..5]);
        let rim = Solid::Plate {
            centre: at(0.0, 0.992, -0.008),
            radii: [0.212, 0.205],
            half_thickness: 0.04,
            axes: Mat3::from_rotation_x(0.5 * PI - 0.10),
        };
        add(head, 0.035, rim);
        add(cap[0], 0.03, Solid::ball(at(0.0, 1.03, -0.01), at(0.168, 0.085, 0.158)));
        for (i, &joint) in cap.iter().enumerate() {
            let radius = CAP_RADII;
            let fillet = if i == 0 { 0.05 } else { 0.008 };
            add(joint, fillet, Solid::limb(cap_places[i], cap_places[i + 1], [radius[i], radius[i + 1]]));
        }

        let arms = [1.0, -1.0].map(|side| {
            let name = if side > 0.0 { "arm_left" } else { "arm_right" };
            let places =
                [at(0.145 * side, 0.665, 0.0), at(0.255 * side, 0.585, 0.01), at(0.345 * side, 0.485, 0.03)];
            let arm = rig.chain(name, chest, &places);
            add(arm[0], 0.05, Solid::limb(places[0], places[1], [0.062, 0.055]));
            add(arm[1], 0.01, Solid::limb(places[1], places[2], [0.055, 0.052]));
            add(
                arm[2],
                0.02,
                Solid::ball(places[2] + at(0.022 * side, -0.028, 0.005), at(0.062, 0.066, 0.066)),
            );
            add(arm[2], 0.02, Solid::limb(places[2], places[2] + at(0.0, -0.03, 0.062), [0.03, 0.026]));
            arm
        });
        let legs = [1.0, -1.0].map(|side| {
            let name = if side > 0.0 { "left" } else { "right" };
            let places = [
                at(0.105 * side, 0.37, -0.01),
                at(0.118 * side, 0.225, 0.055),
                at(0.122 * side, 0.085, -0.015),
            ];
            let upper = rig.joint(&format!("thigh_{name}"), Some(hips), places[0]);
            let lower = rig.joint(&format!("shin_{name}"), Some(upper), places[1]);
            let foot = rig.joint(&format!("foot_{name}"), Some(lower), places[2]);
            add(upper, 0.06, Solid::limb(places[0], places[1], [0.095, 0.078]));
            add(lower, 0.02, Solid::limb(places[1], places[2], [0.078, 0.068]));
            add(foot, 0.03, Solid::ball(places[2] + at(0.012 * side, -0.03, 0.055), at(0.088, 0.072, 0.135)));
            [upper, lower, foot]
        });
        Self { rig, body, hips, belly, chest, head, cheeks, cap, arms, legs, cap_line: cap_places }
    }

    /// The pose at a time in seconds.
    fn hop(&self, p: &Performance, time: f64, travels: bool) -> Pose {
        let (rig, mut pose) = (&self.rig, Pose::new(&self.rig));
        let hop = (time / HOP).floor();
        let phase = time - hop * HOP;
        // every second hop leans the other way; `side` swings smoothly between the two
        let side = (TAU * (time - 0.25 * CONTACT) / (2.0 * HOP)).cos();
        let airborne = (phase - CONTACT).max(0.0);
        let height = 0.5 * GRAVITY * airborne * (FLIGHT - airborne);
        let ahead = STRIDE * (time / HOP + p.ahead.at(time));
        pose.shift(self.hips, Vec3::new(0.018 * side, height + p.sink.at(time) - CROUCH, ahead));
        pose.turn(self.hips, p.lean.at(time), 0.10 * side, 0.05 * side);
        pose.shift(self.belly, Vec3::Y * p.stretch.at(time) * 0.3);
        pose.turn(self.belly, 0.4 * p.curl.at(time), -0.04 * side, -0.02 * side);
        pose.shift(self.chest, Vec3::Y * p.stretch.at(time) * 0.5);
        pose.turn(self.chest, 0.6 * p.curl.at(time - 0.02), -0.08 * side, -0.05 * side);
        pose.shift(self.head, Vec3::Y * p.stretch.at(time - 0.03) * 0.3);
        pose.turn(self.head, p.nod.at(time), -0.10 * side, 0.10 * side);
        for (&cheek, sign) in self.cheeks.iter().zip([1.0, -1.0]) {
            // cheeks come a little late: out and down as the body sinks, in and up as it rises
            let late = p.stretch.at(time - 0.08);
            pose.shift(cheek, Vec3::new(-0.12 * sign * late, 0.22 * late, 0.0));
        }
        for (i, &joint) in self.cap.iter().enumerate() {
            let late = 0.06 + 0.055 * i as f64;
            let lag = |track: &Cycle| track.at(time - late);
            let along = 0.35 + 0.17 * i as f64;
            // falls behind the head: up when it drops, down when it rises, and trails the turn
            pose.turn(joint, 0.5 * along * lag(&p.cap), 0.0, along * (0.55 * lag(&p.cap) + 0.10 * side));
        }
        for (arm, sign) in self.arms.iter().zip([1.0, -1.0]) {
            let late = if sign > 0.0 { 0.0 } else { 0.03 };
            let raise = p.arms.at(time - late);
            pose.turn(arm[0], 0.4 * p.swing.at(time - late), 0.15 * side, sign * raise + 0.08 * side);
            pose.turn(
                arm[1],
                0.3 * p.swing.at(time - late - 0.06),
                0.0,
                sign * 0.45 * p.arms.at(time - late - 0.07),
            );
            pose.turn(arm[2], 0.0, 0.0, sign * 0.40 * p.arms.at(time - late - 0.12));
        }
        for (leg, sign) in self.legs.iter().zip([1.0, -1.0]) {
            let rest = rig.places[leg[2]];
            let fly = (airborne / FLIGHT).clamp(0.0, 1.0);
            let smooth = fly * fly * fly * (10.0 - 15.0 * fly + 6.0 * fly * fly);
            // the feet leave last and arrive first; in between they are drawn up under the body
            let lift = p.feet.at(phase);
            let target = rest + Vec3::new(-0.018 * sign * lift / 0.2, lift, STRIDE * (hop + smooth));
            let turn = DQuat::from_rotation_x(p.toes.at(phase));
            pose.reach(rig, *leg, target, Vec3::X, Vec3::new(0.25 * sign, 0.0, 1.0), turn);
        }
        if !travels {
            pose.shift(0, Vec3::new(0.0, 0.0, -STRIDE * time / HOP));
        }
        pose
    }

    fn dress(&self, shape: &Shape, weights: &[Vec<f64>]) -> Mesh {
        let mut shape = shape.clone();
        let head = group_of(weights, &[&[self.head][..], &self.cheeks].concat());
        let feet = group_of(weights, &[self.legs[0][2], self.legs[1][2]]);
        let hands = group_of(weights, &[self.arms[0][2], self.arms[1][2]]);
        let belly = group_of(weights, &[self.belly, self.hips]);
        // paint: u from suit to pale (belly patch, face), v from suit to the cap's colour
        shape.uvs = shape
            .points
            .iter()
            .map(|p| {
                let on = |centre: Vec3, radii: Vec3| 1.0 - 0.5 * ((*p - centre) / radii).length();
                let patch = on(Vec3::new(0.0, 0.48, 0.30), Vec3::new(0.17, 0.165, 0.16));
                let face = on(Vec3::new(0.0, 0.85, 0.18), Vec3::new(0.19, 0.125, 0.16));
                // the cap's stripes go by how far along its line a point is
                let along = if p.y > 0.98 { along_cap(&self.cap_line, *p) } else { 0.0 };
                let brim = (0.5 + 6.0 * (p.y - 0.948 + 0.02 * p.z)).min(0.58);
                let boots = (0.5 + 9.0 * (0.10 - p.y)).min(0.58);
                let v = brim.max(boots) + 0.4 * along;
                let u = patch.max(face).max(0.0);
                [u.clamp(0.02, 0.98) as f32, v.clamp(0.02, 0.98) as f32]
            })
            .collect();
        let mut mesh = shape.mesh("body", Some(0));
        let front = |i: usize| {
            let p = shape.points[i];
            f64::from(belly[i]) * step(-0.05, 0.15, p.z) * step(0.26, 0.36, p.y) * step(0.70, 0.60, p.y)
        };
        mesh.set_group("belly", (0..shape.points.len()).map(|i| front(i) as f32).collect());
        mesh.set_group("cheeks", group_of(weights, &self.cheeks));
        mesh.set_group("cap", group_of(weights, &self.cap));
        mesh.set_group("hands", hands);
        mesh.set_group("feet", feet);
        mesh.set_group("head", head);
        mesh.skin = Some(self.rig.skin(weights));
        self.add_pompom(&mut mesh);
        mesh
    }

    /// A woolly ball at the end of the cap: a piece of the body's mesh, so that it goes where the cap goes.
    fn add_pompom(&self, mesh: &mut Mesh) {
        let tuft = |p: Vec3| {
            let ripple = (p.x * 9.0).sin() * (p.y * 9.0 + 1.0).sin() * (p.z * 9.0 + 2.0).sin();
            self.cap_line[5] + Vec3::new(-0.012, -0.03, 0.0) + 0.062 * p * (1.0 + 0.07 * ripple)
        };
        let mut shape = shapes::icosphere(1.0, 3).map(tuft);
        // the icosphere has no uv; all parts of a mesh have some or none
        shape.uvs = vec![[0.0; 2]; shape.vertex_points.len()];
        let first = mesh.point_count();
        shapes::append(mesh, &shape, Some(4));
        let cap = mesh.groups.iter_mut().filter(|group| group.name == "cap");
        cap.for_each(|group| group.weights[first..].fill(1.0));
        let last = self.cap[self.cap.len() - 1];
        let held = self.rig.rigid_skin(std::iter::repeat_n(last, shape.points.len()));
        mesh.skin.iter_mut().for_each(|skin| skin.influences.extend_from_slice(&held.influences));
    }

    fn details(&self) -> Mesh {
        let mut shapes: Vec<(Shape, usize, usize)> = Vec::new();
        for side in [-1.0, 1.0] {
            let eye = Vec3::new(0.066 * side, 0.892, 0.188);
            let ball = shapes::sphere(1.0, 24, 16).map(|p| eye + p * Vec3::new(0.026, 0.038, 0.022));
            let glint = shapes::sphere(0.0095, 12, 8).moved(eye + Vec3::new(0.008, 0.014, 0.017));
            shapes.push((ball, 1, self.head));
            shapes.push((glint, 2, self.head));
        }
        let nose = shapes::sphere(1.0, 24, 16)
            .map(|p| Vec3::new(0.0, 0.842, 0.214) + p * Vec3::new(0.034, 0.028, 0.03));
        shapes.push((nose, 3, self.head));
        let parts: Vec<_> = shapes.iter().map(|(shape, material, _)| (shape, Some(*material))).collect();
        let mut mesh = shapes::assemble("details", &parts);
        let joints =
            shapes.iter().flat_map(|(shape, _, joint)| std::iter::repeat_n(*joint, shape.points.len()));
        mesh.skin = Some(self.rig.rigid_skin(joints));
        mesh
    }
}

/// Everything that moves, as curves over the seconds of a hop.
struct Performance {
    sink: Cycle,
    stretch: Cycle,
    lean: Cycle,
    curl: Cycle,
    nod: Cycle,
    cap: Cycle,
    arms: Cycle,
    swing: Cycle,
    ahead: Cycle,
    feet: Track,
    toes: Track,
}

impl Performance {
    fn new() -> Self {
        let (ease, slope) = (Key::ease, Key::slope);
        let speed = 0.5 * GRAVITY * FLIGHT;
        let cycle = |keys: &[Key]| Track::cyclic(keys, HOP);
        Self {
            // arrives and leaves with the speed of the flight
            sink: cycle(&[
                slope(0.0, 0.0, -speed),
                ease(0.13, -0.125),
                ease(0.27, -0.075),
                ease(0.42, -0.115),
                slope(CONTACT, 0.0, speed),
                slope(CONTACT + 1e-3, 0.0, 0.0),
                slope(HOP - 1e-3, 0.0, 0.0),
            ]),
            stretch: cycle(&[
                ease(0.02, 0.03),
                ease(0.17, -0.055),
                ease(0.31, -0.01),
                ease(0.44, -0.045),
                ease(CONTACT + 0.03, 0.05),
                ease(CONTACT + 0.24, 0.0),
            ]),
            lean: cycle(&[ease(0.08, -0.04), ease(0.30, 0.06), ease(CONTACT, 0.20), ease(0.84, -0.10)]),
            curl: cycle(&[
                ease(0.16, 0.20),
                ease(0.30, 0.06),
                ease(0.44, 0.22),
                ease(0.66, -0.20),
                ease(0.90, 0.0),
            ]),
            nod: cycle(&[
                ease(0.20, 0.16),
                ease(0.34, 0.02),
                ease(0.48, 0.10),
                ease(0.68, -0.16),
                ease(0.92, -0.04),
            ]),
            cap: cycle(&[
                ease(0.06, -0.30),
                ease(0.24, 0.42),
                ease(0.40, 0.10),
                ease(0.62, 0.38),
                ease(0.86, -0.30),
            ]),
            arms: cycle(&[
                ease(0.04, 0.95),
                ease(0.22, -0.06),
                ease(0.34, 0.02),
                ease(0.46, -0.12),
                ease(0.80, 1.10),
            ]),
            swing: cycle(&[ease(0.20, 0.3), ease(0.44, 0.9), ease(0.70, -0.6), ease(0.95, -0.2)]),
            ahead: ahead(),
            feet: Track::new(&[
                ease(CONTACT, 0.0),
                ease(CONTACT + 0.5 * FLIGHT, 0.24),
                slope(HOP, 0.0, -0.9),
            ]),
            toes: Track::new(&[
                ease(CONTACT, 0.0),
                ease(CONTACT + 0.12, 0.65),
                ease(HOP - 0.10, -0.30),
                ease(HOP, 0.0),
            ]),
        }
    }
}

/// How far ahead the body is within a hop, less what the same hop gains in even motion: a cycle. In the air it
/// moves evenly; on the ground it slows down as it sinks and is driven on as it leaves.
fn ahead() -> Cycle {
    let even = 1.0 / HOP;
    Track::cyclic(
        &[
            Key::slope(0.0, 0.0, 0.6 * even),
            Key::slope(0.20, 0.05 - 0.20, -0.8 * even),
            Key::slope(CONTACT, 0.42 - CONTACT, 0.3 * even),
        ],
        HOP,
    )
}

/// How far along the cap's line a point of its surface is, from 0 to 1: the pieces' answers, blended by nearness so
/// that stripes run smoothly around the bend.
fn along_cap(line: &[Vec3; 6], p: Vec3) -> f64 {
    const BLEND: f64 = 0.015;
    let (mut sum, mut weights) = (0.0, 0.0);
    for (i, ends) in line.windows(2).enumerate() {
        let along = ends[1] - ends[0];
        let t = ((p - ends[0]).dot(along) / along.length_squared()).clamp(0.0, 1.0);
        let radius = CAP_RADII[i] + t * (CAP_RADII[i + 1] - CAP_RADII[i]);
        let weight = (-(p.distance(ends[0] + t * along) - radius).max(0.0) / BLEND).exp();
        sum += weight * (i as f64 + t) / 5.0;
        weights += weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

fn colour(u: f64, v: f64) -> Rgb {
    const SUIT: Rgb = 0xf6bd55;
    const PALE: Rgb = 0xfdeccb;
    const CAP: Rgb = 0x3c78b4;
    const STRIPE: Rgb = 0x6fb1d8;
    let suit = paint::mix(SUIT, PALE, step(0.46, 0.54, u));
    let stripe = (TAU * 5.5 * (v - 0.58) / 0.4).sin();
    let cap = if v > 0.60 { paint::mix(CAP, STRIPE, step(-0.15, 0.15, stripe)) } else { CAP };
    paint::mix(suit, cap, step(0.47, 0.53, v))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_character, assert_loops, points_of};

    #[test]
    fn is_sound_and_its_body_and_pompom_are_closed_surfaces() {
        let clip = biped();
        assert_character(&clip, 2, 0.75);
    }

    #[test]
    fn hops_in_place_in_a_loop() {
        assert_loops(&Biped { cell: 0.045, hops: 2, travels: false, ..Biped::default() }.clip());
    }

    #[test]
    fn feet_do_not_slide() {
        let clip = Biped { cell: 0.03, ..Biped::default() }.clip();
        let mesh = &clip.meshes[0];
        let sole: Vec<usize> = (0..mesh.point_count()).filter(|&i| mesh.rest_points[i][1] < 0.015).collect();
        assert!(sole.len() > 8);
        let mut planted: Option<(f64, Vec<Vec3>)> = None;
        for index in 0..clip.frame_count() {
            let time = index as f64 / 24.0;
            let hop = (time / HOP).floor();
            if time - hop * HOP > CONTACT {
                continue;
            }
            let points = points_of(&clip.frame(index).unwrap().points[0]);
            let now: Vec<Vec3> = sole.iter().map(|&i| points[i]).collect();
            match &planted {
                Some((then_hop, then)) if *then_hop == hop => {
                    let slide = now.iter().zip(then).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
                    assert!(slide < 0.005, "frame {index}: slides by {slide} m");
                }
                _ => planted = Some((hop, now)),
            }
        }
    }
}
