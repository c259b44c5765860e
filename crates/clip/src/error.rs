//! What can be wrong with a clip or its file. Variants carry facts; the doors add the remedy.

use std::path::PathBuf;

/// Anything that goes wrong with reading, checking or writing clips.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file breaks its format's rules.
    #[error("{}: {place}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in the file: a line, an accessor, a byte offset.
        place: String,
        /// What is wrong and, where we know it, what to do.
        problem: String,
    },
    /// The format is not one we read or write.
    #[error("{}: {problem}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What is not supported and what is.
        problem: String,
    },
    /// A frame was asked for that the clip does not have.
    #[error("frame {index} was asked for, but the clip has {count} frames")]
    NoSuchFrame {
        /// The frame asked for, from zero.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("mesh `{mesh}`, frame {frame}, point {point}: a coordinate is not a finite number")]
    NotFinite {
        /// The mesh's name.
        mesh: String,
        /// The frame, from zero.
        frame: usize,
        /// The point, from zero.
        point: usize,
    },
}
