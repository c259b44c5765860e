//! A cape around the neck of a body: narrow at the collar, wide at the hem, clear of whatever is behind.

use clip::Mesh;
use geometry::Vec3;

use crate::shapes;
use crate::surface::Body;

/// Cells around and down.
const CELLS: [usize; 2] = [34, 30];
/// Heights of collar and hem, in metres.
const HEIGHTS: [f64; 2] = [0.725, 0.2];
/// How far it goes around the back to either side, at the collar and at the hem, in radians.
const ANGLES: [f64; 2] = [1.0, 1.35];
/// What it keeps from the body, at the collar and at the hem, in metres.
const CLEAR: [f64; 2] = [0.012, 0.06];

/// The cape at rest, open in front, with its group `collar`.
pub(crate) fn mesh(body: &Body, material: Option<usize>) -> Mesh {
    let [around, down] = CELLS;
    let between = |[from, to]: [f64; 2], t: f64| from + t * (to - from);
    let direction = |angle: f64| Vec3::new(angle.sin(), 0.0, -angle.cos());
    // from far behind inwards, until the body is as near as it may be
    let reach = |angle: f64, height: f64, clear: f64| {
        let mut radius = 0.6;
        while radius > 0.02 {
            let room = body.distance(Vec3::Y * height + radius * direction(angle)) - clear;
            if room < 1e-4 {
                break;
            }
            radius -= 0.7 * room;
        }
        radius.max(0.02)
    };
    let mut radii = vec![0.0_f64; (around + 1) * (down + 1)];
    for j in 0..=down {
        let t = j as f64 / down as f64;
        // hangs from where the body is widest
        let widest = (0..=around).map(|i| {
            let angle = between(ANGLES, t) * (2.0 * i as f64 / around as f64 - 1.0);
            reach(angle, between(HEIGHTS, t), between(CLEAR, t))
        });
        let row: Vec<f64> = widest.collect();
        for (i, radius) in row.into_iter().enumerate() {
            let above = if j > 0 { radii[(j - 1) * (around + 1) + i] } else { 0.0 };
            radii[j * (around + 1) + i] = radius.max(above);
        }
    }
    let place = |p: Vec3| {
        let (i, j) = ((p.x * around as f64).round() as usize, (p.y * down as f64).round() as usize);
        let t = j as f64 / down as f64;
        let angle = between(ANGLES, t) * (2.0 * p.x - 1.0);
        Vec3::Y * between(HEIGHTS, t) + radii[j * (around + 1) + i] * direction(angle)
    };
    let unit = shapes::grid(around, down, Vec3::ZERO, Vec3::X, Vec3::Y);
    let is_collar: Vec<f32> =
        unit.points.iter().map(|p| if p.y < 0.5 / down as f64 { 1.0 } else { 0.0 }).collect();
    let mut mesh = unit.map(place).mesh("cape", material);
    mesh.set_group("collar", is_collar);
    mesh
}
