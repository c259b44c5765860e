//! From a scene to pixels, quickly: triangles against a depth buffer.
//!
//! The same samples as the ray caster's (2 × 2 a pixel by default), the same colours and lines; but each pixel is shaded once for
//! each triangle in it, and light comes from maps of heights ([`light`]) instead of rays. A picture is cut into tiles; each
//! takes its triangles in their order, so its pixels do not depend on threads.

mod heights;
mod light;
mod project;
mod spans;
mod tile;

use std::sync::OnceLock;

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use self::light::{KeyLight, SkyLight};
use self::project::{Triangle, on_picture};
use self::tile::Tile;
use crate::Srgb;
use crate::caster::Hit;
use crate::color::srgb_from_linear_table;
use crate::shading::{Arriving, Landing, Shader};

/// Pixels along a tile's side.
const TILE: usize = 32;
/// Pixels between places where the light on the ground and on large facets is worked out.
const CELL: usize = 8;
/// Everything needed to draw one picture.
pub(crate) struct Rasteriser<'a> {
    shader: Shader<'a>,
    triangles: Vec<Triangle>,
    /// Triangles of each tile, in their order: those that face the eye, then the others, of which the first mostly hide all.
    bins: Vec<[Vec<u32>; 2]>,
    tiles_across: usize,
    key: Option<KeyLight>,
    sky: Option<SkyLight>,
    points: Vec<LitPoint>,
    /// How much of its shadow the ground shows and how much of the sky is hidden from it, at the corners of cells.
    ground: Vec<[f32; 2]>,
    /// The background of every row.
    paper: Vec<Srgb>,
}

impl<'a> Rasteriser<'a> {
    pub(crate) fn new(shader: Shader<'a>) -> Self {
        let facets = &shader.scene.facets;
        let numbers: Vec<usize> = (0..facets.len()).collect();
        let triangles: Vec<Triangle> = numbers
            .par_chunks(1024)
            .flat_map_iter(|run| run.iter().flat_map(|&facet| on_picture(&shader, facet)))
            .collect();
        let [across, down] = shader.size.map(|side| side.div_ceil(TILE));
        let mut bins = vec![[Vec::new(), Vec::new()]; across * down];
        let side = (TILE * shader.samples) as i32;
        for (index, Triangle { spans, facet, .. }) in triangles.iter().enumerate() {
            let tile = |v: i32, count: usize| (v / side).clamp(0, count as i32 - 1) as usize;
            let seen = spans.right > 0 && spans.bottom > 0;
            let columns = tile(spans.left, across)..=tile(spans.right - 1, across);
            let facet = &facets[*facet as usize];
            let turned = usize::from(facet.normal.dot(facet.corners[0] - shader.lens.eye) > 0.0);
            for row in tile(spans.top, down)..=tile(spans.bottom - 1, down) {
                if seen {
                    columns.clone().for_each(|column| bins[row * across + column][turned].push(index as u32));
                }
            }
        }
        let occlusion = shader.look.occlusion;
        let points = lit_points(&shader);
        let places: Vec<Vec3> = points.iter().map(|point| point.place).collect();
        let (key, sky) = rayon::join(
            || key_light(&shader, &places),
            || occlusion.then(|| SkyLight::new(&shader.scene.facets, &places)),
        );
        let paper = (0..shader.size[1])
            .map(|y| srgb_from_linear_table(shader.background((y as f32 + 0.5) / shader.size[1] as f32)))
            .collect();
        let mut rasteriser = Self {
            shader,
            triangles,
            bins,
            tiles_across: across,
            key,
            sky,
            points,
            ground: Vec::new(),
            paper,
        };
        rasteriser.ground = rasteriser.light_ground();
        rasteriser
    }

    /// All pixels, row by row from the top.
    pub(crate) fn draw(&self) -> Vec<Srgb> {
        let [width, height] = self.shader.size;
        let mut pixels = vec![[0; 3]; width * height];
        let bands = pixels.par_chunks_mut(width * TILE).enumerate();
        bands.for_each(|(row, band)| {
            let mut tile = Tile::default();
            for column in 0..self.tiles_across {
                tile.begin(&self.shader, [column * TILE, row * TILE]);
                let [towards, away] = &self.bins[row * self.tiles_across + column];
                for &index in towards {
                    tile.cover(self, &self.triangles[index as usize]);
                }
                if !away.is_empty() {
                    tile.measure(self.shader.samples);
                }
                for triangle in away.iter().map(|&index| &self.triangles[index as usize]) {
                    if !tile.hides(triangle, self.shader.samples) {
                        tile.cover(self, triangle);
                    }
                }
                tile.develop(self, band);
            }
        });
        pixels
    }

    /// How much of its shadow the ground shows, and how much of the sky is hidden from it, at the corners of cells.
    fn light_ground(&self) -> Vec<[f32; 2]> {
        if self.shader.ground.is_none() {
            return Vec::new();
        }
        let [across, down] = self.shader.size.map(|side| side.div_ceil(CELL) + 1);
        let corner = |index: usize| {
            let place = self.on_ground([index % across * CELL, index / across * CELL].map(|v| v as f32));
            let Some(place) = place else { return [0.0; 2] };
            let fade = self.shader.fade(place);
            let sky = self.sky.as_ref().filter(|_| fade > 0.0);
            [fade, sky.map_or(0.0, |sky| sky.hidden_from_ground(place))]
        };
        (0..across * down).into_par_iter().with_min_len(64).map(corner).collect()
    }

    /// The ground's place under a pixel.
    fn on_ground(&self, pixel: [f32; 2]) -> Option<Vec3> {
        let samples = self.shader.samples as f32;
        let lens = &self.shader.lens;
        let direction = lens.direction(lens.on_film(pixel[0] * samples, pixel[1] * samples));
        self.shader.to_ground(direction).map(|distance| lens.eye + distance * direction)
    }
}

fn key_light(shader: &Shader<'_>, places: &[Vec3]) -> Option<KeyLight> {
    let side = shader.size[1].next_power_of_two().clamp(256, 2048);
    let light =
        || KeyLight::new(&shader.scene.facets, places, shader.to_light, shader.look.light.radius, side);
    shader.has_key().then(light)
}

/// A point of the scene, on the side that is seen, and what light it gets: worked out when a pixel first asks.
struct LitPoint {
    place: Vec3,
    normal: Vec3,
    light: OnceLock<PointLight>,
}

/// Part of the key light that arrives, and what is hidden of the light from above and from below.
#[derive(Clone, Copy)]
struct PointLight {
    key: f32,
    hidden: Vec2,
}

fn lit_points(shader: &Shader<'_>) -> Vec<LitPoint> {
    let facets = &shader.scene.facets;
    let count = facets.iter().flat_map(|facet| facet.points).max().map_or(0, |last| last as usize + 1);
    let dark = || LitPoint { place: Vec3::ZERO, normal: Vec3::ZERO, light: OnceLock::new() };
    let mut points: Vec<LitPoint> = std::iter::repeat_with(dark).take(count).collect();
    for facet in facets {
        let [a, b, c] = facet.corners;
        let doubled_area = (b - a).cross(c - a);
        let facing = if facet.normal.dot(a - shader.lens.eye) > 0.0 { -1.0 } else { 1.0 };
        for (&point, corner) in facet.points.iter().zip(facet.corners) {
            let point = &mut points[point as usize];
            point.place = corner;
            point.normal += facing * doubled_area;
        }
    }
    points
}

impl Rasteriser<'_> {
    /// How much of the key light arrives where a camera ray lands.
    fn key_at(&self, landing: &Landing) -> f32 {
        match &self.key {
            Some(key) if landing.sample.normal.dot(self.shader.to_light) > 0.0 => {
                key.visible(landing.start, landing.flat)
            }
            _ => 1.0,
        }
    }

    /// Light on a small facet: blended from its corners, unless a shadow ends between them.
    fn blended_light(&self, hit: &Hit, landing: &Landing) -> PointLight {
        let points = self.shader.scene.facets[hit.triangle].points.map(|point| self.light_at(point));
        let [a, b, c] = hit.weights;
        let hidden = a * points[0].hidden + b * points[1].hidden + c * points[2].hidden;
        let keys = points.map(|point| point.key);
        let even = keys[0].max(keys[1]).max(keys[2]) - keys[0].min(keys[1]).min(keys[2]) < 0.1;
        let key = if even { a * keys[0] + b * keys[1] + c * keys[2] } else { self.key_at(landing) };
        PointLight { key, hidden }
    }

    fn light_at(&self, point: u32) -> PointLight {
        let LitPoint { place, normal, light } = &self.points[point as usize];
        *light.get_or_init(|| {
            let normal = normal.normalize_or_zero();
            let lit = |key: &KeyLight| match normal.dot(self.shader.to_light) > 0.0 {
                true => key.visible(*place + 2e-4 * normal, normal),
                // it is in its own shadow; a pixel beside it may not be
                false => 0.0,
            };
            let key = self.key.as_ref().map_or(1.0, lit);
            PointLight { key, hidden: self.sky.as_ref().map_or(Vec2::ZERO, |sky| sky.hidden(*place, normal)) }
        })
    }

    /// How much of its shadow the ground shows under a pixel, and what is hidden of the sky: blended from the corners of its cell.
    fn ground_at(&self, pixel: [f32; 2]) -> [f32; 2] {
        let across = self.shader.size[0].div_ceil(CELL) + 1;
        let at = pixel.map(|v| v / CELL as f32);
        let [x, y] = at.map(|v| v as usize);
        let [tx, ty] = [at[0] - x as f32, at[1] - y as f32];
        let corner = y * across + x;
        let [a, b, c, d] = [corner, corner + 1, corner + across, corner + across + 1].map(|i| self.ground[i]);
        [0, 1].map(|i| {
            let (upper, lower) = (a[i] + tx * (b[i] - a[i]), c[i] + tx * (d[i] - c[i]));
            upper + ty * (lower - upper)
        })
    }
}

/// What arrives on a surface with a normal: sky and ground as the hemisphere around it sees them.
fn arriving(normal: Vec3, PointLight { key, hidden }: PointLight) -> Arriving {
    // the mean of ½ + ½ y over the hemisphere around the normal, weighted by the cosine
    let from_above = 0.5 + normal.y / 3.0;
    Vec3::new(key, from_above * (1.0 - hidden.x), (1.0 - from_above) * (1.0 - hidden.y))
}
