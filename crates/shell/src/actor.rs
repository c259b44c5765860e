//! Cloth as an actor: it hangs on the points that follow, moves freely elsewhere, and may be made of threads that do not stretch.

use std::borrow::Cow;
use std::sync::Arc;

use dynamics::{
    Actor, ActorReport, Body, BodyBuilder, Carry, DeliveredSurface, Elements, Error, Filter, Follow,
    FollowDamping, Forces, Guide, GuideSample, MaxDistance, Motion, Part, Span, State, StaticGuide, Way,
    Window, follow_stiffness,
};
use geometry::{Vec3, rigid_motion};

use crate::resizing::{Resizable, ResizingElements};
use crate::{Cloth, FabricStrain, InextensibleThreads, Membrane, Resizing, Strain, StrainLimits};

/// What a cloth actor is made of.
pub struct ClothSetup<'a> {
    /// Its elements.
    pub cloth: Cloth,
    /// Rayleigh's β of its internal friction, in seconds.
    pub friction: f64,
    /// How much each point follows the animation: 1 exactly, 0 not at all, in between softly.
    pub follow: &'a [f32],
    /// How fast a point of weight ½ is drawn to the animation: the frequency of its swing, in Hz.
    pub follow_frequency_hz: f64,
    /// How much that swing is damped: 1 just does not overshoot.
    pub follow_damping: f64,
    /// No point strays further from the animation than this, in metres.
    pub max_distance: Option<f64>,
    /// In m/s².
    pub gravity: Vec3,
    /// Threads that do not stretch, if there are.
    pub threads: Option<InextensibleThreads>,
    /// A step of the animation that departs from those around it by more than this, in metres, is a cut: the cloth is carried along.
    pub cut: f64,
}

/// What is told of a cut.
pub(crate) const CARRIED: &str = "the animation cuts here: the cloth was carried along";

/// A part of a state goes across a cut.
pub(crate) fn carry_along(carry: &Carry, state: &mut State, part: &Part) {
    let points = part.points.clone();
    carry.apply(&mut state.positions[points.clone()], &mut state.velocities[points.clone()]);
    state.accelerations.get_mut(points).into_iter().flatten().for_each(|a| *a = carry.rotation * *a);
}

/// A cloth in motion.
pub struct ClothActor {
    part: Part,
    known: Vec<bool>,
    membranes: Vec<([u32; 3], Membrane)>,
    resizing: Option<Resizing>,
    limits: Vec<StrainLimits>,
    threads: Option<InextensibleThreads>,
    max_distance: Option<MaxDistance>,
    start: Vec<Vec3>,
    /// Triangles beyond their limits in the frame before.
    beyond: usize,
    span: Arc<Span>,
    /// A step of the animation that departs from others by more than this, in metres, is a cut.
    cut: f64,
    /// Why physics is off in the frame begun.
    fallbacks: Vec<String>,
}

impl ClothActor {
    /// The cloth, and the body it brings along.
    pub fn new(setup: ClothSetup<'_>) -> (Self, BodyBuilder) {
        let ClothSetup { cloth, friction, follow, follow_frequency_hz, follow_damping, .. } = setup;
        let ClothSetup { max_distance, gravity, threads, cut, .. } = setup;
        let limits = cloth.strain_limits();
        let (masses, count) = (&cloth.masses, cloth.masses.len());
        // Nothing moves a point without mass, so it goes with the animation.
        let known: Vec<bool> = (0..count).map(|p| follow[p] >= 1.0 || masses[p] <= 0.0).collect();
        let soft = || (0..count).filter(|&p| !known[p] && follow[p] > 0.0);
        let stiffness = |p: usize| follow_stiffness(masses[p], f64::from(follow[p]), follow_frequency_hz);
        let critical = |p: usize| 2.0 * (stiffness(p) * masses[p]).sqrt();
        let springs: Vec<(u32, f64)> = soft().map(|p| (p as u32, stiffness(p))).collect();
        let dampers: Vec<(u32, f64)> = soft().map(|p| (p as u32, follow_damping * critical(p))).collect();
        let membranes = Elements::new(cloth.own_membranes()).damped(friction);
        let cells = Elements::new(cloth.cells).damped(friction);
        let body = Body::builder(cloth.masses.clone());
        let body = match &cloth.resizing {
            None => body.energy(membranes).energy(cells),
            Some(resizing) => body
                .energy(ResizingElements::new(membranes, resizing))
                .energy(ResizingElements::new(cells, resizing)),
        };
        let mut body = body
            .energy(Elements::new(cloth.hinges).damped(friction))
            .energy(Elements::new(cloth.plates).damped(friction))
            .force(Forces(Elements::new(cloth.air)))
            .known(known.clone())
            .gravity(gravity);
        if !springs.is_empty() {
            body = body.energy(Follow::new(springs)).force(FollowDamping::new(dampers));
        }
        match &threads {
            Some(threads) => body = threads.add_to(body),
            None => body = body.limit(limits),
        }
        let actor = Self {
            part: body.part(),
            known,
            membranes: cloth.membranes,
            resizing: cloth.resizing,
            limits: cloth.limits,
            threads,
            max_distance: max_distance.map(|distance| MaxDistance::new(vec![distance; count])),
            start: Vec::new(),
            beyond: 0,
            span: Arc::default(),
            cut,
            fallbacks: Vec::new(),
        };
        (actor, body)
    }

    fn positions<'a>(&self, state: &'a State) -> &'a [Vec3] {
        &state.positions[self.part.points.clone()]
    }
}

impl Actor for ClothActor {
    fn bind(&mut self, body: &Body, part: &Part) -> Result<(), Error> {
        self.part = part.clone();
        self.max_distance = self.max_distance.take().map(|limit| limit.from_point(part.points.start));
        self.threads.as_mut().map_or(Ok(()), |threads| threads.bind(body, part))
    }

    fn begin(
        &mut self,
        _: &Body,
        window: &Window,
        held: Option<Vec3>,
        state: &mut State,
    ) -> Result<(), Error> {
        self.start = window.here().to_vec();
        state.positions[self.part.points.clone()].copy_from_slice(&self.start);
        // it moves along with the animation, and not within it
        let velocity = held.unwrap_or_else(|| self.first_velocity(window));
        state.velocities[self.part.points.clone()].fill(velocity);
        Ok(())
    }

    fn first_velocity(&self, window: &Window) -> Vec3 {
        window.first_velocity(self.cut)
    }

    fn still_guide(&self) -> Box<dyn Guide> {
        Box::new(StaticGuide::new(self.start.clone()))
    }

    fn begin_frame(&mut self, _: &Body, window: &Window, state: &mut State) -> Result<Motion, Error> {
        let Way { frames, carry } = window.way(self.cut, |from, to| rigid_motion(from, to).0);
        self.fallbacks.clear();
        if let Some(carry) = carry {
            carry_along(&carry, state, &self.part);
            self.fallbacks.push(CARRIED.into());
        }
        self.span = Arc::new(Span::through(window.start(), window.frame_rate_hz, frames));
        Ok(Motion::Simulated)
    }

    fn guide(&self) -> Box<dyn Guide> {
        Box::new(self.span.clone())
    }

    fn correct(
        &mut self,
        body: &Body,
        sample: &GuideSample,
        before: &State,
        after: &mut State,
        seconds: f64,
    ) -> bool {
        let holds = match &mut self.threads {
            Some(threads) => threads.correct(body, &self.part, sample, before, after, seconds),
            None => true,
        };
        let limit = self.max_distance.as_mut().filter(|_| holds);
        holds && limit.is_none_or(|limit| limit.apply(body, sample, before, after, seconds))
    }

    fn explain(&self, error: &Error, body: &Body, guide: &[Vec3]) -> Option<[String; 2]> {
        let own = self.part.points.clone();
        self.threads.as_ref()?.explain(error, &body.known()[own.clone()], &guide[own])
    }

    fn deliver(&self, state: &State, _: &Window) -> DeliveredSurface {
        // behind its own points there may be places on something else that it is tied to
        let own = &self.positions(state)[..self.known.len()];
        DeliveredSurface { positions: own.to_vec(), exact: self.known.clone() }
    }

    fn report(&mut self, state: &State, _: &Window) -> ActorReport {
        let fallbacks = std::mem::take(&mut self.fallbacks);
        let mut report = ActorReport { fallbacks, ..ActorReport::default() };
        let x = &state.positions[self.part.points.clone()];
        match &mut self.threads {
            Some(threads) => threads.report(x, &mut report),
            None => {
                let membranes = sized(&self.membranes, self.resizing.as_ref(), state.time);
                let strain = Strain::measure(&membranes, x);
                report.add("strain/mean", "%", 100.0 * strain.mean);
                let strain = FabricStrain::measure(&membranes, &self.limits, &self.known, x);
                strain.report(&mut report);
                report.warnings.extend(strain.warning(&mut self.beyond));
            }
        }
        report
    }

    fn to_bytes(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, bytes: &[u8]) -> bool {
        bytes.is_empty()
    }
}

/// Triangles at the size that they have at a time.
fn sized<'a>(
    membranes: &'a [([u32; 3], Membrane)],
    resizing: Option<&Resizing>,
    time: f64,
) -> Cow<'a, [([u32; 3], Membrane)]> {
    let Some(resizing) = resizing.filter(|resizing| resizing.ramp.share(time) < 1.0) else {
        return Cow::Borrowed(membranes);
    };
    let of = |(corners, membrane): &([u32; 3], Membrane)| {
        (*corners, membrane.resized(resizing.of(corners).ratio(time)))
    };
    Cow::Owned(membranes.iter().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClothBuilder, Enforcement, Material, Weave};

    /// A square of 10 cm that hangs on its upper corners, 0 and 1; it may have threads along its sides, kept to one per cent.
    fn square(enforcement: Option<Enforcement>, max_distance: Option<f64>) -> (ClothActor, Body, [Vec3; 4]) {
        let rest = [[0.0, 0.0], [0.1, 0.0], [0.0, -0.1], [0.1, -0.1]].map(|[x, y]| Vec3::new(x, y, 0.0));
        let material = Material::default();
        let weave = Weave {
            quads: vec![[0, 1, 3, 2]],
            warp: vec![[0, 2], [1, 3]],
            weft: vec![[0, 1], [2, 3]],
            bias: Vec::new(),
            paired: 0,
            others: 0,
        };
        let threads = enforcement
            .map(|how| InextensibleThreads::new(weave, how, 0.01, &rest, None, &material).expect("threads"));
        let cloth = ClothBuilder::new(&rest, &[[0, 2, 1], [1, 2, 3]], &material).build().expect("cloth");
        let (mut actor, body) = ClothActor::new(ClothSetup {
            cloth,
            friction: 0.0,
            follow: &[1.0, 1.0, 0.0, 0.0],
            follow_frequency_hz: 1.0,
            follow_damping: 1.0,
            max_distance,
            gravity: Vec3::ZERO,
            threads,
            cut: 1.0,
        });
        let part = actor.part.clone();
        let body = body.build().expect("a body");
        actor.bind(&body, &part).expect("bound");
        (actor, body, rest)
    }

    /// The square with its sides `along` x and y times as long.
    fn stretched(rest: [Vec3; 4], along: [f64; 2]) -> Vec<Vec3> {
        rest.map(|p| p * Vec3::new(along[0], along[1], 1.0)).to_vec()
    }

    /// Whether a step from `guide` to `x` is taken, and what becomes of it.
    fn corrected(actor: &mut ClothActor, body: &Body, guide: &[Vec3], x: Vec<Vec3>) -> (bool, Vec<Vec3>) {
        let still = [Vec3::ZERO; 4];
        let sample = GuideSample { time: 0.0, guide_positions: guide, guide_velocities: &still };
        let (before, mut after) = (State::at_rest(guide.to_vec()), State::at_rest(x));
        let is_taken = actor.correct(body, &sample, &before, &mut after, 0.01);
        (is_taken, after.positions)
    }

    /// Threads inside the step refuse what no pull can reach, and only that; what they refuse is left as it was.
    #[test]
    fn a_step_is_refused_where_held_points_are_out_of_reach() {
        for (held, along, is_taken) in [
            (1.0, [1.0, 1.005], true),
            (1.0, [1.0, 1.05], true),
            (1.0, [1.0, 0.9], true),
            (1.005, [1.005, 1.0], true),
            (1.5, [1.5, 1.0], false),
            (1.5, [1.0, 1.0], true),
        ] {
            let (mut actor, body, rest) = square(Some(Enforcement::Limit), Some(0.01));
            let (guide, x) = (stretched(rest, [held, 1.0]), stretched(rest, along));
            let (taken, after) = corrected(&mut actor, &body, &guide, x.clone());
            assert_eq!(taken, is_taken, "{held} {along:?}");
            if !taken {
                assert_eq!(after, x, "what is no step is not corrected");
            }
        }
    }

    /// Projection brings the threads to their lengths, and the distance to the animation is kept, with threads and without.
    #[test]
    fn a_step_is_projected_and_kept_near() {
        let (mut actor, body, rest) = square(Some(Enforcement::Projection), None);
        let (taken, after) = corrected(&mut actor, &body, &rest, stretched(rest, [1.0, 1.3]));
        assert!(taken);
        for [a, b] in [[0, 2], [1, 3], [2, 3]] {
            assert!((after[a].distance(after[b]) / 0.1 - 1.0).abs() <= 0.01 + 1e-9, "{a} {b}: {after:?}");
        }
        for threads in [None, Some(Enforcement::Limit)] {
            let (mut actor, body, rest) = square(threads, Some(0.02));
            let away: Vec<Vec3> =
                rest.iter().zip([0.0, 0.0, 0.05, 0.01]).map(|(p, z)| *p + z * Vec3::Z).collect();
            let (taken, after) = corrected(&mut actor, &body, &rest, away.clone());
            assert!(taken && after[2].distance(rest[2] + 0.02 * Vec3::Z) < 1e-15, "{threads:?}: {after:?}");
            assert_eq!(after[3], away[3], "near enough");
        }
    }

    /// What is told of threads: how far warp and weft are off, how many pieces by more than they may, and in words.
    #[test]
    fn threads_tell_their_strain() {
        for (along, expected, beyond) in [
            ([1.0, 1.0], [0.0, 0.0], 0.0),
            ([1.0, 1.005], [0.5, 0.0], 0.0),
            ([1.0, 1.02], [2.0, 0.0], 2.0),
            ([0.97, 1.0], [0.0, 3.0], 2.0),
            ([1.03, 0.98], [2.0, 3.0], 4.0),
        ] {
            for enforcement in [Enforcement::Limit, Enforcement::Projection] {
                let (mut actor, body, rest) = square(Some(enforcement), None);
                let is_projected = enforcement == Enforcement::Projection;
                if is_projected {
                    corrected(&mut actor, &body, &rest, stretched(rest, [1.0, 1.3]));
                }
                let threads = actor.threads.as_mut().expect("threads");
                let mut report = ActorReport::default();
                threads.report(&stretched(rest, along), &mut report);
                let figure = |name: &str| report.figures.iter().find(|f| f.0 == name).map(|f| f.2);
                for (name, expected) in ["strain/warp", "strain/weft"].into_iter().zip(expected) {
                    let found = figure(name).expect("told");
                    assert!((found - expected).abs() < 1e-9, "{name} {along:?}: {found}");
                }
                assert_eq!(figure("strain/beyond limits"), Some(beyond), "{along:?}");
                let largest = f64::max(expected[0], expected[1]);
                let words =
                    format!("threads are {largest:.2} % off their length, where `max_strain` allows 1.00 %");
                assert_eq!(report.warnings.len(), usize::from(beyond > 0.0), "{along:?}");
                assert!(
                    report.warnings.iter().all(|warning| warning.starts_with(&words)),
                    "{:?}",
                    report.warnings
                );
                assert_eq!(
                    figure("effort/projections").map(|solves| solves > 0.0),
                    is_projected.then_some(true)
                );
                assert_eq!(
                    figure("strain/before contact").map(|left| left <= 1.0),
                    is_projected.then_some(true)
                );
            }
        }
    }
}
