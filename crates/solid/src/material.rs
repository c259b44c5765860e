//! What flesh and other solids are: stiffness, weight, damping, and presets under names that artists know.

mod law;

use crate::Error;

pub use law::Law;
pub(crate) use law::{Curvature, Moduli, PLANES};

/// A solid, in SI units: a finer mesh or another time step is the same stuff.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Young's modulus, in Pa: how hard it is to pull. Fat has a few thousand, rubber a million.
    pub young: f64,
    /// Poisson's ratio: how much it narrows when pulled. Flesh keeps its volume: near 0.5.
    pub poisson: f64,
    /// In kg/m³; water has 1000.
    pub density: f64,
    /// Damping ratio of its jiggle at [`Material::DAMPING_REFERENCE_HZ`]; 1 is critical there. Faster ones are damped more.
    pub damping: f64,
}

/// A named material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// What artists call it.
    pub name: &'static str,
    /// What to expect of it, in a sentence.
    pub description: &'static str,
    /// Its values.
    pub material: Material,
}

impl Material {
    /// The frequency at which [`damping`](Self::damping) holds: that of a belly in a walk.
    pub const DAMPING_REFERENCE_HZ: f64 = 2.0;

    /// The presets, softest first. Moduli are those of indentation tests of the real stuff, rounded to one digit; Poisson's ratio is at
    /// most 0.45, because tets of constant strain lock beyond.
    pub const PRESETS: [Preset; 5] = [
        Preset {
            name: "jelly",
            description: "Gelatine: wobbles for a long time.",
            material: Material { young: 3e3, poisson: 0.45, density: 1000.0, damping: 0.03 },
        },
        Preset {
            name: "fat",
            description: "Bellies, cheeks: slow, heavy jiggle that dies soon.",
            material: Material { young: 8e3, poisson: 0.45, density: 920.0, damping: 0.12 },
        },
        Preset {
            name: "muscle",
            description: "Trunks, thighs: swings as a whole, quivers a little.",
            material: Material { young: 5e4, poisson: 0.45, density: 1060.0, damping: 0.15 },
        },
        Preset {
            name: "rubber",
            description: "Ears, fins, tyres: springs back.",
            material: Material { young: 1e6, poisson: 0.45, density: 1100.0, damping: 0.06 },
        },
        Preset {
            name: "wood",
            description: "Stems and horns: only long thin parts bend.",
            material: Material { young: 1e9, poisson: 0.3, density: 600.0, damping: 0.01 },
        },
    ];

    /// The preset of that name.
    pub fn preset(name: &str) -> Result<Self, Error> {
        let found = Self::PRESETS.iter().find(|preset| preset.name == name);
        found.map(|preset| preset.material).ok_or_else(|| Error::NoSuchPreset {
            name: name.to_owned(),
            known: Self::PRESETS.iter().map(|preset| preset.name).collect(),
        })
    }

    /// Says which dial is out of its range.
    pub fn validate(&self) -> Result<(), Error> {
        let fields = [
            ("young", self.young, 1.0..=1e12, "1 to 1e12 Pa"),
            ("poisson", self.poisson, 0.0..=0.495, "0 to 0.495"),
            ("density", self.density, 1e-3..=1e5, "0.001 to 1e5 kg/m³"),
            ("damping", self.damping, 0.0..=100.0, "0 to 100"),
        ];
        for (field, value, range, allowed) in fields {
            if !range.contains(&value) {
                return Err(Error::Material { field, value, allowed });
            }
        }
        Ok(())
    }

    /// β of Rayleigh's D = βK, in seconds.
    pub fn friction(&self) -> f64 {
        dynamics::stiffness_damping(self.damping, Self::DAMPING_REFERENCE_HZ)
    }

    /// Between two materials: stiffness in ratios, so that halfway from 1e3 to 1e5 is 1e4; the rest straight.
    #[must_use]
    pub fn mixed(&self, other: &Self, amount: f64) -> Self {
        if amount <= 0.0 {
            return *self;
        }
        let mix = |a: f64, b: f64| a + amount * (b - a);
        Self {
            young: mix(self.young.ln(), other.young.ln()).exp(),
            poisson: mix(self.poisson, other.poisson),
            density: mix(self.density, other.density),
            damping: mix(self.damping, other.damping),
        }
    }
}

impl Default for Material {
    /// Fat.
    fn default() -> Self {
        Self::PRESETS[1].material
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid_and_found_by_name() {
        for preset in Material::PRESETS {
            preset.material.validate().unwrap();
            assert_eq!(Material::preset(preset.name).unwrap(), preset.material);
        }
        assert!(Material::PRESETS.windows(2).all(|pair| pair[0].material.young < pair[1].material.young));
        assert!(matches!(Material::preset("felt"), Err(Error::NoSuchPreset { .. })));
        let bad = Material { poisson: 0.5, ..Material::default() };
        assert!(matches!(bad.validate(), Err(Error::Material { field: "poisson", .. })));
    }

    #[test]
    fn halfway_in_stiffness_is_the_geometric_mean() {
        let soft = Material { young: 1e3, ..Material::default() };
        let hard = Material { young: 1e5, ..Material::default() };
        assert!((soft.mixed(&hard, 0.5).young / 1e4 - 1.0).abs() < 1e-12);
        assert_eq!(soft.mixed(&hard, 0.0), soft);
    }
}
