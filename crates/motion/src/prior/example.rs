//! A take to learn from: made to obey physics first, because forces of raw differences are mostly noise (paper, figure 2).

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
    pub(crate) resting: Vec<u32>,
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
        let (mut moments, mut forces, mut resting) = (Vec::new(), Vec::new(), Vec::new());
        for frame in ENDS..take.frame_count().saturating_sub(ENDS) {
            let mut moment = Moment::new(&body);
            repaired.solution.spline.frame(&body, frame, &mut moment);
            let mut u = vec![0.0; body.dof_count()];
            data.inverse_dynamics(&body, &moment.q, &moment.v, &moment.a, repair.gravity, &mut u);
            moments.push(moment);
            forces.push(u);
            resting
                .push(flags(repaired.contacts.iter().filter(|c| c.frames.contains(&frame)).map(|c| c.sole)));
        }
        let converged = repaired.solution.converged;
        Ok(Self { terrain: repaired.terrain, body, moments, forces, resting, converged })
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
        let diagonal: Vec<f64> = (0..n).map(|k| matrix[k * n + k].max(1e-9)).collect();
        // both are divided by the mass in `force`, so that a kilogram counts as one; the root's frame does not matter to a mass
        let mut ordered = view.force(&unturned(q), &diagonal);
        ordered.iter_mut().for_each(|inertia| *inertia = inertia.max(1e-6).sqrt().recip());
        ordered
    }
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
