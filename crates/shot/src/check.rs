//! What can only be said about a shot with its input open: names that the input does not have, files that are not there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clip::{Clip, Files, Format, Selector};

use crate::bake::Bake;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::layer::{Counterpart, Layer, LayerError, Sketch, Target};
use crate::shot::{LayerEntry, MeshNames, Shot};
use crate::{Error, Reader, suggest};

/// Everything that is wrong with a shot file: its syntax, its keys and values, and what does not fit its input.
/// Empty when it can be baked.
pub fn check(path: impl AsRef<Path>, reader: &Reader) -> Result<Vec<Diagnostic>, Error> {
    match reader.read(path) {
        Ok(shot) => Ok(shot.check()),
        Err(Error::Invalid(Diagnostics(diagnostics))) => Ok(diagnostics),
        Err(other) => Err(other),
    }
}

/// What is wrong with a layer on so many meshes: of what is a mistake only if all of them say it, what the first of them said.
fn of_all_or_each(found: Vec<Diagnostic>, meshes: usize) -> Vec<Diagnostic> {
    let mut paths: BTreeMap<String, usize> = BTreeMap::new();
    for diagnostic in found.iter().filter(|diagnostic| diagnostic.is_of_all()) {
        *paths.entry(diagnostic.path().to_owned()).or_default() += 1;
    }
    let mut told = BTreeSet::new();
    let holds = |diagnostic: &Diagnostic| {
        !diagnostic.is_of_all()
            || (paths[diagnostic.path()] >= meshes && told.insert(diagnostic.path().to_owned()))
    };
    found.into_iter().filter(holds).collect()
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
    pub fn check(&self) -> Vec<Diagnostic> {
        match self.open_checked(&self.files) {
            Ok(_) => Vec::new(),
            Err(diagnostics) => diagnostics,
        }
    }

    /// Settings of its layers that were turned and have no effect: no mistakes, and none where the shot has mistakes.
    pub fn idle(&self) -> Vec<Diagnostic> {
        let mut found = self.alone();
        found.extend(self.told(|layer, target| layer.idle(target)));
        found
    }

    /// Settings of its layers that are possible and unusual beside its input; of [`Shot::warnings`](Shot) those that only the input tells.
    pub fn unusual(&self) -> Vec<Diagnostic> {
        self.told(|layer, target| layer.unusual(target))
    }

    /// What layers have to say of their settings that is no mistake: nothing where the shot has mistakes.
    fn told(&self, ask: impl Fn(&dyn Layer, &Target) -> Vec<Diagnostic>) -> Vec<Diagnostic> {
        let Ok(mut clip) = self.open_checked(&self.files) else { return Vec::new() };
        let mut found = Vec::new();
        for (index, entry) in self.layers.iter().enumerate().filter(|(_, entry)| entry.is_active()) {
            for target in entry.targets(&clip, &self.files).unwrap_or_default() {
                let told = ask(&*entry.layer, &Target { clip: clip.clone(), ..target.clone() });
                found.extend(told.into_iter().map(|told| self.placed(&format!("layer[{index}]"), told)));
                clip = entry.carried(&Target { clip: clip.clone(), ..target }).unwrap_or(clip);
            }
        }
        found
    }

    /// Layers that are to be simulated together with others, and are not, because there are none.
    fn alone(&self) -> Vec<Diagnostic> {
        let active: Vec<_> = self.layers.iter().enumerate().filter(|(_, entry)| entry.is_active()).collect();
        let is_alone = |(index, entry): &&(usize, &LayerEntry)| {
            let others = active.iter().filter(|(other, _)| other != index);
            entry.together.is_some() && others.into_iter().all(|(_, other)| other.together != entry.together)
        };
        let say = |(index, _): &(usize, &LayerEntry)| {
            let idle = Diagnostic::new("together", "no other layer has the same name there");
            self.placed(&format!("layer[{index}]"), idle)
        };
        active.iter().filter(is_alone).map(say).collect()
    }

    /// The input, if the shot fits it and its outputs can be written. What is read for that is read through `files`.
    pub(crate) fn open_checked(&self, files: &Files) -> Result<Clip, Vec<Diagnostic>> {
        let mut diagnostics = self.check_input_names(files);
        let mut opened = None;
        if diagnostics.is_empty() {
            match self.open_input_among(files) {
                Ok(clip) => {
                    diagnostics.extend(self.check_cuts(&clip));
                    diagnostics.extend(self.check_with(&clip, files));
                    opened = Some(clip);
                }
                Err(Error::Invalid(Diagnostics(more))) => diagnostics.extend(more),
                Err(error @ Error::NoSuchFrames { .. }) => {
                    diagnostics.push(self.diagnostic("input.frames", error.to_string()));
                }
                Err(error) => {
                    let diagnostic = self.diagnostic("input.file", error.to_string());
                    diagnostics.push(match error {
                        Error::Clip(clip::Error::Outside { .. }) => diagnostic.with_help(
                            "what a file names must lie in its own folder; if you trust it, allow more with --allow-outside",
                        ),
                        _ => diagnostic,
                    });
                }
            }
        }
        diagnostics.extend(self.check_outputs());
        diagnostics.extend(self.check_film());
        opened.filter(|_| diagnostics.is_empty()).ok_or(diagnostics)
    }

    /// What its layers treat as one, to be painted: the animation on the mesh of the first layer that has such parts (the test
    /// functions of `tracks`), and what tells them apart. Nothing is baked.
    pub fn parts(&self) -> Result<Option<Parts>, Error> {
        let mut clip =
            self.open_checked(&self.files).map_err(|diagnostics| Error::Invalid(Diagnostics(diagnostics)))?;
        for entry in self.layers.iter().filter(|entry| entry.is_active()) {
            let Ok(target) = entry.target(&clip, &self.files) else { continue };
            let parts = entry.layer.parts(&target).map_err(crate::bake::prepare_error(&entry.name))?;
            clip = entry.carried(&target).map_err(crate::bake::prepare_error(&entry.name))?;
            if let Some(parts) = parts {
                let mut values = vec![Vec::new(); clip.meshes.len()];
                values[target.mesh] = parts;
                return Ok(Some(Parts { clip, values }));
            }
        }
        Ok(None)
    }

    /// What a game needs to run one of its layers by itself: the bytes of the first that can be packed. Nothing is baked.
    pub fn pack(&self) -> Result<Option<Vec<u8>>, Error> {
        self.first_of_layers(|entry, target| entry.layer.pack(target))
    }

    /// What its result is shown beside in frame `index` of a bake: the mesh's number, and its points. Nothing where there are several
    /// layers, where the one has nothing of the kind, and for loops, whose frames are of two periods.
    pub fn counterpart(&self, bake: &Bake, index: usize) -> Result<Option<(usize, Counterpart)>, Error> {
        if bake.looped.is_some() {
            return Ok(None);
        }
        let active: Vec<&LayerEntry> = self.layers.iter().filter(|entry| entry.is_active()).collect();
        let ([entry], [layer]) = (&active[..], &bake.layers[..]) else { return Ok(None) };
        let Ok(target) = entry.target(&bake.whole_input, &self.files) else { return Ok(None) };
        let index = bake.frames.first + index;
        let Some(figures) = layer.figures.get(index) else { return Ok(None) };
        let found = entry.layer.counterpart(&target, index, figures);
        let found = found.map_err(crate::bake::prepare_error(&entry.name))?;
        Ok(found.map(|found| (target.mesh, found)))
    }

    /// What the first of its layers gives that gives anything, asked with what it works on. Nothing is baked.
    pub fn first_of_layers<T>(
        &self,
        ask: impl Fn(&LayerEntry, &Target) -> Result<Option<T>, LayerError>,
    ) -> Result<Option<T>, Error> {
        let mut clip =
            self.open_checked(&self.files).map_err(|diagnostics| Error::Invalid(Diagnostics(diagnostics)))?;
        for entry in self.layers.iter().filter(|entry| entry.is_active()) {
            let Ok(target) = entry.target(&clip, &self.files) else { continue };
            let found = ask(entry, &target).map_err(crate::bake::prepare_error(&entry.name))?;
            if found.is_some() {
                return Ok(found);
            }
            clip = entry.carried(&target).map_err(crate::bake::prepare_error(&entry.name))?;
        }
        Ok(None)
    }

    /// What its layers are made of, by their names, on the input that was baked. A layer that cannot show it shows nothing.
    pub fn sketches(&self, bake: &Bake) -> Vec<(String, Vec<Sketch>)> {
        let mut clip = bake.input.clone();
        let mut sketches = Vec::new();
        for entry in self.layers.iter().filter(|entry| entry.is_active()) {
            let Ok(target) = entry.target(&clip, &self.files) else { continue };
            let own = entry.layer.sketches(&target).unwrap_or_default();
            if !own.is_empty() {
                sketches.push((entry.name.clone(), own));
            }
            let Ok(carried) = entry.carried(&target) else { break };
            clip = carried;
        }
        sketches
    }

    /// The same for an input that is open already.
    pub(crate) fn check_with(&self, clip: &Clip, files: &Files) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        let mut clip = clip.clone();
        let mut below = None;
        for (index, entry) in self.layers.iter().enumerate().filter(|(_, entry)| entry.enabled) {
            let place = format!("layer[{index}]");
            let given = clip.clone();
            match entry.targets(&clip, files) {
                Ok(targets) => {
                    let (mut found, count) = (Vec::new(), targets.len());
                    for Target { mesh, .. } in targets {
                        let target = Target { clip: clip.clone(), mesh, files: files.clone() };
                        found.extend(self.check_below(entry, &place, &target, below.as_ref()));
                        clip = self.check_target(entry, &place, &target, &mut found);
                    }
                    diagnostics.extend(of_all_or_each(found, count));
                    if entry.is_active() {
                        below = Some(given);
                    }
                }
                Err(TargetError::NoMeshes) => {
                    diagnostics
                        .push(self.diagnostic(&place, "the input has no mesh for this layer to work on"));
                }
                Err(TargetError::Unknown(name)) => {
                    let known = clip.meshes.iter().map(|mesh| mesh.name.as_str());
                    let diagnostic =
                        self.diagnostic(&format!("{place}.mesh"), format!("there is no mesh `{name}`"));
                    diagnostics.push(diagnostic.with_help(suggest(&name, known)));
                }
            }
        }
        if diagnostics.is_empty() {
            diagnostics = self.check_groups(&clip, files);
        }
        diagnostics
    }

    /// Whether a layer that reads what the layer below was given has one, on the same mesh.
    fn check_below(
        &self,
        entry: &LayerEntry,
        place: &str,
        target: &Target,
        below: Option<&Clip>,
    ) -> Option<Diagnostic> {
        if !entry.layer.needs_layer_below() || !entry.is_active() {
            return None;
        }
        let help = "put it above the layer that it works on";
        match below {
            None => Some(
                self.diagnostic(place, "there is no layer below to take something back from").with_help(help),
            ),
            // skeletons keep their joints
            Some(_) if target.clip.meshes.is_empty() => None,
            Some(given) if given.meshes[target.mesh].point_count() != target.mesh().point_count() => {
                let sentence =
                    "the layer below changed the mesh, so its input has nothing to be blended with";
                Some(
                    self.diagnostic(place, sentence)
                        .with_help("put it above a layer that keeps the mesh's points"),
                )
            }
            Some(_) => None,
        }
    }

    /// What is wrong with a layer on one mesh, and the clip that the layers above are judged by: with the mesh they would get.
    fn check_target(
        &self,
        entry: &LayerEntry,
        place: &str,
        target: &Target,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Clip {
        let found = entry.layer.check(target);
        let mut clip = target.clip.clone();
        if found.is_empty() && entry.is_active() {
            match entry.carried(target) {
                Ok(carried) => clip = carried,
                Err(failure) => {
                    let help = failure.remedy().map(str::to_owned);
                    diagnostics.push(self.diagnostic(place, failure.to_string()).maybe_help(help));
                }
            }
        }
        diagnostics.extend(found.into_iter().map(|diagnostic| self.placed(place, diagnostic)));
        clip
    }

    /// Cuts that the animation cannot have.
    fn check_cuts(&self, clip: &Clip) -> Vec<Diagnostic> {
        let count = clip.frame_count();
        let cuts = self.input.cuts.iter().enumerate();
        cuts.filter(|(_, cut)| **cut == 0 || **cut >= count)
            .map(|(k, cut)| {
                let message = format!("there is no step to frame {cut} that could be a cut");
                let help = match count {
                    0 | 1 => "the animation has no second frame".to_owned(),
                    _ => format!("frames with one before them go from 1 to {}", count - 1),
                };
                self.diagnostic(&format!("input.cuts[{k}]"), message).with_help(help)
            })
            .collect()
    }

    /// What stands under `[input]` beside something that leaves it without effect.
    fn check_idle_input(&self) -> Vec<Diagnostic> {
        let input = &self.input;
        let source = match (&input.file, &input.sample, input.duration) {
            (Some(_), ..) => "file",
            (None, Some(_), _) => "sample",
            _ => "duration",
        };
        let of_files = ["file"].as_slice();
        let given = [
            ("sample", input.sample.is_some(), ["sample"].as_slice()),
            ("clip", input.clip.is_some(), of_files),
            ("clips", input.clips.is_some(), of_files),
            ("unit", input.unit.is_some(), of_files),
            ("mesh", input.mesh.is_some(), of_files),
            ("cache", input.cache.is_some(), of_files),
            ("frame_rate", input.frame_rate.is_some(), &["file", "sample", "duration"]),
            ("speed", input.speed.is_some(), &["file", "sample"]),
        ];
        given
            .into_iter()
            .filter(|(_, is_given, beside)| *is_given && !beside.contains(&source))
            .map(|(key, ..)| {
                let message = format!("`{key}` has no effect beside `{source}`");
                self.diagnostic(&format!("input.{key}"), message).with_help("leave out one of them")
            })
            .collect()
    }

    /// The files and names under `[input]`.
    fn check_input_names(&self, files: &Files) -> Vec<Diagnostic> {
        let mut diagnostics = self.check_idle_input();
        if let Some(name) = &self.input.sample
            && !self.registry.has_sample(name)
        {
            diagnostics.push(self.unknown_sample("input.sample", name));
        }
        for (index, added) in self.input.add.iter().enumerate() {
            if let Some(name) = added.sample.as_ref().filter(|name| !self.registry.has_sample(name)) {
                diagnostics.push(self.unknown_sample(&format!("input.add[{index}].sample"), name));
            }
        }
        let motion = self.input.motion.as_ref();
        if let Some(name) = motion.and_then(|motion| motion.sample.as_ref())
            && !self.registry.has_sample(name)
        {
            diagnostics.push(self.unknown_sample("input.motion.sample", name));
        }
        let none = None;
        let paths = [
            ("input.file", &self.input.file),
            ("input.motion.file", motion.map_or(&none, |motion| &motion.file)),
            ("input.mesh", &self.input.mesh),
            ("input.cache", &self.input.cache),
        ];
        let paths = paths.map(|(place, path)| (place.to_owned(), path));
        let added = self.input.add.iter().enumerate().flat_map(|(index, added)| {
            let at = move |key: &str| format!("input.add[{index}].{key}");
            [(at("file"), &added.file), (at("mesh"), &added.mesh), (at("cache"), &added.cache)]
        });
        let paths: Vec<_> = paths.into_iter().chain(added).collect();
        for (place, path) in paths.iter().filter_map(|(place, path)| Some((place, path.as_ref()?))) {
            let full = self.folder.join(path);
            let pattern = path.to_string_lossy().contains(['#', '%']);
            if !pattern && !full.is_file() {
                let diagnostic = self.diagnostic(place, format!("there is no file {}", full.display()));
                diagnostics.push(match alike(&full) {
                    Some(name) => diagnostic.with_help(format!("did you mean `{name}`?")),
                    None => diagnostic.with_help("paths are relative to the shot file"),
                });
            }
        }
        if let (Some(file), Some(wanted), true) = (&self.input.file, &self.input.clip, diagnostics.is_empty())
            && let Ok(description) = clip::describe(self.folder.join(file), &self.read_options(files))
            && !description.animations.iter().any(|animation| animation.name == *wanted)
        {
            let known = description.animations.iter().map(|animation| animation.name.as_str());
            let diagnostic = self.diagnostic("input.clip", format!("the file has no animation `{wanted}`"));
            diagnostics.push(diagnostic.with_help(suggest(wanted, known)));
        }
        if diagnostics.is_empty()
            && let Err(Error::Invalid(Diagnostics(more))) = self.clip_names()
        {
            diagnostics.extend(more);
        }
        diagnostics
    }

    /// What was found in a table, at its line of the file.
    fn placed(&self, table: &str, diagnostic: Diagnostic) -> Diagnostic {
        let span = self.document.nearest(&format!("{table}.{}", diagnostic.path())).span.clone();
        diagnostic.placed(&self.document.source, span)
    }

    /// The passes of the film against the fields that the layers make.
    fn check_film(&self) -> Vec<Diagnostic> {
        let active = self.layers.iter().filter(|entry| entry.is_active());
        let fields: Vec<String> = active.flat_map(|entry| entry.layer.fields()).collect();
        let Some(film) = self.registry.film() else { return Vec::new() };
        let found = (film.check)(&self.output.film, &fields, &self.folder);
        found.into_iter().map(|diagnostic| self.placed("output.film", diagnostic)).collect()
    }

    fn check_outputs(&self) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        for (index, file) in self.output.files.iter().flatten().enumerate() {
            let film = self.registry.film();
            let is_clip = Format::from_extension(file).is_some_and(Format::is_written);
            if !is_clip && !film.is_some_and(|film| (film.writes)(file)) {
                let written = Format::ALL.iter().filter(|format| format.is_written());
                let endings = written.map(|format| format.extension());
                let endings: Vec<&str> =
                    endings.chain(film.into_iter().flat_map(|film| film.endings).copied()).collect();
                let ending = file.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
                let diagnostic = self.diagnostic(
                    &format!("output.files[{index}]"),
                    format!("files ending in `.{ending}` cannot be written"),
                );
                diagnostics.push(diagnostic.with_help(suggest(&ending, endings)));
            }
        }
        diagnostics
    }
}

/// Why a layer has nothing to work on.
pub(crate) enum TargetError {
    NoMeshes,
    Unknown(String),
}

impl LayerEntry {
    /// The first mesh of the clip that the layer works on.
    pub(crate) fn target(&self, clip: &Clip, files: &Files) -> Result<Target, TargetError> {
        self.targets(clip, files)?.into_iter().next().ok_or(TargetError::NoMeshes)
    }

    /// The meshes of the clip that the layer works on, one or more.
    pub(crate) fn targets(&self, clip: &Clip, files: &Files) -> Result<Vec<Target>, TargetError> {
        let named = |name: &String| clip.mesh_index(name).ok_or_else(|| TargetError::Unknown(name.clone()));
        let suitable = || (0..clip.meshes.len()).filter(|&mesh| self.layer.suits(&clip.meshes[mesh]));
        let meshes: Vec<usize> = match &self.mesh {
            Some(names) => {
                let names = match names {
                    MeshNames::One(name) => std::slice::from_ref(name),
                    MeshNames::Several(names) => names,
                };
                let mut meshes: Vec<usize> = Vec::new();
                for name in names {
                    // a mesh that is really called so is meant
                    let found: Vec<usize> = match named(name) {
                        Ok(mesh) => vec![mesh],
                        Err(_) => {
                            suitable().filter(|&mesh| Selector::fits(name, &clip.meshes[mesh].name)).collect()
                        }
                    };
                    if found.is_empty() && name != "*" {
                        return Err(TargetError::Unknown(name.clone()));
                    }
                    let is_new = |mesh: &usize| !meshes.contains(mesh);
                    let found: Vec<usize> = found.into_iter().filter(is_new).collect();
                    meshes.extend(found);
                }
                meshes
            }
            None => vec![suitable().next().unwrap_or(0)],
        };
        let is_skeleton = clip.meshes.is_empty() && clip.skeleton.is_some() && self.layer.takes_skeletons();
        if (clip.meshes.is_empty() || meshes.is_empty()) && self.layer.needs_mesh() && !is_skeleton {
            return Err(TargetError::NoMeshes);
        }
        let target = |mesh| Target { clip: clip.clone(), mesh, files: files.clone() };
        Ok(meshes.into_iter().map(target).collect())
    }

    /// The clip that the layer's result is compared and mixed with: its input, on the mesh that it gives back.
    pub(crate) fn carried(&self, target: &Target) -> Result<Clip, LayerError> {
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
    crate::diagnostic::nearest(&path.file_name()?.to_string_lossy(), &names).map(str::to_owned)
}
