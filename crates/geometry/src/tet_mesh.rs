//! Tetrahedral meshes: points, tets, and what is true of them.

use crate::{Error, Vec3, tet_volume};

/// The corners of the face opposite each corner of a tet, counter-clockwise seen from outside.
pub const TET_FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// The six edges of a tet.
pub const TET_EDGES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/// A tetrahedral mesh. A tet (a, b, c, d) has the volume (b−a)×(c−a)·(d−a)/6, above zero when the mesh is made;
/// [`TetMesh::with_points`] may turn tets inside out, as deformed bodies do.
#[derive(Clone, Debug, PartialEq)]
pub struct TetMesh {
    points: Vec<Vec3>,
    tets: Vec<[u32; 4]>,
}

impl TetMesh {
    /// Checks points and indices, and turns tets that are listed inside out.
    ///
    /// A tet without volume is refused: it has no shape to return to. So are no tets at all.
    pub fn new(points: Vec<Vec3>, mut tets: Vec<[u32; 4]>) -> Result<Self, Error> {
        if tets.is_empty() {
            return Err(Error::Empty { what: "tets" });
        }
        if let Some(point) = points.iter().position(|p| !p.is_finite()) {
            return Err(Error::NotFinite { point });
        }
        let count = points.len();
        for (index, tet) in tets.iter_mut().enumerate() {
            if let Some(&point) = tet.iter().find(|&&v| v as usize >= count) {
                return Err(Error::NoSuchPoint { element: "tet", index, point, count });
            }
            let corners = tet.map(|v| points[v as usize]);
            let volume = tet_volume(corners);
            // round-off of the volume: the cube of the longest edge times a few epsilons
            let longest = TET_EDGES.iter().map(|&[i, j]| corners[i].distance(corners[j])).fold(0.0, f64::max);
            if volume.abs() <= 8.0 * f64::EPSILON * longest.powi(3) {
                return Err(Error::FlatTet { tet: index });
            }
            if volume < 0.0 {
                tet.swap(2, 3);
            }
        }
        Ok(Self { points, tets })
    }

    /// A box from the origin to `size`, cut into `counts` cells of five tets each; points run along x first, then y,
    /// then z. Neighbouring cells are mirror images, so faces match, and the mesh is symmetric about the middle of every
    /// axis with an even count.
    pub fn box_grid(counts: [usize; 3], size: Vec3) -> Result<Self, Error> {
        let counts = counts.map(|count| count.max(1));
        let [nx, ny, nz] = counts.map(|count| count + 1);
        let step = size / Vec3::from(counts.map(|count| count as f64));
        let mut points = Vec::with_capacity(nx * ny * nz);
        for z in 0..nz {
            for y in 0..ny {
                for x in 0..nx {
                    points.push(Vec3::new(x as f64, y as f64, z as f64) * step);
                }
            }
        }
        let mut tets = Vec::with_capacity(5 * counts.iter().product::<usize>());
        for z in 0..counts[2] {
            for y in 0..counts[1] {
                for x in 0..counts[0] {
                    // corner bits: 1 along x, 2 along y, 4 along z; odd cells are mirrored along x
                    let odd = (x + y + z) & 1;
                    let corner = |bits: usize| {
                        let bits = bits ^ odd;
                        let [i, j, k] = [x + (bits & 1), y + (bits >> 1 & 1), z + (bits >> 2 & 1)];
                        (i + nx * (j + ny * k)) as u32
                    };
                    for tet in [[0, 3, 5, 6], [1, 0, 3, 5], [2, 0, 6, 3], [4, 0, 5, 6], [7, 3, 6, 5]] {
                        tets.push(tet.map(corner));
                    }
                }
            }
        }
        Self::new(points, tets)
    }

    /// Where the points are.
    pub fn points(&self) -> &[Vec3] {
        &self.points
    }

    /// Corners of every tet.
    pub fn tets(&self) -> &[[u32; 4]] {
        &self.tets
    }

    /// Where the corners of a tet are.
    pub fn corners(&self, tet: usize) -> [Vec3; 4] {
        self.tets[tet].map(|v| self.points[v as usize])
    }

    /// The same tets with their points elsewhere. Tets may be turned inside out by it.
    pub fn with_points(&self, points: Vec<Vec3>) -> Result<Self, Error> {
        let (found, expected) = (points.len(), self.points.len());
        if found != expected {
            return Err(Error::CountMismatch { what: "points", found, expected });
        }
        if let Some(point) = points.iter().position(|p| !p.is_finite()) {
            return Err(Error::NotFinite { point });
        }
        Ok(Self { points, tets: self.tets.clone() })
    }

    /// Some of its tets, without points that none of them uses.
    pub(crate) fn with_tets(&self, tets: Vec<[u32; 4]>) -> Self {
        Self { points: self.points.clone(), tets }.without_loose_points().0
    }

    /// The mesh without points that no tet uses, and the old number of every point that is left.
    pub fn without_loose_points(&self) -> (Self, Vec<u32>) {
        const LOOSE: u32 = u32::MAX;
        let mut new_number = vec![LOOSE; self.points.len()];
        self.tets.iter().flatten().for_each(|&v| new_number[v as usize] = 0);
        let mut kept = Vec::new();
        for (old, new) in new_number.iter_mut().enumerate().filter(|(_, new)| **new != LOOSE) {
            *new = kept.len() as u32;
            kept.push(old as u32);
        }
        let points = kept.iter().map(|&v| self.points[v as usize]).collect();
        let tets = self.tets.iter().map(|tet| tet.map(|v| new_number[v as usize])).collect();
        (Self { points, tets }, kept)
    }

    /// Volume of every tet, in m³; below zero where a tet is inside out.
    pub fn volumes(&self) -> Vec<f64> {
        (0..self.tets.len()).map(|tet| tet_volume(self.corners(tet))).collect()
    }

    /// A quarter of the volume of the tets around each point: the weights of a lumped volume integral.
    pub fn point_volumes(&self) -> Vec<f64> {
        let mut volumes = vec![0.0; self.points.len()];
        for (tet, volume) in self.tets.iter().zip(self.volumes()) {
            tet.iter().for_each(|&v| volumes[v as usize] += 0.25 * volume);
        }
        volumes
    }

    /// For every tet the tet across the face opposite each corner, where there is one. A face that more than two tets
    /// share connects the first two of them.
    pub fn neighbours(&self) -> Vec<[Option<u32>; 4]> {
        let mut neighbours = vec![[None; 4]; self.tets.len()];
        for run in self.sorted_faces().chunk_by(|a, b| a.0 == b.0) {
            if let [(_, s, i), (_, t, j), ..] = *run {
                neighbours[s as usize][i as usize] = Some(t);
                neighbours[t as usize][j as usize] = Some(s);
            }
        }
        neighbours
    }

    /// Faces of one tet only, counter-clockwise seen from outside, in the order of their tets.
    pub fn boundary_faces(&self) -> Vec<[u32; 3]> {
        let mut single: Vec<(u32, u8)> = self
            .sorted_faces()
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|run| run.len() == 1)
            .map(|run| (run[0].1, run[0].2))
            .collect();
        single.sort_unstable();
        single
            .into_iter()
            .map(|(tet, i)| TET_FACES[i as usize].map(|corner| self.tets[tet as usize][corner]))
            .collect()
    }

    /// Faces that three tets or more share: none in a proper mesh.
    pub fn overfull_face_count(&self) -> usize {
        self.sorted_faces().chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 2).count()
    }

    /// Every edge once, the smaller index first, ascending.
    pub fn edges(&self) -> Vec<[u32; 2]> {
        let sides = self.tets.iter().flat_map(|tet| TET_EDGES.map(|[i, j]| [tet[i], tet[j]]));
        let mut edges: Vec<[u32; 2]> = sides.map(|[i, j]| [i.min(j), i.max(j)]).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// A component number for every tet: tets that share a point are in one. Numbered in the order of their first tets.
    pub fn components(&self) -> Vec<u32> {
        // union of points, each tree rooted at its smallest member
        let mut parent: Vec<u32> = (0..self.points.len() as u32).collect();
        fn root(parent: &mut [u32], mut v: u32) -> u32 {
            while parent[v as usize] != v {
                parent[v as usize] = parent[parent[v as usize] as usize];
                v = parent[v as usize];
            }
            v
        }
        for tet in &self.tets {
            for pair in tet.windows(2) {
                let (a, b) = (root(&mut parent, pair[0]), root(&mut parent, pair[1]));
                parent[a.max(b) as usize] = a.min(b);
            }
        }
        const UNSEEN: u32 = u32::MAX;
        let mut number = vec![UNSEEN; self.points.len()];
        let mut count = 0;
        self.tets
            .iter()
            .map(|tet| {
                let slot = &mut number[root(&mut parent, tet[0]) as usize];
                if *slot == UNSEEN {
                    *slot = count;
                    count += 1;
                }
                *slot
            })
            .collect()
    }

    /// (sorted corners, tet, opposite corner) of every face, ascending: equal faces are neighbours.
    fn sorted_faces(&self) -> Vec<([u32; 3], u32, u8)> {
        let mut faces = Vec::with_capacity(4 * self.tets.len());
        for (t, tet) in self.tets.iter().enumerate() {
            for (i, face) in TET_FACES.iter().enumerate() {
                let mut corners = face.map(|corner| tet[corner]);
                corners.sort_unstable();
                faces.push((corners, t as u32, i as u8));
            }
        }
        faces.sort_unstable();
        faces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::triangle_area;

    #[test]
    fn a_box_of_tets_fills_the_box_and_has_its_skin() {
        let mesh = TetMesh::box_grid([4, 3, 2], Vec3::new(4.0, 1.5, 1.0)).unwrap();
        assert_eq!((mesh.points().len(), mesh.tets().len()), (5 * 4 * 3, 5 * 24));
        assert!(mesh.volumes().iter().all(|&v| v > 0.0));
        assert!((mesh.volumes().iter().sum::<f64>() - 6.0).abs() < 1e-12);
        assert!((mesh.point_volumes().iter().sum::<f64>() - 6.0).abs() < 1e-12);
        let faces = mesh.boundary_faces();
        assert_eq!(faces.len(), 2 * 2 * (4 * 3 + 3 * 2 + 4 * 2));
        // outward: the divergence theorem gives the volume, and the area is the box's
        let corner = |f: &[u32; 3]| f.map(|v| mesh.points()[v as usize]);
        let flux: f64 = faces.iter().map(corner).map(|[a, b, c]| a.dot(b.cross(c)) / 6.0).sum();
        assert!((flux - 6.0).abs() < 1e-12);
        let area: f64 = faces.iter().map(corner).map(|[a, b, c]| triangle_area(a, b, c)).sum();
        assert!((area - 2.0 * (6.0 + 1.5 + 4.0)).abs() < 1e-12);
        assert_eq!(mesh.overfull_face_count(), 0);
        assert!(mesh.components().iter().all(|&c| c == 0));
        // Euler: V − E + F − T = 1 for a ball
        let face_count = (4 * mesh.tets().len() + faces.len()) / 2;
        let euler = mesh.points().len() as i64 - mesh.edges().len() as i64 + face_count as i64;
        assert_eq!(euler - mesh.tets().len() as i64, 1);
    }

    #[test]
    fn neighbours_share_the_face_opposite_the_corner() {
        let mesh = TetMesh::box_grid([2, 2, 2], Vec3::ONE).unwrap();
        let neighbours = mesh.neighbours();
        let mut open = 0;
        for (t, around) in neighbours.iter().enumerate() {
            for (i, other) in around.iter().enumerate() {
                let Some(other) = *other else {
                    open += 1;
                    continue;
                };
                let face = TET_FACES[i].map(|corner| mesh.tets()[t][corner]);
                assert!(face.iter().all(|v| mesh.tets()[other as usize].contains(v)));
                assert!(neighbours[other as usize].contains(&Some(t as u32)));
            }
        }
        assert_eq!(open, mesh.boundary_faces().len());
    }

    #[test]
    fn tets_are_turned_right_and_bad_ones_refused() {
        let points = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::X + Vec3::Y];
        let mesh = TetMesh::new(points.clone(), vec![[0, 2, 1, 3]]).unwrap();
        assert!((mesh.volumes()[0] - 1.0 / 6.0).abs() < 1e-15);
        assert_eq!(TetMesh::new(points.clone(), vec![[0, 1, 2, 4]]), Err(Error::FlatTet { tet: 0 }));
        assert_eq!(TetMesh::new(points.clone(), vec![[0, 1, 2, 2]]), Err(Error::FlatTet { tet: 0 }));
        assert_eq!(
            TetMesh::new(points.clone(), vec![[0, 1, 2, 3], [0, 1, 2, 9]]),
            Err(Error::NoSuchPoint { element: "tet", index: 1, point: 9, count: 5 })
        );
        assert_eq!(TetMesh::new(vec![Vec3::NAN], vec![[0; 4]]), Err(Error::NotFinite { point: 0 }));
        assert_eq!(TetMesh::new(points, vec![]), Err(Error::Empty { what: "tets" }));
    }

    #[test]
    fn loose_points_go_and_parts_are_counted() {
        let mut points: Vec<Vec3> = vec![Vec3::ONE];
        points.extend([Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z]);
        points.extend([Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z].map(|p| p + 3.0 * Vec3::X));
        let mesh = TetMesh::new(points, vec![[5, 6, 7, 8], [1, 2, 3, 4]]).unwrap();
        assert_eq!(mesh.components(), [0, 1]);
        let (compact, kept) = mesh.without_loose_points();
        assert_eq!(kept, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(compact.volumes(), mesh.volumes());
    }
}
