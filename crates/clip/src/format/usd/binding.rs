//! What moves a mesh beside its samples: blend shapes, then the joints of a skeleton.

use glam::{DMat4, DVec3};

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
    /// Each with its number in the rig's animation.
    shapes: Vec<(usize, BlendShape)>,
}

/// Offsets of points for a shape in full, and for those on the way there.
struct BlendShape {
    /// The points that it moves; all when `None`.
    points: Option<Vec<usize>>,
    /// Weight and offsets, weights rising; the shape at rest has weight 0 and no offsets.
    stops: Vec<(f64, Vec<[f32; 3]>)>,
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
        let shapes = read_shapes(stage, of, point_count, &rigs[rig])?;
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

    /// Adds the blend shapes at a time.
    pub(super) fn blend(&self, stage: &Stage, rig: &Rig, time: f64, points: &mut [[f32; 3]]) -> Result<()> {
        let Some(animation) = rig.animation.as_ref().filter(|_| !self.shapes.is_empty()) else {
            return Ok(());
        };
        let weights = animation.blend_weights(stage, time)?;
        for (number, shape) in &self.shapes {
            shape.add(weights[*number], points);
        }
        Ok(())
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

impl BlendShape {
    /// Linear from stop to stop, and beyond the outer ones as between the outermost two.
    fn add(&self, weight: f64, points: &mut [[f32; 3]]) {
        if weight == 0.0 || !weight.is_finite() {
            return;
        }
        let last = self.stops.len() - 1;
        let after = self.stops.partition_point(|(stop, _)| *stop < weight).clamp(1, last);
        let ((a, low), (b, high)) = (&self.stops[after - 1], &self.stops[after]);
        let part = (weight - a) / (b - a);
        let mut add = |offsets: &[[f32; 3]], weight: f64| {
            for (place, offset) in offsets.iter().enumerate() {
                let point = self.points.as_ref().map_or(place, |points| points[place]);
                for axis in 0..3 {
                    let moved = f64::from(points[point][axis]) + weight * f64::from(offset[axis]);
                    points[point][axis] = moved as f32;
                }
            }
        };
        add(low, 1.0 - part);
        add(high, part);
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

fn read_shapes(
    stage: &Stage,
    prim: &Prim,
    point_count: usize,
    rig: &Rig,
) -> Result<Vec<(usize, BlendShape)>> {
    let names = stage.words(prim, "skel:blendShapes")?.unwrap_or_default();
    let targets = prim.relationships.get("skel:blendShapeTargets").map(Vec::as_slice).unwrap_or_default();
    let Some(animation) = &rig.animation else { return Ok(Vec::new()) };
    let mut shapes = Vec::new();
    for (name, target) in names.iter().zip(targets) {
        let Some(number) = animation.blend_shapes.iter().position(|other| other == name) else { continue };
        let Some(of) = stage.prim_at(prim, target).map(|index| &stage.prims[index]) else {
            return Err(stage.malformed(&prim.path, format!("its blend shape {target} is not there")));
        };
        shapes.push((number, read_shape(stage, of, point_count)?));
    }
    Ok(shapes)
}

fn read_shape(stage: &Stage, prim: &Prim, point_count: usize) -> Result<BlendShape> {
    let wrong = |problem: String| stage.malformed(&prim.path, problem);
    let points = stage.ints(prim, "pointIndices")?.filter(|points| !points.is_empty());
    let points: Option<Vec<usize>> = points
        .map(|points| points.iter().map(|&point| usize::try_from(point).unwrap_or(usize::MAX)).collect());
    if let Some(point) = points.iter().flatten().find(|&&point| point >= point_count) {
        return Err(wrong(format!("it moves point {point}, but the mesh has {point_count}")));
    }
    let count = points.as_ref().map_or(point_count, Vec::len);
    let mut stops = vec![(0.0, Vec::new())];
    let stop = |name: &str, weight: f64, stops: &mut Vec<(f64, Vec<[f32; 3]>)>| {
        let Some(attribute) = prim.attributes.get(name) else { return Ok(()) };
        let Some(handle) = &attribute.default else { return Ok(()) };
        let offsets = stage.fetch_points(attribute, handle, &format!("{}.{name}", prim.path))?;
        if offsets.len() != count {
            return Err(wrong(format!("`{name}` has {} offsets for {count} points", offsets.len())));
        }
        stops.push((weight, offsets));
        Ok(())
    };
    stop("offsets", 1.0, &mut stops)?;
    for (name, attribute) in &prim.attributes {
        if name.starts_with("inbetweens:")
            && !name.ends_with(":normalOffsets")
            && let Some(weight) = attribute.weight.filter(|weight| weight.is_finite())
        {
            stop(name, weight, &mut stops)?;
        }
    }
    stops.sort_by(|a, b| a.0.total_cmp(&b.0));
    stops.dedup_by(|a, b| a.0 == b.0);
    if stops.len() < 2 {
        return Err(wrong("it has no offsets".into()));
    }
    Ok(BlendShape { points, stops })
}
