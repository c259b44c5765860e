//! Key poses: what is kept of a take when all else is free, and a first motion through them.

use geometry::{Quat, Vec3};
use rayon::prelude::*;

use crate::body::{Body, LinkKind};
use crate::contacts::{Contact, Sole, tracks};
use crate::error::Error;
use crate::ground::Terrain;
use crate::prior::{Likelihood, Wanted, flags};
use crate::reach::{Goal, Reach};
use crate::recursion::Data;
use crate::spline::Spline;
use crate::trajectory::Drag;

/// How near a resting point comes to its place in a key, in m.
const REST: f64 = 1e-4;
/// How near a dragged point comes to where it is dragged, in m.
const DRAGGED: f64 = 1e-3;
/// How near a foot in the air comes to its first path, in m.
const PATH: f64 = 0.02;
/// How high a foot is carried on its first path, in m.
const LIFT: f64 = 0.05;

/// A key pose: what had to be done to it before it could be kept, and how well it was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Key {
    /// Frame of the take.
    pub frame: usize,
    /// How far the farthest joint went when the pose was put onto ground and footsteps, in m.
    pub projected: f64,
    /// The farthest joint of the result from there, in m.
    pub off: f64,
    /// The largest turn of a joint of the result from there, in rad.
    pub turned: f64,
}

/// What key poses are to a figure on its ground.
pub(crate) struct Keys<'a> {
    pub(crate) body: &'a Body,
    pub(crate) terrain: &'a Terrain,
    pub(crate) soles: &'a [Sole],
    pub(crate) contacts: &'a [Contact],
}

impl Keys<'_> {
    /// The frames that are kept, in order: those named, and the first two and the last two, so that the motion begins and ends with
    /// the take's own velocity. (Left free, the least torque is that of a body that lets itself fall at the end.)
    pub(crate) fn frames(named: &[usize], count: usize) -> Result<Vec<usize>, Error> {
        let last = count.saturating_sub(1);
        if let Some(&key) = named.iter().find(|&&key| key > last) {
            return Err(Error::Key { key, last });
        }
        let mut frames: Vec<usize> =
            named.iter().copied().chain([0, 1, last.saturating_sub(1), last]).collect();
        frames.sort_unstable();
        frames.dedup();
        Ok(frames)
    }

    fn resting(&self, sole: usize, frame: usize) -> Option<&Contact> {
        self.contacts.iter().find(|contact| contact.sole == sole && contact.frames.contains(&frame))
    }

    /// Poses whose points are dragged, in place: feet that rest stay, and the rest of the body does what people do, where that is known.
    pub(crate) fn drag(
        &self,
        motion: &mut [Vec<f64>],
        drags: &[Drag],
        prior: Option<&Likelihood>,
    ) -> Result<(), Error> {
        let mut data = Data::new(self.body);
        let above: Vec<(usize, Vec3)> = self.soles.iter().map(|sole| (sole.joint, sole.point)).collect();
        let poses = prior.map(Likelihood::poses).transpose()?;
        let learnt = prior.zip(poses.as_ref());
        let mut frames: Vec<usize> = drags.iter().map(|drag| drag.frame).collect();
        frames.sort_unstable();
        frames.dedup();
        for frame in frames {
            let own = drags.iter().filter(|drag| drag.frame == frame);
            let dragged =
                own.map(|drag| Goal { joint: drag.joint, point: drag.point, place: drag.to, unit: DRAGGED });
            let goals: Vec<Goal> = self.standing(frame).chain(dragged).collect();
            let pose = motion[frame].clone();
            let (body, terrain) = (self.body, self.terrain);
            let reach = Reach { body, terrain, pose: &pose, goals: &goals, above: &above, learnt };
            let start = match prior {
                Some(prior) => prior.nearest_pose(&pose, terrain, &mut |q| reach.cost(q, &mut data)),
                None => pose.clone(),
            };
            motion[frame] = reach.solve(&start, &mut data)?;
        }
        Ok(())
    }

    /// Where points that rest at a frame should be.
    fn standing(&self, frame: usize) -> impl Iterator<Item = Goal> + '_ {
        self.soles.iter().enumerate().filter_map(move |(index, sole)| {
            let place = self.resting(index, frame)?.anchor;
            Some(Goal { joint: sole.joint, point: sole.point, place, unit: REST })
        })
    }

    /// Puts the key poses of a motion onto ground and footsteps, in place; says how far each had to go.
    pub(crate) fn project(&self, motion: &mut [Vec<f64>], frames: &[usize]) -> Result<Vec<Key>, Error> {
        let mut data = Data::new(self.body);
        let mut keys = Vec::with_capacity(frames.len());
        let above: Vec<(usize, Vec3)> = self.soles.iter().map(|sole| (sole.joint, sole.point)).collect();
        for &frame in frames {
            let goals: Vec<Goal> = self.standing(frame).collect();
            let pose = motion[frame].clone();
            let (body, terrain) = (self.body, self.terrain);
            let reach = Reach { body, terrain, pose: &pose, goals: &goals, above: &above, learnt: None };
            motion[frame] = reach.solve(&pose, &mut data)?;
            let projected = apart(self.body, &pose, &motion[frame]).0;
            keys.push(Key { frame, projected, ..Key::default() });
        }
        Ok(keys)
    }

    /// A first motion: poses between keys, or those of a prior, legs bent so that feet stand in their footsteps and swing from one to the next. Of the
    /// take between the keys it sees the footsteps alone.
    pub(crate) fn guess(
        &self,
        motion: &[Vec<f64>],
        frames: &[usize],
        step: f64,
        prior: Option<&Likelihood>,
    ) -> Result<(Vec<Vec<f64>>, Spline), Error> {
        let mut between = self.between(motion, frames);
        if let Some(prior) = prior {
            let soles = |frame: usize| {
                self.contacts.iter().filter(move |c| c.frames.contains(&frame)).map(|c| c.sole)
            };
            let resting: Vec<Option<u32>> =
                (0..motion.len()).map(|frame| Some(flags(soles(frame)))).collect();
            let (body, terrain) = (self.body, self.terrain);
            let wanted = Wanted { body, terrain, motion, keys: frames, resting: &resting, step };
            prior.start(&wanted, &mut between);
        }
        let paths: Vec<Vec<Vec3>> =
            (0..self.soles.len()).map(|sole| self.path(sole, motion, frames)).collect();
        let above: Vec<(usize, Vec3)> = self.soles.iter().map(|sole| (sole.joint, sole.point)).collect();
        let bent = |data: &mut Data, frame: usize| {
            let goal = |(index, sole): (usize, &Sole)| {
                let unit = if self.resting(index, frame).is_some() { 0.1 * PATH } else { PATH };
                Goal { joint: sole.joint, point: sole.point, place: paths[index][frame], unit }
            };
            // feet in the air go as they were learnt to
            let bound =
                |(index, _): &(usize, &Sole)| prior.is_none() || self.resting(*index, frame).is_some();
            let goals: Vec<Goal> = self.soles.iter().enumerate().filter(bound).map(goal).collect();
            let pose = &between[frame];
            let (body, terrain) = (self.body, self.terrain);
            let reach = Reach { body, terrain, pose, goals: &goals, above: &above, learnt: None };
            reach.solve(pose, data)
        };
        let poses = (0..between.len()).into_par_iter().with_min_len(4);
        let mut poses: Vec<Vec<f64>> = poses
            .map_init(|| Data::new(self.body), |data, index| bent(data, index))
            .collect::<Result<_, _>>()?;
        frames.iter().for_each(|&frame| poses[frame] = motion[frame].clone());
        let mut spline = Spline::through(self.body, &poses, step)?;
        spline.smooth(self.body, (2.0 * (0.03 / step).powi(2)).ceil() as usize);
        Ok((poses, spline))
    }

    /// Poses between keys: places and hinges straight, balls on the shortest turn.
    fn between(&self, motion: &[Vec<f64>], frames: &[usize]) -> Vec<Vec<f64>> {
        let mut poses = motion.to_vec();
        let mut way = vec![0.0; self.body.dof_count()];
        for pair in frames.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            self.body.difference(&motion[from], &motion[to], &mut way);
            for frame in from + 1..to {
                let share = (frame - from) as f64 / (to - from) as f64;
                let part: Vec<f64> = way.iter().map(|w| share * w).collect();
                self.body.integrate(&motion[from], &part, &mut poses[frame]);
            }
        }
        poses
    }

    /// Where a sole point goes: from rest to rest, and through the keys.
    fn path(&self, sole: usize, motion: &[Vec<f64>], frames: &[usize]) -> Vec<Vec3> {
        let point = [(self.soles[sole].joint, self.soles[sole].point)];
        let mut known: Vec<Option<Vec3>> = vec![None; motion.len()];
        for &frame in frames {
            known[frame] = tracks(self.body, &motion[frame..=frame], &point)[0].first().copied();
        }
        for contact in self.contacts.iter().filter(|contact| contact.sole == sole) {
            contact.frames.clone().for_each(|frame| known[frame] = Some(contact.anchor));
        }
        let mut path = vec![Vec3::ZERO; motion.len()];
        let mut last = 0;
        for frame in 0..motion.len() {
            let Some(here) = known[frame] else { continue };
            let from = known[last].unwrap_or(here);
            for between in last..frame {
                let share = (between - last) as f64 / (frame - last) as f64;
                let eased = share * share * (3.0 - 2.0 * share);
                let mut place = from + (here - from) * eased;
                if frame > last + 1 && here.distance(from) > 0.02 {
                    place += Vec3::Y * (LIFT * (std::f64::consts::PI * share).sin());
                }
                path[between] = place;
            }
            path[frame] = here;
            last = frame;
        }
        path
    }

    /// How well keys were kept.
    pub(crate) fn measure(&self, keys: &mut [Key], kept: &[Vec<f64>], result: &[Vec<f64>]) {
        for key in keys {
            (key.off, key.turned) = apart(self.body, &kept[key.frame], &result[key.frame]);
        }
    }
}

/// How far two poses are apart: the farthest joint in m, the largest turn of one in rad.
fn apart(body: &Body, a: &[f64], b: &[f64]) -> (f64, f64) {
    let joints: Vec<(usize, Vec3)> = (0..body.joints().len()).map(|joint| (joint, Vec3::ZERO)).collect();
    let places = tracks(body, &[a.to_vec(), b.to_vec()], &joints);
    let off = places.iter().map(|track| track[0].distance(track[1])).fold(0.0, f64::max);
    let turn = body.links.iter().map(|link| {
        let c = link.first_coordinate;
        match link.kind {
            LinkKind::Translation => 0.0,
            LinkKind::Hinge(_) => (a[c] - b[c]).abs(),
            LinkKind::Ball => Quat::from_slice(&a[c..]).angle_between(Quat::from_slice(&b[c..])),
        }
    });
    (off, turn.fold(0.0, f64::max))
}
