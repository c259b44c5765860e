//! Cloth whose threads do not stretch: quads, warp and weft, and methods that hold every thread to its length.
//!
//! Most textiles do not stretch under their own weight; springs stiff enough to say so make time steps short. Here the pieces of
//! thread between crossings are *constraints*. [`Weave`] finds them in a mesh, [`Threads`] knows their lengths,
//! and [`FastProjection`] is a [`Filter`](dynamics::Filter) that puts them right after every step. The
//! methods that it is measured against stand beside it: [`ExactProjection`], [`Shake`], [`Relaxation`].

mod blocks;
mod diagnosis;
mod exact;
mod hardening;
mod pairing;
mod projection;
mod relaxation;
mod shake;
mod system;
#[cfg(test)]
mod testing;
mod threads;
mod weave;

pub use diagnosis::{Overstretched, overstretched};
pub use exact::ExactProjection;
pub use hardening::{Hardening, HardeningEnergy, Thread};
pub use projection::{FastProjection, Impulse, ProjectionReport};
pub use relaxation::{Relaxation, Sweep};
pub use shake::Shake;
pub use threads::{ThreadStrain, Threads};
pub use weave::{Face, Lay, Weave};
