//! What can go wrong with a linear system. Variants carry facts; the layer above knows the remedy.

/// Why a system could not be prepared or solved.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// An array does not have the length that the pattern or the rows ask for.
    #[error("{what} has {found} entries where {expected} are needed")]
    SizeMismatch {
        /// Which array.
        what: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A stencil or a row names a point that does not exist.
    #[error("point {point} was named, but there are {count} points")]
    NoSuchPoint {
        /// The point, from zero.
        point: usize,
        /// How many there are.
        count: usize,
    },
    /// The matrix is for another pattern than the solver.
    #[error("the matrix has another pattern than the solver was made for")]
    OtherPattern,
    /// The rows have other supports than those that the solver was made for.
    #[error("the rows have other supports than the solver was made for")]
    OtherRows,
    /// An entry of the matrix, the rows or the right-hand side is NaN or infinite.
    #[error("{what}: entry {index} is not a finite number")]
    NotFinite {
        /// Which array.
        what: &'static str,
        /// The first such entry: a point, a row or a block.
        index: usize,
    },
    /// Elimination met a pivot that is not positive: the matrix is indefinite or a part of it is not held.
    #[error("the matrix is not positive definite at point {point}")]
    NotPositiveDefinite {
        /// The point whose pivot failed.
        point: usize,
    },
    /// A hard row is empty, rests on known points alone, or repeats other rows.
    #[error("constraint row {row} is empty, rests on known points alone, or follows from other rows")]
    SingularRow {
        /// The row, from zero.
        row: usize,
    },
    /// The residual stayed above the tolerance.
    #[error("relative residual {residual:.3e} after {iterations} iterations")]
    NotConverged {
        /// The relative residual reached.
        residual: f64,
        /// Iterations spent.
        iterations: usize,
    },
    /// The factor needs more memory than can be had.
    #[error("the factor needs {bytes} bytes, which could not be allocated")]
    OutOfMemory {
        /// How many bytes.
        bytes: usize,
    },
}
