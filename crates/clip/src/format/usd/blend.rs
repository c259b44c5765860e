//! Blend shapes: how UsdSkel offsets the points of a mesh before its skin, and the same as named morph targets of a clip.
//!
//! A shape with in-betweens is linear from stop to stop. So every stop is a target of its own, with a weight that rises to it and falls to the
//! next one: blended linearly, they give what UsdSkel gives.
//!
//! Points that we write are baked. Their targets stand beside them as `BlendShape` prims that nothing binds, with their weights in an
//! attribute of ours, so that a rig comes back whole.

use glam::{DMat3, DVec3};

use super::rig::Rig;
use super::stage::{Prim, Stage};
use crate::format::UniqueNames;
use crate::{MorphTarget, Result};

/// The relationship and the attribute in which our writer keeps what baked points do not need.
pub(super) const OWN_TARGETS: &str = "followthrough:blendShapes";
pub(super) const OWN_WEIGHTS: &str = "followthrough:blendShapeWeights";

/// Offsets of points for a shape in full, and for those on the way there.
pub(super) struct BlendShape {
    name: String,
    /// Its number in the rig's animation; `None` when nothing animates it.
    channel: Option<usize>,
    /// The points that it moves; all when `None`.
    points: Option<Vec<usize>>,
    /// Weights rising; the shape at rest has weight 0 and no offsets.
    stops: Vec<Stop>,
}

/// A shape at one weight.
struct Stop {
    weight: f64,
    /// What an in-between is called; empty for the shape in full, and at rest.
    name: String,
    offsets: Vec<[f32; 3]>,
}

impl BlendShape {
    /// The shapes that a mesh is bound to.
    pub(super) fn read_all(stage: &Stage, prim: &Prim, point_count: usize, rig: &Rig) -> Result<Vec<Self>> {
        let names = stage.words(prim, "skel:blendShapes")?.unwrap_or_default();
        let targets = prim.relationships.get("skel:blendShapeTargets").map(Vec::as_slice).unwrap_or_default();
        let channels = rig.animation.as_ref().map(|animation| animation.blend_shapes.as_slice());
        let mut shapes = Vec::new();
        for (name, target) in names.iter().zip(targets) {
            let channel = channels.unwrap_or_default().iter().position(|other| other == name);
            let Some(of) = stage.prim_at(prim, target).map(|index| &stage.prims[index]) else {
                return Err(stage.malformed(&prim.path, format!("its blend shape {target} is not there")));
            };
            shapes.push(Self::read(stage, of, name, channel, point_count)?);
        }
        Ok(shapes)
    }

    fn read(
        stage: &Stage,
        prim: &Prim,
        name: &str,
        channel: Option<usize>,
        point_count: usize,
    ) -> Result<Self> {
        let wrong = |problem: String| stage.malformed(&prim.path, problem);
        let points = stage.ints(prim, "pointIndices")?.filter(|points| !points.is_empty());
        let points: Option<Vec<usize>> = points
            .map(|points| points.iter().map(|&point| usize::try_from(point).unwrap_or(usize::MAX)).collect());
        if let Some(point) = points.iter().flatten().find(|&&point| point >= point_count) {
            return Err(wrong(format!("it moves point {point}, but the mesh has {point_count}")));
        }
        let count = points.as_ref().map_or(point_count, Vec::len);
        let mut stops = vec![Stop { weight: 0.0, name: String::new(), offsets: Vec::new() }];
        let mut stop = |attribute: &str, name: &str, weight: f64| {
            let Some(found) = prim.attributes.get(attribute) else { return Ok(()) };
            let Some(handle) = &found.default else { return Ok(()) };
            let offsets = stage.fetch_points(found, handle, &format!("{}.{attribute}", prim.path))?;
            if offsets.len() != count {
                return Err(wrong(format!("`{attribute}` has {} offsets for {count} points", offsets.len())));
            }
            stops.push(Stop { weight, name: name.into(), offsets });
            Ok(())
        };
        stop("offsets", "", 1.0)?;
        for (attribute, found) in &prim.attributes {
            if let Some(name) = attribute.strip_prefix("inbetweens:")
                && !name.ends_with(":normalOffsets")
                && let Some(weight) = found.weight.filter(|weight| weight.is_finite())
            {
                stop(attribute, name, weight)?;
            }
        }
        stops.sort_by(|a, b| a.weight.total_cmp(&b.weight));
        stops.dedup_by(|a, b| a.weight == b.weight);
        if stops.len() < 2 {
            return Err(wrong("it has no offsets".into()));
        }
        Ok(Self { name: name.into(), channel, points, stops })
    }

    /// Whether anything animates it.
    pub(super) fn is_animated(&self) -> bool {
        self.channel.is_some()
    }

    /// How much of it there is, of the weights of the rig's animation.
    pub(super) fn weight(&self, channels: &[f64]) -> f64 {
        let weight = self.channel.and_then(|channel| channels.get(channel)).copied().unwrap_or(0.0);
        if weight.is_finite() { weight } else { 0.0 }
    }

    /// The two stops about a weight, each with its share: linear from stop to stop, and beyond the outer ones as between the outermost two.
    fn shares(&self, weight: f64) -> [(usize, f64); 2] {
        let last = self.stops.len() - 1;
        let after = self.stops.partition_point(|stop| stop.weight < weight).clamp(1, last);
        let (low, high) = (self.stops[after - 1].weight, self.stops[after].weight);
        let part = (weight - low) / (high - low);
        [(after - 1, 1.0 - part), (after, part)]
    }

    /// Moves points by the shape at a weight.
    pub(super) fn add(&self, weight: f64, points: &mut [[f32; 3]]) {
        if weight == 0.0 {
            return;
        }
        for (stop, share) in self.shares(weight) {
            for (place, offset) in self.stops[stop].offsets.iter().enumerate() {
                let point = self.points.as_ref().map_or(place, |points| points[place]);
                for axis in 0..3 {
                    let moved = f64::from(points[point][axis]) + share * f64::from(offset[axis]);
                    points[point][axis] = moved as f32;
                }
            }
        }
    }

    /// How many targets it becomes.
    fn target_count(&self) -> usize {
        self.stops.iter().filter(|stop| stop.weight != 0.0).count()
    }

    /// How many offsets its targets have on a mesh, one for every point: more than the file need have.
    pub(super) fn offset_count(&self, point_count: usize) -> usize {
        self.target_count().saturating_mul(point_count)
    }

    /// A target for every stop, its offsets between rest points.
    pub(super) fn targets(
        &self,
        point_count: usize,
        rest_from_mesh: &DMat3,
        taken: &mut UniqueNames,
    ) -> Vec<MorphTarget> {
        let target = |stop: &Stop| {
            let mut offsets = vec![[0.0; 3]; point_count];
            for (place, offset) in stop.offsets.iter().enumerate() {
                let point = self.points.as_ref().map_or(place, |points| points[place]);
                offsets[point] = turned(rest_from_mesh, *offset);
            }
            let name = match stop.name.as_str() {
                "" => self.name.clone(),
                between => format!("{}:{between}", self.name),
            };
            MorphTarget { name: taken.take(&name), offsets, weight: 0.0 }
        };
        self.stops.iter().filter(|stop| stop.weight != 0.0).map(target).collect()
    }

    /// How much of each of its targets there is at a weight.
    pub(super) fn target_weights(&self, weight: f64) -> Vec<f32> {
        let mut weights = vec![0.0; self.stops.len()];
        if weight != 0.0 {
            self.shares(weight).iter().for_each(|&(stop, share)| weights[stop] = share as f32);
        }
        let own = self.stops.iter().zip(weights).filter(|(stop, _)| stop.weight != 0.0);
        own.map(|(_, weight)| weight).collect()
    }
}

/// The targets that our writer keeps beside baked points; `None` for meshes of others.
pub(super) fn own_targets(
    stage: &Stage,
    prim: &Prim,
    point_count: usize,
    rest_from_mesh: &DMat3,
) -> Result<Option<Vec<MorphTarget>>> {
    let Some(paths) = prim.relationships.get(OWN_TARGETS) else { return Ok(None) };
    let weights = stage.value(prim, OWN_WEIGHTS)?.and_then(|value| value.into_floats()).unwrap_or_default();
    if weights.len() != paths.len() {
        let problem = format!("{} weights for {} blend shapes", weights.len(), paths.len());
        return Err(stage.malformed(format!("{}.{OWN_WEIGHTS}", prim.path), problem));
    }
    let mut taken = UniqueNames::default();
    let mut targets = Vec::new();
    for (path, weight) in paths.iter().zip(weights) {
        let Some(of) = stage.prim_at(prim, path).map(|index| &stage.prims[index]) else {
            return Err(stage.malformed(&prim.path, format!("its blend shape {path} is not there")));
        };
        let shape = BlendShape::read(stage, of, of.title(), None, point_count)?;
        let last = shape.targets(point_count, rest_from_mesh, &mut taken).pop();
        targets.extend(last.map(|target| MorphTarget { weight, ..target }));
    }
    Ok(Some(targets))
}

fn turned(matrix: &DMat3, offset: [f32; 3]) -> [f32; 3] {
    if *matrix == DMat3::IDENTITY {
        return offset;
    }
    (*matrix * DVec3::from(offset.map(f64::from))).as_vec3().to_array()
}
