//! The exact closest point on the constraints: what fast projection approximates, and what inextensible calls ICD and SAP.
//!
//! Minimise ½‖x − x₀‖²_M subject to C(x) = 0 by Newton's method on x and the multipliers λ together:
//!
//! ```text
//! [ H  ∇Cᵀ ] [ δx ]   [ −M(x − x₀) ]
//! [ ∇C  0  ] [ λ  ] = [ −C(x)      ],   H = M + Σ λᵢ ∇²cᵢ,   ∇²cᵢ = (1/l) [I −I; −I I]
//! ```
//!
//! inextensible §4.1 and 4.2. Differs: the paper factorises this indefinite matrix of 5n unknowns. Here the multipliers are
//! eliminated with a large penalty ρ: (H + ρ∇Cᵀ∇C) δx = −M(x − x₀) − ∇Cᵀ(λ + ρC), λ += ρ(∇C δx + C), repeated on one factor
//! until the second row holds; a positive definite matrix of 3n unknowns, and so a faster rival than the paper's.

use std::sync::Arc;

use dynamics::{Body, Filter, GuideSample, State};
use geometry::{Mat3, Vec3};
use linear::{ConstraintRows, Matrix, Method, Pattern, Solver};

use shell::{ThreadStrain, Threads};

/// Newton iterations before a step is given up.
const MOST_ITERATIONS: usize = 40;
/// ρ against the masses: each round on the factor gains about four digits.
const PENALTY: f64 = 1e6;
/// Rounds on a factor.
const MOST_ROUNDS: usize = 8;

/// Exact projection as a filter, with the first-order rule for velocities.
pub(crate) struct ExactProjection {
    threads: Threads,
    tolerance: f64,
    masses: Vec<f64>,
    penalty: f64,
    matrix: Matrix,
    solver: Solver,
    rows: ConstraintRows,
    lambda: Vec<f64>,
}

impl ExactProjection {
    /// Symbolic work for the threads of a body. `tolerance` is the permitted strain, and the permitted distance from the closest
    /// point in lengths of thread.
    pub(crate) fn new(body: &Body, threads: &Threads, tolerance: f64) -> Result<Self, dynamics::Error> {
        let threads = threads.free(body.known());
        let count = body.point_count();
        let stencils = threads.edges().iter().map(|ends| ends.as_slice());
        let pattern = Arc::new(Pattern::from_stencils(count, stencils));
        let rows = ConstraintRows::none(count);
        let settings = linear::Settings { method: Method::Direct };
        let solver = Solver::new(&pattern, body.known(), &rows, settings)?;
        let masses = body.masses().to_vec();
        let penalty = PENALTY * masses.iter().sum::<f64>() / count.max(1) as f64;
        let matrix = Matrix::new(pattern);
        Ok(Self { threads, tolerance, masses, penalty, matrix, solver, rows, lambda: Vec::new() })
    }

    /// Moves positions to the closest ones at which all threads keep their lengths; `None` when the iteration fails.
    pub(crate) fn project(&mut self, x: &mut [Vec3]) -> Option<ThreadStrain> {
        let x0 = x.to_vec();
        let mut c = Vec::new();
        self.lambda.clear();
        self.lambda.resize(self.threads.len(), 0.0);
        let shortest = self.threads.lengths().iter().copied().fold(f64::INFINITY, f64::min);
        for iteration in 0..MOST_ITERATIONS {
            let strain = self.threads.strain(x);
            if !strain.largest().is_finite() {
                return None;
            }
            self.threads.violations(x, &mut c);
            self.assemble(x);
            self.solver.factorize(&self.matrix, &self.rows).ok()?;
            let step = self.newton_step(&x0, x, &c)?;
            let moved = step.iter().map(|d| d.length()).fold(0.0, f64::max);
            x.iter_mut().zip(&step).for_each(|(x, d)| *x += *d);
            let strain = self.threads.strain(x);
            if iteration > 0 && strain.largest() <= self.tolerance && moved <= self.tolerance * shortest {
                return Some(strain);
            }
        }
        None
    }

    /// H + ρ∇Cᵀ∇C. Curvature of threads under compression is left out: it could make the matrix indefinite, and only the way
    /// to the answer depends on it.
    fn assemble(&mut self, x: &[Vec3]) {
        self.matrix.set_zero();
        for (point, &mass) in self.masses.iter().enumerate() {
            self.matrix.add(point as u32, point as u32, Mat3::from_diagonal(Vec3::splat(mass)));
        }
        for (piece, &[a, b]) in self.threads.edges().iter().enumerate() {
            let length = self.threads.lengths()[piece];
            let n = self.threads.line(piece, x) / length;
            let outer = Mat3::from_cols(n * n.x, n * n.y, n * n.z) * self.penalty;
            let block = outer + Mat3::IDENTITY * (self.lambda[piece].max(0.0) / length);
            self.matrix.add(a, a, block);
            self.matrix.add(b, b, block);
            self.matrix.add(a, b, -block);
        }
    }

    fn newton_step(&mut self, x0: &[Vec3], x: &[Vec3], c: &[f64]) -> Option<Vec<Vec3>> {
        let mut step = vec![Vec3::ZERO; x.len()];
        // what the current multipliers already balance stays in H's curvature; they are solved for anew
        let mut lambda = vec![0.0; c.len()];
        let mut left = c.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
        let enough = 1e-9 * left;
        let mut missing = c.to_vec();
        for _ in 0..MOST_ROUNDS {
            let mut right: Vec<Vec3> =
                x.iter().zip(x0).zip(&self.masses).map(|((x, x0), m)| *m * (*x0 - *x)).collect();
            for (piece, &[a, b]) in self.threads.edges().iter().enumerate() {
                let n = self.threads.line(piece, x) / self.threads.lengths()[piece];
                let pull = (lambda[piece] + self.penalty * c[piece]) * n;
                right[a as usize] += pull;
                right[b as usize] -= pull;
            }
            step.fill(Vec3::ZERO);
            self.solver.solve(&self.matrix, &right, &self.rows, &[], &mut step, &mut [], 1e-10).ok()?;
            for (piece, missing) in missing.iter_mut().enumerate() {
                let n = self.threads.line(piece, x) / self.threads.lengths()[piece];
                *missing = n.dot(self.threads.line(piece, &step)) + c[piece];
                lambda[piece] += self.penalty * *missing;
            }
            left = missing.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
            if left <= enough {
                break;
            }
        }
        self.lambda = lambda;
        left.is_finite().then_some(step)
    }
}

impl Filter for ExactProjection {
    fn apply(&mut self, _: &Body, _: &GuideSample, _: &State, after: &mut State, seconds: f64) -> bool {
        let unconstrained = after.positions.clone();
        if self.project(&mut after.positions).is_none() {
            return false;
        }
        for ((v, x), x0) in after.velocities.iter_mut().zip(&after.positions).zip(&unconstrained) {
            *v += (*x - *x0) / seconds;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inextensible::testing::{body, grid_threads, noise};
    use shell::{FastProjection, Impulse};

    #[test]
    fn the_correction_is_a_pull_of_threads_at_the_end() {
        // M(x − x₀) + ∇C(x)ᵀλ = 0: the condition for the closest point, with λ found by least squares on one thread each
        let (rest, threads) = grid_threads(5, 4);
        let body = body(rest.len(), &[8]).build().unwrap();
        let start: Vec<Vec3> = (0..rest.len())
            .map(|i| if body.known()[i] { rest[i] } else { rest[i] + 0.005 * noise(i) })
            .collect();
        let mut x = start.clone();
        let mut exact = ExactProjection::new(&body, &threads, 1e-8).unwrap();
        assert!(exact.project(&mut x).unwrap().largest() < 1e-8);
        let mut balance: Vec<Vec3> = (0..x.len()).map(|i| body.masses()[i] * (x[i] - start[i])).collect();
        let size = balance.iter().map(|f| f.length()).fold(0.0, f64::max);
        for (piece, &[a, b]) in exact.threads.edges().iter().enumerate() {
            let pull = exact.lambda[piece] / exact.threads.lengths()[piece] * exact.threads.line(piece, &x);
            balance[a as usize] -= pull;
            balance[b as usize] += pull;
        }
        let left =
            (0..x.len()).filter(|&i| !body.known()[i]).map(|i| balance[i].length()).fold(0.0, f64::max);
        assert!(left < 1e-6 * size, "{left} of {size}");
    }

    #[test]
    fn equals_the_exact_closest_point_to_first_order() {
        let (rest, threads) = grid_threads(7, 5);
        let body = body(rest.len(), &[0, 7]).build().unwrap();
        // stay on the curved side: a flat sheet would hide what is second order
        let bent: Vec<Vec3> = rest.iter().map(|p| Vec3::new(p.x, 0.3 * (3.0 * p.x).sin(), p.z)).collect();
        let threads = Threads::new(&bent, threads.edges().to_vec()).unwrap();
        let difference = |size: f64| {
            let start: Vec<Vec3> = (0..bent.len())
                .map(|i| if body.known()[i] { bent[i] } else { bent[i] + size * noise(i) })
                .collect();
            let (mut fast, mut exact) = (start.clone(), start.clone());
            FastProjection::new(&body, &threads, 1e-10, Impulse::FirstOrder)
                .unwrap()
                .project(&mut fast)
                .unwrap();
            ExactProjection::new(&body, &threads, 1e-10).unwrap().project(&mut exact).unwrap();
            let farthest =
                |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            (farthest(&fast, &exact), farthest(&exact, &start))
        };
        let (large, small) = (difference(2e-3), difference(1e-3));
        assert!(large.1 > 5e-4, "it was moved at all");
        assert!(large.0 < 0.1 * large.1, "{large:?}");
        // halving the displacement quarters the difference
        assert!((3.0..5.5).contains(&(large.0 / small.0)), "{large:?} {small:?}");
    }
}
