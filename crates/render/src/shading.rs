//! What a place in the scene looks like under given light: shared by the ray caster and the rasteriser, so that both show
//! the same colours, lines and ground.

use glam::{Vec2, Vec3};

use crate::caster::Hit;
use crate::color::{linear_from_srgb, tone};
use crate::lens::Lens;
use crate::scene::{Facet, MaterialSlot, Paint, Scene};
use crate::texture::Texture;
use crate::{Camera, ColorMap, Ground, Look};

/// A frame, what it is painted with, a camera and a look.
pub(crate) struct Shader<'a> {
    pub(crate) scene: &'a Scene,
    slots: &'a [MaterialSlot],
    textures: &'a [Option<Texture>],
    pub(crate) look: &'a Look,
    map: ColorMap,
    pub(crate) lens: Lens,
    /// Pixels across and down.
    pub(crate) size: [usize; 2],
    /// Camera rays per pixel along each axis.
    pub(crate) samples: usize,
    /// Height of the ground.
    pub(crate) ground: Option<f32>,
    pub(crate) to_light: Vec3,
    background: [Vec3; 2],
}

/// What a camera ray met.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) place: Vec3,
    pub(crate) normal: Vec3,
    pub(crate) base: Vec3,
    /// Coverage by a drawn edge.
    pub(crate) line: f32,
    pub(crate) kind: HitKind,
}

/// What kind of thing a camera ray met.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HitKind {
    Background,
    Ground,
    Surface,
    /// A colour that stands for a number: lit gently, so that it can be compared with the legend.
    Data,
}

/// A place on a surface, and where rays from it start.
pub(crate) struct Landing {
    pub(crate) sample: Sample,
    /// The facet's own normal, on the side that is seen.
    pub(crate) flat: Vec3,
    pub(crate) start: Vec3,
}

/// Fractions of each light that arrive: key, from above, from below.
pub(crate) type Arriving = Vec3;

impl<'a> Shader<'a> {
    pub(crate) fn new(
        scene: &'a Scene,
        slots: &'a [MaterialSlot],
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
        let background = look.background.map(linear_from_srgb);
        Self { scene, slots, textures, look, map, lens, size, samples, ground, to_light, background }
    }

    /// Whether the key light gives any light.
    pub(crate) fn has_key(&self) -> bool {
        self.look.light.color != [0.0; 3]
    }

    /// How far along a direction the ground lies.
    pub(crate) fn to_ground(&self, direction: Vec3) -> Option<f32> {
        let distance = (self.ground? - self.lens.eye.y) / direction.y;
        (direction.y < 0.0 && distance > 0.0 && distance.is_finite()).then_some(distance)
    }

    /// Whether a cut-out texture has a hole there.
    pub(crate) fn is_hole(&self, hit: &Hit) -> bool {
        let facet = &self.scene.facets[hit.triangle];
        let Paint::Slot(slot) = facet.paint else { return false };
        let surface = &self.slots[slot as usize];
        surface.cut_out() && !surface.color(self.look, self.textures, blend_uv(facet, hit), 0.0).1
    }

    /// Whether a facet may have holes.
    pub(crate) fn may_have_holes(&self, facet: &Facet) -> bool {
        matches!(facet.paint, Paint::Slot(slot) if self.slots[slot as usize].cut_out())
    }

    /// Which mesh a facet is of; none for bones.
    pub(crate) fn is_of(&self, facet: &Facet, mesh: usize) -> bool {
        matches!(facet.paint, Paint::Slot(slot) if self.slots[slot as usize].is_of(mesh))
    }

    /// What is seen where a camera ray meets a facet; `line` is the coverage by a drawn edge.
    pub(crate) fn land(&self, hit: &Hit, direction: Vec3, line: f32) -> Landing {
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
            Paint::Slot(slot) => {
                let footprint =
                    self.lens.spread * self.samples as f32 * hit.distance * texture_density(facet);
                let surface = &self.slots[slot as usize];
                let (color, _) = surface.color(self.look, self.textures, blend_uv(facet, hit), footprint);
                let tint = if back { Vec3::from(self.look.back_tint) } else { Vec3::ONE };
                let [ta, tb, tc] = facet.tints;
                (color * tint * (wa * ta + wb * tb + wc * tc), HitKind::Surface)
            }
        };
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
        Landing { sample: Sample { place, normal, base, line, kind }, flat, start }
    }

    /// The ground, seen at a place; `None` where it is too far away to show.
    pub(crate) fn ground_at(&self, place: Vec3) -> Option<Sample> {
        let sample = Sample { place, normal: Vec3::Y, base: Vec3::ONE, line: 0.0, kind: HitKind::Ground };
        (self.fade(place) > 0.0).then_some(sample)
    }

    /// How much of the ground's shadow shows: all of it near the subject, none far away.
    pub(crate) fn fade(&self, place: Vec3) -> f32 {
        let t = ((place.length() - 1.5) / 2.5).clamp(0.0, 1.0);
        (1.0 - t) * (1.0 - t)
    }

    /// The background's linear colour, `down` from 0 at the top of the picture to 1 at its bottom.
    pub(crate) fn background(&self, down: f32) -> Vec3 {
        self.background[0].lerp(self.background[1], down)
    }

    /// Linear colour of one camera ray, ready for the film.
    pub(crate) fn shade(&self, sample: &Sample, arriving: Arriving, down: f32) -> Vec3 {
        let [key, sky, bounce] = [self.look.light.color, self.look.sky, self.look.bounce].map(Vec3::from);
        let facing = sample.normal.dot(self.to_light).max(0.0);
        let direct = key * facing * arriving.x;
        let ambient = sky * arriving.y + bounce * arriving.z;
        match sample.kind {
            HitKind::Background => self.background(down),
            HitKind::Ground => {
                let open = arriving.y + arriving.z;
                self.shadow_on(self.background(down), self.fade(sample.place), arriving.x, open)
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

    /// The paper where the ground's shadow lies on it: how much of it shows there, and what arrives of the key light and the sky.
    pub(crate) fn shadow_on(&self, paper: Vec3, fade: f32, key: f32, sky: f32) -> Vec3 {
        let light = |color: [f32; 3]| color.iter().sum::<f32>() / 3.0;
        let all_key = light(self.look.light.color) * self.to_light.y.max(0.0);
        let all_sky = light(self.look.sky);
        let lit = (all_key * key + all_sky * sky) / (all_key + all_sky).max(1e-6);
        // the shadow's colour is the paper's own, a little deeper: grey would look like dirt
        let dark = 0.85 * fade * (1.0 - lit);
        paper * (1.0 - dark * Vec3::new(0.97, 1.0, 1.03))
    }

    /// Coverage by the nearest drawn side of the facet, in the picture's plane: lines have the same width everywhere.
    pub(crate) fn line(&self, facet: &Facet, here: Vec2) -> f32 {
        if facet.sides == 0 {
            return 0.0;
        }
        let [Some(a), Some(b), Some(c)] = facet.corners.map(|corner| self.lens.project(corner)) else {
            return 0.0;
        };
        let pixel = self.lens.spread * self.samples as f32;
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
}

impl Sample {
    pub(crate) const BACKGROUND: Self =
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
