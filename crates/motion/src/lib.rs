//! Articulated bodies that obey physics: recursive dynamics and their derivatives, splines, contacts, and whole motions
//! solved for.
//!
//! ```
//! use geometry::{Mat3, Quat, Vec3};
//! use motion::{Body, Data, Inertia, Joint, JointKind};
//!
//! // a rod of 2 kg and 1 m that hangs from a hinge, held level: half its weight times its length
//! let rod = Inertia::new(2.0, Vec3::new(0.0, -0.5, 0.0), Mat3::from_diagonal(Vec3::splat(2.0 / 12.0)));
//! let kind = JointKind::Hinge(Vec3::Z);
//! let joint = Joint { name: "rod".into(), parent: None, kind, offset: Vec3::ZERO, rest: Quat::IDENTITY, inertia: rod };
//! let body = Body::new(vec![joint])?;
//! let mut torque = [0.0];
//! let level = [std::f64::consts::FRAC_PI_2];
//! Data::new(&body).inverse_dynamics(&body, &level, &[0.0], &[0.0], Vec3::new(0.0, -9.81, 0.0), &mut torque);
//! assert!((torque[0] - 9.81).abs() < 1e-12);
//! # Ok::<(), motion::Error>(())
//! ```

mod anthropometry;
mod body;
mod carry;
mod cone;
mod contacts;
mod derivatives;
mod drag;
mod error;
mod examine;
mod external;
mod figure;
mod ground;
mod keys;
mod markers;
mod markov;
mod measuring;
mod names;
mod paper;
mod prior;
mod reach;
mod recursion;
mod repair;
mod report;
mod retarget;
mod rotation;
mod schedule;
mod solve;
mod spacetime;
mod spatial;
mod spline;
mod stand;
mod take;
#[cfg(test)]
mod testing;
mod timing;
mod trajectory;
mod variation;
mod windows;

pub use anthropometry::{Bone, Segment, Table, height, inertias, mesh_inertia, segments};
pub use body::{Body, Joint, JointKind};
pub use cone::Cone;
pub use contacts::{Contact, Detection, Sole, contacts, ground_height, soles};
pub use derivatives::Derivatives;
pub use drag::drag;
pub use error::Error;
pub use examine::Examination;
pub use external::{External, Push, Spring};
pub use figure::{Solid, figure};
pub use ground::{Ground, Relief, Terrain};
pub use keys::Key;
pub use markers::{Followed, Marker, follow};
pub use markov::Chain;
pub use names::{Side, side};
pub use paper::{Formulation, Paper, Subspaces};
pub use prior::{Example, FieldArrow, Guide, Learning, Likelihood, Manner, Prior, Size};
pub use recursion::Data;
pub use repair::{Footsteps, Repair, Repaired};
pub use report::{Report, report};
pub use retarget::{Rig, retarget};
pub use solve::{Limits, Solution, solve, solve_from};
pub use spacetime::{Spacetime, Weights};
pub use spatial::{Force, Inertia, Motion};
pub use spline::{Moment, Slope, Spline};
pub use take::{Build, MIN_FRAMES, Take};
pub use trajectory::{Drag, Sight, Trajectory};
pub use windows::{Seam, Staged, Window};
