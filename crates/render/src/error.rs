//! What can go wrong on the way to a picture. Variants carry facts; the doors add the remedy.

use std::path::PathBuf;

/// Anything that goes wrong with making or saving pictures and films.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A picture without pixels, or with more than we are willing to hold.
    #[error(
        "a picture of {width} × {height} pixels cannot be made; each side must lie between 1 and {}",
        Self::LARGEST_SIDE
    )]
    Size {
        /// Pixels across.
        width: u32,
        /// Pixels down.
        height: u32,
    },
    /// A film's pictures must all be of one size.
    #[error("picture {index} of the film is {} × {} pixels; the first was {} × {}", found.0, found.1, expected.0, expected.1)]
    FilmSize {
        /// Which picture, from zero.
        index: usize,
        /// Width and height of the first picture.
        expected: (u32, u32),
        /// Width and height of this one.
        found: (u32, u32),
    },
    /// A film's frame rate must be a positive number.
    #[error("a film cannot run at {frame_rate_hz} frames per second")]
    FrameRate {
        /// What was asked for.
        frame_rate_hz: f64,
    },
    /// Nothing was given to show: a film or a sheet without pictures, a stage without clips.
    #[error("there is nothing to show: {what}")]
    Nothing {
        /// What is empty.
        what: &'static str,
    },
    /// The picture could not be encoded.
    #[error("the picture could not be encoded: {problem}")]
    Encoding {
        /// What the encoder said.
        problem: String,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The clip could not be read.
    #[error(transparent)]
    Clip(#[from] clip::Error),
}

impl Error {
    /// The longest side of a picture, in pixels: WebP's own limit.
    pub const LARGEST_SIDE: u32 = 16_383;
}

/// The result of anything that makes or saves pictures.
pub type Result<T> = std::result::Result<T, Error>;
