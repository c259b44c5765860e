//! Repair and synthesis: the motion nearest to a take that obeys physics, its feet still; or, of a take whose key poses alone are
//! kept, the one that needs the least torque.

use geometry::Vec3;

use crate::body::Body;
use crate::carry::Carry;
use crate::contacts::{Contact, Detection, Sole, contacts, ground_height, soles};
use crate::error::Error;
use crate::external::External;
use crate::ground::{Ground, Terrain};
use crate::keys::{Key, Keys};
use crate::prior::{Guide, Likelihood, Wanted, flags};
use crate::report::{Report, report};
use crate::schedule::schedule;
use crate::solve::{Limits, Solution, solve, solve_from};

use crate::spacetime::{Spacetime, Weights};
use crate::take::{Build, Take};
use crate::timing::Timing;
use crate::variation::Variation;

/// How near keys are kept, in m: what counts as one unit of distance from them.
const KEPT: f64 = 3e-4;

/// Noise of a variation's poses, in units of σ_q: with all of it arms flail.
const VARIED: f64 = 0.5;

/// What is known of when and where feet rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Footsteps {
    /// They are the take's.
    #[default]
    Given,
    /// They are solved for. Which foot comes when is the take's order; with a prior, that of the best path through what was learnt, and
    /// of the take between the keys nothing is seen. On level or inclined ground that stands still; elsewhere they are given.
    Free,
}

/// What a repair is asked for.
#[derive(Clone, Debug)]
pub struct Repair {
    /// How far joints may be from the take, in m; infinite where keys alone are kept.
    pub follow: f64,
    /// Frames of the take that are kept as they are, once they stand on the ground. With any, the first two and
    /// the last two are kept too.
    pub keys: Vec<usize>,
    /// In m/s².
    pub gravity: Vec3,
    /// Coefficient of friction.
    pub friction: f64,
    /// What the take stands on; without it, level ground where the feet keep returning to.
    pub ground: Option<Ground>,
    /// What it is carried onto.
    pub onto: Option<Terrain>,
    /// Masses.
    pub build: Build,
    /// How contacts are found.
    pub detection: Detection,
    /// Whether they may move.
    pub footsteps: Footsteps,
    /// Forces from outside.
    pub external: External,
    /// How much each aim counts; `follow` above goes first.
    pub weights: Weights,
    /// The same where keys alone are kept: `follow` and `turn` are then counted from the shortest way between the keys.
    pub free: Weights,
    /// How people move, where keys alone are kept; without it, with the least torque.
    pub prior: Option<Guide>,
    /// Which of the motions that fit: 0 is the likeliest, every other number another one, where keys alone are kept.
    pub variation: u32,
    /// When to be content.
    pub limits: Limits,
}

impl Default for Repair {
    fn default() -> Self {
        Self {
            follow: 0.02,
            keys: Vec::new(),
            gravity: Vec3::new(0.0, -9.81, 0.0),
            friction: 0.8,
            ground: None,
            onto: None,
            build: Build::default(),
            detection: Detection::default(),
            footsteps: Footsteps::default(),
            external: External::default(),
            weights: Weights::default(),
            free: Weights { follow: 0.4, turn: 0.4, torque: 50.0, ..Weights::default() },
            prior: None,
            variation: 0,
            limits: Limits::default(),
        }
    }
}

/// A take that obeys physics, and how well.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// The motion, frame by frame as the take had it.
    pub take: Take,
    /// Who moves.
    pub body: Body,
    /// On what.
    pub terrain: Terrain,
    /// Points that can bear weight.
    pub soles: Vec<Sole>,
    /// When and where they do.
    pub contacts: Vec<Contact>,
    /// What became of the key poses.
    pub keys: Vec<Key>,
    /// The spline and the forces.
    pub solution: Solution,
    /// What was measured on the result.
    pub report: Report,
    /// By frame, with a prior: how little it knows of such a state, from 0, as taught, to 1, nothing at all.
    pub strangeness: Vec<f64>,
}

/// What is known before anything is solved for.
struct Setting<'a> {
    body: Body,
    likelihood: Option<Likelihood<'a>>,
    /// Coordinates of the take, carried onto the ground.
    target: Vec<Vec<f64>>,
    terrain: Terrain,
    soles: Vec<Sole>,
    contacts: Vec<Contact>,
    /// Frames that are kept.
    frames: Vec<usize>,
    /// The ground, where footsteps may move on it.
    plane: Option<Ground>,
    /// Seconds of a frame.
    step: f64,
}

impl Repair {
    /// Repairs a take.
    pub fn run(&self, take: &Take) -> Result<Repaired, Error> {
        let free = self.follow == f64::INFINITY && !self.keys.is_empty();
        for (what, value) in [("follow", if free { 1.0 } else { self.follow }), ("friction", self.friction)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::Value { what, value, expected: "it must be positive" });
            }
        }
        let setting = self.setting(take, free)?;
        let Setting { body, likelihood, mut target, terrain, soles, contacts, frames, plane, step } = setting;
        let keeper = Keys { body: &body, terrain: &terrain, soles: &soles, contacts: &contacts };
        let mut keys = keeper.project(&mut target, &frames)?;
        let mut guess = None;
        if free {
            let leading = likelihood.as_ref().filter(|likelihood| likelihood.leads());
            let (poses, spline) = keeper.guess(&target, &frames, step, leading)?;
            (target, guess) = (poses, Some(spline));
            if let Some(variation) = self.varied(step) {
                keeper.vary(&mut target, &frames, VARIED * self.free.turn, variation);
            }
        }
        let mut weights = if free { self.free } else { Weights { follow: self.follow, ..self.weights } };
        if plane.is_some() {
            weights.place = weights.follow;
        }
        let mut attention = vec![1.0; target.len()];
        frames.iter().for_each(|&frame| attention[frame] = (weights.follow / KEPT).powi(2));
        let problem = Spacetime {
            body: &body,
            gravity: self.gravity,
            terrain: &terrain,
            friction: self.friction,
            soles: &soles,
            contacts: &contacts,
            target: &target,
            attention: &attention,
            external: &self.external,
            weights,
            prior: likelihood.as_ref(),
        };
        let mut solution = match guess {
            Some(spline) => solve_from(&problem, spline, &self.limits)?,
            None => solve(&problem, take.frame_rate_hz, &self.limits)?,
        };
        if plane.is_some() {
            let timing = Timing::new(&problem, &frames, take.frame_rate_hz);
            solution = timing.improve(&problem, solution, &self.limits)?;
        }
        let coordinates = solution.coordinates(&body);
        keeper.measure(&mut keys, &target, &coordinates);
        let contacts = solution.contacts.clone();
        let report = report(&Spacetime { contacts: &contacts, ..problem }, &solution, &coordinates);
        let strangeness = likelihood
            .as_ref()
            .map_or_else(Vec::new, |prior| prior.strange(&solution.spline, &body, &terrain));
        let take = take.with_coordinates(&body, &coordinates);
        Ok(Repaired { take, terrain, soles, contacts, keys, solution, report, body, strangeness })
    }

    fn varied(&self, step: f64) -> Option<Variation> {
        (self.variation > 0).then_some(Variation { seed: self.variation, step })
    }

    /// Who moves, on what, and when and where feet rest, as far as that is known.
    fn setting(&self, take: &Take, free: bool) -> Result<Setting<'_>, Error> {
        let guide = self.prior.as_ref().filter(|_| free);
        let build = match guide {
            Some(guide) => {
                guide.prior.check(take)?;
                guide.prior.built(&self.build)
            }
            None => self.build.clone(),
        };
        let body = take.body(&build)?;
        let worn: f64 = build.add.iter().map(|worn| worn.1).sum();
        let mut likelihood =
            guide.map(|guide| Likelihood::new(guide, &body, body.mass() - worn)).transpose()?;
        let step = 1.0 / take.frame_rate_hz;
        if let Some(likelihood) = &mut likelihood {
            likelihood.variation = self.varied(step);
        }
        let mut target = take.coordinates(&body);
        let ground = match self.ground {
            Some(ground) => ground,
            None => Ground::level(ground_height(take, &body, &target)?),
        };
        let soles = soles(take, &body, &target, &ground)?;
        let mut contacts = contacts(take, &body, &target, &soles, &ground, &self.detection);
        let terrain = self.onto.clone().unwrap_or(Terrain::Plane(ground));
        if self.onto.is_some() {
            let carry = Carry { body: &body, soles: &soles, from: &ground, onto: &terrain, step };
            contacts = carry.contacts(&contacts);
            target = carry.motion(&target, &contacts)?;
        }
        let frames = match self.keys.is_empty() {
            true => Vec::new(),
            false => Keys::frames(&self.keys, target.len())?,
        };
        let plane = match terrain {
            Terrain::Plane(plane) if plane.velocity == Vec3::ZERO => Some(plane),
            _ => None,
        };
        let plane = plane.filter(|_| self.footsteps == Footsteps::Free);
        let leading = likelihood.as_ref().filter(|likelihood| likelihood.leads());
        if let (Some(plane), Some(leading)) = (plane, leading) {
            let resting = at_keys(&contacts, &frames, target.len());
            let (motion, keys) = (&target, &frames);
            let wanted = Wanted { body: &body, terrain: &terrain, motion, keys, resting: &resting, step };
            contacts = schedule(leading, &wanted, &soles, &plane);
        }
        Ok(Setting { body, likelihood, target, terrain, soles, contacts, frames, plane, step })
    }
}

/// Points that rest at the keys, as bits; nothing between them.
fn at_keys(contacts: &[Contact], keys: &[usize], frames: usize) -> Vec<Option<u32>> {
    let soles = |frame: usize| contacts.iter().filter(move |c| c.frames.contains(&frame)).map(|c| c.sole);
    (0..frames).map(|frame| keys.contains(&frame).then(|| flags(soles(frame)))).collect()
}
