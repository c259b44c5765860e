//! Where the middle of something animated is from frame to frame: what tells cuts from motion.

use std::collections::BTreeMap;

use clip::Clip;
use dynamics::{Steps, middle};
use geometry::Vec3;
use shot::LayerError;

/// Middles by frame, each asked for once.
#[derive(Default)]
pub(crate) struct Middles(BTreeMap<usize, Vec3>);

impl Middles {
    /// The same for the joints of a clip's skeleton.
    pub(crate) fn steps_of_joints(&mut self, index: usize, clip: &Clip) -> Result<Steps, LayerError> {
        self.steps(index, clip, |frame| {
            let Some(skeleton) = &clip.skeleton else { return Ok(Vec3::ZERO) };
            let joints = skeleton.world_from_joints(&clip.frame(frame)?.pose);
            let places: Vec<Vec3> = joints.iter().map(|joint| joint.w_axis.truncate().as_dvec3()).collect();
            Ok(middle(&places))
        })
    }

    /// How far it goes from frame to frame around frame `index` of a clip, and where the artist says that the clip was cut.
    pub(crate) fn steps(
        &mut self,
        index: usize,
        clip: &Clip,
        mut middle: impl FnMut(usize) -> Result<Vec3, LayerError>,
    ) -> Result<Steps, LayerError> {
        self.0.retain(|frame, _| *frame + 3 >= index);
        let mut middles = [None; 7];
        for (offset, place) in middles.iter_mut().enumerate() {
            let at = (index + offset).checked_sub(3).filter(|at| clip.has_frame(*at));
            let Some(at) = at else { continue };
            let own = match self.0.get(&at) {
                Some(own) => *own,
                None => middle(at)?,
            };
            self.0.insert(at, own);
            *place = Some(own);
        }
        let mut steps = Steps::between(|offset| middles.get(usize::try_from(offset + 3).ok()?).copied()?);
        for &cut in &clip.cuts {
            steps.mark(cut as isize - index as isize);
        }
        Ok(steps)
    }
}
