//! Analytic derivatives of inverse dynamics.
//!
//! With s = S_j a column, p the parent of its link, ψ̇ = v_p × s, ψ̈ = a_p × s + v_p × ψ̇, Ṡ = v_j × s, and over the subtree
//! of the lower of k and j: composite inertia I, force F, and B ψ = Σ I(ψ × v) + ψ ×* Iv + v ×* Iψ,
//!
//! ```text
//! ∂u_k/∂q_j  = S_k · ( I ψ̈ + B ψ̇  [ + s ×* F where k is above j ] )
//! ∂u_k/∂q̇_j  = S_k · ( I (ψ̇ + Ṡ) + B s )
//! ∂u_k/∂q̈_j  = S_k · I s
//! ```
//!
//! Derivation. Moving q_j turns the whole subtree rigidly by s; what does not turn along is the motion of p, so
//! ∂v_i = s × v_i + ψ̇ and ∂a_i = s × a_i + ψ̈ + ψ̇ × v_i. The rigid part changes f_i by s ×* f_i, and S_k below j by s × S_k,
//! and the two cancel in S_k · F.
//!
//! B is small: the parts in the linear half of ψ cancel, and with w, v a link's angular and linear velocity, p = Σ momentum,
//! h = mass × centre, Ī the rotational inertia,
//!
//! ```text
//! B ψ = ( β ω ; 2 ω × p ),   β = Σ 2 [w] Ī − tr(Ī) [w] − 2 [h] [v],   ω the angular half of ψ
//! ```
//!
//! by [Īw] = tr(Ī)[w] − Ī[w] − [w]Ī. Twelve numbers a subtree, not thirty-six.
//!
//! Carpentier and Mansard 2018; Singh, Russo and Wensing 2022. Differs: the closed form of B; one inertial frame.

use geometry::{Mat3, Vec3};

use crate::body::Body;
use crate::recursion::Data;
use crate::spatial::{Force, Inertia, Motion, skew};

/// ∂u/∂q, ∂u/∂q̇ and ∂u/∂q̈ = M, each by rows of one number for every degree of freedom. Derivatives by q are by the tangent of
/// [`Body::integrate`].
#[derive(Clone, Debug)]
pub struct Derivatives {
    /// ∂u_k/∂q_j at k·n + j.
    pub by_position: Vec<f64>,
    /// ∂u_k/∂q̇_j.
    pub by_velocity: Vec<f64>,
    /// ∂u_k/∂q̈_j: the mass matrix.
    pub by_acceleration: Vec<f64>,
}

impl Derivatives {
    /// Zeros for a body.
    pub fn new(body: &Body) -> Self {
        let zeros = vec![0.0; body.dof_count() * body.dof_count()];
        Self { by_position: zeros.clone(), by_velocity: zeros.clone(), by_acceleration: zeros }
    }
}

/// What a degree of freedom brings to the rows and columns of its ancestors.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    /// ψ̈, ψ̇ + Ṡ: what meets I S_k of a k below.
    position: Motion,
    velocity: Motion,
    /// The angular halves of ψ̇ and s: what meets Bᵀ S_k of a k below.
    rate: Vec3,
    axis: Vec3,
}

/// Sums over subtrees, and columns.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    beta: Vec<Mat3>,
    momentum: Vec<Vec3>,
    columns: Vec<Column>,
}

impl Scratch {
    pub(crate) fn new(body: &Body) -> Self {
        Self {
            beta: vec![Mat3::ZERO; body.link_count()],
            momentum: vec![Vec3::ZERO; body.link_count()],
            columns: vec![Column::default(); body.dof_count()],
        }
    }
}

impl Data {
    /// u as [`Data::inverse_dynamics`] gives it, and its derivatives. `derivatives` must be this body's: what is zero by the
    /// tree's shape is not written again.
    pub fn inverse_dynamics_derivatives(
        &mut self,
        body: &Body,
        q: &[f64],
        v: &[f64],
        a: &[f64],
        gravity: Vec3,
        u: &mut [f64],
        derivatives: &mut Derivatives,
    ) {
        self.kinematics(body, q);
        self.motion(body, v, a, gravity);
        self.columns(body, gravity);
        for (index, link) in body.links.iter().enumerate().rev() {
            for d in link.first_dof..link.first_dof + link.kind.dofs() {
                u[d] = self.axis[d].dot(self.force[index]);
                self.rows_and_column(body, index, d, derivatives);
            }
            if let Some(parent) = link.parent {
                let (force, inertia) = (self.force[index], self.composite[index]);
                self.force[parent] += force;
                self.composite[parent] += inertia;
                let (beta, momentum) = (self.scratch.beta[index], self.scratch.momentum[index]);
                self.scratch.beta[parent] += beta;
                self.scratch.momentum[parent] += momentum;
            }
        }
    }

    /// What does not wait for sums over subtrees.
    fn columns(&mut self, body: &Body, gravity: Vec3) {
        self.composite.copy_from_slice(&self.inertia);
        for (index, link) in body.links.iter().enumerate() {
            let v = self.velocity[index];
            let Inertia { first_moment: h, rotational, .. } = self.inertia[index];
            let trace = rotational.col(0).x + rotational.col(1).y + rotational.col(2).z;
            let half = rotational - Mat3::from_diagonal(Vec3::splat(0.5 * trace));
            self.scratch.beta[index] = (skew(v.angular) * half - skew(h) * skew(v.linear)) * 2.0;
            self.scratch.momentum[index] = self.inertia[index].apply(v).linear;
            let (above, pull) = match link.parent {
                Some(parent) => (self.velocity[parent], self.acceleration[parent]),
                None => (Motion::ZERO, Motion::new(Vec3::ZERO, -gravity)),
            };
            for d in link.first_dof..link.first_dof + link.kind.dofs() {
                let s = self.axis[d];
                let rate = above.cross(s);
                self.scratch.columns[d] = Column {
                    position: pull.cross(s) + above.cross(rate),
                    velocity: rate + v.cross(s),
                    rate: rate.angular,
                    axis: s.angular,
                };
            }
        }
    }

    /// Entries that pair a degree of freedom with itself, the others of its joint, and all above.
    fn rows_and_column(&self, body: &Body, index: usize, d: usize, derivatives: &mut Derivatives) {
        let n = body.dof_count();
        let (inertia, force) = (&self.composite[index], self.force[index]);
        let (beta, momentum) = (self.scratch.beta[index], self.scratch.momentum[index]);
        let b = |omega: Vec3| Force::new(beta * omega, omega.cross(momentum) * 2.0);
        let (s, own) = (self.axis[d], self.scratch.columns[d]);
        let mass = inertia.apply(s);
        let still = inertia.apply(own.position) + b(own.rate);
        let column_q = still + s.cross_force(force);
        let column_v = inertia.apply(own.velocity) + b(own.axis);
        // Bᵀ S_k, of which only the angular half is not zero
        let row = beta.transpose() * s.angular + momentum.cross(s.linear) * 2.0;
        let first = body.links[index].first_dof;
        let mut k = d;
        while k != usize::MAX {
            let (axis, column) = (self.axis[k], &self.scratch.columns[k]);
            let inside = k >= first;
            let (up, down) = (k * n + d, d * n + k);
            // within a joint, every column is "below" every other: no s ×* F
            derivatives.by_position[up] = axis.dot(if inside { still } else { column_q });
            derivatives.by_velocity[up] = axis.dot(column_v);
            derivatives.by_position[down] = column.position.dot(mass) + column.rate.dot(row);
            derivatives.by_velocity[down] = column.velocity.dot(mass) + column.axis.dot(row);
            let entry = axis.dot(mass);
            derivatives.by_acceleration[up] = entry;
            derivatives.by_acceleration[down] = entry;
            k = body.dof_parent[k];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, figure, state};

    /// Against central differences, whose error must shrink fourfold when the step is halved, or be round-off.
    #[test]
    fn derivatives_agree_with_differences() {
        let mut random = Random(19);
        let gravity = Vec3::new(0.4, -9.7, 0.3);
        for seed in 1..4 {
            let body = figure(seed);
            let (q, v, a) = state(&body, &mut random);
            let mut data = Data::new(&body);
            let mut exact = Derivatives::new(&body);
            let n = body.dof_count();
            let (mut u, mut plain) = (vec![0.0; n], vec![0.0; n]);
            data.inverse_dynamics_derivatives(&body, &q, &v, &a, gravity, &mut u, &mut exact);
            data.inverse_dynamics(&body, &q, &v, &a, gravity, &mut plain);
            assert_eq!(u, plain);
            let scale = exact.by_position.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let [coarse, fine] = [2e-4, 1e-4].map(|h| {
                let mut worst: f64 = 0.0;
                for j in 0..n {
                    let mut ends = [1.0, -1.0].map(|sign| {
                        let (mut step, mut moved) = (vec![0.0; n], q.clone());
                        step[j] = sign * h;
                        body.integrate(&q, &step, &mut moved);
                        let with =
                            |base: &[f64]| base.iter().zip(&step).map(|(x, s)| x + s).collect::<Vec<_>>();
                        let mut u = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
                        data.inverse_dynamics(&body, &moved, &v, &a, gravity, &mut u[0]);
                        data.inverse_dynamics(&body, &q, &with(&v), &a, gravity, &mut u[1]);
                        data.inverse_dynamics(&body, &q, &v, &with(&a), gravity, &mut u[2]);
                        u
                    });
                    let [plus, minus] = &mut ends;
                    let matrices = [&exact.by_position, &exact.by_velocity, &exact.by_acceleration];
                    for (which, matrix) in matrices.into_iter().enumerate() {
                        for k in 0..n {
                            let slope = (plus[which][k] - minus[which][k]) / (2.0 * h);
                            worst = worst.max((slope - matrix[k * n + j]).abs());
                        }
                    }
                }
                worst / scale
            });
            assert!(fine < 1e-6 && fine < 0.3 * coarse, "{coarse:e} {fine:e}");
        }
    }
}
