//! The bag of the tracking experiments: two corners to stand on, two to wave with, and a backflip.

use clip::{Clip, Mesh};
use geometry::Vec3;
use glam::DQuat;
use std::f64::consts::TAU;

use crate::motion::{self, Key, Track};
use crate::paint::{self, step};
use crate::rig::{Pose, Rig};
use crate::shapes::{self, Shape};

/// A bag, open at the top, that crouches, leaps, turns over backwards, lands and settles; the last frame is the first.
///
/// tracks §5.3: the guide has 88 points (a base of 5 × 3 quads, four rows of 16 up to the mouth), the fine bag is the
/// same cut twice, 1,297 points, the guide's first. Groups `mouth`, `feet`, `hands`, `base`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bag {
    /// How often every triangle is cut in four: 0 gives 88 points, 2 gives 1,297.
    pub levels: usize,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Bag {
    fn default() -> Self {
        Self { levels: 0, frame_rate_hz: 24.0 }
    }
}

/// The guide: 88 points.
pub fn bag() -> Clip {
    Bag::default().clip()
}

/// The bag to be simulated: 1,297 points, in the same motion.
pub fn bag_fine() -> Clip {
    Bag { levels: 2, ..Bag::default() }.clip()
}

const SECONDS: f64 = 4.5;
const TAKE_OFF: f64 = 1.25;
const FLIGHT: f64 = 0.75;
const LANDING: f64 = TAKE_OFF + FLIGHT;
const GRAVITY: f64 = 9.81;
/// Beyond this a bag has millions of points.
const MOST_LEVELS: usize = 7;

impl Bag {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let mut cube = open_box();
        for _ in 0..self.levels.min(MOST_LEVELS) {
            cube = shapes::subdivide(&cube);
        }
        let character = Character::new();
        let mesh = character.dress(&cube);
        let performance = Performance::new();
        let poses: Vec<Pose> = motion::times(SECONDS, self.frame_rate_hz)
            .map(|time| character.pose(&performance, time))
            .collect();
        let name = if self.levels == 0 { "bag" } else { "bag_fine" };
        let mut clip = character.rig.clip(name, self.frame_rate_hz, vec![mesh], &poses);
        clip.images = vec![paint::picture("sackcloth", 256, 256, |u, v| {
            let weave = 0.5 + 0.5 * ((u * 96.0 * TAU).sin() * (v * 96.0 * TAU).sin());
            let cloth = paint::mix(0xd8b98a, 0xe6cda3, weave);
            let band = (0.20..0.27).contains(&v) || (0.30..0.32).contains(&v);
            if band { paint::mix(0xb8433a, 0xc9574c, weave) } else { cloth }
        })];
        clip.materials = vec![paint::textured("sackcloth", 0)];
        clip
    }
}

/// A box of 5 × 4 × 3 cells without its lid, over [−1, 1] × [0, 1] × [−1, 1], cut into triangles.
fn open_box() -> Shape {
    let shell = shapes::box_shell(Vec3::new(2.0, 1.0, 2.0), [5, 4, 3]).moved(0.5 * Vec3::Y);
    let is_lid = |face: &[u32]| face.iter().all(|&v| shell.points[v as usize].y > 1.0 - 1e-9);
    let kept: Vec<[u32; 3]> = shell
        .faces
        .iter()
        .enumerate()
        .filter(|(_, face)| !is_lid(face))
        .flat_map(|(i, f)| {
            if i % 2 == 0 {
                [[f[0], f[1], f[2]], [f[0], f[2], f[3]]]
            } else {
                [[f[0], f[1], f[3]], [f[1], f[2], f[3]]]
            }
        })
        .collect();
    let mut index = vec![u32::MAX; shell.points.len()];
    let mut points = Vec::new();
    for &v in kept.iter().flatten() {
        if index[v as usize] == u32::MAX {
            index[v as usize] = points.len() as u32;
            points.push(shell.points[v as usize]);
        }
    }
    let triangles: Vec<[u32; 3]> = kept.iter().map(|t| t.map(|v| index[v as usize])).collect();
    Shape::new(points, clip::Faces::from_triangles(&triangles), Vec::new())
}

/// From the box to the bag: full below, drawn in above, corners pulled out to feet and hands.
fn sew(q: Vec3) -> Vec3 {
    let (s, t, r) = (q.x, q.y, q.z);
    // the square cross-section rounded towards a disc
    let round = Vec3::new(s * (1.0 - 0.5 * r * r).sqrt(), 0.0, r * (1.0 - 0.5 * s * s).sqrt());
    let section = Vec3::new(s, 0.0, r).lerp(round, 0.75);
    let width = Track::new(&[
        Key::ease(0.0, 0.225),
        Key::ease(0.3, 0.262),
        Key::ease(0.8, 0.195),
        Key::ease(1.0, 0.235),
    ]);
    let depth = Track::new(&[
        Key::ease(0.0, 0.155),
        Key::ease(0.3, 0.190),
        Key::ease(0.8, 0.105),
        Key::ease(1.0, 0.075),
    ]);
    let mut p = Vec3::new(section.x * width.at(t), 0.62 * t, section.z * depth.at(t));
    let corner = s.abs().powi(3);
    let top = step(0.55, 1.0, t);
    p.x += s.signum() * 0.085 * corner * top;
    p.y += (0.115 * corner - 0.03) * top;
    // the belly of the base is lifted off the ground, the feet reach forward
    let low = (1.0 - t).powi(3);
    p.y += 0.055 * (1.0 - corner) * low * (1.0 - 0.35 * r * r);
    p.z += 0.035 * corner * low * (1.0 + r);
    p
}

struct Character {
    rig: Rig,
    body: usize,
    spine: [usize; 3],
    feet: [usize; 2],
    arms: [[usize; 2]; 2],
}

impl Character {
    fn new() -> Self {
        let mut rig = Rig::default();
        let at = |x: f64, y: f64| Vec3::new(x, y, 0.0);
        let root = rig.joint("root", None, Vec3::ZERO);
        let body = rig.joint("body", Some(root), at(0.0, 0.24));
        let waist = rig.joint("waist", Some(body), at(0.0, 0.30));
        let chest = rig.joint("chest", Some(waist), at(0.0, 0.43));
        let brim = rig.joint("brim", Some(chest), at(0.0, 0.55));
        let mut limb = |name: &str, parent, place| rig.joint(name, Some(parent), place);
        let feet = [limb("foot_left", body, at(0.16, 0.07)), limb("foot_right", body, at(-0.16, 0.07))];
        let left = limb("arm_left", chest, at(0.15, 0.53));
        let right = limb("arm_right", chest, at(-0.15, 0.53));
        let arms = [
            [left, limb("hand_left", left, at(0.245, 0.63))],
            [right, limb("hand_right", right, at(-0.245, 0.63))],
        ];
        Self { rig, body, spine: [waist, chest, brim], feet, arms }
    }

    /// Weights are smooth functions of the place in the box: hats along the height, corners for feet and hands.
    fn weights(&self, q: Vec3) -> Vec<f64> {
        let mut row = vec![0.0; self.rig.places.len()];
        let side = usize::from(q.x < 0.0);
        // the base hangs between the feet, so that it never sinks through the ground with the body
        let low = step(0.42, 0.0, q.y);
        let foot = low * (0.8 + 0.2 * step(0.25, 1.0, q.x.abs()));
        let left = step(-0.9, 0.9, q.x);
        let arm = step(0.45, 1.0, q.x.abs()) * step(0.60, 0.92, q.y);
        let hand = arm * step(0.70, 1.0, q.x.abs()) * step(0.80, 1.0, q.y);
        row[self.feet[0]] = foot * left;
        row[self.feet[1]] = foot * (1.0 - left);
        row[self.arms[side][0]] = arm - hand;
        row[self.arms[side][1]] = hand;
        let rest = 1.0 - foot - arm;
        let ups = [(0.0, self.body), (0.42, self.spine[0]), (0.70, self.spine[1]), (0.97, self.spine[2])];
        let above = ups.iter().position(|(t, _)| *t > q.y).unwrap_or(ups.len());
        if above == ups.len() {
            row[ups[above - 1].1] += rest;
        } else {
            let ((t0, low), (t1, high)) = (ups[above.max(1) - 1], ups[above.max(1)]);
            let blend = step(t0, t1, q.y);
            row[low] += rest * (1.0 - blend);
            row[high] += rest * blend;
        }
        row
    }

    fn dress(&self, cube: &Shape) -> Mesh {
        let weights: Vec<Vec<f64>> = cube.points.iter().map(|q| self.weights(*q)).collect();
        let mut shape = cube.clone().map(sew);
        // around the bag for u would need a seam; from the front it is the same on both sides
        shape.uvs = cube.points.iter().map(|q| [(0.5 + 0.5 * q.x) as f32, (1.0 - q.y) as f32]).collect();
        let mut mesh = shape.mesh("bag", Some(0));
        let group = |weight: &dyn Fn(usize, Vec3) -> f64| -> Vec<f32> {
            cube.points.iter().enumerate().map(|(i, q)| weight(i, *q).clamp(0.0, 1.0) as f32).collect()
        };
        mesh.set_group("mouth", group(&|_, q| f64::from(u8::from(q.y > 1.0 - 1e-9))));
        mesh.set_group("base", group(&|_, q| f64::from(u8::from(q.y < 1e-9))));
        mesh.set_group("feet", group(&|i, _| self.feet.iter().map(|&j| weights[i][j]).sum()));
        let hands = [self.arms[0][1], self.arms[1][1]];
        mesh.set_group("hands", group(&|i, _| hands.iter().map(|&j| weights[i][j]).sum()));
        mesh.skin = Some(self.rig.skin(&weights));
        mesh
    }

    fn pose(&self, performance: &Performance, time: f64) -> Pose {
        let (rig, p) = (&self.rig, performance);
        let mut pose = Pose::new(rig);
        let airborne = (time - TAKE_OFF).clamp(0.0, FLIGHT);
        let height = 0.5 * GRAVITY * airborne * (FLIGHT - airborne);
        let turn = TAU * p.flip.at(time);
        let back = p.back.at(time);
        pose.shift(self.body, Vec3::new(p.sway.at(time), height + p.sink.at(time), back));
        pose.turn(self.body, -turn + p.lean.at(time), p.look.at(time), p.tilt.at(time));
        // the spine shortens and lengthens, and bends a third in each joint
        for joint in self.spine {
            pose.shift(joint, Vec3::Y * p.stretch.at(time) / 3.0);
            pose.turn(joint, p.curl.at(time) / 3.0, p.look.at(time) / 3.0, p.tilt.at(time) / 3.0);
        }
        for (arm, side) in self.arms.iter().zip([1.0, -1.0]) {
            let raise = p.arms.at(time - if side > 0.0 { 0.0 } else { 0.04 });
            pose.turn(arm[0], p.swing.at(time), 0.0, side * raise);
            pose.turn(arm[1], 0.5 * p.swing.at(time - 0.06), 0.0, side * 0.6 * p.arms.at(time - 0.08));
        }
        for &foot in &self.feet {
            let rest = rig.places[foot];
            if airborne > 0.0 && airborne < FLIGHT {
                // drawn up to the body in the air; nothing at both ends, where it stands
                let up = 0.07 * (TAU * 0.5 * airborne / FLIGHT).sin();
                pose.shift(foot, Vec3::new(-0.3 * rest.x * up / 0.07, up, 0.03 * up / 0.07));
                // while the flip eases in and out, the feet leave and find the ground as one
                let planted = Vec3::new(rest.x, rest.y + height, rest.z + back);
                let (flying, flying_turn) = pose.world(rig, foot);
                let free = step(0.0, 0.16, airborne) * step(FLIGHT, FLIGHT - 0.16, airborne);
                let turn = DQuat::IDENTITY.slerp(flying_turn, free);
                pose.place(rig, foot, planted.lerp(flying, free), turn);
            } else {
                let shuffle = p.hop.at(time);
                let planted = rest + Vec3::new(0.0, shuffle, back);
                pose.place(rig, foot, planted, DQuat::IDENTITY);
            }
        }
        pose
    }
}

/// Everything that moves, as curves over seconds.
struct Performance {
    sink: Track,
    stretch: Track,
    lean: Track,
    curl: Track,
    flip: Track,
    arms: Track,
    swing: Track,
    back: Track,
    sway: Track,
    look: Track,
    tilt: Track,
    hop: Track,
}

impl Performance {
    fn new() -> Self {
        let ease = Key::ease;
        let (off, down) = (TAKE_OFF, LANDING);
        Self {
            sink: Self::sink(),
            stretch: Track::new(&[
                ease(0.35, 0.0),
                ease(0.9, -0.10),
                ease(1.02, -0.11),
                ease(off + 0.02, 0.10),
                ease(off + 0.28, -0.03),
                ease(down - 0.18, 0.02),
                ease(down - 0.02, 0.07),
                ease(down + 0.16, -0.13),
                ease(down + 0.45, 0.05),
                ease(down + 0.70, -0.015),
                ease(down + 1.0, 0.0),
            ]),
            lean: Track::new(&[
                ease(0.35, 0.0),
                ease(0.9, 0.16),
                ease(off, -0.06),
                ease(down - 0.1, 0.10),
                ease(down + 0.15, 0.20),
                ease(down + 0.5, -0.05),
                ease(down + 0.9, 0.0),
            ]),
            curl: Self::curl(),
            flip: Track::new(&[
                ease(off - 0.04, 0.0),
                Key::slope(off + 0.36, 0.5, 2.1),
                ease(down + 0.02, 1.0),
            ]),
            arms: Self::arms(),
            swing: Track::new(&[
                ease(0.35, 0.0),
                ease(0.95, 0.85),
                ease(off + 0.08, -0.7),
                ease(off + 0.4, 0.3),
                ease(down + 0.2, 0.45),
                ease(down + 0.55, -0.2),
                ease(down + 0.95, 0.0),
            ]),
            back: Track::new(&[
                ease(off, 0.0),
                Key::slope(off + 0.5 * FLIGHT, -0.11, -0.30),
                ease(down, -0.22),
                ease(3.96, -0.22),
                ease(4.14, 0.0),
            ]),
            sway: Track::new(&[ease(0.0, 0.0), ease(0.25, 0.012), ease(0.5, 0.0)]),
            look: Track::new(&[
                ease(0.0, 0.0),
                ease(down + 0.75, 0.0),
                ease(down + 1.0, 0.35),
                ease(3.15, 0.35),
                ease(3.45, 0.0),
            ]),
            tilt: Track::new(&[
                ease(0.0, 0.0),
                ease(0.22, -0.05),
                ease(0.5, 0.0),
                ease(down + 0.75, 0.0),
                ease(down + 1.0, -0.08),
                ease(3.2, 0.0),
            ]),
            // a small hop brings it home
            hop: Track::new(&[ease(3.94, 0.0), ease(4.05, 0.035), ease(4.16, 0.0)]),
        }
    }

    /// The body leaves the ground with the speed of its flight and comes back with it.
    fn sink() -> Track {
        let (ease, off, down) = (Key::ease, TAKE_OFF, LANDING);
        let speed = 0.5 * GRAVITY * FLIGHT;
        Track::new(&[
            ease(0.35, 0.0),
            ease(0.85, -0.078),
            ease(1.0, -0.085),
            Key::slope(off, 0.0, 0.45 * speed),
            ease(off + 0.10, 0.02),
            ease(down - 0.12, 0.0),
            Key::slope(down, 0.0, -0.45 * speed),
            ease(down + 0.13, -0.09),
            ease(down + 0.42, 0.012),
            ease(down + 0.66, -0.022),
            ease(down + 0.95, 0.0),
            ease(3.3, 0.0),
            ease(3.6, -0.03),
            ease(4.2, 0.0),
        ])
    }

    fn curl() -> Track {
        let (ease, off, down) = (Key::ease, TAKE_OFF, LANDING);
        Track::new(&[
            ease(0.35, 0.0),
            ease(0.9, 0.50),
            ease(off, -0.42),
            ease(off + 0.34, 0.75),
            ease(down - 0.12, 0.15),
            ease(down + 0.18, 0.70),
            ease(down + 0.5, -0.16),
            ease(down + 0.85, 0.05),
            ease(down + 1.15, 0.0),
            ease(3.25, 0.0),
            ease(3.6, 0.65),
            ease(3.8, 0.65),
            ease(4.3, 0.0),
        ])
    }

    fn arms() -> Track {
        let (ease, off, down) = (Key::ease, TAKE_OFF, LANDING);
        Track::new(&[
            ease(0.3, 0.0),
            ease(0.9, -0.95),
            ease(off + 0.06, 0.55),
            ease(off + 0.36, -0.4),
            ease(down - 0.05, 0.35),
            ease(down + 0.2, -0.75),
            ease(down + 0.5, 0.45),
            ease(down + 0.8, -0.1),
            ease(down + 1.1, 0.0),
            ease(3.2, 0.0),
            ease(3.6, -0.7),
            ease(3.85, -0.7),
            ease(4.35, 0.0),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_loops, assert_sound, euler_characteristic, largest_distance, points_of};
    use geometry::Topology;

    #[test]
    fn has_the_sizes_of_the_paper_and_one_opening() {
        for (clip, points, rim) in [(bag(), 88, 16), (bag_fine(), 1297, 64)] {
            assert_sound(&clip);
            assert_loops(&clip);
            let mesh = &clip.meshes[0];
            assert_eq!(mesh.point_count(), points);
            assert_eq!(euler_characteristic(mesh), 1, "a disc");
            let topology = Topology::new(points, &mesh.point_triangles());
            assert_eq!(topology.boundary_edges().count(), rim);
            assert_eq!(topology.non_manifold_edges().count(), 0);
            assert_eq!(mesh.group("mouth").unwrap().weights.iter().sum::<f32>(), rim as f32);
        }
    }

    #[test]
    fn the_guide_leads_the_fine_bag() {
        let (guide, fine) = (bag(), bag_fine());
        for index in 0..guide.frame_count() {
            let (a, b) = (guide.frame(index).unwrap(), fine.frame(index).unwrap());
            assert_eq!(a.points[0][..], b.points[0][..88]);
        }
    }

    #[test]
    fn moves_without_popping_and_keeps_its_area() {
        // twice the frame rate must halve every step
        let clip = Bag { levels: 1, frame_rate_hz: 48.0 }.clip();
        let triangles = clip.meshes[0].point_triangles();
        let area =
            |points: &[[f32; 3]]| geometry::vertex_areas(&points_of(points), &triangles).iter().sum::<f64>();
        let rest = area(&clip.meshes[0].rest_points);
        for index in 1..clip.frame_count() {
            let (a, b) = (clip.frame(index - 1).unwrap(), clip.frame(index).unwrap());
            let step = largest_distance(&a.points[0], &b.points[0]);
            assert!(step < 0.19, "frame {index}: moves {step} m in 1/48 s");
            let ratio = area(&b.points[0]) / rest;
            assert!((0.7..1.35).contains(&ratio), "frame {index}: area {ratio}");
        }
    }
}
