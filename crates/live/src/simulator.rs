//! The coarse cloth: extended position based dynamics in small steps of one length.
//!
//! A step moves points by their velocities, solves each constraint once (Macklin 2016, 2019: many small steps with one
//! iteration are stiffer than few with many), moves points out of bodies, and takes velocities from what came out. Steps
//! have always the same length: frames of 1/30, 1/60 and 1/144 s show one and the same motion.

use alloc::vec;
use alloc::vec::Vec;

use crate::collision::{Capsule, Plane};
use crate::constraints::Constraints;
use crate::contact::triangle_reaches;
use crate::file::Operator;
use crate::parts::RigCapsule;
use crate::rig::{apply, motion, then, turn};
use crate::vector::{add, along, is_finite, length, sub};
use crate::{Error, Point, Settings, Skin, Transform};

/// Capsules that a game may hand over with a frame.
pub const MAX_OBSTACLES: usize = 32;
/// Planes that a game may hand over with a frame.
pub const MAX_PLANES: usize = 8;
/// A frame longer than this is a hitch: what is beyond it is not simulated.
const LONGEST_FRAME: f32 = 0.25;
/// No place of a game, and no speed in it, has a larger number.
const LARGEST: f32 = 1e7;
/// How far from the place that it is simulated about a cloth may get, in m.
const FAR: f32 = 16.0;

/// Air that moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wind {
    /// m/s
    pub velocity: Point,
    /// Gusts, as a part of the velocity: waves of pressure that travel with it.
    pub gusts: f32,
}

/// What a game knows about a moment.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Since the last frame.
    pub seconds: f32,
    /// `world_from_rest` of each joint now.
    pub skin: &'a [Transform],
    /// Air.
    pub wind: Wind,
    /// Bodies besides those on bones, in the world; each keeps its place in the list from frame to frame.
    pub obstacles: &'a [Capsule],
    /// Floors and walls.
    pub planes: &'a [Plane],
    /// Everything was put elsewhere: cloth is carried along with its first joint.
    pub teleported: bool,
}

impl Frame<'_> {
    /// So many seconds later, in still air, nothing near.
    pub fn new(seconds: f32) -> Self {
        let wind = Wind::default();
        Self { seconds, skin: &[], wind, obstacles: &[], planes: &[], teleported: false }
    }
}

/// The coarse cloth and what it hangs on.
#[derive(Clone, Debug)]
pub struct Simulator {
    // what never changes
    pub(crate) settings: Settings,
    pub(crate) rest: Vec<Point>,
    pub(crate) triangles: Vec<[u32; 3]>,
    /// How far corners are from the middle of each.
    pub(crate) triangle_reaches: Vec<f32>,
    pub(crate) skin: Vec<Skin>,
    joint_count: usize,
    rig: Vec<RigCapsule>,
    pub(crate) constraints: Constraints,
    /// 1/kg; 0 for points that stay where skinning has them.
    pub(crate) inverse_masses: Vec<f32>,
    /// The part of the way to skinning that a step takes.
    pub(crate) pulls: Vec<f32>,
    // the answer
    pub(crate) positions: Vec<Point>,
    pub(crate) velocities: Vec<Point>,
    /// Seconds that the last step is behind the last frame.
    behind: f32,
    /// Steps taken since the start.
    pub(crate) steps: u64,
    /// Where skinning has points, at the last frame and at this one.
    pub(crate) targets: [Vec<Point>; 2],
    /// The same of capsules: first those of the rig, then the game's.
    pub(crate) capsules: [Vec<Capsule>; 2],
    /// Transforms of the last frame but one and of the last, about the origin.
    joints: [Vec<Transform>; 2],
    /// Everything is simulated about this place near the cloth, in whole metres, so that digits do not go into where it is.
    pub(crate) origin: Point,
    started: bool,
    // scratch
    pub(crate) before: Vec<Point>,
    shown: Vec<Point>,
    shown_capsules: Vec<Capsule>,
    /// (capsule, point) that may touch during this frame.
    pub(crate) candidates: Vec<(u32, u32)>,
    /// (capsule, triangle) likewise.
    pub(crate) triangle_candidates: Vec<(u32, u32)>,
    /// Capsules at the end of a step, and how far their ends went in it.
    pub(crate) moving: Vec<(Capsule, [Point; 2])>,
}

impl Simulator {
    /// The cloth of an operator file, at rest.
    pub fn new<B: AsRef<[u8]>>(operator: &Operator<B>) -> Result<Self, Error> {
        let settings = operator.settings();
        settings.check()?;
        let rest: Vec<Point> = operator.coarse_rest().collect();
        let triangles: Vec<[u32; 3]> = operator.coarse_triangles().collect();
        let skin: Vec<Skin> = operator.coarse_skin().collect();
        let held: Vec<bool> = skin.iter().map(|skin| skin.attachment >= 1.0).collect();
        let constraints = Constraints::new(&rest, &triangles, &held, &settings);
        let inverse = |i: usize| {
            let mass = constraints.masses[i];
            if held[i] || mass <= 0.0 { 0.0 } else { 1.0 / mass }
        };
        let count = rest.len();
        let pull = |skin: &Skin| {
            let w = skin.attachment;
            if w >= 1.0 {
                return 1.0;
            }
            1.0 - libm::expf(-settings.attachment_rate * w / (1.0 - w) / settings.rate_hz)
        };
        let room = operator.counts().capsules + MAX_OBSTACLES;
        Ok(Self {
            settings,
            inverse_masses: (0..count).map(inverse).collect(),
            pulls: skin.iter().map(pull).collect(),
            triangle_reaches: triangle_reaches(&rest, &triangles).collect(),
            triangle_candidates: Vec::with_capacity(room * triangles.len()),
            triangles,
            skin,
            joint_count: operator.counts().joints,
            rig: operator.capsules().collect(),
            constraints,
            positions: rest.clone(),
            velocities: vec![[0.0; 3]; count],
            behind: 0.0,
            targets: [rest.clone(), rest.clone()],
            capsules: [Vec::with_capacity(room), Vec::with_capacity(room)],
            joints: [0, 1].map(|_| vec![crate::IDENTITY; operator.counts().joints]),
            origin: [0.0; 3],
            started: false,
            before: rest.clone(),
            shown: rest.clone(),
            shown_capsules: Vec::with_capacity(room),
            moving: Vec::with_capacity(room),
            candidates: Vec::with_capacity(room * count),
            steps: 0,
            rest,
        })
    }

    /// Points, at the time of the last frame.
    pub fn points(&self) -> &[Point] {
        &self.shown
    }

    /// Velocities, m/s.
    pub fn velocities(&self) -> &[Point] {
        &self.velocities
    }

    /// Where all capsules are at the last frame: those of the rig, then the game's.
    pub fn capsules(&self) -> &[Capsule] {
        &self.shown_capsules
    }

    /// The dials it was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The largest part by which an edge along threads is longer than at rest.
    pub fn stretch(&self) -> f32 {
        let thread = self.constraints.edges.iter().map(|e| e.compliance).fold(f32::INFINITY, f32::min);
        let threads = self.constraints.edges.iter().filter(|e| e.compliance < 3.0 * thread);
        let strain = threads.map(|e| {
            let [a, b] = e.points.map(|v| self.positions[v as usize]);
            length(sub(b, a)) / e.length - 1.0
        });
        strain.fold(0.0, f32::max)
    }

    /// Puts the cloth where skinning has it, at rest. The next frame begins there.
    pub fn reset(&mut self) {
        self.started = false;
    }

    /// Goes on to the next frame. On an error nothing has changed.
    pub fn advance(&mut self, frame: &Frame<'_>) -> Result<(), Error> {
        self.check(frame)?;
        self.place(frame);
        if !self.started {
            self.start(frame);
            return Ok(());
        }
        if frame.teleported || self.fastest(frame.seconds) > self.settings.teleport_speed {
            self.carry(frame.skin);
        }
        self.remember(frame.skin);
        let seconds = frame.seconds.min(LONGEST_FRAME);
        let step = 1.0 / self.settings.rate_hz;
        let total = self.behind + seconds;
        // a thousandth of a step is round-off of the frames' lengths
        let steps = libm::floorf(total * self.settings.rate_hz + 1e-3).max(0.0) as usize;
        self.find_candidates(seconds);
        for index in 0..steps {
            let end = (index + 1) as f32 * step - self.behind;
            let (from, to) = (((end - step) / seconds).clamp(0.0, 1.0), (end / seconds).clamp(0.0, 1.0));
            self.step(step, from, to, frame);
        }
        self.behind = total - steps as f32 * step;
        if !self.positions.iter().chain(&self.velocities).all(|p| is_finite(*p)) {
            // what no cloth survives: it begins anew
            self.start(frame);
        }
        self.show();
        self.move_origin();
        Ok(())
    }

    fn check(&self, frame: &Frame<'_>) -> Result<(), Error> {
        if !(frame.seconds.is_finite() && frame.seconds > 0.0) {
            return Err(Error::OutOfRange { what: "seconds", value: frame.seconds });
        }
        if frame.skin.len() != self.joint_count {
            let (found, expected) = (frame.skin.len(), self.joint_count);
            return Err(Error::Count { what: "joint transforms", found, expected });
        }
        let too_many =
            [("obstacles", frame.obstacles.len(), MAX_OBSTACLES), ("planes", frame.planes.len(), MAX_PLANES)];
        if let Some((what, found, most)) = too_many.into_iter().find(|(_, found, most)| found > most) {
            return Err(Error::TooMany { what, found, most });
        }
        let transforms = frame.skin.iter().map(|t| ("joint transform", t.as_flattened()));
        let ends = frame.obstacles.iter().map(|c| ("obstacle", c.ends.as_flattened()));
        let radii = frame.obstacles.iter().map(|c| ("obstacle", &c.radii[..]));
        let normals = frame.planes.iter().map(|p| ("plane", &p.normal[..]));
        let offsets = frame.planes.iter().map(|p| ("plane", core::slice::from_ref(&p.offset)));
        let gusts = core::slice::from_ref(&frame.wind.gusts);
        let wind = [("wind", &frame.wind.velocity[..]), ("wind", gusts)].into_iter();
        let all = transforms.chain(ends).chain(radii);
        for (what, list) in all.chain(normals).chain(offsets).chain(wind) {
            if let Some(&value) = list.iter().find(|x| x.is_nan() || x.abs() > LARGEST) {
                return Err(Error::OutOfRange { what, value });
            }
        }
        Ok(())
    }

    /// Where skinning has points and capsules at this frame; what was this frame becomes the last one.
    fn place(&mut self, frame: &Frame<'_>) {
        let origin = self.origin;
        let [last, now] = &mut self.targets;
        core::mem::swap(last, now);
        for ((to, skin), rest) in now.iter_mut().zip(&self.skin).zip(&self.rest) {
            *to = sub(skin.place(*rest, frame.skin), origin);
        }
        let [last, now] = &mut self.capsules;
        core::mem::swap(last, now);
        now.clear();
        now.extend(self.rig.iter().map(|RigCapsule { joints, capsule }| {
            let end = |i: usize| sub(apply(&frame.skin[usize::from(joints[i])], capsule.ends[i]), origin);
            Capsule { ends: [end(0), end(1)], radii: capsule.radii }
        }));
        let moved =
            |capsule: &Capsule| Capsule { ends: capsule.ends.map(|end| sub(end, origin)), ..*capsule };
        now.extend(frame.obstacles.iter().map(moved));
        // what was not there before comes from where it is
        let known = last.len();
        if known < now.len() {
            last.extend_from_slice(&now[known..]);
        }
        last.truncate(now.len());
    }

    fn start(&mut self, frame: &Frame<'_>) {
        let [last, now] = &mut self.targets;
        last.copy_from_slice(now);
        self.positions.copy_from_slice(now);
        self.velocities.fill([0.0; 3]);
        let [last, now] = &mut self.capsules;
        last.copy_from_slice(now);
        self.remember(frame.skin);
        self.remember(frame.skin);
        self.behind = 0.0;
        self.steps = 0;
        self.started = true;
        self.show();
        self.move_origin();
    }

    /// Keeps the joints of this frame, about the origin.
    fn remember(&mut self, skin: &[Transform]) {
        let [before, last] = &mut self.joints;
        core::mem::swap(before, last);
        for (to, from) in last.iter_mut().zip(skin) {
            *to = from_origin(from, self.origin);
        }
    }

    /// Follows the cloth once it is far from the place that it is simulated about.
    fn move_origin(&mut self) {
        let Some(here) = self.targets[1].first().map(|p| p.map(libm::roundf)) else { return };
        if here.iter().all(|x| x.abs() < FAR) {
            return;
        }
        self.origin = add(self.origin, here);
        let points = self.positions.iter_mut().chain(self.targets.iter_mut().flatten());
        points.for_each(|p| *p = sub(*p, here));
        let capsules = self.capsules.iter_mut().flatten();
        capsules.for_each(|capsule| capsule.ends = capsule.ends.map(|end| sub(end, here)));
        let joints = self.joints.iter_mut().flatten();
        joints.for_each(|joint| *joint = from_origin(joint, here));
    }

    /// Speed of the fastest attached point, m/s.
    fn fastest(&self, seconds: f32) -> f32 {
        let attached = (0..self.rest.len()).filter(|&i| self.skin[i].attachment > 0.0);
        let moved = attached.map(|i| length(sub(self.targets[1][i], self.targets[0][i])));
        moved.fold(0.0, f32::max) / seconds
    }

    /// Moves everything as the joint moved that holds the most, but for what it would have moved anyway, going on as in the frame
    /// before: the cloth keeps its shape and its motion about the joint.
    fn carry(&mut self, skin: &[Transform]) {
        let held = |i: &usize| self.skin[*i].attachment;
        let most = (0..self.rest.len()).max_by(|i, j| held(i).total_cmp(&held(j)).then(j.cmp(i)));
        let joint = most.map_or(0, |i| usize::from(self.skin[i].joints[0]));
        let [before, last] = &self.joints;
        let (Some(before), Some(last), Some(new)) = (before.get(joint), last.get(joint), skin.get(joint))
        else {
            return;
        };
        let Some(usual) = motion(before, last) else { return };
        let Some(step) = motion(&then(last, &usual), &from_origin(new, self.origin)) else { return };
        self.positions.iter_mut().for_each(|p| *p = apply(&step, *p));
        self.velocities.iter_mut().for_each(|v| *v = turn(&step, *v));
        self.targets[0].iter_mut().for_each(|p| *p = apply(&step, *p));
        for capsule in self.capsules[0].iter_mut().take(self.rig.len()) {
            capsule.ends = capsule.ends.map(|end| apply(&step, end));
        }
        self.joints[1].iter_mut().for_each(|joint| *joint = then(joint, &step));
    }

    /// Points at the time of the frame: a part of a step beyond the last one, by their velocities.
    fn show(&mut self) {
        for i in 0..self.rest.len() {
            let place = match self.skin[i].attachment >= 1.0 {
                true => self.targets[1][i],
                false => along(self.positions[i], self.behind, self.velocities[i]),
            };
            self.shown[i] = add(place, self.origin);
        }
        self.shown_capsules.clear();
        let origin = self.origin;
        let moved =
            |capsule: &Capsule| Capsule { ends: capsule.ends.map(|end| add(end, origin)), ..*capsule };
        self.shown_capsules.extend(self.capsules[1].iter().map(moved));
    }
}

/// A transform, seen from another place.
fn from_origin(transform: &Transform, origin: Point) -> Transform {
    [0, 1, 2].map(|i| {
        let [a, b, c, d] = transform[i];
        [a, b, c, d - origin[i]]
    })
}
