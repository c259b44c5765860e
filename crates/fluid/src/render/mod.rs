//! Deferred rendering: pictures from fields, as often as one likes, without simulating again.
//!
//! Everything here is a pure function of fields and a few numbers that may be animated.

mod color;
mod picture;
mod shade;
mod smear;
mod volume;
mod warp;

pub use color::ColorMap;
pub use picture::Picture;
pub use shade::{Ramp, Ring, picture_of, ring_of};
pub use smear::smear;
pub use volume::{VolumeLook, volume_picture};
pub use warp::{blend_warps, warp};
