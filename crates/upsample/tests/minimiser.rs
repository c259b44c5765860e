//! What is learnt is the minimiser that the equations name.

use faer::Mat;
use faer::prelude::*;
use geometry::{Scheme, Vec3, subdivide_times};
use upsample::{
    Base, Harmonics, Moments, Pairs, Penalty, Regression, compress, one_norm, smooth_subdivision,
};

struct Case {
    fine: Vec<Vec3>,
    subdivision: geometry::Prolongation,
    harmonics: Harmonics,
    pairs: Pairs,
}

fn random(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Five coarse points, 41 fine ones, all their harmonics, twelve frames without any sense.
fn case() -> Case {
    let coarse: Vec<Vec3> = [[0.0, 0.0], [1.3, 0.0], [1.2, 0.9], [0.0, 1.0], [0.6, 0.4]]
        .iter()
        .map(|[x, y]| Vec3::new(*x, *y, 0.0))
        .collect();
    let triangles = [[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]];
    let cut = subdivide_times(5, &triangles, Scheme::Linear, 2);
    let fine = cut.prolongation.vectors(&coarse);
    let subdivision = smooth_subdivision(&coarse, &triangles, &fine).unwrap();
    let harmonics = Harmonics::new(&fine, &cut.triangles, fine.len()).unwrap();
    let mut pairs = Pairs::default();
    let mut state = 88;
    for _ in 0..12 {
        let mut noise = |p: &Vec3| *p + Vec3::from_fn(|_| 0.3 * random(&mut state));
        let bent: Vec<Vec3> = coarse.iter().map(&mut noise).collect();
        pairs.push(&bent, fine.iter().map(&mut noise).collect());
    }
    Case { fine, subdivision, harmonics, pairs }
}

trait FromFn {
    fn from_fn(f: impl FnMut(usize) -> f64) -> Self;
}

impl FromFn for Vec3 {
    fn from_fn(mut f: impl FnMut(usize) -> f64) -> Self {
        Self::new(f(0), f(1), f(2))
    }
}

/// The minimiser of ‖W^½(X P − T)‖² + ‖ΓΦᵀW (X − X₀)‖² over all N M entries of X, each row summing to one, from its normal
/// equations with multipliers: no harmonics used to separate anything.
fn dense_minimiser(case: &Case, harmonics: &Harmonics, gammas: &[f64], start: &Mat<f64>) -> Mat<f64> {
    let (n, m) = (start.nrows(), start.ncols());
    let frames = case.pairs.len();
    let p = Mat::from_fn(m, 3 * frames, |j, c| f64::from(case.pairs.coarse[c / 3][j][c % 3]));
    let t = Mat::from_fn(n, 3 * frames, |i, c| f64::from(case.pairs.fine[c / 3][i][c % 3]));
    let w = &harmonics.weights;
    let phi = &harmonics.functions;
    // R = WΦ Γ² ΦᵀW, the penalty's matrix over points
    let scaled = Mat::from_fn(n, gammas.len(), |i, k| w[i] * phi[(i, k)] * gammas[k]);
    let penalty = &scaled * scaled.transpose();
    let pp = &p * p.transpose();
    let tp = &t * p.transpose();
    let size = n * m + n;
    let mut a = Mat::<f64>::zeros(size, size);
    let mut b = Mat::<f64>::zeros(size, 1);
    let at = |i: usize, j: usize| i * m + j;
    for i in 0..n {
        for j in 0..m {
            for l in 0..m {
                a[(at(i, j), at(i, l))] += w[i] * pp[(l, j)];
            }
            b[(at(i, j), 0)] += w[i] * tp[(i, j)];
            for k in 0..n {
                a[(at(i, j), at(k, j))] += penalty[(i, k)];
                b[(at(i, j), 0)] += penalty[(i, k)] * start[(k, j)];
            }
            a[(at(i, j), n * m + i)] = 1.0;
            a[(n * m + i, at(i, j))] = 1.0;
        }
        b[(n * m + i, 0)] = 1.0;
    }
    let factor = a.partial_piv_lu();
    let mut x = factor.solve(&b);
    // penalties of 1e10 beside ones of 1: the judge must not round more than it judges
    for _ in 0..3 {
        x += factor.solve(&b - &a * &x);
    }
    Mat::from_fn(n, m, |i, j| x[(at(i, j), 0)])
}

fn dense_base(case: &Case, base: Base<'_>) -> Mat<f64> {
    let (n, m) = (case.fine.len(), 5);
    match base {
        Base::Mean => Mat::from_fn(n, m, |_, _| 1.0 / m as f64),
        Base::Subdivision(s) => {
            let mut dense = Mat::<f64>::zeros(n, m);
            (0..n).for_each(|i| s.row(i).for_each(|(j, weight)| dense[(i, j as usize)] += weight));
            dense
        }
    }
}

fn check(case: &Case, harmonics: &Harmonics, base: Base<'_>, penalty: Penalty, penalised_from: &Mat<f64>) {
    let gammas = penalty.gammas(harmonics);
    let moments = Moments::gather(&case.pairs, base, harmonics, 0..case.pairs.len());
    let regression = Regression::new(&moments).unwrap();
    let detail = harmonics.synthesise(&regression.solve(&moments, &gammas));
    let start = dense_base(case, base);
    let found = Mat::from_fn(start.nrows(), start.ncols(), |i, j| start[(i, j)] + detail[(i, j)]);
    let expected = dense_minimiser(case, harmonics, &gammas, penalised_from);
    let mut worst: f64 = 0.0;
    for i in 0..found.nrows() {
        let sum: f64 = (0..found.ncols()).map(|j| found[(i, j)]).sum();
        assert!((sum - 1.0).abs() < 1e-14, "row {i} sums to {sum}");
        for j in 0..found.ncols() {
            worst = worst.max((found[(i, j)] - expected[(i, j)]).abs());
        }
    }
    assert!(worst < 1e-8, "{penalty:?}: {worst}");
}

#[test]
fn the_default_is_the_minimiser_over_subdivision() {
    let case = case();
    let base = Base::Subdivision(&case.subdivision);
    let start = dense_base(&case, base);
    for penalty in [
        Penalty::profile_for_detail(0.4, 0.5, 4.0, case.harmonics.area, 41),
        Penalty::Identity { alpha: 0.7 },
        Penalty::Laplacian { alpha: 0.01 },
        Penalty::Sum { alpha: 0.3, beta: 0.002 },
    ] {
        check(&case, &case.harmonics, base, penalty, &start);
    }
}

/// `paper`: eq. 3 with R = QΓQᵀ. The penalty is on U itself, and Q's first function is not constant.
#[test]
fn the_papers_form_is_the_minimiser_of_equation_three() {
    let case = case();
    let symmetrised = case.harmonics.symmetrised();
    let first: Vec<f64> = (0..41).map(|i| symmetrised.functions[(i, 0)]).collect();
    assert!(first.iter().any(|x| (x - first[0]).abs() > 0.01 * first[0].abs()));
    let zero = Mat::<f64>::zeros(41, 5);
    for penalty in [
        Penalty::profile_between(1.0, 1e5, 4.0),
        Penalty::Profile { a: 0.8, b: 10.0, c: 4.0 },
        Penalty::Identity { alpha: 2.0 },
        Penalty::Laplacian { alpha: 0.05 },
    ] {
        check(&case, &symmetrised, Base::Mean, penalty, &zero);
    }
}

#[test]
fn without_penalty_it_is_least_squares_and_a_cut_off_cuts() {
    let case = case();
    let base = Base::Subdivision(&case.subdivision);
    let moments = Moments::gather(&case.pairs, base, &case.harmonics, 0..12);
    let regression = Regression::new(&moments).unwrap();
    let least = regression.solve(&moments, &Penalty::None.gammas(&case.harmonics));
    // nothing else fits these frames better
    let error = moments.squared_error(&least);
    let other = regression.solve(&moments, &Penalty::Identity { alpha: 0.1 }.gammas(&case.harmonics));
    assert!(error < moments.squared_error(&other) && error < moments.rr);
    let cut = regression.solve(&moments, &Penalty::CutOff { count: 7 }.gammas(&case.harmonics));
    for n in 0..41 {
        for j in 0..5 {
            let expected = if n < 7 { least[(n, j)] } else { 0.0 };
            assert!((cut[(n, j)] - expected).abs() < 1e-12);
        }
    }
}

#[test]
fn the_one_norm_makes_zeros_and_no_smaller_objective_is_near() {
    let case = case();
    let base = Base::Subdivision(&case.subdivision);
    let moments = Moments::gather(&case.pairs, base, &case.harmonics, 0..12);
    let regression = Regression::new(&moments).unwrap();
    let gamma = 0.4;
    let found = one_norm(&moments, &regression, &[gamma; 41]);
    let objective = |d: &Mat<f64>| {
        let sum: f64 = (0..5).flat_map(|j| (0..41).map(move |n| (n, j))).map(|at| d[at].abs()).sum();
        0.5 * moments.squared_error(d) + gamma * sum
    };
    let zeros =
        (0..5).flat_map(|j| (0..41).map(move |n| (n, j))).filter(|at| found[*at].abs() < 1e-6).count();
    assert!(zeros > 20, "{zeros} zeros");
    let best = objective(&found);
    let mut state = 5;
    for _ in 0..20 {
        let mut other = Mat::from_fn(41, 5, |n, j| found[(n, j)] + 1e-3 * random(&mut state));
        for n in 0..41 {
            let mean = (0..5).map(|j| other[(n, j)]).sum::<f64>() / 5.0;
            (0..5).for_each(|j| other[(n, j)] -= mean);
        }
        assert!(objective(&other) > best - 1e-9);
    }
}

#[test]
fn compression_of_full_rank_is_exact_and_of_low_rank_is_best() {
    let case = case();
    let base = Base::Subdivision(&case.subdivision);
    let moments = Moments::gather(&case.pairs, base, &case.harmonics, 0..12);
    let regression = Regression::new(&moments).unwrap();
    let gammas = Penalty::Identity { alpha: 0.3 }.gammas(&case.harmonics);
    let detail = regression.solve(&moments, &gammas);
    let whole = compress(&detail, &moments, &regression, 4).unwrap();
    let product = whole.product();
    let worst = (0..5).flat_map(|j| (0..41).map(move |n| (n, j))).map(|at| (product[at] - detail[at]).abs());
    assert!(worst.fold(0.0, f64::max) < 1e-10);
    // what D does to the frames, lost by rank: never more with more columns
    let lost = |rank: usize| {
        let less = whole.truncated(rank).product();
        let difference = Mat::from_fn(41, 5, |n, j| less[(n, j)] - detail[(n, j)]);
        let image = &difference * &moments.pp;
        (0..5).flat_map(|j| (0..41).map(move |n| (n, j))).map(|at| difference[at] * image[at]).sum::<f64>()
    };
    let losses: Vec<f64> = (1..=4).map(lost).collect();
    assert!(losses.is_sorted_by(|a, b| a >= b) && losses[3] < 1e-12 && losses[0] > 1e-4, "{losses:?}");
    // q = B p has unit variance over the frames, up to the floor under directions that hardly occur
    let covariance = &whole.columns * &moments.pp * whole.columns.transpose();
    for k in 0..4 {
        let variance = covariance[(k, k)] / 36.0;
        assert!((variance - 1.0).abs() < 0.01, "{variance}");
    }
}
