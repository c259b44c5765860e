//! The recursive algorithms: positions and velocities down the tree, forces up it.
//!
//! M(q) q̈ + C(q, q̇) + h(q) = u   (paper eq. 1). [`Data::inverse_dynamics`] gives u from q, q̇, q̈ (RNEA),
//! [`Data::mass_matrix`] gives M (CRBA), [`Data::forward_dynamics`] gives q̈ from u (ABA). Featherstone 2008, chapters
//! 5 – 7. Differs: everything in one inertial frame (see [`crate::Motion`]), so no step has a transform.
//!
//! No method allocates.

use geometry::{Mat3, Vec3};

use crate::body::{Body, LinkKind};
use crate::spatial::{Force, Inertia, Motion};

/// What the algorithms compute with: scratch for one body, and their latest results. As Pinocchio's and MuJoCo's `Data`.
#[derive(Clone, Debug)]
pub struct Data {
    /// The common point: the root's place in the world.
    pub(crate) origin: Vec3,
    /// World-from-link rotations.
    pub(crate) rotation: Vec<Mat3>,
    /// Links' places from the common point.
    pub(crate) place: Vec<Vec3>,
    /// The motion that each degree of freedom gives: a column of S.
    pub(crate) axis: Vec<Motion>,
    pub(crate) velocity: Vec<Motion>,
    /// Less gravity, so that a figure at rest accelerates upwards.
    pub(crate) acceleration: Vec<Motion>,
    pub(crate) inertia: Vec<Inertia>,
    /// Of a link first; of its whole subtree after the way up.
    pub(crate) force: Vec<Force>,
    /// Of a subtree, on the way up.
    pub(crate) composite: Vec<Inertia>,
    pub(crate) scratch: crate::derivatives::Scratch,
    articulated: Vec<Articulated>,
    bias: Vec<Force>,
}

impl Data {
    /// For a body.
    pub fn new(body: &Body) -> Self {
        let (links, dofs) = (body.link_count(), body.dof_count());
        Self {
            origin: Vec3::ZERO,
            rotation: vec![Mat3::IDENTITY; links],
            place: vec![Vec3::ZERO; links],
            axis: vec![Motion::ZERO; dofs],
            velocity: vec![Motion::ZERO; links],
            acceleration: vec![Motion::ZERO; links],
            inertia: vec![Inertia::ZERO; links],
            force: vec![Force::ZERO; links],
            composite: vec![Inertia::ZERO; links],
            scratch: crate::derivatives::Scratch::new(body),
            articulated: vec![Articulated::ZERO; links],
            bias: vec![Force::ZERO; links],
        }
    }

    /// Where every link is, and how each degree of freedom moves it.
    pub fn kinematics(&mut self, body: &Body, q: &[f64]) {
        self.origin = match body.links.first() {
            Some(link) if link.kind == LinkKind::Translation => {
                link.translation + Vec3::from_slice(&q[link.first_coordinate..])
            }
            Some(link) => link.translation,
            None => Vec3::ZERO,
        };
        for (index, link) in body.links.iter().enumerate() {
            let (above, from) = match link.parent {
                Some(parent) => (self.rotation[parent], self.place[parent]),
                None => (Mat3::IDENTITY, -self.origin),
            };
            let (c, d) = (link.first_coordinate, link.first_dof);
            let mut place = from + above * link.translation;
            let rest = above * link.rotation;
            let rotation = match link.kind {
                LinkKind::Translation => {
                    place += Vec3::from_slice(&q[c..]);
                    for (k, e) in [Vec3::X, Vec3::Y, Vec3::Z].into_iter().enumerate() {
                        self.axis[d + k] = Motion::new(Vec3::ZERO, e);
                    }
                    rest
                }
                LinkKind::Ball => {
                    let rotation = rest * Mat3::from_quat(geometry::Quat::from_slice(&q[c..]));
                    for k in 0..3 {
                        let e = rotation.col(k);
                        self.axis[d + k] = Motion::new(e, place.cross(e));
                    }
                    rotation
                }
                LinkKind::Hinge(axis) => {
                    let e = rest * axis;
                    self.axis[d] = Motion::new(e, place.cross(e));
                    rest * Mat3::from_axis_angle(axis, q[c])
                }
            };
            self.rotation[index] = rotation;
            self.place[index] = place;
            self.inertia[index] = link.inertia.moved(rotation, place);
        }
    }

    /// S v of one link: what its own degrees of freedom add to the parent's motion.
    #[inline]
    pub(crate) fn own(&self, body: &Body, link: usize, v: &[f64]) -> Motion {
        let first = body.links[link].first_dof;
        match body.links[link].kind {
            LinkKind::Hinge(_) => self.axis[first] * v[first],
            _ => {
                self.axis[first] * v[first]
                    + self.axis[first + 1] * v[first + 1]
                    + self.axis[first + 2] * v[first + 2]
            }
        }
    }

    /// Velocities, accelerations and forces of all links, after [`Data::kinematics`].
    pub(crate) fn motion(&mut self, body: &Body, v: &[f64], a: &[f64], gravity: Vec3) {
        for (index, link) in body.links.iter().enumerate() {
            let (velocity, acceleration) = match link.parent {
                Some(parent) => (self.velocity[parent], self.acceleration[parent]),
                None => (Motion::ZERO, Motion::new(Vec3::ZERO, -gravity)),
            };
            let own = self.own(body, index, v);
            let velocity = velocity + own;
            let acceleration = acceleration + self.own(body, index, a) + velocity.cross(own);
            let inertia = &self.inertia[index];
            self.force[index] = inertia.apply(acceleration) + velocity.cross_force(inertia.apply(velocity));
            self.velocity[index] = velocity;
            self.acceleration[index] = acceleration;
        }
    }

    /// u = M q̈ + C + h: the generalised forces that a motion needs, contact and external ones among them (RNEA).
    ///
    /// In the first six rows of a floating figure: the force in world axes and the moment in the root's own, that must come
    /// from outside.
    pub fn inverse_dynamics(
        &mut self,
        body: &Body,
        q: &[f64],
        v: &[f64],
        a: &[f64],
        gravity: Vec3,
        u: &mut [f64],
    ) {
        self.kinematics(body, q);
        self.motion(body, v, a, gravity);
        self.gather(body, u);
    }

    /// Forces of subtrees, and their parts along the degrees of freedom.
    fn gather(&mut self, body: &Body, u: &mut [f64]) {
        for (index, link) in body.links.iter().enumerate().rev() {
            let force = self.force[index];
            for d in link.first_dof..link.first_dof + link.kind.dofs() {
                u[d] = self.axis[d].dot(force);
            }
            if let Some(parent) = link.parent {
                self.force[parent] += force;
            }
        }
    }

    /// M(q), by rows (CRBA).
    pub fn mass_matrix(&mut self, body: &Body, q: &[f64], m: &mut [f64]) {
        self.kinematics(body, q);
        let n = body.dof_count();
        m[..n * n].fill(0.0);
        self.composite.copy_from_slice(&self.inertia);
        for (index, link) in body.links.iter().enumerate().rev() {
            for d in link.first_dof..link.first_dof + link.kind.dofs() {
                let momentum = self.composite[index].apply(self.axis[d]);
                let mut k = d;
                while k != usize::MAX {
                    let entry = self.axis[k].dot(momentum);
                    m[d * n + k] = entry;
                    m[k * n + d] = entry;
                    k = body.dof_parent[k];
                }
            }
            if let Some(parent) = link.parent {
                let own = self.composite[index];
                self.composite[parent] += own;
            }
        }
    }

    /// q̈ from the generalised forces u, contact and external ones among them (ABA).
    pub fn forward_dynamics(
        &mut self,
        body: &Body,
        q: &[f64],
        v: &[f64],
        u: &[f64],
        gravity: Vec3,
        a: &mut [f64],
    ) {
        self.kinematics(body, q);
        for (index, link) in body.links.iter().enumerate() {
            let own = self.own(body, index, v);
            let velocity = link.parent.map_or(Motion::ZERO, |parent| self.velocity[parent]) + own;
            self.velocity[index] = velocity;
            // the part of the acceleration that needs no q̈
            self.acceleration[index] = velocity.cross(own);
            let inertia = self.inertia[index];
            self.articulated[index] = Articulated::rigid(&inertia);
            self.bias[index] = velocity.cross_force(inertia.apply(velocity));
        }
        for (index, link) in body.links.iter().enumerate().rev() {
            let Some(parent) = link.parent else { continue };
            let (inertia, bias) = self.without_joint(body, index, u);
            let pushed = bias + inertia.apply(self.acceleration[index]);
            self.articulated[parent] += inertia;
            self.bias[parent] += pushed;
        }
        for (index, link) in body.links.iter().enumerate() {
            let above = match link.parent {
                Some(parent) => self.acceleration[parent],
                None => Motion::new(Vec3::ZERO, -gravity),
            };
            let mut acceleration = above + self.acceleration[index];
            let force = self.articulated[index].apply(acceleration) + self.bias[index];
            let (first, count) = (link.first_dof, link.kind.dofs());
            let inverse = self.joint_inertia(index, first, count);
            let right = Vec3::from_array(std::array::from_fn(|k| {
                if k < count { u[first + k] - self.axis[first + k].dot(force) } else { 0.0 }
            }));
            let solved = inverse * right;
            for k in 0..count {
                a[first + k] = solved[k];
                acceleration += self.axis[first + k] * solved[k];
            }
            self.acceleration[index] = acceleration;
        }
    }

    /// (Sᵀ I S)⁻¹ of a link's joint.
    fn joint_inertia(&self, index: usize, first: usize, count: usize) -> Mat3 {
        let mut d = Mat3::IDENTITY;
        for k in 0..count {
            let column = self.articulated[index].apply(self.axis[first + k]);
            for l in 0..count {
                d.col_mut(k)[l] = self.axis[first + l].dot(column);
            }
        }
        d.inverse()
    }

    /// Articulated inertia and bias as felt through a joint that gives way.
    fn without_joint(&self, body: &Body, index: usize, u: &[f64]) -> (Articulated, Force) {
        let link = &body.links[index];
        let (first, count) = (link.first_dof, link.kind.dofs());
        let inverse = self.joint_inertia(index, first, count);
        let mut columns = [Force::ZERO; 3];
        let mut missing = Vec3::ZERO;
        for k in 0..count {
            columns[k] = self.articulated[index].apply(self.axis[first + k]);
            missing[k] = u[first + k] - self.axis[first + k].dot(self.bias[index]);
        }
        let solved = inverse * missing;
        let (mut inertia, mut bias) = (self.articulated[index], self.bias[index]);
        for k in 0..count {
            bias += columns[k] * solved[k];
            for l in 0..count {
                inertia.subtract(columns[k], columns[l] * inverse.col(l)[k]);
            }
        }
        (inertia, bias)
    }

    /// The root's place: the common point.
    pub fn origin(&self) -> Vec3 {
        self.origin
    }

    /// The place of a point given in a joint's frame, in the world, after [`Data::kinematics`].
    pub fn point(&self, body: &Body, joint: usize, point_in_joint: Vec3) -> Vec3 {
        let place = body.placements[joint];
        let in_link = place.translation + place.rotation * point_in_joint;
        self.origin + self.place[place.link] + self.rotation[place.link] * in_link
    }

    /// World-from-joint rotation, after [`Data::kinematics`].
    pub fn orientation(&self, body: &Body, joint: usize) -> Mat3 {
        let place = body.placements[joint];
        self.rotation[place.link] * Mat3::from_quat(place.rotation)
    }

    /// The velocity of a point of a joint's part, after [`Data::inverse_dynamics`].
    pub fn point_velocity(&self, body: &Body, joint: usize, point_in_world: Vec3) -> Vec3 {
        self.velocity[body.placements[joint].link].at(point_in_world - self.origin)
    }

    /// J of a point of a joint's part: calls `visit` with each degree of freedom that moves it, from the joint to the root,
    /// and the velocity of the point at unit speed. After [`Data::kinematics`].
    pub fn point_jacobian(
        &self,
        body: &Body,
        joint: usize,
        point_in_world: Vec3,
        mut visit: impl FnMut(usize, Vec3),
    ) {
        let x = point_in_world - self.origin;
        let link = &body.links[body.placements[joint].link];
        let mut k = link.first_dof + link.kind.dofs() - 1;
        while k != usize::MAX {
            visit(k, self.axis[k].at(x));
            k = body.dof_parent[k];
        }
    }

    /// ∂(Jᵀf)/∂q of a force that acts on a point of a joint's part: calls `visit` with row k, column j and the entry.
    ///
    /// The entry is (ω_a × J_b)·f, a being the one of k and j that is nearer to the root and J_b the point's velocity in the
    /// other: below a, everything turns along; above b, nothing does. Rows and columns of one ball: a is the column.
    pub fn point_force_derivative(
        &self,
        body: &Body,
        joint: usize,
        point_in_world: Vec3,
        force: Vec3,
        mut visit: impl FnMut(usize, usize, f64),
    ) {
        self.point_jacobian(body, joint, point_in_world, |b, velocity| {
            let mut a = b;
            let lever = velocity.cross(force);
            // (ω × J)·f = ω·(J × f)
            while a != usize::MAX {
                let entry = self.axis[a].angular.dot(lever);
                let same = body.link_of_dof[a] == body.link_of_dof[b];
                visit(b, a, entry);
                if !same {
                    visit(a, b, entry);
                } else if a != b {
                    let other = self.axis[a].at(point_in_world - self.origin).cross(force);
                    visit(a, b, self.axis[b].angular.dot(other));
                }
                a = body.dof_parent[a];
            }
        });
    }

    /// Centre of mass in the world and momentum about it, after [`Data::inverse_dynamics`].
    pub fn momentum(&self) -> (Vec3, Force) {
        let (mut total, mut momentum) = (Inertia::ZERO, Force::ZERO);
        for (inertia, &velocity) in self.inertia.iter().zip(&self.velocity) {
            total += *inertia;
            momentum += inertia.apply(velocity);
        }
        let center = total.center();
        momentum.angular -= center.cross(momentum.linear);
        (self.origin + center, momentum)
    }

    /// Kinetic energy in J, after [`Data::inverse_dynamics`].
    pub fn kinetic_energy(&self) -> f64 {
        let each = self.inertia.iter().zip(&self.velocity);
        each.map(|(inertia, &velocity)| 0.5 * velocity.dot(inertia.apply(velocity))).sum()
    }
}

/// The inertia of a link whose descendants give way: any symmetric 6×6 matrix [A B; Bᵀ D], angular first.
#[derive(Clone, Copy, Debug)]
struct Articulated {
    a: Mat3,
    b: Mat3,
    d: Mat3,
}

impl Articulated {
    const ZERO: Self = Self { a: Mat3::ZERO, b: Mat3::ZERO, d: Mat3::ZERO };

    fn rigid(inertia: &Inertia) -> Self {
        Self {
            a: inertia.rotational,
            b: crate::spatial::skew(inertia.first_moment),
            d: Mat3::from_diagonal(Vec3::splat(inertia.mass)),
        }
    }

    fn apply(&self, v: Motion) -> Force {
        Force::new(self.a * v.angular + self.b * v.linear, self.b.transpose() * v.angular + self.d * v.linear)
    }

    /// Less f gᵀ.
    fn subtract(&mut self, f: Force, g: Force) {
        use crate::spatial::outer;
        self.a -= outer(f.angular, g.angular);
        self.b -= outer(f.angular, g.linear);
        self.d -= outer(f.linear, g.linear);
    }
}

impl std::ops::AddAssign for Articulated {
    fn add_assign(&mut self, other: Self) {
        self.a += other.a;
        self.b += other.b;
        self.d += other.d;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, figure, state};

    const GRAVITY: Vec3 = Vec3::new(0.4, -9.7, 0.3);

    fn largest(values: &[f64]) -> f64 {
        values.iter().fold(0.0, |most: f64, v| most.max(v.abs()))
    }

    #[test]
    fn inverse_and_forward_dynamics_undo_each_other() {
        let mut random = Random(7);
        for seed in 1..6 {
            let body = figure(seed);
            assert_eq!((body.dof_count(), body.unactuated_count()), (48, 6));
            let mut data = Data::new(&body);
            let (q, v, a) = state(&body, &mut random);
            let (mut u, mut again) = (vec![0.0; 48], vec![0.0; 48]);
            data.inverse_dynamics(&body, &q, &v, &a, GRAVITY, &mut u);
            data.forward_dynamics(&body, &q, &v, &u, GRAVITY, &mut again);
            let error = a.iter().zip(&again).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-10 * largest(&a), "{error:e}");
        }
    }

    #[test]
    fn the_mass_matrix_is_the_slope_of_inverse_dynamics() {
        let body = figure(3);
        let mut data = Data::new(&body);
        let (q, v, a) = state(&body, &mut Random(11));
        let (mut m, mut u, mut bias) = (vec![0.0; 48 * 48], vec![0.0; 48], vec![0.0; 48]);
        data.mass_matrix(&body, &q, &mut m);
        data.inverse_dynamics(&body, &q, &v, &a, GRAVITY, &mut u);
        data.inverse_dynamics(&body, &q, &v, &[0.0; 48], GRAVITY, &mut bias);
        for k in 0..48 {
            let ma: f64 = (0..48).map(|j| m[k * 48 + j] * a[j]).sum();
            assert!((ma + bias[k] - u[k]).abs() < 1e-11 * largest(&u));
            assert!((0..48).all(|j| m[k * 48 + j] == m[j * 48 + k]));
        }
        // kinetic energy = ½ q̇ᵀ M q̇
        let energy: f64 =
            (0..48).map(|k| 0.5 * v[k] * (0..48).map(|j| m[k * 48 + j] * v[j]).sum::<f64>()).sum();
        assert!((data.kinetic_energy() - energy).abs() < 1e-11 * energy);
    }

    #[test]
    fn a_place_in_the_world_changes_nothing() {
        let body = figure(5);
        let mut data = Data::new(&body);
        let (mut q, v, a) = state(&body, &mut Random(5));
        let (mut near, mut far) = (vec![0.0; 48], vec![0.0; 48]);
        data.inverse_dynamics(&body, &q, &v, &a, GRAVITY, &mut near);
        q[0] += 1e5;
        data.inverse_dynamics(&body, &q, &v, &a, GRAVITY, &mut far);
        let error = near.iter().zip(&far).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(error < 1e-10 * largest(&near), "{error:e}");
    }

    #[test]
    fn jacobians_of_points_and_forces_agree_with_differences() {
        let body = figure(2);
        let mut data = Data::new(&body);
        let (q, v, a) = state(&body, &mut Random(3));
        let (joint, at, force) =
            (body.joints().len() - 1, Vec3::new(0.1, 0.2, -0.1), Vec3::new(30.0, 500.0, -80.0));
        let jtf = |data: &mut Data, q: &[f64]| {
            data.kinematics(&body, q);
            let mut rows = vec![0.0; 48];
            let x = data.point(&body, joint, at);
            data.point_jacobian(&body, joint, x, |k, j| rows[k] = j.dot(force));
            (x, rows)
        };
        data.inverse_dynamics(&body, &q, &v, &a, GRAVITY, &mut [0.0; 48]);
        let x = data.point(&body, joint, at);
        let (mut jacobian, mut hessian) = (vec![Vec3::ZERO; 48], vec![0.0; 48 * 48]);
        data.point_jacobian(&body, joint, x, |k, j| jacobian[k] = j);
        data.point_force_derivative(&body, joint, x, force, |k, j, entry| hessian[k * 48 + j] += entry);
        let velocity: Vec3 = (0..48).map(|k| jacobian[k] * v[k]).sum();
        assert!((velocity - data.point_velocity(&body, joint, x)).length() < 1e-12);
        let h = 1e-6;
        for j in 0..48 {
            let moved = |sign: f64| {
                let (mut step, mut moved) = (vec![0.0; 48], q.clone());
                step[j] = sign * h;
                body.integrate(&q, &step, &mut moved);
                moved
            };
            let (plus, minus) = (jtf(&mut data, &moved(1.0)), jtf(&mut data, &moved(-1.0)));
            assert!(((plus.0 - minus.0) / (2.0 * h) - jacobian[j]).length() < 1e-8);
            for k in 0..48 {
                let slope = (plus.1[k] - minus.1[k]) / (2.0 * h);
                assert!(
                    (slope - hessian[k * 48 + j]).abs() < 1e-5,
                    "{k} {j}: {slope} {}",
                    hessian[k * 48 + j]
                );
            }
        }
    }
}
