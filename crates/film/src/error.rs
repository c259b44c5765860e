//! What can go wrong with films, pictures and reports.

use std::path::PathBuf;

/// Anything that goes wrong with baking a shot and writing what comes of it.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum Error {
    /// The bake itself failed, or the system refused to write.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Shot(#[from] shot::Error),
    /// Reading or writing a clip failed.
    #[error(transparent)]
    Clip(#[from] clip::Error),
    /// The bake was stopped by its user while outputs were being written.
    #[error("stopped while writing {}", path.display())]
    #[diagnostic(help("all frames are baked: run the same command again to write the files"))]
    Cancelled {
        /// The file that was not finished.
        path: PathBuf,
    },
    /// A shot of several clips, where there is room for one.
    #[error("the shot asks for several clips of its file, and here one is baked at a time")]
    #[diagnostic(help("bake them with `followthrough bake`, or name one with `clip` in place of `clips`"))]
    SeveralClips,
    /// A picture or film could not be made.
    #[error(transparent)]
    Render(#[from] render::Error),
    /// A pass of the film cannot be shown.
    #[error("`output.film.pass[{pass}]`, frame {frame}: {problem}")]
    Pass {
        /// Which pass, from zero.
        pass: usize,
        /// The frame, from zero.
        frame: usize,
        /// What is wrong.
        problem: String,
    },
    /// A picture of a field could not be made.
    #[error(transparent)]
    Fluid(fluid::Error),
}

impl Error {
    /// What to do about it.
    pub fn remedy(&self) -> Option<String> {
        miette::Diagnostic::help(self).map(|help| help.to_string())
    }
}
