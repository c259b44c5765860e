//! What an operator file holds.

use std::path::{Path, PathBuf};

use live::{Format, Operator};
use serde_json::{Value, json};

use crate::console::size;
use crate::error::CliError;

/// Whether a file is called as operators are.
pub(super) fn is_one(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ftop"))
}

/// An operator, read and checked.
pub(super) struct OperatorInfo {
    file: PathBuf,
    operator: Operator<Vec<u8>>,
}

impl OperatorInfo {
    pub(super) fn read(file: &Path) -> Result<Self, CliError> {
        let bytes = clip::Files::default().read(file)?;
        let operator = Operator::read(bytes)
            .map_err(|error| CliError::input(format!("{}: {error}", file.display())))
            .map_err(|error| error.with_help("train again with `followthrough train`"))?;
        Ok(Self { file: file.to_owned(), operator })
    }

    fn format(&self) -> &'static str {
        match self.operator.counts().format {
            None => "none",
            Some(Format::Eight) => "8 bits",
            Some(Format::Half) => "16 bits",
            Some(Format::Single) => "32 bits",
        }
    }

    pub(super) fn json(&self) -> Value {
        let counts = self.operator.counts();
        let settings = self.operator.settings();
        let held = self.operator.coarse_skin().filter(|skin| skin.attachment >= 1.0).count();
        json!({
            "ok": true,
            "file": self.file,
            "format": "ftop",
            "version": live::VERSION,
            "bytes": self.operator.byte_count(),
            "coarse": { "points": counts.coarse, "triangles": counts.coarse_triangles, "held": held },
            "fine": { "points": counts.fine, "triangles": counts.fine_triangles, "attached": counts.attached },
            "subdivision_weights": counts.entries,
            "rank": counts.rank,
            "stored_in": self.format(),
            "waves": counts.modes,
            "known_distance": self.operator.known(),
            "joints": self.operator.joints().collect::<Vec<_>>(),
            "capsules": counts.capsules,
            "settings": {
                "rate_hz": settings.rate_hz,
                "gravity": settings.gravity,
                "density": settings.density,
                "stretch": settings.stretch,
                "shear": settings.shear,
                "bend": settings.bend,
                "compression": settings.compression,
                "damping": settings.damping,
                "drag": settings.drag,
                "skin_drag": settings.skin_drag,
                "friction": settings.friction,
                "thickness": settings.thickness,
            },
        })
    }

    pub(super) fn text(&self) -> String {
        let counts = self.operator.counts();
        let joints: Vec<&str> = self.operator.joints().collect();
        [
            format!("{} (operator): {}", self.file.display(), size(self.operator.byte_count() as u64)),
            format!("simulated: {} points, {} triangles", counts.coarse, counts.coarse_triangles),
            format!(
                "shown: {} points, {} triangles, {} of the points with the body",
                counts.fine, counts.fine_triangles, counts.attached
            ),
            format!("folds: {} independent ones, in {}", counts.rank, self.format()),
            format!("waves: {}", counts.modes),
            format!("hangs on: {}", joints.join(", ")),
            format!("capsules: {}", counts.capsules),
        ]
        .join("\n")
    }
}
