//! Several meshes in one simulation: garments of one layer, and layers that are simulated together.

#[allow(dead_code)] // it reads shots with samples of its own
mod common;

use std::path::Path;
use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames, Mesh};
use contact::{AuditedSurface, audit};
use geometry::Vec3;
use shot::{Bake, BakeOptions, Context, FrameRange, Shot};

const FRAMES: usize = 10;

/// Meshes that stand still, all of them.
fn still(meshes: Vec<Mesh>) -> Clip {
    let points: Vec<Vec<[f32; 3]>> = meshes.iter().map(|mesh| mesh.rest_points.clone()).collect();
    let frames = vec![Frame { points, pose: Vec::new() }; FRAMES];
    Clip::new("still", 24.0, meshes, None, Arc::new(MemoryFrames::new(frames)))
}

/// A square of cloth at a height, turned so that no two of them have their points above each other; its first corner is in the group
/// `corner`.
fn square(name: &str, height: f64, turn: f64) -> Mesh {
    let (sin, cos) = turn.sin_cos();
    let place = |p: Vec3| Vec3::new(cos * p.x - sin * p.z, height, sin * p.x + cos * p.z);
    let mut mesh = samples::shapes::cloth_patch(8, 0.5).map(place).mesh(name, None);
    let corner = (0..mesh.point_count()).map(|p| f32::from(u8::from(p == 0))).collect();
    mesh.set_group("corner", corner);
    mesh
}

/// Three sheets above each other, the lowest 1 cm above the origin.
fn sheets() -> Clip {
    still(vec![square("low", 0.01, 0.0), square("middle", 0.02, 0.3), square("high", 0.03, 0.7)])
}

/// A heavy sheet above a soft ball.
fn sheet_and_ball() -> Clip {
    let ball = samples::shapes::icosphere(0.15, 2).mesh("ball", None);
    still(vec![square("sheet", 0.162, 0.1), ball])
}

fn parse(text: &str) -> Shot {
    let registry = layers::registry()
        .with_film::<film::FilmLook>()
        .with_sample("figure_costume", samples::figure_costume)
        .with_sample("sheets", sheets)
        .with_sample("sheet_and_ball", sheet_and_ball);
    shot::Reader::new(registry).parse("together.toml", text, Path::new("")).unwrap()
}

fn bake(text: &str, out: &Path, last: usize, threads: usize) -> Bake {
    let shot = parse(text);
    assert_eq!(shot.check().iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    let frames = Some(FrameRange { first: 0, last });
    let options = BakeOptions { out: Some(out.into()), frames, threads: Some(threads), ..Default::default() };
    shot.bake(&options, &Context::SILENT).unwrap()
}

/// Pairs of triangles, of whatever meshes, that cross in any frame.
fn crossings(clip: &Clip) -> usize {
    let triangles: Vec<Vec<[u32; 3]>> = clip.meshes.iter().map(Mesh::point_triangles).collect();
    let count = |index: usize| {
        let frame = clip.frame(index).unwrap();
        let surfaces: Vec<AuditedSurface<_>> = (0..clip.meshes.len())
            .map(|mesh| AuditedSurface {
                name: &clip.meshes[mesh].name,
                points: &frame.points[mesh],
                triangles: &triangles[mesh],
                is_obstacle: false,
            })
            .collect();
        audit(&surfaces).unwrap().len()
    };
    (0..clip.frame_count()).map(count).sum()
}

/// The height of a mesh's middle in the last frame, in metres.
fn height(clip: &Clip, mesh: usize) -> f64 {
    let points = &clip.frame(clip.frame_count() - 1).unwrap().points[mesh];
    points.iter().map(|p| f64::from(p[1])).sum::<f64>() / points.len() as f64
}

const SHEETS: &str = r#"
input = { sample = "sheets" }
[[layer]]
kind = "cloth"
mesh = "*"
material = "denim"
[layer.contact]
thickness = 0.002
obstacles = [{ shape = "sphere", radius = 0.12, centre = [0.0, -0.12, 0.0] }]
[output]
files = []
report = false
"#;

#[test]
fn sheets_of_one_layer_lie_on_each_other_and_nothing_crosses() {
    let folder = tempfile::tempdir().unwrap();
    let bake = bake(SHEETS, folder.path(), FRAMES - 1, 2);
    let [layer] = &bake.layers[..] else { panic!("one simulation") };
    assert_eq!((layer.meshes.clone(), layer.kind), (vec![0, 1, 2], "cloth"));
    assert_eq!(crossings(&bake.clip), 0);
    let last = layer.figures.last().unwrap();
    assert_eq!(last.get("intersections/each other"), Some(0.0));
    assert!(last.get("contact/pairs").unwrap() > 0.0, "they touch");
    for name in ["low", "middle", "high"] {
        assert!(last.get(&format!("strain/warp, {name}")).is_some(), "each has figures of its own");
    }
    let heights: Vec<f64> = (0..3).map(|mesh| height(&bake.clip, mesh)).collect();
    assert!(heights[0] < heights[1] && heights[1] < heights[2], "{heights:?}");
    assert!(heights[2] < 0.02, "and they have fallen: {heights:?}");
}

#[test]
fn a_group_is_the_same_on_one_thread_and_after_an_interruption() {
    let [one, two] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let whole = bake(SHEETS, one.path(), 5, 2);
    bake(SHEETS, two.path(), 2, 1);
    let resumed = bake(SHEETS, two.path(), 5, 1);
    assert_eq!(resumed.layers[0].baked, 3);
    for index in 0..6 {
        assert_eq!(whole.clip.frame(index).unwrap(), resumed.clip.frame(index).unwrap(), "frame {index}");
    }
}

/// A person sways in a cape, a back, two halves of a front and an apron.
#[test]
fn five_garments_on_one_person_never_cross() {
    let text = "input = { sample = \"figure_costume\", frames = \"0-11\" }\n[[layer]]\nkind = \"cloth\"\n\
        mesh = [\"left\", \"right\", \"apron\", \"back\", \"cape\"]\nfollow = { group = \"collar\" }\n\
        contact = { obstacles = [{ mesh = \"body\" }] }\n[output]\nfiles = []\nreport = false\n";
    let folder = tempfile::tempdir().unwrap();
    let bake = bake(text, folder.path(), 11, 2);
    assert_eq!(bake.layers[0].meshes, [1, 2, 3, 4, 5]);
    assert_eq!(bake.layers[0].fallbacks, Vec::<(usize, String)>::new());
    for figures in &bake.layers[0].figures {
        for what in ["itself", "obstacles", "each other"] {
            assert_eq!(figures.get(&format!("intersections/{what}")), Some(0.0), "{what}");
        }
    }
    let [before, after] = [&bake.input, &bake.clip].map(|clip| clip.frame(11).unwrap().points[5].clone());
    let moved = before.iter().zip(&after).map(|(a, b)| glam::Vec3::from(*a).distance(glam::Vec3::from(*b)));
    assert!(moved.fold(0.0, f32::max) > 0.03, "the cape swings");
}

const PRESSED: &str = r#"
input = { sample = "sheet_and_ball" }

[[layer]]
kind = "cloth"
name = "blanket"
mesh = "sheet"
together = "heap"
area_density = 4.0               # a weighted blanket
tolerance = 1e-3

[[layer]]
kind = "enrich"
name = "cushion"
mesh = "ball"
together = "heap"
material = "jelly"
young = 3000.0
tets = 300
follow = { sphere = { centre = [0.0, -0.15, 0.0], radius = 0.06 } }

[output]
files = []
report = false
"#;

#[test]
fn layers_that_are_together_push_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let bake = bake(PRESSED, folder.path(), FRAMES - 1, 2);
    let [group] = &bake.layers[..] else { panic!("one simulation") };
    assert_eq!((group.name.as_str(), group.kind, group.meshes.clone()), ("heap", "together", vec![0, 1]));
    assert_eq!(crossings(&bake.clip), 0);
    // alone, without weight of its own, the ball would stay as it is
    let top = |index: usize| {
        let points = &bake.clip.frame(index).unwrap().points[1];
        points.iter().map(|p| f64::from(p[1])).fold(f64::NEG_INFINITY, f64::max)
    };
    let pressed = top(0) - top(FRAMES - 1);
    assert!(pressed > 0.002, "the blanket presses the ball by {pressed} m");
    // and the blanket is held up: in free fall it would be 0.7 m lower
    let fallen = height(&bake.input, 0) - height(&bake.clip, 0);
    assert!(fallen > 0.01 && fallen < 0.35, "{fallen}");
}

#[test]
fn what_a_group_cannot_be_is_said_where_it_is_written() {
    let found = |from: &str, to: &str| {
        let shot = parse(&PRESSED.replace(from, to));
        let found = shot.check();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].to_string()
    };
    assert!(found("tolerance = 1e-3", "tolerance = 1e-4").contains("differ in `tolerance`"));
    assert!(found("tets = 300", "tets = 300\nstrength = 0.5").contains("not whole"));
    assert!(found("mesh = \"ball\"", "mesh = \"sheet\"").contains("at once"));
    let smooth = PRESSED.split("[[layer]]\nkind = \"enrich\"").next().unwrap().to_owned()
        + "[[layer]]\nkind = \"smooth\"\nmesh = \"ball\"\ntogether = \"heap\"\n";
    assert!(parse(&smooth).check()[0].to_string().contains("by themselves"));
}

#[test]
fn who_leaves_the_number_of_steps_open_takes_that_of_the_others() {
    let counted = PRESSED.replace("tets = 300", "tets = 100\nsubsteps = 3");
    assert!(parse(&counted).check().is_empty());
    let steps = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        let bake = bake(text, folder.path(), 1, 2);
        let figures = &bake.layers[0].figures[1].0;
        figures.iter().find(|figure| figure.name == "effort/substeps").unwrap().value
    };
    assert_eq!(steps(&counted), 3.0);
    assert_ne!(steps(&counted.replace("substeps = 3", "")), 3.0);
    let twice = counted.replace("tolerance = 1e-3", "tolerance = 1e-3\nsubsteps = 2");
    assert!(parse(&twice).check()[0].to_string().contains("differ in `substeps`"));
}

/// Two soft bodies from two files: a cherry lies in a pudding's dent, and weighs it down.
const DESSERT: &str = r#"
[input]
file = "pudding.glb"
duration = 0.5

[[input.add]]
file = "cherry.glb"
offset = [0.0, 0.222, 0.0]
scale = 1.2

[[layer]]
kind = "enrich"
mesh = "pudding"
together = "dessert"
material = "jelly"
young = 9e3
tets = 500
gravity = [0.0, -9.81, 0.0]
follow = { group = "foot" }

[[layer]]
kind = "enrich"
mesh = "cherry"
together = "dessert"
material = "rubber"
young = 4e4
density = 1500.0
tets = 150
gravity = [0.0, -9.81, 0.0]

[output]
files = []
report = false
"#;

#[test]
fn two_soft_bodies_from_two_files_push_each_other() {
    let folder = tempfile::tempdir().unwrap();
    for (name, clip) in [("pudding.glb", samples::pudding()), ("cherry.glb", samples::cherry())] {
        clip::write(folder.path().join(name), &clip, &clip::WriteOptions::default()).unwrap();
    }
    let bake = |name: &str, text: &str| {
        let reader = shot::Reader::new(layers::registry().with_film::<film::FilmLook>());
        let shot = reader.parse("dessert.toml", text, folder.path()).unwrap();
        assert_eq!(shot.check().iter().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
        let options = BakeOptions { out: Some(folder.path().join(name)), ..Default::default() };
        shot.bake(&options, &Context::SILENT).unwrap()
    };
    let both = bake("both", DESSERT);
    assert_eq!((both.layers.len(), both.layers[0].meshes.clone()), (1, vec![0, 1]), "one simulation");
    assert_eq!(both.clip.frame_count(), 12);
    assert_eq!(crossings(&both.clip), 0);
    let pairs = |index: usize| both.layers[0].figures[index].get("contact/pairs").unwrap();
    assert!((4..12).map(pairs).fold(0.0, f64::max) > 0.0, "they touch");

    // each feels the other: the pudding is lower than by itself, the cherry higher than in free fall
    let (start, _) = DESSERT.split_once("[[layer]]\nkind = \"enrich\"\nmesh = \"cherry\"").unwrap();
    let alone = bake(
        "alone",
        &format!("{}\n[output]\nfiles = []\nreport = false", start.replace("together = \"dessert\"", "")),
    );
    let rest = &both.clip.meshes[0].rest_points;
    let pole = (0..rest.len()).max_by(|a, b| rest[*a][1].total_cmp(&rest[*b][1])).unwrap();
    let top = |clip: &Clip| f64::from(clip.frame(11).unwrap().points[0][pole][1]);
    assert!(top(&both.clip) < top(&alone.clip) - 0.003, "{} {}", top(&both.clip), top(&alone.clip));
    assert!(
        height(&both.clip, 1) > 0.1,
        "half a second of free fall would be a metre: {}",
        height(&both.clip, 1)
    );
}
