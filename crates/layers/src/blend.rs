//! `blend`: takes back part of the layer below where the artist says, without baking that layer again.
//!
//! The kinematic blending of the *enrich* paper as a layer of its own: its key holds the weights, so turning them re-bakes this layer only. Of a
//! skeleton without a mesh the joints are blended, each within its parent: places and scales straight, rotations the shortest way.

use std::sync::Arc;

use clip::{Frames, Mesh, Selector, Transform};
use geometry::{TetMeshing, TetSize, Vec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use solid::{KinematicBlend, Pose, from_surface};

use shot::{Diagnostic, FrameResult, Layer, LayerError, Settings, Simulation, Target};

/// Blends the layer below with what that layer was given: by weight, turning instead of shrinking, without simulating again. Of a file with meshes the
/// points of one, of a skeleton alone its joints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Blend {
    /// Where, and how much, the animation comes back that the layer below was given: 1 exactly, 0 not at all. Of a skeleton the joints that are named,
    /// each as it stands to its parent.
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
        match self.weights(input) {
            Ok(_) => Vec::new(),
            Err(error) => vec![Diagnostic::new("follow", error.to_string())],
        }
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        self.follow.has_its_groups(mesh) && !mesh.faces.is_empty()
    }

    fn takes_skeletons(&self) -> bool {
        true
    }

    fn idle(&self, input: &Target) -> Vec<Diagnostic> {
        let is_turned = self.tets != Self::default().tets && input.clip.meshes.is_empty();
        let why = "a skeleton without a mesh is not filled with tets";
        is_turned.then(|| Diagnostic::new("tets", why)).into_iter().collect()
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
        let weights = self.weights(input)?;
        if input.clip.meshes.is_empty() {
            return Ok(Box::new(JointBlendSimulation { input: input.clone(), below, weights }));
        }
        let mesh = input.mesh();
        let (rest, triangles) = (mesh.rest(), mesh.point_triangles());
        let meshing = TetMeshing { size: TetSize::Count(self.tets), ..TetMeshing::default() };
        let filled = meshing.fill(&rest, &triangles).map_err(LayerError::new)?;
        let points = from_surface(&filled.mesh, &filled.embedding, &weights).map_err(LayerError::new)?;
        let areas = geometry::vertex_areas(&rest, &triangles);
        let tolerance = 1e-3 * geometry::Bounds::of(rest.iter().copied()).diagonal();
        let engine = KinematicBlend::new(&filled.mesh, &filled.embedding, &areas, weights, points, tolerance);
        Ok(Box::new(BlendSimulation {
            input: input.clone(),
            below,
            engine: engine.map_err(LayerError::new)?,
        }))
    }
}

impl Blend {
    /// How much of what the layer below was given comes back, for each point, or for each joint of a skeleton without a mesh.
    fn weights(&self, input: &Target) -> Result<Vec<f64>, clip::Error> {
        let weights = match (&input.clip.skeleton, input.clip.meshes.is_empty()) {
            (Some(skeleton), true) => self.follow.joint_weights(skeleton)?,
            _ => self.follow.weights(&input.clip, input.mesh, &input.files)?,
        };
        Ok(weights.into_iter().map(|w| (self.amount * f64::from(w)).clamp(0.0, 1.0)).collect())
    }
}

/// Joints of the layer below, mixed with what that layer was given. It has no state.
struct JointBlendSimulation {
    input: Target,
    below: Arc<dyn Frames>,
    weights: Vec<f64>,
}

impl Simulation for JointBlendSimulation {
    fn frame(&mut self, index: usize) -> Result<FrameResult, LayerError> {
        let animation = self.below.read(index)?.pose;
        let mut frame = self.input.clip.frame(index)?;
        if animation.len() != frame.pose.len() || animation.len() != self.weights.len() {
            let sentence =
                "the layer below changed the skeleton, so its input has nothing to be blended with";
            return Err(LayerError::new(sentence));
        }
        for ((joint, animated), weight) in frame.pose.iter_mut().zip(&animation).zip(&self.weights) {
            *joint = mixed(joint, animated, *weight);
        }
        Ok(frame.into())
    }

    fn checkpoint(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), LayerError> {
        Ok(())
    }
}

/// A joint on its way to another place; at 0 and 1 each to the bit.
fn mixed(joint: &Transform, other: &Transform, weight: f64) -> Transform {
    match weight {
        0.0 => *joint,
        1.0 => *other,
        _ => {
            let (from, to) = (joint.rotation.as_dquat().normalize(), other.rotation.as_dquat().normalize());
            let straight = |a: glam::Vec3, b: glam::Vec3| a.as_dvec3().lerp(b.as_dvec3(), weight).as_vec3();
            Transform {
                translation: straight(joint.translation, other.translation),
                // slerp takes the shorter way round
                rotation: from.slerp(to, weight).normalize().as_quat(),
                scale: straight(joint.scale, other.scale),
            }
        }
    }
}

struct BlendSimulation {
    input: Target,
    below: Arc<dyn Frames>,
    engine: KinematicBlend,
}

impl Simulation for BlendSimulation {
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
