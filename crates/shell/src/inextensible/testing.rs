//! Meshes and bodies that the tests of this folder share.

use dynamics::{Body, BodyBuilder};
use geometry::{Vec2, Vec3};

use super::{Face, ThreadDirections, Threads, Weave};

/// A horizontal grid of oblong quads, columns along x, rows along z, with uv in metres.
pub(super) fn grid(columns: u32, rows: u32) -> (Vec<Vec3>, Vec<Face>) {
    let at = |i: u32, j: u32| j * (columns + 1) + i;
    let place = |i: u32, j: u32| Vec2::new(0.1 * f64::from(i), 0.08 * f64::from(j));
    let rest =
        (0..=rows).flat_map(|j| (0..=columns).map(move |i| place(i, j))).map(|p| Vec3::new(p.x, 0.0, p.y));
    let mut faces = Vec::new();
    for j in 0..rows {
        for i in 0..columns {
            let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
            faces.push(Face {
                points: corners.map(|(i, j)| at(i, j)).to_vec(),
                uvs: corners.map(|(i, j)| place(i, j)).to_vec(),
            });
        }
    }
    (rest.collect(), faces)
}

/// Points on a horizontal line with a thread through them.
pub(super) fn chain(pieces: u32, length: f64) -> (Vec<Vec3>, Threads) {
    let rest: Vec<Vec3> = (0..=pieces).map(|i| f64::from(i) / f64::from(pieces) * length * Vec3::X).collect();
    let edges: Vec<[u32; 2]> = (0..pieces).map(|i| [i, i + 1]).collect();
    let threads = Threads::new(&rest, edges).unwrap();
    (rest, threads)
}

/// The threads of a grid.
pub(super) fn grid_threads(columns: u32, rows: u32) -> (Vec<Vec3>, Threads) {
    let (rest, faces) = grid(columns, rows);
    let weave = Weave::new(&rest, &faces, ThreadDirections::Uv(Vec3::Y)).unwrap();
    let threads = Threads::new(&rest, weave.edges().collect()).unwrap();
    (rest, threads)
}

/// Equal points under gravity, some held.
pub(super) fn body(count: usize, held: &[usize]) -> BodyBuilder {
    let mut known = vec![false; count];
    held.iter().for_each(|&p| known[p] = true);
    Body::builder(vec![0.002; count]).known(known).gravity(-9.81 * Vec3::Y)
}

/// Numbers in [−1, 1] that look random.
pub(super) fn noise(index: usize) -> Vec3 {
    let wave = |k: f64| (12.9898 * (index as f64 + 1.0) * k).sin();
    Vec3::new(wave(1.0), wave(1.7), wave(2.3))
}
