//! What can be wrong with meshes and pairs.

/// Why nothing could be learnt.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A frame with another number of points.
    #[error("frame {frame} has {found} {which} points where the first has {expected}")]
    PointCount {
        /// Which of the meshes.
        which: &'static str,
        /// The frame.
        frame: usize,
        /// Its points.
        found: usize,
        /// Points of the first frame.
        expected: usize,
    },
    /// There is nothing to learn from.
    #[error("there are no frames to learn from")]
    NoFrames,
    /// All frames are alike.
    #[error("the coarse cloth never moves in the {frames} frames given: there is nothing to learn from it")]
    NeverMoves {
        /// How many frames.
        frames: usize,
    },
    /// A coordinate that is no number.
    #[error("frame {frame}: {which} point {point} is not a finite number")]
    NotFinite {
        /// Which of the meshes.
        which: &'static str,
        /// The frame.
        frame: usize,
        /// The point.
        point: usize,
    },
    /// Meshes that are not of the same surface.
    #[error(
        "the meshes do not lie on each other: fine point {point} is {distance:.3} m from the coarse surface, whose edges are {edge:.3} m long"
    )]
    Apart {
        /// The farthest fine point.
        point: usize,
        /// How far, in m.
        distance: f64,
        /// Mean length of the coarse edges.
        edge: f64,
    },
    /// A mesh that is no surface.
    #[error("{which} point {point} belongs to no triangle with an area")]
    LoosePoint {
        /// Which of the meshes.
        which: &'static str,
        /// The point.
        point: usize,
    },
    /// Folds that the mesh cannot show.
    #[error("detail of {detail} m is finer than the fine mesh, whose edges are {edge:.4} m long")]
    TooFine {
        /// What was asked for.
        detail: f64,
        /// Mean length of the fine edges.
        edge: f64,
    },
    /// More functions than points.
    #[error("{count} harmonics of a mesh of {points} points")]
    TooManyHarmonics {
        /// What was asked for.
        count: usize,
        /// The points.
        points: usize,
    },
    /// A dial that makes no sense.
    #[error("{what} cannot be {value}")]
    OutOfRange {
        /// Which.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// The coarse cloth could not be simulated.
    #[error("the coarse cloth: {0}")]
    Live(live::Error),
    /// The fine cloth could not be made.
    #[error("the fine cloth: {0}")]
    Shell(shell::Error),
    /// The fine cloth could not be simulated.
    #[error("the fine cloth: {0}")]
    Dynamics(dynamics::Error),
    /// Linear algebra failed.
    #[error("harmonics: {0}")]
    Linear(#[from] linear::Error),
}
