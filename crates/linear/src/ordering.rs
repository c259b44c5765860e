//! In which order to eliminate: nested dissection, with minimum degree on the small pieces.
//!
//! Each separator is eliminated after the two sides that it parts, so neither side fills the other and both can be
//! worked on at once.
//!
//! A constraint row needs a good part of its support to be eliminated before it: then its pivot is negative and not small,
//! and what it leaves behind keeps the points' matrix positive definite. The earlier it goes, the fewer fronts it
//! burdens; what is left of its support must be near, or it couples what has nothing to do with each other. So a row is
//! eliminated with the smallest region that, with the separators around it, holds all of its support.

mod graph;
mod separator;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;

use separator::{LEFT, MIDDLE, RIGHT, find_separator};

pub(crate) use graph::Graph;

/// Regions up to this many points are ordered by minimum degree.
const LEAF: usize = 60;
/// Regions from this many nodes on are dissected side by side.
const PARALLEL: usize = 1000;
/// Share of a row (of its squared weights) that is eliminated before it, at least.
const ROW_SHARE: f64 = 0.25;
/// A row over more than this share of a region's points crosses every separator: looking for one that it does not cross
/// would only mislead.
const WIDE_ROW: f64 = 0.25;

/// How many separators are tried for each that is taken, when an order is to serve for long, and when it is to be found
/// quickly: a tenth of the time, a few percent more operations.
pub(crate) const THOROUGH_TRIES: u32 = 10;
pub(crate) const QUICK_TRIES: u32 = 1;

/// What constraint rows rest on: for each, its points and squared weights.
pub(crate) type Supports = [Vec<(u32, f64)>];

/// How rows take part in finding separators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowOrdering {
    /// Not at all: separators are the smallest for the points.
    Excluded,
    /// As nodes beside the points: separators run where few rows cross them.
    Included,
}

/// An order of elimination (node at each position) for a graph of points and, behind them, constraint rows.
///
/// `points` is the graph of the points alone; the node of a row is `points.count() + row`.
pub(crate) fn order(points: &Graph, supports: &Supports, rows: RowOrdering, tries: u32) -> Vec<u32> {
    let count = points.count();
    let dissection = Dissection { count, supports, tries };
    let region = match rows {
        RowOrdering::Excluded => dissection.dissect(points, (0..count as u32).collect()),
        RowOrdering::Included => {
            let near: Vec<Vec<u32>> = supports.iter().map(|s| s.iter().map(|e| e.0).collect()).collect();
            let together = points.with_rows(&near);
            dissection.dissect(&together, (0..together.count() as u32).collect())
        }
    };
    let mut flat =
        Flat { of_node: vec![u32::MAX; count + supports.len()], parents: Vec::new(), nodes: Vec::new() };
    flat.add(region);
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); flat.parents.len()];
    for (r, support) in supports.iter().enumerate() {
        if flat.of_node[count + r] == u32::MAX {
            rows[flat.home(support) as usize].push((count + r) as u32);
        }
    }
    flat.nodes.into_iter().zip(rows).flat_map(|(nodes, rows)| nodes.into_iter().chain(rows)).collect()
}

/// A piece of the graph: what is eliminated before it, and its own nodes in order.
struct Region {
    sides: Vec<Region>,
    nodes: Vec<u32>,
}

/// Regions in order of elimination.
struct Flat {
    of_node: Vec<u32>,
    parents: Vec<u32>,
    nodes: Vec<Vec<u32>>,
}

impl Flat {
    /// Appends a region after its sides; gives its index.
    fn add(&mut self, region: Region) -> u32 {
        let sides: Vec<u32> = region.sides.into_iter().map(|side| self.add(side)).collect();
        let index = self.parents.len() as u32;
        for side in sides {
            self.parents[side as usize] = index;
        }
        for &node in &region.nodes {
            self.of_node[node as usize] = index;
        }
        self.parents.push(index);
        self.nodes.push(region.nodes);
        index
    }

    /// The smallest region that holds a good part of a support and, of the rest, leaves nothing but what lies in the
    /// separators around it.
    fn home(&self, support: &[(u32, f64)]) -> u32 {
        let top = self.parents.len() as u32 - 1;
        let total: f64 = support.iter().map(|entry| entry.1).sum();
        // how much of it lies in and below each region on the way up from its points
        let mut below = std::collections::BTreeMap::<u32, (usize, f64)>::new();
        for &(point, weight) in support {
            let mut region = self.of_node[point as usize];
            loop {
                let sum = below.entry(region).or_default();
                *sum = (sum.0 + 1, sum.1 + weight);
                if self.parents[region as usize] == region {
                    break;
                }
                region = self.parents[region as usize];
            }
        }
        let mut home = top;
        loop {
            let own = support.iter().filter(|entry| self.of_node[entry.0 as usize] == home).count();
            let deeper = below.get(&home).map_or(0, |sum| sum.0) - own;
            let holds = |(&region, &(points, weight)): (&u32, &(usize, f64))| {
                let inside = region != home && self.parents[region as usize] == home;
                (inside && points == deeper && weight >= ROW_SHARE * total).then_some(region)
            };
            match below.iter().find_map(holds) {
                Some(region) => home = region,
                None => return home,
            }
        }
    }
}

/// What a dissection knows of points and rows.
struct Dissection<'a> {
    /// Nodes below this are points.
    count: usize,
    supports: &'a Supports,
    tries: u32,
}

impl Dissection<'_> {
    /// Dissects a graph whose nodes go by `names` outside.
    fn dissect(&self, graph: &Graph, names: Vec<u32>) -> Region {
        let is_row = |v: u32| names[v as usize] as usize >= self.count;
        let n = graph.count();
        let points: Vec<u32> = (0..n as u32).filter(|&v| !is_row(v)).collect();
        let rename = |nodes: &[u32]| -> Vec<u32> { nodes.iter().map(|&v| names[v as usize]).collect() };
        let mut local = vec![u32::MAX; n];
        let leaf = |local: &mut [u32]| {
            let alone = if points.len() == n { graph.clone() } else { graph.subgraph(&points, local) };
            let order = minimum_degree(&alone).into_iter().map(|k| names[points[k as usize] as usize]);
            let rows = (0..n as u32).filter(|&v| is_row(v)).map(|v| names[v as usize]);
            Region { sides: Vec::new(), nodes: order.chain(rows).collect() }
        };
        if points.len() <= LEAF {
            return leaf(&mut local);
        }
        let widest = WIDE_ROW * points.len() as f64;
        let is_wide = |v: u32| is_row(v) && graph.neighbours(v as usize).len() as f64 > widest;
        let (wide, narrow): (Vec<u32>, Vec<u32>) = (0..n as u32).partition(|&v| is_wide(v));
        let mut division = vec![MIDDLE; n];
        let sides = if wide.is_empty() {
            find_separator(graph, self.tries)
        } else {
            find_separator(&graph.subgraph(&narrow, &mut local), self.tries)
        };
        narrow.iter().zip(sides).for_each(|(&v, side)| division[v as usize] = side);
        for v in narrow.into_iter().filter(|&v| is_row(v)) {
            if division[v as usize] != MIDDLE && self.share(graph, &names, v, &division) < ROW_SHARE {
                division[v as usize] = MIDDLE;
            }
        }
        let part =
            |side: u8| -> Vec<u32> { (0..n as u32).filter(|&v| division[v as usize] == side).collect() };
        let (left, right, middle) = (part(LEFT), part(RIGHT), part(MIDDLE));
        let middle_points = middle.iter().filter(|&&v| !is_row(v)).count();
        let no_points = |side: &[u32]| side.iter().all(|&v| is_row(v));
        // a graph without small separators (nearly complete, or a hub) is better left to minimum degree
        if no_points(&left) || no_points(&right) || 2 * middle_points > points.len() {
            return leaf(&mut local);
        }
        let mut side = |nodes: &[u32]| (graph.subgraph(nodes, &mut local), rename(nodes));
        let ((left_graph, left), (right_graph, right)) = (side(&left), side(&right));
        let sides = if n >= PARALLEL {
            rayon::join(|| self.dissect(&left_graph, left), || self.dissect(&right_graph, right))
        } else {
            (self.dissect(&left_graph, left), self.dissect(&right_graph, right))
        };
        // rows come behind the points, which have the smaller numbers
        Region { sides: vec![sides.0, sides.1], nodes: rename(&middle) }
    }

    /// How much of a row lies on the points of its own side.
    fn share(&self, graph: &Graph, names: &[u32], row: u32, division: &[u8]) -> f64 {
        let support = &self.supports[names[row as usize] as usize - self.count];
        let side = division[row as usize];
        let inside = graph.neighbours(row as usize).iter().filter(|&&v| division[v as usize] == side);
        let weight = |v: &u32| {
            let name = names[*v as usize];
            support.binary_search_by_key(&name, |entry| entry.0).map_or(0.0, |at| support[at].1)
        };
        let total: f64 = support.iter().map(|entry| entry.1).sum();
        if total > 0.0 { inside.map(weight).sum::<f64>() / total } else { 0.0 }
    }
}

/// Approximate minimum degree order of a small graph.
fn minimum_degree(graph: &Graph) -> Vec<u32> {
    let n = graph.count();
    let natural = || (0..n as u32).collect();
    let indices: Vec<usize> = graph.neighbours.iter().map(|&v| v as usize).collect();
    let matrix = SymbolicSparseColMatRef::new_checked(n, n, &graph.starts, None, &indices);
    let (mut order, mut inverse) = (vec![0usize; n], vec![0usize; n]);
    let Ok(mut buffer) = MemBuffer::try_new(amd::order_scratch::<usize>(n, indices.len())) else {
        return natural();
    };
    match amd::order(&mut order, &mut inverse, matrix, Default::default(), MemStack::new(&mut buffer)) {
        Ok(_) => order.into_iter().map(|v| v as u32).collect(),
        Err(_) => natural(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Pattern;

    fn graph(count: usize, stencils: &[Vec<u32>]) -> Graph {
        let pattern = Pattern::from_stencils(count, stencils.iter().map(|s| s.as_slice()));
        let all: Vec<u32> = (0..count as u32).collect();
        Graph::of_points(&pattern, &all, &all)
    }

    /// Stencils of up to five points that lie near each other by number, now and then far away.
    fn stencils() -> impl Strategy<Value = (usize, Vec<Vec<u32>>)> {
        (1usize..600).prop_flat_map(|count| {
            let near = (0..count as u32, prop::collection::vec(0u32..12, 1..5));
            let stencil = near.prop_map(move |(first, steps)| {
                let point = |step: &u32| (first + step * step) % count as u32;
                std::iter::once(first).chain(steps.iter().map(point)).collect()
            });
            (Just(count), prop::collection::vec(stencil, 0..2 * count))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn orders_are_permutations_with_rows_behind_a_good_part_of_their_support((count, stencils) in stencils(), far in 0u32..600) {
            let graph = graph(count, &stencils);
            let far = far % count as u32;
            let patch = (0..count as u32).step_by(3).take(40).collect();
            let supports: Vec<Vec<u32>> =
                stencils.iter().take(5).cloned().chain([vec![], vec![0, far], patch]).collect();
            let weighted = |support: &Vec<u32>| {
                let points: std::collections::BTreeSet<u32> = support.iter().copied().collect();
                points.into_iter().map(|p| (p, 1.0)).collect::<Vec<_>>()
            };
            let supports: Vec<Vec<(u32, f64)>> = supports.iter().map(weighted).collect();
            for rows in [RowOrdering::Excluded, RowOrdering::Included] {
                let order = order(&graph, &supports, rows, QUICK_TRIES);
                let mut position = vec![usize::MAX; count + supports.len()];
                for (k, &node) in order.iter().enumerate() {
                    position[node as usize] = k;
                }
                prop_assert_eq!(order.len(), position.len());
                prop_assert!(position.iter().all(|&p| p != usize::MAX));
                for (r, support) in supports.iter().enumerate() {
                    let before = support.iter().filter(|e| position[e.0 as usize] < position[count + r]).count();
                    prop_assert!(before as f64 >= ROW_SHARE * support.len() as f64);
                }
            }
        }

        #[test]
        fn separators_separate((count, stencils) in stencils()) {
            let graph = graph(count, &stencils);
            let division = find_separator(&graph, QUICK_TRIES);
            prop_assert_eq!(division.len(), count);
            for v in 0..count {
                for &u in graph.neighbours(v) {
                    let sides = [division[v], division[u as usize]];
                    prop_assert!(sides != [LEFT, RIGHT] && sides != [RIGHT, LEFT]);
                }
            }
        }

        #[test]
        fn slots_are_found_for_pairs_that_share_a_stencil((count, stencils) in stencils(), i in 0u32..600, j in 0u32..600) {
            let pattern = Pattern::from_stencils(count, stencils.iter().map(|s| s.as_slice()));
            let together = |s: &Vec<u32>| s.contains(&i) && s.contains(&j);
            let expected = (i == j && (i as usize) < count) || stencils.iter().any(together);
            prop_assert_eq!(pattern.slot(i, j).is_some(), expected);
            prop_assert_eq!(pattern.slot(i, j), pattern.slot(j, i));
            if let Some(slot) = pattern.slot(i, j) {
                prop_assert!(pattern.column(i.min(j) as usize).any(|found| found == (slot, i.max(j))));
            }
        }
    }

    #[test]
    fn a_cube_is_divided_by_about_a_plane() {
        let n = 14u32;
        let index = |i, j, k| (i * n + j) * n + k;
        let mut edges = Vec::new();
        for i in 0..n {
            for j in 0..n {
                for k in 0..n {
                    let at = index(i, j, k);
                    edges.extend((i + 1 < n).then(|| vec![at, index(i + 1, j, k)]));
                    edges.extend((j + 1 < n).then(|| vec![at, index(i, j + 1, k)]));
                    edges.extend((k + 1 < n).then(|| vec![at, index(i, j, k + 1)]));
                }
            }
        }
        let division = find_separator(&graph((n * n * n) as usize, &edges), THOROUGH_TRIES);
        let size = |side: u8| division.iter().filter(|&&s| s == side).count();
        assert!(size(MIDDLE) <= 210, "a plane has 196 points, the separator {}", size(MIDDLE));
        assert!(size(LEFT).min(size(RIGHT)) > 900, "{} and {}", size(LEFT), size(RIGHT));
    }

    /// Two sides, 0 and 1, and their separator, 2: a row is at home on the side that holds all of it but what lies in the separator, if that is a good part.
    #[test]
    fn a_row_is_at_home_where_a_good_part_of_it_lies() {
        let flat = Flat {
            of_node: vec![0, 0, 1, 1, 2],
            parents: vec![2, 2, 2],
            nodes: vec![vec![0, 1], vec![2, 3], vec![4]],
        };
        for (support, expected) in [
            (&[(0, 1.0), (1, 1.0)][..], 0),
            (&[(2, 1.0)], 1),
            (&[(0, 1.0), (2, 1.0)], 2),
            (&[(0, 1.0), (4, 1.0)], 0),
            (&[(3, 1.0), (4, 1.0)], 1),
            (&[(0, 0.1), (4, 1.0)], 2),
            (&[(4, 1.0)], 2),
        ] {
            assert_eq!(flat.home(support), expected, "{support:?}");
        }
    }
}
