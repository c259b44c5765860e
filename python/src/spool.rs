//! Frames that were pulled from a generator, in a file without a name: as many as there are, and never more than one in memory.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use followthrough::clip::{Error, Frame, Frames, Result};

use crate::arrays::Point;

/// Takes frames in.
pub(crate) struct Spool {
    file: BufWriter<File>,
    /// Points of each mesh.
    counts: Vec<usize>,
    frames: usize,
}

impl Spool {
    /// An empty one; the file goes when nobody needs it, however the process ends.
    pub(crate) fn new(counts: Vec<usize>) -> Result<Self> {
        let file = BufWriter::new(tempfile::tempfile().map_err(refused)?);
        Ok(Self { file, counts, frames: 0 })
    }

    /// One more frame: the points of every mesh, as many as were said.
    pub(crate) fn push(&mut self, points: &[Vec<Point>]) -> Result<()> {
        for (points, expected) in points.iter().zip(&self.counts) {
            debug_assert_eq!(points.len(), *expected);
            self.file.write_all(bytemuck::cast_slice(points)).map_err(refused)?;
        }
        self.frames += 1;
        Ok(())
    }

    /// How many frames there are.
    pub(crate) fn len(&self) -> usize {
        self.frames
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// The frames.
    pub(crate) fn finish(self) -> Result<SpooledFrames> {
        let file = self.file.into_inner().map_err(|error| refused(error.into_error()))?;
        Ok(SpooledFrames { file: Mutex::new(file), counts: self.counts, frames: self.frames })
    }
}

/// Gives them out again, in any order.
pub(crate) struct SpooledFrames {
    file: Mutex<File>,
    counts: Vec<usize>,
    frames: usize,
}

impl Frames for SpooledFrames {
    fn count(&self) -> usize {
        self.frames
    }

    fn read(&self, index: usize) -> Result<Frame> {
        if index >= self.frames {
            return Err(Error::NoSuchFrame { index, count: self.frames });
        }
        let mut points: Vec<Vec<Point>> = self.counts.iter().map(|&count| vec![[0.0; 3]; count]).collect();
        let size = (self.counts.iter().sum::<usize>() * size_of::<Point>()) as u64;
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(index as u64 * size)).map_err(refused)?;
        for points in &mut points {
            file.read_exact(bytemuck::cast_slice_mut(points)).map_err(refused)?;
        }
        Ok(Frame { points, pose: Vec::new() })
    }
}

fn refused(source: std::io::Error) -> Error {
    Error::Io { path: PathBuf::from("a file for frames that are pulled"), source }
}
