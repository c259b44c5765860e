//! The linear system of a projection, ∇C M⁻¹ ∇Cᵀ μ = c: one scalar unknown per piece of thread, sparse, positive definite.
//!
//! The solver works on 3×3 blocks. Three pieces that meet are packed into one block, which is dense anyway, so that
//! nothing is lost: a quad cloth of n points has about 2n pieces in 2n/3 blocks.

use std::sync::Arc;

use geometry::Vec3;
use linear::{Matrix, Pattern, Rows, Solver};

use super::Threads;

/// Compliance against the diagonal. Where more threads meet than a point has freedoms (between held points, say) their
/// constraints depend on each other; this much give shares the load and changes no digit that matters.
const COMPLIANCE: f64 = 1e-9;
/// Relative residual of a solve: below the second-order error of a projection step, above what round-off leaves where
/// constraints nearly depend on each other.
const RESIDUAL: f64 = 1e-6;

/// The system over fixed threads and masses; directions change.
pub(super) struct System {
    /// 1/m of every point, zero where it is known.
    inverse_masses: Vec<f64>,
    /// Where each piece stands: block and lane.
    places: Vec<(u32, u8)>,
    couplings: Vec<Coupling>,
    /// Lanes of blocks that no piece fills.
    padding: Vec<(u32, u8)>,
    matrix: Matrix,
    solver: Solver,
    rows: Rows,
    right: Vec<Vec3>,
    solution: Vec<Vec3>,
}

/// Two pieces that share a free point.
struct Coupling {
    pieces: [u32; 2],
    /// Of the block, and within it.
    slot: u32,
    row: u8,
    column: u8,
    /// ±1/(m l l′): the sign says whether both run to (or from) the point.
    scale: f64,
}

impl System {
    /// Symbolic work. `threads` are pieces with at least one free end each.
    pub(super) fn new(threads: &Threads, masses: &[f64], known: &[bool]) -> Result<Self, linear::Error> {
        let inverse_masses: Vec<f64> =
            masses.iter().zip(known).map(|(m, known)| if *known { 0.0 } else { 1.0 / m }).collect();
        let mut around: Vec<Vec<u32>> = vec![Vec::new(); masses.len()];
        for (piece, ends) in threads.edges().iter().enumerate() {
            ends.iter().filter(|&&p| !known[p as usize]).for_each(|&p| around[p as usize].push(piece as u32));
        }
        let (places, blocks) = pack(threads, &around);

        let block_of = |piece: u32| places[piece as usize].0;
        let stencils: Vec<Vec<u32>> =
            around.iter().map(|pieces| pieces.iter().map(|&piece| block_of(piece)).collect()).collect();
        let pattern = Arc::new(Pattern::from_stencils(blocks, stencils.iter().map(Vec::as_slice)));
        let mut couplings = Vec::new();
        for (point, pieces) in around.iter().enumerate() {
            for &i in pieces {
                for &j in pieces {
                    let ((block_i, row), (block_j, column)) = (places[i as usize], places[j as usize]);
                    // the lower triangle of blocks, whole blocks on the diagonal
                    if block_i < block_j {
                        continue;
                    }
                    // both are stencils' blocks, so the slot is there
                    let Some(slot) = pattern.slot(block_i, block_j) else { continue };
                    let sign = |piece: u32| {
                        if threads.edges()[piece as usize][0] as usize == point { -1.0 } else { 1.0 }
                    };
                    let [l_i, l_j] = [i, j].map(|piece| threads.lengths()[piece as usize]);
                    let scale = sign(i) * sign(j) * inverse_masses[point] / (l_i * l_j);
                    couplings.push(Coupling { pieces: [i, j], slot: slot as u32, row, column, scale });
                }
            }
        }
        couplings.sort_by_key(|c| (c.slot, c.column, c.row));

        let mut filled = vec![0u8; blocks];
        places.iter().for_each(|&(block, lane)| filled[block as usize] |= 1 << lane);
        let padding = (0..blocks as u32)
            .flat_map(|block| (0..3u8).map(move |lane| (block, lane)))
            .filter(|&(block, lane)| filled[block as usize] & 1 << lane == 0)
            .collect();
        let rows = Rows::none(blocks);
        let settings = linear::Settings::default();
        let solver = Solver::new(&pattern, &vec![false; blocks], &rows, settings)?;
        let zeros = vec![Vec3::ZERO; blocks];
        Ok(Self {
            inverse_masses,
            places,
            couplings,
            padding,
            matrix: Matrix::new(pattern),
            solver,
            rows,
            right: zeros.clone(),
            solution: zeros,
        })
    }

    /// Takes the directions of the threads from `x` and factorises. False when they are not numbers.
    pub(super) fn factorize(&mut self, threads: &Threads, x: &[Vec3]) -> bool {
        self.assemble(threads, x);
        self.solver.factorize(&self.matrix, &self.rows).is_ok()
    }

    /// Takes the directions of the threads from `x`; the factor is kept, and helps as long as it is near.
    pub(super) fn assemble(&mut self, threads: &Threads, x: &[Vec3]) {
        self.matrix.set_zero();
        let values = self.matrix.values_mut();
        for c in &self.couplings {
            let [i, j] = c.pieces.map(|piece| threads.line(piece as usize, x));
            let value = c.scale * i.dot(j);
            let give = if c.pieces[0] == c.pieces[1] { 1.0 + COMPLIANCE } else { 1.0 };
            values[c.slot as usize].col_mut(c.column as usize)[c.row as usize] += give * value;
        }
        for &(block, lane) in &self.padding {
            // any positive number: it stands alone
            self.matrix.add(block, block, unit(lane));
        }
    }

    /// Solves for μ. False when the matrix is singular beyond what a little compliance mends.
    pub(super) fn solve(&mut self, c: &[f64], mu: &mut Vec<f64>) -> bool {
        self.right.fill(Vec3::ZERO);
        for (c, &(block, lane)) in c.iter().zip(&self.places) {
            self.right[block as usize][lane as usize] = *c;
        }
        self.solution.fill(Vec3::ZERO);
        let solved = self.solver.solve(
            &self.matrix,
            &self.right,
            &self.rows,
            &[],
            &mut self.solution,
            &mut [],
            RESIDUAL,
        );
        mu.clear();
        mu.extend(self.places.iter().map(|&(block, lane)| self.solution[block as usize][lane as usize]));
        solved.is_ok()
    }

    /// Nothing that was solved before may change what comes.
    pub(super) fn forget(&mut self) {
        self.solver.forget();
    }

    /// Adds `scale` · M⁻¹ ∇Cᵀ μ with the directions of the threads at `x`.
    pub(super) fn add_pull(&self, threads: &Threads, x: &[Vec3], mu: &[f64], scale: f64, sum: &mut [Vec3]) {
        for (piece, mu) in mu.iter().enumerate() {
            let [a, b] = threads.edges()[piece].map(|p| p as usize);
            let pull = (scale * mu / threads.lengths()[piece]) * threads.line(piece, x);
            sum[a] -= self.inverse_masses[a] * pull;
            sum[b] += self.inverse_masses[b] * pull;
        }
    }

    /// What the solver is, for reports.
    pub(super) fn info(&self) -> linear::Info {
        self.solver.info()
    }
}

fn unit(lane: u8) -> geometry::Mat3 {
    let mut diagonal = Vec3::ZERO;
    diagonal[lane as usize] = 1.0;
    geometry::Mat3::from_diagonal(diagonal)
}

/// Packs pieces by threes that meet, in the order of the list: the place of each, and how many blocks there are.
fn pack(threads: &Threads, around: &[Vec<u32>]) -> (Vec<(u32, u8)>, usize) {
    const NOWHERE: (u32, u8) = (u32::MAX, 0);
    let mut places = vec![NOWHERE; threads.len()];
    let mut blocks = 0;
    let is_open = |places: &[(u32, u8)], piece: u32| places[piece as usize] == NOWHERE;
    // pieces that have fewest open neighbours are taken first, or they would be left alone
    let open_around = |places: &[(u32, u8)], piece: u32| -> usize {
        let ends = threads.edges()[piece as usize];
        ends.iter().flat_map(|&p| &around[p as usize]).filter(|&&q| q != piece && is_open(places, q)).count()
    };
    let mut seeds: std::collections::VecDeque<u32> = (0..threads.len() as u32).collect();
    while let Some(seed) = seeds.pop_front() {
        if !is_open(&places, seed) {
            continue;
        }
        let mut members = vec![seed];
        places[seed as usize] = (blocks, 0);
        while members.len() < 3 {
            let candidates = members.iter().flat_map(|&m| threads.edges()[m as usize]);
            let candidates = candidates.flat_map(|p| &around[p as usize]).copied();
            let best = candidates
                .filter(|&piece| is_open(&places, piece))
                .min_by_key(|&piece| (open_around(&places, piece), piece));
            let Some(best) = best else { break };
            places[best as usize] = (blocks, members.len() as u8);
            members.push(best);
        }
        blocks += 1;
        // go on beside what was just packed
        let last = members[members.len() - 1];
        let beside = threads.edges()[last as usize].iter().flat_map(|&p| &around[p as usize]);
        if let Some(next) = beside.copied().filter(|&piece| is_open(&places, piece)).min() {
            seeds.push_front(next);
        }
    }
    (places, blocks as usize)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{grid_threads, noise};
    use super::*;

    #[test]
    fn blocks_are_nearly_full() {
        let (rest, threads) = grid_threads(20, 20);
        let mut around = vec![Vec::new(); rest.len()];
        for (piece, ends) in threads.edges().iter().enumerate() {
            ends.iter().for_each(|&p| around[p as usize].push(piece as u32));
        }
        let (places, blocks) = pack(&threads, &around);
        assert!(blocks < threads.len() * 2 / 5, "{blocks} blocks for {} pieces", threads.len());
        let mut sorted = places.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), threads.len(), "no place twice");
    }

    #[test]
    fn solves_what_the_definition_says() {
        let (rest, threads) = grid_threads(6, 5);
        let x: Vec<Vec3> = rest.iter().enumerate().map(|(i, p)| *p + 0.02 * noise(i)).collect();
        let mut known = vec![false; rest.len()];
        known[0] = true;
        let masses: Vec<f64> = (0..rest.len()).map(|i| 0.002 + 0.001 * noise(i).x).collect();
        let threads = threads.free(&known);
        let mut system = System::new(&threads, &masses, &known).unwrap();
        assert!(system.factorize(&threads, &x));
        let c: Vec<f64> = (0..threads.len()).map(|i| noise(i + 7).y).collect();
        let mut mu = Vec::new();
        assert!(system.solve(&c, &mut mu));
        // ∇C (M⁻¹ ∇Cᵀ μ), one factor after the other
        let mut moved = vec![Vec3::ZERO; rest.len()];
        system.add_pull(&threads, &x, &mu, 1.0, &mut moved);
        assert_eq!(moved[0], Vec3::ZERO, "held");
        for (piece, c) in c.iter().enumerate() {
            let rate = threads.line(piece, &moved).dot(threads.line(piece, &x)) / threads.lengths()[piece];
            assert!((rate - c).abs() < 1e-6, "piece {piece}: {rate} for {c}");
        }
    }
}
