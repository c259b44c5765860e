//! Constraints other than contact in Newton's loop: a floor that shortens steps, a rope that asks for more iterations.

use geometry::{Mat3, Vec3};
use linear::{Matrix, Method};

use super::Progress;
use crate::body::StagedBody;
use crate::stage::{NewtonReport, NewtonSettings, Stage, Workspace, YieldingRows};
use crate::{
    Body, Elements, Error, FollowDamping, GuideSample, Spring, StageConstraint, StageHistory, StepBound,
};

const G: f64 = 9.81;

/// Solves for rest: a stage so long that inertia is nothing.
fn solve(
    body: &Body,
    start: &[Vec3],
    settings: NewtonSettings,
    constraints: &mut [&mut dyn StageConstraint],
) -> (NewtonReport, Vec<Vec3>) {
    solve_from(body, start, start, None, Method::Auto, settings, constraints)
}

/// The same, with a prediction, another guess beside it and a linear solver of choice.
fn solve_from(
    body: &Body,
    start: &[Vec3],
    prediction: &[Vec3],
    other_guess: Option<&[Vec3]>,
    method: Method,
    settings: NewtonSettings,
    constraints: &mut [&mut dyn StageConstraint],
) -> (NewtonReport, Vec<Vec3>) {
    let zeros = vec![Vec3::ZERO; start.len()];
    let stage = Stage {
        start,
        base: start,
        drift: &zeros,
        implicit_dt: 1e4,
        elapsed: 1e4,
        other_guess,
        history: StageHistory { implicit_dt: 1e4, positions: [(1.0, start), (0.0, start)], internal: &[] },
        sample: GuideSample { time: 0.0, guide_positions: start, guide_velocities: &zeros },
        averages: &vec![Vec3::ZERO; body.averages().len()],
    };
    let mut x = prediction.to_vec();
    let mut work = Workspace::new(body, linear::Settings { method }).unwrap();
    let mut rows = YieldingRows::new(body);
    let report = work.solve(body, &stage, settings, &mut rows, constraints, &mut x).unwrap();
    (report, x)
}

/// E = −κ ln y for each point: no point gets below y = 0, if steps are shortened.
struct Floor {
    kappa: f64,
    limits_steps: bool,
    shortened: usize,
    lowest: f64,
}

impl Floor {
    fn new(limits_steps: bool) -> Self {
        Self { kappa: 0.01, limits_steps, shortened: 0, lowest: f64::INFINITY }
    }
}

impl StageConstraint for Floor {
    fn update(&mut self, x: &[Vec3]) -> Result<(), Error> {
        self.lowest = x.iter().fold(self.lowest, |lowest, x| lowest.min(x.y));
        Ok(())
    }

    fn value(&self, x: &[Vec3]) -> f64 {
        x.iter().map(|x| -self.kappa * x.y.ln()).sum()
    }

    fn assemble(&mut self, x: &[Vec3], _: &[Vec3], force: &mut [Vec3], matrix: &mut Matrix) {
        for (i, x) in x.iter().enumerate() {
            force[i].y += self.kappa / x.y;
            let stiffness = Mat3::from_diagonal(self.kappa / (x.y * x.y) * Vec3::Y);
            assert!(matrix.add(i as u32, i as u32, stiffness));
        }
    }

    fn limit_step(&mut self, x: &[Vec3], delta: &mut [Vec3]) -> Result<StepBound, Error> {
        let mut bound = StepBound::default();
        for (x, delta) in x.iter().zip(delta).filter(|_| self.limits_steps) {
            if x.y + delta.y < 0.1 * x.y {
                *delta *= -0.9 * x.y / delta.y;
                bound.shortened += 1;
            }
        }
        self.shortened += bound.shortened;
        Ok(bound)
    }
}

#[test]
fn a_step_limiter_keeps_every_iterate_admissible() {
    let body = Body::builder(vec![2.0]).gravity(-G * Vec3::Y).build().unwrap();
    let settings = NewtonSettings { iterations: 60, ..NewtonSettings::smooth(60, 1e-9).constrained() };
    let start = [Vec3::new(0.3, 1.0, 0.0)];
    let mut floor = Floor::new(true);
    let (report, x) = solve(&body, &start, settings, &mut [&mut floor]);
    assert!(report.converged && floor.lowest > 0.0 && floor.shortened > 0, "{report:?}");
    // κ/y = m g
    assert!((x[0].y - 0.01 / (2.0 * G)).abs() < 1e-8, "{x:?}");

    // its Newton steps without the limiter pass through the floor
    let mut floor = Floor::new(false);
    solve(&body, &start, settings, &mut [&mut floor]);
    assert!(floor.lowest < 0.0);
}

/// A rope between points 1 and 2, no longer than its length: augmented Lagrangian, E = (max(0, λ + k c)² − λ²)/2k with
/// c = ‖x₂ − x₁‖ − l, and λ ← max(0, λ + k c) whenever Newton's method has converged.
struct Rope {
    length: f64,
    stiffness: f64,
    tension: f64,
    /// Whether the multiplier is updated: otherwise a penalty.
    is_strict: bool,
    updates: usize,
}

impl Rope {
    fn new(is_strict: bool) -> Self {
        Self { length: 0.5, stiffness: 200.0, tension: 0.0, is_strict, updates: 0 }
    }

    /// Tension and direction.
    fn pull(&self, x: &[Vec3]) -> (f64, Vec3, f64) {
        let d = x[2] - x[1];
        let tension = self.tension + self.stiffness * (d.length() - self.length);
        (tension.max(0.0), d.normalize(), d.length())
    }
}

impl StageConstraint for Rope {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        visit(&[1, 2]);
    }

    fn value(&self, x: &[Vec3]) -> f64 {
        (self.pull(x).0.powi(2) - self.tension.powi(2)) / (2.0 * self.stiffness)
    }

    fn assemble(&mut self, x: &[Vec3], _: &[Vec3], force: &mut [Vec3], matrix: &mut Matrix) {
        let (tension, n, length) = self.pull(x);
        force[1] += tension * n;
        force[2] -= tension * n;
        if tension == 0.0 {
            return;
        }
        let nn = Mat3::from_cols(n * n.x, n * n.y, n * n.z);
        let block = nn * self.stiffness + (Mat3::IDENTITY - nn) * (tension / length);
        for (i, j, sign) in [(1, 1, 1.0), (2, 2, 1.0), (2, 1, -1.0)] {
            assert!(matrix.add(i, j, block * sign));
        }
    }

    fn is_satisfied(&mut self, x: &[Vec3]) -> Result<bool, Error> {
        let (tension, _, length) = self.pull(x);
        if !self.is_strict || length < self.length * (1.0 + 1e-9) {
            return Ok(true);
        }
        (self.tension, self.updates) = (tension, self.updates + 1);
        Ok(false)
    }
}

/// Point 0 is held; 1 hangs on it by a spring, and 2 on 1 by the rope alone, which couples points that no energy couples.
fn hang(rope: &mut Rope) -> (NewtonReport, Vec<Vec3>) {
    let spring = Spring { stiffness: 100.0, rest_length: 1.0 };
    let body = Body::builder(vec![1.0, 1.0, 3.0])
        .energy(Elements::new([([0, 1], spring)]))
        .known(vec![true, false, false])
        .gravity(-G * Vec3::Y)
        .build()
        .unwrap();
    assert!(body.pattern().slot(2, 1).is_none());
    let start = [Vec3::ZERO, -Vec3::Y, -1.4 * Vec3::Y];
    let settings = NewtonSettings { iterations: 80, ..NewtonSettings::smooth(80, 1e-12).constrained() };
    solve(&body, &start, settings, &mut [rope])
}

#[test]
fn a_constraint_may_ask_for_more_iterations_after_convergence() {
    let mut strict = Rope::new(true);
    let (report, x) = hang(&mut strict);
    assert!(report.converged && strict.updates > 0, "{report:?}");
    // the rope at its length carries the weight below it, the spring both weights
    assert!((x[1].distance(x[2]) - 0.5).abs() < 1e-8, "{x:?}");
    assert!((strict.tension - 3.0 * G).abs() < 1e-5, "{}", strict.tension);
    assert!((-x[1].y - (1.0 + 4.0 * G / 100.0)).abs() < 1e-8, "{x:?}");

    // a penalty alone stretches by m g/k
    let (report, x) = hang(&mut Rope::new(false));
    assert!(report.converged);
    assert!((x[1].distance(x[2]) - 0.5 - 3.0 * G / 200.0).abs() < 1e-8, "{x:?}");
}

#[test]
fn one_that_is_never_satisfied_ends_with_the_iterations() {
    struct Never;
    impl StageConstraint for Never {
        fn is_satisfied(&mut self, _: &[Vec3]) -> Result<bool, Error> {
            Ok(false)
        }
    }
    let body = Body::builder(vec![1.0]).build().unwrap();
    let settings = NewtonSettings::smooth(25, 1e-6).constrained();
    let (report, _) = solve(&body, &[Vec3::ZERO], settings, &mut [&mut Never]);
    assert!(!report.converged);
    assert_eq!(report.iterations, 8);
}

/// While a limit is exceeded there are sixteen more iterations, and no more.
#[test]
fn what_is_beyond_its_limit_gets_more_iterations() {
    struct Beyond(f64);
    impl StageConstraint for Beyond {
        fn is_satisfied(&mut self, _: &[Vec3]) -> Result<bool, Error> {
            Ok(false)
        }
        fn excess(&self, _: &[Vec3]) -> f64 {
            self.0
        }
    }
    let body = Body::builder(vec![1.0]).build().unwrap();
    let settings = NewtonSettings::smooth(25, 1e-6).constrained();
    for (excess, iterations) in [(0.0, 8), (0.1, 24)] {
        let (report, _) = solve(&body, &[Vec3::ZERO], settings, &mut [&mut Beyond(excess)]);
        assert_eq!((report.iterations, report.excess, report.converged), (iterations, excess, excess > 0.0));
    }
}

/// A spring can be at rest on either side of where it hangs: of two guesses the one with the lower Φ decides.
#[test]
fn of_two_guesses_the_lower_one_is_taken() {
    let spring = Spring { stiffness: 100.0, rest_length: 1.0 };
    let body = Body::builder(vec![1.0; 2])
        .energy(Elements::new([([0, 1], spring)]))
        .known(vec![true, false])
        .build()
        .unwrap();
    let start = [Vec3::ZERO, 1.2 * Vec3::X];
    for (other, expected) in [(-1.1, -1.0), (-1.3, 1.0)] {
        let other = [Vec3::ZERO, other * Vec3::X];
        let settings = NewtonSettings::smooth(25, 1e-9);
        let (report, x) = solve_from(&body, &start, &start, Some(&other), Method::Auto, settings, &mut []);
        assert!(report.converged && x[1].distance(expected * Vec3::X) < 1e-6, "{x:?}");
    }
}

/// Both ways ahead strain the spring, on the far side of where it hangs: beside an average that is held, iterations begin at the start, and end near it.
#[test]
fn where_every_way_ahead_strains_the_start_is_taken() {
    let spring = Spring { stiffness: 100.0, rest_length: 1.0 };
    let body = |is_held: bool| {
        let row = linear::ConstraintRows::new(3, is_held.then(|| vec![(2, 1.0)]));
        Body::builder(vec![1.0; 3])
            .energy(Elements::new([([0, 1], spring)]))
            .known(vec![true, false, false])
            .averages(row)
            .build()
            .unwrap()
    };
    let settings = NewtonSettings::smooth(25, 1e-9);
    let at = |x: f64| [Vec3::ZERO, x * Vec3::X, Vec3::ZERO];
    for (is_held, start, expected) in [(true, 1.05, 1.0), (true, 1.5, -1.0), (false, 1.05, -1.0)] {
        let body = body(is_held);
        let (report, x) =
            solve_from(&body, &at(start), &at(-1.2), Some(&at(-1.3)), Method::Auto, settings, &mut []);
        assert!(report.converged && x[1].distance(expected * Vec3::X) < 1e-6, "{x:?}");
    }
    // a step that may be all that there was is not believed from there: the second says how the first has shrunk
    let settings = NewtonSettings { corrections: 0, ..NewtonSettings::smooth(25, 1e-3) };
    let (body, start, prediction) = (body(true), at(1.001), at(1.002));
    let from = |other: f64| {
        solve_from(&body, &start, &prediction, Some(&at(other)), Method::Auto, settings, &mut []).0.iterations
    };
    assert_eq!([from(1.0005), from(-1.3)], [1, 2]);
}

/// A pull on a spring that is stretched already: the factor of the first step finds all that is missing.
#[test]
fn corrections_spare_factorisations() {
    let spring = Spring { stiffness: 100.0, rest_length: 1.0 };
    let body = Body::builder(vec![1.0, 3.0])
        .energy(Elements::new([([0, 1], spring)]))
        .known(vec![true, false])
        .gravity(-G * Vec3::Y)
        .build()
        .unwrap();
    let start = [Vec3::ZERO, Vec3::new(0.02, -1.3, 0.0)];
    let settings = NewtonSettings::smooth(25, 1e-5);
    let (report, x) = solve_from(&body, &start, &start, None, Method::Direct, settings, &mut []);
    assert!((x[1] + (1.0 + 3.0 * G / 100.0) * Vec3::Y).length() < 1e-5, "{x:?}");
    assert!(report.converged && report.factorizations == 1, "{report:?}");
    assert!(report.residual < 1e-4, "what it last moved by, {}", report.residual);
}

/// Steps that grow, or that after the third are not shorter than 0.8 of the one before the last; not with a line search.
#[test]
fn full_steps_that_lead_nowhere_are_told() {
    let settings = NewtonSettings::smooth(25, 1e-6).constrained();
    for (round, residual, before, earlier, expected) in [
        (1, 2.0, 1.0, 1.0, false),
        (2, 2.0, 1.0, 1.0, true),
        (2, 0.9, 1.0, 1.0, false),
        (4, 0.9, 1.0, 1.0, true),
        (4, 0.7, 1.0, 1.0, false),
    ] {
        for line_search in [false, true] {
            let report = NewtonReport { residual, ..NewtonReport::default() };
            let progress = Progress { report, round, before, earlier, line_search, ..Progress::new() };
            assert_eq!(progress.stalls(&settings), expected && !line_search, "{round} {residual}");
        }
    }
}

/// Φ, which the line search goes down, against the force that Newton's method balances: inertia, damping, friction, air, gravity, and
/// averages that give way.
#[test]
fn the_force_is_the_slope_of_phi() {
    let spring = Spring { stiffness: 40.0, rest_length: 0.6 };
    let springs = Elements::new([([0, 1], spring), ([1, 2], spring)]).damped(0.03);
    let mut rows = linear::ConstraintRows::new(3, [vec![(1, 0.5), (2, 0.5)], vec![(0, 1.0)]]);
    rows.compliance_mut()[0] = 0.02;
    let body = Body::builder(vec![1.0, 2.0, 0.5])
        .energy(springs)
        .force(FollowDamping::new([(1, 0.7)]))
        .averages(rows)
        .gravity(-G * Vec3::Y)
        .mass_damping(0.3)
        .build()
        .unwrap();
    let mut random = geometry::Random::new(3);
    let mut draw = || -> Vec<Vec3> { (0..3).map(|_| random.vec3()).collect() };
    let (base, drift, guide, averages, then, expected_end, x) =
        (draw(), draw(), draw(), draw(), draw(), draw(), draw());
    let stage = Stage {
        start: &base,
        base: &base,
        drift: &drift,
        implicit_dt: 0.05,
        elapsed: 0.05,
        other_guess: None,
        history: StageHistory { implicit_dt: 0.05, positions: [(1.0, &then), (0.0, &then)], internal: &[] },
        sample: GuideSample { time: 0.0, guide_positions: &guide, guide_velocities: &drift },
        averages: &averages[..2],
    };
    let mut work = Workspace::new(&body, linear::Settings::default()).unwrap();
    let staged = StagedBody::new(&body, &stage.history);
    work.external.linearise(&body, &stage, &expected_end);
    work.residual(&body, &staged, &stage, &x);
    let force = work.force.clone();
    let rows = body.averages();
    let lack = averages[0] - rows.multiply(&x)[0];
    for i in 0..3 {
        let weight = [0.0, 0.5, 0.5][i];
        let balanced = force[i] + weight * lack / 0.02;
        for axis in 0..3 {
            let mut phi = |way: f64| {
                let mut y = x.clone();
                y[i][axis] += way;
                work.merit(&body, &staged, rows, &stage, &y)
            };
            let slope = (phi(1e-5) - phi(-1e-5)) / 2e-5;
            assert!((slope + balanced[axis]).abs() < 1e-5 * balanced.length(), "{i} {axis}: {slope}");
        }
    }
}

/// f ≈ f(v̂) − B (v − v̂): a damper pulls back by 0.7 N for each metre a second beyond what was expected, at its point alone.
#[test]
fn external_forces_resist_beyond_what_was_expected() {
    let body = Body::builder(vec![1.0; 3]).force(FollowDamping::new([(1, 0.7)])).build().unwrap();
    let at = |x: f64| vec![x * Vec3::X; 3];
    let (base, guide) = (at(0.0), at(0.0));
    let stage = Stage {
        start: &base,
        base: &base,
        drift: &base,
        implicit_dt: 0.05,
        elapsed: 0.05,
        other_guess: None,
        history: StageHistory { implicit_dt: 0.05, positions: [(1.0, &base), (0.0, &base)], internal: &[] },
        sample: GuideSample { time: 0.0, guide_positions: &guide, guide_velocities: &base },
        averages: &[],
    };
    let mut work = Workspace::new(&body, linear::Settings::default()).unwrap();
    // 2 m/s are expected
    work.external.linearise(&body, &stage, &at(0.1));
    for speed in [2.0, 3.0, -1.0] {
        let mut force = vec![Vec3::ZERO; 3];
        work.external.add_force(&at(speed), &mut force);
        assert_eq!([force[0], force[2]], [Vec3::ZERO; 2]);
        assert!((force[1] + 0.7 * speed * Vec3::X).length() < 1e-12, "{speed} m/s: {}", force[1]);
        // and does the work of such a force: ½ · 0.7 v² s, but for a constant
        let none = work.external.work(0.05, &at(0.0));
        let work = work.external.work(0.05, &at(speed)) - none;
        assert!((work - 0.05 * 0.35 * speed * speed).abs() < 1e-12, "{speed} m/s: {work}");
    }
}
