//! `new`: a commented shot file to begin with.

use std::path::{Path, PathBuf};

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
        let demo = self.from.as_deref().map(demos::by_name).transpose()?;
        let text = demo.map_or(demos::TEMPLATE, |demo| demo.text);
        if self.file.as_os_str() == "-" {
            return console.answer(text);
        }
        self.write(&self.file, text)?;
        let mut first = String::new();
        if let Some((demo, training)) = demo.and_then(|demo| Some((demo, demo.training?))) {
            let (name, operator) = (self.file.with_file_name(demo.training_name()), demo.trained_name());
            self.write(&name, training)?;
            let operator = self.file.with_file_name(operator);
            first = format!("`followthrough train {} -o {}`, then ", name.display(), operator.display());
        }
        if console.is_quiet() {
            return Ok(());
        }
        let file = self.file.display();
        console.answer(format!("wrote {file}; edit it, then {first}`followthrough bake {file}`"))
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), CliError> {
        let mut options = std::fs::File::options();
        options.write(true);
        if self.force {
            options.create(true).truncate(true)
        } else {
            options.create_new(true)
        };
        let written = options.open(path).and_then(|mut file| {
            use std::io::Write;
            file.write_all(text.as_bytes())
        });
        written.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                let message = format!("{} is there already", path.display());
                CliError::Said { code: error::OUTPUT, message, help: None }
                    .with_help("choose another name, or --force to write over it")
            }
            _ => CliError::output(path, &error),
        })
    }
}
