//! A symmetric matrix of 3×3 blocks over a shared pattern.

mod band;
mod block_band;
mod pattern;

use std::sync::Arc;

use geometry::{Mat3, Vec3};
use rayon::prelude::*;

pub use band::BandMatrix;
pub use block_band::{BlockBandMatrix, add_gram};
pub use pattern::Pattern;

/// Rows that one task multiplies. Fixed, though no result depends on it: every row is summed by itself.
const ROWS_PER_TASK: usize = 256;

/// Symmetric block matrix over a shared pattern.
///
/// Stored are the blocks of the lower triangle (row ≥ column), in the order of the pattern's slots. Block (i, j) maps
/// a displacement of point j to a force on point i; block (j, i) is its transpose.
#[derive(Clone, Debug)]
pub struct Matrix {
    pattern: Arc<Pattern>,
    values: Vec<Mat3>,
}

impl Matrix {
    /// The zero matrix.
    pub fn new(pattern: Arc<Pattern>) -> Self {
        let values = vec![Mat3::ZERO; pattern.block_count()];
        Self { pattern, values }
    }

    /// The pattern it is made over.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// The lower blocks, one per slot.
    pub fn values(&self) -> &[Mat3] {
        &self.values
    }

    /// The lower blocks, one per slot. Diagonal blocks are taken to be symmetric.
    pub fn values_mut(&mut self) -> &mut [Mat3] {
        &mut self.values
    }

    /// Makes every block zero.
    pub fn set_zero(&mut self) {
        self.values.fill(Mat3::ZERO);
    }

    /// Adds `block` as block (i, j), transposed if it belongs to the upper triangle. Give each pair of points once,
    /// not once per order. False if the pattern has no such block.
    pub fn add(&mut self, i: u32, j: u32, block: Mat3) -> bool {
        let Some(slot) = self.pattern.slot(i, j) else { return false };
        self.values[slot] += if i >= j { block } else { block.transpose() };
        true
    }

    /// Block (i, i); zero for a point that does not exist.
    pub fn diagonal(&self, i: usize) -> Mat3 {
        if i < self.pattern.count() { self.values[self.pattern.diagonal_slot(i)] } else { Mat3::ZERO }
    }

    /// y = A x. Both have one entry per point. Every y is summed in the order of its row, so the bits do not depend
    /// on the number of threads.
    ///
    /// # Panics
    /// If a length differs from the pattern's count.
    pub fn multiply(&self, x: &[Vec3], y: &mut [Vec3]) {
        assert_eq!(x.len(), self.pattern.count(), "one entry per point");
        assert_eq!(y.len(), self.pattern.count(), "one entry per point");
        y.par_chunks_mut(ROWS_PER_TASK).enumerate().for_each(|(chunk, y)| {
            for (k, y) in y.iter_mut().enumerate() {
                *y = self.row_times(chunk * ROWS_PER_TASK + k, x);
            }
        });
    }

    /// Row i of A x.
    pub fn row_times(&self, i: usize, x: &[Vec3]) -> Vec3 {
        let mut sum = Vec3::ZERO;
        for neighbour in self.pattern.row(i) {
            let block = &self.values[neighbour.slot as usize];
            let x = x[neighbour.point as usize];
            if neighbour.point as usize <= i {
                sum += *block * x;
            } else {
                // transpose times x: each component is a column's product with x
                sum += Vec3::new(block.x_axis.dot(x), block.y_axis.dot(x), block.z_axis.dot(x));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiply_reads_the_upper_triangle_transposed() {
        let pattern = Arc::new(Pattern::from_stencils(2, [[0u32, 1].as_slice()]));
        let mut matrix = Matrix::new(pattern);
        let block = Mat3::from_cols_array(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        assert!(matrix.add(1, 0, block));
        assert!(!matrix.add(2, 0, block));
        let (a, b) = (Vec3::new(1.0, -1.0, 0.5), Vec3::new(2.0, 0.0, 3.0));
        let mut y = [Vec3::ZERO; 2];
        matrix.multiply(&[a, b], &mut y);
        assert_eq!(y[1], block * a);
        assert_eq!(y[0], block.transpose() * b);
        // given as the upper block it lands transposed
        let mut other = Matrix::new(matrix.pattern().clone());
        assert!(other.add(0, 1, block.transpose()));
        assert_eq!(matrix.values(), other.values());
    }

    #[test]
    fn points_that_do_not_exist_have_no_diagonal() {
        let mut matrix = Matrix::new(Arc::new(Pattern::from_stencils(2, [[0u32, 1].as_slice()])));
        assert!(matrix.add(1, 1, Mat3::IDENTITY));
        assert_eq!(
            [0, 1, 2, 3].map(|i| matrix.diagonal(i)),
            [Mat3::ZERO, Mat3::IDENTITY, Mat3::ZERO, Mat3::ZERO]
        );
    }
}
