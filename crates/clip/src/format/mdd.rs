//! MDD, LightWave's point cache: counts, a time in seconds for each frame, float positions, all big-endian.

use std::path::Path;

use super::atomic::AtomicFile;
use super::cache::{Header, check_length};
use super::pc2::{finish, write_frames};
use super::{WriteOptions, Written, malformed};
use crate::files::PlainFile;
use crate::{Clip, Error, Result};

/// Reads counts and times.
pub(super) fn read_header(path: &Path, file: &PlainFile) -> Result<Header> {
    let length = file.length();
    if length < 8 {
        return Err(malformed(path, "header", format!("an MDD begins with 8 bytes, this file has {length}")));
    }
    let mut counts = [[0_u8; 4]; 2];
    file.read_at(0, counts.as_flattened_mut())?;
    let count = |bytes: [u8; 4], what: &str| {
        let count = i32::from_be_bytes(bytes);
        usize::try_from(count).map_err(|_| malformed(path, "header", format!("{count} {what}")))
    };
    let frame_count = count(counts[0], "frames")?;
    let mut header = Header {
        frame_count,
        point_count: count(counts[1], "points")?,
        data_offset: 8 + 4 * frame_count as u64,
        frame_rate_hz: None,
        big_endian: true,
    };
    check_length(path, &header, length)?;
    let mut times = vec![[0_u8; 4]; frame_count];
    file.read_at(8, times.as_flattened_mut())?;
    let times: Vec<f64> = times.into_iter().map(|bytes| f64::from(f32::from_be_bytes(bytes))).collect();
    header.frame_rate_hz = rate_of(&times);
    Ok(header)
}

/// Frames per second on average; `None` when the times do not run.
fn rate_of(times: &[f64]) -> Option<f64> {
    let (first, last) = (times.first()?, times.last()?);
    let rate = (times.len() - 1) as f64 / (last - first);
    // float times of a whole rate give it back but for the last digits
    let whole = rate.round();
    let rate = if (rate - whole).abs() < 1e-4 * whole { whole } else { rate };
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

/// Writes the cache, and the OBJ that it moves beside it.
pub(super) fn write(path: &Path, clip: &Clip, options: &WriteOptions) -> Result<Written> {
    let mut file = AtomicFile::create(path)?;
    let point_count: usize = clip.meshes.iter().map(|mesh| mesh.point_count()).sum();
    for count in [clip.frame_count(), point_count] {
        let count = i32::try_from(count).map_err(|_| Error::Unsupported {
            path: path.to_path_buf(),
            problem: format!("MDD counts up to {}, not to {count}", i32::MAX),
        })?;
        file.append(&count.to_be_bytes())?;
    }
    let start = f64::from(options.start_frame.unwrap_or(0));
    for index in 0..clip.frame_count() {
        file.append(&(((start + index as f64) / clip.frame_rate_hz) as f32).to_be_bytes())?;
    }
    write_frames(&mut file, clip, options, f32::to_be_bytes)?;
    finish(path, file, clip, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_comes_from_the_times() {
        let times: Vec<f64> = (0..70).map(|i| f64::from(i as f32 / 30.0)).collect();
        assert_eq!(rate_of(&times), Some(30.0));
        assert_eq!(rate_of(&[0.0]), None);
        assert_eq!(rate_of(&[0.0, 0.0]), None);
        let rate = rate_of(&[0.0, 1.0 / 23.976, 2.0 / 23.976]).unwrap();
        assert!((rate - 23.976).abs() < 1e-9);
    }
}
