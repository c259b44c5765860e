//! A person of 163 bones with a muscular and a heavy shape, walking and in an extreme pose. The converter is for this test alone.

#![allow(clippy::print_stdout)] // what is skipped is said aloud

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clip::{Clip, Frame, Joint, MemoryFrames, Mesh, MorphTarget, ReadOptions, Skeleton, Skin, Transform};
use glam::{Mat4, Quat, Vec3};
use serde_json::Value;
use shot::{BakeOptions, Context};

/// Files are in decimetres.
const UNIT: f32 = 0.1;
/// The skin's points come before those of helpers.
const POINTS: usize = 13_380;
/// Frames on the way from the walk into the extreme pose.
const INTO: usize = 12;

/// The folder; `None`, said aloud, where it is not there.
fn folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/assets");
    let assets = std::env::var("FOLLOWTHROUGH_ASSETS").unwrap_or_else(|_| beside.into());
    let folder = Path::new(&assets).join("meshes/rigged/makehuman");
    if !folder.exists() {
        println!("skipped: there is no {}", folder.display());
    }
    folder.exists().then_some(folder)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Points and the faces of group `body`.
fn base(folder: &Path) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let text = std::fs::read_to_string(folder.join("base.obj")).unwrap();
    let (mut points, mut triangles, mut is_body) = (Vec::new(), Vec::new(), false);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let [x, y, z] = std::array::from_fn(|_| words.next().unwrap().parse::<f32>().unwrap());
                points.push(UNIT * Vec3::new(x, y, z));
            }
            Some("g") => is_body = words.next() == Some("body"),
            Some("f") if is_body => {
                let corner = |word: &str| word.split('/').next().unwrap().parse::<u32>().unwrap() - 1;
                let corners: Vec<u32> = words.map(corner).collect();
                triangles.extend((2..corners.len()).map(|k| [corners[0], corners[k - 1], corners[k]]));
            }
            _ => {}
        }
    }
    (points, triangles)
}

/// Bones, parents first, whose axes are the world's at rest.
fn skeleton(folder: &Path, points: &[Vec3]) -> (Skeleton, Vec<Vec3>) {
    let rig = json(&folder.join("default.mhskel"));
    let bones = rig["bones"].as_object().unwrap();
    let head = |name: &str| {
        let of = rig["joints"][bones[name]["head"].as_str().unwrap()].as_array().unwrap();
        let sum: Vec3 = of.iter().map(|v| points[v.as_u64().unwrap() as usize]).sum();
        sum / of.len() as f32
    };
    let (mut skeleton, mut places, mut number) = (Skeleton::default(), Vec::new(), BTreeMap::new());
    while number.len() < bones.len() {
        for (name, bone) in bones.iter().filter(|(name, _)| !number.contains_key(*name)).collect::<Vec<_>>() {
            let parent = match bone["parent"].as_str() {
                Some(parent) if !number.contains_key(parent) => continue,
                parent => parent.map(|parent| number[parent]),
            };
            let place = head(name);
            let from = parent.map_or(Vec3::ZERO, |parent: usize| places[parent]);
            let rest = Transform { translation: place - from, ..Transform::IDENTITY };
            number.insert(name.clone(), places.len());
            skeleton.joints.push(Joint { name: name.clone(), parent, rest });
            places.push(place);
        }
    }
    (skeleton, places)
}

fn skin(folder: &Path, skeleton: &Skeleton, places: &[Vec3]) -> Skin {
    let weights = json(&folder.join("default_weights.mhw"));
    let mut influences = vec![Vec::new(); POINTS];
    for (name, pairs) in weights["weights"].as_object().unwrap() {
        let joint = skeleton.joints.iter().position(|joint| joint.name == *name).unwrap();
        for pair in pairs.as_array().unwrap() {
            let (point, weight) = (pair[0].as_u64().unwrap() as usize, pair[1].as_f64().unwrap());
            if let Some(row) = influences.get_mut(point) {
                row.push((joint as u32, weight as f32));
            }
        }
    }
    for row in &mut influences {
        let sum: f32 = row.iter().map(|share: &(u32, f32)| share.1).sum();
        row.iter_mut().for_each(|share| share.1 /= sum);
        if row.is_empty() {
            row.push((0, 1.0));
        }
    }
    let bind = |(joint, place): (usize, &Vec3)| (joint, Mat4::from_translation(-*place));
    Skin { binds: places.iter().enumerate().map(bind).collect(), influences }
}

fn target(folder: &Path, file: &str, name: &str) -> MorphTarget {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let mut offsets = vec![[0.0; 3]; POINTS];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let numbers: Vec<f32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        if let &[point, x, y, z] = &numbers[..]
            && let Some(offset) = offsets.get_mut(point as usize)
        {
            *offset = [x, y, z].map(|x| UNIT * x);
        }
    }
    MorphTarget { name: name.into(), offsets, weight: 0.0 }
}

/// From z up, facing −y, to y up, facing z.
fn upright(turn: Quat) -> Quat {
    let stand = Quat::from_rotation_x(-std::f32::consts::FRAC_PI_2);
    stand * turn * stand.inverse()
}

/// Bones of the walk and of the rig, and whether they are an arm's, which hangs in one and is stretched out in the other.
const WALKING: [(&str, &str, bool); 15] = [
    ("Spine1", "spine05", false),
    ("Spine2", "spine03", false),
    ("Spine3", "spine01", false),
    ("Neck", "neck01", false),
    ("Head", "head", false),
    ("UpArm_L", "upperarm01.L", true),
    ("LoArm_L", "lowerarm01.L", true),
    ("UpArm_R", "upperarm01.R", true),
    ("LoArm_R", "lowerarm01.R", true),
    ("UpLeg_L", "upperleg01.L", false),
    ("LoLeg_L", "lowerleg01.L", false),
    ("Foot_L", "foot.L", false),
    ("UpLeg_R", "upperleg01.R", false),
    ("LoLeg_R", "lowerleg01.R", false),
    ("Foot_R", "foot.R", false),
];

/// The person walks, and goes into the extreme pose.
fn person() -> Clip {
    let folder = folder().unwrap();
    let (mut points, triangles) = base(&folder);
    let (skeleton, places) = skeleton(&folder, &points);
    points.truncate(POINTS);
    let mut mesh = Mesh::new("body", points.iter().map(|p| p.to_array()).collect(), &triangles);
    mesh.skin = Some(skin(&folder, &skeleton, &places));
    mesh.morph_targets = vec![
        target(&folder, "universal-male-young-maxmuscle-averageweight.target", "muscular"),
        target(&folder, "universal-female-young-averagemuscle-maxweight.target", "heavy"),
    ];
    let joint = |skeleton: &Skeleton, name: &str| {
        skeleton.joints.iter().position(|joint| joint.name == name).unwrap_or_else(|| panic!("no {name}"))
    };
    let read = |file: &str| clip::read(folder.join(file), &ReadOptions::default()).unwrap();
    let (walk, extreme) = (read("walk1.bvh"), read("benchmark.bvh"));
    let mut poses = Vec::new();
    for index in 0..walk.frame_count() {
        let (own, from) = (walk.skeleton.as_ref().unwrap(), walk.frame(index).unwrap().pose);
        let mut pose = skeleton.rest_pose();
        for (theirs, ours, is_arm) in WALKING {
            let (ours, turn) = (joint(&skeleton, ours), upright(from[joint(own, theirs)].rotation));
            let side = if theirs.ends_with("_L") { "L" } else { "R" };
            let place = |name: &str| places[joint(&skeleton, &format!("{name}.{side}"))];
            let hangs = (place("wrist") - place("upperarm01")).normalize();
            let out = Quat::from_rotation_arc(hangs, Vec3::X * hangs.x.signum());
            pose[ours].rotation = match theirs.starts_with("UpArm") {
                _ if !is_arm => turn,
                true => turn * out,
                false => out.inverse() * turn * out,
            };
        }
        poses.push(pose);
    }
    let own = extreme.skeleton.as_ref().unwrap();
    let bent = extreme.frame(0).unwrap().pose;
    let mut last = skeleton.rest_pose();
    for (name, place) in skeleton.joints.iter().map(|joint| &joint.name).zip(&mut last) {
        place.rotation = upright(bent[joint(own, name)].rotation);
    }
    let first = poses[poses.len() - 1].clone();
    for k in 1..=INTO {
        let s = k as f32 / INTO as f32;
        let eased = s * s * (3.0 - 2.0 * s);
        let mix = |(a, b): (&Transform, &Transform)| Transform {
            rotation: a.rotation.slerp(b.rotation, eased),
            ..*a
        };
        poses.push(first.iter().zip(&last).map(mix).collect());
    }
    let skin = mesh.skin.clone().unwrap();
    let frame = |pose: Vec<Transform>| {
        let points = skin.deform(&mesh.rest_points, &skeleton.world_from_joints(&pose));
        Frame { points: vec![points], pose }
    };
    let frames = Arc::new(MemoryFrames::new(poses.into_iter().map(frame).collect()));
    Clip::new("person", 24.0, vec![mesh], Some(skeleton.clone()), frames)
}

#[test]
fn a_person_of_two_sculpts_walks_and_bends_as_far_as_a_rig_goes() {
    if folder().is_none() {
        return;
    }
    let reader = reader_with_person();
    let last = 14 + INTO - 1;
    let text = format!(
        "[input]\nsample = \"person\"\n[[layer]]\nkind = \"morph\"\ntets = 4000\nmodes = 12\nsteps_per_second = 96.0\n\
         [[layer.targets]]\nname = \"average\"\nyoung = 2e4\n\
         [[layer.targets]]\nname = \"muscular\"\nshape = \"muscular\"\nframe = 7\nyoung = 6e4\n\
         [[layer.targets]]\nname = \"heavy\"\nshape = \"heavy\"\nframe = {last}\nyoung = 1e4\n\
         [output]\nfiles = []\nreport = false\n"
    );
    let shot = reader.parse("shot", &text, "".as_ref()).unwrap();
    assert!(shot.check().is_empty(), "{:?}", shot.check());
    let out = tempfile::tempdir().unwrap();
    let options = BakeOptions { out: Some(out.path().into()), ..BakeOptions::default() };
    let bake = shot.bake(&options, &Context::SILENT).unwrap();
    let layer = &bake.layers[0];
    println!("{:?}\n{:?}", layer.notes, layer.warnings);
    let figure = |index: usize, name: &str| layer.figures[index].get(name).unwrap();
    println!("{:?}", (0..=last).map(|k| figure(k, "from the sculpts/rms")).collect::<Vec<_>>());
    assert!((figure(7, "targets/muscular") - 1.0).abs() < 1e-6);
    assert!((figure(last, "targets/heavy") - 1.0).abs() < 1e-6);
    let input = shot.open_input().unwrap();
    for index in 0..=last {
        let (a, b) = (input.frame(index).unwrap(), bake.clip.frame(index).unwrap());
        let far = a.points[0].iter().zip(&b.points[0]);
        let far = far.map(|(a, b)| Vec3::from(*a).distance(Vec3::from(*b))).fold(0.0, f32::max);
        assert!(far < 0.3, "frame {index}: {far} m from the animation");
        assert!(figure(index, "from the sculpts/rms") < 0.02);
    }
}

fn reader_with_person() -> shot::Reader {
    shot::Reader::new(layers::registry().with_film::<film::FilmLook>().with_sample("person", person))
}
