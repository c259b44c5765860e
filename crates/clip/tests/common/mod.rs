//! What the tests share: where the assets are, how to compare clips.
#![allow(dead_code, clippy::print_stdout)] // each test file uses its own part; what is skipped is said aloud

use std::path::{Path, PathBuf};

use clip::{Clip, Transform};

/// The folder of shared assets; `None`, said aloud, when it is not there.
pub(crate) fn assets(folder: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let root = std::env::var_os("FOLLOWTHROUGH_ASSETS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = root.join(folder);
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

/// The files in a folder with one of these extensions, sorted.
pub(crate) fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
            extensions.contains(&extension.as_str())
        })
        .collect();
    files.sort();
    files
}

/// The largest distance between positions of two clips over all frames, relative to the size of the first.
pub(crate) fn relative_distance(a: &Clip, b: &Clip) -> f64 {
    assert_eq!(a.frame_count(), b.frame_count(), "frames");
    assert_eq!(a.meshes.len(), b.meshes.len(), "meshes");
    let mut worst = 0.0_f64;
    let mut size = 1e-9_f64;
    for index in 0..a.frame_count() {
        let (fa, fb) = (a.frame(index).unwrap(), b.frame(index).unwrap());
        for mesh in 0..a.meshes.len() {
            // vertices, not points: welding may find more points equal in a baked file
            let (va, vb) =
                (a.meshes[mesh].per_vertex(&fa.points[mesh]), b.meshes[mesh].per_vertex(&fb.points[mesh]));
            assert_eq!(va.len(), vb.len(), "vertices");
            for (pa, pb) in va.iter().zip(&vb) {
                for i in 0..3 {
                    worst = worst.max(f64::from((pa[i] - pb[i]).abs()));
                    size = size.max(f64::from(pa[i].abs()));
                }
            }
        }
    }
    worst / size
}

/// The largest distance between joints in the world, relative to the reach of the skeleton.
pub(crate) fn joint_distance(a: &Clip, b: &Clip) -> f64 {
    assert_eq!(a.frame_count(), b.frame_count(), "frames");
    let (sa, sb) = (a.skeleton.as_ref().unwrap(), b.skeleton.as_ref().unwrap());
    let names = |s: &clip::Skeleton| s.joints.iter().map(|j| (j.name.clone(), j.parent)).collect::<Vec<_>>();
    assert_eq!(names(sa), names(sb), "joints");
    let mut worst = 0.0_f64;
    let mut size = 1e-9_f64;
    let world = |s: &clip::Skeleton, pose: &[Transform]| -> Vec<glam::Vec3> {
        s.world_from_joints(pose).iter().map(|m| m.transform_point3(glam::Vec3::ZERO)).collect()
    };
    for index in 0..a.frame_count() {
        let (pa, pb) = (world(sa, &a.frame(index).unwrap().pose), world(sb, &b.frame(index).unwrap().pose));
        for (x, y) in pa.iter().zip(&pb) {
            worst = worst.max(f64::from(x.distance(*y)));
            size = size.max(f64::from(x.length()));
        }
    }
    worst / size
}
