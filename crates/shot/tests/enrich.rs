//! The enrich layer through the whole pipeline: what follows is untouched, every ugly mesh bakes, fits reach their tolerance.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

use std::path::PathBuf;

use shot::{Bake, BakeOptions, Context, Shot};

fn bake(text: &str) -> Result<Bake, shot::Error> {
    let folder = tempfile::tempdir().unwrap();
    let options = BakeOptions { out: Some(folder.path().into()), ..BakeOptions::default() };
    let bake = Shot::parse(text)?.bake_layers(&options, &Context::SILENT)?;
    // frames are read from the store when asked for
    for index in 0..bake.clip.frame_count() {
        bake.clip.frame(index)?;
    }
    std::mem::forget(folder);
    Ok(bake)
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
            let shot = Shot::parse(&QUADRUPED.replace("[output]", &layer).replace("0-5", "0-4")).unwrap();
            let bake = shot.bake_layers(&options, &Context::SILENT).unwrap();
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
        ("young = -3.0", "young"),
        ("regions = [{ at = { group = \"ears\" }, poisson = 0.7 }]", "poisson"),
    ] {
        let shot = Shot::parse(&QUADRUPED.replace(line, lines)).unwrap();
        let mistakes = shot.check();
        let told: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|told| told.contains(word)), "{lines}: {told:?}");
    }
}

/// Every broken mesh gives tets and a bake, or, where there is no surface at all, one clear sentence.
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
        match bake(&text) {
            Ok(bake) => println!("{}: {:?}", file.display(), bake.layers[0].notes.first()),
            Err(error) => {
                let told = error.to_string();
                println!("{}: {told}", file.display());
                assert!(!told.is_empty());
            }
        }
    }
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
