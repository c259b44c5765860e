//! USD: crate files (`.usdc`, `.usd`), text (`.usda`) and archives (`.usdz`).
//!
//! Written: polygons as they came, `points` and `extent` sampled at every frame with the rest shape as the value outside
//! time, texture coordinates, groups as primvars, parts as subsets with preview surfaces and pictures, the skeleton as
//! UsdSkel, skin and morph targets beside the baked points, velocities when asked for; Y up, in metres unless another unit is asked for.
//!
//! Read: flat layers: meshes under their transforms, skinned and blended, with units and up axis taken into account. What
//! needs composition (references, payloads, variants, instances, clips) is refused with its place: flatten it first.
//!
//! A file called `NAME.over.usdc` gets overrides: only what moved of a clip that came from USD, to be a sublayer of its shot.

mod author;
mod binding;
mod blend;
mod crate_read;
mod crate_value;
mod crate_write;
mod frames;
mod layer;
mod look;
mod lz4;
mod over;
mod placement;
mod read;
mod rig;
mod shape;
mod stage;
mod text_read;
mod text_value;
mod text_write;
mod value;
mod write;
mod zip;

use read::Pictures;

pub use over::{UsdLayout, UsdPrim};
pub(super) use read::read;
pub(super) use write::write;
