//! What stands around a result in its pictures and is in no clip.

use clip::{Clip, Files};

use super::{Planned, prepare_error};
use crate::layer::Target;
use crate::{Error, FrameRange, input};

/// What stands in the scene and in no clip, each thing once.
pub(super) fn scenery(plan: &[Planned<'_>], input: &Clip, files: &Files) -> Result<Vec<Clip>, Error> {
    let mut all: Vec<Clip> = Vec::new();
    for member in plan.iter().flat_map(|planned| &planned.group.members) {
        // layers are asked on the input: where they stand is theirs, what they stand on is not asked for
        let mesh = member.mesh.min(input.meshes.len().saturating_sub(1));
        let target = Target { clip: input.clone(), mesh, files: files.clone() };
        for thing in member.entry.layer.scenery(&target).map_err(prepare_error(&member.entry.name))? {
            if !all.iter().any(|known| known.meshes == thing.meshes) {
                all.push(thing);
            }
        }
    }
    Ok(all)
}

/// A clip of the frames from `first` on with everything around it. What ends earlier stays in its last frame.
pub(super) fn surrounded(clip: &Clip, scenery: &[Clip], first: usize) -> Result<Clip, Error> {
    let count = clip.frame_count();
    let mut things = scenery.iter().filter(|thing| count > 0 && thing.frame_count() > 0);
    things.try_fold(clip.clone(), |scene, thing| {
        let range = FrameRange { first, last: first + count - 1 };
        let thing = input::cropped(&thing.lasting(first + count), range)?;
        Ok(scene.with_added(&thing, &clip::Placement::default()))
    })
}
