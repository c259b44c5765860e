//! What an artist and a pipeline rely on: textures that come home, bodies that push, the same result again, and sentences instead
//! of NaN.

use fluid::{
    Domain, Drive, Error, Field, Fluid, Initial, InitialPressure, MovingMask, Obstacle, Quantity, Settings,
    Side, SoundSpeed, Source, State, Stepper,
};
use std::f64::consts::TAU;

fn advance(fluid: &Fluid, state: &mut State, drive: &Drive, seconds: f64) -> Result<fluid::Report, Error> {
    Stepper::new(fluid).advance(fluid, state, drive, seconds)
}

/// A steady vortex about the middle of a periodic square that turns its core once in a second, and its texture after that second,
/// against the truth: the fluid at x came from x turned back by ω(r) t.
fn turned_texture(n: usize) -> (f64, f64) {
    let domain = Domain::plane([n, n], [1.0, 1.0], [Side::Periodic; 2]).unwrap();
    let radius: f64 = 0.09;
    let omega = |r: f64| TAU * (-0.5 * (r / radius).powi(2)).exp();
    let arm = |p: [f64; 3]| [p[0] - 0.5, p[1] - 0.5];
    let r = |p: [f64; 3]| arm(p)[0].hypot(arm(p)[1]);
    let velocity = [
        Some(domain.field(|p| -omega(r(p)) * arm(p)[1])),
        Some(domain.field(|p| omega(r(p)) * arm(p)[0])),
        None,
    ];
    // dπ/dr = ω²r/c_pθ
    let swirl = TAU * radius;
    let pressure =
        domain.field(|p| -0.5 * swirl * swirl * (-(r(p) / radius).powi(2)).exp() / (1004.0 * 300.0));
    let initial = Initial { velocity, pressure: InitialPressure::Exner(pressure), ..Initial::default() };
    let settings = Settings {
        gravity: 0.0,
        sound_speed: SoundSpeed::Fixed(1.5),
        texture_sets: 1,
        ..Settings::default()
    };
    let (fluid, mut state) = Fluid::new(domain, settings, &initial).unwrap();
    advance(&fluid, &mut state, &Drive::default(), 1.0).unwrap();
    let texture = &state.textures(&fluid)[0];
    let expected = |axis: usize| {
        domain.field(|p| {
            let (s, c) = (-omega(r(p))).sin_cos();
            let [x, y] = arm(p);
            [c * x - s * y - x, s * x + c * y - y][axis]
        })
    };
    let mut square = 0.0;
    for axis in 0..2 {
        let (found, truth) = (&texture.displacement[axis].values, expected(axis).values);
        square += found.iter().zip(&truth).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
    }
    let middle = n / 2 - 1;
    let core =
        texture.displacement[0].at(middle, middle, 0).hypot(texture.displacement[1].at(middle, middle, 0));
    ((square / (n * n) as f64).sqrt(), f64::from(core))
}

#[test]
fn textures_of_a_turned_flow_come_back_at_the_schemes_order() {
    let ((coarse, _), (fine, core)) = (turned_texture(64), turned_texture(128));
    assert!((coarse / fine).log2() > 3.8, "{coarse} {fine}");
    assert!(core < 1e-3, "the core has turned once and is home: {core}");
}

/// A warm blob that rises in a small box.
fn blob(settings: Settings, shift: usize) -> (Fluid, State) {
    let domain = Domain::plane([48, 41], [1.2, 1.0], [Side::Periodic, Side::Wall]).unwrap();
    let plain = domain.field(|p| 15.0 * (-((p[0] - 0.5).powi(2) + (p[1] - 0.3).powi(2)) / 0.01).exp());
    let warm = Field::from_fn(plain.points, |[x, y, _]| plain.at((x + 48 - shift) % 48, y, 0));
    Fluid::new(domain, settings, &Initial { temperature: Some(warm), ..Initial::default() }).unwrap()
}

#[test]
fn a_moved_start_gives_a_moved_end() {
    let run = |shift: usize| {
        let (fluid, mut state) = blob(Settings::default(), shift);
        advance(&fluid, &mut state, &Drive::default(), 1.0).unwrap();
        state.temperature(&fluid)
    };
    let (here, there) = (run(0), run(17));
    for y in 0..41 {
        for x in 0..48 {
            assert_eq!(here.at(x, y, 0), there.at((x + 17) % 48, y, 0), "to the last bit");
        }
    }
}

#[test]
fn threads_and_checkpoints_change_nothing() {
    let settings = Settings {
        texture_sets: 2,
        texture_stretch: 0.3,
        texture_blend: 0.2,
        scalars: 1,
        ..Settings::default()
    };
    let run = |threads: usize, interrupted: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (fluid, mut state) = blob(settings.clone(), 0);
            let mut restarts = 0;
            for _ in 0..6 {
                restarts += advance(&fluid, &mut state, &Drive::default(), 0.25).unwrap().texture_restarts;
                if interrupted {
                    state = State::from_bytes(&fluid, &state.to_bytes(&fluid)).unwrap();
                }
            }
            assert!(restarts > 0, "the test must cross a restart");
            state.to_bytes(&fluid)
        })
    };
    let alone = run(1, false);
    assert!(alone == run(2, false) && alone == run(2, true));
}

#[test]
fn checkpoints_of_other_fluids_are_refused() {
    let (fluid, state) = blob(Settings::default(), 0);
    let (other, _) = blob(Settings { scalars: 1, ..Settings::default() }, 0);
    let bytes = state.to_bytes(&fluid);
    assert!(matches!(State::from_bytes(&other, &bytes), Err(Error::Checkpoint(_))));
    assert!(matches!(State::from_bytes(&fluid, &bytes[..bytes.len() - 1]), Err(Error::Checkpoint(_))));
    assert!(matches!(State::from_bytes(&fluid, &[]), Err(Error::Checkpoint(_))));
}

#[test]
fn a_stretched_texture_is_restarted_and_blended_in() {
    let settings =
        Settings { texture_sets: 2, texture_stretch: 0.5, texture_blend: 0.3, ..Settings::default() };
    let (fluid, mut state) = blob(settings, 0);
    let mut shown = Vec::new();
    for _ in 0..60 {
        advance(&fluid, &mut state, &Drive::default(), 0.05).unwrap();
        let sets = state.textures(&fluid);
        assert!((sets[0].weight + sets[1].weight - 1.0).abs() < 1e-12);
        // a set that counts is never far over the limit for long
        let worst = if sets[0].weight == 1.0 {
            state.texture_stretch(&fluid, 0).min(state.texture_stretch(&fluid, 1))
        } else {
            0.0
        };
        assert!(worst < 0.7, "{worst}");
        shown.push((sets[0].since, sets[0].weight));
    }
    assert!(shown.last().unwrap().0 > 0.0, "it must have been restarted");
    assert!(shown.iter().any(|s| s.1 > 0.1 && s.1 < 0.9), "and seen half way through the blend");
}

/// A square body in still, smoky air.
fn body(cover: impl Fn(f64, f64) -> bool) -> (Fluid, State, Field) {
    let domain = Domain::plane([64, 49], [1.6, 1.2], [Side::Periodic, Side::Wall]).unwrap();
    let smoke = domain.field(|p| if p[0] > 0.8 { 1.0 } else { 0.0 });
    let settings = Settings { scalars: 1, ..Settings::default() };
    let initial = Initial { scalars: vec![fluid::smooth(&smoke, &domain, 1.0)], ..Initial::default() };
    let (fluid, state) = Fluid::new(domain, settings, &initial).unwrap();
    let mask = domain.field(|p| if cover(p[0], p[1]) { 1.0 } else { 0.0 });
    (fluid, state, mask)
}

#[test]
fn a_body_that_fills_the_domain_stops_everything() {
    let (fluid, mut state, mask) = body(|_, _| true);
    let wind = Source { quantity: Quantity::Velocity(0), rate: fluid.domain().field(|_| 3.0), toward: None };
    let obstacle = Some(Obstacle { mask, velocity: [None, None, None] });
    let report = advance(&fluid, &mut state, &Drive { sources: vec![wind], obstacle }, 1.0).unwrap();
    assert!(report.peak_speed < 0.05, "{report:?}");
}

#[test]
fn a_moving_body_pushes_the_air_and_keeps_its_mass() {
    let (fluid, mut state, from) = body(|x, y| (x - 0.4).abs() < 0.12 && (y - 0.6).abs() < 0.25);
    let to = fluid
        .domain()
        .field(|p| if (p[0] - 0.6).abs() < 0.12 && (p[1] - 0.6).abs() < 0.25 { 1.0 } else { 0.0 });
    let path = MovingMask::new(&from, &to, fluid.domain(), 0.5, 1.0).unwrap();
    let before = state.mass(&fluid);
    for i in 0..10 {
        let drive = Drive { sources: vec![], obstacle: Some(path.at((i as f64 + 0.5) / 10.0)) };
        advance(&fluid, &mut state, &drive, 0.05).unwrap();
    }
    let u = state.velocity(&fluid, 0);
    assert!((u.at(24, 24, 0) - 0.4).abs() < 0.05, "inside, the air goes with the body: {}", u.at(24, 24, 0));
    assert!(u.at(31, 24, 0) > 0.1, "ahead it is pushed: {}", u.at(31, 24, 0));
    assert!(u.at(24, 44, 0) < -0.02, "and flows back around: {}", u.at(24, 44, 0));
    let after = state.mass(&fluid);
    assert!((after.0 - before.0).abs() < 2e-3 * before.1, "{before:?} {after:?}");
    let (low, high) = state.scalar(&fluid, 0).range();
    assert!(low > -0.1 && high < 1.1, "smoke must not ring: {low} {high}");
}

#[test]
fn without_gravity_nothing_rises() {
    let (fluid, mut state) = blob(Settings { gravity: 0.0, ..Settings::default() }, 0);
    advance(&fluid, &mut state, &Drive::default(), 1.0).unwrap();
    assert_eq!(state.peak_speed(), 0.0);
    let (fluid, mut state) = blob(Settings { gravity: -9.81, ..Settings::default() }, 0);
    advance(&fluid, &mut state, &Drive::default(), 0.5).unwrap();
    assert!(state.velocity(&fluid, 1).range().0 < -0.1, "upside down, warm air falls");
}

#[test]
fn absurd_input_gets_a_sentence_with_time_place_and_dial() {
    let domain = Domain::plane([32, 33], [1.0, 1.0], [Side::Periodic, Side::Wall]).unwrap();
    let start = |kelvin: f64, settings: Settings| {
        let spot = domain.field(|p| if (p[0] - 0.5).hypot(p[1] - 0.5) < 0.2 { kelvin } else { 0.0 });
        Fluid::new(domain, settings, &Initial { temperature: Some(spot), ..Initial::default() })
    };
    // colder than nothing
    assert!(matches!(start(-400.0, Settings::default()), Err(Error::BelowZero { .. })));
    // a sun in a box: either it works, or it says why not
    let (fluid, mut state) = start(1e6, Settings::default()).unwrap();
    if let Err(error) = advance(&fluid, &mut state, &Drive::default(), 2.0) {
        assert!(error.to_string().contains("temperature"), "{error}");
    }
    assert!(
        state.temperature(&fluid).values.iter().all(|v| v.is_finite()),
        "the state must stay what it was"
    );
    // a sound slower than the flow
    let slow = Settings { sound_speed: SoundSpeed::Fixed(0.2), ..Settings::default() };
    let (fluid, mut state) = start(40.0, slow).unwrap();
    let error = advance(&fluid, &mut state, &Drive::default(), 5.0).unwrap_err();
    assert!(
        matches!(error, Error::Supersonic { .. }) && error.to_string().contains("sound_speed"),
        "{error}"
    );
    assert!(state.velocity(&fluid, 1).values.iter().all(|v| v.is_finite()));
    // a tower into space
    let tower = Domain::plane([16, 33], [1e4, 6e4], [Side::Periodic, Side::Wall]).unwrap();
    let error = Fluid::new(tower, Settings::default(), &Initial::default()).unwrap_err();
    assert!(error.to_string().contains("gravity"), "{error}");
    // cooling without end
    let (fluid, mut state) = start(0.0, Settings::default()).unwrap();
    let cooling = Source { quantity: Quantity::Temperature, rate: domain.field(|_| -200.0), toward: None };
    let error =
        advance(&fluid, &mut state, &Drive { sources: vec![cooling], obstacle: None }, 5.0).unwrap_err();
    assert!(matches!(error, Error::BelowZero { time, .. } if time > 1.4 && time < 1.6), "{error}");
    // images of the wrong size, or with holes
    let wrong =
        Source { quantity: Quantity::Temperature, rate: Field::constant([3, 3, 1], 0.0), toward: None };
    let error =
        advance(&fluid, &mut state, &Drive { sources: vec![wrong], obstacle: None }, 0.1).unwrap_err();
    assert!(matches!(error, Error::Size { .. }));
    let hole = Source { quantity: Quantity::Scalar(0), rate: domain.field(|_| 1.0), toward: None };
    let error = advance(&fluid, &mut state, &Drive { sources: vec![hole], obstacle: None }, 0.1).unwrap_err();
    assert!(matches!(error, Error::Dial { .. }), "a scalar that the fluid does not have");
    assert!(
        Fluid::new(domain, Settings { courant: f64::NAN, ..Settings::default() }, &Initial::default())
            .is_err()
    );
}

#[test]
fn smoke_in_a_box_rises_in_three_dimensions() {
    let domain = Domain::volume([24, 33, 24], [1.0, 1.4, 1.0], [Side::Wall; 3]).unwrap();
    let ball = domain.field(|p| {
        let r2 = (p[0] - 0.5).powi(2) + (p[1] - 0.35).powi(2) + (p[2] - 0.5).powi(2);
        (-r2 / 0.02).exp()
    });
    let warm = Field { values: ball.values.iter().map(|v| 20.0 * v).collect(), ..ball.clone() };
    let settings = Settings { scalars: 1, texture_sets: 1, ..Settings::default() };
    let initial = Initial { temperature: Some(warm), scalars: vec![ball.clone()], ..Initial::default() };
    let (fluid, mut state) = Fluid::new(domain, settings, &initial).unwrap();
    advance(&fluid, &mut state, &Drive::default(), 1.0).unwrap();
    let height = |field: &Field| {
        let total: f32 = field.values.iter().sum();
        let first = field.values.iter().enumerate().map(|(i, v)| (i / 24 % 33) as f32 * v).sum::<f32>();
        first / total * 1.4 / 32.0
    };
    let smoke = state.scalar(&fluid, 0);
    assert!(height(&smoke) > height(&ball) + 0.05, "{} {}", height(&ball), height(&smoke));
    // the same from every side: x and z are alike
    for y in 0..33 {
        for (a, b) in [(3, 9), (5, 17), (11, 2)] {
            assert!((smoke.at(a, y, b) - smoke.at(b, y, a)).abs() < 1e-4);
        }
    }
}
