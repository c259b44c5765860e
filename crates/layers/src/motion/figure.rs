//! A clip's figure as `motion` sees it: the joint that floats, all that hangs on it, and back again.

use clip::{Clip, Frame, Skeleton, Transform};
use geometry::{Quat, Vec3};
use glam::{Mat4, Quat as Quat32, Vec3 as Vec32};
use motion::{Bone, Segment, Take, height};
use shot::LayerError;

use super::held::{Held, Moving, aimed};

/// Share by which a scale may be off and count as one.
const EVEN: f32 = 1e-3;
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
    /// Joints that move against their parents in the clip and are held, those that move farthest first.
    pub(super) held: Vec<Held>,
    /// Where each joint is in its parent's frame; what only hangs there (a prop, a jaw) goes on moving.
    offsets: Vec<Option<Vec32>>,
}

fn wide(v: Vec32) -> Vec3 {
    v.as_dvec3()
}

fn wide_turn(q: Quat32) -> Quat {
    q.as_dquat().normalize()
}

/// The figure with the most joints: the joint that floats, then all below. Joints above the one where it branches only carry it; so does one that has
/// a rig's controls beside a pelvis that moves.
fn joints_of(skeleton: &Skeleton, moving: &Moving) -> Vec<usize> {
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
    loop {
        let pelvis = |&child: &usize| {
            let named = Segment::from_name(&skeleton.joints[child].name) == Some(Segment::LowerTrunk);
            named && 2 * sizes[child] >= sizes[root] && moving.of(child, 0).is_told()
        };
        let alone = children(root).count() == 1;
        match children(root).find(|child| alone || pelvis(child)) {
            Some(child) => root = child,
            None => break,
        }
    }
    let mut joints = vec![root];
    for joint in root + 1..parents.len() {
        if parents[joint].is_some_and(|parent| joints.contains(&parent)) {
            joints.push(joint);
        }
    }
    joints
}

impl Figure {
    /// Of a clip's skeleton.
    pub(super) fn of(clip: &Clip) -> Result<Self, LayerError> {
        let Some(skeleton) = clip.skeleton.as_ref().filter(|skeleton| !skeleton.joints.is_empty()) else {
            return Err(LayerError::new("the clip has no skeleton").with_help("give a BVH or a skinned GLB"));
        };
        let poses = (0..clip.frame_count()).map(|index| Ok(clip.checked_frame(index)?.pose));
        let moving = Moving { poses: poses.collect::<Result<_, LayerError>>()? };
        let joints = joints_of(skeleton, &moving);
        Self::read(clip, skeleton, &moving, joints)
    }

    fn read(
        clip: &Clip,
        skeleton: &Skeleton,
        moving: &Moving,
        joints: Vec<usize>,
    ) -> Result<Self, LayerError> {
        let name = |joint: usize| skeleton.joints[joint].name.as_str();
        let (mut roots, mut rotations) = (Vec::new(), Vec::new());
        let mut scale = Vec32::ONE;
        for (index, pose) in moving.poses.iter().enumerate() {
            let worlds = skeleton.world_from_joints(pose);
            let (here, rotation, place) = worlds[joints[0]].to_scale_rotation_translation();
            if index == 0 {
                scale = here;
            }
            let below = joints.iter().skip(1).find(|&&joint| uneven(pose[joint].scale, 1.0));
            let own = (uneven(here, scale.x) && here.x > 0.0).then_some(&joints[0]);
            if let Some(&joint) = own.or(below) {
                return Err(LayerError::new(format!(
                    "frame {index}: joint `{}` is scaled; bodies are not",
                    name(joint)
                )));
            }
            roots.push(wide(place));
            let local = joints.iter().skip(1).map(|&joint| wide_turn(pose[joint].rotation));
            rotations.push(std::iter::once(wide_turn(rotation)).chain(local).collect::<Vec<_>>());
        }
        // units of the skeleton in those of the clip: what stands above the joints often turns centimetres into metres
        let scale = if uneven(scale, 1.0) { f64::from(scale.x) } else { 1.0 };
        let parent = |k: usize| {
            let parent = skeleton.joints[joints[k]].parent;
            parent.and_then(|parent| joints.iter().position(|&other| other == parent))
        };
        let parents: Vec<Option<usize>> = (0..joints.len()).map(parent).collect();
        let tips = clip.bvh.as_ref().map(|layout| layout.end_sites.as_slice()).unwrap_or_default();
        let bones = (0..joints.len()).map(|k| Bone {
            name: name(joints[k]).to_owned(),
            parent: parents[k],
            offset: Vec3::ZERO,
            tip: tips.iter().find(|tip| tip.0 == joints[k]).map(|tip| wide(tip.1) * scale),
        });
        let mut take = Take { bones: bones.collect(), frame_rate_hz: clip.frame_rate_hz, roots, rotations };
        let first = begins_apart(&take);
        let moves: Vec<Held> = joints.iter().map(|&joint| moving.of(joint, first)).collect();
        for (bone, held) in take.bones.iter_mut().zip(&moves) {
            bone.offset = wide(held.offset) * scale;
        }
        let tall = height(&take.bones).unwrap_or(1.75);
        let hangs = |k: usize| {
            let foot = Segment::from_name(&take.bones[k].name) == Some(Segment::Foot);
            !foot && !parents.contains(&Some(k))
        };
        let mut held = Vec::new();
        for (k, one) in moves.iter().enumerate().skip(1).filter(|(k, one)| one.is_told() && !hangs(*k)) {
            let one = one.named(&take.bones[k].name, scale);
            one.check(tall)?;
            held.push(one);
        }
        held.sort_by(|a, b| b.farthest.total_cmp(&a.farthest));
        let offsets = (0..joints.len()).map(|k| (k > 0 && !hangs(k)).then_some(moves[k].offset)).collect();
        if !held.is_empty() {
            aimed(&mut take, skeleton, moving, &joints, first);
        }
        let unit = if HEIGHTS.contains(&tall) || tall <= 0.0 { 1.0 } else { 1.75 / tall };
        take.bones.iter_mut().for_each(|bone| {
            bone.offset *= unit;
            bone.tip = bone.tip.map(|tip| tip * unit);
        });
        take.roots.iter_mut().for_each(|root| *root *= unit);
        take.roots.drain(..first);
        take.rotations.drain(..first);
        Ok(Self { joints, take, unit, first, held, offsets })
    }

    /// Frame `index` of a clip with the figure as a take has it; meshes on its joints follow.
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
            let Transform { translation, scale, .. } = frame.pose[joint];
            let translation = self.offsets[k].unwrap_or(translation);
            frame.pose[joint] = Transform { translation, rotation: take.rotations[at][k].as_quat(), scale };
        }
        let before = worlds;
        let worlds = skeleton.world_from_joints(&frame.pose);
        for (mesh, points) in clip.meshes.iter().zip(&mut frame.points) {
            match (&mesh.skin, mesh.parent) {
                (Some(skin), _) => *points = skin.deform(&mesh.rest_points, &worlds),
                // a helmet, a sword: as its joint goes
                (None, Some(joint)) if worlds[joint] != before[joint] => {
                    let moved = worlds[joint].as_dmat4() * before[joint].as_dmat4().inverse();
                    points.iter_mut().for_each(|point| {
                        *point = moved.transform_point3(Vec32::from(*point).as_dvec3()).as_vec3().to_array();
                    });
                }
                _ => {}
            }
        }
        Ok(frame)
    }
}

/// Whether a scale is not this one in all directions.
fn uneven(scale: Vec32, expected: f32) -> bool {
    (scale / expected - Vec32::ONE).abs().max_element() > EVEN
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
