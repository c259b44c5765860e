//! A clip: the static part and where its frames come from.

use std::sync::Arc;

use geometry::Vec3;

use crate::{
    BvhLayout, Error, Frame, Frames, GltfSource, Grid, Image, Material, MemoryFrames, Mesh, Result, Skeleton,
    UsdLayout, first_not_finite,
};

/// An animation: meshes with fixed topology, an optional skeleton, and frames at a fixed rate.
#[derive(Clone)]
pub struct Clip {
    /// What the file or the artist calls it.
    pub name: String,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// Meshes; the frames hold their points in the same order.
    pub meshes: Vec<Mesh>,
    /// Every joint of the scene (a forest: several characters may stand in it), or none.
    pub skeleton: Option<Skeleton>,
    /// Materials that mesh parts refer to.
    pub materials: Vec<Material>,
    /// Pictures that materials refer to.
    pub images: Vec<Image>,
    /// The channels of the BVH file that the skeleton came from.
    pub bvh: Option<BvhLayout>,
    /// Where the meshes stand in the USD layer that they came from.
    pub usd: Option<UsdLayout>,
    /// The glTF document that it came from: what a GLB is written into, so that it keeps all that nobody changed.
    pub gltf: Option<GltfSource>,
    /// What the reader had to leave out, a sentence each.
    pub warnings: Vec<String>,
    /// Frames at which the animation begins anew: what lies between one of them and the frame before is a cut, not a motion. Jumps need
    /// not be named.
    pub cuts: Vec<usize>,
    /// The pose in which garments were put on, where that is not the rest pose: from there a lead-in begins, for what was added is as it was
    /// drawn only there.
    pub dressed: Option<Arc<Frame>>,
    frames: Arc<dyn Frames>,
}

impl Clip {
    /// A clip without materials; fill in the other fields as needed.
    pub fn new(
        name: impl Into<String>,
        frame_rate_hz: f64,
        meshes: Vec<Mesh>,
        skeleton: Option<Skeleton>,
        frames: Arc<dyn Frames>,
    ) -> Self {
        Self {
            name: name.into(),
            frame_rate_hz,
            meshes,
            skeleton,
            materials: Vec::new(),
            images: Vec::new(),
            bvh: None,
            usd: None,
            gltf: None,
            warnings: Vec::new(),
            cuts: Vec::new(),
            dressed: None,
            frames,
        }
    }

    /// One mesh that stands still in its rest shape.
    pub fn still(mesh: Mesh, frame_rate_hz: f64, frame_count: usize) -> Self {
        let frame = Frame { points: vec![mesh.rest_points.clone()], pose: Vec::new() };
        let frames = MemoryFrames::new(vec![frame; frame_count]);
        Self::new(mesh.name.clone(), frame_rate_hz, vec![mesh], None, Arc::new(frames))
    }

    /// The same scene with other frames: what a layer gives back.
    #[must_use]
    pub fn with_frames(&self, frames: Arc<dyn Frames>) -> Self {
        Self { frames, ..self.clone() }
    }

    /// All meshes of a frame as one surface: points, mesh after mesh, and triangles over them. Nothing is left out, triangles
    /// without area neither.
    pub fn surface(&self, frame: usize) -> Result<(Vec<Vec3>, Vec<[u32; 3]>)> {
        let frame = self.checked_frame(frame)?;
        let mut triangles = Vec::new();
        let mut first = 0;
        for (mesh, points) in self.meshes.iter().zip(&frame.points) {
            let corner = |vertex: u32| first + mesh.vertex_points[vertex as usize];
            triangles.extend(mesh.faces.triangles().map(|t| t.map(corner)));
            first += points.len() as u32;
        }
        let points = frame.points.concat().iter().map(|p| Vec3::from(p.map(f64::from))).collect();
        Ok((points, triangles))
    }

    /// How many frames there are.
    pub fn frame_count(&self) -> usize {
        self.frames.count()
    }

    /// Whether there is a frame at `index`: what layers ask, rather than [`frame_count`](Self::frame_count).
    pub fn has_frame(&self, index: usize) -> bool {
        self.frames.has(index)
    }

    /// The frame at `index`, counted from zero.
    pub fn frame(&self, index: usize) -> Result<Frame> {
        self.frames.read(index)
    }

    /// The grids that go with the frame at `index`, from the lowest layer to the highest; none in most clips.
    pub fn grids(&self, index: usize) -> Result<Vec<Grid>> {
        self.frames.grids(index)
    }

    /// How much of each morph target is in the frame at `index`: for each mesh, in the order of its targets. The resting weights
    /// where the source of the frames knows no others.
    pub fn morph_weights(&self, index: usize) -> Result<Vec<Vec<f32>>> {
        let known = self.frames.morph_weights(index)?;
        let of = |(number, mesh): (usize, &Mesh)| match known.get(number) {
            Some(weights) if weights.len() == mesh.morph_targets.len() => weights.clone(),
            _ => mesh.morph_targets.iter().map(|target| target.weight).collect(),
        };
        Ok(self.meshes.iter().enumerate().map(of).collect())
    }

    /// A scene with nothing in it that lasts for so many frames.
    pub fn empty(name: impl Into<String>, frame_rate_hz: f64, frame_count: usize) -> Self {
        let frames = MemoryFrames::new(vec![Frame::default(); frame_count]);
        Self::new(name, frame_rate_hz, Vec::new(), None, Arc::new(frames))
    }

    /// The frame at `index` when it fits the meshes and the skeleton and all its coordinates are finite; otherwise
    /// the first thing that is wrong with it. What writers use.
    pub fn checked_frame(&self, index: usize) -> Result<Frame> {
        let frame = self.frame(index)?;
        let mismatch = |what: String, of, found, expected| {
            if found == expected {
                return Ok(());
            }
            Err(Error::FrameMismatch { frame: index, what, of, found, expected })
        };
        mismatch("the frame".into(), "meshes", frame.points.len(), self.meshes.len())?;
        for (mesh, points) in self.meshes.iter().zip(&frame.points) {
            mismatch(format!("mesh `{}`", mesh.name), "points", points.len(), mesh.point_count())?;
            if let Some(point) = first_not_finite(points) {
                return Err(Error::NotFinite { mesh: mesh.name.clone(), frame: index, point });
            }
        }
        if let Some(skeleton) = &self.skeleton {
            mismatch("the skeleton".into(), "joints", frame.pose.len(), skeleton.joints.len())?;
        }
        Ok(frame)
    }

    /// The source of the frames.
    pub fn frames(&self) -> &Arc<dyn Frames> {
        &self.frames
    }

    /// Seconds from the first frame to the last.
    pub fn duration(&self) -> f64 {
        self.frame_count().saturating_sub(1) as f64 / self.frame_rate_hz
    }

    /// The index of the mesh with this name.
    pub fn mesh_index(&self, name: &str) -> Option<usize> {
        self.meshes.iter().position(|mesh| mesh.name == name)
    }
}

impl std::fmt::Debug for Clip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clip")
            .field("name", &self.name)
            .field("frame_rate_hz", &self.frame_rate_hz)
            .field("meshes", &self.meshes)
            .field("skeleton", &self.skeleton)
            .field("frame_count", &self.frame_count())
            .finish_non_exhaustive()
    }
}
