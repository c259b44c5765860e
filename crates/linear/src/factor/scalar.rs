//! The numbers a factor is made of, and what is done with a vector of them.
//!
//! Single precision halves a factor's memory and nearly its time; what it lacks in digits, corrections by residuals in
//! double precision make up for.

use std::ops::Neg;

use faer::traits::RealField;
use pulp::Simd;

/// A floating-point number of a factor.
pub(crate) trait Scalar: RealField + Copy + Neg<Output = Self> {
    const ZERO: Self;
    const ONE: Self;
    /// A point's pivot below this share of its diagonal is zero up to round-off.
    const SMALLEST_PIVOT: f64;
    /// The same for a row's, against a lower bound of what it would be alone.
    const SMALLEST_ROW_PIVOT: f64;

    /// The nearest number of this precision.
    fn of(value: f64) -> Self;

    fn to_double(self) -> f64;

    /// target −= Σ column · factor for each of the targets, all of one length, over columns at least as long.
    fn subtract<S: Simd, const M: usize, const N: usize>(
        simd: S,
        targets: [&mut [Self]; M],
        columns: [&[Self]; N],
        factors: [[Self; N]; M],
    );

    /// vector · column for each of the columns, at least as long.
    fn products<S: Simd, const N: usize>(simd: S, vector: &[Self], columns: [&[Self]; N]) -> [Self; N];
}

/// One precision: its name, two thresholds, and the names of pulp's operations on vectors of it.
macro_rules! scalar {
    ($type:ident, $pivot:literal, $row_pivot:literal, $as_simd:ident, $as_mut_simd:ident, $splat:ident, $multiply_add:ident,
     $partial_load:ident, $partial_store:ident, $reduce_sum:ident) => {
        impl Scalar for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const SMALLEST_PIVOT: f64 = $pivot;
            const SMALLEST_ROW_PIVOT: f64 = $row_pivot;

            fn of(value: f64) -> Self {
                value as Self
            }

            fn to_double(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn subtract<S: Simd, const M: usize, const N: usize>(
                simd: S,
                targets: [&mut [Self]; M],
                columns: [&[Self]; N],
                factors: [[Self; N]; M],
            ) {
                // loops, not closures: those would not be compiled for the vector unit
                let length = targets[0].len();
                let whole = targets.map(|target| S::$as_mut_simd(target));
                let mut wide = [(&[][..], &[][..]); N];
                let mut negative = [[simd.$splat(0.0); N]; M];
                let count = whole[0].0.len();
                for c in 0..N {
                    wide[c] = S::$as_simd(&columns[c][..length]);
                    wide[c].0 = &wide[c].0[..count];
                    for t in 0..M {
                        negative[t][c] = simd.$splat(-factors[t][c]);
                    }
                }
                for i in 0..count {
                    // all is read before anything is written, which might be the same for all that the compiler knows
                    let mut sums = [simd.$splat(0.0); M];
                    for t in 0..M {
                        sums[t] = whole[t].0[i];
                    }
                    for c in 0..N {
                        let v = wide[c].0[i];
                        for t in 0..M {
                            sums[t] = simd.$multiply_add(v, negative[t][c], sums[t]);
                        }
                    }
                    for t in 0..M {
                        whole[t].0[i] = sums[t];
                    }
                }
                for t in 0..M {
                    let rest = &mut *whole[t].1;
                    if !rest.is_empty() {
                        let mut v = simd.$partial_load(rest);
                        for c in 0..N {
                            v = simd.$multiply_add(simd.$partial_load(wide[c].1), negative[t][c], v);
                        }
                        simd.$partial_store(rest, v);
                    }
                }
            }

            #[inline(always)]
            fn products<S: Simd, const N: usize>(
                simd: S,
                vector: &[Self],
                columns: [&[Self]; N],
            ) -> [Self; N] {
                let (whole, rest) = S::$as_simd(vector);
                let count = whole.len();
                let mut wide = [(&[][..], &[][..]); N];
                let mut sums = [simd.$splat(0.0); N];
                for c in 0..N {
                    wide[c] = S::$as_simd(&columns[c][..vector.len()]);
                    wide[c].0 = &wide[c].0[..count];
                }
                for i in 0..count {
                    for c in 0..N {
                        sums[c] = simd.$multiply_add(wide[c].0[i], whole[i], sums[c]);
                    }
                }
                if !rest.is_empty() {
                    let v = simd.$partial_load(rest);
                    for c in 0..N {
                        sums[c] = simd.$multiply_add(simd.$partial_load(wide[c].1), v, sums[c]);
                    }
                }
                let mut results = [0.0; N];
                for c in 0..N {
                    results[c] = simd.$reduce_sum(sums[c]);
                }
                results
            }
        }
    };
}

scalar!(
    f64,
    1e-14,
    1e-12,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    mul_add_e_f64s,
    partial_load_f64s,
    partial_store_f64s,
    reduce_sum_f64s
);
scalar!(
    f32,
    1e-6,
    1e-5,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    mul_add_e_f32s,
    partial_load_f32s,
    partial_store_f32s,
    reduce_sum_f32s
);
