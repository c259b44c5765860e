//! The few displacements that a reduced model can make: aware of its targets (morph §4).
//!
//! First what the sculpts are, so that each can be met, and the first mode of every target; then, of what is left, the principal
//! components of where flesh rests between targets, of linear modes at every target, of how the flesh sags when a joint is jerked or spun, and,
//! where strain is nonlinear, of the derivatives of these. Each has the length that it is met with, as far as that can be known: slow
//! modes count most. Lengths are those of the mass. Differs: in the paper sculpts and modes share one PCA; taken first, sculpts are met
//! exactly and not nearly. And the paper has no responses to joints. Flesh around bones has dozens of modes of nearly one frequency,
//! and joints excite few of them: modes are also scaled by how much they are excited.

use faer::Mat;
use geometry::Vec3;
use linear::{ConstraintRows, Solver, lowest_eigenpairs, symmetric_eigen};

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
    /// What the flesh does when joints move, each as far as it usually goes: principal components of modes and responses, longest
    /// first, and, where strain is nonlinear, their derivatives.
    usual: Vec<Vec<Vec3>>,
}

/// Components whose derivatives are taken.
const DERIVED: usize = 8;
/// Modes that joints do not excite, only pushes, count so much at least.
const LEAST_EXCITED: f64 = 0.02;
/// First modes of targets that differ by less than this part are one; frequencies then err by its square.
const ALIKE: f64 = 0.05;
/// What joints do to flesh, in m/s².
const USUAL_ACCELERATION: f64 = 5.0;
/// Joints that move less than this part of all flesh, fingers and lids, excite nothing that would be worth a coordinate.
const LEAST_MOVED: f64 = 1e-3;
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
        let (values, vectors) = lowest(volume, target, count)?;
        let first = values.first().copied().unwrap_or(1.0);
        // as far as joints that are jerked throw the flesh: beside it, shapes between sculpts have a size
        let far = USUAL_ACCELERATION * target.masses.iter().sum::<f64>().sqrt() / first;
        let fields = fields(volume, target);
        let excited = |mode: &[Vec3]| {
            let sum: f64 = fields.iter().map(|f| weighted(&target.masses, mode, f).powi(2)).sum();
            sum.sqrt().clamp(LEAST_EXCITED, 1.0)
        };
        let moved = |(mode, value): (&Vec<Vec3>, &f64)| scaled(mode, far * excited(mode) * first / value);
        let mut all: Vec<Vec<Vec3>> = vectors.iter().zip(&values).map(moved).collect();
        all.extend(responses(volume, target, &fields, first)?.iter().map(|u| scaled(u, far)));
        let components = components(&target.masses, &all, 4 * count, NEGLIGIBLE)?;
        let mut usual: Vec<Vec<Vec3>> = components.iter().map(|(length, u)| scaled(u, *length)).collect();
        if nonlinear {
            let derived = usual.len().min(DERIVED);
            usual.extend(derivatives(volume, target, &usual[..derived])?);
        }
        Ok(Self { values, vectors, usual })
    }
}

/// K ψ = λ M ψ at a target's rest shape: λ ascending, and ψ.
fn lowest(volume: &Volume, target: &Elastic, count: usize) -> Result<(Vec<f64>, Vec<Vec<Vec3>>), Error> {
    let free: Vec<usize> = (0..volume.known.len()).filter(|&v| !volume.known[v]).collect();
    let mut number = vec![u32::MAX; volume.known.len()];
    free.iter().zip(0..).for_each(|(&v, k)| number[v] = k);
    let pairs = volume.mesh.edges().into_iter().chain(free.iter().map(|&v| [v as u32; 2]));
    let mut entries = Vec::new();
    for [a, b] in pairs {
        let (v, w) = (a.max(b), a.min(b));
        let (i, j) = (number[v as usize], number[w as usize]);
        let Some(slot) = volume.pattern.slot(v, w).filter(|_| i != u32::MAX && j != u32::MAX) else {
            continue;
        };
        let block = target.stiffness.values()[slot];
        for row in 0..3 {
            for column in 0..if i == j { row + 1 } else { 3 } {
                entries.push((3 * i + row as u32, 3 * j + column as u32, block.col(column)[row]));
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
    let vectors = (0..found.values.len()).map(vector).collect();
    Ok((found.values, vectors))
}

/// ½Φᵢᵢ and Φᵢⱼ = −K⁻¹ (∂K/∂u : aᵢaⱼ): to second order the flesh that is pulled along q goes to Σ qᵢaᵢ + ½ Σ qᵢqⱼΦᵢⱼ (Barbič 2005).
/// The force of StVK is a cubic of u, of which four values give the mixed second derivative exactly.
///
/// Differs: there a are modes, here what the flesh usually does and as far as it goes, so that derivatives have the length they are
/// met with and need no scale of their own.
fn derivatives(volume: &Volume, target: &Elastic, usual: &[Vec<Vec3>]) -> Result<Vec<Vec<Vec3>>, Error> {
    let count = volume.known.len();
    let rows = ConstraintRows::none(count);
    let mut solver = Solver::new(&volume.pattern, &volume.known, &rows, linear::Settings::default())?;
    let longest = |u: &[Vec3]| u.iter().map(|u| u.length()).fold(f64::MIN_POSITIVE, f64::max);
    let mut found = Vec::new();
    let (mut x, mut gradient) = (vec![Vec3::ZERO; count], vec![Vec3::ZERO; count]);
    for i in 0..usual.len() {
        for j in 0..=i {
            // far from where tets are so flat that their law changes
            let [s, t] = [i, j].map(|k| 0.02 * volume.edge / longest(&usual[k]));
            let mut right = vec![Vec3::ZERO; count];
            for (a, b) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                for v in 0..count {
                    x[v] = target.rest[v] + a * s * usual[i][v] + b * t * usual[j][v];
                }
                element_gradient(volume.mesh.tets(), &target.tets, &x, &mut gradient);
                let share = -a * b / (4.0 * s * t) * if i == j { 0.5 } else { 1.0 };
                right.iter_mut().zip(&gradient).for_each(|(r, g)| *r += share * *g);
            }
            let mut u = vec![Vec3::ZERO; count];
            solver.solve(&target.stiffness, &right, &rows, &[], &mut u, &mut [], 1e-8)?;
            found.push(u);
        }
    }
    Ok(found)
}

/// The accelerations that joints bring about, each of unit length: along x, y and z, and the nine linear fields, twelve ways in which
/// inertia of a joint's frame acts.
fn fields(volume: &Volume, target: &Elastic) -> Vec<Vec<Vec3>> {
    let count = volume.known.len();
    let last = volume.joints.iter().flatten().map(|share| share.0 + 1).max().unwrap_or(0);
    let least = LEAST_MOVED * target.masses.iter().sum::<f64>();
    let mut found = Vec::new();
    for joint in 0..last {
        let share =
            |v: usize| volume.joints[v].iter().filter(|share| share.0 == joint).map(|s| s.1).sum::<f64>();
        let shares: Vec<f64> = (0..count).map(share).collect();
        let free = |v: usize| if volume.known[v] { 0.0 } else { target.masses[v] * shares[v] };
        let mass: f64 = (0..count).map(free).sum();
        if mass <= least {
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

/// λ₁ K⁻¹ M f: how flesh sags under accelerations, and (λ₁ K⁻¹ M)² f: how it is late.
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

/// U, orthonormal in `masses`, at most `count` columns: sculpts first, then the first mode of every target, then where flesh rests
/// `between` targets and what it usually does at all of them.
pub(crate) fn basis(
    masses: &[f64],
    sculpts: &[Vec<Vec3>],
    between: Vec<Vec<Vec3>>,
    modes: &[&Modes],
    count: usize,
) -> Result<Vec<Vec<Vec3>>, Error> {
    let length = |u: &[Vec3]| weighted(masses, u, u).sqrt();
    let longest = sculpts.iter().map(|u| length(u)).fold(0.0, f64::max);
    let mut apart = sculpts.to_vec();
    apart.retain(|u| length(u) > NEGLIGIBLE * longest.max(f64::MIN_POSITIVE));
    let mut found = principal(masses, &apart, count, NEGLIGIBLE)?;
    // what a target sounds like is its first mode, excited or not; those that differ little are one
    let mut firsts: Vec<Vec<Vec3>> =
        modes.iter().filter_map(|modes| modes.vectors.first().cloned()).collect();
    without(masses, &found, &mut firsts);
    let left = count.saturating_sub(found.len());
    found.extend(principal(masses, &firsts, left, ALIKE)?);
    let mut rest = between;
    rest.extend(modes.iter().flat_map(|modes| modes.usual.iter().cloned()));
    without(masses, &found, &mut rest);
    let left = count.saturating_sub(found.len());
    found.extend(principal(masses, &rest, left, NEGLIGIBLE)?);
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

/// The principal components, in the mass norm, of a list of displacements: orthonormal, longest first, each after the length of the
/// list along it. Those shorter than the part `least` of the longest are left out.
fn components(
    masses: &[f64],
    list: &[Vec<Vec3>],
    count: usize,
    least: f64,
) -> Result<Vec<(f64, Vec<Vec3>)>, Error> {
    if list.is_empty() || count == 0 {
        return Ok(Vec::new());
    }
    let roots: Vec<f64> = masses.iter().map(|m| m.sqrt()).collect();
    let columns =
        Mat::from_fn(3 * roots.len(), list.len(), |row, k| roots[row / 3] * list[k][row / 3][row % 3]);
    let gram = linear::transposed_product(columns.as_ref(), columns.as_ref());
    let (values, vectors) = symmetric_eigen(gram.as_ref())?;
    let largest = values.last().copied().unwrap_or(0.0);
    let mut found: Vec<(f64, Vec<Vec3>)> = Vec::new();
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
            for (_, own) in &found {
                let part = weighted(masses, own, &u);
                u.iter_mut().zip(own).for_each(|(u, own)| *u -= part * *own);
            }
            let length = weighted(masses, &u, &u).sqrt();
            u.iter_mut().for_each(|u| *u /= length.max(f64::MIN_POSITIVE));
        }
        found.push((values[k].sqrt(), u));
    }
    Ok(found)
}

/// The same, each of unit length.
pub(crate) fn principal(
    masses: &[f64],
    list: &[Vec<Vec3>],
    count: usize,
    least: f64,
) -> Result<Vec<Vec<Vec3>>, Error> {
    Ok(components(masses, list, count, least)?.into_iter().map(|(_, u)| u).collect())
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
