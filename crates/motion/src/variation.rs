//! Other motions from the same keys: draws from the posterior exp(−E/T) by a Markov chain, of all motions that obey physics and keep the keys.
//!
//! E is what a solve minimises, and how roughly a motion leaves the likeliest one x̂, ½ Σ h ‖ẍ − x̂̈‖²/σ²: what a person does otherwise lasts for tenths of a second.
//! Physics, keys and feet that rest are equalities c(x) = 0. With H the curvature of E at x̂ as Gauss–Newton sees it and C the slopes of c there,
//!
//! ```text
//! z ∈ ker C,  x = x̂ + z + H⁻¹Cᵀa  with a such that c(x) = 0
//! ```
//!
//! is a map of those motions: z is drawn from N(0, T (H restricted to ker C)⁻¹), Laplace's approximation of the posterior, and Newton's method with the factor at x̂ finds
//! a. On that map the chain goes by the steps of [`crate::markov`]; the density is with respect to it. Forces on the edge of their cones have no finite energy,
//! feet below the ground much of it: there the chain does not go.

use geometry::{Random, Vec3};
use linear::BlockBandMatrix;
use rayon::prelude::*;

use crate::error::Error;
use crate::markov::{Length, Posterior, normal, walk};
use crate::solve::{Limits, Method, Solution, solve_near};
use crate::spacetime::{Iterate, Place as Whereabouts, Plan, Rows, Scratch, Spacetime, Weights};

/// T: how much less sure motions are taken to be likely than a second of observations would make them. With 1 arms flail.
const TEMPERATURE: f64 = 0.1;
/// σ: accelerations by which a motion leaves the likeliest one, in m/s² and rad/s².
const ROUGH: f64 = 10.0;
/// Steps of the chain: to settle its stride, and to forget where it began.
const LENGTH: Length = Length { settling: 48, steps: 48 };
/// Deviations that the edge of a cone, and the ground, are away.
const FAR: f64 = 4.0;
/// Points lower than this stay near to how high they are, in m; and what the lowest are taken for.
const LOW: f64 = 0.08;
const LEAST: f64 = 1e-3;
/// Weight of what is kept, per square metre and radian: so much above all others that only round-off is left.
const KEPT: f64 = 1e9;
/// What holds control points still that are decided.
const HELD: f64 = 1e14;
/// Corrections until physics holds, at most.
const CORRECTIONS: usize = 40;
/// Root rows, in body weights, and kept places, in m and rad, that count as 0.
const ZERO: [f64; 2] = [2e-8, 1e-6];

/// A motion on the map: all unknowns from the likeliest motion, and which part of that is z.
#[derive(Clone)]
struct Place {
    off: Vec<f64>,
    tangent: Vec<f64>,
    iterate: Iterate,
}

struct Motions<'a> {
    method: Method<'a>,
    /// H.
    curvature: BlockBandMatrix,
    /// Its part of what is asked of how a motion leaves the likeliest one.
    near: BlockBandMatrix,
    /// A root of each frame's share of it, but for what couples the forces of two frames: columns of a lower triangle.
    roots: Vec<Vec<f64>>,
    /// H and what is kept, factorised.
    kept: BlockBandMatrix,
    /// By frame: slopes of what is kept there besides the root's rows.
    rows: Vec<Vec<f64>>,
    /// By how much it is off in the likeliest motion.
    kept_off: Vec<Vec<f64>>,
    /// Frames of keys, and their coordinates.
    keys: Vec<Option<Vec<f64>>>,
    /// Which of the numbers of a band are control points that are not decided, or forces.
    free: Vec<bool>,
    /// Which are control points that are.
    pinned: Vec<bool>,
    barrier: f64,
    /// Weight of second differences.
    rough: f64,
}

/// Draws another motion than the one that was solved for.
pub(crate) fn drawn(
    problem: &Spacetime,
    solved: Solution,
    keys: &[usize],
    seed: u64,
    limits: &Limits,
) -> Result<Solution, Error> {
    let (frames, contacts) = (problem.target.len(), solved.contacts.clone());
    // what is kept is no part of the energy
    let attention: Vec<f64> =
        (0..frames).map(|frame| if keys.contains(&frame) { 1.0 } else { problem.attention[frame] }).collect();
    let weights = Weights { anchor: f64::INFINITY, place: 0.0, ..problem.weights };
    let soft = Spacetime { contacts: &contacts, attention: &attention, weights, ..problem.clone() };
    let plan = Plan::new(&soft, solved.spline.step);
    let forces = solved.forces.iter().map(|list| list.iter().map(|f| f.1 / plan.body_weight).collect());
    let iterate =
        Iterate { spline: solved.spline.clone(), forces: forces.collect(), places: vec![Vec::new(); frames] };
    let mut motions = Motions::new(Method::new(plan, iterate), keys, limits.barrier.1)?;
    let size = motions.free.len();
    let near =
        Place { off: vec![0.0; size], tangent: vec![0.0; size], iterate: motions.method.iterate.clone() };
    let Some(start) = motions.at(&near.tangent.clone(), &near) else { return Ok(solved) };
    let (place, mut chain) = walk(&mut motions, start, size, seed, LENGTH, |_, _| ());
    let plan = &motions.method.plan;
    let newtons = |(active, forces): (&Vec<crate::spacetime::Active>, &Vec<Vec3>)| {
        active.iter().zip(forces).map(|(active, &force)| (active.sole, force * plan.body_weight)).collect()
    };
    let forces = plan.active.iter().zip(&place.iterate.forces).map(newtons).collect();
    let residual =
        motions.violations(&place.iterate).iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
    let drawn = Solution { spline: place.iterate.spline, forces, residual, ..solved };
    // where does a solve end that begins here?
    let settle = Limits { barrier: (limits.barrier.1, limits.barrier.1), ..*limits };
    let relaxed = solve_near(&Spacetime { contacts: &contacts, ..problem.clone() }, &drawn, &settle)?;
    let [before, after] = [&drawn, &relaxed].map(|solution| solution.objectives.iter().sum::<f64>());
    chain.lower = if relaxed.residual < limits.residual { (before - after) / before } else { 0.0 };
    Ok(Solution { chain: Some(chain), ..drawn })
}

impl<'a> Motions<'a> {
    fn new(mut method: Method<'a>, keys: &[usize], barrier: f64) -> Result<Self, Error> {
        let frames = method.plan.frames();
        let mut curvature = method.assembled(barrier, false);
        let mut kept = method.assembled(barrier, true);
        let body = method.plan.problem.body;
        let mut free = vec![false; curvature.count()];
        let mut pinned = free.clone();
        (0..frames + 2).flat_map(|block| method.unknowns(block)).for_each(|index| free[index] = true);
        for block in 0..method.plan.problem.pinned {
            for index in method.first(block)..method.first(block) + body.dof_count() {
                (free[index], pinned[index]) = (false, true);
                curvature.add(index, index, HELD);
                kept.add(index, index, HELD);
            }
        }
        let mut s = Scratch::new(body);
        let pose = |frame: usize, s: &mut Scratch| {
            method.iterate.spline.frame(body, frame, &mut s.moment);
            s.moment.q.clone()
        };
        let keys: Vec<Option<Vec<f64>>> =
            (0..frames).map(|frame| keys.contains(&frame).then(|| pose(frame, &mut s))).collect();
        // what is asked of how a motion leaves the likeliest one
        let mut near = curvature.clone();
        near.set_zero();
        let rough = method.plan.step.powi(-3) / (ROUGH * ROUGH);
        for middle in 1..frames + 1 {
            for d in 0..body.dof_count() {
                let at = [middle - 1, middle, middle + 1].map(|block| method.first(block) + d);
                for (i, a) in [1.0, -2.0, 1.0].into_iter().enumerate() {
                    for (j, b) in [1.0, -2.0, 1.0].into_iter().enumerate().take(i + 1) {
                        near.add(at[i], at[j], rough * a * b);
                        curvature.add(at[i], at[j], rough * a * b);
                        kept.add(at[i], at[j], rough * a * b);
                    }
                }
            }
        }
        let mut roots = Vec::with_capacity(frames);
        for frame in 0..frames {
            let indices = method.columns(frame);
            let (width, local) = (indices.len(), method.plan.local(&method.iterate, frame, barrier, &mut s));
            let edges = edges(&method, frame, &mut s);
            let mut whole = edges.clone();
            for (k, column) in whole.chunks_exact_mut(width).enumerate() {
                let own = &local.matrix[k * (width + 6)..k * (width + 6) + width];
                column.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            roots.push(root(whole, width));
            for band in [&mut near, &mut curvature, &mut kept] {
                band.add_matrix(&indices, &edges);
            }
        }
        let rows: Vec<Vec<f64>> =
            (0..frames).map(|frame| kept_rows(&method, frame, keys[frame].is_some(), &mut s)).collect();
        for (frame, rows) in rows.iter().enumerate() {
            let indices = method.columns(frame);
            let mut gram = vec![0.0; indices.len() * indices.len()];
            linear::add_gram(rows, indices.len(), &mut gram);
            gram.iter_mut().for_each(|entry| *entry *= KEPT);
            kept.add_matrix(&indices, &gram);
        }
        kept.factorize()?;
        let kept_off = Vec::new();
        let mut motions =
            Self { method, curvature, near, roots, kept, rows, kept_off, keys, free, pinned, barrier, rough };
        motions.kept_off = motions.kept_off(&motions.method.iterate);
        Ok(motions)
    }

    /// Draws from N(0, H).
    fn noise(&self, random: &mut Random) -> Vec<f64> {
        let plan = &self.method.plan;
        let n = plan.problem.body.dof_count();
        let mut sum = vec![0.0; self.free.len()];
        let rate = (plan.problem.weights.force_rate * plan.step).powi(-2) * plan.step;
        for (frame, root) in self.roots.iter().enumerate() {
            let indices = self.method.columns(frame);
            for (k, column) in root.chunks_exact(indices.len()).enumerate() {
                let own = normal(random);
                indices[k..].iter().zip(&column[k..]).for_each(|(&index, l)| sum[index] += l * own);
            }
            // forces change slowly, as a solve has it
            let here = self.method.force_index(frame);
            for (index, active) in plan.active[frame].iter().enumerate() {
                let before = active.before.map(|before| self.method.force_index(frame - 1) + 3 * before);
                for k in 0..3 {
                    if before.is_some() || frame > 0 {
                        let own = rate.sqrt() * normal(random);
                        sum[here + 3 * index + k] += own;
                        before.iter().for_each(|before| sum[before + k] -= own);
                    }
                    if !active.goes_on {
                        sum[here + 3 * index + k] += rate.sqrt() * normal(random);
                    }
                }
            }
        }
        for middle in 1..plan.frames() + 1 {
            let [a, b, c] = [middle - 1, middle, middle + 1].map(|block| self.method.first(block));
            for d in 0..n {
                let own = self.rough.sqrt() * normal(random);
                sum[a + d] += own;
                sum[b + d] -= 2.0 * own;
                sum[c + d] += own;
            }
        }
        sum
    }

    /// Root rows of every frame: newtons and newton-metres over body weights.
    fn violations(&self, iterate: &Iterate) -> Vec<[f64; 6]> {
        let plan = &self.method.plan;
        let body = plan.problem.body;
        let row = |s: &mut Scratch, frame: usize| {
            iterate.spline.frame(body, frame, &mut s.moment);
            s.data.inverse_dynamics(
                body,
                &s.moment.q,
                &s.moment.v,
                &s.moment.a,
                plan.problem.gravity,
                &mut s.u,
            );
            plan.torques(frame, &iterate.forces[frame], &s.data, &mut s.u);
            std::array::from_fn(|k| s.u[k] / plan.body_weight)
        };
        let frames = (0..plan.frames()).into_par_iter().with_min_len(8);
        frames.map_init(|| Scratch::new(body), row).collect()
    }

    /// By how much a frame's places are off that are kept, as far as they are not in the likeliest motion: rows of [`kept_rows`].
    fn kept_moved(&self, iterate: &Iterate) -> Vec<Vec<f64>> {
        let mut off = self.kept_off(iterate);
        let both = off.iter_mut().flatten().zip(self.kept_off.iter().flatten());
        both.for_each(|(off, before)| *off -= before);
        off
    }

    /// The same, from where they should be.
    fn kept_off(&self, iterate: &Iterate) -> Vec<Vec<f64>> {
        let plan = &self.method.plan;
        let body = plan.problem.body;
        let off = |s: &mut Scratch, frame: usize| {
            iterate.spline.frame(body, frame, &mut s.moment);
            s.data.kinematics(body, &s.moment.q);
            let mut off = Vec::new();
            for active in &plan.active[frame] {
                let sole = &plan.problem.soles[active.sole];
                let x = s.data.point(body, sole.joint, sole.point);
                off.extend((x - plan.anchor(iterate, frame, active).0).to_array());
            }
            if let Some(key) = &self.keys[frame] {
                let mut turned = vec![0.0; body.dof_count()];
                body.difference(key, &s.moment.q, &mut turned);
                off.extend(turned);
            }
            off
        };
        let frames = (0..plan.frames()).into_par_iter().with_min_len(8);
        frames.map_init(|| Scratch::new(body), off).collect()
    }

    /// E/T.
    fn energy(&self, place: &[f64], iterate: &Iterate) -> f64 {
        let values = self.method.values(iterate, self.barrier);
        let aims: f64 = values.iter().map(|value| value.objective).sum();
        let mut pulled = vec![0.0; place.len()];
        self.near.multiply(place, &mut pulled);
        let left: f64 = place.iter().zip(&pulled).map(|(x, p)| x * p).sum();
        0.5 * (aims + left) / TEMPERATURE
    }
}

/// What is asked of a frame's forces and of feet in the air: that they do not come to the edge, a cone's or the ground, more than once in ten thousand times. As a
/// matrix over the frame's columns, its lower triangle.
fn edges(method: &Method, frame: usize, s: &mut Scratch) -> Vec<f64> {
    let plan = &method.plan;
    let (body, problem) = (plan.problem.body, plan.problem);
    let n = body.dof_count();
    let weight = TEMPERATURE * FAR * FAR;
    method.iterate.spline.frame_slope(body, frame, &mut s.moment, &mut s.slope);
    s.data.kinematics(body, &s.moment.q);
    let width = 3 * n + plan.extra(frame);
    let mut rows = Rows::new(width, n, &s.slope, body);
    let first = rows.force_column;
    let mut part = vec![0.0; n];
    for (sole, place) in plan.points(&method.iterate, frame, &s.data) {
        if let Whereabouts::Height(height) = place
            && height < LOW
        {
            let sole = &problem.soles[sole];
            let x = s.data.point(body, sole.joint, sole.point);
            let normal = problem.terrain.normal(x);
            part.fill(0.0);
            s.data.point_jacobian(body, sole.joint, x, |k, j| part[k] = j.dot(normal));
            rows.push(&[&part], 0.0, weight.sqrt() / height.max(LEAST));
        }
    }
    let mut matrix = vec![0.0; width * width];
    linear::add_gram(&rows.entries, width, &mut matrix);
    for (index, (active, &force)) in plan.active[frame].iter().zip(&method.iterate.forces[frame]).enumerate()
    {
        let (_, _, curvature) = active.cone.barrier(force);
        for column in 0..3 {
            for row in column..3 {
                let at = first + 3 * index;
                matrix[(at + column) * width + at + row] += weight * curvature.col(column)[row];
            }
        }
    }
    matrix
}

/// L with L Lᵀ = A, of a matrix that may not have full rank: columns of a lower triangle, as A's are given.
fn root(mut l: Vec<f64>, count: usize) -> Vec<f64> {
    for k in 0..count {
        let (done, own) = l.split_at_mut(k * count);
        let own = &mut own[..count];
        let whole = own[k];
        for before in done.chunks_exact(count).filter(|before| before[k] != 0.0) {
            let factor = before[k];
            own[k..].iter_mut().zip(&before[k..]).for_each(|(own, before)| *own -= factor * before);
        }
        own[..k].fill(0.0);
        // what is left of a column that others make up for is round-off
        let scale = if own[k] > 1e-12 * whole { own[k].sqrt().recip() } else { 0.0 };
        own[k..].iter_mut().for_each(|entry| *entry *= scale);
    }
    l
}

/// Slopes of what is kept at a frame: resting points in their places, poses at keys.
fn kept_rows(method: &Method, frame: usize, is_key: bool, s: &mut Scratch) -> Vec<f64> {
    let plan = &method.plan;
    let body = plan.problem.body;
    let n = body.dof_count();
    method.iterate.spline.frame_slope(body, frame, &mut s.moment, &mut s.slope);
    s.data.kinematics(body, &s.moment.q);
    let mut rows = Rows::new(3 * n + plan.extra(frame), n, &s.slope, body);
    let mut part = vec![0.0; n];
    for active in &plan.active[frame] {
        let sole = &plan.problem.soles[active.sole];
        let x = s.data.point(body, sole.joint, sole.point);
        for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
            part.fill(0.0);
            s.data.point_jacobian(body, sole.joint, x, |k, j| part[k] = j.dot(axis));
            rows.push(&[&part], 0.0, 1.0);
        }
    }
    if is_key {
        for d in 0..n {
            part.fill(0.0);
            part[d] = 1.0;
            rows.push(&[&part], 0.0, 1.0);
        }
    }
    rows.entries
}

impl Posterior for Motions<'_> {
    type State = Place;

    /// P b with b ~ N(0, T H): of covariance T P H P = T P, where P is the inverse of H on ker C.
    fn draw(&self, random: &mut Random) -> Vec<f64> {
        let mut place = self.noise(random);
        place
            .iter_mut()
            .zip(&self.free)
            .for_each(|(b, &free)| *b = if free { *b * TEMPERATURE.sqrt() } else { 0.0 });
        self.kept.solve_refined(&mut place);
        place.iter_mut().zip(&self.free).for_each(|(z, &free)| *z = if free { *z } else { 0.0 });
        place
    }

    fn reference(&self, place: &[f64]) -> f64 {
        let mut pulled = vec![0.0; place.len()];
        self.curvature.multiply(place, &mut pulled);
        0.5 * place.iter().zip(&pulled).map(|(z, p)| z * p).sum::<f64>() / TEMPERATURE
    }

    fn at(&mut self, tangent: &[f64], near: &Place) -> Option<(Place, f64)> {
        let normal = near.off.iter().zip(&near.tangent).map(|(off, tangent)| off - tangent);
        let mut off: Vec<f64> = tangent.iter().zip(normal).map(|(z, normal)| z + normal).collect();
        let mut least = f64::INFINITY;
        for _ in 0..CORRECTIONS {
            let iterate = self.method.moved(&off, 1.0);
            let (root, places) = (self.violations(&iterate), self.kept_moved(&iterate));
            let size = |list: &mut dyn Iterator<Item = f64>| list.fold(0.0, |most: f64, x| most.max(x.abs()));
            let sizes =
                [size(&mut root.iter().flatten().copied()), size(&mut places.iter().flatten().copied())];
            if sizes[0] < ZERO[0] && sizes[1] < ZERO[1] {
                let energy = self.energy(&off, &iterate);
                return Some((Place { off, tangent: tangent.to_vec(), iterate }, energy));
            }
            let worst = (sizes[0] / ZERO[0]).max(sizes[1] / ZERO[1]);
            if worst.is_nan() || worst >= 20.0 * least {
                return None;
            }
            least = least.min(worst);
            let mut right = vec![0.0; off.len()];
            for (frame, (root, places)) in root.iter().zip(&places).enumerate() {
                let indices = self.method.columns(frame);
                for (row, off) in self.rows[frame].chunks_exact(indices.len()).zip(places) {
                    indices.iter().zip(row).for_each(|(&index, slope)| right[index] -= KEPT * slope * off);
                }
                let first = self.method.row_index(frame);
                (0..6).for_each(|k| right[first + k] = -root[k]);
            }
            right.iter_mut().zip(&self.pinned).filter(|(_, pinned)| **pinned).for_each(|(r, _)| *r = 0.0);
            self.kept.solve_refined(&mut right);
            off.iter_mut().zip(&right).zip(&self.free).for_each(|((off, step), &free)| {
                if free {
                    *off += step;
                }
            });
        }
        None
    }
}
