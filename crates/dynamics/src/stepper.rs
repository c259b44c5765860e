//! Stepping a body in time: frames cut into substeps by error estimate, and filters.

mod contact;
mod integrator;
mod settle;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use geometry::{Bounds, Vec3};

use crate::stage::{NewtonReport, NewtonSettings, Stage, Workspace, YieldingRows};
use crate::{Body, ContactModel, Error, Guide, GuideSample, StageConstraint, StageHistory, State};

use contact::{MIN_CONTACT_STEP, limit_filters};

pub use integrator::Integrator;
pub use settle::Relaxed;

/// How many steps a frame takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Substeps {
    /// As many as the error estimate asks for. Methods without an estimate take one, and more where Newton fails.
    Automatic,
    /// So many.
    Fixed(usize),
}

/// Dials of the stepper.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How a step is taken.
    pub integrator: Integrator,
    /// How many steps a frame takes.
    pub substeps: Substeps,
    /// Permitted error of a step, as a fraction of the body's size.
    pub tolerance: f64,
    /// Newton iterations at most per stage.
    pub newton_iterations: usize,
    /// Choice of linear solver.
    pub solver: linear::Settings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            integrator: Integrator::TrBdf2,
            substeps: Substeps::Automatic,
            tolerance: 3e-4,
            newton_iterations: 25,
            solver: linear::Settings::default(),
        }
    }
}

/// A pass over positions and velocities after a step: limits, inextensibility, contact.
pub trait Filter {
    /// Corrects `after`, a step of `seconds` from `before`. Known points must stay. False when it cannot: the step is then
    /// thrown away and taken again in shorter ones.
    fn apply(
        &mut self,
        body: &Body,
        sample: &GuideSample,
        before: &State,
        after: &mut State,
        seconds: f64,
    ) -> bool;
}

/// What an advance took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Steps taken.
    pub steps: usize,
    /// Steps tried and thrown away.
    pub rejected: usize,
    /// Steps kept although a limit was exceeded: they were too short to be made shorter.
    pub beyond_limits: usize,
    /// Stages of steps that were kept although Newton's method had iterations to go.
    pub unconverged: usize,
    /// Newton iterations.
    pub iterations: usize,
    /// Matrices factorised.
    pub factorizations: usize,
    /// Iterations of conjugate gradients.
    pub linear_iterations: usize,
}

impl Effort {
    /// Adds what another advance took.
    pub fn add(&mut self, other: Self) {
        self.steps += other.steps;
        self.rejected += other.rejected;
        self.beyond_limits += other.beyond_limits;
        self.unconverged += other.unconverged;
        self.iterations += other.iterations;
        self.factorizations += other.factorizations;
        self.linear_iterations += other.linear_iterations;
    }
}

/// Moves a body. Owns nothing but scratch: dropping it and making a new one changes no result.
pub struct Stepper {
    settings: Settings,
    work: Workspace,
    size: f64,
    effort: Effort,
    guide_positions: Vec<Vec3>,
    guide_velocities: Vec<Vec3>,
    rows: YieldingRows,
    averages: Vec<Vec3>,
    /// The body's limits, as this stepper's stages keep them.
    limits: Vec<Box<dyn StageConstraint>>,
}

/// A frame cut in more pieces than this is lost.
const SMALLEST_FRACTION: f64 = 1.0 / 4096.0;
/// A frame that spends more than this share of itself in steps as short as contact asks for at all is stuck: it would take a
/// thousand times as long as others, and the next one too.
const STUCK_SHARE: f64 = 0.1;
const STUCK_STEP: f64 = 1.5 * MIN_CONTACT_STEP;
/// How much shorter a step is tried again when nothing says how much.
const REFUSED_SHRINK: f64 = 0.35;
/// Steps longer than this share of a frame are tried again, shorter, when a limit is exceeded,
const SHORTEST_WITHIN_LIMITS: f64 = 1.0 / 64.0;
/// unless this many of them did not bring it down to this share: what is pulled apart stays so, however short the steps;
const VAIN_STEPS: usize = 4;
const HELPFUL_SHARE: f64 = 0.9;
/// and unless the frame took this many iterations already. What is flung about by a hundred times its weight would otherwise take a
/// thousand: such a frame ends beyond its limits, and is reported.
const PATIENCE: usize = 400;
/// Where not even that keeps a limit and an obstacle pushes, it goes only this share of its way, again and again, down to this, and then waits:
/// what it pushes has no slack to give. Not so once the frame took this many iterations.
const SHARE_LEFT: f64 = 0.25;
const LEAST_SHARE: f64 = 0.05;
const WAITING_PATIENCE: usize = 3000;

impl Stepper {
    /// Symbolic work for a body. `positions` give its size, which tolerances refer to.
    pub fn new(body: &Body, positions: &[Vec3], settings: Settings) -> Result<Self, Error> {
        let zeros = vec![Vec3::ZERO; body.point_count()];
        Ok(Self {
            work: Workspace::new(body, settings.solver.clone())?,
            settings,
            size: Bounds::of(positions.iter().copied()).diagonal().max(f64::MIN_POSITIVE),
            effort: Effort::default(),
            guide_positions: zeros.clone(),
            guide_velocities: zeros,
            rows: YieldingRows::new(body),
            averages: vec![Vec3::ZERO; body.averages().len()],
            limits: body.limits().iter().map(|limit| limit.constraint()).collect(),
        })
    }

    /// Ends every solve with [`Error::Cancelled`] once the flag is set: it is looked at in every Newton iteration.
    pub fn cancel_by(&mut self, flag: Arc<AtomicBool>) {
        self.work.cancel = Some(flag);
    }

    /// The linear solver's choice and size.
    pub fn solver_info(&self) -> linear::Info {
        self.work.solver.info()
    }

    /// The forces, in newtons, with which averages were held in the last stage that was solved.
    pub fn constraint_forces(&self) -> &[Vec3] {
        &self.work.multipliers
    }

    /// Advances the state by `seconds`: one frame.
    pub fn advance(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        seconds: f64,
        filters: &mut [&mut dyn Filter],
    ) -> Result<Effort, Error> {
        self.advance_with_contact(body, state, guide, None, seconds, filters)
    }

    /// [`Stepper::advance`] where there is something that the body may not pass through. A state that crosses nothing leads to
    /// states that cross nothing.
    pub fn advance_with_contact(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        mut contact: Option<&mut dyn ContactModel>,
        seconds: f64,
        filters: &mut [&mut dyn Filter],
    ) -> Result<Effort, Error> {
        // Nothing kept from an earlier frame may change this one: a resumed bake gives the same bits.
        self.work.solver.reset();
        self.work.extended.reset();
        self.limits = body.limits().iter().map(|limit| limit.constraint()).collect();
        self.effort = Effort::default();
        let start = state.time;
        let mut done = 0.0; // fraction of the frame
        let mut fraction = self.first_fraction(state, seconds);
        let mut crawled = 0.0; // fraction of the frame in the shortest steps
        let mut patience = Patience::default();
        while done < 1.0 {
            // equal pieces of what is left, so that no sliver remains at the end
            let pieces = ((1.0 - done) / fraction - 1e-6).ceil().max(1.0);
            let piece = (1.0 - done) / pieces;
            let end = if pieces > 1.0 { done + piece } else { 1.0 };
            let before = state.clone();
            self.rows.set_slack(&state.slack);
            contact.iter_mut().for_each(|contact| _ = contact.hold_back_obstacles(patience.obstacle_share));
            let contact_now = contact.as_mut().map(|contact| &mut **contact as &mut dyn ContactModel);
            let attempt = self.try_step(body, state, guide, contact_now, piece, seconds)?;
            let worst = attempt.error / (self.settings.tolerance * self.size);
            let is_beyond = attempt.report.excess > 0.0;
            let contact_now = contact.as_mut().map(|contact| &mut **contact as &mut dyn ContactModel);
            let (mut accepted, mut shrink) = self.judge(&attempt, worst, piece, &mut patience, contact_now);
            if !accepted && piece < SMALLEST_FRACTION {
                let NewtonReport { iterations, residual, .. } = attempt.report;
                let (time, step) = (before.time, piece * seconds);
                return Err(Error::Diverged { time, step, iterations, residual });
            }
            if accepted {
                state.slack = self.rows.slack();
                state.time = start + end * seconds;
                let contact_now = contact.as_mut().map(|contact| &mut **contact as &mut dyn ContactModel);
                accepted = self.filter(body, &before, state, guide, contact_now, filters, piece * seconds)?;
                shrink = REFUSED_SHRINK;
                if !accepted && piece < SMALLEST_FRACTION {
                    return Err(Error::Refused { time: before.time, step: piece * seconds });
                }
            }
            if !accepted {
                *state = before;
                contact.iter_mut().for_each(|contact| contact.rewind());
                self.effort.rejected += 1;
                fraction = piece * shrink;
                continue;
            }
            if let Some(point) = state.positions.iter().position(|x| !x.is_finite()) {
                return Err(Error::NotFinite { time: state.time, point });
            }
            self.effort.steps += 1;
            self.effort.beyond_limits += usize::from(is_beyond);
            self.effort.unconverged += attempt.report.unconverged;
            patience.obstacle_share = (2.0 * patience.obstacle_share).clamp(LEAST_SHARE, 1.0);
            done = end;
            if piece < STUCK_STEP && self.settings.substeps == Substeps::Automatic {
                crawled += piece;
            }
            if crawled > STUCK_SHARE {
                let point = fastest(&before, state);
                let place = state.positions[point].to_array();
                return Err(Error::Stuck { time: state.time, step: piece * seconds, point, place });
            }
            if self.settings.substeps == Substeps::Automatic {
                fraction = patience.shortened(attempt.next_fraction(worst, piece, fraction));
                state.step = fraction * seconds;
            }
        }
        Ok(self.effort)
    }

    /// Whether a step over a `piece` of the frame is taken; and otherwise how much of it is tried next.
    fn judge(
        &self,
        attempt: &Attempt,
        worst: f64,
        piece: f64,
        patience: &mut Patience,
        contact: Option<&mut dyn ContactModel>,
    ) -> (bool, f64) {
        let spent = self.effort.iterations;
        let accepted =
            self.accepts(attempt, worst, piece) && !patience.asks_for_shorter(attempt, piece, spent);
        let is_beyond = attempt.report.excess > 0.0;
        if accepted && is_beyond && patience.lets_wait(contact, spent) {
            return (false, 1.0);
        }
        (accepted, attempt.shrink(worst))
    }

    /// The share of a frame of `seconds` that its first step takes.
    fn first_fraction(&self, state: &State, seconds: f64) -> f64 {
        match self.settings.substeps {
            Substeps::Fixed(count) => 1.0 / count.max(1) as f64,
            Substeps::Automatic if state.step > 0.0 => (state.step / seconds).min(1.0),
            Substeps::Automatic => 1.0,
        }
    }

    /// A step over a `piece` of a frame of `seconds`.
    fn try_step(
        &mut self,
        body: &Body,
        state: &mut State,
        guide: &dyn Guide,
        contact: Option<&mut dyn ContactModel>,
        piece: f64,
        seconds: f64,
    ) -> Result<Attempt, Error> {
        let Some(contact) = contact else { return self.step(body, state, guide, piece * seconds) };
        let parts = match self.settings.substeps {
            Substeps::Automatic => piece / MIN_CONTACT_STEP,
            Substeps::Fixed(_) => 1.0,
        };
        self.step_with_contact(body, state, guide, contact, piece * seconds, parts)
    }

    /// Whether a step over a `piece` of the frame, whose error is `worst` times the permitted one, is good enough.
    fn accepts(&self, attempt: &Attempt, worst: f64, piece: f64) -> bool {
        let too_inexact = self.settings.substeps == Substeps::Automatic && worst > 1.0;
        attempt.report.converged
            && !attempt.is_rejected_by_contact()
            && !(too_inexact && piece > SMALLEST_FRACTION)
    }

    /// Applies the filters to a step of `seconds`, as far as contact lets them. False when one of them refuses.
    fn filter(
        &mut self,
        body: &Body,
        before: &State,
        state: &mut State,
        guide: &dyn Guide,
        contact: Option<&mut dyn ContactModel>,
        filters: &mut [&mut dyn Filter],
        seconds: f64,
    ) -> Result<bool, Error> {
        let sample =
            Self::sample_guide(&mut self.guide_positions, &mut self.guide_velocities, guide, state.time);
        let found = contact.is_some().then(|| state.positions.clone());
        let apply = |filter: &mut &mut dyn Filter| filter.apply(body, &sample, before, state, seconds);
        if !filters.iter_mut().all(apply) {
            return Ok(false);
        }
        if let Some((contact, found)) = contact.zip(found) {
            limit_filters(contact, &found, state)?;
            contact.commit();
        }
        Ok(true)
    }

    fn step(&mut self, body: &Body, state: &mut State, guide: &dyn Guide, h: f64) -> Result<Attempt, Error> {
        match self.settings.integrator {
            Integrator::TrBdf2 => self.step_tr_bdf2(body, state, guide, h),
            Integrator::BackwardEuler => self.step_euler(body, state, guide, h, 1.0, false),
            Integrator::LinearlyImplicit { delta } => self.step_euler(body, state, guide, h, delta, true),
        }
    }

    fn newton(&self) -> NewtonSettings {
        // A tenth of the permitted error: Newton's own error must not disturb the estimate.
        let tolerance = 0.1 * self.settings.tolerance * self.size;
        NewtonSettings::smooth(self.settings.newton_iterations, tolerance)
    }

    fn solve(
        &mut self,
        body: &Body,
        guide: &dyn Guide,
        problem: &StageProblem,
        constraints: &mut [&mut dyn StageConstraint],
        x: &mut [Vec3],
    ) -> Result<NewtonReport, Error> {
        let &StageProblem { time, base, drift, implicit_dt, elapsed, history, start, other_guess, newton } =
            problem;
        let sample = Self::sample_guide(&mut self.guide_positions, &mut self.guide_velocities, guide, time);
        self.rows.set_compliance(|compliance| guide.compliance(time, compliance));
        guide.averages(time, &mut self.averages);
        let averages = &self.averages;
        let stage =
            Stage { start, base, drift, implicit_dt, elapsed, other_guess, history, sample, averages };
        // contact, which moves obstacles along with what it leaves of a step, comes last
        let limits = self.limits.iter_mut().map(|limit| &mut **limit as &mut dyn StageConstraint);
        let own = constraints.iter_mut().map(|constraint| &mut **constraint as &mut dyn StageConstraint);
        let mut all: Vec<&mut dyn StageConstraint> = limits.chain(own).collect();
        let solved = self.work.solve(body, &stage, newton, &mut self.rows, &mut all, x)?;
        self.effort.iterations += solved.iterations;
        self.effort.factorizations += solved.factorizations;
        self.effort.linear_iterations += solved.linear_iterations;
        Ok(solved)
    }

    fn sample_guide<'a>(
        positions: &'a mut [Vec3],
        velocities: &'a mut [Vec3],
        guide: &dyn Guide,
        time: f64,
    ) -> GuideSample<'a> {
        guide.sample(time, positions, velocities);
        GuideSample { time, guide_positions: positions, guide_velocities: velocities }
    }
}

/// What is asked of a [`Stage`]: all of it but where the guide is then.
struct StageProblem<'a> {
    /// When, in seconds.
    time: f64,
    base: &'a [Vec3],
    drift: &'a [Vec3],
    implicit_dt: f64,
    elapsed: f64,
    history: StageHistory<'a>,
    /// The converged positions that the guess came from.
    start: &'a [Vec3],
    other_guess: Option<&'a [Vec3]>,
    newton: NewtonSettings,
}

/// How long it is hoped that shorter steps keep limits that longer ones exceed, and obstacles that wait: over one frame.
struct Patience {
    /// By how much they were exceeded when a step was last refused for it.
    refused: Option<f64>,
    /// Shorter steps that did not help.
    vain: usize,
    /// The shortest step that was asked for, as a share of the frame: longer ones would be refused again.
    shortest: Option<f64>,
    /// How much of what they have to go obstacles go in the next step.
    obstacle_share: f64,
}

impl Default for Patience {
    fn default() -> Self {
        Self { refused: None, vain: 0, shortest: None, obstacle_share: 1.0 }
    }
}

impl Patience {
    /// Whether a step that no shorter one would keep within its limits is to be taken again while obstacles go less far.
    fn lets_wait(&mut self, contact: Option<&mut (dyn ContactModel + '_)>, spent: usize) -> bool {
        let may_wait = self.obstacle_share > 0.0 && spent < WAITING_PATIENCE;
        let waits =
            may_wait && contact.is_some_and(|contact| contact.hold_back_obstacles(self.obstacle_share));
        if waits {
            let less = SHARE_LEFT * self.obstacle_share;
            self.obstacle_share = if less < LEAST_SHARE { 0.0 } else { less };
        }
        waits
    }

    /// Whether an attempt over a `piece` of the frame, good enough but for its limits, is to be made again with a shorter step.
    fn asks_for_shorter(&mut self, attempt: &Attempt, piece: f64, spent: usize) -> bool {
        let excess = attempt.report.excess;
        if spent > PATIENCE {
            self.shortest = None;
            return false;
        }
        if excess == 0.0 {
            self.refused = None;
            return false;
        }
        let helped = self.refused.is_none_or(|refused| excess < HELPFUL_SHARE * refused);
        self.vain = if helped { self.vain } else { self.vain + 1 };
        self.refused = Some(excess);
        let asks = self.vain < VAIN_STEPS && piece > SHORTEST_WITHIN_LIMITS;
        if asks {
            self.shortest = Some(piece * attempt.shrink(0.0));
        }
        asks
    }

    /// The next step, no longer than limits have let pass in this frame.
    fn shortened(&self, fraction: f64) -> f64 {
        self.shortest.map_or(fraction, |shortest| fraction.min(shortest))
    }
}

/// A step tried.
struct Attempt {
    report: NewtonReport,
    /// Estimated error in metres, root mean square.
    error: f64,
    /// Below 1: contact rejects the step, and it is to be taken again, so much shorter. Otherwise: how much longer the next may be
    /// at most.
    step_ratio: f64,
}

impl Attempt {
    fn is_rejected_by_contact(&self) -> bool {
        self.step_ratio < 1.0
    }

    /// How much shorter to try again, with an error `worst` times the permitted one.
    fn shrink(&self, worst: f64) -> f64 {
        // Newton's failure says nothing about how much shorter; the error estimate (third order) does.
        if self.is_rejected_by_contact() {
            self.step_ratio
        } else if self.report.converged && self.report.excess > 0.0 {
            0.5
        } else if self.report.converged {
            (0.9 * worst.cbrt().recip()).clamp(0.2, 0.7)
        } else {
            REFUSED_SHRINK
        }
    }

    /// The share of the frame that the next step may take, after this one over a `piece` where `fraction` was wanted.
    fn next_fraction(&self, worst: f64, piece: f64, fraction: f64) -> f64 {
        let grow = (0.9 * worst.max(1e-9).cbrt().recip()).clamp(0.3, self.step_ratio);
        // without an estimate steps grow little by little, also where rounding to equal pieces hides it
        let basis = if self.error > 0.0 { piece } else { piece.max(fraction) };
        (basis * grow).min(1.0)
    }
}

/// The point whose velocity has changed most: where steps have to be short.
fn fastest(before: &State, after: &State) -> usize {
    let changes = before.velocities.iter().zip(&after.velocities).map(|(v, w)| v.distance_squared(*w));
    changes.enumerate().fold((0, 0.0), |most, (i, change)| if change > most.1 { (i, change) } else { most }).0
}

fn root_mean_square(vectors: impl ExactSizeIterator<Item = Vec3>) -> f64 {
    let count = vectors.len().max(1) as f64;
    (vectors.map(|v| v.length_squared()).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(converged: bool, excess: f64, error: f64, step_ratio: f64) -> Attempt {
        Attempt { report: NewtonReport { converged, excess, ..NewtonReport::default() }, error, step_ratio }
    }

    /// What contact asks for, half where a limit is exceeded, 0.9/∛worst for an error of third order, and 0.35 where nothing is known.
    #[test]
    fn a_step_is_tried_again_as_short_as_what_is_known_of_it_says() {
        assert_eq!(attempt(true, 0.0, 0.0, 0.4).shrink(8.0), 0.4);
        assert_eq!(attempt(true, 0.1, 0.0, 1.0).shrink(8.0), 0.5);
        for (worst, expected) in [(8.0, 0.45), (1.0, 0.7), (1e6, 0.2)] {
            assert!((attempt(true, 0.0, 1.0, 1.0).shrink(worst) - expected).abs() < 1e-12, "{worst}");
        }
        assert_eq!(attempt(false, 0.0, 1.0, 1.0).shrink(8.0), 0.35);
        assert!(attempt(true, 0.0, 0.0, 0.99).is_rejected_by_contact());
        assert!(!attempt(true, 0.0, 0.0, 1.0).is_rejected_by_contact());
    }

    #[test]
    fn the_next_step_is_as_long_as_the_error_lets_it_be() {
        let next = |error: f64, worst: f64, piece: f64| {
            attempt(true, 0.0, error, 2.0).next_fraction(worst, piece, 0.3)
        };
        for (error, worst, piece, expected) in [
            (1.0, 0.125, 0.25, 0.45),
            (1.0, 0.125, 0.8, 1.0),
            (1.0, 0.0, 0.25, 0.5),
            (1.0, 1e6, 0.5, 0.15),
            (0.0, 0.125, 0.25, 0.54),
        ] {
            let found = next(error, worst, piece);
            assert!((found - expected).abs() < 1e-12, "{error} {worst} {piece}: {found}");
        }
    }

    /// Shorter steps are asked for while a limit is exceeded, until four in a row did not help, the steps are short, or the frame took long.
    #[test]
    fn shorter_steps_are_asked_for_while_they_help() {
        let beyond = |excess: f64| attempt(true, excess, 0.0, 1.0);
        let mut patience = Patience::default();
        assert!(patience.asks_for_shorter(&beyond(1.0), 0.5, 0));
        assert_eq!((patience.shortest, patience.shortened(0.7)), (Some(0.25), 0.25));
        assert!(patience.asks_for_shorter(&beyond(0.5), 0.25, 0));
        for vain in 1..4 {
            assert!(patience.asks_for_shorter(&beyond(0.5), 0.25, 0), "{vain}");
        }
        assert!(!patience.asks_for_shorter(&beyond(0.5), 0.25, 0), "in vain");
        assert!(!Patience::default().asks_for_shorter(&beyond(1.0), 1.0 / 64.0, 0), "short");
        assert!(!Patience::default().asks_for_shorter(&beyond(0.0), 0.5, 0), "within");
        assert!(!patience.asks_for_shorter(&beyond(1.0), 0.5, 401), "long");
        assert_eq!(patience.shortened(0.7), 0.7);
    }
}
