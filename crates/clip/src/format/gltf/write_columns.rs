//! The primitives of a mesh that is written anew: faces, and what its vertices carry beside positions.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::bake::MeshBake;
use super::look_write::Looks;
use super::sink::{Sink, Use};
use super::write::Vertices;
use crate::{Group, Mesh, Result};

/// The primitives of a mesh without their targets, each with its vertices.
pub(super) fn primitives(
    mesh: &Mesh,
    bake: &MeshBake,
    looks: &Looks,
    sink: &mut Sink,
) -> Result<Vec<(Vertices, Value)>> {
    let mut columns: Vec<Option<Map<String, Value>>> = vec![None; bake.runs.len()];
    let mut primitives = Vec::new();
    for part in &mesh.parts {
        let vertices = run_of(mesh, part);
        let run = bake.runs.iter().position(|run| *run == vertices).unwrap_or(0);
        let mut indices = Vec::new();
        for face in part.faces.clone() {
            let corners = mesh.faces.get(face);
            let fan = 1..corners.len().saturating_sub(1);
            indices.extend(
                fan.flat_map(|i| [corners[0], corners[i], corners[i + 1]]).map(|v| v - vertices.start as u32),
            );
        }
        if indices.is_empty() {
            continue;
        }
        let small = vertices.len() < usize::from(u16::MAX);
        let bytes: Vec<u8> = match small {
            true => indices.iter().flat_map(|&index| (index as u16).to_le_bytes()).collect(),
            false => indices.iter().flat_map(|&index| index.to_le_bytes()).collect(),
        };
        let view = sink.view(&bytes, None, Use::Indices)?;
        let accessor = sink.accessor(json!({
            "bufferView": view, "componentType": if small { 5123 } else { 5125 }, "count": indices.len(), "type": "SCALAR",
        }));
        if columns[run].is_none() {
            columns[run] = Some(extra_columns(mesh, vertices.clone(), looks, sink)?);
        }
        let mut attributes = bake.base_accessors[run].json();
        for (name, value) in columns[run].iter().flatten() {
            attributes[name] = value.clone();
        }
        let mut primitive = json!({ "attributes": attributes, "indices": accessor });
        if let Some(material) = part.material {
            primitive["material"] = json!(material);
        }
        primitives.push((Vertices::Run(run), primitive));
    }
    Ok(primitives)
}

/// Texture coordinates, colours and groups.
fn extra_columns(
    mesh: &Mesh,
    vertices: Range<usize>,
    looks: &Looks,
    sink: &mut Sink,
) -> Result<Map<String, Value>> {
    let mut columns = Map::new();
    let uv_sets =
        [&mesh.uvs].into_iter().chain(&mesh.more_uvs).filter(|uvs| uvs.len() == mesh.vertex_count());
    let mut set_count = 0;
    for uvs in uv_sets {
        let uvs: Vec<[f32; 2]> =
            uvs[vertices.clone()].iter().map(|uv| uv.map(|c| if c.is_finite() { c } else { 0.0 })).collect();
        columns.insert(format!("TEXCOORD_{set_count}"), json!(sink.column(&uvs, false)?));
        set_count += 1;
    }
    // a material may ask for coordinates that its mesh does not have: zeros, which take no bytes
    let wanted =
        mesh.parts.iter().filter_map(|part| part.material).map(|material| looks.uv_sets(material)).max();
    for set in set_count..wanted.unwrap_or(0) {
        let zeros = sink.accessor(json!({ "componentType": 5126, "count": vertices.len(), "type": "VEC2" }));
        columns.insert(format!("TEXCOORD_{set}"), json!(zeros));
    }
    let of_group = |name: &str| mesh.group(name).filter(|group| group.weights.len() == mesh.point_count());
    let points = &mesh.vertex_points[vertices];
    if let [Some(r), Some(g), Some(b)] = ["color.r", "color.g", "color.b"].map(of_group) {
        let alpha = of_group("color.a");
        let unit = |weight: f32| if weight.is_finite() { weight.clamp(0.0, 1.0) } else { 0.0 };
        let color = |&point: &u32| {
            let p = point as usize;
            [r.weights[p], g.weights[p], b.weights[p], alpha.map_or(1.0, |a| a.weights[p])].map(unit)
        };
        let colors: Vec<[f32; 4]> = points.iter().map(color).collect();
        columns.insert("COLOR_0".into(), json!(sink.column(&colors, false)?));
    }
    let from_skin = |name: &str| mesh.skin.is_some() && looks.joint_names.contains(name);
    for group in mesh.groups.iter().filter(|group| !from_skin(&group.name)) {
        if let Some((name, weights)) = group_column(mesh, group, points) {
            columns.insert(name, json!(sink.sparse_column(&weights, false)?));
        }
    }
    Ok(columns)
}

/// A group as an attribute of some vertices, unless it cannot be one; colours have their own.
pub(super) fn group_column(
    mesh: &Mesh,
    group: &Group,
    vertex_points: &[u32],
) -> Option<(String, Vec<[f32; 1]>)> {
    let fits = group.weights.len() == mesh.point_count() && group.weights.iter().all(|w| w.is_finite());
    if !fits || group.name.is_empty() || group.name.starts_with("color.") {
        return None;
    }
    let weights = vertex_points.iter().map(|&point| [group.weights[point as usize]]).collect();
    Some((format!("_{}", group.name), weights))
}

/// The vertices that a part's faces use: what it says, or all when its faces reach beyond.
pub(super) fn run_of(mesh: &Mesh, part: &crate::Part) -> Range<usize> {
    let mut corners = part.faces.clone().flat_map(|face| mesh.faces.get(face));
    let inside = corners.all(|&vertex| part.vertices.contains(&(vertex as usize)));
    if inside && part.vertices.end <= mesh.vertex_count() {
        part.vertices.clone()
    } else {
        0..mesh.vertex_count()
    }
}

/// The distinct runs of vertices, in order of first use.
pub(super) fn vertex_runs(mesh: &Mesh) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for part in mesh.parts.iter().filter(|part| !part.faces.is_empty()) {
        let run = run_of(mesh, part);
        if !runs.contains(&run) {
            runs.push(run);
        }
    }
    runs
}
