//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
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
        let file =
            File::create(&temporary).map_err(|source| Error::Io { path: path.to_path_buf(), source })?;
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
    fn a_missing_folder_is_an_io_error_that_names_the_file() {
        let error = AtomicFile::create(Path::new("/nonexistent-folder/a.bin")).err().unwrap();
        assert!(matches!(error, Error::Io { ref path, .. } if path.ends_with("a.bin")), "{error}");
    }
}
