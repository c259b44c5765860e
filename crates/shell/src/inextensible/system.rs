//! The linear system of a projection, ∇C M⁻¹ ∇Cᵀ μ = c: one scalar unknown per piece of thread, sparse, positive definite.
//!
//! A chain or a ribbon makes a narrow band, which a plain loop factorises in microseconds; a cloth goes to the sparse solver.

use geometry::Vec3;
use linear::{BandMatrix, Info};

use super::Threads;
use super::blocks::Blocks;

/// Compliance against the diagonal. Where more threads meet than a point has freedoms (between held points, say) their
/// constraints depend on each other; this much give shares the load and changes no digit that matters.
const COMPLIANCE: f64 = 1e-9;
/// Bands up to this width are factorised as such. At thirty, a cloth's fronts are as fast.
const NARROW: usize = 12;

/// ∇C M⁻¹ ∇Cᵀ over fixed threads and masses; directions change.
pub struct ThreadSystem {
    /// 1/m of every point, zero where it is known.
    inverse_masses: Vec<f64>,
    equations: Equations,
}

enum Equations {
    Narrow(Narrow),
    Blocks(Box<Blocks>),
}

/// Two pieces that share a free point, or one with itself.
#[derive(Clone, Copy)]
pub(super) struct Coupling {
    pub(super) pieces: [u32; 2],
    /// ±1/(m l l′): the sign says whether both run to (or from) the point.
    scale: f64,
}

impl Coupling {
    /// Its part of the matrix, with the directions of the threads at `x`.
    pub(super) fn value(&self, threads: &Threads, x: &[Vec3]) -> f64 {
        let [i, j] = self.pieces.map(|piece| threads.line(piece as usize, x));
        self.scale * i.dot(j)
    }
}

impl ThreadSystem {
    /// Symbolic work. `threads` are pieces with at least one free end each.
    pub fn new(threads: &Threads, masses: &[f64], known: &[bool]) -> Result<Self, linear::Error> {
        Self::with_band(threads, masses, known, NARROW)
    }

    /// The same on the sparse solver, however narrow the band.
    pub fn sparse(threads: &Threads, masses: &[f64], known: &[bool]) -> Result<Self, linear::Error> {
        Self::with_band(threads, masses, known, 0)
    }

    /// With a band where it is at most so wide.
    fn with_band(
        threads: &Threads,
        masses: &[f64],
        known: &[bool],
        widest: usize,
    ) -> Result<Self, linear::Error> {
        let inverse_masses: Vec<f64> =
            masses.iter().zip(known).map(|(m, known)| if *known { 0.0 } else { 1.0 / m }).collect();
        let mut around: Vec<Vec<u32>> = vec![Vec::new(); masses.len()];
        for (piece, ends) in threads.edges().iter().enumerate() {
            ends.iter().filter(|&&p| !known[p as usize]).for_each(|&p| around[p as usize].push(piece as u32));
        }
        let mut couplings = Vec::new();
        for (point, pieces) in around.iter().enumerate() {
            let sign = |piece: u32| {
                if threads.edges()[piece as usize][0] as usize == point { -1.0 } else { 1.0 }
            };
            for &i in pieces {
                for &j in pieces {
                    let [l_i, l_j] = [i, j].map(|piece| threads.lengths()[piece as usize]);
                    let give = if i == j { 1.0 + COMPLIANCE } else { 1.0 };
                    let scale = give * sign(i) * sign(j) * inverse_masses[point] / (l_i * l_j);
                    couplings.push(Coupling { pieces: [i, j], scale });
                }
            }
        }
        let equations = match Narrow::new(threads, &around, &couplings, widest) {
            Some(narrow) => Equations::Narrow(narrow),
            None => Equations::Blocks(Box::new(Blocks::new(threads, &around, &couplings)?)),
        };
        Ok(Self { inverse_masses, equations })
    }

    /// Takes the directions of the threads from `x` and factorises. False when they are not numbers.
    pub fn factorize(&mut self, threads: &Threads, x: &[Vec3]) -> bool {
        match &mut self.equations {
            Equations::Narrow(narrow) => {
                narrow.assemble(threads, x);
                narrow.is_factorized()
            }
            Equations::Blocks(blocks) => blocks.factorize(threads, x),
        }
    }

    /// Takes the directions of the threads from `x`; what was factorised before helps as long as it is near.
    pub fn assemble(&mut self, threads: &Threads, x: &[Vec3]) {
        match &mut self.equations {
            Equations::Narrow(narrow) => narrow.assemble(threads, x),
            Equations::Blocks(blocks) => blocks.assemble(threads, x),
        }
    }

    /// Solves for μ. False when the matrix is singular beyond what a little compliance mends.
    pub fn solve(&mut self, c: &[f64], mu: &mut Vec<f64>) -> bool {
        match &mut self.equations {
            Equations::Narrow(narrow) => narrow.solve(c, mu),
            Equations::Blocks(blocks) => blocks.solve(c, mu),
        }
    }

    /// Nothing that was solved before may change what comes.
    pub fn reset(&mut self) {
        if let Equations::Blocks(blocks) = &mut self.equations {
            blocks.reset();
        }
    }

    /// Adds `scale` · M⁻¹ ∇Cᵀ μ with the directions of the threads at `x`.
    pub fn add_correction(&self, threads: &Threads, x: &[Vec3], mu: &[f64], scale: f64, sum: &mut [Vec3]) {
        for (piece, mu) in mu.iter().enumerate() {
            let [a, b] = threads.edges()[piece].map(|p| p as usize);
            let pull = (scale * mu / threads.lengths()[piece]) * threads.line(piece, x);
            sum[a] -= self.inverse_masses[a] * pull;
            sum[b] += self.inverse_masses[b] * pull;
        }
    }

    /// What the solver is, for reports.
    pub fn info(&self) -> Info {
        match &self.equations {
            Equations::Narrow(narrow) => narrow.info(),
            Equations::Blocks(blocks) => blocks.info(),
        }
    }
}

/// The system of a chain or a ribbon.
struct Narrow {
    /// The row of every piece.
    places: Vec<u32>,
    couplings: Vec<Coupling>,
    band: BandMatrix,
    /// The factor is not of what was assembled last.
    is_stale: bool,
    right: Vec<f64>,
    factorizations: usize,
    solves: usize,
}

impl Narrow {
    /// None if no narrow order was found.
    fn new(threads: &Threads, around: &[Vec<u32>], couplings: &[Coupling], widest: usize) -> Option<Self> {
        let places = in_a_row(threads, around);
        let row = |piece: u32| places[piece as usize];
        let width = couplings.iter().map(|c| row(c.pieces[0]).abs_diff(row(c.pieces[1]))).max()?;
        let width = (width as usize <= widest).then_some(width as usize)?;
        let is_lower = |c: &&Coupling| row(c.pieces[0]) >= row(c.pieces[1]);
        Some(Self {
            couplings: couplings.iter().filter(is_lower).copied().collect(),
            band: BandMatrix::new(places.len(), width),
            is_stale: true,
            right: vec![0.0; places.len()],
            places,
            factorizations: 0,
            solves: 0,
        })
    }

    fn assemble(&mut self, threads: &Threads, x: &[Vec3]) {
        self.band.set_zero();
        for coupling in &self.couplings {
            let [row, column] = coupling.pieces.map(|piece| self.places[piece as usize] as usize);
            self.band.add(row, column, coupling.value(threads, x));
        }
        self.is_stale = true;
    }

    fn is_factorized(&mut self) -> bool {
        if self.is_stale {
            self.factorizations += 1;
            self.is_stale = !self.band.factorize();
        }
        !self.is_stale
    }

    fn solve(&mut self, c: &[f64], mu: &mut Vec<f64>) -> bool {
        if !self.is_factorized() {
            return false;
        }
        for (c, &place) in c.iter().zip(&self.places) {
            self.right[place as usize] = *c;
        }
        self.band.solve(&mut self.right);
        mu.clear();
        mu.extend(self.places.iter().map(|&place| self.right[place as usize]));
        self.solves += 1;
        true
    }

    fn info(&self) -> Info {
        let (count, stored) = (self.band.count(), self.band.width() + 1);
        Info {
            method: format!("LLᵀ within a band of {stored}, every matrix"),
            unknowns: count,
            factor_nonzeros: count * stored,
            factor_bytes: 2 * size_of::<f64>() * count * stored,
            factor_flops: (count * stored * stored) as f64,
            factorizations: self.factorizations,
            solves: self.solves,
            iterations: 0,
        }
    }
}

/// A row for every piece, near those of its neighbours: outwards from an end of each connected part (Cuthill & McKee 1969).
fn in_a_row(threads: &Threads, around: &[Vec<u32>]) -> Vec<u32> {
    let neighbours = |piece: u32| {
        let ends = threads.edges()[piece as usize];
        ends.into_iter().flat_map(|p| &around[p as usize]).copied().filter(move |&other| other != piece)
    };
    // From a piece outwards: pieces in the order in which they are met.
    let outwards = |start: u32, is_met: &mut [bool]| {
        let mut met = vec![start];
        is_met[start as usize] = true;
        let mut next = 0;
        while next < met.len() {
            let mut fresh: Vec<u32> = neighbours(met[next]).filter(|&p| !is_met[p as usize]).collect();
            fresh.sort_unstable();
            fresh.dedup();
            fresh.sort_by_key(|&piece| (neighbours(piece).count(), piece));
            fresh.iter().for_each(|&piece| is_met[piece as usize] = true);
            met.extend(fresh);
            next += 1;
        }
        met
    };
    let mut places = vec![0; threads.len()];
    let mut is_placed = vec![false; threads.len()];
    let mut row = 0;
    for piece in 0..threads.len() as u32 {
        if is_placed[piece as usize] {
            continue;
        }
        // what is met last lies at an end
        let end = outwards(piece, &mut is_placed.clone()).last().copied().unwrap_or(piece);
        for member in outwards(end, &mut is_placed) {
            places[member as usize] = row;
            row += 1;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::super::testing::{chain, grid_threads, noise};
    use super::*;

    fn check(rest: &[Vec3], threads: &Threads, is_narrow: bool) {
        let x: Vec<Vec3> = rest.iter().enumerate().map(|(i, p)| *p + 0.02 * noise(i)).collect();
        let mut known = vec![false; rest.len()];
        known[0] = true;
        let masses: Vec<f64> = (0..rest.len()).map(|i| 0.002 + 0.001 * noise(i).x).collect();
        let threads = threads.free(&known);
        let mut system = ThreadSystem::new(&threads, &masses, &known).unwrap();
        assert_eq!(matches!(system.equations, Equations::Narrow(_)), is_narrow);
        assert!(system.factorize(&threads, &x));
        let c: Vec<f64> = (0..threads.len()).map(|i| noise(i + 7).y).collect();
        let mut mu = Vec::new();
        assert!(system.solve(&c, &mut mu));
        // ∇C (M⁻¹ ∇Cᵀ μ), one factor after the other
        let mut moved = vec![Vec3::ZERO; rest.len()];
        system.add_correction(&threads, &x, &mu, 1.0, &mut moved);
        assert_eq!(moved[0], Vec3::ZERO, "held");
        for (piece, c) in c.iter().enumerate() {
            let rate = threads.line(piece, &moved).dot(threads.line(piece, &x)) / threads.lengths()[piece];
            assert!((rate - c).abs() < 1e-6, "piece {piece}: {rate} for {c}");
        }
    }

    #[test]
    fn solves_what_the_definition_says() {
        let (rest, threads) = grid_threads(16, 15);
        check(&rest, &threads, false);
        // a ribbon, along either side, and a chain that starts in its middle
        let (rest, threads) = grid_threads(30, 2);
        check(&rest, &threads, true);
        let (rest, threads) = grid_threads(2, 30);
        check(&rest, &threads, true);
        let (rest, threads) = chain(20, 1.0);
        check(&rest, &threads, true);
        let edges = threads.edges();
        let halves = edges[10..].iter().chain(edges[..10].iter().rev()).copied().collect();
        check(&rest, &Threads::new(&rest, halves).unwrap(), true);
    }
}
