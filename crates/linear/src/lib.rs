//! Sparse linear algebra over bodies of points: matrices of 3×3 blocks, constraint rows, and one solver that
//! chooses how.
//!
//! ```
//! use std::sync::Arc;
//! use geometry::{Mat3, Vec3};
//! use linear::{Matrix, Pattern, ConstraintRows, Settings, Solver};
//!
//! // three points in a chain of springs, the first one held; gravity pulls
//! let stencils = [[0u32, 1], [1, 2]];
//! let pattern = Arc::new(Pattern::from_stencils(3, stencils.iter().map(|s| s.as_slice())));
//! let mut matrix = Matrix::new(pattern.clone());
//! for [i, j] in stencils {
//!     matrix.add(i, i, Mat3::IDENTITY);
//!     matrix.add(j, j, Mat3::IDENTITY);
//!     matrix.add(i, j, -Mat3::IDENTITY);
//! }
//! let rows = ConstraintRows::none(3);
//! let mut solver = Solver::new(&pattern, &[true, false, false], &rows, Settings::default())?;
//! let mut x = [Vec3::ZERO; 3];
//! solver.solve(&matrix, &[-Vec3::Y; 3], &rows, &[], &mut x, &mut [], 1e-10)?;
//! assert!((x[2] - Vec3::new(0.0, -3.0, 0.0)).length() < 1e-9);
//! # Ok::<(), linear::Error>(())
//! ```

mod constraints;
mod eigen;
mod error;
mod factor;
mod iterative;
mod matrix;
mod ordering;
mod product;
mod solver;

pub use constraints::ConstraintRows;
pub use eigen::{Eigenpairs, lowest_eigenpairs, symmetric_eigen};
pub use error::Error;
pub use matrix::{BandMatrix, BlockBandMatrix, Matrix, Pattern, add_gram};
pub use product::{product, transposed_product};
pub use solver::{Info, Method, Settings, Solution, Solver};
