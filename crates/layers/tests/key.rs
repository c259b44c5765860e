//! What a layer reads is part of what its frames are stored under.

mod common;
#[path = "common/flag_operator.rs"]
mod flag_operator;

use std::fs;
use std::path::Path;

use clip::{Clip, Mesh, WriteOptions};
use common::reader;
use serde_json::Value as Json;
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

/// A layer, or two of which the upper one counts, that names files, and which.
struct Case {
    input: &'static str,
    layer: &'static str,
    names: &'static [&'static str],
}

const fn on_square(layer: &'static str, names: &'static [&'static str]) -> Case {
    Case { input: "file = 'square.glb'", layer, names }
}

/// Every setting with which a layer can name a file. That none is missing is what [`every_setting_that_can_name_a_file_has_a_case`] holds.
const CASES: &[Case] = &[
    on_square(
        "kind = 'cloth'\nfollow = { any = [{ file = 'a.json' }, { not = { file = 'b.json' } }] }\n\
         contact = { obstacles = [{ file = 'ball.##.obj' }, { file = 'floor.obj' }] }",
        &["a.json", "b.json", "ball.01.obj", "ball.02.obj", "floor.obj"],
    ),
    on_square("kind = 'cloth'\nstart = { pose = 'pose.obj', seconds = 0.1 }", &["pose.obj"]),
    on_square(
        "kind = 'inextensible'\nfollow = { file = 'a.json' }\nwarp = { not = { file = 'b.json' } }",
        &["a.json", "b.json"],
    ),
    on_square("kind = 'cloth'\n[[layer]]\nkind = 'blend'\nfollow = { file = 'a.json' }", &["a.json"]),
    on_square(
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
    on_square(
        "kind = 'enrich'\ntets = 'body.node'\nfollow = { file = 'a.json' }\nanimated = { file = 'b.json' }\nrigid = { file = 'c.json' }\n\
         contact = { obstacles = [{ file = 'floor.obj' }] }",
        &["body.node", "body.ele", "a.json", "b.json", "c.json", "floor.obj"],
    ),
    on_square("kind = 'enrich'\nseparated = 'pose.obj'", &["pose.obj"]),
    Case {
        input: "sample = 'arm'",
        layer: "kind = 'morph'\ntets = 200\nfollow = { file = 'arm.json' }\n\
                targets = [{ name = 'slack' }, { name = 'flexed', file = 'arm.obj', turns = { elbow = [0, 0, 90] } }]",
        names: &["arm.json", "arm.obj"],
    },
    Case {
        input: "sample = 'arm'\nframes = '0-1'",
        layer: "kind = 'skeleton'\npre_roll = 0.0\nlattice = 'arm.veg'",
        names: &["arm.veg"],
    },
    Case {
        input: "sample = 'walker'",
        layer: "kind = 'motion'\nkeys = [0.2]\nprior = 'walk.prior'",
        names: &["walk.prior"],
    },
    Case {
        input: "sample = 'walker'\nframes = '0-3'\nmotion = { file = 'take.bvh' }",
        layer: "kind = 'smooth'",
        names: &["take.bvh"],
    },
    Case {
        input: "file = 'raised.glb'",
        layer: "kind = 'upsample'\nmesh = 'flag'\noperator = 'flag.ftop'",
        names: &["flag.ftop"],
    },
    Case {
        input: "duration = 0.2",
        layer: "kind = 'smoke'\ngrid = [32, 24]\nobstacle = [{ file = 'mask.####.png' }]\ntemperature = [{ file = 'heat.png' }]",
        names: &["mask.0001.png", "mask.0003.png", "heat.png"],
    },
];

/// Files that are added to the scene: those of one file are in crates/shot/tests/files.rs.
const ADDED: Case = Case {
    input: "file = 'square.glb'\nadd = [{ file = 'floor.obj', name = 'floor' }, { file = 'fall.pc2', mesh = 'ball.01.obj', name = 'ball' }, \
            { file = 'pose.obj', cache = 'fall.pc2', name = 'third' }]",
    layer: "kind = 'cloth'\nmesh = 'square'",
    names: &["floor.obj", "fall.pc2", "ball.01.obj", "pose.obj"],
};

impl Case {
    fn shot(&self, folder: &Path, more: &str) -> shot::Shot {
        let Self { input, layer, .. } = self;
        let text =
            format!("[input]\n{input}\n[[layer]]\n{layer}\n[output]\nfiles = []\nreport = false\n{more}");
        reader().parse("shot.toml", &text, folder).unwrap_or_else(|error| panic!("{layer}: {error:?}"))
    }
}

/// Settings of a schema that are, or may be, a [`clip::FilePath`]: as `Type.setting`, or `Type` where it is one of several forms of a setting.
fn naming_settings(root: &Json, schema: &Json, owner: &str, seen: &mut Vec<String>, found: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        if name == "FilePath" {
            found.push(owner.to_owned());
        } else if !seen.iter().any(|known| known == name) {
            seen.push(name.to_owned());
            naming_settings(
                root,
                root.pointer(reference.trim_start_matches('#')).unwrap(),
                name,
                seen,
                found,
            );
        }
        return;
    }
    let kind = owner.split('.').next().unwrap();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        naming_settings(root, property, &format!("{kind}.{name}"), seen, found);
    }
    for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        for branch in schema[key].as_array().into_iter().flatten() {
            naming_settings(root, branch, branch["title"].as_str().unwrap_or(owner), seen, found);
        }
    }
    for key in ["items", "additionalProperties"] {
        if schema[key].is_object() {
            naming_settings(root, &schema[key], owner, seen, found);
        }
    }
}

#[test]
fn every_setting_that_can_name_a_file_has_a_case() {
    let registry = layers::registry().with_film::<film::FilmLook>();
    let schema = shot::schema_of(&registry);
    let (mut seen, mut found) = (Vec::new(), Vec::new());
    naming_settings(&schema, &schema, "Shot", &mut seen, &mut found);
    found.sort_unstable();
    found.dedup();
    // those of inputs are in crates/shot/tests/files.rs, that of films is below, the others are CASES
    let held = [
        "AddedInput.cache",
        "AddedInput.file",
        "AddedInput.mesh",
        "Artwork.file",
        "FleshTets",
        "Image.file",
        "MorphTarget.file",
        "MotionInput.file",
        "Obstacle.file",
        "Selector.file",
        "Separated",
        "Shot.cache",
        "Shot.file",
        "Shot.mesh",
        "Start.pose",
        "motion.prior",
        "skeleton.lattice",
        "tracks.tracked",
        "upsample.operator",
    ];
    assert_eq!(found, held, "a new setting names a file: give it a case, then a line here");
}

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
    ["mask.0001.png", "mask.0002.png", "mask.0003.png", "heat.png"]
        .iter()
        .for_each(|name| image_file(&here.join(name), 9));
    clip::write(here.join("fall.pc2"), &Clip::still(square(4), 24.0, 2), &WriteOptions::default()).unwrap();
    let mut limb = (samples::all().iter().find(|sample| sample.name == "arm").unwrap().make)();
    let target = shot::Target { clip: limb.clone(), mesh: 0, files: clip::Files::default() };
    let settings = layers::Skeleton { cells: 60, ..layers::Skeleton::default() };
    let flesh = layers::Anatomy::new(&settings, &target).unwrap().flesh;
    clip::write_lattice(here.join("arm.veg"), flesh.lattice()).unwrap();
    let mut arm = limb.meshes.remove(0);
    arm.parts.clear();
    weights(here, "arm.json", arm.point_count());
    clip::write(here.join("arm.obj"), &Clip::still(arm, 24.0, 1), &WriteOptions::default()).unwrap();
    clip::write(here.join("raised.glb"), &flag_operator::raised(), &WriteOptions::default()).unwrap();
    fs::write(here.join("flag.ftop"), flag_operator::operator()).unwrap();
    let calm =
        samples::Walker { strides: 1, cell: 0.06, slide: 0.0, tremble: 0.0, frame_rate_hz: 30.0 }.clip();
    clip::write(here.join("take.bvh"), &calm, &WriteOptions::default()).unwrap();
    let learning = motion::Learning { inducing: 20, ..Default::default() };
    let prior = motion::Prior::learn(&[layers::take(&calm).unwrap()], &learning).unwrap();
    fs::write(here.join("walk.prior"), prior.to_bytes()).unwrap();
}

/// Changes the last digit, or bit, of a file as soon as a layer is told of: after the list was made, before anything is simulated.
struct Meddler<'a> {
    path: &'a Path,
    good: &'a [u8],
}

impl shot::Progress for Meddler<'_> {
    fn event(&self, event: shot::Event<'_>) {
        if matches!(event, shot::Event::Layer { .. }) {
            let mut bytes = self.good.to_vec();
            bytes[*flippable(self.good).last().unwrap()] ^= 1;
            fs::write(self.path, bytes).unwrap();
        }
    }
}

/// What a bake says of a file that changes after the list was made.
fn words_of_a_change(
    path: &Path,
    bake: impl FnOnce(&Context<'_>) -> Result<shot::Bake, String>,
) -> Option<String> {
    let good = fs::read(path).unwrap();
    let progress = Meddler { path, good: &good };
    let words = bake(&Context { progress: &progress, ..Context::SILENT }).err();
    fs::write(path, &good).unwrap();
    words
}

#[test]
fn every_file_that_changes_during_a_bake_is_refused_in_every_layer() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_files(here);
    for (number, case) in CASES.iter().chain([&ADDED]).enumerate() {
        let (layer, shot) = (case.layer, case.shot(here, ""));
        let input = case.input.contains("square.glb").then_some("square.glb");
        for name in input.iter().chain(case.names) {
            let options =
                BakeOptions { out: Some(here.join(format!("out{number}-{name}"))), ..BakeOptions::default() };
            let bake =
                |context: &Context<'_>| shot.bake(&options, context).map_err(|error| error.to_string());
            let words = words_of_a_change(&here.join(name), bake);
            let words = words.unwrap_or_else(|| panic!("{layer}: {name} changed, and nobody noticed"));
            assert!(words.contains(name) && words.contains("changed"), "{layer}, {name}: {words}");
        }
    }
}

#[test]
fn an_image_of_a_film_that_changes_during_the_bake_is_refused_when_the_film_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    image_file(&here.join("art.png"), 3);
    let text = "[input]\nduration = 0.1\n[[layer]]\nkind = 'smoke'\ngrid = [32, 24]\ntextures = true\n[output]\nfiles = ['film.png']\n\
                report = false\n[output.film]\nwidth = 32\nheight = 24\npass = [{ image = { file = 'art.png' } }]\n";
    let shot = reader().parse("shot.toml", text, here).unwrap();
    let bake = |out: &str, context: &Context<'_>| {
        let options = BakeOptions { out: Some(here.join(out)), ..BakeOptions::default() };
        film::bake(&shot, &options, context).map_err(|error| error.to_string())
    };
    let untouched = bake("untouched", &Context::SILENT).unwrap();
    assert_eq!(untouched.files.len(), 1);
    let words = words_of_a_change(&here.join("art.png"), |context| bake("changed", context));
    let words = words.expect("a picture changed, and nobody noticed");
    assert!(words.contains("art.png") && words.contains("changed"), "{words}");
    // what was baked beside it was right
    let again = bake("changed", &Context::SILENT).unwrap();
    assert_eq!(again.layers[0].baked, 0);
    assert_eq!(fs::read(&again.files[0]).unwrap(), fs::read(&untouched.files[0]).unwrap());
}

#[test]
fn every_file_that_a_layer_names_is_part_of_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    write_files(here);
    for case in CASES.iter().chain([&ADDED]) {
        // looks that name files are read through the same list
        let (layer, shot) = (case.layer, case.shot(here, "[output.film]\npass = [{ clip = true }]\n"));
        let before = shot.keys().unwrap_or_else(|error| panic!("{layer}: {error:?}"));
        for name in case.names {
            let path = here.join(name);
            let good = fs::read(&path).unwrap();
            let mut readable = 0;
            for at in flippable(&good).into_iter().rev().take(30) {
                let mut bytes = good.clone();
                bytes[at] ^= 1;
                fs::write(&path, bytes).unwrap();
                if let Ok(after) = shot.keys() {
                    readable += 1;
                    let is_inputs = case.input.contains(name);
                    assert_eq!(after[0] != before[0], is_inputs, "{name} is of the wrong key");
                    assert_ne!(
                        after.last(),
                        before.last(),
                        "{layer}: {name} changed at {at}, the key did not"
                    );
                }
            }
            // operators and priors have checksums: a damaged one is refused by whoever asks for keys
            let is_summed = name.ends_with(".ftop") || name.ends_with(".prior");
            assert!(readable > 0 || is_summed, "{layer}: no change left {name} readable");
            fs::write(&path, good).unwrap();
        }
        assert_eq!(shot.keys().unwrap(), before);
    }
}

/// Places where another bit leaves a file of its kind: digits, where it is a text.
fn flippable(bytes: &[u8]) -> Vec<usize> {
    let is_text = std::str::from_utf8(bytes).is_ok();
    (0..bytes.len()).filter(|&at| !is_text || bytes[at].is_ascii_digit()).collect()
}

/// A picture of one grey.
fn image_file(path: &Path, grey: u8) {
    image::GrayImage::from_pixel(8, 6, image::Luma([grey])).save(path).unwrap();
}
