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
    /// A test function is zero everywhere on a mesh.
    #[error("test function `{name}` is empty: nothing of it lies on the {mesh}")]
    EmptyTest {
        /// What it is called.
        name: String,
        /// The guide or the tracked mesh.
        mesh: &'static str,
    },
    /// A test function says nothing that others do not say already.
    #[error("test function `{name}` says nothing new: it is a sum of others{}", alike(with))]
    DependentTest {
        /// What it is called.
        name: String,
        /// Those that overlap it most.
        with: Vec<String>,
    },
    /// More test functions than points to carry them.
    #[error("{tests} test functions, but only {points} points are free to follow them")]
    TooManyTests {
        /// How many functions.
        tests: usize,
        /// How many points.
        points: usize,
    },
    /// The triangles cannot be divided into so many connected regions.
    #[error("{count} clusters of {triangles} triangles in {pieces} separate pieces are not possible")]
    Clusters {
        /// How many were asked for.
        count: usize,
        /// Connected pieces: each needs one at least.
        pieces: usize,
        /// Triangles: each cluster needs one at least.
        triangles: usize,
    },
    /// The tracked mesh does not lie on its guide.
    #[error(
        "point {point} of the tracked mesh is {distance:.3} m from the guide, which is {size:.3} m large"
    )]
    NoCorrespondence {
        /// The point that is farthest.
        point: usize,
        /// Its distance, in metres.
        distance: f64,
        /// The guide's size, in metres.
        size: f64,
    },
    /// The linear solver failed.
    #[error(transparent)]
    Solver(#[from] linear::Error),
}

fn alike(with: &[String]) -> String {
    if with.is_empty() { String::new() } else { format!(" (most like `{}`)", with.join("`, `")) }
}
