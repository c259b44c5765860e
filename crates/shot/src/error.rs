//! What can go wrong with a shot. Variants carry facts; the help names what to do.

use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostics;
use crate::layer::LayerError;

/// Anything that goes wrong with reading, checking or baking a shot.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Error {
    /// The shot file says something that cannot be.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(#[from] Diagnostics),
    /// A value given with `--set` does not fit the shot.
    #[error("--set {setting}: {problem}")]
    Override {
        /// What was given.
        setting: String,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        #[help]
        help: Option<String>,
    },
    /// A path of keys does not lead to a selector.
    #[error("{path}: {problem}")]
    Selection {
        /// The path.
        path: String,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        #[help]
        help: Option<String>,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
        /// What to do.
        #[help]
        help: Option<String>,
    },
    /// No space is left.
    #[error("{}: the disk is full", path.display())]
    #[diagnostic(help(
        "the frames baked so far are safe; make room and run the same command again to go on from there"
    ))]
    DiskFull {
        /// The file that no longer fitted.
        path: PathBuf,
    },
    /// Reading or writing a clip failed.
    #[error(transparent)]
    Clip(#[from] clip::Error),
    /// Another bake is at work in the same folder.
    #[error("another bake is at work in {}", folder.display())]
    #[diagnostic(help("wait for it to end, or give this one another folder with --out"))]
    Locked {
        /// The bake folder.
        folder: PathBuf,
    },
    /// A layer could not be prepared.
    #[error("layer `{layer}` could not be prepared: {failure}")]
    Prepare {
        /// The layer's name.
        layer: String,
        /// Why.
        #[source]
        failure: LayerError,
        /// The dial to turn.
        #[help]
        help: Option<String>,
    },
    /// A layer failed in a frame.
    #[error("layer `{layer}`, frame {frame}: {failure}")]
    Frame {
        /// The layer's name.
        layer: String,
        /// The frame, from zero.
        frame: usize,
        /// Why.
        #[source]
        failure: LayerError,
        /// The dial to turn.
        #[help]
        help: Option<String>,
    },
    /// A layer's result is not a number.
    #[error("layer `{layer}`, frame {frame}: point {point} of mesh `{mesh}` is not a finite number")]
    #[diagnostic(help(
        "the simulation blew up or its input did: look at the frames before, soften the material or give it smaller steps"
    ))]
    NotFinite {
        /// The layer's name.
        layer: String,
        /// The frame, from zero.
        frame: usize,
        /// The mesh's name.
        mesh: String,
        /// The point, from zero.
        point: usize,
    },
    /// The frames asked for are not there.
    #[error("frames {first}-{last} were asked for, but the input has frames 0-{}", count.saturating_sub(1))]
    NoSuchFrames {
        /// First frame asked for.
        first: usize,
        /// Last frame asked for.
        last: usize,
        /// How many there are.
        count: usize,
    },
    /// The bake was stopped by its user.
    #[error("stopped: layer `{layer}` has {done} of {of} frames")]
    #[diagnostic(help("nothing is lost: run the same command again to go on from frame {done}"))]
    Cancelled {
        /// The layer that was at work.
        layer: String,
        /// Frames that are done.
        done: usize,
        /// Frames that were asked for.
        of: usize,
    },
    /// Frames were asked for without baking, and they are not there.
    #[error("layer `{layer}` has only {have} of {need} frames in {}", folder.display())]
    #[diagnostic(help(
        "bake the shot first with `followthrough bake`, or name the folder it was baked to with --out; `render --input` shows what goes in"
    ))]
    NotBaked {
        /// The layer's name.
        layer: String,
        /// Frames that are there.
        have: usize,
        /// Frames that are needed.
        need: usize,
        /// Where they were looked for.
        folder: PathBuf,
    },
    /// The threads could not be started.
    #[error("{threads} threads could not be started: {problem}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What went wrong.
        problem: String,
    },
}

impl Error {
    /// What to do about it.
    pub fn remedy(&self) -> Option<String> {
        miette::Diagnostic::help(self).map(|help| help.to_string())
    }

    /// What the system refused about this path, with a full disk told apart.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                let help =
                    Some(String::from("choose a folder that can be written with --out or [output] folder"));
                Self::Io { path, source, help }
            }
            _ => Self::Io { path, source, help: None },
        }
    }
}
