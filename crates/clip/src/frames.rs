//! Frames and where they come from.

use std::sync::Arc;

use crate::{Error, Grid, Result, Transform};

/// One moment of a clip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Positions in metres: for each mesh, each point.
    pub points: Vec<Vec<[f32; 3]>>,
    /// `parent_from_joint` of every joint of the skeleton; empty without one.
    pub pose: Vec<Transform>,
}

/// A source of frames: memory, a file read lazily, a bake on disk.
pub trait Frames: Send + Sync {
    /// How many frames there are.
    fn count(&self) -> usize;
    /// Whether there is a frame at `index`. To be asked rather than [`count`](Self::count) by what works its way through the frames: it says
    /// less, so that what comes of it still holds when frames are added far behind.
    fn has(&self, index: usize) -> bool {
        index < self.count()
    }
    /// The frame at `index`; [`Error::NoSuchFrame`] beyond the end.
    fn read(&self, index: usize) -> Result<Frame>;
    /// The grids that go with the frame at `index`; most clips have none. They are large, so they are read by themselves.
    fn grids(&self, _index: usize) -> Result<Vec<Grid>> {
        Ok(Vec::new())
    }
    /// How much of each morph target is in the frame at `index`: for each mesh, in the order of its targets. Empty where nothing is
    /// known; what changed frames did not change the weights of what it was made from.
    fn morph_weights(&self, index: usize) -> Result<Vec<Vec<f32>>> {
        self.below().map_or(Ok(Vec::new()), |below| below.morph_weights(index))
    }
    /// What these frames were made from, where they are the result of something that changed frames.
    fn below(&self) -> Option<Arc<dyn Frames>> {
        None
    }
}

/// The first point with a coordinate that is not a finite number.
pub fn first_not_finite(points: &[[f32; 3]]) -> Option<usize> {
    // all of them without a branch, which is many times faster than looking for the first
    if points.as_flattened().iter().fold(true, |finite, c| finite & c.is_finite()) {
        return None;
    }
    points.iter().position(|point| !point.iter().all(|c| c.is_finite()))
}

/// Frames held in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryFrames {
    frames: Vec<Frame>,
}

impl MemoryFrames {
    /// Takes the frames.
    pub fn new(frames: Vec<Frame>) -> Self {
        Self { frames }
    }
}

impl Frames for MemoryFrames {
    fn count(&self) -> usize {
        self.frames.len()
    }

    fn read(&self, index: usize) -> Result<Frame> {
        self.frames.get(index).cloned().ok_or(Error::NoSuchFrame { index, count: self.frames.len() })
    }
}
