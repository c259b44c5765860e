//! What can be wrong with surfaces given to detection or audit. Variants carry facts; the doors add the remedy.

/// Anything that goes wrong while surfaces are taken in.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A triangle refers to a point that is not there.
    #[error("{surface}: triangle {triangle} refers to point {point}, but there are {count} points")]
    NoSuchPoint {
        /// The surface's name.
        surface: String,
        /// The triangle, from zero.
        triangle: usize,
        /// The point it names.
        point: u32,
        /// How many points there are.
        count: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("{surface}: point {point} is not at a finite place")]
    NotFinite {
        /// The surface's name.
        surface: String,
        /// The point, from zero.
        point: usize,
    },
    /// A dial is outside the range in which it means something.
    #[error("{surface}: {dial} is {value}, but must be {range}")]
    OutOfRange {
        /// The surface's name.
        surface: String,
        /// Which dial.
        dial: &'static str,
        /// What it was set to.
        value: f64,
        /// What it may be, in words.
        range: &'static str,
    },
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
    /// More points, edges or triangles than 32-bit numbers can name.
    #[error("{count} {what} are more than can be numbered; split the scene")]
    TooMany {
        /// Points or triangles.
        what: &'static str,
        /// How many.
        count: usize,
    },
}
