//! An input that is exported again with another ending keeps its beginning.

mod common;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use clip::{Clip, MemoryFrames, WriteOptions};
use common::{frame_files, options};
use shot::{Context, Event, Reader};

/// So many frames of a flag; from `changed` on they go elsewhere.
fn flag(frames: usize, changed: usize) -> Clip {
    let flag = samples::flag();
    let count = flag.frame_count();
    let frame = |index: usize| {
        let mut frame = flag.frame(index % count).unwrap();
        let shift = if index < changed { 0.0 } else { 0.01 * (index + 1 - changed) as f32 };
        frame.points.iter_mut().flatten().for_each(|point| point[0] += shift);
        frame
    };
    flag.with_frames(Arc::new(MemoryFrames::new((0..frames).map(frame).collect())))
}

const LAYERS: &str = "
[[layer]]
kind = \"lag\"

[[layer]]
kind = \"smooth\"
window = 0.04
";

/// Bakes `file` with these layers and tells which frames of each were made, first and last.
fn bake(folder: &Path, out: &str, file: &str, layers: &str) -> [Option<(usize, usize)>; 2] {
    let text = format!("[input]\nfile = \"{file}\"\n{layers}");
    let shot = Reader::new(common::registry()).parse("test.toml", &text, folder).unwrap();
    let made = Mutex::new([const { Vec::<usize>::new() }; 2]);
    let progress = |event: Event<'_>| {
        if let Event::Frame { layer, frame, .. } = event {
            made.lock().unwrap()[usize::from(layer == "smooth")].push(frame);
        }
    };
    let cancel = AtomicBool::new(false);
    let context = Context { progress: &progress, cancel: &cancel };
    let bake = shot.bake(&options(&folder.join(out)), &context).unwrap();
    let made = made.into_inner().unwrap();
    for (layer, made) in bake.layers.iter().zip(&made) {
        assert_eq!((layer.baked, layer.baked + layer.reused), (made.len(), bake.clip.frame_count()));
        assert!(layer.seconds.iter().all(Option::is_some) && !layer.figures[0].0.is_empty());
    }
    made.map(|made| Some((*made.first()?, *made.last()?)))
}

/// Whether a bake over an older one has the frames of a fresh one.
fn assert_fresh(folder: &Path, file: &str, layers: &str) {
    let fresh = tempfile::tempdir_in(folder).unwrap();
    let name = fresh.path().file_name().unwrap().to_str().unwrap();
    bake(folder, name, file, layers);
    let all = frame_files(&folder.join("out"));
    let expected = frame_files(fresh.path());
    assert!(!expected.is_empty() && expected.iter().all(|frame| all.contains(frame)));
}

#[test]
fn only_what_the_new_ending_reaches_is_made_again() {
    for file in ["flag.pc2", "flag.glb", "flag.####.obj"] {
        let folder = tempfile::tempdir().unwrap();
        let write = |clip: Clip| {
            for old in std::fs::read_dir(folder.path()).unwrap().flatten().filter(|old| old.path().is_file())
            {
                std::fs::remove_file(old.path()).unwrap();
            }
            clip::write(folder.path().join(file), &clip, &WriteOptions::default()).unwrap();
        };
        let whole = |frames: usize| [Some((0, frames - 1)); 2];
        write(flag(60, usize::MAX));
        assert_eq!(bake(folder.path(), "out", file, LAYERS), whole(60), "{file}");

        // smoothing looks three frames ahead
        write(flag(60, 40));
        assert_eq!(bake(folder.path(), "out", file, LAYERS), [Some((40, 59)), Some((37, 59))], "{file}");
        assert_fresh(folder.path(), file, LAYERS);

        // longer, and shorter: the frames that saw the end before, and those that see it now
        write(flag(70, usize::MAX));
        assert_eq!(bake(folder.path(), "out", file, LAYERS), [Some((60, 69)), Some((57, 69))], "{file}");
        assert_fresh(folder.path(), file, LAYERS);
        write(flag(30, usize::MAX));
        assert_eq!(bake(folder.path(), "out", file, LAYERS), [None, Some((27, 29))], "{file}");
        assert_fresh(folder.path(), file, LAYERS);

        // nothing is left of a beginning that changed
        write(flag(30, 0));
        assert_eq!(bake(folder.path(), "out", file, LAYERS), whole(30), "{file}");
    }
}

#[test]
fn what_reads_the_end_or_asks_for_it_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let write = |clip: Clip| {
        clip::write(folder.path().join("flag.pc2"), &clip, &WriteOptions::default()).unwrap();
    };
    let counts = LAYERS.replace("window = 0.04", "window = 0.04\ncounts = true");
    let peeks = LAYERS.replace("kind = \"lag\"", "kind = \"lag\"\npeek = true");
    write(flag(30, usize::MAX));
    for layers in [&counts, &peeks] {
        bake(folder.path(), "out", "flag.pc2", layers);
    }
    write(flag(30, 20));
    assert_eq!(bake(folder.path(), "out", "flag.pc2", &counts), [Some((20, 29)), Some((0, 29))]);
    assert_eq!(bake(folder.path(), "out", "flag.pc2", &peeks), [Some((0, 29)); 2]);

    // another setting is another recipe, whatever the input
    let other = LAYERS.replace("kind = \"lag\"", "kind = \"lag\"\nfrequency = 3.0");
    assert_eq!(bake(folder.path(), "out", "flag.pc2", &other), [Some((0, 29)); 2]);
}

/// A bake that was stopped, taken over, stopped again and resumed from a state that was itself taken over.
#[test]
fn what_was_taken_over_is_itself_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    for (changed, made) in [(usize::MAX, 0), (50, 50), (40, 40), (30, 30)] {
        let file = folder.path().join("flag.pc2");
        clip::write(file, &flag(60, changed), &WriteOptions::default()).unwrap();
        assert_eq!(bake(folder.path(), "out", "flag.pc2", LAYERS)[0], Some((made, 59)));
        assert_fresh(folder.path(), "flag.pc2", LAYERS);
    }
    // back to the second: it is still there
    let file = folder.path().join("flag.pc2");
    clip::write(file, &flag(60, 50), &WriteOptions::default()).unwrap();
    assert_eq!(bake(folder.path(), "out", "flag.pc2", LAYERS), [None; 2]);
}
