//! Smoke for drawn animation: compressible flow about a column of air at rest, steered with images.

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
pub use settings::{Settings, SoundSpeed};
pub use state::{State, integrate};
pub use stepper::{Report, Stepper};
pub use texture::Texture;
