//! The `motion` layer on a stroll drawn in a hurry.

use clip::Clip;
use glam::Vec3;
use layers::{Band, Footing, MeshFooting, Motion, Pushing, Slope};
use samples::Walker;
use shot::{Layer, Target};

fn stroll() -> Clip {
    Walker { strides: 1, cell: 0.06, ..Walker::default() }.clip()
}

fn baked(settings: &Motion, clip: &Clip) -> (Vec<clip::Frame>, Vec<(String, String)>) {
    let target = Target { clip: clip.clone(), mesh: 0, files: clip::Files::default() };
    assert!(settings.check(&target).is_empty());
    let mut simulation = settings.prepare(&target).unwrap();
    let frames = (0..clip.frame_count()).map(|index| simulation.frame(index).unwrap().frame).collect();
    (frames, simulation.notes())
}

/// Where a joint is in every frame.
fn track(clip: &Clip, frames: &[clip::Frame], joint: &str) -> Vec<Vec3> {
    let skeleton = clip.skeleton.as_ref().unwrap();
    let index = skeleton.joint_index(joint).unwrap();
    frames.iter().map(|frame| skeleton.world_from_joints(&frame.pose)[index].w_axis.truncate()).collect()
}

/// How far the joint travels in the frames in which it should stand.
fn travel(track: &[Vec3], frames: std::ops::Range<usize>) -> f32 {
    let here = &track[frames];
    here.iter().map(|x| x.distance(here[0])).fold(0.0, f32::max)
}

#[test]
fn a_rough_stroll_stands_on_its_feet() {
    let clip = stroll();
    let (frames, notes) = baked(&Motion::default(), &clip);
    let before: Vec<clip::Frame> = (0..clip.frame_count()).map(|index| clip.frame(index).unwrap()).collect();
    // the left foot lies flat from 0 to 0.42 of 1.1 s
    let flat = 2..20;
    let (drawn, solved) = (track(&clip, &before, "LeftToeBase"), track(&clip, &frames, "LeftToeBase"));
    assert!(travel(&drawn, flat.clone()) > 0.02, "{}", travel(&drawn, flat));
    assert!(travel(&solved, flat.clone()) < 1e-3, "{} {notes:?}", travel(&solved, flat));
    let hips = (track(&clip, &before, "Hips"), track(&clip, &frames, "Hips"));
    let farthest = hips.0.iter().zip(&hips.1).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(farthest < 0.04, "the hips are {farthest} m from where they were drawn");
    // the mesh goes along
    let moved = frames[10].points[0].iter().zip(&before[10].points[0]);
    assert!(moved.into_iter().any(|(a, b)| a != b));
    let again = baked(&Motion::default(), &clip).0;
    assert_eq!(frames, again);
}

/// A prior of the stroll in a folder, and the files there.
fn with_prior() -> (tempfile::TempDir, clip::Files) {
    let calm = Walker { strides: 2, cell: 0.06, slide: 0.0, tremble: 0.0, frame_rate_hz: 30.0 }.clip();
    let learning = motion::Learning { inducing: 40, ..Default::default() };
    let prior = motion::Prior::learn(&[layers::take(&calm).unwrap()], &learning).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("walk.prior"), prior.to_bytes()).unwrap();
    let files = clip::Files::in_folder(folder.path());
    (folder, files)
}

#[test]
fn a_prior_swings_the_arms_that_cost_least_when_they_hang() {
    let (folder, files) = with_prior();
    let clip = Walker { strides: 1, cell: 0.06, slide: 0.0, tremble: 0.0, frame_rate_hz: 30.0 }.clip();
    let target = Target { clip: clip.clone(), mesh: 0, files };
    let bake = |settings: Motion| {
        assert!(settings.check(&target).is_empty(), "{:?}", settings.check(&target));
        let mut simulation = settings.prepare(&target).unwrap();
        let frames: Vec<_> = (0..clip.frame_count()).map(|k| simulation.frame(k).unwrap().frame).collect();
        (frames, simulation.notes())
    };
    // the first frame and the last are a stride apart and alike: nothing between them says that arms swing
    let settings = Motion { keys: vec![0.0], ..Motion::default() };
    let guided = Motion { prior: Some("walk.prior".into()), ..settings.clone() };
    let (plain, _) = bake(settings);
    let (ours, notes) = bake(guided.clone());
    let (faint, _) = bake(Motion { prior_weight: 0.01, ..guided.clone() });
    let truth: Vec<clip::Frame> = (0..clip.frame_count()).map(|k| clip.frame(k).unwrap()).collect();
    let off = |frames: &[clip::Frame]| {
        let [a, b] = [frames, &truth].map(|frames| track(&clip, frames, "LeftHand"));
        a.iter().zip(&b).map(|(a, b)| a.distance(*b)).sum::<f32>() / a.len() as f32
    };
    assert!(off(&ours) < 0.5 * off(&plain), "{} {} {}", off(&ours), off(&faint), off(&plain));
    assert!(ours != faint, "the weight does not count");
    assert!(notes.iter().any(|note| note.0 == "unlike what was learnt"), "{notes:?}");

    let said = |settings: Motion| settings.check(&target)[0].message().to_owned();
    assert!(said(Motion { keys: Vec::new(), ..guided.clone() }).contains("between `keys`"));
    let bytes = std::fs::read(folder.path().join("walk.prior")).unwrap();
    std::fs::write(folder.path().join("half.prior"), &bytes[..999]).unwrap();
    assert!(said(Motion { prior: Some("half.prior".into()), ..guided.clone() }).contains("cut short"));
    assert!(said(Motion { prior: Some("none.prior".into()), ..guided.clone() }).contains("none.prior"));
    // of another skeleton
    let mut stranger = clip.clone();
    stranger.skeleton.as_mut().unwrap().joints[1].name = "Tail".into();
    let other = Target { clip: stranger, ..target.clone() };
    let refused = guided.prepare(&other).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("another skeleton"), "{refused}");
}

#[test]
fn a_push_moves_the_chest_and_not_the_feet() {
    let clip = Walker { strides: 1, cell: 0.06, slide: 0.0, tremble: 0.0, ..Walker::default() }.clip();
    let pushes = vec![Pushing { joint: "Chest".into(), from: 0.2, to: 0.35, force: [120.0, 0.0, 0.0] }];
    let calm = baked(&Motion { follow: Some(0.1), ..Motion::default() }, &clip).0;
    let pushed = baked(&Motion { follow: Some(0.1), pushes, ..Motion::default() }, &clip).0;
    let [a, b] = [&calm, &pushed].map(|frames| track(&clip, frames, "Chest"));
    let aside = a.iter().zip(&b).map(|(a, b)| b.x - a.x).fold(f32::MIN, f32::max);
    assert!(aside > 0.005, "the chest gives way by {aside} m");
    assert!(travel(&track(&clip, &pushed, "LeftToeBase"), 2..20) < 1e-3);
}

/// What a note says.
fn note<'a>(notes: &'a [(String, String)], what: &str) -> &'a str {
    &notes.iter().find(|note| note.0 == what).unwrap().1
}

#[test]
fn key_poses_are_kept_and_the_motion_between_is_made() {
    let clip = stroll();
    let (frames, notes) = baked(&Motion { keys: vec![0.0, 1.1], ..Motion::default() }, &clip);
    assert!(note(&notes, "key poses").starts_with("4; moved by"), "{notes:?}");
    let before: Vec<clip::Frame> = (0..clip.frame_count()).map(|index| clip.frame(index).unwrap()).collect();
    let [drawn, made] = [&before, &frames].map(|frames| track(&clip, frames, "LeftHand"));
    let last = drawn.len() - 1;
    // a key is where it was drawn but for what puts its feet on the ground; between, it is free
    assert!(drawn[last].distance(made[last]) < 0.05);
    let farthest = drawn.iter().zip(&made).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(farthest > 0.03, "{farthest}");
    assert!(travel(&track(&clip, &frames, "LeftToeBase"), 2..20) < 1e-3);
}

#[test]
fn a_ramp_is_climbed_and_a_band_holds_back() {
    let clip = samples::hill();
    let ground = Some(Footing::Mesh(MeshFooting { mesh: "ramp".into() }));
    let (frames, notes) = baked(&Motion { follow: Some(0.1), ground, ..Motion::default() }, &clip);
    assert_eq!(note(&notes, "ground"), "a mesh");
    let hips = track(&clip, &frames, "Hips");
    let (first, last) = (hips[0], hips[hips.len() - 1]);
    let rise = (last.y - first.y) / (last.z - first.z);
    assert!((rise - 10_f32.to_radians().tan()).abs() < 0.02, "{rise}");
    // the same as a plane, in words
    let ground = Some(Footing::Slope(Slope { slope: 10.0, toward: Some([0.0, 0.0, 1.0]) }));
    let (again, notes) = baked(&Motion { follow: Some(0.1), ground, ..Motion::default() }, &clip);
    assert_eq!(note(&notes, "ground"), "10.0° steep");
    let farthest = hips.iter().zip(track(&clip, &again, "Hips")).map(|(a, b)| a.distance(b));
    assert!(farthest.fold(0.0, f32::max) < 0.03);
    // the ramp itself stays
    assert_eq!(frames[9].points[1], clip.frame(0).unwrap().points[1]);
}

#[test]
fn a_band_holds_back() {
    let clip = stroll();
    let band = Band { joint: "Hips".into(), to: [0.0, 0.9, -1.0], stiffness: 200.0, rest: 0.2 };
    let [free, held] = [Vec::new(), vec![band]]
        .map(|springs| baked(&Motion { follow: Some(0.1), springs, ..Motion::default() }, &clip).0);
    let [a, b] = [&free, &held].map(|frames| track(&clip, frames, "Hips"));
    let farthest = a.iter().zip(&b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(farthest > 0.01, "{farthest}");
}

#[test]
fn mistakes_get_a_remark() {
    let target = Target { clip: stroll(), mesh: 0, files: clip::Files::default() };
    let pushes = vec![Pushing { joint: "Cheast".into(), from: 0.0, to: 1.0, force: [0.0; 3] }];
    let found = Motion { pushes, ..Motion::default() }.check(&target);
    assert!(found[0].path() == "pushes.0.joint" && found[0].message().contains("Cheast"), "{found:?}");
    let wrong = Motion {
        keys: vec![0.5, 7.0],
        ground: Some(Footing::Mesh(MeshFooting { mesh: "floor".into() })),
        springs: vec![Band { joint: "Hip".into(), to: [0.0; 3], stiffness: 1.0, rest: 0.0 }],
        ..Motion::default()
    };
    let found = wrong.check(&target);
    let paths: Vec<&str> = found.iter().map(|diagnostic| diagnostic.path()).collect();
    assert_eq!(paths, ["springs.0.joint", "ground.mesh", "keys.1"]);
    let ground = |height: f64| Motion { ground: Some(Footing::Height(height)), ..Motion::default() };
    assert!(ground(0.1).check(&target).is_empty());
    let found = ground(-31_000.0).check(&target);
    assert!(
        found[0].path() == "ground" && found[0].message().contains("below where the feet go"),
        "{found:?}"
    );
    let bare = Target { clip: samples::sheet(), mesh: 0, files: clip::Files::default() };
    assert!(Motion::default().check(&bare)[0].message().contains("no skeleton"));
}
