//! Skins, written: which joints a vertex hangs on, in sets of four, and the matrices that bring it to them.

use std::ops::Range;

use glam::Mat4;
use serde_json::{Value, json};

use super::sink::{Sink, Use};
use super::write::Document;
use crate::Result;

/// For each point, joints of a skin and weights.
pub(super) type Influences = [Vec<(u32, f32)>];

/// Weights that sum to one, none below zero, each joint once, the heaviest first; a point that hangs on nothing hangs on the first joint.
pub(super) fn normalized(influences: &Influences) -> Vec<Vec<(u32, f32)>> {
    let of = |influences: &Vec<(u32, f32)>| {
        let mut merged: Vec<(u32, f64)> = Vec::with_capacity(influences.len());
        for &(joint, weight) in influences.iter().filter(|(_, weight)| weight.is_finite() && *weight > 0.0) {
            match merged.iter_mut().find(|(other, _)| *other == joint) {
                Some((_, sum)) => *sum += f64::from(weight),
                None => merged.push((joint, f64::from(weight))),
            }
        }
        let sum: f64 = merged.iter().map(|(_, weight)| weight).sum();
        merged.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        match merged.is_empty() {
            true => vec![(0, 1.0)],
            false => merged.into_iter().map(|(joint, weight)| (joint, (weight / sum) as f32)).collect(),
        }
    };
    influences.iter().map(of).collect()
}

/// Of every point the four heaviest: what most players look at. What the others did is left to whoever compares with what was baked.
pub(super) fn heaviest(influences: &Influences) -> Vec<Vec<(u32, f32)>> {
    let mut four = normalized(influences);
    four.iter_mut().for_each(|of_point| of_point.truncate(4));
    normalized(&four)
}

/// Attributes by name, and their accessors.
type Columns = Vec<(String, usize)>;

/// Hangs primitives on a skin, and on no other: `runs` are the vertices of each, `influences` those of the points under them.
pub(super) fn hang<'a>(
    primitives: impl Iterator<Item = &'a mut Value>,
    runs: impl Iterator<Item = Range<usize>>,
    vertex_points: &[u32],
    influences: &Influences,
    sink: &mut Sink,
) -> Result<()> {
    let mut known: Vec<(Range<usize>, Columns)> = Vec::new();
    for (primitive, run) in primitives.zip(runs) {
        if let Some(attributes) = primitive["attributes"].as_object_mut() {
            attributes.retain(|name, _| !hangs(name));
        }
        if !known.iter().any(|(other, _)| *other == run) {
            known.push((run.clone(), columns(&vertex_points[run.clone()], influences, sink)?));
        }
        let columns = known.iter().find(|(other, _)| *other == run).map(|(_, columns)| columns);
        for (name, accessor) in columns.into_iter().flatten() {
            primitive["attributes"][name] = json!(accessor);
        }
    }
    Ok(())
}

/// Attributes that hang a vertex on a skin.
pub(super) fn hangs(attribute: &str) -> bool {
    attribute.starts_with("JOINTS_") || attribute.starts_with("WEIGHTS_")
}

/// The attributes of some vertices, by name: as many sets of four as the heaviest laden of them needs.
fn columns(points: &[u32], influences: &Influences, sink: &mut Sink) -> Result<Columns> {
    let of = |&point: &u32| influences[point as usize].as_slice();
    let most = points.iter().map(|point| of(point).len()).max().unwrap_or(0);
    let highest = points.iter().flat_map(of).map(|&(joint, _)| joint).max().unwrap_or(0);
    let mut columns = Vec::new();
    for set in 0..most.div_ceil(4).max(1) {
        let entry = |point: &u32, place: usize| of(point).get(4 * set + place).copied().unwrap_or((0, 0.0));
        let joints = points.iter().flat_map(|point| (0..4).map(move |place| entry(point, place).0));
        let (bytes, kind, size): (Vec<u8>, u32, usize) = match highest < 256 {
            true => (joints.map(|joint| joint as u8).collect(), 5121, 1),
            false => (joints.flat_map(|joint| (joint as u16).to_le_bytes()).collect(), 5123, 2),
        };
        let view = sink.view(&bytes, Some(4 * size), Use::Vertices)?;
        let joints = sink.accessor(json!({
            "bufferView": view, "componentType": kind, "count": points.len(), "type": "VEC4",
        }));
        let weights: Vec<[f32; 4]> =
            points.iter().map(|point| [0, 1, 2, 3].map(|place| entry(point, place).1)).collect();
        columns.push((format!("JOINTS_{set}"), joints));
        columns.push((format!("WEIGHTS_{set}"), sink.column(&weights, false)?));
    }
    Ok(columns)
}

/// A matrix as an accessor has it: its last row is exactly that of an affine one, whatever rounding says.
pub(super) fn bind_columns(bind: &Mat4) -> [f32; 16] {
    let mut columns = bind.to_cols_array();
    [columns[3], columns[7], columns[11], columns[15]] = [0.0, 0.0, 0.0, 1.0];
    if columns.iter().all(|value| value.is_finite()) { columns } else { Mat4::IDENTITY.to_cols_array() }
}

impl Document {
    /// Adds a skin: nodes, and `joint_from_bind` of each; returns its number.
    pub(super) fn push_skin(&mut self, binds: &[(usize, Mat4)], sink: &mut Sink) -> Result<usize> {
        let skin = skin_json(binds, sink)?;
        self.skins.push(skin);
        Ok(self.skins.len() - 1)
    }
}

/// A skin as the document has it.
pub(super) fn skin_json(binds: &[(usize, Mat4)], sink: &mut Sink) -> Result<Value> {
    let matrices =
        sink.keys(&binds.iter().map(|(_, bind)| bind_columns(bind)).collect::<Vec<[f32; 16]>>())?;
    let nodes: Vec<usize> = binds.iter().map(|&(node, _)| node).collect();
    Ok(json!({ "joints": nodes, "inverseBindMatrices": matrices }))
}
