//! Training files: what to learn from, what to test on; simulated, learnt, judged, written.
//!
//! A training file says its `kind`; there is one, [`upsample`](UpsampleTraining): fine cloth over coarse, for games. Every motion is a shot
//! that is baked into a store, so a training that was stopped goes on where it was, and one whose dials of learning were changed only
//! learns again.
//!
//! ```
//! let text = r#"
//! kind = "upsample"
//! coarse = { sample = "game_curtain_coarse" }
//! fine = { sample = "game_curtain" }
//! follow = { group = "held" }
//!
//! [[learn]]
//! sample = "game_curtan"
//! "#;
//! let registry = samples::all().iter().fold(shot::Registry::empty(), |all, s| all.with_sample(s.name, s.make));
//! let Err(train::Error::Shot(shot::Error::Invalid(found))) = train::check("curtain.toml", text, "".as_ref(), &registry)
//! else {
//!     panic!("a sample is misspelt")
//! };
//! assert_eq!(found.0[0].line(), 8);
//! assert!(found.0[0].remedy().unwrap().contains("did you mean `game_curtain`?"));
//! ```

mod cloth;
mod error;
mod file;
mod judge;
mod pairs;
mod store;
mod training;

use std::path::{Path, PathBuf};

use shot::{Context, Diagnostic, Registry, mistake_at, suggest, top_word};

pub use error::Error;
pub use file::{CoarseCloth, MeshSource, TrainingMotion, UpsampleKind, UpsampleTraining};
pub use judge::{Judged, Measured};
pub use training::Report;

/// How to train. Nothing here changes what is learnt from a motion, only how much of it there is and where it is kept.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder of pairs, harmonics and report.
    pub work: PathBuf,
    /// A part of every motion only: something that moves, soon.
    pub quick: bool,
    /// Only learn: pairs that are not there are not simulated.
    pub relearn: bool,
    /// How many threads to use; one per core when `None`. The result does not depend on it.
    pub threads: Option<usize>,
    /// Lets files name others outside their own folders.
    pub allow_outside: bool,
}

/// What came out of a training.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The bytes of the operator file.
    pub operator: Vec<u8>,
    /// How good it is.
    pub report: Report,
}

/// Kinds of training files.
pub const KINDS: [&str; 1] = ["upsample"];

/// Reads a training file from a text and trains: simulates what is missing, learns, judges.
pub fn train(
    name: &str,
    text: &str,
    folder: &Path,
    registry: &Registry,
    options: &Options,
    context: &Context<'_>,
) -> Result<Trained, Error> {
    kind(name, text)?;
    training::Training::read(name, text, folder, registry, options.allow_outside)?.run(options, context)
}

/// Everything that is wrong with a training file, found without simulating anything.
pub fn check(name: &str, text: &str, folder: &Path, registry: &Registry) -> Result<(), Error> {
    kind(name, text)?;
    training::Training::read(name, text, folder, registry, false).map(drop)
}

/// Refuses kinds that nobody knows.
fn kind(name: &str, text: &str) -> Result<(), Error> {
    let refuse = |diagnostic: Diagnostic| Err(shot::Error::from(mistake_at(name, text, diagnostic)).into());
    match top_word(name, text, "kind").map_err(shot::Error::from)?.as_deref() {
        Some("upsample") => Ok(()),
        Some(other) => {
            let message = format!("there is no kind of training `{other}`");
            refuse(Diagnostic::new("kind", message).with_help(suggest(other, KINDS)))
        }
        None => refuse(
            Diagnostic::new("", "a training file needs a `kind`")
                .with_help("write `kind = \"upsample\"` on top"),
        ),
    }
}
