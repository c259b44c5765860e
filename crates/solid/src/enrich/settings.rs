//! The dials of an enriched surface.

use geometry::Vec3;

/// Everything that an enriched surface is made of.
#[derive(Clone, Debug)]
pub struct EnrichSettings {
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// In m/s².
    pub gravity: Vec3,
    /// On top of it for each tet point, in m/s²: a ball falls beside a body that hangs as animated. None where empty.
    pub extra_gravity: Vec<Vec3>,
    /// The swing of a point of weight ½ about the animation, in Hz.
    pub follow_frequency_hz: f64,
    /// How much that swing is damped: 1 just does not overshoot.
    pub follow_damping: f64,
    /// No tet point strays further from the fitted animation than this, in metres.
    pub max_distance: Option<f64>,
    /// Seconds of simulation with the animation held at its first frame.
    pub pre_roll: f64,
    /// Root mean square error of the fit to reach, in metres.
    pub fit_tolerance: f64,
    /// γ of the fit; chosen automatically when `None`.
    pub gamma: Option<f64>,
    /// False: no physics, the tets follow the fit. What completes a half-animated surface.
    pub simulate: bool,
    /// Whether what the tets cannot represent is carried over.
    pub detail: bool,
    /// How steps are taken.
    pub stepping: dynamics::Settings,
}

impl Default for EnrichSettings {
    fn default() -> Self {
        Self {
            frame_rate_hz: 24.0,
            gravity: Vec3::ZERO,
            extra_gravity: Vec::new(),
            follow_frequency_hz: 4.0,
            follow_damping: 1.0,
            max_distance: None,
            pre_roll: 0.0,
            fit_tolerance: 1e-3,
            gamma: None,
            simulate: true,
            detail: true,
            stepping: dynamics::Settings::default(),
        }
    }
}
