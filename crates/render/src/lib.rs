//! Pictures and short films of clips, on the CPU.
//!
//! Soft light, ambient occlusion, a shadow on the ground; flat or smooth surfaces, wireframes, numbers as colours, bones. A small
//! ray caster draws single pictures; films are drawn by a rasteriser ([`Drawing`]) that shows the same in a fifth of the time. The same clip and
//! the same [`Look`] give the same bytes on any number of threads.
//!
//! ```
//! use clip::{Clip, Mesh};
//! use render::{Camera, Look, Stage, View, picture};
//!
//! let tent = Mesh::new("tent", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.5, 0.8, -0.4]], &[[0, 1, 2]]);
//! let clip = Clip::still(tent, 24.0, 10);
//!
//! // one picture
//! let frame = clip.frame(0)?;
//! let camera = Camera::framing_frame(&clip, &frame, View::ThreeQuarter, 4.0 / 3.0);
//! let still = picture(&clip, &frame, &camera, &Look::default(), [64, 48], None)?;
//! assert_eq!(still.pixels.len(), 64 * 48);
//!
//! // a film of the whole clip, beside another, same camera
//! let stage = Stage::new(&[("before", &clip), ("after", &clip)], View::Front, Look::default(), [64, 48])?;
//! let webp: Vec<u8> = stage.film(|_frames_done| true)?.finish()?;
//! assert!(webp.starts_with(b"RIFF"));
//! # Ok::<(), render::Error>(())
//! ```

mod bones;
mod camera;
mod caster;
mod color;
mod error;
mod film;
mod legend;
mod lens;
mod lettering;
mod look;
mod painter;
mod picture;
mod raster;
mod scalars;
mod scene;
mod shading;
mod stage;
mod texture;
mod trace;
mod travel;
mod vp8;

pub use camera::{Camera, View, ViewSide};
pub use color::{ColorMap, Srgb};
pub use error::{Error, Result};
pub use film::Film;
pub use lettering::letters;
pub use look::{Drawing, Ground, Light, Look, Shading};
pub use painter::{Painter, picture};
pub use picture::Picture;
pub use scalars::Scalars;
pub use stage::Stage;
