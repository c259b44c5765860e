//! A plain file, open for reading: every read is bounded by its length, and compared with its fingerprint.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::manifest::{BLOCK, Fingerprint};
use crate::{Error, Result};

/// An open file, as long as it was when it was opened.
#[derive(Debug)]
pub(crate) struct PlainFile {
    path: PathBuf,
    file: Mutex<File>,
    length: u64,
    fingerprint: Option<Arc<Fingerprint>>,
}

impl PlainFile {
    /// Opens a file that must be what its fingerprint says, if there is one.
    pub(super) fn open(path: &Path, fingerprint: Option<Arc<Fingerprint>>) -> Result<Self> {
        let io = |source| Error::Io { path: path.to_path_buf(), source };
        let plain = |kind: fs::FileType| match kind.is_file() {
            true => Ok(()),
            false => Err(Error::NotAFile { path: path.to_path_buf(), kind: super::kind_of(kind) }),
        };
        // looked at before it is opened, since opening a pipe waits; and after, in case it was exchanged meanwhile
        plain(fs::metadata(path).map_err(io)?.file_type())?;
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        plain(metadata.file_type())?;
        let length = metadata.len();
        if fingerprint.as_ref().is_some_and(|known| known.length != length) {
            return Err(Error::Changed { path: path.to_path_buf() });
        }
        Ok(Self { path: path.to_path_buf(), file: Mutex::new(file), length, fingerprint })
    }

    /// Bytes in the file.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_deref()
    }

    /// All of it.
    pub(crate) fn read_whole(&self) -> Result<Vec<u8>> {
        let too_large = || self.io(io::ErrorKind::OutOfMemory.into());
        let length = usize::try_from(self.length).map_err(|_| too_large())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| too_large())?;
        bytes.resize(length, 0);
        self.read_at(0, &mut bytes)?;
        Ok(bytes)
    }

    /// The first bytes, at most so many.
    pub(crate) fn start(&self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; count.min(usize::try_from(self.length).unwrap_or(count))];
        self.read_at(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Fills `bytes` from `offset` on.
    pub(crate) fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let end = offset.saturating_add(bytes.len() as u64);
        if end > self.length {
            return Err(self.io(io::ErrorKind::UnexpectedEof.into()));
        }
        let Some(known) = &self.fingerprint else { return self.fill(offset, bytes) };
        let mut scratch = Vec::new();
        let mut at = offset;
        while at < end {
            let index = at / BLOCK as u64;
            let (start, stop) = self.block(index);
            let wanted = (at - offset) as usize..(end.min(stop) - offset) as usize;
            let into = &mut bytes[wanted];
            // a block that is asked for in part is read whole, or its hash could not be told
            let block = if into.len() as u64 == stop - start {
                self.fill(start, into)?;
                &*into
            } else {
                scratch.resize((stop - start) as usize, 0);
                self.fill(start, &mut scratch)?;
                let from = (at - start) as usize;
                into.copy_from_slice(&scratch[from..from + into.len()]);
                scratch.as_slice()
            };
            if known.blocks.get(index as usize) != Some(&blake3::hash(block)) {
                return Err(self.changed());
            }
            at = stop;
        }
        Ok(())
    }

    /// Reads all of it and compares it with its fingerprint.
    pub(super) fn verify(&self) -> Result<()> {
        match &self.fingerprint {
            Some(known) if self.take_fingerprint()? != **known => Err(self.changed()),
            _ => Ok(()),
        }
    }

    /// Reads all of it and hashes what is there.
    pub(super) fn take_fingerprint(&self) -> Result<Fingerprint> {
        let count = self.length.div_ceil(BLOCK as u64);
        let mut block = vec![0; BLOCK.min(usize::try_from(self.length).unwrap_or(BLOCK))];
        let mut hash = |index| {
            let (start, stop) = self.block(index);
            let bytes = &mut block[..(stop - start) as usize];
            self.fill(start, bytes)?;
            Ok(blake3::hash(bytes))
        };
        let blocks = (0..count).map(&mut hash).collect::<Result<_>>()?;
        Ok(Fingerprint { length: self.length, blocks })
    }

    /// Where a block begins and ends.
    fn block(&self, index: u64) -> (u64, u64) {
        let start = index * BLOCK as u64;
        (start, (start + BLOCK as u64).min(self.length))
    }

    fn fill(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(bytes));
        match filled {
            // it was longer when it was opened
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.changed()),
            filled => filled.map_err(|source| self.io(source)),
        }
    }

    fn changed(&self) -> Error {
        Error::Changed { path: self.path.clone() }
    }

    fn io(&self, source: io::Error) -> Error {
        Error::Io { path: self.path.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use crate::Files;

    use super::*;

    /// Three blocks and a bit.
    fn long_file() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        let bytes: Vec<u8> = (0..3 * BLOCK + 100).map(|i| (i * 7 + i / 256) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        (folder, path, bytes)
    }

    #[test]
    fn a_part_is_what_stands_there() {
        let (_folder, path, bytes) = long_file();
        for files in [Files::default(), Files::default().with_manifest()] {
            let file = files.open(&path).unwrap();
            let block = BLOCK as u64;
            for (offset, count) in
                [(0, 1), (block - 1, 2), (block, BLOCK), (10, 2 * BLOCK), (3 * block, 100), (5, 0)]
            {
                let mut part = vec![0; count];
                file.read_at(offset, &mut part).unwrap();
                assert_eq!(part, bytes[offset as usize..offset as usize + count], "{count} from {offset}");
            }
            assert!(file.read_at(3 * block, &mut [0; 101]).is_err(), "beyond the end");
            assert_eq!(files.read(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn a_changed_block_is_refused_and_the_others_are_read() {
        let (_folder, path, mut bytes) = long_file();
        let files = Files::default().with_manifest();
        let before = files.hash(&path).unwrap();
        let file = files.open(&path).unwrap();
        bytes[BLOCK + 17] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let mut part = [0; 8];
        assert!(file.read_at(BLOCK as u64 - 8, &mut part).is_ok());
        assert!(file.read_at(2 * BLOCK as u64, &mut part).is_ok());
        assert!(matches!(file.read_at(BLOCK as u64, &mut part), Err(Error::Changed { .. })));
        assert!(matches!(files.read(&path), Err(Error::Changed { .. })));
        assert!(matches!(files.hash(&path), Err(Error::Changed { .. })));
        assert_ne!(Files::default().hash(&path).unwrap(), before);
        bytes[BLOCK + 17] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(files.hash(&path).unwrap(), before);
    }

    #[test]
    fn a_file_that_shrank_or_grew_is_refused() {
        let (_folder, path, bytes) = long_file();
        let files = Files::default().with_manifest();
        let file = files.open(&path).unwrap();
        for length in [bytes.len() - 1, 0] {
            fs::write(&path, &bytes[..length]).unwrap();
            assert!(matches!(file.read_whole(), Err(Error::Changed { .. })), "{length}");
            assert!(matches!(files.open(&path), Err(Error::Changed { .. })), "{length}");
        }
        fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
        assert!(matches!(files.open(&path), Err(Error::Changed { .. })));
    }
}
