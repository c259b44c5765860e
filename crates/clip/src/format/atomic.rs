//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// A file under a temporary name in the target's folder. [`AtomicFile::finish`] renames it; dropping it before that
/// removes it and leaves what stood there untouched. A process that is killed leaves it lying: it was locked, and the lock
/// is gone with the process, by which [`sweep`] knows it.
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
        // where the file system knows no locks, nothing is swept either
        let _ = file.try_lock();
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

/// Removes what killed processes left of files whose names begin as that of `path` does: parts that nobody writes.
pub(crate) fn sweep(path: &Path) {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    // of a sequence, what stands before the number
    let stem = stem.split(['#', '%']).next().unwrap_or_default();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let of_ours = name.strip_prefix('.').and_then(|name| name.strip_suffix(".part"));
        let Some((target, process)) = of_ours.and_then(|name| name.rsplit_once('.')) else { continue };
        if !target.starts_with(stem) || process.parse::<u32>().is_err() {
            continue;
        }
        let unlocked =
            File::options().write(true).open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if unlocked {
            // litter that cannot be removed is no reason not to write
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Writes a file that is there whole or not at all; returns its size.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<u64> {
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
    fn parts_of_killed_processes_are_swept_and_those_in_work_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let names = || {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        for name in
            [".flag.glb.4000000000.part", ".flag.0007.obj.17.part", ".cape.glb.17.part", ".flag.notes.part"]
        {
            std::fs::write(folder.path().join(name), "half").unwrap();
        }
        let in_work = AtomicFile::create(&folder.path().join("flag.pc2")).unwrap();
        sweep(&folder.path().join("flag.####.obj"));
        let at_work = format!(".flag.pc2.{}.part", std::process::id());
        assert_eq!(names(), [".cape.glb.17.part", ".flag.notes.part", &at_work]);
        in_work.finish().unwrap();
        assert_eq!(names(), [".cape.glb.17.part", ".flag.notes.part", "flag.pc2"]);
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
