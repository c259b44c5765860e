//! A prior's share of a spacetime problem: the likelihood of every frame as a sum of squares, with slopes for Gauss–Newton.

use std::sync::Arc;

use super::mixture::Mixture;
use super::state::{Parts, View};
use super::subspace::{Subspace, dot};
use super::{Prior, whitened};
use crate::body::Body;
use crate::derivatives::Derivatives;
use crate::error::Error;
use crate::ground::Terrain;
use crate::spline::{Moment, Spline};

/// Keeps the root of the logarithm smooth where the process is as sure as it can be.
const SMOOTH: f64 = 1e-4;
/// σ of poses outside of their subspace where that is all there is, in rad and m.
pub(crate) const EIGEN_POSE: f64 = 0.02;

/// How a prior takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// By the likelihood of states and forces.
    #[default]
    Forces,
    /// By principal components of poses alone, torques being small as without a prior (Safonova, Hodgins and Pollard 2004): for comparison.
    Poses,
}

/// A prior and how much it counts.
#[derive(Clone, Debug)]
pub struct Guide {
    /// What was learnt.
    pub prior: Arc<Prior>,
    /// How much the likelihood of a second counts against the other aims; 1 is usual, 0 leaves only the first guess to it.
    pub weight: f64,
    /// How it takes part.
    pub manner: Manner,
}

impl Guide {
    /// A prior as it usually takes part.
    pub fn new(prior: Arc<Prior>) -> Self {
        Self { prior, weight: 1.0, manner: Manner::default() }
    }
}

/// A prior bound to a body.
#[derive(Clone, Debug)]
pub struct Likelihood<'a> {
    pub(crate) prior: &'a Prior,
    pub(crate) view: View,
    pub(crate) weight: f64,
    /// Rows over states, and over forces, of what lies outside of the components.
    outside: [Vec<f64>; 2],
    /// Of poses, where they are all that counts.
    poses: Option<Subspace>,
}

/// Rows of a frame: residuals, and slopes by degrees of freedom.
#[derive(Clone, Debug, Default)]
pub(crate) struct PriorRows {
    pub(crate) residuals: Vec<f64>,
    pub(crate) parts: Parts,
    /// Slopes by the generalised forces, of the first rows.
    pub(crate) by_forces: Vec<f64>,
}

/// (1 − B Bᵀ) S over σ, by rows.
pub(crate) fn outside(space: &Subspace, noise: f64) -> Vec<f64> {
    let n = space.size();
    let mut rows = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            let inside: f64 =
                (0..space.dimension()).map(|k| space.component(k)[i] * space.component(k)[j]).sum();
            let one = if i == j { 1.0 } else { 0.0 };
            rows[i * n + j] = (one - inside) * space.scale[j] / noise;
        }
    }
    rows
}

pub(crate) fn times(rows: &[f64], x: &[f64], mean: &[f64], out: &mut Vec<f64>) {
    let off: Vec<f64> = x.iter().zip(mean).map(|(x, m)| x - m).collect();
    out.extend(rows.chunks_exact(off.len()).map(|row| dot(row, &off)));
}

impl<'a> Likelihood<'a> {
    /// Binds a prior to a body whose mass, without what is worn, is given in kg.
    pub(crate) fn new(guide: &'a Guide, body: &Body, mass: f64) -> Result<Self, Error> {
        let prior = &*guide.prior;
        let view = prior.view(body, mass);
        let poses = match guide.manner {
            Manner::Forces => None,
            Manner::Poses => Some(prior.pose_space(view.pose_size())?),
        };
        let outside = match &poses {
            None => [outside(&prior.states, prior.states.noise), outside(&prior.forces, prior.forces.noise)],
            Some(poses) => [outside(poses, EIGEN_POSE), Vec::new()],
        };
        Ok(Self { prior, view, weight: guide.weight, outside, poses })
    }

    /// States that motions begin with.
    pub(crate) fn initial(&self) -> Result<Mixture, Error> {
        self.prior.initial()
    }

    /// −2 ln p of a state to begin with, as rows.
    pub(crate) fn initial_rows(&self, initial: &Mixture, moment: &Moment, terrain: &Terrain) -> PriorRows {
        let (states, size) = (&self.prior.states, self.view.state_size());
        let (residuals, by_y) = initial.rows(&states.coordinates(&self.view.state(moment, terrain)));
        let mut rows = vec![0.0; residuals.len() * size];
        for (row, by_y) in rows.chunks_exact_mut(size).zip(by_y.chunks_exact(states.dimension())) {
            for (k, c) in by_y.iter().enumerate() {
                let component = states.component(k).iter().zip(&states.scale);
                row.iter_mut().zip(component).for_each(|(to, (b, scale))| *to += c * b * scale);
            }
        }
        let n = moment.v.len();
        let mut parts: Parts = std::array::from_fn(|_| vec![0.0; residuals.len() * n]);
        self.view.lift_state(&rows, moment, terrain, &mut parts);
        PriorRows { residuals, parts, by_forces: Vec::new() }
    }

    /// σ of what lies outside of a subspace, if that is what a row of [`Self::rows`] is about.
    pub(crate) fn outside_noise(&self, row: usize) -> Option<f64> {
        let (components, forces) = (self.prior.forces.dimension(), self.prior.forces.size());
        match row {
            _ if row < components || row == components + forces => None,
            _ if row < components + forces => Some(self.prior.forces.noise),
            _ => Some(self.prior.states.noise),
        }
    }

    /// Whether it speaks of contact forces and torques apart, and not of all generalised forces together.
    pub(crate) fn is_apart(&self) -> bool {
        self.prior.apart && self.poses.is_none()
    }

    /// Whether it says where to begin: eigen-poses were never asked to.
    pub(crate) fn leads(&self) -> bool {
        self.poses.is_none()
    }

    /// Residuals of a frame, whose squares are −2 ln p; u are the generalised forces.
    fn residuals(&self, moment: &Moment, u: &[f64], terrain: &Terrain) -> Vec<f64> {
        let prior = self.prior;
        let state = self.view.state(moment, terrain);
        let mut out = Vec::new();
        if let Some(poses) = &self.poses {
            let pose = &state[..self.view.pose_size()];
            out.extend(whitened(poses, &poses.coordinates(pose)));
            times(&self.outside[0], pose, &poses.mean, &mut out);
            return out;
        }
        let force = self.view.force(&moment.q, u);
        let found = prior.process.predict(&prior.states.coordinates(&state), false);
        let z = whitened(&prior.forces, &prior.forces.coordinates(&force));
        out.extend((0..z.len()).map(|k| (z[k] - found.mean[k]) / found.variance[k].sqrt()));
        times(&self.outside[1], &force, &prior.forces.mean, &mut out);
        out.push(self.unsure(&found.variance));
        times(&self.outside[0], &state, &prior.states.mean, &mut out);
        out
    }

    /// √ Σ ln σ²/σ_n².
    fn unsure(&self, variance: &[f64]) -> f64 {
        let logs: f64 =
            variance.iter().zip(&self.prior.process.noise).map(|(v, n)| (v / n).max(1.0).ln()).sum();
        (logs + SMOOTH).sqrt()
    }

    /// −2 ln p of a frame, times the weight.
    pub(crate) fn value(&self, moment: &Moment, u: &[f64], terrain: &Terrain) -> f64 {
        self.weight * self.residuals(moment, u, terrain).iter().map(|r| r * r).sum::<f64>()
    }

    /// [`Self::strangeness`] of every frame of a motion.
    pub(crate) fn strange(&self, spline: &Spline, body: &Body, terrain: &Terrain) -> Vec<f64> {
        let mut moment = Moment::new(body);
        let frame = |index: usize| {
            spline.frame(body, index, &mut moment);
            self.strangeness(&moment, terrain)
        };
        (0..spline.frame_count()).map(frame).collect()
    }

    /// How sure the process is of a frame, from 0, as of what it was taught, to 1, of which it knows nothing: the mean over outputs of
    /// (σ² − σ_n²)/σ_f².
    fn strangeness(&self, moment: &Moment, terrain: &Terrain) -> f64 {
        let process = &self.prior.process;
        let y = self.prior.states.coordinates(&self.view.state(moment, terrain));
        let variance = process.predict(&y, false).variance;
        let share = |k: usize| ((variance[k] - process.noise[k]) / process.signal[k]).max(0.0);
        let shares = (0..variance.len()).map(share);
        shares.sum::<f64>() / variance.len().max(1) as f64
    }

    /// The same as rows.
    pub(crate) fn rows(
        &self,
        moment: &Moment,
        u: &[f64],
        derivatives: &Derivatives,
        terrain: &Terrain,
    ) -> PriorRows {
        let (prior, n) = (self.prior, u.len());
        let residuals = self.residuals(moment, u, terrain);
        let mut parts: Parts = std::array::from_fn(|_| vec![0.0; residuals.len() * n]);
        let size = self.view.state_size();
        if let Some(poses) = &self.poses {
            let mut rows = Vec::new();
            let mut push = |row: &[f64], factor: &dyn Fn(usize) -> f64| {
                rows.extend((0..size).map(|k| if k < row.len() { row[k] * factor(k) } else { 0.0 }));
            };
            for k in 0..poses.dimension() {
                push(poses.component(k), &|i| poses.scale[i] / poses.spread[k]);
            }
            self.outside[0].chunks_exact(poses.size()).for_each(|row| push(row, &|_| 1.0));
            self.view.lift_state(&rows, moment, terrain, &mut parts);
            return PriorRows { residuals, parts, by_forces: Vec::new() };
        }
        let state = self.view.state(moment, terrain);
        let found = prior.process.predict(&prior.states.coordinates(&state), true);
        let (d, q) = prior.process.sizes();
        let forces = prior.forces.size();
        // over forces: the components', then what is outside
        let mut over_forces = Vec::with_capacity((q + forces) * forces);
        for k in 0..q {
            let unit = prior.forces.spread[k] * found.variance[k].sqrt();
            let row = prior.forces.component(k).iter().zip(&prior.forces.scale);
            over_forces.extend(row.map(|(b, scale)| b * scale / unit));
        }
        over_forces.extend_from_slice(&self.outside[1]);
        let by_forces = self.view.lift_force(&over_forces, &moment.q, u, derivatives, &mut parts);
        // over states: ∂(r/σ) = −(∂μ + r ∂σ²/2σ²)/σ, nothing, the logarithm's, what is outside
        let mut over_states = vec![0.0; residuals.len() * size];
        let mut lift = |row: usize, by_y: &[f64]| {
            let to = &mut over_states[row * size..(row + 1) * size];
            for (k, c) in by_y.iter().enumerate() {
                let component = prior.states.component(k).iter().zip(&prior.states.scale);
                to.iter_mut().zip(component).for_each(|(to, (b, scale))| *to += c * b * scale);
            }
        };
        let mut logs = vec![0.0; d];
        for k in 0..q {
            let (deviation, variance) = (found.variance[k].sqrt(), found.variance[k]);
            let slope = |i: usize| {
                -found.mean_slope[k * d + i] / deviation
                    - residuals[k] * found.variance_slope[k * d + i] / (2.0 * variance)
            };
            lift(k, &(0..d).map(slope).collect::<Vec<_>>());
            if variance > prior.process.noise[k] {
                (0..d).for_each(|i| logs[i] += found.variance_slope[k * d + i] / variance);
            }
        }
        let unsure = residuals[q + forces];
        lift(q + forces, &logs.iter().map(|x| 0.5 * x / unsure).collect::<Vec<_>>());
        over_states[(q + forces + 1) * size..].copy_from_slice(&self.outside[0]);
        self.view.lift_state(&over_states, moment, terrain, &mut parts);
        PriorRows { residuals, parts, by_forces }
    }
}

impl Prior {
    /// Principal components of the poses alone.
    pub(crate) fn pose_space(&self, size: usize) -> Result<Subspace, Error> {
        let poses: Vec<Vec<f64>> = self
            .library
            .states
            .chunks_exact(self.states.dimension())
            .map(|y| self.states.vector(y)[..size].to_vec())
            .collect();
        Subspace::fit(&poses, vec![1.0; size], super::ENERGY)
    }
}

#[cfg(test)]
mod tests {
    use geometry::Vec3;

    use super::super::tests::strolls;
    use super::*;
    use crate::ground::Ground;
    use crate::recursion::Data;
    use crate::take::Build;

    #[test]
    fn rows_agree_with_differences() {
        let takes = strolls();
        let prior = Arc::new(Prior::learn(&takes[..2], &super::super::Learning::default()).unwrap());
        let body = takes[2].body(&prior.built(&Build::default())).unwrap();
        let terrain = Terrain::Plane(Ground::level(0.01));
        let spline = crate::solve::first_spline(&body, &takes[2].coordinates(&body), 30.0).unwrap();
        let (n, gravity) = (body.dof_count(), Vec3::new(0.0, -9.81, 0.0));
        let mut moment = Moment::new(&body);
        spline.frame(&body, 11, &mut moment);
        let (mut data, mut derivatives) = (Data::new(&body), Derivatives::new(&body));
        let mut u = vec![0.0; n];
        for manner in [Manner::Forces, Manner::Poses] {
            let guide = Guide { manner, ..Guide::new(prior.clone()) };
            let likelihood = Likelihood::new(&guide, &body, 60.0).unwrap();
            let Moment { q, v, a } = &moment;
            data.inverse_dynamics_derivatives(&body, q, v, a, gravity, &mut u, &mut derivatives);
            let rows = likelihood.rows(&moment, &u, &derivatives, &terrain);
            let sum: f64 = rows.residuals.iter().map(|r| r * r).sum();
            assert!((sum - likelihood.value(&moment, &u, &terrain)).abs() < 1e-9 * sum);
            for k in 0..n {
                for what in 0..3 {
                    let h = 1e-6;
                    let mut ends = [h, -h].map(|h| {
                        let mut there = moment.clone();
                        let mut step = vec![0.0; n];
                        step[k] = h;
                        match what {
                            0 => body.integrate(q, &step, &mut there.q),
                            1 => there.v[k] += h,
                            _ => there.a[k] += h,
                        }
                        let mut u = vec![0.0; n];
                        data.inverse_dynamics(&body, &there.q, &there.v, &there.a, gravity, &mut u);
                        likelihood.residuals(&there, &u, &terrain)
                    });
                    let [plus, minus] = &mut ends;
                    for (row, residual) in rows.residuals.iter().enumerate() {
                        let difference = (plus[row] - minus[row]) / (2.0 * h);
                        let slope = rows.parts[what][row * n + k];
                        assert!(
                            (difference - slope).abs() < 1e-4 * slope.abs().max(1.0),
                            "row {row} ({residual}), {what} of {k}: {difference} {slope}"
                        );
                    }
                }
            }
        }
    }
}
