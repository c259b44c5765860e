//! Articulated bodies that obey physics: recursive dynamics and their derivatives, splines, contacts, and whole motions
//! solved for.

mod anthropometry;
mod body;
mod derivatives;
mod error;
mod recursion;
mod rotation;
mod spatial;
mod spline;
#[cfg(test)]
mod testing;

pub use anthropometry::{Bone, Segment, Table, height, inertias, mesh_inertia, segments};
pub use body::{Body, Joint, JointKind};
pub use derivatives::Derivatives;
pub use error::Error;
pub use recursion::Data;
pub use spatial::{Force, Inertia, Motion};
pub use spline::{Moment, Slope, Spline};
