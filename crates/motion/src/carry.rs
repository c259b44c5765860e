//! A motion carried onto other ground: footsteps straight up or down onto it, the foot turned to lie on it, legs bent to reach.
//!
//! Ground that is higher than the footsteps before and behind it is in the way: feet are lifted over it, in good time, and the
//! root does not rise with it.

use geometry::{Quat, Vec3};
use rayon::prelude::*;

use crate::body::Body;
use crate::contacts::{Contact, Sole, tracks};
use crate::error::Error;
use crate::ground::{Ground, Terrain};
use crate::reach::{Goal, Reach};
use crate::recursion::Data;

/// How near feet in the air come to where they were above the old ground, in m.
const NEAR: f64 = 0.01;

/// Seconds before it, and after, for which a foot is as high as what is in its way.
const IN_TIME: f64 = 0.1;

/// From one ground to another.
pub(crate) struct Carry<'a> {
    pub(crate) body: &'a Body,
    pub(crate) soles: &'a [Sole],
    pub(crate) from: &'a Ground,
    pub(crate) onto: &'a Terrain,
    /// Seconds of a frame.
    pub(crate) step: f64,
}

impl Carry<'_> {
    /// What a point rises by.
    fn rise(&self, x: Vec3) -> Vec3 {
        self.onto.under(x) - Terrain::Plane(*self.from).under(x)
    }

    /// Footsteps in their new places: each is one rigid foot, as it was before, on the ground below its middle.
    pub(crate) fn contacts(&self, contacts: &[Contact]) -> Vec<Contact> {
        let steps = contacts.iter().map(|contact| contact.step + 1).max().unwrap_or(0);
        let mut carried = contacts.to_vec();
        for step in 0..steps {
            let members = || contacts.iter().filter(|contact| contact.step == step);
            let count = members().count();
            if count == 0 {
                continue;
            }
            let middle = members().map(|contact| contact.anchor).sum::<Vec3>() / count as f64;
            let place = self.onto.under(middle);
            let normal = self.onto.normal(middle);
            let turn = Quat::from_rotation_arc(self.from.normal, normal);
            for contact in carried.iter_mut().filter(|contact| contact.step == step) {
                contact.anchor = place + turn * (contact.anchor - middle);
                contact.normal = normal;
            }
        }
        carried
    }

    /// The motion: the root rises with the ground below it, feet with the ground below them; what is in the way is stepped over.
    pub(crate) fn motion(&self, target: &[Vec<f64>], contacts: &[Contact]) -> Result<Vec<Vec<f64>>, Error> {
        let above: Vec<(usize, Vec3)> = self.soles.iter().map(|sole| (sole.joint, sole.point)).collect();
        let bounds: Vec<f64> = (0..target.len()).map(|frame| self.bound(contacts, frame)).collect();
        let lifts = self.lifts(target, &bounds);
        let frame = |data: &mut Data, frame: usize| {
            data.kinematics(self.body, &target[frame]);
            let rise = |x: Vec3| Vec3::Y * self.rise(x).y.min(bounds[frame]);
            let mut goals = Vec::with_capacity(self.soles.len());
            for (index, sole) in self.soles.iter().enumerate() {
                let rests = contacts.iter().find(|c| c.sole == index && c.frames.contains(&frame));
                let x = data.point(self.body, sole.joint, sole.point);
                let lifted = x + rise(x) + Vec3::Y * lifts[sole.foot][frame];
                let place = rests.map_or(lifted, |contact| contact.anchor);
                goals.push(Goal { joint: sole.joint, point: sole.point, place, unit: NEAR });
            }
            let mut pose = target[frame].clone();
            let rise = rise(data.origin());
            (0..3).for_each(|k| pose[k] += rise[k]);
            let reach = Reach {
                body: self.body,
                terrain: self.onto,
                pose: &pose,
                goals: &goals,
                above: &above,
                learnt: None,
            };
            reach.solve(&pose, data)
        };
        let frames = (0..target.len()).into_par_iter().with_min_len(4);
        frames.map_init(|| Data::new(self.body), |data, index| frame(data, index)).collect()
    }

    /// How far the highest footstep around a frame has risen: of every foot the one that stands, or the last one and the next. Without
    /// bound where a foot has no next.
    fn bound(&self, contacts: &[Contact], frame: usize) -> f64 {
        let feet = self.soles.iter().map(|sole| sole.foot + 1).max().unwrap_or(0);
        let mut highest = f64::NEG_INFINITY;
        for foot in 0..feet {
            let own = || contacts.iter().filter(|contact| self.soles[contact.sole].foot == foot);
            let stands = own().any(|contact| contact.frames.contains(&frame));
            let last = own().map(|contact| contact.frames.end).filter(|&end| end <= frame).max();
            let next = own().map(|contact| contact.frames.start).filter(|&start| start > frame).min();
            if !stands && next.is_none() {
                return f64::INFINITY;
            }
            let around = own().filter(|contact| match stands {
                true => contact.frames.contains(&frame),
                false => Some(contact.frames.end) == last || Some(contact.frames.start) == next,
            });
            highest = around.fold(highest, |most, contact| most.max(self.rise(contact.anchor).y));
        }
        highest
    }

    /// How much higher each foot must be, by foot and frame: the most that ground below it is above its bound within [`IN_TIME`], averaged
    /// over as long, so that nowhere less is left than is needed there.
    fn lifts(&self, target: &[Vec<f64>], bounds: &[f64]) -> Vec<Vec<f64>> {
        let points: Vec<(usize, Vec3)> = self.soles.iter().map(|sole| (sole.joint, sole.point)).collect();
        let feet = self.soles.iter().map(|sole| sole.foot + 1).max().unwrap_or(0);
        let mut lifts = vec![vec![0.0; target.len()]; feet];
        for (sole, track) in self.soles.iter().zip(tracks(self.body, target, &points)) {
            for ((lift, &x), &bound) in lifts[sole.foot].iter_mut().zip(&track).zip(bounds) {
                *lift = f64::max(*lift, self.rise(x).y - bound);
            }
        }
        let reach = (IN_TIME / self.step).round().max(1.0) as usize;
        let around = |list: &[f64], frame: usize| {
            list[frame.saturating_sub(reach)..(frame + reach + 1).min(list.len())].to_vec()
        };
        for lift in &mut lifts {
            let frames = 0..lift.len();
            let most = |frame: usize| around(lift, frame).into_iter().fold(0.0, f64::max);
            let most: Vec<f64> = frames.clone().map(most).collect();
            let mean = |frame: usize| {
                let near = around(&most, frame);
                near.iter().sum::<f64>() / near.len() as f64
            };
            *lift = frames.map(mean).collect();
        }
        lifts
    }
}
