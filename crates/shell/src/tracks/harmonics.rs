//! Harmonics of a surface: the lowest eigenfunctions of its Laplacian, as a drum's tones.

use geometry::{Mat3, Vec3, laplacian, vertex_areas};
use linear::lowest_eigenpairs;

use crate::Error;

/// The `count` lowest solutions of L φ = λ M φ over a surface at rest: cotangent Laplacian, lumped areas. Ordered by λ and
/// of unit mean square; the first is constant on a connected surface. Values per function and point, zero where there is no area.
/// *upsample* §4.
pub fn harmonics(rest: &[Vec3], triangles: &[[u32; 3]], count: usize) -> Result<Vec<Vec<f64>>, Error> {
    let areas = vertex_areas(rest, triangles);
    let touched: Vec<usize> = (0..rest.len()).filter(|&i| areas[i] > 0.0).collect();
    if count > touched.len() {
        return Err(Error::TooManyTests { tests: count, points: touched.len() });
    }
    let mut number = vec![u32::MAX; rest.len()];
    touched.iter().enumerate().for_each(|(k, &i)| number[i] = k as u32);
    let entries = laplacian(rest, triangles, |_| Mat3::IDENTITY);
    // points are numbered in their order, so that the lower triangle stays the lower one
    let entries: Vec<(u32, u32, f64)> =
        entries.into_iter().map(|(i, j, value)| (number[i as usize], number[j as usize], value)).collect();
    let masses: Vec<f64> = touched.iter().map(|&i| areas[i]).collect();
    let found = lowest_eigenpairs(&entries, &masses, count).map_err(Error::Solver)?;
    // ΦᵀMΦ = 1: the mean of a square is one over the area
    let scale = areas.iter().sum::<f64>().sqrt();
    let function = |k: usize| {
        let mut values = vec![0.0; rest.len()];
        touched.iter().enumerate().for_each(|(row, &i)| values[i] = scale * found.vectors[(row, k)]);
        values
    };
    Ok((0..count).map(function).collect())
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
