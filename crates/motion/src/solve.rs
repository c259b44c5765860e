//! The method: sequential quadratic programming with Gauss–Newton curvature, the barrier lowered on the way.
//!
//! Each iteration linearises every frame on its own (in parallel, summed in order of time), factorises one block-banded matrix
//! of control points, forces and multipliers ([`linear::BlockBandMatrix`]), and steps as far as cones and a merit function
//! allow. Time is linear in the motion's length.

use std::ops::Range;

use geometry::Vec3;
use linear::BlockBandMatrix;
use rayon::prelude::*;

use crate::body::Body;
use crate::contacts::Contact;
use crate::error::Error;
use crate::markov::Chain;
use crate::spacetime::{Active, Iterate, Local, Plan, Scratch, Spacetime, Value};
use crate::spline::{Moment, Spline};
use crate::stand;

/// Frames linearised before their shares are summed: bounds memory, and has no influence on the result.
const CHUNK: usize = 64;
/// What a multiplier's pivot keeps of itself, in units of the constraint's own.
const SOFTNESS: f64 = 1e-9;

/// What holds control points still that are decided.
const HELD: f64 = 1e14;

/// Deviation of the window, in seconds, that the take is smoothed with before the first iteration.
const START_SMOOTHING: f64 = 0.02;

/// Share of the objective that an iteration must still win.
const STALL: f64 = 1e-3;

/// When to be content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Iterations at most.
    pub iterations: usize,
    /// Root residual, in body weights (and body weights × m).
    pub residual: f64,
    /// Largest change of a control point, in m and rad.
    pub change: f64,
    /// The first and the last μ.
    pub barrier: (f64, f64),
}

impl Default for Limits {
    fn default() -> Self {
        Self { iterations: 60, residual: 1e-7, change: 2e-4, barrier: (1.0, 1e-2) }
    }
}

/// A motion that was solved for.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The motion.
    pub spline: Spline,
    /// Forces at resting points, by frame: sole point and newtons.
    pub forces: Vec<Vec<(usize, Vec3)>>,
    /// When and where points rest: as the problem had it, or where its footsteps were free, in the places found.
    pub contacts: Vec<Contact>,
    /// Every frame's share of what was minimised.
    pub objectives: Vec<f64>,
    /// Iterations spent.
    pub iterations: usize,
    /// Whether it settled within its limits.
    pub converged: bool,
    /// The largest root residual of any frame, in body weights.
    pub residual: f64,
    /// How it was drawn, if it is not the likeliest one.
    pub chain: Option<Chain>,
}

impl Solution {
    /// Coordinates at every frame.
    pub fn coordinates(&self, body: &Body) -> Vec<Vec<f64>> {
        let mut moment = Moment::new(body);
        let frame = |i: usize| {
            self.spline.frame(body, i, &mut moment);
            moment.q.clone()
        };
        (0..self.spline.frame_count()).map(frame).collect()
    }
}

/// Solves a problem from its take.
pub fn solve(problem: &Spacetime, frame_rate_hz: f64, limits: &Limits) -> Result<Solution, Error> {
    let spline = first_spline(problem.body, problem.target, frame_rate_hz)?;
    solve_from(problem, spline, limits)
}

/// The curve through a take without what is faster than some 25 ms: noise is all acceleration.
pub(crate) fn first_spline(body: &Body, frames: &[Vec<f64>], frame_rate_hz: f64) -> Result<Spline, Error> {
    let mut spline = Spline::through(body, frames, 1.0 / frame_rate_hz)?;
    let passes = (2.0 * (START_SMOOTHING * frame_rate_hz).powi(2)).ceil() as usize;
    spline.smooth(body, passes);
    Ok(spline)
}

/// Solves a problem from a motion that is thought to be near.
pub fn solve_from(problem: &Spacetime, spline: Spline, limits: &Limits) -> Result<Solution, Error> {
    let frames = problem.target.len();
    for (what, found) in
        [("attention", problem.attention.len()), ("frames of the motion", spline.frame_count())]
    {
        if found != frames {
            return Err(Error::Sizes { what, expected: frames, found });
        }
    }
    let expected = "it must be positive";
    if !(problem.friction > 0.0 && problem.friction.is_finite()) {
        return Err(Error::Value { what: "friction", value: problem.friction, expected });
    }
    if problem.body.unactuated_count() != 6 {
        let joint = problem.body.joints()[0].name.clone();
        return Err(Error::Root { joint });
    }
    problem.external.check(problem.body)?;
    problem.trajectories.iter().try_for_each(|path| path.check(problem.body))?;
    let plan = Plan::new(problem, spline.step);
    let forces = shares(&plan);
    let places = plan.stands.iter().map(|stands| vec![Vec3::ZERO; stands.len()]).collect();
    Method::new(plan, Iterate { spline, forces, places }).run(limits)
}

/// Forces to begin with: all points that rest bear alike.
fn shares(plan: &Plan) -> Vec<Vec<Vec3>> {
    let share = |active: &Vec<Active>| {
        active.iter().map(|one| one.cone.normal * (1.0 / active.len() as f64)).collect::<Vec<Vec3>>()
    };
    plan.active.iter().map(share).collect()
}

/// Force of a point that did not rest before, in body weights.
const NEW: f64 = 0.03;

/// Solves a problem whose contacts differ a little from those of a solved one, from there.
pub(crate) fn solve_near(problem: &Spacetime, near: &Solution, limits: &Limits) -> Result<Solution, Error> {
    let plan = Plan::new(problem, near.spline.step);
    let force = |(active, known): (&Vec<Active>, &Vec<(usize, Vec3)>)| {
        let own = |one: &Active| {
            let before = known.iter().find(|(sole, _)| *sole == one.sole);
            // a little more of what is inside a cone is inside
            before.map_or(Vec3::ZERO, |(_, force)| *force / plan.body_weight) + one.cone.normal * NEW
        };
        active.iter().map(own).collect::<Vec<Vec3>>()
    };
    let forces = plan.active.iter().zip(&near.forces).map(force).collect();
    let places = plan.stands.iter().map(|stands| vec![Vec3::ZERO; stands.len()]).collect();
    Method::new(plan, Iterate { spline: near.spline.clone(), forces, places }).run(limits)
}

pub(crate) struct Method<'a> {
    pub(crate) plan: Plan<'a>,
    pub(crate) iterate: Iterate,
    band: BlockBandMatrix,
    /// The merit function's weight of the constraint: above the largest multiplier, and not much below what it was.
    weight: f64,
    /// Levenberg's damping.
    damping: f64,
}

impl<'a> Method<'a> {
    pub(crate) fn new(plan: Plan<'a>, iterate: Iterate) -> Self {
        let (n, frames) = (plan.problem.body.dof_count(), plan.frames());
        let extra = |block: usize| if block == 0 { 0 } else { plan.extra(block - 1) };
        let sizes: Vec<(usize, usize)> =
            (0..frames + 2).map(|block| (n + extra(block), if block >= 2 { 6 } else { 0 })).collect();
        Self { band: BlockBandMatrix::new(&sizes, 2), plan, iterate, weight: 0.0, damping: 1e-6 }
    }

    fn run(mut self, limits: &Limits) -> Result<Solution, Error> {
        let (mut barrier, last) = limits.barrier;
        let (mut residual, mut converged, mut iterations, mut polishing) = (f64::INFINITY, false, 0, false);
        let mut here = self.values(&self.iterate, barrier);
        while iterations < limits.iterations {
            iterations += 1;
            let (step, multipliers) = self.direction(barrier)?;
            self.weight = (1.5 * multipliers).max(0.5 * self.weight);
            let Some((iterate, values, share)) = self.step(&step, &here, barrier) else {
                if self.damping > 1e3 {
                    break;
                }
                self.damping = (self.damping * 30.0).max(1e-4);
                continue;
            };
            let (before, after) = (objective(&here), objective(&values));
            self.iterate = iterate;
            here = values;
            residual = violation(&here);
            let change = share * self.largest_change(&step);
            let settled = residual < limits.residual && (polishing || change < limits.change);
            if settled && barrier <= last {
                converged = true;
                break;
            }
            // the objective has its minimum to four digits, and what is left is Gauss–Newton's slow end: from here on only the
            // equalities matter, and a strongly damped step is the shortest one that meets them
            polishing |= barrier <= last && share > 0.5 && (before - after).abs() < STALL * after.abs();
            self.damping = match polishing {
                true => (self.damping * 100.0).clamp(1.0, 100.0),
                false => (self.damping * if share > 0.5 { 0.1 } else { 3.0 }).clamp(1e-6, 1e3),
            };
            if barrier > last && (change < 0.02 || settled) {
                barrier = (0.2 * barrier).max(last);
                here = self.values(&self.iterate, barrier);
            }
        }
        let plan = &self.plan;
        let newtons = |(active, forces): (&Vec<Active>, &Vec<Vec3>)| {
            active
                .iter()
                .zip(forces)
                .map(|(active, &force)| (active.sole, force * plan.body_weight))
                .collect()
        };
        let forces = plan.active.iter().zip(&self.iterate.forces).map(newtons).collect();
        let contacts = stand::moved(plan.problem.contacts, &plan.stands, &self.iterate.places);
        let objectives = here.iter().map(|value| value.objective).collect();
        let spline = self.iterate.spline;
        Ok(Solution { spline, forces, contacts, objectives, iterations, converged, residual, chain: None })
    }

    /// Where a block's forces begin.
    pub(crate) fn force_index(&self, frame: usize) -> usize {
        self.band.first(frame + 1) + self.plan.problem.body.dof_count()
    }

    /// Where a frame's multipliers begin.
    pub(crate) fn row_index(&self, frame: usize) -> usize {
        self.band.first(frame + 2) + self.plan.problem.body.dof_count() + self.plan.extra(frame + 1)
    }

    /// Where the places of a block's steps begin.
    fn place_index(&self, frame: usize) -> usize {
        self.force_index(frame) + 3 * self.plan.active[frame].len()
    }

    pub(crate) fn values(&self, iterate: &Iterate, barrier: f64) -> Vec<Value> {
        let body = self.plan.problem.body;
        let frames = (0..self.plan.frames()).into_par_iter().with_min_len(8);
        frames
            .map_init(|| Scratch::new(body), |s, frame| self.plan.value(iterate, frame, barrier, s))
            .collect()
    }

    /// Where a block's control point begins.
    pub(crate) fn first(&self, block: usize) -> usize {
        self.band.first(block)
    }

    /// A block's control point, and the forces and places of the frame before.
    pub(crate) fn unknowns(&self, block: usize) -> Range<usize> {
        let extra = if block == 0 { 0 } else { self.plan.extra(block - 1) };
        let first = self.band.first(block);
        first..first + self.plan.problem.body.dof_count() + extra
    }

    /// What a frame's rows speak of: three control points, the second with the frame's forces and places.
    pub(crate) fn columns(&self, frame: usize) -> Vec<usize> {
        let n = self.plan.problem.body.dof_count();
        let last = self.band.first(frame + 2);
        (self.band.first(frame)..self.band.first(frame) + n)
            .chain(self.unknowns(frame + 1))
            .chain(last..last + n)
            .collect()
    }

    /// The matrix here, undamped, not factorised yet: with the root's rows, or without.
    pub(crate) fn assembled(&mut self, barrier: f64, coupled: bool) -> BlockBandMatrix {
        self.assemble(barrier, coupled);
        for frame in 0..self.plan.frames() {
            let rows = self.row_index(frame);
            (rows..rows + 6).for_each(|row| self.band.add(row, row, -SOFTNESS));
        }
        self.band.clone()
    }

    /// The matrix but for what multipliers keep of themselves, and the right-hand side.
    fn assemble(&mut self, barrier: f64, coupled: bool) -> Vec<f64> {
        let (body, frames) = (self.plan.problem.body, self.plan.frames());
        self.band.set_zero();
        let mut right = vec![0.0; self.band.count()];
        for start in (0..frames).step_by(CHUNK) {
            let chunk = start..(start + CHUNK).min(frames);
            let (plan, iterate) = (&self.plan, &self.iterate);
            let locals: Vec<Local> = chunk
                .clone()
                .into_par_iter()
                .with_min_len(4)
                .map_init(|| Scratch::new(body), |s, frame| plan.local(iterate, frame, barrier, s))
                .collect();
            for (frame, mut local) in chunk.zip(locals) {
                let mut indices = self.columns(frame);
                if !coupled {
                    let (width, size) = (indices.len(), indices.len() + 6);
                    for column in local.matrix.chunks_exact_mut(size) {
                        column[width..].fill(0.0);
                    }
                }
                indices.extend(self.row_index(frame)..self.row_index(frame) + 6);
                self.band.add_matrix(&indices, &local.matrix);
                indices.iter().zip(&local.gradient).for_each(|(&index, g)| right[index] -= g);
                self.rate_terms(frame, &mut right);
                self.place_terms(frame, &mut right);
            }
        }
        right
    }

    /// Newton's step of all unknowns, and the largest multiplier.
    fn direction(&mut self, barrier: f64) -> Result<(Vec<f64>, f64), Error> {
        let (body, frames) = (self.plan.problem.body, self.plan.frames());
        let n = body.dof_count();
        let mut right = self.assemble(barrier, true);
        for block in 0..frames + 2 {
            for k in 0..n {
                let index = self.band.first(block) + k;
                self.band.add(index, index, self.damping * self.plan.step.recip());
            }
        }
        for frame in 0..frames {
            let rows = self.row_index(frame);
            (rows..rows + 6).for_each(|row| self.band.add(row, row, -SOFTNESS));
        }
        for block in 0..self.plan.problem.pinned {
            for index in self.band.first(block)..self.band.first(block) + n {
                self.band.add(index, index, HELD);
                right[index] = 0.0;
            }
        }
        self.band.factorize()?;
        self.band.solve_refined(&mut right);
        let multipliers = (0..frames).flat_map(|frame| {
            let rows = self.row_index(frame);
            right[rows..rows + 6].iter().copied()
        });
        let largest = multipliers.fold(0.0, |most: f64, x| most.max(x.abs()));
        Ok((right, largest))
    }

    /// Forces change slowly: the only terms that couple the forces of two frames.
    fn rate_terms(&mut self, frame: usize, right: &mut [f64]) {
        let unit = (self.plan.problem.weights.force_rate * self.plan.step).powi(-2) * self.plan.step;
        let here = self.force_index(frame);
        for index in 0..self.plan.active[frame].len() {
            let active = self.plan.active[frame][index];
            let force = self.iterate.forces[frame][index];
            let before = active.before.map(|before| {
                (self.force_index(frame - 1) + 3 * before, self.iterate.forces[frame - 1][before])
            });
            for k in 0..3 {
                let own = here + 3 * index + k;
                if let Some((other, value)) = before {
                    let difference = force[k] - value[k];
                    self.band.add(own, own, unit);
                    self.band.add(other + k, other + k, unit);
                    self.band.add(own, other + k, -unit);
                    right[own] -= unit * difference;
                    right[other + k] += unit * difference;
                } else if frame > 0 {
                    self.band.add(own, own, unit);
                    right[own] -= unit * force[k];
                }
                if !active.goes_on {
                    self.band.add(own, own, unit);
                    right[own] -= unit * force[k];
                }
            }
        }
    }

    /// Steps stay where they are: the places of two frames.
    fn place_terms(&mut self, frame: usize, right: &mut [f64]) {
        let [creep, near] = self.plan.place_weights();
        let first = self.place_index(frame);
        for index in 0..self.plan.stands[frame].len() {
            let place = self.iterate.places[frame][index];
            let before = self.plan.stands[frame][index].before;
            for k in 0..3 {
                let own = first + 3 * index + k;
                self.band.add(own, own, near);
                right[own] -= near * place[k];
                if let Some(before) = before {
                    let other = self.place_index(frame - 1) + 3 * before + k;
                    let difference = place[k] - self.iterate.places[frame - 1][before][k];
                    self.band.add(own, own, creep);
                    self.band.add(other, other, creep);
                    self.band.add(own, other, -creep);
                    right[own] -= creep * difference;
                    right[other] += creep * difference;
                }
            }
        }
    }

    pub(crate) fn moved(&self, step: &[f64], share: f64) -> Iterate {
        let body = self.plan.problem.body;
        let n = body.dof_count();
        let mut next = self.iterate.clone();
        for (block, control) in next.spline.controls.iter_mut().enumerate().skip(self.plan.problem.pinned) {
            let first = self.band.first(block);
            let change: Vec<f64> = step[first..first + n].iter().map(|x| share * x).collect();
            body.integrate(&self.iterate.spline.controls[block], &change, control);
        }
        for (frame, forces) in next.forces.iter_mut().enumerate() {
            let first = self.force_index(frame);
            for (index, force) in forces.iter_mut().enumerate() {
                *force += Vec3::from_slice(&step[first + 3 * index..]) * share;
            }
        }
        for (frame, places) in next.places.iter_mut().enumerate() {
            let first = self.place_index(frame);
            for (index, place) in places.iter_mut().enumerate() {
                *place += Vec3::from_slice(&step[first + 3 * index..]) * share;
            }
        }
        next
    }

    /// The longest step, 1, ½, ¼, … of what cones allow, that lowers the merit function or nearly removes the violation.
    fn step(&self, step: &[f64], here: &[Value], barrier: f64) -> Option<(Iterate, Vec<Value>, f64)> {
        let mut share: f64 = 1.0;
        for (frame, forces) in self.iterate.forces.iter().enumerate() {
            let first = self.force_index(frame);
            for (index, (&force, active)) in forces.iter().zip(&self.plan.active[frame]).enumerate() {
                share = share.min(active.cone.step(force, Vec3::from_slice(&step[first + 3 * index..])));
            }
        }
        let merit = |values: &[Value]| {
            let objective: f64 = values.iter().map(|value| value.objective).sum();
            0.5 * objective
                + self.weight * values.iter().flat_map(|value| value.violation).map(f64::abs).sum::<f64>()
        };
        let (before, objective_before, violation_before) = (merit(here), objective(here), violation(here));
        for _ in 0..10 {
            let iterate = self.moved(step, share);
            let values = self.values(&iterate, barrier);
            let less = merit(&values) < before * (1.0 - 1e-12);
            let nearer = violation(&values) < (0.3 * violation_before).max(1e-9)
                && objective(&values) < objective_before + 0.1 * objective_before.abs() + 1e-6;
            if less || nearer {
                return Some((iterate, values, share));
            }
            share *= 0.5;
        }
        None
    }

    fn largest_change(&self, step: &[f64]) -> f64 {
        let n = self.plan.problem.body.dof_count();
        let controls = (self.plan.problem.pinned..self.plan.frames() + 2).flat_map(|block| {
            let first = self.band.first(block);
            step[first..first + n].iter()
        });
        controls.fold(0.0, |most: f64, x| most.max(x.abs()))
    }
}

fn objective(values: &[Value]) -> f64 {
    values.iter().map(|value| value.objective).sum()
}

/// The largest entry of the root's rows.
fn violation(values: &[Value]) -> f64 {
    values.iter().flat_map(|value| value.violation).fold(0.0, |most, x| most.max(x.abs()))
}
