//! Clips as arguments: a file, a pattern of numbered files, `sample:NAME`, or a shot of which something is baked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clip::{Clip, Files, Frame, Frames, ReadOptions};
use shot::{Bake, BakeOptions, FrameRange, Reader};

use crate::console::Listener;
use crate::error::CliError;
use crate::interrupt;

/// How to read a clip that is named on the command line.
#[derive(Args, Clone)]
pub(crate) struct Reading {
    /// The animation to take from a file that holds several [default: the first]
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    clip: Option<String>,
    /// Frames per second: the rate at which a file with times of its own is sampled, and the speed of OBJ and PC2 frames
    #[arg(long, value_name = "HZ", value_parser = positive, help_heading = "Reading")]
    rate: Option<f64>,
    /// How long one unit of the file is: m, cm, mm, in, ft or a number of metres [default: m]
    #[arg(long, value_name = "UNIT", value_parser = unit, help_heading = "Reading")]
    unit: Option<f64>,
    /// The OBJ whose points a .pc2 or .mdd moves [default: the one beside it with the same name]
    #[arg(long, value_name = "OBJ", help_heading = "Reading")]
    mesh: Option<PathBuf>,
    /// The .pc2 or .mdd that moves an .obj
    #[arg(long, value_name = "FILE", help_heading = "Reading")]
    cache: Option<PathBuf>,
    /// Of a shot file: the folder it was baked to [default: what the shot says, or a folder beside it with its name]
    #[arg(long, value_name = "DIR", help_heading = "Reading")]
    baked: Option<PathBuf>,
    #[command(flatten)]
    trust: Trust,
}

/// How far a file is trusted.
#[derive(Args, Clone)]
pub(crate) struct Trust {
    /// Let the file name others (buffers, pictures, materials) outside its own folder
    #[arg(long, help_heading = "Reading")]
    allow_outside: bool,
}

impl Trust {
    /// Opens what the path names, everything else taken from the file.
    pub(crate) fn open(&self, path: &Path) -> Result<Clip, CliError> {
        open(path, &ReadOptions { files: self.files(), ..ReadOptions::default() }, self, None)
    }

    /// Whether files may name others outside their folders.
    pub(crate) fn allows_outside(&self) -> bool {
        self.allow_outside
    }

    /// What reads shots, with these values set over the file's, the last ones last.
    pub(crate) fn reader<'a>(&self, settings: impl IntoIterator<Item = &'a str>) -> Reader {
        let reader = followthrough::reader().allow_outside(self.allow_outside);
        settings.into_iter().fold(reader, |reader, setting| reader.set(setting))
    }

    /// Which files may be read.
    pub(crate) fn files(&self) -> Files {
        Files::default().allow_outside(self.allow_outside)
    }
}

impl Reading {
    /// How far the file is trusted.
    pub(crate) fn trust(&self) -> &Trust {
        &self.trust
    }

    /// The same for another animation of a file.
    pub(crate) fn of_clip(&self, name: &str) -> Self {
        Self { clip: Some(name.to_owned()), ..self.clone() }
    }

    /// Opens what the path names.
    pub(crate) fn open(&self, path: &Path) -> Result<Clip, CliError> {
        open(path, &self.options(), &self.trust, self.baked.as_deref())
    }

    /// The folder that a shot was baked to, where it is not the shot's own.
    pub(crate) fn baked(&self) -> Option<&Path> {
        self.baked.as_deref()
    }

    /// What was said about reading.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            clip: self.clip.clone(),
            frame_rate_hz: self.rate,
            unit_in_metres: self.unit,
            mesh: self.mesh.clone(),
            cache: self.cache.clone(),
            files: self.trust.files(),
            ..ReadOptions::default()
        }
    }
}

fn open(path: &Path, options: &ReadOptions, trust: &Trust, baked: Option<&Path>) -> Result<Clip, CliError> {
    match sample_name(path) {
        Some(name) => sample(&name),
        None if is_shot(path) => baked_of(path, trust, baked),
        None => Ok(clip::read(path, options)?),
    }
}

/// Whether the path names a shot file.
pub(crate) fn is_shot(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "toml")
}

/// What is baked of a shot so far. Nothing is written, so a bake may be going on.
fn baked_of(path: &Path, trust: &Trust, baked: Option<&Path>) -> Result<Clip, CliError> {
    let shot = trust.reader([]).read(path)?;
    let options = BakeOptions { out: baked.map(Path::to_owned), ..BakeOptions::default() };
    let bake = shot.baked_so_far(&options)?;
    let mut clip = bake.clip.clone();
    clip.warnings.extend(unbaked(&bake));
    Ok(clip)
}

/// How much of a bake is still missing, if anything is.
pub(crate) fn unbaked(bake: &Bake) -> Option<String> {
    let (there, missing) = (bake.frames, bake.missing);
    let sentence =
        || format!("frames {there} are baked; {missing} {} missing", if missing == 1 { "is" } else { "are" });
    (missing > 0).then(sentence)
}

/// Whether the ending is that of a format with tets.
pub(crate) fn has_tets(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    ending.is_some_and(|ending| clip::TET_ENDINGS.contains(&ending.as_str()))
}

/// Whether the ending is that of a format with cells of a lattice.
pub(crate) fn has_cells(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    ending.is_some_and(|ending| clip::LATTICE_ENDINGS.contains(&ending.as_str()))
}

/// The name behind `sample:`.
pub(crate) fn sample_name(path: &Path) -> Option<String> {
    path.to_str()?.strip_prefix("sample:").map(str::to_owned)
}

fn sample(name: &str) -> Result<Clip, CliError> {
    match samples::by_name(name) {
        Some(sample) => Ok((sample.make)()),
        None => {
            let known = samples::all().iter().map(|sample| sample.name);
            Err(CliError::usage(format!("there is no sample `{name}`")).with_help(shot::suggest(name, known)))
        }
    }
}

/// The frames of a range, or the clip as it is.
pub(crate) fn cropped(clip: Clip, range: Option<FrameRange>) -> Result<Clip, CliError> {
    match range {
        Some(range) => Ok(shot::cropped(&clip, range)?),
        None => Ok(clip),
    }
}

/// The clip, showing progress as its frames are pulled, and ending with an error at the next frame after Ctrl-C.
pub(crate) fn watched(clip: &Clip, title: &str, listener: &Arc<Listener>) -> Clip {
    interrupt::flag();
    let (frames, title, listener) = (clip.frames().clone(), title.to_owned(), listener.clone());
    clip.with_frames(Arc::new(Watched { frames, title, listener }))
}

struct Watched {
    frames: Arc<dyn Frames>,
    title: String,
    listener: Arc<Listener>,
}

impl Frames for Watched {
    fn count(&self) -> usize {
        self.frames.count()
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        if interrupt::pressed() {
            let source = std::io::Error::from(std::io::ErrorKind::Interrupted);
            return Err(clip::Error::Io { path: PathBuf::from("Ctrl-C"), source });
        }
        let frame = self.frames.read(index);
        self.listener.part(&self.title, index + 1, self.frames.count());
        frame
    }

    fn grids(&self, index: usize) -> clip::Result<Vec<clip::Grid>> {
        self.frames.grids(index)
    }

    fn morph_weights(&self, index: usize) -> clip::Result<Vec<Vec<f32>>> {
        self.frames.morph_weights(index)
    }
}

/// A number above zero.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err("it must be above zero".to_owned()) }
}

/// A number that may be zero.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err("it must be zero or above".to_owned()) }
}

/// A unit in metres.
pub(crate) fn unit(text: &str) -> Result<f64, String> {
    match text {
        "m" => Ok(1.0),
        "cm" => Ok(0.01),
        "mm" => Ok(0.001),
        "in" => Ok(0.0254),
        "ft" => Ok(0.3048),
        other => positive(other).map_err(|_| "write m, cm, mm, in, ft or a number of metres".to_owned()),
    }
}
