//! Arms for sculpted shapes: a round bar of four bones with a muscle, and a shoulder that folds.

use clip::{Clip, Mesh, MorphTarget};
use geometry::Vec3;

use crate::motion::{self, Key, Track};
use crate::paint::{self, step};
use crate::rig::{Pose, Rig};
use crate::shapes::{self, Shape};
use crate::surface::{Body, Piece, Solid};

/// A round bar along x on four bones that bends and stretches, slams to a stop and goes again. Mesh `arm`, morph target `bulged`; group
/// `muscle`.
pub fn arm() -> Clip {
    let mut rig = Rig::default();
    let at = |x: f64| Vec3::new(x, 1.0, 0.0);
    let root = rig.joint("root", None, at(-0.38));
    let upper = rig.joint("upper", Some(root), at(-0.22));
    let elbow = rig.joint("elbow", Some(upper), at(0.02));
    let hand = rig.joint("hand", Some(elbow), at(0.26));
    let centres: Vec<Vec3> = (0..=44).map(|i| at(-0.44 + 0.02 * f64::from(i))).collect();
    let radii: Vec<f64> = centres.iter().map(|c| 0.075 - 0.025 * step(-0.1, 0.4, c.x)).collect();
    let shape = shapes::tube(&centres, &radii, 28);
    let weights: Vec<Vec<f64>> = shape
        .points
        .iter()
        .map(|p| {
            let past = |x: f64, width: f64| step(x - width, x + width, p.x);
            let (a, b, c) = (past(-0.22, 0.05), past(0.02, 0.075), past(0.26, 0.05));
            vec![1.0 - a, a * (1.0 - b), a * b * (1.0 - c), a * b * c]
        })
        .collect();
    let mut mesh = shape.mesh("arm", Some(0));
    mesh.skin = Some(rig.skin(&weights));
    let muscle = |p: Vec3| {
        let along = ((p.x + 0.15) / 0.17).clamp(-1.0, 1.0);
        (1.0 - along * along).powi(2) * step(-0.06, 0.06, p.y - 1.0)
    };
    mesh.set_group("muscle", shape.points.iter().map(|p| muscle(*p) as f32).collect());
    // the upper side bulges, the inside of the elbow makes room
    let bulged = |p: Vec3| {
        let out = Vec3::new(0.0, p.y - 1.0, p.z);
        let crease =
            (1.0 - ((p.x - 0.02) / 0.09).clamp(-1.0, 1.0).powi(2)).powi(2) * step(0.0, 0.06, p.y - 1.0);
        0.62 * muscle(p) * out - 0.25 * crease * out
    };
    mesh.morph_targets = vec![sculpt("bulged", &shape, bulged)];
    let ease = Key::ease;
    let bend = Track::new(&[
        ease(0.0, 0.0),
        ease(0.25, 0.0),
        ease(0.6, 2.1),
        ease(1.2, 2.1),
        ease(1.5, 0.05),
        ease(2.0, 0.05),
        ease(2.3, 2.1),
        ease(3.0, 2.1),
    ]);
    let raise = Track::new(&[
        ease(0.2, 0.0),
        ease(0.6, 0.35),
        ease(1.2, 0.3),
        ease(1.5, -0.5),
        ease(2.0, -0.5),
        ease(2.3, 0.4),
    ]);
    let poses: Vec<Pose> = motion::times(3.0, 24.0)
        .map(|time| {
            let mut pose = Pose::new(&rig);
            pose.turn(upper, 0.0, 0.0, raise.at(time));
            pose.turn(elbow, 0.0, 0.0, bend.at(time));
            pose.turn(hand, 0.0, 0.0, 0.15 * bend.at(time));
            pose
        })
        .collect();
    let mut clip = rig.clip("arm", 24.0, vec![mesh], &poses);
    clip.materials = vec![paint::plain("skin", 0xd99a78)];
    clip
}

/// A morph target: how far a sculptor moved each point.
pub(crate) fn sculpt(name: &str, shape: &Shape, by: impl Fn(Vec3) -> Vec3) -> MorphTarget {
    let offsets = shape.points.iter().map(|p| by(*p).as_vec3().to_array()).collect();
    MorphTarget { name: name.into(), offsets, weight: 0.0 }
}

/// A chest, a shoulder, an upper arm and a forearm, four bones, that are raised, swung ahead and folded in two ways. Mesh `shoulder`,
/// morph targets `raised`, `ahead`, `back`, `folded`, `hugging`; group `crease`.
pub fn shoulder() -> Clip {
    let rig = ShoulderRig::new();
    let mut mesh = rig.mesh();
    let crease = |p: &Vec3| (1.0 - 0.8 * step(0.0, 0.12, p.distance(rig.elbow_place()))) as f32;
    let rest = mesh.rest();
    mesh.set_group("crease", rest.iter().map(crease).collect());
    let ease = Key::ease;
    let raise = Track::new(&[
        ease(0.0, 0.0),
        ease(0.6, 1.0),
        ease(1.0, 1.0),
        ease(1.5, 0.0),
        ease(2.2, 0.0),
        ease(2.8, -0.35),
        ease(3.6, 0.0),
    ]);
    let swing =
        Track::new(&[ease(1.0, 0.0), ease(1.5, 1.1), ease(2.2, 1.1), ease(2.8, -0.5), ease(3.6, 0.0)]);
    let fold = Track::new(&[
        ease(0.6, 0.0),
        ease(1.0, 0.3),
        ease(1.5, 2.0),
        ease(2.1, 2.0),
        ease(2.5, 0.1),
        ease(2.8, 2.0),
        ease(3.3, 2.0),
        ease(3.6, 0.0),
    ]);
    let poses: Vec<Pose> = motion::times(3.75, 24.0)
        .map(|time| rig.pose(raise.at(time), swing.at(time), fold.at(time)))
        .collect();
    let mut clip = rig.rig.clip("shoulder", 24.0, vec![mesh], &poses);
    clip.materials = vec![paint::plain("skin", 0xcf8f6f)];
    clip
}

struct ShoulderRig {
    rig: Rig,
    body: Body,
    clavicle: usize,
    upper: usize,
    fore: usize,
}

impl ShoulderRig {
    fn new() -> Self {
        let mut rig = Rig::default();
        let at = Vec3::new;
        let chest = rig.joint("chest", None, at(0.0, 1.2, 0.0));
        let clavicle = rig.joint("clavicle", Some(chest), at(0.07, 1.38, 0.02));
        let upper = rig.joint("upper_arm", Some(clavicle), at(0.2, 1.37, 0.0));
        let fore = rig.joint("forearm", Some(upper), at(0.47, 1.35, 0.0));
        let mut body = Body { pieces: Vec::new(), floor: None };
        let mut add =
            |joint: usize, fillet: f64, solid: Solid| body.pieces.push(Piece { solid, fillet, joint });
        add(chest, 0.0, Solid::ball(at(0.0, 1.2, 0.0), at(0.17, 0.24, 0.12)));
        add(chest, 0.08, Solid::ball(at(0.05, 1.28, 0.06), at(0.1, 0.08, 0.07)));
        add(clavicle, 0.08, Solid::limb(at(0.04, 1.37, 0.0), at(0.17, 1.37, 0.0), [0.075, 0.075]));
        add(upper, 0.05, Solid::limb(at(0.2, 1.37, 0.0), at(0.46, 1.35, 0.0), [0.075, 0.056]));
        add(fore, 0.02, Solid::limb(at(0.47, 1.35, 0.0), at(0.72, 1.335, 0.01), [0.056, 0.04]));
        Self { rig, body, clavicle, upper, fore }
    }

    fn elbow_place(&self) -> Vec3 {
        self.rig.places[self.fore]
    }

    fn mesh(&self) -> Mesh {
        let shape = self.body.surface(0.0155);
        let weights = self.rig.weights(&shape, &self.body, |_| false, 26);
        let mut mesh = shape.mesh("shoulder", Some(0));
        mesh.skin = Some(self.rig.skin(&weights));
        let (socket, elbow) = (self.rig.places[self.upper], self.rig.places[self.fore]);
        // a smooth hill of a radius about a place
        let hill = |p: Vec3, c: Vec3, r: f64| (1.0 - (p.distance(c) / r).min(1.0).powi(2)).powi(2);
        let outwards = |p: Vec3| {
            // from the nearest bone
            let along = p.x.clamp(0.2, 0.7);
            (p - Vec3::new(along, 1.37 - 0.05 * (along - 0.2), 0.0)).normalize_or(Vec3::Y)
        };
        let deltoid = |p: Vec3| hill(p, socket + Vec3::new(0.03, 0.05, 0.0), 0.14);
        let pectoral = |p: Vec3| hill(p, Vec3::new(0.09, 1.29, 0.1), 0.15);
        // on the upper side: between upper arm and forearm there is no room
        let biceps = |p: Vec3| hill(p, Vec3::new(0.31, 1.43, 0.02), 0.13);
        let blade = |p: Vec3| hill(p, Vec3::new(0.1, 1.3, -0.1), 0.15);
        // what lies inside of the elbow and would be folded into itself is pressed flat, towards the bone
        let inside = |p: Vec3| {
            let along = (1.0 - ((p.x - elbow.x) / 0.15).clamp(-1.0, 1.0).powi(2)).powi(2);
            0.55 * along * step(-0.02, 0.02, p.z) * p.z.max(0.0) * Vec3::Z
        };
        // and its outside is taken out a little, where skinning by itself draws it in
        let outside = |p: Vec3| {
            let along = (1.0 - ((p.x - elbow.x) / 0.13).clamp(-1.0, 1.0).powi(2)).powi(2);
            0.45 * along * step(0.02, -0.02, p.z) * p.z.min(0.0) * Vec3::Z
        };
        let armpit = |p: Vec3| hill(p, socket + Vec3::new(0.0, -0.08, 0.03), 0.13);
        mesh.morph_targets = vec![
            sculpt("raised", &shape, |p| {
                0.025 * deltoid(p) * Vec3::Y + 0.02 * armpit(p) * Vec3::new(-0.3, 0.6, 0.2)
            }),
            sculpt("ahead", &shape, |p| {
                0.045 * pectoral(p) * Vec3::new(-0.4, 0.0, 1.0) - 0.015 * blade(p) * Vec3::Z
            }),
            sculpt("back", &shape, |p| -0.018 * pectoral(p) * Vec3::Z - 0.03 * blade(p) * Vec3::Z),
            sculpt("folded", &shape, |p| 0.03 * biceps(p) * outwards(p) - inside(p) + outside(p)),
            sculpt("hugging", &shape, |p| {
                0.045 * pectoral(p) * Vec3::new(-0.4, 0.0, 1.0) + 0.03 * biceps(p) * outwards(p) - inside(p)
                    + outside(p)
            }),
        ];
        mesh
    }

    /// Raised by so much of a right angle, swung ahead by so many radians, the elbow folded by so many.
    fn pose(&self, raise: f64, swing: f64, fold: f64) -> Pose {
        let mut pose = Pose::new(&self.rig);
        pose.turn(self.clavicle, 0.0, -0.15 * swing, 0.25 * raise);
        pose.turn(self.upper, 0.0, -0.85 * swing, 1.1 * raise);
        pose.turn(self.fore, 0.0, -fold, 0.0);
        pose
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    #[test]
    fn arms_are_sound_and_their_sculpts_are_of_their_mesh() {
        for clip in [arm(), shoulder()] {
            assert_sound(&clip);
            let mesh = &clip.meshes[0];
            assert!(!mesh.morph_targets.is_empty());
            for target in &mesh.morph_targets {
                assert_eq!(target.offsets.len(), mesh.point_count());
                let far = target.offsets.iter().map(|o| glam::Vec3::from(*o).length()).fold(0.0, f32::max);
                assert!(far > 0.01 && far < 0.1, "{}: {far}", target.name);
            }
        }
    }
}
