//! Parts of a body that are near each other and do not belong together.

#![allow(clippy::print_stdout)] // figures for the curious: --nocapture

mod common;

use character::{Flesh, Joint, Kit, Method, Player, Settings, Skin};
use common::volume;
use geometry::{TetMesh, Vec3};
use glam::{DAffine3, Mat4};

/// Two legs, 4 cm apart, on hips: the skin, and its joints with three to a leg.
fn trousers() -> (Vec<Joint>, Skin) {
    let grid = TetMesh::box_grid([9, 12, 4], Vec3::new(0.36, 0.96, 0.16)).unwrap();
    let middle = |tet: usize| grid.corners(tet).into_iter().sum::<Vec3>() / 4.0;
    let is_gap = |p: Vec3| p.x > 0.16 && p.x < 0.20 && p.y < 0.72;
    let tets = (0..grid.tets().len()).filter(|&tet| !is_gap(middle(tet))).map(|tet| grid.tets()[tet]);
    let body = TetMesh::new(grid.points().to_vec(), tets.collect()).unwrap().without_loose_points().0;
    let mut joints = vec![Joint { parent: None, rest_from_joint: place(0.18, 0.88) }];
    for x in [0.08, 0.28] {
        for (k, y) in [0.7, 0.45, 0.2].into_iter().enumerate() {
            let parent = if k == 0 { 0 } else { joints.len() - 1 };
            joints.push(Joint { parent: Some(parent), rest_from_joint: place(x, y) });
        }
    }
    let of = |p: &Vec3| {
        let leg = if p.x < 0.18 { 1 } else { 4 };
        match p.y {
            y if y > 0.72 => 0,
            y if y > 0.45 => leg,
            y if y > 0.2 => leg + 1,
            _ => leg + 2,
        }
    };
    let influences = body.points().iter().map(|p| vec![(of(p), 1.0)]).collect();
    (joints, Skin { points: body.points().to_vec(), triangles: body.boundary_faces(), influences })
}

fn place(x: f64, y: f64) -> DAffine3 {
    DAffine3::from_translation(Vec3::new(x, y, 0.08))
}

/// Legs that part do not draw out what is between them: there is nothing.
#[test]
fn legs_do_not_hang_together() {
    let (joints, skin) = trousers();
    let flesh = Flesh::new(&joints, skin.clone(), Settings { cells: 600, ..Settings::default() }).unwrap();
    let mut player = Player::new(Kit::new(&flesh, Method::BlendedLinear, 1.0 / 120.0).unwrap()).unwrap();
    let pose = |angle: f64| -> Vec<Mat4> {
        let turned = |k: usize| {
            let first = match k {
                0 => return DAffine3::IDENTITY,
                1..=3 => &joints[1],
                _ => &joints[4],
            };
            let angle = if k < 4 { -angle } else { angle };
            let head = first.rest_from_joint;
            head * DAffine3::from_rotation_x(angle) * head.inverse()
        };
        let world = (0..joints.len()).map(|k| turned(k) * joints[k].rest_from_joint);
        world.map(|world| world.as_affine3().into()).collect()
    };
    // a stride
    for frame in 0..60 {
        player.step(&pose(0.6 * (f64::from(frame) / 20.0).min(1.0)), 1.0 / 30.0).unwrap();
    }
    let points = flesh.surface(player.shown());
    let [rest, now] = [&skin.points, &points].map(|points| volume(points, &skin.triangles));
    // feet and shins go as their bones do
    let goal = pose(0.6);
    let far = |k: usize| {
        let joint = skin.influences[k][0].0 as usize;
        let world = DAffine3::from_mat4(goal[joint].as_dmat4()) * joints[joint].rest_from_joint.inverse();
        let is_low = skin.points[k].y < 0.4;
        if is_low { points[k].distance(world.transform_point3(skin.points[k])) } else { 0.0 }
    };
    let farthest = (0..points.len()).map(far).fold(0.0, f64::max);
    println!("volume {:.3} of that at rest, {farthest:.4} m from where its bones take it", now / rest);
    assert!((now / rest - 1.0).abs() < 0.05, "{now} {rest}");
    assert!(farthest < 0.03, "{farthest}");
}
