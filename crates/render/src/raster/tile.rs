//! One tile of a picture: which facet each sample sees, and the colours of its pixels.

use glam::{Vec2, Vec3};

use super::light::KeyLight;
use super::project::Triangle;
use super::{CELL, PointLight, Rasteriser, TILE, arriving};
use crate::caster::Hit;
use crate::color::srgb_from_linear_table;
use crate::scene::Facet;
use crate::shading::Shader;
use crate::{Shading, Srgb};

/// What a sample sees where it sees no facet.
const BACKGROUND: u32 = u32::MAX;
const GROUND: u32 = u32::MAX - 1;

/// Marks a large facet among those that samples see.
const LARGE: u32 = 1 << 31;

/// Samples along the side of a block that hides what lies behind all of it.
const BLOCK: usize = 8;

/// The facet's number without its mark.
fn number(facet: u32) -> usize {
    (facet & !LARGE) as usize
}

/// One tile being drawn: what each of its samples sees.
#[derive(Default)]
pub(super) struct Tile {
    /// Its first pixel.
    first: [usize; 2],
    /// Its pixels across and down.
    size: [usize; 2],
    /// One over depth, row by row.
    nearness: Vec<f32>,
    facets: Vec<u32>,
    /// The least nearness in each block of samples, [`BLOCK`] each way, row by row: when it was measured.
    farthest: Vec<f32>,
    /// What is hidden of the sky at the corners of cells of large facets.
    cells: Vec<(u32, [usize; 2], [Vec2; 4])>,
    /// The key light on the ground, cell by cell, and at the knots of those in which it may have a shadow: not a number where it is not known.
    ground: Vec<Option<GroundCell>>,
    knots: Vec<f32>,
    /// Of the pixel at hand.
    fragments: Vec<Fragment>,
}

/// What a pixel sees of one facet, of the ground or of the background: how many of its samples, and sums over them.
#[derive(Clone, Copy)]
struct Fragment {
    facet: u32,
    count: f32,
    place: Vec2,
    line: f32,
}

impl Tile {
    /// Clears the tile: nothing but the ground.
    pub(super) fn begin(&mut self, shader: &Shader<'_>, first: [usize; 2]) {
        self.first = first;
        self.size = [0, 1].map(|axis| TILE.min(shader.size[axis] - first[axis]));
        self.cells.clear();
        self.ground.clear();
        self.ground.resize((TILE / CELL).pow(2), None);
        self.knots.clear();
        self.knots.resize(KNOTS * KNOTS, f32::NAN);
        let samples = shader.samples;
        let [across, down] = self.size.map(|side| side * samples);
        self.nearness.clear();
        self.facets.clear();
        let lens = &shader.lens;
        let height = shader.ground.map(|ground| ground - lens.eye.y).filter(|height| *height != 0.0);
        for y in 0..down {
            let at = |x: usize| {
                let [x, y] = [x + first[0] * samples, y + first[1] * samples].map(|v| v as f32 + 0.5);
                let film = lens.on_film(x, y);
                height.map_or(0.0, |height| {
                    (lens.forward.y + film.x * lens.right.y + film.y * lens.up.y) / height
                })
            };
            // linear along the row; what rests on the ground touches it: without the slack the two would fight
            let (start, end) = (at(0), at(across - 1));
            let step = if across > 1 { (end - start) / (across - 1) as f32 } else { 0.0 };
            for x in 0..across {
                let nearness = (start + step * x as f32) / (1.0 + 1e-4);
                self.nearness.push(nearness.max(0.0));
                self.facets.push(if nearness > 0.0 { GROUND } else { BACKGROUND });
            }
        }
    }

    /// Draws a triangle over what is farther away.
    pub(super) fn cover(&mut self, picture: &Rasteriser<'_>, triangle: &Triangle) {
        let samples = picture.shader.samples;
        let [left, top] = self.first.map(|v| (v * samples) as i32);
        let [across, down] = self.size.map(|v| (v * samples) as i32);
        let [w, wx, wy] = triangle.w;
        let [low, high] = triangle.range;
        for row in triangle.spans.top.max(top)..triangle.spans.bottom.min(top + down) {
            let (from, to) = triangle.spans.row(row, left, left + across);
            if from >= to {
                continue;
            }
            let start = (w + wx * (f64::from(from) + 0.5) + wy * (f64::from(row) + 0.5)) as f32;
            let at = ((row - top) * across + from - left) as usize;
            let run = at..at + (to - from) as usize;
            let under = self.nearness[run.clone()].iter_mut().zip(&mut self.facets[run]);
            let (step, index) = (wx as f32, triangle.index());
            for ((nearness, facet), i) in under.zip(0_i32..) {
                let here = (start + step * i as f32).clamp(low, high);
                let nearer = here > *nearness;
                if nearer && triangle.holes {
                    let place = Vec2::new(from as f32 + i as f32 + 0.5, row as f32 + 0.5);
                    if picture.shader.is_hole(&hit(&picture.shader, triangle.facet, place).0) {
                        continue;
                    }
                }
                *nearness = if nearer { here } else { *nearness };
                *facet = if nearer { index } else { *facet };
            }
        }
    }

    /// Measures how far away the farthest sample of each block is.
    pub(super) fn measure(&mut self, samples: usize) {
        let across = self.size[0] * samples;
        self.farthest.clear();
        let mut least = [f32::INFINITY; TILE * 8];
        let least = &mut least[..across];
        for rows in self.nearness.chunks(BLOCK * across) {
            least.fill(f32::INFINITY);
            for row in rows.chunks_exact(across) {
                least.iter_mut().zip(row).for_each(|(a, b)| *a = if *b < *a { *b } else { *a });
            }
            let farthest = least.chunks(BLOCK).map(|run| run.iter().copied().fold(f32::INFINITY, f32::min));
            self.farthest.extend(farthest);
        }
    }

    /// Whether all that a triangle could cover was nearer when it was measured.
    pub(super) fn hides(&self, triangle: &Triangle, samples: usize) -> bool {
        let [left, top] = self.first.map(|v| (v * samples) as i32);
        let [across, down] = self.size.map(|v| v * samples);
        let block =
            |v: i32, first: i32, count: usize| (v - first).clamp(0, count as i32 - 1) as usize / BLOCK;
        let columns =
            block(triangle.spans.left, left, across)..=block(triangle.spans.right - 1, left, across);
        let rows = block(triangle.spans.top, top, down)..=block(triangle.spans.bottom - 1, top, down);
        let blocks = across.div_ceil(BLOCK);
        let nearest = triangle.range[1];
        rows.into_iter().all(|y| self.farthest[y * blocks..][columns.clone()].iter().all(|at| nearest <= *at))
    }

    /// Shades every pixel and writes it into the picture's band of rows.
    pub(super) fn develop(&mut self, picture: &Rasteriser<'_>, band: &mut [Srgb]) {
        let width = picture.shader.size[0];
        for y in 0..self.size[1] {
            for x in 0..self.size[0] {
                band[y * width + self.first[0] + x] = self.pixel(picture, x, y);
            }
        }
    }

    fn pixel(&mut self, picture: &Rasteriser<'_>, x: usize, y: usize) -> Srgb {
        let samples = picture.shader.samples;
        let across = self.size[0] * samples;
        let first = y * samples * across + x * samples;
        let seen = self.facets[first];
        let rows = (0..samples).map(|sy| first + sy * across);
        let is_whole = rows.clone().all(|row| self.facets[row..row + samples].iter().all(|&f| f == seen));
        let [px, py] = [self.first[0] + x, self.first[1] + y];
        if is_whole && (seen == BACKGROUND || (seen == GROUND && self.is_bare(picture, [px, py]))) {
            return picture.paper[py];
        }
        let corner = Vec2::new((px * samples) as f32, (py * samples) as f32);
        if is_whole && !picture.shader.look.wireframe {
            let middle = corner + 0.5 * samples as f32;
            return srgb_from_linear_table(self.shade(picture, seen, middle, 0.0));
        }
        let mut fragments = std::mem::take(&mut self.fragments);
        fragments.clear();
        for (sy, row) in rows.enumerate() {
            for sx in 0..samples {
                let facet = self.facets[row + sx];
                let place = corner + Vec2::new(sx as f32 + 0.5, sy as f32 + 0.5);
                let line = match facet {
                    BACKGROUND | GROUND => 0.0,
                    facet => {
                        let film = picture.shader.lens.on_film(place.x, place.y);
                        picture.shader.line(&picture.shader.scene.facets[number(facet)], film)
                    }
                };
                let same = |fragment: &&mut Fragment| {
                    fragment.facet == facet || is_one_surface(&picture.shader, fragment.facet, facet)
                };
                match fragments.iter_mut().find(same) {
                    Some(fragment) => {
                        fragment.count += 1.0;
                        fragment.place += place;
                        fragment.line += line;
                    }
                    None => fragments.push(Fragment { facet, count: 1.0, place, line }),
                }
            }
        }
        let mut sum = Vec3::ZERO;
        for &Fragment { facet, count, place, line } in &fragments {
            sum += count * self.shade(picture, facet, place / count, line / count);
        }
        self.fragments = fragments;
        srgb_from_linear_table(sum / (samples * samples) as f32)
    }

    /// Whether the ground's cell around a pixel is bare: all light arrives, so that it looks like the background.
    fn is_bare(&mut self, picture: &Rasteriser<'_>, pixel: [usize; 2]) -> bool {
        let across = picture.shader.size[0].div_ceil(CELL) + 1;
        let first = pixel[1] / CELL * across + pixel[0] / CELL;
        let corners = [first, first + 1, first + across, first + across + 1].map(|i| picture.ground[i]);
        if corners.iter().all(|[fade, _]| *fade <= 0.0) {
            return true;
        }
        if corners.iter().any(|[_, hidden]| *hidden > 0.0) {
            return false;
        }
        let Some(key) = &picture.key else { return true };
        matches!(self.ground_cell(picture, key, pixel.map(|v| v as f32)), GroundCell::Open)
    }

    /// Linear colour of a facet, the ground or the background at a place in the picture, in samples.
    fn shade(&mut self, picture: &Rasteriser<'_>, facet: u32, place: Vec2, line: f32) -> Vec3 {
        let shader = &picture.shader;
        let down = place.y / (shader.size[1] * shader.samples) as f32;
        match facet {
            BACKGROUND => shader.background(down),
            GROUND => {
                let pixel = (place / shader.samples as f32).to_array();
                let [fade, hidden] = picture.ground_at(pixel);
                if fade <= 0.0 {
                    return shader.background(down);
                }
                let key = picture.key.as_ref().map_or(1.0, |key| self.key_on_ground(picture, key, pixel));
                shader.shadow_on(shader.background(down), fade, key, 1.0 - hidden)
            }
            facet => {
                let large = facet & LARGE != 0;
                let facet = number(facet) as u32;
                let (hit, direction) = hit(shader, facet, place);
                let landing = shader.land(&hit, direction, line);
                let light = match large {
                    true => PointLight {
                        key: picture.key_at(&landing),
                        hidden: self.hidden_from_large(picture, facet, place),
                    },
                    false => picture.blended_light(&hit, &landing),
                };
                shader.shade(&landing.sample, arriving(landing.sample.normal, light), down)
            }
        }
    }

    /// What is hidden of the sky on a large facet: worked out at the corners of a cell of pixels, blended in between.
    fn hidden_from_large(&mut self, picture: &Rasteriser<'_>, facet: u32, place: Vec2) -> Vec2 {
        let Some(sky) = &picture.sky else { return Vec2::ZERO };
        let side = (CELL * picture.shader.samples) as f32;
        let at = place / side;
        let cell = [at.x as usize, at.y as usize];
        let known = self.cells.iter().rev().find(|(of, there, _)| *of == facet && *there == cell);
        let corners = match known {
            Some((_, _, corners)) => *corners,
            None => {
                let corner = |i: usize| {
                    let at = Vec2::new((cell[0] + i % 2) as f32, (cell[1] + i / 2) as f32) * side;
                    let (hit, direction) = hit(&picture.shader, facet, at);
                    let landing = picture.shader.land(&hit, direction, 0.0);
                    sky.hidden(landing.sample.place, landing.flat)
                };
                let corners = std::array::from_fn(corner);
                self.cells.push((facet, cell, corners));
                corners
            }
        };
        let t = at - at.floor();
        let [a, b, c, d] = corners;
        a.lerp(b, t.x).lerp(c.lerp(d, t.x), t.y)
    }

    /// The key light on the ground's cell around a pixel.
    fn ground_cell(&mut self, picture: &Rasteriser<'_>, key: &KeyLight, pixel: [f32; 2]) -> GroundCell {
        let cell = pixel.map(|v| v as usize / CELL);
        let [x, y] = [0, 1].map(|axis| cell[axis] - self.first[axis] / CELL);
        if let Some(known) = self.ground[y * (TILE / CELL) + x] {
            return known;
        }
        let at = |x: usize, y: usize| picture.on_ground([x, y].map(|v| v as f32));
        let [left, top] = cell.map(|v| v * CELL);
        let corners = [(0, 0), (CELL, 0), (0, CELL), (CELL, CELL)].map(|(x, y)| at(left + x, top + y));
        let is_open = match corners {
            [Some(a), Some(b), Some(c), Some(d)] => key.is_open([a, b, c, d]),
            _ => false,
        };
        let found = if is_open { GroundCell::Open } else { GroundCell::Shadow };
        self.ground[y * (TILE / CELL) + x] = Some(found);
        if !is_open {
            // neighbouring cells share the knots between them
            for j in 0..=CELL / KNOT {
                for i in 0..=CELL / KNOT {
                    let knot = &mut self.knots[(y * CELL / KNOT + j) * KNOTS + x * CELL / KNOT + i];
                    if knot.is_nan() {
                        let place = at(left + i * KNOT, top + j * KNOT);
                        *knot = place.map_or(1.0, |place| key.visible(place + 1e-4 * Vec3::Y, Vec3::Y));
                    }
                }
            }
        }
        found
    }

    /// How much of the key light reaches the ground under a pixel.
    fn key_on_ground(&mut self, picture: &Rasteriser<'_>, key: &KeyLight, pixel: [f32; 2]) -> f32 {
        match self.ground_cell(picture, key, pixel) {
            GroundCell::Open => 1.0,
            GroundCell::Shadow => {
                let at = [0, 1].map(|axis| (pixel[axis] - self.first[axis] as f32) / KNOT as f32);
                let [x, y] = at.map(|v| (v as usize).min(KNOTS - 2));
                let [tx, ty] = [at[0] - x as f32, at[1] - y as f32];
                let knots = &self.knots;
                let row = |y: usize| knots[y * KNOTS + x] * (1.0 - tx) + knots[y * KNOTS + x + 1] * tx;
                row(y) * (1.0 - ty) + row(y + 1) * ty
            }
        }
    }
}

/// Pixels between places where the key light on the ground is worked out, and their number along a tile.
const KNOT: usize = 2;
const KNOTS: usize = TILE / KNOT + 1;

/// The key light on a cell of the ground.
#[derive(Clone, Copy)]
enum GroundCell {
    /// Nothing stands in the way.
    Open,
    /// What arrives is known at its knots.
    Shadow,
}

/// Whether two facets are neighbours on one smooth surface: then a pixel that sees both is shaded once.
fn is_one_surface(shader: &Shader<'_>, a: u32, b: u32) -> bool {
    // the background, the ground and large facets have the mark
    if (a | b) & LARGE != 0 || shader.look.wireframe || shader.look.shading == Shading::Flat {
        return false;
    }
    let [a, b] = [a, b].map(|facet| &shader.scene.facets[number(facet)]);
    let touch = a.points.iter().any(|point| b.points.contains(point));
    touch && a.paint.is_like(&b.paint) && a.normal.dot(b.normal) > 0.9
}

impl Triangle {
    /// What its samples see.
    fn index(&self) -> u32 {
        self.facet | if self.large { LARGE } else { 0 }
    }
}

/// Where the camera ray through a place in the picture, in samples, meets a facet's plane; and the ray's direction. Beside the facet
/// the nearest of its sides counts.
fn hit(shader: &Shader<'_>, facet: u32, place: Vec2) -> (Hit, Vec3) {
    let Facet { corners: [a, b, c], .. } = shader.scene.facets[facet as usize];
    let lens = &shader.lens;
    let direction = lens.direction(lens.on_film(place.x, place.y));
    let (e1, e2) = (b - a, c - a);
    let p = direction.cross(e2);
    let inverse = 1.0 / e1.dot(p);
    let from_corner = lens.eye - a;
    let q = from_corner.cross(e1);
    let (u, v) = (from_corner.dot(p) * inverse, direction.dot(q) * inverse);
    let distance = e2.dot(q) * inverse;
    let [u, v] = if u.is_finite() && v.is_finite() { [u.max(0.0), v.max(0.0)] } else { [1.0 / 3.0; 2] };
    let over = (u + v).max(1.0);
    let (u, v) = (u / over, v / over);
    let distance = if distance.is_finite() { distance } else { from_corner.length() };
    (Hit { triangle: facet as usize, distance, weights: [(1.0 - u - v).max(0.0), u, v] }, direction)
}
