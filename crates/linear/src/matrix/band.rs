//! Narrow symmetric matrices of scalars: chains, ropes, ribbons, where the machinery of fronts would cost more than the work.

/// A symmetric positive definite matrix whose entries lie near the diagonal, and its Cholesky factor.
///
/// ```
/// use linear::BandMatrix;
///
/// // three springs in a row, held at both ends
/// let mut band = BandMatrix::new(3, 1);
/// for i in 0..3 {
///     band.add(i, i, 2.0);
/// }
/// band.add(1, 0, -1.0);
/// band.add(2, 1, -1.0);
/// assert!(band.factorize());
/// let mut x = [1.0, 0.0, 1.0];
/// band.solve(&mut x);
/// assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-15));
/// ```
#[derive(Clone, Debug)]
pub struct BandMatrix {
    width: usize,
    /// Row i from column i − width to i; what lies before the first column is zero.
    values: Vec<f64>,
    factor: Vec<f64>,
}

impl BandMatrix {
    /// Zero, with room for entries of which row and column differ by `width` at most.
    pub fn new(count: usize, width: usize) -> Self {
        let values = vec![0.0; count * (width + 1)];
        Self { width, factor: values.clone(), values }
    }

    /// Rows.
    pub fn count(&self) -> usize {
        self.values.len() / (self.width + 1)
    }

    /// How far entries may be from the diagonal.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Forgets the entries, not the factor.
    pub fn set_zero(&mut self) {
        self.values.fill(0.0);
    }

    /// Adds to an entry of the lower triangle. `row` − `column` is between 0 and the width.
    pub fn add(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * (self.width + 1) + self.width + column - row] += value;
    }

    /// A = LLᵀ. False when A is not positive definite; there is no factor then.
    pub fn factorize(&mut self) -> bool {
        let (width, stride) = (self.width, self.width + 1);
        for i in 0..self.count() {
            let (above, row) = self.factor.split_at_mut(i * stride);
            let (row, values) = (&mut row[..stride], &self.values[i * stride..][..stride]);
            // column j stands at j + width − i in this row and at width in its own
            for k in width.saturating_sub(i)..width {
                let j = i + k - width;
                let pivot = &above[j * stride..][..stride];
                let dot: f64 = row[..k].iter().zip(&pivot[width - k..width]).map(|(a, b)| a * b).sum();
                row[k] = (values[k] - dot) / pivot[width];
            }
            let square = values[width] - row[..width].iter().map(|l| l * l).sum::<f64>();
            if square.is_nan() || square <= 0.0 {
                return false;
            }
            row[width] = square.sqrt();
        }
        true
    }

    /// Replaces a right-hand side by the solution, with the factor of the last [`BandMatrix::factorize`].
    pub fn solve(&self, x: &mut [f64]) {
        let (width, stride) = (self.width, self.width + 1);
        for i in 0..self.count() {
            let row = &self.factor[i * stride..][..stride];
            let reach = width.min(i);
            let dot: f64 = row[width - reach..width].iter().zip(&x[i - reach..i]).map(|(l, x)| l * x).sum();
            x[i] = (x[i] - dot) / row[width];
        }
        for i in (0..self.count()).rev() {
            let row = &self.factor[i * stride..][..stride];
            x[i] /= row[width];
            let (reach, value) = (width.min(i), x[i]);
            for (x, l) in x[i - reach..i].iter_mut().zip(&row[width - reach..width]) {
                *x -= l * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A positive definite band, and the same as rows.
    fn example(count: usize, width: usize) -> (BandMatrix, Vec<Vec<f64>>) {
        let mut band = BandMatrix::new(count, width);
        let mut dense = vec![vec![0.0; count]; count];
        for i in 0..count {
            for j in i.saturating_sub(width)..=i {
                let value = if i == j { 3.0 * (width + 1) as f64 } else { ((7 * i + 3 * j) as f64).sin() };
                band.add(i, j, value);
                (dense[i][j], dense[j][i]) = (value, value);
            }
        }
        (band, dense)
    }

    #[test]
    fn solutions_satisfy_the_equations() {
        for (count, width) in [(1, 0), (5, 0), (9, 1), (12, 4), (6, 5)] {
            let (mut band, dense) = example(count, width);
            assert!(band.factorize());
            let right: Vec<f64> = (0..count).map(|i| (i as f64).cos()).collect();
            let mut x = right.clone();
            band.solve(&mut x);
            for (row, right) in dense.iter().zip(&right) {
                let left: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
                assert!((left - right).abs() < 1e-13, "{count} rows of width {width}");
            }
        }
    }

    #[test]
    fn what_is_not_positive_is_refused() {
        let mut band = BandMatrix::new(2, 1);
        band.add(0, 0, 1.0);
        band.add(1, 1, 1.0);
        band.add(1, 0, 1.0);
        assert!(!band.factorize());
        band.add(1, 1, f64::NAN);
        assert!(!band.factorize());
    }
}
