//! The cheapest preconditioner: every point by itself.

use geometry::{Mat3, Vec3};

use crate::factor::{Direct, Precision};
use crate::solver::System;
use crate::{Error, Pattern};

/// The 3×3 diagonal blocks as a preconditioner; with rows, the rows beside them, factorised.
#[derive(Default)]
pub(crate) struct Jacobi {
    inverses: Vec<Mat3>,
    with_rows: Option<Direct>,
}

impl Jacobi {
    /// The plan for the diagonal blocks with the rows.
    pub(crate) fn with_rows(&mut self, pattern: &Pattern, system: System<'_>) -> &mut Direct {
        self.with_rows.get_or_insert_with(|| Direct::new(pattern, system.known, system.rows, false))
    }

    /// Makes it ready for a system, or says which point or row has no inverse.
    pub(crate) fn prepare(&mut self, pattern: &Pattern, system: System<'_>) -> Result<(), Error> {
        let System { matrix, rows, known } = system;
        if !rows.is_empty() {
            return self.with_rows(pattern, system).factorize(matrix, rows, Precision::Double);
        }
        self.inverses.resize(pattern.count(), Mat3::ZERO);
        for (point, inverse) in self.inverses.iter_mut().enumerate() {
            *inverse = Mat3::ZERO;
            if !known[point] {
                let block = matrix.diagonal(point);
                *inverse = block.inverse();
                let positive = block.x_axis.x > 0.0 && inverse.x_axis.x > 0.0 && block.determinant() > 0.0;
                if !positive || !inverse.is_finite() {
                    return Err(Error::NotPositiveDefinite { point });
                }
            }
        }
        Ok(())
    }

    /// Replaces a residual by what the blocks make of it.
    pub(crate) fn apply(&mut self, v: &mut [Vec3]) {
        match &mut self.with_rows {
            Some(direct) => direct.solve(v),
            None => v.iter_mut().zip(&self.inverses).for_each(|(v, inverse)| *v = *inverse * *v),
        }
    }
}
