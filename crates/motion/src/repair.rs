//! Repair and synthesis: the motion nearest to a take that obeys physics, its feet still; or, of a take whose key poses alone are
//! kept, the one that needs the least torque.

use geometry::Vec3;

use crate::body::Body;
use crate::carry::Carry;
use crate::contacts::{Contact, Detection, Sole, contacts, ground_height, soles, tracks};
use crate::error::Error;
use crate::external::External;
use crate::ground::{Ground, Terrain};
use crate::keys::{Key, Keys};
use crate::paper::Formulation;
use crate::prior::{Guide, Likelihood, Wanted, flags};
use crate::report::Report;
use crate::schedule::schedule;
use crate::solve::{Limits, Solution, first_spline};
use crate::spacetime::Weights;
use crate::spline::Spline;
use crate::take::{Build, Take};
use crate::trajectory::{Drag, Sight, Trajectory};
use crate::windows::Staged;

/// How near keys are kept, in m: what counts as one unit of distance from them.
const KEPT: f64 = 3e-4;

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
    /// How `keys` were drawn. Over a picture: what is across the line of sight is kept of them, but of the first two and last two frames all.
    pub sight: Sight,
    /// Points that are dragged: those frames are keys too, in poses that are found.
    pub drags: Vec<Drag>,
    /// Paths that points go along.
    pub trajectories: Vec<Trajectory>,
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
    /// Which of the motions that fit: 0 is the likeliest, every other number another draw from the posterior, where keys alone are kept.
    pub variation: u32,
    /// How it is solved for.
    pub formulation: Formulation,
    /// When to be content.
    pub limits: Limits,
}

impl Default for Repair {
    fn default() -> Self {
        Self {
            follow: 0.02,
            keys: Vec::new(),
            sight: Sight::Space,
            drags: Vec::new(),
            trajectories: Vec::new(),
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
            formulation: Formulation::default(),
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

impl Repair {
    /// Repairs a take.
    pub fn run(&self, take: &Take) -> Result<Repaired, Error> {
        let staged = self.stage(take)?;
        let mut window = self.window(&staged, None)?;
        if window.seam.is_none() {
            return Ok(window.repaired);
        }
        let mut whole = window.repaired.solution;
        while let Some(seam) = window.seam {
            window = self.window(&staged, Some(&seam))?;
            whole.append(window.repaired.solution);
        }
        self.finished(&staged, 0..staged.target.len(), whole)
    }

    /// Whether what lies between keys is made anew.
    pub(crate) fn is_free(&self) -> bool {
        self.follow == f64::INFINITY && !(self.keys.is_empty() && self.drags.is_empty())
    }

    /// What a take is to become, before anything is solved for.
    pub fn stage(&self, take: &Take) -> Result<Staged, Error> {
        let free = self.is_free();
        for (what, value) in [("follow", if free { 1.0 } else { self.follow }), ("friction", self.friction)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::Value { what, value, expected: "it must be positive" });
            }
        }
        let mut staged = self.setting(take, free)?;
        let likelihood = self.likelihood(&staged.body, &staged.build)?;
        let leading = likelihood.as_ref().filter(|likelihood| likelihood.leads());
        let keeper = Keys {
            body: &staged.body,
            terrain: &staged.terrain,
            soles: &staged.soles,
            contacts: &staged.contacts,
        };
        let (target, frames) = (&mut staged.target, &staged.frames);
        keeper.drag(target, &self.drags, leading)?;
        staged.trajectories = self.paths(&staged.body, target)?;
        staged.keys = keeper.project(target, frames)?;
        staged.guess = match free {
            true => {
                let (poses, spline) = keeper.guess(target, frames, staged.step, leading)?;
                *target = poses;
                spline
            }
            false => first_spline(&staged.body, target, take.frame_rate_hz)?,
        };
        if staged.plane.is_some() {
            staged.weights.place = staged.weights.follow;
        }
        staged.attention = vec![1.0; target.len()];
        let kept = (staged.weights.follow / KEPT).powi(2);
        frames.iter().for_each(|&frame| staged.attention[frame] = kept);
        Ok(staged)
    }

    /// A prior bound to a body.
    pub(crate) fn likelihood(&self, body: &Body, build: &Build) -> Result<Option<Likelihood<'_>>, Error> {
        let guide = self.prior.as_ref().filter(|_| self.is_free());
        let worn: f64 = build.add.iter().map(|worn| worn.1).sum();
        guide.map(|guide| Likelihood::new(guide, body, body.mass() - worn)).transpose()
    }

    /// The frames whose poses are kept whole.
    fn frames(&self, count: usize) -> Result<Vec<usize>, Error> {
        if self.keys.is_empty() && self.drags.is_empty() {
            return Ok(Vec::new());
        }
        let dragged = self.drags.iter().map(|drag| drag.frame);
        let whole = match self.sight {
            Sight::Space => self.keys.iter().copied().chain(dragged).collect::<Vec<_>>(),
            // those that were drawn over a picture are trajectories of one frame, if they are there
            _ => {
                Keys::frames(&self.keys, count)?;
                dragged.collect()
            }
        };
        Keys::frames(&whole, count)
    }

    /// Trajectories, those of keys that were drawn over a picture among them.
    fn paths(&self, body: &Body, target: &[Vec<f64>]) -> Result<Vec<Trajectory>, Error> {
        let mut paths = self.trajectories.clone();
        if self.sight == Sight::Space || self.keys.is_empty() {
            return Ok(paths);
        }
        let whole = self.frames(target.len())?;
        let joints: Vec<(usize, Vec3)> = (0..body.joints().len()).map(|joint| (joint, Vec3::ZERO)).collect();
        for (joint, track) in tracks(body, target, &joints).into_iter().enumerate() {
            let mut places = vec![None; target.len()];
            for &key in self.keys.iter().filter(|key| !whole.contains(key)) {
                places[key] = Some(track[key]);
            }
            paths.push(Trajectory { joint, point: Vec3::ZERO, sight: self.sight, unit: KEPT, places });
        }
        Ok(paths)
    }

    /// Who moves, on what, and when and where feet rest, as far as that is known.
    fn setting(&self, take: &Take, free: bool) -> Result<Staged, Error> {
        let build = match self.prior.as_ref().filter(|_| free) {
            Some(guide) => {
                guide.prior.check(take)?;
                guide.prior.built(&self.build)
            }
            None => self.build.clone(),
        };
        let body = take.body(&build)?;
        let step = 1.0 / take.frame_rate_hz;
        let likelihood = self.likelihood(&body, &build)?;
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
        let frames = self.frames(target.len())?;
        let plane = match terrain {
            Terrain::Plane(plane) if plane.velocity == Vec3::ZERO => Some(plane),
            _ => None,
        };
        let constrained = self.formulation == Formulation::Constrained;
        let plane = plane.filter(|_| self.footsteps == Footsteps::Free && constrained);
        let leading = likelihood.as_ref().filter(|likelihood| likelihood.leads());
        if let (Some(plane), Some(leading)) = (plane, leading) {
            let resting = at_keys(&contacts, &frames, target.len());
            let (motion, keys) = (&target, &frames);
            let wanted = Wanted { body: &body, terrain: &terrain, motion, keys, resting: &resting, step };
            contacts = schedule(leading, &wanted, &soles, &plane);
        }
        let weights = if free { self.free } else { Weights { follow: self.follow, ..self.weights } };
        let guess = Spline { controls: Vec::new(), step };
        Ok(Staged {
            take: take.clone(),
            build,
            body,
            target,
            terrain,
            soles,
            contacts,
            frames,
            plane,
            step,
            guess,
            keys: Vec::new(),
            trajectories: Vec::new(),
            attention: Vec::new(),
            weights,
        })
    }
}

/// Points that rest at the keys, as bits; nothing between them.
fn at_keys(contacts: &[Contact], keys: &[usize], frames: usize) -> Vec<Option<u32>> {
    let soles = |frame: usize| contacts.iter().filter(move |c| c.frames.contains(&frame)).map(|c| c.sole);
    (0..frames).map(|frame| keys.contains(&frame).then(|| flags(soles(frame)))).collect()
}
