//! The `followthrough` command: a thin door to the libraries.
//!
//! What lives here is what only a command line has: arguments, progress bars, Ctrl-C, exit codes. One file per command
//! in `commands/`; what an error says to people is in `error.rs`, what goes to the terminal in `console.rs`. It is part of the library
//! so that the Python package has the same command.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::console::Console;
use crate::error::CliError;
use crate::{commands, interrupt};

/// Animation in, physics added, animation out.
#[derive(Parser)]
#[command(name = "followthrough", version, about, long_about = LONG_ABOUT, after_long_help = EXIT_CODES)]
#[command(propagate_version = true, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Say nothing but errors and what was asked for
    #[arg(long, short, global = true)]
    quiet: bool,
}

const LONG_ABOUT: &str = "\
Animation in, physics added, animation out.

A shot file names an animation and the layers of physics that are put on it. Begin with `followthrough demo`, which \
needs no files; then `followthrough new` writes a shot file to change, `check` explains its mistakes and `bake` bakes it.

Where a command wants a clip, `sample:NAME` names one that comes with followthrough, as in `followthrough info sample:flag`.";

/// What scripts can rely on. The numbers are in [`crate::error`].
const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    the input cannot be read, or the bake failed
  2    the command line or the shot file has mistakes
  3    the output cannot be written
  4    `compare --within`: the clips differ by more than that
  5    `bake --strict`: everything was written, but the physics of a layer was off in more than a tenth of the frames
  130  interrupted; nothing that was baked is lost

Colours appear on terminals only, and not when NO_COLOR is set.";

#[derive(Subcommand)]
enum Command {
    Demo(commands::demo::Arguments),
    New(commands::new::Arguments),
    Check(commands::check::Arguments),
    Bake(commands::bake::Arguments),
    Train(commands::train::Arguments),
    Wedge(commands::wedge::Arguments),
    Info(commands::info::Arguments),
    Convert(commands::convert::Arguments),
    Render(commands::render::Arguments),
    Compare(commands::compare::Arguments),
    Tetmesh(commands::tetmesh::Arguments),
    Lattice(commands::lattice::Arguments),
    Pack(commands::pack::Arguments),
    Schema(commands::shell::Schema),
    Completions(commands::shell::Completions),
    Man(commands::shell::Man),
}

impl Command {
    fn run(&self, console: &Console) -> Result<(), CliError> {
        match self {
            Self::Demo(arguments) => arguments.run(console),
            Self::New(arguments) => arguments.run(console),
            Self::Check(arguments) => arguments.run(console),
            Self::Bake(arguments) => arguments.run(console),
            Self::Train(arguments) => arguments.run(console),
            Self::Wedge(arguments) => arguments.run(console),
            Self::Info(arguments) => arguments.run(console),
            Self::Convert(arguments) => arguments.run(console),
            Self::Render(arguments) => arguments.run(console),
            Self::Compare(arguments) => arguments.run(console),
            Self::Tetmesh(arguments) => arguments.run(console),
            Self::Lattice(arguments) => arguments.run(console),
            Self::Pack(arguments) => arguments.run(console),
            Self::Schema(arguments) => arguments.run(console),
            Self::Completions(arguments) => arguments.run(console),
            Self::Man(arguments) => arguments.run(console),
        }
    }

    /// Whether the answer, and any error, is one JSON object.
    fn json(&self) -> bool {
        match self {
            Self::Demo(arguments) => arguments.bake.json,
            Self::Check(arguments) => arguments.json,
            Self::Bake(arguments) => arguments.options.json,
            Self::Train(arguments) => arguments.json,
            Self::Wedge(arguments) => arguments.json,
            Self::Info(arguments) => arguments.json,
            Self::Convert(arguments) => arguments.json,
            Self::Render(arguments) => arguments.json,
            Self::Compare(arguments) => arguments.json,
            Self::Tetmesh(arguments) => arguments.json,
            Self::Lattice(arguments) => arguments.json,
            Self::Pack(arguments) => arguments.json,
            Self::New(_) | Self::Schema(_) | Self::Completions(_) | Self::Man(_) => false,
        }
    }
}

/// Runs the command with these words, the first of which is its own name, and gives back its exit code. It speaks on stdout and stderr
/// and listens to Ctrl-C, and may end the process: it is for programs that do nothing else.
///
/// ```
/// assert_eq!(followthrough::command::run(["followthrough", "completions", "fish"]), 0);
/// assert_eq!(followthrough::command::run(["followthrough", "bkae"]), 2);
/// ```
pub fn run<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> u8 {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(message) => {
            // a help text, or what is wrong with the words
            let _ = message.print();
            return message.exit_code().try_into().unwrap_or(crate::error::USAGE);
        }
    };
    interrupt::called_as(words);
    let console = Console::new(cli.quiet);
    match cli.command.run(&console) {
        Ok(()) => 0,
        Err(error) => {
            let code = error.exit_code();
            console.error(error, cli.command.json());
            code
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::error;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_exit_code_is_documented() {
        for code in
            [0, error::INPUT, error::USAGE, error::OUTPUT, error::DIFFERENT, error::STRICT, error::STOPPED]
        {
            assert!(
                EXIT_CODES.lines().any(|line| line.trim_start().starts_with(&format!("{code} "))),
                "{code}"
            );
        }
    }
}
