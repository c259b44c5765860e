//! What a bake tells while it runs, carried from the thread that bakes to the one that asked for it.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};

use followthrough::shot::{self, Event};
use pyo3::prelude::*;

/// Something that happened in a bake. `print` shows it as a line.
#[pyclass(name = "Progress", module = "followthrough", frozen, get_all)]
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// `layer`: one takes part. `preparing`, `prepared`: it gets ready. `frame`: a frame is stored. `writing`, `written`: an output file.
    kind: &'static str,
    /// The layer's name, or None.
    layer: Option<String>,
    /// The frame, from 0, or None.
    frame: Option<usize>,
    /// How many of the layer's frames, or of a film's pictures, are there now.
    done: usize,
    /// How many there will be.
    of: usize,
    /// How long this frame, or preparing, took.
    seconds: f64,
    /// The output file, or None.
    path: Option<PathBuf>,
}

#[pymethods]
impl Progress {
    fn __str__(&self) -> String {
        let layer = self.layer.as_deref().unwrap_or_default();
        let path = self.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let Self { done, of, seconds, .. } = self;
        match self.kind {
            "layer" => format!("{layer}: {done} of {of} frames are there"),
            "preparing" => format!("{layer}: preparing"),
            "prepared" => format!("{layer}: prepared in {seconds:.2} s"),
            "frame" => format!("{layer}: {done} of {of} frames, {seconds:.2} s"),
            "writing" => format!("writing {path}"),
            "written" => format!("writing {path}: {done} of {of}"),
            kind => kind.into(),
        }
    }

    fn __repr__(&self) -> String {
        format!("<followthrough.Progress {}>", self.__str__())
    }
}

impl Progress {
    fn of(event: Event<'_>) -> Option<Self> {
        let known = Self::default();
        Some(match event {
            Event::Layer { layer, reused, frames, .. } => Self {
                kind: "layer",
                layer: Some(layer.into()),
                done: reused.min(frames),
                of: frames,
                ..known
            },
            Event::Preparing { layer } => Self { kind: "preparing", layer: Some(layer.into()), ..known },
            Event::Prepared { layer, seconds } => {
                Self { kind: "prepared", layer: Some(layer.into()), seconds, ..known }
            }
            Event::Frame { layer, frame, done, of, seconds } => Self {
                kind: "frame",
                layer: Some(layer.into()),
                frame: Some(frame),
                done,
                of,
                seconds,
                ..known
            },
            Event::Writing { path } => Self { kind: "writing", path: Some(path.into()), ..known },
            Event::Written { path, done, of } => {
                Self { kind: "written", path: Some(path.into()), done, of, ..known }
            }
            _ => return None,
        })
    }
}

/// Something to be heard, and where to say that it was.
pub(crate) struct Telling {
    pub(crate) progress: Progress,
    pub(crate) heard: SyncSender<()>,
}

/// Listens on the thread that bakes, and waits until the other has heard: a bake goes no further than its listener allows.
pub(crate) struct Listener {
    pub(crate) tell: SyncSender<Telling>,
}

impl shot::Progress for Listener {
    fn event(&self, event: Event<'_>) {
        let Some(progress) = Progress::of(event) else { return };
        let (heard, answer) = sync_channel(1);
        // nobody listens any more where this fails; that is no reason to stop
        if self.tell.send(Telling { progress, heard }).is_ok() {
            let _ = answer.recv();
        }
    }
}
