//! What stands around a simulated mesh without being in the clip: obstacles from files, and simple shapes. To be drawn beside the result.

use std::sync::Arc;

use clip::{Clip, Frame, Frames, Mesh};
use geometry::Vec3;
use glam::DQuat;

use shot::{LayerError, Target};

use super::contact::{Contact, Form, Obstacle};

impl Contact {
    /// The obstacles that are no meshes of the clip, each as a clip of its own, frame by frame beside the input's. Planes have no end and are left out.
    pub(crate) fn scenery(&self, input: &Target) -> Result<Vec<Clip>, LayerError> {
        let mut scenery = Vec::new();
        for (number, obstacle) in self.obstacles.iter().flatten().enumerate() {
            match (&obstacle.file, obstacle.shape) {
                (Some(file), None) => scenery.push(input.open(file)?),
                (None, Some(shape)) if shape != Form::Plane => {
                    scenery.push(self.shape_clip(number, obstacle, input)?);
                }
                _ => {}
            }
        }
        Ok(scenery)
    }

    fn shape_clip(&self, number: usize, obstacle: &Obstacle, input: &Target) -> Result<Clip, LayerError> {
        let name = format!("obstacle {}", number + 1);
        let surface = obstacle.shaped(&name, self).map_err(LayerError::new)?;
        let rest = surface.rest_positions.iter().map(|p| p.as_vec3().to_array()).collect();
        let rate = input.clip.frame_rate_hz;
        let frames = ShapeFrames {
            points: surface.rest_positions.clone(),
            centre: Vec3::from(obstacle.centre),
            velocity: Vec3::from(obstacle.velocity) / rate,
            spin: Vec3::from(obstacle.spin.map(f64::to_radians)) / rate,
            count: input.clip.frame_count(),
        };
        let mesh = Mesh::new(name.clone(), rest, &surface.triangles);
        Ok(Clip::new(name, rate, vec![mesh], None, Arc::new(frames)))
    }
}

/// A shape on its way: x(i) = c + i v + R(i ω) (x̄ − c), v and ω by frame.
struct ShapeFrames {
    points: Vec<Vec3>,
    centre: Vec3,
    velocity: Vec3,
    spin: Vec3,
    count: usize,
}

impl Frames for ShapeFrames {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        if index >= self.count {
            return Err(clip::Error::NoSuchFrame { index, count: self.count });
        }
        let turn = DQuat::from_scaled_axis(self.spin * index as f64);
        let middle = self.centre + self.velocity * index as f64;
        let placed = |p: &Vec3| (middle + turn * (*p - self.centre)).as_vec3().to_array();
        Ok(Frame { points: vec![self.points.iter().map(placed).collect()], pose: Vec::new() })
    }
}
