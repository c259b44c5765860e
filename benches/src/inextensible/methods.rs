//! Six ways to keep threads at their lengths, each with the steps it needs.

use std::time::Instant;

use dynamics::{Body, Elements, Filter, Integrator, Moment, Settings, State, Stepper, Still, Substeps};
use shell::{ExactProjection, FastProjection, Impulse, Relaxation, Shake, Sweep, Threads};

use crate::inextensible::scenes::Scene;

/// Seconds that are simulated.
const DURATION: f64 = 0.5;
/// The longest step that anyone takes, in seconds.
const FRAME: f64 = 0.01;
/// Steps per frame that springs may begin with; steps that stretch too far are divided further.
const SUBSTEPS: [usize; 3] = [1, 8, 64];
/// Stiffness of springs against what would hold the weight at the tolerance: threads that swing pull harder than at rest.
const STIFFNESS: [f64; 4] = [2.0, 10.0, 50.0, 250.0];
/// Runs of which the fastest counts.
const RUNS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    FastProjection,
    ImplicitDirection,
    Shake,
    Jacobi,
    GaussSeidel,
    Springs,
}

impl Method {
    /// Fast projection first.
    pub(crate) const ALL: [Self; 6] = [
        Self::FastProjection,
        Self::ImplicitDirection,
        Self::Shake,
        Self::Jacobi,
        Self::GaussSeidel,
        Self::Springs,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::FastProjection => "fast projection",
            Self::ImplicitDirection => "ICD",
            Self::Shake => "SHAKE",
            Self::Jacobi => "Jacobi",
            Self::GaussSeidel => "Gauss-Seidel",
            Self::Springs => "stiff springs",
        }
    }

    /// Milliseconds per simulated second in which no thread was beyond the tolerance; none if it cannot be done within
    /// `patience` milliseconds.
    pub(crate) fn cost(self, scene: &Scene, tolerance: f64, patience: f64) -> Option<f64> {
        if self == Self::Springs {
            return springs(scene, tolerance, patience);
        }
        let body = scene.body().build().expect("a proper body");
        let settings = settings(Integrator::LinearlyImplicit { delta: 0.0 }, 1);
        let mut best: Option<f64> = None;
        for _ in 0..RUNS {
            let filter = self.filter(&body, &scene.threads, tolerance)?;
            let ms = simulate(scene, &body, settings.clone(), Some(filter), tolerance, patience)?;
            best = Some(best.map_or(ms, |best| best.min(ms)));
        }
        best
    }

    fn filter(self, body: &Body, threads: &Threads, tolerance: f64) -> Option<Box<dyn Filter>> {
        Some(match self {
            Self::FastProjection => {
                Box::new(FastProjection::new(body, threads, tolerance, Impulse::FirstOrder).ok()?)
            }
            Self::ImplicitDirection => Box::new(ExactProjection::new(body, threads, tolerance).ok()?),
            Self::Shake => Box::new(Shake::new(body, threads, tolerance).ok()?),
            Self::Jacobi => Box::new(Relaxation::new(body, threads, tolerance, Sweep::Jacobi, 100_000)),
            Self::GaussSeidel => {
                Box::new(Relaxation::new(body, threads, tolerance, Sweep::GaussSeidel, 100_000))
            }
            Self::Springs => return None,
        })
    }
}

fn settings(integrator: Integrator, substeps: usize) -> Settings {
    Settings { integrator, substeps: Substeps::Fixed(substeps), ..Settings::default() }
}

/// The fastest of all stiffnesses, steps and integrators that hold the tolerance.
fn springs(scene: &Scene, tolerance: f64, patience: f64) -> Option<f64> {
    let mut best: Option<f64> = None;
    for factor in STIFFNESS {
        let springs = scene.threads.springs(factor * scene.weight / tolerance);
        let body = scene.body().energy(Elements::new(springs)).build().expect("a proper body");
        for integrator in [Integrator::LinearlyImplicit { delta: 0.0 }, Integrator::BackwardEuler] {
            for substeps in SUBSTEPS {
                let limit = best.unwrap_or(patience);
                let run = || simulate(scene, &body, settings(integrator, substeps), None, tolerance, limit);
                if let Some(ms) = run() {
                    best = Some(limit.min(ms));
                    // shorter steps only cost more
                    break;
                }
            }
        }
    }
    best
}

/// Milliseconds per simulated second; none if a thread is ever beyond the tolerance, if the method fails, or if it takes
/// longer than `limit`.
fn simulate(
    scene: &Scene,
    body: &Body,
    settings: Settings,
    mut filter: Option<Box<dyn Filter>>,
    tolerance: f64,
    limit: f64,
) -> Option<f64> {
    let mut stepper = Stepper::new(body, &scene.rest, settings).ok()?;
    let mut state = State::at_rest(scene.rest.clone());
    let guide = Still::new(scene.rest.clone());
    let mut watch = Watch { threads: &scene.threads, tolerance };
    let mut ball = scene.ball;
    let mut filters: Vec<&mut dyn Filter> = Vec::new();
    if let Some(filter) = &mut filter {
        filters.push(&mut **filter);
    }
    filters.push(&mut watch);
    if let Some(ball) = &mut ball {
        filters.push(ball);
    }
    let start = Instant::now();
    for _ in 0..(DURATION / FRAME).round() as usize {
        stepper.advance(body, &mut state, &guide, FRAME, &mut filters).ok()?;
        if 1e3 * start.elapsed().as_secs_f64() / DURATION > limit {
            return None;
        }
    }
    Some(1e3 * start.elapsed().as_secs_f64() / DURATION)
}

/// Refuses steps that leave a thread beyond the tolerance. Stands after the method and before the ball, where the paper
/// measures strain. Methods that limit only stretch are held only to that.
struct Watch<'a> {
    threads: &'a Threads,
    tolerance: f64,
}

impl Filter for Watch<'_> {
    fn apply(&mut self, _: &Body, _: &Moment, _: &State, after: &mut State, _: f64) -> bool {
        self.threads.strain(&after.positions).stretch <= self.tolerance
    }
}
