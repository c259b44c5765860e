//! What a body wears: panels of cloth that hang from a collar, clear of whatever is behind. A cape, and a costume of five.

use std::f64::consts::PI;

use clip::Mesh;
use geometry::Vec3;

use crate::shapes;
use crate::surface::Body;

/// A panel of cloth around a body, wide at the hem.
pub(crate) struct Panel {
    pub(crate) name: &'static str,
    /// Cells around and down.
    cells: [usize; 2],
    /// Heights of collar and hem, in metres.
    heights: [f64; 2],
    /// Where its middle is: 0 behind, π in front, π/2 to the left, in radians.
    middle: f64,
    /// How far it goes around to either side, at the collar and at the hem, in radians.
    angles: [f64; 2],
    /// What it keeps from the body, at the collar and at the hem, in metres.
    clear: [f64; 2],
}

/// A cape, open in front.
pub(crate) const CAPE: Panel = Panel {
    name: "cape",
    cells: [34, 30],
    heights: [0.725, 0.2],
    middle: 0.0,
    angles: [1.0, 1.35],
    clear: [0.012, 0.06],
};

/// Five garments over each other, for a person: two halves of a front and an apron over them, a back, and a cape over that.
pub(crate) const COSTUME: [Panel; 5] = [
    Panel {
        name: "left",
        cells: [8, 12],
        heights: [1.0, 0.52],
        middle: PI - 0.56,
        angles: [0.5, 0.48],
        clear: [0.012, 0.15],
    },
    Panel {
        name: "right",
        cells: [8, 12],
        heights: [1.0, 0.52],
        middle: PI + 0.56,
        angles: [0.5, 0.48],
        clear: [0.012, 0.15],
    },
    Panel {
        name: "apron",
        cells: [10, 10],
        heights: [1.02, 0.62],
        middle: PI,
        angles: [0.5, 0.5],
        clear: [0.03, 0.18],
    },
    Panel {
        name: "back",
        cells: [14, 12],
        heights: [1.0, 0.5],
        middle: 0.0,
        angles: [0.9, 0.85],
        clear: [0.012, 0.09],
    },
    Panel {
        name: "cape",
        cells: [18, 20],
        heights: [1.42, 0.42],
        middle: 0.0,
        angles: [0.8, 0.95],
        clear: [0.03, 0.16],
    },
];

/// The panel at rest, with its group `collar`.
pub(crate) fn mesh(body: &Body, panel: &Panel, material: Option<usize>) -> Mesh {
    let &Panel { cells: [around, down], heights, middle, angles, clear, .. } = panel;
    let between = |[from, to]: [f64; 2], t: f64| from + t * (to - from);
    let direction = |angle: f64| {
        let angle = angle + middle;
        Vec3::new(angle.sin(), 0.0, -angle.cos())
    };
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
            let angle = between(angles, t) * (2.0 * i as f64 / around as f64 - 1.0);
            reach(angle, between(heights, t), between(clear, t))
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
        let angle = between(angles, t) * (2.0 * p.x - 1.0);
        Vec3::Y * between(heights, t) + radii[j * (around + 1) + i] * direction(angle)
    };
    let unit = shapes::grid(around, down, Vec3::ZERO, Vec3::X, Vec3::Y);
    let is_collar: Vec<f32> =
        unit.points.iter().map(|p| if p.y < 0.5 / down as f64 { 1.0 } else { 0.0 }).collect();
    let mut mesh = unit.map(place).mesh(panel.name, material);
    mesh.set_group("collar", is_collar);
    mesh
}
