//! Actors on one body: what is simulated together, from frame to frame.
//!
//! One actor or several, it is one Newton solve over all their points and one contact model between all their surfaces.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use geometry::Vec3;

use crate::{
    Actor, Body, BodyBuilder, ContactModel, Drifting, Effort, Energy, Error, Filter, Guide, GuideSample,
    Motion, Part, Settings, State, Stepper, Substeps, Window,
};

/// How often, per second, what changes within a frame is looked at: often enough that no frame rate shows.
const INTERVALS_HZ: f64 = 96.0;

/// Actors with the body they share, its state, and what steps it. `A` where all of them are of one type.
pub struct Scene<A: Actor + ?Sized = dyn Actor> {
    /// Where everything is.
    pub state: State,
    body: Body,
    stepper: Stepper,
    members: Vec<Member<A>>,
    /// How fast everything moves along before the first frame, in m/s.
    drift: Vec3,
    /// Whether it has gone along with the animation already.
    is_led: bool,
    /// Why everything was put back on the animation, the last time.
    reset_reason: Option<String>,
    /// Intervals of a frame, where something changes within it and their number is given.
    intervals: Option<usize>,
}

struct Member<A: Actor + ?Sized> {
    actor: Box<A>,
    part: Part,
}

/// How a frame went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Advanced {
    /// What it took.
    pub effort: Effort,
    /// No step could be solved, and everything was put back on the animation.
    pub reset: bool,
}

impl<A: Actor + ?Sized> Scene<A> {
    /// Puts actors on one body. `rest` has the points of all of them at rest, which tolerances refer to.
    pub fn new(cast: Vec<(Box<A>, BodyBuilder)>, rest: &[Vec3], settings: Settings) -> Result<Self, Error> {
        Self::tied(cast, Vec::new(), rest, settings)
    }

    /// The same with energies between the points of several actors, numbered as on the body that they share.
    pub fn tied(
        cast: Vec<(Box<A>, BodyBuilder)>,
        ties: Vec<Box<dyn Energy>>,
        rest: &[Vec3],
        mut settings: Settings,
    ) -> Result<Self, Error> {
        let (mut body, mut members) = (None::<BodyBuilder>, Vec::new());
        for (actor, own) in cast {
            let (joined, part) = match body {
                None => {
                    let part = own.part();
                    (own, part)
                }
                Some(body) => body.append(own)?,
            };
            body = Some(joined);
            members.push(Member { actor, part });
        }
        let body = body.unwrap_or_else(|| Body::builder(Vec::new()));
        let body = ties.into_iter().fold(body, BodyBuilder::boxed_energy).build()?;
        for Member { actor, part } in &mut members {
            actor.bind(&body, part)?;
        }
        let mut intervals = None;
        if let (Substeps::Fixed(count), true) =
            (settings.substeps, members.iter().any(|member| member.actor.is_changing()))
        {
            // what changes between steps changes at every one of a fixed number
            intervals = Some(count.max(1));
            settings.substeps = Substeps::Fixed(1);
        }
        let stepper = Stepper::new(&body, rest, settings)?;
        Ok(Self {
            state: State::at_rest(rest.to_vec()),
            body,
            stepper,
            members,
            drift: Vec3::ZERO,
            is_led: false,
            reset_reason: None,
            intervals,
        })
    }

    /// Ends every solve with [`Error::Cancelled`] once the flag is set.
    pub fn cancel_by(&mut self, flag: Arc<AtomicBool>) {
        self.stepper.cancel_by(flag);
    }

    /// What never changes.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The linear solver's choice and size.
    pub fn solver_info(&self) -> linear::Info {
        self.stepper.solver_info()
    }

    /// How many actors there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// An actor, by its number.
    pub fn actor(&self, index: usize) -> &A {
        &self.members[index].actor
    }

    /// An actor, by its number, to change.
    pub fn actor_mut(&mut self, index: usize) -> &mut A {
        &mut self.members[index].actor
    }

    /// Which part of the body is an actor's.
    pub fn part(&self, index: usize) -> &Part {
        &self.members[index].part
    }

    /// An actor, by its number, with the state.
    pub fn actor_and_state(&mut self, index: usize) -> (&mut A, &State) {
        (&mut self.members[index].actor, &self.state)
    }

    /// Kinetic and elastic energy of all, in joules.
    pub fn energies(&self) -> [f64; 2] {
        let mut guide = vec![Vec3::ZERO; self.body.point_count()];
        let mut velocities = guide.clone();
        let is_led = self.is_led || self.state.time > 0.0;
        let leads = |actor: &A| if is_led { actor.guide() } else { actor.still_guide() };
        joined(&self.members, leads).sample(self.state.time, &mut guide, &mut velocities);
        self.body.energies(&self.state, &guide)
    }

    /// Puts everything where it is at the first frame, before which the animation is held in its pose or not; a window for every
    /// actor. What is held moves along all the same, all of it as fast as the animation begins on average: nothing gets a kick when the
    /// first frame comes.
    pub fn begin(&mut self, windows: &[Window], is_held: bool) -> Result<(), Error> {
        self.state = State::at_rest(vec![Vec3::ZERO; self.body.point_count()]);
        self.state.internal = self.body.initial_internal();
        let momenta = self.members.iter().zip(windows);
        let momenta = momenta
            .map(|(Member { actor, part }, window)| part.points.len() as f64 * actor.first_velocity(window));
        self.drift = momenta.sum::<Vec3>() / self.body.point_count().max(1) as f64;
        let held = is_held.then_some(self.drift);
        for (member, window) in self.members.iter_mut().zip(windows) {
            member.actor.begin(&self.body, window, held, &mut self.state)?;
        }
        Ok(())
    }

    /// Why everything was put back on the animation since this was asked last.
    pub fn take_reset_reason(&mut self) -> Option<String> {
        self.reset_reason.take()
    }

    /// How fast everything moves along before the first frame, in m/s.
    pub fn drift(&self) -> Vec3 {
        self.drift
    }

    /// Lets whole frames pass, `seconds` at least, before the first one, each by a call to `frame` with the scene and the time it
    /// starts at. True if something had to be put back on the animation.
    pub fn pre_roll(
        &mut self,
        seconds: f64,
        frame_rate_hz: f64,
        frame: &mut dyn FnMut(&mut Self, f64) -> Result<Advanced, Error>,
    ) -> Result<bool, Error> {
        let duration = 1.0 / frame_rate_hz;
        let frames = (seconds / duration).ceil();
        self.state.time = -frames * duration;
        let (start, drift) = (self.state.time, self.drift);
        self.state.positions.iter_mut().for_each(|x| *x += start * drift);
        let mut reset = false;
        for _ in 0..frames as usize {
            let time = self.state.time;
            reset |= frame(self, time)?.reset;
        }
        self.state.time = 0.0;
        Ok(reset)
    }

    /// Lets `seconds` pass before the first frame, with the animation held in its pose.
    pub fn stand_still(
        &mut self,
        seconds: f64,
        contact: Option<&mut dyn ContactModel>,
    ) -> Result<Advanced, Error> {
        let guide = joined(&self.members, |actor| actor.still_guide());
        let rows = self.body.averages();
        let average_weights = (0..rows.len()).map(|r| rows.row(r).map(|entry| entry.1).sum()).collect();
        self.advance(&Drifting { guide, velocity: self.drift, average_weights }, seconds, contact)
    }

    /// From the frame before to that of the windows, one for every actor.
    pub fn frame(
        &mut self,
        windows: &[Window],
        mut contact: Option<&mut dyn ContactModel>,
    ) -> Result<Advanced, Error> {
        let Some(window) = windows.first() else {
            return Ok(Advanced::default());
        };
        let seconds = 1.0 / window.frame_rate_hz;
        // what rounding left in the sum of steps must not grow over a long shot
        self.state.time = window.start();
        self.is_led = true;
        let mut is_simulated = false;
        for (member, window) in self.members.iter_mut().zip(windows) {
            let motion = member.actor.begin_frame(&self.body, window, &mut self.state)?;
            is_simulated |= motion == Motion::Simulated;
        }
        if !is_simulated {
            self.state.time = window.end();
            return Ok(Advanced::default());
        }
        let is_changing = self.members.iter().any(|member| member.actor.is_changing());
        let by_the_clock = (seconds * INTERVALS_HZ).ceil().max(1.0) as usize;
        let intervals = if is_changing { self.intervals.unwrap_or(by_the_clock) } else { 1 };
        let mut sum = Advanced::default();
        for _ in 0..intervals {
            for member in &mut self.members {
                member.actor.begin_interval(&self.body, &mut self.state);
            }
            let guide = joined(&self.members, |actor| actor.guide());
            let against = contact.as_mut().map(|contact| &mut **contact as &mut dyn ContactModel);
            let Advanced { effort, reset } = self.advance(&*guide, seconds / intervals as f64, against)?;
            sum.effort.add(effort);
            sum.reset |= reset;
            for member in &mut self.members {
                member.actor.end_interval(&self.body, &mut self.state);
            }
        }
        Ok(sum)
    }

    fn advance(
        &mut self,
        guide: &dyn Guide,
        seconds: f64,
        contact: Option<&mut dyn ContactModel>,
    ) -> Result<Advanced, Error> {
        let end = self.state.time + seconds;
        let mut corrections = Corrections(&mut self.members);
        let advanced = self.stepper.advance_with_contact(
            &self.body,
            &mut self.state,
            guide,
            contact,
            seconds,
            &mut [&mut corrections],
        );
        let error = match advanced {
            Ok(effort) => return Ok(Advanced { effort, reset: false }),
            Err(error) => error,
        };
        let mut positions = vec![Vec3::ZERO; self.body.point_count()];
        let mut velocities = positions.clone();
        guide.sample(end, &mut positions, &mut velocities);
        if !self.members.is_empty() && self.members.iter().all(|member| member.actor.recovers_from(&error)) {
            // an animation that no simulation can follow: begin again from where it is
            self.reset_reason = Some(error.to_string());
            let internal = std::mem::take(&mut self.state.internal);
            self.state = State { time: end, velocities, internal, ..State::at_rest(positions) };
            return Ok(Advanced { effort: Effort::default(), reset: true });
        }
        let explained =
            self.members.iter().find_map(|member| member.actor.explain(&error, &self.body, &positions));
        Err(match explained {
            Some([sentence, remedy]) => Error::Explained { sentence, remedy },
            None => error,
        })
    }

    /// State and actors, exactly, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let parts = std::iter::once(self.state.to_bytes());
        let parts = parts.chain(self.members.iter().map(|member| member.actor.to_bytes()));
        parts.flat_map(|part| [&(part.len() as u64).to_le_bytes()[..], &part].concat()).collect()
    }

    /// The reverse of [`Scene::to_bytes`]; false when the bytes are not those of this scene.
    pub fn restore(&mut self, mut bytes: &[u8]) -> bool {
        let mut take = || -> Option<&[u8]> {
            let (length, rest) = bytes.split_first_chunk::<8>()?;
            let (part, rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
            bytes = rest;
            Some(part)
        };
        let Some(state) = take().and_then(State::from_bytes) else { return false };
        let internal = self.body.whole().internal.len();
        if state.positions.len() != self.body.point_count() || state.internal.len() != internal {
            return false;
        }
        for member in &mut self.members {
            if !take().is_some_and(|part| member.actor.restore(part)) {
                return false;
            }
        }
        self.state = state;
        bytes.is_empty()
    }
}

/// The corrections of all actors, one after the other.
struct Corrections<'a, A: Actor + ?Sized>(&'a mut [Member<A>]);

impl<A: Actor + ?Sized> Filter for Corrections<'_, A> {
    fn apply(
        &mut self,
        body: &Body,
        sample: &GuideSample,
        before: &State,
        after: &mut State,
        seconds: f64,
    ) -> bool {
        self.0.iter_mut().all(|member| member.actor.correct(body, sample, before, after, seconds))
    }
}

/// The guides of all actors as one.
fn joined<A: Actor + ?Sized>(
    members: &[Member<A>],
    guide_of: impl Fn(&A) -> Box<dyn Guide>,
) -> Box<dyn Guide> {
    match members {
        [alone] => guide_of(&*alone.actor),
        several => Box::new(JoinedGuide(
            several.iter().map(|member| (member.part.clone(), guide_of(&*member.actor))).collect(),
        )),
    }
}

/// Each part of a body along its own guide.
struct JoinedGuide(Vec<(Part, Box<dyn Guide>)>);

impl Guide for JoinedGuide {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        for (part, guide) in &self.0 {
            guide.sample(time, &mut positions[part.points.clone()], &mut velocities[part.points.clone()]);
        }
    }

    fn averages(&self, time: f64, values: &mut [Vec3]) {
        self.0.iter().for_each(|(part, guide)| guide.averages(time, &mut values[part.averages.clone()]));
    }

    fn compliance(&self, time: f64, compliance: &mut [f64]) {
        self.0
            .iter()
            .for_each(|(part, guide)| guide.compliance(time, &mut compliance[part.averages.clone()]));
    }
}
