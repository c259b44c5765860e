//! Elements seen through a basis: the energy of points as an energy of coefficients.
//!
//! With x = x̄ + B c,
//!
//! ```text
//! E(c) = Σ wₑ Eₑ(x̄ₑ + Bₑ c),   dE/dc = Σ wₑ Bₑᵀ gₑ,   d²E/dc² = Σ wₑ Bₑᵀ Hₑ Bₑ,
//! ```
//!
//! Bₑ the rows of an element's points: only these are ever formed. All elements with weight 1 give the energy itself; a few with
//! weights of their own stand for all (cubature, An 2008).

use std::sync::Arc;

use geometry::Vec3;
use linear::{Matrix, Pattern};
use rayon::prelude::*;

use crate::energy::Friction;
use crate::scatter::{Scatter, Schedule};
use crate::{Basis, Element, Elements, Energy, GuideSample, StageHistory, Weight};

/// [`Elements`] as an energy of the coefficients of a [`Basis`].
pub struct Reduced<E, const N: usize, W = f64> {
    layout: Arc<Layout<N, W>>,
    elements: Vec<E>,
    friction: Option<Friction<E, N>>,
}

/// Rows of B for every element.
struct Layout<const N: usize, W> {
    /// x̄ of the points.
    offsets: Vec<[Vec3; N]>,
    /// wₑ.
    shares: Vec<f64>,
    /// The coefficients that an element depends on, ascending.
    stencils: Vec<Vec<u32>>,
    /// For each of them, its weight at each point.
    weights: Vec<Vec<[W; N]>>,
    schedule: Schedule,
    /// Where the blocks of pairs (i, j ≤ i) of coefficients stand in the matrix.
    slots: Vec<Vec<u32>>,
}

impl<E: Element<N>, const N: usize, W: Weight> Reduced<E, N, W> {
    /// All elements, with their friction.
    pub fn new(basis: &Basis<W>, elements: Elements<E, N>) -> Self {
        let chosen = (0..elements.len()).map(|index| (index, 1.0)).collect();
        Self::with_cubature(basis, elements, chosen)
    }

    /// A few elements, by their places in [`Elements::iter`], each standing for `weight` such elements.
    ///
    /// # Panics
    /// Where an element's point is not in the basis, or an index is past the last element.
    pub fn with_cubature(basis: &Basis<W>, elements: Elements<E, N>, chosen: Vec<(usize, f64)>) -> Self {
        let (points, mut kept, friction) = elements.into_parts();
        let mut layout = Layout {
            offsets: Vec::new(),
            shares: Vec::new(),
            stencils: Vec::new(),
            weights: Vec::new(),
            schedule: Schedule::default(),
            slots: Vec::new(),
        };
        let mut order: Vec<Option<E>> = kept.drain(..).map(Some).collect();
        let mut elements = Vec::with_capacity(chosen.len());
        for (index, share) in chosen {
            let points = points[index].map(|p| p as usize);
            let mut stencil: Vec<u32> = points.iter().flat_map(|&p| basis.row(p)).map(|(c, _)| c).collect();
            stencil.sort_unstable();
            stencil.dedup();
            let mut weights = vec![[W::ZERO; N]; stencil.len()];
            for (k, &p) in points.iter().enumerate() {
                for (column, weight) in basis.row(p) {
                    // every column is in the stencil it was taken from
                    if let Ok(place) = stencil.binary_search(&column) {
                        weights[place][k] = weight;
                    }
                }
            }
            let Some(element) = order[index].take() else { continue };
            elements.push(element);
            layout.offsets.push(points.map(|p| basis.offset(p)));
            layout.shares.push(share);
            layout.stencils.push(stencil);
            layout.weights.push(weights);
        }
        layout.schedule = Schedule::new(&layout.stencils);
        Self { layout: Arc::new(layout), elements, friction }
    }

    /// How many elements are summed.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    fn gather(&self, index: usize, c: &[Vec3]) -> [Vec3; N] {
        let mut x = self.layout.offsets[index];
        for (&column, weights) in self.layout.stencils[index].iter().zip(&self.layout.weights[index]) {
            let c = c[column as usize];
            for (x, weight) in x.iter_mut().zip(weights) {
                *x += weight.times(c);
            }
        }
        x
    }
}

impl<E: Element<N> + 'static, const N: usize, W: Weight> Energy for Reduced<E, N, W> {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.layout.stencils.iter().for_each(|stencil| visit(stencil));
    }

    fn shift(&mut self, first: u32) {
        // nothing shares the layout before the body is built
        if let Some(layout) = Arc::get_mut(&mut self.layout) {
            layout.stencils.iter_mut().flatten().for_each(|column| *column += first);
        }
    }

    fn bind(&mut self, pattern: &Pattern) {
        let slots_of = |stencil: &Vec<u32>| {
            let pairs = (0..stencil.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
            let slot = |(i, j): (usize, usize)| {
                pattern.slot(stencil[i], stencil[j]).expect("the pattern was made from these stencils") as u32
            };
            pairs.map(slot).collect()
        };
        let slots = self.layout.stencils.iter().map(slots_of).collect();
        // nothing shares the layout before the body is built
        if let Some(layout) = Arc::get_mut(&mut self.layout) {
            layout.slots = slots;
        }
    }

    fn value(&self, _: &GuideSample, c: &[Vec3]) -> f64 {
        let of =
            |index: usize| self.layout.shares[index] * self.elements[index].value(&self.gather(index, c));
        self.layout.schedule.sum(of)
    }

    fn add_gradient(&self, _: &GuideSample, c: &[Vec3], gradient: &mut [Vec3]) {
        let sum = Scatter::new(gradient);
        self.layout.schedule.for_each(|index| {
            let share = self.layout.shares[index];
            let parts = self.elements[index].gradient(&self.gather(index, c)).map(|g| share * g);
            for (&column, weights) in self.layout.stencils[index].iter().zip(&self.layout.weights[index]) {
                let part: Vec3 = weights.iter().zip(parts).map(|(w, g)| w.transposed_times(g)).sum();
                // SAFETY: a coefficient of the visited element
                #[allow(unsafe_code)]
                unsafe {
                    *sum.at(column as usize) += part;
                }
            }
        });
    }

    fn add_hessian(&self, _: &GuideSample, c: &[Vec3], previous: &[Vec3], matrix: &mut Matrix) {
        assert_eq!(self.layout.slots.len(), self.elements.len(), "bound before assembly");
        let values = Scatter::new(matrix.values_mut());
        self.layout.schedule.for_each(|index| {
            let share = self.layout.shares[index];
            let element = &self.elements[index];
            let block = element.newton_hessian(&self.gather(index, c), &self.gather(index, previous));
            let weights = &self.layout.weights[index];
            let mut slots = self.layout.slots[index].iter();
            for (i, row) in weights.iter().enumerate() {
                // row i of Bᵀ H
                let left: [_; N] = std::array::from_fn(|k| {
                    row.iter().enumerate().map(|(l, w)| w.before(block.0[l][k] * share)).sum()
                });
                for column in &weights[..=i] {
                    let part: geometry::Mat3 = column.iter().zip(left).map(|(w, h)| w.after(h)).sum();
                    let Some(&slot) = slots.next() else { return };
                    // stencils ascend, so (i, j) is in the lower triangle. SAFETY: a pair of coefficients of the visited element
                    #[allow(unsafe_code)]
                    unsafe {
                        *values.at(slot as usize) += part;
                    }
                }
            }
        });
    }

    fn with_viscosity(&self, stage: &StageHistory) -> Option<Box<dyn Energy>> {
        let Friction { beta, with_viscosity } = self.friction.as_ref()?;
        let eta = beta / stage.implicit_dt;
        let states = if stage.positions[1].0 == 0.0 { 1 } else { 2 };
        let of = |index: usize| {
            let past = stage.positions.map(|(weight, c)| (weight, self.gather(index, c)));
            with_viscosity(&self.elements[index], eta, &past[..states])
        };
        let elements = (0..self.elements.len()).into_par_iter().with_min_len(256).map(of).collect();
        Some(Box::new(Self { layout: self.layout.clone(), elements, friction: None }))
    }
}
