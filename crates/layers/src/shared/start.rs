//! `[layer.start]`: from the pose that a garment was drawn on into the first frame, before it.
//!
//! The frames on the way are a clip like any other ([`clip::LeadIn`]): guide and obstacles follow it as they follow the animation.

use clip::{Clip, FilePath, Frame, LeadIn};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::{Diagnostic, Figures, LayerError, Target};

/// From the pose that a garment was drawn on into the first frame: everything in the scene moves there, and the garment is simulated along.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Start {
    /// How long it takes to get from the pose to the first frame.
    #[schemars(extend("minimum" = 0.01, "maximum" = 60.0, "x-usual" = [0.2, 5.0]))]
    pub seconds: f64,
    /// A file whose first frame is the pose to start in: meshes and joints of the same names are taken from it. Default: the scene at
    /// rest, which is the bind pose of a skinned character, or the `frame` in which a garment was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pose: Option<FilePath>,
}

/// How long everything stands still for what is sewn, as a share of the way into the first frame.
pub(crate) const SEWING: f64 = 0.5;

impl Default for Start {
    fn default() -> Self {
        Self { seconds: 1.5, pose: None }
    }
}

impl Start {
    /// What does not fit the input; `path` is where the table stands among the layer's settings.
    pub(crate) fn check(&self, path: &str, input: &Target) -> Option<Diagnostic> {
        let error = self.frame(input).err()?;
        Some(Diagnostic::new(format!("{path}.pose"), error.to_string()))
    }

    /// The scene in the pose.
    pub(crate) fn frame(&self, input: &Target) -> Result<Frame, LayerError> {
        match &self.pose {
            None => Ok(input.clip.dressed_frame()),
            Some(file) => posed(&input.clip, &input.open(file)?),
        }
    }

    /// How many frames come before the first, when the pose of the first is then held for so many seconds, and these meshes are
    /// simulated. Where they are to be `sewn` everything stands still first: an arm that sets off at once is between the panels before they are
    /// joined, and no seam closes there.
    pub(crate) fn lead_in(&self, sewn: bool, pre_roll: f64, clip: &Clip, meshes: Vec<usize>) -> LeadIn {
        let frames = |seconds: f64| (seconds * clip.frame_rate_hz).ceil() as usize;
        let waiting = if sewn { frames(SEWING * self.seconds) } else { 0 };
        LeadIn::new(frames(self.seconds).max(1), frames(pre_roll), clip, meshes).after(waiting)
    }
}

/// The scene at rest, with what a file has in its first frame.
fn posed(scene: &Clip, file: &Clip) -> Result<Frame, LayerError> {
    let (mut frame, pose) = (scene.rest_frame(), file.frame(0)?);
    let mut found = false;
    for (mesh, points) in scene.meshes.iter().zip(&mut frame.points) {
        let Some(index) = file.mesh_index(&mesh.name) else { continue };
        let (got, wanted) = (pose.points[index].len(), points.len());
        if got != wanted {
            let name = &mesh.name;
            return Err(LayerError::new(format!(
                "`{name}` has {got} points there, and {wanted} in the scene"
            )));
        }
        points.clone_from(&pose.points[index]);
        found = true;
    }
    if let (Some(own), Some(theirs)) = (&scene.skeleton, &file.skeleton) {
        for (joint, transform) in own.joints.iter().zip(&mut frame.pose) {
            let Some(index) = theirs.joint_index(&joint.name) else { continue };
            *transform = pose.pose[index];
            found = true;
        }
    }
    match found {
        true => Ok(frame),
        false => Err(LayerError::new("it has no mesh and no joint that is called as one of the scene")),
    }
}

/// What had to be led apart before the first frame.
#[derive(Default)]
pub(crate) struct Disentangled {
    /// The most that crossed, and the most points that were inside something.
    most: [usize; 2],
    /// How many frames went by, and how many until nothing crossed.
    frames: usize,
    tangled: usize,
}

impl Disentangled {
    /// Takes note of how a frame went.
    pub(crate) fn note(&mut self, report: &contact::ContactReport) {
        self.most = [self.most[0].max(report.crossings), self.most[1].max(report.inside)];
        self.frames += 1;
        if report.is_tangled {
            self.tangled = self.frames;
        }
    }

    /// A sentence, where there was something to do.
    pub(crate) fn sentence(&self, rate: f64) -> Option<String> {
        let [crossings, inside] = self.most;
        if crossings + inside == 0 {
            return None;
        }
        let begin = format!("it began with {crossings} crossings and {inside} points inside obstacles");
        Some(match self.frames - self.tangled {
            0 => format!(
                "{begin}, which are not all led out when the first frame comes: give it more time, by `start.seconds` or `pre_roll`"
            ),
            left => format!("{begin}: all led out {:.2} s before the first frame", left as f64 / rate),
        })
    }
}

/// What to do when the first frame crosses something and nothing came before it: else every frame is spent on leading it out, and takes many times as long.
pub(crate) fn begins_crossed(figures: &Figures) -> Option<String> {
    let of = |name: &str| figures.get(name).unwrap_or(0.0);
    let crossings = of("intersections/obstacles") + of("intersections/each other");
    (crossings > 0.0).then(|| {
        format!(
            "it begins with {crossings} crossings, and leading them out while the animation goes on takes long and may not succeed: give it the time before the first frame, by `start = {{}}` (cloth) or `pre_roll`, or draw it outside"
        )
    })
}

#[cfg(test)]
mod tests {
    use clip::Mesh;

    use super::*;

    fn clip(name: &str, points: Vec<[f32; 3]>) -> Clip {
        Clip::still(Mesh::new(name, points, &[[0, 1, 2]]), 24.0, 1)
    }

    #[test]
    fn a_pose_is_found_by_names() {
        let scene = clip("shirt", vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        let moved = vec![[5.0; 3], [6.0, 5.0, 5.0], [5.0, 6.0, 5.0]];
        assert_eq!(posed(&scene, &clip("shirt", moved.clone())).unwrap().points[0], moved);
        let other = posed(&scene, &clip("hat", moved.clone())).unwrap_err();
        assert!(other.to_string().contains("no mesh and no joint"), "{other}");
        let more = posed(&scene, &clip("shirt", [moved, vec![[0.0; 3]]].concat())).unwrap_err();
        assert_eq!(more.to_string(), "`shirt` has 4 points there, and 3 in the scene");
    }

    #[test]
    fn it_says_when_all_is_led_out() {
        let mut told = Disentangled::default();
        let report =
            |crossings, is_tangled| contact::ContactReport { crossings, is_tangled, ..Default::default() };
        assert_eq!(told.sentence(24.0), None);
        for (crossings, is_tangled) in [(57, true), (12, true), (0, false), (0, false), (0, false)] {
            told.note(&report(crossings, is_tangled));
        }
        let sentence = told.sentence(12.0).unwrap();
        assert!(sentence.contains("57 crossings") && sentence.contains("0.25 s before"), "{sentence}");
        told.note(&report(3, true));
        assert!(told.sentence(12.0).unwrap().contains("start.seconds"));
    }
}
