//! `blend`: takes back part of the layer below where the artist says, without baking that layer again.
//!
//! The kinematic blending of the *enrich* paper as a layer of its own: its key holds the weights, so turning them re-bakes this layer only.

use std::sync::Arc;

use clip::{Frames, Mesh, Selector};
use geometry::{TetMeshing, TetSize, Vec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use solid::{KinematicBlend, Pose, from_surface};

use shot::{Diagnostic, FrameResult, Layer, LayerError, Settings, Simulation, Target};

/// Blends the layer below with what that layer was given: by weight, turning instead of shrinking, without simulating again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Blend {
    /// Where, and how much, the animation comes back that the layer below was given: 1 exactly, 0 not at all.
    pub follow: Selector,
    /// A factor on all weights.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub amount: f64,
    /// About how many tets both shapes are compared with.
    #[schemars(extend("minimum" = 1, "maximum" = 2_000_000, "x-usual" = [20, 200_000]))]
    pub tets: usize,
}

impl Default for Blend {
    fn default() -> Self {
        Self { follow: Selector::All, amount: 0.5, tets: 4000 }
    }
}

impl Settings for Blend {
    const KIND: &'static str = "blend";
    const SUMMARY: &'static str = "takes back part of the layer below, without simulating again";
    const VERSION: u32 = 1;
}

impl Layer for Blend {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        match self.follow.weights(&input.clip, input.mesh, &input.files) {
            Ok(_) => Vec::new(),
            Err(error) => vec![Diagnostic::new("follow", error.to_string())],
        }
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        let has_group = match &self.follow {
            Selector::Group(name) => mesh.group(name).is_some(),
            _ => true,
        };
        has_group && !mesh.faces.is_empty()
    }

    fn needs_layer_below(&self) -> bool {
        true
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        let Some(below) = input.clip.frames().below() else {
            let help = "put it above the layer whose result is to be blended";
            return Err(
                LayerError::new("there is no layer below to take something back from").with_help(help)
            );
        };
        let mesh = input.mesh();
        let (rest, triangles) = (mesh.rest(), mesh.point_triangles());
        let weights = self.follow.weights(&input.clip, input.mesh, &input.files)?;
        let weights: Vec<f64> =
            weights.into_iter().map(|w| (self.amount * f64::from(w)).clamp(0.0, 1.0)).collect();
        let meshing = TetMeshing { size: TetSize::Count(self.tets), ..TetMeshing::default() };
        let filled = meshing.fill(&rest, &triangles).map_err(LayerError::new)?;
        let points = from_surface(&filled.mesh, &filled.embedding, &weights).map_err(LayerError::new)?;
        let areas = geometry::vertex_areas(&rest, &triangles);
        let tolerance = 1e-3 * geometry::Bounds::of(rest.iter().copied()).diagonal();
        let engine = KinematicBlend::new(&filled.mesh, &filled.embedding, &areas, weights, points, tolerance);
        Ok(Box::new(Mixed { input: input.clone(), below, engine: engine.map_err(LayerError::new)? }))
    }
}

struct Mixed {
    input: Target,
    below: Arc<dyn Frames>,
    engine: KinematicBlend,
}

impl Simulation for Mixed {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let vectors = |points: &[[f32; 3]]| -> Vec<Vec3> {
            points.iter().map(|p| Vec3::from(p.map(f64::from))).collect()
        };
        let animation = vectors(&self.below.read(index)?.points[self.input.mesh]);
        let simulation = vectors(&self.input.points(index)?);
        if animation.len() != simulation.len() {
            let sentence = "the layer below changed the mesh, so its input has nothing to be blended with";
            return Err(LayerError::new(sentence));
        }
        let blended = self.engine.frame(&animation, &simulation).map_err(LayerError::new)?;
        let points = blended.iter().map(|p| p.as_vec3().to_array()).collect();
        Ok(self.input.with_points(index, points)?.into())
    }

    fn checkpoint(&self) -> Vec<u8> {
        self.engine.pose().to_bytes()
    }

    fn restore(&mut self, checkpoint: &[u8]) -> Result<(), LayerError> {
        let restored = Pose::from_bytes(checkpoint).is_some_and(|pose| self.engine.restore(pose));
        if restored { Ok(()) } else { Err(LayerError::new("the checkpoint is not one of this blend")) }
    }
}
