//! Flesh around an elbow: what it promises, in numbers.

#![allow(clippy::print_stdout)] // figures for the curious: --nocapture

mod common;

use character::{Flesh, Kit, Method, Nonlinear, Player, Settings, SmoothSkin};
use common::{BLEND, RADIUS, bar, bent, bulge, skinned, volume};
use geometry::Vec3;
use glam::Mat4;
use solid::Law;

const STEP: f64 = 1.0 / 120.0;

fn settings(cells: usize) -> Settings {
    Settings { cells, ..Settings::default() }
}

/// Goes to a pose over a second and stays there for another.
fn settle(player: &mut Player, pose: impl Fn(f64) -> [Mat4; 2]) -> Vec<Vec3> {
    for k in 0..=40 {
        player.step(&pose((f64::from(k) / 20.0).min(1.0)), 1.0 / 20.0).unwrap();
    }
    let mut points = vec![[0.0; 3]; player.kit().point_count()];
    player.surface(&mut points);
    points.iter().map(|p| Vec3::from(p.map(f64::from))).collect()
}

#[test]
fn at_rest_it_rests_and_moved_as_a_whole_it_keeps_its_shape() {
    let bar = bar(16, 24);
    // thick and sluggish, so that it is at rest a second after a turn
    let material = solid::Material { young: 2e5, damping: 1.0, ..Settings::default().material };
    let flesh = Flesh::new(&bar.joints, bar.skin.clone(), Settings { material, ..settings(300) }).unwrap();
    assert!(flesh.report().soft_bones.is_empty());
    // mass within 1 %
    let exact = volume(&bar.skin.points, &bar.skin.triangles);
    assert!((flesh.report().volume / exact - 1.0).abs() < 0.01, "{} {exact}", flesh.report().volume);
    for method in [Method::BlendedLinear, Method::GlobalLinear] {
        let mut player = Player::new(Kit::new(&flesh, method, STEP).unwrap()).unwrap();
        let still = settle(&mut player, |_| bent(0.0, 0.0));
        for (p, q) in still.iter().zip(&bar.skin.points) {
            assert!(p.distance(*q) < 1e-6);
        }
        let motion = |s: f64| {
            Mat4::from_rotation_y(2.0 * s as f32)
                * Mat4::from_translation(s as f32 * glam::Vec3::new(0.3, 1.0, -2.0))
        };
        let moved = settle(&mut player, |s| bent(0.0, 0.0).map(|joint| motion(s) * joint));
        let far = |(p, q): (&Vec3, &Vec3)| p.distance(motion(1.0).transform_point3(q.as_vec3()).as_dvec3());
        let farthest = moved.iter().zip(&bar.skin.points).map(far).fold(0.0, f64::max);
        assert!(farthest < 2e-3, "{method:?}: {farthest}");
        // bones are where joints are
        let held = player.known().iter().zip(player.shown()).zip(flesh.hierarchy().rest());
        for ((_, x), rest) in held.filter(|((known, _), _)| **known) {
            let goal = motion(1.0).transform_point3(rest.as_vec3()).as_dvec3();
            assert!(x.distance(goal) < 1e-6, "{x} {goal}");
        }
    }
}

/// The part of the blend's volume that is lost when the bar is bent; linear skinning loses 13 and 19 %.
#[test]
fn an_elbow_keeps_more_of_its_volume_than_its_skin() {
    let bar = bar(24, 60);
    let rest = volume(&bar.skin.points, &bar.skin.triangles);
    let stretch = std::f64::consts::PI * RADIUS * RADIUS * 2.0 * BLEND;
    let lost = |points: &[Vec3]| (rest - volume(points, &bar.skin.triangles)) / stretch;
    let flesh = Flesh::new(&bar.joints, bar.skin.clone(), settings(300)).unwrap();
    for (angle, by_skin) in [(90.0_f64, 0.13), (120.0, 0.19)] {
        let pose = |s: f64| bent(s * angle.to_radians(), 0.0);
        let skin = lost(&skinned(&bar, &pose(1.0)));
        assert!((skin - by_skin).abs() < 0.01, "{skin}");
        let mut player = Player::new(Kit::new(&flesh, Method::BlendedLinear, STEP).unwrap()).unwrap();
        let blended = lost(&settle(&mut player, pose));
        println!("{angle} degrees: skin {skin:.3}, blended {blended:.3}");
        assert!(blended.abs() < 0.5 * skin, "{blended} {skin}");
    }
}

/// Joints with cells of their own keep more of it, bent and twisted.
#[test]
fn joints_of_their_own_keep_an_elbow_round() {
    let bar = bar(24, 60);
    let rest = volume(&bar.skin.points, &bar.skin.triangles);
    let stretch = std::f64::consts::PI * RADIUS * RADIUS * 2.0 * BLEND;
    let material = solid::Material { damping: 0.5, ..Settings::default().material };
    let flesh = Flesh::new(&bar.joints, bar.skin.clone(), Settings { material, ..settings(300) }).unwrap();
    for (angle, twist, allowed) in [(90.0_f64, 0.0_f64, 0.04), (120.0, 0.0, 0.07), (0.0, 180.0, 0.12)] {
        let pose = |s: f64| bent(s * angle.to_radians(), s * twist.to_radians());
        let of = |joints: bool| {
            let kit = Kit::new(&flesh.clone().with_joints(joints), Method::BlendedLinear, STEP).unwrap();
            let mut player = Player::read(&kit.to_bytes()).unwrap();
            let points = settle(&mut player, pose);
            let [outer, _] = bulge(&bar, &points, angle.to_radians());
            ((volume(&points, &bar.skin.triangles) - rest) / stretch, outer)
        };
        let ((ours, outer), (plain, plain_outer)) = (of(true), of(false));
        println!(
            "bent {angle}, twisted {twist}: joints {ours:+.3}, outer side {outer:.3}; without {plain:+.3}, {plain_outer:.3}"
        );
        assert!(ours.abs() < allowed, "{angle} {twist}: {ours}");
    }
}

/// Flesh that hardly gives way keeps its volume in bends and twists where linear skinning loses 19 and 51 %.
#[test]
fn a_nonlinear_elbow_keeps_its_volume_bent_and_twisted() {
    let bar = bar(24, 60);
    let rest = volume(&bar.skin.points, &bar.skin.triangles);
    let stretch = std::f64::consts::PI * RADIUS * RADIUS * 2.0 * BLEND;
    let material = solid::Material { poisson: 0.495, damping: 0.5, ..Settings::default().material };
    let flesh = Flesh::new(&bar.joints, bar.skin.clone(), Settings { material, ..settings(300) }).unwrap();
    for (angle, twist, allowed) in [(90.0_f64, 0.0_f64, 0.03), (120.0, 0.0, 0.03), (0.0, 180.0, 0.03)] {
        let mut engine = Nonlinear::new(&flesh, Law::NeoHookean, Some(1)).unwrap();
        for k in 0..=60 {
            let s = (f64::from(k) / 30.0).min(1.0);
            engine.step(&bent(s * angle.to_radians(), s * twist.to_radians()), 1.0 / 30.0).unwrap();
        }
        let points = flesh.surface(engine.coefficients());
        let change = (volume(&points, &bar.skin.triangles) - rest) / stretch;
        let [outer, _] = bulge(&bar, &points, angle.to_radians());
        println!("bent {angle}, twisted {twist}: volume {change:+.3}, outer side {outer:.3}");
        assert!(change.abs() < allowed, "{angle} {twist}: {change}");
        assert!(outer < 1.25, "{angle} {twist}: {outer}");
    }
}

/// Bent by 120° and straight again: it comes back to where it was. Friction that resists change of volume once held it for seconds.
#[test]
fn a_nonlinear_elbow_comes_back_when_it_is_straight_again() {
    let bar = bar(16, 40);
    let material = solid::Material { poisson: 0.495, damping: 0.5, ..Settings::default().material };
    let flesh = Flesh::new(&bar.joints, bar.skin.clone(), Settings { material, ..settings(250) }).unwrap();
    let mut engine = Nonlinear::new(&flesh, Law::NeoHookean, Some(1)).unwrap();
    let mut farthest = Vec::new();
    for k in 0..=60 {
        let s = (1.0 - (f64::from(k) / 15.0 - 1.0).abs()).max(0.0);
        engine.step(&bent(s * 120.0_f64.to_radians(), 0.0), 1.0 / 30.0).unwrap();
        let points = flesh.surface(engine.coefficients());
        let off = points.iter().zip(&bar.skin.points).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max);
        farthest.push(off / RADIUS);
    }
    println!("off by {:.2} of the radius a second after, {:.1} when it was bent", farthest[60], farthest[15]);
    assert!(farthest[60] < 0.1, "{:?}", &farthest[28..]);
}

/// Figure 5: one end turned by 90 degrees. Blended is near to nonlinear, global linear is not.
#[test]
fn blended_is_near_to_nonlinear_where_global_linear_is_warped() {
    let bar = bar(16, 32);
    let flesh = Flesh::new(&bar.joints, bar.skin.clone(), settings(250)).unwrap();
    let pose = |s: f64| bent(s * 90.0_f64.to_radians(), 0.0);
    let of = |method| {
        let mut player = Player::new(Kit::new(&flesh, method, STEP).unwrap()).unwrap();
        settle(&mut player, pose)
    };
    let mut nonlinear = Nonlinear::new(&flesh, Law::Stvk, Some(2)).unwrap();
    for k in 0..=30 {
        nonlinear.step(&pose((f64::from(k) / 15.0).min(1.0)), 1.0 / 15.0).unwrap();
    }
    let exact = flesh.surface(nonlinear.coefficients());
    let apart = |points: &[Vec3]| {
        let squares: f64 = points.iter().zip(&exact).map(|(a, b)| a.distance_squared(*b)).sum();
        (squares / points.len() as f64).sqrt() / 2.0
    };
    let (blended, linear) = (apart(&of(Method::BlendedLinear)), apart(&of(Method::GlobalLinear)));
    let jointed = flesh.clone().with_joints(true);
    let mut player = Player::new(Kit::new(&jointed, Method::BlendedLinear, STEP).unwrap()).unwrap();
    let joints = apart(&settle(&mut player, pose));
    println!(
        "from nonlinear, of the length: blended {blended:.4}, with joints {joints:.4}, global linear {linear:.4}"
    );
    assert!(blended < 0.02 && joints < 0.02, "{blended} {joints}");
    // 5.5 times as far as with joints of their own
    assert!(linear > 5.0 * joints, "{linear} {joints}");
    // 4.3 times as far
    assert!(linear > 4.0 * blended, "{linear} {blended}");
}

/// Linear maps to round-off; of a bar that is bent evenly, which is not linear, about half of what cells alone are off by.
#[test]
fn a_smooth_skin_does_not_show_the_cells_it_rides_in() {
    let bar = bar(24, 60);
    let flesh = Flesh::new(&bar.joints, bar.skin.clone(), settings(300)).unwrap();
    let skin = SmoothSkin::new(&flesh, &bar.skin.points);
    let lattice = flesh.lattice().points();
    let place = |map: &dyn Fn(Vec3) -> Vec3| lattice.iter().map(|p| map(*p)).collect::<Vec<_>>();
    let off = |points: &[Vec3], map: &dyn Fn(Vec3) -> Vec3| {
        let squares = points.iter().zip(&bar.skin.points).map(|(x, p)| x.distance_squared(map(*p)));
        (squares.sum::<f64>() / points.len() as f64).sqrt()
    };
    let linear = |p: Vec3| Vec3::new(1.3 * p.x + 0.4 * p.y, p.y - 0.2 * p.z, 0.9 * p.z + 0.1 * p.x) + Vec3::X;
    assert!(off(&skin.surface(&place(&linear)), &linear) < 1e-12);
    let evenly = |p: Vec3| {
        let (sine, cosine) = (0.8 * p.x).sin_cos();
        Vec3::new((1.25 - p.y) * sine, 1.25 - (1.25 - p.y) * cosine, p.z)
    };
    let x = place(&evenly);
    let [smooth, by_cells] = [skin.surface(&x), flesh.surface(&x)].map(|points| off(&points, &evenly));
    println!("{smooth:.5} m off, by cells alone {by_cells:.5}");
    assert!(smooth < 0.6 * by_cells, "{smooth} {by_cells}");
}
