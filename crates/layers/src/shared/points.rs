//! Points and corners of a clip's mesh as solvers take them.

use clip::Mesh;
use geometry::{Vec2, Vec3};

/// From the file's numbers to the solver's.
pub(crate) fn to_vectors(points: &[[f32; 3]]) -> Vec<Vec3> {
    points.iter().map(|p| Vec3::from(p.map(f64::from))).collect()
}

/// Texture coordinates per corner of every point triangle, in the order of [`Mesh::point_triangles`].
pub(crate) fn corner_uvs(mesh: &Mesh) -> Option<Vec<[Vec2; 3]>> {
    if mesh.uvs.is_empty() {
        return None;
    }
    let on_points = |t: [u32; 3]| t.map(|vertex| mesh.vertex_points[vertex as usize]);
    let has_area = |t: &[u32; 3]| {
        let [a, b, c] = on_points(*t);
        a != b && b != c && c != a
    };
    let uv = |vertex: u32| {
        let [u, v] = mesh.uvs[vertex as usize];
        Vec2::new(f64::from(u), f64::from(v))
    };
    Some(mesh.faces.triangles().filter(has_area).map(|t| t.map(uv)).collect())
}
