//! A material by name, with single values changed: what layers of thin shells share. `cloth` and `inextensible` have them among their
//! own keys, warp and weft apart; `tracks` in a table `fabric`, alike in all directions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::Material;

use shot::Diagnostic;

/// Single values of a sheet, whatever it is woven from: what [`MaterialDials`] and [`FabricDials`] have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SheetDials {
    /// Mass per area, in kg/m². Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-3, "maximum" = 100.0, "x-usual" = [0.01, 3.0]))]
    pub area_density: Option<f64>,
    /// How much of the resistance to stretching is left when the cloth is pushed together, from 0 to 1: woven cloth buckles
    /// in waves too small to see, solid sheets do not. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-4, "maximum" = 1.0))]
    pub compression: Option<f64>,
    /// Internal friction: the damping ratio of ripples of 5 Hz; 1 is critical. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 2.0]))]
    pub damping: Option<f64>,
    /// How hard air pushes: 0 vacuum, 1 real air. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 1000.0, "x-usual" = [0.0, 10.0]))]
    pub air_drag: Option<f64>,
}

/// Single values of a material, in place of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MaterialDials {
    /// What all sheets have.
    #[serde(flatten)]
    pub sheet: SheetDials,
    /// Resistance to stretching in all directions, in N/m; shearing changes with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e7, "x-usual" = [10.0, 1e6]))]
    pub stretch: Option<f64>,
    /// Resistance to bending in all directions, in N·m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 0.1]))]
    pub bend: Option<f64>,
    /// Curvature, in 1/m, beyond which a fold stays as a crease.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e6))]
    pub yield_curvature: Option<f64>,
    /// How creases harden (above 0) or soften (below), in m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = -10.0, "maximum" = 10.0, "x-usual" = [-1.0, 1.0]))]
    pub hardening: Option<f64>,
    /// How much it stretches at most, as a fraction: 0.03 is 3 %. Averages that would take more give way. Default: averages are exact,
    /// and it stretches as far as they ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-4, "maximum" = 10.0, "x-usual" = [0.005, 0.1]))]
    pub limit: Option<f64>,
}

/// Single values of a fabric, in place of the material's: the keys of `cloth` and `inextensible`.
///
/// A dial is a field here and its line in `FabricDials::of` (or [`SheetDials`], if `tracks` has it too); schema, defaults, checks and both layers follow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FabricDials {
    /// What all sheets have.
    #[serde(flatten)]
    pub sheet: SheetDials,
    /// Resistance to stretching along the warp (u), in N/m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e7, "x-usual" = [10.0, 1e6]))]
    pub stretch_warp: Option<f64>,
    /// Resistance to stretching along the weft (v), in N/m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e7, "x-usual" = [10.0, 1e6]))]
    pub stretch_weft: Option<f64>,
    /// Resistance to shearing, in N/m: how hard it is to pull the cloth on the bias. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.1, "maximum" = 1e7, "x-usual" = [1.0, 1e6]))]
    pub shear: Option<f64>,
    /// How much the cloth narrows when it is pulled: 0 not at all, 0.5 as rubber does. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 0.99, "x-usual" = [0.0, 0.5]))]
    pub poisson: Option<f64>,
    /// Resistance to bending of the warp threads, in N·m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 0.1]))]
    pub bend_warp: Option<f64>,
    /// Resistance to bending of the weft threads, in N·m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 0.1]))]
    pub bend_weft: Option<f64>,
    /// How much it stretches along the warp at most, as a fraction: 0.03 is 3 %; 10 is as good as no limit. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-4, "maximum" = 10.0, "x-usual" = [0.005, 0.1]))]
    pub limit_warp: Option<f64>,
    /// How much it stretches along the weft at most. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-4, "maximum" = 10.0, "x-usual" = [0.005, 0.1]))]
    pub limit_weft: Option<f64>,
    /// How far the angle between warp and weft may be from a right one, as its cosine: 0.5 is 30 degrees. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-4, "maximum" = 10.0, "x-usual" = [0.01, 1.0]))]
    pub limit_shear: Option<f64>,
}

impl SheetDials {
    /// That material with these values.
    fn of(&self, material: Material) -> Material {
        Material {
            area_density: self.area_density.unwrap_or(material.area_density),
            compression: self.compression.unwrap_or(material.compression),
            damping: self.damping.unwrap_or(material.damping),
            air_drag: self.air_drag.unwrap_or(material.air_drag),
            ..material
        }
    }
}

impl FabricDials {
    /// The named material with these values.
    pub(crate) fn of(&self, name: &str) -> Result<Material, shell::Error> {
        let preset = self.sheet.of(Material::preset(name)?);
        Ok(Material {
            stretch_warp: self.stretch_warp.unwrap_or(preset.stretch_warp),
            stretch_weft: self.stretch_weft.unwrap_or(preset.stretch_weft),
            shear: self.shear.unwrap_or(preset.shear),
            poisson: self.poisson.unwrap_or(preset.poisson),
            bend_warp: self.bend_warp.unwrap_or(preset.bend_warp),
            bend_weft: self.bend_weft.unwrap_or(preset.bend_weft),
            limit_warp: self.limit_warp.or(preset.limit_warp),
            limit_weft: self.limit_weft.or(preset.limit_weft),
            limit_shear: self.limit_shear.or(preset.limit_shear),
            ..preset
        })
    }

    /// What is wrong with the name and the values.
    pub(crate) fn check(&self, name: &str) -> Vec<Diagnostic> {
        diagnose(self.of(name), name, str::to_owned)
    }
}

impl MaterialDials {
    /// The named material with these values.
    pub fn of(&self, name: &str) -> Result<Material, shell::Error> {
        let preset = self.sheet.of(Material::preset(name)?);
        let softer = self.stretch.map_or(1.0, |stretch| stretch / preset.stretch_warp);
        Ok(Material {
            stretch_warp: self.stretch.unwrap_or(preset.stretch_warp),
            stretch_weft: self.stretch.unwrap_or(preset.stretch_weft),
            shear: softer * preset.shear,
            bend_warp: self.bend.unwrap_or(preset.bend_warp),
            bend_weft: self.bend.unwrap_or(preset.bend_weft),
            yield_curvature: self.yield_curvature.or(preset.yield_curvature),
            hardening: self.hardening.unwrap_or(preset.hardening),
            limit_warp: self.limit,
            limit_weft: self.limit,
            limit_shear: preset.limit_shear.filter(|_| self.limit.is_some()),
            ..preset
        })
    }

    /// What is wrong with the name and the values.
    pub fn check(&self, name: &str) -> Vec<Diagnostic> {
        diagnose(self.of(name), name, |field| {
            let dial = match field {
                "stretch_warp" | "stretch_weft" | "shear" => "stretch",
                "bend_warp" | "bend_weft" => "bend",
                "limit_warp" | "limit_weft" | "limit_shear" => "limit",
                other => other,
            };
            format!("fabric.{dial}")
        })
    }
}

/// What is wrong with a material of that name; `path` is the key of one of its fields.
fn diagnose(
    material: Result<Material, shell::Error>,
    name: &str,
    path: impl Fn(&str) -> String,
) -> Vec<Diagnostic> {
    let Ok(material) = material else {
        let known = Material::PRESETS.iter().map(|preset| preset.name);
        return vec![Diagnostic::unknown("material", "material", name, known)];
    };
    match material.validate() {
        Err(shell::Error::Material { field, value, allowed }) => {
            let path = path(field);
            let message = format!("{} is {value}", path.rsplit('.').next().unwrap_or(&path));
            vec![Diagnostic::new(path, message).with_help(format!("allowed: {allowed}"))]
        }
        _ => Vec::new(),
    }
}
