//! What every fuzz target does: put the bytes where a reader finds them, and use what it reads.

use std::path::Path;

use clip::{ReadOptions, Selector, describe, diagnose, read, read_tets};

/// The OBJ under a point cache: four points, two triangles.
const SQUARE: &[u8] = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n";

/// Reads bytes as a file of this name and does what a user might do with it. Refusing is fine; panicking, hanging and
/// asking for absurd amounts of memory are not.
pub fn read_as(name: &str, bytes: &[u8]) {
    in_folder(name, bytes, |path| {
        let _ = describe(path, &ReadOptions::default());
        let Ok(clip) = read(path, &ReadOptions::default()) else { return };
        for frame in [0, 1, clip.frame_count() / 2, clip.frame_count().saturating_sub(1)] {
            let _ = clip.frame(frame);
        }
        if clip.frame_count() < 20 {
            let _ = diagnose(&clip);
        }
    });
}

/// Reads bytes as a file of tets; a TetGen pair finds its other half beside it.
pub fn read_tets_as(name: &str, bytes: &[u8]) {
    in_folder(name, bytes, |path| {
        let (node, ele) = (path.with_extension("node"), path.with_extension("ele"));
        if !node.exists() {
            let _ = std::fs::write(node, "4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n");
        }
        if !ele.exists() {
            let _ = std::fs::write(ele, "1 4 0\n0 0 1 2 3\n");
        }
        let _ = read_tets(path, &ReadOptions::default());
    });
}

/// Reads bytes as a side file of weights.
pub fn read_weights(name: &str, bytes: &[u8]) {
    in_folder(name, bytes, |path| {
        let Some(folder) = path.parent() else { return };
        let Ok(clip) = read(folder.join("a.obj"), &ReadOptions::default()) else { return };
        let _ = Selector::File(name.into()).weights(&clip, 0, folder);
    });
}

fn in_folder(name: &str, bytes: &[u8], act: impl FnOnce(&Path)) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join(name);
    if std::fs::write(folder.path().join("a.obj"), SQUARE).is_ok() && std::fs::write(&path, bytes).is_ok() {
        act(&path);
    }
}
