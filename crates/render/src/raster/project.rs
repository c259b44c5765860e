//! Facets on the picture: projected, and cut where they reach behind the eye or far beside the picture.

use glam::DVec2;

use super::CELL;
use super::spans::Spans;
use crate::shading::Shader;

/// What is nearer to the eye than this, in the scene's units, is cut off.
const NEAR: f32 = 1e-6;
/// Samples around the picture beyond which triangles are cut.
const GUARD: f64 = 1024.0;
/// A facet, or what is left of it after clipping, on the picture.
pub(super) struct Triangle {
    pub(super) spans: Spans,
    /// One over depth is w + wx x + wy y, x and y in samples.
    pub(super) w: [f64; 3],
    /// Its bounds: rounding must not carry a sliver away.
    pub(super) range: [f32; 2],
    pub(super) facet: u32,
    /// Whether samples have to ask a texture.
    pub(super) holes: bool,
    /// Whether it covers so many pixels that light must not be blended from its corners.
    pub(super) large: bool,
}

/// A facet on the picture: one triangle, none, or several where it had to be cut.
pub(super) fn on_picture(shader: &Shader<'_>, index: usize) -> impl Iterator<Item = Triangle> + use<> {
    let facet = &shader.scene.facets[index];
    let lens = &shader.lens;
    let seen = facet.corners.map(|corner| {
        let ray = corner - lens.eye;
        [ray.dot(lens.right), ray.dot(lens.up), ray.dot(lens.forward)].map(f64::from)
    });
    let [width, height] = shader.size.map(|side| (side * shader.samples) as f64);
    let scale = [0.5 * width / f64::from(lens.half.x), -0.5 * height / f64::from(lens.half.y)];
    // inside where each is not negative: before the eye, and not too far beside the picture
    let [beside, above] = [1.0 + 2.0 * GUARD / width, 1.0 + 2.0 * GUARD / height];
    let (half_x, half_y) = (f64::from(lens.half.x) * beside, f64::from(lens.half.y) * above);
    let planes: [[f64; 4]; 5] = [
        [0.0, 0.0, 1.0, -f64::from(NEAR)],
        [1.0, 0.0, half_x, 0.0],
        [-1.0, 0.0, half_x, 0.0],
        [0.0, 1.0, half_y, 0.0],
        [0.0, -1.0, half_y, 0.0],
    ];
    let (polygon, count) = clipped(seen, &planes);
    let n = facet.normal;
    let to_plane = f64::from(n.dot(facet.corners[0] - lens.eye));
    let [right, up, forward] =
        [lens.right, lens.up, lens.forward].map(|axis| f64::from(n.dot(axis)) / to_plane);
    // the film's place of a sample is linear in x and y, and so is one over depth
    let (wx, wy) = (right / scale[0], up / scale[1]);
    let w = [forward - 0.5 * width * wx - 0.5 * height * wy, wx, wy];
    let holes = shader.may_have_holes(facet);
    let largest = ((2 * CELL * shader.samples) as i64).pow(2);
    (1..count.saturating_sub(1)).filter_map(move |i| {
        let corners = [polygon[0], polygon[i], polygon[i + 1]];
        let place =
            |[x, y, z]: [f64; 3]| DVec2::new(0.5 * width + scale[0] * x / z, 0.5 * height + scale[1] * y / z);
        let spans = Spans::new(corners.map(place))?;
        let near = corners.iter().map(|c| 1.0 / c[2]);
        let range = [near.clone().fold(f64::MAX, f64::min) as f32, near.fold(0.0, f64::max) as f32];
        let large = i64::from(spans.right - spans.left) * i64::from(spans.bottom - spans.top) > largest;
        let w = if w.iter().all(|v| v.is_finite()) { w } else { [f64::from(range[0]), 0.0, 0.0] };
        Some(Triangle { spans, w, range, facet: index as u32, holes, large })
    })
}

/// A triangle cut by planes (Sutherland and Hodgman 1974): its corners and their number. A point is inside where
/// a x + b y + c z + d ≥ 0.
fn clipped(corners: [[f64; 3]; 3], planes: &[[f64; 4]; 5]) -> ([[f64; 3]; 8], usize) {
    let (mut polygon, mut count) = ([[0.0; 3]; 8], 3);
    polygon[..3].copy_from_slice(&corners);
    for [a, b, c, d] in planes {
        let side = |p: &[f64; 3]| a * p[0] + b * p[1] + c * p[2] + d;
        if polygon[..count].iter().all(|p| side(p) >= 0.0) {
            continue;
        }
        let before = polygon;
        let mut kept = 0;
        for i in 0..count {
            let (from, to) = (before[i], before[(i + 1) % count]);
            let (at_from, at_to) = (side(&from), side(&to));
            let mut keep = |p: [f64; 3]| {
                if kept < polygon.len() {
                    polygon[kept] = p;
                    kept += 1;
                }
            };
            if at_from >= 0.0 {
                keep(from);
            }
            if (at_from >= 0.0) != (at_to >= 0.0) {
                let t = at_from / (at_from - at_to);
                keep([0, 1, 2].map(|k| from[k] + t * (to[k] - from[k])));
            }
        }
        count = kept;
    }
    (polygon, count)
}
