//! A captured or drawn motion of a skeleton, and the body that it is of.

use geometry::{Quat, Vec3};

use crate::anthropometry::{Bone, Table, height, inertias};
use crate::body::{Body, Joint, JointKind};
use crate::error::Error;
use crate::rotation::log;
use crate::spatial::Inertia;

/// A take of fewer frames has no velocities and accelerations.
pub const MIN_FRAMES: usize = 5;

/// Joints that turn less than this, in rad, are welded; those that turn this little aside from one axis are hinges.
const STILL: f64 = 0.002;
/// Parts lighter than this share of the figure (fingers) take no part: they are carried along as the take has them.
const LIGHT: f64 = 0.004;

/// A motion: a skeleton, the root's place and local rotations at every frame.
#[derive(Clone, Debug)]
pub struct Take {
    /// The joints, parents first; the first one is the root.
    pub bones: Vec<Bone>,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// The root's place at every frame, in metres.
    pub roots: Vec<Vec3>,
    /// Parent-from-joint rotations, one for each joint at every frame.
    pub rotations: Vec<Vec<Quat>>,
}

/// How a take's figure gets its masses.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// In kg; without it, that of a person of this height with a body mass index of 22.5.
    pub mass: Option<f64>,
    /// In m; without it, by the length of the legs, or 1.75.
    pub height: Option<f64>,
    /// Whose proportions.
    pub table: Table,
    /// Masses that are worn: joint, kg, place in the joint's frame.
    pub add: Vec<(usize, f64, Vec3)>,
    /// Masses given joint by joint, instead of tables.
    pub inertias: Option<Vec<Inertia>>,
    /// Joints that turn in any way, whatever they do in this take: those that a prior knows to turn. Empty: as the take has it.
    pub balls: Vec<bool>,
}

impl Take {
    /// Frames.
    pub fn frame_count(&self) -> usize {
        self.roots.len()
    }

    /// Some of its frames.
    pub fn part(&self, frames: std::ops::Range<usize>) -> Self {
        let frames = frames.start.min(self.frame_count())..frames.end.min(self.frame_count());
        Self {
            roots: self.roots[frames.clone()].to_vec(),
            rotations: self.rotations[frames].to_vec(),
            bones: self.bones.clone(),
            ..*self
        }
    }

    /// Whether its lists belong together and are numbers.
    pub fn check(&self) -> Result<(), Error> {
        let (frames, joints) = (self.frame_count(), self.bones.len());
        if self.rotations.len() != frames {
            return Err(Error::Sizes {
                what: "frames of rotations",
                expected: frames,
                found: self.rotations.len(),
            });
        }
        if frames < MIN_FRAMES {
            return Err(Error::TooShort { frames, needed: MIN_FRAMES });
        }
        if !(self.frame_rate_hz.is_finite() && self.frame_rate_hz > 0.0) {
            return Err(Error::Value {
                what: "frame rate",
                value: self.frame_rate_hz,
                expected: "it must be positive",
            });
        }
        for (frame, (root, rotations)) in self.roots.iter().zip(&self.rotations).enumerate() {
            if rotations.len() != joints {
                return Err(Error::Sizes {
                    what: "rotations of a frame",
                    expected: joints,
                    found: rotations.len(),
                });
            }
            if !root.is_finite()
                || rotations.iter().any(|r| !r.is_finite() || (r.length() - 1.0).abs() > 1e-3)
            {
                return Err(Error::NotFinite { what: "the take", frame });
            }
        }
        Ok(())
    }

    /// The figure: joints that never move are welded, those that turn about one axis are hinges, the others balls.
    pub fn body(&self, build: &Build) -> Result<Body, Error> {
        self.check()?;
        let tall = build.height.or_else(|| height(&self.bones)).unwrap_or(1.75);
        let mass = build.mass.unwrap_or(22.5 * tall * tall);
        let parts = match &build.inertias {
            Some(given) if given.len() != self.bones.len() => {
                return Err(Error::Sizes { what: "masses", expected: self.bones.len(), found: given.len() });
            }
            Some(given) => given.clone(),
            None => inertias(&self.bones, build.table, mass, tall)?,
        };
        let mut below: Vec<f64> = parts.iter().map(|part| part.mass).collect();
        for (index, bone) in self.bones.iter().enumerate().rev() {
            if let Some(parent) = bone.parent {
                below[parent] += below[index];
            }
        }
        let total = below.first().copied().unwrap_or(0.0);
        let joints = self.bones.iter().enumerate().map(|(index, bone)| {
            let (kind, rest) = match bone.parent {
                None => (JointKind::Free, Quat::IDENTITY),
                Some(_) if build.balls.get(index) == Some(&true) => (JointKind::Ball, Quat::IDENTITY),
                Some(_) if below[index] < LIGHT * total => (JointKind::Welded, self.middle(index)),
                Some(_) => self.kind(index),
            };
            // a root's place is its offset already
            let offset = if bone.parent.is_some() { bone.offset } else { Vec3::ZERO };
            Joint { name: bone.name.clone(), parent: bone.parent, kind, offset, rest, inertia: parts[index] }
        });
        let mut body = Body::new(joints.collect())?;
        for &(joint, mass, center) in &build.add {
            body.add_mass(joint, mass, center)?;
        }
        Ok(body)
    }

    /// A joint's rotation halfway.
    fn middle(&self, joint: usize) -> Quat {
        self.rotations[self.frame_count() / 2][joint]
    }

    /// How a joint moves in this take.
    fn kind(&self, joint: usize) -> (JointKind, Quat) {
        let rest = self.middle(joint);
        let turns = || self.rotations.iter().map(move |frame| log(rest.conjugate() * frame[joint]));
        let farthest =
            turns().fold(Vec3::ZERO, |most, turn| if turn.length() > most.length() { turn } else { most });
        if farthest.length() < STILL {
            return (JointKind::Welded, rest);
        }
        let axis = farthest.normalize();
        let aside = turns().map(|turn| (turn - axis * turn.dot(axis)).length()).fold(0.0, f64::max);
        if aside < STILL { (JointKind::Hinge(axis), rest) } else { (JointKind::Ball, rest) }
    }

    /// Coordinates of the body at every frame; hinges go on where they wrap.
    pub fn coordinates(&self, body: &Body) -> Vec<Vec<f64>> {
        let frames = self.roots.iter().zip(&self.rotations);
        let mut all: Vec<Vec<f64>> =
            frames.map(|(&root, rotations)| body.coordinates(root, rotations)).collect();
        for link in &body.links {
            if let crate::body::LinkKind::Hinge(_) = link.kind {
                let c = link.first_coordinate;
                for frame in 1..all.len() {
                    all[frame][c] =
                        all[frame - 1][c] + crate::rotation::wrapped(all[frame][c] - all[frame - 1][c]);
                }
            }
        }
        all
    }

    /// The same take with a body's coordinates in it; joints that the body holds welded stay as they were.
    pub fn with_coordinates(&self, body: &Body, coordinates: &[Vec<f64>]) -> Take {
        let mut take = self.clone();
        for (frame, q) in coordinates.iter().enumerate().take(take.roots.len()) {
            let (root, rotations) = body.rotations(q);
            take.roots[frame] = root;
            for (joint, rotation) in rotations.into_iter().enumerate() {
                if body.joints()[joint].kind != JointKind::Welded {
                    take.rotations[frame][joint] = rotation;
                }
            }
        }
        take
    }
}
