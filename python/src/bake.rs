//! Baking from Python, and `followthrough.Bake`: what came of it.
//!
//! The bake runs on a thread of its own, without the interpreter's lock. The thread that called waits, calls `progress`, and looks for
//! signals: Ctrl-C, or an exception in `progress`, ends the bake after the frame at hand and is then raised.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use followthrough::film;
use followthrough::shot::{Bake, BakeOptions, Context, Shot};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::clip::PyClip;
use crate::error::{Said, bug, guarded, said};
use crate::progress::{Listener, Telling};
use crate::values::python_of;

/// How often signals are looked for while nothing is told.
const PATIENCE: Duration = Duration::from_millis(50);
/// For solvers that recur over trees.
const STACK_BYTES: usize = 16 << 20;

/// What a bake made: the result as a clip, the report, the files.
#[pyclass(name = "Bake", module = "followthrough", frozen)]
pub(crate) struct PyBake {
    shot: Arc<Shot>,
    bake: Bake,
    clip: Py<PyClip>,
}

impl PyBake {
    pub(crate) fn new(py: Python<'_>, shot: Arc<Shot>, bake: Bake) -> PyResult<Self> {
        let clip = Py::new(py, PyClip::from(bake.clip.clone()))?;
        Ok(Self { shot, bake, clip })
    }
}

#[pymethods]
impl PyBake {
    /// The result; its frames are read from the bake's folder when they are asked for.
    #[getter]
    fn clip(&self, py: Python<'_>) -> Py<PyClip> {
        self.clip.clone_ref(py)
    }

    /// The animation that went in, with the same frames.
    #[getter]
    fn input(&self) -> PyClip {
        self.bake.input.clone().into()
    }

    /// The report as `report.json` has it: settings, figures of every frame, warnings.
    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        python_of(py, &guarded(py, || film::report_json(&self.shot, &self.bake))?)
    }

    /// The output files that were written.
    #[getter]
    fn files(&self) -> Vec<PathBuf> {
        self.bake.files.clone()
    }

    /// The folder of outputs, report and bake.
    #[getter]
    fn out(&self) -> PathBuf {
        self.bake.out.clone()
    }

    /// The first and the last frame of the shot that are here.
    #[getter]
    fn frames(&self) -> (usize, usize) {
        (self.bake.frames.first, self.bake.frames.last)
    }

    /// How many of the frames that were asked for are not baked yet: none but where `Shot.baked` found an unfinished bake.
    #[getter]
    fn missing(&self) -> usize {
        self.bake.missing
    }

    /// For each layer: its name, kind, and how many frames were baked now and how many were there.
    #[getter]
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for layer in &self.bake.layers {
            let dict = PyDict::new(py);
            dict.set_item("name", &layer.name)?;
            dict.set_item("kind", layer.kind)?;
            dict.set_item("baked", layer.baked)?;
            dict.set_item("reused", layer.reused)?;
            list.append(dict)?;
        }
        Ok(list)
    }

    /// What the layers warn of, a sentence each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        let told = |layer: &followthrough::shot::LayerBake| {
            let name = layer.name.clone();
            layer
                .warnings
                .clone()
                .into_iter()
                .map(move |(frame, text)| format!("layer `{name}`, frame {frame}: {text}"))
        };
        self.bake.layers.iter().flat_map(told).collect()
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.bake.layers.iter().map(|layer| layer.name.as_str()).collect();
        format!(
            "<followthrough.Bake of {}: frames {}, in {}>",
            names.join(", "),
            self.bake.frames,
            self.bake.out.display()
        )
    }
}

/// Bakes, telling `progress`.
pub(crate) fn run(
    py: Python<'_>,
    shot: &Shot,
    options: &BakeOptions,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Bake> {
    let cancel = AtomicBool::new(false);
    let (tell, told) = sync_channel(0);
    let (ended, raised) = thread::scope(|scope| {
        let work = || {
            let listener = Listener { tell };
            film::bake(shot, options, &Context { progress: &listener, cancel: &cancel })
        };
        let thread = thread::Builder::new().name("followthrough".into()).stack_size(STACK_BYTES);
        let work = thread.spawn_scoped(scope, work);
        let raised = listen(py, told, progress, &cancel);
        (work.map(|work| py.detach(|| work.join())), raised)
    });
    let ended = ended.map_err(|error| said(Said::new(format!("a thread could not be started: {error}"))))?;
    match (ended, raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(result), None) => result.map_err(said),
        (Err(payload), None) => Err(said(bug(payload.as_ref()))),
    }
}

/// Hears everything until the bake has ended; gives back what is to be raised then.
fn listen(
    py: Python<'_>,
    mut told: Receiver<Telling>,
    progress: Option<&Bound<'_, PyAny>>,
    cancel: &AtomicBool,
) -> Option<PyErr> {
    let mut raised = None;
    loop {
        let next;
        (next, told) = py.detach(move || (told.recv_timeout(PATIENCE), told));
        let mut outcome = Ok(());
        if let (Ok(telling), Some(progress), None) = (&next, progress, &raised) {
            outcome = progress.call1((telling.progress.clone(),)).map(|_| ());
        }
        if let Err(error) = outcome.and_then(|()| py.check_signals()) {
            cancel.store(true, Ordering::Relaxed);
            raised.get_or_insert(error);
        }
        match next {
            // it may have gone already
            Ok(telling) => drop(telling.heard.send(())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return raised,
        }
    }
}
