//! Regions of space: what lies in a box or a sphere, or above a height.

use geometry::Vec3;
use serde::{Deserialize, Serialize};

/// A box with edges along the axes, in metres.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BoxRegion {
    /// The corner with the smallest coordinates.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = -1e6, "maximum" = 1e6)))]
    pub min: [f64; 3],
    /// The corner with the largest coordinates.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = -1e6, "maximum" = 1e6)))]
    pub max: [f64; 3],
    /// How far outside weights fall to zero, in metres.
    #[serde(default)]
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 1e6)))]
    pub falloff: f64,
}

impl BoxRegion {
    pub(super) fn weight(&self, p: Vec3) -> f64 {
        let (min, max) = (Vec3::from(self.min), Vec3::from(self.max));
        let outside = (min - p).max(p - max).max(Vec3::ZERO).length();
        fade(outside, self.falloff)
    }
}

/// A sphere, in metres.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SphereRegion {
    /// Its middle.
    #[serde(alias = "center")]
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = -1e6, "maximum" = 1e6)))]
    pub centre: [f64; 3],
    /// How far it reaches.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 1e6)))]
    pub radius: f64,
    /// How far outside weights fall to zero, in metres.
    #[serde(default)]
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 1e6)))]
    pub falloff: f64,
}

impl SphereRegion {
    pub(super) fn weight(&self, p: Vec3) -> f64 {
        fade(p.distance(Vec3::from(self.centre)) - self.radius, self.falloff)
    }
}

/// A soft step in height, in metres: zero at `from`, one at `to`, which may lie below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HeightRegion {
    /// Where weights begin to rise.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = -1e6, "maximum" = 1e6)))]
    pub from: f64,
    /// Where they reach one.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = -1e6, "maximum" = 1e6)))]
    pub to: f64,
}

impl HeightRegion {
    pub(super) fn weight(&self, p: Vec3) -> f64 {
        let Self { from, to } = self;
        if from == to { f64::from(p.y >= *to) } else { smooth((p.y - from) / (to - from)) }
    }
}

/// One inside, zero beyond the falloff, smooth between.
pub(super) fn fade(outside: f64, falloff: f64) -> f64 {
    if outside <= 0.0 { 1.0 } else { smooth(1.0 - outside / falloff.max(1e-12)) }
}

/// Hermite's step from 0 to 1: no kink at either end.
fn smooth(s: f64) -> f64 {
    let s = s.clamp(0.0, 1.0);
    s * s * (3.0 - 2.0 * s)
}
