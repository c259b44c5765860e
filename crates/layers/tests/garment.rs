//! Garments as they are drawn: what they meet without being told, and cut finer than they are.

use std::sync::Arc;

use clip::{Clip, Faces, Frame, Joint, MemoryFrames, Mesh, Placement, Skeleton, Transform};
use geometry::Vec3;
use samples::shapes::{Shape, sphere};
use shot::{BakeOptions, Context, FrameResult, Layer, Reader, Target};

/// A sheet of `n` × `n` quads and this side, in metres, about the origin at height 0; one side of it is the group `held`.
fn sheet(n: usize, side: f64) -> Mesh {
    let at = |k: usize| side * (k as f64 / n as f64 - 0.5);
    let points = (0..=n).flat_map(|j| (0..=n).map(move |i| Vec3::new(at(i), 0.0, at(j)))).collect();
    let mut faces = Faces::default();
    for (i, j) in (0..n).flat_map(|j| (0..n).map(move |i| (i, j))) {
        let point = |i: usize, j: usize| (j * (n + 1) + i) as u32;
        faces.push(&[point(i, j), point(i, j + 1), point(i + 1, j + 1), point(i + 1, j)]);
    }
    let mut mesh = Shape::new(points, faces, Vec::new()).mesh("sheet", None);
    let count = mesh.point_count();
    mesh.set_group("held", (0..count).map(|p| if p <= n { 1.0 } else { 0.0 }).collect());
    mesh.uvs = mesh.rest_points.iter().map(|p| [p[0], p[2]]).collect();
    mesh
}

/// The sheet above a ball, which stands still.
fn above_a_ball() -> Clip {
    let ball = sphere(0.15, 16, 10).moved(Vec3::new(0.0, -0.2, 0.0)).mesh("ball", None);
    let scene = Clip::still(sheet(8, 0.6), 24.0, 8);
    scene.with_added(&Clip::still(ball, 24.0, 1), &Placement::default())
}

fn bake(clip: &Clip, settings: &str, frames: usize) -> Vec<FrameResult> {
    let settings: layers::Cloth = toml::from_str(settings).unwrap();
    let target = Target { clip: clip.clone(), mesh: 0, files: clip::Files::in_folder(".") };
    assert_eq!(
        settings.check(&target).iter().map(|found| found.message().to_owned()).collect::<Vec<_>>(),
        [""; 0]
    );
    let mut simulation = settings.prepare(&target).unwrap();
    (0..frames).map(|frame| simulation.frame(frame).unwrap()).collect()
}

#[test]
fn with_nothing_said_cloth_meets_everything_that_it_does_not_move() {
    let clip = above_a_ball();
    let middle = |settings: &str| {
        let frames = bake(&clip, settings, 8);
        let last = frames.last().unwrap();
        assert_eq!(last.figures.get("intersections/itself"), Some(0.0));
        (last.frame.points[0][40][1], last.figures.get("intersections/obstacles").unwrap())
    };
    let (free, _) = middle("contact = { obstacles = [] }");
    assert!(free < -0.25, "it falls past the ball: {free}");
    for settings in ["contact = {}", "contact = { obstacles = [{ mesh = \"ba*\" }] }"] {
        let (held, crossings) = middle(settings);
        assert!(held > -0.06, "{settings}: it lies on the ball: {held}");
        assert_eq!(crossings, 0.0, "{settings}");
    }
    // its own name fits too, and is no obstacle; a pattern that nothing fits is a mistake
    let target = Target { clip: clip.clone(), mesh: 0, files: clip::Files::in_folder(".") };
    let found = |settings: &str| toml::from_str::<layers::Cloth>(settings).unwrap().check(&target);
    assert!(found("contact = { obstacles = [{ mesh = \"*\" }] }").is_empty());
    assert!(!found("contact = { obstacles = [{ mesh = \"b*x\" }] }").is_empty());
}

/// Cells hang on other folds than triangles, and keep what triangles keep: no triangle beyond its limit, nothing crossed.
#[test]
fn cloth_of_cells_keeps_its_limits_and_crosses_nothing() {
    let clip = above_a_ball();
    let frames = |stretching: &str| {
        bake(&clip, &format!("bending = \"plates\"\nstretching = \"{stretching}\"\ncontact = {{}}"), 8)
    };
    let (triangles, cells) = (frames("triangles"), frames("cells"));
    for frame in &cells {
        assert_eq!(frame.figures.get("strain/beyond limits"), Some(0.0));
        assert_eq!(frame.figures.get("intersections/itself"), Some(0.0));
        assert_eq!(frame.figures.get("intersections/obstacles"), Some(0.0));
    }
    let place = |frames: &[FrameResult], p: usize| Vec3::from(frames[7].frame.points[0][p].map(f64::from));
    let differ = (0..81).map(|p| place(&triangles, p).distance(place(&cells, p))).fold(0.0, f64::max);
    assert!((1e-4..0.2).contains(&differ), "{differ}");
}

#[test]
fn cloth_is_cut_finer_with_all_that_lies_on_it() {
    let registry = layers::registry().with_sample("sheet", || Clip::still(sheet(4, 0.5), 24.0, 4));
    let text = "[input]\nsample = \"sheet\"\n[[layer]]\nkind = \"cloth\"\nsubdivide = 2\nfollow = { group = \"held\" }\n\
                contact = {}\n[output]\nfiles = []\nreport = false\n";
    let shot = Reader::new(registry).parse("finer", text, "".as_ref()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = BakeOptions { out: Some(folder.path().into()), ..BakeOptions::default() };
    let bake = shot.bake(&options, &Context::SILENT).unwrap();
    let mesh = &bake.clip.meshes[0];
    assert_eq!((mesh.point_count(), mesh.faces.len()), (17 * 17, 2 * 16 * 16));
    assert_eq!(mesh.uvs.len(), mesh.vertex_count());
    // what was held is held, to the bit, between two held points too; and nothing that was free
    let held = &mesh.group("held").unwrap().weights;
    assert_eq!(held.iter().filter(|weight| **weight == 1.0).count(), 17);
    let (first, last) = (bake.clip.frame(0).unwrap(), bake.clip.frame(3).unwrap());
    for (p, weight) in held.iter().enumerate() {
        let moved = first.points[0][p] != last.points[0][p];
        assert_eq!(moved, *weight < 1.0, "point {p} of weight {weight}");
    }
    // it hangs: the free side has fallen
    let lowest = last.points[0].iter().map(|p| p[1]).fold(0.0, f32::min);
    assert!(lowest < -0.02, "{lowest}");
    let notes = &bake.layers[0].notes;
    assert!(notes.iter().any(|(_, text)| text == "25 points became 289"), "{notes:?}");
}

/// A cape on two shoulders, of which one is too far away to hold it: that is told, and how far.
#[test]
fn a_joint_that_holds_nothing_is_told() {
    let joint = |name: &str, x: f32| Joint {
        name: name.into(),
        parent: None,
        rest: Transform { translation: glam::Vec3::new(x, 0.0, -0.3), ..Transform::IDENTITY },
    };
    let skeleton = Skeleton { joints: vec![joint("left", -0.3), joint("right", 0.5)] };
    let mesh = sheet(8, 0.6);
    let frame = Frame { points: vec![mesh.rest_points.clone()], pose: skeleton.rest_pose() };
    let frames = MemoryFrames::new(vec![frame]);
    let clip = Clip::new("cape", 24.0, vec![mesh], Some(skeleton), Arc::new(frames));
    let told = |within: f64| -> Vec<String> {
        let text = format!("follow = {{ joint = [\"left\", \"right\"], within = {within} }}");
        let frames = bake(&clip, &text, 1);
        frames[0].warnings.iter().filter(|warning| warning.contains("holds nothing")).cloned().collect()
    };
    let one = told(0.1);
    assert!(one.len() == 1 && one[0].contains("`right` holds nothing"), "{one:?}");
    assert!(one[0].contains("no point of `sheet` is within 0.1 m of it") && one[0].contains("0.20 m away"));
    assert!(told(0.21).is_empty());
}

#[test]
fn threads_are_not_cut_finer() {
    let settings: layers::Inextensible = toml::from_str("subdivide = 1").unwrap();
    let target =
        Target { clip: Clip::still(sheet(4, 0.5), 24.0, 2), mesh: 0, files: clip::Files::in_folder(".") };
    let found = settings.check(&target);
    assert!(found.iter().any(|found| found.path() == "subdivide"), "{found:?}");
}
