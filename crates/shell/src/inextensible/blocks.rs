//! The system of a projection as the sparse solver takes it, in 3×3 blocks.
//!
//! Three pieces that meet are packed into one block, which is dense anyway, so that nothing is lost: a quad cloth of n points
//! has about 2n pieces in 2n/3 blocks.

use std::sync::Arc;

use geometry::Vec3;
use linear::{ConstraintRows, Matrix, Pattern, Solver};

use super::Threads;
use super::system::Coupling;

/// Relative residual of a solve: below the second-order error of a projection step, above what round-off leaves where
/// constraints nearly depend on each other.
const RESIDUAL: f64 = 1e-6;

/// The system over fixed threads and masses; directions change.
pub(super) struct Blocks {
    /// Where each piece stands: block and lane.
    places: Vec<(u32, u8)>,
    entries: Vec<Entry>,
    /// Lanes of blocks that no piece fills.
    padding: Vec<(u32, u8)>,
    matrix: Matrix,
    solver: Solver,
    rows: ConstraintRows,
    right: Vec<Vec3>,
    solution: Vec<Vec3>,
}

/// Where a coupling goes.
struct Entry {
    coupling: Coupling,
    /// Of the block, and within it.
    slot: u32,
    row: u8,
    column: u8,
}

impl Blocks {
    /// Symbolic work; `around` says which pieces meet at every free point.
    pub(super) fn new(
        threads: &Threads,
        around: &[Vec<u32>],
        couplings: &[Coupling],
    ) -> Result<Self, linear::Error> {
        let (places, blocks) = pack(threads, around);
        let block_of = |piece: u32| places[piece as usize].0;
        let stencils: Vec<Vec<u32>> =
            around.iter().map(|pieces| pieces.iter().map(|&piece| block_of(piece)).collect()).collect();
        let pattern = Arc::new(Pattern::from_stencils(blocks, stencils.iter().map(Vec::as_slice)));
        let entry = |coupling: &Coupling| {
            let [(block_i, row), (block_j, column)] = coupling.pieces.map(|piece| places[piece as usize]);
            // the lower triangle of blocks, whole blocks on the diagonal
            let slot = (block_i >= block_j).then(|| pattern.slot(block_i, block_j)).flatten()?;
            Some(Entry { coupling: *coupling, slot: slot as u32, row, column })
        };
        let mut entries: Vec<Entry> = couplings.iter().filter_map(entry).collect();
        entries.sort_by_key(|e| (e.slot, e.column, e.row));

        let mut filled = vec![0u8; blocks];
        places.iter().for_each(|&(block, lane)| filled[block as usize] |= 1 << lane);
        let padding = (0..blocks as u32)
            .flat_map(|block| (0..3u8).map(move |lane| (block, lane)))
            .filter(|&(block, lane)| filled[block as usize] & 1 << lane == 0)
            .collect();
        let rows = ConstraintRows::none(blocks);
        let settings = linear::Settings::default();
        let solver = Solver::new(&pattern, &vec![false; blocks], &rows, settings)?;
        let zeros = vec![Vec3::ZERO; blocks];
        Ok(Self {
            places,
            entries,
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
        for Entry { coupling, slot, row, column } in &self.entries {
            values[*slot as usize].col_mut(*column as usize)[*row as usize] += coupling.value(threads, x);
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
    pub(super) fn reset(&mut self) {
        self.solver.reset();
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
    use super::super::testing::grid_threads;
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
}
