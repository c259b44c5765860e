//! A cape on a walking man: a rigged character made by others, whose arms and legs cross themselves as such rigs do.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

use std::path::PathBuf;
use std::sync::Arc;

use clip::{Clip, Faces, Frame, MemoryFrames, Mesh, ReadOptions};
use geometry::Vec3;
use shot::{Layer, Target};

const CELLS: [u32; 2] = [14, 18];
const FRAMES: usize = 30;

/// The walking man; `None`, said aloud, when he is not there.
fn man() -> Option<Clip> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let root = std::env::var_os("FOLLOWTHROUGH_ASSETS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = root.join("gltf/CesiumMan.glb");
    if !path.is_file() {
        println!("skipped: gltf/CesiumMan.glb is not there");
        return None;
    }
    Some(clip::read(path, &ReadOptions::default()).unwrap())
}

fn vector(p: &[f32; 3]) -> Vec3 {
    Vec3::new(p[0].into(), p[1].into(), p[2].into())
}

/// The middle of the points that a condition on their frame-0 places holds for.
fn middle(points: &[[f32; 3]], first: &[[f32; 3]], holds: impl Fn(Vec3) -> bool) -> Vec3 {
    let chosen: Vec<Vec3> =
        points.iter().zip(first).filter(|(_, at)| holds(vector(at))).map(|(p, _)| vector(p)).collect();
    chosen.iter().sum::<Vec3>() / chosen.len() as f64
}

/// The man with a second mesh: a sheet behind his back that goes where his shoulders go.
fn caped(man: &Clip) -> Clip {
    let frames: Vec<Frame> = (0..FRAMES).map(|index| man.frame(index).unwrap()).collect();
    let first = frames[0].points[0].clone();
    let tall = first.iter().map(|p| f64::from(p[1])).fold(0.0, f64::max);
    // he faces where his toes point
    let toes = middle(&first, &first, |p| p.y < 0.04 * tall);
    let ankles = middle(&first, &first, |p| p.y > 0.08 * tall && p.y < 0.13 * tall);
    let back = -(toes - ankles).with_y(0.0).normalize();
    let across = back.cross(Vec3::Y);
    let is_shoulders = |p: Vec3| p.y > 0.72 * tall && p.y < 0.8 * tall;
    let centre = middle(&first, &first, is_shoulders);
    let is_behind = |p: &Vec3| p.y > 0.3 * tall && p.y < 0.85 * tall && (*p - centre).dot(across).abs() < 0.2;
    let behind =
        first.iter().map(vector).filter(is_behind).map(|p| (p - centre).dot(back)).fold(0.0, f64::max);
    let corner = (centre + (behind + 0.03) * back).with_y(0.79 * tall);
    let [columns, rows] = CELLS;
    let at = |i: u32, j: u32| j * (columns + 1) + i;
    let place = |i: u32, j: u32| {
        let (u, v) = (f64::from(i) / f64::from(columns) - 0.5, f64::from(j) / f64::from(rows));
        let p = corner + 0.36 * u * (1.0 + 0.5 * v) * across - 0.45 * tall * v * Vec3::Y;
        [p.x as f32, p.y as f32, p.z as f32]
    };
    let points: Vec<[f32; 3]> = (0..=rows).flat_map(|j| (0..=columns).map(move |i| place(i, j))).collect();
    let mut faces = Faces::default();
    for j in 0..rows {
        for i in 0..columns {
            faces.push(&[at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)]);
        }
    }
    let mut cape = Mesh::from_faces("cape", points.clone(), faces);
    cape.set_group("collar", (0..points.len()).map(|p| f32::from(u8::from(p <= columns as usize))).collect());
    let follow = |frame: Frame| {
        let shift = middle(&frame.points[0], &first, is_shoulders) - centre;
        let moved = |p: &[f32; 3]| {
            let p = vector(p) + shift;
            [p.x as f32, p.y as f32, p.z as f32]
        };
        let cape = points.iter().map(moved).collect();
        Frame { points: vec![frame.points[0].clone(), cape], pose: Vec::new() }
    };
    let frames = MemoryFrames::new(frames.into_iter().map(follow).collect());
    let mut body = man.meshes[0].clone();
    body.skin = None;
    Clip::new("caped", man.frame_rate_hz, vec![body, cape], None, Arc::new(frames))
}

#[test]
fn a_cape_never_passes_through_the_man_who_walks_in_it() {
    let Some(man) = man() else { return };
    let clip = caped(&man);
    let text = format!(
        "follow = {{ group = \"collar\" }}\n[contact]\nobstacles = [{{ mesh = {:?} }}]",
        clip.meshes[0].name
    );
    let settings: layers::Cloth = toml::from_str(&text).unwrap();
    let input = Target { clip, mesh: 1, files: clip::Files::default() };
    let mut simulation = settings.prepare(&input).unwrap();
    let (mut touched, mut strayed) = (0.0, 0.0_f64);
    for frame in 0..FRAMES {
        let result = simulation.frame(frame).unwrap();
        for name in ["intersections/itself", "intersections/obstacles"] {
            assert_eq!(result.figures.get(name), Some(0.0), "frame {frame}: {name}");
        }
        touched += result.figures.get("contact/pairs").unwrap_or(0.0);
        let stiff = input.clip.frame(frame).unwrap();
        let apart =
            result.frame.points[0].iter().zip(&stiff.points[1]).map(|(a, b)| vector(a).distance(vector(b)));
        strayed = apart.fold(strayed, f64::max);
    }
    assert!(touched > 0.0, "it hangs on his back");
    assert!(strayed > 0.05, "and swings: {strayed}");
}
