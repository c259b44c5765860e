//! Cloth that gets its size over a while, and not in a moment: it is drawn at one size and is at rest at another.
//!
//! Let go at once, cloth that is to shrink by ε has the energy k ε² in warp and weft, and throws itself about at √(2k/ρ) ε: a tenth of cotton at
//! more than ten metres a second, against its limits. So its size goes from 1 to s as its [`Ramp`] r says, σ(t) = 1 + r(t) (s − 1). What was made
//! for s is then as if made for q = σ/s times the lengths: gradients of hat functions b/q, stiffness times area q² k.

use dynamics::{Element, Elements, Energy, GuideSample, StageHistory};
use geometry::Vec3;
use linear::{Matrix, Pattern};

use crate::Ramp;
use crate::cloth::mean_over;

/// How large cloth is at rest in the end, for each of its points as a share of what was drawn, and when it gets there.
#[derive(Clone, Debug)]
pub struct Resizing {
    /// s of each point.
    pub factors: Vec<f64>,
    /// From the size that was drawn to that one.
    pub ramp: Ramp,
}

impl Resizing {
    /// What is to become of the lengths of an element, and when.
    pub(crate) fn of<const N: usize>(&self, corners: &[u32; N]) -> Lengths {
        Lengths { factor: mean_over(Some(&self.factors), corners), ramp: self.ramp }
    }
}

/// The lengths of one element at rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    factor: f64,
    ramp: Ramp,
}

impl Lengths {
    /// q: how many times as long as in the end they are at a time.
    pub(crate) fn ratio(&self, time: f64) -> f64 {
        match self.ramp.share(time) {
            1.0 => 1.0,
            share => (1.0 + share * (self.factor - 1.0)) / self.factor,
        }
    }
}

/// An element whose rest shape can be larger or smaller.
pub(crate) trait Resizable {
    /// Itself with lengths at rest so many times as long.
    #[must_use]
    fn resized(&self, ratio: f64) -> Self;
}

/// [`Elements`] that get their size over a while.
pub(crate) struct ResizingElements<E, const N: usize> {
    /// As they are in the end.
    elements: Elements<E, N>,
    /// In the order of the elements.
    lengths: Vec<Lengths>,
    /// What friction refers to within a stage.
    stage: Option<Stage>,
}

struct Stage {
    implicit_dt: f64,
    weights: [f64; 2],
    positions: [Vec<Vec3>; 2],
    /// The elements as they are in the end, with their friction.
    damped: Option<Box<dyn Energy>>,
}

impl<E: Clone, const N: usize> ResizingElements<E, N> {
    pub(crate) fn new(elements: Elements<E, N>, resizing: &Resizing) -> Self {
        let lengths = elements.iter().map(|(corners, _)| resizing.of(corners)).collect();
        Self { elements, lengths, stage: None }
    }
}

impl<E: Element<N> + Resizable + Clone + 'static, const N: usize> ResizingElements<E, N> {
    /// Calls with the energy as it is at a time.
    fn at<T>(&self, time: f64, call: impl FnOnce(&dyn Energy) -> T) -> T {
        let is_done = self.lengths.first().is_none_or(|lengths| lengths.ramp.share(time) == 1.0);
        if is_done {
            let damped = self.stage.as_ref().and_then(|stage| stage.damped.as_deref());
            return call(damped.unwrap_or(&self.elements));
        }
        let (mut now, mut lengths) = (self.elements.clone(), self.lengths.iter());
        now.for_each_mut(|_, element| {
            if let Some(lengths) = lengths.next() {
                *element = element.resized(lengths.ratio(time));
            }
        });
        let damped = self.stage.as_ref().and_then(|stage| {
            let [first, second] = [0, 1].map(|k| (stage.weights[k], &stage.positions[k][..]));
            let history =
                StageHistory { implicit_dt: stage.implicit_dt, positions: [first, second], internal: &[] };
            now.with_viscosity(&history)
        });
        call(damped.as_deref().unwrap_or(&now))
    }
}

impl<E: Element<N> + Resizable + Clone + 'static, const N: usize> Energy for ResizingElements<E, N> {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        Energy::stencils(&self.elements, visit);
    }

    fn shift(&mut self, first: u32) {
        Energy::shift(&mut self.elements, first);
    }

    fn bind(&mut self, pattern: &Pattern) {
        Energy::bind(&mut self.elements, pattern);
    }

    fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        self.at(sample.time, |energy| energy.value(sample, x))
    }

    fn add_gradient(&self, sample: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]) {
        self.at(sample.time, |energy| energy.add_gradient(sample, x, gradient));
    }

    fn add_hessian(&self, sample: &GuideSample, x: &[Vec3], previous: &[Vec3], matrix: &mut Matrix) {
        self.at(sample.time, |energy| energy.add_hessian(sample, x, previous, matrix));
    }

    fn with_viscosity(&self, stage: &StageHistory) -> Option<Box<dyn Energy>> {
        let damped = Some(Energy::with_viscosity(&self.elements, stage)?);
        let (weights, positions) =
            (stage.positions.map(|(w, _)| w), stage.positions.map(|(_, x)| x.to_vec()));
        let stage = Some(Stage { implicit_dt: stage.implicit_dt, weights, positions, damped });
        Some(Box::new(Self { elements: self.elements.clone(), lengths: self.lengths.clone(), stage }))
    }
}
