//! `cloth`: a mesh becomes a piece of fabric that hangs, swings and flutters, held where the artist says.
//!
//! The physics is the shell crate's, the time stepping the engine's; this file reads the dials, `cloth/simulation.rs` turns frames into a
//! guide and states into frames.

mod member;

use clip::{Mesh, Selector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::{Bending, Material, Wind};
use shot::{Diagnostic, GroupMember, Layer, LayerError, Settings, Simulation, Target};

use crate::shared::Contact;
use crate::shared::driver::Driver;
use crate::shared::selectors::weights;
use crate::shared::stepping::{Method, stepping};

/// Turns a mesh into fabric: it falls, folds and flutters, and follows the animation where `follow` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cloth {
    /// A fabric: cellophane, tin_foil, silk, paper, cotton, denim, vinyl, leather or rubber. Single values can be changed with the dials below.
    pub material: String,
    /// Mass per area, in kg/m². Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub area_density: Option<f64>,
    /// Resistance to stretching along the warp (u), in N/m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stretch_warp: Option<f64>,
    /// Resistance to stretching along the weft (v), in N/m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stretch_weft: Option<f64>,
    /// Resistance to shearing, in N/m: how hard it is to pull the cloth on the bias. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shear: Option<f64>,
    /// How much of the resistance to stretching is left when the cloth is pushed together, from 0 to 1: woven cloth buckles
    /// in waves too small to see, solid sheets do not. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<f64>,
    /// How much the cloth narrows when it is pulled: 0 not at all, 0.5 as rubber does. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poisson: Option<f64>,
    /// Resistance to bending of the warp threads, in N·m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bend_warp: Option<f64>,
    /// Resistance to bending of the weft threads, in N·m. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bend_weft: Option<f64>,
    /// Internal friction: the damping ratio of ripples of 5 Hz; 1 is critical. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damping: Option<f64>,
    /// How hard air pushes: 0 vacuum, 1 real air. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub air_drag: Option<f64>,
    /// Which elements resist bending: `hinges` (cheap) or `plates` (the same stiffness on every mesh).
    pub bending: Bending,
    /// Where the cloth follows the animation, and how much: weight 1 exactly (to the bit), 0 not at all, in between softly.
    /// Called pin group in Blender, pin to animation in Houdini, input attract in Maya.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<Selector>,
    /// How fast a point of weight ½ is drawn to the animation: the frequency of its swing, in Hz.
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 1000.0))]
    pub follow_stiffness: f64,
    /// How much that swing is damped: 1 just does not overshoot.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub follow_damping: f64,
    /// No point strays further from the animation than this, in metres. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub max_distance: Option<f64>,
    /// In m/s².
    pub gravity: [f64; 3],
    /// Wind. Default: still air.
    pub wind: Wind,
    /// What the cloth may not pass through: itself, other meshes, simple shapes. Default: it passes through everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<Contact>,
    /// Seconds of simulation before the first frame, with the animation held at it: the cloth settles.
    #[schemars(range(min = 0.0, max = 600.0))]
    pub pre_roll: f64,
    /// Steps per frame. Default: as many as the error estimate asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub substeps: Option<usize>,
    /// Permitted error of a step as a fraction of the cloth's size; smaller is more exact and slower.
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 0.1))]
    pub tolerance: f64,
    /// How steps are taken.
    pub integrator: Method,
}

impl Default for Cloth {
    fn default() -> Self {
        Self {
            material: "cotton".into(),
            area_density: None,
            stretch_warp: None,
            stretch_weft: None,
            shear: None,
            compression: None,
            poisson: None,
            bend_warp: None,
            bend_weft: None,
            damping: None,
            air_drag: None,
            bending: Bending::default(),
            follow: None,
            follow_stiffness: 4.0,
            follow_damping: 1.0,
            max_distance: None,
            gravity: [0.0, -9.81, 0.0],
            wind: Wind::default(),
            contact: None,
            pre_roll: 0.0,
            substeps: None,
            tolerance: 1e-3,
            integrator: Method::default(),
        }
    }
}

impl Settings for Cloth {
    const KIND: &'static str = "cloth";
    const SUMMARY: &'static str = "turns a mesh into fabric that hangs, swings and flutters";
    const VERSION: u32 = 5;
}

impl Layer for Cloth {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        match self.fabric() {
            Ok(material) => {
                if let Err(shell::Error::Material { field, value, allowed }) = material.validate() {
                    let message = format!("{field} is {value}");
                    diagnostics
                        .push(Diagnostic::new(field, message).with_help(format!("allowed: {allowed}")));
                }
            }
            Err(_) => {
                let known = Material::PRESETS.iter().map(|preset| preset.name);
                diagnostics.push(Diagnostic::unknown("material", "material", &self.material, known));
            }
        }
        if let Err(error) = self.wind.validate() {
            diagnostics.push(Diagnostic::new("wind", error.to_string()));
        }
        if let Some(Err(error)) = self.follow.as_ref().map(|follow| weights(follow, input)) {
            diagnostics.push(Diagnostic::new("follow", error.to_string()));
        }
        diagnostics.extend(self.contact.iter().flat_map(|contact| contact.check("contact", input)));
        diagnostics
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        let has_group = match &self.follow {
            Some(Selector::Group(name)) => mesh.group(name).is_some(),
            _ => true,
        };
        has_group && !mesh.faces.is_empty()
    }

    fn look_ahead(&self, _: &Target) -> usize {
        // velocities of the guide are central differences
        1
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        Ok(Box::new(Driver::new(vec![self.actor(input, None)?])?))
    }

    fn joins_groups(&self) -> bool {
        true
    }

    fn member(&self, input: &Target) -> Result<GroupMember, LayerError> {
        Ok(GroupMember::new(self.actor(input, None)?))
    }
}

impl Cloth {
    /// The preset with the dials that the shot file turned.
    pub(crate) fn fabric(&self) -> Result<Material, shell::Error> {
        let preset = Material::preset(&self.material)?;
        Ok(Material {
            area_density: self.area_density.unwrap_or(preset.area_density),
            stretch_warp: self.stretch_warp.unwrap_or(preset.stretch_warp),
            stretch_weft: self.stretch_weft.unwrap_or(preset.stretch_weft),
            shear: self.shear.unwrap_or(preset.shear),
            compression: self.compression.unwrap_or(preset.compression),
            poisson: self.poisson.unwrap_or(preset.poisson),
            bend_warp: self.bend_warp.unwrap_or(preset.bend_warp),
            bend_weft: self.bend_weft.unwrap_or(preset.bend_weft),
            damping: self.damping.unwrap_or(preset.damping),
            air_drag: self.air_drag.unwrap_or(preset.air_drag),
            ..preset
        })
    }

    fn stepping(&self) -> dynamics::Settings {
        stepping(self.integrator, self.substeps, self.tolerance)
    }
}
