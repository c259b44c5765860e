//! A prior looked at: its force field in the plane of the first two components of states, and motions that the field alone runs forward
//! (paper, figure 3).

use geometry::{Quat, Random, Vec3};

use super::Prior;
use crate::body::Body;
use crate::error::Error;
use crate::ground::{Ground, Terrain};
use crate::recursion::Data;
use crate::spline::Moment;

/// Steps a second while a motion runs forward.
const STEPS: f64 = 480.0;
/// Deviations of the states that motions begin with, in those of the mixture: what is likely, and no more.
const BREADTH: f64 = 0.25;
/// Numbers of a pose, and of a velocity or a force, before the balls'.
const POSE: usize = 4;
const RATE: usize = 6;

/// The field at one place of the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldArrow {
    /// First two components of the state, in deviations of what was learnt.
    pub state: [f64; 2],
    /// First two components of the force that is foretold there, likewise.
    pub force: [f64; 2],
    /// How little is known there: 0 as taught, 1 nothing at all.
    pub strangeness: f64,
}

impl Prior {
    /// The force field over the first two components of states, from −`reach` to `reach` deviations, `count` places along each; the other
    /// components are those of the learnt state that is nearest in the plane.
    pub fn field(&self, reach: f64, count: usize) -> Vec<FieldArrow> {
        let place = |k: usize| reach * (2.0 * k as f64 / count.saturating_sub(1).max(1) as f64 - 1.0);
        let learnt = self.learnt_states();
        let arrow = |state: [f64; 2]| {
            let off = |at: &[f64; 2]| (at[0] - state[0]).powi(2) + (at[1] - state[1]).powi(2);
            let nearest = (0..learnt.len())
                .fold(0, |best, i| if off(&learnt[i]) < off(&learnt[best]) { i } else { best });
            let mut y = self.learnt(nearest).to_vec();
            y.iter_mut().zip(state).zip(&self.states.spread).for_each(|((y, s), spread)| *y = s * spread);
            let told = self.process.predict(&y, false);
            let unknown = told.variance.iter().zip(self.process.signal.iter().zip(&self.process.noise));
            let share: f64 = unknown.map(|(variance, (signal, noise))| (variance - noise) / signal).sum();
            let component = |k: usize| told.mean.get(k).copied().unwrap_or(0.0);
            FieldArrow {
                state,
                force: [component(0), component(1)],
                strangeness: (share / told.mean.len().max(1) as f64).clamp(0.0, 1.0),
            }
        };
        (0..count)
            .flat_map(|i| (0..count).map(move |j| (i, j)))
            .map(|(i, j)| arrow([place(j), place(i)]))
            .collect()
    }

    /// The learnt states in the same plane.
    pub fn learnt_states(&self) -> Vec<[f64; 2]> {
        (0..self.library.resting.len()).map(|index| self.in_plane(self.learnt(index))).collect()
    }

    /// A motion that the field alone runs forward, from a state drawn from the mixture of those that were learnt (paper, eq. 5): at every step the force that is foretold, and
    /// what it makes of the body. Level ground at height 0; frames at the rate that was learnt at. Nothing pulls it back to what was
    /// learnt, so it leaves that after a while: it is to be looked at.
    pub fn run_forward(
        &self,
        body: &Body,
        gravity: Vec3,
        seed: u64,
        seconds: f64,
    ) -> Result<Vec<Moment>, Error> {
        if self.apart {
            let problem = "it tells contact forces and torques apart: they move a body that stands on something, and here is nothing";
            return Err(Error::PriorFile { problem });
        }
        let y = self.initial()?.draw(&mut Random::new(seed), BREADTH);
        let terrain = Terrain::Plane(Ground::level(0.0));
        let (mut here, mut data) = (self.moment(body, &y), Data::new(body));
        let every = (STEPS / self.library.frame_rate_hz).round().max(1.0) as usize;
        let step = 1.0 / (every as f64 * self.library.frame_rate_hz);
        let count = (seconds * self.library.frame_rate_hz).round() as usize;
        let mut motion = Vec::with_capacity(count + 1);
        for k in 0..=count * every {
            let u = self.foretold(body, &here, &terrain);
            let Moment { q, v, a } = &mut here;
            data.forward_dynamics(body, q, v, &u, gravity, a);
            if k % every == 0 {
                motion.push(here.clone());
            }
            let Moment { q, v, a } = &mut here;
            v.iter_mut().zip(a.iter()).for_each(|(v, a)| *v += step * a);
            let (before, way): (Vec<f64>, Vec<f64>) = (q.clone(), v.iter().map(|v| step * v).collect());
            body.integrate(&before, &way, q);
        }
        Ok(motion)
    }

    /// Where moments are in the plane of the first two components.
    pub fn states_of(&self, body: &Body, motion: &[Moment]) -> Vec<[f64; 2]> {
        let (view, terrain) = (self.view(body, body.mass()), Terrain::Plane(Ground::level(0.0)));
        let place = |moment: &Moment| self.in_plane(&self.states.coordinates(&view.state(moment, &terrain)));
        motion.iter().map(place).collect()
    }

    fn in_plane(&self, y: &[f64]) -> [f64; 2] {
        let component = |k: usize| y.get(k).map_or(0.0, |y| y / self.states.spread[k]);
        [component(0), component(1)]
    }

    /// Components of a learnt state.
    fn learnt(&self, index: usize) -> &[f64] {
        let dimension = self.states.dimension();
        &self.library.states[index * dimension..(index + 1) * dimension]
    }

    /// A body in a state, above the origin, facing anywhere.
    fn moment(&self, body: &Body, y: &[f64]) -> Moment {
        let state = self.states.vector(y);
        let view = self.view(body, body.mass());
        let mut moment = Moment::new(body);
        let up = Vec3::from_slice(&state[1..]).normalize_or(Vec3::Y);
        let turn = Quat::from_rotation_arc(up, Vec3::Y);
        let rate = &state[view.pose_size()..];
        Vec3::new(0.0, state[0], 0.0).write_to_slice(&mut moment.q[..3]);
        moment.q[3..7].copy_from_slice(&turn.to_array());
        (turn * Vec3::from_slice(rate)).write_to_slice(&mut moment.v[..3]);
        moment.v[3..6].copy_from_slice(&rate[3..6]);
        for (k, (c, d)) in view.places().enumerate() {
            let turned = self.means[k] * Quat::from_scaled_axis(Vec3::from_slice(&state[POSE + 3 * k..]));
            moment.q[c..c + 4].copy_from_slice(&turned.normalize().to_array());
            moment.v[d..d + 3].copy_from_slice(&rate[RATE + 3 * k..RATE + 3 * k + 3]);
        }
        moment
    }

    /// The generalised forces that are foretold of a moment, by degrees of freedom.
    fn foretold(&self, body: &Body, moment: &Moment, terrain: &Terrain) -> Vec<f64> {
        let view = self.view(body, body.mass());
        let y = self.states.coordinates(&view.state(moment, terrain));
        let told = self.process.predict(&y, false).mean;
        let z: Vec<f64> = told.iter().zip(&self.forces.spread).map(|(z, spread)| z * spread).collect();
        let g: Vec<f64> = self.forces.vector(&z).iter().map(|g| g * body.mass()).collect();
        let mut u = vec![0.0; body.dof_count()];
        let root = Quat::from_slice(&moment.q[3..]);
        (root * Vec3::from_slice(&g)).write_to_slice(&mut u[..3]);
        u[3..6].copy_from_slice(&g[3..6]);
        for (k, (_, d)) in view.places().enumerate() {
            u[d..d + 3].copy_from_slice(&g[RATE + 3 * k..RATE + 3 * k + 3]);
        }
        u
    }
}
