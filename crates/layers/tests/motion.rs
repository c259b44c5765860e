//! The `motion` layer on a stroll drawn in a hurry.

use clip::Clip;
use glam::Vec3;
use layers::{Band, Belt, Footing, Footsteps, MeshFooting, Motion, Physique, Pushing, Slope, Worn};
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

/// Feet of a walk against a band that pulls go where they push best; where they are given they stay.
#[test]
fn footsteps_are_given_or_solved_for() {
    let clip = stroll();
    let band = Band { joint: "Hips".into(), to: [0.0, 0.9, -1.0], stiffness: 200.0, rest: 0.2 };
    let made = |footsteps: Footsteps| {
        let springs = vec![band.clone()];
        baked(&Motion { follow: Some(0.3), springs, footsteps, ..Motion::default() }, &clip)
    };
    let [given, free] = [Footsteps::Given, Footsteps::Free].map(made);
    let [a, b] = [&given, &free].map(|made| track(&clip, &made.0, "LeftToeBase"));
    // it stands, and elsewhere
    assert!(travel(&b, 6..16) < 1e-3, "{}", travel(&b, 6..16));
    assert!(a[10].distance(b[10]) > 3e-3, "{} {}", a[10], b[10]);
    let residual: f64 = note(&free.1, "root residual").split(' ').next().unwrap().parse().unwrap();
    assert!(residual < 1e-6, "{:?}", free.1);
}

#[test]
fn variations_keep_the_keys_and_differ_between_them() {
    let clip = stroll();
    let made = |variation: u32| baked(&Motion { keys: vec![1.1], variation, ..Motion::default() }, &clip);
    let [(first, likeliest), (second, notes), (third, _)] = [0, 1, 2].map(made);
    assert_eq!(second, made(1).0);
    assert!(note(&notes, "variation").contains("of 48 steps"), "{notes:?}");
    assert!(likeliest.iter().all(|(what, _)| what != "variation"), "{likeliest:?}");
    let hand = [&first, &second, &third].map(|frames| track(&clip, frames, "LeftHand"));
    let last = hand[0].len() - 1;
    let farthest = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(hand[0][last].distance(hand[1][last]) < 2e-3);
    assert!(farthest(&hand[0], &hand[1]) > 0.03 && farthest(&hand[1], &hand[2]) > 0.03);
    assert!(travel(&track(&clip, &second, "LeftToeBase"), 2..20) < 1e-3);
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
    let ground = Some(Footing::Belt(Belt { belt: [0.0, 0.0, -1.0], height: None }));
    let wrong = Motion { ground, footsteps: Footsteps::Free, variation: 1, ..Motion::default() };
    let paths: Vec<String> = wrong.check(&target).iter().map(|found| found.path().to_string()).collect();
    assert_eq!(paths, ["footsteps", "variation"]);
    let bare = Target { clip: samples::sheet(), mesh: 0, files: clip::Files::default() };
    assert!(Motion::default().check(&bare)[0].message().contains("no skeleton"));
}

/// What a shot's input is.
fn opened(input: &str) -> Result<Clip, String> {
    let registry = layers::registry()
        .with_sample("backflip", samples::backflip)
        .with_sample("walker", samples::walker)
        .with_sample("dress", samples::dress)
        .with_sample("flag", samples::flag)
        .with_sample("person_walk", samples::person_walk);
    let text = format!("{input}\n[[layer]]\nkind = \"smooth\"\n");
    let shot = shot::Reader::new(registry).parse("shot.toml", &text, "".as_ref());
    shot.and_then(|shot| shot.open_input()).map_err(|error| format!("{error:?}"))
}

#[test]
fn a_bare_skeleton_gets_a_body_that_goes_with_it() {
    let clip = opened("[input]\nsample = \"backflip\"\nbody = \"capsules\"").unwrap();
    let body = &clip.meshes[clip.mesh_index("body").unwrap()];
    assert!(body.groups.iter().any(|group| group.name == "LeftForeArm"));
    let (skin, skeleton) = (body.skin.as_ref().unwrap(), clip.skeleton.as_ref().unwrap());
    for index in [0, 40, 55, clip.frame_count() - 1] {
        let frame = clip.checked_frame(index).unwrap();
        let worlds = skeleton.world_from_joints(&frame.pose);
        assert_eq!(frame.points[0], skin.deform(&body.rest_points, &worlds));
        // every part stays around its joints
        let far = frame.points[0].iter().map(|&p| {
            let near = worlds.iter().map(|w| w.w_axis.truncate().distance(Vec3::from(p)));
            near.fold(f32::INFINITY, f32::min)
        });
        assert!(far.fold(0.0, f32::max) < 0.28);
    }
    // physics moves it along
    let (frames, _) = baked(&Motion::default(), &clip);
    let worlds = skeleton.world_from_joints(&frames[50].pose);
    assert_eq!(frames[50].points[0], skin.deform(&body.rest_points, &worlds));
    let flag = opened("[input]\nsample = \"flag\"\nbody = \"capsules\"").unwrap_err();
    assert!(flag.contains("no skeleton"), "{flag}");
}

#[test]
fn a_character_takes_another_ones_motion() {
    let clip = opened("[input]\nsample = \"person_walk\"\nmotion = { sample = \"walker\" }").unwrap();
    let theirs = opened("[input]\nsample = \"walker\"").unwrap();
    assert_eq!((clip.frame_count(), clip.frame_rate_hz), (theirs.frame_count(), theirs.frame_rate_hz));
    let all = |clip: &Clip| -> Vec<clip::Frame> {
        (0..clip.frame_count()).map(|index| clip.checked_frame(index).unwrap()).collect()
    };
    let [ours, other] = [&clip, &theirs].map(|clip| track(clip, &all(clip), "LeftHand"));
    let farthest = ours.iter().zip(&other).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    // the same proportions, but for arms that are held out at rest
    assert!(farthest < 0.05, "{farthest}");
    let own = opened("[input]\nsample = \"person_walk\"").unwrap();
    assert!(track(&own, &all(&own), "LeftHand")[20].distance(ours[20]) > 0.1);
    let both = opened("[input]\nsample = \"person_walk\"\nmotion = {}").unwrap_err();
    assert!(both.contains("needs a `file` or a `sample`"), "{both}");
    let flag = opened("[input]\nsample = \"person_walk\"\nmotion = { sample = \"flag\" }").unwrap_err();
    assert!(flag.contains("no skeleton"), "{flag}");
}

#[test]
fn what_is_bound_goes_with_the_skeleton() {
    let input = |more: &str| {
        opened(&format!("[input]\nsample = \"person_walk\"\n[[input.add]]\nsample = \"dress\"\n{more}"))
    };
    let clip = input("bind = true").unwrap();
    let dress = clip.mesh_index("dress").unwrap();
    let last = clip.frame_count() - 1;
    let frame = clip.checked_frame(last).unwrap();
    let hips = track(&clip, std::slice::from_ref(&frame), "Hips")[0];
    let middle: Vec3 =
        frame.points[dress].iter().map(|&p| Vec3::from(p)).sum::<Vec3>() / frame.points[dress].len() as f32;
    assert!((middle.z - hips.z).abs() < 0.15, "{middle} {hips}");
    let still = input("").unwrap().checked_frame(last).unwrap();
    assert_ne!(still.points[dress], frame.points[dress]);
    let both = input("bind = true\nparent = \"Chest\"").unwrap_err();
    assert!(both.contains("no `parent`"), "{both}");
}

/// The stroll with something done to its poses, frame by frame.
fn spoilt(change: impl Fn(usize, &mut Vec<clip::Transform>)) -> Clip {
    let clip = Walker { strides: 1, cell: 0.06, slide: 0.0, tremble: 0.0, frame_rate_hz: 30.0 }.clip();
    let frames = (0..clip.frame_count()).map(|index| {
        let mut frame = clip.frame(index).unwrap();
        change(index, &mut frame.pose);
        frame
    });
    clip.with_frames(std::sync::Arc::new(clip::MemoryFrames::new(frames.collect())))
}

#[test]
fn what_cannot_be_a_take_gets_a_sentence() {
    let refused = |settings: Motion, clip: Clip| -> String {
        let target = Target { clip, mesh: 0, files: clip::Files::default() };
        let error = settings.prepare(&target).err().map(|error| error.to_string());
        error.unwrap_or_else(|| "it was taken".into())
    };
    let plain = Motion::default;
    for (clip, words) in [
        (spoilt(|index, pose| pose[4].scale *= if index > 5 { 1.1 } else { 1.0 }), "is scaled"),
        (spoilt(|index, pose| pose[6].translation *= 1.0 + 0.3 * index as f32), "keep their lengths"),
        (spoilt(|index, pose| pose[0].translation.y = if index == 9 { f32::NAN } else { 0.9 }), "frame 9"),
    ] {
        let said = refused(plain(), clip);
        assert!(said.contains(words), "{said}");
    }
    let three = shot::cropped(&stroll(), "0-2".parse().unwrap()).unwrap();
    let said = refused(plain(), three);
    assert!(said.contains("3 frames are too few"), "{said}");
    // bones of no length, and no names: nothing tells where feet are
    let mut nameless = stroll();
    nameless.skeleton.as_mut().unwrap().joints.iter_mut().for_each(|joint| joint.name = "joint".into());
    let said = refused(plain(), nameless);
    assert!(said.contains("no feet"), "{said}");
}

#[test]
fn what_is_odd_about_a_take_is_told_and_it_is_solved() {
    let target = |clip: Clip| Target { clip, mesh: 0, files: clip::Files::default() };
    // 170 m high: another unit
    let large = spoilt(|_, pose| pose.iter_mut().for_each(|joint| joint.translation *= 100.0));
    let mut simulation = Motion::default().prepare(&target(large.clone())).unwrap();
    assert!(note(&simulation.notes(), "unit").contains("1.75 m"), "{:?}", simulation.notes());
    let height = simulation.frame(10).unwrap().frame.pose[0].translation.y;
    assert!((60.0..120.0).contains(&height), "{height}");
    // arms out in the first frame, or the first three: a pose of calibration
    for held in [1, 3] {
        let posed = spoilt(|index, pose| {
            if index < held {
                pose.iter_mut().for_each(|joint| joint.rotation = glam::Quat::from_rotation_z(1.2));
            }
        });
        let mut simulation = Motion::default().prepare(&target(posed.clone())).unwrap();
        for index in 0..held {
            let first = simulation.frame(index).unwrap();
            assert_eq!(first.frame.pose, posed.frame(index).unwrap().pose);
            assert!(first.warnings[0].contains("calibration"), "{:?}", first.warnings);
        }
        assert!(simulation.frame(held).unwrap().warnings.is_empty());
    }
    // two characters: the one with more joints is moved, the other stays as it is
    let other = spoilt(|_, pose| pose[0].translation.x += 2.0);
    let pair = stroll_with(&other);
    let count = other.skeleton.as_ref().unwrap().joints.len();
    let (frames, _) = baked(&Motion::default(), &pair);
    let before = pair.frame(12).unwrap();
    assert_eq!(frames[12].pose[count..], before.pose[count..]);
    assert_ne!(frames[12].pose[..count], before.pose[..count]);
}

/// Two characters in one scene.
fn stroll_with(other: &Clip) -> Clip {
    let own = spoilt(|_, _| ());
    own.with_added(other, &clip::Placement { name: Some("other".into()), ..clip::Placement::default() })
}

/// Who walks leans against the wind, and the more the harder it blows.
#[test]
fn wind_is_leant_against() {
    let clip = spoilt(|_, _| ());
    let lean = |speed: f64| {
        let wind = shell::Wind { direction: [0.0, 0.0, -1.0], speed, gust: 0.0, ..shell::Wind::default() };
        let (frames, _) = baked(&Motion { follow: Some(0.2), wind, ..Motion::default() }, &clip);
        let [head, hips] = ["Head", "Hips"].map(|joint| track(&clip, &frames, joint));
        head.iter().zip(&hips).map(|(a, b)| (a.z - b.z) / (a.y - b.y)).sum::<f32>() / head.len() as f32
    };
    let (calm, windy, stormy) = (lean(0.0), lean(12.0), lean(20.0));
    assert!(windy > calm + 0.002 && stormy > windy + 0.002, "{calm} {windy} {stormy}");
}

/// The same stroll on the spot, over a belt that runs below: feet that stand go with it, and it is the same motion seen from the belt.
#[test]
fn on_a_treadmill_feet_go_with_the_belt() {
    let (speed, rate) = (0.8, 30.0);
    let plain = spoilt(|_, _| ());
    let running = spoilt(|index, pose| pose[0].translation.z -= speed * index as f32 / rate);
    let ground = Some(Footing::Belt(Belt { belt: [0.0, 0.0, -f64::from(speed)], height: None }));
    let settings = Motion { ground, ..Motion::default() };
    let (frames, notes) = baked(&settings, &running);
    let from_the_belt = |frames: &[clip::Frame], joint: &str| -> Vec<Vec3> {
        let along = |(index, x): (usize, Vec3)| x + Vec3::Z * (speed * index as f32 / rate);
        track(&running, frames, joint).into_iter().enumerate().map(along).collect()
    };
    let toes = from_the_belt(&frames, "LeftToeBase");
    assert!(travel(&toes, 2..12) < 1e-3, "{} {notes:?}", travel(&toes, 2..12));
    let still = track(&plain, &baked(&Motion::default(), &plain).0, "Hips");
    let hips = from_the_belt(&frames, "Hips");
    let farthest = still.iter().zip(&hips).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(farthest < 2e-3, "{farthest}");
    let target = Target { clip: running, mesh: 0, files: clip::Files::default() };
    let kept = Motion { keys: vec![0.5], ..settings }.check(&target);
    assert!(kept[0].message().contains("stands still"), "{kept:?}");
}

/// Under each foot that bears something stands a cone as wide as friction lets a force lean; a foot in the air has none.
#[test]
fn friction_cones_stand_under_the_feet_that_bear() {
    let clip = stroll();
    let physics = layers::Physics::of(&clip).unwrap();
    let shown = physics.with_forces(&clip);
    let mesh = shown.mesh_index("friction cones").unwrap();
    let (mut borne, mut free) = (0, 0);
    for index in 0..clip.frame_count() {
        let feet = physics.ground_forces(index);
        let points = &shown.checked_frame(index).unwrap().points[mesh];
        for (cone, foot) in points.chunks(points.len() / feet.len()).zip(&feet) {
            let lowest = cone.iter().map(|p| Vec3::from(*p)).min_by(|a, b| a.y.total_cmp(&b.y)).unwrap();
            match foot.place {
                Some(place) => {
                    borne += 1;
                    assert!(lowest.distance(place.as_vec3()) < 1e-5, "{lowest} {place}");
                    for p in cone {
                        let up = Vec3::from(*p) - lowest;
                        assert!(up.x.hypot(up.z) < 0.8 * up.y + 1e-5 && up.y < 0.15, "{up}");
                    }
                }
                None => {
                    free += 1;
                    assert!(cone.iter().all(|p| Vec3::from(*p) == lowest));
                }
            }
        }
    }
    assert!(borne > 20 && free > 5, "{borne} {free}");
}

/// A long walk is solved a window at a time: what is begun again in a later window, by its checkpoint alone, has the same frames to the bit.
#[test]
fn a_long_walk_goes_on_from_a_checkpoint() {
    let walker = Walker { strides: 14, cell: 0.06, slide: 0.02, tremble: 0.0, frame_rate_hz: 30.0 };
    let clip = walker.clip();
    let target = Target { clip: clip.clone(), mesh: 0, files: clip::Files::default() };
    let settings = Motion { body: Physique { mass: Some(72.0), ..Default::default() }, ..Motion::default() };
    let mut whole = settings.prepare(&target).unwrap();
    let last = clip.frame_count() - 1;
    let stopped = last - 20;
    for index in 0..=stopped {
        whole.frame(index).unwrap();
    }
    let state = whole.checkpoint();
    // it began a window after the first
    assert!(state.len() > 1000, "{}", state.len());
    let rest: Vec<clip::Frame> =
        (stopped + 1..=last).map(|index| whole.frame(index).unwrap().frame).collect();
    let mut resumed = settings.prepare(&target).unwrap();
    resumed.restore(&state).unwrap();
    for (index, frame) in (stopped + 1..=last).zip(&rest) {
        assert!(resumed.frame(index).unwrap().frame == *frame, "frame {index}");
    }
    assert_eq!(resumed.notes(), whole.notes());
    let residual: f64 = note(&whole.notes(), "root residual").split(' ').next().unwrap().parse().unwrap();
    assert!(residual < 1e-6, "{:?}", whole.notes());
    assert!(resumed.restore(&state[..state.len() - 3]).is_err());
    let mut other = state;
    other.truncate(24 * 8 + 16 + 8);
    assert!(resumed.restore(&other).is_err(), "a seam with one number of its many");
}

/// Poses drawn over a film, joints that are dragged, paths that they go along, and the paper's method: each from a shot's words.
#[test]
fn what_is_drawn_over_a_motion_is_kept() {
    let clip = spoilt(|_, _| ());
    let made = |settings: Motion| baked(&settings, &clip);
    let (plain, _) = made(Motion { keys: vec![0.0], ..Motion::default() });
    let there = track(&clip, &plain, "LeftHand")[16];
    let to = (there + Vec3::new(0.05, 0.15, 0.1)).as_dvec3().to_array();
    let drags = vec![layers::Dragging { joint: "LeftHand".into(), at: 16.0 / 30.0, to }];
    let (dragged, notes) = made(Motion { drags, ..Motion::default() });
    let hand = track(&clip, &dragged, "LeftHand")[16];
    assert!(hand.as_dvec3().distance(glam::DVec3::from_array(to)) < 0.02, "{hand} {to:?}");
    assert!(note(&notes, "key poses").starts_with('5'), "{notes:?}");
    let tracing = |seen_from: Option<[f64; 3]>| layers::Tracing {
        joint: "LeftHand".into(),
        from: 14.0 / 30.0,
        to: 18.0 / 30.0,
        places: vec![to],
        within: 0.003,
        seen_from,
    };
    let trajectories = vec![tracing(None)];
    let (traced, notes) = made(Motion { keys: vec![0.0], trajectories, ..Motion::default() });
    let hand = track(&clip, &traced, "LeftHand")[16];
    assert!(hand.as_dvec3().distance(glam::DVec3::from_array(to)) < 0.02, "{hand} {notes:?}");
    // a film along x sees nothing of how far aside the hand is
    let trajectories = vec![tracing(Some([50.0, to[1], to[2]]))];
    let (filmed, notes) = made(Motion { keys: vec![0.0], trajectories, ..Motion::default() });
    let hand = track(&clip, &filmed, "LeftHand")[16].as_dvec3();
    assert!((hand.y - to[1]).abs() < 0.02 && (hand.z - to[2]).abs() < 0.02, "{hand} {notes:?}");
    let (posed, notes) =
        made(Motion { keys: vec![0.5], seen_from: Some([5.0, 1.0, 0.5]), ..Motion::default() });
    assert!(note(&notes, "trajectories").contains("mm"), "{notes:?}");
    assert!(posed != plain);
    let (_, notes) =
        made(Motion { keys: vec![0.0], method: layers::MotionMethod::Paper, ..Motion::default() });
    assert!(note(&notes, "method").contains("given by nothing"), "{notes:?}");
    let target = Target { clip: clip.clone(), mesh: 0, files: clip::Files::default() };
    let wrong = Motion {
        drags: vec![layers::Dragging { joint: "Hnad".into(), at: 9.0, to }],
        trajectories: vec![layers::Tracing { from: 1.0, to: 0.5, ..tracing(None) }],
        method: layers::MotionMethod::PaperSubspace,
        footsteps: Footsteps::Free,
        ..Motion::default()
    };
    let paths: Vec<String> = wrong.check(&target).iter().map(|found| found.path().to_string()).collect();
    assert_eq!(paths, ["drags.0.joint", "footsteps", "method", "drags.0.at", "trajectories.0"]);
}

/// Pushes, springs, what is worn and a belt are measured by the figure: beyond some hundred of its weights, and on a belt that its feet know
/// nothing of, `check` refuses what had no solution; a light figure takes less than a heavy one.
#[test]
fn loads_are_measured_by_the_figure() {
    let target = |clip: Clip| Target { clip, mesh: 0, files: clip::Files::default() };
    let walks = target(stroll());
    let runs = target(spoilt(|index, pose| pose[0].translation.z -= 9.0 * index as f32 / 30.0));
    let with = |mass: f64| Motion {
        body: Physique { mass: Some(mass), ..Physique::default() },
        ..Motion::default()
    };
    let pushed = |force: f64, mass: f64| {
        let push = Pushing { joint: "Chest".into(), from: 0.1, to: 0.3, force: [0.0, 0.0, force] };
        Motion { pushes: vec![push], ..with(mass) }
    };
    let pulled = |stiffness: f64| {
        let band = Band { joint: "Chest".into(), to: [3.0, 1.0, 0.0], stiffness, rest: 0.0 };
        Motion { springs: vec![band], ..with(70.0) }
    };
    let worn = |mass: f64| {
        let add = vec![Worn { joint: "Chest".into(), mass }];
        Motion { body: Physique { mass: Some(70.0), add, ..Physique::default() }, ..Motion::default() }
    };
    let belt = |speed: f64| Motion {
        ground: Some(Footing::Belt(Belt { belt: [0.0, 0.0, speed], height: None })),
        ..with(70.0)
    };
    let paths = |found: Vec<shot::Diagnostic>| -> Vec<String> {
        assert!(found.iter().all(|found| found.remedy().is_some()), "{found:?}");
        found.iter().map(|found| found.path().to_owned()).collect()
    };
    let judged = |settings: Motion, on: &Target| (paths(settings.check(on)), paths(settings.unusual(on)));
    let (fine, none) = ((vec![], vec![]), Vec::<String>::new());
    assert_eq!(judged(pushed(5e3, 70.0), &walks), fine);
    assert_eq!(judged(pushed(-2e4, 70.0), &walks), (none.clone(), vec!["pushes[0].force".into()]));
    assert_eq!(judged(pushed(1e6, 70.0), &walks).0, ["pushes[0].force"]);
    assert_eq!(judged(pushed(5e3, 4.0), &walks).0, ["pushes[0].force"]);
    assert_eq!(judged(pulled(500.0), &walks), fine);
    assert_eq!(judged(pulled(5e3), &walks), (none.clone(), vec!["springs[0].stiffness".into()]));
    assert_eq!(judged(pulled(1e6), &walks).0, ["springs[0].stiffness"]);
    assert_eq!(judged(worn(30.0), &walks), fine);
    assert_eq!(judged(worn(300.0), &walks), (none.clone(), vec!["body.add[0].mass".into()]));
    assert_eq!(judged(worn(1e5), &walks), (none.clone(), vec!["body.add[0].mass".into()]));
    assert_eq!(judged(belt(-1.0), &walks), fine);
    assert_eq!(judged(belt(-20.0), &walks).0, ["ground.belt"]);
    // feet that go with a fast belt are no matter, and on a still one they are
    assert_eq!(judged(belt(-9.0), &runs), fine);
    assert_eq!(judged(belt(0.0), &runs).0, ["ground.belt"]);
}
