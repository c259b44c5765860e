//! `wedge`: one shot, many values, baked here or by someone else's engine.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use shot::{Context, FrameRange, Reader};
use wedge::{Choice, Plan, Slurm, State, Vary};

use crate::console::Console;
use crate::error::CliError;
use crate::interrupt;
use crate::source::Trust;

/// Bake a shot many times with other values, and show the tries side by side
///
/// The plan is a folder with a shot for every try. What the tries have in common is baked once. A try that is stopped or killed goes on from
/// its last frame when the same command is given again.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The shot file; or the folder of a wedge, to go on with it
    #[arg(value_name = "SHOT.toml | DIR")]
    shot: PathBuf,
    /// A setting and its values: a list `layer.flag.material=silk,denim`, a range with a count `layer.flag.wind.speed=2..8:4`; with --random also
    /// `KEY=A..B`, or `KEY` for what is usual; repeatable
    #[arg(long, value_name = "KEY=VALUES")]
    vary: Vec<String>,
    /// Take the first values of all settings together, then the second ones, instead of all combinations
    #[arg(long, conflicts_with = "random")]
    zip: bool,
    /// So many tries with values drawn at random
    #[arg(long, value_name = "N")]
    random: Option<usize>,
    /// Equal seeds draw equal values
    #[arg(long, value_name = "S", default_value_t = 0, requires = "random")]
    seed: u64,
    /// The folder for the plan and all tries [default: the shot's name and `-wedge`]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Who bakes: this process, one try after the other, or Slurm, as one array
    #[arg(long, value_enum, default_value_t = Engine::Local)]
    on: Engine,
    /// Only these frames, first and last counted from 0, as in 0-48
    #[arg(long, value_name = "A-B")]
    frames: Option<FrameRange>,
    /// Threads of a try; the result does not depend on it [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    slurm: SlurmArguments,
    /// Say where the tries stand, and write the page of those that are done
    #[arg(long, conflicts_with_all = ["cancel", "retry", "vary"])]
    status: bool,
    /// Take back what was given to Slurm; what is baked stays
    #[arg(long, conflicts_with_all = ["retry", "vary"])]
    cancel: bool,
    /// Bake failed and stopped tries again
    #[arg(long, conflicts_with = "vary")]
    retry: bool,
    /// For engines: bake this try and no other
    #[arg(long, value_name = "N", hide = true)]
    task: Option<usize>,
    /// For engines: bake what all tries share
    #[arg(long, hide = true)]
    common: bool,
    /// For engines: write the page
    #[arg(long, hide = true)]
    page: bool,
    #[command(flatten)]
    trust: Trust,
    /// Answer with one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is passed on to Slurm.
#[derive(Args)]
#[command(next_help_heading = "With --on slurm")]
struct SlurmArguments {
    /// The partition to run in
    #[arg(long, value_name = "NAME")]
    partition: Option<String>,
    /// Memory of a try, as in 8G
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// The longest that a try may take, as in 04:00:00; it is stopped before, and --retry goes on
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// Who pays
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// How many tries at most run at once
    #[arg(long, value_name = "K")]
    at_once: Option<usize>,
}

/// Who bakes the tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// This process, one after the other
    Local,
    /// Slurm, as one array
    Slurm,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let reader = followthrough::reader();
        let (mut plan, out) = match self.shot.is_dir() {
            true if !self.vary.is_empty() => {
                let message = format!("{} is a folder, and --vary is for a shot file", self.shot.display());
                return Err(CliError::usage(message).with_help("name the shot, and the folder with --out"));
            }
            true => (Plan::load(&self.shot)?, self.shot.clone()),
            false => self.plan(&reader)?,
        };
        let threads = self.threads.map(usize::from).or_else(threads_of_slurm);
        if self.common {
            return self
                .baking(console, |context| plan.bake_common(&reader, &out, threads, context))
                .map(drop);
        }
        if let Some(index) = self.task {
            let state =
                self.baking(console, |context| plan.bake_try(&reader, &out, index, threads, context))?;
            return match state {
                State::Failed { error, help } => {
                    let said = CliError::input(error);
                    Err(match help {
                        Some(help) => said.with_help(help),
                        None => said,
                    })
                }
                _ => Ok(()),
            };
        }
        if self.cancel {
            plan.slurm.clone().unwrap_or_default().cancel()?;
            return self.answer(&plan, &out, console);
        }
        if !self.status && !self.page {
            self.bake(&mut plan, &reader, &out, threads, console)?;
        }
        self.answer(&plan, &out, console)
    }

    /// Plans the tries and saves them.
    fn plan(&self, reader: &Reader) -> Result<(Plan, PathBuf), CliError> {
        if self.status || self.cancel || self.retry || self.task.is_some() || self.common || self.page {
            let message = format!("{} is not the folder of a wedge", self.shot.display());
            return Err(CliError::usage(message).with_help("name the folder that was given with --out"));
        }
        if self.vary.is_empty() {
            let help = "add --vary layer.NAME.KEY=A,B,C";
            return Err(CliError::usage("there is nothing that varies").with_help(help));
        }
        let reader = reader.clone().allow_outside(self.trust.allows_outside());
        // the file's own mistakes, and that it is not there, in the words of `bake`
        let shot = reader.read(&self.shot)?;
        let vary = self.vary.iter().map(|text| text.parse()).collect::<Result<Vec<Vary>, _>>()?;
        let choice = match self.random {
            Some(count) => Choice::Random { count, seed: self.seed },
            None if self.zip => Choice::Zip,
            None => Choice::Product,
        };
        let name = self.shot.file_name().unwrap_or_default().to_string_lossy();
        let mut plan = Plan::new(&reader, &name, shot.text(), &shot.folder, &vary, choice)?;
        (plan.frames, plan.allow_outside) = (self.frames, self.trust.allows_outside());
        let out = self.out.clone().unwrap_or_else(|| shot.folder.join(format!("{}-wedge", shot.name)));
        plan.save(&out)?;
        Ok((Plan::load(&out)?, out))
    }

    fn bake(
        &self,
        plan: &mut Plan,
        reader: &Reader,
        out: &Path,
        threads: Option<usize>,
        console: &Console,
    ) -> Result<(), CliError> {
        let is_left = |state: State| match state {
            State::Done { .. } => false,
            State::Failed { .. } => self.retry,
            _ => true,
        };
        let left: Vec<usize> =
            (0..plan.tries.len()).filter(|&index| is_left(plan.state(out, index))).collect();
        if left.is_empty() {
            return Ok(());
        }
        if self.on == Engine::Slurm {
            return self.submit(plan, out, &left, console);
        }
        self.baking(console, |context| plan.bake_common(reader, out, threads, context))?;
        for (place, &index) in left.iter().enumerate() {
            let title = plan.tries[index].title(&plan.keys);
            console.remark(&format!(
                "try {} ({} of {}): {title}",
                plan.tries[index].name,
                place + 1,
                left.len()
            ));
            let state =
                self.baking(console, |context| plan.bake_try(reader, out, index, threads, context))?;
            if let State::Failed { error, .. } = state {
                console.remark(&format!("warning: it cannot be baked: {error}"));
            }
        }
        Ok(())
    }

    fn submit(&self, plan: &mut Plan, out: &Path, left: &[usize], console: &Console) -> Result<(), CliError> {
        let given = &self.slurm;
        let before = plan.slurm.clone().unwrap_or_default();
        let mut slurm = Slurm {
            partition: given.partition.clone().or(before.partition),
            memory: given.memory.clone().or(before.memory),
            time: given.time.clone().or(before.time),
            account: given.account.clone().or(before.account),
            at_once: given.at_once.or(before.at_once),
            threads: self.threads.map(usize::from).or(before.threads),
            jobs: None,
        };
        let folder = std::fs::canonicalize(out).map_err(|error| CliError::output(out, &error))?;
        let jobs = slurm.submit(plan, &folder, left)?;
        console.remark(&format!("submitted {} tries as job {}", left.len(), jobs.array));
        slurm.jobs = Some(jobs);
        plan.slurm = Some(slurm);
        Ok(plan.write(out)?)
    }

    /// With progress, and so that Ctrl-C ends it after the frame at hand.
    fn baking<T>(
        &self,
        console: &Console,
        work: impl FnOnce(&Context<'_>) -> Result<T, wedge::Error>,
    ) -> Result<T, CliError> {
        let listener = console.progress();
        interrupt::answers_json(self.json);
        interrupt::at_once(true);
        let done = work(&Context { progress: &*listener, cancel: interrupt::flag() });
        interrupt::at_once(false);
        listener.finish();
        done.map_err(|error| match error {
            wedge::Error::Stopped { .. } | wedge::Error::Shot(shot::Error::Cancelled { .. }) => {
                let help = format!("nothing is lost; go on from here with\n{}", interrupt::same_command());
                CliError::stopped(error.to_string()).with_help(help)
            }
            other => other.into(),
        })
    }

    /// Where everything stands.
    fn answer(&self, plan: &Plan, out: &Path, console: &Console) -> Result<(), CliError> {
        let page = wedge::write_page(plan, out)?;
        // `None` when Slurm cannot be asked here
        let queued: Option<Vec<(usize, String)>> = match &plan.slurm {
            Some(slurm) => slurm.queue().ok(),
            None => None,
        };
        let in_queue = |index: usize| queued.iter().flatten().find(|(number, _)| *number == index);
        let ended = |index: usize, state: &State| {
            let is_over = queued.is_some() && in_queue(index).is_none();
            let is_left = matches!(state, State::Stopped { .. } | State::Waiting) && is_over;
            plan.slurm.as_ref().filter(|_| is_left).and_then(|slurm| slurm.ended(out, index))
        };
        if self.json {
            let mut summary = wedge::summary(plan, out);
            for index in 0..plan.tries.len() {
                if let Some(said) = ended(index, &plan.state(out, index)) {
                    summary["tries"][index]["slurm"] = said.into();
                }
            }
            return console.answer_json(&summary);
        }
        let line = |index: usize| {
            let one = &plan.tries[index];
            let state = plan.state(out, index);
            let said = ended(index, &state).map(|said| format!("; {said}")).unwrap_or_default();
            let word = match (&state, in_queue(index)) {
                (State::Done { seconds, .. }, _) => format!("done in {seconds:.1} s"),
                (State::Failed { error, .. }, _) => format!("failed: {error}"),
                (State::Running { done, of }, _) => format!("running, {done} of {of} frames"),
                (State::Stopped { done, of }, None) => format!("stopped, {done} of {of} frames"),
                (_, Some((_, word))) => word.to_lowercase(),
                (State::Waiting, None) => String::from("waiting"),
            };
            format!("  {}  {}  {word}{said}", one.name, one.title(&plan.keys))
        };
        let mut lines: Vec<String> = (0..plan.tries.len()).map(line).collect();
        lines.push(format!("  {}  all tries, side by side", page.display()));
        match console.is_quiet() {
            true => Ok(()),
            false => console.answer(lines.join("\n")),
        }
    }
}

/// What Slurm lends a task.
fn threads_of_slurm() -> Option<usize> {
    std::env::var("SLURM_CPUS_PER_TASK").ok()?.parse().ok().filter(|&threads| threads > 0)
}
