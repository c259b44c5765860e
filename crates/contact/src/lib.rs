//! Contact that cannot fail: what keeps surfaces from crossing, and an exact judge of whether they do.
//!
//! In the order of a step: [`BroadPhase`] lists pairs that may come near, [`contacts`] picks those that do and gives
//! each a [`Barrier`] and [`Friction`] for the implicit solve, [`collision_free_fraction`] says how much of the solved step can
//! be taken without any pair crossing. [`Intersections`] deals with starts that are crossed already. [`audit`] shares no code
//! with any of them.
//!
//! ```
//! use contact::{
//!     BroadPhase, CollisionMesh, CollisionSurface, Shape, collision_free_fraction, contacts, plane,
//! };
//! use geometry::Vec3;
//!
//! // a triangle of cloth above a ball on the ground
//! let cloth = vec![Vec3::new(-1.0, 1.1, -1.0), Vec3::new(0.0, 1.1, 1.0), Vec3::new(1.0, 1.1, -1.0)];
//! let mesh = CollisionMesh::new(vec![
//!     CollisionSurface { thickness: 0.01, ..CollisionSurface::free("cloth", cloth, vec![[0, 1, 2]]) },
//!     Shape::Sphere { radius: 1.0 }.surface("ball", 0.1)?,
//!     plane("ground", -Vec3::Y, Vec3::Y, 100.0)?,
//! ])?;
//! let start: Vec<Vec3> = mesh.surfaces().iter().flat_map(|s| s.rest_positions.clone()).collect();
//!
//! // it wants to fall by three metres
//! let mut end = start.clone();
//! end[mesh.points_of(0)].iter_mut().for_each(|p| p.y -= 3.0);
//! let pairs = BroadPhase::new().candidates(&mesh, &start, &end, 0.001)?;
//! let safe = collision_free_fraction(&mesh, &pairs, &start, &end, 1e-5, |_| false);
//!
//! // and is stopped 5 mm (half its thickness) above the ball
//! assert!((3.0 * safe.time - 0.095).abs() < 1e-3);
//! let here: Vec<Vec3> = (0..start.len()).map(|i| start[i].lerp(end[i], safe.time)).collect();
//! assert!(contacts(&mesh, &pairs, &here, 0.001).len() > 0);
//! # Ok::<(), contact::Error>(())
//! ```

mod attachment;
mod audit;
mod barrier;
mod broad_phase;
mod ccd;
mod distance;
mod error;
mod friction;
mod mesh;
mod model;
mod narrow_phase;
mod obstacle;
#[cfg(test)]
mod testing;
mod untangling;

pub use attachment::Attachment;
pub use audit::{AuditedSurface, Crossing, audit};
pub use barrier::Barrier;
pub use broad_phase::BroadPhase;
pub use ccd::{FirstImpact, Impact, MIN_DISTANCE_RATIO, first_impact, time_of_impact};
pub use distance::{Closest, PairKind, closest, closest_edge_edge, closest_vertex_triangle};
pub use error::Error;
pub use friction::Friction;
pub use mesh::{CollisionMesh, CollisionSurface, Pair, Sides};
pub use model::{BarrierContact, ContactReport};
pub use narrow_phase::{Contact, collision_free_fraction, contacts};
pub use obstacle::{Shape, plane};
pub use untangling::{ContourForce, Exemptions, Intersections};
