//! What an artist means by an animation: meshes, a skeleton, frames.
//!
//! A [`Clip`] is read from a file, goes through layers, and is written to a file. Its static part (topology, rest
//! shape, uv, groups, materials) is in memory; its frames come one at a time from a [`Frames`] source, so that long
//! clips never have to be held whole.
//!
//! ```
//! use clip::{Clip, Frame, Mesh};
//!
//! let mut flag = Mesh::new("flag", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]]);
//! flag.set_group("hoist", vec![1.0, 0.0, 1.0]);
//! let clip = Clip::still(flag, 24.0, 10);
//! assert_eq!(clip.frame_count(), 10);
//! assert_eq!(clip.frame(9)?.points[0][1], [1.0, 0.0, 0.0]);
//! # Ok::<(), clip::Error>(())
//! ```

mod clip;
mod error;
mod faces;
mod format;
mod frames;
mod material;
mod mesh;
mod skeleton;

pub use clip::Clip;
pub use error::Error;
pub use faces::Faces;
pub use format::{
    Animation, BvhChannel, BvhLayout, DEFAULT_FRAME_RATE_HZ, Description, Format, ReadOptions, WriteOptions,
    Written, describe, read, write,
};
pub use frames::{Frame, Frames, MemoryFrames};
pub use material::{Image, Material};
pub use mesh::{Group, Mesh, Part};
pub use skeleton::{Joint, Skeleton, Skin, Transform};

/// The result of anything that reads, checks or writes clips.
pub type Result<T> = std::result::Result<T, Error>;
