//! A clip from arrays: `Clip.from_arrays`.

use std::sync::Arc;

use followthrough::clip::{Clip, Faces, Frame, Frames, MemoryFrames, Mesh};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyTuple};

use crate::arrays::{Floats, Point, check_finite, integers, shape_text};
use crate::error::{Said, said};
use crate::spool::Spool;

/// What was given beside points and faces.
pub(crate) struct Extras<'a, 'py> {
    pub(crate) rest: Option<&'a Bound<'py, PyDict>>,
    pub(crate) groups: Option<&'a Bound<'py, PyDict>>,
    pub(crate) uvs: Option<&'a Bound<'py, PyDict>>,
}

/// How a mesh moves.
enum Motion<'py> {
    /// It stands still.
    Still(Vec<Point>),
    /// (frames, points, 3).
    Array(Floats<'py>),
    /// One array of (points, 3) after the other.
    Pulled(Bound<'py, PyIterator>),
}

/// The clip with these meshes.
pub(crate) fn clip(
    points: &Bound<'_, PyDict>,
    faces: &Bound<'_, PyDict>,
    frame_rate: f64,
    name: &str,
    extras: &Extras<'_, '_>,
) -> PyResult<Clip> {
    if !(frame_rate.is_finite() && frame_rate > 0.0) {
        return Err(said(
            Said::new(format!("{frame_rate} frames per second cannot be")).help("give a number above zero"),
        ));
    }
    let names = mesh_names(points)?;
    same_names("faces", faces, &names)?;
    for (what, given) in [("rest", extras.rest), ("groups", extras.groups), ("uvs", extras.uvs)] {
        if let Some(given) = given {
            known_names(what, given, &names)?;
        }
    }
    let mut motions = Vec::new();
    for (name, value) in names.iter().zip(points.values()) {
        motions.push(motion(name, &value)?);
    }
    let frames = frames(&names, &motions)?;
    let first = frames.read(0).map_err(said)?;
    let mut meshes = Vec::new();
    for (name, shown) in names.iter().zip(first.points) {
        let faces = polygons(name, &item(faces, name)?, shown.len())?;
        meshes.push(mesh(name, shown, faces, extras)?);
    }
    Ok(Clip::new(name, frame_rate, meshes, None, frames))
}

fn item<'py>(dict: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    dict.get_item(name)?.ok_or_else(|| said(Said::new(format!("there is no mesh `{name}`"))))
}

fn mesh_names(points: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    let name = |key: Bound<'_, PyAny>| {
        key.extract::<String>()
            .map_err(|_| said(Said::new("the names of meshes are texts").help("points = {\"skirt\": array}")))
    };
    let names = points.keys().into_iter().map(name).collect::<PyResult<Vec<_>>>()?;
    if names.is_empty() {
        return Err(said(Said::new("there is no mesh: the dict of points is empty")));
    }
    Ok(names)
}

/// Fails where a dict speaks of a mesh that is not there.
fn known_names(what: &str, given: &Bound<'_, PyDict>, names: &[String]) -> PyResult<()> {
    for key in given.keys() {
        let key = key.str()?.to_string();
        if !names.contains(&key) {
            let help = followthrough::shot::suggest(&key, names.iter().map(String::as_str));
            return Err(said(
                Said::new(format!("{what}: there is no mesh `{key}` among the points")).at(what).help(help),
            ));
        }
    }
    Ok(())
}

fn same_names(what: &str, given: &Bound<'_, PyDict>, names: &[String]) -> PyResult<()> {
    known_names(what, given, names)?;
    match names.iter().find(|name| !given.contains(name.as_str()).unwrap_or(false)) {
        Some(name) => {
            Err(said(Said::new(format!("{what}: mesh `{name}` has points, but no {what}")).at(what)))
        }
        None => Ok(()),
    }
}

fn motion<'py>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Motion<'py>> {
    if let Ok(iterator) = value.cast::<PyIterator>() {
        return Ok(Motion::Pulled(iterator.clone()));
    }
    let what = format!("points of `{name}`");
    let array = Floats::of(&what, value)?;
    match array.shape().as_slice() {
        [count, 3] if *count > 0 => Ok(Motion::Still(array.points(None))),
        [frames, count, 3] if *frames > 0 && *count > 0 => Ok(Motion::Array(array)),
        shape => {
            let shape = shape_text(shape);
            let said =
                Said::new(format!("{what}: the array has the shape {shape}")).at(format!("mesh `{name}`"));
            Err(said
                .help("it should be (frames, points, 3), or (points, 3) for a mesh that stands still")
                .into())
        }
    }
}

/// The frames of all meshes: in memory where all are arrays; where some are pulled, in a file.
fn frames(names: &[String], motions: &[Motion<'_>]) -> PyResult<Arc<dyn Frames>> {
    let known = frame_count(names, motions)?;
    if motions.iter().any(|motion| matches!(motion, Motion::Pulled(_))) {
        return pulled(names, motions, known);
    }
    let mut frames = Vec::new();
    for index in 0..known.unwrap_or(1) {
        let mut points = Vec::new();
        for (name, motion) in names.iter().zip(motions) {
            let own = match motion {
                Motion::Still(own) => own.clone(),
                Motion::Array(array) => array.points(Some(index)),
                Motion::Pulled(_) => Vec::new(),
            };
            check_finite(&own, name, index)?;
            points.push(own);
        }
        frames.push(Frame { points, pose: Vec::new() });
    }
    Ok(Arc::new(MemoryFrames::new(frames)))
}

/// How many frames the arrays have; all must have the same.
fn frame_count(names: &[String], motions: &[Motion<'_>]) -> PyResult<Option<usize>> {
    let mut known: Option<(usize, &str)> = None;
    for (name, motion) in names.iter().zip(motions) {
        let Motion::Array(array) = motion else { continue };
        let count = array.shape()[0];
        match known {
            Some((frames, other)) if frames != count => {
                let what = format!("mesh `{name}` has {count} frames, but `{other}` has {frames}");
                return Err(said(
                    Said::new(what)
                        .help("give every mesh the same frames, or one alone where it stands still"),
                ));
            }
            _ => known = Some((count, name)),
        }
    }
    Ok(known.map(|(count, _)| count))
}

/// Pulls frame after frame of every mesh, until the generators end.
fn pulled(names: &[String], motions: &[Motion<'_>], known: Option<usize>) -> PyResult<Arc<dyn Frames>> {
    let mut spool: Option<(Spool, Vec<usize>)> = None;
    loop {
        let index = spool.as_ref().map_or(0, |(spool, _)| spool.len());
        let Some(points) = pull(names, motions, known, index)? else { break };
        let counts: Vec<usize> = points.iter().map(Vec::len).collect();
        let (spool, expected) = match &mut spool {
            Some(spool) => spool,
            None => spool.insert((Spool::new(counts.clone()).map_err(said)?, counts.clone())),
        };
        for ((name, found), expected) in names.iter().zip(&counts).zip(expected.iter()) {
            if found != expected {
                let (what, of, found, expected) = (format!("mesh `{name}`"), "points", *found, *expected);
                return Err(said(followthrough::clip::Error::FrameMismatch {
                    frame: index,
                    what,
                    of,
                    found,
                    expected,
                }));
            }
        }
        spool.push(&points).map_err(said)?;
    }
    match spool {
        Some((spool, _)) if !spool.is_empty() => Ok(Arc::new(spool.finish().map_err(said)?)),
        _ => Err(said(Said::new("the generators gave no frame"))),
    }
}

/// The points of all meshes at the next frame, or nothing where all have ended.
fn pull(
    names: &[String],
    motions: &[Motion<'_>],
    known: Option<usize>,
    index: usize,
) -> PyResult<Option<Vec<Vec<Point>>>> {
    let (mut points, mut ended) = (Vec::new(), None);
    for (name, motion) in names.iter().zip(motions) {
        let own = match motion {
            Motion::Still(own) => Some(own.clone()),
            Motion::Array(_) if known.is_some_and(|known| index >= known) => None,
            Motion::Array(array) => Some(array.points(Some(index))),
            Motion::Pulled(iterator) => match iterator.clone().next() {
                None => None,
                Some(value) => {
                    let what = format!("points of `{name}`, frame {index}");
                    let array = Floats::of(&what, &value?)?;
                    match array.shape().as_slice() {
                        [count, 3] if *count > 0 => Some(array.points(None)),
                        shape => {
                            let shape = shape_text(shape);
                            return Err(said(
                                Said::new(format!("{what}: the array has the shape {shape}"))
                                    .help("each frame should be (points, 3)"),
                            ));
                        }
                    }
                }
            },
        };
        let moves = !matches!(motion, Motion::Still(_));
        match (own, ended) {
            (Some(_), Some(true)) if moves => return Err(uneven(name, index, false)),
            (None, Some(false)) => return Err(uneven(name, index, true)),
            (Some(own), _) => {
                check_finite(&own, name, index)?;
                points.push(own);
                if moves {
                    ended = Some(false);
                }
            }
            (None, _) => ended = Some(true),
        }
    }
    Ok(if ended == Some(true) { None } else { Some(points) })
}

fn uneven(name: &str, index: usize, ends: bool) -> PyErr {
    let what = match ends {
        true => format!("mesh `{name}` ends before frame {index}, which others have"),
        false => format!("mesh `{name}` has a frame {index}, but others have ended"),
    };
    said(Said::new(what).help("give every mesh the same frames, or one alone where it stands still"))
}

/// Polygons: (faces, corners), a list of lists, or the numbers of corners and all corners after each other.
fn polygons(name: &str, value: &Bound<'_, PyAny>, point_count: usize) -> PyResult<Faces> {
    let what = format!("faces of `{name}`");
    let mut lists: Vec<Vec<i64>> = Vec::new();
    if let Ok(pair) = value.cast::<PyTuple>()
        && pair.len() == 2
    {
        let (counts, _) = integers(&what, &pair.get_item(0)?, 1)?;
        let (corners, _) = integers(&what, &pair.get_item(1)?, 1)?;
        let mut from = 0_usize;
        for count in counts {
            let to = usize::try_from(count).ok().and_then(|count| from.checked_add(count));
            let Some(own) = to.and_then(|to| corners.get(from..to)) else {
                return Err(said(Said::new(format!(
                    "{what}: the counts ask for more than the {} corners there are",
                    corners.len()
                ))));
            };
            lists.push(own.to_vec());
            from += own.len();
        }
        if from != corners.len() {
            return Err(said(Said::new(format!(
                "{what}: the counts use {from} of {} corners",
                corners.len()
            ))));
        }
    } else if let Ok(ragged) = value.extract::<Vec<Vec<i64>>>() {
        lists = ragged;
    } else {
        let (corners, shape) = integers(&what, value, 2)?;
        lists.extend(corners.chunks_exact(shape[1].max(1)).map(<[i64]>::to_vec));
    }
    let mut faces = Faces::default();
    for (face, corners) in lists.iter().enumerate() {
        if corners.len() < 3 {
            return Err(said(Said::new(format!(
                "{what}: face {face} has {} corners; three are the least",
                corners.len()
            ))));
        }
        let corner =
            |&corner: &i64| u32::try_from(corner).ok().filter(|&corner| (corner as usize) < point_count);
        match corners.iter().map(corner).collect::<Option<Vec<u32>>>() {
            Some(corners) => faces.push(&corners),
            None => {
                let what = format!("{what}: face {face} uses a point beyond the {point_count} there are");
                return Err(said(
                    Said::new(what)
                        .at(format!("mesh `{name}`, face {face}"))
                        .help("points are counted from 0"),
                ));
            }
        }
    }
    Ok(faces)
}

fn mesh(name: &str, shown: Vec<Point>, faces: Faces, extras: &Extras<'_, '_>) -> PyResult<Mesh> {
    let count = shown.len();
    let rest = match extras.rest.and_then(|rest| rest.get_item(name).transpose()) {
        None => shown,
        Some(value) => {
            let rest = sized(&format!("rest of `{name}`"), &value?, &[count, 3])?.points(None);
            check_finite(&rest, name, 0)?;
            rest
        }
    };
    let mut mesh = Mesh::from_faces(name, rest, faces);
    if let Some(value) = extras.uvs.and_then(|uvs| uvs.get_item(name).transpose()) {
        let uvs = sized(&format!("uvs of `{name}`"), &value?, &[count, 2])?.part(None);
        mesh.uvs = uvs.as_chunks::<2>().0.to_vec();
    }
    if let Some(value) = extras.groups.and_then(|groups| groups.get_item(name).transpose()) {
        let what = format!("groups of `{name}`");
        let value = value?;
        let Ok(groups) = value.cast::<PyDict>() else {
            return Err(said(
                Said::new(format!("{what}: a dict of names and weights is needed"))
                    .help("groups = {\"skirt\": {\"waist\": weights}}"),
            ));
        };
        for (group, weights) in groups {
            let group = group.str()?.to_string();
            let weights = sized(&format!("group `{group}` of `{name}`"), &weights, &[count])?.part(None);
            if weights.iter().any(|weight| !weight.is_finite()) {
                return Err(said(Said::new(format!(
                    "group `{group}` of `{name}`: a weight is not a finite number"
                ))));
            }
            mesh.set_group(group, weights);
        }
    }
    Ok(mesh)
}

/// An array of exactly this shape.
fn sized<'py>(what: &str, value: &Bound<'py, PyAny>, shape: &[usize]) -> PyResult<Floats<'py>> {
    let array = Floats::of(what, value)?;
    if array.shape() != shape {
        let [found, expected] = [&array.shape(), shape].map(|shape| shape_text(shape));
        return Err(said(Said::new(format!(
            "{what}: the array has the shape {found}, but {expected} is needed"
        ))));
    }
    Ok(array)
}
