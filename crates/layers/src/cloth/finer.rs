//! Cloth on a finer mesh than the animation has.

use clip::{Group, Mesh};
use geometry::{Prolongation, Scheme};
use shot::Reshape;

use super::Cloth;

/// A finer mesh, and how what lies on the coarse one gets there.
pub(crate) struct Finer {
    /// The mesh, and where its points are when the coarse one moves: on the smooth surface.
    pub(crate) reshape: Reshape,
    /// The same for weights: between two points their mean, so that what follows exactly still does.
    weights: Prolongation,
}

impl Cloth {
    /// The mesh that is simulated, where it is not the animation's own.
    pub(crate) fn finer(&self, mesh: &Mesh) -> Option<Finer> {
        if self.subdivide == 0 {
            return None;
        }
        let (mut fine, prolongation) = mesh.subdivided(Scheme::Loop, self.subdivide);
        let (_, weights) = mesh.subdivided(Scheme::Linear, self.subdivide);
        let carried =
            |group: &Group| Group { name: group.name.clone(), weights: on_fine(&weights, &group.weights) };
        fine.groups = mesh.groups.iter().map(carried).collect();
        Some(Finer { reshape: Reshape { mesh: fine, prolongation }, weights })
    }
}

impl Finer {
    /// From weights of the coarse points to those of the fine ones.
    pub(crate) fn of_weights(&self) -> Prolongation {
        self.weights.clone()
    }

    /// Weights of the coarse points on the fine ones.
    pub(crate) fn weights(&self, coarse: &[f32]) -> Vec<f32> {
        on_fine(&self.weights, coarse)
    }
}

fn on_fine(way: &Prolongation, coarse: &[f32]) -> Vec<f32> {
    let coarse: Vec<f64> = coarse.iter().map(|weight| f64::from(*weight)).collect();
    way.numbers(&coarse).into_iter().map(|weight| weight as f32).collect()
}
