//! A clothed person who moves: what real-time cloth is learnt from and judged on.
//!
//! Garments come coarse and fine, cut from the same surface, with a group `held` of what stays with the body.

use clip::{Clip, Faces, Mesh};
use geometry::Vec3;
use std::f64::consts::TAU;

use crate::cape::{self, COSTUME};
use crate::performance::Performance;
use crate::person::Person;
use crate::rig::Pose;
use crate::shapes::{self, Shape};
use crate::{motion, paint};

/// What a figure wears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garment {
    /// From the shoulders to the knees, open in front; hangs on `Chest`.
    Cape,
    /// From the waist to below the knees, closed all around; hangs on `Hips`.
    Skirt,
}

/// How far a clothed person holds its arms out at rest, rad: hands are clear of a skirt.
const ARMS_OUT: f64 = 0.45;

/// A person who sways and turns round in five garments over each other: a cape, and about the hips a back, two halves of a front and an apron. Meshes
/// `body`, `left`, `right`, `apron`, `back` and `cape`, all skinned; garments hang by their group `collar`.
pub fn figure_costume() -> Clip {
    let (seconds, frame_rate_hz) = (3.5, 24.0);
    let person = Person::with_arms_out(ARMS_OUT);
    let mut meshes = vec![person.mesh(0.03)];
    for (number, panel) in COSTUME.iter().enumerate() {
        let mut garment = cape::mesh(&person.body, panel, Some(1 + number));
        let (count, chest) = (garment.point_count(), person.spine[1]);
        let joint = if panel.name == "cape" { chest } else { person.hips };
        garment.skin = Some(person.rig.rigid_skin(std::iter::repeat_n(joint, count)));
        meshes.push(garment);
    }
    let times = motion::times(seconds, frame_rate_hz);
    let poses: Vec<Pose> = times.map(|time| Performance::Dance.pose(&person, time)).collect();
    let mut clip = person.rig.clip("figure", frame_rate_hz, meshes, &poses);
    let cloths = [0x4f7a5a, 0x4f7a5a, 0xd8c48a, 0x35506b, 0x9c2f3f];
    clip.materials = vec![paint::plain("suit", 0x6f8fb0)];
    clip.materials.extend(COSTUME.iter().zip(cloths).map(|(panel, colour)| paint::plain(panel.name, colour)));
    clip
}

/// A person in a garment; meshes `body` and `cape` or `skirt`, both skinned. The garment is stiff as a board in the animation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// What it wears.
    pub garment: Garment,
    /// What it does.
    pub performance: Performance,
    /// Quads across or around, and down.
    pub cells: [usize; 2],
    /// How long.
    pub seconds: f64,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// Edge length of the body's quads in metres.
    pub body_cell: f64,
}

impl Figure {
    /// In a cape of 40 × 48 quads.
    pub fn in_cape(performance: Performance, seconds: f64) -> Self {
        Self {
            garment: Garment::Cape,
            performance,
            cells: [40, 48],
            seconds,
            frame_rate_hz: 30.0,
            body_cell: 0.03,
        }
    }

    /// In a skirt of 72 × 27 quads.
    pub fn in_skirt(performance: Performance, seconds: f64) -> Self {
        Self { garment: Garment::Skirt, cells: [72, 27], ..Self::in_cape(performance, seconds) }
    }

    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let person = Person::with_arms_out(ARMS_OUT);
        let meshes = vec![person.mesh(self.body_cell), self.garment.mesh(&person, self.cells, 1)];
        let poses: Vec<Pose> = motion::times(self.seconds, self.frame_rate_hz)
            .map(|time| self.performance.pose(&person, time))
            .collect();
        let mut clip = person.rig.clip("figure", self.frame_rate_hz, meshes, &poses);
        clip.materials = vec![paint::plain("suit", 0x6f8fb0), self.garment.paint()];
        clip
    }
}

impl Garment {
    /// The garment alone, on the same skeleton, at rest: what is simulated.
    pub fn alone(self, cells: [usize; 2]) -> Clip {
        let person = Person::with_arms_out(ARMS_OUT);
        let rest = [Pose::new(&person.rig)];
        let mut clip = person.rig.clip("garment", 30.0, vec![self.mesh(&person, cells, 0)], &rest);
        clip.materials = vec![self.paint()];
        clip
    }

    fn paint(self) -> clip::Material {
        match self {
            Self::Cape => paint::plain("cape", 0x9c2f3f),
            Self::Skirt => paint::plain("skirt", 0x2f7d6b),
        }
    }

    fn mesh(self, person: &Person, [across, down]: [usize; 2], material: usize) -> Mesh {
        let (across, down) = (across.max(3), down.max(2));
        let (shape, name, joint, top) = match self {
            Self::Cape => {
                let unit = shapes::grid(across, down, Vec3::ZERO, Vec3::X, Vec3::Y);
                (unit.map(|p| cape(2.0 * p.x - 1.0, p.y)).flipped(), "cape", person.spine[1], across + 1)
            }
            Self::Skirt => (skirt(across, down), "skirt", person.hips, across),
        };
        let mut mesh = shape.mesh(name, Some(material));
        let count = mesh.point_count();
        mesh.set_group("held", (0..count).map(|i| if i < top { 1.0 } else { 0.0 }).collect());
        mesh.skin = Some(person.rig.rigid_skin(std::iter::repeat_n(joint, count)));
        mesh
    }
}

/// Across from −1 to 1 (left is +x), down from 0 to 1: an arc around the neck that falls over shoulders and back.
fn cape(across: f64, down: f64) -> Vec3 {
    let s = (down / 0.25).min(1.0);
    let fall = s * s * (3.0 - 2.0 * s);
    let between = |from: f64, to: f64| from + fall * (to - from);
    let wide = between(0.13, 0.26) + 0.20 * (down - 0.2).max(0.0);
    let middle = between(-0.095, -0.15) - 0.13 * down;
    let curl = between(0.06, 0.03);
    Vec3::new(wide * across, 1.465 - 1.0 * down, middle + curl * across * across)
}

/// A cone from an oval waist to a round hem, seamless.
fn skirt(around: usize, down: usize) -> Shape {
    let place = |i: usize, j: usize| {
        let (angle, t) = (TAU * i as f64 / around as f64, j as f64 / down as f64);
        let (x, z) = (0.158 + 0.25 * t, 0.122 + 0.26 * t);
        Vec3::new(x * angle.sin(), 1.03 - 0.6 * t, z * angle.cos())
    };
    let points = (0..=down).flat_map(|j| (0..around).map(move |i| place(i, j))).collect();
    let mut faces = Faces::default();
    for j in 0..down {
        for i in 0..around {
            let at = |i: usize, j: usize| (j * around + i % around) as u32;
            faces.push(&[at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)]);
        }
    }
    Shape::new(points, faces, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_sound, points_of};

    const ALL: [Performance; 5] = [
        Performance::Walk,
        Performance::Run,
        Performance::Dance,
        Performance::JumpingJacks,
        Performance::Boxing,
    ];

    #[test]
    fn figures_are_sound_and_keep_their_limbs() {
        for performance in ALL {
            let clip = Figure { cells: [12, 10], seconds: 2.0, ..Figure::in_cape(performance, 2.0) }.clip();
            assert_sound(&clip);
            // begins at rest, moves, and no point of the body is faster than a fist
            let points = |index: usize| points_of(&clip.frame(index).unwrap().points[0]);
            let fastest = |a: &[Vec3], b: &[Vec3]| {
                30.0 * a.iter().zip(b).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max)
            };
            let mut last = points(0);
            for index in 1..clip.frame_count() {
                let now = points(index);
                let speed = fastest(&last, &now);
                assert!(speed < if index == 1 { 1.0 } else { 12.0 }, "{performance:?} {index}: {speed} m/s");
                last = now;
            }
            assert!(fastest(&points(0), &last) > 1.0);
        }
    }

    #[test]
    fn planted_feet_stay_where_they_are() {
        // both feet of a boxer, all the time
        let person = Person::new();
        for leg in &person.legs {
            let at = |t: f64| Performance::Boxing.pose(&person, t).world(&person.rig, leg[2]).0;
            for step in 1..60 {
                assert!(at(0.0).distance(at(f64::from(step) / 30.0)) < 2e-3, "frame {step}");
            }
        }
    }

    fn assert_lies_outside(garment: Garment, coarse: [usize; 2], fine: [usize; 2]) {
        let person = Person::with_arms_out(ARMS_OUT);
        let [a, b] = [coarse, fine].map(|cells| garment.mesh(&person, cells, 0));
        for p in b.rest() {
            assert!(person.body.distance(p) > 0.005, "{garment:?} {p}: {}", person.body.distance(p));
        }
        let (_, distances) =
            geometry::Prolongation::by_closest_point(&a.rest(), &a.point_triangles(), &b.rest()).unwrap();
        let farthest = distances.into_iter().fold(0.0, f64::max);
        assert!(farthest < 0.03, "{garment:?}: {farthest} m apart");
    }

    #[test]
    fn the_cape_lies_outside_the_body_and_on_its_coarse_mesh() {
        assert_lies_outside(Garment::Cape, [6, 13], [40, 48]);
    }

    /// Every garment of the costume is clear of the body at rest, and of the others.
    #[test]
    fn garments_of_a_costume_lie_over_each_other() {
        let clip = figure_costume();
        assert_sound(&clip);
        let person = Person::with_arms_out(ARMS_OUT);
        let surfaces: Vec<Vec<Vec3>> = clip.meshes[1..].iter().map(|mesh| mesh.rest()).collect();
        for (k, points) in surfaces.iter().enumerate() {
            let nearest = points.iter().map(|p| person.body.distance(*p)).fold(f64::INFINITY, f64::min);
            assert!(nearest > 0.008, "{}: {nearest} m from the body", clip.meshes[k + 1].name);
            for (j, others) in surfaces.iter().enumerate().filter(|(j, _)| *j != k) {
                let triangles = clip.meshes[j + 1].point_triangles();
                let (_, distances) =
                    geometry::Prolongation::by_closest_point(others, &triangles, points).unwrap();
                let nearest = distances.into_iter().fold(f64::INFINITY, f64::min);
                assert!(
                    nearest > 0.005,
                    "{} and {}: {nearest} m",
                    clip.meshes[k + 1].name,
                    clip.meshes[j + 1].name
                );
            }
        }
    }

    #[test]
    fn the_skirt_lies_outside_the_body_and_on_its_coarse_mesh() {
        assert_lies_outside(Garment::Skirt, [14, 13], [72, 27]);
    }
}
