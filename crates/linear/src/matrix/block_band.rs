//! Symmetric matrices of dense blocks near the diagonal, with rows for equalities: what problems over time look like.
//!
//! One block for each moment: unknowns first, then the multipliers of rows that end there. K = [H Cᵀ; C −E] is factorised as
//! L J Lᵀ without pivoting, J = 1 on unknowns and −1 on multipliers: where H is positive definite and E not negative, every
//! pivot has its sign in any order, as long as a row stands after enough of what it speaks of. Time is linear in the
//! number of blocks. The dense kernels are those of the fronts ([`crate::factor::dense`]).

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};

use crate::error::Error;
use crate::factor::dense;
use crate::factor::symbolic::NODE;

/// A symmetric matrix of blocks, each coupled with the next few, and its factor.
///
/// ```
/// use linear::BlockBandMatrix;
///
/// // minimise ½(x² + y²) − x subject to x + y = 2; the row stands in the last block
/// let mut band = BlockBandMatrix::new(&[(1, 0), (1, 1)], 1);
/// let [x, y, row] = [band.first(0), band.first(1), band.first(1) + 1];
/// band.add(x, x, 1.0);
/// band.add(y, y, 1.0);
/// band.add(row, x, 1.0);
/// band.add(row, y, 1.0);
/// band.factorize()?;
/// let mut solution = [1.0, 0.0, 2.0];
/// band.solve(&mut solution);
/// assert!((solution[0] - 1.5).abs() < 1e-14 && (solution[1] - 0.5).abs() < 1e-14);
/// # Ok::<(), linear::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockBandMatrix {
    /// First unknown of each block, and one past the last.
    firsts: Vec<usize>,
    /// Where each unknown stands in the padded matrix.
    padded: Vec<usize>,
    blocks: Vec<Block>,
    values: Vec<f64>,
    factor: Vec<f64>,
    update: Vec<f64>,
}

/// The columns of one block from its diagonal down: a panel, by columns.
#[derive(Clone, Debug)]
struct Block {
    /// First padded row.
    start: usize,
    width: usize,
    /// Columns with a positive pivot; a multiple of NODE, as the width is.
    positive: usize,
    /// Rows of the panel: the block's own and those of the blocks that it reaches.
    height: usize,
    /// Where the panel begins in the list of values.
    offset: usize,
    /// Columns that only fill up: (column in the panel, pivot).
    padding: Vec<(usize, f64)>,
}

impl BlockBandMatrix {
    /// Zero, for blocks of so many (unknowns, rows), each coupled with the `reach` blocks after it.
    pub fn new(sizes: &[(usize, usize)], reach: usize) -> Self {
        let (mut firsts, mut padded, mut blocks) = (vec![0], Vec::new(), Vec::with_capacity(sizes.len()));
        let mut start = 0;
        for &(unknowns, rows) in sizes {
            let positive = unknowns.next_multiple_of(NODE);
            let width = positive + rows.next_multiple_of(NODE);
            padded.extend((0..unknowns).map(|k| start + k));
            padded.extend((0..rows).map(|k| start + positive + k));
            let padding =
                (unknowns..positive).map(|k| (k, 1.0)).chain((positive + rows..width).map(|k| (k, -1.0)));
            blocks.push(Block { start, width, positive, height: 0, offset: 0, padding: padding.collect() });
            firsts.push(padded.len());
            start += width;
        }
        let mut offset = 0;
        for index in 0..blocks.len() {
            let last = &blocks[(index + reach).min(blocks.len() - 1)];
            let height = last.start + last.width - blocks[index].start;
            blocks[index].height = height;
            blocks[index].offset = offset;
            offset += height * blocks[index].width;
        }
        let largest = blocks.iter().map(|block| (block.height - block.width).pow(2)).max().unwrap_or(0);
        let mut band = Self {
            firsts,
            padded,
            blocks,
            values: vec![0.0; offset],
            factor: vec![0.0; offset],
            update: vec![0.0; largest],
        };
        band.set_zero();
        band
    }

    /// Unknowns and rows together.
    pub fn count(&self) -> usize {
        self.padded.len()
    }

    /// Blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Index of a block's first unknown; its rows follow its unknowns.
    pub fn first(&self, block: usize) -> usize {
        self.firsts[block]
    }

    /// Forgets the entries, not the factor.
    pub fn set_zero(&mut self) {
        self.values.fill(0.0);
        for block in &self.blocks {
            for &(column, pivot) in &block.padding {
                self.values[block.offset + column * block.height + column] = pivot;
            }
        }
    }

    /// The block of a padded row.
    fn block_of(&self, row: usize) -> &Block {
        &self.blocks[self.blocks.partition_point(|block| block.start <= row) - 1]
    }

    /// Adds to an entry and, off the diagonal, to the one across from it. Blocks of the two are no more than the reach apart.
    pub fn add(&mut self, row: usize, column: usize, value: f64) {
        let (a, b) = (self.padded[row], self.padded[column]);
        let (low, high) = (a.max(b), a.min(b));
        let block = self.block_of(high);
        let at = block.offset + (high - block.start) * block.height + low - block.start;
        self.values[at] += value;
    }

    /// Adds a symmetric matrix over some unknowns, given by its lower triangle, by columns; what is above is not read. The
    /// indices rise.
    pub fn add_matrix(&mut self, indices: &[usize], matrix: &[f64]) {
        let n = indices.len();
        let mut own = self
            .blocks
            .partition_point(|block| block.start <= indices.first().map_or(0, |&i| self.padded[i]));
        for (k, &index) in indices.iter().enumerate() {
            let column = self.padded[index];
            while own < self.blocks.len() && self.blocks[own].start <= column {
                own += 1;
            }
            let block = &self.blocks[own - 1];
            let start = block.offset + (column - block.start) * block.height;
            let values = &mut self.values[start..start + block.height];
            for (&row, value) in indices[k..].iter().zip(&matrix[k * n + k..(k + 1) * n]) {
                values[self.padded[row] - block.start] += value;
            }
        }
    }

    /// K = L J Lᵀ. On failure names the unknown whose pivot has the wrong sign; there is no factor then.
    pub fn factorize(&mut self) -> Result<(), Error> {
        self.factor.copy_from_slice(&self.values);
        for index in 0..self.blocks.len() {
            let Block { start, width, positive, height, offset, .. } = self.blocks[index];
            let (done, after) = self.factor.split_at_mut(offset + height * width);
            let panel = &mut done[offset..];
            if let Err(column) = dense::eliminate(panel, height, positive) {
                return Err(self.failed(start + column));
            }
            let below = height - width;
            if below == 0 || width == 0 {
                continue;
            }
            let rows = MatRef::from_column_major_slice(panel, height, width).subrows(width, below);
            let update = &mut self.update[..below * below];
            dense::update(MatMut::from_column_major_slice_mut(&mut *update, below, below), rows, positive);
            let shift = offset + height * width;
            for next in &self.blocks[index + 1..] {
                let first = next.start - (start + width);
                if first >= below {
                    break;
                }
                for column in 0..next.width {
                    let from =
                        &update[(first + column) * below..(first + column + 1) * below][first + column..];
                    let at = next.offset - shift + column * next.height + column;
                    after[at..at + from.len()].iter_mut().zip(from).for_each(|(sum, v)| *sum += v);
                }
            }
        }
        Ok(())
    }

    fn failed(&self, row: usize) -> Error {
        let index = self.padded.iter().position(|&at| at >= row).unwrap_or(0);
        let block = self.block_of(row);
        if row - block.start < block.positive {
            Error::NotPositiveDefinite { point: index }
        } else {
            Error::SingularRow { row: index }
        }
    }

    /// Replaces a right-hand side by the solution, with the factor of the last [`BlockBandMatrix::factorize`].
    pub fn solve(&self, x: &mut [f64]) {
        let last = self.blocks.last().map_or(0, |block| block.start + block.width);
        let mut y = vec![0.0; last];
        self.padded.iter().zip(x.iter()).for_each(|(&at, &value)| y[at] = value);
        for block in &self.blocks {
            for column in 0..block.width {
                let l = self.column(block, column);
                let (pivot, rest) = y[block.start + column..block.start + block.height].split_at_mut(1);
                pivot[0] /= l[0];
                rest.iter_mut().zip(&l[1..]).for_each(|(y, l)| *y -= l * pivot[0]);
            }
            y[block.start + block.positive..block.start + block.width].iter_mut().for_each(|y| *y = -*y);
        }
        for block in self.blocks.iter().rev() {
            for column in (0..block.width).rev() {
                let l = self.column(block, column);
                let (pivot, rest) = y[block.start + column..block.start + block.height].split_at_mut(1);
                let dot: f64 = rest.iter().zip(&l[1..]).map(|(y, l)| y * l).sum();
                pivot[0] = (pivot[0] - dot) / l[0];
            }
        }
        self.padded.iter().zip(x).for_each(|(&at, value)| *value = y[at]);
    }

    /// A column of the factor from its diagonal down.
    fn column(&self, block: &Block, column: usize) -> &[f64] {
        &self.factor[block.offset + column * block.height..block.offset + (column + 1) * block.height]
            [column..]
    }

    /// y = K x.
    pub fn multiply(&self, x: &[f64], y: &mut [f64]) {
        let last = self.blocks.last().map_or(0, |block| block.start + block.width);
        let (mut from, mut to) = (vec![0.0; last], vec![0.0; last]);
        self.padded.iter().zip(x).for_each(|(&at, &value)| from[at] = value);
        for block in &self.blocks {
            for column in 0..block.width {
                let at = block.offset + column * block.height;
                let values = &self.values[at..at + block.height];
                let (start, end) = (block.start + column, block.start + block.height);
                let mut dot = values[column] * from[start];
                for (row, value) in (start + 1..end).zip(&values[column + 1..]) {
                    to[row] += value * from[start];
                    dot += value * from[row];
                }
                to[start] += dot;
            }
        }
        self.padded.iter().zip(y).for_each(|(&at, value)| *value = to[at]);
    }

    /// Solves and corrects by residuals until they shrink no more, three times at most; gives the largest that is left, relative to
    /// the right-hand side's largest entry.
    pub fn solve_refined(&self, x: &mut [f64]) -> f64 {
        let right = x.to_vec();
        let scale = right.iter().fold(f64::MIN_POSITIVE, |most, v| most.max(v.abs()));
        self.solve(x);
        let mut residual = vec![0.0; right.len()];
        let mut before = f64::INFINITY;
        for _ in 0..4 {
            self.multiply(x, &mut residual);
            residual.iter_mut().zip(&right).for_each(|(r, b)| *r = b - *r);
            let size = residual.iter().fold(0.0, |most: f64, v| most.max(v.abs())) / scale;
            // written so that NaN ends it too
            if !(size > 1e-14 && size < 0.5 * before) {
                return size;
            }
            before = size;
            self.solve(&mut residual);
            x.iter_mut().zip(&residual).for_each(|(x, d)| *x += d);
        }
        before
    }
}

/// Adds RᵀR to the lower triangle of a square matrix by columns. R is given by rows, each of `width` numbers.
pub fn add_gram(rows: &[f64], width: usize, matrix: &mut [f64]) {
    let count = rows.len() / width.max(1);
    if count == 0 {
        return;
    }
    let r = MatRef::from_row_major_slice(rows, count, width);
    let target = MatMut::from_column_major_slice_mut(matrix, width, width);
    use BlockStructure::{Rectangular, TriangularLower};
    matmul(target, TriangularLower, Accum::Add, r.transpose(), Rectangular, r, Rectangular, 1.0, Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quasi-definite band, and the same as a full matrix.
    fn example(sizes: &[(usize, usize)], reach: usize) -> (BlockBandMatrix, Vec<Vec<f64>>) {
        let mut band = BlockBandMatrix::new(sizes, reach);
        let n = band.count();
        let mut full = vec![vec![0.0; n]; n];
        let mut set = |band: &mut BlockBandMatrix, i: usize, j: usize, value: f64| {
            band.add(i, j, value);
            full[i][j] += value;
            if i != j {
                full[j][i] += value;
            }
        };
        for (a, &(unknowns, rows)) in sizes.iter().enumerate() {
            for i in 0..unknowns + rows {
                let row = band.first(a) + i;
                for b in a.saturating_sub(reach)..=a {
                    let (others, other_rows) = sizes[b];
                    for j in 0..others + other_rows {
                        let column = band.first(b) + j;
                        let multipliers = i >= unknowns && j >= others;
                        if column < row && !multipliers {
                            // of full rank, as rows must be
                            let noise = (((row * row + 31 * column) as f64).sin() * 4e4).fract();
                            set(&mut band, row, column, noise);
                        }
                    }
                }
                set(&mut band, row, row, if i < unknowns { 40.0 } else { -1e-9 });
            }
        }
        (band, full)
    }

    #[test]
    fn solutions_satisfy_the_equations() {
        for (sizes, reach) in [
            (vec![(4, 0)], 0),
            (vec![(5, 0), (3, 1), (7, 2), (4, 2), (6, 1)], 1),
            (vec![(7, 2); 9], 2),
            (vec![(50, 0), (61, 6), (50, 6), (70, 6), (52, 6)], 2),
            (vec![(3, 0), (0, 0), (5, 2), (3, 0)], 3),
        ] {
            let (mut band, full) = example(&sizes, reach);
            band.factorize().unwrap();
            let right: Vec<f64> = (0..band.count()).map(|i| (i as f64).cos()).collect();
            assert_eq!(band.block_count(), sizes.len());
            let mut x = right.clone();
            let residual = band.solve_refined(&mut x);
            assert!(residual < 1e-12, "{residual:e}");
            for (row, right) in full.iter().zip(&right) {
                let left: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
                assert!((left - right).abs() < 1e-11, "{sizes:?}");
            }
        }
    }

    /// The factor of a matrix that has moved a little since: each correction brings the solution nearer to that of the matrix of now.
    #[test]
    fn corrections_make_up_for_a_factor_that_is_off() {
        let (mut band, mut full) = example(&[(7, 2); 9], 2);
        band.factorize().unwrap();
        for (i, row) in full.iter_mut().enumerate().filter(|(i, _)| i % 9 < 7) {
            band.add(i, i, 1e-3);
            row[i] += 1e-3;
        }
        let right: Vec<f64> = (0..band.count()).map(|i| (i as f64).cos()).collect();
        let mut x = right.clone();
        let residual = band.solve_refined(&mut x);
        assert!(residual < 1e-10, "{residual:e}");
        for (row, right) in full.iter().zip(&right) {
            let left: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
            assert!((left - right).abs() < 1e-10);
        }
    }

    #[test]
    fn what_is_not_positive_is_refused_by_name() {
        let mut band = BlockBandMatrix::new(&[(4, 0), (4, 1)], 1);
        for i in 0..8 {
            band.add(i, i, if i == 6 { -1.0 } else { 1.0 });
        }
        assert_eq!(band.factorize(), Err(Error::NotPositiveDefinite { point: 6 }));
        band.add(6, 6, 2.0);
        assert_eq!(band.factorize(), Err(Error::SingularRow { row: 8 }), "an empty row");
    }

    #[test]
    fn matrices_over_some_unknowns_are_added_entry_by_entry() {
        let sizes = [(4, 0), (5, 2), (4, 1)];
        let (mut one, mut other) = (BlockBandMatrix::new(&sizes, 2), BlockBandMatrix::new(&sizes, 2));
        let indices = [1, 2, 5, 7, 9, 12, 15];
        let rows: Vec<f64> = (0..3 * indices.len()).map(|k| (k as f64 * 1.7).sin()).collect();
        let mut matrix = vec![0.0; indices.len().pow(2)];
        add_gram(&rows, indices.len(), &mut matrix);
        one.add_matrix(&indices, &matrix);
        for (j, &column) in indices.iter().enumerate() {
            for (i, &row) in indices.iter().enumerate().skip(j) {
                let entry: f64 = rows.chunks(indices.len()).map(|r| r[i] * r[j]).sum();
                other.add(row, column, entry);
            }
        }
        assert!(one.values.iter().zip(&other.values).all(|(a, b)| (a - b).abs() < 1e-14));
    }
}
