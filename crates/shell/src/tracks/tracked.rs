//! A shell that follows: body, constraints and state, stepped from guide frame to guide frame.

use dynamics::{
    Body, ContactModel, Effort, Elements, Error, Filter, Forces, Guide, GuideSample, Settings, Span, State,
    StaticGuide, Stepper, Substeps,
};
use geometry::{Bounds, Prolongation, Vec3};
use linear::ConstraintRows;

use super::{Averages, ConstraintStrength, ForceLimit, linear_between};
use crate::{Cloth, Creases, Membrane, Plasticity};

/// What a tracked shell is made of.
pub struct TrackedSetup<'a> {
    /// Undeformed points of the tracked mesh.
    pub rest: &'a [Vec3],
    /// Its elements.
    pub cloth: Cloth,
    /// Rayleigh's β of its internal friction, in seconds.
    pub friction: f64,
    /// The constraints; `None` lets it move freely.
    pub averages: Option<Averages>,
    /// How hard each constraint is held, over time.
    pub strength: ConstraintStrength,
    /// How hard each may pull, if there is a limit.
    pub force_limit: Option<ForceLimit>,
    /// From the guide's points to those of the tracked mesh.
    pub correspondence: Prolongation,
    /// Points that follow the guide exactly.
    pub known: Vec<bool>,
    /// In m/s².
    pub gravity: Vec3,
    /// How steps are taken.
    pub stepping: Settings,
    /// Folds that stay, if they do.
    pub plasticity: Option<Plasticity>,
    /// Rest shapes that change over time, if they do.
    pub reshaping: Option<Reshaping>,
}

/// Rest shapes over time, blended with weights.
pub struct Reshaping {
    /// Undeformed points of each shape.
    pub shapes: Vec<Vec<Vec3>>,
    /// Keys `[seconds, weight]` of each shape, ascending in time, linear between them. What is missing to a sum of one is
    /// the shape that the cloth was made with.
    pub keys: Vec<Vec<[f64; 2]>>,
    /// Makes the elements anew from blended points; triangles and material as before.
    pub rebuild: RebuildCloth,
}

/// Makes the elements of a cloth from undeformed points. Where it cannot, the shape stays as it was.
pub type RebuildCloth = Box<dyn Fn(&[Vec3]) -> Option<Cloth> + Send + Sync>;

/// A shell that tracks a guide.
pub struct Tracked {
    /// Where it is.
    pub state: State,
    body: Body,
    stepper: Stepper,
    averages: Option<Averages>,
    strength: ConstraintStrength,
    force_limit: Option<ForceLimit>,
    correspondence: Prolongation,
    membranes: Vec<([u32; 3], Membrane)>,
    size: f64,
    rest: Vec<Vec3>,
    creases: Creases,
    is_plastic: bool,
    /// How often per advance elements change; `None` goes by the clock.
    ticks: Option<usize>,
    reshaping: Option<Reshaping>,
    /// The weights of the rest shape that the body has now; empty before anything is known.
    shaped: Vec<f64>,
}

/// Where [`Tracked`] keeps its energies in the body.
const MEMBRANES: usize = 0;
const HINGES: usize = 1;
/// How often folds are looked at and rest shapes renewed, per second: often enough that no frame rate shows.
const TICKS_HZ: f64 = 96.0;
/// How often a step is taken again at most to keep forces below their limits.
const TRIES: usize = 10;

impl Tracked {
    /// Builds the body and does all symbolic work. The state is the rest shape until [`Tracked::begin`].
    pub fn new(setup: TrackedSetup<'_>) -> Result<Self, Error> {
        let TrackedSetup {
            rest, cloth, friction, averages, strength, correspondence, known, gravity, ..
        } = setup;
        let TrackedSetup { mut stepping, plasticity, reshaping, force_limit, .. } = setup;
        // what changes between steps changes at every one of a fixed number
        let mut ticks = None;
        if let (Substeps::Fixed(count), true) =
            (stepping.substeps, plasticity.is_some() || reshaping.is_some() || force_limit.is_some())
        {
            ticks = Some(count.max(1));
            stepping.substeps = Substeps::Fixed(1);
        }
        let count = rest.len();
        let creases = Creases::new(&cloth, rest, plasticity, HINGES);
        let rows = averages
            .as_ref()
            .map_or_else(|| ConstraintRows::none(count), |averages| averages.tracked.clone());
        let body = Body::builder(cloth.masses)
            .energy(Elements::new(cloth.membranes.iter().copied()).damped(friction))
            .energy(Elements::new(cloth.hinges).damped(friction))
            .energy(Elements::new(cloth.plates).damped(friction))
            .force(Forces(Elements::new(cloth.air)))
            .known(known)
            .averages(rows)
            .gravity(gravity)
            .build()?;
        let stepper = Stepper::new(&body, rest, stepping)?;
        Ok(Self {
            state: State::at_rest(rest.to_vec()),
            body,
            stepper,
            averages,
            strength,
            force_limit,
            correspondence,
            membranes: cloth.membranes,
            size: Bounds::of(rest.iter().copied()).diagonal(),
            rest: rest.to_vec(),
            creases,
            is_plastic: plasticity.is_some(),
            ticks,
            reshaping,
            shaped: Vec::new(),
        })
    }

    /// Puts the shell at rest where the guide is: prolonged, then moved as little as possible (in the sense of kinetic
    /// energy) to where all constraints hold.
    pub fn begin(&mut self, guide: &[Vec3]) -> Result<(), Error> {
        let start = self.correspondence.vectors(guide);
        self.state = State::at_rest(start.clone());
        self.renew();
        let Some(averages) = &self.averages else { return Ok(()) };
        let still =
            Halt { points: StaticGuide::new(start.clone()), averages: averages.guide.multiply(guide) };
        let masses: Vec<f64> = self.body.masses().to_vec();
        let bare = Body::builder(masses)
            .known(self.body.known().to_vec())
            .averages(averages.tracked.clone())
            .build()?;
        Stepper::new(&bare, &start, Settings::default())?.settle(&bare, &mut self.state, &still)?;
        Ok(())
    }

    /// Advances by `seconds` with the guide held still at the pose `guide`; time does not count.
    pub fn settle(
        &mut self,
        guide: &[Vec3],
        seconds: f64,
        contact: Option<&mut dyn ContactModel>,
        filters: &mut [&mut dyn Filter],
    ) -> Result<Effort, Error> {
        let points = StaticGuide::new(self.correspondence.vectors(guide));
        let averages = self.averages.as_ref().map(|a| a.guide.multiply(guide)).unwrap_or_default();
        let time = self.state.time;
        let halt = Halt { points, averages };
        let (body, state) = (&self.body, &mut self.state);
        let effort = self.stepper.advance_with_contact(body, state, &halt, contact, seconds, filters)?;
        self.state.time = time;
        Ok(effort)
    }

    /// Advances over a part of a guide's span.
    pub fn advance(
        &mut self,
        span: &GuideSpan,
        seconds: f64,
        mut contact: Option<&mut dyn ContactModel>,
        filters: &mut [&mut dyn Filter],
    ) -> Result<Effort, Error> {
        let changes = self.is_plastic || self.reshaping.is_some() || self.force_limit.is_some();
        let by_the_clock = (seconds * TICKS_HZ).ceil().max(1.0) as usize;
        let ticks = if changes { self.ticks.unwrap_or(by_the_clock) } else { 1 };
        let mut effort = Effort::default();
        for _ in 0..ticks {
            self.renew();
            let against = contact.as_mut().map(|o| &mut **o as &mut dyn ContactModel);
            self.tick(span, seconds / ticks as f64, against, filters, &mut effort)?;
            if self.is_plastic {
                self.creases.yield_to(&mut self.body, &self.state.positions);
            }
        }
        Ok(effort)
    }

    /// Advances while elements stay as they are; again where forces exceed their limits. What touches something is not taken
    /// back: there, limits are met one tick late.
    fn tick(
        &mut self,
        span: &GuideSpan,
        seconds: f64,
        mut contact: Option<&mut dyn ContactModel>,
        filters: &mut [&mut dyn Filter],
        effort: &mut Effort,
    ) -> Result<(), Error> {
        let before = self.force_limit.as_ref().map(|_| self.state.clone());
        let tries = if contact.is_some() || before.is_none() { 1 } else { TRIES };
        self.force_limit.iter_mut().for_each(ForceLimit::begin);
        for left in (0..tries).rev() {
            let guide =
                ConstrainedSpan { span, strength: &self.strength, force_limit: self.force_limit.as_ref() };
            let against = contact.as_mut().map(|o| &mut **o as &mut dyn ContactModel);
            let (body, state) = (&self.body, &mut self.state);
            let more = self.stepper.advance_with_contact(body, state, &guide, against, seconds, filters)?;
            effort.steps += more.steps;
            effort.rejected += more.rejected;
            effort.iterations += more.iterations;
            effort.factorizations += more.factorizations;
            effort.linear_iterations += more.linear_iterations;
            let forces = self.forces(span);
            let again = self.force_limit.as_mut().is_some_and(|force_limit| force_limit.is_exceeded(&forces));
            match &before {
                Some(before) if again && left > 0 => self.state.clone_from(before),
                _ => break,
            }
        }
        Ok(())
    }

    /// How hard each constraint pulls now, in newtons; nothing without limits.
    fn forces(&self, span: &GuideSpan) -> Vec<f64> {
        let (Some(averages), Some(force_limit)) = (&self.averages, &self.force_limit) else {
            return Vec::new();
        };
        let mut compliance = vec![0.0; averages.len()];
        self.strength.set(self.state.time, &mut compliance);
        force_limit.add_slack(&mut compliance);
        let mut wanted = vec![Vec3::ZERO; averages.len()];
        let mut speeds = wanted.clone();
        span.averages.sample(self.state.time, &mut wanted, &mut speeds);
        let reached = averages.tracked.multiply(&self.state.positions);
        let pulls = self.stepper.constraint_forces();
        (0..averages.len())
            .map(|r| match compliance[r] > 0.0 {
                true => wanted[r].distance(reached[r]) / compliance[r],
                false => pulls[r].length(),
            })
            .collect()
    }

    /// Gives the body the rest shape of the moment.
    fn renew(&mut self) {
        let Some(reshaping) = &self.reshaping else { return };
        let weights: Vec<f64> =
            reshaping.keys.iter().map(|keys| linear_between(keys, self.state.time)).collect();
        if weights == self.shaped {
            return;
        }
        let blended = |i: usize| {
            let shapes = weights.iter().zip(&reshaping.shapes);
            self.rest[i] + shapes.map(|(w, shape)| *w * (shape[i] - self.rest[i])).sum::<Vec3>()
        };
        let points: Vec<Vec3> = (0..self.rest.len()).map(blended).collect();
        let Some(cloth) = (reshaping.rebuild)(&points) else { return };
        self.shaped = weights;
        let fresh = Elements::new(cloth.membranes.iter().copied());
        let mut fresh = fresh.iter().map(|(_, membrane)| *membrane);
        if let Some(membranes) = self.body.energy_mut::<Elements<Membrane, 3>>(MEMBRANES)
            && membranes.len() == fresh.len()
        {
            membranes.for_each_mut(|_, membrane| *membrane = fresh.next().unwrap_or(*membrane));
            self.creases.reshape(&mut self.body, &cloth);
            self.membranes = cloth.membranes;
        }
    }

    /// The exact bits of state and creases, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let creases: Vec<u8> = match self.is_plastic {
            true => self.creases.state().flatten().flat_map(f64::to_le_bytes).collect(),
            false => Vec::new(),
        };
        let slack =
            self.force_limit.iter().flat_map(|force_limit| force_limit.slack()).flat_map(|e| e.to_le_bytes());
        let creases: Vec<u8> = creases.into_iter().chain(slack).collect();
        let length = (creases.len() as u64).to_le_bytes();
        [&length[..], &creases, &self.state.to_bytes()].concat()
    }

    /// The reverse of [`Tracked::to_bytes`]; false when the bytes are not those of this shell.
    pub fn restore(&mut self, bytes: &[u8]) -> bool {
        let Some((length, rest)) = bytes.split_first_chunk() else { return false };
        let length = u64::from_le_bytes(*length) as usize;
        let Some((creases, state)) = rest.split_at_checked(length) else { return false };
        let (words, []) = creases.as_chunks::<8>() else { return false };
        let numbers: Vec<f64> = words.iter().map(|word| f64::from_le_bytes(*word)).collect();
        let limited = self.force_limit.as_ref().map_or(0, |force_limit| force_limit.slack().len());
        let Some(creased) = numbers.len().checked_sub(limited) else { return false };
        let (creases, slack) = numbers.split_at(creased);
        let (pairs, []) = creases.as_chunks::<2>() else { return false };
        let Some(state) = State::from_bytes(state) else { return false };
        if state.positions.len() != self.rest.len() || pairs.is_empty() == self.is_plastic {
            return false;
        }
        if self.is_plastic && !self.creases.restore(&mut self.body, pairs) {
            return false;
        }
        if !self.force_limit.as_mut().is_none_or(|force_limit| force_limit.restore(slack)) {
            return false;
        }
        self.state = state;
        self.shaped.clear();
        true
    }

    /// How far folds have creased, the largest, in 1/m.
    pub fn deepest_crease(&self) -> f64 {
        self.creases.deepest()
    }

    /// The guide's way from one frame to the next; `frames` are the one before, the two, and the one after.
    pub fn span(&self, start: f64, duration: f64, frames: [&[Vec3]; 4]) -> GuideSpan {
        let hermite = |ends: [Vec<Vec3>; 4]| {
            let [before, here, next, after] = ends;
            let velocity = |a: &[Vec3], b: &[Vec3]| -> Vec<Vec3> {
                a.iter().zip(b).map(|(a, b)| (*b - *a) / (2.0 * duration)).collect()
            };
            let velocities = [velocity(&before, &next), velocity(&here, &after)];
            Span { start, duration, positions: [here, next], velocities }
        };
        GuideSpan {
            points: hermite(frames.map(|frame| self.correspondence.vectors(frame))),
            averages: hermite(frames.map(|frame| {
                self.averages.as_ref().map(|averages| averages.guide.multiply(frame)).unwrap_or_default()
            })),
        }
    }

    /// Carries the shell along a rigid motion x ↦ R (x − from) + to of its guide, velocities included: for guides that
    /// jump from one place to another.
    pub fn carry(&mut self, rotation: geometry::Mat3, from: Vec3, to: Vec3) {
        self.state.positions.iter_mut().for_each(|x| *x = rotation * (*x - from) + to);
        self.state.velocities.iter_mut().for_each(|v| *v = rotation * *v);
        self.state.accelerations.iter_mut().for_each(|a| *a = rotation * *a);
    }

    /// The body: masses, known points.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The constraints.
    pub fn averages(&self) -> Option<&Averages> {
        self.averages.as_ref()
    }

    /// Its triangles at rest.
    pub fn membranes(&self) -> &[([u32; 3], Membrane)] {
        &self.membranes
    }

    /// The linear solver's choice and size.
    pub fn solver_info(&self) -> linear::Info {
        self.stepper.solver_info()
    }

    /// How far hard averages are from those of the guide, as a fraction of the mesh's size.
    pub fn residual(&self, guide: &[Vec3]) -> f64 {
        let Some(averages) = &self.averages else { return 0.0 };
        let gaps = averages.guide.multiply(guide).into_iter();
        let gaps = gaps.zip(averages.tracked.multiply(&self.state.positions)).enumerate();
        gaps.filter(|(row, _)| self.strength.is_hard(*row, self.state.time) && !self.slips(*row))
            .map(|(_, (want, have))| want.distance(have) / self.size)
            .fold(0.0, f64::max)
    }

    /// Whether a constraint gives way now, because more force than its limit would be needed to hold it.
    pub fn slips(&self, row: usize) -> bool {
        self.force_limit.as_ref().is_some_and(|force_limit| force_limit.slips(row))
    }

    /// How far each average is from the guide's, in metres, with its name.
    pub fn gaps(&self, guide: &[Vec3]) -> Vec<(&str, f64)> {
        let Some(averages) = &self.averages else { return Vec::new() };
        let gaps = averages.guide.multiply(guide).into_iter();
        let gaps = gaps.zip(averages.tracked.multiply(&self.state.positions));
        averages.names().iter().map(String::as_str).zip(gaps.map(|(a, b)| a.distance(b))).collect()
    }

    /// Energies of the moment, in joules: kinetic, elastic.
    pub fn energies(&self) -> [f64; 2] {
        let State { positions: x, velocities: v, time, .. } = &self.state;
        let sample = GuideSample { time: *time, guide_positions: x, guide_velocities: v };
        [self.body.kinetic_energy(v), self.body.elastic_energy(&sample, x)]
    }
}

/// A guide between two frames: its points seen on the tracked mesh, and its averages.
#[derive(Clone, Debug)]
pub struct GuideSpan {
    points: Span,
    averages: Span,
}

/// A span with the strength of its constraints and the limit of their force.
struct ConstrainedSpan<'a> {
    span: &'a GuideSpan,
    strength: &'a ConstraintStrength,
    force_limit: Option<&'a ForceLimit>,
}

impl Guide for ConstrainedSpan<'_> {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        self.span.points.sample(time, positions, velocities);
    }

    fn averages(&self, time: f64, values: &mut [Vec3]) {
        let mut speeds = vec![Vec3::ZERO; values.len()];
        self.span.averages.sample(time, values, &mut speeds);
    }

    fn rows(&self, time: f64, rows: &mut ConstraintRows) {
        if let Some(force_limit) = self.force_limit {
            rows.compliance_mut().fill(0.0);
            self.strength.set(time, rows.compliance_mut());
            force_limit.add_slack(rows.compliance_mut());
        } else {
            self.strength.set(time, rows.compliance_mut());
        }
    }
}

/// A guide that stands still.
struct Halt {
    points: StaticGuide,
    averages: Vec<Vec3>,
}

impl Guide for Halt {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        self.points.sample(time, positions, velocities);
    }

    fn averages(&self, _: f64, values: &mut [Vec3]) {
        values.copy_from_slice(&self.averages);
    }
}
