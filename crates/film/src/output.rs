//! The files that come out of a bake: animations, films, pictures.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use clip::{Format, Numbered, WriteOptions};
use render::{Film, Look, Stage};

use shot::{Bake, Context, Event, Shot, write_whole};

use crate::Error;
use crate::look::FilmLook;
use crate::renderer::FilmRenderer;

/// What a file is, by its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// Something that animation programs read.
    Clip,
    /// A short film.
    Film,
    /// A contact sheet.
    Picture,
    /// A picture of every frame, numbered.
    Frames,
}

impl Medium {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let numbered = Numbered::parse(path).is_some();
        match (ending.as_deref(), Format::from_extension(path)) {
            (Some("webp"), _) => Some(Self::Film),
            (Some("png" | "exr"), _) if numbered => Some(Self::Frames),
            (Some("png"), _) => Some(Self::Picture),
            (_, Some(format)) if format.is_written() => Some(Self::Clip),
            _ => None,
        }
    }
}

/// Frames on a contact sheet, and how many side by side.
const SHEET: [usize; 2] = [12, 4];

/// Writes every output of the shot into the bake's folder.
pub(crate) fn write(shot: &Shot, bake: &mut Bake, context: &Context<'_>) -> Result<Vec<PathBuf>, Error> {
    let ending = if bake.clip.meshes.is_empty() && bake.clip.skeleton.is_none() { "webp" } else { "glb" };
    let default = || vec![PathBuf::from(format!("{}.{ending}", shot.name))];
    let mut files = Vec::new();
    for file in shot.output.files.clone().unwrap_or_else(default) {
        let path = bake.out.join(file);
        if context.is_cancelled() {
            return Err(Error::Cancelled { path });
        }
        context.progress.event(Event::Writing { path: &path });
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(shot::Error::io(folder))?;
        }
        match Medium::of(&path) {
            Some(Medium::Film | Medium::Picture | Medium::Frames) => {
                let renderer = FilmRenderer::new(shot, bake)?;
                files.extend(renderer.write(&path, shot.output.start_frame, context)?);
            }
            Some(Medium::Clip) | None => {
                let options = WriteOptions {
                    start_frame: shot.output.start_frame,
                    unit_in_metres: shot.output.unit.or(shot.input.unit),
                    skin: shot.output.skin,
                    ..WriteOptions::default()
                };
                let written = clip::write(&path, &bake.clip, &options)?;
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                bake.notes.extend(written.warnings.iter().map(|warning| format!("{name}: {warning}")));
                files.extend(written.files);
            }
        }
    }
    Ok(files)
}

impl FilmRenderer<'_> {
    /// Writes a film (.webp), a contact sheet (.png) or a picture of every frame (`name.####.png`, `name.####.exr`); gives back what was
    /// written. `start` is the first frame's number in file names.
    pub fn write(
        &self,
        path: &Path,
        start: Option<u32>,
        context: &Context<'_>,
    ) -> Result<Vec<PathBuf>, Error> {
        let of = self.frame_count();
        let step = |done: usize| {
            context.progress.event(Event::Written { path, done, of });
            match context.is_cancelled() {
                true => Err(Error::Cancelled { path: path.to_owned() }),
                false => Ok(()),
            }
        };
        if let Some(pattern) = Numbered::parse(path) {
            let mut files = Vec::new();
            for frame in 0..of {
                let file = pattern.file(u64::from(start.unwrap_or(0)) + frame as u64);
                write_whole(&file, &self.encoded(frame, &file)?)?;
                files.push(file);
                step(frame + 1)?;
            }
            return Ok(files);
        }
        if Medium::of(path) == Some(Medium::Picture) {
            write_whole(path, &self.sheet(SHEET[0], SHEET[1])?.png()?)?;
            return Ok(vec![path.to_owned()]);
        }
        let mut film = Film::new(self.frame_rate_hz())?;
        if self.is_clear() {
            for frame in 0..of {
                let picture = self.picture(frame)?;
                film.push_clear(picture.width as u32, picture.height as u32, &picture.to_srgb())?;
                step(frame + 1)?;
            }
        } else {
            film.record(0..of, self.at_once(), |frame| self.srgb(frame), |done| step(done).map(|()| true))?;
        }
        write_whole(path, &film.finish()?)?;
        Ok(vec![path.to_owned()])
    }

    /// Frames spread evenly over the film, in rows, each with its number.
    pub fn sheet(&self, count: usize, columns: usize) -> Result<render::Picture, Error> {
        let frames = self.frame_count();
        let count = count.min(frames);
        let spread = |i: usize| if count < 2 { 0 } else { i * (frames - 1) / (count - 1) };
        let cells = (0..count).map(|i| Ok(self.srgb(spread(i))?.labelled(&spread(i).to_string())));
        Ok(render::Picture::contact_sheet(&cells.collect::<Result<Vec<_>, Error>>()?, columns)?)
    }

    /// A frame as the bytes of a file of its own: PNG with alpha, or EXR in linear light, colours multiplied by alpha as it is usual there.
    fn encoded(&self, frame: usize, file: &Path) -> Result<Vec<u8>, Error> {
        let picture = self.picture(frame)?;
        let (width, height) = (picture.width as u32, picture.height as u32);
        let is_exr = file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("exr"));
        let whole = || Error::Render(render::Error::Size { width, height });
        let (pixels, format) = if is_exr {
            let floats = picture.pixels.as_flattened().to_vec();
            let buffer = image::Rgba32FImage::from_raw(width, height, floats).ok_or_else(whole)?;
            (image::DynamicImage::from(buffer), image::ImageFormat::OpenExr)
        } else {
            let buffer = image::RgbaImage::from_raw(width, height, picture.to_srgb()).ok_or_else(whole)?;
            (image::DynamicImage::from(buffer), image::ImageFormat::Png)
        };
        let mut bytes = Cursor::new(Vec::new());
        let encoding = |error: image::ImageError| render::Error::Encoding { problem: error.to_string() };
        pixels.write_to(&mut bytes, format).map_err(encoding)?;
        Ok(bytes.into_inner())
    }
}

/// The meshes of a bake, set up as a shot without passes shows them.
pub(crate) fn stage<'a>(film: &FilmLook, bake: &'a Bake) -> Result<Stage<'a>, Error> {
    let look = Look { wireframe: film.wireframe, drawing: film.drawing(), ..Look::default() };
    let clips = match film.beside_input {
        true => vec![("input", &bake.input), ("result", &bake.scene)],
        false => vec![("", &bake.scene)],
    };
    let stage = Stage::new(&clips, film.view.into(), look, [film.width, film.height])?;
    Ok(if film.go_along { stage.going_along(film.view.into())? } else { stage })
}
