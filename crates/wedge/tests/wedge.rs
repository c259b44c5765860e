//! Wedges of small shots: planned, baked, stopped, shared, shown.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use shot::{BakeOptions, Context, Event, Reader};
use wedge::{Choice, Error, Plan, State, Vary};

/// Smoothed, then simulated: what varies is the cloth, so the smoothing is common.
const SHOT: &str = "[input]
sample = 'curtain'
frames = '0-5'

[[layer]]
kind = 'smooth'
window = 0.1

[[layer]]
kind = 'cloth'
name = 'fabric'
material = 'cotton'
follow = { height = { from = 1.7, to = 1.8 } }

[output]
files = ['c.pc2', 'c.webp']
film = { width = 64, height = 48 }
";

fn reader() -> Reader {
    let registry = layers::registry().with_film::<film::FilmLook>();
    Reader::new(
        samples::all()
            .iter()
            .fold(registry, |registry, sample| registry.with_sample(sample.name, sample.make)),
    )
}

fn vary(texts: &[&str]) -> Vec<Vary> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn planned(out: &Path, text: &str, texts: &[&str], choice: Choice) -> Plan {
    let plan = Plan::new(&reader(), "c.toml", text, Path::new(""), &vary(texts), choice).unwrap();
    plan.save(out).unwrap();
    Plan::load(out).unwrap()
}

fn values(plan: &Plan) -> Vec<Vec<&str>> {
    plan.tries.iter().map(|one| one.values.iter().map(String::as_str).collect()).collect()
}

#[test]
fn lists_multiply_ranges_count_and_zips_go_in_step() {
    let out = tempfile::tempdir().unwrap();
    let fabrics = "layer.fabric.material=silk,denim";
    let speeds = "layer.fabric.damping=0.1..0.3:3";
    let all = planned(&out.path().join("all"), SHOT, &[fabrics, speeds], Choice::Product);
    assert_eq!(all.tries.len(), 6);
    assert_eq!(values(&all)[0], ["silk", "0.1"]);
    assert_eq!(values(&all)[5], ["denim", "0.3"]);
    assert_eq!(all.common, 1, "smoothing comes before what varies");

    let zipped =
        planned(&out.path().join("zip"), SHOT, &[fabrics, "layer.fabric.damping=0.1,0.2"], Choice::Zip);
    assert_eq!(values(&zipped), [["silk", "0.1"], ["denim", "0.2"]]);

    let unlike = Plan::new(&reader(), "c.toml", SHOT, Path::new(""), &vary(&[fabrics, speeds]), Choice::Zip);
    assert!(unlike.unwrap_err().to_string().contains("3 values"));
    let twice =
        Plan::new(&reader(), "c.toml", SHOT, Path::new(""), &vary(&[fabrics, fabrics]), Choice::Product);
    assert!(twice.unwrap_err().to_string().contains("twice"));
}

#[test]
fn random_values_lie_where_the_schema_has_them_and_depend_on_the_seed() {
    let keys = ["layer.fabric.damping", "layer.fabric.material", "layer.smooth.window=0.1..0.2"];
    let draw = |seed| {
        Plan::new(&reader(), "c.toml", SHOT, Path::new(""), &vary(&keys), Choice::Random { count: 12, seed })
            .unwrap()
    };
    let (a, b, c) = (draw(1), draw(1), draw(2));
    assert_eq!(a, b);
    assert_ne!(a.tries, c.tries);
    for row in values(&a) {
        let window: f64 = row[2].parse().unwrap();
        assert!((0.1..=0.2).contains(&window), "{row:?}");
    }
    let materials: std::collections::BTreeSet<&str> = values(&a).iter().map(|row| row[1]).collect();
    assert!(materials.len() > 2, "{materials:?}");
    assert_eq!(a.common, 0, "the lowest layer varies");
}

#[test]
fn every_try_is_checked_before_anything_runs() {
    let wrong = Plan::new(
        &reader(),
        "c.toml",
        SHOT,
        Path::new(""),
        &vary(&["layer.fabric.material=silk,slik"]),
        Choice::Product,
    );
    let Err(Error::Try { values, source }) = wrong else { panic!("a fabric that is none") };
    assert_eq!(values, "material=slik");
    assert!(matches!(*source, shot::Error::Invalid(_)));
    let nowhere = Plan::new(
        &reader(),
        "c.toml",
        SHOT,
        Path::new(""),
        &vary(&["layer.fabrik.material=silk"]),
        Choice::Product,
    );
    assert!(nowhere.is_err());
}

/// The frames of a try are those of its shot baked by itself, and what is common was baked once.
#[test]
fn tries_share_what_they_have_in_common_and_change_nothing() {
    let out = tempfile::tempdir().unwrap();
    let plan = planned(out.path(), SHOT, &["layer.fabric.material=silk,denim"], Choice::Product);
    assert_eq!(plan.bake_common(&reader(), out.path(), None, &Context::SILENT).unwrap(), 1);
    let before = files(&out.path().join("common"));
    for index in 0..2 {
        let state = plan.bake_try(&reader(), out.path(), index, None, &Context::SILENT).unwrap();
        let State::Done { baked, reused, figures, film, .. } = state else { panic!("{state:?}") };
        assert_eq!((baked, reused), (6, 6), "six frames of cloth; six of smoothing were there");
        assert!(figures.iter().any(|figure| figure.layer == "fabric"));
        assert_eq!(film.as_deref(), Some("c.webp"));

        let shot = plan.shot(&reader(), out.path(), index).unwrap();
        let alone = tempfile::tempdir().unwrap();
        let options = BakeOptions { out: Some(alone.path().into()), ..BakeOptions::default() };
        film::bake(&shot, &options, &Context::SILENT).unwrap();
        let [ours, theirs] = [&plan.try_folder(out.path(), index), alone.path()]
            .map(|folder| fs::read(folder.join("c.pc2")).unwrap());
        assert_eq!(ours, theirs);
    }
    assert_eq!(before, files(&out.path().join("common")), "shared, and not written to");

    // again: nothing is left to do
    let again = plan.bake_try(&reader(), out.path(), 0, None, &Context::SILENT).unwrap();
    assert!(again.is_done());

    let page = fs::read_to_string(wedge::write_page(&plan, out.path()).unwrap()).unwrap();
    assert_eq!(page.matches("data:image/webp").count(), 2);
    assert!(page.contains("material=denim") && page.contains("class=\"best\""));
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(out.path().join("wedge.json")).unwrap()).unwrap();
    assert_eq!(json["ok"], true);
    assert_eq!(json["tries"][1]["values"]["layer.fabric.material"], "denim");
}

/// Every file below a folder, with what is in it.
fn files(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => all.extend(files(&path)),
            path => all.push((path.clone(), fs::read(path).unwrap())),
        }
    }
    all.sort();
    all
}

#[test]
fn a_stopped_try_goes_on_and_bakes_no_stored_frame_again() {
    let out = tempfile::tempdir().unwrap();
    let plan = planned(out.path(), SHOT, &["layer.fabric.material=silk"], Choice::Product);
    let stop = AtomicBool::new(false);
    let after_three = |event: Event<'_>| {
        if let Event::Frame { layer: "fabric", done: 3, .. } = event {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let context = Context { progress: &after_three, cancel: &stop };
    let stopped = plan.bake_try(&reader(), out.path(), 0, None, &context);
    assert!(matches!(stopped, Err(Error::Stopped { .. })));
    let State::Stopped { done, of } = plan.state(out.path(), 0) else { panic!() };
    assert!(done >= 3 && of == 12, "{done} of {of}");
    let state = plan.bake_try(&reader(), out.path(), 0, None, &Context::SILENT).unwrap();
    let State::Done { baked, reused, .. } = state else { panic!("{state:?}") };
    assert_eq!((baked, reused), (12 - done, done));
}

#[test]
fn a_try_that_cannot_be_baked_is_told_and_harms_no_other() {
    let out = tempfile::tempdir().unwrap();
    // what `check` cannot know: the folder is not one that can be written
    let plan = planned(out.path(), SHOT, &["layer.fabric.material=silk,denim"], Choice::Product);
    fs::create_dir_all(out.path().join("000/c.pc2")).unwrap();
    let state = plan.bake_try(&reader(), out.path(), 0, None, &Context::SILENT).unwrap();
    assert_eq!(state.name(), "failed", "{state:?}");
    assert!(plan.bake_try(&reader(), out.path(), 1, None, &Context::SILENT).unwrap().is_done());
    let page = fs::read_to_string(wedge::write_page(&plan, out.path()).unwrap()).unwrap();
    assert!(page.contains("try failed"));
    assert_eq!(wedge::summary(&plan, out.path())["ok"], false);
}

#[test]
fn plans_of_others_and_damaged_ones_are_refused() {
    let out = tempfile::tempdir().unwrap();
    let plan = planned(out.path(), SHOT, &["layer.fabric.material=silk"], Choice::Product);
    let other = Plan::new(
        &reader(),
        "c.toml",
        SHOT,
        Path::new(""),
        &vary(&["layer.fabric.material=denim"]),
        Choice::Product,
    );
    assert!(other.unwrap().save(out.path()).unwrap_err().to_string().contains("another wedge"));
    assert!(plan.shot(&reader(), out.path(), 1).is_err_and(|error| error.to_string().contains("no try 1")));

    let path = out.path().join(wedge::PLAN);
    let text = fs::read_to_string(&path).unwrap();
    for (from, to) in [
        ("\"0.1.0\"", "\"9.9.9\""),
        ("\"000\"", "\"../../somewhere\""),
        ("\"000\"", "\"\""),
        ("\"tries\"", "\"tires\""),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let error = Plan::load(out.path()).unwrap_err();
        assert!(error.remedy().is_some(), "{error}");
    }
}
