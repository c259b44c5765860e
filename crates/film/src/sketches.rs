//! Pictures of what layers are made of.

use render::{Camera, Look, Painter, Picture, Shading, View};
use shot::Sketch;

use crate::Error;

/// From above by this much, in radians.
const ELEVATION: f64 = 0.26;

/// A picture of each, all seen by one camera, so that they can be compared.
pub fn sketch_pictures(sketches: &[Sketch], size: [u32; 2]) -> Result<Vec<Picture>, Error> {
    let Some(first) = sketches.first() else { return Ok(Vec::new()) };
    let clips: Vec<_> = sketches.iter().map(|sketch| &sketch.clip).collect();
    let view = View::Orbit { azimuth: first.azimuth, elevation: ELEVATION };
    let camera = Camera::framing_clips(&clips, view, f64::from(size[0]) / f64::from(size[1]))?;
    let paint = |sketch: &Sketch| {
        let look = Look { wireframe: sketch.edges, shading: Shading::Flat, ..Look::default() };
        let frame = sketch.clip.frame(0)?;
        Ok(Painter::new(&sketch.clip).picture(&frame, &camera, &look, size, None)?)
    };
    sketches.iter().map(paint).collect()
}
