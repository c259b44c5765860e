//! Undirected graphs as adjacency lists: what orderings and elimination trees are made from.

use crate::Pattern;

/// Neighbours of every node, ascending, without the node itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Graph {
    pub(crate) starts: Vec<usize>,
    pub(crate) neighbours: Vec<u32>,
}

impl Graph {
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn neighbours(&self, node: usize) -> &[u32] {
        &self.neighbours[self.starts[node]..self.starts[node + 1]]
    }

    /// The graph of the unknown points: `place[i]` is the node of point i, or `u32::MAX` where its value is known.
    pub(crate) fn of_points(pattern: &Pattern, unknown: &[u32], place: &[u32]) -> Self {
        let mut graph = Self { starts: vec![0], neighbours: Vec::new() };
        for &i in unknown {
            let others = pattern.row(i as usize).iter().filter(|n| n.point != i);
            graph.neighbours.extend(others.map(|n| place[n.point as usize]).filter(|&k| k != u32::MAX));
            graph.starts.push(graph.neighbours.len());
        }
        graph
    }

    /// A graph without edges.
    pub(crate) fn without_edges(count: usize) -> Self {
        Self { starts: vec![0; count + 1], neighbours: Vec::new() }
    }

    /// The same graph with one more node per row, next to every point of its support.
    pub(crate) fn with_rows(&self, supports: &[Vec<u32>]) -> Self {
        let points = self.count();
        let mut of_point: Vec<Vec<u32>> = vec![Vec::new(); points];
        for (r, support) in supports.iter().enumerate() {
            for &k in support {
                of_point[k as usize].push((points + r) as u32);
            }
        }
        let mut graph = Self { starts: vec![0], neighbours: Vec::new() };
        for k in 0..points {
            graph.neighbours.extend_from_slice(self.neighbours(k));
            graph.neighbours.extend_from_slice(&of_point[k]);
            graph.starts.push(graph.neighbours.len());
        }
        for support in supports {
            graph.neighbours.extend_from_slice(support);
            graph.starts.push(graph.neighbours.len());
        }
        graph
    }

    /// The graph of some of the nodes, renumbered in the order given. `local` is scratch as long as this graph,
    /// `u32::MAX` everywhere, and left so.
    pub(crate) fn subgraph(&self, nodes: &[u32], local: &mut [u32]) -> Self {
        for (k, &node) in nodes.iter().enumerate() {
            local[node as usize] = k as u32;
        }
        let mut graph = Self { starts: Vec::with_capacity(nodes.len() + 1), neighbours: Vec::new() };
        graph.starts.push(0);
        for &node in nodes {
            let inside = self.neighbours(node as usize).iter().map(|&n| local[n as usize]);
            graph.neighbours.extend(inside.filter(|&k| k != u32::MAX));
            graph.starts.push(graph.neighbours.len());
        }
        for &node in nodes {
            local[node as usize] = u32::MAX;
        }
        graph
    }
}
