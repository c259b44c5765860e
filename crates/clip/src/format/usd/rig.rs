//! UsdSkel: skeletons, their animation, what they do to points.

use std::collections::HashMap;

use glam::{DMat4, DQuat, DVec3, Quat, Vec3};

use super::placement::Placement;
use super::stage::{Prim, Stage};
use crate::format::UniqueNames;
use crate::{Joint, Result, Transform};

/// A skeleton of the layer.
pub(super) struct Rig {
    pub(super) prim: usize,
    /// Paths of its joints, as meshes name them.
    pub(super) joints: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) parents: Vec<Option<usize>>,
    rests: Vec<Transform>,
    rest_matrices: Vec<DMat4>,
    /// `skeleton_from_joint` when the skin was bound.
    pub(super) binds: Vec<DMat4>,
    pub(super) animation: Option<Animation>,
    pub(super) placement: Placement,
    /// Where its joints begin in the clip's skeleton.
    pub(super) first_joint: usize,
}

/// What moves a skeleton.
pub(super) struct Animation {
    prim: usize,
    /// For each joint of the skeleton, its number in the animation.
    joints: Vec<Option<usize>>,
    joint_count: usize,
    pub(super) blend_shapes: Vec<String>,
}

impl Rig {
    pub(super) fn read(
        stage: &Stage,
        prim: usize,
        world_from_stage: DMat4,
        first_joint: usize,
    ) -> Result<Self> {
        let of = &stage.prims[prim];
        let wrong = |problem: String| stage.malformed(&of.path, problem);
        let joints = stage.words(of, "joints")?.unwrap_or_default();
        let count = joints.len();
        let places: HashMap<&str, usize> =
            joints.iter().enumerate().map(|(i, path)| (path.as_str(), i)).collect();
        if places.len() != count {
            return Err(wrong("two joints have one path".into()));
        }
        let mut parents = Vec::with_capacity(count);
        for (index, path) in joints.iter().enumerate() {
            let above = |path: &str| path.rsplit_once('/').map(|(above, _)| above.to_string());
            let mut ancestors = std::iter::successors(above(path), |path| above(path));
            let parent = ancestors.find_map(|path| places.get(path.as_str()).copied());
            if parent.is_some_and(|parent| parent >= index) {
                return Err(wrong(format!("joint `{path}` stands before its parent")));
            }
            parents.push(parent);
        }
        let binds = matrices(stage, of, "bindTransforms", count)?;
        let rests = matrices(stage, of, "restTransforms", count)?;
        let local_bind = |binds: &[DMat4], joint: usize| match parents[joint] {
            Some(parent) => binds[parent].inverse() * binds[joint],
            None => binds[joint],
        };
        let rests = match (rests, &binds) {
            (Some(rests), _) => rests,
            (None, Some(binds)) => (0..count).map(|joint| local_bind(binds, joint)).collect(),
            (None, None) => vec![DMat4::IDENTITY; count],
        };
        let binds = binds.unwrap_or_else(|| to_skeleton(&parents, &rests));
        let names = stage.words(of, "jointNames")?.filter(|names| names.len() == count);
        let last = |path: &String| path.rsplit('/').next().unwrap_or(path).to_string();
        Ok(Self {
            prim,
            names: names.unwrap_or_else(|| joints.iter().map(last).collect()),
            animation: Animation::find(stage, prim, &joints)?,
            joints,
            rests: rests.iter().map(decompose).collect(),
            rest_matrices: rests,
            parents,
            binds,
            placement: Placement::new(stage, prim, world_from_stage)?,
            first_joint,
        })
    }

    /// `parent_from_joint` of each joint, in the layer's unit.
    pub(super) fn pose(&self, stage: &Stage, time: f64) -> Result<Vec<Transform>> {
        let mut pose = self.rests.clone();
        if let Some(animation) = &self.animation {
            animation.pose(stage, time, &mut pose)?;
        }
        Ok(pose)
    }

    /// `skeleton_from_joint` of each joint in a pose.
    pub(super) fn skeleton_from_joints(&self, pose: &[Transform]) -> Vec<DMat4> {
        let moved =
            |joint: usize| self.animation.as_ref().is_some_and(|animation| animation.joints[joint].is_some());
        let local =
            |joint: usize| if moved(joint) { matrix(&pose[joint]) } else { self.rest_matrices[joint] };
        to_skeleton(&self.parents, &(0..self.joints.len()).map(local).collect::<Vec<_>>())
    }

    /// The joints as the clip has them, in metres.
    pub(super) fn clip_joints(
        &self,
        stage: &Stage,
        unit: f64,
        taken: &mut UniqueNames,
    ) -> Result<Vec<Joint>> {
        let rests = self.clip_pose(stage, &self.rests, unit, f64::NEG_INFINITY)?;
        let joint = |(index, rest): (usize, Transform)| Joint {
            name: taken.take(&self.names[index]),
            parent: self.parents[index].map(|parent| self.first_joint + parent),
            rest,
        };
        Ok(rests.into_iter().enumerate().map(joint).collect())
    }

    /// A pose as the clip has it: in metres, roots in the world.
    pub(super) fn clip_pose(
        &self,
        stage: &Stage,
        pose: &[Transform],
        unit: f64,
        time: f64,
    ) -> Result<Vec<Transform>> {
        // world_from_skeleton without the unit, which goes into every translation
        let world =
            self.placement.world_from_prim(stage, time)? * DMat4::from_scale(DVec3::splat(1.0 / unit));
        let in_metres = |(joint, transform): (usize, &Transform)| {
            let mut transform = *transform;
            if unit != 1.0 {
                transform.translation = (transform.translation.as_dvec3() * unit).as_vec3();
            }
            if self.parents[joint].is_some() || world == DMat4::IDENTITY {
                return transform;
            }
            decompose(&(world * matrix(&transform)))
        };
        Ok(pose.iter().enumerate().map(in_metres).collect())
    }
}

impl Animation {
    /// What the skeleton, or a prim above it, names as its animation.
    fn find(stage: &Stage, skeleton: usize, joints: &[String]) -> Result<Option<Self>> {
        let source = stage.ancestors(skeleton).find_map(|prim| {
            let target = stage.prims[prim].relationships.get("skel:animationSource")?.first()?;
            stage.prim_at(&stage.prims[prim], target)
        });
        let Some(prim) = source.filter(|&prim| stage.prims[prim].type_name == "SkelAnimation") else {
            return Ok(None);
        };
        let of = &stage.prims[prim];
        let own = stage.words(of, "joints")?.unwrap_or_default();
        let places: HashMap<&str, usize> =
            own.iter().enumerate().map(|(i, path)| (path.as_str(), i)).collect();
        Ok(Some(Self {
            prim,
            joints: joints.iter().map(|path| places.get(path.as_str()).copied()).collect(),
            joint_count: own.len(),
            blend_shapes: stage.words(of, "blendShapes")?.unwrap_or_default(),
        }))
    }

    fn pose(&self, stage: &Stage, time: f64, pose: &mut [Transform]) -> Result<()> {
        let of = &stage.prims[self.prim];
        let column = |name: &str, width: usize| {
            let values =
                stage.value_at(of, name, time)?.and_then(|value| value.into_floats()).unwrap_or_default();
            if !values.is_empty() && values.len() != self.joint_count * width {
                let problem = format!("{} numbers for {} joints", values.len(), self.joint_count);
                return Err(stage.malformed(format!("{}.{name} at time {time}", of.path), problem));
            }
            if values.iter().any(|value| !value.is_finite()) {
                return Err(
                    stage.malformed(format!("{}.{name} at time {time}", of.path), "a number is not finite")
                );
            }
            Ok(values)
        };
        let (translations, rotations, scales) =
            (column("translations", 3)?, column("rotations", 4)?, column("scales", 3)?);
        for (joint, transform) in self.joints.iter().zip(pose) {
            let Some(joint) = *joint else { continue };
            if let Some(t) = translations.get(3 * joint..3 * joint + 3) {
                transform.translation = Vec3::from_slice(t);
            }
            if let Some(r) = rotations.get(4 * joint..4 * joint + 4) {
                transform.rotation = unit_rotation(Quat::from_slice(r));
            }
            if let Some(s) = scales.get(3 * joint..3 * joint + 3) {
                transform.scale = Vec3::from_slice(s);
            }
        }
        Ok(())
    }

    /// How much of each blend shape there is.
    pub(super) fn blend_weights(&self, stage: &Stage, time: f64) -> Result<Vec<f64>> {
        let mut weights =
            stage.doubles_at(&stage.prims[self.prim], "blendShapeWeights", time)?.unwrap_or_default();
        weights.resize(self.blend_shapes.len(), 0.0);
        Ok(weights)
    }
}

/// To the bit what it was when it was a rotation already.
fn unit_rotation(quat: Quat) -> Quat {
    let length = quat.length_squared();
    if (length - 1.0).abs() < 1e-4 || length == 0.0 { quat } else { quat.normalize() }
}

fn matrix(transform: &Transform) -> DMat4 {
    let Transform { translation, rotation, scale } = *transform;
    let rotation = rotation.as_dquat();
    let rotation = if rotation.length_squared() > 0.0 { rotation.normalize() } else { DQuat::IDENTITY };
    DMat4::from_scale_rotation_translation(scale.as_dvec3(), rotation, translation.as_dvec3())
}

fn decompose(matrix: &DMat4) -> Transform {
    let (scale, rotation, translation) = matrix.to_scale_rotation_translation();
    let rotation = if rotation.is_finite() { rotation } else { DQuat::IDENTITY };
    Transform { translation: translation.as_vec3(), rotation: rotation.as_quat(), scale: scale.as_vec3() }
}

fn to_skeleton(parents: &[Option<usize>], locals: &[DMat4]) -> Vec<DMat4> {
    let mut worlds: Vec<DMat4> = Vec::with_capacity(locals.len());
    for (parent, local) in parents.iter().zip(locals) {
        worlds.push(parent.map_or(DMat4::IDENTITY, |parent| worlds[parent]) * *local);
    }
    worlds
}

/// One matrix for each joint, or none.
fn matrices(stage: &Stage, prim: &Prim, name: &str, count: usize) -> Result<Option<Vec<DMat4>>> {
    let Some(numbers) = stage.value(prim, name)?.and_then(|value| value.to_doubles()) else {
        return Ok(None);
    };
    let place = || format!("{}.{name}", prim.path);
    if numbers.len() != count * 16 {
        return Err(stage.malformed(place(), format!("{} matrices for {count} joints", numbers.len() / 16)));
    }
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err(stage.malformed(place(), "a number is not finite"));
    }
    Ok(Some(numbers.chunks_exact(16).map(DMat4::from_cols_slice).collect()))
}
