//! Which elements resist bending, and how they are made from a mesh.

use geometry::{Topology, Vec3};

use crate::cloth::{mean_over, shrunk};
use crate::{Hinge, Material, Plate};

/// Which elements resist bending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Bending {
    /// One [`Hinge`] per edge: cheap; right on meshes of nearly equilateral triangles.
    #[default]
    Hinges,
    /// One [`Plate`] per triangle: the same stiffness on every regular mesh and in every direction.
    Plates,
}

/// A mesh of triangles with area, as bending sees it.
pub(crate) struct Sheet<'a> {
    pub(crate) rest: &'a [Vec3],
    pub(crate) triangles: &'a [[u32; 3]],
    pub(crate) topology: Topology,
    /// Warp and weft of every triangle.
    pub(crate) axes: &'a [[Vec3; 2]],
    pub(crate) material: &'a Material,
    /// Painted factor per point.
    pub(crate) map: Option<&'a [f64]>,
    /// Factor per point on lengths at rest.
    pub(crate) shrink: Option<&'a [f64]>,
}

impl Sheet<'_> {
    /// Hinges, and how many were too thin. With plates, only those about edges of three triangles or more.
    pub(crate) fn hinges(&self, bending: Bending) -> (Vec<([u32; 4], Hinge)>, usize) {
        let mut degenerate = 0;
        let mut hinges = Vec::new();
        for stencil in self.topology.hinges() {
            if bending == Bending::Plates && self.is_manifold(&stencil.vertices) {
                continue;
            }
            let points = stencil.vertices.map(|v| self.rest[v as usize]);
            // threads cross the edge alike on both sides unless uv has a seam there: then each side has half a say
            let edge = (points[1] - points[0]).normalize_or_zero();
            let sides = stencil.triangles.map(|t| {
                let along = self.axes[t as usize].map(|axis| axis.dot(edge));
                // in the plane of the cloth, what runs along the weft is crossed by the warp
                self.material.bending(along[1], along[0])
            });
            let factor = mean_over(self.map, &stencil.vertices);
            let points = shrunk(points, mean_over(self.shrink, &stencil.vertices));
            match Hinge::new(&points, 0.5 * factor * (sides[0] + sides[1])) {
                Some(hinge) => hinges.push((stencil.vertices, hinge)),
                None => degenerate += 1,
            }
        }
        (hinges, degenerate)
    }

    /// Plates where they are asked for: one per triangle that has a neighbour.
    pub(crate) fn plates(&self, bending: Bending) -> Vec<([u32; 6], Plate)> {
        if bending != Bending::Plates {
            return Vec::new();
        }
        let mut neighbours: Vec<[Option<u32>; 3]> = vec![[None; 3]; self.triangles.len()];
        for stencil in self.topology.hinges() {
            let [_, _, a, b] = stencil.vertices;
            if !self.is_manifold(&stencil.vertices) {
                continue;
            }
            for (triangle, own, other) in [(stencil.triangles[0], a, b), (stencil.triangles[1], b, a)] {
                let corners = self.triangles[triangle as usize];
                for (corner, neighbour) in corners.into_iter().zip(&mut neighbours[triangle as usize]) {
                    if corner == own {
                        *neighbour = Some(other);
                    }
                }
            }
        }
        let stiffness = self.material.plate();
        let plate_of = |t: usize| {
            let corners = self.triangles[t];
            // a missing neighbour is stood in for by the corner across from it
            let apexes: [u32; 3] = std::array::from_fn(|i| neighbours[t][i].unwrap_or(corners[i]));
            let [[a, b, c], [d, e, f]] = [corners, apexes];
            let stencil = [a, b, c, d, e, f];
            let points = shrunk(stencil.map(|v| self.rest[v as usize]), mean_over(self.shrink, &corners));
            let present = neighbours[t].map(|neighbour| neighbour.is_some());
            let stiffness = stiffness.scaled(mean_over(self.map, &corners));
            Some((stencil, Plate::new(&points, &stencil, present, self.axes[t], stiffness)?))
        };
        (0..self.triangles.len()).filter_map(plate_of).collect()
    }

    /// Whether the edge of a hinge has two triangles.
    fn is_manifold(&self, [e0, e1, ..]: &[u32; 4]) -> bool {
        let ends = [*e0.min(e1), *e0.max(e1)];
        let edges = self.topology.edges();
        edges.binary_search_by_key(&ends, |edge| edge.vertices).is_ok_and(|i| edges[i].triangles.len() == 2)
    }
}
