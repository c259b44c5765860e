//! Which files may be read, and what must be in them. Every reader opens files here and nowhere else.
//!
//! Names come from two sides. What the *user* names may lie anywhere. What a *file* names (the buffers and pictures of a
//! glTF, the materials of an OBJ, the parts of a .veg) is a stranger's choice: it must lie in that file's own folder,
//! links followed, or it is refused. On either side only plain files are opened, since a device has no end and a pipe
//! may never begin; and no read is longer than the file was when it was opened.
//!
//! With a [manifest](Files::with_manifest), what is in a file is fixed when it is first seen: other bytes are refused
//! before anybody uses them, and after [`Files::seal`] so is every file that was not seen before.

mod manifest;
mod plain;
mod setting;

use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Error, Result};

use manifest::Manifest;
pub use manifest::{FileHash, SourceFile};
pub(crate) use plain::PlainFile;
pub use setting::{FilePath, named_files};

/// How files are opened: from which folder relative names start, what a file may name, and what must be in them.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # std::fs::write(folder.path().join("weights.csv"), "1\n").unwrap();
/// let files = clip::Files::in_folder(folder.path()).with_manifest();
/// let weights = files.path("weights.csv");
/// assert_eq!(files.read(&weights)?, b"1\n");
/// files.seal();
/// std::fs::write(&weights, "2\n").unwrap();
/// assert!(matches!(files.read(&weights), Err(clip::Error::Changed { .. })));
/// # Ok::<(), clip::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Files {
    folder: PathBuf,
    allow_outside: bool,
    manifest: Option<Arc<Manifest>>,
    /// What was opened through this value and its clones, where somebody wants to know.
    opened: Option<Arc<Mutex<BTreeSet<PathBuf>>>>,
}

impl From<&Path> for Files {
    fn from(folder: &Path) -> Self {
        Self::in_folder(folder)
    }
}

impl From<&PathBuf> for Files {
    fn from(folder: &PathBuf) -> Self {
        Self::in_folder(folder)
    }
}

impl From<&Files> for Files {
    fn from(files: &Files) -> Self {
        files.clone()
    }
}

impl Files {
    /// Files whose relative names start in this folder; the default starts in the current one.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), ..Self::default() }
    }

    /// Lets files name others outside their own folder: for files that the user trusts.
    #[must_use]
    pub fn allow_outside(mut self, allowed: bool) -> Self {
        self.allow_outside = allowed;
        self
    }

    /// Begins a manifest: every file is hashed when it is first seen, and must stay what it was.
    #[must_use]
    pub fn with_manifest(mut self) -> Self {
        self.manifest = Some(Arc::default());
        self
    }

    /// Ends the manifest: from here on only files that are in it can be opened. Without a manifest this does nothing.
    pub fn seal(&self) {
        if let Some(manifest) = &self.manifest {
            manifest.seal();
        }
    }

    /// The folder where relative names start.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the user's name stands for.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }

    /// The whole of a file that the user names.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>> {
        self.open(path.as_ref())?.read_whole()
    }

    /// Takes a file into the manifest, or compares it as a whole with what is there; returns what it holds.
    pub fn hash(&self, path: impl AsRef<Path>) -> Result<FileHash> {
        let file = self.open(path.as_ref())?;
        match file.fingerprint() {
            Some(known) => {
                file.verify()?;
                Ok(known.hash())
            }
            None => Ok(file.take_fingerprint()?.hash()),
        }
    }

    /// The files of the manifest with their hashes, by their paths; empty without one.
    pub fn manifest(&self) -> Vec<SourceFile> {
        self.manifest.as_ref().map(|manifest| manifest.files()).unwrap_or_default()
    }

    /// Whether every file of the manifest is still what it was; those that were not written since are not read again.
    pub fn verify(&self) -> Result<()> {
        self.manifest.as_ref().map_or(Ok(()), |manifest| manifest.verify())
    }

    /// Opens a file that the user names.
    pub(crate) fn open(&self, path: &Path) -> Result<PlainFile> {
        let fingerprint = match &self.manifest {
            Some(manifest) => Some(manifest.entry(path)?),
            None => None,
        };
        let file = PlainFile::open(path, fingerprint)?;
        self.note(path);
        Ok(file)
    }

    /// Says that a file will be read later: it is noted, and taken into the manifest.
    pub(crate) fn expect(&self, path: &Path) -> Result<()> {
        self.note(path);
        match &self.manifest {
            Some(manifest) => manifest.entry(path).map(drop),
            None => Ok(()),
        }
    }

    /// Whether there is such a file. What came after the manifest was sealed is not there.
    pub fn is_file(&self, path: &Path) -> bool {
        match &self.manifest {
            Some(manifest) if manifest.is_sealed() => manifest.has(path),
            _ => path.is_file(),
        }
    }

    /// The names of the files in a folder, in any order. After the manifest was sealed, those that are in it.
    pub(crate) fn names_in(&self, folder: &Path) -> Result<Vec<String>> {
        if let Some(manifest) = self.manifest.as_ref().filter(|manifest| manifest.is_sealed()) {
            return Ok(manifest.names_in(folder));
        }
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let io = |source| Error::Io { path: folder.to_path_buf(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(folder).map_err(io)? {
            names.extend(entry.map_err(io)?.file_name().to_str().map(str::to_owned));
        }
        Ok(names)
    }

    /// The path of what the file `from` calls `name`, at `place` in it; refused when it leads out of that file's folder.
    /// Whether it is there is another question.
    pub(crate) fn beside(&self, from: &Path, place: &str, name: &str) -> Result<PathBuf> {
        let folder = from.parent().unwrap_or(Path::new(""));
        let path = folder.join(name);
        if self.allow_outside {
            return Ok(path);
        }
        let refused = |problem| {
            Err(Error::Outside { path: from.to_path_buf(), place: place.into(), name: name.into(), problem })
        };
        // a drive of Windows is absolute wherever the file is read
        let drive = name.as_bytes().get(1) == Some(&b':');
        let named = Path::new(name);
        if drive
            || !named
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir | Component::ParentDir))
        {
            return refused("is an absolute path");
        }
        if named.components().any(|part| part == Component::ParentDir) {
            return refused("leads out of the file's folder");
        }
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        match (fs::canonicalize(&path), fs::canonicalize(here)) {
            (Ok(target), Ok(here)) if !target.starts_with(&here) => {
                refused("is a link that leads out of the file's folder")
            }
            // what is not there cannot lead anywhere, and is missed when it is opened
            _ => Ok(path),
        }
    }

    /// The same files, with a list of its own of what is opened.
    pub(crate) fn noting(&self) -> Self {
        Self { opened: Some(Arc::default()), ..self.clone() }
    }

    /// What was opened or expected since [`Files::noting`], in order of the paths.
    pub(crate) fn noted(&self) -> Vec<PathBuf> {
        let noted = |opened: &Arc<Mutex<BTreeSet<PathBuf>>>| {
            opened.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
        };
        self.opened.as_ref().map(noted).unwrap_or_default()
    }

    fn note(&self, path: &Path) {
        if let Some(opened) = &self.opened {
            opened.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf());
        }
    }
}

/// What a thing that is no plain file is.
fn kind_of(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a pipe";
        } else if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        } else if kind.is_socket() {
            return "a socket";
        }
    }
    if kind.is_dir() { "a folder" } else { "something else" }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn folder_with(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        folder
    }

    #[test]
    fn what_a_file_names_lies_in_its_folder() {
        let folder = folder_with(&["in/a.gltf", "in/b.bin", "in/sub/c.bin", "out.bin"]);
        let from = folder.path().join("in/a.gltf");
        let beside = |name: &str| Files::default().beside(&from, "buffers[0]", name);
        for name in ["b.bin", "./b.bin", "sub/c.bin", "not there.bin"] {
            assert_eq!(beside(name).unwrap(), folder.path().join("in").join(name), "{name}");
        }
        let outside = folder.path().join("out.bin");
        for name in
            ["../out.bin", "sub/../../out.bin", "..", outside.to_str().unwrap(), "C:\\out.bin", "/dev/zero"]
        {
            let words = beside(name).unwrap_err().to_string();
            assert!(words.contains("buffers[0]") && words.contains(name), "{words}");
            assert!(Files::default().allow_outside(true).beside(&from, "buffers[0]", name).is_ok());
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_may_not_lead_out() {
        let folder = folder_with(&["in/a.gltf", "in/b.bin", "out/c.bin"]);
        let inside = folder.path().join("in");
        std::os::unix::fs::symlink("b.bin", inside.join("stays")).unwrap();
        std::os::unix::fs::symlink("../out/c.bin", inside.join("leaves")).unwrap();
        std::os::unix::fs::symlink("../out", inside.join("folder")).unwrap();
        let beside = |name: &str| Files::default().beside(&inside.join("a.gltf"), "images[0]", name);
        assert!(beside("stays").is_ok());
        for name in ["leaves", "folder/c.bin"] {
            assert!(beside(name).unwrap_err().to_string().contains("link"), "{name}");
        }
        // the user may name a link
        assert_eq!(Files::default().read(inside.join("leaves")).unwrap(), b"out/c.bin");
    }

    #[cfg(unix)]
    #[test]
    fn only_plain_files_are_opened() {
        let folder = folder_with(&["a.bin"]);
        let said = |path: &Path| Files::default().read(path).unwrap_err().to_string();
        assert!(said(Path::new("/dev/zero")).contains("a device"));
        assert!(said(folder.path()).contains("a folder"));
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("link")).unwrap();
        assert!(said(&folder.path().join("link")).contains("a device"));
        let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
        assert!(said(&folder.path().join("socket")).contains("a socket"));
        let pipe = folder.path().join("pipe");
        if std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
            assert!(said(&pipe).contains("a pipe"));
        }
    }

    #[test]
    fn files_that_were_changed_exchanged_or_lost_are_noticed() {
        let folder = folder_with(&["a.bin", "b.bin"]);
        let files = Files::in_folder(folder.path()).with_manifest();
        files.expect(&files.path("a.bin")).unwrap();
        files.expect(&files.path("b.bin")).unwrap();
        files.seal();
        files.verify().unwrap();
        // written again with the same bytes: nothing happened
        fs::write(files.path("a.bin"), "a.bin").unwrap();
        files.verify().unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(2);
        let touch = |name: &str| {
            File::options().write(true).open(files.path(name)).unwrap().set_modified(later).unwrap()
        };
        touch("b.bin");
        files.verify().unwrap();
        fs::write(files.path("b.bin"), "b,bin").unwrap();
        touch("b.bin");
        assert!(matches!(files.verify(), Err(Error::Changed { path }) if path.ends_with("b.bin")));
        fs::remove_file(files.path("b.bin")).unwrap();
        assert!(matches!(files.verify(), Err(Error::Changed { .. })));
    }

    #[test]
    fn after_sealing_nothing_new_is_there() {
        let folder = folder_with(&["a1.obj", "a2.obj"]);
        let files = Files::in_folder(folder.path()).with_manifest();
        files.read(files.path("a1.obj")).unwrap();
        files.expect(&files.path("a2.obj")).unwrap();
        files.seal();
        fs::write(folder.path().join("a3.obj"), "late").unwrap();
        assert!(files.is_file(&files.path("a2.obj")) && !files.is_file(&files.path("a3.obj")));
        let mut names = files.names_in(folder.path()).unwrap();
        names.sort();
        assert_eq!(names, ["a1.obj", "a2.obj"]);
        let words = files.read(files.path("a3.obj")).unwrap_err().to_string();
        assert!(words.contains("a3.obj") && words.contains("not there"), "{words}");
    }
}
