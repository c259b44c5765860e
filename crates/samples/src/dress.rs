//! A dress and the person it fits, each a clip of its own: what is put together in one scene.

use clip::{Clip, Faces, Mesh};
use geometry::Vec3;
use std::f64::consts::TAU;

use crate::performance::Performance;
use crate::person::Person;
use crate::rig::Pose;
use crate::shapes::Shape;
use crate::surface::{Body, soft_min};
use crate::{motion, paint};

/// How far the person holds its arms out at rest, rad: clear of the dress.
const ARMS_OUT: f64 = 0.45;
/// Heights of the dress, in metres.
const TOP: f64 = 1.245;
const WAIST: f64 = 1.04;
const HEM: f64 = 0.36;
/// How far the bodice is from the body, in metres.
const EASE: f64 = 0.014;
/// Quads around and down: 5,000 points.
const AROUND: usize = 100;
const ROWS: usize = 49;
/// Folds that the skirt was cut with.
const FLUTES: f64 = 13.0;

/// A person who sets out for a walk and looks about; at rest it holds its arms out. One mesh, `body`, skinned.
pub fn person_walk() -> Clip {
    let (seconds, frame_rate_hz) = (3.0, 24.0);
    let person = Person::with_arms_out(ARMS_OUT);
    let times = motion::times(seconds, frame_rate_hz);
    let poses: Vec<Pose> = times.map(|time| Performance::Walk.pose(&person, time)).collect();
    let mut clip = person.rig.clip("person", frame_rate_hz, vec![person.mesh(0.03)], &poses);
    clip.materials = vec![paint::plain("suit", 0x6f8fb0)];
    clip
}

/// A dress of 5,000 points for that person at rest, from the chest to below the knees: mesh `dress`, held by its group `top`.
pub fn dress() -> Clip {
    let mut clip = Clip::still(mesh(&Person::with_arms_out(ARMS_OUT)), 24.0, 1);
    clip.materials = vec![paint::plain("dress", 0x9c2f3f)];
    clip
}

fn mesh(person: &Person) -> Mesh {
    let trunk = trunk(person);
    let place = |i: usize, j: usize| {
        let (sin, cos) = (TAU * i as f64 / AROUND as f64).sin_cos();
        let y = TOP + (HEM - TOP) * j as f64 / ROWS as f64;
        let axis = Vec3::new(0.0, y, 0.0);
        let out = Vec3::new(sin, 0.0, cos);
        axis + out * -soft_min(-bodice(&trunk, axis, out), -skirt(y, sin, cos), 0.02)
    };
    let points = (0..=ROWS).flat_map(|j| (0..AROUND).map(move |i| place(i, j))).collect();
    let mut faces = Faces::default();
    for j in 0..ROWS {
        for i in 0..AROUND {
            let at = |i: usize, j: usize| (j * AROUND + i % AROUND) as u32;
            faces.push(&[at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)]);
        }
    }
    let mut mesh = Shape::new(points, faces, Vec::new()).mesh("dress", Some(0));
    let count = mesh.point_count();
    mesh.set_group("top", (0..count).map(|p| if p < 2 * AROUND { 1.0 } else { 0.0 }).collect());
    mesh
}

/// The person without limbs and head.
fn trunk(person: &Person) -> Body {
    let joints = [person.hips, person.spine[0], person.spine[1]];
    let pieces = person.body.pieces.iter().filter(|piece| joints.contains(&piece.joint));
    Body { pieces: pieces.copied().collect(), floor: None }
}

/// How far the bodice is from the axis of the body.
fn bodice(trunk: &Body, axis: Vec3, out: Vec3) -> f64 {
    let [mut near, mut far] = [0.0, 0.6];
    for _ in 0..40 {
        let middle = 0.5 * (near + far);
        match trunk.distance(axis + middle * out) < EASE {
            true => near = middle,
            false => far = middle,
        }
    }
    near
}

/// How far the skirt is from it: a fluted cone from an oval waist to a round hem.
fn skirt(y: f64, sin: f64, cos: f64) -> f64 {
    let t = ((WAIST - y) / (WAIST - HEM)).max(0.0);
    let oval = ((sin / (0.168 + 0.19 * t)).powi(2) + (cos / (0.13 + 0.22 * t)).powi(2)).sqrt().recip();
    if y > WAIST { 0.0 } else { oval + 0.03 * t * (FLUTES * sin.atan2(cos)).cos() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_no_degenerate_triangles, assert_sound};

    #[test]
    fn the_dress_fits_the_person_at_rest() {
        let (clip, person) = (dress(), Person::with_arms_out(ARMS_OUT));
        assert_sound(&clip);
        assert_sound(&person_walk());
        let mesh = &clip.meshes[0];
        assert_eq!(mesh.point_count(), 5_000);
        assert_no_degenerate_triangles(&mesh.rest(), &mesh.point_triangles());
        let nearest = mesh.rest().iter().map(|p| person.body.distance(*p)).fold(f64::INFINITY, f64::min);
        assert!(nearest > 0.006, "{nearest} m from the body");
        let top = mesh.group("top").unwrap();
        assert_eq!(top.weights.iter().filter(|w| **w == 1.0).count(), 200);
    }
}
