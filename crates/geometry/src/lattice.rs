//! Control lattices: coarse cells around an object, on which functions of space are defined.
//!
//! A cell is a hexahedron, a triangular prism or a tet; in each of them every corner has three edges, so that one rule of
//! subdivision (MacCracken & Joy 1996) cuts all of them into hexahedra, one for each corner. What lives on a lattice are
//! values at its points, extended by that rule: linear on tets, trilinear on boxes.

use std::collections::BTreeMap;

use crate::{Error, TET_FACES, TetMesh, Vec3, tet_volume};

/// Corners of one cell of a [`Lattice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// (b−a)×(c−a)·(d−a) is above zero.
    Tet([u32; 4]),
    /// A triangle, then the one above it: corner i+3 stands over corner i.
    Prism([u32; 6]),
    /// A quad, counter-clockwise seen from above, then the one above it: VegaFEM's order.
    Hex([u32; 8]),
}

/// For every corner its three neighbours, right-handed as seen from it.
const TET_NEIGHBOURS: [[usize; 3]; 4] = TET_FACES;
const PRISM_NEIGHBOURS: [[usize; 3]; 6] = [[1, 2, 3], [2, 0, 4], [0, 1, 5], [5, 4, 0], [3, 5, 1], [4, 3, 2]];
const HEX_NEIGHBOURS: [[usize; 3]; 8] =
    [[1, 3, 4], [2, 0, 5], [3, 1, 6], [0, 2, 7], [7, 5, 0], [4, 6, 1], [5, 7, 2], [6, 4, 3]];

/// Faces, counter-clockwise seen from outside.
const TET_SIDES: [&[usize]; 4] = [&[1, 2, 3], &[0, 3, 2], &[0, 1, 3], &[0, 2, 1]];
const PRISM_SIDES: [&[usize]; 5] = [&[0, 2, 1], &[3, 4, 5], &[0, 1, 4, 3], &[1, 2, 5, 4], &[2, 0, 3, 5]];
const HEX_SIDES: [&[usize]; 6] =
    [&[0, 3, 2, 1], &[4, 5, 6, 7], &[0, 1, 5, 4], &[1, 2, 6, 5], &[2, 3, 7, 6], &[3, 0, 4, 7]];

impl Cell {
    /// Its corners.
    pub fn corners(&self) -> &[u32] {
        match self {
            Self::Tet(corners) => corners,
            Self::Prism(corners) => corners,
            Self::Hex(corners) => corners,
        }
    }

    fn neighbours(&self) -> &'static [[usize; 3]] {
        match self {
            Self::Tet(_) => &TET_NEIGHBOURS,
            Self::Prism(_) => &PRISM_NEIGHBOURS,
            Self::Hex(_) => &HEX_NEIGHBOURS,
        }
    }

    /// Its faces as lists of points, counter-clockwise seen from outside.
    pub fn faces(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        let sides: &[&[usize]] = match self {
            Self::Tet(_) => &TET_SIDES,
            Self::Prism(_) => &PRISM_SIDES,
            Self::Hex(_) => &HEX_SIDES,
        };
        sides.iter().map(|side| side.iter().map(|&corner| self.corners()[corner]).collect())
    }

    /// Its edges, the smaller point first.
    pub fn edges(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        let corners = self.corners();
        let ordered = move |i: usize, j: usize| (i < j).then(|| sorted([corners[i], corners[j]]));
        let around = self.neighbours().iter().enumerate();
        around.flat_map(move |(i, near)| near.iter().filter_map(move |&j| ordered(i, j)))
    }

    /// The cell cut into tets, so that cells with a common face cut it alike: from the smallest corner to every face
    /// without it, each face from its own smallest corner.
    pub fn tets(&self) -> Vec<[u32; 4]> {
        let Some(&apex) = self.corners().iter().min() else { return Vec::new() };
        let mut tets = Vec::new();
        for mut face in self.faces().filter(|face| !face.contains(&apex)) {
            let least = (0..face.len()).min_by_key(|&k| face[k]).unwrap_or(0);
            face.rotate_left(least);
            // seen from the apex, which is inside, the face runs clockwise
            tets.extend(face[1..].windows(2).map(|pair| [apex, face[0], pair[0], pair[1]]));
        }
        tets
    }
}

/// Points this near to a segment, as a part of its length, are on it.
const ON_SEGMENT: f64 = 1e-6;

/// Convex cells that share whole faces, edges or corners.
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    points: Vec<Vec3>,
    cells: Vec<Cell>,
}

/// A lattice of hexahedra, each new point the mean of old ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    /// The finer lattice; its first points are those of the coarser one.
    pub lattice: Lattice,
    /// For every point after those, the coarser points that it is the mean of: ends of an edge, corners of a face, of a cell.
    pub parents: Vec<Vec<u32>>,
}

impl Lattice {
    /// Checks points, indices and that no cell is flat or inside out at any corner.
    pub fn new(points: Vec<Vec3>, cells: Vec<Cell>) -> Result<Self, Error> {
        if cells.is_empty() {
            return Err(Error::Empty { what: "cells" });
        }
        if let Some(point) = points.iter().position(|p| !p.is_finite()) {
            return Err(Error::NotFinite { point });
        }
        let count = points.len();
        for (index, cell) in cells.iter().enumerate() {
            if let Some(&point) = cell.corners().iter().find(|&&v| v as usize >= count) {
                return Err(Error::NoSuchPoint { element: "cell", index, point, count });
            }
        }
        let lattice = Self { points, cells };
        match (0..lattice.cells.len()).find(|&cell| !lattice.is_sound(cell)) {
            Some(cell) => Err(Error::BadCell { cell }),
            None => Ok(lattice),
        }
    }

    /// Every tet a cell.
    pub fn from_tets(mesh: &TetMesh) -> Self {
        let cells = mesh.tets().iter().map(|&tet| Cell::Tet(tet)).collect();
        Self { points: mesh.points().to_vec(), cells }
    }

    /// Hexahedra that fill a box from the origin to `size`; points run along x first, then y, then z.
    pub fn box_grid(counts: [usize; 3], size: Vec3) -> Result<Self, Error> {
        let counts = counts.map(|count| count.max(1));
        let [nx, ny, nz] = counts.map(|count| count + 1);
        let step = size / Vec3::from(counts.map(|count| count as f64));
        let all = |[a, b, c]: [usize; 3]| {
            (0..c).flat_map(move |z| (0..b).flat_map(move |y| (0..a).map(move |x| [x, y, z])))
        };
        let points = all([nx, ny, nz]).map(|p| Vec3::from(p.map(|k| k as f64)) * step).collect();
        let hex = |[x, y, z]: [usize; 3]| {
            let at = |i: usize, j: usize, k: usize| (x + i + nx * (y + j + ny * (z + k))) as u32;
            let layer = |k: usize| [at(0, 0, k), at(1, 0, k), at(1, 1, k), at(0, 1, k)];
            let ([a, b, c, d], [e, f, g, h]) = (layer(0), layer(1));
            Cell::Hex([a, b, c, d, e, f, g, h])
        };
        Self::new(points, all(counts).map(hex).collect())
    }

    /// Where the points are.
    pub fn points(&self) -> &[Vec3] {
        &self.points
    }

    /// The cells.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Every edge once, the smaller point first, ascending.
    pub fn edges(&self) -> Vec<[u32; 2]> {
        let mut edges: Vec<[u32; 2]> = self.cells.iter().flat_map(Cell::edges).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// For every segment the points along it from end to end, where edges lead from each to the next; empty where they do not.
    pub fn chains_along(&self, segments: &[[Vec3; 2]]) -> Vec<Vec<u32>> {
        let edges = self.edges();
        let chain = |&[a, b]: &[Vec3; 2]| -> Vec<u32> {
            let (way, near) = (b - a, ON_SEGMENT * a.distance(b));
            let along = |p: Vec3| (p - a).dot(way) / way.length_squared();
            let is_on = |p: Vec3| {
                let s = along(p);
                (-ON_SEGMENT..=1.0 + ON_SEGMENT).contains(&s) && p.distance(a + s * way) <= near
            };
            let mut chain: Vec<u32> =
                (0..self.points.len() as u32).filter(|&v| is_on(self.points[v as usize])).collect();
            let place = |v: u32| along(self.points[v as usize]);
            chain.sort_by(|&v, &w| place(v).total_cmp(&place(w)));
            let ends = [chain.first(), chain.last()].map(|v| v.map(|&v| self.points[v as usize]));
            let reaches = ends[0].is_some_and(|p| p.distance(a) <= near)
                && ends[1].is_some_and(|p| p.distance(b) <= near);
            let joined =
                chain.windows(2).all(|pair| edges.binary_search(&sorted([pair[0], pair[1]])).is_ok());
            if reaches && joined && chain.len() > 1 { chain } else { Vec::new() }
        };
        segments.iter().map(chain).collect()
    }

    /// All cells cut into tets, and the cell of each tet. Refused where a cell is so bent that a tet is flat.
    pub fn tets(&self) -> Result<(TetMesh, Vec<u32>), Error> {
        let (mut tets, mut cell_of_tet) = (Vec::new(), Vec::new());
        for (index, cell) in self.cells.iter().enumerate() {
            for tet in cell.tets() {
                if tet_volume(tet.map(|v| self.points[v as usize])) <= 0.0 {
                    return Err(Error::BadCell { cell: index });
                }
                tets.push(tet);
                cell_of_tet.push(index as u32);
            }
        }
        Ok((TetMesh::new(self.points.clone(), tets)?, cell_of_tet))
    }

    /// Every cell cut into hexahedra, one for each corner: corner, middles of its three edges, centres of its three faces,
    /// centre of the cell. Old points come first; new ones follow in the order edges, faces, cells.
    pub fn subdivided(&self) -> Refined {
        let mut points = self.points.clone();
        let mut parents: Vec<Vec<u32>> = Vec::new();
        let mut add = |of: Vec<u32>| {
            let mean = of.iter().map(|&v| self.points[v as usize]).sum::<Vec3>() / of.len() as f64;
            points.push(mean);
            parents.push(of);
            points.len() as u32 - 1
        };
        let middles: BTreeMap<[u32; 2], u32> =
            self.edges().into_iter().map(|edge| (edge, add(edge.to_vec()))).collect();
        let mut centres: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for face in self.cells.iter().flat_map(Cell::faces) {
            centres.entry(ascending(&face)).or_insert_with(|| add(face));
        }
        let mut cells = Vec::new();
        for cell in &self.cells {
            let corners = cell.corners();
            let heart = add(corners.to_vec());
            let faces: Vec<Vec<u32>> = cell.faces().collect();
            for (i, near) in cell.neighbours().iter().enumerate() {
                let v = corners[i];
                let near = near.map(|j| corners[j]);
                let middle = |w: u32| middles[&sorted([v, w])];
                let centre = |a: u32, b: u32| {
                    let holds = |face: &&Vec<u32>| [v, a, b].iter().all(|p| face.contains(p));
                    // two edges of a corner span a face
                    faces.iter().find(holds).map_or(heart, |face| centres[&ascending(face)])
                };
                let [a, b, c] = near;
                cells.push(Cell::Hex([
                    v,
                    middle(a),
                    centre(a, b),
                    middle(b),
                    middle(c),
                    centre(a, c),
                    heart,
                    centre(b, c),
                ]));
            }
        }
        Refined { lattice: Self { points, cells }, parents }
    }

    /// Whether the three edges of every corner are right-handed, well above round-off.
    fn is_sound(&self, cell: usize) -> bool {
        let cell = &self.cells[cell];
        let at = |i: usize| self.points[cell.corners()[i] as usize];
        cell.neighbours().iter().enumerate().all(|(i, near)| {
            let [a, b, c] = near.map(|j| at(j) - at(i));
            let size = a.length_squared().max(b.length_squared()).max(c.length_squared());
            a.cross(b).dot(c) > 1e-12 * size.powf(1.5)
        })
    }
}

fn sorted([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

fn ascending(list: &[u32]) -> Vec<u32> {
    let mut list = list.to_vec();
    list.sort_unstable();
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A box, a prism on its side and a tet on that.
    pub(crate) fn mixed() -> Lattice {
        let mut points = Lattice::box_grid([1, 1, 1], Vec3::new(1.0, 1.2, 0.9)).unwrap().points().to_vec();
        // over the face x = 1 a roof whose ridge runs along z
        points.extend([Vec3::new(1.8, 0.6, 0.0), Vec3::new(1.9, 0.7, 0.9), Vec3::new(1.4, 0.6, 1.7)]);
        let hex = Cell::Hex([0, 1, 3, 2, 4, 5, 7, 6]);
        let prism = Cell::Prism([1, 8, 3, 5, 9, 7]);
        let tet = Cell::Tet([5, 9, 7, 10]);
        Lattice::new(points, vec![hex, prism, tet]).unwrap()
    }

    #[test]
    fn cells_of_all_kinds_become_sound_hexahedra_of_the_same_volume() {
        let lattice = mixed();
        let volume = |lattice: &Lattice| lattice.tets().unwrap().0.volumes().iter().sum::<f64>();
        let mut fine = lattice.clone();
        for _ in 0..2 {
            fine = fine.subdivided().lattice;
            assert!((0..fine.cells().len()).all(|cell| fine.is_sound(cell)));
            assert_eq!(fine.tets().unwrap().0.overfull_face_count(), 0);
        }
        assert_eq!(fine.cells().len(), (8 + 6 + 4) * 8);
        // the prism's slanted sides are not flat, so cutting them differs a little
        assert!((volume(&fine) / volume(&lattice) - 1.0).abs() < 0.01);
        let boxes = Lattice::box_grid([2, 3, 1], Vec3::ONE).unwrap();
        assert!((volume(&boxes.subdivided().lattice) - 1.0).abs() < 1e-14);
    }

    #[test]
    fn neighbours_share_what_they_share() {
        let refined = Lattice::box_grid([2, 1, 1], Vec3::ONE).unwrap().subdivided();
        // 12 corners, 20 edges, 11 faces, 2 cells
        assert_eq!(refined.lattice.points().len(), 5 * 3 * 3);
        assert_eq!(refined.parents.len(), 20 + 11 + 2);
        assert_eq!(refined.lattice.edges().len(), 4 * 9 + 5 * 12);
    }

    #[test]
    fn segments_along_edges_have_chains_and_others_have_none() {
        let lattice = Lattice::box_grid([4, 2, 2], Vec3::new(4.0, 2.0, 2.0)).unwrap();
        let at = |x: f64, y: f64, z: f64| Vec3::new(x, y, z);
        let chains = lattice.chains_along(&[
            [at(0.0, 1.0, 1.0), at(4.0, 1.0, 1.0)],
            [at(3.0, 1.0, 1.0), at(1.0, 1.0, 1.0)],
            // across cells, beyond the last point, beside the edges
            [at(0.0, 0.0, 0.0), at(2.0, 2.0, 2.0)],
            [at(0.0, 1.0, 1.0), at(3.5, 1.0, 1.0)],
            [at(0.0, 1.2, 1.0), at(4.0, 1.2, 1.0)],
        ]);
        let places =
            |chain: &[u32]| chain.iter().map(|&v| lattice.points()[v as usize].x).collect::<Vec<_>>();
        assert_eq!(places(&chains[0]), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(places(&chains[1]), [3.0, 2.0, 1.0]);
        assert!(chains[2..].iter().all(Vec::is_empty));
    }

    #[test]
    fn bad_cells_get_a_sentence() {
        let points = Lattice::box_grid([1, 1, 1], Vec3::ONE).unwrap().points().to_vec();
        let inside_out = Cell::Hex([4, 5, 7, 6, 0, 1, 3, 2]);
        assert_eq!(Lattice::new(points.clone(), vec![inside_out]), Err(Error::BadCell { cell: 0 }));
        let stray = Cell::Tet([0, 1, 2, 9]);
        assert!(matches!(
            Lattice::new(points.clone(), vec![stray]),
            Err(Error::NoSuchPoint { point: 9, .. })
        ));
        assert!(Lattice::new(points, vec![]).is_err());
    }
}
