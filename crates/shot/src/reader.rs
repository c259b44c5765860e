//! From a text to a [`Shot`]: all that can be said of it without opening its input.

mod sources;

use std::path::Path;

use clip::Files;
use serde::de::DeserializeOwned;

use crate::conform::Conformity;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::document::{Document, Node};
use crate::schema::{COMMON_KEYS, Common};
use crate::shot::{Input, LayerEntry, Output, Shot};
use crate::{Error, Registry, conform, overrides, schema_of};

use sources::check_source;

/// Reads shots that name what a registry knows, with values set from outside.
#[derive(Clone)]
pub struct Reader {
    registry: Registry,
    overrides: Vec<String>,
    allow_outside: bool,
    input_comes_later: bool,
}

impl Reader {
    /// Knows the layers of this registry.
    pub fn new(registry: Registry) -> Self {
        Self { registry, overrides: Vec::new(), allow_outside: false, input_comes_later: false }
    }

    /// Sets a value over what the file says: `layer.flag.material=silk`, `layer[0].wind.speed=5`.
    #[must_use]
    pub fn set(mut self, setting: impl Into<String>) -> Self {
        self.overrides.push(setting.into());
        self
    }

    /// Lets the files of the shot name others (buffers, pictures) outside their own folders.
    #[must_use]
    pub fn allow_outside(mut self, allowed: bool) -> Self {
        self.allow_outside = allowed;
        self
    }

    /// The JSON Schema of the shots that it reads.
    pub fn schema(&self) -> serde_json::Value {
        schema_of(&self.registry)
    }

    /// Takes shots that name no input: it comes with [`Shot::with_input`].
    #[must_use]
    pub fn input_comes_later(mut self, later: bool) -> Self {
        self.input_comes_later = later;
        self
    }

    /// Reads a shot file.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Shot, Error> {
        let path = path.as_ref();
        let text = read_text(path).map_err(Error::io(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        self.parse(&path.to_string_lossy(), &text, folder)
    }

    /// Reads a shot from a text that is called `name`; relative paths start at `folder`. All mistakes in it come at once.
    pub fn parse(&self, name: &str, text: &str, folder: &Path) -> Result<Shot, Error> {
        let mut title = name.to_owned();
        let mut text = text.to_owned();
        if !self.overrides.is_empty() {
            // syntax errors of the file itself first, in its own words
            Document::parse(name, &text).map_err(Diagnostics)?;
            text = overrides::apply(&text, &self.overrides)?;
            title = format!("{name} with --set");
        }
        let document = Document::parse(&title, &text).map_err(Diagnostics)?;
        let mut schema = self.schema();
        if let (true, Some(required)) = (self.input_comes_later, schema["required"].as_array_mut()) {
            required.retain(|key| key != "input");
        }
        let Conformity { mistakes: mut diagnostics, warnings } = conform::conform(&document, &schema);
        // what only the whole file can tell is looked for only where each value by itself is right
        let input = read_table::<Input>(&document, "input", &mut diagnostics);
        let mut output = read_table::<Output>(&document, "output", &mut diagnostics);
        if let (Some(output), Some(film)) = (&mut output, self.registry.film()) {
            match (film.read)(output.film.take()) {
                Ok(complete) => output.film = complete,
                Err(error) if diagnostics.is_empty() => {
                    diagnostics.push(serde_diagnostic(&document, "output.film", &error));
                }
                // the schema check has said it already, better
                Err(_) => {}
            }
        }
        let layers = match diagnostics.is_empty() {
            true => self.layers(&document, &mut diagnostics),
            false => Vec::new(),
        };
        match (input, output) {
            (Some(input), Some(output)) if diagnostics.is_empty() => {
                check_source(&document, &input, self.input_comes_later, &mut diagnostics);
                if !diagnostics.is_empty() {
                    return Err(Diagnostics(diagnostics).into());
                }
                let name =
                    Path::new(name).file_stem().map_or("shot".into(), |s| s.to_string_lossy().into_owned());
                let (folder, registry) = (folder.to_owned(), self.registry.clone());
                let files = Files::in_folder(&folder).allow_outside(self.allow_outside);
                let given = None;
                Ok(Shot { name, input, layers, output, warnings, folder, files, document, registry, given })
            }
            _ => Err(Diagnostics(diagnostics).into()),
        }
    }

    fn layers(&self, document: &Document, diagnostics: &mut Vec<Diagnostic>) -> Vec<LayerEntry> {
        let mut layers: Vec<LayerEntry> = Vec::new();
        for (index, node) in document.nearest("layer").items().iter().enumerate() {
            let path = format!("layer[{index}]");
            let (common, settings) = split(node);
            let common: Common = match serde_json::from_value(common) {
                Ok(common) => common,
                Err(error) => {
                    diagnostics.push(Diagnostic::at(&document.source, node.span.clone(), error.to_string()));
                    continue;
                }
            };
            let Some(kind) = self.registry.kind(&common.kind) else { continue };
            let read = match (kind.read)(settings) {
                Ok(read) => read,
                Err(error) => {
                    diagnostics.push(serde_diagnostic(document, &path, &error));
                    continue;
                }
            };
            let taken = |name: &str| layers.iter().any(|layer| layer.name == name);
            let name = match common.name {
                Some(name) if taken(&name) => {
                    let diagnostic = Diagnostic::at(
                        &document.source,
                        document.nearest(&format!("{path}.name")).span.clone(),
                        format!("two layers are called `{name}`"),
                    );
                    diagnostics.push(
                        diagnostic.labelled("the second one").with_help("give each layer its own name"),
                    );
                    continue;
                }
                Some(name) => name,
                None if !taken(kind.name) => kind.name.to_owned(),
                // an unnamed second layer of its kind: the lowest number that is free
                None => {
                    (2..).map(|n| format!("{}-{n}", kind.name)).find(|name| !taken(name)).unwrap_or_default()
                }
            };
            layers.push(LayerEntry {
                name,
                kind: kind.name,
                version: kind.version,
                mesh: common.mesh,
                together: common.together,
                enabled: common.enabled,
                strength: common.strength,
                layer: read.layer,
                settings: read.settings,
                files: read.files,
            });
        }
        layers
    }
}

/// A shot file is a page that people write: what is longer than this, in bytes, is something else.
const LONGEST_FILE: u64 = 16 << 20;

/// The text of a plain file of moderate length: a device has no end, and a pipe may never begin.
fn read_text(path: &Path) -> std::io::Result<String> {
    use std::io::{Error, ErrorKind, Read};
    let about = std::fs::metadata(path)?;
    if !about.is_file() && !about.is_dir() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no plain file"));
    }
    if about.len() > LONGEST_FILE {
        let megabytes = LONGEST_FILE >> 20;
        return Err(Error::new(
            ErrorKind::InvalidData,
            format!("it is longer than {megabytes} MB: no shot file is"),
        ));
    }
    let mut text = String::new();
    // a file that grows meanwhile is read as far as it was long
    std::fs::File::open(path)?.take(about.len()).read_to_string(&mut text)?;
    Ok(text)
}

/// A top-level table by serde; an absent one is its default.
fn read_table<T: DeserializeOwned>(
    document: &Document,
    key: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<T> {
    let json = document.root.child(key).map_or_else(|| serde_json::json!({}), Node::to_json);
    match serde_path_to_error::deserialize(json) {
        Ok(value) => Some(value),
        Err(error) => {
            // the schema check has said it already, better
            if diagnostics.is_empty() {
                diagnostics.push(serde_diagnostic(document, key, &error));
            }
            None
        }
    }
}

fn serde_diagnostic(
    document: &Document,
    table: &str,
    error: &serde_path_to_error::Error<serde_json::Error>,
) -> Diagnostic {
    let path = error.path().to_string();
    let path = if path == "." { table.to_owned() } else { format!("{table}.{path}") };
    let message = format!("`{path}`: {}", error.inner());
    Diagnostic::at(&document.source, document.nearest(&path).span.clone(), message)
}

/// A layer's table in two: what all layers share, and the settings of its kind.
fn split(node: &Node) -> (serde_json::Value, serde_json::Value) {
    let mut common = serde_json::Map::new();
    let mut settings = serde_json::Map::new();
    for entry in node.entries() {
        let part = if COMMON_KEYS.contains(&entry.key.as_str()) { &mut common } else { &mut settings };
        part.insert(entry.key.clone(), entry.node.to_json());
    }
    (common.into(), settings.into())
}
