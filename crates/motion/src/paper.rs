//! The paper's own formulation (eq. 5 – 11), for comparison: physics is soft, torques and contact forces are unknowns of their own.
//!
//! ```text
//! minimise  1000 E_c + E_init + E_forcefield + 100 E_physics
//!   E_c           ‖x − x̂‖² at keys, ‖x_c − X_c‖² of resting points, ‖x_p − X_p‖² on trajectories, in m and rad
//!   E_init        −ln p(q₁, q̇₁), a mixture of Gaussians
//!   E_forcefield  −Σ ln p(u|q, q̇) + 10 ‖r_u‖² + 10 ‖r_s‖²,   u = τ + Jᵀ B e^λ + f_e,   r outside of the subspaces
//!   E_physics     Σ ‖M q̈ + C + h − τ − Jᵀ B e^λ − f_e‖²/2σ²,   σ = 1 N/kg
//! ```
//!
//! Staged as there: poses first, with forces by eq. 3; then torques and contact forces, poses being held; then all. Without a prior,
//! ‖τ‖² takes the place of E_init and E_forcefield (Witkin and Kass 1988). `Subspaces::Hard` is its rejected variant, states and forces
//! inside the subspaces, by a weight a million times as large.
//!
//! Differs: knots at frames, where a spline's values are as good unknowns as its control points; Gauss–Newton's curvature, which SQP without
//! constraints comes to; σ_physics and the units of E_c, which the paper does not give.

use geometry::Vec3;
use linear::{BlockBandMatrix, add_gram};
use rayon::prelude::*;

use crate::cone::Cone;
use crate::derivatives::Derivatives;
use crate::error::Error;
use crate::prior::{Likelihood, Mixture, PriorRows};
use crate::solve::Solution;
use crate::spacetime::{Active, Iterate, Place, Plan, Rows, Scratch, Spacetime};
use crate::spline::Spline;

/// What the paper's weights are of.
const CONSTRAINTS: f64 = 1000.0;
const PHYSICS: f64 = 100.0;
const SUBSPACES: f64 = 10.0;
/// How much more a subspace counts that nothing may leave.
const INSIDE: f64 = 1e6;
/// σ of torques where nothing is learnt, in N·m.
const TORQUE: f64 = 50.0;
/// λ stays in here: e^λ is a body weight at 0 and nothing at −12.
const EXPONENTS: (f64, f64) = (-12.0, 2.0);
/// Iterations of each stage, and the share of the cost below which a stage ends.
const ITERATIONS: usize = 30;
const STALL: f64 = 1e-4;
/// What holds unknowns still in a stage that is not theirs.
const HELD: f64 = 1e12;

/// How states and forces keep to the subspaces of a prior.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subspaces {
    /// They are drawn to them.
    #[default]
    Soft,
    /// They stay inside.
    Hard,
}

/// Dials of the paper's formulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paper {
    /// How states and forces keep to the subspaces of a prior.
    pub subspaces: Subspaces,
    /// Whether E_physics counts. Without it nothing from outside has any influence (figure 6b).
    pub physics: bool,
}

impl Default for Paper {
    fn default() -> Self {
        Self { subspaces: Subspaces::Soft, physics: true }
    }
}

/// How a motion is solved for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Formulation {
    /// Physics is a constraint, and torques are what inverse dynamics makes of the rest.
    #[default]
    Constrained,
    /// The paper's, for comparison. Frames that are not kept are free: `follow` has no part in it.
    Paper(Paper),
}

/// What a stage moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Poses,
    Forces,
    All,
}

/// All unknowns.
#[derive(Clone)]
struct Unknowns {
    spline: Spline,
    /// τ, by frame.
    torques: Vec<Vec<f64>>,
    /// λ, by frame and resting point.
    exponents: Vec<Vec<[f64; 4]>>,
}

/// B: edges of the pyramid inside a cone.
fn edges(cone: &Cone) -> [Vec3; 4] {
    let (a, b) = cone.normal.any_orthonormal_pair();
    [a, -a, b, -b].map(|side| cone.normal + side * cone.friction)
}

struct Method<'a> {
    plan: Plan<'a>,
    paper: Paper,
    initial: Option<Mixture>,
    band: BlockBandMatrix,
}

/// Solves a problem as the paper does, from a motion that is thought to be near.
pub(crate) fn solve(problem: &Spacetime, spline: Spline, paper: Paper) -> Result<Solution, Error> {
    problem.external.check(problem.body)?;
    problem.trajectories.iter().try_for_each(|path| path.check(problem.body))?;
    if problem.prior.is_some_and(Likelihood::is_apart) {
        let problem =
            "it tells contact forces and torques apart; the paper's method has a prior of both together";
        return Err(Error::PriorFile { problem });
    }
    let plan = Plan::new(problem, spline.step);
    let (n, frames) = (problem.body.dof_count(), plan.frames());
    let even = |active: &Vec<Active>| {
        let share = (1.0 / (4.0 * active.len().max(1) as f64)).ln();
        vec![[share; 4]; active.len()]
    };
    let exponents = plan.active.iter().map(even).collect();
    let unknowns = Unknowns { spline, torques: vec![vec![0.0; n - 6]; frames], exponents };
    let extra = |block: usize| match block {
        0 => 0,
        _ => plan.active.get(block - 1).map_or(0, |active| n - 6 + 4 * active.len()),
    };
    let sizes: Vec<(usize, usize)> = (0..frames + 2).map(|block| (n + extra(block), 0)).collect();
    let initial = problem.prior.map(Likelihood::initial).transpose()?;
    let band = BlockBandMatrix::new(&sizes, 2);
    Method { plan, paper, initial, band }.run(unknowns)
}

impl Method<'_> {
    fn run(mut self, mut unknowns: Unknowns) -> Result<Solution, Error> {
        let stages: &[Stage] = match (self.paper.physics, self.plan.problem.prior) {
            (false, _) => &[Stage::Poses],
            // without a prior nothing but physics says what happens between keys
            (true, None) => &[Stage::Forces, Stage::All],
            (true, Some(_)) => &[Stage::Poses, Stage::Forces, Stage::All],
        };
        let (mut iterations, mut converged) = (0, true);
        for &stage in stages {
            let (found, spent, settled) = self.stage(unknowns, stage)?;
            unknowns = found;
            iterations += spent;
            converged = settled;
        }
        if !self.paper.physics {
            // forces that go with it are wanted all the same
            (unknowns, _, _) = self.stage(unknowns, Stage::Forces)?;
        }
        Ok(self.solution(unknowns, iterations, converged))
    }

    fn solution(&self, unknowns: Unknowns, iterations: usize, converged: bool) -> Solution {
        let plan = &self.plan;
        let mut scratch = Scratch::new(plan.problem.body);
        let (mut residual, mut forces, mut objectives) = (0.0_f64, Vec::new(), Vec::new());
        for frame in 0..plan.frames() {
            let rows = self.rows(&unknowns, frame, Stage::All, &mut scratch);
            objectives.push(rows.residuals.iter().map(|r| r * r).sum());
            let own = self.forces(&unknowns, frame);
            let violation = self.violation(&unknowns, frame, &own, &mut scratch);
            residual = violation[..6].iter().fold(residual, |most, x| most.max(x.abs() / plan.body_weight));
            let newtons = plan.active[frame].iter().zip(&own).map(|(a, &f)| (a.sole, f * plan.body_weight));
            forces.push(newtons.collect());
        }
        let contacts = plan.problem.contacts.to_vec();
        let spline = unknowns.spline;
        Solution { spline, forces, contacts, objectives, iterations, converged, residual, chain: None }
    }

    /// Levenberg–Marquardt on what a stage moves.
    fn stage(&mut self, start: Unknowns, stage: Stage) -> Result<(Unknowns, usize, bool), Error> {
        let (mut here, mut damping) = (start, 1e-2);
        let mut rows = self.all_rows(&here, stage);
        for iteration in 0..ITERATIONS {
            let step = self.step(&rows, stage, damping)?;
            let next = self.moved(&here, &step);
            let tried = self.all_rows(&next, stage);
            let (before, after) = (cost(&rows), cost(&tried));
            if after < before {
                (here, rows) = (next, tried);
                damping = (0.2 * damping).max(1e-8);
                if before - after < STALL * before {
                    return Ok((here, iteration + 1, true));
                }
            } else {
                damping *= 10.0;
                if damping > 1e8 {
                    return Ok((here, iteration + 1, true));
                }
            }
        }
        Ok((here, ITERATIONS, false))
    }

    fn all_rows(&self, unknowns: &Unknowns, stage: Stage) -> Vec<(Vec<f64>, Vec<f64>)> {
        let body = self.plan.problem.body;
        let frames = (0..self.plan.frames()).into_par_iter().with_min_len(4);
        let one = |s: &mut Scratch, frame: usize| {
            let rows = self.rows(unknowns, frame, stage, s);
            (rows.entries, rows.residuals)
        };
        frames.map_init(|| Scratch::new(body), one).collect()
    }

    fn step(&mut self, rows: &[(Vec<f64>, Vec<f64>)], stage: Stage, damping: f64) -> Result<Vec<f64>, Error> {
        let n = self.plan.problem.body.dof_count();
        self.band.set_zero();
        let mut right = vec![0.0; self.band.count()];
        for (frame, (entries, residuals)) in rows.iter().enumerate() {
            let width = 3 * n + self.extra(frame);
            let indices: Vec<usize> = (self.band.first(frame)..self.band.first(frame) + n)
                .chain(self.band.first(frame + 1)..self.band.first(frame + 1) + n + self.extra(frame))
                .chain(self.band.first(frame + 2)..self.band.first(frame + 2) + n)
                .collect();
            let mut gram = vec![0.0; width * width];
            add_gram(entries, width, &mut gram);
            self.band.add_matrix(&indices, &gram);
            for (row, residual) in entries.chunks_exact(width).zip(residuals) {
                indices.iter().zip(row).for_each(|(&index, r)| right[index] -= r * residual);
            }
        }
        for block in 0..rows.len() + 2 {
            let first = self.band.first(block);
            let extra = if block == 0 { 0 } else { self.extra(block - 1) };
            for k in 0..n + extra {
                let held = match stage {
                    Stage::Poses => k >= n,
                    Stage::Forces => k < n,
                    Stage::All => false,
                };
                self.band.add(first + k, first + k, if held { HELD } else { damping });
                if held {
                    right[first + k] = 0.0;
                }
            }
        }
        self.band.factorize()?;
        self.band.solve_refined(&mut right);
        Ok(right)
    }

    /// Unknowns of a frame beside its control point; none after the last.
    fn extra(&self, frame: usize) -> usize {
        let active = self.plan.active.get(frame);
        active.map_or(0, |active| self.plan.problem.body.dof_count() - 6 + 4 * active.len())
    }

    fn moved(&self, from: &Unknowns, step: &[f64]) -> Unknowns {
        let (body, mut next) = (self.plan.problem.body, from.clone());
        let n = body.dof_count();
        for (block, control) in next.spline.controls.iter_mut().enumerate() {
            let first = self.band.first(block);
            body.integrate(&from.spline.controls[block], &step[first..first + n], control);
        }
        for frame in 0..self.plan.frames() {
            let first = self.band.first(frame + 1) + n;
            let own = &step[first..first + self.extra(frame)];
            // torques are counted in N·m a kilogram
            let mass = body.mass();
            next.torques[frame].iter_mut().zip(own).for_each(|(tau, s)| *tau += mass * s);
            let exponents = next.exponents[frame].as_flattened_mut().iter_mut();
            // a step of more than 2 is more than a factor of seven
            exponents
                .zip(&own[n - 6..])
                .for_each(|(e, s)| *e = (*e + s.clamp(-2.0, 2.0)).clamp(EXPONENTS.0, EXPONENTS.1));
        }
        next
    }

    /// B e^λ of every resting point, in body weights.
    fn forces(&self, unknowns: &Unknowns, frame: usize) -> Vec<Vec3> {
        let own = self.plan.active[frame].iter().zip(&unknowns.exponents[frame]);
        own.map(|(active, exponents)| {
            edges(&active.cone).iter().zip(exponents).map(|(&edge, e)| edge * e.exp()).sum()
        })
        .collect()
    }

    /// M q̈ + C + h − τ − Jᵀ B e^λ − f_e, in N and N·m.
    fn violation(&self, unknowns: &Unknowns, frame: usize, forces: &[Vec3], s: &mut Scratch) -> Vec<f64> {
        let (problem, body) = (self.plan.problem, self.plan.problem.body);
        unknowns.spline.frame(body, frame, &mut s.moment);
        let mut u = vec![0.0; body.dof_count()];
        s.data.inverse_dynamics(body, &s.moment.q, &s.moment.v, &s.moment.a, problem.gravity, &mut u);
        self.plan.torques(frame, forces, &s.data, &mut u);
        u[6..].iter_mut().zip(&unknowns.torques[frame]).for_each(|(u, tau)| *u -= tau);
        u
    }

    /// A frame's rows: what their squares add up to is what is minimised.
    fn rows(&self, unknowns: &Unknowns, frame: usize, stage: Stage, s: &mut Scratch) -> RowList {
        let (plan, problem, body) = (&self.plan, self.plan.problem, self.plan.problem.body);
        let n = body.dof_count();
        unknowns.spline.frame_slope(body, frame, &mut s.moment, &mut s.slope);
        let (q, v, a) = (&s.moment.q, &s.moment.v, &s.moment.a);
        s.data.inverse_dynamics_derivatives(body, q, v, a, problem.gravity, &mut s.u, &mut s.derivatives);
        let forces = self.forces(unknowns, frame);
        let by_id = s.derivatives.by_position.clone();
        let u_id = s.u.clone();
        // eq. 3's forces are what poses alone are judged by
        let of_poses = (stage == Stage::Poses)
            .then(|| problem.prior.map(|p| p.rows(&s.moment, &s.u, &s.derivatives, problem.terrain)))
            .flatten();
        plan.torques(frame, &forces, &s.data, &mut s.u);
        plan.force_slopes(frame, &forces, s);
        let width = 3 * n + self.extra(frame);
        let slope = std::mem::take(&mut s.slope);
        let mut rows = Rows::new(width, n, &slope, body);
        self.constraint_rows(unknowns, frame, s, &mut rows);
        if let (0, Some(prior), Some(initial)) = (frame, problem.prior, &self.initial) {
            let PriorRows { residuals, parts, .. } = prior.initial_rows(initial, &s.moment, problem.terrain);
            for (row, residual) in residuals.into_iter().enumerate() {
                let own = parts.each_ref().map(|part| &part[row * n..(row + 1) * n]);
                rows.push(&own[..2], residual, 0.5_f64.sqrt());
            }
        }
        let edges = self.edge_columns(unknowns, frame, s);
        if stage == Stage::Poses {
            if let Some(PriorRows { residuals, parts, .. }) = of_poses {
                for (row, residual) in residuals.into_iter().enumerate() {
                    let own = parts.each_ref().map(|part| &part[row * n..(row + 1) * n]);
                    rows.push(&own, residual, self.prior_weight(row));
                }
            }
        } else {
            let mut violation = s.u.clone();
            violation[6..].iter_mut().zip(&unknowns.torques[frame]).for_each(|(u, tau)| *u -= tau);
            self.physics_rows(&violation, &edges, s, &mut rows);
            let found: Vec<f64> = u_id.iter().zip(&violation).map(|(u, off)| u - off).collect();
            self.force_rows(frame, &found, &by_id, &edges, unknowns, s, &mut rows);
        }
        let Rows { entries, residuals, .. } = rows;
        s.slope = slope;
        RowList { entries, residuals }
    }

    /// What is kept, and what rests.
    fn constraint_rows(&self, unknowns: &Unknowns, frame: usize, s: &mut Scratch, rows: &mut Rows) {
        let (plan, problem, body) = (&self.plan, self.plan.problem, self.plan.problem.body);
        let (n, weight) = (body.dof_count(), CONSTRAINTS.sqrt());
        let all = [Vec3::X, Vec3::Y, Vec3::Z];
        let along = |joint: usize, x: Vec3, off: Vec3, directions: &[Vec3], rows: &mut Rows| {
            for direction in directions {
                let mut row = vec![0.0; n];
                s.data.point_jacobian(body, joint, x, |k, j| row[k] = j.dot(*direction));
                rows.push(&[&row], off.dot(*direction), weight);
            }
        };
        if problem.attention[frame] > 1.0 {
            for (&joint, place) in plan.followed.iter().zip(&plan.places[frame]) {
                let x = s.data.point(body, joint, Vec3::ZERO);
                along(joint, x, x - *place, &all, rows);
            }
        }
        for (path, x, place) in plan.on_paths(frame, &s.data) {
            along(path.joint, x, x - place, &path.sight.directions(place).collect::<Vec<_>>(), rows);
        }
        let iterate = Iterate {
            spline: unknowns.spline.clone(),
            forces: Vec::new(),
            places: vec![Vec::new(); plan.frames()],
        };
        let points: Vec<(usize, Place)> = plan.points(&iterate, frame, &s.data).collect();
        for (index, place) in points {
            let sole = &problem.soles[index];
            let x = s.data.point(body, sole.joint, sole.point);
            match place {
                Place::Anchor(off, _) => along(sole.joint, x, off, &all, rows),
                Place::Height(height) if height < 0.0 => {
                    let normal = problem.terrain.normal(x);
                    along(sole.joint, x, normal * height, &[normal], rows);
                }
                Place::Height(_) => {}
            }
        }
        if problem.attention[frame] > 1.0 {
            let mut off = vec![0.0; n];
            body.difference(&problem.target[frame], &s.moment.q, &mut off);
            for k in 3..n {
                let mut row = vec![0.0; n];
                // a turn's own slope is that of the identity next to where it is kept
                row[k] = 1.0;
                rows.push(&[&row], off[k], weight);
            }
        }
    }

    /// Jᵀ b e^λ of every edge of every resting point, in N and N·m.
    fn edge_columns(&self, unknowns: &Unknowns, frame: usize, s: &Scratch) -> Vec<Vec<f64>> {
        let (plan, body) = (&self.plan, self.plan.problem.body);
        let mut columns = Vec::new();
        for (active, exponents) in plan.active[frame].iter().zip(&unknowns.exponents[frame]) {
            let sole = &plan.problem.soles[active.sole];
            let x = s.data.point(body, sole.joint, sole.point);
            for (edge, e) in edges(&active.cone).into_iter().zip(exponents) {
                let force = edge * (e.exp() * plan.body_weight);
                let mut column = vec![0.0; body.dof_count()];
                s.data.point_jacobian(body, sole.joint, x, |k, j| column[k] = j.dot(force));
                columns.push(column);
            }
        }
        columns
    }

    /// E_physics.
    fn physics_rows(&self, violation: &[f64], edges: &[Vec<f64>], s: &Scratch, rows: &mut Rows) {
        let body = self.plan.problem.body;
        let (n, mass) = (body.dof_count(), body.mass());
        let weight = (0.5 * PHYSICS).sqrt() / mass;
        for (k, off) in violation.iter().enumerate() {
            let d = &s.derivatives;
            let parts = [&d.by_position, &d.by_velocity, &d.by_acceleration]
                .map(|matrix| &matrix[k * n..(k + 1) * n]);
            let at = rows.entries.len() + rows.force_column;
            rows.push(&parts, *off, weight);
            if k >= 6 {
                rows.entries[at + k - 6] = -weight * mass;
            }
            for (index, column) in edges.iter().enumerate() {
                rows.entries[at + n - 6 + index] = -weight * column[k];
            }
        }
    }

    /// E_forcefield of u = τ + Jᵀ B e^λ + f_e; without a prior, ‖τ‖².
    #[expect(clippy::too_many_arguments, reason = "what a frame is made of")]
    fn force_rows(
        &self,
        frame: usize,
        u: &[f64],
        by_id: &[f64],
        edges: &[Vec<f64>],
        unknowns: &Unknowns,
        s: &Scratch,
        rows: &mut Rows,
    ) {
        let (problem, body) = (self.plan.problem, self.plan.problem.body);
        let (n, mass) = (body.dof_count(), body.mass());
        let Some(prior) = problem.prior else {
            for (k, tau) in unknowns.torques[frame].iter().enumerate() {
                let at = rows.entries.len() + rows.force_column;
                rows.push(&[], *tau, 1.0 / TORQUE);
                rows.entries[at + k] = mass / TORQUE;
            }
            return;
        };
        // what pushes from outside changes with the pose; the identity in the place of M makes ∂r/∂u of the third part
        let by_position = by_id.iter().zip(&s.derivatives.by_position).map(|(id, rest)| id - rest).collect();
        let mut slopes = Derivatives { by_position, ..Derivatives::new(body) };
        (0..n).for_each(|k| slopes.by_acceleration[k * n + k] = 1.0);
        let PriorRows { residuals, parts, .. } = prior.rows(&s.moment, u, &slopes, problem.terrain);
        for (row, residual) in residuals.into_iter().enumerate() {
            let [by_q, by_v, by_u] = parts.each_ref().map(|part| &part[row * n..(row + 1) * n]);
            let (at, weight) = (rows.entries.len() + rows.force_column, self.prior_weight(row));
            rows.push(&[by_q, by_v], residual, weight);
            for k in 6..n {
                rows.entries[at + k - 6] = weight * mass * by_u[k];
            }
            for (index, column) in edges.iter().enumerate() {
                let dot: f64 = by_u.iter().zip(column).map(|(a, b)| a * b).sum();
                rows.entries[at + n - 6 + index] = weight * dot;
            }
        }
    }

    /// What a prior's row counts: the paper's weights where it leaves a subspace.
    fn prior_weight(&self, row: usize) -> f64 {
        let Some(prior) = self.plan.problem.prior else { return 0.0 };
        let inside = match self.paper.subspaces {
            Subspaces::Soft => SUBSPACES,
            Subspaces::Hard => SUBSPACES * INSIDE,
        };
        match prior.outside_noise(row) {
            Some(noise) => inside.sqrt() * noise,
            None => 0.5_f64.sqrt(),
        }
    }
}

/// Rows of a frame.
struct RowList {
    entries: Vec<f64>,
    residuals: Vec<f64>,
}

fn cost(rows: &[(Vec<f64>, Vec<f64>)]) -> f64 {
    rows.iter().flat_map(|(_, residuals)| residuals).map(|r| r * r).sum()
}
