//! Poses and sculpts as a shot file gives them, and poses between frames.

use clip::Transform;
use geometry::Vec3;
use glam::{Mat4, Quat};

use shot::{LayerError, Target};

use super::MorphTarget;

/// Where the points of the skin are in a target, in the bind pose.
pub(super) fn sculpt(target: &MorphTarget, input: &Target) -> Result<Vec<Vec3>, LayerError> {
    let mesh = input.mesh();
    let mut points = mesh.rest();
    if let Some(shape) = target.shape.as_ref().and_then(|shape| mesh.morph_target(shape)) {
        for (point, offset) in points.iter_mut().zip(&shape.offsets) {
            *point += Vec3::from(offset.map(f64::from));
        }
    }
    let Some(file) = &target.file else { return Ok(points) };
    let clip = input.open(file)?;
    let named = clip.meshes.iter().find(|other| other.name == mesh.name);
    let Some(other) = named.or(clip.meshes.first()) else {
        return Err(LayerError::new(format!("{} has no mesh", file.display())));
    };
    if other.point_count() != points.len() {
        let sentence = format!(
            "`{}` of {} has {} points, but `{}` has {}",
            other.name,
            file.display(),
            other.point_count(),
            mesh.name,
            points.len()
        );
        return Err(LayerError::new(sentence).with_help("a sculpt is the same mesh, only moved"));
    }
    Ok(other.rest())
}

/// Where joints are in a target's pose.
pub(super) fn pose(target: &MorphTarget, input: &Target) -> Result<Vec<Mat4>, LayerError> {
    let Some(skeleton) = &input.clip.skeleton else { return Ok(Vec::new()) };
    if let Some(frame) = target.frame {
        return Ok(skeleton.world_from_joints(&input.clip.frame(frame)?.pose));
    }
    let mut pose: Vec<Transform> = skeleton.joints.iter().map(|joint| joint.rest).collect();
    for (name, degrees) in &target.turns {
        if let Some(joint) = skeleton.joints.iter().position(|joint| &joint.name == name) {
            let [x, y, z] = degrees.map(|degrees| (degrees.to_radians()) as f32);
            let turn = Quat::from_rotation_z(z) * Quat::from_rotation_y(y) * Quat::from_rotation_x(x);
            pose[joint].rotation *= turn;
        }
    }
    Ok(skeleton.world_from_joints(&pose))
}

/// The pose at the instant `s` from the second to the third of four frames: cubic, with velocities that agree from frame to frame, so
/// that flesh feels no kick at every one.
pub(super) fn between(frames: [&[Transform]; 4], s: f32) -> Vec<Transform> {
    let (s2, s3) = (s * s, s * s * s);
    // Hermite's weights with central differences, gathered by frame
    let (start, end) = (s3 - 2.0 * s2 + s, s3 - s2);
    let weights =
        [-0.5 * start, 2.0 * s3 - 3.0 * s2 + 1.0 - 0.5 * end, 3.0 * s2 - 2.0 * s3 + 0.5 * start, 0.5 * end];
    let of = |joint: usize| {
        let four = frames.map(|frame| frame[joint]);
        let blend = |value: &dyn Fn(&Transform) -> glam::Vec3| -> glam::Vec3 {
            four.iter().zip(weights).map(|(t, w)| value(t) * w).sum()
        };
        let here = four[1].rotation;
        // q and −q are one turn: take those on the side of this one
        let near = |q: Quat| if q.dot(here) < 0.0 { -q } else { q };
        let sum = four
            .iter()
            .zip(weights)
            .map(|(t, w)| near(t.rotation) * w)
            .fold(Quat::from_xyzw(0.0, 0.0, 0.0, 0.0), |a, b| a + b);
        Transform {
            translation: blend(&|t| t.translation),
            rotation: if sum.length_squared() > 1e-6 { sum.normalize() } else { four[2].rotation },
            scale: blend(&|t| t.scale),
        }
    };
    if s >= 1.0 {
        return frames[2].to_vec();
    }
    (0..frames[2].len()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn poses_between_frames_are_smooth_and_meet_them() {
        let at = |t: f32| Transform {
            translation: glam::Vec3::new(t, t * t, 0.0),
            rotation: Quat::from_rotation_z(0.4 * t),
            scale: glam::Vec3::ONE,
        };
        let frames = [[at(-1.0)], [at(0.0)], [at(1.0)], [at(2.0)]];
        let frames = [0, 1, 2, 3].map(|k| &frames[k][..]);
        assert_eq!(between(frames, 1.0)[0], at(1.0));
        for s in [0.0, 0.25, 0.5, 0.9] {
            let pose = between(frames, s)[0];
            assert!(pose.translation.distance(at(s).translation) < 1e-6);
            assert!(pose.rotation.angle_between(at(s).rotation) < 2e-3);
        }
    }
}
