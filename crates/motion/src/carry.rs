//! A motion carried onto other ground: footsteps straight up or down onto it, the foot turned to lie on it, legs bent to reach.

use geometry::{Quat, Vec3};
use rayon::prelude::*;

use crate::body::Body;
use crate::contacts::{Contact, Sole};
use crate::error::Error;
use crate::ground::{Ground, Terrain};
use crate::reach::{Goal, Reach};
use crate::recursion::Data;

/// How near feet in the air come to where they were above the old ground, in m.
const NEAR: f64 = 0.01;

/// From one ground to another.
pub(crate) struct Carry<'a> {
    pub(crate) body: &'a Body,
    pub(crate) soles: &'a [Sole],
    pub(crate) from: &'a Ground,
    pub(crate) onto: &'a Terrain,
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

    /// The motion: the root rises with the ground below it, feet with the ground below them.
    pub(crate) fn motion(&self, target: &[Vec<f64>], contacts: &[Contact]) -> Result<Vec<Vec<f64>>, Error> {
        let above: Vec<(usize, Vec3)> = self.soles.iter().map(|sole| (sole.joint, sole.point)).collect();
        let frame = |data: &mut Data, frame: usize| {
            data.kinematics(self.body, &target[frame]);
            let mut goals = Vec::with_capacity(self.soles.len());
            for (index, sole) in self.soles.iter().enumerate() {
                let rests = contacts.iter().find(|c| c.sole == index && c.frames.contains(&frame));
                let x = data.point(self.body, sole.joint, sole.point);
                let place = rests.map_or(x + self.rise(x), |contact| contact.anchor);
                goals.push(Goal { joint: sole.joint, point: sole.point, place, unit: NEAR });
            }
            let mut pose = target[frame].clone();
            let rise = self.rise(data.origin());
            (0..3).for_each(|k| pose[k] += rise[k]);
            let reach =
                Reach { body: self.body, terrain: self.onto, pose: &pose, goals: &goals, above: &above };
            reach.solve(&pose, data)
        };
        let frames = (0..target.len()).into_par_iter().with_min_len(4);
        frames.map_init(|| Data::new(self.body), |data, index| frame(data, index)).collect()
    }
}
