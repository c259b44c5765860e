//! `new`: a commented shot file to begin with.

use std::path::PathBuf;

use clap::Args;

use crate::console::Console;
use crate::demos;
use crate::error::{self, CliError};

/// Write a commented shot file to begin with
#[derive(Args)]
pub(crate) struct Arguments {
    /// The file to write; `-` is stdout
    #[arg(value_name = "FILE", default_value = "shot.toml")]
    file: PathBuf,
    /// Begin with a demo's shot instead of the template; `demo --list` names them
    #[arg(long, value_name = "DEMO")]
    from: Option<String>,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

impl Arguments {
    pub(crate) fn run(&self, console: &Console) -> Result<(), CliError> {
        let text = match &self.from {
            Some(name) => demos::by_name(name)?.text,
            None => demos::TEMPLATE,
        };
        if self.file.as_os_str() == "-" {
            return console.answer(text);
        }
        let mut options = std::fs::File::options();
        options.write(true);
        if self.force {
            options.create(true).truncate(true)
        } else {
            options.create_new(true)
        };
        let written = options.open(&self.file).and_then(|mut file| {
            use std::io::Write;
            file.write_all(text.as_bytes())
        });
        match written {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let message = format!("{} is there already", self.file.display());
                Err(CliError::Said { code: error::OUTPUT, message, help: None }
                    .with_help("choose another name, or --force to write over it"))
            }
            Err(error) => Err(CliError::output(&self.file, &error)),
            Ok(()) if console.is_quiet() => Ok(()),
            Ok(()) => {
                let file = self.file.display();
                console.answer(format!("wrote {file}; edit it, then `followthrough bake {file}`"))
            }
        }
    }
}
