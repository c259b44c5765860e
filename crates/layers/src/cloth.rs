//! `cloth`: a mesh becomes a piece of fabric that hangs, swings and flutters, held where the artist says.
//!
//! The physics is the shell crate's, the time stepping the engine's; this file has the dials, `cloth/member.rs` makes an actor of them.
//! `inextensible` has the same dials and a few more.

mod finer;
mod member;

pub(crate) use member::describe_cells;

use clip::{Clip, Mesh, Selector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::{Bending, Material, Stretching, Wind};
use shot::{Diagnostic, GroupMember, Layer, LayerError, Reshape, Settings, Simulation, Target};

use crate::shared::driver::{Driver, LOOK_AHEAD};
use crate::shared::idle::Idle;
use crate::shared::selectors::{hangs_on_nothing, weights};
use crate::shared::stepping::{Method, stepping};
use crate::shared::{Contact, Elastic, FabricDials, Pins, Seam, Start, sewing};

/// Turns a mesh into fabric: it falls, folds and flutters, and follows the animation where `follow` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cloth {
    /// A fabric, such as cotton, silk, denim or rubber. Single values can be changed with the dials below.
    #[schemars(extend("examples" = Material::PRESETS.map(|preset| preset.name)))]
    pub material: String,
    /// Its values that are not the material's.
    #[serde(flatten)]
    pub dials: FabricDials,
    /// Painted: a factor on the limits of stretch and shear, so that a cuff gives and a hem does not. Default: 1 everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_factor: Option<Selector>,
    /// Which elements resist bending: `hinges` (cheap) or `plates` (the same stiffness on every mesh).
    pub bending: Bending,
    /// Which elements resist stretching: `triangles`, or `cells` of two (folds run in any direction, not only along edges).
    pub stretching: Stretching,
    /// How often every triangle is cut in four, by Loop's rule, before it becomes cloth: a garment of few polygons comes out smooth, with the folds that
    /// its fineness allows. Seams, texture coordinates and groups are carried along.
    #[schemars(extend("minimum" = 0, "maximum" = 3))]
    pub subdivide: usize,
    /// Where the cloth follows the animation, and how much: weight 1 exactly (to the bit), 0 not at all, in between softly.
    /// Called pin group in Blender, pin to animation in Houdini, input attract in Maya.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<Selector>,
    /// How fast a point of weight ½ is drawn to the animation: the frequency of its swing, in Hz.
    #[schemars(extend("minimum" = 1e-3, "maximum" = 1000.0, "x-usual" = [0.1, 50.0]))]
    pub follow_stiffness: f64,
    /// How much that swing is damped: 1 just does not overshoot.
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 5.0]))]
    pub follow_damping: f64,
    /// No point strays further from the animation than this, in metres. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4))]
    pub max_distance: Option<f64>,
    /// In m/s².
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-usual" = [-50.0, 50.0]))]
    pub gravity: [f64; 3],
    /// Wind. Default: still air.
    pub wind: Wind,
    /// What the cloth may not pass through: itself, other meshes, simple shapes. Default: it passes through everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<Contact>,
    /// Edges that are sewn to each other, and drawn together during the start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sew: Vec<Seam>,
    /// How large the cloth is at rest, as a share of what is drawn: 0.95 shrinks it by 5 %, 1.1 is a size larger. Its weight stays. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.1, "maximum" = 3.0, "x-usual" = [0.5, 1.5]))]
    pub shrink: Option<f64>,
    /// Painted: where it shrinks, and how much of it. Default: everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrink_where: Option<Selector>,
    /// Elastic bands, in a waist or a cuff.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elastic: Vec<Elastic>,
    /// Buttons and belts: points that are held to another garment, or to a body.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pins>,
    /// From the pose that the garment was drawn on into the first frame, before it: `start = {}` takes the bind pose and 1.5 seconds.
    /// Default: the cloth begins as the first frame has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// Seconds of simulation before the first frame, with the animation held at it: the cloth settles. After the `start`, where there is one.
    #[schemars(extend("minimum" = 0.0, "maximum" = 600.0, "x-usual" = [0.0, 10.0]))]
    pub pre_roll: f64,
    /// Steps per frame. Default: as many as the error estimate asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-usual" = [1, 100]))]
    pub substeps: Option<usize>,
    /// Permitted error of a step as a fraction of the cloth's size; smaller is more exact and slower.
    #[schemars(extend("minimum" = 1e-7, "maximum" = 0.1, "x-usual" = [1e-5, 0.03]))]
    pub tolerance: f64,
    /// How steps are taken.
    pub integrator: Method,
}

impl Default for Cloth {
    fn default() -> Self {
        Self {
            material: "cotton".into(),
            dials: FabricDials::default(),
            limit_factor: None,
            bending: Bending::default(),
            stretching: Stretching::default(),
            subdivide: 0,
            follow: None,
            follow_stiffness: 4.0,
            follow_damping: 1.0,
            max_distance: None,
            gravity: [0.0, -9.81, 0.0],
            wind: Wind::default(),
            contact: None,
            sew: Vec::new(),
            shrink: None,
            shrink_where: None,
            elastic: Vec::new(),
            pins: Vec::new(),
            start: None,
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
    const VERSION: u32 = 10;
}

impl Layer for Cloth {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let mut diagnostics = self.dials.check(&self.material);
        if let Err(error) = self.wind.validate() {
            diagnostics.push(Diagnostic::new("wind", error.to_string()));
        }
        let selectors = [
            ("follow", &self.follow),
            ("limit_factor", &self.limit_factor),
            ("shrink_where", &self.shrink_where),
        ];
        for (key, selector) in selectors {
            if let Some(Err(error)) = selector.as_ref().map(|selector| weights(selector, input)) {
                diagnostics.push(Diagnostic::new(key, error.to_string()));
            }
        }
        diagnostics.extend(self.contact.iter().flat_map(|contact| contact.check("contact", input)));
        diagnostics.extend(sewing::check(&self.sew, &self.elastic, &self.pins, input));
        diagnostics.extend(self.start.as_ref().and_then(|start| start.check("start", input)));
        diagnostics.extend(hangs_on_nothing(self.follow.as_ref(), input).map(|message| {
            let help = "hang it there with `parent` under `[[input.add]]`: one joint, or a list";
            Diagnostic::new("follow", message).with_help(help)
        }));
        diagnostics
    }

    fn unusual(&self, input: &Target) -> Vec<Diagnostic> {
        self.contact.iter().flat_map(|contact| contact.unusual("contact", input)).collect()
    }

    fn idle(&self, input: &Target) -> Vec<Diagnostic> {
        let (plain, mut idle) = (Self::default(), Idle::default());
        let softness = [
            ("follow_stiffness", self.follow_stiffness != plain.follow_stiffness),
            ("follow_damping", self.follow_damping != plain.follow_damping),
        ];
        idle.say_follow(&self.follow, &softness, input);
        idle.say_wind(&self.wind, self.fabric().map_or(1.0, |fabric| fabric.air_drag));
        idle.say_contact(self.contact.as_ref());
        if self.fabric().is_ok_and(|fabric| fabric.limits().is_none()) {
            idle.say("", &[("limit_factor", self.limit_factor.is_some())], "the fabric has no limits");
        }
        if self.shrink.is_none_or(|shrink| shrink == 1.0) {
            idle.say("", &[("shrink_where", self.shrink_where.is_some())], "nothing shrinks: `shrink` is 1");
        }
        idle.0
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        self.follow.as_ref().is_none_or(|follow| follow.has_its_groups(mesh)) && !mesh.faces.is_empty()
    }

    fn look_ahead(&self, _: &Target) -> usize {
        // velocities of the guide are central differences, and cuts show by the steps around them
        LOOK_AHEAD
    }

    fn reshape(&self, input: &Target) -> Result<Option<Reshape>, LayerError> {
        Ok(self.finer(input.mesh()).map(|finer| finer.reshape))
    }

    fn scenery(&self, input: &Target) -> Result<Vec<Clip>, LayerError> {
        self.contact.as_ref().map_or(Ok(Vec::new()), |contact| contact.scenery(input))
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
        self.dials.of(&self.material)
    }

    fn stepping(&self) -> dynamics::Settings {
        stepping(self.integrator, self.substeps, self.tolerance)
    }
}
