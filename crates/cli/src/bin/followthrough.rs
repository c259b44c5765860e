//! The `followthrough` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(followthrough::command::run(std::env::args_os()))
}
