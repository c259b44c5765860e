//! What acts on a body, seen by the solver: sums of elements, potentials and forces.

use std::sync::Arc;

use geometry::Vec3;
use linear::{Matrix, Pattern};
use rayon::prelude::*;

use crate::scatter::{Scatter, Schedule};
use crate::{Block, Element, ForceElement, InternalVariables, Viscous};

/// The instant at which energies and forces are evaluated: the time, and where the guide is then.
#[derive(Clone, Copy, Debug)]
pub struct GuideSample<'a> {
    /// Seconds since the first frame.
    pub time: f64,
    /// Where the guide puts each point.
    pub guide_positions: &'a [Vec3],
    /// How fast it moves there.
    pub guide_velocities: &'a [Vec3],
}

/// A potential energy of all points. Usually [`Elements`] of some [`Element`].
pub trait Energy: Send + Sync + 'static {
    /// Visits the points that each second derivative couples.
    fn stencils(&self, visit: &mut dyn FnMut(&[u32]));
    /// Its points are `first` further on: it becomes part of a body of several. Called before `bind`.
    fn shift(&mut self, first: u32);
    /// Remembers where its blocks stand in a matrix of this pattern. Called once, before `add_hessian`.
    fn bind(&mut self, pattern: &Pattern);
    /// E(x), in joules.
    fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64;
    /// Adds dE/dx.
    fn add_gradient(&self, sample: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]);
    /// Adds a positive semidefinite Hessian for a Newton step that came from `previous`.
    fn add_hessian(&self, sample: &GuideSample, x: &[Vec3], previous: &[Vec3], matrix: &mut Matrix);
    /// The energy with its internal friction over a stage, or `None` where there is no friction.
    fn with_viscosity(&self, _stage: &StageHistory) -> Option<Box<dyn Energy>> {
        None
    }
    /// Its internal variables as it was made; none where nothing in it ever changes.
    fn internal(&self) -> Vec<f64> {
        Vec::new()
    }
    /// The energy with other internal variables, as many as [`Energy::internal`] gives.
    fn with_internal(&self, _internal: &[f64]) -> Option<Box<dyn Energy>> {
        None
    }
}

/// What an implicit stage starts from: the strains of friction, strain rate = (ε(x) − Σ w ε(past))/s, and what materials remember.
#[derive(Clone, Copy, Debug)]
pub struct StageHistory<'a> {
    /// s, in seconds.
    pub implicit_dt: f64,
    /// Earlier positions with their weights w.
    pub positions: [(f64, &'a [Vec3]); 2],
    /// The state's internal variables.
    pub internal: &'a [f64],
}

/// A force without potential. Usually [`Elements`] of some [`ForceElement`].
pub trait Force: Send + Sync {
    /// Visits the points that each derivative couples.
    fn stencils(&self, visit: &mut dyn FnMut(&[u32]));
    /// Its points are `first` further on. Called before `bind`.
    fn shift(&mut self, first: u32);
    /// Remembers where its blocks stand in a matrix of this pattern.
    fn bind(&mut self, pattern: &Pattern);
    /// Adds the force, in newtons.
    fn add_force(&self, sample: &GuideSample, x: &[Vec3], v: &[Vec3], force: &mut [Vec3]);
    /// Adds `scale` times a positive semidefinite stand-in for −df/dv.
    fn add_damping(&self, sample: &GuideSample, x: &[Vec3], v: &[Vec3], scale: f64, matrix: &mut Matrix);
}

/// Many elements of one kind over the points of a body.
#[derive(Clone)]
pub struct Elements<E, const N: usize> {
    layout: Arc<Layout<N>>,
    elements: Vec<E>,
    friction: Option<Friction<E, N>>,
    evolution: Option<Evolution<E>>,
}

/// Where elements stand: the same for an energy with and without friction.
#[derive(Clone)]
struct Layout<const N: usize> {
    stencils: Vec<[u32; N]>,
    schedule: Schedule,
    slots: Vec<Slots<N>>,
}

/// Where an element's blocks stand in the matrix: `slots[i][j]` for j ≤ i, and whether it is the transposed block.
type Slots<const N: usize> = [[(u32, bool); N]; N];

#[derive(Clone)]
pub(crate) struct Friction<E, const N: usize> {
    /// β of D = βK, in seconds.
    pub(crate) beta: f64,
    pub(crate) with_viscosity: WithViscosity<E, N>,
}

/// [`Viscous::with_viscosity`] of an element type that may not have it.
pub(crate) type WithViscosity<E, const N: usize> = fn(&E, f64, &[(f64, [Vec3; N])]) -> E;

/// [`InternalVariables`] of an element type that may have none.
#[derive(Clone)]
struct Evolution<E> {
    count: usize,
    read: fn(&E, &mut [f64]),
    with: fn(&E, &[f64]) -> E,
}

impl<E, const N: usize> Elements<E, N> {
    /// Takes elements with the points they act on. They are kept in the order of their first points, so that neighbours
    /// in space are neighbours in memory where the mesh's numbering allows it.
    pub fn new(pairs: impl IntoIterator<Item = ([u32; N], E)>) -> Self {
        let mut pairs: Vec<([u32; N], E)> = pairs.into_iter().collect();
        pairs.sort_by_key(|(stencil, _)| stencil.iter().copied().min());
        let (stencils, elements): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let schedule = Schedule::new(&stencils);
        let layout = Arc::new(Layout { stencils, schedule, slots: Vec::new() });
        Self { layout, elements, friction: None, evolution: None }
    }

    /// Adds internal friction: Rayleigh's D = βK, β in seconds; see [`stiffness_damping`](crate::stiffness_damping).
    #[must_use]
    pub fn damped(self, beta: f64) -> Self
    where
        E: Viscous<N>,
    {
        let friction = (beta > 0.0).then_some(Friction { beta, with_viscosity: E::with_viscosity });
        Self { friction, ..self }
    }

    /// Lets the elements change while the body moves: their internal variables are part of its [`State`](crate::State), in
    /// the order of [`Elements::iter`].
    #[must_use]
    pub fn evolving(self) -> Self
    where
        E: InternalVariables<N>,
    {
        let evolution = Evolution { count: E::COUNT, read: E::internal, with: E::with_internal };
        Self { evolution: Some(evolution), ..self }
    }

    /// How many elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Changes elements between steps: stiffness, rest shapes. Their points stay.
    pub fn for_each_mut(&mut self, mut change: impl FnMut(&[u32; N], &mut E)) {
        self.layout
            .stencils
            .iter()
            .zip(&mut self.elements)
            .for_each(|(points, element)| change(points, element));
    }

    /// The elements with their points, in the order they are kept.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u32; N], &E)> {
        self.layout.stencils.iter().zip(&self.elements)
    }

    fn shift_stencils(&mut self, first: u32) {
        let stencils = &mut Arc::make_mut(&mut self.layout).stencils;
        stencils.iter_mut().flatten().for_each(|point| *point += first);
    }

    /// Points, elements and friction, for an energy that sees them otherwise.
    pub(crate) fn into_parts(self) -> (Vec<[u32; N]>, Vec<E>, Option<Friction<E, N>>) {
        (self.layout.stencils.clone(), self.elements, self.friction)
    }

    fn visit_stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.layout.stencils.iter().for_each(|stencil| visit(stencil));
    }

    fn bind_slots(&mut self, pattern: &Pattern) {
        let slots_of = |stencil: &[u32; N]| {
            let mut slots = [[(0, false); N]; N];
            for i in 0..N {
                for j in 0..=i {
                    let slot = pattern.slot(stencil[i], stencil[j]);
                    let slot = slot.expect("the pattern was made from these stencils") as u32;
                    slots[i][j] = (slot, stencil[i] < stencil[j]);
                }
            }
            slots
        };
        let layout = Arc::make_mut(&mut self.layout);
        layout.slots = layout.stencils.iter().map(slots_of).collect();
    }

    fn gather(&self, index: usize, x: &[Vec3]) -> [Vec3; N] {
        self.layout.stencils[index].map(|p| x[p as usize])
    }

    fn add_points(&self, sum: &mut [Vec3], of: impl Fn(usize, &E) -> [Vec3; N] + Sync)
    where
        E: Sync,
    {
        let sum = Scatter::new(sum);
        self.layout.schedule.for_each(|index| {
            let parts = of(index, &self.elements[index]);
            for (part, &p) in parts.into_iter().zip(&self.layout.stencils[index]) {
                // SAFETY: a point of the visited element
                #[allow(unsafe_code)]
                unsafe {
                    *sum.at(p as usize) += part;
                }
            }
        });
    }

    fn add_blocks(&self, matrix: &mut Matrix, scale: f64, of: impl Fn(usize, &E) -> Block<N> + Sync)
    where
        E: Sync,
    {
        assert_eq!(self.layout.slots.len(), self.elements.len(), "bound before assembly");
        let values = Scatter::new(matrix.values_mut());
        self.layout.schedule.for_each(|index| {
            let block = of(index, &self.elements[index]);
            for (i, row) in self.layout.slots[index].iter().enumerate() {
                for (j, &(slot, transposed)) in row[..=i].iter().enumerate() {
                    let part = if transposed { block.0[j][i] } else { block.0[i][j] };
                    // SAFETY: a pair of points of the visited element
                    #[allow(unsafe_code)]
                    unsafe {
                        *values.at(slot as usize) += part * scale;
                    }
                }
            }
        });
    }
}

impl<E: Element<N> + 'static, const N: usize> Energy for Elements<E, N> {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.visit_stencils(visit);
    }

    fn shift(&mut self, first: u32) {
        self.shift_stencils(first);
    }

    fn bind(&mut self, pattern: &Pattern) {
        self.bind_slots(pattern);
    }

    fn value(&self, _: &GuideSample, x: &[Vec3]) -> f64 {
        self.layout.schedule.sum(|index| self.elements[index].value(&self.gather(index, x)))
    }

    fn add_gradient(&self, _: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]) {
        self.add_points(gradient, |index, element| element.gradient(&self.gather(index, x)));
    }

    fn add_hessian(&self, _: &GuideSample, x: &[Vec3], previous: &[Vec3], matrix: &mut Matrix) {
        self.add_blocks(matrix, 1.0, |index, element| {
            element.newton_hessian(&self.gather(index, x), &self.gather(index, previous))
        });
    }

    fn with_viscosity(&self, stage: &StageHistory) -> Option<Box<dyn Energy>> {
        let Friction { beta, with_viscosity } = self.friction.as_ref()?;
        let eta = beta / stage.implicit_dt;
        // most first stages know one earlier state only
        let states = if stage.positions[1].0 == 0.0 { 1 } else { 2 };
        let of = |index: usize| {
            let history = stage.positions.map(|(weight, x)| (weight, self.gather(index, x)));
            with_viscosity(&self.elements[index], eta, &history[..states])
        };
        let elements = (0..self.elements.len()).into_par_iter().with_min_len(256).map(of).collect();
        Some(Box::new(Self { layout: self.layout.clone(), elements, friction: None, evolution: None }))
    }

    fn internal(&self) -> Vec<f64> {
        let Some(Evolution { count, read, .. }) = &self.evolution else { return Vec::new() };
        let mut internal = vec![0.0; count * self.elements.len()];
        self.elements.iter().zip(internal.chunks_exact_mut(*count)).for_each(|(e, to)| read(e, to));
        internal
    }

    fn with_internal(&self, internal: &[f64]) -> Option<Box<dyn Energy>> {
        let Evolution { count, with, .. } = self.evolution.as_ref()?;
        let pairs = self.elements.iter().zip(internal.chunks_exact(*count));
        let elements = pairs.map(|(element, internal)| with(element, internal)).collect();
        let of =
            |friction: &Friction<E, N>| Friction { with_viscosity: friction.with_viscosity, ..*friction };
        let (layout, friction) = (self.layout.clone(), self.friction.as_ref().map(of));
        Some(Box::new(Self { layout, elements, friction, evolution: None }))
    }
}

/// [`Elements`] of a [`ForceElement`], as a [`Force`]. (A type of its own, because one element could be both.)
#[derive(Clone)]
pub struct Forces<E, const N: usize>(pub Elements<E, N>);

impl<E: ForceElement<N>, const N: usize> Force for Forces<E, N> {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        self.0.visit_stencils(visit);
    }

    fn shift(&mut self, first: u32) {
        self.0.shift_stencils(first);
    }

    fn bind(&mut self, pattern: &Pattern) {
        self.0.bind_slots(pattern);
    }

    fn add_force(&self, sample: &GuideSample, x: &[Vec3], v: &[Vec3], force: &mut [Vec3]) {
        let of = |index, element: &E| {
            element.force(sample.time, &self.0.gather(index, x), &self.0.gather(index, v))
        };
        self.0.add_points(force, of);
    }

    fn add_damping(&self, sample: &GuideSample, x: &[Vec3], v: &[Vec3], scale: f64, matrix: &mut Matrix) {
        let of = |index, element: &E| {
            element.damping(sample.time, &self.0.gather(index, x), &self.0.gather(index, v))
        };
        self.0.add_blocks(matrix, scale, of);
    }
}
