//! What moves a mesh beside its samples: blend shapes, then the joints of a skeleton.

use glam::{DMat4, DVec3};

use super::blend::BlendShape;
use super::rig::Rig;
use super::stage::{Prim, Stage};
use crate::Result;

/// How a mesh hangs on a skeleton.
pub(super) struct Binding {
    /// Number of the rig.
    pub(super) rig: usize,
    /// `skeleton_from_mesh` when the skin was bound.
    pub(super) geometry: DMat4,
    /// For each point, joints of the rig and weights; empty for a mesh with blend shapes alone.
    pub(super) influences: Vec<Vec<(u32, f32)>>,
    pub(super) shapes: Vec<BlendShape>,
}

impl Binding {
    /// What binds a mesh; `None` when nothing does.
    pub(super) fn read(stage: &Stage, prim: usize, point_count: usize, rigs: &[Rig]) -> Result<Option<Self>> {
        let of = &stage.prims[prim];
        // outside a SkelRoot bindings are only notes: a baked stage keeps them
        if !stage.ancestors(prim).any(|index| stage.prims[index].type_name == "SkelRoot") {
            return Ok(None);
        }
        let skeleton = stage.ancestors(prim).find_map(|index| {
            let target = stage.prims[index].relationships.get("skel:skeleton")?.first()?;
            stage.prim_at(&stage.prims[index], target)
        });
        let Some(rig) = skeleton.and_then(|skeleton| rigs.iter().position(|rig| rig.prim == skeleton)) else {
            return Ok(None);
        };
        if let Some(method) = stage.words(of, "primvars:skel:skinningMethod")?
            && method.first().is_some_and(|method| method == "dualQuaternion")
        {
            let problem = "dual quaternion skinning is not read; bake it: `UsdSkel.BakeSkinning(stage)`";
            return Err(stage.malformed(&of.path, problem));
        }
        let influences = read_influences(stage, of, point_count, &rigs[rig])?;
        let shapes = BlendShape::read_all(stage, of, point_count, &rigs[rig])?;
        if influences.is_empty() && shapes.is_empty() {
            return Ok(None);
        }
        let geometry =
            stage.value(of, "primvars:skel:geomBindTransform")?.and_then(|value| value.to_doubles());
        let geometry =
            geometry.filter(|numbers| numbers.len() == 16 && numbers.iter().all(|x| x.is_finite()));
        let geometry = geometry.map_or(DMat4::IDENTITY, |numbers| DMat4::from_cols_slice(&numbers));
        Ok(Some(Self { rig, geometry, influences, shapes }))
    }

    /// Whether points are moved beside their samples; shapes that nothing animates move none.
    pub(super) fn moves(&self) -> bool {
        !self.influences.is_empty() || self.shapes.iter().any(BlendShape::is_animated)
    }

    /// Adds the blend shapes at a time.
    pub(super) fn blend(&self, stage: &Stage, rig: &Rig, time: f64, points: &mut [[f32; 3]]) -> Result<()> {
        let Some(animation) = rig.animation.as_ref().filter(|_| !self.shapes.is_empty()) else {
            return Ok(());
        };
        let weights = animation.blend_weights(stage, time)?;
        self.shapes.iter().for_each(|shape| shape.add(shape.weight(&weights), points));
        Ok(())
    }

    /// How much of each morph target there is at a time, in the order of the mesh's targets.
    pub(super) fn target_weights(&self, stage: &Stage, rig: &Rig, time: f64) -> Result<Vec<f32>> {
        let animation = rig.animation.as_ref().filter(|_| !self.shapes.is_empty());
        let weights = animation.map_or(Ok(Vec::new()), |animation| animation.blend_weights(stage, time))?;
        Ok(self.shapes.iter().flat_map(|shape| shape.target_weights(shape.weight(&weights))).collect())
    }

    /// Moves points by the joints, from the mesh's own space into the skeleton's.
    pub(super) fn skin(
        &self,
        rig: &Rig,
        skeleton_from_joints: &[DMat4],
        points: &mut [[f32; 3]],
        world: &DMat4,
    ) {
        let moves: Vec<DMat4> = skeleton_from_joints
            .iter()
            .zip(&rig.binds)
            .map(|(now, bind)| *world * *now * bind.inverse() * self.geometry)
            .collect();
        for (point, influences) in points.iter_mut().zip(&self.influences) {
            let at = DVec3::from(point.map(f64::from));
            let moved: DVec3 = influences
                .iter()
                .map(|&(joint, weight)| f64::from(weight) * moves[joint as usize].transform_point3(at))
                .sum();
            *point = moved.as_vec3().to_array();
        }
    }
}

fn read_influences(
    stage: &Stage,
    prim: &Prim,
    point_count: usize,
    rig: &Rig,
) -> Result<Vec<Vec<(u32, f32)>>> {
    let (Some(indices), Some(weights)) = (
        stage.ints(prim, "primvars:skel:jointIndices")?,
        stage.value(prim, "primvars:skel:jointWeights")?.and_then(|value| value.into_floats()),
    ) else {
        return Ok(Vec::new());
    };
    let wrong =
        |problem: String| stage.malformed(format!("{}.primvars:skel:jointIndices", prim.path), problem);
    if indices.len() != weights.len() {
        return Err(wrong(format!("{} indices, but {} weights", indices.len(), weights.len())));
    }
    let attribute = prim.attributes.get("primvars:skel:jointIndices");
    let constant = attribute.and_then(|a| a.interpolation.as_deref()) == Some("constant");
    let size = attribute.and_then(|a| a.element_size).unwrap_or(1).max(1);
    let elements = if constant { 1 } else { point_count };
    if indices.len() != elements.saturating_mul(size) {
        return Err(wrong(format!("{} indices for {elements} elements of {size} each", indices.len())));
    }
    // a mesh may have an order of joints of its own
    let own = stage.words(prim, "skel:joints")?;
    let joint_of = |index: i64| {
        let index = usize::try_from(index).ok()?;
        let joint = match &own {
            Some(own) => rig.joints.iter().position(|joint| Some(joint) == own.get(index))?,
            None => index,
        };
        (joint < rig.joints.len()).then_some(joint as u32)
    };
    let mut influences = Vec::with_capacity(point_count);
    for (indices, weights) in indices.chunks(size).zip(weights.chunks(size)) {
        let mut of_point = Vec::new();
        let sum: f32 = weights.iter().sum();
        for (&index, &weight) in indices.iter().zip(weights) {
            if weight == 0.0 {
                continue;
            }
            let joint = joint_of(index).ok_or_else(|| wrong(format!("there is no joint {index}")))?;
            if !weight.is_finite() {
                return Err(wrong("a weight is not finite".into()));
            }
            // UsdSkel takes weights for shares of a whole
            of_point.push((joint, if sum > 0.0 && (sum - 1.0).abs() > 1e-6 { weight / sum } else { weight }));
        }
        influences.push(of_point);
    }
    if constant {
        influences = vec![influences.pop().unwrap_or_default(); point_count];
    }
    Ok(influences)
}
