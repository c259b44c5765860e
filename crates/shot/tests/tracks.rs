//! The tracks layer in a shot: averages hold, resumed bakes are the same bits, bad input gets a sentence.

use shot::{BakeOptions, Context, Reader, Shot};

fn parse(layer: &str) -> Shot {
    let text = format!(
        "[input]\nsample = \"box_guide\"\nframes = \"36-46\"\n\n[[layer]]\nkind = \"tracks\"\n{layer}\n\n[output]\nfiles = []\nreport = false\n"
    );
    Reader::default().parse("tracks.toml", &text, "".as_ref()).unwrap_or_else(|error| panic!("{error:?}"))
}

fn bake(shot: &Shot, folder: &std::path::Path, frames: &str) -> shot::Bake {
    let options = BakeOptions {
        out: Some(folder.into()),
        frames: Some(frames.parse().unwrap()),
        ..BakeOptions::default()
    };
    shot.bake(&options, &Context::SILENT).unwrap()
}

/// The first mistake, with its help.
fn mistake(layer: &str) -> String {
    let mistakes = parse(layer).check();
    format!("{:?}", mistakes.first().expect("there is a mistake"))
}

#[test]
fn averages_hold_and_a_resumed_bake_is_the_same_to_the_bit() {
    // foil, so that creases are part of what is resumed; a relief, so that rest shapes are
    let shot = parse(
        "subdivide = 2\nmaterial = \"tin_foil\"\nintegrator = \"linearly_implicit\"\nsubsteps = 2\n\
         relief = [{ keys = [[0.0, 0.0], [0.2, 1.0]], shape = { wavelength = 0.5, depth = 0.02 } }]",
    );
    assert!(shot.check().is_empty());
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let whole = bake(&shot, one.path(), "0-6");
    bake(&shot, two.path(), "0-3");
    let resumed = bake(&shot, two.path(), "0-6");
    for index in 0..7 {
        let frame = whole.clip.frame(index).unwrap();
        assert_eq!(frame, resumed.clip.frame(index).unwrap());
        assert_eq!(frame.points[0].len(), 98, "the result is the finer mesh");
        let figures = &whole.layers[0].figures[index];
        let residual = figures.get("tracking/residual of hard averages").unwrap();
        assert!(residual < 1e-9, "frame {index}: {residual}");
    }
    assert_eq!(whole.clip.meshes[0].point_count(), 98);
    assert!(whole.layers[0].figures[6].get("crease/deepest").is_some_and(|depth| depth > 0.0));
}

#[test]
fn what_cannot_be_tracked_is_said_before_the_bake() {
    let cases = [
        ("material = \"vynil\"", "vinyl"),
        ("subdivide = 1\nfabric = { bend = -1.0 }", "bend is -1"),
        // eight points, more clusters than triangles
        ("tests = { kind = \"clusters\", count = 13 }", "13 clusters of 12 triangles"),
        ("tests = { kind = \"harmonics\", count = 9 }", "only 8 points are free"),
        (
            "subdivide = 1\ntests = { kind = \"painted\", regions = [{ guide = { group = \"top\" } }, { guide = { group = \"top\" } }] }",
            "says nothing new",
        ),
        ("tests = { kind = \"painted\", regions = [{ guide = { group = \"lid\" } }] }", "lid"),
        (
            "tests = { kind = \"painted\", regions = [{ guide = { box = { min = [8, 8, 8], max = [9, 9, 9] } } }] }",
            "is empty",
        ),
        ("subdivide = 1\nloosen = [{ keys = [[1.0, 0.5], [0.5, 1.0]] }]", "ascend"),
        ("subdivide = 1\nthen = { tests = { kind = \"hats\" }, from = 2.0, to = 1.0 }", "before it begins"),
        ("subdivide = 1\ntracked = \"no.obj\"", "either cut"),
    ];
    for (layer, words) in cases {
        let said = mistake(layer);
        assert!(said.contains(words), "{layer}: {said}");
    }
}
