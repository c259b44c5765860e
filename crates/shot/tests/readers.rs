//! Readers beside a bake: they get what is there, and leave no trace.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use common::{options, parse};
use shot::{BakeOptions, Context, Error, Event};

const SHOT: &str = r#"
[input]
sample = "flag"
frames = "0-9"

[[layer]]
kind = "lag"

[[layer]]
kind = "smooth"
window = 0.01
"#;

/// Every file below a folder with its bytes, in order.
fn all_files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => files.extend(all_files(&path)),
            path => files.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    files.sort();
    files
}

#[test]
fn a_bake_is_read_while_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    let seen = Mutex::new(Vec::new());
    let progress = |event: Event<'_>| {
        let Event::Frame { layer: "smooth", frame, .. } = event else { return };
        // as if the bake stood in the middle of a write
        let lag = fs::read_dir(out.join(".bake")).unwrap().flatten().map(|entry| entry.path());
        let lag = lag.into_iter().find(|path| path.is_dir()).unwrap();
        fs::write(lag.join("frame-00099.tmp"), "half a fra").unwrap();
        let before = all_files(out);
        let bake = parse(SHOT).baked_so_far(&options(out)).unwrap();
        assert_eq!((bake.frames.last, bake.missing), (frame, 9 - frame));
        assert_eq!(bake.clip.frame_count(), frame + 1);
        assert_eq!(bake.layers[1].figures.len(), frame + 1);
        seen.lock().unwrap().push(bake.clip.frame(frame).unwrap());
        assert!(all_files(out) == before, "a reader writes and sweeps nothing");
    };
    let cancel = AtomicBool::new(false);
    let bake = parse(SHOT).bake(&options(out), &Context { progress: &progress, cancel: &cancel }).unwrap();
    let seen = seen.into_inner().unwrap();
    assert_eq!((seen.len(), bake.missing), (10, 0));
    for (index, frame) in seen.iter().enumerate() {
        assert_eq!(*frame, bake.clip.frame(index).unwrap());
    }
}

#[test]
fn what_is_not_there_is_said_and_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for read in [shot::Shot::baked, shot::Shot::baked_so_far] {
        let error = read(&parse(SHOT), &options(&out)).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::NotBaked { have: 0, .. }), "{error}");
        assert!(!out.exists(), "a reader makes no folder");
    }

    let part = BakeOptions { frames: Some("0-3".parse().unwrap()), ..options(&out) };
    parse(SHOT).bake(&part, &Context::SILENT).unwrap();
    let error = parse(SHOT).baked(&options(&out)).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::NotBaked { have: 5, need: 10, .. }), "{error}");
    let some = parse(SHOT).baked_so_far(&options(&out)).unwrap();
    assert_eq!((some.frames.last, some.missing), (3, 6));

    // a range that begins where nothing is yet; and one that does not
    let late = BakeOptions { frames: Some("4-8".parse().unwrap()), ..options(&out) };
    assert!(parse(SHOT).baked_so_far(&late).is_err());
    let early = BakeOptions { frames: Some("2-8".parse().unwrap()), ..options(&out) };
    let some = parse(SHOT).baked_so_far(&early).unwrap();
    assert_eq!((some.frames.first, some.frames.last, some.missing), (2, 3, 5));
    assert_eq!(some.clip.frame_count(), 2);
}
