//! What a file of tets holds.

use std::path::Path;

use clip::{ReadOptions, TetGroup, Tets};
use geometry::{Bounds, TetQuality};
use serde_json::{Value, json};

use crate::error::CliError;

/// Tets, their groups, and how good they are.
pub(super) struct TetInfo<'a> {
    file: &'a Path,
    tets: Tets,
    quality: TetQuality,
}

impl<'a> TetInfo<'a> {
    pub(super) fn read(file: &'a Path, options: &ReadOptions) -> Result<Self, CliError> {
        let tets = clip::read_tets(file, options)?;
        let quality = TetQuality::of(&tets.mesh);
        Ok(Self { file, tets, quality })
    }

    fn format(&self) -> String {
        self.file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase()
    }

    fn size(&self) -> [f64; 3] {
        let points = self.tets.mesh.points();
        if points.is_empty() { [0.0; 3] } else { Bounds::of(points.iter().copied()).size().to_array() }
    }

    fn problems(&self) -> Vec<String> {
        let q = &self.quality;
        let mut problems = Vec::new();
        if q.tets == 0 {
            problems.push("there are no tets".to_owned());
        }
        if q.inverted > 0 {
            problems.push(format!("{} tets are inside out or have no volume", q.inverted));
        }
        if q.overfull_faces > 0 {
            problems.push(format!("{} faces belong to more than two tets", q.overfull_faces));
        }
        problems
    }

    pub(super) fn json(&self) -> Value {
        let q = &self.quality;
        let group = |group: &TetGroup| {
            let material = group.material.as_ref().map(|material| {
                json!({
                    "name": material.name,
                    "density_kg_m3": material.density,
                    "young_pa": material.young,
                    "poisson": material.poisson,
                })
            });
            json!({ "name": group.name, "tets": group.tets.len(), "material": material })
        };
        json!({
            "ok": true,
            "file": self.file,
            "format": self.format(),
            "points": q.points,
            "tets": q.tets,
            "parts": q.components,
            "volume_m3": q.volume,
            "size_m": self.size(),
            "smallest_dihedral_deg": q.smallest_dihedral.to_degrees(),
            "largest_dihedral_deg": q.largest_dihedral.to_degrees(),
            "groups": self.tets.groups.iter().map(group).collect::<Vec<_>>(),
            "problems": self.problems(),
        })
    }

    pub(super) fn text(&self) -> String {
        let q = &self.quality;
        let [x, y, z] = self.size();
        let mut lines = vec![format!(
            "{} ({}): {} tets on {} points, {} {}, {x:.2} × {y:.2} × {z:.2} m, {:.4e} m³",
            self.file.display(),
            self.format(),
            q.tets,
            q.points,
            q.components,
            if q.components == 1 { "part" } else { "parts" },
            q.volume,
        )];
        for group in &self.tets.groups {
            let material = group.material.as_ref().map_or(String::new(), |material| {
                let (young, poisson) = (material.young, material.poisson);
                format!(
                    " of {}: {:e} Pa, Poisson's ratio {poisson}, {} kg/m³",
                    material.name, young, material.density
                )
            });
            lines.push(format!("group {}: {} tets{material}", group.name, group.tets.len()));
        }
        let problems = self.problems();
        if problems.is_empty() {
            lines.push("no problems found".into());
        }
        lines.extend(problems.iter().map(|problem| format!("error: {problem}")));
        lines.join("\n")
    }
}
