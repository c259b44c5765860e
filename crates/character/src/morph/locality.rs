//! Where in the flesh which joints count: pose weights per vertex (the paper's outlook; Kurihara 2004).
//!
//! Flesh of a joint heeds the joints within a few links of it: a wrist does not move a chest. Joints whose flesh heeds the same ones
//! are a region; regions share points by the weights of their joints, so they are a partition of unity and forces, masses and detail are
//! sums over them. Differs: Kurihara's weights are any numbers, one set to a vertex; here they are 0 or 1 to a joint, and skin
//! weights make them smooth.

/// A number of a region and how much of a place is of it; they sum to one.
pub(crate) type Shares = Vec<(u32, f64)>;

/// Regions of flesh that heed the same joints.
pub(crate) struct Locality {
    /// For every region and joint whether it counts there.
    pub(crate) heeded: Vec<Vec<bool>>,
    region_of: Vec<u32>,
}

impl Locality {
    /// One region in which every joint counts.
    pub(crate) fn whole(joints: usize) -> Self {
        Self { heeded: vec![vec![true; joints]], region_of: vec![0; joints] }
    }

    /// Flesh of a joint heeds those at most `reach` links away, as far as targets move them.
    pub(crate) fn within(reach: usize, parents: &[Option<usize>], moved: &[bool]) -> Self {
        let count = parents.len();
        let mut this = Self { heeded: Vec::new(), region_of: Vec::with_capacity(count) };
        for joint in 0..count {
            let heeds: Vec<bool> =
                (0..count).map(|other| moved[other] && links(parents, joint, other) <= reach).collect();
            let region = this.heeded.iter().position(|known| *known == heeds);
            this.region_of.push(region.unwrap_or(this.heeded.len()) as u32);
            if region.is_none() {
                this.heeded.push(heeds);
            }
        }
        this
    }

    /// How many regions.
    pub(crate) fn len(&self) -> usize {
        self.heeded.len()
    }

    /// The regions of a place from its joints and their weights.
    pub(crate) fn shares(&self, joints: &[(u32, f64)]) -> Shares {
        let mut shares = Shares::new();
        for &(joint, weight) in joints {
            add(&mut shares, self.region_of[joint as usize], weight);
        }
        if shares.is_empty() {
            shares.push((0, 1.0));
        }
        let sum: f64 = shares.iter().map(|share| share.1).sum();
        shares.iter_mut().for_each(|share| share.1 /= sum);
        shares
    }
}

/// The mean of a tet's corners.
pub(crate) fn mean_shares(corners: [&Shares; 4]) -> Shares {
    let mut shares = Shares::new();
    for &(region, share) in corners.into_iter().flatten() {
        add(&mut shares, region, 0.25 * share);
    }
    shares
}

/// How much of a place is of a region.
pub(crate) fn share_of(shares: &Shares, region: usize) -> f64 {
    shares.iter().find(|share| share.0 as usize == region).map_or(0.0, |share| share.1)
}

fn add(shares: &mut Shares, region: u32, by: f64) {
    match shares.iter_mut().find(|share| share.0 == region) {
        Some(share) => share.1 += by,
        None => shares.push((region, by)),
    }
}

/// Links between two joints; those of different roots are never near.
fn links(parents: &[Option<usize>], a: usize, b: usize) -> usize {
    let above = |mut joint: usize| {
        let mut chain = vec![joint];
        while let Some(parent) = parents[joint] {
            chain.push(parent);
            joint = parent;
        }
        chain
    };
    let (from, to) = (above(a), above(b));
    let shared = from.iter().rev().zip(to.iter().rev()).take_while(|(a, b)| a == b).count();
    if shared == 0 { usize::MAX } else { from.len() + to.len() - 2 * shared }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flesh_heeds_joints_that_are_near_and_shares_sum_to_one() {
        // a chest with two arms: 0 chest, 1 2 3 left, 4 5 6 right, and a tail on its own
        let parents = [None, Some(0), Some(1), Some(2), Some(0), Some(4), Some(5), None];
        assert_eq!(links(&parents, 3, 6), 6);
        assert_eq!(links(&parents, 2, 7), usize::MAX);
        let moved = [true, true, true, true, true, true, true, false];
        let local = Locality::within(1, &parents, &moved);
        let heeds = |joint: usize| -> Vec<usize> {
            let region = local.region_of[joint] as usize;
            (0..8).filter(|&other| local.heeded[region][other]).collect()
        };
        assert_eq!(heeds(0), [0, 1, 4]);
        assert_eq!(heeds(3), [2, 3]);
        assert!(heeds(7).is_empty());
        let shares = local.shares(&[(2, 0.5), (3, 0.3), (2, 0.2)]);
        assert_eq!(shares.len(), 2);
        assert!((shares.iter().map(|share| share.1).sum::<f64>() - 1.0).abs() < 1e-15);
        // where no target moves a joint, all that heed nothing are one
        let still = Locality::within(1, &parents, &[false; 8]);
        assert_eq!(still.len(), 1);
    }
}
