//! What somebody may say about flesh besides its skin: limits of joints that swing, paint, places of joints, lattices of one's own.

#![allow(clippy::print_stdout)] // figures for the curious: --nocapture

mod common;

use character::{Error, Flesh, Kit, Method, Nonlinear, Player, Settings};
use common::{bar, bent, volume};
use geometry::{Cell, Lattice, Vec3};
use glam::{DAffine3, Mat4};
use solid::{Law, Material};

const STEP: f64 = 1.0 / 120.0;

/// How the bar's base turns to the side and stops.
fn turned(time: f64) -> DAffine3 {
    let s = (time / 0.25).clamp(0.0, 1.0);
    DAffine3::from_rotation_z(1.2 * s * s * (3.0 - 2.0 * s))
}

fn pose(time: f64) -> [Mat4; 2] {
    bent(0.0, 0.0).map(|joint| Mat4::from(turned(time).as_affine3()) * joint)
}

/// The largest angle, in degrees, by which the far half hangs off while the base turns.
fn swing(flesh: &Flesh, rest: &[Vec3], mut step: impl FnMut(&[Mat4], f64) -> Vec<Vec3>) -> f64 {
    let mut largest = 0.0_f64;
    assert_eq!(flesh.report().bones, 1);
    for k in 0..=30 {
        let time = f64::from(k) / 30.0;
        let coefficients = step(&pose(time), if k == 0 { 0.0 } else { 1.0 / 30.0 });
        let base = turned(time).inverse();
        let far = flesh.surface(&coefficients).into_iter().zip(rest).filter(|(_, rest)| rest.x > 0.3);
        let middle: Vec3 = far.map(|(p, _)| base.transform_point3(p)).sum();
        largest = largest.max(middle.angle_between(Vec3::X).to_degrees());
    }
    largest
}

#[test]
fn a_free_joint_stays_within_its_limit() {
    let bar = bar(12, 20);
    let limit = 15.0_f64;
    let material = Material { young: 6e4, damping: 0.3, ..Settings::default().material };
    let flesh = |limits: Vec<(usize, f64)>| {
        let settings = Settings { cells: 120, material, free: vec![1], limits, ..Settings::default() };
        Flesh::new(&bar.joints, bar.skin.clone(), settings).unwrap()
    };
    let (limited, free) = (flesh(vec![(1, limit.to_radians())]), flesh(Vec::new()));
    for method in [Method::BlendedLinear, Method::Corotated] {
        let play = |flesh: &Flesh| {
            let kit = Kit::new(flesh, method, STEP).unwrap();
            let mut player = Player::read(&kit.to_bytes()).unwrap();
            swing(flesh, &bar.skin.points, |pose, seconds| {
                player.step(pose, seconds).unwrap();
                player.shown().to_vec()
            })
        };
        let (held, wide) = (play(&limited), play(&free));
        println!("{method:?}: {held:.1} degrees within a limit of {limit}, {wide:.1} without");
        assert!(wide > 1.5 * limit && held < limit + 2.0, "{method:?}: {held} {wide}");
        assert!(held > 0.7 * limit, "{method:?}: {held}");
    }
    let play = |flesh: &Flesh| {
        let mut engine = Nonlinear::new(flesh, Law::NeoHookean, Some(2)).unwrap();
        swing(flesh, &bar.skin.points, |pose, seconds| {
            engine.step(pose, seconds).unwrap();
            engine.coefficients().to_vec()
        })
    };
    let (held, wide) = (play(&limited), play(&free));
    println!("nonlinear: {held:.1} degrees within a limit of {limit}, {wide:.1} without");
    assert!(wide > 1.5 * limit && held < limit + 5.0, "{held} {wide}");
}

#[test]
fn limits_that_are_none_get_a_sentence() {
    let bar = bar(10, 16);
    let flesh = |angle: f64| {
        let settings = Settings { cells: 60, free: vec![1], limits: vec![(1, angle)], ..Settings::default() };
        Flesh::new(&bar.joints, bar.skin.clone(), settings)
    };
    for angle in [-0.1, 1.6, f64::NAN] {
        assert!(matches!(flesh(angle), Err(Error::Range { .. })), "{angle}");
    }
    flesh(90.0_f64.to_radians()).unwrap();
}

#[test]
fn painted_regions_count_for_more_than_the_skin() {
    let bar = bar(12, 20);
    let paint: Vec<f64> = bar.skin.points.iter().map(|p| f64::from(u8::from(p.x > 0.2))).collect();
    let share = |painted_regions: Vec<(usize, Vec<f64>)>| {
        let settings = Settings { cells: 150, painted_regions, ..Settings::default() };
        let flesh = Flesh::new(&bar.joints, bar.skin.clone(), settings).unwrap();
        let far = |(v, _): &(usize, &Vec3)| !flesh.known()[*v] && flesh.lattice().points()[*v].x > 0.6;
        let points = flesh.lattice().points().iter().enumerate().filter(far);
        let weights = points.map(|(v, _)| {
            flesh.region_weights()[v].iter().filter(|(j, _)| *j == 0).map(|(_, w)| w).sum::<f64>()
        });
        let weights: Vec<f64> = weights.collect();
        weights.iter().sum::<f64>() / weights.len() as f64
    };
    let (own, painted) = (share(Vec::new()), share(vec![(0, paint)]));
    println!("of the far half {own:.3} belong to the first joint, painted {painted:.3}");
    assert!(own < 0.05 && painted > 0.6, "{own} {painted}");
    let short = Settings { painted_regions: vec![(0, vec![1.0; 3])], ..Settings::default() };
    let refused = Flesh::new(&bar.joints, bar.skin.clone(), short);
    assert!(matches!(refused, Err(Error::CountMismatch { found: 3, .. })));
}

#[test]
fn a_painted_part_is_made_of_something_else() {
    let bar = bar(12, 20);
    let light = Material { density: 100.0, ..Settings::default().material };
    let paint = bar.skin.points.iter().map(|p| f64::from(u8::from(p.x > 0.0))).collect();
    let settings = Settings { cells: 400, painted_materials: vec![(paint, light)], ..Settings::default() };
    let flesh = Flesh::new(&bar.joints, bar.skin.clone(), settings).unwrap();
    // half of it weighs a tenth
    let whole = 1000.0 * volume(&bar.skin.points, &bar.skin.triangles);
    let share = flesh.report().mass / whole;
    println!("{share:.3} of the mass without paint");
    assert!((share - 0.55).abs() < 0.03, "{share}");
}

#[test]
fn bones_begin_where_joints_are_placed() {
    let bar = bar(12, 20);
    let place = Vec3::new(0.15, 0.03, -0.02);
    let settings = Settings { cells: 100, places: vec![(1, place)], ..Settings::default() };
    let flesh = Flesh::new(&bar.joints, bar.skin.clone(), settings).unwrap();
    let (bones, chains) = flesh.bones();
    assert_eq!((bones[0].ends[1].rest, bones[1].ends[0].rest), (place, place));
    assert!(chains.iter().all(|chain| chain.len() > 1));
    // at rest the pose leaves it where it is
    let mut player = Player::new(Kit::new(&flesh, Method::BlendedLinear, STEP).unwrap()).unwrap();
    player.step(&bent(0.0, 0.0), 0.0).unwrap();
    let far = flesh
        .surface(player.shown())
        .iter()
        .zip(&bar.skin.points)
        .map(|(a, b)| a.distance(*b))
        .fold(0.0, f64::max);
    assert!(far < 1e-6, "{far}");
}

/// Boxes around the bar, with edges along its first bone.
fn boxes(by: Vec3) -> Lattice {
    let grid = Lattice::box_grid([12, 2, 2], Vec3::new(2.28, 0.5, 0.5)).unwrap();
    let points = grid.points().iter().map(|p| *p - Vec3::new(1.14, 0.25, 0.25) + by).collect();
    Lattice::new(points, grid.cells().to_vec()).unwrap()
}

#[test]
fn flesh_lives_in_a_lattice_that_somebody_made() {
    let bar = bar(12, 20);
    let within =
        |lattice: Lattice| Flesh::within(&bar.joints, bar.skin.clone(), lattice, Settings::default());
    let hexes = within(boxes(Vec3::ZERO)).unwrap();
    // the tip of the second bone lies within a box
    assert_eq!(hexes.report().soft_bones, [1]);
    let first = &hexes.bones().1[0];
    assert_eq!(first.len(), 6);
    assert!(hexes.lattice().cells().iter().all(|cell| matches!(cell, Cell::Hex(_))));
    let tets = within(Lattice::from_tets(&boxes(Vec3::ZERO).tets().unwrap().0)).unwrap();
    assert!(tets.report().soft_bones.is_empty() && tets.report().outside == 0);
    let exact = volume(&bar.skin.points, &bar.skin.triangles);
    for flesh in [&hexes, &tets] {
        assert!((flesh.report().volume / exact - 1.0).abs() < 0.02, "{} {exact}", flesh.report().volume);
        let mut player = Player::new(Kit::new(flesh, Method::BlendedLinear, STEP).unwrap()).unwrap();
        for k in 0..=30 {
            player.step(&bent(0.9 * (f64::from(k) / 15.0).min(1.0), 0.0), 1.0 / 30.0).unwrap();
        }
        let points = flesh.surface(player.shown());
        let change = volume(&points, &bar.skin.triangles) / exact - 1.0;
        println!("{} cells: volume {change:+.3} bent by 52 degrees", flesh.report().cells);
        assert!(change.abs() < 0.05, "{change}");
        let end = *points.last().unwrap();
        assert!(end.distance(Vec3::new(0.9_f64.cos(), 0.9_f64.sin(), 0.0)) < 0.1, "{end}");
    }
    // around half of it, and around nothing
    let half = within(boxes(Vec3::new(0.9, 0.0, 0.0))).unwrap();
    assert!(half.report().outside > 0);
    let nowhere = within(boxes(Vec3::new(0.0, 5.0, 0.0)));
    assert!(matches!(nowhere, Err(Error::Outside { outside: 254, count: 254 })), "{:?}", nowhere.err());
}
