//! Contact that cannot fail.

mod audit;
mod barrier;
mod broad;
mod ccd;
mod crossing;
mod distance;
mod error;
mod friction;
mod narrow;
mod surface;
#[cfg(test)]
mod testing;
mod tree;

pub use audit::{Audited, Crossing, audit};
pub use barrier::Barrier;
pub use broad::BroadPhase;
pub use ccd::{FirstImpact, Impact, KEEP, first_impact, travel};
pub use distance::{Closest, Kind, closest, closest_edge_edge, closest_vertex_triangle};
pub use error::Error;
pub use friction::Friction;
pub use narrow::{Contact, contacts, safe_fraction};
pub use surface::{Pair, Sides, Surface, Surfaces};
