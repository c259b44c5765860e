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
    let tries = if n > 20_000 { 2 } else { 4 };
    let division = separate(graph, tries);
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
