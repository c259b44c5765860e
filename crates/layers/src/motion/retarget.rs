//! One clip's motion on another clip's skeleton.

use std::sync::Arc;

use clip::{Clip, Frame, Frames};
use motion::{Bone, Rig, Take};
use shot::LayerError;

use super::explained;
use super::figure::Figure;

/// The character of one clip, its meshes on it, in the motion of another: joints go by their names, feet stand on the floor.
pub fn retargeted(character: &Clip, motion: &Clip) -> Result<Clip, LayerError> {
    let source = Figure::of(motion)?;
    let mut own = Figure::of(character)?;
    own.first = 0;
    let (theirs, ours) = (rig(&source, motion), rig(&own, character));
    let (take, followed) = motion::retarget(&theirs, &source.take, &ours).map_err(explained)?;
    if followed < 3 {
        let names: Vec<&str> = ours.bones.iter().map(|bone| bone.name.as_str()).take(8).collect();
        let words = format!("of the joints {} none is called as those of the motion are", names.join(", "));
        return Err(LayerError::new(words)
            .with_help("joints are found by their parts: `LeftArm`, `r_foot`, `Spine1`"));
    }
    let count = take.frame_count();
    let mut clip = character.lasting(count);
    clip.frame_rate_hz = motion.frame_rate_hz;
    // its file knows of another animation
    clip.gltf = None;
    let frames = Retargeted { clip: clip.clone(), figure: own, take };
    Ok(clip.with_frames(Arc::new(frames)))
}

/// A figure's skeleton at rest, in metres.
pub(super) fn rig(figure: &Figure, clip: &Clip) -> Rig {
    let skeleton = clip.skeleton.as_ref().expect("the figure was read from one");
    let worlds = skeleton.world_from_joints(&skeleton.rest_pose());
    let (_, turn, place) = worlds[figure.joints[0]].to_scale_rotation_translation();
    let local = figure.joints.iter().skip(1).map(|&joint| skeleton.joints[joint].rest.rotation.as_dquat());
    let bones: Vec<Bone> = figure.take.bones.clone();
    Rig {
        bones,
        turns: std::iter::once(turn.as_dquat()).chain(local).map(|turn| turn.normalize()).collect(),
        root: place.as_dvec3() * figure.unit,
    }
}

struct Retargeted {
    clip: Clip,
    figure: Figure,
    take: Take,
}

impl Frames for Retargeted {
    fn count(&self) -> usize {
        self.take.frame_count()
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        if index >= self.count() {
            return Err(clip::Error::NoSuchFrame { index, count: self.count() });
        }
        self.figure.frame(&self.clip, &self.take, index)
    }
}
