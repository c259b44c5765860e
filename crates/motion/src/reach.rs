//! Poses that reach: the pose nearest to a given one, points of which are where they should be.
//!
//! ```text
//! minimise  ‖q ⊖ q̂‖²_σ + Σ ‖x_k(q) − X_k‖²/σ_k² + Σ min(height, 0)²/σ_g²  [ − 2 ln p(q), with a prior, σ larger ]
//! ```
//!
//! Levenberg–Marquardt on one pose. What cannot be reached is come near to.

use geometry::{Mat3, Vec3};
use linear::{BlockBandMatrix, add_gram};

use crate::body::{Body, LinkKind};
use crate::error::Error;
use crate::ground::Terrain;
use crate::prior::{Likelihood, Poses};
use crate::recursion::Data;
use crate::rotation::right_jacobian_inverse;

/// σ of the root's place in m, of its turn and of the other joints' turns in rad.
const UNITS: [f64; 3] = [0.05, 0.08, 0.2];
/// σ_g, in m.
const GROUND: f64 = 2e-4;
const ITERATIONS: usize = 40;
/// How much looser a pose is held where it is known how people hold themselves.
const LOOSE: f64 = 4.0;

/// Where a point of a joint should be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) joint: usize,
    /// In the joint's frame.
    pub(crate) point: Vec3,
    /// In the world, in m.
    pub(crate) place: Vec3,
    /// σ_k: what counts as near, in m.
    pub(crate) unit: f64,
}

/// One pose's problem.
pub(crate) struct Reach<'a> {
    pub(crate) body: &'a Body,
    pub(crate) terrain: &'a Terrain,
    /// q̂.
    pub(crate) pose: &'a [f64],
    pub(crate) goals: &'a [Goal],
    /// Points that stay above the ground: joint, and place in its frame.
    pub(crate) above: &'a [(usize, Vec3)],
    /// How people hold themselves, where that is to count.
    pub(crate) learnt: Option<(&'a Likelihood<'a>, &'a Poses)>,
}

impl Reach<'_> {
    /// The pose, from `start`.
    pub(crate) fn solve(&self, start: &[f64], data: &mut Data) -> Result<Vec<f64>, Error> {
        let n = self.body.dof_count();
        let all: Vec<usize> = (0..n).collect();
        let mut band = BlockBandMatrix::new(&[(n, 0)], 0);
        let (mut q, mut damping) = (start.to_vec(), 1e-4);
        let mut rows = self.rows(&q, data);
        let mut gram = vec![0.0; n * n];
        for _ in 0..ITERATIONS {
            gram.fill(0.0);
            add_gram(&rows.0, n, &mut gram);
            band.set_zero();
            band.add_matrix(&all, &gram);
            let mut step = vec![0.0; n];
            for (row, residual) in rows.0.chunks_exact(n).zip(&rows.1) {
                step.iter_mut().zip(row).for_each(|(s, r)| *s -= r * residual);
            }
            (0..n).for_each(|k| band.add(k, k, damping * (1.0 + gram[k * n + k])));
            band.factorize()?;
            band.solve(&mut step);
            let mut next = q.clone();
            self.body.integrate(&q, &step, &mut next);
            let tried = self.rows(&next, data);
            let cost = |rows: &(Vec<f64>, Vec<f64>)| rows.1.iter().map(|r| r * r).sum::<f64>();
            let (before, after) = (cost(&rows), cost(&tried));
            if after < before {
                (q, rows) = (next, tried);
                damping = (0.2 * damping).max(1e-12);
                if before - after < 1e-9 * before {
                    break;
                }
            } else if damping > 1e6 {
                break;
            } else {
                damping *= 8.0;
            }
        }
        Ok(q)
    }

    /// Jacobian by rows, and residuals, at a pose.
    fn rows(&self, q: &[f64], data: &mut Data) -> (Vec<f64>, Vec<f64>) {
        let (body, n) = (self.body, self.body.dof_count());
        data.kinematics(body, q);
        let mut off = vec![0.0; n];
        body.difference(self.pose, q, &mut off);
        let (mut entries, mut residuals) = (vec![0.0; n * n], vec![0.0; n]);
        for (index, link) in body.links.iter().enumerate() {
            let (d, count) = (link.first_dof, link.kind.dofs());
            let unit = UNITS[index.min(2)] * if self.learnt.is_some() { LOOSE } else { 1.0 };
            let turned = match link.kind {
                LinkKind::Ball => right_jacobian_inverse(Vec3::from_slice(&off[d..])),
                _ => Mat3::IDENTITY,
            };
            for row in 0..count {
                residuals[d + row] = off[d + row] / unit;
                for column in 0..count {
                    entries[(d + row) * n + d + column] = turned.col(column)[row] / unit;
                }
            }
        }
        let mut add = |joint: usize, x: Vec3, off: Vec3, unit: f64, directions: &[Vec3]| {
            for direction in directions {
                let start = entries.len();
                entries.resize(start + n, 0.0);
                data.point_jacobian(body, joint, x, |k, j| entries[start + k] = j.dot(*direction) / unit);
                residuals.push(off.dot(*direction) / unit);
            }
        };
        for goal in self.goals {
            let x = data.point(body, goal.joint, goal.point);
            add(goal.joint, x, x - goal.place, goal.unit, &[Vec3::X, Vec3::Y, Vec3::Z]);
        }
        for &(joint, point) in self.above {
            let x = data.point(body, joint, point);
            let height = self.terrain.height(x);
            if height < 0.0 {
                let normal = self.terrain.normal(x);
                add(joint, x, normal * height, GROUND, &[normal]);
            }
        }
        if let Some((likelihood, poses)) = self.learnt {
            let (rows, off) = likelihood.pose_rows(poses, body, q, self.terrain);
            entries.extend(rows);
            residuals.extend(off);
        }
        (entries, residuals)
    }

    /// What a pose costs.
    pub(crate) fn cost(&self, q: &[f64], data: &mut Data) -> f64 {
        self.rows(q, data).1.iter().map(|r| r * r).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::Ground;
    use crate::testing::figure;

    #[test]
    fn a_pose_reaches_what_is_near_and_stays_where_nothing_is_asked() {
        let (body, terrain) = (figure(5), Terrain::Plane(Ground::level(-9.0)));
        let (pose, mut data) = (body.neutral(), Data::new(&body));
        data.kinematics(&body, &pose);
        let joint = body.joints().len() - 2;
        let place = data.point(&body, joint, Vec3::ZERO) + Vec3::new(0.03, 0.05, -0.04);
        let goals = [Goal { joint, point: Vec3::ZERO, place, unit: 1e-4 }];
        let reach =
            Reach { body: &body, terrain: &terrain, pose: &pose, goals: &goals, above: &[], learnt: None };
        let found = reach.solve(&pose, &mut data).unwrap();
        data.kinematics(&body, &found);
        assert!(data.point(&body, joint, Vec3::ZERO).distance(place) < 1e-4);
        let still = Reach { goals: &[], ..reach }.solve(&pose, &mut data).unwrap();
        assert_eq!(still, pose);
        // and a floor that rises under it lifts it
        let low = data.point(&body, joint, Vec3::ZERO).y;
        let floor = Terrain::Plane(Ground::level(low + 0.02));
        let above = [(joint, Vec3::ZERO)];
        let lifted = Reach { terrain: &floor, goals: &[], above: &above, ..reach };
        let lifted = lifted.solve(&pose, &mut data).unwrap();
        data.kinematics(&body, &lifted);
        assert!(floor.height(data.point(&body, joint, Vec3::ZERO)) > -1e-4);
    }
}
