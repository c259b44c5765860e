//! A cape of cloth over a body of capsules, small, with folds drawn from a hat.

#![allow(dead_code, unreachable_pub)]

use live::{Capsule, Factor, Format, Mesh, Mode, Parts, Point, RigCapsule, Settings, Skin, Transform};

/// A square of `size` m with n × n cells, hanging in the plane z = 0 below y = 0.
pub fn sheet(n: u32, size: f32) -> Mesh {
    let at = |i: u32, j: u32| j * (n + 1) + i;
    let step = size / n as f32;
    let rest =
        (0..=n).flat_map(|j| (0..=n).map(move |i| [i as f32 * step - 0.5 * size, -(j as f32) * step, 0.0]));
    let cells = (0..n).flat_map(|j| (0..n).map(move |i| (i, j)));
    let triangles = cells.flat_map(|(i, j)| {
        [[at(i, j), at(i, j + 1), at(i + 1, j)], [at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)]]
    });
    Mesh { rest: rest.collect(), triangles: triangles.collect() }
}

/// Numbers between −1 and 1, always the same.
pub fn noise(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}

/// Weights of a fine sheet's points over the cells of a coarse one: bilinear.
pub fn bilinear(coarse: u32, fine: u32) -> Vec<Vec<(u32, f32)>> {
    let place = |k: u32| {
        let t = k as f32 / fine as f32 * coarse as f32;
        let cell = (t as u32).min(coarse - 1);
        (cell, t - cell as f32)
    };
    let mut rows = Vec::new();
    for j in 0..=fine {
        for i in 0..=fine {
            let ((a, u), (b, v)) = (place(i), place(j));
            let at = |i: u32, j: u32| j * (coarse + 1) + i;
            rows.push(vec![
                (at(a, b), (1.0 - u) * (1.0 - v)),
                (at(a + 1, b), u * (1.0 - v)),
                (at(a, b + 1), (1.0 - u) * v),
                (at(a + 1, b + 1), u * v),
            ]);
        }
    }
    rows
}

/// A sheet held along its upper edge by joint 0, over a capsule on joint 0; D of rank 5 out of a hat.
pub fn cape(coarse: u32, fine: u32, format: Format) -> Parts {
    let (low, high) = (sheet(coarse, 1.0), sheet(fine, 1.0));
    let (m, n, rank) = (low.rest.len(), high.rest.len(), 5);
    let mut columns = noise(rank * m, 7);
    for row in columns.chunks_mut(m) {
        let mean = row.iter().sum::<f32>() / m as f32;
        row.iter_mut().for_each(|b| *b -= mean);
    }
    let rows: Vec<f32> = noise(n * rank, 3).iter().map(|a| 0.004 * a).collect();
    let held = |j: u32| match j {
        0 => 1.0,
        1 => 0.5,
        _ => 0.0,
    };
    let skin = |j: u32| Skin { joints: [0; 4], weights: [1.0, 0.0, 0.0, 0.0], attachment: held(j) };
    Parts {
        subdivision: bilinear(coarse, fine),
        detail: Some(Factor { rank, rows, columns: Some(columns), format }),
        known: 40.0,
        modes: vec![Mode {
            frequency_hz: 2.0,
            wind_speed: 4.0,
            amplitudes: noise(2 * n, 11).chunks(2).map(|e| [0.01 * e[0], 0.01 * e[1]]).collect(),
        }],
        coarse_skin: (0..m as u32).map(|p| skin(p / (coarse + 1))).collect(),
        fine_skin: (0..=fine).map(|p| (p, skin(0))).collect(),
        joints: vec!["shoulders".into()],
        capsules: vec![RigCapsule {
            joints: [0, 0],
            capsule: Capsule { ends: [[0.0, -0.1, -0.25], [0.0, -0.7, -0.2]], radii: [0.2, 0.15] },
        }],
        settings: Settings::default(),
        ..Parts::new(low, high)
    }
}

/// Turned by `angle` about the vertical and moved.
pub fn placed(angle: f32, at: Point) -> Transform {
    let (s, c) = angle.sin_cos();
    [[c, 0.0, s, at[0]], [0.0, 1.0, 0.0, at[1]], [-s, 0.0, c, at[2]]]
}

/// The shoulders of someone who walks on a circle and looks about.
pub fn walk(time: f32) -> Transform {
    let bob = 0.03 * (12.0 * time).sin();
    placed(0.8 * time + 0.4 * (5.0 * time).sin(), [(0.8 * time).sin(), bob, (0.8 * time).cos()])
}

/// A hash of numbers to the bit.
pub fn bits(points: &[Point]) -> u64 {
    points.as_flattened().iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, x| {
        (hash ^ u64::from(x.to_bits())).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
