//! The formats we know: a line each in [`Format::ALL`], with what reads and what writes it.

use std::path::Path;

#[cfg(feature = "fbx")]
use super::fbx;
use super::{
    Animation, Numbered, ReadOptions, WriteOptions, Written, acclaim, alembic, bvh, cache, gltf, mdd,
    obj_write, off, pc2, ply, sequence, stl, trc, unknown_format, usd,
};
#[cfg(not(feature = "fbx"))]
use crate::Error;
use crate::{Clip, Files, Result};

/// Reads a file.
type Read = fn(&Path, &ReadOptions) -> Result<Clip>;
/// Writes a clip.
type Write = fn(&Path, &Clip, &WriteOptions) -> Result<Written>;
/// The animations of a file.
type Animations = fn(&Path, &Files) -> Result<Vec<Animation>>;

/// A file format we know.
#[derive(Clone, Copy)]
pub struct Format {
    extension: &'static str,
    /// What a file begins with, blanks apart, in formats that can be told by it.
    magic: &'static [u8],
    pub(super) read: Read,
    /// Or why it is not written.
    pub(super) write: std::result::Result<Write, &'static str>,
    /// Of files that hold several.
    pub(super) animations: Option<Animations>,
}

/// Wavefront OBJ: one frame in one file, or a numbered sequence.
pub(super) const OBJ: Format = Format::new("obj", read_obj).written(write_obj);

const READ_ONLY: &str = "this format is read, but not written; name it .obj or .glb";
const AS_BVH: &str = "this format is read, but not written; name it .bvh";
const AS_GLB: &str = "glTF is written as one binary file; name it .glb";

impl Format {
    /// All formats.
    pub const ALL: [Self; 18] = [
        // glTF 2.0, as JSON with buffers beside it or inside, and in one binary file
        Self::new("gltf", gltf::read).not_written(AS_GLB).with_animations(gltf::animations),
        Self::new("glb", gltf::read).begins(b"glTF").written(gltf::write).with_animations(gltf::animations),
        OBJ,
        // point caches over an OBJ: little-endian; big-endian with a time per frame
        Self::new("pc2", read_cache).begins(b"POINTCACHE2").written(pc2::write),
        Self::new("mdd", read_cache).written(mdd::write),
        // a skeleton and its motion
        Self::new("bvh", bvh::read).begins(b"HIERARCHY").written(bvh::write),
        // Acclaim: a take with its skeleton beside it, and the skeleton alone
        Self::new("amc", acclaim::read).not_written(AS_BVH),
        Self::new("asf", acclaim::read_skeleton).not_written(AS_BVH),
        // places of markers
        Self::new("trc", trc::read).begins(b"PathFileType").not_written(AS_BVH),
        // triangles; points and polygons
        Self::new("stl", stl::read),
        Self::new("ply", ply::read).begins(b"ply"),
        Self::new("off", off::read),
        // USD: a crate file; that or text, written as a crate file; text; with its pictures in one archive
        Self::new("usdc", usd::read).begins(b"PXR-USDC").written(usd::write),
        Self::new("usd", usd::read).written(usd::write),
        Self::new("usda", usd::read).begins(b"#usda ").written(usd::write),
        Self::new("usdz", usd::read).written(usd::write),
        // Alembic, in its Ogawa container
        Self::new("abc", alembic::read).begins(b"Ogawa").written(alembic::write),
        // only with the cargo feature `fbx`
        FBX.begins(b"Kaydara FBX"),
    ];

    /// A format that is read, and not written unless [`Format::written`] says how.
    pub const fn new(extension: &'static str, read: Read) -> Self {
        Self { extension, magic: &[], read, write: Err(READ_ONLY), animations: None }
    }

    /// What a file of it begins with, if that tells it from all others.
    #[must_use]
    pub const fn begins(self, magic: &'static [u8]) -> Self {
        Self { magic, ..self }
    }

    /// What writes it.
    #[must_use]
    pub const fn written(self, write: Write) -> Self {
        Self { write: Ok(write), ..self }
    }

    /// Why it is not written.
    const fn not_written(self, reason: &'static str) -> Self {
        Self { write: Err(reason), ..self }
    }

    /// Files of it hold several.
    const fn with_animations(self, animations: Animations) -> Self {
        Self { animations: Some(animations), ..self }
    }

    /// What its file names end in, lower case.
    pub const fn extension(self) -> &'static str {
        self.extension
    }

    /// The format that a file name promises.
    pub fn from_extension(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Self::ALL.into_iter().find(|known| known.extension == extension)
    }

    /// Whether [`write()`](super::write()) writes it.
    pub fn is_written(self) -> bool {
        self.write.is_ok()
    }

    /// The format of a file that exists: by its first bytes where they tell, otherwise by its name.
    pub fn detect(path: &Path) -> Result<Self> {
        Self::detect_among(&Files::default(), path)
    }

    /// The same under a policy.
    pub(crate) fn detect_among(files: &Files, path: &Path) -> Result<Self> {
        let start = files.open(path)?.start(16)?;
        let told = Self::ALL.into_iter().find(|format| format.begins_as(&start));
        told.or_else(|| Self::from_extension(path)).ok_or_else(|| unknown_format(path))
    }

    fn begins_as(self, start: &[u8]) -> bool {
        match self.extension {
            // text may begin with blanks
            "bvh" => start.trim_ascii_start().starts_with(self.magic),
            // three letters say little without the end of their line
            "ply" => matches!(start, [b'p', b'l', b'y', b'\n' | b'\r', ..]),
            _ => !self.magic.is_empty() && start.starts_with(self.magic),
        }
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.extension == other.extension
    }
}

impl Eq for Format {}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.extension)
    }
}

fn read_obj(path: &Path, options: &ReadOptions) -> Result<Clip> {
    match &options.cache {
        Some(cache) => cache::read(cache, path, options),
        None => sequence::read_file_or_sequence(path, options),
    }
}

fn write_obj(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    match clip.frame_count() {
        1 => obj_write::write(path, clip, options),
        _ => sequence::write(&Numbered::beside(path), clip, options),
    }
}

fn read_cache(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let mesh = options.mesh.clone().unwrap_or_else(|| path.with_extension("obj"));
    cache::read(path, &mesh, options)
}

#[cfg(feature = "fbx")]
const FBX: Format = Format::new("fbx", fbx::read).with_animations(fbx::animations);

#[cfg(not(feature = "fbx"))]
const FBX: Format = Format::new("fbx", without_fbx);

#[cfg(not(feature = "fbx"))]
fn without_fbx(path: &Path, _: &ReadOptions) -> Result<Clip> {
    let problem = "this followthrough was built without FBX; build it with `--features fbx` (needs a C compiler), or let the \
                   program that the file comes from write .glb, .usdc or .abc";
    Err(Error::Unsupported { path: path.to_path_buf(), problem: problem.into() })
}
