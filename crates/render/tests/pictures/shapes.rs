//! Shapes that the picture tests share.

use std::sync::Arc;

use clip::{Clip, Faces, Frame, Joint, MemoryFrames, Mesh, Skeleton, Transform};
use glam::Vec3;

/// One mesh in one frame.
pub(crate) fn still(mesh: Mesh) -> Clip {
    Clip::still(mesh, 24.0, 1)
}

/// A ball of quads, triangles at its poles.
pub(crate) fn ball(centre: Vec3, radius: f32, rings: usize) -> Mesh {
    let sectors = 2 * rings;
    let mut points = Vec::new();
    for ring in 0..=rings {
        for sector in 0..sectors {
            let down = std::f32::consts::PI * ring as f32 / rings as f32;
            let around = std::f32::consts::TAU * sector as f32 / sectors as f32;
            let unit = Vec3::new(down.sin() * around.cos(), down.cos(), -down.sin() * around.sin());
            points.push((centre + radius * unit).to_array());
        }
    }
    let mut faces = Faces::default();
    for ring in 0..rings {
        for sector in 0..sectors {
            let corner = |r: usize, s: usize| ((ring + r) * sectors + (sector + s) % sectors) as u32;
            faces.push(&[corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)]);
        }
    }
    Mesh::from_faces("ball", points, faces)
}

/// An upright sheet of n × n quads from (−1, −1, 0) to (1, 1, 0) that faces +Z, with texture coordinates.
pub(crate) fn sheet(n: usize) -> Mesh {
    let side = |i: usize| 2.0 * i as f32 / n as f32 - 1.0;
    let points: Vec<[f32; 3]> =
        (0..(n + 1) * (n + 1)).map(|k| [side(k % (n + 1)), side(k / (n + 1)), 0.0]).collect();
    let mut faces = Faces::default();
    for k in 0..n * n {
        let corner = |di: usize, dj: usize| ((k / n + dj) * (n + 1) + k % n + di) as u32;
        faces.push(&[corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)]);
    }
    let mut mesh = Mesh::from_faces("sheet", points, faces);
    mesh.uvs = mesh.rest_points.iter().map(|p| [0.5 * p[0] + 0.5, 0.5 - 0.5 * p[1]]).collect();
    mesh
}

/// The sheet with a travelling wave in it.
pub(crate) fn waving(n: usize, frame_count: usize) -> Clip {
    let mesh = sheet(n);
    let wave = |p: &[f32; 3], time: f32| [p[0], p[1], 0.15 * (1.0 + p[0]) * (5.0 * p[0] + p[1] - time).sin()];
    let frame = |i: usize| {
        let time = std::f32::consts::TAU * i as f32 / frame_count as f32;
        Frame { points: vec![mesh.rest_points.iter().map(|p| wave(p, time)).collect()], pose: Vec::new() }
    };
    let frames = (0..frame_count).map(frame).collect();
    Clip::new("waving", 24.0, vec![mesh.clone()], None, Arc::new(MemoryFrames::new(frames)))
}

/// A bent chain of joints without a mesh.
pub(crate) fn chain() -> Clip {
    let joint = |index: usize| Joint {
        name: format!("joint {index}"),
        parent: index.checked_sub(1),
        rest: Transform { translation: Vec3::new(0.12 * index as f32, 0.4, 0.0), ..Transform::IDENTITY },
    };
    let skeleton = Skeleton { joints: (0..4).map(joint).collect() };
    let frame = Frame { points: Vec::new(), pose: skeleton.rest_pose() };
    Clip::new("chain", 24.0, Vec::new(), Some(skeleton), Arc::new(MemoryFrames::new(vec![frame])))
}
