//! When feet come down and leave: moved frame by frame to where the motion needs least.
//!
//! Times are whole frames, so they are tried and not differentiated: footfalls and lifts that are far enough apart not to see each
//! other move by a frame all at once, the motion is solved for anew from where it was, and each keeps its move if the frames around it
//! cost less. Their number does not change, and what rests at a key rests.

use std::ops::Range;

use crate::contacts::Contact;
use crate::error::Error;
use crate::solve::{Limits, Solution, solve_near};
use crate::spacetime::Spacetime;

/// Rounds over all times and both directions at most.
const ROUNDS: usize = 3;
/// Iterations of a trial at most: it begins next to where it ends.
const TRIAL: usize = 12;
/// Share of its frames' cost that a move must win: less is what a solve leaves open.
const WIN: f64 = 0.01;
/// Seconds that a foot stands, or swings, at least.
const SHORTEST: f64 = 0.1;

/// A time that may move: that of a step's coming down, or of its leaving.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    step: usize,
    leaves: bool,
    frame: usize,
}

/// What moves times.
pub(crate) struct Timing<'a> {
    /// Which foot each step is of.
    pub(crate) feet: Vec<usize>,
    /// Frames whose contacts stay.
    pub(crate) keys: &'a [usize],
    pub(crate) frames: usize,
    /// Frames of the shortest stance and swing.
    pub(crate) shortest: usize,
}

impl<'a> Timing<'a> {
    pub(crate) fn new(problem: &Spacetime, keys: &'a [usize], rate: f64) -> Self {
        let steps = problem.contacts.iter().map(|contact| contact.step + 1).max().unwrap_or(0);
        let foot = |step: usize| {
            let contact = problem.contacts.iter().find(|contact| contact.step == step);
            contact.map_or(0, |contact| problem.soles[contact.sole].foot)
        };
        let shortest = (SHORTEST * rate).round().max(2.0) as usize;
        Self { feet: (0..steps).map(foot).collect(), keys, frames: problem.target.len(), shortest }
    }

    /// The times that may move, in order.
    fn events(&self, contacts: &[Contact]) -> Vec<Event> {
        let mut events: Vec<Event> = Vec::new();
        for step in 0..self.feet.len() {
            let Some(span) = span(contacts, step) else { continue };
            if span.start > 0 {
                events.push(Event { step, leaves: false, frame: span.start });
            }
            if span.end < self.frames {
                events.push(Event { step, leaves: true, frame: span.end });
            }
        }
        events.sort_by_key(|event| (event.frame, event.step));
        events
    }

    /// Contacts with a time moved by so many frames, if that may be.
    fn moved(&self, contacts: &[Contact], event: Event, by: isize) -> Option<Vec<Contact>> {
        let mut moved = contacts.to_vec();
        for contact in moved.iter_mut().filter(|contact| contact.step == event.step) {
            let end = if event.leaves { &mut contact.frames.end } else { &mut contact.frames.start };
            // a point that is already up when the foot leaves, or not yet down, keeps its time
            *end = end.checked_add_signed(by)?;
            if contact.frames.len() < 2 || contact.frames.end > self.frames {
                return None;
            }
        }
        let whole = span(&moved, event.step)?;
        let own = self.feet[event.step];
        let others = (0..self.feet.len()).filter(|&other| other != event.step && self.feet[other] == own);
        let apart = |other: Range<usize>| {
            other.end + self.shortest <= whole.start || whole.end + self.shortest <= other.start
        };
        let free = others.filter_map(|other| span(contacts, other)).all(apart);
        let rests = |list: &[Contact], contact: usize, key: usize| list[contact].frames.contains(&key);
        let kept = (0..contacts.len())
            .all(|k| self.keys.iter().all(|&key| rests(contacts, k, key) == rests(&moved, k, key)));
        (free && kept && whole.len() >= self.shortest).then_some(moved)
    }

    /// Moves times to where a solved motion needs less.
    pub(crate) fn improve(
        &self,
        problem: &Spacetime,
        first: Solution,
        limits: &Limits,
    ) -> Result<Solution, Error> {
        let settle = Limits { barrier: (limits.barrier.1, limits.barrier.1), ..*limits };
        let trial = Limits { iterations: TRIAL, ..settle };
        let solved = |contacts: &[Contact], near: &Solution| {
            solve_near(&Spacetime { contacts, ..problem.clone() }, near, &trial)
        };
        let mut best = first;
        for _ in 0..ROUNDS {
            let mut any = false;
            for (class, by) in [(0, -1), (1, -1), (0, 1), (1, 1)] {
                let tried: Vec<Event> =
                    self.events(&best.contacts).into_iter().skip(class).step_by(2).collect();
                let (contacts, tried) = self.all_moved(&best.contacts, &tried, by);
                if tried.is_empty() {
                    continue;
                }
                let other = solved(&contacts, &best)?;
                let won: Vec<Event> = windows(&tried, self.frames)
                    .zip(&tried)
                    .filter(|(window, _)| other.residual < 1e-5 && wins(&best, &other, window.clone()))
                    .map(|(_, event)| *event)
                    .collect();
                if won.is_empty() {
                    continue;
                }
                let next = match won.len() == tried.len() {
                    true => other,
                    false => solved(&self.all_moved(&best.contacts, &won, by).0, &other)?,
                };
                if next.residual < 1e-5 && cost(&next, 0..self.frames) < cost(&best, 0..self.frames) {
                    (best, any) = (next, true);
                }
            }
            if !any {
                break;
            }
        }
        if best.converged {
            return Ok(best);
        }
        let contacts = best.contacts.clone();
        solve_near(&Spacetime { contacts: &contacts, ..problem.clone() }, &best, &settle)
    }

    /// Contacts with every time moved that may be, and which those are.
    fn all_moved(&self, contacts: &[Contact], events: &[Event], by: isize) -> (Vec<Contact>, Vec<Event>) {
        let (mut contacts, mut moved) = (contacts.to_vec(), Vec::new());
        for &event in events {
            if let Some(next) = self.moved(&contacts, event, by) {
                contacts = next;
                moved.push(event);
            }
        }
        (contacts, moved)
    }
}

/// Frames from a step's first point that comes down to its last that leaves.
fn span(contacts: &[Contact], step: usize) -> Option<Range<usize>> {
    let own = || contacts.iter().filter(|contact| contact.step == step);
    let start = own().map(|contact| contact.frames.start).min()?;
    Some(start..own().map(|contact| contact.frames.end).max()?)
}

/// The frames around each time, up to halfway to the next.
fn windows(events: &[Event], frames: usize) -> impl Iterator<Item = Range<usize>> + use<'_> {
    let middle = |a: usize, b: usize| usize::midpoint(events[a].frame, events[b].frame);
    (0..events.len()).map(move |k| {
        let start = if k == 0 { 0 } else { middle(k - 1, k) };
        start..if k + 1 == events.len() { frames } else { middle(k, k + 1) }
    })
}

fn cost(solution: &Solution, frames: Range<usize>) -> f64 {
    solution.objectives[frames].iter().sum()
}

fn wins(before: &Solution, after: &Solution, window: Range<usize>) -> bool {
    let (before, after) = (cost(before, window.clone()), cost(after, window));
    after < before - WIN * before.abs()
}
