//! What can go wrong with a training.

use std::path::PathBuf;

/// Why nothing came out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file has mistakes, or a motion could not be baked.
    #[error(transparent)]
    Shot(#[from] shot::Error),
    /// Nothing could be learnt.
    #[error(transparent)]
    Upsample(#[from] upsample::Error),
    /// The operator could not be made.
    #[error("the operator: {0}")]
    Live(live::Error),
    /// No prior could be learnt.
    #[error(transparent)]
    Motion(#[from] motion::Error),
    /// A take could not be made to obey physics.
    #[error("take `{take}`: {error}")]
    Take {
        /// What it is called.
        take: String,
        /// What is wrong with it.
        error: motion::Error,
    },
    /// `relearn` without pairs.
    #[error("`{motion}` has only {have} of {need} pairs in {}", folder.display())]
    NotSimulated {
        /// The motion.
        motion: String,
        /// Pairs that are there.
        have: usize,
        /// Pairs that are needed.
        need: usize,
        /// Where they were looked for.
        folder: PathBuf,
    },
    /// Stopped by its user.
    #[error("stopped: `{motion}` has {done} of {of} frames")]
    Cancelled {
        /// The motion that was simulated.
        motion: String,
        /// Pairs that are done.
        done: usize,
        /// Pairs that it needs.
        of: usize,
    },
}

impl Error {
    /// What to do about it, where that is known.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::NotSimulated { .. } => Some("train once without --relearn"),
            Self::Upsample(upsample::Error::Apart { .. }) => {
                Some("both meshes must have the same rest shape, in metres; check `coarse` and `fine`")
            }
            Self::Upsample(upsample::Error::TooFine { .. }) => {
                Some("give a larger `detail`, or leave it out and it is chosen")
            }
            Self::Upsample(upsample::Error::NeverMoves { .. }) => {
                Some("learn from a motion in which the cloth moves")
            }
            _ => None,
        }
    }
}

impl From<live::Error> for Error {
    fn from(error: live::Error) -> Self {
        Self::Live(error)
    }
}

impl From<clip::Error> for Error {
    fn from(error: clip::Error) -> Self {
        Self::Shot(error.into())
    }
}
