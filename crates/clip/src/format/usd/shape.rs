//! The static part of a mesh prim: polygons, texture coordinates, groups, parts.

use super::stage::{Attribute, Prim, Stage};
use super::value::Value;
use crate::format::corners::split;
use crate::{Faces, Mesh, Part, Result};

/// Texture coordinates or smoothing numbers, as they lie on the corners of faces.
struct Corners {
    values: Vec<[f32; 2]>,
    /// For each corner, the number of its value.
    indices: Vec<u32>,
}

/// Reads all but the points of a mesh; `points` are those that it rests in.
pub(super) fn read_mesh(stage: &Stage, prim: &Prim, points: Vec<[f32; 3]>) -> Result<Mesh> {
    let faces = read_faces(stage, prim, points.len())?;
    let count = points.len();
    let corner_count = faces.corners().len();
    let mut sets: Vec<Corners> = Vec::new();
    for (name, attribute) in &prim.attributes {
        let is_uv = attribute.type_name.starts_with("texCoord2")
            || name == "primvars:st" && attribute.type_name.starts_with("float2");
        if name.starts_with("primvars:") && is_uv {
            let corners = read_corners(stage, prim, name, attribute, &faces, count)?;
            // `st` is the one that pictures go by
            if let Some(corners) = corners {
                let place = if name == "primvars:st" { 0 } else { sets.len() };
                sets.insert(place, corners);
            }
        }
    }
    let smoothing = match prim.attributes.get("primvars:smoothing") {
        Some(attribute) => read_corners(stage, prim, "primvars:smoothing", attribute, &faces, count)?,
        None => None,
    };
    let mut mesh = Mesh::from_faces(prim.title(), points, Faces::default());
    let columns: Vec<&Corners> = sets.iter().chain(&smoothing).collect();
    let (vertex_points, corner_vertices) = split_corners(&columns, &faces, count);
    mesh.vertex_points = vertex_points;
    mesh.faces = Faces::default();
    for index in 0..faces.len() {
        mesh.faces.push(&corner_vertices[faces.corner_range(index)]);
    }
    debug_assert_eq!(mesh.faces.corners().len(), corner_count);
    let spread = |corners: &Corners, flip: bool| {
        let mut values = vec![[0.0; 2]; mesh.vertex_points.len()];
        for (&vertex, &index) in corner_vertices.iter().zip(&corners.indices) {
            let [u, v] = corners.values[index as usize];
            // ours goes down
            values[vertex as usize] = if flip { [u, 1.0 - v] } else { [u, v] };
        }
        values
    };
    let mut uv_sets = sets.iter().map(|corners| spread(corners, true));
    let (uvs, more_uvs) = (uv_sets.next().unwrap_or_default(), uv_sets.collect());
    let smoothing =
        smoothing.map(|corners| spread(&corners, false).iter().map(|&[group, _]| group as u32).collect());
    (mesh.uvs, mesh.more_uvs, mesh.smoothing) = (uvs, more_uvs, smoothing.unwrap_or_default());
    mesh.parts =
        vec![Part { faces: 0..mesh.faces.len(), vertices: 0..mesh.vertex_points.len(), material: None }];
    read_groups(stage, prim, &mut mesh)?;
    Ok(mesh)
}

/// Polygons over points, counter-clockwise from outside.
fn read_faces(stage: &Stage, prim: &Prim, point_count: usize) -> Result<Faces> {
    for name in ["faceVertexCounts", "faceVertexIndices"] {
        check_fixed(stage, prim, name)?;
    }
    let counts = stage.ints(prim, "faceVertexCounts")?.unwrap_or_default();
    let indices = stage.ints(prim, "faceVertexIndices")?.unwrap_or_default();
    let wrong = |problem: String| stage.malformed(&prim.path, problem);
    let left_handed = stage
        .words(prim, "orientation")?
        .is_some_and(|words| words.first().is_some_and(|w| w == "leftHanded"));
    let mut faces = Faces::default();
    let mut at = 0_usize;
    let mut corners = Vec::new();
    for (face, &count) in counts.iter().enumerate() {
        let run = usize::try_from(count).ok().and_then(|count| indices.get(at..at.checked_add(count)?));
        let run =
            run.ok_or_else(|| wrong(format!("face {face} has {count} corners, which are not there")))?;
        at += run.len();
        corners.clear();
        for &index in run {
            let inside = u32::try_from(index).ok().filter(|&index| (index as usize) < point_count);
            corners.push(inside.ok_or_else(|| {
                wrong(format!("face {face} refers to point {index}, but there are {point_count}"))
            })?);
        }
        if left_handed {
            corners.reverse();
        }
        faces.push(&corners);
    }
    if at != indices.len() {
        return Err(wrong(format!("its faces have {at} corners, but {} indices are there", indices.len())));
    }
    Ok(faces)
}

/// Refuses topology that changes.
fn check_fixed(stage: &Stage, prim: &Prim, name: &str) -> Result<()> {
    let Some(attribute) = prim.attributes.get(name).filter(|attribute| attribute.moves()) else {
        return Ok(());
    };
    let place = format!("{}.{name}", prim.path);
    let first = stage.fetch(attribute, &attribute.samples[0], &place)?;
    for (pair, times) in attribute.samples.windows(2).zip(attribute.times.windows(2)) {
        if pair[0] != pair[1] && stage.fetch(attribute, &pair[1], &place)? != first {
            let problem = format!("topology changes at time {}: every frame must have the same", times[1]);
            return Err(stage.malformed(place, problem));
        }
    }
    Ok(())
}

/// Values on corners, however the file spreads them.
fn read_corners(
    stage: &Stage,
    prim: &Prim,
    name: &str,
    attribute: &Attribute,
    faces: &Faces,
    point_count: usize,
) -> Result<Option<Corners>> {
    let Some(value) = stage.value(prim, name)? else { return Ok(None) };
    let place = || format!("{}.{name}", prim.path);
    let single = matches!(value, Value::Ints(_));
    let Some(floats) = value.into_floats() else { return Ok(None) };
    let values: Vec<[f32; 2]> = match single {
        true => floats.iter().map(|&x| [x, 0.0]).collect(),
        false => floats.as_chunks::<2>().0.to_vec(),
    };
    let given = stage.ints(prim, &format!("{name}:indices"))?;
    let element_count = given.as_ref().map_or(values.len(), Vec::len);
    let corner_count = faces.corners().len();
    let elements: Vec<usize> = match attribute.interpolation.as_deref() {
        Some("faceVarying") if element_count == corner_count => corner_order(stage, prim, faces)?,
        Some("vertex" | "varying") if element_count == point_count => {
            faces.corners().iter().map(|&point| point as usize).collect()
        }
        Some("uniform") if element_count == faces.len() => {
            (0..faces.len()).flat_map(|face| faces.corner_range(face).map(move |_| face)).collect()
        }
        None | Some("constant") if element_count == 1 => vec![0; corner_count],
        spread => {
            let spread = spread.unwrap_or("constant");
            return Err(stage.malformed(place(), format!("{element_count} values do not fit `{spread}`")));
        }
    };
    let index_of = |element: usize| match &given {
        Some(given) => u32::try_from(given[element]).ok().filter(|&index| (index as usize) < values.len()),
        None => Some(element as u32),
    };
    let indices: Option<Vec<u32>> = elements.into_iter().map(index_of).collect();
    let indices = indices
        .ok_or_else(|| stage.malformed(place(), format!("an index beyond its {} values", values.len())))?;
    Ok(Some(Corners { values, indices }))
}

/// The corner of the file under each of ours: another order where faces were turned round.
fn corner_order(stage: &Stage, prim: &Prim, faces: &Faces) -> Result<Vec<usize>> {
    let left_handed = stage
        .words(prim, "orientation")?
        .is_some_and(|words| words.first().is_some_and(|w| w == "leftHanded"));
    let mut order = Vec::with_capacity(faces.corners().len());
    for face in 0..faces.len() {
        let range = faces.corner_range(face);
        match left_handed {
            true => order.extend(range.rev()),
            false => order.extend(range),
        }
    }
    Ok(order)
}

/// The vertex of each corner, and the point under each vertex.
fn split_corners(columns: &[&Corners], faces: &Faces, point_count: usize) -> (Vec<u32>, Vec<u32>) {
    if columns.is_empty() {
        return ((0..point_count as u32).collect(), faces.corners().to_vec());
    }
    let key = |(corner, &point): (usize, &u32)| {
        (columns.iter().map(|column| column.indices[corner]).collect::<Vec<u32>>(), point)
    };
    split(&faces.corners().iter().enumerate().map(key).collect::<Vec<_>>(), point_count)
}

/// Primvars with one float for each point, and colours.
fn read_groups(stage: &Stage, prim: &Prim, mesh: &mut Mesh) -> Result<()> {
    let count = mesh.point_count();
    for (name, attribute) in &prim.attributes {
        let Some(short) = name.strip_prefix("primvars:") else { continue };
        let spread = attribute.interpolation.as_deref();
        if short.contains(':') || !matches!(spread, Some("vertex" | "varying")) || count == 0 {
            continue;
        }
        let width = match attribute.type_name.as_str() {
            "float[]" | "half[]" | "double[]" => 1,
            "color3f[]" if short == "displayColor" => 3,
            _ => continue,
        };
        let Some(values) = stage.value(prim, name)?.and_then(|value| value.into_floats()) else { continue };
        let values = match stage.ints(prim, &format!("{name}:indices"))? {
            Some(indices) => {
                let pick = |&index: &i64| {
                    values.get(usize::try_from(index).ok()?.checked_mul(width)?..)?.get(..width)
                };
                let picked: Option<Vec<&[f32]>> = indices.iter().map(pick).collect();
                picked.map(|picked| picked.concat()).unwrap_or_default()
            }
            None => values,
        };
        if values.len() != count * width || values.iter().any(|value| !value.is_finite()) {
            let problem = format!("{} finite values were expected: one for each point", count * width);
            return Err(stage.malformed(format!("{}.{name}", prim.path), problem));
        }
        let channel = |i: usize| values.iter().skip(i).step_by(width).copied().collect();
        match short {
            "displayColor" => {
                ["color.r", "color.g", "color.b"]
                    .iter()
                    .enumerate()
                    .for_each(|(i, name)| mesh.set_group(*name, channel(i)));
            }
            "displayOpacity" => mesh.set_group("color.a", values),
            _ => mesh.set_group(attribute.display_name.as_deref().unwrap_or(short), values),
        }
    }
    Ok(())
}
