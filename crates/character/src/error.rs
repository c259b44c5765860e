//! What can be wrong with a character.

/// Anything that goes wrong with preparing or moving flesh. Variants carry facts; the doors add the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No joint moves any point.
    #[error("no point of the surface is moved by a joint: flesh needs a skin")]
    NoSkin,
    /// A joint's parent does not come before it.
    #[error("joint {joint} has a parent that does not come before it")]
    Parent {
        /// The joint, from zero.
        joint: usize,
    },
    /// A list does not fit the others.
    #[error("{what}: {found} were given, but {expected} were expected")]
    CountMismatch {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// An influence names a joint that is not there.
    #[error("point {point} is moved by joint {joint}, but there are {count}")]
    NoSuchJoint {
        /// The point, from zero.
        point: usize,
        /// The joint it names.
        joint: u32,
        /// How many joints there are.
        count: usize,
    },
    /// A lattice that is not around the skin.
    #[error(
        "the lattice leaves {outside} of {count} points of the skin outside: is it this character's, in metres, in the bind pose?"
    )]
    Outside {
        /// How many points are outside.
        outside: usize,
        /// How many there are.
        count: usize,
    },
    /// A number is NaN or infinite.
    #[error("{what} {index} is not a finite number")]
    NotFinite {
        /// What it belongs to.
        what: &'static str,
        /// Which one, from zero.
        index: usize,
    },
    /// A dial is out of its range.
    #[error("{what} is {value}; it must be {range}")]
    Range {
        /// Which dial.
        what: &'static str,
        /// What it is.
        value: f64,
        /// What it may be, in words.
        range: &'static str,
    },
    /// The bytes are not those of a packed character.
    #[error("these bytes are no packed flesh: {problem}")]
    Packed {
        /// What is wrong with them.
        problem: &'static str,
    },
    /// There is nothing to move between.
    #[error("there are no targets: one shape at one pose is the least")]
    NoTargets,
    /// Two targets of one name.
    #[error("two targets are called `{name}`")]
    SameName {
        /// The name.
        name: String,
    },
    /// Two targets at one pose.
    #[error("targets `{}` and `{}` are at one pose: which of them holds there?", names[0], names[1])]
    SamePose {
        /// Their names.
        names: [String; 2],
    },
    /// A sculpt that tets cannot follow.
    #[error(
        "target `{name}` turns {tets} tets inside out: its sculpt folds over itself or is mirrored; is it of this mesh, in the bind pose?"
    )]
    InsideOut {
        /// The target.
        name: String,
        /// How many tets.
        tets: usize,
    },
    /// A number of a target.
    #[error("target `{name}`: {problem}")]
    Target {
        /// The target.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// Elastic solids.
    #[error(transparent)]
    Solid(#[from] solid::Error),
    /// A shape.
    #[error(transparent)]
    Geometry(#[from] geometry::Error),
    /// The linear solver.
    #[error(transparent)]
    Linear(#[from] linear::Error),
    /// The engine.
    #[error(transparent)]
    Dynamics(#[from] dynamics::Error),
}
