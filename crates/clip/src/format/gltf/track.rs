//! Keyframe tracks: times, values, and the three ways to go from one key to the next.

use glam::Quat;

use super::accessor::Accessor;
use super::container::Container;
use super::document::Sampler;
use crate::Result;

/// How a track runs between its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interpolation {
    Step,
    Linear,
    CubicSpline,
}

/// One animated property: `width` numbers at each key.
#[derive(Clone, Debug)]
pub(super) struct Track {
    times: Vec<f64>,
    values: Vec<f32>,
    width: usize,
    interpolation: Interpolation,
}

/// What a channel moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    Translation,
    Rotation,
    Scale,
    Weights,
}

impl Track {
    /// Reads a sampler. `place` names it in errors.
    pub(super) fn new(
        container: &Container,
        sampler: &Sampler,
        property: Property,
        place: &str,
    ) -> Result<Self> {
        let bad = |problem: String| container.malformed(place, problem);
        let times: Vec<f64> =
            Accessor::<1>::read(container, sampler.input)?.into_iter().map(|[t]| f64::from(t)).collect();
        if times.is_empty() {
            return Err(bad("it has no keys".into()));
        }
        if !times.iter().all(|t| t.is_finite()) || !times.is_sorted() {
            return Err(bad("its times are not finite numbers that rise".into()));
        }
        let values: Vec<f32> = match property {
            Property::Translation | Property::Scale => {
                Accessor::<3>::read(container, sampler.output)?.into_flattened()
            }
            Property::Rotation => Accessor::<4>::read(container, sampler.output)?.into_flattened(),
            Property::Weights => Accessor::<1>::read(container, sampler.output)?.into_flattened(),
        };
        let interpolation = match sampler.interpolation.as_deref() {
            None | Some("LINEAR") => Interpolation::Linear,
            Some("STEP") => Interpolation::Step,
            Some("CUBICSPLINE") => Interpolation::CubicSpline,
            Some(other) => return Err(bad(format!("there is no interpolation `{other}`"))),
        };
        let keys = times.len() * if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        let width = match property {
            Property::Translation | Property::Scale => 3,
            Property::Rotation => 4,
            Property::Weights => values.len() / keys,
        };
        if width == 0 || values.len() != keys * width {
            return Err(bad(format!("{} numbers do not fit its {} keys", values.len(), times.len())));
        }
        if !values.iter().all(|value| value.is_finite()) {
            return Err(bad("a value is not a finite number".into()));
        }
        Ok(Self { times, values, width, interpolation })
    }

    pub(super) fn times(&self) -> &[f64] {
        &self.times
    }

    /// How many numbers a key has.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The numbers at a time; a key nearer than `tolerance` gives its own value, to the bit.
    pub(super) fn sample(&self, time: f64, tolerance: f64, out: &mut Vec<f32>) {
        out.clear();
        let next = self.times.partition_point(|&key| key <= time + tolerance);
        if next == 0 {
            return out.extend_from_slice(self.value(0));
        }
        let key = next - 1;
        let exact = next == self.times.len() || (time - self.times[key]).abs() <= tolerance;
        if exact || self.interpolation == Interpolation::Step {
            return out.extend_from_slice(self.value(key));
        }
        let span = self.times[next] - self.times[key];
        let s = ((time - self.times[key]) / span) as f32;
        let (from, to) = (self.value(key), self.value(next));
        if self.interpolation == Interpolation::Linear {
            return out.extend(from.iter().zip(to).map(|(a, b)| a * (1.0 - s) + b * s));
        }
        // Hermite's cubic: values p, tangents m per second
        let (s2, s3, span) = (s * s, s * s * s, span as f32);
        let (out_tangent, in_tangent) = (self.part(key, 2), self.part(next, 0));
        out.extend((0..self.width).map(|i| {
            (2.0 * s3 - 3.0 * s2 + 1.0) * from[i]
                + span * (s3 - 2.0 * s2 + s) * out_tangent[i]
                + (3.0 * s2 - 2.0 * s3) * to[i]
                + span * (s3 - s2) * in_tangent[i]
        }));
    }

    /// The rotation at a time: spherical between keys that are linear.
    pub(super) fn rotation(&self, time: f64, tolerance: f64, scratch: &mut Vec<f32>) -> Quat {
        let quaternion = |v: &[f32]| unit(Quat::from_xyzw(v[0], v[1], v[2], v[3]));
        let next = self.times.partition_point(|&key| key <= time + tolerance);
        let between = next > 0 && next < self.times.len() && (time - self.times[next - 1]).abs() > tolerance;
        if between && self.interpolation == Interpolation::Linear {
            let (t0, t1) = (self.times[next - 1], self.times[next]);
            let s = ((time - t0) / (t1 - t0)) as f32;
            return quaternion(self.value(next - 1)).slerp(quaternion(self.value(next)), s);
        }
        self.sample(time, tolerance, scratch);
        quaternion(scratch)
    }

    fn value(&self, key: usize) -> &[f32] {
        match self.interpolation {
            Interpolation::CubicSpline => self.part(key, 1),
            _ => &self.values[key * self.width..(key + 1) * self.width],
        }
    }

    /// In tangent, value or out tangent of a cubic key.
    fn part(&self, key: usize, part: usize) -> &[f32] {
        let start = (3 * key + part) * self.width;
        &self.values[start..start + self.width]
    }
}

/// The rotation that a quaternion means, whatever its length; none when it has no length.
pub(super) fn unit(quaternion: Quat) -> Quat {
    let length = quaternion.length();
    if length > 1e-20 && length.is_finite() { quaternion / length } else { Quat::IDENTITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(interpolation: Interpolation, width: usize, values: &[f32]) -> Track {
        Track { times: vec![0.0, 2.0], values: values.to_vec(), width, interpolation }
    }

    fn at(track: &Track, time: f64) -> Vec<f32> {
        let mut out = Vec::new();
        track.sample(time, 1e-9, &mut out);
        out
    }

    #[test]
    fn the_three_interpolations_agree_at_keys_and_differ_between() {
        let step = track(Interpolation::Step, 1, &[1.0, 3.0]);
        let linear = track(Interpolation::Linear, 1, &[1.0, 3.0]);
        // p0 = 1, p1 = 3, tangents 0: s = 1/4 gives 1 + 2 (3/16 - 2/64) = 1.3125
        let cubic = track(Interpolation::CubicSpline, 1, &[9.0, 1.0, 0.0, 0.0, 3.0, 9.0]);
        for track in [&step, &linear, &cubic] {
            assert_eq!(
                [at(track, -1.0), at(track, 0.0), at(track, 2.0), at(track, 5.0)],
                [[1.0], [1.0], [3.0], [3.0]]
            );
        }
        assert_eq!([at(&step, 0.5), at(&linear, 0.5), at(&cubic, 0.5)], [[1.0], [1.5], [1.3125]]);
    }

    #[test]
    fn tangents_are_per_second() {
        // a straight line of slope 1 through 1 and 3, written as a spline: it must stay straight
        let cubic = track(Interpolation::CubicSpline, 1, &[1.0, 1.0, 1.0, 1.0, 3.0, 1.0]);
        assert!((at(&cubic, 0.5)[0] - 1.5).abs() < 1e-6);
    }

    #[test]
    fn rotations_take_the_short_way_at_constant_speed() {
        let end = Quat::from_rotation_z(3.0);
        let values: Vec<f32> = Quat::IDENTITY.to_array().into_iter().chain((-end).to_array()).collect();
        let quarter = track(Interpolation::Linear, 4, &values).rotation(0.5, 1e-9, &mut Vec::new());
        assert!(quarter.abs_diff_eq(Quat::from_rotation_z(0.75), 1e-5), "{quarter}");
    }
}
