//! What can go wrong with a wedge, each with what to do.

use std::path::{Path, PathBuf};

/// Anything that goes wrong with planning, baking or submitting tries.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A `--vary` that cannot be understood, or that no try can have.
    #[error("--vary {vary}: {problem}")]
    Vary {
        /// What was given.
        vary: String,
        /// What is wrong with it.
        problem: String,
        /// What would be right.
        help: String,
    },
    /// A try whose shot has mistakes.
    #[error("with {values}: {source}")]
    Try {
        /// The values it has.
        values: String,
        /// What is wrong.
        source: Box<shot::Error>,
    },
    /// The folder holds no plan, or one that cannot be used.
    #[error("{}: {problem}", path.display())]
    Plan {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What to do.
        help: String,
    },
    /// Reading or baking a shot failed.
    #[error(transparent)]
    Shot(#[from] shot::Error),
    /// Someone else's engine refused.
    #[error("{program}: {problem}")]
    Engine {
        /// The program that was asked.
        program: String,
        /// What it said.
        problem: String,
        /// What to do.
        help: String,
    },
    /// A try was stopped; it goes on from its last frame.
    #[error("try {name} was stopped after {done} of {of} frames")]
    Stopped {
        /// The try.
        name: String,
        /// Frames that are there.
        done: usize,
        /// Frames that it needs.
        of: usize,
    },
}

impl Error {
    /// What to do about it.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Vary { help, .. } | Self::Plan { help, .. } | Self::Engine { help, .. } => {
                Some(help.clone())
            }
            Self::Stopped { .. } => {
                Some(String::from("nothing is lost; the same command goes on from there"))
            }
            Self::Try { source, .. } => source.remedy(),
            Self::Shot(error) => error.remedy(),
        }
    }

    /// What the system refused about a path.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        |source| shot::Error::io(path)(source).into()
    }

    pub(crate) fn vary(vary: impl Into<String>, problem: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Vary { vary: vary.into(), problem: problem.into(), help: help.into() }
    }
}
