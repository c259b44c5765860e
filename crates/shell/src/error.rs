//! What can be wrong with a cloth before it moves. Variants carry facts; the doors add the remedy.

/// Anything that keeps a mesh and a material from being a cloth.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A dial of the material is out of its range.
    #[error("material: `{field}` is {value}; allowed: {allowed}")]
    Material {
        /// The dial.
        field: &'static str,
        /// What it was set to.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// A dial of the wind is out of its range.
    #[error("wind: `{field}` is {value}; allowed: {allowed}")]
    Wind {
        /// The dial.
        field: &'static str,
        /// What it was set to.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// There is no preset of this name.
    #[error("no material preset is called `{name}`; there are {}", known.join(", "))]
    NoSuchPreset {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// The mesh has no triangles.
    #[error("the mesh has no triangles, so there is no cloth")]
    NoTriangles,
    /// A triangle refers to a point that is not there.
    #[error("triangle {triangle} refers to point {index}, but the mesh has {count} points")]
    IndexOutOfRange {
        /// The triangle, from zero.
        triangle: usize,
        /// The index it holds.
        index: u32,
        /// How many points there are.
        count: usize,
    },
    /// A rest position is NaN or infinite.
    #[error("rest position of point {point} is not a finite number")]
    NotFinite {
        /// The point, from zero.
        point: usize,
    },
    /// A list does not have one entry per point or triangle.
    #[error("{what} has {found} entries, {expected} are needed")]
    WrongLength {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length it should have.
        expected: usize,
    },
    /// A map holds a factor that is negative, NaN or infinite.
    #[error("{what}: the factor at point {point} is {value}; allowed: 0 to 1e6")]
    Factor {
        /// Which map.
        what: &'static str,
        /// The point, from zero.
        point: usize,
        /// The factor.
        value: f64,
    },
    /// Every triangle is degenerate or every mass is zero.
    #[error("the cloth has no mass: {degenerate} of {triangles} triangles have no area")]
    NoMass {
        /// Triangles without area.
        degenerate: usize,
        /// All triangles.
        triangles: usize,
    },
    /// No edge of the mesh runs along a thread.
    #[error("no edge of the mesh runs along warp or weft: {quads} quads in {faces} faces")]
    NoThreads {
        /// Quads, pairs of triangles included.
        quads: usize,
        /// All faces.
        faces: usize,
    },
}
