//! Limits of joints that swing: how far flesh may turn a free joint from how it hangs at rest on the joint that carries it.
//!
//! A free joint points from its place to the middle of what it moves: u = Σ uₖ cₖ over coefficients cₖ. Within a limit of φ, u stays in the
//! cone of half-angle φ about where it points at rest, seen from the joint that carries it. Up to a right angle that cone is convex, and so
//! is the squared distance from it, the energy that keeps nonlinear flesh within its limits; the player keeps them as it keeps its pins,
//! by the force that leads back within one step.

use std::sync::Arc;

use dynamics::{Energy, GuideSample};
use geometry::{Mat3, Vec3};
use glam::DQuat;
use linear::{Matrix, Pattern};

use crate::bones::{Joint, Skin, carriers};
use crate::frames::Frame;

/// A joint moves a point, where this much of the point's weight is its own.
const OWN: f64 = 0.3;
/// Arms shorter than this part of the character's size point nowhere.
const SHORTEST: f64 = 1e-4;
/// How quickly a limit turns flesh back that hangs on it, in Hz.
const STOP_HZ: f64 = 20.0;

/// A cone that a free joint stays in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    /// The joint that carries it.
    pub(crate) joint: u32,
    /// The cone's axis while that joint is at rest: a unit vector.
    pub(crate) axis: Vec3,
    /// Half of the cone's opening: sine and cosine.
    pub(crate) sine: f64,
    pub(crate) cosine: f64,
    /// u, as pairs of a coefficient and its weight.
    pub(crate) row: Vec<(u32, f64)>,
}

impl Limit {
    /// Limits of joints, in radians; `surface` has the values of functions at the points of the skin, `at` those at other places. Joints
    /// that move nothing, or whose flesh is all around them, have no direction and get none.
    pub(crate) fn all<E>(
        limits: &[(usize, f64)],
        joints: &[Joint],
        skin: &Skin,
        free: &[usize],
        rows: impl Fn(usize) -> Vec<(u32, f64)>,
        at: impl Fn(Vec3) -> Result<Vec<(u32, f64)>, E>,
    ) -> Result<Vec<Self>, E> {
        let carriers = carriers(joints, free);
        let size = geometry::Bounds::of(skin.points.iter().copied()).diagonal();
        let mut found = Vec::new();
        for &(joint, angle) in limits.iter().filter(|(joint, _)| carriers[*joint] != *joint) {
            let own = |point: usize| -> f64 {
                skin.influences[point].iter().filter(|(j, _)| *j as usize == joint).map(|(_, w)| w).sum()
            };
            let moved: Vec<(usize, f64)> = (0..skin.points.len())
                .map(|point| (point, own(point)))
                .filter(|(_, weight)| *weight >= OWN)
                .collect();
            let total: f64 = moved.iter().map(|(_, weight)| weight).sum();
            let head = joints[joint].rest_from_joint.translation;
            let middle: Vec3 = moved.iter().map(|&(p, weight)| weight / total * skin.points[p]).sum();
            if moved.is_empty() || middle.distance(head) < SHORTEST * size {
                continue;
            }
            let mut row: Vec<(u32, f64)> = at(head)?.into_iter().map(|(f, value)| (f, -value)).collect();
            for &(point, weight) in &moved {
                row.extend(rows(point).into_iter().map(|(f, value)| (f, weight / total * value)));
            }
            row.sort_by_key(|entry| entry.0);
            let row = row
                .chunk_by(|a, b| a.0 == b.0)
                .map(|run| (run[0].0, run.iter().map(|entry| entry.1).sum()))
                .collect();
            let (sine, cosine) = angle.clamp(0.0, std::f64::consts::FRAC_PI_2).sin_cos();
            let axis = (middle - head).normalize();
            found.push(Self { joint: carriers[joint] as u32, axis, sine, cosine, row });
        }
        Ok(found)
    }

    /// u.
    pub(crate) fn arm(&self, coefficients: &[Vec3]) -> Vec3 {
        self.row.iter().map(|&(f, weight)| weight * coefficients[f as usize]).sum()
    }

    /// The arm turned back into the cone about `axis`; none where it is in it.
    pub(crate) fn turned_back(&self, arm: Vec3, axis: Vec3) -> Option<Vec3> {
        let along = arm.dot(axis);
        let across = arm - along * axis;
        if along >= 0.0 && across.length() * self.cosine <= along * self.sine {
            return None;
        }
        // straight away from where it should point, any side is as good
        let side = across.try_normalize().unwrap_or_else(|| axis.any_orthonormal_vector());
        Some(arm.length() * (self.cosine * axis + self.sine * side))
    }

    /// The gradient of half the squared distance d from the cone, that is the way from its nearest place, and the Hessian.
    fn distance(&self, arm: Vec3, axis: Vec3) -> (Vec3, Mat3) {
        let along = arm.dot(axis);
        let across = arm - along * axis;
        let radius = across.length();
        let outside = radius * self.cosine - along * self.sine;
        if along >= 0.0 && outside <= 0.0 {
            return (Vec3::ZERO, Mat3::ZERO);
        }
        // behind the tip
        if along * self.cosine + radius * self.sine <= 0.0 {
            return (arm, Mat3::IDENTITY);
        }
        let side = across / radius;
        let outward = self.cosine * side - self.sine * axis;
        let around = Mat3::IDENTITY - outer(axis) - outer(side);
        (outside * outward, outer(outward) + outside * self.cosine / radius * around)
    }
}

fn outer(a: Vec3) -> Mat3 {
    Mat3::from_cols(a * a.x, a * a.y, a * a.z)
}

/// How the joints that carry limits turn within a frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// When the frame begins, and how long it is, in seconds.
    pub(crate) start: f64,
    pub(crate) duration: f64,
    /// For every limit, at its beginning and at its end.
    pub(crate) ends: Vec<[DQuat; 2]>,
}

impl Turns {
    /// Those between two poses.
    pub(crate) fn set(&mut self, limits: &[Limit], [before, after]: [&[Frame]; 2], span: [f64; 2]) {
        [self.start, self.duration] = span;
        self.ends.clear();
        let turn = |limit: &Limit| [before, after].map(|frames| frames[limit.joint as usize].turn);
        self.ends.extend(limits.iter().map(turn));
    }

    /// As internal variables of [`Cones`]: start, duration, and two quaternions for every limit.
    pub(crate) fn to_internal(&self) -> Vec<f64> {
        let turns = self.ends.iter().flatten().flat_map(|turn| turn.to_array());
        [self.start, self.duration].into_iter().chain(turns).collect()
    }

    fn from_internal(internal: &[f64]) -> Self {
        let Some((&[start, duration], turns)) = internal.split_first_chunk() else { return Self::default() };
        let turn = |numbers: &[f64; 8]| {
            let [a, b, c, d, e, f, g, h] = *numbers;
            [DQuat::from_array([a, b, c, d]), DQuat::from_array([e, f, g, h])]
        };
        Self { start, duration, ends: turns.as_chunks::<8>().0.iter().map(turn).collect() }
    }

    fn at(&self, index: usize, time: f64) -> DQuat {
        let Some([a, b]) = self.ends.get(index) else { return DQuat::IDENTITY };
        a.slerp(*b, ((time - self.start) / self.duration.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0))
    }
}

/// E = Σ ½ k d², d the distance of an arm from its cone; k in N/m. How the joints that carry the cones turn is its internal variables.
#[derive(Clone)]
pub(crate) struct Cones {
    limits: Arc<[(Limit, f64)]>,
    turns: Turns,
    /// For every limit the slots of its pairs, the lower triangle row by row.
    slots: Arc<[Vec<usize>]>,
}

impl Cones {
    /// `masses` of the coefficients say how firm a limit must be.
    pub(crate) fn new(limits: &[Limit], masses: &[f64]) -> Self {
        let omega = std::f64::consts::TAU * STOP_HZ;
        let mass = |limit: &Limit| -> f64 {
            let moved = limit.row.iter().filter(|(_, weight)| *weight > 0.0);
            moved.map(|&(f, _)| masses[f as usize]).sum()
        };
        let turns = Turns { ends: vec![[DQuat::IDENTITY; 2]; limits.len()], ..Turns::default() };
        let limits = limits.iter().map(|limit| (limit.clone(), mass(limit) * omega * omega)).collect();
        Self { limits, turns, slots: Arc::default() }
    }

    /// Visits every limit with its number, its stiffness, and where its arm and its axis are.
    fn visit(&self, time: f64, x: &[Vec3], mut each: impl FnMut(usize, &Limit, f64, (Vec3, Mat3))) {
        for (index, (limit, stiffness)) in self.limits.iter().enumerate() {
            let axis = self.turns.at(index, time) * limit.axis;
            each(index, limit, *stiffness, limit.distance(limit.arm(x), axis));
        }
    }
}

impl Energy for Cones {
    fn stencils(&self, visit: &mut dyn FnMut(&[u32])) {
        for (limit, _) in self.limits.iter() {
            visit(&limit.row.iter().map(|entry| entry.0).collect::<Vec<_>>());
        }
    }

    fn shift(&mut self, first: u32) {
        let moved = |(limit, stiffness): &(Limit, f64)| {
            let row = limit.row.iter().map(|&(f, weight)| (f + first, weight)).collect();
            (Limit { row, ..limit.clone() }, *stiffness)
        };
        self.limits = self.limits.iter().map(moved).collect();
    }

    fn bind(&mut self, pattern: &Pattern) {
        let slots = |(limit, _): &(Limit, f64)| {
            let pairs = limit
                .row
                .iter()
                .enumerate()
                .flat_map(|(i, a)| limit.row[..=i].iter().map(move |b| (a.0, b.0)));
            pairs
                .map(|(a, b)| pattern.slot(a, b).expect("the pattern was made from these stencils"))
                .collect()
        };
        self.slots = self.limits.iter().map(slots).collect();
    }

    fn internal(&self) -> Vec<f64> {
        // a body without limits remembers nothing
        if self.limits.is_empty() { Vec::new() } else { self.turns.to_internal() }
    }

    fn with_internal(&self, internal: &[f64]) -> Option<Box<dyn Energy>> {
        Some(Box::new(Self { turns: Turns::from_internal(internal), ..self.clone() }))
    }

    fn value(&self, sample: &GuideSample, x: &[Vec3]) -> f64 {
        let mut sum = 0.0;
        self.visit(sample.time, x, |_, _, stiffness, (way, _)| sum += 0.5 * stiffness * way.length_squared());
        sum
    }

    fn add_gradient(&self, sample: &GuideSample, x: &[Vec3], gradient: &mut [Vec3]) {
        self.visit(sample.time, x, |_, limit, stiffness, (way, _)| {
            for &(f, weight) in &limit.row {
                gradient[f as usize] += stiffness * weight * way;
            }
        });
    }

    fn add_hessian(&self, sample: &GuideSample, x: &[Vec3], _: &[Vec3], matrix: &mut Matrix) {
        self.visit(sample.time, x, |index, limit, stiffness, (_, hessian)| {
            if hessian == Mat3::ZERO {
                return;
            }
            let mut slots = self.slots[index].iter();
            for (i, a) in limit.row.iter().enumerate() {
                for (b, &slot) in limit.row[..=i].iter().zip(slots.by_ref()) {
                    matrix.values_mut()[slot] += stiffness * a.1 * b.1 * hessian;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Random;

    fn limit(angle: f64) -> Limit {
        let (sine, cosine) = angle.sin_cos();
        Limit { joint: 0, axis: Vec3::new(0.6, 0.0, 0.8), sine, cosine, row: vec![(0, -1.0), (1, 1.0)] }
    }

    #[test]
    fn an_arm_comes_back_to_the_edge_of_its_cone_and_keeps_its_length() {
        let mut random = Random::new(5);
        for angle in [0.0, 0.3, 1.2, std::f64::consts::FRAC_PI_2] {
            let limit = limit(angle);
            for arm in (0..200).map(|_| random.vec3()).chain([-limit.axis]) {
                let off = arm.angle_between(limit.axis);
                match limit.turned_back(arm, limit.axis) {
                    // an arc cosine near 1 is no more exact
                    None => assert!(off <= angle + 1e-7),
                    Some(back) => {
                        assert!(off > angle - 1e-7);
                        assert!((back.angle_between(limit.axis) - angle).abs() < 1e-7);
                        assert!((back.length() - arm.length()).abs() < 1e-12);
                    }
                }
            }
        }
    }

    #[test]
    fn the_distance_from_a_cone_is_convex_and_agrees_with_differences() {
        let mut random = Random::new(6);
        let limit = limit(0.5);
        let value = |u: Vec3| 0.5 * limit.distance(u, limit.axis).0.length_squared();
        for _ in 0..200 {
            let u = random.vec3();
            let (gradient, hessian) = limit.distance(u, limit.axis);
            let h = 1e-6;
            for (k, e) in [Vec3::X, Vec3::Y, Vec3::Z].into_iter().enumerate() {
                let slope = (value(u + h * e) - value(u - h * e)) / (2.0 * h);
                assert!((slope - gradient[k]).abs() < 1e-8, "{u}: {slope} {gradient}");
                let change =
                    limit.distance(u + h * e, limit.axis).0 - limit.distance(u - h * e, limit.axis).0;
                // it has kinks at the cone and where its tip is nearest, which no sample hits
                assert!((change / (2.0 * h) - hessian.col(k)).length() < 1e-5, "{u}");
            }
            let other = random.vec3();
            assert!(value(0.5 * (u + other)) <= 0.5 * (value(u) + value(other)) + 1e-12);
        }
    }
}
