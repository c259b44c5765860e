//! What tailors do: seams that are drawn together, cloth that shrinks, elastic waists, pins; on real bodies where they are there.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use clip::{Clip, Faces, Frame, MemoryFrames, Mesh, Placement};
use geometry::{Bounds, Vec3};
use samples::shapes::{Shape, append, cloth_patch, tube};
use shot::{Bake, BakeOptions, Context, FrameRange, FrameResult, Layer, Target};

const RATE: f64 = 24.0;

/// Meshes that stand still.
fn still(meshes: Vec<Mesh>, frames: usize) -> Clip {
    let points: Vec<Vec<[f32; 3]>> = meshes.iter().map(|mesh| mesh.rest_points.clone()).collect();
    let frames = vec![Frame { points, pose: Vec::new() }; frames];
    Clip::new("still", RATE, meshes, None, Arc::new(MemoryFrames::new(frames)))
}

/// A level square of 8 × 8 cells, 40 cm large, with this corner.
fn square(corner: Vec3) -> Shape {
    cloth_patch(8, 0.4).map(|p| p + corner + Vec3::new(0.2, 0.0, 0.2))
}

fn layer(text: &str) -> layers::Cloth {
    toml::from_str(text).unwrap()
}

fn target(clip: &Clip, mesh: usize) -> Target {
    Target { clip: clip.clone(), mesh, files: clip::Files::in_folder(".") }
}

/// The first frames of a layer on a mesh.
fn baked(layer: &dyn Layer, clip: &Clip, mesh: usize, frames: usize) -> Vec<FrameResult> {
    let target = target(clip, mesh);
    assert!(layer.check(&target).is_empty(), "{:?}", layer.check(&target));
    let mut simulation = layer.prepare(&target).unwrap();
    (0..frames).map(|frame| simulation.frame(frame).unwrap()).collect()
}

fn figure(result: &FrameResult, name: &str) -> f64 {
    result.figures.get(name).unwrap_or_else(|| panic!("there is no {name}"))
}

fn points(result: &FrameResult, mesh: usize) -> Vec<Vec3> {
    result.frame.points[mesh].iter().map(|p| Vec3::from(p.map(f64::from))).collect()
}

/// Two squares of one mesh, 2 cm between them: within 3 cm their sides are sewn, nothing else of them, and they come out as one point.
#[test]
fn edges_within_a_distance_become_one() {
    let mut mesh = square(Vec3::ZERO).mesh("shirt", None);
    append(&mut mesh, &square(Vec3::new(0.42, 0.0, 0.0)), None);
    let clip = still(vec![mesh.clone()], 3);
    let text = "gravity = [0.0, 0.0, 0.0]\npre_roll = 0.5\ncontact = { obstacles = [] }";
    let sewn = layer(&format!("sew = [{{ distance = 0.03 }}]\n{text}"));
    let frames = baked(&sewn, &clip, 0, 2);
    let told = &frames[0].warnings;
    assert!(told.iter().any(|w| w.starts_with("9 places are sewn, up to 20 mm apart: closed")), "{told:?}");
    for frame in &frames {
        assert!(figure(frame, "seams/widest gap") < 0.1, "{}", figure(frame, "seams/widest gap"));
        assert_eq!(figure(frame, "intersections/itself"), 0.0);
        let x = points(frame, 0);
        let rest = mesh.rest();
        let mut pairs = 0;
        for (a, b) in (0..81).flat_map(|a| (81..162).map(move |b| (a, b))) {
            let is_sewn = (rest[a].distance(rest[b]) - 0.02).abs() < 1e-6;
            pairs += usize::from(is_sewn);
            assert_eq!(x[a] == x[b], is_sewn, "{a} {b}");
        }
        assert_eq!(pairs, 9);
    }
    let refused = layer(&format!("sew = [{{ distance = 0.01 }}]\n{text}")).prepare(&target(&clip, 0));
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("sew[0]") && error.contains("within 0.01 m"), "{error}");
}

/// Two meshes of one layer: a side of one to a side of another with other points, named by boxes; the second hangs on the first.
#[test]
fn two_garments_are_sewn_to_each_other() {
    let upper = cloth_patch(8, 0.4).map(|p| Vec3::new(p.x, 1.0 + p.z, 0.0)).mesh("bodice", None);
    let lower = cloth_patch(5, 0.4).map(|p| Vec3::new(p.x, 0.5 + p.z, 0.0)).mesh("skirt", None);
    let clip = still(vec![upper, lower], 3);
    let registry = layers::registry().with_film::<film::FilmLook>();
    let folder = tempfile::tempdir().unwrap();
    clip::write(folder.path().join("two.glb"), &clip, &clip::WriteOptions::default()).unwrap();
    let height =
        |from: f64, to: f64| format!("{{ box = {{ min = [-1.0, {from}, -1.0], max = [1.0, {to}, 1.0] }} }}");
    let text = format!(
        "[input]\nfile = \"two.glb\"\n[[layer]]\nkind = \"cloth\"\nmesh = \"bodice\"\ntogether = \"dress\"\npre_roll = 1.0\n\
         follow = {top}\nsew = [{{ from = {hem}, mesh = \"skirt\", to = {waist} }}]\n\
         [[layer]]\nkind = \"cloth\"\nmesh = \"skirt\"\ntogether = \"dress\"\n[output]\nfiles = []\nreport = false\n",
        top = height(1.19, 1.3),
        hem = height(0.7, 0.81),
        waist = height(0.69, 0.75),
    );
    let shot = shot::Reader::new(registry).parse("two", &text, folder.path()).unwrap();
    assert_eq!(shot.check().iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    let options = BakeOptions { out: Some(folder.path().join("out")), ..Default::default() };
    let bake: Bake = shot.bake(&options, &Context::SILENT).unwrap();
    let (bodice, skirt) = (bake.clip.mesh_index("bodice").unwrap(), bake.clip.mesh_index("skirt").unwrap());
    let frame = bake.clip.frame(2).unwrap();
    let least = |mesh: usize| frame.points[mesh].iter().map(|p| p[1]).fold(f32::INFINITY, f32::min);
    let most = |mesh: usize| frame.points[mesh].iter().map(|p| p[1]).fold(f32::NEG_INFINITY, f32::max);
    assert!((most(skirt) - least(bodice)).abs() < 5e-3, "{} {}", most(skirt), least(bodice));
    assert!(least(bodice) > 0.7, "nothing fell: {}", least(bodice));
}

/// A shot of a clip, baked.
fn bake_shot(clip: &Clip, layers: &str) -> Result<Bake, shot::Error> {
    let folder = tempfile::tempdir().unwrap();
    clip::write(folder.path().join("scene.glb"), clip, &clip::WriteOptions::default()).unwrap();
    let text = format!("[input]\nfile = \"scene.glb\"\n{layers}\n[output]\nfiles = []\nreport = false\n");
    let registry = layers::registry().with_film::<film::FilmLook>();
    let shot = shot::Reader::new(registry).parse("scene", &text, folder.path()).unwrap();
    assert_eq!(shot.check().iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    let options = BakeOptions { out: Some(folder.path().join("out")), ..Default::default() };
    let bake = shot.bake(&options, &Context::SILENT);
    std::mem::forget(folder); // frames are read from disk
    bake
}

/// The meshes of one layer are panels of one garment: edges of any of them find each other, what one of them has need not be on all, and a mesh that
/// is named is what the others are sewn to.
#[test]
fn the_meshes_of_a_layer_are_one_garment() {
    let left = square(Vec3::ZERO).mesh("left", None);
    let right = square(Vec3::new(0.42, 0.0, 0.0)).mesh("right", None);
    let clip = still(vec![left, right], 2);
    let side =
        |from: f64, to: f64| format!("{{ box = {{ min = [{from}, -1.0, -1.0], max = [{to}, 1.0, 1.0] }} }}");
    let (its, other) = (side(0.39, 0.41), side(0.41, 0.43));
    let ways = [
        "{ distance = 0.03 }".to_owned(),
        "{ distance = 0.03, mesh = \"right\" }".to_owned(),
        format!("{{ from = {its}, to = {other} }}"),
        format!("{{ from = {its}, to = {other}, mesh = \"right\" }}"),
    ];
    for sew in ways {
        let layer = format!(
            "[[layer]]\nkind = \"cloth\"\nmesh = [\"left\", \"right\"]\nsew = [{sew}]\n\
             gravity = [0.0, 0.0, 0.0]\npre_roll = 0.5\ncontact = {{ obstacles = [] }}"
        );
        let bake = bake_shot(&clip, &layer).unwrap();
        let x = bake.clip.frame(1).unwrap().points;
        let places = |mesh: usize| x[mesh].iter().map(|p| p.map(f32::to_bits)).collect::<BTreeSet<_>>();
        assert_eq!(places(0).intersection(&places(1)).count(), 9, "{sew}");
        let figures = &bake.layers[0].figures[1];
        assert!(figures.get("seams/widest gap").unwrap() < 0.1, "{sew}");
        assert_eq!(figures.get("intersections/each other").unwrap_or(0.0), 0.0, "{sew}");
    }
    let far = "[[layer]]\nkind = \"cloth\"\nmesh = \"*\"\nsew = [{ distance = 0.01 }]";
    let said = bake_shot(&clip, far).err().unwrap().to_string();
    assert!(said.contains("no edges of `left`, `right` and `left`, `right` are within 0.01 m"), "{said}");
}

/// Flesh has no edges, and is no cloth: what is sewn or pinned to it says so, and what to do.
#[test]
fn flesh_is_nothing_to_sew_to() {
    let flesh = samples::shapes::sphere(0.1, 12, 8).mesh("flesh", None);
    let patch = square(Vec3::new(-0.2, 0.12, -0.2)).mesh("patch", None);
    let clip = still(vec![flesh, patch], 2);
    for way in
        ["sew = [{ distance = 0.1, mesh = \"flesh\" }]", "pins = [{ from = \"all\", mesh = \"flesh\" }]"]
    {
        let layers = format!(
            "[[layer]]\nkind = \"enrich\"\nmesh = \"flesh\"\ntets = 100\ntogether = \"both\"\n\
             [[layer]]\nkind = \"cloth\"\nmesh = \"patch\"\ntogether = \"both\"\ntolerance = 1e-3\n{way}\n"
        );
        let error = bake_shot(&clip, &layers).err().unwrap();
        let said = error.to_string();
        assert!(said.contains("`flesh` is no cloth, although it is simulated with `patch`"), "{said}");
        assert!(error.remedy().is_some_and(|help| help.contains("leave out `together`")), "{said}");
    }
}

/// Cloth that shrinks by a fifth gets a fifth smaller, in time and within its limits, as cloth and with threads; painted where it is painted.
#[test]
fn shrunk_cloth_gets_smaller() {
    let clip = still(vec![square(Vec3::ZERO).mesh("shirt", None)], 6);
    let text = "shrink = 0.8\ngravity = [0.0, 0.0, 0.0]\nair_drag = 0.0\npre_roll = 0.5\n";
    let size = |result: &FrameResult| {
        let extent = Bounds::of(points(result, 0)).size();
        [extent.x, extent.z]
    };
    let last = |layer: &dyn Layer| baked(layer, &clip, 0, 6).pop().unwrap();
    let cloth = last(&layer(text));
    for extent in size(&cloth) {
        assert!((extent / 0.32 - 1.0).abs() < 0.03, "{extent}");
    }
    assert!(figure(&cloth, "strain/warp") < 3.1, "{}", figure(&cloth, "strain/warp"));
    let threads: layers::Inextensible = toml::from_str(text).unwrap();
    for extent in size(&last(&threads)) {
        assert!((extent / 0.32 - 1.0).abs() < 0.03, "{extent}");
    }
    let half = "shrink_where = { box = { min = [-1.0, -1.0, -1.0], max = [0.21, 1.0, 1.0] } }";
    let [x, _] = size(&last(&layer(&format!("{text}{half}"))));
    assert!(x > 0.33 && x < 0.39, "{x}");
}

/// Cloth that is much too large, and held on one side, gets smaller within half a second, and does not throw itself about: let go at once it would
/// come at more than 10 m/s.
#[test]
fn cloth_shrinks_quietly() {
    let clip = still(vec![square(Vec3::ZERO).mesh("shirt", None)], 18);
    let side = "follow = { box = { min = [-1.0, -1.0, -1.0], max = [0.01, 1.0, 1.0] } }";
    let shrinking = format!("shrink = 0.7\ngravity = [0.0, 0.0, 0.0]\nair_drag = 0.0\n{side}");
    let frames = baked(&layer(&shrinking), &clip, 0, 18);
    let places: Vec<Vec<Vec3>> = frames.iter().map(|frame| points(frame, 0)).collect();
    for (k, pair) in places.windows(2).enumerate() {
        let farthest = pair[0].iter().zip(&pair[1]).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        // 12 cm in half a second, one and a half times as fast in the middle
        assert!(farthest * RATE < 0.7, "frame {k}: {} m/s", farthest * RATE);
    }
    // less than 28 cm: it gathers towards the side that is held at its full length
    let extent = Bounds::of(places[17].iter().copied()).size();
    assert!(extent.x > 0.2 && extent.x < 0.30, "{}", extent.x);
}

/// A post from the ground to y = 1.2, and a wide ring of cloth around it with a waist of 12 × 24 points; groups `waist` and `top`.
fn skirt_on_post() -> Clip {
    let post =
        tube(&[0.0, 0.3, 0.6, 0.9, 1.2].map(|y| Vec3::new(0.0, y, 0.0)), &[0.1; 5], 24).mesh("post", None);
    let (around, rows) = (32, 8);
    let at = |i: usize, j: usize| (j * around + i % around) as u32;
    let place = |i: usize, j: usize| {
        let (sin, cos) = (std::f64::consts::TAU * i as f64 / around as f64).sin_cos();
        let radius = 0.14 + 0.01 * j as f64;
        Vec3::new(radius * sin, 1.0 - 0.03 * j as f64, radius * cos)
    };
    let ring: Vec<Vec3> = (0..=rows).flat_map(|j| (0..around).map(move |i| place(i, j))).collect();
    let mut faces = Faces::default();
    for (i, j) in (0..rows).flat_map(|j| (0..around).map(move |i| (i, j))) {
        faces.push(&[at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)]);
    }
    let count = ring.len();
    let mut skirt = Shape::new(ring, faces, Vec::new()).mesh("skirt", None);
    let row = |first: usize, last: usize| {
        (0..count).map(|p| f32::from(u8::from((first..=last).contains(&(p / around))))).collect::<Vec<f32>>()
    };
    skirt.set_group("waist", row(0, 0));
    still(vec![post, skirt], 20)
}

/// An elastic band in the upper edge draws a skirt to the body and holds it by friction; without it the skirt falls.
#[test]
fn an_elastic_waist_holds_a_skirt_by_friction() {
    let clip = skirt_on_post();
    let text = "pre_roll = 0.2\ncontact = { friction = 0.6, obstacles = [{ mesh = \"post\" }] }\n";
    let height = |layer: &dyn Layer, row: usize| {
        let last = baked(layer, &clip, 1, 14).pop().unwrap();
        let y = points(&last, 1)[32 * row..][..32].iter().map(|p| p.y).sum::<f64>() / 32.0;
        (last, y)
    };
    let elastic = "elastic = [{ along = { group = \"waist\" }, length = 0.6, stiffness = 40.0 }]";
    let (last, held) = height(&layer(&format!("{text}{elastic}")), 0);
    assert!(held > 0.92, "drawn at 1 m: {held}");
    let drawn = figure(&last, "elastic/drawn out");
    assert!(drawn > 1.0 && drawn < 60.0, "it is as long as the post is round: {drawn}");
    assert_eq!(figure(&last, "intersections/obstacles"), 0.0);
    let (_, fallen) = height(&layer(text), 0);
    assert!(fallen < 0.8, "{fallen}");
}

/// Pins hold a sheet to a body that moves, beside it where it was drawn, and buttons another sheet to the sheet.
#[test]
fn pins_hold_to_bodies_and_to_other_garments() {
    let body = cloth_patch(4, 0.4).mesh("body", None);
    let coat = square(Vec3::new(-0.2, -0.05, -0.2)).mesh("coat", None);
    let shirt = square(Vec3::new(-0.2, -0.1, -0.2)).mesh("shirt", None);
    let meshes = vec![body, coat, shirt];
    let frames = (0..12).map(|index| {
        let up = 0.02 * index as f32;
        let mut points: Vec<Vec<[f32; 3]>> = meshes.iter().map(|mesh| mesh.rest_points.clone()).collect();
        points[0].iter_mut().for_each(|p| p[1] += up);
        Frame { points, pose: Vec::new() }
    });
    let clip = Clip::new("pins", RATE, meshes.clone(), None, Arc::new(MemoryFrames::new(frames.collect())));
    let corners = "{ any = [{ box = { min = [-0.3, -1.0, -0.3], max = [-0.19, 1.0, -0.19] } }, \
        { box = { min = [0.19, -1.0, -0.3], max = [0.3, 1.0, -0.19] } }, \
        { box = { min = [-0.3, -1.0, 0.19], max = [-0.19, 1.0, 0.3] } }, \
        { box = { min = [0.19, -1.0, 0.19], max = [0.3, 1.0, 0.3] } }] }";
    let coat = layer(&format!("pins = [{{ from = {corners}, mesh = \"body\" }}]"));
    let last = baked(&coat, &clip, 1, 12).pop().unwrap();
    let lifted = points(&last, 1)[0].y;
    assert!((lifted - (-0.05 + 0.22)).abs() < 0.02, "it goes along, 5 cm below: {lifted}");
    assert!(figure(&last, "pins/farthest") < 20.0);

    let folder = tempfile::tempdir().unwrap();
    clip::write(folder.path().join("pins.glb"), &clip, &clip::WriteOptions::default()).unwrap();
    let text = format!(
        "[input]\nfile = \"pins.glb\"\n[[layer]]\nkind = \"cloth\"\nmesh = \"coat\"\ntogether = \"both\"\nfollow = \"all\"\n\
         [[layer]]\nkind = \"cloth\"\nmesh = \"shirt\"\ntogether = \"both\"\npre_roll = 0.5\npins = [{{ from = {corners}, mesh = \"coat\" }}]\n\
         [output]\nfiles = []\nreport = false\n"
    );
    let registry = layers::registry().with_film::<film::FilmLook>();
    let shot = shot::Reader::new(registry).parse("pins", &text, folder.path()).unwrap();
    let frames = Some(FrameRange { first: 0, last: 3 });
    let options = BakeOptions { out: Some(folder.path().join("out")), frames, ..Default::default() };
    let bake = shot.bake(&options, &Context::SILENT).unwrap();
    let frame = bake.clip.frame(3).unwrap();
    let shirt = bake.clip.mesh_index("shirt").unwrap();
    let corner = frame.points[shirt][0][1];
    assert!((corner + 0.05).abs() < 0.01, "drawn up to the coat: {corner}");
    let middle = frame.points[shirt].iter().map(|p| p[1]).fold(f32::INFINITY, f32::min);
    assert!(middle < corner - 0.02, "and hangs from there: {middle}");
}

/// What cannot be sewn is told with the setting's name.
#[test]
fn mistakes_are_named() {
    let clip = still(vec![square(Vec3::ZERO).mesh("shirt", None)], 2);
    let said = |text: &str| {
        let said = layer(text).check(&target(&clip, 0));
        said.iter().map(|d| format!("{}: {d}", d.path())).collect::<Vec<_>>().join("; ")
    };
    assert!(
        said("sew = [{ mesh = \"trousers\" }]").starts_with("sew[0].mesh"),
        "{}",
        said("sew = [{ mesh = \"trousers\" }]")
    );
    assert!(said("pins = [{ from = \"all\" }]").contains("pinned to themselves"));
    assert!(said("elastic = [{ along = { group = \"none\" } }]").starts_with("elastic[0].along"));
    let nowhere = "sew = [{ from = { box = { min = [8.0, 8.0, 8.0], max = [9.0, 9.0, 9.0] } } }]";
    assert!(said(nowhere).contains("it chooses no point of `shirt`"), "{}", said(nowhere));
    assert_eq!(said("sew = [{ distance = 0.1 }]\nshrink = 0.9"), "");
}

/// A robe of flat panels is sewn on a person while it goes from its bind pose into the walk, and is worn from the first frame on.
#[test]
fn a_robe_is_sewn_on_a_person() {
    let robe = samples::Robe { cells: [14, 14], ..samples::Robe::default() };
    let clip = samples::person_walk().with_added(&robe.clip(), &Placement::default());
    let robe = clip.mesh_index("robe").unwrap();
    let frames = baked(&layer(ROBE), &clip, robe, 3);
    worn(&frames, robe, 1.3);
}

const ROBE: &str = "sew = [{ from = { group = \"front\" }, to = { group = \"back\" } }]\n\
    start = { seconds = 2.0 }\ncontact = { obstacles = [{ mesh = \"*\" }] }";

/// Its seams are closed, nothing crosses, and it hangs from so high.
fn worn(frames: &[FrameResult], mesh: usize, height: f64) {
    let told = &frames[0].warnings;
    assert!(
        told.iter().any(|w| w.contains("places are sewn") && w.contains("before the first frame")),
        "{told:?}"
    );
    for frame in frames {
        for name in ["intersections/itself", "intersections/obstacles"] {
            assert_eq!(figure(frame, name), 0.0, "{name}");
        }
        assert!(figure(frame, "seams/widest gap") < 1.0, "{}", figure(frame, "seams/widest gap"));
        let top = points(frame, mesh).iter().map(|p| p.y).fold(f64::NEG_INFINITY, f64::max);
        assert!(top > height, "{top}");
    }
}

fn asset(path: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let root = std::env::var_os("FOLLOWTHROUGH_ASSETS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let path = root.join(path);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

/// The robe on a walking man that others made: 1.5 m tall, with a large head and arms that he holds out straight.
#[test]
fn a_robe_is_sewn_on_a_man_from_a_file() {
    let Some(path) = asset("gltf/CesiumMan.glb") else { return };
    let man = clip::read(&path, &clip::ReadOptions::default()).unwrap();
    let robe = samples::Robe {
        cells: [12, 12],
        // under his head, which is as wide as his shoulders
        shoulders: [1.165, 0.05],
        widths: [0.07, 0.185],
        // below his armpits, where the arms hang in the walk
        sides: [0.82, 0.35],
        hem: 0.3,
        away: 0.2,
    };
    let clip = man.with_added(&robe.clip(), &Placement::default());
    let robe = clip.mesh_index("robe").unwrap();
    worn(&baked(&layer(ROBE), &clip, robe, 2), robe, 0.9);
}
