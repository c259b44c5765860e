//! `check`: every mistake of a shot file, underlined.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use shot::Diagnostics;

use crate::commands::bake::placed;
use crate::console::Console;
use crate::error::{CliError, diagnostic_json};
use crate::source::Trust;

/// Explain every mistake in a shot file; exit code 2 when there are any
#[derive(Args)]
pub(crate) struct Arguments {
    /// The shot file
    #[arg(value_name = "SHOT.toml", required_unless_present = "schema")]
    shot: Option<PathBuf>,
    /// Set a value over the file's before checking; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    trust: Trust,
    /// Answer with one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the JSON Schema of shot files, for editors, and check nothing
    #[arg(long)]
    schema: bool,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let Some(path) = self.shot.as_ref().filter(|_| !self.schema) else {
            return console.answer_json(&followthrough::schema());
        };
        let reader = self.trust.reader(self.set.iter().map(String::as_str));
        let (diagnostics, warnings) = match reader.read(path) {
            Ok(shot) => (shot.check(), shot.warnings),
            Err(shot::Error::Invalid(Diagnostics(diagnostics))) => (diagnostics, Vec::new()),
            Err(other) => return Err(other.into()),
        };
        for warning in &warnings {
            console.remark(&format!("warning: {}", placed(warning)));
        }
        if !diagnostics.is_empty() {
            // with --json the object that tells them is made from this
            return Err(Diagnostics(diagnostics).into());
        }
        let (idle, beside) = reader.read(path).map(|shot| (shot.idle(), shot.unusual())).unwrap_or_default();
        if !self.json {
            for found in &beside {
                let help = found.remedy().map(|help| format!(" ({help})")).unwrap_or_default();
                console.remark(&format!("warning: {}{help}", placed(found)));
            }
            for found in &idle {
                let line = found.line();
                let (key, why) = (found.path(), found.message());
                console.remark(&format!("warning: line {line}: `{key}` has no effect: {why}"));
            }
        }
        if self.json {
            let none: Vec<serde_json::Value> = diagnostics.iter().map(diagnostic_json).collect();
            let unusual: Vec<String> = warnings.iter().chain(&beside).map(placed).collect();
            let idle: Vec<serde_json::Value> = idle.iter().map(diagnostic_json).collect();
            return console.answer_json(
                &json!({ "ok": true, "file": path, "mistakes": none, "unusual": unusual, "idle": idle }),
            );
        }
        match console.is_quiet() {
            true => Ok(()),
            false => console.answer(format!("{}: no mistakes", path.display())),
        }
    }
}
