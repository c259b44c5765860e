//! What a simulation is, apart from who steps it.
//!
//! Cloth, a shell that tracks, flesh: each reads the animation, has its share of a body, moves it along a guide, and gives back a
//! surface. That is an [`Actor`]. Time, Newton's method, contact, checkpoints and what happens between frames belong to the
//! [`Scene`](crate::Scene) that one actor, or several together, are in.

use std::sync::Arc;

use geometry::{Mat3, Vec3};

use crate::{Body, Carry, Error, Guide, GuideSample, Part, State, Steps, middle};

/// The animation around a frame, as one actor sees it: its own points in the two frames before, in the frame itself, and in the
/// one after.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// The frame, from zero; those that lead into the animation come first.
    pub index: usize,
    /// How many frames lead into the animation: they come before time 0.
    pub lead_in: usize,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// Frames `index − 2` to `index + 1`, where they exist and were asked for.
    pub frames: [Option<Arc<[Vec3]>>; 4],
    /// How far its middle goes from frame to frame: what tells cuts.
    pub steps: Steps,
}

/// The animation's way from one frame to the next.
pub struct Way {
    /// The frame before, the two, and the one after, as if they were one motion: beyond cuts and beyond the animation's ends it goes on
    /// as it goes there.
    pub frames: [Vec<Vec3>; 4],
    /// What happens to the points before, where the animation cuts between the two.
    pub carry: Option<Carry>,
}

impl Window {
    /// A window with these frames; how far things go is told by them alone.
    pub fn new(index: usize, frame_rate_hz: f64, frames: [Option<Arc<[Vec3]>>; 4]) -> Self {
        let at = |offset: isize| frames.get(usize::try_from(offset + 2).ok()?)?.as_deref().map(middle);
        let steps = Steps::between(at);
        Self { index, lead_in: 0, frame_rate_hz, frames, steps }
    }

    /// The frame `offset` frames after this one, from −2 to 1.
    pub fn at(&self, offset: isize) -> Option<&[Vec3]> {
        self.frames.get(usize::try_from(offset + 2).ok()?)?.as_deref()
    }

    /// The frame itself; without points where it is missing.
    pub fn here(&self) -> &[Vec3] {
        self.at(0).unwrap_or_default()
    }

    /// How fast the animation moves as a whole where it begins, in m/s; beyond a cut of more than `limit` metres, as it moves there.
    pub fn first_velocity(&self, limit: f64) -> Vec3 {
        let steps = [1, 2].map(|offset| self.steps.motion(offset, limit));
        self.frame_rate_hz * steps.into_iter().flatten().next().unwrap_or_default()
    }

    /// The way from the frame before to this one, where steps that depart from others by more than `limit` metres are cuts.
    /// `rotation` is how a pose must be turned to come nearest to another.
    pub fn way(&self, limit: f64, rotation: impl Fn(&[Vec3], &[Vec3]) -> Mat3) -> Way {
        let to = self.here();
        let from = self.at(-1).unwrap_or(to);
        let seconds = 1.0 / self.frame_rate_hz;
        let after = |from: &[Vec3]| match self.at(1).filter(|_| !self.steps.is_cut(1, limit)) {
            Some(after) => after.to_vec(),
            None => continued(from, to),
        };
        if self.steps.is_cut(0, limit) {
            let turn = rotation(from, to);
            let mut middles = [middle(from), middle(to)];
            let mut carry = Carry::across(&self.steps, limit, self.frame_rate_hz, turn, middles);
            // it starts out from where the motion behind the cut would have come from
            middles[1] -= seconds * carry.velocities[1];
            carry.middles = middles;
            let moved: Vec<Vec3> = from.iter().map(|p| carry.place(*p)).collect();
            let before = moved.iter().map(|p| *p - seconds * carry.velocities[1]).collect();
            let after = after(&moved);
            return Way { frames: [before, moved, to.to_vec(), after], carry: Some(carry) };
        }
        let before = match self.at(-2) {
            Some(before) if !self.steps.is_cut(-1, limit) => before.to_vec(),
            Some(_) => continued(to, from),
            // before its first frame the animation moves along, but stays as it is: as it does in a pre-roll
            None => {
                let way = self.steps.way(0).unwrap_or_default();
                from.iter().map(|p| *p - way).collect()
            }
        };
        Way { frames: [before, from.to_vec(), to.to_vec(), after(from)], carry: None }
    }

    /// When the frame before is, in seconds.
    pub fn start(&self) -> f64 {
        ((self.index as f64 - 1.0).max(0.0) - self.lead_in as f64) / self.frame_rate_hz
    }

    /// When the frame itself is, in seconds.
    pub fn end(&self) -> f64 {
        (self.index as f64 - self.lead_in as f64) / self.frame_rate_hz
    }
}

/// Where a motion from `a` to `b` leads: 2b − a.
fn continued(a: &[Vec3], b: &[Vec3]) -> Vec<Vec3> {
    a.iter().zip(b).map(|(a, b)| 2.0 * *b - *a).collect()
}

/// What a frame asks of an actor's points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Motion {
    /// They are simulated along the guide.
    #[default]
    Simulated,
    /// They are where they should be at the end already: the animation has cut, or nothing is to be simulated.
    Carried,
}

/// A surface as it goes into the frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeliveredSurface {
    /// Where its points are.
    pub positions: Vec<Vec3>,
    /// Which of them are the animation's own, to the bit.
    pub exact: Vec<bool>,
}

/// What an actor tells of a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActorReport {
    /// Name, unit and value; a name such as `strain/mean` belongs to the plot `strain`.
    pub figures: Vec<(String, &'static str, f64)>,
    /// Sentences.
    pub warnings: Vec<String>,
    /// Why its physics was off in this frame, a sentence each.
    pub fallbacks: Vec<String>,
}

impl ActorReport {
    /// Adds a figure.
    pub fn add(&mut self, name: impl Into<String>, unit: &'static str, value: f64) {
        self.figures.push((name.into(), unit, value));
    }
}

/// A simulation, apart from who steps it.
///
/// It comes with a [`BodyBuilder`](crate::BodyBuilder), which may become part of a larger body: where its points, averages and internal
/// variables are there, [`Actor::bind`] says once. States are those of the whole body.
pub trait Actor: Send {
    /// Its share of the body that it is stepped in. Called once, before everything else.
    fn bind(&mut self, body: &Body, part: &Part) -> Result<(), Error>;

    /// Puts its points where they are at the first frame, with their velocities: those of an animation that was `held` in its first
    /// pose and moved along at this velocity, in m/s, or of one that came as it goes on.
    fn begin(
        &mut self,
        body: &Body,
        window: &Window,
        held: Option<Vec3>,
        state: &mut State,
    ) -> Result<(), Error>;

    /// How fast the animation moves as a whole at its first frame, in m/s.
    fn first_velocity(&self, window: &Window) -> Vec3;

    /// The animation held still at the first frame: for a pre-roll, where it is also moved along.
    fn still_guide(&self) -> Box<dyn Guide>;

    /// Turns to the way from the frame before to the window's, which [`Actor::guide`] then tells. The state is still that of the
    /// frame before.
    fn begin_frame(&mut self, body: &Body, window: &Window, state: &mut State) -> Result<Motion, Error>;

    /// Where the animation leads from the frame before to this one: points and averages of its own part only.
    fn guide(&self) -> Box<dyn Guide>;

    /// Whether something in it changes within a frame: creases, rest shapes. Frames are then cut into
    /// intervals.
    fn is_changing(&self) -> bool {
        false
    }

    /// An interval begins: internal variables may be set.
    fn begin_interval(&mut self, _body: &Body, _state: &mut State) {}

    /// An interval has ended: materials may yield.
    fn end_interval(&mut self, _body: &Body, _state: &mut State) {}

    /// Corrects a step, as a [`Filter`](crate::Filter) does.
    fn correct(&mut self, _: &Body, _: &GuideSample, _before: &State, _after: &mut State, _: f64) -> bool {
        true
    }

    /// Whether, after this error, it is put back on the animation and goes on.
    fn recovers_from(&self, _error: &Error) -> bool {
        false
    }

    /// What went wrong in its own words, if it knows: a sentence and a remedy. `guide` has the whole body's points at the end.
    fn explain(&self, _error: &Error, _body: &Body, _guide: &[Vec3]) -> Option<[String; 2]> {
        None
    }

    /// The surface as it goes into the frame.
    fn deliver(&self, state: &State, window: &Window) -> DeliveredSurface;

    /// Figures and warnings of the frame.
    fn report(&mut self, state: &State, window: &Window) -> ActorReport;

    /// What it has to say about itself: names and texts.
    fn notes(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What, beside the state, the next frame depends on.
    fn to_bytes(&self) -> Vec<u8> {
        Vec::new()
    }

    /// The reverse of [`Actor::to_bytes`]; false when the bytes are not its own.
    fn restore(&mut self, bytes: &[u8]) -> bool {
        bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beyond its ends an animation goes on as it goes there: before its first frame it moves along as a whole, after its last 2b − a.
    #[test]
    fn an_animation_goes_on_beyond_its_ends() {
        let (a, b) = ([Vec3::ZERO, Vec3::X], [Vec3::Y, Vec3::new(1.0, 2.0, 4.0)]);
        let frames = [None, Some(Arc::from(a)), Some(Arc::from(b)), None];
        let way = Window::new(1, 24.0, frames).way(f64::INFINITY, |_, _| Mat3::IDENTITY);
        let along = Vec3::new(0.0, 1.5, 2.0);
        assert_eq!(way.frames[0], a.map(|p| p - along));
        assert_eq!((&way.frames[1][..], &way.frames[2][..]), (&a[..], &b[..]));
        assert_eq!(way.frames[3], [2.0 * Vec3::Y, Vec3::new(1.0, 4.0, 8.0)]);
        assert!(way.carry.is_none());
    }
}
