//! The engine against formulas that are known.

use std::f64::consts::TAU;

use dynamics::{
    Block, Body, Effort, Elements, FnGuide, Follow, FollowDamping, ForceElement, Forces, Guide, GuideSample,
    Integrator, Settings, Spring, State, StaticGuide, Stepper, Substeps, follow_stiffness, stiffness_damping,
};
use geometry::{Mat3, Vec3};
use linear::ConstraintRows;

const G: Vec3 = Vec3::new(0.0, -9.81, 0.0);

fn fixed(integrator: Integrator, substeps: usize) -> Settings {
    Settings { integrator, substeps: Substeps::Fixed(substeps), tolerance: 1e-9, ..Settings::default() }
}

fn run(
    body: &Body,
    state: &mut State,
    guide: &dyn Guide,
    settings: Settings,
    seconds: f64,
    frames: usize,
) -> Effort {
    let mut stepper = Stepper::new(body, &[Vec3::ZERO, Vec3::X], settings).unwrap();
    let mut total = Effort::default();
    for _ in 0..frames {
        let effort = stepper.advance(body, state, guide, seconds / frames as f64, &mut []).unwrap();
        total.steps += effort.steps;
        total.rejected += effort.rejected;
    }
    total
}

#[test]
fn free_fall_is_exact_for_a_second_order_method() {
    // x = x₀ + v₀ t + g t²/2: a quadratic, so TR-BDF2 makes no error but round-off
    let body = Body::builder(vec![0.3]).gravity(G).build().unwrap();
    let mut state = State::at_rest(vec![Vec3::Y]);
    state.velocities[0] = Vec3::X;
    run(&body, &mut state, &StaticGuide::new(vec![Vec3::Y]), fixed(Integrator::TrBdf2, 1), 2.0, 48);
    let expected = Vec3::Y + 2.0 * Vec3::X + 2.0 * G;
    assert!((state.positions[0] - expected).length() < 1e-11, "{}", state.positions[0]);
    assert!((state.time - 2.0).abs() < 1e-12);
}

/// One mass on a linear tether to the origin, ω = 2π: after t the exact place is cos(ωt).
fn oscillator_error(integrator: Integrator, steps: usize) -> f64 {
    let body = Body::builder(vec![1.0]).energy(Follow::new([(0, TAU * TAU)])).build().unwrap();
    let mut state = State::at_rest(vec![Vec3::X]);
    run(&body, &mut state, &StaticGuide::new(vec![Vec3::ZERO]), fixed(integrator, 1), 1.2, steps);
    (state.positions[0].x - (TAU * 1.2).cos()).abs()
}

#[test]
fn orders_of_the_integrators() {
    let order = |integrator| (oscillator_error(integrator, 600) / oscillator_error(integrator, 1200)).log2();
    let tr_bdf2 = order(Integrator::TrBdf2);
    assert!((tr_bdf2 - 2.0).abs() < 0.1, "TR-BDF2 has order {tr_bdf2}");
    for first_order in [Integrator::BackwardEuler, Integrator::LinearlyImplicit { delta: 0.0 }] {
        let order = order(first_order);
        assert!((order - 1.0).abs() < 0.25, "{first_order:?} has order {order}");
    }
}

#[test]
fn stiff_vibrations_die_and_slow_ones_live() {
    // Two uncoupled oscillators in one system, ωh = 0.13 and 260. L-stability: |R(iωh)| → 0 for the fast one; for the slow one
    // TR-BDF2 loses about (ωh)⁴/100 a step.
    let body = Body::builder(vec![1.0, 1.0])
        .energy(Follow::new([(0, TAU * TAU), (1, 4e6 * TAU * TAU)]))
        .build()
        .unwrap();
    let mut state = State::at_rest(vec![Vec3::X, Vec3::X]);
    run(&body, &mut state, &StaticGuide::new(vec![Vec3::ZERO; 2]), fixed(Integrator::TrBdf2, 1), 1.0, 48);
    assert!(state.positions[1].length() < 1e-12);
    let energy = state.positions[0].length_squared() + state.velocities[0].length_squared() / (TAU * TAU);
    assert!(energy > 0.995, "kept {energy} of its energy in a whole period");
}

#[test]
fn pendulum_keeps_its_period() {
    // Length 1 m, 30° amplitude: T = 2π√(l/g) · (1 + θ²/16 + 11θ⁴/3072 + …) = 2.0409 s. A stiff spring (elongation
    // mg/k = 1e-5 m) stands for the rod.
    let theta = 30.0_f64.to_radians();
    let period = TAU * (1.0_f64 / 9.81).sqrt() * (1.0 + theta.powi(2) / 16.0 + 11.0 * theta.powi(4) / 3072.0);
    let rod = Elements::new([([0, 1], Spring { stiffness: 1e6, rest_length: 1.0 })]);
    let body = Body::builder(vec![1.0, 1.0]).energy(rod).known(vec![true, false]).gravity(G).build().unwrap();
    let start = Vec3::new(theta.sin(), -theta.cos(), 0.0);
    let swing = |frames: usize| {
        let mut state = State::at_rest(vec![Vec3::ZERO, start]);
        run(
            &body,
            &mut state,
            &StaticGuide::new(vec![Vec3::ZERO; 2]),
            fixed(Integrator::TrBdf2, 1),
            period,
            frames,
        );
        (state.positions[1] - start).length()
    };
    let (coarse, fine) = (swing(50), swing(200));
    assert!(coarse < 0.01, "1 cm off after a period of 50 steps: {coarse}");
    assert!(fine < coarse / 10.0, "second order: {coarse} → {fine}");
}

#[test]
fn automatic_substeps_hold_the_tolerance_and_the_frame_rate_does_not_matter() {
    let error = |frames: usize| {
        let body = Body::builder(vec![1.0]).energy(Follow::new([(0, TAU * TAU)])).build().unwrap();
        let mut state = State::at_rest(vec![Vec3::X]);
        let settings = Settings { tolerance: 1e-4, ..Settings::default() };
        let effort = run(&body, &mut state, &StaticGuide::new(vec![Vec3::ZERO]), settings, 1.2, frames);
        ((state.positions[0].x - (TAU * 1.2).cos()).abs(), effort.steps)
    };
    for frames in [2, 7, 24, 60] {
        let (error, steps) = error(frames);
        // local errors of at most 1e-4 of the size each step
        assert!(error < 1.5e-4 * steps as f64, "{frames} frames: error {error} in {steps} steps");
        assert!(steps < 150, "{frames} frames: {steps} steps");
    }
}

#[test]
fn damping_ratio_is_what_it_says() {
    // x(t) = e^{−ζωt} cos(ω√(1−ζ²) t): amplitude after a period e^{−2πζ/√(1−ζ²)}
    let ratio = 0.05;
    let spring = Elements::new([([0, 1], Spring { stiffness: TAU * TAU, rest_length: 5.0 })]);
    let body = Body::builder(vec![1.0; 2])
        .energy(spring.damped(stiffness_damping(ratio, 1.0)))
        .known(vec![true, false])
        .build()
        .unwrap();
    let mut state = State::at_rest(vec![Vec3::ZERO, 6.0 * Vec3::X]);
    let period = 1.0 / (1.0 - ratio * ratio).sqrt();
    run(&body, &mut state, &StaticGuide::new(vec![Vec3::ZERO; 2]), fixed(Integrator::TrBdf2, 1), period, 400);
    let (reached, expected) = (state.positions[1].x - 5.0, (-ratio * TAU * period).exp());
    assert!((reached - expected).abs() < 1e-3, "{reached} not {expected}");
}

#[test]
fn a_follower_swings_with_its_frequency_and_is_damped_towards_the_guide() {
    let stiffness = follow_stiffness(0.2, 0.5, 1.0);
    let body = Body::builder(vec![0.2])
        .energy(Follow::new([(0, stiffness)]))
        .force(FollowDamping::new([(0, 2.0 * (stiffness * 0.2).sqrt())]))
        .build()
        .unwrap();
    // the guide moves steadily; a critically damped follower ends up on it, without lag
    let guide = FnGuide(|t: f64, _: usize| Vec3::new(1.5 * t, 0.0, 0.0));
    let mut state = State::at_rest(vec![Vec3::Y]);
    run(&body, &mut state, &guide, fixed(Integrator::TrBdf2, 1), 4.0, 200);
    assert!((state.positions[0] - Vec3::new(6.0, 0.0, 0.0)).length() < 1e-6);
}

/// A hanging chain of `links` springs between two points `span` apart.
fn chain(links: usize, length: f64, span: f64, stiffness: f64) -> (Body, Vec<Vec3>) {
    let link = length / links as f64;
    let springs = (0..links as u32).map(|i| ([i, i + 1], Spring { stiffness, rest_length: link }));
    let mut masses = vec![0.1 * link; links + 1];
    (masses[0], masses[links]) = (0.05 * link, 0.05 * link);
    let mut known = vec![false; links + 1];
    (known[0], known[links]) = (true, true);
    let body = Body::builder(masses).energy(Elements::new(springs)).known(known).gravity(G).build().unwrap();
    let start = |i: usize| {
        Vec3::new(span * i as f64 / links as f64, -0.1 * ((i * (links - i)) as f64).sqrt() * link, 0.0)
    };
    (body, (0..=links).map(start).collect())
}

#[test]
fn static_solve_finds_the_catenary() {
    // y = a cosh(x/a) between supports d apart: length 2a sinh(d/2a), sag a(cosh(d/2a) − 1). With a = 1 and d = 2:
    // length 2 sinh 1, sag cosh 1 − 1 = 0.5430806. A polygon of n links misses it by O(1/n²).
    let sag = |links: usize| {
        let (body, start) = chain(links, 2.0 * 1.0_f64.sinh(), 2.0, 1e6);
        let mut state = State::at_rest(start.clone());
        let mut stepper = Stepper::new(&body, &start, Settings::default()).unwrap();
        stepper.settle(&body, &mut state, &StaticGuide::new(start)).unwrap();
        -state.positions[links / 2].y
    };
    let exact = 1.0_f64.cosh() - 1.0;
    let (coarse, fine) = ((sag(16) - exact).abs(), (sag(64) - exact).abs());
    assert!(fine < 3e-4, "sag off by {fine}");
    assert!(fine < coarse / 8.0, "second order in the links: {coarse} → {fine}");
}

/// A chain of stiff links, held at one end, whose middle is to be on the other side of the pin: full Newton steps stretch links that have to turn, so there
/// must be a line search, which the average, not yet met, may not keep from acting.
#[test]
fn a_line_search_acts_where_averages_are_yet_to_be_met() {
    struct Turned(f64);
    impl Guide for Turned {
        fn sample(&self, _: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
            positions.fill(Vec3::ZERO);
            velocities.fill(Vec3::ZERO);
        }
        fn averages(&self, _: f64, values: &mut [Vec3]) {
            values[0] = 0.45 * Vec3::new(self.0.cos(), self.0.sin(), 0.0);
        }
    }
    let guide = Turned(0.5);
    let springs = (0..10u32).map(|i| ([i, i + 1], Spring { stiffness: 1e5, rest_length: 0.1 }));
    let body = Body::builder(vec![0.01; 11])
        .energy(Elements::new(springs))
        .averages(ConstraintRows::new(11, [(1..11).map(|i| (i, 0.1)).collect::<Vec<_>>()]))
        .known((0..11).map(|i| i == 0).collect())
        .gravity(G)
        .build()
        .unwrap();
    let start: Vec<Vec3> = (0..11).map(|i| Vec3::new(0.1 * f64::from(i), 0.0, 0.0)).collect();
    let mut state = State::at_rest(start.clone());
    let settings = Settings { newton_iterations: 60, ..fixed(Integrator::BackwardEuler, 1) };
    let mut stepper = Stepper::new(&body, &start, settings).unwrap();
    let effort = stepper.advance(&body, &mut state, &guide, 0.2, &mut []).unwrap();
    let mut wanted = [Vec3::ZERO];
    guide.averages(0.0, &mut wanted);
    let average: Vec3 = state.positions[1..].iter().sum::<Vec3>() / 10.0;
    let longest = state.positions.windows(2).map(|w| w[0].distance(w[1])).fold(0.0, f64::max);
    assert!(effort.rejected == 0 && average.distance(wanted[0]) < 1e-9, "in one step: {effort:?}");
    assert!(longest < 0.1001, "{longest}");
}

#[test]
fn averages_hold_to_round_off_while_the_rest_moves_freely() {
    struct Lifted;
    impl Guide for Lifted {
        fn sample(&self, _: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
            positions.fill(Vec3::ZERO);
            velocities.fill(Vec3::ZERO);
        }
        fn averages(&self, time: f64, values: &mut [Vec3]) {
            values[0] = Vec3::new(0.3 * time, (3.0 * time).sin(), 0.0);
        }
    }
    let springs = (0..9u32).map(|i| ([i, i + 1], Spring { stiffness: 100.0, rest_length: 0.1 }));
    let body = Body::builder(vec![0.01; 10])
        .energy(Elements::new(springs))
        .averages(ConstraintRows::new(10, [(2..6).map(|i| (i, 0.25)).collect::<Vec<_>>()]))
        .gravity(G)
        .build()
        .unwrap();
    let start: Vec<Vec3> = (0..10).map(|i| Vec3::new(0.1 * f64::from(i) - 0.35, 0.0, 0.0)).collect();
    let mut state = State::at_rest(start.clone());
    let mut stepper = Stepper::new(&body, &start, Settings::default()).unwrap();
    for frame in 1..=24 {
        stepper.advance(&body, &mut state, &Lifted, 1.0 / 24.0, &mut []).unwrap();
        let average: Vec3 = state.positions[2..6].iter().sum::<Vec3>() / 4.0;
        let time = f64::from(frame) / 24.0;
        let wanted = Vec3::new(0.3 * time, (3.0 * time).sin(), 0.0);
        assert!(
            (average - wanted).length() < 1e-13,
            "frame {frame}: off by {:e}",
            (average - wanted).length()
        );
    }
    assert!(state.positions[9].distance(start[9]) > 0.1, "the rest is free");
}

#[test]
fn momentum_is_kept_by_internal_forces() {
    let springs = (0..20u32).map(|i| ([i, (i * 7 + 1) % 21], Spring { stiffness: 50.0, rest_length: 0.2 }));
    let body = Body::builder(vec![0.1; 21]).energy(Elements::new(springs).damped(0.01)).build().unwrap();
    let start: Vec<Vec3> = (0..21)
        .map(|i| 0.3 * Vec3::new((f64::from(i) * 1.3).sin(), (f64::from(i) * 0.7).cos(), 0.1))
        .collect();
    let mut state = State::at_rest(start.clone());
    run(&body, &mut state, &StaticGuide::new(start.clone()), fixed(Integrator::TrBdf2, 4), 1.0, 24);
    let momentum: Vec3 = state.velocities.iter().sum();
    assert!(momentum.length() < 1e-6, "{momentum}");
    assert!(state.positions.iter().zip(&start).any(|(x, s)| x.distance(*s) > 0.05), "it does move");
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let positions = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (body, start) = chain(3000, 3.0, 2.0, 1e4);
            let mut state = State::at_rest(start.clone());
            run(&body, &mut state, &StaticGuide::new(start), Settings::default(), 0.25, 6);
            state.to_bytes()
        })
    };
    let one = positions(1);
    assert_eq!(one, positions(2));
    assert_eq!(one, positions(5));
}

#[test]
fn a_resumed_run_gives_the_same_bits() {
    let (body, start) = chain(40, 2.4, 2.0, 1e4);
    let guide = StaticGuide::new(start.clone());
    let mut straight = State::at_rest(start.clone());
    let mut stepper = Stepper::new(&body, &start, Settings::default()).unwrap();
    for _ in 0..12 {
        stepper.advance(&body, &mut straight, &guide, 1.0 / 24.0, &mut []).unwrap();
    }
    let mut resumed = State::at_rest(start.clone());
    for _ in 0..12 {
        // a new process every frame: nothing but the checkpoint's bytes survives
        resumed = State::from_bytes(&resumed.to_bytes()).unwrap();
        let mut stepper = Stepper::new(&body, &start, Settings::default()).unwrap();
        stepper.advance(&body, &mut resumed, &guide, 1.0 / 24.0, &mut []).unwrap();
    }
    assert_eq!(straight.positions, resumed.positions);
}

/// Shaken at 200 Hz and followed to ten nanometres, time passes in ten thousandths of a frame: the frame is given up after a tenth of it, with
/// the point and the place.
#[test]
fn a_frame_that_crawls_is_given_up() {
    struct Shaken;
    impl Guide for Shaken {
        fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
            let (phase, speed) = (TAU * 200.0 * time, TAU * 200.0);
            positions.fill(0.1 * phase.sin() * Vec3::Y);
            velocities.fill(0.1 * speed * phase.cos() * Vec3::Y);
        }
    }
    let springs = [([0_u32, 1], Spring { stiffness: 1e3, rest_length: 1.0 })];
    let body =
        Body::builder(vec![1e-3; 2]).energy(Elements::new(springs)).known(vec![true, false]).build().unwrap();
    let start = vec![Vec3::ZERO, Vec3::X];
    let settings = Settings { tolerance: 1e-8, ..Settings::default() };
    let mut stepper = Stepper::new(&body, &start, settings).unwrap();
    let error = stepper.advance(&body, &mut State::at_rest(start), &Shaken, 1.0 / 24.0, &mut []).unwrap_err();
    assert!(matches!(error, dynamics::Error::Stuck { time, .. } if time < 0.5 / 24.0), "{error}");
}

#[test]
fn energies_are_those_of_springs_tethers_and_weights() {
    // ½k(l − l₀)² + ½k‖x − g‖² − m g·x
    let springs = Elements::new([([0, 1], Spring { stiffness: 8.0, rest_length: 1.5 })]);
    let body = Body::builder(vec![0.5, 2.0])
        .energy(springs)
        .energy(Follow::new([(1, 6.0)]))
        .gravity(G)
        .build()
        .unwrap();
    let (x, guide) = ([Vec3::Y, 3.0 * Vec3::Y], [Vec3::ZERO, Vec3::new(1.0, 3.0, 2.0)]);
    let sample = GuideSample { time: 0.0, guide_positions: &guide, guide_velocities: &[Vec3::ZERO; 2] };
    let elastic = 0.5 * 8.0 * 0.25 + 0.5 * 6.0 * 5.0;
    assert!((body.elastic_energy(&sample, &x) - elastic).abs() < 1e-12);
    let weight = 9.81 * (0.5 + 2.0 * 3.0);
    assert!((body.potential_energy(&sample, &x) - elastic - weight).abs() < 1e-12);
    let mut state = State::at_rest(x.to_vec());
    state.velocities = vec![2.0 * Vec3::X, Vec3::Z];
    assert_eq!(body.energies(&state, &guide), [2.0, elastic]);
}

/// f = −(a + b‖v‖) v + w.
struct Drag {
    linear: f64,
    quadratic: f64,
    wind: Vec3,
}

impl ForceElement<1> for Drag {
    fn force(&self, _: f64, _: &[Vec3; 1], v: &[Vec3; 1]) -> [Vec3; 1] {
        [self.wind - (self.linear + self.quadratic * v[0].length()) * v[0]]
    }

    fn damping(&self, _: f64, _: &[Vec3; 1], v: &[Vec3; 1]) -> Block<1> {
        let (speed, n) = (v[0].length(), v[0].normalize_or_zero());
        let nn = Mat3::from_cols(n * n.x, n * n.y, n * n.z);
        let all = self.linear + self.quadratic * speed;
        Block([[Mat3::IDENTITY * all + nn * (self.quadratic * speed)]])
    }
}

fn dragged(drag: Drag, frames: usize) -> State {
    let body = Body::builder(vec![2.0]).force(Forces(Elements::new([([0], drag)]))).build().unwrap();
    let place = Vec3::new(7.0, -3.0, 5.0);
    let mut state = State::at_rest(vec![place]);
    state.velocities[0] = 4.0 * Vec3::X;
    run(&body, &mut state, &StaticGuide::new(vec![place]), fixed(Integrator::TrBdf2, 1), 1.0, frames);
    state.positions[0] -= place;
    state
}

#[test]
fn forces_without_potential_brake_as_they_should() {
    // m v' = −b v²: v = v₀/(1 + v₀ t b/m), x = (m/b) ln(1 + v₀ t b/m)
    let state = dragged(Drag { linear: 0.0, quadratic: 1.5, wind: Vec3::ZERO }, 200);
    assert!(state.velocities[0].distance(Vec3::X) < 1e-3, "{}", state.velocities[0]);
    assert!((state.positions[0].x - 2.0 / 1.5 * 4.0_f64.ln()).abs() < 1e-3, "{}", state.positions[0]);
    // a push alone: v = v₀ + w t/m
    let state = dragged(Drag { linear: 0.0, quadratic: 0.0, wind: 6.0 * Vec3::Y }, 10);
    assert!(state.velocities[0].distance(Vec3::new(4.0, 3.0, 0.0)) < 1e-9, "{}", state.velocities[0]);
    // however strong, it only brakes, down to the wind
    let state = dragged(Drag { linear: 1e5, quadratic: 0.0, wind: 3e5 * Vec3::Y }, 10);
    assert!(state.velocities[0].distance(3.0 * Vec3::Y) < 1e-3, "{}", state.velocities[0]);
}

/// A force that is linear in v is no approximation: a step of backward Euler is v = (v₀ + h w/m)/(1 + h a/m), however long it is and wherever
/// Newton's method begins.
#[test]
fn a_linear_drag_is_exact_in_a_long_step() {
    let (a, m, h, w) = (8.0, 2.0, 0.25, 6.0);
    let drag = Drag { linear: a, quadratic: 0.0, wind: w * Vec3::Y };
    let body = Body::builder(vec![m]).force(Forces(Elements::new([([0], drag)]))).build().unwrap();
    let expected = (4.0 * Vec3::X + h * w / m * Vec3::Y) / (1.0 + h * a / m);
    for integrator in [Integrator::BackwardEuler, Integrator::LinearlyImplicit { delta: 1.0 }] {
        let mut state = State::at_rest(vec![Vec3::ZERO]);
        state.velocities[0] = 4.0 * Vec3::X;
        run(&body, &mut state, &StaticGuide::new(vec![Vec3::ZERO]), fixed(integrator, 1), h, 1);
        assert!(state.velocities[0].distance(expected) < 1e-9, "{integrator:?}: {}", state.velocities[0]);
        assert!(state.positions[0].distance(h * expected) < 1e-9, "{integrator:?}: {}", state.positions[0]);
    }
}

/// A tether so soft that inertia holds the point back in all but the longest pseudo-steps: it gets there all the same.
#[test]
fn what_hardly_pulls_comes_to_rest_too() {
    let body = Body::builder(vec![1.0]).energy(Follow::new([(0, 1e-7)])).build().unwrap();
    let mut state = State::at_rest(vec![Vec3::X]);
    let mut stepper = Stepper::new(&body, &[Vec3::ZERO, Vec3::X], Settings::default()).unwrap();
    stepper.settle(&body, &mut state, &StaticGuide::new(vec![Vec3::ZERO])).unwrap();
    assert!(state.positions[0].length() < 1e-3, "{}", state.positions[0]);
}
