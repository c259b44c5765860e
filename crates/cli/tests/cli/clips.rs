//! `info`, `convert`, `compare`, `render` and `tetmesh`: what is true of any clip.

use crate::program::{Place, has_keys};

#[test]
fn info_tells_what_a_file_holds() {
    let place = Place::new();
    place.cloth("cloth.glb", 4, 5);
    let info = place.json(&["info", "cloth.glb", "--json"]);
    has_keys(
        &info,
        &[
            "file",
            "format",
            "frame_rate_hz",
            "seconds",
            "meshes",
            "vertices",
            "triangles",
            "joints",
            "clips",
            "groups",
        ],
    );
    assert_eq!((&info["frames"], &info["triangles"]), (&5.into(), &32.into()));
    assert_eq!((&info["points"], &info["joints"]), (&25.into(), &0.into()));
    assert_eq!(info["groups"][0]["name"], "hoist");
    assert_eq!(info["problems"], serde_json::json!([]));
    has_keys(&info["meshes"][0], &["name", "points", "vertices", "faces", "triangles", "groups", "size_m"]);

    // where it is, how high it reaches, what carries it
    let walker = place.json(&["info", "sample:biped_cape", "--json"]);
    let heights: Vec<f64> =
        walker["meshes"].as_array().unwrap().iter().map(|mesh| mesh["height_m"].as_f64().unwrap()).collect();
    let [low, high] = [0, 1].map(|end| walker["meshes"][0]["bounds_m"][end][1].as_f64().unwrap());
    assert!((high - low - heights[0]).abs() < 1e-6 && heights[0] > 0.5, "{heights:?}");
    assert_eq!(walker["meshes"][0]["parent_joint"], serde_json::Value::Null);
    let words = place.expect(0, &["info", "sample:biped_cape"]).stdout;
    for part in ["first frame: from (", "m high, from", "hangs on: a skin of"] {
        assert!(words.contains(part), "{part}: {words}");
    }
    std::fs::write(place.path("hat.obj"), "v 0 2 0\nv 1 2 0\nv 0 3 0\nf 1 2 3\n").unwrap();
    let shot = "[input]\nsample = \"biped\"\nframes = \"0-1\"\n[[input.add]]\nfile = \"hat.obj\"\nname = \"hat\"\nparent = \"head\"\n[output]\nfiles = []\nreport = false\n";
    std::fs::write(place.path("hat.toml"), shot).unwrap();
    let words = place.expect(0, &["info", "hat.toml"]).stdout;
    assert!(words.contains("hangs on: joint head"), "{words}");

    let biped = place.json(&["info", "sample:biped", "--json"]);
    assert_eq!(biped["joints"].as_u64(), biped["joint_names"].as_array().map(|names| names.len() as u64));
    assert!(place.expect(0, &["info", "sample:biped"]).stdout.contains("skeleton: 24 joints"));

    // what is high as a house was perhaps drawn in centimetres
    place.expect(0, &["convert", "sample:backflip", "flip.bvh"]);
    let metres = place.expect(0, &["info", "flip.bvh"]).stdout;
    assert!(metres.contains("m high in the first frame, from") && !metres.contains("note:"), "{metres}");
    let huge = place.expect(0, &["info", "flip.bvh", "--unit", "100"]).stdout;
    assert!(huge.contains("note: what moves is") && huge.contains("`unit = 0.01`"), "{huge}");
}

#[test]
fn physics_of_a_figure_is_measured_and_drawn() {
    let place = Place::new();
    place.expect(0, &["convert", "sample:walker", "walk.bvh"]);
    let info = place.json(&["info", "walk.bvh", "--physics", "--json"]);
    let physics = &info["physics"];
    let number = |key: &str| physics[key].as_f64().unwrap();
    // drawn with feet that slide by 4 cm, and joints that tremble
    assert!((20.0..80.0).contains(&number("skate_mm")), "{physics}");
    assert!(number("root_residual_bw") > 0.05 && number("friction_needed") > 0.1, "{physics}");
    assert!(number("penetration_mm") >= 0.0 && (40.0..90.0).contains(&number("mass_kg")));
    has_keys(&physics["contacts"][0], &["point", "from", "to"]);
    assert!(place.expect(0, &["info", "walk.bvh", "--physics"]).stdout.contains("friction needed"));
    let picture = |more: &[&str]| {
        place.expect(
            0,
            &[&["render", "walk.bvh", "out.png", "--size", "64x48", "--frame", "20"], more].concat(),
        );
        place.read("out.png")
    };
    assert_ne!(picture(&[]), picture(&["--forces"]));
    place.cloth("cloth.glb", 4, 5);
    let run = place.expect(1, &["info", "cloth.glb", "--physics"]);
    assert!(run.stderr.contains("no skeleton"), "{}", run.stderr);
}

#[test]
fn problems_are_found() {
    let place = Place::new();
    place.write("bad.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 5 5 5\nf 1 2 3\nf 1 2 2\n");
    let info = place.json(&["info", "bad.obj", "--json"]);
    let problems = info["problems"].as_array().expect("a list");
    assert_eq!(problems.len(), 2, "{info:#}");
    has_keys(&problems[0], &["severity", "mesh", "frame", "place", "words"]);
    assert!(place.expect(0, &["info", "bad.obj"]).stdout.contains("warning: "));
}

#[test]
fn broken_files_get_a_sentence() {
    let place = Place::new();
    place.cloth("cloth.glb", 4, 5);
    let whole = place.read("cloth.glb");
    for length in [0, 3, 11, 20, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(place.path("broken.glb"), &whole[..length]).expect("writes");
        for arguments in [
            &["info", "broken.glb"][..],
            &["convert", "broken.glb", "out.pc2"],
            &["render", "broken.glb", "out.png"],
            &["compare", "cloth.glb", "broken.glb"],
        ] {
            let run = place.expect(1, arguments);
            assert!(run.stderr.contains("broken.glb"), "{length}: {}", run.stderr);
        }
    }
    let answer = place.expect(1, &["info", "broken.glb", "--json"]).json();
    assert_eq!((&answer["ok"], &answer["exit_code"]), (&false.into(), &1.into()));
    place.write("nan.obj", "v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n");
    place.expect(1, &["info", "nan.obj"]);
    let run = place.expect(1, &["info", "clth.glb"]);
    assert!(run.stderr.contains("did you mean `cloth.glb`?"), "{}", run.stderr);
    let run = place.expect(2, &["info", "sample:falg"]);
    assert!(run.stderr.contains("did you mean `flag`?"), "{}", run.stderr);
    place.expect(0, &["new", "shot.toml"]);
    let run = place.run(&["info", "shot.toml"]);
    assert!(run.code != 0 && run.stderr.contains("bake the shot first"), "{}", run.stderr);
    assert!(run.stderr.contains("--input"), "{}", run.stderr);
}

#[test]
fn convert_keeps_the_motion_in_every_format() {
    let place = Place::new();
    place.expect(0, &["convert", "sample:bag", "bag.glb", "--frames", "10-20"]);
    for file in ["bag.pc2", "bag.mdd", "bag.obj"] {
        let written = place.json(&["convert", "bag.glb", file, "--json"]);
        has_keys(&written, &["files", "frames", "frame_rate_hz", "bytes"]);
        assert_eq!(written["frames"], 11);
        let file = written["files"][0].as_str().expect("a path");
        place.expect(0, &["compare", "bag.glb", file, "--within", "1e-5"]);
    }
    place.expect(0, &["convert", "bag.glb", "bag.bvh"]);
    assert_eq!(place.json(&["info", "bag.bvh", "--json"])["joints"], 11);

    place.expect(0, &["convert", "bag.glb", "big.pc2", "--out-unit", "cm"]);
    let size = |unit: &str| {
        place.json(&["info", "big.pc2", "--unit", unit, "--json"])["meshes"][0]["size_m"][1].clone()
    };
    let (metres, hundred) = (size("cm").as_f64(), size("m").as_f64());
    assert!((100.0 * metres.expect("a number") - hundred.expect("a number")).abs() < 1e-3);

    let run = place.expect(2, &["convert", "bag.glb", "bag.fbx"]);
    assert!(run.stderr.contains(".glb"), "{}", run.stderr);
    place.expect(2, &["convert", "bag.glb", "bag2.glb", "--frames", "5-99"]);
    place.expect(1, &["convert", "bag.glb", "bag2.glb", "--clip", "Run"]);
    place.expect(2, &["convert", "bag.glb", "bag2.glb", "--rate", "-1"]);
    assert!(!place.path("bag2.glb").exists());
}

#[test]
fn compare_measures_and_can_fail() {
    let place = Place::new();
    place.expect(0, &["convert", "sample:bag", "a.glb", "--frames", "0-10"]);
    place.expect(0, &["convert", "sample:bag", "b.glb", "--frames", "5-15"]);
    let answer = place.json(&["compare", "a.glb", "b.glb", "--json"]);
    has_keys(&answer, &["a", "b", "frames", "topology", "distance", "strain"]);
    has_keys(&answer["distance"], &["max", "rms", "worst", "per_frame"]);
    has_keys(&answer["strain"]["a"], &["max_stretch", "max_compression", "rms", "per_frame"]);
    assert_eq!(answer["distance"]["per_frame"].as_array().map(Vec::len), Some(11));
    assert_eq!(answer["topology"]["same"], true);
    let far = answer["distance"]["max"].as_f64().expect("a number");
    assert!(far > 0.001, "{far}");

    place.expect(0, &["compare", "a.glb", "a.glb", "--within", "0"]);
    place.expect(2, &["compare", "a.glb", "a.glb", "--within", "nan"]);
    place.expect(0, &["compare", "a.glb", "b.glb", "--within", &(2.0 * far).to_string()]);
    place.expect(4, &["compare", "a.glb", "b.glb", "--within", &(0.5 * far).to_string()]);
    let answer = place.expect(4, &["compare", "a.glb", "b.glb", "--within", "0", "--json"]).json();
    assert!(answer["distance"]["max"].is_f64(), "the answer is there all the same");

    // an animation that only one of the two has is refused by name
    let words = place.expect(1, &["compare", "a.glb", "b.glb", "--clip", "nobody's"]).stderr;
    assert!(words.contains("nobody's"), "{words}");
    let name = place.json(&["info", "a.glb", "--json"])["clips"][0]["name"].as_str().unwrap().to_owned();
    place.expect(0, &["compare", "a.glb", "a.glb", "--clip", &name, "--within", "0"]);
    let words =
        place.expect(1, &["compare", "a.glb", "b.glb", "--clip", &name, "--clip-b", "nobody's"]).stderr;
    assert!(words.contains("nobody's"), "{words}");

    let other = place.json(&["compare", "a.glb", "sample:sheet", "--json"]);
    assert_eq!((&other["topology"]["same"], &other["distance"]), (&false.into(), &serde_json::Value::Null));
    place.expect(4, &["compare", "a.glb", "sample:sheet", "--within", "1"]);
}

#[test]
fn render_makes_pictures_sheets_films_and_folders() {
    let place = Place::new();
    place.expect(0, &["convert", "sample:bag", "bag.glb", "--frames", "0-4"]);
    place.expect(0, &["convert", "sample:bag", "late.glb", "--frames", "20-24"]);
    let mut pictures = Vec::new();
    let looks: [&[&str]; 11] = [
        &[],
        &["--frame", "4"],
        &["--view", "top"],
        &["--view", "-40,20"],
        &["--wireframe", "--flat", "--clay", "--bones"],
        &["--color", "strain"],
        &["--color", "weight", "--group", "feet"],
        &["--color", "distance", "--against", "late.glb", "--range", "0,500"],
        &["--beside", "late.glb"],
        &["--over", "late.glb"],
        &["--over", "late.glb", "--color", "strain"],
    ];
    for look in looks {
        place.expect(0, &[&["render", "bag.glb", "out.png", "--size", "64x48"], look].concat());
        let picture = place.read("out.png");
        assert!(picture.starts_with(b"\x89PNG"));
        assert!(!pictures.contains(&picture), "{look:?} changes nothing");
        pictures.push(picture);
    }
    for extra in [&[][..], &["--color", "strain"]] {
        place.expect(
            0,
            &[&["render", "bag.glb", "sheet.png", "--sheet", "3", "--size", "32x24"], extra].concat(),
        );
    }
    let film = place.json(&["render", "bag.glb", "out.webp", "--size", "32x24", "--json"]);
    has_keys(&film, &["files", "bytes"]);
    assert!(place.read("out.webp").starts_with(b"RIFF"));
    // films are drawn by the rasteriser unless rays are asked for; single pictures always by rays
    for (out, extra, same) in [("out.webp", &[][..], false), ("out.png", &["--frame", "2"], true)] {
        let common = [&["render", "bag.glb", out, "--size", "32x24"], extra].concat();
        place.expect(0, &common);
        let usual = place.read(out);
        place.expect(0, &[&common[..], &["--beauty"]].concat());
        assert_eq!(place.read(out) == usual, same, "{out}");
    }
    let folder = place.json(&["render", "bag.glb", "folder", "--size", "16x12", "--frames", "1-3", "--json"]);
    assert_eq!(folder["files"].as_array().map(Vec::len), Some(3));

    for wrong in [
        &["--frame", "9"][..],
        &["--size", "0x5"],
        &["--size", "nine"],
        &["--view", "behind"],
        &["--color", "weight"],
        &["--color", "weight", "--group", "foot"],
        &["--color", "distance"],
        &["--range", "5,0"],
        &["--over", "late.glb", "--beside", "late.glb"],
        &["--over", "late.glb", "--color", "distance"],
        &["--frame", "1", "--frames", "0-2"],
    ] {
        place.expect(2, &[&["render", "bag.glb", "wrong.png"], wrong].concat());
    }
    place.expect(2, &["render", "bag.glb", "wrong.mp4"]);
    place.expect(2, &["render", "bag.glb", "wrong.webp", "--sheet"]);
    assert!(!place.path("wrong.png").exists());
}

#[test]
fn render_shows_any_selector_of_a_shot() {
    let place = Place::new();
    let shot = |follow: &str| {
        format!(
            "[input]\nsample = \"flag\"\n[[layer]]\nkind = \"cloth\"\nfollow = {follow}\nlimit_factor = {{ height = {{ from = 1.0, to = 2.0 }} }}\n"
        )
    };
    let show = |follow: &str, path: &str| {
        place.write("shot.toml", &shot(follow));
        place.expect(
            0,
            &["render", "shot.toml", "out.png", "--select", path, "--size", "64x48", "--frame", "0"],
        );
        place.read("out.png")
    };
    let hoist = show("{ group = \"hoist\" }", "layer.cloth.follow");
    assert!(hoist.starts_with(b"\x89PNG"));
    // by number; the legend says what was asked for
    assert!(show("{ group = \"hoist\" }", "layer[0].follow").starts_with(b"\x89PNG"));
    assert_ne!(hoist, show("\"all\"", "layer.cloth.follow"));
    assert_ne!(hoist, show("{ group = \"hoist\" }", "layer.cloth.limit_factor"));

    place.write("shot.toml", &shot("{ group = \"hoist\" }"));
    for (path, words) in [
        ("input.file", "only layers have selectors"),
        ("layer", "which layer?"),
        ("layer.clot.follow", "there is no layer `clot`"),
        ("layer.cloth.folow", "there is no such key"),
        ("layer.cloth.material", "it is no selector"),
    ] {
        let told = place.expect(2, &["render", "shot.toml", "wrong.png", "--select", path]).stderr;
        assert!(told.contains(words), "{path}: {told}");
    }
    let told = place.expect(2, &["render", "shot.toml", "wrong.png", "--select", "layer.cloth.wind"]).stderr;
    assert!(told.contains("`layer.cloth.follow`, `layer.cloth.limit_factor`"), "{told}");
    place.expect(2, &["render", "sample:flag", "wrong.png", "--select", "layer.cloth.follow"]);
    assert!(!place.path("wrong.png").exists());
}

/// Before any bake: what goes into the layers, and how a garment was put on, where the first frame would hide it.
#[test]
fn render_shows_a_scene_before_it_is_baked() {
    let place = Place::new();
    std::fs::write(place.path("hat.obj"), "v 0 2 0\nv 1 2 0\nv 0 3 0\nf 1 2 3\n").unwrap();
    let shot = "[input]\nsample = \"biped\"\n[[input.add]]\nfile = \"hat.obj\"\nparent = \"head\"\n[[layer]]\nkind = \"cloth\"\nmesh = \"hat\"\n";
    std::fs::write(place.path("hat.toml"), shot).unwrap();
    let show = |clip: &str, flags: &[&str]| {
        place.expect(0, &[&["render", clip, "out.png", "--size", "64x48"], flags].concat());
        place.read("out.png")
    };
    let pictures = [
        show("hat.toml", &["--input", "--frame", "10"]),
        show("hat.toml", &["--rest"]),
        show("sample:biped", &["--rest"]),
        show("sample:biped", &["--frame", "10"]),
    ];
    for (index, a) in pictures.iter().enumerate() {
        assert!(pictures[..index].iter().all(|b| a != b), "picture {index} is one of those before");
    }
    assert!(!place.path("hat").exists(), "nothing is baked");
    place.expect(2, &["render", "hat.toml", "out.png", "--rest", "--frame", "3"]);
}

#[test]
fn tetmesh_encloses_reports_and_writes_what_it_reads() {
    let place = Place::new();
    // a pyramid with a face missing, one turned and one twice
    place.write(
        "tent.obj",
        "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nv 0.5 0.8 0.5\nf 1 2 5\nf 3 2 5\nf 3 4 5\nf 3 4 5\nf 4 3 2 1\n",
    );
    let told = place.json(&[
        "tetmesh",
        "tent.obj",
        "-o",
        "tent.veg",
        "--tets",
        "600",
        "--picture",
        "tent.png",
        "--json",
    ]);
    has_keys(
        &told,
        &["tets", "points", "volume_m3", "dihedral_histogram_10deg", "smallest_dihedral_deg", "filling"],
    );
    assert_eq!((&told["filling"]["encloses"], &told["inverted"]), (&true.into(), &0.into()));
    let tets = told["tets"].as_f64().expect("a number");
    assert!((500.0..720.0).contains(&tets), "{told:#}");
    assert!(told["smallest_dihedral_deg"].as_f64() > Some(10.7));
    assert!(place.read("tent.png").starts_with(b"\x89PNG"));

    // the file is judged the same, to the bit
    let again = place.json(&["tetmesh", "tent.veg", "--json"]);
    assert_eq!((&again["tets"], &again["volume_m3"]), (&told["tets"], &told["volume_m3"]));

    let text = place.expect(0, &["tetmesh", "tent.obj", "--edge", "0.3", "--uniform"]).stdout;
    assert!(text.contains("enclosed: every point") && text.contains(" 50°– 60°"), "{text}");

    place.write("loose.obj", "v 0 0 0\n");
    let trouble = place.expect(1, &["tetmesh", "loose.obj", "-o", "loose.veg"]).stderr;
    assert!(trouble.contains("there are no triangles"), "{trouble}");
    assert!(place.expect(1, &["tetmesh", "tent.obj", "--edge", "1e-7"]).stderr.contains("--tets"));
    place.expect(2, &["tetmesh", "tent.obj", "--edge", "0.1", "--tets", "9"]);
    place.expect(2, &["tetmesh", "tent.obj", "--tets", "4294967295"]);
    place.expect(2, &["tetmesh", "tent.obj", "--edge", "-3"]);
    place.expect(2, &["tetmesh", "tent.obj", "-o", "tent.msh"]);
}

#[test]
fn lattice_puts_cells_around_a_character_with_its_bones_on_their_edges() {
    let place = Place::new();
    let arguments =
        ["lattice", "sample:elbow", "-o", "elbow.veg", "--cells", "400", "--picture", "elbow.png", "--json"];
    let told = place.json(&arguments);
    has_keys(&told, &["cells", "points", "flesh", "smallest_dihedral_deg", "output", "seconds"]);
    let cells = told["cells"].as_f64().expect("a number");
    assert!((260.0..600.0).contains(&cells), "{told:#}");
    assert_eq!((&told["flesh"]["bones"], &told["flesh"]["regions"]), (&2.into(), &2.into()));
    assert_eq!((&told["inverted"], &told["flesh"]["bones_held_softly"]), (&0.into(), &serde_json::json!([])));
    // a cylinder of two metres, its ends rounded
    let volume = told["flesh"]["volume_m3"].as_f64().expect("a number");
    assert!((0.23..0.2514).contains(&volume), "{volume}");
    assert!(place.read("elbow.png").starts_with(b"\x89PNG"));
    // what was written is read again as it is
    let again = place.json(&["lattice", "elbow.veg", "--json"]);
    assert_eq!((&again["cells"], &again["points"]), (&told["cells"], &told["points"]));
    assert!(again["flesh"].is_null());
    place.json(&["lattice", "elbow.veg", "-o", "elbow.toml", "--picture", "cells.png", "--json"]);
    assert!(place.read("cells.png").starts_with(b"\x89PNG"));
    assert_eq!(place.json(&["lattice", "elbow.toml", "--json"])["cells"], told["cells"]);

    place.write("loose.obj", "v 0 0 0\n");
    assert!(place.expect(1, &["lattice", "loose.obj"]).stderr.contains("no faces"));
    place.expect(2, &["lattice", "sample:elbow", "--cells", "3"]);
    place.expect(2, &["lattice", "sample:elbow", "-o", "elbow.msh"]);
}

#[test]
fn flesh_is_packed_for_a_game_and_told_about() {
    let place = Place::new();
    let shot = |name: &str, method: &str| {
        let layer = format!("kind = \"skeleton\"\ncells = 120\nmethod = \"{method}\"");
        place.write(name, &format!("[input]\nsample = \"elbow\"\n[[layer]]\n{layer}\n"));
    };
    shot("elbow.toml", "blended");
    let packed = place.json(&["pack", "elbow.toml", "-o", "elbow.flesh", "--json"]);
    let told = place.json(&["info", "elbow.flesh", "--json"]);
    assert_eq!(told["joint_names"], serde_json::json!(["upper", "lower"]));
    assert_eq!((&told["points"], &told["regions"]), (&packed["points"], &2.into()));
    assert_eq!(told["meshes"], serde_json::json!([{ "name": "body", "points": told["points"] }]));
    // and a game can run it
    let mut player = character::Player::read(&place.read("elbow.flesh")).expect("it was just written");
    let clip = samples::elbow();
    let skeleton = clip.skeleton.as_ref().expect("an elbow has joints");
    let world = |frame: usize| skeleton.world_from_joints(&clip.frame(frame).expect("a frame").pose);
    player.step(&world(0), 0.0).expect("the first pose");
    player.step(&world(10), 0.4).expect("another pose");
    let mut points = vec![[0.0; 3]; player.kit().point_count()];
    player.surface(&mut points);
    assert!(points.iter().any(|p| p[1] > 0.7), "the lower half has been lifted");

    shot("slow.toml", "nonlinear");
    assert!(place.expect(1, &["pack", "slow.toml", "-o", "slow.flesh"]).stderr.contains("blended"));
    place.write("none.toml", "[input]\nsample = \"elbow\"\n");
    assert!(place.expect(2, &["pack", "none.toml", "-o", "none.flesh"]).stderr.contains("skeleton"));
    place.write("torn.flesh", "flesh, but not much of it");
    assert!(place.expect(1, &["info", "torn.flesh"]).stderr.contains("pack it again"));
}

#[test]
fn sculpts_are_packed_for_a_game_and_told_about() {
    let place = Place::new();
    let shot = |name: &str, modes: usize| {
        let targets = "[[layer.targets]]\nname = \"slack\"\n[[layer.targets]]\nname = \"flexed\"\nshape = \"bulged\"\n\
            turns = { elbow = [0.0, 0.0, 120.0] }\nchannels = [1.0]\n";
        let layer =
            format!("kind = \"morph\"\ntets = 300\nmodes = {modes}\nchannels = [\"bulged\"]\n{targets}");
        place.write(name, &format!("[input]\nsample = \"arm\"\n[[layer]]\n{layer}"));
    };
    shot("arm.toml", 8);
    let packed = place.json(&["pack", "arm.toml", "-o", "arm.flesh", "--json"]);
    let told = place.json(&["info", "arm.flesh", "--json"]);
    assert_eq!(told["joint_names"], serde_json::json!(["root", "upper", "elbow", "hand"]));
    assert_eq!(told["targets"], serde_json::json!(["slack", "flexed"]));
    assert_eq!(told["channels"], serde_json::json!(["bulged"]));
    assert_eq!((&told["points"], &told["coefficients"]), (&packed["points"], &8.into()));
    assert!(place.expect(0, &["info", "arm.flesh"]).stdout.contains("slack, flexed"));
    // and a game can run it
    let mut player = character::MorphPlayer::read(&place.read("arm.flesh")).expect("it was just written");
    let clip = samples::arm();
    let skeleton = clip.skeleton.as_ref().expect("an arm has joints");
    let world = |frame: usize| skeleton.world_from_joints(&clip.frame(frame).expect("a frame").pose);
    player.step(&world(0), &[], 0.0).expect("the first pose");
    player.step(&world(15), &[1.0], 0.6).expect("another pose");
    assert!(player.weights()[1] > 0.9, "{:?}", player.weights());

    shot("full.toml", 0);
    assert!(place.expect(1, &["pack", "full.toml", "-o", "full.flesh"]).stderr.contains("modes"));
}
