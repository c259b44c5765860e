//! `compare --intersections`: pairs of triangles that cross, frame by frame, by the exact audit.

use clip::Clip;
use contact::{Audited, Crossing, audit};
use serde_json::{Value, json};

use crate::source;
use crate::trouble::Trouble;
use crate::voice::Voice;

/// What crosses in a clip: each mesh with itself and with the others.
pub(super) struct Intersections {
    /// Pairs in each frame.
    per_frame: Vec<usize>,
    /// The first crossing of the first frame that has any.
    first: Option<(usize, Crossing)>,
}

impl Intersections {
    pub(super) fn count(clip: &Clip, voice: &Voice) -> Result<Self, Trouble> {
        let listener = voice.progress();
        let triangles: Vec<Vec<[u32; 3]>> = clip.meshes.iter().map(clip::Mesh::point_triangles).collect();
        let mut found = Self { per_frame: Vec::new(), first: None };
        let watched = source::watched(clip, "intersections", &listener);
        for index in 0..clip.frame_count() {
            let frame = watched.checked_frame(index)?;
            let parts = clip.meshes.iter().zip(&frame.points).zip(&triangles);
            let audited: Vec<Audited<f32>> = parts
                .map(|((mesh, points), triangles)| Audited {
                    name: &mesh.name,
                    points,
                    triangles,
                    is_obstacle: false,
                })
                .collect();
            let crossings = audit(&audited).map_err(|error| Trouble::usage(error.to_string()))?;
            found.per_frame.push(crossings.len());
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
        let part = |(mesh, triangle): (u32, u32)| json!({ "mesh": clip.meshes.get(mesh as usize).map(|m| &m.name), "triangle": triangle });
        json!({
            "total": self.total(),
            "frames_with_any": self.frames(),
            "most": self.per_frame.iter().max(),
            "first": self.first.map(|(frame, crossing)| {
                json!({ "frame": frame, "first": part(crossing.first), "second": part(crossing.second) })
            }),
            "per_frame": self.per_frame,
        })
    }

    pub(super) fn text(&self, clip: &Clip, name: &str) -> String {
        let Some((frame, Crossing { first, second })) = self.first else {
            return format!("intersections of {name}: none in {} frames", self.per_frame.len());
        };
        let mesh = |part: (u32, u32)| clip.meshes.get(part.0 as usize).map_or("", |mesh| mesh.name.as_str());
        format!(
            "intersections of {name}: {} pairs of triangles in {} of {} frames; the first at frame {frame}, triangle {} of {} and {} of {}",
            self.total(),
            self.frames(),
            self.per_frame.len(),
            first.1,
            mesh(first),
            second.1,
            mesh(second)
        )
    }
}
