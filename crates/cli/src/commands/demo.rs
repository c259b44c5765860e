//! `demo`: a shot that comes with the program, baked without any files.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::json;

use super::bake;
use super::train::Job;
use crate::console::Console;
use crate::demos::{self, Demo};
use crate::error::CliError;
use crate::interrupt;

/// Bake a shot that comes with followthrough; no files are needed
#[derive(Args)]
pub(crate) struct Arguments {
    /// Which one
    #[arg(default_value = "flag")]
    name: String,
    /// List the demos
    #[arg(long)]
    list: bool,
    /// The folder for everything that comes out [default: followthrough-demo/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) bake: bake::Options,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        if self.list {
            return self.list(console);
        }
        let demo = demos::by_name(&self.name)?;
        let out = self.out.clone().unwrap_or_else(|| Path::new("followthrough-demo").join(demo.name));
        let begun = Instant::now();
        let mut folder = Path::new("");
        console.remark(&format!("{}: {}", demo.name, demo.summary()));
        if let Some(training) = demo.training {
            std::fs::create_dir_all(&out).map_err(|error| CliError::output(&out, &error))?;
            let operator = out.join(demo.trained_name());
            let mut job = Job::new(&operator);
            job.threads = self.bake.threads();
            let trained = job.run(&demo.training_name(), training, console)?;
            console.remark(&trained.report.text());
            folder = &out;
        }
        let shot = self.bake.reader().parse(&format!("{}.toml", demo.name), demo.text, folder)?;
        let baked = self.bake.bake(&shot, Some(out.clone()), console)?;
        let seconds = begun.elapsed().as_secs_f64();
        self.bake.judge(&baked, console)?;
        if self.bake.json {
            return console.answer_json(&bake::answer(&shot, &baked, seconds));
        }
        if console.is_quiet() {
            return Ok(());
        }
        let (name, program) = (demo.name, interrupt::program());
        console.answer(format!(
            "\nDone in {seconds:.1} s. Look at:\n{}\n\n\
             Make it yours:\n  {program} new {name}.toml --from {name}\n  {program} bake {name}.toml",
            bake::summary(&baked)
        ))
    }

    fn list(&self, console: &Console) -> Result<(), CliError> {
        if self.bake.json {
            let list: Vec<_> = demos::ALL
                .iter()
                .map(|demo| json!({ "name": demo.name, "summary": demo.summary() }))
                .collect();
            return console.answer_json(&json!({ "demos": list }));
        }
        let width = demos::ALL.iter().map(|demo| demo.name.len()).max().unwrap_or(0);
        let line = |demo: &Demo| format!("{:width$}  {}", demo.name, demo.summary());
        console.answer(demos::ALL.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}
