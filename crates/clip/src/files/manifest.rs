//! What was in files when they were first seen.
//!
//! A file is hashed block by block, so that a frame of a long point cache is checked by the blocks that it lies in: the
//! whole file is hashed once, and after that no more is read than is asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::PlainFile;
use crate::{Error, Result};

/// Bytes that are hashed together: 32 bytes of hash for each are a ten-thousandth of the file, and a frame reads at
/// most two blocks more than it needs.
pub(super) const BLOCK: usize = 1 << 18;

/// The hash of everything in a file (BLAKE3 over its length and the hashes of its blocks).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileHash([u8; 32]);

impl FileHash {
    /// The hash itself.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for FileHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

/// A file of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// As it was opened.
    pub path: PathBuf,
    /// What was in it.
    pub hash: FileHash,
}

/// A file's length and the hash of each of its blocks; the last may be short.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(super) length: u64,
    pub(super) blocks: Vec<blake3::Hash>,
}

impl Fingerprint {
    pub(crate) fn hash(&self) -> FileHash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.length.to_le_bytes());
        for block in &self.blocks {
            hasher.update(block.as_bytes());
        }
        FileHash(*hasher.finalize().as_bytes())
    }
}

/// Files and what is in them. It grows until it is sealed.
#[derive(Debug, Default)]
pub(super) struct Manifest(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    files: BTreeMap<PathBuf, Entry>,
    sealed: bool,
}

#[derive(Debug)]
struct Entry {
    fingerprint: Arc<Fingerprint>,
    /// When it was written last, where the system tells.
    modified: Option<SystemTime>,
}

impl Entry {
    fn of(path: &Path) -> Result<Self> {
        // asked for before it is read: a change meanwhile makes it look changed later, not the other way round
        let modified = modified(path);
        let fingerprint = Arc::new(PlainFile::open(path, None)?.take_fingerprint()?);
        Ok(Self { fingerprint, modified })
    }

    /// Whether a file is what it was. One that was neither written nor exchanged need not be read for that.
    fn verify(&self, path: &Path) -> Result<()> {
        let untouched = self.modified.is_some() && self.modified == modified(path);
        let file = PlainFile::open(path, Some(Arc::clone(&self.fingerprint)));
        match file {
            Ok(_) if untouched => Ok(()),
            Ok(file) => file.verify(),
            Err(_) => Err(Error::Changed { path: path.to_path_buf() }),
        }
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

impl Manifest {
    /// What is in a file, as far as the manifest knows; a new one is hashed.
    pub(super) fn entry(&self, path: &Path) -> Result<Arc<Fingerprint>> {
        let mut entries = self.entries();
        if let Some(known) = entries.files.get(path) {
            return Ok(Arc::clone(&known.fingerprint));
        }
        if entries.sealed {
            return Err(Error::NotInManifest { path: path.to_path_buf() });
        }
        let entry = Entry::of(path)?;
        let fingerprint = Arc::clone(&entry.fingerprint);
        entries.files.insert(path.to_path_buf(), entry);
        Ok(fingerprint)
    }

    /// Whether every file is what it was.
    pub(super) fn verify(&self) -> Result<()> {
        self.entries().files.iter().try_for_each(|(path, entry)| entry.verify(path))
    }

    pub(super) fn seal(&self) {
        self.entries().sealed = true;
    }

    pub(super) fn is_sealed(&self) -> bool {
        self.entries().sealed
    }

    pub(super) fn has(&self, path: &Path) -> bool {
        self.entries().files.contains_key(path)
    }

    pub(super) fn names_in(&self, folder: &Path) -> Vec<String> {
        let entries = self.entries();
        let inside = entries.files.keys().filter(|path| path.parent() == Some(folder));
        inside.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
    }

    pub(super) fn files(&self) -> Vec<SourceFile> {
        let file = |(path, entry): (&PathBuf, &Entry)| {
            let hash = entry.fingerprint.hash();
            SourceFile { path: path.clone(), hash }
        };
        self.entries().files.iter().map(file).collect()
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
