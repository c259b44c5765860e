//! glTF 2.0 and GLB.
//!
//! Read: every mesh that the scene shows is a mesh of the clip, in world space, called after its node; skins of any
//! size and number, morph targets (also under a skin), node animation, all interpolations, sparse and quantised
//! accessors, triangles, strips and fans. Vertices that the file split at seams stand on one point when they are equal
//! to the bit in rest position, skin and morph targets. Nodes that are joints of a skin or are moved by the animation,
//! with their ancestors, form the skeleton. Vertex colours become the groups `color.r`, `color.g`, `color.b`, `color.a`,
//! attributes called `_name` the group `name`, and skin weights a group for each joint, under the joint's name.
//!
//! Written: a clip that came from such a file goes back into its own document, patched (`patch.rs`); any other gets a document of
//! its own (`write.rs`).
//!
//! An animation is sampled at frames 0, 1/rate, 2/rate … up to and including its last key. Without a rate asked for,
//! the rate is the slowest usual one that meets all keys, and 24 per second when none does. A file without animation
//! has one frame.

mod accessor;
mod bake;
mod container;
mod corrective;
mod document;
mod frames;
mod graph;
mod joints;
mod look;
mod look_write;
mod patch;
mod patch_carry;
mod patch_plan;
mod patch_source;
mod patch_tracks;
mod scene;
mod several;
mod shape;
mod sink;
mod tangents;
mod track;
mod write;
mod write_columns;
mod write_rig;
mod write_skeleton;
mod write_skin;

use std::path::Path;
use std::sync::Arc;

use super::ReadOptions;
use crate::{Animation, Clip, Files, Result};

pub(crate) use look::move_images;
pub use patch_source::GltfSource;
pub use several::write_clips;
pub(super) use write::write;

/// Reads a clip.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Clip> {
    let container = Arc::new(container::Container::open(path, &options.files)?);
    let mut clip = scene::open(&container, options)?.clip;
    clip.gltf = Some(GltfSource::new(container, options));
    Ok(clip)
}

/// The animations of a file, to choose from.
pub(super) fn animations(path: &Path, files: &Files) -> Result<Vec<Animation>> {
    graph::list_animations(&container::Container::open(path, files)?)
}
