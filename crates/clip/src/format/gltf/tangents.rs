//! Tangents of a deforming surface: those that the file gives, carried along.
//!
//! A tangent t of a vertex is written in the frame that its texture coordinates span at rest, a = t·u, b = t·(n × u), where n is the
//! normal and u the direction in the surface in which the first texture coordinate grows; deformed, it is a u′ + b (n′ × u′). So
//! whatever convention the file's tangents follow, they turn with the surface. Where texture coordinates span nothing, the tangent turns as
//! the normal does.

use std::ops::Range;

use glam::{Quat, Vec3};

use crate::Mesh;

/// The tangents of a run of vertices.
pub(super) struct Tangents {
    /// Triangles over the run's vertices, the points under them, and how u is made of the first two edges.
    triangles: Vec<([u32; 3], [u32; 3], [f32; 2])>,
    base: Vec<Vec3>,
    base_normals: Vec<Vec3>,
    /// u at rest, or zero.
    base_directions: Vec<Vec3>,
}

impl Tangents {
    /// `base` are the mesh's points at rest, `normals` and `tangents` those of the run's vertices there.
    pub(super) fn new(
        mesh: &Mesh,
        run: Range<usize>,
        base: &[[f32; 3]],
        normals: &[[f32; 3]],
        tangents: Vec<[f32; 4]>,
    ) -> Self {
        let mut triangles = Vec::new();
        if mesh.uvs.len() == mesh.vertex_count() {
            let inside = |t: &[u32; 3]| t.iter().all(|&v| run.contains(&(v as usize)));
            for corners in mesh.faces.triangles().filter(inside) {
                let [a, b, c] = corners.map(|vertex| mesh.uvs[vertex as usize]);
                let area = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]);
                let sign = if area < 0.0 { -1.0 } else { 1.0 };
                let points = corners.map(|vertex| mesh.vertex_points[vertex as usize]);
                let in_run = corners.map(|vertex| vertex - run.start as u32);
                triangles.push((in_run, points, [sign * (c[1] - a[1]), sign * (a[1] - b[1])]));
            }
        }
        let base_normals: Vec<Vec3> = normals.iter().map(|n| Vec3::from(*n)).collect();
        let mut made = Self {
            triangles,
            base: tangents.iter().map(|t| Vec3::new(t[0], t[1], t[2])).collect(),
            base_directions: Vec::new(),
            base_normals,
        };
        made.base_directions = made.directions(base, &made.base_normals);
        made
    }

    /// How far each vertex's tangent is from the one at rest, with the mesh's points and the run's normals elsewhere.
    pub(super) fn moved(&self, points: &[[f32; 3]], normals: &[[f32; 3]]) -> Vec<[f32; 3]> {
        let normals: Vec<Vec3> = normals.iter().map(|n| Vec3::from(*n)).collect();
        let directions = self.directions(points, &normals);
        let of = |vertex: usize| {
            let (t, n0, n) = (self.base[vertex], self.base_normals[vertex], normals[vertex]);
            let (u0, u) = (self.base_directions[vertex], directions[vertex]);
            let now = if u0 == Vec3::ZERO || u == Vec3::ZERO {
                Quat::from_rotation_arc(n0.normalize_or(Vec3::Y), n.normalize_or(Vec3::Y)) * t
            } else {
                t.dot(u0) * u + t.dot(n0.cross(u0)) * n.cross(u)
            };
            (now - t).to_array()
        };
        (0..self.base.len()).map(of).collect()
    }

    /// u of each vertex: orthogonal to its normal and of length one, or zero.
    fn directions(&self, points: &[[f32; 3]], normals: &[Vec3]) -> Vec<Vec3> {
        let mut sums = vec![Vec3::ZERO; normals.len()];
        for (corners, on_points, [first, second]) in &self.triangles {
            let [a, b, c] = on_points.map(|point| Vec3::from(points[point as usize]));
            let u = (b - a) * *first + (c - a) * *second;
            corners.iter().for_each(|&corner| sums[corner as usize] += u);
        }
        sums.iter().zip(normals).map(|(u, n)| (u - n * u.dot(*n)).normalize_or_zero()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square whose texture runs along x, with tangents along x, turned and sheared.
    #[test]
    fn tangents_turn_with_the_surface() {
        let square = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, -1.0], [0.0, 0.0, -1.0]];
        let mut mesh = Mesh::new("square", square.clone(), &[[0, 1, 2], [0, 2, 3]]);
        mesh.uvs = vec![[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]];
        let up = vec![[0.0, 1.0, 0.0]; 4];
        let tangents = Tangents::new(&mesh, 0..4, &square, &up, vec![[1.0, 0.0, 0.0, 1.0]; 4]);
        assert!(tangents.moved(&square, &up).iter().flatten().all(|d| d.abs() < 1e-6));
        // a quarter turn about y brings x to −z; the normal stays, so that it alone could not tell
        let turned: Vec<[f32; 3]> = square.iter().map(|p| [p[2], 0.0, -p[0]]).collect();
        for moved in tangents.moved(&turned, &up) {
            assert!((Vec3::from(moved) - Vec3::new(-1.0, 0.0, -1.0)).length() < 1e-6, "{moved:?}");
        }
        // without texture coordinates it turns with the normal: here from y to x, so that x goes to −y
        mesh.uvs.clear();
        let tangents = Tangents::new(&mesh, 0..4, &square, &up, vec![[1.0, 0.0, 0.0, 1.0]; 4]);
        let sideways = vec![[1.0, 0.0, 0.0]; 4];
        for moved in tangents.moved(&square, &sideways) {
            assert!((Vec3::from(moved) - Vec3::new(-1.0, -1.0, 0.0)).length() < 1e-6, "{moved:?}");
        }
    }
}
