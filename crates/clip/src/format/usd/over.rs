//! Layers of overrides: for a clip that came from USD, only what moved, at the input's own paths, to be put above it as a
//! sublayer. That is how houses that work with USD take a simulation.
//!
//! Points are given in the mesh's own space, so that whatever moves its parents goes on doing so. A mesh whose place moves,
//! or that hangs on a skeleton, is taken out of both: its points are given in the layer's world.

use std::path::Path;
use std::sync::Arc;

use glam::DMat4;

use super::layer::{Layer, Prim, Track};
use super::read::world_from_stage;
use super::value::{Value, ValueType};
use crate::format::WriteOptions;
use crate::format::moments::Moments;
use crate::{Clip, Error, Frames, Mesh, Result};

/// Where the meshes of a clip stand in the USD layer that it was read from: what a layer of overrides goes by.
#[derive(Clone, Debug, PartialEq)]
pub struct UsdLayout {
    /// The prim of each mesh that was read.
    pub prims: Vec<UsdPrim>,
    /// How long one unit of the layer is.
    pub unit_in_metres: f64,
    /// Whether Z is up in the layer; Y otherwise.
    pub z_up: bool,
    /// The time code of the first frame.
    pub first_time_code: f64,
    /// Time codes from frame to frame.
    pub time_codes_per_frame: f64,
    /// Time codes in a second.
    pub time_codes_per_second: f64,
}

/// A mesh's prim.
#[derive(Clone, Debug, PartialEq)]
pub struct UsdPrim {
    /// The mesh's name in the clip.
    pub mesh: String,
    /// The prim's path in the layer.
    pub path: String,
    /// How many points it has there.
    pub point_count: usize,
    /// `world_from_mesh` in metres, Y up; `None` when that moves, or when a skeleton moves the points.
    pub world_from_mesh: Option<DMat4>,
}

/// Whether a file's name asks for overrides: `shirt.over.usdc`.
pub(super) fn is_wanted(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| Path::new(stem).extension().is_some_and(|inner| inner == "over"))
}

/// The layer, and the frames as they go into it.
pub(super) fn author<'a>(
    path: &Path,
    clip: &'a Clip,
    options: &WriteOptions,
) -> Result<(Layer, Moments<'a>)> {
    let unsupported = |problem: String| Error::Unsupported { path: path.to_path_buf(), problem };
    let Some(layout) = &clip.usd else {
        let problem = "overrides are for clips that came from a USD layer, and this one did not; name the file without `.over`";
        return Err(unsupported(problem.into()));
    };
    let moved = moved_meshes(clip)?;
    let mut matrices = vec![DMat4::IDENTITY; clip.meshes.len()];
    let mut layer = layer_of(clip, layout, options);
    let mut roots: Vec<Prim> = Vec::new();
    let stage_from_world = world_from_stage(layout.unit_in_metres, layout.z_up).inverse();
    for (number, mesh) in clip.meshes.iter().enumerate().filter(|&(number, _)| moved[number]) {
        let Some(prim) = layout.prims.iter().find(|prim| prim.mesh == mesh.name) else {
            return Err(unsupported(format!(
                "mesh `{}` is not in the layer that the clip came from",
                mesh.name
            )));
        };
        let inverse = prim.world_from_mesh.map(|matrix| matrix.inverse()).filter(DMat4::is_finite);
        matrices[number] = inverse.unwrap_or(stage_from_world);
        let over = prim_at(&mut roots, &prim.path);
        over.sample("points", Track::Points(number), None);
        over.sample("extent", Track::Extent(number), None);
        layer.tracks.extend([Track::Points(number), Track::Extent(number)]);
        if options.velocities {
            over.sample("velocities", Track::Velocities(number), None);
            layer.tracks.push(Track::Velocities(number));
        }
        if inverse.is_none() {
            over.set_uniform("token[]", "xformOpOrder", Value::Texts(vec!["!resetXformStack!".into()]));
            over.relate("skel:skeleton", Vec::new());
        }
        if mesh.point_count() != prim.point_count {
            add_topology(over, mesh);
        }
    }
    let root = layout.prims.first().and_then(|prim| prim.path.split('/').nth(1)).unwrap_or_default();
    layer.metadata.push(("defaultPrim", ValueType::TOKEN, Value::text(root)));
    layer.prims = roots;
    Ok((layer, Moments::placed(clip, options, matrices)))
}

fn layer_of(clip: &Clip, layout: &UsdLayout, options: &WriteOptions) -> Layer {
    let first = options.start_frame.map_or(layout.first_time_code, f64::from);
    let times: Vec<f64> =
        (0..clip.frame_count()).map(|frame| first + frame as f64 * layout.time_codes_per_frame).collect();
    let number = |name, value| (name, ValueType::DOUBLE, Value::Doubles(vec![value]));
    let last = times.last().copied().unwrap_or(first);
    let metadata = vec![
        number("endTimeCode", last),
        number("framesPerSecond", clip.frame_rate_hz),
        number("metersPerUnit", layout.unit_in_metres),
        number("startTimeCode", first),
        number("timeCodesPerSecond", layout.time_codes_per_second),
        ("upAxis", ValueType::TOKEN, Value::text(if layout.z_up { "Z" } else { "Y" })),
    ];
    Layer { metadata, times, ..Layer::default() }
}

/// Which meshes are not where the clip's own source has them, in any frame. All, when that cannot be told.
fn moved_meshes(clip: &Clip) -> Result<Vec<bool>> {
    let mut source: Option<Arc<dyn Frames>> = clip.frames().below();
    while let Some(below) = source.as_ref().and_then(|source| source.below()) {
        source = Some(below);
    }
    let Some(source) = source.filter(|source| source.count() == clip.frame_count()) else {
        return Ok(vec![true; clip.meshes.len()]);
    };
    let mut moved = vec![false; clip.meshes.len()];
    for index in 0..clip.frame_count() {
        if moved.iter().all(|&moved| moved) {
            break;
        }
        let (ours, theirs) = (clip.checked_frame(index)?, source.read(index)?);
        for (mesh, moved) in moved.iter_mut().enumerate() {
            *moved |= theirs.points.get(mesh) != Some(&ours.points[mesh]);
        }
    }
    Ok(moved)
}

/// The override at a path, with those above it.
fn prim_at<'a>(prims: &'a mut Vec<Prim>, path: &str) -> &'a mut Prim {
    let path = path.trim_start_matches('/');
    let (name, rest) = path.split_once('/').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let index = prims.iter().position(|prim| prim.name == name).unwrap_or_else(|| {
        prims.push(Prim::over(name));
        prims.len() - 1
    });
    match rest {
        Some(rest) => prim_at(&mut prims[index].children, rest),
        None => &mut prims[index],
    }
}

/// Polygons, for a mesh that has others than the layer.
fn add_topology(prim: &mut Prim, mesh: &Mesh) {
    let counts = mesh.faces.iter().map(|face| face.len() as i64).collect();
    let indices = mesh.faces.corners().iter().map(|&v| i64::from(mesh.vertex_points[v as usize])).collect();
    prim.set("int[]", "faceVertexCounts", Value::Ints(counts));
    prim.set("int[]", "faceVertexIndices", Value::Ints(indices));
}
