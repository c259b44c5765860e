//! A first motion out of what was learnt: the path through the frames of the takes whose feet come and go as asked, that goes about as
//! fast, and whose poses at the keys are nearest. By dynamic programming, so it is the best of all such paths.
//!
//! The paper starts from poses alone and then from forces; both find the nearest hill. A step of the path goes on by one frame of a take,
//! stays or skips one for a price (never twice in turn where feet are not known), or begins anywhere else for a high one. What is then left at
//! the keys is spread between them.

use geometry::{Quat, Vec3};

use super::Prior;
use super::likelihood::Likelihood;
use crate::body::Body;
use crate::ground::Terrain;
use crate::spline::Moment;

/// The price of a point that rests where it should not, or does not where it should.
const FOOT: f64 = 0.5;
/// What counts as one unit of a pose at a key, over all joints, in rad.
const POSE: f64 = 0.3;
/// What counts as one unit of speed over a second, in m/s.
const SPEED: f64 = 0.15;
/// The price of staying or skipping.
const WARP: f64 = 0.3;
/// The price of beginning elsewhere.
const JUMP: f64 = 8.0;

/// What a first motion has to fit.
pub(crate) struct Wanted<'a> {
    pub(crate) body: &'a Body,
    pub(crate) terrain: &'a Terrain,
    /// The take, of which the keys are seen.
    pub(crate) motion: &'a [Vec<f64>],
    /// Frames of keys, rising, the first and the last among them.
    pub(crate) keys: &'a [usize],
    /// Points that rest at every frame, where that is known.
    pub(crate) resting: &'a [Option<u32>],
    pub(crate) step: f64,
}

impl Likelihood<'_> {
    /// Writes the first motion into poses that hold something for all else; the points that rest in it.
    pub(crate) fn start(&self, wanted: &Wanted<'_>, poses: &mut [Vec<f64>]) -> Vec<u32> {
        let (prior, count) = (self.prior, wanted.motion.len());
        let step = 1.0 / prior.library.frame_rate_hz;
        let steps = (((count - 1) as f64 * wanted.step / step).round() as usize).max(1) + 1;
        let frame_of = |t: usize| ((t * (count - 1)) as f64 / (steps - 1) as f64).round() as usize;
        let path = self.path(wanted, steps, &frame_of);
        let guessed = self.walked(wanted, &path, &frame_of, step);
        for (frame, pose) in poses.iter_mut().enumerate() {
            let t = (frame * (steps - 1)) as f64 / (count - 1) as f64;
            let (t0, share) = (t.floor() as usize, t.fract());
            let mut way = vec![0.0; wanted.body.dof_count()];
            let next = &guessed[(t0 + 1).min(steps - 1)];
            wanted.body.difference(&guessed[t0], next, &mut way);
            way.iter_mut().for_each(|w| *w *= share);
            let mut here = pose.clone();
            wanted.body.integrate(&guessed[t0], &way, &mut here);
            self.copy(&here, pose);
        }
        self.meet(wanted, poses);
        let nearest = |frame: usize| {
            let t = (frame * (steps - 1)) as f64 / (count - 1) as f64;
            prior.library.resting[path[t.round() as usize]]
        };
        (0..count).map(nearest).collect()
    }

    /// Coordinates that the prior knows of, from one pose to another.
    fn copy(&self, from: &[f64], to: &mut [f64]) {
        to[..7].copy_from_slice(&from[..7]);
        for c in self.view.coordinates() {
            to[c..c + 4].copy_from_slice(&from[c..c + 4]);
        }
    }

    /// The frames of the library, one for each step.
    fn path(&self, wanted: &Wanted<'_>, steps: usize, frame_of: &dyn Fn(usize) -> usize) -> Vec<usize> {
        let (library, frames) = (&self.prior.library, self.prior.library.resting.len());
        let rates: Vec<Vec3> = (0..frames).map(|i| self.prior.speed(i, self.view.pose_size())).collect();
        let is_start: Vec<bool> = {
            let mut list = vec![false; frames];
            library.starts.iter().for_each(|&start| list[start] = true);
            list
        };
        let keys: Vec<(usize, Vec<f64>)> =
            wanted.keys.iter().map(|&frame| (frame, self.pose(wanted, frame))).collect();
        let pose_cost: Vec<Vec<f64>> = keys.iter().map(|(_, pose)| self.prior.pose_costs(pose)).collect();
        let emission = |t: usize, costs: &mut [f64]| {
            let frame = frame_of(t);
            let speed = self.wanted_speed(wanted, frame);
            let unit = SPEED * SPEED * library.frame_rate_hz;
            let own: Vec<&Vec<f64>> =
                keys.iter().zip(&pose_cost).filter(|(key, _)| key.0 == frame).map(|(_, cost)| cost).collect();
            for (i, cost) in costs.iter_mut().enumerate() {
                let feet =
                    wanted.resting[frame].map_or(0, |resting| (library.resting[i] ^ resting).count_ones());
                *cost += FOOT * f64::from(feet) + (rates[i] - speed).length_squared() / unit;
                *cost += own.iter().map(|list| list[i]).sum::<f64>();
            }
        };
        let mut costs = vec![0.0; frames];
        emission(0, &mut costs);
        // how each frame was come to: staying, going on, skipping, or from the cheapest anywhere
        let mut ways: Vec<(Vec<u8>, usize)> = Vec::with_capacity(steps);
        // feet that are known keep time; without them a path would wait on the spot for the next key
        let free = wanted.resting.iter().any(Option::is_none);
        for t in 1..steps {
            let cheapest = (0..frames).fold(0, |best, i| if costs[i] < costs[best] { i } else { best });
            let mut next = vec![0.0; frames];
            let mut from = vec![3; frames];
            for i in 0..frames {
                let mut best = (costs[cheapest] + JUMP, 3);
                let tries = [(0, WARP), (1, 0.0), (2, WARP)];
                for (back, price) in tries {
                    let fits = i >= back && (0..back).all(|k| !is_start[i - k]);
                    let waits = fits && back != 1 && ways.last().is_some_and(|(from, _)| from[i - back] != 1);
                    if free && waits {
                        continue;
                    }
                    if fits && costs[i - back] + price < best.0 {
                        best = (costs[i - back] + price, back as u8);
                    }
                }
                (next[i], from[i]) = best;
            }
            emission(t, &mut next);
            costs = next;
            ways.push((from, cheapest));
        }
        let mut here = (0..frames).fold(0, |best, i| if costs[i] < costs[best] { i } else { best });
        let mut path = vec![here];
        for (from, cheapest) in ways.iter().rev() {
            here = if from[here] == 3 { *cheapest } else { here - from[here] as usize };
            path.push(here);
        }
        path.reverse();
        path
    }

    /// The pose of a frame of the take, as states have it.
    fn pose(&self, wanted: &Wanted<'_>, frame: usize) -> Vec<f64> {
        let mut moment = Moment::new(wanted.body);
        moment.q.clone_from(&wanted.motion[frame]);
        let mut state = self.view.state(&moment, wanted.terrain);
        state.truncate(self.view.pose_size());
        state
    }

    /// How fast the root goes between the keys around a frame, in its own frame.
    fn wanted_speed(&self, wanted: &Wanted<'_>, frame: usize) -> Vec3 {
        let after = wanted.keys.partition_point(|&key| key <= frame).clamp(1, wanted.keys.len() - 1);
        let (from, to) = (wanted.keys[after - 1], wanted.keys[after]);
        let (a, b) = (&wanted.motion[from], &wanted.motion[to]);
        let way = Vec3::from_slice(b) - Vec3::from_slice(a);
        let middle = Quat::from_slice(&a[3..]).slerp(Quat::from_slice(&b[3..]), 0.5);
        middle.conjugate() * way / ((to - from).max(1) as f64 * wanted.step)
    }

    /// Poses along a path, the root carried along from the first key.
    fn walked(
        &self,
        wanted: &Wanted<'_>,
        path: &[usize],
        frame_of: &dyn Fn(usize) -> usize,
        step: f64,
    ) -> Vec<Vec<f64>> {
        let prior = self.prior;
        let first = &wanted.motion[wanted.keys[0]];
        let (mut place, mut turn) = (Vec3::from_slice(first), Quat::from_slice(&first[3..]));
        let mut poses = Vec::with_capacity(path.len());
        for (t, &i) in path.iter().enumerate() {
            let state = prior.states.vector(prior.library.state(i, prior.states.dimension()));
            let mut pose = wanted.motion[frame_of(t)].clone();
            let height = wanted.terrain.under(place).y + state[0];
            place.write_to_slice(&mut pose[..3]);
            pose[1] = height;
            pose[3..7].copy_from_slice(&turn.to_array());
            for (k, c) in self.view.coordinates().enumerate() {
                let turned = prior.means[k] * Quat::from_scaled_axis(Vec3::from_slice(&state[4 + 3 * k..]));
                pose[c..c + 4].copy_from_slice(&turned.normalize().to_array());
            }
            poses.push(pose);
            let rate = &state[self.view.pose_size()..];
            place += turn * Vec3::from_slice(rate) * step;
            turn = (turn * Quat::from_scaled_axis(Vec3::from_slice(&rate[3..]) * step)).normalize();
            // upright as the take was: integration alone drifts
            let up = turn.conjugate() * Vec3::Y;
            let should = Vec3::from_slice(&state[1..]).normalize_or(up);
            turn = (turn * Quat::from_rotation_arc(should, up)).normalize();
        }
        poses
    }

    /// Spreads what is off at the keys evenly between them.
    fn meet(&self, wanted: &Wanted<'_>, poses: &mut [Vec<f64>]) {
        let n = wanted.body.dof_count();
        let guessed = poses.to_vec();
        let off = |frame: usize| {
            let mut off = vec![0.0; n];
            wanted.body.difference(&guessed[frame], &wanted.motion[frame], &mut off);
            off
        };
        for pair in wanted.keys.windows(2) {
            let (from, to) = (off(pair[0]), off(pair[1]));
            for frame in pair[0]..=pair[1] {
                let share = (frame - pair[0]) as f64 / (pair[1] - pair[0]) as f64;
                let part: Vec<f64> = from.iter().zip(&to).map(|(a, b)| a + share * (b - a)).collect();
                let mut met = guessed[frame].clone();
                wanted.body.integrate(&guessed[frame], &part, &mut met);
                self.copy(&met, &mut poses[frame]);
            }
        }
    }
}

impl super::Library {
    /// Components of a state.
    fn state(&self, index: usize, dimension: usize) -> &[f64] {
        &self.states[index * dimension..(index + 1) * dimension]
    }
}

impl Prior {
    /// The root's velocity in its own frame at a frame of the library, in m/s.
    fn speed(&self, index: usize, pose: usize) -> Vec3 {
        let y = self.library.state(index, self.states.dimension());
        let entry = |k: usize| {
            let own: f64 = (0..y.len()).map(|c| y[c] * self.states.component(c)[k]).sum();
            self.states.mean[k] + own / self.states.scale[k]
        };
        Vec3::new(entry(pose), entry(pose + 1), entry(pose + 2))
    }

    /// How far every frame of the library is from a pose.
    fn pose_costs(&self, pose: &[f64]) -> Vec<f64> {
        let frames = self.library.resting.len();
        let cost = |i: usize| {
            let state = self.states.vector(self.library.state(i, self.states.dimension()));
            state.iter().zip(pose).map(|(a, b)| ((a - b) / POSE).powi(2)).sum::<f64>()
        };
        (0..frames).map(cost).collect()
    }
}
