//! The spacetime problem: a whole motion and its contact forces at once.
//!
//! Unknown are the control points of the motion's spline and a force at every point that rests, at every frame. Joint torques
//! are not: inverse dynamics gives them, τ = u − Σ Jᵀf (paper eq. 1 – 3). What is left of the dynamics are the root's six rows,
//! which no torque can serve. They are equalities, not a penalty:
//!
//! ```text
//! minimise  Σ_i h ( ‖x − x̂‖²/σ_x² + ‖q ⊖ q̂‖²/σ_q² + ‖τ‖²/σ_τ² + ‖q̈‖²/σ_a²        near the take, small torques
//!                 + ‖x_p − X_p‖²/σ_p²                                               points on their trajectories
//!                 + ‖x_c − X_c‖²/σ_c² + min(height, 0)²/σ_g²                        resting points rest, the others stay above
//!                 + ‖f‖²/σ_f² + ‖ḟ‖²/σ_r² − μ log ψ(f)                              forces in their cones
//!                 − 2 w ln p(u, q, q̇) )                                             as people move, with a prior
//!           + footsteps near where they were thought to be, if they may move (`stand.rs`)
//! subject to  u_root(q, q̇, q̈) = Σ Jᵀf + pushes         at every frame
//! ```
//!
//! Differs from the paper: hard root rows (there σ_physics), no torque unknowns, a barrier for e^λ, knots at frames.
//! Here: the problem and its frames' rows; `solve.rs` has the method.

use geometry::{Mat3, Vec3};

use crate::body::{Body, LinkKind};
use crate::cone::Cone;
use crate::contacts::{Contact, Sole};
use crate::derivatives::Derivatives;
use crate::external::External;
use crate::ground::Terrain;
use crate::prior::{Likelihood, PriorRows};
use crate::recursion::Data;
use crate::rotation::right_jacobian_inverse;
use crate::spline::{Moment, Slope, Spline};
use crate::stand::{CREEP, Stand, stands};
use crate::trajectory::Trajectory;

/// How much each aim counts: what is thought of as one unit of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// σ_x: a joint's distance from the take, in m.
    pub follow: f64,
    /// σ_q: a joint's turn from the take, in rad.
    pub turn: f64,
    /// σ_τ, in N·m for a figure of 70 kg.
    pub torque: f64,
    /// σ_a, in rad/s².
    pub acceleration: f64,
    /// σ_c: how far a resting point is from its place, in m.
    pub anchor: f64,
    /// σ_g: how far a point is below the ground, in m.
    pub ground: f64,
    /// σ_f, in body weights.
    pub force: f64,
    /// σ_r, in body weights a second.
    pub force_rate: f64,
    /// σ_p: how far a footstep is from where it was thought to be, in m. 0: it is there.
    pub place: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            follow: 0.02,
            turn: 0.15,
            torque: 150.0,
            acceleration: 250.0,
            anchor: 1e-4,
            ground: 2e-4,
            force: 3.0,
            force_rate: 12.0,
            place: 0.0,
        }
    }
}

/// A whole problem.
#[derive(Clone, Debug)]
pub struct Spacetime<'a> {
    /// Who moves.
    pub body: &'a Body,
    /// In m/s².
    pub gravity: Vec3,
    /// On what.
    pub terrain: &'a Terrain,
    /// Coefficient of friction.
    pub friction: f64,
    /// Points that can bear weight.
    pub soles: &'a [Sole],
    /// When and where they do.
    pub contacts: &'a [Contact],
    /// The take: coordinates at every frame.
    pub target: &'a [Vec<f64>],
    /// How much each frame's take counts: 1 follows it, 0 does not see it.
    pub attention: &'a [f64],
    /// Forces from outside.
    pub external: &'a External,
    /// Paths that points go along.
    pub trajectories: &'a [Trajectory],
    /// How much each aim counts.
    pub weights: Weights,
    /// How people move, where that is known.
    pub prior: Option<&'a Likelihood<'a>>,
    /// Control points at the beginning that are decided already.
    pub pinned: usize,
}

/// Sole points that rest at a frame: the point, its place, and the contact's index at the frame before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active {
    pub(crate) sole: usize,
    /// Where it rests, as long as its step is where it was thought to be.
    anchor: Vec3,
    /// The step's index among those that stand, where its place is unknown.
    stand: Option<usize>,
    pub(crate) cone: Cone,
    pub(crate) before: Option<usize>,
    /// Whether the point rests at the next frame too.
    pub(crate) goes_on: bool,
}

/// A motion and the forces that go with it.
#[derive(Clone, Debug)]
pub(crate) struct Iterate {
    pub(crate) spline: Spline,
    /// By frame and active point, in body weights.
    pub(crate) forces: Vec<Vec<Vec3>>,
    /// By frame and step that stands: how far it is from where it was thought to be.
    pub(crate) places: Vec<Vec<Vec3>>,
}

/// What does not change while a problem is solved.
pub(crate) struct Plan<'a> {
    pub(crate) problem: &'a Spacetime<'a>,
    pub(crate) active: Vec<Vec<Active>>,
    /// By frame, steps whose places are unknown.
    pub(crate) stands: Vec<Vec<Stand>>,
    /// Joints that are followed.
    pub(crate) followed: Vec<usize>,
    /// Their places in the take, by frame.
    pub(crate) places: Vec<Vec<Vec3>>,
    /// N.
    pub(crate) body_weight: f64,
    pub(crate) step: f64,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(problem: &'a Spacetime<'a>, step: f64) -> Self {
        let body = problem.body;
        let frames = problem.target.len();
        let stands = match problem.weights.place > 0.0 {
            true => stands(problem.contacts, frames),
            false => vec![Vec::new(); frames],
        };
        let mut active: Vec<Vec<Active>> = Vec::with_capacity(frames);
        for i in 0..frames {
            let here =
                problem.contacts.iter().filter(|contact| contact.frames.contains(&i)).map(|contact| Active {
                    sole: contact.sole,
                    anchor: contact.anchor + problem.terrain.velocity() * (step * i as f64),
                    stand: stands[i].iter().position(|stand| stand.step == contact.step),
                    cone: Cone { normal: contact.normal, friction: problem.friction },
                    before: active
                        .last()
                        .and_then(|last| last.iter().position(|other| other.sole == contact.sole)),
                    goes_on: contact.frames.contains(&(i + 1)) || i + 1 == frames,
                });
            let here = here.collect();
            active.push(here);
        }
        // joints that move by themselves, and of those at one place the first
        let followed: Vec<usize> = (0..body.joints().len())
            .filter(|&j| {
                let joint = &body.joints()[j];
                joint.kind != crate::JointKind::Welded
                    && (joint.parent.is_none() || joint.offset.length() > 1e-3)
            })
            .collect();
        let points: Vec<(usize, Vec3)> = followed.iter().map(|&joint| (joint, Vec3::ZERO)).collect();
        let tracks = crate::contacts::tracks(body, problem.target, &points);
        let places = (0..frames).map(|i| tracks.iter().map(|track| track[i]).collect()).collect();
        let body_weight = body.mass() * problem.gravity.length().max(1.0);
        Self { problem, active, stands, followed, places, body_weight, step }
    }

    pub(crate) fn frames(&self) -> usize {
        self.problem.target.len()
    }

    /// Unknowns of a frame beside its control point: forces, then places of steps.
    pub(crate) fn extra(&self, frame: usize) -> usize {
        3 * (self.active.get(frame).map_or(0, Vec::len) + self.stands.get(frame).map_or(0, Vec::len))
    }

    /// Weights of a step's place: of its change from frame to frame, and of itself.
    pub(crate) fn place_weights(&self) -> [f64; 2] {
        let w = &self.problem.weights;
        [(CREEP * w.anchor).powi(-2), w.place.powi(-2)].map(|weight| weight * self.step)
    }

    /// Where a resting point rests, and how that changes with its step's place.
    pub(crate) fn anchor(
        &self,
        iterate: &Iterate,
        frame: usize,
        active: &Active,
    ) -> (Vec3, Option<(usize, Mat3)>) {
        let Some(index) = active.stand else { return (active.anchor, None) };
        let (stand, place) = (&self.stands[frame][index], iterate.places[frame][index]);
        let slope = stand.slope(active.anchor, place);
        (stand.anchor(active.anchor, place), Some((index, slope)))
    }

    /// Torques weigh less in a heavier body.
    fn torque_unit(&self) -> f64 {
        self.problem.weights.torque * self.problem.body.mass() / 70.0
    }
}

/// Scratch of one thread.
pub(crate) struct Scratch {
    pub(crate) data: Data,
    pub(crate) derivatives: Derivatives,
    pub(crate) moment: Moment,
    pub(crate) slope: Slope,
    pub(crate) u: Vec<f64>,
    difference: Vec<f64>,
    parts: [Vec<f64>; 3],
}

impl Scratch {
    pub(crate) fn new(body: &Body) -> Self {
        let zeros = vec![0.0; body.dof_count()];
        Self {
            data: Data::new(body),
            derivatives: Derivatives::new(body),
            moment: Moment::new(body),
            slope: Slope::default(),
            u: zeros.clone(),
            difference: zeros.clone(),
            parts: [zeros.clone(), zeros.clone(), zeros],
        }
    }
}

/// A frame's share of objective and constraint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Value {
    pub(crate) objective: f64,
    /// The root's rows: newtons and newton-metres over body weights.
    pub(crate) violation: [f64; 6],
}

/// A frame's share of the linear system, over its control points, its forces and its multipliers.
pub(crate) struct Local {
    /// (Control points · forces · control point · rows)², lower triangle by columns.
    pub(crate) matrix: Vec<f64>,
    pub(crate) gradient: Vec<f64>,
    pub(crate) value: Value,
}

/// Rows of a frame, being written.
pub(crate) struct Rows<'a> {
    width: usize,
    columns: [usize; 3],
    pub(crate) force_column: usize,
    slope: &'a Slope,
    body: &'a Body,
    pub(crate) entries: Vec<f64>,
    pub(crate) residuals: Vec<f64>,
}

impl<'a> Rows<'a> {
    /// None yet, of this width, of a body with n degrees of freedom.
    pub(crate) fn new(width: usize, n: usize, slope: &'a Slope, body: &'a Body) -> Self {
        let columns = [0, n, width - n];
        Self { width, columns, force_column: 2 * n, slope, body, entries: Vec::new(), residuals: Vec::new() }
    }

    /// Adds a row given by its slopes by position, velocity and acceleration.
    pub(crate) fn push(&mut self, parts: &[&[f64]], residual: f64, weight: f64) {
        let start = self.entries.len();
        self.entries.resize(start + self.width, 0.0);
        let row = &mut self.entries[start..];
        for (link, blocks) in self.body.links.iter().zip(&self.slope.blocks) {
            let d = link.first_dof;
            for (what, part) in parts.iter().enumerate() {
                if let LinkKind::Hinge(_) = link.kind {
                    if part[d] != 0.0 {
                        for c in 0..3 {
                            row[self.columns[c] + d] += weight * part[d] * blocks[what][c].col(0).x;
                        }
                    }
                    continue;
                }
                let v = Vec3::from_slice(&part[d..]) * weight;
                if v == Vec3::ZERO {
                    continue;
                }
                for c in 0..3 {
                    let lifted = blocks[what][c].transpose() * v;
                    let at = self.columns[c] + d;
                    row[at] += lifted.x;
                    row[at + 1] += lifted.y;
                    row[at + 2] += lifted.z;
                }
            }
        }
        self.residuals.push(weight * residual);
    }
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

    /// Trajectories that want something at a frame, where their points are, and where they should be.
    pub(crate) fn on_paths<'b>(
        &'b self,
        frame: usize,
        data: &'b Data,
    ) -> impl Iterator<Item = (&'b Trajectory, Vec3, Vec3)> {
        self.problem.trajectories.iter().filter_map(move |path| {
            Some((path, data.point(self.problem.body, path.joint, path.point), path.place(frame)?))
        })
    }

    /// What every sole point does: resting ones are off their place, the others at a height.
    pub(crate) fn points<'b>(
        &'b self,
        iterate: &'b Iterate,
        frame: usize,
        data: &'b Data,
    ) -> impl Iterator<Item = (usize, Place)> + use<'b> {
        let problem = self.problem;
        problem.soles.iter().enumerate().map(move |(index, sole)| {
            let x = data.point(problem.body, sole.joint, sole.point);
            let place = match self.active[frame].iter().find(|active| active.sole == index) {
                Some(active) => {
                    let (anchor, slope) = self.anchor(iterate, frame, active);
                    Place::Anchor(x - anchor, slope)
                }
                None => Place::Height(problem.terrain.height(x)),
            };
            (index, place)
        })
    }

    /// The frame's share of the system. Force rates are left to the caller: they couple two frames.
    pub(crate) fn local(&self, iterate: &Iterate, frame: usize, barrier: f64, s: &mut Scratch) -> Local {
        let (problem, body) = (self.problem, self.problem.body);
        let n = body.dof_count();
        iterate.spline.frame_slope(body, frame, &mut s.moment, &mut s.slope);
        let Moment { q, v, a } = &s.moment;
        s.data.inverse_dynamics_derivatives(body, q, v, a, problem.gravity, &mut s.u, &mut s.derivatives);
        let forces = &iterate.forces[frame];
        // before contacts and pushes are taken away: the prior speaks of all forces together
        let together = problem.prior.filter(|prior| !prior.is_apart());
        let mut learnt = together.map(|prior| prior.rows(&s.moment, &s.u, &s.derivatives, problem.terrain));
        self.torques(frame, forces, &s.data, &mut s.u);
        self.force_slopes(frame, forces, s);
        if let Some(prior) = problem.prior.filter(|prior| prior.is_apart()) {
            let parts = self.parts(frame, forces, &s.u);
            let mut slopes = s.derivatives.clone();
            for slope in [&mut slopes.by_position, &mut slopes.by_velocity, &mut slopes.by_acceleration] {
                slope[..6 * n].fill(0.0);
            }
            learnt = Some(prior.rows(&s.moment, &parts, &slopes, problem.terrain));
        }
        let width = 3 * n + self.extra(frame);
        let slope = std::mem::take(&mut s.slope);
        let mut rows = Rows::new(width, n, &slope, body);
        rows.entries.reserve(width * (6 + n + 3 * (self.followed.len() + problem.soles.len())));
        self.dynamics_rows(frame, s, &mut rows);
        self.place_rows(iterate, frame, s, &mut rows);
        if let (Some(PriorRows { residuals, parts, by_forces }), Some(prior)) = (&learnt, problem.prior) {
            let weight = prior.weight.sqrt();
            for (row, &residual) in residuals.iter().enumerate() {
                let own = parts.each_ref().map(|part| &part[row * n..(row + 1) * n]);
                let at = rows.entries.len() + rows.force_column;
                rows.push(&own, residual, weight);
                if let Some(by_forces) = by_forces.get(row * n..(row + 1) * n).filter(|_| prior.is_apart()) {
                    self.contact_slopes(frame, &s.data, by_forces, weight, &mut rows.entries[at..]);
                }
            }
        }
        let constraint: Vec<f64> = rows.entries.drain(..6 * width).collect();
        let violation = std::array::from_fn(|k| rows.residuals[k]);
        rows.residuals.drain(..6);

        let mut gram = vec![0.0; width * width];
        linear::add_gram(&rows.entries, width, &mut gram);
        let size = width + 6;
        let mut local = Local {
            matrix: vec![0.0; size * size],
            gradient: vec![0.0; size],
            value: Value { objective: 0.0, violation },
        };
        let scale = self.step;
        for column in 0..width {
            let from = &gram[column * width + column..(column + 1) * width];
            let to = &mut local.matrix[column * size + column..(column + 1) * size];
            to.iter_mut().zip(from).for_each(|(to, from)| *to = scale * from);
            for k in 0..6 {
                local.matrix[column * size + width + k] = constraint[k * width + column];
            }
        }
        for (row, residual) in rows.entries.chunks_exact(width).zip(&rows.residuals) {
            local.gradient.iter_mut().zip(row).for_each(|(g, r)| *g += scale * r * residual);
        }
        local.gradient[width..].copy_from_slice(&local.value.violation);
        self.link_terms(frame, s, &rows, &mut local, size);
        self.force_terms(frame, forces, barrier, 2 * n, &mut local, size);
        s.slope = slope;
        local
    }

    /// ( force under the first foot, under the second one, τ ) in N and N·m, of what [`Self::torques`] left.
    fn parts(&self, frame: usize, forces: &[Vec3], u: &[f64]) -> Vec<f64> {
        let mut parts = u.to_vec();
        parts[..6].fill(0.0);
        for (active, &force) in self.active[frame].iter().zip(forces) {
            let first = 3 * self.problem.soles[active.sole].foot.min(1);
            (0..3).for_each(|k| parts[first + k] += force[k] * self.body_weight);
        }
        parts
    }

    /// What contact forces do to a row that is given by its slopes by [`Self::parts`].
    fn contact_slopes(&self, frame: usize, data: &Data, by_parts: &[f64], weight: f64, columns: &mut [f64]) {
        let body = self.problem.body;
        for (index, active) in self.active[frame].iter().enumerate() {
            let sole = &self.problem.soles[active.sole];
            let x = data.point(body, sole.joint, sole.point);
            let mut slope = Vec3::from_slice(&by_parts[3 * sole.foot.min(1)..]);
            data.point_jacobian(body, sole.joint, x, |k, j| {
                if k >= 6 {
                    slope -= j * by_parts[k];
                }
            });
            (slope * (weight * self.body_weight)).write_to_slice(&mut columns[3 * index..3 * index + 3]);
        }
    }

    /// −∂(Jᵀf)/∂q into the derivatives.
    pub(crate) fn force_slopes(&self, frame: usize, forces: &[Vec3], s: &mut Scratch) {
        let (body, n) = (self.problem.body, self.problem.body.dof_count());
        let matrix = &mut s.derivatives.by_position;
        for (active, &force) in self.active[frame].iter().zip(forces) {
            let sole = &self.problem.soles[active.sole];
            let (x, force) = (s.data.point(body, sole.joint, sole.point), force * self.body_weight);
            s.data
                .point_force_derivative(body, sole.joint, x, force, |k, j, entry| matrix[k * n + j] -= entry);
        }
        for (joint, x, force, slope) in self.problem.external.at(body, frame, &s.data) {
            s.data.point_force_derivative(body, joint, x, force, |k, j, entry| matrix[k * n + j] -= entry);
            if slope != Mat3::ZERO {
                s.data.point_jacobian(body, joint, x, |j, column| {
                    let pulled = slope * column;
                    s.data.point_jacobian(body, joint, x, |k, row| matrix[k * n + j] -= row.dot(pulled));
                });
            }
        }
    }

    /// Six constraint rows, then torques.
    fn dynamics_rows(&self, frame: usize, s: &mut Scratch, rows: &mut Rows) {
        let (problem, body) = (self.problem, self.problem.body);
        let n = body.dof_count();
        let first = rows.entries.len();
        for k in 0..n {
            let d = &s.derivatives;
            let parts = [&d.by_position, &d.by_velocity, &d.by_acceleration]
                .map(|matrix| &matrix[k * n..(k + 1) * n]);
            let weight = if k < 6 { 1.0 / self.body_weight } else { 1.0 / self.torque_unit() };
            rows.push(&parts, s.u[k], weight);
        }
        for (index, active) in self.active[frame].iter().enumerate() {
            let sole = &problem.soles[active.sole];
            let x = s.data.point(body, sole.joint, sole.point);
            s.data.point_jacobian(body, sole.joint, x, |k, j| {
                let weight = if k < 6 { 1.0 } else { self.body_weight / self.torque_unit() };
                let at = first + k * rows.width + rows.force_column + 3 * index;
                (j * -weight).write_to_slice(&mut rows.entries[at..at + 3]);
            });
        }
    }

    /// Joints near the take, resting points in their places, the others above the ground.
    fn place_rows(&self, iterate: &Iterate, frame: usize, s: &mut Scratch, rows: &mut Rows) {
        let (problem, body, w) = (self.problem, self.problem.body, &self.problem.weights);
        let follow = problem.attention[frame].sqrt() / w.follow;
        let mut jacobian =
            |data: &Data, joint: usize, x: Vec3, off: Vec3, weight: f64, rows: &mut Rows, along: &[Vec3]| {
                let first = rows.entries.len();
                for direction in along {
                    s.parts[0].fill(0.0);
                    data.point_jacobian(body, joint, x, |k, j| s.parts[0][k] = j.dot(*direction));
                    rows.push(&[&s.parts[0]], off.dot(*direction), weight);
                }
                first
            };
        if follow > 0.0 {
            for (&joint, place) in self.followed.iter().zip(&self.places[frame]) {
                let x = s.data.point(body, joint, Vec3::ZERO);
                jacobian(&s.data, joint, x, x - *place, follow, rows, &[Vec3::X, Vec3::Y, Vec3::Z]);
            }
        }
        for (path, x, place) in self.on_paths(frame, &s.data) {
            let across: Vec<Vec3> = path.sight.directions(place).collect();
            jacobian(&s.data, path.joint, x, x - place, 1.0 / path.unit, rows, &across);
        }
        let first = rows.force_column + 3 * self.active[frame].len();
        for (index, place) in self.points(iterate, frame, &s.data) {
            let sole = &problem.soles[index];
            let x = s.data.point(body, sole.joint, sole.point);
            match place {
                Place::Anchor(off, slope) => {
                    let axes = [Vec3::X, Vec3::Y, Vec3::Z];
                    let start = jacobian(&s.data, sole.joint, x, off, 1.0 / w.anchor, rows, &axes);
                    let Some((stand, slope)) = slope else { continue };
                    for (k, axis) in axes.into_iter().enumerate() {
                        let at = start + k * rows.width + first + 3 * stand;
                        let entries = slope.transpose() * axis * (-1.0 / w.anchor);
                        entries.write_to_slice(&mut rows.entries[at..at + 3]);
                    }
                }
                Place::Height(height) if height < 0.0 => {
                    let normal = problem.terrain.normal(x);
                    jacobian(&s.data, sole.joint, x, normal * height, 1.0 / w.ground, rows, &[normal]);
                }
                Place::Height(_) => {}
            }
        }
    }

    /// Turns from the take and accelerations: each concerns one link alone.
    fn link_terms(&self, frame: usize, s: &mut Scratch, rows: &Rows, local: &mut Local, size: usize) {
        let (problem, body, w) = (self.problem, self.problem.body, &self.problem.weights);
        body.difference(&problem.target[frame], &s.moment.q, &mut s.difference);
        let turn = problem.attention[frame] / w.turn.powi(2);
        let still = 1.0 / w.acceleration.powi(2);
        for (link, blocks) in body.links.iter().zip(&rows.slope.blocks) {
            let (d, count) = (link.first_dof, link.kind.dofs());
            if link.kind == LinkKind::Translation {
                continue;
            }
            let take = |list: &[f64]| {
                Vec3::from_array(std::array::from_fn(|k| if k < count { list[d + k] } else { 0.0 }))
            };
            let off = take(&s.difference);
            let jacobian = if count == 3 { right_jacobian_inverse(off) } else { Mat3::IDENTITY };
            for (what, weight, residual, outer) in
                [(0, turn, off, jacobian), (2, still, take(&s.moment.a), Mat3::IDENTITY)]
            {
                let lifted = blocks[what].map(|block| outer * block);
                for c in 0..3 {
                    let at = rows.columns[c] + d;
                    let gradient = lifted[c].transpose() * residual * (weight * self.step);
                    (0..count).for_each(|k| local.gradient[at + k] += gradient[k]);
                    for c2 in c..3 {
                        let block = lifted[c2].transpose() * lifted[c] * (weight * self.step);
                        let below = rows.columns[c2] + d;
                        for column in 0..count {
                            for row in 0..count {
                                if below + row >= at + column {
                                    local.matrix[(at + column) * size + below + row] +=
                                        block.col(column)[row];
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Small forces, inside their cones.
    fn force_terms(
        &self,
        frame: usize,
        forces: &[Vec3],
        barrier: f64,
        first: usize,
        local: &mut Local,
        size: usize,
    ) {
        let unit = 1.0 / self.problem.weights.force.powi(2);
        for (index, (&force, active)) in forces.iter().zip(&self.active[frame]).enumerate() {
            let (_, slope, curvature) = active.cone.barrier(force);
            // an objective of squares has the gradient of half of it in rows: halve the barrier alike
            let gradient = (force * unit + slope * (0.5 * barrier)) * self.step;
            let hessian = (Mat3::from_diagonal(Vec3::splat(unit)) + curvature * (0.5 * barrier)) * self.step;
            let at = first + 3 * index;
            for column in 0..3 {
                local.gradient[at + column] += gradient[column];
                for row in column..3 {
                    local.matrix[(at + column) * size + at + row] += hessian.col(column)[row];
                }
            }
        }
    }
}

/// What a sole point does.
pub(crate) enum Place {
    /// Off its place by this; which step's place that is, and how it changes with it.
    Anchor(Vec3, Option<(usize, Mat3)>),
    /// At this height.
    Height(f64),
}
