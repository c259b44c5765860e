//! A clip's figure as `motion` sees it: the joint that floats, all that hangs on it, and back again.

use clip::{Clip, Frame, Transform};
use geometry::{Quat, Vec3};
use glam::{Mat4, Quat as Quat32, Vec3 as Vec32};
use motion::{Bone, Take, height};
use shot::LayerError;

/// Metres by which a bone may change its length over a clip.
const STRETCH: f32 = 2e-3;
/// People, and figures like them, are between these high, in metres; others are in another unit.
const HEIGHTS: std::ops::Range<f64> = 0.5..3.0;

/// Frames at most that a pose of calibration is held for.
const CALIBRATION: usize = 5;

/// A figure of a clip, and its take.
pub(super) struct Figure {
    /// The clip's joints that take part, the floating one first.
    pub(super) joints: Vec<usize>,
    /// The motion, in metres.
    pub(super) take: Take,
    /// Metres of one unit of the clip.
    pub(super) unit: f64,
    /// The first frame that takes part: those before it are a pose of calibration.
    pub(super) first: usize,
}

fn wide(v: Vec32) -> Vec3 {
    v.as_dvec3()
}

fn wide_turn(q: Quat32) -> Quat {
    q.as_dquat().normalize()
}

impl Figure {
    /// The figure with the most joints. Joints above the one where it branches only carry it.
    pub(super) fn of(clip: &Clip) -> Result<Self, LayerError> {
        let Some(skeleton) = clip.skeleton.as_ref().filter(|skeleton| !skeleton.joints.is_empty()) else {
            return Err(LayerError::new("the clip has no skeleton").with_help("give a BVH or a skinned GLB"));
        };
        let parents: Vec<Option<usize>> = skeleton.joints.iter().map(|joint| joint.parent).collect();
        let mut sizes = vec![1_usize; parents.len()];
        for (joint, parent) in parents.iter().enumerate().rev() {
            if let Some(parent) = *parent {
                sizes[parent] += sizes[joint];
            }
        }
        let roots = (0..parents.len()).filter(|&joint| parents[joint].is_none());
        // of equals the first, as `max_by_key` gives the last
        let mut root = roots.rev().max_by_key(|&joint| sizes[joint]).unwrap_or(0);
        let list = &parents;
        let children = |joint: usize| (0..list.len()).filter(move |&child| list[child] == Some(joint));
        while children(root).count() == 1 {
            root = children(root).next().unwrap_or(root);
        }
        let mut joints = vec![root];
        for joint in root + 1..parents.len() {
            if parents[joint].is_some_and(|parent| joints.contains(&parent)) {
                joints.push(joint);
            }
        }
        Self::read(clip, &parents, joints)
    }

    fn read(clip: &Clip, parents: &[Option<usize>], joints: Vec<usize>) -> Result<Self, LayerError> {
        let skeleton = clip.skeleton.as_ref().expect("the caller has one");
        let (mut roots, mut rotations) = (Vec::new(), Vec::new());
        let mut offsets: Vec<Vec32> = Vec::new();
        for index in 0..clip.frame_count() {
            let pose = clip.checked_frame(index)?.pose;
            let here: Vec<Vec32> = joints.iter().map(|&joint| pose[joint].translation).collect();
            let first = if offsets.is_empty() { &here } else { &offsets };
            for (k, &joint) in joints.iter().enumerate().skip(1) {
                let length = first[k].length().max(here[k].length()).max(1e-3);
                if (here[k] - first[k]).length() > STRETCH * length.max(1.0) {
                    let name = &skeleton.joints[joint].name;
                    return Err(LayerError::new(format!(
                        "frame {index}: joint `{name}` moves against its parent; bones of a body keep their lengths"
                    )));
                }
            }
            if let Some(&joint) =
                joints.iter().find(|&&joint| (pose[joint].scale - Vec32::ONE).abs().max_element() > 1e-3)
            {
                let name = &skeleton.joints[joint].name;
                return Err(LayerError::new(format!(
                    "frame {index}: joint `{name}` is scaled; bodies are not"
                )));
            }
            let worlds = skeleton.world_from_joints(&pose);
            let (_, rotation, place) = worlds[joints[0]].to_scale_rotation_translation();
            roots.push(wide(place));
            let local = joints.iter().skip(1).map(|&joint| wide_turn(pose[joint].rotation));
            rotations.push(std::iter::once(wide_turn(rotation)).chain(local).collect::<Vec<_>>());
            if offsets.is_empty() {
                offsets = here;
            }
        }
        let tips = clip.bvh.as_ref().map(|layout| layout.end_sites.as_slice()).unwrap_or_default();
        let bones = joints.iter().zip(&offsets).map(|(&joint, &offset)| Bone {
            name: skeleton.joints[joint].name.clone(),
            parent: parents[joint].and_then(|parent| joints.iter().position(|&other| other == parent)),
            offset: wide(offset),
            tip: tips.iter().find(|tip| tip.0 == joint).map(|tip| wide(tip.1)),
        });
        let mut take = Take { bones: bones.collect(), frame_rate_hz: clip.frame_rate_hz, roots, rotations };
        let tall = height(&take.bones).unwrap_or(1.75);
        let unit = if HEIGHTS.contains(&tall) || tall <= 0.0 { 1.0 } else { 1.75 / tall };
        take.bones.iter_mut().for_each(|bone| {
            bone.offset *= unit;
            bone.tip = bone.tip.map(|tip| tip * unit);
        });
        take.roots.iter_mut().for_each(|root| *root *= unit);
        let first = begins_apart(&take);
        take.roots.drain(..first);
        take.rotations.drain(..first);
        Ok(Self { joints, take, unit, first })
    }

    /// Frame `index` of a clip with the figure as a take has it; skinned meshes follow.
    pub(super) fn frame(&self, clip: &Clip, take: &Take, index: usize) -> Result<Frame, clip::Error> {
        self.frame_from(clip, take, index, self.first)
    }

    /// The same of a take that begins at a frame of the clip.
    pub(super) fn frame_from(
        &self,
        clip: &Clip,
        take: &Take,
        index: usize,
        first: usize,
    ) -> Result<Frame, clip::Error> {
        let mut frame = clip.frame(index)?;
        let (Some(skeleton), Some(at)) = (&clip.skeleton, index.checked_sub(first)) else {
            return Ok(frame);
        };
        let worlds = skeleton.world_from_joints(&frame.pose);
        let place = (take.roots[at] / self.unit).as_vec3();
        let world_from_root = Mat4::from_rotation_translation(take.rotations[at][0].as_quat(), place);
        let above = skeleton.joints[self.joints[0]].parent.map_or(Mat4::IDENTITY, |parent| worlds[parent]);
        let (_, rotation, translation) = (above.inverse() * world_from_root).to_scale_rotation_translation();
        frame.pose[self.joints[0]] = Transform { translation, rotation, ..frame.pose[self.joints[0]] };
        for (k, &joint) in self.joints.iter().enumerate().skip(1) {
            frame.pose[joint].rotation = take.rotations[at][k].as_quat();
        }
        let worlds = skeleton.world_from_joints(&frame.pose);
        for (mesh, points) in clip.meshes.iter().zip(&mut frame.points) {
            if let Some(skin) = &mesh.skin {
                *points = skin.deform(&mesh.rest_points, &worlds);
            }
        }
        Ok(frame)
    }
}

/// How many frames at the beginning are a pose of calibration: those before a jump far larger than anything that comes after. Some files have the
/// pose once, some hold it for a few frames (CMU 16_15: three).
fn begins_apart(take: &Take) -> usize {
    let turn = |frame: usize| {
        let pairs = take.rotations[frame].iter().zip(&take.rotations[frame + 1]);
        pairs.map(|(a, b)| a.angle_between(*b)).fold(0.0, f64::max)
    };
    let count = take.frame_count().saturating_sub(1);
    if count <= 5 {
        return 0;
    }
    let apart = |&first: &usize| {
        let later = (first..count).map(turn).fold(0.0, f64::max);
        turn(first - 1) > 0.5 && turn(first - 1) > 3.0 * later
    };
    (1..=CALIBRATION.min(count - 5)).rev().find(apart).unwrap_or(0)
}
