//! Layers that give back another mesh than they got: finer, or one that stands on it.

use std::sync::Arc;

use clip::{Clip, Frame, Frames, Mesh};
use geometry::{Prolongation, Vec3};

/// Another mesh in the place of a layer's own, and how its points follow from the old ones.
#[derive(Clone, Debug)]
pub struct Reshape {
    /// The static part of the new mesh.
    pub mesh: Mesh,
    /// Where its points are when nothing is added: on the old mesh.
    pub prolongation: Prolongation,
}

impl Reshape {
    /// The clip with the new mesh carried along by the old one: what the layer's result is compared and mixed with.
    pub fn carried(self, clip: &Clip, mesh: usize) -> Clip {
        let mut carried = clip.clone();
        let name = std::mem::take(&mut carried.meshes[mesh].name);
        carried.meshes[mesh] = Mesh { name, ..self.mesh };
        let below = clip.frames().clone();
        carried.with_frames(Arc::new(Carried { below, mesh, prolongation: self.prolongation }))
    }
}

struct Carried {
    below: Arc<dyn Frames>,
    mesh: usize,
    prolongation: Prolongation,
}

impl Frames for Carried {
    fn count(&self) -> usize {
        self.below.count()
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        let mut frame = self.below.read(index)?;
        if let Some(points) =
            frame.points.get_mut(self.mesh).filter(|p| p.len() == self.prolongation.coarse_count())
        {
            let coarse: Vec<Vec3> = points.iter().map(|p| Vec3::from(p.map(f64::from))).collect();
            *points = self.prolongation.vectors(&coarse).iter().map(|p| p.as_vec3().to_array()).collect();
        }
        Ok(frame)
    }

    fn morph_weights(&self, index: usize) -> clip::Result<Vec<Vec<f32>>> {
        self.below.morph_weights(index)
    }
}
