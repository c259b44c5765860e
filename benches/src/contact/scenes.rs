//! The hard scenes. `size` counts cells along a square metre of cloth: small ones are tests, larger ones the benchmark.

use std::f64::consts::TAU;

use contact::{CollisionSurface, Shape, plane};
use geometry::Vec3;
use samples::shapes;

use super::scene::{Motion, RATE, Scene, still};

type Result<T> = std::result::Result<T, contact::Error>;

/// All of them.
pub(crate) fn all(size: usize, frames: usize) -> Result<Vec<Scene>> {
    Ok(vec![
        sphere(size, frames)?,
        needle(size, frames)?,
        knife(size, frames)?,
        rotating_sphere(size, frames)?,
        ring(size, frames)?,
        stack(size, frames)?,
        ribbon(size, frames)?,
        wrung(size, frames)?,
        bullet(size, frames)?,
        fists(size, frames)?,
    ])
}

/// A level sheet about a point.
fn sheet(cells: [usize; 2], size: [f64; 2], middle: Vec3) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let (u, v) = (size[0] * Vec3::X, -size[1] * Vec3::Z);
    let grid = shapes::triangle_grid(cells[0], cells[1], middle - 0.5 * (u + v), u, v);
    // a grain of unevenness: nothing in the world balances on its axis of symmetry
    let wobble =
        |p: Vec3| 2e-4 * Vec3::new((37.0 * p.z).sin(), (29.0 * p.x + 17.0 * p.z).sin(), (41.0 * p.x).cos());
    (grid.points.iter().map(|p| *p + wobble(*p)).collect(), grid.triangles())
}

fn ground(height: f64) -> Result<(CollisionSurface, Motion)> {
    Ok((plane("ground", height * Vec3::Y, Vec3::Y, 50.0)?, still()))
}

fn ball(radius: f64) -> Result<CollisionSurface> {
    Shape::Sphere { radius }.surface("ball", radius / 6.0)
}

pub(crate) fn sphere(size: usize, frames: usize) -> Result<Scene> {
    let (points, triangles) = sheet([size, size], [1.0, 1.0], 0.36 * Vec3::Y);
    let obstacles = vec![(ball(0.3)?, still()), ground(-0.35)?];
    Ok(Scene { obstacles, ..Scene::of("sphere", frames, points, triangles) })
}

fn needle(size: usize, frames: usize) -> Result<Scene> {
    let (points, triangles) = sheet([size, size], [1.0, 1.0], Vec3::new(0.013, 0.06, 0.007));
    // a cone of 6 sides, a centimetre wide, half a metre tall
    let side = |k: u32| {
        let (sin, cos) = (TAU * f64::from(k) / 6.0).sin_cos();
        Vec3::new(0.01 * cos, -0.5, 0.01 * sin)
    };
    let corners: Vec<Vec3> = std::iter::once(Vec3::ZERO).chain((0..6).map(side)).collect();
    let faces = (0..6u32).map(|k| [0, 1 + (k + 1) % 6, 1 + k]).collect();
    let obstacles = vec![(CollisionSurface::obstacle("needle", corners, faces), still()), ground(-0.4)?];
    Ok(Scene { obstacles, ..Scene::of("needle", frames, points, triangles) })
}

fn knife(size: usize, frames: usize) -> Result<Scene> {
    let (points, triangles) = sheet([size, size], [1.0, 1.0], Vec3::new(0.02, 0.06, 0.0));
    // a wedge with its edge up, along z
    let corner = |x: f64, y: f64, z: f64| Vec3::new(x, y, z);
    let corners = vec![
        corner(0.0, 0.0, -0.7),
        corner(0.0, 0.0, 0.7),
        corner(-0.03, -0.5, -0.7),
        corner(-0.03, -0.5, 0.7),
        corner(0.03, -0.5, -0.7),
        corner(0.03, -0.5, 0.7),
    ];
    let faces = vec![[0, 2, 3], [0, 3, 1], [0, 1, 5], [0, 5, 4], [0, 4, 2], [1, 3, 5]];
    let obstacles = vec![(CollisionSurface::obstacle("knife", corners, faces), still())];
    Ok(Scene { obstacles, ..Scene::of("knife", frames, points, triangles) })
}

fn rotating_sphere(size: usize, frames: usize) -> Result<Scene> {
    let turn = |time: f64| 3.0 * (time - 0.4).max(0.0); // rad, once the cloth lies
    let motion: Motion = Box::new(move |time, _, p| {
        let (sin, cos) = turn(time).sin_cos();
        Vec3::new(cos * p.x + sin * p.z, p.y, cos * p.z - sin * p.x)
    });
    let (points, triangles) = sheet([size, size], [1.0, 1.0], 0.33 * Vec3::Y);
    let mut ball = ball(0.3)?;
    ball.friction = 0.8;
    Ok(Scene {
        obstacles: vec![(ball, motion), ground(-0.35)?],
        friction: 0.8,
        ..Scene::of("rotating_sphere", frames, points, triangles)
    })
}

/// The middle of a sheet is drawn down through a ring.
fn ring(size: usize, frames: usize) -> Result<Scene> {
    let (points, triangles) = sheet([size, size], [0.8, 0.8], 0.05 * Vec3::Y);
    let pinned: Vec<usize> = (0..points.len())
        .filter(|&p| Vec3::new(points[p].x, 0.0, points[p].z).length() < 0.9 / size as f64)
        .collect();
    let torus = shapes::torus(0.16, 0.03, 36, 12);
    let obstacle = CollisionSurface::obstacle("ring", torus.points.clone(), torus.triangles());
    Ok(Scene {
        pinned,
        guide: Box::new(|time, _, p| p - (0.45 * time).min(0.75) * Vec3::Y),
        obstacles: vec![(obstacle, still())],
        friction: 0.2,
        ..Scene::of("ring", frames, points, triangles)
    })
}

/// Ten sheets, one above the other, fall on a box.
fn stack(size: usize, frames: usize) -> Result<Scene> {
    let cells = (size / 3).max(3);
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for layer in 0..10 {
        let first = points.len() as u32;
        let height = 0.02 + 0.015 * f64::from(layer);
        let shift = 0.004 * f64::from(layer % 3);
        let (more, faces) = sheet([cells, cells], [0.4, 0.4], Vec3::new(shift, height, -shift));
        points.extend(more);
        triangles.extend(faces.iter().map(|t| t.map(|v| v + first)));
    }
    let block = Shape::Box { half_size: Vec3::new(0.14, 0.05, 0.14) }.surface("block", 0.07)?;
    let block = CollisionSurface {
        rest_positions: block.rest_positions.iter().map(|p| *p - 0.05 * Vec3::Y).collect(),
        ..block
    };
    let obstacles = vec![(block, still()), ground(-0.1)?];
    Ok(Scene { obstacles, ..Scene::of("stack", frames, points, triangles) })
}

/// A ribbon hangs upright over the ground and is let go.
fn ribbon(size: usize, frames: usize) -> Result<Scene> {
    let (flat, triangles) = sheet([2, 3 * size], [0.04, 1.2], Vec3::ZERO);
    let points = flat
        .iter()
        .map(|p| Vec3::new(p.x + 0.01 * (9.0 * p.z).sin(), 0.63 - p.z, 0.02 * p.z + p.y))
        .collect();
    let obstacles = vec![ground(0.0)?];
    Ok(Scene { obstacles, material: "denim", ..Scene::of("ribbon", frames, points, triangles) })
}

/// A towel is wrung: each end turns once, in opposite directions: 720° in all.
fn wrung(size: usize, frames: usize) -> Result<Scene> {
    let (points, triangles) = sheet([size, size / 2], [0.8, 0.4], Vec3::ZERO);
    let pinned: Vec<usize> = (0..points.len()).filter(|&p| points[p].x.abs() > 0.395).collect();
    let seconds = frames as f64 / RATE;
    let guide: Motion = Box::new(move |time, _, p| {
        let done = (time / (0.85 * seconds)).min(1.0);
        let (sin, cos) = (p.x.signum() * TAU * done).sin_cos();
        // what twists gets shorter
        let x = p.x - p.x.signum() * 0.13 * done * done;
        Vec3::new(x, cos * p.y - sin * p.z, sin * p.y + cos * p.z)
    });
    Ok(Scene { pinned, guide, ..Scene::of("wrung", frames, points, triangles) })
}

/// A curtain, and a ball at 100 m/s, four metres a frame, that stops 60 cm behind it.
fn bullet(size: usize, frames: usize) -> Result<Scene> {
    let (flat, triangles) = sheet([size, size], [1.0, 1.0], Vec3::ZERO);
    let points: Vec<Vec3> = flat.iter().map(|p| Vec3::new(p.x, -p.z, p.y)).collect();
    let top = points.iter().map(|p| p.y).fold(f64::MIN, f64::max);
    let pinned = (0..points.len()).filter(|&p| points[p].y > top - 1e-3).collect();
    let motion: Motion = Box::new(|time, _, p| p + Vec3::new(0.1, -0.1, (100.0 * (time - 0.2)).min(0.6)));
    let obstacles = vec![(ball(0.12)?, motion)];
    Ok(Scene { pinned, obstacles, ..Scene::of("bullet", frames, points, triangles) })
}

/// Two fists close on a hanging cloth, and open again.
fn fists(size: usize, frames: usize) -> Result<Scene> {
    let (flat, triangles) = sheet([size, size], [0.8, 0.8], Vec3::ZERO);
    let points: Vec<Vec3> = flat.iter().map(|p| Vec3::new(p.x, -p.z, p.y)).collect();
    let top = points.iter().map(|p| p.y).fold(f64::MIN, f64::max);
    let pinned = (0..points.len()).filter(|&p| points[p].y > top - 1e-3).collect();
    let seconds = frames as f64 / RATE;
    let fist = |side: f64| -> Motion {
        Box::new(move |time, _, p| {
            let closed = (1.0 - (TAU * time / seconds).cos()) / 2.0;
            // three millimetres on each side are left for the cloth
            p + side * (0.35 - 0.247 * closed) * Vec3::Z - 0.1 * closed * Vec3::X
        })
    };
    let obstacles = vec![(ball(0.1)?, fist(1.0)), (ball(0.1)?, fist(-1.0))];
    Ok(Scene { pinned, obstacles, ..Scene::of("fists", frames, points, triangles) })
}

/// The benchmark sheet of 2 × 2 m, two corners held, with a ball where it swings: for the cost of contact.
pub(crate) fn draped(cells: usize, frames: usize) -> Result<Scene> {
    let (points, triangles) = sheet([cells, cells], [2.0, 2.0], Vec3::ZERO);
    let corner = |p: &Vec3| p.z < -0.999 && p.x.abs() > 0.999;
    let pinned = (0..points.len()).filter(|&p| corner(&points[p])).collect();
    let ball = ball(0.5)?;
    let motion: Motion = Box::new(|_, _, p| p + Vec3::new(0.0, -0.62, 0.1));
    Ok(Scene { pinned, obstacles: vec![(ball, motion)], ..Scene::of("draped", frames, points, triangles) })
}
