//! Contact that cannot fail: what keeps surfaces from crossing, and an exact judge of whether they do.
//!
//! In the order of a step: [`BroadPhase`] lists pairs that may come near, [`contacts`] picks those that do and gives
//! each a [`Barrier`] and [`Friction`] for the implicit solve, [`safe_fraction`] says how much of the solved step can
//! be taken without any pair crossing. [`Tangle`] deals with starts that are crossed already. [`audit`] shares no code
//! with any of them.
//!
//! ```
//! use contact::{BroadPhase, Shape, Surface, Surfaces, contacts, plane, safe_fraction};
//! use geometry::Vec3;
//!
//! // a triangle of cloth above a ball on the ground
//! let cloth = vec![Vec3::new(-1.0, 1.1, -1.0), Vec3::new(0.0, 1.1, 1.0), Vec3::new(1.0, 1.1, -1.0)];
//! let surfaces = Surfaces::new(vec![
//!     Surface { thickness: 0.01, ..Surface::free("cloth", cloth, vec![[0, 1, 2]]) },
//!     Shape::Sphere { radius: 1.0 }.surface("ball", 0.1)?,
//!     plane("ground", -Vec3::Y, Vec3::Y, 100.0)?,
//! ])?;
//! let start: Vec<Vec3> = surfaces.surfaces().iter().flat_map(|s| s.rest_positions.clone()).collect();
//!
//! // it wants to fall by three metres
//! let mut end = start.clone();
//! end[surfaces.points_of(0)].iter_mut().for_each(|p| p.y -= 3.0);
//! let pairs = BroadPhase::new().candidates(&surfaces, &start, &end, 0.001)?;
//! let safe = safe_fraction(&surfaces, &pairs, &start, &end, 1e-5, |_| false);
//!
//! // and is stopped 5 mm (half its thickness) above the ball
//! assert!((3.0 * safe.time - 0.095).abs() < 1e-3);
//! let here: Vec<Vec3> = (0..start.len()).map(|i| start[i].lerp(end[i], safe.time)).collect();
//! assert!(contacts(&surfaces, &pairs, &here, 0.001).len() > 0);
//! # Ok::<(), contact::Error>(())
//! ```

mod attach;
mod audit;
mod barrier;
mod broad;
mod ccd;
mod collision;
mod crossing;
mod distance;
mod error;
mod friction;
mod memory;
mod narrow;
mod obstacle;
mod response;
mod restrain;
mod surface;
mod tangle;
#[cfg(test)]
mod testing;
mod tree;
mod watch;

pub use attach::Attachment;
pub use audit::{Audited, Crossing, audit};
pub use barrier::Barrier;
pub use broad::BroadPhase;
pub use ccd::{FirstImpact, Impact, KEEP, first_impact, travel};
pub use collision::{Collision, Strife};
pub use distance::{Closest, Kind, closest, closest_edge_edge, closest_vertex_triangle};
pub use error::Error;
pub use friction::Friction;
pub use narrow::{Contact, contacts, safe_fraction};
pub use obstacle::{Shape, plane};
pub use surface::{Pair, Sides, Surface, Surfaces};
pub use tangle::{Knot, Tangle};
