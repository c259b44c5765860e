//! Where a try stands: a small file in its folder, which whoever bakes it keeps up to date.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use serde::{Deserialize, Serialize};

use shot::{Bake, write_whole};

/// The file's name.
const STATE: &str = "state.json";

/// Where a try stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Nobody has begun it.
    Waiting,
    /// Somebody is at it.
    Running {
        /// Frames of all its layers that are there.
        done: usize,
        /// Frames that it needs.
        of: usize,
    },
    /// Somebody was at it: it goes on from there when it is asked for again.
    Stopped {
        /// Frames of all its layers that are there.
        done: usize,
        /// Frames that it needs.
        of: usize,
    },
    /// It is baked, and its files are written.
    Done {
        /// How long it took, of whoever ended it.
        seconds: f64,
        /// What its layers measured.
        figures: Vec<Figure>,
        /// What there is to be told.
        warnings: Vec<String>,
        /// The film, in the try's folder.
        film: Option<String>,
        /// The report, in the try's folder.
        report: Option<String>,
        /// Frames that were baked in its own folder, and those that were there or shared.
        baked: usize,
        /// The others.
        reused: usize,
    },
    /// It cannot be baked.
    Failed {
        /// Why.
        error: String,
        /// What to do.
        help: Option<String>,
    },
}

/// A figure of a layer over all frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The layer.
    pub layer: String,
    /// What was measured.
    pub name: String,
    /// In which unit.
    pub unit: String,
    /// The largest of all frames.
    pub peak: f64,
    /// The mean of all frames.
    pub mean: f64,
}

impl State {
    /// In one word.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running { .. } => "running",
            Self::Stopped { .. } => "stopped",
            Self::Done { .. } => "done",
            Self::Failed { .. } => "failed",
        }
    }

    /// Whether nothing is left to be done.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Done { .. })
    }

    /// What the folder of a try says. Who was killed could not say so: where the bake's lock is free, nobody is at it.
    pub(crate) fn read(folder: &Path) -> Self {
        let said = fs::read(folder.join(STATE)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        match said.unwrap_or(Self::Waiting) {
            Self::Running { done, of } if is_free(folder) => Self::Stopped { done, of },
            state => state,
        }
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), shot::Error> {
        fs::create_dir_all(folder).map_err(shot::Error::io(folder))?;
        write_whole(&folder.join(STATE), &serde_json::to_vec_pretty(self).unwrap_or_default())
    }

    pub(crate) fn of(bake: &Bake, seconds: f64) -> Self {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_film =
            |path: &&std::path::PathBuf| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("webp"));
        Self::Done {
            seconds,
            figures: figures(bake),
            warnings: bake
                .warnings()
                .iter()
                .map(|warning| format!("{}: {}", warning.layer, warning.text))
                .collect(),
            film: bake.files.iter().find(is_film).and_then(|path| name(path)),
            report: bake.report.as_deref().and_then(name),
            baked: bake.layers.iter().map(|layer| layer.baked).sum(),
            reused: bake.layers.iter().map(|layer| layer.reused).sum(),
        }
    }
}

/// Whether nobody holds the lock of a bake folder; where there are no locks, somebody may.
fn is_free(folder: &Path) -> bool {
    let Ok(file) = File::options().write(true).open(folder.join(".bake").join("lock")) else { return true };
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock | TryLockError::Error(_)))
}

/// The figures of all layers, each over all frames, in the order in which they first appear.
fn figures(bake: &Bake) -> Vec<Figure> {
    let mut all: Vec<(Figure, usize)> = Vec::new();
    for layer in &bake.layers {
        for figure in layer.figures.iter().flat_map(|figures| &figures.0).filter(|f| f.value.is_finite()) {
            let known = all.iter_mut().find(|(old, _)| {
                (&old.layer, &old.name, &old.unit) == (&layer.name, &figure.name, &figure.unit)
            });
            match known {
                Some((old, count)) => {
                    old.peak = old.peak.max(figure.value);
                    old.mean += figure.value;
                    *count += 1;
                }
                None => {
                    let (layer, name, unit) = (layer.name.clone(), figure.name.clone(), figure.unit.clone());
                    all.push((Figure { layer, name, unit, peak: figure.value, mean: figure.value }, 1));
                }
            }
        }
    }
    all.into_iter().map(|(figure, count)| Figure { mean: figure.mean / count as f64, ..figure }).collect()
}
