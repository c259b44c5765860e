//! Repair: the motion nearest to a take that obeys physics, its feet still.

use geometry::Vec3;

use crate::body::Body;
use crate::contacts::{Contact, Detection, Sole, contacts, ground_height, soles, tracks};
use crate::error::Error;
use crate::ground::Ground;
use crate::recursion::Data;
use crate::solve::{Limits, Solution, solve};
use crate::spacetime::{Push, Spacetime, Weights};
use crate::take::{Build, Take};

/// What a repair is asked for.
#[derive(Clone, Debug)]
pub struct Repair {
    /// How far joints may be from the take, in m.
    pub follow: f64,
    /// In m/s².
    pub gravity: Vec3,
    /// Coefficient of friction.
    pub friction: f64,
    /// Without it, level ground where the feet keep returning to.
    pub ground: Option<Ground>,
    /// Masses.
    pub build: Build,
    /// How contacts are found.
    pub detection: Detection,
    /// Forces from outside.
    pub pushes: Vec<Push>,
    /// How much each aim counts; `follow` above goes first.
    pub weights: Weights,
    /// When to be content.
    pub limits: Limits,
}

impl Default for Repair {
    fn default() -> Self {
        Self {
            follow: 0.02,
            gravity: Vec3::new(0.0, -9.81, 0.0),
            friction: 0.8,
            ground: None,
            build: Build::default(),
            detection: Detection::default(),
            pushes: Vec::new(),
            weights: Weights::default(),
            limits: Limits::default(),
        }
    }
}

/// A take that obeys physics, and how well.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// The motion, frame by frame as the take had it.
    pub take: Take,
    /// Who moves.
    pub body: Body,
    /// On what.
    pub ground: Ground,
    /// Points that can bear weight.
    pub soles: Vec<Sole>,
    /// When and where they do.
    pub contacts: Vec<Contact>,
    /// The spline and the forces.
    pub solution: Solution,
    /// What was measured on the result.
    pub report: Report,
}

/// What is true of a motion with its forces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Largest root residual, body weights.
    pub root_residual: f64,
    /// Largest way of a resting point from its place, m.
    pub slip: f64,
    /// Largest depth of a sole point below the ground, m.
    pub penetration: f64,
    /// Forces outside of their cones.
    pub cone_violations: usize,
    /// Largest friction that a force uses, tangential over normal.
    pub friction: f64,
    /// Largest and mean distance of joints from the take, m.
    pub follow_max: f64,
    /// Mean of the same.
    pub follow_mean: f64,
    /// The largest at every frame, m.
    pub follow: Vec<f64>,
    /// The frame of the largest distance.
    pub worst_frame: usize,
}

impl Repair {
    /// Repairs a take.
    pub fn run(&self, take: &Take) -> Result<Repaired, Error> {
        for (what, value) in [("follow", self.follow), ("friction", self.friction)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::Value { what, value, expected: "it must be positive" });
            }
        }
        let body = take.body(&self.build)?;
        let target = take.coordinates(&body);
        let ground = match self.ground {
            Some(ground) => ground,
            None => Ground::level(ground_height(take, &body, &target)?),
        };
        let soles = soles(take, &body, &target, &ground)?;
        let contacts = contacts(take, &body, &target, &soles, &ground, &self.detection);
        let problem = Spacetime {
            body: &body,
            gravity: self.gravity,
            ground,
            friction: self.friction,
            soles: &soles,
            contacts: &contacts,
            target: &target,
            attention: &vec![1.0; target.len()],
            pushes: &self.pushes,
            weights: Weights { follow: self.follow, ..self.weights },
        };
        let solution = solve(&problem, take.frame_rate_hz, &self.limits)?;
        let coordinates = solution.coordinates(&body);
        let report = report(&problem, &solution, &coordinates);
        let take = take.with_coordinates(&body, &coordinates);
        Ok(Repaired { take, ground, soles, contacts, solution, report, body })
    }
}

/// Measures a motion anew: nothing here is taken from the solver but the spline and the forces.
pub fn report(problem: &Spacetime, solution: &Solution, coordinates: &[Vec<f64>]) -> Report {
    let body = problem.body;
    let mut report = Report::default();
    let mut data = Data::new(body);
    let mut moment = crate::Moment::new(body);
    let mut u = vec![0.0; body.dof_count()];
    let weight = body.mass() * problem.gravity.length().max(1.0);
    for frame in 0..coordinates.len() {
        solution.spline.frame(body, frame, &mut moment);
        data.inverse_dynamics(body, &moment.q, &moment.v, &moment.a, problem.gravity, &mut u);
        for &(sole, force) in &solution.forces[frame] {
            let sole = &problem.soles[sole];
            let x = data.point(body, sole.joint, sole.point);
            data.point_jacobian(body, sole.joint, x, |k, j| u[k] -= j.dot(force));
            let along = force.dot(problem.ground.normal);
            let across = (force - problem.ground.normal * along).length();
            report.cone_violations += usize::from(along < 0.0 || across > problem.friction * along);
            // a force of a newton has no friction to speak of
            if along > 0.01 * weight {
                report.friction = report.friction.max(across / along);
            }
        }
        for push in problem.pushes {
            let force = push.forces.get(frame).copied().unwrap_or(Vec3::ZERO);
            let x = data.point(body, push.joint, Vec3::ZERO);
            data.point_jacobian(body, push.joint, x, |k, j| u[k] -= j.dot(force));
        }
        report.root_residual = u[..6].iter().fold(report.root_residual, |most, x| most.max(x.abs() / weight));
    }
    let points: Vec<(usize, Vec3)> = problem.soles.iter().map(|sole| (sole.joint, sole.point)).collect();
    let places = tracks(body, coordinates, &points);
    for track in &places {
        report.penetration =
            track.iter().fold(report.penetration, |most, &x| most.max(-problem.ground.height(x)));
    }
    for contact in problem.contacts {
        let here = &places[contact.sole][contact.frames.clone()];
        let belt = |k: usize| problem.ground.velocity * (solution.spline.step * k as f64);
        let travel = here.iter().enumerate().map(|(k, &x)| (x - belt(k) - here[0]).length());
        report.slip = travel.fold(report.slip, f64::max);
    }
    let joints: Vec<(usize, Vec3)> = (0..body.joints().len()).map(|joint| (joint, Vec3::ZERO)).collect();
    let (was, is) = (tracks(body, problem.target, &joints), tracks(body, coordinates, &joints));
    let (mut sum, mut count) = (0.0, 0);
    report.follow = vec![0.0; coordinates.len()];
    for (was, is) in was.iter().zip(&is) {
        for (frame, (a, b)) in was.iter().zip(is).enumerate() {
            let distance = a.distance(*b);
            sum += distance;
            count += 1;
            report.follow[frame] = report.follow[frame].max(distance);
            if distance > report.follow_max {
                (report.follow_max, report.worst_frame) = (distance, frame);
            }
        }
    }
    report.follow_mean = sum / f64::from(count.max(1));
    report
}
