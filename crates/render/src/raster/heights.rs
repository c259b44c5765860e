//! How high a scene stands above a plane: what a distant light sees, and what it does not.
//!
//! A scene lies in the unit ball, so a square of side 2 holds its shadow from any side. Each texel keeps the greatest height of
//! the scene above it; coarser levels keep the greatest of their four, so that "nothing stands there" is answered at once.

use glam::{Vec2, Vec3};

use super::spans::Spans;
use crate::scene::Facet;

/// A square of texels on the plane through the origin that a direction is upright on.
pub(crate) struct Plane {
    /// Two sides of the plane, and the direction of heights.
    pub(crate) axes: [Vec3; 3],
    side: usize,
}

impl Plane {
    /// Upright on `up`, a unit vector.
    fn new(up: Vec3, side: usize) -> Self {
        let (u, v) = up.any_orthonormal_pair();
        Self { axes: [u, v, up], side }
    }

    /// Where points lie on the map, in texels, and how high.
    fn located(&self, points: &[Vec3]) -> Vec<Vec3> {
        let locate = |p: &Vec3| {
            let (at, height) = self.locate(*p);
            at.extend(height)
        };
        points.iter().map(locate).collect()
    }

    /// A texel's width in the scene's units.
    pub(crate) fn texel(&self) -> f32 {
        2.0 / self.side as f32
    }

    /// Where a place lies on the map, in texels, and its height.
    #[inline]
    pub(crate) fn locate(&self, place: Vec3) -> (Vec2, f32) {
        let [u, v, up] = self.axes;
        let half = 0.5 * self.side as f32;
        (Vec2::new(half + half * u.dot(place), half + half * v.dot(place)), up.dot(place))
    }

    /// The texel at a place; `None` beside the square.
    #[inline]
    fn texel_at(&self, at: Vec2) -> Option<usize> {
        let side = self.side as f32;
        let inside = at.x >= 0.0 && at.y >= 0.0 && at.x < side && at.y < side;
        inside.then(|| at.y as usize * self.side + at.x as usize)
    }
}

/// Heights along a direction, over the plane through the origin.
pub(crate) struct HeightMap {
    pub(crate) plane: Plane,
    /// Squares of heights, each half as wide as the one before; where nothing stands, −∞.
    levels: Vec<Vec<f32>>,
}

impl HeightMap {
    /// Heights of facets between points along `up`, a unit vector; `side` must be a power of two.
    pub(crate) fn new(facets: &[Facet], points: &[Vec3], up: Vec3, side: usize) -> Self {
        let mut heights = vec![f32::NEG_INFINITY; side * side];
        let plane = Plane::new(up, side);
        let located = plane.located(points);
        for facet in facets {
            fill(facet, &located, &plane, |texel, height| heights[texel] = heights[texel].max(height));
        }
        let mut map = Self { plane, levels: vec![heights] };
        map.build_levels();
        map
    }

    fn build_levels(&mut self) {
        let mut side = self.plane.side;
        while side > 1 {
            let last = &self.levels[self.levels.len() - 1];
            let half = side / 2;
            let mut next = Vec::with_capacity(half * half);
            for rows in last.chunks_exact(2 * side) {
                let (upper, lower) = rows.split_at(side);
                let largest = |(a, b): (&[f32], &[f32])| a[0].max(a[1]).max(b[0].max(b[1]));
                next.extend(upper.chunks_exact(2).zip(lower.chunks_exact(2)).map(largest));
            }
            self.levels.push(next);
            side = half;
        }
    }

    /// The greatest height within a square around a place, or of a little more. All in texels.
    #[inline]
    pub(crate) fn highest_around(&self, at: Vec2, reach: f32) -> f32 {
        let side = self.plane.side as f32;
        let [left, top, right, bottom] = [at.x - reach, at.y - reach, at.x + reach, at.y + reach];
        if !(right >= 0.0 && bottom >= 0.0 && left < side && top < side) {
            return f32::NEG_INFINITY;
        }
        // the level on which the square touches at most two texels each way
        let level = (u32::BITS - ((right - left) as u32).leading_zeros()) as usize;
        let level = level.min(self.levels.len() - 1);
        let side = self.plane.side >> level;
        let texel = |v: f32| ((v.max(0.0) as usize) >> level).min(side - 1);
        let mut highest = f32::NEG_INFINITY;
        for y in texel(top)..=texel(bottom) {
            for x in texel(left)..=texel(right) {
                highest = highest.max(self.levels[level][y * side + x]);
            }
        }
        highest
    }

    /// What the four texels around a place say, blended: `tell` makes a number of a height.
    #[inline]
    pub(crate) fn blended(&self, at: Vec2, tell: impl Fn(f32) -> f32) -> f32 {
        blended(&self.levels[0], self.plane.side, at, f32::NEG_INFINITY, tell)
    }

    /// The height of the texel at a place.
    #[inline]
    pub(crate) fn nearest(&self, at: Vec2) -> f32 {
        self.plane.texel_at(at).map_or(f32::NEG_INFINITY, |texel| self.levels[0][texel])
    }
}

/// The lowest and the highest along a direction: what is above a place and what is below it, for the price of one map.
pub(crate) struct ThicknessMap {
    pub(crate) plane: Plane,
    /// Lowest and highest; the wrong way round where nothing stands.
    texels: Vec<[f32; 2]>,
}

impl ThicknessMap {
    const EMPTY: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

    /// Of facets between points along `up`, a unit vector.
    pub(crate) fn new(facets: &[Facet], points: &[Vec3], up: Vec3, side: usize) -> Self {
        let mut texels = vec![Self::EMPTY; side * side];
        let plane = Plane::new(up, side);
        let located = plane.located(points);
        for facet in facets {
            fill(facet, &located, &plane, |texel, height| {
                let [low, high] = &mut texels[texel];
                (*low, *high) = (low.min(height), high.max(height));
            });
        }
        Self { plane, texels }
    }

    /// The direction of heights.
    pub(crate) fn up(&self) -> Vec3 {
        self.plane.axes[2]
    }

    /// What `tell` makes of the distance to what stands above a place (or below it: `down`), blended over four texels.
    #[inline]
    pub(crate) fn blended(&self, at: Vec2, height: f32, down: bool, tell: impl Fn(f32) -> f32) -> f32 {
        blended(&self.texels, self.plane.side, at, Self::EMPTY, |texel| tell(distance(texel, height, down)))
    }

    /// The distance up to what stands over a place.
    #[inline]
    pub(crate) fn above(&self, at: Vec2, height: f32) -> f32 {
        let over = |texel: usize| distance(self.texels[texel], height, false);
        self.plane.texel_at(at).map_or(f32::INFINITY, over)
    }
}

/// From a height to the nearest of a texel's two ends that lies that way; negative where both lie the other way.
#[inline]
fn distance([low, high]: [f32; 2], height: f32, down: bool) -> f32 {
    match down {
        false if low > height => low - height,
        false => high - height,
        true if high < height => height - high,
        true => height - low,
    }
}

/// What the four texels around a place say, blended.
#[inline]
fn blended<T: Copy>(texels: &[T], side: usize, at: Vec2, empty: T, tell: impl Fn(T) -> f32) -> f32 {
    // half a texel outside is still touched
    let from_corner = at + 0.5;
    let last = side as f32 + 0.5;
    if !(from_corner.x > 0.0 && from_corner.y > 0.0 && at.x < last && at.y < last) {
        return tell(empty);
    }
    let (x, y) = (from_corner.x as usize, from_corner.y as usize);
    let (tx, ty) = (from_corner.x - x as f32, from_corner.y - y as f32);
    // the texel before column x; what lies outside is empty
    let get = |x: usize, y: usize| {
        let inside = (1..=side).contains(&x) && (1..=side).contains(&y);
        tell(if inside { texels[(y - 1) * side + x - 1] } else { empty })
    };
    let upper = get(x, y) * (1.0 - tx) + get(x + 1, y) * tx;
    let lower = get(x, y + 1) * (1.0 - tx) + get(x + 1, y + 1) * tx;
    upper * (1.0 - ty) + lower * ty
}

/// Tells the height of every texel whose middle lies under a facet.
fn fill(facet: &Facet, located: &[Vec3], plane: &Plane, mut tell: impl FnMut(usize, f32)) {
    // facets share their points, which are located once
    let [a, b, c] = facet.points.map(|point| located[point as usize]);
    let corners = [a, b, c].map(Vec3::truncate);
    // most facets are smaller than a texel and have no texel's middle in them
    let low = corners[0].min(corners[1]).min(corners[2]);
    let high = corners[0].max(corners[1]).max(corners[2]);
    if !(holds_middle(low.x, high.x) && holds_middle(low.y, high.y)) {
        return;
    }
    let Some(spans) = Spans::new(corners.map(|p| p.as_dvec2())) else { return };
    let (&[u, v, up], side) = (&plane.axes, plane.side);
    let half = 0.5 * side as f32;
    let [low, high] = [a.z.min(b.z).min(c.z), a.z.max(b.z).max(c.z)];
    // height is linear over the plane: h = h₀ − (n·u (x − x₀) + n·v (y − y₀)) / n·up
    let n = facet.normal;
    let steep = n.dot(up);
    let slope = if steep.abs() > 1e-6 { Vec2::new(n.dot(u), n.dot(v)) / (-steep * half) } else { Vec2::ZERO };
    let last = side as i32;
    for row in spans.top.max(0)..spans.bottom.min(last) {
        let (from, to) = spans.row(row, 0, last);
        let first = a.z + slope.y * (row as f32 + 0.5 - corners[0].y);
        for column in from..to {
            let height = first + slope.x * (column as f32 + 0.5 - corners[0].x);
            tell((row * last + column) as usize, height.clamp(low, high));
        }
    }
}

/// Whether some i + ½, i not negative, lies between two numbers; with a slack far above any rounding.
fn holds_middle(low: f32, high: f32) -> bool {
    let (low, high) = ((low - 0.51).max(0.0), high - 0.49);
    let cut = low as i32;
    let first = cut + i32::from((cut as f32) < low);
    high >= first as f32
}

/// Places of a disc, evenly spread: the spiral of a sunflower.
pub(crate) fn disc<const N: usize>() -> [Vec2; N] {
    std::array::from_fn(|i| {
        let radius = ((i as f32 + 0.5) / N as f32).sqrt();
        Vec2::from_angle(2.399_963 * i as f32) * radius
    })
}
