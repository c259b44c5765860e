//! Cloth: what resists stretching, bending and air, and the materials it is made of.
//!
//! Elements are pure functions of a few points ([`dynamics::Element`]); [`ClothBuilder`] makes all of them from a mesh and
//! a [`Material`]; the engine does the rest.
//!
//! ```
//! use std::sync::Arc;
//!
//! use dynamics::Element;
//! use geometry::Vec3;
//! use shell::{ClothBuilder, Material, Strain, Wind};
//!
//! // a square of cotton in a breeze
//! let rest = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X + Vec3::Y];
//! let material = Material::preset("cotton")?;
//! let breeze = Wind { direction: [0.0, 0.0, 1.0], speed: 3.0, ..Wind::default() }.field()?;
//! let cloth = ClothBuilder::new(&rest, &[[0, 1, 2], [2, 1, 3]], &material).wind(Arc::new(breeze)).build()?;
//!
//! // pulled by one percent along the weft, without narrowing: ½ k E² on the area of each triangle
//! let pulled = rest.map(|p| p * Vec3::new(1.01, 1.0, 1.0));
//! let energy: f64 = cloth.membranes.iter().map(|(t, e)| e.value(&t.map(|v| pulled[v as usize]))).sum();
//! let green = 0.5 * (1.01_f64.powi(2) - 1.0);
//! assert!((energy - 0.5 * material.stretch_weft * green * green).abs() < 1e-12);
//! assert!((Strain::measure(&cloth.membranes, &pulled).max_stretch - 0.01).abs() < 1e-12);
//! # Ok::<(), shell::Error>(())
//! ```

mod actor;
mod air;
mod axes;
mod bending;
mod cell;
mod cloth;
mod error;
mod fold;
mod hinge;
mod inextensible;
mod limit;
mod material;
mod membrane;
mod plasticity;
mod plate;
mod relief;
mod resizing;
#[cfg(test)]
mod rolling;
mod strain;
mod tie;
pub mod tracks;
mod wind;

pub use actor::{ClothActor, ClothSetup};
pub use air::{AIR_DENSITY, Air, AirCoefficients};
pub use axes::{axes_from_direction, axes_from_uv};
pub use bending::Bending;
pub use cell::{CellMembrane, Stretching};
pub use cloth::{Cloth, ClothBuilder, ClothReport, Maps, Uvs};
pub use error::Error;
pub use hinge::Hinge;
pub use inextensible::{
    Enforcement, Face, FastProjection, Impulse, InextensibleThreads, Overstretched, ProjectionReport,
    ThreadDirections, ThreadStrain, ThreadSystem, Threads, Weave, overstretched,
};
pub use limit::{ClothLimits, LimitedThread, LimitedTriangle, StrainLimits, ThreadLimits};
pub use material::{Material, Preset};
pub use membrane::{Membrane, MembraneStiffness};
pub use plasticity::{Creases, Plasticity};
pub use plate::{Plate, PlateStiffness};
pub use relief::{Pattern, Relief};
pub use resizing::Resizing;
pub use strain::{FabricStrain, Strain, max_edge_strain, point_strain};
pub use tie::{HeldUp, Pull, Ramp, SEAM_STRAIN, Tie, Ties};
pub use wind::{Wind, WindField};
