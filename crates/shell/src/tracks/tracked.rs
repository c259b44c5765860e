//! A shell that follows: its constraints, creases and rest shapes over time, as an actor.

use std::sync::Arc;

use dynamics::{
    Actor, ActorReport, Body, BodyBuilder, ContactModel, DeliveredSurface, Effort, Elements, Error, Forces,
    Guide, InternalHandle, InternalVariables, Motion, Part, Scene, Settings, Span, State, StaticGuide,
    Stepper, Way, Window,
};
use geometry::{Bounds, Prolongation, Vec3, rigid_motion};
use linear::ConstraintRows;

use super::averages::CARRIED;
use super::{Averages, ConstraintStrength, conflict_pulls, linear_between};
use crate::actor::carry_along;
use crate::{Cloth, ClothLimits, Creases, FabricStrain, Membrane, Plasticity, Strain, StrainLimits};

/// What a tracked shell is made of.
pub struct TrackedSetup<'a> {
    /// Undeformed points of the tracked mesh.
    pub rest: &'a [Vec3],
    /// Undeformed points of the guide, where the tracked mesh need not lie on it.
    pub guide_rest: Option<&'a [Vec3]>,
    /// Its elements. Its limits hold where averages may give way.
    pub cloth: Cloth,
    /// Rayleigh's β of its internal friction, in seconds.
    pub friction: f64,
    /// The constraints; `None` lets it move freely.
    pub averages: Option<Averages>,
    /// How hard each constraint is held, over time.
    pub strength: ConstraintStrength,
    /// How hard each may pull, in newtons: see [`greatest_pulls`](super::greatest_pulls). Empty: as hard as it takes.
    pub greatest_pulls: Vec<f64>,
    /// From the guide's points to those of the tracked mesh.
    pub correspondence: Prolongation,
    /// Points that follow the guide exactly.
    pub known: Vec<bool>,
    /// In m/s².
    pub gravity: Vec3,
    /// Folds that stay, if they do.
    pub plasticity: Option<Plasticity>,
    /// Rest shapes that change over time, if they do.
    pub reshaping: Option<Reshaping>,
    /// A guide whose middle departs from its motion by more than this within a frame, in metres, has jumped: the shell is carried along.
    pub jump: f64,
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
pub struct TrackedShell {
    part: Part,
    averages: Option<Averages>,
    strength: Arc<ConstraintStrength>,
    has_greatest_pulls: bool,
    limits: Vec<StrainLimits>,
    correspondence: Prolongation,
    known: Vec<bool>,
    membranes: Vec<([u32; 3], Membrane)>,
    membrane_handle: InternalHandle<Elements<Membrane, 3>>,
    creases: Creases,
    is_plastic: bool,
    reshaping: Option<Reshaping>,
    /// The weights of the rest shape that the state has now; empty before anything is known.
    shaped: Vec<f64>,
    size: f64,
    rest: Vec<Vec3>,
    /// The guide at rest and how far each point is from it, where they are apart.
    offsets: Option<(Vec<Vec3>, Vec<Vec3>)>,
    jump: f64,
    /// The first frame, and the way to the present one.
    first: Option<StillGuide>,
    span: GuideSpan,
    /// Why physics is off in the frame begun.
    fallbacks: Vec<String>,
    /// How many constraints slipped in the frame before, and how many triangles were beyond their limits.
    slipping: usize,
    beyond: usize,
}

impl TrackedShell {
    /// The shell, and the body it brings along.
    pub fn new(setup: TrackedSetup<'_>) -> (Self, BodyBuilder) {
        let TrackedSetup { rest, guide_rest, cloth, friction, averages, strength, .. } = setup;
        let TrackedSetup {
            correspondence, known, gravity, plasticity, reshaping, greatest_pulls, jump, ..
        } = setup;
        let (is_plastic, is_reshaped) = (plasticity.is_some(), reshaping.is_some());
        // averages that never give way leave a fabric no choice
        let has_greatest_pulls = !greatest_pulls.is_empty();
        let limits = if has_greatest_pulls { cloth.strain_limits() } else { ClothLimits::default() };
        let mut membranes = Elements::new(cloth.own_membranes()).damped(friction);
        let mut hinges = Elements::new(cloth.hinges).damped(friction);
        if is_reshaped {
            membranes = membranes.evolving();
        }
        if is_reshaped || is_plastic {
            hinges = hinges.evolving();
        }
        let rows = averages
            .as_ref()
            .map_or_else(|| ConstraintRows::none(rest.len()), |averages| averages.tracked.clone());
        let in_conflict = conflict_pulls(&rows, &cloth.masses);
        let (body, membrane_handle) = Body::builder(cloth.masses).evolving_energy(membranes);
        let (body, hinge_handle) = body.evolving_energy(hinges.clone());
        let body = body
            .energy(Elements::new(cloth.cells).damped(friction))
            .energy(Elements::new(cloth.plates).damped(friction))
            .force(Forces(Elements::new(cloth.air)))
            .known(known.clone())
            .averages(rows)
            .greatest_pulls(greatest_pulls)
            .conflict_pulls(in_conflict)
            .limit(limits)
            .gravity(gravity);
        let offsets = guide_rest.and_then(|guide| offsets(guide, rest, &correspondence));
        let shell = Self {
            part: body.part(),
            averages,
            strength: Arc::new(strength),
            has_greatest_pulls,
            limits: if has_greatest_pulls { cloth.limits } else { Vec::new() },
            correspondence,
            known,
            membranes: cloth.membranes,
            membrane_handle,
            creases: Creases::new(&hinges, rest, plasticity, hinge_handle),
            is_plastic,
            reshaping,
            shaped: Vec::new(),
            size: Bounds::of(rest.iter().copied()).diagonal(),
            rest: rest.to_vec(),
            offsets,
            jump,
            first: None,
            span: GuideSpan::default(),
            fallbacks: Vec::new(),
            slipping: 0,
            beyond: 0,
        };
        (shell, body)
    }

    /// Gives the state the rest shape of the moment.
    fn renew(&mut self, state: &mut State) {
        let Some(reshaping) = &self.reshaping else { return };
        let weights: Vec<f64> = reshaping.keys.iter().map(|keys| linear_between(keys, state.time)).collect();
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
        let variables = self.membrane_handle.of_mut(state, &self.part);
        if variables.len() == Membrane::COUNT * fresh.len() {
            let chunks = variables.chunks_exact_mut(Membrane::COUNT);
            fresh.iter().zip(chunks).for_each(|((_, membrane), to)| membrane.internal(to));
            self.creases.reshape(state, &self.part, &cloth);
            self.membranes = cloth.membranes;
        }
    }

    /// The guide's way from one frame to the next; `frames` are the one before, the two, and the one after.
    fn span(&self, start: f64, frame_rate_hz: f64, frames: [&[Vec3]; 4]) -> GuideSpan {
        let points = frames.map(|frame| self.correspondence.vectors(frame));
        let averages = frames.map(|frame| {
            self.averages.as_ref().map(|averages| averages.guide.multiply(frame)).unwrap_or_default()
        });
        GuideSpan {
            points: Arc::new(Span::through(start, frame_rate_hz, points)),
            averages: Arc::new(Span::through(start, frame_rate_hz, averages)),
        }
    }

    /// A mesh that does not lie on its guide begins as far from it as it is at rest, turned as the guide is.
    fn keep_off(&self, guide: &[Vec3], start: &mut [Vec3]) {
        let Some((guide_rest, offsets)) = &self.offsets else { return };
        let (turn, _) = rigid_motion(guide_rest, guide);
        for i in (0..start.len()).filter(|&i| !self.known[i]) {
            start[i] += turn * offsets[i];
        }
    }

    fn positions<'a>(&self, state: &'a State) -> &'a [Vec3] {
        &state.positions[self.part.points.clone()]
    }

    /// The constraints.
    pub fn averages(&self) -> Option<&Averages> {
        self.averages.as_ref()
    }

    /// Its triangles at rest.
    pub fn membranes(&self) -> &[([u32; 3], Membrane)] {
        &self.membranes
    }

    /// How far folds have creased, the largest, in 1/m.
    pub fn deepest_crease(&self, state: &State) -> f64 {
        self.creases.deepest(state, &self.part)
    }

    /// How far hard averages are from those of the guide, as a fraction of the mesh's size.
    pub fn residual(&self, state: &State, guide: &[Vec3]) -> f64 {
        let Some(averages) = &self.averages else { return 0.0 };
        let gaps = averages.guide.multiply(guide).into_iter();
        let gaps = gaps.zip(averages.tracked.multiply(self.positions(state))).enumerate();
        gaps.filter(|(row, _)| self.strength.is_hard(*row, state.time) && !self.slips(state, *row))
            .map(|(_, (want, have))| want.distance(have) / self.size)
            .fold(0.0, f64::max)
    }

    /// Whether a constraint gives way now, because more force than its limit would be needed to hold it.
    pub fn slips(&self, state: &State, row: usize) -> bool {
        state.slack.get(self.part.averages.start + row).is_some_and(|slack| *slack > 0.0)
    }

    /// How far each average is from the guide's, in metres, with its name.
    pub fn gaps(&self, state: &State, guide: &[Vec3]) -> Vec<(&str, f64)> {
        let Some(averages) = &self.averages else { return Vec::new() };
        let gaps = averages.guide.multiply(guide).into_iter();
        let gaps = gaps.zip(averages.tracked.multiply(self.positions(state)));
        averages.names().iter().map(String::as_str).zip(gaps.map(|(a, b)| a.distance(b))).collect()
    }

    /// Tells of constraints that slip.
    fn report_slipping(&mut self, state: &State, gaps: &[(String, f64)], report: &mut ActorReport) {
        let slipping: Vec<&(String, f64)> =
            gaps.iter().enumerate().filter(|(row, _)| self.slips(state, *row)).map(|(_, gap)| gap).collect();
        let count = slipping.len();
        report.add("tracking/averages that slip", "", count as f64);
        let sum: f64 = slipping.iter().map(|(_, gap)| gap).sum();
        report.add("tracking/slip, mean", "m", if count > 0 { sum / count as f64 } else { 0.0 });
        let worst = slipping.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        if let (Some((name, gap)), 0) = (worst, self.slipping) {
            let why = match self.has_greatest_pulls {
                true => "more pull would be needed than `max_pull` and the limits of the fabric allow",
                false => "the animation passes there through itself or through what is in the way",
            };
            report.warnings.push(format!(
                "from here on the animation is not reached everywhere: {count} averages give way, `{name}` by {:.1} mm, because {why}",
                1e3 * gap
            ));
        }
        self.slipping = count;
    }
}

impl Actor for TrackedShell {
    fn bind(&mut self, _: &Body, part: &Part) -> Result<(), Error> {
        self.part = part.clone();
        Ok(())
    }

    /// At rest where the guide is: prolonged, then moved as little as possible (in the sense of kinetic energy) to where all
    /// constraints hold.
    fn begin(
        &mut self,
        body: &Body,
        window: &Window,
        held: Option<Vec3>,
        state: &mut State,
    ) -> Result<(), Error> {
        let guide = window.here();
        let mut start = self.correspondence.vectors(guide);
        self.keep_off(guide, &mut start);
        let points = self.part.points.clone();
        state.positions[points.clone()].copy_from_slice(&start);
        state.velocities[points.clone()].fill(held.unwrap_or_else(|| self.first_velocity(window)));
        self.renew(state);
        let averages = self.averages.as_ref().map(|a| a.guide.multiply(guide)).unwrap_or_default();
        let still_points = StaticGuide::new(start.clone());
        let strength = self.strength.clone();
        self.first = Some(StillGuide { points: still_points.clone(), averages: averages.clone(), strength });
        if let Some(rows) = self.averages.as_ref().map(|averages| &averages.tracked) {
            // only what is held hard now: a second set that comes later may say the same thing again
            let hard: Vec<usize> = (0..rows.len()).filter(|&r| self.strength.is_hard(r, 0.0)).collect();
            let bare = Body::builder(body.masses()[points.clone()].to_vec())
                .known(self.known.clone())
                .averages(ConstraintRows::new(rows.count(), hard.iter().map(|&r| rows.row(r).collect())))
                .build()?;
            let averages = hard.iter().map(|&r| averages[r]).collect();
            let still = StillGuide { points: still_points, averages, strength: Arc::default() };
            let mut there = State::at_rest(start.clone());
            Stepper::new(&bare, &start, Settings::default())?.settle(&bare, &mut there, &still)?;
            state.positions[points].copy_from_slice(&there.positions);
        }
        Ok(())
    }

    fn first_velocity(&self, window: &Window) -> Vec3 {
        window.first_velocity(self.jump)
    }

    fn still_guide(&self) -> Box<dyn Guide> {
        Box::new(self.first.clone().unwrap_or_default())
    }

    fn begin_frame(&mut self, _: &Body, window: &Window, state: &mut State) -> Result<Motion, Error> {
        let (start, rate) = (window.start(), window.frame_rate_hz);
        let Way { frames: [before, here, next, after], carry } =
            window.way(self.jump, |from, to| rigid_motion(from, to).0);
        self.fallbacks.clear();
        if let Some(carry) = carry {
            carry_along(&carry, state, &self.part);
            let far = window.steps.way(0).map_or(0.0, |way| way.length());
            self.fallbacks.push(format!("the animation jumps by {far:.2} m; the shell was carried along"));
        }
        self.span = self.span(start, rate, [&before, &here, &next, &after]);
        Ok(Motion::Simulated)
    }

    fn guide(&self) -> Box<dyn Guide> {
        Box::new(ConstrainedSpan { span: self.span.clone(), strength: self.strength.clone() })
    }

    fn is_changing(&self) -> bool {
        self.is_plastic || self.reshaping.is_some()
    }

    fn begin_interval(&mut self, _: &Body, state: &mut State) {
        self.renew(state);
    }

    fn end_interval(&mut self, _: &Body, state: &mut State) {
        if self.is_plastic {
            self.creases.yield_to(state, &self.part);
        }
    }

    fn deliver(&self, state: &State, _: &Window) -> DeliveredSurface {
        DeliveredSurface { positions: self.positions(state).to_vec(), exact: self.known.clone() }
    }

    fn report(&mut self, state: &State, window: &Window) -> ActorReport {
        let fallbacks = std::mem::take(&mut self.fallbacks);
        let mut report = ActorReport { fallbacks, ..ActorReport::default() };
        let guide = window.here();
        report.add("tracking/residual of hard averages", "of size", self.residual(state, guide));
        let gaps = self.gaps(state, guide).into_iter().map(|(name, gap)| (name.to_owned(), gap));
        let gaps: Vec<(String, f64)> = gaps.collect();
        let farthest = gaps.iter().map(|(_, gap)| *gap).fold(0.0, f64::max);
        report.add("tracking/farthest average", "m", farthest);
        self.report_slipping(state, &gaps, &mut report);
        let strain = Strain::measure(&self.membranes, self.positions(state));
        report.add("strain/mean", "%", 100.0 * strain.mean);
        let strain = FabricStrain::measure(&self.membranes, &self.limits, &self.known, self.positions(state));
        strain.report(&mut report);
        report.warnings.extend(strain.warning(&mut self.beyond));
        let crease = self.deepest_crease(state);
        if crease > 0.0 {
            report.add("crease/deepest", "1/m", crease);
        }
        report
    }

    fn restore(&mut self, bytes: &[u8]) -> bool {
        self.shaped.clear();
        bytes.is_empty()
    }
}

/// The guide at rest and how far tracked points are from it; none where they lie on it.
fn offsets(guide: &[Vec3], rest: &[Vec3], correspondence: &Prolongation) -> Option<(Vec<Vec3>, Vec<Vec3>)> {
    let size = Bounds::of(rest.iter().copied()).diagonal();
    let carried = correspondence.vectors(guide);
    let offsets: Vec<Vec3> = rest.iter().zip(carried).map(|(rest, carried)| *rest - carried).collect();
    let lies_on = offsets.iter().all(|offset| offset.length() <= CARRIED * size);
    (!lies_on).then(|| (guide.to_vec(), offsets))
}

/// A tracked shell in a scene of its own.
pub struct Tracked {
    /// The scene.
    pub scene: Scene<TrackedShell>,
    frame_rate_hz: f64,
}

impl Tracked {
    /// Builds the body and does all symbolic work. The state is the rest shape until [`Tracked::begin`].
    pub fn new(setup: TrackedSetup<'_>, frame_rate_hz: f64, stepping: Settings) -> Result<Self, Error> {
        let rest = setup.rest;
        let (shell, body) = TrackedShell::new(setup);
        Ok(Self { scene: Scene::new(vec![(Box::new(shell), body)], rest, stepping)?, frame_rate_hz })
    }

    fn window(&self, index: usize, frames: [Option<&[Vec3]>; 4]) -> Window {
        let frames = frames.map(|frame| frame.map(Arc::from));
        Window::new(index, self.frame_rate_hz, frames)
    }

    /// Puts the shell on the guide's first frame.
    pub fn begin(&mut self, guide: &[Vec3]) -> Result<(), Error> {
        self.scene.begin(&[self.window(0, [None, None, Some(guide), None])], true)
    }

    /// From frame `index − 1` to frame `index`; `frames` are the one before, the two, and the one after.
    pub fn frame(
        &mut self,
        index: usize,
        frames: [&[Vec3]; 4],
        contact: Option<&mut dyn ContactModel>,
    ) -> Result<Effort, Error> {
        let window = self.window(index, frames.map(Some));
        Ok(self.scene.frame(&[window], contact)?.effort)
    }

    /// The shell.
    pub fn shell(&self) -> &TrackedShell {
        self.scene.actor(0)
    }

    /// How far hard averages are from those of the guide, as a fraction of the mesh's size.
    pub fn residual(&self, guide: &[Vec3]) -> f64 {
        self.shell().residual(&self.scene.state, guide)
    }
}

/// A guide between two frames: its points seen on the tracked mesh, and its averages.
#[derive(Clone, Debug, Default)]
struct GuideSpan {
    points: Arc<Span>,
    averages: Arc<Span>,
}

/// A span with the strength of its constraints.
struct ConstrainedSpan {
    span: GuideSpan,
    strength: Arc<ConstraintStrength>,
}

impl Guide for ConstrainedSpan {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        self.span.points.sample(time, positions, velocities);
    }

    fn averages(&self, time: f64, values: &mut [Vec3]) {
        let mut speeds = vec![Vec3::ZERO; values.len()];
        self.span.averages.sample(time, values, &mut speeds);
    }

    fn compliance(&self, time: f64, compliance: &mut [f64]) {
        self.strength.set(time, compliance);
    }
}

/// A guide that stands still.
#[derive(Clone, Default)]
struct StillGuide {
    points: StaticGuide,
    averages: Vec<Vec3>,
    strength: Arc<ConstraintStrength>,
}

impl Guide for StillGuide {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        self.points.sample(time, positions, velocities);
    }

    fn averages(&self, _: f64, values: &mut [Vec3]) {
        values.copy_from_slice(&self.averages);
    }

    fn compliance(&self, time: f64, compliance: &mut [f64]) {
        self.strength.set(time, compliance);
    }
}
