//! `[layer.contact]`: what a simulated surface may not pass through. Shared by every layer that simulates one.
//!
//! A layer keeps `contact: Option<Contact>` among its settings and makes a [`Skin`] with it; the driver makes one [`Collider`] of the
//! skins of all that is simulated together, and hands [`Collider::collision`] to the scene in every frame.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clip::{Clip, FilePath, LeadIn, Selector};
use contact::{Attachment, AuditedSurface, BarrierContact, CollisionSurface, Crossing, Shape, Sides, audit};
use dynamics::{DeliveredSurface, Span, Steps, Way, Window, middle};
use geometry::{Bounds, Mat3, Vec3};
use glam::DQuat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use shot::{Diagnostic, FrameResult, LayerError, Target};

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

/// Points of a plane lie this far out, in metres.
const PLANE: f64 = 300.0;

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

/// Where an obstacle's points come from.
#[expect(clippy::large_enum_variant, reason = "there are a handful of them")]
enum ObstacleMotion {
    Mesh {
        clip: Clip,
        mesh: usize,
        /// Whether the shot may go on when its frames have ended: it stands still then.
        is_outlived: bool,
        /// Frames that were read.
        known: BTreeMap<usize, Arc<[Vec3]>>,
    },
    Shape {
        points: Vec<Vec3>,
        centre: Vec3,
        velocity: Vec3,
        spin: Vec3,
        /// What comes before the first frame: it is carried along in it.
        lead_in: Option<LeadIn>,
    },
}

impl Obstacle {
    fn open(
        &self,
        number: usize,
        input: &Target,
        contact: &Contact,
        lead_in: Option<&LeadIn>,
    ) -> Result<Vec<(ObstacleMotion, CollisionSurface)>, LayerError> {
        let mesh = |clip: &Clip, mesh: usize| {
            let (name, rest) = (&clip.meshes[mesh].name, clip.meshes[mesh].rest());
            let surface = CollisionSurface::obstacle(name, rest, clip.meshes[mesh].point_triangles());
            let (clip, known) = (clip.clone(), BTreeMap::new());
            (
                ObstacleMotion::Mesh { clip, mesh, is_outlived: self.file.is_some(), known },
                self.dressed(surface, contact),
            )
        };
        match (&self.mesh, &self.file, self.shape) {
            (Some(_), None, None) => {
                Ok(self.meshes(&input.clip).into_iter().map(|index| mesh(&input.clip, index)).collect())
            }
            (None, Some(file), None) => {
                let mut clip = input.open(file)?;
                if let Some(lead_in) = lead_in {
                    clip = clip.led_in(clip.rest_frame(), lead_in);
                }
                Ok((0..clip.meshes.len()).map(|index| mesh(&clip, index)).collect())
            }
            (None, None, Some(_)) => {
                let surface =
                    self.shaped(&format!("obstacle {}", number + 1), contact).map_err(LayerError::new)?;
                let source = ObstacleMotion::Shape {
                    points: surface.rest_positions.clone(),
                    centre: Vec3::from(self.centre),
                    velocity: Vec3::from(self.velocity),
                    spin: Vec3::from(self.spin.map(f64::to_radians)),
                    lead_in: lead_in.cloned(),
                };
                Ok(vec![(source, surface)])
            }
            _ => Err(LayerError::new("an obstacle is a `mesh`, a `file` or a `shape`, one of the three")),
        }
    }

    /// The meshes of a clip that it names: one, or all with faces that fit.
    fn meshes(&self, clip: &Clip) -> Vec<usize> {
        let Some(name) = &self.mesh else { return Vec::new() };
        // a mesh that is really called so is meant
        if let Some(index) = clip.mesh_index(name) {
            return vec![index];
        }
        let fits = |mesh: &clip::Mesh| Selector::fits(name, &mesh.name) && !mesh.faces.is_empty();
        (0..clip.meshes.len()).filter(|&index| fits(&clip.meshes[index])).collect()
    }

    fn dressed(&self, surface: CollisionSurface, contact: &Contact) -> CollisionSurface {
        let sides = match self.sides {
            Faces::Both => surface.sides,
            Faces::Front => Sides::Front,
        };
        let friction = self.friction.unwrap_or(contact.friction);
        CollisionSurface { thickness: self.thickness, friction, sides, ..surface }
    }

    pub(super) fn shaped(&self, name: &str, contact: &Contact) -> Result<CollisionSurface, contact::Error> {
        let (centre, axis) = (Vec3::from(self.centre), Vec3::from(self.axis));
        let shape = match self.shape.unwrap_or(Form::Sphere) {
            Form::Plane => return Ok(self.dressed(contact::plane(name, centre, axis, PLANE)?, contact)),
            Form::Sphere => Shape::Sphere { radius: self.radius },
            Form::Capsule => Shape::Capsule { radius: self.radius, half_length: self.half_length },
            Form::Box => Shape::Box { half_size: Vec3::from(self.half_size) },
        };
        let size = match shape {
            Shape::Box { half_size } => half_size.max_element(),
            _ => self.radius,
        };
        let mut surface = shape.surface(name, size / 6.0)?;
        let turn = DQuat::from_rotation_arc(Vec3::Y, axis.normalize_or(Vec3::Y));
        for point in &mut surface.rest_positions {
            *point = centre + turn * *point;
        }
        Ok(self.dressed(surface, contact))
    }
}

/// An obstacle that departs from its motion by more than this many times its own size within a frame, and faster than this many m/s,
/// was cut to another place, not moved.
const TELEPORT: (f64, f64) = (4.0, 150.0);

/// How an obstacle goes from one frame to the next: the frame before, the two, and the one after.
struct ObstacleWay {
    frames: [Vec<Vec3>; 4],
    is_cut: bool,
}

impl ObstacleMotion {
    /// Where the points are in a frame.
    fn at(&self, frame: usize, rate: f64) -> Result<Vec<Vec3>, LayerError> {
        match self {
            Self::Mesh { clip, mesh, known, .. } => {
                // after its last frame an obstacle stays where it is
                let frame = match clip.has_frame(frame) {
                    true => frame,
                    false => clip.frame_count().saturating_sub(1),
                };
                if let Some(known) = known.get(&frame) {
                    return Ok(known.to_vec());
                }
                let points = clip.checked_frame(frame)?.points.swap_remove(*mesh);
                Ok(points.iter().map(|p| Vec3::from(p.map(f64::from))).collect())
            }
            Self::Shape { .. } => self.shape_at(frame as f64, rate),
        }
    }

    fn shape_at(&self, frame: f64, rate: f64) -> Result<Vec<Vec3>, LayerError> {
        let Self::Shape { points, centre, velocity, spin, lead_in } = self else { return Ok(Vec::new()) };
        let (mut time, mut offset) = (frame / rate, Vec3::ZERO);
        if let Some(lead_in) = lead_in {
            let begun = time - lead_in.count() as f64 / rate;
            // before the first frame it stays as it is there, and moves along with everything
            (time, offset) = (begun.max(0.0), begun.min(0.0) * lead_in.velocity()?);
        }
        let turn = DQuat::from_scaled_axis(*spin * time);
        let middle = *centre + *velocity * time + offset;
        Ok(points.iter().map(|p| middle + turn * (*p - *centre)).collect())
    }

    /// From frame `index − 1` to frame `index`.
    fn way(&mut self, index: usize, rate: f64) -> Result<ObstacleWay, LayerError> {
        let Self::Mesh { clip, .. } = self else {
            let at = |offset: f64| self.shape_at(index as f64 + offset, rate);
            let frames = [at(-2.0)?, at(-1.0)?, at(0.0)?, at(1.0)?];
            return Ok(ObstacleWay { frames, is_cut: false });
        };
        let (clip, cuts) = (clip.clone(), clip.cuts.clone());
        if !clip.has_frame(index) {
            let last = self.at(index, rate)?;
            return Ok(ObstacleWay { frames: [0; 4].map(|_| last.clone()), is_cut: false });
        }
        let mut frames: [Option<Arc<[Vec3]>>; 7] = Default::default();
        for (offset, frame) in frames.iter_mut().enumerate() {
            if let Some(at) = (index + offset).checked_sub(3).filter(|at| clip.has_frame(*at)) {
                *frame = Some(self.at(at, rate)?.into());
            }
        }
        let mut stands_still_then = false;
        if let Self::Mesh { known, is_outlived, .. } = self {
            stands_still_then = *is_outlived && !clip.has_frame(index + 1);
            known.retain(|frame, _| *frame + 3 >= index);
            // those before the first frame are not there
            let read = frames.iter().enumerate().filter_map(|(k, frame)| {
                let frame = frame.clone()?;
                Some((index + k - 3, frame))
            });
            known.extend(read);
        }
        let mut steps = Steps::between(|offset| Some(middle(frames[(offset + 3) as usize].as_deref()?)));
        cuts.iter().for_each(|cut| steps.mark(*cut as isize - index as isize));
        let [_, a, b, c, d, ..] = frames;
        let window = Window { index, lead_in: 0, frame_rate_hz: rate, frames: [a, b, c, d], steps };
        let size = Bounds::of(window.here().iter().copied()).diagonal();
        let limit = (TELEPORT.0 * size).max(TELEPORT.1 / rate);
        let Way { mut frames, carry } = window.way(limit, |_, _| Mat3::IDENTITY);
        if let Some(carry) = carry {
            // it comes from where the motion behind the cut leads back to, in its new pose
            let back = carry.velocities[1] / rate;
            let to = frames[2].clone();
            frames[0] = to.iter().map(|p| *p - 2.0 * back).collect();
            frames[1] = to.iter().map(|p| *p - back).collect();
        }
        if stands_still_then {
            frames[3] = frames[2].clone();
        }
        Ok(ObstacleWay { frames, is_cut: carry.is_some() })
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

/// The piece of every point of a surface.
fn piece_of_points(pieces: &[CollisionSurface], order: &[u32]) -> Vec<u32> {
    let numbers = pieces.iter().zip(0..).flat_map(|(piece, number)| vec![number; piece.rest_positions.len()]);
    let count = order.iter().map(|&p| p as usize + 1).max().unwrap_or(0);
    let mut found = vec![u32::MAX; count];
    order.iter().zip(numbers).for_each(|(&p, number)| found[p as usize] = number);
    found
}

/// What the members of a scene meet beside each other, with its number among what one of them names: each thing once, and each mesh by its own name.
fn obstacles_of<'a>(skins: &'a [(Skin, Target)], simulated: &[usize]) -> Vec<(usize, &'a Contact, Obstacle)> {
    let mut found: Vec<(usize, &Contact, Obstacle)> = Vec::new();
    // what is named has its own friction and thickness; what only fits a pattern comes after it
    for is_pattern in [false, true] {
        for (skin, input) in skins {
            for (number, obstacle) in skin.contact.named_obstacles().into_iter().enumerate() {
                let is_named =
                    obstacle.mesh.as_ref().is_none_or(|name| input.clip.mesh_index(name).is_some());
                if is_named == is_pattern {
                    continue;
                }
                let meshes = obstacle.meshes(&input.clip);
                let own = meshes.iter().filter(|mesh| !simulated.contains(mesh)).map(|&mesh| Obstacle {
                    mesh: Some(input.clip.meshes[mesh].name.clone()),
                    ..obstacle.clone()
                });
                let own: Vec<Obstacle> = if obstacle.mesh.is_some() { own.collect() } else { vec![obstacle] };
                for one in own {
                    let is_there = |(_, _, other): &(usize, &Contact, Obstacle)| match is_pattern {
                        true => other.mesh == one.mesh,
                        false => *other == one,
                    };
                    if !found.iter().any(is_there) {
                        found.push((number, &skin.contact, one));
                    }
                }
            }
        }
    }
    found
}

/// Surfaces among each other and among obstacles, frame by frame.
pub struct Collider {
    /// To be handed to [`dynamics::Stepper::advance_with_contact`].
    pub collision: BarrierContact,
    sources: Vec<ObstacleMotion>,
    /// Of the pieces, then of the obstacles.
    names: Vec<String>,
    pieces: usize,
    /// Names and corners of the surfaces as they are delivered.
    surfaces: Vec<(String, Vec<[u32; 3]>)>,
    /// Of each surface whose pieces may cross themselves, as the artist has it, the piece of every point.
    free_pieces: Vec<Option<Vec<u32>>>,
    /// Which surface, and which of its points, each attached point is.
    order: Vec<(usize, usize)>,
    /// Which point of the body each attached point is, where it is one.
    attached: Vec<Option<u32>>,
    /// Points of delivered surfaces that are sewn to each other.
    sewn: BTreeSet<[(usize, usize); 2]>,
    triangles: Vec<Vec<[u32; 3]>>,
    rate: f64,
    /// How many frames come before the first one.
    lead_in: usize,
    /// The fastest point of an obstacle between the last two frames, in m/s.
    fastest: f64,
}

impl Collider {
    /// Contact of what is simulated together, each with its skin, its input and the number of its first point in the body, and with the
    /// obstacles that any of them names. The frames of the inputs begin with the lead-in, where there is one.
    pub(crate) fn new(
        skins: Vec<(Skin, Target)>,
        first_point: impl Fn(usize) -> usize,
        lead_in: Option<&LeadIn>,
    ) -> Result<Self, LayerError> {
        let rate = skins.first().map_or(24.0, |(_, input)| input.clip.frame_rate_hz);
        let own = |(skin, input): &(Skin, Target)| std::iter::once(input.mesh).chain(skin.carried.clone());
        let simulated: Vec<usize> = skins.iter().flat_map(own).collect();
        let (mut sources, mut obstacles) = (Vec::new(), Vec::new());
        let (mut pieces, mut surfaces, mut attached) = (Vec::new(), Vec::new(), Vec::new());
        let (mut order, mut free_pieces) = (Vec::new(), Vec::new());
        for (number, contact, obstacle) in obstacles_of(&skins, &simulated) {
            for (source, surface) in obstacle.open(number, &skins[0].1, contact, lead_in)? {
                sources.push(source);
                obstacles.push(surface);
            }
        }
        for (number, (skin, input)) in skins.into_iter().enumerate() {
            surfaces.push((input.mesh().name.clone(), skin.triangles));
            order.extend(skin.order.iter().map(|&p| (number, p as usize)));
            free_pieces.push((!skin.contact.with_itself).then(|| piece_of_points(&skin.pieces, &skin.order)));
            pieces.extend(skin.pieces);
            let first = first_point(number) as u32;
            let of = |p: usize| skin.attachment.parts(p).iter().map(|&(q, w)| (q + first, w)).collect();
            attached.extend((0..skin.attachment.len()).map(of).collect::<Vec<Vec<(u32, f64)>>>());
        }
        let mut collider = Self {
            names: pieces.iter().chain(&obstacles).map(|surface| surface.name.clone()).collect(),
            pieces: pieces.len(),
            triangles: obstacles.iter().map(|surface| surface.triangles.clone()).collect(),
            surfaces,
            free_pieces,
            order,
            attached: attached.iter().map(|parts| (parts.len() == 1).then(|| parts[0].0)).collect(),
            sewn: BTreeSet::new(),
            collision: BarrierContact::new(pieces, Attachment::embedded(attached), obstacles)
                .map_err(LayerError::new)?,
            sources,
            rate,
            lead_in: lead_in.map_or(0, LeadIn::count),
            fastest: 0.0,
        };
        collider.place(0.0, Vec3::ZERO)?;
        collider.hold(0.0, 1.0, Vec3::ZERO)?;
        Ok(collider)
    }

    /// Obstacles go from frame `index − 1` to frame `index`, while what is simulated moves along at `drift`, in m/s.
    pub fn go_to(&mut self, index: usize, drift: Vec3) -> Result<(), LayerError> {
        let (mut positions, mut velocities) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        let mut cuts = Vec::new();
        for source in &mut self.sources {
            let way = source.way(index, self.rate)?;
            cuts.push(way.is_cut);
            let span = Span::through(0.0, self.rate, way.frames);
            for (all, own) in [(&mut positions, span.positions), (&mut velocities, span.velocities)] {
                all.iter_mut().zip(own).for_each(|(all, own)| all.extend(own));
            }
        }
        let (start, duration) = ((index as f64 - 1.0 - self.lead_in as f64) / self.rate, 1.0 / self.rate);
        let ways =
            positions[0].iter().zip(&positions[1]).map(|(a, b): (&Vec3, &Vec3)| a.distance_squared(*b));
        self.fastest = self.rate * ways.fold(0.0, f64::max).sqrt();
        let span = Span { start, duration, positions, velocities };
        self.collision.follow(span, &cuts).map_err(LayerError::new)?;
        self.collision.drift_along(drift);
        Ok(())
    }

    /// The fastest point of an obstacle on the way to the frame gone to, in m/s.
    pub(crate) fn fastest_obstacle(&self) -> f64 {
        self.fastest
    }

    /// Before the first frame: obstacles stay as they are there from `start` on, and move along at this velocity, in m/s.
    pub fn hold(&mut self, start: f64, duration: f64, drift: Vec3) -> Result<(), LayerError> {
        let places = self.places(0)?;
        let at = |time: f64| places.iter().map(|p| *p + time * drift).collect::<Vec<_>>();
        let positions = [at(start), at(start + duration)];
        let velocities = [0, 1].map(|_| vec![drift; places.len()]);
        let span = Span { start, duration, positions, velocities };
        self.collision.follow(span, &[]).map_err(LayerError::new)?;
        self.collision.drift_along(drift);
        Ok(())
    }

    /// Before the first frame: obstacles are at once where they are at `time`.
    pub fn place(&mut self, time: f64, drift: Vec3) -> Result<(), LayerError> {
        let places: Vec<Vec3> = self.places(0)?.iter().map(|p| *p + time * drift).collect();
        self.collision.place_obstacles(&places).map_err(LayerError::new)
    }

    /// Lets points that follow exactly and are inside an obstacle in these frames pass through it. Each frame with where the body's
    /// points are.
    pub(crate) fn exempt_pinned(&mut self, frames: &[(usize, Vec<Vec3>)]) -> Result<(), LayerError> {
        for (frame, x) in frames {
            let places = self.places(*frame)?;
            self.collision.exempt_pinned(x, &places).map_err(LayerError::new)?;
        }
        Ok(())
    }

    /// Lets points of the body that are sewn to each other touch.
    pub(crate) fn exempt_sewn(&mut self, pairs: &[(u32, u32)]) {
        if pairs.is_empty() {
            return;
        }
        let attached = self.attached.iter().enumerate();
        let number: BTreeMap<u32, usize> = attached.filter_map(|(i, point)| Some(((*point)?, i))).collect();
        let found = pairs.iter().filter_map(|(a, b)| Some([*number.get(a)?, *number.get(b)?]));
        let found: Vec<[usize; 2]> = found.collect();
        self.collision.exempt_sewn(found.iter().map(|&[a, b]| (a as u32, b as u32)));
        let both = |[a, b]: [usize; 2]| [[self.order[a], self.order[b]], [self.order[b], self.order[a]]];
        self.sewn = found.into_iter().flat_map(both).collect();
    }

    /// Whether a crossing of delivered surfaces is at a seam, where they touch.
    fn is_sewn(&self, crossing: &Crossing) -> bool {
        let corners = |(surface, triangle): (u32, u32)| {
            let surface = surface as usize;
            let triangles = self.surfaces.get(surface).map(|(_, triangles)| triangles[triangle as usize]);
            triangles.into_iter().flatten().map(move |p| (surface, p as usize))
        };
        !self.sewn.is_empty()
            && corners(crossing.first).any(|a| corners(crossing.second).any(|b| self.sewn.contains(&[a, b])))
    }

    /// A sentence for each obstacle that pinned points pass through.
    pub(crate) fn exempted(&self) -> Vec<String> {
        let mut counts = BTreeMap::<(usize, u32), usize>::new();
        let mesh = self.collision.mesh();
        for (point, obstacle) in self.collision.exemptions().iter() {
            *counts.entry((mesh.surface_of(point), obstacle)).or_default() += 1;
        }
        let sentence = |((own, obstacle), count): ((usize, u32), usize)| {
            let (own, obstacle) = (&self.names[own], &self.names[obstacle as usize]);
            format!(
                "{count} points of `{own}` that follow exactly begin inside `{obstacle}`: they may pass through it"
            )
        };
        counts.into_iter().map(sentence).collect()
    }

    /// Whether a crossing of delivered surfaces is one that pinned points are excused for.
    fn is_excused(&self, crossing: &Crossing) -> bool {
        let exemptions = self.collision.exemptions();
        if exemptions.is_empty() {
            return false;
        }
        let exempt = |own: (u32, u32), other: (u32, u32)| {
            let (Some((_, triangles)), Some(obstacle)) =
                (self.surfaces.get(own.0 as usize), (other.0 as usize).checked_sub(self.surfaces.len()))
            else {
                return false;
            };
            let obstacle = (self.pieces + obstacle) as u32;
            let corners = triangles[own.1 as usize];
            exemptions.iter().any(|(point, from)| {
                from == obstacle
                    && self.order.get(point as usize).is_some_and(|&(surface, p)| {
                        surface == own.0 as usize && corners.contains(&(p as u32))
                    })
            })
        };
        exempt(crossing.first, crossing.second) || exempt(crossing.second, crossing.first)
    }

    /// Whether a crossing is of a piece with itself, which the artist lets it have.
    fn may_cross(&self, crossing: &Crossing) -> bool {
        let ((surface, a), (other, b)) = (crossing.first, crossing.second);
        let Some(Some(pieces)) = self.free_pieces.get(surface as usize).filter(|_| surface == other) else {
            return false;
        };
        let piece = |triangle: u32| {
            let corners = self.surfaces[surface as usize].1[triangle as usize];
            pieces.get(corners[0] as usize)
        };
        piece(a) == piece(b)
    }

    fn places(&self, frame: usize) -> Result<Vec<Vec3>, LayerError> {
        let mut all = Vec::new();
        for source in &self.sources {
            all.extend(source.at(frame, self.rate)?);
        }
        Ok(all)
    }

    /// Takes back as much of what was added to the simulated surfaces (detail, rigid pieces) as would cross something. How many points
    /// do not get where they were to be.
    pub(crate) fn limit_delivered(
        &mut self,
        x: &[Vec3],
        delivered: &mut [DeliveredSurface],
    ) -> Result<usize, LayerError> {
        let wanted = self.order.iter().map(|&(surface, p)| delivered[surface].positions[p]);
        let mut wanted: Vec<Vec3> = wanted.collect();
        let exact: Vec<bool> = self.order.iter().map(|&(surface, p)| delivered[surface].exact[p]).collect();
        let held = self.collision.limit_delivered(x, &mut wanted, &exact).map_err(LayerError::new)?;
        for (&(surface, p), place) in self.order.iter().zip(wanted) {
            delivered[surface].positions[p] = place;
        }
        Ok(held)
    }

    /// Adds what went on to a frame's result, and judges the frame as it is stored: points of every surface and which of them follow
    /// exactly; obstacles are where the animation has them.
    pub(crate) fn report(
        &self,
        index: usize,
        delivered: &[(&[[f32; 3]], &[bool])],
        result: &mut FrameResult,
    ) -> Result<(), LayerError> {
        let report = self.collision.report();
        let mut obstacles: Vec<Vec<[f32; 3]>> = Vec::new();
        for source in &self.sources {
            obstacles.push(source.at(index, self.rate)?.iter().map(|p| p.as_vec3().to_array()).collect());
        }
        let mut audited = Vec::new();
        for ((name, triangles), (points, _)) in self.surfaces.iter().zip(delivered) {
            audited.push(AuditedSurface { name, points, triangles, is_obstacle: false });
        }
        for (k, points) in obstacles.iter().enumerate() {
            let (name, triangles) = (&self.names[self.pieces + k], &self.triangles[k]);
            audited.push(AuditedSurface { name, points, triangles, is_obstacle: true });
        }
        let crossings = audit(&audited).map_err(LayerError::new)?;
        // what the artist put there himself is no fault of the simulation
        let is_exact = |(surface, triangle): (u32, u32)| {
            let Some((_, exact)) = delivered.get(surface as usize) else { return true };
            let corners = self.surfaces[surface as usize].1[triangle as usize];
            corners.iter().all(|&p| exact.get(p as usize) == Some(&true))
        };
        let (followed, crossings): (Vec<_>, Vec<_>) = crossings
            .into_iter()
            .partition(|c| is_exact(c.first) && is_exact(c.second) || self.is_excused(c));
        let (sewn, crossings): (Vec<_>, Vec<_>) = crossings.into_iter().partition(|c| self.is_sewn(c));
        if !sewn.is_empty() {
            result.figures.add("intersections/at seams", "", sewn.len() as f64);
        }
        let simulated = |surface: u32| (surface as usize) < delivered.len();
        let with_itself = crossings.iter().filter(|c| c.first.0 == c.second.0).count();
        let each_other = crossings
            .iter()
            .filter(|c| c.first.0 != c.second.0 && simulated(c.first.0) && simulated(c.second.0))
            .count();
        let with_obstacles = crossings.len() - with_itself - each_other;
        result.figures.add("intersections/itself", "", with_itself as f64);
        result.figures.add("intersections/obstacles", "", with_obstacles as f64);
        if delivered.len() > 1 {
            result.figures.add("intersections/each other", "", each_other as f64);
        }
        if !followed.is_empty() {
            result.figures.add("intersections/followed exactly", "", followed.len() as f64);
        }
        result.figures.add("contact/pairs", "", report.contacts as f64);
        let prevented: Vec<&Crossing> = crossings.iter().filter(|c| !self.may_cross(c)).collect();
        if let Some(crossing) = prevented.first() {
            let [a, b] = [crossing.first, crossing.second];
            result.warnings.push(format!(
                "{} pairs of triangles cross, the first: {} of `{}` and {} of `{}`",
                prevented.len(),
                a.1,
                audited[a.0 as usize].name,
                b.1,
                audited[b.0 as usize].name,
            ));
        }
        if let Some((obstacle, point)) = report.lagging {
            let [x, y, z] = report.place.to_array();
            result.warnings.push(format!(
                "no room: point {point} of `{}` waits {:.1} mm behind its animation near ({x:.3}, {y:.3}, {z:.3})",
                self.names[obstacle],
                1e3 * report.lag,
            ));
        }
        if report.teleported {
            result.warnings.push("an obstacle jumps here: it was taken to its new place at once".into());
        }
        if report.crossings + report.inside > 0 {
            result.warnings.push(format!(
                "untangling {} crossings, {} points inside obstacles",
                report.crossings, report.inside
            ));
        }
        Ok(())
    }
}
