//! Rows of a frame over its control points and forces: slopes of dynamics and of places.

use geometry::{Mat3, Vec3};

use super::{Iterate, Place, Plan, Scratch};
use crate::body::{Body, LinkKind};
use crate::recursion::Data;
use crate::spline::Slope;

/// Rows of a frame, being written.
pub(crate) struct Rows<'a> {
    width: usize,
    pub(super) columns: [usize; 3],
    pub(crate) force_column: usize,
    pub(super) slope: &'a Slope,
    body: &'a Body,
    pub(crate) entries: Vec<f64>,
    pub(crate) residuals: Vec<f64>,
}

impl<'a> Rows<'a> {
    /// None yet, of this width, of a body with n degrees of freedom.
    pub(crate) fn new(width: usize, n: usize, slope: &'a Slope, body: &'a Body) -> Self {
        let columns = [0, n, width - n];
        Self { width, columns, force_column: 2 * n, slope, body, entries: Vec::new(), residuals: Vec::new() }
    }

    /// Adds a row given by its slopes by position, velocity and acceleration.
    pub(crate) fn push(&mut self, parts: &[&[f64]], residual: f64, weight: f64) {
        let start = self.entries.len();
        self.entries.resize(start + self.width, 0.0);
        let row = &mut self.entries[start..];
        for (link, blocks) in self.body.links.iter().zip(&self.slope.blocks) {
            let d = link.first_dof;
            for (what, part) in parts.iter().enumerate() {
                if let LinkKind::Hinge(_) = link.kind {
                    if part[d] != 0.0 {
                        for c in 0..3 {
                            row[self.columns[c] + d] += weight * part[d] * blocks[what][c].col(0).x;
                        }
                    }
                    continue;
                }
                let v = Vec3::from_slice(&part[d..]) * weight;
                if v == Vec3::ZERO {
                    continue;
                }
                for c in 0..3 {
                    let lifted = blocks[what][c].transpose() * v;
                    let at = self.columns[c] + d;
                    row[at] += lifted.x;
                    row[at + 1] += lifted.y;
                    row[at + 2] += lifted.z;
                }
            }
        }
        self.residuals.push(weight * residual);
    }
}

impl Plan<'_> {
    /// ( force under the first foot, under the second one, τ ) in N and N·m, of what [`Self::torques`] left.
    pub(super) fn parts(&self, frame: usize, forces: &[Vec3], u: &[f64]) -> Vec<f64> {
        let mut parts = u.to_vec();
        parts[..6].fill(0.0);
        for (active, &force) in self.active[frame].iter().zip(forces) {
            let first = 3 * self.problem.soles[active.sole].foot.min(1);
            (0..3).for_each(|k| parts[first + k] += force[k] * self.body_weight);
        }
        parts
    }

    /// What contact forces do to a row that is given by its slopes by [`Self::parts`].
    pub(super) fn contact_slopes(
        &self,
        frame: usize,
        data: &Data,
        by_parts: &[f64],
        weight: f64,
        columns: &mut [f64],
    ) {
        let body = self.problem.body;
        for (index, active) in self.active[frame].iter().enumerate() {
            let sole = &self.problem.soles[active.sole];
            let x = data.point(body, sole.joint, sole.point);
            let mut slope = Vec3::from_slice(&by_parts[3 * sole.foot.min(1)..]);
            data.point_jacobian(body, sole.joint, x, |k, j| {
                if k >= 6 {
                    slope -= j * by_parts[k];
                }
            });
            (slope * (weight * self.body_weight)).write_to_slice(&mut columns[3 * index..3 * index + 3]);
        }
    }

    /// −∂(Jᵀf)/∂q into the derivatives.
    pub(crate) fn force_slopes(&self, frame: usize, forces: &[Vec3], s: &mut Scratch) {
        let (body, n) = (self.problem.body, self.problem.body.dof_count());
        let matrix = &mut s.derivatives.by_position;
        for (active, &force) in self.active[frame].iter().zip(forces) {
            let sole = &self.problem.soles[active.sole];
            let (x, force) = (s.data.point(body, sole.joint, sole.point), force * self.body_weight);
            s.data
                .point_force_derivative(body, sole.joint, x, force, |k, j, entry| matrix[k * n + j] -= entry);
        }
        for (joint, x, force, slope) in self.problem.external.at(body, frame, &s.data) {
            s.data.point_force_derivative(body, joint, x, force, |k, j, entry| matrix[k * n + j] -= entry);
            if slope != Mat3::ZERO {
                s.data.point_jacobian(body, joint, x, |j, column| {
                    let pulled = slope * column;
                    s.data.point_jacobian(body, joint, x, |k, row| matrix[k * n + j] -= row.dot(pulled));
                });
            }
        }
    }

    /// Six constraint rows, then torques.
    pub(super) fn dynamics_rows(&self, frame: usize, s: &mut Scratch, rows: &mut Rows) {
        let (problem, body) = (self.problem, self.problem.body);
        let n = body.dof_count();
        let first = rows.entries.len();
        for k in 0..n {
            let d = &s.derivatives;
            let parts = [&d.by_position, &d.by_velocity, &d.by_acceleration]
                .map(|matrix| &matrix[k * n..(k + 1) * n]);
            let weight = if k < 6 { 1.0 / self.body_weight } else { 1.0 / self.torque_unit() };
            rows.push(&parts, s.u[k], weight);
        }
        for (index, active) in self.active[frame].iter().enumerate() {
            let sole = &problem.soles[active.sole];
            let x = s.data.point(body, sole.joint, sole.point);
            s.data.point_jacobian(body, sole.joint, x, |k, j| {
                let weight = if k < 6 { 1.0 } else { self.body_weight / self.torque_unit() };
                let at = first + k * rows.width + rows.force_column + 3 * index;
                (j * -weight).write_to_slice(&mut rows.entries[at..at + 3]);
            });
        }
    }

    /// Joints near the take, resting points in their places, the others above the ground.
    pub(super) fn place_rows(&self, iterate: &Iterate, frame: usize, s: &mut Scratch, rows: &mut Rows) {
        let (problem, body, w) = (self.problem, self.problem.body, &self.problem.weights);
        let follow = problem.attention[frame].sqrt() / w.follow;
        let mut jacobian =
            |data: &Data, joint: usize, x: Vec3, off: Vec3, weight: f64, rows: &mut Rows, along: &[Vec3]| {
                let first = rows.entries.len();
                for direction in along {
                    s.parts[0].fill(0.0);
                    data.point_jacobian(body, joint, x, |k, j| s.parts[0][k] = j.dot(*direction));
                    rows.push(&[&s.parts[0]], off.dot(*direction), weight);
                }
                first
            };
        if follow > 0.0 {
            for (&joint, place) in self.followed.iter().zip(&self.places[frame]) {
                let x = s.data.point(body, joint, Vec3::ZERO);
                jacobian(&s.data, joint, x, x - *place, follow, rows, &[Vec3::X, Vec3::Y, Vec3::Z]);
            }
        }
        for (path, x, place) in self.on_paths(frame, &s.data) {
            let across: Vec<Vec3> = path.sight.directions(place).collect();
            jacobian(&s.data, path.joint, x, x - place, 1.0 / path.unit, rows, &across);
        }
        let first = rows.force_column + 3 * self.active[frame].len();
        for (index, place) in self.points(iterate, frame, &s.data) {
            let sole = &problem.soles[index];
            let x = s.data.point(body, sole.joint, sole.point);
            match place {
                Place::Anchor(off, slope) => {
                    let axes = [Vec3::X, Vec3::Y, Vec3::Z];
                    let start = jacobian(&s.data, sole.joint, x, off, 1.0 / w.anchor, rows, &axes);
                    let Some((stand, slope)) = slope else { continue };
                    for (k, axis) in axes.into_iter().enumerate() {
                        let at = start + k * rows.width + first + 3 * stand;
                        let entries = slope.transpose() * axis * (-1.0 / w.anchor);
                        entries.write_to_slice(&mut rows.entries[at..at + 3]);
                    }
                }
                Place::Height(height) if height < 0.0 => {
                    let normal = problem.terrain.normal(x);
                    jacobian(&s.data, sole.joint, x, normal * height, 1.0 / w.ground, rows, &[normal]);
                }
                Place::Height(_) => {}
            }
        }
    }
}
