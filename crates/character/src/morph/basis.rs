//! The few displacements that a reduced model can make: aware of its targets (morph §4).
//!
//! First what the sculpts are, so that each can be met, and the first mode of every target; then, of what is left, the principal components of linear modes at every target,
//! of their derivatives where strain is nonlinear, and of how the flesh sags when a joint is jerked or spun. Modes are scaled by λ₁/λᵢ,
//! derivatives by λ₁²/(λᵢλⱼ), so that slow ones count most; lengths are those of the mass. Differs: in the paper sculpts and modes share
//! one PCA; taken first, sculpts are met exactly and not nearly. And the paper has no responses to joints. Flesh around bones has dozens
//! of modes of nearly one frequency, and joints excite few of them: modes are also scaled by how much they are excited.

use std::sync::Arc;

use faer::Mat;
use geometry::Vec3;
use linear::{ConstraintRows, Pattern, Solver, lowest_eigenpairs, symmetric_eigen};

use crate::Error;

use super::polynomial::element_gradient;
use super::target::Elastic;
use super::volume::Volume;

/// Linear modes of a target, slowest first.
#[derive(Clone, Debug)]
pub(crate) struct Modes {
    /// λ = ω², in 1/s².
    pub(crate) values: Vec<f64>,
    /// Displacements of all points, of unit modal mass.
    pub(crate) vectors: Vec<Vec<Vec3>>,
    /// Derivatives of the slowest, with the pairs they belong to.
    derivatives: Vec<(usize, usize, Vec<Vec3>)>,
    /// How much of each joints can bring about: √Σ (ψᵀMf)² over accelerations f of theirs, ‖f‖ = 1.
    participation: Vec<f64>,
    responses: Vec<Vec<Vec3>>,
}

/// Modes whose derivatives are taken.
const DERIVED: usize = 5;
/// Modes that joints do not excite, only pushes, count so much at least.
const LEAST_EXCITED: f64 = 0.02;
/// First modes of targets that differ by less than this part are one; frequencies then err by its square.
const ALIKE: f64 = 0.05;
/// What joints do to flesh, in m/s².
const USUAL_ACCELERATION: f64 = 5.0;
/// Directions shorter than this part of the longest, in the mass norm, are round-off.
const NEGLIGIBLE: f64 = 1e-9;

impl Modes {
    /// The `count` slowest of a target, fewer where there are not so many unknowns.
    pub(crate) fn new(
        volume: &Volume,
        target: &Elastic,
        count: usize,
        nonlinear: bool,
    ) -> Result<Self, Error> {
        let free: Vec<usize> = (0..volume.known.len()).filter(|&v| !volume.known[v]).collect();
        let mut number = vec![u32::MAX; volume.known.len()];
        free.iter().enumerate().for_each(|(k, &v)| number[v] = k as u32);
        let mut entries = Vec::new();
        for (&v, i) in free.iter().zip(0_u32..) {
            for (&w, j) in free.iter().zip(0_u32..=i) {
                let Some(slot) = volume.pattern.slot(v as u32, w as u32) else { continue };
                let block = target.stiffness.values()[slot];
                for row in 0..3 {
                    let columns = if i == j { row + 1 } else { 3 };
                    for column in 0..columns {
                        entries.push((3 * i + row as u32, 3 * j + column as u32, block.col(column)[row]));
                    }
                }
            }
        }
        let masses: Vec<f64> = free.iter().flat_map(|&v| [target.masses[v]; 3]).collect();
        let found = lowest_eigenpairs(&entries, &masses, count.min(masses.len()))?;
        let vector = |k: usize| {
            let mut u = vec![Vec3::ZERO; volume.known.len()];
            for (i, &v) in free.iter().enumerate() {
                u[v] = Vec3::from_array(std::array::from_fn(|axis| found.vectors[(3 * i + axis, k)]));
            }
            u
        };
        let vectors: Vec<Vec<Vec3>> = (0..found.values.len()).map(vector).collect();
        let derivatives = if nonlinear { derivatives(volume, target, &vectors)? } else { Vec::new() };
        let first = found.values.first().copied().unwrap_or(1.0);
        let fields = fields(volume, target);
        let excited = |mode: &Vec<Vec3>| {
            let sum: f64 = fields.iter().map(|f| weighted(&target.masses, mode, f).powi(2)).sum();
            sum.sqrt().clamp(LEAST_EXCITED, 1.0)
        };
        let participation = vectors.iter().map(excited).collect();
        let responses = responses(volume, target, &fields, first)?;
        Ok(Self { values: found.values, vectors, derivatives, participation, responses })
    }
}

/// Φᵢⱼ = −K⁻¹ (∂K/∂u : ψᵢψⱼ): how a mode changes as another is displaced (Barbič 2005). The force of StVK is a cubic of u, of which four
/// values give the mixed second derivative exactly.
fn derivatives(
    volume: &Volume,
    target: &Elastic,
    modes: &[Vec<Vec3>],
) -> Result<Vec<(usize, usize, Vec<Vec3>)>, Error> {
    let count = volume.known.len();
    let rows = ConstraintRows::none(count);
    let pattern: &Arc<Pattern> = &volume.pattern;
    let mut solver = Solver::new(pattern, &volume.known, &rows, linear::Settings::default())?;
    let longest = |u: &[Vec3]| u.iter().map(|u| u.length()).fold(f64::MIN_POSITIVE, f64::max);
    let mut found = Vec::new();
    let (mut x, mut gradient) = (vec![Vec3::ZERO; count], vec![Vec3::ZERO; count]);
    for i in 0..modes.len().min(DERIVED) {
        for j in 0..=i {
            // far from where tets are so flat that their law changes
            let amplitudes =
                [0.02 * volume.edge / longest(&modes[i]), 0.02 * volume.edge / longest(&modes[j])];
            let mut right = vec![Vec3::ZERO; count];
            for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                for v in 0..count {
                    x[v] = target.rest[v] + a * amplitudes[0] * modes[i][v] + b * amplitudes[1] * modes[j][v];
                }
                element_gradient(volume.mesh.tets(), &target.tets, &x, &mut gradient);
                let share = -a * b / (4.0 * amplitudes[0] * amplitudes[1]);
                right.iter_mut().zip(&gradient).for_each(|(r, g)| *r += share * *g);
            }
            let mut u = vec![Vec3::ZERO; count];
            solver.solve(&target.stiffness, &right, &rows, &[], &mut u, &mut [], 1e-8)?;
            found.push((i, j, u));
        }
    }
    Ok(found)
}

/// The accelerations that joints bring about, each of unit length: along x, y and z, and the nine linear fields, twelve ways in which
/// inertia of a joint's frame acts.
fn fields(volume: &Volume, target: &Elastic) -> Vec<Vec<Vec3>> {
    let count = volume.known.len();
    let last = volume.joints.iter().flatten().map(|share| share.0 + 1).max().unwrap_or(0);
    let mut found = Vec::new();
    for joint in 0..last {
        let share =
            |v: usize| volume.joints[v].iter().filter(|share| share.0 == joint).map(|s| s.1).sum::<f64>();
        let shares: Vec<f64> = (0..count).map(share).collect();
        let free = |v: usize| if volume.known[v] { 0.0 } else { target.masses[v] * shares[v] };
        let mass: f64 = (0..count).map(free).sum();
        if mass <= 0.0 {
            continue;
        }
        let centre = (0..count).map(|v| free(v) * target.rest[v]).sum::<Vec3>() / mass;
        for field in 0..12 {
            let at = |v: usize| {
                let by = if field < 3 { 1.0 } else { (target.rest[v] - centre)[field / 3 - 1] };
                let mut f = Vec3::ZERO;
                f[field % 3] = if volume.known[v] { 0.0 } else { by * shares[v] };
                f
            };
            let f: Vec<Vec3> = (0..count).map(at).collect();
            let length = weighted(&target.masses, &f, &f).sqrt();
            if length > 0.0 {
                found.push(scaled(&f, 1.0 / length));
            }
        }
    }
    found
}

/// Where two targets meet halfway, (Kᵢ + Kⱼ) u = Kᵢdᵢ + Kⱼdⱼ: not between their sculpts in a straight line where one is harder.
pub(crate) fn between(volume: &Volume, a: &Elastic, b: &Elastic) -> Result<Vec<Vec3>, Error> {
    let count = volume.known.len();
    let rows = ConstraintRows::none(count);
    let mut solver = Solver::new(&volume.pattern, &volume.known, &rows, linear::Settings::default())?;
    let mut sum = a.stiffness.clone();
    sum.values_mut().iter_mut().zip(b.stiffness.values()).for_each(|(sum, own)| *sum += *own);
    let (mut right, mut image) = (vec![Vec3::ZERO; count], vec![Vec3::ZERO; count]);
    for target in [a, b] {
        target.stiffness.multiply(&target.displacement(volume), &mut image);
        right.iter_mut().zip(&image).for_each(|(right, own)| *right += *own);
    }
    let mut u = vec![Vec3::ZERO; count];
    solver.solve(&sum, &right, &rows, &[], &mut u, &mut [], 1e-8)?;
    Ok(u)
}

/// λ₁ K⁻¹ M f: how flesh sags under accelerations, and λ₁² (K⁻¹ M)² f: how it is late.
fn responses(
    volume: &Volume,
    target: &Elastic,
    fields: &[Vec<Vec3>],
    first: f64,
) -> Result<Vec<Vec<Vec3>>, Error> {
    let count = volume.known.len();
    let rows = ConstraintRows::none(count);
    let mut solver = Solver::new(&volume.pattern, &volume.known, &rows, linear::Settings::default())?;
    let mut found = Vec::new();
    for field in fields {
        let mut f = field.clone();
        for _ in 0..2 {
            let right: Vec<Vec3> = f.iter().zip(&target.masses).map(|(f, mass)| first * *mass * *f).collect();
            let mut u = vec![Vec3::ZERO; count];
            solver.solve(&target.stiffness, &right, &rows, &[], &mut u, &mut [], 1e-8)?;
            found.push(u.clone());
            f = u;
        }
    }
    Ok(found)
}

/// U, orthonormal in `masses`, at most `count` columns: sculpts first, then modes and derivatives of all targets.
pub(crate) fn basis(
    masses: &[f64],
    sculpts: &[Vec<Vec3>],
    between: Vec<Vec<Vec3>>,
    modes: &[&Modes],
    count: usize,
) -> Result<Vec<Vec<Vec3>>, Error> {
    let length = |u: &[Vec3]| weighted(masses, u, u).sqrt();
    let longest = sculpts.iter().map(|u| length(u)).fold(0.0, f64::max);
    let mut found: Vec<Vec<Vec3>> = Vec::new();
    let mut apart = sculpts.to_vec();
    apart.retain(|u| length(u) > NEGLIGIBLE * longest.max(f64::MIN_POSITIVE));
    found.extend(principal(masses, apart, count, NEGLIGIBLE)?);
    // what a target sounds like is its first mode, excited or not; those that differ little are one
    let mut firsts: Vec<Vec<Vec3>> =
        modes.iter().filter_map(|modes| modes.vectors.first().cloned()).collect();
    without(masses, &found, &mut firsts);
    let left = count.saturating_sub(found.len());
    found.extend(principal(masses, firsts, left, ALIKE)?);
    let mut rest = between;
    let mass: f64 = masses.iter().sum();
    for modes in modes {
        let first = modes.values.first().copied().unwrap_or(1.0);
        // as far as joints that are jerked throw the flesh: beside it, shapes between sculpts have a size
        let far = USUAL_ACCELERATION * mass.sqrt() / first;
        for ((value, mode), part) in modes.values.iter().zip(&modes.vectors).zip(&modes.participation) {
            rest.push(scaled(mode, far * part * first / value));
        }
        rest.extend(modes.responses.iter().map(|u| scaled(u, far)));
        for (i, j, derivative) in &modes.derivatives {
            // of one length with the modes: what counts is how often it is met
            let parts = modes.participation[*i] * modes.participation[*j];
            let scale = parts * first * first / (modes.values[*i] * modes.values[*j]);
            let share = far * DERIVATIVE_SHARE * scale;
            rest.push(scaled(derivative, share / length(derivative).max(f64::MIN_POSITIVE)));
        }
    }
    without(masses, &found, &mut rest);
    let left = count.saturating_sub(found.len());
    found.extend(principal(masses, rest, left, NEGLIGIBLE)?);
    Ok(found)
}

/// Takes out of displacements what a basis has of them.
fn without(masses: &[f64], basis: &[Vec<Vec3>], list: &mut [Vec<Vec3>]) {
    for u in list {
        for own in basis {
            let part = weighted(masses, own, u);
            u.iter_mut().zip(own).for_each(|(u, own)| *u -= part * *own);
        }
    }
}

/// How much a derivative counts against a mode of the same frequency.
const DERIVATIVE_SHARE: f64 = 0.3;

/// The principal components, in the mass norm, of a list of displacements; orthonormal. Those shorter than the part `least` of the
/// longest are left out.
fn principal(
    masses: &[f64],
    list: Vec<Vec<Vec3>>,
    count: usize,
    least: f64,
) -> Result<Vec<Vec<Vec3>>, Error> {
    if list.is_empty() || count == 0 {
        return Ok(Vec::new());
    }
    let roots: Vec<f64> = masses.iter().map(|m| m.sqrt()).collect();
    let columns =
        Mat::from_fn(3 * roots.len(), list.len(), |row, k| roots[row / 3] * list[k][row / 3][row % 3]);
    let gram = linear::transposed_product(columns.as_ref(), columns.as_ref());
    let (values, vectors) = symmetric_eigen(gram.as_ref())?;
    let largest = values.last().copied().unwrap_or(0.0);
    let mut found: Vec<Vec<Vec3>> = Vec::new();
    for k in (0..list.len()).rev().take(count) {
        if values[k] <= least * least * largest || values[k] <= 0.0 {
            break;
        }
        let mut u = vec![Vec3::ZERO; masses.len()];
        for (column, own) in list.iter().enumerate() {
            let share = vectors[(column, k)];
            u.iter_mut().zip(own).for_each(|(u, own)| *u += share * *own);
        }
        // small values come out a little askew: straighten them, twice
        for _ in 0..2 {
            for own in &found {
                let part = weighted(masses, own, &u);
                u.iter_mut().zip(own).for_each(|(u, own)| *u -= part * *own);
            }
            let length = weighted(masses, &u, &u).sqrt();
            u.iter_mut().for_each(|u| *u /= length.max(f64::MIN_POSITIVE));
        }
        found.push(u);
    }
    Ok(found)
}

fn scaled(u: &[Vec3], by: f64) -> Vec<Vec3> {
    u.iter().map(|u| by * *u).collect()
}

/// aᵀ M b.
pub(crate) fn weighted(masses: &[f64], a: &[Vec3], b: &[Vec3]) -> f64 {
    masses.iter().zip(a).zip(b).map(|((m, a), b)| m * a.dot(*b)).sum()
}

/// Σ over tets: the largest generalised ratio of two targets' stiffness, where a tet's own is what is compared.
pub(crate) fn largest_ratio(a: &Elastic, b: &Elastic) -> f64 {
    let of = |k: usize| {
        let size = |target: &Elastic| {
            let material = target.materials[k];
            // the stiffest response: λ + 2μ, by volume over an edge squared
            let (young, poisson) = (material.young, material.poisson);
            let stiff = young * (1.0 - poisson) / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
            stiff * target.tets[k].volume().cbrt()
        };
        let heavy = a.materials[k].density / b.materials[k].density;
        (size(a) / size(b)).max(heavy)
    };
    (0..a.tets.len()).map(of).fold(1.0, f64::max)
}
