//! Where the threads of a cloth run: the quads of a mesh, and which of their sides are warp and weft.
//!
//! Length can only be kept along a thread that the mesh has edges for. In a quad mesh laid along the grain every side is a
//! piece of thread and every cell still shears freely; on all edges of a triangle mesh the same constraints would lock it,
//! because a locally convex triangle mesh is rigid. inextensible §3.

use std::collections::VecDeque;

use geometry::{Vec2, Vec3};

use super::pairing::pair;
use crate::{Error, axes_from_direction, axes_from_uv};

/// A side within this angle of a thread (cos 30°) runs along it.
const ALONG: f64 = 0.866;

/// A polygon of the mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Face {
    /// Its corners.
    pub points: Vec<u32>,
    /// Texture coordinates of its corners; empty when there are none.
    pub uvs: Vec<Vec2>,
}

/// What says how the threads run.
#[derive(Clone, Copy, Debug)]
pub enum ThreadDirections<'a> {
    /// Texture coordinates, warp along u; where a face has none, warp runs along this direction in space.
    Uv(Vec3),
    /// Named edges: those between two points that are marked are warp. From there threads run on through the quads: the side
    /// opposite a warp thread is warp, the sides between are weft.
    Named(&'a [bool]),
}

/// The threads of a mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weave {
    /// Cells, corners in order around each.
    pub quads: Vec<[u32; 4]>,
    /// Pieces of warp thread.
    pub warp: Vec<[u32; 2]>,
    /// Pieces of weft thread.
    pub weft: Vec<[u32; 2]>,
    /// Edges along neither: sides of single triangles, and of quads that lie across the grain.
    pub bias: Vec<[u32; 2]>,
    /// Quads that were made of two triangles each.
    pub paired: usize,
    /// Faces that are no quads.
    pub others: usize,
}

/// Which thread an edge is a piece of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ThreadKind {
    Warp,
    Weft,
    Bias,
}

impl ThreadKind {
    fn crossed(self) -> Self {
        match self {
            Self::Warp => Self::Weft,
            Self::Weft => Self::Warp,
            Self::Bias => Self::Bias,
        }
    }
}

/// Sides of a face, in pairs of points, lower first.
fn sides(points: &[u32]) -> impl Iterator<Item = [u32; 2]> + '_ {
    (0..points.len()).map(|i| {
        let (a, b) = (points[i], points[(i + 1) % points.len()]);
        [a.min(b), a.max(b)]
    })
}

impl Weave {
    /// Finds the threads. Quads are taken as they are, triangles paired into quads where they are the halves of a grid's
    /// cells; polygons with more corners are surrounded by threads but hold none.
    pub fn new(rest: &[Vec3], faces: &[Face], lay: ThreadDirections<'_>) -> Result<Self, Error> {
        for (index, face) in faces.iter().enumerate() {
            if let Some(&point) = face.points.iter().find(|&&p| p as usize >= rest.len()) {
                return Err(Error::IndexOutOfRange { triangle: index, index: point, count: rest.len() });
            }
        }
        let (cells, paired) = cells(rest, faces);
        let quads = || cells.iter().filter(|face| face.points.len() == 4);
        let mut weave = Self {
            quads: quads()
                .map(|face| [face.points[0], face.points[1], face.points[2], face.points[3]])
                .collect(),
            paired,
            others: cells.len() - quads().count(),
            ..Self::default()
        };
        let kinds = match lay {
            ThreadDirections::Uv(direction) => kinds_by_axes(rest, &cells, direction),
            ThreadDirections::Named(marked) => kinds_by_name(rest.len(), &cells, marked)?,
        };
        for (edge, kind) in kinds {
            match kind {
                ThreadKind::Warp => weave.warp.push(edge),
                ThreadKind::Weft => weave.weft.push(edge),
                ThreadKind::Bias => weave.bias.push(edge),
            }
        }
        if weave.warp.is_empty() && weave.weft.is_empty() {
            return Err(Error::NoThreads { quads: weave.quads.len(), faces: faces.len() });
        }
        Ok(weave)
    }

    /// Every piece of thread: warp, then weft.
    pub fn edges(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        self.warp.iter().chain(&self.weft).copied()
    }

    /// Soft springs that resist shearing, with stiffness for `shear` in N/m: both diagonals of every quad, and the
    /// edges along neither thread.
    ///
    /// Shearing a cell of sides a and b by γ changes each diagonal by γab/√(a²+b²); two springs of k hold ½ G γ² ab
    /// when k = G (a²+b²)/(2ab).
    pub fn shear_springs(&self, rest: &[Vec3], shear: f64) -> Vec<([u32; 2], dynamics::Spring)> {
        let length = |[a, b]: [u32; 2]| rest[a as usize].distance(rest[b as usize]);
        let spring = |ends: [u32; 2], stiffness: f64| {
            (ends, dynamics::Spring { stiffness, rest_length: length(ends) })
        };
        let mut springs = Vec::with_capacity(2 * self.quads.len() + self.bias.len());
        for &[a, b, c, d] in &self.quads {
            let (p, q) = (0.5 * (length([a, b]) + length([d, c])), 0.5 * (length([b, c]) + length([a, d])));
            // a cell a hundred times longer than wide would have springs stiffer than its threads
            let stiffness = shear * ((p * p + q * q) / (2.0 * p * q)).min(100.0);
            if stiffness.is_finite() && stiffness > 0.0 {
                springs.extend([spring([a, c], stiffness), spring([b, d], stiffness)]);
            }
        }
        if shear > 0.0 {
            springs.extend(
                self.bias.iter().filter(|&&ends| length(ends) > 0.0).map(|&ends| spring(ends, shear)),
            );
        }
        springs
    }
}

/// The faces with triangles paired where they can be, and how many pairs there are.
fn cells(rest: &[Vec3], faces: &[Face]) -> (Vec<Face>, usize) {
    let proper = |face: &&Face| {
        let distinct = |i: usize| !face.points[..i].contains(&face.points[i]);
        face.points.len() >= 3 && (0..face.points.len()).all(distinct)
    };
    let mut cells: Vec<Face> =
        faces.iter().filter(proper).filter(|face| face.points.len() != 3).cloned().collect();
    let halves: Vec<&Face> = faces.iter().filter(proper).filter(|face| face.points.len() == 3).collect();
    let triangles: Vec<[u32; 3]> = halves.iter().map(|f| [f.points[0], f.points[1], f.points[2]]).collect();
    let pairs = pair(rest, &triangles);
    for (quad, of) in &pairs.quads {
        let uv = |point: u32| {
            of.iter().find_map(|&t| {
                let corner = halves[t].points.iter().position(|&p| p == point)?;
                halves[t].uvs.get(corner).copied()
            })
        };
        let uvs: Vec<Vec2> = quad.iter().filter_map(|&point| uv(point)).collect();
        cells.push(Face { points: quad.to_vec(), uvs: if uvs.len() == 4 { uvs } else { Vec::new() } });
    }
    cells.extend(pairs.single.iter().map(|&t| halves[t].clone()));
    (cells, pairs.quads.len())
}

/// Each edge with its kind, sorted, from the direction of warp in each face. An edge that one face sees as a thread is one;
/// quads have the first word.
fn kinds_by_axes(rest: &[Vec3], cells: &[Face], direction: Vec3) -> Vec<([u32; 2], ThreadKind)> {
    let mut seen: Vec<([u32; 2], u8, ThreadKind)> = Vec::new();
    for face in cells {
        let corner = |i: usize| rest[face.points[i] as usize];
        let count = face.points.len();
        // a triangle across the middle of the face speaks for it
        let middle = [0, count / 3, 2 * count / 3 + usize::from(count % 3 == 2)].map(|i| i.min(count - 1));
        let points = middle.map(corner);
        let by_uv = || axes_from_uv(&points, &middle.map(|i| face.uvs[i]));
        let axes = (face.uvs.len() == count).then(by_uv).flatten();
        let axes = axes.or_else(|| axes_from_direction(&points, direction));
        let rank = u8::from(count != 4);
        let kind = |line: Vec3| {
            let Some([warp, weft]) = axes else { return ThreadKind::Bias };
            let line = line.normalize_or_zero();
            match (line.dot(warp).abs(), line.dot(weft).abs()) {
                (along, _) if along >= ALONG => ThreadKind::Warp,
                (_, along) if along >= ALONG => ThreadKind::Weft,
                _ => ThreadKind::Bias,
            }
        };
        for (i, side) in sides(&face.points).enumerate() {
            let line = corner((i + 1) % count) - corner(i);
            let opposite = if count == 4 { corner((i + 2) % 4) - corner((i + 3) % 4) } else { Vec3::ZERO };
            let kind = kind(line + opposite);
            seen.push((side, rank + 2 * u8::from(kind == ThreadKind::Bias), kind));
        }
    }
    seen.sort_by_key(|&(edge, rank, _)| (edge, rank));
    seen.dedup_by_key(|&mut (edge, ..)| edge);
    seen.into_iter().map(|(edge, _, kind)| (edge, kind)).collect()
}

/// Each edge with its kind, sorted, spread from the named warp edges through the quads.
fn kinds_by_name(
    points: usize,
    cells: &[Face],
    marked: &[bool],
) -> Result<Vec<([u32; 2], ThreadKind)>, Error> {
    if marked.len() != points {
        return Err(Error::WrongLength { what: "warp marks", found: marked.len(), expected: points });
    }
    let mut edges: Vec<[u32; 2]> = cells.iter().flat_map(|face| sides(&face.points)).collect();
    edges.sort_unstable();
    edges.dedup();
    // every side is in the list
    let place = |edge: [u32; 2]| edges.binary_search(&edge).unwrap_or_default();
    let mut around: Vec<Vec<(usize, usize)>> = vec![Vec::new(); edges.len()];
    let mut sides_of: Vec<Vec<usize>> = Vec::with_capacity(cells.len());
    for (index, face) in cells.iter().enumerate() {
        let places: Vec<usize> = sides(&face.points).map(place).collect();
        places.iter().enumerate().for_each(|(side, &edge)| around[edge].push((index, side)));
        sides_of.push(places);
    }
    let named = |edge: &[u32; 2]| edge.iter().all(|&p| marked[p as usize]);
    let mut kinds: Vec<Option<ThreadKind>> =
        edges.iter().map(|edge| named(edge).then_some(ThreadKind::Warp)).collect();
    let mut open: VecDeque<usize> = (0..edges.len()).filter(|&edge| kinds[edge].is_some()).collect();
    while let Some(edge) = open.pop_front() {
        let Some(kind) = kinds[edge] else { continue };
        for &(face, side) in &around[edge] {
            if sides_of[face].len() != 4 {
                continue;
            }
            let turned = |k: usize| sides_of[face][(side + k) % 4];
            for (next, kind) in [(turned(2), kind), (turned(1), kind.crossed()), (turned(3), kind.crossed())]
            {
                if kinds[next].is_none() {
                    kinds[next] = Some(kind);
                    open.push_back(next);
                }
            }
        }
    }
    Ok(edges.into_iter().zip(kinds).map(|(edge, kind)| (edge, kind.unwrap_or(ThreadKind::Bias))).collect())
}

#[cfg(test)]
mod tests {
    use super::super::testing::grid;
    use super::*;

    fn triangulated(faces: &[Face]) -> Vec<Face> {
        let half = |face: &Face, corners: [usize; 3]| Face {
            points: corners.map(|i| face.points[i]).to_vec(),
            uvs: if face.uvs.is_empty() { Vec::new() } else { corners.map(|i| face.uvs[i]).to_vec() },
        };
        faces.iter().flat_map(|face| [half(face, [0, 1, 2]), half(face, [0, 2, 3])]).collect()
    }

    fn is_along(rest: &[Vec3], edges: &[[u32; 2]], axis: Vec3) -> bool {
        edges.iter().all(|[a, b]| (rest[*b as usize] - rest[*a as usize]).normalize().dot(axis).abs() > 0.999)
    }

    #[test]
    fn uv_says_which_sides_are_warp() {
        let (rest, faces) = grid(5, 3);
        let by_uv = Weave::new(&rest, &faces, ThreadDirections::Uv(Vec3::Y)).unwrap();
        assert_eq!((by_uv.quads.len(), by_uv.paired, by_uv.others), (15, 0, 0));
        assert_eq!((by_uv.warp.len(), by_uv.weft.len(), by_uv.bias.len()), (5 * 4, 6 * 3, 0));
        assert!(is_along(&rest, &by_uv.warp, Vec3::X) && is_along(&rest, &by_uv.weft, Vec3::Z));
        // triangles give the same threads, and so do squeezed uvs
        let halves = triangulated(&faces);
        let paired = Weave::new(&rest, &halves, ThreadDirections::Uv(Vec3::Y)).unwrap();
        assert_eq!((paired.paired, &paired.warp, &paired.weft), (15, &by_uv.warp, &by_uv.weft));
        let mut squeezed = faces.clone();
        squeezed.iter_mut().flat_map(|face| &mut face.uvs).for_each(|uv| uv.x *= 0.01);
        assert_eq!(Weave::new(&rest, &squeezed, ThreadDirections::Uv(Vec3::Y)).unwrap().warp, by_uv.warp);
    }

    #[test]
    fn without_uv_a_direction_decides_and_names_decide_over_both() {
        let (rest, mut faces) = grid(5, 3);
        let threads = Weave::new(&rest, &faces, ThreadDirections::Uv(Vec3::Y)).unwrap();
        faces.iter_mut().for_each(|face| face.uvs.clear());
        let turned = Weave::new(&rest, &faces, ThreadDirections::Uv(Vec3::Z)).unwrap();
        assert_eq!((&turned.warp, &turned.weft), (&threads.weft, &threads.warp));
        // one edge along z is named: all threads along z are warp
        let mut marked = vec![false; rest.len()];
        [0, 6].iter().for_each(|&p: &usize| marked[p] = true);
        let named = Weave::new(&rest, &faces, ThreadDirections::Named(&marked)).unwrap();
        assert_eq!((&named.warp, &named.weft), (&threads.weft, &threads.warp));
        assert!(matches!(
            Weave::new(&rest, &faces, ThreadDirections::Named(&[true])),
            Err(Error::WrongLength { .. })
        ));
    }

    #[test]
    fn quads_across_the_grain_hold_no_threads() {
        let (rest, mut faces) = grid(4, 4);
        for face in &mut faces {
            face.uvs.iter_mut().for_each(|uv| *uv = Vec2::new(uv.x + uv.y, uv.x - uv.y));
        }
        let refused = Weave::new(&rest, &faces, ThreadDirections::Uv(Vec3::Y));
        assert_eq!(refused, Err(Error::NoThreads { quads: 16, faces: 16 }));
        assert_eq!(
            Weave::new(&rest, &[], ThreadDirections::Uv(Vec3::Y)),
            Err(Error::NoThreads { quads: 0, faces: 0 })
        );
    }

    #[test]
    fn single_triangles_give_threads_only_along_the_grain() {
        let (mut rest, mut faces) = grid(2, 1);
        rest.push(Vec3::new(rest[2].x + 0.05, 0.0, 0.05));
        faces.push(Face { points: vec![2, 5, 6], uvs: Vec::new() });
        let weave = Weave::new(&rest, &faces, ThreadDirections::Uv(Vec3::X)).unwrap();
        assert_eq!((weave.quads.len(), weave.others), (2, 1));
        assert_eq!(weave.bias, [[2, 6], [5, 6]]);
    }

    #[test]
    fn shear_springs_hold_the_energy_of_the_sheared_area() {
        use dynamics::Element;
        let (rest, faces) = grid(3, 2);
        let weave = Weave::new(&rest, &faces, ThreadDirections::Uv(Vec3::Y)).unwrap();
        let gamma = 1e-4;
        let sheared: Vec<Vec3> = rest.iter().map(|p| *p + gamma * p.z * Vec3::X).collect();
        let springs = weave.shear_springs(&rest, 50.0);
        let energy: f64 = springs.iter().map(|(ends, s)| s.value(&ends.map(|p| sheared[p as usize]))).sum();
        let area = (rest[3].x - rest[0].x) * (rest[11].z - rest[0].z).abs();
        assert!((energy / (0.5 * 50.0 * gamma * gamma * area) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn edges_along_no_thread_have_shear_springs_of_their_own() {
        let (mut rest, mut faces) = grid(2, 1);
        rest.push(Vec3::new(rest[2].x + 0.05, 0.0, 0.05));
        faces.push(Face { points: vec![2, 5, 6], uvs: Vec::new() });
        let weave = Weave::new(&rest, &faces, ThreadDirections::Uv(Vec3::X)).unwrap();
        let springs = weave.shear_springs(&rest, 3.0);
        assert_eq!(springs.len(), 2 * 2 + 2, "two for each quad, one for each of these edges");
        for ends in [[2, 6], [5, 6]] {
            let (_, spring) = springs.iter().find(|(of, _)| *of == ends).expect("a spring");
            let length = rest[ends[0] as usize].distance(rest[ends[1] as usize]);
            assert_eq!((spring.stiffness, spring.rest_length), (3.0, length));
        }
        assert!(weave.shear_springs(&rest, 0.0).is_empty());
    }
}
