//! A player: what games rely on.

#![allow(clippy::print_stdout)] // figures for the curious: --nocapture
#![allow(unsafe_code)] // an allocator that counts

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use character::{Adaptation, Error, Flesh, Kit, Method, Player, Settings};
use common::{RADIUS, bar, bent};
use geometry::Vec3;
use glam::Mat4;

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

fn kit(settings: Settings) -> Kit {
    let bar = bar(12, 20);
    let flesh = Flesh::new(&bar.joints, bar.skin, settings).unwrap();
    Kit::new(&flesh, Method::BlendedLinear, 1.0 / 240.0).unwrap()
}

fn small() -> Settings {
    Settings { cells: 150, joints: true, ..Settings::default() }
}

/// Waving.
fn pose(time: f64) -> [Mat4; 2] {
    bent(0.8 * (5.0 * time).sin(), 0.3 * (3.0 * time).sin())
}

fn surface(player: &Player) -> Vec<[f32; 3]> {
    let mut points = vec![[0.0; 3]; player.kit().point_count()];
    player.surface(&mut points);
    points
}

fn farthest(a: &[[f32; 3]], b: &[[f32; 3]]) -> f64 {
    let far = |(a, b): (&[f32; 3], &[f32; 3])| glam::Vec3::from(*a).distance(glam::Vec3::from(*b));
    f64::from(a.iter().zip(b).map(far).fold(0.0, f32::max))
}

fn play(kit: &Kit, rate: f64, seconds: f64) -> Vec<[f32; 3]> {
    let mut player = Player::new(kit.clone()).unwrap();
    for k in 0..=(seconds * rate).round() as u64 {
        player.step(&pose(k as f64 / rate), 1.0 / rate).unwrap();
    }
    surface(&player)
}

#[test]
fn packed_and_read_again_it_moves_by_the_same_bits_and_resumes() {
    let kit = kit(small());
    let bytes = kit.to_bytes();
    let mut one = Player::new(kit).unwrap();
    let mut two = Player::read(&bytes).unwrap();
    let mut three = Player::read(&bytes).unwrap();
    for k in 0..40 {
        let time = f64::from(k) / 57.0;
        one.step(&pose(time), 1.0 / 57.0).unwrap();
        two.step(&pose(time), 1.0 / 57.0).unwrap();
        if k == 20 {
            three.restore(&two.checkpoint()).unwrap();
        } else if k > 20 {
            three.step(&pose(time), 1.0 / 57.0).unwrap();
        }
    }
    assert_eq!(surface(&one), surface(&two));
    assert_eq!(surface(&one), surface(&three));
    assert!(three.restore(&[0; 24]).is_err());
}

/// Blended with joints of their own; with functions that come and go; every cell in a frame of its own; with a joint that swings.
#[test]
fn nothing_is_allocated_after_it_is_made() {
    let adaptation = Adaptation { refine: vec![0.02], coarsen: vec![0.01], ..Adaptation::default() };
    let adaptive = Settings { cells: 60, levels: 1, adaptation: Some(adaptation), ..Settings::default() };
    let swinging = Settings { free: vec![1], limits: vec![(1, 0.05)], ..small() };
    let coarse = Settings { cells: 60, ..Settings::default() };
    for (settings, method) in [
        (small(), Method::BlendedLinear),
        (adaptive, Method::BlendedLinear),
        (swinging, Method::BlendedLinear),
        (coarse, Method::Corotated),
    ] {
        assert_eq!(allocations(&settings, method), 0, "{method:?} {settings:?}");
    }
}

/// While it is stepped, pushed, pinned and put elsewhere.
fn allocations(settings: &Settings, method: Method) -> usize {
    let bar = bar(12, 20);
    let flesh = Flesh::new(&bar.joints, bar.skin, settings.clone()).unwrap();
    let mut player = Player::new(Kit::new(&flesh, method, 1.0 / 240.0).unwrap()).unwrap();
    let mut points = vec![[0.0; 3]; player.kit().point_count()];
    let poses: Vec<[Mat4; 2]> = (0..60).map(|k| pose(f64::from(k) / 60.0)).collect();
    let before = COUNT.with(Cell::get);
    for pose in &poses {
        player.step(pose, 1.0 / 60.0).unwrap();
        player.surface(&mut points);
    }
    player.push(3, Vec3::Y).unwrap();
    player.pin(5, Some(Vec3::ONE)).unwrap();
    player.step(&poses[0], 1.0 / 60.0).unwrap();
    player.pin(5, None).unwrap();
    player.teleport(&poses[0]).unwrap();
    COUNT.with(Cell::get) - before
}

/// A character that nobody saw for two seconds, while it went on: at once it is near its bones, and soon it moves as if it had been seen.
#[test]
fn after_a_hidden_period_it_moves_as_if_it_had_been_seen() {
    let material = solid::Material { damping: 0.5, ..Settings::default().material };
    let kit = kit(Settings { material, ..small() });
    let mut seen = Player::new(kit.clone()).unwrap();
    let mut hidden = Player::new(kit).unwrap();
    hidden.set_most_steps(12);
    let mut at_once = 0.0;
    for k in 0..=300 {
        let time = f64::from(k) / 60.0;
        seen.step(&pose(time), 1.0 / 60.0).unwrap();
        match k {
            0..30 | 151.. => hidden.step(&pose(time), 1.0 / 60.0).unwrap(),
            150 => {
                hidden.step(&pose(time), 121.0 / 60.0).unwrap();
                let mut fresh = Player::new(hidden.kit().clone()).unwrap();
                fresh.teleport(&pose(time)).unwrap();
                at_once = farthest(&surface(&hidden), &surface(&fresh));
            }
            _ => {}
        }
    }
    let in_the_end = farthest(&surface(&hidden), &surface(&seen));
    println!(
        "{at_once:.4} m from its skin when it is seen again; {in_the_end:.5} m apart afterwards, of 2 m"
    );
    assert!((hidden.dropped() - (121.0 / 60.0 - 12.0 / 240.0)).abs() < 0.01, "{}", hidden.dropped());
    assert!(at_once < 0.6 && in_the_end < 5e-3, "{at_once} {in_the_end}");
}

/// Eight points of one ring drawn to opposite sides, more than the functions near them can give: a mean is found, nothing flies apart,
/// and afterwards all is as it was.
#[test]
fn pins_that_contradict_each_other_are_met_as_well_as_can_be() {
    let bar = bar(12, 20);
    let flesh = Flesh::new(&bar.joints, bar.skin.clone(), small()).unwrap();
    let mut player = Player::new(Kit::new(&flesh, Method::BlendedLinear, 1.0 / 240.0).unwrap()).unwrap();
    player.step(&bent(0.0, 0.0), 0.0).unwrap();
    let rest = surface(&player);
    for k in 0..8 {
        let point = 10 * 12 + k;
        let by = if k % 2 == 0 { 0.02 } else { -0.02 };
        player.pin(point, Some(Vec3::from(rest[point].map(f64::from)) + by * Vec3::Y)).unwrap();
    }
    assert!(player.pin(0, Some(Vec3::ZERO)).is_err());
    for _ in 0..60 {
        player.step(&bent(0.0, 0.0), 1.0 / 60.0).unwrap();
    }
    let now = surface(&player);
    assert!(now.as_flattened().iter().all(|x| x.is_finite()));
    let far = farthest(&now, &rest);
    println!("{far:.3} m from rest at most, pins by 0.02 m to both sides");
    // it was 4.2 m when pins yielded by a billionth
    assert!(far < 0.5, "{far}");
    player.unpin();
    for _ in 0..600 {
        player.step(&bent(0.0, 0.0), 1.0 / 60.0).unwrap();
    }
    assert!(farthest(&surface(&player), &rest) < 2e-3);
}

#[test]
fn frames_of_any_length_show_the_same_motion() {
    let kit = kit(small());
    // the bar is two metres long: one per cent is 2 cm
    let fine = play(&kit, 300.0, 1.5);
    for rate in [24.0, 30.0, 60.0, 144.0] {
        let far = farthest(&play(&kit, rate, 1.5), &fine);
        println!("{rate} Hz: {far:.4} m from 300 Hz");
        assert!(far < 0.02, "{rate}: {far}");
    }
    // a stall of two seconds: what cannot be simulated is dropped and counted, and nothing flies apart
    let mut player = Player::new(kit).unwrap();
    player.set_most_steps(12);
    let mut worst = 0.0_f64;
    for k in 0..60 {
        let seconds = if k == 30 { 2.0 } else { 1.0 / 60.0 };
        player.step(&pose(f64::from(k) / 60.0), seconds).unwrap();
        let far = surface(&player).iter().map(|p| glam::Vec3::from(*p).length()).fold(0.0, f32::max);
        worst = worst.max(f64::from(far));
    }
    assert!((player.dropped() - (2.0 - 12.0 / 240.0)).abs() < 0.01, "{}", player.dropped());
    assert!(worst < 1.4, "{worst}");
}

#[test]
fn bad_input_gets_a_sentence_and_moves_nothing() {
    let kit = kit(small());
    let bytes = kit.to_bytes();
    let mut player = Player::new(kit).unwrap();
    player.step(&pose(0.0), 0.0).unwrap();
    player.step(&pose(0.1), 0.1).unwrap();
    let before = player.checkpoint();
    for seconds in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(player.step(&pose(0.2), seconds), Err(Error::Range { .. })));
    }
    let mut broken = pose(0.2);
    broken[1].w_axis.x = f32::NAN;
    assert!(matches!(player.step(&broken, 0.1), Err(Error::NotFinite { index: 1, .. })));
    assert!(matches!(player.step(&pose(0.2)[..1], 0.1), Err(Error::CountMismatch { .. })));
    assert!(player.push(100_000, Vec3::X).is_err());
    assert!(player.pin(0, Some(Vec3::NAN)).is_err());
    assert_eq!(player.checkpoint(), before);
    player.step(&pose(0.2), 0.0).unwrap();
    player.step(&pose(0.2), 5.0).unwrap();
    assert!(surface(&player).as_flattened().iter().all(|x| x.is_finite()));

    for cut in (0..bytes.len()).step_by(bytes.len() / 40) {
        assert!(matches!(Player::read(&bytes[..cut]), Err(Error::Packed { .. })), "{cut}");
    }
    for at in (0..bytes.len()).step_by(bytes.len() / 60) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x41;
        assert!(matches!(Player::read(&changed), Err(Error::Packed { .. })), "{at}");
    }
}

#[test]
fn pins_hold_and_let_go() {
    let mut player = Player::new(kit(small())).unwrap();
    player.step(&bent(0.0, 0.0), 0.0).unwrap();
    let rest = surface(&player);
    let point = 6 * 12;
    let place = Vec3::from(rest[point].map(f64::from)) + Vec3::new(0.0, 0.08, 0.0);
    player.pin(point, Some(place)).unwrap();
    for _ in 0..60 {
        player.step(&bent(0.0, 0.0), 1.0 / 60.0).unwrap();
    }
    let held = Vec3::from(surface(&player)[point].map(f64::from));
    assert!(held.distance(place) < 1e-4, "{held} {place}");
    player.pin(point, None).unwrap();
    for _ in 0..600 {
        player.step(&bent(0.0, 0.0), 1.0 / 60.0).unwrap();
    }
    assert!(farthest(&surface(&player), &rest) < 2e-3);
}

#[test]
fn flesh_turns_about_a_bone_only_without_twist() {
    let turned = |twist: f64| {
        let mut player = Player::new(kit(Settings { twist, ..small() })).unwrap();
        player.step(&bent(0.0, 0.0), 0.0).unwrap();
        // a couple around the bar in the middle of its first bone: 1 N on each side
        let (top, bottom) = (5 * 12, 5 * 12 + 6);
        for _ in 0..60 {
            let points = surface(&player);
            let across = (glam::Vec3::from(points[top]) - glam::Vec3::from(points[bottom])).as_dvec3();
            let push = Vec3::X.cross(across).normalize();
            player.push(top, push).unwrap();
            player.push(bottom, -push).unwrap();
            player.step(&bent(0.0, 0.0), 1.0 / 60.0).unwrap();
        }
        let points = surface(&player);
        let across = glam::Vec3::from(points[top]) - glam::Vec3::from(points[bottom]);
        assert!((f64::from(across.length()) - 2.0 * RADIUS).abs() < 0.3 * RADIUS);
        f64::from(across.z.atan2(across.y)).to_degrees().abs()
    };
    let (free, held) = (turned(0.0), turned(1.0));
    println!("turned by {free:.2} degrees without, {held:.2} with twist");
    assert!(held < 5.0 && free > 4.0 * held, "{free} {held}");
}
