//! Conjugate gradients on a system with constraint rows, by a preconditioner that honours them.
//!
//! The preconditioner is P = [G Cᵀ; C −E] with the system's own rows and an approximation G of A. Started at a point
//! where the rows hold, every direction (p, q) has C p − E q = 0, so the rows go on holding, and the iteration is
//! conjugate gradients for A + CᵀE⁻¹C, or on the null space of hard rows, without forming either: there
//! ⟨(p, q), K (p, q)⟩ = pᵀA p + qᵀE q. A hard row's multiplier is not tied to x; it takes up, at every step, the
//! part of the residual that it can carry.
//!
//! Gould, Hribar, Nocedal 2001; Dollar, Gould, Schilders, Wathen 2006. Differs: none.

mod jacobi;

use geometry::Vec3;

use crate::solver::{System, dot, norm};

pub(crate) use jacobi::Jacobi;

/// Vectors of the iteration, kept between solves.
#[derive(Default)]
pub(crate) struct CgWorkspace {
    pub(crate) r: Vec<Vec3>,
    pub(crate) z: Vec<Vec3>,
    p: Vec<Vec3>,
    product: Vec<Vec3>,
}

impl CgWorkspace {
    pub(crate) fn new(length: usize) -> Self {
        let zeros = || vec![Vec3::ZERO; length];
        Self { r: zeros(), z: zeros(), p: zeros(), product: zeros() }
    }
}

/// When to stop.
#[derive(Clone, Copy)]
pub(crate) struct StoppingCriterion {
    /// Norm of the points' residual to reach.
    pub(crate) target: f64,
    /// Iterations to spend at most.
    pub(crate) budget: usize,
    /// Give up before, from this many iterations on, when the decrease so far foretells that the budget will not do.
    pub(crate) predict_after: Option<usize>,
}

/// How an iteration ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Termination {
    /// The recurrence's residual is below the target.
    Converged,
    /// The budget is spent, or will not do.
    Abandoned,
    /// A direction of no positive curvature: the system or the preconditioner is not positive definite there, or
    /// round-off is all that is left. The point that moves most is given.
    Broken { point: usize },
}

/// Iterates from x, whose residual is in `scratch.r` (rows' part: zero up to round-off). `precondition` replaces a
/// residual by P⁻¹ of it. Gives the iterations spent.
pub(crate) fn conjugate_gradients(
    system: System<'_>,
    x: &mut [Vec3],
    scratch: &mut CgWorkspace,
    stop: StoppingCriterion,
    mut precondition: impl FnMut(&mut [Vec3]),
) -> (usize, Termination) {
    let count = system.count();
    let CgWorkspace { r, z, p, product } = scratch;
    r[count..].fill(Vec3::ZERO);
    let start = norm(&r[..count]);
    if start <= stop.target {
        return (0, Termination::Converged);
    }
    let mut previous = 0.0;
    for iteration in 0..stop.budget {
        z.copy_from_slice(r);
        precondition(z);
        if shift_multipliers(system, x, r, z) && norm(&r[..count]) <= stop.target {
            return (iteration + 1, Termination::Converged);
        }
        let rz = dot(&r[..count], &z[..count]);
        if iteration == 0 {
            p.copy_from_slice(z);
        } else {
            let beta = rz / previous;
            for (p, &z) in p.iter_mut().zip(z.iter()) {
                *p = z + beta * *p;
            }
        }
        previous = rz;
        system.multiply(p, product);
        let curvature = dot(&p[..count], &product[..count]);
        // written so that NaN breaks too
        if !(curvature > 0.0 && rz > 0.0 && curvature.is_finite()) {
            let largest = |(_, a): &(usize, &Vec3), (_, b): &(usize, &Vec3)| {
                a.length_squared().total_cmp(&b.length_squared())
            };
            let point = p[..count].iter().enumerate().max_by(largest).map_or(0, |(i, _)| i);
            return (iteration, Termination::Broken { point });
        }
        let alpha = rz / curvature;
        for i in 0..x.len() {
            x[i] += alpha * p[i];
        }
        for i in 0..count {
            r[i] -= alpha * product[i];
        }
        let now = norm(&r[..count]);
        if now <= stop.target {
            return (iteration + 1, Termination::Converged);
        }
        if hopeless(start, now, iteration + 1, stop) {
            return (iteration + 1, Termination::Abandoned);
        }
    }
    (stop.budget, Termination::Abandoned)
}

/// Moves the hard rows' part of a preconditioned residual from the direction z to the multipliers, and takes what they
/// now carry from the residual r. Whether there are such rows.
fn shift_multipliers(system: System<'_>, x: &mut [Vec3], r: &mut [Vec3], z: &mut [Vec3]) -> bool {
    let count = system.count();
    let mut any = false;
    for (k, &compliance) in system.rows.compliance().iter().enumerate() {
        let step = if compliance == 0.0 { std::mem::take(&mut z[count + k]) } else { continue };
        x[count + k] += step;
        for (point, weight) in system.rows.row(k) {
            if !system.known[point as usize] {
                r[point as usize] -= weight * step;
            }
        }
        any = true;
    }
    any
}

/// Whether the decrease so far, going on at its rate, would need far more than the budget.
fn hopeless(start: f64, now: f64, iterations: usize, stop: StoppingCriterion) -> bool {
    // the residual may rise at first: ask late enough, and more strictly later
    if stop.predict_after.is_none_or(|earliest| iterations < earliest) || iterations < stop.budget / 8 {
        return false;
    }
    let backoff = if iterations < stop.budget / 2 { 2.5 } else { 1.3 };
    let rate = (now / start).ln() / iterations as f64;
    let needed = (stop.target / start).ln();
    rate >= 0.0 || needed / rate > backoff * stop.budget as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 1 to 1e-8 within 40 iterations: at a tenfold decrease in n of them it takes 8n. Asked from the fourth and from an eighth of the budget on; given up
    /// at 2.5 times the budget, in its second half at 1.3 times.
    #[test]
    fn iterations_without_prospects_are_given_up() {
        let stop = |predict_after| StoppingCriterion { target: 1e-8, budget: 40, predict_after };
        for (iterations, now, expected) in [
            (3, 0.9, false),
            (4, 0.9, false),
            (5, 0.9, true),
            (5, 2.0, true),
            (10, 0.1, false),
            (10, 0.15, false),
            (10, 0.2, true),
            (20, 5e-4, false),
            (20, 1e-2, true),
            (30, 1e-5, false),
        ] {
            assert_eq!(hopeless(1.0, now, iterations, stop(Some(4))), expected, "{now} after {iterations}");
            assert!(
                !hopeless(1.0, now, iterations, stop(None))
                    && !hopeless(1.0, now, iterations, stop(Some(31)))
            );
        }
    }
}
