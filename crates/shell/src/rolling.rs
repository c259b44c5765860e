//! Flat meshes, regular and not, and the cylinder they are rolled onto: what tests of bending share.

use geometry::{Vec2, Vec3};

/// Points of a flat sheet and its triangles.
pub(crate) type Mesh = (Vec<Vec2>, Vec<[u32; 3]>);

/// n × n cells of `cell`, moved by up to `jitter` of a side, split along one diagonal or at random.
pub(crate) fn grid(n: u32, cell: [Vec2; 2], jitter: f64, random_diagonals: bool) -> Mesh {
    let mut state = 7_u32;
    let mut unit = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24) - 0.5
    };
    let mut points = Vec::new();
    for (j, i) in (0..=n).flat_map(|j| (0..=n).map(move |i| (j, i))) {
        let shift = Vec2::new(unit(), unit()) * 2.0 * jitter;
        points.push(((f64::from(i) + shift.x) * cell[0] + (f64::from(j) + shift.y) * cell[1]) / f64::from(n));
    }
    let mut triangles = Vec::new();
    for (j, i) in (0..n).flat_map(|j| (0..n).map(move |i| (j, i))) {
        let [a, b, c, d] = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)].map(|(i, j)| j * (n + 1) + i);
        triangles.extend(if random_diagonals && unit() > 0.0 {
            [[a, b, d], [b, c, d]]
        } else {
            [[a, b, c], [a, c, d]]
        });
    }
    (points, triangles)
}

/// Rolls the sheet onto a cylinder so that it curves along the direction at `angle`.
pub(crate) fn rolled(radius: f64, angle: f64) -> impl Fn(Vec2) -> Vec3 {
    let along = Vec2::from_angle(angle);
    move |q| {
        let (s, c) = (q.dot(along) / radius).sin_cos();
        Vec3::new(radius * s, q.perp_dot(along), radius * (1.0 - c))
    }
}
