//! What goes to the terminal: answers on stdout, everything else on stderr.
//!
//! On a terminal a bake shows bars with the time left; elsewhere (logs, pipes) plain lines now and then, without
//! control characters. With `--quiet` only answers and errors remain.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use shot::{Event, Progress};

use crate::error::CliError;

/// How a run speaks.
#[derive(Clone, Copy)]
pub(crate) struct Console {
    quiet: bool,
    bars: bool,
}

impl Console {
    pub(crate) fn new(quiet: bool) -> Self {
        // Lines are not broken: a command in a hint must survive being pasted. Fails only where a hook is set already.
        let _ = miette::set_hook(Box::new(|_| {
            Box::new(miette::MietteHandlerOpts::new().wrap_lines(false).break_words(false).build())
        }));
        Self { quiet, bars: !quiet && io::stderr().is_terminal() }
    }

    /// Whether anything but answers and errors is to be said.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// The answer, on stdout, with a line's end.
    pub(crate) fn answer(&self, text: impl AsRef<str>) -> Result<(), CliError> {
        let text = plain(text.as_ref());
        self.answer_bytes(format!("{}\n", text.strip_suffix('\n').unwrap_or(&text)).as_bytes())
    }

    /// The answer as it is.
    pub(crate) fn answer_bytes(&self, bytes: &[u8]) -> Result<(), CliError> {
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => CliError::NoReader,
            _ => CliError::output("stdout".as_ref(), &error),
        })
    }

    /// The answer for machines: one object.
    pub(crate) fn answer_json(&self, answer: &Value) -> Result<(), CliError> {
        self.answer(format!("{answer:#}"))
    }

    /// A remark, on stderr.
    pub(crate) fn remark(&self, text: &str) {
        if !self.quiet {
            say(&plain(text));
        }
    }

    /// What went wrong: drawn on stderr and, for machines, as one object on stdout.
    pub(crate) fn error(&self, error: CliError, json: bool) {
        // the report below may be coloured, so what it quotes is made plain before
        let error = match error {
            CliError::NoReader => return,
            CliError::Said { code, message, help } => {
                CliError::Said { code, message: plain(&message), help: help.as_deref().map(plain) }
            }
            CliError::Diagnostics(_) => error,
        };
        if json && self.answer_json(&error.json()).is_err() {
            // stdout is gone; stderr still hears it below
        }
        say(format!("{:?}", miette::Report::new(error)).trim_matches('\n'));
    }

    /// A listener for something that takes its time.
    pub(crate) fn progress(&self) -> Arc<Listener> {
        Arc::new(Listener { console: *self, task: Mutex::new(None) })
    }
}

/// Text without control characters: a name in a stranger's file must not move the cursor or colour the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// A line on stderr; when nobody reads it, nobody misses it.
fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Listens to something that takes its time and shows how far it is.
pub(crate) struct Listener {
    console: Console,
    task: Mutex<Option<Task>>,
}

/// Something with a known number of parts.
struct Task {
    title: String,
    /// Whether its parts are frames of a layer, which are worth counting at the end.
    frames: bool,
    bar: ProgressBar,
    begun: Instant,
    /// Parts that were there when it began.
    reused: usize,
    done: usize,
    /// When a plain line was last written, and how long to wait for the next.
    reported: Instant,
    pause: Duration,
}

/// Plain lines come after two seconds, then ever more seldom: a night's log should be readable in the morning.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(60)];

impl Listener {
    /// A part of a task is done; the first call begins the task and ends the one before.
    pub(crate) fn part(&self, title: &str, done: usize, of: usize) {
        let mut slot = self.slot();
        if slot.as_ref().is_none_or(|task| task.title != title) {
            self.begin(&mut slot, title, of, None);
        }
        self.advance(&mut slot, done, of);
    }

    /// Ends the task at hand.
    pub(crate) fn finish(&self) {
        self.end(&mut self.slot());
    }

    /// Ends the task at hand without a word.
    pub(crate) fn clear(&self) {
        if let Some(task) = self.slot().take() {
            task.bar.finish_and_clear();
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Task>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `reused` is known of layers: frames that are there already.
    fn begin(&self, slot: &mut Option<Task>, title: &str, of: usize, reused: Option<usize>) {
        self.end(slot);
        let (frames, reused) = (reused.is_some(), reused.unwrap_or(0));
        let target =
            if self.console.bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(of as u64), target);
        let style = ProgressStyle::with_template("{msg} [{bar:32}] {pos}/{len}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        bar.set_message(title.to_owned());
        bar.set_position(reused as u64);
        bar.reset_eta();
        bar.tick();
        let now = Instant::now();
        let title = title.to_owned();
        *slot = Some(Task {
            title,
            frames,
            bar,
            begun: now,
            reused,
            done: reused,
            reported: now,
            pause: PAUSES[0],
        });
    }

    fn advance(&self, slot: &mut Option<Task>, done: usize, of: usize) {
        let Some(task) = slot else { return };
        task.done = done;
        task.bar.set_length(of as u64);
        task.bar.set_position(done as u64);
        if !self.console.bars && done < of && task.reported.elapsed() >= task.pause {
            task.reported = Instant::now();
            task.pause = task.pause.mul_f64(1.5).min(PAUSES[1]);
            let made = done.saturating_sub(task.reused).max(1) as f64;
            let left = task.begun.elapsed().mul_f64((of - done) as f64 / made);
            self.console.remark(&format!("{}: {done} of {of}, {} left", task.title, HumanDuration(left)));
        }
    }

    fn end(&self, slot: &mut Option<Task>) {
        let Some(task) = slot.take() else { return };
        task.bar.finish_and_clear();
        let seconds = task.begun.elapsed().as_secs_f64();
        let line = match (task.done.saturating_sub(task.reused), task.reused) {
            _ if !task.frames => format!("{}: {seconds:.1} s", task.title),
            (0, 0) => format!("{}: {seconds:.1} s", task.title),
            (0, reused) => format!("{}: all {reused} frames were there already", task.title),
            (made, 0) => format!("{}: {made} frames in {seconds:.1} s", task.title),
            (made, reused) => {
                format!("{}: {made} frames in {seconds:.1} s, {reused} were there already", task.title)
            }
        };
        self.console.remark(&line);
    }
}

impl Progress for Listener {
    fn event(&self, event: Event<'_>) {
        let mut slot = self.slot();
        match event {
            Event::Layer { layer, index, of, reused, frames } => {
                let title = match of {
                    1 => format!("bake {layer}"),
                    _ => format!("bake {layer} ({} of {of})", index + 1),
                };
                self.begin(&mut slot, &title, frames, Some(reused.min(frames)));
            }
            Event::NoLocks { folder } => self.console.remark(&format!(
                "warning: {} knows no locks; take care that no other bake writes there",
                folder.display()
            )),
            Event::Frame { done, of, .. } => self.advance(&mut slot, done, of),
            Event::Writing { path } => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                self.begin(&mut slot, &format!("write {name}"), 1, None);
            }
            Event::Written { done, of, .. } => self.advance(&mut slot, done, of),
            _ => {}
        }
    }
}

/// 12.3 kB.
pub(crate) fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        b if b < 1e3 => format!("{b} bytes"),
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.2} GB", b / 1e9),
    }
}
