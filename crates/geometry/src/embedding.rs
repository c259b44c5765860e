//! A surface carried by tets: every vertex is a weighted mean of the corners of one tet.
//!
//! enrich §4: C u interpolates tet displacements to the triangle mesh; Cᵀ f brings forces on the surface to the tets.

use rayon::prelude::*;

use crate::tree::Tree;
use crate::{Bounds, Error, TetMesh, Vec3, tet_distance_squared, tet_weights};

/// Which tet carries each vertex of a surface, and how: the matrix C with four entries per row.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    tets: Vec<u32>,
    corners: Vec<[u32; 4]>,
    weights: Vec<[f64; 4]>,
    point_count: usize,
}

impl Embedding {
    /// Embeds each vertex in the tet that holds it, or in the nearest one. Weights of vertices outside are not all
    /// positive; with the tets at rest they still give the vertex exactly.
    pub fn new(mesh: &TetMesh, vertices: &[Vec3]) -> Result<Self, Error> {
        if let Some(point) = vertices.iter().position(|p| !p.is_finite()) {
            return Err(Error::NotFinite { point });
        }
        let count = mesh.tets().len();
        let boxes: Vec<Bounds> = (0..count).into_par_iter().map(|t| Bounds::of(mesh.corners(t))).collect();
        let tree = Tree::new(&boxes);
        let nearest = |p: &Vec3| {
            let distance = |tet: u32| {
                let corners = mesh.corners(tet as usize);
                // a tet that deformation has made flat carries nothing
                let flat = tet_weights(*p, corners).is_none();
                if flat { f64::INFINITY } else { tet_distance_squared(*p, corners) }
            };
            tree.nearest(*p, f64::INFINITY, distance).map(|(tet, _)| tet)
        };
        let tets: Option<Vec<u32>> = vertices.par_iter().map(nearest).collect();
        Self::from_tets(mesh, vertices, tets.ok_or(Error::Empty { what: "tets with a volume" })?)
    }

    /// Embeds each vertex in the tet that is named for it.
    pub fn from_tets(mesh: &TetMesh, vertices: &[Vec3], tets: Vec<u32>) -> Result<Self, Error> {
        if tets.len() != vertices.len() {
            let (found, expected) = (tets.len(), vertices.len());
            return Err(Error::CountMismatch { what: "tets of vertices", found, expected });
        }
        let count = mesh.tets().len();
        if let Some(index) = tets.iter().position(|&tet| tet as usize >= count) {
            return Err(Error::NoSuchTet { vertex: index, tet: tets[index], count });
        }
        let weights = vertices
            .iter()
            .zip(&tets)
            .map(|(&p, &tet)| {
                tet_weights(p, mesh.corners(tet as usize)).ok_or(Error::FlatTet { tet: tet as usize })
            })
            .collect::<Result<_, _>>()?;
        let corners = tets.iter().map(|&tet| mesh.tets()[tet as usize]).collect();
        Ok(Self { tets, corners, weights, point_count: mesh.points().len() })
    }

    /// How many vertices are embedded.
    pub fn len(&self) -> usize {
        self.tets.len()
    }

    /// True without vertices.
    pub fn is_empty(&self) -> bool {
        self.tets.is_empty()
    }

    /// How many points the tet mesh has.
    pub fn point_count(&self) -> usize {
        self.point_count
    }

    /// The tet of every vertex.
    pub fn tets(&self) -> &[u32] {
        &self.tets
    }

    /// The four points that carry each vertex: the columns of C's rows.
    pub fn corners(&self) -> &[[u32; 4]] {
        &self.corners
    }

    /// Their weights, which sum to one: the entries of C's rows.
    pub fn weights(&self) -> &[[f64; 4]] {
        &self.weights
    }

    /// Vertices outside of their tets by more than `tolerance`, a fraction of a tet's height.
    pub fn outside(&self, tolerance: f64) -> impl Iterator<Item = usize> + '_ {
        let beyond = move |w: &[f64; 4]| w.iter().any(|&w| w < -tolerance);
        self.weights.iter().enumerate().filter(move |(_, w)| beyond(w)).map(|(vertex, _)| vertex)
    }

    /// C x: where the vertices are, or how they move, when the tets' points are or move so.
    ///
    /// `points` has a value for every point of the tet mesh.
    pub fn apply(&self, points: &[Vec3]) -> Vec<Vec3> {
        debug_assert_eq!(points.len(), self.point_count);
        self.corners.iter().zip(&self.weights).map(|(corners, w)| mean(corners, w, points)).collect()
    }

    /// [`Embedding::apply`] into a slice with room for every vertex.
    pub fn apply_into(&self, points: &[Vec3], vertices: &mut [Vec3]) {
        debug_assert_eq!(points.len(), self.point_count);
        for ((vertex, corners), w) in vertices.iter_mut().zip(&self.corners).zip(&self.weights) {
            *vertex = mean(corners, w, points);
        }
    }

    /// Cᵀ f: forces on the vertices, added to those on the tets' points. Total force and torque stay the same.
    pub fn add_transposed(&self, vertex_forces: &[Vec3], point_forces: &mut [Vec3]) {
        debug_assert_eq!(point_forces.len(), self.point_count);
        for ((&force, corners), w) in vertex_forces.iter().zip(&self.corners).zip(&self.weights) {
            for (&corner, &weight) in corners.iter().zip(w) {
                point_forces[corner as usize] += weight * force;
            }
        }
    }
}

fn mean(corners: &[u32; 4], w: &[f64; 4], points: &[Vec3]) -> Vec3 {
    let [a, b, c, d] = corners.map(|v| points[v as usize]);
    w[0] * a + w[1] * b + w[2] * c + w[3] * d
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn box_and_vertices() -> (TetMesh, Vec<Vec3>) {
        let mesh = TetMesh::box_grid([3, 2, 4], Vec3::new(1.5, 1.0, 2.0)).unwrap();
        let mut random = Random::new(5);
        // inside and up to a third of the box outside
        let vertices =
            (0..500).map(|_| Vec3::new(0.75, 0.5, 1.0) * (Vec3::ONE + 1.3 * random.vec3())).collect();
        (mesh, vertices)
    }

    #[test]
    fn holds_vertices_inside_and_outside_and_every_affine_motion() {
        let (mesh, vertices) = box_and_vertices();
        let embedding = Embedding::new(&mesh, &vertices).unwrap();
        let whole = Bounds::of(mesh.points().iter().copied());
        let outside: Vec<usize> = embedding.outside(1e-12).collect();
        let expected: Vec<usize> = (0..500).filter(|&v| !whole.contains(vertices[v])).collect();
        assert_eq!(outside, expected);
        assert!(outside.len() > 50);
        for (map, shift) in [
            (crate::Mat3::IDENTITY, Vec3::ZERO),
            (crate::Mat3::from_cols(Vec3::new(1.0, 0.3, -2.0), Vec3::Y, Vec3::new(0.1, 0.5, 1.2)), Vec3::ONE),
        ] {
            let points: Vec<Vec3> = mesh.points().iter().map(|&p| map * p + shift).collect();
            for (&p, q) in vertices.iter().zip(embedding.apply(&points)) {
                assert!((map * p + shift).distance(q) < 1e-13);
            }
        }
    }

    #[test]
    fn transposed_is_the_adjoint_and_keeps_force_and_torque() {
        let (mesh, vertices) = box_and_vertices();
        let embedding = Embedding::new(&mesh, &vertices).unwrap();
        let mut random = Random::new(6);
        let forces: Vec<Vec3> = vertices.iter().map(|_| random.vec3()).collect();
        let moves: Vec<Vec3> = mesh.points().iter().map(|_| random.vec3()).collect();
        let mut on_points = vec![Vec3::ZERO; mesh.points().len()];
        embedding.add_transposed(&forces, &mut on_points);
        let dot = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
        assert!((dot(&forces, &embedding.apply(&moves)) - dot(&on_points, &moves)).abs() < 1e-11);
        let total: Vec3 = on_points.iter().sum::<Vec3>() - forces.iter().sum::<Vec3>();
        let torque = |x: &[Vec3], f: &[Vec3]| x.iter().zip(f).map(|(x, f)| x.cross(*f)).sum::<Vec3>();
        let torque = torque(mesh.points(), &on_points) - torque(&vertices, &forces);
        assert!(total.length() < 1e-11 && torque.length() < 1e-11);
    }

    #[test]
    fn bad_tables_get_a_sentence() {
        let (mesh, vertices) = box_and_vertices();
        let count = mesh.tets().len();
        let error = Embedding::from_tets(&mesh, &vertices[..2], vec![0, count as u32]).unwrap_err();
        assert_eq!(error, Error::NoSuchTet { vertex: 1, tet: count as u32, count });
        assert!(Embedding::from_tets(&mesh, &vertices, vec![0]).is_err());
        assert_eq!(Embedding::new(&mesh, &[Vec3::NAN]).unwrap_err(), Error::NotFinite { point: 0 });
        let flat = mesh.with_points(vec![Vec3::ZERO; mesh.points().len()]).unwrap();
        assert!(Embedding::new(&flat, &vertices).is_err());
    }
}
