//! One file per command: its arguments, and what it asks of the libraries.

pub(crate) mod bake;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod info;
pub(crate) mod lattice;
pub(crate) mod new;
pub(crate) mod pack;
pub(crate) mod render;
pub(crate) mod shell;
pub(crate) mod tetmesh;
pub(crate) mod train;
pub(crate) mod wedge;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::console::size;
use crate::error::CliError;

/// The files that a command wrote of what it made: the thing itself, and a picture of it.
struct MadeFiles<'a> {
    output: Option<&'a Path>,
    bytes: u64,
    picture: Option<&'a Path>,
}

impl<'a> MadeFiles<'a> {
    /// Writes the thing where a path says so; its picture is drawn by the caller.
    fn write(
        output: &'a Option<PathBuf>,
        picture: &'a Option<PathBuf>,
        write: impl FnOnce(&Path) -> clip::Result<clip::Written>,
    ) -> Result<Self, CliError> {
        let written = output.as_deref().map(write).transpose();
        let bytes =
            written.map_err(|error| CliError::while_writing(&error))?.map_or(0, |written| written.bytes);
        Ok(Self { output: output.as_deref(), bytes, picture: picture.as_deref() })
    }

    /// The answer for machines, with the files.
    fn in_json(&self, mut answer: Value) -> Value {
        answer["output"] = json!(self.output);
        answer["picture"] = json!(self.picture);
        answer
    }

    /// The answer for people, with the files.
    fn in_text(&self, answer: String) -> String {
        let output = self.output.map(|path| format!("wrote {} ({})", path.display(), size(self.bytes)));
        let picture = self.picture.map(|path| format!("wrote {}", path.display()));
        std::iter::once(answer.trim_end().to_owned())
            .chain(output)
            .chain(picture)
            .collect::<Vec<_>>()
            .join("\n")
    }
}
