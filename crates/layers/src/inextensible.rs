//! `inextensible`: cloth whose warp and weft do not stretch, however long the steps and however fine the mesh.
//!
//! The cloth is that of the layer `cloth` with one thing more: its threads have limits, longer and shorter, inside every step, or
//! a projection puts them back to their lengths after it. The membranes stay, so that a step ends near what is
//! asked and no force has to be undone. Quads stay quads from file to solver; their sides are the threads.

use clip::{Clip, Mesh, Selector};
use geometry::{Vec2, Vec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shell::{Enforcement, Face, InextensibleThreads, Overstretched, ThreadDirections, Weave};
use shot::{Diagnostic, GroupMember, Layer, LayerError, Settings, Simulation, Target};

use crate::cloth::Cloth;
use crate::shared::driver::{Driver, Member};
use crate::shared::idle::Idle;
use crate::shared::points::to_vectors;
use crate::shared::selectors::weights;

/// How threads are kept at their lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadMethod {
    /// By limits inside the step, in one solve with contact: nothing crosses, and no thread is beyond `max_strain`.
    #[default]
    Limit,
    /// By fast projection after each step, as far as nothing is in the way: contact has the last word. Fastest where nothing touches.
    Projection,
}

/// Turns a mesh into fabric whose threads do not stretch: it drapes, folds and swings, and never looks like rubber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Inextensible {
    /// How much longer or shorter than at rest a thread may be, as a fraction: 0.01 is one percent.
    #[schemars(extend("minimum" = 0.0001, "maximum" = 0.5, "x-usual" = [0.001, 0.1]))]
    pub max_strain: f64,
    /// How threads are kept at their lengths.
    pub method: ThreadMethod,
    /// Which edges are warp: those between two points of this group, and all that run on from them through the quads. Default:
    /// edges along u of the texture coordinates, or along the vertical where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warp: Option<Selector>,
    /// The dials of the layer `cloth`.
    #[serde(flatten)]
    pub cloth: Cloth,
}

impl Default for Inextensible {
    fn default() -> Self {
        Self { max_strain: 0.01, method: ThreadMethod::default(), warp: None, cloth: Cloth::default() }
    }
}

impl Settings for Inextensible {
    const KIND: &'static str = "inextensible";
    const SUMMARY: &'static str = "turns a mesh into fabric whose warp and weft do not stretch";
    const VERSION: u32 = 9;
}

impl Layer for Inextensible {
    fn check(&self, input: &Target) -> Vec<Diagnostic> {
        let mut diagnostics = self.cloth.check(input);
        if self.cloth.subdivide > 0 {
            let message = "threads are the sides of quads, and what is cut finer is made of triangles";
            let help = "cut the quads finer where the mesh is made, or use the layer `cloth`";
            diagnostics.push(Diagnostic::new("subdivide", message).with_help(help));
        }
        if !(1e-4..=0.5).contains(&self.max_strain) {
            let message = format!("max_strain is {}", self.max_strain);
            let help = "allowed: 0.0001 to 0.5";
            diagnostics.push(Diagnostic::new("max_strain", message).with_help(help));
        }
        if let Some(Err(error)) = self.warp.as_ref().map(|warp| weights(warp, input)) {
            diagnostics.push(Diagnostic::new("warp", error.to_string()));
        } else if let Err(failure) = self.weave(input, &input.mesh().rest()) {
            let help = failure.remedy().map(str::to_owned);
            diagnostics.push(Diagnostic::new("kind", failure.to_string()).maybe_help(help));
        }
        if diagnostics.is_empty() {
            diagnostics.extend(self.check_pins(input));
        }
        diagnostics
    }

    fn unusual(&self, input: &Target) -> Vec<Diagnostic> {
        self.cloth.unusual(input)
    }

    fn idle(&self, input: &Target) -> Vec<Diagnostic> {
        let mut idle = Idle(self.cloth.idle(input));
        idle.0.retain(|diagnostic| diagnostic.path() != "limit_factor");
        let dials = &self.cloth.dials;
        let limits = [
            ("limit_warp", dials.limit_warp.is_some()),
            ("limit_weft", dials.limit_weft.is_some()),
            ("limit_shear", dials.limit_shear.is_some()),
            ("limit_factor", self.cloth.limit_factor.is_some()),
        ];
        idle.say("", &limits, "threads keep their lengths by `max_strain`");
        idle.0
    }

    fn suits(&self, mesh: &Mesh) -> bool {
        self.cloth.suits(mesh)
    }

    fn look_ahead(&self, input: &Target) -> usize {
        self.cloth.look_ahead(input)
    }

    fn scenery(&self, input: &Target) -> Result<Vec<Clip>, LayerError> {
        self.cloth.contact.as_ref().map_or(Ok(Vec::new()), |contact| contact.scenery(input))
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

impl Inextensible {
    /// The cloth with its threads.
    fn actor(&self, input: &Target) -> Result<Member, LayerError> {
        let member = self.cloth.actor(input, Some(self.threads(input)?))?;
        Ok(Member { adapts: true, ..member })
    }

    /// Points that are held further apart in the first frame than the threads between them are long: no step could be taken.
    fn check_pins(&self, input: &Target) -> Option<Diagnostic> {
        let held = weights(self.cloth.follow.as_ref()?, input).ok()?;
        let known: Vec<bool> = held.iter().map(|weight| *weight >= 1.0).collect();
        let points = to_vectors(&input.points(0).ok()?);
        let Overstretched { points: [a, b], distance, thread_length } =
            self.threads(input).ok()?.overstretched(&known, &points)?;
        let message = format!(
            "in the first frame points {a} and {b} are held {distance:.3} m apart, but the threads between them are {thread_length:.3} m long"
        );
        let help = "let go of one of them, bring them closer in the animation, or raise `max_strain`";
        Some(Diagnostic::new("follow", message).with_help(help))
    }

    /// Its threads.
    fn threads(&self, input: &Target) -> Result<InextensibleThreads, LayerError> {
        let rest = input.mesh().rest();
        let material = self.cloth.fabric().map_err(LayerError::new)?;
        let enforcement = match self.method {
            ThreadMethod::Limit => Enforcement::Limit,
            ThreadMethod::Projection => Enforcement::Projection,
        };
        let weave = self.weave(input, &rest)?;
        let chosen = |selector: &Selector| Ok(weights(selector, input)?);
        let shrink = self.cloth.shrinking(rest.len(), &chosen)?;
        InextensibleThreads::new(weave, enforcement, self.max_strain, &rest, shrink.as_deref(), &material)
            .map_err(LayerError::new)
    }

    fn weave(&self, input: &Target, rest: &[Vec3]) -> Result<Weave, LayerError> {
        let mesh = input.mesh();
        let marked: Option<Vec<bool>> = match &self.warp {
            Some(warp) => Some(weights(warp, input)?.iter().map(|w| *w > 0.5).collect()),
            None => None,
        };
        let lay =
            marked.as_ref().map_or(ThreadDirections::Uv(Vec3::Y), |marked| ThreadDirections::Named(marked));
        Weave::new(rest, &faces(mesh), lay).map_err(|error| {
            let help = match error {
                shell::Error::NoThreads { .. } if self.warp.is_some() => {
                    "`warp` must hold both ends of at least one side of a quad"
                }
                shell::Error::NoThreads { .. } => {
                    "threads are the sides of quads: use a grid whose texture coordinates run along its sides, name a row of it with `warp`, or use the layer `cloth`"
                }
                _ => return LayerError::new(error),
            };
            LayerError::new(error).with_help(help)
        })
    }
}

/// Polygons over points, with their texture coordinates.
fn faces(mesh: &Mesh) -> Vec<Face> {
    let face = |corners: &[u32]| Face {
        points: corners.iter().map(|&vertex| mesh.vertex_points[vertex as usize]).collect(),
        uvs: corners
            .iter()
            .filter_map(|&vertex| mesh.uvs.get(vertex as usize))
            .map(|&[u, v]| Vec2::new(f64::from(u), f64::from(v)))
            .collect(),
    };
    mesh.faces.iter().map(face).collect()
}
