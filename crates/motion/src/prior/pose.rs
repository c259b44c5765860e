//! How people hold themselves: a mixture over the principal components of learnt poses. Where a few points are dragged, the rest of the
//! body follows it (Grochow, Martin, Hertzmann and Popović 2004; Wei and Chai 2010, which drew the paper's key poses).

use geometry::Vec3;

use super::Prior;
use super::likelihood::{EIGEN_POSE, Likelihood, outside, times};
use super::mixture::Mixture;
use super::state::Parts;
use super::subspace::Subspace;
use crate::body::Body;
use crate::error::Error;
use crate::ground::Terrain;
use crate::spline::Moment;

/// Gaussians at most.
pub(crate) const GAUSSIANS: usize = 8;

/// Poses that are likely.
#[derive(Clone, Debug)]
pub(crate) struct Poses {
    space: Subspace,
    mixture: Mixture,
    outside: Vec<f64>,
}

impl Prior {
    /// What it knows of poses.
    pub(crate) fn poses(&self, size: usize) -> Result<Poses, Error> {
        let space = self.pose_space(size)?;
        let states = self.library.states.chunks_exact(self.states.dimension());
        let y: Vec<Vec<f64>> =
            states.map(|state| space.coordinates(&self.states.vector(state)[..size])).collect();
        Ok(Poses { mixture: Mixture::fit(&y, GAUSSIANS)?, outside: outside(&space, EIGEN_POSE), space })
    }

    /// What it knows of states that motions begin with (paper, eq. 5: pr_init).
    pub(crate) fn initial(&self) -> Result<Mixture, Error> {
        let states = self.library.states.chunks_exact(self.states.dimension());
        Mixture::fit(&states.map(<[f64]>::to_vec).collect::<Vec<_>>(), GAUSSIANS)
    }
}

impl Likelihood<'_> {
    /// What its prior knows of poses.
    pub(crate) fn poses(&self) -> Result<Poses, Error> {
        self.prior.poses(self.view.pose_size())
    }

    /// −2 ln p of a pose as a sum of squares: rows over degrees of freedom, and residuals.
    pub(crate) fn pose_rows(
        &self,
        poses: &Poses,
        body: &Body,
        q: &[f64],
        terrain: &Terrain,
    ) -> (Vec<f64>, Vec<f64>) {
        let moment = Moment { q: q.to_vec(), ..Moment::new(body) };
        let (count, size) = (self.view.pose_size(), self.view.state_size());
        let state = self.view.state(&moment, terrain);
        let space = &poses.space;
        let (mut residuals, by_y) = poses.mixture.rows(&space.coordinates(&state[..count]));
        let mut rows = vec![0.0; by_y.len() / space.dimension() * size];
        for (row, by_y) in rows.chunks_exact_mut(size).zip(by_y.chunks_exact(space.dimension())) {
            for (k, c) in by_y.iter().enumerate() {
                let component = space.component(k).iter().zip(&space.scale);
                row.iter_mut().zip(component).for_each(|(to, (b, scale))| *to += c * b * scale);
            }
        }
        times(&poses.outside, &state[..count], &space.mean, &mut residuals);
        for row in poses.outside.chunks_exact(count) {
            rows.extend_from_slice(row);
            rows.extend(std::iter::repeat_n(0.0, size - count));
        }
        let n = body.dof_count();
        let mut parts: Parts = std::array::from_fn(|_| vec![0.0; residuals.len() * n]);
        self.view.lift_state(&rows, &moment, terrain, &mut parts);
        let [by_position, ..] = parts;
        (by_position, residuals)
    }

    /// The learnt pose, standing where and looking whither this one does, some points of which are nearest to where they should be.
    pub(crate) fn nearest_pose(
        &self,
        q: &[f64],
        terrain: &Terrain,
        off: &mut dyn FnMut(&[f64]) -> f64,
    ) -> Vec<f64> {
        let prior = self.prior;
        let mut best = (off(q), q.to_vec());
        for y in prior.library.states.chunks_exact(prior.states.dimension()) {
            let state = prior.states.vector(y);
            let mut pose = q.to_vec();
            pose[1] = terrain.under(Vec3::from_slice(q)).y + state[0];
            for (k, c) in self.view.coordinates().enumerate() {
                let turned =
                    prior.means[k] * geometry::Quat::from_scaled_axis(Vec3::from_slice(&state[4 + 3 * k..]));
                pose[c..c + 4].copy_from_slice(&turned.normalize().to_array());
            }
            let here = off(&pose);
            if here < best.0 {
                best = (here, pose);
            }
        }
        best.1
    }
}
