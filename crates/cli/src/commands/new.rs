//! `new`: a commented shot file to begin with.

use std::path::PathBuf;

use clap::Args;

use crate::demos;
use crate::trouble::{self, Trouble};
use crate::voice::Voice;

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
    pub(crate) fn run(&self, voice: &Voice) -> Result<(), Trouble> {
        let text = match &self.from {
            Some(name) => demos::by_name(name)?.text,
            None => demos::TEMPLATE,
        };
        if self.file.as_os_str() == "-" {
            return voice.answer(text);
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
                Err(Trouble::Said { code: trouble::OUTPUT, message, help: None }
                    .with_help("choose another name, or --force to write over it"))
            }
            Err(error) => Err(Trouble::output(&self.file, &error)),
            Ok(()) if voice.is_quiet() => Ok(()),
            Ok(()) => {
                let file = self.file.display();
                voice.answer(format!("wrote {file}; edit it, then `followthrough bake {file}`"))
            }
        }
    }
}
