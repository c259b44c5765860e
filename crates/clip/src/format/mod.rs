//! Files in and out. One door to read, one to write, one to look; a format is one file beside this one, and one line in
//! `known.rs`.
//!
//! Whatever the file says, a clip that comes through the door is in metres, Y up, with finite numbers and indices in
//! range; a file that cannot be brought into that shape is refused with the place and the remedy.

mod acclaim;
mod alembic;
mod atomic;
mod bvh;
mod bvh_write;
mod cache;
mod corners;
#[cfg(feature = "fbx")]
mod fbx;
mod gltf;
mod known;
mod mdd;
mod moments;
mod mot;
mod mtl;
mod numbered;
mod obj_read;
mod obj_write;
mod off;
mod pc2;
mod ply;
mod sampling;
mod sequence;
mod source;
mod stl;
mod trc;
mod usd;

pub(crate) use atomic::AtomicFile;
pub(crate) use gltf::move_images;

pub use atomic::write_whole;
pub use bvh::{BvhChannel, BvhLayout};
pub use gltf::{GltfSource, write_clips};
pub use known::Format;
pub use mot::{Plate, Table};
pub use numbered::Numbered;
pub use usd::{UsdLayout, UsdPrim};

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use source::Source;

use crate::{Clip, Error, Faces, Files, Mesh, Result};

/// The frame rate of files that do not say theirs: film's.
pub const DEFAULT_FRAME_RATE_HZ: f64 = 24.0;

/// How to read a file. The default takes everything from the file.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The name of the animation to read, of a file that holds several; the first when `None`.
    pub clip: Option<String>,
    /// Frames per second. What has times of its own (glTF, USD, Alembic, FBX, BVH, MDD) is sampled at this rate and lasts as long as it did;
    /// for OBJ sequences and PC2, which have none, it says how fast the frames follow each other. When `None`: what the file
    /// says; the slowest usual rate on which all keys of a glTF animation lie; otherwise [`DEFAULT_FRAME_RATE_HZ`].
    pub frame_rate_hz: Option<f64>,
    /// How long one unit of the file is. When `None`: what the file says (USD), otherwise 1. glTF is in metres by
    /// definition, the other formats do not say.
    pub unit_in_metres: Option<f64>,
    /// The OBJ that a PC2 or MDD moves; when `None`, the one beside the cache with the same name.
    pub mesh: Option<PathBuf>,
    /// The PC2 or MDD that moves an OBJ.
    pub cache: Option<PathBuf>,
    /// Read a numbered OBJ alone, although it is one of a sequence.
    pub single: bool,
    /// Which files may be opened, and what must be in them.
    pub files: Files,
}

/// How to write a file.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The number of the first frame: the first number of an OBJ sequence, the start frame of a PC2, the first key of
    /// a GLB or MDD in frames, the first time of USD and Alembic.
    /// When `None`, 1 for OBJ sequences and 0 otherwise.
    pub start_frame: Option<u32>,
    /// How long one unit of the file is; 1 when `None`. glTF is always in metres.
    pub unit_in_metres: Option<f64>,
    /// Whether a GLB gets normals for every frame. They double its size; without them viewers shade flat.
    pub normals: bool,
    /// How a mesh that moved goes back into the glTF document that it came from.
    pub skin: SkinDelivery,
    /// Whether USD and Alembic get the velocity of every point at every frame: for motion blur. As large as the points.
    pub velocities: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            start_frame: None,
            unit_in_metres: None,
            normals: true,
            skin: SkinDelivery::default(),
            velocities: false,
        }
    }
}

/// How a mesh that moved goes back into the rig that it came with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SkinDelivery {
    /// As it is: every frame a shape, and no skin any more. Plays exactly everywhere.
    #[default]
    Points,
    /// Under its skin: every frame a corrective shape before skinning, so that the rig still plays and the physics is one more track.
    Corrective,
    /// On a few more joints: the motion decomposed into weights, at most four a point, and rigid joints beside those of the rig. Every game engine
    /// plays it, and it is small.
    Joints(JointsDelivery),
}

/// How many joints a motion is decomposed into, and how near they must come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct JointsDelivery {
    /// New joints of a mesh at most.
    #[cfg_attr(
        feature = "schemars",
        schemars(extend("minimum" = 1, "maximum" = 1000, "x-usual" = [1, 100]))
    )]
    pub at_most: usize,
    /// How far a point may be from where it was baked, in millimetres. Fewer joints and keys are written where fewer will do; where `at_most` will not
    /// do, it says by how much.
    #[cfg_attr(
        feature = "schemars",
        schemars(extend("minimum" = 1e-6, "maximum" = 1e6, "x-usual" = [0.01, 100.0]))
    )]
    pub error_mm: f64,
}

impl Default for JointsDelivery {
    fn default() -> Self {
        Self { at_most: 24, error_mm: 2.0 }
    }
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The files, the one asked for first.
    pub files: Vec<PathBuf>,
    /// Frames in them.
    pub frames: usize,
    /// Their size together.
    pub bytes: u64,
    /// What did not go as one might expect, a sentence each.
    pub warnings: Vec<String>,
}

/// What a file holds, as far as can be told without reading its frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The format.
    pub format: Format,
    /// The animations to choose from; empty in files that hold one motion or none.
    pub animations: Vec<Animation>,
}

/// One animation of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Animation {
    /// Its name; `animation N` when the file gives none.
    pub name: String,
    /// When its last key is.
    pub seconds: f64,
    /// Properties that it moves.
    pub channels: usize,
}

/// Reads a clip. The format is found by the first bytes, then by the extension.
///
/// The path may be a pattern for a numbered OBJ sequence (`flag.####.obj`, `flag_%04d.obj`) or any file of one.
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Clip> {
    let path = path.as_ref();
    check_options(path, options)?;
    if let Some(pattern) = sequence::pattern(path) {
        return sequence::read(&pattern, options);
    }
    (Format::detect_among(&options.files, path)?.read)(path, options)
}

/// Writes a clip in the format of the path's extension: `glb`, `obj`, `pc2`, `mdd`, `bvh`, `usdc`, `usd`, `usda`,
/// `usdz` or `abc`.
///
/// Every file appears whole or not at all: it is written under another name in the same folder and renamed at the
/// end; what a killed process left of it is removed. PC2 and MDD leave the OBJ that they move beside them. Frames are pulled from the clip one at a time.
pub fn write(path: impl AsRef<Path>, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    let path = path.as_ref();
    if !(clip.frame_rate_hz.is_finite() && clip.frame_rate_hz > 0.0) {
        let problem = format!("a clip with {} frames per second cannot be written", clip.frame_rate_hz);
        return Err(Error::Unsupported { path: path.to_path_buf(), problem });
    }
    atomic::sweep(path);
    if let Some(pattern) = sequence::pattern(path) {
        return sequence::write(&pattern, clip, options);
    }
    let Some(format) = Format::from_extension(path) else { return Err(unknown_format(path)) };
    match format.write {
        Ok(write) => write(path, clip, options),
        Err(problem) => Err(Error::Unsupported { path: path.to_path_buf(), problem: problem.into() }),
    }
}

/// Every file that a clip, or anything else that a shot names, is read from, in order of the paths: the file itself, the
/// buffers and pictures that a glTF names, the members of a sequence, the OBJ under a point cache, the materials of an
/// OBJ, both files of TetGen, what a .veg includes.
///
/// It is the reader that tells: what it opens, or says that it will open, is what is listed.
pub fn source_files(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Vec<PathBuf>> {
    let path = path.as_ref();
    let files = options.files.noting();
    let options = ReadOptions { files: files.clone(), ..options.clone() };
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    if ending.is_some_and(|ending| crate::TET_ENDINGS.contains(&ending.as_str())) {
        crate::read_tets(path, &options)?;
    } else if sequence::pattern(path).is_some() || Format::detect_among(&files, path).is_ok() {
        read(path, &options)?;
    } else if let Some(pattern) = Numbered::parse(path) {
        for number in pattern.gapless_among(&files)? {
            files.expect(&pattern.file(number))?;
        }
    } else {
        files.open(path)?;
    }
    Ok(files.noted())
}

/// Looks into a file without reading its frames.
pub fn describe(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Description> {
    let path = path.as_ref();
    if sequence::pattern(path).is_some() {
        return Ok(Description { format: known::OBJ, animations: Vec::new() });
    }
    let format = Format::detect_among(&options.files, path)?;
    let animations = match format.animations {
        Some(animations) => animations(path, &options.files)?,
        None => Vec::new(),
    };
    Ok(Description { format, animations })
}

/// Refuses options that no file could satisfy.
fn check_options(path: &Path, options: &ReadOptions) -> Result<()> {
    let positive = |name: &str, value: Option<f64>| match value {
        Some(value) if !(value.is_finite() && value > 0.0) => {
            let problem = format!("{name} is {value}; it must be a finite number above zero");
            Err(Error::Unsupported { path: path.to_path_buf(), problem })
        }
        _ => Ok(()),
    };
    positive("the frame rate", options.frame_rate_hz)?;
    positive("the unit", options.unit_in_metres)
}

fn unknown_format(path: &Path) -> Error {
    let known: Vec<String> = Format::ALL.iter().map(|format| format!(".{}", format.extension())).collect();
    let problem = format!("not a format we know; we know {}", known.join(", "));
    Error::Unsupported { path: path.to_path_buf(), problem }
}

pub(crate) fn malformed(path: &Path, place: impl Into<String>, problem: impl Into<String>) -> Error {
    Error::Malformed { path: path.to_path_buf(), place: place.into(), problem: problem.into() }
}

/// A clip of one frame from points in the file's unit.
fn still(path: &Path, mut points: Vec<[f32; 3]>, faces: Faces, options: &ReadOptions) -> Result<Clip> {
    let scale = options.unit_in_metres.unwrap_or(1.0);
    for (index, point) in points.iter_mut().enumerate() {
        *point = point.map(|x| (f64::from(x) * scale) as f32);
        if !point.iter().all(|x| x.is_finite()) {
            return Err(malformed(path, format!("point {index}"), "a coordinate is not a finite number"));
        }
    }
    let mesh = Mesh::from_faces(name_of(path), points, faces);
    Ok(Clip::still(mesh, options.frame_rate_hz.unwrap_or(DEFAULT_FRAME_RATE_HZ), 1))
}

/// The name of a clip that its file does not name.
fn name_of(path: &Path) -> String {
    path.file_stem().map_or_else(|| "clip".into(), |stem| stem.to_string_lossy().into_owned())
}

/// Names that are taken.
#[derive(Default)]
struct UniqueNames {
    taken: HashSet<String>,
    /// The number that a name which was wanted again got last: the numbers below it need not be tried once more.
    last: HashMap<String, usize>,
}

impl UniqueNames {
    /// The name, or the name with the lowest number behind it that nobody has yet.
    fn take(&mut self, wanted: &str) -> String {
        if self.taken.insert(wanted.into()) {
            return wanted.into();
        }
        let last = self.last.entry(wanted.into()).or_default();
        loop {
            *last += 1;
            let name = format!("{wanted}.{last:03}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A name as USD wants it: letters, digits and underscores, no digit in front; `fallback` when nothing is left.
fn identifier(name: &str, fallback: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    match name.chars().next() {
        None => fallback.into(),
        Some(first) if first.is_ascii_digit() => format!("_{name}"),
        Some(_) => name,
    }
}

/// Which point of which mesh a number among all points of a clip is.
fn locate_point(point_counts: &[usize], mut index: usize) -> (usize, usize) {
    for (mesh, &count) in point_counts.iter().enumerate() {
        if index < count {
            return (mesh, index);
        }
        index -= count;
    }
    (point_counts.len().saturating_sub(1), index)
}
