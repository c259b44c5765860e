//! What a file of packed flesh holds.

use std::path::{Path, PathBuf};

use character::Kit;
use serde_json::{Value, json};

use crate::console::size;
use crate::error::CliError;

/// Whether a file is called as packed flesh is.
pub(super) fn is_one(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("flesh"))
}

/// Packed flesh, read and checked.
pub(crate) struct FleshInfo {
    file: PathBuf,
    bytes: usize,
    kit: Kit,
}

impl FleshInfo {
    pub(super) fn read(file: &Path) -> Result<Self, CliError> {
        Self::of(file, &clip::Files::default().read(file)?)
    }

    /// What these bytes hold, which the file is made of.
    pub(crate) fn of(file: &Path, bytes: &[u8]) -> Result<Self, CliError> {
        let kit = Kit::from_bytes(bytes)
            .map_err(|error| CliError::input(format!("{}: {error}", file.display())))
            .map_err(|error| error.with_help("pack it again with `followthrough pack`"))?;
        Ok(Self { file: file.to_owned(), bytes: bytes.len(), kit })
    }

    pub(crate) fn json(&self) -> Value {
        let kit = &self.kit;
        let mesh = |(name, points): &(String, usize)| json!({ "name": name, "points": points });
        json!({
            "ok": true,
            "file": self.file,
            "format": "flesh",
            "bytes": self.bytes,
            "joints": kit.joint_count(),
            "joint_names": kit.joint_names(),
            "meshes": kit.meshes().iter().map(mesh).collect::<Vec<_>>(),
            "points": kit.point_count(),
            "coefficients": kit.coefficient_count(),
            "held_by_bones": kit.known_count(),
            "regions": kit.region_count(),
            "steps_per_second": kit.step().recip(),
        })
    }

    pub(crate) fn text(&self) -> String {
        let kit = &self.kit;
        let meshes: Vec<String> =
            kit.meshes().iter().map(|(name, points)| format!("{name} ({points} points)")).collect();
        [
            format!("{} (flesh): {}", self.file.display(), size(self.bytes as u64)),
            format!("skin: {} points of {}", kit.point_count(), meshes.join(", ")),
            format!(
                "simulated: {} coefficients, of which bones hold {}, in {} regions",
                kit.coefficient_count(),
                kit.known_count(),
                kit.region_count()
            ),
            format!("pose: {} joints: {}", kit.joint_count(), kit.joint_names().join(", ")),
            format!("steps: {:.0} a second", kit.step().recip()),
        ]
        .join("\n")
    }
}
