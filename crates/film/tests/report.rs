//! The report: all there, in one file.

#[path = "../../shot/tests/common/mod.rs"]
mod common;

use std::path::Path;

use common::{options, registry};
use film::FilmLook;
use shot::{Context, Event, Reader};

const SHOT: &str = r#"# A flag that swings
[input]
sample = "flag"
frames = "0-23"

[[layer]]
kind = "lag"
name = "swing <&>"
frequency = 1.5

[output]
files = ["flag.pc2", "flag.webp", "flag.png"]
film = { width = 96, height = 72 }
"#;

#[test]
fn a_bake_leaves_films_pictures_and_a_report_that_stands_alone() {
    let folder = tempfile::tempdir().unwrap();
    // a folder to look at the page: SHOT_REPORT=somewhere cargo test -p followthrough-film --test report
    let out = std::env::var_os("SHOT_REPORT").map_or(folder.path().to_owned(), std::path::PathBuf::from);
    let reader = Reader::new(registry().with_film::<FilmLook>().with_crossings(|_, _| Some(0)));
    let shot = reader.parse("test.toml", SHOT, Path::new("")).unwrap();
    let bake = film::bake(&shot, &options(&out), &Context::SILENT).unwrap();
    assert!(std::fs::read(out.join("flag.webp")).unwrap().starts_with(b"RIFF"));
    assert!(std::fs::read(out.join("flag.png")).unwrap().starts_with(b"\x89PNG"));
    assert!(bake.files.iter().all(|file| file.is_file()));

    let page = std::fs::read_to_string(bake.report.unwrap()).unwrap();
    for outside in ["http://", "https://", "<script", "src=\"/", "@import"] {
        assert!(!page.contains(outside), "the page reaches outside: {outside}");
    }
    // four frames as input, result and strain; and the place that a warning names, as input and as result
    assert_eq!(page.matches("data:image/png;base64,").count(), 4 * 3 + 2);
    assert!(page.contains("Frame 1: it begins to swing near ("), "the pictures say what is seen");
    assert_eq!(page.matches("<svg").count(), 6, "distance, strain, energy, crossings, time, substeps");
    assert!(page.contains("swing &lt;&amp;&gt;") && !page.contains("swing <&>"));
    assert!(page.contains("it begins to swing"));
    assert!(page.contains("# A flag that swings"));

    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(out.join("report.json")).unwrap()).unwrap();
    let layer = &json["layers"][0];
    assert_eq!(layer["figures"]["energy/kinetic"]["values"].as_array().unwrap().len(), 24);
    assert_eq!(layer["figures"]["time per frame"]["unit"], "ms");
    assert_eq!(layer["settings"]["frequency"], 1.5);
    assert_eq!(layer["warnings"][0]["frame"], 1);
    assert_eq!(json["frames"]["last"], 23);
}

/// The first frame can be looked at while the others are baked.
#[test]
fn the_first_picture_is_there_before_the_last_frame_and_gone_after_the_film() {
    let folder = tempfile::tempdir().unwrap();
    let reader = Reader::new(registry().with_film::<FilmLook>().with_crossings(|_, _| Some(0)));
    let shot = reader.parse("test.toml", SHOT, Path::new("")).unwrap();
    let picture = folder.path().join("test.first.png");
    let (seen, last) = (std::sync::Mutex::new(None), std::sync::atomic::AtomicUsize::new(0));
    let listener = |event: Event<'_>| match event {
        Event::FirstPicture { path } => {
            let size = image::open(path).map(|picture| (picture.width(), picture.height())).ok();
            *seen.lock().unwrap() =
                Some((path.to_owned(), size, last.load(std::sync::atomic::Ordering::Relaxed)));
        }
        Event::Frame { frame, .. } => {
            // the layer of this test is quicker than any picture: frames take as long as real ones do
            let wait = || seen.lock().unwrap().is_none();
            for _ in 0..600 {
                if frame < 2 || !wait() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            last.store(frame, std::sync::atomic::Ordering::Relaxed);
        }
        _ => {}
    };
    let cancel = std::sync::atomic::AtomicBool::new(false);
    film::bake(&shot, &options(folder.path()), &Context { progress: &listener, cancel: &cancel }).unwrap();
    let (path, size, at) = seen.lock().unwrap().take().expect("a first picture");
    assert_eq!((path, size), (picture.clone(), Some((96, 72))));
    assert!(at < 3, "while frame {at} was baked");
    assert!(!picture.exists(), "the film is there now");
}

/// A stopped bake leaves the picture of its first frame.
#[test]
fn a_bake_that_is_stopped_leaves_its_first_picture() {
    let folder = tempfile::tempdir().unwrap();
    let reader = Reader::new(registry().with_film::<FilmLook>());
    let shot = reader.parse("test.toml", SHOT, Path::new("")).unwrap();
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let listener = |event: Event<'_>| {
        if matches!(event, Event::Frame { frame: 3, .. }) {
            cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let stopped =
        film::bake(&shot, &options(folder.path()), &Context { progress: &listener, cancel: &cancel });
    assert!(stopped.is_err());
    assert!(folder.path().join("test.first.png").is_file());
}

/// The camera that goes along shows another picture than the one that stands; beside passes, which have a camera of their own, it is refused.
#[test]
fn a_camera_that_goes_along_is_a_setting_of_films_without_passes() {
    let folder = tempfile::tempdir().unwrap();
    let reader = Reader::new(registry().with_film::<FilmLook>());
    let picture = |film: &str| {
        let text = SHOT
            .replace("[\"flag.pc2\", \"flag.webp\", \"flag.png\"]", "[\"flag.png\"]\nreport = false")
            .replace("height = 72", film);
        let shot = reader.parse("test.toml", &text, Path::new("")).unwrap();
        film::bake(&shot, &options(folder.path()), &Context::SILENT).map_err(|error| format!("{error:?}"))?;
        Ok::<_, String>(std::fs::read(folder.path().join("flag.png")).unwrap())
    };
    let stands = picture("height = 72").unwrap();
    assert_ne!(picture("height = 72, go_along = true").unwrap(), stands);
    assert_eq!(picture("height = 72, go_along = false").unwrap(), stands);
    let refused = picture("height = 72, go_along = true, pass = [{ clip = true }]").unwrap_err();
    assert!(refused.contains("`go_along` has no effect beside passes"), "{refused}");
}
