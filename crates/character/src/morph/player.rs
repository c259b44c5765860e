//! A morph stepped in real time, or in a bake, always by the same steps. After `new` nothing is allocated.
//!
//! Unknown are the coordinates q of displacements in the bind pose. A step is backward Euler, one Newton iteration of it by default:
//!
//! ```text
//! [M/h² + D/h + dR/dq] δ = −[M(q₊ − 2q + q₋)/h² + inertia of the bones + D(q₊ − q)/h + R(q₊ − p, s) − f]
//! ```
//!
//! with M, D and R's coefficients interpolated at the pose s that the step ends in.

use geometry::Vec3;
use glam::{Affine3A, Mat4};

use crate::Error;
use crate::frames::{Frame, Pose};

use super::inertia::{self, Swing};
use super::kit::MorphKit;
use super::polynomial::dot;
use super::press::{Press, Presses};

/// A morph that moves.
pub struct MorphPlayer {
    kit: MorphKit,
    /// The pose of the frame before and of this one, and their further numbers.
    poses: [Pose; 2],
    channels: [Vec<f64>; 2],
    /// Frames of all joints at the ends of the last two steps, and of the next.
    frames: [Vec<Frame>; 3],
    swings: Vec<Swing>,
    /// q at the ends of the last two steps; p.
    now: Vec<f64>,
    before: Vec<f64>,
    plastic: Vec<f64>,
    /// q and p before the last step, for a step that is taken again; whether there is one.
    older: Vec<f64>,
    older_plastic: Vec<f64>,
    is_repeatable: bool,
    presses: Presses,
    /// Force on q from pushes.
    force: Vec<f64>,
    /// ω of every part, and of every target over all flesh.
    parts: Vec<f64>,
    weights: Vec<f64>,
    tau: f64,
    energy: f64,
    scratch: Scratch,
    coefficients_shown: Vec<f32>,
    joints_shown: Vec<Affine3A>,
    remainder: f64,
    iterations: usize,
    most_steps: usize,
    steps: u64,
    resets: u64,
    started: bool,
}

struct Scratch {
    raw: Vec<f64>,
    interpolation: Vec<f64>,
    channels: Vec<f64>,
    blend: Vec<f64>,
    mass: Vec<f64>,
    polynomial: Vec<f64>,
    gradient: Vec<f64>,
    matrix: Vec<f64>,
    spare: Vec<f64>,
    next: Vec<f64>,
    elastic: Vec<f64>,
    residual: Vec<f64>,
    turned: Vec<f64>,
}

/// Coefficients that are summed over targets at a time: they stay in the first cache.
const TILE: usize = 1024;
/// Iterations that find where the flesh rests.
const SETTLING: usize = 30;

impl MorphPlayer {
    /// A player of a kit, at rest. All memory is allocated here.
    pub fn new(kit: MorphKit) -> Self {
        let (r, joints, targets) = (kit.mode_count(), kit.joint_count(), kit.target_count());
        let pose = Pose::rest(&kit.joint_from_rest);
        let channels = vec![0.0; kit.space.channel_count()];
        let frames = vec![Frame::REST; joints];
        let scratch = Scratch {
            raw: vec![0.0; kit.space.raw_len()],
            interpolation: vec![0.0; kit.interpolation.scratch_len()],
            channels: channels.clone(),
            blend: vec![0.0; kit.degrees.len() + r * r],
            mass: vec![0.0; r * r],
            polynomial: vec![0.0; kit.degrees.scratch_len()],
            gradient: vec![0.0; r],
            matrix: vec![0.0; r * r],
            spare: vec![0.0; r * r],
            next: vec![0.0; r],
            elastic: vec![0.0; r],
            residual: vec![0.0; r],
            turned: vec![0.0; 9 * r],
        };
        Self {
            poses: [pose.clone(), pose],
            channels: [channels.clone(), channels],
            frames: [frames.clone(), frames.clone(), frames],
            swings: vec![Swing::STILL; joints],
            now: vec![0.0; r],
            before: vec![0.0; r],
            plastic: vec![0.0; r],
            older: vec![0.0; r],
            older_plastic: vec![0.0; r],
            is_repeatable: false,
            presses: Presses::new(r),
            force: vec![0.0; r],
            parts: vec![0.0; kit.interpolation.len()],
            weights: vec![0.0; targets],
            tau: 1.0,
            energy: 0.0,
            coefficients_shown: vec![0.0; r + kit.detailed.len()],
            joints_shown: vec![Affine3A::IDENTITY; joints],
            remainder: 0.0,
            iterations: 1,
            most_steps: usize::MAX,
            steps: 0,
            resets: 0,
            started: false,
            scratch,
            kit,
        }
    }

    /// The same from the kit's bytes ([`MorphKit::to_bytes`]).
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        MorphKit::from_bytes(bytes).map(Self::new)
    }

    /// Newton iterations to a step: one is enough for linear forces, and for real time.
    pub fn set_iterations(&mut self, iterations: usize) {
        self.iterations = iterations.max(1);
    }

    /// At most so many steps in a call of [`MorphPlayer::step`]; what is longer is dropped, and flesh goes on from where it was.
    pub fn set_most_steps(&mut self, most: usize) {
        self.most_steps = most.max(1);
    }

    /// The kit.
    pub fn kit(&self) -> &MorphKit {
        &self.kit
    }

    /// Coordinates now.
    pub fn coordinates(&self) -> &[f64] {
        &self.now
    }

    /// ω: how much of each target there is now; they sum to one.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// How much of negative weights was kept at the last step, so that stiffness stayed positive: 1 is all of them.
    pub fn limited(&self) -> f64 {
        self.tau
    }

    /// Elastic energy at the end of the last step, in joules.
    pub fn elastic_energy(&self) -> f64 {
        self.energy
    }

    /// ½ q̇ᵀMq̇ as seen from the bones, in joules.
    pub fn kinetic_energy(&self) -> f64 {
        let r = self.now.len();
        let velocity = |a: usize| (self.now[a] - self.before[a]) / self.kit.step;
        let row = |a: usize| (0..r).map(|b| self.scratch.mass[a * r + b] * velocity(b)).sum::<f64>();
        0.5 * (0..r).map(|a| velocity(a) * row(a)).sum::<f64>()
    }

    /// Steps taken so far, and how often one ended beyond all numbers and was put back to rest.
    pub fn steps(&self) -> (u64, u64) {
        (self.steps, self.resets)
    }

    /// Advances by `seconds`, at the end of which joints are at `world_from_joints` and further numbers of the pose are `channels`. The
    /// first call puts the flesh there at rest. On an error nothing has moved.
    pub fn step(&mut self, world_from_joints: &[Mat4], channels: &[f64], seconds: f64) -> Result<(), Error> {
        if !(seconds >= 0.0 && seconds.is_finite()) {
            let range = "a finite number, 0 or above";
            return Err(Error::Range { what: "the time to step, in seconds,", value: seconds, range });
        }
        if !self.started {
            return self.teleport(world_from_joints, channels);
        }
        let [before, now] = &mut self.poses;
        std::mem::swap(before, now);
        if let Err(error) = now.set(&self.kit.joint_from_rest, world_from_joints) {
            std::mem::swap(before, now);
            return Err(error);
        }
        self.channels.swap(0, 1);
        put(channels, &mut self.channels[1]);
        let h = self.kit.step;
        // a frame that is a whole number of steps takes that many, whatever round-off says
        let total = self.remainder + seconds;
        let wanted = (total / h + 1e-6).floor();
        let count = wanted.min(self.most_steps as f64);
        for k in (wanted - count) as u64..wanted as u64 {
            let end = (k + 1) as f64 * h - self.remainder;
            let s = if seconds > 0.0 { (end / seconds).clamp(0.0, 1.0) } else { 1.0 };
            self.inner_step(s);
        }
        self.remainder = (total - wanted * h).max(0.0);
        if self.remainder < 1e-6 * h {
            self.remainder = 0.0;
        }
        self.force.fill(0.0);
        self.show();
        Ok(())
    }

    /// Puts flesh around bones that are at `world_from_joints`, at rest there.
    pub fn teleport(&mut self, world_from_joints: &[Mat4], channels: &[f64]) -> Result<(), Error> {
        let [before, now] = &mut self.poses;
        now.set(&self.kit.joint_from_rest, world_from_joints)?;
        before.copy_from(now);
        put(channels, &mut self.channels[1]);
        self.channels.swap(0, 1);
        put(channels, &mut self.channels[1]);
        for frames in &mut self.frames {
            Pose::between(&self.poses[0], &self.poses[1], 1.0, frames);
        }
        self.plastic.fill(0.0);
        self.interpolate(1.0);
        self.settle();
        self.remainder = 0.0;
        self.started = true;
        self.is_repeatable = false;
        self.show();
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
            self.teleport(world_from_joints, channels)?;
        }
        let [before, now] = &mut self.poses;
        now.set(&self.kit.joint_from_rest, world_from_joints)?;
        before.copy_from(now);
        self.channels.iter_mut().for_each(|own| put(channels, own));
        for frames in &mut self.frames {
            Pose::between(&self.poses[0], &self.poses[1], 1.0, frames);
        }
        inertia::precede(&mut self.frames[0], self.kit.step * velocity);
        self.interpolate(1.0);
        self.remainder = 0.0;
        self.is_repeatable = false;
        self.show();
        Ok(())
    }

    /// Takes the last step of [`MorphPlayer::step`] again, with the skin pressed: for contact. Nothing happens before the first step.
    pub fn press(&mut self, presses: &[Press]) -> Result<(), Error> {
        if !self.is_repeatable {
            return Ok(());
        }
        self.presses.set(presses, &self.kit.surface, &self.frames[1], &self.now)?;
        std::mem::swap(&mut self.before, &mut self.now);
        self.before.copy_from_slice(&self.older);
        self.plastic.copy_from_slice(&self.older_plastic);
        self.solve_step(true);
        self.show();
        Ok(())
    }

    /// Pushes a point of the skin with a force in newtons, during the next [`MorphPlayer::step`].
    pub fn push(&mut self, point: usize, force: Vec3) -> Result<(), Error> {
        let expected = self.kit.point_count();
        if point >= expected {
            return Err(Error::CountMismatch { what: "points of the skin", found: point + 1, expected });
        }
        if !force.is_finite() {
            return Err(Error::NotFinite { what: "the force on point", index: point });
        }
        let surface = &self.kit.surface;
        let turned = |&(joint, weight): &(u32, f32)| {
            let frame = &self.frames[1][joint as usize];
            f64::from(weight) * (frame.world_from_rest.matrix3.transpose() * force)
        };
        let in_bind: Vec3 = surface.influences(point).iter().map(turned).sum();
        for (column, force) in self.force.iter_mut().enumerate() {
            *force += surface.entry(point, column).dot(in_bind);
        }
        Ok(())
    }

    /// Where the points of the skin are now, into a slice with room for all of them.
    pub fn surface(&self, points: &mut [[f32; 3]]) {
        self.kit.surface.show(&self.coefficients_shown, &self.joints_shown, points);
    }

    /// The state as bytes: the exact bits. Pushes are the caller's, as the pose is.
    pub fn checkpoint(&self) -> Vec<u8> {
        let flags =
            [f64::from(u8::from(self.started)), self.remainder, self.steps as f64, self.resets as f64];
        let state = self.now.iter().chain(&self.before).chain(&self.plastic).copied();
        let channels = self.channels.iter().flatten().copied();
        let poses = self.poses.iter().flat_map(Pose::numbers);
        let frames = self.frames[..2].iter().flatten().flat_map(Frame::numbers);
        let numbers = flags.into_iter().chain(state).chain(channels).chain(poses).chain(frames);
        numbers.flat_map(f64::to_le_bytes).collect()
    }

    /// The reverse of [`MorphPlayer::checkpoint`].
    pub fn restore(&mut self, checkpoint: &[u8]) -> Result<(), Error> {
        let (words, rest) = checkpoint.as_chunks::<8>();
        if !rest.is_empty() || words.len() * 8 != self.checkpoint().len() {
            return Err(Error::Packed { problem: "the checkpoint is not one of this morph" });
        }
        let mut numbers = words.iter().map(|word| f64::from_le_bytes(*word));
        let mut next = || numbers.next().unwrap_or(0.0);
        self.started = next() != 0.0;
        self.remainder = next();
        (self.steps, self.resets) = (next() as u64, next() as u64);
        for list in [&mut self.now, &mut self.before, &mut self.plastic] {
            list.iter_mut().for_each(|x| *x = next());
        }
        self.channels.iter_mut().flatten().for_each(|x| *x = next());
        self.poses.iter_mut().for_each(|pose| pose.set_numbers(&mut next));
        for frame in self.frames[..2].iter_mut().flatten() {
            *frame = Frame::from_numbers(&mut next);
        }
        let [_, last, next] = &mut self.frames;
        next.copy_from_slice(last);
        self.is_repeatable = false;
        self.interpolate(1.0);
        self.show();
        Ok(())
    }

    /// Everything that depends on the pose, at the instant `s` of the frame whose joints the last frames are.
    fn interpolate(&mut self, s: f64) {
        let Scratch { raw, interpolation, channels, blend, mass, .. } = &mut self.scratch;
        for ((to, a), b) in channels.iter_mut().zip(&self.channels[0]).zip(&self.channels[1]) {
            *to = a + s * (b - a);
        }
        let frames = &self.frames[2];
        self.kit.space.raw(|joint| frames[joint].rotation, channels, raw);
        self.tau = self.kit.interpolation.at(raw, interpolation, &mut self.parts);
        let targets = self.weights.len();
        self.weights.fill(0.0);
        for (fraction, own) in self.kit.fractions.iter().zip(self.parts.chunks_exact(targets)) {
            self.weights.iter_mut().zip(own).for_each(|(to, weight)| *to += fraction * weight);
        }
        for (tile, blend) in blend.chunks_mut(TILE).enumerate() {
            blend.fill(0.0);
            for (weight, all) in self.parts.iter().zip(&self.kit.coefficients) {
                if *weight != 0.0 {
                    let own = &all[tile * TILE..][..blend.len()];
                    blend.iter_mut().zip(own).for_each(|(blend, own)| *blend += weight * own);
                }
            }
        }
        mass.fill(0.0);
        for (own, who) in &self.kit.masses {
            let share = share(&self.parts, who);
            mass.iter_mut().zip(&own.matrix).for_each(|(mass, own)| *mass += share * own);
        }
    }

    fn inner_step(&mut self, s: f64) {
        let h = self.kit.step;
        Pose::between(&self.poses[0], &self.poses[1], s, &mut self.frames[2]);
        for (joint, swing) in self.swings.iter_mut().enumerate() {
            *swing = Swing::new(&self.frames[0][joint], &self.frames[1][joint], &self.frames[2][joint]);
        }
        self.interpolate(s);
        let inverse = 1.0 / (h * h);
        // what does not change while iterating
        self.scratch.residual.iter_mut().zip(&self.force).for_each(|(to, force)| *to = -force);
        let Scratch { turned, residual, .. } = &mut self.scratch;
        for (mass, who) in &self.kit.masses {
            let share = share(&self.parts, who);
            if share != 0.0 {
                let gravity = h * h * self.kit.gravity;
                let states = [&self.now[..], &self.before[..]];
                mass.add_inertia(share * inverse, &self.swings, states, gravity, turned, residual);
            }
        }
        self.is_repeatable = true;
        self.solve_step(false);
        self.frames.rotate_left(1);
        self.steps += 1;
    }

    /// Newton's method from where the coordinates are to the end of the step, whose constant part stands in the residual.
    fn solve_step(&mut self, is_pressed: bool) {
        let h = self.kit.step;
        let (r, inverse) = (self.now.len(), 1.0 / (h * h));
        self.scratch.next.copy_from_slice(&self.now);
        for _ in 0..self.iterations {
            self.energy = self.evaluate(h, inverse);
            let Scratch { gradient, matrix, spare, next, mass, .. } = &mut self.scratch;
            if is_pressed {
                self.presses.add(next, gradient, matrix);
            }
            if !solve(matrix, gradient, r) {
                // bent so far that stiffness is lost: that of the rest shapes is always there
                spare.fill(0.0);
                for (weight, own) in self.parts.iter().zip(&self.kit.stiffness) {
                    spare.iter_mut().zip(own).for_each(|(to, own)| *to += weight.max(0.0) * own);
                }
                spare.iter_mut().zip(mass.iter()).for_each(|(to, mass)| *to += inverse * mass);
                if is_pressed {
                    spare.iter_mut().zip(&self.presses.matrix).for_each(|(to, own)| *to += own);
                }
                solve(spare, gradient, r);
            }
            next.iter_mut().zip(gradient.iter()).for_each(|(q, step)| *q -= step);
        }
        self.older.copy_from_slice(&self.before);
        self.older_plastic.copy_from_slice(&self.plastic);
        std::mem::swap(&mut self.before, &mut self.now);
        self.now.copy_from_slice(&self.scratch.next);
        if !self.now.iter().all(|q| q.is_finite()) {
            self.settle();
            self.resets += 1;
            self.is_repeatable = false;
        }
        self.flow(h);
    }

    /// The residual and the matrix at `next`, into gradient and matrix; the elastic energy.
    fn evaluate(&mut self, h: f64, inverse: f64) -> f64 {
        let r = self.now.len();
        let Scratch { blend, mass, polynomial, gradient, matrix, next, elastic, residual, .. } =
            &mut self.scratch;
        for ((to, q), p) in elastic.iter_mut().zip(next.iter()).zip(&self.plastic) {
            *to = q - p;
        }
        let (coefficients, damping) = blend.split_at(self.kit.degrees.len());
        let energy = self.kit.degrees.evaluate(coefficients, elastic, gradient, matrix, polynomial);
        for a in 0..r {
            let (mut inertia, mut drag) = (0.0, 0.0);
            for b in 0..r {
                inertia += mass[a * r + b] * (next[b] - 2.0 * self.now[b] + self.before[b]);
                drag += damping[a * r + b] * (next[b] - self.now[b]);
                matrix[a * r + b] += inverse * mass[a * r + b] + damping[a * r + b] / h;
            }
            gradient[a] += residual[a] + inverse * inertia + drag / h;
        }
        energy
    }

    /// Puts the coordinates where nothing moves, by Newton's method from between the targets' rest shapes.
    fn settle(&mut self) {
        let r = self.now.len();
        let swing = |frame: &Frame| Swing { to_joint: frame.rotation.transpose(), ..Swing::STILL };
        for (to, frame) in self.swings.iter_mut().zip(&self.frames[2]) {
            *to = swing(frame);
        }
        self.now.fill(0.0);
        for (weight, rest) in self.parts.iter().zip(&self.kit.rests) {
            self.now.iter_mut().zip(rest).for_each(|(q, rest)| *q += weight * rest);
        }
        self.before.copy_from_slice(&self.now);
        let Scratch { turned, residual, .. } = &mut self.scratch;
        residual.fill(0.0);
        for (mass, who) in &self.kit.masses {
            let share = share(&self.parts, who);
            let states = [&self.now[..], &self.before[..]];
            mass.add_inertia(share, &self.swings, states, self.kit.gravity, turned, residual);
        }
        self.scratch.next.copy_from_slice(&self.now);
        for _ in 0..SETTLING {
            let Scratch { blend, polynomial, gradient, matrix, residual, elastic, .. } = &mut self.scratch;
            for ((to, q), p) in elastic.iter_mut().zip(&self.now).zip(&self.plastic) {
                *to = q - p;
            }
            let coefficients = &blend[..self.kit.degrees.len()];
            self.energy = self.kit.degrees.evaluate(coefficients, elastic, gradient, matrix, polynomial);
            gradient.iter_mut().zip(residual.iter()).for_each(|(g, r)| *g += r);
            if !solve(matrix, gradient, r) {
                self.now.copy_from_slice(&self.scratch.next);
                break;
            }
            let (step, size) = (dot(gradient, gradient), dot(&self.now, &self.now));
            self.now.iter_mut().zip(gradient.iter()).for_each(|(q, step)| *q -= step);
            if step <= 1e-26 * size.max(1e-20) {
                break;
            }
        }
        if !self.now.iter().all(|q| q.is_finite()) {
            self.now.copy_from_slice(&self.scratch.next);
        }
        self.before.copy_from_slice(&self.now);
    }

    /// Lets the rest shape creep, where targets do.
    fn flow(&mut self, h: f64) {
        let (mut creep, mut yielding, mut measure) = (0.0, 0.0, 0.0);
        for (weight, (plasticity, own)) in self.weights.iter().zip(&self.kit.plasticity) {
            let weight = weight.max(0.0);
            creep += weight * plasticity.creep;
            yielding += weight * plasticity.yield_strain;
            measure += weight * own;
        }
        if creep <= 0.0 || measure <= 0.0 {
            return;
        }
        let strain = (2.0 * self.energy.max(0.0) / measure).sqrt();
        if strain <= yielding {
            return;
        }
        let part = (1.0 - (-creep * h).exp()) * (1.0 - yielding / strain);
        for (k, p) in self.plastic.iter_mut().enumerate() {
            let rest: f64 = self.parts.iter().zip(&self.kit.rests).map(|(w, rest)| w * rest[k]).sum();
            *p += part * (self.now[k] - *p - rest);
        }
    }

    /// What is shown: velocities carry on over what is left of a frame beyond its last step.
    fn show(&mut self) {
        let ahead = self.remainder / self.kit.step;
        let r = self.now.len();
        for k in 0..r {
            self.coefficients_shown[k] = (self.now[k] + ahead * (self.now[k] - self.before[k])) as f32;
        }
        for (to, &part) in self.coefficients_shown[r..].iter_mut().zip(&self.kit.detailed) {
            *to = self.parts[part] as f32;
        }
        Pose::between(&self.poses[0], &self.poses[1], 1.0, &mut self.frames[2]);
        for (to, frame) in self.joints_shown.iter_mut().zip(&self.frames[2]) {
            *to = Affine3A::from_mat4(Mat4::from(frame.world_from_rest.as_affine3()));
        }
    }
}

fn put(channels: &[f64], to: &mut [f64]) {
    for (k, to) in to.iter_mut().enumerate() {
        *to = channels.get(k).copied().filter(|x| x.is_finite()).unwrap_or(0.0);
    }
}

/// Σ ω of the parts that have a mass.
fn share(parts: &[f64], who: &[usize]) -> f64 {
    who.iter().map(|&part| parts[part]).sum()
}

/// Replaces `right` by the solution of a symmetric positive definite system, row after row; false, and `right` as it was, where it is
/// not positive definite.
fn solve(matrix: &mut [f64], right: &mut [f64], r: usize) -> bool {
    // LLᵀ in the lower triangle
    for i in 0..r {
        let (done, rest) = matrix.split_at_mut(i * r);
        let row = &mut rest[..r];
        for j in 0..i {
            let above = &done[j * r..j * r + r];
            row[j] = (row[j] - dot(&row[..j], &above[..j])) / above[j];
        }
        let square = row[i] - dot(&row[..i], &row[..i]);
        if square.is_nan() || square <= 0.0 {
            return false;
        }
        row[i] = square.sqrt();
    }
    for i in 0..r {
        let row = &matrix[i * r..i * r + r];
        right[i] = (right[i] - dot(&row[..i], &right[..i])) / row[i];
    }
    for i in (0..r).rev() {
        right[i] /= matrix[i * r + i];
        for j in 0..i {
            right[j] -= matrix[i * r + j] * right[i];
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_systems_are_solved_and_bad_ones_told() {
        let mut matrix = [4.0, 2.0, 0.4, 2.0, 5.0, 1.0, 0.4, 1.0, 3.0];
        let x = [1.0, -2.0, 0.5];
        let mut right: Vec<f64> = (0..3).map(|i| dot(&matrix[3 * i..3 * i + 3], &x)).collect();
        assert!(solve(&mut matrix, &mut right, 3));
        assert!(right.iter().zip(x).all(|(a, b)| (a - b).abs() < 1e-14));
        assert!(!solve(&mut [1.0, 2.0, 2.0, 1.0], &mut [1.0, 1.0], 2));
        assert!(!solve(&mut [f64::NAN], &mut [1.0], 1));
    }
}
