//! How large a scene is, and whether somebody may have meant another unit.

use crate::{Clip, Frame};

/// What moves and is higher than this, in metres, was perhaps drawn in centimetres; …
const TALL: f32 = 15.0;
/// … and what is lower than this in metres, perhaps in a larger unit.
const SMALL: f32 = 0.01;

impl Clip {
    /// The lowest and the highest coordinates of everything in a frame, joints too; nothing where nothing is.
    pub fn extent(&self, frame: &Frame) -> Option<[[f32; 3]; 2]> {
        let skeleton = self.skeleton.as_ref().filter(|skeleton| skeleton.joints.len() == frame.pose.len());
        let world = skeleton.map(|skeleton| skeleton.world_from_joints(&frame.pose));
        let joints = world.iter().flatten().map(|joint| joint.w_axis.truncate().to_array());
        let all = frame.points.iter().flatten().copied().chain(joints);
        all.filter(|p| p.iter().all(|c| c.is_finite())).fold(None, |known, p| {
            let [low, high] = known.unwrap_or([p, p]);
            Some([[0, 1, 2].map(|k| p[k].min(low[k])), [0, 1, 2].map(|k| p[k].max(high[k]))])
        })
    }

    /// A sentence where an animation is as high as a house or as low as a grain of sand: physics knows metres, and what is too large falls as if
    /// slowly.
    pub fn unlikely_size(&self) -> Option<String> {
        let [low, high] =
            self.has_frame(1).then(|| self.frame(0).ok())?.and_then(|frame| self.extent(&frame))?;
        let tall = high[1] - low[1];
        let size = (0..3).map(|k| high[k] - low[k]).fold(0.0, f32::max);
        if tall > TALL {
            let metres = format!("{tall:.1}");
            return Some(format!(
                "what moves is {metres} m high, and falls and swings like something of that size: if it was drawn in centimetres, say `unit = 0.01` (`--unit cm`)"
            ));
        }
        (size > 0.0 && size < SMALL).then(|| {
            format!("what moves is {:.2} mm large: if it was drawn in another unit than metres, say `unit` (`--unit`)", 1e3 * size)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Clip, Mesh};

    #[test]
    fn houses_and_grains_of_sand_are_told() {
        let of = |size: f32, frames: usize| {
            let points = vec![[0.0; 3], [size, 0.0, 0.0], [0.0, size, 0.0]];
            Clip::still(Mesh::new("t", points, &[[0, 1, 2]]), 24.0, frames).unlikely_size()
        };
        assert!(
            of(182.3, 2).is_some_and(|words| words.contains("182.3 m high") && words.contains("unit = 0.01"))
        );
        assert!(of(1e-3, 2).is_some_and(|words| words.contains("1.00 mm large")));
        // a person, an ant, and a hall that stands still
        assert_eq!([of(1.8, 2), of(0.012, 2), of(40.0, 1)], [None, None, None]);
    }
}
