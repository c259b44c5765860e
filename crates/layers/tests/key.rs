//! What a layer reads is part of what its frames are stored under.

mod common;

use std::fs;
use std::path::Path;

use clip::{Clip, Mesh, WriteOptions};
use common::reader;
use shot::{BakeOptions, Context};

#[test]
fn a_file_of_weights_is_part_of_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[input]\nsample = \"flag\"\nframes = \"0-1\"\n[[layer]]\nkind = \"cloth\"\nfollow = { file = \"weights.json\" }\n[output]\nfiles = []\nreport = false\n";
    let path = folder.path().join("shot.toml");
    fs::write(&path, text).unwrap();
    let points = samples::flag().meshes[0].point_count();
    let options = BakeOptions { out: Some(folder.path().into()), ..BakeOptions::default() };
    let bake = |weight: &str| {
        fs::write(folder.path().join("weights.json"), format!("[{}]", vec![weight; points].join(",")))
            .unwrap();
        reader().read(&path).unwrap().bake(&options, &Context::SILENT).unwrap().layers[0].baked
    };
    assert_eq!([bake("1"), bake("1"), bake("0.5"), bake("1")], [2, 0, 2, 0]);
}

/// A square of 4 × 4 quads, and the same on a mesh twice as fine.
fn square(cells: usize) -> Mesh {
    let across = cells + 1;
    let at = |k: usize| [(k % across) as f32 / cells as f32, (k / across) as f32 / cells as f32, 0.0];
    let corner = |cell: usize, i: usize, j: usize| ((cell / cells + j) * across + cell % cells + i) as u32;
    let triangles: Vec<[u32; 3]> = (0..cells * cells)
        .flat_map(|c| {
            [
                [corner(c, 0, 0), corner(c, 1, 0), corner(c, 1, 1)],
                [corner(c, 0, 0), corner(c, 1, 1), corner(c, 0, 1)],
            ]
        })
        .collect();
    Mesh::new("square", (0..across * across).map(at).collect(), &triangles)
}

fn weights(folder: &Path, name: &str, points: usize) {
    let list: Vec<String> = (0..points).map(|i| format!("{}", (i % 4) as f32 / 4.0)).collect();
    fs::write(folder.join(name), format!("[{}]", list.join(", "))).unwrap();
}

/// Every layer that names files, in every setting where it can, and the files that it names.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "kind = 'cloth'\nfollow = { any = [{ file = 'a.json' }, { not = { file = 'b.json' } }] }\n\
         contact = { obstacles = [{ file = 'ball.##.obj' }, { file = 'floor.obj' }] }",
        &["a.json", "b.json", "ball.01.obj", "ball.02.obj", "floor.obj"],
    ),
    (
        "kind = 'inextensible'\nfollow = { file = 'a.json' }\nwarp = { not = { file = 'b.json' } }",
        &["a.json", "b.json"],
    ),
    ("kind = 'blend'\nfollow = { file = 'a.json' }", &["a.json"]),
    (
        "kind = 'tracks'\ntracked = 'fine.obj'\nfollow = { file = 'a.json' }\nloosen = [{ region = { file = 'b.json' }, keys = [[0, 1]] }]\n\
         contact = { obstacles = [{ file = 'floor.obj' }] }\n\
         tests = { kind = 'painted', regions = [{ guide = { file = 'c.json' }, tracked = { file = 'fine-c.json' } }] }\n\
         then = { from = 1, to = 2, tests = { kind = 'painted', density = { file = 'e.json' }, regions = [{ guide = { file = 'd.json' }, tracked = { file = 'fine-d.json' } }] } }",
        &[
            "fine.obj",
            "a.json",
            "b.json",
            "floor.obj",
            "c.json",
            "fine-c.json",
            "d.json",
            "fine-d.json",
            "e.json",
        ],
    ),
    (
        "kind = 'enrich'\ntets = 'body.node'\nfollow = { file = 'a.json' }\nanimated = { file = 'b.json' }\nrigid = { file = 'c.json' }\n\
         contact = { obstacles = [{ file = 'floor.obj' }] }",
        &["body.node", "body.ele", "a.json", "b.json", "c.json", "floor.obj"],
    ),
    ("kind = 'enrich'\nseparated = 'pose.obj'", &["pose.obj"]),
];

/// Looks that name files are read through the same list.
const FILM: &str = "[output.film]\npass = [{ clip = true }]\n";

/// All files that the layers above name.
fn write_files(here: &Path) {
    for name in ["square.glb", "pose.obj", "floor.obj", "ball.##.obj"] {
        let frames = if name.contains('#') { 2 } else { 1 };
        clip::write(here.join(name), &Clip::still(square(4), 24.0, frames), &WriteOptions::default())
            .unwrap();
    }
    clip::write(here.join("fine.obj"), &Clip::still(square(8), 24.0, 1), &WriteOptions::default()).unwrap();
    ["a.json", "b.json", "c.json", "d.json", "e.json"].iter().for_each(|name| weights(here, name, 25));
    ["fine-c.json", "fine-d.json"].iter().for_each(|name| weights(here, name, 81));
    fs::write(here.join("body.node"), "4 3 0 0\n0 -2 -2 -2\n1 5 0 0\n2 0 5 0\n3 0 0 5\n").unwrap();
    fs::write(here.join("body.ele"), "1 4 0\n0 0 1 2 3\n").unwrap();
}

/// Changes the last digit of a file as soon as a layer is told of: after the list was made, before anything is simulated.
struct Meddler<'a> {
    path: &'a Path,
    good: &'a [u8],
}

impl shot::Progress for Meddler<'_> {
    fn event(&self, event: shot::Event<'_>) {
        if matches!(event, shot::Event::Layer { .. }) {
            let mut bytes = self.good.to_vec();
            let digit = bytes.iter().rposition(u8::is_ascii_digit).unwrap();
            bytes[digit] ^= 1;
            fs::write(self.path, bytes).unwrap();
        }
    }
}

#[test]
fn every_file_that_changes_during_a_bake_is_refused_in_every_layer() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_files(here);
    for (number, (layer, names)) in LAYERS.iter().enumerate() {
        let text = format!(
            "[input]\nfile = 'square.glb'\n[[layer]]\n{layer}\n[output]\nfiles = []\nreport = false\n"
        );
        let shot = reader().parse("shot.toml", &text, here).unwrap();
        // a shot that is refused before its files are read says nothing here
        if kind_needs_more(layer) {
            continue;
        }
        assert_eq!(
            shot.check().iter().map(ToString::to_string).collect::<Vec<_>>(),
            Vec::<String>::new(),
            "{layer}"
        );
        for name in ["square.glb"].iter().chain(*names) {
            let path = here.join(name);
            let good = fs::read(&path).unwrap();
            let out = Some(here.join(format!("out{number}-{name}")));
            let options = BakeOptions { out, ..BakeOptions::default() };
            let progress = Meddler { path: &path, good: &good };
            let context = Context { progress: &progress, ..Context::SILENT };
            let words = shot.bake(&options, &context).err().map(|error| error.to_string());
            fs::write(&path, &good).unwrap();
            let words = words.unwrap_or_else(|| panic!("{layer}: {name} changed, and nobody noticed"));
            assert!(words.contains(name) && words.contains("changed"), "{layer}, {name}: {words}");
        }
    }
}

/// `blend` stands on another layer; alone it has nothing to blend.
fn kind_needs_more(layer: &str) -> bool {
    layer.contains("kind = 'blend'")
}

#[test]
fn every_file_that_a_layer_names_is_part_of_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_files(here);
    for (layer, names) in LAYERS {
        let text = format!(
            "[input]\nfile = 'square.glb'\n[[layer]]\n{layer}\n[output]\nfiles = []\nreport = false\n{FILM}"
        );
        let shot =
            reader().parse("shot.toml", &text, here).unwrap_or_else(|error| panic!("{layer}: {error:?}"));
        let before = shot.keys().unwrap_or_else(|error| panic!("{layer}: {error:?}"));
        for name in *names {
            let path = here.join(name);
            let good = fs::read(&path).unwrap();
            // another last digit: still a file of its kind
            let digit = good.iter().rposition(u8::is_ascii_digit).unwrap();
            let mut readable = 0;
            for at in (0..=digit).rev().filter(|&at| good[at].is_ascii_digit()).take(30) {
                let mut bytes = good.clone();
                bytes[at] ^= 1;
                fs::write(&path, bytes).unwrap();
                if let Ok(after) = shot.keys() {
                    readable += 1;
                    assert_eq!(after[0], before[0], "{name} is not the input's");
                    assert_ne!(after[1], before[1], "{layer}: {name} changed at {at}, the key did not");
                }
            }
            assert!(readable > 0, "{layer}: no change left {name} readable");
            fs::write(&path, good).unwrap();
        }
        assert_eq!(shot.keys().unwrap(), before);
    }
}

#[test]
fn images_of_smoke_and_of_films_are_listed() {
    // what the settings name is found by its type, wherever it stands
    let folder = tempfile::tempdir().unwrap();
    let text = "[input]\nduration = 1\n[[layer]]\nkind = 'smoke'\nobstacle = [{ file = 'mask.####.png' }]\n[output]\nfiles = []\nreport = false\n";
    let shot = reader().parse("shot.toml", text, folder.path()).unwrap();
    assert_eq!(shot.layers[0].files, [Path::new("mask.####.png")]);
    for number in 1..3 {
        image_file(&folder.path().join(format!("mask.000{number}.png")), 10 * number);
    }
    let before = shot.keys().unwrap();
    image_file(&folder.path().join("mask.0002.png"), 21);
    assert_ne!(shot.keys().unwrap()[1], before[1]);
    image_file(&folder.path().join("mask.0002.png"), 20);
    assert_eq!(shot.keys().unwrap(), before);
}

fn image_file(path: &Path, grey: u8) {
    // the head of a PNG is enough for a list; nobody looks at the picture here
    fs::write(path, [&b"\x89PNG\r\n\x1a\n"[..], &[grey]].concat()).unwrap();
}
