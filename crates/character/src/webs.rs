//! Webs: lattice cells between parts of a body that are near each other and do not belong together, two feet for instance, or a hand and a
//! thigh.
//!
//! A cell is as wide as the dial says, and a gap may be narrower: what is on both sides of it would hang together, and be drawn out like dough as
//! the feet part. So cells are left out whose skin belongs to joints that have nothing to do with each other. Joints are *kin* in a cell where one
//! hangs on the other, or on what hangs on it, and where skin of both meets in it; all joints of a cell must be one family of such. Skin that was
//! in cells without is carried by the nearest ones that are left. Cells that are no kin share no points either: a point between them, in the gap or
//! in the other limb, becomes one for each.

use geometry::{Embedding, Lattice, TetMesh, Vec3, tet_distance_squared};

use crate::Error;
use crate::bones::{Bone, Joint, Skin};

/// A point of the skin belongs to the joints that have as much of it as this.
const LEAST: f64 = 0.25;

/// A lattice without webs, all of whose cells are tets.
pub(crate) struct Unwebbed {
    pub(crate) lattice: Lattice,
    /// The chains of lattice points along bones.
    pub(crate) chains: Vec<Vec<u32>>,
    pub(crate) kinship: Kinship,
}

/// Whose skin each cell of a lattice carries.
#[derive(Clone, Debug)]
pub(crate) struct Kinship {
    owners: Vec<Owners>,
    above: Vec<Option<usize>>,
}

impl Kinship {
    /// Points of a skin in the tets of a mesh that fills this lattice: each in the nearest that carries skin of its kind. `cells` has the
    /// lattice's cell of every tet.
    pub(crate) fn embedding(&self, mesh: &TetMesh, cells: &[u32], skin: &Skin) -> Result<Embedding, Error> {
        let mut tets = Embedding::new(mesh, &skin.points)?.tets().to_vec();
        for ((tet, &p), row) in tets.iter_mut().zip(&skin.points).zip(&skin.influences) {
            let Some(&(joint, _)) = row.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
            let own = Owners { joints: vec![joint], meeting: Vec::new() };
            let fits = |tet: u32| self.owners[cells[tet as usize] as usize].is_kin(&own, &self.above);
            if fits(*tet) {
                continue;
            }
            let distance = |tet: &u32| tet_distance_squared(p, mesh.corners(*tet as usize));
            let kind = (0..mesh.tets().len() as u32).filter(|&tet| fits(tet));
            *tet = kind.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(*tet);
        }
        Ok(Embedding::from_tets(mesh, &skin.points, tets)?)
    }
}

/// A lattice without webs. Cells at bones stay, and so does what a joint or a part of the lattice would be lost without.
pub(crate) fn without_webs(
    joints: &[Joint],
    skin: &Skin,
    bones: &[Bone],
    lattice: Lattice,
    chains: Vec<Vec<u32>>,
) -> Result<Unwebbed, Error> {
    let (mesh, _) = lattice.tets()?;
    let above = above(joints, skin);
    let mut owners = owners(&mesh, skin, bones)?;
    let mut at_bone: Vec<[u32; 2]> = chains.iter().flat_map(|chain| chain.windows(2)).map(edge).collect();
    at_bone.sort_unstable();
    let is_bone_at = |tet: &[u32; 4], v: u32| {
        tet.iter().any(|&other| other != v && at_bone.binary_search(&edge(&[v, other])).is_ok())
    };
    let is_at_bone = |tet: &[u32; 4]| tet.iter().any(|&v| is_bone_at(tet, v));
    // what is at a bone is of the bone's kind, whatever skin reaches into it
    for (tet, own) in mesh.tets().iter().zip(&mut owners).filter(|(tet, _)| is_at_bone(tet)) {
        let of = |(chain, _): &(&Vec<u32>, &Bone)| {
            chain.windows(2).any(|pair| pair.iter().all(|v| tet.contains(v)))
        };
        let here = chains.iter().zip(bones).filter(of).map(|(_, bone)| bone.joint as u32);
        let bones = Owners { joints: here.collect(), meeting: own.meeting.clone() };
        own.joints.retain(|&joint| bones.joints.iter().any(|&bone| bones.are_kin(bone, joint, &above)));
        own.joints.extend(bones.joints);
        own.joints.sort_unstable();
        own.joints.dedup();
    }
    let webs = mesh.tets().iter().zip(&owners);
    let mut kept: Vec<bool> = webs.map(|(tet, owners)| is_at_bone(tet) || owners.are_one(&above)).collect();
    // a joint keeps a cell
    let mut housed = vec![false; joints.len()];
    let own = kept.iter().zip(&owners).filter(|(kept, _)| **kept);
    own.flat_map(|(_, owners)| &owners.joints).for_each(|&joint| housed[joint as usize] = true);
    for (kept, owners) in kept.iter_mut().zip(&owners) {
        *kept |= owners.joints.iter().any(|&joint| !housed[joint as usize]);
    }
    // what no bone holds stays where it is, with all that it hung on
    loop {
        let left: Vec<[u32; 4]> =
            mesh.tets().iter().zip(&kept).filter(|(_, kept)| **kept).map(|(tet, _)| *tet).collect();
        let left = TetMesh::new(mesh.points().to_vec(), left)?;
        let components = left.components();
        let count = components.iter().max().map_or(0, |last| *last as usize + 1);
        let mut held = vec![false; count];
        let mut adrift = vec![false; mesh.points().len()];
        let mut on_bone = vec![false; mesh.points().len()];
        chains.iter().flatten().for_each(|&v| on_bone[v as usize] = true);
        for (tet, &component) in left.tets().iter().zip(&components) {
            held[component as usize] |= tet.iter().any(|&v| on_bone[v as usize]);
        }
        for (tet, &component) in left.tets().iter().zip(&components) {
            tet.iter().for_each(|&v| adrift[v as usize] |= !held[component as usize]);
        }
        let mut changed = false;
        for (kept, tet) in kept.iter_mut().zip(mesh.tets()) {
            let back = !*kept && tet.iter().any(|&v| adrift[v as usize]);
            changed |= back;
            *kept |= back;
        }
        if !changed {
            break;
        }
    }
    let own: Vec<(&[u32; 4], &Owners)> =
        mesh.tets().iter().zip(&owners).zip(&kept).filter(|(_, kept)| **kept).map(|(own, _)| own).collect();
    let (points, tets) = parted(&mesh, &own, &above, &is_bone_at);
    // what would be without a bone stays with its neighbours
    let held = held_tets(points.len(), &tets, &chains);
    let pairs = tets.iter().zip(&own).zip(&held);
    let tets = pairs.map(|((new, (old, _)), held)| if *held { *new } else { **old }).collect();
    let (left, numbers) = TetMesh::new(points, tets)?.without_loose_points();
    let new = |v: &u32| numbers.binary_search(v).map_or(u32::MAX, |new| new as u32);
    let chains = chains.iter().map(|chain| chain.iter().map(new).collect()).collect();
    let mut own = kept.iter();
    owners.retain(|_| own.next() == Some(&true));
    Ok(Unwebbed { lattice: Lattice::from_tets(&left), chains, kinship: Kinship { owners, above } })
}

/// Which tets hang together with a bone through points that they share.
fn held_tets(points: usize, tets: &[[u32; 4]], chains: &[Vec<u32>]) -> Vec<bool> {
    let mut held = vec![false; points];
    chains.iter().flatten().for_each(|&v| held[v as usize] = true);
    loop {
        let mut changed = false;
        for tet in tets {
            if tet.iter().any(|&v| held[v as usize]) {
                tet.iter().for_each(|&v| changed |= !std::mem::replace(&mut held[v as usize], true));
            }
        }
        if !changed {
            return tets.iter().map(|tet| held[tet[0] as usize]).collect();
        }
    }
}

/// The points, and the tets, with points apart for tets around them that no faces between kin connect. Bones keep theirs.
fn parted(
    mesh: &TetMesh,
    own: &[(&[u32; 4], &Owners)],
    above: &[Option<usize>],
    is_bone_at: &dyn Fn(&[u32; 4], u32) -> bool,
) -> (Vec<Vec3>, Vec<[u32; 4]>) {
    let mut points = mesh.points().to_vec();
    let mut tets: Vec<[u32; 4]> = own.iter().map(|(tet, _)| **tet).collect();
    let mut around = vec![Vec::new(); points.len()];
    for (t, (tet, _)) in own.iter().enumerate() {
        tet.iter().for_each(|&v| around[v as usize].push(t));
    }
    for (v, around) in around.iter().enumerate() {
        let mut left = around.clone();
        let mut is_first = true;
        // those at bones first: they keep the point
        left.sort_by_key(|&t| is_bone_at(own[t].0, v as u32));
        while let Some(first) = left.pop() {
            let (mut reached, mut part) = (vec![first], vec![first]);
            while let Some(t) = reached.pop() {
                let is_next = |&other: &usize| {
                    let shared = own[other].0.iter().filter(|&v| own[t].0.contains(v)).count();
                    shared == 3 && own[t].1.is_kin(own[other].1, above)
                };
                let (next, others): (Vec<usize>, Vec<usize>) = left.into_iter().partition(is_next);
                reached.extend(&next);
                part.extend(next);
                left = others;
            }
            let keeps = is_first || part.iter().any(|&t| is_bone_at(own[t].0, v as u32));
            is_first = false;
            if !keeps {
                let copy = points.len() as u32;
                points.push(points[v]);
                for t in part {
                    tets[t]
                        .iter_mut()
                        .filter(|corner| **corner as usize == v)
                        .for_each(|corner| *corner = copy);
                }
            }
        }
    }
    (points, tets)
}

fn edge(pair: &[u32]) -> [u32; 2] {
    [pair[0].min(pair[1]), pair[0].max(pair[1])]
}

/// The joints of the skin that is in a cell, and pairs of them whose skin meets there.
#[derive(Clone, Debug, Default)]
struct Owners {
    joints: Vec<u32>,
    meeting: Vec<[u32; 2]>,
}

fn owners(mesh: &TetMesh, skin: &Skin, bones: &[Bone]) -> Result<Vec<Owners>, Error> {
    let mut places: Vec<Vec3> = skin.points.clone();
    let mut corners: Vec<Vec<u32>> = (0..places.len() as u32).map(|p| vec![p]).collect();
    for &[a, b, c] in &skin.triangles {
        for of in [vec![a, b], vec![b, c], vec![c, a], vec![a, b, c]] {
            places.push(of.iter().map(|&p| skin.points[p as usize]).sum::<Vec3>() / of.len() as f64);
            corners.push(of);
        }
    }
    let embedding = Embedding::new(mesh, &places)?;
    let mut owners = vec![Owners::default(); mesh.tets().len()];
    for (&tet, corners) in embedding.tets().iter().zip(&corners) {
        let rows = corners.iter().flat_map(|&p| &skin.influences[p as usize]);
        let mut here: Vec<u32> =
            rows.filter(|(_, weight)| *weight >= LEAST).map(|(joint, _)| *joint).collect();
        here.sort_unstable();
        here.dedup();
        let own = &mut owners[tet as usize];
        own.meeting.extend(here.windows(2).map(|pair| [pair[0], pair[1]]));
        own.joints.extend(here);
    }
    for (tet, own) in owners.iter_mut().enumerate() {
        // without any skin, it is the flesh of the nearest bone
        if own.joints.is_empty() {
            let middle = mesh.corners(tet).into_iter().sum::<Vec3>() / 4.0;
            let nearest =
                bones.iter().min_by(|a, b| a.distance_squared(middle).total_cmp(&b.distance_squared(middle)));
            own.joints.extend(nearest.map(|bone| bone.joint as u32));
        }
        own.joints.sort_unstable();
        own.joints.dedup();
        own.meeting.sort_unstable();
        own.meeting.dedup();
    }
    Ok(owners)
}

impl Owners {
    fn are_kin(&self, a: u32, b: u32, above: &[Option<usize>]) -> bool {
        let hangs_on = |joint: u32, other: u32| {
            let next = above[joint as usize];
            next == Some(other as usize) || next.is_some_and(|next| above[next] == Some(other as usize))
        };
        let meet = || self.meeting.binary_search(&[a.min(b), a.max(b)]).is_ok();
        a == b || hangs_on(a, b) || hangs_on(b, a) || meet()
    }

    /// Whether one comes from one joint to all others through kin.
    fn are_one(&self, above: &[Option<usize>]) -> bool {
        let Some((&first, rest)) = self.joints.split_first() else { return true };
        let (mut reached, mut left) = (vec![first], rest.to_vec());
        while let Some(joint) = reached.pop() {
            let (kin, others): (Vec<u32>, Vec<u32>) =
                left.into_iter().partition(|&other| self.are_kin(joint, other, above));
            reached.extend(kin);
            left = others;
        }
        left.is_empty()
    }

    /// Whether a joint of this cell and one of another are kin.
    fn is_kin(&self, other: &Self, above: &[Option<usize>]) -> bool {
        let pairs = self.joints.iter().flat_map(|&a| other.joints.iter().map(move |&b| (a, b)));
        self.joints.is_empty()
            || other.joints.is_empty()
            || pairs.into_iter().any(|(a, b)| self.are_kin(a, b, above) || other.are_kin(a, b, above))
    }
}

/// For every joint the next one above it that moves points.
fn above(joints: &[Joint], skin: &Skin) -> Vec<Option<usize>> {
    let live = skin.live_joints(joints);
    let mut above: Vec<Option<usize>> = Vec::with_capacity(joints.len());
    for joint in joints {
        above.push(joint.parent.and_then(|parent| if live[parent] { Some(parent) } else { above[parent] }));
    }
    above
}
