//! Threads and bodies that the tests of this folder share.

use dynamics::{Body, BodyBuilder};
use geometry::{Vec2, Vec3};
use shell::{Face, ThreadDirections, Threads, Weave};

/// Points on a horizontal line with a thread through them.
pub(crate) fn chain(pieces: u32, length: f64) -> (Vec<Vec3>, Threads) {
    let rest: Vec<Vec3> = (0..=pieces).map(|i| f64::from(i) / f64::from(pieces) * length * Vec3::X).collect();
    let threads = Threads::new(&rest, (0..pieces).map(|i| [i, i + 1]).collect()).expect("a proper chain");
    (rest, threads)
}

/// The threads of a horizontal grid of oblong quads.
pub(crate) fn grid_threads(columns: u32, rows: u32) -> (Vec<Vec3>, Threads) {
    let place = |i: u32, j: u32| Vec2::new(0.1 * f64::from(i), 0.08 * f64::from(j));
    let flat = (0..=rows).flat_map(|j| (0..=columns).map(move |i| place(i, j)));
    let rest: Vec<Vec3> = flat.map(|p| Vec3::new(p.x, 0.0, p.y)).collect();
    let cells = (0..rows).flat_map(|j| (0..columns).map(move |i| (i, j)));
    let face = |(i, j): (u32, u32)| {
        let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
        Face {
            points: corners.map(|(i, j)| j * (columns + 1) + i).to_vec(),
            uvs: corners.map(|(i, j)| place(i, j)).to_vec(),
        }
    };
    let faces: Vec<Face> = cells.map(face).collect();
    let weave = Weave::new(&rest, &faces, ThreadDirections::Uv(Vec3::Y)).expect("a grid has threads");
    let threads = Threads::new(&rest, weave.edges().collect()).expect("a proper grid");
    (rest, threads)
}

/// Equal points under gravity, some held.
pub(crate) fn body(count: usize, held: &[usize]) -> BodyBuilder {
    let known = (0..count).map(|point| held.contains(&point)).collect();
    Body::builder(vec![0.002; count]).known(known).gravity(-9.81 * Vec3::Y)
}

/// Numbers in [−1, 1] that look random.
pub(crate) fn noise(index: usize) -> Vec3 {
    let wave = |k: f64| (12.9898 * (index as f64 + 1.0) * k).sin();
    Vec3::new(wave(1.0), wave(1.7), wave(2.3))
}
