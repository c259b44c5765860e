//! Long motions, a window at a time: memory is that of a window, and its first frames can be looked at before the last are solved for.
//!
//! A window sees some seconds beyond what it decides. The next one begins a few frames before that, with those control points held: a
//! frame's position, velocity and acceleration come from three control points, so where windows meet nothing is stitched. The joined
//! spline obeys at every frame what each window's did. A window is a function of the take and of the control points handed on, so these are all that a
//! checkpoint needs.

use std::ops::Range;

use geometry::Vec3;

use crate::body::Body;
use crate::contacts::{Contact, Sole};
use crate::error::Error;
use crate::external::{External, Push};
use crate::ground::{Ground, Terrain};
use crate::keys::{Key, Keys};
use crate::paper::{self, Formulation};
use crate::repair::{Repair, Repaired};
use crate::report::report;
use crate::solve::{Solution, solve_from};
use crate::spacetime::{Spacetime, Weights};
use crate::spline::Spline;
use crate::take::{Build, Take};
use crate::timing::Timing;
use crate::trajectory::Trajectory;
use crate::variation::drawn;

/// Seconds that a window decides.
const WINDOW: f64 = 10.0;
/// Seconds that it looks ahead.
const AHEAD: f64 = 2.0;
/// Frames that the next one sees again: its forces begin as those of the frame before.
const OVERLAP: usize = 4;

/// A take before anything is solved for: who moves, on what, when and where feet rest, what is kept.
#[derive(Clone, Debug)]
pub struct Staged {
    pub(crate) take: Take,
    pub(crate) build: Build,
    pub(crate) body: Body,
    /// Coordinates of the take, carried onto the ground.
    pub(crate) target: Vec<Vec<f64>>,
    pub(crate) terrain: Terrain,
    pub(crate) soles: Vec<Sole>,
    pub(crate) contacts: Vec<Contact>,
    /// Frames that are kept.
    pub(crate) frames: Vec<usize>,
    /// The ground, where footsteps may move on it.
    pub(crate) plane: Option<Ground>,
    /// Seconds of a frame.
    pub(crate) step: f64,
    /// Where to begin.
    pub(crate) guess: Spline,
    /// What had to be done to the poses that are kept.
    pub(crate) keys: Vec<Key>,
    pub(crate) trajectories: Vec<Trajectory>,
    pub(crate) attention: Vec<f64>,
    pub(crate) weights: Weights,
}

/// What a window hands to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Seam {
    /// The first frame that is not decided.
    pub frame: usize,
    /// Control points that are, those of the last few frames before it.
    pub controls: Vec<Vec<f64>>,
}

/// Some frames of a motion.
#[derive(Clone, Debug)]
pub struct Window {
    /// Which.
    pub frames: Range<usize>,
    /// They, and what is true of them.
    pub repaired: Repaired,
    /// What the next window begins with, if there is one.
    pub seam: Option<Seam>,
}

/// What a window sees of a take.
struct Cropped {
    target: Vec<Vec<f64>>,
    attention: Vec<f64>,
    contacts: Vec<Contact>,
    external: External,
    trajectories: Vec<Trajectory>,
}

impl Staged {
    /// Frames.
    pub fn frame_count(&self) -> usize {
        self.target.len()
    }

    /// Who moves.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// On what.
    pub fn terrain(&self) -> &Terrain {
        &self.terrain
    }

    /// How many times a point of the soles rests.
    pub fn contact_count(&self) -> usize {
        self.contacts.len()
    }

    fn cropped(&self, frames: &Range<usize>, external: &External) -> Cropped {
        let carried = self.terrain.velocity() * (self.step * frames.start as f64);
        let contact = |contact: &Contact| {
            let (start, end) = (contact.frames.start.max(frames.start), contact.frames.end.min(frames.end));
            (start < end).then(|| Contact {
                frames: start - frames.start..end - frames.start,
                anchor: contact.anchor + carried,
                ..contact.clone()
            })
        };
        let push = |push: &Push| Push {
            forces: push.forces.iter().skip(frames.start).take(frames.len()).copied().collect::<Vec<Vec3>>(),
            ..push.clone()
        };
        let path = |path: &Trajectory| Trajectory {
            places: path.places.iter().skip(frames.start).take(frames.len()).copied().collect(),
            ..path.clone()
        };
        Cropped {
            target: self.target[frames.clone()].to_vec(),
            attention: self.attention[frames.clone()].to_vec(),
            contacts: self.contacts.iter().filter_map(contact).collect(),
            external: External {
                pushes: external.pushes.iter().map(push).collect(),
                springs: external.springs.clone(),
            },
            trajectories: self.trajectories.iter().map(path).collect(),
        }
    }

    /// The frames that a window sees, and how many of them it decides.
    fn frames(&self, start: usize, alone: bool) -> (Range<usize>, usize) {
        let (count, frames) = (self.target.len(), |seconds: f64| (seconds / self.step).round() as usize);
        let (decided, seen) = (start + frames(WINDOW), start + frames(WINDOW + AHEAD));
        // between keys a motion does not know where it is to go
        let end = match self.frames.is_empty() {
            true => seen,
            false => self.frames.iter().copied().find(|&key| key >= seen).map_or(count, |key| key + 1),
        };
        // a rest that is no longer than what is seen ahead goes along
        match alone || end + frames(AHEAD) >= count {
            true => (start..count, count),
            false => (start..end, decided.max(end - frames(AHEAD))),
        }
    }
}

impl Solution {
    /// Some of its frames.
    fn part(&self, frames: Range<usize>) -> Self {
        let controls = self.spline.controls[frames.start..frames.end + 2].to_vec();
        Self {
            spline: Spline { controls, step: self.spline.step },
            forces: self.forces[frames.clone()].to_vec(),
            objectives: self.objectives[frames].to_vec(),
            contacts: Vec::new(),
            ..*self
        }
    }

    /// Goes on with the frames of the next window.
    pub(crate) fn append(&mut self, next: Self) {
        self.spline.controls.extend(next.spline.controls.into_iter().skip(2));
        self.forces.extend(next.forces);
        self.objectives.extend(next.objectives);
        self.iterations += next.iterations;
        self.converged &= next.converged;
        self.residual = self.residual.max(next.residual);
        self.chain =
            self.chain.zip(next.chain).map(|(own, next)| own.with(next)).or(self.chain).or(next.chain);
    }
}

impl Repair {
    /// Solves for a window: the first one, or the one that begins at a seam. A short motion is one window; so is one whose footsteps are free, and
    /// the paper's.
    pub fn window(&self, staged: &Staged, seam: Option<&Seam>) -> Result<Window, Error> {
        let pinned = seam.map_or(0, |seam| seam.controls.len());
        let overlap = pinned.saturating_sub(2);
        let first = seam.map_or(0, |seam| seam.frame);
        let size = staged.guess.controls[0].len();
        let fits = seam.is_none_or(|seam| seam.controls.iter().all(|control| control.len() == size));
        if first < overlap || first >= staged.target.len() || !fits {
            return Err(Error::Sizes { what: "a window's beginning", expected: size, found: first });
        }
        let alone = staged.plane.is_some() || self.formulation != Formulation::Constrained;
        let (seen, end) = staged.frames(first - overlap, alone);
        let mut controls = staged.guess.controls[seen.start..seen.end + 2].to_vec();
        if let Some(seam) = seam.filter(|_| pinned <= controls.len()) {
            controls[..pinned].clone_from_slice(&seam.controls);
        }
        let spline = Spline { controls, step: staged.step };
        let whole = self.solved(staged, &seen, spline, pinned)?;
        let seam = (end < staged.target.len()).then(|| {
            let last = end - seen.start;
            let controls = whole.spline.controls[last - OVERLAP..last + 2].to_vec();
            Seam { frame: end, controls }
        });
        let own = match seam.is_none() && overlap == 0 {
            true => whole,
            false => whole.part(overlap..end - seen.start),
        };
        let repaired = self.finished(staged, first..end, own)?;
        Ok(Window { frames: first..end, repaired, seam })
    }

    fn solved(
        &self,
        staged: &Staged,
        frames: &Range<usize>,
        spline: Spline,
        pinned: usize,
    ) -> Result<Solution, Error> {
        let cropped = staged.cropped(frames, &self.external);
        let likelihood = self.likelihood(&staged.body, &staged.build)?;
        let problem = Spacetime { prior: likelihood.as_ref(), pinned, ..self.problem(staged, &cropped) };
        if let Formulation::Paper(dials) = self.formulation {
            return paper::solve(&problem, spline, dials);
        }
        let solution = solve_from(&problem, spline, &self.limits)?;
        let solution = match staged.plane {
            None => solution,
            Some(_) => {
                let timing = Timing::new(&problem, &staged.frames, staged.take.frame_rate_hz);
                timing.improve(&problem, solution, &self.limits)?
            }
        };
        if self.variation == 0 || !self.is_free() {
            return Ok(solution);
        }
        let keys = staged.frames.iter().filter(|key| frames.contains(key)).map(|key| key - frames.start);
        let seed = u64::from(self.variation) << 32 | frames.start as u64;
        drawn(&problem, solution, &keys.collect::<Vec<_>>(), seed, &self.limits)
    }

    fn problem<'a>(&'a self, staged: &'a Staged, cropped: &'a Cropped) -> Spacetime<'a> {
        Spacetime {
            body: &staged.body,
            gravity: self.gravity,
            terrain: &staged.terrain,
            friction: self.friction,
            soles: &staged.soles,
            contacts: &cropped.contacts,
            target: &cropped.target,
            attention: &cropped.attention,
            external: &cropped.external,
            trajectories: &cropped.trajectories,
            weights: staged.weights,
            prior: None,
            pinned: 0,
        }
    }

    /// Some frames that are solved for, with what is true of them.
    pub(crate) fn finished(
        &self,
        staged: &Staged,
        frames: Range<usize>,
        mut solution: Solution,
    ) -> Result<Repaired, Error> {
        let (body, terrain) = (&staged.body, &staged.terrain);
        let cropped = staged.cropped(&frames, &self.external);
        if solution.contacts.is_empty() {
            solution.contacts.clone_from(&cropped.contacts);
        }
        let coordinates = solution.coordinates(body);
        let mut keys: Vec<Key> = (staged.keys.iter())
            .filter(|key| frames.contains(&key.frame))
            .map(|key| Key { frame: key.frame - frames.start, ..*key })
            .collect();
        let keeper = Keys { body, terrain, soles: &staged.soles, contacts: &staged.contacts };
        keeper.measure(&mut keys, &cropped.target, &coordinates);
        keys.iter_mut().for_each(|key| key.frame += frames.start);
        let contacts = solution.contacts.clone();
        let problem = self.problem(staged, &cropped);
        let report = report(&Spacetime { contacts: &contacts, ..problem }, &solution, &coordinates);
        let likelihood = self.likelihood(body, &staged.build)?;
        let strangeness =
            likelihood.as_ref().map_or_else(Vec::new, |prior| prior.strange(&solution.spline, body, terrain));
        let take = staged.take.part(frames).with_coordinates(body, &coordinates);
        Ok(Repaired {
            take,
            terrain: terrain.clone(),
            soles: staged.soles.clone(),
            contacts,
            keys,
            solution,
            report,
            body: body.clone(),
            strangeness,
        })
    }
}
