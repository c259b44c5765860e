//! The spacetime problem: a whole motion and its contact forces at once.
//!
//! Unknown are the control points of the motion's spline and a force at every point that rests, at every frame. Joint torques
//! are not: inverse dynamics gives them, τ = u − Σ Jᵀf (paper eq. 1 – 3). What is left of the dynamics are the root's six rows,
//! which no torque can serve. They are equalities, not a penalty:
//!
//! ```text
//! minimise  Σ_i h ( ‖x − x̂‖²/σ_x² + ‖q ⊖ q̂‖²/σ_q² + ‖τ‖²/σ_τ² + ‖q̈‖²/σ_a²        near the take, small torques
//!                 + ‖x_p − X_p‖²/σ_p²                                               points on their trajectories
//!                 + ‖x_c − X_c‖²/σ_c² + min(height, 0)²/σ_g²                        resting points rest, the others stay above
//!                 + ‖f‖²/σ_f² + ‖ḟ‖²/σ_r² − μ log ψ(f)                              forces in their cones
//!                 − 2 w ln p(u, q, q̇) )                                             as people move, with a prior
//!           + footsteps near where they were thought to be, if they may move (`stand.rs`)
//! subject to  u_root(q, q̇, q̈) = Σ Jᵀf + pushes         at every frame
//! ```
//!
//! Differs from the paper: hard root rows (there σ_physics), no torque unknowns, a barrier for e^λ, knots at frames.
//! Here: the problem; `spacetime/plan.rs` has what does not change while it is solved, `value.rs` what a motion comes to, `rows.rs` and `local.rs` a frame's share of
//! the linear system; `solve.rs` has the method.

mod local;
mod plan;
mod rows;
mod value;

use geometry::Vec3;

use crate::body::Body;
use crate::contacts::{Contact, Sole};
use crate::external::External;
use crate::ground::Terrain;
use crate::prior::Likelihood;
use crate::trajectory::Trajectory;

pub(crate) use self::local::Local;
pub(crate) use self::plan::{Active, Iterate, Place, Plan, Scratch};
pub(crate) use self::rows::Rows;
pub(crate) use self::value::Value;

/// How much each aim counts: what is thought of as one unit of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// σ_x: a joint's distance from the take, in m.
    pub follow: f64,
    /// σ_q: a joint's turn from the take, in rad.
    pub turn: f64,
    /// σ_τ, in N·m for a figure of 70 kg.
    pub torque: f64,
    /// σ_a, in rad/s².
    pub acceleration: f64,
    /// σ_c: how far a resting point is from its place, in m.
    pub anchor: f64,
    /// σ_g: how far a point is below the ground, in m.
    pub ground: f64,
    /// σ_f, in body weights.
    pub force: f64,
    /// σ_r, in body weights a second.
    pub force_rate: f64,
    /// σ_p: how far a footstep is from where it was thought to be, in m. 0: it is there.
    pub place: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            follow: 0.02,
            turn: 0.15,
            torque: 150.0,
            acceleration: 250.0,
            anchor: 1e-4,
            ground: 2e-4,
            force: 3.0,
            force_rate: 12.0,
            place: 0.0,
        }
    }
}

/// A whole problem.
#[derive(Clone, Debug)]
pub struct Spacetime<'a> {
    /// Who moves.
    pub body: &'a Body,
    /// In m/s².
    pub gravity: Vec3,
    /// On what.
    pub terrain: &'a Terrain,
    /// Coefficient of friction.
    pub friction: f64,
    /// Points that can bear weight.
    pub soles: &'a [Sole],
    /// When and where they do.
    pub contacts: &'a [Contact],
    /// The take: coordinates at every frame.
    pub target: &'a [Vec<f64>],
    /// How much each frame's take counts: 1 follows it, 0 does not see it.
    pub attention: &'a [f64],
    /// Forces from outside.
    pub external: &'a External,
    /// Paths that points go along.
    pub trajectories: &'a [Trajectory],
    /// How much each aim counts.
    pub weights: Weights,
    /// How people move, where that is known.
    pub prior: Option<&'a Likelihood<'a>>,
    /// Control points at the beginning that are decided already.
    pub pinned: usize,
}
