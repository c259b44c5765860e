//! Skeletons are animations too: they are cut, played at other speeds and rates, smoothed and blended, and clothes hang on their joints.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{Clip, Frame, MemoryFrames, Transform, WriteOptions};
use common::reader;
use geometry::Vec3;
use shot::{Bake, BakeOptions, Context, Shot};

fn parse(folder: &Path, text: &str) -> Shot {
    reader().parse("take", text, folder).unwrap_or_else(|error| panic!("{error:?}"))
}

fn bake(folder: &Path, text: &str) -> Bake {
    let shot = parse(folder, text);
    assert!(shot.check().is_empty(), "{:?}", shot.check());
    let out = Some(folder.join("out"));
    shot.bake(&BakeOptions { out, ..BakeOptions::default() }, &Context::SILENT).unwrap()
}

/// A take of somebody else's; `None`, said aloud, where there is none.
fn asset(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/assets").join(name);
    if !path.exists() {
        println!("skipped: there is no {}", path.display());
    }
    path.exists().then_some(path)
}

/// The walk of a sample, its joints alone, in a format.
fn walk(folder: &Path, name: &str) -> Clip {
    let sample = (samples::by_name("walk_normal").unwrap().make)();
    let pose = |index: usize| Frame { points: Vec::new(), pose: sample.frame(index).unwrap().pose };
    let frames = Arc::new(MemoryFrames::new((0..sample.frame_count()).map(pose).collect()));
    let clip = Clip::new("walk", sample.frame_rate_hz, Vec::new(), sample.skeleton.clone(), frames);
    clip::write(folder.join(name), &clip, &WriteOptions::default()).unwrap();
    clip
}

fn apart(a: &Transform, b: &Transform) -> f32 {
    a.rotation.angle_between(b.rotation) + a.translation.distance(b.translation)
}

/// Where the joints of two clips are furthest from each other in a frame of each, in metres.
fn furthest(a: &Clip, at: usize, b: &Clip, other: usize) -> f32 {
    let world = |clip: &Clip, index: usize| {
        clip.skeleton.as_ref().unwrap().world_from_joints(&clip.frame(index).unwrap().pose)
    };
    let (a, b) = (world(a, at), world(b, other));
    assert_eq!(a.len(), b.len());
    a.iter().zip(&b).map(|(a, b)| a.w_axis.distance(b.w_axis)).fold(0.0, f32::max)
}

/// Cut, slowed down, sped up and sampled at other rates: what coincides is the same, the length is as it should be. A BVH, an Acclaim pair, a GLB and a
/// sample alike.
#[test]
fn takes_are_cut_retimed_and_resampled() {
    let folder = tempfile::tempdir().unwrap();
    walk(folder.path(), "walk.bvh");
    walk(folder.path(), "walk.glb");
    let mut inputs: Vec<String> =
        ["file = \"walk.bvh\"", "file = \"walk.glb\"", "sample = \"walk_normal\""].map(String::from).to_vec();
    let others = [
        "mocap/bandai_bvh/dataset-1_walk_normal_001.bvh",
        "mocap/cmu_asf_amc/backflip.amc",
        "mocap/cmu_bvh/16_15.bvh",
    ];
    inputs.extend(others.iter().filter_map(|name| asset(name)).map(|path| format!("file = {path:?}")));
    for input in &inputs {
        let open = |more: &str| {
            let shot = parse(folder.path(), &format!("[input]\n{input}\n{more}\n"));
            assert!(shot.check().is_empty(), "{input} {more}: {:?}", shot.check());
            shot.open_input().unwrap()
        };
        let whole = open("");
        let count = whole.frame_count();
        assert!(count > 8, "{input}");
        let cut = open("frames = \"3-6\"");
        assert_eq!((cut.frame_count(), cut.frame(1).unwrap()), (4, whole.frame(4).unwrap()), "{input}");

        let slow = open("speed = 0.5");
        assert_eq!((slow.frame_rate_hz, slow.frame_count()), (whole.frame_rate_hz, 2 * count - 1), "{input}");
        assert_eq!(slow.frame(6).unwrap(), whole.frame(3).unwrap(), "{input}");
        let (before, after) = (whole.frame(3).unwrap().pose, whole.frame(4).unwrap().pose);
        for (joint, between) in slow.frame(7).unwrap().pose.iter().enumerate() {
            let (a, b) = (&before[joint], &after[joint]);
            let (turn, off) = (a.rotation.angle_between(b.rotation), apart(between, a) - apart(between, b));
            // in the middle, and on the way: single precision tells angles of 1e-3 apart
            assert!(off.abs() < 2e-3 + 0.01 * turn, "{input}: joint {joint}: {off}");
        }
        let fast = open("speed = 2.0");
        assert_eq!(fast.frame_count(), (count - 1) / 2 + 1, "{input}");
        assert!(furthest(&fast, 2, &whole, 4) < 1e-5, "{input}");

        // the part counts the frames that come of it
        let both = open("speed = 0.5\nframes = \"6-8\"");
        assert_eq!((both.frame_count(), both.frame(0).unwrap()), (3, whole.frame(3).unwrap()), "{input}");

        let rate = 0.5 * whole.frame_rate_hz;
        // an Acclaim take has no times: there the rate is its speed
        if input.contains(".amc") {
            assert_eq!(open(&format!("frame_rate = {rate:?}")).frame_count(), count);
            continue;
        }
        let other = open(&format!("frame_rate = {rate:?}"));
        assert!(
            (other.duration() - whole.duration()).abs() < 1.0 / rate + 1e-6,
            "{input}: {}",
            other.duration()
        );
        assert!(furthest(&other, 2, &whole, 4) < 2e-3, "{input}: {}", furthest(&other, 2, &whole, 4));
    }
}

/// The jitter is taken out, and comes back where the blend says: exactly at one, not at all elsewhere, half way at a half.
#[test]
fn joints_are_blended_with_what_the_layer_below_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = walk(folder.path(), "walk.bvh")
        .skeleton
        .unwrap()
        .joints
        .into_iter()
        .map(|joint| joint.name)
        .collect();
    let blended = |more: &str| {
        let text = format!(
            "[input]\nfile = \"walk.bvh\"\nframes = \"0-9\"\n[[layer]]\nkind = \"smooth\"\nwindow = 0.1\n{more}\n[output]\nfiles = []\nreport = false\n"
        );
        bake(folder.path(), &text).clip
    };
    let (input, smooth) = (blended("strength = 0.0"), blended(""));
    let some = format!("{:?}", [&names[1], &names[3]]);
    let blend = |amount: f64| {
        blended(&format!("[[layer]]\nkind = \"blend\"\namount = {amount:?}\nfollow = {{ joint = {some} }}"))
    };
    let (whole, half) = (blend(1.0), blend(0.5));
    let mut moved = 0.0_f32;
    for index in 0..10 {
        let [input, smooth, whole, half] =
            [&input, &smooth, &whole, &half].map(|clip| clip.frame(index).unwrap().pose);
        for joint in 0..names.len() {
            let (a, b) = (&input[joint], &smooth[joint]);
            if joint == 1 || joint == 3 {
                assert_eq!(&whole[joint], a, "frame {index}: joint {joint} is as it was animated");
                let off = apart(&half[joint], a) - apart(&half[joint], b);
                assert!(off.abs() < 2e-3, "frame {index}: joint {joint}: {off}");
                moved = moved.max(apart(a, b));
            } else {
                assert_eq!(
                    (&whole[joint], &half[joint]),
                    (b, b),
                    "frame {index}: joint {joint} stays smooth"
                );
            }
        }
    }
    assert!(moved > 1e-3, "there was something to take back: {moved}");
    // and at half its strength a layer on joints does the same for all of them
    let weak = blended("strength = 0.5");
    let (a, b) = (weak.frame(4).unwrap().pose, smooth.frame(4).unwrap().pose);
    assert!(a.iter().zip(&b).any(|(a, b)| apart(a, b) > 1e-4));

    // mistakes are told where they are
    let wrong = |follow: &str| {
        let text = format!(
            "[input]\nfile = \"walk.bvh\"\n[[layer]]\nkind = \"smooth\"\n[[layer]]\nkind = \"blend\"\nfollow = {follow}\n"
        );
        parse(folder.path(), &text).check().iter().map(|found| format!("{found:?}")).collect::<String>()
    };
    assert!(wrong("{ joint = \"nobody\" }").contains("no joint `nobody`"));
    assert!(wrong("{ height = { from = 0.0, to = 1.0 } }").contains("chosen by `joint`"));
}

/// A sheet of 11 × 9 points behind a back, its upper edge on both shoulders, in metres about the middle of that edge.
fn cape(folder: &Path, width: f32) {
    let mut text = String::new();
    for row in 0..9 {
        for column in 0..11 {
            let (x, y) = (width * (column as f32 / 10.0 - 0.5), -0.08 * row as f32);
            text += &format!("v {x} {y} {}\n", -0.12 - 0.01 * row as f32);
        }
    }
    for row in 0..8 {
        for column in 0..10 {
            let a = 11 * row + column + 1;
            text += &format!("f {} {} {} {}\n", a, a + 11, a + 12, a + 1);
        }
    }
    std::fs::write(folder.join("cape.obj"), text).unwrap();
}

/// A cape on the shoulders of a take without a mesh: its corners stay where they are beside the joints, the rest swings and hangs together.
fn hangs_on_shoulders(input: &str, [left, right]: [&str; 2], middle: &str) {
    let folder = tempfile::tempdir().unwrap();
    if !input.contains('/') {
        walk(folder.path(), "walk.bvh");
    }
    let scene = parse(folder.path(), &format!("[input]\n{input}\n")).open_input().unwrap();
    let skeleton = scene.skeleton.clone().unwrap();
    let at =
        |name: &str| skeleton.joint_index(name).unwrap_or_else(|| panic!("{name}: {:?}", skeleton.joints));
    let rest = skeleton.world_from_joints(&scene.frame(0).unwrap().pose);
    let width = rest[at(left)].w_axis.distance(rest[at(right)].w_axis);
    assert!(width > 0.1, "shoulders are apart: {width}");
    cape(folder.path(), width);
    let text = format!(
        "[input]\n{input}\nframes = \"0-11\"\n[[input.add]]\nfile = \"cape.obj\"\nname = \"cape\"\nat = {middle:?}\nparent = [{left:?}, {right:?}]\nframe = 0\n\
         [[layer]]\nkind = \"cloth\"\nmesh = \"cape\"\nsubsteps = 2\nfollow = {{ joint = [{left:?}, {right:?}], within = 0.25, at_least = 1.0 }}\n\
         [output]\nfiles = []\nreport = false\n"
    );
    let baked = bake(folder.path(), &text);
    let mesh = baked.clip.mesh_index("cape").unwrap();
    let (mut held, mut swung) = (0, 0.0_f64);
    for index in 0..baked.clip.frame_count() {
        let (animated, simulated) = (baked.input.frame(index).unwrap(), baked.clip.frame(index).unwrap());
        let world = skeleton.world_from_joints(&animated.pose);
        let shoulder = |name: &str| world[at(name)].w_axis.truncate();
        for (point, (a, s)) in animated.points[mesh].iter().zip(&simulated.points[mesh]).enumerate() {
            let (a, s) = (Vec3::from(a.map(f64::from)), Vec3::from(s.map(f64::from)));
            assert!(s.is_finite());
            if a == s {
                held += 1;
            }
            swung = swung.max(a.distance(s));
            let near = [left, right].map(|name| shoulder(name).as_dvec3().distance(s));
            assert!(near[0].min(near[1]) < 1.4, "frame {index}: point {point} has left");
        }
    }
    let frames = baked.clip.frame_count();
    assert!(held >= 2 * frames && held < 50 * frames, "{held} points held in {frames} frames");
    assert!(swung > 0.01, "it swings: {swung}");
    // the skeleton is still there, and is what it was
    assert_eq!(baked.clip.frame(7).unwrap().pose, baked.input.frame(7).unwrap().pose);
    // shoulders come nearer to each other and part again, and what follows them with them: that is told, and nothing else
    let told: Vec<&String> = baked.layers[0].warnings.iter().map(|(_, text)| text).collect();
    assert!(told.iter().all(|text| text.contains("points that follow and are too far apart")), "{told:?}");
}

#[test]
fn a_cape_hangs_on_the_joints_of_a_procedural_skeleton() {
    hangs_on_shoulders("file = \"walk.bvh\"", ["LeftArm", "RightArm"], "Neck");
}

#[test]
fn a_cape_hangs_on_the_joints_of_a_captured_take() {
    let Some(take) = asset("mocap/bandai_bvh/dataset-1_walk_normal_001.bvh") else { return };
    hangs_on_shoulders(&format!("file = {take:?}\nunit = 0.01"), ["UpperArm_L", "UpperArm_R"], "Neck");
}

/// Without anything that carries it a cape would stay behind: that is said before the bake.
#[test]
fn a_cape_that_nothing_carries_is_told() {
    let folder = tempfile::tempdir().unwrap();
    walk(folder.path(), "walk.bvh");
    cape(folder.path(), 0.4);
    let joint = walk(folder.path(), "walk.bvh").skeleton.unwrap().joints[0].name.clone();
    let text = format!(
        "[input]\nfile = \"walk.bvh\"\n[[input.add]]\nfile = \"cape.obj\"\n[[layer]]\nkind = \"cloth\"\nmesh = \"cape\"\nfollow = {{ joint = {joint:?}, within = 5.0 }}\n"
    );
    let found = parse(folder.path(), &text).check();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].message().contains("hangs on no joint") && found[0].remedy().unwrap().contains("`parent`")
    );
}
