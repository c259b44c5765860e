//! The one interface between materials and solvers.

use geometry::Vec3;

use crate::Block;

/// An energy of N points: a triangle, a hinge, a tet, a spring.
///
/// An element is a pure function of its few points; its rest data are its fields. Gather, scatter, weights, threads and
/// the order of summation belong to the engine, so a material is written once and every solver, and every layer, gets it.
///
/// ```
/// use dynamics::{Block, Element, check_derivatives};
/// use geometry::{Mat3, Vec3};
///
/// /// ½ k ‖x − target‖²
/// struct Tether { stiffness: f64, target: Vec3 }
///
/// impl Element<1> for Tether {
///     fn value(&self, x: &[Vec3; 1]) -> f64 { 0.5 * self.stiffness * (x[0] - self.target).length_squared() }
///     fn gradient(&self, x: &[Vec3; 1]) -> [Vec3; 1] { [self.stiffness * (x[0] - self.target)] }
///     fn hessian(&self, _: &[Vec3; 1]) -> Block<1> { Block([[Mat3::from_diagonal(Vec3::splat(self.stiffness))]]) }
/// }
///
/// check_derivatives(&Tether { stiffness: 3.0, target: Vec3::X }, &[Vec3::ONE]);
/// ```
pub trait Element<const N: usize>: Send + Sync {
    /// E(x), in joules.
    fn value(&self, x: &[Vec3; N]) -> f64;

    /// dE/dx. A force is its negative, negated by the caller.
    fn gradient(&self, x: &[Vec3; N]) -> [Vec3; N];

    /// d²E/dx², exact; projecting it is the solver's decision.
    fn hessian(&self, x: &[Vec3; N]) -> Block<N>;

    /// A positive semidefinite stand-in for the Hessian, for Newton steps that must go downhill. The default clamps
    /// negative eigenvalues; override it where a closed form is cheaper.
    fn projected_hessian(&self, x: &[Vec3; N]) -> Block<N> {
        self.hessian(x).projected()
    }

    /// The matrix for a Newton step at `x` that came from `previous` by a Newton step: the projected Hessian, unless
    /// something better is known.
    ///
    /// A full step along a curved path leaves stiff parts stretched to second order, and the stress of that stretch, which the
    /// next step takes away, would wrongly stiffen the body sideways. Elements that are much stiffer in strain than in shape
    /// override this with the stress that the step *predicted*, that of the strain linearised at `previous`: Newton's
    /// method on stress and shape together, with the stress eliminated, and a handful of iterations however stiff.
    fn newton_hessian(&self, x: &[Vec3; N], _previous: &[Vec3; N]) -> Block<N> {
        self.projected_hessian(x)
    }
}

/// An element whose energy is quadratic in some strain ε(x), and which can therefore have internal friction.
pub trait Viscous<const N: usize>: Element<N> + Sized {
    /// The element with ½η‖ε(x) − ε̂‖² added, in the norm of its own stiffness, ε̂ = Σ w ε(past).
    ///
    /// It is again an element of the same kind: up to a constant,
    /// ½‖ε − ε₀‖² + ½η‖ε − ε̂‖² = ½(1+η)‖ε − (ε₀ + ηε̂)/(1+η)‖².
    /// Friction measured in strain is blind to rigid motion, has a potential within a step, and needs no code in the
    /// solver. With η = β/s and ε̂ the strain a stage starts from it is the stiffness damping D = βK of Rayleigh.
    #[must_use]
    fn with_viscosity(&self, eta: f64, history: &[(f64, [Vec3; N])]) -> Self;
}

/// An element some of whose numbers change while its body moves: a rest angle that yields, a rest shape that flows.
///
/// In the words of plasticity theory these are *internal variables* (Simo & Hughes 1998 §1.2). They belong to the
/// [`State`](crate::State): the element that a step sees is made from the one the body has and from them.
pub trait InternalVariables<const N: usize>: Element<N> + Sized {
    /// How many it has.
    const COUNT: usize;
    /// Writes those that it was made with.
    fn internal(&self, to: &mut [f64]);
    /// The element with others.
    #[must_use]
    fn with_internal(&self, internal: &[f64]) -> Self;
}

/// A force of N points that has no potential: air, an artist's push.
///
/// The same bargain as [`Element`]: a pure function of a few points, their velocities and time.
pub trait ForceElement<const N: usize>: Send + Sync {
    /// The force on each point, in newtons, at `time` in seconds.
    fn force(&self, time: f64, x: &[Vec3; N], v: &[Vec3; N]) -> [Vec3; N];

    /// A positive semidefinite stand-in for −df/dv, so that implicit steps stay stable however strong the force. Zero
    /// where the force does not depend on velocity.
    fn damping(&self, time: f64, x: &[Vec3; N], v: &[Vec3; N]) -> Block<N>;
}
