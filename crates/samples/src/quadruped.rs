//! A young elephant that walks: soft belly, big ears, trunk and tail.

use clip::{Clip, Mesh};
use geometry::{Mat3, Vec3};
use glam::DQuat;
use std::f64::consts::TAU;

use crate::creature::Creature;
use crate::motion;
use crate::paint::{self, Rgb, step};
use crate::rig::{Pose, Rig, group_of};
use crate::shapes::{self, Shape};
use crate::surface::{Body, Solid};

/// A lateral-sequence walk (left hind, left fore, right hind, right fore, a quarter of the cycle apart), feet planted
/// without sliding; meshes `body` (one closed surface) and `details` (eyes and nails, carried by the skeleton).
///
/// Groups of `body`: `belly`, `ears`, `trunk`, `tail`, `feet`, `head`, `back`; and `ball`, where there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quadruped {
    /// Edge length of the body's quads in metres; 0.029 gives about 8,000 points.
    pub cell: f64,
    /// Steps of each foot.
    pub cycles: usize,
    /// Seconds from one step of a foot to its next.
    pub seconds_per_cycle: f64,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// Whether it moves ahead; otherwise it walks in place, and the last frame is the first.
    pub travels: bool,
    /// Whether a ball is thrown at its belly: a second piece of `body`.
    pub ball: bool,
}

impl Default for Quadruped {
    fn default() -> Self {
        Self {
            cell: 0.029,
            cycles: 3,
            seconds_per_cycle: 4.0 / 3.0,
            frame_rate_hz: 24.0,
            travels: true,
            ball: false,
        }
    }
}

/// The elephant as it comes: three cycles, moving ahead.
pub fn quadruped() -> Clip {
    Quadruped::default().clip()
}

/// The elephant, and a ball that hits its belly.
pub fn quadruped_ball() -> Clip {
    Quadruped { cell: 0.042, cycles: 1, ball: true, ..Quadruped::default() }.clip()
}

/// Metres ahead in one cycle.
const STRIDE: f64 = 0.46;
/// The fraction of a cycle that a foot stands.
const DUTY: f64 = 0.66;
const FOOT_LIFT: f64 = 0.085;
/// The walk goes a little in the knees, so that no leg is ever straight.
const CROUCH: f64 = 0.022;

/// The ball's radius.
const BALL: f64 = 0.15;
/// Where it lies at rest: apart from the body.
const BALL_REST: Vec3 = Vec3::new(0.95, BALL, 0.0);

/// Where the middle of a thrown ball is, seen from a walker at the origin: a parabola to the belly, and, as if nobody were there, on
/// through it and along the ground.
fn thrown(time: f64) -> Vec3 {
    const HIT: f64 = 0.5;
    // the skin is 0.3 m from the middle
    let since = time - HIT;
    let height = 0.52 - 1.9 * since - 0.5 * 9.81 * since * since;
    Vec3::new(0.30 + BALL - 5.0 * since, height.max(BALL), 0.02)
}

/// One leg: where its foot stands, when it touches down as a fraction of the cycle.
struct Leg {
    joints: [usize; 3],
    touchdown: f64,
}

struct Character {
    rig: Rig,
    body: Body,
    hips: usize,
    spine: usize,
    chest: usize,
    neck: usize,
    head: usize,
    jaw: usize,
    trunk: Vec<usize>,
    ears: [Vec<usize>; 2],
    tail: Vec<usize>,
    /// Left hind, left fore, right hind, right fore: the order of a lateral sequence.
    legs: Vec<Leg>,
}

impl Quadruped {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let mut character = Character::new();
        let ball = self.ball.then(|| character.rig.joint("ball", Some(0), BALL_REST));
        let shape = character.body.surface(self.cell.clamp(0.012, 0.08));
        let sole = |p: Vec3| p.y < 0.05;
        let iterations = (0.5 * (0.15 / self.cell.clamp(0.012, 0.08)).powi(2)) as usize + 4;
        let weights = character.rig.weights(&shape, &character.body, sole, iterations);
        let mut body = character.dress(&shape, &weights);
        let details = character.details();

        let seconds = self.cycles as f64 * self.seconds_per_cycle;
        let poses: Vec<Pose> = motion::times(seconds, self.frame_rate_hz)
            .map(|time| {
                let mut pose = character.walk(time / self.seconds_per_cycle, self.travels);
                if let Some(joint) = ball {
                    let ahead = if self.travels { STRIDE * time / self.seconds_per_cycle } else { 0.0 };
                    pose.shift(joint, thrown(time) + Vec3::new(0.0, 0.0, ahead) - BALL_REST);
                    pose.turn(joint, 3.0 * time, 0.0, -2.0 * time);
                }
                pose
            })
            .collect();
        if let Some(joint) = ball {
            let points = body.point_count();
            let shape = shapes::sphere(BALL, 32, 20).moved(BALL_REST);
            shapes::append(&mut body, &shape, Some(4));
            body.set_group("ball", (0..body.point_count()).map(|p| f32::from(p >= points)).collect());
            let held = character.rig.rigid_skin(std::iter::repeat_n(joint, shape.points.len()));
            body.skin.iter_mut().for_each(|skin| skin.influences.extend_from_slice(&held.influences));
        }
        let mut clip = character.rig.clip("quadruped", self.frame_rate_hz, vec![body, details], &poses);
        clip.images = vec![paint::picture("hide", 128, 128, colour)];
        clip.materials = vec![
            paint::textured("hide", 0),
            paint::plain("eye", 0x2b2230),
            paint::plain("glint", 0xffffff),
            paint::plain("nail", 0xf2e6d0),
            paint::plain("ball", 0xe0554a),
        ];
        clip
    }
}

fn at(x: f64, y: f64, z: f64) -> Vec3 {
    Vec3::new(x, y, z)
}

fn torso_and_head(creature: &mut Creature, [hips, spine, chest, neck, head, jaw]: [usize; 6]) {
    creature.add(hips, 0.0, Solid::ball(at(0.0, 0.63, -0.24), at(0.27, 0.28, 0.27)));
    creature.add(spine, 0.16, Solid::ball(at(0.0, 0.585, 0.0), at(0.305, 0.295, 0.30)));
    creature.add(chest, 0.16, Solid::ball(at(0.0, 0.64, 0.22), at(0.26, 0.28, 0.24)));
    creature.add(neck, 0.14, Solid::limb(at(0.0, 0.76, 0.32), at(0.0, 0.88, 0.50), [0.19, 0.19]));
    creature.add(head, 0.10, Solid::ball(at(0.0, 0.95, 0.60), at(0.225, 0.235, 0.225)));
    for side in [-1.0, 1.0] {
        // the two domes of the forehead, and round cheeks
        creature.add(head, 0.08, Solid::ball(at(0.075 * side, 1.07, 0.60), at(0.11, 0.11, 0.12)));
        creature.add(head, 0.09, Solid::ball(at(0.12 * side, 0.855, 0.665), at(0.095, 0.09, 0.095)));
    }
    creature.add(jaw, 0.05, Solid::limb(at(0.0, 0.80, 0.64), at(0.0, 0.745, 0.73), [0.085, 0.042]));
}

fn trunk(creature: &mut Creature, head: usize) -> Vec<usize> {
    let trunk_places = [
        at(0.0, 0.895, 0.76),
        at(0.0, 0.79, 0.855),
        at(0.0, 0.665, 0.90),
        at(0.0, 0.54, 0.905),
        at(0.0, 0.425, 0.895),
        at(0.0, 0.325, 0.915),
        at(0.0, 0.265, 0.985),
    ];
    let trunk = creature.rig.chain("trunk", head, &trunk_places[..6]);
    let tip = at(0.0, 0.262, 1.035);
    for (i, &joint) in trunk.iter().enumerate() {
        let radius = |i: usize| 0.112 - 0.0107 * i as f64;
        // a chain of limbs is smooth by itself; fillets between them would show as rings
        let fillet = if i == 0 { 0.07 } else { 0.008 };
        creature.add(
            joint,
            fillet,
            Solid::limb(trunk_places[i], trunk_places[i + 1], [radius(i), radius(i + 1)]),
        );
    }
    creature.add(trunk[5], 0.008, Solid::limb(trunk_places[6], tip, [0.048, 0.042]));
    trunk
}

fn ears(creature: &mut Creature, head: usize) -> [Vec<usize>; 2] {
    [1.0, -1.0].map(|side| {
        let places = [at(0.19 * side, 1.02, 0.55), at(0.32 * side, 1.0, 0.50), at(0.43 * side, 0.96, 0.45)];
        let name = if side > 0.0 { "ear_left" } else { "ear_right" };
        let ear = creature.rig.chain(name, head, &places);
        // a broad leaf, turned a little backwards and hanging out
        let axes = Mat3::from_rotation_y(0.42 * side) * Mat3::from_rotation_z(-0.16 * side);
        let leaf = |x: f64, y: f64, rx: f64, ry: f64| Solid::Plate {
            centre: at(0.19 * side, 1.02, 0.55) + axes * at(x * side, y, 0.0),
            radii: [rx, ry],
            half_thickness: 0.031,
            axes,
        };
        creature.add(ear[0], 0.05, leaf(0.070, -0.03, 0.10, 0.165));
        creature.add(ear[1], 0.01, leaf(0.150, -0.03, 0.150, 0.230));
        creature.add(ear[2], 0.01, leaf(0.195, -0.055, 0.160, 0.225));
        ear
    })
}

fn tail(creature: &mut Creature, hips: usize) -> Vec<usize> {
    let tail_places = [
        at(0.0, 0.74, -0.485),
        at(0.0, 0.665, -0.555),
        at(0.0, 0.565, -0.59),
        at(0.0, 0.465, -0.60),
        at(0.0, 0.37, -0.61),
    ];
    let tail = creature.rig.chain("tail", hips, &tail_places[..4]);
    for (i, &joint) in tail.iter().enumerate() {
        let radius = |i: usize| 0.048 - 0.005 * i as f64;
        let fillet = if i == 0 { 0.05 } else { 0.004 };
        creature.add(
            joint,
            fillet,
            Solid::limb(tail_places[i], tail_places[i + 1], [radius(i), radius(i + 1)]),
        );
    }
    creature.add(tail[3], 0.03, Solid::limb(at(0.0, 0.40, -0.605), at(0.0, 0.335, -0.615), [0.042, 0.05]));
    tail
}

fn legs(creature: &mut Creature, hips: usize, chest: usize) -> Vec<Leg> {
    let mut legs = Vec::new();
    for (side, name_side) in [(1.0, "left"), (-1.0, "right")] {
        for (hind, name) in [(true, "hind"), (false, "fore")] {
            let z = if hind { -0.27 } else { 0.255 };
            let parent = if hind { hips } else { chest };
            let places =
                [at(0.15 * side, 0.60, z), at(0.155 * side, 0.335, z + 0.065), at(0.155 * side, 0.105, z)];
            let joint = |rig: &mut Rig, part: &str, parent, place| {
                rig.joint(&format!("{name}_{name_side}_{part}"), Some(parent), place)
            };
            let upper = joint(&mut creature.rig, "upper", parent, places[0]);
            let lower = joint(&mut creature.rig, "lower", upper, places[1]);
            let foot = joint(&mut creature.rig, "foot", lower, places[2]);
            let thigh = if hind { 0.135 } else { 0.125 };
            creature.add(upper, 0.10, Solid::limb(places[0] - 0.05 * Vec3::Y, places[1], [thigh, 0.112]));
            creature.add(lower, 0.05, Solid::limb(places[1], places[2], [0.110, 0.105]));
            let ball = Solid::ball(places[2] + at(0.0, -0.035, 0.018), at(0.122, 0.10, 0.13));
            creature.add(foot, 0.05, ball);
            let touchdown = if hind { 0.0 } else { 0.25 } + if side > 0.0 { 0.0 } else { 0.5 };
            legs.push(Leg { joints: [upper, lower, foot], touchdown });
        }
    }
    legs
}

impl Character {
    fn new() -> Self {
        let mut rig = Rig::default();
        let root = rig.joint("root", None, Vec3::ZERO);
        let hips = rig.joint("hips", Some(root), at(0.0, 0.66, -0.26));
        let spine = rig.joint("spine", Some(hips), at(0.0, 0.70, -0.06));
        let chest = rig.joint("chest", Some(spine), at(0.0, 0.70, 0.16));
        let neck = rig.joint("neck", Some(chest), at(0.0, 0.80, 0.38));
        let head = rig.joint("head", Some(neck), at(0.0, 0.90, 0.50));
        let jaw = rig.joint("jaw", Some(head), at(0.0, 0.80, 0.62));
        let mut creature = Creature { rig, body: Body { pieces: Vec::new(), floor: Some(0.0) } };
        torso_and_head(&mut creature, [hips, spine, chest, neck, head, jaw]);
        let trunk = trunk(&mut creature, head);
        let ears = ears(&mut creature, head);
        let tail = tail(&mut creature, hips);
        let legs = legs(&mut creature, hips, chest);
        let Creature { rig, body } = creature;
        Self { rig, body, hips, spine, chest, neck, head, jaw, trunk, ears, tail, legs }
    }

    /// The pose after this many cycles.
    fn walk(&self, cycles: f64, travels: bool) -> Pose {
        let rig = &self.rig;
        let mut pose = Pose::new(rig);
        let wave = |times: f64, late: f64| (TAU * (times * cycles - late)).sin();
        let ahead = STRIDE * cycles;

        // weight: lowest just after a pair of feet has taken it, twice a cycle; sideways over the standing legs
        let bob = -CROUCH - 0.011 * wave(2.0, 0.02);
        let sway = 0.020 * wave(1.0, -0.02);
        pose.shift(self.hips, Vec3::new(sway, bob, ahead + 0.008 * wave(2.0, 0.30)));
        pose.turn(self.hips, 0.022 * wave(2.0, 0.10), 0.075 * wave(1.0, 0.20), 0.05 * wave(1.0, 0.30));
        pose.turn(self.spine, -0.012 * wave(2.0, 0.18), -0.05 * wave(1.0, 0.22), -0.035 * wave(1.0, 0.34));
        pose.turn(self.chest, -0.018 * wave(2.0, 0.22), -0.07 * wave(1.0, 0.28), -0.05 * wave(1.0, 0.40));
        // the head nods after the chest and looks ahead, a little to the side of the stepping foreleg
        pose.turn(self.neck, 0.05 * wave(2.0, 0.36), 0.05 * wave(1.0, 0.36), 0.02 * wave(1.0, 0.45));
        pose.turn(self.head, 0.045 * wave(2.0, 0.44), 0.03 * wave(1.0, 0.42), 0.03 * wave(1.0, 0.52));
        pose.turn(self.jaw, 0.06 * wave(2.0, 0.55), 0.0, 0.0);

        for (i, &joint) in self.trunk.iter().enumerate() {
            let along = i as f64 / 5.0;
            let late = 0.5 + 0.075 * i as f64;
            let reach = 0.035 + 0.045 * along;
            pose.turn(
                joint,
                0.35 * reach + 0.55 * reach * wave(2.0, late + 0.05),
                0.0,
                1.35 * reach * wave(1.0, late),
            );
        }
        for (ear, side) in self.ears.iter().zip([1.0, -1.0]) {
            for (i, &joint) in ear.iter().enumerate() {
                let late = 0.42 + 0.07 * i as f64;
                let flap = 0.10 * wave(2.0, late) + 0.05 * wave(1.0, late + 0.1);
                pose.turn(joint, 0.02 * wave(2.0, late), side * flap, side * 0.05 * wave(2.0, late + 0.15));
            }
        }
        for (i, &joint) in self.tail.iter().enumerate() {
            let late = 0.25 + 0.09 * i as f64;
            pose.turn(joint, 0.05 + 0.03 * wave(2.0, late), 0.0, -(0.12 + 0.03 * i as f64) * wave(1.0, late));
        }
        for leg in &self.legs {
            let (target, pitch) = self.foot(leg, cycles);
            let turn = DQuat::from_rotation_x(pitch);
            pose.reach(rig, leg.joints, target, Vec3::X, Vec3::new(0.0, 0.0, 1.0), turn);
        }
        if !travels {
            pose.shift(0, Vec3::new(0.0, 0.0, -ahead));
        }
        pose
    }

    /// Where a foot's joint is, and how far its toes point down. Feet stand still for [`DUTY`] of a cycle and
    /// then swing to their next place, leaving and arriving without speed.
    fn foot(&self, leg: &Leg, cycles: f64) -> (Vec3, f64) {
        let since = cycles - leg.touchdown;
        let (step, phase) = (since.floor(), since - since.floor());
        let swing = ((phase - DUTY) / (1.0 - DUTY)).clamp(0.0, 1.0);
        let smooth = swing * swing * swing * (10.0 - 15.0 * swing + 6.0 * swing * swing);
        // in the middle of its stance the foot is where it is at rest under the body
        let start = STRIDE * (step + leg.touchdown + 0.5 * DUTY);
        let lift = FOOT_LIFT * 16.0 * (swing * (1.0 - swing)).powi(2) * (1.25 - 0.5 * swing);
        let pitch = 0.75 * (TAU * 0.5 * swing).sin().powi(2) * (1.0 - 1.35 * swing);
        let rest = self.rig.places[leg.joints[2]];
        (rest + Vec3::new(0.0, lift, start + STRIDE * smooth), pitch)
    }

    /// The mesh of the body: skin, groups and colour.
    fn dress(&self, shape: &Shape, weights: &[Vec<f64>]) -> Mesh {
        let mut shape = shape.clone();
        let ears: Vec<usize> = self.ears.iter().flatten().copied().collect();
        let feet: Vec<usize> = self.legs.iter().map(|leg| leg.joints[2]).collect();
        let torso = group_of(weights, &[self.hips, self.spine, self.chest]);
        let ear_weight = group_of(weights, &ears);
        let normals = geometry::vertex_normals(&shape.points, &shape.triangles());
        // paint: u from hide to pale underside, v from hide to rosy (inside of the ears, cheeks, tip of the trunk)
        shape.uvs = (0..shape.points.len())
            .map(|i| {
                let (p, n) = (shape.points[i], normals[i]);
                let tail_tuft =
                    f64::from(group_of(&weights[i..=i], &self.tail[3..])[0]) * step(0.42, 0.40, p.y);
                let under = f64::from(torso[i]) * (0.5 - 1.4 * (p.y - 0.47) - 0.12 * n.y);
                // the front of the ear but not its rim, where the surface turns away
                let inner = f64::from(ear_weight[i]) * (0.5 + 1.1 * (n.z - 0.55));
                let cheek = [-1.0, 1.0]
                    .map(|side| 0.62 - 3.2 * p.distance(Vec3::new(0.175 * side, 0.875, 0.735)))
                    .into_iter()
                    .fold(0.0, f64::max);
                let rosy = inner.max(cheek);
                [(under.clamp(0.02, 0.98) as f32) * (1.0 - tail_tuft as f32), rosy.clamp(0.02, 0.98) as f32]
            })
            .collect();
        let mut mesh = shape.mesh("body", Some(0));
        let by =
            |f: &dyn Fn(usize) -> f64| (0..shape.points.len()).map(|i| f(i) as f32).collect::<Vec<f32>>();
        let at = |i: usize| shape.points[i];
        mesh.set_group("belly", by(&|i| f64::from(torso[i]) * step(0.60, 0.44, at(i).y)));
        mesh.set_group("ears", ear_weight);
        mesh.set_group("trunk", group_of(weights, &self.trunk));
        mesh.set_group("tail", group_of(weights, &self.tail));
        mesh.set_group("feet", group_of(weights, &feet));
        mesh.set_group("head", group_of(weights, &[self.head, self.jaw]));
        mesh.set_group("back", by(&|i| f64::from(torso[i]) * step(0.68, 0.82, at(i).y)));
        mesh.skin = Some(self.rig.skin(weights));
        mesh
    }

    fn details(&self) -> Mesh {
        let mut shapes: Vec<(Shape, usize, usize)> = Vec::new();
        for side in [-1.0, 1.0] {
            let eye = Vec3::new(0.132 * side, 0.985, 0.772);
            let ball = shapes::sphere(1.0, 24, 16).map(|p| eye + p * Vec3::new(0.040, 0.047, 0.036));
            let glint =
                shapes::sphere(0.0125, 12, 8).moved(eye + Vec3::new(0.010 * side + 0.006, 0.018, 0.028));
            shapes.push((ball, 1, self.head));
            shapes.push((glint, 2, self.head));
        }
        for leg in &self.legs {
            let foot = self.rig.places[leg.joints[2]];
            for angle in [-0.62_f64, 0.0, 0.62] {
                let place = foot + Vec3::new(0.122 * angle.sin(), -0.072, 0.018 + 0.128 * angle.cos());
                let nail = shapes::sphere(1.0, 14, 10).map(|p| {
                    let turned = Mat3::from_rotation_y(angle) * (p * Vec3::new(0.032, 0.025, 0.013));
                    place + turned
                });
                shapes.push((nail, 3, leg.joints[2]));
            }
        }
        let parts: Vec<_> = shapes.iter().map(|(shape, material, _)| (shape, Some(*material))).collect();
        let mut mesh = shapes::assemble("details", &parts);
        let joints =
            shapes.iter().flat_map(|(shape, _, joint)| std::iter::repeat_n(*joint, shape.points.len()));
        mesh.skin = Some(self.rig.rigid_skin(joints));
        mesh
    }
}

fn colour(u: f64, v: f64) -> Rgb {
    const HIDE: Rgb = 0x9db3cc;
    const PALE: Rgb = 0xccd6e0;
    const ROSE: Rgb = 0xeba6a0;
    let hide = paint::mix(HIDE, PALE, step(0.25, 0.70, u));
    paint::mix(hide, ROSE, step(0.36, 0.56, v))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_character, assert_loops, points_of};

    #[test]
    fn is_sound_and_its_body_is_one_closed_surface() {
        let clip = quadruped();
        assert!((4000..8000).contains(&clip.meshes[0].point_count()));
        assert_character(&clip, 1, 0.9);
        assert_character(&quadruped_ball(), 2, 0.9);
    }

    #[test]
    fn walks_in_place_in_a_loop() {
        assert_loops(&Quadruped { cell: 0.05, travels: false, ..Quadruped::default() }.clip());
    }

    #[test]
    fn feet_do_not_slide() {
        let settings = Quadruped { cell: 0.035, ..Quadruped::default() };
        let clip = settings.clip();
        let character = Character::new();
        let mesh = &clip.meshes[0];
        for leg in &character.legs {
            let foot = character.rig.places[leg.joints[2]];
            let sole: Vec<usize> = (0..mesh.point_count())
                .filter(|&i| {
                    let p = mesh.rest()[i];
                    p.y < 0.02 && (p - foot).with_y(0.0).length() < 0.15
                })
                .collect();
            assert!(sole.len() > 4);
            let mut planted: Option<(f64, Vec<Vec3>)> = None;
            for index in 0..clip.frame_count() {
                let since = index as f64 / (24.0 * settings.seconds_per_cycle) - leg.touchdown;
                if since - since.floor() > DUTY {
                    continue;
                }
                let points = points_of(&clip.frame(index).unwrap().points[0]);
                let now: Vec<Vec3> = sole.iter().map(|&i| points[i]).collect();
                match &planted {
                    Some((step, then)) if *step == since.floor() => {
                        let slide = now.iter().zip(then).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
                        assert!(slide < 0.005, "frame {index}: slides by {slide} m");
                    }
                    _ => planted = Some((since.floor(), now)),
                }
            }
        }
    }
}
