//! Shots: a source animation and a stack of layers, read from a TOML file and baked frame by frame into a store.
//!
//! What a file means, what is wrong with it and where, what has to be baked again, how a bake goes on after it was stopped: that is here.
//! What layers do, which samples there are and what is made of a bake is not: layers are values behind the trait [`Layer`], and a
//! [`Registry`] knows those that a file may name.
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use shot::{BakeOptions, Context, FrameResult, Layer, LayerError, Reader, Registry, Settings, Simulation, Target};
//!
//! /// Lifts everything.
//! #[derive(Default, Serialize, Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields, default)]
//! struct Lift {
//!     /// In metres.
//!     height: f32,
//! }
//!
//! impl Settings for Lift {
//!     const KIND: &'static str = "lift";
//!     const SUMMARY: &'static str = "lifts everything";
//!     const VERSION: u32 = 1;
//! }
//!
//! impl Layer for Lift {
//!     fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
//!         Ok(Box::new(Lifting { input: input.clone(), height: self.height }))
//!     }
//! }
//!
//! struct Lifting {
//!     input: Target,
//!     height: f32,
//! }
//!
//! impl Simulation for Lifting {
//!     fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
//!         let mut points = self.input.points(index)?;
//!         points.iter_mut().for_each(|point| point[1] += self.height);
//!         Ok(self.input.with_points(index, points)?.into())
//!     }
//!
//!     fn checkpoint(&self) -> Vec<u8> {
//!         Vec::new()
//!     }
//!
//!     fn restore(&mut self, _: &[u8]) -> Result<(), LayerError> {
//!         Ok(())
//!     }
//! }
//!
//! let reader = Reader::new(Registry::empty().with::<Lift>().with_sample("flag", samples::flag));
//! let text = "input = { sample = 'flag', frames = '0-2' }\nlayer = [{ kind = 'lift', height = 1.0 }]";
//! let shot = reader.parse("flag.toml", text, "".as_ref())?;
//! assert!(shot.check().is_empty());
//!
//! let folder = tempfile::tempdir().unwrap();
//! let options = BakeOptions { out: Some(folder.path().into()), ..Default::default() };
//! let bake = shot.bake(&options, &Context::SILENT)?;
//! assert_eq!(bake.layers[0].baked, 3);
//! let [before, after] = [&bake.input, &bake.clip].map(|clip| clip.frame(2).unwrap().points[0][0][1]);
//! assert_eq!(after, before + 1.0);
//!
//! // the second time nothing is left to do
//! assert_eq!(shot.bake(&options, &Context::SILENT)?.layers[0].baked, 0);
//!
//! // mistakes know their line and what to write instead
//! let found = reader.parse("flag.toml", "[input]\nsampel = \"flag\"", "".as_ref());
//! let Err(shot::Error::Invalid(found)) = found else { panic!() };
//! assert_eq!((found.0[0].line(), found.0[0].column()), (2, 1));
//! assert!(found.0[0].remedy().unwrap().contains("did you mean `sample`?"));
//! # Ok::<(), shot::Error>(())
//! ```

mod bake;
mod check;
mod clips;
mod conform;
mod diagnostic;
mod dial;
mod document;
mod error;
mod form;
mod group;
mod input;
mod key;
mod layer;
mod manifest;
mod measure;
mod overrides;
mod progress;
mod range;
mod reader;
mod registry;
mod repeat;
mod reshape;
mod schema;
mod select;
mod shot;
mod store;
mod warning;

pub use bake::{Bake, BakeOptions, LayerBake, LoopReport, in_pool};
pub use check::{Parts, check};
pub use diagnostic::{Diagnostic, Diagnostics, suggest};
pub use dial::Dial;
pub use error::Error;
pub use form::{Form, mistake_at, top_word};
pub use input::cropped;
pub use key::BakeKey;
pub use layer::{
    Counterpart, Figure, Figures, FrameResult, GroupMember, Layer, LayerError, Settings, Simulation, Sketch,
    Target, Viewpoint,
};
pub use progress::{Context, Event, Progress};
pub use range::FrameRange;
pub use reader::Reader;
pub use registry::{Characters, CountCrossings, FilmSettings, GroupSimulation, LayerKind, Registry};
pub use reshape::Reshape;
pub use schema::schema_of;
pub use shot::{AddedInput, ClipNames, Input, InputBody, LayerEntry, MeshNames, MotionInput, Output, Shot};
pub use store::write_whole;
pub use warning::Warning;
