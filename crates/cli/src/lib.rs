//! Animation in, physics added, animation out: the whole of followthrough as one library.
//!
//! ```
//! use followthrough::prelude::*;
//!
//! let shot = followthrough::parse(
//!     r#"
//!     [input]
//!     sample = "flag"
//!     frames = "0-2"
//!
//!     [[layer]]
//!     kind = "smooth"
//!     window = 0.05      # seconds
//!
//!     [output]
//!     files = ["flag.pc2"]
//!     report = false
//!     "#,
//! )?;
//! assert!(shot.check().is_empty());
//!
//! let folder = tempfile::tempdir().unwrap();
//! let options = BakeOptions { out: Some(folder.path().into()), ..Default::default() };
//! let bake = followthrough::bake(&shot, &options, &Context::SILENT)?;
//! assert_eq!(bake.clip.frame_count(), 3);
//! assert!(folder.path().join("flag.pc2").is_file());
//! # Ok::<(), followthrough::film::Error>(())
//! ```
//!
//! Each module is a crate that stands alone; here they are joined: [`registry`] knows every layer, sample and film that a shot file can
//! name, [`read`] reads shots with it, and [`bake`] writes what they ask for. Without its default features, name what you need: `shell` for
//! cloth alone, `bake` for all of this without the command.

#[cfg(feature = "character")]
pub use character;
#[cfg(feature = "clip")]
pub use clip;
#[cfg(feature = "contact")]
pub use contact;
#[cfg(feature = "dynamics")]
pub use dynamics;
#[cfg(feature = "film")]
pub use film;
#[cfg(feature = "fluid")]
pub use fluid;
#[cfg(feature = "geometry")]
pub use geometry;
#[cfg(feature = "layers")]
pub use layers;
#[cfg(feature = "linear")]
pub use linear;
#[cfg(feature = "live")]
pub use live;
#[cfg(feature = "render")]
pub use render;
#[cfg(feature = "samples")]
pub use samples;
#[cfg(feature = "shell")]
pub use shell;
#[cfg(feature = "shot")]
pub use shot;
#[cfg(feature = "solid")]
pub use solid;
#[cfg(feature = "train")]
pub use train;
#[cfg(feature = "upsample")]
pub use upsample;
#[cfg(feature = "wedge")]
pub use wedge;

// what is below speaks of this library by its name, as other programs do
#[cfg(feature = "cli")]
extern crate self as followthrough;

#[cfg(feature = "cli")]
pub mod command;
#[cfg(feature = "cli")]
mod commands;
#[cfg(feature = "bake")]
mod comparison;
#[cfg(feature = "cli")]
mod console;
#[cfg(feature = "cli")]
mod demos;
#[cfg(feature = "cli")]
mod error;
#[cfg(feature = "cli")]
mod interrupt;
#[cfg(feature = "bake")]
mod shots;
#[cfg(feature = "cli")]
mod source;

#[cfg(feature = "bake")]
pub use comparison::Comparison;
#[cfg(feature = "bake")]
pub use shots::{bake, parse, read, reader, registry, schema};

/// What most programs need.
pub mod prelude {
    #[cfg(feature = "clip")]
    pub use clip::{Clip, Frame, Mesh, ReadOptions, WriteOptions};
    #[cfg(feature = "shot")]
    pub use shot::{Bake, BakeOptions, Context, FrameRange, Reader, Registry, Shot};
}
