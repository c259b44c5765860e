//! `[layer.contact]`: what a simulated surface may not pass through. Shared by every layer that simulates one.
//!
//! A layer keeps `contact: Option<Contact>` among its settings and makes a [`Skin`] with it; the driver makes one [`Collider`] of the
//! skins of all that is simulated together, and hands [`Collider::collision`] to the scene in every frame.

mod collider;
mod extent;
mod obstacle;

use clip::{FilePath, Selector};
use contact::{Attachment, CollisionSurface};
use geometry::{Bounds, Vec3};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use shot::{Diagnostic, Target};

pub use collider::Collider;
use extent::Verdict;

/// The thickest that a skin may be, as a share of its mesh's size.
const MAX_THICKNESS: f64 = 0.1;

/// What the simulated surface may not pass through: itself, other meshes, simple shapes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Contact {
    /// How far two layers of the surface stay apart, in metres; half of it is kept from obstacles.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0, "x-usual" = [0.0, 0.05]))]
    pub thickness: f64,
    /// Coulomb's coefficient: 0 slides like ice, 0.4 cloth on skin, 1 holds on a slope of 45°.
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 2.0]))]
    pub friction: f64,
    /// Whether the surface is kept from passing through itself.
    #[serde(rename = "self")]
    pub with_itself: bool,
    /// What else it may not pass through. They may move, and cross themselves and each other. Default: every other mesh of the clip that the
    /// layer, and those together with it, do not move; `[]` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacles: Option<Vec<Obstacle>>,
}

impl Default for Contact {
    fn default() -> Self {
        Self { thickness: 2e-3, friction: 0.4, with_itself: true, obstacles: None }
    }
}

/// Something that moves by itself: a `mesh` of the input, all meshes of a `file`, or a simple `shape`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Obstacle {
    /// A mesh of the layer's input, by name; with `*` for anything, all that fit and that are not simulated here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mesh: Option<String>,
    /// A file with an animation, frame by frame beside the input's; after its last frame it stands still.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FilePath>,
    /// A simple shape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Form>,
    /// Where a shape's middle is at the first frame, in metres; of a plane, any point.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub centre: [f64; 3],
    /// Of spheres and capsules, in metres.
    #[schemars(extend("minimum" = 1e-6, "maximum" = 1e6))]
    pub radius: f64,
    /// From the middle of a capsule to either end of its axis, in metres.
    #[schemars(extend("minimum" = 1e-6, "maximum" = 1e6))]
    pub half_length: f64,
    /// From the middle of a box to its faces, in metres.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1e6))]
    pub half_size: [f64; 3],
    /// The axis of a capsule, or where a plane faces.
    #[schemars(extend("minimum" = -1e6, "maximum" = 1e6))]
    pub axis: [f64; 3],
    /// How a shape moves, in m/s.
    #[schemars(extend("minimum" = -1e4, "maximum" = 1e4, "x-usual" = [-100.0, 100.0]))]
    pub velocity: [f64; 3],
    /// How it turns about its centre: axis times degrees per second.
    #[schemars(extend("minimum" = -1e5, "maximum" = 1e5, "x-usual" = [-3600.0, 3600.0]))]
    pub spin: [f64; 3],
    /// Coulomb's coefficient; with the surface's own the geometric mean counts. Default: the surface's.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0.0, "maximum" = 100.0, "x-usual" = [0.0, 2.0]))]
    pub friction: Option<f64>,
    /// How thick a skin it has, in metres; half of it is kept from the surface.
    #[schemars(extend("minimum" = 0.0, "maximum" = 1.0, "x-usual" = [0.0, 0.05]))]
    pub thickness: f64,
    /// Whether it holds back from both sides, or, closed and facing outwards, leads out what begins inside.
    pub sides: Faces,
}

/// A simple shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A ball.
    Sphere,
    /// A rod with round ends.
    Capsule,
    /// A box.
    Box,
    /// The ground, or a wall, without end.
    Plane,
}

/// Which sides of an obstacle hold things back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Faces {
    /// Nothing passes, from either side.
    #[default]
    Both,
    /// What begins inside is led out.
    Front,
}

impl Default for Obstacle {
    fn default() -> Self {
        Self {
            mesh: None,
            file: None,
            shape: None,
            centre: [0.0; 3],
            radius: 0.5,
            half_length: 0.5,
            half_size: [0.5; 3],
            axis: [0.0, 1.0, 0.0],
            velocity: [0.0; 3],
            spin: [0.0; 3],
            friction: None,
            thickness: 0.0,
            sides: Faces::Both,
        }
    }
}

impl Contact {
    /// Contact with nothing else, for what was not asked to have any.
    pub(crate) fn without_obstacles() -> Self {
        Self { obstacles: Some(Vec::new()), ..Self::default() }
    }

    /// The obstacles, with all meshes where none are named.
    pub(crate) fn named_obstacles(&self) -> Vec<Obstacle> {
        let all = || vec![Obstacle { mesh: Some("*".into()), ..Obstacle::default() }];
        self.obstacles.clone().unwrap_or_else(all)
    }

    /// What does not fit the input; `path` is where the table stands among the layer's settings.
    pub fn check(&self, path: &str, input: &Target) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        let size = Bounds::of(input.mesh().rest()).diagonal();
        if self.thickness > MAX_THICKNESS * size {
            let name = &input.mesh().name;
            let message = format!(
                "`{name}` is {size:.3} m large: a skin as thick as {} m leaves no room in it",
                self.thickness
            );
            let help = format!("at most a tenth of its size: {:.4}", MAX_THICKNESS * size);
            diagnostics.push(Diagnostic::new(format!("{path}.thickness"), message).with_help(help));
        }
        for (k, obstacle) in self.obstacles.iter().flatten().enumerate() {
            let here = format!("{path}.obstacles[{k}]");
            let said = [obstacle.mesh.is_some(), obstacle.file.is_some(), obstacle.shape.is_some()];
            if said.iter().filter(|said| **said).count() != 1 {
                let message = "an obstacle is a `mesh`, a `file` or a `shape`, one of the three";
                diagnostics.push(Diagnostic::new(here, message));
                continue;
            }
            if let Some(name) = &obstacle.mesh {
                let own = input.clip.mesh_index(name) == Some(input.mesh);
                let fits = |mesh: &clip::Mesh| Selector::fits(name, &mesh.name);
                if input.clip.mesh_index(name).is_none() && name != "*" && !input.clip.meshes.iter().any(fits)
                {
                    let known = input.clip.meshes.iter().map(|mesh| mesh.name.as_str());
                    diagnostics.push(Diagnostic::unknown(format!("{here}.mesh"), "mesh", name, known));
                } else if own {
                    let message = format!("`{name}` is the mesh that is simulated");
                    let help = "`self = true` keeps it from passing through itself";
                    diagnostics.push(Diagnostic::new(format!("{here}.mesh"), message).with_help(help));
                }
            }
            if let Some(file) = &obstacle.file
                && let Err(error) = input.open(file)
            {
                diagnostics.push(Diagnostic::new(format!("{here}.file"), error.to_string()));
            }
            if obstacle.shape.is_some()
                && let Err(error) = obstacle.shaped("shape", self)
            {
                diagnostics.push(Diagnostic::new(here, error.to_string()));
            }
        }
        if diagnostics.is_empty() {
            let found = self.out_of_range(path, input).into_iter();
            diagnostics
                .extend(found.filter(|(verdict, _)| *verdict == Verdict::Refused).map(|(_, told)| told));
        }
        diagnostics
    }

    /// The skin of a mesh whose points are the body's own; `known` ones follow the animation.
    pub(crate) fn skin(
        &self,
        name: &str,
        rest: Vec<Vec3>,
        triangles: Vec<[u32; 3]>,
        known: Vec<bool>,
    ) -> Skin {
        let attachment = Attachment::identity(rest.len());
        let pieces = vec![self.surface(name, rest, triangles.clone(), known)];
        let order = (0..attachment.len() as u32).collect();
        Skin { contact: self.clone(), pieces, attachment, triangles, order, carried: Vec::new() }
    }

    /// The surface of a mesh as it is simulated: `known` points follow the animation.
    pub fn surface(
        &self,
        name: &str,
        rest: Vec<Vec3>,
        triangles: Vec<[u32; 3]>,
        known: Vec<bool>,
    ) -> CollisionSurface {
        CollisionSurface {
            known,
            thickness: self.thickness,
            friction: self.friction,
            self_contact: self.with_itself,
            ..CollisionSurface::free(name, rest, triangles)
        }
    }
}

/// The surface of a simulated mesh as others meet it.
pub(crate) struct Skin {
    /// Thickness, friction, obstacles.
    pub(crate) contact: Contact,
    /// What may touch: the surface, or the pieces it falls into.
    pub(crate) pieces: Vec<CollisionSurface>,
    /// How their points, one piece after the other, hang on the body's.
    pub(crate) attachment: Attachment,
    /// Corners of the surface as it is delivered.
    pub(crate) triangles: Vec<[u32; 3]>,
    /// Which point of that surface each attached point is.
    pub(crate) order: Vec<u32>,
    /// Other meshes that the same body moves: they neither touch nor are touched.
    pub(crate) carried: Vec<usize>,
}
