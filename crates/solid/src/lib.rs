//! Elastic solids: tetrahedra that jiggle under an animation, materials, fitting, blending, detail.
//!
//! ```
//! use dynamics::{Body, Settings, State, Stepper, Still};
//! use geometry::{TetMesh, Vec3};
//! use solid::{Law, Material, Solid};
//!
//! // a bar of jelly, held at one end, sags
//! let bar = TetMesh::box_grid([6, 2, 2], Vec3::new(0.3, 0.1, 0.1))?;
//! let solid = Solid::new(&bar, Law::Stvk, &Material::preset("jelly")?)?;
//! let known: Vec<bool> = bar.points().iter().map(|p| p.x == 0.0).collect();
//! let elements = solid.elements(&known);
//! let gravity = Vec3::new(0.0, -9.81, 0.0);
//! let body = Body::builder(solid.masses).energy(elements).known(known).gravity(gravity).build()?;
//! let mut state = State::at_rest(bar.points().to_vec());
//! let guide = Still::new(bar.points().to_vec());
//! let mut stepper = Stepper::new(&body, bar.points(), Settings::default())?;
//! for _ in 0..12 {
//!     stepper.advance(&body, &mut state, &guide, 1.0 / 24.0, &mut [])?;
//! }
//! let tip = bar.points().iter().zip(&state.positions).map(|(rest, now)| now.y - rest.y).fold(0.0, f64::min);
//! assert!(tip < -0.05);
//! # Ok::<(), solid::Error>(())
//! ```

mod attach;
mod blend;
mod body;
mod detail;
mod drive;
mod enrich;
mod error;
mod fit;
mod hold;
mod kinematic;
mod law;
mod material;
mod pose;
mod rigid;
mod rows;
mod settings;
mod svd;
mod tet;
mod unweld;
mod weight;
mod weights;

pub use blend::WeightKey;
pub use body::Solid;
pub use enrich::{Averages, Enrich, Enriched, Surface};
pub use error::Error;
pub use fit::{Fit, Fitted, Gamma};
pub use kinematic::KinematicBlend;
pub use law::Law;
pub use material::{Material, Preset};
pub use pose::Pose;
pub use rigid::rigid_motion;
pub use rows::{complementary_rows, surface_rows};
pub use settings::EnrichSettings;
pub use svd::nearest_rotation;
pub use tet::Tet;
pub use unweld::unweld;
pub use weights::{Spread, from_surface, spread};
