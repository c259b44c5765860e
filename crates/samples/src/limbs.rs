//! Two plain limbs that show what flesh does: an elbow that bends, a tail that is swung.

use clip::Clip;
use geometry::Vec3;
use std::f64::consts::PI;

use crate::creature::Creature;
use crate::motion::{self, Key, Track};
use crate::paint::{self, Rgb, step};
use crate::rig::{Pose, Rig};
use crate::shapes;
use crate::surface::Solid;

/// A round bar with two bones, blended by a smoothstep over 1.5 diameters: what skinning is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elbow {
    /// Points around and along.
    pub points: [usize; 2],
    /// How far it bends and how far the lower half is twisted, in radians.
    pub bend: f64,
    /// See `bend`.
    pub twist: f64,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Elbow {
    fn default() -> Self {
        Self { points: [36, 88], bend: 120.0_f64.to_radians(), twist: 0.0, frame_rate_hz: 24.0 }
    }
}

/// The elbow as it comes: to 90°, to 120° and back.
pub fn elbow() -> Clip {
    Elbow::default().clip()
}

/// Radius of the bar, and half of what is blended, m.
const RADIUS: f64 = 0.2;
const BLEND: f64 = 0.3;
/// Height of its axis.
const AXIS: f64 = 0.3;

impl Elbow {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let [around, along] = self.points.map(|count| count.max(8));
        let mut rig = Rig::default();
        let upper = rig.joint("upper", None, Vec3::new(-0.9, AXIS, 0.0));
        let lower = rig.joint("lower", Some(upper), Vec3::new(0.0, AXIS, 0.0));
        // rounded at both ends
        let place = |i: usize| {
            let s = -1.0 + 2.0 * i as f64 / (along - 1) as f64;
            let inner = ((s.abs() - 0.9) / 0.1).clamp(0.0, 0.97);
            (Vec3::new(s, AXIS, 0.0), RADIUS * (1.0 - inner * inner).sqrt())
        };
        let (centres, radii): (Vec<Vec3>, Vec<f64>) = (0..along).map(place).unzip();
        let shape = shapes::tube(&centres, &radii, around);
        let mut mesh = shape.mesh("body", Some(0));
        let weight = |p: &Vec3| {
            let share = step(-BLEND, BLEND, p.x);
            let mut row = vec![0.0; 2];
            (row[upper], row[lower]) = (1.0 - share, share);
            row
        };
        let weights: Vec<Vec<f64>> = shape.points.iter().map(weight).collect();
        mesh.skin = Some(rig.skin(&weights));
        let bend = Track::new(&[
            Key::ease(0.10, 0.0),
            Key::ease(0.60, 0.75),
            Key::ease(0.95, 0.75),
            Key::ease(1.20, 1.0),
            Key::ease(1.70, 1.0),
            Key::ease(2.20, 0.0),
        ]);
        let pose = |time: f64| {
            let mut pose = Pose::new(&rig);
            pose.turn(lower, self.twist * bend.at(time), 0.0, self.bend * bend.at(time));
            pose
        };
        let poses: Vec<Pose> = motion::times(2.75, self.frame_rate_hz).map(pose).collect();
        let mut clip = rig.clip("elbow", self.frame_rate_hz, vec![mesh], &poses);
        clip.images = vec![paint::picture("bands", 8, 512, bands)];
        clip.materials = vec![paint::textured("bands", 0)];
        clip
    }
}

/// Bands around the limb: where they bunch up or part, one sees it.
fn bands(_: f64, v: f64) -> Rgb {
    paint::mix(0xe9b48a, 0xb06a48, step(-0.2, 0.2, (2.0 * PI * 20.0 * v).sin()))
}

/// A rump with a long tail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// Edge length of the surface's quads in metres.
    pub cell: f64,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Tail {
    fn default() -> Self {
        Self { cell: 0.03, frame_rate_hz: 24.0 }
    }
}

/// The tail as it comes: the rump wags and stops dead; the tail is stiff, as if nobody had animated it.
pub fn tail() -> Clip {
    Tail::default().clip()
}

impl Tail {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let mut creature = Creature::default();
        let at = Vec3::new;
        let rig = &mut creature.rig;
        let hips = rig.joint("hips", None, at(0.0, 0.50, 0.05));
        let places: Vec<Vec3> = (0..7)
            .map(|i| {
                let s = f64::from(i) / 6.0;
                at(0.0, 0.52 + 0.14 * s * s - 0.06 * s, -0.20 - 1.15 * s)
            })
            .collect();
        let tail = rig.chain("tail", hips, &places[..6]);
        creature.add(hips, 0.0, Solid::ball(at(0.0, 0.50, 0.04), at(0.27, 0.27, 0.30)));
        let radii: Vec<f64> = (0..7).map(|i| 0.115 - 0.011 * f64::from(i)).collect();
        creature.add_chain(&tail, 0.12, &places, &radii);
        let mesh = creature.mesh(self.cell.clamp(0.012, 0.06), 0.0, |p, _| [0.5, (-p.z + 0.3) / 1.7]);
        let wag = Track::new(&[
            Key::ease(0.10, 0.0),
            Key::ease(0.40, 0.55),
            Key::ease(0.75, -0.55),
            Key::ease(1.10, 0.55),
            Key::ease(1.40, 0.0),
        ]);
        let pose = |time: f64| {
            let mut pose = Pose::new(&creature.rig);
            pose.turn(hips, 0.0, wag.at(time), 0.0);
            pose
        };
        let poses: Vec<Pose> = motion::times(2.75, self.frame_rate_hz).map(pose).collect();
        let mut clip = creature.rig.clip("tail", self.frame_rate_hz, vec![mesh], &poses);
        clip.images = vec![paint::picture("rings", 8, 512, rings)];
        clip.materials = vec![paint::textured("rings", 0)];
        clip
    }
}

/// A ringed tail: rings begin where the tail does.
fn rings(_: f64, v: f64) -> Rgb {
    let ring = step(-0.3, 0.3, (2.0 * PI * 11.0 * v).sin()) * step(0.30, 0.33, v);
    paint::mix(0xb9b2a6, 0x4a4440, ring)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{assert_character, assert_loops, points_of, volume};

    #[test]
    fn limbs_are_sound() {
        assert_character(&tail(), 1, 0.9);
        assert_loops(&elbow());
        crate::check::assert_sound(&elbow());
    }

    /// The figures that skinning is judged by: 13 and 19 % of the blended stretch are lost at 90 and 120°.
    #[test]
    fn a_skinned_elbow_loses_what_is_known() {
        let clip = elbow();
        let triangles = clip.meshes[0].point_triangles();
        let stretch = PI * RADIUS * RADIUS * 2.0 * BLEND;
        let of = |frame: usize| volume(&points_of(&clip.frame(frame).unwrap().points[0]), &triangles);
        let rest = volume(&clip.meshes[0].rest(), &triangles);
        for (frame, lost) in [(20, 0.13), (36, 0.19)] {
            let found = (rest - of(frame)) / stretch;
            assert!((found - lost).abs() < 0.015, "frame {frame}: {found}");
        }
    }
}
