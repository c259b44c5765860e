//! Regions: which bone's frame a part of the flesh is measured in.
//!
//! Every lattice point gets weights that sum to one, one for each joint it belongs to (skeleton §4.5, Wⁱ), from the skin's own
//! weights: a lattice point takes the mean of the surface points that it carries, points inside take the mean of their neighbours. A
//! cell belongs to a region when all its points do (22). The paper's authors typed these weights in.

use geometry::{Hierarchy, Lattice, Prolongation};

use crate::bones::{Bone, Skin};

/// Regions of a point: pairs of a joint and a weight, joints ascending.
pub(crate) type Shares = Vec<(u32, f64)>;

/// Weights below this are no part of a region.
const LEAST: f64 = 0.04;
/// Regions of a point at most.
const MOST: usize = 4;
/// Sweeps that carry weights to points inside.
const SWEEPS: usize = 60;
/// A point of a cell that must be in a region, because the cell belongs to no other, gets at least this.
const FORCED: f64 = 0.05;

/// Regions of all lattice points. `at_skin` has the values of level 0 at the points of the skin; `chains` the lattice points of every
/// bone.
pub(crate) fn regions(
    lattice: &Lattice,
    at_skin: &Prolongation,
    skin: &Skin,
    bones: &[Bone],
    chains: &[Vec<u32>],
    joint_count: usize,
) -> Vec<Shares> {
    let count = lattice.points().len();
    let mut dense = vec![vec![0.0; joint_count]; count];
    let mut carried = vec![0.0; count];
    for (point, row) in skin.influences.iter().enumerate() {
        for (v, value) in at_skin.row(point).filter(|(v, value)| (*v as usize) < count && *value > 0.0) {
            let v = v as usize;
            carried[v] += value;
            row.iter().for_each(|&(joint, weight)| dense[v][joint as usize] += value * weight);
        }
    }
    // points on a bone turn with it; at a joint, with all bones that meet there
    let mut meeting = vec![0.0; count];
    for (bone, chain) in bones.iter().zip(chains) {
        for &v in chain {
            let v = v as usize;
            if meeting[v] == 0.0 {
                dense[v].fill(0.0);
            }
            meeting[v] += 1.0;
            dense[v][bone.joint] += 1.0;
            carried[v] = meeting[v];
        }
    }
    for (row, &carried) in dense.iter_mut().zip(&carried).filter(|(_, carried)| **carried > 0.0) {
        row.iter_mut().for_each(|weight| *weight /= carried);
    }
    fill_in(lattice, &mut dense, &carried);
    let mut shares: Vec<Shares> = dense.iter().map(|row| strongest(row)).collect();
    cover(lattice, &mut shares);
    shares.iter_mut().for_each(normalise);
    shares
}

/// Points that carry nothing get the mean of their neighbours.
fn fill_in(lattice: &Lattice, dense: &mut [Vec<f64>], carried: &[f64]) {
    let mut near = vec![Vec::new(); dense.len()];
    for [a, b] in lattice.edges() {
        near[a as usize].push(b as usize);
        near[b as usize].push(a as usize);
    }
    for _ in 0..SWEEPS {
        for v in (0..dense.len()).filter(|&v| carried[v] == 0.0) {
            let mut mean = vec![0.0; dense[v].len()];
            for &w in &near[v] {
                mean.iter_mut().zip(&dense[w]).for_each(|(mean, other)| *mean += other);
            }
            let sum: f64 = mean.iter().sum();
            if sum > 0.0 {
                mean.iter_mut().for_each(|weight| *weight /= sum);
            }
            dense[v] = mean;
        }
    }
}

fn strongest(row: &[f64]) -> Shares {
    let mut shares: Shares = row.iter().enumerate().map(|(joint, &w)| (joint as u32, w)).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    shares.truncate(MOST);
    let first = shares.first().copied();
    shares.retain(|share| share.1 >= LEAST || Some(*share) == first);
    shares.sort_by_key(|share| share.0);
    shares
}

fn weight_of(shares: &Shares, joint: u32) -> f64 {
    shares.iter().find(|share| share.0 == joint).map_or(0.0, |share| share.1)
}

/// Makes sure that every cell is in a region, and that every region of a point has a cell there.
fn cover(lattice: &Lattice, shares: &mut [Shares]) {
    for cell in lattice.cells() {
        let corners = cell.corners();
        let whole = |joint: u32| corners.iter().all(|&v| weight_of(&shares[v as usize], joint) > 0.0);
        let first = &shares[corners[0] as usize];
        if first.iter().any(|&(joint, _)| whole(joint)) {
            continue;
        }
        // the joint that most of the cell belongs to
        let mut all: Shares = Vec::new();
        for &(joint, weight) in corners.iter().flat_map(|&v| &shares[v as usize]) {
            match all.iter_mut().find(|share| share.0 == joint) {
                Some(share) => share.1 += weight,
                None => all.push((joint, weight)),
            }
        }
        let best = all.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        let Some(&(joint, _)) = best else { continue };
        for &v in corners {
            let own = &mut shares[v as usize];
            if weight_of(own, joint) <= 0.0 {
                own.retain(|share| share.0 != joint);
                own.push((joint, FORCED));
                own.sort_by_key(|share| share.0);
            }
        }
    }
    let mut has_cell: Vec<Vec<u32>> = vec![Vec::new(); shares.len()];
    for cell in lattice.cells() {
        for joint in cell_regions(cell.corners(), shares) {
            cell.corners().iter().for_each(|&v| has_cell[v as usize].push(joint));
        }
    }
    for (own, has_cell) in shares.iter_mut().zip(&has_cell) {
        own.retain(|share| has_cell.contains(&share.0));
    }
}

/// The regions that a cell belongs to: those of all its points.
pub(crate) fn cell_regions(corners: &[u32], shares: &[Shares]) -> Vec<u32> {
    let whole = |joint: u32| corners.iter().all(|&v| weight_of(&shares[v as usize], joint) > 0.0);
    let first = shares[corners[0] as usize].iter();
    first.map(|share| share.0).filter(|&joint| whole(joint)).collect()
}

/// Regions at a point of the finest level, between those of lattice points.
pub(crate) fn shares_at(hierarchy: &Hierarchy, lattice_shares: &[Shares], point: u32) -> Shares {
    let count = lattice_shares.len();
    let mut shares: Shares = Vec::new();
    for (v, value) in hierarchy.values().row(point as usize).filter(|(v, _)| (*v as usize) < count) {
        for &(joint, weight) in &lattice_shares[v as usize] {
            match shares.iter_mut().find(|share| share.0 == joint) {
                Some(share) => share.1 += value * weight,
                None => shares.push((joint, value * weight)),
            }
        }
    }
    shares.sort_by_key(|share| share.0);
    shares
}

fn normalise(shares: &mut Shares) {
    let sum: f64 = shares.iter().map(|share| share.1).sum();
    shares.iter_mut().for_each(|share| share.1 /= sum);
}
