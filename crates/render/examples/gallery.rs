//! Writes one of every kind of picture into a folder: `cargo run --release -p followthrough-render --example gallery -- FOLDER`.
//! With a file after the folder, pictures of that clip instead.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clip::{Clip, Faces, Frame, Joint, MemoryFrames, Mesh, Skeleton, Transform};
use glam::{Quat, Vec3};
use render::{Look, Painter, Scalars, Shading, Stage, View};

/// A sheet of n × n quads that waves more and more away from its left edge.
fn flag(n: usize, frames: usize) -> Clip {
    let place = |i: usize, j: usize, time: f32| {
        let (u, v) = (i as f32 / n as f32, j as f32 / n as f32);
        let swing = u.powf(0.8)
            * (0.16 * (9.0 * u - 6.3 * time + 1.5 * v).sin()
                + 0.05 * (17.0 * u + 4.0 * v - 9.0 * time).sin());
        [1.5 * u - 0.08 * u * u, 1.0 + v - 0.14 * u * u, swing]
    };
    let at_time =
        |time: f32| (0..(n + 1) * (n + 1)).map(|k| place(k % (n + 1), k / (n + 1), time)).collect::<Vec<_>>();
    let mut faces = Faces::default();
    for j in 0..n {
        for i in 0..n {
            let corner = |di: usize, dj: usize| ((j + dj) * (n + 1) + i + di) as u32;
            faces.push(&[corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)]);
        }
    }
    let mesh = Mesh::from_faces("flag", at_time(0.0), faces);
    let frame = |i: usize| Frame { points: vec![at_time(i as f32 / frames as f32)], pose: Vec::new() };
    Clip::new("flag", 24.0, vec![mesh], None, Arc::new(MemoryFrames::new((0..frames).map(frame).collect())))
}

/// Three round things of different colours on the ground.
fn pebbles() -> Clip {
    let ball = |name: &str, centre: Vec3, radius: Vec3, rings: usize| {
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
        Mesh::from_faces(name, points, faces)
    };
    let meshes = vec![
        ball("large", Vec3::new(0.0, 0.6, 0.0), Vec3::splat(0.6), 48),
        ball("flat", Vec3::new(0.85, 0.22, 0.35), Vec3::new(0.4, 0.22, 0.3), 12),
        ball("small", Vec3::new(-0.55, 0.2, 0.6), Vec3::splat(0.2), 24),
    ];
    let frame =
        Frame { points: meshes.iter().map(|mesh| mesh.rest_points.clone()).collect(), pose: Vec::new() };
    Clip::new("pebbles", 24.0, meshes, None, Arc::new(MemoryFrames::new(vec![frame])))
}

/// A stick figure with one arm raised.
fn figure() -> Clip {
    let joint = |name: &str, parent, x: f32, y: f32, z: f32| Joint {
        name: name.into(),
        parent,
        rest: Transform { translation: Vec3::new(x, y, z), ..Transform::IDENTITY },
    };
    let mut joints = vec![joint("hips", None, 0.0, 0.95, 0.0), joint("chest", Some(0), 0.0, 0.4, 0.02)];
    joints.push(joint("neck", Some(1), 0.0, 0.15, 0.0));
    joints.push(joint("head", Some(2), 0.0, 0.2, 0.03));
    for (side, sign) in [("left", 1.0), ("right", -1.0)] {
        let first = joints.len();
        joints.push(joint(&format!("{side} shoulder"), Some(1), 0.18 * sign, 0.1, 0.0));
        joints.push(joint(&format!("{side} elbow"), Some(first), 0.12 * sign, -0.26, 0.0));
        joints.push(joint(&format!("{side} hand"), Some(first + 1), 0.04 * sign, -0.25, 0.05));
        joints.push(joint(&format!("{side} hip"), Some(0), 0.1 * sign, -0.05, 0.0));
        joints.push(joint(&format!("{side} knee"), Some(first + 3), 0.02 * sign, -0.42, 0.03));
        joints.push(joint(&format!("{side} foot"), Some(first + 4), 0.0, -0.43, -0.03));
        joints.push(joint(&format!("{side} toes"), Some(first + 5), 0.0, -0.04, 0.14));
    }
    let skeleton = Skeleton { joints };
    let mut pose = skeleton.rest_pose();
    pose[4].rotation = Quat::from_rotation_z(2.2);
    pose[14].rotation = Quat::from_rotation_x(-0.5);
    let frames = MemoryFrames::new(vec![Frame { points: Vec::new(), pose }]);
    Clip::new("figure", 24.0, Vec::new(), Some(skeleton), Arc::new(frames))
}

fn main() -> render::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "gallery".into()));
    std::fs::create_dir_all(&folder).map_err(|source| render::Error::Io { path: folder.clone(), source })?;
    let save = |name: &str, stage: &Stage, frame: usize| {
        let start = Instant::now();
        let picture = stage.picture(frame)?;
        println!("{name:12} {:6.0} ms", start.elapsed().as_secs_f64() * 1e3);
        picture.save_png(folder.join(format!("{name}.png")))
    };
    let (size, view) = ([640, 480], View::ThreeQuarter);
    if let Some(file) = std::env::args().nth(2) {
        let clip = clip::read(&file, &clip::ReadOptions::default())?;
        let middle = clip.frame_count() / 2;
        save("clip", &Stage::new(&[("", &clip)], view, Look::default(), size)?, middle)?;
        let wire = Look { wireframe: true, bones: true, ..Look::default() };
        return save("clip-wire", &Stage::new(&[("", &clip)], View::Front, wire, size)?, middle);
    }
    let (flag_clip, pebbles_clip, figure_clip) = (flag(100, 24), pebbles(), figure());
    let flat = Look { shading: Shading::Flat, ..Look::default() };
    let wire = Look { wireframe: true, ..Look::default() };
    let coarse = flag(24, 24);

    save("flag", &Stage::new(&[("", &flag_clip)], view, Look::default(), size)?, 3)?;
    save("flat", &Stage::new(&[("", &coarse)], view, flat, size)?, 3)?;
    save("wireframe", &Stage::new(&[("", &coarse)], view, wire.clone(), size)?, 3)?;
    save("pebbles", &Stage::new(&[("", &pebbles_clip)], view, Look::default(), size)?, 0)?;
    save("pebbles-wire", &Stage::new(&[("", &pebbles_clip)], view, wire, size)?, 0)?;
    save("figure", &Stage::new(&[("", &figure_clip)], view, Look::default(), size)?, 0)?;
    save(
        "pair",
        &Stage::new(&[("before", &coarse), ("after", &flag_clip)], view, Look::default(), [480, 360])?,
        5,
    )?;

    let stage = Stage::new(&[("", &flag_clip)], view, Look::default(), size)?;
    let frame = flag_clip.frame(3)?;
    let rest = &flag_clip.meshes[0].rest_points;
    let distance = |(a, b): (&[f32; 3], &[f32; 3])| 100.0 * Vec3::from(*a).distance(Vec3::from(*b));
    let values = frame.points[0].iter().zip(rest).map(distance).collect();
    let scalars = Scalars::new("distance", "cm", vec![values]);
    let look = Look::default();
    let painter = Painter::new(&flag_clip);
    painter
        .picture(&frame, stage.camera(), &look, size, Some(&scalars))?
        .save_png(folder.join("scalars.png"))?;

    let stage = Stage::new(&[("", &flag_clip)], view, Look::default(), [240, 180])?;
    stage.contact_sheet(8, 4)?.save_png(folder.join("sheet.png"))?;

    let stage = Stage::new(&[("", &flag_clip)], view, Look::default(), [480, 360])?;
    let start = Instant::now();
    let webp = stage.film(|_| true)?.finish()?;
    let per_frame = start.elapsed().as_secs_f64() * 1e3 / stage.frame_count() as f64;
    println!("film         {per_frame:6.0} ms a frame, {} kB", webp.len() / 1000);
    let path = folder.join("film.webp");
    std::fs::write(&path, webp).map_err(|source| render::Error::Io { path, source })
}
