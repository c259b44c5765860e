//! Smoke for drawn animation: compressible flow about a column of air at rest, steered with images.
//!
//! A [`Fluid`] never changes, a [`State`] is the answer, a [`Stepper`] is scratch; a [`Drive`] is what acts from outside. Fields and images
//! are plain arrays ([`Field`]); pictures are made from states afterwards, as often as one likes. A warm spot rises:
//!
//! ```
//! use fluid::{ColorMap, Domain, Drive, Fluid, Initial, Ramp, Settings, Side, Stepper, picture_of};
//!
//! let domain = Domain::plane([48, 33], [1.5, 1.0], [Side::Periodic, Side::Wall])?;
//! let spot = domain.field(|p| 20.0 * (-((p[0] - 0.7).powi(2) + (p[1] - 0.3).powi(2)) / 0.02).exp());
//! let initial = Initial { temperature: Some(spot), ..Initial::default() };
//! let (fluid, mut state) = Fluid::new(domain, Settings::default(), &initial)?;
//! let mut stepper = Stepper::new(&fluid);
//! for _ in 0..12 {
//!     stepper.advance(&fluid, &mut state, &Drive::default(), 1.0 / 24.0)?;
//! }
//! assert!(state.velocity(&fluid, 1).range().1 > 0.1);
//! let ramp = Ramp { clear: 2.0, solid: 10.0 };
//! let picture = picture_of(&state.temperature(&fluid), &domain, [96, 64], ramp, &ColorMap::magic())?;
//! assert_eq!(picture.pixels.len(), 96 * 64);
//! # Ok::<(), fluid::Error>(())
//! ```

// `!(x > 0.0)` is how this crate says "not positive, or not a number"
#![allow(clippy::neg_cmp_op_on_partial_ord)]

mod base;
mod diffuse;
mod domain;
mod drive;
mod error;
mod field;
mod fluid;
mod kernel;
mod layout;
mod motion;
mod prepare;
mod render;
mod settings;
mod state;
mod stepper;
mod texture;

pub use domain::{Axis, Domain, Side};
pub use drive::{Drive, Obstacle, Quantity, Source};
pub use error::Error;
pub use field::Field;
pub use fluid::{Fluid, Initial, InitialPressure};
pub use motion::MovingMask;
pub use prepare::{make_periodic, profile, resample, sample, smooth};
pub use render::{
    ColorMap, Picture, Ramp, Ring, VolumeLook, blend_warps, picture_of, ring_of, smear, volume_picture, warp,
};
pub use settings::{Settings, SoundSpeed};
pub use state::{State, integrate};
pub use stepper::{Report, Stepper};
pub use texture::Texture;
