//! The kinds of layers that a shot file can name.

use schemars::generate::SchemaGenerator;

use crate::layer::{Blend, Cloth, Enrich, Inextensible, Layer, Settings, Smoke, Smooth, Tracks};

/// A kind of layer: its name, its settings' schema and how to read them.
#[derive(Clone, Copy)]
pub struct Kind {
    /// What stands behind `kind =`.
    pub name: &'static str,
    /// One line for menus and editors.
    pub summary: &'static str,
    /// Counts up when equal settings begin to give other frames.
    pub version: u32,
    pub(crate) schema: fn(&mut SchemaGenerator) -> schemars::Schema,
    pub(crate) read: fn(serde_json::Value) -> Result<Read, serde_path_to_error::Error<serde_json::Error>>,
}

/// Settings as read: the layer, and its settings with every default filled in.
pub(crate) struct Read {
    pub(crate) layer: Box<dyn Layer>,
    pub(crate) settings: serde_json::Value,
}

impl Kind {
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
                Ok(Read { layer: Box::new(settings), settings: canonical })
            },
        }
    }
}

/// All kinds that are known.
#[derive(Clone)]
pub struct Registry {
    kinds: Vec<Kind>,
}

impl Registry {
    /// The layers that come with followthrough.
    pub fn standard() -> Self {
        Self {
            kinds: vec![
                Kind::of::<Blend>(),
                Kind::of::<Cloth>(),
                Kind::of::<Enrich>(),
                Kind::of::<Inextensible>(),
                Kind::of::<Smooth>(),
                Kind::of::<Tracks>(),
                Kind::of::<Smoke>(),
            ],
        }
    }

    /// No layers at all, to begin a list of your own with.
    pub fn empty() -> Self {
        Self { kinds: Vec::new() }
    }

    /// One kind more (or another of the same name in its place).
    #[must_use]
    pub fn with<S: Settings>(mut self) -> Self {
        self.kinds.retain(|kind| kind.name != S::KIND);
        self.kinds.push(Kind::of::<S>());
        self
    }

    /// The kinds, in the order in which they were added.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// The kind with this name.
    pub fn kind(&self, name: &str) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::standard()
    }
}
