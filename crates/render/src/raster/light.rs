//! What light arrives where, from maps of heights instead of rays.
//!
//! The key light is a disc: the wider the farther a blocker is away, so shadows are filtered over as much of the map as the disc
//! covers at the blockers' mean distance (percentage-closer soft shadows, Fernando 2005). The sky is the same from a score of
//! directions around, coarser, its blockers counting less the farther they are, as they do for the ray caster.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::heights::{HeightMap, ThicknessMap, disc};
use crate::scene::Facet;

/// Axes of the sky: each gives two directions.
const SKY_AXES: usize = 10;
/// Texels across the maps of the sky.
const SKY_SIDE: usize = 64;
/// Tangent of half the angle that a direction of the sky stands for: 4π over their number, as a cone.
const SKY_CONE: f32 = 0.48;

/// The shadow of the key light.
pub(crate) struct KeyLight {
    map: HeightMap,
    /// Tangent of the light's angular radius.
    spread: f32,
    search: [Vec2; 16],
    filter: [Vec2; 32],
}

impl KeyLight {
    /// Of a light in a direction, with an angular radius; the map has `side` texels each way.
    pub(crate) fn new(facets: &[Facet], points: &[Vec3], to_light: Vec3, radius: f32, side: usize) -> Self {
        let map = HeightMap::new(facets, points, to_light, side);
        Self { map, spread: radius.clamp(0.0, 1.5).tan(), search: disc(), filter: disc() }
    }

    /// Which part of the light is seen from a place on a surface with that normal, 0 to 1.
    pub(crate) fn visible(&self, place: Vec3, flat: Vec3) -> f32 {
        let (at, height) = self.map.plane.locate(place);
        let [u, v, up] = self.map.plane.axes;
        let texel = self.map.plane.texel();
        // the surface itself rises to one side: taps are compared with its plane, in metres a texel
        let facing = flat.dot(up).max(0.12);
        let slope = -Vec2::new(flat.dot(u), flat.dot(v)) / facing * texel;
        let bias = 0.75 * (slope.x.abs() + slope.y.abs()) + 0.4 * texel;
        let texels = self.spread / texel;
        // what stands within reach can only stand so high, so nothing farther aside can be in the way; and again
        let mut reach = (1.0 - height).max(0.0) * texels;
        for _ in 0..4 {
            let above = self.map.highest_around(at, reach + 1.0) - height;
            if above <= bias {
                return 1.0;
            }
            reach = reach.min(above * texels);
        }
        let blocks = |tap: Vec2, stands: f32| if stands - height - slope.dot(tap) > bias { 1.0 } else { 0.0 };
        if reach < 1.0 {
            return 1.0 - self.map.blended(at, |stands| blocks(Vec2::ZERO, stands));
        }
        // the middle is asked, too: what is thinner than the gaps between taps is met there
        let (mut sum, mut count) = (0.0, 0);
        for tap in self.search.iter().map(|tap| reach * *tap).chain([Vec2::ZERO]) {
            let above = self.map.nearest(at + tap) - height - slope.dot(tap);
            if above > bias {
                sum += above;
                count += 1;
            }
        }
        if count == 0 {
            return 1.0;
        }
        // what is filtered lies within what was searched
        if count > self.search.len() {
            return 0.0;
        }
        let width = (sum / count as f32 * texels).clamp(0.7, reach.max(0.7));
        let blocked: f32 = if width < 3.0 {
            let few = self.filter.iter().step_by(4);
            few.map(|tap| width * *tap).map(|tap| self.map.blended(at + tap, |h| blocks(tap, h))).sum::<f32>()
                * 4.0
        } else {
            self.filter
                .iter()
                .map(|tap| width * *tap)
                .map(|tap| blocks(tap, self.map.nearest(at + tap)))
                .sum()
        };
        1.0 - blocked / self.filter.len() as f32
    }

    /// Whether nothing can stand between the light and any place of a patch, given by its corners.
    pub(crate) fn is_open(&self, corners: [Vec3; 4]) -> bool {
        let located = corners.map(|corner| self.map.plane.locate(corner));
        let lowest = located.iter().map(|(_, height)| *height).fold(f32::INFINITY, f32::min);
        let mean = located.iter().map(|(at, _)| *at).sum::<Vec2>() / 4.0;
        let width = located.iter().map(|(at, _)| (*at - mean).abs().max_element()).fold(0.0, f32::max);
        let texels = self.spread / self.map.plane.texel();
        let mut reach = (1.0 - lowest).max(0.0) * texels;
        for _ in 0..3 {
            let above = self.map.highest_around(mean, width + reach + 1.0) - lowest;
            if above <= 0.0 {
                return true;
            }
            reach = reach.min(above * texels);
        }
        false
    }
}

/// Light from all around.
pub(crate) struct SkyLight {
    /// Maps along axes spread over half the sphere; each serves its opposite, too.
    maps: Vec<ThicknessMap>,
    taps: [Vec2; 12],
}

impl SkyLight {
    pub(crate) fn new(facets: &[Facet], points: &[Vec3]) -> Self {
        let axis = |i: usize| {
            let y = (i as f32 + 0.5) / SKY_AXES as f32;
            let ring = (1.0 - y * y).sqrt();
            let around = Vec2::from_angle(2.399_963 * i as f32 + 0.4);
            Vec3::new(ring * around.x, y, ring * around.y)
        };
        let map = |i: usize| ThicknessMap::new(facets, points, axis(i), SKY_SIDE);
        Self { maps: (0..SKY_AXES).into_par_iter().map(map).collect(), taps: disc() }
    }

    /// Which parts of the light from above and from below are hidden at a place with that normal.
    pub(crate) fn hidden(&self, place: Vec3, normal: Vec3) -> Vec2 {
        let mut sums = [Vec2::ZERO; 2];
        for map in &self.maps {
            let facing = normal.dot(map.up());
            let (down, weight) = (facing < 0.0, facing.abs());
            let (at, height) = map.plane.locate(place + 1.2 * map.plane.texel() * normal);
            let slack = 0.6 * map.plane.texel();
            let hides = map.blended(at, height, down, |distance| hiding(distance - slack));
            let from_above = 0.5 + if down { -0.5 } else { 0.5 } * map.up().y;
            let share = weight * Vec2::new(from_above, 1.0 - from_above);
            sums[0] += hides * share;
            sums[1] += share;
        }
        sums[0] / sums[1].max(Vec2::splat(1e-6))
    }

    /// Which part of the light from above is hidden from the ground at a place: softly, since no mesh evens it out there.
    pub(crate) fn hidden_from_ground(&self, place: Vec3) -> f32 {
        let (mut hidden, mut total) = (0.0, 0.0);
        for map in &self.maps {
            let (at, height) = map.plane.locate(place);
            hidden += map.up().y * self.softly(map, at, height);
            total += map.up().y;
        }
        hidden / total
    }

    /// How much of a cone around the map's axis is hidden.
    fn softly(&self, map: &ThicknessMap, at: Vec2, height: f32) -> f32 {
        let texels = SKY_CONE / map.plane.texel();
        let reach = (1.0 - height).clamp(0.0, 1.75) * texels;
        let (mut sum, mut count) = (0.0, 0);
        for tap in self.taps.map(|tap| reach * tap) {
            let above = map.above(at + tap, height);
            // only what the cone meets: it is narrow near its tip
            if above > 0.0 && above < 1.75 && tap.length() <= (above * texels).max(1.0) {
                sum += above;
                count += 1;
            }
        }
        if count == 0 {
            return map.blended(at, height, false, hiding);
        }
        let width = (sum / count as f32 * texels).clamp(0.5, reach.max(0.5));
        let hides = |tap: Vec2| map.blended(at + width * tap, height, false, hiding);
        self.taps.into_iter().map(hides).sum::<f32>() / self.taps.len() as f32
    }
}

/// How much something at a distance hides: rays of the ray caster look 0.15 to 1.75 far, all of them equally often.
#[inline]
fn hiding(distance: f32) -> f32 {
    if distance <= 0.0 { 0.0 } else { 1.0 - ((distance - 0.15) / 1.6).clamp(0.0, 1.0) }
}
