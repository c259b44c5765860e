//! Baking in the order of frames: every frame goes through all layers as early as it can.

mod common;

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use common::{frame_files, options, parse};
use shot::{Context, Event};

const THREE: &str = r#"
[input]
sample = "flag"
frames = "0-19"

[[layer]]
kind = "lag"
name = "low"

[[layer]]
kind = "smooth"
name = "middle"
window = 0.01

[[layer]]
kind = "lag"
name = "top"
frequency = 3.0
"#;

/// Bakes and tells in which order frames were stored.
fn bake(text: &str, out: &std::path::Path) -> Vec<(String, usize)> {
    let stored = Mutex::new(Vec::new());
    let progress = |event: Event<'_>| {
        if let Event::Frame { layer, frame, .. } = event {
            stored.lock().unwrap().push((layer.to_owned(), frame));
        }
    };
    let cancel = AtomicBool::new(false);
    parse(text).bake(&options(out), &Context { progress: &progress, cancel: &cancel }).unwrap();
    stored.into_inner().unwrap()
}

#[test]
fn three_layers_show_their_first_frame_after_about_three_frames_work() {
    let folder = tempfile::tempdir().unwrap();
    let stored = bake(THREE, folder.path());
    assert_eq!(stored.len(), 60);
    let place =
        |layer: &str, frame: usize| stored.iter().position(|(l, f)| l == layer && *f == frame).unwrap();
    // two of the lowest, because the middle one looks one frame ahead, then one of each
    let first: Vec<(&str, usize)> =
        stored[..4].iter().map(|(layer, frame)| (layer.as_str(), *frame)).collect();
    assert_eq!(first, [("low", 0), ("low", 1), ("middle", 0), ("top", 0)]);
    for frame in 0..20 {
        assert!(frame + 2 > 19 || place("top", frame) < place("low", frame + 2), "frame {frame}");
    }
}

/// What each layer gives by itself, over a stack that is baked whole below it, as it was when layers ran one after the other.
#[test]
fn the_order_changes_no_byte() {
    let at_once = tempfile::tempdir().unwrap();
    bake(THREE, at_once.path());
    let one_by_one = tempfile::tempdir().unwrap();
    let parts: Vec<&str> = THREE.split("\n[[layer]]").collect();
    for layers in 1..parts.len() {
        let stored = bake(&parts[..=layers].join("\n[[layer]]"), one_by_one.path());
        assert_eq!(stored.len(), 20, "only the highest is left to make");
    }
    assert!(frame_files(at_once.path()) == frame_files(one_by_one.path()));
}

/// A layer that reads the last frame when it is prepared, and says nothing of it: it waits until there is one.
#[test]
fn a_layer_that_reads_further_than_it_says_waits() {
    let text = THREE.replace("name = \"top\"\nfrequency = 3.0", "name = \"top\"\npeek = true");
    let folder = tempfile::tempdir().unwrap();
    let stored = bake(&text, folder.path());
    assert_eq!(stored.len(), 60);
    let place =
        |layer: &str, frame: usize| stored.iter().position(|(l, f)| l == layer && *f == frame).unwrap();
    assert!(place("middle", 19) < place("top", 0));

    // also where fewer frames are wanted than it reads
    let few = tempfile::tempdir().unwrap();
    let wanted = shot::BakeOptions { frames: Some("0-3".parse().unwrap()), ..options(few.path()) };
    let bake = parse(&text).bake(&wanted, &Context::SILENT).unwrap();
    assert_eq!(bake.layers.iter().map(|layer| layer.baked).collect::<Vec<_>>(), [20, 20, 4]);
    let whole = frame_files(folder.path());
    assert!(frame_files(few.path()).iter().all(|file| whole.contains(file)));
}

/// A frame that got lost in the middle of a lower layer is made again, and nothing above it.
#[test]
fn a_lost_frame_below_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    bake(THREE, folder.path());
    let expected = frame_files(folder.path());
    let lost = expected.iter().find(|(path, _)| {
        let path = path.to_string_lossy();
        path.contains("middle") && path.ends_with("frame-00007.bin")
    });
    std::fs::remove_file(folder.path().join(&lost.unwrap().0)).unwrap();
    assert_eq!(bake(THREE, folder.path()), [("middle".to_owned(), 7)]);
    assert!(frame_files(folder.path()) == expected);
}
