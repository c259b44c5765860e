//! How good a tet mesh is, in numbers that a report can show.

use crate::{TetMesh, dihedral_angles};

/// What is true of all tets of a mesh together. Lengths in m, volumes in m³, angles in radians.
#[derive(Clone, Debug, PartialEq)]
pub struct TetQuality {
    /// Points of the mesh.
    pub points: usize,
    /// Tets of the mesh.
    pub tets: usize,
    /// Parts that share no point.
    pub components: usize,
    /// Sum of all volumes.
    pub volume: f64,
    /// The smallest volume of a tet; not above zero when one is inside out.
    pub smallest_volume: f64,
    /// The largest volume of a tet.
    pub largest_volume: f64,
    /// Tets whose volume is not above zero.
    pub inverted: usize,
    /// Faces that more than two tets share.
    pub overfull_faces: usize,
    /// The shortest edge.
    pub shortest_edge: f64,
    /// The longest edge.
    pub longest_edge: f64,
    /// The sharpest angle between two faces of a tet.
    pub smallest_dihedral: f64,
    /// The bluntest.
    pub largest_dihedral: f64,
    /// How many of all dihedral angles lie in each span of ten degrees.
    pub dihedral_histogram: [usize; 18],
}

impl TetQuality {
    /// Measures a mesh.
    pub fn of(mesh: &TetMesh) -> Self {
        let volumes = mesh.volumes();
        let components = mesh.components().iter().max().map_or(0, |&last| last as usize + 1);
        let mut quality = Self {
            points: mesh.points().len(),
            tets: mesh.tets().len(),
            components,
            volume: volumes.iter().sum(),
            smallest_volume: volumes.iter().copied().fold(f64::INFINITY, f64::min),
            largest_volume: volumes.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            inverted: volumes.iter().filter(|&&volume| volume <= 0.0).count(),
            overfull_faces: mesh.overfull_face_count(),
            shortest_edge: f64::INFINITY,
            longest_edge: 0.0,
            smallest_dihedral: f64::INFINITY,
            largest_dihedral: 0.0,
            dihedral_histogram: [0; 18],
        };
        for [i, j] in mesh.edges() {
            let length = mesh.points()[i as usize].distance(mesh.points()[j as usize]);
            quality.shortest_edge = quality.shortest_edge.min(length);
            quality.longest_edge = quality.longest_edge.max(length);
        }
        for angle in (0..mesh.tets().len()).flat_map(|tet| dihedral_angles(mesh.corners(tet))) {
            quality.smallest_dihedral = quality.smallest_dihedral.min(angle);
            quality.largest_dihedral = quality.largest_dihedral.max(angle);
            quality.dihedral_histogram[((angle.to_degrees() / 10.0) as usize).min(17)] += 1;
        }
        quality
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vec3;

    #[test]
    fn a_cube_of_five_tets() {
        let quality = TetQuality::of(&TetMesh::box_grid([1, 1, 1], Vec3::ONE).unwrap());
        assert_eq!((quality.points, quality.tets, quality.components, quality.inverted), (8, 5, 1, 0));
        assert!((quality.volume - 1.0).abs() < 1e-15);
        assert!((quality.smallest_volume - 1.0 / 6.0).abs() < 1e-15);
        assert!((quality.largest_volume - 1.0 / 3.0).abs() < 1e-15);
        assert!((quality.shortest_edge, quality.longest_edge) == (1.0, 2.0_f64.sqrt()));
        // four corners with three right angles and three of 54.7°, one regular tet with six of 70.5°
        assert_eq!(quality.dihedral_histogram[5], 12);
        assert_eq!(quality.dihedral_histogram[7], 6);
        assert_eq!(quality.dihedral_histogram[8] + quality.dihedral_histogram[9], 12);
        assert!((quality.smallest_dihedral.to_degrees() - 54.7356).abs() < 1e-4);
        assert!((quality.largest_dihedral.to_degrees() - 90.0).abs() < 1e-9);
    }
}
