//! What a prior sees of a moment: a state without place and heading, and the generalised forces of a kilogram.
//!
//! ```text
//! s = ( height of the root above the ground, Rᵀ up, log(m_j⁻¹ q_j) of every ball;  Rᵀ ẋ, ω, ω_j )
//! g = ( Rᵀ u_root, u_turn, u_j ) / mass
//! ```
//!
//! R is the root's orientation, m_j a ball's mean. The paper takes the root relative to the frame before it, which says the same as
//! velocities in the root's own frame; there no frame rate comes in.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use geometry::{Mat3, Quat, Vec3};

use crate::body::Body;
use crate::derivatives::Derivatives;
use crate::ground::Terrain;
use crate::rotation::{log, right_jacobian_inverse};
use crate::spatial::skew;
use crate::spline::Moment;

/// Numbers of a pose before the balls'.
const POSE: usize = 4;
/// Numbers of a velocity, and of a force, before the balls'.
const RATE: usize = 6;

/// A body as a prior's balls see it.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// First coordinate and first degree of freedom of every ball of the prior.
    balls: Vec<(usize, usize)>,
    means: Vec<Quat>,
    /// Its mass without what is worn, in kg.
    mass: f64,
    dofs: usize,
    /// Whether contact forces and torques are told apart: u is then ( force under the first foot, under the second one, τ ).
    apart: bool,
}

/// Rows over degrees of freedom: slopes by position, velocity, acceleration.
pub(crate) type Parts = [Vec<f64>; 3];

impl View {
    /// Of a body whose joints of these indices are balls.
    pub(crate) fn new(body: &Body, joints: &[usize], means: &[Quat], mass: f64) -> Self {
        let place = |&joint: &usize| {
            let link = &body.links[body.placements[joint].link];
            (link.first_coordinate, link.first_dof)
        };
        let balls = joints.iter().map(place).collect();
        Self { balls, means: means.to_vec(), mass, dofs: body.dof_count(), apart: false }
    }

    /// The same where contact forces and torques are told apart.
    pub(crate) fn apart(self, apart: bool) -> Self {
        Self { apart, ..self }
    }

    /// Whether contact forces and torques are told apart.
    pub(crate) fn is_apart(&self) -> bool {
        self.apart
    }

    /// First coordinates of the balls.
    pub(crate) fn coordinates(&self) -> impl Iterator<Item = usize> + '_ {
        self.balls.iter().map(|ball| ball.0)
    }

    /// First coordinates and first degrees of freedom of the balls.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.balls.iter().copied()
    }

    /// Numbers of the pose in a state.
    pub(crate) fn pose_size(&self) -> usize {
        POSE + 3 * self.balls.len()
    }

    /// Numbers of a state.
    pub(crate) fn state_size(&self) -> usize {
        self.pose_size() + self.force_size()
    }

    /// Numbers of a force.
    pub(crate) fn force_size(&self) -> usize {
        RATE + 3 * self.balls.len()
    }

    /// s.
    pub(crate) fn state(&self, moment: &Moment, terrain: &Terrain) -> Vec<f64> {
        let Moment { q, v, .. } = moment;
        let root_from_world = Quat::from_slice(&q[3..]).conjugate();
        let mut s = Vec::with_capacity(self.state_size());
        s.push(terrain.height(Vec3::from_slice(q)));
        s.extend((root_from_world * Vec3::Y).to_array());
        for (&(c, _), mean) in self.balls.iter().zip(&self.means) {
            s.extend(log(mean.conjugate() * Quat::from_slice(&q[c..])).to_array());
        }
        s.extend((root_from_world * Vec3::from_slice(v)).to_array());
        s.extend_from_slice(&v[3..6]);
        self.balls.iter().for_each(|&(_, d)| s.extend_from_slice(&v[d..d + 3]));
        s
    }

    /// g, of generalised forces by degrees of freedom.
    pub(crate) fn force(&self, q: &[f64], u: &[f64]) -> Vec<f64> {
        let mut g = Vec::with_capacity(self.force_size());
        let root_from_world = Quat::from_slice(&q[3..]).conjugate();
        g.extend((root_from_world * Vec3::from_slice(u)).to_array());
        match self.apart {
            true => g.extend((root_from_world * Vec3::from_slice(&u[3..])).to_array()),
            false => g.extend_from_slice(&u[3..6]),
        }
        self.balls.iter().for_each(|&(_, d)| g.extend_from_slice(&u[d..d + 3]));
        g.iter_mut().for_each(|g| *g /= self.mass);
        g
    }

    /// Rows over s, by rows, as rows over degrees of freedom; added to `parts`.
    pub(crate) fn lift_state(&self, rows: &[f64], moment: &Moment, terrain: &Terrain, parts: &mut Parts) {
        let Moment { q, v, .. } = moment;
        let root = Mat3::from_quat(Quat::from_slice(&q[3..]));
        let normal = terrain.normal(Vec3::from_slice(q));
        let up = skew(root.transpose() * Vec3::Y);
        let moving = skew(root.transpose() * Vec3::from_slice(v));
        let turns: Vec<Mat3> = (self.balls.iter().zip(&self.means))
            .map(|(&(c, _), mean)| {
                right_jacobian_inverse(log(mean.conjugate() * Quat::from_slice(&q[c..]))).transpose()
            })
            .collect();
        let (n, size) = (self.dofs, self.state_size());
        for (row, s) in rows.chunks_exact(size).enumerate() {
            let by_q = &mut parts[0][row * n..(row + 1) * n];
            let rate = &s[self.pose_size()..];
            add(by_q, 0, normal * s[0]);
            let linear = Vec3::from_slice(rate);
            add(by_q, 3, up.transpose() * Vec3::from_slice(&s[1..]) + moving.transpose() * linear);
            for (k, &(_, d)) in self.balls.iter().enumerate() {
                add(by_q, d, turns[k] * Vec3::from_slice(&s[POSE + 3 * k..]));
            }
            let by_v = &mut parts[1][row * n..(row + 1) * n];
            add(by_v, 0, root * linear);
            add(by_v, 3, Vec3::from_slice(&rate[3..]));
            for (k, &(_, d)) in self.balls.iter().enumerate() {
                add(by_v, d, Vec3::from_slice(&rate[RATE + 3 * k..]));
            }
        }
    }

    /// Rows over g, by rows, as rows over degrees of freedom; added to `parts`. u are the generalised forces. Returns the rows over u.
    pub(crate) fn lift_force(
        &self,
        rows: &[f64],
        q: &[f64],
        u: &[f64],
        derivatives: &Derivatives,
        parts: &mut Parts,
    ) -> Vec<f64> {
        let (n, size) = (self.dofs, self.force_size());
        let count = rows.len() / size.max(1);
        let root = Mat3::from_quat(Quat::from_slice(&q[3..]));
        let turned = skew(root.transpose() * Vec3::from_slice(u)).transpose();
        let other = skew(root.transpose() * Vec3::from_slice(&u[3..])).transpose();
        let mut lifted = vec![0.0; count * n];
        for (row, g) in rows.chunks_exact(size).enumerate() {
            let to = &mut lifted[row * n..(row + 1) * n];
            let linear = Vec3::from_slice(g) / self.mass;
            add(to, 0, root * linear);
            let second = Vec3::from_slice(&g[3..]) / self.mass;
            add(to, 3, if self.apart { root * second } else { second });
            for (k, &(_, d)) in self.balls.iter().enumerate() {
                add(to, d, Vec3::from_slice(&g[RATE + 3 * k..]) / self.mass);
            }
            let turns = turned * linear + if self.apart { other * second } else { Vec3::ZERO };
            add(&mut parts[0][row * n..(row + 1) * n], 3, turns);
        }
        let left = MatRef::from_row_major_slice(&lifted, count, n);
        let slopes = [&derivatives.by_position, &derivatives.by_velocity, &derivatives.by_acceleration];
        for (part, slope) in parts.iter_mut().zip(slopes) {
            let to = MatMut::from_row_major_slice_mut(&mut part[..count * n], count, n);
            matmul(to, Accum::Add, left, MatRef::from_row_major_slice(slope, n, n), 1.0, Par::Seq);
        }
        lifted
    }
}

fn add(row: &mut [f64], at: usize, v: Vec3) {
    row[at] += v.x;
    row[at + 1] += v.y;
    row[at + 2] += v.z;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::JointKind;
    use crate::ground::Ground;
    use crate::recursion::Data;
    use crate::testing::{Random, figure, state};

    #[test]
    fn slopes_of_states_and_forces_agree_with_differences() {
        let (body, mut random) = (figure(4), Random(17));
        let n = body.dof_count();
        let joints: Vec<usize> =
            (1..body.joints().len()).filter(|&j| body.joints()[j].kind == JointKind::Ball).collect();
        let means: Vec<Quat> = joints.iter().map(|_| Quat::from_scaled_axis(random.vec3())).collect();
        let view = View::new(&body, &joints, &means, 60.0);
        let terrain =
            Terrain::Plane(Ground { normal: Vec3::new(0.1, 0.9, 0.2).normalize(), ..Ground::level(-0.3) });
        let (q, v, a) = state(&body, &mut random);
        let gravity = Vec3::new(0.0, -9.81, 0.0);
        let (mut data, mut derivatives) = (Data::new(&body), Derivatives::new(&body));
        let mut u = vec![0.0; n];
        data.inverse_dynamics_derivatives(&body, &q, &v, &a, gravity, &mut u, &mut derivatives);
        let (rows_s, rows_g) = (random.vector(2 * view.state_size()), random.vector(2 * view.force_size()));
        let here = Moment { q: q.clone(), v: v.clone(), a: a.clone() };
        let mut parts: Parts = [vec![0.0; 2 * n], vec![0.0; 2 * n], vec![0.0; 2 * n]];
        view.lift_state(&rows_s, &here, &terrain, &mut parts);
        view.lift_force(&rows_g, &q, &u, &derivatives, &mut parts);
        let mut value = |moment: &Moment, row: usize| {
            let mut u = vec![0.0; n];
            data.inverse_dynamics(&body, &moment.q, &moment.v, &moment.a, gravity, &mut u);
            let (s, g) = (view.state(moment, &terrain), view.force(&moment.q, &u));
            let dot = |rows: &[f64], x: &[f64]| {
                x.iter().zip(&rows[row * x.len()..]).map(|(a, b)| a * b).sum::<f64>()
            };
            dot(&rows_s, &s) + dot(&rows_g, &g)
        };
        for k in 0..n {
            let moved = |what: usize, h: f64| {
                let mut moment = here.clone();
                let mut step = vec![0.0; n];
                step[k] = h;
                match what {
                    0 => body.integrate(&q, &step, &mut moment.q),
                    1 => moment.v[k] += h,
                    _ => moment.a[k] += h,
                }
                moment
            };
            for (what, part) in parts.iter().enumerate() {
                for row in 0..2 {
                    let h = 1e-5;
                    let difference = (value(&moved(what, h), row) - value(&moved(what, -h), row)) / (2.0 * h);
                    let slope = part[row * n + k];
                    assert!(
                        (difference - slope).abs() < 1e-5 * slope.abs().max(1.0),
                        "{what} {k}: {difference} {slope}"
                    );
                }
            }
        }
    }
}
