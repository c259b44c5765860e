//! Frames of a USD layer, computed when they are asked for: points sampled, blended, skinned, placed.

use super::binding::Binding;
use super::blend::OWN_WEIGHTS;
use super::placement::Placement;
use super::rig::Rig;
use super::stage::Stage;
use crate::format::moments::transform_points;
use crate::format::sampling::bracket;
use crate::{Error, Frame, Frames, Result, first_not_finite};

/// A mesh of the layer.
pub(super) struct Body {
    pub(super) prim: usize,
    pub(super) name: String,
    pub(super) point_count: usize,
    pub(super) placement: Placement,
    pub(super) binding: Option<Binding>,
    /// How many morph targets it has.
    pub(super) target_count: usize,
}

/// The layer's moving part.
pub(super) struct UsdFrames {
    pub(super) stage: Stage,
    pub(super) bodies: Vec<Body>,
    pub(super) rigs: Vec<Rig>,
    pub(super) unit: f64,
    /// The time code of the first frame.
    pub(super) first: f64,
    /// Time codes from frame to frame.
    pub(super) step: f64,
    pub(super) count: usize,
}

impl Frames for UsdFrames {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize) -> Result<Frame> {
        if index >= self.count {
            return Err(Error::NoSuchFrame { index, count: self.count });
        }
        let time = self.first + index as f64 * self.step;
        let poses = self.rigs.iter().map(|rig| rig.pose(&self.stage, time)).collect::<Result<Vec<_>>>()?;
        let mut points = Vec::with_capacity(self.bodies.len());
        for body in &self.bodies {
            let mut of_mesh = self.sample(body, time, index)?;
            match &body.binding {
                Some(binding) => {
                    let rig = &self.rigs[binding.rig];
                    binding.blend(&self.stage, rig, time, &mut of_mesh)?;
                    if binding.influences.is_empty() {
                        transform_points(&mut of_mesh, &body.placement.world_from_prim(&self.stage, time)?);
                    } else {
                        let world = rig.placement.world_from_prim(&self.stage, time)?;
                        binding.skin(
                            rig,
                            &rig.skeleton_from_joints(&poses[binding.rig]),
                            &mut of_mesh,
                            &world,
                        );
                    }
                }
                None => transform_points(&mut of_mesh, &body.placement.world_from_prim(&self.stage, time)?),
            }
            if let Some(point) = first_not_finite(&of_mesh) {
                return Err(Error::NotFinite { mesh: body.name.clone(), frame: index, point });
            }
            points.push(of_mesh);
        }
        let mut pose = Vec::new();
        for (rig, of_rig) in self.rigs.iter().zip(&poses) {
            pose.extend(rig.clip_pose(&self.stage, of_rig, self.unit, time)?);
        }
        Ok(Frame { points, pose })
    }

    fn morph_weights(&self, index: usize) -> Result<Vec<Vec<f32>>> {
        if index >= self.count {
            return Err(Error::NoSuchFrame { index, count: self.count });
        }
        let time = self.first + index as f64 * self.step;
        self.bodies.iter().map(|body| self.target_weights(body, time)).collect()
    }
}

impl UsdFrames {
    /// How much of each morph target of a mesh there is at a time.
    fn target_weights(&self, body: &Body, time: f64) -> Result<Vec<f32>> {
        if body.target_count == 0 {
            return Ok(Vec::new());
        }
        let weights = match &body.binding {
            Some(binding) => binding.target_weights(&self.stage, &self.rigs[binding.rig], time)?,
            None => {
                let found = self.stage.value_at(&self.stage.prims[body.prim], OWN_WEIGHTS, time)?;
                found.and_then(|value| value.into_floats()).unwrap_or_default()
            }
        };
        match weights.len() == body.target_count && weights.iter().all(|weight| weight.is_finite()) {
            true => Ok(weights),
            false => {
                let place = format!("{} at time {time}", self.stage.prims[body.prim].path);
                let problem =
                    format!("a number is needed for each of its {} blend shapes", body.target_count);
                Err(self.stage.malformed(place, problem))
            }
        }
    }

    /// A mesh's points in its own space.
    fn sample(&self, body: &Body, time: f64, frame: usize) -> Result<Vec<[f32; 3]>> {
        let prim = &self.stage.prims[body.prim];
        let place = || format!("{}.points at time {time}", prim.path);
        let Some(attribute) = prim.attributes.get("points") else {
            return Err(self.stage.malformed(&prim.path, "the mesh has no points"));
        };
        let fetch = |handle| {
            let points = self.stage.fetch_points(attribute, handle, &place())?;
            if points.len() != body.point_count {
                let what = format!("mesh `{}`", body.name);
                let (found, expected) = (points.len(), body.point_count);
                return Err(Error::FrameMismatch { frame, what, of: "points", found, expected });
            }
            Ok(points)
        };
        let Some((before, after, part)) = bracket(attribute.times.len(), |i| attribute.times[i], time) else {
            let handle = attribute.default.as_ref();
            return fetch(handle.ok_or_else(|| self.stage.malformed(place(), "the mesh has no points"))?);
        };
        let mut points = fetch(&attribute.samples[before])?;
        if part > 0.0 && attribute.samples[before] != attribute.samples[after] {
            let next = fetch(&attribute.samples[after])?;
            for (a, b) in points.as_flattened_mut().iter_mut().zip(next.as_flattened()) {
                *a = (f64::from(*a) + part * (f64::from(*b) - f64::from(*a))) as f32;
            }
        }
        Ok(points)
    }
}
