//! A sheet that waves: what benchmarks of files read and write.

use clip::{Frame, Frames};

/// A square sheet of points that waves, made as it is asked for, so that a benchmark itself holds no frames.
#[derive(Clone, Copy)]
pub(crate) struct Waves {
    /// Points per side.
    pub(crate) side: usize,
    /// Frames.
    pub(crate) count: usize,
}

impl Waves {
    /// The first corner of every cell.
    pub(crate) fn cells(self) -> impl Iterator<Item = u32> {
        let cells = self.side - 1;
        (0..cells * cells).map(move |k| (k / cells * self.side + k % cells) as u32)
    }
}

impl Frames for Waves {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        if index >= self.count {
            return Err(clip::Error::NoSuchFrame { index, count: self.count });
        }
        let phase = 0.2 * index as f32;
        let at = |k: usize| {
            let (u, v) = ((k % self.side) as f32 * 0.02, (k / self.side) as f32 * 0.02);
            [u, 0.2 * (3.0 * u + phase).sin() * (2.0 * v - 0.7 * phase).cos(), v]
        };
        Ok(Frame { points: vec![(0..self.side * self.side).map(at).collect()], ..Frame::default() })
    }
}
