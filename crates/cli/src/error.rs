//! What went wrong, as people and scripts hear it: a sentence, a remedy, an exit code.

use std::io::ErrorKind;
use std::path::Path;

use miette::Diagnostic;
use shot::Diagnostics;

use crate::console::plain;

/// The input cannot be read, or the bake failed.
pub(crate) const INPUT: u8 = 1;
/// The command line or the shot file has mistakes.
pub(crate) const USAGE: u8 = 2;
/// The output cannot be written.
pub(crate) const OUTPUT: u8 = 3;
/// `compare --within`: the clips differ by more.
pub(crate) const DIFFERENT: u8 = 4;
/// `--strict`: the physics of a layer was off too often.
pub(crate) const STRICT: u8 = 5;
/// Interrupted.
pub(crate) const STOPPED: u8 = 130;

/// Anything that ends a command early.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub(crate) enum CliError {
    /// Diagnostics in a shot file, each with its line.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Diagnostics(#[from] Diagnostics),
    /// Everything else that has a sentence and perhaps a remedy.
    #[error("{message}")]
    Said {
        code: u8,
        message: String,
        #[help]
        help: Option<String>,
    },
    /// Whoever read our output has gone: `| head`. Nobody is left to be told.
    #[error("the reader of the output has gone")]
    NoReader,
}

impl CliError {
    /// A sentence about the input or the bake.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Said { code: INPUT, message: message.into(), help: None }
    }

    /// A sentence about the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Said { code: USAGE, message: message.into(), help: None }
    }

    /// Everything was made, but not as it should be.
    pub(crate) fn strict(layer: &str, text: &str) -> Self {
        let help = "files and report were written all the same; without --strict this is a warning";
        let message = format!("layer `{layer}`: {text}");
        Self::Said { code: STRICT, message, help: Some(help.into()) }
    }

    /// The user stopped it.
    pub(crate) fn stopped(message: impl Into<String>) -> Self {
        Self::Said { code: STOPPED, message: message.into(), help: None }
    }

    /// The system refused to write.
    pub(crate) fn output(path: &Path, error: &std::io::Error) -> Self {
        let code = OUTPUT;
        let help = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                Some("make room and run the same command again")
            }
            _ => Some("choose a folder that exists and can be written"),
        };
        Self::Said { code, message: io_sentence(path, error), help: help.map(str::to_owned) }
    }

    /// The same with a remedy.
    #[must_use]
    pub(crate) fn with_help(mut self, remedy: impl Into<String>) -> Self {
        if let Self::Said { help, .. } = &mut self {
            *help = Some(remedy.into());
        }
        self
    }

    /// The same, for errors that came up while writing: what the system refused then is about the output.
    #[must_use]
    pub(crate) fn while_writing(error: &clip::Error) -> Self {
        match error {
            clip::Error::Io { source, .. } if source.kind() == ErrorKind::Interrupted => {
                Self::stopped("stopped; the file was not written")
            }
            clip::Error::Io { path, source } => Self::output(path, source),
            // a format that cannot be written is a mistake on the command line
            clip::Error::Unsupported { .. } => Self::usage(error.to_string()),
            other => Self::from(other),
        }
    }

    /// What the process ends with.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Diagnostics(_) => USAGE,
            Self::Said { code, .. } => *code,
            Self::NoReader => 0,
        }
    }

    /// For machines.
    pub(crate) fn json(&self) -> serde_json::Value {
        let help = match self {
            Self::Said { help, .. } => help.as_deref(),
            _ => None,
        };
        let mut json = serde_json::json!({
            "ok": false,
            "error": self.to_string(),
            "help": help,
            "exit_code": self.exit_code(),
        });
        if let Self::Diagnostics(Diagnostics(diagnostics)) = self {
            json["mistakes"] = diagnostics.iter().map(diagnostic_json).collect();
        }
        json
    }
}

/// What is wrong in a shot file, for machines.
pub(crate) fn diagnostic_json(diagnostic: &shot::Diagnostic) -> serde_json::Value {
    serde_json::json!({
        "file": diagnostic.file(),
        "line": diagnostic.line(),
        "column": diagnostic.column(),
        "text": diagnostic.excerpt(),
        "message": diagnostic.message(),
        "help": diagnostic.remedy(),
    })
}

impl From<&clip::Error> for CliError {
    fn from(error: &clip::Error) -> Self {
        let message = plain(&error.to_string());
        let said = match error {
            clip::Error::Io { path, source } => return unreadable(path, source),
            clip::Error::NotFinite { .. } => {
                Self::input(message).with_help("repair the file in the program that wrote it")
            }
            _ => Self::input(message),
        };
        match error {
            clip::Error::Outside { .. } => said.with_help(
                "what a file names must lie in its own folder; if you trust it, read it with --allow-outside",
            ),
            clip::Error::Changed { .. } | clip::Error::NotInManifest { .. } => {
                said.with_help("nothing of it was stored; run the same command again")
            }
            clip::Error::Malformed { .. } => {
                said.with_help("the file is damaged or was not written to its end; export it again")
            }
            _ => said,
        }
    }
}

impl From<clip::Error> for CliError {
    fn from(error: clip::Error) -> Self {
        Self::from(&error)
    }
}

impl From<shot::LayerError> for CliError {
    fn from(error: shot::LayerError) -> Self {
        let help = error.remedy().map(str::to_owned);
        Self::Said { code: INPUT, message: error.to_string(), help }
    }
}

impl From<render::Error> for CliError {
    fn from(error: render::Error) -> Self {
        match error {
            render::Error::Clip(error) => error.into(),
            render::Error::Io { path, source } => Self::output(&path, &source),
            render::Error::Size { .. } => Self::usage(error.to_string()),
            other => Self::input(other.to_string()),
        }
    }
}

impl From<shot::Error> for CliError {
    fn from(error: shot::Error) -> Self {
        let help = error.remedy();
        let said = |code| Self::Said { code, message: error.to_string(), help };
        match &error {
            shot::Error::Invalid(diagnostics) => Self::Diagnostics(diagnostics.clone()),
            shot::Error::Clip(error) => error.into(),
            shot::Error::Io { path, source, .. } if source.kind() == ErrorKind::NotFound => {
                unreadable(path, source)
            }
            shot::Error::Override { .. }
            | shot::Error::Selection { .. }
            | shot::Error::NoSuchFrames { .. } => said(USAGE),
            shot::Error::DiskFull { .. } => said(OUTPUT),
            shot::Error::Cancelled { .. } => said(STOPPED),
            _ => said(INPUT),
        }
    }
}

impl From<train::Error> for CliError {
    fn from(error: train::Error) -> Self {
        let help = error.remedy();
        let said = match error {
            train::Error::Shot(error) => return error.into(),
            train::Error::Cancelled { .. } => Self::stopped(error.to_string()),
            other => Self::input(other.to_string()),
        };
        match help {
            Some(help) => said.with_help(help),
            None => said,
        }
    }
}

impl From<wedge::Error> for CliError {
    fn from(error: wedge::Error) -> Self {
        let help = error.remedy();
        let code = if matches!(error, wedge::Error::Vary { .. }) { USAGE } else { INPUT };
        match error {
            wedge::Error::Shot(error) => error.into(),
            wedge::Error::Try { values, source } => match *source {
                shot::Error::Invalid(diagnostics) => Self::Diagnostics(diagnostics),
                other => Self::Said { code: USAGE, message: format!("with {values}: {other}"), help },
            },
            other => Self::Said { code, message: other.to_string(), help },
        }
    }
}

impl From<film::Error> for CliError {
    fn from(error: film::Error) -> Self {
        match error {
            film::Error::Shot(error) => error.into(),
            film::Error::Clip(error) => error.into(),
            film::Error::Cancelled { .. } => {
                let help = error.help().map(|help| help.to_string());
                Self::Said { code: STOPPED, message: error.to_string(), help }
            }
            other => Self::input(other.to_string()),
        }
    }
}

/// A file that cannot be read, with the one that may be meant.
fn unreadable(path: &Path, error: &std::io::Error) -> CliError {
    if error.kind() == ErrorKind::NotFound {
        let missing = CliError::input(format!("there is no file {}", path.display()));
        return match neighbours(path) {
            Some(help) => missing.with_help(help),
            None => missing.with_help("check the path; it starts at the current folder"),
        };
    }
    CliError::input(io_sentence(path, error))
}

/// "did you mean …?", from the names in the same folder.
fn neighbours(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).ok()?;
    let mut names: Vec<String> = entries.flatten().map(|e| e.file_name().to_string_lossy().into()).collect();
    names.sort();
    let help = shot::suggest(&path.file_name()?.to_string_lossy(), names.iter().map(String::as_str));
    // without a likely one the list of a whole folder helps nobody
    Some(help.split_once('?')?.0.to_owned() + "?")
}

/// "FILE: permission denied", without the number that the system gives it.
fn io_sentence(path: &Path, error: &std::io::Error) -> String {
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or(&words);
    format!("{}: {}", path.display(), words.to_lowercase())
}
