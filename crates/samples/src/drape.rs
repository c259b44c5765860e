//! A tablecloth above a round table: what a cloth that must not stretch is judged by.

use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames};
use geometry::Vec3;

use crate::{paint, shapes};

/// Metres.
const SIZE: f64 = 1.3;
const TABLE_HEIGHT: f64 = 0.75;
const TABLE_RADIUS: f64 = 0.4;
/// The cloth starts this far above the table, in metres, and turned by so much, in radians: no two of its corners hang alike.
const GAP: f64 = 0.02;
const TURN: f64 = 0.3;

/// A square cloth of quads, flat and level a little above a round table; mesh `cloth` and mesh `table`, both standing still.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drape {
    /// Quads along each side.
    pub cells: usize,
    /// How many frames.
    pub frames: usize,
    /// Frames per second.
    pub frame_rate_hz: f64,
}

impl Default for Drape {
    fn default() -> Self {
        Self { cells: 40, frames: 61, frame_rate_hz: 24.0 }
    }
}

/// The cloth as the demo drops it.
pub fn drape() -> Clip {
    Drape::default().clip()
}

impl Drape {
    /// Makes the clip.
    pub fn clip(&self) -> Clip {
        let n = self.cells.max(1);
        let corner = Vec3::new(-0.5 * SIZE, TABLE_HEIGHT + GAP, 0.5 * SIZE);
        let turned = |p: Vec3| {
            let (sin, cos) = TURN.sin_cos();
            Vec3::new(cos * p.x + sin * p.z, p.y, cos * p.z - sin * p.x)
        };
        let cloth = shapes::grid(n, n, corner, SIZE * Vec3::X, -SIZE * Vec3::Z).map(turned);
        // from the foot up: foot, stem, underside, rounded rim, top
        let profile = [
            [0.0, 0.0],
            [0.24, 0.0],
            [0.24, 0.02],
            [0.06, 0.05],
            [0.04, 0.12],
            [0.04, 0.23],
            [0.04, 0.34],
            [0.04, 0.45],
            [0.04, 0.56],
            [0.04, 0.66],
            [0.10, 0.70],
            [TABLE_RADIUS - 0.02, 0.715],
            [TABLE_RADIUS, 0.725],
            [TABLE_RADIUS, 0.74],
            [TABLE_RADIUS - 0.012, TABLE_HEIGHT],
            [0.6 * TABLE_RADIUS, TABLE_HEIGHT],
            [0.25 * TABLE_RADIUS, TABLE_HEIGHT],
            [0.0, TABLE_HEIGHT],
        ];
        let meshes = vec![cloth.mesh("cloth", Some(0)), shapes::revolve(&profile, 48).mesh("table", Some(1))];
        let points = meshes.iter().map(|mesh| mesh.rest_points.clone()).collect();
        let frames = MemoryFrames::new(vec![Frame { points, pose: Vec::new() }; self.frames.max(1)]);
        let mut clip = Clip::new("drape", self.frame_rate_hz, meshes, None, Arc::new(frames));
        clip.images = vec![paint::picture("damask", 512, 512, |u, v| {
            let edge = |x: f64| (0.5 - (x - 0.5).abs()) * SIZE;
            let rim = edge(u).min(edge(v));
            let stripe = (0.05..0.07).contains(&rim) || (0.085..0.09).contains(&rim);
            let weave = 0.5 + 0.5 * (u * 120.0).sin() * (v * 120.0).sin();
            if stripe { 0x2f5d8a_u32 } else { paint::mix(0xf4efe4, 0xe9e0cd, weave) }
        })];
        clip.materials = vec![paint::textured("damask", 0), paint::plain("walnut", 0x6b4430)];
        clip
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_sound;

    #[test]
    fn is_sound_made_of_quads_and_clear_of_the_table() {
        let clip = drape();
        assert_sound(&clip);
        let (cloth, table) = (&clip.meshes[0], &clip.meshes[1]);
        assert_eq!((cloth.name.as_str(), table.name.as_str()), ("cloth", "table"));
        assert!(cloth.faces.iter().all(|face| face.len() == 4));
        let highest = table.rest_points.iter().map(|p| p[1]).fold(0.0, f32::max);
        assert!(cloth.rest_points.iter().all(|p| p[1] > highest + 0.01));
    }
}
