//! Bones from joints: which segments of the skeleton flesh hangs on.
//!
//! A joint that moves points is *live*. From every live joint a bone runs to each next live joint below it; joints that move
//! nothing are passed over; joints in one place get no bone between them. A live joint without live ones below it gets a tip, where
//! its points end. Joints that swing *freely* get no bone: what they move is flesh on the joint above them, and they go where it goes.

use geometry::{Bounds, Vec3};
use glam::DAffine3;

use crate::Error;

/// A joint of the skeleton.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// Index of the parent, always smaller than the joint's own; `None` for a root.
    pub parent: Option<usize>,
    /// Where it is, and how it is turned, in the space of the surface at rest.
    pub rest_from_joint: DAffine3,
}

/// A surface at rest and the joints that move it.
#[derive(Clone, Debug, PartialEq)]
pub struct Skin {
    /// Points at rest, in metres.
    pub points: Vec<Vec3>,
    /// Triangles over points.
    pub triangles: Vec<[u32; 3]>,
    /// For each point, pairs of a joint and a weight. Weights are taken relative to their sum.
    pub influences: Vec<Vec<(u32, f64)>>,
}

/// An end of a bone: it goes where its joint takes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End {
    /// The joint.
    pub joint: usize,
    /// Its place at rest.
    pub rest: Vec3,
}

/// A segment that flesh hangs on. Between its ends it is straight; where they move apart, it stretches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bone {
    /// The joint it turns with, which is that of its first end.
    pub joint: usize,
    /// Both ends.
    pub ends: [End; 2],
}

impl Bone {
    /// From a place at rest.
    pub(crate) fn distance_squared(&self, place: Vec3) -> f64 {
        let [a, b] = self.ends.map(|end| end.rest);
        let along =
            ((place - a).dot(b - a) / (b - a).length_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        place.distance_squared(a.lerp(b, along))
    }
}

/// How far, as a part of the way, a tip reaches towards the farthest point of its joint: bones end inside.
const TIP: f64 = 0.8;
/// Bones shorter than this part of the character's size are no bones.
const SHORTEST: f64 = 1e-3;

impl Skin {
    /// Checks counts, indices and numbers, and makes weights sum to one.
    pub fn checked(mut self, joints: &[Joint]) -> Result<Self, Error> {
        for (index, joint) in joints.iter().enumerate() {
            if joint.parent.is_some_and(|parent| parent >= index) {
                return Err(Error::Parent { joint: index });
            }
            if !joint.rest_from_joint.is_finite() {
                return Err(Error::NotFinite { what: "the rest place of joint", index });
            }
        }
        let (found, expected) = (self.influences.len(), self.points.len());
        if found != expected {
            return Err(Error::CountMismatch { what: "influences", found, expected });
        }
        if let Some(index) = self.points.iter().position(|p| !p.is_finite()) {
            return Err(Error::NotFinite { what: "point", index });
        }
        let count = joints.len();
        for (point, row) in self.influences.iter_mut().enumerate() {
            if let Some(&(joint, _)) = row.iter().find(|(joint, _)| *joint as usize >= count) {
                return Err(Error::NoSuchJoint { point, joint, count });
            }
            if row.iter().any(|(_, weight)| !weight.is_finite()) {
                return Err(Error::NotFinite { what: "the weight of point", index: point });
            }
            row.retain(|(_, weight)| *weight > 0.0);
            let sum: f64 = row.iter().map(|(_, weight)| weight).sum();
            row.iter_mut().for_each(|(_, weight)| *weight /= sum);
        }
        if self.influences.iter().all(Vec::is_empty) { Err(Error::NoSkin) } else { Ok(self) }
    }

    /// Which joints move a point.
    pub fn live_joints(&self, joints: &[Joint]) -> Vec<bool> {
        let mut live = vec![false; joints.len()];
        self.influences.iter().flatten().for_each(|&(joint, _)| live[joint as usize] = true);
        live
    }

    /// The same skin with what free joints move carried by the nearest joint above them that is not free.
    #[must_use]
    pub(crate) fn carried(&self, carriers: &[usize]) -> Self {
        let mut skin = self.clone();
        for row in &mut skin.influences {
            let mut merged: Vec<(u32, f64)> = Vec::with_capacity(row.len());
            for &(joint, weight) in row.iter() {
                let joint = carriers[joint as usize] as u32;
                match merged.iter_mut().find(|entry| entry.0 == joint) {
                    Some(entry) => entry.1 += weight,
                    None => merged.push((joint, weight)),
                }
            }
            *row = merged;
        }
        skin
    }

    /// The same skin with points that belong to joints by as much as they are painted for them, and for the rest to those that move them.
    #[must_use]
    pub(crate) fn painted(&self, paints: &[(usize, Vec<f64>)]) -> Self {
        let mut skin = self.clone();
        for (point, row) in skin.influences.iter_mut().enumerate() {
            let amounts = || paints.iter().map(|(joint, paint)| (*joint as u32, paint[point].max(0.0)));
            let sum: f64 = amounts().map(|(_, amount)| amount).sum();
            let least = sum.max(1.0);
            row.iter_mut().for_each(|(_, weight)| *weight *= 1.0 - sum / least);
            for (joint, amount) in amounts().filter(|(_, amount)| *amount > 0.0) {
                match row.iter_mut().find(|entry| entry.0 == joint) {
                    Some(entry) => entry.1 += amount / least,
                    None => row.push((joint, amount / least)),
                }
            }
            row.retain(|(_, weight)| *weight > 0.0);
        }
        skin
    }

    /// The bones of a checked skin. Joints in `free` get none; a bone that ends at one of them goes where its first end's joint takes it.
    pub fn bones(&self, joints: &[Joint], free: &[usize]) -> Vec<Bone> {
        let free = free_joints(joints, free);
        let live = self.live_joints(joints);
        let place = |joint: usize| joints[joint].rest_from_joint.translation;
        let shortest = SHORTEST * Bounds::of(self.points.iter().copied()).diagonal();
        let mut bones = Vec::new();
        let mut has_child = vec![false; joints.len()];
        for joint in (0..joints.len()).filter(|&joint| live[joint]) {
            let mut above = joints[joint].parent;
            while let Some(parent) = above.filter(|&parent| !live[parent]) {
                above = joints[parent].parent;
            }
            let Some(parent) = above else { continue };
            has_child[parent] = true;
            if free[parent] {
                continue;
            }
            if place(parent).distance(place(joint)) > shortest {
                let end = if free[joint] { parent } else { joint };
                let ends = [(parent, parent), (end, joint)].map(|(joint, at)| End { joint, rest: place(at) });
                bones.push(Bone { joint: parent, ends });
            }
        }
        for joint in (0..joints.len()).filter(|&joint| live[joint] && !has_child[joint] && !free[joint]) {
            if let Some(tip) = self.tip(joint, place(joint), shortest) {
                let ends = [place(joint), tip].map(|rest| End { joint, rest });
                bones.push(Bone { joint, ends });
            }
        }
        bones
    }

    /// Where the points of a joint end, seen from the joint.
    fn tip(&self, joint: usize, head: Vec3, shortest: f64) -> Option<Vec3> {
        let weight = |row: &[(u32, f64)]| {
            row.iter().filter(|(j, _)| *j as usize == joint).map(|(_, weight)| weight).sum::<f64>()
        };
        let owned = || self.points.iter().zip(&self.influences).map(|(&p, row)| (p, weight(row)));
        let total: f64 = owned().map(|(_, w)| w).sum();
        let centre = owned().map(|(p, w)| w * p).sum::<Vec3>() / total;
        let along = (centre - head).try_normalize()?;
        let reach = owned().filter(|(_, w)| *w > 0.5).map(|(p, _)| (p - head).dot(along)).fold(0.0, f64::max);
        // points around the axis end near it, too
        (TIP * reach > shortest).then(|| head + TIP * reach * along)
    }
}

/// Which joints swing freely: those that are named and have a joint above them.
fn free_joints(joints: &[Joint], free: &[usize]) -> Vec<bool> {
    (0..joints.len()).map(|joint| joints[joint].parent.is_some() && free.contains(&joint)).collect()
}

/// For every joint itself or, where it swings freely, the nearest joint above it that does not.
pub(crate) fn carriers(joints: &[Joint], free: &[usize]) -> Vec<usize> {
    let free = free_joints(joints, free);
    let mut carriers: Vec<usize> = (0..joints.len()).collect();
    for joint in (0..joints.len()).filter(|&joint| free[joint]) {
        // parents come first
        carriers[joint] = joints[joint].parent.map_or(joint, |parent| carriers[parent]);
    }
    carriers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joint(parent: Option<usize>, x: f64) -> Joint {
        Joint { parent, rest_from_joint: DAffine3::from_translation(Vec3::new(x, 0.0, 0.0)) }
    }

    fn skin(influences: Vec<Vec<(u32, f64)>>) -> Skin {
        let points = (0..influences.len()).map(|k| Vec3::new(k as f64, 0.2, 0.0)).collect();
        Skin { points, triangles: Vec::new(), influences }
    }

    #[test]
    fn helpers_go_coincident_joints_merge_and_leaves_get_tips() {
        // 0 ─ 1 (helper) ─ 2 ─ 3 (in the same place as 2)
        let joints = [joint(None, 0.0), joint(Some(0), 1.0), joint(Some(1), 2.0), joint(Some(2), 2.0)];
        let skin = skin(vec![
            vec![(0, 2.0)],
            vec![(0, 1.0), (2, 1.0)],
            vec![(2, 1.0)],
            vec![(3, 1.0)],
            vec![(3, 0.3)],
        ]);
        let skin = skin.checked(&joints).unwrap();
        assert_eq!(skin.influences[0], [(0, 1.0)]);
        assert_eq!(skin.influences[4], [(3, 1.0)]);
        let bones = skin.bones(&joints, &[]);
        let ends: Vec<[f64; 2]> = bones.iter().map(|bone| bone.ends.map(|end| end.rest.x)).collect();
        assert_eq!(bones.len(), 2);
        assert_eq!(ends[0], [0.0, 2.0]);
        assert_eq!((bones[0].joint, bones[0].ends[1].joint, bones[1].joint), (0, 2, 3));
        // the farthest point is at x = 4
        assert!((ends[1][1] - (2.0 + 0.8 * 2.0)).abs() < 0.05, "{ends:?}");
    }

    #[test]
    fn free_joints_have_no_bones_and_their_points_go_with_the_joint_above() {
        let joints = [joint(None, 0.0), joint(Some(0), 1.0), joint(Some(1), 2.0), joint(Some(2), 3.0)];
        let rows =
            vec![vec![(0, 1.0)], vec![(0, 0.5), (1, 0.5)], vec![(2, 1.0)], vec![(3, 1.0)], vec![(3, 1.0)]];
        let skin = skin(rows).checked(&joints).unwrap();
        let bones = skin.bones(&joints, &[2, 3]);
        let ends: Vec<[f64; 2]> = bones.iter().map(|bone| bone.ends.map(|end| end.rest.x)).collect();
        assert_eq!(ends, [[0.0, 1.0], [1.0, 2.0]]);
        // the end of the last bone does not swing: it is where joint 1 takes it
        assert_eq!(bones[1].ends[1].joint, 1);
        let carriers = carriers(&joints, &[2, 3]);
        assert_eq!(carriers, [0, 1, 1, 1]);
        assert_eq!(skin.carried(&carriers).influences[3], [(1, 1.0)]);
        // a root cannot swing: nothing would hold it
        assert_eq!(super::carriers(&joints, &[0]), [0, 1, 2, 3]);
    }

    #[test]
    fn what_is_painted_counts_for_more_than_weights() {
        let joints = [joint(None, 0.0), joint(Some(0), 1.0)];
        let rows = vec![vec![(0, 1.0)], vec![(0, 0.5), (1, 0.5)], vec![(1, 1.0)], vec![(1, 1.0)]];
        let skin = skin(rows).checked(&joints).unwrap();
        let painted = skin.painted(&[(1, vec![0.0, 0.4, 1.0, 2.0]), (0, vec![0.0, 0.0, 0.0, 2.0])]);
        assert_eq!(painted.influences[0], [(0, 1.0)]);
        let [(0, a), (1, b)] = painted.influences[1][..] else { panic!("{:?}", painted.influences[1]) };
        assert!((a - 0.3).abs() < 1e-12 && (b - 0.7).abs() < 1e-12, "{a} {b}");
        assert_eq!(painted.influences[2], [(1, 1.0)]);
        assert_eq!(painted.influences[3], [(1, 0.5), (0, 0.5)]);
    }

    #[test]
    fn bad_skins_get_a_sentence() {
        let joints = [joint(None, 0.0)];
        assert!(matches!(skin(vec![vec![], vec![(0, 0.0)]]).checked(&joints), Err(Error::NoSkin)));
        let stray = skin(vec![vec![(3, 1.0)]]).checked(&joints);
        assert!(matches!(stray, Err(Error::NoSuchJoint { point: 0, joint: 3, count: 1 })));
        assert!(matches!(skin(vec![vec![(0, f64::NAN)]]).checked(&joints), Err(Error::NotFinite { .. })));
        let loops = skin(vec![vec![(0, 1.0)]]).checked(&[joint(Some(0), 0.0)]);
        assert!(matches!(loops, Err(Error::Parent { joint: 0 })));
    }
}
