//! `compare --intersections`: pairs of triangles that cross, frame by frame, by the exact audit.

use std::collections::BTreeMap;

use clip::Clip;
use contact::{AuditedSurface, Crossing, audit};
use serde_json::{Value, json};

use crate::console::Console;
use crate::error::CliError;
use crate::source;

/// What crosses in a clip: each mesh with itself and with the others.
pub(super) struct Intersections {
    /// Pairs in each frame.
    per_frame: Vec<usize>,
    /// The first crossing of the first frame that has any.
    first: Option<(usize, Crossing)>,
    /// Pairs over all frames, by the two meshes they are of; zeros too.
    by_meshes: BTreeMap<[u32; 2], usize>,
}

impl Intersections {
    pub(super) fn count(clip: &Clip, console: &Console) -> Result<Self, CliError> {
        let listener = console.progress();
        let triangles: Vec<Vec<[u32; 3]>> = clip.meshes.iter().map(clip::Mesh::point_triangles).collect();
        let meshes = 0..clip.meshes.len() as u32;
        let pairs = meshes.clone().flat_map(|a| (a..meshes.end).map(move |b| [a, b]));
        let by_meshes = pairs.map(|pair| (pair, 0)).collect();
        let mut found = Self { per_frame: Vec::new(), first: None, by_meshes };
        let watched = source::watched(clip, "intersections", &listener);
        for index in 0..clip.frame_count() {
            let frame = watched.checked_frame(index)?;
            let parts = clip.meshes.iter().zip(&frame.points).zip(&triangles);
            let audited: Vec<AuditedSurface<f32>> = parts
                .map(|((mesh, points), triangles)| AuditedSurface {
                    name: &mesh.name,
                    points,
                    triangles,
                    is_obstacle: false,
                })
                .collect();
            let crossings = audit(&audited).map_err(|error| CliError::usage(error.to_string()))?;
            found.per_frame.push(crossings.len());
            for Crossing { first, second } in &crossings {
                *found.by_meshes.entry([first.0, second.0]).or_default() += 1;
            }
            if let (None, Some(crossing)) = (&found.first, crossings.first()) {
                found.first = Some((index, *crossing));
            }
        }
        listener.clear();
        Ok(found)
    }

    fn total(&self) -> usize {
        self.per_frame.iter().sum()
    }

    fn frames(&self) -> usize {
        self.per_frame.iter().filter(|pairs| **pairs > 0).count()
    }

    pub(super) fn json(&self, clip: &Clip) -> Value {
        let mesh = |mesh: u32| clip.meshes.get(mesh as usize).map(|m| &m.name);
        let part = |(of, triangle): (u32, u32)| json!({ "mesh": mesh(of), "triangle": triangle });
        let by_meshes = self.by_meshes.iter();
        let by_meshes: Vec<Value> =
            by_meshes.map(|(pair, total)| json!({ "meshes": pair.map(mesh), "total": total })).collect();
        json!({
            "total": self.total(),
            "frames_with_any": self.frames(),
            "most": self.per_frame.iter().max(),
            "first": self.first.map(|(frame, crossing)| {
                json!({ "frame": frame, "first": part(crossing.first), "second": part(crossing.second) })
            }),
            "by_meshes": by_meshes,
            "per_frame": self.per_frame,
        })
    }

    pub(super) fn text(&self, clip: &Clip, name: &str) -> String {
        let Some((frame, Crossing { first, second })) = self.first else {
            return format!("intersections of {name}: none in {} frames", self.per_frame.len());
        };
        let mesh = |mesh: u32| clip.meshes.get(mesh as usize).map_or("", |mesh| mesh.name.as_str());
        let mut text = format!(
            "intersections of {name}: {} pairs of triangles in {} of {} frames; the first at frame {frame}, triangle {} of {} and {} of {}",
            self.total(),
            self.frames(),
            self.per_frame.len(),
            first.1,
            mesh(first.0),
            second.1,
            mesh(second.0)
        );
        for ([a, b], total) in self.by_meshes.iter().filter(|_| clip.meshes.len() > 1) {
            let pair = if a == b {
                format!("{} with itself", mesh(*a))
            } else {
                format!("{} and {}", mesh(*a), mesh(*b))
            };
            text += &format!("\n  {pair}: {total}");
        }
        text
    }
}
