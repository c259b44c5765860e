//! Harmonics of a surface: the lowest eigenfunctions of its Laplacian, as a drum's tones.

use std::sync::Arc;

use geometry::{Mat3, Vec3, vertex_areas};
use linear::{ConstraintRows, Matrix, Pattern, Solver};

use crate::Error;
use crate::random::Random;

/// The `count` lowest solutions of L φ = λ M φ over a surface at rest: cotangent Laplacian, lumped areas. Ordered by λ and
/// of unit mean square; the first is constant on a connected surface. Values per function and point.
///
/// Subspace iteration with (L + σM)⁻¹ M and Rayleigh–Ritz, three functions to a solve, because the solver's unknowns
/// have three coordinates. *upsample* §4.
pub fn harmonics(rest: &[Vec3], triangles: &[[u32; 3]], count: usize) -> Result<Vec<Vec<f64>>, Error> {
    let points = rest.len();
    let areas = vertex_areas(rest, triangles);
    let total: f64 = areas.iter().sum();
    let touched = areas.iter().filter(|area| **area > 0.0).count();
    if count > touched {
        return Err(Error::TooManyTests { tests: count, points: touched });
    }
    let known: Vec<bool> = areas.iter().map(|area| *area <= 0.0).collect();
    // below the first tone of any surface of this area, so that constants do not drown the others
    let shift = 1.0 / total;
    let (pattern, matrix) = shifted_laplacian(rest, triangles, &areas, shift);
    let rows = ConstraintRows::none(points);
    let mut solver =
        Solver::new(&pattern, &known, &rows, linear::Settings { method: linear::Method::Direct })
            .map_err(Error::Solver)?;

    // a few more than asked for, so that the last of them converge too
    let width = (count + 8.max(count / 2)).min(touched).next_multiple_of(3);
    let mut random = Random::new(1);
    let mut functions: Vec<Vec<f64>> = (0..width)
        .map(|_| areas.iter().map(|a| if *a > 0.0 { random.signed(0.5) } else { 0.0 }).collect())
        .collect();
    let mut tones = vec![0.0; width];
    for _ in 0..ROUNDS {
        for three in functions.chunks_exact_mut(3) {
            let right: Vec<Vec3> =
                (0..points).map(|i| areas[i] * Vec3::new(three[0][i], three[1][i], three[2][i])).collect();
            let mut x = vec![Vec3::ZERO; points];
            solver.solve(&matrix, &right, &rows, &[], &mut x, &mut [], 1e-10).map_err(Error::Solver)?;
            for i in 0..points {
                [three[0][i], three[1][i], three[2][i]] = x[i].to_array();
            }
        }
        let found = ritz(&mut functions, &areas, &matrix);
        let settled = tones.iter().zip(&found).take(count).all(|(a, b)| (a - b).abs() <= 1e-7 * b.abs());
        tones = found;
        if settled {
            break;
        }
    }
    functions.truncate(count);
    Ok(functions)
}

/// Subspace iterations at most; a few dozen suffice.
const ROUNDS: usize = 60;

fn shifted_laplacian(
    rest: &[Vec3],
    triangles: &[[u32; 3]],
    areas: &[f64],
    shift: f64,
) -> (Arc<Pattern>, Matrix) {
    let pattern =
        Arc::new(Pattern::from_stencils(rest.len(), triangles.iter().map(|triangle| triangle.as_slice())));
    let mut matrix = Matrix::new(pattern.clone());
    let scaled = |value: f64| Mat3::from_diagonal(Vec3::splat(value));
    for t in triangles {
        let p = t.map(|v| rest[v as usize]);
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            let (u, v) = (p[i] - p[k], p[j] - p[k]);
            let doubled_area = u.cross(v).length();
            if doubled_area <= 1e-12 * u.length() * v.length() {
                continue;
            }
            let weight = 0.5 * u.dot(v) / doubled_area;
            matrix.add(t[i], t[j], scaled(-weight));
            matrix.add(t[i], t[i], scaled(weight));
            matrix.add(t[j], t[j], scaled(weight));
        }
    }
    for (i, area) in areas.iter().enumerate() {
        matrix.add(i as u32, i as u32, scaled(shift * area));
    }
    (pattern, matrix)
}

/// Turns the functions into the best approximate eigenfunctions of their span, lowest first, and gives their values.
fn ritz(functions: &mut [Vec<f64>], areas: &[f64], matrix: &Matrix) -> Vec<f64> {
    let width = functions.len();
    let points = areas.len();
    // orthonormal in M: twice Gram–Schmidt
    for k in 0..width {
        for _ in 0..2 {
            let (done, rest) = functions.split_at_mut(k);
            for other in done.iter() {
                let dot: f64 = (0..points).map(|i| areas[i] * other[i] * rest[0][i]).sum();
                (0..points).for_each(|i| rest[0][i] -= dot * other[i]);
            }
        }
        let norm = (0..points).map(|i| areas[i] * functions[k][i].powi(2)).sum::<f64>().sqrt();
        if norm > 0.0 {
            functions[k].iter_mut().for_each(|value| *value /= norm);
        }
    }
    let mut images = vec![vec![0.0; points]; width];
    let (mut x, mut y) = (vec![Vec3::ZERO; points], vec![Vec3::ZERO; points]);
    for (image, function) in images.iter_mut().zip(functions.iter()) {
        (0..points).for_each(|i| x[i] = Vec3::splat(function[i]));
        matrix.multiply(&x, &mut y);
        (0..points).for_each(|i| image[i] = y[i].x);
    }
    let mut small = vec![vec![0.0; width]; width];
    for a in 0..width {
        for b in 0..=a {
            let dot: f64 = functions[a].iter().zip(&images[b]).map(|(f, g)| f * g).sum();
            (small[a][b], small[b][a]) = (dot, dot);
        }
    }
    let (values, vectors) = jacobi(small);
    let total: f64 = areas.iter().sum();
    let turned: Vec<Vec<f64>> = vectors
        .iter()
        .map(|weights| {
            let at = |i: usize| weights.iter().zip(functions.iter()).map(|(w, f)| w * f[i]).sum::<f64>();
            (0..points).map(|i| total.sqrt() * at(i)).collect()
        })
        .collect();
    functions.iter_mut().zip(turned).for_each(|(function, turned)| *function = turned);
    values
}

/// Eigenvalues, ascending, and eigenvectors of a small symmetric matrix, by cyclic Jacobi rotations.
fn jacobi(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = a.len();
    let mut v: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..30 {
        let off: f64 = (0..n).flat_map(|p| (0..p).map(move |q| (p, q))).map(|(p, q)| a[p][q].powi(2)).sum();
        let diagonal: f64 = (0..n).map(|p| a[p][p].powi(2)).sum();
        if off <= 1e-28 * diagonal {
            break;
        }
        for p in 0..n {
            for q in 0..p {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = 0.5 * (a[q][q] - a[p][p]) / a[p][q];
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let c = 1.0 / t.hypot(1.0);
                let s = t * c;
                for k in 0..n {
                    (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
                }
                for k in 0..n {
                    (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                }
                let (vp, vq) = (v[p].clone(), v[q].clone());
                v[p] = vp.iter().zip(&vq).map(|(p, q)| c * p - s * q).collect();
                v[q] = vp.iter().zip(&vq).map(|(p, q)| s * p + c * q).collect();
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i][i].total_cmp(&a[j][j]).then(i.cmp(&j)));
    (order.iter().map(|&i| a[i][i]).collect(), order.iter().map(|&i| v[i].clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn a_rectangle_sounds_as_a_rectangle_does() {
        // free edges: φ = cos(πax/2) cos(πby) with λ = π²(a²/4 + b²) on 2 × 1
        let n = 24_u32;
        let at = |i: u32, j: u32| j * (n + 1) + i;
        let rest: Vec<Vec3> = (0..=n)
            .flat_map(|j| {
                (0..=n).map(move |i| Vec3::new(2.0 * f64::from(i), f64::from(j), 0.0) / f64::from(n))
            })
            .collect();
        let cells = (0..n).flat_map(|j| (0..n).map(move |i| (i, j)));
        let triangles: Vec<[u32; 3]> = cells
            .flat_map(|(i, j)| {
                [[at(i, j), at(i + 1, j), at(i, j + 1)], [at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]]
            })
            .collect();
        let found = harmonics(&rest, &triangles, 6).unwrap();
        let areas = vertex_areas(&rest, &triangles);
        let mut exact: Vec<(f64, f64, f64)> = (0..5)
            .flat_map(|a| (0..5).map(move |b| (f64::from(a), f64::from(b))))
            .map(|(a, b)| (PI * PI * (0.25 * a * a + b * b), a, b))
            .collect();
        exact.sort_by(|x, y| x.0.total_cmp(&y.0));
        // simple tones have their shape up to sign; second-order accurate in the cell's size
        for k in [0, 1, 4] {
            let (_, a, b) = exact[k];
            let wave = |p: Vec3| (0.5 * PI * a * p.x).cos() * (PI * b * p.y).cos();
            let dot = |f: &dyn Fn(usize) -> f64, g: &dyn Fn(usize) -> f64| -> f64 {
                (0..rest.len()).map(|i| areas[i] * f(i) * g(i)).sum()
            };
            let (f, g) = (|i: usize| found[k][i], |i: usize| wave(rest[i]));
            let likeness = dot(&f, &g).abs() / (dot(&f, &f) * dot(&g, &g)).sqrt();
            assert!(likeness > 0.999, "tone {k}: {likeness}");
            assert!((dot(&f, &f) / 2.0 - 1.0).abs() < 1e-9, "unit mean square");
        }
        for a in 0..6 {
            for b in 0..a {
                let dot: f64 = (0..rest.len()).map(|i| areas[i] * found[a][i] * found[b][i]).sum();
                assert!(dot.abs() < 1e-9, "orthogonal");
            }
        }
        assert!(matches!(harmonics(&rest[..2], &[], 1), Err(Error::TooManyTests { .. })));
    }
}
