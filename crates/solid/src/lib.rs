//! Elastic solids: tetrahedra that jiggle under an animation, materials, fitting, blending, detail.
//!
//! ```
//! use dynamics::{Body, Settings, State, Stepper, StaticGuide};
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
//! let guide = StaticGuide::new(bar.points().to_vec());
//! let mut stepper = Stepper::new(&body, bar.points(), Settings::default())?;
//! for _ in 0..12 {
//!     stepper.advance(&body, &mut state, &guide, 1.0 / 24.0, &mut [])?;
//! }
//! let tip = bar.points().iter().zip(&state.positions).map(|(rest, now)| now.y - rest.y).fold(0.0, f64::min);
//! assert!(tip < -0.05);
//! # Ok::<(), solid::Error>(())
//! ```

mod blend;
mod body;
mod enrich;
mod error;
mod fit;
mod material;
mod tet;
mod unweld;

pub use blend::{KinematicBlend, Spread, WeightKey, from_surface, spread};
pub use body::Solid;
pub use enrich::{
    AverageRows, EmbeddedSurface, Enrich, EnrichSettings, Enriched, FleshActor, Pose, complementary_rows,
    surface_rows,
};
pub use error::Error;
pub use fit::{Fit, Fitted, Gamma};
pub use material::{Law, Material, Preset};
pub use tet::Tet;
pub use unweld::unweld;
