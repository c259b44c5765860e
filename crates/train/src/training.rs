//! From a training file to an operator: motions are baked, folds learnt, the result judged.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clip::{Clip, Files};
use geometry::Prolongation;
use layers::{Joints, OperatorMesh, RiggedCapsule};
use live::{Detail, Operator, Parts};
use serde::Serialize;
use serde_json::{Value as Json, json};
use shot::{
    Bake, BakeOptions, Context, Diagnostic, Diagnostics, Form, FrameRange, Input, Reader, Registry, Shot,
    Target,
};
use upsample::{
    Aligned, Harmonics, Learning, Learnt, Pairs, Penalty, Regression, learn, simulate_coarse,
    travelling_waves, weights,
};

use crate::cloth::{Cloth, Named, Problem};
use crate::file::{MeshSource, TrainingMotion, UpsampleTraining};
use crate::judge::{Judge, Judged};
use crate::pairs::{Handed, Pairing};
use crate::{Error, Options, Report, Trained, store};

/// Frames of each motion that a quick training takes: to learn from, and to test on.
const QUICK: [usize; 2] = [90, 30];
/// A wave that explains less of what remains is none.
const WAVE_THRESHOLD: f64 = 0.05;

/// How a training went and what it is worth.
#[derive(Clone, Debug, Serialize)]
pub struct UpsampleReport {
    /// Points that are simulated.
    pub coarse_points: usize,
    /// Points that are shown.
    pub fine_points: usize,
    /// Pairs that were learnt from.
    pub frames: usize,
    /// The finest fold, in m.
    pub detail_m: f64,
    /// How strongly folds are held back.
    pub strength: f64,
    /// The smooth surface that folds are added to.
    pub surface: &'static str,
    /// Columns of the operator's left factor.
    pub rank: usize,
    /// RMS distance on stretches that were left out, mm.
    pub held_out_mm: f64,
    /// Waves per second of what the wind does.
    pub waves_hz: Vec<f64>,
    /// Bytes of the operator file.
    pub bytes: usize,
    /// To show a frame, median, µs: on this machine, warm.
    pub microseconds: f64,
    /// Harmonics, s; next to nothing when they were kept.
    pub harmonics_seconds: f64,
    /// Learning, s.
    pub learn_seconds: f64,
    /// Judging, s.
    pub judge_seconds: f64,
    /// Everything, s: simulating or reading pairs, harmonics, learning and judging.
    pub seconds: f64,
    /// Every motion.
    pub motions: Vec<Judged>,
    /// What to know and what to do about it.
    pub remarks: Vec<String>,
}

/// What was learnt, and over which surface.
struct Over<'a> {
    learnt: Learnt,
    surface: &'static str,
    base: &'a Prolongation,
}

/// A training file, read and checked.
pub(crate) struct Training {
    file: UpsampleTraining,
    folder: PathBuf,
    reader: Reader,
    cloth: Cloth,
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
            let coarse = named(&file.coarse, "coarse", None).map_err(Problem::At)?;
            let like = coarse.clip.meshes[coarse.mesh].name.clone();
            let fine = file.fine.as_ref().map(|fine| named(fine, "fine", Some(&like))).transpose();
            Cloth::new(&file, &coarse, fine.map_err(Problem::At)?.as_ref(), &files)
        })();
        let cloth = cloth.map_err(|problem| match problem {
            Problem::At(diagnostic) => refuse(vec![diagnostic]),
            Problem::Other(error) => error,
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
        std::fs::create_dir_all(work).map_err(shot::Error::io(work))?;
        let bare = work.join("cloth.ftop");
        let bytes = self.cloth.parts.write()?;
        if std::fs::read(&bare).ok().as_ref() != Some(&bytes) {
            shot::write_whole(&bare, &bytes)?;
        }
        let mut pairs = [Vec::new(), Vec::new()];
        for (k, motions) in [&self.file.learn, &self.file.test].into_iter().enumerate() {
            for motion in motions {
                pairs[k].push((motion, self.pairs(motion, k, &bare, options, context)?));
            }
        }
        let [training, tests] = pairs;
        let begun = Instant::now();
        let fine = &self.cloth.parts.fine;
        let count = self.file.harmonics.max(self.file.tests).min(fine.rest.len());
        let harmonics = store::harmonics(work, fine, count)?;
        let harmonics_seconds = begun.elapsed().as_secs_f64();

        let begun = Instant::now();
        let mut all = Pairs::default();
        for (_, pairs) in &training {
            all.coarse.extend_from_slice(&pairs.coarse);
            all.fine.extend_from_slice(&pairs.fine);
        }
        let tests_held = self.file.tests.min(fine.rest.len());
        let Over { learnt, surface, base } = self.learn(&all, &harmonics, tests_held)?;
        let moments = &learnt.moments;
        let least = Regression::new(moments)?.solve(moments, &Penalty::None.gammas(&harmonics));
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
            harmonics: &harmonics,
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
        let mut motions = Vec::new();
        for (list, learnt) in [(&training, true), (&tests, false)] {
            for (motion, pairs) in list {
                let known = (learnt && training.len() == 1).then_some(moments);
                motions.push(judge.judge(&motion.take.title(), learnt, pairs, known)?);
            }
        }
        let microseconds = microseconds(&Operator::read(&bytes[..])?, &all)?;
        let judge_seconds = begun.elapsed().as_secs_f64();
        let seconds = [harmonics_seconds, learn_seconds, judge_seconds, started.elapsed().as_secs_f64()];
        let report = self.report(&learnt, surface, &parts, &bytes, motions, microseconds, seconds);
        let text = serde_json::to_vec_pretty(&report).unwrap_or_default();
        shot::write_whole(&work.join("report.json"), &text)?;
        Ok(Trained { operator: bytes, report: Report::Upsample(report) })
    }

    /// Learns over Loop's surface and over the bicubic one; what does better on stretches that were left out is kept.
    fn learn(&self, all: &Pairs, harmonics: &Harmonics, tests: usize) -> Result<Over<'_>, Error> {
        let aligned = Aligned { correspondence: &self.cloth.barycentric, tests };
        let learning = Learning {
            detail: self.file.detail,
            exponent: self.file.exponent,
            strength: self.file.strength,
            rank: self.file.rank,
            ..Learning::default()
        };
        let over = |surface, base| -> Result<Over<'_>, Error> {
            let learnt = learn(all, base, harmonics, Some(aligned), &learning)?;
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
                "`{}` leaves known ground: {:.0} % of its frames are farther from rest than any that was learnt, up to {:.2} times; folds fade there",
                judged.motion,
                100.0 * judged.unknown,
                judged.farthest
            ));
        }
        let worst = motions.iter().filter(|judged| !judged.learnt && judged.ratio > 0.95);
        if let Some(judged) = worst.max_by(|a, b| a.ratio.total_cmp(&b.ratio)) {
            remarks.push(format!(
                "learning from something like `{}` would help the most: there it is at {:.2} of what needs no learning",
                judged.motion, judged.ratio
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
        self.paired(&pairing, &bake)
    }

    /// The stored fine half with the coarse one, which takes less time to simulate than to read.
    fn paired(&self, pairing: &Pairing, bake: &Bake) -> Result<Pairs, Error> {
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

impl UpsampleReport {
    /// For people.
    pub fn text(&self) -> String {
        let mut lines = vec![format!(
            "{} → {} points, learnt from {} frames: {} folds down to {:.0} mm, {:.2} MB, {:.0} µs a frame",
            self.coarse_points,
            self.fine_points,
            self.frames,
            self.rank,
            1e3 * self.detail_m,
            self.bytes as f64 / 1e6,
            self.microseconds
        )];
        let width = self.motions.iter().map(|judged| judged.motion.chars().count()).max().unwrap_or(0).max(6);
        lines.push(format!(
            "{:width$}          frames  RMS mm: ours  Loop  flat  bicubic  no penalty   of best  normals °: ours  Loop  flat  bicubic  folds' energy",
            "motion"
        ));
        for m in &self.motions {
            lines.push(format!(
                "{:width$}  {}  {:6}  {:12.2}  {:4.1}  {:4.1}  {:7.1}  {:10.2}   {:7.2}  {:15.1}  {:4.1}  {:4.1}  {:7.1}  {:13.2}",
                m.motion,
                if m.learnt { "learnt" } else { "unseen" },
                m.frames,
                m.ours.rms_mm,
                m.subdivision.rms_mm,
                m.barycentric.rms_mm,
                m.bicubic.rms_mm,
                m.least_squares_mm,
                m.ratio,
                m.ours.normal_deg,
                m.subdivision.normal_deg,
                m.barycentric.normal_deg,
                m.bicubic.normal_deg,
                m.ours.band_energy
            ));
        }
        lines.push(format!(
            "folds over the {} surface; {:.1} s, of which {:.1} harmonics, {:.1} learning, {:.1} judging",
            self.surface, self.seconds, self.harmonics_seconds, self.learn_seconds, self.judge_seconds
        ));
        lines.extend(self.waves_hz.iter().map(|hz| format!("a wave of {hz:.2} Hz")));
        lines.extend(self.remarks.iter().cloned());
        lines.join("\n")
    }
}
