//! What a fabric is: density, stiffness, damping, and presets under the names that artists know.

use crate::{Error, MembraneStiffness, PlateStiffness, StrainLimits};

/// A fabric, in SI units. Values that depend on neither mesh nor time step: a finer mesh is the same cloth.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields, default)
)]
pub struct Material {
    /// Mass per area, in kg/m². Shirts have 0.1 to 0.2, jeans 0.4.
    pub area_density: f64,
    /// Tension per width and strain along the warp (u), in N/m.
    pub stretch_warp: f64,
    /// The same along the weft (v), in N/m.
    pub stretch_weft: f64,
    /// Shear force per width and radian, in N/m: how hard it is to pull the cloth on the bias.
    pub shear: f64,
    /// How much of the resistance to stretching is left when the cloth is pushed together, from 0 to 1: woven cloth buckles
    /// in waves too small to see, solid sheets do not.
    pub compression: f64,
    /// How much the cloth narrows when it is pulled: 0 not at all (loose weaves), 0.5 as rubber does.
    pub poisson: f64,
    /// Plate bending stiffness when warp threads bend, in N·m: moment per width and curvature.
    pub bend_warp: f64,
    /// The same when weft threads bend, in N·m.
    pub bend_weft: f64,
    /// Damping ratio of the cloth's own deformation at [`Material::DAMPING_REFERENCE_HZ`]; 1 is critical there. Ripples
    /// twice as fast have twice the ratio, half as fast half. Air is what brakes slow motion.
    pub damping: f64,
    /// How hard air pushes: 0 vacuum, 1 real air.
    pub air_drag: f64,
    /// Curvature, in 1/m, beyond which a fold stays as a crease; `None` springs back from any fold.
    pub yield_curvature: Option<f64>,
    /// How creases harden (above 0) or soften (below): the stiffness of a fold grows by the factor exp(hardening · excess
    /// curvature), in m.
    pub hardening: f64,
    /// How much it stretches along the warp at most, as a fraction: 0.03 is 3 %. `None`: as far as it is pulled.
    pub limit_warp: Option<f64>,
    /// The same along the weft.
    pub limit_weft: Option<f64>,
    /// How far the angle between warp and weft may be from a right one, as its cosine: 0.5 is 30 degrees. `None`: any angle.
    pub limit_shear: Option<f64>,
}

/// A named material.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// What artists call it.
    pub name: &'static str,
    /// What to expect of it, in a sentence.
    pub description: &'static str,
    /// Its values.
    pub material: Material,
}

impl Preset {
    /// A name, a sentence and values.
    pub const fn new(name: &'static str, description: &'static str, material: Material) -> Self {
        Self { name, description, material }
    }
}

impl Default for Material {
    /// Cotton.
    fn default() -> Self {
        Self::COTTON
    }
}

impl Material {
    /// The frequency at which [`damping`](Self::damping) holds: that of ripples one sees run through a flag or a skirt.
    pub const DAMPING_REFERENCE_HZ: f64 = 5.0;

    /// The presets, lightest first. A line here is all that a new one takes.
    pub const PRESETS: [Preset; 9] = [
        Preset::new("cellophane", "Thin and crisp: sharp crinkles that partly stay.", Self::CELLOPHANE),
        Preset::new("tin_foil", "Every fold stays: crumples and keeps its shape.", Self::TIN_FOIL),
        Preset::new("silk", "Light and fluid: fine folds, floats in air, slides on the bias.", Self::SILK),
        Preset::new("paper", "Does not stretch; bends stiffly in one direction at a time.", Self::PAPER),
        Preset::new("cotton", "A shirt or bed sheet: soft folds that hold a little.", Self::COTTON),
        Preset::new("denim", "Heavy and stiff: few large folds, hardly moved by air.", Self::DENIM),
        Preset::new("vinyl", "A soft plastic sheet: smooth folds that die down at once.", Self::VINYL),
        Preset::new("leather", "Thick and smooth: broad bends, no small wrinkles.", Self::LEATHER),
        Preset::new("rubber", "A one-millimetre sheet: stretches visibly and springs back.", Self::RUBBER),
    ];

    /// The preset of that name.
    pub fn preset(name: &str) -> Result<Self, Error> {
        let found = Self::PRESETS.iter().find(|preset| preset.name == name);
        found.map(|preset| preset.material.clone()).ok_or_else(|| Error::NoSuchPreset {
            name: name.to_owned(),
            known: Self::PRESETS.iter().map(|preset| preset.name).collect(),
        })
    }

    // Fabrics: typical results of the Kawabata evaluation (bending 0.01 gf·cm²/cm ≈ 1e-6 N·m, shear 1 gf/(cm·deg) ≈
    // 56 N/m, tension from the first percent of the load curve), rounded to one digit.

    /// Habotai of 14 momme: bends at 0.02 to 0.04 gf·cm²/cm, shears at 0.3 to 0.5 gf/(cm·deg).
    pub const SILK: Self = Self {
        area_density: 0.06,
        stretch_warp: 3000.0,
        stretch_weft: 2500.0,
        shear: 25.0,
        compression: 0.02,
        poisson: 0.1,
        bend_warp: 3e-6,
        bend_weft: 2e-6,
        damping: 0.03,
        air_drag: 1.0,
        yield_curvature: None,
        hardening: 0.0,
        limit_warp: Some(0.03),
        limit_weft: Some(0.03),
        limit_shear: Some(0.6),
    };

    /// Plain-weave shirting: bends at 0.06 to 0.15 gf·cm²/cm, shears at 1 to 2 gf/(cm·deg).
    pub const COTTON: Self = Self {
        area_density: 0.15,
        stretch_warp: 4000.0,
        stretch_weft: 3000.0,
        shear: 80.0,
        compression: 0.02,
        poisson: 0.15,
        bend_warp: 1e-5,
        bend_weft: 7e-6,
        damping: 0.05,
        air_drag: 1.0,
        yield_curvature: None,
        hardening: 0.0,
        limit_warp: Some(0.03),
        limit_weft: Some(0.03),
        limit_shear: Some(0.5),
    };

    /// Rigid twill of 12 ounces: published measurements of denim bend at 6e-5 to 1.2e-4 N·m and shear at 50 to 200 N/m.
    pub const DENIM: Self = Self {
        area_density: 0.4,
        stretch_warp: 12_000.0,
        stretch_weft: 8000.0,
        shear: 200.0,
        compression: 0.05,
        poisson: 0.15,
        bend_warp: 1.2e-4,
        bend_weft: 7e-5,
        damping: 0.08,
        air_drag: 1.0,
        yield_curvature: None,
        hardening: 0.0,
        limit_warp: Some(0.02),
        limit_weft: Some(0.02),
        limit_shear: Some(0.4),
    };

    /// Garment leather of 1 mm: modulus about 12 MPa at small strain; loose fibre layers bend softer than a solid sheet.
    pub const LEATHER: Self = Self {
        area_density: 0.8,
        stretch_warp: 13_000.0,
        stretch_weft: 11_000.0,
        shear: 4000.0,
        compression: 0.3,
        poisson: 0.35,
        bend_warp: 5e-4,
        bend_weft: 4e-4,
        damping: 0.1,
        air_drag: 1.0,
        yield_curvature: None,
        hardening: 0.0,
        limit_warp: Some(0.02),
        limit_weft: Some(0.02),
        limit_shear: Some(0.1),
    };

    /// A solid sheet of natural rubber, 1 mm, E = 1.5 MPa, ν = 0.49: Et/(1−ν²), Et/(2(1+ν)), Et³/(12(1−ν²)).
    pub const RUBBER: Self = Self {
        area_density: 1.1,
        stretch_warp: 2000.0,
        stretch_weft: 2000.0,
        shear: 500.0,
        compression: 1.0,
        poisson: 0.49,
        bend_warp: 1.6e-4,
        bend_weft: 1.6e-4,
        damping: 0.05,
        air_drag: 1.0,
        yield_curvature: None,
        hardening: 0.0,
        limit_warp: None,
        limit_weft: None,
        limit_shear: None,
    };

    /// Office paper of 80 g/m², 0.1 mm: E of 5 GPa along the machine and 2.5 GPa across it, ν ≈ 0.2.
    pub const PAPER: Self = Self {
        area_density: 0.08,
        stretch_warp: 500_000.0,
        stretch_weft: 250_000.0,
        shear: 150_000.0,
        compression: 1.0,
        poisson: 0.2,
        bend_warp: 4e-4,
        bend_weft: 2e-4,
        damping: 0.03,
        air_drag: 1.0,
        yield_curvature: Some(250.0),
        hardening: 0.0,
        limit_warp: Some(0.01),
        limit_weft: Some(0.01),
        limit_shear: Some(0.02),
    };

    /// Plasticised PVC of 0.5 mm, E ≈ 10 MPa, much inner friction: Et/(1−ν²), Et³/(12(1−ν²)) with ν = 0.4.
    pub const VINYL: Self = Self {
        area_density: 0.65,
        stretch_warp: 6000.0,
        stretch_weft: 6000.0,
        shear: 1800.0,
        compression: 1.0,
        poisson: 0.4,
        bend_warp: 1.2e-4,
        bend_weft: 1.2e-4,
        damping: 0.5,
        air_drag: 1.0,
        yield_curvature: None,
        hardening: 0.0,
        limit_warp: Some(0.02),
        limit_weft: Some(0.02),
        limit_shear: Some(0.1),
    };

    /// Regenerated cellulose of 25 µm: E ≈ 3 GPa would give 75 kN/m; crinkles finer than any mesh take up a part of that
    /// stretch. Bends at 3e9 · (25e-6)³/12 ≈ 4e-6 N·m.
    pub const CELLOPHANE: Self = Self {
        area_density: 0.036,
        stretch_warp: 20_000.0,
        stretch_weft: 20_000.0,
        shear: 7000.0,
        compression: 1.0,
        poisson: 0.3,
        bend_warp: 4e-6,
        bend_weft: 4e-6,
        damping: 0.05,
        air_drag: 1.0,
        yield_curvature: Some(120.0),
        hardening: 0.002,
        limit_warp: Some(0.01),
        limit_weft: Some(0.01),
        limit_shear: Some(0.02),
    };

    /// Household aluminium of 16 µm: bends at 69e9 · (16e-6)³/(12 · 0.89) ≈ 2.6e-5 N·m and yields at a curvature of
    /// σ/(E t/2) = 30e6/(69e9 · 8e-6) ≈ 55/m. It would stretch at 1.1 MN/m; folds finer than any mesh take up most of
    /// that.
    pub const TIN_FOIL: Self = Self {
        area_density: 0.043,
        stretch_warp: 40_000.0,
        stretch_weft: 40_000.0,
        shear: 15_000.0,
        compression: 1.0,
        poisson: 0.33,
        bend_warp: 2.6e-5,
        bend_weft: 2.6e-5,
        damping: 0.1,
        air_drag: 1.0,
        yield_curvature: Some(15.0),
        hardening: 0.005,
        limit_warp: Some(0.01),
        limit_weft: Some(0.01),
        limit_shear: Some(0.02),
    };

    /// Tells the first dial that is out of its range. A material that passes has positive mass and positive energy.
    pub fn validate(&self) -> Result<(), Error> {
        let check = |field: &'static str, value: f64, ok: bool, allowed: &'static str| {
            if ok { Ok(()) } else { Err(Error::Material { field, value, allowed }) }
        };
        // a comparison with NaN is false, so NaN fails every range
        let within = |value: f64, low: f64, high: f64| value >= low && value <= high;
        check(
            "area_density",
            self.area_density,
            within(self.area_density, 1e-6, 1e4),
            "1e-6 to 1e4 kg/m², more than 0",
        )?;
        for (field, value) in
            [("stretch_warp", self.stretch_warp), ("stretch_weft", self.stretch_weft), ("shear", self.shear)]
        {
            check(field, value, within(value, 1e-6, 1e12), "1e-6 to 1e12 N/m, more than 0")?;
        }
        check("compression", self.compression, within(self.compression, 1e-6, 1.0), "more than 0, up to 1")?;
        check("poisson", self.poisson, within(self.poisson, 0.0, 0.99), "0 to 0.99")?;
        for (field, value) in [("bend_warp", self.bend_warp), ("bend_weft", self.bend_weft)] {
            check(field, value, within(value, 0.0, 1e6), "0 to 1e6 N·m")?;
        }
        check("damping", self.damping, within(self.damping, 0.0, 100.0), "0 to 100")?;
        check("air_drag", self.air_drag, within(self.air_drag, 0.0, 1e4), "0 to 1e4")?;
        if let Some(curvature) = self.yield_curvature {
            check("yield_curvature", curvature, within(curvature, 0.0, 1e9), "0 to 1e9 per metre")?;
        }
        for (field, limit) in [
            ("limit_warp", self.limit_warp),
            ("limit_weft", self.limit_weft),
            ("limit_shear", self.limit_shear),
        ] {
            let Some(limit) = limit else { continue };
            check(field, limit, within(limit, 1e-4, 10.0), "0.0001 to 10, as a fraction: 0.03 is 3 %")?;
        }
        check("hardening", self.hardening, within(self.hardening, -10.0, 10.0), "-10 to 10 m")
    }

    /// The stiffness of its triangles. Warp and weft are tied by k_cross = ν √(k_warp k_weft).
    pub fn membrane(&self) -> MembraneStiffness {
        MembraneStiffness {
            warp: self.stretch_warp,
            weft: self.stretch_weft,
            cross: self.poisson * (self.stretch_warp * self.stretch_weft).sqrt(),
            shear: self.shear,
            compression: self.compression,
        }
    }

    /// How far it stretches and shears at most.
    pub fn limits(&self) -> StrainLimits {
        StrainLimits { warp: self.limit_warp, weft: self.limit_weft, shear: self.limit_shear }
    }

    /// The stiffness of its plates.
    pub fn plate(&self) -> PlateStiffness {
        PlateStiffness { warp: self.bend_warp, weft: self.bend_weft, poisson: self.poisson }
    }

    /// Bending stiffness, in N·m, about an edge whose perpendicular in the cloth has the parts `warp` and `weft` of a
    /// unit vector: D_warp warp² + D_weft weft².
    pub fn bending(&self, warp: f64, weft: f64) -> f64 {
        self.bend_warp * warp * warp + self.bend_weft * weft * weft
    }

    /// β, in seconds, of stiffness-proportional damping C = βK (see [`dynamics::Viscous`]): a vibration of frequency f
    /// has the ratio ζ(f) = π f β, so β = damping/(π · reference).
    pub fn damping_time(&self) -> f64 {
        self.damping / (std::f64::consts::PI * Self::DAMPING_REFERENCE_HZ)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_listed_valid_and_in_order_of_weight() {
        let mut lightest = 0.0;
        for preset in Material::PRESETS {
            let material = Material::preset(preset.name).unwrap();
            material.validate().unwrap();
            assert!(material.area_density >= lightest, "{}", preset.name);
            lightest = material.area_density;
            let k = material.membrane();
            assert!(k.cross * k.cross < k.warp * k.weft, "{}: the energy is positive", preset.name);
        }
    }

    #[test]
    fn an_unknown_preset_gets_the_list() {
        let message = Material::preset("velvet").unwrap_err().to_string();
        assert_eq!(
            message,
            "no material preset is called `velvet`; there are cellophane, tin_foil, silk, paper, cotton, denim, vinyl, leather, rubber"
        );
    }

    #[test]
    fn mass_and_stiffness_that_are_not_positive_are_refused_by_name() {
        type Set = fn(&mut Material, f64);
        let fields: [(&str, Set, &[f64]); 14] = [
            ("area_density", |m, v| m.area_density = v, &[0.0, -1.0]),
            ("stretch_warp", |m, v| m.stretch_warp = v, &[0.0, -1.0]),
            ("stretch_weft", |m, v| m.stretch_weft = v, &[0.0, -1.0]),
            ("shear", |m, v| m.shear = v, &[0.0, -1.0]),
            ("poisson", |m, v| m.poisson = v, &[1.0, -0.1]),
            ("bend_warp", |m, v| m.bend_warp = v, &[-1e-9]),
            ("bend_weft", |m, v| m.bend_weft = v, &[-1e-9]),
            ("damping", |m, v| m.damping = v, &[-0.1]),
            ("air_drag", |m, v| m.air_drag = v, &[-0.1]),
            ("yield_curvature", |m, v| m.yield_curvature = Some(v), &[-0.1]),
            ("hardening", |m, v| m.hardening = v, &[-11.0]),
            ("limit_warp", |m, v| m.limit_warp = Some(v), &[0.0, -0.1]),
            ("limit_weft", |m, v| m.limit_weft = Some(v), &[0.0, -0.1]),
            ("limit_shear", |m, v| m.limit_shear = Some(v), &[0.0, -0.1]),
        ];
        for (name, set, bad) in fields {
            for &value in bad.iter().chain(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]) {
                let mut material = Material::default();
                set(&mut material, value);
                let error = material.validate().unwrap_err();
                assert!(matches!(error, Error::Material { field, .. } if field == name), "{name}: {error}");
            }
        }
    }

    #[test]
    fn rubber_is_the_isotropic_sheet_it_says_it_is() {
        let exact = MembraneStiffness::isotropic(1.5e6 * 1e-3, 0.49);
        let rubber = Material::RUBBER.membrane();
        for (ours, theirs) in
            [(rubber.warp, exact.warp), (rubber.cross, exact.cross), (rubber.shear, exact.shear)]
        {
            assert!((ours / theirs - 1.0).abs() < 0.05, "{ours} {theirs}");
        }
        let plate = 1.5e6 * 1e-9 / (12.0 * (1.0 - 0.49 * 0.49));
        assert!((Material::RUBBER.bend_warp / plate - 1.0).abs() < 0.05);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn files_may_leave_out_dials_but_not_misspell_them() {
        let material: Material = toml::from_str("area_density = 0.2\nshear = 50").unwrap();
        assert_eq!(material, Material { area_density: 0.2, shear: 50.0, ..Material::COTTON });
        let message = toml::from_str::<Material>("sheer = 50").unwrap_err().to_string();
        assert!(message.contains("sheer") && message.contains("shear"), "{message}");
        let denim = Material::DENIM;
        assert_eq!(toml::from_str::<Material>(&toml::to_string(&denim).unwrap()).unwrap(), denim);
    }
}
