//! Steps of corotated flesh: descent by conjugate gradients with a factor that never changes.

use geometry::{Mat3, Vec3};
use linear::{ConstraintRows, Solver};

use crate::Error;
use crate::frames::Frame;
use crate::kit::Kit;
use crate::region::Start;

use super::Corotated;
use super::rotation::{rotation, symmetric};

/// Iterations of a step at most, and the residual, relative to the first, at which fewer are enough.
const ITERATIONS: usize = 6;
const ENOUGH: f64 = 1e-3;
/// A step length so near to 1 is taken as 1: its gradient is known already.
const UNIT_LENGTH: f64 = 0.25;
/// Corotated flesh made ready for steps of one length: a factor, and scratch.
pub(crate) struct CorotatedSystem {
    known: Vec<bool>,
    /// h and β, in seconds.
    step: f64,
    beta: f64,
    solver: Solver,
    rows: ConstraintRows,
    /// Around every point: the volume of its part, and the mean of λ.
    shares: Vec<(f64, f64)>,
    /// D.
    turns: Vec<Mat3>,
    /// Of every tet: F now; R₀ and S₀.
    deformations: Vec<Mat3>,
    strains: Vec<(Mat3, Mat3)>,
    /// Of every point: where it is, dE/dx, the volume or pressure there, rotations summed.
    points: Vec<Vec3>,
    point_gradient: Vec<Vec3>,
    pressures: Vec<f64>,
    point_turns: Vec<Mat3>,
    /// Of every coefficient that takes part: where inertia leads, where the step begins, the force on it, where it is.
    inertial: Vec<Vec3>,
    before: Vec<Vec3>,
    force: Vec<Vec3>,
    x: Vec<Vec3>,
    goals: Vec<Vec3>,
    gradient: Vec<Vec3>,
    trial: Vec<Vec3>,
    trial_gradient: Vec<Vec3>,
    descent: Vec<Vec3>,
    direction: Vec<Vec3>,
}

impl CorotatedSystem {
    /// `held` coefficients of the kit are held by bones.
    pub(crate) fn new(kit: &Kit, flesh: &Corotated, held: &[bool]) -> Result<Self, Error> {
        let region = &flesh.region;
        let own = region.functions.iter().zip(&flesh.free);
        let known: Vec<bool> = own.map(|(&f, free)| held[f as usize] || !free).collect();
        let (h, beta) = (kit.step, kit.beta);
        let mut matrix = region.stiffness.clone();
        matrix.values_mut().iter_mut().for_each(|block| *block *= 1.0 + beta / h);
        region.mass.add_to(1.0 / (h * h), &mut matrix);
        for &(f, k, _) in &flesh.springs {
            matrix.add(f, f, Mat3::from_diagonal(Vec3::splat(k)));
        }
        let rows = ConstraintRows::none(known.len());
        let mut solver = Solver::new(matrix.pattern(), &known, &rows, linear::Settings::default())?;
        if known.contains(&false) {
            solver.factorize(&matrix, &rows)?;
        }
        let mut shares = vec![(0.0, 0.0); flesh.points.fine_count()];
        for tet in &flesh.tets {
            for &p in &tet.corners {
                let share = &mut shares[p as usize];
                *share = (share.0 + 0.25 * tet.volume, share.1 + 0.25 * tet.volume * tet.lambda);
            }
        }
        shares.iter_mut().filter(|share| share.0 > 0.0).for_each(|share| share.1 /= share.0);
        let (count, points, tets) = (known.len(), flesh.points.fine_count(), flesh.tets.len());
        let zeros = vec![Vec3::ZERO; count];
        Ok(Self {
            known,
            step: h,
            beta,
            solver,
            rows,
            shares,
            turns: vec![Mat3::IDENTITY; count],
            deformations: vec![Mat3::IDENTITY; tets],
            strains: vec![(Mat3::IDENTITY, Mat3::ZERO); tets],
            points: vec![Vec3::ZERO; points],
            point_gradient: vec![Vec3::ZERO; points],
            pressures: vec![0.0; points],
            point_turns: vec![Mat3::ZERO; points],
            inertial: zeros.clone(),
            before: zeros.clone(),
            force: zeros.clone(),
            x: zeros.clone(),
            goals: zeros.clone(),
            gradient: zeros.clone(),
            trial: zeros.clone(),
            trial_gradient: zeros.clone(),
            descent: zeros.clone(),
            direction: zeros,
        })
    }

    /// One step, at the end of which joints are at `frames`: where coefficients are then, into `after`, which has a guess, and where those
    /// are that are held.
    pub(crate) fn step(
        &mut self,
        kit: &Kit,
        flesh: &Corotated,
        frames: &[Frame],
        from: &Start,
        after: &mut [Vec3],
    ) -> Result<(), Error> {
        let mut x = std::mem::take(&mut self.x);
        x.iter_mut().zip(&flesh.region.functions).for_each(|(x, &f)| *x = after[f as usize]);
        let descended = self.descend(kit, flesh, frames, from, &mut x);
        let found = x.iter().zip(&flesh.region.functions).zip(&self.known).filter(|(_, known)| !**known);
        found.for_each(|((x, &f), _)| after[f as usize] = *x);
        self.x = x;
        descended
    }

    fn descend(
        &mut self,
        kit: &Kit,
        flesh: &Corotated,
        frames: &[Frame],
        from: &Start,
        after: &mut [Vec3],
    ) -> Result<(), Error> {
        self.begin(kit, flesh, frames, from);
        self.begin_nearer(flesh, from, after)?;
        self.direction.fill(Vec3::ZERO);
        let (mut first, mut size) = (0.0, 0.0);
        for iteration in 0..ITERATIONS {
            self.descent.copy_from_slice(&self.gradient);
            precondition(&mut self.solver, &self.rows, &self.known, &self.turns, &mut self.descent)?;
            let now = dot(&self.gradient, &self.descent);
            if iteration == 0 {
                first = now;
            } else if now <= ENOUGH * ENOUGH * first {
                break;
            }
            // Polak and Ribière, with the gradient before in `trial_gradient`; never against the descent
            let changed = now - dot(&self.trial_gradient, &self.descent);
            let turn = if iteration > 0 { (changed / size).max(0.0) } else { 0.0 };
            for (d, z) in self.direction.iter_mut().zip(&self.descent) {
                *d = turn * *d - *z;
            }
            let mut slope = dot(&self.gradient, &self.direction);
            if slope >= 0.0 {
                self.direction.iter_mut().zip(&self.descent).for_each(|(d, z)| *d = -*z);
                slope = -now;
            }
            size = now;
            if slope >= 0.0 || !slope.is_finite() {
                break;
            }
            // a secant finds how far: the gradient is nearly linear on the way
            for (t, (x, d)) in self.trial.iter_mut().zip(after.iter().zip(&self.direction)) {
                *t = *x + *d;
            }
            let trial = std::mem::take(&mut self.trial);
            self.differentiate(flesh, from.gravity, &trial);
            self.trial = trial;
            let curvature = dot(&self.trial_gradient, &self.direction) - slope;
            let length = if curvature > 0.0 { (-slope / curvature).min(2.0) } else { 1.0 };
            if (length - 1.0).abs() < UNIT_LENGTH {
                after.copy_from_slice(&self.trial);
            } else {
                after.iter_mut().zip(&self.direction).for_each(|(x, d)| *x += length * *d);
                self.differentiate(flesh, from.gravity, after);
            }
            std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
        }
        Ok(())
    }

    /// Adds to `after` how far coefficients are moved within a step by forces on them.
    pub(crate) fn respond(
        &mut self,
        flesh: &Corotated,
        force: &[Vec3],
        after: &mut [Vec3],
    ) -> Result<(), Error> {
        let functions = &flesh.region.functions;
        self.descent.iter_mut().zip(functions).for_each(|(own, &f)| *own = force[f as usize]);
        precondition(&mut self.solver, &self.rows, &self.known, &self.turns, &mut self.descent)?;
        self.descent.iter().zip(functions).for_each(|(z, &f)| after[f as usize] += *z);
        Ok(())
    }

    /// Begins where inertia leads or where bones take flesh as it is, which is given in `after`: wherever there is less to be done. In quick
    /// turns inertia leads to strains from which a few iterations do not come back. The gradient there, into `gradient`.
    fn begin_nearer(&mut self, flesh: &Corotated, from: &Start, after: &mut [Vec3]) -> Result<(), Error> {
        let mut taken = std::mem::take(&mut self.trial);
        taken.copy_from_slice(after);
        let mut least = f64::INFINITY;
        for by_inertia in [true, false] {
            for (f, x) in taken.iter_mut().enumerate().filter(|(f, _)| !self.known[*f]) {
                *x = if by_inertia { self.inertial[f] } else { after[f] };
            }
            self.differentiate(flesh, from.gravity, &taken);
            self.descent.copy_from_slice(&self.trial_gradient);
            precondition(&mut self.solver, &self.rows, &self.known, &self.turns, &mut self.descent)?;
            let work = dot(&self.trial_gradient, &self.descent);
            if work < least {
                least = work;
                std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
                self.direction.copy_from_slice(&taken);
            }
        }
        after.copy_from_slice(&self.direction);
        self.trial = taken;
        Ok(())
    }

    /// What a step is measured against; rotations and strains where it begins.
    fn begin(&mut self, kit: &Kit, flesh: &Corotated, frames: &[Frame], from: &Start) {
        for (k, &f) in flesh.region.functions.iter().enumerate() {
            let f = f as usize;
            self.inertial[k] = from.predicted[f];
            self.before[k] = from.coefficients[f];
            self.force[k] = from.force[f];
        }
        for &(f, _, joint) in &flesh.springs {
            let place = frames[joint as usize].world_from_rest;
            let rest = kit.rest[flesh.region.functions[f as usize] as usize];
            self.goals[f as usize] = place.transform_point3(rest);
        }
        let before = std::mem::take(&mut self.before);
        self.place(flesh, &before);
        self.before = before;
        self.point_turns.fill(Mat3::ZERO);
        for (tet, strain) in flesh.tets.iter().zip(&mut self.strains) {
            let f = tet.deformation(&self.points);
            let turn = rotation(&f);
            *strain = (turn, symmetric(turn.transpose() * f));
            let turn = turn * tet.volume;
            tet.corners.iter().for_each(|&p| self.point_turns[p as usize] += turn);
        }
        for (turn, &place) in self.turns.iter_mut().zip(&flesh.places) {
            *turn = rotation(&self.point_turns[place as usize]);
        }
    }

    /// x = B c.
    fn place(&mut self, flesh: &Corotated, coefficients: &[Vec3]) {
        for (p, x) in self.points.iter_mut().enumerate() {
            *x = flesh.points.row(p).map(|(f, value)| value * coefficients[f as usize]).sum();
        }
    }

    /// The gradient at `x`, into `trial_gradient`; zero where bones hold.
    fn differentiate(&mut self, flesh: &Corotated, gravity: Vec3, x: &[Vec3]) {
        self.place(flesh, x);
        self.pressures.fill(0.0);
        for (tet, deformation) in flesh.tets.iter().zip(&mut self.deformations) {
            *deformation = tet.deformation(&self.points);
            let volume = 0.25 * tet.volume * deformation.determinant();
            tet.corners.iter().for_each(|&p| self.pressures[p as usize] += volume);
        }
        for (pressure, &(volume, lambda)) in self.pressures.iter_mut().zip(&self.shares) {
            *pressure = if volume > 0.0 { lambda * (*pressure / volume - 1.0) } else { 0.0 };
        }
        self.point_gradient.fill(Vec3::ZERO);
        let viscosity = self.beta / self.step;
        for ((tet, f), before) in flesh.tets.iter().zip(&self.deformations).zip(&self.strains) {
            let mean = 0.25 * tet.corners.iter().map(|&p| self.pressures[p as usize]).sum::<f64>();
            let stress = tet.stress(f, before, mean, viscosity) * tet.inverse.transpose();
            let [a, b, c, d] = tet.corners.map(|p| p as usize);
            self.point_gradient[b] += stress.x_axis;
            self.point_gradient[c] += stress.y_axis;
            self.point_gradient[d] += stress.z_axis;
            self.point_gradient[a] -= stress.x_axis + stress.y_axis + stress.z_axis;
        }
        let mass = &flesh.region.mass;
        let inertia = 1.0 / (self.step * self.step);
        for (f, gradient) in self.trial_gradient.iter_mut().enumerate() {
            if self.known[f] {
                *gradient = Vec3::ZERO;
                continue;
            }
            let inertial = inertia * mass.row_times(f, |j| x[j] - self.inertial[j]);
            *gradient = inertial - mass.weights()[f] * gravity - self.force[f];
        }
        for (p, &gradient) in self.point_gradient.iter().enumerate() {
            flesh.points.row(p).for_each(|(f, value)| self.trial_gradient[f as usize] += value * gradient);
        }
        for &(f, k, _) in &flesh.springs {
            self.trial_gradient[f as usize] += k * (x[f as usize] - self.goals[f as usize]);
        }
        for (gradient, known) in self.trial_gradient.iter_mut().zip(&self.known) {
            if *known {
                *gradient = Vec3::ZERO;
            }
        }
    }
}

/// z ← D A⁻¹ Dᵀ z, zero where bones hold.
fn precondition(
    solver: &mut Solver,
    rows: &ConstraintRows,
    known: &[bool],
    turns: &[Mat3],
    z: &mut [Vec3],
) -> Result<(), Error> {
    for ((z, turn), known) in z.iter_mut().zip(turns).zip(known) {
        *z = if *known { Vec3::ZERO } else { turn.transpose() * *z };
    }
    solver.correct(rows, z, &mut [])?;
    for ((z, turn), known) in z.iter_mut().zip(turns).zip(known) {
        *z = if *known { Vec3::ZERO } else { *turn * *z };
    }
    Ok(())
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::OWN_VOLUME;
    use super::*;
    use crate::flesh::Flesh;
    use crate::{Joint, Method, Settings, Skin};
    use geometry::{Random, TetMesh, nearest_rotation};
    use glam::DAffine3;

    fn kit() -> Kit {
        let bar = TetMesh::box_grid([4, 2, 2], Vec3::new(0.4, 0.15, 0.15)).unwrap();
        let (points, triangles) = (bar.points().to_vec(), bar.boundary_faces());
        let influences = vec![vec![(0, 1.0)]; points.len()];
        let place = DAffine3::from_translation(Vec3::new(0.05, 0.07, 0.07));
        let joints = [Joint { parent: None, rest_from_joint: place }];
        let settings = Settings { cells: 60, gravity: Vec3::new(0.3, -9.0, 1.0), ..Settings::default() };
        let flesh = Flesh::new(&joints, Skin { points, triangles, influences }, settings).unwrap();
        Kit::new(&flesh, Method::Corotated, 1.0 / 120.0).unwrap()
    }

    /// What a step minimises, apart from R's dependence on F, which adds nothing to the gradient.
    fn energy(system: &mut CorotatedSystem, kit: &Kit, from: &Start, x: &[Vec3]) -> f64 {
        let flesh = kit.corotated.as_ref().unwrap();
        system.place(flesh, x);
        let mass = &flesh.region.mass;
        let apart = |f: usize| x[f] - system.inertial[f];
        let mut sum = mass.energy(apart) / (system.step * system.step);
        for f in 0..x.len() {
            sum -= (mass.weights()[f] * from.gravity + from.force[f]).dot(x[f]);
        }
        for &(f, k, _) in &flesh.springs {
            sum += 0.5 * k * x[f as usize].distance_squared(system.goals[f as usize]);
        }
        let square = |m: Mat3| m.to_cols_array().iter().map(|x| x * x).sum::<f64>();
        let mut volumes = vec![0.0; system.points.len()];
        for (tet, before) in flesh.tets.iter().zip(&system.strains) {
            let f = tet.deformation(&system.points);
            let viscous = system.beta / system.step * square(symmetric(before.0.transpose() * f) - before.1);
            sum += tet.volume * tet.mu * (square(f - nearest_rotation(&f)) + viscous);
            let own = f.determinant() - 1.0;
            sum += 0.5 * OWN_VOLUME * tet.volume * tet.lambda * own * own;
            tet.corners.iter().for_each(|&p| volumes[p as usize] += 0.25 * tet.volume * f.determinant());
        }
        for (volume, &(share, lambda)) in
            volumes.iter().zip(&system.shares).filter(|(_, share)| share.0 > 0.0)
        {
            sum += 0.5 * (1.0 - OWN_VOLUME) * lambda * share * (volume / share - 1.0).powi(2);
        }
        sum
    }

    #[test]
    fn the_gradient_agrees_with_differences() {
        let kit = kit();
        let flesh = kit.corotated.clone().unwrap();
        let known = vec![false; kit.rest.len()];
        let mut system = CorotatedSystem::new(&kit, &flesh, &known).unwrap();
        let mut random = Random::new(5);
        let mut shaken =
            |by: f64| -> Vec<Vec3> { kit.rest.iter().map(|p| *p + by * random.vec3()).collect() };
        let (coefficients, x, predicted) = (shaken(0.01), shaken(0.02), shaken(0.03));
        let force = shaken(1.0);
        let held = kit.rest.clone();
        let (gravity, active) = (kit.gravity, None);
        let from = Start {
            coefficients: &coefficients,
            predicted: &predicted,
            held: &held,
            force: &force,
            gravity,
            active,
        };
        system.begin(&kit, &flesh, &[Frame::REST], &from);
        system.differentiate(&flesh, from.gravity, &x);
        let gradient = system.trial_gradient.clone();
        let size = gradient.iter().map(|g| g.length()).fold(0.0, f64::max);
        let step = 1e-6;
        for f in (0..x.len()).step_by(7) {
            for axis in 0..3 {
                let mut at = |by: f64| {
                    let mut x = x.clone();
                    x[f][axis] += by;
                    energy(&mut system, &kit, &from, &x)
                };
                let difference = (at(step) - at(-step)) / (2.0 * step);
                let error = (difference - gradient[f][axis]).abs();
                assert!(error < 1e-5 * size, "{f} {axis}: {difference} {}", gradient[f][axis]);
            }
        }
    }
}
