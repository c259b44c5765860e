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
use crate::interrupt;

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
        Arc::new(Listener { console: *self, lines: false, task: Mutex::new(None) })
    }

    /// One that tells every step as a line of JSON on stderr, for programs that show it their own way.
    pub(crate) fn progress_lines(&self) -> Arc<Listener> {
        let console = Self { bars: false, ..*self };
        Arc::new(Listener { console, lines: true, task: Mutex::new(None) })
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
    /// Whether every step is a line of JSON.
    lines: bool,
    task: Mutex<Option<Task>>,
}

/// Something with a known number of parts.
struct Task {
    title: String,
    /// The layers of a bake, which are worth a line each at the end.
    layers: Vec<LayerTask>,
    bar: ProgressBar,
    begun: Instant,
    done: usize,
    of: usize,
    /// What is known already of first frames, until it is worth telling.
    told: Vec<String>,
    /// When a plain line was last written, and how long to wait for the next.
    reported: Instant,
    pause: Duration,
}

/// What is known of one layer of a bake. Frames of several come in turns, so each has a clock of its own.
struct LayerTask {
    name: String,
    /// Frames that were there when it began.
    reused: usize,
    done: usize,
    of: usize,
    /// Seconds of work, preparing included.
    seconds: f64,
    /// Seconds of its frames.
    frame_seconds: f64,
}

impl Task {
    /// How long it will take: of a bake, each layer's frames as long as they took on average so far.
    fn left(&self) -> Duration {
        let made = |layer: &LayerTask| layer.done.saturating_sub(layer.reused);
        let (frames, seconds) = match &self.layers[..] {
            [] => (self.done, self.begun.elapsed().as_secs_f64()),
            layers => (layers.iter().map(made).sum(), layers.iter().map(|layer| layer.frame_seconds).sum()),
        };
        let mean = seconds / frames.max(1) as f64;
        let of_layer = |layer: &LayerTask| {
            let own = if made(layer) > 0 { layer.frame_seconds / made(layer) as f64 } else { mean };
            layer.of.saturating_sub(layer.done) as f64 * own
        };
        let left = match &self.layers[..] {
            [] => self.of.saturating_sub(self.done) as f64 * mean,
            layers => layers.iter().map(of_layer).sum(),
        };
        Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX)
    }

    /// How far it is, for programs.
    fn line(&self) -> String {
        let Self { title, done, of, .. } = self;
        let left = if *done > 0 { Some(self.left().as_secs_f64()) } else { None };
        serde_json::json!({ "task": title, "done": done, "of": of, "seconds_left": left }).to_string()
    }

    fn show(&self) {
        self.bar.set_length(self.of as u64);
        self.bar.set_position(self.done as u64);
        self.bar.set_prefix(HumanDuration(self.left()).to_string());
    }

    /// Sums up the layers.
    fn count_layers(&mut self) {
        self.done = self.layers.iter().map(|layer| layer.done).sum();
        self.of = self.layers.iter().map(|layer| layer.of).sum();
    }

    /// What is said at the end.
    fn lines(&self) -> Vec<String> {
        if self.layers.is_empty() {
            return vec![format!("{}: {:.1} s", self.title, self.begun.elapsed().as_secs_f64())];
        }
        let several = self.layers.len();
        let line = |(index, layer): (usize, &LayerTask)| {
            let LayerTask { name, seconds, reused, .. } = layer;
            let title = match several {
                1 => format!("bake {name}"),
                _ => format!("bake {name} ({} of {several})", index + 1),
            };
            match (layer.done.saturating_sub(*reused), reused) {
                (0, 0) => format!("{title}: {seconds:.1} s"),
                (0, reused) => format!("{title}: all {reused} frames were there already"),
                (made, 0) => format!("{title}: {made} frames in {seconds:.1} s"),
                (made, reused) => {
                    format!("{title}: {made} frames in {seconds:.1} s, {reused} were there already")
                }
            }
        };
        self.layers.iter().enumerate().map(line).collect()
    }
}

/// Plain lines come after two seconds, then ever more seldom: a night's log should be readable in the morning.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(60)];

/// From here on a wait is long.
const LONG: Duration = Duration::from_secs(30);

impl Listener {
    /// A part of a task is done; the first call begins the task and ends the one before.
    pub(crate) fn part(&self, title: &str, done: usize, of: usize) {
        let mut slot = self.slot();
        if slot.as_ref().is_none_or(|task| task.title != title) {
            self.begin(&mut slot, title, of);
        }
        self.advance(&mut slot, done, of);
    }

    /// Tells what is known of the first frame while there is long to wait, so that a bake that began badly can be stopped. In a short one the end is soon
    /// enough.
    fn tell_early(&self, slot: &mut Option<Task>) {
        let Some(task) = slot.as_mut().filter(|task| !self.lines && task.left() > LONG) else { return };
        for words in task.told.drain(..) {
            task.bar.suspend(|| self.console.remark(&words));
        }
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

    fn begin(&self, slot: &mut Option<Task>, title: &str, of: usize) {
        self.end(slot);
        let target =
            if self.console.bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(of as u64), target);
        let style = ProgressStyle::with_template("{msg} [{bar:32}] {pos}/{len}, {prefix} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        bar.set_message(title.to_owned());
        bar.set_prefix("…");
        bar.tick();
        let now = Instant::now();
        *slot = Some(Task {
            title: title.to_owned(),
            layers: Vec::new(),
            bar,
            begun: now,
            done: 0,
            of,
            told: Vec::new(),
            reported: now,
            pause: PAUSES[0],
        });
    }

    /// One more layer of a bake; the first begins it.
    fn begin_layer(&self, slot: &mut Option<Task>, index: usize, of: usize, layer: LayerTask) {
        if index == 0 {
            let title = if of == 1 { format!("bake {}", layer.name) } else { format!("bake {of} layers") };
            self.begin(slot, &title, layer.of);
        }
        let Some(task) = slot else { return };
        task.layers.push(layer);
        task.count_layers();
        task.bar.set_length(task.of as u64);
        task.bar.set_position(task.done as u64);
    }

    /// Seconds that a layer worked, and what came of it.
    fn work(&self, slot: &mut Option<Task>, name: &str, seconds: f64, made: impl FnOnce(&mut LayerTask)) {
        let Some(task) = slot else { return };
        let Some(layer) = task.layers.iter_mut().find(|layer| layer.name == name) else { return };
        layer.seconds += seconds;
        made(layer);
        task.count_layers();
        self.report(task);
    }

    fn advance(&self, slot: &mut Option<Task>, done: usize, of: usize) {
        let Some(task) = slot else { return };
        (task.done, task.of) = (done, of);
        self.report(task);
    }

    /// Shows how far a task is; in plain lines now and then.
    fn report(&self, task: &mut Task) {
        task.show();
        let (done, of) = (task.done, task.of);
        if self.lines {
            return say(&task.line());
        }
        if !self.console.bars && done > 0 && done < of && task.reported.elapsed() >= task.pause {
            task.reported = Instant::now();
            task.pause = task.pause.mul_f64(1.5).min(PAUSES[1]);
            let left = HumanDuration(task.left());
            self.console.remark(&format!("{}: {done} of {of}, {left} left", task.title));
        }
    }

    fn end(&self, slot: &mut Option<Task>) {
        let Some(task) = slot.take() else { return };
        task.bar.finish_and_clear();
        task.lines().iter().for_each(|line| self.console.remark(line));
    }
}

impl Progress for Listener {
    fn event(&self, event: Event<'_>) {
        let mut slot = self.slot();
        let is_preparing =
            matches!(event, Event::NoLocks { .. } | Event::Layer { .. } | Event::Preparing { .. });
        interrupt::at_once(is_preparing);
        match event {
            Event::Layer { layer, index, of, reused, frames } => {
                let (name, done) = (layer.to_owned(), reused.min(frames));
                let layer =
                    LayerTask { name, reused: done, done, of: frames, seconds: 0.0, frame_seconds: 0.0 };
                self.begin_layer(&mut slot, index, of, layer);
            }
            Event::NoLocks { folder } => self.console.remark(&format!(
                "warning: {} knows no locks; take care that no other bake writes there",
                folder.display()
            )),
            Event::Warning { layer, text } => {
                let words = format!("warning: layer `{layer}`, frame 0: {text}");
                slot.iter_mut().for_each(|task| task.told.push(words.clone()));
            }
            Event::Prepared { layer, seconds } => self.work(&mut slot, layer, seconds, |_| {}),
            Event::Frame { layer, done, of, seconds, .. } => {
                self.work(&mut slot, layer, seconds, |layer| {
                    layer.frame_seconds += seconds;
                    (layer.done, layer.of) = (done, of);
                });
                self.tell_early(&mut slot);
            }
            Event::FirstPicture { path } => {
                self.console.remark(&format!("first frame: {}", path.display()));
            }
            Event::Writing { path } => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                self.begin(&mut slot, &format!("write {name}"), 1);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_for_programs_has_the_time_left() {
        let console = Console { quiet: true, bars: false };
        let listener = console.progress_lines();
        listener.event(Event::Layer { layer: "cloth", index: 0, of: 1, reused: 0, frames: 4 });
        let line = |listener: &Listener| -> Value {
            serde_json::from_str(&listener.slot().as_ref().unwrap().line()).unwrap()
        };
        assert_eq!(line(&listener)["seconds_left"], Value::Null);
        listener.event(Event::Frame { layer: "cloth", frame: 0, done: 1, of: 4, seconds: 2.0 });
        let told = line(&listener);
        assert_eq!((&told["task"], &told["done"], &told["of"]), (&"bake cloth".into(), &1.into(), &4.into()));
        assert!((told["seconds_left"].as_f64().unwrap() - 6.0).abs() < 1e-9);
    }

    /// What is wrong with the first frame is told while there is long to wait, and once; in a short bake at the end.
    #[test]
    fn a_bad_beginning_is_told_early_where_the_wait_is_long() {
        let left = |seconds: f64| {
            let listener = Console { quiet: true, bars: false }.progress();
            listener.event(Event::Layer { layer: "cloth", index: 0, of: 1, reused: 0, frames: 40 });
            listener.event(Event::Warning { layer: "cloth", text: "it begins with 9 crossings" });
            assert_eq!(listener.slot().as_ref().unwrap().told.len(), 1);
            listener.event(Event::Frame { layer: "cloth", frame: 0, done: 1, of: 40, seconds });
            let slot = listener.slot();
            slot.as_ref().unwrap().told.len()
        };
        assert_eq!((left(20.0), left(0.1)), (0, 1));
    }

    /// A slow layer over a quick one: the frames that are left take as long as their own layer's, not as the mean of all.
    #[test]
    fn the_time_left_is_that_of_each_layer_by_itself() {
        let console = Console { quiet: true, bars: false };
        let listener = console.progress();
        for (index, layer) in ["quick", "slow"].into_iter().enumerate() {
            listener.event(Event::Layer { layer, index, of: 2, reused: 10 * (1 - index), frames: 50 });
        }
        for frame in 10..30 {
            listener.event(Event::Frame { layer: "quick", frame, done: frame + 1, of: 50, seconds: 0.1 });
        }
        // nothing is known of the slow one yet
        let left = listener.slot().as_ref().unwrap().left().as_secs_f64();
        assert!((left - (20.0 * 0.1 + 50.0 * 0.1)).abs() < 1e-9, "{left}");
        listener.event(Event::Prepared { layer: "slow", seconds: 100.0 });
        for frame in 0..2 {
            listener.event(Event::Frame { layer: "slow", frame, done: frame + 1, of: 50, seconds: 3.0 });
        }
        let slot = listener.slot();
        let task = slot.as_ref().unwrap();
        assert!((task.left().as_secs_f64() - (20.0 * 0.1 + 48.0 * 3.0)).abs() < 1e-9);
        assert_eq!((task.done, task.of), (32, 100));
        assert_eq!(task.lines()[0], "bake quick (1 of 2): 20 frames in 2.0 s, 10 were there already");
        assert_eq!(task.lines()[1], "bake slow (2 of 2): 2 frames in 106.0 s");
    }
}
