//! Areas, volumes and normals.

use crate::Vec3;

/// Area of a triangle.
pub fn triangle_area(a: Vec3, b: Vec3, c: Vec3) -> f64 {
    0.5 * (b - a).cross(c - a).length()
}

/// Volume of a tet; below zero when it is listed inside out.
pub fn tet_volume([a, b, c, d]: [Vec3; 4]) -> f64 {
    (b - a).cross(c - a).dot(d - a) / 6.0
}

/// The angles between the faces at the edges of a tet, in the order of [`TET_EDGES`](crate::TET_EDGES), in radians.
pub fn dihedral_angles(corners: [Vec3; 4]) -> [f64; 6] {
    crate::TET_EDGES.map(|[i, j]| {
        // the two corners off the edge: the indices sum to 0 + 1 + 2 + 3, and the smaller of them is the first free one
        let k = (0..4).find(|k| *k != i && *k != j).unwrap_or(0);
        let l = 6 - i - j - k;
        let along = corners[j] - corners[i];
        let (m, n) = (along.cross(corners[k] - corners[i]), along.cross(corners[l] - corners[i]));
        m.cross(n).length().atan2(m.dot(n))
    })
}

/// Unit normal by the right-hand rule; zero for a degenerate triangle.
pub fn triangle_normal(a: Vec3, b: Vec3, c: Vec3) -> Vec3 {
    (b - a).cross(c - a).normalize_or_zero()
}

/// A third of the area of the triangles around each vertex: the weights of a lumped surface integral.
pub fn vertex_areas(points: &[Vec3], triangles: &[[u32; 3]]) -> Vec<f64> {
    let mut areas = vec![0.0; points.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| points[v as usize]);
        let third = triangle_area(a, b, c) / 3.0;
        for &v in t {
            areas[v as usize] += third;
        }
    }
    areas
}

/// Area-weighted unit normals at the vertices; zero where no triangle has area.
pub fn vertex_normals(points: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Vec3> {
    let mut normals = vec![Vec3::ZERO; points.len()];
    for t in triangles {
        let [a, b, c] = t.map(|v| points[v as usize]);
        let doubled_area_normal = (b - a).cross(c - a);
        for &v in t {
            normals[v as usize] += doubled_area_normal;
        }
    }
    for normal in &mut normals {
        *normal = normal.normalize_or_zero();
    }
    normals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertex_areas_sum_to_the_surface() {
        let points = [Vec3::ZERO, Vec3::X, Vec3::X + Vec3::Y, Vec3::Y];
        let areas = vertex_areas(&points, &[[0, 1, 2], [0, 2, 3]]);
        assert!((areas.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((areas[0] - 1.0 / 3.0).abs() < 1e-15, "a shared corner gets a third of both");
    }

    #[test]
    fn dihedral_angles_of_a_regular_tet_and_a_corner() {
        let regular =
            [(1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (-1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)].map(Vec3::from);
        assert!(dihedral_angles(regular).iter().all(|angle| (angle - (1.0_f64 / 3.0).acos()).abs() < 1e-14));
        let right = dihedral_angles([Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z]);
        let slanted = (1.0 / 3.0_f64.sqrt()).acos();
        for (angle, expected) in right.iter().zip([[90_f64.to_radians(); 3], [slanted; 3]].concat()) {
            assert!((angle - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn normals_point_by_the_right_hand_rule() {
        let points = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::ONE];
        let normals = vertex_normals(&points, &[[0, 1, 2]]);
        assert_eq!(normals[0], Vec3::Z);
        assert_eq!(normals[3], Vec3::ZERO, "no triangle, no normal");
        assert_eq!(triangle_normal(Vec3::ZERO, Vec3::ZERO, Vec3::X), Vec3::ZERO);
    }
}
