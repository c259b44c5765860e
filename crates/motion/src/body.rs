//! What never changes about an articulated figure: its joints, how they move, and the masses that hang on them.
//!
//! A figure is given as joints, parents first. Inside, it becomes *links*: a joint that floats freely is a translation
//! along world axes and a ball, welded joints are part of what they are welded to, balls and hinges are themselves.
//!
//! Coordinates q: 3 numbers for a translation (world, m), 4 for a ball (the unit quaternion x, y, z, w of
//! parent-from-joint), 1 for a hinge (rad, from rest). Velocities, one for each degree of freedom: m/s along world axes,
//! the angular velocity of a ball in its own (child) frame, rad/s of a hinge. q ⊕ v is [`Body::integrate`]. These are
//! Pinocchio's `Translation`, `Spherical` and `RevoluteUnaligned`.

use geometry::{Mat3, Quat, Vec3};

use crate::error::Error;
use crate::spatial::Inertia;

/// How a joint moves against its parent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JointKind {
    /// Not at all: its channels never move.
    Welded,
    /// Around one axis, given in the joint's frame at rest.
    Hinge(Vec3),
    /// In any way around its centre.
    Ball,
    /// Anywhere: the root. No torque acts there.
    Free,
}

/// One joint and the part that hangs on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// Index of the parent, smaller than the joint's own; `None` for the root.
    pub parent: Option<usize>,
    /// How it moves.
    pub kind: JointKind,
    /// Its centre in the parent's frame, in metres.
    pub offset: Vec3,
    /// Parent-from-joint rotation at rest: where a weld or a hinge at 0 holds it. Balls do not ask for it.
    pub rest: Quat,
    /// Of the part, in the joint's frame.
    pub inertia: Inertia,
}

/// How a link moves against its parent link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LinkKind {
    Translation,
    Ball,
    /// Axis in the link's frame.
    Hinge(Vec3),
}

impl LinkKind {
    pub(crate) fn dofs(self) -> usize {
        if let LinkKind::Hinge(_) = self { 1 } else { 3 }
    }

    fn coordinates(self) -> usize {
        match self {
            LinkKind::Translation => 3,
            LinkKind::Ball => 4,
            LinkKind::Hinge(_) => 1,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) parent: Option<usize>,
    pub(crate) kind: LinkKind,
    /// Parent-link-from-link at rest.
    pub(crate) rotation: Mat3,
    pub(crate) translation: Vec3,
    /// In the link's frame.
    pub(crate) inertia: Inertia,
    pub(crate) first_dof: usize,
    pub(crate) first_coordinate: usize,
}

/// Where a joint's frame is on a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(crate) link: usize,
    pub(crate) rotation: Quat,
    pub(crate) translation: Vec3,
}

/// An articulated figure.
#[derive(Clone, Debug)]
pub struct Body {
    joints: Vec<Joint>,
    pub(crate) placements: Vec<Placement>,
    pub(crate) links: Vec<Link>,
    /// The link of every degree of freedom.
    pub(crate) link_of_dof: Vec<usize>,
    /// The degree of freedom before each one on the way to the root; `usize::MAX` for the first.
    pub(crate) dof_parent: Vec<usize>,
    coordinate_count: usize,
}

impl Body {
    /// Builds a figure from joints, parents first. The first joint floats freely or is fixed to the world in the way its kind
    /// says; nothing else floats.
    pub fn new(joints: Vec<Joint>) -> Result<Self, Error> {
        let mut body = Self {
            placements: Vec::new(),
            links: Vec::new(),
            link_of_dof: Vec::new(),
            dof_parent: Vec::new(),
            coordinate_count: 0,
            joints: Vec::new(),
        };
        for (index, joint) in joints.iter().enumerate() {
            check(index, joint)?;
            body.hang(joint);
        }
        body.joints = joints;
        // what a degree of freedom moves must weigh something, or forces cannot say how it moves
        let mut below: Vec<Inertia> = body.links.iter().map(|link| link.inertia).collect();
        for index in (0..body.links.len()).rev() {
            if below[index].mass <= 0.0 {
                let joint = body.placements.iter().position(|place| place.link == index).unwrap_or(0);
                return Err(Error::Mass { joint: body.joints[joint].name.clone(), mass: below[index].mass });
            }
            if let Some(parent) = body.links[index].parent {
                let child = below[index];
                below[parent] += child;
            }
        }
        Ok(body)
    }

    /// Adds the links of one joint.
    fn hang(&mut self, joint: &Joint) {
        let above = joint.parent.map(|parent| self.placements[parent]);
        let (parent, rotation, offset) = match above {
            Some(place) => {
                (Some(place.link), place.rotation, place.translation + place.rotation * joint.offset)
            }
            None => (None, Quat::IDENTITY, joint.offset),
        };
        let rest = match joint.kind {
            JointKind::Ball | JointKind::Free => rotation,
            JointKind::Hinge(_) | JointKind::Welded => rotation * joint.rest,
        };
        match (joint.kind, parent) {
            (JointKind::Welded, Some(link)) => {
                let moved = joint.inertia.moved(Mat3::from_quat(rest), offset);
                self.links[link].inertia += moved;
                self.placements.push(Placement { link, rotation: rest, translation: offset });
                return;
            }
            // a root without parent is never welded: `check` has seen to it
            (JointKind::Free | JointKind::Welded, _) => {
                self.push(parent, LinkKind::Translation, Quat::IDENTITY, offset, Inertia::ZERO);
                let translation = self.links.len() - 1;
                self.push(Some(translation), LinkKind::Ball, Quat::IDENTITY, Vec3::ZERO, joint.inertia);
            }
            (JointKind::Ball, _) => self.push(parent, LinkKind::Ball, rest, offset, joint.inertia),
            (JointKind::Hinge(axis), _) => {
                self.push(parent, LinkKind::Hinge(axis.normalize()), rest, offset, joint.inertia);
            }
        }
        let link = self.links.len() - 1;
        self.placements.push(Placement { link, rotation: Quat::IDENTITY, translation: Vec3::ZERO });
    }

    fn push(
        &mut self,
        parent: Option<usize>,
        kind: LinkKind,
        rotation: Quat,
        translation: Vec3,
        inertia: Inertia,
    ) {
        let first_dof = self.link_of_dof.len();
        for k in 0..kind.dofs() {
            let before = match (k, parent) {
                (0, Some(parent)) => self.links[parent].first_dof + self.links[parent].kind.dofs() - 1,
                (0, None) => usize::MAX,
                _ => first_dof + k - 1,
            };
            self.dof_parent.push(before);
            self.link_of_dof.push(self.links.len());
        }
        let first_coordinate = self.coordinate_count;
        self.coordinate_count += kind.coordinates();
        let rotation = Mat3::from_quat(rotation);
        self.links.push(Link { parent, kind, rotation, translation, inertia, first_dof, first_coordinate });
    }

    /// The joints it was built from.
    pub fn joints(&self) -> &[Joint] {
        &self.joints
    }

    /// The index of the joint with this name.
    pub fn joint_index(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|joint| joint.name == name)
    }

    /// Degrees of freedom: the length of velocities, accelerations and generalised forces.
    pub fn dof_count(&self) -> usize {
        self.link_of_dof.len()
    }

    /// The length of q: one more than degrees of freedom for every ball.
    pub fn coordinate_count(&self) -> usize {
        self.coordinate_count
    }

    /// Links, the root's translation included.
    pub fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Degrees of freedom without a torque: 6 for a figure that floats, 0 for one that is fixed to the world.
    pub fn unactuated_count(&self) -> usize {
        if self.links.first().is_some_and(|link| link.kind == LinkKind::Translation) { 6 } else { 0 }
    }

    /// Mass of everything, in kg.
    pub fn mass(&self) -> f64 {
        self.links.iter().map(|link| link.inertia.mass).sum()
    }

    /// Adds a mass at a place in a joint's frame: a shoe, a backpack.
    pub fn add_mass(&mut self, joint: usize, mass: f64, center: Vec3) -> Result<(), Error> {
        if !(mass.is_finite() && mass >= 0.0) {
            return Err(Error::Mass { joint: self.joints[joint].name.clone(), mass });
        }
        let added = Inertia::new(mass, center, Mat3::ZERO);
        self.joints[joint].inertia += added;
        let place = self.placements[joint];
        self.links[place.link].inertia += added.moved(Mat3::from_quat(place.rotation), place.translation);
        Ok(())
    }

    /// The coordinates at which every ball stands unturned and every hinge at rest.
    pub fn neutral(&self) -> Vec<f64> {
        let mut q = vec![0.0; self.coordinate_count];
        for link in &self.links {
            if link.kind == LinkKind::Ball {
                q[link.first_coordinate + 3] = 1.0;
            }
        }
        q
    }

    /// q ⊕ v: where the velocity v leads in a unit of time; a ball turns by exp(v) in its own frame.
    pub fn integrate(&self, q: &[f64], v: &[f64], out: &mut [f64]) {
        for link in &self.links {
            let (c, d) = (link.first_coordinate, link.first_dof);
            match link.kind {
                LinkKind::Translation => (0..3).for_each(|i| out[c + i] = q[c + i] + v[d + i]),
                LinkKind::Hinge(_) => out[c] = q[c] + v[d],
                LinkKind::Ball => {
                    let turn = Quat::from_scaled_axis(Vec3::from_slice(&v[d..]));
                    let turned = (Quat::from_slice(&q[c..]) * turn).normalize();
                    out[c..c + 4].copy_from_slice(&turned.to_array());
                }
            }
        }
    }

    /// q₁ ⊖ q₀: the velocity that leads from q₀ to q₁ in a unit of time; balls go the short way.
    pub fn difference(&self, q0: &[f64], q1: &[f64], out: &mut [f64]) {
        for link in &self.links {
            let (c, d) = (link.first_coordinate, link.first_dof);
            match link.kind {
                LinkKind::Translation => (0..3).for_each(|i| out[d + i] = q1[c + i] - q0[c + i]),
                LinkKind::Hinge(_) => out[d] = q1[c] - q0[c],
                LinkKind::Ball => {
                    let turn = Quat::from_slice(&q0[c..]).conjugate() * Quat::from_slice(&q1[c..]);
                    crate::rotation::log(turn).write_to_slice(&mut out[d..d + 3]);
                }
            }
        }
    }

    /// The coordinates at which joints stand as local (parent-from-joint) rotations say, the root at a place. A hinge takes
    /// the part of the rotation that is around its axis.
    pub fn coordinates(&self, root: Vec3, rotations: &[Quat]) -> Vec<f64> {
        let mut q = self.neutral();
        for (index, joint) in self.joints.iter().enumerate() {
            let place = self.placements[index];
            let link = &self.links[place.link];
            let c = link.first_coordinate;
            match joint.kind {
                JointKind::Welded => {}
                JointKind::Free => {
                    let t = self.links[0].first_coordinate;
                    (root - joint.offset).write_to_slice(&mut q[t..t + 3]);
                    q[c..c + 4].copy_from_slice(&rotations[index].to_array());
                }
                JointKind::Ball => {
                    q[c..c + 4].copy_from_slice(&rotations[index].to_array());
                }
                JointKind::Hinge(axis) => {
                    let turn = joint.rest.conjugate() * rotations[index];
                    let around = Vec3::new(turn.x, turn.y, turn.z).dot(axis.normalize());
                    q[c] = crate::rotation::wrapped(2.0 * around.atan2(turn.w));
                }
            }
        }
        q
    }

    /// The other way: the root's place and local rotations, one for each joint.
    pub fn rotations(&self, q: &[f64]) -> (Vec3, Vec<Quat>) {
        let mut root = self.joints.first().map_or(Vec3::ZERO, |joint| joint.offset);
        let mut rotations = Vec::with_capacity(self.joints.len());
        for (index, joint) in self.joints.iter().enumerate() {
            let c = self.links[self.placements[index].link].first_coordinate;
            rotations.push(match joint.kind {
                JointKind::Welded => joint.rest,
                JointKind::Ball => Quat::from_slice(&q[c..]),
                JointKind::Free => {
                    root += Vec3::from_slice(&q[self.links[0].first_coordinate..]);
                    Quat::from_slice(&q[c..])
                }
                JointKind::Hinge(axis) => joint.rest * Quat::from_axis_angle(axis.normalize(), q[c]),
            });
        }
        (root, rotations)
    }
}

/// A joint by itself.
fn check(index: usize, joint: &Joint) -> Result<(), Error> {
    let name = || joint.name.clone();
    if joint.parent.is_some_and(|parent| parent >= index) {
        return Err(Error::Parent { joint: name() });
    }
    let root = joint.parent.is_none();
    if root != (index == 0)
        || (joint.kind == JointKind::Free) && !root
        || (joint.kind == JointKind::Welded) && root
    {
        return Err(Error::Root { joint: name() });
    }
    if let JointKind::Hinge(axis) = joint.kind
        && !(axis.length() > 0.0 && axis.is_finite())
    {
        return Err(Error::Axis { joint: name() });
    }
    let finite = joint.offset.is_finite() && joint.inertia.first_moment.is_finite();
    if !(joint.inertia.mass >= 0.0 && joint.inertia.mass.is_finite() && finite) {
        return Err(Error::Mass { joint: name(), mass: joint.inertia.mass });
    }
    Ok(())
}
