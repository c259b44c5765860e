//! A potted plant that is carried off in a hurry.

use clip::{Clip, Faces, Mesh};
use geometry::Vec3;
use std::f64::consts::TAU;

use crate::motion::{self, Key, Track};
use crate::paint::{self, Rgb, step};
use crate::rig::{Pose, Rig, group_of};
use crate::shapes::{self, Shape};

/// A stem with leaves (open surfaces) in a closed pot, which is lifted, jerked aside, shaken and put down hard.
///
/// One mesh, `plant`: pot, soil, stem and leaves are its parts. Groups `pot`, `stem`, `leaves`. In the input the plant is
/// stiff: all of its swaying is left to physics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plant {
    /// How many leaves.
    pub leaves: usize,
    /// Quads along each leaf.
    pub leaf_rows: usize,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Plant {
    fn default() -> Self {
        Self { leaves: 13, leaf_rows: 12, frame_rate_hz: 24.0 }
    }
}

/// The plant as it comes.
pub fn plant() -> Clip {
    Plant::default().clip()
}

const SECONDS: f64 = 5.0;
const SOIL: f64 = 0.20;
const POT_FOOT: f64 = 0.105;
const STEM_JOINTS: usize = 6;
const MOST_LEAVES: usize = 200;

/// A run of points that belongs together: its shape, material, and the joint weights of each point.
struct Organ {
    shape: Shape,
    material: usize,
    weights: Vec<Vec<f64>>,
}

impl Plant {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let leaf_count = self.leaves.min(MOST_LEAVES);
        let mut rig = Rig::default();
        let pot = rig.joint("pot", None, Vec3::ZERO);
        let stem_places: Vec<Vec3> =
            (0..STEM_JOINTS).map(|i| stem_at(i as f64 / STEM_JOINTS as f64)).collect();
        let stem = rig.chain("stem", pot, &stem_places);
        let leaves: Vec<Leaf> = (0..leaf_count).map(|i| Leaf::new(i, leaf_count)).collect();
        let leaf_joints: Vec<Vec<usize>> = leaves
            .iter()
            .enumerate()
            .map(|(i, leaf)| {
                let parent = stem[((leaf.up * STEM_JOINTS as f64) as usize).min(STEM_JOINTS - 1)];
                let places = [stem_at(leaf.up), leaf.midrib(0.0), leaf.midrib(0.5)];
                rig.chain(&format!("leaf_{:02}", i + 1), parent, &places)
            })
            .collect();

        let joints = rig.places.len();
        let mut organs = pot_and_soil(joints, pot);
        organs.push(stem_organ(joints, pot, &stem));
        for (leaf, chain) in leaves.iter().zip(&leaf_joints) {
            organs.extend(leaf.organs(joints, chain, self.leaf_rows.clamp(3, 200)));
        }
        let mesh = dress(&rig, &organs, pot, &stem, &leaf_joints);
        let journey = Journey::new();
        let poses: Vec<Pose> = motion::times(SECONDS, self.frame_rate_hz)
            .map(|time| {
                let mut pose = Pose::new(&rig);
                let (place, nod, tilt) = journey.at(time);
                pose.shift(pot, place);
                pose.turn(pot, nod, journey.spin.at(time), tilt);
                pose
            })
            .collect();
        let mut clip = rig.clip("plant", self.frame_rate_hz, vec![mesh], &poses);
        clip.images =
            vec![paint::picture("leaf", 128, 256, leaf_colour), paint::picture("pot", 256, 128, pot_colour)];
        clip.materials = vec![
            paint::textured("pot", 1),
            paint::plain("soil", 0x4a3428),
            paint::plain("stem", 0x6f9a4a),
            paint::textured("leaf", 0),
        ];
        clip
    }
}

/// The stem's line from the soil (0) to its tip (1): nearly straight, with a slight S.
fn stem_at(t: f64) -> Vec3 {
    Vec3::new(
        0.035 * (TAU * 0.55 * t).sin(),
        SOIL + 0.005 + 0.72 * t,
        0.03 * (TAU * 0.8 * t + 0.4).sin() - 0.0117,
    )
}

fn rows(shape: &Shape, weigh: impl Fn(Vec3) -> Vec<(usize, f64)>, joints: usize) -> Vec<Vec<f64>> {
    let row = |p: &Vec3| {
        let mut row = vec![0.0; joints];
        weigh(*p).into_iter().for_each(|(joint, w)| row[joint] += w);
        row
    };
    shape.points.iter().map(row).collect()
}

fn pot_and_soil(joints: usize, pot: usize) -> Vec<Organ> {
    #[rustfmt::skip]
    let wall = shapes::revolve(&[
        [0.0, 0.0], [0.07, 0.0], [POT_FOOT - 0.008, 0.0], [POT_FOOT, 0.008], [0.114, 0.05], [0.123, 0.10], [0.132, 0.15],
        [0.139, 0.186], [0.152, 0.19], [0.158, 0.20], [0.160, 0.225], [0.156, 0.238], [0.148, 0.241], [0.139, 0.236],
        [0.134, 0.215], [0.128, 0.17], [0.118, 0.10], [0.104, 0.03], [0.06, 0.02], [0.0, 0.02],
    ], 40);
    let soil = shapes::revolve(
        &[
            [0.0, 0.15],
            [0.06, 0.15],
            [0.118, 0.15],
            [0.127, SOIL - 0.008],
            [0.10, SOIL + 0.004],
            [0.05, SOIL + 0.01],
            [0.0, SOIL + 0.012],
        ],
        36,
    );
    [(wall, 0), (soil, 1)]
        .into_iter()
        .map(|(shape, material)| Organ {
            weights: rows(&shape, |_| vec![(pot, 1.0)], joints),
            shape,
            material,
        })
        .collect()
}

fn stem_organ(joints: usize, pot: usize, stem: &[usize]) -> Organ {
    const PIECES: usize = 36;
    let t = |i: usize| -0.05 + 1.05 * i as f64 / PIECES as f64;
    let centres: Vec<Vec3> = (0..=PIECES).map(|i| stem_at(t(i))).collect();
    let radii: Vec<f64> = (0..=PIECES).map(|i| 0.0145 - 0.0085 * t(i).max(0.0)).collect();
    let shape = shapes::tube(&centres, &radii, 10);
    let weigh = |p: Vec3| {
        // between two joints, a smooth blend; the first joint is at the soil
        let along = (p.y - stem_at(0.0).y) / (stem_at(1.0).y - stem_at(0.0).y) * stem.len() as f64;
        let below = (along - 0.5).floor();
        let blend = step(0.0, 1.0, along - 0.5 - below);
        let joint = |k: f64| if k < 0.0 { pot } else { stem[(k as usize).min(stem.len() - 1)] };
        vec![(joint(below), 1.0 - blend), (joint(below + 1.0), blend)]
    };
    Organ { weights: rows(&shape, weigh, joints), shape, material: 2 }
}

/// One leaf: where it leaves the stem, and its size and bearing.
struct Leaf {
    /// Along the stem.
    up: f64,
    /// About the stem.
    bearing: f64,
    length: f64,
    width: f64,
    /// Elevation where it begins, and how far it bends down to its tip; radians.
    rise: f64,
    droop: f64,
}

impl Leaf {
    fn new(index: usize, count: usize) -> Self {
        // leaves of a shoot follow each other at the golden angle
        const GOLDEN_ANGLE: f64 = 2.399_963_229_728_653;
        let t = if count > 1 { index as f64 / (count - 1) as f64 } else { 1.0 };
        Self {
            up: 0.30 + 0.70 * t,
            bearing: 0.6 + GOLDEN_ANGLE * index as f64,
            length: 0.36 - 0.16 * t * t,
            width: 0.155 - 0.075 * t * t,
            rise: 0.55 + 0.62 * t,
            droop: 1.35 - 0.55 * t,
        }
    }

    fn out(&self) -> Vec3 {
        Vec3::new(self.bearing.sin(), 0.0, self.bearing.cos())
    }

    fn direction(&self, t: f64) -> Vec3 {
        let elevation = self.rise - self.droop * t;
        elevation.cos() * self.out() + elevation.sin() * Vec3::Y
    }

    /// The midrib from the foot of the blade (0) to its tip (1).
    fn midrib(&self, t: f64) -> Vec3 {
        const PIECES: usize = 24;
        let stalk = 0.16 * self.length;
        let start = stem_at(self.up) + stalk * self.direction(0.0);
        let step = t / PIECES as f64;
        let middle = |i: usize| self.direction((i as f64 + 0.5) * step);
        start + self.length * step * (0..PIECES).map(middle).sum::<Vec3>()
    }

    /// The point of the blade at t along and a ∈ [−1, 1] across; it is folded a little along the midrib and wavy at its edge.
    fn blade(&self, t: f64, a: f64) -> Vec3 {
        let half_width = 0.5 * self.width * outline(t);
        let along = self.direction(t);
        let across = Vec3::Y.cross(self.out());
        let normal = along.cross(across);
        let lift = 0.34 * a.abs() + 0.05 * a * a * (TAU * 2.0 * t + self.bearing).sin();
        self.midrib(t) + half_width * (a * across + lift * normal)
    }

    /// The stalk and the blade.
    fn organs(&self, joints: usize, chain: &[usize], rows_along: usize) -> [Organ; 2] {
        let stalk_line: Vec<Vec3> =
            (0..=5).map(|i| stem_at(self.up).lerp(self.midrib(0.06), f64::from(i) / 5.0)).collect();
        let stalk = shapes::tube(&stalk_line, &[0.0055, 0.005, 0.0046, 0.0043, 0.004, 0.0035], 6);
        let stalk_weights = rows(&stalk, |_| vec![(chain[0], 1.0)], joints);

        const ACROSS: usize = 8;
        let mut blade = Shape::default();
        let mut along = Vec::new();
        let mut push = |t: f64, a: f64| {
            blade.points.push(self.blade(t, a));
            blade.uvs.push([(0.5 + 0.5 * a) as f32, (1.0 - t) as f32]);
            along.push(t);
        };
        push(0.0, 0.0);
        for j in 1..rows_along {
            for i in 0..=ACROSS {
                push(j as f64 / rows_along as f64, 2.0 * i as f64 / ACROSS as f64 - 1.0);
            }
        }
        push(1.0, 0.0);
        blade.vertex_points = (0..blade.points.len() as u32).collect();
        blade.faces = blade_faces(rows_along, ACROSS);
        let weigh = |t: f64| {
            let (low, high) = (step(0.0, 0.35, t), step(0.25, 0.85, t));
            let mut row = vec![0.0; joints];
            row[chain[0]] = 1.0 - low;
            row[chain[1]] = low * (1.0 - high);
            row[chain[2]] = low * high;
            row
        };
        let weights = along.iter().map(|&t| weigh(t)).collect();
        [
            Organ { shape: stalk, material: 2, weights: stalk_weights },
            Organ { shape: blade, material: 3, weights },
        ]
    }
}

/// Half width of a blade along its length, 1 at its widest.
fn outline(t: f64) -> f64 {
    (0.5 * TAU * t.powf(0.72)).sin().max(0.0).powf(0.8)
}

/// Rows of quads between a foot and a tip of triangles.
fn blade_faces(rows_along: usize, across: usize) -> Faces {
    let at = |j: usize, i: usize| (1 + (j - 1) * (across + 1) + i) as u32;
    let tip = at(rows_along - 1, across) + 1;
    let mut faces = Faces::default();
    for i in 0..across {
        faces.push(&[0, at(1, i), at(1, i + 1)]);
        for j in 1..rows_along - 1 {
            faces.push(&[at(j, i), at(j + 1, i), at(j + 1, i + 1), at(j, i + 1)]);
        }
        faces.push(&[at(rows_along - 1, i), tip, at(rows_along - 1, i + 1)]);
    }
    faces
}

fn dress(rig: &Rig, organs: &[Organ], pot: usize, stem: &[usize], leaves: &[Vec<usize>]) -> Mesh {
    let parts: Vec<_> = organs.iter().map(|organ| (&organ.shape, Some(organ.material))).collect();
    let weights: Vec<Vec<f64>> = organs.iter().flat_map(|organ| organ.weights.iter().cloned()).collect();
    let mut mesh = shapes::assemble("plant", &parts);
    mesh.set_group("pot", group_of(&weights, &[pot]));
    mesh.set_group("stem", group_of(&weights, stem));
    if !leaves.is_empty() {
        mesh.set_group("leaves", group_of(&weights, &leaves.concat()));
    }
    mesh.skin = Some(rig.skin(&weights));
    mesh
}

/// The pot's way, as curves over seconds.
struct Journey {
    side: Track,
    height: Track,
    ahead: Track,
    nod: Track,
    tilt: Track,
    spin: Track,
}

impl Journey {
    fn new() -> Self {
        let ease = Key::ease;
        Self {
            side: Track::new(&[
                ease(0.95, -0.5),
                ease(1.12, -0.54),
                ease(1.62, 0.56),
                ease(1.78, 0.50),
                ease(2.20, 0.50),
                ease(2.34, 0.40),
                ease(2.48, 0.60),
                ease(2.62, 0.42),
                ease(2.78, 0.50),
            ]),
            height: Track::new(&[
                ease(0.40, 0.0),
                ease(0.95, 0.24),
                ease(1.15, 0.22),
                ease(1.40, 0.31),
                ease(1.72, 0.23),
                ease(2.20, 0.25),
                ease(2.95, 0.26),
                Key::slope(3.30, 0.0, -1.2),
            ]),
            ahead: Track::new(&[ease(0.4, 0.0), ease(1.35, 0.10), ease(1.9, 0.0)]),
            nod: Track::new(&[
                ease(0.45, 0.0),
                ease(0.75, -0.06),
                ease(1.05, 0.02),
                ease(1.4, 0.06),
                ease(1.9, 0.0),
            ]),
            tilt: Track::new(&[
                ease(0.5, 0.0),
                ease(0.95, 0.03),
                ease(1.12, 0.10),
                ease(1.36, -0.16),
                ease(1.66, 0.20),
                ease(1.92, -0.04),
                ease(2.20, 0.0),
                ease(2.34, 0.12),
                ease(2.48, -0.12),
                ease(2.62, 0.10),
                ease(2.9, 0.0),
                ease(3.30, 0.055),
                ease(3.42, -0.04),
                ease(3.54, 0.022),
                ease(3.66, -0.010),
                ease(3.78, 0.0),
            ]),
            spin: Track::new(&[ease(1.0, 0.0), ease(1.7, 0.5), ease(2.2, 0.4)]),
        }
    }

    /// Where the pot is, and how far it nods and tilts. A pot that rocks on the ground stands on the edge of its foot.
    fn at(&self, time: f64) -> (Vec3, f64, f64) {
        let (nod, tilt) = (self.nod.at(time), self.tilt.at(time));
        let edge = POT_FOOT * (nod.hypot(tilt)).sin().abs();
        (Vec3::new(self.side.at(time), self.height.at(time) + edge, self.ahead.at(time)), nod, tilt)
    }
}

fn leaf_colour(u: f64, v: f64) -> Rgb {
    const LEAF: Rgb = 0x3f8f4f;
    const YOUNG: Rgb = 0x7cbf5a;
    const VEIN: Rgb = 0xb9dd8e;
    let a = (u - 0.5).abs() * 2.0;
    let t = 1.0 - v;
    let blade = paint::mix(LEAF, YOUNG, 0.45 * a + 0.35 * t);
    // side veins leave the midrib at an angle
    let vein = ((t * 9.0 - a * 1.6).rem_euclid(1.0) - 0.5).abs();
    let rib = step(0.05, 0.02, a).max(0.5 * step(0.07, 0.03, vein) * step(1.0, 0.7, a));
    paint::mix(blade, VEIN, rib)
}

fn pot_colour(u: f64, v: f64) -> Rgb {
    const CLAY: Rgb = 0xc9704a;
    const GLAZE: Rgb = 0xf2e3cf;
    // v counts the rows of the pot's profile; the zigzag sits on the outer wall
    let zigzag = 0.745 + 0.045 * (((u * 16.0).fract() - 0.5).abs() * 4.0 - 1.0);
    if (v - zigzag).abs() < 0.018 { GLAZE } else { CLAY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_closed, assert_sound, points_of};
    use geometry::Topology;

    #[test]
    fn is_sound_with_a_closed_pot_and_open_leaves() {
        let clip = plant();
        assert_sound(&clip);
        let mesh = &clip.meshes[0];
        let triangles = mesh.point_triangles();
        let in_pot = &mesh.group("pot").unwrap().weights;
        let pot: Vec<[u32; 3]> =
            triangles.iter().copied().filter(|t| t.iter().all(|&p| in_pot[p as usize] == 1.0)).collect();
        let pot_points = mesh.parts[1].vertices.end;
        let pot: Vec<[u32; 3]> =
            pot.into_iter().filter(|t| t.iter().all(|&p| (p as usize) < pot_points)).collect();
        assert_closed(mesh.point_count(), &pot);
        let open = Topology::new(mesh.point_count(), &triangles).boundary_edges().count();
        // the rim of each blade: both sides, foot and tip
        assert_eq!(open, 13 * (2 * 10 + 4));
    }

    #[test]
    fn the_pot_stays_rigid_and_above_the_ground_and_comes_to_rest() {
        let clip = plant();
        let mesh = &clip.meshes[0];
        let pot: Vec<usize> =
            (0..mesh.point_count()).filter(|&i| mesh.group("pot").unwrap().weights[i] == 1.0).collect();
        let rest = mesh.rest();
        for index in 0..clip.frame_count() {
            let now = points_of(&clip.frame(index).unwrap().points[0]);
            for &i in &pot {
                assert!(now[i].y > -1e-3, "frame {index}: {} below the ground", now[i].y);
                let stretch = now[i].distance(now[pot[0]]) - rest[i].distance(rest[pot[0]]);
                assert!(stretch.abs() < 1e-5);
            }
        }
        let last = clip.frame_count() - 1;
        assert_eq!(clip.frame(last).unwrap().points, clip.frame(last - 12).unwrap().points);
    }

    #[test]
    fn any_number_of_leaves_grows() {
        for leaves in [0, 1, 2] {
            assert_sound(&Plant { leaves, leaf_rows: 0, ..Plant::default() }.clip());
        }
    }
}
