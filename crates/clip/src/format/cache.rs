//! Point caches over an OBJ: what PC2 and MDD have in common. Frames are read from disk when they are asked for.

use std::path::Path;
use std::sync::Arc;

use super::sequence::split_points;
use super::{DEFAULT_FRAME_RATE_HZ, Format, ReadOptions, locate_point, malformed, mdd, name_of, pc2};
use crate::files::PlainFile;
use crate::{Clip, Error, Frame, Frames, Result};

/// What a cache's header says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub(super) frame_count: usize,
    pub(super) point_count: usize,
    /// Where the first frame begins.
    pub(super) data_offset: u64,
    /// Frames per second, in formats that say so.
    pub(super) frame_rate_hz: Option<f64>,
    pub(super) big_endian: bool,
}

/// Reads a cache and the OBJ that it moves.
pub(super) fn read(cache: &Path, mesh: &Path, options: &ReadOptions) -> Result<Clip> {
    let file = options.files.open(cache)?;
    let header = match Format::detect_among(&options.files, cache)?.extension() {
        "pc2" => pc2::read_header(cache, &file)?,
        "mdd" => mdd::read_header(cache, &file)?,
        _ => {
            let problem = "not a point cache; those are .pc2 and .mdd".into();
            return Err(Error::Unsupported { path: cache.to_path_buf(), problem });
        }
    };
    if !options.files.is_file(mesh) {
        let problem = format!("{} is not there; name the OBJ that the cache moves", mesh.display());
        return Err(malformed(cache, "its mesh", problem));
    }
    let alone = ReadOptions { single: true, cache: None, ..options.clone() };
    let scene = super::read(mesh, &alone)?;
    let point_counts: Vec<usize> = scene.meshes.iter().map(|mesh| mesh.point_count()).collect();
    let point_count = point_counts.iter().sum::<usize>();
    if header.point_count != point_count {
        let problem = format!(
            "the cache moves {} points, but {} has {point_count}; name the OBJ that it was made from",
            header.point_count,
            mesh.display()
        );
        return Err(malformed(cache, "header", problem));
    }
    // a cache without times plays at the rate asked for; one that has its own lasts as long at any
    let rate = header.frame_rate_hz.or(options.frame_rate_hz).unwrap_or(DEFAULT_FRAME_RATE_HZ);
    let frames = CacheFrames {
        file,
        header,
        point_counts,
        mesh_names: scene.meshes.iter().map(|mesh| mesh.name.clone()).collect(),
        scale: options.unit_in_metres.unwrap_or(1.0),
    };
    let mut clip = scene.with_frames(Arc::new(frames));
    clip.frame_rate_hz = rate;
    clip.name = name_of(cache);
    Ok(clip.resampled(options.frame_rate_hz.unwrap_or(rate)))
}

/// Checks that the file is as long as its header promises, before anything is allocated.
pub(super) fn check_length(path: &Path, header: &Header, length: u64) -> Result<()> {
    let data = (header.frame_count as u128) * (header.point_count as u128) * 12;
    let needed = u128::from(header.data_offset) + data;
    if needed > u128::from(length) {
        let problem = format!(
            "{} frames of {} points need {needed} bytes, but the file has {length}: it was cut short or is damaged",
            header.frame_count, header.point_count
        );
        return Err(malformed(path, "header", problem));
    }
    Ok(())
}

struct CacheFrames {
    file: PlainFile,
    header: Header,
    point_counts: Vec<usize>,
    mesh_names: Vec<String>,
    scale: f64,
}

impl Frames for CacheFrames {
    fn count(&self) -> usize {
        self.header.frame_count
    }

    fn read(&self, index: usize) -> Result<Frame> {
        if index >= self.header.frame_count {
            return Err(Error::NoSuchFrame { index, count: self.header.frame_count });
        }
        let mut points = vec![[0.0_f32; 3]; self.header.point_count];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut points);
        let offset = self.header.data_offset + (index * bytes.len()) as u64;
        self.file.read_at(offset, bytes)?;
        let big_endian = self.header.big_endian;
        for (point, values) in points.iter_mut().enumerate() {
            for value in &mut *values {
                let bits = value.to_bits();
                let read = f32::from_bits(if big_endian { u32::from_be(bits) } else { u32::from_le(bits) });
                *value = if self.scale == 1.0 { read } else { (f64::from(read) * self.scale) as f32 };
            }
            if !values.iter().all(|c| c.is_finite()) {
                let (mesh, point) = locate_point(&self.point_counts, point);
                return Err(Error::NotFinite { mesh: self.mesh_names[mesh].clone(), frame: index, point });
            }
        }
        Ok(Frame { points: split_points(points, &self.point_counts), pose: Vec::new() })
    }
}
