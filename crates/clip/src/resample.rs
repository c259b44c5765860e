//! The same motion at another frame rate.

use std::sync::Arc;

use crate::{Clip, Error, Frame, Frames, Result, Transform};

impl Clip {
    /// The clip at another frame rate, as long as it was: points and joints linear between frames, rotations spherical. Across a cut nothing
    /// is mixed. What was read from glTF loses its document: ask its reader for the rate instead.
    #[must_use]
    pub fn resampled(&self, frame_rate_hz: f64) -> Clip {
        if frame_rate_hz == self.frame_rate_hz {
            return self.clone();
        }
        let mut clip = self.at_steps(self.frame_rate_hz / frame_rate_hz);
        clip.frame_rate_hz = frame_rate_hz;
        clip
    }

    /// The clip played so many times as fast, at its frame rate: half as fast it lasts twice as long. What lies between frames is found as by
    /// [`resampled`](Self::resampled).
    #[must_use]
    pub fn retimed(&self, speed: f64) -> Clip {
        if speed == 1.0 { self.clone() } else { self.at_steps(speed) }
    }

    /// The frames at every so many of its own.
    fn at_steps(&self, per_frame: f64) -> Clip {
        // a last frame that is met but for rounding is met
        let count = (self.frame_count().saturating_sub(1) as f64 / per_frame + 1e-6).floor() as usize + 1;
        let count = count.min(self.frame_count().saturating_mul(1_000_000));
        let frames = Resampled {
            frames: self.frames().clone(),
            cuts: self.cuts.clone(),
            per_frame,
            count: if self.frame_count() == 0 { 0 } else { count },
        };
        let mut clip = self.with_frames(Arc::new(frames));
        clip.cuts.iter_mut().for_each(|cut| *cut = (*cut as f64 / per_frame - 1e-6).ceil() as usize);
        clip.cuts.retain(|cut| *cut < count);
        clip.cuts.dedup();
        clip.gltf = None;
        clip
    }
}

struct Resampled {
    frames: Arc<dyn Frames>,
    cuts: Vec<usize>,
    /// Frames of the source in one of ours.
    per_frame: f64,
    count: usize,
}

impl Resampled {
    /// The frames of the source on both sides, and how far from the first to the second.
    fn at(&self, index: usize) -> Result<(usize, usize, f32)> {
        if index >= self.count {
            return Err(Error::NoSuchFrame { index, count: self.count });
        }
        let position = index as f64 * self.per_frame;
        let last = self.frames.count().saturating_sub(1);
        let before = ((position + 1e-6).floor() as usize).min(last);
        let part = position - before as f64;
        let after = (before + 1).min(last);
        let is_met = part < 1e-6 || after == before || self.cuts.contains(&after);
        Ok(if is_met { (before, before, 0.0) } else { (before, after, part as f32) })
    }
}

impl Frames for Resampled {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize) -> Result<Frame> {
        let (before, after, part) = self.at(index)?;
        let mut frame = self.frames.read(before)?;
        if before == after {
            return Ok(frame);
        }
        let next = self.frames.read(after)?;
        for (points, next) in frame.points.iter_mut().zip(&next.points) {
            for (x, y) in points.as_flattened_mut().iter_mut().zip(next.as_flattened()) {
                *x += (y - *x) * part;
            }
        }
        for (joint, next) in frame.pose.iter_mut().zip(&next.pose) {
            *joint = Transform {
                translation: joint.translation.lerp(next.translation, part),
                rotation: joint.rotation.slerp(next.rotation, part),
                scale: joint.scale.lerp(next.scale, part),
            };
        }
        Ok(frame)
    }

    fn grids(&self, index: usize) -> Result<Vec<crate::Grid>> {
        self.frames.grids(self.at(index)?.0)
    }

    fn morph_weights(&self, index: usize) -> Result<Vec<Vec<f32>>> {
        let (before, after, part) = self.at(index)?;
        let mut weights = self.frames.morph_weights(before)?;
        for (mesh, next) in weights.iter_mut().zip(self.frames.morph_weights(after)?) {
            mesh.iter_mut().zip(next).for_each(|(x, y)| *x += (y - *x) * part);
        }
        Ok(weights)
    }
}

#[cfg(test)]
mod tests {
    use glam::{Quat, Vec3};

    use super::*;
    use crate::{Joint, MemoryFrames, Mesh, Skeleton};

    /// A point that moves by one a frame, and a joint that turns by 0.1.
    fn moving(count: usize) -> Clip {
        let mesh = Mesh::new("m", vec![[0.0; 3]; 3], &[[0, 1, 2]]);
        let joint = Joint { name: "j".into(), parent: None, rest: Transform::IDENTITY };
        let frame = |i: usize| Frame {
            points: vec![vec![[i as f32, 0.0, 0.0]; 3]],
            pose: vec![Transform {
                translation: Vec3::splat(i as f32),
                rotation: Quat::from_rotation_z(0.1 * i as f32),
                ..Transform::IDENTITY
            }],
        };
        let frames = MemoryFrames::new((0..count).map(frame).collect());
        let skeleton = Skeleton { joints: vec![joint] };
        Clip::new("m", 120.0, vec![mesh], Some(skeleton), Arc::new(frames))
    }

    #[test]
    fn another_rate_keeps_the_length_and_the_motion() {
        let clip = moving(121);
        for rate in [24.0, 30.0, 48.0, 119.88, 240.0] {
            let other = clip.resampled(rate);
            assert_eq!(other.frame_rate_hz, rate);
            assert!(other.duration() <= 1.0 + 1e-6 && other.duration() > 1.0 - 1.0 / rate, "{rate}");
            for index in [0, 1, 7, other.frame_count() - 1] {
                let at = (index as f64 * 120.0 / rate) as f32;
                let frame = other.frame(index).unwrap();
                assert!((frame.points[0][0][0] - at).abs() < 1e-4, "{rate}: frame {index}");
                let turned = frame.pose[0].rotation.angle_between(Quat::from_rotation_z(0.1 * at));
                assert!(turned < 1e-3, "{rate}: frame {index}: {turned}");
            }
            assert!(other.frame(other.frame_count()).is_err());
        }
        // where frames coincide they are the same to the bit
        assert_eq!(clip.resampled(30.0).frame(3).unwrap(), clip.frame(12).unwrap());
    }

    /// Half as fast is twice as long, at the same rate; points and joints are in between.
    #[test]
    fn another_speed_keeps_the_rate() {
        let clip = moving(21);
        let slow = clip.retimed(0.5);
        assert_eq!((slow.frame_rate_hz, slow.frame_count()), (120.0, 41));
        assert_eq!(slow.frame(24).unwrap(), clip.frame(12).unwrap());
        let between = slow.frame(3).unwrap();
        assert!((between.points[0][0][0] - 1.5).abs() < 1e-6);
        assert!(between.pose[0].rotation.angle_between(Quat::from_rotation_z(0.15)) < 1e-3);
        let fast = clip.retimed(4.0);
        assert_eq!((fast.frame_count(), fast.frame(5).unwrap()), (6, clip.frame(20).unwrap()));
    }

    #[test]
    fn nothing_is_mixed_across_a_cut() {
        let mut clip = moving(21);
        clip.cuts = vec![5, 6];
        let other = clip.resampled(240.0);
        assert_eq!(other.cuts, [10, 12]);
        assert_eq!(other.frame(9).unwrap(), clip.frame(4).unwrap());
        assert_eq!(other.frame(10).unwrap(), clip.frame(5).unwrap());
        assert_eq!(clip.resampled(60.0).cuts, [3]);
    }

    /// Weights of morph targets go from frame to frame as points do.
    #[test]
    fn morph_weights_are_mixed_as_points_are() {
        struct Morphing(MemoryFrames);
        impl Frames for Morphing {
            fn count(&self) -> usize {
                self.0.count()
            }
            fn read(&self, index: usize) -> Result<Frame> {
                self.0.read(index)
            }
            fn morph_weights(&self, index: usize) -> Result<Vec<Vec<f32>>> {
                Ok(vec![vec![0.25 * index as f32, 1.0 - 0.25 * index as f32]])
            }
        }
        let clip = moving(3);
        let still = Frame { points: vec![vec![[0.0; 3]; 3]], pose: vec![Transform::IDENTITY] };
        let frames = Morphing(MemoryFrames::new(vec![still; 3]));
        let clip = Clip::new("m", 120.0, clip.meshes.clone(), clip.skeleton.clone(), Arc::new(frames));
        let other = clip.resampled(240.0);
        for (index, expected) in
            [(0, [0.0, 1.0]), (1, [0.125, 0.875]), (2, [0.25, 0.75]), (3, [0.375, 0.625])]
        {
            assert_eq!(other.frames().morph_weights(index).unwrap(), [expected.to_vec()], "{index}");
        }
    }

    #[test]
    fn a_clip_without_time_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        for rate in [0.0, -24.0, f64::NAN] {
            let mut clip = moving(2);
            clip.frame_rate_hz = rate;
            let refused = crate::write(folder.path().join("a.usda"), &clip, &crate::WriteOptions::default());
            assert!(refused.unwrap_err().to_string().contains("frames per second"), "{rate}");
        }
    }
}
