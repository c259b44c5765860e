//! Strain limiting by sweeps: every piece of thread is put right by itself, again and again, until all of them are.
//!
//! What most tools do (Provot 1995, Bridson 2002, Müller 2006). Cheap per sweep, but a correction travels one piece per
//! sweep, so sweeps grow with the square of the resolution. inextensible §2, §5.

use dynamics::{Body, Filter, GuideSample, State};
use geometry::Vec3;

use shell::Threads;

/// In what order pieces are put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sweep {
    /// All from the same positions; a point moves by the mean of what its pieces ask.
    Jacobi,
    /// One after the other, in an order shuffled anew for every sweep, so that none is favoured.
    GaussSeidel,
}

/// Strain limiting as a filter, with the first-order rule for velocities.
pub(crate) struct Relaxation {
    threads: Threads,
    tolerance: f64,
    sweep: Sweep,
    most_sweeps: usize,
    inverse_masses: Vec<f64>,
    /// Pieces around every point.
    valence: Vec<f64>,
    sweeps: usize,
}

impl Relaxation {
    /// For the threads of a body. `tolerance` is the permitted strain; a step that needs more than `most_sweeps` is refused.
    pub(crate) fn new(
        body: &Body,
        threads: &Threads,
        tolerance: f64,
        sweep: Sweep,
        most_sweeps: usize,
    ) -> Self {
        let threads = threads.free(body.known());
        let inverse = |(m, known): (&f64, &bool)| if *known { 0.0 } else { 1.0 / m };
        let inverse_masses = body.masses().iter().zip(body.known()).map(inverse).collect();
        let mut valence = vec![0.0; body.point_count()];
        threads.edges().iter().flatten().for_each(|&p| valence[p as usize] += 1.0);
        Self { threads, tolerance, sweep, most_sweeps, inverse_masses, valence, sweeps: 0 }
    }

    /// Sweeps so far.
    #[cfg(test)]
    fn sweeps(&self) -> usize {
        self.sweeps
    }

    /// Sweeps until every thread is within the tolerance; false when that takes too many.
    pub(crate) fn relax(&mut self, x: &mut [Vec3]) -> bool {
        let mut order: Vec<u32> = (0..self.threads.len() as u32).collect();
        let mut moves = vec![Vec3::ZERO; x.len()];
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..self.most_sweeps {
            let strain = self.threads.strain(x).largest();
            if strain <= self.tolerance {
                return true;
            }
            if !strain.is_finite() {
                return false;
            }
            self.sweeps += 1;
            match self.sweep {
                Sweep::Jacobi => {
                    moves.fill(Vec3::ZERO);
                    for piece in 0..self.threads.len() {
                        let ([a, b], [to_a, to_b]) = self.correction(piece, x);
                        moves[a] += to_a;
                        moves[b] += to_b;
                    }
                    for (point, x) in x.iter_mut().enumerate() {
                        *x += moves[point] / self.valence[point].max(1.0);
                    }
                }
                Sweep::GaussSeidel => {
                    shuffle(&mut order, &mut random);
                    for &piece in &order {
                        let ([a, b], [to_a, to_b]) = self.correction(piece as usize, x);
                        x[a] += to_a;
                        x[b] += to_b;
                    }
                }
            }
        }
        false
    }

    /// How the ends of a piece move to give it its length, shared by inverse mass.
    fn correction(&self, piece: usize, x: &[Vec3]) -> ([usize; 2], [Vec3; 2]) {
        let [a, b] = self.threads.edges()[piece].map(|p| p as usize);
        let line = x[b] - x[a];
        let length = line.length();
        let (w_a, w_b) = (self.inverse_masses[a], self.inverse_masses[b]);
        if length == 0.0 {
            return ([a, b], [Vec3::ZERO; 2]);
        }
        let excess = (length - self.threads.lengths()[piece]) / (length * (w_a + w_b)) * line;
        ([a, b], [w_a * excess, -w_b * excess])
    }
}

/// Fisher and Yates with xorshift numbers.
fn shuffle(order: &mut [u32], random: &mut u64) {
    for i in (1..order.len()).rev() {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        order.swap(i, (*random % (i as u64 + 1)) as usize);
    }
}

impl Filter for Relaxation {
    fn apply(&mut self, _: &Body, _: &GuideSample, _: &State, after: &mut State, seconds: f64) -> bool {
        let unconstrained = after.positions.clone();
        if !self.relax(&mut after.positions) {
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
    use crate::inextensible::testing::{body, chain, grid_threads, noise};

    #[test]
    fn sweeps_bring_every_thread_within_the_tolerance() {
        let (rest, threads) = grid_threads(8, 8);
        let body = body(rest.len(), &[0, 8]).build().unwrap();
        for sweep in [Sweep::Jacobi, Sweep::GaussSeidel] {
            let mut x: Vec<Vec3> = (0..rest.len())
                .map(|i| if body.known()[i] { rest[i] } else { rest[i] + 0.02 * noise(i) })
                .collect();
            let mut relaxation = Relaxation::new(&body, &threads, 1e-2, sweep, 10_000);
            assert!(relaxation.relax(&mut x));
            assert!(threads.strain(&x).largest() <= 1e-2);
            assert_eq!((x[0], x[8]), (rest[0], rest[8]));
        }
    }

    #[test]
    fn sweeps_grow_faster_than_the_resolution() {
        // a chain pulled sideways at its end by a fifth of its length: twice the pieces, more than three times the sweeps
        let sweeps = |pieces: u32, sweep| {
            let (rest, threads) = chain(pieces, 1.0);
            let body = body(rest.len(), &[0]).build().unwrap();
            let mut x: Vec<Vec3> = rest.iter().map(|p| *p * 1.2).collect();
            let mut relaxation = Relaxation::new(&body, &threads, 1e-3, sweep, 1_000_000);
            assert!(relaxation.relax(&mut x));
            relaxation.sweeps()
        };
        for sweep in [Sweep::Jacobi, Sweep::GaussSeidel] {
            let (coarse, fine) = (sweeps(10, sweep), sweeps(20, sweep));
            assert!(fine > 3 * coarse, "{sweep:?}: {coarse} {fine}");
        }
    }
}
