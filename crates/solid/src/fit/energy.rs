//! Springs between embedded vertices and where an animation wants them: the data term of a fit.

use std::sync::Arc;

use dynamics::{Energy, GuideSample};
use geometry::{Embedding, Mat3, Vec3};
use linear::{Matrix, Pattern};

/// E = k Σ ½ Λᵥ ‖(C x)ᵥ − q̄ᵥ‖², Λ vertex areas in m², k in Pa/m. enrich eq. 1, with k = 1/γ.
///
/// Many vertices share a tet, and the second derivative does not change: it is summed per tet once and for all. k and q̄ change from frame
/// to frame; they are its internal variables, see [`FitTarget`].
#[derive(Clone)]
pub(crate) struct FitEnergy {
    vertices: Arc<[Vertex]>,
    /// Σ Λ w wᵀ of the vertices in each tet that has some.
    tets: Arc<[TetWeights]>,
    slots: Arc<[[[u32; 4]; 4]]>,
    target: FitTarget,
}

/// A tet's corners and its sum.
type TetWeights = ([u32; 4], [[f64; 4]; 4]);

#[derive(Clone)]
struct Vertex {
    index: usize,
    corners: [u32; 4],
    weights: [f64; 4],
    area: f64,
}

/// Where the vertices should be, and how hard they are drawn there: what changes from frame to frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct FitTarget {
    pub(crate) positions: Vec<Vec3>,
    pub(crate) stiffness: f64,
}

impl FitTarget {
    /// As internal variables: k, then q̄.
    pub(crate) fn internal(positions: &[Vec3], stiffness: f64) -> Vec<f64> {
        std::iter::once(stiffness).chain(positions.iter().flat_map(|p| p.to_array())).collect()
    }

    fn from_internal(internal: &[f64]) -> Self {
        let (stiffness, positions) = internal.split_first().unwrap_or((&0.0, &[]));
        let positions = positions.as_chunks::<3>().0.iter().map(|p| Vec3::from_array(*p)).collect();
        Self { positions, stiffness: *stiffness }
    }
}

impl FitEnergy {
    /// Vertices of no area are not drawn anywhere.
    pub(crate) fn new(embedding: &Embedding, areas: &[f64]) -> Self {
        let vertices: Vec<Vertex> = (0..embedding.len())
            .filter(|&index| areas[index] > 0.0)
            .map(|index| Vertex {
                index,
                corners: embedding.corners()[index],
                weights: embedding.weights()[index],
                area: areas[index],
            })
            .collect();
        let mut order: Vec<usize> = (0..vertices.len()).collect();
        order.sort_by_key(|&v| embedding.tets()[vertices[v].index]);
        let mut tets: Vec<([u32; 4], [[f64; 4]; 4])> = Vec::new();
        for v in order {
            let Vertex { corners, weights, area, .. } = &vertices[v];
            if tets.last().is_none_or(|(last, _)| last != corners) {
                tets.push((*corners, [[0.0; 4]; 4]));
            }
            let sum = &mut tets.last_mut().expect("pushed just now").1;
            for i in 0..4 {
                for j in 0..4 {
                    sum[i][j] += area * weights[i] * weights[j];
                }
            }
        }
        let target = FitTarget { positions: vec![Vec3::ZERO; embedding.len()], stiffness: 0.0 };
        Self { vertices: vertices.into(), tets: tets.into(), slots: Arc::default(), target }
    }
}

impl Vertex {
    fn place(&self, x: &[Vec3]) -> Vec3 {
        (0..4).map(|i| self.weights[i] * x[self.corners[i] as usize]).sum()
    }
}

impl Energy for FitEnergy {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.tets.iter().for_each(|(corners, _)| visit(corners));
    }

    fn shift(&mut self, first: u32) {
        let shifted = |corners: [u32; 4]| corners.map(|p| p + first);
        let vertex = |v: &Vertex| Vertex { corners: shifted(v.corners), ..v.clone() };
        self.vertices = self.vertices.iter().map(vertex).collect();
        self.tets = self.tets.iter().map(|(corners, sums)| (shifted(*corners), *sums)).collect();
    }

    fn internal(&self) -> Vec<f64> {
        FitTarget::internal(&self.target.positions, self.target.stiffness)
    }

    fn with_internal(&self, internal: &[f64]) -> Option<Box<dyn Energy>> {
        Some(Box::new(Self { target: FitTarget::from_internal(internal), ..self.clone() }))
    }

    fn bind(&mut self, pattern: &Pattern) {
        let slot =
            |i: u32, j: u32| pattern.slot(i, j).expect("the pattern was made from these stencils") as u32;
        let of = |corners: &[u32; 4]| corners.map(|i| corners.map(|j| slot(i, j)));
        self.slots = self.tets.iter().map(|(corners, _)| of(corners)).collect::<Vec<_>>().into();
    }

    fn value(&self, _: &GuideSample, x: &[Vec3]) -> f64 {
        let target = &self.target;
        let of = |v: &Vertex| v.area * v.place(x).distance_squared(target.positions[v.index]);
        0.5 * target.stiffness * self.vertices.iter().map(of).sum::<f64>()
    }

    fn add_gradient(&self, _: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]) {
        let target = &self.target;
        for v in self.vertices.iter() {
            let pull = target.stiffness * v.area * (v.place(x) - target.positions[v.index]);
            for i in 0..4 {
                gradient[v.corners[i] as usize] += v.weights[i] * pull;
            }
        }
    }

    fn add_hessian(&self, _: &GuideSample, _: &[Vec3], _: &[Vec3], matrix: &mut Matrix) {
        let stiffness = self.target.stiffness;
        let values = matrix.values_mut();
        for ((_, sums), slots) in self.tets.iter().zip(self.slots.iter()) {
            for i in 0..4 {
                for j in 0..=i {
                    values[slots[i][j] as usize] += Mat3::IDENTITY * (stiffness * sums[i][j]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::TetMesh;

    /// Behind other points of a body it is the same energy.
    #[test]
    fn shifted_it_draws_the_same_points() {
        let mesh = TetMesh::box_grid([1, 1, 1], Vec3::ONE).unwrap();
        let places = [Vec3::new(0.2, 0.3, 0.4), Vec3::new(0.7, 0.6, 0.1)];
        let embedding = Embedding::new(&mesh, &places).unwrap();
        let mut energy = FitEnergy::new(&embedding, &[2.0, 1.0]);
        energy.target = FitTarget { positions: places.map(|p| p + Vec3::X).to_vec(), stiffness: 3.0 };
        let sample = GuideSample { time: 0.0, guide_positions: &[], guide_velocities: &[] };
        let first = 5;
        let mut x = vec![100.0 * Vec3::ONE; first];
        x.extend(mesh.points());
        let stencils = |energy: &FitEnergy| {
            let mut all = Vec::new();
            energy.stencils(&mut |stencil| all.push(stencil.to_vec()));
            all
        };
        let before = stencils(&energy);
        // ½k Σ A d²
        assert!((energy.value(&sample, mesh.points()) - 4.5).abs() < 1e-12);
        energy.shift(first as u32);
        assert!((energy.value(&sample, &x) - 4.5).abs() < 1e-12);
        let moved: Vec<Vec<u32>> =
            before.iter().map(|stencil| stencil.iter().map(|p| p + first as u32).collect()).collect();
        assert_eq!(stencils(&energy), moved);
    }
}
