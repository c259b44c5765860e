//! A frame's share of the linear system: its rows, squared, and what concerns one link or one force alone.

use geometry::{Mat3, Vec3};

use super::{Iterate, Plan, Rows, Scratch, Value};
use crate::body::LinkKind;
use crate::prior::PriorRows;
use crate::rotation::right_jacobian_inverse;
use crate::spline::Moment;

/// A frame's share of the linear system, over its control points, its forces and its multipliers.
pub(crate) struct Local {
    /// (Control points · forces · control point · rows)², lower triangle by columns.
    pub(crate) matrix: Vec<f64>,
    pub(crate) gradient: Vec<f64>,
    pub(crate) value: Value,
}

impl Plan<'_> {
    /// The frame's share of the system. Force rates are left to the caller: they couple two frames.
    pub(crate) fn local(&self, iterate: &Iterate, frame: usize, barrier: f64, s: &mut Scratch) -> Local {
        let (problem, body) = (self.problem, self.problem.body);
        let n = body.dof_count();
        iterate.spline.frame_slope(body, frame, &mut s.moment, &mut s.slope);
        let Moment { q, v, a } = &s.moment;
        s.data.inverse_dynamics_derivatives(body, q, v, a, problem.gravity, &mut s.u, &mut s.derivatives);
        let forces = &iterate.forces[frame];
        // before contacts and pushes are taken away: the prior speaks of all forces together
        let together = problem.prior.filter(|prior| !prior.is_apart());
        let mut learnt = together.map(|prior| prior.rows(&s.moment, &s.u, &s.derivatives, problem.terrain));
        self.torques(frame, forces, &s.data, &mut s.u);
        self.force_slopes(frame, forces, s);
        if let Some(prior) = problem.prior.filter(|prior| prior.is_apart()) {
            let parts = self.parts(frame, forces, &s.u);
            let mut slopes = s.derivatives.clone();
            for slope in [&mut slopes.by_position, &mut slopes.by_velocity, &mut slopes.by_acceleration] {
                slope[..6 * n].fill(0.0);
            }
            learnt = Some(prior.rows(&s.moment, &parts, &slopes, problem.terrain));
        }
        let width = 3 * n + self.extra(frame);
        let slope = std::mem::take(&mut s.slope);
        let mut rows = Rows::new(width, n, &slope, body);
        rows.entries.reserve(width * (6 + n + 3 * (self.followed.len() + problem.soles.len())));
        self.dynamics_rows(frame, s, &mut rows);
        self.place_rows(iterate, frame, s, &mut rows);
        if let (Some(PriorRows { residuals, parts, by_forces }), Some(prior)) = (&learnt, problem.prior) {
            let weight = prior.weight.sqrt();
            for (row, &residual) in residuals.iter().enumerate() {
                let own = parts.each_ref().map(|part| &part[row * n..(row + 1) * n]);
                let at = rows.entries.len() + rows.force_column;
                rows.push(&own, residual, weight);
                if let Some(by_forces) = by_forces.get(row * n..(row + 1) * n).filter(|_| prior.is_apart()) {
                    self.contact_slopes(frame, &s.data, by_forces, weight, &mut rows.entries[at..]);
                }
            }
        }
        let constraint: Vec<f64> = rows.entries.drain(..6 * width).collect();
        let violation = std::array::from_fn(|k| rows.residuals[k]);
        rows.residuals.drain(..6);

        let mut gram = vec![0.0; width * width];
        linear::add_gram(&rows.entries, width, &mut gram);
        let size = width + 6;
        let mut local = Local {
            matrix: vec![0.0; size * size],
            gradient: vec![0.0; size],
            value: Value { objective: 0.0, violation },
        };
        let scale = self.step;
        for column in 0..width {
            let from = &gram[column * width + column..(column + 1) * width];
            let to = &mut local.matrix[column * size + column..(column + 1) * size];
            to.iter_mut().zip(from).for_each(|(to, from)| *to = scale * from);
            for k in 0..6 {
                local.matrix[column * size + width + k] = constraint[k * width + column];
            }
        }
        for (row, residual) in rows.entries.chunks_exact(width).zip(&rows.residuals) {
            local.gradient.iter_mut().zip(row).for_each(|(g, r)| *g += scale * r * residual);
        }
        local.gradient[width..].copy_from_slice(&local.value.violation);
        self.link_terms(frame, s, &rows, &mut local, size);
        self.force_terms(frame, forces, barrier, 2 * n, &mut local, size);
        s.slope = slope;
        local
    }

    /// Turns from the take and accelerations: each concerns one link alone.
    fn link_terms(&self, frame: usize, s: &mut Scratch, rows: &Rows, local: &mut Local, size: usize) {
        let (problem, body, w) = (self.problem, self.problem.body, &self.problem.weights);
        body.difference(&problem.target[frame], &s.moment.q, &mut s.difference);
        let turn = problem.attention[frame] / w.turn.powi(2);
        let still = 1.0 / w.acceleration.powi(2);
        for (link, blocks) in body.links.iter().zip(&rows.slope.blocks) {
            let (d, count) = (link.first_dof, link.kind.dofs());
            if link.kind == LinkKind::Translation {
                continue;
            }
            let take = |list: &[f64]| {
                Vec3::from_array(std::array::from_fn(|k| if k < count { list[d + k] } else { 0.0 }))
            };
            let off = take(&s.difference);
            let jacobian = if count == 3 { right_jacobian_inverse(off) } else { Mat3::IDENTITY };
            for (what, weight, residual, outer) in
                [(0, turn, off, jacobian), (2, still, take(&s.moment.a), Mat3::IDENTITY)]
            {
                let lifted = blocks[what].map(|block| outer * block);
                for c in 0..3 {
                    let at = rows.columns[c] + d;
                    let gradient = lifted[c].transpose() * residual * (weight * self.step);
                    (0..count).for_each(|k| local.gradient[at + k] += gradient[k]);
                    for c2 in c..3 {
                        let block = lifted[c2].transpose() * lifted[c] * (weight * self.step);
                        let below = rows.columns[c2] + d;
                        for column in 0..count {
                            for row in 0..count {
                                if below + row >= at + column {
                                    local.matrix[(at + column) * size + below + row] +=
                                        block.col(column)[row];
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Small forces, inside their cones.
    fn force_terms(
        &self,
        frame: usize,
        forces: &[Vec3],
        barrier: f64,
        first: usize,
        local: &mut Local,
        size: usize,
    ) {
        let unit = 1.0 / self.problem.weights.force.powi(2);
        for (index, (&force, active)) in forces.iter().zip(&self.active[frame]).enumerate() {
            let (_, slope, curvature) = active.cone.barrier(force);
            // an objective of squares has the gradient of half of it in rows: halve the barrier alike
            let gradient = (force * unit + slope * (0.5 * barrier)) * self.step;
            let hessian = (Mat3::from_diagonal(Vec3::splat(unit)) + curvature * (0.5 * barrier)) * self.step;
            let at = first + 3 * index;
            for column in 0..3 {
                local.gradient[at + column] += gradient[column];
                for row in column..3 {
                    local.matrix[(at + column) * size + at + row] += hessian.col(column)[row];
                }
            }
        }
    }
}
