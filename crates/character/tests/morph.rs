//! Dynamic morph targets: sculpts met, frequencies right, reduced beside full, spun beside the world, pushed beside geometry alone.

#![allow(clippy::print_stdout)] // curves are worth reading

mod common;

use character::{
    Error, FullMorph, Kernel, Morph, MorphKit, MorphLaw, MorphPlayer, MorphSettings, Plasticity, Press,
    Target,
};
use common::{Bar, bar, bent, skinned_points};
use dynamics::{Body, Integrator, State, Stepper, Substeps};
use geometry::{Bounds, TetMesh, Vec3};
use glam::{DAffine3, DMat3, Mat4};
use solid::{Law, Material, Solid};

const H: f64 = 1.0 / 240.0;

fn fat() -> Material {
    Material { young: 2e4, poisson: 0.4, density: 1000.0, damping: 0.1 }
}

/// Thicker on the upper side before the elbow by a smooth bump: a biceps.
fn bulged(bar: &Bar, amount: f64) -> Vec<Vec3> {
    let bump = |p: &Vec3| {
        let along = ((p.x + 0.45) / 0.35).clamp(-1.0, 1.0);
        let s = (1.0 - along * along).powi(2) * (0.6 + 2.0 * p.y);
        *p + amount * s.max(0.0) * Vec3::new(0.0, p.y, p.z)
    };
    bar.skin.points.iter().map(bump).collect()
}

fn target(name: &str, sculpt: Vec<Vec3>, pose: &[Mat4], material: Material) -> Target {
    Target {
        name: name.into(),
        sculpt,
        world_from_joints: pose.to_vec(),
        channels: Vec::new(),
        material,
        regions: Vec::new(),
        plasticity: Plasticity::default(),
    }
}

/// A straight slack arm, a bent hard one, a twisted one.
fn targets(bar: &Bar) -> Vec<Target> {
    let hard = Material { young: 8e4, ..fat() };
    vec![
        target("slack", bar.skin.points.clone(), &bent(0.0, 0.0), fat()),
        target("flexed", bulged(bar, 0.4), &bent(1.4, 0.0), hard),
        target("twisted", bulged(bar, -0.25), &bent(0.3, 1.2), Material { density: 1100.0, ..fat() }),
    ]
}

fn morph(bar: &Bar, tets: usize, law: MorphLaw, targets: &[Target]) -> Morph {
    let settings = MorphSettings { tets, law, ..MorphSettings::default() };
    let mut morph = Morph::new(&bar.joints, bar.skin.clone(), settings).unwrap();
    targets.iter().for_each(|target| morph.add(target).unwrap());
    morph
}

fn surface(player: &MorphPlayer) -> Vec<Vec3> {
    let mut points = vec![[0.0; 3]; player.kit().point_count()];
    player.surface(&mut points);
    points.iter().map(|p| Vec3::from(p.map(f64::from))).collect()
}

fn rms(a: &[Vec3], b: &[Vec3]) -> f64 {
    (a.iter().zip(b).map(|(a, b)| a.distance_squared(*b)).sum::<f64>() / a.len() as f64).sqrt()
}

#[test]
fn at_a_targets_pose_the_sculpt_and_the_first_frequency_are_met() {
    for (law, around, tets) in [(MorphLaw::Linear, 24, 4000), (MorphLaw::Stvk, 16, 1000)] {
        let bar = bar(around, 2 * around);
        let size = Bounds::of(bar.skin.points.iter().copied()).diagonal();
        let all = targets(&bar);
        let mut morph = morph(&bar, tets, law, &all);
        let kit = morph.kit(19, H).unwrap();
        let report = kit.report().clone();
        println!("{law:?}: {report:?}");
        for (k, target) in all.iter().enumerate() {
            let mut player = MorphPlayer::new(kit.clone());
            player.step(&target.world_from_joints, &[], 0.0).unwrap();
            for _ in 0..60 {
                player.step(&target.world_from_joints, &[], 4.0 * H).unwrap();
            }
            let goal = skinned_points(&bar, &target.sculpt, &target.world_from_joints);
            let far = surface(&player).iter().zip(&goal).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            assert!(far < 1e-6 * size, "{law:?} {}: {far} of {size}", target.name);
            let exact = morph.eigenvalues(k, 1).unwrap()[0].sqrt() / std::f64::consts::TAU;
            assert!((report.frequencies[k] / exact - 1.0).abs() < 0.01, "{} {exact}", report.frequencies[k]);
        }
        // of the basis alone, before detail; coarse tets leave a few hundredths to detail, whatever the basis
        let most = if law == MorphLaw::Linear { 0.01 } else { 0.1 };
        let plain = morph.plain_kit(19, H).unwrap();
        for (ours, theirs) in report.sculpt_errors.iter().zip(&plain.report().sculpt_errors).skip(1) {
            println!("{}: aware {:.5}, plain {:.3}", ours.0, ours.1, theirs.1);
            assert!(ours.1 < most && theirs.1 > 5.0 * ours.1, "{ours:?} {theirs:?}");
        }
    }
}

/// The arm swings, bends and twists; the full model beside reduced ones. RMS distance over RMS displacement from the skin.
fn differences(bar: &Bar, morph: &Morph, kits: &[MorphKit], iterations: usize, frames: u32) -> Vec<f64> {
    let mut full = FullMorph::new(morph, H).unwrap();
    let mut players: Vec<MorphPlayer> = kits.iter().map(|kit| MorphPlayer::new(kit.clone())).collect();
    players.iter_mut().for_each(|player| player.set_iterations(iterations));
    let (mut apart, mut moved) = (vec![0.0; kits.len()], 0.0);
    for frame in 0..frames {
        let t = f64::from(frame) / 60.0;
        // from a standstill, as animations begin
        let turn = Mat4::from_rotation_y((0.3 - 0.3 * (5.0 * t).cos()) as f32);
        let pose = bent(0.7 - 0.7 * (5.0 * t).cos(), 0.3 - 0.3 * (4.0 * t).cos()).map(|joint| turn * joint);
        let seconds = if frame == 0 { 0.0 } else { 4.0 * H };
        full.step(&pose, &[], seconds).unwrap();
        let exact = full.surface();
        moved += rms(&exact, &skinned_points(bar, &bar.skin.points, &pose)).powi(2);
        for (player, apart) in players.iter_mut().zip(&mut apart) {
            player.step(&pose, &[], seconds).unwrap();
            *apart += rms(&exact, &surface(player)).powi(2);
        }
    }
    apart.iter().map(|apart| (apart / moved).sqrt()).collect()
}

#[test]
fn reduced_is_beside_full() {
    let bar = bar(16, 32);
    // an arm five times the size of a person's: as stiff as a person's looks
    let scaled =
        |t: Target| Target { material: Material { young: 25.0 * t.material.young, ..t.material }, ..t };
    let all: Vec<Target> = targets(&bar).into_iter().map(scaled).collect();
    let counts = [5, 10, 19, 40, 60];
    for law in [MorphLaw::Linear, MorphLaw::Stvk] {
        let mut morph = morph(&bar, 1000, law, &all);
        let (iterations, frames) = if law == MorphLaw::Linear { (1, 48) } else { (3, 20) };
        let mut kits: Vec<MorphKit> =
            counts.iter().rev().map(|&modes| morph.kit(modes, H).unwrap()).collect();
        kits.reverse();
        let curve = differences(&bar, &morph, &kits, iterations, frames);
        println!("{law:?}: {counts:?} {curve:?}");
        // forces of second and third order need more modes than linear ones
        let most = if law == MorphLaw::Linear { [0.03, 0.01, 0.006] } else { [0.05, 0.022, 0.018] };
        assert!((0..3).all(|k| curve[k + 2] < most[k]), "{law:?}: {curve:?}");
    }
}

/// A bar on an axle, spun up and spinning: beside the same tets stepped in the world by the engine.
#[test]
fn a_spun_body_matches_the_one_in_the_world() {
    let tets = TetMesh::box_grid([10, 4, 4], Vec3::new(0.5, 0.2, 0.2)).unwrap();
    let (points, triangles) = (tets.points().to_vec(), tets.boundary_faces());
    let influences = vec![vec![(0, 1.0)]; points.len()];
    let axle = Vec3::new(0.02, 0.1, 0.1);
    // the bone ends early: the rest of the bar is flesh
    let joints = [character::Joint { parent: None, rest_from_joint: DAffine3::from_translation(axle) }];
    let skin = character::Skin { points: points.clone(), triangles, influences };
    let material = Material { young: 1.5e4, damping: 0.0, ..fat() };
    // to 4 rad/s in 0.6 s
    let turn = |t: f64| {
        let s = t / 0.6;
        2.4 * if s < 1.0 { s * s * s - 0.5 * s.powi(4) } else { s - 0.5 }
    };
    let pose = |t: f64| {
        let rotation = DMat3::from_rotation_z(turn(t));
        [Mat4::from((DAffine3::from_translation(axle) * DAffine3::from_mat3(rotation)).as_affine3())]
    };
    let settings = MorphSettings { law: MorphLaw::Stvk, ..MorphSettings::default() };
    let mut morph = Morph::in_tets(&joints, skin, tets.clone(), settings).unwrap();
    morph.add(&target("bar", points.clone(), &pose(0.0), material)).unwrap();
    let known = morph.known().to_vec();
    assert!(known.iter().any(|known| *known));
    let mut full = FullMorph::new(&morph, H).unwrap();
    let mut player = MorphPlayer::new(morph.kit(40, H).unwrap());
    player.set_iterations(3);

    let solid = Solid::new(&tets, Law::Stvk, &material).unwrap();
    let elements = solid.elements(&known);
    let body = Body::builder(solid.masses).energy(elements).known(known).build().unwrap();
    let settings = dynamics::Settings {
        integrator: Integrator::BackwardEuler,
        substeps: Substeps::Fixed(1),
        ..dynamics::Settings::default()
    };
    let mut stepper = Stepper::new(&body, &points, settings).unwrap();
    let mut state = State::at_rest(points.clone());
    let rest = points.clone();
    let guide = dynamics::FnGuide(move |t: f64, v: usize| {
        axle + DMat3::from_rotation_z(turn(t.max(0.0))) * (rest[v] - axle)
    });
    let (mut apart, mut reduced_apart, mut moved) = (0.0, 0.0, 0.0);
    for step in 0..=240 {
        let t = f64::from(step) * H;
        let seconds = if step == 0 { 0.0 } else { H };
        full.step(&pose(t), &[], seconds).unwrap();
        player.step(&pose(t), &[], seconds).unwrap();
        if step > 0 {
            stepper.advance(&body, &mut state, &guide, H, &mut []).unwrap();
        }
        let rigid: Vec<Vec3> =
            points.iter().map(|p| axle + DMat3::from_rotation_z(turn(t)) * (*p - axle)).collect();
        apart += rms(&full.surface(), &state.positions).powi(2);
        reduced_apart += rms(&surface(&player), &state.positions).powi(2);
        moved += rms(&rigid, &state.positions).powi(2);
    }
    let (full, reduced) = ((apart / moved).sqrt(), (reduced_apart / moved).sqrt());
    println!(
        "spun: full {full:.5}, reduced {reduced:.5} of an RMS displacement of {:.4} m",
        (moved / 241.0).sqrt()
    );
    assert!((moved / 241.0).sqrt() > 0.001, "it must bend for this to mean anything");
    assert!(full < 0.002 && reduced < 0.02, "{full} {reduced}");
}

/// Figure 2: the bulged bar with its own stiffness yields at most half as much as one with geometry alone.
#[test]
fn pushed_in_its_bulged_pose_it_yields_half_as_much_as_with_geometry_alone() {
    let bar = bar(16, 32);
    let hard = targets(&bar);
    let geometry = hard.iter().map(|target| Target { material: fat(), ..target.clone() }).collect::<Vec<_>>();
    let top = bar.skin.points.iter().position(|p| (p.x + 0.4375).abs() < 0.03 && p.y > 0.19).unwrap();
    let pose = bent(1.4, 0.0);
    let give = |targets: &[Target]| {
        let mut morph = morph(&bar, 700, MorphLaw::Linear, targets);
        let mut player = MorphPlayer::new(morph.kit(30, H).unwrap());
        player.step(&pose, &[], 0.0).unwrap();
        let before = surface(&player)[top];
        for _ in 0..240 {
            player.push(top, Vec3::new(0.0, -40.0, 0.0)).unwrap();
            player.step(&pose, &[], H).unwrap();
        }
        surface(&player)[top].distance(before)
    };
    let (own, alone) = (give(&hard), give(&geometry));
    println!("yields {own:.5} m with its own stiffness, {alone:.5} m with geometry alone");
    assert!(alone > 1e-3 && own < 0.5 * alone, "{own} {alone}");
}

/// A firm cushion takes points where they have to go, within the step and whatever the step was; a soft one lets them stay; what is
/// pushed in here comes out there. Once nothing presses, the flesh is back where it was.
#[test]
fn pressed_skin_gives_way_in_the_same_step() {
    let bar = bar(16, 32);
    let mut morph = morph(&bar, 700, MorphLaw::Linear, &targets(&bar));
    let kit = morph.kit(30, H).unwrap();
    let pose = bent(0.7, 0.1);
    let top = bar.skin.points.iter().position(|p| (p.x + 0.4375).abs() < 0.03 && p.y > 0.19).unwrap();
    let down = Vec3::new(0.0, -1.0, 0.0);
    let moved = |stiffness: f64, depth: f64| {
        let mut player = MorphPlayer::new(kit.clone());
        player.step(&pose, &[], 0.0).unwrap();
        player.press(&[Press { point: top, direction: down, depth, stiffness }]).unwrap();
        player.step(&pose, &[], H).unwrap();
        let before = surface(&player);
        player.press(&[Press { point: top, direction: down, depth, stiffness }]).unwrap();
        let after = surface(&player);
        for _ in 0..480 {
            player.step(&pose, &[], H).unwrap();
        }
        let later = surface(&player)[top].distance(before[top]);
        assert!(later < 1e-4, "not back: {later}");
        let shifts: Vec<Vec3> = after.iter().zip(&before).map(|(a, b)| *a - *b).collect();
        (shifts[top].dot(down), shifts)
    };
    let (firm, shifts) = moved(1e9, 0.02);
    // the surface is in single precision, and so is what pushes it
    assert!((firm / 0.02 - 1.0).abs() < 5e-3, "{firm}");
    let soft = moved(1e3, 0.02).0;
    assert!(soft > 0.0 && soft < 1e-4, "{soft}");
    let out = shifts.iter().map(|shift| -shift.dot(down)).fold(0.0, f64::max);
    println!("pressed in by {firm} m, out by {out} m elsewhere");
    assert!(out > 2e-4, "{out}");
    let mut player = MorphPlayer::new(kit);
    player.step(&pose, &[], 0.0).unwrap();
    player.step(&pose, &[], H).unwrap();
    let before = surface(&player);
    let press = Press { point: top, direction: down, depth: 0.01, stiffness: 1e4 };
    for wrong in [
        Press { point: 1 << 20, ..press },
        Press { depth: f64::NAN, ..press },
        Press { direction: Vec3::INFINITY, ..press },
        Press { stiffness: -1.0, ..press },
    ] {
        assert!(player.press(&[press, wrong]).is_err());
        assert_eq!(surface(&player), before);
    }
}

#[test]
fn what_is_bent_too_far_stays_bent_where_a_target_is_plastic() {
    let bar = bar(12, 24);
    let step = 2.0 * H;
    let left = |plasticity: Plasticity| {
        let soft = Target {
            plasticity,
            ..target("soft", bar.skin.points.clone(), &bent(0.0, 0.0), Material { damping: 1.0, ..fat() })
        };
        let mut morph = morph(&bar, 300, MorphLaw::Linear, &[soft]);
        let mut player = MorphPlayer::new(morph.kit(40, step).unwrap());
        let mut full = FullMorph::new(&morph, step).unwrap();
        let pose = bent(0.0, 0.0);
        player.step(&pose, &[], 0.0).unwrap();
        full.step(&pose, &[], 0.0).unwrap();
        let before = surface(&player);
        let top: Vec<usize> =
            (0..before.len()).filter(|&k| before[k].y > 0.1 && (before[k].x + 0.4).abs() < 0.2).collect();
        let moved = |player: &MorphPlayer, full: &FullMorph| {
            [
                surface(player)[top[0]].distance(before[top[0]]),
                full.surface()[top[0]].distance(before[top[0]]),
            ]
        };
        let mut pushed = [0.0; 2];
        for k in 0..240 {
            for &point in top.iter().filter(|_| k < 60) {
                player.push(point, Vec3::new(0.0, -5.0, 0.0)).unwrap();
                full.push(point, Vec3::new(0.0, -5.0, 0.0)).unwrap();
            }
            player.step(&pose, &[], step).unwrap();
            full.step(&pose, &[], step).unwrap();
            if k == 59 {
                pushed = moved(&player, &full);
            }
        }
        let left = moved(&player, &full);
        println!("{plasticity:?}: {pushed:?} pushed, {left:?} left");
        [left[0] / pushed[0], left[1] / pushed[1]]
    };
    let elastic = left(Plasticity::default());
    let plastic = left(Plasticity { yield_strain: 1e-4, creep: 4.0 });
    for k in 0..2 {
        assert!(elastic[k] < 0.02 && plastic[k] > 0.3, "{elastic:?} {plastic:?}");
    }
}

#[test]
fn far_from_all_targets_stiffness_is_limited_and_nothing_blows_up() {
    let bar = bar(12, 24);
    let mut all = targets(&bar);
    all[2].material.young = 4e5;
    all[2].world_from_joints = bent(0.7, 0.1).to_vec();
    for law in [MorphLaw::Linear, MorphLaw::Stvk] {
        let kernel = Kernel::Gaussian { width: 2.0 };
        let settings = MorphSettings { tets: 400, law, kernel, ..MorphSettings::default() };
        let mut morph = Morph::new(&bar.joints, bar.skin.clone(), settings).unwrap();
        all.iter().for_each(|target| morph.add(target).unwrap());
        let mut player = MorphPlayer::new(morph.kit(15, H).unwrap());
        let mut least = 1.0_f64;
        for k in 0..240 {
            let t = f64::from(k) / 60.0;
            player.step(&bent(-2.9 * (2.0 * t).sin(), -3.0 * (1.4 * t).sin()), &[], 1.0 / 60.0).unwrap();
            least = least.min(player.limited());
            assert!(player.elastic_energy().is_finite());
            let farthest = surface(&player).iter().map(|p| p.length()).fold(0.0, f64::max);
            assert!(farthest < 3.0, "{law:?} {k}: {farthest}");
        }
        println!("{law:?}: negative weights kept to {least:.3}, put back to rest {} times", player.steps().1);
        assert!(least < 1.0);
    }
}

#[test]
fn a_restored_player_goes_on_with_the_same_bits_at_any_frame_rate() {
    let bar = bar(12, 24);
    let mut morph = morph(&bar, 400, MorphLaw::Stvk, &targets(&bar));
    let kit = morph.kit(12, H).unwrap();
    let pose = |k: u32| bent(0.9 * (0.2 * f64::from(k)).sin(), 0.2);
    let mut one = MorphPlayer::new(kit.clone());
    let mut bytes = Vec::new();
    for k in 0..20 {
        one.step(&pose(k), &[], 1.0 / 57.0).unwrap();
        if k == 9 {
            bytes = one.checkpoint();
        }
    }
    let mut other = MorphPlayer::new(kit);
    other.restore(&bytes).unwrap();
    (10..20).for_each(|k| other.step(&pose(k), &[], 1.0 / 57.0).unwrap());
    assert_eq!(surface(&one), surface(&other));
    assert!(other.restore(&bytes[8..]).is_err());
}

#[test]
fn bad_targets_get_a_sentence_or_a_graceful_result() {
    let bar = bar(12, 24);
    let settings = MorphSettings { tets: 300, ..MorphSettings::default() };
    let new = || Morph::new(&bar.joints, bar.skin.clone(), settings).unwrap();
    let good = targets(&bar);
    // none, and one
    assert!(matches!(new().kit(10, H), Err(Error::NoTargets)));
    let mut one = new();
    one.add(&good[0]).unwrap();
    let mut player = MorphPlayer::new(one.kit(10, H).unwrap());
    player.step(&bent(1.0, 0.0), &[], 0.0).unwrap();
    assert_eq!(player.weights(), [1.0]);
    // more modes than unknowns
    let kit = one.kit(1_000_000, H);
    assert!(kit.is_err() || kit.unwrap().mode_count() <= one.known().len() * 3);
    // two at one pose, two of one name
    let mut two = new();
    two.add(&good[0]).unwrap();
    assert!(matches!(two.add(&good[0]), Err(Error::SameName { .. })));
    two.add(&Target { name: "again".into(), ..good[0].clone() }).unwrap();
    let error = two.kit(10, H).unwrap_err().to_string();
    assert!(error.contains("slack") && error.contains("again") && error.contains("one pose"), "{error}");
    // other counts, NaN, inside out, mad materials
    let short = Target { sculpt: good[0].sculpt[1..].to_vec(), ..good[0].clone() };
    assert!(new().add(&short).unwrap_err().to_string().contains("points, but the skin has"));
    let mut broken = good[1].clone();
    broken.sculpt[7].y = f64::NAN;
    assert!(new().add(&broken).unwrap_err().to_string().contains("point 7 is not at a finite place"));
    let mirrored = good[0].sculpt.iter().map(|p| Vec3::new(p.x, -p.y, p.z)).collect();
    let error = new().add(&Target { sculpt: mirrored, ..good[0].clone() }).unwrap_err().to_string();
    assert!(error.contains("inside out"), "{error}");
    let mad = Target { material: Material { young: -1.0, ..fat() }, ..good[0].clone() };
    assert!(new().add(&mad).unwrap_err().to_string().contains("young"));
    let pose = Target { world_from_joints: good[0].world_from_joints[1..].to_vec(), ..good[0].clone() };
    assert!(matches!(new().add(&pose), Err(Error::CountMismatch { .. })));
    // warped forces are no polynomials
    let warped = MorphSettings { law: MorphLaw::Warped, ..settings };
    let mut warped = Morph::new(&bar.joints, bar.skin.clone(), warped).unwrap();
    warped.add(&good[0]).unwrap();
    assert!(warped.kit(10, H).unwrap_err().to_string().contains("polynomial"));
    let width = MorphSettings { kernel: Kernel::Gaussian { width: 0.0 }, ..settings };
    assert!(Morph::new(&bar.joints, bar.skin.clone(), width).is_err());
    // poses and steps that are none
    let frozen = surface(&player);
    assert!(player.step(&[Mat4::NAN; 2], &[], H).is_err());
    assert!(player.step(&bent(0.0, 0.0), &[], -1.0).is_err());
    assert!(player.push(1 << 20, Vec3::X).is_err());
    assert_eq!(surface(&player), frozen);
}

/// A full morph with warped forces stands where the linear one does under small pushes, and both meet sculpts.
#[test]
fn every_law_meets_the_sculpts_in_full() {
    let bar = bar(12, 24);
    let all = targets(&bar);
    let size = Bounds::of(bar.skin.points.iter().copied()).diagonal();
    for law in [MorphLaw::Linear, MorphLaw::Warped, MorphLaw::Stvk] {
        let morph = morph(&bar, 300, law, &all);
        for target in &all {
            let mut full = FullMorph::new(&morph, H).unwrap();
            for k in 0..4 {
                full.step(&target.world_from_joints, &[], if k == 0 { 0.0 } else { 4.0 * H }).unwrap();
            }
            let goal = skinned_points(&bar, &target.sculpt, &target.world_from_joints);
            let far = full.surface().iter().zip(&goal).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
            assert!(far < 1e-6 * size, "{law:?} {}: {far}", target.name);
        }
    }
}
