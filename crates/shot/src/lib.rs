//! Shots: a source animation and a stack of layers, read from a TOML file, baked frame by frame, reported on.
//!
//! ```
//! use shot::{BakeOptions, Context, Shot};
//!
//! let shot = Shot::parse(
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
//! let bake = shot.bake(&options, &Context::SILENT)?;
//! assert_eq!(bake.clip.frame_count(), 3);
//! assert_eq!(bake.layers[0].baked, 3);
//!
//! // the second time nothing is left to do
//! assert_eq!(shot.bake(&options, &Context::SILENT)?.layers[0].baked, 0);
//!
//! // mistakes know their line and what to write instead
//! let Err(shot::Error::Mistakes(found)) = Shot::parse("[input]\nsampel = \"flag\"") else { panic!() };
//! assert_eq!((found.0[0].line(), found.0[0].column()), (2, 1));
//! assert!(found.0[0].remedy().unwrap().contains("did you mean `sample`?"));
//! # Ok::<(), shot::Error>(())
//! ```

mod bake;
mod check;
mod conform;
mod dial;
mod document;
mod error;
mod film;
mod input;
mod key;
pub mod layer;
mod measure;
mod mistake;
mod output;
mod overrides;
mod progress;
mod range;
mod registry;
mod report;
mod reshape;
mod schema;
mod shot;
mod store;

pub use bake::{Bake, BakeOptions, LayerBake};
pub use check::{Parts, check};
pub use dial::Dial;
pub use error::Error;
pub use film::{Artwork, ColorStop, Colors, Darkroom, Palette, Pass, RingLook, SmearLook, VolumeView};
pub use input::cropped;
pub use key::Key;
pub use layer::{
    Collider, Contact, Failure, Figure, Figures, FrameResult, Layer, Remark, Settings, Simulation, Target,
};
pub use mistake::{Mistake, Mistakes, suggest};
pub use progress::{Context, Event, Progress};
pub use range::FrameRange;
pub use registry::{Kind, Registry};
pub use report::{Curve, Curves};
pub use reshape::Reshape;
pub use schema::{schema, schema_of};
pub use shot::{FilmLook, Input, LayerEntry, Output, Reader, Shot, Side};
