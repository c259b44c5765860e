//! Contact that cannot fail.

mod audit;
mod barrier;
mod ccd;
mod crossing;
mod distance;
mod error;
mod friction;
#[cfg(test)]
mod testing;

pub use audit::{Audited, Crossing, audit};
pub use barrier::Barrier;
pub use ccd::{FirstImpact, Impact, KEEP, first_impact, travel};
pub use distance::{Closest, Kind, closest, closest_edge_edge, closest_vertex_triangle};
pub use error::Error;
pub use friction::Friction;
