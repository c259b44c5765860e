//! What can only be said about a shot with its input open: names that the input does not have, files that are not there.

use std::path::Path;

use clip::{Clip, Format};

use crate::layer::{Failure, Remark, Target};
use crate::mistake::{Mistake, Mistakes};
use crate::shot::{LayerEntry, Shot};
use crate::{Error, Reader, suggest};

/// Everything that is wrong with a shot file: its syntax, its keys and values, and what does not fit its input.
/// Empty when it can be baked.
pub fn check(path: impl AsRef<Path>, reader: &Reader) -> Result<Vec<Mistake>, Error> {
    match reader.read(path) {
        Ok(shot) => Ok(shot.check()),
        Err(Error::Mistakes(Mistakes(mistakes))) => Ok(mistakes),
        Err(other) => Err(other),
    }
}

/// An animation and a number for every point of its meshes; of a mesh without any, there is nothing to tell.
pub struct Parts {
    /// What moves.
    pub clip: Clip,
    /// By mesh and point.
    pub values: Vec<Vec<f32>>,
}

impl Shot {
    /// Everything about this shot that does not fit its input. Opens the input.
    pub fn check(&self) -> Vec<Mistake> {
        match self.open_checked() {
            Ok(_) => Vec::new(),
            Err(mistakes) => mistakes,
        }
    }

    /// The input, if the shot fits it and its outputs can be written.
    pub(crate) fn open_checked(&self) -> Result<Clip, Vec<Mistake>> {
        let mut mistakes = self.check_input_names();
        let mut opened = None;
        if mistakes.is_empty() {
            match self.open_input() {
                Ok(clip) => {
                    mistakes.extend(self.check_with(&clip));
                    opened = Some(clip);
                }
                Err(Error::Mistakes(Mistakes(more))) => mistakes.extend(more),
                Err(error @ Error::NoSuchFrames { .. }) => {
                    mistakes.push(self.mistake("input.frames", error.to_string()));
                }
                Err(error) => mistakes.push(self.mistake("input.file", error.to_string())),
            }
        }
        mistakes.extend(self.check_outputs());
        mistakes.extend(self.check_film());
        opened.filter(|_| mistakes.is_empty()).ok_or(mistakes)
    }

    /// What its layers treat as one, to be painted: the animation on the mesh of the first layer that has such parts (the test
    /// functions of `tracks`), and what tells them apart. Nothing is baked.
    pub fn parts(&self) -> Result<Option<Parts>, Error> {
        let mut clip = self.open_checked().map_err(|mistakes| Error::Mistakes(Mistakes(mistakes)))?;
        for entry in self.layers.iter().filter(|entry| entry.is_active()) {
            let Ok(target) = entry.target(&clip, &self.folder) else { continue };
            let parts = entry.layer.parts(&target).map_err(crate::bake::prepare_error(entry))?;
            clip = entry.carried(&target).map_err(crate::bake::prepare_error(entry))?;
            if let Some(parts) = parts {
                let mut values = vec![Vec::new(); clip.meshes.len()];
                values[target.mesh] = parts;
                return Ok(Some(Parts { clip, values }));
            }
        }
        Ok(None)
    }

    /// The same for an input that is open already.
    pub(crate) fn check_with(&self, clip: &Clip) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        let mut clip = clip.clone();
        for (index, entry) in self.layers.iter().enumerate().filter(|(_, entry)| entry.enabled) {
            let place = format!("layer[{index}]");
            match entry.target(&clip, &self.folder) {
                Ok(target) => {
                    let remarks = entry.layer.check(&target);
                    // what is wrong is known by now; layers above are judged by the mesh they would get
                    if remarks.is_empty() && entry.is_active() {
                        match entry.carried(&target) {
                            Ok(carried) => clip = carried,
                            Err(failure) => {
                                let mistake = self.mistake(&place, failure.to_string());
                                mistakes.push(match failure.remedy() {
                                    Some(help) => mistake.with_help(help.to_owned()),
                                    None => mistake,
                                });
                            }
                        }
                    }
                    mistakes.extend(remarks.into_iter().map(|remark| self.remarked(&place, remark)));
                }
                Err(NoTarget::NoMeshes) => {
                    mistakes.push(self.mistake(&place, "the input has no mesh for this layer to work on"));
                }
                Err(NoTarget::Unknown(name)) => {
                    let known = clip.meshes.iter().map(|mesh| mesh.name.as_str());
                    let mistake =
                        self.mistake(&format!("{place}.mesh"), format!("there is no mesh `{name}`"));
                    mistakes.push(mistake.with_help(suggest(&name, known)));
                }
            }
        }
        mistakes
    }

    /// The files and names under `[input]`.
    fn check_input_names(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        if let Some(name) = &self.input.sample
            && !self.registry.has_sample(name)
        {
            mistakes.push(self.unknown_sample(name));
        }
        let paths = [
            ("input.file", &self.input.file),
            ("input.mesh", &self.input.mesh),
            ("input.cache", &self.input.cache),
        ];
        for (place, path) in paths.iter().filter_map(|(place, path)| Some((*place, path.as_ref()?))) {
            let full = self.folder.join(path);
            let pattern = path.to_string_lossy().contains(['#', '%']);
            if !pattern && !full.is_file() {
                let mistake = self.mistake(place, format!("there is no file {}", full.display()));
                mistakes.push(match alike(&full) {
                    Some(name) => mistake.with_help(format!("did you mean `{name}`?")),
                    None => mistake.with_help("paths are relative to the shot file"),
                });
            }
        }
        if let (Some(file), Some(wanted), true) = (&self.input.file, &self.input.clip, mistakes.is_empty())
            && let Ok(description) = clip::describe(self.folder.join(file))
            && !description.animations.iter().any(|animation| animation.name == *wanted)
        {
            let known = description.animations.iter().map(|animation| animation.name.as_str());
            let mistake = self.mistake("input.clip", format!("the file has no animation `{wanted}`"));
            mistakes.push(mistake.with_help(suggest(wanted, known)));
        }
        mistakes
    }

    /// A remark about a table, at its line.
    fn remarked(&self, table: &str, remark: Remark) -> Mistake {
        let mistake = self.mistake(&format!("{table}.{}", remark.path), remark.message);
        match remark.help {
            Some(help) => mistake.with_help(help),
            None => mistake,
        }
    }

    /// The passes of the film against the fields that the layers make.
    fn check_film(&self) -> Vec<Mistake> {
        let active = self.layers.iter().filter(|entry| entry.is_active());
        let fields: Vec<String> = active.flat_map(|entry| entry.layer.fields()).collect();
        let Some(film) = self.registry.film() else { return Vec::new() };
        let remarks = (film.check)(&self.output.film, &fields, &self.folder);
        remarks.into_iter().map(|remark| self.remarked("output.film", remark)).collect()
    }

    fn check_outputs(&self) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for (index, file) in self.output.files.iter().flatten().enumerate() {
            let film = self.registry.film();
            let is_clip = Format::from_extension(file).is_some_and(Format::is_written);
            if !is_clip && !film.is_some_and(|film| (film.writes)(file)) {
                let written = Format::ALL.iter().filter(|(format, _)| format.is_written());
                let endings = written.map(|(_, ending)| *ending);
                let endings: Vec<&str> =
                    endings.chain(film.into_iter().flat_map(|film| film.endings).copied()).collect();
                let ending = file.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
                let mistake = self.mistake(
                    &format!("output.files[{index}]"),
                    format!("files ending in `.{ending}` cannot be written"),
                );
                mistakes.push(mistake.with_help(suggest(&ending, endings)));
            }
        }
        mistakes
    }
}

/// Why a layer has nothing to work on.
pub(crate) enum NoTarget {
    NoMeshes,
    Unknown(String),
}

impl LayerEntry {
    /// The mesh of the clip that the layer works on.
    pub(crate) fn target(&self, clip: &Clip, folder: &Path) -> Result<Target, NoTarget> {
        let mesh = match &self.mesh {
            Some(name) => clip.mesh_index(name).ok_or_else(|| NoTarget::Unknown(name.clone()))?,
            None => clip.meshes.iter().position(|mesh| self.layer.suits(mesh)).unwrap_or(0),
        };
        if clip.meshes.is_empty() && self.layer.needs_mesh() {
            return Err(NoTarget::NoMeshes);
        }
        Ok(Target { clip: clip.clone(), mesh, folder: folder.to_owned() })
    }

    /// The clip that the layer's result is compared and mixed with: its input, on the mesh that it gives back.
    pub(crate) fn carried(&self, target: &Target) -> Result<Clip, Failure> {
        Ok(match self.layer.reshape(target)? {
            Some(reshape) => reshape.carried(&target.clip, target.mesh),
            None => target.clip.clone(),
        })
    }
}

/// The file in the same folder that is spelt most alike.
fn alike(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| entry.path().is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    crate::mistake::nearest(&path.file_name()?.to_string_lossy(), &names).map(str::to_owned)
}
