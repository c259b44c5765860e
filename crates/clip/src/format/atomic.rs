//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// A file under a temporary name in the target's folder. [`AtomicFile::finish`] renames it; dropping it before that
/// removes it and leaves what stood there untouched.
pub(crate) struct AtomicFile {
    path: PathBuf,
    temporary: PathBuf,
    file: Option<BufWriter<File>>,
    length: u64,
}

impl AtomicFile {
    /// Opens the temporary file.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&temporary);
        let file = file.map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
        let file = Some(BufWriter::with_capacity(1 << 18, file));
        Ok(Self { path: path.to_path_buf(), temporary, file, length: 0 })
    }

    /// Appends bytes.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64;
        self.act(|file| file.write_all(bytes))
    }

    /// Leaves a gap of zeros to be filled by [`AtomicFile::fill`].
    pub(crate) fn leave(&mut self, length: u64) -> Result<()> {
        self.length += length;
        let end = self.length;
        self.act(|file| file.seek(SeekFrom::Start(end)).map(|_| ()))
    }

    /// Writes over an earlier part of the file, then goes back to its end.
    pub(crate) fn fill(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let end = self.length;
        self.act(|file| {
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(bytes)?;
            file.seek(SeekFrom::Start(end)).map(|_| ())
        })
    }

    /// How long the file is so far.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The CRC-32 of everything from `start` on, as zip has it. Reads the file once more.
    pub(crate) fn checksum(&mut self, start: u64) -> Result<u32> {
        let mut crc = Crc32::new();
        let end = self.length;
        self.act(|file| {
            file.flush()?;
            let inner = file.get_mut();
            inner.seek(SeekFrom::Start(start))?;
            let mut buffer = vec![0_u8; 1 << 16];
            let mut left = end.saturating_sub(start);
            while left > 0 {
                let piece = left.min(buffer.len() as u64) as usize;
                inner.read_exact(&mut buffer[..piece])?;
                crc.update(&buffer[..piece]);
                left -= piece as u64;
            }
            inner.seek(SeekFrom::Start(end)).map(|_| ())
        })?;
        Ok(crc.finish())
    }

    /// An error about what this file would be.
    pub(crate) fn unsupported(&self, problem: &str) -> Error {
        Error::Unsupported { path: self.path.clone(), problem: problem.into() }
    }

    /// Gives the file its name; returns its size.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.act(BufWriter::flush)?;
        drop(self.file.take());
        match std::fs::rename(&self.temporary, &self.path) {
            Ok(()) => Ok(self.length),
            Err(source) => {
                // the name could not be taken, a folder stands there perhaps; the part must not stay
                let _ = std::fs::remove_file(&self.temporary);
                Err(Error::Io { path: self.path.clone(), source })
            }
        }
    }

    fn act(&mut self, act: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
        let result = match &mut self.file {
            Some(file) => act(file),
            None => Err(io::Error::other("the file is already finished")),
        };
        result.map_err(|source| Error::Io { path: self.path.clone(), source })
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // without this the buffer would be flushed into a file that is about to go
            drop(file.into_parts());
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}

/// CRC-32 (polynomial 0xEDB88320, reflected), a byte at a time.
struct Crc32 {
    table: [u32; 256],
    state: u32,
}

impl Crc32 {
    fn new() -> Self {
        let entry = |byte: usize| {
            (0..8).fold(byte as u32, |crc, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 })
        };
        Self { table: std::array::from_fn(entry), state: u32::MAX }
    }

    fn update(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.state = self.table[usize::from(self.state as u8 ^ byte)] ^ (self.state >> 8);
        }
    }

    fn finish(self) -> u32 {
        !self.state
    }
}

/// Writes a small file at once; returns its size.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<u64> {
    let mut file = AtomicFile::create(path)?;
    file.append(bytes)?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_abandoned_file_leaves_the_old_one_and_no_litter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write_whole(&path, b"old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.append(b"half of the new").unwrap();
        drop(file);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_gap_is_filled_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        let mut file = AtomicFile::create(&path).unwrap();
        file.leave(4).unwrap();
        file.append(b"tail").unwrap();
        file.fill(0, b"head").unwrap();
        file.append(b"!").unwrap();
        assert_eq!(file.finish().unwrap(), 9);
        assert_eq!(std::fs::read(&path).unwrap(), b"headtail!");
    }

    #[test]
    fn the_checksum_is_that_of_zip() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(&folder.path().join("a.bin")).unwrap();
        file.append(b"head 123456789").unwrap();
        assert_eq!(file.checksum(5).unwrap(), 0xcbf4_3926, "the check value of CRC-32");
        file.append(b"!").unwrap();
        assert_eq!(file.finish().unwrap(), 15);
    }

    #[test]
    fn a_missing_folder_is_an_io_error_that_names_the_file() {
        let error = AtomicFile::create(Path::new("/nonexistent-folder/a.bin")).err().unwrap();
        assert!(matches!(error, Error::Io { ref path, .. } if path.ends_with("a.bin")), "{error}");
    }
}
