//! From a scene to pixels.
//!
//! Every camera ray is shaded with one ray to the light and one to the sky. Alone that would be grainy; but the 64
//! rays of each kind are dealt over tiles of 8 × 8 camera rays, the same in every tile (interleaved sampling, Keller
//! and Heidrich 2001), and a filter that respects edges then gives each place the mean of all 64. So flat regions come
//! out clean, nothing depends on chance, and a film's still parts stay still to the bit.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::Srgb;
use crate::caster::Caster;
use crate::color::srgb_from_linear;
use crate::scene::Facet;
use crate::shading::{Arriving, HitKind, Landing, Sample, Shader};

/// Rays per tile side, and the reach of the filter that evens them out.
const TILE: usize = 8;
const REACH: usize = TILE / 2;

/// Camera rays kept at once; bounds the memory of large pictures to about 80 MB.
const RAYS_AT_ONCE: usize = 1 << 20;

/// Everything needed to trace one picture.
pub(crate) struct Tracer<'a> {
    shader: Shader<'a>,
    caster: Caster,
    /// Directions towards the light, around +Z.
    light_rays: Vec<Vec3>,
    /// Cosine-weighted directions around +Z, and how far each looks for something that hides the sky.
    sky_rays: Vec<(Vec3, f32)>,
}

impl<'a> Tracer<'a> {
    pub(crate) fn new(shader: Shader<'a>) -> Self {
        let corners: Vec<[Vec3; 3]> = shader.scene.facets.iter().map(|facet| facet.corners).collect();
        let (light_rays, sky_rays) = deal_rays(shader.look.light.radius);
        Self { shader, caster: Caster::new(&corners), light_rays, sky_rays }
    }

    /// All pixels, row by row from the top.
    pub(crate) fn trace(&self) -> Vec<Srgb> {
        let [width, height] = self.shader.size;
        let rows_at_once =
            (RAYS_AT_ONCE / (width * self.shader.samples * self.shader.samples)).clamp(16, height.max(16));
        let mut pixels = Vec::with_capacity(width * height);
        for first in (0..height).step_by(rows_at_once) {
            pixels.extend(self.strip(first, (first + rows_at_once).min(height)));
        }
        pixels
    }

    /// How much of each pixel is covered by one mesh, or by anything, row by row from the top; what lies before it does not hide it.
    pub(crate) fn coverage(&self, mesh: Option<usize>) -> Vec<f32> {
        let counts = |facet: &Facet| mesh.is_none_or(|mesh| self.shader.is_of(facet, mesh));
        let [width, height] = self.shader.size;
        let share = 1.0 / (self.shader.samples * self.shader.samples) as f32;
        let covered = |x: usize, y: usize| {
            let direction = self.shader.lens.direction(self.on_film(x, y));
            let mut near = 0.0;
            for _ in 0..64 {
                let Some(hit) = self.caster.nearest(self.shader.lens.eye, direction, near) else {
                    return false;
                };
                if counts(&self.shader.scene.facets[hit.triangle]) && !self.shader.is_hole(&hit) {
                    return true;
                }
                near = hit.distance * (1.0 + 1e-6) + 1e-6;
            }
            false
        };
        let pixel = |x: usize, y: usize| {
            let rays = (0..self.shader.samples * self.shader.samples)
                .map(|i| (i % self.shader.samples, i / self.shader.samples));
            let hits =
                rays.filter(|(i, j)| covered(x * self.shader.samples + i, y * self.shader.samples + j));
            hits.count() as f32 * share
        };
        let row = |y: usize| (0..width).map(|x| pixel(x, y)).collect::<Vec<_>>();
        (0..height).into_par_iter().flat_map_iter(row).collect()
    }

    /// The pixels of some rows: cast, even out the light, develop.
    fn strip(&self, first: usize, last: usize) -> Vec<Srgb> {
        let across = self.shader.size[0] * self.shader.samples;
        let top = (first * self.shader.samples).saturating_sub(REACH);
        let bottom = (last * self.shader.samples + REACH).min(self.shader.size[1] * self.shader.samples);
        let rows: Vec<Vec<(Sample, Arriving)>> =
            (top..bottom).into_par_iter().map(|y| (0..across).map(|x| self.cast(x, y)).collect()).collect();
        let (samples, arriving): (Vec<Vec<Sample>>, Vec<Vec<Arriving>>) =
            rows.into_par_iter().map(|row| row.into_iter().unzip()).unzip();
        let sideways: Vec<Vec<Arriving>> = samples
            .par_iter()
            .zip(&arriving)
            .map(|(samples, arriving)| {
                let even = |x: usize| {
                    let from = x.saturating_sub(REACH);
                    let reach = from..(x + REACH + 1).min(across);
                    self.even_out(
                        &samples[x],
                        reach.map(|i| (x.abs_diff(i), &samples[i], arriving[i])),
                        arriving[x],
                    )
                };
                (0..across).map(even).collect()
            })
            .collect();
        let develop_row = |y: usize| {
            let mut row = vec![Vec3::ZERO; self.shader.size[0]];
            for sy in y * self.shader.samples..(y + 1) * self.shader.samples {
                let at = sy - top;
                let down = (sy as f32 + 0.5) / (self.shader.size[1] * self.shader.samples) as f32;
                let reach = at.saturating_sub(REACH)..(at + REACH + 1).min(samples.len());
                for x in 0..across {
                    let sample = &samples[at][x];
                    let along = reach.clone().map(|i| (at.abs_diff(i), &samples[i][x], sideways[i][x]));
                    let arriving = self.even_out(sample, along, sideways[at][x]);
                    row[x / self.shader.samples] += self.shader.shade(sample, arriving, down);
                }
            }
            let share = 1.0 / (self.shader.samples * self.shader.samples) as f32;
            row.into_iter().map(|sum| srgb_from_linear(sum * share)).collect::<Vec<_>>()
        };
        (first..last).into_par_iter().flat_map_iter(develop_row).collect()
    }

    /// Mean of what arrives at neighbours on the same smooth piece of surface. The window is one tile wide with halved
    /// ends, so that each of the tile's rays counts once.
    fn even_out<'s>(
        &self,
        sample: &Sample,
        neighbours: impl Iterator<Item = (usize, &'s Sample, Arriving)>,
        own: Arriving,
    ) -> Arriving {
        if sample.kind == HitKind::Background {
            return own;
        }
        let distance = (sample.place - self.shader.lens.eye).dot(self.shader.lens.forward);
        let tolerance = 1.5 * self.shader.lens.spread * distance;
        let (mut sum, mut total) = (Vec3::ZERO, 0.0);
        for (away, other, arriving) in neighbours {
            let aside = sample.normal.dot(other.place - sample.place).abs();
            if other.kind == sample.kind && aside <= tolerance && sample.normal.dot(other.normal) > 0.85 {
                let weight = if away == REACH { 0.5 } else { 1.0 };
                sum += weight * arriving;
                total += weight;
            }
        }
        if total > 0.0 { sum / total } else { own }
    }

    /// Follows one camera ray and the two rays from where it lands.
    fn cast(&self, x: usize, y: usize) -> (Sample, Arriving) {
        let on_film = self.on_film(x, y);
        let direction = self.shader.lens.direction(on_film);
        let eye = self.shader.lens.eye;
        let mut near = 0.0;
        let mut hit = self.caster.nearest(eye, direction, near);
        // look through the holes of cut-out textures, a few layers deep
        for _ in 0..16 {
            match &hit {
                Some(at) if self.shader.is_hole(at) => {
                    near = at.distance * (1.0 + 1e-6) + 1e-6;
                    hit = self.caster.nearest(eye, direction, near);
                }
                _ => break,
            }
        }
        match (hit, self.shader.to_ground(direction)) {
            // what rests on the ground touches it; without the slack the two would fight
            (Some(hit), to_ground)
                if to_ground.is_none_or(|ground| hit.distance <= ground * (1.0 + 1e-4)) =>
            {
                let line = self.shader.line(&self.shader.scene.facets[hit.triangle], on_film);
                let Landing { sample, flat, start } = self.shader.land(&hit, direction, line);
                (sample, self.arriving(start, sample.normal, flat, x, y))
            }
            (_, Some(distance)) => match self.shader.ground_at(eye + distance * direction) {
                Some(sample) => {
                    (sample, self.arriving(sample.place + Vec3::Y * 1e-4, Vec3::Y, Vec3::Y, x, y))
                }
                None => (Sample::BACKGROUND, Vec3::ZERO),
            },
            _ => (Sample::BACKGROUND, Vec3::ZERO),
        }
    }

    /// One ray to the light, one to the sky.
    fn arriving(&self, start: Vec3, normal: Vec3, flat: Vec3, x: usize, y: usize) -> Arriving {
        let turn = deal(x, y);
        let to_light = self.shader.to_light;
        let key = if normal.dot(to_light) <= 0.0 || !self.shader.has_key() {
            1.0
        } else {
            let toward = turned(to_light, self.light_rays[turn]);
            if self.caster.blocked(start, toward, f32::MAX) { 0.0 } else { 1.0 }
        };
        let (around_z, reach) = self.sky_rays[turn];
        let mut toward = turned(normal, around_z);
        let into = toward.dot(flat);
        if into < 0.0 {
            toward -= 2.0 * into * flat;
        }
        let from_above = 0.5 + 0.5 * toward.y;
        let hidden = self.shader.look.occlusion && self.caster.blocked(start, toward, reach);
        if hidden { Vec3::new(key, 0.0, 0.0) } else { Vec3::new(key, from_above, 1.0 - from_above) }
    }

    /// A camera ray's place on the film, one unit in front of the eye.
    fn on_film(&self, x: usize, y: usize) -> Vec2 {
        self.shader.lens.on_film(x as f32 + 0.5, y as f32 + 0.5)
    }
}

/// `around_z` turned so that +Z becomes `axis` (Duff et al. 2017).
fn turned(axis: Vec3, around_z: Vec3) -> Vec3 {
    let sign = 1f32.copysign(axis.z);
    let a = -1.0 / (sign + axis.z);
    let b = axis.x * axis.y * a;
    let side = Vec3::new(1.0 + sign * axis.x * axis.x * a, sign * b, -sign * axis.x);
    let front = Vec3::new(b, sign + axis.y * axis.y * a, -axis.y);
    around_z.x * side + around_z.y * front + around_z.z * axis
}

/// Which of a tile's rays falls to this camera ray: ordered dithering's matrix, in which any small block holds numbers
/// spread over the whole set.
fn deal(x: usize, y: usize) -> usize {
    let bit = |value: usize, index: usize| value >> index & 1;
    (0..3).fold(0, |rank, i| rank | (bit(x ^ y, i) << (5 - 2 * i)) | (bit(y, i) << (4 - 2 * i)))
}

/// The rays of a tile: a light disc of the given angular radius, and the sky.
fn deal_rays(light_radius: f32) -> (Vec<Vec3>, Vec<(Vec3, f32)>) {
    // an additive sequence with the plastic number: any run of it fills the square evenly (Roberts 2018)
    let even = |index: usize, shift: f32| {
        let at = index as f32 + shift;
        Vec2::new((0.5 + at * 0.754_877_7).fract(), (0.5 + at * 0.569_840_3).fract())
    };
    let on_disc = |square: Vec2| {
        let (radius, around) = (square.x.sqrt(), std::f32::consts::TAU * square.y);
        Vec2::new(radius * around.cos(), radius * around.sin())
    };
    let spread = light_radius.clamp(0.0, 1.5).tan();
    let light = |i: usize| (on_disc(even(i, 0.0)) * spread).extend(1.0).normalize();
    let sky = |i: usize| {
        let disc = on_disc(even(i, 0.37));
        let direction = disc.extend((1.0 - disc.length_squared()).max(0.0).sqrt());
        // far things hide the sky less: some rays look less far than others
        let reach = 0.15 + 1.6 * ((i * 37 % (TILE * TILE)) as f32 + 0.5) / (TILE * TILE) as f32;
        (direction, reach)
    };
    let all = 0..TILE * TILE;
    (all.clone().map(light).collect(), all.map(sky).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_deals_every_ray_once() {
        let mut seen = [0; TILE * TILE];
        for y in 16..16 + TILE {
            for x in 40..40 + TILE {
                seen[deal(x, y)] += 1;
            }
        }
        assert_eq!(seen, [1; TILE * TILE]);
    }

    #[test]
    fn sky_rays_are_cosine_weighted() {
        // ∫ cos θ over the cosine-weighted hemisphere is 2/3; sideways it is 0
        let (_, sky) = deal_rays(0.1);
        let mean = sky.iter().map(|(direction, _)| *direction).sum::<Vec3>() / sky.len() as f32;
        assert!((mean - Vec3::new(0.0, 0.0, 2.0 / 3.0)).length() < 0.03, "{mean}");
    }

    #[test]
    fn turning_keeps_lengths_and_angles() {
        for axis in [Vec3::Z, Vec3::NEG_Z, Vec3::X, Vec3::new(0.6, -0.48, 0.64)] {
            let v = Vec3::new(0.36, 0.48, 0.8);
            let w = turned(axis, v);
            assert!((w.length() - 1.0).abs() < 1e-5 && (w.dot(axis) - v.z).abs() < 1e-5);
        }
    }
}
