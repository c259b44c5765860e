//! A static tree of boxes over things: what is nearest, what can be seen from afar.
//!
//! Halved along the longest side of the centres until a few things are left; nodes lie in one array, the children of i
//! at 2i+1 and 2i+2, so the tree needs no pointers and quantities per node can be summed from the back.

use crate::{Bounds, Vec3};

/// Things per leaf: fewer make the tree deep, more make its leaves blunt.
const LEAF: usize = 4;

/// A static tree over boxes.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// Which thing stands in each slot.
    order: Vec<u32>,
    nodes: Vec<Bounds>,
    leaves: usize,
}

impl Tree {
    pub(crate) fn new(boxes: &[Bounds]) -> Self {
        let leaves = boxes.len().div_ceil(LEAF).max(1).next_power_of_two();
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let centres: Vec<Vec3> = boxes.iter().map(Bounds::centre).collect();
        split(&mut order, 0, 0..leaves, leaves, boxes.len(), &centres);
        let mut tree = Self { order, nodes: vec![Bounds::EMPTY; 2 * leaves - 1], leaves };
        for leaf in 0..leaves {
            let all = tree.things(leaf).iter().fold(Bounds::EMPTY, |all, &t| all.union(boxes[t as usize]));
            tree.nodes[leaves - 1 + leaf] = all;
        }
        for node in (0..leaves - 1).rev() {
            tree.nodes[node] = tree.nodes[2 * node + 1].union(tree.nodes[2 * node + 2]);
        }
        tree
    }

    /// Boxes of all nodes, the root first.
    pub(crate) fn nodes(&self) -> &[Bounds] {
        &self.nodes
    }

    /// The number of the leaf that a node is, if it is one.
    pub(crate) fn leaf_of(&self, node: usize) -> Option<usize> {
        node.checked_sub(self.leaves - 1)
    }

    /// The things of a leaf.
    pub(crate) fn things(&self, leaf: usize) -> &[u32] {
        let count = self.order.len();
        &self.order[leaf * count / self.leaves..(leaf + 1) * count / self.leaves]
    }

    /// The thing with the smallest squared distance below `limit`; of equal ones, the smallest number. `distance` may
    /// not be smaller than the squared distance of the point to the thing's box.
    pub(crate) fn nearest(
        &self,
        point: Vec3,
        limit: f64,
        distance: impl FnMut(u32) -> f64,
    ) -> Option<(u32, f64)> {
        self.least(limit, |node| self.nodes[node].distance_squared(point), distance)
    }

    /// The thing with the smallest value below `limit`; of equal ones, the smallest number. `bound` says for a node what
    /// none of its things' values are below.
    pub(crate) fn least(
        &self,
        limit: f64,
        bound: impl Fn(usize) -> f64,
        mut value: impl FnMut(u32) -> f64,
    ) -> Option<(u32, f64)> {
        let mut best: Option<(u32, f64)> = None;
        let mut limit = limit;
        let mut stack = Stack::new();
        stack.push(0, bound(0));
        while let Some((node, low)) = stack.pop() {
            if low > limit {
                continue;
            }
            if let Some(leaf) = self.leaf_of(node) {
                for &thing in self.things(leaf) {
                    let v = value(thing);
                    if v < limit || (v == limit && best.is_some_and(|(other, _)| thing < other)) {
                        (limit, best) = (v, Some((thing, v)));
                    }
                }
                continue;
            }
            let [a, b] = [2 * node + 1, 2 * node + 2];
            let [low_a, low_b] = [bound(a), bound(b)];
            // the more promising child is popped first
            if low_a <= low_b {
                stack.push(b, low_b);
                stack.push(a, low_a);
            } else {
                stack.push(a, low_a);
                stack.push(b, low_b);
            }
        }
        best
    }

    /// Goes down wherever `descend` says so of a node, and visits the things of the leaves reached, in a fixed order.
    pub(crate) fn visit(&self, mut descend: impl FnMut(usize) -> bool, mut visit: impl FnMut(u32)) {
        let mut stack = Stack::new();
        stack.push(0, 0.0);
        while let Some((node, _)) = stack.pop() {
            if !descend(node) {
                continue;
            }
            match self.leaf_of(node) {
                Some(leaf) => self.things(leaf).iter().for_each(|&thing| visit(thing)),
                None => {
                    stack.push(2 * node + 2, 0.0);
                    stack.push(2 * node + 1, 0.0);
                }
            }
        }
    }
}

/// Nodes still to visit. The tree is balanced over at most 2³² things, so 64 places suffice.
struct Stack {
    nodes: [(usize, f64); 64],
    len: usize,
}

impl Stack {
    fn new() -> Self {
        Self { nodes: [(0, 0.0); 64], len: 0 }
    }

    fn push(&mut self, node: usize, key: f64) {
        self.nodes[self.len] = (node, key);
        self.len += 1;
    }

    fn pop(&mut self) -> Option<(usize, f64)> {
        self.len = self.len.checked_sub(1)?;
        Some(self.nodes[self.len])
    }
}

/// Sorts things into leaves: halves along the longest side of their centres, again and again. `first` is the slot of
/// `order[0]`.
fn split(
    order: &mut [u32],
    first: usize,
    range: std::ops::Range<usize>,
    leaves: usize,
    count: usize,
    centres: &[Vec3],
) {
    if range.len() < 2 {
        return;
    }
    let size = Bounds::of(order.iter().map(|&t| centres[t as usize])).size();
    let axis = (1..3).fold(0, |best, i| if size[i] > size[best] { i } else { best });
    let middle = range.start.midpoint(range.end);
    let at = middle * count / leaves - first;
    if at < order.len() {
        let of = |t: u32| centres[t as usize][axis];
        order.select_nth_unstable_by(at, |&s, &t| of(s).total_cmp(&of(t)).then(s.cmp(&t)));
    }
    let (low, high) = order.split_at_mut(at);
    rayon::join(
        || split(low, first, range.start..middle, leaves, count, centres),
        || split(high, first + at, middle..range.end, leaves, count, centres),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn finds_the_nearest_and_all_around() {
        let mut random = Random::new(3);
        for count in [1, 2, 5, 17, 333] {
            let boxes: Vec<Bounds> = (0..count)
                .map(|_| {
                    let p = random.vec3();
                    Bounds::of([p, p + 0.1 * random.vec3()])
                })
                .collect();
            let tree = Tree::new(&boxes);
            for _ in 0..50 {
                let p = 2.0 * random.vec3();
                let distance = |t: u32| boxes[t as usize].distance_squared(p);
                let best = (0..count as u32).min_by(|&s, &t| distance(s).total_cmp(&distance(t))).unwrap();
                assert_eq!(tree.nearest(p, f64::INFINITY, distance), Some((best, distance(best))));
                assert_eq!(tree.nearest(p, 0.5 * distance(best), distance), None);
                let mut found = Vec::new();
                tree.visit(|node| tree.nodes()[node].distance_squared(p) <= 0.3, |t| found.push(t));
                found.retain(|&t| distance(t) <= 0.3);
                found.sort_unstable();
                let all: Vec<u32> = (0..count as u32).filter(|&t| distance(t) <= 0.3).collect();
                assert_eq!(found, all);
            }
        }
    }

    #[test]
    fn a_tree_over_nothing_finds_nothing() {
        assert_eq!(Tree::new(&[]).nearest(Vec3::ZERO, f64::INFINITY, |_| 0.0), None);
    }
}
