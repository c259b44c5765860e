//! What is true of a motion with its forces, measured anew.

use std::ops::Range;

use geometry::Vec3;

use crate::contacts::{runs, tracks};
use crate::recursion::Data;
use crate::solve::Solution;
use crate::spacetime::Spacetime;

/// What is true of a motion with its forces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Largest root residual, body weights.
    pub root_residual: f64,
    /// Its frame.
    pub root_frame: usize,
    /// Largest way of a resting point from its place, m.
    pub slip: f64,
    /// Largest depth of a sole point below the ground, m.
    pub penetration: f64,
    /// Forces outside of their cones.
    pub cone_violations: usize,
    /// Largest friction that a force uses, tangential over normal.
    pub friction: f64,
    /// Root mean square of joint torques, N·m.
    pub torque: f64,
    /// Largest and mean distance of joints from the take, m.
    pub follow_max: f64,
    /// Mean of the same.
    pub follow_mean: f64,
    /// The largest at every frame, m.
    pub follow: Vec<f64>,
    /// The frame of the largest distance.
    pub worst_frame: usize,
    /// Largest distance of a point from its trajectory, as far as that is seen, m.
    pub trajectory: f64,
    /// Where the take hovers: frames in which nothing bears it although it does not fall, and how many newtons are missing there.
    pub unborne: Option<(Range<usize>, f64)>,
}

/// Share of the weight that must be missing before a take is said to hover.
const HOVERS: f64 = 0.25;
/// How far the result must have fallen from it, in m.
const FALLEN: f64 = 0.1;

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
        for &(index, force) in &solution.forces[frame] {
            let sole = &problem.soles[index];
            let x = data.point(body, sole.joint, sole.point);
            data.point_jacobian(body, sole.joint, x, |k, j| u[k] -= j.dot(force));
            let normal = normal_of(problem, frame, index);
            let along = force.dot(normal);
            let across = (force - normal * along).length();
            report.cone_violations += usize::from(along < 0.0 || across > problem.friction * along);
            // a force of a newton has no friction to speak of
            if along > 0.01 * weight {
                report.friction = report.friction.max(across / along);
            }
        }
        for path in problem.trajectories {
            let x = data.point(body, path.joint, path.point);
            let off = path.place(frame).map_or(0.0, |place| path.sight.off(place, x));
            report.trajectory = report.trajectory.max(off);
        }
        for (joint, x, force, _) in problem.external.at(body, frame, &data) {
            data.point_jacobian(body, joint, x, |k, j| u[k] -= j.dot(force));
        }
        report.torque += u[6..].iter().map(|tau| tau * tau).sum::<f64>();
        let here = u[..6].iter().fold(0.0, |most: f64, x| most.max(x.abs() / weight));
        if here > report.root_residual {
            (report.root_residual, report.root_frame) = (here, frame);
        }
    }
    report.torque = (report.torque / (coordinates.len() * (u.len() - 6)).max(1) as f64).sqrt();
    let points: Vec<(usize, Vec3)> = problem.soles.iter().map(|sole| (sole.joint, sole.point)).collect();
    let places = tracks(body, coordinates, &points);
    for track in &places {
        report.penetration =
            track.iter().fold(report.penetration, |most, &x| most.max(-problem.terrain.height(x)));
    }
    for contact in problem.contacts {
        let here = &places[contact.sole][contact.frames.clone()];
        let belt = |k: usize| problem.terrain.velocity() * (solution.spline.step * k as f64);
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
    report.unborne = unborne(problem, solution.spline.step, &report.follow);
    report
}

/// Of the times without contact the one at which the most force is missing: what the take's centre of mass would need on top of gravity,
/// from its velocities at the beginning and the end. A jump needs none.
fn unborne(problem: &Spacetime, step: f64, follow: &[f64]) -> Option<(Range<usize>, f64)> {
    let (body, frames) = (problem.body, problem.target.len());
    let up = -problem.gravity.try_normalize()?;
    let weight = body.mass() * problem.gravity.length();
    let mut data = Data::new(body);
    let (still, mut unused) = (vec![0.0; body.dof_count()], vec![0.0; body.dof_count()]);
    let mut height = |frame: usize| {
        data.inverse_dynamics(body, &problem.target[frame], &still, &still, Vec3::ZERO, &mut unused);
        data.momentum().0.dot(up)
    };
    let free: Vec<bool> =
        (0..frames).map(|i| problem.contacts.iter().all(|contact| !contact.frames.contains(&i))).collect();
    let mut worst: Option<(Range<usize>, f64)> = None;
    for run in runs(&free).into_iter().filter(|run| run.len() > 3) {
        if follow[run.clone()].iter().all(|&off| off < FALLEN) {
            continue;
        }
        let (first, last) = (run.start, run.end - 1);
        let change = (height(last) - height(last - 1)) - (height(first + 1) - height(first));
        let missing = weight + body.mass() * change / (step * step * (run.len() - 2) as f64);
        if missing > worst.as_ref().map_or(HOVERS * weight, |worst| worst.1) {
            worst = Some((run, missing));
        }
    }
    worst
}

/// The ground's normal under a sole point that rests.
fn normal_of(problem: &Spacetime, frame: usize, sole: usize) -> Vec3 {
    let contact = problem.contacts.iter().find(|c| c.sole == sole && c.frames.contains(&frame));
    contact.map_or(Vec3::Y, |contact| contact.normal)
}
