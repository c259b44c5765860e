//! What can go wrong in a step. Variants carry facts; the doors add the remedy.

/// Anything that goes wrong while a body is built or moved.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Two lists that belong together differ in length.
    #[error("{what}: {expected} expected, {got} given")]
    Sizes {
        /// Which list.
        what: &'static str,
        /// The right length.
        expected: usize,
        /// The length given.
        got: usize,
    },
    /// A free point weighs nothing, less, or is not a number.
    #[error("point {point} has a mass of {mass} kg; a point that moves needs a positive one")]
    Mass {
        /// The point, from zero.
        point: usize,
        /// Its mass.
        mass: f64,
    },
    /// An element refers to a point that is not there.
    #[error("an element refers to point {point}, but there are {count} points")]
    Point {
        /// The point, from zero.
        point: usize,
        /// How many there are.
        count: usize,
    },
    /// No step, however short, could be solved.
    #[error(
        "at {time:.4} s a step of {step:.1e} s did not converge in {iterations} iterations (still moving by {residual:.1e} m)"
    )]
    Diverged {
        /// Simulated seconds.
        time: f64,
        /// The step tried last.
        step: f64,
        /// Newton iterations spent on it.
        iterations: usize,
        /// How far points still moved in the last iteration, in metres.
        residual: f64,
    },
    /// A filter could correct no step, however short.
    #[error("at {time:.4} s not even a step of {step:.1e} s could be corrected to what the filters ask")]
    Refused {
        /// Simulated seconds.
        time: f64,
        /// The step tried last.
        step: f64,
    },
    /// More than a tenth of a frame went by in the shortest steps there are.
    #[error(
        "at {time:.4} s time passes only in steps of {step:.1e} s because of point {point} near ({:.3}, {:.3}, {:.3})",
        place[0], place[1], place[2]
    )]
    Stuck {
        /// Simulated seconds.
        time: f64,
        /// The step taken last.
        step: f64,
        /// The point whose velocity changes most, from zero.
        point: usize,
        /// Where it is, in metres.
        place: [f64; 3],
    },
    /// A coordinate became NaN or infinite.
    #[error("at {time:.4} s point {point} is no longer at a finite place")]
    NotFinite {
        /// Simulated seconds.
        time: f64,
        /// The point, from zero.
        point: usize,
    },
    /// Bodies that were to be solved for together differ in what they must share.
    #[error("bodies that are simulated together need the same {what}")]
    Disagree {
        /// What.
        what: &'static str,
    },
    /// Somebody asked it to stop.
    #[error("cancelled")]
    Cancelled,
    /// What went wrong, in the words of the actor it happened to.
    #[error("{sentence}")]
    Explained {
        /// What, and where.
        sentence: String,
        /// What to do.
        remedy: String,
    },
    /// What moves the body could not do its part.
    #[error(transparent)]
    Actor(Box<dyn std::error::Error + Send + Sync>),
    /// What the body may not pass through cannot be worked with.
    #[error(transparent)]
    Contact(Box<dyn std::error::Error + Send + Sync>),
    /// The linear solver gave up.
    #[error(transparent)]
    Linear(#[from] linear::Error),
}
