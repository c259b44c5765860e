//! Six ways to keep threads at their lengths, each with the steps it needs.

use std::time::Instant;

use dynamics::{
    Body, Elements, Filter, GuideSample, Integrator, Settings, State, StaticGuide, Stepper, Substeps,
};
use geometry::Vec3;
use shell::{FastProjection, Impulse, Threads};

use crate::inextensible::exact::ExactProjection;
use crate::inextensible::relaxation::{Relaxation, Sweep};
use crate::inextensible::scenes::{Scene, Witness};
use crate::inextensible::shake::Shake;

/// The longest step that anyone takes, in seconds, and how many of them.
const FRAME: f64 = 0.01;
const FRAMES: usize = 50;
const DURATION: f64 = FRAMES as f64 * FRAME;
/// How far a witness may be from where it should be, in metres: threads that keep their lengths because nothing moves
/// any more are no feat.
const ASTRAY: f64 = 0.05;
/// Steps per frame that a method may begin with; steps that stretch too far are divided further.
const SUBSTEPS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
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

    /// Milliseconds per simulated second in which no thread was beyond the tolerance and the scene's witness went its way;
    /// none if it cannot be done within `patience` milliseconds. Of all stiffnesses, orders and steps the cheapest counts.
    pub(crate) fn cost(self, scene: &Scene, tolerance: f64, patience: f64) -> Option<f64> {
        let mut best: Option<f64> = None;
        for (body, integrator, impulse) in self.variants(scene, tolerance) {
            for substeps in SUBSTEPS {
                let limit = best.unwrap_or(patience);
                let run = || {
                    let filter = self.filter(&body, &scene.threads, tolerance, impulse);
                    simulate(scene, &body, settings(integrator, substeps), filter, tolerance, limit)
                };
                if let Some(ms) = run() {
                    let again = (1..RUNS).filter_map(|_| run()).fold(ms, f64::min);
                    best = Some(limit.min(again));
                    // shorter steps only cost more
                    break;
                }
            }
        }
        best
    }

    /// Bodies and ways to step that the method can be used with.
    fn variants(self, scene: &Scene, tolerance: f64) -> Vec<(Body, Integrator, Impulse)> {
        const LINEAR: Integrator = Integrator::LinearlyImplicit { delta: 0.0 };
        let body = || scene.body().build().expect("a proper body");
        match self {
            Self::Springs => STIFFNESS
                .iter()
                .flat_map(|factor| {
                    [LINEAR, Integrator::BackwardEuler, Integrator::TrBdf2].map(|integrator| {
                        let springs = scene.threads.springs(factor * scene.weight / tolerance);
                        let body =
                            scene.body().energy(Elements::new(springs)).build().expect("a proper body");
                        (body, integrator, Impulse::FirstOrder)
                    })
                })
                .collect(),
            Self::FastProjection => vec![
                (body(), LINEAR, Impulse::FirstOrder),
                (body(), Integrator::TrBdf2, Impulse::SecondOrder),
            ],
            _ => vec![(body(), LINEAR, Impulse::FirstOrder)],
        }
    }

    fn filter(
        self,
        body: &Body,
        threads: &Threads,
        tolerance: f64,
        impulse: Impulse,
    ) -> Option<Box<dyn Filter>> {
        Some(match self {
            Self::FastProjection => Box::new(FastProjection::new(body, threads, tolerance, impulse).ok()?),
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

/// Where the scene's witness is at the end of every frame if threads keep their lengths exactly: fast projection of second
/// order in short steps.
pub(crate) fn path(scene: &Scene, witness: usize) -> Vec<Vec3> {
    let body = scene.body().build().expect("a proper body");
    let mut projection =
        FastProjection::new(&body, &scene.threads, 1e-5, Impulse::SecondOrder).expect("proper threads");
    let mut stepper =
        Stepper::new(&body, &scene.rest, settings(Integrator::TrBdf2, 50)).expect("a proper body");
    let mut state = State::at_rest(scene.rest.clone());
    let guide = StaticGuide::new(scene.rest.clone());
    let mut advance = || {
        stepper.advance(&body, &mut state, &guide, FRAME, &mut [&mut projection]).expect("a chain can swing");
        state.positions[witness]
    };
    (0..FRAMES).map(|_| advance()).collect()
}

fn settings(integrator: Integrator, substeps: usize) -> Settings {
    Settings { integrator, substeps: Substeps::Fixed(substeps), ..Settings::default() }
}

/// Milliseconds per simulated second; none if a thread is ever beyond the tolerance, if the witness strays, if the method
/// fails, or if it takes longer than `limit`.
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
    let guide = StaticGuide::new(scene.rest.clone());
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
    for frame in 0..FRAMES {
        stepper.advance(body, &mut state, &guide, FRAME, &mut filters).ok()?;
        let strays = |w: &Witness| state.positions[w.point].distance(w.path[frame]) > ASTRAY;
        if scene.witness.as_ref().is_some_and(strays) {
            return None;
        }
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
    fn apply(&mut self, _: &Body, _: &GuideSample, _: &State, after: &mut State, _: f64) -> bool {
        self.threads.strain(&after.positions).stretch <= self.tolerance
    }
}
