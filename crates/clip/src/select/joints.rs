//! Points by the joints that move them, or that they are near to; and joints themselves.

use geometry::Vec3;
use serde::{Deserialize, Serialize};

use super::regions::fade;
use super::{Names, Selector};
use crate::{Clip, Error, Joint, Mesh, Result, Skeleton};

/// What is near to where joints are in the first frame. No skin is needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct JointRegion {
    /// Which joints of the scene.
    pub joint: Names,
    /// How far from a joint points may be, in metres.
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 1e6)))]
    pub within: f64,
    /// From where that is measured: so far from the joint along its own axes, in metres.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = -1e6, "maximum" = 1e6)))]
    pub offset: [f64; 3],
    /// How far beyond `within` weights fall to zero, in metres.
    #[serde(default, skip_serializing_if = "is_none")]
    #[cfg_attr(feature = "schemars", schemars(extend("minimum" = 0.0, "maximum" = 1e6)))]
    pub falloff: f64,
}

fn is_zero(offset: &[f64; 3]) -> bool {
    *offset == [0.0; 3]
}

fn is_none(number: &f64) -> bool {
    *number == 0.0
}

impl JointRegion {
    /// A weight for each point of a mesh.
    pub(super) fn weights(&self, clip: &Clip, mesh: usize) -> Result<Vec<f32>> {
        let skeleton = clip.skeleton.clone().unwrap_or_default();
        let chosen = chosen(&skeleton.joints, &self.joint)?;
        let frame = clip.checked_frame(0)?;
        let world = skeleton.world_from_joints(&frame.pose);
        let centres = world.iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(world_from_joint, _)| {
            world_from_joint.as_dmat4().transform_point3(Vec3::from(self.offset))
        });
        let centres: Vec<Vec3> = centres.collect();
        let weight = |p: &[f32; 3]| {
            let p = Vec3::from(p.map(f64::from));
            let nearest = centres.iter().map(|c| c.distance(p)).fold(f64::INFINITY, f64::min);
            fade(nearest - self.within, self.falloff) as f32
        };
        Ok(frame.points[mesh].iter().map(weight).collect())
    }
}

/// Which joints of a skeleton the names mean: for each name the joint that is really called so, or all that fit it.
fn chosen(joints: &[Joint], names: &Names) -> Result<Vec<bool>> {
    let mut chosen = vec![false; joints.len()];
    for name in names.iter() {
        let is_exact = joints.iter().any(|joint| joint.name == name);
        let means = |joint: &Joint| match is_exact {
            true => joint.name == name,
            false => Selector::fits(name, &joint.name),
        };
        if !joints.iter().any(means) {
            let known = joints.iter().map(|joint| joint.name.clone());
            return Err(Error::no_such_name("joint", name, "the scene", known));
        }
        joints.iter().zip(&mut chosen).for_each(|(joint, chosen)| *chosen |= means(joint));
    }
    Ok(chosen)
}

impl Names {
    /// The joints of a skeleton that they mean, in the order of the names.
    pub fn joints(&self, skeleton: &Skeleton) -> Result<Vec<usize>> {
        let mut found: Vec<usize> = Vec::new();
        for name in self.iter() {
            let chosen = chosen(&skeleton.joints, &name.into())?;
            let more = (0..chosen.len()).filter(|&joint| chosen[joint] && !found.contains(&joint));
            found.extend(more.collect::<Vec<_>>());
        }
        Ok(found)
    }
}

/// How much the joints of these names move each point: by the skin, or wholly where the mesh hangs on one of them or on what one of them carries.
pub(super) fn weights(clip: &Clip, mesh: usize, names: &Names) -> Result<Vec<f32>> {
    let shape = &clip.meshes[mesh];
    let joints = clip.skeleton.as_ref().map_or(&[][..], |skeleton| skeleton.joints.as_slice());
    let Some(skin) = &shape.skin else { return hanging(clip, mesh, joints, names) };
    let called: Vec<Option<&str>> =
        skin.binds.iter().map(|&(joint, _)| joints.get(joint).map(|joint| joint.name.as_str())).collect();
    let mut chosen = vec![false; called.len()];
    for name in names.iter() {
        // a joint that is really called so is meant
        let exact = called.iter().position(|known| *known == Some(name));
        let means = |bind: usize| match exact {
            Some(exact) => bind == exact,
            None => called[bind].is_some_and(|known| Selector::fits(name, known)),
        };
        if !(0..called.len()).any(means) {
            return Err(unknown(clip, mesh, name, called.iter().flatten().map(|&known| known.to_owned())));
        }
        chosen.iter_mut().enumerate().for_each(|(bind, chosen)| *chosen |= means(bind));
    }
    let is_chosen = |bind: u32| chosen.get(bind as usize).is_some_and(|chosen| *chosen);
    let weight = |of_point: &Vec<(u32, f32)>| {
        of_point.iter().filter(|&&(bind, _)| is_chosen(bind)).map(|&(_, weight)| weight).sum()
    };
    Ok(skin.influences.iter().map(weight).collect())
}

/// Of a mesh without a skin: all of it where it hangs on a joint that is meant.
fn hanging(clip: &Clip, mesh: usize, joints: &[Joint], names: &Names) -> Result<Vec<f32>> {
    let shape = &clip.meshes[mesh];
    let carrier = shape.parent.and_then(|parent| joints.get(parent));
    let mut weight = 0.0;
    for name in names.iter() {
        match carrier.filter(|joint| joint.name == name || Selector::fits(name, &joint.name)) {
            Some(_) => weight = 1.0,
            None => return Err(unknown(clip, mesh, name, carrier.map(|joint| joint.name.clone()))),
        }
    }
    Ok(vec![weight; shape.point_count()])
}

/// There is no such joint for the points of this mesh; and what would choose some.
fn unknown(clip: &Clip, mesh: usize, name: &str, known: impl IntoIterator<Item = String>) -> Error {
    let shape = &clip.meshes[mesh];
    let place = match (&shape.skin, shape.parent) {
        (None, Some(_)) => format!("what carries mesh `{}`", shape.name),
        _ => format!("the skin of mesh `{}`", shape.name),
    };
    let Error::NoSuchName { kind, name, known, .. } = Error::no_such_name("joint", name, "", known) else {
        return Error::no_such_name("joint", name, place, []);
    };
    let instead = instead(clip, shape, mesh, &name);
    Error::NoSuchJoint { kind, name, place, known, instead }
}

/// What would choose points of the mesh, in the words of a shot file.
fn instead(clip: &Clip, shape: &Mesh, mesh: usize, name: &str) -> String {
    let mut ways = Vec::new();
    let joints = clip.skeleton.iter().flat_map(|skeleton| &skeleton.joints);
    if let Some(near) = joints.clone().find(|joint| Selector::fits(name, &joint.name)) {
        ways.push(format!(
            "`{{ joint = \"{}\", within = 0.2 }}` is what is near that joint of the scene",
            near.name
        ));
    }
    if let (Some(parent), None) = (shape.parent, &shape.skin)
        && let Some(joint) = joints.clone().nth(parent)
    {
        ways.push(format!("`{{ joint = \"{}\" }}` is all of it, for it hangs there", joint.name));
    }
    let frame = clip.frame(0).ok();
    let points = frame.as_ref().and_then(|frame| frame.points.get(mesh));
    let heights = points.into_iter().flatten().map(|p| p[1]).filter(|y| y.is_finite());
    let [low, high] = heights.fold([f32::INFINITY, f32::NEG_INFINITY], |[a, b], y| [a.min(y), b.max(y)]);
    if low <= high {
        let from = low + 0.8 * (high - low);
        ways.push(format!(
            "`{{ height = {{ from = {from:.2}, to = {high:.2} }} }}` is its top (it reaches from {low:.2} to {high:.2} m), and `box` and `sphere` are places, too"
        ));
    }
    ways.join("; ")
}

impl Selector {
    /// A weight for each joint of a skeleton that has no mesh: of those named one, of the others zero.
    pub fn joint_weights(&self, skeleton: &Skeleton) -> Result<Vec<f32>> {
        let of = |selector: &Self| selector.joint_weights(skeleton);
        let joined = |first: Vec<f32>, others: &[Self], join: fn(f32, f32) -> f32| {
            others.iter().try_fold(first, |weights, other| {
                Ok(weights.iter().zip(of(other)?).map(|(weight, other)| join(*weight, other)).collect())
            })
        };
        let none = vec![0.0; skeleton.joints.len()];
        match self {
            Self::All => Ok(vec![1.0; skeleton.joints.len()]),
            Self::Joint(names) => {
                let chosen = chosen(&skeleton.joints, names)?;
                Ok(chosen.into_iter().map(|chosen| f32::from(u8::from(chosen))).collect())
            }
            Self::Any(selectors) => joined(none, selectors, f32::max),
            Self::Sum(selectors) => joined(none, selectors, |a, b| (a + b).min(1.0)),
            Self::Not(selector) => Ok(of(selector)?.into_iter().map(|weight| 1.0 - weight).collect()),
            Self::Difference(selectors) => match selectors.split_first() {
                Some((first, others)) => joined(of(first)?, others, |a, b| (a - b).max(0.0)),
                None => Ok(none),
            },
            Self::Levels(levels) => {
                Ok(of(&levels.of)?.into_iter().map(|weight| levels.level(weight)).collect())
            }
            Self::Adjusted(adjusted) => {
                Ok(adjusted.adjusted(&Mesh::new("", Vec::new(), &[]), of(&adjusted.of)?))
            }
            Self::Group(_)
            | Self::NearJoint(_)
            | Self::Box(_)
            | Self::Sphere(_)
            | Self::Height(_)
            | Self::Component(_)
            | Self::File(_) => Err(Error::NotOfJoints),
        }
    }

    /// Whether weights of a skin go into it as they are: a joint's, neither cut off nor stretched.
    pub fn is_by_skin(&self) -> bool {
        match self {
            Self::Joint(_) => true,
            Self::Any(selectors) | Self::Sum(selectors) | Self::Difference(selectors) => {
                selectors.iter().any(Self::is_by_skin)
            }
            Self::Not(of) => of.is_by_skin(),
            _ => false,
        }
    }

    /// Whether it chooses by nearness to joints, anywhere in it.
    pub fn is_near_joints(&self) -> bool {
        match self {
            Self::NearJoint(_) => true,
            Self::Any(selectors) | Self::Sum(selectors) | Self::Difference(selectors) => {
                selectors.iter().any(Self::is_near_joints)
            }
            Self::Not(of) => of.is_near_joints(),
            Self::Levels(levels) => levels.of.is_near_joints(),
            Self::Adjusted(adjusted) => adjusted.of.is_near_joints(),
            _ => false,
        }
    }
}
