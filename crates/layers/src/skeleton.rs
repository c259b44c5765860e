//! `skeleton`: flesh around the bones of a skinned character. Nothing is painted: bones, lattice and regions come from the skin.

pub(crate) mod anatomy;
mod checks;
mod dials;
mod mover;
mod pins;
mod simulation;
mod sketch;
mod swing;
mod touch;

use character::{Adaptation, Kit, Method};
use clip::{FilePath, Mesh, Selector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use solid::Material;

use crate::shared::Contact;
use crate::shared::driver::LOOK_AHEAD;
use crate::shared::idle::Idle;
use shot::{Diagnostic, Layer, LayerError, Settings, Simulation, Sketch, Target};

pub use anatomy::Anatomy;
pub use pins::Pin;
use simulation::SkeletonSimulation;
pub use sketch::sketch_of_lattice;

/// Flesh around bones: belly, ears and tail follow through, elbows keep their volume. For skinned characters; all skinned meshes of the
/// skeleton ride along.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Skeleton {
    /// What it is made of: `jelly`, `fat`, `muscle`, `rubber`, `wood`.
    #[schemars(extend("examples" = Material::PRESETS.map(|preset| preset.name)))]
    pub material: String,
    /// Young's modulus, in Pa: how hard it is to pull. Default: the material's, and firmer where flesh is thicker than 20 cm, so that it
    /// swings as often.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e12, "x-usual" = [100.0, 2e10]))]
    pub young: Option<f64>,
    /// Damping ratio of a jiggle of 2 Hz; 1 is critical. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 2.0]))]
    pub damping: Option<f64>,
    /// Parts that are made of something else, by the joints that move them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// Which parts belong to which joint, painted over the skin's own weights: where the flesh of one bone ends and that of the next begins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<PaintedRegion>,
    /// Bones that begin midway inside of the mesh on a ray, instead of where their joint is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rays: Vec<JointRay>,
    /// Joints that swing with the flesh instead of moving it, ears and tails for instance: names, `*` stands for anything. What is animated
    /// of them is left out, and they turn as the flesh around them does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<String>,
    /// How far free joints may turn from how they hang at rest on the joint that carries them. Default: as far as flesh lets them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<SwingLimit>,
    /// A lattice of one's own (`.toml`, `.veg`, `.msh`, `.mesh`, `.node`; of tets, prisms, hexahedra), in metres around the mesh at rest: instead of `cells`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lattice: Option<FilePath>,
    /// About so many cells in the lattice that carries the flesh. More follow the shape closer and take longer.
    #[schemars(extend("minimum" = 8, "maximum" = 200_000, "x-usual" = [8, 20_000]))]
    pub cells: usize,
    /// Levels of finer functions on top of the lattice's own; each has about eight times as many as the one before.
    #[schemars(extend("minimum" = 0, "maximum" = 3))]
    pub levels: u32,
    /// When finer functions come and go; default: they are always there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptation: Option<Adapting>,
    /// How it is solved.
    pub method: Solution,
    /// How blended flesh is solved where the regions of several joints meet.
    pub joints: JointCells,
    /// How firmly flesh is kept from turning about its bones; 0 lets it turn freely.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4, "x-usual" = [0.0, 100.0]))]
    pub twist: f64,
    /// How far around a bone that acts, as a part of the way from the bone to the skin.
    #[schemars(extend("minimum" = 0.0, "maximum" = 4.0))]
    pub twist_radius: f64,
    /// In m/s². The animation usually hangs as it was drawn, so there is none.
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-usual" = [-50.0, 50.0]))]
    pub gravity: [f64; 3],
    /// Where points stay on the animation: with weight 1 exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<Selector>,
    /// Points of the skin that are held, dragged or taken along by something else, eight at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
    /// What the skin may not pass through: itself, other meshes, simple shapes. Nonlinear flesh only. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<Contact>,
    /// Steps per second at least; frames are cut into equal ones.
    #[schemars(extend("minimum" = 24.0, "maximum" = 2000.0, "x-usual" = [24.0, 600.0]))]
    pub steps_per_second: f64,
    /// Seconds that flesh settles in the pose of the first frame before it begins.
    #[schemars(extend("minimum" = 0.0, "maximum" = 60.0, "x-usual" = [0.0, 10.0]))]
    pub pre_roll: f64,
}

/// A part of the character that is made of something else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FleshPart")]
pub struct Part {
    /// Names of joints; `*` stands for anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joints: Vec<String>,
    /// Instead: which points of the mesh, and by how much; what is under them goes along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Selector>,
    /// What it is made of.
    #[schemars(extend("examples" = Material::PRESETS.map(|preset| preset.name)))]
    pub material: String,
    /// Young's modulus, in Pa. Default: the material's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e12, "x-usual" = [100.0, 2e10]))]
    pub young: Option<f64>,
}

/// A part of the mesh that belongs to a joint, whatever the skin says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FleshOfJoint")]
pub struct PaintedRegion {
    /// The joint.
    pub joint: String,
    /// Which points belong to it, and by how much; for the rest they belong to the joints that move them.
    pub at: Selector,
}

/// A ray through the mesh at rest: a bone begins midway between where it goes in and where it comes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JointRay {
    /// The joint whose bone begins there; the bone that leads to it ends there.
    pub joint: String,
    /// A place outside, on the ray.
    #[schemars(inner(range(min = -1e6, max = 1e6)))]
    pub from: [f64; 3],
    /// Another place on it, towards the mesh.
    #[schemars(inner(range(min = -1e6, max = 1e6)))]
    pub to: [f64; 3],
}

/// How far joints may swing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwingLimit {
    /// Names of free joints; `*` stands for anything.
    pub joints: Vec<String>,
    /// By how many degrees they may turn, to any side.
    #[schemars(extend("minimum" = 0.0, "maximum" = 90.0))]
    pub degrees: f64,
}

/// Finer functions come where flesh is strained or touched, and go where it is not: strains, the first for level 1; the last one holds for all further levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Adapting {
    /// Functions of a level come where flesh is strained more than this.
    #[schemars(inner(range(min = 0.0, max = 100.0)), extend("x-usual" = [0.0, 1.0]))]
    pub refine: Vec<f64>,
    /// They go where it has been strained less than this for a fifth of a second.
    #[schemars(inner(range(min = 0.0, max = 100.0)), extend("x-usual" = [0.0, 1.0]))]
    pub coarsen: Vec<f64>,
    /// They come where the skin is touched, too: by an obstacle, or by itself.
    pub contact: bool,
    /// They are always there in joints, where the weights of several bones blend.
    pub joints: bool,
}

impl Default for Adapting {
    fn default() -> Self {
        let Adaptation { refine, coarsen, contact, joints } = Adaptation::default();
        Self { refine, coarsen, contact, joints }
    }
}

/// How flesh is solved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Solution {
    /// Every bone's surroundings by a constant matrix in the bone's frame, then blended: quick, also in real time.
    #[default]
    Blended,
    /// Every cell in a frame of its own, with a matrix that never changes: bends far in real time; no finer levels.
    Corotated,
    /// Nonlinear strain everywhere, by the engine, in flesh that hardly gives way: slower; joints keep their volume.
    Nonlinear,
    /// One constant matrix for all, in the frame of the first joint: right for small turns only; here to compare.
    Linear,
}

/// How blended flesh is solved at joints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JointCells {
    /// As everywhere else: quicker.
    #[default]
    Linear,
    /// Cells there have frames of their own and hardly give way, on top of what is blended: elbows keep their volume. Without finer
    /// levels only.
    Nonlinear,
}

impl Default for Skeleton {
    fn default() -> Self {
        Self {
            material: "fat".into(),
            young: None,
            damping: None,
            parts: Vec::new(),
            regions: Vec::new(),
            rays: Vec::new(),
            free: Vec::new(),
            limits: Vec::new(),
            lattice: None,
            cells: 800,
            levels: 0,
            adaptation: None,
            method: Solution::Blended,
            joints: JointCells::Linear,
            twist: 1.0,
            twist_radius: 0.5,
            gravity: [0.0; 3],
            follow: None,
            pins: Vec::new(),
            contact: None,
            steps_per_second: 240.0,
            pre_roll: 1.0,
        }
    }
}

impl Settings for Skeleton {
    const KIND: &'static str = "skeleton";
    const SUMMARY: &'static str = "flesh around the bones of a skinned character";
    const VERSION: u32 = 8;
}

impl Layer for Skeleton {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let mut diagnostics = checks::names(self, input);
        if input.mesh().skin.is_none() {
            let message = format!("mesh `{}` has no skin: no joint moves it", input.mesh().name);
            let help = "name a skinned mesh, or take the layer `enrich`, which needs none";
            diagnostics.push(Diagnostic::new("", message).with_help(help));
        }
        if let Some(Err(error)) =
            self.follow.as_ref().map(|f| f.weights(&input.clip, input.mesh, &input.files))
        {
            diagnostics.push(Diagnostic::new("follow", error.to_string()));
        }
        diagnostics.extend(checks::misfits(self));
        diagnostics.extend(self.contact.iter().flat_map(|contact| contact.check("contact", input)));
        diagnostics.extend(pins::check(&self.pins, input));
        diagnostics
    }

    fn unusual(&self, input: &Target) -> Vec<Diagnostic> {
        self.contact.iter().flat_map(|contact| contact.unusual("contact", input)).collect()
    }

    fn idle(&self, _: &Target) -> Vec<Diagnostic> {
        let (plain, mut idle) = (Self::default(), Idle::default());
        if self.method == Solution::Nonlinear {
            let turned = self.steps_per_second != plain.steps_per_second;
            idle.say(
                "",
                &[("steps_per_second", turned)],
                "nonlinear flesh takes as many as accuracy asks for",
            );
        }
        if self.lattice.is_some() {
            let turned = self.cells != plain.cells;
            idle.say("", &[("cells", turned)], "`lattice` says which cells there are");
        }
        if self.levels == 0 {
            idle.say(
                "",
                &[("adaptation", self.adaptation.is_some())],
                "`levels` is 0: there are no finer functions",
            );
        }
        if self.method != Solution::Nonlinear || self.contact.is_none() {
            let turned = self.adaptation.as_ref().is_some_and(|adaptation| !adaptation.contact);
            let why = "only nonlinear flesh with `contact` touches anything";
            idle.say("adaptation", &[("contact", turned)], why);
        }
        if self.method != Solution::Blended || self.levels > 0 {
            let why = "only blended flesh without finer levels has joints of their own";
            idle.say("", &[("joints", self.joints != plain.joints)], why);
        }
        idle.say_contact(self.contact.as_ref());
        for (k, pin) in self.pins.iter().enumerate().filter(|(_, pin)| pin.to.is_none()) {
            let turned = pin.seconds != Pin::default().seconds;
            idle.say(&format!("pins[{k}]."), &[("seconds", turned)], "what is taken along is where it was");
        }
        if self.twist == 0.0 {
            let turned = self.twist_radius != plain.twist_radius;
            idle.say("", &[("twist_radius", turned)], "`twist` is 0");
        }
        idle.0
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        mesh.skin.is_some()
    }

    fn look_ahead(&self, _: &Target) -> usize {
        // cuts show by the steps around them
        LOOK_AHEAD
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        Ok(Box::new(SkeletonSimulation::new(self, input)?))
    }

    fn sketches(&self, input: &Target) -> Result<Vec<Sketch>, LayerError> {
        Anatomy::new(self, input)?.sketches()
    }

    fn pack(&self, input: &Target) -> Result<Option<Vec<u8>>, LayerError> {
        let Some(method) = self.method.in_real_time() else {
            let words = "the nonlinear method takes steps by accuracy and cannot be packed for a game";
            return Err(LayerError::new(words).with_help("set `method` to `blended` or `corotated`"));
        };
        let Anatomy { names, skin, meshes, flesh, .. } = Anatomy::new(self, input)?;
        let ends = meshes.iter().skip(1).map(|mesh| mesh.1).chain([skin.points.len()]);
        let named = meshes
            .iter()
            .zip(ends)
            .map(|(&(mesh, start), end)| (input.clip.meshes[mesh].name.clone(), end - start));
        let kit = Kit::new(&flesh, method, 1.0 / self.steps_per_second).map_err(LayerError::new)?;
        Ok(Some(kit.named(names, named.collect()).to_bytes()))
    }
}

impl Solution {
    /// The method of a player; none where it takes the engine.
    fn in_real_time(self) -> Option<Method> {
        match self {
            Self::Blended => Some(Method::BlendedLinear),
            Self::Corotated => Some(Method::Corotated),
            Self::Linear => Some(Method::GlobalLinear),
            Self::Nonlinear => None,
        }
    }
}

impl Skeleton {
    fn base_material(&self) -> Result<Material, solid::Error> {
        let preset = Material::preset(&self.material)?;
        let young = self.young.unwrap_or(preset.young);
        Ok(Material { young, damping: self.damping.unwrap_or(preset.damping), ..preset })
    }
}

impl Part {
    fn base_material(&self) -> Result<Material, solid::Error> {
        let preset = Material::preset(&self.material)?;
        Ok(Material { young: self.young.unwrap_or(preset.young), ..preset })
    }
}
