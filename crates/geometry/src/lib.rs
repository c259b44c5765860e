//! Shapes and what is true of them: vectors, triangle and tet meshes, measures, distances, embedding.
//!
//! ```
//! use geometry::{Topology, Vec3, triangle_area};
//!
//! // two triangles that share the edge (1, 2)
//! let topology = Topology::new(4, &[[0, 1, 2], [2, 1, 3]]);
//! assert_eq!(topology.hinges().len(), 1);
//! assert_eq!(topology.boundary_edges().count(), 4);
//! assert_eq!(triangle_area(Vec3::ZERO, Vec3::X, Vec3::Y), 0.5);
//! ```

mod bounds;
mod catmull_clark;
mod closest;
mod embedding;
mod error;
mod fraction;
mod hierarchy;
mod laplacian;
mod lattice;
mod lattice_making;
mod measure;
mod octree;
mod offset;
mod orient;
mod prolongation;
mod quality;
mod random;
mod segments;
mod shortest_ways;
mod stuffing;
mod subdivide;
mod surface_query;
mod svd;
#[cfg(test)]
mod testing;
mod tet_mesh;
mod tet_meshing;
mod topology;
mod tree;
mod walk;

pub use bounds::Bounds;
pub use catmull_clark::{QuadSubdivision, quads_of_triangles, subdivide_polygons};
pub use closest::{closest_on_triangle, tet_distance_squared, tet_weights, triangle_distance_squared};
pub use embedding::Embedding;
pub use error::Error;
pub use fraction::fractions_inside;
pub use hierarchy::{Function, Hierarchy, Patch};
pub use laplacian::laplacian;
pub use lattice::{Cell, Lattice, Refined};
pub use lattice_making::{LatticeMaking, MadeLattice};
pub use measure::{
    dihedral_angles, tet_volume, triangle_area, triangle_normal, vertex_areas, vertex_normals,
};
pub use orient::oriented_triangles;
pub use prolongation::Prolongation;
pub use quality::TetQuality;
pub use random::Random;
pub use segments::{Threaded, with_segments};
pub use shortest_ways::shortest_ways;
pub use subdivide::{Scheme, Subdivision, subdivide, subdivide_times};
pub use surface_query::{ClosestPoint, SurfaceQuery};
pub use svd::{Svd, least_eigenvalue, nearest_rotation, rigid_motion, symmetric_eigen3};
pub use tet_mesh::{TET_EDGES, TET_FACES, TetMesh};
pub use tet_meshing::{Filled, TetMeshing, TetSize};
pub use topology::{Edge, Hinge, Topology};

/// A point or direction in space, in metres where it is a position. Solvers work in double precision.
pub type Vec3 = glam::DVec3;
/// A point or direction in a plane: material coordinates, texture coordinates.
pub type Vec2 = glam::DVec2;
/// A 3×3 matrix.
pub type Mat3 = glam::DMat3;
/// A 2×2 matrix.
pub type Mat2 = glam::DMat2;
/// A unit quaternion: a rotation.
pub type Quat = glam::DQuat;
