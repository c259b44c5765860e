//! A simple picture of a volume: rays from the front, lit from one direction with shadows in the smoke itself.

use super::{ColorMap, Picture, Ramp};
use crate::{Domain, Error, Field};

/// How a volume is looked at. The eye looks along −z, turned about the vertical and tilted, from far away.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeLook {
    /// Turn of the camera about the vertical, radians.
    pub turn: f64,
    /// Tilt of the camera downwards, radians.
    pub tilt: f64,
    /// Direction to the light, any length.
    pub light: [f64; 3],
    /// Share of the light that comes from everywhere.
    pub ambient: f32,
    /// How much one metre of solid smoke takes from a ray: the optical depth.
    pub thickness: f64,
    /// From field to smoke.
    pub ramp: Ramp,
    /// Colours of thin to dense smoke; alpha scales its density.
    pub colors: ColorMap,
}

impl Default for VolumeLook {
    fn default() -> Self {
        Self {
            turn: 0.4,
            tilt: 0.25,
            light: [0.5, 1.0, 0.6],
            ambient: 0.25,
            thickness: 12.0,
            ramp: Ramp { clear: 0.0, solid: 1.0 },
            colors: ColorMap::ink([0.9, 0.88, 0.85]),
        }
    }
}

/// The picture of a field in a box, over nothing.
pub fn volume_picture(
    field: &Field,
    domain: &Domain,
    size: [usize; 2],
    look: &VolumeLook,
) -> Result<Picture, Error> {
    field.check("field", domain.points())?;
    let lengths = domain.axes.map(|a| a.length);
    let step = domain.spacings().into_iter().fold(f64::INFINITY, f64::min);
    let radius = 0.5 * lengths.iter().map(|l| l * l).sum::<f64>().sqrt();
    let reach = light_reach(field, domain, look, step);
    let (st, ct) = look.turn.sin_cos();
    let (sp, cp) = look.tilt.sin_cos();
    let right = [ct, 0.0, -st];
    let forward = [-st * cp, -sp, -ct * cp];
    let up = [-st * sp, cp, -ct * sp];
    let aspect = size[0] as f64 / size[1].max(1) as f64;
    let density = |p: [f64; 3]| look.ramp.level(linear(field, domain, p));
    Ok(Picture::paint(size[0], size[1], |x, y| {
        let (a, b) = ((2.0 * x - 1.0) * radius * aspect, (2.0 * y - 1.0) * radius);
        let from = [0, 1, 2].map(|d| 0.5 * lengths[d] + a * right[d] + b * up[d] - radius * forward[d]);
        let Some((enter, leave)) = cross(from, forward, lengths) else { return [0.0; 4] };
        let mut color = [0.0_f32; 4];
        let mut s = enter + 0.5 * step;
        while s < leave && color[3] < 0.995 {
            let p = [0, 1, 2].map(|d| from[d] + s * forward[d]);
            let level = density(p);
            if level > 0.0 {
                let smoke = look.colors.color(level);
                let opacity = 1.0 - (-look.thickness * step * f64::from(level * smoke[3])).exp() as f32;
                let lit = look.ambient + (1.0 - look.ambient) * linear(&reach, domain, p);
                let straight = if smoke[3] > 0.0 { 1.0 / smoke[3] } else { 0.0 };
                let share = (1.0 - color[3]) * opacity;
                (0..3).for_each(|k| color[k] += share * lit * smoke[k] * straight);
                color[3] += share;
            }
            s += step;
        }
        color
    }))
}

/// How much light reaches each point: marched from the point towards the light.
fn light_reach(field: &Field, domain: &Domain, look: &VolumeLook, step: f64) -> Field {
    use rayon::prelude::*;
    let lengths = domain.axes.map(|a| a.length);
    let norm = look.light.iter().map(|l| l * l).sum::<f64>().sqrt();
    if norm == 0.0 {
        return Field::constant(field.points, 1.0);
    }
    let light = look.light.map(|l| l / norm);
    let [nx, ny, _] = field.points;
    // coarse strides: shadows are soft
    let stride = 2.0 * step;
    let mut reach = Field::constant(field.points, 1.0);
    reach.values.par_chunks_mut(nx).enumerate().for_each(|(row, line)| {
        let index = [0.0, (row % ny) as f64, (row / ny) as f64];
        for (x, value) in line.iter_mut().enumerate() {
            let start = [0, 1, 2]
                .map(|d| domain.axes[d].place(if d == 0 { x as f64 } else { index[d] }) * lengths[d]);
            let Some((_, leave)) = cross(start, light, lengths) else { continue };
            let mut depth = 0.0;
            let mut s = stride;
            while s < leave && depth < 8.0 {
                let p = [0, 1, 2].map(|d| start[d] + s * light[d]);
                let level = look.ramp.level(linear(field, domain, p));
                depth += look.thickness * stride * f64::from(level * look.colors.color(level)[3]);
                s += stride;
            }
            *value = (-depth).exp() as f32;
        }
    });
    reach
}

/// Trilinear, at a place in metres.
fn linear(field: &Field, domain: &Domain, place: [f64; 3]) -> f32 {
    let [nx, ny, _] = field.points;
    let taps = [0, 1, 2].map(|d| {
        let last = field.points[d] - 1;
        let index = domain.axes[d].index(place[d] / domain.axes[d].length).clamp(0.0, last as f64);
        let low = (index as usize).min(last.saturating_sub(1));
        (low, (low + 1).min(last), (index - low as f64) as f32)
    });
    let at = |x: usize, y: usize, z: usize| field.values[x + nx * (y + ny * z)];
    let mix = |a: f32, b: f32, t: f32| a + t * (b - a);
    let [(x0, x1, s), (y0, y1, t), (z0, z1, r)] = taps;
    let row = |y: usize, z: usize| mix(at(x0, y, z), at(x1, y, z), s);
    mix(mix(row(y0, z0), row(y1, z0), t), mix(row(y0, z1), row(y1, z1), t), r)
}

/// Where a ray enters and leaves the box from the origin to `lengths`, as distances not before its start.
fn cross(from: [f64; 3], direction: [f64; 3], lengths: [f64; 3]) -> Option<(f64, f64)> {
    let (mut enter, mut leave) = (0.0_f64, f64::INFINITY);
    for d in 0..3 {
        if direction[d].abs() < 1e-12 {
            if from[d] < 0.0 || from[d] > lengths[d] {
                return None;
            }
            continue;
        }
        let (a, b) = (-from[d] / direction[d], (lengths[d] - from[d]) / direction[d]);
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    (enter < leave).then_some((enter, leave))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Side;

    #[test]
    fn a_ball_of_smoke_is_round_and_darker_below() {
        let domain = Domain::volume([24; 3], [1.0; 3], [Side::Wall; 3]).unwrap();
        let ball =
            domain.field(|p| if p.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>() < 0.09 { 1.0 } else { 0.0 });
        let look = VolumeLook { turn: 0.0, tilt: 0.0, light: [0.0, 1.0, 0.0], ..VolumeLook::default() };
        let picture = volume_picture(&ball, &domain, [64, 64], &look).unwrap();
        let at = |x: usize, y: usize| picture.pixels[y * 64 + x];
        assert!(at(32, 32)[3] > 0.9 && at(2, 2)[3] == 0.0);
        assert!(
            at(32, 24)[0] > 1.5 * at(32, 40)[0],
            "the light comes from above: {:?} {:?}",
            at(32, 24),
            at(32, 40)
        );
        let (left, right) = (at(22, 32)[3], at(41, 32)[3]);
        assert!((left - right).abs() < 0.05, "{left} {right}");
    }

    #[test]
    fn an_empty_box_is_clear() {
        let domain = Domain::volume([8; 3], [1.0; 3], [Side::Wall; 3]).unwrap();
        let picture =
            volume_picture(&domain.field(|_| 0.0), &domain, [8, 8], &VolumeLook::default()).unwrap();
        assert!(picture.pixels.iter().all(|p| p[3] == 0.0));
    }

    #[test]
    fn a_ray_enters_and_leaves_where_it_meets_the_box() {
        let lengths = [1.0, 2.0, 4.0];
        assert_eq!(cross([-1.0, 0.5, 0.5], [0.5, 0.0, 0.0], lengths), Some((2.0, 4.0)));
        assert_eq!(cross([0.5, 3.0, 0.5], [0.0, -4.0, 0.0], lengths), Some((0.25, 0.75)));
        assert_eq!(cross([0.5, 0.5, 1.0], [0.0, 0.0, 0.25], lengths), Some((0.0, 12.0)), "from within");
        assert_eq!(cross([-1.0, 0.5, 0.5], [-1.0, 0.0, 0.0], lengths), None, "behind it");
        assert_eq!(cross([-1.0, 2.5, 0.5], [1.0, 0.0, 0.0], lengths), None, "past it");
        assert_eq!(cross([-1.0, 0.0, 0.0], [1.0, 1.0, 1.0], lengths), Some((1.0, 2.0)));
    }
}
