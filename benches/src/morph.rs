//! Dynamic morph targets: a shoulder of about 4,900 unknowns in 19 coordinates, stepped and skinned, the pose changing at every step.

mod face;

use std::process::ExitCode;
use std::time::Instant;

use character::{
    FullMorph, Joint, Morph, MorphKit, MorphLaw, MorphPlayer, MorphSettings, Plasticity, Skin, Target,
};
use clip::Clip;
use geometry::Vec3;
use glam::{DAffine3, DMat4, Mat4, Quat};
use serde_json::{Map, json};
use solid::Material;

const H: f64 = 1.0 / 240.0;
const MODES: usize = 19;
const STEPS: usize = 2000;
const MODE_COUNTS: [usize; 6] = [5, 10, 19, 30, 40, 60];
/// Steps between poses where reduced and full are compared, and steps of a second.
const STRIDE: usize = 4;
const SECOND: usize = 240;

/// Runs the benchmark and prints its table and its JSON line.
pub(crate) fn run(_: &[String]) -> ExitCode {
    match measured() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measured() -> Result<(), character::Error> {
    let shot = Shot::new();
    let start = Instant::now();
    let mut linear_6 = shot.morph(MorphLaw::Linear, 6)?;
    let kit_6 = linear_6.kit(MODES, H)?;
    let setup_linear = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let stvk_6 = shot.morph(MorphLaw::Stvk, 6)?.kit(MODES, H)?;
    let setup = start.elapsed().as_secs_f64();
    let report = kit_6.report();
    println!(
        "morph: {} tets, {} unknowns in {} coordinates, {} points of skin; ready in {setup_linear:.1} s linear, {setup:.1} s StVK",
        report.tets,
        report.unknowns,
        report.modes,
        kit_6.point_count()
    );
    let stvk_one = shot.morph(MorphLaw::Stvk, 1)?.kit(MODES, H)?;
    let stvk_9 = shot.morph(MorphLaw::Stvk, 9)?.kit(MODES, H)?;
    let linear_9 = shot.morph(MorphLaw::Linear, 9)?.kit(MODES, H)?;
    let mut us = Map::new();
    println!("{:>10} {:>10} {:>10}", "", "step, µs", "frame, µs");
    for (name, kit) in [
        ("one", &stvk_one),
        ("linear_6", &kit_6),
        ("linear_9", &linear_9),
        ("stvk_6", &stvk_6),
        ("stvk_9", &stvk_9),
    ] {
        let (step, frame) = shot.times(kit)?;
        println!("{name:>10} {step:>10.1} {frame:>10.1}");
        us.insert(name.into(), json!(frame));
    }
    let skin_us = shot.skinning(&stvk_6)?;
    println!(
        "skinning alone: {skin_us:.1} µs, {:.1} µs for 5,000 points",
        5e3 * skin_us / kit_6.point_count() as f64
    );
    let face = face::times()?;
    println!(
        "face: {} points, {} coordinates: {:.3} ms a frame, {:.3} ms with {} contacts; a ball is {:.1} mm inside without, {:.1} mm with",
        face.points,
        face.modes,
        face.free_ms,
        face.contact_ms,
        face.contacts,
        1e3 * face.deepest[0],
        1e3 * face.deepest[1]
    );
    let mut kits = Vec::new();
    for modes in MODE_COUNTS {
        kits.push(linear_6.kit(modes, H)?);
    }
    kits.push(linear_6.plain_kit(MODES, H)?);
    let (full, errors) = shot.differences(&linear_6, &kits)?;
    println!("{:>10} {full:>10.1}", "full_6");
    us.insert("full_6".into(), json!(full));
    let mut curve = Map::new();
    for (modes, error) in MODE_COUNTS.iter().zip(&errors) {
        println!("{modes:>3} coordinates: {:.2} % from full", 100.0 * error);
        curve.insert(modes.to_string(), json!(error));
    }
    println!("{MODES:>3} plain modes: {:.2} %", 100.0 * errors[MODE_COUNTS.len()]);
    let result = json!({
        "bench": "morph", "us_per_step": us, "skin_us": skin_us, "setup_seconds": setup, "reduction_error": curve,
        "contact_ms": face.contact_ms,
    });
    println!("{result}");
    Ok(())
}

/// The shoulder, its skin and nine targets.
struct Shot {
    clip: Clip,
    joints: Vec<Joint>,
    skin: Skin,
    targets: Vec<Target>,
    poses: Vec<Vec<Mat4>>,
}

impl Shot {
    fn new() -> Self {
        let clip = samples::shoulder();
        let (skeleton, mesh) = (clip.skeleton.clone().unwrap_or_default(), &clip.meshes[0]);
        let mut rest_from_joint = vec![DAffine3::IDENTITY; skeleton.joints.len()];
        let mut influences = Vec::new();
        if let Some(skin) = &mesh.skin {
            for &(joint, bind) in &skin.binds {
                let bind = DMat4::from_cols_array(&bind.to_cols_array().map(f64::from));
                rest_from_joint[joint] = DAffine3::from_mat4(bind).inverse();
            }
            let row = |row: &Vec<(u32, f32)>| {
                row.iter().map(|&(k, w)| (skin.binds[k as usize].0 as u32, f64::from(w))).collect()
            };
            influences = skin.influences.iter().map(row).collect();
        }
        let joints = skeleton.joints.iter().zip(&rest_from_joint);
        let joints = joints.map(|(j, place)| Joint { parent: j.parent, rest_from_joint: *place }).collect();
        let skin = Skin { points: mesh.rest(), triangles: mesh.point_triangles(), influences };
        let turned = |turns: &[(&str, [f32; 3])]| {
            let mut pose = skeleton.rest_pose();
            for (name, [x, y, z]) in turns {
                if let Some(joint) = skeleton.joints.iter().position(|joint| joint.name == *name) {
                    let angles = [x, y, z].map(|degrees| degrees.to_radians());
                    pose[joint].rotation *= Quat::from_rotation_z(angles[2])
                        * Quat::from_rotation_y(angles[1])
                        * Quat::from_rotation_x(angles[0]);
                }
            }
            skeleton.world_from_joints(&pose)
        };
        let (up, fore) = ("upper_arm", "forearm");
        let all: [(&str, &str, f64, Vec<Mat4>, f64); 9] = [
            ("rest", "", 0.0, turned(&[]), 8e3),
            ("raised", "raised", 1.0, turned(&[(up, [0.0, 0.0, 63.0])]), 5e4),
            ("ahead", "ahead", 1.0, turned(&[(up, [0.0, -53.5, 0.0])]), 2e4),
            ("back", "back", 1.0, turned(&[(up, [0.0, 24.0, -22.0])]), 8e3),
            ("folded", "folded", 1.0, turned(&[(fore, [0.0, -114.5, 0.0])]), 2e4),
            ("hugging", "hugging", 1.0, turned(&[(up, [0.0, -53.5, 0.0]), (fore, [0.0, -114.5, 0.0])]), 3e4),
            ("half raised", "raised", 0.6, turned(&[(up, [0.0, 0.0, 30.0])]), 2e4),
            ("half folded", "folded", 0.5, turned(&[(fore, [0.0, -60.0, 0.0])]), 1e4),
            ("half ahead", "ahead", 0.5, turned(&[(up, [0.0, -30.0, 10.0])]), 1e4),
        ];
        let target = |(name, shape, amount, pose, young): (&str, &str, f64, Vec<Mat4>, f64)| {
            let mut sculpt = mesh.rest();
            if let Some(shape) = mesh.morph_target(shape) {
                let moves = shape.offsets.iter().map(|o| amount * Vec3::from(o.map(f64::from)));
                sculpt.iter_mut().zip(moves).for_each(|(p, by)| *p += by);
            }
            Target {
                name: name.into(),
                sculpt,
                world_from_joints: pose,
                channels: Vec::new(),
                material: Material { young, poisson: 0.45, density: 1000.0, damping: 0.12 },
                regions: Vec::new(),
                plasticity: Plasticity::default(),
            }
        };
        let targets = all.into_iter().map(target).collect();
        // ten poses between two frames: it changes at every step
        let mut poses = Vec::new();
        for index in 0..clip.frame_count().saturating_sub(1) {
            let (Ok(a), Ok(b)) = (clip.frame(index), clip.frame(index + 1)) else { continue };
            for k in 0..10 {
                let s = k as f32 / 10.0;
                let mix = |(a, b): (&clip::Transform, &clip::Transform)| clip::Transform {
                    translation: a.translation.lerp(b.translation, s),
                    rotation: a.rotation.slerp(b.rotation, s),
                    scale: a.scale.lerp(b.scale, s),
                };
                poses.push(
                    skeleton.world_from_joints(&a.pose.iter().zip(&b.pose).map(mix).collect::<Vec<_>>()),
                );
            }
        }
        Self { joints, skin, targets, poses, clip }
    }

    fn morph(&self, law: MorphLaw, targets: usize) -> Result<Morph, character::Error> {
        let settings = MorphSettings { tets: 8200, law, ..MorphSettings::default() };
        let mut morph = Morph::new(&self.joints, self.skin.clone(), settings)?;
        for target in &self.targets[..targets] {
            morph.add(target)?;
        }
        Ok(morph)
    }

    /// Medians over all steps: a step alone, and with its skin.
    fn times(&self, kit: &MorphKit) -> Result<(f64, f64), character::Error> {
        let mut player = MorphPlayer::new(kit.clone());
        let mut shown = vec![[0.0; 3]; kit.point_count()];
        let (mut steps, mut frames) = (Vec::new(), Vec::new());
        for pose in self.poses.iter().cycle().take(STEPS) {
            let start = Instant::now();
            player.step(pose, &[], H)?;
            steps.push(1e6 * start.elapsed().as_secs_f64());
            player.surface(&mut shown);
            frames.push(1e6 * start.elapsed().as_secs_f64());
        }
        Ok((median(steps), median(frames)))
    }

    fn skinning(&self, kit: &MorphKit) -> Result<f64, character::Error> {
        let mut player = MorphPlayer::new(kit.clone());
        player.step(&self.poses[0], &[], 0.0)?;
        let mut shown = vec![[0.0; 3]; kit.point_count()];
        let time = |_| {
            let start = Instant::now();
            player.surface(&mut shown);
            1e6 * start.elapsed().as_secs_f64()
        };
        Ok(median((0..STEPS).map(time).collect()))
    }

    /// Microseconds of a step of the full model; of every kit the RMS distance from it over RMS displacement from the skin. Over the
    /// first second, in which the arm is raised and begins to swing ahead.
    fn differences(&self, morph: &Morph, kits: &[MorphKit]) -> Result<(f64, Vec<f64>), character::Error> {
        let mut full = FullMorph::new(morph, H)?;
        let mut players: Vec<MorphPlayer> = kits.iter().map(|kit| MorphPlayer::new(kit.clone())).collect();
        let Some(skin) = &self.clip.meshes[0].skin else { return Ok((f64::NAN, Vec::new())) };
        let mut shown = vec![[0.0; 3]; self.skin.points.len()];
        let (mut apart, mut moved, mut times) = (vec![0.0; kits.len()], 0.0, Vec::new());
        for (k, pose) in self.poses.iter().step_by(STRIDE).take(SECOND / STRIDE).enumerate() {
            let seconds = if k == 0 { 0.0 } else { STRIDE as f64 * H };
            let start = Instant::now();
            full.step(pose, &[], seconds)?;
            times.push(1e6 * start.elapsed().as_secs_f64() / STRIDE as f64);
            let exact = full.surface();
            let plain = skin.deform(&self.clip.meshes[0].rest_points, pose);
            let square =
                |exact: &Vec3, other: &[f32; 3]| exact.distance_squared(Vec3::from(other.map(f64::from)));
            moved += exact.iter().zip(&plain).map(|(exact, plain)| square(exact, plain)).sum::<f64>();
            for (player, apart) in players.iter_mut().zip(&mut apart) {
                player.step(pose, &[], seconds)?;
                player.surface(&mut shown);
                *apart += exact.iter().zip(&shown).map(|(exact, shown)| square(exact, shown)).sum::<f64>();
            }
        }
        Ok((median(times), apart.iter().map(|apart| (apart / moved).sqrt()).collect()))
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
