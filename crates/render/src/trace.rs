//! From a scene to pixels.
//!
//! Every camera ray is shaded with one ray to the light and one to the sky. Alone that would be grainy; but the 64
//! rays of each kind are dealt over tiles of 8 × 8 camera rays, the same in every tile (interleaved sampling, Keller
//! and Heidrich 2001), and a filter that respects edges then gives each place the mean of all 64. So flat regions come
//! out clean, nothing depends on chance, and a film's still parts stay still to the bit.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::caster::Hit;
use crate::color::{linear_from_srgb, srgb_from_linear, tone};
use crate::scene::{Facet, Paint, Scene, Surface};
use crate::texture::Texture;
use crate::{Camera, ColorMap, Ground, Look, Srgb};

/// Rays per tile side, and the reach of the filter that evens them out.
const TILE: usize = 8;
const REACH: usize = TILE / 2;

/// Camera rays kept at once; bounds the memory of large pictures to about 80 MB.
const RAYS_AT_ONCE: usize = 1 << 20;

/// Everything needed to trace one picture.
pub(crate) struct Tracer<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) surfaces: &'a [Surface],
    pub(crate) textures: &'a [Option<Texture>],
    pub(crate) look: &'a Look,
    pub(crate) map: ColorMap,
    lens: Lens,
    size: [usize; 2],
    samples: usize,
    ground: Option<f32>,
    to_light: Vec3,
    /// Directions towards the light, around +Z.
    light_rays: Vec<Vec3>,
    /// Cosine-weighted directions around +Z, and how far each looks for something that hides the sky.
    sky_rays: Vec<(Vec3, f32)>,
    background: [Vec3; 2],
}

/// A camera in the scene's units.
struct Lens {
    eye: Vec3,
    right: Vec3,
    up: Vec3,
    forward: Vec3,
    /// Tangents of half the angles of view.
    half: Vec2,
    /// Side of one camera ray's square at distance one.
    spread: f32,
}

/// What a camera ray met.
#[derive(Clone, Copy)]
struct Sample {
    place: Vec3,
    normal: Vec3,
    base: Vec3,
    /// Coverage by a drawn edge.
    line: f32,
    kind: HitKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HitKind {
    Background,
    Ground,
    Surface,
    /// A colour that stands for a number: lit gently, so that it can be compared with the legend.
    Data,
}

/// Fractions of each light that arrive: key, from above, from below.
type Arriving = Vec3;

impl<'a> Tracer<'a> {
    pub(crate) fn new(
        scene: &'a Scene,
        surfaces: &'a [Surface],
        textures: &'a [Option<Texture>],
        look: &'a Look,
        map: ColorMap,
        camera: &Camera,
        size: [u32; 2],
    ) -> Self {
        let size = size.map(|side| side as usize);
        let samples = look.samples.clamp(1, 8) as usize;
        let lens = Lens::new(camera, scene, size, samples);
        let ground = match look.ground {
            Ground::None => None,
            Ground::At(height) => {
                let at = scene.place(camera.target.with_y(height)).y;
                at.is_finite().then_some(at)
            }
            Ground::Under => scene.lowest,
        };
        let level = |v: Vec3| v.with_y(0.0).try_normalize();
        let heading = level(lens.forward).or_else(|| level(lens.up)).unwrap_or(Vec3::NEG_Z);
        let aside = heading.cross(Vec3::Y);
        let light = &look.light;
        let level_part = -heading * light.azimuth.cos() - aside * light.azimuth.sin();
        let to_light =
            (level_part * light.elevation.cos() + Vec3::Y * light.elevation.sin()).normalize_or(Vec3::Y);
        let (light_rays, sky_rays) = deal_rays(light.radius);
        let background = look.background.map(linear_from_srgb);
        Self {
            scene,
            surfaces,
            textures,
            look,
            map,
            lens,
            size,
            samples,
            ground,
            to_light,
            light_rays,
            sky_rays,
            background,
        }
    }

    /// All pixels, row by row from the top.
    pub(crate) fn trace(&self) -> Vec<Srgb> {
        let [width, height] = self.size;
        let rows_at_once = (RAYS_AT_ONCE / (width * self.samples * self.samples)).clamp(16, height.max(16));
        let mut pixels = Vec::with_capacity(width * height);
        for first in (0..height).step_by(rows_at_once) {
            pixels.extend(self.strip(first, (first + rows_at_once).min(height)));
        }
        pixels
    }

    /// How much of each pixel is covered by facets that count, row by row from the top; what lies before them does not hide them.
    pub(crate) fn coverage(&self, counts: impl Fn(&Facet) -> bool + Sync) -> Vec<f32> {
        let [width, height] = self.size;
        let share = 1.0 / (self.samples * self.samples) as f32;
        let covered = |x: usize, y: usize| {
            let direction = self.lens.direction(self.on_film(x, y));
            let mut near = 0.0;
            for _ in 0..64 {
                let Some(hit) = self.scene.caster.nearest(self.lens.eye, direction, near) else {
                    return false;
                };
                if counts(&self.scene.facets[hit.triangle]) && !self.is_hole(&hit) {
                    return true;
                }
                near = hit.distance * (1.0 + 1e-6) + 1e-6;
            }
            false
        };
        let pixel = |x: usize, y: usize| {
            let rays = (0..self.samples * self.samples).map(|i| (i % self.samples, i / self.samples));
            let hits = rays.filter(|(i, j)| covered(x * self.samples + i, y * self.samples + j));
            hits.count() as f32 * share
        };
        let row = |y: usize| (0..width).map(|x| pixel(x, y)).collect::<Vec<_>>();
        (0..height).into_par_iter().flat_map_iter(row).collect()
    }

    /// The pixels of some rows: cast, even out the light, develop.
    fn strip(&self, first: usize, last: usize) -> Vec<Srgb> {
        let across = self.size[0] * self.samples;
        let top = (first * self.samples).saturating_sub(REACH);
        let bottom = (last * self.samples + REACH).min(self.size[1] * self.samples);
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
            let mut row = vec![Vec3::ZERO; self.size[0]];
            for sy in y * self.samples..(y + 1) * self.samples {
                let at = sy - top;
                let reach = at.saturating_sub(REACH)..(at + REACH + 1).min(samples.len());
                for x in 0..across {
                    let sample = &samples[at][x];
                    let along = reach.clone().map(|i| (at.abs_diff(i), &samples[i][x], sideways[i][x]));
                    let arriving = self.even_out(sample, along, sideways[at][x]);
                    row[x / self.samples] += self.shade(sample, arriving, sy);
                }
            }
            let share = 1.0 / (self.samples * self.samples) as f32;
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
        let distance = (sample.place - self.lens.eye).dot(self.lens.forward);
        let tolerance = 1.5 * self.lens.spread * distance;
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
        let direction = self.lens.direction(self.on_film(x, y));
        let mut near = 0.0;
        let mut hit = self.scene.caster.nearest(self.lens.eye, direction, near);
        // look through the holes of cut-out textures, a few layers deep
        for _ in 0..16 {
            match &hit {
                Some(at) if self.is_hole(at) => {
                    near = at.distance * (1.0 + 1e-6) + 1e-6;
                    hit = self.scene.caster.nearest(self.lens.eye, direction, near);
                }
                _ => break,
            }
        }
        let to_ground = self.ground.and_then(|height| {
            let distance = (height - self.lens.eye.y) / direction.y;
            (direction.y < 0.0 && distance > 0.0 && distance.is_finite()).then_some(distance)
        });
        match (hit, to_ground) {
            // what rests on the ground touches it; without the slack the two would fight
            (Some(hit), to_ground)
                if to_ground.is_none_or(|ground| hit.distance <= ground * (1.0 + 1e-4)) =>
            {
                self.cast_from_surface(&hit, direction, x, y)
            }
            (_, Some(distance)) => self.cast_from_ground(self.lens.eye + distance * direction, x, y),
            _ => (Sample::BACKGROUND, Vec3::ZERO),
        }
    }

    fn is_hole(&self, hit: &Hit) -> bool {
        let facet = &self.scene.facets[hit.triangle];
        let Paint::Surface(surface) = facet.paint else { return false };
        let surface = &self.surfaces[surface as usize];
        surface.cut_out() && !surface.color(self.look, self.textures, blend_uv(facet, hit), 0.0).1
    }

    fn cast_from_surface(&self, hit: &Hit, direction: Vec3, x: usize, y: usize) -> (Sample, Arriving) {
        let facet = &self.scene.facets[hit.triangle];
        let [a, b, c] = facet.corners;
        let [wa, wb, wc] = hit.weights;
        let place = wa * a + wb * b + wc * c;
        let back = facet.normal.dot(direction) > 0.0;
        let facing = if back { -1.0 } else { 1.0 };
        let flat = facing * facet.normal;
        let smooth = facing * (wa * facet.normals[0] + wb * facet.normals[1] + wc * facet.normals[2]);
        let mut normal = smooth.try_normalize().unwrap_or(flat);
        // a blended normal may lean away from the camera near an outline; bring it back just into view
        let away = normal.dot(direction);
        if away > -0.02 {
            normal = (normal - (away + 0.02) * direction).normalize_or(flat);
        }
        let (base, kind) = match facet.paint {
            Paint::Plain(color) => (color, HitKind::Surface),
            Paint::Scalar(places) => {
                let place = wa * places[0] + wb * places[1] + wc * places[2];
                (self.map.linear(place), HitKind::Data)
            }
            Paint::Surface(surface) => {
                let footprint =
                    self.lens.spread * self.samples as f32 * hit.distance * texture_density(facet);
                let surface = &self.surfaces[surface as usize];
                let (color, _) = surface.color(self.look, self.textures, blend_uv(facet, hit), footprint);
                let tint = if back { Vec3::from(self.look.back_tint) } else { Vec3::ONE };
                (color * tint, HitKind::Surface)
            }
        };
        let line = self.line(facet, x, y);
        let sample = Sample { place, normal, base, line, kind };

        // Rays start where the rounded surface would be, not on the facet below it, or a coarse mesh would shade itself
        // in facets (Hanika 2021); and a hair above it.
        let outside = |corner: Vec3, weight: f32, normal: Vec3| {
            let below = (place - corner).dot(facing * normal).min(0.0);
            -weight * below * facing * normal
        };
        let rounded = outside(a, wa, facet.normals[0])
            + outside(b, wb, facet.normals[1])
            + outside(c, wc, facet.normals[2]);
        let start = place + rounded + flat * (2e-4 + 1e-5 * hit.distance);
        (sample, self.arriving(start, normal, flat, x, y))
    }

    fn cast_from_ground(&self, place: Vec3, x: usize, y: usize) -> (Sample, Arriving) {
        let sample = Sample { place, normal: Vec3::Y, base: Vec3::ONE, line: 0.0, kind: HitKind::Ground };
        if self.fade(place) <= 0.0 {
            return (Sample::BACKGROUND, Vec3::ZERO);
        }
        (sample, self.arriving(place + Vec3::Y * 1e-4, Vec3::Y, Vec3::Y, x, y))
    }

    /// How much of the ground's shadow shows: all of it near the subject, none far away.
    fn fade(&self, place: Vec3) -> f32 {
        let t = ((place.length() - 1.5) / 2.5).clamp(0.0, 1.0);
        (1.0 - t) * (1.0 - t)
    }

    /// One ray to the light, one to the sky.
    fn arriving(&self, start: Vec3, normal: Vec3, flat: Vec3, x: usize, y: usize) -> Arriving {
        let turn = deal(x, y);
        let key = if normal.dot(self.to_light) <= 0.0 || self.look.light.color == [0.0; 3] {
            1.0
        } else {
            let toward = turned(self.to_light, self.light_rays[turn]);
            if self.scene.caster.blocked(start, toward, f32::MAX) { 0.0 } else { 1.0 }
        };
        let (around_z, reach) = self.sky_rays[turn];
        let mut toward = turned(normal, around_z);
        let into = toward.dot(flat);
        if into < 0.0 {
            toward -= 2.0 * into * flat;
        }
        let from_above = 0.5 + 0.5 * toward.y;
        let hidden = self.look.occlusion && self.scene.caster.blocked(start, toward, reach);
        if hidden { Vec3::new(key, 0.0, 0.0) } else { Vec3::new(key, from_above, 1.0 - from_above) }
    }

    /// Linear colour of one camera ray, ready for the film.
    fn shade(&self, sample: &Sample, arriving: Arriving, y: usize) -> Vec3 {
        let down = (y as f32 + 0.5) / (self.size[1] * self.samples) as f32;
        let background = self.background[0].lerp(self.background[1], down);
        let [key, sky, bounce] = [self.look.light.color, self.look.sky, self.look.bounce].map(Vec3::from);
        let facing = sample.normal.dot(self.to_light).max(0.0);
        let direct = key * facing * arriving.x;
        let ambient = sky * arriving.y + bounce * arriving.z;
        match sample.kind {
            HitKind::Background => background,
            HitKind::Ground => {
                // the shadow's colour is the paper's own, a little deeper: grey would look like dirt
                let light = |color: Vec3| color.element_sum() / 3.0;
                let (key, sky) = (light(key) * facing, light(sky));
                let lit = (key * arriving.x + sky * (arriving.y + arriving.z)) / (key + sky).max(1e-6);
                let dark = 0.85 * self.fade(sample.place) * (1.0 - lit);
                background * (1.0 - dark * Vec3::new(0.97, 1.0, 1.03))
            }
            HitKind::Surface => {
                // light that others hide from us comes back from them instead, in about our own colour
                let hidden = (1.0 - arriving.y - arriving.z).max(0.0);
                let thrown = Vec3::splat(sample.base.element_sum() / 3.0).lerp(sample.base, 0.6);
                let from_neighbours = 0.4 * hidden * thrown * (0.5 * (sky + bounce) + 0.3 * key);
                let to_eye = (self.lens.eye - sample.place).normalize_or_zero();
                let half = (to_eye + self.to_light).normalize_or_zero();
                let gloss = 0.05 * sample.normal.dot(half).max(0.0).powi(24) * direct;
                let color = tone(sample.base * (direct + ambient + from_neighbours) + gloss);
                drawn_over(color, sample.line)
            }
            HitKind::Data => {
                let open = (key + sky).element_sum();
                let lit = ((direct + ambient).element_sum() / open).clamp(0.0, 1.0);
                drawn_over(sample.base * (0.35 + 0.65 * lit.sqrt()), sample.line)
            }
        }
    }

    /// Coverage by the nearest drawn side of the facet, in the picture's plane: lines have the same width everywhere.
    fn line(&self, facet: &Facet, x: usize, y: usize) -> f32 {
        if facet.sides == 0 {
            return 0.0;
        }
        let [Some(a), Some(b), Some(c)] = facet.corners.map(|corner| self.lens.project(corner)) else {
            return 0.0;
        };
        let pixel = self.lens.spread * self.samples as f32;
        let here = self.on_film(x, y);
        let mut coverage: f32 = 0.0;
        let (mut longest, doubled_area) = (0f32, (b - a).perp_dot(c - a).abs());
        for (side, (from, to)) in [(a, b), (b, c), (c, a)].into_iter().enumerate() {
            let along = to - from;
            longest = longest.max(along.length());
            if facet.sides >> side & 1 == 1 {
                let t = ((here - from).dot(along) / along.length_squared().max(1e-20)).clamp(0.0, 1.0);
                let distance = here.distance(from + t * along) / pixel;
                coverage = coverage.max((1.0 - distance).clamp(0.0, 1.0));
            }
        }
        // where faces are only a few pixels wide, lines would swallow the surface: let them go
        let narrowest = doubled_area / longest.max(1e-20) / pixel;
        coverage * ((narrowest - 1.5) / 5.0).clamp(0.12, 1.0)
    }

    /// A camera ray's place on the film, one unit in front of the eye.
    fn on_film(&self, x: usize, y: usize) -> Vec2 {
        let [width, height] = self.size.map(|side| (side * self.samples) as f32);
        let across = 2.0 * (x as f32 + 0.5) / width - 1.0;
        let down = 2.0 * (y as f32 + 0.5) / height - 1.0;
        Vec2::new(across * self.lens.half.x, -down * self.lens.half.y)
    }
}

impl Lens {
    fn new(camera: &Camera, scene: &Scene, size: [usize; 2], samples: usize) -> Self {
        let forward = (camera.target - camera.position).as_vec3().try_normalize().unwrap_or(Vec3::NEG_Z);
        let right = forward
            .cross(camera.up.as_vec3())
            .try_normalize()
            .filter(|right| right.is_finite())
            .unwrap_or_else(|| forward.any_orthonormal_vector());
        let up = right.cross(forward);
        let field_of_view = if camera.field_of_view.is_nan() {
            Camera::FIELD_OF_VIEW
        } else {
            camera.field_of_view.clamp(1e-3, 3.1)
        };
        let half_height = (0.5 * field_of_view).tan() as f32;
        let half = Vec2::new(half_height * size[0] as f32 / size[1] as f32, half_height);
        let eye = scene.place(camera.position);
        let eye = if eye.is_finite() { eye } else { Vec3::new(0.0, 0.0, 4.0) };
        Self { eye, right, up, forward, half, spread: 2.0 * half_height / (size[1] * samples) as f32 }
    }

    fn direction(&self, on_film: Vec2) -> Vec3 {
        (self.forward + on_film.x * self.right + on_film.y * self.up).normalize()
    }

    /// Where a point lands on the film; `None` when it lies beside or behind the eye.
    fn project(&self, point: Vec3) -> Option<Vec2> {
        let ray = point - self.eye;
        let depth = ray.dot(self.forward);
        (depth > 1e-4).then(|| Vec2::new(ray.dot(self.right), ray.dot(self.up)) / depth)
    }
}

impl Sample {
    const BACKGROUND: Self =
        Self { place: Vec3::ZERO, normal: Vec3::Y, base: Vec3::ZERO, line: 0.0, kind: HitKind::Background };
}

/// A thin dark line over a colour.
fn drawn_over(color: Vec3, line: f32) -> Vec3 {
    const INK: Vec3 = Vec3::new(0.030, 0.026, 0.028);
    color.lerp(INK, 0.72 * line)
}

fn blend_uv(facet: &Facet, hit: &Hit) -> Vec2 {
    let [a, b, c] = facet.uvs;
    hit.weights[0] * a + hit.weights[1] * b + hit.weights[2] * c
}

/// Texture space per length of surface.
fn texture_density(facet: &Facet) -> f32 {
    let [a, b, c] = facet.uvs;
    let [p, q, r] = facet.corners;
    ((b - a).perp_dot(c - a).abs() / (q - p).cross(r - p).length().max(1e-20)).sqrt()
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
