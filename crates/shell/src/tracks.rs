//! Tracking: a fine shell whose weighted averages equal those of a guide at every instant.
//!
//! ∫ q φᵢ over the tracked surface = ∫ q̄ φ̄ᵢ over the guide, for each test function φᵢ and each coordinate. *Which*
//! functions decides what is kept of the guide and what is left to physics: [`TestFunctions`]. [`Averages`] are their
//! matrices, hard constraints that the engine keeps to round-off. tracks 2007, §3.1, §4.1, §4.2.

mod averages;

mod clusters;
mod functions;
mod harmonics;
mod pull;

mod strength;
mod tracked;

pub use averages::{Averages, RestSurface, check_correspondence};
pub use clusters::{Clusters, cluster};
pub use functions::TestFunctions;
pub use harmonics::harmonics;
pub use pull::{conflict_pulls, greatest_pulls};
pub use strength::{ConstraintStrength, linear_between};
pub use tracked::{RebuildCloth, Reshaping, Tracked, TrackedSetup, TrackedShell};
