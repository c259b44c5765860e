//! What a file of packed flesh holds.

use std::path::{Path, PathBuf};

use character::{Kit, MorphKit};
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
    packed: Packed,
}

enum Packed {
    /// Of a `skeleton` layer.
    Flesh(Box<Kit>),
    /// Of a `morph` layer.
    Sculpts(Box<MorphKit>),
}

impl FleshInfo {
    pub(super) fn read(file: &Path) -> Result<Self, CliError> {
        Self::of(file, &clip::Files::default().read(file)?)
    }

    /// What these bytes hold, which the file is made of.
    pub(crate) fn of(file: &Path, bytes: &[u8]) -> Result<Self, CliError> {
        let packed = if MorphKit::is_begun_by(bytes) {
            MorphKit::from_bytes(bytes).map(|kit| Packed::Sculpts(Box::new(kit)))
        } else {
            Kit::from_bytes(bytes).map(|kit| Packed::Flesh(Box::new(kit)))
        };
        let packed = packed
            .map_err(|error| CliError::input(format!("{}: {error}", file.display())))
            .map_err(|error| error.with_help("pack it again with `followthrough pack`"))?;
        Ok(Self { file: file.to_owned(), bytes: bytes.len(), packed })
    }

    pub(crate) fn json(&self) -> Value {
        let mut answer = match &self.packed {
            Packed::Flesh(kit) => {
                let mesh = |(name, points): &(String, usize)| json!({ "name": name, "points": points });
                json!({
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
            Packed::Sculpts(kit) => json!({
                "joints": kit.joint_count(),
                "joint_names": kit.names().joints,
                "meshes": [{ "name": kit.names().mesh, "points": kit.point_count() }],
                "points": kit.point_count(),
                "coefficients": kit.mode_count(),
                "channels": kit.names().channels,
                "targets": targets(kit),
                "steps_per_second": kit.step().recip(),
            }),
        };
        answer["ok"] = json!(true);
        answer["file"] = json!(self.file);
        answer["format"] = json!("flesh");
        answer["bytes"] = json!(self.bytes);
        answer
    }

    pub(crate) fn text(&self) -> String {
        let head = format!("{} (flesh): {}", self.file.display(), size(self.bytes as u64));
        let rest = match &self.packed {
            Packed::Flesh(kit) => {
                let meshes: Vec<String> =
                    kit.meshes().iter().map(|(name, points)| format!("{name} ({points} points)")).collect();
                vec![
                    format!("skin: {} points of {}", kit.point_count(), meshes.join(", ")),
                    format!(
                        "simulated: {} coefficients, of which bones hold {}, in {} regions",
                        kit.coefficient_count(),
                        kit.known_count(),
                        kit.region_count()
                    ),
                    pose(kit.joint_names(), &[]),
                    steps(kit.step()),
                ]
            }
            Packed::Sculpts(kit) => vec![
                format!("skin: {} points of {}", kit.point_count(), kit.names().mesh),
                format!(
                    "simulated: {} coordinates of the targets {}",
                    kit.mode_count(),
                    targets(kit).join(", ")
                ),
                pose(&kit.names().joints, &kit.names().channels),
                steps(kit.step()),
            ],
        };
        [vec![head], rest].concat().join("\n")
    }
}

fn targets(kit: &MorphKit) -> Vec<String> {
    kit.report().sculpt_errors.iter().map(|(name, _)| name.clone()).collect()
}

fn pose(joints: &[String], channels: &[String]) -> String {
    let also = if channels.is_empty() { String::new() } else { format!("; and {}", channels.join(", ")) };
    format!("pose: {} joints: {}{also}", joints.len(), joints.join(", "))
}

fn steps(step: f64) -> String {
    format!("steps: {:.0} a second", step.recip())
}
