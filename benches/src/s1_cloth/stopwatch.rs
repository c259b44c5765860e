//! How long a body's energies keep the solver waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use dynamics::{Energy, GuideSample, StageHistory};
use geometry::Vec3;
use linear::{Matrix, Pattern};

/// Time spent in all energies that were timed by it.
#[derive(Clone, Default)]
pub(crate) struct Stopwatch(Arc<AtomicU64>);

impl Stopwatch {
    /// The energy, timed.
    pub(crate) fn timed(&self, energy: impl Energy) -> Timed {
        Timed { energy: Box::new(energy), watch: self.clone() }
    }

    pub(crate) fn seconds(&self) -> f64 {
        1e-9 * self.0.load(Ordering::Relaxed) as f64
    }

    fn run<T>(&self, act: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = act();
        self.0.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        result
    }
}

/// An energy whose every evaluation is timed. (The engine asks energies one after the other; each is parallel inside.)
pub(crate) struct Timed {
    energy: Box<dyn Energy>,
    watch: Stopwatch,
}

impl Energy for Timed {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.energy.stencils(visit);
    }

    fn shift(&mut self, first: u32) {
        self.energy.shift(first);
    }

    fn bind(&mut self, pattern: &Pattern) {
        self.energy.bind(pattern);
    }

    fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        self.watch.run(|| self.energy.value(sample, x))
    }

    fn add_gradient(&self, sample: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]) {
        self.watch.run(|| self.energy.add_gradient(sample, x, gradient));
    }

    fn add_hessian(&self, sample: &GuideSample, x: &[Vec3], previous: &[Vec3], matrix: &mut Matrix) {
        self.watch.run(|| self.energy.add_hessian(sample, x, previous, matrix));
    }

    fn with_viscosity(&self, stage: &StageHistory) -> Option<Box<dyn Energy>> {
        let energy = self.watch.run(|| self.energy.with_viscosity(stage))?;
        Some(Box::new(Timed { energy, watch: self.watch.clone() }))
    }
}
