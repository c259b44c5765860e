//! A take to learn from: made to obey physics first, because forces of raw differences are mostly noise (paper, figure 2).

use geometry::Vec3;

use super::state::View;
use crate::body::Body;
use crate::error::Error;
use crate::ground::Terrain;
use crate::recursion::Data;
use crate::repair::Repair;
use crate::spline::Moment;
use crate::take::{Build, Take};

/// Frames at either end that are left out: splines have no acceleration there.
const ENDS: usize = 2;
/// How near to the take, in m.
const FOLLOW: f64 = 0.02;

/// A take as it is learnt from.
#[derive(Clone, Debug)]
pub struct Example {
    pub(crate) body: Body,
    pub(crate) terrain: Terrain,
    pub(crate) moments: Vec<Moment>,
    /// u = M q̈ + C + h, by degrees of freedom, at every moment.
    pub(crate) forces: Vec<Vec<f64>>,
    /// ( force under the first foot, under the second one, τ ), by degrees of freedom, at every moment.
    pub(crate) apart: Vec<Vec<f64>>,
    pub(crate) resting: Vec<u32>,
    /// The joint of each foot.
    feet: Vec<usize>,
    /// Whether the smoothing settled.
    pub converged: bool,
}

impl Example {
    /// Smooths a take; `build` comes from [`super::Prior::build`].
    pub fn of(take: &Take, build: &Build) -> Result<Self, Error> {
        let repair = Repair { follow: FOLLOW, build: build.clone(), ..Repair::default() };
        let repaired = repair.run(take)?;
        let body = repaired.body;
        let mut data = Data::new(&body);
        let (mut moments, mut forces, mut apart, mut resting) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for frame in ENDS..take.frame_count().saturating_sub(ENDS) {
            let mut moment = Moment::new(&body);
            repaired.solution.spline.frame(&body, frame, &mut moment);
            let mut u = vec![0.0; body.dof_count()];
            data.inverse_dynamics(&body, &moment.q, &moment.v, &moment.a, repair.gravity, &mut u);
            let mut parts = u.clone();
            parts[..6].fill(0.0);
            for &(index, force) in &repaired.solution.forces[frame] {
                let sole = &repaired.soles[index];
                let x = data.point(&body, sole.joint, sole.point);
                take_from(&mut parts, sole.foot, |add| data.point_jacobian(&body, sole.joint, x, add), force);
            }
            moments.push(moment);
            forces.push(u);
            apart.push(parts);
            resting
                .push(flags(repaired.contacts.iter().filter(|c| c.frames.contains(&frame)).map(|c| c.sole)));
        }
        let converged = repaired.solution.converged;
        let count = repaired.soles.iter().map(|sole| sole.foot + 1).max().unwrap_or(0);
        let joint =
            |foot: usize| repaired.soles.iter().find(|sole| sole.foot == foot).map_or(0, |sole| sole.joint);
        let feet = (0..count).map(joint).collect();
        Ok(Self { terrain: repaired.terrain, body, moments, forces, apart, resting, feet, converged })
    }

    /// The same with forces under the feet that were measured, and not found: of every frame of the take, under its first and its second foot
    /// in the order of their joints, the force in N and where it acts, in m.
    pub fn with_plates(mut self, plates: &[[(Vec3, Vec3); 2]]) -> Self {
        let mut data = Data::new(&self.body);
        for (frame, moment) in self.moments.iter().enumerate() {
            let mut parts = self.forces[frame].clone();
            parts[..6].fill(0.0);
            data.kinematics(&self.body, &moment.q);
            let Some(measured) = plates.get(frame + ENDS) else { continue };
            for (foot, &(force, place)) in measured.iter().enumerate().take(self.feet.len()) {
                let joint = self.feet[foot];
                let body = &self.body;
                take_from(&mut parts, foot, |add| data.point_jacobian(body, joint, place, add), force);
            }
            self.apart[frame] = parts;
        }
        self
    }

    /// What a prior speaks of.
    pub(crate) fn forces_of(&self, apart: bool) -> &[Vec<f64>] {
        if apart { &self.apart } else { &self.forces }
    }

    /// Frames.
    pub fn frame_count(&self) -> usize {
        self.moments.len()
    }

    /// Forces count by the motion that they make: over the root of the inertia that each degree of freedom moves.
    pub(crate) fn force_scale(&self, view: &View) -> Vec<f64> {
        let (body, n) = (&self.body, self.body.dof_count());
        let mut matrix = vec![0.0; n * n];
        let q = &self.moments[self.moments.len() / 2].q;
        Data::new(body).mass_matrix(body, q, &mut matrix);
        let mut diagonal: Vec<f64> = (0..n).map(|k| matrix[k * n + k].max(1e-9)).collect();
        if view.is_apart() {
            // both feet's forces move the whole
            diagonal.copy_within(0..3, 3);
        }
        // both are divided by the mass in `force`, so that a kilogram counts as one; the root's frame does not matter to a mass
        let mut ordered = view.force(&unturned(q), &diagonal);
        ordered.iter_mut().for_each(|inertia| *inertia = inertia.max(1e-6).sqrt().recip());
        ordered
    }
}

/// Takes what a force under a foot makes of joint torques from them, and adds it to that foot's.
fn take_from(
    parts: &mut [f64],
    foot: usize,
    jacobian: impl FnOnce(&mut dyn FnMut(usize, Vec3)),
    force: Vec3,
) {
    jacobian(&mut |k, j| {
        if k >= 6 {
            parts[k] -= j.dot(force);
        }
    });
    let first = 3 * foot.min(1);
    (0..3).for_each(|k| parts[first + k] += force[k]);
}

/// The same pose with an upright root.
fn unturned(q: &[f64]) -> Vec<f64> {
    let mut q = q.to_vec();
    q[3..7].copy_from_slice(&[0.0, 0.0, 0.0, 1.0]);
    q
}

/// A bit for each sole point.
pub(crate) fn flags(soles: impl Iterator<Item = usize>) -> u32 {
    soles.filter(|&sole| sole < 32).fold(0, |flags, sole| flags | 1 << sole)
}
