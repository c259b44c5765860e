//! The frames of a clip as a cache file wants them: one after another, in the file's unit, with velocities when asked for.

use glam::{DMat4, DVec3};

use super::WriteOptions;
use crate::{Clip, Frame, Result};

/// One frame on its way into a file.
pub(super) struct Moment {
    /// In the file's unit, not in metres.
    pub(super) frame: Frame,
    /// Per second, in the file's unit: for each mesh, each point. Empty when nobody asked for them.
    pub(super) velocities: Vec<Vec<[f32; 3]>>,
    /// For each mesh, how much of each of its morph targets. Empty when no mesh has any.
    pub(super) weights: Vec<Vec<f32>>,
}

/// Pulls the frames of a clip; never holds more than three.
#[derive(Clone)]
pub(super) struct Moments<'a> {
    clip: &'a Clip,
    scale: f64,
    /// For each mesh, what brings it into the file's space; instead of the scale.
    matrices: Option<Vec<DMat4>>,
    with_velocities: bool,
    next: usize,
    before: Option<Frame>,
    /// The frame at `next`, when the one before it had to look ahead.
    ahead: Option<Frame>,
}

impl<'a> Moments<'a> {
    pub(super) fn new(clip: &'a Clip, options: &WriteOptions) -> Self {
        let scale = 1.0 / options.unit_in_metres.unwrap_or(1.0);
        Self {
            clip,
            scale,
            matrices: None,
            with_velocities: options.velocities,
            next: 0,
            before: None,
            ahead: None,
        }
    }

    /// Frames whose meshes are each brought into a space of their own.
    pub(super) fn placed(clip: &'a Clip, options: &WriteOptions, matrices: Vec<DMat4>) -> Self {
        Self { matrices: Some(matrices), ..Self::new(clip, options) }
    }

    /// The next frame; `None` behind the last.
    pub(super) fn next(&mut self) -> Result<Option<Moment>> {
        let count = self.clip.frame_count();
        if self.next >= count {
            return Ok(None);
        }
        let frame = match self.ahead.take() {
            Some(frame) => frame,
            None => self.pull(self.next)?,
        };
        let has_targets = self.clip.meshes.iter().any(|mesh| !mesh.morph_targets.is_empty());
        let weights = if has_targets { self.clip.morph_weights(self.next)? } else { Vec::new() };
        self.next += 1;
        let mut velocities = Vec::new();
        if self.with_velocities {
            if self.next < count {
                self.ahead = Some(self.pull(self.next)?);
            }
            velocities = self.velocities(&frame);
            self.before = Some(frame.clone());
        }
        Ok(Some(Moment { frame, velocities, weights }))
    }

    fn pull(&self, index: usize) -> Result<Frame> {
        let mut frame = self.clip.checked_frame(index)?;
        if let Some(matrices) = &self.matrices {
            for (points, matrix) in frame.points.iter_mut().zip(matrices) {
                transform_points(points, matrix);
            }
        } else if self.scale != 1.0 {
            for value in frame.points.iter_mut().flatten().flatten() {
                *value = (f64::from(*value) * self.scale) as f32;
            }
            for transform in &mut frame.pose {
                transform.translation = (transform.translation.as_dvec3() * self.scale).as_vec3();
            }
        }
        Ok(frame)
    }

    /// Central differences, one-sided at the ends: v = (x₊ − x₋)/(t₊ − t₋), exact for motions of second order.
    fn velocities(&self, here: &Frame) -> Vec<Vec<[f32; 3]>> {
        let (before, ahead) = (self.before.as_ref().unwrap_or(here), self.ahead.as_ref().unwrap_or(here));
        let steps = f64::from(u8::from(self.before.is_some()) + u8::from(self.ahead.is_some()));
        let per_second = if steps > 0.0 { self.clip.frame_rate_hz / steps } else { 0.0 };
        let of_point = |(a, b): (&[f32; 3], &[f32; 3])| {
            std::array::from_fn(|i| ((f64::from(b[i]) - f64::from(a[i])) * per_second) as f32)
        };
        let of_mesh = |(a, b): (&Vec<[f32; 3]>, &Vec<[f32; 3]>)| a.iter().zip(b).map(of_point).collect();
        before.points.iter().zip(&ahead.points).map(of_mesh).collect()
    }
}

/// Moves points; to the bit when there is nothing to move.
pub(super) fn transform_points(points: &mut [[f32; 3]], matrix: &DMat4) {
    if *matrix != DMat4::IDENTITY {
        for point in points {
            *point = matrix.transform_point3(DVec3::from(point.map(f64::from))).as_vec3().to_array();
        }
    }
}

/// The lowest and the highest corner of the box around points; zeros around none.
pub(super) fn bounds(points: &[[f32; 3]]) -> [[f32; 3]; 2] {
    let Some(&first) = points.first() else { return [[0.0; 3]; 2] };
    points.iter().fold([first; 2], |[low, high], point| {
        [std::array::from_fn(|i| low[i].min(point[i])), std::array::from_fn(|i| high[i].max(point[i]))]
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{MemoryFrames, Mesh};

    #[test]
    fn velocities_of_a_parabola_are_exact_inside() {
        // x = t², so v = 2t; at the ends the one-sided difference is half a step off
        let mesh = Mesh::new("dot", vec![[0.0; 3]], &[]);
        let at = |i: usize| Frame { points: vec![vec![[(i * i) as f32, 0.0, 1.0]]], pose: Vec::new() };
        let frames = MemoryFrames::new((0..5).map(at).collect());
        let clip = Clip::new("c", 1.0, vec![mesh], None, Arc::new(frames));
        let options = WriteOptions { velocities: true, unit_in_metres: Some(0.5), ..WriteOptions::default() };
        let mut moments = Moments::new(&clip, &options);
        let mut found = Vec::new();
        while let Some(moment) = moments.next().unwrap() {
            assert_eq!(moment.frame.points[0][0][2], 2.0, "two halves of a metre");
            found.push(moment.velocities[0][0][0]);
        }
        assert_eq!(found, [2.0, 4.0, 8.0, 12.0, 14.0]);
    }

    #[test]
    fn a_box_holds_its_points() {
        assert_eq!(bounds(&[[1.0, 5.0, 0.0], [-1.0, 6.0, 0.0]]), [[-1.0, 5.0, 0.0], [1.0, 6.0, 0.0]]);
        assert_eq!(bounds(&[]), [[0.0; 3]; 2]);
    }
}
