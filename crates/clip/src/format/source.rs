//! A file that is read in pieces, when they are asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::malformed;
use crate::files::PlainFile;
use crate::{Files, Result};

/// An open file, or a run of bytes in one. No piece is longer than what the file has, so no number in a file can ask for
/// more memory than the file's own length.
#[derive(Clone)]
pub(super) struct Source {
    path: PathBuf,
    file: Arc<PlainFile>,
    start: u64,
    length: u64,
}

impl Source {
    pub(super) fn open(path: &Path, files: &Files) -> Result<Self> {
        let file = files.open(path)?;
        let length = file.length();
        Ok(Self { path: path.to_path_buf(), file: Arc::new(file), start: 0, length })
    }

    /// The bytes from `start` on as a source of their own.
    pub(super) fn part(&self, start: u64, length: u64) -> Self {
        let start = start.min(self.length);
        let length = length.min(self.length - start);
        Self { path: self.path.clone(), file: Arc::clone(&self.file), start: self.start + start, length }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// `length` bytes from `start` on.
    pub(super) fn bytes(&self, start: u64, length: u64) -> Result<Vec<u8>> {
        self.check(start, length)?;
        let mut bytes = vec![0; length as usize];
        self.read_into(start, &mut bytes)?;
        Ok(bytes)
    }

    /// Three floats after three floats, straight into place.
    pub(super) fn points(&self, start: u64, count: u64) -> Result<Vec<[f32; 3]>> {
        self.check(start, count.saturating_mul(12))?;
        let mut points = vec![[0.0_f32; 3]; count as usize];
        self.read_into(start, bytemuck::cast_slice_mut(&mut points))?;
        for value in points.as_flattened_mut() {
            *value = f32::from_bits(u32::from_le(value.to_bits()));
        }
        Ok(points)
    }

    fn check(&self, start: u64, length: u64) -> Result<()> {
        match start.checked_add(length) {
            Some(end) if end <= self.length => Ok(()),
            _ => {
                let problem = format!(
                    "{length} bytes are needed from here, but the file ends at {}: it was cut short or is damaged",
                    self.length
                );
                Err(malformed(&self.path, format!("byte {start}"), problem))
            }
        }
    }

    fn read_into(&self, start: u64, bytes: &mut [u8]) -> Result<()> {
        self.file.read_at(self.start + start, bytes)
    }
}
