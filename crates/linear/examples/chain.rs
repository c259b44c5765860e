//! A chain of springs under its own weight, solved and measured: `cargo run --release -p followthrough-linear --example chain`.
#![allow(clippy::print_stdout)]

use std::sync::Arc;

use geometry::{Mat3, Vec3};
use linear::{ConstraintRows, Error, Matrix, Pattern, Settings, Solver};

fn main() -> Result<(), Error> {
    for count in [10, 100, 1000, 10_000] {
        let stencils: Vec<[u32; 2]> = (1..count).map(|i| [i - 1, i]).collect();
        let n = count as usize;
        let pattern = Arc::new(Pattern::from_stencils(n, stencils.iter().map(|s| s.as_slice())));
        let mut matrix = Matrix::new(pattern.clone());
        for [i, j] in stencils {
            matrix.add(i, i, Mat3::IDENTITY);
            matrix.add(j, j, Mat3::IDENTITY);
            matrix.add(i, j, -Mat3::IDENTITY);
        }
        // the first point is held
        let known: Vec<bool> = (0..n).map(|i| i == 0).collect();
        let rows = ConstraintRows::none(n);
        let mut solver = Solver::new(&pattern, &known, &rows, Settings::default())?;
        let mut x = vec![Vec3::ZERO; n];
        solver.solve(&matrix, &vec![-Vec3::Y; n], &rows, &[], &mut x, &mut [], 1e-10)?;
        // spring i carries the n − 1 − i points below it: the end hangs n(n − 1)/2 deep
        let exact = 0.5 * f64::from(count) * f64::from(count - 1);
        println!("{count:>6} points: the end hangs {:.6e} deep, exactly {exact:.6e}", -x[n - 1].y);
    }
    Ok(())
}
