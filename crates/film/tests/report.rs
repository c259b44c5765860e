//! The report: all there, in one file.

#[path = "../../shot/tests/common/mod.rs"]
mod common;

use std::path::Path;

use common::{options, registry};
use film::FilmLook;
use shot::{Context, Reader};

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
    assert_eq!(page.matches("data:image/png;base64,").count(), 12);
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
