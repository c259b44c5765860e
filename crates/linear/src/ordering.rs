//! In which order to eliminate: nested dissection, with minimum degree on the small pieces.
//!
//! Each separator is eliminated after the two sides that it parts, so neither side fills the other and both can be
//! worked on at once. Constraint rows come after every point of their support: at the end of the smallest region that
//! holds the whole support.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;

use crate::graph::Graph;
use crate::separator::{LEFT, MIDDLE, RIGHT, separate};

/// Regions up to this many nodes are ordered by minimum degree.
const LEAF: usize = 120;
/// Regions from this many nodes on are dissected side by side.
const PARALLEL: usize = 1000;

/// An order of elimination (node at each position) for a graph of points and, behind them, constraint rows.
///
/// `points` is the graph of the points alone; `supports` the points of each row, whose node is `points.count() + row`.
pub(crate) fn order(points: &Graph, supports: &[Vec<u32>]) -> Vec<u32> {
    let count = points.count();
    let region = dissect(points, (0..count as u32).collect());
    let mut flat =
        Flat { of_node: vec![0; count], parents: Vec::new(), depths: Vec::new(), nodes: Vec::new() };
    flat.add(region, 0);
    let top = flat.parents.len() - 1;

    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); flat.parents.len()];
    for (r, support) in supports.iter().enumerate() {
        let home = support.iter().map(|&p| flat.of_node[p as usize]).reduce(|a, b| flat.common(a, b));
        rows[home.map_or(top, |home| home as usize)].push((count + r) as u32);
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
    depths: Vec<u32>,
    nodes: Vec<Vec<u32>>,
}

impl Flat {
    /// Appends a region after its sides; gives its index.
    fn add(&mut self, region: Region, depth: u32) -> u32 {
        let sides: Vec<u32> = region.sides.into_iter().map(|side| self.add(side, depth + 1)).collect();
        let index = self.parents.len() as u32;
        for side in sides {
            self.parents[side as usize] = index;
        }
        for &node in &region.nodes {
            self.of_node[node as usize] = index;
        }
        self.parents.push(index);
        self.depths.push(depth);
        self.nodes.push(region.nodes);
        index
    }

    /// The smallest region that holds both.
    fn common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            if self.depths[a as usize] >= self.depths[b as usize] {
                a = self.parents[a as usize];
            } else {
                b = self.parents[b as usize];
            }
        }
        a
    }
}

/// Dissects a graph whose nodes go by `names` outside.
fn dissect(graph: &Graph, names: Vec<u32>) -> Region {
    let n = graph.count();
    let leaf = |graph: &Graph, names: &[u32]| {
        let nodes = minimum_degree(graph).into_iter().map(|k| names[k as usize]).collect();
        Region { sides: Vec::new(), nodes }
    };
    if n <= LEAF {
        return leaf(graph, &names);
    }
    let division = separate(graph);
    let part = |side: u8| -> Vec<u32> { (0..n as u32).filter(|&v| division[v as usize] == side).collect() };
    let (left, right, middle) = (part(LEFT), part(RIGHT), part(MIDDLE));
    // a graph without small separators (nearly complete, or a hub) is better left to minimum degree
    if left.is_empty() || right.is_empty() || 2 * middle.len() > n {
        return leaf(graph, &names);
    }
    let rename = |nodes: &[u32]| -> Vec<u32> { nodes.iter().map(|&v| names[v as usize]).collect() };
    let mut local = vec![u32::MAX; n];
    let mut side = |nodes: &[u32]| (graph.subgraph(nodes, &mut local), rename(nodes));
    let ((left_graph, left), (right_graph, right)) = (side(&left), side(&right));
    let sides = if n >= PARALLEL {
        rayon::join(|| dissect(&left_graph, left), || dissect(&right_graph, right))
    } else {
        (dissect(&left_graph, left), dissect(&right_graph, right))
    };
    Region { sides: vec![sides.0, sides.1], nodes: rename(&middle) }
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
        fn orders_are_permutations_with_rows_behind_their_support((count, stencils) in stencils(), far in 0u32..600) {
            let graph = graph(count, &stencils);
            let far = far % count as u32;
            let supports: Vec<Vec<u32>> = stencils.iter().take(5).cloned().chain([vec![], vec![0, far]]).collect();
            let order = order(&graph, &supports);
            let mut position = vec![usize::MAX; count + supports.len()];
            for (k, &node) in order.iter().enumerate() {
                position[node as usize] = k;
            }
            prop_assert_eq!(order.len(), position.len());
            prop_assert!(position.iter().all(|&p| p != usize::MAX));
            for (r, support) in supports.iter().enumerate() {
                prop_assert!(support.iter().all(|&p| position[p as usize] < position[count + r]));
            }
        }

        #[test]
        fn separators_separate((count, stencils) in stencils()) {
            let graph = graph(count, &stencils);
            let division = separate(&graph);
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
        let division = separate(&graph((n * n * n) as usize, &edges));
        let size = |side: u8| division.iter().filter(|&&s| s == side).count();
        assert!(size(MIDDLE) <= 210, "a plane has 196 points, the separator {}", size(MIDDLE));
        assert!(size(LEFT).min(size(RIGHT)) > 900, "{} and {}", size(LEFT), size(RIGHT));
    }
}
