//! The files that come out of a bake.

use std::path::{Path, PathBuf};

use clip::{Format, WriteOptions};

use crate::Error;
use crate::bake::Bake;
use crate::progress::{Context, Event};
use crate::shot::Shot;

/// What a file is, by its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Something that animation programs read.
    Clip,
}

impl Medium {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match Format::from_extension(path) {
            Some(Format::Gltf) | None => None,
            Some(_) => Some(Self::Clip),
        }
    }
}

/// Writes every output of the shot into the bake's folder.
pub(crate) fn write(shot: &Shot, bake: &Bake, context: &Context<'_>) -> Result<Vec<PathBuf>, Error> {
    let default = || vec![PathBuf::from(format!("{}.glb", shot.name))];
    let mut files = Vec::new();
    for file in shot.output.files.clone().unwrap_or_else(default) {
        let path = bake.out.join(file);
        context.progress.event(Event::Writing { path: &path });
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        let options = WriteOptions { start_frame: shot.output.start_frame, ..WriteOptions::default() };
        files.extend(clip::write(&path, &bake.clip, &options)?.files);
    }
    Ok(files)
}
