//! Skeletons as characters: figures of capsules, and one skeleton's motion on another.

use std::collections::HashMap;

use geometry::{Quat, Vec3};
use motion::{Bone, Build, Examination, Rig, Solid, Take, figure, retarget};
use samples::Walker;

/// A clip's skeleton at rest, and its take.
fn read(clip: &clip::Clip) -> (Rig, Take) {
    let skeleton = clip.skeleton.as_ref().unwrap();
    let wide = |v: glam::Vec3| Vec3::new(v.x.into(), v.y.into(), v.z.into());
    let turn = |q: glam::Quat| Quat::from_xyzw(q.x.into(), q.y.into(), q.z.into(), q.w.into()).normalize();
    let bones: Vec<Bone> = (skeleton.joints.iter())
        .map(|joint| Bone {
            name: joint.name.clone(),
            parent: joint.parent,
            offset: wide(joint.rest.translation),
            tip: None,
        })
        .collect();
    let (mut roots, mut rotations) = (Vec::new(), Vec::new());
    for index in 0..clip.frame_count() {
        let pose = clip.frame(index).unwrap().pose;
        roots.push(wide(pose[0].translation));
        rotations.push(pose.iter().map(|transform| turn(transform.rotation)).collect());
    }
    let turns = skeleton.joints.iter().map(|joint| turn(joint.rest.rotation)).collect();
    let rig = Rig { root: bones[0].offset, turns, bones: bones.clone() };
    (rig, Take { bones, frame_rate_hz: clip.frame_rate_hz, roots, rotations })
}

fn stroll() -> (Rig, Take) {
    read(&Walker { strides: 2, slide: 0.0, tremble: 0.0, cell: 0.06, frame_rate_hz: 30.0 }.clip())
}

/// Places of all joints.
fn places(bones: &[Bone], root: Vec3, rotations: &[Quat]) -> Vec<Vec3> {
    let (mut turns, mut places): (Vec<Quat>, Vec<Vec3>) = (Vec::new(), Vec::new());
    for (bone, &turn) in bones.iter().zip(rotations) {
        let above = bone.parent.map(|parent| (turns[parent], places[parent]));
        places.push(above.map_or(root, |(turn, place)| place + turn * bone.offset));
        turns.push(above.map_or(turn, |(above, _)| above * turn));
    }
    places
}

/// Signed volume, and whether every edge has one face on either side.
fn closed(points: &[Vec3], quads: &[[u32; 4]]) -> (f64, bool) {
    let mut edges: HashMap<(u32, u32), i32> = HashMap::new();
    let mut volume = 0.0;
    for &[a, b, c, d] in quads {
        for (from, to) in [(a, b), (b, c), (c, d), (d, a)] {
            *edges.entry((from.min(to), from.max(to))).or_default() += if from < to { 1 } else { 1 << 16 };
        }
        let at = |k: u32| points[k as usize];
        volume += at(a).dot(at(b).cross(at(c))) / 6.0 + at(a).dot(at(c).cross(at(d))) / 6.0;
    }
    (volume, edges.values().all(|&count| count == 1 + (1 << 16)))
}

#[test]
fn a_figure_is_closed_and_as_heavy_as_a_person() {
    let (rig, _) = read(&samples::backflip());
    let solids = figure(&rig.bones, &rig.turns);
    let mut volume = 0.0;
    for solid in &solids {
        let (points, quads) = solid.surface(0.05);
        let (own, whole) = closed(&points, &quads);
        assert!(whole && own > 1e-5, "{}: {own} m³", rig.bones[solid.joint].name);
        volume += own;
    }
    // parts overlap at joints, so that there is a little more of it than of a person: 22.5 kg/m² at 1.73 m are 67 kg
    let mass = 1050.0 * volume;
    assert!((60.0..110.0).contains(&mass), "{mass:.1} kg");
    // each side mirrors the other
    let world = places(&rig.bones, rig.root, &rig.turns);
    let find = |name: &str| rig.bones.iter().position(|bone| bone.name == name).unwrap();
    for part in ["Arm", "ForeArm", "Hand", "UpLeg", "Leg", "Foot", "ToeBase"] {
        let of = |side: &str| -> (Solid, Vec3) {
            let joint = find(&format!("{side}{part}"));
            let solid = *solids.iter().find(|solid| solid.joint == joint).unwrap();
            (solid, world[joint] + solid.center)
        };
        let ((left, a), (right, b)) = (of("Left"), of("Right"));
        assert!(a.distance(Vec3::new(-b.x, b.y, b.z)) < 1e-6, "{part}: {a} {b}");
        assert!(left.half.distance(right.half) < 1e-6, "{part}");
    }
    // soles are the lowest of all, and level
    let sole = |name: &str| {
        let joint = find(name);
        let solid = solids.iter().find(|solid| solid.joint == joint).unwrap();
        solid.surface(0.05).0.iter().map(|p| p.y + world[joint].y).fold(f64::INFINITY, f64::min)
    };
    assert!((sole("LeftFoot") - sole("RightFoot")).abs() < 1e-6 && (-0.03..0.03).contains(&sole("LeftFoot")));
}

#[test]
fn a_figure_in_another_unit_is_the_same_figure() {
    let (rig, _) = read(&samples::backflip());
    let mut large = rig.clone();
    large.bones.iter_mut().for_each(|bone| bone.offset *= 17.7);
    let (one, other) = (figure(&rig.bones, &rig.turns), figure(&large.bones, &large.turns));
    assert_eq!(one.len(), other.len());
    for (a, b) in one.iter().zip(&other) {
        assert!((a.half * 17.7).distance(b.half) < 1e-9 && (a.center * 17.7).distance(b.center) < 1e-9);
    }
}

/// Whatever has no names still gets sticks.
#[test]
fn a_skeleton_without_names_gets_a_capsule_for_every_bone() {
    let (mut rig, _) = read(&samples::backflip());
    rig.bones.iter_mut().for_each(|bone| bone.name = "bone".into());
    let solids = figure(&rig.bones, &rig.turns);
    assert!(solids.len() >= rig.bones.len() - 6, "{} of {}", solids.len(), rig.bones.len());
    assert!(figure(&rig.bones[..1], &rig.turns[..1]).is_empty());
}

#[test]
fn a_motion_on_its_own_skeleton_is_itself() {
    let (rig, take) = stroll();
    let (again, followed) = retarget(&rig, &take, &rig).unwrap();
    assert!(followed >= rig.bones.len() - 2, "{followed} of {}", rig.bones.len());
    // but for feet, which are put where they stand: the stroll was drawn with toes a little off the floor
    let mut sum = 0.0;
    for frame in 0..take.frame_count() {
        let [a, b] = [&take, &again].map(|t| places(&t.bones, t.roots[frame], &t.rotations[frame]));
        let farthest = a.iter().zip(&b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
        assert!(farthest < 0.05, "frame {frame}: {farthest}");
        sum += a.iter().zip(&b).map(|(a, b)| a.distance(*b)).sum::<f64>() / a.len() as f64;
    }
    let mean = sum / take.frame_count() as f64;
    assert!(mean < 0.008, "{mean}");
}

/// Other names, other proportions, another rest pose, another heading: the limbs point the same way, the way is longer as the legs are, and feet
/// that stand stand still.
#[test]
fn a_walk_goes_onto_a_stranger() {
    let (rig, take) = stroll();
    let mut stranger = rig.clone();
    let quarter = Quat::from_rotation_y(std::f64::consts::FRAC_PI_2);
    for (bone, turn) in stranger.bones.iter_mut().zip(&mut stranger.turns) {
        let long = if bone.name.contains("Leg") || bone.name.contains("Foot") { 1.25 } else { 1.1 };
        bone.offset *= long;
        let side = if bone.name.starts_with("Left") { "_l" } else { "_r" };
        bone.name = match bone.name.trim_start_matches("Left").trim_start_matches("Right") {
            "UpLeg" => format!("thigh{side}"),
            "Leg" => format!("calf{side}"),
            "Foot" => format!("foot{side}"),
            "ToeBase" => format!("ball{side}"),
            "Arm" => format!("upperarm{side}"),
            "ForeArm" => format!("lowerarm{side}"),
            "Hand" => format!("hand{side}"),
            "Hips" => "pelvis".into(),
            "Spine" => "spine_01".into(),
            "Chest" => "spine_02".into(),
            other => other.to_ascii_lowercase(),
        };
        // arms that are held out at rest: a T-pose
        if bone.name == "upperarm_l" || bone.name == "upperarm_r" {
            let way = if bone.name.ends_with('l') { 1.4 } else { -1.4 };
            *turn = Quat::from_rotation_z(way);
        }
    }
    stranger.turns[0] = quarter * stranger.turns[0];
    let (moved, followed) = retarget(&rig, &take, &stranger).unwrap();
    assert!(followed > 14, "{followed}");
    let index = |bones: &[Bone], name: &str| bones.iter().position(|bone| bone.name == name).unwrap();
    for frame in (0..take.frame_count()).step_by(5) {
        let [a, b] = [&take, &moved].map(|t| places(&t.bones, t.roots[frame], &t.rotations[frame]));
        for (theirs, ours) in [
            (["LeftArm", "LeftForeArm"], ["upperarm_l", "lowerarm_l"]),
            (["RightForeArm", "RightHand"], ["lowerarm_r", "hand_r"]),
        ] {
            let way = |p: &[Vec3], bones: &[Bone], [from, to]: [&str; 2]| {
                (p[index(bones, to)] - p[index(bones, from)]).normalize()
            };
            let (a, b) = (way(&a, &take.bones, theirs), way(&b, &moved.bones, ours));
            assert!(a.angle_between(b) < 0.12, "frame {frame}: {a} {b}");
        }
    }
    let last = take.frame_count() - 1;
    let way = |take: &Take| take.roots[last].distance(take.roots[0]);
    let ratio = way(&moved) / way(&take);
    assert!((1.2..1.3).contains(&ratio), "{ratio}");
    let found = Examination::of(&moved, &Build::default(), Vec3::new(0.0, -9.81, 0.0), 0.8).unwrap();
    // soles are found anew here, a little lower than those that were kept above the floor
    assert!(found.skate.0 < 1e-3 && found.penetration.0 < 0.02, "{:?} {:?}", found.skate, found.penetration);
}

#[test]
fn a_stranger_without_feet_gets_a_sentence() {
    let (rig, take) = stroll();
    let mut stranger = rig.clone();
    stranger.bones.iter_mut().for_each(|bone| bone.name = format!("bone{}", bone.name.len()));
    let error = retarget(&rig, &take, &stranger).unwrap_err().to_string();
    assert!(error.contains("no feet"), "{error}");
}

/// A person who stands has C_d A of about 0.84 m² across the wind: half of ϱ C_d A v² is 51 N at 10 m/s.
#[test]
fn wind_pushes_a_person_as_hard_as_a_person() {
    let (rig, take) = read(&samples::backflip());
    let still = Take { roots: vec![take.roots[0]; 8], rotations: vec![take.rotations[0].clone(); 8], ..take };
    let solids = figure(&rig.bones, &rig.turns);
    let whole = |air: Vec3| -> Vec3 {
        let pushes = motion::drag(&still, &solids, |_, _| air);
        pushes.iter().map(|push| push.forces[4]).sum()
    };
    let ahead = whole(Vec3::Z * -10.0);
    assert!((30.0..62.0).contains(&-ahead.z) && ahead.x.abs() < 1e-9 && ahead.y.abs() < 1e-9, "{ahead}");
    // four times at twice the speed, less on its narrow side, nothing when it goes with the air
    assert!((whole(Vec3::Z * -20.0).z / ahead.z - 4.0).abs() < 1e-9);
    assert!(whole(Vec3::X * 10.0).x < -ahead.z);
    let mut carried = still.clone();
    for (frame, root) in carried.roots.iter_mut().enumerate() {
        *root += Vec3::Z * (-10.0 * frame as f64 / still.frame_rate_hz);
    }
    let pushes = motion::drag(&carried, &solids, |_, _| Vec3::Z * -10.0);
    assert!(pushes.iter().all(|push| push.forces[4].length() < 1e-9));
}
