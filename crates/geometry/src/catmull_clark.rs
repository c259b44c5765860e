//! Catmull–Clark subdivision: the bicubic B-spline of a grid, for any mesh of polygons.
//!
//! Old points come first, then one for each edge, in the order of their ends, then one for each face.

use std::collections::BTreeMap;

use crate::{Prolongation, Scheme, Topology, Vec3};

/// A mesh cut into quadrangles.
#[derive(Clone, Debug, PartialEq)]
pub struct QuadSubdivision {
    /// One for every corner of every old face, in their order.
    pub quads: Vec<[u32; 4]>,
    /// From the old points to the new.
    pub prolongation: Prolongation,
}

impl QuadSubdivision {
    /// Two triangles for each.
    pub fn triangles(&self) -> Vec<[u32; 3]> {
        self.quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect()
    }
}

/// Cuts every polygon into as many quadrangles as it has corners, `levels` times. [`Scheme::Linear`] keeps points and puts new ones in the middle
/// of edges and faces; the other scheme is Catmull and Clark's.
///
/// Inside, n edges meeting at P: (F + 2R + (n − 3)P)/n with F the mean of the faces' middles, R of the edges'; a new edge point is the mean of its
/// ends and of the middles of both faces. On a boundary: 3/4 and 1/8 of both neighbours along it, and ½ of both ends: cubic B-splines. Where
/// other than two boundary edges meet, points stay. On a grid the limit is the bicubic B-spline of its points.
///
/// Catmull & Clark 1978; boundaries as in DeRose et al. 1998.
pub fn subdivide_polygons(
    point_count: usize,
    faces: &[Vec<u32>],
    scheme: Scheme,
    levels: usize,
) -> QuadSubdivision {
    let mut all = QuadSubdivision { quads: Vec::new(), prolongation: Prolongation::identity(point_count) };
    let mut faces = faces.to_vec();
    for _ in 0..levels {
        let once = once(all.prolongation.fine_count(), &faces, scheme);
        faces = once.quads.iter().map(|quad| quad.to_vec()).collect();
        all = QuadSubdivision { quads: once.quads, prolongation: all.prolongation.then(&once.prolongation) };
    }
    all
}

type Row = Vec<(u32, f64)>;

fn once(count: usize, faces: &[Vec<u32>], scheme: Scheme) -> QuadSubdivision {
    let mut edges: BTreeMap<[u32; 2], Vec<usize>> = BTreeMap::new();
    let sides = |face: &[u32]| -> Vec<[u32; 2]> {
        (0..face.len()).map(|k| [face[k], face[(k + 1) % face.len()]]).collect()
    };
    for (f, face) in faces.iter().enumerate() {
        sides(face).into_iter().for_each(|[a, b]| edges.entry([a.min(b), a.max(b)]).or_default().push(f));
    }
    let index: BTreeMap<[u32; 2], u32> =
        edges.keys().enumerate().map(|(k, ends)| (*ends, (count + k) as u32)).collect();
    let on_edge = |a: u32, b: u32| index.get(&[a.min(b), a.max(b)]).copied().unwrap_or(a);
    let mut quads = Vec::new();
    for (f, face) in faces.iter().enumerate() {
        let middle = (count + edges.len() + f) as u32;
        let n = face.len();
        let corner = |k: usize| {
            [face[k], on_edge(face[k], face[(k + 1) % n]), middle, on_edge(face[(k + n - 1) % n], face[k])]
        };
        quads.extend((0..n).map(corner));
    }
    let middle = |f: usize| -> Row {
        let share = 1.0 / faces[f].len() as f64;
        faces[f].iter().map(|v| (*v, share)).collect()
    };
    let mut rows: Vec<Row> = match scheme {
        Scheme::Linear => (0..count as u32).map(|v| vec![(v, 1.0)]).collect(),
        Scheme::Loop => old_points(count, faces, &edges, &middle),
    };
    for (ends, beside) in &edges {
        let mut row: Row = ends.map(|v| (v, 0.5)).to_vec();
        if let (Scheme::Loop, [s, t]) = (scheme, &beside[..]) {
            row.iter_mut().for_each(|(_, w)| *w = 0.25);
            row.extend([*s, *t].into_iter().flat_map(middle).map(|(v, w)| (v, 0.25 * w)));
        }
        rows.push(row);
    }
    rows.extend((0..faces.len()).map(middle));
    QuadSubdivision { quads, prolongation: Prolongation::new(count, rows.into_iter().map(merged)) }
}

fn old_points(
    count: usize,
    faces: &[Vec<u32>],
    edges: &BTreeMap<[u32; 2], Vec<usize>>,
    middle: &impl Fn(usize) -> Row,
) -> Vec<Row> {
    let mut around = vec![Vec::new(); count];
    faces.iter().enumerate().for_each(|(f, face)| face.iter().for_each(|v| around[*v as usize].push(f)));
    let mut neighbours = vec![Vec::new(); count];
    let mut along = vec![Vec::new(); count];
    for (&[a, b], beside) in edges {
        for (v, w) in [(a, b), (b, a)] {
            neighbours[v as usize].push(w);
            if beside.len() != 2 {
                along[v as usize].push(w);
            }
        }
    }
    let row = |v: usize| -> Row {
        let here = v as u32;
        match along[v][..] {
            [] if !neighbours[v].is_empty() => {
                let n = neighbours[v].len() as f64;
                let faces_share = 1.0 / (n * around[v].len() as f64);
                let mut row: Row = vec![(here, (n - 3.0) / n + 1.0 / n)];
                row.extend(neighbours[v].iter().map(|w| (*w, 1.0 / (n * n))));
                for f in &around[v] {
                    row.extend(middle(*f).into_iter().map(|(w, share)| (w, faces_share * share)));
                }
                row
            }
            [a, b] => vec![(here, 0.75), (a, 0.125), (b, 0.125)],
            _ => vec![(here, 1.0)],
        }
    };
    (0..count).map(row).collect()
}

/// One entry for each point.
fn merged(row: Row) -> Row {
    let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
    row.into_iter().for_each(|(v, w)| *sums.entry(v).or_default() += w);
    sums.into_iter().collect()
}

/// Corners of a quadrangle may be this far from square, as a cosine: cut along the side of a cell instead of its diagonal, they are at 0.7.
const SQUARE: f64 = 0.6;

/// Triangles of a mesh of quadrangles, put together again: the pairs whose corners are nearest to square, the best first; what has no partner
/// stays a triangle.
pub fn quads_of_triangles(points: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Vec<u32>> {
    let topology = Topology::new(points.len(), triangles);
    let mut pairs: Vec<(f64, [usize; 2], Vec<u32>)> = Vec::new();
    for edge in topology.edges() {
        let [s, t] = edge.triangles[..] else { continue };
        let (s, t) = (s as usize, t as usize);
        let across = |t: usize| triangles[t].into_iter().find(|v| !edge.vertices.contains(v));
        let (Some(p), Some(q)) = (across(s), across(t)) else { continue };
        let Some(k) = triangles[s].iter().position(|v| *v == p) else { continue };
        let [a, b] = [triangles[s][(k + 1) % 3], triangles[s][(k + 2) % 3]];
        let quad = vec![p, a, q, b];
        let crooked = (0..4).map(|k| {
            let at = |k: usize| points[quad[k % 4] as usize];
            let (u, v) = (at(k + 1) - at(k), at(k + 3) - at(k));
            (u.dot(v) / (u.length() * v.length())).abs()
        });
        let crooked = crooked.fold(0.0, f64::max);
        if crooked <= SQUARE {
            pairs.push((crooked, [s, t], quad));
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut taken = vec![false; triangles.len()];
    let mut faces = Vec::new();
    for (_, both, quad) in pairs {
        if both.iter().all(|t| !taken[*t]) {
            both.iter().for_each(|t| taken[*t] = true);
            faces.push(quad);
        }
    }
    faces.extend(triangles.iter().zip(taken).filter(|(_, taken)| !taken).map(|(t, _)| t.to_vec()));
    faces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of n × n cells, cut along diagonals that alternate, with heights of no sense.
    fn grid(n: u32) -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let at = |i: u32, j: u32| j * (n + 1) + i;
        let height = |i: u32, j: u32| f64::from((i * 37 + j * 61 + i * j * 13) % 17) / 17.0 - 0.5;
        let place = |i: u32, j: u32| Vec3::new(f64::from(i), f64::from(j), height(i, j));
        let points = (0..=n).flat_map(|j| (0..=n).map(move |i| place(i, j))).collect();
        let cut = |(i, j): (u32, u32)| {
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            if (i + j) % 2 == 0 { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
        };
        (points, (0..n).flat_map(|j| (0..n).map(move |i| (i, j))).flat_map(cut).collect())
    }

    #[test]
    fn a_grid_goes_to_its_bicubic_b_spline() {
        let n = 6;
        let (points, triangles) = grid(n);
        let flat: Vec<Vec3> = points.iter().map(|p| Vec3::new(p.x, p.y, 0.0)).collect();
        let faces = quads_of_triangles(&flat, &triangles);
        assert!(faces.len() == 36 && faces.iter().all(|face| face.len() == 4));
        // the surface at a knot: 4/6, 1/6 and 1/6 of its points in both directions
        let at = |i: u32, j: u32| (j * (n + 1) + i) as usize;
        let spline = |i: u32, j: u32| -> Vec3 {
            let weight = [1.0, 4.0, 1.0].map(|w| w / 6.0);
            let pairs = (0..3).flat_map(|b| (0..3).map(move |a| (a, b)));
            pairs.map(|(a, b)| weight[a] * weight[b] * points[at(i + a as u32 - 1, j + b as u32 - 1)]).sum()
        };
        let worst = |levels: usize| {
            let cut = subdivide_polygons(points.len(), &faces, Scheme::Loop, levels);
            let found = cut.prolongation.vectors(&points);
            let inside = (1..n).flat_map(|j| (1..n).map(move |i| (i, j)));
            inside.map(|(i, j)| found[at(i, j)].distance(spline(i, j))).fold(0.0, f64::max)
        };
        // a quarter of the error with each level
        let (two, five) = (worst(2), worst(5));
        assert!(two > 1e-3 && five < 1.05 * two / 64.0, "{two} {five}");
    }

    #[test]
    fn rows_sum_to_one_and_linear_keeps_the_surface() {
        let (points, mut triangles) = grid(3);
        triangles.pop();
        let faces = quads_of_triangles(&points, &triangles);
        for scheme in [Scheme::Linear, Scheme::Loop] {
            let cut = subdivide_polygons(points.len(), &faces, scheme, 2);
            let corners: usize = faces.iter().map(Vec::len).sum();
            assert_eq!(cut.quads.len(), 4 * corners);
            for i in 0..cut.prolongation.fine_count() {
                let sum: f64 = cut.prolongation.row(i).map(|(_, w)| w).sum();
                assert!((sum - 1.0).abs() < 1e-14);
            }
        }
        let cut = subdivide_polygons(points.len(), &faces, Scheme::Linear, 2);
        assert!(cut.prolongation.vectors(&points).iter().zip(&points).all(|(a, b)| a == b));
        assert!(cut.triangles().len() == 2 * cut.quads.len());
    }
}
