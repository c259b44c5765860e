//! Articulated bodies that obey physics: recursive dynamics and their derivatives, splines, contacts, and whole motions
//! solved for.

mod anthropometry;
mod body;
mod cone;
mod contacts;
mod derivatives;
mod error;
mod ground;
mod recursion;
mod repair;
mod rotation;
mod solve;
mod spacetime;
mod spatial;
mod spline;
mod take;
#[cfg(test)]
mod testing;

pub use anthropometry::{Bone, Segment, Table, height, inertias, mesh_inertia, segments};
pub use body::{Body, Joint, JointKind};
pub use cone::Cone;
pub use contacts::{Contact, Detection, Sole, contacts, ground_height, soles};
pub use derivatives::Derivatives;
pub use error::Error;
pub use ground::Ground;
pub use recursion::Data;
pub use repair::{Repair, Repaired, Report, report};
pub use solve::{Limits, Solution, solve, solve_from};
pub use spacetime::{Push, Spacetime, Weights};
pub use spatial::{Force, Inertia, Motion};
pub use spline::{Moment, Slope, Spline};
pub use take::{Build, Take};
