//! BVH, written.
//!
//! BVH knows no rotation at rest and no scale. So offsets are the rest pose's bones in the world, and a joint's
//! rotation is what turns them: with P, Q a joint's place and orientation in the world at rest and p, q in a frame, the
//! turn is G = q Q⁻¹, the joint's channels are G_parent⁻¹ G and, where bones change length, G_parent⁻¹ (p − p_parent).
//! For a skeleton that came from a BVH this is what the file said.

use std::fmt::Write as _;
use std::path::Path;

use glam::{DMat4, DQuat, DVec3, EulerRot};

use super::bvh::{BvhChannel, BvhLayout};
use super::{WriteOptions, Written, atomic};
use crate::{Clip, Error, Result, Skeleton, Transform};

/// A joint's channels in a frame: its place relative to its parent, and its turn.
type Local = (DVec3, DQuat);

/// Writes the skeleton's motion; meshes are left out.
pub(super) fn write(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    let Some(skeleton) = clip.skeleton.as_ref().filter(|skeleton| !skeleton.joints.is_empty()) else {
        let problem = "the clip has no skeleton, and BVH holds nothing else".into();
        return Err(Error::Unsupported { path: path.to_path_buf(), problem });
    };
    let scale = 1.0 / options.unit_in_metres.unwrap_or(1.0);
    let rest = Places::new(skeleton, &skeleton.rest_pose());
    let mut frames = Vec::with_capacity(clip.frame_count());
    for index in 0..clip.frame_count() {
        let places = Places::new(skeleton, &clip.checked_frame(index)?.pose);
        let locals = places.locals(skeleton, &rest);
        if let Some(joint) = locals.iter().position(|(place, turn)| !place.is_finite() || !turn.is_finite()) {
            let mesh = format!("joint {}", skeleton.joints[joint].name);
            return Err(Error::NotFinite { mesh, frame: index, point: joint });
        }
        frames.push(locals);
    }
    let offsets: Vec<DVec3> = rest.locals(skeleton, &rest).into_iter().map(|(place, _)| place).collect();
    let layout = complete_layout(clip.bvh.as_ref(), skeleton, &offsets, &frames);
    let mut text = String::from("HIERARCHY\n");
    write_hierarchy(&mut text, skeleton, &layout, &offsets, scale);
    // writing into a string cannot fail
    let _ = writeln!(text, "MOTION\nFrames: {}\nFrame Time: {:.9}", frames.len(), 1.0 / clip.frame_rate_hz);
    let order = depth_first(skeleton);
    let mut angles: Vec<[f64; 3]> = vec![[0.0; 3]; offsets.len()];
    for locals in &frames {
        let mut values = Vec::new();
        for &joint in &order {
            let (place, turn) = locals[joint];
            angles[joint] = nearest_angles(turn, rotation_order(&layout.channels[joint]), angles[joint]);
            let mut rotations = angles[joint].iter();
            for &channel in &layout.channels[joint] {
                values.push(match channel {
                    BvhChannel::Position(axis) => format!("{}", (place[axis] * scale) as f32),
                    BvhChannel::Rotation(_) => {
                        format!("{:.6}", rotations.next().map_or(0.0, |angle| angle.to_degrees()))
                    }
                });
            }
        }
        let _ = writeln!(text, "{}", values.join(" "));
    }
    let bytes = atomic::write_whole(path, text.as_bytes())?;
    Ok(Written { files: vec![path.to_path_buf()], frames: frames.len(), bytes, ..Written::default() })
}

/// Where joints are in the world, without their scale.
struct Places(Vec<(DVec3, DQuat)>);

impl Places {
    fn new(skeleton: &Skeleton, pose: &[Transform]) -> Self {
        let mut worlds: Vec<DMat4> = Vec::with_capacity(pose.len());
        let mut places = Vec::with_capacity(pose.len());
        for (joint, local) in skeleton.joints.iter().zip(pose) {
            let q = local.rotation;
            let q = DQuat::from_xyzw(q.x.into(), q.y.into(), q.z.into(), q.w.into()).normalize();
            let parent_from_joint = DMat4::from_scale_rotation_translation(
                local.scale.as_dvec3(),
                q,
                local.translation.as_dvec3(),
            );
            let world = joint.parent.map_or(parent_from_joint, |parent| worlds[parent] * parent_from_joint);
            let (_, rotation, place) = world.to_scale_rotation_translation();
            worlds.push(world);
            places.push((place, rotation));
        }
        Self(places)
    }

    fn locals(&self, skeleton: &Skeleton, rest: &Self) -> Vec<Local> {
        let turn = |joint: usize| self.0[joint].1 * rest.0[joint].1.inverse();
        let local = |joint: usize| match skeleton.joints[joint].parent {
            None => (self.0[joint].0, turn(joint)),
            Some(parent) => {
                let back = turn(parent).inverse();
                (back * (self.0[joint].0 - self.0[parent].0), (back * turn(joint)).normalize())
            }
        };
        (0..self.0.len()).map(local).collect()
    }
}

/// The file's own channels, made complete: three rotations for every joint that turns, positions for roots and for
/// joints whose bones change length.
fn complete_layout(
    own: Option<&BvhLayout>,
    skeleton: &Skeleton,
    offsets: &[DVec3],
    frames: &[Vec<Local>],
) -> BvhLayout {
    let size = offsets.iter().fold(0.0_f64, |size, offset| size.max(offset.length())).max(1e-9);
    let own = own.filter(|layout| layout.channels.len() == offsets.len());
    let channels = (0..offsets.len())
        .map(|joint| {
            let is_root = skeleton.joints[joint].parent.is_none();
            let mut channels = own.map_or_else(Vec::new, |layout| layout.channels[joint].clone());
            let positions =
                channels.iter().filter(|channel| matches!(channel, BvhChannel::Position(_))).count();
            let moves = frames.iter().any(|locals| locals[joint].0.distance(offsets[joint]) > 1e-5 * size);
            if positions < 3 && (moves || own.is_none() && is_root) {
                channels.retain(|channel| matches!(channel, BvhChannel::Rotation(_)));
                channels.splice(0..0, (0..3).map(BvhChannel::Position));
            }
            let rotations: Vec<usize> = rotation_axes(&channels);
            let turns = frames.iter().any(|locals| locals[joint].1.w.abs() < 1.0 - 1e-12);
            if euler(&rotations).is_none() && (turns || own.is_none()) {
                channels.retain(|channel| matches!(channel, BvhChannel::Position(_)));
                channels.extend([2, 0, 1].map(BvhChannel::Rotation));
            }
            channels
        })
        .collect();
    let end_sites = own.map_or_else(Vec::new, |layout| layout.end_sites.clone());
    BvhLayout { channels, end_sites }
}

fn rotation_axes(channels: &[BvhChannel]) -> Vec<usize> {
    let axis = |channel: &BvhChannel| match channel {
        BvhChannel::Rotation(axis) => Some(*axis),
        BvhChannel::Position(_) => None,
    };
    channels.iter().filter_map(axis).collect()
}

fn rotation_order(channels: &[BvhChannel]) -> Option<EulerRot> {
    euler(&rotation_axes(channels))
}

/// The order of three turns about three axes; `None` for other lists.
fn euler(axes: &[usize]) -> Option<EulerRot> {
    Some(match axes {
        [0, 1, 2] => EulerRot::XYZ,
        [0, 2, 1] => EulerRot::XZY,
        [1, 0, 2] => EulerRot::YXZ,
        [1, 2, 0] => EulerRot::YZX,
        [2, 0, 1] => EulerRot::ZXY,
        [2, 1, 0] => EulerRot::ZYX,
        _ => return None,
    })
}

/// The angles of a turn, of all that mean the same the ones nearest to those of the frame before: curves stay smooth.
fn nearest_angles(turn: DQuat, order: Option<EulerRot>, before: [f64; 3]) -> [f64; 3] {
    use std::f64::consts::{PI, TAU};
    let Some(order) = order else { return [0.0; 3] };
    let (a, b, c) = turn.to_euler(order);
    let unwind = |angles: [f64; 3]| -> [f64; 3] {
        std::array::from_fn(|i| angles[i] + TAU * ((before[i] - angles[i]) / TAU).round())
    };
    let distance = |angles: &[f64; 3]| -> f64 { (0..3).map(|i| (angles[i] - before[i]).abs()).sum() };
    let (one, other) = (unwind([a, b, c]), unwind([a + PI, PI - b, c + PI]));
    if distance(&other) < distance(&one) { other } else { one }
}

/// Joints as they are listed in the file.
fn depth_first(skeleton: &Skeleton) -> Vec<usize> {
    let children = children(skeleton);
    let mut order = Vec::with_capacity(children.len());
    let mut waiting: Vec<usize> =
        (0..children.len()).rev().filter(|&joint| skeleton.joints[joint].parent.is_none()).collect();
    while let Some(joint) = waiting.pop() {
        order.push(joint);
        waiting.extend(children[joint].iter().rev());
    }
    order
}

fn children(skeleton: &Skeleton) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); skeleton.joints.len()];
    for (index, joint) in skeleton.joints.iter().enumerate() {
        if let Some(parent) = joint.parent {
            children[parent].push(index);
        }
    }
    children
}

/// Deeper than this, lines are not moved further to the right: a chain of 20,000 joints would be mostly tabs, a gigabyte
/// of them.
const DEEPEST_INDENT: usize = 40;

/// Writes all joints, each with everything below it.
fn write_hierarchy(
    text: &mut String,
    skeleton: &Skeleton,
    layout: &BvhLayout,
    offsets: &[DVec3],
    scale: f64,
) {
    let children = children(skeleton);
    let mut ends_of = vec![Vec::new(); offsets.len()];
    for (joint, end) in layout.end_sites.iter().filter(|(joint, _)| *joint < offsets.len()) {
        ends_of[*joint].push(end.as_dvec3());
    }
    let tabs = |depth: usize| "\t".repeat(depth.min(DEEPEST_INDENT));
    let offset = |text: &mut String, indent: &str, at: DVec3| {
        let [x, y, z] = at.to_array().map(|value| (value * scale) as f32);
        let _ = writeln!(text, "{indent}OFFSET {x} {y} {z}");
    };
    // a joint to open, or a brace to close at some depth
    let roots = (0..offsets.len()).rev().filter(|&joint| skeleton.joints[joint].parent.is_none());
    let mut waiting: Vec<(Option<usize>, usize)> = roots.map(|root| (Some(root), 0)).collect();
    while let Some((joint, depth)) = waiting.pop() {
        let (indent, inner) = (tabs(depth), tabs(depth + 1));
        let Some(joint) = joint else {
            let _ = writeln!(text, "{indent}}}");
            continue;
        };
        let kind = if depth == 0 { "ROOT" } else { "JOINT" };
        let name: Vec<&str> =
            skeleton.joints[joint].name.split_whitespace().filter(|word| *word != "{").collect();
        let _ = writeln!(
            text,
            "{indent}{kind} {}\n{indent}{{",
            if name.is_empty() { "joint".into() } else { name.join(" ") }
        );
        offset(text, &inner, offsets[joint]);
        let channels = &layout.channels[joint];
        let names: Vec<String> = channels.iter().map(|channel| channel.name()).collect();
        let _ = writeln!(
            text,
            "{}",
            format!("{inner}CHANNELS {} {}", channels.len(), names.join(" ")).trim_end()
        );
        let mut ends = std::mem::take(&mut ends_of[joint]);
        if ends.is_empty() && children[joint].is_empty() {
            // a limb must end somewhere: as long again as the bone before
            ends.push(offsets[joint]);
        }
        for end in ends {
            let _ = writeln!(text, "{inner}End Site\n{inner}{{");
            offset(text, &tabs(depth + 2), end);
            let _ = writeln!(text, "{inner}}}");
        }
        waiting.push((None, depth));
        waiting.extend(children[joint].iter().rev().map(|&child| (Some(child), depth + 1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_go_on_past_a_full_turn() {
        let before = [3.1, 0.0, 0.0];
        let angles = nearest_angles(DQuat::from_rotation_z(3.2), Some(EulerRot::ZXY), before);
        assert!((angles[0] - 3.2).abs() < 1e-9, "{angles:?}");
    }

    #[test]
    fn a_turned_rest_pose_is_written_straight() {
        // a bone along its own x, laid along the world's y by its rest rotation
        let turned = glam::Mat4::from_rotation_z(std::f32::consts::FRAC_PI_2);
        let (_, rotation, _) = turned.to_scale_rotation_translation();
        let joint = |name: &str, parent, translation, rotation| crate::Joint {
            name: name.into(),
            parent,
            rest: Transform { translation, rotation, scale: glam::Vec3::ONE },
        };
        let skeleton = Skeleton {
            joints: vec![
                joint("root", None, glam::Vec3::ZERO, rotation),
                joint("tip", Some(0), glam::Vec3::X, glam::Quat::IDENTITY),
            ],
        };
        let rest = Places::new(&skeleton, &skeleton.rest_pose());
        let locals = rest.locals(&skeleton, &rest);
        assert!(locals[1].0.distance(DVec3::Y) < 1e-6, "the offset is the bone in the world");
        assert!(locals[0].1.angle_between(DQuat::IDENTITY) < 1e-6, "and nothing is turned at rest");
    }
}
