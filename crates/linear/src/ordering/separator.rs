//! Small balanced vertex separators: a multilevel bisection.
//!
//! The graph is shrunk by contracting heavy edges until it is tiny, divided there by growing a region, and the division
//! is carried back level by level, improved at each by moving vertices out of the separator (Fiduccia and Mattheyses'
//! scheme, on vertices). Everything is a function of the graph: the "random" choices come from a fixed seed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::graph::Graph;

/// Which side of the separator a vertex is on.
pub(crate) const LEFT: u8 = 0;
pub(crate) const RIGHT: u8 = 1;
pub(crate) const MIDDLE: u8 = 2;

/// From this many vertices down, the best of several tries is taken: larger graphs are divided once, after contraction.
const MIDDLING: usize = 2000;
/// Contraction ends at this many vertices.
const COARSEST: usize = 80;
/// Regions grown on the coarsest graph, of which the best is kept.
const SEEDS: u32 = 4;
/// Largest share of the whole that one side may have.
const LARGEST_SIDE: f64 = 0.6;
/// Passes of improvement at each level.
const PASSES: usize = 8;

/// Divides the graph: for every vertex LEFT, RIGHT or MIDDLE, no edge between LEFT and RIGHT. The best of so many `tries`.
pub(crate) fn find_separator(graph: &Graph, tries: u32) -> Vec<u8> {
    let finest = Level {
        starts: graph.starts.iter().map(|&s| s as u32).collect(),
        neighbours: graph.neighbours.clone(),
        edge_weights: vec![1; graph.neighbours.len()],
        weights: vec![1; graph.count()],
    };
    divide(&finest, tries, 0x9e37_79b9)
}

/// Contracts to a middling size, takes the best of several divisions there, and carries it back.
fn divide(level: &Level, tries: u32, seed: u32) -> Vec<u8> {
    if level.count() > MIDDLING {
        let (coarse, map) = contract(level, seed);
        if coarse.count() * 20 < level.count() * 19 {
            return carry_back(level, &map, &divide(&coarse, tries, next_seed(seed)));
        }
    }
    let attempt = |k: u32| {
        let division = multilevel(level, seed ^ k.wrapping_mul(0x85eb_ca6b));
        (cost(level, &division), k, division)
    };
    // the number of the try decides between equals, whichever thread was first
    let best = (0..tries).into_par_iter().map(attempt).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    best.map(|(_, _, division)| division).unwrap_or_default()
}

/// A coarse division seen on the finer level, improved.
fn carry_back(level: &Level, map: &[u32], coarse: &[u8]) -> Vec<u8> {
    let mut division: Vec<u8> = map.iter().map(|&c| coarse[c as usize]).collect();
    improve(level, &mut division);
    division
}

fn next_seed(seed: u32) -> u32 {
    seed.wrapping_mul(0x2c1b_3c6d).wrapping_add(1)
}

/// A graph with weights, at one level of contraction.
struct Level {
    starts: Vec<u32>,
    neighbours: Vec<u32>,
    edge_weights: Vec<u32>,
    weights: Vec<u32>,
}

impl Level {
    fn count(&self) -> usize {
        self.weights.len()
    }

    fn range(&self, v: usize) -> std::ops::Range<usize> {
        self.starts[v] as usize..self.starts[v + 1] as usize
    }

    fn neighbours(&self, v: usize) -> &[u32] {
        &self.neighbours[self.range(v)]
    }

    fn total(&self) -> u64 {
        self.weights.iter().map(|&w| u64::from(w)).sum()
    }
}

/// Lower is better: the separator's weight, dearer when the sides are unlike.
fn cost(level: &Level, division: &[u8]) -> f64 {
    let sizes = sizes(level, division);
    let total = level.total().max(1) as f64;
    let imbalance = sizes[0].abs_diff(sizes[1]) as f64 / total;
    // an empty side divides nothing
    if sizes[0].min(sizes[1]) == 0 {
        f64::INFINITY
    } else {
        sizes[2] as f64 * (1.0 + 0.5 * imbalance * imbalance)
    }
}

fn sizes(level: &Level, division: &[u8]) -> [u64; 3] {
    let mut sizes = [0; 3];
    for (v, &side) in division.iter().enumerate() {
        sizes[side as usize] += u64::from(level.weights[v]);
    }
    sizes
}

fn multilevel(level: &Level, seed: u32) -> Vec<u8> {
    let n = level.count();
    if n > COARSEST {
        let (coarse, map) = contract(level, seed);
        if coarse.count() * 20 < n * 19 {
            return carry_back(level, &map, &multilevel(&coarse, next_seed(seed)));
        }
    }
    let mut random = Random(seed);
    let divisions = (0..SEEDS).map(|_| {
        let mut division = grow(level, random.below(n as u32));
        improve(level, &mut division);
        (cost(level, &division), division)
    });
    divisions.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, division)| division).unwrap_or_default()
}

/// A small deterministic generator (xorshift).
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(n)) >> 32) as u32
    }
}

/// Contracts a matching of heavy edges. Gives the smaller graph and the coarse vertex of each vertex.
fn contract(level: &Level, seed: u32) -> (Level, Vec<u32>) {
    let n = level.count();
    let mut random = Random(seed | 1);
    let mut visit: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        visit.swap(i, random.below(i as u32 + 1) as usize);
    }
    // vertices with few neighbours first: they have the fewest chances
    visit.sort_by_key(|&v| level.range(v as usize).len().min(16));
    // a coarse vertex must not outgrow its fellows, or balance becomes impossible
    let heaviest = (level.total() * 3 / (2 * COARSEST as u64)).max(2) as u32;
    let mut mate = vec![u32::MAX; n];
    for &v in &visit {
        let v = v as usize;
        if mate[v] != u32::MAX {
            continue;
        }
        let mut best: Option<(u32, Reverse<u32>, usize)> = None;
        for e in level.range(v) {
            let u = level.neighbours[e] as usize;
            if mate[u] != u32::MAX || level.weights[u] + level.weights[v] > heaviest {
                continue;
            }
            let candidate = (level.edge_weights[e], Reverse(level.weights[u]), u);
            if best.is_none_or(|b| (candidate.0, candidate.1) > (b.0, b.1)) {
                best = Some(candidate);
            }
        }
        let u = best.map_or(v, |b| b.2);
        mate[v] = u as u32;
        mate[u] = v as u32;
    }
    let mut map = vec![u32::MAX; n];
    let mut coarse_count = 0;
    for v in 0..n {
        if map[v] == u32::MAX {
            map[v] = coarse_count;
            map[mate[v] as usize] = coarse_count;
            coarse_count += 1;
        }
    }
    let m = coarse_count as usize;
    let mut coarse = Level {
        starts: Vec::with_capacity(m + 1),
        neighbours: Vec::with_capacity(level.neighbours.len() / 2),
        edge_weights: Vec::with_capacity(level.neighbours.len() / 2),
        weights: vec![0; m],
    };
    coarse.starts.push(0);
    let mut slot = vec![u32::MAX; m];
    for v in 0..n {
        let c = map[v];
        let u = mate[v] as usize;
        if u < v {
            continue;
        }
        let start = coarse.neighbours.len();
        let members = [v, u];
        for &member in &members[..if u == v { 1 } else { 2 }] {
            coarse.weights[c as usize] += level.weights[member];
            for e in level.range(member) {
                let d = map[level.neighbours[e] as usize];
                if d == c {
                    continue;
                }
                let s = slot[d as usize];
                if s != u32::MAX && s as usize >= start {
                    coarse.edge_weights[s as usize] += level.edge_weights[e];
                } else {
                    slot[d as usize] = coarse.neighbours.len() as u32;
                    coarse.neighbours.push(d);
                    coarse.edge_weights.push(level.edge_weights[e]);
                }
            }
        }
        coarse.starts.push(coarse.neighbours.len() as u32);
    }
    (coarse, map)
}

/// Grows a region from `seed`, breadth first, to half the weight; its boundary is the separator.
fn grow(level: &Level, seed: u32) -> Vec<u8> {
    let n = level.count();
    let half = level.total() / 2;
    let mut division = vec![RIGHT; n];
    let mut queue = vec![seed];
    let mut queued = vec![false; n];
    queued[seed as usize] = true;
    let (mut head, mut next, mut weight) = (0, 0, 0);
    while weight < half {
        if head == queue.len() {
            // another component
            while next < n && queued[next] {
                next += 1;
            }
            if next == n {
                break;
            }
            queued[next] = true;
            queue.push(next as u32);
        }
        let v = queue[head] as usize;
        head += 1;
        division[v] = LEFT;
        weight += u64::from(level.weights[v]);
        for &u in level.neighbours(v) {
            if !std::mem::replace(&mut queued[u as usize], true) {
                queue.push(u);
            }
        }
    }
    // the lighter of the two boundaries
    let boundary = |side: u8| {
        let division = &division;
        (0..n).filter(move |&v| {
            division[v] == side && level.neighbours(v).iter().any(|&u| division[u as usize] != side)
        })
    };
    let weight_of = |side| boundary(side).map(|v| u64::from(level.weights[v])).sum::<u64>();
    let side = if weight_of(LEFT) <= weight_of(RIGHT) { LEFT } else { RIGHT };
    let middle: Vec<usize> = boundary(side).collect();
    for v in middle {
        division[v] = MIDDLE;
    }
    division
}

/// Improves a division in passes, until one brings nothing.
fn improve(level: &Level, division: &mut [u8]) {
    let mut pass = Pass::new(level);
    for _ in 0..PASSES {
        if !pass.run(division) {
            break;
        }
    }
}

/// One pass moves each vertex at most once, follows losses for a while, and goes back to the best point seen.
struct Pass<'a> {
    level: &'a Level,
    largest: u64,
    /// Weight of a separator vertex's neighbours on either side: what a move to the other side would pull in.
    pull: Vec<[u32; 2]>,
    moved: Vec<bool>,
    /// Gain, vertex; entries grow stale and are checked when popped.
    queues: [BinaryHeap<(i64, Reverse<u32>)>; 2],
    log: Vec<(u32, u8)>,
}

impl<'a> Pass<'a> {
    fn new(level: &'a Level) -> Self {
        let total = level.total();
        Self {
            level,
            largest: (total as f64 * LARGEST_SIDE) as u64 + 1,
            pull: vec![[0; 2]; level.count()],
            moved: vec![false; level.count()],
            queues: [BinaryHeap::new(), BinaryHeap::new()],
            log: Vec::new(),
        }
    }

    /// What the separator loses if v moves to `side`.
    fn gain(&self, v: usize, side: u8) -> i64 {
        i64::from(self.level.weights[v]) - i64::from(self.pull[v][1 - side as usize])
    }

    fn enqueue(&mut self, v: usize) {
        for side in [LEFT, RIGHT] {
            let gain = self.gain(v, side);
            self.queues[side as usize].push((gain, Reverse(v as u32)));
        }
    }

    fn measure(&mut self, v: usize, division: &[u8]) {
        let mut pull = [0; 2];
        for &u in self.level.neighbours(v) {
            let side = division[u as usize];
            if side != MIDDLE {
                pull[side as usize] += self.level.weights[u as usize];
            }
        }
        self.pull[v] = pull;
    }

    /// The best allowed move of a queue, left in the queue.
    fn best(&mut self, side: u8, sizes: &[u64; 3], division: &[u8]) -> Option<(i64, u32)> {
        while let Some(&(gain, Reverse(v))) = self.queues[side as usize].peek() {
            let at = v as usize;
            let fits = sizes[side as usize] + u64::from(self.level.weights[at]) <= self.largest;
            if division[at] == MIDDLE && !self.moved[at] && fits && self.gain(at, side) == gain {
                return Some((gain, v));
            }
            self.queues[side as usize].pop();
        }
        None
    }

    /// Whether the pass made the division better.
    fn run(&mut self, division: &mut [u8]) -> bool {
        let level = self.level;
        let n = level.count();
        self.moved.fill(false);
        self.log.clear();
        self.queues.iter_mut().for_each(BinaryHeap::clear);
        for v in 0..n {
            if division[v] == MIDDLE {
                self.measure(v, division);
                self.enqueue(v);
            }
        }
        let mut sizes = sizes(level, division);
        let quality = |sizes: &[u64; 3]| (sizes[2], sizes[0].abs_diff(sizes[1]));
        let start = quality(&sizes);
        let (mut best, mut best_length) = (start, 0);
        let backoff = (n / 50).clamp(30, 400);
        let mut idle = 0;
        while idle < backoff {
            let options = [self.best(LEFT, &sizes, division), self.best(RIGHT, &sizes, division)];
            let (side, v) = match options {
                [None, None] => break,
                [Some((_, v)), None] => (LEFT, v),
                [None, Some((_, v))] => (RIGHT, v),
                [Some((a, v)), Some((b, u))] => {
                    if a > b || (a == b && sizes[0] <= sizes[1]) {
                        (LEFT, v)
                    } else {
                        (RIGHT, u)
                    }
                }
            };
            self.apply(v as usize, side, division, &mut sizes);
            let now = quality(&sizes);
            if now < best {
                (best, best_length, idle) = (now, self.log.len(), 0);
            } else {
                idle += 1;
            }
        }
        // back to the best point: the log holds each changed vertex with its side before
        for &(v, side) in self.log[best_length..].iter().rev() {
            division[v as usize] = side;
        }
        best < start
    }

    /// Moves v out of the separator to `side`, and its neighbours on the other side into it.
    fn apply(&mut self, v: usize, side: u8, division: &mut [u8], sizes: &mut [u64; 3]) {
        let level = self.level;
        let other = 1 - side;
        let weight = level.weights[v];
        division[v] = side;
        self.moved[v] = true;
        self.log.push((v as u32, MIDDLE));
        sizes[MIDDLE as usize] -= u64::from(weight);
        sizes[side as usize] += u64::from(weight);
        for &u in level.neighbours(v) {
            let u = u as usize;
            if division[u] == MIDDLE {
                self.pull[u][side as usize] += weight;
                let gain = self.gain(u, other);
                self.queues[other as usize].push((gain, Reverse(u as u32)));
            } else if division[u] == other {
                let pulled = level.weights[u];
                division[u] = MIDDLE;
                self.log.push((u as u32, other));
                sizes[other as usize] -= u64::from(pulled);
                sizes[MIDDLE as usize] += u64::from(pulled);
                self.measure(u, division);
                self.enqueue(u);
                for &w in level.neighbours(u) {
                    let w = w as usize;
                    if division[w] == MIDDLE && w != u {
                        self.pull[w][other as usize] -= pulled;
                        let gain = self.gain(w, side);
                        self.queues[side as usize].push((gain, Reverse(w as u32)));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of vertices, or vertices without edges.
    fn level(weights: &[u32], is_path: bool) -> Level {
        let n = weights.len() as u32;
        let of = |v: u32| -> Vec<u32> {
            let both = [v.checked_sub(1), (v + 1 < n).then_some(v + 1)];
            if is_path { both.into_iter().flatten().collect() } else { Vec::new() }
        };
        let mut starts = vec![0];
        let mut neighbours = Vec::new();
        for v in 0..n {
            neighbours.extend(of(v));
            starts.push(neighbours.len() as u32);
        }
        Level { starts, edge_weights: vec![1; neighbours.len()], neighbours, weights: weights.to_vec() }
    }

    /// The separator's weight, times 1 + ½ ((left − right)/all)².
    #[test]
    fn a_division_costs_its_separator_and_its_imbalance() {
        let level = level(&[1, 2, 3, 4], true);
        for (division, expected) in [
            ([LEFT, LEFT, MIDDLE, RIGHT], 3.0 * (1.0 + 0.5 * 0.01)),
            ([LEFT, MIDDLE, RIGHT, RIGHT], 2.0 * (1.0 + 0.5 * 0.36)),
            ([LEFT, LEFT, LEFT, LEFT], f64::INFINITY),
            ([MIDDLE, RIGHT, RIGHT, RIGHT], f64::INFINITY),
        ] {
            let found = cost(&level, &division);
            assert!(found == expected || (found - expected).abs() < 1e-12, "{division:?}: {found}");
        }
    }

    /// A region is grown to half of the weight, through all components, and what bounds it is the separator.
    #[test]
    fn a_region_grows_to_half_of_the_weight() {
        let size = |division: &[u8], side: u8| division.iter().filter(|&&s| s == side).count();
        for (weights, is_path, seed, expected) in [
            (&[1; 6][..], true, 0, [2, 3, 1]),
            (&[1; 6], false, 0, [3, 3, 0]),
            (&[1; 6], false, 5, [3, 3, 0]),
            (&[4, 1, 1, 1, 1], true, 0, [1, 3, 1]),
        ] {
            let division = grow(&level(weights, is_path), seed);
            assert_eq!(
                [LEFT, RIGHT, MIDDLE].map(|side| size(&division, side)),
                expected,
                "{weights:?} {is_path} {seed}"
            );
        }
    }
}
