//! A body: what never changes while it moves. A state: where it is.

use std::any::Any;
use std::sync::Arc;

use geometry::{Mat3, Vec3};
use linear::{ConstraintRows, Matrix, Pattern};

use crate::{Energy, Error, Force, GuideSample, StageHistory};

/// Masses, energies and forces over a fixed set of points.
pub struct Body {
    masses: Vec<f64>,
    energies: Vec<Box<dyn Energy>>,
    forces: Vec<Box<dyn Force>>,
    known: Vec<bool>,
    averages: ConstraintRows,
    gravity: Vec3,
    mass_damping: f64,
    pattern: Arc<Pattern>,
}

/// Collects the parts of a [`Body`].
pub struct BodyBuilder {
    masses: Vec<f64>,
    energies: Vec<Box<dyn Energy>>,
    forces: Vec<Box<dyn Force>>,
    known: Vec<bool>,
    averages: ConstraintRows,
    gravity: Vec3,
    mass_damping: f64,
}

impl Body {
    /// A body of points with these masses, in kilograms.
    pub fn builder(masses: Vec<f64>) -> BodyBuilder {
        let count = masses.len();
        BodyBuilder {
            masses,
            energies: Vec::new(),
            forces: Vec::new(),
            known: vec![false; count],
            averages: ConstraintRows::none(count),
            gravity: Vec3::ZERO,
            mass_damping: 0.0,
        }
    }

    /// α of Rayleigh's D = αM, in 1/s.
    pub fn mass_damping(&self) -> f64 {
        self.mass_damping
    }

    /// How many points.
    pub fn point_count(&self) -> usize {
        self.masses.len()
    }

    /// Masses in kilograms.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// Which points go exactly where the guide goes.
    pub fn known(&self) -> &[bool] {
        &self.known
    }

    /// Weighted averages of points that follow the guide's.
    pub fn averages(&self) -> &ConstraintRows {
        &self.averages
    }

    /// An energy, to change its elements between steps; `index` counts energies in the order they were added. `None` when
    /// there is none of that type there.
    ///
    /// What is changed is no part of a [`State`]: who changes it keeps it in his checkpoint.
    pub fn energy_mut<E: Energy>(&mut self, index: usize) -> Option<&mut E> {
        let energy: &mut dyn Any = self.energies.get_mut(index)?.as_mut();
        energy.downcast_mut()
    }

    /// The sparsity of its second derivatives.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Elastic energy plus potential in the field of gravity, in joules.
    pub fn potential_energy(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        self.elastic_energy(sample, x) + self.weight_energy(x)
    }

    /// The sum of the energies, in joules.
    pub fn elastic_energy(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        self.energies.iter().map(|energy| energy.value(sample, x)).sum()
    }

    fn weight_energy(&self, x: &[Vec3]) -> f64 {
        self.masses.iter().zip(x).map(|(m, x)| -m * self.gravity.dot(*x)).sum()
    }

    /// ½ Σ m v², in joules.
    pub fn kinetic_energy(&self, v: &[Vec3]) -> f64 {
        self.masses.iter().zip(v).map(|(m, v)| 0.5 * m * v.length_squared()).sum()
    }

    /// Adds the forces that have no potential.
    pub(crate) fn add_external_force(
        &self,
        sample: &GuideSample,
        x: &[Vec3],
        v: &[Vec3],
        force: &mut [Vec3],
    ) {
        self.forces.iter().for_each(|f| f.add_force(sample, x, v, force));
    }

    /// Adds `scale` · M.
    pub(crate) fn add_mass(&self, scale: f64, matrix: &mut Matrix) {
        for (point, mass) in self.masses.iter().enumerate() {
            matrix.add(point as u32, point as u32, Mat3::from_diagonal(Vec3::splat(scale * mass)));
        }
    }

    /// Adds `scale` · (−df/dv) of the forces that have no potential.
    pub(crate) fn add_external_damping(
        &self,
        sample: &GuideSample,
        x: &[Vec3],
        v: &[Vec3],
        scale: f64,
        matrix: &mut Matrix,
    ) {
        self.forces.iter().for_each(|f| f.add_damping(sample, x, v, scale, matrix));
    }

    pub(crate) fn has_external_forces(&self) -> bool {
        !self.forces.is_empty()
    }
}

/// A body over one implicit stage: its energies with the friction of that stage.
pub(crate) struct StagedBody<'a> {
    body: &'a Body,
    /// In place of the body's own, where there is friction.
    damped: Vec<Option<Box<dyn Energy>>>,
}

impl<'a> StagedBody<'a> {
    pub(crate) fn new(body: &'a Body, history: &StageHistory) -> Self {
        Self { body, damped: body.energies.iter().map(|energy| energy.with_viscosity(history)).collect() }
    }

    fn energies(&self) -> impl Iterator<Item = &dyn Energy> {
        self.damped
            .iter()
            .zip(&self.body.energies)
            .map(|(damped, plain)| damped.as_deref().unwrap_or(&**plain))
    }

    /// Potential energy, friction included.
    pub(crate) fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        self.energies().map(|energy| energy.value(sample, x)).sum::<f64>() + self.body.weight_energy(x)
    }

    /// Overwrites `force` with what acts on the points, apart from forces without potential, in newtons.
    pub(crate) fn force(&self, sample: &GuideSample, x: &[Vec3], v: &[Vec3], force: &mut [Vec3]) {
        force.fill(Vec3::ZERO);
        self.energies().for_each(|energy| energy.add_gradient(sample, x, force));
        for i in 0..force.len() {
            force[i] = self.body.masses[i] * (self.body.gravity - self.body.mass_damping * v[i]) - force[i];
        }
    }

    /// Adds Σ K.
    pub(crate) fn add_stiffness(
        &self,
        sample: &GuideSample,
        x: &[Vec3],
        previous: &[Vec3],
        matrix: &mut Matrix,
    ) {
        self.energies().for_each(|energy| energy.add_hessian(sample, x, previous, matrix));
    }
}

impl BodyBuilder {
    /// Adds an energy.
    #[must_use]
    pub fn energy(mut self, energy: impl Energy + 'static) -> Self {
        self.energies.push(Box::new(energy));
        self
    }

    /// Adds a force without potential.
    #[must_use]
    pub fn force(mut self, force: impl Force + 'static) -> Self {
        self.forces.push(Box::new(force));
        self
    }

    /// Points that go exactly where the guide goes.
    #[must_use]
    pub fn known(mut self, known: Vec<bool>) -> Self {
        self.known = known;
        self
    }

    /// Weighted averages that equal the guide's.
    #[must_use]
    pub fn averages(mut self, averages: ConstraintRows) -> Self {
        self.averages = averages;
        self
    }

    /// Gravity in m/s².
    #[must_use]
    pub fn gravity(mut self, gravity: Vec3) -> Self {
        self.gravity = gravity;
        self
    }

    /// α of Rayleigh's D = αM, in 1/s.
    #[must_use]
    pub fn mass_damping(mut self, mass_damping: f64) -> Self {
        self.mass_damping = mass_damping;
        self
    }

    /// Checks the parts and fixes the sparsity.
    pub fn build(self) -> Result<Body, Error> {
        let Self { masses, mut energies, mut forces, known, averages, gravity, mass_damping } = self;
        let count = masses.len();
        if known.len() != count {
            return Err(Error::Sizes { what: "known flags", expected: count, got: known.len() });
        }
        // A known point may weigh nothing: it never enters the system.
        if let Some(point) = (0..count).find(|&p| !(masses[p].is_finite() && (masses[p] > 0.0 || known[p]))) {
            return Err(Error::Mass { point, mass: masses[point] });
        }
        let mut stencils: Vec<Vec<u32>> = Vec::new();
        let mut collect = |stencil: &[u32]| stencils.push(stencil.to_vec());
        energies.iter().for_each(|energy| energy.stencils(&mut collect));
        forces.iter().for_each(|force| force.stencils(&mut collect));
        if let Some(&point) = stencils.iter().flatten().find(|&&p| p as usize >= count) {
            return Err(Error::Point { point: point as usize, count });
        }
        let pattern = Arc::new(Pattern::from_stencils(count, stencils.iter().map(Vec::as_slice)));
        energies.iter_mut().for_each(|energy| energy.bind(&pattern));
        forces.iter_mut().for_each(|force| force.bind(&pattern));
        Ok(Body { masses, energies, forces, known, averages, gravity, mass_damping, pattern })
    }
}

/// β of D = βK that damps a vibration of `frequency_hz` with the given ratio of critical damping.
///
/// A mode of angular frequency ω has ratio ζ = βω/2, so β = ζ/(πf). Slower modes are damped less, faster ones more.
pub fn stiffness_damping(ratio: f64, frequency_hz: f64) -> f64 {
    ratio / (std::f64::consts::PI * frequency_hz)
}

/// Where a body is: the whole answer, and all that a checkpoint needs.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Seconds since the first frame.
    pub time: f64,
    /// In metres.
    pub positions: Vec<Vec3>,
    /// In metres per second.
    pub velocities: Vec<Vec3>,
    /// What the last step ended with, in m/s²; empty before the first, and wherever positions were set by hand.
    pub accelerations: Vec<Vec3>,
    /// The step that the error estimate last found right, in seconds; 0 before the first.
    pub step: f64,
}

impl State {
    /// At rest.
    pub fn at_rest(positions: Vec<Vec3>) -> Self {
        let velocities = vec![Vec3::ZERO; positions.len()];
        Self { time: 0.0, positions, velocities, accelerations: Vec::new(), step: 0.0 }
    }

    /// The exact bits, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let count = self.positions.len() as f64;
        let vectors = self.positions.iter().chain(&self.velocities).chain(&self.accelerations);
        let numbers = vectors.flat_map(|v| v.to_array());
        [self.time, self.step, count].into_iter().chain(numbers).flat_map(f64::to_le_bytes).collect()
    }

    /// The reverse of [`State::to_bytes`]; `None` when the bytes are not those of a state.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let numbers: Vec<f64> = words.iter().map(|word| f64::from_le_bytes(*word)).collect();
        let (&[time, step, count], rest) = numbers.split_first_chunk()?;
        let (vectors, []) = rest.as_chunks::<3>() else { return None };
        let mut vectors = vectors.iter().map(|v| Vec3::from_array(*v));
        let mut take = || vectors.by_ref().take(count as usize).collect::<Vec<Vec3>>();
        let (positions, velocities, accelerations) = (take(), take(), take());
        let whole = velocities.len() == positions.len()
            && (accelerations.is_empty() || accelerations.len() == positions.len())
            && positions.len() as f64 == count
            && vectors.next().is_none();
        whole.then_some(Self { time, positions, velocities, accelerations, step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_survives_its_bytes() {
        let mut state = State::at_rest(vec![Vec3::new(0.1, f64::MIN_POSITIVE, -3.0), Vec3::ONE]);
        (state.time, state.step, state.velocities[1].y) = (0.3, 1.0 / 48.0, -0.0);
        let bytes = state.to_bytes();
        assert_eq!(State::from_bytes(&bytes).unwrap().to_bytes(), bytes);
        state.accelerations = vec![Vec3::Z; 2];
        assert_eq!(State::from_bytes(&state.to_bytes()), Some(state));
        assert!(State::from_bytes(&bytes[..bytes.len() - 1]).is_none());
        assert!(State::from_bytes(&bytes[..bytes.len() - 24]).is_none());
        assert!(State::from_bytes(&[]).is_none());
    }

    #[test]
    fn weightless_and_missing_points_are_refused() {
        assert!(matches!(Body::builder(vec![1.0, 0.0]).build(), Err(Error::Mass { point: 1, .. })));
        assert!(Body::builder(vec![1.0, 0.0]).known(vec![false, true]).build().is_ok());
        assert!(matches!(Body::builder(vec![1.0]).known(vec![]).build(), Err(Error::Sizes { .. })));
    }

    #[test]
    fn damping_ratio_has_its_meaning() {
        // ζ = βω/2
        let beta = stiffness_damping(0.05, 2.0);
        assert!((beta * std::f64::consts::TAU * 2.0 / 2.0 - 0.05).abs() < 1e-15);
    }
}
