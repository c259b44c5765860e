//! What a tailor does: `sew`, `elastic`, `pins`. Settings, and the requests that a member brings to the driver.
//!
//! `pairing` finds which places belong together at rest, `ties` makes springs of them on the body that all members share, follows how they close
//! and closes seams to the last bit in what is delivered.

mod pairing;
mod ties;

use clip::Selector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shot::{Diagnostic, Target};

use super::selectors::weights;

pub(crate) use ties::{Anchor, Sewing};

/// Edges that are sewn to each other. Places that belong together are found at rest; they are drawn together during the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Seam {
    /// Edges farther apart at rest are left alone, in metres. Default: 5 mm; any distance where both `from` and `to` are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0.0, "maximum" = 100.0, "x-usual" = [1e-4, 1.0]))]
    pub distance: Option<f64>,
    /// Which points of the mesh's edge. Default: all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Selector>,
    /// What they are sewn to: points of the edge of `mesh`. Two stretches of edge are laid along each other from end to end; otherwise each point is
    /// sewn to the nearest place. Default: all of that edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Selector>,
    /// Another mesh of this layer, or of one that it is simulated `together` with. Default: the same; of a layer with several meshes any of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
}

/// An elastic band in a hem or a waist.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Elastic {
    /// Where it runs: along the mesh's edge between points of this selector, or along all lines between them where none of them is on its edge.
    pub along: Selector,
    /// How long it is by itself, as a share of the cloth that it is sewn to.
    #[serde(default = "gathered")]
    #[schemars(extend("minimum" = 0.05, "maximum" = 1.0, "x-usual" = [0.3, 1.0]))]
    pub length: f64,
    /// How hard it pulls when it is drawn out to twice its length, in newtons.
    #[serde(default = "pull")]
    #[schemars(extend("minimum" = 0.001, "maximum" = 1e6, "x-usual" = [1.0, 1000.0]))]
    pub stiffness: f64,
}

fn gathered() -> f64 {
    0.7
}

fn pull() -> f64 {
    60.0
}

/// Buttons, belt loops, safety pins: points that are held to another garment, or to a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// The points that are held.
    pub from: Selector,
    /// What holds them: a mesh that is simulated with this one, to the nearest place of which they are drawn; or any other mesh of the clip, beside
    /// which they stay where they were drawn. Default: the same mesh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// Which points of that mesh. Default: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Selector>,
    /// How hard a pin pulls, in newtons for a metre.
    #[serde(default = "thread")]
    #[schemars(extend("minimum" = 0.001, "maximum" = 1e7, "x-usual" = [1.0, 1e4]))]
    pub stiffness: f64,
}

fn thread() -> f64 {
    200.0
}

/// All that is sewn to a mesh, with what the cloth says of itself.
#[derive(Clone, Default)]
pub(crate) struct Sewn {
    pub(crate) seams: Vec<Seam>,
    pub(crate) elastics: Vec<Elastic>,
    pub(crate) pins: Vec<Pins>,
    /// How hard a seam of it is, in N/m: the stretch stiffness of the cloth.
    pub(crate) stiffness: f64,
    /// From points of the animation's mesh to those of a finer one that is simulated in its place.
    pub(crate) finer: Option<geometry::Prolongation>,
}

impl Sewn {
    pub(crate) fn is_empty(&self) -> bool {
        self.seams.is_empty() && self.elastics.is_empty() && self.pins.is_empty()
    }
}

/// What does not fit the input.
pub(crate) fn check(seams: &[Seam], elastics: &[Elastic], pins: &[Pins], input: &Target) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    let own = Some(input.mesh);
    let mut chosen = |path: String, selector: Option<&Selector>, mesh: Option<usize>| {
        let Some((selector, mesh)) = selector.zip(mesh) else { return };
        let input = Target { mesh, ..input.clone() };
        match weights(selector, &input) {
            Err(error) => diagnostics.push(Diagnostic::new(path, error.to_string()).unless_elsewhere()),
            Ok(weights) if !weights.iter().any(|w| *w >= CHOSEN) => {
                let message = format!("it chooses no point of `{}`", input.mesh().name);
                diagnostics.push(
                    Diagnostic::new(path, message)
                        .with_help("what is sewn needs a weight of at least one half")
                        .unless_elsewhere(),
                );
            }
            Ok(_) => {}
        }
    };
    let other = |name: &Option<String>| name.as_ref().map_or(own, |name| input.clip.mesh_index(name));
    for (k, Seam { from, to, mesh, .. }) in seams.iter().enumerate() {
        chosen(format!("sew[{k}].from"), from.as_ref(), own);
        chosen(format!("sew[{k}].to"), to.as_ref(), other(mesh));
    }
    for (k, Elastic { along, .. }) in elastics.iter().enumerate() {
        chosen(format!("elastic[{k}].along"), Some(along), own);
    }
    for (k, Pins { from, to, mesh, .. }) in pins.iter().enumerate() {
        chosen(format!("pins[{k}].from"), Some(from), own);
        chosen(format!("pins[{k}].to"), to.as_ref(), other(mesh));
    }
    let named = seams.iter().enumerate().map(|(k, seam)| (format!("sew[{k}].mesh"), &seam.mesh));
    let named = named.chain(pins.iter().enumerate().map(|(k, pins)| (format!("pins[{k}].mesh"), &pins.mesh)));
    for (path, name) in named {
        if let Some(name) = name.as_ref().filter(|name| input.clip.mesh_index(name).is_none()) {
            let known = input.clip.meshes.iter().map(|mesh| mesh.name.as_str());
            diagnostics.push(Diagnostic::unknown(path, "mesh", name, known));
        }
    }
    for (k, Seam { from, to, mesh, .. }) in seams.iter().enumerate() {
        let chosen = |selector: &Selector| {
            let weights = weights(selector, input).unwrap_or_default();
            weights.iter().map(|weight| *weight >= CHOSEN).collect::<Vec<bool>>()
        };
        let ends = from.as_ref().zip(to.as_ref()).filter(|_| other(mesh) == own);
        if ends.is_some_and(|(from, to)| chosen(from) == chosen(to)) {
            let message = "these edges would be sewn to themselves";
            let help = "say with `to` which others they are sewn to, or give a `distance` instead of both";
            let found = Diagnostic::new(format!("sew[{k}]"), message).with_help(help);
            diagnostics.push(found.unless_elsewhere());
        }
    }
    for (k, pins) in pins.iter().enumerate() {
        if other(&pins.mesh) == own && pins.to.is_none() {
            let message = "these points would be pinned to themselves";
            let help = "say which `mesh`, or which points of this one: `to`";
            let found = Diagnostic::new(format!("pins[{k}]"), message).with_help(help);
            diagnostics.push(found.unless_elsewhere());
        }
    }
    diagnostics
}

/// What weighs as much is chosen.
const CHOSEN: f32 = 0.5;
