//! Which skeleton a prior is of: names, parents, which joints turn; and a sentence where another one comes.

use geometry::Vec3;

use crate::body::JointKind;
use crate::error::Error;
use crate::take::{Build, Take};

/// Bones that lie less than this apart, in rad, are the same bone of another person.
const APART: f64 = 0.5;
/// Bones shorter than this, in m, have no direction to speak of.
const SHORT: f64 = 0.03;

/// A skeleton, as a prior knows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Articulation {
    pub(crate) names: Vec<String>,
    pub(crate) parents: Vec<Option<usize>>,
    /// In the parent's frame, in m.
    pub(crate) offsets: Vec<Vec3>,
    /// Whether a joint turns in any of the takes that were learnt from.
    pub(crate) balls: Vec<bool>,
}

impl Articulation {
    /// Of some takes; joints that turn in one of them turn.
    pub(crate) fn of(takes: &[Take], build: &Build) -> Result<Self, Error> {
        let Some(first) = takes.first() else {
            return Err(Error::NoExamples);
        };
        let mut found = Self {
            names: first.bones.iter().map(|bone| bone.name.clone()).collect(),
            parents: first.bones.iter().map(|bone| bone.parent).collect(),
            offsets: first.bones.iter().map(|bone| bone.offset).collect(),
            balls: vec![false; first.bones.len()],
        };
        for take in takes {
            found.check(take)?;
            for (ball, joint) in found.balls.iter_mut().zip(take.body(build)?.joints()) {
                *ball |= matches!(joint.kind, JointKind::Ball | JointKind::Hinge(_));
            }
        }
        Ok(found)
    }

    /// The joints that turn.
    pub(crate) fn joints(&self) -> Vec<usize> {
        (0..self.balls.len()).filter(|&joint| self.balls[joint]).collect()
    }

    /// Whether a take is of this skeleton: the same joints, bones that point the same way.
    pub(crate) fn check(&self, take: &Take) -> Result<(), Error> {
        let other = |problem: String| Err(Error::OtherSkeleton { problem });
        if take.bones.len() != self.names.len() {
            return other(format!("{} joints there, {} here", self.names.len(), take.bones.len()));
        }
        for (index, bone) in take.bones.iter().enumerate() {
            let name = &self.names[index];
            if bone.name != *name {
                return other(format!("joint {index} is `{name}` there and `{}` here", bone.name));
            }
            if bone.parent != self.parents[index] {
                return other(format!("joint `{name}` has another parent here"));
            }
            let (a, b) = (self.offsets[index], bone.offset);
            let tells = bone.parent.is_some() && a.length() > SHORT && b.length() > SHORT;
            if tells && a.angle_between(b) > APART {
                return other(format!("the bone to joint `{name}` points another way here"));
            }
        }
        Ok(())
    }
}
