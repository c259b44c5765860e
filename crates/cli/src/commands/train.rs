//! `train`: a training file in; out comes an operator for a game, or a prior for the layer `motion`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::json;
use shot::Context;
use train::{Options, Trained};

use crate::console::Console;
use crate::error::CliError;
use crate::interrupt;
use crate::source::Trust;

/// Learn from simulations: an operator that shows fine cloth over a coarse one in a game; or from takes: a prior of how people move
///
/// Motions of cloth that were simulated before and have not changed are not simulated again; an interrupted training goes on where it stopped.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The training file
    #[arg(value_name = "TRAINING.toml")]
    training: PathBuf,
    /// The operator, or the prior, to write
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Take a part of every motion only: something that moves, soon
    #[arg(long)]
    quick: bool,
    /// Only learn again, from what was simulated before
    #[arg(long)]
    relearn: bool,
    /// Threads to use; the result does not depend on it [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    trust: Trust,
    /// Answer with one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let begun = Instant::now();
        let text = std::fs::read_to_string(&self.training).map_err(shot::Error::io(&self.training))?;
        let folder = self.training.parent().unwrap_or(Path::new(""));
        let job = Job {
            folder,
            quick: self.quick,
            relearn: self.relearn,
            threads: self.threads.map(usize::from),
            allow_outside: self.trust.allows_outside(),
            ..Job::new(&self.out)
        };
        let trained = job.run(&self.training.to_string_lossy(), &text, console)?;
        let seconds = begun.elapsed().as_secs_f64();
        if self.json {
            return console.answer_json(&json!({
                "ok": true,
                "operator": self.out,
                "work": job.work(),
                "seconds": seconds,
                "report": trained.report,
            }));
        }
        if console.is_quiet() {
            return Ok(());
        }
        console.answer(format!("{}\nwrote {} in {seconds:.1} s", trained.report.text(), self.out.display()))
    }
}

/// A training on its way to a file.
pub(crate) struct Job<'a> {
    /// Where the operator goes.
    out: &'a Path,
    /// Relative paths of the training file start here.
    folder: &'a Path,
    quick: bool,
    relearn: bool,
    pub(crate) threads: Option<usize>,
    allow_outside: bool,
}

impl<'a> Job<'a> {
    /// The whole of it, from the current folder.
    pub(crate) fn new(out: &'a Path) -> Self {
        let folder = Path::new("");
        Self { out, folder, quick: false, relearn: false, threads: None, allow_outside: false }
    }

    /// Pairs, harmonics and report, beside the operator.
    fn work(&self) -> PathBuf {
        self.out.with_extension("training")
    }

    /// Trains with progress, so that Ctrl-C ends it at once or in the frame at hand, and writes the operator.
    pub(crate) fn run(&self, name: &str, text: &str, console: &Console) -> Result<Trained, CliError> {
        let options = Options {
            work: self.work(),
            quick: self.quick,
            relearn: self.relearn,
            threads: self.threads,
            allow_outside: self.allow_outside,
        };
        let listener = console.progress();
        let context = Context { progress: &*listener, cancel: interrupt::flag() };
        interrupt::at_once(true);
        let trained = train::train(name, text, self.folder, &followthrough::registry(), &options, &context);
        interrupt::at_once(false);
        listener.finish();
        let trained = trained.map_err(|error| match error {
            train::Error::Cancelled { .. } => {
                let help = format!("nothing is lost; go on from here with\n{}", interrupt::same_command());
                CliError::from(error).with_help(help)
            }
            other => other.into(),
        })?;
        shot::write_whole(self.out, &trained.operator).map_err(|error| match error {
            shot::Error::Io { path, source, .. } => CliError::output(&path, &source),
            other => other.into(),
        })?;
        Ok(trained)
    }
}
