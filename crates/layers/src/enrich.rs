//! `enrich`: flesh under an animated surface. Bellies, ears, trunks and tails move; hands and feet stay where they were put.
//!
//! The physics is the solid crate's, the time stepping the engine's; here are the dials.

mod apart;
mod filling;
mod maps;
mod member;
mod skin;
mod thin;

use clip::{Clip, FilePath, Mesh, Selector};
use dynamics::Integrator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use solid::{Law, Material};

use shot::{Diagnostic, GroupMember, Layer, LayerError, Settings, Simulation, Target};

use crate::shared::Contact;
use crate::shared::driver::{Driver, LOOK_AHEAD};
use crate::shared::idle::Idle;
use crate::shared::stepping::{Method, stepping};

/// Adds secondary motion to any animated surface: it is filled with flesh, which follows the animation where `follow` says and
/// moves by its own weight elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Enrich {
    /// What it is made of: jelly, fat, muscle, rubber or wood. Single values can be changed with the dials below.
    #[schemars(extend("examples" = Material::PRESETS.map(|preset| preset.name)))]
    pub material: String,
    /// Young's modulus, in Pa: how hard it is to pull. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e12, "x-usual" = [100.0, 2e10]))]
    pub young: Option<f64>,
    /// How much it narrows when it is pulled: flesh keeps its volume, near 0.5. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 0.499))]
    pub poisson: Option<f64>,
    /// In kg/m³. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 3e4, "x-usual" = [50.0, 2e4]))]
    pub density: Option<f64>,
    /// Damping ratio of a jiggle of 2 Hz; 1 is critical. Default: the material's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 2.0]))]
    pub damping: Option<f64>,
    /// How stress grows with strain: `stvk`, `corotational` or `neo_hookean`.
    pub law: Law,
    /// Parts made of something else, one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<FleshRegion>,
    /// Where the surface follows the animation, and how much: weight 1 exactly (to the bit), 0 not at all, in between drawn softly. Where nothing at
    /// all holds or moves the body, thin parts (limbs, head) and what stands on the floor follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<Selector>,
    /// Weights from a few strokes instead of a whole map: what lies between them is filled in smoothly.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paint: Vec<FollowStroke>,
    /// Other weights from some frame on, with a smooth change from key to key. `follow` and `paint` are the key at frame 0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<FollowKey>,
    /// How fast a point of weight ½ is drawn to the animation: the frequency of its swing, in Hz.
    #[schemars(extend("minimum" = 1e-3, "maximum" = 1000.0, "x-usual" = [0.1, 50.0]))]
    pub follow_stiffness: f64,
    /// How much that swing is damped: 1 just does not overshoot.
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 5.0]))]
    pub follow_damping: f64,
    /// No part strays further from the animation than this, in metres. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e4))]
    pub max_distance: Option<f64>,
    /// Physics may only do what the skeleton cannot: nothing needs to be painted, and the animator's motion is never undone. 1 forbids
    /// every motion that the skeleton could make, less lets momentum leak; 0 is off. Needs a mesh with a skin.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub complementary: f64,
    /// So many patches of the surface keep the animation's averages, as in the tracks layer. 0: none.
    #[schemars(extend("minimum" = 0, "maximum" = 2000, "x-usual" = [0, 500]))]
    pub patches: usize,
    /// What the surface may not pass through. Default: it passes through everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact: Option<Contact>,
    /// In m/s². An animation that already hangs as it should needs none.
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-usual" = [-50.0, 50.0]))]
    pub gravity: [f64; 3],
    /// Seconds of simulation before the first frame, with the animation held at it: flesh settles.
    #[schemars(extend("minimum" = 0.0, "maximum" = 600.0, "x-usual" = [0.0, 10.0]))]
    pub pre_roll: f64,
    /// About how many tets the surface is filled with: more show smaller motion and take longer. Or a file with tets around it, at
    /// rest: `.veg`, `.msh`, `.node` with `.ele`, `.mesh`.
    pub tets: FleshTets,
    /// How long their edges are near the surface, in metres; instead of `tets`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-6, "maximum" = 1e6))]
    pub edge: Option<f64>,
    /// A pose in which parts that touch at rest are apart: a frame of the input, or a file with the same mesh. Tets are made there, so
    /// that a hand on a belly is not grown together with it. `false`: they are made at rest. Default: at rest, unless they would join there what is apart
    /// in other frames; then in the frame that parts it best, which is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub separated: Option<Separated>,
    /// Which points are animated; the rest is completed by physics alone. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub animated: Option<Selector>,
    /// Connected pieces of the surface that move as rigid bodies where they are not animated: teeth, buttons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rigid: Option<Selector>,
    /// False: no dynamics, only the fit. For completing a surface that was tracked.
    pub simulate: bool,
    /// Whether what the tets are too coarse for is carried over from the input.
    pub detail: bool,
    /// How near the tets must come to the animation, root mean square, as a fraction of its size.
    #[schemars(extend("minimum" = 1e-9, "maximum" = 1.0, "x-usual" = [1e-5, 0.1]))]
    pub fit_tolerance: f64,
    /// How much the fit resists deformation. Default: chosen so that `fit_tolerance` is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1e-12, "maximum" = 1e12))]
    pub gamma: Option<f64>,
    /// Steps per frame. Default: as many as the error estimate asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "maximum" = 1000, "x-usual" = [1, 100]))]
    pub substeps: Option<usize>,
    /// Permitted error of a step as a fraction of the size; smaller is more exact and slower.
    #[schemars(extend("minimum" = 1e-7, "maximum" = 0.1, "x-usual" = [1e-5, 0.03]))]
    pub tolerance: f64,
    /// How steps are taken.
    pub integrator: Method,
    /// Where a linearly implicit step evaluates forces: 0 where it starts (most stable), 1 where it would end (least damped).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub delta: f64,
}

/// Where tets come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FleshTets {
    /// About so many are made.
    Count(#[schemars(extend("minimum" = 1, "maximum" = 2_000_000, "x-usual" = [20, 200_000]))] usize),
    /// They are read.
    File(FilePath),
}

/// A pose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Separated {
    /// `false`: none, whatever other frames show.
    Sought(bool),
    /// This frame of the input.
    Frame(#[schemars(extend("minimum" = 0, "maximum" = 10_000_000))] usize),
    /// The mesh of a file.
    File(FilePath),
}

/// A part made of something else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FleshRegion {
    /// Where; weights between 0 and 1 mix.
    pub at: Option<Selector>,
    /// A material; the layer's own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub material: Option<String>,
    /// Young's modulus, in Pa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 1e12, "x-usual" = [100.0, 2e10]))]
    pub young: Option<f64>,
    /// How much it narrows when it is pulled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 0.499))]
    pub poisson: Option<f64>,
    /// In kg/m³.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1.0, "maximum" = 3e4, "x-usual" = [50.0, 2e4]))]
    pub density: Option<f64>,
    /// Damping ratio of a jiggle of 2 Hz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 2.0]))]
    pub damping: Option<f64>,
    /// Gravity here, in m/s², instead of the layer's: a ball falls beside a body that hangs as it was animated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = -100.0, "maximum" = 100.0, "x-usual" = [-50.0, 50.0]))]
    pub gravity: Option<[f64; 3]>,
}

/// A weight for some points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowStroke {
    /// Which points.
    pub at: Selector,
    /// Their weight: 1 exactly the animation, 0 pure physics.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub follow: f64,
}

/// Weights from some frame on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FollowKey {
    /// The frame at which they hold.
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub frame: usize,
    /// As the layer's `follow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<Selector>,
    /// As the layer's `paint`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paint: Vec<FollowStroke>,
}

impl Default for Enrich {
    fn default() -> Self {
        Self {
            material: "fat".into(),
            young: None,
            poisson: None,
            density: None,
            damping: None,
            law: Law::default(),
            regions: Vec::new(),
            follow: None,
            paint: Vec::new(),
            keys: Vec::new(),
            follow_stiffness: 4.0,
            follow_damping: 1.0,
            max_distance: None,
            complementary: 0.0,
            patches: 0,
            contact: None,
            gravity: [0.0; 3],
            pre_roll: 0.0,
            tets: FleshTets::Count(8000),
            edge: None,
            separated: None,
            animated: None,
            rigid: None,
            simulate: true,
            detail: true,
            fit_tolerance: 1e-3,
            gamma: None,
            substeps: None,
            tolerance: 1e-3,
            integrator: Method::default(),
            delta: 0.0,
        }
    }
}

impl Settings for Enrich {
    const KIND: &'static str = "enrich";
    const SUMMARY: &'static str = "adds the secondary motion of flesh to an animated surface";
    const VERSION: u32 = 11;
}

impl Layer for Enrich {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        let base = self.base_material();
        let materials = std::iter::once(("".to_owned(), &self.material, base.as_ref().ok().copied())).chain(
            self.regions.iter().enumerate().map(|(index, region)| {
                let name = region.material.as_ref().unwrap_or(&self.material);
                let material = base.as_ref().ok().and_then(|base| region.material(base).ok());
                (format!("regions[{index}]."), name, material)
            }),
        );
        for (prefix, name, material) in materials {
            match material.map(|material| material.validate()) {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    let field =
                        if let solid::Error::Material { field, .. } = error { field } else { "material" };
                    let path = format!("{prefix}{field}");
                    diagnostics.push(Diagnostic::new(path, error.to_string()));
                }
                None => {
                    let known = Material::PRESETS.iter().map(|preset| preset.name);
                    diagnostics.push(Diagnostic::unknown(
                        format!("{prefix}material"),
                        "material",
                        name,
                        known,
                    ));
                }
            }
        }
        for (path, selector) in self.selectors() {
            if let Err(error) = selector.weights(&input.clip, input.mesh, &input.files) {
                diagnostics.push(Diagnostic::new(path, error.to_string()));
            }
        }
        diagnostics.extend(filling::check(self, input));
        diagnostics.extend(self.contact.iter().flat_map(|contact| contact.check("contact", input)));
        if self.complementary > 0.0 && input.mesh().skin.is_none() {
            let message = format!(
                "mesh `{}` has no skin, so no motion of a skeleton can be forbidden",
                input.mesh().name
            );
            let help = "use `follow`, or a file with a rig";
            diagnostics.push(Diagnostic::new("complementary", message).with_help(help));
        }
        if let Some(pair) = self.keys.windows(2).position(|pair| pair[0].frame >= pair[1].frame) {
            let message = format!("key {} is not after key {pair}", pair + 1);
            diagnostics.push(Diagnostic::new("keys", message).with_help("sort the keys by frame"));
        }
        if self.keys.first().is_some_and(|key| key.frame == 0) {
            let message = "the key at frame 0 is `follow` or `paint` of the layer itself".to_owned();
            diagnostics.push(Diagnostic::new("keys", message));
        }
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
        if !self.simulate {
            let dynamics = [
                ("pre_roll", self.pre_roll != plain.pre_roll),
                ("gravity", self.gravity != plain.gravity),
                ("max_distance", self.max_distance.is_some()),
                ("contact", self.contact.is_some()),
                ("substeps", self.substeps.is_some()),
                ("integrator", self.integrator != plain.integrator),
            ];
            idle.say("", &[&dynamics[..], &softness].concat(), "`simulate` is false: there is only the fit");
        } else if self.paint.is_empty()
            && self.keys.is_empty()
            && (self.complementary == 0.0 || self.complementary == 1.0)
        {
            idle.say_follow(&self.follow, &softness, input);
        }
        if self.integrator != Method::LinearlyImplicit {
            let why = "only linearly implicit steps have one";
            idle.say("", &[("delta", self.delta != plain.delta)], why);
        }
        if self.edge.is_some() {
            idle.say("", &[("tets", self.tets != plain.tets)], "`edge` says how large they are");
        }
        idle.say_contact(self.contact.as_ref());
        idle.0
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        !mesh.faces.is_empty() && self.selectors().iter().all(|(_, selector)| selector.has_its_groups(mesh))
    }

    fn look_ahead(&self, _: &Target) -> usize {
        // velocities of the fit are central differences, and cuts show by the steps around them
        LOOK_AHEAD
    }

    fn scenery(&self, input: &Target) -> Result<Vec<Clip>, LayerError> {
        self.contact.as_ref().map_or(Ok(Vec::new()), |contact| contact.scenery(input))
    }

    fn prepare(&self, input: &Target) -> Result<Box<dyn Simulation>, LayerError> {
        Ok(Box::new(Driver::new(vec![self.actor(input)?])?))
    }

    fn joins_groups(&self) -> bool {
        true
    }

    fn member(&self, input: &Target) -> Result<GroupMember, LayerError> {
        Ok(GroupMember::new(self.actor(input)?))
    }
}

impl Enrich {
    /// Every selector with its place in the settings.
    fn selectors(&self) -> Vec<(String, &Selector)> {
        let mut all: Vec<(String, &Selector)> = Vec::new();
        let named = [("follow", &self.follow), ("animated", &self.animated), ("rigid", &self.rigid)];
        all.extend(
            named.into_iter().filter_map(|(path, selector)| Some((path.to_owned(), selector.as_ref()?))),
        );
        let strokes = |prefix: String, strokes: &'_ [FollowStroke]| -> Vec<String> {
            (0..strokes.len()).map(|index| format!("{prefix}paint[{index}].at")).collect()
        };
        all.extend(
            strokes(String::new(), &self.paint).into_iter().zip(self.paint.iter().map(|stroke| &stroke.at)),
        );
        for (index, key) in self.keys.iter().enumerate() {
            all.extend(key.follow.as_ref().map(|follow| (format!("keys[{index}].follow"), follow)));
            let paths = strokes(format!("keys[{index}]."), &key.paint);
            all.extend(paths.into_iter().zip(key.paint.iter().map(|stroke| &stroke.at)));
        }
        for (index, region) in self.regions.iter().enumerate() {
            all.extend(region.at.as_ref().map(|at| (format!("regions[{index}].at"), at)));
        }
        all
    }

    /// Whether nothing holds the body and nothing moves it but its animation: then its limbs stay with that.
    fn says_nothing(&self) -> bool {
        let plain = Self::default();
        let holds = self.follow.is_some()
            || !self.paint.is_empty()
            || !self.keys.is_empty()
            || self.complementary > 0.0
            || self.patches > 0
            || self.max_distance.is_some()
            || self.animated.is_some();
        // what falls or lies on something is meant to be free
        let is_free = self.contact.is_some()
            || self.gravity != plain.gravity
            || self.regions.iter().any(|r| r.gravity.is_some());
        self.simulate && !holds && !is_free
    }

    fn base_material(&self) -> Result<Material, solid::Error> {
        let preset = Material::preset(&self.material)?;
        Ok(Material {
            young: self.young.unwrap_or(preset.young),
            poisson: self.poisson.unwrap_or(preset.poisson),
            density: self.density.unwrap_or(preset.density),
            damping: self.damping.unwrap_or(preset.damping),
        })
    }

    fn stepping(&self) -> dynamics::Settings {
        let mut stepping = stepping(self.integrator, self.substeps, self.tolerance);
        if let Integrator::LinearlyImplicit { delta } = &mut stepping.integrator {
            *delta = self.delta;
        }
        stepping
    }
}

impl FleshRegion {
    fn material(&self, base: &Material) -> Result<Material, solid::Error> {
        let preset = match &self.material {
            Some(name) => Material::preset(name)?,
            None => *base,
        };
        Ok(Material {
            young: self.young.unwrap_or(preset.young),
            poisson: self.poisson.unwrap_or(preset.poisson),
            density: self.density.unwrap_or(preset.density),
            damping: self.damping.unwrap_or(preset.damping),
        })
    }
}
