//! A clip's figure seen by physics as it is, nothing moved: numbers for `info`, arrows for `render`.

use std::sync::Arc;

use clip::{Clip, Faces, Frame, Frames, Material, Mesh};
use geometry::Vec3;
use motion::{Build, Examination};
use serde::Serialize;
use shot::LayerError;

use super::explained;
use super::figure::Figure;
use super::held::Held;

/// In m/s².
const GRAVITY: Vec3 = Vec3::new(0.0, -9.81, 0.0);
/// Friction within which forces are looked for.
const FRICTION: f64 = 0.8;
/// Metres of arrow for a body weight.
const ARROW: f64 = 0.8;
/// Metres that a friction cone is high.
const CONE: f64 = 0.14;
/// Corners of an arrow's shaft.
const SIDES: usize = 8;

/// What contacts, masses and accelerations of a clip's figure come to. Nothing is repaired; lengths are in metres of the figure.
pub struct Physics {
    figure: Figure,
    found: Examination,
}

/// What `info --physics` tells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhysicsSummary {
    /// In kg, by tables.
    pub mass_kg: f64,
    /// Joints that move against their parents, held where they are in the mean: which, by how many mm, and when.
    pub held: Vec<HeldJoint>,
    /// Height of the ground, in m.
    pub ground_m: f64,
    /// Points that rest: which, from when to when, and how far they travel meanwhile.
    pub contacts: Vec<RestingPoint>,
    /// The farthest that a point travels while it should rest, in mm.
    pub skate_mm: f64,
    /// How deep the deepest point is below the ground, in mm.
    pub penetration_mm: f64,
    /// Its frame.
    pub penetration_frame: usize,
    /// The force, or the moment over 1 m, that nothing gives, in body weights: the largest, and the root mean square.
    pub root_residual_bw: f64,
    /// The same, root mean square over frames.
    pub root_residual_rms_bw: f64,
    /// The frame of the largest.
    pub root_residual_frame: usize,
    /// The coefficient of friction that the ground force asks for, at most.
    pub friction_needed: f64,
    /// Its frame.
    pub friction_frame: usize,
}

/// A joint that moves against its parent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldJoint {
    /// What it is called.
    pub joint: String,
    /// The farthest that it is from its mean, in mm.
    pub farthest_mm: f64,
    /// In this frame.
    pub frame: usize,
}

/// A point of a sole that rests for a while.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RestingPoint {
    /// "LeftFoot heel".
    pub point: String,
    /// The first frame.
    pub from: usize,
    /// The frame after the last.
    pub to: usize,
}

/// What the ground gives a foot at a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FootForce {
    /// In N.
    pub force: Vec3,
    /// Where it acts, the foot's centre of pressure, in the clip's metres; none where the foot bears less than a fiftieth of the weight.
    pub place: Option<Vec3>,
}

impl Physics {
    /// Of the figure with the most joints.
    pub fn of(clip: &Clip) -> Result<Self, LayerError> {
        let figure = Figure::of(clip)?;
        let found = Examination::of(&figure.take, &Build::default(), GRAVITY, FRICTION).map_err(explained)?;
        Ok(Self { figure, found })
    }

    /// In numbers.
    pub fn summary(&self) -> PhysicsSummary {
        let (found, first) = (&self.found, self.figure.first);
        let resting = |contact: &motion::Contact| RestingPoint {
            point: found.soles[contact.sole].name.clone(),
            from: contact.frames.start + first,
            to: contact.frames.end + first,
        };
        let held = |held: &Held| HeldJoint {
            joint: held.name.clone(),
            farthest_mm: 1e3 * held.farthest * self.figure.unit,
            frame: held.frame,
        };
        let (worst, worst_frame) = found.worst_residual();
        let squares: f64 = found.residual.iter().map(|both| both[0].max(both[1]).powi(2)).sum();
        PhysicsSummary {
            mass_kg: found.body.mass(),
            held: self.figure.held.iter().map(held).collect(),
            ground_m: found.ground.point.y,
            contacts: found.contacts.iter().map(resting).collect(),
            skate_mm: 1e3 * found.skate.0,
            penetration_mm: 1e3 * found.penetration.0,
            penetration_frame: found.penetration.1 + first,
            root_residual_bw: worst,
            root_residual_rms_bw: (squares / found.residual.len().max(1) as f64).sqrt(),
            root_residual_frame: worst_frame + first,
            friction_needed: found.friction.0,
            friction_frame: found.friction.1 + first,
        }
    }

    /// The clip with a mesh `forces`: an arrow at each foot's centre of pressure, 0.8 m for a body weight, a ball at the centre of mass
    /// and one at the centre of pressure of both feet; and a mesh `friction cones`, on their tips where the arrows begin: an arrow that leaves
    /// its cone through the side asks for more friction than there is.
    pub fn with_forces(&self, clip: &Clip) -> Clip {
        let first = self.figure.first;
        let frames = 0..clip.frame_count();
        let shapes: Vec<_> = frames.clone().map(|frame| self.shapes(frame)).collect();
        let cones: Vec<_> = frames.clone().map(|frame| self.cones(frame)).collect();
        let mut added = vec![Vec::new(); clip.frame_count()];
        let mut shown = clip.clone();
        for (name, color, points) in
            [("forces", [0.72, 0.07, 0.05, 1.0], shapes), ("friction cones", [0.93, 0.72, 0.25, 1.0], cones)]
        {
            let rest = points.get(first).cloned().unwrap_or_default();
            let mut faces = Faces::default();
            (0..rest.len() / POINTS).for_each(|shape| push_faces(&mut faces, (shape * POINTS) as u32));
            let mut mesh = Mesh::from_faces(name, rest, faces);
            mesh.parts[0].material = Some(shown.materials.len());
            shown.meshes.push(mesh);
            shown.materials.push(Material::plain(name, color));
            added.iter_mut().zip(points).for_each(|(added, points)| added.push(points));
        }
        shown.with_frames(Arc::new(WithForces { frames: clip.frames().clone(), added }))
    }

    /// In kg.
    pub fn mass(&self) -> f64 {
        self.found.body.mass()
    }

    /// What the feet are called: the joints that their soles are on.
    pub fn foot_names(&self) -> Vec<String> {
        let name = |foot: usize| {
            let sole = self.found.soles.iter().find(|sole| sole.foot == foot);
            sole.map(|sole| self.figure.take.bones[sole.joint].name.clone()).unwrap_or_default()
        };
        (0..self.feet()).map(name).collect()
    }

    /// What the ground gives each foot at a frame of the clip; nothing in the poses of calibration before the motion.
    pub fn ground_forces(&self, frame: usize) -> Vec<FootForce> {
        let nothing = FootForce { force: Vec3::ZERO, place: None };
        match frame.checked_sub(self.figure.first).filter(|&at| at < self.found.forces.len()) {
            None => vec![nothing; self.feet()],
            Some(at) => self.foot_forces(at),
        }
    }

    fn foot_forces(&self, at: usize) -> Vec<FootForce> {
        let mut data = motion::Data::new(&self.found.body);
        let take = &self.figure.take;
        data.kinematics(&self.found.body, &self.found.body.coordinates(take.roots[at], &take.rotations[at]));
        let weight = self.mass() * GRAVITY.length();
        let of_foot = |foot: usize| {
            let own = self.found.forces[at].iter().filter(|force| self.found.soles[force.0].foot == foot);
            let (mut total, mut pressed, mut middle) = (Vec3::ZERO, 0.0, Vec3::ZERO);
            for &(sole, force) in own {
                let sole = &self.found.soles[sole];
                total += force;
                pressed += force.y;
                middle += data.point(&self.found.body, sole.joint, sole.point) * force.y;
            }
            let place = (pressed > 0.02 * weight).then(|| middle / pressed / self.figure.unit);
            FootForce { force: total, place }
        };
        (0..self.feet()).map(of_foot).collect()
    }

    fn feet(&self) -> usize {
        self.found.soles.iter().map(|sole| sole.foot + 1).max().unwrap_or(0)
    }

    /// Points of all shapes at a frame of the clip; what there is none of is a single point.
    fn shapes(&self, frame: usize) -> Vec<[f32; 3]> {
        let mut points = Vec::with_capacity((self.feet() + 2) * POINTS);
        let at = frame.saturating_sub(self.figure.first).min(self.found.forces.len() - 1);
        let hidden = self.found.centers[at];
        let weight = self.mass() * GRAVITY.length();
        for FootForce { force, place } in self.foot_forces(at) {
            let (from, way) = match place {
                Some(place) => (place * self.figure.unit, force / weight * ARROW),
                None => (hidden, Vec3::ZERO),
            };
            push_arrow(&mut points, from, way);
        }
        push_ball(&mut points, hidden, 0.035);
        let pressure = self.found.pressures[at];
        push_ball(&mut points, pressure.unwrap_or(hidden), if pressure.is_some() { 0.022 } else { 0.0 });
        self.narrow(&points)
    }

    /// Points of a friction cone for each foot at a frame of the clip; of a foot that bears nothing a single point.
    fn cones(&self, frame: usize) -> Vec<[f32; 3]> {
        let mut points = Vec::with_capacity(self.feet() * POINTS);
        let at = frame.saturating_sub(self.figure.first).min(self.found.forces.len() - 1);
        let normal = self.found.ground.normal;
        for FootForce { place, .. } in self.foot_forces(at) {
            let tip = place.map_or(self.found.centers[at], |place| place * self.figure.unit);
            let high = if place.is_some() { CONE } else { 0.0 };
            let ring = |share: f64| (tip + normal * (share * high), FRICTION * share * high);
            push_rings(&mut points, tip, tip + normal * high, normal, [ring(0.35), ring(0.7), ring(1.0)]);
        }
        self.narrow(&points)
    }

    /// Points in metres of the figure as those of the clip.
    fn narrow(&self, points: &[Vec3]) -> Vec<[f32; 3]> {
        points.iter().map(|p| (*p / self.figure.unit).as_vec3().to_array()).collect()
    }
}

/// Points of a shape: three rings and two ends, for arrows and balls alike.
const POINTS: usize = 3 * SIDES + 2;

fn push_faces(faces: &mut Faces, first: u32) {
    let ring = |k: usize, side: usize| first + (k * SIDES + side % SIDES) as u32;
    let (start, end) = (first + 3 * SIDES as u32, first + 3 * SIDES as u32 + 1);
    for side in 0..SIDES {
        faces.push(&[start, ring(0, side + 1), ring(0, side)]);
        for k in 0..2 {
            faces.push(&[ring(k, side), ring(k, side + 1), ring(k + 1, side + 1), ring(k + 1, side)]);
        }
        faces.push(&[ring(2, side), ring(2, side + 1), end]);
    }
}

/// Rings around a line: how far along it, and how wide; then both ends.
fn push_rings(points: &mut Vec<Vec3>, start: Vec3, end: Vec3, axis: Vec3, rings: [(Vec3, f64); 3]) {
    let (side, front) = axis.any_orthonormal_pair();
    for (middle, radius) in rings {
        points.extend((0..SIDES).map(|k| {
            let angle = std::f64::consts::TAU * k as f64 / SIDES as f64;
            middle + (side * angle.cos() + front * angle.sin()) * radius
        }));
    }
    points.extend([start, end]);
}

fn push_arrow(points: &mut Vec<Vec3>, from: Vec3, way: Vec3) {
    let length = way.length();
    let axis = way.try_normalize().unwrap_or(Vec3::Y);
    let head = (0.3 * length).min(0.09);
    let (neck, thick) = (from + axis * (length - head), (0.06 * length).min(0.012));
    let rings = [(from, thick), (neck, thick), (neck, 2.4 * thick)];
    push_rings(points, from, from + way, axis, rings);
}

fn push_ball(points: &mut Vec<Vec3>, middle: Vec3, radius: f64) {
    let half = radius * std::f64::consts::FRAC_1_SQRT_2;
    let rings = [(middle - Vec3::Y * half, half), (middle, radius), (middle + Vec3::Y * half, half)];
    push_rings(points, middle - Vec3::Y * radius, middle + Vec3::Y * radius, Vec3::Y, rings);
}

/// Frames with some meshes more.
struct WithForces {
    frames: Arc<dyn Frames>,
    /// By frame and mesh.
    added: Vec<Vec<Vec<[f32; 3]>>>,
}

impl Frames for WithForces {
    fn count(&self) -> usize {
        self.frames.count()
    }

    fn read(&self, index: usize) -> clip::Result<Frame> {
        let mut frame = self.frames.read(index)?;
        frame.points.extend(self.added.get(index).cloned().unwrap_or_default());
        Ok(frame)
    }
}
