//! Meshes cut finer, with everything that lies on them.

use geometry::{Prolongation, Scheme, Topology, subdivide};

use crate::{Faces, Mesh, Part};

impl Mesh {
    /// The mesh with every face cut into triangles and every triangle into four, `levels` times, and the way from its points
    /// to the new ones. Old points come first. Texture coordinates and groups are interpolated; the skin and morph targets are left behind.
    pub fn subdivided(&self, scheme: Scheme, levels: usize) -> (Self, Prolongation) {
        let mut mesh = self.clone();
        mesh.skin = None;
        mesh.morph_targets.clear();
        let mut way = Prolongation::identity(self.point_count());
        for _ in 0..levels {
            let (finer, step) = mesh.subdivided_once(scheme);
            (mesh, way) = (finer, way.then(&step));
        }
        (mesh, way)
    }

    fn subdivided_once(&self, scheme: Scheme) -> (Self, Prolongation) {
        let point = |vertex: u32| self.vertex_points[vertex as usize];
        let solid = |t: &[u32; 3]| {
            let [a, b, c] = t.map(point);
            a != b && b != c && c != a
        };
        let (mut triangles, mut ends) = (Vec::new(), Vec::new());
        for face in self.faces.iter() {
            let fan = (1..face.len().saturating_sub(1)).map(|i| [face[0], face[i], face[i + 1]]);
            triangles.extend(fan.filter(solid));
            ends.push(triangles.len());
        }
        let on_points: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(point)).collect();
        let once = subdivide(self.point_count(), &on_points, scheme);

        // the same cut over vertices, which differ from points along seams
        let topology = Topology::new(self.vertex_count(), &triangles);
        let point_topology = Topology::new(self.point_count(), &on_points);
        let edges = topology.edges();
        let middle = |a: u32, b: u32| {
            let ends = [a.min(b), a.max(b)];
            (self.vertex_count() + edges.partition_point(|edge| edge.vertices < ends)) as u32
        };
        let mut faces = Faces::default();
        for &[a, b, c] in &triangles {
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
            [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]].iter().for_each(|t| faces.push(t));
        }
        let mut vertex_points = self.vertex_points.clone();
        vertex_points.extend(edges.iter().map(|edge| {
            let [a, b] = edge.vertices.map(point);
            let ends = [a.min(b), a.max(b)];
            (self.point_count() + point_topology.edges().partition_point(|e| e.vertices < ends)) as u32
        }));
        let halved = |uvs: &Vec<[f32; 2]>| -> Vec<[f32; 2]> {
            if uvs.is_empty() {
                return Vec::new();
            }
            let between = edges.iter().map(|edge| {
                let [a, b] = edge.vertices.map(|v| uvs[v as usize]);
                [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])]
            });
            uvs.iter().copied().chain(between).collect()
        };
        let as_numbers = |weights: &[f32]| weights.iter().map(|w| f64::from(*w)).collect::<Vec<_>>();
        let rest = once.prolongation.vectors(&self.rest());
        let mesh = Self {
            name: self.name.clone(),
            parent: self.parent,
            rest_points: rest.iter().map(|p| p.as_vec3().to_array()).collect(),
            uvs: halved(&self.uvs),
            more_uvs: self.more_uvs.iter().map(halved).collect(),
            smoothing: smoothing(&self.smoothing, edges),
            parts: self
                .parts
                .iter()
                .map(|part| finer_part(part, &ends, &faces, vertex_points.len()))
                .collect(),
            groups: self
                .groups
                .iter()
                .map(|group| crate::Group {
                    name: group.name.clone(),
                    weights: once
                        .prolongation
                        .numbers(&as_numbers(&group.weights))
                        .iter()
                        .map(|w| *w as f32)
                        .collect(),
                })
                .collect(),
            vertex_points,
            faces,
            skin: None,
            morph_targets: Vec::new(),
        };
        (mesh, once.prolongation)
    }
}

/// Vertices on a new point share a normal where the ends of their edges do.
fn smoothing(old: &[u32], edges: &[geometry::Edge]) -> Vec<u32> {
    if old.is_empty() {
        return Vec::new();
    }
    let pair = |edge: &geometry::Edge| {
        let [a, b] = edge.vertices.map(|v| old[v as usize]);
        [a.min(b), a.max(b)]
    };
    let mut pairs: Vec<[u32; 2]> = edges.iter().map(pair).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let first = old.iter().max().map_or(0, |most| most + 1);
    let number = |edge: &geometry::Edge| first + pairs.partition_point(|p| *p < pair(edge)) as u32;
    old.iter().copied().chain(edges.iter().map(number)).collect()
}

/// A part's run of faces, four for each triangle that its faces had; its vertices from the first to the last used.
fn finer_part(part: &Part, ends: &[usize], faces: &Faces, vertex_count: usize) -> Part {
    let before = |face: usize| if face == 0 { 0 } else { 4 * ends[face - 1] };
    let range = before(part.faces.start)..before(part.faces.end);
    let used = range.clone().flat_map(|face| faces.get(face).iter().copied());
    let (low, high) = used.fold((u32::MAX, 0), |(low, high), v| (low.min(v), high.max(v)));
    let vertices = if range.is_empty() { 0..0 } else { low as usize..(high as usize + 1).min(vertex_count) };
    Part { faces: range, vertices, material: part.material }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seam_stays_a_seam_and_groups_are_carried_along() {
        // a quad of two triangles whose diagonal the file split
        let points = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]];
        let mut mesh = Mesh::new("quad", points, &[[0, 1, 2], [3, 4, 5]]);
        mesh.vertex_points = vec![0, 1, 2, 2, 1, 3];
        mesh.uvs = vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.3, 0.3], [0.7, 0.3], [1.0, 1.0]];
        mesh.parts = vec![
            Part { faces: 0..1, vertices: 0..3, material: Some(0) },
            Part { faces: 1..2, vertices: 3..6, material: Some(1) },
        ];
        mesh.set_group("top", vec![0.0, 0.0, 1.0, 1.0]);
        let (fine, way) = mesh.subdivided(Scheme::Linear, 2);
        assert_eq!((fine.point_count(), fine.faces.len(), way.fine_count()), (25, 32, 25));
        assert_eq!(fine.vertex_count(), 30, "five on the diagonal are double");
        assert_eq!(fine.parts[1].faces, 16..32);
        assert_eq!(Topology::new(25, &fine.point_triangles()).boundary_edges().count(), 16);
        for (point, weight) in fine.rest_points.iter().zip(&fine.group("top").unwrap().weights) {
            assert!((point[1] - weight).abs() < 1e-6, "linear in height as before");
        }
        assert_eq!(fine.uvs.len(), 30);
        let used = |part: &Part| {
            fine.faces.corners()[3 * part.faces.start..3 * part.faces.end]
                .iter()
                .all(|v| part.vertices.contains(&(*v as usize)))
        };
        assert!(fine.parts.iter().all(used));
    }

    #[test]
    fn quads_become_triangles() {
        let mut faces = Faces::default();
        faces.push(&[0, 1, 2, 3]);
        let mesh = Mesh::from_faces(
            "quad",
            vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]],
            faces,
        );
        let (fine, _) = mesh.subdivided(Scheme::Loop, 1);
        assert_eq!((fine.point_count(), fine.faces.len()), (9, 8));
    }

    /// Ends that share their normals give middles that do.
    #[test]
    fn middles_share_a_normal_where_their_ends_do() {
        let edge = |a: u32, b: u32| geometry::Edge { vertices: [a, b], triangles: Vec::new() };
        // vertices 0 and 3 are one, and so are 1 and 4; 2 and 5 are not
        let groups =
            smoothing(&[0, 1, 2, 0, 1, 3], &[edge(0, 1), edge(3, 4), edge(1, 2), edge(4, 5), edge(5, 3)]);
        assert_eq!(groups[..6], [0, 1, 2, 0, 1, 3]);
        let [a, b, c, d, e] = groups[6..] else { panic!("one for each edge") };
        assert_eq!(a, b);
        let mut others = vec![a, c, d, e];
        others.sort_unstable();
        assert_eq!(others, [4, 5, 6, 7], "the others are apart, and from all that there were");
        assert!(smoothing(&[], &[edge(0, 1)]).is_empty());
    }
}
