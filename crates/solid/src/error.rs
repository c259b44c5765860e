//! What can be wrong with a solid before it moves. Variants carry facts; the doors add the remedy.

/// Anything that keeps tets and materials from being a solid, or an animation from being fitted.
#[derive(Debug, thiserror::Error)]
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
    /// There is no preset of this name.
    #[error("no material preset is called `{name}`; there are {}", known.join(", "))]
    NoSuchPreset {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// A list that belongs to points or vertices has another length.
    #[error("{what}: {expected} expected, {got} given")]
    Sizes {
        /// Which list.
        what: &'static str,
        /// The right length.
        expected: usize,
        /// The length given.
        got: usize,
    },
    /// A weight outside of [0, 1] or not a number.
    #[error("{what}: the weight of vertex {vertex} is {weight}; allowed: 0 to 1")]
    Weight {
        /// Which map.
        what: &'static str,
        /// The vertex, from zero.
        vertex: usize,
        /// Its weight.
        weight: f64,
    },
    /// A tet has no positive volume at rest.
    #[error("tet {tet} has no positive volume at rest")]
    Flat {
        /// The tet, from zero.
        tet: usize,
    },
    /// Tets made in a separated pose do not fit the rest shape.
    #[error("{vertices} vertices would leave their tets at the surface's rest shape")]
    LeftBehind {
        /// How many.
        vertices: usize,
    },
    /// The same.
    #[error("{tets} tets would lose their volume at the surface's rest shape")]
    Squeezed {
        /// How many.
        tets: usize,
    },
    /// No vertex drives the fit.
    #[error("no vertex is animated, so there is nothing to fit the tets to")]
    NothingAnimated,
    /// A coordinate of the input is NaN or infinite.
    #[error("vertex {vertex} of the input is not at a finite place")]
    NotFinite {
        /// The vertex, from zero.
        vertex: usize,
    },
    /// Shapes.
    #[error(transparent)]
    Geometry(#[from] geometry::Error),
    /// The engine.
    #[error(transparent)]
    Dynamics(#[from] dynamics::Error),
    /// The linear solver.
    #[error(transparent)]
    Linear(#[from] linear::Error),
}
