//! `followthrough.Shot`: a shot file, with values set over it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use followthrough::shot::{BakeOptions, Diagnostics, Error, Shot};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::bake::{self, PyBake};
use crate::clip::PyClip;
use crate::error::{Said, guarded, mistakes, said};
use crate::player::PyPlayer;
use crate::values::{frame_range, python_of, toml_of};

/// A shot: where the animation comes from, the layers of physics that are put on it, and what comes out.
///
/// >>> import followthrough as ft
/// >>> shot = ft.Shot.parse('''
/// ... [[layer]]
/// ... kind = "cloth"
/// ... name = "skirt"
/// ... material = "cotton"
/// ... ''')
/// >>> shot.set("layer.skirt.material", "silk").layers[0]["settings"]["material"]
/// 'silk'
#[pyclass(name = "Shot", module = "followthrough", frozen)]
pub(crate) struct PyShot {
    /// What the file is called.
    title: String,
    /// As it was read.
    text: String,
    folder: PathBuf,
    /// What was set over it.
    settings: Vec<String>,
    allow_outside: bool,
    shot: Arc<Shot>,
}

impl PyShot {
    fn new(
        py: Python<'_>,
        title: String,
        text: String,
        folder: PathBuf,
        settings: Vec<String>,
        allow_outside: bool,
    ) -> PyResult<Self> {
        let shot = guarded(py, || parse(&title, &text, &folder, &settings, allow_outside))?.map_err(said)?;
        Ok(Self { title, text, folder, settings, allow_outside, shot: Arc::new(shot) })
    }

    /// The shot, on this clip where there is one.
    fn on(&self, py: Python<'_>, clip: Option<&Bound<'_, PyClip>>) -> PyResult<Arc<Shot>> {
        let Some(clip) = clip else { return Ok(self.shot.clone()) };
        let clip = clip.get().clip.as_ref().clone();
        let read = || parse(&self.title, &self.text, &self.folder, &self.settings, self.allow_outside);
        Ok(Arc::new(guarded(py, read)?.map_err(said)?.with_input(clip)))
    }
}

fn parse(
    title: &str,
    text: &str,
    folder: &Path,
    settings: &[String],
    allow_outside: bool,
) -> Result<Shot, Error> {
    let reader = followthrough::reader().allow_outside(allow_outside).input_comes_later(true);
    settings.iter().fold(reader, |reader, setting| reader.set(setting)).parse(title, text, folder)
}

#[pymethods]
impl PyShot {
    /// Reads a shot file. Mistakes in it are an `Error` with their lines and columns.
    #[staticmethod]
    #[pyo3(signature = (path, *, allow_outside=false))]
    fn read(py: Python<'_>, path: PathBuf, allow_outside: bool) -> PyResult<Self> {
        let reader = followthrough::reader().allow_outside(allow_outside).input_comes_later(true);
        let text = guarded(py, || reader.read(&path).map(|shot| shot.text().to_owned()))?.map_err(said)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::new(py, path.to_string_lossy().into_owned(), text, folder, Vec::new(), allow_outside)
    }

    /// Reads a shot from a text. Relative paths start at `folder`.
    #[staticmethod]
    #[pyo3(signature = (text, *, name="shot", folder=None, allow_outside=false))]
    fn parse(
        py: Python<'_>,
        text: String,
        name: &str,
        folder: Option<PathBuf>,
        allow_outside: bool,
    ) -> PyResult<Self> {
        Self::new(py, name.to_owned(), text, folder.unwrap_or_default(), Vec::new(), allow_outside)
    }

    /// The same shot with a value set, as `--set` does: `shot.set("layer.skirt.material", "silk")`, `shot.set("layer[0].wind.speed", 5)`.
    fn set(&self, py: Python<'_>, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if key.contains('=') {
            return Err(said(
                Said::new(format!("`{key}` is no key")).help("shot.set(\"layer.skirt.material\", \"silk\")"),
            ));
        }
        let mut settings = self.settings.clone();
        settings.push(format!("{key}={}", toml_of(value)?));
        Self::new(
            py,
            self.title.clone(),
            self.text.clone(),
            self.folder.clone(),
            settings,
            self.allow_outside,
        )
    }

    /// What people call it.
    #[getter]
    fn name(&self) -> &str {
        &self.shot.name
    }

    /// The text of the shot, with the values that were set.
    #[getter]
    fn text(&self) -> &str {
        self.shot.text()
    }

    /// Its layers from the lowest to the highest: name, kind, strength, and all settings with their defaults filled in.
    #[getter]
    fn layers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for layer in &self.shot.layers {
            let dict = PyDict::new(py);
            dict.set_item("name", &layer.name)?;
            dict.set_item("kind", layer.kind)?;
            dict.set_item("enabled", layer.enabled)?;
            dict.set_item("strength", layer.strength)?;
            dict.set_item("settings", python_of(py, &layer.settings)?)?;
            list.append(dict)?;
        }
        Ok(list)
    }

    /// Everything that does not fit the input, as dicts with file, line, column, message and help; empty when it can be baked.
    #[pyo3(signature = (clip=None))]
    fn check<'py>(&self, py: Python<'py>, clip: Option<&Bound<'py, PyClip>>) -> PyResult<Bound<'py, PyList>> {
        let shot = self.on(py, clip)?;
        mistakes(py, &guarded(py, || shot.check())?)
    }

    /// Bakes: on this clip, or on what the shot names. Frames that were baked before are not baked again; a bake that was stopped goes
    /// on where it was.
    ///
    /// `out` is the folder of outputs, report and bake, `frames` the ones that are wanted as "0-48" or (0, 48), `fresh` forgets
    /// earlier bakes, `progress` is called with a `Progress`; what it raises ends the bake after the frame at hand, as Ctrl-C does.
    ///
    /// >>> import followthrough as ft, tempfile
    /// >>> shot = ft.Shot.parse('layer = [{ kind = "smooth", window = 0.1 }]\noutput = { files = [], report = false }')
    /// >>> bake = shot.bake(ft.Clip.sample("flag"), out=tempfile.mkdtemp(), frames=(0, 2))
    /// >>> len(bake.clip), bake.report["layers"][0]["kind"]
    /// (3, 'smooth')
    #[pyo3(signature = (clip=None, *, out=None, frames=None, threads=None, fresh=false, progress=None))]
    fn bake(
        &self,
        py: Python<'_>,
        clip: Option<&Bound<'_, PyClip>>,
        out: Option<PathBuf>,
        frames: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
        fresh: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyBake> {
        let shot = self.on(py, clip)?;
        let frames = frames.map(frame_range).transpose()?;
        if threads == Some(0) {
            return Err(said(
                Said::new("a bake needs a thread").help("leave `threads` out for one per core"),
            ));
        }
        let bake = bake::run(
            py,
            &shot,
            &BakeOptions { out, frames, fresh, threads, ..BakeOptions::default() },
            progress,
        )?;
        PyBake::new(py, shot, bake)
    }

    /// What is baked of it so far, without baking anything; `missing` counts the rest.
    #[pyo3(signature = (clip=None, *, out=None, frames=None))]
    fn baked(
        &self,
        py: Python<'_>,
        clip: Option<&Bound<'_, PyClip>>,
        out: Option<PathBuf>,
        frames: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyBake> {
        let shot = self.on(py, clip)?;
        let options =
            BakeOptions { out, frames: frames.map(frame_range).transpose()?, ..BakeOptions::default() };
        let bake = guarded(py, || shot.baked_so_far(&options))?.map_err(said)?;
        PyBake::new(py, shot, bake)
    }

    /// The flesh of its skeleton or morph layer as one file for a game, as `followthrough pack` writes it; `Player` plays it.
    #[pyo3(signature = (clip=None))]
    fn pack<'py>(&self, py: Python<'py>, clip: Option<&Bound<'py, PyClip>>) -> PyResult<Bound<'py, PyBytes>> {
        let shot = self.on(py, clip)?;
        match guarded(py, || shot.pack())?.map_err(said)? {
            Some(bytes) => Ok(PyBytes::new(py, &bytes)),
            None => Err(said(
                Said::new("no layer of the shot can be packed")
                    .help("add a layer of the kind `skeleton` or `morph`"),
            )),
        }
    }

    /// What its `skeleton` or `morph` layer makes of the character, to be stepped in real time.
    #[pyo3(signature = (clip=None))]
    fn player(&self, py: Python<'_>, clip: Option<&Bound<'_, PyClip>>) -> PyResult<PyPlayer> {
        let shot = self.on(py, clip)?;
        guarded(py, || PyPlayer::of(&shot))?.map_err(said)?.ok_or_else(|| {
            said(
                Said::new("no layer of the shot can be played in real time")
                    .help("add a layer of the kind `skeleton` or `morph`"),
            )
        })
    }

    fn __repr__(&self) -> String {
        let layers: Vec<&str> = self.shot.layers.iter().map(|layer| layer.name.as_str()).collect();
        format!("<followthrough.Shot '{}': {}>", self.shot.name, layers.join(", "))
    }
}

/// Mistakes by themselves are an error too.
impl From<Diagnostics> for Said {
    fn from(found: Diagnostics) -> Self {
        Error::Invalid(found).into()
    }
}
