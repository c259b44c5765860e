//! The same flesh with nonlinear strain, stepped by the engine: what the quick methods are measured against, and what a bake can afford.
//!
//! Elements are the tets of the finest level seen through the functions, each with the part of it that is inside of the skin. Where finer
//! functions come and go they are judged once a frame.

use dynamics::{
    Basis, Body, ContactModel, Effort, Elements, Follow, Guide, Integrator, InternalHandle, Reduced, State,
    Stepper, Substeps, stiffness_damping,
};
use geometry::{Bounds, Vec3};
use glam::Mat4;
use solid::{Law, Material, Tet};

use crate::Error;
use crate::adaptation::Activity;
use crate::flesh::{Flesh, Piece, region_joints};
use crate::frames::{Frame, Pose};
use crate::kit::Kit;
use crate::limits::{Cones, Turns};
use crate::region::Region;
use crate::{Method, kit};

/// Poisson's ratio of friction, at most: with the 0.495 of flesh, a bar that had been bent by 120° was still off by half of its radius a
/// second after it was straight again.
const FRICTION_POISSON: f64 = 0.3;

/// Flesh with nonlinear strain.
pub struct Nonlinear {
    kit: Kit,
    body: Body,
    stepper: Stepper,
    settings: dynamics::Settings,
    /// Which functions are switched on, and where those are that are not, when a frame begins.
    activity: Option<Activity>,
    fading: Vec<Vec3>,
    size: f64,
    /// Coefficients that bones hold.
    held: Vec<bool>,
    state: State,
    poses: [Pose; 2],
    /// The joint that each coefficient is held against turning by.
    joints: Vec<usize>,
    /// How joints that carry limits turn within the frame.
    cones: InternalHandle<Cones>,
    started: bool,
}

impl Nonlinear {
    /// Prepares a body. `substeps` backward-Euler steps make a frame; none: as many as accuracy asks for, by TR-BDF2.
    pub fn new(flesh: &Flesh, law: Law, substeps: Option<usize>) -> Result<Self, Error> {
        let settings = match substeps {
            Some(count) => fixed(count),
            None => dynamics::Settings::default(),
        };
        Self::with_settings(flesh, law, settings)
    }

    /// The linearised step: one iteration of Newton's method in each of `substeps` backward-Euler steps (skeleton §4.2).
    pub fn linearised(flesh: &Flesh, law: Law, substeps: usize) -> Result<Self, Error> {
        Self::with_settings(flesh, law, dynamics::Settings { newton_iterations: 1, ..fixed(substeps) })
    }

    fn with_settings(flesh: &Flesh, law: Law, settings: dynamics::Settings) -> Result<Self, Error> {
        let kit = Kit::new(flesh, Method::GlobalLinear, 1.0)?;
        let hierarchy = &flesh.hierarchy;
        let mesh = hierarchy.mesh();
        let basis: Basis = hierarchy.values().into();
        let mut sorted: Vec<&Piece> = flesh.pieces.iter().collect();
        sorted.sort_by_key(|piece| mesh.tets()[piece.tet as usize].iter().copied().min());
        let (mut elements, mut parts) = (Vec::new(), Vec::new());
        for piece in sorted {
            let rest = mesh.corners(piece.tet as usize);
            let Material { young, poisson, damping, .. } = piece.material;
            if let Some(tet) = Tet::from_young_poisson(&rest, law, young, poisson) {
                let beta = stiffness_damping(damping, Material::DAMPING_REFERENCE_HZ);
                parts.push((elements.len(), piece.part));
                let tet = tet.with_friction(beta).with_friction_poisson(poisson.min(FRICTION_POISSON));
                elements.push((mesh.tets()[piece.tet as usize], tet));
            }
        }
        let energy = Reduced::with_cubature(&basis, Elements::new(elements).damped(1.0), parts);
        let springs = twist_springs(flesh)?;
        let cones = Cones::new(&kit.limits, kit.regions[0].mass.weights());
        // one region over everything has the masses of everything
        let body = Body::builder(kit.regions[0].mass.clone()).energy(energy).energy(Follow::new(springs));
        let (body, cones) = body.evolving_energy(cones);
        let body = body.known(flesh.known.clone()).gravity(flesh.settings.gravity).build()?;
        let joints = spring_joints(flesh);
        let rest = kit.rest.clone();
        let pose = Pose::rest(&kit.joint_from_rest);
        let activity = |adaptation| Activity::new(adaptation, &kit.sensors, rest.len(), kit.level_zero);
        let mut nonlinear = Self {
            stepper: stepper(&body, &kit, &settings)?,
            settings,
            activity: kit.adaptation.clone().map(activity),
            fading: vec![Vec3::ZERO; rest.len()],
            size: Bounds::of(rest[..kit.level_zero].iter().copied()).diagonal(),
            held: flesh.known.clone(),
            state: at_rest(&body, rest),
            body,
            poses: [pose.clone(), pose],
            joints,
            cones,
            started: false,
            kit,
        };
        nonlinear.switch()?;
        Ok(nonlinear)
    }

    /// Makes known what is switched off, where that is not so yet.
    fn switch(&mut self) -> Result<(), Error> {
        let Some(activity) = &self.activity else { return Ok(()) };
        let known: Vec<bool> =
            self.held.iter().zip(activity.active()).map(|(held, active)| *held || !active).collect();
        if known != self.body.known() {
            self.body.set_known(known);
            self.stepper = stepper(&self.body, &self.kit, &self.settings)?;
        }
        Ok(())
    }

    /// Something touches a point of the skin: finer functions come there with the next step, where they come and go.
    pub fn touch(&mut self, point: usize) {
        if let Some(activity) = &mut self.activity {
            activity.touch(&self.kit.sensors, &self.kit.surface, point);
        }
    }

    /// Which functions are switched on; none where all always are.
    pub fn active(&self) -> Option<&[bool]> {
        self.activity.as_ref().map(Activity::active)
    }

    /// Coefficients now.
    pub fn coefficients(&self) -> &[Vec3] {
        &self.state.positions
    }

    /// The state, for checkpoints.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Advances by `seconds`, at the end of which joints are at `world_from_joints`. The first call puts the flesh there at rest.
    pub fn step(&mut self, world_from_joints: &[Mat4], seconds: f64) -> Result<Effort, Error> {
        self.step_with_contact(world_from_joints, seconds, None)
    }

    /// [`Nonlinear::step`] where there is something that flesh may not pass through; on an error flesh is where it was.
    pub fn step_with_contact(
        &mut self,
        world_from_joints: &[Mat4],
        seconds: f64,
        contact: Option<&mut dyn ContactModel>,
    ) -> Result<Effort, Error> {
        let [before, now] = &mut self.poses;
        before.copy_from(now);
        now.set(&self.kit.joint_from_rest, world_from_joints)?;
        if !self.started {
            before.copy_from(now);
            let mut frames = vec![Frame::REST; self.kit.joint_from_rest.len()];
            Pose::between(before, now, 1.0, &mut frames);
            let mut places = self.kit.rest.clone();
            kit::skinned(&self.kit, &frames, &mut places);
            self.state = at_rest(&self.body, places);
            self.started = true;
            return Ok(Effort::default());
        }
        if let Some(activity) = &mut self.activity {
            activity.judge(&self.kit.sensors, &self.state.positions, seconds);
            let places = self.state.positions.iter().zip(activity.active());
            self.fading = places.map(|(c, active)| if *active { Vec3::ZERO } else { *c }).collect();
            self.switch()?;
        }
        if !self.kit.limits.is_empty() {
            let ends = [0.0, 1.0].map(|s| {
                let mut frames = vec![Frame::REST; self.kit.joint_from_rest.len()];
                Pose::between(&self.poses[0], &self.poses[1], s, &mut frames);
                frames
            });
            let mut turns = Turns::default();
            turns.set(&self.kit.limits, [&ends[0], &ends[1]], [self.state.time, seconds]);
            let part = self.body.whole();
            self.cones.of_mut(&mut self.state, &part).copy_from_slice(&turns.to_internal());
        }
        let guide = Moving {
            kit: &self.kit,
            poses: &self.poses,
            joints: &self.joints,
            fading: &self.fading,
            size: self.size,
            start: self.state.time,
            duration: seconds,
        };
        let Self { stepper, body, state, .. } = self;
        Ok(stepper.advance_with_contact(body, state, &guide, contact, seconds, &mut [])?)
    }

    /// Which coefficients bones hold.
    pub fn known(&self) -> &[bool] {
        &self.held
    }

    /// Sets the clock, in seconds: what is touched goes by it.
    pub fn set_time(&mut self, time: f64) {
        self.state.time = time;
    }

    /// Lets all flesh move at one velocity, in m/s: for a character that comes along at that speed.
    pub fn drift(&mut self, velocity: Vec3) {
        self.state.velocities.fill(Vec3::ZERO);
        // the functions of level zero add up to one, the others only refine
        self.state.velocities[..self.kit.level_zero].fill(velocity);
    }

    /// Begins anew in another pose, as across a cut; it moves at `velocity`, in m/s.
    pub fn cut_to(&mut self, world_from_joints: &[Mat4], velocity: Vec3) -> Result<(), Error> {
        let time = self.state.time;
        self.started = false;
        self.step(world_from_joints, 0.0)?;
        self.state.time = time;
        self.drift(velocity);
        Ok(())
    }

    /// The pose and the state of a checkpoint.
    pub fn checkpoint(&self) -> Vec<u8> {
        let started = f64::from(u8::from(self.started));
        let active = self.activity.iter().flat_map(Activity::numbers);
        let own = self.poses[1].numbers().chain([started]).chain(active).flat_map(f64::to_le_bytes);
        self.state.to_bytes().into_iter().chain(own).collect()
    }

    /// The reverse of [`Nonlinear::checkpoint`].
    pub fn restore(&mut self, checkpoint: &[u8]) -> Result<(), Error> {
        let foreign = Error::Packed { problem: "the checkpoint is not one of this character" };
        let active = self.activity.iter().flat_map(Activity::numbers).count();
        let tail = 8 * (self.poses[1].numbers().count() + 1 + active);
        let Some(at) = checkpoint.len().checked_sub(tail) else { return Err(foreign) };
        let (state, pose) = checkpoint.split_at(at);
        let fits = |state: &State| {
            state.positions.len() == self.joints.len() && state.internal.len() == self.state.internal.len()
        };
        self.state = State::from_bytes(state).filter(fits).ok_or(foreign)?;
        let (words, _) = pose.as_chunks::<8>();
        let mut numbers = words.iter().map(|word| f64::from_le_bytes(*word));
        let mut next = || numbers.next().unwrap_or(0.0);
        self.poses[1].set_numbers(&mut next);
        self.started = next() != 0.0;
        if let Some(activity) = &mut self.activity {
            activity.set_numbers(&self.kit.sensors, &mut next);
        }
        self.switch()
    }
}

/// A stepper of all steps while the body knows what it knows now.
fn stepper(body: &Body, kit: &Kit, settings: &dynamics::Settings) -> Result<Stepper, Error> {
    let lattice = &kit.rest[..kit.level_zero.max(1).min(kit.rest.len())];
    Ok(Stepper::new(body, lattice, settings.clone())?)
}

/// At rest at these coefficients.
fn at_rest(body: &Body, places: Vec<Vec3>) -> State {
    State { internal: body.initial_internal(), ..State::at_rest(places) }
}

fn fixed(substeps: usize) -> dynamics::Settings {
    dynamics::Settings {
        integrator: Integrator::BackwardEuler,
        substeps: Substeps::Fixed(substeps.max(1)),
        ..dynamics::Settings::default()
    }
}

/// For every function the joint that most of it belongs to.
pub(crate) fn spring_joints(flesh: &Flesh) -> Vec<usize> {
    let strongest = |shares: &Vec<(u32, f64)>| {
        let best = shares.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        best.map_or(0, |share| share.0 as usize)
    };
    flesh.shares.iter().map(strongest).collect()
}

/// Springs that keep flesh near bones from turning about them: the row sums of (26).
pub(crate) fn twist_springs(flesh: &Flesh) -> Result<Vec<(u32, f64)>, Error> {
    let mut sums = vec![0.0; flesh.hierarchy.functions().len()];
    let all: Vec<&Piece> = flesh.pieces.iter().collect();
    for joint in region_joints(&flesh.shares) {
        let held = Region::holding(flesh, joint, &all)?;
        held.into_iter().for_each(|(f, k)| sums[f as usize] += k);
    }
    let count = flesh.lattice.points().len();
    Ok((0..count as u32).map(|f| (f, sums[f as usize])).filter(|(_, k)| *k > 0.0).collect())
}

/// Bones between two poses.
struct Moving<'a> {
    kit: &'a Kit,
    poses: &'a [Pose; 2],
    joints: &'a [usize],
    fading: &'a [Vec3],
    size: f64,
    start: f64,
    duration: f64,
}

impl Moving<'_> {
    fn places(&self, time: f64, positions: &mut [Vec3]) {
        let s = ((time - self.start) / self.duration).clamp(0.0, 1.0);
        let mut frames = vec![Frame::REST; self.kit.joint_from_rest.len()];
        Pose::between(&self.poses[0], &self.poses[1], s, &mut frames);
        for (f, x) in positions.iter_mut().enumerate() {
            let rest = self.kit.rest[f];
            let level_zero = f < self.kit.level_zero;
            *x = if level_zero {
                frames[self.joints[f]].world_from_rest.transform_point3(rest)
            } else {
                Activity::faded(self.fading[f], time - self.start, self.size)
            };
        }
        for driver in &self.kit.drivers {
            positions[driver.coefficient as usize] = driver.place(&frames);
        }
    }
}

impl Guide for Moving<'_> {
    fn sample(&self, time: f64, positions: &mut [Vec3], velocities: &mut [Vec3]) {
        let dt = 1e-3 * self.duration;
        let (earlier, later) = ((time - dt).max(self.start), (time + dt).min(self.start + self.duration));
        self.places(earlier, positions);
        self.places(later, velocities);
        for (v, x) in velocities.iter_mut().zip(positions.iter()) {
            *v = (*v - *x) / (later - earlier).max(f64::MIN_POSITIVE);
        }
        self.places(time, positions);
    }
}
