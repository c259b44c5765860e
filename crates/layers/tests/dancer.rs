//! A dress on a dancer, as others made both: ARCSim's, 78 points around sixteen stiff parts that overlap each other. Her figure goes into one
//! file, her dress is another, and the shot of [the manual](../../../docs/dress.md) does the rest.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{Clip, Faces, Frame, MemoryFrames, Mesh, ReadOptions, WriteOptions};
use glam::{Quat, Vec3};
use shot::{BakeOptions, Context, Reader};

/// Frames of the dance that are read: she stands for five of them, and then begins.
const FRAMES: std::ops::Range<usize> = 24..40;
/// Stiff parts of the dancer.
const PARTS: usize = 16;

/// The shot, as the manual has it, but for its film.
fn shot_of_the_manual() -> String {
    let page = include_str!("../../../docs/dress.md");
    let block = &page[page.find("[input]\nfile = \"dancer.usdc\"").unwrap()..];
    let text = &block[..block.find("```").unwrap()];
    assert!(text.contains("files = [\"dress4.webp\"]"));
    text.replace("files = [\"dress4.webp\"]", "files = []\nreport = false")
}

/// The folder with both; `None`, said aloud, when it is not there.
fn meshes() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let root = std::env::var_os("FOLLOWTHROUGH_ASSETS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let folder = root.join("cloth/arcsim/meshes").canonicalize().ok().filter(|folder| folder.is_dir());
    if folder.is_none() {
        println!("skipped: cloth/arcsim/meshes is not there");
    }
    folder
}

/// How every part is turned in these frames, and where it is.
fn motion(path: &Path) -> Vec<Vec<(Quat, Vec3)>> {
    let text = std::fs::read_to_string(path).unwrap();
    let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    // for each part its places, then its orientations: a line that names them, and one for every frame
    let tables: Vec<Vec<Vec<f32>>> = text
        .split("body[")
        .skip(1)
        .map(|table| table.lines().skip(1 + FRAMES.start).take(FRAMES.len()).map(numbers).collect())
        .collect();
    let moves = |of: &[Vec<Vec<f32>>]| {
        let place = |(at, q): (&Vec<f32>, &Vec<f32>)| {
            (Quat::from_xyzw(q[1], q[2], q[3], q[0]).normalize(), Vec3::new(at[0], at[1], at[2]))
        };
        of[0].iter().zip(&of[1]).map(place).collect()
    };
    tables.chunks_exact(2).map(moves).collect()
}

/// The dancer as one mesh, Y up; in her own files she is Z up.
fn dancer(folder: &Path) -> Clip {
    let motion = motion(&folder.join("dance-paused.mot"));
    assert_eq!(motion.len(), PARTS);
    // their files are numbered, and yet no sequence
    let alone = ReadOptions { single: true, ..ReadOptions::default() };
    let mut faces = Faces::default();
    let mut frames = vec![Vec::new(); FRAMES.len()];
    for (part, moves) in motion.iter().enumerate() {
        let path = folder.join(format!("female-objs/body{part:04}.obj"));
        let own = clip::read(path, &alone).unwrap().meshes.remove(0);
        let first = frames[0].len() as u32;
        for face in own.faces.iter() {
            let corners: Vec<u32> = face.iter().map(|v| first + own.vertex_points[*v as usize]).collect();
            faces.push(&corners);
        }
        for (points, (turn, at)) in frames.iter_mut().zip(moves) {
            points.extend(own.rest_points.iter().map(|p| {
                let [x, y, z] = (*turn * Vec3::from(*p) + *at).to_array();
                [x, z, -y]
            }));
        }
    }
    assert_eq!(frames[0].len(), 13_481);
    let mesh = Mesh::from_faces("dancer", frames[0].clone(), faces);
    let frames = frames.into_iter().map(|points| Frame { points: vec![points], pose: Vec::new() }).collect();
    Clip::new("dance", 30.0, vec![mesh], None, Arc::new(MemoryFrames::new(frames)))
}

#[test]
fn a_dress_is_put_on_a_dancer_and_dances_along() {
    let Some(meshes) = meshes() else { return };
    let folder = tempfile::tempdir().unwrap();
    clip::write(folder.path().join("dancer.usdc"), &dancer(&meshes), &WriteOptions::default()).unwrap();
    std::fs::copy(meshes.join("dress4.obj"), folder.path().join("dress4.obj")).unwrap();
    let reader = Reader::new(layers::registry().with_film::<film::FilmLook>());
    let shot = reader.parse("dress", &shot_of_the_manual(), folder.path()).unwrap();
    assert_eq!(shot.check().iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    let options = BakeOptions { out: Some(folder.path().join("out")), ..BakeOptions::default() };
    let bake = shot.bake(&options, &Context::SILENT).unwrap();
    let layer = &bake.layers[0];
    assert!(layer.warnings.is_empty(), "{:?}", layer.warnings);
    assert_eq!(layer.figures.len(), FRAMES.len());
    for (index, figures) in layer.figures.iter().enumerate() {
        for name in ["intersections/itself", "intersections/obstacles"] {
            assert_eq!(figures.get(name), Some(0.0), "frame {index}: {name}");
        }
    }
    // as fine as was asked for, it hangs on her shoulders, reaches below her knees, and goes where she goes
    let dress = bake.clip.mesh_index("dress4").unwrap();
    let points = |index: usize| bake.clip.frame(index).unwrap().points[dress].clone();
    let (first, last) = (points(0), points(FRAMES.len() - 1));
    assert_eq!(last.len(), 990);
    let top = last.iter().map(|p| p[1]).fold(f32::MIN, f32::max);
    let hem = last.iter().map(|p| p[1]).fold(f32::MAX, f32::min);
    println!("from {top} m down to {hem} m");
    assert!((1.2..1.5).contains(&top) && (0.3..0.7).contains(&hem), "{top} {hem}");
    let moved = first.iter().zip(&last).map(|(a, b)| Vec3::from(*a).distance(Vec3::from(*b)));
    let mean = moved.sum::<f32>() / first.len() as f32;
    println!("moved by {mean} m");
    assert!(mean > 0.03, "{mean}");
}
