//! From a training file to an operator: motions are baked, folds learnt, the result judged.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clip::{Clip, Files};
use geometry::Prolongation;
use layers::{Joints, OperatorMesh, RiggedCapsule};
use live::{Detail, Operator, Parts};
use serde_json::{Value as Json, json};
use shot::{
    Bake, BakeOptions, Context, Diagnostic, Diagnostics, Event, Form, FrameRange, Input, Reader, Registry,
    Shot, Target,
};
use upsample::{
    Aligned, Harmonics, Learning, Learnt, Pairs, Penalty, Regression, learn, simulate_coarse,
    travelling_waves, weights,
};

use crate::cloth::{Cloth, ClothError, Named};
use crate::file::{MeshSource, TrainingMotion, UpsampleTraining};
use crate::judge::{Judge, Judged};
use crate::pairs::{Handed, Pairing};
use crate::propose::{Halves, propose};
use crate::report::UpsampleReport;
use crate::{Error, Options, Report, Trained, store};

/// Frames of each motion that a quick training takes: to learn from, and to test on.
const QUICK: [usize; 2] = [90, 30];
/// A wave that explains less of what remains is none.
const WAVE_THRESHOLD: f64 = 0.05;

/// What was learnt, and over which surface.
struct Over<'a> {
    learnt: Learnt,
    surface: &'static str,
    base: &'a Prolongation,
}

/// A motion and its pairs.
type Gathered<'a> = (&'a TrainingMotion, Pairs);

/// A training file, read and checked.
pub(crate) struct Training {
    pub(crate) file: UpsampleTraining,
    folder: PathBuf,
    reader: Reader,
    pub(crate) cloth: Cloth,
}

impl Training {
    pub(crate) fn read(
        name: &str,
        text: &str,
        folder: &Path,
        registry: &Registry,
        allow_outside: bool,
    ) -> Result<Self, Error> {
        let form = Form::<UpsampleTraining>::parse(name, text).map_err(shot::Error::from)?;
        let reader = Reader::new(registry.clone().with::<Pairing>()).allow_outside(allow_outside);
        let refuse = |found: Vec<Diagnostic>| Error::from(form.refused(found));
        let file = form.value.clone();
        let found = file.fabric.check(&file.material);
        if !found.is_empty() {
            return Err(refuse(found));
        }
        let open = |input: &Input, path: &str| open(&reader, folder, input, path);
        let named = |source: &MeshSource, path: &str, like: Option<&str>| {
            let clip = open(&source.input(), path)?;
            let mesh = find_mesh(&clip, source.mesh.as_deref().or(like), &format!("{path}.mesh"))?;
            Ok(Named { clip, mesh })
        };
        let files = Files::in_folder(folder).allow_outside(allow_outside);
        let cloth = (|| {
            let coarse = named(&file.coarse, "coarse", None).map_err(ClothError::At)?;
            let like = coarse.clip.meshes[coarse.mesh].name.clone();
            let fine = file.fine.as_ref().map(|fine| named(fine, "fine", Some(&like))).transpose();
            Cloth::new(&file, &coarse, fine.map_err(ClothError::At)?.as_ref(), &files)
        })();
        let cloth = cloth.map_err(|problem| match problem {
            ClothError::At(diagnostic) => refuse(vec![diagnostic]),
            ClothError::Other(error) => error,
        })?;
        let motions = [("learn", &file.learn), ("test", &file.test)];
        let mut found = Vec::new();
        for (list, motions) in motions {
            for (k, motion) in motions.iter().enumerate() {
                let path = format!("{list}[{k}]");
                let opened = open(&motion.input(), &path).and_then(|clip| fits(&cloth, motion, &clip, &path));
                found.extend(opened.err());
            }
        }
        if !found.is_empty() {
            return Err(refuse(found));
        }
        Ok(Self { file, folder: folder.to_owned(), reader, cloth })
    }

    /// Everything, on so many threads.
    pub(crate) fn run(&self, options: &Options, context: &Context<'_>) -> Result<Trained, Error> {
        shot::in_pool(options.threads, || self.train(options, context))
    }

    fn train(&self, options: &Options, context: &Context<'_>) -> Result<Trained, Error> {
        let started = Instant::now();
        let work = &options.work;
        let [training, tests] = self.gather(options, context)?;
        // from here on there are no frames: what is written is written whole
        context.progress.event(Event::Preparing { layer: "operator" });
        let begun = Instant::now();
        let fine = &self.cloth.parts.fine;
        let count = self.file.harmonics.max(self.file.tests).min(fine.rest.len());
        let tests_held = self.file.tests.min(fine.rest.len());
        let plain = store::harmonics(work, fine, count, None)?;
        let painted = self.painted(work, &plain, tests_held)?;
        let harmonics = painted.as_ref().unwrap_or(&plain);
        let harmonics_seconds = begun.elapsed().as_secs_f64();

        let begun = Instant::now();
        let mut all = Pairs::default();
        for (_, pairs) in &training {
            all.coarse.extend_from_slice(&pairs.coarse);
            all.fine.extend_from_slice(&pairs.fine);
        }
        let learning = self.learning();
        let Over { learnt, surface, base } = self.learn(&all, harmonics, tests_held, &learning)?;
        let moments = &learnt.moments;
        let least = Regression::new(moments)?.solve(moments, &Penalty::None.gammas(harmonics));
        let mut parts = Parts {
            detail: Some(learnt.factor.clone()),
            known: learnt.known as f32,
            subdivision: weights(base),
            ..self.cloth.parts.clone()
        };
        let without_waves = parts.write()?;
        let operator = Operator::read(&without_waves[..])?;
        let judge = Judge {
            cloth: &self.cloth,
            operator: &operator,
            base,
            harmonics,
            plain: &plain,
            tests: tests_held,
            least: &least,
        };
        let waving = training.iter().find(|(motion, _)| motion.wind.speed > 0.0);
        if let Some((motion, pairs)) = waving.filter(|_| self.file.waves > 0) {
            let (shown, _) = judge.shown(pairs)?;
            let rate = self.frame_rate(motion)?;
            let waves = travelling_waves(&shown, pairs, &fine.triangles, WAVE_THRESHOLD, self.file.waves)?;
            parts.modes = waves.iter().map(|wave| wave.mode(rate, motion.wind.speed)).collect();
        }
        let bytes = parts.write()?;
        let learn_seconds = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        let known = (training.len() == 1).then_some(moments);
        let mut motions = Vec::new();
        for (motion, pairs) in &training {
            motions.push(judge.judge(&motion.take.title(), true, pairs, known)?);
        }
        let mut halves = Vec::new();
        for (motion, pairs) in &tests {
            halves.push(Halves::gather(motion.take.title(), pairs, base, harmonics));
            let moments = halves.last().map(|test| &test.whole);
            motions.push(judge.judge(&motion.take.title(), false, pairs, moments)?);
        }
        let proposal = propose(&halves, &learnt, harmonics, &learning)?;
        let microseconds = microseconds(&Operator::read(&bytes[..])?, &all)?;
        let judge_seconds = begun.elapsed().as_secs_f64();
        let seconds = [harmonics_seconds, learn_seconds, judge_seconds, started.elapsed().as_secs_f64()];
        let mut report = self.report(&learnt, surface, &parts, &bytes, motions, microseconds, seconds);
        report.propose(proposal);
        let text = serde_json::to_vec_pretty(&report).unwrap_or_default();
        shot::write_whole(&work.join("report.json"), &text)?;
        Ok(Trained { operator: bytes, report: Report::Upsample(report) })
    }

    /// Both halves of all motions: those to learn from, those to test on.
    fn gather(&self, options: &Options, context: &Context<'_>) -> Result<[Vec<Gathered<'_>>; 2], Error> {
        let bare = self.bare(&options.work)?;
        let mut pairs = [Vec::new(), Vec::new()];
        for (k, motions) in [&self.file.learn, &self.file.test].into_iter().enumerate() {
            for motion in motions {
                pairs[k].push((motion, self.pairs(motion, k, &bare, options, context)?));
            }
        }
        Ok(pairs)
    }

    /// The operator that has learnt nothing yet, in the folder.
    pub(crate) fn bare(&self, work: &Path) -> Result<PathBuf, Error> {
        std::fs::create_dir_all(work).map_err(shot::Error::io(work))?;
        let bare = work.join("cloth.ftop");
        let bytes = self.cloth.parts.write()?;
        if std::fs::read(&bare).ok().as_ref() != Some(&bytes) {
            shot::write_whole(&bare, &bytes)?;
        }
        Ok(bare)
    }

    /// The harmonics that paint asks for, beyond those that tracking holds.
    fn painted(&self, work: &Path, plain: &Harmonics, held: usize) -> Result<Option<Harmonics>, Error> {
        let Some(conductances) = &self.cloth.conductances else { return Ok(None) };
        let fine = &self.cloth.parts.fine;
        let painted = store::harmonics(work, fine, plain.count(), Some(conductances))?;
        let rest: Vec<geometry::Vec3> =
            fine.rest.iter().map(|p| geometry::Vec3::from(p.map(f64::from))).collect();
        let beyond = plain
            .painted_beyond(held, &painted, &rest, &fine.triangles, |triangle| conductances[triangle])?;
        Ok(Some(beyond))
    }

    fn learning(&self) -> Learning {
        Learning {
            detail: self.file.detail,
            exponent: self.file.exponent,
            strength: self.file.strength,
            rank: self.file.rank,
            ..Learning::default()
        }
    }

    /// Learns over Loop's surface and over the bicubic one; what does better on stretches that were left out is kept.
    fn learn(
        &self,
        all: &Pairs,
        harmonics: &Harmonics,
        tests: usize,
        learning: &Learning,
    ) -> Result<Over<'_>, Error> {
        let aligned = Aligned { correspondence: &self.cloth.barycentric, tests };
        let over = |surface, base| -> Result<Over<'_>, Error> {
            let learnt = learn(all, base, harmonics, Some(aligned), learning)?;
            Ok(Over { learnt, surface, base })
        };
        let first = over("Loop", &self.cloth.subdivision)?;
        let second = over("bicubic", &self.cloth.bicubic)?;
        let better = second.learnt.report.chosen.rms < first.learnt.report.chosen.rms;
        Ok(if better { second } else { first })
    }

    fn report(
        &self,
        learnt: &Learnt,
        surface: &'static str,
        parts: &Parts,
        bytes: &[u8],
        motions: Vec<Judged>,
        microseconds: f64,
        [harmonics_seconds, learn_seconds, judge_seconds, seconds]: [f64; 4],
    ) -> UpsampleReport {
        let coarse_points = parts.coarse.rest.len();
        let frames = learnt.report.frames;
        let mut remarks = Vec::new();
        if frames < coarse_points {
            remarks.push(format!(
                "{frames} frames were learnt from, fewer than the {coarse_points} coarse points: more motion teaches more"
            ));
        }
        let far = motions.iter().filter(|judged| !judged.learnt && judged.farthest > 1.0);
        for judged in far {
            remarks.push(format!(
                "`{}` leaves known ground: {:.0} % of its frames are farther from rest than any that was learnt, up to {:.2} times; folds fade there ({})",
                judged.motion,
                100.0 * judged.unknown,
                judged.farthest,
                judged.where_unknown()
            ));
        }
        let chosen = learnt.report.chosen;
        UpsampleReport {
            coarse_points,
            fine_points: parts.fine.rest.len(),
            frames,
            detail_m: chosen.detail,
            strength: chosen.strength,
            surface,
            rank: chosen.rank,
            held_out_mm: 1e3 * chosen.rms,
            waves_hz: parts.modes.iter().map(|mode| f64::from(mode.frequency_hz)).collect(),
            bytes: bytes.len(),
            microseconds,
            harmonics_seconds,
            learn_seconds,
            judge_seconds,
            seconds,
            motions,
            proposal: None,
            remarks,
        }
    }

    fn frame_rate(&self, motion: &TrainingMotion) -> Result<f64, Error> {
        let clip = open(&self.reader, &self.folder, &motion.input(), "learn");
        Ok(clip.map_or(clip::DEFAULT_FRAME_RATE_HZ, |clip| clip.frame_rate_hz))
    }

    /// Both halves of a motion, simulated as far as they are not there.
    fn pairs(
        &self,
        motion: &TrainingMotion,
        list: usize,
        bare: &Path,
        options: &Options,
        context: &Context<'_>,
    ) -> Result<Pairs, Error> {
        let (pairing, bake) = self.bake(motion, list, bare, options, context)?;
        self.paired(&pairing, &bake)
    }

    /// The fine half of a motion, simulated as far as it is not there.
    pub(crate) fn bake(
        &self,
        motion: &TrainingMotion,
        list: usize,
        bare: &Path,
        options: &Options,
        context: &Context<'_>,
    ) -> Result<(Pairing, Bake), Error> {
        let pairing = Pairing {
            operator: bare.strip_prefix(&self.folder).map_or_else(|_| absolute(bare), Path::to_owned).into(),
            material: self.file.material.clone(),
            fabric: self.file.fabric.clone(),
            tests: self.file.tests,
            substeps: self.file.substeps,
            settle: self.file.settle,
            wind: motion.wind,
            obstacles: motion.obstacles.clone(),
        };
        let shot = self.shot(motion, &pairing)?;
        let count = shot.open_input()?.frame_count();
        let last = if options.quick { count.min(QUICK[list]) } else { count }.saturating_sub(1);
        let baking = BakeOptions {
            out: Some(options.work.clone()),
            frames: Some(FrameRange { first: 0, last }),
            ..BakeOptions::default()
        };
        let baked = if options.relearn { shot.baked(&baking) } else { shot.bake(&baking, context) };
        let bake = baked.map_err(|error| match error {
            shot::Error::NotBaked { layer, have, need, folder } => {
                Error::NotSimulated { motion: layer, have, need, folder }
            }
            shot::Error::Cancelled { layer, done, of } => Error::Cancelled { motion: layer, done, of },
            other => other.into(),
        })?;
        Ok((pairing, bake))
    }

    /// The stored fine half with the coarse one, which takes less time to simulate than to read.
    pub(crate) fn paired(&self, pairing: &Pairing, bake: &Bake) -> Result<Pairs, Error> {
        let mesh = bake.layers.first().map_or(0, |layer| layer.mesh);
        let target = Target { clip: bake.whole_input.clone(), mesh, files: Files::default() };
        let prepare = |failure| shot::Error::Prepare { layer: "pairing".into(), failure, help: None };
        let handed = Handed::new(pairing, &self.cloth.parts, &target).map_err(prepare)?;
        let coarse = handed.with_motion(|motion| simulate_coarse(&self.cloth.parts, motion))?;
        let mut pairs = Pairs::default();
        for index in 0..bake.clip.frame_count() {
            pairs.coarse.push(coarse[index].iter().map(|p| p.as_vec3().to_array()).collect());
            pairs.fine.push(bake.clip.frame(index)?.points.swap_remove(mesh));
        }
        Ok(pairs)
    }

    /// A motion as a shot with one layer.
    fn shot(&self, motion: &TrainingMotion, pairing: &Pairing) -> Result<Shot, Error> {
        let mut layer = serde_json::to_value(pairing).unwrap_or_default();
        layer["kind"] = "pairing".into();
        layer["name"] = motion.take.title().into();
        layer["mesh"] = self.cloth.mesh.clone().into();
        let whole = json!({
            "input": motion.input(),
            "layer": [layer],
            "output": { "files": [], "report": false },
        });
        Ok(self.reader.parse(&motion.take.title(), &toml_of(whole), &self.folder)?)
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// TOML without what is not said.
fn toml_of(mut json: Json) -> String {
    fn strip(json: &mut Json) {
        match json {
            Json::Object(map) => {
                map.retain(|_, value| !value.is_null());
                map.values_mut().for_each(strip);
            }
            Json::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut json);
    toml::to_string(&json).unwrap_or_default()
}

/// Opens what an input names; what is wrong with it is about `path`.
pub(crate) fn open(reader: &Reader, folder: &Path, input: &Input, path: &str) -> Result<Clip, Diagnostic> {
    let key = match (&input.file, &input.sample) {
        (Some(_), None) => format!("{path}.file"),
        (None, Some(_)) => format!("{path}.sample"),
        (Some(_), Some(_)) => {
            return Err(Diagnostic::new(path, "there are both a `file` and a `sample`")
                .with_help("keep one of the two"));
        }
        (None, None) => {
            return Err(Diagnostic::new(path, "there is neither a `file` nor a `sample`"));
        }
    };
    let said = |error: shot::Error| match error {
        shot::Error::Invalid(Diagnostics(found)) => match found.into_iter().next() {
            Some(first) => {
                Diagnostic::new(key.clone(), first.message()).maybe_help(first.remedy().map(str::to_owned))
            }
            None => Diagnostic::new(key.clone(), "it cannot be opened"),
        },
        error @ shot::Error::NoSuchFrames { .. } => {
            Diagnostic::new(format!("{path}.frames"), error.to_string())
        }
        other => Diagnostic::new(key.clone(), other.to_string()),
    };
    let text = toml_of(json!({ "input": input }));
    reader.parse(path, &text, folder).and_then(|shot| shot.open_input()).map_err(said)
}

/// The mesh of this name; the first one with faces where none is said.
fn find_mesh(clip: &Clip, name: Option<&str>, path: &str) -> Result<usize, Diagnostic> {
    match name {
        Some(name) => clip.mesh_index(name).ok_or_else(|| {
            Diagnostic::unknown(path, "mesh", name, clip.meshes.iter().map(|mesh| mesh.name.as_str()))
        }),
        None => clip
            .meshes
            .iter()
            .position(|mesh| !mesh.faces.is_empty())
            .ok_or_else(|| Diagnostic::new(path, "there is no mesh with faces")),
    }
}

/// Whether a motion moves the cloth that is trained.
fn fits(cloth: &Cloth, motion: &TrainingMotion, clip: &Clip, path: &str) -> Result<(), Diagnostic> {
    let mesh = find_mesh(clip, Some(&cloth.mesh), path)?;
    let bare = cloth.parts.write().and_then(Operator::read);
    let operator = bare.map_err(|error| Diagnostic::new("coarse", error.to_string()))?;
    OperatorMesh::of(&operator, &clip.meshes[mesh]).map_err(|error| {
        Diagnostic::new(path, format!("mesh `{}` of this motion: {error}", cloth.mesh))
            .with_help("motions must move the same meshes as are trained")
    })?;
    Joints::of(clip, mesh, operator.joints(), path)?;
    let obstacles = motion.obstacles.iter().flat_map(RiggedCapsule::joint_names);
    Joints::of(clip, mesh, obstacles, &format!("{path}.obstacles"))?;
    motion.wind.velocity().map_err(|sentence| Diagnostic::new(format!("{path}.wind.direction"), sentence))?;
    Ok(())
}

/// Median time of showing a frame, µs.
fn microseconds(operator: &Operator<&[u8]>, pairs: &Pairs) -> Result<f64, Error> {
    let mut scratch = operator.scratch();
    let mut fine = vec![[0.0; 3]; operator.counts().fine];
    let mut times = Vec::new();
    for frame in 0..200 {
        let coarse = &pairs.coarse[frame % pairs.len()];
        let begun = Instant::now();
        operator.apply(coarse, Detail::default(), &mut scratch, &mut fine)?;
        times.push(1e6 * begun.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
