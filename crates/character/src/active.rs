//! Solving for the active functions: conjugate gradients over those that are switched on, without a new factor when they change.
//!
//! The preconditioner is the hierarchy's own: a factor of level 0, which is always whole, and the diagonal blocks of the others. All
//! memory is made in advance; the number of iterations is bounded.

use geometry::{Mat3, Vec3};
use linear::{ConstraintRows, Matrix, Solver};

use crate::Error;

/// Iterations at most, and the residual at which fewer are enough.
const MOST: usize = 60;
const TOLERANCE: f64 = 1e-9;

pub(crate) struct ActiveSolver {
    matrix: Matrix,
    /// Of level 0.
    coarse: Solver,
    rows: ConstraintRows,
    /// Inverse diagonal blocks; zero for level 0.
    fine: Vec<Mat3>,
    residual: Vec<Vec3>,
    scaled: Vec<Vec3>,
    direction: Vec<Vec3>,
    product: Vec<Vec3>,
}

impl ActiveSolver {
    /// `known` coefficients are held by bones; the first `level_zero` are those of level 0.
    pub(crate) fn new(matrix: Matrix, known: &[bool], level_zero: usize) -> Result<Self, Error> {
        let count = known.len();
        let rows = ConstraintRows::none(count);
        let left_out: Vec<bool> =
            known.iter().enumerate().map(|(k, known)| *known || k >= level_zero).collect();
        let mut coarse = Solver::new(matrix.pattern(), &left_out, &rows, linear::Settings::default())?;
        if left_out.contains(&false) {
            coarse.factorize(&matrix, &rows)?;
        }
        let inverse = |k: usize| match matrix.diagonal(k) {
            block if k >= level_zero && block.determinant() > 0.0 => block.inverse(),
            _ => Mat3::ZERO,
        };
        let zeros = vec![Vec3::ZERO; count];
        Ok(Self {
            fine: (0..count).map(inverse).collect(),
            coarse,
            rows,
            residual: zeros.clone(),
            scaled: zeros.clone(),
            direction: zeros.clone(),
            product: zeros,
            matrix,
        })
    }

    /// Solves A u = b for the free coefficients; the others keep their values in `u`, which has a guess for the free ones.
    pub(crate) fn solve(&mut self, b: &[Vec3], free: &[bool], u: &mut [Vec3]) -> Result<(), Error> {
        let count = free.len();
        for k in 0..count {
            let row = |k: usize| b[k] - self.matrix.row_times(k, u);
            self.residual[k] = if free[k] { row(k) } else { Vec3::ZERO };
        }
        let asked: f64 = (0..count).filter(|&k| free[k]).map(|k| b[k].length_squared()).sum();
        let goal = TOLERANCE * TOLERANCE * asked;
        self.precondition(free)?;
        self.direction.copy_from_slice(&self.scaled);
        let mut size = dot(&self.residual, &self.scaled);
        for _ in 0..MOST {
            if dot(&self.residual, &self.residual) <= goal || size <= 0.0 {
                break;
            }
            for k in 0..count {
                self.product[k] =
                    if free[k] { self.matrix.row_times(k, &self.direction) } else { Vec3::ZERO };
            }
            let curvature = dot(&self.direction, &self.product);
            if curvature <= 0.0 {
                break;
            }
            let length = size / curvature;
            for k in 0..count {
                u[k] += length * self.direction[k];
                self.residual[k] -= length * self.product[k];
            }
            self.precondition(free)?;
            let next = dot(&self.residual, &self.scaled);
            let keep = next / size;
            for (d, z) in self.direction.iter_mut().zip(&self.scaled) {
                *d = *z + keep * *d;
            }
            size = next;
        }
        Ok(())
    }

    fn precondition(&mut self, free: &[bool]) -> Result<(), Error> {
        self.scaled.copy_from_slice(&self.residual);
        self.coarse.correct(&self.rows, &mut self.scaled, &mut [])?;
        for (k, z) in self.scaled.iter_mut().enumerate() {
            *z = if free[k] { *z + self.fine[k] * self.residual[k] } else { Vec3::ZERO };
        }
        Ok(())
    }
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}
