//! PC2, the point cache of 3ds Max and Blender: 32 bytes of header, then float positions, all little-endian.

use std::path::Path;

use super::atomic::AtomicFile;
use super::cache::{Header, check_length};
use super::{WriteOptions, Written, malformed, obj_write};
use crate::files::PlainFile;
use crate::{Clip, Error, Frame, Result};

const MAGIC: &[u8; 12] = b"POINTCACHE2\0";
const HEADER_LENGTH: usize = 32;

/// Reads the header.
pub(super) fn read_header(path: &Path, file: &PlainFile) -> Result<Header> {
    let length = file.length();
    let mut bytes = [0_u8; HEADER_LENGTH];
    if length < HEADER_LENGTH as u64 {
        return Err(malformed(
            path,
            "header",
            format!("a PC2 has 32 bytes of header, this file has {length}"),
        ));
    }
    file.read_at(0, &mut bytes)?;
    if &bytes[..12] != MAGIC {
        return Err(malformed(path, "header", "does not begin with POINTCACHE2"));
    }
    let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    let count = |at: usize, what: &str| {
        let count = i32::from_le_bytes(word(at));
        usize::try_from(count).map_err(|_| malformed(path, "header", format!("{count} {what}")))
    };
    let version = i32::from_le_bytes(word(12));
    if version != 1 {
        return Err(malformed(path, "header", format!("version {version} is not known; 1 is")));
    }
    let header = Header {
        frame_count: count(28, "frames")?,
        point_count: count(16, "points")?,
        data_offset: HEADER_LENGTH as u64,
        // the header counts in frames of a rate that it does not tell
        frame_rate_hz: None,
        big_endian: false,
    };
    check_length(path, &header, length)?;
    Ok(header)
}

/// Writes the cache, and the OBJ that it moves beside it.
pub(super) fn write(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    let mut file = AtomicFile::create(path)?;
    let point_count: usize = clip.meshes.iter().map(|mesh| mesh.point_count()).sum();
    let counted = |count: usize| {
        i32::try_from(count).map_err(|_| Error::Unsupported {
            path: path.to_path_buf(),
            problem: format!("PC2 counts up to {}, not to {count}", i32::MAX),
        })
    };
    file.append(MAGIC)?;
    file.append(&1_i32.to_le_bytes())?;
    file.append(&counted(point_count)?.to_le_bytes())?;
    file.append(&(options.start_frame.unwrap_or(0) as f32).to_le_bytes())?;
    file.append(&1_f32.to_le_bytes())?;
    file.append(&counted(clip.frame_count())?.to_le_bytes())?;
    write_frames(&mut file, clip, options, f32::to_le_bytes)?;
    finish(path, file, clip, options)
}

/// Appends all positions of all frames, one frame at a time.
pub(super) fn write_frames(
    file: &mut AtomicFile,
    clip: &Clip,
    options: &WriteOptions,
    to_bytes: impl Fn(f32) -> [u8; 4],
) -> Result<()> {
    let scale = 1.0 / options.unit_in_metres.unwrap_or(1.0);
    let mut bytes = Vec::new();
    for index in 0..clip.frame_count() {
        bytes.clear();
        for &value in clip.checked_frame(index)?.points.iter().flatten().flatten() {
            let value = if scale == 1.0 { value } else { (f64::from(value) * scale) as f32 };
            bytes.extend_from_slice(&to_bytes(value));
        }
        file.append(&bytes)?;
    }
    Ok(())
}

/// Gives the cache its name and writes the OBJ with the rest shape beside it.
pub(super) fn finish(path: &Path, file: AtomicFile, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    let rest =
        Frame { points: clip.meshes.iter().map(|mesh| mesh.rest_points.clone()).collect(), pose: Vec::new() };
    let mesh = obj_write::write_frame(&path.with_extension("obj"), clip, &rest, options)?;
    let bytes = file.finish()? + mesh.bytes;
    let files = [path.to_path_buf()].into_iter().chain(mesh.files).collect();
    Ok(Written { files, frames: clip.frame_count(), bytes, ..Written::default() })
}
