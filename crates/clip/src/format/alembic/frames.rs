//! Frames of an Alembic archive, read when they are asked for: points sampled and placed.

use std::collections::BTreeMap;

use glam::{DMat4, DVec3};

use super::read::{Archive, Property};
use crate::format::moments::transform_points;
use crate::format::sampling::bracket;
use crate::{Error, Frame, Frames, Result, first_not_finite};

/// A mesh of the archive.
pub(super) struct Body {
    pub(super) name: String,
    pub(super) points: Property,
    pub(super) point_count: usize,
    /// The properties of the transforms above it, from the outside.
    pub(super) transforms: Vec<BTreeMap<String, Property>>,
}

/// The archive's moving part.
pub(super) struct AlembicFrames {
    pub(super) archive: Archive,
    pub(super) bodies: Vec<Body>,
    pub(super) unit: f64,
    /// The time of the first frame, in seconds.
    pub(super) first: f64,
    pub(super) count: usize,
    pub(super) frame_rate_hz: f64,
}

impl Frames for AlembicFrames {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, index: usize) -> Result<Frame> {
        if index >= self.count {
            return Err(Error::NoSuchFrame { index, count: self.count });
        }
        let time = self.first + index as f64 / self.frame_rate_hz;
        let mut points = Vec::with_capacity(self.bodies.len());
        for body in &self.bodies {
            let mut of_mesh = body.sample(&self.archive, time, index)?;
            body.place(&self.archive, time, self.unit, &mut of_mesh)?;
            if let Some(point) = first_not_finite(&of_mesh) {
                return Err(Error::NotFinite { mesh: body.name.clone(), frame: index, point });
            }
            points.push(of_mesh);
        }
        Ok(Frame { points, pose: Vec::new() })
    }
}

impl Body {
    /// The points in the mesh's own space, linear between samples.
    fn sample(&self, archive: &Archive, time: f64, frame: usize) -> Result<Vec<[f32; 3]>> {
        let fetch = |sample: usize| {
            let points = archive.points(&self.points, sample)?;
            if points.len() != self.point_count {
                let what = format!("mesh `{}`", self.name);
                let (found, expected) = (points.len(), self.point_count);
                return Err(Error::FrameMismatch { frame, what, of: "points", found, expected });
            }
            Ok(points)
        };
        let (before, after, part) = samples(archive, &self.points, time)?;
        let mut points = fetch(before)?;
        if part > 0.0 {
            let next = fetch(after)?;
            for (a, b) in points.as_flattened_mut().iter_mut().zip(next.as_flattened()) {
                *a = (f64::from(*a) + part * (f64::from(*b) - f64::from(*a))) as f32;
            }
        }
        Ok(points)
    }

    /// Brings points into the world, in metres; to the bit when there is nothing to move.
    pub(super) fn place(
        &self,
        archive: &Archive,
        time: f64,
        unit: f64,
        points: &mut [[f32; 3]],
    ) -> Result<()> {
        let mut world = DMat4::from_scale(DVec3::splat(unit));
        for transform in &self.transforms {
            world *= parent_from_child(archive, transform, time)?;
        }
        transform_points(points, &world);
        Ok(())
    }
}

/// The samples on both sides of a time.
fn samples(archive: &Archive, property: &Property, time: f64) -> Result<(usize, usize, f64)> {
    let sampling = archive.sampling(property)?;
    let found = bracket(property.header.count as usize, |sample| sampling.time(sample), time);
    found.ok_or_else(|| archive.ogawa.malformed(&property.path, "it has no samples"))
}

/// The product of a transform's operations, the first outermost.
fn parent_from_child(archive: &Archive, properties: &BTreeMap<String, Property>, time: f64) -> Result<DMat4> {
    let (Some(ops), Some(values)) = (properties.get(".ops"), properties.get(".vals")) else {
        return Ok(DMat4::IDENTITY);
    };
    let codes = archive.numbers(ops, 0)?;
    let (before, after, part) = samples(archive, values, time)?;
    let mut numbers = archive.numbers(values, before)?;
    if part > 0.0 {
        let next = archive.numbers(values, after)?;
        numbers.iter_mut().zip(next).for_each(|(a, b)| *a += part * (b - *a));
    }
    let mut matrix = DMat4::IDENTITY;
    let mut rest = numbers.as_slice();
    for code in codes {
        let kind = code as u8 >> 4;
        let width = match kind {
            0 | 1 => 3,
            2 => 4,
            3 => 16,
            _ => 1,
        };
        let (channels, behind) = rest
            .split_at_checked(width)
            .filter(|(channels, _)| channels.iter().all(|x| x.is_finite()))
            .ok_or_else(|| {
                archive
                    .ogawa
                    .malformed(&values.path, "it has too few numbers for its operations, or bad ones")
            })?;
        rest = behind;
        matrix *= match kind {
            0 => DMat4::from_scale(DVec3::from_slice(channels)),
            1 => DMat4::from_translation(DVec3::from_slice(channels)),
            2 => {
                let axis = DVec3::from_slice(channels).normalize_or_zero();
                match axis == DVec3::ZERO {
                    true => DMat4::IDENTITY,
                    false => DMat4::from_axis_angle(axis, channels[3].to_radians()),
                }
            }
            3 => DMat4::from_cols_slice(channels),
            4 => DMat4::from_rotation_x(channels[0].to_radians()),
            5 => DMat4::from_rotation_y(channels[0].to_radians()),
            _ => DMat4::from_rotation_z(channels[0].to_radians()),
        };
    }
    Ok(matrix)
}
