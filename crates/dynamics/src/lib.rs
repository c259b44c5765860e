//! The engine: unknown points, masses, energies, constraints, and the methods that step them in time.
//!
//! A *body* never changes, a *state* is the answer, a *stepper* is scratch. A mass on a spring:
//!
//! ```
//! use dynamics::{Block, Body, Element, Elements, Settings, State, Stepper, StaticGuide};
//! use geometry::{Mat3, Vec3};
//!
//! /// ½ k ‖x‖²
//! struct Tether(f64);
//! impl Element<1> for Tether {
//!     fn value(&self, x: &[Vec3; 1]) -> f64 { 0.5 * self.0 * x[0].length_squared() }
//!     fn gradient(&self, x: &[Vec3; 1]) -> [Vec3; 1] { [self.0 * x[0]] }
//!     fn hessian(&self, _: &[Vec3; 1]) -> Block<1> { Block([[Mat3::IDENTITY * self.0]]) }
//! }
//!
//! let body = Body::builder(vec![2.0]).energy(Elements::new([([0], Tether(8.0))])).build()?;
//! let mut state = State::at_rest(vec![Vec3::X]);
//! let settings = Settings { tolerance: 1e-5, ..Settings::default() };
//! let mut stepper = Stepper::new(&body, &[Vec3::X, Vec3::ZERO], settings)?;
//! let guide = StaticGuide::new(state.positions.clone());
//! for _ in 0..24 {
//!     stepper.advance(&body, &mut state, &guide, 1.0 / 24.0, &mut [])?;
//! }
//! // ω = √(8/2) = 2: after one second x = cos 2
//! assert!((state.positions[0].x - 2.0_f64.cos()).abs() < 1e-3);
//! # Ok::<(), dynamics::Error>(())
//! ```

mod actor;
mod basis;
mod block;
mod body;
mod check;
mod constraint;
mod cut;
mod element;
mod energy;
mod error;
mod follow;
mod guide;
mod mass;
mod max_distance;
mod reduced;
mod scatter;
mod scene;
mod spring;
mod stage;
mod state;
mod stepper;

pub use actor::{Actor, ActorReport, DeliveredSurface, Motion, Way, Window};
pub use basis::{Basis, Weight};
pub use block::Block;
pub use body::{Body, BodyBuilder, InternalHandle, Part, stiffness_damping};
pub use check::{check_derivatives, check_element, check_viscosity, random_rotation};
pub use constraint::{ContactModel, Limit, StageConstraint, StageStart, StepBound};
pub use cut::{CUT_SIZES, Carry, Steps, middle};
pub use element::{Element, ForceElement, InternalVariables, Viscous};
pub use energy::{Elements, Energy, Force, Forces, GuideSample, StageHistory};
pub use error::Error;
pub use follow::{Follow, FollowDamping, follow_stiffness};
pub use guide::{Drifting, FnGuide, Guide, Span, StaticGuide};
pub use mass::Mass;
pub use max_distance::MaxDistance;
pub use reduced::Reduced;
pub use scene::{Advanced, Scene};
pub use spring::Spring;
pub use state::State;
pub use stepper::{Effort, Filter, Integrator, Relaxed, Settings, Stepper, Substeps};
