//! Training files: what to learn from, what to test on; simulated, learnt, judged, written.
//!
//! A training file says its `kind`. [`upsample`](UpsampleTraining) is fine cloth over coarse, for games; [`motion`](MotionTraining) how
//! people move, for the layer `motion`. Every motion of the first is a shot that is baked into a store, so a training that was stopped goes on
//! where it was, and one whose dials of learning were changed only learns again.
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
mod material;
mod paint;
mod pairs;
mod prior;
mod propose;
mod report;
mod store;
mod take;
mod training;

use std::path::{Path, PathBuf};

use serde::Serialize;
use shot::{Context, Diagnostic, Registry, mistake_at, suggest, top_word};

pub use error::Error;
pub use file::{CoarseCloth, MeshSource, PaintedDetail, TrainingMotion, UpsampleKind, UpsampleTraining};
pub use judge::{Judged, Measured};
pub use material::{Material, MaterialMotion};
pub use prior::{JudgedTake, MotionKind, MotionReport, MotionTraining};
pub use propose::Proposal;
pub use report::UpsampleReport;
pub use take::TakeSource;

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

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Fine cloth over coarse.
    Upsample,
    /// How people move.
    Motion,
}

impl Kind {
    /// How files of it end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Upsample => "ftop",
            Self::Motion => "prior",
        }
    }
}

/// How a training went.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Report {
    /// Of fine cloth.
    Upsample(UpsampleReport),
    /// Of how people move.
    Motion(MotionReport),
}

impl Report {
    /// For people.
    pub fn text(&self) -> String {
        match self {
            Self::Upsample(report) => report.text(),
            Self::Motion(report) => report.text(),
        }
    }
}

/// What came out of a training.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The bytes of the file: an operator, or a prior.
    pub operator: Vec<u8>,
    /// How good it is.
    pub report: Report,
}

/// Kinds of training files.
pub const KINDS: [&str; 2] = ["upsample", "motion"];

/// Reads a training file from a text and trains: simulates what is missing, learns, judges.
pub fn train(
    name: &str,
    text: &str,
    folder: &Path,
    registry: &Registry,
    options: &Options,
    context: &Context<'_>,
) -> Result<Trained, Error> {
    let outside = options.allow_outside;
    match kind(name, text)? {
        Kind::Upsample => {
            training::Training::read(name, text, folder, registry, outside)?.run(options, context)
        }
        Kind::Motion => prior::Training::read(name, text, folder, registry, outside)?.run(options, context),
    }
}

/// Everything that is wrong with a training file, found without simulating anything.
pub fn check(name: &str, text: &str, folder: &Path, registry: &Registry) -> Result<(), Error> {
    match kind(name, text)? {
        Kind::Upsample => training::Training::read(name, text, folder, registry, false).map(drop),
        Kind::Motion => prior::Training::read(name, text, folder, registry, false).map(drop),
    }
}

/// What a training file trains; kinds that nobody knows are refused.
pub fn kind(name: &str, text: &str) -> Result<Kind, Error> {
    let refuse = |diagnostic: Diagnostic| {
        Err::<Kind, Error>(shot::Error::from(mistake_at(name, text, diagnostic)).into())
    };
    match top_word(name, text, "kind").map_err(shot::Error::from)?.as_deref() {
        Some("upsample") => Ok(Kind::Upsample),
        Some("motion") => Ok(Kind::Motion),
        Some(other) => {
            let message = format!("there is no kind of training `{other}`");
            refuse(Diagnostic::new("kind", message).with_help(suggest(other, KINDS)))
        }
        None => refuse(
            Diagnostic::new("", "a training file needs a `kind`")
                .with_help("write `kind = \"upsample\"` or `kind = \"motion\"` on top"),
        ),
    }
}
