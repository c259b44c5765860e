//! `pack`: a layer of a shot as one file that a game can run.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::info::flesh::FleshInfo;
use crate::console::Console;
use crate::error::CliError;
use crate::source::Trust;

/// Pack the flesh of a shot's skeleton or morph layer into one file that a game steps in real time
///
/// Nothing is baked: the file holds the functions or coordinates and the matrices that the bake would use, for the crate `character`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The shot file
    #[arg(value_name = "SHOT.toml")]
    shot: PathBuf,
    /// The file to write (.flesh)
    #[arg(long, short, value_name = "FLESH")]
    output: PathBuf,
    /// Set a value over the file's, as in layer.skeleton.cells=400; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    trust: Trust,
    /// Answer with one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let reader = self.trust.reader(self.set.iter().map(String::as_str));
        let bytes = reader.read(&self.shot)?.pack()?.ok_or_else(|| {
            CliError::usage(format!("{}: no layer of the shot can be packed", self.shot.display()))
                .with_help("add a layer of the kind `skeleton` or `morph`")
        })?;
        shot::write_whole(&self.output, &bytes).map_err(|error| match error {
            shot::Error::Io { path, source, .. } => CliError::output(&path, &source),
            other => other.into(),
        })?;
        let info = FleshInfo::of(&self.output, &bytes)?;
        if self.json {
            let mut answer = info.json();
            answer["shot"] = json!(self.shot);
            return console.answer_json(&answer);
        }
        if console.is_quiet() { Ok(()) } else { console.answer(info.text()) }
    }
}
