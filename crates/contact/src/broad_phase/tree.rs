//! A tree of boxes that is refitted as things move, and built anew when they have moved too far.
//!
//! A thing that moves has two boxes: of where it starts and of how it moves. Two things meet if their places do when each
//! may go as far as the *difference* of the motions allows: cloth that falls as a whole meets nothing of itself, however fast.
//!
//! Leaves hold a few things each; the tree over them is balanced and lies in one array (children of node i at 2i+1 and
//! 2i+2), so refitting is one sweep from the back. Boxes are single precision, rounded outwards: half the memory, one
//! SIMD register per corner. What is found does not depend on the tree's shape.

use std::sync::atomic::{AtomicUsize, Ordering};

use glam::Vec3A;
use rayon::prelude::*;

/// A box that surely holds what it should.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Box3 {
    pub(crate) min: Vec3A,
    pub(crate) max: Vec3A,
}

impl Box3 {
    pub(crate) const EMPTY: Self = Self { min: Vec3A::INFINITY, max: Vec3A::NEG_INFINITY };

    pub(crate) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Sum of its sides: how likely it is met.
    fn extent(&self) -> f64 {
        f64::from((self.max - self.min).max(Vec3A::ZERO).element_sum())
    }
}

/// Everywhere that something may be while it moves on a straight line, at the same pace as all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Swept {
    pub(crate) place: Box3,
    pub(crate) motion: Box3,
}

impl Swept {
    pub(crate) const EMPTY: Self = Self { place: Box3::EMPTY, motion: Box3::EMPTY };

    pub(crate) fn union(self, other: Self) -> Self {
        Self { place: self.place.union(other.place), motion: self.motion.union(other.motion) }
    }

    /// Whether the two may be at one place at one time. With p and q their places and d and e their motions, p − q + t(d − e)
    /// is zero for no t in [0, 1] if it has one sign at both ends of all.
    fn meets(&self, other: &Self) -> bool {
        let least = (self.motion.min - other.motion.max).min(Vec3A::ZERO);
        let most = (self.motion.max - other.motion.min).max(Vec3A::ZERO);
        let from_above = (self.place.min + least).cmple(other.place.max);
        let from_below = other.place.min.cmple(self.place.max + most);
        (from_above & from_below).all()
    }

    fn extent(&self) -> f64 {
        self.place.extent() + self.motion.extent()
    }
}

/// Fewer make the tree deep, more make its leaves blunt: on a folded sheet of 10,000 vertices 1, 4, 8 and 16 took 43,
/// 31, 28 and 25 ms, of 40,000 vertices 175, 121, 106 and 107.
const LEAF: usize = 8;
/// Built anew when boxes of inner nodes have grown this much against those of the things.
const WORN: f64 = 1.5;

#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Which thing stands in each slot.
    order: Vec<u32>,
    /// Boxes of the things, slot by slot.
    boxes: Vec<Swept>,
    nodes: Vec<Swept>,
    /// Whether a node holds anything that moves freely.
    lively: Vec<bool>,
    leaves: usize,
    /// Where the slots of each leaf begin, and where the last ends.
    starts: Vec<u32>,
    /// Inner extent over that of the things, when built.
    fresh: f64,
}

impl Tree {
    /// Fits the tree to the things' boxes. Returns true if it was built anew.
    pub(crate) fn fit(&mut self, boxes: &[Swept], is_free: impl Fn(u32) -> bool) -> bool {
        if self.order.len() == boxes.len() && !boxes.is_empty() {
            self.refit(boxes);
            if self.wear() <= WORN * self.fresh {
                return false;
            }
        }
        self.build(boxes, is_free);
        true
    }

    fn build(&mut self, boxes: &[Swept], is_free: impl Fn(u32) -> bool) {
        let count = boxes.len();
        self.leaves = count.div_ceil(LEAF).max(1).next_power_of_two();
        self.order = (0..count as u32).collect();
        // twice the centre is as good as the centre
        let centres: Vec<Vec3A> = boxes.iter().map(|b| b.place.min + b.place.max).collect();
        self.starts = (0..=self.leaves).map(|leaf| (leaf * count / self.leaves) as u32).collect();
        split(&mut self.order, 0, 0..self.leaves, &self.starts, &centres);
        self.refit(boxes);
        self.fresh = self.wear();
        self.lively = vec![false; self.nodes.len()];
        for leaf in 0..self.leaves {
            self.lively[self.leaves - 1 + leaf] = self.order[self.slots(leaf)].iter().any(|&t| is_free(t));
        }
        for node in (0..self.leaves - 1).rev() {
            self.lively[node] = self.lively[2 * node + 1] || self.lively[2 * node + 2];
        }
    }

    fn refit(&mut self, boxes: &[Swept]) {
        self.boxes.clear();
        self.boxes.extend(self.order.iter().map(|&t| boxes[t as usize]));
        self.nodes.clear();
        self.nodes.resize(2 * self.leaves - 1, Swept::EMPTY);
        for leaf in 0..self.leaves {
            self.nodes[self.leaves - 1 + leaf] =
                self.boxes[self.slots(leaf)].iter().fold(Swept::EMPTY, |all, b| all.union(*b));
        }
        for node in (0..self.leaves - 1).rev() {
            self.nodes[node] = self.nodes[2 * node + 1].union(self.nodes[2 * node + 2]);
        }
    }

    fn wear(&self) -> f64 {
        let sum = |boxes: &[Swept]| boxes.iter().map(Swept::extent).sum::<f64>();
        sum(&self.nodes) / sum(&self.boxes).max(f64::MIN_POSITIVE)
    }

    fn slots(&self, leaf: usize) -> std::ops::Range<usize> {
        self.starts[leaf] as usize..self.starts[leaf + 1] as usize
    }

    fn leaf_of(&self, node: usize) -> Option<usize> {
        node.checked_sub(self.leaves - 1)
    }

    /// Every two different things whose boxes overlap, once, the smaller number first, as far as `keep` says; in no order. `None`
    /// where there are more than `most`.
    pub(crate) fn pairs_within(
        &self,
        most: usize,
        keep: impl Fn(u32, u32) -> bool + Sync,
    ) -> Option<Vec<[u32; 2]>> {
        let meet = |a: usize, b: usize, next: &mut Vec<(usize, usize)>, found: &mut Vec<[u32; 2]>| {
            if !(self.lively[a] || self.lively[b]) || !self.nodes[a].meets(&self.nodes[b]) {
                return;
            }
            let Some((leaf_a, leaf_b)) = self.leaf_of(a).zip(self.leaf_of(b)) else {
                let ([a0, a1], [b0, b1]) = ([2 * a + 1, 2 * a + 2], [2 * b + 1, 2 * b + 2]);
                next.extend([(a0, b0), (a0, b1), (a1, b1)]);
                if a != b {
                    next.push((a1, b0));
                }
                return;
            };
            let (slots_a, slots_b) = (self.slots(leaf_a), self.slots(leaf_b));
            for i in slots_a {
                let (one, s) = (self.boxes[i], self.order[i]);
                if !one.meets(&self.nodes[b]) {
                    continue;
                }
                let from = if a == b { i + 1 } else { slots_b.start };
                for j in from..slots_b.end {
                    let t = self.order[j];
                    if one.meets(&self.boxes[j]) && keep(s, t) {
                        found.push([s.min(t), s.max(t)]);
                    }
                }
            }
        };
        traverse(self.order.is_empty(), most, meet)
    }

    /// Every thing of this tree with every thing of another whose boxes overlap, as far as `keep` says; in no
    /// order. `None` where there are more than `most`.
    pub(crate) fn pairs_with(
        &self,
        other: &Self,
        most: usize,
        keep: impl Fn(u32, u32) -> bool + Sync,
    ) -> Option<Vec<[u32; 2]>> {
        let meet = |a: usize, b: usize, next: &mut Vec<(usize, usize)>, found: &mut Vec<[u32; 2]>| {
            if !(self.lively[a] || other.lively[b]) || !self.nodes[a].meets(&other.nodes[b]) {
                return;
            }
            match (self.leaf_of(a), other.leaf_of(b)) {
                (None, None) => {
                    let ([a0, a1], [b0, b1]) = ([2 * a + 1, 2 * a + 2], [2 * b + 1, 2 * b + 2]);
                    next.extend([(a0, b0), (a0, b1), (a1, b0), (a1, b1)]);
                }
                (None, Some(_)) => next.extend([(2 * a + 1, b), (2 * a + 2, b)]),
                (Some(_), None) => next.extend([(a, 2 * b + 1), (a, 2 * b + 2)]),
                (Some(leaf_a), Some(leaf_b)) => {
                    let slots_b = other.slots(leaf_b);
                    for i in self.slots(leaf_a) {
                        let (one, s) = (self.boxes[i], self.order[i]);
                        if !one.meets(&other.nodes[b]) {
                            continue;
                        }
                        for j in slots_b.clone() {
                            let t = other.order[j];
                            if one.meets(&other.boxes[j]) && keep(s, t) {
                                found.push([s, t]);
                            }
                        }
                    }
                }
            }
        };
        traverse(self.order.is_empty() || other.order.is_empty(), most, meet)
    }
}

/// Walks down both trees from their roots; `meet` handles two nodes, and adds further ones or what it found. `None` once more than
/// `most` are found, whichever thread found them.
fn traverse(
    is_empty: bool,
    most: usize,
    meet: impl Fn(usize, usize, &mut Vec<(usize, usize)>, &mut Vec<[u32; 2]>) + Sync,
) -> Option<Vec<[u32; 2]>> {
    if is_empty {
        return Some(Vec::new());
    }
    // enough tasks to share, from the top
    let (mut tasks, mut found) = (vec![(0, 0)], Vec::new());
    for _ in 0..6 {
        let mut next = Vec::new();
        tasks.iter().for_each(|&(a, b)| meet(a, b, &mut next, &mut found));
        tasks = next;
    }
    let total = AtomicUsize::new(found.len());
    let parts: Vec<Vec<[u32; 2]>> = tasks
        .into_par_iter()
        .map(|task| {
            let (mut open, mut found, mut told) = (vec![task], Vec::new(), 0);
            while let Some((a, b)) = open.pop() {
                meet(a, b, &mut open, &mut found);
                if found.len() > told {
                    total.fetch_add(found.len() - told, Ordering::Relaxed);
                    told = found.len();
                    if total.load(Ordering::Relaxed) > most {
                        break;
                    }
                }
            }
            found
        })
        .collect();
    if total.into_inner() > most {
        return None;
    }
    parts.iter().for_each(|part| found.extend_from_slice(part));
    Some(found)
}

/// Sorts things into leaves: halves along the longest side of their centres, again and again. `starts` tells where each
/// leaf begins; `first` is the slot of `order[0]`.
fn split(order: &mut [u32], first: usize, leaves: std::ops::Range<usize>, starts: &[u32], centres: &[Vec3A]) {
    if leaves.len() < 2 {
        return;
    }
    let of = |t: u32| centres[t as usize];
    let (min, max) = order
        .iter()
        .fold((Vec3A::INFINITY, Vec3A::NEG_INFINITY), |(min, max), &t| (min.min(of(t)), max.max(of(t))));
    let size = max - min;
    let axis = (1..3).fold(0, |best, i| if size[i] > size[best] { i } else { best });
    let middle = (leaves.start + leaves.end) / 2;
    let at = starts[middle] as usize - first;
    if at < order.len() {
        order.select_nth_unstable_by(at, |&s, &t| of(s)[axis].total_cmp(&of(t)[axis]).then(s.cmp(&t)));
    }
    let (low, high) = order.split_at_mut(at);
    rayon::join(
        || split(low, first, leaves.start..middle, starts, centres),
        || split(high, first + at, middle..leaves.end, starts, centres),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Random;

    fn boxes(random: &mut Random, count: usize) -> Vec<Swept> {
        (0..count)
            .map(|_| {
                let min = random.vec3().as_vec3a();
                let place = Box3 { min, max: min + 0.1 * (random.vec3().as_vec3a() + Vec3A::ONE) };
                let step = 0.1 * random.vec3().as_vec3a();
                Swept { place, motion: Box3 { min: step, max: step } }
            })
            .collect()
    }

    #[test]
    fn what_moves_together_does_not_meet() {
        let at = |place: Vec3A, motion: Vec3A| Swept {
            place: Box3 { min: place, max: place + Vec3A::ONE },
            motion: Box3 { min: motion, max: motion },
        };
        let (still, beside) = (at(Vec3A::ZERO, Vec3A::ZERO), 2.0 * Vec3A::X);
        assert!(still.meets(&at(beside, -2.0 * Vec3A::X)), "head on");
        assert!(!still.meets(&at(beside, 2.0 * Vec3A::X)), "away");
        let fast = 100.0 * Vec3A::X;
        assert!(!at(Vec3A::ZERO, fast).meets(&at(beside, fast)), "together");
        assert!(at(Vec3A::ZERO, fast).meets(&at(beside, 0.5 * fast)), "overtaken");
        assert!(
            !Swept::EMPTY.meets(&still) && !still.meets(&Swept::EMPTY) && !Swept::EMPTY.meets(&Swept::EMPTY)
        );
    }

    #[test]
    fn finds_all_pairs_whatever_the_count_and_wear() {
        let mut random = Random::new(41);
        for count in [0, 1, 2, 3, 5, 17, 64, 333] {
            let (mut tree, mut other) = (Tree::default(), Tree::default());
            for round in 0..3 {
                // the second and third time everything has moved: refitted or rebuilt
                let (a, b) = (boxes(&mut random, count), boxes(&mut random, count / 2 + 1));
                tree.fit(&a, |t| t % 3 == 0);
                other.fit(&b, |_| false);
                let keep = |s: u32, t: u32| s.is_multiple_of(3) || t.is_multiple_of(3);
                let mut within = Vec::new();
                let mut between = Vec::new();
                for i in 0..count {
                    for j in 0..i {
                        if a[i].meets(&a[j]) && keep(i as u32, j as u32) {
                            within.push([j as u32, i as u32]);
                        }
                    }
                    for (j, other) in b.iter().enumerate() {
                        if a[i].meets(other) && i % 3 == 0 {
                            between.push([i as u32, j as u32]);
                        }
                    }
                }
                within.sort_unstable();
                let sorted = |mut pairs: Vec<[u32; 2]>| {
                    pairs.sort_unstable();
                    pairs
                };
                let most = within.len();
                assert_eq!(sorted(tree.pairs_within(most, keep).unwrap()), within, "{count} {round}");
                assert!(most == 0 || tree.pairs_within(most - 1, keep).is_none(), "one too many");
                let found = tree.pairs_with(&other, between.len(), |s, _| s % 3 == 0).unwrap();
                assert_eq!(sorted(found), between, "{count} {round}");
            }
        }
    }

    #[test]
    fn refits_small_motion_and_rebuilds_after_large() {
        let mut random = Random::new(42);
        let mut place = boxes(&mut random, 500);
        let mut tree = Tree::default();
        assert!(tree.fit(&place, |_| true));
        for b in &mut place {
            let step = 0.01 * random.vec3().as_vec3a();
            b.place = Box3 { min: b.place.min + step, max: b.place.max + step };
        }
        assert!(!tree.fit(&place, |_| true));
        assert!(tree.fit(&boxes(&mut random, 500), |_| true));
    }
}
