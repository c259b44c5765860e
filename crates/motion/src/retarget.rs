//! One skeleton's motion on another: by names and proportions, feet on the floor.
//!
//! Joints are matched by what their names say (part, side) and their place in the chain of that part. A matched joint turns in the world as
//! the other does from its rest pose,
//!
//! ```text
//! W_t(t) = W_s(t) W̄_s⁻¹ · A W̄_t
//! ```
//!
//! where bars are rest poses and A brings the resting limb of the one to that of the other: a T-pose does not matter to an A-pose. Hips go
//! where the other's go, times the ratio of their heights above the soles. Then feet that stand are bent into their footsteps.

use geometry::{Quat, Vec3};

use crate::anthropometry::{Bone, Segment, segments};
use crate::contacts::{Contact, Detection, Sole, contacts, ground_height, soles, tracks};
use crate::error::Error;
use crate::ground::{Ground, Terrain};
use crate::names::{Side, side};
use crate::reach::{Goal, Reach};
use crate::recursion::Data;
use crate::take::{Build, Take};

/// Seconds over which a foot is let go after it stood, and led before.
const FADE: f64 = 0.12;
/// How near a standing point comes to its place, in m; and what counts as one unit where it fades.
const REST: f64 = 1e-4;

/// A skeleton at rest.
#[derive(Clone, Debug)]
pub struct Rig {
    /// Joints, parents first.
    pub bones: Vec<Bone>,
    /// Parent-from-joint rotations; of the root, world-from-joint.
    pub turns: Vec<Quat>,
    /// Where the root is.
    pub root: Vec3,
}

/// What a joint is, whatever its skeleton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Role {
    segment: Segment,
    side: Option<Side>,
}

/// A skeleton at rest, laid out in the world.
struct Posed<'a> {
    rig: &'a Rig,
    turns: Vec<Quat>,
    places: Vec<Vec3>,
    roles: Vec<Role>,
}

impl<'a> Posed<'a> {
    fn new(rig: &'a Rig) -> Self {
        let (turns, places) = worlds(&rig.bones, rig.root, &rig.turns);
        let segments = segments(&rig.bones);
        let mut roles: Vec<Role> = Vec::with_capacity(segments.len());
        for (joint, bone) in rig.bones.iter().enumerate() {
            let above = bone.parent.map(|parent| roles[parent]);
            // a spine's parts are divided in as many ways as there are rigs
            let segment = match segments[joint] {
                Segment::UpperTrunk | Segment::LowerTrunk => Segment::MiddleTrunk,
                other => other,
            };
            let inherited =
                above.filter(|above| above.segment != Segment::MiddleTrunk || segment == above.segment);
            roles.push(Role { segment, side: side(&bone.name).or(inherited.and_then(|above| above.side)) });
        }
        Self { rig, turns, places, roles }
    }

    fn children(&self, joint: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.places.len()).filter(move |&child| self.rig.bones[child].parent == Some(joint))
    }

    /// Where a joint's bone points, in the world.
    fn way(&self, joint: usize) -> Option<Vec3> {
        let same = self.children(joint).filter(|&child| self.roles[child].side == self.roles[joint].side);
        let far = same.max_by(|&a, &b| {
            let length = |child: usize| self.rig.bones[child].offset.length();
            length(a).total_cmp(&length(b))
        });
        let tip = self.rig.bones[joint].tip.map(|tip| self.turns[joint] * tip);
        far.map(|child| self.places[child] - self.places[joint]).or(tip)?.try_normalize()
    }

    /// The mean place of joints at which a part begins.
    fn middle(&self, segment: Segment) -> Option<Vec3> {
        let first = |&joint: &usize| {
            self.roles[joint].segment == segment
                && self.rig.bones[joint].parent.is_none_or(|parent| self.roles[parent].segment != segment)
        };
        let found: Vec<Vec3> = (0..self.places.len()).filter(first).map(|joint| self.places[joint]).collect();
        (!found.is_empty()).then(|| found.iter().sum::<Vec3>() / found.len() as f64)
    }

    /// To its left, level.
    fn lateral(&self) -> Option<Vec3> {
        [Segment::Thigh, Segment::UpperArm, Segment::Foot].into_iter().find_map(|segment| {
            let of = |side| self.roles.iter().position(|role| *role == Role { segment, side: Some(side) });
            let way = self.places[of(Side::Left)?] - self.places[of(Side::Right)?];
            Vec3::new(way.x, 0.0, way.z).try_normalize()
        })
    }

    /// How high the hips are above the lowest joint of the feet.
    fn standing(&self) -> Option<f64> {
        let feet = (0..self.places.len()).filter(|&joint| self.roles[joint].segment == Segment::Foot);
        let lowest = feet.map(|joint| self.places[joint].y).fold(f64::INFINITY, f64::min);
        let height = self.middle(Segment::Thigh)?.y - lowest;
        (height.is_finite() && height > 0.0).then_some(height)
    }

    /// The joints of a role, from the root outwards; of those at one place the first.
    fn chain(&self, role: Role) -> Vec<usize> {
        let mut chain: Vec<usize> =
            (1..self.places.len()).filter(|&joint| self.roles[joint] == role).collect();
        // heads and hands branch: of equals in depth the first
        let depth = |mut joint: usize| {
            let mut depth = 0;
            while let Some(parent) = self.rig.bones[joint].parent {
                (joint, depth) = (parent, depth + 1);
            }
            depth
        };
        chain.sort_by_key(|&joint| (depth(joint), joint));
        chain.dedup_by_key(|joint| depth(*joint));
        chain
    }
}

/// World-from-joint rotations and places of a pose.
fn worlds(bones: &[Bone], root: Vec3, turns: &[Quat]) -> (Vec<Quat>, Vec<Vec3>) {
    let (mut rotations, mut places): (Vec<Quat>, Vec<Vec3>) = (Vec::new(), Vec::new());
    for (bone, &turn) in bones.iter().zip(turns) {
        match bone.parent {
            None => {
                rotations.push(turn);
                places.push(root);
            }
            Some(parent) => {
                places.push(places[parent] + rotations[parent] * bone.offset);
                rotations.push((rotations[parent] * turn).normalize());
            }
        }
    }
    (rotations, places)
}

/// A take of `target` that moves as `take` does, whose rest pose is `source`; and how many joints found one to follow.
pub fn retarget(source: &Rig, take: &Take, target: &Rig) -> Result<(Take, usize), Error> {
    take.check()?;
    let (from, to) = (Posed::new(source), Posed::new(target));
    let [theirs, ours] = [&from, &to].map(Posed::standing);
    let (Some(theirs), Some(ours)) = (theirs, ours) else {
        let lacking = if theirs.is_none() { source } else { target };
        let names: Vec<&str> = lacking.bones.iter().map(|bone| bone.name.as_str()).take(12).collect();
        return Err(Error::NoFeet { joints: names.join(", ") });
    };
    let heading = match (to.lateral(), from.lateral()) {
        (Some(a), Some(b)) => Quat::from_rotation_y(a.cross(b).y.atan2(a.dot(b))),
        _ => Quat::IDENTITY,
    };
    let pairs = pairs(&from, &to);
    let aligned = |joint: usize, other: usize| {
        let limb = [Segment::UpperArm, Segment::Forearm, Segment::Hand, Segment::Thigh, Segment::Shank];
        let ways = limb.contains(&to.roles[joint].segment).then(|| (to.way(joint), from.way(other)));
        match ways {
            Some((Some(own), Some(other))) => Quat::from_rotation_arc(heading * own, other) * heading,
            _ => heading,
        }
    };
    let resting: Vec<Option<(usize, Quat)>> = (pairs.iter().enumerate())
        .map(|(joint, other)| {
            other.map(|other| (other, from.turns[other].inverse() * aligned(joint, other) * to.turns[joint]))
        })
        .collect();
    let (scale, middle) = (ours / theirs, from.middle(Segment::Thigh).unwrap_or(source.root));
    // hips in the frame of each root
    let own_hips = to.turns[0].inverse() * (to.middle(Segment::Thigh).unwrap_or(target.root) - target.root);
    let other_hips = from.turns[0].inverse() * (middle - source.root);
    let mut moved = Take {
        bones: target.bones.clone(),
        frame_rate_hz: take.frame_rate_hz,
        roots: Vec::with_capacity(take.frame_count()),
        rotations: Vec::with_capacity(take.frame_count()),
    };
    for (&root, rotations) in take.roots.iter().zip(&take.rotations) {
        let (worlds, _) = worlds(&take.bones, root, rotations);
        let mut own: Vec<Quat> = Vec::with_capacity(target.bones.len());
        for (joint, bone) in target.bones.iter().enumerate() {
            let above = bone.parent.map_or(Quat::IDENTITY, |parent| own[parent]);
            own.push(match resting[joint] {
                Some((other, rest)) => (worlds[other] * rest).normalize(),
                None => (above * target.turns[joint]).normalize(),
            });
        }
        moved.roots.push((root + worlds[0] * other_hips) * scale - own[0] * own_hips);
        let local = target.bones.iter().zip(&own).map(|(bone, &turn)| match bone.parent {
            Some(parent) => (own[parent].inverse() * turn).normalize(),
            None => turn,
        });
        moved.rotations.push(local.collect());
    }
    let found = pairs.iter().flatten().count();
    Ok((on_the_floor(&moved)?, found))
}

/// For every joint the one of the other skeleton that it follows.
fn pairs(from: &Posed, to: &Posed) -> Vec<Option<usize>> {
    let mut pairs = vec![None; to.places.len()];
    if let Some(first) = pairs.first_mut() {
        *first = Some(0);
    }
    let mut done: Vec<Role> = Vec::new();
    for joint in 1..to.places.len() {
        let role = to.roles[joint];
        if done.contains(&role) {
            continue;
        }
        done.push(role);
        let (own, other) = (to.chain(role), from.chain(role));
        if other.is_empty() {
            continue;
        }
        for (k, &joint) in own.iter().enumerate() {
            // fingers, eyes and toes' ends of one without another to follow stay as they are at rest
            let at = match role.segment {
                Segment::MiddleTrunk => (k + 1) * other.len() / own.len().max(1),
                _ => k + 1,
            };
            pairs[joint] = other.get(at.max(1) - 1).copied();
        }
    }
    pairs
}

/// Feet that stand do not slide, and nothing is below the floor.
fn on_the_floor(take: &Take) -> Result<Take, Error> {
    let body = take.body(&Build::default())?;
    let target = take.coordinates(&body);
    let ground = Ground::level(ground_height(take, &body, &target)?);
    let soles = soles(take, &body, &target, &ground)?;
    let contacts = contacts(take, &body, &target, &soles, &ground, &Detection::default());
    let terrain = Terrain::Plane(ground);
    let points: Vec<(usize, Vec3)> = soles.iter().map(|sole| (sole.joint, sole.point)).collect();
    let places = tracks(&body, &target, &points);
    let led = Led { soles: &soles, contacts: &contacts, places: &places, rate: take.frame_rate_hz };
    let mut data = Data::new(&body);
    let mut poses = Vec::with_capacity(target.len());
    for (frame, pose) in target.iter().enumerate() {
        let goals = led.goals(frame);
        let reach =
            Reach { body: &body, terrain: &terrain, pose, goals: &goals, above: &points, learnt: None };
        poses.push(reach.solve(pose, &mut data)?);
    }
    Ok(take.with_coordinates(&body, &poses))
}

/// Feet, where they go and where they should stand.
struct Led<'a> {
    soles: &'a [Sole],
    contacts: &'a [Contact],
    /// By sole point and frame, before anything is bent.
    places: &'a [Vec<Vec3>],
    rate: f64,
}

impl Led<'_> {
    /// Where sole points should be at a frame: those that rest at their places; before and after, as far from where they go as at the
    /// contact's end, less and less.
    fn goals(&self, frame: usize) -> Vec<Goal> {
        let fade = (FADE * self.rate).max(1.0);
        let mut goals = Vec::new();
        for (index, sole) in self.soles.iter().enumerate() {
            let (mut sum, mut most) = (Vec3::ZERO, 0.0_f64);
            for contact in self.contacts.iter().filter(|contact| contact.sole == index) {
                let (first, last) = (contact.frames.start, contact.frames.end - 1);
                let nearest = frame.clamp(first, last);
                let away = 1.0 - frame.abs_diff(nearest) as f64 / fade;
                if away <= 0.0 {
                    continue;
                }
                let share = away * away * (3.0 - 2.0 * away);
                sum += (contact.anchor - self.places[index][nearest]) * share;
                most = most.max(share);
            }
            if most > 0.0 {
                let place = self.places[index][frame] + sum;
                let unit = REST / most.powi(2).max(1e-4);
                goals.push(Goal { joint: sole.joint, point: sole.point, place, unit });
            }
        }
        goals
    }
}
