//! `bake`: a shot file in, files and a report out.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use film::ClipsBake;
use serde_json::{Value, json};
use shot::{Bake, BakeOptions, Context, FrameRange, Reader, Shot};

use crate::console::Console;
use crate::error::{self, CliError};
use crate::interrupt;
use crate::source::Trust;

/// Bake a shot file: add its physics, write its files and a report
///
/// Frames that were baked before and have not changed are not baked again; an interrupted bake goes on where it stopped.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The shot file
    #[arg(value_name = "SHOT.toml")]
    shot: PathBuf,
    /// The folder for files, report and bake [default: what the shot says, or a folder beside it with its name]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Every animation of the file (`all`), or those whose names fit, with `*` for anything and commas between: each baked by itself, together in one .glb
    #[arg(long, value_name = "NAMES")]
    clips: Option<String>,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// What `bake` and `demo` share.
#[derive(Args)]
pub(crate) struct Options {
    /// Set a value over the file's, as in `layer.flag.material=silk` or `layer[0].strength=0.5`; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Only these frames, first and last counted from 0, as in 0-48
    #[arg(long, value_name = "A-B")]
    frames: Option<FrameRange>,
    /// Threads to use; the result does not depend on it [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Forget earlier bakes of these layers and begin anew
    #[arg(long)]
    fresh: bool,
    /// Draw films by rays: softer light, some five times slower; the same as `--set output.film.beauty=true`
    #[arg(long)]
    beauty: bool,
    /// End with exit code 5 where a layer's physics was off in more than a tenth of the frames; everything is written all the same
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    trust: Trust,
    /// Tell how far it is with a line of JSON on stderr for every frame, for programs that show it their own way
    #[arg(long)]
    progress_json: bool,
    /// Answer with one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let mut reader = self.options.reader();
        if let Some(clips) = &self.clips {
            reader = reader.set(format!("input.clips={}", clip_list(clips)));
        }
        let shot = reader.read(&self.shot).map_err(|error| match CliError::from(error) {
            CliError::Said { code: error::INPUT, message, help } if !self.shot.exists() => {
                let write_one = format!("`followthrough new {}` writes one", self.shot.display());
                let help = help.filter(|help| help.starts_with("did you mean")).unwrap_or(write_one);
                CliError::input(message).with_help(help)
            }
            other => other,
        })?;
        let begun = Instant::now();
        for warning in &shot.warnings {
            console.remark(&format!("warning: {}", placed(warning)));
        }
        if shot.input.clips.is_some() {
            return self.bake_clips(&shot, begun, console);
        }
        let bake = self.options.bake(&shot, self.out.clone(), console)?;
        self.options.judge(&bake, console)?;
        if self.options.json {
            return console.answer_json(&answer(&shot, &bake, begun.elapsed().as_secs_f64()));
        }
        match console.is_quiet() {
            true => Ok(()),
            false => console.answer(summary(&bake)),
        }
    }
}

impl Arguments {
    /// Bakes every clip that the shot asks for.
    fn bake_clips(&self, shot: &Shot, begun: Instant, console: &Console) -> Result<(), CliError> {
        let act = |options: &BakeOptions, context: &Context<'_>| film::bake_clips(shot, options, context);
        let ClipsBake { bakes, files, notes, out } =
            self.options.watched(shot, self.out.clone(), console, act)?;
        for bake in &bakes {
            if !self.options.json && !bake.warnings().is_empty() {
                console.remark(&format!("clip `{}`:", bake.clip.name));
            }
            self.options.judge(bake, console)?;
        }
        let seconds = begun.elapsed().as_secs_f64();
        if self.options.json {
            let clips: Vec<Value> = bakes
                .iter()
                .map(|bake| {
                    let mut answer = answer(shot, bake, seconds);
                    answer["clip"] = json!(bake.clip.name);
                    answer
                })
                .collect();
            return console.answer_json(&json!({
                "ok": true, "shot": shot.name, "out": out, "clips": clips, "files": files, "notes": notes, "seconds": seconds,
            }));
        }
        notes.iter().for_each(|note| console.remark(&format!("warning: {note}")));
        if console.is_quiet() {
            return Ok(());
        }
        let mut lines: Vec<String> =
            files.iter().map(|file| line(file, &format!("animation: {} clips", bakes.len()))).collect();
        for bake in &bakes {
            lines.push(format!("clip {}: {} frames", bake.clip.name, bake.clip.frame_count()));
            lines.push(summary(bake));
        }
        console.answer(lines.iter().filter(|line| !line.is_empty()).cloned().collect::<Vec<_>>().join("\n"))
    }
}

/// What was written behind `--clips` as a value of the shot file.
fn clip_list(names: &str) -> String {
    match names.contains(',') {
        true => json!(names.split(',').map(str::trim).collect::<Vec<_>>()).to_string(),
        false => json!(names).to_string(),
    }
}

impl Options {
    /// Reads shots with the values given with `--set`.
    pub(crate) fn reader(&self) -> Reader {
        let beauty = self.beauty.then_some("output.film.beauty=true");
        self.trust.reader(beauty.into_iter().chain(self.set.iter().map(String::as_str)))
    }

    /// How many threads were asked for.
    pub(crate) fn threads(&self) -> Option<usize> {
        self.threads.map(usize::from)
    }

    /// Says what a bake has to tell, the worst first; an error where that is too bad to go on with.
    pub(crate) fn judge(&self, bake: &Bake, console: &Console) -> Result<(), CliError> {
        let told = bake.warnings();
        let (prominent, others): (Vec<_>, Vec<_>) = told.iter().partition(|warning| warning.is_prominent);
        if !self.json {
            for warning in &prominent {
                console.remark(&format!("WARNING: layer `{}`: {}", warning.layer, warning.text));
            }
            for text in &bake.whole_input.warnings {
                console.remark(&format!("warning: input: {text}"));
            }
            for note in &bake.notes {
                console.remark(&format!("warning: {note}"));
            }
            for warning in others {
                let (layer, when, text) = (&warning.layer, warning.when(), &warning.text);
                console.remark(&format!("warning: layer `{layer}`, {when}: {text}"));
            }
        }
        match prominent.first() {
            Some(worst) if self.strict => Err(CliError::strict(&worst.layer, &worst.text)),
            _ => Ok(()),
        }
    }

    /// Bakes with progress, and so that Ctrl-C ends it after the frame at hand.
    pub(crate) fn bake(
        &self,
        shot: &Shot,
        out: Option<PathBuf>,
        console: &Console,
    ) -> Result<Bake, CliError> {
        self.watched(shot, out, console, |options, context| film::bake(shot, options, context))
    }

    /// The same for whatever bakes.
    fn watched<T>(
        &self,
        shot: &Shot,
        out: Option<PathBuf>,
        console: &Console,
        act: impl FnOnce(&BakeOptions, &Context<'_>) -> Result<T, film::Error>,
    ) -> Result<T, CliError> {
        let folder = out.clone().unwrap_or_else(|| shot.default_out());
        let options = BakeOptions {
            out,
            frames: self.frames,
            fresh: self.fresh,
            threads: self.threads.map(usize::from),
            ..BakeOptions::default()
        };
        let listener = if self.progress_json { console.progress_lines() } else { console.progress() };
        interrupt::answers_json(self.json);
        interrupt::at_once(true);
        let result = act(&options, &Context { progress: &*listener, cancel: interrupt::flag() });
        interrupt::at_once(false);
        listener.finish();
        result.map_err(|error| explained(error, &folder))
    }
}

/// What the library says, with what only this command knows: how to resume, and that the output is at fault.
fn explained(error: film::Error, out: &Path) -> CliError {
    let is_output = |path: &Path| path.starts_with(out) || out.starts_with(path);
    match error {
        film::Error::Shot(shot::Error::Cancelled { .. }) | film::Error::Cancelled { .. } => {
            let help = format!("nothing is lost; go on from here with\n{}", interrupt::same_command());
            CliError::stopped(error.to_string()).with_help(help)
        }
        film::Error::Shot(shot::Error::Io { path, source, .. }) if is_output(&path) => {
            CliError::output(&path, &source)
        }
        film::Error::Clip(clip::Error::Io { path, source })
        | film::Error::Shot(shot::Error::Clip(clip::Error::Io { path, source }))
            if is_output(&path) =>
        {
            CliError::output(&path, &source)
        }
        other => other.into(),
    }
}

/// What is unusual in a shot file, with its line.
pub(crate) fn placed(warning: &shot::Diagnostic) -> String {
    format!("{}:{}: {}", warning.file(), warning.line(), warning.message())
}

/// What came out, for people: what to look at first stands first.
pub(crate) fn summary(bake: &Bake) -> String {
    let mut lines = Vec::new();
    let ending =
        |path: &Path| path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let what = |path: &Path| match ending(path).as_str() {
        "webp" => "film",
        "png" | "exr" => "pictures",
        "glb" => "animation (open it in a glTF viewer or in Blender)",
        "obj" => "mesh",
        "pc2" | "mdd" => "point cache",
        "bvh" => "skeleton motion",
        _ => "",
    };
    let mut files: Vec<&Path> = bake.files.iter().map(PathBuf::as_path).collect();
    files.sort_by_key(|path| match ending(path).as_str() {
        "webp" => 0,
        "png" => 1,
        "glb" => 3,
        _ => 4,
    });
    let mut report = bake.report.as_deref();
    let mut kinds: Vec<String> = Vec::new();
    for path in files {
        if !matches!(ending(path).as_str(), "webp" | "png")
            && let Some(report) = report.take()
        {
            lines.push(line(report, "report: pictures, plots, settings"));
        }
        // of a sequence, one file per frame, the first few
        let kind = ending(path);
        let before = kinds.iter().filter(|other| **other == kind).count();
        kinds.push(kind.clone());
        if before == 3 {
            lines.push(format!("  … {} in all", bake.files.iter().filter(|f| ending(f) == kind).count()));
        }
        if before >= 3 {
            continue;
        }
        lines.push(line(path, what(path)));
    }
    lines.extend(report.map(|report| line(report, "report: pictures, plots, settings")));
    lines.join("\n")
}

fn line(path: &Path, what: &str) -> String {
    format!("  {}  {what}", path.display()).trim_end().to_owned()
}

/// What came out, for machines.
pub(crate) fn answer(shot: &Shot, bake: &Bake, seconds: f64) -> Value {
    let layers: Vec<Value> = bake
        .layers
        .iter()
        .map(|layer| {
            let warnings: Vec<Value> =
                layer.warnings.iter().map(|(frame, text)| json!({ "frame": frame, "text": text })).collect();
            json!({
                "name": layer.name,
                "kind": layer.kind,
                "mesh": bake.clip.meshes.get(layer.mesh).map(|mesh| &mesh.name),
                "key": layer.key.to_string(),
                "baked": layer.baked,
                "reused": layer.reused,
                "prepare_seconds": layer.prepare_seconds,
                "warnings": warnings,
            })
        })
        .collect();
    json!({
        "ok": true,
        "prominent": bake.prominent_json(),
        "shot": shot.name,
        "out": bake.out,
        "frames": { "first": bake.frames.first, "last": bake.frames.last },
        "frame_rate_hz": bake.clip.frame_rate_hz,
        "unusual": shot.warnings.iter().map(placed).collect::<Vec<_>>(),
        "loop": bake.looped.as_ref().map(shot::LoopReport::json),
        "layers": layers,
        "files": bake.files,
        "notes": bake.notes,
        "report": bake.report,
        "report_json": bake.report.as_ref().map(|report| report.with_extension("json")),
        "seconds": seconds,
    })
}
