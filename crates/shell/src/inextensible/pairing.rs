//! Triangles paired into quads, where they are the halves of a grid's cells.
//!
//! Files that know only triangles cut every quad along a diagonal. A diagonal shows by its corners: the quad around it is
//! nearly rectangular, while the quad around a side of the grid is a slanted one.

use geometry::{Topology, Vec3};

/// A corner further from 90° than this cosine says (65° to 115°) is not a cell's.
const MOST_SLANTED: f64 = 0.42;
/// Halves of a cell lie in about one plane: the cosine between their normals is at least this.
const FLATTEST_FOLD: f64 = 0.7;

/// Quads made of triangles, with the places of the two halves, and the places of the triangles that found no partner.
pub(super) struct Pairs {
    pub(super) quads: Vec<([u32; 4], [usize; 2])>,
    pub(super) single: Vec<usize>,
}

/// Pairs triangles across the edges that look most like diagonals, best first; ties go to the lower edge.
pub(super) fn pair(rest: &[Vec3], triangles: &[[u32; 3]]) -> Pairs {
    let topology = Topology::new(rest.len(), triangles);
    let mut candidates: Vec<(f64, [u32; 4], [usize; 2])> = topology
        .hinges()
        .iter()
        .filter_map(|hinge| {
            let [e0, e1, a, b] = hinge.vertices;
            let quad = [e0, b, e1, a];
            let slant = slant(rest, quad);
            (slant <= MOST_SLANTED).then_some((slant, quad, hinge.triangles.map(|t| t as usize)))
        })
        .collect();
    // the sort is stable, and slants within round-off of each other must not decide: compare them coarsely
    candidates.sort_by_key(|(slant, ..)| (slant * 1e3) as u32);
    let mut taken = vec![false; triangles.len()];
    let mut quads = Vec::new();
    for (_, quad, halves) in candidates {
        if halves.iter().all(|&t| !taken[t]) {
            halves.iter().for_each(|&t| taken[t] = true);
            quads.push((quad, halves));
        }
    }
    quads.sort_by_key(|(_, halves)| halves[0].min(halves[1]));
    Pairs { quads, single: (0..triangles.len()).filter(|&t| !taken[t]).collect() }
}

/// The largest |cos| of a quad's corners; infinite where it is folded along its diagonal from the first corner to the third.
fn slant(rest: &[Vec3], quad: [u32; 4]) -> f64 {
    let [a, b, c, d] = quad.map(|v| rest[v as usize]);
    let (n0, n1) = ((b - a).cross(c - a), (c - a).cross(d - a));
    let flat = n0.dot(n1) >= FLATTEST_FOLD * n0.length() * n1.length() && n0 != Vec3::ZERO;
    if !flat {
        return f64::INFINITY;
    }
    let corners = [(d, a, b), (a, b, c), (b, c, d), (c, d, a)];
    let cosine = |(before, at, after): (Vec3, Vec3, Vec3)| {
        (before - at).normalize_or_zero().dot((after - at).normalize_or_zero()).abs()
    };
    corners.into_iter().map(cosine).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_with_any_diagonals_becomes_its_cells_again() {
        let n = 7u32;
        let at = |i: u32, j: u32| j * (n + 1) + i;
        // a curved grid of oblong cells
        let rest: Vec<Vec3> = (0..=n)
            .flat_map(|j| (0..=n).map(move |i| (f64::from(i), f64::from(j))))
            .map(|(u, v)| Vec3::new(0.1 * u, 0.02 * (0.7 * u).sin(), 0.07 * v))
            .collect();
        let mut triangles = Vec::new();
        for j in 0..n {
            for i in 0..n {
                let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                if (i * 5 + j * 3) % 4 < 2 {
                    triangles.extend([[a, b, c], [a, c, d]]);
                } else {
                    triangles.extend([[b, c, d], [d, a, b]]);
                }
            }
        }
        let pairs = pair(&rest, &triangles);
        assert!(pairs.single.is_empty());
        assert_eq!(pairs.quads.len(), (n * n) as usize);
        for (k, (quad, halves)) in pairs.quads.iter().enumerate() {
            assert_eq!(halves.map(|t| t / 2), [k; 2], "halves of one cell");
            let (i, j) = (k as u32 % n, k as u32 / n);
            let mut sorted = *quad;
            sorted.sort_unstable();
            assert_eq!(sorted, [at(i, j), at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)]);
        }
    }

    #[test]
    fn equilateral_triangles_are_no_grid() {
        let h = 0.75_f64.sqrt();
        let rest = [Vec3::ZERO, Vec3::X, Vec3::new(0.5, h, 0.0), Vec3::new(1.5, h, 0.0)];
        let pairs = pair(&rest, &[[0, 1, 2], [1, 3, 2]]);
        assert!(pairs.quads.is_empty());
        assert_eq!(pairs.single, [0, 1]);
    }
}
