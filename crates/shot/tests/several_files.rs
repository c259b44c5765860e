//! Several files in one scene.

mod common;

use std::path::Path;

use clip::{Clip, Mesh, WriteOptions};
use common::options;
use shot::{Context, Error, Reader, Shot};

fn square(name: &str, at: f32) -> Mesh {
    let points = vec![[at, 0.0, 0.0], [at + 1.0, 0.0, 0.0], [at + 1.0, 1.0, 0.0], [at, 1.0, 0.0]];
    Mesh::new(name, points, &[[0, 1, 2], [0, 2, 3]])
}

/// `body.glb` with 12 frames, and a garment that stands still in `shirt.obj`.
fn files(folder: &Path) {
    let write = |name: &str, clip: &Clip| {
        clip::write(folder.join(name), clip, &WriteOptions::default()).unwrap();
    };
    write("body.glb", &Clip::still(square("body", 0.0), 24.0, 12));
    write("shirt.obj", &Clip::still(square("shirt", 0.0), 24.0, 1));
}

fn parse(folder: &Path, text: &str) -> Result<Shot, Error> {
    Reader::new(common::registry()).parse("scene.toml", text, folder)
}

fn said(folder: &Path, text: &str) -> String {
    match parse(folder, text) {
        Err(error) => format!("{error:?} {error}"),
        Ok(shot) => shot.check().iter().map(|found| format!("{found} {:?}", found.remedy())).collect(),
    }
}

const DRESSED: &str = "
[input]
file = \"shirt.obj\"

[[input.add]]
file = \"body.glb\"

[[input.add]]
file = \"shirt.obj\"
name = \"coat\"
offset = [0.0, 2.0, 0.0]
scale = 3.0
rotation = [0.0, 0.0, 90.0]

[[layer]]
kind = \"lag\"
mesh = \"coat\"
";

#[test]
fn a_still_garment_lives_as_long_as_the_shot() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let shot = parse(folder.path(), DRESSED).unwrap();
    assert!(shot.check().is_empty(), "{:?}", shot.check());
    let bake = shot.bake(&options(&folder.path().join("out")), &Context::SILENT).unwrap();
    let names: Vec<&str> = bake.clip.meshes.iter().map(|mesh| mesh.name.as_str()).collect();
    assert_eq!(names, ["shirt", "body", "coat"]);
    assert_eq!(bake.clip.frame_count(), 12);
    assert_eq!(bake.layers[0].mesh, 2);
    // (1, 0) is drawn out to (3, 0), turned to (0, 3) and lifted
    let corner = bake.input.frame(7).unwrap().points[2][1];
    assert!(corner[0].abs() < 1e-6 && (corner[1] - 5.0).abs() < 1e-6, "{corner:?}");
    assert_eq!(bake.input.frame(11).unwrap().points[0], square("shirt", 0.0).rest_points);

    // a duration says how long, whatever the files do
    let long = DRESSED.replace("[input]", "[input]\nduration = 2.0");
    assert_eq!(parse(folder.path(), &long).unwrap().open_input().unwrap().frame_count(), 48);
    let short = DRESSED.replace("[input]", "[input]\nduration = 0.25");
    assert_eq!(parse(folder.path(), &short).unwrap().open_input().unwrap().frame_count(), 6);
    let part = DRESSED.replace("[input]", "[input]\nframes = \"3-5\"");
    assert_eq!(parse(folder.path(), &part).unwrap().open_input().unwrap().frame_count(), 3);
    // and into an empty scene
    let empty =
        DRESSED.replace("file = \"shirt.obj\"\n\n[[input.add]]\nfile = \"body.glb\"", "duration = 1.0");
    let scene = parse(folder.path(), &empty).unwrap().open_input().unwrap();
    assert_eq!((scene.frame_count(), scene.meshes.len()), (24, 1));
}

#[test]
fn every_file_and_every_placement_is_in_the_key() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let keys = |text: &str| parse(folder.path(), text).unwrap().keys().unwrap();
    let before = keys(DRESSED);
    assert_eq!(before, keys(DRESSED));
    for other in
        [DRESSED.replace("3.0", "3.5"), DRESSED.replace("90.0", "80.0"), DRESSED.replace("coat", "coats")]
    {
        assert_ne!(before[0], keys(&other)[0]);
    }
    clip::write(
        folder.path().join("body.glb"),
        &Clip::still(square("body", 0.5), 24.0, 12),
        &WriteOptions::default(),
    )
    .unwrap();
    assert_ne!(before[0], keys(DRESSED)[0], "the second file changed");
    let sample = DRESSED.replace("file = \"body.glb\"", "sample = \"flag\"");
    assert_ne!(keys(&sample)[0], keys(&sample.replace("flag", "curtain"))[0]);
}

#[test]
fn mistakes_are_told_at_their_place() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let cases = [
        (DRESSED.replace("file = \"body.glb\"", "name = \"x\""), "needs a `file` or a `sample`"),
        (DRESSED.replace("\"body.glb\"", "\"bdy.glb\""), "did you mean `body.glb`?"),
        (DRESSED.replace("file = \"body.glb\"", "sample = \"falg\""), "did you mean `flag`?"),
        (DRESSED.replace("file = \"body.glb\"", "sample = \"flag\"\nunit = 0.1"), "this is a sample"),
        (DRESSED.replace("scale = 3.0", "parent = \"head\""), "no joint `head`"),
        (DRESSED.replace("scale = 3.0", "scale = 0.0"), "scale"),
        (DRESSED.replace("scale = 3.0", "scael = 3.0"), "did you mean `scale`?"),
    ];
    for (text, words) in cases {
        let said = said(folder.path(), &text);
        assert!(said.contains(words), "{words}: {said}");
    }
}
