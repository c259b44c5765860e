//! What a layer reads of the one below it while it prepares and makes frames.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clip::{Clip, Frame, Frames, Grid};

/// What was read so far. Layers may read from any thread.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// One more than the highest frame that was read or asked about.
    reach: AtomicUsize,
    /// One more than the highest frame that could not be read; 0 where all could.
    missed: AtomicUsize,
}

impl Reads {
    /// The same clip, with frames that are noted here when they are read.
    pub(super) fn watch(self: &Arc<Self>, clip: &Clip) -> Clip {
        clip.with_frames(Arc::new(WatchedFrames { frames: clip.frames().clone(), reads: self.clone() }))
    }

    /// How many frames from the first on were read, one more where it was seen that they end; `None` for whoever asked how many there
    /// are, because that could have changed anything.
    pub(super) fn reach(&self) -> Option<usize> {
        Some(self.reach.load(Ordering::Relaxed)).filter(|reach| *reach < usize::MAX)
    }

    /// Whether something could not be read.
    pub(super) fn has_missed(&self) -> bool {
        self.missed.load(Ordering::Relaxed) > 0
    }

    /// How many frames must be there so that what could not be read can be; forgotten by asking.
    pub(super) fn take_missed(&self) -> usize {
        self.missed.swap(0, Ordering::Relaxed)
    }
}

struct WatchedFrames {
    frames: Arc<dyn Frames>,
    reads: Arc<Reads>,
}

impl WatchedFrames {
    fn note<T>(&self, index: usize, read: clip::Result<T>) -> clip::Result<T> {
        self.reads.reach.fetch_max(index.saturating_add(1), Ordering::Relaxed);
        if read.is_err() && self.frames.has(index) {
            self.reads.missed.fetch_max(index + 1, Ordering::Relaxed);
        }
        read
    }
}

impl Frames for WatchedFrames {
    fn count(&self) -> usize {
        self.reads.reach.store(usize::MAX, Ordering::Relaxed);
        self.frames.count()
    }

    fn has(&self, index: usize) -> bool {
        self.reads.reach.fetch_max(index.saturating_add(1), Ordering::Relaxed);
        self.frames.has(index)
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        self.note(index, self.frames.read(index))
    }

    fn grids(&self, index: usize) -> clip::Result<Vec<Grid>> {
        self.note(index, self.frames.grids(index))
    }

    fn below(&self) -> Option<Arc<dyn Frames>> {
        let frames = self.frames.below()?;
        Some(Arc::new(Self { frames, reads: self.reads.clone() }))
    }
}
