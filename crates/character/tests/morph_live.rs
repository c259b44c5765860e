//! Morphs as games rely on them: poses that count where they should, no memory asked for, targets added one by one.

#![allow(clippy::print_stdout)] // figures for the curious: --nocapture
#![allow(unsafe_code)] // an allocator that counts

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use character::{
    FullMorph, Joint, Kernel, Morph, MorphKit, MorphLaw, MorphNames, MorphPlayer, MorphSettings, Plasticity,
    Press, Skin, Target,
};
use common::{Bar, bar, bent, skinned_points};
use geometry::Vec3;
use glam::{DAffine3, Mat4};
use solid::Material;

/// Counts the allocations of a thread.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: hands everything on to the system's allocator
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const H: f64 = 1.0 / 240.0;

fn target(name: &str, sculpt: Vec<Vec3>, pose: &[Mat4], young: f64) -> Target {
    Target {
        name: name.into(),
        sculpt,
        world_from_joints: pose.to_vec(),
        channels: Vec::new(),
        material: Material { young, poisson: 0.4, density: 1000.0, damping: 0.2 },
        regions: Vec::new(),
        plasticity: Plasticity::default(),
    }
}

/// Thicker around `x` by a smooth bump.
fn bulged(points: &[Vec3], x: f64, amount: f64) -> Vec<Vec3> {
    let bump = |p: &Vec3| {
        let along = ((p.x - x) / 0.25).clamp(-1.0, 1.0);
        *p + amount * (1.0 - along * along).powi(2) * Vec3::new(0.0, p.y, p.z)
    };
    points.iter().map(bump).collect()
}

fn two_targets(bar: &Bar) -> [Target; 2] {
    let points = &bar.skin.points;
    [
        target("slack", points.clone(), &bent(0.0, 0.0), 2e4),
        target("flexed", bulged(points, -0.45, 0.3), &bent(1.4, 0.0), 8e4),
    ]
}

fn morph(bar: &Bar, settings: MorphSettings, targets: &[Target]) -> Morph {
    let mut morph = Morph::new(&bar.joints, bar.skin.clone(), settings).unwrap();
    targets.iter().for_each(|target| morph.add(target).unwrap());
    morph
}

fn surface(player: &MorphPlayer) -> Vec<Vec3> {
    let mut points = vec![[0.0; 3]; player.kit().point_count()];
    player.surface(&mut points);
    points.iter().map(|p| Vec3::from(p.map(f64::from))).collect()
}

#[test]
fn nothing_is_allocated_after_it_is_made() {
    let bar = bar(12, 24);
    for law in [MorphLaw::Linear, MorphLaw::Stvk] {
        let settings = MorphSettings { tets: 300, law, pose_reach: Some(1), ..MorphSettings::default() };
        let kit = morph(&bar, settings, &two_targets(&bar)).kit(10, H).unwrap();
        let mut player = MorphPlayer::new(kit);
        let mut points = vec![[0.0; 3]; player.kit().point_count()];
        let poses: Vec<[Mat4; 2]> = (0..60).map(|k| bent((0.2 * f64::from(k)).sin(), 0.1)).collect();
        let presses = [5, 9].map(|point| Press { point, direction: Vec3::Y, depth: 1e-3, stiffness: 1e3 });
        player.step(&poses[0], &[], 0.0).unwrap();
        let before = COUNT.with(Cell::get);
        for pose in &poses {
            player.push(3, Vec3::Y).unwrap();
            player.step(pose, &[], 1.0 / 60.0).unwrap();
            player.press(&presses).unwrap();
            player.surface(&mut points);
        }
        player.teleport(&poses[0], &[]).unwrap();
        assert_eq!(COUNT.with(Cell::get) - before, 0, "{law:?}");
    }
}

/// A bar of four joints: chest, upper, fore, hand.
fn long_bar() -> Bar {
    let Bar { skin, .. } = bar(16, 40);
    let starts = [-0.95, -0.45, 0.05, 0.55];
    let joints = (0..4)
        .map(|k: usize| Joint {
            parent: k.checked_sub(1),
            rest_from_joint: DAffine3::from_translation(Vec3::new(starts[k], 0.0, 0.0)),
        })
        .collect();
    let row = |p: &Vec3| {
        let past = |k: usize| ((p.x - starts[k] + 0.1) / 0.2).clamp(0.0, 1.0);
        let (a, b, c) = (past(1), past(2), past(3));
        vec![(0, 1.0 - a), (1, a - b), (2, b - c), (3, c)]
    };
    let influences = skin.points.iter().map(row).collect();
    Bar { skin: Skin { influences, ..skin }, joints }
}

/// Its joints, the upper arm and the hand turned.
fn posed(upper: f64, hand: f64) -> [Mat4; 4] {
    let step = Mat4::from_translation(glam::Vec3::new(0.5, 0.0, 0.0));
    let turn = |angle: f64| Mat4::from_rotation_z(angle as f32);
    let chest = Mat4::from_translation(glam::Vec3::new(-0.95, 0.0, 0.0));
    let arm = chest * step * turn(upper);
    [chest, arm, arm * step, arm * step * step * turn(hand)]
}

/// A bent wrist thickens the hand, a raised arm the chest. With weights of the whole body each takes away from the other; with weights per
/// vertex both are as sculpted, whatever the other does.
#[test]
fn a_wrist_does_not_move_a_chest() {
    let bar = long_bar();
    let points = &bar.skin.points;
    let targets = [
        target("rest", points.clone(), &posed(0.0, 0.0), 2e4),
        target("raised", bulged(points, -0.7, 0.3), &posed(1.0, 0.0), 4e4),
        target("cocked", bulged(points, 0.85, 0.3), &posed(0.0, 1.0), 3e4),
    ];
    let chest: Vec<usize> = (0..points.len()).filter(|&k| points[k].x < -0.62).collect();
    let wrist: Vec<usize> = (0..points.len()).filter(|&k| points[k].x > 0.75).collect();
    let far =
        |a: &[Vec3], b: &[Vec3], who: &[usize]| who.iter().map(|&k| a[k].distance(b[k])).fold(0.0, f64::max);
    let goals = |pose: &[Mat4], sculpt: &[Vec3]| skinned_points(&bar, sculpt, pose);
    for law in [MorphLaw::Linear, MorphLaw::Stvk] {
        let at = |reach: Option<usize>, pose: &[Mat4]| {
            let settings = MorphSettings { tets: 900, law, pose_reach: reach, ..MorphSettings::default() };
            let mut morph = morph(&bar, settings, &targets);
            let mut player = MorphPlayer::new(morph.kit(12, H).unwrap());
            player.step(pose, &[], 0.0).unwrap();
            let mut full = FullMorph::new(&morph, H).unwrap();
            full.step(pose, &[], 0.0).unwrap();
            [surface(&player), full.surface()]
        };
        let both = posed(1.0, 1.0);
        let [chest_goal, wrist_goal] = [&targets[1], &targets[2]].map(|target| goals(&both, &target.sculpt));
        for (name, local, whole) in [("player", 0, 0), ("full", 1, 1)]
            .map(|(name, a, b)| (name, at(Some(1), &both)[a].clone(), at(None, &both)[b].clone()))
        {
            let own = [far(&local, &chest_goal, &chest), far(&local, &wrist_goal, &wrist)];
            let shared = [far(&whole, &chest_goal, &chest), far(&whole, &wrist_goal, &wrist)];
            println!(
                "{law:?} {name}: {own:?} m from the sculpts with weights per vertex, {shared:?} with one set"
            );
            // a sculpt is 6 cm high; flesh beside it, which heeds the arm too, draws a little
            for k in 0..2 {
                assert!(own[k] < 0.006 && shared[k] > 4.0 * own[k], "{name} {own:?} {shared:?}");
            }
        }
        // a wrist alone leaves the chest as it is modelled
        let wrist_only = posed(0.0, 0.6);
        let plain = goals(&wrist_only, points);
        // a dozen modes, each of which moves the whole body, keep regions apart to a tenth of the sculpt only; all points do
        let ([few, all], [_, shared]) = (at(Some(1), &wrist_only), at(None, &wrist_only));
        let [few, all, shared] = [few, all, shared].map(|shown| far(&shown, &plain, &chest));
        println!(
            "{law:?}: a wrist alone moves the chest by {few} m, all points {all}, with one set {shared}"
        );
        assert!(few < 0.006 && all < 2e-4 && shared > 10.0 * all, "{law:?}: {few} {all} {shared}");
        // at their own poses all sculpts are met as before
        let alone = posed(1.0, 0.0);
        let [shown, _] = at(Some(1), &alone);
        assert!(far(&shown, &goals(&alone, &targets[1].sculpt), &chest) < 1e-5);
    }
}

#[test]
fn targets_are_added_one_at_a_time_and_what_was_made_for_others_stays() {
    let bar = bar(12, 24);
    let settings = MorphSettings { tets: 300, ..MorphSettings::default() };
    let targets = two_targets(&bar);
    let mut one_by_one = morph(&bar, settings, &targets[..1]);
    let alone = one_by_one.eigenvalues(0, 5).unwrap();
    let shape = one_by_one.rest_shape(0).to_vec();
    one_by_one.add(&targets[1]).unwrap();
    assert_eq!(one_by_one.rest_shape(0), shape);
    assert_eq!(one_by_one.eigenvalues(0, 5).unwrap(), alone);
    // and the result is that of all at once
    let mut at_once = morph(&bar, settings, &targets);
    let show = |morph: &mut Morph| {
        let mut player = MorphPlayer::new(morph.kit(8, H).unwrap());
        player.step(&bent(0.8, 0.0), &[], 0.0).unwrap();
        surface(&player)
    };
    assert_eq!(show(&mut one_by_one), show(&mut at_once));
}

#[test]
fn a_packed_morph_plays_to_the_same_bits() {
    let bar = bar(12, 24);
    let names = MorphNames {
        mesh: "arm".into(),
        joints: vec!["upper".into(), "fore".into()],
        channels: vec!["smile".into()],
    };
    for (law, kernel, pose_reach) in [
        (MorphLaw::Linear, Kernel::Biharmonic, Some(0)),
        (MorphLaw::Stvk, Kernel::Gaussian { width: 0.8 }, None),
    ] {
        let settings =
            MorphSettings { tets: 300, law, kernel, pose_reach, channels: 1, ..MorphSettings::default() };
        let kit = morph(&bar, settings, &two_targets(&bar)).kit(8, H).unwrap().named(names.clone());
        let bytes = kit.to_bytes();
        let again = MorphKit::from_bytes(&bytes).unwrap();
        assert_eq!(again.to_bytes(), bytes);
        assert_eq!((again.report(), again.names()), (kit.report(), &names));
        let (mut one, mut other) = (MorphPlayer::new(kit), MorphPlayer::read(&bytes).unwrap());
        for k in 0..12 {
            let pose = bent((0.3 * f64::from(k)).sin(), 0.1);
            for player in [&mut one, &mut other] {
                player.step(&pose, &[0.1 * f64::from(k)], 1.0 / 60.0).unwrap();
            }
        }
        assert_eq!(surface(&one), surface(&other), "{law:?}");
        println!("{law:?}: {} bytes", bytes.len());
        for wrong in [&bytes[..20], &bytes[..bytes.len() - 1], b"flesh", b""] {
            assert!(MorphKit::from_bytes(wrong).is_err());
        }
    }
}

/// Numbers of a pose that are none count as 0, and flesh goes on.
#[test]
fn channels_that_are_no_numbers_count_as_none() {
    let bar = bar(12, 24);
    let settings = MorphSettings { tets: 300, channels: 1, ..MorphSettings::default() };
    let [slack, flexed] = two_targets(&bar);
    let flexed = Target { channels: vec![1.0], ..flexed };
    let kit = morph(&bar, settings, &[slack, flexed]).kit(8, H).unwrap();
    let play = |channel: f64| {
        let mut player = MorphPlayer::new(kit.clone());
        for k in 0..5 {
            player.step(&bent(0.1 * f64::from(k), 0.0), &[channel], 1.0 / 60.0).unwrap();
        }
        surface(&player)
    };
    for wrong in [f64::NAN, f64::INFINITY] {
        assert_eq!(play(wrong), play(0.0));
    }
    assert_ne!(play(0.5), play(0.0));
}

/// Inside, tets that a bone crosses are held unless they are at the skin; everywhere weights of joints are what the skin's own
/// carry inside: harmonic, hence between them, and theirs at the skin.
#[test]
fn bones_hold_what_they_cross_and_weights_go_inside() {
    let bar = bar(20, 40);
    let settings = MorphSettings { tets: 3000, ..MorphSettings::default() };
    let morph = morph(&bar, settings, &[]);
    let (tets, known) = (morph.tets(), morph.known());
    let along: Vec<Vec3> = (0..100).map(|k| Vec3::new(-0.95 + 0.0095 * f64::from(k), 0.0, 0.0)).collect();
    let on_bone = geometry::Embedding::new(tets, &along).unwrap();
    let mut boundary = vec![false; known.len()];
    tets.boundary_faces().iter().flatten().for_each(|&v| boundary[v as usize] = true);
    let deep_inside = |weights: &[f64; 4]| weights.iter().all(|w| *w > 0.05);
    for (corners, _) in on_bone.corners().iter().zip(on_bone.weights()).filter(|(_, w)| deep_inside(w)) {
        for &v in corners {
            assert!(known[v as usize] || boundary[v as usize], "point {v} beside a bone is not held");
        }
    }
    let held = (0..known.len()).filter(|&v| known[v]);
    let farthest = held
        .clone()
        .map(|v| Vec3::new(0.0, tets.points()[v].y, tets.points()[v].z).length())
        .fold(0.0, f64::max);
    println!(
        "{} points held, {farthest} m from the bones at most, edges of {} m",
        held.count(),
        morph.edge()
    );
    assert!(farthest < 2.0 * morph.edge() && (0..known.len()).all(|v| !(known[v] && boundary[v])));
    let fore = |v: usize| morph.joint_weights()[v].iter().filter(|w| w.0 == 1).map(|w| w.1).sum::<f64>();
    let skin = geometry::Embedding::new(tets, &bar.skin.points).unwrap();
    let mut squares = 0.0;
    for (p, row) in bar.skin.influences.iter().enumerate() {
        let own: f64 = row.iter().filter(|w| w.0 == 1).map(|w| w.1).sum();
        let places = skin.corners()[p].iter().zip(skin.weights()[p]);
        let inside: f64 = places.map(|(&v, w)| w * fore(v as usize)).sum();
        squares += (inside - own).powi(2);
    }
    let apart = (squares / bar.skin.points.len() as f64).sqrt();
    println!("{apart} RMS from the skin's own weights");
    assert!(apart < 0.03, "{apart}");
    for (v, x) in tets.points().iter().enumerate() {
        let sum: f64 = morph.joint_weights()[v].iter().map(|w| w.1).sum();
        assert!((sum - 1.0).abs() < 1e-12 && (-1e-9..=1.0 + 1e-9).contains(&fore(v)));
        if x.x < -0.6 {
            assert!(fore(v) < 0.02, "{x}: {}", fore(v));
        }
    }
}
