//! What can go wrong with a body or a motion. Variants carry facts; the doors add the remedy.

/// Why a body could not be built or a motion not be solved for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A list does not have the length that the body or the take asks for.
    #[error("{what}: {expected} expected, {found} given")]
    Sizes {
        /// Which list.
        what: &'static str,
        /// The right length.
        expected: usize,
        /// The length given.
        found: usize,
    },
    /// A joint comes before its parent, or names one that is not there.
    #[error("joint `{joint}` must come after its parent")]
    Parent {
        /// Its name.
        joint: String,
    },
    /// A joint that floats freely hangs on another one, or a root does not float.
    #[error(
        "joint `{joint}`: the first joint, and only that one, floats freely; one figure at a time can be solved for"
    )]
    Root {
        /// Its name.
        joint: String,
    },
    /// A hinge without an axis.
    #[error("joint `{joint}` is a hinge, but its axis has no length")]
    Axis {
        /// Its name.
        joint: String,
    },
    /// A mass that is negative, or not a number; or a moving part that weighs nothing.
    #[error("joint `{joint}`: {mass} kg cannot be moved by forces; a part that moves needs a positive mass")]
    Mass {
        /// Its name.
        joint: String,
        /// The mass found.
        mass: f64,
    },
    /// A number of the input is NaN or infinite.
    #[error("{what}: frame {frame} has a number that is not finite")]
    NotFinite {
        /// Which list.
        what: &'static str,
        /// The first such frame.
        frame: usize,
    },
    /// A take too short to have an acceleration.
    #[error("{frames} frames are too few: a motion needs {needed} to have velocities and accelerations")]
    TooShort {
        /// How many there are.
        frames: usize,
        /// How many are needed.
        needed: usize,
    },
    /// A value outside of what makes sense.
    #[error("{what} is {value}; {expected}")]
    Value {
        /// Which value.
        what: &'static str,
        /// What was given.
        value: f64,
        /// What would do.
        expected: &'static str,
    },
    /// No name or shape tells which joints are feet.
    #[error("no feet were found among the joints ({joints}); name them")]
    NoFeet {
        /// The names there are.
        joints: String,
    },
    /// A mesh without a triangle that looks up.
    #[error("the mesh has no faces that look up, so nothing can stand on it")]
    NoGround,
    /// A key frame that the take does not have.
    #[error("key {key}: the take has frames 0 to {last}")]
    Key {
        /// The frame asked for.
        key: usize,
        /// The last one there is.
        last: usize,
    },
    /// Nothing to learn from.
    #[error("there are no takes to learn from")]
    NoExamples,
    /// A take of another skeleton than the prior's.
    #[error("the prior was learnt from another skeleton: {problem}")]
    OtherSkeleton {
        /// What differs.
        problem: String,
    },
    /// A file that is no prior, or not any more.
    #[error("the prior cannot be read: {problem}")]
    PriorFile {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The linear solver gave up.
    #[error(transparent)]
    Linear(#[from] linear::Error),
}
