//! Vertices from corners: formats that number texture coordinates by the corner of a face, where we have vertices.

use std::collections::BTreeMap;

/// Makes vertices: corners of one point with equal keys are one. Vertices are in the order of their keys, so that a file
/// whose keys are our vertices' numbers gives them back. Points on no corner get a vertex behind the others. Returns the
/// point under each vertex, and the vertex of each corner.
pub(super) fn split<K: Ord + Clone>(keys: &[(K, u32)], point_count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut numbers: BTreeMap<(K, u32), u32> = keys.iter().map(|key| (key.clone(), 0)).collect();
    let mut vertex_points = Vec::with_capacity(numbers.len());
    let mut used = vec![false; point_count];
    for ((_, point), number) in &mut numbers {
        *number = vertex_points.len() as u32;
        vertex_points.push(*point);
        used[*point as usize] = true;
    }
    vertex_points.extend((0..point_count as u32).filter(|&point| !used[point as usize]));
    let corners = keys.iter().map(|key| numbers.get(key).copied().unwrap_or(0)).collect();
    (vertex_points, corners)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_with_two_keys_is_two_vertices() {
        let (points, corners) = split(&[(0, 0), (1, 1), (2, 2), (4, 0), (1, 1), (2, 2)], 4);
        assert_eq!(points, [0, 1, 2, 0, 3], "the last point is on no face");
        assert_eq!(corners, [0, 1, 2, 3, 1, 2]);
    }
}
