//! The Laplacian of a surface, with linear functions on triangles.

use crate::{Mat3, Vec3};

/// The lower triangle of Lᵢⱼ = ∫ ∇φᵢᵀ K ∇φⱼ, φ the hat functions of the points and K the conductance of each triangle, as entries (row,
/// column, value) that are to be summed. With K = 1 it is the cotangent Laplacian. Triangles without area have no part in it.
pub fn laplacian(
    points: &[Vec3],
    triangles: &[[u32; 3]],
    conductance: impl Fn(usize) -> Mat3,
) -> Vec<(u32, u32, f64)> {
    let mut entries = Vec::with_capacity(6 * triangles.len());
    for (index, t) in triangles.iter().enumerate() {
        let p = t.map(|v| points[v as usize]);
        let across = (p[1] - p[0]).cross(p[2] - p[0]);
        let doubled = across.length();
        if doubled <= 1e-12 * (p[1] - p[0]).length() * (p[2] - p[0]).length() {
            continue;
        }
        let n = across / doubled;
        // ∇φᵢ of the hat of corner i: the edge across, turned, over twice the area
        let gradient = |i: usize| n.cross(p[(i + 2) % 3] - p[(i + 1) % 3]) / doubled;
        let k = conductance(index);
        for i in 0..3 {
            for j in 0..=i {
                let value = 0.5 * doubled * gradient(i).dot(k * gradient(j));
                entries.push((t[i].max(t[j]), t[i].min(t[j]), value));
            }
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a right triangle with legs of 1: ½ cot of the angle across, and rows that sum to zero.
    #[test]
    fn entries_are_cotangents() {
        let points = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let entries = laplacian(&points, &[[0, 1, 2]], |_| Mat3::IDENTITY);
        let at = |i: u32, j: u32| {
            let found = entries.iter().filter(|e| (e.0, e.1) == (i.max(j), i.min(j)));
            found.map(|e| e.2).sum::<f64>()
        };
        for (i, j, value) in [(0, 1, -0.5), (0, 2, -0.5), (1, 2, 0.0), (0, 0, 1.0), (1, 1, 0.5), (2, 2, 0.5)]
        {
            assert!((at(i, j) - value).abs() < 1e-15, "{i} {j}: {}", at(i, j));
        }
        assert!(laplacian(&points, &[[0, 1, 1]], |_| Mat3::IDENTITY).is_empty());
    }
}
