//! Subdivision of triangle meshes: every triangle becomes four.
//!
//! Old points come first, then one new point per edge in the order of [`Topology::edges`]. Any list of triangles is
//! accepted; triangles with a repeated vertex are left out. Edges with other than two triangles are treated as
//! boundaries, so that open and non-manifold meshes keep their shape there.

use crate::{Prolongation, Topology};

/// Where the points go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Scheme {
    /// Old points stay, new ones stand in the middle of edges: the surface is the same, cut finer.
    #[default]
    Linear,
    /// Loop's rules: the surface becomes smooth. Loop 1987; boundaries are cubic B-splines, corners with one triangle
    /// move along them.
    Loop,
}

/// A mesh cut finer.
#[derive(Clone, Debug, PartialEq)]
pub struct Subdivision {
    /// Four for every old one, in the old order: three at its corners, then the middle one.
    pub triangles: Vec<[u32; 3]>,
    /// From the old points to the new.
    pub prolongation: Prolongation,
}

/// Cuts every triangle in four, once.
pub fn subdivide(point_count: usize, triangles: &[[u32; 3]], scheme: Scheme) -> Subdivision {
    let topology = Topology::new(point_count, triangles);
    let edges = topology.edges();
    let middle = |a: u32, b: u32| {
        let ends = [a.min(b), a.max(b)];
        (point_count + edges.partition_point(|edge| edge.vertices < ends)) as u32
    };
    let mut finer = Vec::with_capacity(4 * triangles.len());
    for &[a, b, c] in triangles.iter().filter(|[a, b, c]| a != b && b != c && c != a) {
        let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
        finer.extend([[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]);
    }
    let rows: Vec<Vec<(u32, f64)>> = match scheme {
        Scheme::Linear => {
            let old = (0..point_count as u32).map(|point| vec![(point, 1.0)]);
            old.chain(edges.iter().map(|edge| edge.vertices.map(|v| (v, 0.5)).to_vec())).collect()
        }
        Scheme::Loop => loop_rows(&topology, triangles),
    };
    Subdivision { triangles: finer, prolongation: Prolongation::new(point_count, rows) }
}

/// Cuts `levels` times.
pub fn subdivide_times(
    point_count: usize,
    triangles: &[[u32; 3]],
    scheme: Scheme,
    levels: usize,
) -> Subdivision {
    let mut all =
        Subdivision { triangles: triangles.to_vec(), prolongation: Prolongation::identity(point_count) };
    for _ in 0..levels {
        let once = subdivide(all.prolongation.fine_count(), &all.triangles, scheme);
        all = Subdivision {
            triangles: once.triangles,
            prolongation: all.prolongation.then(&once.prolongation),
        };
    }
    all
}

/// Loop's rules. Inside: an old point keeps 1 − nβ and takes β of each of its n neighbours, β = 3/16 for n = 3 and
/// 3/(8n) otherwise (Warren's); a new one has 3/8 of the ends of its edge and 1/8 of the two points across. On a
/// boundary: 3/4 and 1/8 of both neighbours along it; ½ of both ends. Where other than two boundary edges meet, stay.
fn loop_rows(topology: &Topology, triangles: &[[u32; 3]]) -> Vec<Vec<(u32, f64)>> {
    let count = topology.vertex_count();
    let mut along_boundary: Vec<Vec<u32>> = vec![Vec::new(); count];
    for edge in topology.edges().iter().filter(|edge| edge.triangles.len() != 2) {
        let [a, b] = edge.vertices;
        along_boundary[a as usize].push(b);
        along_boundary[b as usize].push(a);
    }
    let neighbours = topology.neighbours();
    let old = (0..count).map(|v| {
        let here = v as u32;
        match along_boundary[v][..] {
            [] if neighbours[v].is_empty() => vec![(here, 1.0)],
            [] => {
                let n = neighbours[v].len() as f64;
                let beta = if neighbours[v].len() == 3 { 3.0 / 16.0 } else { 3.0 / (8.0 * n) };
                let mut row: Vec<(u32, f64)> = neighbours[v].iter().map(|&w| (w, beta)).collect();
                row.push((here, 1.0 - n * beta));
                row
            }
            [a, b] => vec![(here, 0.75), (a, 0.125), (b, 0.125)],
            _ => vec![(here, 1.0)],
        }
    });
    let new = topology.edges().iter().map(|edge| {
        let [a, b] = edge.vertices;
        let [s, t] = edge.triangles[..] else { return vec![(a, 0.5), (b, 0.5)] };
        let across = [s, t].map(|t| {
            // a triangle with three different corners has one that is not on the edge
            triangles[t as usize].into_iter().find(|v| *v != a && *v != b).unwrap_or(a)
        });
        vec![(a, 0.375), (b, 0.375), (across[0], 0.125), (across[1], 0.125)]
    });
    old.chain(new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vec3;

    const TETRAHEDRON: [[u32; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];

    fn octahedron() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let points = vec![Vec3::X, -Vec3::X, Vec3::Y, -Vec3::Y, Vec3::Z, -Vec3::Z];
        let triangles =
            vec![[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
        (points, triangles)
    }

    #[test]
    fn both_schemes_give_four_triangles_each_and_keep_constants() {
        for scheme in [Scheme::Linear, Scheme::Loop] {
            let once = subdivide(4, &TETRAHEDRON, scheme);
            assert_eq!((once.triangles.len(), once.prolongation.fine_count()), (16, 10));
            let topology = Topology::new(10, &once.triangles);
            assert_eq!(topology.boundary_edges().count() + topology.non_manifold_edges().count(), 0);
            let thrice = subdivide_times(4, &TETRAHEDRON, scheme, 3);
            assert_eq!((thrice.triangles.len(), thrice.prolongation.fine_count()), (256, 130));
            for value in thrice.prolongation.numbers(&[1.0; 4]) {
                assert!((value - 1.0).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn linear_keeps_the_surface() {
        let points = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::new(1.0, 1.0, 0.5)];
        let fine = subdivide_times(4, &[[0, 1, 2], [2, 1, 3]], Scheme::Linear, 2);
        let placed = fine.prolongation.vectors(&points);
        assert_eq!(placed[..4], points);
        let area = |points: &[Vec3], triangles: &[[u32; 3]]| -> f64 {
            crate::vertex_areas(points, triangles).iter().sum()
        };
        let coarse = area(&points, &[[0, 1, 2], [2, 1, 3]]);
        assert!((area(&placed, &fine.triangles) - coarse).abs() < 1e-14);
    }

    #[test]
    fn loop_surfaces_approach_a_limit_with_second_order_and_keep_flat_boundaries() {
        // Loop's limit surface is curvature continuous: the volume enclosed converges by a factor of four per level
        let (points, triangles) = octahedron();
        let volume = |levels: usize| -> f64 {
            let fine = subdivide_times(6, &triangles, Scheme::Loop, levels);
            let x = fine.prolongation.vectors(&points);
            let six: f64 = fine
                .triangles
                .iter()
                .map(|t| {
                    let [a, b, c] = t.map(|v| x[v as usize]);
                    a.dot(b.cross(c))
                })
                .sum();
            six / 6.0
        };
        let v: Vec<f64> = (2..=5).map(volume).collect();
        let steps: Vec<f64> = v.windows(2).map(|pair| pair[0] - pair[1]).collect();
        for pair in steps.windows(2) {
            let ratio = pair[0] / pair[1];
            assert!((3.4..4.6).contains(&ratio), "{steps:?}");
        }
        // a flat square stays flat, and straight sides stay straight
        let flat = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X + Vec3::Y];
        let fine = subdivide_times(4, &[[0, 1, 2], [2, 1, 3]], Scheme::Loop, 3);
        for p in fine.prolongation.vectors(&flat) {
            assert!(p.z == 0.0 && p.x >= 0.0 && p.x <= 1.0 && p.y >= 0.0 && p.y <= 1.0);
        }
    }

    #[test]
    fn strange_meshes_are_accepted() {
        // a fin on an edge, a degenerate triangle, a loose point
        let triangles = [[0, 1, 2], [1, 0, 3], [0, 1, 4], [5, 5, 0]];
        for scheme in [Scheme::Linear, Scheme::Loop] {
            let fine = subdivide_times(7, &triangles, scheme, 2);
            assert_eq!(fine.triangles.len(), 48);
            assert!(fine.prolongation.numbers(&[1.0; 7]).iter().all(|v| (v - 1.0).abs() < 1e-14));
        }
        assert_eq!(subdivide(0, &[], Scheme::Loop).prolongation.fine_count(), 0);
    }
}
