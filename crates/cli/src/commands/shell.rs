//! What shells, manuals and editors want: completions, man pages, the schema.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::command::Cli;
use crate::console::Console;
use crate::error::CliError;

/// Print the JSON Schema of shot files, for editors
#[derive(Args)]
pub(crate) struct Schema {}

impl Schema {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        console.answer_json(&followthrough::schema())
    }
}

/// Print the completions of a shell
///
/// For bash: followthrough completions bash > ~/.local/share/bash-completion/completions/followthrough
#[derive(Args)]
pub(crate) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "followthrough", &mut script);
        console.answer_bytes(&script)
    }
}

/// Print the man page, or write one for every command into a folder
#[derive(Args)]
pub(crate) struct Man {
    /// The folder for the pages [default: the main page on stdout]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        match &self.out {
            Some(folder) => {
                let written = std::fs::create_dir_all(folder)
                    .and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
                written.map_err(|error| CliError::output(folder, &error))
            }
            None => {
                let mut page = Vec::new();
                let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
                rendered.map_err(|error| CliError::output("stdout".as_ref(), &error))?;
                console.answer_bytes(&page)
            }
        }
    }
}
