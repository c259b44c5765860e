//! Bakes: resuming, reusing, refusing.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{frame_files, options, parse};
use shot::{Context, Error, Event, FrameRange, Progress};

const SHOT: &str = r#"
[input]
sample = "flag"
frames = "0-9"

[[layer]]
kind = "lag"
follow = { group = "hoist" }

[[layer]]
kind = "smooth"
window = 0.05

[output]
files = []
report = false
"#;

/// Stops the bake after so many stored frames.
struct StopAfter<'a> {
    frames: usize,
    seen: Mutex<usize>,
    cancel: &'a AtomicBool,
}

impl Progress for StopAfter<'_> {
    fn event(&self, event: Event<'_>) {
        if let Event::Frame { .. } = event {
            let mut seen = self.seen.lock().unwrap();
            *seen += 1;
            if *seen >= self.frames {
                self.cancel.store(true, Ordering::Relaxed);
            }
        }
    }
}

#[test]
fn stopped_at_any_frame_and_resumed_gives_the_same_bytes() {
    let whole = tempfile::tempdir().unwrap();
    parse(SHOT).bake(&options(whole.path()), &Context::SILENT).unwrap();
    let expected = frame_files(whole.path());
    assert_eq!(expected.len(), 20);

    for stop in 1..20 {
        let folder = tempfile::tempdir().unwrap();
        let cancel = AtomicBool::new(false);
        let progress = StopAfter { frames: stop, seen: Mutex::new(0), cancel: &cancel };
        let context = Context { progress: &progress, cancel: &cancel };
        let error = parse(SHOT).bake(&options(folder.path()), &context).map(|_| ()).unwrap_err();
        match error {
            // the lower layer is four frames ahead until it has all ten
            Error::Cancelled { layer, done, of: 10 } => {
                let through = if stop < 15 { stop.saturating_sub(4) / 2 } else { stop - 10 };
                assert_eq!((layer.as_str(), done), ("smooth", through), "stopped after {stop}");
            }
            other => panic!("{other}"),
        }
        let bake = parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();
        assert_eq!(bake.layers.iter().map(|layer| layer.reused).sum::<usize>(), stop);
        assert!(frame_files(folder.path()) == expected, "stopped after {stop}");
    }
}

/// The child of the next test: bakes until it is killed from within.
#[test]
fn child_that_is_killed() {
    let (Ok(out), Ok(frames)) = (std::env::var("SHOT_TEST_OUT"), std::env::var("SHOT_TEST_FRAMES")) else {
        return;
    };
    let frames: usize = frames.parse().unwrap();
    let seen = Mutex::new(0);
    let progress = |event: Event<'_>| {
        if let Event::Frame { .. } = event {
            let mut seen = seen.lock().unwrap();
            *seen += 1;
            if *seen == frames {
                std::process::abort();
            }
        }
    };
    let cancel = AtomicBool::new(false);
    let _ = parse(SHOT).bake(&options(Path::new(&out)), &Context { progress: &progress, cancel: &cancel });
}

#[test]
fn a_killed_process_leaves_a_bake_that_goes_on() {
    let whole = tempfile::tempdir().unwrap();
    parse(SHOT).bake(&options(whole.path()), &Context::SILENT).unwrap();
    let expected = frame_files(whole.path());
    for frames in [1, 7, 13] {
        let folder = tempfile::tempdir().unwrap();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_is_killed", "--nocapture"])
            .env("SHOT_TEST_OUT", folder.path())
            .env("SHOT_TEST_FRAMES", frames.to_string())
            .output()
            .unwrap()
            .status;
        assert!(!status.success(), "the child must die");
        assert_eq!(frame_files(folder.path()).len(), frames);
        // what a kill in the middle of a write leaves
        let layer =
            fs::read_dir(folder.path().join(".bake")).unwrap().flatten().find(|e| e.path().is_dir()).unwrap();
        fs::write(layer.path().join("frame-00009.tmp"), b"half a fra").unwrap();
        parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();
        assert!(frame_files(folder.path()) == expected, "killed after {frames}");
        assert!(!layer.path().join("frame-00009.tmp").exists());
    }
}

#[test]
fn damaged_frames_and_checkpoints_are_made_again_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let first = parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();
    let expected = frame_files(folder.path());
    let lag = &first.layers[0].folder;
    for damage in 0..4 {
        let frame = lag.join("frame-00004.bin");
        let bytes = fs::read(&frame).unwrap();
        match damage {
            0 => fs::write(&frame, &bytes[..bytes.len() / 2]).unwrap(),
            1 => fs::write(&frame, b"").unwrap(),
            2 => fs::remove_file(&frame).unwrap(),
            _ => {
                let mut flipped = bytes;
                flipped[200] ^= 1;
                fs::write(&frame, flipped).unwrap();
                // and the latest checkpoint too
                fs::write(lag.join("checkpoint-00009.bin"), b"nonsense").unwrap();
            }
        }
        let bake = parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();
        assert_eq!((bake.layers[0].baked, bake.layers[0].reused), (1, 9), "damage {damage}");
        assert_eq!(bake.layers[1].baked, 0);
        assert!(frame_files(folder.path()) == expected, "damage {damage}");
    }
}

#[test]
fn only_what_stands_on_a_change_is_baked_again() {
    let folder = tempfile::tempdir().unwrap();
    let bake = |text: &str| {
        let bake = parse(text).bake(&options(folder.path()), &Context::SILENT).unwrap();
        bake.layers.iter().map(|layer| layer.baked).collect::<Vec<_>>()
    };
    assert_eq!(bake(SHOT), [10, 10]);
    assert_eq!(bake(SHOT), [0, 0]);
    assert_eq!(bake(&SHOT.replace("0.05", "0.08")), [0, 10], "the upper layer changed");
    assert_eq!(bake(SHOT), [0, 0], "going back costs nothing");
    assert_eq!(
        bake(&SHOT.replace("window = 0.05", "window = 5e-2 # the same")),
        [0, 0],
        "the same in other words"
    );
    assert_eq!(
        bake(&SHOT.replace("kind = \"lag\"", "kind = \"lag\"\nfrequency = 2.0")),
        [0, 0],
        "a default written out"
    );
    assert_eq!(
        bake(&SHOT.replace("kind = \"lag\"", "kind = \"lag\"\nfrequency = 3")),
        [10, 10],
        "the lower layer changed"
    );
    assert_eq!(
        bake(&SHOT.replace("kind = \"lag\"", "kind = \"lag\"\nstrength = 0.5")),
        [0, 10],
        "strength is mixed on reading"
    );
    assert_eq!(bake(&SHOT.replace("0-9", "0-4")), [0, 4], "another ending keeps the beginning");

    let bakes =
        || fs::read_dir(folder.path().join(".bake")).unwrap().flatten().filter(|e| e.path().is_dir()).count();
    assert!(bakes() > 2);
    let removed = parse(SHOT).prune(&options(folder.path())).unwrap();
    assert_eq!((bakes(), removed.is_empty()), (2, false));
    assert_eq!(bake(SHOT), [0, 0], "pruning keeps what is in use");

    let fresh = shot::BakeOptions { fresh: true, ..options(folder.path()) };
    let bake = parse(SHOT).bake(&fresh, &Context::SILENT).unwrap();
    assert_eq!(bake.layers[0].baked, 10);
}

#[test]
fn strength_0_and_disabled_layers_give_the_input_to_the_bit() {
    for line in ["strength = 0", "strength = 0.0", "enabled = false"] {
        let folder = tempfile::tempdir().unwrap();
        let text = SHOT.replace("kind = \"lag\"", &format!("kind = \"lag\"\n{line}"));
        let text = text.replace("kind = \"smooth\"", &format!("kind = \"smooth\"\n{line}"));
        let bake = parse(&text).bake(&options(folder.path()), &Context::SILENT).unwrap();
        assert!(bake.layers.is_empty());
        for index in 0..bake.clip.frame_count() {
            assert_eq!(bake.clip.frame(index).unwrap(), bake.input.frame(index).unwrap(), "{line}");
        }
    }
}

#[test]
fn half_strength_lies_halfway() {
    let folder = tempfile::tempdir().unwrap();
    let text = SHOT.split("[[layer]]\nkind = \"smooth\"").next().unwrap().to_owned()
        + "[output]\nfiles = []\nreport = false\n";
    let full = parse(&text).bake(&options(folder.path()), &Context::SILENT).unwrap();
    let half = parse(&text.replace("kind = \"lag\"", "kind = \"lag\"\nstrength = 0.5"));
    let half = half.bake(&options(folder.path()), &Context::SILENT).unwrap();
    assert_eq!(half.layers[0].baked, 0);
    let [input, half, full] =
        [&full.input, &half.clip, &full.clip].map(|clip| clip.frame(9).unwrap().points[0][50][1]);
    assert!((full - input).abs() > 0.01, "the layer does something");
    assert!((half - 0.5 * (input + full)).abs() < 1e-6);
}

#[test]
fn a_part_of_the_frames_equals_that_part_of_a_whole_bake() {
    let whole = tempfile::tempdir().unwrap();
    let part = tempfile::tempdir().unwrap();
    let whole = parse(SHOT).bake(&options(whole.path()), &Context::SILENT).unwrap();
    let frames = Some(FrameRange { first: 3, last: 5 });
    let part_options = shot::BakeOptions { frames, ..options(part.path()) };
    let some = parse(SHOT).bake(&part_options, &Context::SILENT).unwrap();
    assert_eq!(some.clip.frame_count(), 3);
    for index in 0..3 {
        assert_eq!(some.clip.frame(index).unwrap(), whole.clip.frame(3 + index).unwrap());
    }
    // smoothing looks four frames ahead, so the layer below it was baked further
    assert_eq!(some.layers.iter().map(|layer| layer.baked).collect::<Vec<_>>(), [10, 6]);
    let rest = parse(SHOT).bake(&options(part.path()), &Context::SILENT).unwrap();
    assert_eq!(rest.layers[1].baked, 4, "the whole goes on from the part");

    let beyond = shot::BakeOptions { frames: Some(FrameRange { first: 3, last: 10 }), ..part_options };
    let error = parse(SHOT).bake(&beyond, &Context::SILENT).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "frames 3-10 were asked for, but the input has frames 0-9");
}

#[test]
fn one_thread_equals_many() {
    let folders = [1, 2, 3].map(|threads| {
        let folder = tempfile::tempdir().unwrap();
        let options = shot::BakeOptions { threads: Some(threads), ..options(folder.path()) };
        parse(SHOT).bake(&options, &Context::SILENT).unwrap();
        folder
    });
    assert!(frame_files(folders[0].path()) == frame_files(folders[1].path()));
    assert!(frame_files(folders[0].path()) == frame_files(folders[2].path()));
}

#[test]
fn untouched_meshes_are_not_stored_again() {
    let folder = tempfile::tempdir().unwrap();
    let bake = parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();
    let points = bake.clip.meshes[bake.layers[0].mesh].point_count();
    let file = fs::metadata(bake.layers[0].folder.join("frame-00003.bin")).unwrap().len() as usize;
    assert!(file >= 12 * points && file < 12 * points + 1024, "{file} bytes for {points} points");
    for (mesh, _) in bake.clip.meshes.iter().enumerate().filter(|(mesh, _)| *mesh != bake.layers[0].mesh) {
        assert_eq!(bake.clip.frame(3).unwrap().points[mesh], bake.input.frame(3).unwrap().points[mesh]);
    }
}

#[test]
fn failures_name_the_frame_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let broken = SHOT.replace("kind = \"lag\"", "kind = \"lag\"\nbreak_at = 6");
    let error = parse(&broken).bake(&options(folder.path()), &Context::SILENT).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "layer `lag`, frame 6: the spring broke");
    assert_eq!(miette::Diagnostic::help(&error).unwrap().to_string(), "lower `frequency`");
    assert_eq!(frame_files(folder.path()).len(), 6 + 2, "and what the layer above made of the six");

    let nan = SHOT.replace("kind = \"lag\"", "kind = \"lag\"\nnan_at = 2");
    let error = parse(&nan).bake(&options(folder.path()), &Context::SILENT).map(|_| ()).unwrap_err();
    assert!(matches!(&error, Error::NotFinite { frame: 2, point: 7, .. }), "{error}");
}

#[test]
fn a_folder_in_use_and_a_folder_that_is_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".bake")).unwrap();
    let lock = fs::File::create(folder.path().join(".bake/lock")).unwrap();
    lock.lock().unwrap();
    let error = parse(SHOT).bake(&options(folder.path()), &Context::SILENT).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    drop(lock);
    parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();

    // a file stands where the folder should be: works as any user, root included
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = parse(SHOT).bake(&options(&file), &Context::SILENT).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("file"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_called_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();
    let before = frame_files(folder.path());
    // a pipe to nowhere that is always full stands where the next layer's notes would go
    let layer = parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap().layers[0].folder.clone();
    fs::remove_file(layer.join("frame-00005.bin")).unwrap();
    std::os::unix::fs::symlink("/dev/full", layer.join("frame-00005.tmp")).unwrap();
    // opening the store clears what looks like a leftover, so put it back once the layer has begun
    let progress = |event: Event<'_>| {
        if let Event::Layer { layer: "lag", .. } = event {
            let _ = std::os::unix::fs::symlink("/dev/full", layer.join("frame-00005.tmp"));
        }
    };
    let cancel = AtomicBool::new(false);
    let context = Context { progress: &progress, cancel: &cancel };
    let error = parse(SHOT).bake(&options(folder.path()), &context).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::DiskFull { .. }), "{error}");
    parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();
    assert!(frame_files(folder.path()) == before, "and then there is room again");
}

/// Any layer, also one that looks at no flag in the middle of a frame.
#[test]
fn a_frame_is_left_within_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let slow =
        parse("input = { sample = 'flag', frames = '0-5' }\nlayer = [{ kind = 'lag', slow_frame = 20.0 }]");
    let cancel = AtomicBool::new(false);
    let context = Context { progress: &|_: Event<'_>| {}, cancel: &cancel };
    let (result, waited) = std::thread::scope(|scope| {
        let bake = scope.spawn(|| slow.bake(&options(folder.path()), &context).map(|_| ()));
        while frame_files(folder.path()).len() < 2 && !bake.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        // now it is in the middle of the third
        std::thread::sleep(std::time::Duration::from_millis(300));
        let asked = std::time::Instant::now();
        cancel.store(true, Ordering::Relaxed);
        (bake.join().unwrap(), asked.elapsed())
    });
    assert!(matches!(result, Err(Error::Cancelled { done: 2, .. })), "{result:?}");
    // 0.6 s; a busy machine may take longer to look
    assert!(waited.as_secs_f64() < 5.0, "it waited for {waited:?}");
    assert_eq!(frame_files(folder.path()).len(), 2);
    // the folder is free again
    parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();
}

#[test]
fn preparations_and_frames_keep_to_the_threads_that_they_are_given() {
    for threads in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let options = shot::BakeOptions { threads: Some(threads), ..options(folder.path()) };
        let bake = parse(SHOT).bake(&options, &Context::SILENT).unwrap();
        let expected = ("threads".to_owned(), format!("[{threads}, {threads}]"));
        assert!(bake.layers[0].notes.contains(&expected), "{threads}: {:?}", bake.layers[0].notes);
    }
}

/// Preparations have no frames after which they could look; whoever asks to stop need not wait for them.
#[test]
fn a_preparation_is_left_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = AtomicBool::new(false);
    let stop_when_it_begins = |event: Event<'_>| {
        cancel.fetch_or(matches!(event, Event::Preparing { .. }), Ordering::Relaxed);
    };
    let context = Context { progress: &stop_when_it_begins, cancel: &cancel };
    let begun = std::time::Instant::now();
    let slow = parse(&SHOT.replace("kind = \"lag\"", "kind = \"lag\"\nslow = 20.0"));
    let error = slow.bake(&options(folder.path()), &context).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Cancelled { done: 0, .. }), "{error}");
    assert!(begun.elapsed().as_secs_f64() < 5.0, "it waited for {:?}", begun.elapsed());
    // the folder is free again
    parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();
}

#[test]
fn figures_warnings_and_notes_survive_reuse() {
    let folder = tempfile::tempdir().unwrap();
    let first = parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();
    let second = parse(SHOT).bake(&options(folder.path()), &Context::SILENT).unwrap();
    let (a, b) = (&first.layers[0], &second.layers[0]);
    assert_eq!(a.figures, b.figures);
    assert!(b.figures[9].get("energy/kinetic").unwrap() > 0.0);
    assert!(b.figures[9].get("distance/max").unwrap() > 0.0);
    assert_eq!(b.warnings, [(1, "it begins to swing near (0.100, 0.200, 0.300)".to_owned())]);
    assert_eq!(b.notes, a.notes);
    assert!(!b.notes.is_empty() && b.seconds.iter().all(Option::is_some));
}

/// An animation handed over takes the place of what the file names: the same frames as from the sample itself, and what else the
/// file says about its input holds.
#[test]
fn a_clip_that_is_handed_over_bakes_like_the_same_clip_named() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let named = parse(SHOT).bake(&options(folders[0].path()), &Context::SILENT).unwrap();
    let other = SHOT.replace("sample = \"flag\"", "file = \"nowhere.glb\"");
    let given = || parse(&other).with_input(samples::flag());
    assert!(given().check().is_empty());
    let bake = given().bake(&options(folders[1].path()), &Context::SILENT).unwrap();
    assert_eq!(bake.clip.frame_count(), 10, "`frames` holds");
    for frame in 0..10 {
        assert_eq!(bake.clip.frame(frame).unwrap(), named.clip.frame(frame).unwrap());
    }
    // equal frames go on, others begin anew
    let again = given().bake(&options(folders[1].path()), &Context::SILENT).unwrap();
    assert_eq!(again.layers[0].baked, 0);
    let mut flag = samples::flag();
    flag.meshes[0].rest_points[0][0] += 1e-3;
    let moved = parse(&other).with_input(flag).bake(&options(folders[1].path()), &Context::SILENT).unwrap();
    assert_ne!(moved.input_key, bake.input_key);
}

#[test]
fn a_shot_without_input_is_taken_only_where_one_comes_later() {
    let text = "[[layer]]\nkind = \"smooth\"\n[output]\nfiles = []\nreport = false\n";
    let reader = shot::Reader::new(common::registry());
    assert!(matches!(reader.parse("s", text, "".as_ref()), Err(Error::Invalid(_))));
    let shot = reader.clone().input_comes_later(true).parse("s", text, "".as_ref()).unwrap();
    assert_eq!(shot.check().len(), 1, "it still needs one to be baked");
    assert!(shot.with_input(samples::flag()).check().is_empty());
}
