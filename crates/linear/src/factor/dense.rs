//! Dense kernels of a front: elimination of its columns, and the update that it leaves to its parent.
//!
//! Each kernel halves its largest dimension until a tile fits, and runs independent halves by fork and join. Where it
//! halves depends on sizes alone, so the same products are summed in the same order on any number of threads. Products
//! of tiles are faer's, each on one thread; a few columns are eliminated by vector operations of our own, as most fronts
//! are too narrow for anything else to pay.
//!
//! Signs J are 1 in the first `positive` columns of a front and −1 in the others.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::reborrow::*;
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
use pulp::{Arch, Simd, WithSimd};

use super::scalar::Scalar;
use super::symbolic::NODE;

/// Columns that are eliminated one node after the other; a multiple of [`NODE`].
const NARROW: usize = 18;
/// Columns from which on the rows below the triangle wait until that is done.
const WIDE: usize = 128;
/// Columns of a strip of a triangle.
const TILE: usize = 32;
/// Multiply-adds below which a product is not divided: about a tenth of a millisecond of work.
const GRAIN: usize = 1 << 21;

/// Replaces a front's columns, of so many rows, by those of L with F = L J Lᵀ. On failure gives the column whose pivot
/// has the wrong sign.
pub(crate) fn eliminate<T: Scalar>(panel: &mut [T], height: usize, positive: usize) -> Result<(), usize> {
    eliminate_from(0, panel, height, height, positive)
}

/// Eliminates the front's columns from the `first` on, to which all before have been applied, in the rows before `end`.
fn eliminate_from<T: Scalar>(
    first: usize,
    columns: &mut [T],
    height: usize,
    end: usize,
    positive: usize,
) -> Result<(), usize> {
    let width = columns.len() / height;
    if width <= NARROW {
        return Arch::new().dispatch(Narrow { first, columns, height, end, positive });
    }
    let half = (width / 2).next_multiple_of(NODE);
    let middle = first + half;
    let (left, right) = columns.split_at_mut(half * height);
    let positive_left = positive.saturating_sub(first).min(half);
    if width <= WIDE {
        eliminate_from(first, left, height, end, positive)?;
    } else {
        // the rows below by themselves, as many at a time as stay near, and side by side
        eliminate_from(first, left, height, middle, positive)?;
        let (above, below) =
            MatMut::from_column_major_slice_mut(&mut *left, height, half).split_at_row_mut(middle);
        let mut below = below.subrows_mut(0, end - middle);
        solve_right(above.rb().subrows(first, half), below.rb_mut());
        let negative = below.split_at_col_mut(positive_left).1;
        negative.col_iter_mut().for_each(|column| column.iter_mut().for_each(|v| *v = -*v));
    }
    let left = MatRef::from_column_major_slice(left, height, half).subrows(middle, end - middle);
    let rest = MatMut::from_column_major_slice_mut(&mut *right, height, width - half);
    let rest = rest.subrows_mut(middle, end - middle);
    subtract(rest, left, left.subrows(0, width - half), Accum::Add, positive_left);
    eliminate_from(middle, right, height, end, positive)
}

/// B ← B L⁻ᵀ, with L lower triangular.
fn solve_right<T: Scalar>(l: MatRef<'_, T>, b: MatMut<'_, T>) {
    let (m, n) = (b.nrows(), l.nrows());
    if m > WIDE && m * n * n / 2 > GRAIN {
        let (upper, lower) = b.split_at_row_mut(split(m));
        rayon::join(|| solve_right(l, upper), || solve_right(l, lower));
    } else {
        solve_lower_triangular_in_place(l, b.transpose_mut(), Par::Seq);
    }
}

/// C ← −A J Aᵀ in the lower triangle; what is above it becomes anything.
pub(crate) fn update<T: Scalar>(mut c: MatMut<'_, T>, a: MatRef<'_, T>, positive: usize) {
    let n = c.nrows();
    if n > 2 * TILE && n * n * a.ncols() / 2 > GRAIN {
        let half = split(n);
        let (c11, _, c21, c22) = c.split_at_mut(half, half);
        let (a1, a2) = a.split_at_row(half);
        rayon::join(
            || subtract(c21, a2, a1, Accum::Replace, positive),
            || rayon::join(|| update(c11, a1, positive), || update(c22, a2, positive)),
        );
        return;
    }
    for start in (0..n).step_by(TILE) {
        let width = TILE.min(n - start);
        let tile = c.rb_mut().submatrix_mut(start, start, n - start, width);
        let below = a.subrows(start, n - start);
        subtract(tile, below, below.subrows(0, width), Accum::Replace, positive);
    }
}

/// C ← C − A J Bᵀ, or without the first C if `accumulate` says replace.
fn subtract<T: Scalar>(
    mut c: MatMut<'_, T>,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    accumulate: Accum,
    positive: usize,
) {
    let (m, n) = (c.nrows(), c.ncols());
    if m.max(n) > 2 * TILE && m * n * a.ncols() > 2 * GRAIN {
        if m >= n {
            let (upper, lower) = c.split_at_row_mut(split(m));
            let (a1, a2) = a.split_at_row(split(m));
            rayon::join(
                || subtract(upper, a1, b, accumulate, positive),
                || subtract(lower, a2, b, accumulate, positive),
            );
        } else {
            let (left, right) = c.split_at_col_mut(split(n));
            let (b1, b2) = b.split_at_row(split(n));
            rayon::join(
                || subtract(left, a, b1, accumulate, positive),
                || subtract(right, a, b2, accumulate, positive),
            );
        }
        return;
    }
    let (a_plus, a_minus) = a.split_at_col(positive);
    let (b_plus, b_minus) = b.split_at_col(positive);
    let mut accumulate = accumulate;
    for (a, b, sign) in [(a_plus, b_plus, -T::ONE), (a_minus, b_minus, T::ONE)] {
        if a.ncols() > 0 {
            matmul(c.rb_mut(), accumulate, a, b.transpose(), sign, Par::Seq);
            accumulate = Accum::Add;
        }
    }
}

/// Where to halve n: a multiple of 16 where n is large, so that tiles begin on whole vectors.
fn split(n: usize) -> usize {
    if n >= 64 { (n / 2).next_multiple_of(16) } else { n / 2 }
}

/// Elimination of a few columns, compiled for every kind of processor.
struct Narrow<'a, T> {
    first: usize,
    columns: &'a mut [T],
    height: usize,
    end: usize,
    positive: usize,
}

impl<T: Scalar> WithSimd for Narrow<'_, T> {
    type Output = Result<(), usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self { first, columns, height, end, positive } = self;
        for start in (0..columns.len() / height).step_by(NODE) {
            let row = first + start;
            let (done, rest) = columns.split_at_mut(start * height);
            let (x, rest) = rest.split_at_mut(height);
            let (y, rest) = rest.split_at_mut(height);
            let (x, y, z) = (&mut x[row..end], &mut y[row..end], &mut rest[row..end]);
            let sign = |column: usize| if first + column < positive { T::ONE } else { -T::ONE };
            let mut left = 0;
            while left + 2 * NODE <= start {
                apply::<_, _, 6>(simd, done, height, left, row, sign, [x, y, z]);
                left += 2 * NODE;
            }
            if left < start {
                apply::<_, _, 3>(simd, done, height, left, row, sign, [x, y, z]);
            }
            let sign = sign(start);
            finish(x, sign).map_err(|()| row)?;
            T::subtract(simd, [&mut y[1..], &mut z[1..]], [&x[1..]], [[sign * x[1]], [sign * x[2]]]);
            finish(&mut y[1..], sign).map_err(|()| row + 1)?;
            T::subtract(simd, [&mut z[2..]], [&y[2..]], [[sign * y[2]]]);
            finish(&mut z[2..], sign).map_err(|()| row + 2)?;
        }
        Ok(())
    }
}

/// Subtracts what N finished columns, from `left` on, have to do with a node's three.
#[inline(always)]
fn apply<T: Scalar, S: Simd, const N: usize>(
    simd: S,
    done: &[T],
    height: usize,
    left: usize,
    row: usize,
    sign: impl Fn(usize) -> T,
    node: [&mut [T]; NODE],
) {
    let mut columns = [&[][..]; N];
    let mut factors = [[T::ZERO; N]; NODE];
    for k in 0..N {
        columns[k] = &done[(left + k) * height + row..(left + k + 1) * height];
        for c in 0..NODE {
            factors[c][k] = sign(left + k) * columns[k][c];
        }
    }
    T::subtract(simd, node, columns, factors);
}

/// Divides a column by the root of its pivot, the first entry.
#[inline(always)]
fn finish<T: Scalar>(column: &mut [T], sign: T) -> Result<(), ()> {
    let root = (sign * column[0]).to_double().sqrt();
    if root.is_nan() || root <= 0.0 {
        return Err(());
    }
    let root = T::of(root);
    let scale = sign / root;
    for v in column.iter_mut() {
        *v *= scale;
    }
    column[0] = root;
    Ok(())
}
