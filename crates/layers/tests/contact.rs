//! Contact through a layer: broken obstacles hold or are named, and threads change nothing.

use std::path::Path;
use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames, Mesh};
use shot::{FrameResult, Layer, Target};

const RATE: f64 = 24.0;
const FRAMES: usize = 10;

fn layer(contact: &str) -> layers::Cloth {
    toml::from_str(&format!("material = \"cotton\"\n[contact]\n{contact}")).unwrap()
}

/// A cloth of 40 cm that falls on a ball from 2 cm above it; the ball's triangles as `spoil` leaves them, in as many frames.
fn over_a_ball(spoil: impl Fn(&mut Vec<[f32; 3]>, &mut Vec<[u32; 3]>)) -> Clip {
    let cloth = samples::shapes::cloth_patch(9, 0.4);
    let middle = cloth.points.iter().sum::<geometry::Vec3>() / cloth.points.len() as f64;
    let cloth = cloth.map(|p| p - middle + geometry::Vec3::new(0.007, 0.17, 0.011));
    let ball = samples::shapes::icosphere(0.15, 2);
    let mut points: Vec<[f32; 3]> = ball.points.iter().map(|p| p.as_vec3().to_array()).collect();
    let mut triangles = ball.triangles();
    spoil(&mut points, &mut triangles);
    let meshes = vec![cloth.mesh("cloth", None), Mesh::new("ball", points, &triangles)];
    let frame = Frame { points: meshes.iter().map(|m| m.rest_points.clone()).collect(), pose: Vec::new() };
    let frames = MemoryFrames::new(vec![frame; FRAMES]);
    Clip::new("over a ball", RATE, meshes, None, Arc::new(frames))
}

fn bake(settings: &layers::Cloth, clip: &Clip, folder: &Path) -> Result<Vec<FrameResult>, shot::LayerError> {
    let target = Target { clip: clip.clone(), mesh: 0, files: clip::Files::in_folder(folder) };
    let mut simulation = settings.prepare(&target)?;
    (0..clip.frame_count()).map(|frame| simulation.frame(frame)).collect()
}

/// No crossing in any frame, and the cloth lies on the ball: its middle is there, its corners have fallen.
fn assert_held(frames: &[FrameResult], what: &str) {
    for (index, frame) in frames.iter().enumerate() {
        for name in ["intersections/itself", "intersections/obstacles"] {
            assert_eq!(frame.figures.get(name), Some(0.0), "{what}, frame {index}: {name}");
        }
    }
    let points = &frames[frames.len() - 1].frame.points[0];
    // below its middle there may be nothing
    let above = points.iter().filter(|p| p[1] > 0.0);
    let nearest = above.map(|p| p.iter().map(|x| x * x).sum::<f32>().sqrt()).fold(f32::MAX, f32::min);
    assert!(nearest > 0.14, "{what}: {nearest}");
    assert!(points[0][1] < 0.1, "{what}: the corner fell to {}", points[0][1]);
}

#[test]
fn flipped_doubled_and_flat_triangles_hold_like_others() {
    let clip = over_a_ball(|points, triangles| {
        for triangle in triangles.iter_mut().step_by(3) {
            triangle.swap(1, 2);
        }
        triangles.extend(triangles.clone().iter().step_by(5));
        let first = triangles[0];
        // without area: two corners alike, and three on a line
        triangles.push([first[0], first[1], first[1]]);
        points.extend([[0.0, 0.0, 0.0], [0.01, 0.0, 0.0], [0.02, 0.0, 0.0]]);
        let last = points.len() as u32;
        triangles.push([last - 3, last - 2, last - 1]);
    });
    let frames = bake(&layer("obstacles = [{ mesh = \"ball\" }]"), &clip, Path::new(".")).unwrap();
    assert_held(&frames, "spoiled ball");
}

/// The lower half is missing: what is left holds, rim included.
#[test]
fn an_obstacle_with_a_hole_holds_where_it_is() {
    let clip = over_a_ball(|points, triangles| {
        triangles.retain(|t| t.iter().all(|&p| points[p as usize][1] > -0.01));
    });
    let frames = bake(&layer("obstacles = [{ mesh = \"ball\" }]"), &clip, Path::new(".")).unwrap();
    assert_held(&frames, "half a ball");
}

#[test]
fn what_is_not_a_number_is_named_with_its_frame() {
    let clip = over_a_ball(|_, _| ());
    let mut frames: Vec<Frame> = (0..FRAMES).map(|index| clip.frame(index).unwrap()).collect();
    frames[4].points[1][7][2] = f32::NAN;
    let broken = Clip::new("broken", RATE, clip.meshes.clone(), None, Arc::new(MemoryFrames::new(frames)));
    let failure = bake(&layer("obstacles = [{ mesh = \"ball\" }]"), &broken, Path::new(".")).unwrap_err();
    let text = failure.to_string();
    assert!(text.contains("ball") && text.contains('7'), "{text}");
}

/// A file with two frames beside ten: the ball rises by a centimetre and then stands still.
#[test]
fn after_its_last_frame_an_obstacle_stands_still() {
    let clip = over_a_ball(|_, _| ());
    let ball = clip.meshes[1].clone();
    let raised = ball.rest_points.iter().map(|p| [p[0], p[1] + 0.01, p[2]]).collect();
    let two =
        [ball.rest_points.clone(), raised].map(|points| Frame { points: vec![points], pose: Vec::new() });
    let folder = tempfile::tempdir().unwrap();
    let short = Clip::new("ball", RATE, vec![ball], None, Arc::new(MemoryFrames::new(two.to_vec())));
    clip::write(folder.path().join("ball.glb"), &short, &clip::WriteOptions::default()).unwrap();
    let frames = bake(&layer("obstacles = [{ file = \"ball.glb\" }]"), &clip, folder.path()).unwrap();
    assert_held(&frames, "a short file");
    let highest = frames[FRAMES - 1].frame.points[0].iter().map(|p| p[1]).fold(f32::MIN, f32::max);
    assert!(highest > 0.16, "it lies on the raised ball: {highest}");
}

#[test]
fn threads_change_no_bit_of_a_bake_in_contact() {
    let clip = over_a_ball(|_, _| ());
    let baked = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let frames =
            pool.install(|| bake(&layer("obstacles = [{ mesh = \"ball\" }]"), &clip, Path::new(".")));
        frames.unwrap().into_iter().map(|result| result.frame.points).collect::<Vec<_>>()
    };
    assert_eq!(baked(1), baked(2));
}

/// Two sheets of one mesh that cross as they were drawn: let alone and untold where the artist lets folds cross, drawn apart where not.
#[test]
fn folds_that_may_cross_are_neither_untangled_nor_told() {
    let flat = samples::shapes::cloth_patch(6, 0.4);
    let middle = flat.points.iter().sum::<geometry::Vec3>() / flat.points.len() as f64;
    let flat = flat.map(|p| p - middle);
    let upright = flat.clone().map(|p| geometry::Vec3::new(p.x + 0.013, p.z, 0.011 - p.y));
    let mut mesh = flat.mesh("cloth", None);
    samples::shapes::append(&mut mesh, &upright, None);
    let frame = Frame { points: vec![mesh.rest_points.clone()], pose: Vec::new() };
    let frames = Arc::new(MemoryFrames::new(vec![frame; 3]));
    let clip = Clip::new("crossed", RATE, vec![mesh], None, frames);
    let told = |contact: &str| {
        let frames = bake(&layer(contact), &clip, Path::new(".")).unwrap();
        let crossed = frames[0].figures.get("intersections/itself").unwrap();
        assert!(crossed > 0.0, "{contact}: they are counted all the same");
        frames.into_iter().flat_map(|frame| frame.warnings).any(|words| words.contains("cross"))
    };
    assert!(!told("self = false\nobstacles = []"));
    assert!(told("self = true\nobstacles = []"));
}

/// What an obstacle may be goes by the scene and by its frames: what is far, large, fast, whirling or around the mesh beyond measure is
/// refused with its place and a remedy, what is merely odd is told, and what flies along with the mesh is slow.
#[test]
fn obstacles_are_measured_by_the_scene() {
    let judged = |obstacle: &str, carried: f32| {
        let settings = layer(&format!("obstacles = [{{ {obstacle} }}]"));
        let clip = over_a_ball(|_, _| ());
        let frame = |index: usize| {
            let mut frame = clip.frame(index).unwrap();
            frame.points.iter_mut().flatten().for_each(|p| p[0] += carried * index as f32 / RATE as f32);
            frame
        };
        let frames = Arc::new(MemoryFrames::new((0..FRAMES).map(frame).collect()));
        let clip = Clip::new("carried", RATE, clip.meshes.clone(), None, frames);
        let target = Target { clip, mesh: 0, files: clip::Files::in_folder(Path::new(".")) };
        let told = |found: Vec<shot::Diagnostic>| -> Vec<String> {
            assert!(found.iter().all(|found| found.remedy().is_some()), "{obstacle}: {found:?}");
            found
                .iter()
                .map(|found| found.path().trim_start_matches("contact.obstacles[0].").into())
                .collect()
        };
        (told(settings.check(&target)), told(settings.unusual(&target)))
    };
    // a cloth of 40 cm, 17 cm above a ball, in a scene of 65 cm; 24 frames a second
    for (obstacle, refused, unusual) in [
        ("shape = \"sphere\", radius = 0.15", "", ""),
        ("shape = \"sphere\", radius = 0.15, centre = [90.0, 0.0, 0.0]", "", "centre"),
        ("shape = \"sphere\", radius = 0.15, centre = [0.0, 7.34e5, 0.0]", "centre", ""),
        (
            "shape = \"sphere\", radius = 0.15, centre = [70.0, 0.0, 0.0], velocity = [-40.0, 0.0, 0.0]",
            "",
            "velocity",
        ),
        ("shape = \"sphere\", radius = 0.15, velocity = [0.0, 0.0, 1000.0]", "velocity", ""),
        ("shape = \"sphere\", radius = 0.15, spin = [0.0, 720.0, 0.0]", "", ""),
        ("shape = \"sphere\", radius = 0.15, spin = [0.0, 1500.0, 0.0]", "", "spin"),
        ("shape = \"sphere\", radius = 0.15, spin = [0.0, 1e5, 0.0]", "spin", ""),
        ("shape = \"sphere\", radius = 100.0, centre = [0.0, -100.0, 0.0]", "", "radius"),
        ("shape = \"sphere\", radius = 1e5, centre = [0.0, -1e5, 0.0]", "radius", ""),
        (
            "shape = \"capsule\", radius = 2e3, half_length = 4e4, axis = [1.0, 0.0, 0.0]",
            "half_length",
            "radius",
        ),
        ("shape = \"box\", half_size = [2e4, 2e4, 2e4]", "half_size", ""),
        ("shape = \"sphere\", radius = 10.0", "", ""),
        ("shape = \"sphere\", radius = 10.0, sides = \"front\"", "sides", ""),
        ("shape = \"box\", half_size = [10.0, 10.0, 10.0], sides = \"front\"", "sides", ""),
        ("shape = \"capsule\", radius = 10.0, sides = \"front\"", "sides", ""),
        ("shape = \"sphere\", radius = 0.3, sides = \"front\"", "", "sides"),
        ("shape = \"plane\", centre = [0.0, -1.0, 0.0]", "", ""),
        ("shape = \"plane\", centre = [0.0, 0.3, 0.0]", "", "centre"),
        ("shape = \"plane\", centre = [0.0, 7.34e5, 0.0]", "centre", ""),
        ("shape = \"plane\", centre = [0.0, 1.0, 0.0], axis = [0.0, -1.0, 0.0]", "", ""),
        ("shape = \"plane\", centre = [500.0, 0.0, 0.0]", "centre", ""),
    ] {
        let found = judged(obstacle, 0.0);
        let words = |words: &str| words.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
        assert_eq!(found, (words(refused), words(unusual)), "{obstacle}");
    }
    let along = "shape = \"sphere\", radius = 0.15, velocity = [300.0, 0.0, 0.0]";
    assert_eq!(judged(along, 300.0), (vec![], vec![]));
    assert_eq!(judged(along, 0.0).0, ["velocity"]);
}
