//! Ctrl-C: the first ends the work as soon as what is being written is whole, the second at once.

use std::ffi::OsString;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::console::Console;
use crate::error::{self, CliError};

static STOP: AtomicBool = AtomicBool::new(false);
/// While nothing is being written that could be left half done: then nobody has to wait.
static IDLE: AtomicBool = AtomicBool::new(false);
/// Whether the answer is one JSON object.
static JSON: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C only sets the flag that this returns.
pub(crate) fn flag() -> &'static AtomicBool {
    // fails only when a handler is there already, which is then this one
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            // frames are stored whole or not at all: even this loses nothing
            std::process::exit(error::STOPPED.into());
        }
        if IDLE.load(Ordering::Relaxed) {
            let help = format!("nothing is lost; go on from here with\n{}", same_command());
            let error = CliError::stopped("stopped while everything was being prepared").with_help(help);
            Console::new(false).error(error, JSON.load(Ordering::Relaxed));
            std::process::exit(error::STOPPED.into());
        }
        let _ = writeln!(
            std::io::stderr().lock(),
            "\nstopping; once more to stop at once (nothing baked is lost)"
        );
    });
    &STOP
}

/// Ctrl-C ends the process at once from here on, or no longer. Preparing may take a while, and writes nothing.
pub(crate) fn at_once(allowed: bool) {
    IDLE.store(allowed, Ordering::Relaxed);
}

/// How an error is told if Ctrl-C ends the process at once.
pub(crate) fn answers_json(json: bool) {
    JSON.store(json, Ordering::Relaxed);
}

/// Whether it was pressed.
pub(crate) fn pressed() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// The words of this run, from the program's name on.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Keeps the words that the command was called with, for hints: inside another program they are not the process's own.
pub(crate) fn called_as(words: Vec<OsString>) {
    // a second run in one process is told as the first
    let _ = WORDS.set(words);
}

fn words() -> &'static [OsString] {
    WORDS.get().map_or(&[], Vec::as_slice)
}

/// The command line of this run as a shell takes it, without the arguments that start from scratch.
pub(crate) fn same_command() -> String {
    let words: Vec<String> = words()
        .iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .filter(|argument| argument != "--fresh")
        .map(|argument| quoted(&argument))
        .collect();
    words.join(" ")
}

/// How this program was called, for hints that can be pasted.
pub(crate) fn program() -> String {
    words().first().map_or("followthrough".into(), |name| quoted(&name.to_string_lossy()))
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=./:,+@%#~".contains(c);
    // a comment sign begins a comment only at the start of a word
    match !word.is_empty() && word.chars().all(plain) && !word.starts_with(['#', '~']) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_a_shell() {
        for (word, written) in [
            ("bake", "bake"),
            ("layer[0].wind=5", "'layer[0].wind=5'"),
            ("my shot.toml", "'my shot.toml'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("flag.####.obj", "flag.####.obj"),
            ("#1.toml", "'#1.toml'"),
        ] {
            assert_eq!(quoted(word), written);
        }
    }
}
