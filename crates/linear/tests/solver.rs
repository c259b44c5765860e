//! The solver against dense elimination, its promises about bits, and its errors.

use std::sync::Arc;

use faer::prelude::*;
use geometry::{Mat3, Vec3};
use linear::{ConstraintRows, Error, Matrix, Method, Pattern, Settings, Solver};

/// A small deterministic generator of numbers in −1..1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.next() + 1.0) / 2.0 * n as f64) as usize % n
    }

    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }
}

/// Points of an a×b×c grid; every cell is a stencil of its eight corners (fewer where the grid is flat).
fn grid(a: usize, b: usize, c: usize) -> (usize, Vec<Vec<u32>>) {
    let index = |i, j, k| ((i * b + j) * c + k) as u32;
    let mut stencils = Vec::new();
    for i in 0..a.max(2) - 1 {
        for j in 0..b.max(2) - 1 {
            for k in 0..c.max(2) - 1 {
                let mut cell: Vec<u32> = Vec::new();
                for (di, dj, dk) in
                    [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)]
                {
                    if i + di < a && j + dj < b && k + dk < c {
                        cell.push(index(i + di, j + dj, k + dk));
                    }
                }
                stencils.push(cell);
            }
        }
    }
    (a * b * c, stencils)
}

/// Random symmetric positive definite matrix: a sum of positive semidefinite stencils and a small mass.
fn random_matrix(pattern: &Arc<Pattern>, stencils: &[Vec<u32>], random: &mut Random, mass: f64) -> Matrix {
    let mut matrix = Matrix::new(pattern.clone());
    for i in 0..pattern.count() as u32 {
        matrix.add(i, i, mass * Mat3::IDENTITY);
    }
    for stencil in stencils {
        // v vᵀ for a random v over the stencil, twice
        for _ in 0..2 {
            let v: Vec<Vec3> = stencil.iter().map(|_| random.vector()).collect();
            for (a, &i) in stencil.iter().enumerate() {
                for (b, &j) in stencil.iter().enumerate() {
                    if i >= j {
                        matrix.add(i, j, Mat3::from_cols(v[a] * v[b].x, v[a] * v[b].y, v[a] * v[b].z));
                    }
                }
            }
        }
    }
    matrix
}

struct Case {
    pattern: Arc<Pattern>,
    matrix: Matrix,
    known: Vec<bool>,
    rows: ConstraintRows,
    right: Vec<Vec3>,
    rows_right: Vec<Vec3>,
    x: Vec<Vec3>,
}

fn case(size: (usize, usize, usize), row_count: usize, some_known: bool, compliance: f64, seed: u64) -> Case {
    let mut random = Random(seed);
    let (count, stencils) = grid(size.0, size.1, size.2);
    let pattern = Arc::new(Pattern::from_stencils(count, stencils.iter().map(|s| s.as_slice())));
    let matrix = random_matrix(&pattern, &stencils, &mut random, 0.1);
    let known: Vec<bool> = (0..count).map(|i| some_known && i % 7 == 3).collect();
    let supports: Vec<Vec<(u32, f64)>> = (0..row_count)
        .map(|r| {
            // some local, some all over
            let centre = random.below(count);
            let reach = if r % 3 == 0 { count } else { 12 };
            (0..8.min(count))
                .map(|_| (((centre + random.below(reach)) % count) as u32, random.next()))
                .collect()
        })
        .collect();
    let mut rows = ConstraintRows::new(count, supports);
    for (r, value) in rows.compliance_mut().iter_mut().enumerate() {
        *value = if r % 2 == 0 { compliance } else { 0.0 };
    }
    let right = (0..count).map(|_| random.vector()).collect();
    let rows_right = (0..row_count).map(|_| random.vector()).collect();
    let x = (0..count).map(|i| if known[i] { random.vector() } else { Vec3::ZERO }).collect();
    Case { pattern, matrix, known, rows, right, rows_right, x }
}

/// Dense solution of the same system by elimination with pivoting.
fn dense(case: &Case) -> (Vec<Vec3>, Vec<Vec3>) {
    let count = case.pattern.count();
    let n = 3 * (count + case.rows.len());
    let mut k = Mat::<f64>::zeros(n, n);
    let mut b = Mat::<f64>::zeros(n, 1);
    for i in 0..count {
        for j in 0..count {
            if let Some(slot) = case.pattern.slot(i as u32, j as u32) {
                let block = case.matrix.values()[slot];
                let block = if i >= j { block } else { block.transpose() };
                for r in 0..3 {
                    for c in 0..3 {
                        k[(3 * i + r, 3 * j + c)] = block.col(c)[r];
                    }
                }
            }
        }
    }
    for r in 0..case.rows.len() {
        for (i, w) in case.rows.row(r) {
            for c in 0..3 {
                k[(3 * (count + r) + c, 3 * i as usize + c)] = w;
                k[(3 * i as usize + c, 3 * (count + r) + c)] = w;
            }
        }
        for c in 0..3 {
            k[(3 * (count + r) + c, 3 * (count + r) + c)] = -case.rows.compliance()[r];
            b[(3 * (count + r) + c, 0)] = case.rows_right[r][c];
        }
    }
    for i in 0..count {
        for c in 0..3 {
            b[(3 * i + c, 0)] = case.right[i][c];
            if case.known[i] {
                for j in 0..n {
                    k[(3 * i + c, j)] = 0.0;
                }
                k[(3 * i + c, 3 * i + c)] = 1.0;
                b[(3 * i + c, 0)] = case.x[i][c];
            }
        }
    }
    let solution = k.partial_piv_lu().solve(&b);
    let vector =
        |i: usize| Vec3::new(solution[(3 * i, 0)], solution[(3 * i + 1, 0)], solution[(3 * i + 2, 0)]);
    ((0..count).map(vector).collect(), (count..count + case.rows.len()).map(vector).collect())
}

fn settings(method: Method) -> Settings {
    Settings { method }
}

fn difference(a: &[Vec3], b: &[Vec3]) -> f64 {
    let size: f64 = b.iter().map(|v| v.length_squared()).sum::<f64>().max(1e-300);
    (a.iter().zip(b).map(|(a, b)| (*a - *b).length_squared()).sum::<f64>() / size).sqrt()
}

#[test]
fn every_method_agrees_with_dense_elimination() {
    for (k, &size) in [(4, 4, 4), (9, 11, 1), (30, 1, 1), (1, 1, 1), (6, 5, 4)].iter().enumerate() {
        for (row_count, some_known, compliance) in [
            (0, false, 0.0),
            (0, true, 0.0),
            (5, false, 0.0),
            (5, true, 0.0),
            (6, true, 0.3),
            (6, false, 1e-6),
        ] {
            if size == (1, 1, 1) && row_count > 0 {
                continue;
            }
            let case = case(size, row_count, some_known, compliance, k as u64 + 1);
            let (expected, expected_multipliers) = dense(&case);
            for method in [Method::Auto, Method::Direct, Method::ConjugateGradients] {
                let mut solver =
                    Solver::new(&case.pattern, &case.known, &case.rows, settings(method)).unwrap();
                let mut x = case.x.clone();
                let mut multipliers = vec![Vec3::ZERO; case.rows.len()];
                let solution = solver
                    .solve(
                        &case.matrix,
                        &case.right,
                        &case.rows,
                        &case.rows_right,
                        &mut x,
                        &mut multipliers,
                        1e-12,
                    )
                    .unwrap_or_else(|error| panic!("{size:?} {row_count} {some_known} {method:?}: {error}"));
                assert!(solution.relative_residual <= 1e-12);
                let errors = (difference(&x, &expected), difference(&multipliers, &expected_multipliers));
                assert!(
                    errors.0 < 1e-8,
                    "{size:?} {row_count} {some_known} {compliance} {method:?}: {errors:?}"
                );
                assert!(row_count == 0 || errors.1 < 1e-8, "{size:?} {method:?}: {errors:?}");
                for i in 0..x.len() {
                    assert!(!case.known[i] || x[i] == case.x[i], "known points stay as given, to the bit");
                }
                // C x − E λ = c to round-off
                for (r, value) in case.rows.multiply(&x).into_iter().enumerate() {
                    let gap = value - case.rows.compliance()[r] * multipliers[r] - case.rows_right[r];
                    let size: f64 = case.rows.row(r).map(|(i, w)| (w * x[i as usize]).length()).sum();
                    assert!(gap.length() <= 1e-12 * (size + case.rows_right[r].length()), "row {r}: {gap}");
                }
            }
        }
    }
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    // large enough for parallel subtrees and for divided fronts
    let case = case((14, 14, 14), 7, true, 0.1, 5);
    let run = |threads: usize, method: Method| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut solver = Solver::new(&case.pattern, &case.known, &case.rows, settings(method)).unwrap();
            let mut x = case.x.clone();
            let mut multipliers = vec![Vec3::ZERO; case.rows.len()];
            solver
                .solve(
                    &case.matrix,
                    &case.right,
                    &case.rows,
                    &case.rows_right,
                    &mut x,
                    &mut multipliers,
                    1e-10,
                )
                .unwrap();
            (x, multipliers)
        })
    };
    for method in [Method::Direct, Method::ConjugateGradients] {
        let one = run(1, method);
        assert_eq!(one, run(2, method));
        assert_eq!(one, run(5, method));
    }
}

#[test]
fn after_forget_nothing_remains_of_earlier_matrices() {
    let case = case((8, 8, 3), 4, true, 0.0, 9);
    let mut other = case.matrix.clone();
    other.values_mut().iter_mut().for_each(|block| *block *= 1.7);
    let fresh = || Solver::new(&case.pattern, &case.known, &case.rows, Settings::default()).unwrap();
    let solve = |solver: &mut Solver, matrix: &Matrix| {
        let mut x = case.x.clone();
        let mut multipliers = vec![Vec3::ZERO; case.rows.len()];
        solver
            .solve(matrix, &case.right, &case.rows, &case.rows_right, &mut x, &mut multipliers, 1e-9)
            .unwrap();
        (x, multipliers)
    };
    let mut used = fresh();
    solve(&mut used, &other);
    solve(&mut used, &case.matrix);
    used.reset();
    assert_eq!(solve(&mut used, &case.matrix), solve(&mut fresh(), &case.matrix));
}

#[test]
fn a_kept_factor_serves_until_the_matrix_has_moved_away() {
    let case = case((9, 9, 9), 3, false, 0.0, 11);
    let mut solver = Solver::new(&case.pattern, &case.known, &case.rows, Settings::default()).unwrap();
    let mut random = Random(3);
    let mut matrix = case.matrix.clone();
    let (mut factorized, mut reused) = (0, 0);
    for _ in 0..30 {
        for i in 0..case.pattern.count() as u32 {
            // every point drifts by its own amount
            matrix.add(i, i, 0.0003 * (1.0 + random.next()) * Mat3::IDENTITY);
        }
        let mut x = case.x.clone();
        let mut multipliers = vec![Vec3::ZERO; case.rows.len()];
        let solution = solver
            .solve(&matrix, &case.right, &case.rows, &case.rows_right, &mut x, &mut multipliers, 1e-8)
            .unwrap();
        assert!(solution.relative_residual <= 1e-8);
        for (value, target) in case.rows.multiply(&x).iter().zip(&case.rows_right) {
            assert!((*value - *target).length() < 1e-11);
        }
        if solution.factorized {
            factorized += 1;
        } else {
            reused += 1;
        }
    }
    assert_eq!(solver.info().factorizations, factorized);
    assert!(reused > factorized, "{factorized} factorisations, {reused} solves without");
}

#[test]
fn what_single_precision_cannot_factorise_is_factorised_in_double() {
    let (count, stencils) = grid(8, 8, 1);
    let pattern = Arc::new(Pattern::from_stencils(count, stencils.iter().map(|s| s.as_slice())));
    let rows = ConstraintRows::none(count);
    let solved = |mass: f64| {
        // pairs that know each other's distance alone: each moves as one against its mass, which single precision loses
        let mut matrix = Matrix::new(pattern.clone());
        for i in 0..count as u32 {
            let stiffness = (2.0 + f64::from(i / 2).sin()) * Mat3::IDENTITY;
            matrix.add(i, i, stiffness + mass * Mat3::IDENTITY);
            if i % 2 == 0 {
                matrix.add(i, i + 1, -stiffness);
            }
        }
        let mut solver = Solver::new(&pattern, &vec![false; count], &rows, settings(Method::Direct)).unwrap();
        let mut random = Random(5);
        let right: Vec<Vec3> = (0..count).map(|_| random.vector()).collect();
        let mut x = vec![Vec3::ZERO; count];
        let solution = solver.solve(&matrix, &right, &rows, &[], &mut x, &mut [], 1e-6).unwrap();
        assert!(solution.relative_residual <= 1e-6);
        (solver.info().factor_bytes, solver.info().method)
    };
    let (single, double) = (solved(1.0), solved(1e-8));
    assert_eq!(2 * single.0, double.0);
    assert!(single.1.contains("single") && !double.1.contains("single"), "{single:?} {double:?}");
}

#[test]
fn bad_systems_are_named() {
    let case = case((5, 5, 2), 3, false, 0.0, 21);
    let count = case.pattern.count();
    let none = ConstraintRows::none(count);
    let solve = |matrix: &Matrix, known: &[bool], rows: &ConstraintRows, method| -> Result<(), Error> {
        let mut solver = Solver::new(&case.pattern, known, rows, settings(method))?;
        let (mut x, mut multipliers) = (vec![Vec3::ZERO; count], vec![Vec3::ZERO; rows.len()]);
        let rows_right = vec![Vec3::ZERO; rows.len()];
        solver.solve(matrix, &case.right, rows, &rows_right, &mut x, &mut multipliers, 1e-9).map(|_| ())
    };
    let methods = [Method::Auto, Method::Direct, Method::ConjugateGradients];

    for method in methods {
        let mut indefinite = case.matrix.clone();
        indefinite.add(7, 7, -100.0 * Mat3::IDENTITY);
        let error = solve(&indefinite, &case.known, &none, method).unwrap_err();
        assert!(matches!(error, Error::NotPositiveDefinite { .. }), "{method:?}: {error}");

        // a row over known points alone, and the same row twice
        let mut known = vec![false; count];
        known[4] = true;
        let rows = ConstraintRows::new(count, [vec![(1, 1.0)], vec![(4, 1.0)]]);
        assert_eq!(solve(&case.matrix, &known, &rows, method).unwrap_err(), Error::SingularRow { row: 1 });
        let twice = ConstraintRows::new(count, [vec![(1, 0.3), (9, 0.7)], vec![(1, 0.6), (9, 1.4)]]);
        let error = solve(&case.matrix, &case.known, &twice, method).unwrap_err();
        assert!(matches!(error, Error::SingularRow { .. }), "{method:?}: {error}");

        let mut nan = case.matrix.clone();
        nan.values_mut()[3].x_axis.y = f64::NAN;
        assert_eq!(
            solve(&nan, &case.known, &none, method).unwrap_err(),
            Error::NotFinite { what: "matrix", index: 3 }
        );
    }
    // a body that nothing holds: the stiffness of a chain of springs has a translation in its null space
    let pattern = Arc::new(Pattern::from_stencils(3, [[0u32, 1].as_slice(), &[1, 2]]));
    let mut chain = Matrix::new(pattern.clone());
    for [i, j] in [[0, 1], [1, 2]] {
        chain.add(i, i, Mat3::IDENTITY);
        chain.add(j, j, Mat3::IDENTITY);
        chain.add(i, j, -Mat3::IDENTITY);
    }
    let none = ConstraintRows::none(3);
    let mut solver = Solver::new(&pattern, &[false; 3], &none, settings(Method::Direct)).unwrap();
    let mut x = [Vec3::ZERO; 3];
    let error = solver.solve(&chain, &[Vec3::Y; 3], &none, &[], &mut x, &mut [], 1e-9).unwrap_err();
    assert!(matches!(error, Error::NotPositiveDefinite { .. }), "{error}");

    let first_out_of_range = ConstraintRows::new(3, [vec![(5, 1.0)]]);
    assert!(matches!(
        Solver::new(&pattern, &[false; 3], &first_out_of_range, Settings::default()),
        Err(Error::NoSuchPoint { point: 5, count: 3 })
    ));
    assert!(matches!(
        Solver::new(&pattern, &[false; 2], &ConstraintRows::none(3), Settings::default()),
        Err(Error::SizeMismatch { what: "known", expected: 3, found: 2 })
    ));
}

#[test]
fn empty_and_wholly_known_systems_are_solved() {
    let pattern = Arc::new(Pattern::from_stencils(0, std::iter::empty()));
    let none = ConstraintRows::none(0);
    for method in [Method::Auto, Method::Direct, Method::ConjugateGradients] {
        let mut solver = Solver::new(&pattern, &[], &none, settings(method)).unwrap();
        solver.solve(&Matrix::new(pattern.clone()), &[], &none, &[], &mut [], &mut [], 1e-9).unwrap();
    }
    let pattern = Arc::new(Pattern::from_stencils(2, [[0u32, 1].as_slice()]));
    let none = ConstraintRows::none(2);
    let mut solver = Solver::new(&pattern, &[true; 2], &none, Settings::default()).unwrap();
    let mut x = [Vec3::X, Vec3::Y];
    solver.solve(&Matrix::new(pattern.clone()), &[Vec3::Z; 2], &none, &[], &mut x, &mut [], 1e-9).unwrap();
    assert_eq!(x, [Vec3::X, Vec3::Y]);
}

/// Two sheets that touch here and there, and, the harder case, everywhere: couplings that the order was not made for.
#[test]
fn an_extended_solver_agrees_with_one_made_for_the_wider_pattern() {
    for (touching, method) in [(3, Method::Direct), (60, Method::Direct), (60, Method::Auto)] {
        let mut random = Random(17);
        let (half, mut stencils) = grid(9, 10, 1);
        let upper: Vec<Vec<u32>> =
            stencils.iter().map(|s| s.iter().map(|&i| i + half as u32).collect()).collect();
        stencils.extend(upper);
        let rows = ConstraintRows::new(
            2 * half,
            [vec![(3, 1.0), (100, 1.0)], vec![(50, 0.5), (51, 0.5), (120, 1.0)]],
        );
        let known: Vec<bool> = (0..2 * half).map(|i| i % 31 == 4).collect();
        let apart = Arc::new(Pattern::from_stencils(2 * half, stencils.iter().map(|s| s.as_slice())));
        let solver = Solver::new(&apart, &known, &rows, settings(method)).unwrap();

        let contacts: Vec<Vec<u32>> = (0..touching)
            .map(|k| vec![k as u32, (half + k) as u32, (half + (k + 1) % half) as u32])
            .collect();
        let wider = Arc::new(apart.with_stencils(contacts.iter().map(|s| s.as_slice())));
        stencils.extend(contacts);
        let matrix = random_matrix(&wider, &stencils, &mut random, 0.1);
        let right: Vec<Vec3> = (0..2 * half).map(|_| random.vector()).collect();
        let solve = |mut solver: Solver| {
            let mut x = vec![Vec3::Y; 2 * half];
            let mut multipliers = vec![Vec3::ZERO; 2];
            solver.solve(&matrix, &right, &rows, &[Vec3::X; 2], &mut x, &mut multipliers, 1e-12).unwrap();
            x.extend(multipliers);
            x
        };
        let expected = solve(Solver::new(&wider, &known, &rows, settings(method)).unwrap());
        let found = solve(solver.extended(&wider).unwrap());
        assert!(difference(&found, &expected) < 1e-9, "{touching} {method:?}");
        assert!(matches!(
            solver.extended(&Arc::new(Pattern::from_stencils(3, std::iter::empty()))),
            Err(Error::SizeMismatch { .. })
        ));
    }
}

#[test]
fn a_pattern_counts_by_what_it_holds_and_work_is_counted() {
    let case = case((4, 4, 2), 0, true, 0.0, 5);
    let mut solver =
        Solver::new(&case.pattern, &case.known, &case.rows, settings(Method::ConjugateGradients)).unwrap();
    // the same couplings, made again
    let again = Arc::new((*case.pattern).clone());
    let mut matrix = Matrix::new(again);
    matrix.values_mut().copy_from_slice(case.matrix.values());
    let (mut x, mut spent) = (case.x.clone(), 0);
    for tolerance in [1e-3, 1e-6] {
        let solution = solver
            .solve(&matrix, &case.right, &case.rows, &case.rows_right, &mut x, &mut [], tolerance)
            .unwrap();
        spent += solution.iterations;
    }
    assert!(spent > 2);
    assert_eq!((solver.info().iterations, solver.info().solves), (spent, 2));
    let fewer = Matrix::new(Arc::new(Pattern::from_stencils(case.pattern.count(), [&[0_u32, 1][..]])));
    let refused = solver.solve(&fewer, &case.right, &case.rows, &case.rows_right, &mut x, &mut [], 1e-3);
    assert_eq!(refused, Err(Error::OtherPattern));
}

#[test]
fn where_nothing_pulls_nothing_moves() {
    for method in [Method::Auto, Method::Direct, Method::ConjugateGradients] {
        let mut case = case((4, 3, 2), 0, true, 0.0, 9);
        for (x, known) in case.x.iter_mut().zip(&case.known) {
            *x = if *known { Vec3::ZERO } else { Vec3::ONE };
        }
        let zeros = vec![Vec3::ZERO; case.right.len()];
        let mut solver = Solver::new(&case.pattern, &case.known, &case.rows, settings(method)).unwrap();
        solver.solve(&case.matrix, &zeros, &case.rows, &[], &mut case.x, &mut [], 1e-3).unwrap();
        assert_eq!(case.x, zeros, "{method:?}");
    }
}
