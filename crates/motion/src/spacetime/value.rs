//! What a motion and its forces come to at a frame: the objective, and how far the root's rows are from 0.

use geometry::Vec3;

use super::{Active, Iterate, Place, Plan, Scratch};
use crate::recursion::Data;

/// A frame's share of objective and constraint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Value {
    pub(crate) objective: f64,
    /// The root's rows: newtons and newton-metres over body weights.
    pub(crate) violation: [f64; 6],
}

impl Plan<'_> {
    /// u − Σ Jᵀf of contacts and pushes: the root's rows must vanish, the others are torques. After inverse dynamics.
    pub(crate) fn torques(&self, frame: usize, forces: &[Vec3], data: &Data, u: &mut [f64]) {
        let body = self.problem.body;
        for (active, &force) in self.active[frame].iter().zip(forces) {
            let sole = &self.problem.soles[active.sole];
            let x = data.point(body, sole.joint, sole.point);
            data.point_jacobian(body, sole.joint, x, |k, j| u[k] -= j.dot(force) * self.body_weight);
        }
        for (joint, x, force, _) in self.problem.external.at(body, frame, data) {
            data.point_jacobian(body, joint, x, |k, j| u[k] -= j.dot(force));
        }
    }

    /// Objective and constraint at a frame; `barrier` is μ.
    pub(crate) fn value(&self, iterate: &Iterate, frame: usize, barrier: f64, s: &mut Scratch) -> Value {
        let (problem, body, w) = (self.problem, self.problem.body, &self.problem.weights);
        iterate.spline.frame(body, frame, &mut s.moment);
        s.data.inverse_dynamics(body, &s.moment.q, &s.moment.v, &s.moment.a, problem.gravity, &mut s.u);
        let together = problem.prior.filter(|prior| !prior.is_apart());
        let mut sum = together.map_or(0.0, |prior| prior.value(&s.moment, &s.u, problem.terrain));
        self.torques(frame, &iterate.forces[frame], &s.data, &mut s.u);
        if let Some(prior) = problem.prior.filter(|prior| prior.is_apart()) {
            let parts = self.parts(frame, &iterate.forces[frame], &s.u);
            sum += prior.value(&s.moment, &parts, problem.terrain);
        }
        let attention = problem.attention[frame];
        for (&joint, place) in self.followed.iter().zip(&self.places[frame]) {
            sum += attention * (s.data.point(body, joint, Vec3::ZERO) - *place).length_squared()
                / w.follow.powi(2);
        }
        body.difference(&problem.target[frame], &s.moment.q, &mut s.difference);
        for k in 3..body.dof_count() {
            sum += attention * (s.difference[k] / w.turn).powi(2) + (s.moment.a[k] / w.acceleration).powi(2);
        }
        let torque = self.torque_unit();
        sum += s.u[6..].iter().map(|tau| (tau / torque).powi(2)).sum::<f64>();
        for (path, x, place) in self.on_paths(frame, &s.data) {
            sum += (path.sight.off(place, x) / path.unit).powi(2);
        }
        for (_, place) in self.points(iterate, frame, &s.data) {
            sum += match place {
                Place::Anchor(off, _) => (off / w.anchor).length_squared(),
                Place::Height(height) => (height.min(0.0) / w.ground).powi(2),
            };
        }
        let places = self.place_value(iterate, frame);
        for (index, (&force, active)) in iterate.forces[frame].iter().zip(&self.active[frame]).enumerate() {
            let slack = active.cone.slack(force);
            sum += (force / w.force).length_squared()
                - barrier * if slack > 0.0 { slack.ln() } else { return self.outside() };
            sum += self
                .rates(iterate, frame, index, active)
                .map(|rate| (rate / w.force_rate).length_squared())
                .sum::<f64>();
        }
        let mut violation = [0.0; 6];
        (0..6).for_each(|k| violation[k] = s.u[k] / self.body_weight);
        Value { objective: sum * self.step + places, violation }
    }

    /// Steps stay where they are, near to where they were thought to be.
    fn place_value(&self, iterate: &Iterate, frame: usize) -> f64 {
        let [creep, near] = self.place_weights();
        let own = self.stands[frame].iter().zip(&iterate.places[frame]).map(|(stand, &place)| {
            let before = stand.before.map(|before| place - iterate.places[frame - 1][before]);
            creep * before.map_or(0.0, Vec3::length_squared) + near * place.length_squared()
        });
        own.sum()
    }

    fn outside(&self) -> Value {
        Value { objective: f64::INFINITY, violation: [0.0; 6] }
    }

    /// How fast a force changes: from the frame before, from nothing where contact begins, to nothing where it ends.
    fn rates<'b>(
        &'b self,
        iterate: &'b Iterate,
        frame: usize,
        index: usize,
        active: &'b Active,
    ) -> impl Iterator<Item = Vec3> + use<'b> {
        let force = iterate.forces[frame][index];
        let before = match active.before {
            Some(before) => Some(iterate.forces[frame - 1][before]),
            // a take that begins in contact has no frame before
            None => (frame > 0).then_some(Vec3::ZERO),
        };
        let begins = before.map(|before| (force - before) / self.step);
        let ends = (!active.goes_on).then_some(force / self.step);
        begins.into_iter().chain(ends)
    }
}
