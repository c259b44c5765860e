//! The same morph with every point of its tets free, stepped by the engine: what the reduced one is measured against.

mod energy;

use dynamics::{Body, Integrator, State, StaticGuide, Stepper, Substeps};
use geometry::Vec3;
use glam::Mat4;

use crate::Error;
use crate::frames::{Frame, Pose};

use super::inertia::{self, Swing};
use super::interpolation::Interpolation;
use super::kit::Places;
use super::locality::Shares;
use super::{Morph, PoseSpace};
use energy::{PoseEnergy, internal, weight};

/// A morph in all its points.
pub struct FullMorph {
    body: Body,
    stepper: Stepper,
    state: State,
    guide: StaticGuide,
    /// u at the end of the step before the last.
    earlier: Vec<Vec3>,
    /// What of the deformation stays.
    plastic: Vec<Vec3>,
    shared: Shared,
    poses: [Pose; 2],
    frames: [Vec<Frame>; 3],
    /// ω of every part, and of every target over all flesh.
    parts: Vec<f64>,
    weights: Vec<f64>,
    tau: f64,
    energy: f64,
    step: f64,
    /// Pushes on points of the skin, in newtons.
    pushes: Vec<(usize, Vec3)>,
    started: bool,
}

/// What a full morph keeps of the one it was made of.
struct Shared {
    rest: Vec<Vec3>,
    joints: Vec<Vec<(u32, f64)>>,
    skin: Vec<Vec3>,
    influences: Vec<Vec<(u32, f64)>>,
    embedding: geometry::Embedding,
    joint_from_rest: Vec<glam::DAffine3>,
    masses: Vec<Vec<f64>>,
    rests: Vec<Vec<Vec3>>,
    details: Vec<Vec<Vec3>>,
    /// How much of the flesh is of each region.
    fractions: Vec<f64>,
    plasticity: Vec<(super::Plasticity, f64)>,
    space: PoseSpace,
    interpolation: Interpolation,
    places: Places,
    gravity: Vec3,
    size: f64,
}

/// At rest, points are within this part of the size of where forces balance.
const SETTLED: f64 = 1e-9;

impl FullMorph {
    /// Prepares a body for steps of `step` seconds.
    pub fn new(morph: &Morph, step: f64) -> Result<Self, Error> {
        if !(step > 0.0 && step <= 1.0) {
            let range = "above 0, and at most 1";
            return Err(Error::Range { what: "the step in seconds", value: step, range });
        }
        let (interpolation, places) = morph.full_interpolation()?;
        let volume = &morph.volume;
        let targets = &morph.targets;
        let energy = PoseEnergy::new(morph, &places, interpolation.len());
        let body =
            Body::builder(targets[0].masses.clone()).energy(energy).known(volume.known.clone()).build()?;
        let rest = volume.mesh.points().to_vec();
        let settings = dynamics::Settings {
            integrator: Integrator::BackwardEuler,
            substeps: Substeps::Fixed(1),
            ..dynamics::Settings::default()
        };
        let stepper = Stepper::new(&body, &rest, settings)?;
        let frames = vec![Frame::REST; morph.joint_from_rest.len()];
        let pose = Pose::rest(&morph.joint_from_rest);
        let shared = Shared {
            joints: volume.joints.clone(),
            skin: morph.skin.points.clone(),
            influences: morph.skin.influences.clone(),
            embedding: volume.embedding.clone(),
            joint_from_rest: morph.joint_from_rest.clone(),
            masses: targets.iter().map(|target| target.masses.clone()).collect(),
            rests: targets.iter().map(|target| target.displacement(volume)).collect(),
            details: targets.iter().map(|target| target.detail.clone()).collect(),
            plasticity: targets.iter().map(|target| (target.plasticity, target.measure)).collect(),
            space: morph.space.clone(),
            fractions: places.fractions(morph, interpolation.region_count()),
            interpolation,
            places,
            gravity: morph.settings.gravity,
            size: morph.size,
            rest: rest.clone(),
        };
        Ok(Self {
            body,
            stepper,
            guide: StaticGuide::new(rest.clone()),
            earlier: vec![Vec3::ZERO; rest.len()],
            plastic: vec![Vec3::ZERO; rest.len()],
            state: State::at_rest(rest),
            poses: [pose.clone(), pose],
            frames: [frames.clone(), frames.clone(), frames],
            parts: vec![0.0; shared.interpolation.len()],
            weights: vec![0.0; targets.len()],
            tau: 1.0,
            energy: 0.0,
            step,
            pushes: Vec::new(),
            started: false,
            shared,
        })
    }

    /// ω: how much of each target there is now.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// How much of negative weights was kept at the last step.
    pub fn limited(&self) -> f64 {
        self.tau
    }

    /// Elastic energy at the end of the last step, in joules.
    pub fn elastic_energy(&self) -> f64 {
        self.energy
    }

    /// ½ u̇ᵀMu̇ as seen from the bones, in joules.
    pub fn kinetic_energy(&self) -> f64 {
        self.body.kinetic_energy(&self.state.velocities)
    }

    /// u: displacements in the bind pose.
    pub fn displacements(&self) -> Vec<Vec3> {
        self.state.positions.iter().zip(&self.shared.rest).map(|(x, rest)| *x - *rest).collect()
    }

    /// Advances by `seconds`, a whole number of steps, at the end of which joints are at `world_from_joints`. The first call puts the
    /// flesh there at rest.
    pub fn step(&mut self, world_from_joints: &[Mat4], channels: &[f64], seconds: f64) -> Result<(), Error> {
        let [before, now] = &mut self.poses;
        std::mem::swap(before, now);
        if let Err(error) = now.set(&self.shared.joint_from_rest, world_from_joints) {
            std::mem::swap(before, now);
            return Err(error);
        }
        if !self.started {
            return self.begin(channels);
        }
        let count = (seconds / self.step).round().max(0.0) as usize;
        for k in 1..=count {
            Pose::between(&self.poses[0], &self.poses[1], k as f64 / count as f64, &mut self.frames[2]);
            self.inner_step(channels)?;
        }
        self.pushes.clear();
        Ok(())
    }

    /// Takes flesh along to other joints, as across a cut: displaced as it is, and moving as it does, seen from them. They move at
    /// `velocity`, in m/s.
    pub fn cut_to(
        &mut self,
        world_from_joints: &[Mat4],
        channels: &[f64],
        velocity: Vec3,
    ) -> Result<(), Error> {
        if !self.started {
            self.step(world_from_joints, channels, 0.0)?;
        }
        let [before, now] = &mut self.poses;
        now.set(&self.shared.joint_from_rest, world_from_joints)?;
        before.copy_from(now);
        for frames in &mut self.frames {
            Pose::between(&self.poses[0], &self.poses[1], 1.0, frames);
        }
        inertia::precede(&mut self.frames[0], self.step * velocity);
        self.interpolate(channels);
        Ok(())
    }

    /// Pushes a point of the skin with a force in newtons, during the next [`FullMorph::step`].
    pub fn push(&mut self, point: usize, force: Vec3) -> Result<(), Error> {
        let expected = self.shared.skin.len();
        if point >= expected {
            return Err(Error::CountMismatch { what: "points of the skin", found: point + 1, expected });
        }
        if !force.is_finite() {
            return Err(Error::NotFinite { what: "the force on point", index: point });
        }
        self.pushes.push((point, force));
        Ok(())
    }

    /// Where the points of the skin are now.
    pub fn surface(&self) -> Vec<Vec3> {
        let shared = &self.shared;
        let moved = shared.embedding.apply(&self.displacements());
        let frames = &self.frames[1];
        let place = |p: usize| {
            let detail = self.blended(&shared.places.skin[p], |target| shared.details[target][p]);
            let x = shared.skin[p] + moved[p] + detail;
            let by = |&(joint, weight): &(u32, f64)| {
                weight * frames[joint as usize].world_from_rest.transform_point3(x)
            };
            shared.influences[p].iter().map(by).sum()
        };
        (0..shared.skin.len()).map(place).collect()
    }

    /// The state as bytes: the exact bits.
    pub fn checkpoint(&self) -> Vec<u8> {
        let flags = [f64::from(u8::from(self.started)), self.state.time];
        let vectors = [&self.state.positions, &self.state.velocities, &self.earlier, &self.plastic];
        let vectors = vectors.into_iter().flatten().flat_map(|v| v.to_array());
        let poses = self.poses.iter().flat_map(Pose::numbers);
        let frames = self.frames[..2].iter().flatten().flat_map(Frame::numbers);
        flags
            .into_iter()
            .chain(vectors)
            .chain(poses)
            .chain(frames)
            .chain(self.parts.iter().copied())
            .flat_map(f64::to_le_bytes)
            .collect()
    }

    /// The reverse of [`FullMorph::checkpoint`].
    pub fn restore(&mut self, checkpoint: &[u8]) -> Result<(), Error> {
        let (words, rest) = checkpoint.as_chunks::<8>();
        if !rest.is_empty() || words.len() * 8 != self.checkpoint().len() {
            return Err(Error::Packed { problem: "the checkpoint is not one of this morph" });
        }
        let mut numbers = words.iter().map(|word| f64::from_le_bytes(*word));
        let mut next = || numbers.next().unwrap_or(0.0);
        self.started = next() != 0.0;
        let time = next();
        for list in
            [&mut self.state.positions, &mut self.state.velocities, &mut self.earlier, &mut self.plastic]
        {
            for v in list {
                *v = Vec3::new(next(), next(), next());
            }
        }
        self.state.time = time;
        self.state.accelerations.clear();
        self.poses.iter_mut().for_each(|pose| pose.set_numbers(&mut next));
        for frame in self.frames[..2].iter_mut().flatten() {
            *frame = Frame::from_numbers(&mut next);
        }
        self.parts.iter_mut().for_each(|w| *w = next());
        self.weigh();
        Ok(())
    }

    fn begin(&mut self, channels: &[f64]) -> Result<(), Error> {
        let now = self.poses[1].clone();
        self.poses[0].copy_from(&now);
        for frames in &mut self.frames {
            Pose::between(&now, &now, 1.0, frames);
        }
        self.interpolate(channels);
        self.settle(true)?;
        self.earlier = self.displacements();
        self.started = true;
        Ok(())
    }

    /// Where the flesh rests between two targets of these weights, seen from the bind pose: not on a straight line where one is harder.
    pub(super) fn rest_between(&mut self, pair: [usize; 2], weights: [f64; 2]) -> Result<Vec<Vec3>, Error> {
        self.parts.fill(0.0);
        let count = self.weights.len();
        for part in (0..self.parts.len()).step_by(count) {
            pair.iter().zip(weights).for_each(|(&target, weight)| self.parts[part + target] += weight);
        }
        self.settle(false)?;
        Ok(self.displacements())
    }

    /// Goes to where the targets, as they are weighted, and gravity, where it is `pulling`, balance.
    fn settle(&mut self, pulling: bool) -> Result<(), Error> {
        let shared = &self.shared;
        let rest = |v: usize| {
            shared.rest[v] + self.blended(&shared.places.points[v], |target| shared.rests[target][v])
        };
        let x: Vec<Vec3> = (0..shared.rest.len()).map(rest).collect();
        self.state = State::at_rest(x);
        let force = match pulling {
            true => self.force(&vec![Swing::STILL; self.frames[2].len()]),
            false => vec![Vec3::ZERO; self.plastic.len()],
        };
        self.state.internal = internal(&self.parts, &force, &self.plastic);
        self.stepper.relax(&self.body, &mut self.state, &self.guide, SETTLED * self.shared.size)?;
        Ok(())
    }

    fn interpolate(&mut self, channels: &[f64]) {
        let shared = &self.shared;
        let mut raw = vec![0.0; shared.space.raw_len()];
        let mut scratch = vec![0.0; shared.interpolation.scratch_len()];
        let frames = &self.frames[2];
        shared.space.raw(|joint| frames[joint].rotation, channels, &mut raw);
        self.tau = shared.interpolation.at(&raw, &mut scratch, &mut self.parts);
        self.weigh();
        let shared = &self.shared;
        let mass = |v: usize| self.blended(&shared.places.points[v], |target| shared.masses[target][v]);
        self.body.set_masses((0..shared.rest.len()).map(mass).collect());
    }

    /// The targets' weights over all flesh from those of the parts.
    fn weigh(&mut self) {
        let targets = self.weights.len();
        self.weights.fill(0.0);
        for (fraction, own) in self.shared.fractions.iter().zip(self.parts.chunks_exact(targets)) {
            self.weights.iter_mut().zip(own).for_each(|(to, weight)| *to += fraction * weight);
        }
    }

    /// Σ ωᵢ aᵢ at a place that is of these regions.
    fn blended<T: std::iter::Sum<T>>(&self, shares: &Shares, of: impl Fn(usize) -> T) -> T
    where
        f64: std::ops::Mul<T, Output = T>,
    {
        let targets = self.weights.len();
        let weight = |target: usize| weight(shares, &self.parts, targets, target);
        (0..targets).map(|target| weight(target) * of(target)).sum()
    }

    /// Inertia of the bones, gravity and pushes, in newtons in the bind pose.
    fn force(&self, swings: &[Swing]) -> Vec<Vec3> {
        let shared = &self.shared;
        let square = self.step * self.step;
        let frames = &self.frames[2];
        let u = self.displacements();
        let mut force: Vec<Vec3> = (0..u.len())
            .map(|v| {
                let of = |&(joint, weight): &(u32, f64)| {
                    let bracket = swings[joint as usize].bracket(shared.rest[v], u[v], self.earlier[v]);
                    let down = frames[joint as usize].rotation.transpose() * shared.gravity;
                    weight * (down - bracket / square)
                };
                self.body.masses()[v] * shared.joints[v].iter().map(of).sum::<Vec3>()
            })
            .collect();
        for &(point, push) in &self.pushes {
            let turned = |&(joint, weight): &(u32, f64)| {
                weight * (frames[joint as usize].world_from_rest.matrix3.transpose() * push)
            };
            let push: Vec3 = shared.influences[point].iter().map(turned).sum();
            let corners = shared.embedding.corners()[point];
            for (corner, weight) in corners.into_iter().zip(shared.embedding.weights()[point]) {
                force[corner as usize] += weight * push;
            }
        }
        force
    }

    fn inner_step(&mut self, channels: &[f64]) -> Result<(), Error> {
        let [before, last, now] = &self.frames;
        let swings: Vec<Swing> = (0..now.len()).map(|j| Swing::new(&before[j], &last[j], &now[j])).collect();
        self.interpolate(channels);
        let force = self.force(&swings);
        let u = self.displacements();
        // what the engine takes for the way so far is the way seen from the bones
        for (v, velocity) in self.state.velocities.iter_mut().enumerate() {
            *velocity = (u[v] - self.earlier[v]) / self.step;
        }
        self.state.internal = internal(&self.parts, &force, &self.plastic);
        self.stepper.advance(&self.body, &mut self.state, &self.guide, self.step, &mut [])?;
        self.earlier = u;
        self.flow(&force);
        self.frames.rotate_left(1);
        Ok(())
    }

    fn flow(&mut self, force: &[Vec3]) {
        let pulled: f64 = force.iter().zip(&self.state.positions).map(|(f, x)| f.dot(*x)).sum();
        self.energy = self.body.energies(&self.state, &self.shared.rest)[1] + pulled;
        let (mut creep, mut yielding, mut measure) = (0.0, 0.0, 0.0);
        for (weight, (plasticity, own)) in self.weights.iter().zip(&self.shared.plasticity) {
            let weight = weight.max(0.0);
            creep += weight * plasticity.creep;
            yielding += weight * plasticity.yield_strain;
            measure += weight * own;
        }
        let strain = (2.0 * self.energy.max(0.0) / measure).sqrt();
        if creep <= 0.0 || strain <= yielding {
            return;
        }
        let part = (1.0 - (-creep * self.step).exp()) * (1.0 - yielding / strain);
        let u = self.displacements();
        let shared = &self.shared;
        let rest = |v: usize| self.blended(&shared.places.points[v], |target| shared.rests[target][v]);
        let rests: Vec<Vec3> = (0..u.len()).map(rest).collect();
        for (v, p) in self.plastic.iter_mut().enumerate() {
            *p += part * (u[v] - *p - rests[v]);
        }
    }
}
