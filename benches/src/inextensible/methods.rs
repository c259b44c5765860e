//! Ways to keep threads at their lengths, each with the steps it needs.

use std::time::Instant;

use dynamics::{
    Body, Elements, Filter, GuideSample, Integrator, Settings, State, StaticGuide, Stepper, Substeps,
};
use geometry::Vec3;
use shell::{FastProjection, Impulse, ThreadLimits, Threads};

use crate::inextensible::exact::ExactProjection;
use crate::inextensible::relaxation::{Relaxation, Sweep};
use crate::inextensible::scenes::{Scene, Witness};
use crate::inextensible::shake::Shake;

/// The longest step that anyone takes, in seconds.
const FRAME: f64 = 0.01;
/// Frames for which the way of a witness is known.
pub(crate) const WITNESSED: usize = EQUAL.frames;
/// Steps per frame that a method may begin with; steps that stretch too far are divided further.
const SUBSTEPS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Methods that need less than the tolerance to be accurate may ask for it: what keeps a tenth keeps the whole.
const SHARES: [f64; 3] = [1.0, 0.1, 0.01];
/// Stiffness of springs against what would hold the weight at the tolerance: threads that swing pull harder than at rest.
const STIFFNESS: [f64; 4] = [2.0, 10.0, 50.0, 250.0];
/// Runs of which the fastest counts.
const RUNS: usize = 3;

/// What is asked of a run.
#[derive(Clone, Copy)]
pub(crate) struct Accuracy {
    frames: usize,
    /// How far a witness may be from where it should be, in metres: threads that keep their lengths because nothing moves any
    /// more are no feat.
    astray: f64,
    /// Threads may be too short by as much as they may be too long, and no more.
    both_signs: bool,
    /// Every method may choose its integrator and by how much it stays below the tolerance.
    all_variants: bool,
}

/// As the paper has it: stretch, and a first half second.
pub(crate) const PAPER: Accuracy =
    Accuracy { frames: 50, astray: 0.05, both_signs: false, all_variants: false };
/// The same accuracy for all: lengths both ways, and two seconds through the whip.
pub(crate) const EQUAL: Accuracy =
    Accuracy { frames: 200, astray: 0.005, both_signs: true, all_variants: true };

impl Accuracy {
    /// The same for so many frames.
    pub(crate) fn over(self, frames: usize) -> Self {
        Self { frames, ..self }
    }

    /// Simulated seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.frames as f64 * FRAME
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    FastProjection,
    ImplicitDirection,
    Shake,
    Jacobi,
    GaussSeidel,
    Springs,
    /// Limits inside the step.
    Limit,
    /// Fast projection on the sparse solver that springs and limits have, also where a band would do.
    SparseProjection,
}

impl Method {
    /// What is compared at equal accuracy: two ways to project on the solver of narrow bands, and four methods on the sparse one.
    pub(crate) const EQUAL: [Self; 6] = [
        Self::FastProjection,
        Self::Shake,
        Self::ImplicitDirection,
        Self::SparseProjection,
        Self::Limit,
        Self::Springs,
    ];
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
            Self::Limit => "limit",
            Self::SparseProjection => "fast projection, sparse solver",
        }
    }

    /// Milliseconds per simulated second in which no thread was beyond the tolerance and the scene's witness went its way;
    /// none if it cannot be done within `patience` milliseconds. Of all stiffnesses, orders and steps the cheapest counts.
    pub(crate) fn cost(
        self,
        scene: &Scene,
        tolerance: f64,
        patience: f64,
        accuracy: Accuracy,
    ) -> Option<f64> {
        let mut best: Option<f64> = None;
        for Variant { body, integrator, impulse, aim } in self.variants(scene, tolerance, accuracy) {
            for substeps in SUBSTEPS {
                let limit = best.unwrap_or(patience);
                let run = || {
                    let filter = self.filter(&body, &scene.threads, aim, impulse);
                    let settings = settings(integrator, substeps);
                    simulate(scene, &body, settings, filter, tolerance, limit, accuracy)
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
    fn variants(self, scene: &Scene, tolerance: f64, accuracy: Accuracy) -> Vec<Variant> {
        const LINEAR: Integrator = Integrator::LinearlyImplicit { delta: 0.0 };
        const ALL: [Integrator; 3] = [LINEAR, Integrator::BackwardEuler, Integrator::TrBdf2];
        let body = || scene.body().build().expect("a proper body");
        let springs = |stiffness: f64| Elements::new(scene.threads.springs(stiffness));
        let aims = if accuracy.all_variants { &SHARES[..] } else { &SHARES[..1] };
        let aims = aims.iter().map(|share| share * tolerance);
        let with = |integrator, impulse, aim| Variant { body: body(), integrator, impulse, aim };
        match self {
            Self::Springs => {
                let stiff = |factor: &f64| {
                    let stiffness = factor * scene.weight / tolerance;
                    ALL.map(|integrator| Variant {
                        body: scene.body().energy(springs(stiffness)).build().expect("a proper body"),
                        integrator,
                        impulse: Impulse::FirstOrder,
                        aim: tolerance,
                    })
                };
                STIFFNESS.iter().flat_map(stiff).collect()
            }
            // with springs that any thread has, so that the ends of a piece are coupled at all
            Self::Limit => aims
                .filter(|aim| *aim >= 1e-5)
                .flat_map(|aim| {
                    let own = scene.weight / tolerance;
                    let limits = ThreadLimits::new(&scene.threads, aim, own);
                    [Integrator::BackwardEuler, Integrator::TrBdf2].map(|integrator| Variant {
                        body: scene
                            .body()
                            .energy(springs(own))
                            .limit(limits.clone())
                            .build()
                            .expect("a proper body"),
                        integrator,
                        impulse: Impulse::FirstOrder,
                        aim,
                    })
                })
                .collect(),
            Self::FastProjection | Self::SparseProjection if accuracy.all_variants => {
                let ways = [
                    (LINEAR, Impulse::FirstOrder),
                    (Integrator::BackwardEuler, Impulse::FirstOrder),
                    (Integrator::TrBdf2, Impulse::FirstOrder),
                    (Integrator::TrBdf2, Impulse::SecondOrder),
                ];
                aims.flat_map(|aim| ways.map(|(integrator, impulse)| with(integrator, impulse, aim)))
                    .collect()
            }
            Self::FastProjection | Self::SparseProjection => vec![
                with(LINEAR, Impulse::FirstOrder, tolerance),
                with(Integrator::TrBdf2, Impulse::SecondOrder, tolerance),
            ],
            _ => aims.map(|aim| with(LINEAR, Impulse::FirstOrder, aim)).collect(),
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
            Self::SparseProjection => {
                Box::new(FastProjection::sparse(body, threads, tolerance, impulse).ok()?)
            }
            Self::ImplicitDirection => Box::new(ExactProjection::new(body, threads, tolerance).ok()?),
            Self::Shake => Box::new(Shake::new(body, threads, tolerance).ok()?),
            Self::Jacobi => Box::new(Relaxation::new(body, threads, tolerance, Sweep::Jacobi, 100_000)),
            Self::GaussSeidel => {
                Box::new(Relaxation::new(body, threads, tolerance, Sweep::GaussSeidel, 100_000))
            }
            Self::Springs | Self::Limit => return None,
        })
    }
}

/// One way to use a method.
struct Variant {
    body: Body,
    integrator: Integrator,
    impulse: Impulse,
    /// The strain that the method is asked for; at most what is permitted.
    aim: f64,
}

/// Where the scene's witness is at the end of every frame if threads keep their lengths exactly: fast projection of second
/// order in so many steps a frame.
pub(crate) fn path(scene: &Scene, witness: usize, substeps: usize) -> Vec<Vec3> {
    let body = scene.body().build().expect("a proper body");
    let mut projection =
        FastProjection::new(&body, &scene.threads, 1e-5, Impulse::SecondOrder).expect("proper threads");
    let mut stepper =
        Stepper::new(&body, &scene.rest, settings(Integrator::TrBdf2, substeps)).expect("a proper body");
    let mut state = State::at_rest(scene.rest.clone());
    let guide = StaticGuide::new(scene.rest.clone());
    let mut advance = || {
        stepper.advance(&body, &mut state, &guide, FRAME, &mut [&mut projection]).expect("a chain can swing");
        state.positions[witness]
    };
    (0..WITNESSED).map(|_| advance()).collect()
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
    accuracy: Accuracy,
) -> Option<f64> {
    let mut stepper = Stepper::new(body, &scene.rest, settings).ok()?;
    let mut state = State::at_rest(scene.rest.clone());
    let guide = StaticGuide::new(scene.rest.clone());
    let mut watch = Watch { threads: &scene.threads, tolerance, both_signs: accuracy.both_signs };
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
    for frame in 0..accuracy.frames {
        stepper.advance(body, &mut state, &guide, FRAME, &mut filters).ok()?;
        let strays = |w: &Witness| state.positions[w.point].distance(w.path[frame]) > accuracy.astray;
        if scene.witness.as_ref().is_some_and(strays) {
            return None;
        }
        if 1e3 * start.elapsed().as_secs_f64() / accuracy.seconds() > limit {
            return None;
        }
    }
    Some(1e3 * start.elapsed().as_secs_f64() / accuracy.seconds())
}

/// Refuses steps that leave a thread beyond the tolerance. Stands after the method and before the ball, where the paper
/// measures strain. In the paper's figures methods that limit only stretch are held only to that.
struct Watch<'a> {
    threads: &'a Threads,
    tolerance: f64,
    both_signs: bool,
}

impl Filter for Watch<'_> {
    fn apply(&mut self, _: &Body, _: &GuideSample, _: &State, after: &mut State, _: f64) -> bool {
        let strain = self.threads.strain(&after.positions);
        let most = if self.both_signs { strain.largest() } else { strain.stretch };
        // a step that was stopped at the tolerance is within it but for rounding
        most <= self.tolerance * (1.0 + 1e-6)
    }
}
