//! A body: what never changes while it moves.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use geometry::Vec3;
use linear::{ConstraintRows, Matrix, Pattern};

use crate::{Energy, Error, Force, GuideSample, Limit, Mass, StageHistory, State};

/// Masses, energies and forces over a fixed set of points.
pub struct Body {
    mass: Mass,
    energies: Vec<Box<dyn Energy>>,
    /// Where the internal variables of each energy are in [`State::internal`].
    internal: Vec<Range<usize>>,
    forces: Vec<Box<dyn Force>>,
    limits: Vec<Box<dyn Limit>>,
    known: Vec<bool>,
    averages: ConstraintRows,
    greatest_pulls: Vec<f64>,
    conflict_pulls: Vec<f64>,
    gravity: Vec<Vec3>,
    mass_damping: f64,
    pattern: Arc<Pattern>,
}

/// Collects the parts of a [`Body`].
pub struct BodyBuilder {
    mass: Mass,
    energies: Vec<Box<dyn Energy>>,
    internal: Vec<Range<usize>>,
    forces: Vec<Box<dyn Force>>,
    limits: Vec<Box<dyn Limit>>,
    known: Vec<bool>,
    averages: ConstraintRows,
    greatest_pulls: Vec<f64>,
    conflict_pulls: Vec<f64>,
    gravity: Vec<Vec3>,
    mass_damping: f64,
}

/// The share that one of several bodies has in the one they were put together to; see [`BodyBuilder::append`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Its points.
    pub points: Range<usize>,
    /// Its averages.
    pub averages: Range<usize>,
    /// Its internal variables.
    pub internal: Range<usize>,
}

/// Where the internal variables of an energy of type `E` are among those of the body it was added to.
pub struct InternalHandle<E> {
    range: Range<usize>,
    energy: PhantomData<fn() -> E>,
}

impl<E> Clone for InternalHandle<E> {
    fn clone(&self) -> Self {
        Self { range: self.range.clone(), energy: PhantomData }
    }
}

impl<E> InternalHandle<E> {
    /// The variables, of a state whose body has the energy's own body as this part.
    pub fn of<'a>(&self, state: &'a State, part: &Part) -> &'a [f64] {
        let first = part.internal.start;
        state.internal.get(first + self.range.start..first + self.range.end).unwrap_or(&[])
    }

    /// The same, to change them.
    pub fn of_mut<'a>(&self, state: &'a mut State, part: &Part) -> &'a mut [f64] {
        let first = part.internal.start;
        state.internal.get_mut(first + self.range.start..first + self.range.end).unwrap_or_default()
    }
}

impl Body {
    /// A body of points with these masses, in kilograms: a list of them, or a [`Mass`] of coefficients.
    pub fn builder(mass: impl Into<Mass>) -> BodyBuilder {
        let mass = mass.into();
        let count = mass.len();
        BodyBuilder {
            mass,
            energies: Vec::new(),
            internal: Vec::new(),
            forces: Vec::new(),
            limits: Vec::new(),
            known: vec![false; count],
            averages: ConstraintRows::none(count),
            greatest_pulls: Vec::new(),
            conflict_pulls: Vec::new(),
            gravity: vec![Vec3::ZERO; count],
            mass_damping: 0.0,
        }
    }

    /// α of Rayleigh's D = αM, in 1/s.
    pub fn mass_damping(&self) -> f64 {
        self.mass_damping
    }

    /// How many points.
    pub fn point_count(&self) -> usize {
        self.mass.len()
    }

    /// M's diagonal, in kilograms: the masses themselves where they are lumped.
    pub fn masses(&self) -> &[f64] {
        self.mass.diagonal()
    }

    /// M.
    pub fn mass(&self) -> &Mass {
        &self.mass
    }

    /// Lumped masses from now on, in kilograms: for bodies whose density changes as they move. What a step starts with holds for all
    /// of it.
    ///
    /// # Panics
    /// Where there are more or fewer masses than points, or the body's own are not lumped.
    pub fn set_masses(&mut self, masses: Vec<f64>) {
        assert_eq!(masses.len(), self.mass.len(), "a mass for every point");
        assert!(self.mass.is_lumped(), "lumped masses in place of lumped masses");
        self.mass = Mass::lumped(masses);
    }

    /// Which points go exactly where the guide goes.
    pub fn known(&self) -> &[bool] {
        &self.known
    }

    /// Other points go exactly where the guide goes from now on: for functions that come and go. A [`Stepper`](crate::Stepper) that was made
    /// for the body before is one no longer.
    ///
    /// # Panics
    /// Where there are more or fewer flags than points, or a point that weighs nothing is set free.
    pub fn set_known(&mut self, known: Vec<bool>) {
        assert_eq!(known.len(), self.mass.len(), "a flag for every point");
        let masses = self.mass.diagonal();
        assert!(
            known.iter().zip(masses).all(|(known, mass)| *known || *mass > 0.0),
            "what is free weighs something"
        );
        self.known = known;
    }

    /// How hard each average may pull, in newtons; infinite: as hard as it takes. Empty: all of them are.
    pub fn greatest_pulls(&self) -> &[f64] {
        &self.greatest_pulls
    }

    /// How hard each average may pull where contact is in its way, in newtons; empty or infinite: as hard as it takes.
    pub fn conflict_pulls(&self) -> &[f64] {
        &self.conflict_pulls
    }

    /// Weighted averages of points that follow the guide's.
    pub fn averages(&self) -> &ConstraintRows {
        &self.averages
    }

    /// What its steps keep within.
    pub fn limits(&self) -> &[Box<dyn Limit>] {
        &self.limits
    }

    /// All of it, as one part.
    pub fn whole(&self) -> Part {
        let internal = 0..self.internal.last().map_or(0, |range| range.end);
        Part { points: 0..self.point_count(), averages: 0..self.averages.len(), internal }
    }

    /// The internal variables of all energies as they were made: what a [`State`] without any stands for.
    pub fn initial_internal(&self) -> Vec<f64> {
        self.energies.iter().flat_map(|energy| energy.internal()).collect()
    }

    /// The sparsity of its second derivatives.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// The strongest pull of gravity on any point, in m/s².
    pub fn strongest_gravity(&self) -> f64 {
        self.gravity.iter().map(|g| g.length()).fold(0.0, f64::max)
    }

    /// Elastic energy plus potential in the field of gravity, in joules.
    pub fn potential_energy(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        self.elastic_energy(sample, x) + self.weight_energy(x)
    }

    /// Kinetic and elastic energy of a state, in joules; `guide` has the animation at that time.
    pub fn energies(&self, state: &State, guide: &[Vec3]) -> [f64; 2] {
        let State { time, positions, velocities, internal, .. } = state;
        let sample = GuideSample { time: *time, guide_positions: guide, guide_velocities: velocities };
        let elastic = if internal.is_empty() {
            self.elastic_energy(&sample, positions)
        } else {
            StagedBody::current(self, internal).elastic(&sample, positions)
        };
        [self.kinetic_energy(velocities), elastic]
    }

    /// The sum of the energies with their internal variables as they were made, in joules.
    pub fn elastic_energy(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        self.energies.iter().map(|energy| energy.value(sample, x)).sum()
    }

    fn weight_energy(&self, x: &[Vec3]) -> f64 {
        (0..x.len()).map(|i| -self.mass.weights()[i] * self.gravity[i].dot(x[i])).sum()
    }

    /// ½ vᵀ M v, in joules.
    pub fn kinetic_energy(&self, v: &[Vec3]) -> f64 {
        self.mass.energy(|i| v[i])
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
        self.mass.add_to(scale, matrix);
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

/// A body over one implicit stage: its energies with their internal variables and the friction of that stage.
pub(crate) struct StagedBody<'a> {
    body: &'a Body,
    /// In place of the body's own, where there is friction or something has changed.
    staged: Vec<Option<Box<dyn Energy>>>,
}

impl<'a> StagedBody<'a> {
    pub(crate) fn new(body: &'a Body, history: &StageHistory) -> Self {
        let Self { mut staged, .. } = Self::current(body, history.internal);
        for (staged, plain) in staged.iter_mut().zip(&body.energies) {
            let damped = staged.as_deref().unwrap_or(&**plain).with_viscosity(history);
            *staged = damped.or(staged.take());
        }
        Self { body, staged }
    }

    /// Without friction.
    fn current(body: &'a Body, internal: &[f64]) -> Self {
        let of = |energy: &dyn Energy, range: &Range<usize>| {
            let changed = internal.get(range.clone()).filter(|internal| !internal.is_empty());
            changed.and_then(|internal| energy.with_internal(internal))
        };
        let energies = body.energies.iter().zip(&body.internal);
        Self { body, staged: energies.map(|(energy, range)| of(&**energy, range)).collect() }
    }

    fn energies(&self) -> impl Iterator<Item = &dyn Energy> {
        self.staged
            .iter()
            .zip(&self.body.energies)
            .map(|(staged, plain)| staged.as_deref().unwrap_or(&**plain))
    }

    fn elastic(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        self.energies().map(|energy| energy.value(sample, x)).sum()
    }

    /// Potential energy, friction included.
    pub(crate) fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        self.elastic(sample, x) + self.body.weight_energy(x)
    }

    /// Overwrites `force` with what acts on the points, apart from forces without potential, in newtons.
    pub(crate) fn force(&self, sample: &GuideSample, x: &[Vec3], v: &[Vec3], force: &mut [Vec3]) {
        force.fill(Vec3::ZERO);
        self.energies().for_each(|energy| energy.add_gradient(sample, x, force));
        let Body { mass, gravity, mass_damping, .. } = self.body;
        if mass.is_lumped() {
            for i in 0..force.len() {
                force[i] = mass.weights()[i] * (gravity[i] - *mass_damping * v[i]) - force[i];
            }
        } else {
            for i in 0..force.len() {
                let damping = *mass_damping * mass.row_times(i, |j| v[j]);
                force[i] = mass.weights()[i] * gravity[i] - damping - force[i];
            }
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
    pub fn energy(self, energy: impl Energy + 'static) -> Self {
        self.evolving_energy(energy).0
    }

    /// Adds an energy of any kind.
    #[must_use]
    pub(crate) fn boxed_energy(mut self, energy: Box<dyn Energy>) -> Self {
        let end = self.internal.last().map_or(0, |range| range.end);
        self.internal.push(end..end + energy.internal().len());
        self.energies.push(energy);
        self
    }

    /// Adds an energy, and says where its internal variables are.
    pub fn evolving_energy<E: Energy>(mut self, energy: E) -> (Self, InternalHandle<E>) {
        let first = self.internal.last().map_or(0, |range| range.end);
        let range = first..first + energy.internal().len();
        self.internal.push(range.clone());
        self.energies.push(Box::new(energy));
        (self, InternalHandle { range, energy: PhantomData })
    }

    /// Adds a force without potential.
    #[must_use]
    pub fn force(mut self, force: impl Force + 'static) -> Self {
        self.forces.push(Box::new(force));
        self
    }

    /// Adds a limit that steps keep.
    #[must_use]
    pub fn limit(mut self, limit: impl Limit) -> Self {
        self.limits.push(Box::new(limit));
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

    /// How hard each average may pull, in newtons. One that would have to pull harder gives way: it pulls with this force towards where it
    /// should be, and no more.
    #[must_use]
    pub fn greatest_pulls(mut self, newtons: Vec<f64>) -> Self {
        self.greatest_pulls = newtons;
        self
    }

    /// How hard each average may pull where contact is in its way, in newtons. One that contact keeps from its place pulls with this force towards it, and
    /// no more, for as long as more would be needed; any other is exact.
    #[must_use]
    pub fn conflict_pulls(mut self, newtons: Vec<f64>) -> Self {
        self.conflict_pulls = newtons;
        self
    }

    /// Gravity in m/s².
    #[must_use]
    pub fn gravity(mut self, gravity: Vec3) -> Self {
        self.gravity.fill(gravity);
        self
    }

    /// α of Rayleigh's D = αM, in 1/s.
    #[must_use]
    pub fn mass_damping(mut self, mass_damping: f64) -> Self {
        self.mass_damping = mass_damping;
        self
    }

    /// All of it, as one part.
    pub fn part(&self) -> Part {
        let internal = 0..self.internal.last().map_or(0, |range| range.end);
        Part { points: 0..self.mass.len(), averages: 0..self.averages.len(), internal }
    }

    /// Which points go exactly where the guide goes.
    pub fn known_points(&self) -> &[bool] {
        &self.known
    }

    /// What gravity pulls each point with, in newtons.
    pub fn weights(&self) -> Vec<Vec3> {
        self.mass.weights().iter().zip(&self.gravity).map(|(mass, gravity)| *mass * *gravity).collect()
    }

    /// Puts another body beside this one, to be solved for together with it; the [`Part`] says where it is. Gravity stays each
    /// body's own, mass damping must be the same.
    pub fn append(mut self, other: Self) -> Result<(Self, Part), Error> {
        if self.mass_damping.to_bits() != other.mass_damping.to_bits() {
            return Err(Error::Disagree { what: "mass damping" });
        }
        let first = self.mass.len();
        let (internal, rows) = (self.part().internal.end, self.averages.len());
        let part = Part {
            points: first..first + other.mass.len(),
            averages: rows..rows + other.averages.len(),
            internal: internal..internal + other.part().internal.end,
        };
        for (pulls, others) in [
            (&mut self.greatest_pulls, &other.greatest_pulls),
            (&mut self.conflict_pulls, &other.conflict_pulls),
        ] {
            if !pulls.is_empty() || !others.is_empty() {
                pulls.resize(rows, f64::INFINITY);
                pulls.extend(others);
                pulls.resize(rows + other.averages.len(), f64::INFINITY);
            }
        }
        self.averages = side_by_side(&self.averages, &other.averages);
        self.mass = self.mass.beside(&other.mass);
        self.known.extend(other.known);
        self.gravity.extend(other.gravity);
        self.internal.extend(other.internal.iter().map(|r| r.start + internal..r.end + internal));
        for mut energy in other.energies {
            energy.shift(first as u32);
            self.energies.push(energy);
        }
        for mut force in other.forces {
            force.shift(first as u32);
            self.forces.push(force);
        }
        for mut limit in other.limits {
            limit.shift(first as u32);
            self.limits.push(limit);
        }
        Ok((self, part))
    }

    /// Checks the parts and fixes the sparsity.
    pub fn build(self) -> Result<Body, Error> {
        let Self { mass, mut energies, internal, mut forces, limits, known, averages, gravity, .. } = self;
        let Self { greatest_pulls, conflict_pulls, mass_damping, .. } = self;
        for pulls in [&greatest_pulls, &conflict_pulls] {
            if !pulls.is_empty() && pulls.len() != averages.len() {
                let (expected, got) = (averages.len(), pulls.len());
                return Err(Error::Sizes { what: "pulls of averages", expected, got });
            }
        }
        let count = mass.len();
        if known.len() != count {
            return Err(Error::Sizes { what: "known flags", expected: count, got: known.len() });
        }
        let masses = mass.diagonal();
        // A known point may weigh nothing: it never enters the system.
        if let Some(point) = (0..count).find(|&p| !(masses[p].is_finite() && (masses[p] > 0.0 || known[p]))) {
            return Err(Error::Mass { point, mass: masses[point] });
        }
        let mut stencils: Vec<Vec<u32>> = Vec::new();
        let mut collect = |stencil: &[u32]| stencils.push(stencil.to_vec());
        mass.stencils(&mut collect);
        energies.iter().for_each(|energy| energy.stencils(&mut collect));
        forces.iter().for_each(|force| force.stencils(&mut collect));
        if let Some(&point) = stencils.iter().flatten().find(|&&p| p as usize >= count) {
            return Err(Error::Point { point: point as usize, count });
        }
        let pattern = Arc::new(Pattern::from_stencils(count, stencils.iter().map(Vec::as_slice)));
        energies.iter_mut().for_each(|energy| energy.bind(&pattern));
        forces.iter_mut().for_each(|force| force.bind(&pattern));
        Ok(Body {
            mass,
            energies,
            internal,
            forces,
            limits,
            known,
            averages,
            greatest_pulls,
            conflict_pulls,
            gravity,
            mass_damping,
            pattern,
        })
    }
}

/// Rows over the points of two bodies, the second body's after the first's.
fn side_by_side(first: &ConstraintRows, second: &ConstraintRows) -> ConstraintRows {
    let shift = first.count() as u32;
    let one = (0..first.len()).map(|r| first.row(r).collect::<Vec<_>>());
    let other = (0..second.len()).map(|r| second.row(r).map(|(p, w)| (p + shift, w)).collect());
    let mut rows = ConstraintRows::new(first.count() + second.count(), one.chain(other));
    let compliance = first.compliance().iter().chain(second.compliance());
    rows.compliance_mut().iter_mut().zip(compliance).for_each(|(to, from)| *to = *from);
    rows
}

/// β of D = βK that damps a vibration of `frequency_hz` with the given ratio of critical damping.
///
/// A mode of angular frequency ω has ratio ζ = βω/2, so β = ζ/(πf). Slower modes are damped less, faster ones more.
pub fn stiffness_damping(ratio: f64, frequency_hz: f64) -> f64 {
    ratio / (std::f64::consts::PI * frequency_hz)
}

#[cfg(test)]
mod tests {
    use super::*;

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
