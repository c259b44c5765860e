//! One random shot: baked for three frames, its time against the work that it asks for.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use shot::{Bake, BakeOptions, Context, Event, FrameRange, LayerEntry, Shot};

/// Frames of every shot.
pub(super) const FRAMES: usize = 3;

/// How a shot went.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// It was baked.
    Baked,
    /// It was refused, or stopped, with a sentence.
    Refused(String),
    /// It was refused at its first frame, or before, though `check` had nothing to say.
    Unready(String),
    /// It was not done in time.
    TimedOut,
    /// It panicked.
    Panicked(String),
}

/// How a shot went, and what it took.
pub(super) struct Trial {
    pub(super) outcome: Outcome,
    /// Of the processor, so that a busy machine makes no shot slower.
    pub(super) seconds: f64,
    /// Points × steps × frames.
    pub(super) work: f64,
}

/// Seconds that this process has worked since some moment.
struct Stopwatch {
    begun: Instant,
    worked: Option<f64>,
}

impl Stopwatch {
    fn start() -> Self {
        Self { begun: Instant::now(), worked: Self::worked() }
    }

    /// Processor time of all threads, also of those that have ended; where the system tells.
    fn worked() -> Option<f64> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // the name, in brackets, may hold anything
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<f64>().ok();
        Some((ticks()? + ticks()?) / 100.0)
    }

    fn seconds(&self) -> f64 {
        match (self.worked, Self::worked()) {
            (Some(before), Some(now)) => now - before,
            _ => self.wall(),
        }
    }

    fn wall(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }
}

/// How many times as long as it may work a shot may take by the clock, and how many seconds more: others may be at work, too.
const BUSY: [f64; 2] = [10.0, 20.0];

/// Bakes a shot in a folder, for `limit` seconds of the processor at most.
pub(super) fn bake(shot: &Shot, folder: &Path, limit: f64) -> Trial {
    let (cancel, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let watch = Stopwatch::start();
    let is_late = || watch.seconds() > limit || watch.wall() > BUSY[0] * limit + BUSY[1];
    let frames = Some(FrameRange { first: 0, last: FRAMES - 1 });
    let options = BakeOptions { out: Some(folder.to_owned()), frames, fresh: true, ..Default::default() };
    let silent = |_: Event<'_>| {};
    let context = Context { progress: &silent, cancel: &cancel };
    let result = std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                if is_late() {
                    cancel.store(true, Ordering::Relaxed);
                }
                std::thread::park_timeout(Duration::from_millis(50));
            }
        });
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| shot.bake(&options, &context)));
        done.store(true, Ordering::Release);
        watcher.thread().unpark();
        result
    });
    let seconds = watch.seconds();
    let (outcome, bake) = match result {
        Ok(Ok(bake)) => (Outcome::Baked, Some(bake)),
        Ok(Err(shot::Error::Cancelled { .. })) => (Outcome::TimedOut, None),
        Ok(Err(error @ (shot::Error::Prepare { .. } | shot::Error::Frame { frame: 0, .. })))
            if shot.check().is_empty() =>
        {
            (Outcome::Unready(error.to_string()), None)
        }
        Ok(Err(error)) => (Outcome::Refused(error.to_string()), None),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            (Outcome::Panicked(text.unwrap_or_default()), None)
        }
    };
    // what ran past its limit without looking at the flag is late, too
    let outcome =
        if seconds > limit + 1.0 && outcome == Outcome::Baked { Outcome::TimedOut } else { outcome };
    Trial { outcome, seconds, work: work(shot, bake.as_ref()) }
}

/// What a shot asks for: points × steps × frames, pre-roll included, summed over its layers.
pub(super) fn work(shot: &Shot, bake: Option<&Bake>) -> f64 {
    let points = shot.open_input().map_or(1000, |clip| clip.meshes.iter().map(clip::Mesh::point_count).sum());
    let active = shot.layers.iter().filter(|layer| layer.is_active());
    active.map(|layer| work_of(layer, points as f64, bake)).sum::<f64>().max(1.0)
}

fn work_of(layer: &LayerEntry, points: f64, bake: Option<&Bake>) -> f64 {
    let settings = &layer.settings;
    let dial = |key: &str| settings.get(key).and_then(Json::as_f64);
    let start = settings.get("start").map_or(0.0, |start| start["seconds"].as_f64().unwrap_or(1.5));
    let frames = FRAMES as f64 + 24.0 * (dial("pre_roll").unwrap_or(0.0) + start);
    // third order: an eighth of the permitted error takes twice the steps
    let steps =
        dial("substeps").unwrap_or_else(|| (1e-3 / dial("tolerance").unwrap_or(1e-3)).cbrt().max(1.0));
    match layer.kind {
        "smoke" => {
            let grid = settings["grid"].as_array().into_iter().flatten().filter_map(Json::as_f64);
            let taken = bake.and_then(|bake| bake.layers.iter().find(|own| own.name == layer.name));
            let taken = taken.map_or(frames * dial("max_steps").unwrap_or(1.0), |own| {
                own.figures.iter().filter_map(|figures| figures.get("steps")).sum()
            });
            grid.product::<f64>() * taken
        }
        "enrich" => (points + dial("tets").unwrap_or(0.0)) * steps * frames,
        "tracks" => points * 4_f64.powf(dial("subdivide").unwrap_or(0.0)) * steps * frames,
        "skeleton" => {
            let steps = dial("steps_per_second").unwrap_or(24.0) / 24.0;
            (points + 8.0 * dial("cells").unwrap_or(0.0)) * steps * frames
        }
        _ => (points + dial("tets").unwrap_or(0.0)) * steps * frames,
    }
}

/// The most memory that this process has held, in MB; where the system tells.
pub(super) fn peak_megabytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}
