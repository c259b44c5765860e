//! A body: what never changes while it moves. A state: where it is.

use std::sync::Arc;

use geometry::{Mat3, Vec3};
use linear::{Matrix, Pattern, Rows};

use crate::{Energy, Error, Force, Hessian, Moment};

/// Masses, energies and forces over a fixed set of points.
pub struct Body {
    masses: Vec<f64>,
    terms: Vec<Term>,
    forces: Vec<Box<dyn Force>>,
    known: Vec<bool>,
    averages: Rows,
    gravity: Vec3,
    mass_damping: f64,
    pattern: Arc<Pattern>,
}

/// An energy and how strongly its strain rate is damped.
struct Term {
    energy: Box<dyn Energy>,
    /// β in D = βK, seconds.
    stiffness_damping: f64,
}

/// Collects the parts of a [`Body`].
pub struct BodyBuilder {
    masses: Vec<f64>,
    terms: Vec<Term>,
    forces: Vec<Box<dyn Force>>,
    known: Vec<bool>,
    averages: Rows,
    gravity: Vec3,
    mass_damping: f64,
}

impl Body {
    /// A body of points with these masses, in kilograms.
    pub fn builder(masses: Vec<f64>) -> BodyBuilder {
        let count = masses.len();
        BodyBuilder {
            masses,
            terms: Vec::new(),
            forces: Vec::new(),
            known: vec![false; count],
            averages: Rows::none(count),
            gravity: Vec3::ZERO,
            mass_damping: 0.0,
        }
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
    pub fn averages(&self) -> &Rows {
        &self.averages
    }

    /// The sparsity of its second derivatives.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Elastic energy plus potential in the field of gravity, in joules.
    pub fn potential_energy(&self, moment: &Moment, x: &[Vec3]) -> f64 {
        let weight: f64 = self.masses.iter().zip(x).map(|(m, x)| -m * self.gravity.dot(*x)).sum();
        self.elastic_energy(moment, x) + weight
    }

    /// The sum of the energies, in joules.
    pub fn elastic_energy(&self, moment: &Moment, x: &[Vec3]) -> f64 {
        self.terms.iter().map(|term| term.energy.value(moment, x)).sum()
    }

    /// ½ Σ m v², in joules.
    pub fn kinetic_energy(&self, v: &[Vec3]) -> f64 {
        self.masses.iter().zip(v).map(|(m, v)| 0.5 * m * v.length_squared()).sum()
    }

    /// Overwrites `force` with what acts on the points apart from internal damping, in newtons.
    pub(crate) fn force(&self, moment: &Moment, x: &[Vec3], v: &[Vec3], force: &mut [Vec3]) {
        force.fill(Vec3::ZERO);
        for term in &self.terms {
            term.energy.add_gradient(moment, x, force);
        }
        for (f, m) in force.iter_mut().zip(&self.masses) {
            *f = m * self.gravity - *f;
        }
        self.add_outer_force(moment, x, v, force);
    }

    /// Adds the forces that have no potential.
    pub(crate) fn add_outer_force(&self, moment: &Moment, x: &[Vec3], v: &[Vec3], force: &mut [Vec3]) {
        self.forces.iter().for_each(|f| f.add_force(moment, x, v, force));
    }

    /// Adds Σ K to the matrix.
    pub(crate) fn add_stiffness(&self, moment: &Moment, x: &[Vec3], matrix: &mut Matrix) {
        for term in &self.terms {
            term.energy.add_hessian(Hessian::Projected, moment, x, 1.0, matrix);
        }
    }

    /// Overwrites the matrix with internal damping D = αM + Σ βK at x.
    pub(crate) fn damping(&self, moment: &Moment, x: &[Vec3], matrix: &mut Matrix) {
        matrix.set_zero();
        for term in self.terms.iter().filter(|term| term.stiffness_damping > 0.0) {
            term.energy.add_hessian(Hessian::Material, moment, x, term.stiffness_damping, matrix);
        }
        if self.mass_damping > 0.0 {
            self.add_mass(self.mass_damping, matrix);
        }
    }

    /// Adds `scale` · M.
    pub(crate) fn add_mass(&self, scale: f64, matrix: &mut Matrix) {
        for (point, mass) in self.masses.iter().enumerate() {
            matrix.add(point as u32, point as u32, Mat3::from_diagonal(Vec3::splat(scale * mass)));
        }
    }

    pub(crate) fn is_damped(&self) -> bool {
        self.mass_damping > 0.0 || self.terms.iter().any(|term| term.stiffness_damping > 0.0)
    }

    /// Adds `scale` · (−df/dv) of the forces that have no potential.
    pub(crate) fn add_outer_damping(
        &self,
        moment: &Moment,
        x: &[Vec3],
        v: &[Vec3],
        scale: f64,
        matrix: &mut Matrix,
    ) {
        self.forces.iter().for_each(|f| f.add_damping(moment, x, v, scale, matrix));
    }

    pub(crate) fn has_outer_forces(&self) -> bool {
        !self.forces.is_empty()
    }
}

impl BodyBuilder {
    /// Adds an energy. `stiffness_damping` is β of Rayleigh's D = βK, in seconds; see [`stiffness_damping`].
    #[must_use]
    pub fn energy(mut self, energy: impl Energy + 'static, stiffness_damping: f64) -> Self {
        self.terms.push(Term { energy: Box::new(energy), stiffness_damping });
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
    pub fn averages(mut self, averages: Rows) -> Self {
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
        let Self { masses, mut terms, mut forces, known, averages, gravity, mass_damping } = self;
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
        terms.iter().for_each(|term| term.energy.stencils(&mut collect));
        forces.iter().for_each(|force| force.stencils(&mut collect));
        if let Some(&point) = stencils.iter().flatten().find(|&&p| p as usize >= count) {
            return Err(Error::Point { point: point as usize, count });
        }
        let pattern = Arc::new(Pattern::from_stencils(count, stencils.iter().map(Vec::as_slice)));
        terms.iter_mut().for_each(|term| term.energy.bind(&pattern));
        forces.iter_mut().for_each(|force| force.bind(&pattern));
        Ok(Body { masses, terms, forces, known, averages, gravity, mass_damping, pattern })
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
    /// The step that the error estimate last found right, in seconds; 0 before the first.
    pub step: f64,
}

impl State {
    /// At rest.
    pub fn at_rest(positions: Vec<Vec3>) -> Self {
        let velocities = vec![Vec3::ZERO; positions.len()];
        Self { time: 0.0, positions, velocities, step: 0.0 }
    }

    /// The exact bits, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let vectors = self.positions.iter().chain(&self.velocities).flat_map(|v| v.to_array());
        [self.time, self.step].into_iter().chain(vectors).flat_map(f64::to_le_bytes).collect()
    }

    /// The reverse of [`State::to_bytes`]; `None` when the length is not that of a state.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let numbers: Vec<f64> =
            bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap_or_default())).collect();
        let (&[time, step], vectors) = numbers.split_first_chunk()?;
        if !bytes.len().is_multiple_of(8) || !vectors.len().is_multiple_of(6) {
            return None;
        }
        let all: Vec<Vec3> = vectors.chunks_exact(3).map(|v| Vec3::new(v[0], v[1], v[2])).collect();
        let (positions, velocities) = all.split_at(all.len() / 2);
        Some(Self { time, positions: positions.to_vec(), velocities: velocities.to_vec(), step })
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
        assert!(State::from_bytes(&bytes[..bytes.len() - 1]).is_none());
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
