//! Obstacles: what moves by itself, where its points are, and how it goes from frame to frame.

use std::collections::BTreeMap;
use std::sync::Arc;

use clip::{Clip, LeadIn, Selector};
use contact::{CollisionSurface, Shape, Sides};
use dynamics::{Steps, Way, Window, middle};
use geometry::{Bounds, Mat3, Vec3};
use glam::DQuat;

use shot::{LayerError, Target};

use super::{Contact, Faces, Form, Obstacle};

/// Points of a plane lie this far out, in metres.
pub(super) const PLANE: f64 = 300.0;

/// Where an obstacle's points come from.
#[expect(clippy::large_enum_variant, reason = "there are a handful of them")]
pub(super) enum ObstacleMotion {
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
    pub(super) fn open(
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
    pub(super) fn meshes(&self, clip: &Clip) -> Vec<usize> {
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

    pub(crate) fn shaped(&self, name: &str, contact: &Contact) -> Result<CollisionSurface, contact::Error> {
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
pub(super) struct ObstacleWay {
    pub(super) frames: [Vec<Vec3>; 4],
    pub(super) is_cut: bool,
}

impl ObstacleMotion {
    /// Where the points are in a frame.
    pub(super) fn at(&self, frame: usize, rate: f64) -> Result<Vec<Vec3>, LayerError> {
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
    pub(super) fn way(&mut self, index: usize, rate: f64) -> Result<ObstacleWay, LayerError> {
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
