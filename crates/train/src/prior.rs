//! From a training file to a prior: takes are made to obey physics, forces learnt, the result judged on takes that were left out.

use std::path::Path;
use std::time::Instant;

use clip::Clip;
use motion::{Example, Learning, Prior, Take};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::{Context, Diagnostic, Event, Form, FrameRange, Input, Reader, Registry};

use crate::take::TakeSource;
use crate::training::open;
use crate::{Error, Options, Report, Trained};

/// Frames of each take that a quick training takes.
const QUICK: usize = 90;

/// How people move, for the layer `motion`: takes to learn from and takes to test on. The skeleton is the first one's; those of other people are
/// carried over to it by the names of their joints and their proportions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MotionTraining {
    /// What is trained.
    pub kind: MotionKind,
    /// Frames per second at which all takes are sampled.
    #[serde(default = "thirty")]
    #[schemars(extend("minimum" = 10.0, "maximum" = 240.0))]
    pub frame_rate: f64,
    /// Samples that stand for all others: more are nearer to all of them, and slower.
    #[serde(default = "three_hundred")]
    #[schemars(range(min = 10, max = 2000))]
    pub inducing: usize,
    /// Whether forces under the feet and joint torques are learnt apart, instead of what they come to together.
    #[serde(default)]
    pub apart: bool,
    /// Takes to learn from.
    #[schemars(length(min = 1))]
    pub learn: Vec<TakeSource>,
    /// Takes to test on; nothing is learnt from them.
    #[serde(default)]
    pub test: Vec<TakeSource>,
}

/// Which kind of training this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MotionKind {
    /// How people move.
    Motion,
}

fn thirty() -> f64 {
    30.0
}

fn three_hundred() -> usize {
    300
}

/// How the training of a prior went.
#[derive(Clone, Debug, Serialize)]
pub struct MotionReport {
    /// Frames that were learnt from.
    pub frames: usize,
    /// Joints that turn.
    pub joints: usize,
    /// Principal components of states.
    pub states: usize,
    /// Principal components of forces.
    pub forces: usize,
    /// Samples that stand for all.
    pub inducing: usize,
    /// Bytes of the file.
    pub bytes: usize,
    /// Making takes obey physics, s.
    pub smooth_seconds: f64,
    /// Learning, s.
    pub learn_seconds: f64,
    /// Every take.
    pub takes: Vec<JudgedTake>,
    /// What to know and what to do about it.
    pub remarks: Vec<String>,
}

/// How well forces of a take are foretold.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedTake {
    /// What it is called.
    pub take: String,
    /// Whether it was learnt from.
    pub learnt: bool,
    /// Frames.
    pub frames: usize,
    /// The error of forces over how much they vary: 0 is perfect, 1 knows nothing.
    pub error: f64,
}

/// A training file of a prior, read and checked.
pub(crate) struct Training {
    file: MotionTraining,
    learn: Vec<Take>,
    test: Vec<Take>,
    /// Titles of takes of other skeletons than the first's.
    carried: Vec<String>,
}

impl Training {
    pub(crate) fn read(
        name: &str,
        text: &str,
        folder: &Path,
        registry: &Registry,
        allow_outside: bool,
    ) -> Result<Self, Error> {
        let form = Form::<MotionTraining>::parse(name, text).map_err(shot::Error::from)?;
        let reader = Reader::new(registry.clone()).allow_outside(allow_outside);
        let file = form.value.clone();
        let (mut found, mut lists) = (Vec::new(), [Vec::new(), Vec::new()]);
        let (mut first, mut carried): (Option<(Clip, Take)>, _) = (None, Vec::new());
        for (k, (list, sources)) in [("learn", &file.learn), ("test", &file.test)].into_iter().enumerate() {
            for (index, source) in sources.iter().enumerate() {
                let path = format!("{list}[{index}]");
                match take(&reader, folder, source, file.frame_rate, &path, first.as_ref()) {
                    Ok(Opened { clip, take, is_carried }) => {
                        first.get_or_insert_with(|| (clip, take.clone()));
                        lists[k].push(take);
                        if is_carried {
                            carried.push(source.title());
                        }
                    }
                    Err(diagnostic) => found.push(diagnostic),
                }
            }
        }
        if !found.is_empty() {
            return Err(form.refused(found).into());
        }
        let [learn, test] = lists;
        Ok(Self { file, learn, test, carried })
    }

    /// Everything, on so many threads.
    pub(crate) fn run(&self, options: &Options, context: &Context<'_>) -> Result<Trained, Error> {
        shot::in_pool(options.threads, || self.train(options, context))
    }

    fn train(&self, options: &Options, context: &Context<'_>) -> Result<Trained, Error> {
        // nothing is written before the end
        context.progress.event(Event::Preparing { layer: "prior" });
        let cut = |take: &Take| {
            let mut take = take.clone();
            if options.quick {
                take.roots.truncate(QUICK);
                take.rotations.truncate(QUICK);
            }
            take
        };
        let takes: Vec<Take> = self.learn.iter().map(cut).collect();
        let tests: Vec<Take> = self.test.iter().map(cut).collect();
        let learning =
            Learning { inducing: self.file.inducing, apart: self.file.apart, ..Learning::default() };
        let begun = Instant::now();
        let build = Prior::build(&takes, &learning.build)?;
        let titles: Vec<String> =
            self.file.learn.iter().chain(&self.file.test).map(TakeSource::title).collect();
        let all: Vec<&Take> = takes.iter().chain(&tests).collect();
        let smooth = |(k, take): (usize, &&Take)| -> Result<Example, Error> {
            if context.is_cancelled() {
                return Err(Error::Cancelled { motion: titles[k].clone(), done: 0, of: take.frame_count() });
            }
            Example::of(take, &build).map_err(|error| Error::Take { take: titles[k].clone(), error })
        };
        let examples = all.par_iter().enumerate().map(smooth).collect::<Result<Vec<_>, _>>()?;
        let smooth_seconds = begun.elapsed().as_secs_f64();

        let begun = Instant::now();
        let prior = Prior::from_examples(&takes, &examples[..takes.len()], &learning)?;
        let learn_seconds = begun.elapsed().as_secs_f64();
        let judged = examples.iter().zip(&titles).enumerate().map(|(k, (example, title))| JudgedTake {
            take: title.clone(),
            learnt: k < takes.len(),
            frames: example.frame_count(),
            error: prior.error(example),
        });
        let judged: Vec<JudgedTake> = judged.collect();
        let bytes = prior.to_bytes();
        let mut report = report(&prior, &examples, judged, bytes.len(), [smooth_seconds, learn_seconds]);
        report.remarks.extend(self.carried.iter().map(|title| {
            format!(
                "`{title}` is of another skeleton: carried over to the first one's by names and proportions"
            )
        }));
        Ok(Trained { operator: bytes, report: Report::Motion(report) })
    }
}

fn report(
    prior: &Prior,
    examples: &[Example],
    takes: Vec<JudgedTake>,
    bytes: usize,
    [smooth_seconds, learn_seconds]: [f64; 2],
) -> MotionReport {
    let size = prior.size();
    let mut remarks = Vec::new();
    for (take, example) in takes.iter().zip(examples) {
        if !example.converged {
            remarks.push(format!(
                "`{}`: no motion near it obeys physics; its forces are the best there are",
                take.take
            ));
        }
        if !take.learnt && take.error > 0.7 {
            remarks.push(format!(
                "`{}` is very different from what was learnt: learn from something like it",
                take.take
            ));
        }
    }
    MotionReport {
        frames: size.frames,
        joints: size.balls,
        states: size.states,
        forces: size.forces,
        inducing: size.inducing,
        bytes,
        smooth_seconds,
        learn_seconds,
        takes,
        remarks,
    }
}

impl MotionReport {
    /// For people.
    pub fn text(&self) -> String {
        let mut lines = vec![format!(
            "{} frames of {} joints: {} components of states, {} of forces, {} samples for all; {:.2} MB; smoothed in {:.1} s, learnt in {:.1} s",
            self.frames,
            self.joints,
            self.states,
            self.forces,
            self.inducing,
            self.bytes as f64 / 1e6,
            self.smooth_seconds,
            self.learn_seconds
        )];
        let width = self.takes.iter().map(|take| take.take.chars().count()).max().unwrap_or(0).max(4);
        lines.push(format!("{:width$}          frames  error of forces", "take"));
        for take in &self.takes {
            let kind = if take.learnt { "learnt" } else { "unseen" };
            lines.push(format!("{:width$}  {kind}  {:6}  {:15.2}", take.take, take.frames, take.error));
        }
        lines.extend(self.remarks.iter().cloned());
        lines.join("\n")
    }
}

/// A source that was read.
struct Opened {
    clip: Clip,
    take: Take,
    /// Whether its skeleton is not the first's.
    is_carried: bool,
}

/// A source as a take of the same skeleton as the first, carried over to it where it is not.
fn take(
    reader: &Reader,
    folder: &Path,
    source: &TakeSource,
    frame_rate: f64,
    path: &str,
    first: Option<&(Clip, Take)>,
) -> Result<Opened, Diagnostic> {
    let rate = source.file.as_ref().map(|_| frame_rate);
    let clip = open(reader, folder, &Input { frame_rate: rate, ..source.input() }, path)?;
    // a sample comes at a rate of its own
    let clip = if (clip.frame_rate_hz - frame_rate).abs() > 1e-6 { clip.resampled(frame_rate) } else { clip };
    let about = |sentence: String| Diagnostic::new(path, sentence);
    let mut take = layers::take(&clip).map_err(|error| about(error.to_string()))?;
    let same = |first: &Take, take: &Take| {
        Prior::build(&[first.clone(), take.clone()], &Learning::default().build).map(|_| ())
    };
    let is_carried = first.is_some_and(|(_, first)| same(first, &take).is_err());
    if let (true, Some((character, _))) = (is_carried, first) {
        let help = "its joints are found by the parts in their names: `LeftArm`, `r_foot`, `Spine1`";
        let carried = layers::retargeted(character, &clip).and_then(|clip| layers::take(&clip));
        take = carried.map_err(|error| about(error.to_string()).with_help(help))?;
    }
    if let Some(FrameRange { first, last }) = source.frames {
        if last >= take.frame_count() {
            let sentence = format!("frames {first}-{last} were asked for, there are {}", take.frame_count());
            return Err(Diagnostic::new(format!("{path}.frames"), sentence));
        }
        take.roots = take.roots[first..=last].to_vec();
        take.rotations = take.rotations[first..=last].to_vec();
    }
    take.check().map_err(|error| about(error.to_string()))?;
    if let Some((_, first)) = first {
        same(first, &take)
            .map_err(|error| about(error.to_string()).with_help("a prior is of one skeleton"))?;
    }
    Ok(Opened { clip, take, is_carried })
}
