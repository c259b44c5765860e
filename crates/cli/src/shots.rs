//! The crates joined: shots that can name every layer, sample and film.

use std::path::Path;

use shot::{Reader, Registry, Shot};

pub use film::bake;

/// Everything that a shot file can name: all layers, all samples, films.
pub fn registry() -> Registry {
    let registry = layers::registry().with_film::<film::FilmLook>();
    samples::all().iter().fold(registry, |registry, sample| registry.with_sample(sample.name, sample.make))
}

/// Reads shots that name any of it.
pub fn reader() -> Reader {
    Reader::new(registry())
}

/// Reads a shot file; all mistakes in it come at once.
pub fn read(path: impl AsRef<Path>) -> Result<Shot, shot::Error> {
    reader().read(path)
}

/// Reads a shot from a text. Relative paths start at the current folder.
pub fn parse(text: &str) -> Result<Shot, shot::Error> {
    reader().parse("shot", text, Path::new(""))
}

/// The JSON Schema (draft 7) of shot files, for editors.
///
/// ```
/// let schema = followthrough::schema();
/// assert_eq!(schema["properties"]["input"]["type"], "object");
/// ```
pub fn schema() -> serde_json::Value {
    shot::schema_of(&registry())
}
