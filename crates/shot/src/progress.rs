//! What a bake tells while it runs, and how it is stopped.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The file system of the bake folder knows no locks: nothing keeps two bakes from writing there at once.
    NoLocks {
        /// The bake folder.
        folder: &'a Path,
    },
    /// A layer takes part. All layers are told of before the first frame is made; then their frames come in turns.
    Layer {
        /// Its name.
        layer: &'a str,
        /// Which one it is among the active layers, from zero.
        index: usize,
        /// How many active layers there are.
        of: usize,
        /// Frames that are there from an earlier bake.
        reused: usize,
        /// Frames that it needs in all.
        frames: usize,
    },
    /// A layer begins to prepare. From here to [`Event::Prepared`] nothing is written; a layer that is told to
    /// stop in between is left to itself, and ends on its own thread.
    Preparing {
        /// Its name.
        layer: &'a str,
    },
    /// A layer is ready to make frames.
    Prepared {
        /// Its name.
        layer: &'a str,
        /// How long that took.
        seconds: f64,
    },
    /// There is something to tell of the first frame, before it is done: whoever waits for the rest may want to know.
    Warning {
        /// The layer's name.
        layer: &'a str,
        /// The sentence; it is told again at the end.
        text: &'a str,
    },
    /// A frame is done and stored.
    Frame {
        /// The layer's name.
        layer: &'a str,
        /// The frame, from zero.
        frame: usize,
        /// Frames of the layer that are there now.
        done: usize,
        /// Frames that it needs in all.
        of: usize,
        /// How long this frame took.
        seconds: f64,
    },
    /// The first frame is through all layers, and there is a picture of it.
    FirstPicture {
        /// The picture; it goes when the outputs are written.
        path: &'a Path,
    },
    /// An output file, a film or the report is begun.
    Writing {
        /// The file.
        path: &'a Path,
    },
    /// A part of an output is done: pictures of a film.
    Written {
        /// The file.
        path: &'a Path,
        /// Parts done.
        done: usize,
        /// Parts in all.
        of: usize,
    },
}

/// Listens to a bake. It may be called from any thread; nothing it does can change the result.
pub trait Progress: Sync {
    /// Something happened.
    fn event(&self, event: Event<'_>);
}

/// Closures listen too.
impl<F: Fn(Event<'_>) + Sync> Progress for F {
    fn event(&self, event: Event<'_>) {
        self(event);
    }
}

/// What surrounds a bake and cannot change its result.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Hears what happens.
    pub progress: &'a dyn Progress,
    /// Set it, from any thread, and the bake ends within a second. A frame or preparation that does not look at it is left in its middle:
    /// its thread ends when that would have been done, and nothing of it is kept.
    pub cancel: &'a AtomicBool,
}

impl Context<'_> {
    /// Nobody listens and nobody stops.
    pub const SILENT: Context<'static> = Context { progress: &Silence, cancel: &NEVER };

    /// Whether it is to be stopped.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

static NEVER: AtomicBool = AtomicBool::new(false);

struct Silence;

impl Progress for Silence {
    fn event(&self, _: Event<'_>) {}
}
