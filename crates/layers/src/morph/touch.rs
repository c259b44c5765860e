//! What a morph touches: its skin as it is shown, kept from crossing itself and obstacles.
//!
//! A few coordinates cannot make room for every fingertip, and skinning folds an elbow into itself whatever they do. So the skin that is
//! shown is points of their own which the engine keeps from crossing anything, on a cushion over the flesh:
//!
//! ```text
//! E(y) = Σ ½ k ‖yᵢ − xᵢ‖² + Σ ½ e ‖(yᵢ − xᵢ) − (yⱼ − xⱼ)‖² over edges,   x where flesh and joints take the skin
//! ```
//!
//! Where y departs from x, flesh is pressed there by the same cushion, in its own coordinates ([`character::Press`]): what these can follow
//! they do, and come out elsewhere; what is left is the cushion's.

use std::collections::BTreeSet;

use character::Press;
use contact::Attachment;
use dynamics::{Body, ContactModel, Energy, GuideSample, Integrator, Span, State, Stepper, Substeps};
use geometry::{Mat3, Vec3, vertex_areas};
use linear::{Matrix, Pattern};
use shot::{FrameResult, LayerError, Target};

use crate::shared::{Collider, Contact};

/// How firm the cushion is: so many times flesh as thick as a tet's edge.
const FIRMNESS: f64 = 10.0;
/// How light the skin's points are: so small a part of flesh as thick as a tet's edge. They have no inertia worth the name.
const LIGHTNESS: f64 = 1e-4;
/// Of equilateral triangles ∫∇u·∇v is −1/√3 for two corners of an edge.
const EQUILATERAL: f64 = 0.577_350_269_189_625_8;
/// Points nearer to where the flesh has them than this part of the contact gap, or of what the deepest is pressed by, are not pressed: the
/// cushion's smoothness alone moves them.
const UNTOUCHED: [f64; 2] = [0.02, 0.1];
/// Steps in which a skin that begins crossed, or too near to something, is brought apart before the first frame.
const SETTLING: usize = 12;

/// What of the flesh the cushion is made of.
#[derive(Clone, Copy)]
pub(super) struct Cushion {
    /// Young's modulus, in Pa, and density, in kg/m³.
    pub(super) young: f64,
    pub(super) density: f64,
    /// How thick it is, and over what length dents are smooth, in metres.
    pub(super) depth: f64,
}

/// The skin that is shown, and what it meets.
pub(super) struct Touch {
    collider: Collider,
    body: Body,
    stepper: Stepper,
    state: State,
    /// Where the flesh has it.
    flesh: Vec<Vec3>,
    /// k of every point, in N/m.
    stiffness: Vec<f64>,
    known: Vec<bool>,
}

impl Touch {
    /// `known` points follow exactly.
    pub(super) fn new(
        contact: &Contact,
        input: &Target,
        known: Vec<bool>,
        cushion: Cushion,
    ) -> Result<Self, LayerError> {
        let mesh = input.mesh();
        let (rest, triangles) = (mesh.rest(), mesh.point_triangles());
        let areas = vertex_areas(&rest, &triangles);
        let mean = areas.iter().sum::<f64>() / areas.len().max(1) as f64;
        // points of no triangle count like others
        let areas: Vec<f64> = areas.iter().map(|area| if *area > 0.0 { *area } else { mean }).collect();
        let firmness = FIRMNESS * cushion.young / cushion.depth;
        let stiffness: Vec<f64> = areas.iter().map(|area| firmness * area).collect();
        let light = LIGHTNESS * cushion.density * cushion.depth;
        let sides = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
        let edges: BTreeSet<[u32; 2]> = sides.map(|[a, b]| [a.min(b), a.max(b)]).collect();
        let energy = Offsets {
            springs: stiffness.clone(),
            edges: edges.into_iter().collect(),
            smoothness: EQUILATERAL * firmness * cushion.depth * cushion.depth,
            first: 0,
            slots: Vec::new(),
        };
        let body = Body::builder(areas.iter().map(|area| light * area).collect::<Vec<f64>>())
            .energy(energy)
            .known(known.clone())
            .build()
            .map_err(LayerError::new)?;
        let settings = dynamics::Settings {
            integrator: Integrator::BackwardEuler,
            substeps: Substeps::Automatic,
            ..dynamics::Settings::default()
        };
        let stepper = Stepper::new(&body, &rest, settings).map_err(LayerError::new)?;
        let skin = contact.skin(&mesh.name, rest.clone(), triangles, known.clone());
        debug_assert_eq!(skin.attachment, Attachment::identity(rest.len()));
        let collider = Collider::new(vec![(skin, input.clone())], |_| 0, None)?;
        Ok(Self {
            collider,
            body,
            stepper,
            state: State::at_rest(rest.clone()),
            flesh: rest,
            stiffness,
            known,
        })
    }

    /// Puts the skin where flesh and joints have it at the first frame, and brings apart what crosses there.
    pub(super) fn begin(&mut self, places: &[Vec3], seconds: f64) -> Result<(), LayerError> {
        let start = -(SETTLING as f64) * seconds;
        self.state = State { time: start, ..State::at_rest(places.to_vec()) };
        self.flesh = places.to_vec();
        self.collider.place(start, Vec3::ZERO)?;
        self.collider.hold(start, -start, Vec3::ZERO)?;
        for _ in 0..SETTLING {
            self.step(places, seconds)?;
        }
        self.state.time = 0.0;
        Ok(())
    }

    /// Puts the skin where flesh and joints have it behind a cut; obstacles are where they are then.
    pub(super) fn cut_to(&mut self, index: usize, rate: f64, places: &[Vec3]) -> Result<(), LayerError> {
        self.go_to(index, rate, Vec3::ZERO)?;
        let time = index as f64 / rate;
        self.flesh = places.to_vec();
        self.state = State { time, ..State::at_rest(places.to_vec()) };
        self.collider.collision.advance_obstacles(time);
        Ok(())
    }

    /// Obstacles are to go from the frame before to this one, while the skin moves along at `drift`, in m/s.
    pub(super) fn go_to(&mut self, index: usize, rate: f64, drift: Vec3) -> Result<(), LayerError> {
        self.state.time = (index as f64 - 1.0) / rate;
        self.collider.go_to(index, drift)
    }

    /// Takes the skin along as flesh and joints go on `to` other places. Why that could not be done, where it could not: it is then where
    /// they are.
    pub(super) fn step(&mut self, to: &[Vec3], seconds: f64) -> Result<Option<String>, LayerError> {
        let time = self.state.time + seconds;
        let from = std::mem::replace(&mut self.flesh, to.to_vec());
        match self.advance([&from, to], seconds) {
            Ok(()) => Ok(None),
            Err(dynamics::Error::Cancelled) => Err(LayerError::new(dynamics::Error::Cancelled)),
            Err(error) => {
                self.state = State { time, ..State::at_rest(to.to_vec()) };
                self.collider.collision.advance_obstacles(time);
                Ok(Some(error.to_string()))
            }
        }
    }

    /// The flesh was pressed and has the skin here.
    pub(super) fn lies_on(&mut self, places: &[Vec3]) {
        self.flesh.copy_from_slice(places);
    }

    fn advance(&mut self, [from, to]: [&[Vec3]; 2], seconds: f64) -> Result<(), dynamics::Error> {
        let velocity: Vec<Vec3> = from.iter().zip(to).map(|(a, b)| (*b - *a) / seconds).collect();
        // the way of the flesh is the best guess of the skin's
        self.state.velocities.copy_from_slice(&velocity);
        self.state.accelerations.clear();
        let guide = Span {
            start: self.state.time,
            duration: seconds,
            positions: [from.to_vec(), to.to_vec()],
            velocities: [velocity.clone(), velocity],
        };
        let Self { stepper, body, state, collider, .. } = self;
        stepper.advance_with_contact(body, state, &guide, Some(&mut collider.collision), seconds, &mut [])?;
        Ok(())
    }

    /// Where flesh that has the skin at `places` is to be pressed, and how.
    pub(super) fn presses(&self, places: &[Vec3]) -> Vec<Press> {
        let away = |point: usize| self.state.positions[point].distance(places[point]);
        let deepest = (0..places.len()).filter(|&p| !self.known[p]).map(away).fold(0.0, f64::max);
        let least = (UNTOUCHED[0] * self.collider.collision.dhat()).max(UNTOUCHED[1] * deepest);
        let press = |point: usize| {
            let way = self.state.positions[point] - places[point];
            let depth = way.length();
            let pressed = depth > least && !self.known[point];
            pressed.then(|| Press { point, direction: way / depth, depth, stiffness: self.stiffness[point] })
        };
        (0..places.len()).filter_map(press).collect()
    }

    /// Where the skin is shown: at `wanted` as far as nothing is crossed on the way there.
    pub(super) fn shown(&mut self, wanted: Vec<Vec3>, exact: &[bool]) -> Result<Vec<Vec3>, LayerError> {
        self.collider.limit_alone(&self.state.positions, wanted, exact)
    }

    /// Judges the frame as it is stored.
    pub(super) fn report(
        &self,
        index: usize,
        points: &[[f32; 3]],
        exact: &[bool],
        result: &mut FrameResult,
    ) -> Result<(), LayerError> {
        self.collider.report(index, &[(points, exact)], result)
    }

    pub(super) fn checkpoint(&self) -> Vec<u8> {
        // where the flesh is stands among the velocities, which every step sets anew
        let state = State { velocities: self.flesh.clone(), ..self.state.clone() }.to_bytes();
        [&(state.len() as u64).to_le_bytes()[..], &state, &self.collider.collision.to_bytes()].concat()
    }

    /// The reverse of [`Touch::checkpoint`]; false where it is not one of this skin.
    pub(super) fn restore(&mut self, checkpoint: &[u8]) -> bool {
        let Some((length, rest)) = checkpoint.split_first_chunk::<8>() else { return false };
        let Some((state, contact)) = rest.split_at_checked(u64::from_le_bytes(*length) as usize) else {
            return false;
        };
        let state = State::from_bytes(state).filter(|state| state.positions.len() == self.known.len());
        let Some(state) = state.filter(|_| self.collider.collision.restore(contact)) else { return false };
        self.flesh.copy_from_slice(&state.velocities);
        self.state = state;
        true
    }
}

/// The cushion: offsets from the guide cost something, and more where they differ along an edge.
struct Offsets {
    springs: Vec<f64>,
    edges: Vec<[u32; 2]>,
    /// e, in N/m.
    smoothness: f64,
    first: u32,
    /// Of all points, then of all edges.
    slots: Vec<usize>,
}

impl Offsets {
    fn offset(&self, sample: &GuideSample, x: &[Vec3], point: usize) -> Vec3 {
        let point = point + self.first as usize;
        x[point] - sample.guide_positions[point]
    }

    fn across(&self, sample: &GuideSample, x: &[Vec3], [a, b]: [u32; 2]) -> Vec3 {
        self.offset(sample, x, a as usize) - self.offset(sample, x, b as usize)
    }
}

impl Energy for Offsets {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        (0..self.springs.len() as u32).for_each(|p| visit(&[p + self.first]));
        self.edges.iter().for_each(|edge| visit(&edge.map(|p| p + self.first)));
    }

    fn shift(&mut self, first: u32) {
        self.first += first;
    }

    fn bind(&mut self, pattern: &Pattern) {
        let slot = |a: u32, b: u32| {
            let (a, b) = (a + self.first, b + self.first);
            pattern.slot(a.max(b), a.min(b)).expect("the pattern was made from these stencils")
        };
        let points = (0..self.springs.len() as u32).map(|p| slot(p, p));
        self.slots = points.chain(self.edges.iter().map(|[a, b]| slot(*a, *b))).collect();
    }

    fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        let spring = |(p, k): (usize, &f64)| k * self.offset(sample, x, p).length_squared();
        let edge = |edge: &[u32; 2]| self.smoothness * self.across(sample, x, *edge).length_squared();
        let springs: f64 = self.springs.iter().enumerate().map(spring).sum();
        0.5 * (springs + self.edges.iter().map(edge).sum::<f64>())
    }

    fn add_gradient(&self, sample: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]) {
        let first = self.first as usize;
        for (p, k) in self.springs.iter().enumerate() {
            gradient[p + first] += *k * self.offset(sample, x, p);
        }
        for edge in &self.edges {
            let pull = self.smoothness * self.across(sample, x, *edge);
            let [a, b] = edge.map(|p| p as usize + first);
            gradient[a] += pull;
            gradient[b] -= pull;
        }
    }

    fn add_hessian(&self, _: &GuideSample, _: &[Vec3], _: &[Vec3], matrix: &mut Matrix) {
        let (points, edges) = self.slots.split_at(self.springs.len());
        let values = matrix.values_mut();
        for (slot, k) in points.iter().zip(&self.springs) {
            values[*slot] += Mat3::from_diagonal(Vec3::splat(*k));
        }
        let block = Mat3::from_diagonal(Vec3::splat(self.smoothness));
        for (slot, edge) in edges.iter().zip(&self.edges) {
            values[*slot] -= block;
            edge.iter().for_each(|&p| values[points[p as usize]] += block);
        }
    }
}
