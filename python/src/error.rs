//! What went wrong, as Python hears it: one exception with a sentence, a place and a remedy.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use followthrough::shot::Diagnostic;
use followthrough::{character, clip, film, live, shot};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyType};

pyo3::create_exception!(
    followthrough,
    Error,
    PyException,
    "Anything that followthrough refuses or cannot do.

`what` is the sentence, `place` where (a file, a mesh, a frame) and `help` what to do, each None where there is nothing to say. For
mistakes in a shot file, `line` and `column` (from 1) are those of the first, and `mistakes` lists all of them."
);

/// The exception, with its attributes there before anything is raised.
pub(crate) fn exception(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let class = py.get_type::<Error>();
    for name in ["what", "place", "help", "line", "column"] {
        class.setattr(name, py.None())?;
    }
    class.setattr("mistakes", PyList::empty(py))?;
    Ok(class)
}

/// A sentence, where it holds and what to do.
#[derive(Debug, Default)]
pub(crate) struct Said {
    what: String,
    place: Option<String>,
    help: Option<String>,
    mistakes: Vec<Diagnostic>,
}

impl Said {
    /// A sentence by itself.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), ..Self::default() }
    }

    /// Where it holds.
    pub(crate) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// What to do.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn text(&self) -> String {
        let mut text = match &self.place {
            Some(place) if self.mistakes.is_empty() && !self.what.contains(place.as_str()) => {
                format!("{place}: {}", self.what)
            }
            _ => self.what.clone(),
        };
        for mistake in &self.mistakes {
            let (line, column) = (mistake.line(), mistake.column());
            text += &format!("\n{}:{line}:{column}: {}", mistake.file(), mistake.message());
            text += &mistake.remedy().map(|help| format!("\n  {help}")).unwrap_or_default();
        }
        match &self.help {
            Some(help) if self.mistakes.is_empty() => format!("{text}\n{help}"),
            _ => text,
        }
    }

    fn raised(self, py: Python<'_>) -> PyResult<PyErr> {
        let error = Error::new_err(plain(&self.text()));
        let value = error.value(py);
        value.setattr("what", plain(&self.what))?;
        value.setattr("place", self.place.as_deref().map(plain))?;
        value.setattr("help", self.help.as_deref().map(plain))?;
        let first = self.mistakes.first();
        value.setattr("line", first.map(Diagnostic::line))?;
        value.setattr("column", first.map(Diagnostic::column))?;
        value.setattr("mistakes", mistakes(py, &self.mistakes)?)?;
        Ok(error)
    }
}

impl From<Said> for PyErr {
    fn from(said: Said) -> Self {
        Python::attach(|py| said.raised(py).unwrap_or_else(|error| error))
    }
}

/// Any error of ours, as it is raised.
pub(crate) fn said(error: impl Into<Said>) -> PyErr {
    error.into().into()
}

/// What is wrong in a shot file, as a list of dicts.
pub(crate) fn mistakes<'py>(py: Python<'py>, mistakes: &[Diagnostic]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for mistake in mistakes {
        let dict = PyDict::new(py);
        dict.set_item("file", mistake.file())?;
        dict.set_item("line", mistake.line())?;
        dict.set_item("column", mistake.column())?;
        dict.set_item("text", mistake.excerpt())?;
        dict.set_item("message", mistake.message())?;
        dict.set_item("help", mistake.remedy().map(in_python))?;
        list.append(dict)?;
    }
    Ok(list)
}

/// Work without the interpreter's lock; what panics there is a bug of ours, and an exception like any other.
pub(crate) fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|payload| said(bug(payload.as_ref())))
}

/// A panic, told.
pub(crate) fn bug(payload: &(dyn Any + Send)) -> Said {
    let words = payload.downcast_ref::<&str>().map(|words| (*words).to_owned());
    let words = words.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    Said::new(format!("followthrough failed where it must not: {words}"))
        .help("this is a bug; please report it with what you did")
}

/// Help that was written for the command line, with the names that things have here.
fn in_python(help: &str) -> String {
    let names = [
        ("--allow-outside", "allow_outside=True"),
        ("--out or [output] folder", "out= or [output] folder"),
        ("--out", "out="),
        ("run the same command again", "bake again"),
        ("bake the shot first with `followthrough bake`", "bake the shot first"),
    ];
    names.iter().fold(help.to_owned(), |help, (there, here)| help.replace(there, here))
}

/// Text without control characters: a name in a stranger's file must not move the cursor.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

impl From<clip::Error> for Said {
    fn from(error: clip::Error) -> Self {
        let said = Self::new(error.to_string());
        let shown = |path: &Path| path.display().to_string();
        match error {
            clip::Error::Io { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
                Self::new(format!("there is no file {}", path.display()))
                    .at(shown(&path))
                    .help("check the path; it starts at the current folder")
            }
            clip::Error::Io { path, .. } | clip::Error::NotAFile { path, .. } => said.at(shown(&path)),
            clip::Error::Outside { path, .. } => {
                said.at(shown(&path)).help("what a file names must lie in its own folder; if you trust it, read it with allow_outside=True")
            }
            clip::Error::Changed { path } | clip::Error::NotInManifest { path } => {
                said.at(shown(&path)).help("nothing of it was stored; bake again")
            }
            clip::Error::Malformed { path, .. } => said
                .at(shown(&path))
                .help("the file is damaged or was not written to its end; export it again"),
            clip::Error::Unsupported { path, .. } => said.at(shown(&path)),
            clip::Error::NotFinite { mesh, frame, point } => {
                said.at(format!("mesh `{mesh}`, frame {frame}, point {point}"))
            }
            clip::Error::FrameMismatch { frame, .. } => said.at(format!("frame {frame}")),
            clip::Error::NoSuchName { place, .. } | clip::Error::NoSuchJoint { place, .. } => said.at(place),
            clip::Error::NoSuchFrame { .. } | clip::Error::NotOfJoints => said,
        }
    }
}

impl From<shot::Error> for Said {
    fn from(error: shot::Error) -> Self {
        use miette::Diagnostic as _;
        let mut said = Self::new(error.to_string());
        said.help = error.help().map(|help| in_python(&help.to_string()));
        let shown = |path: &Path| path.display().to_string();
        match error {
            shot::Error::Invalid(found) => {
                let first = found.0.first();
                said.place = first.map(|at| format!("{}:{}:{}", at.file(), at.line(), at.column()));
                said.help = first.and_then(Diagnostic::remedy).map(in_python);
                if let [only] = found.0.as_slice() {
                    said.what = only.message().to_owned();
                }
                said.mistakes = found.0;
                said
            }
            shot::Error::Clip(error) => error.into(),
            shot::Error::Override { setting, problem, help } => {
                let key = setting.split('=').next().unwrap_or_default().to_owned();
                Self { what: problem, place: Some(key), help, mistakes: Vec::new() }
            }
            shot::Error::Io { path, source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                clip::Error::Io { path, source }.into()
            }
            shot::Error::Io { path, .. } | shot::Error::DiskFull { path } => said.at(shown(&path)),
            shot::Error::Locked { folder } | shot::Error::NotBaked { folder, .. } => said.at(shown(&folder)),
            shot::Error::Prepare { layer, .. } | shot::Error::Cancelled { layer, .. } => {
                said.at(format!("layer `{layer}`"))
            }
            shot::Error::Frame { layer, frame, .. } | shot::Error::NotFinite { layer, frame, .. } => {
                said.at(format!("layer `{layer}`, frame {frame}"))
            }
            _ => said,
        }
    }
}

impl From<film::Error> for Said {
    fn from(error: film::Error) -> Self {
        match error {
            film::Error::Shot(error) => error.into(),
            film::Error::Clip(error) => error.into(),
            other => Self::new(other.to_string()),
        }
    }
}

impl From<shot::LayerError> for Said {
    fn from(error: shot::LayerError) -> Self {
        Self { help: error.remedy().map(in_python), ..Self::new(error.to_string()) }
    }
}

impl From<live::Error> for Said {
    fn from(error: live::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<character::Error> for Said {
    fn from(error: character::Error) -> Self {
        Self::new(error.to_string())
    }
}
