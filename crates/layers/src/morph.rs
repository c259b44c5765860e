//! `morph`: sculpted shapes that are alive. At this pose the biceps is thick and hard, at that one slack; between them it moves.

mod channels;
mod poses;
mod simulation;
mod touch;

use std::collections::BTreeMap;

use character::{Kernel, MorphKit, MorphLaw, MorphPlayer};
use clip::{Clip, FilePath, Mesh, Selector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use solid::Material;

use shot::{Counterpart, Diagnostic, Figures, Layer, LayerError, Settings, Simulation, Target};

use crate::shared::Contact;
use crate::shared::driver::LOOK_AHEAD;
use crate::shared::idle::Idle;

use simulation::MorphSimulation;

/// Dynamic morph targets: shapes sculpted for poses, each with its own stiffness, weight and damping. Flesh moves between them and is
/// elastic in the way of the pose it is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Morph {
    /// The targets; one at least.
    #[schemars(length(min = 1))]
    pub targets: Vec<MorphTarget>,
    /// What flesh is made of where a target says nothing else: `jelly`, `fat`, `muscle`, `rubber`, `wood`.
    #[schemars(extend("examples" = Material::PRESETS.map(|preset| preset.name)))]
    pub material: String,
    /// About so many tets fill the skin.
    #[schemars(extend("minimum" = 8, "maximum" = 200_000))]
    pub tets: usize,
    /// Coordinates that move; 0 moves every point of the tets, which takes far longer.
    #[schemars(extend("minimum" = 0, "maximum" = 200))]
    pub modes: usize,
    /// How forces follow from displacements.
    pub forces: MorphForces,
    /// What interpolates between targets.
    pub interpolation: Interpolation,
    /// How much is smoothed between targets, in mean distances between them; 0 meets every target.
    #[schemars(extend("minimum" = 0.0, "maximum" = 10.0))]
    pub smoothing: f64,
    /// Numbers of the pose beside the joints: names of morph targets of the mesh, whose weights count as they are animated; `"speed of "` and a
    /// joint, in m/s; `"touch of "` and a joint, 1 while `contact` presses its skin.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// Pose weights per vertex: flesh of a joint heeds the pose of joints at most so many links away, and a wrist does not move a chest.
    /// Default: the pose of the whole body counts everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "maximum" = 1000, "x-usual" = [0, 20]))]
    pub pose_reach: Option<usize>,
    /// What the skin may not pass through: itself, other meshes, simple shapes. Needs `modes`. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<Contact>,
    /// In m/s². The sculptor's shapes usually hang already, so there is none.
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-usual" = [-50.0, 50.0]))]
    pub gravity: [f64; 3],
    /// Where points stay on the animation: with weight 1 exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<Selector>,
    /// Steps per second at least; frames are cut into equal ones.
    #[schemars(extend("minimum" = 24.0, "maximum" = 4000.0))]
    pub steps_per_second: f64,
}

/// A shape at a pose, and what it is made of there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MorphTarget {
    /// What it is called in reports.
    pub name: String,
    /// The shape: a morph target of the mesh. Default: the mesh at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// The shape: a file with the same mesh, sculpted in the bind pose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FilePath>,
    /// The pose: that of this frame of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub frame: Option<usize>,
    /// The pose: joints that are turned from rest, in degrees about x, y and z; all others are at rest.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("minimum" = -36_000.0, "maximum" = 36_000.0, "x-usual" = [-360.0, 360.0]))]
    pub turns: BTreeMap<String, [f64; 3]>,
    /// Values of the layer's `channels` at this pose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6, "x-usual" = [-10.0, 10.0]))]
    pub channels: Vec<f64>,
    /// What it is made of. Default: the layer's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub material: Option<String>,
    /// Young's modulus, in Pa. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e12, "x-usual" = [100.0, 2e10]))]
    pub young: Option<f64>,
    /// In kg/m³. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e5, "x-usual" = [100.0, 8000.0]))]
    pub density: Option<f64>,
    /// Damping ratio of a jiggle of 2 Hz; 1 is critical. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 2.0]))]
    pub damping: Option<f64>,
    /// Parts that are made of something else at this pose; later ones over earlier ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<TargetRegion>,
    /// Strain beyond which the shape gives way for good. Default: 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0))]
    pub yield_strain: Option<f64>,
    /// How fast it does, in 1/s; 0 never.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e6))]
    pub creep: f64,
}

/// A part of a target that is made of something else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetRegion {
    /// Where.
    pub at: Selector,
    /// What it is made of. Default: the target's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub material: Option<String>,
    /// Young's modulus, in Pa. Default: the material's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e12, "x-usual" = [100.0, 2e10]))]
    pub young: Option<f64>,
    /// In kg/m³. Default: the material's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e5, "x-usual" = [100.0, 8000.0]))]
    pub density: Option<f64>,
    /// Damping ratio of a jiggle of 2 Hz. Default: the material's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 2.0]))]
    pub damping: Option<f64>,
}

/// How forces follow from displacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MorphForces {
    /// In proportion: quick, and right for all but large displacements, since they are seen from the bones.
    #[default]
    Linear,
    /// In proportion, every tet turned with itself: for large displacements. Needs `modes = 0`.
    Warped,
    /// StVK: for large displacements, with few modes too.
    Stvk,
}

/// What interpolates between targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// The distance itself: smooth between few targets, and goes on beyond them.
    #[default]
    Biharmonic,
    /// Gaussians as wide as the mean distance between targets: beyond them all, a mean of them.
    Gaussian,
}

impl Default for Morph {
    fn default() -> Self {
        Self {
            targets: Vec::new(),
            material: "fat".into(),
            tets: 4000,
            modes: 30,
            forces: MorphForces::Linear,
            interpolation: Interpolation::Biharmonic,
            smoothing: 0.0,
            channels: Vec::new(),
            pose_reach: None,
            contact: None,
            gravity: [0.0; 3],
            follow: None,
            steps_per_second: 240.0,
        }
    }
}

impl Settings for Morph {
    const KIND: &'static str = "morph";
    const SUMMARY: &'static str = "sculpted shapes at poses, each elastic in its own way";
    const VERSION: u32 = 5;
}

impl Layer for Morph {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let mesh = input.mesh();
        if mesh.skin.is_none() {
            let message = format!("mesh `{}` has no skin: no joint moves it", mesh.name);
            let help = "name a skinned mesh; poses are poses of its joints";
            found.push(Diagnostic::new("", message).with_help(help));
        }
        if self.targets.is_empty() {
            let help = "[[layer.targets]] with `name`, `shape` and `frame`; one is the least";
            found.push(Diagnostic::new("targets", "there are no targets").with_help(help));
        }
        if self.forces == MorphForces::Warped && self.modes > 0 {
            let message = "warped forces are no polynomials and cannot be reduced to modes";
            found.push(
                Diagnostic::new("forces", message).with_help("say `modes = 0`, or `forces = \"stvk\"`"),
            );
        }
        let most = MorphKit::MOST_STVK_MODES;
        if self.forces == MorphForces::Stvk && self.modes > most {
            let message =
                format!("StVK forces of {} coordinates have too many terms; {most} is the most", self.modes);
            found.push(
                Diagnostic::new("modes", message).with_help("say fewer `modes`, or `forces = \"linear\"`"),
            );
        }
        if self.modes == 0 && self.contact.is_some() {
            let message = "only a morph of few modes keeps out of itself and of other things";
            found.push(
                Diagnostic::new("contact", message).with_help("say `modes = 30`, or another number above 0"),
            );
        }
        found.extend(self.contact.iter().flat_map(|contact| contact.check("contact", input)));
        found.extend(channels::check(&self.channels, self.contact.is_some(), input));
        check_material("material".into(), Some(&self.material), &mut found);
        for (k, target) in self.targets.iter().enumerate() {
            target.check(input, k, &self.targets[..k], &mut found);
        }
        if let Some(Err(error)) =
            self.follow.as_ref().map(|f| f.weights(&input.clip, input.mesh, &input.files))
        {
            found.push(Diagnostic::new("follow", error.to_string()));
        }
        found
    }

    fn unusual(&self, input: &Target) -> Vec<Diagnostic> {
        self.contact.iter().flat_map(|contact| contact.unusual("contact", input)).collect()
    }

    fn idle(&self, _: &Target) -> Vec<Diagnostic> {
        let mut idle = Idle::default();
        let value = |target: &MorphTarget, k: usize| target.channels.get(k).copied().unwrap_or(0.0);
        let is_flat = |k| self.targets.iter().all(|target| value(target, k) == value(&self.targets[0], k));
        for k in (0..self.channels.len()).filter(|k| is_flat(*k)) {
            idle.say(
                "",
                &[(&format!("channels[{k}]"), true)],
                "all targets have the same value of it: it tells none from another",
            );
        }
        for (k, target) in self.targets.iter().enumerate().filter(|(_, target)| target.creep == 0.0) {
            let at = format!("targets[{k}].");
            idle.say(
                &at,
                &[("yield_strain", target.yield_strain.is_some())],
                "`creep` is 0: it never gives way",
            );
        }
        for (k, target) in self.targets.iter().enumerate() {
            let Ok(made) = target.made_of(self) else { continue };
            let bare = MorphTarget { material: None, ..target.clone() };
            let same = target.material.is_some() && bare.made_of(self).is_ok_and(|bare| bare == made);
            let why = "it has all of its numbers without";
            idle.say(&format!("targets[{k}]."), &[("material", same)], why);
            for (n, region) in target.regions.iter().enumerate() {
                let bare = TargetRegion { material: None, ..region.clone() };
                let same = region.material.is_some() && bare.made_of(made).ok() == region.made_of(made).ok();
                idle.say(&format!("targets[{k}].regions[{n}]."), &[("material", same)], why);
            }
        }
        idle.say_contact(self.contact.as_ref());
        idle.0
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        mesh.skin.is_some()
    }

    fn look_ahead(&self, input: &Target) -> usize {
        // a pose that is a frame's is read before the first
        if self.targets.iter().any(|target| target.frame.is_some()) {
            input.clip.frame_count()
        } else {
            LOOK_AHEAD
        }
    }

    fn pack(&self, input: &Target) -> Result<Option<Vec<u8>>, LayerError> {
        Ok(Some(self.player(input)?.kit().to_bytes()))
    }

    fn counterpart(
        &self,
        input: &Target,
        index: usize,
        figures: &Figures,
    ) -> Result<Option<Counterpart>, LayerError> {
        // with weights per vertex the figures are of the whole body
        if self.pose_reach.is_some() {
            return Ok(None);
        }
        simulation::counterpart(self, input, index, figures)
    }

    fn scenery(&self, input: &Target) -> Result<Vec<Clip>, LayerError> {
        self.contact.as_ref().map_or(Ok(Vec::new()), |contact| contact.scenery(input))
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        Ok(Box::new(MorphSimulation::new(self, input)?))
    }
}

impl Morph {
    /// The layer as a game steps it: the same modes, in real time. Needs `modes`; with 0 every point moves, which is for bakes.
    pub fn player(&self, input: &Target) -> Result<MorphPlayer, LayerError> {
        let help = "say `modes = 30`, or another number above 0";
        MorphSimulation::new(self, input)?.into_player().ok_or_else(|| {
            LayerError::new("without modes there is nothing to play in real time").with_help(help)
        })
    }
}

fn check_material(path: String, name: Option<&String>, found: &mut Vec<Diagnostic>) {
    let known = Material::PRESETS.iter().map(|preset| preset.name);
    if let Some(name) = name.filter(|name| Material::preset(name).is_err()) {
        found.push(Diagnostic::unknown(path, "material", name, known));
    }
}

impl MorphTarget {
    fn check(&self, input: &Target, number: usize, others: &[Self], found: &mut Vec<Diagnostic>) {
        let path = |key: &str| format!("targets[{number}].{key}");
        let mesh = input.mesh();
        if self.name.is_empty() {
            found.push(Diagnostic::new(path("name"), "the target has no name"));
        }
        if others.iter().any(|other| other.name == self.name) {
            found.push(Diagnostic::new(path("name"), format!("two targets are called `{}`", self.name)));
        }
        if let Some(shape) = self.shape.as_ref().filter(|shape| mesh.morph_target(shape).is_none()) {
            let known = mesh.morph_targets.iter().map(|target| target.name.as_str());
            found.push(Diagnostic::unknown(path("shape"), "morph target", shape, known));
        }
        if self.shape.is_some() && self.file.is_some() {
            let message = "the shape is given twice: by `shape` and by `file`";
            found.push(Diagnostic::new(path("file"), message));
        } else if let Err(error) = poses::sculpt(self, input) {
            found.push(Diagnostic::new(path("file"), error.to_string()));
        }
        let count = input.clip.frame_count();
        if let Some(frame) = self.frame.filter(|frame| *frame >= count) {
            let message = format!("there is no frame {frame}; the input has {count}");
            found.push(Diagnostic::new(path("frame"), message));
        }
        if self.frame.is_some() && !self.turns.is_empty() {
            let message = "the pose is given twice: by `frame` and by `turns`";
            found.push(Diagnostic::new(path("turns"), message));
        }
        let joints = || {
            input.clip.skeleton.iter().flat_map(|skeleton| skeleton.joints.iter().map(|j| j.name.as_str()))
        };
        for name in self.turns.keys().filter(|name| !joints().any(|joint| joint == name.as_str())) {
            found.push(Diagnostic::unknown(path(&format!("turns.{name}")), "joint", name, joints()));
        }
        check_material(path("material"), self.material.as_ref(), found);
        for (k, region) in self.regions.iter().enumerate() {
            check_material(path(&format!("regions[{k}].material")), region.material.as_ref(), found);
            if let Err(error) = region.at.weights(&input.clip, input.mesh, &input.files) {
                found.push(Diagnostic::new(path(&format!("regions[{k}].at")), error.to_string()));
            }
        }
    }

    fn made_of(&self, layer: &Morph) -> Result<Material, solid::Error> {
        let preset = Material::preset(self.material.as_ref().unwrap_or(&layer.material))?;
        Ok(changed(preset, self.young, self.density, self.damping))
    }
}

impl TargetRegion {
    fn made_of(&self, target: Material) -> Result<Material, solid::Error> {
        let base = self.material.as_ref().map_or(Ok(target), |name| Material::preset(name))?;
        Ok(changed(base, self.young, self.density, self.damping))
    }
}

fn changed(base: Material, young: Option<f64>, density: Option<f64>, damping: Option<f64>) -> Material {
    Material {
        young: young.unwrap_or(base.young),
        density: density.unwrap_or(base.density),
        damping: damping.unwrap_or(base.damping),
        ..base
    }
}

impl From<MorphForces> for MorphLaw {
    fn from(forces: MorphForces) -> Self {
        match forces {
            MorphForces::Linear => Self::Linear,
            MorphForces::Warped => Self::Warped,
            MorphForces::Stvk => Self::Stvk,
        }
    }
}

impl From<Interpolation> for Kernel {
    fn from(interpolation: Interpolation) -> Self {
        match interpolation {
            Interpolation::Biharmonic => Self::Biharmonic,
            Interpolation::Gaussian => Self::Gaussian { width: 1.0 },
        }
    }
}
