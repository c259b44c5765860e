//! Cloth for games: a hundred simulated points, ten thousand shown, in a fraction of a millisecond of one core.
//!
//! A file made by the crate `upsample` holds a coarse cloth, what it hangs on, what it must not enter, and an
//! operator that was learnt: p_f = S p_c + D p_c. S is sparse and smooth; D adds the folds that cloth of this kind has in
//! such a shape. [`LiveCloth`] simulates the coarse cloth ([`Simulator`], position based) and shows the fine one
//! ([`Operator`]).
//!
//! `no_std` with `alloc`, single precision, nothing allocated after creation. No operation is fused and every sum has
//! one order, so that all vector kernels give the same bits as plain code does.
//!
//! ```
//! use live::{Frame, LiveCloth, Mesh, Operator, Parts, Point, Settings, Skin, IDENTITY};
//!
//! // a strip of cloth, held at its left end; the fine mesh is the coarse one
//! let rest: Vec<[f32; 3]> = (0..10).map(|i| [(i / 2) as f32 * 0.1, 0.0, (i % 2) as f32 * 0.1]).collect();
//! let triangles: Vec<[u32; 3]> =
//!     (0..4).flat_map(|i| [[2 * i, 2 * i + 1, 2 * i + 2], [2 * i + 1, 2 * i + 3, 2 * i + 2]]).collect();
//! let mesh = Mesh { rest, triangles };
//! let held = |i: usize| if i < 2 { 1.0 } else { 0.0 };
//! let skin = (0..10).map(|i| Skin { joints: [0; 4], weights: [1.0, 0.0, 0.0, 0.0], attachment: held(i) });
//! let parts = Parts {
//!     subdivision: (0..10).map(|i| vec![(i, 1.0)]).collect(),
//!     coarse_skin: skin.collect(),
//!     joints: vec!["pole".into()],
//!     settings: Settings::default(),
//!     ..Parts::new(mesh.clone(), mesh)
//! };
//! let mut cloth = LiveCloth::new(Operator::read(parts.write()?)?)?;
//! for _ in 0..60 {
//!     cloth.advance(&Frame { skin: &[IDENTITY], ..Frame::new(1.0 / 60.0) })?;
//! }
//! let points: &[Point] = cloth.points();
//! assert!(points[9][1] < -0.3 && points[1] == [0.0, 0.0, 0.1]);
//! # Ok::<(), live::Error>(())
//! ```

#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod cloth;
mod collision;
mod constraints;
mod contact;
mod error;
mod file;
mod half;
mod kernel;
mod levels;
mod operator;
mod panels;
mod parts;
mod rig;
mod settings;
mod simulator;
mod step;
mod surface;
mod vector;
mod waves;

pub use cloth::LiveCloth;
pub use collision::{Capsule, Plane};
pub use error::Error;
pub use file::{Counts, Operator, VERSION, mesh_hash};
pub use half::{half_from_single, single_from_half};
pub use kernel::Kernel;
pub use operator::{Applied, Detail, Scratch};
pub use panels::{Format, LANES};
pub use parts::{Factor, Mesh, Mode, Parts, RigCapsule};
pub use rig::{IDENTITY, Skin, Transform};
pub use settings::Settings;
pub use simulator::{Frame, MAX_OBSTACLES, MAX_PLANES, Simulator, Wind};
pub use surface::{vertex_normals, vertex_tangents};

/// A place or direction in space, in metres where it is a place.
pub type Point = [f32; 3];
