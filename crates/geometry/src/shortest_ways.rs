//! How far it is from some points to all others, along edges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Topology, Vec3};

/// Lengths of the shortest ways from any of the sources to each point (Dijkstra 1959); infinite where no way leads. `around` names each point's
/// neighbours and how far away they are.
///
/// ```
/// use geometry::{Topology, Vec3, shortest_ways};
///
/// let points = [Vec3::ZERO, Vec3::X, Vec3::new(1.0, 1.0, 0.0), 5.0 * Vec3::X];
/// let edges = Topology::new(points.len(), &[[0, 1, 2]]).edge_lengths(&points);
/// assert_eq!(shortest_ways(&edges, &[1]), [1.0, 0.0, 1.0, f64::INFINITY]);
/// ```
pub fn shortest_ways(around: &[Vec<(u32, f64)>], sources: &[u32]) -> Vec<f64> {
    let mut lengths = vec![f64::INFINITY; around.len()];
    sources.iter().for_each(|&source| lengths[source as usize] = 0.0);
    // numbers that are not negative are ordered as their bits are
    let mut open: BinaryHeap<Reverse<(u64, u32)>> = sources.iter().map(|&s| Reverse((0, s))).collect();
    while let Some(Reverse((bits, point))) = open.pop() {
        let length = f64::from_bits(bits);
        if length > lengths[point as usize] {
            continue;
        }
        for &(next, piece) in &around[point as usize] {
            let through = length + piece;
            if through < lengths[next as usize] {
                lengths[next as usize] = through;
                open.push(Reverse((through.to_bits(), next)));
            }
        }
    }
    lengths
}

impl Topology {
    /// Each point's neighbours along edges, and how far away they are.
    pub fn edge_lengths(&self, points: &[Vec3]) -> Vec<Vec<(u32, f64)>> {
        let length = |a: usize, b: u32| (b, points[a].distance(points[b as usize]));
        let around = self.neighbours().into_iter().enumerate();
        around.map(|(a, near)| near.into_iter().map(|b| length(a, b)).collect()).collect()
    }
}
