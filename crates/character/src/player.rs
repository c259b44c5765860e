//! A player: flesh stepped in real time, or in a bake, always by the same steps.
//!
//! Time is cut into steps of one length, whatever the frames: bones are taken along between the poses that frames give. What is left of
//! a frame beyond its last step is shown by going on with the velocities. After `new` nothing is allocated.

mod limits;
mod pins;

use geometry::{Bounds, Vec3};
use glam::Mat4;

use crate::Error;
use crate::adaptation::{Activity, JUDGED_EVERY};
use crate::corotated::CorotatedSystem;
use crate::flesh::Driver;
use crate::frames::{Frame, Pose};
use crate::kit::{Kit, skinned};
use crate::region::{Start, System};
use crate::ride::Rides;
use crate::swing::{KNEE, within};
use crate::unfold::unfold;
use pins::{MOST_PINS, Pin};

/// How far linear flesh of a region goes from where its bones would take it, RMS, as a part of the character's size.
const FARTHEST: f64 = 0.5;

/// A character that moves.
pub struct Player {
    kit: Kit,
    /// The regions, each with its matrix; none where cells have frames of their own.
    systems: Vec<System>,
    corotated: Option<CorotatedSystem>,
    /// Where regions meet, every cell in a frame of its own.
    joints: Option<CorotatedSystem>,
    activity: Option<Activity>,
    /// The character's size at rest, in metres.
    size: f64,
    known: Vec<bool>,
    /// The same with what is under pins.
    held_here: Vec<bool>,
    /// The pose of the frame before and of this one.
    poses: [Pose; 2],
    /// Frames of all joints where the last step ended, and where the next one does.
    frames: [Vec<Frame>; 2],
    /// The same of coefficients.
    rides: [Rides; 2],
    /// x; Ẋ, how fast bones take them along; Q ė, how fast they move beyond that. Where cells have frames of their own strain leaves no
    /// rotation out, and neither does inertia: then `carried` is all of their velocity.
    coefficients: Vec<Vec3>,
    carried: Vec<Vec3>,
    velocities: Vec<Vec3>,
    /// Where they would be if nothing pulled, and where they are at the step's end.
    predicted: Vec<Vec3>,
    next: Vec<Vec3>,
    held: Vec<Vec3>,
    force: Vec<Vec3>,
    shown: Vec<Vec3>,
    pins: Vec<Pin>,
    responses: Vec<Vec<Vec3>>,
    /// Time since the last step's end, below a step.
    remainder: f64,
    most_steps: usize,
    dropped: f64,
    steps: u64,
    held_back: u64,
    started: bool,
}

impl Player {
    /// Points that can be pinned at a time.
    pub const MOST_PINS: usize = MOST_PINS;

    /// A player of a packed character.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        Self::new(Kit::from_bytes(bytes)?)
    }

    /// A player of a kit, at rest. All memory is allocated here.
    pub fn new(kit: Kit) -> Result<Self, Error> {
        let count = kit.rest.len();
        let mut known = vec![false; count];
        kit.drivers.iter().for_each(|driver| known[driver.coefficient as usize] = true);
        let adapts = kit.adaptation.is_some();
        let system = |region: &crate::region::Region| {
            let damping = [0.0, kit.beta];
            System::new(region.clone(), &known, &kit.rest, kit.level_zero, kit.step, damping, adapts)
        };
        let corotated = kit.corotated.as_ref().map(|flesh| CorotatedSystem::new(&kit, flesh, &known));
        let joints = kit.joints.as_ref().map(|flesh| CorotatedSystem::new(&kit, flesh, &known));
        let systems = kit.regions.iter().map(system).collect::<Result<Vec<_>, _>>()?;
        let activity = |adaptation| Activity::new(adaptation, &kit.sensors, count, kit.level_zero);
        let pose = Pose::rest(&kit.joint_from_rest);
        let zeros = vec![Vec3::ZERO; count];
        Ok(Self {
            systems,
            corotated: corotated.transpose()?,
            joints: joints.transpose()?,
            activity: kit.adaptation.clone().map(activity),
            size: Bounds::of(kit.rest[..kit.level_zero].iter().copied()).diagonal(),
            held_here: known.clone(),
            known,
            poses: [pose.clone(), pose],
            frames: [
                vec![Frame::REST; kit.joint_from_rest.len()],
                vec![Frame::REST; kit.joint_from_rest.len()],
            ],
            rides: [Rides::new(count), Rides::new(count)],
            coefficients: kit.rest.clone(),
            carried: zeros.clone(),
            velocities: zeros.clone(),
            predicted: zeros.clone(),
            next: zeros.clone(),
            held: kit.rest.clone(),
            force: zeros.clone(),
            shown: kit.rest.clone(),
            pins: Vec::with_capacity(MOST_PINS),
            responses: vec![zeros; 3 * MOST_PINS],
            remainder: 0.0,
            most_steps: usize::MAX,
            dropped: 0.0,
            steps: 0,
            held_back: 0,
            started: false,
            kit,
        })
    }

    /// At most so many steps in a call of [`Player::step`]; what is longer is dropped: flesh is carried along with its bones then.
    pub fn set_most_steps(&mut self, most: usize) {
        self.most_steps = most.max(1);
    }

    /// The kit.
    pub fn kit(&self) -> &Kit {
        &self.kit
    }

    /// Seconds that were dropped so far.
    pub fn dropped(&self) -> f64 {
        self.dropped
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Steps in which flesh swung so far from its bones that it was held back: by half of the character's size and more,
    /// which linear strain has no answer to.
    pub fn held_back(&self) -> u64 {
        self.held_back
    }

    /// Coefficients as they are shown now.
    pub fn shown(&self) -> &[Vec3] {
        &self.shown
    }

    /// Advances by `seconds`, at the end of which joints are at `world_from_joints`. The first call puts the flesh there at rest.
    ///
    /// On an error nothing has moved.
    pub fn step(&mut self, world_from_joints: &[Mat4], seconds: f64) -> Result<(), Error> {
        if !(seconds >= 0.0 && seconds.is_finite()) {
            let range = "a finite number, 0 or above";
            return Err(Error::Range { what: "the time to step, in seconds,", value: seconds, range });
        }
        if !self.started {
            return self.teleport(world_from_joints);
        }
        let [before, now] = &mut self.poses;
        std::mem::swap(before, now);
        if let Err(error) = now.set(&self.kit.joint_from_rest, world_from_joints) {
            std::mem::swap(before, now);
            return Err(error);
        }
        let h = self.kit.step;
        // a frame that is a whole number of steps takes that many, whatever round-off says
        let total = self.remainder + seconds;
        let wanted = (total / h + 1e-6).floor();
        let count = wanted.min(self.most_steps as f64);
        if count < wanted {
            // bones have come a long way: flesh is taken along, and the last steps are made from there
            let missed = (wanted - count) * h;
            self.dropped += missed;
            self.carry((missed - self.remainder) / seconds);
        }
        for k in (wanted - count) as u64..wanted as u64 {
            let end = (k + 1) as f64 * h - self.remainder;
            let s = if seconds > 0.0 { (end / seconds).clamp(0.0, 1.0) } else { 1.0 };
            self.inner_step(s)?;
        }
        self.remainder = (total - wanted * h).max(0.0);
        if self.remainder < 1e-6 * h {
            self.remainder = 0.0;
        }
        self.force.fill(Vec3::ZERO);
        self.pins.iter_mut().for_each(|pin| pin.places[0] = pin.places[1]);
        self.show();
        Ok(())
    }

    /// Puts flesh around bones that are at `world_from_joints`, at rest.
    pub fn teleport(&mut self, world_from_joints: &[Mat4]) -> Result<(), Error> {
        let [before, now] = &mut self.poses;
        now.set(&self.kit.joint_from_rest, world_from_joints)?;
        before.copy_from(now);
        Pose::between(&self.poses[0], &self.poses[1], 1.0, &mut self.frames[0]);
        skinned(&self.kit, &self.frames[0], &mut self.coefficients);
        self.stop();
        self.remainder = 0.0;
        self.started = true;
        self.show();
        Ok(())
    }

    /// Lets all flesh move at one velocity, in m/s: after [`Player::teleport`], for a character that comes along at that speed.
    pub fn drift(&mut self, velocity: Vec3) {
        self.stop();
        // the functions of level zero add up to one, the others only refine
        self.carried[..self.kit.level_zero].fill(velocity);
        self.show();
    }

    /// Takes flesh along to another pose without simulating, as across a cut: it keeps its shape and moves at `velocity`, in m/s.
    pub fn cut_to(&mut self, world_from_joints: &[Mat4], velocity: Vec3) -> Result<(), Error> {
        if !self.started {
            self.teleport(world_from_joints)?;
        }
        let [before, now] = &mut self.poses;
        now.set(&self.kit.joint_from_rest, world_from_joints)?;
        before.copy_from(now);
        self.carry(1.0);
        self.remainder = 0.0;
        self.drift(velocity);
        Ok(())
    }

    /// Pushes a point of the skin with a force in newtons, during the next [`Player::step`].
    pub fn push(&mut self, point: usize, force: Vec3) -> Result<(), Error> {
        self.check_point(point)?;
        if !force.is_finite() {
            return Err(Error::NotFinite { what: "the force on point", index: point });
        }
        for (f, value) in self.kit.surface.row(point) {
            self.force[f as usize] += value * force;
        }
        if let Some(activity) = &mut self.activity {
            activity.touch(&self.kit.sensors, &self.kit.surface, point);
        }
        Ok(())
    }

    fn check_point(&self, point: usize) -> Result<(), Error> {
        let expected = self.kit.surface.fine_count();
        if point < expected {
            return Ok(());
        }
        Err(Error::CountMismatch { what: "points of the skin", found: point + 1, expected })
    }

    /// Where the points of the skin are now, into a slice with room for all of them.
    pub fn surface(&self, points: &mut [[f32; 3]]) {
        for (point, place) in points.iter_mut().enumerate().take(self.kit.surface.fine_count()) {
            let at: Vec3 = self.kit.surface.row(point).map(|(f, value)| value * self.shown[f as usize]).sum();
            *place = at.as_vec3().to_array();
        }
    }

    /// The state as bytes: the exact bits. Pins and pushes are the caller's, as the pose is.
    pub fn checkpoint(&self) -> Vec<u8> {
        let counts = [self.steps, self.held_back].map(|count| count as f64);
        let flags =
            [f64::from(u8::from(self.started)), self.remainder, self.dropped].into_iter().chain(counts);
        let vectors = self.coefficients.iter().chain(&self.carried).chain(&self.velocities);
        let vectors = vectors.flat_map(|v| v.to_array());
        let poses = self.poses.iter().flat_map(Pose::numbers);
        let frames = self.frames[0].iter().flat_map(Frame::numbers);
        let active = self.activity.iter().flat_map(Activity::numbers);
        let numbers = flags.chain(vectors).chain(poses).chain(frames).chain(active);
        numbers.flat_map(f64::to_le_bytes).collect()
    }

    /// The reverse of [`Player::checkpoint`].
    pub fn restore(&mut self, checkpoint: &[u8]) -> Result<(), Error> {
        let foreign = Error::Packed { problem: "the checkpoint is not one of this character" };
        let (words, rest) = checkpoint.as_chunks::<8>();
        let count = self.coefficients.len();
        let pose_len = self.poses[0].numbers().count();
        let active = if self.activity.is_some() { 2 * self.kit.sensors.len() } else { 0 };
        let expected = 5 + 9 * count + 2 * pose_len + Frame::NUMBERS * self.frames[0].len() + active;
        if !rest.is_empty() || words.len() != expected {
            return Err(foreign);
        }
        let mut numbers = words.iter().map(|word| f64::from_le_bytes(*word));
        let mut next = || numbers.next().unwrap_or(0.0);
        self.started = next() != 0.0;
        (self.remainder, self.dropped) = (next(), next());
        (self.steps, self.held_back) = (next() as u64, next() as u64);
        for v in self.coefficients.iter_mut().chain(&mut self.carried).chain(&mut self.velocities) {
            *v = Vec3::new(next(), next(), next());
        }
        self.poses.iter_mut().for_each(|pose| pose.set_numbers(&mut next));
        self.frames[0].iter_mut().for_each(|frame| *frame = Frame::from_numbers(&mut next));
        if let Some(activity) = &mut self.activity {
            activity.set_numbers(&self.kit.sensors, &mut next);
        }
        self.rides[0].set(&self.kit, &self.frames[0]);
        self.show();
        Ok(())
    }

    /// held ← where bones hold coefficients, by the frames of `which`.
    fn hold(&mut self, which: usize) {
        for driver in &self.kit.drivers {
            self.held[driver.coefficient as usize] = driver.place(&self.frames[which]);
        }
    }

    fn inner_step(&mut self, s: f64) -> Result<(), Error> {
        Pose::between(&self.poses[0], &self.poses[1], s, &mut self.frames[1]);
        self.hold(1);
        self.predict();
        self.switch();
        self.next.fill(Vec3::ZERO);
        let [start, end] = &self.frames;
        let from = Start {
            coefficients: &self.coefficients,
            predicted: &self.predicted,
            held: &self.held,
            force: &self.force,
            gravity: self.kit.gravity,
            active: self.activity.as_ref().map(Activity::active),
        };
        for system in &mut self.systems {
            let frames = [&start[system.joint()], &end[system.joint()]];
            system.step(frames, &from, &mut self.next)?;
        }
        if let Some((system, flesh)) = self.corotated.as_mut().zip(self.kit.corotated.as_ref()) {
            let [before, after] = &self.rides;
            for (f, next) in self.next.iter_mut().enumerate() {
                let own = self.coefficients[f] - before.places[f];
                *next = after.places[f] + before.turned(after, f, own);
            }
            put(&self.kit.drivers, &self.held, &mut self.next);
            system.step(&self.kit, flesh, end, &from, &mut self.next)?;
        }
        if let Some((system, flesh)) = self.joints.as_mut().zip(self.kit.joints.as_ref()) {
            put(&self.kit.drivers, &self.held, &mut self.next);
            system.step(&self.kit, flesh, end, &from, &mut self.next)?;
        }
        self.keep_reach();
        self.hold_back();
        if !self.pins.is_empty() {
            self.meet_pins(s)?;
        }
        self.keep_limits()?;
        put(&self.kit.drivers, &self.held, &mut self.next);
        let per_second = 1.0 / self.kit.step;
        let [from, to] = &self.rides;
        for (f, &next) in self.next.iter().enumerate() {
            if self.corotated.is_some() {
                self.carried[f] = (next - self.coefficients[f]) * per_second;
            } else {
                let own = from.turned(to, f, self.coefficients[f] - from.places[f]);
                self.velocities[f] = (next - to.places[f] - own) * per_second;
                self.carried[f] = (to.places[f] - from.places[f]) * per_second;
            }
            self.coefficients[f] = next;
        }
        self.frames.swap(0, 1);
        self.rides.swap(0, 1);
        self.steps += 1;
        Ok(())
    }

    /// predicted ← where coefficients would be at the step's end if nothing pulled.
    fn predict(&mut self) {
        self.rides[1].set(&self.kit, &self.frames[1]);
        let h = self.kit.step;
        let [from, to] = &self.rides;
        for (f, predicted) in self.predicted.iter_mut().enumerate() {
            let own = self.coefficients[f] - from.places[f] + h * self.velocities[f];
            *predicted = if self.corotated.is_some() {
                self.coefficients[f] + h * self.carried[f]
            } else {
                from.places[f] + h * self.carried[f] + from.turned(to, f, own)
            };
        }
    }

    /// Keeps coefficients within their reach; those under pins go where they are drawn.
    fn keep_reach(&mut self) {
        if !self.pins.is_empty() {
            return;
        }
        let Self { next, rides: [_, ride], frames: [_, frames], kit, .. } = self;
        for (f, &reach) in kit.reach.iter().enumerate() {
            let (place, own) = (ride.places[f], next[f] - ride.places[f]);
            // without D, which takes longer to find, most are within already
            if own.length_squared() > (KNEE * reach).powi(2) {
                let spread = |&(joint, weight): &(u32, f64)| {
                    let world_from_rest = &frames[joint as usize].world_from_rest;
                    weight * place.distance(world_from_rest.transform_point3(kit.rest[f]))
                };
                let spread: f64 = kit.shares[f].iter().map(spread).sum();
                next[f] = place + within(own, reach + spread);
            }
        }
    }

    /// Holds regions back that have swung further from their bones than [`FARTHEST`] allows. Strain that is linear does not stiffen, and
    /// bones that turn by radians in a frame would throw flesh many times its own size.
    fn hold_back(&mut self) {
        let (limit, places) = (FARTHEST * self.size, &self.rides[1].places);
        if self.systems.iter().all(|system| system.swing(&self.next, places) <= limit) {
            return;
        }
        // every coefficient keeps what its regions leave to it
        self.predicted.fill(Vec3::ZERO);
        for system in &self.systems {
            let keep = (limit / system.swing(&self.next, places)).min(1.0);
            system.share(keep, &self.next, places, &mut self.predicted);
        }
        for ((next, place), kept) in self.next.iter_mut().zip(places).zip(&self.predicted) {
            *next = *place + *kept;
        }
        self.held_back += 1;
    }

    /// Flesh at rest where it is, with bones as the last step left them.
    fn stop(&mut self) {
        self.carried.fill(Vec3::ZERO);
        self.velocities.fill(Vec3::ZERO);
        self.rides[0].set(&self.kit, &self.frames[0]);
    }

    /// Switches functions on and off, where they do; those that are off fade.
    fn switch(&mut self) {
        let Some(activity) = &mut self.activity else { return };
        if self.steps.is_multiple_of(JUDGED_EVERY) {
            let seconds = JUDGED_EVERY as f64 * self.kit.step;
            activity.judge(&self.kit.sensors, &self.coefficients, seconds);
        }
        for (f, held) in self.held.iter_mut().enumerate().filter(|(f, _)| !activity.active()[*f]) {
            let c = self.rides[0].turned(&self.rides[1], f, self.coefficients[f]);
            *held = Activity::faded(c, self.kit.step, self.size);
        }
    }

    /// Takes flesh along with its bones to the instant `s` of the frame, without simulating: it keeps its shape and loses its speed.
    fn carry(&mut self, s: f64) {
        Pose::between(&self.poses[0], &self.poses[1], s.clamp(0.0, 1.0), &mut self.frames[1]);
        let [start, end] = &self.frames;
        for (f, shares) in self.kit.shares.iter().enumerate() {
            let rest = if f < self.kit.level_zero { Some(self.kit.rest[f]) } else { None };
            let x = self.coefficients[f];
            let moved = |&(joint, weight): &(u32, f64)| {
                let (a, b) = (&start[joint as usize], &end[joint as usize]);
                let place =
                    |frame: &Frame| rest.map_or(Vec3::ZERO, |r| frame.world_from_rest.transform_point3(r));
                weight * (place(b) + b.rotation * (a.rotation.transpose() * (x - place(a))))
            };
            let sum: f64 = shares.iter().map(|share| share.1).sum();
            self.coefficients[f] = shares.iter().map(moved).sum::<Vec3>() / sum.max(f64::MIN_POSITIVE);
        }
        self.hold(1);
        for driver in &self.kit.drivers {
            self.coefficients[driver.coefficient as usize] = self.held[driver.coefficient as usize];
        }
        self.frames.swap(0, 1);
        self.stop();
    }

    /// shown ← coefficients at this very instant; bones where the pose has them.
    fn show(&mut self) {
        Pose::between(&self.poses[0], &self.poses[1], 1.0, &mut self.frames[1]);
        self.hold(1);
        if self.remainder == 0.0 {
            self.shown.copy_from_slice(&self.coefficients);
        } else if self.corotated.is_some() {
            for (shown, (x, v)) in self.shown.iter_mut().zip(self.coefficients.iter().zip(&self.carried)) {
                *shown = *x + self.remainder * *v;
            }
        } else {
            self.rides[1].set(&self.kit, &self.frames[1]);
            let [from, to] = &self.rides;
            for (f, shown) in self.shown.iter_mut().enumerate() {
                let own = self.coefficients[f] - from.places[f] + self.remainder * self.velocities[f];
                *shown = to.places[f] + from.turned(to, f, own);
            }
        }
        for driver in &self.kit.drivers {
            self.shown[driver.coefficient as usize] = self.held[driver.coefficient as usize];
        }
        if !self.kit.guarded.is_empty() {
            self.held_here.copy_from_slice(&self.known);
            for pin in &self.pins {
                self.kit.surface.row(pin.point as usize).for_each(|(f, _)| self.held_here[f as usize] = true);
            }
            unfold(&self.kit.guarded, &self.held_here, &mut self.shown);
        }
    }

    /// How many functions are switched on, of all levels.
    pub fn active_count(&self) -> usize {
        self.activity.as_ref().map_or(self.coefficients.len(), |activity| {
            activity.active().iter().filter(|active| **active).count()
        })
    }

    /// Which functions are switched on; none where all always are.
    pub fn active(&self) -> Option<&[bool]> {
        self.activity.as_ref().map(Activity::active)
    }

    /// Which coefficients bones hold.
    pub fn known(&self) -> &[bool] {
        &self.known
    }
}

/// Puts what bones hold into `coefficients`.
fn put(drivers: &[Driver], held: &[Vec3], coefficients: &mut [Vec3]) {
    drivers.iter().map(|driver| driver.coefficient as usize).for_each(|f| coefficients[f] = held[f]);
}
