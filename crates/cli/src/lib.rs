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
//! name, [`read`] reads shots with it, and [`bake`] writes what they ask for.

use std::path::Path;

pub use clip;
pub use contact;
pub use dynamics;
pub use film;
pub use fluid;
pub use geometry;
pub use layers;
pub use linear;
pub use render;
pub use samples;
pub use shell;
pub use shot;
pub use solid;

pub use film::bake;

use shot::{Reader, Registry, Shot};

/// What most programs need.
pub mod prelude {
    pub use clip::{Clip, Frame, Mesh, ReadOptions, WriteOptions};
    pub use shot::{Bake, BakeOptions, Context, FrameRange, Reader, Registry, Shot};
}

/// Everything that a shot file can name: all layers, all samples, films.
pub fn registry() -> Registry {
    let registry = layers::registry().with_film::<film::FilmLook>();
    samples::all().iter().fold(registry, |registry, sample| registry.with_sample(sample.name, sample.make))
}

/// Reads shots that name any of it.
pub fn reader() -> Reader {
    Reader::new(registry())
}

/// Reads a shot file; all mistakes in it come at once.
pub fn read(path: impl AsRef<Path>) -> Result<Shot, shot::Error> {
    reader().read(path)
}

/// Reads a shot from a text. Relative paths start at the current folder.
pub fn parse(text: &str) -> Result<Shot, shot::Error> {
    reader().parse("shot", text, Path::new(""))
}

/// The JSON Schema (draft 7) of shot files, for editors.
///
/// ```
/// let schema = followthrough::schema();
/// assert_eq!(schema["properties"]["input"]["type"], "object");
/// ```
pub fn schema() -> serde_json::Value {
    shot::schema_of(&registry())
}
