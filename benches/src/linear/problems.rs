//! Matrices of implicit time steps: M / h² + K, at 60 steps a second.

use std::sync::Arc;

use geometry::{Mat3, Topology, Vec3};
use linear::{Matrix, Pattern};

/// 1 / h².
const PER_STEP: f64 = 60.0 * 60.0;

/// A matrix, and the same with every element's stiffness changed by up to 10 %.
pub(crate) struct Problem {
    pub(crate) name: &'static str,
    pub(crate) matrix: Matrix,
    pub(crate) changed: Matrix,
}

impl Problem {
    /// A cube of 1 m, n×n×n cells of five tets, linear elasticity: E = 1e5 Pa, ν = 0.45, 1000 kg/m³.
    pub(crate) fn tets(name: &'static str, n: usize) -> Self {
        let (points, tets) = box_of_tets(n);
        let pattern = Arc::new(Pattern::from_stencils(points.len(), tets.iter().map(|t| t.as_slice())));
        Self::assemble(name, pattern, &tets, |tet, stiffness, add| {
            let x = tet.map(|i| points[i as usize]);
            let edges = Mat3::from_cols(x[1] - x[0], x[2] - x[0], x[3] - x[0]);
            let volume = edges.determinant().abs() / 6.0;
            // gradients of the four shape functions: rows of the inverse, and minus their sum
            let inverse = edges.inverse().transpose();
            let g = [
                -(inverse.x_axis + inverse.y_axis + inverse.z_axis),
                inverse.x_axis,
                inverse.y_axis,
                inverse.z_axis,
            ];
            let (young, poisson) = (1e5 * stiffness, 0.45);
            let lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
            let mu = young / (2.0 * (1.0 + poisson));
            for a in 0..4 {
                add(tet[a], tet[a], 1000.0 * volume / 4.0 * PER_STEP * Mat3::IDENTITY);
                for b in 0..=a {
                    let k = lambda * outer(g[a], g[b])
                        + mu * outer(g[b], g[a])
                        + Mat3::from_diagonal(Vec3::splat(mu * g[a].dot(g[b])));
                    add(tet[a], tet[b], volume * k);
                }
            }
        })
    }

    /// A sheet of 2×2 m, n×n quads of two triangles: springs of 1000 N/m along edges, bending of 1e-5 N·m over hinges,
    /// 0.25 kg/m². Each hinge couples its four points.
    pub(crate) fn cloth(name: &'static str, n: usize) -> Self {
        let size = 2.0 / n as f64;
        let index = |i: usize, j: usize| (i * (n + 1) + j) as u32;
        let mut triangles = Vec::new();
        for i in 0..n {
            for j in 0..n {
                let [a, b, c, d] = [index(i, j), index(i + 1, j), index(i + 1, j + 1), index(i, j + 1)];
                if (i + j) % 2 == 0 {
                    triangles.extend([[a, b, c], [a, c, d]]);
                } else {
                    triangles.extend([[a, b, d], [b, c, d]]);
                }
            }
        }
        let count = (n + 1) * (n + 1);
        let point = |i: u32| {
            let (i, j) = (i as usize / (n + 1), i as usize % (n + 1));
            // a little out of plane, so that every direction has some stiffness
            let height = 0.1 * (3.0 * i as f64 * size).sin() * (2.0 * j as f64 * size).cos();
            Vec3::new(i as f64 * size, height, j as f64 * size)
        };
        let topology = Topology::new(count, &triangles);
        let hinges: Vec<[u32; 4]> = topology.hinges().iter().map(|hinge| hinge.vertices).collect();
        let pattern = Arc::new(Pattern::from_stencils(count, hinges.iter().map(|h| h.as_slice())));
        Self::assemble(name, pattern, &hinges, |hinge, stiffness, add| {
            // every edge inside the sheet has one hinge: its spring, its bending, its share of the mass
            let direction = (point(hinge[1]) - point(hinge[0])).normalize();
            let spring = 1000.0 * stiffness * outer(direction, direction);
            add(hinge[0], hinge[0], spring);
            add(hinge[1], hinge[1], spring);
            add(hinge[0], hinge[1], -spring);
            let bend = 1e-5 * stiffness / (size * size);
            let weights = [-1.0, -1.0, 1.0, 1.0];
            for a in 0..4 {
                add(hinge[a], hinge[a], 0.25 * size * size / 12.0 * PER_STEP * Mat3::IDENTITY);
                for b in 0..=a {
                    add(hinge[a], hinge[b], Mat3::from_diagonal(Vec3::splat(bend * weights[a] * weights[b])));
                }
            }
        })
    }

    /// Sums elements with stiffness 1, and again with stiffness between 0.9 and 1.1.
    fn assemble(
        name: &'static str,
        pattern: Arc<Pattern>,
        stencils: &[[u32; 4]],
        element: impl Fn([u32; 4], f64, &mut dyn FnMut(u32, u32, Mat3)),
    ) -> Self {
        let sum = |change: f64| {
            let mut matrix = Matrix::new(pattern.clone());
            for (k, &stencil) in stencils.iter().enumerate() {
                // a fixed sequence that looks random: multiples of the golden ratio
                let random = (k as f64 * 0.618_033_988_749_895).fract() * 2.0 - 1.0;
                element(stencil, 1.0 + change * random, &mut |i, j, block| {
                    matrix.add(i, j, block);
                });
            }
            matrix
        };
        Self { name, matrix: sum(0.0), changed: sum(0.1) }
    }
}

/// a bᵀ.
fn outer(a: Vec3, b: Vec3) -> Mat3 {
    Mat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// Points and tets of a unit cube; neighbouring cells are mirrored so that their faces match.
fn box_of_tets(n: usize) -> (Vec<Vec3>, Vec<[u32; 4]>) {
    let index = |i: usize, j: usize, k: usize| ((i * (n + 1) + j) * (n + 1) + k) as u32;
    let mut points = Vec::new();
    for i in 0..=n {
        for j in 0..=n {
            for k in 0..=n {
                points.push(Vec3::new(i as f64, j as f64, k as f64) / n as f64);
            }
        }
    }
    // four corners cut off and the tet between them; corners numbered by bits x, y, z
    const CELL: [[usize; 4]; 5] = [[0, 1, 2, 4], [3, 2, 1, 7], [5, 1, 4, 7], [6, 4, 2, 7], [1, 2, 4, 7]];
    let mut tets = Vec::new();
    for i in 0..n {
        for j in 0..n {
            for k in 0..n {
                // a mirrored cell has its corners exchanged along x
                let mirror = (i + j + k) % 2;
                let corner = |c: usize| index(i + ((c & 1) ^ mirror), j + (c >> 1 & 1), k + (c >> 2));
                tets.extend(CELL.map(|tet| tet.map(corner)));
            }
        }
    }
    (points, tets)
}
