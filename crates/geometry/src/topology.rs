//! Who is next to whom in a triangle mesh: edges, hinges, neighbours, components.
//!
//! Any list of triangles is accepted: open, non-manifold, not orientable. Degenerate triangles (a repeated
//! vertex) have no edges worth the name and are passed over.

/// An edge with every triangle that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Its ends, the smaller index first.
    pub vertices: [u32; 2],
    /// Triangles around it: one on a boundary, two inside a surface, more where the mesh is not manifold.
    pub triangles: Vec<u32>,
}

/// Two triangles about a shared edge: the stencil of bending.
///
/// With `[e0, e1, a, b]` the triangles are (e0, e1, a) and (e1, e0, b), as seen from one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hinge {
    /// Ends of the edge, then the two vertices opposite it.
    pub vertices: [u32; 4],
    /// The two triangles.
    pub triangles: [u32; 2],
}

/// Adjacency of a triangle mesh, computed once.
#[derive(Clone, Debug)]
pub struct Topology {
    vertex_count: usize,
    edges: Vec<Edge>,
    hinges: Vec<Hinge>,
}

impl Topology {
    /// Finds edges and hinges. Indices must be below `vertex_count`.
    pub fn new(vertex_count: usize, triangles: &[[u32; 3]]) -> Self {
        // (low, high, triangle) sorted: equal edges become neighbours, in an order that no hash map decides
        let mut sides: Vec<(u32, u32, u32)> = Vec::with_capacity(3 * triangles.len());
        for (t, &[a, b, c]) in triangles.iter().enumerate() {
            if a == b || b == c || c == a {
                continue;
            }
            for (e0, e1) in [(a, b), (b, c), (c, a)] {
                sides.push((e0.min(e1), e0.max(e1), t as u32));
            }
        }
        sides.sort_unstable();
        let edges: Vec<Edge> = sides
            .chunk_by(|x, y| (x.0, x.1) == (y.0, y.1))
            .map(|run| Edge { vertices: [run[0].0, run[0].1], triangles: run.iter().map(|s| s.2).collect() })
            .collect();
        let hinges = edges.iter().flat_map(|edge| hinges_of(edge, triangles)).collect();
        Self { vertex_count, edges, hinges }
    }

    /// How many vertices the mesh has, referenced or not.
    pub fn vertex_count(&self) -> usize {
        self.vertex_count
    }

    /// Every edge once, sorted by its vertices.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Every pair of triangles about an edge. A non-manifold edge with k triangles has k−1 hinges: each triangle
    /// with the first one.
    pub fn hinges(&self) -> &[Hinge] {
        &self.hinges
    }

    /// Edges with one triangle.
    pub fn boundary_edges(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(|edge| edge.triangles.len() == 1)
    }

    /// Edges with three triangles or more.
    pub fn non_manifold_edges(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(|edge| edge.triangles.len() > 2)
    }

    /// For each vertex the vertices it shares an edge with, ascending.
    pub fn neighbours(&self) -> Vec<Vec<u32>> {
        let mut neighbours = vec![Vec::new(); self.vertex_count];
        for edge in &self.edges {
            let [e0, e1] = edge.vertices;
            neighbours[e0 as usize].push(e1);
            neighbours[e1 as usize].push(e0);
        }
        neighbours.iter_mut().for_each(|list| list.sort_unstable());
        neighbours
    }

    /// A component number for every vertex, numbered in the order of their first vertices. A vertex that no edge
    /// touches is a component of its own.
    pub fn components(&self) -> Vec<u32> {
        const UNSEEN: u32 = u32::MAX;
        let neighbours = self.neighbours();
        let mut component = vec![UNSEEN; self.vertex_count];
        let mut count = 0;
        let mut stack = Vec::new();
        for seed in 0..self.vertex_count {
            if component[seed] != UNSEEN {
                continue;
            }
            component[seed] = count;
            stack.push(seed);
            while let Some(v) = stack.pop() {
                for &w in &neighbours[v] {
                    if component[w as usize] == UNSEEN {
                        component[w as usize] = count;
                        stack.push(w as usize);
                    }
                }
            }
            count += 1;
        }
        component
    }
}

fn hinges_of(edge: &Edge, triangles: &[[u32; 3]]) -> Vec<Hinge> {
    let opposite = |t: u32| {
        let corners = triangles[t as usize];
        corners.into_iter().find(|v| !edge.vertices.contains(v)).unwrap_or(corners[0])
    };
    let Some((&first, rest)) = edge.triangles.split_first() else { return Vec::new() };
    // run along the edge as the first triangle does, so that the hinge's normals agree with the mesh's
    let [low, high] = edge.vertices;
    let corners = triangles[first as usize];
    let forward = (0..3).any(|i| corners[i] == low && corners[(i + 1) % 3] == high);
    let (e0, e1) = if forward { (low, high) } else { (high, low) };
    rest.iter()
        .map(|&second| Hinge {
            vertices: [e0, e1, opposite(first), opposite(second)],
            triangles: [first, second],
        })
        .filter(|hinge| hinge.vertices[2] != hinge.vertices[3])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hinge_runs_along_the_first_triangle() {
        let topology = Topology::new(4, &[[2, 1, 0], [1, 2, 3]]);
        assert_eq!(topology.hinges(), &[Hinge { vertices: [2, 1, 0, 3], triangles: [0, 1] }]);
    }

    #[test]
    fn euler_characteristic_of_a_tetrahedron() {
        let triangles = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
        let topology = Topology::new(4, &triangles);
        assert_eq!(4 + triangles.len() - topology.edges().len(), 2);
        assert_eq!(topology.hinges().len(), 6);
        assert_eq!(topology.boundary_edges().count(), 0);
    }

    #[test]
    fn non_manifold_degenerate_and_loose_parts_are_accepted() {
        let topology = Topology::new(7, &[[0, 1, 2], [1, 0, 3], [0, 1, 4], [5, 5, 6]]);
        assert_eq!(topology.non_manifold_edges().count(), 1);
        assert_eq!(topology.hinges().len(), 2);
        assert_eq!(topology.components(), vec![0, 0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn duplicate_triangles_make_no_hinge() {
        assert!(Topology::new(3, &[[0, 1, 2], [0, 1, 2]]).hinges().is_empty());
    }
}
