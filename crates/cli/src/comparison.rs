//! How far two animations are apart and how much each is stretched: what `compare` tells.

use clip::{Clip, FrameDistance, FrameStrain};
use serde_json::{Value, json};

/// What was found between two clips.
///
/// ```
/// let flag = samples::flag();
/// let found = followthrough::Comparison::of(&flag, &flag)?;
/// assert_eq!(found.largest(), 0.0);
/// assert_eq!(found.json(&flag, &flag)["topology"]["same"], true);
/// # Ok::<(), clip::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What differs between their meshes, a sentence each.
    pub differences: Vec<String>,
    /// Distances at every frame that both have; `None` when the meshes have nothing in common that could be measured.
    pub distances: Option<Vec<FrameDistance>>,
    /// Strains of the first and of the second.
    pub strains: [Vec<FrameStrain>; 2],
}

impl Comparison {
    /// Compares two clips.
    pub fn of(a: &Clip, b: &Clip) -> Result<Self, clip::Error> {
        Self::watched(a, b, |clip, _| clip.clone())
    }

    /// The same; `watch` sees each pass over a clip, with a word for it, and gives back the clip whose frames are then pulled.
    pub fn watched(
        a: &Clip,
        b: &Clip,
        mut watch: impl FnMut(&Clip, &str) -> Clip,
    ) -> Result<Self, clip::Error> {
        let differences = clip::topology_differences(a, b);
        let distances = match clip::distances(&watch(a, "distances"), b) {
            Ok(distances) => Some(distances),
            // an answer, not a failure, when the meshes themselves differ
            Err(clip::Error::FrameMismatch { .. }) if !differences.is_empty() => None,
            Err(error) => return Err(error),
        };
        let strains = [
            clip::strains(&watch(a, "strain of the first"))?,
            clip::strains(&watch(b, "strain of the second"))?,
        ];
        Ok(Self { differences, distances, strains })
    }

    /// The largest distance, in metres.
    pub fn largest(&self) -> f64 {
        self.distances.iter().flatten().map(|frame| frame.max).fold(0.0, f64::max)
    }

    /// The root mean square over frames of the distances, in metres.
    pub fn rms(&self) -> f64 {
        root_mean_square(self.distances.iter().flatten().map(|frame| frame.rms))
    }

    /// Frame, mesh and point of the largest distance.
    pub fn worst(&self) -> Option<(usize, usize, usize)> {
        let frames = self.distances.iter().flatten();
        let frame = frames.max_by(|a, b| a.max.total_cmp(&b.max).then(b.frame.cmp(&a.frame)))?;
        frame.worst.map(|(mesh, point)| (frame.frame, mesh, point))
    }

    /// For machines; the clips are those that were compared.
    pub fn json(&self, a: &Clip, b: &Clip) -> Value {
        let distance = self.distances.as_ref().map(|frames| {
            json!({
                "max": self.largest(),
                "rms": self.rms(),
                "worst": self.worst().map(|(frame, mesh, point)| {
                    json!({ "frame": frame, "mesh": a.meshes.get(mesh).map(|m| &m.name), "point": point })
                }),
                "per_frame": frames,
            })
        });
        let strain = |frames: &[FrameStrain]| {
            json!({
                "max_stretch": frames.iter().map(|frame| frame.max_stretch).fold(0.0, f64::max),
                "max_compression": frames.iter().map(|frame| frame.max_compression).fold(0.0, f64::max),
                "rms": root_mean_square(frames.iter().map(|frame| frame.rms)),
                "per_frame": frames,
            })
        };
        json!({
            "ok": true,
            "a": { "frames": a.frame_count(), "frame_rate_hz": a.frame_rate_hz },
            "b": { "frames": b.frame_count(), "frame_rate_hz": b.frame_rate_hz },
            "frames": a.frame_count().min(b.frame_count()),
            "topology": { "same": self.differences.is_empty(), "differences": self.differences },
            "distance": distance,
            "strain": { "a": strain(&self.strains[0]), "b": strain(&self.strains[1]) },
        })
    }
}

fn root_mean_square(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value * value, count + 1));
    (sum / count.max(1) as f64).sqrt()
}
