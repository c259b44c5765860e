//! Test functions on the outline that a camera sees: what the eye knows a performance by is kept, what lies within is left to physics.
//!
//! A point of the animation is on the outline while an edge at it has a side that faces the camera and one that does not, or one side
//! only. Every point that ever is has a hat as its test function; it holds while the point is on the outline, and fades in and out around
//! that. tracks 2007 §6 wishes for it. Differs: what hides behind something nearer counts as outline too, and averages hold in depth as they do
//! in the picture.

use geometry::{Edge, Prolongation, Topology, Vec3};
use shell::tracks::TestFunctions;

/// How long, in seconds, a point comes onto the outline or leaves it.
const FADE: f64 = 0.15;

/// Hats on outlines, and the share of each over time, as `[seconds, share]`.
pub(super) struct Silhouette {
    pub(super) functions: TestFunctions,
    pub(super) shares: Vec<Vec<[f64; 2]>>,
}

impl Silhouette {
    /// Of an animation's `frames`, as a camera at a place sees it.
    pub(super) fn new(
        frames: impl Iterator<Item = Vec<Vec3>>,
        triangles: &[[u32; 3]],
        camera: Vec3,
        frame_rate_hz: f64,
        correspondence: &Prolongation,
    ) -> Self {
        let count = correspondence.coarse_count();
        let topology = Topology::new(count, triangles);
        let outlines: Vec<Vec<bool>> =
            frames.map(|points| outline(&points, triangles, topology.edges(), camera)).collect();
        let mut silhouette = Self { functions: TestFunctions::new(), shares: Vec::new() };
        for point in 0..count {
            let times: Vec<f64> = (0..outlines.len())
                .filter(|&frame| outlines[frame][point])
                .map(|frame| frame as f64 / frame_rate_hz)
                .collect();
            if times.is_empty() {
                continue;
            }
            let mut hat = vec![0.0; count];
            hat[point] = 1.0;
            silhouette.functions.push(format!("outline {point}"), &hat, &correspondence.numbers(&hat));
            silhouette.shares.push(shares(&times, 1.5 / frame_rate_hz));
        }
        silhouette
    }
}

/// Which points are on the outline.
fn outline(points: &[Vec3], triangles: &[[u32; 3]], edges: &[Edge], camera: Vec3) -> Vec<bool> {
    let faces = |t: &u32| {
        let [a, b, c] = triangles[*t as usize].map(|v| points[v as usize]);
        (b - a).cross(c - a).dot(camera - a) > 0.0
    };
    let mut is_on = vec![false; points.len()];
    for Edge { vertices, triangles: sides } in edges {
        let towards = sides.iter().filter(|t| faces(t)).count();
        if sides.len() == 1 || (towards > 0 && towards < sides.len()) {
            vertices.iter().for_each(|&end| is_on[end as usize] = true);
        }
    }
    is_on
}

/// One while on the outline, from one of `times` to the next where they are at most `gap` apart, and linear to and from nothing around that.
fn shares(times: &[f64], gap: f64) -> Vec<[f64; 2]> {
    let mut keys: Vec<[f64; 2]> = Vec::new();
    for run in times.chunk_by(|a, b| b - a <= gap) {
        let (from, to) = (run[0], run[run.len() - 1]);
        match keys.last_mut() {
            // it is back before it was gone
            Some(last) if from - FADE <= last[0] => {
                let left = last[0] - FADE;
                let middle = 0.5 * (left + from);
                *last = [middle, 1.0 - (from - left).min(2.0 * FADE) / (2.0 * FADE)];
            }
            _ => keys.push([from - FADE, 0.0]),
        }
        keys.extend([[from, 1.0], [to, 1.0], [to + FADE, 0.0]]);
    }
    keys.dedup_by(|a, b| a[0] <= b[0]);
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cube_seen_from_the_front_has_its_four_sides_as_outline() {
        let corner =
            |i: u32| Vec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) - Vec3::splat(0.5);
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles: Vec<[u32; 3]> =
            quads.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
        let points: Vec<Vec3> = (0..8).map(corner).collect();
        let topology = Topology::new(8, &triangles);
        let seen = |camera: Vec3| outline(&points, &triangles, topology.edges(), camera);
        // near enough to see the front only: the rim of the front is the outline
        let front = seen(Vec3::new(0.1, 0.2, 5.0));
        assert_eq!(front, points.iter().map(|p| p.z > 0.0).collect::<Vec<_>>());
        // from a corner six of eight are on it: all but the nearest and the farthest
        let corner = seen(Vec3::splat(9.0));
        assert_eq!(corner.iter().filter(|on| **on).count(), 6);
        assert!(!corner[0] && !corner[7]);
    }

    #[test]
    fn shares_fade_in_and_out_and_stay_below_one_where_a_point_is_away_for_a_moment() {
        let keys = shares(&[1.0, 1.1, 1.3, 3.0], 0.11);
        assert!(keys.windows(2).all(|pair| pair[0][0] < pair[1][0]), "{keys:?}");
        let at = |time: f64| shell::tracks::linear_between(&keys, time);
        assert_eq!([at(0.5), at(1.05), at(1.3), at(2.0), at(3.0), at(4.0)], [0.0, 1.0, 1.0, 0.0, 1.0, 0.0]);
        assert!((0.1..0.9).contains(&at(1.2)) && (at(0.925) - 0.5).abs() < 1e-9, "{keys:?}");
    }
}
