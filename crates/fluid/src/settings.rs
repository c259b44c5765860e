//! The dials of a fluid.

use crate::Error;

/// How fast pressure travels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SoundSpeed {
    /// Several times the speed that the flow reaches; follows the flow when it grows faster.
    Automatic,
    /// This many metres per second. The flow must stay slower.
    Fixed(f64),
    /// That of air at the base state's temperature, for comparison with the atmosphere.
    Air,
}

/// The dials of a fluid, in SI units.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Downward acceleration, m/s²; may be zero or negative.
    pub gravity: f64,
    /// Temperature of the air where no profile says otherwise, K.
    pub temperature: f64,
    /// The artificial sound speed.
    pub sound_speed: SoundSpeed,
    /// Kinematic viscosity ν, m²/s.
    pub viscosity: f64,
    /// Diffusivity κ of temperature, m²/s.
    pub heat_diffusivity: f64,
    /// Diffusivity κₛ of the passive scalars, m²/s.
    pub scalar_diffusivity: f64,
    /// Strength of the sixth-difference filter that goes with advection: 1 is what a fifth-order upwind scheme has.
    pub upwind: f64,
    /// Strength of the sixth-difference filter that goes with sound, as a fraction of the upwind one at the sound speed.
    /// Below 0.05 the corner modes of the one-sided differences at walls may grow.
    pub sound_filter: f64,
    /// Fraction of the largest stable time step to take.
    pub courant: f64,
    /// Number of passive scalars.
    pub scalars: usize,
    /// Sets of texture coordinates: 0, 1, or 2 to blend across restarts.
    pub texture_sets: usize,
    /// A texture set is restarted when its stretch passes this: the root mean square of ‖∇ displacement‖.
    /// Infinite: never.
    pub texture_stretch: f64,
    /// Over how many seconds a restarted texture set replaces the old one.
    pub texture_blend: f64,
    /// Most steps one call of `advance` may take.
    pub max_steps: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            gravity: 9.81,
            temperature: 300.0,
            sound_speed: SoundSpeed::Automatic,
            viscosity: 0.0,
            heat_diffusivity: 0.0,
            scalar_diffusivity: 0.0,
            upwind: 1.0,
            sound_filter: 0.1,
            courant: 0.9,
            scalars: 0,
            texture_sets: 0,
            texture_stretch: f64::INFINITY,
            texture_blend: 0.5,
            max_steps: 20_000,
        }
    }
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let finite = "a finite number";
        let none_negative = "0 or more";
        let sound = if let SoundSpeed::Fixed(speed) = self.sound_speed { speed } else { 1.0 };
        let rules: [(&'static str, f64, bool, &'static str); 12] = [
            ("gravity", self.gravity, self.gravity.is_finite(), finite),
            ("temperature", self.temperature, self.temperature > 0.0, "more than 0 K"),
            ("sound_speed", sound, sound > 0.0 && sound.is_finite(), "more than 0 m/s"),
            ("viscosity", self.viscosity, self.viscosity >= 0.0, none_negative),
            ("heat_diffusivity", self.heat_diffusivity, self.heat_diffusivity >= 0.0, none_negative),
            ("scalar_diffusivity", self.scalar_diffusivity, self.scalar_diffusivity >= 0.0, none_negative),
            ("upwind", self.upwind, (0.0..=4.0).contains(&self.upwind), "0 to 4"),
            ("sound_filter", self.sound_filter, (0.0..=1.0).contains(&self.sound_filter), "0 to 1"),
            ("courant", self.courant, self.courant > 0.0 && self.courant <= 1.0, "more than 0, at most 1"),
            ("texture_sets", self.texture_sets as f64, self.texture_sets <= 2, "0, 1 or 2"),
            ("texture_stretch", self.texture_stretch, self.texture_stretch > 0.0, "more than 0"),
            ("texture_blend", self.texture_blend, self.texture_blend >= 0.0, "0 s or more"),
        ];
        for (dial, value, good, allowed) in rules {
            let huge = value.is_infinite() && dial != "texture_stretch";
            if !good || huge {
                return Err(Error::Dial { dial, value, allowed });
            }
        }
        Ok(())
    }
}
