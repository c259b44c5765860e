//! Threshold pictures: a field resampled by cubic convolution, *then* cut by a ramp, so that edges stay smooth however far one zooms
//! in; on the rectangle, or with its periodic side bent into a ring.

use super::{ColorMap, Picture};
use crate::{Domain, Error, Field, sample};
use std::f64::consts::TAU;

/// Below `clear` nothing is seen, above `solid` everything; a straight line between. `clear` may be the larger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ramp {
    /// The value that becomes 0.
    pub clear: f32,
    /// The value that becomes 1.
    pub solid: f32,
}

impl Ramp {
    /// Where a value lies on the ramp, 0 to 1. A ramp of no width is a step.
    pub fn level(&self, value: f32) -> f32 {
        let width = self.solid - self.clear;
        if width == 0.0 {
            return if value >= self.solid { 1.0 } else { 0.0 };
        }
        ((value - self.clear) / width).clamp(0.0, 1.0)
    }
}

/// Where a rectangle with periodic sides comes to lie as a ring: its bottom on the inner circle, or on the outer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ring {
    /// Centre, 0 to 1 from left to right and from the bottom up.
    pub center: [f64; 2],
    /// Radius of the rectangle's bottom, as a fraction of the picture's height.
    pub bottom: f64,
    /// Radius of its top; smaller than `bottom` turns the ring inside out.
    pub top: f64,
    /// Where the rectangle's left side lies, in turns anticlockwise from the right.
    pub turn: f64,
    /// Height over width: below 1 the ring is seen at a slant.
    pub squash: f64,
}

impl Default for Ring {
    fn default() -> Self {
        Self { center: [0.5, 0.5], bottom: 0.02, top: 0.5, turn: 0.0, squash: 1.0 }
    }
}

/// The picture of a field over its rectangle.
pub fn picture_of(
    field: &Field,
    domain: &Domain,
    size: [usize; 2],
    ramp: Ramp,
    colors: &ColorMap,
) -> Result<Picture, Error> {
    field.check("field", domain.points())?;
    Ok(Picture::paint(size[0], size[1], |x, y| {
        let index = [domain.axes[0].index(x), domain.axes[1].index(y), 0.0];
        colors.color(ramp.level(sample(field, domain, index)))
    }))
}

/// The picture of a field bent into a ring; clear elsewhere.
pub fn ring_of(
    field: &Field,
    domain: &Domain,
    size: [usize; 2],
    ring: Ring,
    ramp: Ramp,
    colors: &ColorMap,
) -> Result<Picture, Error> {
    field.check("field", domain.points())?;
    let aspect = size[0] as f64 / size[1].max(1) as f64;
    Ok(Picture::paint(size[0], size[1], |x, y| {
        let (dx, dy) = ((x - ring.center[0]) * aspect, (y - ring.center[1]) / ring.squash);
        let height = (dx.hypot(dy) - ring.bottom) / (ring.top - ring.bottom);
        if !(0.0..=1.0).contains(&height) {
            return [0.0; 4];
        }
        let around = (dy.atan2(dx) / TAU - ring.turn).rem_euclid(1.0);
        let index = [domain.axes[0].index(around), domain.axes[1].index(height), 0.0];
        // the outer edge is as soft as a pixel
        let from_edge = if ring.top > ring.bottom { 1.0 - height } else { height };
        let inside = (from_edge * (ring.top - ring.bottom).abs() * size[1] as f64).min(1.0) as f32;
        colors.color(ramp.level(sample(field, domain, index))).map(|value| value * inside)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Side;

    fn domain() -> Domain {
        Domain::plane([32, 33], [1.0, 1.0], [Side::Periodic, Side::Wall]).unwrap()
    }

    #[test]
    fn the_edge_of_a_magnified_threshold_has_no_stairs() {
        // a slanted front: the edge found in the picture must lie on the straight line, to a fraction of a grid point
        let field = domain().field(|p| p[1] + 0.2 * p[0] - 0.6);
        let ramp = Ramp { clear: -0.001, solid: 0.001 };
        let picture = picture_of(&field, &domain(), [320, 320], ramp, &ColorMap::grey()).unwrap();
        for x in 20..300 {
            let edge = (0..320).filter(|y| picture.pixels[y * 320 + x][0] > 0.5).count() as f64 / 320.0;
            let expected = 1.0 - (0.6 - 0.2 * (x as f64 + 0.5) / 320.0);
            assert!((edge - expected).abs() < 0.004, "column {x}: {edge} {expected}");
        }
    }

    #[test]
    fn a_ring_has_no_seam_and_stands_on_its_bottom() {
        let field = domain().field(|p| p[1] + 0.1 * (TAU * p[0]).sin());
        let ramp = Ramp { clear: 0.0, solid: 1.1 };
        let ring = Ring { bottom: 0.1, top: 0.45, ..Ring::default() };
        let picture = ring_of(&field, &domain(), [200, 200], ring, ramp, &ColorMap::grey()).unwrap();
        let at = |x: usize, y: usize| picture.pixels[y * 200 + x];
        assert_eq!(at(100, 100)[3], 0.0, "the hole is clear");
        assert!(
            (at(160, 99)[0] - at(160, 100)[0]).abs() < 0.02,
            "no seam where the left side meets the right"
        );
        assert!(at(180, 100)[0] > at(130, 100)[0], "the top lies outside");
    }

    #[test]
    fn ramps_may_be_reversed_or_have_no_width() {
        assert_eq!(Ramp { clear: 1.0, solid: 0.0 }.level(0.25), 0.75);
        assert_eq!(Ramp { clear: 1.0, solid: 1.0 }.level(0.99), 0.0);
    }

    /// Radii are shares of the height, also in a wide picture; the outer edge is soft, whichever end of the rectangle it is.
    #[test]
    fn a_ring_is_round_in_a_wide_picture_and_soft_outside() {
        let field = domain().field(|_| 1.0);
        let ramp = Ramp { clear: 0.0, solid: 0.5 };
        for (bottom, top) in [(0.1, 0.4), (0.4, 0.1)] {
            let ring = Ring { bottom, top, ..Ring::default() };
            let picture = ring_of(&field, &domain(), [400, 100], ring, ramp, &ColorMap::grey()).unwrap();
            for (i, pixel) in picture.pixels.iter().enumerate() {
                let (x, y) = ((i % 400) as f64 + 0.5 - 200.0, (i / 400) as f64 + 0.5 - 50.0);
                let radius = x.hypot(y) / 100.0;
                let inside = (100.0 * (0.4 - radius)).min(1.0) as f32;
                let expected = if (0.1..=0.4).contains(&radius) { inside } else { 0.0 };
                let on_edge = (radius - 0.1).abs() < 1e-9 || (radius - 0.4).abs() < 1e-9;
                assert!(on_edge || (pixel[3] - expected).abs() < 1e-4, "{radius}: {pixel:?} {expected}");
            }
        }
    }
}
