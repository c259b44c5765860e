//! A lattice for any surface with bones: coarse cells around it, bones along their edges.
//!
//! The surface is filled with tets ([`TetMeshing`]) that reach around bones too, then every bone is made a chain of edges
//! ([`with_segments`]). The paper's authors took hours for it by hand.

use crate::{Bounds, Error, Lattice, TetMeshing, TetSize, Vec3, with_segments};

/// How to make a lattice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatticeMaking {
    /// About so many cells.
    pub cells: usize,
}

/// A lattice around a surface.
#[derive(Clone, Debug)]
pub struct MadeLattice {
    /// The cells, all tets.
    pub lattice: Lattice,
    /// For every bone its lattice points from end to end; empty where it could not be made edges.
    pub chains: Vec<Vec<u32>>,
}

/// How near the count of cells must be to the one asked for, and how often it is tried.
const CLOSE_COUNT: f64 = 0.1;
const TRIES: usize = 5;

impl LatticeMaking {
    /// Makes a lattice around all triangles and bones. Bones are segments; those with a common end share a point.
    pub fn around(
        &self,
        points: &[Vec3],
        triangles: &[[u32; 3]],
        bones: &[[Vec3; 2]],
    ) -> Result<MadeLattice, Error> {
        if let Some(point) = bones.iter().flatten().position(|p| !p.is_finite()) {
            return Err(Error::NotFinite { point });
        }
        // a bone is a triangle without area: it has no inside, but is enclosed
        let mut all_points = points.to_vec();
        let mut all_triangles = triangles.to_vec();
        let size = Bounds::of(all_points.iter().copied()).diagonal();
        for &[a, b] in bones.iter().filter(|[a, b]| a.distance(*b) > 1e-6 * size) {
            let first = all_points.len() as u32;
            all_points.extend([a, b]);
            all_triangles.push([first, first + 1, first + 1]);
        }
        let wanted = self.cells.max(8) as f64;
        let mut base = wanted;
        let mut best: Option<(f64, MadeLattice)> = None;
        for _ in 0..TRIES {
            let meshing =
                TetMeshing { size: TetSize::Count(base.max(4.0) as usize), offset: 0.25, graded: false };
            let filled = meshing.fill(&all_points, &all_triangles)?;
            let threaded = with_segments(&filled.mesh, bones)?;
            let miss = (threaded.mesh.tets().len() as f64 / wanted).ln();
            if best.as_ref().is_none_or(|(least, _)| miss.abs() < *least) {
                let lattice = Lattice::from_tets(&threaded.mesh);
                best = Some((miss.abs(), MadeLattice { lattice, chains: threaded.chains }));
            }
            if miss.abs() < CLOSE_COUNT || base <= 4.0 {
                break;
            }
            // bones add cells of their own, about as many whatever the rest
            base = (base * (-miss).exp()).max(0.25 * base);
        }
        best.map(|(_, made)| made).ok_or(Error::Empty { what: "cells" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sphere;
    use crate::{Embedding, Random, SurfaceQuery, TetQuality, fractions_inside};

    #[test]
    fn a_limb_with_two_bones_gets_edges_along_them() {
        let (ball, triangles) = sphere(20);
        // long and thin: one cell is about as wide
        let points: Vec<Vec3> = ball.iter().map(|p| *p * Vec3::new(1.5, 0.3, 0.25)).collect();
        let bones = [
            [Vec3::new(-1.2, 0.0, 0.0), Vec3::new(0.1, 0.03, 0.02)],
            [Vec3::new(0.1, 0.03, 0.02), Vec3::new(1.2, 0.0, 0.0)],
        ];
        for cells in [60, 400, 2000] {
            let made = LatticeMaking { cells }.around(&points, &triangles, &bones).unwrap();
            assert!(made.chains.iter().all(|chain| chain.len() >= 2));
            let count = made.lattice.cells().len() as f64;
            assert!((count / cells as f64).ln().abs() < 0.5, "{cells}: {count}");
            let (mesh, _) = made.lattice.tets().unwrap();
            let quality = TetQuality::of(&mesh);
            assert_eq!((quality.inverted, quality.overfull_faces, quality.components), (0, 0, 1));
            // no vertex is far outside of the cells
            let embedding = Embedding::new(&mesh, &points).unwrap();
            assert!(embedding.outside(0.3).count() == 0);
            let surface = SurfaceQuery::new(points.clone(), triangles.clone()).unwrap();
            let fractions = fractions_inside(&mesh, &surface);
            let volume: f64 = mesh.volumes().iter().zip(&fractions).map(|(v, f)| v * f).sum();
            let exact = 4.0 / 3.0 * std::f64::consts::PI * 1.5 * 0.3 * 0.25;
            assert!((volume / exact - 1.0).abs() < 0.03, "{cells}: {volume} {exact}");
        }
    }

    /// Bones cut cells in two and more: ten of them in a ball, where the count of the tets between comes out nearly twice as large.
    #[test]
    fn cells_that_bones_add_are_made_up_for() {
        let (points, triangles) = sphere(12);
        let mut random = Random::new(5);
        let mut inside = || 0.45 * random.vec3();
        let bones: Vec<[Vec3; 2]> = (0..10).map(|_| [inside(), inside()]).collect();
        for (bones, cells) in [(&bones[..6], 100), (&bones[..], 400)] {
            let made = LatticeMaking { cells }.around(&points, &triangles, bones).unwrap();
            let count = made.lattice.cells().len() as f64;
            assert!((count / cells as f64).ln().abs() < 0.12, "{cells}: {count}");
        }
    }
}
