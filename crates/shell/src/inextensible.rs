//! Cloth whose threads do not stretch: quads, warp and weft, and methods that hold every thread to its length.
//!
//! Most textiles do not stretch under their own weight; springs stiff enough to say so make time steps short. Here the pieces of
//! thread between crossings are *constraints*. [`Weave`] finds them in a mesh, [`Threads`] knows their lengths,
//! and [`InextensibleThreads`] keeps them there: by [`ThreadLimits`](crate::ThreadLimits) inside the step, or by [`FastProjection`], a
//! [`Filter`](dynamics::Filter) that puts them right after it. Methods
//! that it is measured against (SHAKE, implicit constraint direction, strain limiting) are in the benchmarks.

mod blocks;
mod diagnosis;
mod enforcement;
mod pairing;
mod projection;
mod system;
#[cfg(test)]
mod testing;
mod threads;
mod weave;

pub use diagnosis::{Overstretched, overstretched};
pub use enforcement::{Enforcement, InextensibleThreads};
pub use projection::{FastProjection, Impulse, ProjectionReport};
pub use system::ThreadSystem;
pub use threads::{ThreadStrain, Threads};
pub use weave::{Face, ThreadDirections, Weave};
