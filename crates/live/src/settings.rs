//! Dials of the coarse simulation. They travel in the operator file: the operator was learnt from cloth simulated so.

use crate::{Error, Point};

/// What the coarse cloth is made of and how it is stepped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Inner steps per second, always the same, so that the motion does not depend on the frame rate.
    pub rate_hz: f32,
    /// In m/s².
    pub gravity: Point,
    /// Mass per area, kg/m².
    pub density: f32,
    /// Resistance to stretching along edges, N/m.
    pub stretch: f32,
    /// Resistance to shearing: along the diagonals of what looks like quads, N/m.
    pub shear: f32,
    /// Resistance to bending, J.
    pub bend: f32,
    /// Resistance to being pushed together, as a part of that to stretching. 0 lets the coarse cloth shrink where the fine
    /// one folds (*upsample* §6).
    pub compression: f32,
    /// The part of its velocity that cloth loses in still air, per second.
    pub damping: f32,
    /// Drag of the air across the cloth, no unit: 1 is a plate's.
    pub drag: f32,
    /// Drag of the air along the cloth, no unit.
    pub skin_drag: f32,
    /// Friction against capsules and planes: Coulomb's μ.
    pub friction: f32,
    /// How far points stay away from capsules and planes, in m.
    pub thickness: f32,
    /// How fast points of attachment ½ come back to where skinning has them, 1/s.
    pub attachment_rate: f32,
    /// Attached points that move faster than this were teleported, and cloth is carried along, m/s.
    pub teleport_speed: f32,
}

impl Default for Settings {
    /// A light wool, 600 steps a second.
    fn default() -> Self {
        Self {
            rate_hz: 600.0,
            gravity: [0.0, -9.81, 0.0],
            density: 0.25,
            stretch: 3000.0,
            shear: 300.0,
            bend: 2e-5,
            compression: 0.0,
            damping: 0.3,
            drag: 1.0,
            skin_drag: 0.05,
            friction: 0.3,
            thickness: 0.01,
            attachment_rate: 60.0,
            teleport_speed: 60.0,
        }
    }
}

impl Settings {
    /// Numbers in the order of the file.
    pub(crate) fn to_array(self) -> [f32; 16] {
        let [x, y, z] = self.gravity;
        [
            self.rate_hz,
            x,
            y,
            z,
            self.density,
            self.stretch,
            self.shear,
            self.bend,
            self.compression,
            self.damping,
            self.drag,
            self.skin_drag,
            self.friction,
            self.thickness,
            self.attachment_rate,
            self.teleport_speed,
        ]
    }

    pub(crate) fn from_array(a: [f32; 16]) -> Self {
        Self {
            rate_hz: a[0],
            gravity: [a[1], a[2], a[3]],
            density: a[4],
            stretch: a[5],
            shear: a[6],
            bend: a[7],
            compression: a[8],
            damping: a[9],
            drag: a[10],
            skin_drag: a[11],
            friction: a[12],
            thickness: a[13],
            attachment_rate: a[14],
            teleport_speed: a[15],
        }
    }

    /// Refuses numbers that no cloth has.
    pub fn check(&self) -> Result<(), Error> {
        let positive = [
            ("rate_hz", self.rate_hz),
            ("density", self.density),
            ("stretch", self.stretch),
            ("teleport_speed", self.teleport_speed),
        ];
        let not_negative = [
            ("shear", self.shear),
            ("bend", self.bend),
            ("compression", self.compression),
            ("damping", self.damping),
            ("drag", self.drag),
            ("skin_drag", self.skin_drag),
            ("friction", self.friction),
            ("thickness", self.thickness),
            ("attachment_rate", self.attachment_rate),
        ];
        let bad = |what, value| Err(Error::OutOfRange { what, value });
        if let Some((what, value)) = positive.into_iter().find(|(_, v)| !(v.is_finite() && *v > 0.0)) {
            return bad(what, value);
        }
        if let Some((what, value)) = not_negative.into_iter().find(|(_, v)| !(v.is_finite() && *v >= 0.0)) {
            return bad(what, value);
        }
        if let Some(value) = self.gravity.into_iter().find(|v| !v.is_finite()) {
            return bad("gravity", value);
        }
        if self.rate_hz > 1e5 {
            return bad("rate_hz", self.rate_hz);
        }
        Ok(())
    }
}
