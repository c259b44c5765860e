//! A folder for the files that a benchmark writes.

use std::io;
use std::path::{Path, PathBuf};

/// A folder that goes when it is dropped. Not tempfile's: it would turn on features of others' crates that the program goes without, and
/// the program would be built again for every benchmark.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// One for this process.
    pub(crate) fn new() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("followthrough-benches-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // what cannot be removed is left to the system
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
