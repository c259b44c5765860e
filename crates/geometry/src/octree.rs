//! The background of tet meshing: an octree whose finest cells surround the surface, and the tets between its cells.
//!
//! Points are the corners and the centres of cells. Between two equal cells with a common face stand four tets of the
//! body-centred cubic lattice: both centres and an edge of the face. Where cells of two sizes meet, the face is cut into
//! eight triangles about its middle, seen from the large cell (Labelle & Shewchuk's *quadrisected* tets), which are two
//! on each small face, seen from the small cells (*half pyramids*); an edge that is halved by a smaller cell beside it
//! halves the lattice's tets on it (*bisected*). All dihedral angles of these shapes lie between 45° and 120°.

use rayon::prelude::*;

use crate::{Error, Vec3};

/// More cells than this are refused: with their tets, some 300 bytes each, they would take more than 2 GB.
pub(crate) const MOST_CELLS: usize = 6_000_000;

/// A place on the lattice, in halves of the finest cell's side: corners of finest cells are even, their centres odd.
pub(crate) type Place = [i32; 3];

/// A tet of the background.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackgroundTet {
    pub(crate) places: [Place; 4],
    /// Cells to split when this tet must become a finest one; none for those that are.
    pub(crate) coarse: [Option<u32>; 2],
}

/// What to do with a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Outside: no tets here.
    Void,
    /// A leaf, whatever its size.
    Keep,
    /// Eight smaller ones.
    Split,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    origin: Place,
    level: u8,
    /// The first of eight children, which follow each other; zero for none.
    children: u32,
    void: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Octree {
    cells: Vec<Cell>,
    /// Where place (0, 0, 0) is.
    origin: Vec3,
    /// Side of the finest cells.
    edge: f64,
}

impl Octree {
    /// A tree about `centre` that reaches at least `reach` from it in every direction. `fate` decides over a cell from its
    /// centre and its side; cells of side `edge` are not split. [`Error::TooFine`] once there are more than `most_cells`.
    pub(crate) fn new(
        centre: Vec3,
        reach: f64,
        edge: f64,
        most_cells: usize,
        fate: impl Fn(Vec3, f64) -> Fate + Sync,
    ) -> Result<Self, Error> {
        // places must fit 20 bits and a sign
        let levels = (2.0 * reach / edge).log2().ceil().max(0.0);
        if levels > 19.0 {
            return Err(Error::TooFine { edge });
        }
        let levels = levels as u8;
        let root = Cell { origin: [0; 3], level: levels, children: 0, void: false };
        let half = 0.5 * edge * f64::from(1_u32 << levels);
        let mut tree = Self { cells: vec![root], origin: centre - Vec3::splat(half), edge };
        let mut open = vec![0_u32];
        while !open.is_empty() {
            let fates: Vec<Fate> = open
                .par_iter()
                .map(|&cell| {
                    let Cell { level, .. } = tree.cells[cell as usize];
                    fate(tree.position(tree.centre(cell)), edge * f64::from(1_u32 << level))
                })
                .collect();
            let mut next = Vec::new();
            for (cell, fate) in open.into_iter().zip(fates) {
                match fate {
                    Fate::Void => tree.cells[cell as usize].void = true,
                    Fate::Split if tree.cells[cell as usize].level > 0 => {
                        let first = tree.split(cell);
                        next.extend(first..first + 8);
                    }
                    _ => {}
                }
            }
            tree.check_size(most_cells)?;
            open = next;
        }
        Ok(tree)
    }

    /// Refuses more cells than this.
    pub(crate) fn check_size(&self, most_cells: usize) -> Result<(), Error> {
        if self.cells.len() > most_cells { Err(Error::TooFine { edge: self.edge }) } else { Ok(()) }
    }

    /// Where a place is.
    pub(crate) fn position(&self, place: Place) -> Vec3 {
        self.origin + 0.5 * self.edge * Vec3::from(place.map(f64::from))
    }

    /// Makes children of a cell; gives the first.
    pub(crate) fn split(&mut self, cell: u32) -> u32 {
        let parent = self.cells[cell as usize];
        if parent.children != 0 || parent.level == 0 {
            return parent.children;
        }
        let first = self.cells.len() as u32;
        let side = 1_i32 << parent.level;
        for child in 0..8 {
            let bit = |axis: usize| parent.origin[axis] + side * (child >> axis & 1);
            let origin = [bit(0), bit(1), bit(2)];
            self.cells.push(Cell { origin, level: parent.level - 1, children: 0, void: parent.void });
        }
        self.cells[cell as usize].children = first;
        first
    }

    /// Splits cells until no leaf shares a face or an edge with one less than half its size.
    pub(crate) fn balance(&mut self) {
        let is_small = |cell: &Cell| cell.children == 0 && !cell.void;
        let mut open: Vec<u32> =
            (0..self.cells.len() as u32).filter(|&cell| is_small(&self.cells[cell as usize])).collect();
        while let Some(cell) = open.pop() {
            let Cell { level, children, .. } = self.cells[cell as usize];
            if children != 0 {
                continue;
            }
            let centre = self.centre(cell);
            let side = 2_i32 << level;
            for step in (0..27).map(|i| [i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1]) {
                if !(1..=2).contains(&step.iter().filter(|&&s| s != 0).count()) {
                    continue;
                }
                let there = [0, 1, 2].map(|axis| centre[axis] + side * step[axis]);
                while let Some(other) = self.find(there, 0) {
                    let Cell { level: found, void, .. } = self.cells[other as usize];
                    if void || found <= level + 1 {
                        break;
                    }
                    let first = self.split(other);
                    open.extend(first..first + 8);
                }
            }
        }
    }

    /// All tets between cells that are not void, oriented.
    pub(crate) fn tets(&self) -> Vec<BackgroundTet> {
        let leaves: Vec<u32> = (0..self.cells.len() as u32)
            .filter(|&cell| self.cells[cell as usize].children == 0 && !self.cells[cell as usize].void)
            .collect();
        leaves.par_iter().flat_map_iter(|&cell| self.tets_of(cell)).collect()
    }

    fn tets_of(&self, cell: u32) -> Vec<BackgroundTet> {
        let mut tets = Vec::with_capacity(12);
        let level = self.cells[cell as usize].level;
        let (centre, half) = (self.centre(cell), 1_i32 << level);
        let own = (level > 0).then_some(cell);
        let mut push = |places: [Place; 4], coarse: [Option<u32>; 2]| {
            tets.push(BackgroundTet { places: oriented(places), coarse });
        };
        for axis in 0..3 {
            for direction in [-1, 1] {
                let across = shifted(centre, axis, 2 * direction * half);
                let Some(other) = self.find(across, level) else { continue };
                let Cell { level: found, children, void, .. } = self.cells[other as usize];
                if void {
                    continue;
                }
                let middle = shifted(centre, axis, direction * half);
                let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                let corner = |i: i32, j: i32| shifted(shifted(middle, u, i * half), v, j * half);
                let ring = [corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)];
                if found > level {
                    // half pyramids: the diagonal runs from the large face's middle to its corner, and both of these
                    // are multiples of its half, which the other two corners are not
                    let large = self.centre(other);
                    let on_diagonal = |place: Place| {
                        let (i, j) = (place[u] - large[u], place[v] - large[v]);
                        (i == 0) == (j == 0)
                    };
                    let start = usize::from(!on_diagonal(ring[0]));
                    let at = |i: usize| ring[(start + i) % 4];
                    push([centre, at(0), at(1), at(2)], [Some(other), own]);
                    push([centre, at(0), at(2), at(3)], [Some(other), own]);
                } else if children != 0 {
                    for i in 0..4 {
                        let (e0, e1) = (ring[i], ring[(i + 1) % 4]);
                        let halfway = midpoint(e0, e1);
                        push([centre, middle, e0, halfway], [own, None]);
                        push([centre, middle, halfway, e1], [own, None]);
                    }
                } else if direction > 0 {
                    let theirs = (level > 0).then_some(other);
                    for i in 0..4 {
                        let (e0, e1) = (ring[i], ring[(i + 1) % 4]);
                        let halfway = midpoint(e0, e1);
                        // the two other cells around this edge
                        let outwards = [0, 1, 2].map(|a| 2 * (halfway[a] - middle[a]));
                        let beside = |from: Place| {
                            let there = [0, 1, 2].map(|a| from[a] + outwards[a]);
                            self.find(there, level).is_some_and(|c| {
                                let found = &self.cells[c as usize];
                                found.level == level && found.children != 0
                            })
                        };
                        if level > 0 && (beside(centre) || beside(across)) {
                            push([centre, across, e0, halfway], [own, theirs]);
                            push([centre, across, halfway, e1], [own, theirs]);
                        } else {
                            push([centre, across, e0, e1], [own, theirs]);
                        }
                    }
                }
            }
        }
        tets
    }

    /// The cell around a place that is not finer than `level`: of that level, or a larger leaf. None outside.
    fn find(&self, place: Place, level: u8) -> Option<u32> {
        let size = 2_i32 << self.cells[0].level;
        if place.iter().any(|&x| x < 0 || x >= size) {
            return None;
        }
        let mut cell = 0_u32;
        loop {
            let Cell { origin, level: found, children, .. } = self.cells[cell as usize];
            if found == level || children == 0 {
                return Some(cell);
            }
            let half = 1_i32 << found;
            let bit = |axis: usize| u32::from(place[axis] >= origin[axis] + half) << axis;
            cell = children + (bit(0) | bit(1) | bit(2));
        }
    }

    fn centre(&self, cell: u32) -> Place {
        let Cell { origin, level, .. } = self.cells[cell as usize];
        origin.map(|x| x + (1_i32 << level))
    }
}

fn shifted(mut place: Place, axis: usize, by: i32) -> Place {
    place[axis] += by;
    place
}

fn midpoint(a: Place, b: Place) -> Place {
    [0, 1, 2].map(|axis| (a[axis] + b[axis]) / 2)
}

/// The tet with its volume above zero.
fn oriented(mut places: [Place; 4]) -> [Place; 4] {
    let [a, b, c, d] = places.map(|p| Vec3::from(p.map(f64::from)));
    // exact: products of small integers
    if (b - a).cross(c - a).dot(d - a) < 0.0 {
        places.swap(2, 3);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TetMesh, TetQuality};

    #[test]
    fn graded_tets_fill_the_root_without_gaps_and_keep_their_angles() {
        // fine around a corner of the root, coarse elsewhere
        let fate = |centre: Vec3, side: f64| {
            if side > 1.01 && centre.length() < 2.5 * side { Fate::Split } else { Fate::Keep }
        };
        let mut tree = Octree::new(Vec3::splat(16.0), 16.0, 1.0, MOST_CELLS, fate).unwrap();
        tree.balance();
        let tets = tree.tets();
        let mut places: Vec<Place> = tets.iter().flat_map(|tet| tet.places).collect();
        places.sort_unstable();
        places.dedup();
        let number = |place: &Place| places.binary_search(place).unwrap() as u32;
        let points = places.iter().map(|&place| tree.position(place)).collect();
        let mesh =
            TetMesh::new(points, tets.iter().map(|tet| tet.places.each_ref().map(number)).collect()).unwrap();
        let quality = TetQuality::of(&mesh);
        assert!(tree.cells.iter().filter(|cell| cell.children == 0).map(|cell| cell.level).max() >= Some(3));
        assert!(tets.iter().any(|tet| tet.coarse == [None; 2]));
        assert!(
            quality.smallest_dihedral.to_degrees() > 44.999,
            "{}",
            quality.smallest_dihedral.to_degrees()
        );
        assert!(quality.largest_dihedral.to_degrees() < 120.001);
        assert_eq!((quality.overfull_faces, quality.components), (0, 1));
        // no cracks: faces of one tet only are on the root's rim, whose cells lack the pyramids outwards
        for face in mesh.boundary_faces() {
            let rim = |axis: usize| {
                let at = |v: u32| mesh.points()[v as usize][axis];
                let near = face.iter().map(|&v| at(v).min(32.0 - at(v))).fold(f64::INFINITY, f64::min);
                near < 1e-9
            };
            assert!((0..3).any(rim), "{:?}", face.map(|v| mesh.points()[v as usize]));
        }
    }

    #[test]
    fn too_many_cells_are_refused() {
        let result = Octree::new(Vec3::ZERO, 1.0, 1e-9, MOST_CELLS, |_, _| Fate::Split);
        assert!(matches!(result, Err(Error::TooFine { .. })));
    }
}
