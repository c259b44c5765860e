//! What can be wrong with shapes. Variants carry facts; the doors add the remedy.

/// Anything that goes wrong with building or combining shapes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// An index points past the last point.
    #[error("{element} {index} refers to point {point}, but there are {count} points")]
    NoSuchPoint {
        /// Tet or triangle.
        element: &'static str,
        /// Which one, from zero.
        index: usize,
        /// The point it asks for, from zero.
        point: u32,
        /// How many points there are.
        count: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("point {point}: a coordinate is not a finite number")]
    NotFinite {
        /// The point, from zero.
        point: usize,
    },
    /// A tet has no volume: a corner twice, or all in a plane.
    #[error("tet {tet} has no volume")]
    FlatTet {
        /// The tet, from zero.
        tet: usize,
    },
    /// A cell of a lattice is flat, bent too far or inside out.
    #[error("cell {cell} is flat, bent too far or inside out")]
    BadCell {
        /// The cell, from zero.
        cell: usize,
    },
    /// A vertex is said to be in a tet that does not exist.
    #[error("vertex {vertex} is said to be in tet {tet}, but there are {count} tets")]
    NoSuchTet {
        /// The vertex, from zero.
        vertex: usize,
        /// The tet it names, from zero.
        tet: u32,
        /// How many tets there are.
        count: usize,
    },
    /// Two lists that belong together differ in length.
    #[error("{what}: {found} were given, but {expected} were expected")]
    CountMismatch {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// There is nothing to work on.
    #[error("there are no {what}")]
    Empty {
        /// What there should be.
        what: &'static str,
    },
    /// The edge length asked for gives more cells than fit into memory.
    #[error("edges of {edge} are too short: there would be too many tets")]
    TooFine {
        /// The edge length asked for, in metres.
        edge: f64,
    },
}
