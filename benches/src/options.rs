//! What a benchmark is told on its command line.

use std::process::ExitCode;

/// Why a benchmark could not be run.
pub(crate) type BoxedError = Box<dyn std::error::Error>;

/// Runs a benchmark that has no options.
pub(crate) fn without_options(options: &[String], measure: fn() -> Result<(), BoxedError>) -> ExitCode {
    if let Some(option) = options.first() {
        eprintln!("unknown option {option}; there are none");
        return ExitCode::from(2);
    }
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
