//! The enrich layer through the whole pipeline: what follows is untouched, every ugly mesh bakes, fits reach their tolerance.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

mod common;

use std::path::PathBuf;

use common::reader;
use geometry::{TetMesh, TetMeshing, TetSize, Vec3};
use shot::{Bake, BakeOptions, Context, Shot};

fn parse(text: &str) -> Result<Shot, shot::Error> {
    reader().parse("shot", text, "".as_ref())
}

fn bake(text: &str) -> Result<Bake, shot::Error> {
    let folder = tempfile::tempdir().unwrap();
    let options = BakeOptions { out: Some(folder.path().into()), ..BakeOptions::default() };
    let bake = parse(text)?.bake(&options, &Context::SILENT)?;
    // frames are read from the store when asked for
    for index in 0..bake.clip.frame_count() {
        bake.clip.frame(index)?;
    }
    std::mem::forget(folder);
    Ok(bake)
}

/// What the report would note of the only layer under a title.
fn note(bake: &Bake, title: &str) -> Option<String> {
    bake.layers[0].notes.iter().find(|(name, _)| name == title).map(|(_, text)| text.clone())
}

/// The folder of shared assets; `None`, said aloud, when it is not there.
fn assets(folder: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let root = std::env::var_os("FOLLOWTHROUGH_ASSETS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = root.join(folder).canonicalize().ok().filter(|path| path.is_dir());
    if path.is_none() {
        println!("skipped: {folder} is not there");
    }
    path
}

const QUADRUPED: &str = r#"
[input]
sample = "quadruped"
frames = "0-5"

[[layer]]
kind = "enrich"
mesh = "body"
tets = 900
follow = { not = { any = [{ group = "belly" }, { group = "ears" }, { group = "trunk" }, { group = "tail" }] } }

[output]
files = []
report = false
"#;

#[test]
fn what_follows_is_the_input_to_the_bit_and_ears_lag() {
    let bake = bake(QUADRUPED).unwrap();
    let mesh = &bake.clip.meshes[0];
    let free = |p: usize| {
        ["belly", "ears", "trunk", "tail"].iter().any(|name| mesh.group(name).unwrap().weights[p] > 0.0)
    };
    let (mut held, mut moved) = (0, 0.0_f32);
    for index in 0..bake.clip.frame_count() {
        let (before, after) = (bake.input.frame(index).unwrap(), bake.clip.frame(index).unwrap());
        assert_eq!(before.points[1], after.points[1], "other meshes are left alone");
        for p in 0..mesh.point_count() {
            let (a, b) = (before.points[0][p], after.points[0][p]);
            if free(p) {
                moved = moved.max((0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, f32::max));
            } else {
                held += 1;
                assert_eq!(a.map(f32::to_bits), b.map(f32::to_bits), "frame {index}, point {p}");
            }
        }
    }
    assert!(held > 1000 && moved > 0.005, "{held} {moved}");
}

/// Follow everywhere returns the input; so does a Γ″ of nothing but with the fit alone, detail carried over.
/// A shot that says nothing but `enrich` is one to look at: what stands on the floor stays, nothing flies off, and it is told.
#[test]
fn a_body_that_nothing_holds_keeps_its_limbs() {
    let begin = QUADRUPED.split("follow").next().unwrap().replace("0-5", "0-12");
    let end = "\n[output]\nfiles = []\nreport = false\n";
    let farthest = |bake: &Bake, only: Option<&str>| {
        let [before, after] = [&bake.input, &bake.clip].map(|clip| clip.frame(12).unwrap().points[0].clone());
        let mesh = &bake.clip.meshes[0];
        let weights = only.map(|name| mesh.group(name).unwrap().weights.clone());
        let chosen = |i: &usize| weights.as_ref().is_none_or(|weights| weights[*i] > 0.99);
        let apart =
            |i: usize| (Vec3::from(after[i].map(f64::from)) - Vec3::from(before[i].map(f64::from))).length();
        (0..before.len()).filter(chosen).map(apart).fold(0.0, f64::max)
    };
    let safe = bake(&format!("{begin}{end}")).unwrap();
    let told = |bake: &Bake| {
        bake.layers[0].warnings.iter().any(|(_, text)| text.contains("nothing says what follows"))
    };
    assert!(told(&safe), "{:?}", safe.layers[0].warnings);
    let (feet, all) = (farthest(&safe, Some("feet")), farthest(&safe, None));
    assert!(feet < 0.01, "feet are {feet} m off");
    assert!(all > 1e-3 && all < 0.15, "the body moves, and stays: {all} m");
    // who wants it free says so
    let free = bake(&format!("{begin}follow = {{ not = \"all\" }}\n{end}")).unwrap();
    assert!(!told(&free) && farthest(&free, Some("feet")) > 5.0 * feet.max(0.01));
}

#[test]
fn weight_one_is_the_identity() {
    for replacement in ["follow = \"all\"", "simulate = false"] {
        let line = QUADRUPED.lines().find(|line| line.starts_with("follow")).unwrap();
        let bake = bake(&QUADRUPED.replace(line, replacement).replace("0-5", "0-2")).unwrap();
        for index in 0..3 {
            let (before, after) = (bake.input.frame(index).unwrap(), bake.clip.frame(index).unwrap());
            for (a, b) in before.points[0].iter().zip(&after.points[0]) {
                assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-6), "{replacement}: {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn strokes_keys_rigs_and_patches_bake() {
    for lines in [
        "paint = [{ at = { group = \"feet\" }, follow = 1.0 }, { at = { group = \"trunk\" }, follow = 0.1 }]",
        "follow = { group = \"feet\" }\nkeys = [{ frame = 4, follow = \"all\" }]",
        "complementary = 0.9",
        "patches = 12",
    ] {
        let line = QUADRUPED.lines().find(|line| line.starts_with("follow")).unwrap();
        let bake = bake(&QUADRUPED.replace(line, lines).replace("0-5", "0-4"))
            .unwrap_or_else(|error| panic!("{lines}: {error}"));
        let frame = bake.clip.frame(4).unwrap();
        let input = bake.input.frame(4).unwrap();
        let far = frame.points[0]
            .iter()
            .zip(&input.points[0])
            .flat_map(|(a, b)| (0..3).map(move |k| (a[k] - b[k]).abs()));
        let far = far.fold(0.0, f32::max);
        assert!(far < 0.5, "{lines}: {far}");
        if lines.contains("keys") {
            assert_eq!(far, 0.0, "from frame 4 on everything follows");
        } else {
            assert!(far > 0.0, "{lines}");
        }
    }
}

/// Kinematic blending: other weights leave the simulation's bake alone, and lead from it to the animation.
#[test]
fn blending_again_does_not_simulate_again() {
    let folder = tempfile::tempdir().unwrap();
    let options = BakeOptions { out: Some(folder.path().into()), ..BakeOptions::default() };
    let away: Vec<f64> = [0.0, 0.3, 0.7, 1.0]
        .map(|amount| {
            let layer = format!(
                "[[layer]]\nkind = \"blend\"\nmesh = \"body\"\ntets = 600\namount = {amount:?}\n\n[output]"
            );
            let shot = parse(&QUADRUPED.replace("[output]", &layer).replace("0-5", "0-4")).unwrap();
            let bake = shot.bake(&options, &Context::SILENT).unwrap();
            assert_eq!(bake.layers[0].baked, if amount == 0.0 { 5 } else { 0 }, "only the first time");
            let (a, b) = (bake.input.frame(4).unwrap(), bake.clip.frame(4).unwrap());
            let pairs = a.points[0].iter().zip(&b.points[0]);
            pairs.map(|(a, b)| (0..3).map(|k| f64::from(a[k] - b[k]).powi(2)).sum::<f64>().sqrt()).sum()
        })
        .to_vec();
    assert!(away.windows(2).all(|pair| pair[1] < pair[0]) && away[3] == 0.0, "{away:?}");
}

#[test]
fn mistakes_are_told_with_their_line() {
    let line = QUADRUPED.lines().find(|line| line.starts_with("follow")).unwrap();
    for (lines, word) in [
        ("material = \"felt\"", "there is no material `felt`"),
        ("follow = { group = \"beard\" }", "beard"),
        ("keys = [{ frame = 9 }, { frame = 3 }]", "not after"),
        ("separated = 999", "there is no frame 999; the input has 6"),
        ("separated = \"nowhere.obj\"", "nowhere.obj"),
        ("tets = \"nowhere.veg\"", "nowhere.veg"),
    ] {
        let text = QUADRUPED.replace(if lines.starts_with("tets") { "tets = 900" } else { line }, lines);
        let shot = parse(&text).unwrap();
        let mistakes = shot.check();
        let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|told| told.contains(word)), "{lines}: {told:?}");
    }
    // numbers beyond their range are refused before the input is opened
    for (lines, word) in [
        ("young = -3.0", "`layer[0].young` must be at least 1"),
        (
            "regions = [{ at = { group = \"ears\" }, poisson = 0.7 }]",
            "`layer[0].regions[0].poisson` must be at most 0.499",
        ),
    ] {
        let Err(shot::Error::Invalid(mistakes)) = parse(&QUADRUPED.replace(line, lines)) else {
            panic!("{lines}")
        };
        assert!(mistakes.0[0].message().contains(word), "{:?}", mistakes.0);
    }
}

fn mean(points: &[[f32; 3]]) -> Vec3 {
    points.iter().map(|p| Vec3::from(p.map(f64::from))).sum::<Vec3>() / points.len() as f64
}

/// Soft bodies keep out of each other: the animated ball flies through the elephant, the simulated one is stopped by the belly.
#[test]
fn a_ball_is_stopped_by_the_belly() {
    let text = r#"
[input]
sample = "quadruped_ball"
frames = "0-14"

[[layer]]
kind = "enrich"
mesh = "body"
tets = 900
follow = { not = { group = "belly" } }
keys = [{ frame = 4, follow = { not = { group = "belly" } } }, { frame = 8, follow = { not = { any = [{ group = "belly" }, { group = "ball" }] } } }]
regions = [{ at = { group = "ball" }, density = 60.0, young = 3e4, gravity = [0.0, -9.81, 0.0] }]
contact = { self = false, obstacles = [] }

[output]
files = []
report = false
"#;
    let bake = bake(text).unwrap();
    let mesh = &bake.clip.meshes[0];
    let ball: Vec<usize> =
        (0..mesh.point_count()).filter(|&p| mesh.group("ball").unwrap().weights[p] > 0.5).collect();
    let places = |clip: &clip::Clip, index: usize| -> Vec<[f32; 3]> {
        let frame = clip.frame(index).unwrap();
        ball.iter().map(|&p| frame.points[0][p]).collect()
    };
    // held at first, to the bit
    assert_eq!(places(&bake.input, 4), places(&bake.clip, 4));
    let (animated, simulated) = (mean(&places(&bake.input, 14)), mean(&places(&bake.clip, 14)));
    assert!(animated.x < 0.1 && simulated.x > 0.3, "{animated} {simulated}");
    let folder = tempfile::tempdir().unwrap();
    let options = BakeOptions { out: Some(folder.path().into()), ..BakeOptions::default() };
    let without = parse(&text.replace("contact = { self = false, obstacles = [] }\n", "")).unwrap();
    let through = without.bake(&options, &Context::SILENT).unwrap();
    assert!(mean(&places(&through.clip, 14)).x < 0.2, "without contact it flies on");
}

/// Only the face moves; the rest of the head comes along, and every tooth in its own shape.
#[test]
fn a_tracked_face_is_completed_and_teeth_stay_rigid() {
    let text = r#"
[input]
sample = "head"
frames = "20-24"

[[layer]]
kind = "enrich"
tets = 900
animated = { group = "tracked" }
rigid = { group = "teeth" }
simulate = false

[output]
files = []
report = false
"#;
    let bake = bake(text).unwrap();
    let mesh = &bake.clip.meshes[0];
    let group = |name: &str| mesh.group(name).unwrap().weights.clone();
    let (tracked, teeth) = (group("tracked"), group("teeth"));
    let rest = mesh.rest();
    let (input, output) = (bake.input.frame(4).unwrap(), bake.clip.frame(4).unwrap());
    let place = |p: usize| Vec3::from(output.points[0][p].map(f64::from));
    let (mut moved, mut face, mut bent) = (0.0_f64, 0.0_f64, 0.0_f64);
    for p in 0..rest.len() {
        let from = Vec3::from(input.points[0][p].map(f64::from));
        if tracked[p] > 0.5 {
            face = face.max(place(p).distance(from));
        } else {
            moved = moved.max(place(p).distance(from));
        }
        // neighbours in the list are neighbours in the same tooth, but for the ends
        if p > 0 && teeth[p] > 0.5 && teeth[p - 1] > 0.5 && rest[p].distance(rest[p - 1]) < 0.004 {
            bent = bent.max((place(p).distance(place(p - 1)) - rest[p].distance(rest[p - 1])).abs());
        }
    }
    assert!(face < 1e-5, "the tracked face is what was tracked: {face}");
    assert!(moved > 0.005, "the back of the head comes along: {moved}");
    assert!(bent < 1e-6, "teeth do not bend: {bent}");
}

/// Tets of a file are as good as our own: written and read back, the same motion.
#[test]
fn tets_can_come_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let clip = samples::quadruped();
    let mesh = &clip.meshes[0];
    let meshing = TetMeshing { size: TetSize::Count(900), ..TetMeshing::default() };
    let filled = meshing.fill(&mesh.rest(), &mesh.point_triangles()).unwrap();
    let file = folder.path().join("body.veg");
    let tets = clip::Tets { mesh: filled.mesh, groups: Vec::new() };
    clip::write_tets(&file, &tets, &clip::WriteOptions::default()).unwrap();
    let short = QUADRUPED.replace("0-5", "0-3");
    let made = bake(&short).unwrap();
    let read = bake(&short.replace("tets = 900", &format!("tets = {file:?}"))).unwrap();
    let (a, b) = (made.clip.frame(3).unwrap(), read.clip.frame(3).unwrap());
    let far = a.points[0].iter().flatten().zip(b.points[0].iter().flatten());
    assert!(far.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) < 1e-4);
    // tets of something else
    let bar = TetMesh::box_grid([2, 2, 2], Vec3::splat(0.01)).unwrap();
    clip::write_tets(&file, &clip::Tets { mesh: bar, groups: Vec::new() }, &clip::WriteOptions::default())
        .unwrap();
    let told = bake(&short.replace("tets = 900", &format!("tets = {file:?}"))).map(|_| ()).unwrap_err();
    assert!(format!("{told:?}").contains("are not around the mesh"), "{told:?}");
}

/// Made where arms are raised, no tets join hands and belly: what is simulated is another body. Other topology is told.
#[test]
fn tets_can_be_made_in_a_separated_pose() {
    let text = r#"
[input]
sample = "biped"
frames = "0-2"

[[layer]]
kind = "enrich"
mesh = "body"
tets = 1500
separated = 1
follow = { not = { any = [{ group = "belly" }, { group = "cap" }] } }

[output]
files = []
report = false
"#;
    let apart = bake(text).unwrap();
    let welded = bake(&text.replace("separated = 1\n", "separated = false\n")).unwrap();
    assert_ne!(apart.clip.frame(2).unwrap(), welded.clip.frame(2).unwrap());
    let (input, output) = (apart.input.frame(2).unwrap(), apart.clip.frame(2).unwrap());
    let far = input.points[0].iter().zip(&output.points[0]).map(|(a, b)| mean(&[*a]).distance(mean(&[*b])));
    assert!(far.fold(0.0, f64::max) < 0.3, "flesh stays with the body");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cube.obj");
    std::fs::write(&file, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
    let shot = parse(&text.replace("separated = 1", &format!("separated = {file:?}"))).unwrap();
    let told: Vec<String> = shot.check().iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|told| told.contains("has 3 points, but `body` has")), "{told:?}");
}

/// At rest the biped's arms lie on its flanks: tets made with raised arms cannot follow there, so the flesh rests in that pose. What
/// follows is the input, and no web hangs between arm and flank.
#[test]
fn flesh_rests_in_the_separated_pose_where_it_must() {
    let text = r#"
[input]
sample = "biped"
frames = "84-88"

[[layer]]
kind = "enrich"
mesh = "body"
tets = 4000
separated = 3
follow = { not = { group = "belly" } }

[output]
files = []
report = false
"#;
    let baked = bake(text).unwrap();
    let told = note(&baked, "flesh at rest");
    assert!(told.as_ref().is_some_and(|told| told.contains("separated pose")), "{told:?}");
    let group = &baked.input.meshes[0].group("belly").unwrap().weights;
    let (input, output) = (baked.input.frame(4).unwrap(), baked.clip.frame(4).unwrap());
    for (v, weight) in group.iter().enumerate().filter(|(_, weight)| **weight == 0.0) {
        assert_eq!(output.points[0][v], input.points[0][v], "vertex {v} of weight {weight}");
    }
    let far = input.points[0].iter().zip(&output.points[0]).map(|(a, b)| mean(&[*a]).distance(mean(&[*b])));
    assert!(far.fold(0.0, f64::max) < 0.3, "flesh stays with the body");
}

/// Captured people are near themselves everywhere: a dancer's legs under her skirt.
#[test]
fn legs_under_a_skirt_are_not_grown_together() {
    let Some(folder) = assets("sequences/samba") else { return };
    let text = format!(
        "[input]\nfile = {:?}\nmesh = {:?}\nframe_rate = 24.0\n[[layer]]\nkind = \"enrich\"\ntets = 8000\nsimulate = false\n[output]\nfiles = []\nreport = false\n",
        folder.join("samba.pc2").to_string_lossy(),
        folder.join("samba.obj").to_string_lossy(),
    );
    let folder = tempfile::tempdir().unwrap();
    let (out, frames) = (Some(folder.path().into()), Some("0-1".parse().unwrap()));
    let options = BakeOptions { out, frames, ..BakeOptions::default() };
    let baked = parse(&text).unwrap().bake(&options, &Context::SILENT).unwrap();
    let told: Vec<&String> = baked.layers[0].warnings.iter().map(|(_, text)| text).collect();
    assert!(told.iter().any(|text| text.contains("they are made in frame")), "{told:?}");
}

/// Every broken mesh gives tets and a bake that finishes, but for files that hold no surface: those get one clear sentence.
#[test]
fn every_ugly_mesh_bakes() {
    let Some(folder) = assets("meshes/ugly") else { return };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = format!(
            "[input]\nfile = {:?}\n[[layer]]\nkind = \"enrich\"\ntets = 300\ngravity = [0.0, -9.81, 0.0]\nfollow = {{ height = {{ from = 0.0, to = 0.1 }} }}\n[output]\nfiles = []\nreport = false\n",
            file.to_string_lossy()
        );
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        match bake(&text) {
            Ok(bake) => println!("{name}: {:?}", bake.layers[0].notes.first()),
            Err(error) => {
                println!("{name}: {error}");
                assert!(NO_SURFACE.contains(&&*name), "{name}: {error}");
            }
        }
    }
}

/// Empty, and with faces that name no points.
const NO_SURFACE: [&str; 2] = ["empty.obj", "notenoughindices.obj"];

/// Γ″ comes out as it went in, to the bit, with detail on, for everything animated among the assets.
#[test]
fn what_follows_is_untouched_in_every_animated_file() {
    let (Some(rigs), Some(sequences)) = (assets("gltf"), assets("sequences")) else { return };
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for entry in std::fs::read_dir(rigs).unwrap() {
        files.push((entry.unwrap().path(), String::new()));
    }
    for (name, cache) in [("horse-gallop", "pc2"), ("samba", "pc2"), ("pcow", "mdd")] {
        let folder = sequences.join(name);
        let mesh = folder.join(format!("{name}.obj"));
        files.push((folder.join(format!("{name}.{cache}")), format!("mesh = {mesh:?}\nframe_rate = 24.0\n")));
    }
    files.retain(|(file, _)| {
        file.extension()
            .is_some_and(|ending| ["glb", "gltf", "pc2", "mdd"].iter().any(|known| ending == *known))
    });
    files.sort();
    let mut compared = 0;
    for (file, lines) in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        // the lower half follows: by the height of the first frame
        let head = format!("[input]\nfile = {file:?}\n{lines}");
        let Ok(shot) = parse(&format!("{head}[output]\nfiles = []\nreport = false\n")) else {
            continue;
        };
        let clip = match shot.open_input() {
            Ok(clip) if clip.frame_count() > 2 => clip,
            Ok(_) => continue,
            Err(error) => {
                println!("{name}: {error}");
                continue;
            }
        };
        let Some(mesh) = clip.meshes.iter().position(|mesh| !mesh.faces.is_empty()) else { continue };
        let heights = clip.frame(0).unwrap().points[mesh].iter().map(|p| p[1]).collect::<Vec<f32>>();
        let (low, high) = heights.iter().fold((f32::MAX, f32::MIN), |(a, b), y| (a.min(*y), b.max(*y)));
        let middle = 0.5 * (low + high);
        let text = format!(
            "{head}frames = \"0-2\"\n[[layer]]\nkind = \"enrich\"\nmesh = {:?}\ntets = 200\nfollow = {{ height = {{ from = {:?}, to = {middle:?} }} }}\n[output]\nfiles = []\nreport = false\n",
            clip.meshes[mesh].name,
            middle + 0.05 * (high - low),
        );
        let bake = bake(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        for index in 0..3 {
            let (a, b) = (bake.input.frame(index).unwrap(), bake.clip.frame(index).unwrap());
            for (p, y) in heights.iter().enumerate().filter(|(_, y)| **y < middle) {
                assert_eq!(
                    a.points[mesh][p].map(f32::to_bits),
                    b.points[mesh][p].map(f32::to_bits),
                    "{name}: {y}"
                );
                compared += 1;
            }
        }
        println!("{name}: the same to the bit");
    }
    assert!(compared > 10_000, "{compared}");
}

/// The fit reaches what is asked of it on captured animation.
#[test]
fn captured_sequences_are_fitted_to_the_tolerance() {
    for name in ["horse-gallop", "samba"] {
        let Some(folder) = assets(&format!("sequences/{name}")) else { return };
        let text = format!(
            "[input]\nfile = {:?}\nmesh = {:?}\nframe_rate = 24.0\nframes = \"0-3\"\n[[layer]]\nkind = \"enrich\"\ntets = 8000\nfit_tolerance = 0.004\nfollow = {{ height = {{ from = 10.0, to = 11.0 }} }}\n[output]\nfiles = []\nreport = false\n",
            folder.join(format!("{name}.pc2")).to_string_lossy(),
            folder.join(format!("{name}.obj")).to_string_lossy(),
        );
        let bake = bake(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let rest = bake.clip.meshes[0].rest();
        let size = geometry::Bounds::of(rest.iter().copied()).diagonal();
        for figures in &bake.layers[0].figures {
            let error = figures.get("fit/error").unwrap();
            assert!(error < 0.004 * size, "{name}: {error} of {size}");
        }
    }
}
