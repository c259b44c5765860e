//! Contact against closed forms: Coulomb's slope, momentum of two bodies, room that runs out and comes back.

use contact::{Attachment, AuditedSurface, BarrierContact, CollisionSurface, Shape, audit, plane};
use dynamics::{Body, Elements, Settings, Span, State, StaticGuide, Stepper};
use geometry::Vec3;
use shell::{ClothBuilder, Material};

const RATE: f64 = 24.0;

/// Sheets of n×n cells, level, about the given middles.
fn sheets(n: u32, size: f64, middles: &[Vec3]) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let (mut points, mut triangles) = (Vec::new(), Vec::new());
    for middle in middles {
        let first = points.len() as u32;
        let at = |i: u32, j: u32| first + j * (n + 1) + i;
        for j in 0..=n {
            for i in 0..=n {
                let [x, z] = [i, j].map(|k| size * (f64::from(k) / f64::from(n) - 0.5));
                points.push(*middle + Vec3::new(x, 0.0, z));
            }
        }
        for (i, j) in (0..n).flat_map(|j| (0..n).map(move |i| (i, j))) {
            let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
            triangles.extend([[a, c, b], [a, d, c]]);
        }
    }
    (points, triangles)
}

/// Leather without air around it.
fn body(points: &[Vec3], triangles: &[[u32; 3]], known: Vec<bool>, gravity: Vec3) -> Body {
    let material = Material::preset("leather").expect("a preset");
    let cloth = ClothBuilder::new(points, triangles, &material).build().expect("sound");
    let friction = material.damping_time();
    Body::builder(cloth.masses)
        .energy(Elements::new(cloth.membranes).damped(friction))
        .energy(Elements::new(cloth.hinges).damped(friction))
        .known(known)
        .gravity(gravity)
        .build()
        .expect("sound")
}

/// The way along x from 0.5 s to 1 s, and the gain of speed, of a sheet on a plane when gravity pulls at a slope tan θ.
fn slide(friction: f64, slope: f64) -> (f64, f64) {
    let angle = slope.atan();
    let (points, triangles) = sheets(2, 0.2, &[Vec3::new(0.0, 1e-3, 0.0)]);
    let gravity = 9.81 * Vec3::new(angle.sin(), -angle.cos(), 0.0);
    let body = body(&points, &triangles, vec![false; points.len()], gravity);
    let cloth = CollisionSurface { friction, ..CollisionSurface::free("block", points.clone(), triangles) };
    let ground = CollisionSurface { friction, ..plane("slope", Vec3::ZERO, Vec3::Y, 20.0).expect("sound") };
    let mut collision =
        BarrierContact::new(vec![cloth], Attachment::identity(points.len()), vec![ground]).expect("sound");
    let mut state = State::at_rest(points.clone());
    let guide = StaticGuide::new(points.clone());
    let mut stepper = Stepper::new(&body, &points, Settings::default()).expect("sound");
    let middle = |x: &[Vec3]| x.iter().sum::<Vec3>() / x.len() as f64;
    let mut half = (Vec3::ZERO, Vec3::ZERO);
    for frame in 0..24 {
        if frame == 12 {
            half = (middle(&state.positions), middle(&state.velocities));
        }
        stepper
            .advance_with_contact(&body, &mut state, &guide, Some(&mut collision), 1.0 / RATE, &mut [])
            .expect("it goes on");
    }
    assert!(middle(&state.positions).y > 0.0 && middle(&state.positions).y < 4e-3, "it lies on the plane");
    ((middle(&state.positions) - half.0).x, (middle(&state.velocities) - half.1).x)
}

/// Below tan θ = μ it stays; above, a = g (sin θ − μ cos θ).
#[test]
fn a_block_sticks_or_slides_as_coulomb_says() {
    let slope: f64 = 0.5;
    let (way, speed) = slide(0.6, slope);
    assert!(way.abs() < 2e-4 && speed.abs() < 2e-3, "sticks: {way} m, {speed} m/s");
    for friction in [0.0, 0.3] {
        let (sin, cos) = slope.atan().sin_cos();
        let expected = 0.5 * 9.81 * (sin - friction * cos);
        let error = slide(friction, slope).1 / expected - 1.0;
        assert!(error.abs() < 0.03, "μ = {friction}: {error:+.3}");
    }
}

/// Two sheets meet in empty space: momentum is kept, and they do not bounce.
#[test]
fn two_bodies_keep_their_momentum_and_stay_together() {
    let (points, triangles) = sheets(3, 0.3, &[Vec3::ZERO, Vec3::new(0.011, 0.03, 0.017)]);
    let body = body(&points, &triangles, vec![false; points.len()], Vec3::ZERO);
    let cloth =
        CollisionSurface { friction: 0.0, ..CollisionSurface::free("sheets", points.clone(), triangles) };
    let mut collision =
        BarrierContact::new(vec![cloth], Attachment::identity(points.len()), Vec::new()).expect("sound");
    let mut state = State::at_rest(points.clone());
    let half = points.len() / 2;
    state.velocities[half..].fill(-Vec3::Y);
    let momentum =
        |state: &State| -> Vec3 { state.velocities.iter().zip(body.masses()).map(|(v, m)| *m * *v).sum() };
    let before = momentum(&state);
    let guide = StaticGuide::new(points.clone());
    let mut stepper = Stepper::new(&body, &points, Settings::default()).expect("sound");
    for _ in 0..12 {
        stepper
            .advance_with_contact(&body, &mut state, &guide, Some(&mut collision), 1.0 / RATE, &mut [])
            .expect("it goes on");
    }
    let after = momentum(&state);
    assert!((after - before).length() < 1e-3 * before.length(), "{before} became {after}");
    let mean = |range: std::ops::Range<usize>| {
        let count = range.len() as f64;
        state.velocities[range].iter().map(|v| v.y).sum::<f64>() / count
    };
    let (lower, upper) = (mean(0..half), mean(half..points.len()));
    assert!(upper - lower < 0.1, "restitution {}", upper - lower);
    assert!(upper - lower > -0.02, "{lower} {upper}");
}

/// Two balls close on a sheet until they overlap, and open again. What cannot be does not happen: the balls wait.
#[test]
fn what_has_no_room_is_held_and_let_go() {
    for cells in [4, 5, 7, 10] {
        pinch(cells);
    }
}

fn pinch(cells: u32) {
    let (flat, triangles) = sheets(cells, 0.4, &[Vec3::ZERO]);
    let points: Vec<Vec3> = flat.iter().map(|p| Vec3::new(p.x, -p.z, p.y)).collect();
    let known: Vec<bool> = points.iter().map(|p| p.y > 0.199).collect();
    let body = body(&points, &triangles, known.clone(), -9.81 * Vec3::Y);
    let cloth = CollisionSurface {
        known,
        thickness: 2e-3,
        ..CollisionSurface::free("sheet", points.clone(), triangles.clone())
    };
    let ball = Shape::Sphere { radius: 0.08 }.surface("ball", 0.07).expect("sound");
    let mut collision = BarrierContact::new(
        vec![cloth],
        Attachment::identity(points.len()),
        vec![ball.clone(), ball.clone()],
    )
    .expect("sound");
    // centres come to 6 cm of each other where 16 would be needed
    let apart = |frame: f64| 0.03 + 0.12 * (1.0 + (std::f64::consts::TAU * frame / 10.0).cos()) / 2.0;
    let at = |frame: f64| -> Vec<Vec3> {
        let one = |side: f64| ball.rest_positions.iter().map(move |p| *p + side * apart(frame) * Vec3::Z);
        one(1.0).chain(one(-1.0)).collect()
    };
    collision.place_obstacles(&at(0.0)).expect("sound");
    let mut state = State::at_rest(points.clone());
    let guide = StaticGuide::new(points.clone());
    let mut stepper = Stepper::new(&body, &points, Settings::default()).expect("sound");
    let (mut waited, mut last) = (0.0_f64, f64::MAX);
    for frame in 1..=10 {
        let frame = f64::from(frame);
        let positions = [at(frame - 1.0), at(frame)];
        let mean: Vec<Vec3> = positions[0].iter().zip(&positions[1]).map(|(a, b)| (*b - *a) * RATE).collect();
        let velocities = [mean.clone(), mean];
        state.time = (frame - 1.0) / RATE;
        let span = Span { start: state.time, duration: 1.0 / RATE, positions, velocities };
        collision.follow(span, &[]).expect("sound");
        stepper
            .advance_with_contact(&body, &mut state, &guide, Some(&mut collision), 1.0 / RATE, &mut [])
            .expect("it goes on");
        let stored = |x: &[Vec3]| -> Vec<[f32; 3]> { x.iter().map(|p| p.as_vec3().to_array()).collect() };
        let (sheet, proxies) = (stored(&state.positions), stored(collision.obstacle_positions()));
        let (one, two) = proxies.split_at(ball.rest_positions.len());
        let audited =
            |name, points, triangles, is_obstacle| AuditedSurface { name, points, triangles, is_obstacle };
        let crossings = audit(&[
            audited("sheet", &sheet[..], &triangles[..], false),
            audited("one", one, &ball.triangles, true),
            audited("two", two, &ball.triangles, true),
        ]);
        assert_eq!(crossings.expect("finite"), [], "{cells} cells, frame {frame}");
        waited = waited.max(collision.report().lag);
        last = collision.report().lag;
    }
    assert!(waited > 0.03, "{cells} cells: the balls had to wait: {waited}");
    assert!(last < 1e-3, "{cells} cells: and caught up: {last}");
}

/// Two sheets fall one behind the other at the same speed, three times their distance in a step. The ground stops the first, and
/// thereby the second, which nothing had to watch for as long as both moved alike.
#[test]
fn what_is_stopped_stops_what_follows() {
    let (points, triangles) = sheets(4, 0.3, &[Vec3::new(0.0, 0.1, 0.0), Vec3::new(0.013, 0.35, 0.009)]);
    let body = body(&points, &triangles, vec![false; points.len()], -9.81 * Vec3::Y);
    let cloth = CollisionSurface {
        thickness: 2e-3,
        ..CollisionSurface::free("sheets", points.clone(), triangles.clone())
    };
    let ground = plane("ground", Vec3::ZERO, Vec3::Y, 20.0).expect("sound");
    let mut collision =
        BarrierContact::new(vec![cloth], Attachment::identity(points.len()), vec![ground]).expect("sound");
    let mut state = State::at_rest(points.clone());
    state.velocities.fill(-18.0 * Vec3::Y);
    let guide = StaticGuide::new(points.clone());
    let mut stepper = Stepper::new(&body, &points, Settings::default()).expect("sound");
    for frame in 1..=4 {
        stepper
            .advance_with_contact(&body, &mut state, &guide, Some(&mut collision), 1.0 / RATE, &mut [])
            .expect("it goes on");
        let stored: Vec<[f32; 3]> = state.positions.iter().map(|p| p.as_vec3().to_array()).collect();
        let audited =
            AuditedSurface { name: "sheets", points: &stored, triangles: &triangles, is_obstacle: false };
        assert_eq!(audit(&[audited]).expect("finite"), [], "frame {frame}");
        let (lower, upper) = state.positions.split_at(points.len() / 2);
        assert!(state.positions.iter().all(|p| p.y > 0.0), "frame {frame}: below the ground");
        let mean = |x: &[Vec3]| x.iter().map(|p| p.y).sum::<f64>() / x.len() as f64;
        assert!(mean(upper) > mean(lower), "frame {frame}: they changed places");
    }
}

/// A sheet that begins inside a ball gets out.
#[test]
fn a_start_in_intersection_is_untangled() {
    let (points, triangles) = sheets(8, 0.5, &[Vec3::new(0.01, 0.17, 0.0)]);
    let body = body(&points, &triangles, vec![false; points.len()], Vec3::ZERO);
    let cloth = CollisionSurface::free("sheet", points.clone(), triangles.clone());
    let ball = Shape::Sphere { radius: 0.2 }.surface("ball", 0.06).expect("sound");
    let ball = CollisionSurface { sides: contact::Sides::Front, ..ball };
    let mut collision =
        BarrierContact::new(vec![cloth], Attachment::identity(points.len()), vec![ball.clone()])
            .expect("sound");
    let mut state = State::at_rest(points.clone());
    let guide = StaticGuide::new(points.clone());
    let mut stepper = Stepper::new(&body, &points, Settings::default()).expect("sound");
    let crossings = |state: &State| {
        let [sheet, other] = [&state.positions, &ball.rest_positions]
            .map(|x| x.iter().map(|p| p.to_array()).collect::<Vec<[f64; 3]>>());
        let audited = [
            AuditedSurface { name: "sheet", points: &sheet, triangles: &triangles, is_obstacle: false },
            AuditedSurface { name: "ball", points: &other, triangles: &ball.triangles, is_obstacle: true },
        ];
        audit(&audited).expect("finite").len()
    };
    assert!(crossings(&state) > 0);
    for _ in 0..36 {
        stepper
            .advance_with_contact(&body, &mut state, &guide, Some(&mut collision), 1.0 / RATE, &mut [])
            .expect("it goes on");
        if crossings(&state) == 0 {
            break;
        }
    }
    assert_eq!(crossings(&state), 0);
}
