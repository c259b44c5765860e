//! The layer `inextensible`: threads keep their lengths, bakes repeat and resume to the bit, and bad input gets a sentence.

use clip::{Clip, Faces, Mesh};
use shot::{Layer, Simulation, Target};

/// A horizontal sheet of quads, two neighbouring corners in the group `pins`, `apart` times as far apart as at rest.
fn sheet(cells: u32, apart: f32) -> Clip {
    let at = |i: u32, j: u32| j * (cells + 1) + i;
    let place = |i: u32, j: u32| [i as f32 / cells as f32, 1.0, j as f32 / cells as f32];
    let points: Vec<[f32; 3]> = (0..=cells).flat_map(|j| (0..=cells).map(move |i| place(i, j))).collect();
    let mut faces = Faces::default();
    for j in 0..cells {
        for i in 0..cells {
            faces.push(&[at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
    }
    let mut mesh = Mesh::from_faces("sheet", points.clone(), faces);
    mesh.uvs = points.iter().map(|p| [p[0], p[2]]).collect();
    let pins = (0..points.len()).map(|p| if p == 0 || p == cells as usize { 1.0 } else { 0.0 });
    mesh.set_group("pins", pins.collect());
    let row = (0..points.len()).map(|p| if p <= cells as usize { 1.0 } else { 0.0 });
    mesh.set_group("row", row.collect());
    let mut moved = points;
    moved[cells as usize][0] *= apart;
    let frame = clip::Frame { points: vec![moved], pose: Vec::new() };
    let frames = clip::MemoryFrames::new(vec![frame; 30]);
    Clip::new("sheet", 24.0, vec![mesh], None, std::sync::Arc::new(frames))
}

fn layer(text: &str) -> layers::Inextensible {
    toml::from_str(text).unwrap()
}

fn target(clip: Clip) -> Target {
    Target { clip, mesh: 0, files: clip::Files::default() }
}

fn bake(settings: &layers::Inextensible, clip: Clip) -> Vec<shot::FrameResult> {
    let mut simulation = settings.prepare(&target(clip)).unwrap();
    (0..30).map(|frame| simulation.frame(frame).unwrap()).collect()
}

#[test]
fn every_thread_keeps_its_length_at_every_tolerance() {
    // pins that are nearer in the animation crush the row beside one of them: limits lead such a start back, a projection does it at once
    let tried = [
        ("limit", 0.01, 1.0, 1),
        ("limit", 0.01, 0.9, 20),
        ("limit", 0.001, 1.0, 1),
        ("limit", 0.0001, 1.0, 1),
        ("projection", 0.01, 1.0, 1),
        ("projection", 0.001, 0.9, 1),
        ("projection", 0.0001, 0.9, 1),
    ];
    for (method, tolerance, apart, from) in tried {
        let settings = layer(&format!(
            "method = \"{method}\"\nmax_strain = {tolerance}\nfollow = {{ group = \"pins\" }}"
        ));
        let frames = bake(&settings, sheet(12, apart));
        let lowest = frames[29].frame.points[0].iter().map(|p| p[1]).fold(f32::INFINITY, f32::min);
        assert!(lowest < 0.4, "{method}: it hangs: {lowest}");
        for frame in &frames[from..] {
            // frames are stored in single precision: 1e-7 of a metre on a piece of 6 cm
            for name in ["strain/warp", "strain/weft"] {
                let strain = frame.figures.get(name).unwrap();
                assert!(strain <= 100.0 * tolerance + 1e-3, "{method}: {name} {strain} % at {tolerance}");
            }
        }
    }
}

/// A cloth that falls on a ball, half a metre wide.
fn over_a_ball(method: &str) -> (layers::Inextensible, Target) {
    let mut clip = sheet(14, 1.0);
    let shrink = |p: &[f32; 3]| [0.5 * p[0] - 0.25, 0.16, 0.5 * p[2] - 0.25];
    let mesh = &mut clip.meshes[0];
    mesh.rest_points = mesh.rest_points.iter().map(shrink).collect();
    let settings = layer(&format!(
        "method = \"{method}\"\n[contact]\nobstacles = [{{ shape = \"sphere\", radius = 0.15 }}]"
    ));
    (settings, target(Clip::still(clip.meshes.swap_remove(0), 24.0, 12)))
}

#[test]
fn with_limits_neither_threads_stretch_nor_surfaces_cross() {
    let (settings, input) = over_a_ball("limit");
    let mut simulation = settings.prepare(&input).unwrap();
    for frame in 0..12 {
        let result = simulation.frame(frame).unwrap();
        for name in ["strain/warp", "strain/weft"] {
            let strain = result.figures.get(name).unwrap();
            assert!(strain <= 1.0 + 1e-3, "frame {frame}: {name} {strain} %");
        }
        let inside =
            result.frame.points[0].iter().filter(|p| p.iter().map(|c| c * c).sum::<f32>() < 0.145 * 0.145);
        assert_eq!(inside.count(), 0, "frame {frame}");
        if frame == 11 {
            let lowest = result.frame.points[0].iter().map(|p| p[1]).fold(f32::INFINITY, f32::min);
            assert!(lowest < 0.05, "its rim hangs: {lowest}");
        }
    }
}

#[test]
fn a_bake_resumes_to_the_bit() {
    let (limited, over) = over_a_ball("limit");
    let projected = layer("method = \"projection\"\nfollow = { group = \"pins\" }");
    for (settings, input) in [(projected, target(sheet(10, 0.9))), (limited, over)] {
        resumes(&settings, &input);
    }
}

fn resumes(settings: &layers::Inextensible, input: &Target) {
    let mut whole = settings.prepare(input).unwrap();
    let frames: Vec<_> = (0..12).map(|frame| whole.frame(frame).unwrap().frame).collect();
    let mut first = settings.prepare(input).unwrap();
    (0..6).for_each(|frame| drop(first.frame(frame).unwrap()));
    let mut second: Box<dyn Simulation> = settings.prepare(input).unwrap();
    second.restore(&first.checkpoint()).unwrap();
    for frame in 6..12 {
        assert_eq!(second.frame(frame).unwrap().frame, frames[frame], "frame {frame}");
    }
    assert!(second.restore(&[0; 7]).is_err());
}

#[test]
fn one_thread_equals_many_by_bits() {
    let settings = layer("follow = { group = \"pins\" }");
    let baked = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bake(&settings, sheet(12, 0.9)).pop().unwrap().frame)
    };
    assert_eq!(baked(1), baked(2));
}

#[test]
fn quads_come_out_as_quads_and_triangles_are_paired() {
    let settings = layer("follow = { group = \"pins\" }");
    let quads = sheet(4, 1.0);
    let mut triangles = quads.clone();
    let cut: Vec<[u32; 3]> = quads.meshes[0].faces.triangles().collect();
    triangles.meshes[0].faces = Faces::from_triangles(&cut);
    let notes = |clip: &Clip| settings.prepare(&target(clip.clone())).unwrap().notes();
    let threads = |clip: &Clip| notes(clip).into_iter().find(|(name, _)| name == "threads").unwrap().1;
    assert_eq!(threads(&quads), "20 pieces of warp, 20 of weft");
    assert_eq!(threads(&triangles), threads(&quads));
    assert!(notes(&triangles).iter().any(|(_, text)| text.contains("16 of them made of two triangles")));
    // through a file and back
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.obj");
    let still = Clip::still(quads.meshes[0].clone(), 24.0, 1);
    clip::write(&path, &still, &clip::WriteOptions::default()).unwrap();
    let read = clip::read(&path, &clip::ReadOptions::default()).unwrap();
    assert!(read.meshes[0].faces.iter().all(|face| face.len() == 4));
    let of_file = layer("").prepare(&target(read)).unwrap().notes();
    assert!(of_file.iter().any(|(_, text)| *text == threads(&quads)), "{of_file:?}");
}

#[test]
fn what_cannot_be_held_is_said_before_or_when_it_happens() {
    // pins further apart than the row between them is long
    let settings = layer("follow = { group = \"pins\" }");
    let mut simulation = settings.prepare(&target(sheet(8, 1.1))).unwrap();
    simulation.frame(0).unwrap();
    let failure = simulation.frame(1).unwrap_err();
    assert!(failure.to_string().contains("points 0 and 8 are held 1.100 m apart"), "{failure}");
    assert!(failure.to_string().contains("1.000 m long"), "{failure}");
    assert!(failure.remedy().is_some());

    // `check` says so of the first frame, also where it is little, and both methods fail with the same sentence
    for (method, apart) in [("projection", 1.017), ("limit", 1.017)] {
        let settings = layer(&format!("follow = {{ group = \"pins\" }}\nmethod = \"{method}\""));
        let input = target(sheet(8, apart));
        let diagnostics = settings.check(&input);
        assert!(diagnostics.iter().any(|d| d.path() == "follow" && d.message().contains("1.017 m apart")));
        let mut simulation = settings.prepare(&input).unwrap();
        simulation.frame(0).unwrap();
        let failure = simulation.frame(1).map(|frame| frame.figures).unwrap_err();
        let words = failure.to_string();
        assert!(words.contains("points 0 and 8 are held 1.017 m apart"), "{method}: {words}");
        assert!(settings.check(&target(sheet(8, 1.005))).is_empty(), "within `max_strain`");
    }

    // no quads at all
    let points: Vec<[f32; 3]> = vec![[0.0; 3], [0.82, 0.0, 0.57], [1.3, 0.0, 1.2]];
    let lone = Clip::still(Mesh::new("lone", points, &[[0, 1, 2]]), 24.0, 2);
    let diagnostics = layer("").check(&target(lone));
    assert!(diagnostics.iter().any(|r| r.message().contains("no edge of the mesh runs along warp or weft")));

    // a name that marks no edge, a strain beyond reason
    let input = target(sheet(4, 1.0));
    let diagnostics = layer("warp = { group = \"pins\" }").check(&input);
    assert!(diagnostics.iter().any(|r| r.remedy().is_some_and(|help| help.contains("both ends"))));
    assert!(layer("warp = { group = \"row\" }").check(&input).is_empty());
    assert!(layer("max_strain = 0.0").check(&input).iter().any(|r| r.path() == "max_strain"));
}

#[test]
fn rows_named_as_warp_are_warp() {
    let clip = sheet(6, 1.0);
    let named = layer("warp = { group = \"row\" }").prepare(&target(clip)).unwrap();
    let notes = named.notes();
    assert!(notes.iter().any(|(_, text)| text == "42 pieces of warp, 42 of weft"), "{notes:?}");
}
