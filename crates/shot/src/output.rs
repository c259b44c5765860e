//! The files that come out of a bake: animations, films, pictures.

use std::path::{Path, PathBuf};

use clip::{Format, WriteOptions};
use render::{Look, Stage};

use crate::Error;
use crate::bake::Bake;
use crate::progress::{Context, Event};
use crate::shot::Shot;
use crate::store::write_whole;

/// What a file is, by its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Something that animation programs read.
    Clip,
    /// A short film.
    Film,
    /// A contact sheet.
    Picture,
}

impl Medium {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        match (ending.as_deref(), Format::from_extension(path)) {
            (Some("webp"), _) => Some(Self::Film),
            (Some("png"), _) => Some(Self::Picture),
            (_, Some(format)) if format.is_written() => Some(Self::Clip),
            _ => None,
        }
    }
}

/// Frames on a contact sheet, and how many side by side.
const SHEET: [usize; 2] = [12, 4];

/// Writes every output of the shot into the bake's folder.
pub(crate) fn write(shot: &Shot, bake: &Bake, context: &Context<'_>) -> Result<Vec<PathBuf>, Error> {
    let default = || vec![PathBuf::from(format!("{}.glb", shot.name))];
    let mut files = Vec::new();
    for file in shot.output.files.clone().unwrap_or_else(default) {
        let path = bake.out.join(file);
        if context.is_cancelled() {
            return Err(Error::CancelledOutput { path });
        }
        context.progress.event(Event::Writing { path: &path });
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        match Medium::of(&path) {
            Some(Medium::Film) => {
                let stage = stage(shot, bake)?;
                let of = stage.frame_count();
                let film = stage.film(|done| {
                    context.progress.event(Event::Written { path: &path, done, of });
                    !context.is_cancelled()
                })?;
                if film.len() < of {
                    return Err(Error::CancelledOutput { path });
                }
                write_whole(&path, &film.finish()?)?;
                files.push(path);
            }
            Some(Medium::Picture) => {
                let sheet = stage(shot, bake)?.contact_sheet(SHEET[0], SHEET[1])?;
                write_whole(&path, &sheet.png()?)?;
                files.push(path);
            }
            Some(Medium::Clip) | None => {
                let options =
                    WriteOptions { start_frame: shot.output.start_frame, ..WriteOptions::default() };
                files.extend(clip::write(&path, &bake.clip, &options)?.files);
            }
        }
    }
    Ok(files)
}

fn stage<'a>(shot: &Shot, bake: &'a Bake) -> Result<Stage<'a>, Error> {
    let film = &shot.output.film;
    let look = Look { wireframe: film.wireframe, ..Look::default() };
    let clips = match film.beside_input {
        true => vec![("input", &bake.input), ("result", &bake.clip)],
        false => vec![("", &bake.clip)],
    };
    Ok(Stage::new(&clips, film.view.view(), look, [film.width, film.height])?)
}
