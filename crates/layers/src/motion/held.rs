//! Joints that move against their parents: rigs slide shoulders and hips along for a better line. Bones of a body keep their lengths, so such a
//! joint is held where it is in the mean, and the bones below it aim at where they were: a foot stays in its place as far as the leg reaches.

use clip::{Skeleton, Transform};
use geometry::{Quat, Vec3};
use glam::Vec3 as Vec32;
use motion::{Segment, Take};
use shot::LayerError;

/// Metres (of a bone longer than one: the share of it) by which a joint may move and nothing is said.
const STRETCH: f32 = 2e-3;
/// Share of its bone's length up to which a joint is held. KayKit's runs slide hips by 0.51 of theirs.
const SHARE: f64 = 0.6;
/// The same for bones as short as a twist's: share of the figure's height.
const SHORT: f64 = 0.02;

/// Local transforms of a skeleton's joints at every frame.
pub(super) struct Moving {
    pub(super) poses: Vec<Vec<Transform>>,
}

/// A joint that moves against its parent, and where it is held.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// What it is called.
    pub(super) name: String,
    /// Its mean, in its parent's frame.
    pub(super) offset: Vec32,
    /// The bone's length, in the clip's units.
    length: f64,
    /// The farthest that it is from its mean.
    pub(super) farthest: f64,
    /// In this frame.
    pub(super) frame: usize,
}

impl Moving {
    /// How a joint moves against its parent from a frame on; nameless yet.
    pub(super) fn of(&self, joint: usize, first: usize) -> Held {
        let places = || self.poses.iter().skip(first).map(|pose| pose[joint].translation);
        let sum: Vec3 = places().map(|place| place.as_dvec3()).sum();
        // of places that are all the same, this is that place to the bit
        let offset = (sum / places().count().max(1) as f64).as_vec3();
        let farthest = |most: (f32, usize), (frame, place): (usize, Vec32)| {
            let off = place.distance(offset);
            if off > most.0 { (off, frame + first) } else { most }
        };
        let (farthest, frame) = places().enumerate().fold((0.0, first), farthest);
        let length = f64::from(offset.length());
        Held { name: String::new(), offset, length, farthest: f64::from(farthest), frame }
    }
}

impl Held {
    /// Whether it moves farther than noise.
    pub(super) fn is_told(&self) -> bool {
        self.farthest > f64::from(STRETCH) * self.length.max(1.0)
    }

    /// The same with its name, in other units.
    pub(super) fn named(&self, name: &str, scale: f64) -> Self {
        let [length, farthest] = [self.length, self.farthest].map(|x| x * scale);
        Self { name: name.to_owned(), length, farthest, ..self.clone() }
    }

    /// Refuses what is no bone.
    pub(super) fn check(&self, height: f64) -> Result<(), LayerError> {
        if self.farthest <= (SHARE * self.length).max(SHORT * height) {
            return Ok(());
        }
        let Self { name, frame, .. } = self;
        Err(LayerError::new(format!(
            "frame {frame}: joint `{name}` moves against its parent by {}; bones of a body keep their lengths",
            self.how_far()
        ))
        .with_help("it may be a rig's control: export the joints that deform alone, or hang it on the joint that it moves with"))
    }

    /// "0.026 m, 13 % of its bone".
    fn how_far(&self) -> String {
        match self.length > 0.0 {
            true => {
                format!("{:.3} m, {:.0} % of its bone", self.farthest, 100.0 * self.farthest / self.length)
            }
            false => format!("{:.3} m", self.farthest),
        }
    }

    /// What is said of it.
    pub(super) fn words(&self) -> String {
        let Self { name, frame, .. } = self;
        format!(
            "joint `{name}` moves against its parent, by {} in frame {frame}: held at its mean",
            self.how_far()
        )
    }
}

/// Turns bones below joints that are held so that each aims at where its end was. What is where it was keeps its turn to the bit, as do hands and feet in
/// the world. The take's bones have their offsets, in units of the clip.
pub(super) fn aimed(take: &mut Take, skeleton: &Skeleton, moving: &Moving, joints: &[usize], first: usize) {
    let bones = &take.bones;
    let child = |k: usize| {
        let length = |&c: &usize| bones[c].offset.length();
        let children = (0..bones.len()).filter(|&c| bones[c].parent == Some(k));
        let end =
            Segment::from_name(&bones[k].name).is_some_and(|s| matches!(s, Segment::Foot | Segment::Hand));
        children.max_by(|a, b| length(a).total_cmp(&length(b))).filter(|_| !end)
    };
    let children: Vec<Option<usize>> = (0..bones.len()).map(child).collect();
    for (frame, turns) in take.rotations.iter_mut().enumerate().skip(first) {
        let worlds = skeleton.world_from_joints(&moving.poses[frame]);
        let there: Vec<(Quat, Vec3)> = (joints.iter())
            .map(|&joint| {
                let (_, turn, place) = worlds[joint].to_scale_rotation_translation();
                (turn.as_dquat().normalize(), place.as_dvec3())
            })
            .collect();
        let mut here: Vec<(Quat, Vec3)> = Vec::with_capacity(bones.len());
        for (k, bone) in bones.iter().enumerate() {
            let Some(parent) = bone.parent else {
                here.push(there[k]);
                continue;
            };
            let place = here[parent].1 + here[parent].0 * bone.offset;
            let mut turn = there[k].0;
            if let Some(child) = children[k].filter(|_| place.distance(there[k].1) > 1e-4) {
                let (was, aim) = (turn * bones[child].offset, there[child].1 - place);
                let [was, aim] = [was, aim].map(Vec3::normalize_or_zero);
                if was.dot(aim) > 0.0 {
                    turn = (Quat::from_rotation_arc(was, aim) * turn).normalize();
                }
            }
            if turn != there[k].0 || here[parent].0 != there[parent].0 {
                turns[k] = (here[parent].0.conjugate() * turn).normalize();
            }
            here.push((turn, place));
        }
    }
}
