//! What a shot file can name beyond its own tables: kinds of layers, samples, the look of films.
//!
//! This crate knows none of them. They are joined to it from above: the crate `layers` adds layers, `samples` clips, `film` films.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::Clip;
use schemars::JsonSchema;
use schemars::generate::SchemaGenerator;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::Diagnostic;
use crate::layer::{GroupMember, Layer, LayerError, Settings, Simulation};

pub(crate) type JsonError = serde_path_to_error::Error<serde_json::Error>;

/// A kind of layer: its name, its settings' schema and how to read them.
#[derive(Clone, Copy)]
pub struct LayerKind {
    /// What stands behind `kind =`.
    pub name: &'static str,
    /// One line for menus and editors.
    pub summary: &'static str,
    /// Counts up when equal settings begin to give other frames.
    pub version: u32,
    pub(crate) schema: fn(&mut SchemaGenerator) -> schemars::Schema,
    pub(crate) read: fn(Json) -> Result<Read, JsonError>,
}

/// Settings as read: the layer, and its settings with every default filled in.
pub(crate) struct Read {
    pub(crate) layer: Arc<dyn Layer>,
    pub(crate) settings: Json,
    /// Every file that they name.
    pub(crate) files: Vec<PathBuf>,
}

impl LayerKind {
    /// The kind that a settings type stands for.
    pub fn of<S: Settings>() -> Self {
        Self {
            name: S::KIND,
            summary: S::SUMMARY,
            version: S::VERSION,
            schema: |generator| S::json_schema(generator),
            read: |json| {
                let settings: S = serde_path_to_error::deserialize(json)?;
                // a value that was just read from JSON can be written as JSON; null would only make the key coarser
                let canonical = serde_json::to_value(&settings).unwrap_or_default();
                let files = clip::named_files(&settings);
                Ok(Read { layer: Arc::new(settings), settings: canonical, files })
            },
        }
    }
}

/// What a shot file can say under `[output.film]`, and which files come of it.
pub trait FilmSettings: Default + Serialize + DeserializeOwned + JsonSchema + 'static {
    /// Endings of the files that films and pictures are written to.
    const ENDINGS: &'static [&'static str];

    /// Whether a file of this name is a film or a picture.
    fn writes(file: &Path) -> bool;

    /// What is wrong, by path below `output.film`. `fields` are those that the layers make, `folder` is the shot file's.
    fn check(&self, fields: &[String], folder: &Path) -> Vec<Diagnostic>;
}

/// How films are told of in a shot file.
#[derive(Clone, Copy)]
pub(crate) struct FilmKind {
    pub(crate) endings: &'static [&'static str],
    pub(crate) writes: fn(&Path) -> bool,
    pub(crate) schema: fn(&mut SchemaGenerator) -> Json,
    /// With every default filled in.
    pub(crate) read: fn(Json) -> Result<Json, JsonError>,
    pub(crate) check: fn(&Json, &[String], &Path) -> Vec<Diagnostic>,
    /// Every file that they name.
    pub(crate) files: fn(&Json) -> Vec<PathBuf>,
}

impl FilmKind {
    fn of<F: FilmSettings>() -> Self {
        Self {
            endings: F::ENDINGS,
            writes: F::writes,
            schema: |generator| {
                let default = serde_json::to_value(F::default()).unwrap_or_default();
                let reference = Json::from(generator.subschema_for::<F>());
                serde_json::json!({
                    "description": "How films and pictures look.",
                    "allOf": [reference],
                    "default": default,
                })
            },
            read: |json| {
                let settings: F = serde_path_to_error::deserialize(json)?;
                Ok(serde_json::to_value(settings).unwrap_or_default())
            },
            check: |json, fields, folder| F::deserialize(json).unwrap_or_default().check(fields, folder),
            files: |json| clip::named_files(&F::deserialize(json).unwrap_or_default()),
        }
    }
}

/// A clip that a shot file can name instead of a file.
#[derive(Clone, Copy)]
pub(crate) struct SampleKind {
    pub(crate) name: &'static str,
    pub(crate) make: fn() -> Clip,
}

/// Counts the pairs of triangles of a surface that cross each other; `None` where that cannot be told.
pub type CountCrossings = fn(points: &[[f32; 3]], triangles: &[[u32; 3]]) -> Option<usize>;

/// Makes one simulation of what several meshes bring along.
pub type GroupSimulation = fn(Vec<GroupMember>) -> Result<Box<dyn Simulation>, LayerError>;

/// What is known about skeletons as characters.
#[derive(Clone, Copy)]
pub struct Characters {
    /// Gives a scene's skeletons figures to see and to bump into.
    pub embody: fn(&Clip) -> Result<Clip, LayerError>,
    /// The character of the first clip in the motion of the second.
    pub retarget: fn(&Clip, &Clip) -> Result<Clip, LayerError>,
}

/// All that is known.
#[derive(Clone, Default)]
pub struct Registry {
    kinds: Vec<LayerKind>,
    samples: Vec<SampleKind>,
    film: Option<FilmKind>,
    crossings: Option<CountCrossings>,
    groups: Option<GroupSimulation>,
    characters: Option<Characters>,
}

impl Registry {
    /// Nothing at all, to begin a list of your own with.
    pub fn empty() -> Self {
        Self::default()
    }

    /// One kind of layer more (or another of the same name in its place).
    #[must_use]
    pub fn with<S: Settings>(mut self) -> Self {
        self.kinds.retain(|kind| kind.name != S::KIND);
        self.kinds.push(LayerKind::of::<S>());
        self
    }

    /// One sample more (or another of the same name in its place).
    #[must_use]
    pub fn with_sample(mut self, name: &'static str, make: fn() -> Clip) -> Self {
        self.samples.retain(|sample| sample.name != name);
        self.samples.push(SampleKind { name, make });
        self
    }

    /// Shot files have a table `[output.film]`, and their outputs may be films and pictures.
    #[must_use]
    pub fn with_film<F: FilmSettings>(mut self) -> Self {
        self.film = Some(FilmKind::of::<F>());
        self
    }

    /// Frames of every layer are judged by whether the mesh crosses itself.
    #[must_use]
    pub fn with_crossings(mut self, count: CountCrossings) -> Self {
        self.crossings = Some(count);
        self
    }

    /// Layers may work on several meshes, and several layers together.
    #[must_use]
    pub fn with_groups(mut self, simulate: GroupSimulation) -> Self {
        self.groups = Some(simulate);
        self
    }

    /// Skeletons may be given a body and another motion: `input.body`, `input.motion`.
    #[must_use]
    pub fn with_characters(mut self, characters: Characters) -> Self {
        self.characters = Some(characters);
        self
    }

    /// The kinds of layers, in the order in which they were added.
    pub fn kinds(&self) -> &[LayerKind] {
        &self.kinds
    }

    /// The kind of layer with this name.
    pub fn kind(&self, name: &str) -> Option<&LayerKind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    pub(crate) fn sample(&self, name: &str) -> Option<Clip> {
        self.samples.iter().find(|sample| sample.name == name).map(|sample| (sample.make)())
    }

    pub(crate) fn has_sample(&self, name: &str) -> bool {
        self.sample_names().any(|known| known == name)
    }

    pub(crate) fn sample_names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.samples.iter().map(|sample| sample.name)
    }

    pub(crate) fn film(&self) -> Option<FilmKind> {
        self.film
    }

    pub(crate) fn groups(&self) -> Option<GroupSimulation> {
        self.groups
    }

    pub(crate) fn characters(&self) -> Option<Characters> {
        self.characters
    }

    pub(crate) fn crossings(&self) -> Option<CountCrossings> {
        self.crossings
    }
}
